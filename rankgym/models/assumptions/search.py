"""The search for the largest violation of each assumption over the lists of one query."""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import kernel
from rankgym.models.base import ClickModel, sorted_lists

Ints: TypeAlias = NDArray[np.int64]

MAX_EXCHANGES = 64  # of each random list: all exchanges of up to 10 items
TIE_ORDERS = 256  # random orders of equally attractive items, if lists are sampled
MAX_ROWS = 4096  # lists at a time: they and their examinations fit a core's cache
MAX_NUMBERS = 4_000_000  # of a parameter repeated for all lists at a time: 32 MB

# Rows of the arrays below: the assumptions in the order of ASSUMPTIONS. They stand in this file because a cached kernel
# does not notice changes in another; numpy's integers because numba would compile anew for each of Python's.
COUNT = 9
A1, A2, A3, A4, A5, T1, T2, T3, T4 = np.arange(COUNT)


class Violations(NamedTuple):
    """The largest violations found so far in one query. The first axis is the assumption, see ``A1`` .. ``T4``."""

    gap: NDArray[np.float64]  # (9,) 0 if no violation was found
    lists: NDArray[np.int64]  # (9, 2, positions)
    places: NDArray[np.int64]  # (9, 2): positions k and l
    numbers: NDArray[np.float64]  # (9, 2): both sides of the inequality
    checked: NDArray[np.int64]  # (9,) inequalities
    # Extremes, from which A1, T2 and T4 follow. Entry k < K: clicks at position k of lists whose item there is as
    # attractive as the sorted list's; entry K: the reward. Each with the list that has it.
    low: NDArray[np.float64]  # (positions + 1,) clicks of any list; reward of a sorted list
    low_list: NDArray[np.int64]  # (positions + 1, positions)
    high: NDArray[np.float64]  # (positions + 1,) clicks of a sorted list; reward of any list
    high_list: NDArray[np.int64]  # (positions + 1, positions)


@kernel
def fill_lists(start, displayed, hidden):
    """Write the lists ``start``, ``start`` + 1, ... of the lexicographic order; their hidden items ascend."""
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

    The new lists are written to ``swapped``, the rows of their originals to ``kept``; returns their number. ``once``:
    among all lists each pair comes twice; take it only from the list whose upper item has the smaller number.
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
    """Record ``left`` < ``right``, the largest violation so far of ``which``, by the lists ``one`` and ``other``."""
    found.gap[which] = right - left
    found.numbers[which, 0], found.numbers[which, 1] = left, right
    found.places[which, 0], found.places[which, 1] = k, other_k
    copy_list(one, found.lists[which, 0])
    copy_list(other, found.lists[which, 1])


@kernel
def copy_list(source, target):
    """Copy a list; numba takes seconds to compile an assignment of arrays, with the message of its error."""
    for place in range(source.shape[0]):
        target[place] = source[place]


