"""Draw the picture of exercise 6: one item's clicks around a change, two estimates, and the test for changes."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rankgym.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

ROUNDS, CHANGE, WINDOW = 80, 50, 16
THRESHOLD = 5  # b
ATTRACTION = (0.8, 0.15)


def draw():
    """Return the figure."""
    rng = np.random.default_rng(59)
    attraction = np.where(np.arange(ROUNDS) < CHANGE, *ATTRACTION)
    clicks = (rng.random(ROUNDS) < attraction).astype(int)
    with mpl.rc_context({**RC_PARAMS, "axes.grid": False}):
        figure = Figure(figsize=(7.4, 4.4), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
        draw_estimates(top, clicks, attraction)
        draw_test(bottom, clicks)
    return figure


def draw_estimates(axes, clicks, attraction):
    """Draw the mean of all observations, and of those in the window, beside the attraction."""
    rounds = np.arange(ROUNDS)
    everything = np.cumsum(clicks) / (rounds + 1)
    window = [clicks[max(0, t + 1 - WINDOW) : t + 1].mean() for t in rounds]
    axes.set_title("Two estimates of an item's attraction")
    axes.step(rounds, attraction, where="mid", color=GREY, linewidth=1.6)
    axes.plot(rounds, everything, color=VERMILION, linewidth=2)
    axes.plot(rounds, window, color=BLUE, linewidth=2)
    axes.text(78, 0.07, "attraction", color=GREY, ha="right", va="center")
    axes.text(62, everything[62] + 0.1, "mean of all", color=VERMILION, ha="left", va="center")
    axes.text(48, 0.4, f"mean of the last {WINDOW}", color=BLUE, ha="right", va="center")
    axes.annotate("", (57, window[57]), (48.5, 0.4), arrowprops={"arrowstyle": "-", "color": BLUE})
    axes.axvline(CHANGE - 0.5, color=GREY, linewidth=1, linestyle=":")
    axes.text(CHANGE - 1, 0.02, "users change", color=GREY, ha="right", va="bottom")
    axes.set_ylim(0, 1.05)


def draw_test(axes, clicks):
    """Draw the observations as marks, and the two halves of the window in which the first change is detected."""
    axes.set_title(f"A test: do the halves of the last {WINDOW} differ by more than b = {THRESHOLD}?")
    rounds = np.arange(ROUNDS)
    for click, color in ((1, GREEN), (0, GREY)):
        axes.scatter(rounds[clicks == click], clicks[clicks == click], s=16, color=color, zorder=3)
    half = WINDOW // 2
    sums = np.convolve(clicks, np.ones(half, int), "valid")  # of the observations from each one on
    start = int(np.argmax(np.abs(sums[half:] - sums[:-half]) > THRESHOLD))
    for first, color in ((start, "#EAF3FA"), (start + half, "#FBEADF")):
        box = mpl.patches.Rectangle((first - 0.5, -0.35), half, 1.7, facecolor=color, edgecolor=BLUE, linewidth=1)
        axes.add_patch(box)
        axes.text(first - 0.5 + half / 2, 0.5, f"sum {sums[first]}", ha="center", va="center", color=BLUE)
    first, second = sums[start], sums[start + half]
    verdict = f"|{second} - {first}| = {abs(first - second)} > b, for the\nfirst time: restart"
    axes.text(start + WINDOW + 0.5, 0.5, verdict, ha="left", va="center", color=VERMILION)
    axes.set_yticks([0, 1], ["no click", "click"])
    axes.set_ylim(-0.5, 1.5)
    axes.set_xlim(-1, ROUNDS)
    axes.set_xlabel("observations of the item")


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
