"""Figures in panels: curves of agents, and one agent over another. ``style`` decides the look.

A legend names the curves in the order in which they end, the highest first. Needs matplotlib.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankgym import style
from rankgym.estimates import known, mean_and_error
from rankgym.experiments.run.results import Played
from rankgym.style import Look, looks
from rankgym.style import write as write  # figures are drawn here, and written with it

Axis = Literal["linear", "log", "symlog"]

MAX_BANDS = 9  # curves of a panel with bands: the bands of more lie on top of each other
MAX_LARGE = 6  # panels; more are drawn small


class Curve(NamedTuple):
    """A mean over x with its standard error.

    ``panels`` has an example.
    """

    label: str  # an agent's label decides the look
    x: NDArray[Any]  # (points,) ascending
    mean: NDArray[np.float64]  # (points,) NaN: a gap
    error: NDArray[np.float64] | None = None  # (points,) standard error
    marked: bool = False  # markers at all points, and error bars instead of a band
    joined: bool = True  # by lines; False: markers alone


class Panel(NamedTuple):
    """A pair of axes with curves.

    ``panels`` has an example.
    """

    title: str
    curves: Sequence[Curve]
    xlabel: str = "rounds"
    ylabel: str = ""
    xscale: Axis = "linear"
    yscale: Axis = "linear"
    breakpoints: Sequence[int] = ()
    top: float | None = None  # of the y axis: curves above leave the frame
    bottom: float | None = None
    from_zero: bool = True  # a linear y axis without ``bottom`` begins at 0 if no mean is negative


class Pair(NamedTuple):
    """Two agents, query by query."""

    title: str
    xlabel: str
    ylabel: str
    x: NDArray[np.float64]  # (queries,)
    y: NDArray[np.float64]  # (queries,)


# -- curves -----------------------------------------------------------------------------------------------------------


def curve(played: Played, measure: str = "regret", *, label: str | None = None) -> Curve:
    """Return ``measure`` after each record: mean over all rows and standard error. ``label``: default the agent's."""
    played.at(measure, int(played.rounds[-1]))  # raises if there is no such measure
    mean, error = mean_and_error(known(played.measures[measure]))
    return Curve(label or played.agent, played.rounds, mean, error)


def per_round(played: Played, measure: str = "ndcg", *, label: str | None = None, least: float = 0.0) -> Curve:
    """Return ``measure`` per round between each record and the one before: mean over all rows and standard error.

    ``measure`` is a sum over rounds, or "ndcg", the mean so far. The curve's x are the middles of the stretches; that
    of one round is the round. Stretches whose middle is below ``least`` are left out.
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
    """Return the regret of each epoch, x from 0: mean and standard error over the rows that reached it."""
    both = [mean_and_error(values[~np.isnan(values)]) for values in played.epoch_regret]
    mean, error = np.array(both, np.float64).reshape(-1, 2).T
    return Curve(label or played.agent, np.arange(len(both)), mean, error, marked=True)


def panels(
    panels: Sequence[Panel],
    *,
    columns: int | None = None,
    caption: str = "",
    share_y: bool = False,
    order: Sequence[str] | None = None,
    width: float | None = None,
    names: Mapping[str, str] | None = None,
) -> Figure:
    """Draw panels of curves with one legend; a ValueError without a panel. More than six panels are drawn small.

    Args:
        columns: of panels; default: up to three in one row, four in two rows, more in rows of three to five.
        caption: goes below, with words on the breakpoints that are marked.
        share_y: all y axes are alike.
        order: the legend's labels; default: ``by_last_value``.
        names: of curves in the legend, by their labels, which decide their looks; default: the labels.
        width: of the figure on paper, in inches, with small panels and a paper's fonts; default: a figure for screens.

    Examples:
        >>> import numpy as np
        >>> from rankgym.experiments.show.figures import Curve, Panel, panels
        >>> rounds, regret = np.array([10, 100]), np.array([2.0, 9.0])
        >>> curves = [Curve("toprank", rounds, regret), Curve("static", rounds, 2 * regret)]
        >>> figure = panels([Panel("One query", curves, xscale="log")])
        >>> [text.get_text() for text in figure.legends[0].get_texts()], figure.axes[0].get_title(loc="left")
        (['static', 'toprank'], 'One query')
    """
    look = looks(curve.label for panel in panels for curve in panel.curves)

    def draw(axes: Any, panel: Panel, small: bool) -> dict[str, Any]:
        handles = {
            curve.label: _draw_curve(axes, curve, look[curve.label], number, panel, small)
            for number, curve in enumerate(panel.curves)
        }
        _set_x_axis(axes, panel, small)
        _set_y_axis(axes, panel, small)
        if panel.breakpoints:
            style.mark_breakpoints(axes, _breakpoints(panel)[0])
        return handles

    words = next((f"dotted lines: {which}" for marks, which in map(_breakpoints, reversed(panels)) if marks), "")
    caption = f"{caption}; {words}" if caption and words else caption or words.capitalize()
    shown = names or {}

    def draw_named(axes: Any, panel: Panel, small: bool) -> dict[str, Any]:
        return {shown.get(label, label): handle for label, handle in draw(axes, panel, small).items()}

    order = [shown.get(label, label) for label in (by_last_value(panels) if order is None else order)]
    return _grid(panels, draw_named, columns, caption, share_y, order, width)


def _draw_curve(axes: Any, curve: Curve, look: Look, number: int, panel: Panel, small: bool) -> Any:
    """Draw the curve of this ``number`` in its panel; return a handle for the legend."""
    if panel.yscale == "log":
        axes.set_yscale("log")  # a band ends above 0 there
    x, mean = np.asarray(curve.x, np.float64), np.asarray(curve.mean, np.float64)
    shown = np.isfinite(mean)
    if panel.yscale == "log":
        shown &= mean > 0
    if panel.xscale == "log":
        shown &= x > 0
    mean = np.where(shown, mean, np.nan)
    given: Any = {"label": curve.label, "small": small} | ({} if curve.joined else {"linestyle": "none"})
    if curve.marked:
        error = None if curve.error is None else _known(curve.error)
        options = style.line_options(curve.label, look, small)
        options |= {"marker": look.marker or "."} | ({} if curve.joined else {"linestyle": "none"})
        bars = axes.errorbar(x, mean, error, elinewidth=1.1, capsize=2 if small else 3, **options)
        bars.lines[0].set_clip_on(panel.top is not None)
        return bars.lines[0]
    gap = 0.30 if small else 0.22  # of the diagonal, between markers; those of neighbouring curves are apart
    places = (0.03 + gap * number / len(panel.curves), gap) if shown.any() else None
    error = curve.error if len(panel.curves) <= MAX_BANDS else None
    return style.draw_curve(axes, x, mean, error, look, markers=places, **given)


def _ends(panel: Panel) -> tuple[float, float] | None:
    """Return the least and the largest x of the panel's curves; None if there are no points."""
    x = [float(point) for curve in panel.curves for point in curve.x]
    return (min(x), max(x)) if x else None


