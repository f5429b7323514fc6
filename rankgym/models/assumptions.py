"""Do the assumptions hold under which BubbleRank's and TopRank's guarantees are proved? A report, with counterexamples.

A ranking algorithm runs on any click model, but its theorems speak only of those that satisfy its paper's assumptions:
A1 .. A5 of BubbleRank (Li et al., UAI 2019, Assumption 1 in section 4.1), here ``A1`` .. ``A5``; Assumptions 1 .. 4 of
TopRank (Lattimore et al., NeurIPS 2018, section 3), here ``T1`` .. ``T4``. (BatchRank's are A1 .. A5, in a slightly
stronger form: BubbleRank's footnote 1.) ``check_assumptions`` looks for the lists that break them.

How the papers' text is read
----------------------------
* A list R has K distinct items out of L; chi(R, k) is ``ClickModel.examine``, and TopRank's v(a, k) is
  chi(a, k) alpha(a(k)), alpha the model's attraction. (TopRank asks only that there be some alpha; another one that
  orders the items differently would hardly be called their attraction.)
* R* is the list sorted by attraction, items of equal attraction in the order of their numbers; TopRank's optimal
  actions a* are all lists sorted by attraction.
* A1 and T2 are about the reward that regret is measured in: ``reward`` and ``cutoff``.
* A4 is printed as an equivalence: alpha(R(k)) <= alpha(R(l)) <=> chi(R, l) >= chi(R', l). Read so it would fail in
  every PBM, where an exchange changes no examination, while the paper says that it holds there; its proofs use =>
  alone. So => is checked.
* T3 is multiplied out by alpha(j): where that is 0, both sides are 0.
* T1, no click on what is not displayed, is part of what a click model is here.

How many lists
--------------
A2, A4 and T3 compare lists. All of it comes down to pairs that differ in one exchange, of two displayed items or of a
displayed and a hidden one: A4 and T3 are about such pairs, and two lists with the same items above k are joined by a
chain of exchanges that keep those items, so that A2 holds exactly where no single exchange breaks it. (Its gap is
therefore the largest one over a single exchange.)
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import probabilities, whole_number
from rankgym.kernels import first_fault, kernel
from rankgym.models.base import ClickModel, cut, sorted_lists
from rankgym.progress import PATIENCE, count_bar

__all__ = ["ASSUMPTIONS", "PAPERS", "Report", "Verdict", "Witness", "check_assumptions"]

EXACT_UP_TO = 4_000_000  # lists: one query of 10! = 3,628,800, or 132 queries of 10 items at 5 positions
SAMPLES = 20_000  # random lists of each query, where there are more
EXCHANGES = 64  # of each random list, at most: all of them up to 10 items
TIES = 256  # random orders of equally attractive items, where lists are sampled
ROWS = 4096  # lists at a time: they and their examinations fit a core's cache
MOST_NUMBERS = 4_000_000  # of a parameter that is repeated for so many lists: 32 MB

PAPERS = {  # by the names of the agents: what it is called, its assumptions
    "bubblerank": ("BubbleRank (Li et al., UAI 2019), Assumption 1", ("A1", "A2", "A3", "A4", "A5")),
    "toprank": ("TopRank (Lattimore et al., NeurIPS 2018), Assumptions 1-4", ("T1", "T2", "T3", "T4")),
}

ASSUMPTIONS: dict[str, tuple[str, str]] = {
    # name: what it says; how a list R (or two, R and S, at positions k and l) breaks it with the numbers x and y
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
    "T1": ("v(a, k) = 0 for k > K: what is not displayed is not clicked", ""),
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
A1, A2, A3, A4, A5, T1, T2, T3, T4 = np.arange(len(NAMES))  # numba would compile for each Python constant anew


class Witness(NamedTuple):
    """Two sides of an inequality that does not hold, in the order in which the paper prints it."""

    query: int
    lists: tuple[tuple[int, ...], ...]  # R and R' (or R*), items from 0; A3 needs R alone
    positions: tuple[int, ...]  # k, or k and l, from 0; A1 and T2: none
    numbers: tuple[float, float]
    text: str  # all this in words, with positions counted from 1, the top


@dataclass(frozen=True, eq=False)
class Verdict:
    """What came out for one assumption, in all queries together and (arrays) in each of them."""

    name: str  # a key of ASSUMPTIONS
    says: str  # the assumption in words
    holds: bool  # no query breaks it; where not exact: none was found to
    exact: bool  # all lists were looked at, or as good as that; a violation is a proof even if not
    checked: int  # inequalities
    gap: float  # the largest violation found, 0.0 where it holds
    witness: Witness | None  # the lists of that violation
    holds_in: NDArray[np.bool_] = field(repr=False)  # (queries,)
    gaps: NDArray[np.float64] = field(repr=False)  # (queries,)


@dataclass(frozen=True, eq=False)
class Report:
    """Which assumptions hold. ``print`` shows a table, ``report.holds("A3")`` and ``report["A3"]`` one of them."""

    model: str
    reward: str
    num_queries: int
    num_items: int
    num_positions: int
    cutoff: int
    lists: int  # looked at, of each query (not counting those that an exchange made of them)
    scope: str  # which ones these are, in words
    around: bool  # they are one list of each query and what one exchange makes of it
    verdicts: dict[str, Verdict] = field(repr=False)

    def __getitem__(self, name: str) -> Verdict:
        if name not in self.verdicts:
            raise ValueError(f"name = {name!r} is no assumption; allowed: {NAMES}")
        return self.verdicts[name]

    def holds(self, name: str) -> bool:
        """Whether one (``"A3"``), or all of a paper's (``"bubblerank"``, ``"toprank"``), hold in every query."""
        if name in PAPERS:
            return all(self[each].holds for each in PAPERS[name][1])
        if name not in self.verdicts:
            raise ValueError(f"name = {name!r} is no assumption; allowed: {[*NAMES, *PAPERS]}")
        return self[name].holds

    def row(self, name: str) -> tuple[str, str, str, str]:
        """One line of the table: name, whether it holds, gap, and in words what it says."""
        verdict = self[name]
        if verdict.holds:
            said = "yes" if verdict.exact else "none found"
        else:
            said = "no" if self.num_queries == 1 else f"in {int(verdict.holds_in.sum())} of {self.num_queries}"
        return name, said, f"{verdict.gap:.2g}" if verdict.gap else "", verdict.says

    def title(self, paper: str) -> str:
        """A paper's name, and which of its assumptions do not hold."""
        title, names = PAPERS[paper]
        broken = [name for name in names if not self.holds(name)]
        if broken:
            return f"{title}: {', '.join(broken)} broken"
        if all(self[name].exact for name in names):
            return f"{title}: all hold"
        return f"{title}: none {'broken around the given list' if self.around else 'seen broken'}"

    def counterexample(self, name: str, queries: Sequence[int] | None = None) -> str:
        """What breaks an assumption, in words, or nothing. ``queries``: their numbers, where they are not 0, 1, ..."""
        witness = self[name].witness
        if witness is None or self.num_queries == 1:
            return "" if witness is None else witness.text
        return f"query {witness.query if queries is None else queries[witness.query]}: {witness.text}"

    def headline(self) -> str:
        """Which problem this is about."""
        size = f"{counted(self.num_items, 'item')} at {counted(self.num_positions, 'position')}"
        queries = counted(self.num_queries, "query", "queries")
        paid = f"reward: {self.reward} in the first {self.cutoff}"
        return f"{self.model}, {size}, {queries}; {paid}. Looked at: {self.scope}."

    def notes(self) -> list[str]:
        """What a reader of the table must know."""
        notes = ["Items are numbered from 0, positions from 1, the top. gap: the largest violation, the one shown."]
        if self.around:
            notes.append(f"none found: no violation in {self.scope}; other lists may break it.")
        elif not all(verdict.exact for verdict in self.verdicts.values()):
            looked = counted(self.lists, "list")
            notes.append(f"none found: no violation in {looked} of each query, which is no proof.")
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


