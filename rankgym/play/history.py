"""Histories: what a simulation returns, one entry for each recorded round and row."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MEASURES = ("regret", "violations", "ndcg", "reward")  # the fields of a History of shape (records, num_envs)
DUELING_MEASURES = ("regret", "accuracy", "reward")  # those of a DuelingHistory


class History(NamedTuple):
    """The measures of each row after each recorded round, and the regret of each epoch."""

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    violations: NDArray[np.float64]  # (records, num_envs) rounds that violated the safety constraint so far
    ndcg: NDArray[np.float64]  # (records, num_envs) mean NDCG at the cutoff so far
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward
    epoch_regret: NDArray[np.float64]  # (epochs, num_envs) NaN: epoch not reached; stationary: no epochs

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError if that round was not recorded."""
        return _at(self, round)

    def __repr__(self) -> str:
        """One line, without the arrays."""
        return _line(self, [f"epochs={len(self.epoch_regret)}"] if len(self.epoch_regret) else [])


class DuelingHistory(NamedTuple):
    """The measures of each row of duels after each recorded round."""

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    accuracy: NDArray[np.float64]  # (records, num_envs) 1 if the candidate is the best arm, else 0; NaN: unknown
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError if that round was not recorded."""
        return _at(self, round)

    def __repr__(self) -> str:
        """One line, without the arrays."""
        known = np.ndim(self.accuracy) == 2 and len(self.accuracy) and not np.isnan(self.accuracy[-1]).any()
        return _line(self, [f"mean_final_accuracy={float(np.mean(self.accuracy[-1])):.6g}"] if known else [])


def measures(history: History | DuelingHistory) -> tuple[str, ...]:
    """The fields of shape (records, num_envs)."""
    return DUELING_MEASURES if isinstance(history, DuelingHistory) else MEASURES


def _at(history: History | DuelingHistory, round: int) -> dict[str, NDArray[np.float64]]:
    index = int(np.searchsorted(history.rounds, round))
    if index == len(history.rounds) or history.rounds[index] != round:
        raise ValueError(f"round = {round} was not recorded; ask for it with record_at=[{round}]")
    return {name: getattr(history, name)[index] for name in measures(history)}


def _line(history: History | DuelingHistory, more: list[str]) -> str:
    if np.ndim(history.regret) != 2:
        return tuple.__repr__(history)  # other arrays than a simulation's
    records, rows = np.shape(history.regret)
    parts = [f"records={records}", f"rows={rows}"]
    if records:
        mean = float(np.mean(history.regret[-1]))
        parts = [f"rounds={history.rounds[-1]}", *parts, f"mean_final_regret={mean:.6g}"]
    return f"{type(history).__name__}({', '.join([*parts, *more])})"
