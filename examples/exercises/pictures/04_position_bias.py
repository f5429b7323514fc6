"""Draw the picture of exercise 4: the better item is further down, and clicks are divided by displays or by looks."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, ORANGE, RC_PARAMS, VERMILION, write

DISPLAYS = 100
ITEMS = ((1, 1.0, 0.4, ORANGE), (0, 0.5, 0.6, BLUE))  # by position: item, examination, attraction, colour
INK = "#222222"


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 3.9), layout="constrained")
        users, estimates = figure.subplots(1, 2, width_ratios=(1.25, 1))
        draw_users(users)
        draw_estimates(estimates)
    return figure


def draw_users(axes):
    """Draw for each position its item, how many of 100 users look there, and how many of these click."""
    axes.set_title(f"{DISPLAYS} users see the same list")
    axes.set_axis_off()
    axes.set_xlim(-50, 112)
    axes.set_ylim(-2.05, 0.95)
    for k, (item, chi, alpha, color) in enumerate(ITEMS):
        y, looks, clicks = -1.35 * k, DISPLAYS * chi, DISPLAYS * chi * alpha
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": color}
        axes.text(-30, y, f"{k}:  item {item}", ha="center", va="center", color=INK, bbox=box)
        axes.barh(y, DISPLAYS, 0.5, color="white", edgecolor=GREY, linestyle=":")
        axes.barh(y, looks, 0.5, color=color, alpha=0.3)
        axes.barh(y, clicks, 0.5, color=color)
        axes.text(clicks / 2, y, f"{clicks:.0f} click", ha="center", va="center", color="white", weight="bold")
        axes.text(0, y + 0.32, f"{looks:.0f} look,", va="bottom", color=INK, fontsize=10)
        axes.text(31, y + 0.32, f"{alpha:.0%} of these like item {item}", va="bottom", color=INK, fontsize=10)
        if looks < DISPLAYS:
            axes.text(
                (looks + DISPLAYS) / 2, y, f"{DISPLAYS - looks:.0f} do\nnot look", ha="center", va="center", color=GREY
            )


def draw_estimates(axes):
    """Draw the click-through rate and the corrected estimate of both items as bars."""
    axes.set_title("What follows for the items")
    axes.set_ylim(0, 0.88)
    axes.set_xlim(-0.6, 2.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for place, (verdict, color) in enumerate((("wrong order", VERMILION), ("right order", GREEN))):
        for k, (item, chi, alpha, shade) in enumerate(ITEMS):
            value, x = (chi * alpha if place == 0 else alpha), 2 * place + 0.5 * k - 0.25
            axes.bar(x, value, 0.45, color=shade)
            axes.text(x, value + 0.015, f"{value:.1f}", ha="center", va="bottom", color=INK)
            axes.text(x, 0.02, item, ha="center", va="bottom", color="white", weight="bold")
        axes.text(2 * place, 0.76, verdict, ha="center", color=color, weight="bold")
    axes.set_xticks([0, 2], ["clicks /\ndisplays", "clicks /\nlooks"])
    axes.tick_params(axis="x", length=0)


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