HEADS = ("", "holds", "gap", "what it says")


def counted(number: int, one: str, many: str = "") -> str:
    """``number`` with its noun, singular or plural (default: with an s)."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


# -- kernels ----------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The largest violations of one query so far, and what they were in. The first axis is the assumption."""

    gap: NDArray[np.float64]  # (9,) 0 where there is none
    lists: NDArray[np.int64]  # (9, 2, positions)
    places: NDArray[np.int64]  # (9, 2): positions k and l
    numbers: NDArray[np.float64]  # (9, 2): both sides of the inequality
    checked: NDArray[np.int64]  # (9,)
    # the last two: the clicks at each position k of lists that stand there with the sorted list's attraction and, at
    # place K, the reward: the lowest and the highest, and the lists that have them
    low: NDArray[np.float64]  # (positions + 1,) clicks of any list; reward of a sorted list
    low_list: NDArray[np.int64]  # (positions + 1, positions)
    high: NDArray[np.float64]  # (positions + 1,) clicks of a sorted list; reward of any list
    high_list: NDArray[np.int64]  # (positions + 1, positions)


@kernel
def fill_lists(start, displayed, hidden):
    """Write the lists number ``start``, ``start`` + 1, ... in lexicographic order; their hidden items ascend."""
    rows, positions = displayed.shape
    items = positions + hidden.shape[1]
    free = np.empty(items, np.int64)
    block = 1  # lists with the same first item
    for k in range(1, positions):
        block *= items - k
    for row in range(rows):
        for item in range(items):
            free[item] = item
        number, size = start + row, block
        for k in range(positions):
            place = number // size
            number -= place * size
            displayed[row, k] = free[place]
            for later in range(place, items - k - 1):
                free[later] = free[later + 1]
            if k < positions - 1:
                size //= items - k - 1
        for place in range(items - positions):
            hidden[row, place] = free[place]


