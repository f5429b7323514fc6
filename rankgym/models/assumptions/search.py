"""The search for violations over the lists of one query."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.models.assumptions.statements import NAMES
from rankgym.models.assumptions.violations import (
    A1,
    T2,
    T4,
    Violations,
    compare_exchanged,
    exchange,
    fill_lists,
    inspect_lists,
    record,
)
from rankgym.models.base import ClickModel, sorted_lists

MAX_EXCHANGES = 64  # of each random list: all exchanges of up to 10 items
TIE_ORDERS = 256  # random orders of equally attractive items, if lists are sampled
MAX_ROWS = 4096  # lists at a time: they and their examinations fit a core's cache
MAX_NUMBERS = 4_000_000  # of a parameter repeated for all lists at a time: 32 MB


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
        # the sorted list counts even if it is not among the checked lists
        self.found.high[:positions] = self._ranked * self._examination_sorted
        self.found.low[positions] = self.worth_sorted
        self.found.low_list[:], self.found.high_list[:] = self.sorted, self.sorted

    def _some(self, rows: int) -> Any:
        """The parameters, repeated for this number of lists."""
        return self.model.parameters(*(table[:rows] for table in self._many))

    def examined(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """chi (lists, positions) of the lists."""
        return self.model.examination(self._some(len(displayed)), displayed)

    def _rewards(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.model.values(self._some(len(displayed)), displayed, self.cutoff, self.reward)

    def inspect(self, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Check up to ``rows`` lists; returns their examinations."""
        examination, reward = self.examined(displayed), self._rewards(displayed)
        inspect_lists(
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
        """Compare up to ``rows`` lists with those after an exchange, which are returned; see the kernels."""
        kept, swapped = np.empty(len(displayed), np.int64), np.empty_like(displayed)
        count = exchange(displayed, hidden, first, second, once, kept, swapped)
        kept, swapped = kept[:count], swapped[:count]
        compare_exchanged(
            displayed, examination, self.attraction, first, second, kept, swapped, self.examined(swapped), self.found
        )
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
        pairs = exchanges(self.items, self.positions)
        for start in range(0, samples, self.rows):
            rows = min(self.rows, samples - start)
            order = rng.permuted(np.tile(np.arange(self.items), (rows, 1)), axis=1)
            displayed = np.ascontiguousarray(order[:, : self.positions])
            hidden = np.ascontiguousarray(order[:, self.positions :])
            examination = self.inspect(displayed)
            for first, second in self._drawn_exchanges(pairs, rows, rng):
                self.compare(displayed, hidden, examination, first, second, False)
            report(rows)
        return best is not None

    def _drawn_exchanges(
        self, pairs: list[tuple[int, int]], rows: int, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The places of MAX_EXCHANGES random exchanges of each list; all ``pairs`` if there are no more."""
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
