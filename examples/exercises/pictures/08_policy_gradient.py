"""Draw the picture of exercise 8: draw a list from the scores, show it, move the scores."""

import math
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, ORANGE, PINK, RC_PARAMS, VERMILION, write

INK = "#222222"
SCORES = (0.0, 1.0, -0.5, 0.3)
COLOURS = (BLUE, GREEN, ORANGE, PINK)
COINS = (0.5, 0.75)
DRAWN = (1, 3)
BOX = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": INK}


def draw():
    """Return the figure."""
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 5.6), layout="constrained")
        panels = figure.subplot_mosaic([["draw", "draw"], ["show", "learn"]], width_ratios=(2, 3), height_ratios=(6, 5))
        draw_choices(panels["draw"])
        draw_clicks(panels["show"])
        draw_step(panels["learn"])
    return figure


def chances(remaining):
    """Probabilities of the remaining items, by item."""
    weights = {item: math.exp(SCORES[item]) for item in remaining}
    return {item: weight / sum(weights.values()) for item, weight in weights.items()}


def draw_choices(axes):
    """A bar of probabilities for each position, with the coin that falls on it."""
    axes.set_title("1. Draw a list, item by item")
    axes.set_axis_off()
    axes.set_xlim(-0.31, 1.34)
    axes.set_ylim(-1.55, 0.8)
    remaining = list(range(len(SCORES)))
    for k, (coin, taken) in enumerate(zip(COINS, DRAWN, strict=True)):
        left, y = 0.0, -k * 1.1
        axes.text(-0.31, y, f"position {k}", va="center", color=INK)
        for item, p in chances(remaining).items():
            own = {"color": COLOURS[item], "alpha": 0.75 if item == taken else 0.22}
            axes.barh(y, p, left=left, height=0.42, edgecolor="white", linewidth=2, **own)
            label = f"item {item}\n{p:.2f}"
            weight = "bold" if item == taken else "normal"
            axes.text(left + p / 2, y, label, ha="center", va="center", color=INK, fontsize=10, fontweight=weight)
            left += p
        axes.plot(coin, y + 0.28, marker="v", color=VERMILION, markersize=9)
        axes.text(coin, y + 0.38, f"coin {coin}", ha="center", va="bottom", color=VERMILION, fontsize=10)
        axes.text(1.04, y, f"→  item {taken}", va="center", color=INK, fontweight="bold")
        remaining.remove(taken)
    axes.text(
        0, -1.36, f"item {DRAWN[0]} is taken: the others share the probability 1", va="top", color=GREY, fontsize=10
    )


def draw_clicks(axes):
    """The list, its clicks, its reward and the advantage."""
    axes.set_title("2. Show it")
    axes.set_axis_off()
    axes.set_xlim(0, 3)
    axes.set_ylim(-3.6, 0.7)
    for k, (item, click) in enumerate(zip(DRAWN, (1, 0), strict=True)):
        axes.text(0.5, -k, f"{k}:  item {item}", ha="center", va="center", bbox=BOX, color=INK)
        axes.text(1.2, -k, "click" if click else "no click", va="center", color=VERMILION if click else GREY)
    axes.text(0.05, -1.95, "reward r = 1", va="center", color=INK)
    axes.text(0.05, -2.6, "baseline b = 0.6", va="center", color=INK)
    axes.text(0.05, -3.25, "advantage r - b = + 0.4", va="center", color=VERMILION, fontweight="bold")


def draw_step(axes):
    """Arrows from the old scores along the gradient of log P."""
    axes.set_title("3. Move the scores along (r - b) ∇ log P")
    slopes, remaining = [0.0] * len(SCORES), list(range(len(SCORES)))
    for taken in DRAWN:
        slopes[taken] += 1
        for item, p in chances(remaining).items():
            slopes[item] -= p
        remaining.remove(taken)
    for item, score in enumerate(SCORES):
        end = score + slopes[item]  # longer than a real step, so that it can be seen
        up = slopes[item] > 0
        axes.plot([item - 0.25, item + 0.25], [score, score], color=COLOURS[item], linewidth=3)
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
        axes.annotate("", xy=(item, end), xytext=(item, score), arrowprops=arrow)
        text = "drawn, here: up" if up else "not drawn: down"
        axes.text(item, end + (0.12 if up else -0.12), text, ha="center", va="bottom" if up else "top", fontsize=9.5)
    axes.set_xticks(range(len(SCORES)), [f"item {item}" for item in range(len(SCORES))])
    axes.set_xlim(-0.75, 3.6)
    axes.set_ylim(-1.75, 1.95)
    axes.set_ylabel("score")


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
