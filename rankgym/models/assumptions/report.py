"""The assumptions in words, and what the check returns: verdicts with witnesses, in a report that prints them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.models.assumptions.search import A1, A3, A4, T2, Violations

PAPERS = {  # agent: (the paper, its assumptions)
    "bubblerank": ("BubbleRank (Li et al., UAI 2019), Assumption 1", ("A1", "A2", "A3", "A4", "A5")),
    "toprank": ("TopRank (Lattimore et al., NeurIPS 2018), Assumptions 1-4", ("T1", "T2", "T3", "T4")),
}

ASSUMPTIONS: dict[str, tuple[str, str]] = {
    # name: (the statement; a violation by a list R, or two, R and S, at positions k and l, with the numbers x and y)
    "A1": (
        "no list is worth more than R*, the one sorted by attraction",
        "the list R = {R} is worth {x}, the sorted list {S} is worth {y}",
    ),
    "A2": (
        "chi(R, k) depends only on which items stand above k, not on their order nor on the items from k on",
        "position {k} is examined with probability {x} in R = {R}, with {y} in R' = {S}",
    ),
    "A3": (
        "chi(R, k) >= chi(R, l) for k < l: no position is examined more than a higher one",
        "in R = {R} position {k} is examined with probability {x}, position {l} with {y}",
    ),
    "A4": (
        "alpha(R(k)) <= alpha(R(l)) => chi(R, l) >= chi(R', l), R' with both exchanged: a better item hides more",
        "item {i} (attraction {alpha}) is no more attractive than item {j} ({beta}); with {i} at position {k}, in "
        "R = {R}, position {l} is examined with probability {x}; with {j} there, in R' = {S}, with {y}",
    ),
    "A5": (
        "chi(R, k) >= chi(R*, k): every position is examined the least in the sorted list",
        "position {k} is examined with probability {x} in R = {R}, with {y} in the sorted list {S}",
    ),
    "T1": ("v(a, k) = 0 for k > K: hidden items are not clicked", ""),
    "T2": (
        "no list gets more than a*, any list sorted by attraction",
        "the list a = {R} is worth {x}, the sorted list a* = {S} is worth {y}",
    ),
    "T3": (
        "v(a, k) >= alpha(i) / alpha(j) v(a', k), a' with a(k) = i exchanged for a less attractive j, here or hidden",
        "with item {i} (attraction {alpha}) at position {k}, a = {R} is clicked there with probability {x}; with item "
        "{j} ({beta}) in its place, a' = {S}, times {alpha} / {beta}, with {y}",
    ),
    "T4": (
        "v(a, k) >= v(a*, k) where a(k) is as attractive as a*(k): clicked the least in the sorted list",
        "position {k} is clicked with probability {x} in a = {R}, with {y} in the sorted list a* = {S}",
    ),
}
NAMES = list(ASSUMPTIONS)

HEADS = ("", "holds", "gap", "what it says")


class Witness(NamedTuple):
    """Lists that violate an inequality, with both sides in the order of the paper.

    See ``check_assumptions``: ``report["A3"].witness`` is one.
    """

    query: int
    lists: tuple[tuple[int, ...], ...]  # R and R' (or R*), items from 0; A3 needs R alone
    positions: tuple[int, ...]  # k, or k and l, from 0; A1 and T2: none
    numbers: tuple[float, float]
    text: str  # the violation in words, positions counted from 1, the top


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result for one assumption, in all queries together and (arrays) in each of them.

    See ``check_assumptions``: ``report["A3"]`` is one.
    """

    name: str  # a key of ASSUMPTIONS
    says: str  # the assumption in words
    holds: bool  # no violation was found in any query
    exact: bool  # the verdict is proved; a violation always is
    checked: int  # inequalities
    gap: float  # the largest violation found, 0.0 if it holds
    witness: Witness | None  # the lists of that violation
    holds_in: NDArray[np.bool_] = field(repr=False)  # (queries,)
    gaps: NDArray[np.float64] = field(repr=False)  # (queries,)


