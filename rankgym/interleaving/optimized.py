"""Optimized interleaving (Radlinski and Craswell, WSDM 2013): of all fair mixtures of two rankings, the most sensitive.

A list is allowed if its every prefix is a union of prefixes of both rankings (their equation 5): each document is the
best one of either ranking that is not displayed yet. A clicked document d has the credit (equations 14 and 15)

    "inverse"   1 / rank(d, left) - 1 / rank(d, right)
    "linear"    rank(d, right) - rank(d, left)

with length + 1 as the rank of a document outside the first ``length`` of a ranking. Positive credit counts for left,
negative for right. The probabilities p(list) solve a linear programme (equations 6 to 8, 13):

    maximize    sum of p(list) s(list)
    subject to  for each k, the sum of p(list) times the credit of the list's first k documents is 0,
                the p(list) are probabilities,

so that a user who clicks at random among the first k, for any k, prefers neither. The sensitivity s(list) (equations 9
to 12) is the entropy, in bits, of which ranker gets credit from a click, times the probability that one does, for a
click at position k with probability proportional to 1 / k (their footnote 4).

These constraints can be met for every pair of rankings that was tried: all of them up to length 4, and samples up to
10. With the paper's third credit, the sign of the linear one, they cannot (left = (0, 1, 2), right = (1, 2, 0)), so it
is left out.

The programme depends on the relative order of the two rankings, not on the documents. SciPy's HiGHS solves it once for
each such pattern, in some 15 ms at length 10; the solution has at most length + 1 lists. If several solutions
are optimal, SciPy's version decides which one is used, and so what a seed displays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of
from rankgym.interleaving.base import INTERLEAVING, Array, Interleaving, Lists
from rankgym.kernels import bits, kernel, session_seed, uniform

MAX_LENGTH = 10  # up to 2^10 lists are allowed
MAX_CACHED_LISTS = 1_000_000  # of solutions
CREDITS = {"inverse": lambda a, b: 1 / a - 1 / b, "linear": lambda a, b: b - a}  # of ranks a and b, from 1


@kernel
def patterns(lists, left, right, length, pattern):
    """Fill ``pattern`` (rows, length) int8: the place in left's ranking of the document at each place of right's.

    A document that is not among the first ``length`` of left's is ``length`` plus its own place. 127 is behind the end.
    """
    for row in range(left.shape[0]):
        a, b = left[row], right[row]
        for j in range(length):
            pattern[row, j] = 127
            if j < lists.size[b]:
                place = lists.rank[lists.start[a] + lists.order[lists.start[b] + j]]
                pattern[row, j] = place if 0 <= place < length else length + j


@kernel
def choose(lists, left, right, solution, first, cumulative, labels, credits, key, session, displayed, share):
    """Draw a list of each row's ``solution`` (rows,), by coin INTERLEAVING of its session.

    The lists of solution n are ``first[n] .. first[n + 1] - 1`` of ``cumulative``, ``labels`` and ``credits``.
    """
    rows, length = displayed.shape
    for row in range(rows):
        a, b = lists.start[left[row]], lists.start[right[row]]
        u = uniform(bits(session_seed(key[row], session[row]), INTERLEAVING))
        drawn, last = first[solution[row]], first[solution[row] + 1] - 1
        while drawn < last and u >= cumulative[drawn]:
            drawn += 1
        for k in range(length):
            label = labels[drawn, k]
            displayed[row, k] = -1
            if 0 <= label < length:
                displayed[row, k] = lists.order[a + label]
            elif label >= length:
                displayed[row, k] = lists.order[b + label - length]
            share[row, k] = credits[drawn, k]


@kernel
def credit(lists, left, right, displayed, share, clicks, credit):
    """The sums of the positive and of the negative credit of the clicked documents."""
    rows, length = displayed.shape
    for row in range(rows):
        credit[row, 0] = credit[row, 1] = 0.0
        for k in range(length):
            if clicks[row, k] != 0:
                credit[row, 0] += max(share[row, k], 0.0)
                credit[row, 1] += max(-share[row, k], 0.0)


def allowed_lists(left: list[int], right: list[int], length: int) -> NDArray[np.int8]:
    """All lists (lists, length) that satisfy equation 5, -1 behind their end."""
    grown: list[tuple[int, ...]] = [()]
    for _ in range(length):
        longer: list[tuple[int, ...]] = []
        for prefix in grown:
            tops = [next((d for d in ranking if d not in prefix), -1) for ranking in (left, right)]
            if -1 not in tops:  # else a ranking ends, for all lists at the same length
                longer += [(*prefix, top) for top in dict.fromkeys(tops)]
        grown = longer or grown
    return np.array([documents + (-1,) * (length - len(documents)) for documents in grown], np.int8)


def credits_of(lists: NDArray[np.int8], left: list[int], right: list[int], crediting: str) -> NDArray[np.float64]:
    """The credit (lists, length) of each document, 0 behind the end; ranks are from 1."""
    length = lists.shape[1]
    worth = {-1: 0.0}
    for d in {*left, *right}:
        rank_a = left.index(d) + 1 if d in left else length + 1
        rank_b = right.index(d) + 1 if d in right else length + 1
        worth[d] = CREDITS[crediting](rank_a, rank_b)
    return np.array([[worth[int(d)] for d in row] for row in lists], np.float64)


def sensitivity(credits: NDArray[np.float64]) -> NDArray[np.float64]:
    """s (lists,): the probability that a click has credit times the entropy of whose it is."""
    weight = 1.0 / np.arange(1.0, credits.shape[1] + 1.0)
    weight /= weight.sum()
    for_left, for_right = (credits > 0) @ weight, (credits < 0) @ weight
    decided = for_left + for_right
    entropy = np.zeros(len(credits))
    for part in (for_left, for_right):
        p = np.divide(part, decided, out=np.zeros_like(part), where=decided > 0)
        entropy -= p * np.log2(p, out=np.zeros_like(p), where=p > 0)
    return decided * entropy


def solver() -> Any:
    """SciPy's linear programming, or an ImportError that says how to get it."""
    try:
        from scipy.optimize import linprog
    except ImportError:
        raise ImportError("interleaving = 'optimized' needs SciPy; install it: pip install scipy") from None
    return linprog


