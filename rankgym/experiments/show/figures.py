"""Figures of results, in the papers' form. They need matplotlib: ``pip install "rankgym[experiments]"``.

Lines can be told apart by colour, by dashes and by markers, so that they can also in grey; an agent of the papers looks
the same in all figures. A legend names the curves in the order in which they end, the highest first.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from rankgym.experiments.judge.means import known, mean_and_error
from rankgym.experiments.run.results import Played
from rankgym.experiments.show.plots import BREAKPOINTS, COLOURS, MORE_COLOURS, STYLE, counted_tick, thinned

__all__ = [
    "Axis",
    "Cloud",
    "Curve",
    "Pair",
    "Panel",
    "bars",
    "clouds",
    "curve",
    "looks",
    "panels",
    "per_epoch",
    "per_round",
    "scatter",
    "write",
]

Axis = Literal["linear", "log", "symlog"]

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = COLOURS
SOLID: Any = "-"
DASHED, DOTTED, MIXED, LONG = (0, (4.5, 1.5)), (0, (1.2, 1.3)), (0, (5, 1.4, 1.2, 1.4)), (0, (8, 2))
HATCHES = {SOLID: "", DASHED: "///", DOTTED: "...", MIXED: "xx", LONG: "--"}


class Look(NamedTuple):
    """How a curve is drawn."""

    color: str
    dashes: Any
    marker: str  # "": none


# Of those who have no look of their own: the first that nobody in the figure has of each.
FREE_COLOURS = (BLUE, ORANGE, GREEN, PINK, VERMILION, SKY, BLACK, *MORE_COLOURS)
FREE_DASHES = (SOLID, DASHED, MIXED, DOTTED, LONG)
FREE_MARKERS = tuple("os^DvPX<>hdp*8")
AGENTS = {  # by the name that a label begins with
    "static": Look("#8A8A8A", SOLID, ""),  # who learns nothing stands back
    "random": Look("#8A8A8A", DASHED, ""),
    "random-duels": Look("#8A8A8A", DASHED, ""),
    "least squares": Look("#222222", SOLID, ""),
    "bubblerank": Look(VERMILION, SOLID, "o"),
    "toprank": Look(BLUE, DASHED, "s"),
    "batchrank": Look(GREEN, MIXED, "^"),
    "cascade-kl-ucb": Look(PINK, LONG, "D"),
    "cascade-ducb": Look(ORANGE, SOLID, "v"),
    "cascade-swucb": Look(SKY, DASHED, "P"),
    "ranked-exp3": Look(BLACK, DOTTED, "X"),
    "cascade-ucb1": Look(MORE_COLOURS[0], MIXED, "<"),
    "mergerucb": Look(VERMILION, SOLID, "o"),
    "rucb": Look(BLUE, DASHED, "s"),
    "rcs": Look(GREEN, MIXED, "^"),
    "btm": Look(BLACK, DOTTED, "X"),
    "interleaved-filter": Look(PINK, LONG, "D"),
    "savage": Look(ORANGE, SOLID, "v"),
    "sparring": Look(SKY, DASHED, "P"),
    "multisbm": Look(MORE_COLOURS[0], MIXED, "<"),
    "doubler": Look(MORE_COLOURS[1], SOLID, ">"),
}
MOST_BANDS = 9  # curves of a panel: the bands of more lie on top of each other
SMALL = 6  # panels: more are drawn small
LETTERS = 14.5  # of the caption, an inch
ROUND = (1, 2, 2.5, 5, 10)  # steps between ticks, times powers of ten


class Curve(NamedTuple):
    """A mean over x with its standard error."""

    label: str  # an agent's: it decides the look
    x: NDArray[Any]  # (points,) ascending
    mean: NDArray[np.float64]  # (points,) NaN: a gap
    error: NDArray[np.float64] | None = None  # (points,) standard error
    marked: bool = False  # all points are marked, with error bars in the place of a band
    joined: bool = True  # by lines; else there are markers alone


class Panel(NamedTuple):
    """Axes and what is drawn in them."""

    title: str
    curves: Sequence[Curve]
    xlabel: str = "rounds"
    ylabel: str = ""
    xscale: Axis = "linear"
    yscale: Axis = "linear"
    breakpoints: Sequence[int] = ()
    top: float | None = None  # of the y axis: what is above leaves the frame
    bottom: float | None = None


class Pair(NamedTuple):
    """Two agents, query by query."""

    title: str
    xlabel: str
    ylabel: str
    x: NDArray[np.float64]  # (queries,)
    y: NDArray[np.float64]  # (queries,)


class Cloud(NamedTuple):
    """Points that may lie on a line: regret over |V_0|."""

    title: str
    xlabel: str
    ylabel: str
    x: NDArray[Any]  # (points,)
    y: NDArray[Any]  # (points,)


# -- from what was played to curves -----------------------------------------------------------------------------------


def curve(played: Played, measure: str = "regret", *, label: str | None = None) -> Curve:
    """``measure`` after each record: mean over all rows and its standard error; ``label``: default the agent's."""
    played.at(measure, int(played.rounds[-1]))  # refuses what is no measure
    mean, error = mean_and_error(known(played.measures[measure]))
    return Curve(label or played.agent, played.rounds, mean, error)


