"""Batches of arms in one array: join small batches with large ones, take a member out of its batch.

Batch b of ``count`` batches is ``order[start[b]:start[b + 1]]``.
"""

import numpy as np

from rankgym.kernels.compiling import kernel

__all__ = ["join_batches", "leave_batch", "size_of"]


@kernel
def join_batches(order, start, count, largest):
    """Join small batches with large ones; return the new number of batches.

    The smallest batch is joined with the largest if together they have at most ``largest`` members, else the largest
    stays alone, and so on with the remaining batches. Batches of equal size keep their order.
    """
    by_size = np.empty(count, np.int64)
    for batch in range(count):
        place = batch
        while place > 0 and size_of(start, by_size[place - 1]) > size_of(start, batch):
            by_size[place] = by_size[place - 1]
            place -= 1
        by_size[place] = batch
    members, first = order.copy(), start.copy()
    low, high, joined, filled = 0, count - 1, 0, 0
    while low <= high:
        small, large = by_size[low], by_size[high]
        if low < high and size_of(first, small) + size_of(first, large) <= largest:
            for place in range(first[small], first[small + 1]):
                order[filled] = members[place]
                filled += 1
            low += 1
        for place in range(first[large], first[large + 1]):
            order[filled] = members[place]
            filled += 1
        high -= 1
        joined += 1
        start[joined] = filled
    return joined


@kernel
def size_of(start, batch):
    """The number of members of a batch."""
    return start[batch + 1] - start[batch]


@kernel
def leave_batch(order, start, count, batch, member):
    """Move ``member`` from its batch to behind the last of ``count`` batches; the others keep their order."""
    place = start[batch]
    while order[place] != member:
        place += 1
    for behind in range(place, start[count] - 1):
        order[behind] = order[behind + 1]
    order[start[count] - 1] = member
    for later in range(batch + 1, count + 1):
        start[later] -= 1
