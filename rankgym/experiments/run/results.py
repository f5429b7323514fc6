"""What a sweep has found, in memory: a ``Played`` for each environment and agent. ``tables`` makes tables of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of
from rankgym.estimates import known, mean_and_error, with_error
from rankgym.play.history import DuelingHistory, History

MOST_LINES = 20  # of the text of Results


class Played(NamedTuple):
    """All rows of one agent in one environment, after each of the recorded rounds.

    ``rankgym.experiments.read`` has an example.
    """

    environment: str  # label in the sweep
    agent: str  # label, as typed
    env_id: str
    env_kwargs: dict[str, Any]  # without what rows play
    rounds: NDArray[np.int64]  # (records,) rounds played
    row: NDArray[np.int64]  # (rows,) numbers in the sweep; ascending
    query: NDArray[np.int64]  # (rows,) the query or problem that the row plays; 0 if the environment has neither
    run: NDArray[np.int64]  # (rows,) number of the run of its query, from 0
    measures: dict[str, NDArray[np.float64]]  # (records, rows) each: those of History, or of DuelingHistory
    epoch_regret: NDArray[np.float64]  # (epochs, rows); NaN: not come to; no epochs if stationary, and of duels
    settled_at: NDArray[np.int64]  # (rows,) rounds played when the row was retired; -1: played out
    data: Mapping[str, str] = {}  # digests of the imported data that decided it, by their names

    def at(self, measure: str, round: int) -> NDArray[np.float64]:
        """Return ``measure`` after ``round`` rounds, (rows,); ValueError if it was not recorded."""
        values = one_of("measure", measure, self.measures)
        index = int(np.searchsorted(self.rounds, round))
        if index == len(self.rounds) or self.rounds[index] != round:
            raise ValueError(f"round = {round} was not recorded; allowed: one of the sweep's record_at")
        return values[index]

    def history(self) -> History | DuelingHistory:
        """Return the history of all rows: to plot, to save, as a data frame.

        The arrays are contiguous, as the last bit of sums over rows depends on it.
        """
        measures = {name: np.ascontiguousarray(values) for name, values in self.measures.items()}
        if "accuracy" in measures:
            return DuelingHistory(self.rounds, **measures)
        reached = ~np.isnan(self.epoch_regret).all(axis=1)  # a kept job may have more rows, and so more epochs
        epochs = np.ascontiguousarray(self.epoch_regret[: reached.sum()])
        return History(self.rounds, **measures, epoch_regret=epochs)

    def __repr__(self) -> str:
        """One line, without the arrays."""
        return f"Played({self.environment!r}, {self.agent!r}: {_summary(self)})"

    def by_query(self, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The queries (queries,), ascending, and the means of ``values`` (..., rows) over their runs (..., queries)."""
        queries = np.unique(self.query)
        return queries, np.stack([values[..., self.query == query].mean(axis=-1) for query in queries], axis=-1)


class Results:
    """Results by the labels of environment and agent: ``results["PBM", "toprank"]``.

    ``rankgym.experiments.run_sweep`` and ``read`` return them and have examples.
    """

    def __init__(self, played: Iterable[Played]) -> None:
        self._played = {(one.environment, one.agent): one for one in played}

    def __getitem__(self, labels: tuple[str, str]) -> Played:
        if labels not in self._played:
            there = ", ".join(map(repr, self._played))
            raise KeyError(f"{labels} was not played; there are {there or 'no results'}")
        return self._played[labels]

    def __contains__(self, labels: object) -> bool:
        return labels in self._played

    def __iter__(self) -> Iterator[Played]:
        return iter(self._played.values())

    def __len__(self) -> int:
        return len(self._played)

    def __repr__(self) -> str:
        """A line for each environment and agent, of many the first and the last."""
        lines = [f"  {one.environment!r}, {one.agent!r}: {_summary(one)}" for one in self]
        if len(lines) > MOST_LINES:
            left_out = f"  ... {len(lines) - MOST_LINES + 1} more ..."
            lines = [*lines[: MOST_LINES - 2], left_out, lines[-1]]
        number, places = len(self), len(self.environments)
        results, where = "result" if number == 1 else "results", "environment" if places == 1 else "environments"
        return "\n".join([f"Results: {number:,} {results} in {places:,} {where}", *lines])

    @property
    def environments(self) -> list[str]:
        """Labels, in the sweep's order."""
        return list(dict.fromkeys(environment for environment, _ in self._played))

    def labelled(self, labels: Mapping[str, str]) -> "Results":
        """Return the results with agents named by ``labels``; others keep their names."""
        return Results(one._replace(agent=labels.get(one.agent, one.agent)) for one in self)

    def agents(self, environment: str) -> list[str]:
        """Labels of those that have played ``environment``, in the sweep's order."""
        return [agent for played, agent in self._played if played == environment]


def _summary(played: Played) -> str:
    """Return a line on what was played: rows, rounds, the final regret."""
    rows, records = len(played.row), len(played.rounds)
    text = f"{rows:,} {'row' if rows == 1 else 'rows'}"
    if records:
        text += f", {played.rounds[-1]:,} rounds, {records:,} records"
        regret = known(played.measures.get("regret", np.empty((0, rows)))[-1:])
        mean, error = mean_and_error(regret)
        text += f", regret {with_error(float(mean[0]), float(error[0]))}" if len(regret) else ""
    return text


def with_epochs(epoch_regret: NDArray[np.float64], epochs: int) -> NDArray[np.float64]:
    """The regret of each epoch (epochs, rows), with NaN where fewer epochs were there before.

    Rows that draw their own breakpoints come to more epochs, or fewer.
    """
    more = max(epochs - len(epoch_regret), 0)
    return np.pad(epoch_regret, ((0, more), (0, 0)), constant_values=np.nan)


def join(blocks: Iterable[Played], rows: int | None = None) -> Played:
    """Join blocks of rows of the same agent and environment, in the order of their rows.

    Each row counts once; with ``rows``, only rows below it do.
    """
    parts = sorted(blocks, key=lambda played: int(played.row[0]))
    numbers = np.concatenate([part.row for part in parts])
    _, chosen = np.unique(numbers, return_index=True)
    chosen = chosen[numbers[chosen] < (numbers.max() + 1 if rows is None else rows)]
    epochs = max(len(part.epoch_regret) for part in parts)

    def joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(list(arrays), axis=-1)[..., chosen]

    return parts[0]._replace(
        row=numbers[chosen],
        query=joined(part.query for part in parts),
        run=joined(part.run for part in parts),
        settled_at=joined(part.settled_at for part in parts),
        measures={name: joined(part.measures[name] for part in parts) for name in parts[0].measures},
        epoch_regret=joined(with_epochs(part.epoch_regret, epochs) for part in parts),
    )