def solve(lists: NDArray[np.int8], credits: NDArray[np.float64]) -> NDArray[np.float64]:
    """p (lists,): the solution of the linear programme."""
    constraints = np.vstack([np.ones(len(lists)), np.cumsum(credits, axis=1).T])
    target = np.zeros(len(constraints))
    target[0] = 1.0
    found = solver()(-sensitivity(credits), A_eq=constraints, b_eq=target, bounds=(0, None), method="highs")
    if not found.success:
        raise RuntimeError(f"the linear programme of optimized interleaving has no solution: {found.message}")
    p = np.maximum(found.x, 0.0)
    return p / p.sum()


class Optimized(Interleaving):
    """Optimized interleaving; ``share`` is the credit of each document, positive for left, negative for right.

    Args:
        credit: ``"inverse"`` or ``"linear"`` in the ranks.
    """

    name = "optimized"
    longest = MAX_LENGTH
    credit = staticmethod(credit)

    def __init__(self, credit: str = "inverse") -> None:
        one_of("credit", credit, CREDITS)
        solver()
        self.crediting = credit
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[bytes, int] = {}  # of solutions, by pattern
        self._first = [0]
        self._tables: list[tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]] = []
        self._joined: tuple[Any, ...] | None = None  # the tables as arrays, until there is a new one

    def interleave(
        self, lists: Lists, left: Array, right: Array, key: Array, session: Array, displayed: Array, share: Array
    ) -> None:
        length = displayed.shape[1]
        self.check_length("length", length)
        if self._first[-1] > MAX_CACHED_LISTS:
            self._forget()
        pattern = np.empty((len(left), length), np.int8)
        patterns(lists, left, right, length, pattern)
        sizes = lists.size[left]
        solved = (self._solution(row, min(int(size), length)) for row, size in zip(pattern, sizes, strict=True))
        solution = np.fromiter(solved, np.int64)
        if self._joined is None:
            cumulative, labels, credits = (np.concatenate(parts) for parts in zip(*self._tables, strict=True))
            self._joined = np.array(self._first), cumulative, labels, credits
        first, cumulative, labels, credits = self._joined
        choose(lists, left, right, solution, first, cumulative, labels, credits, key, session, displayed, share)

    def kernels(self, lists: Lists) -> None:
        return None

    def _solution(self, pattern: NDArray[np.int8], size: int) -> int:
        """The number of the solution for this pattern, where left ranks ``size`` documents (at most the length)."""
        name = bytes([size]) + pattern.tobytes()
        number = self._numbers.get(name)
        if number is None:
            left, right = list(range(size)), [int(d) for d in pattern if d != 127]
            lists = allowed_lists(left, right, len(pattern))
            credits = credits_of(lists, left, right, self.crediting)
            p = solve(lists, credits)
            used = p > 0
            cumulative = np.cumsum(p[used])
            self._tables.append((cumulative, lists[used], credits[used]))
            self._first.append(self._first[-1] + len(cumulative))
            number = self._numbers[name] = len(self._tables) - 1
            self._joined = None
        return number

    def left_shares(self, share: Array) -> Array:
        return np.where(share == 0.0, np.nan, share > 0.0)

    def knobs(self) -> dict[str, Any]:
        return {"credit": self.crediting}