@dataclass(frozen=True, eq=False)
class Report:
    """Which assumptions hold. ``print`` shows a table; see also ``report.holds("A3")`` and ``report["A3"]``.

    See ``check_assumptions``, which returns it.
    """

    model: str
    reward: str
    num_queries: int
    num_items: int
    num_positions: int
    cutoff: int
    lists: int  # checked in each query, not counting those that an exchange made of them
    scope: str  # the checked lists in words
    around: bool  # whether only one list of each query and its exchanges were checked
    verdicts: dict[str, Verdict] = field(repr=False)

    def __getitem__(self, name: str) -> Verdict:
        if name not in self.verdicts:
            raise ValueError(f"name = {name!r} is not an assumption; allowed: {NAMES}")
        return self.verdicts[name]

    def holds(self, name: str) -> bool:
        """Whether an assumption (``"A3"``), or all of a paper's (``"toprank"``), hold in every query."""
        if name not in self.verdicts and name not in PAPERS:
            raise ValueError(f"name = {name!r} is not an assumption; allowed: {[*NAMES, *PAPERS]}")
        return all(self[each].holds for each in (PAPERS[name][1] if name in PAPERS else [name]))

    def row(self, name: str) -> tuple[str, str, str, str]:
        """One line of the table: name, whether it holds, gap, statement."""
        verdict = self[name]
        if verdict.holds:
            said = "yes" if verdict.exact else "none found"
        else:
            said = "no" if self.num_queries == 1 else f"in {int(verdict.holds_in.sum())} of {self.num_queries}"
        return name, said, f"{verdict.gap:.2g}" if verdict.gap else "", verdict.says

    def title(self, paper: str) -> str:
        """The paper's name, and which of its assumptions do not hold."""
        title, names = PAPERS[paper]
        broken = [name for name in names if not self.holds(name)]
        if broken:
            return f"{title}: {', '.join(broken)} broken"
        if all(self[name].exact for name in names):
            return f"{title}: all hold"
        return f"{title}: none {'broken around the given list' if self.around else 'seen broken'}"

    def counterexample(self, name: str, queries: Sequence[int] | None = None) -> str:
        """A violation of the assumption in words, or "". ``queries``: the queries' numbers, default 0, 1, ..."""
        witness = self[name].witness
        if witness is None or self.num_queries == 1:
            return "" if witness is None else witness.text
        return f"query {witness.query if queries is None else queries[witness.query]}: {witness.text}"

    def headline(self) -> str:
        """The model, its size, its reward and the checked lists."""
        size = f"{counted(self.num_items, 'item')} at {counted(self.num_positions, 'position')}"
        queries = counted(self.num_queries, "query", "queries")
        paid = f"reward: {self.reward} in the first {self.cutoff}"
        return f"{self.model}, {size}, {queries}; {paid}. Checked: {self.scope}."

    def notes(self) -> list[str]:
        """Notes on how to read the table."""
        notes = ["Items are numbered from 0, positions from 1, the top. gap: the largest violation, the one shown."]
        if self.around:
            notes.append(f"none found: no violation in {self.scope}; other lists may violate it.")
        elif not all(verdict.exact for verdict in self.verdicts.values()):
            checked = counted(self.lists, "list")
            notes.append(f"none found: no violation in {checked} of each query, which is no proof.")
        return notes

    def __str__(self) -> str:
        table = {name: self.row(name) for name in NAMES}
        widths = [max(len(row[column]) for row in (HEADS, *table.values())) for column in range(3)]
        lines = [self.headline()]
        for paper, (_, names) in PAPERS.items():
            lines += ["", self.title(paper)]
            for row in (HEADS, *(table[name] for name in names)):
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
                lines.append("  ".join([*cells, row[-1]]))
                if row[0] and self.counterexample(row[0]):
                    lines.append("    " + self.counterexample(row[0]))
        return "\n".join([*lines, "", *self.notes()])


def counted(number: int, one: str, many: str = "") -> str:
    """``number`` with its noun, singular or plural (default: with an s)."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def verdicts(
    found: Sequence[Violations], exact: NDArray[np.bool_], attraction: NDArray[np.float64], tolerance: float
) -> dict[str, Verdict]:
    """The verdicts on all assumptions by name; ``exact`` (queries, assumptions), ``attraction`` (queries, items)."""
    judged = {}
    for which, (name, (statement, _)) in enumerate(ASSUMPTIONS.items()):
        gaps = np.array([one.gap[which] for one in found])
        gaps[gaps <= tolerance] = 0.0
        worst = int(gaps.argmax())
        judged[name] = Verdict(
            name=name,
            says=statement,
            holds=not gaps.any(),
            exact=bool(exact[:, which].all()),
            checked=int(sum(one.checked[which] for one in found)),
            gap=float(gaps[worst]),
            witness=_witness(which, worst, found[worst], attraction[worst]) if gaps.any() else None,
            holds_in=gaps == 0.0,
            gaps=gaps,
        )
    return judged


def _witness(which: int, query: int, found: Violations, attraction: NDArray[np.float64]) -> Witness:
    lists = tuple(tuple(one.tolist()) for one in found.lists[which])
    k, other = found.places[which].tolist()
    left, right = found.numbers[which].tolist()
    i, j = lists[0][k], lists[1][k]
    one, two = (" ".join(map(str, items)) for items in lists)
    alpha, beta = (f"{attraction[item]:.4g}" for item in (i, j))
    numbers = {"k": k + 1, "l": other + 1, "x": _distinct(left, right), "y": _distinct(right, left)}
    text = ASSUMPTIONS[NAMES[which]][1].format(R=one, S=two, i=i, j=j, alpha=alpha, beta=beta, **numbers)
    places = () if which in (A1, T2) else (k, other) if which in (A3, A4) else (k,)
    return Witness(query, lists[:1] if which == A3 else lists, places, (left, right), text)


def _distinct(number: float, other: float) -> str:
    """The number with enough digits to distinguish it from the other one."""
    return next((text for digits in range(4, 17) if (text := f"{number:.{digits}g}") != f"{other:.{digits}g}"), "?")
