"""Curves of results: a measure after each record, per round, or per epoch; means over rows and standard errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.means import known, mean_and_error
from rankgym.experiments.run.results import Played

__all__ = ["Curve", "curve", "per_epoch", "per_round"]


class Curve(NamedTuple):
    """A mean over x with its standard error."""

    label: str  # an agent's label decides the look
    x: NDArray[Any]  # (points,) ascending
    mean: NDArray[np.float64]  # (points,) NaN: a gap
    error: NDArray[np.float64] | None = None  # (points,) standard error
    marked: bool = False  # markers at all points, and error bars instead of a band
    joined: bool = True  # by lines; False: markers alone


def curve(played: Played, measure: str = "regret", *, label: str | None = None) -> Curve:
    """Return ``measure`` after each record: mean over all rows and standard error. ``label``: default the agent's."""
    played.at(measure, int(played.rounds[-1]))  # raises if there is no such measure
    mean, error = mean_and_error(known(played.measures[measure]))
    return Curve(label or played.agent, played.rounds, mean, error)


def per_round(played: Played, measure: str = "ndcg", *, label: str | None = None, least: float = 0.0) -> Curve:
    """Return ``measure`` per round between each record and the one before: mean over all rows and standard error.

    Args:
        played: an agent in an environment.
        measure: a sum over rounds, or "ndcg", the mean so far.
        label: default the agent's.
        least: stretches whose middle is below are left out.

    Returns:
        A curve whose x are the middles of the stretches; that of one round is the round.
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
