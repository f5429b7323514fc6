"""Draw the picture of exercise 7: a team draft with its clicks, and the bounds of RUCB."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREY, RC_PARAMS, VERMILION, write

INK = "#222222"
LEFT, RIGHT = (0, 1, 2, 3), (1, 3, 0, 2)
DRAFT = ((0, 0), (1, 1), (3, 1), (2, 0))  # (item, team); left picks first in round 0, right in round 1
CLICKED = 3
COLORS = (BLUE, VERMILION)
BOUNDS = (  # of arms 1, 2, 3 against arm 0: share of won duels, radius, what follows
    (0.46, 0.12, "arm 1 may win", BLUE),
    (0.22, 0.15, "arm 2 surely loses", GREY),
    (0.38, 0.36, "arm 3: largest bound, so it is next", VERMILION),
)


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 4.0), layout="constrained")
        draft, bounds = figure.subplots(1, 2, width_ratios=(1.25, 1))
        draw_draft(draft)
        draw_bounds(bounds)
    return figure


def draw_item(axes, x, y, item, color):
    box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": color, "linewidth": 1.6}
    axes.text(x, y, item, ha="center", va="center", color=INK, bbox=box)


def draw_draft(axes):
    """Draw two rankings, the list that they draft, and a click."""
    axes.set_title("Team draft")
    axes.set_axis_off()
    axes.set_xlim(-0.6, 5.2)
    axes.set_ylim(-5.1, 1.1)
    for x, ranking, name, color in ((0.0, LEFT, "left", COLORS[0]), (1.1, RIGHT, "right", COLORS[1])):
        axes.text(x, 0.75, name, ha="center", va="center", color=color, fontweight="bold")
        for k, item in enumerate(ranking):
            draw_item(axes, x, -k, item, color)
    axes.text(2.7, 0.75, "displayed", ha="center", va="center", color=INK, fontweight="bold")
    for k, (item, team) in enumerate(DRAFT):
        draw_item(axes, 2.7, -k, item, COLORS[team])
        axes.text(3.1, -k, f"{('left', 'right')[team]}'s", ha="left", va="center", color=COLORS[team])
        if item == CLICKED:
            axes.text(4.1, -k, "click", ha="left", va="center", color=INK, fontweight="bold")
    for r, who in enumerate(("left", "right")):
        axes.plot([2.25, 2.15, 2.15, 2.25], [-2 * r + 0.3, -2 * r + 0.3, -2 * r - 1.3, -2 * r - 1.3], color=GREY, lw=1)
        axes.text(
            1.98, -2 * r - 0.5, f"coin: {who} first", ha="center", va="center", color=GREY, rotation=90, fontsize=8.5
        )
    axes.text(-0.4, -4.1, "Right's item 3 was clicked: right wins the duel.", ha="left", va="center", color=COLORS[1])
    axes.text(-0.4, -4.7, "Item 1 was taken: left's next item is 2.", ha="left", va="center", color=GREY, fontsize=10)


def draw_bounds(axes):
    """Draw the confidence intervals of the chance to beat arm 0."""
    axes.set_title("RUCB: who may beat arm 0?")
    for spine in ("left", "bottom"):
        axes.spines[spine].set_visible(False)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-2.7, 0.7)
    axes.set_yticks([])
    axes.set_xticks([0, 0.5, 1])
    axes.plot([0.5, 0.5], [-2.5, 0.6], color=INK, lw=1.2, ls=(0, (4, 2)))
    for k, (mean, radius, text, color) in enumerate(BOUNDS):
        axes.plot([mean - radius, mean + radius], [-k, -k], color=color, lw=2.2)
        axes.plot([mean], [-k], "o", color=color, ms=6)
        axes.plot([mean + radius], [-k], "|", color=color, ms=16, mew=2.6)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(0.0, -k + 0.36, text, ha="left", va="center", color=color, bbox=box)
    axes.set_xlabel("share of duels won against arm 0,\nand upper bound", color=INK)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
