"""Tallies: a table of counters, found by 64 random bits that stand for what is counted (a list, a partition)."""

import numpy as np

from rankgym.kernels.compiling import kernel
from rankgym.kernels.random_numbers import bits

TALLIES = 1024  #: counters of a row
START = np.uint64(0x243F6A8885A308D3)  # of pi


@kernel
def fingerprint(numbers):
    """64 bits that stand for a sequence of whole numbers from 0.

    Two different ones of n sequences agree with probability n^2 / 2^65.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import fingerprint
        >>> len({int(fingerprint(np.array(numbers))) for numbers in ([0, 1], [1, 0], [0, 1])})
        2
    """
    word = START
    for place in range(numbers.shape[0]):
        word = bits(word, numbers[place])
    return word


@kernel
def tally_of(names, counts, name):
    """The place of the counter of ``name`` in a table ``names``, ``counts`` (places,); a new one begins at 0.

    A counter is free while its count is 0, so the caller counts at once. It is looked for from the place that the
    name's last bits say, up to the first free one. In a full table a new name takes the place of the smallest count,
    the first of several.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import fingerprint, tally_of
        >>> names, counts = np.zeros(8, np.uint64), np.zeros(8, np.int64)
        >>> for numbers in ([0, 1], [1, 0], [0, 1]):
        ...     counts[tally_of(names, counts, np.uint64(fingerprint(np.array(numbers))))] += 1
        >>> sorted(counts.tolist(), reverse=True)[:3]
        [2, 1, 0]
    """
    places = counts.shape[0]
    first = np.int64(name & np.uint64(places - 1))
    for step in range(places):
        place = (first + step) % places
        if counts[place] == 0 or names[place] == name:
            names[place] = name
            return place
    least = 0
    for place in range(places):
        if counts[place] < counts[least]:
            least = place
    names[least], counts[least] = name, 0
    return least
