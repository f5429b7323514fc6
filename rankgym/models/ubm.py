"""The user browsing model (UBM; Dupret and Piwowarski, SIGIR 2008): examination depends on the previous click.

Position k is examined with probability gamma[k, r], r the position of the previous click in this session; the last
column of the table stands for no click yet. An examined item is clicked with its attraction. If no row of gamma
depends on r, it is the PBM.

A click moves the user's attention: behind one, the Yandex fits examine nearly everything. So a click is worth more than
itself, and the list sorted by attraction, which the papers assume to be best, loses up to .09 clicks a session of five
positions there.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import EXAMINATION, bits, kernel, session_seed, uniform
from rankgym.models.base import Axes, ClickModel, Reward, completed_lists, sorted_lists

MAX_POSITIONS = 12  # of best_lists: a random table takes 1 ms at 10 positions, up to .4 s at 12, seconds at 14
TOLERANCE = 1e-13  # of a best list's value: a sum of floats differs by less, and ties are not searched


class Parameters(NamedTuple):
    """A user-browsing user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)
    examination: NDArray[np.float64]  # (rows, positions, positions) in [0, 1]: gamma[k, r]; last column: no click yet


@kernel
def click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        count = 0
        previous = positions - 1
        for k in range(positions):
            item = displayed[row, k]
            attracted = uniform(bits(seed, item)) < attraction[row, item]
            examined = uniform(bits(seed, EXAMINATION + k)) < examination[row, k, previous]
            clicked = attracted & examined
            clicks[row, k] = clicked
            count += clicked & (k < cutoff)
            previous = k if clicked else previous
        reward[row] = count


@kernel
def scan(attraction, examination, row, displayed, last, examined):
    """Fill ``examined`` (positions,) with chi(R, k) of row ``row``.

    That is the sum over r of P(the previous click was at r) gamma[k, r]. ``last``, of the same length, is work space.
    """
    none = displayed.shape[1] - 1
    unclicked = 1.0
    for k in range(examined.shape[0]):
        alpha = attraction[row, displayed[row, k]]
        total = unclicked * examination[row, k, none]
        unclicked -= total * alpha
        for r in range(k):
            share = last[r] * examination[row, k, r]
            last[r] -= share * alpha
            total += share
        last[k] = total * alpha
        examined[k] = total