@kernel
def exchange(displayed, hidden, first, second, once, kept, swapped):
    """Exchange the items at the places ``first`` < ``second`` (rows,) of each list; place K + p is hidden item p.

    The new lists go to ``swapped`` and their rows to ``kept``, one after the other; returns how many. ``once``: where
    all lists are here, and so each pair twice, take it only from the list whose upper item has the smaller number.
    """
    rows, positions = displayed.shape
    count = 0
    for row in range(rows):
        k, other = first[row], second[row]
        i = displayed[row, k]
        j = displayed[row, other] if other < positions else hidden[row, other - positions]
        if once and i > j:
            continue
        for place in range(positions):
            swapped[count, place] = displayed[row, place]
        swapped[count, k] = j
        if other < positions:
            swapped[count, other] = i
        kept[count] = row
        count += 1
    return count


@kernel
def record(found, which, left, right, one, other, k, other_k):
    """Remember that ``left`` falls short of ``right`` in list ``one``, by more than has been seen in ``which``."""
    found.gap[which] = right - left
    found.numbers[which, 0], found.numbers[which, 1] = left, right
    found.places[which, 0], found.places[which, 1] = k, other_k
    for place in range(one.shape[0]):
        found.lists[which, 0, place] = one[place]
        found.lists[which, 1, place] = other[place]


