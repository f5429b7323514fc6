"""Histories: what a simulation returns, one entry for each recorded round and row."""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym import histories

MEASURES = ("regret", "violations", "ndcg", "reward")  # the fields of a History of shape (records, num_envs)
DUELING_MEASURES = ("regret", "accuracy", "reward")  # those of a DuelingHistory


class History(NamedTuple):
    """The measures of each row after each recorded round, and the regret of each epoch.

    ``rankgym.simulate`` returns one. Rows are those of the vector environment, and each has a seed of its own, so that
    standard errors are taken over axis 1: ``history.regret[-1].std(ddof=1) / sqrt(num_envs)``.

    Attributes:
        rounds: (records,) int64: the numbers of rounds played, ascending: about 20 a decade, powers of ten, the last,
            and those of ``record_at``. All measures are those after that many rounds.
        regret: (records, num_envs) float64: cumulative expected regret, in expected clicks (or in the environment's
            other reward): what the displayed lists lost against the best list at each moment.
        violations: (records, num_envs) float64: rounds so far whose list had over K / 2 more incorrectly ordered pairs
            than the production list, K the number of displayed positions.
        ndcg: (records, num_envs) float64 in [0, 1]: NDCG at the cutoff by attraction, the mean of all rounds so far.
        reward: (records, num_envs) float64: cumulative reward, in clicks.
        epoch_regret: (epochs, num_envs) float64: regret within each epoch of a non-stationary environment, NaN where
            a row has not reached it; no epochs (0, num_envs) if users do not change.

    Examples:
        >>> import numpy as np
        >>> from rankgym import History
        >>> regret = np.array([[0.5, 1.5], [2.0, 4.0]])  # of two rows, after 10 and after 100 rounds
        >>> others = dict.fromkeys(("violations", "ndcg", "reward"), np.zeros((2, 2)))
        >>> history = History(np.array([10, 100]), regret, **others, epoch_regret=np.empty((0, 2)))
        >>> history
        History(rounds=100, records=2, rows=2, mean_final_regret=3)
        >>> history.at(10)["regret"].tolist()
        [0.5, 1.5]
    """

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    violations: NDArray[np.float64]  # (records, num_envs) rounds that violated the safety constraint so far
    ndcg: NDArray[np.float64]  # (records, num_envs) mean NDCG at the cutoff so far
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward
    epoch_regret: NDArray[np.float64]  # (epochs, num_envs) NaN: epoch not reached; stationary: no epochs

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError if that round was not recorded."""
        return _at(self, round)

    def to_pandas(self, *, epochs: bool = False) -> Any:
        """Return a tidy data frame: a line for each row and record, with round, row and the measures.

        ``epochs=True``: instead a line for each row and epoch, with epoch, row and regret (NaN: epoch not reached).
        A stationary environment has no epochs, and no lines then. Needs pandas, from the extra ``experiments``.
        """
        return histories.epochs_to_pandas(self) if epochs else histories.to_pandas(self, MEASURES)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to ``path``, FILE.npz, atomically; ``load`` reads it, and so does ``numpy.load``.

        Raises:
            ValueError: ``path`` is not such a name, its folder does not exist, or the arrays are not a history's.
        """
        histories.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "History":
        """Read what ``save`` wrote, bit for bit, or a history ``<agent>.npz`` of ``rankgym compare``.

        Raises:
            ValueError: the file is damaged, or not that of a History.
            OSError: the file is missing or cannot be read.
        """
        return histories.load(cls, path)

    def plot(self, measure: str = "regret", *, ax: Any = None, label: str | None = None) -> Any:
        """Draw a measure over rounds: the mean over rows, and a band of one standard error to either side.

        Several histories come into one picture by handing on the axes: ``ax = a.plot(label="toprank")``, then
        ``b.plot(ax=ax, label="mine")``. Needs the extra ``experiments``; the figure is pyplot's, shown by your backend.

        Args:
            measure: one of "regret", "violations", "ndcg" and "reward". Rows with a NaN are left out.
            ax: matplotlib's axes to draw into. Default: a new figure with a title, over log rounds; in a non-stationary
                environment over linear ones, so that late epochs are as wide as early ones.
            label: the curve's name in the legend. An agent's name, such as "toprank", has that agent's colour.

        Returns:
            The axes; ``ax.figure.savefig("curves.pdf")`` writes them, ``ax.set_yscale("log")`` and
            ``ax.set_title("...")`` change them.
        """
        return histories.plot(self, MEASURES, measure, ax, label)

    def __repr__(self) -> str:
        """One line, without the arrays."""
        return _line(self, [f"epochs={len(self.epoch_regret)}"] if len(self.epoch_regret) else [])