def _breakpoints(panel: Panel) -> tuple[list[int], str]:
    """Return the panel's breakpoints to mark, and their name."""
    ends = _ends(panel)
    return style.thinned([point for point in panel.breakpoints if ends is None or 0 < point < ends[1]])


def _set_x_axis(axes: Any, panel: Panel, small: bool) -> None:
    axes.set_xscale(panel.xscale)
    ends = _ends(panel)
    if ends is not None and not any(curve.marked for curve in panel.curves):
        start = 0.0 if panel.xscale == "linear" and ends[0] < 0.05 * ends[1] else ends[0]
        axes.set_xlim(start, max(ends[1], start + 1))
    style.set_ticks(axes.xaxis, small)
    points = np.unique([float(x) for curve in panel.curves if curve.marked for x in curve.x])
    apart = len(points) > 0 and bool((np.diff(points) > np.ptp(points) / 15).all())  # labels do not overlap
    if panel.xscale == "linear" and not small and apart:
        axes.set_xticks(points)
    elif panel.xscale == "linear" and len(points) and (points == points.round()).all():
        axes.xaxis.get_major_locator().set_params(integer=True)  # there is no half an epoch


def _set_y_axis(axes: Any, panel: Panel, small: bool) -> None:
    if panel.yscale == "symlog":
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(bottom=-0.06)  # a curve at 0 is seen whole
    else:
        positive = any(bool(np.any(np.asarray(curve.mean) > 0)) for curve in panel.curves)
        axes.set_yscale("linear" if panel.yscale == "log" and not positive else panel.yscale)
    if panel.yscale == "linear" and panel.bottom is None and panel.from_zero:
        values = [np.asarray(curve.mean)[np.isfinite(curve.mean)] for curve in panel.curves]
        if all(not len(v) or v.min() >= 0 for v in values):
            axes.set_ylim(bottom=0)
    if panel.bottom is not None or panel.top is not None:
        axes.set_ylim(panel.bottom, panel.top)
    style.set_ticks(axes.yaxis, small)


