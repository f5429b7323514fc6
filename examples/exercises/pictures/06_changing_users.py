"""Draw the picture of exercise 6: one item's clicks around a change, three estimates, and the test for changes."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rankgym.experiments.show.style import BLUE, GREEN, GREY, RC_PARAMS, VERMILION, write

ROUNDS, CHANGE, WINDOW, NOW = 80, 50, 16, 59  # NOW: the test's window ends here
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
    """Draw the observations as marks, and the two halves of the test's window."""
    axes.set_title("A test: do the halves of the window differ by more than b?")
    rounds = np.arange(ROUNDS)
    for click, color in ((1, GREEN), (0, GREY)):
        axes.scatter(rounds[clicks == click], clicks[clicks == click], s=16, color=color, zorder=3)
    half, start = WINDOW // 2, NOW - WINDOW
    for first, color in ((start, "#EAF3FA"), (start + half, "#FBEADF")):
        box = mpl.patches.Rectangle((first - 0.5, -0.35), half, 1.7, facecolor=color, edgecolor=BLUE, linewidth=1)
        axes.add_patch(box)
        total = clicks[first : first + half].sum()
        axes.text(first - 0.5 + half / 2, 0.5, f"sum {total}", ha="center", va="center", color=BLUE)
    first, second = clicks[start : start + half].sum(), clicks[start + half : NOW].sum()
    verdict = f"|{second} - {first}| = {first - second} > b:\nrestart"
    axes.text(NOW + 0.5, 0.5, verdict, ha="left", va="center", color=VERMILION)
    axes.set_yticks([0, 1], ["no click", "click"])
    axes.set_ylim(-0.5, 1.5)
    axes.set_xlim(-1, ROUNDS)
    axes.set_xlabel("observations of the item")


if __name__ == "__main__":
    write(draw(), Path(__file__).with_suffix(".svg"), "svg")
