"""Rankings: check that they hold distinct items, find the last observed position, count the bits of a set of items."""

import numpy as np

from rankgym.kernels.compiling import kernel
from rankgym.kernels.random_numbers import ONE

FIRST, LAST, ALL = range(3)
FEEDBACK = {"first": FIRST, "last": LAST, "all": ALL}  # positions a user observed: down to that click, or all


@kernel
def last_observed(clicks, row, feedback):
    """The last observed position of the row's list; ``feedback`` is a value of FEEDBACK."""
    last = clicks.shape[1] - 1
    if feedback == FIRST:
        for k in range(last):
            if clicks[row, k] != 0:
                return k
    if feedback == LAST:
        for k in range(last, -1, -1):
            if clicks[row, k] != 0:
                return k
    return last


S2, S4, S56 = np.uint64(2), np.uint64(4), np.uint64(56)  # uint64 mixed with int64 would become float64
C55, C33, C0F, C01 = (np.uint64(int(byte * 8, 16)) for byte in ("55", "33", "0f", "01"))


@kernel
def popcount(word):
    """The number of one bits of a uint64 (the compiler knows this idiom as a single instruction)."""
    word = word - ((word >> ONE) & C55)
    word = (word & C33) + ((word >> S2) & C33)
    word = (word + (word >> S4)) & C0F
    return np.int64((word * C01) >> S56)


@kernel
def first_fault(rankings, num_items):
    """The first row of ``rankings`` (rows, positions) without distinct items in 0 .. ``num_items`` - 1, or -1."""
    rows, positions = rankings.shape
    for row in range(rows):
        seen = np.uint64(0)
        for place in range(positions):
            item = rankings[row, place]
            if item < 0 or item >= num_items:
                return row
            if num_items <= 64:  # one word marks every item seen
                mark = ONE << np.uint64(item)
                if seen & mark != np.uint64(0):
                    return row
                seen |= mark
            else:
                for earlier in range(place):
                    if rankings[row, earlier] == item:
                        return row
    return -1