def by_last_value(panels: Sequence[Panel]) -> list[str]:
    """Return all labels in the order in which their curves end, the highest first: by the mean place over panels.

    Labels of panels that share a label with another panel come first; those of any other panel stand together.
    """
    labels = [{curve.label for curve in panel.curves} for panel in panels]
    for place in reversed(range(len(panels))):
        others = [*panels[:place], *panels[place + 1 :]]
        if others and labels[place].isdisjoint(curve.label for panel in others for curve in panel.curves):
            return [*by_last_value(others), *by_last_value([panels[place]])]
    places: dict[str, list[float]] = {}
    for panel in panels:
        ends = {}
        for one in panel.curves:
            finite = np.asarray(one.mean)[np.isfinite(one.mean)]
            ends[one.label] = float(finite[-1]) if len(finite) else -np.inf
        for place, label in enumerate(sorted(ends, key=lambda label: -ends[label])):
            places.setdefault(label, []).append(place / max(len(ends) - 1, 1))
    return sorted(places, key=lambda label: float(np.mean(places[label])))


# -- points -----------------------------------------------------------------------------------------------------------


def scatter(pairs: Sequence[Pair], *, columns: int | None = None, caption: str = "") -> Figure:
    """Draw one point a query: the regret of one agent over that of another, both axes logarithmic.

    The number of points on either side of the diagonal is written there. Values that are not positive lie on the
    frame, as hollow points. Arguments and errors are those of ``panels``.
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
        points = {"s": 26 if small else 40, "linewidth": 0.8, "zorder": 3, "clip_on": False}
        axes.scatter(x[inside], y[inside], facecolor=style.BLUE, edgecolor="white", alpha=0.85, **points)
        axes.scatter(x[~inside], y[~inside], facecolor="none", edgecolor=style.BLUE, **points)
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        style.set_ticks(axes.xaxis, small)
        style.set_ticks(axes.yaxis, small)
        above, below = np.sum(both[1] > both[0]), np.sum(both[1] < both[0])
        for x, y, number, ha, va in ((0.04, 0.95, above, "left", "top"), (0.96, 0.05, below, "right", "bottom")):
            words = f"{number} of {both.shape[1]}"
            axes.text(x, y, words, transform=axes.transAxes, ha=ha, va=va, color="#222222")
        return {}

    return _grid(pairs, draw, columns, caption, False, [])


# -- all figures ------------------------------------------------------------------------------------------------------


def _grid(
    given: Sequence[Any],
    draw: Callable[[Any, Any, bool], dict[str, Any]],
    columns: int | None,
    caption: str,
    share_y: bool,
    order: Sequence[str],
    paper: float | None = None,
) -> Figure:
    """Draw each of ``given`` into axes of its own, with a common legend, in ``order``, and the caption."""
    if not given:
        raise ValueError("panels = () is empty; allowed: at least one")
    number, small = len(given), len(given) > MAX_LARGE or paper is not None
    columns = columns or ({1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}.get(number) or (4 if number < 16 else 5))
    columns = min(columns, number)
    rows = -(-number // columns)
    width, height = (2.7, 2.2) if small else (4.4 if number > 1 else 6.6, 3.7 if number > 1 else 4.4)
    if paper is not None:
        width, height = paper / columns, min(0.75 * paper / columns, 2.4)
    fonts: Any = style.PAPER_FONTS if paper is not None else {"font.size": 9, "axes.titlesize": 9.5} if small else {}
    with mpl.rc_context({**style.RC_PARAMS, **fonts}):
        above = 0.2 * (len(style.columns_of_names(order, width * columns, small)[0]) if order else 1)
        below = 0.15 * len(style.caption_lines(caption, width * columns))
        size = (width * columns, height * rows + 0.4 + above + below)
        figure = Figure(figsize=size, dpi=100, layout="constrained")
        cast(Any, figure.get_layout_engine()).set(w_pad=0.06, h_pad=0.06)
        grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
        handles: dict[str, Any] = {}
        for place, one in enumerate(given):
            axes = grid[divmod(place, columns)]
            handles = draw(axes, one, small) | handles
            axes.set_title(textwrap.fill(one.title, int(width * (12 if small else 9))))
            in_last_row, in_first_column = place + columns >= number, place % columns == 0
            axes.set_xlabel(one.xlabel if in_last_row or not small else "")
            axes.set_ylabel(one.ylabel if in_first_column or not (small or share_y) else "")
        for place in range(number, rows * columns):
            grid[divmod(place, columns)].remove()
        names = [label for label in order if label in handles] or list(handles)
        if names and not (len(names) == 1 and not order):
            style.add_legend(figure, {name: handles[name] for name in names}, small)
        if caption:
            style.add_caption(figure, caption)
    return figure


def _known(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a standard error with 0 where it is unknown, as that of one row is."""
    return np.nan_to_num(np.asarray(error, np.float64))
