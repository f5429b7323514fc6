"""Units of intervals: one value for each query (mean over its runs), or for each run of a single query or problem.

Two agents that have played the same units have met the same users there, so their values are paired.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.estimates import mean_and_error
from rankgym.experiments.run.results import Played, Results


class Units(NamedTuple):
    """A number, or a curve, for each query (mean over its runs) or for each run."""

    values: NDArray[np.float64]  # (..., units)
    names: NDArray[np.int64]  # (units,) numbers of the queries or runs, ascending; two agents are paired by them
    kind: str  # "queries", "problems" or "runs"


def each_row(played: Played, values: NDArray[Any]) -> Units:
    """Return units of any ``values`` (..., rows): means over the runs of each query; for a single query, its runs."""
    values = np.asarray(values, np.float64)
    if values.shape[-1:] != played.row.shape:
        raise ValueError(f"values = an array {values.shape} does not fit; allowed: (..., {len(played.row)}), one a row")
    if len(np.unique(played.query)) == 1:
        order = np.argsort(played.run, kind="stable")
        return Units(values[..., order], played.run[order], "runs")
    queries, found = played.by_query(values)
    return Units(found, queries, "problems" if "accuracy" in played.measures else "queries")


def amount(played: Played, measure: str = "regret", stop: int | None = None, *, start: int = 0) -> Units:
    """Return what rounds ``start`` .. ``stop`` - 1 added to ``measure``; for "ndcg", the mean over these rounds.

    Args:
        played: an agent in an environment.
        measure: a cumulative one, or "accuracy": its value after ``stop`` rounds.
        stop: a recorded round; default: the last.
        start: a recorded round, or 0.

    Raises:
        ValueError: a round was not recorded, or ``start`` is not before ``stop``.
    """
    stop = int(played.rounds[-1]) if stop is None else stop
    values = played.at(measure, stop)
    if start:
        if not 0 < start < stop:
            raise ValueError(f"start = {start} is not before stop = {stop}; allowed: 0 <= start < stop")
        if measure == "accuracy":
            raise ValueError(f"start = {start} has no meaning for 'accuracy', which is not cumulative; allowed: 0")
        before = played.at(measure, start)
        values = (stop * values - start * before) / (stop - start) if measure == "ndcg" else values - before
    return each_row(played, values)


def curves(played: Played, measure: str = "regret") -> Units:
    """Return ``measure`` after each recorded round: values (records, units)."""
    played.at(measure, int(played.rounds[-1]))  # raises if the measure is unknown
    return each_row(played, played.measures[measure])


def epochs(played: Played, which: Sequence[int]) -> Units:
    """Return the total regret of the epochs ``which``; NaN where a row has not reached one of them.

    Raises:
        ValueError: an epoch does not exist.
    """
    count = len(played.epoch_regret)
    unknown = [epoch for epoch in which if not 0 <= epoch < count]
    if unknown:
        allowed = f"allowed: 0 .. {count - 1}" if count else "the environment has no epochs"
        raise ValueError(f"which has epoch {unknown[0]}; {allowed}")
    return each_row(played, played.epoch_regret[list(which)].sum(axis=0))


def means(results: Results, measure: str = "regret") -> list[dict[str, Any]]:
    """Return one dict for each environment and agent that has the measure: its mean and standard error over all rows.

    Keys: environment, agent, mean, error (NaN with one row), rows, queries (their number), settled (share of the rows
    that were retired), rounds.
    """
    lines = []
    for played in results:
        if measure in played.measures:
            average, error = mean_and_error(played.measures[measure][-1])
            lines.append(
                {
                    "environment": played.environment,
                    "agent": played.agent,
                    "mean": float(average),
                    "error": float(error),
                    "rows": len(played.row),
                    "queries": len(np.unique(played.query)),
                    "settled": float(np.mean(played.settled_at >= 0)),
                    "rounds": int(played.rounds[-1]),
                }
            )
    return lines


def check_paired(samples: Sequence[Units]) -> None:
    """Raise a ValueError if the units of the samples differ."""
    first, *others = samples
    for other in others:
        if other.kind != first.kind or not np.array_equal(other.names, first.names):
            raise ValueError(
                f"{counted_units(len(other.names), other.kind)} are not those of the first, "
                f"{counted_units(len(first.names), first.kind)}; allowed: the same ones, or paired=False"
            )


def counted_units(number: int, kind: str) -> str:
    """ "60 queries", "1 query"; ``kind`` is a plural."""
    singular = "query" if kind == "queries" else kind.removesuffix("s")
    return f"{number:,} {singular if number == 1 else kind}"
