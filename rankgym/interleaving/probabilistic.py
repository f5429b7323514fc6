"""Probabilistic interleaving (Hofmann, Whiteson and de Rijke, CIKM 2011, and ACM TOIS 31, 2013).

A ranking becomes a softmax over its ranks, P(d) proportional to 1 / rank(d)^tau. At each position a fair coin decides
which ranker contributes; a document is drawn from its softmax over the documents not displayed yet (renormalised). So
every list is possible, and a displayed document leaves both softmaxes.

Credit (Algorithm 2 and equation 8 of 2011): the ranker that contributed more of the clicked documents wins, but the
assignment is forgotten, and the outcome is marginalised over all assignments: left's credit is the probability,
given the list, that it contributed more of them than right, and right's the probability of the reverse. The
authors' code (Lerot) does the same. Given the list, the coins are independent: left contributed position k with
probability P_left(d) / (P_left(d) + P_right(d)), both softmaxes as they were before k, and the sum over the 2^clicks
assignments is a sum over the number of left's. ``credit="expected"`` is the expected number of clicked documents that
each contributed. Up to two clicks the two agree on which ranker has more; with shares 1, .26, .26 of three, left is
expected to have contributed 1.52 of them, and right is more likely to have contributed most. ``credit="assigned"``
counts by the actual coins.

It is unbiased for a user who clicks without looking at documents: both rankers have equal credit on average (which one
has more is a fair coin with ``"assigned"`` only). A ranker with relevant documents nowhere lower and somewhere higher
has more credit on average.

How a document is drawn. With S(r) the weight of all ranks from r on, the weight between two displayed ranks is a
difference of two S. The number of these gaps is at most that of the displayed documents, and within a gap the rank is
found by a search: no step looks at all documents. S falls, so that each difference is exact to within about
as many roundings as its first rank.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import number_in, one_of
from rankgym.interleaving.base import INTERLEAVING, Array, Interleaving, Lists, positional_credit
from rankgym.kernels import bits, kernel, session_seed, uniform

MAX_TAU = 20.0  # 1 / rank^tau of 10^15 documents is still a float then

LOWEST, NOTHING = np.uint64(1), np.uint64(0)


def tails(tau: float, size: int) -> NDArray[np.float64]:
    """S (size + 1,): S[r] = sum over places i = r .. size - 1 (from 0) of 1 / (i + 1)^tau."""
    weight = np.append(np.arange(1.0, size + 1.0) ** -tau, 0.0)
    return np.cumsum(weight[::-1])[::-1].copy()


@kernel
def left_over(tail, taken, count, size):
    """The weight of the places below ``size`` that are not among the ``count`` ascending places of ``taken``."""
    total, begin = 0.0, 0
    for n in range(count):
        total += tail[begin] - tail[taken[n]]
        begin = taken[n] + 1
    return total + (tail[begin] - tail[size])


@kernel
def drawn_place(tail, taken, count, size, target):
    """The place, none of ``taken``, up to which the weight left over first exceeds ``target``."""
    low, high, begin = 0, 0, 0
    for n in range(count + 1):
        end = taken[n] if n < count else size
        if end > begin:
            low, high = begin, end - 1  # should rounding run over the end, the last gap is taken
            gap = tail[begin] - tail[end]
            if target < gap:
                break
            target -= gap
        begin = end + 1
    first, probe, stride = tail[low], low, 1  # most probably near the top: look there, ever further, then between
    while probe < high and first - tail[probe + 1] <= target:
        low = probe + 1
        probe = min(low + stride, high)
        stride *= 2
    high = probe
    while low < high:
        middle = (low + high) // 2
        if first - tail[middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def insert(taken, count, place):
    """Put ``place`` among the ``count`` ascending places of ``taken``."""
    while count > 0 and taken[count - 1] > place:
        taken[count] = taken[count - 1]
        count -= 1
    taken[count] = place


@kernel
def interleave(lists, left, right, tail, assigned, key, session, displayed, share):
    """Position k takes the bits INTERLEAVING + k of the row's session: the lowest decides whose turn it
    is, the upper 53 which document.

    ``tail`` is the result of ``tails`` for at least as many documents as the longest ranking has.
    """
    rows, length = displayed.shape
    taken_a, taken_b = np.empty(length, np.int64), np.empty(length, np.int64)  # places of displayed documents
    for row in range(rows):
        a, b = left[row], right[row]
        start_a, start_b = lists.start[a], lists.start[b]
        size_a, size_b = lists.size[a], lists.size[b]
        seed = session_seed(key[row], session[row])
        count_a, count_b, count = 0, 0, 0
        while count < length and count_a < size_a and count_b < size_b:
            weight_a = left_over(tail, taken_a, count_a, size_a)
            weight_b = left_over(tail, taken_b, count_b, size_b)
            word = bits(seed, INTERLEAVING + count)
            left_turn, u = (word & LOWEST) == NOTHING, uniform(word)
            if left_turn:
                place_a = drawn_place(tail, taken_a, count_a, size_a, u * weight_a)
                document = lists.order[start_a + place_a]
                place_b = np.int64(lists.rank[start_b + document])
            else:
                place_b = drawn_place(tail, taken_b, count_b, size_b, u * weight_b)
                document = lists.order[start_b + place_b]
                place_a = np.int64(lists.rank[start_a + document])
            p_a, p_b = 0.0, 0.0  # the two softmaxes' probabilities of this document, times both weights
            if place_a >= 0:
                p_a = (tail[place_a] - tail[place_a + 1]) * weight_b
                insert(taken_a, count_a, place_a)
                count_a += 1
            if place_b >= 0:
                p_b = (tail[place_b] - tail[place_b + 1]) * weight_a
                insert(taken_b, count_b, place_b)
                count_b += 1
            displayed[row, count] = document
            share[row, count] = (1.0 if left_turn else 0.0) if assigned else p_a / (p_a + p_b)
            count += 1
        displayed[row, count:] = -1
        share[row, count:] = 0.0


@kernel
def marginal_credit(lists, left, right, displayed, share, clicks, credit):
    """The probabilities that left contributed more of the clicked documents than right, and right more than left."""
    rows, length = displayed.shape
    chance = np.empty(length + 1)  # chance[n]: that n of the clicks so far are left's
    for row in range(rows):
        count, chance[0] = 0, 1.0
        for k in range(length):
            if clicks[row, k] == 0 or displayed[row, k] < 0:
                continue
            mine = share[row, k]
            chance[count + 1] = chance[count] * mine
            for n in range(count, 0, -1):
                chance[n] = chance[n] * (1.0 - mine) + chance[n - 1] * mine
            chance[0] *= 1.0 - mine
            count += 1
        credit[row, 0] = credit[row, 1] = 0.0
        for n in range(count + 1):
            if 2 * n > count:
                credit[row, 0] += chance[n]
            elif 2 * n < count:
                credit[row, 1] += chance[n]


CREDITS = {"marginalized": marginal_credit, "expected": positional_credit, "assigned": positional_credit}


class Probabilistic(Interleaving):
    """Probabilistic interleaving; ``share`` is the probability that left contributed the document (1 or 0 by coins).

    Args:
        tau: how fast the softmax falls with the rank; 3 in the papers, 0 for equal weights.
        credit: ``"marginalized"``: the probability of having contributed more of the clicked documents;
            ``"expected"``: their expected number; ``"assigned"``: their number by the actual coins.
    """

    name = "probabilistic"
    positional = True

    def __init__(self, tau: float = 3.0, credit: str = "marginalized") -> None:
        one_of("credit", credit, CREDITS)
        self.tau, self.crediting = number_in("tau", tau, 0, MAX_TAU), credit
        self._tail = tails(self.tau, 0)
        self._seen: NDArray[np.int64] | None = None  # the sizes for which the table was made

    def interleave(
        self, lists: Lists, left: Array, right: Array, key: Array, session: Array, displayed: Array, share: Array
    ) -> None:
        interleave(lists, left, right, *self._settings(lists), key, session, displayed, share)

    def _settings(self, lists: Lists) -> tuple[NDArray[np.float64], bool]:
        if lists.size is not self._seen:
            longest = int(lists.size.max())
            if longest >= len(self._tail):
                self._tail = tails(self.tau, longest)
            self._seen = lists.size
        return self._tail, self.crediting == "assigned"

    def kernels(self, lists: Lists) -> tuple[Callable[..., None], Callable[..., None], tuple[Any, ...]]:
        return interleave, CREDITS[self.crediting], self._settings(lists)

    def credit(self, *arrays: Any) -> None:
        CREDITS[self.crediting](*arrays)

    def knobs(self) -> dict[str, Any]:
        return {"tau": self.tau, "credit": self.crediting}
