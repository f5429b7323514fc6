"""The columns of a comparison's tables. To add a measure to all tables, add its ``Column`` to ``table_columns``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

EARLY = 100  # rounds: violations are also counted in the first 100 (BubbleRank, section 5.3)
OTHER_ERRORS, REGRET_ERRORS = 5, 1  # columns with a larger ``optional`` are left out before the standard errors are


class Column(NamedTuple):
    """A column of a comparison's tables: a measure with its standard error."""

    key: str  # in table.csv; "": a gap that stands for other columns
    head: tuple[str, ...]  # two lines, of which neighbours share the first; or one
    lowest_is_best: bool | None  # None: nothing is best
    values: Callable[[Any], NDArray[np.float64]] | None = None  # of an agent's history: (rows,)
    digits: int | None = None  # after the point; None: as many as suit the number
    optional: int = 0  # columns with larger values are left out first where space is short: see OTHER_ERRORS
    shown: bool = True  # in tables for reading; table.csv has all columns


def table_columns(comparison: Any) -> list[Column]:
    """Return the columns of a ``Comparison``, in order; those of its epochs follow them."""
    rounds, milestones = comparison.rounds, comparison.milestones

    def at(measure: str, played: int = rounds) -> Callable[[Any], NDArray[np.float64]]:
        return lambda history: history.at(played)[measure]

    known = comparison.regret_known
    order = [100 - n for n in range(len(milestones) - 1)] + [0]  # early regret is left out first, the last one never
    regret = [
        Column(f"regret_{r}", ("regret after", counted(r)), True, at("regret", r), optional=optional, shown=known)
        for r, optional in zip(milestones, order, strict=True)
    ]
    regret.append(Column("regret", (), True, at("regret"), shown=False))
    reward = Column(
        "reward_per_round", ("reward", "a round"), False, lambda history: history.at(rounds)["reward"] / rounds, 3, 7
    )
    speed = Column("sessions_per_second", ("sessions", "a second"), None, optional=6)
    if comparison.kind == "duels":
        ends = [history.at(rounds) for history in comparison.histories.values()]
        says_more = not all(np.allclose(end["reward"], -end["regret"]) for end in ends)
        return [
            *regret,
            *(Column(f"accuracy_{r}", (), False, at("accuracy", r), shown=False) for r in milestones),
            Column("accuracy", ("accuracy", "at last"), False, at("accuracy"), 3, 2, shown=comparison.accuracy_known),
            reward._replace(shown=says_more, optional=reward.optional if known else 0),
            speed._replace(head=("duels", "a second")),
        ]
    early = min(EARLY, rounds)
    return [
        *regret,
        Column(
            "violations_early", ("violations", f"in first {counted(early)}"), True, at("violations", early), None, 4
        ),
        Column("violations", ("violations", "in all"), True, at("violations"), None, 2),
        Column("ndcg", ("NDCG", f"at {comparison.cutoff}"), False, at("ndcg"), 3, 3),
        reward,
        speed,
    ]


def counted(rounds: int) -> str:
    """Return 10_000 as 10k, 2_500_000 as 2.5M, 1_234 as 1,234."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if rounds >= size and rounds % (size // 10) == 0:
            return f"{rounds / size:g}{letter}"
    return f"{rounds:,}"