def per_round(played: Played, measure: str = "ndcg", *, label: str | None = None, least: float = 0.0) -> Curve:
    """``measure`` per round, between each record and the one before: mean over all rows and its standard error.

    Args:
        played: an agent in an environment.
        measure: one that adds up, or "ndcg", the mean so far.
        label: default the agent's.
        least: stretches whose middle is below are left out.

    Returns:
        A curve whose x are the middles of the stretches: of one round, that round.
    """
    played.at(measure, int(played.rounds[-1]))
    totals = known(played.measures[measure])
    totals = totals * played.rounds[:, None] if measure == "ndcg" else totals
    before = np.concatenate([[0], played.rounds[:-1]])
    added = np.diff(totals, axis=0, prepend=0.0) / (played.rounds - before)[:, None]
    middle = (before + 1 + played.rounds) / 2
    mean, error = mean_and_error(added)
    return Curve(label or played.agent, middle[middle >= least], mean[middle >= least], error[middle >= least])


def per_epoch(played: Played, *, label: str | None = None) -> Curve:
    """Regret of each epoch, x from 0 on: mean and standard error over the rows that have come to it."""
    both = [mean_and_error(values[~np.isnan(values)]) for values in played.epoch_regret]
    mean, error = np.array(both, np.float64).reshape(-1, 2).T
    return Curve(label or played.agent, np.arange(len(both)), mean, error, marked=True)


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """How each of ``labels`` is drawn: the papers' agents always the same, others by free looks in turn."""
    found: dict[str, Look] = {}
    labels = list(dict.fromkeys(labels))
    for label in labels:
        own = AGENTS.get(label.partition(":")[0])
        if own is not None and own not in found.values():
            found[label] = own
    taken = list(found.values())
    for number, label in enumerate(label for label in labels if label not in found):
        color = _unused(FREE_COLOURS, [look.color for look in taken], number)
        marker = _unused(FREE_MARKERS, [look.marker for look in taken], number)
        dashes = FREE_DASHES[number % len(FREE_DASHES)]
        found[label] = Look(color, dashes, marker)
        taken.append(found[label])
    return {label: found[label] for label in labels}


def _unused(choice: Sequence[str], taken: Sequence[str], number: int) -> str:
    """The first that is not taken; in turn once all are."""
    return next((one for one in choice if one not in taken), choice[number % len(choice)])


# -- figures ----------------------------------------------------------------------------------------------------------


