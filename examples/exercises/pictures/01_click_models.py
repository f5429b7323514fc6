"""Draw the picture of exercise 1: two users, the cascade model's and the PBM's, and the same list."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

ITEMS = (1, 3, 0, 2)  # by position
ATTRACTIVE = (False, True, True, True)  # what the user thinks of the items at the four positions
LOOKS = (True, True, True, False)  # where the PBM's user looks


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 3.7), layout="constrained")
        cascade, pbm = figure.subplots(1, 2)
        draw_user(cascade, "Cascade model", (True, True, False, False), "leaves after\nthe first click")
        draw_user(pbm, "Position-based model", LOOKS, "does not look at\nposition 3")
    return figure


def draw_user(axes, title, seen, note):
    """Draw a list of four items with what one user does at each of them."""
    axes.set_title(title)
    axes.set_axis_off()
    axes.set_xlim(0, 4.1)
    axes.set_ylim(-4.3, 0.9)
    for text, x in (("position: item", 0.6), ("looks?", 1.75), ("likes it?", 2.75), ("click", 3.7)):
        axes.text(x, 0.5, text, ha="center", va="center", color=GREY)
    for k, (look, liked) in enumerate(zip(seen, ATTRACTIVE, strict=True)):
        color = "#222222" if look else GREY
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white" if look else "#F2F2F2", "edgecolor": color}
        axes.text(0.6, -k, f"{k}:  item {ITEMS[k]}", ha="center", va="center", color=color, bbox=box)
        axes.text(1.75, -k, "yes" if look else "no", ha="center", va="center", color=BLUE if look else GREY)
        liking = ("yes" if liked else "no") if look else "-"
        axes.text(2.75, -k, liking, ha="center", va="center", color=GREEN if look and liked else color)
        click = look and liked
        mark = {"fontweight": "bold", "color": VERMILION} if click else {"color": GREY}
        axes.text(3.7, -k, "1" if click else "0", ha="center", va="center", **mark)
    axes.text(1.75, -3.5, note, ha="center", va="top", color=BLUE, fontsize=10)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