@kernel
def look(displayed, examination, reward, attraction, ranked, examination_sorted, sorted_list, found):
    """What a list can break by itself: A3 and A5; and the extremes that decide A1, T2 and T4.

    ``ranked`` (positions,) has the attraction of ``sorted_list`` (positions,), R*, and ``examination_sorted`` its chi.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        one = displayed[row]
        least = 0  # the position above that is examined the least
        is_sorted = True
        for k in range(positions):
            is_sorted &= attraction[0, one[k]] == ranked[k]
        for k in range(positions):
            chi = examination[row, k]
            if chi - examination[row, least] > found.gap[A3]:
                record(found, A3, examination[row, least], chi, one, one, least, k)
            if chi < examination[row, least]:
                least = k
            if examination_sorted[k] - chi > found.gap[A5]:
                record(found, A5, chi, examination_sorted[k], one, sorted_list, k, k)
            if attraction[0, one[k]] == ranked[k]:
                found.checked[T4] += 1
                clicks = chi * ranked[k]
                if clicks < found.low[k]:
                    found.low[k] = clicks
                    found.low_list[k] = one
                if is_sorted and clicks > found.high[k]:
                    found.high[k] = clicks
                    found.high_list[k] = one
        if reward[row] > found.high[positions]:
            found.high[positions] = reward[row]
            found.high_list[positions] = one
        if is_sorted and reward[row] < found.low[positions]:
            found.low[positions] = reward[row]
            found.low_list[positions] = one
    found.checked[A1] += rows
    found.checked[A3] += rows * (positions * (positions - 1) // 2)
    found.checked[A5] += rows * positions
    found.checked[T2] += rows


@kernel
def note(found, which, weight, at, k, other_k, displayed, examination, row, swapped, examination_swapped, n):
    """Record two lists whose position ``at`` is not examined alike: the one with the smaller number first."""
    left, right = weight * examination[row, at], weight * examination_swapped[n, at]
    if left < right:
        record(found, which, left, right, displayed[row], swapped[n], k, other_k)
    else:
        record(found, which, right, left, swapped[n], displayed[row], k, other_k)


@kernel
def wrong(alpha, beta, change):
    """The part of a change of chi that should not be, where an item of attraction beta has come for one of alpha above.

    The better item hides more; two equal ones hide the same.
    """
    if alpha == beta:
        return abs(change)
    return change if alpha < beta else -change


@kernel
def compare(displayed, examination, attraction, first, second, kept, swapped, examination_swapped, found):
    """What list number kept[n] and ``swapped[n]``, which an exchange made of it, can break: A2, A4 and T3."""
    positions = displayed.shape[1]
    for n in range(kept.shape[0]):
        row = kept[n]
        k, l = first[row], second[row]  # noqa: E741, the papers' letters
        for m in range(positions):
            if m <= k or m > l:  # the same items above m
                found.checked[A2] += 1
                if abs(examination_swapped[n, m] - examination[row, m]) > found.gap[A2]:
                    note(found, A2, 1.0, m, m, m, displayed, examination, row, swapped, examination_swapped, n)
        alpha, beta = attraction[0, displayed[row, k]], attraction[0, swapped[n, k]]
        better = max(alpha, beta) if min(alpha, beta) > 0.0 else 0.0  # weighs chi in T3
        found.checked[T3] += better > 0.0
        change = examination_swapped[n, k] - examination[row, k]
        if better * wrong(beta, alpha, change) > found.gap[T3]:  # the better item at k is clicked more than the other
            note(found, T3, better, k, k, l, displayed, examination, row, swapped, examination_swapped, n)
        if l < positions:
            found.checked[A4] += 1
            found.checked[T3] += better > 0.0
            change = wrong(alpha, beta, examination_swapped[n, l] - examination[row, l])
            if change > found.gap[A4]:
                note(found, A4, 1.0, l, k, l, displayed, examination, row, swapped, examination_swapped, n)
            if better * change > found.gap[T3]:  # the better item at l, the other one above it
                note(found, T3, better, l, l, k, displayed, examination, row, swapped, examination_swapped, n)


# -- the walk over the lists of one query -----------------------------------------------------------------------------


class Problem:
    """One query of a click model: looks at lists, compares them with their exchanges, and keeps what it found."""

    def __init__(self, model: ClickModel, parameters: Any, positions: int, cutoff: int, reward: str) -> None:
        self.model, self.parameters, self.cutoff, self.reward = model, parameters, cutoff, reward
        self.attraction: NDArray[np.float64] = parameters.attraction  # (1, items)
        self.items, self.positions = self.attraction.shape[1], positions
        self.rows = max(1, min(ROWS, MOST_NUMBERS // max(table.size for table in parameters)))  # lists at a time
        self._many = model.parameters(*(np.repeat(table, self.rows, axis=0) for table in parameters))
        self.sorted = sorted_lists(self.attraction, positions)[0]
        self.found = Found(
            gap=np.zeros(len(NAMES)),
            lists=np.zeros((len(NAMES), 2, positions), np.int64),
            places=np.zeros((len(NAMES), 2), np.int64),
            numbers=np.zeros((len(NAMES), 2)),
            checked=np.zeros(len(NAMES), np.int64),
            low=np.full(positions + 1, np.inf),
            low_list=np.zeros((positions + 1, positions), np.int64),
            high=np.full(positions + 1, -np.inf),
            high_list=np.zeros((positions + 1, positions), np.int64),
        )
        self._ranked = self.attraction[0, self.sorted]
        self._examination_sorted = self.examined(self.sorted[None])[0]
        self.worth_sorted = float(self._rewards(self.sorted[None])[0])
        ranked = np.sort(self.attraction[0])[::-1][: positions + 1]
        self.without_ties = bool((ranked[1:] < ranked[:-1]).all())  # R* is the only sorted list
        # it is one of them whether it is looked at or not
        self.found.high[:positions] = self._ranked * self._examination_sorted
        self.found.low[positions] = self.worth_sorted
        self.found.low_list[:], self.found.high_list[:] = self.sorted, self.sorted

    def _some(self, rows: int) -> Any:
        """The parameters, repeated for so many lists."""
        return self.model.parameters(*(table[:rows] for table in self._many))

    def examined(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.model.examination(self._some(len(displayed)), displayed)

    def _rewards(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.model.values(self._some(len(displayed)), displayed, self.cutoff, self.reward)

    def look(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Look at up to ``rows`` lists; their examinations."""
        examination, reward = self.examined(displayed), self._rewards(displayed)
        look(
            displayed,
            examination,
            reward,
            self.attraction,
            self._ranked,
            self._examination_sorted,
            self.sorted,
            self.found,
        )
        return examination

    def compare(
        self,
        displayed: NDArray[np.int64],
        hidden: NDArray[np.int64],
        examination: NDArray[np.float64],
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        once: bool,
    ) -> NDArray[np.int64]:
        """Compare up to ``rows`` lists with what an exchange makes of them, which is returned; see the kernels."""
        kept, swapped = np.empty(len(displayed), np.int64), np.empty_like(displayed)
        count = exchange(displayed, hidden, first, second, once, kept, swapped)
        kept, swapped = kept[:count], swapped[:count]
        compare(
            displayed,
            examination,
            self.attraction,
            first,
            second,
            kept,
            swapped,
            self.examined(swapped),
            self.found,
        )
        return swapped

    def all_lists(self, tell: Callable[[int], None]) -> None:
        """Every list, each pair that differs in an exchange once."""
        count = math.perm(self.items, self.positions)
        pairs = exchanges(self.items, self.positions)
        for start in range(0, count, self.rows):
            rows = min(self.rows, count - start)
            displayed = np.empty((rows, self.positions), np.int64)
            hidden = np.empty((rows, self.items - self.positions), np.int64)
            fill_lists(start, displayed, hidden)
            examination = self.look(displayed)
            for k, other in pairs:
                self.compare(displayed, hidden, examination, np.full(rows, k), np.full(rows, other), True)
            tell(rows)

    def around(self, one: NDArray[np.int64]) -> None:
        """One list (positions,) and all that one exchange makes of it."""
        hidden = np.setdiff1d(np.arange(self.items), one)
        self.look(one[None])
        pairs = np.array(exchanges(self.items, self.positions), np.int64).reshape(-1, 2)
        for start in range(0, len(pairs), self.rows):
            first, second = np.ascontiguousarray(pairs[start : start + self.rows].T)
            many = np.tile(one, (len(first), 1))
            behind = np.tile(hidden, (len(first), 1))
            self.look(self.compare(many, behind, self.examined(many), first, second, False))

    def sample(self, samples: int, seed: int, tell: Callable[[int], None]) -> bool:
        """Random lists with exchanges of theirs, and the sorted and the best list. True: the best list is known."""
        rng = np.random.default_rng(seed)
        best = None
        with contextlib.suppress(ValueError):  # too many positions for the model's search
            best = self.model.rewards[self.reward].best_lists(self.parameters, self.positions, self.cutoff)
        self.around(self.sorted)
        if best is not None:
            self.look(best)
        ties = np.lexsort((rng.random((TIES, self.items)), np.tile(-self.attraction, (TIES, 1))), axis=1)
        for one in np.unique(ties[:, : self.positions], axis=0).astype(np.int64):
            self.look(one[None])
        pairs = exchanges(self.items, self.positions)
        for start in range(0, samples, self.rows):
            rows = min(self.rows, samples - start)
            order = rng.permuted(np.tile(np.arange(self.items), (rows, 1)), axis=1)
            displayed = np.ascontiguousarray(order[:, : self.positions])
            hidden = np.ascontiguousarray(order[:, self.positions :])
            examination = self.look(displayed)
            for first, second in self._drawn_exchanges(pairs, rows, rng):
                self.compare(displayed, hidden, examination, first, second, False)
            tell(rows)
        return best is not None

    def _drawn_exchanges(
        self, pairs: list[tuple[int, int]], rows: int, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Places of EXCHANGES random exchanges of each list, or of all ``pairs`` where there are no more."""
        if len(pairs) <= EXCHANGES:
            for first, second in pairs:
                yield np.full(rows, first), np.full(rows, second)
        else:
            for _ in range(EXCHANGES):
                k = rng.integers(0, self.positions, rows)
                other = (k + rng.integers(1, self.items, rows)) % self.items
                yield np.minimum(k, other), np.maximum(k, other)

    def settled(self) -> Found:
        """What was found, with A1, T2 and T4 drawn from the extremes."""
        found, worth = self.found, self.positions
        if found.high[worth] > self.worth_sorted:
            record(found, A1, self.worth_sorted, found.high[worth], self.sorted, found.high_list[worth], 0, 0)
        if found.high[worth] > found.low[worth]:
            record(found, T2, found.low[worth], found.high[worth], found.low_list[worth], found.high_list[worth], 0, 0)
        for k in range(self.positions):
            if found.high[k] - found.low[k] > found.gap[T4]:
                record(found, T4, found.low[k], found.high[k], found.low_list[k], found.high_list[k], k, k)
        for which in (A1, T2):  # printed the other way round: no list's reward exceeds the sorted one's
            found.lists[which] = found.lists[which, ::-1].copy()
            found.numbers[which] = found.numbers[which, ::-1].copy()
        return found


def exchanges(items: int, positions: int) -> list[tuple[int, int]]:
    """All exchanges of a list: places k < l of all items, the first of them displayed."""
    return [pair for pair in itertools.combinations(range(items), 2) if pair[0] < positions]


# -- the door ---------------------------------------------------------------------------------------------------------


def check_assumptions(
    model: str | ClickModel,
    parameters: Any,
    *,
    num_positions: int | None = None,
    cutoff: int | None = None,
    reward: str = "clicks",
    displayed: ArrayLike | None = None,
    exact_up_to: int = EXACT_UP_TO,
    samples: int = SAMPLES,
    seed: int = 0,
    tolerance: float = 1e-12,
    progress: bool = True,
) -> Report:
    """Which assumptions of BubbleRank (A1 .. A5) and of TopRank (T1 .. T4) hold in a click model, with counterexamples.

    All lists are looked at where there are few enough; else random ones, and then a violation that is found is a proof,
    and that none is found is not. With ``displayed`` the lists looked at are that one and those that one exchange of
    two items makes of it: does an algorithm that starts from there soon meet a violation? That none is found there says
    nothing of other lists.

    >>> import gymnasium as gym, rankgym
    >>> from rankgym.models import check_assumptions
    >>> report = check_assumptions("PBM", {"attraction": [0.9, 0.5, 0.2], "examination": [1.0, 0.3, 0.4]})
    >>> report.holds("bubblerank"), report.holds("A2")
    (False, True)
    >>> print(report["A3"].witness.text)
    in R = 0 1 2 position 2 is examined with probability 0.3, position 3 with 0.4

    All queries of an environment (those that its rows play are ``env.parameters``, as of the coming session; a single
    one, of ``gym.make``, has all in ``env.unwrapped.engine``). Where users change, these are the queries' own numbers
    (``scenario="two-level"`` replaces their attraction), and a reward other than clicks must be named:

    >>> env = gym.make_vec("rankgym/PBM-Yandex-v0", num_positions=3).unwrapped
    >>> report = check_assumptions(env.model, env.problems.parameters, num_positions=3, cutoff=env.cutoff)
    >>> report.num_queries, report.holds("toprank")
    (100, True)

    Args:
        model: a key of ``rankgym.models.MODELS``, or a ``ClickModel``.
        parameters: the model's ``Parameters``, or a dict by their names: of one query, or with a leading axis of
            queries, of which a parameter with one alone has it for all. What has more positions than ``num_positions``
            is cut.
        num_positions: displayed positions K, 1 .. items. Default: all that the parameters have, or all items.
        cutoff: the first so many positions count as reward in A1 and T2. Default: all positions.
        reward: one of the model's, in A1 and T2: ``"clicks"`` or (DCM) ``"abandonment"``.
        displayed: a list (positions,) of items, or one for each query (queries, positions). Default: all lists.
        exact_up_to: look at all lists where those of all queries together are no more than this. A few million lists
            of ten positions take some seconds.
        samples: random lists of each query otherwise. The random ones are the same for each query.
        seed: of the random lists.
        tolerance: an inequality may fail by so much, which is rounding.
        progress: show a bar on standard error where it takes more than two seconds.

    Raises:
        ValueError: an argument is out of range; the message names it.
    """
    click_model = _checked_model(model)
    queries = _checked_parameters(click_model, parameters)
    count, items = queries.attraction.shape
    if num_positions is None:
        lengths = [getattr(queries, name).shape[1] for name, axes in click_model.axes.items() if "position" in axes]
        positions = min([items, *lengths])
    else:
        positions = whole_number("num_positions", num_positions, 1, items)
    paid = positions if cutoff is None else whole_number("cutoff", cutoff, 1, positions)
    if reward not in click_model.rewards:
        raise ValueError(
            f"reward = {reward!r} is not a reward of the {click_model.name}; allowed: {sorted(click_model.rewards)}"
        )
    whole_number("exact_up_to", exact_up_to, 0)
    whole_number("samples", samples, 1)
    whole_number("seed", seed, 0)
    if not isinstance(tolerance, (int, float)) or not 0.0 <= tolerance < math.inf:
        raise ValueError(f"tolerance = {tolerance!r} is out of range; allowed: a number, at least 0")
    queries = click_model.parameters(
        *(cut(name, table, click_model.axes[name], items, positions) for name, table in queries._asdict().items())
    )
    lists = None if displayed is None else _checked_lists(displayed, count, items, positions)

    total = math.perm(items, positions)
    everything = lists is None and total * count <= exact_up_to
    looked = total if everything else samples
    by_item = sum("item" in axes for axes in click_model.axes.values())
    exact = np.full((count, len(NAMES)), everything)
    exact[:, T1] = True
    found = []
    with _told(looked * count, progress and lists is None) as tell:
        for query in range(count):
            one = click_model.parameters(*(table[query : query + 1].copy() for table in queries))
            problem = Problem(click_model, one, positions, paid, reward)
            if lists is not None:
                problem.around(lists[query])
            elif everything:
                problem.all_lists(tell)
            elif problem.sample(samples, seed, tell):
                exact[query, A1] = True
                exact[query, T2] = by_item == 1 or problem.without_ties  # all sorted lists are worth the same
            found.append(problem.settled())
    each = "" if count == 1 else " of each query"
    if lists is not None:
        looked = 1 + len(exchanges(items, positions))
        scope = f"the given list{each} and its {counted(looked - 1, 'exchange')}"
    else:
        number = f"{total:,}" if total < 10**12 else f"{float(total):.1e}"
        scope = f"all {number} lists" if total > 1 else "the only list"
        scope = f"{scope}{each}" if everything else f"{counted(samples, 'random list')}{each} out of {number}"
    verdicts = {
        name: _verdict(which, found, exact[:, which], queries.attraction, tolerance) for which, name in enumerate(NAMES)
    }
    return Report(
        model=click_model.name,
        reward=reward,
        num_queries=count,
        num_items=items,
        num_positions=positions,
        cutoff=paid,
        lists=looked,
        scope=scope,
        around=lists is not None,
        verdicts=verdicts,
    )


def _checked_model(model: str | ClickModel) -> ClickModel:
    from rankgym.models import MODELS  # which exports this module's function

    if isinstance(model, ClickModel):
        return model
    if not isinstance(model, str) or model not in MODELS:
        raise ValueError(f"model = {model!r} is unknown; allowed: {list(MODELS)}, or a ClickModel")
    return MODELS[model]


def _checked_parameters(model: ClickModel, parameters: Any) -> Any:
    """The parameters as float64 tables (queries, *axes)."""
    given = parameters._asdict() if hasattr(parameters, "_asdict") else parameters
    names = list(model.axes)
    allowed = f"allowed: the {model.name}'s Parameters, or a dict of {names}"
    if not isinstance(given, Mapping):
        raise ValueError(f"parameters = {given!r}; {allowed}")
    faults = [f"{name!r} is unknown" for name in given if name not in names]
    faults += [f"{name!r} is missing" for name in names if name not in given]
    if faults:
        raise ValueError(f"parameters: {', '.join(faults)}; {allowed}")
    tables = {}
    for name in names:
        axes, label = model.axes[name], f"parameters[{name!r}]"
        table = probabilities(label, [given[name]] if np.ndim(given[name]) == 0 else given[name], len(axes) + 1)
        if table.ndim < len(axes):
            raise ValueError(f"{label} has shape {table.shape}; allowed: {len(axes)} or {len(axes) + 1} dimensions")
        tables[name] = table if table.ndim > len(axes) else table[None]
    count = max(len(table) for table in tables.values())
    items = tables["attraction"].shape[1]
    for name, table in tables.items():
        if len(table) not in (1, count):
            raise ValueError(f"parameters[{name!r}] has {len(table)} queries; allowed: {count}, or one for all")
        if "item" in model.axes[name] and table.shape[1] != items:
            raise ValueError(f"parameters[{name!r}] has {table.shape[1]} items; allowed: {items}, as attraction has")
        tables[name] = np.repeat(table, count // len(table), axis=0)
    return model.parameters(*(tables[name] for name in model.parameters._fields))


def _checked_lists(displayed: ArrayLike, queries: int, items: int, positions: int) -> NDArray[np.int64]:
    listed = "1 item" if positions == 1 else f"{positions} different items"
    allowed = f"allowed: {listed} out of 0 .. {items - 1}"
    try:
        given = np.array(displayed)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "iu" or given.shape not in ((positions,), (queries, positions)):
        many = f", or {queries} such lists, one a query" if queries > 1 else ""
        raise ValueError(f"displayed = {displayed!r} is no list; {allowed}{many}")
    lists = np.array(np.broadcast_to(given, (queries, positions)), np.int64, order="C")
    fault = first_fault(lists, items)
    if fault >= 0:
        raise ValueError(f"displayed = {lists[fault].tolist()} is no ranking; {allowed}")
    return lists


def _verdict(
    which: int, found: Sequence[Found], exact: NDArray[np.bool_], attraction: NDArray[np.float64], tolerance: float
) -> Verdict:
    gaps = np.array([one.gap[which] for one in found])
    gaps[gaps <= tolerance] = 0.0
    worst = int(gaps.argmax())
    name, holds = NAMES[which], not gaps.any()
    return Verdict(
        name=name,
        says=ASSUMPTIONS[name][0],
        holds=holds,
        exact=bool(exact.all()),
        checked=int(sum(one.checked[which] for one in found)),
        gap=float(gaps[worst]),
        witness=None if holds else _witness(which, worst, found[worst], attraction[worst]),
        holds_in=gaps == 0.0,
        gaps=gaps,
    )


def _witness(which: int, query: int, found: Found, attraction: NDArray[np.float64]) -> Witness:
    lists = tuple(tuple(one.tolist()) for one in found.lists[which])
    k, other = found.places[which].tolist()
    left, right = found.numbers[which].tolist()
    i, j = lists[0][k], lists[1][k]
    text = ASSUMPTIONS[NAMES[which]][1].format(
        R=" ".join(map(str, lists[0])),
        S=" ".join(map(str, lists[1])),
        k=k + 1,
        l=other + 1,
        i=i,
        j=j,
        alpha=f"{attraction[i]:.4g}",
        beta=f"{attraction[j]:.4g}",
        x=_told_apart(left, right),
        y=_told_apart(right, left),
    )
    places = () if which in (A1, T2) else (k, other) if which in (A3, A4) else (k,)
    return Witness(query, lists[:1] if which == A3 else lists, places, (left, right), text)


def _told_apart(number: float, other: float) -> str:
    """The number with as many digits as tell it from the other one."""
    return next((text for digits in range(4, 17) if (text := f"{number:.{digits}g}") != f"{other:.{digits}g}"), "?")


@contextlib.contextmanager
def _told(lists: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A function to report finished lists to; a bar, where they take longer than one waits patiently."""
    bar, done, start = None, 0, time.perf_counter()

    def tell(finished: int) -> None:
        nonlocal bar, done, shown
        done += finished
        spent = time.perf_counter() - start
        if bar is None and shown and spent > PATIENCE / 4 and spent * lists / done > PATIENCE:
            made = count_bar("lists")
            shown = made.console.is_interactive or made.console.is_jupyter  # in a file it would leave an empty line
            if shown:
                bar = made
                bar.add_task("checking", total=lists)
                bar.start()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()