class DuelingHistory(NamedTuple):
    """The measures of each row of duels after each recorded round. ``rankgym.simulate`` returns one.

    Attributes:
        rounds: (records,) int64: the numbers of duels played, ascending. All measures are those after that many.
        regret: (records, num_envs) float64: cumulative expected regret, by default the average of both arms' gaps to
            the Condorcet winner, summed over duels; NaN: the winner is unknown.
        accuracy: (records, num_envs) float64: 1 if the arm that the agent names as its candidate is the best one, or
            one of several that are equally good, else 0; NaN: the best arm or the candidate is unknown.
        reward: (records, num_envs) float64: cumulative reward: minus the regret for arms of a preference matrix, the
            clicks for interleaved lists.

    Examples:
        >>> import numpy as np
        >>> from rankgym import DuelingHistory
        >>> regret, accuracy = np.array([[3.0, 5.0], [9.0, 11.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> history = DuelingHistory(np.array([10, 100]), regret, accuracy, reward=-regret)
        >>> history
        DuelingHistory(rounds=100, records=2, rows=2, mean_final_regret=10, mean_final_accuracy=1)
        >>> history.at(10)["accuracy"].tolist()  # after ten duels one of two rows names the best arm
        [0.0, 1.0]
    """

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    accuracy: NDArray[np.float64]  # (records, num_envs) 1 if the candidate is the best arm, else 0; NaN: unknown
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError if that round was not recorded."""
        return _at(self, round)

    def to_pandas(self) -> Any:
        """Return a tidy data frame: a line for each row and record, with round, row and the measures.

        Needs pandas, from the extra ``experiments``.
        """
        return histories.to_pandas(self, DUELING_MEASURES)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the history to ``path``, FILE.npz, atomically; ``load`` reads it, and so does ``numpy.load``.

        Raises:
            ValueError: ``path`` is not such a name, its folder does not exist, or the arrays are not a history's.
        """
        histories.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "DuelingHistory":
        """Read what ``save`` wrote, bit for bit, or a history ``<agent>.npz`` of ``rankgym compare``.

        Raises:
            ValueError: the file is damaged, or not that of a DuelingHistory.
            OSError: the file is missing or cannot be read.
        """
        return histories.load(cls, path)

    def plot(self, measure: str = "regret", *, ax: Any = None, label: str | None = None) -> Any:
        """Draw a measure over rounds: the mean over rows, and a band of one standard error to either side.

        Several histories come into one picture by handing on the axes: ``ax = a.plot(label="toprank")``, then
        ``b.plot(ax=ax, label="mine")``. Needs the extra ``experiments``; the figure is pyplot's, shown by your backend.

        Args:
            measure: one of "regret", "accuracy" and "reward". Rows with a NaN are left out.
            ax: matplotlib's axes to draw into. Default: a new figure with a title, over log rounds.
            label: the curve's name in the legend. An agent's name, such as "toprank", has that agent's colour.

        Returns:
            The axes; ``ax.figure.savefig("curves.pdf")`` writes them, ``ax.set_yscale("log")`` changes them.
        """
        return histories.plot(self, DUELING_MEASURES, measure, ax, label)

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
        last = int(history.rounds[-1]) if len(history.rounds) else 0
        if not 1 <= round <= last:
            raise ValueError(f"round = {round} was not played; allowed: a recorded round, 1 .. {last}")
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
