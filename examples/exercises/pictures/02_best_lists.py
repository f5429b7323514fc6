"""Draw the picture of exercise 2: best lists of the PBM and the DCM, a round's regret, and misordered pairs."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from rankgym.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

INK = "#222222"
ALPHA, TIMES = "\u03b1", "\u00d7"
ATTRACTION = (0.9, 0.6, 0.5)  # of the DCM's items
TERMINATION = (0.9, 0.3, 0.1)
BOX = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": INK}


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 6.6), layout="constrained")
        (matching, sessions), (regret, pairs) = figure.subplots(2, 2)
        draw_matching(matching)
        draw_sessions(sessions)
        draw_regret(regret)
        draw_pairs(pairs)
    return figure


def empty(axes, title, x, y):
    axes.set_title(title)
    axes.set_axis_off()
    axes.set_xlim(*x)
    axes.set_ylim(*y)


def draw_matching(axes):
    """Items by attraction on the left, positions of the PBM with their examination on the right."""
    empty(axes, "PBM: sort both, and match", (0, 4), (-3.9, 0.9))
    items = ((1, 0.8), (3, 0.6), (0, 0.4), (2, 0.1))
    positions = (0.7, 1.0, 0.3)
    by_examination = sorted(range(3), key=lambda k: -positions[k])
    axes.text(0.7, 0.55, "items, sorted", ha="center", color=GREY)
    axes.text(3.2, 0.55, "positions", ha="center", color=GREY)
    for j, (item, alpha) in enumerate(items):
        shown = j < len(positions)
        box = {**BOX, "edgecolor": INK if shown else GREY}
        color = INK if shown else GREY
        axes.text(0.7, -j, f"{item}   {ALPHA} = {alpha}", ha="center", va="center", bbox=box, color=color)
        if shown:
            ends = (1.3, -j), (2.55, -by_examination[j])
            axes.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=12, color=BLUE, linewidth=1.6))
    for k, chi in enumerate(positions):
        axes.text(3.2, -k, f"{k}   χ = {chi}", ha="center", va="center", bbox=BOX, color=INK)
    axes.text(3.2, -3, "best list: [3, 1, 0]", ha="center", va="center", color=BLUE)


def clicks_at(ranking):
    """Probability of a click at each position of a list in the DCM."""
    examined, found = 1.0, []
    for item, v in zip(ranking, TERMINATION, strict=True):
        found.append(examined * ATTRACTION[item])
        examined *= 1 - v * ATTRACTION[item]
    return found


def draw_sessions(axes):
    """Expected clicks of the sorted and of the best list in the DCM, position by position."""
    axes.set_title("DCM: sorted is not best")
    for row, (ranking, label) in enumerate((((2, 0, 1), "best list"), ((0, 1, 2), f"sorted by {ALPHA}"))):
        left = 0.0
        for item, clicks in zip(ranking, clicks_at(ranking), strict=True):
            color = (BLUE, GREEN, VERMILION)[item]
            axes.barh(row, clicks, left=left, height=0.5, color=color, alpha=0.25, edgecolor=color)
            axes.text(left + clicks / 2, row, item, ha="center", va="center", color=INK)
            left += clicks
        axes.text(left + 0.03, row, f"{left:.2f}", va="center", color=INK)
        axes.text(0, row + 0.32, label, va="bottom", color=INK)
    axes.text(1.5, 1.32, "expected clicks", ha="right", va="bottom", color=GREY, fontsize=10)
    notes = (
        f"items 0, 1, 2:  {ALPHA} = 0.9, 0.6, 0.5\n"
        "after a click at position 0 users leave\n"
        "with probability 0.9; at position 1, 0.3"
    )
    axes.text(0, -0.45, notes, va="top", color=GREY, fontsize=10)
    axes.set_axis_off()
    axes.set_xlim(0, 1.5)
    axes.set_ylim(-1.4, 1.8)


def draw_regret(axes):
    """The regret of three rounds, as the gap to the best list's reward; clicks are somewhere else."""
    axes.set_title("Regret: the gaps, added up")
    best, earned, clicks = 0.75, (0.4, 0.6, 0.75, 0.5), (1, 0, 1, 0)
    for t, (reward, click) in enumerate(zip(earned, clicks, strict=True)):
        axes.bar(t, reward, width=0.55, color=BLUE, alpha=0.25, edgecolor=BLUE)
        if reward < best:
            axes.bar(t, best - reward, bottom=reward, width=0.55, color=VERMILION, alpha=0.35, edgecolor=VERMILION)
        axes.text(t, reward / 2, f"r = {reward:g}", ha="center", va="center", color=INK, fontsize=9.5)
        axes.plot(t, click, "x", color=GREY, markersize=8, markeredgewidth=2, clip_on=False)
    axes.axhline(best, color=INK, linewidth=1.2)
    axes.text(3.4, best + 0.02, "best list's r", ha="right", va="bottom", color=INK, fontsize=10)
    axes.text(3.4, 1.02, f"{TIMES} clicks do not count", ha="right", va="bottom", color=GREY, fontsize=10)
    axes.set_xticks(range(4))
    axes.set_yticks([0, 0.5, 1])
    axes.set_xlim(-0.5, 3.45)
    axes.set_ylim(0, 1.12)
    axes.set_xlabel("round")
    axes.set_ylabel("expected reward")


def draw_pairs(axes):
    """A list with two hidden items; arcs join misordered pairs."""
    empty(axes, "Misordered pairs: |V(R)| = 3", (0, 4), (-4.5, 0.6))
    items = ((0, 0.5), (1, 0.2), (2, 0.4), (3, 0.1), (4, 0.45))
    for place, (item, alpha) in enumerate(items):
        hidden = place > 2
        y = -place - 0.45 * hidden
        color = GREY if hidden else INK
        box = {**BOX, "edgecolor": color}
        axes.text(0.85, y, f"{item}   {ALPHA} = {alpha}", ha="center", va="center", color=color, bbox=box)
    axes.plot([0.1, 3.9], [-2.72, -2.72], color=GREY, linestyle=(0, (4, 2)), linewidth=1)
    axes.text(3.9, -2.6, "displayed", ha="right", va="bottom", color=GREY, fontsize=10)
    axes.text(3.9, -2.87, "hidden", ha="right", va="top", color=GREY, fontsize=10)
    for upper, lower, bend in ((-1, -2, -0.8), (-1, -4.45, -0.5), (-2, -4.45, -0.35)):
        ends = (1.5, upper), (1.5, lower)
        style = {"arrowstyle": "-", "connectionstyle": f"arc3,rad={bend}", "color": VERMILION, "linewidth": 1.8}
        axes.add_patch(FancyArrowPatch(*ends, **style))
    axes.text(2.3, -0.85, "better items", va="center", color=VERMILION, fontsize=10)
    axes.text(2.3, -1.3, "that are below", va="center", color=VERMILION, fontsize=10)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
