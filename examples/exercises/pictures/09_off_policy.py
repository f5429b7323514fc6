"""Draw the picture of exercise 9: which ratios weight a click at the second of three positions."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

INK, PALE = "#222222", "#F4F4F4"
PANELS = (  # title, positions whose ratios count, weight, what may decide about the click
    ("SIPS: the whole list", (0, 1, 2), r"$\rho(0)\,\rho(1)\,\rho(2)$", "anything in the list", VERMILION),
    ("RIPS: down to here", (0, 1), r"$\rho(0)\,\rho(1)$", "items above, and this one", BLUE),
    ("IIPS: this item, here", (1,), r"$\pi(0, 1)\,/\,\pi_0(0, 1)$", "this item, this position", GREEN),
)


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 3.9), layout="constrained")
        for axes, panel in zip(figure.subplots(1, 3), PANELS, strict=True):
            draw_panel(axes, *panel)
        figure.suptitle(
            "A click at position 1 of a logged list: how much does it count?", fontsize=12, x=0.02, ha="left"
        )
    return figure


def draw_panel(axes, title, counted, weight, assumption, color):
    """Draw a list of three items; the positions whose ratios are in the weight are framed."""
    axes.set_title(title, color=color, fontsize=11)
    axes.set_axis_off()
    axes.set_xlim(0, 3)
    axes.set_ylim(-5.3, 0.7)
    for k, item in enumerate((2, 0, 1)):
        own = k in counted
        box = {
            "boxstyle": "round,pad=0.4",
            "facecolor": "white" if own else PALE,
            "edgecolor": color if own else "#CCCCCC",
        }
        box["linewidth"] = 2.0 if own else 1.0
        axes.text(1.0, -k, f"{k}:  item {item}", ha="center", va="center", color=INK if own else GREY, bbox=box)
        if k == 1:
            axes.text(1.95, -k, "click", ha="left", va="center", color=INK, fontweight="bold")
    axes.text(0.15, -3.05, "weight", ha="left", va="center", color=GREY, fontsize=10)
    axes.text(0.15, -3.6, weight, ha="left", va="center", color=color, fontsize=13)
    axes.text(0.15, -4.35, "right if the click depends on", ha="left", va="center", color=GREY, fontsize=10)
    axes.text(0.15, -4.9, assumption, ha="left", va="center", color=INK, fontsize=10)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
