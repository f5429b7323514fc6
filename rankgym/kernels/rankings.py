"""Rankings: check that they hold distinct items, find the last observed position, count the bits of a set of items."""

import numpy as np

from rankgym.kernels.compiling import kernel
from rankgym.kernels.random_numbers import ONE

FIRST, LAST, ALL = range(3)
#: The positions that a user observed: down to that click, or all. The numbers are what ``last_observed`` takes.
FEEDBACK = {"first": FIRST, "last": LAST, "all": ALL}


@kernel
def last_observed(clicks, row, feedback):
    """The last observed position of the row's list; ``feedback`` is a value of FEEDBACK.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import FEEDBACK, last_observed
        >>> clicks = np.array([[0, 1, 1, 0]], np.int8)
        >>> {name: int(last_observed(clicks, 0, feedback)) for name, feedback in FEEDBACK.items()}
        {'first': 1, 'last': 2, 'all': 3}
    """
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
    """The number of one bits of a uint64 (the compiler knows this idiom as a single instruction).

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import popcount
        >>> int(popcount(np.uint64(0b1011)))
        3
    """
    word = word - ((word >> ONE) & C55)
    word = (word & C33) + ((word >> S2) & C33)
    word = (word + (word >> S4)) & C0F
    return np.int64((word * C01) >> S56)


@kernel
def first_fault(rankings, num_items):
    """The first row of ``rankings`` (rows, positions) without distinct items in 0 .. ``num_items`` - 1, or -1.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import first_fault
        >>> [int(first_fault(np.array([[0, 1], row]), 3)) for row in ([2, 1], [2, 2], [2, 3])]
        [-1, 1, 1]
    """
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
