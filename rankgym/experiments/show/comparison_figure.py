"""The figure of a comparison: regret, safety and NDCG over rounds; of duels, regret and accuracy. Needs matplotlib."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from rankgym.estimates import known, mean_and_error
from rankgym.experiments.judge.comparison import Comparison, caption
from rankgym.experiments.show.figures import MAX_BANDS, Curve, Panel, by_last_value, panels
from rankgym.style import stands_back

SETTLED = 0.01  # of a linear axis: less cannot be told from 0, and the mean of fewer rounds is a vertical stroke
DECADES = 2  # of rounds that a figure shows at least


def draw_comparison(comparison: Comparison) -> Figure:
    """Draw the comparison's figure: means over rows and, of few agents, bands one standard error to either side."""
    shown = PANELS[comparison.kind](comparison)
    words = caption(comparison, "all" if len(comparison.agents) <= MAX_BANDS else "none")
    for group in comparison.agreements:
        words += f"; {', '.join(group[:-1])} and {group[-1]} coincide"
    return panels(shown, caption=words, order=by_last_value(shown[:1]))


def _curves(comparison: Comparison, values: Callable[[Any], Any]) -> list[Curve]:
    """Return one curve an agent, of the ``values`` (records, rows) of its history."""
    histories: list[tuple[str, Any]] = [(spec.label, comparison.histories[spec.label]) for spec in comparison.agents]
    return [Curve(label, history.rounds, *mean_and_error(values(history))) for label, history in histories]


def _panels_of_rankings(comparison: Comparison) -> list[Panel]:
    """Return panels of regret (both axes logarithmic), violations of the safety constraint, and NDCG.

    In a non-stationary environment all axes are linear, so that late epochs are as wide as early ones, and vertical
    lines mark the breakpoints that rows share.
    """
    regret = _curves(comparison, lambda history: history.regret)
    violations = _curves(comparison, lambda history: history.violations)
    quality = _curves(comparison, lambda history: history.ndcg)
    titles = "Cumulative regret", "Safety violations", f"NDCG at {comparison.cutoff}, mean so far"
    if comparison.epochs:
        quality = [_after(curve, SETTLED * comparison.rounds) for curve in quality]
        marks = comparison.breakpoints or ()
        return [
            Panel(titles[0], regret, breakpoints=marks, bottom=0.0),
            Panel(titles[1], violations, breakpoints=marks, bottom=0.0),
            Panel(titles[2], quality, breakpoints=marks, from_zero=False),
        ]
    least = _least(regret)
    if least is not None:
        regret = [curve._replace(mean=np.where(curve.mean > least, curve.mean, np.nan)) for curve in regret]
    return [
        Panel(titles[0], regret, xscale="log", yscale="linear" if least is None else "log", bottom=least),
        Panel(titles[1], violations, xscale="log", yscale="symlog"),
        Panel(titles[2], quality, xscale="log", from_zero=False),
    ]


def _panels_of_duels(comparison: Comparison) -> list[Panel]:
    """Return panels of regret, on a linear axis over rounds on a logarithmic one, and of accuracy.

    Zoghi, Whiteson and de Rijke (MergeRUCB, 2015) have the same axes. Agents that do not learn leave the frame. The
    rounds begin at the power of ten after which regret can be told from 0, so that curves use the whole width. If no
    regret is known the first panel has the mean reward; if no accuracy is, there is no second panel.
    """
    first = 1.0
    if comparison.regret_known:
        regret = _curves(comparison, lambda history: history.regret)
        top = 1.05 * max((_highest(curve) for curve in regret if not stands_back(curve.label)), default=0.0)
        first = _first_decade(regret, SETTLED * top)
        regret = [_after(curve, first) for curve in regret]
        shown = [Panel("Cumulative regret", regret, xscale="log", top=top or None, bottom=0.0)]
    else:
        rewards = _curves(comparison, lambda history: history.reward / history.rounds[:, None])
        shown = [Panel("Reward, mean so far", rewards, xscale="log", from_zero=False)]
    if comparison.accuracy_known:
        accuracy = [_after(curve, first) for curve in _curves(comparison, lambda history: known(history.accuracy))]
        shown.append(Panel("Accuracy", accuracy, xscale="log", top=1.02, bottom=-0.02))
    return shown


PANELS = {"rankings": _panels_of_rankings, "duels": _panels_of_duels}


def _after(curve: Curve, first: float) -> Curve:
    """Return the points of ``curve`` from round ``first`` on."""
    rounds = curve.x >= first
    error = None if curve.error is None else curve.error[rounds]
    return curve._replace(x=curve.x[rounds], mean=curve.mean[rounds], error=error)


def _first_decade(curves: list[Curve], least: float) -> float:
    """Return the last power of ten before any curve exceeds ``least``; at least ``DECADES`` are left."""
    first = [curve.x[np.argmax(curve.mean > least)] for curve in curves if (curve.mean > least).any()]
    last = max(curve.x[-1] for curve in curves)
    start = min([*first, last / 10**DECADES])
    return float(10.0 ** max(np.floor(np.log10(start)), 0)) if start >= 1 else 1.0


def _least(curves: list[Curve]) -> float | None:
    """Return a number below all positive means of ``curves``, those of rounding aside; None if none is positive."""
    means = np.concatenate([curve.mean for curve in curves])
    positive = means[means > 1e-9]
    return float(positive.min()) / 2 if len(positive) else None


def _highest(curve: Curve) -> float:
    """Return the highest end of the curve's band, at least 0."""
    error = 0.0 if curve.error is None else np.nan_to_num(curve.error)
    return float(np.nanmax(curve.mean + error, initial=0.0))