def panels(panels: Sequence[Panel], *, columns: int | None = None, caption: str = "", share_y: bool = False) -> Figure:
    """Panels of curves, with one legend.

    Args:
        panels: at least one; of more than six each is small.
        columns: of panels; default: up to three in a row, four in two, more in rows of five.
        caption: goes below; that dotted lines are breakpoints is said by itself.
        share_y: all y axes are alike.

    Raises:
        ValueError: there is no panel.
    """
    look = looks(curve.label for panel in panels for curve in panel.curves)

    def draw(axes: Any, panel: Panel, small: bool) -> dict[str, Any]:
        return {
            curve.label: _curve(axes, curve, look[curve.label], number, len(panel.curves), panel, small)
            for number, curve in enumerate(panel.curves)
        }

    return _grid(panels, draw, columns, caption, share_y, _order(panels))


def bars(panels: Sequence[Panel], *, columns: int | None = None, caption: str = "") -> Figure:
    """Grouped bars with error bars, such as of regret per epoch: the x of all curves of a panel are the groups.

    Arguments and errors are those of ``panels``.
    """
    look = looks(curve.label for panel in panels for curve in panel.curves)

    def draw(axes: Any, panel: Panel, small: bool) -> dict[str, Any]:
        width = 0.84 / max(len(panel.curves), 1)
        found = {}
        for number, curve in enumerate(panel.curves):
            x = np.asarray(curve.x) + (number - (len(panel.curves) - 1) / 2) * width
            found[curve.label] = axes.bar(
                x,
                curve.mean,
                width,
                color=look[curve.label].color,
                edgecolor="white",
                linewidth=0.5,
                hatch=HATCHES[look[curve.label].dashes],
            )
            if curve.error is not None:
                axes.errorbar(x, curve.mean, _known(curve.error), fmt="none", ecolor="#222222", elinewidth=0.9)
        axes.grid(visible=False, axis="x")
        return found

    return _grid(panels, draw, columns, caption, False, _order(panels), widen=1.7)


def scatter(pairs: Sequence[Pair], *, columns: int | None = None, caption: str = "") -> Figure:
    """One point a query: the regret of one agent over that of another, both axes logarithmic.

    On either side of the diagonal stands how many points lie there. What is not positive lies on the frame, as a
    hollow point. Arguments and errors are those of ``panels``.
    """

    def draw(axes: Any, pair: Pair, small: bool) -> dict[str, Any]:
        both = np.stack([pair.x, pair.y]).astype(np.float64)
        positive = both[both > 0]
        least, most = (positive.min(), positive.max()) if len(positive) else (0.5, 2.0)
        reach = max(most / least, 2.0) ** 0.06
        low, high = least / reach, most * reach
        inside = (both > 0).all(axis=0)
        x, y = np.maximum(both, low)
        axes.plot([low, high], [low, high], color="#555555", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1.5)
        style = {"s": 26 if small else 40, "linewidth": 0.8, "zorder": 3, "clip_on": False}
        axes.scatter(x[inside], y[inside], facecolor=BLUE, edgecolor="white", alpha=0.85, **style)
        axes.scatter(x[~inside], y[~inside], facecolor="none", edgecolor=BLUE, **style)
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        _plain_axis(axes.xaxis, "log", small)
        _plain_axis(axes.yaxis, "log", small)
        for where, number in (((0.04, 0.95), np.sum(both[1] > both[0])), ((0.96, 0.05), np.sum(both[1] < both[0]))):
            axes.text(
                *where,
                f"{number} of {both.shape[1]}",
                transform=axes.transAxes,
                ha="left" if where[0] < 0.5 else "right",
                va="top" if where[1] > 0.5 else "bottom",
                color="#222222",
            )
        return {}

    return _grid(pairs, draw, columns, caption, False, [])


