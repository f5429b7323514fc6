"""Draw the picture of exercise 3: what a click says about each item, and how the two indices are computed."""

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, PINK, RC_PARAMS, VERMILION, WINE, write

CLICKED, OBSERVED, ROUND = 3, 10, 60  # of the item on the right
INK = "#222222"


def draw():
    """Return the figure."""
    with mpl.rc_context(RC_PARAMS):
        figure = Figure(figsize=(7.4, 4.0), layout="constrained")
        feedback, bounds = figure.subplots(1, 2, width_ratios=(1, 1.2))
        draw_feedback(feedback)
        draw_bounds(bounds)
    return figure


def draw_feedback(axes):
    """Draw a list of five items with a click on the third one, and what the user has seen of it."""
    axes.set_title("What one click says")
    axes.set_axis_off()
    axes.set_xlim(0, 4.4)
    axes.set_ylim(-5.3, 0.95)
    for k, item in enumerate((2, 0, 5, 1, 4)):
        seen, clicked = k <= 2, k == 2
        color = VERMILION if clicked else INK if seen else GREY
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white" if seen else "#F2F2F2", "edgecolor": color}
        axes.text(0.9, -k, f"{k}:  item {item}", ha="center", va="center", color=color, bbox=box)
        text = "clicked" if clicked else "seen, not liked" if seen else "not seen"
        axes.text(1.95, -k + 0.16, text, va="center", color=color, fontweight="bold" if clicked else "normal")
        counts = f"clicks + {int(clicked)},  T + 1" if seen else "nothing changes"
        axes.text(1.95, -k - 0.2, counts, va="center", fontsize=9, color=BLUE if seen else GREY)
    axes.annotate("", (0.05, -2.3), (0.05, 0.3), arrowprops={"arrowstyle": "->", "color": GREEN, "linewidth": 2})
    axes.text(
        0.0, -4.85, "The user looks from the top,\nclicks once and leaves.", va="center", color=GREEN, fontsize=10
    )


def draw_bounds(axes):
    """Draw T kl(mean, q) as a function of q, and where it reaches f(t)."""
    mean, level = CLICKED / OBSERVED, math.log(ROUND) + 3 * math.log(math.log(ROUND))
    q = np.linspace(mean, 0.97, 120)
    cost = OBSERVED * (mean * np.log(mean / q) + (1 - mean) * np.log((1 - mean) / (1 - q)))
    index = float(np.interp(level, cost, q))
    ucb1 = mean + math.sqrt(1.5 * math.log(ROUND) / OBSERVED)
    axes.set_title("Two upper confidence bounds")
    axes.plot(q, cost, color=PINK, linewidth=2.4)
    axes.fill_between(q, 0, cost, where=q <= index, color=PINK, alpha=0.15)
    axes.axhline(level, color=INK, linewidth=1.2)
    axes.plot([index, index], [0, level], color=PINK, linestyle=(0, (4, 2)))
    axes.plot([index], [level], "o", color=PINK)
    axes.set_xlim(0, 1.24)
    axes.set_ylim(0, 18)
    axes.grid(visible=False)
    axes.axvspan(1, 1.24, color="#EEEEEE", zorder=0)
    for x, color in ((mean, INK), (index, PINK), (ucb1, WINE)):
        axes.plot([x, x], [0, 1.0], color=color, linewidth=3)
    axes.text(mean - 0.015, 2.4, f"mean\n{CLICKED} / {OBSERVED}", ha="right", va="center", color=INK)
    axes.text(ucb1, 2.4, f"UCB1\n{ucb1:.2f}", ha="center", va="center", color=WINE)
    axes.text(index - 0.02, level + 0.4, f"KL-UCB {index:.2f}", ha="right", va="bottom", color=PINK, weight="bold")
    axes.text(0.03, level + 0.4, "f(t)", va="bottom", color=INK)
    axes.text(0.7, 14.2, "T kl(mean, q)", ha="right", va="center", color=PINK)
    axes.text(0.62, level - 0.7, "plausible q", ha="right", va="center", color=PINK, fontsize=10)
    axes.text(1.12, 16.4, "not a\nprobability", ha="center", va="center", color=GREY, fontsize=9)
    axes.set_xlabel("probability q")
    axes.set_yticks([])


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
