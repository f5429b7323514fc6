"""The columns of a comparison's table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankgym.experiments.judge.comparison import EARLY, Comparison, counted

__all__ = ["OTHER_ERRORS", "REGRET_ERRORS", "Column", "measure_columns"]

OTHER_ERRORS, REGRET_ERRORS = 5, 1  # columns with a larger ``optional`` are left out before the standard errors are


class Column(NamedTuple):
    """A column of a comparison's table: a measure with its standard error."""

    head: tuple[str, ...]  # two lines, of which neighbours share the first; or one
    key: str
    lowest_is_best: bool | None  # None: nothing is best
    optional: int = 0  # columns with larger values are left out first where space is short: see OTHER_ERRORS


def measure_columns(comparison: Comparison) -> list[Column]:
    """The columns after those of regret."""
    reward, last = Column(("reward", "a round"), "reward", False, OTHER_ERRORS + 2), OTHER_ERRORS + 1
    if comparison.kind == "duels":
        shown = [Column(("accuracy", "at last"), "accuracy", False, 2)] if comparison.accuracy_known else []
        ends = [history.at(comparison.rounds) for history in comparison.histories.values()]
        if not all(np.allclose(end["reward"], -end["regret"]) for end in ends):  # else it says nothing new
            shown.append(reward if comparison.regret_known else reward._replace(optional=0))
        return [*shown, Column(("duels", "a second"), "sessions_per_second", None, last)]
    return [
        Column(("violations", f"in first {counted(min(EARLY, comparison.rounds))}"), "violations_early", True, 4),
        Column(("violations", "in all"), "violations", True, 2),
        Column(("NDCG", f"at {comparison.cutoff}"), "ndcg", False, 3),
        reward,
        Column(("sessions", "a second"), "sessions_per_second", None, last),
    ]