def clouds(clouds: Sequence[Cloud], *, columns: int | None = None, caption: str = "") -> Figure:
    """Points, the mean at each x with its standard error, and the least-squares line through the points.

    Arguments and errors are those of ``panels``.
    """

    def draw(axes: Any, cloud: Cloud, small: bool) -> dict[str, Any]:
        x, y = np.asarray(cloud.x, np.float64), np.asarray(cloud.y, np.float64)
        points = axes.scatter(x, y, s=14, color=SKY, alpha=min(1.0, max(0.25, 60 / len(x))), linewidth=0, zorder=2)
        values = np.unique(x)
        found = {"one run": points}
        if len(values) < len(x):
            both = np.array([mean_and_error(y[x == value]) for value in values])
            means = axes.errorbar(
                values,
                both[:, 0],
                _known(both[:, 1]),
                fmt="o",
                color="#222222",
                markersize=4.5,
                elinewidth=1.2,
                zorder=4,
            )
            found["mean ± standard error"] = means
        if len(values) > 1:
            rise, start = np.polynomial.Polynomial.fit(x, y, 1).convert().coef[::-1]
            ends = np.array([values[0], values[-1]])
            (line,) = axes.plot(ends, start + rise * ends, color=VERMILION, linewidth=2.2, zorder=3)
            found["least squares"] = line
        axes.set_ylim(bottom=0 if y.min() >= 0 else None)
        _plain_axis(axes.yaxis, "linear", small)
        return found

    return _grid(clouds, draw, columns, caption, False, [])


def write(figure: Figure, path: Path | BinaryIO, kind: str, *, scale: float = 2.0) -> None:
    """Write ``figure`` to a file as ``kind`` ("png" or "svg"), the same bytes for the same numbers.

    A PNG has ``scale`` times 100 dots an inch: 1 for a plain screen, 2 for one of high resolution and for paper.
    """
    with mpl.rc_context(STYLE):
        metadata: Any = {"Date": None} if kind == "svg" else None
        figure.savefig(path, format=kind, dpi=100 * scale, metadata=metadata)


# -- how they are made ------------------------------------------------------------------------------------------------


