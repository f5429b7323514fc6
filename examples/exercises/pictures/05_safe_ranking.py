"""Draw the picture of exercise 5: TopRank's relation and its blocks, BubbleRank's base list and its turns."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

DARK = "#222222"
BLOCKS = ((0, 1, 3), (2,), (4,))
WORSE = ((2, 0), (4, 1), (4, 2))  # item 2 is worse than item 0, ...


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.12))
        draw_toprank(left)
        draw_bubblerank(right)
    return figure


def item(axes, x, y, number, color=DARK, face="white"):
    box = {"boxstyle": "round,pad=0.35", "facecolor": face, "edgecolor": color}
    axes.text(x, y, number, ha="center", va="center", color=color, bbox=box)


def blank(axes, title, width, height):
    axes.set_title(title)
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(-height, 0.4)


def draw_toprank(axes):
    """Draw the relation, the blocks that it makes, and one displayed list."""
    blank(axes, "TopRank", 4.2, 5.6)
    places = {}
    for d, (block, y) in enumerate(zip(BLOCKS, (-0.9, -2.5, -4.1), strict=True)):
        xs = {3: (0.5, 1.4, 2.3), 1: (0.95 if d == 1 else 1.4,)}[len(block)]
        frame = mpl.patches.FancyBboxPatch(
            (0.1, y - 0.45), 2.6, 0.9, boxstyle="round,pad=0.02,rounding_size=0.15", facecolor="#EAF3FA", edgecolor=BLUE
        )
        axes.add_patch(frame)
        places |= {number: (x, y) for number, x in zip(block, xs, strict=True)}
    for worse, better in WORSE:
        axes.annotate(
            "",
            xy=places[better],
            xytext=places[worse],
            arrowprops={"arrowstyle": "-|>", "color": GREY, "shrinkA": 13, "shrinkB": 14, "linewidth": 1.4},
        )
    for number, (x, y) in places.items():
        item(axes, x, y, number)
    axes.text(1.4, -0.15, "blocks", ha="center", va="center", color=BLUE)
    axes.text(3.6, -0.15, "displayed", ha="center", va="center", color=GREY)
    for k, number in enumerate((3, 0, 1, 2)):
        y = -0.75 - 0.72 * k - (0.35 if k == 3 else 0)
        item(axes, 3.6, y, number, BLUE if k < 3 else DARK)
    axes.text(3.6, -4.1, "(4 is not)", ha="center", va="center", color=GREY)
    axes.annotate(
        "",
        xy=(3.22, -1.2),
        xytext=(2.8, -1.0),
        arrowprops={"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.4},
    )
    note = "arrow: found worse than.\nA block holds what no remaining\nitem beats, and is shuffled."
    axes.text(0.1, -4.8, note, ha="left", va="top", color=GREY, fontsize=10)


def draw_bubblerank(axes):
    """Draw the base list beside the lists of two rounds."""
    blank(axes, "BubbleRank", 5.2, 5.6)
    columns = (
        ("base\nlist", 0.6, (0, 1, 2, 3, 4), ()),
        ("round 0", 2.2, (0, 2, 1, 3, 4), (1, 3)),
        ("round 1", 4.0, (1, 0, 3, 2, 4), (0, 2)),
    )
    for title, x, ranking, pairs in columns:
        axes.text(x, -0.1, title, ha="center", va="center", color=GREY)
        for k, number in enumerate(ranking):
            moved = number != k
            item(axes, x, -0.9 - 0.8 * k, number, VERMILION if moved else DARK)
        for k in pairs:
            exchanged = ranking[k] != k
            y, color = -0.9 - 0.8 * k, VERMILION if exchanged else GREEN
            curve = {"arrowstyle": "<|-|>", "color": color, "connectionstyle": "arc3,rad=-0.6", "linewidth": 1.4}
            axes.annotate("", xy=(x + 0.3, y - 0.8), xytext=(x + 0.3, y), arrowprops=curve)
            text = "coin:\nyes" if exchanged else "coin:\nno"
            axes.text(x + 0.62, y - 0.4, text, ha="left", va="center", color=color, fontsize=9)
    note = "Neighbours are exchanged for one round, so at\nmost K / 2 pairs are added to the misordered ones."
    axes.text(0.1, -4.8, note, ha="left", va="top", color=GREY, fontsize=10)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