@kernel
def value(attraction, examination, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of chi(R, k) alpha(R(k))."""
    last, examined = np.empty(cutoff), np.empty(cutoff)
    for row in range(displayed.shape[0]):
        scan(attraction, examination, row, displayed, last, examined)
        total = 0.0
        for k in range(cutoff):
            total += examined[k] * attraction[row, displayed[row, k]]
        expected[row] = total


@kernel
def examine(attraction, examination, displayed, examined):
    """chi(R, k) = sum over r of P(the previous click was at r) gamma[k, r]."""
    last = np.empty(displayed.shape[1])
    for row in range(displayed.shape[0]):
        scan(attraction, examination, row, displayed, last, examined[row])


@kernel
def foresee(alpha, gamma, foresight):
    """Fill ``foresight`` (2^n, n): expected clicks below, if every item were chosen knowing the clicks so far.

    The n items of attraction ``alpha`` are for n positions; the first index is the set of items placed above, as bits;
    the second is the previous click's position.
    """
    n = alpha.shape[0]
    full = (1 << n) - 1
    foresight[full] = 0.0
    for used in range(full - 1, -1, -1):  # every superset is done already
        k = 0
        for place in range(n):
            k += (used >> place) & 1
        foresight[used] = 0.0
        for place in range(n):
            if (used >> place) & 1 == 0:
                below = used | (1 << place)
                for r in range(n):
                    clicked = alpha[place] * gamma[k, r]
                    total = clicked * (1.0 + foresight[below, k]) + (1.0 - clicked) * foresight[below, r]
                    foresight[used, r] = max(foresight[used, r], total)


@kernel
def branch(alpha, gamma, foresight, used, k, gained, last, order, bound):
    """Fill ``order`` (n,) with items for position k, the most promising first, and ``bound``; returns their number."""
    n = alpha.shape[0]
    count = 0
    for place in range(n):
        twin = place > 0 and alpha[place] == alpha[place - 1] and (used >> (place - 1)) & 1 == 0
        if (used >> place) & 1 == 0 and not twin:  # of equal items only the first
            below = used | (1 << place)
            total = gained
            for r in range(-1, k):  # -1: no click yet
                clicked = alpha[place] * gamma[k, r]
                total += last[r] * (clicked * (1.0 + foresight[below, k]) + (1.0 - clicked) * foresight[below, r])
            at = count
            while at > 0 and bound[at - 1] < total:
                order[at], bound[at] = order[at - 1], bound[at - 1]
                at -= 1
            order[at], bound[at] = place, total
            count += 1
    return count


@kernel
def search(alpha, gamma, foresight, record, best):
    """Branch and bound, from the first position: fill ``best`` (n,) if a list beats ``record``; returns the new one."""
    n = alpha.shape[0]
    last, gained, used = np.zeros((n, n)), np.zeros(n), np.zeros(n, np.int64)  # of the positions above, at each depth
    order, bound = np.zeros((n, n), np.int64), np.zeros((n, n))
    count, tried, chosen = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    last[0, -1] = 1.0
    count[0] = branch(alpha, gamma, foresight, used[0], 0, gained[0], last[0], order[0], bound[0])
    k = 0
    while k >= 0:
        if tried[k] == count[k] or bound[k, tried[k]] <= record + TOLERANCE:
            k -= 1
            continue
        place, promise = order[k, tried[k]], bound[k, tried[k]]
        tried[k] += 1
        chosen[k] = place
        if k == n - 1:  # nothing is left to foresee: the promise is the value
            record = promise
            for place in range(n):
                best[place] = chosen[place]
            continue
        clicked = 0.0
        for r in range(-1, k):
            moved = last[k, r] * gamma[k, r] * alpha[place]
            last[k + 1, r] = last[k, r] - moved
            clicked += moved
        last[k + 1, k] = clicked
        gained[k + 1] = gained[k] + clicked
        used[k + 1] = used[k] | (1 << place)
        k += 1
        count[k] = branch(alpha, gamma, foresight, used[k], k, gained[k], last[k], order[k], bound[k])
        tried[k] = 0
    return record


@kernel
def fill_best(attraction, gamma, record, best):
    """The best list's places in ``attraction`` (candidates,), sorted, if it beats the ``record`` of the sorted list."""
    candidates, n = attraction.shape[0], best.shape[0]
    foresight = np.empty((1 << n, n))
    pool, found = np.empty(n, np.int64), np.empty(n, np.int64)
    for bottom in range(n + 1 if candidates > n else 1):
        for place in range(n):  # the n - bottom most attractive items and the `bottom` least attractive
            pool[place] = place if place < n - bottom else candidates - n + place
        foresee(attraction[pool], gamma, foresight)
        if foresight[0, -1] > record + TOLERANCE:
            beaten = search(attraction[pool], gamma, foresight, record, found)
            if beaten > record:
                record = beaten
                for place in range(n):
                    best[place] = pool[found[place]]


@lru_cache(maxsize=4096)
def solved(attraction: bytes, examination: bytes, cutoff: int) -> NDArray[np.int64]:
    """The best list's places (cutoff,) in an attraction (candidates,), sorted; cached by the query's parameters."""
    alpha = np.frombuffer(attraction).copy()  # a read-only array would be compiled anew
    gamma = np.frombuffer(examination).reshape(cutoff, cutoff).copy()
    best = np.arange(cutoff)
    record = np.empty(1)
    value(alpha[None], gamma[None], best[None], cutoff, record)
    fill_best(alpha, gamma, record[0], best)
    best.flags.writeable = False
    return best


def best_lists(parameters: Parameters, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """The exact best lists (to 1e-13), by branch and bound; a query's list is cached by its parameters.

    Expected clicks are linear in the attraction of each displayed item, as long as the others stay. So take a best list
    with an unused item more attractive than one that it uses, and another unused one less attractive: one of them can
    take the used item's place at no loss, and be it the most or the least attractive unused item. This ends with a best
    list of the a most and the b least attractive items, a + b = ``cutoff``. Each of these sets is searched from the
    first position on. The bound is the value of a ranker that sees the clicks so far before it chooses each item below:
    a dynamic programme over sets of items and the previous click. It is nearly always the best list's value: in the
    Yandex fits it differs by rounding alone. Of lists within 1e-13, the sorted one is preferred.

    Raises:
        ValueError: ``cutoff`` exceeds 12 positions.
    """
    if cutoff > MAX_POSITIONS:
        raise ValueError(
            f"cutoff = {cutoff} is out of range for the best list of the UBM; allowed: 1 .. {MAX_POSITIONS} "
            '(or reference="sorted", the list sorted by attraction, which is not the best)'
        )
    attraction, examination = parameters
    rows, items = attraction.shape
    ranked = sorted_lists(attraction, items)
    ends = min(items - cutoff, cutoff)  # number of least attractive items that may matter
    candidates = np.concatenate([ranked[:, :cutoff], ranked[:, items - ends :]], axis=1)
    alpha = np.take_along_axis(attraction, candidates, axis=1)
    columns = np.append(np.arange(cutoff - 1), examination.shape[2] - 1)
    gamma = examination[:, :cutoff, columns]
    places = [solved(alpha[row].tobytes(), gamma[row].tobytes(), cutoff) for row in range(rows)]
    best = np.take_along_axis(candidates, np.array(places, np.int64).reshape(rows, cutoff), axis=1)
    return completed_lists(best, ranked, num_positions)


AXES: Axes = {"attraction": ("item",), "examination": ("position", "previous")}
MODEL = ClickModel("UBM", Parameters, AXES, examine, {"clicks": Reward(click, value, best_lists)})