def _grid(
    given: Sequence[Any],
    draw: Callable[[Any, Any, bool], dict[str, Any]],
    columns: int | None,
    caption: str,
    share_y: bool,
    order: Sequence[str],
    widen: float = 1.0,
) -> Figure:
    """A figure with one pair of axes for each of ``given``, which ``draw`` fills, and their common legend."""
    if not given:
        raise ValueError("panels = () has none; allowed: at least one")
    number, small = len(given), len(given) > SMALL
    columns = columns or ({1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}.get(number) or (4 if number < 16 else 5))
    columns = min(columns, number)
    rows = -(-number // columns)
    width, height = (2.7, 2.2) if small else (4.4 if number > 1 else 6.6, 3.7 if number > 1 else 4.4)
    width *= widen if columns < 3 else 1
    style = {**STYLE, "font.size": 9, "axes.titlesize": 9.5} if small else STYLE
    with mpl.rc_context(style):
        above = 0.2 * (len(_by_rows(order, width * columns, small)[0]) if order else 1)
        lines = textwrap.wrap(caption, int(LETTERS * width * columns))
        size = (width * columns, height * rows + 0.4 + above + 0.15 * len(lines))
        figure = Figure(figsize=size, dpi=100, layout="constrained")
        cast(Any, figure.get_layout_engine()).set(w_pad=0.06, h_pad=0.06)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
        handles: dict[str, Any] = {}
        marks = ""
        for place, one in enumerate(given):
            axes = grid[divmod(place, columns)]
            for label, handle in draw(axes, one, small).items():
                handles.setdefault(label, handle)
            last_row = place + columns >= number
            axes.set_title(textwrap.fill(one.title, int(width * (12 if small else 9))))
            axes.set_xlabel(one.xlabel if last_row or not small else "")
            first_column = place % columns == 0
            axes.set_ylabel(one.ylabel if first_column or not (small or share_y) else "")
            if isinstance(one, Panel):
                marks = _dress(axes, one, small) or marks
        for place in range(number, rows * columns):
            grid[divmod(place, columns)].remove()
        words = "; ".join(filter(None, (caption, marks and f"dotted lines: {marks}")))
        names = [label for label in order if label in handles] or list(handles)
        if names and not (len(names) == 1 and not order):
            _legend(figure, {name: handles[name] for name in names}, width * columns, small)
        if words:
            text = textwrap.fill(words[0].upper() + words[1:], int(LETTERS * width * columns))
            figure.supxlabel(text, fontsize=9, color="#555555", x=0.01, ha="left")
    return figure


def _by_rows(names: Sequence[str], width: float, small: bool) -> list[list[str]]:
    """The names in as few rows as fit: columns of them, so that they are read row by row."""
    letter, line = (0.072, 0.60) if small else (0.088, 0.72)  # inches: of one, and of a line with the space beside it
    for rows in range(1, len(names) + 1):
        number = -(-len(names) // rows)
        columns = [list(names[column::number]) for column in range(number)]
        if sum(max(map(len, column)) * letter + line for column in columns) <= 0.92 * width:
            break
    return columns


def _legend(figure: Figure, handles: dict[str, Any], width: float, small: bool) -> None:
    """Above the panels."""
    columns = _by_rows(list(handles), width, small)
    turned = list(itertools.chain(*columns))  # matplotlib fills column by column
    figure.legend(
        [handles[name] for name in turned],
        turned,
        loc="outside upper left",
        ncols=len(columns),
        frameon=False,
        handlelength=3.0,
        columnspacing=1.6,
        numpoints=1,
    )


def _order(panels: Sequence[Panel]) -> list[str]:
    """Labels by where their curves end, the highest first: by the mean place over panels.

    Those of a panel that shares no label with another one stand together, behind those of panels that do.
    """
    labels = [{curve.label for curve in panel.curves} for panel in panels]
    for place in reversed(range(len(panels))):
        others = [*panels[:place], *panels[place + 1 :]]
        if others and labels[place].isdisjoint(curve.label for panel in others for curve in panel.curves):
            return [*_order(others), *_order([panels[place]])]
    places: dict[str, list[float]] = {}
    for panel in panels:
        ends = {}
        for curve in panel.curves:
            finite = np.asarray(curve.mean)[np.isfinite(curve.mean)]
            ends[curve.label] = float(finite[-1]) if len(finite) else -np.inf
        for place, label in enumerate(sorted(ends, key=lambda label: -ends[label])):
            places.setdefault(label, []).append(place / max(len(ends) - 1, 1))
    return sorted(places, key=lambda label: float(np.mean(places[label])))


def _curve(axes: Any, curve: Curve, look: Look, number: int, of: int, panel: Panel, small: bool) -> Any:
    """Draw one of a panel's curves; a handle for the legend."""
    x, mean = np.asarray(curve.x, np.float64), np.asarray(curve.mean, np.float64)
    shown = np.isfinite(mean)
    if panel.yscale == "log":
        shown &= mean > 0
    if panel.xscale == "log":
        shown &= x > 0
    mean = np.where(shown, mean, np.nan)
    size = (4.0 if small else 5.5) * (1.4 if look.marker in ("P", "X", "*") else 1.0)
    style = {
        "color": look.color,
        "linestyle": look.dashes if curve.joined else "none",
        "linewidth": 1.4 if small else 1.8,
        "marker": look.marker or ("." if curve.marked else ""),
        "zorder": 3 if look.marker else 2.5,  # who learns nothing hides nobody
        "markersize": size,
        "markeredgewidth": 0.3 if small else 0.6,
        "markeredgecolor": "white",
    }
    if curve.marked:
        error = None if curve.error is None else _known(curve.error)
        bars = axes.errorbar(x, mean, error, elinewidth=1.1, capsize=2 if small else 3, **style)
        bars.lines[0].set_clip_on(panel.top is not None)
        return bars.lines[0]
    gap = 0.30 if small else 0.22  # of the diagonal, between markers; those of the curves stand apart
    places = (0.03 + gap * number / max(of, 1), gap) if shown.any() else None
    (line,) = axes.plot(x, mean, markevery=places, **style)
    if curve.error is not None and of <= MOST_BANDS:
        low, high = mean - _known(curve.error), mean + _known(curve.error)
        if panel.yscale == "log":
            positive = mean[shown]
            low = np.maximum(low, positive.min() / 10 if len(positive) else 1e-9)
        axes.fill_between(x, low, high, where=shown, color=look.color, alpha=0.2, linewidth=0, zorder=2)
    return line


def _dress(axes: Any, panel: Panel, small: bool) -> str:
    """Scales, limits, ticks and breakpoints; what the caption says of these."""
    ends = [float(np.max(curve.x)) for curve in panel.curves if len(curve.x)]
    starts = [float(np.min(curve.x)) for curve in panel.curves if len(curve.x)]
    if not axes.patches:  # bars
        axes.set_xscale(panel.xscale)
    elif ends:
        axes.set_xlim(min(starts) - 0.6, max(ends) + 0.6)
        axes.xaxis.set_major_locator(MaxNLocator(24, integer=True))
    if panel.yscale == "symlog":
        axes.set_yscale("symlog", linthresh=1.0)
    else:
        shown = any(bool(np.any(np.asarray(curve.mean) > 0)) for curve in panel.curves)
        axes.set_yscale("linear" if panel.yscale == "log" and not shown else panel.yscale)
    marked = any(curve.marked for curve in panel.curves)
    if ends and not marked and not axes.patches:
        start = 0.0 if panel.xscale == "linear" and min(starts) < 0.05 * max(ends) else min(starts)
        axes.set_xlim(start, max(*ends, start + 1))
    if panel.yscale == "linear" and panel.bottom is None:
        values = [np.asarray(curve.mean)[np.isfinite(curve.mean)] for curve in panel.curves]
        if all(not len(v) or v.min() >= 0 for v in values) and panel.ylabel.lower().find("ndcg") < 0:
            axes.set_ylim(bottom=0)
    if panel.yscale == "symlog":
        axes.set_ylim(bottom=-0.06)  # the curve of who has none is seen whole
    if panel.top is not None or panel.bottom is not None:
        axes.set_ylim(panel.bottom, panel.top) if panel.bottom is not None else axes.set_ylim(top=panel.top)
    if not axes.patches:
        _plain_axis(axes.xaxis, axes.get_xscale(), small)
        points = np.unique([float(x) for curve in panel.curves if curve.marked for x in curve.x])
        apart = len(points) > 0 and bool((np.diff(points) > np.ptp(points) / 15).all())  # to be named, each of them
        if panel.xscale == "linear" and not small and apart:
            axes.set_xticks(points)
    _plain_axis(axes.yaxis, axes.get_yscale(), small)
    if not panel.breakpoints:
        return ""
    marks, which = thinned([point for point in panel.breakpoints if not ends or 0 < point < max(ends)])
    segments = [((mark, 0.0), (mark, 1.0)) for mark in marks]
    lines = LineCollection(segments, transform=axes.get_xaxis_transform(), **BREAKPOINTS)
    axes.add_collection(lines, autolim=False)
    axes.grid(visible=False, axis="x")
    return which if marks else ""


class _Decades(LogLocator):
    """Ticks at powers of ten; where there are less than three of these, also at 2 and 5, or at 3, of each.

    Within a decade they are at round numbers. So a value between two ticks can always be told.
    """

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if low > 0 and high < 10 * low:
            return MaxNLocator(5, steps=ROUND).tick_values(low, high)
        if low > 0 and math.floor(math.log10(high)) - math.ceil(math.log10(low)) < 2:
            within = (1.0, 2.0, 5.0) if high < 100 * low else (1.0, 3.0)
            return LogLocator(subs=within, numticks=self.numticks).tick_values(low, high)
        return super().tick_values(vmin, vmax)


def _plain_axis(axis: Any, scale: str, small: bool) -> None:
    """Ticks as 100, 1k, 10k, 1M, few enough to be read."""
    if scale == "log":
        axis.set_major_locator(_Decades(numticks=5 if small else 9))
    elif scale == "linear":
        axis.set_major_locator(MaxNLocator(4 if small else 6, steps=ROUND))
    if scale != "log":
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(counted_tick))
    axis.set_minor_formatter(NullFormatter())


def _known(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """A standard error, 0 where it is not known (of one row)."""
    return np.nan_to_num(np.asarray(error, np.float64))
