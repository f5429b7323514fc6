"""What comparisons of rankings and of duels have each of their own: what rows play, a table's measures and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import ActionKind, is_duel

__all__ = ["EARLY", "FAMILIES", "OTHER_ERRORS", "REGRET_ERRORS", "Column", "Family", "counted", "family_of"]

EARLY = 100  # rounds: violations are also counted in the first so many (BubbleRank, section 5.3)
OTHER_ERRORS, REGRET_ERRORS = 5, 1  # columns with a larger ``optional`` are left out before the standard errors are


class Results(Protocol):
    """What is looked at of a comparison."""

    @property
    def rounds(self) -> int: ...
    @property
    def cutoff(self) -> int | None: ...
    @property
    def histories(self) -> Mapping[str, Any]: ...
    @property
    def milestones(self) -> list[int]: ...
    @property
    def regret_known(self) -> bool: ...
    @property
    def accuracy_known(self) -> bool: ...


class Column(NamedTuple):
    """A column of a comparison's table: a measure with its standard error."""

    head: tuple[str, ...]  # two lines, of which neighbours share the first; or one
    key: str
    lowest_is_best: bool | None  # None: nothing is best
    optional: int = 0  # the larger, the sooner it is left out where there is no room: see OTHER_ERRORS


class Family(NamedTuple):
    """One kind of comparison."""

    sessions: str  # what a row has one of in a round
    measures: Callable[[Results, Any], dict[str, NDArray[np.float64]]]  # of a history: key -> (rows,)
    columns: Callable[[Results], list[Column]]  # besides those of regret, which come first


def counted(rounds: int) -> str:
    """10_000 as 10k, 2_500_000 as 2.5M, 1_234 as 1,234."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if rounds >= size and rounds % (size // 10) == 0:
            return f"{rounds / size:g}{letter}"
    return f"{rounds:,}"


def _of_rankings(comparison: Results, history: Any) -> dict[str, NDArray[np.float64]]:
    early, end = history.at(min(EARLY, comparison.rounds)), history.at(comparison.rounds)
    return {
        "violations_early": early["violations"],
        "violations": end["violations"],
        "ndcg": end["ndcg"],
        "reward": end["reward"] / comparison.rounds,
    }


def _columns_of_rankings(comparison: Results) -> list[Column]:
    early = min(EARLY, comparison.rounds)
    return [
        Column(("violations", f"in first {counted(early)}"), "violations_early", True, 4),
        Column(("violations", "in all"), "violations", True, 2),
        Column(("NDCG", f"at {comparison.cutoff}"), "ndcg", False, 3),
        Column(("reward", "a round"), "reward", False, OTHER_ERRORS + 2),
        Column(("sessions", "a second"), "sessions_per_second", None, OTHER_ERRORS + 1),
    ]


def _of_duels(comparison: Results, history: Any) -> dict[str, NDArray[np.float64]]:
    end = history.at(comparison.rounds)
    measures = {f"accuracy_{r}": history.at(r)["accuracy"] for r in comparison.milestones}
    return {**measures, "accuracy": end["accuracy"], "reward": end["reward"] / comparison.rounds}


def _columns_of_duels(comparison: Results) -> list[Column]:
    shown = [Column(("accuracy", "at last"), "accuracy", False, 2)] if comparison.accuracy_known else []
    ends = [history.at(comparison.rounds) for history in comparison.histories.values()]
    if not all(np.allclose(end["reward"], -end["regret"]) for end in ends):  # it says something of its own
        shown.append(Column(("reward", "a round"), "reward", False, OTHER_ERRORS + 2 if comparison.regret_known else 0))
    return [*shown, Column(("duels", "a second"), "sessions_per_second", None, OTHER_ERRORS + 1)]


FAMILIES = {
    "rankings": Family("sessions", _of_rankings, _columns_of_rankings),
    "duels": Family("duels", _of_duels, _columns_of_duels),
}


def family_of(kind: ActionKind | None) -> str:
    """Return the name of the family whose environments have actions of this ``kind``."""
    return "duels" if is_duel(kind) else "rankings"
