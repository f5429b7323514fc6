"""Choosing items and arms: the largest indices, the largest upper bound, ties broken at random."""

import math

import numpy as np

from rankgym.kernels.compiling import kernel
from rankgym.kernels.random_numbers import bits, shuffle, uniform_below

ZERO = np.uint64(0)  # uint64 mixed with int64 would become float64
LARGEST = np.iinfo(np.int64).max


@kernel
def first_then_shuffled(order, first, positions, seed):
    """Write ``first`` to place 0 of ``order``, draw the places below uniformly; place p takes the bits numbered p.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import first_then_shuffled
        >>> order = np.empty(5, np.int64)
        >>> first_then_shuffled(order, 3, 5, np.uint64(7))
        >>> int(order[0]), sorted(order.tolist())
        (3, [0, 1, 2, 3, 4])
    """
    for item in range(order.shape[0]):
        order[item] = item
    order[0], order[first] = first, 0
    shuffle(order, 1, order.shape[0], positions - 1, seed, 0)


@kernel
def select_top(order, index, row, places, seed):
    """Sort the items with the largest ``index`` (items,) to the first ``places`` of ``order[row]``, the largest first.

    Ties are ordered by random words: item i takes the bits numbered i of ``seed``. Fastest if ``order[row]`` has
    last round's order. The items below the first ``places`` are in no particular order.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import select_top
        >>> order = np.array([[0, 1, 2, 3]])
        >>> select_top(order, np.array([0.1, 0.9, 0.2, 0.8]), 0, 2, np.uint64(7))
        >>> order[0, :2].tolist()
        [1, 3]
    """
    for place in range(order.shape[1]):
        i, k = order[row, place], place
        while k > 0:
            above = min(k, places) - 1  # an item from below the places climbs to the last of them in one step
            j = order[row, above]
            if not (index[i] > index[j] or (index[i] == index[j] and bits(seed, i) > bits(seed, j))):
                break
            order[row, k] = j
            k = above
        order[row, k] = i


@kernel
def place_of_largest(values, word):
    """Return the index of the largest of ``values`` (number,); ``word`` draws one of several.

    ``values`` are int64, or float64 and not below zero: those are in the order of their bits, read as integers.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import place_of_largest
        >>> int(place_of_largest(np.array([0.1, 0.9, 0.2]), np.uint64(7)))
        1
        >>> {int(place_of_largest(np.array([0.9, 0.9, 0.2]), np.uint64(word << 60))) for word in range(16)}  # a draw
        {0, 1}
    """
    marks = values.view(np.int64)
    most, ties, found = largest(marks)
    if ties == 1:
        return found
    n = uniform_below(word, ties)
    for place in range(marks.shape[0]):
        n -= marks[place] == most  # a branch on each could not be predicted
        if n < 0:
            return place
    return -1  # not reached


@kernel
def largest(marks):
    """Return the largest of ``marks`` (number,), how many are as large, and the sum of their indices.

    Loops without a branch over integers are vectorised; the largest of floats is not, because of NaN.
    """
    most, ties, places = marks[0], 0, 0
    for place in range(marks.shape[0]):
        most = max(most, marks[place])
    for place in range(marks.shape[0]):
        ties += marks[place] == most
        places += place if marks[place] == most else 0
    return most, ties, places


@kernel
def place_of_least(values, but, word):
    """Return the index of the least of ``values`` (number,), ``but`` left out; ``word`` draws one of several.

    ``values`` are as in ``place_of_largest``.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import place_of_least
        >>> int(place_of_least(np.array([0.1, 0.9, 0.2]), 0, np.uint64(7)))  # place 0 does not count
        2
    """
    marks = values.view(np.int64)
    low, ties, found = LARGEST, 0, 0
    for place in range(marks.shape[0]):
        low = min(low, marks[place] if place != but else LARGEST)
    for place in range(marks.shape[0]):
        equal = (marks[place] == low) & (place != but)
        ties += equal
        found += place if equal else 0
    if ties == 1:
        return found
    n = uniform_below(word, ties)
    for place in range(marks.shape[0]):
        n -= (marks[place] == low) & (place != but)
        if n < 0:
            return place
    return -1  # ``but`` was the only one


@kernel
def challenger(mean, spread, width, c, word, upper):
    """Return the arm of the largest ``mean`` + ``width`` ``spread`` (arms,), or ``c`` if that is below u_cc = 1/2.

    It is RUCB's upper bound u_dc of the chance to beat arm c. ``word`` decides ties; ``upper`` (arms,) is overwritten.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import challenger
        >>> mean, spread, upper = np.array([0.0, 0.4, 0.3]), np.array([0.0, 0.1, 0.5]), np.empty(3)
        >>> [int(challenger(mean, spread, width, 0, np.uint64(7), upper)) for width in (2.0, 0.1)]  # 1.3; all below 1/2
        [2, 0]
    """
    for d in range(upper.shape[0]):
        upper[d] = mean[d] + width * spread[d]
    d = place_of_largest(upper, word)
    return d if upper[d] >= 0.5 else c


@kernel
def upper_bound(won, tried, budget):
    """The mean ``won`` / ``tried`` plus sqrt(``budget`` / ``tried``); infinite where nothing was tried.

    Examples:
        >>> from rankgym.kernels import upper_bound
        >>> upper_bound(1, 4, 1.0), upper_bound(0, 0, 1.0)  # 1/4 + sqrt(1/4)
        (0.75, inf)
    """
    if tried == 0:
        return math.inf
    return won / tried + math.sqrt(budget / tried)


@kernel
def largest_upper_bound(won, played, budget, seed, index, upper):
    """Return the arm with the largest mean + sqrt(budget / played); the bound of an arm never played is infinite.

    ``won`` and ``played`` (arms,) are counts. Ties take the bits numbered ``index`` + arm of ``seed``. ``upper``
    (arms,) is overwritten.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import largest_upper_bound
        >>> won, played, upper = np.array([9, 1, 0]), np.array([10, 2, 4]), np.empty(3)
        >>> int(largest_upper_bound(won, played, 1.0, np.uint64(7), 0, upper))  # 0.9 + 0.32, 0.5 + 0.71 and 0 + 0.5
        0
    """
    for arm in range(upper.shape[0]):
        n = played[arm]
        upper[arm] = np.true_divide(won[arm] + np.sqrt(budget * n), n) if n > 0 else np.inf
    words = upper.view(np.uint64)  # the order of floats that are not below zero is that of their bits
    most, ties, found = largest(words)
    if ties > 1:
        for arm in range(words.shape[0]):
            word = bits(seed, index + arm)
            words[arm] = word if words[arm] == most else ZERO
        most, ties, found = largest(words)  # the words of two arms are never equal
    return found
