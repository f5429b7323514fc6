"""Figures of comparisons. They need matplotlib: ``pip install "rankgym[experiments]"``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rankgym.experiments.judge.comparison import Comparison, caption
from rankgym.experiments.judge.means import known, mean_and_error

__all__ = ["BREAKPOINTS", "COLOURS", "MORE_COLOURS", "STYLE", "counted_tick", "regret_figure", "thinned", "write"]

# Okabe and Ito's colours for the colour-blind, without the yellow that vanishes on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# From the eighth on dashes, and other colours (of Paul Tol's schemes): one colour in both is hard to tell apart.
MORE_COLOURS = ("#882255", "#332288", "#999933", "#44AA99", "#7A4A1E", "#AA4499", "#EE3377")
ROUNDS: tuple[tuple[tuple[str, ...], Any], ...] = (
    (COLOURS, "-"),
    (MORE_COLOURS, (0, (3.2, 1.3))),
    (COLOURS, (0, (1.2, 1.2))),
)
MOST_BANDS = 8  # agents: the bands of more lie on top of each other
BASELINES: dict[str, dict[str, Any]] = {  # those that learn nothing stand back
    "static": {"color": "#8A8A8A", "linestyle": "-"},
    "random": {"color": "#8A8A8A", "linestyle": (0, (4, 1.6))},
    "random-duels": {"color": "#8A8A8A", "linestyle": (0, (4, 1.6))},
}
BREAKPOINTS: Any = {"colors": "#9A9A9A", "linewidths": 0.8, "linestyles": ":", "zorder": 1.5}
MOST_BREAKPOINTS = 30  # in a panel; of more, every second, fifth, tenth, ... is drawn
SETTLED = 0.01  # of a linear axis: a mean so far that comes of fewer rounds would be a vertical stroke at its left end
STYLE: Any = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "svg.hashsalt": "rankgym",  # the same numbers give the same file
}


def regret_figure(comparison: Comparison) -> Figure:
    """The figure of the comparison's family. Lines are means over rows; of up to 8 agents, bands one standard error
    to either side.
    """
    with mpl.rc_context(STYLE):
        return PANELS[comparison.kind](comparison)


def _of_duels(comparison: Comparison) -> Figure:
    """Two panels over rounds: regret on a linear axis over a logarithmic one, and accuracy.

    So are the figures of Zoghi, Whiteson and de Rijke (MergeRUCB, 2015). Who learns nothing leaves the frame. Where
    nobody's regret is known the first panel has the mean reward; where nobody's accuracy is, there is no second one.
    """
    figure = Figure(figsize=(11.5, 4.9), dpi=150, layout="constrained")
    ratios = (1.25, 1) if comparison.accuracy_known else (1,)
    first, *others = figure.subplots(1, len(ratios), squeeze=False, width_ratios=ratios)[0]
    lines = {}
    highest = 0.0
    bands = len(comparison.agents) <= MOST_BANDS
    looks = _looks(spec.label for spec in comparison.agents)
    for spec, look in zip(comparison.agents, looks, strict=True):
        history: Any = comparison.histories[spec.label]
        rewards = history.reward / history.rounds[:, None]
        values = history.regret if comparison.regret_known else rewards
        lines[spec.label] = _line(first, history.rounds, values, look, bands)
        for accuracy in others:
            _line(accuracy, history.rounds, known(history.accuracy), look, bands)
        if comparison.regret_known and spec.label not in BASELINES:
            mean, error = mean_and_error(history.regret)
            highest = max(highest, float(np.nanmax(mean + np.nan_to_num(error), initial=0.0)))
    if comparison.regret_known:
        first.set(title="Cumulative regret")
        first.set_ylim(0, 1.05 * highest if highest > 0 else None)
        first.yaxis.set_major_formatter(FuncFormatter(counted_tick))
    else:
        first.set(title="Reward, mean so far")
    for accuracy in others:
        accuracy.set(title="Accuracy", ylim=(-0.02, 1.02))
    for axes in (first, *others):
        _log_rounds(axes, comparison)
    return _finished(figure, lines, f"{caption(comparison, 'all' if bands else 'none')}")


def _log_rounds(axes: Any, comparison: Comparison) -> None:
    axes.set(xscale="log", xlim=(1, max(comparison.rounds, 2)), xlabel="rounds")
    axes.xaxis.set_major_locator(LogLocator(numticks=20))
    axes.xaxis.set_major_formatter(FuncFormatter(counted_tick))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _finished(figure: Figure, lines: dict[str, Any], text: str) -> Figure:
    """With the legend of ``lines``, and ``text`` below."""
    figure.legend(
        list(lines.values()),
        list(lines),
        loc="outside upper left",
        ncols=max(1, min(len(lines), 110 // (max(map(len, lines)) + 6))),
        frameon=False,
        handlelength=1.8,
        columnspacing=1.6,
    )
    figure.supxlabel(text, fontsize=9, color="#555555", x=0.005, ha="left")
    return figure


def _of_rankings(comparison: Comparison) -> Figure:
    """Three panels over rounds: regret (both axes logarithmic), violations of the safety constraint, and NDCG.

    In a non-stationary environment all axes are linear, so that late epochs are as wide as early ones, and vertical
    lines mark the breakpoints that rows share.
    """
    figure = Figure(figsize=(13.5, 4.9), dpi=150, layout="constrained")
    regret, violations, quality = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    lines = {}
    changing = comparison.epochs > 0
    least = None if changing else _least(comparison)
    bands = len(comparison.agents) <= MOST_BANDS
    looks = _looks(spec.label for spec in comparison.agents)
    for spec, look in zip(comparison.agents, looks, strict=True):
        history: Any = comparison.histories[spec.label]
        lines[spec.label] = _line(regret, history.rounds, history.regret, look, bands, least)
        _line(violations, history.rounds, history.violations, look, bands)
        settled = history.rounds >= (SETTLED * comparison.rounds if changing else 1)
        _line(quality, history.rounds[settled], history.ndcg[settled], look, bands)
    scale = "linear" if changing else "log"
    regret.set(title="Cumulative regret", xscale=scale, yscale="linear" if least is None else "log")
    violations.set(title="Safety violations", xscale=scale)
    if changing:
        regret.set_ylim(bottom=0)
        violations.set_ylim(bottom=0)
    else:
        violations.set_yscale("symlog", linthresh=1.0)
        violations.set_ylim(bottom=-0.05)
    quality.set(title=f"NDCG at {comparison.cutoff}, mean so far", xscale=scale)
    marks, words = _breakpoints(comparison)
    for axes in (regret, violations, quality):
        if changing:
            axes.set(xlim=(0, max(comparison.rounds, 2)), xlabel="rounds")
            axes.grid(visible=False, axis="x")
            axes.xaxis.set_major_formatter(FuncFormatter(counted_tick))
            axes.xaxis.set_minor_formatter(NullFormatter())
        else:
            _log_rounds(axes, comparison)
        if marks:
            segments = [((round, 0.0), (round, 1.0)) for round in marks]
            grid = LineCollection(segments, transform=axes.get_xaxis_transform(), **BREAKPOINTS)
            axes.add_collection(grid, autolim=False)
    for axes in (regret, violations):
        axes.yaxis.set_major_formatter(FuncFormatter(counted_tick))
        axes.yaxis.set_minor_formatter(NullFormatter())
    return _finished(figure, lines, f"{caption(comparison, 'all' if bands else 'none')}{words}")


PANELS = {"rankings": _of_rankings, "duels": _of_duels}


def _breakpoints(comparison: Comparison) -> tuple[list[int], str]:
    """The breakpoints to draw, and what the caption says of them."""
    common = comparison.breakpoints
    if not common:
        return [], ""
    marks, which = thinned(common)
    return marks, f"; dotted lines: {which}"


def thinned(breakpoints: Sequence[int]) -> tuple[list[int], str]:
    """Those breakpoints that can be told apart when they are drawn, and what they are: "every fifth breakpoint"."""
    steps = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    step = next(step for step in steps if len(breakpoints) <= step * MOST_BREAKPOINTS)
    which = "breakpoints" if step == 1 else f"every {'second' if step == 2 else f'{step:,}th'} breakpoint"
    return list(breakpoints[step - 1 :: step]), which


def _looks(labels: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Colour and dashes for each agent: its own for the baselines, the others in turn."""
    number = 0
    for label in labels:
        if label in BASELINES:
            yield BASELINES[label]
        else:
            colours, dashes = ROUNDS[number // len(COLOURS) % len(ROUNDS)]
            yield {"color": colours[number % len(COLOURS)], "linestyle": dashes}
            number += 1


def _line(axes: Any, rounds: Any, values: Any, look: dict[str, Any], band: bool, least: float | None = None) -> Any:
    """A mean over rows, with its band if wanted; what lies below ``least`` is cut off."""
    least = -np.inf if least is None else least
    mean, error = mean_and_error(values)
    (line,) = axes.plot(rounds, np.where(mean > least, mean, np.nan), linewidth=2.0, **look)
    if band and values.shape[1] > 1:
        low, high = np.maximum(mean - error, least), np.maximum(mean + error, least)
        axes.fill_between(rounds, low, high, where=mean > least, color=look["color"], alpha=0.18, linewidth=0)
    return line


def _least(comparison: Comparison) -> float | None:
    """A number below all positive mean regrets; None where there are none."""
    means = np.concatenate([mean_and_error(h.regret)[0] for h in comparison.histories.values()])
    positive = means[means > 1e-9]
    return float(positive.min()) / 2 if len(positive) else None


def counted_tick(value: float, _: Any = None) -> str:
    """100, 1k, 10k, 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def write(figure: Figure, path: Path, kind: str) -> None:
    """Write ``figure`` as ``kind`` ("png" or "svg"), the same bytes for the same numbers."""
    with mpl.rc_context(STYLE):
        figure.savefig(path, format=kind, metadata={"Date": None} if kind == "svg" else None)
