"""The largest violation of each assumption, and the kernels that look for violations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import kernel

# Rows of the arrays below: the assumptions in the order of ASSUMPTIONS. They stand in this file because a cached kernel
# does not notice changes in another; numpy's integers because numba would compile anew for each of Python's.
A1, A2, A3, A4, A5, T1, T2, T3, T4 = np.arange(9)


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
    for place in range(one.shape[0]):
        found.lists[which, 0, place] = one[place]
        found.lists[which, 1, place] = other[place]


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