@kernel
def inspect_lists(displayed, examination, reward, attraction, ranked, examination_sorted, sorted_list, found):
    """Check what concerns single lists: A3 and A5, and the extremes from which A1, T2 and T4 follow.

    ``ranked`` (positions,) has the attraction of ``sorted_list`` (positions,), R*, and ``examination_sorted`` its chi.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        one = displayed[row]
        least = 0  # the least examined position above
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
                    copy_list(one, found.low_list[k])
                if is_sorted and clicks > found.high[k]:
                    found.high[k] = clicks
                    copy_list(one, found.high_list[k])
        if reward[row] > found.high[positions]:
            found.high[positions] = reward[row]
            copy_list(one, found.high_list[positions])
        if is_sorted and reward[row] < found.low[positions]:
            found.low[positions] = reward[row]
            copy_list(one, found.low_list[positions])
    found.checked[A1] += rows
    found.checked[A3] += rows * (positions * (positions - 1) // 2)
    found.checked[A5] += rows * positions
    found.checked[T2] += rows


@kernel
def record_pair(found, which, weight, at, k, other_k, displayed, examination, row, swapped, examination_swapped, n):
    """Record two lists whose position ``at`` is examined differently, the less examined one first."""
    left, right = weight * examination[row, at], weight * examination_swapped[n, at]
    if left < right:
        record(found, which, left, right, displayed[row], swapped[n], k, other_k)
    else:
        record(found, which, right, left, swapped[n], displayed[row], k, other_k)


@kernel
def excess(alpha, beta, change):
    """By how much chi changes against the rule when an item of attraction beta replaces one of alpha above.

    The rule: a better item hides more, equal items hide the same.
    """
    if alpha == beta:
        return abs(change)
    return change if alpha < beta else -change


@kernel
def compare_exchanged(displayed, examination, attraction, first, second, kept, swapped, examination_swapped, found):
    """Check what concerns pairs of lists, kept[n] and ``swapped[n]``, which differ in one exchange: A2, A4 and T3."""
    positions = displayed.shape[1]
    for n in range(kept.shape[0]):
        row = kept[n]
        k, l = first[row], second[row]  # noqa: E741, the papers' letters
        for m in range(positions):
            if m <= k or m > l:  # the same items above m
                found.checked[A2] += 1
                if abs(examination_swapped[n, m] - examination[row, m]) > found.gap[A2]:
                    record_pair(found, A2, 1.0, m, m, m, displayed, examination, row, swapped, examination_swapped, n)
        alpha, beta = attraction[0, displayed[row, k]], attraction[0, swapped[n, k]]
        better = max(alpha, beta) if min(alpha, beta) > 0.0 else 0.0  # weighs chi in T3
        found.checked[T3] += better > 0.0
        change = examination_swapped[n, k] - examination[row, k]
        if better * excess(beta, alpha, change) > found.gap[T3]:  # the better item at k is clicked more than the other
            record_pair(found, T3, better, k, k, l, displayed, examination, row, swapped, examination_swapped, n)
        if l < positions:
            found.checked[A4] += 1
            found.checked[T3] += better > 0.0
            change = excess(alpha, beta, examination_swapped[n, l] - examination[row, l])
            if change > found.gap[A4]:
                record_pair(found, A4, 1.0, l, k, l, displayed, examination, row, swapped, examination_swapped, n)
            if better * change > found.gap[T3]:  # the better item at l, the other one above it
                record_pair(found, T3, better, l, l, k, displayed, examination, row, swapped, examination_swapped, n)


class QuerySearch:
    """Checks lists of one query of a click model, and pairs that differ in one exchange; keeps the violations."""

    def __init__(self, model: ClickModel, parameters: Any, positions: int, cutoff: int, reward: str) -> None:
        self.model, self.parameters, self.cutoff, self.reward = model, parameters, cutoff, reward
        self.attraction: NDArray[np.float64] = parameters.attraction  # (1, items)
        self.items, self.positions = self.attraction.shape[1], positions
        self.rows = max(1, min(MAX_ROWS, MAX_NUMBERS // max(table.size for table in parameters)))  # lists at a time
        self._many = model.parameters(*(np.repeat(table, self.rows, axis=0) for table in parameters))
        self.sorted = sorted_lists(self.attraction, positions)[0]
        self.found = Violations(
            gap=np.zeros(COUNT),
            lists=np.zeros((COUNT, 2, positions), np.int64),
            places=np.zeros((COUNT, 2), np.int64),
            numbers=np.zeros((COUNT, 2)),
            checked=np.zeros(COUNT, np.int64),
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
        # the sorted list counts even if it is not among the checked lists
        self.found.high[:positions] = self._ranked * self._examination_sorted
        self.found.low[positions] = self.worth_sorted
        self.found.low_list[:], self.found.high_list[:] = self.sorted, self.sorted

    def _some(self, rows: int) -> Any:
        """The parameters, repeated for this number of lists."""
        return self.model.parameters(*(table[:rows] for table in self._many))

    def examined(self, displayed: Ints) -> NDArray[np.float64]:
        """chi (lists, positions) of the lists."""
        return self.model.examination(self._some(len(displayed)), displayed)

    def _rewards(self, displayed: Ints) -> NDArray[np.float64]:
        return self.model.values(self._some(len(displayed)), displayed, self.cutoff, self.reward)

    def inspect(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Check up to ``rows`` lists; returns their examinations."""
        examination, reward = self.examined(displayed), self._rewards(displayed)
        best = (self._ranked, self._examination_sorted, self.sorted)
        inspect_lists(displayed, examination, reward, self.attraction, *best, self.found)
        return examination

    def compare(
        self, displayed: Ints, hidden: Ints, examination: NDArray[np.float64], first: Ints, second: Ints, once: bool
    ) -> Ints:
        """Compare up to ``rows`` lists with those after an exchange, which are returned; see the kernels."""
        kept, swapped = np.empty(len(displayed), np.int64), np.empty_like(displayed)
        count = exchange(displayed, hidden, first, second, once, kept, swapped)
        kept, swapped = kept[:count], swapped[:count]
        after = self.examined(swapped)
        compare_exchanged(displayed, examination, self.attraction, first, second, kept, swapped, after, self.found)
        return swapped

    def search_all(self, report: Callable[[int], None]) -> None:
        """Check every list, and each pair that differs in one exchange once."""
        count = math.perm(self.items, self.positions)
        pairs = exchanges(self.items, self.positions)
        for start in range(0, count, self.rows):
            rows = min(self.rows, count - start)
            displayed = np.empty((rows, self.positions), np.int64)
            hidden = np.empty((rows, self.items - self.positions), np.int64)
            fill_lists(start, displayed, hidden)
            examination = self.inspect(displayed)
            for k, other in pairs:
                self.compare(displayed, hidden, examination, np.full(rows, k), np.full(rows, other), True)
            report(rows)

    def search_around(self, one: NDArray[np.int64]) -> None:
        """Check one list (positions,) and all lists that differ from it in one exchange."""
        hidden = np.setdiff1d(np.arange(self.items), one)
        self.inspect(one[None])
        pairs = np.array(exchanges(self.items, self.positions), np.int64).reshape(-1, 2)
        for start in range(0, len(pairs), self.rows):
            first, second = np.ascontiguousarray(pairs[start : start + self.rows].T)
            many = np.tile(one, (len(first), 1))
            behind = np.tile(hidden, (len(first), 1))
            self.inspect(self.compare(many, behind, self.examined(many), first, second, False))

    def search_random(self, samples: int, seed: int, report: Callable[[int], None]) -> bool:
        """Check random lists and some exchanges of each, sorted lists and the best list; returns if that is known."""
        rng = np.random.default_rng(seed)
        best = None
        with contextlib.suppress(ValueError):  # too many positions for the model's search
            best = self.model.rewards[self.reward].best_lists(self.parameters, self.positions, self.cutoff)
        self.search_around(self.sorted)
        if best is not None:
            self.inspect(best)
        ties = np.lexsort((rng.random((TIE_ORDERS, self.items)), np.tile(-self.attraction, (TIE_ORDERS, 1))), axis=1)
        for one in np.unique(ties[:, : self.positions], axis=0).astype(np.int64):
            self.inspect(one[None])
        for start in range(0, samples, self.rows):
            rows = min(self.rows, samples - start)
            order = rng.permuted(np.tile(np.arange(self.items), (rows, 1)), axis=1)
            displayed = np.ascontiguousarray(order[:, : self.positions])
            hidden = np.ascontiguousarray(order[:, self.positions :])
            examination = self.inspect(displayed)
            for first, second in self._drawn_exchanges(rows, rng):
                self.compare(displayed, hidden, examination, first, second, False)
            report(rows)
        return best is not None

    def _drawn_exchanges(self, rows: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
        """The places of MAX_EXCHANGES random exchanges of each list; of all exchanges if there are no more."""
        pairs = exchanges(self.items, self.positions)
        if len(pairs) <= MAX_EXCHANGES:
            for first, second in pairs:
                yield np.full(rows, first), np.full(rows, second)
        else:
            for _ in range(MAX_EXCHANGES):
                k = rng.integers(0, self.positions, rows)
                other = (k + rng.integers(1, self.items, rows)) % self.items
                yield np.minimum(k, other), np.maximum(k, other)

    def violations(self) -> Violations:
        """The violations found, those of A1, T2 and T4 computed from the extremes."""
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
    """All exchanges of a list: pairs of places k < l, the first one displayed."""
    return [pair for pair in itertools.combinations(range(items), 2) if pair[0] < positions]
