"""Batches of arms in one array: join small batches with large ones, take a member out of its batch.

Batch b of ``count`` batches is ``order[start[b]:start[b + 1]]``.
"""

import math

import numpy as np

from rankgym.kernels.compiling import kernel


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


@kernel
def smallest_size(start, count):
    """The number of members of the smallest of ``count`` batches."""
    least = size_of(start, 0)
    for batch in range(1, count):
        least = min(least, size_of(start, batch))
    return least


@kernel
def number_members(order, start, count, batch_of):
    """Fill ``batch_of`` (arms,) with the batch of every member of ``count`` batches."""
    for batch in range(count):
        for place in range(start[batch], start[batch + 1]):
            batch_of[order[place]] = batch


@kernel
def count_win(wins, trails, won, lost, winner, loser):
    """Count a duel in ``wins`` (arms, arms), how often the first arm has beaten the second, and in what follows of it.

    ``trails``, ``won`` and ``lost`` (arms,) are how many other arms the arm trails in their duels, and its duels won
    and lost: to find them in a large table at each record would take longer than the rounds between.
    """
    lead = wins[winner, loser] - wins[loser, winner]
    wins[winner, loser] += 1
    trails[winner] -= lead == -1
    trails[loser] += lead == 0
    won[winner] += 1
    lost[loser] += 1


@kernel
def least_beaten(order, remaining, trails, won, lost):
    """Of the first ``remaining`` arms of ``order`` the one that trails the fewest of all arms in their duels.

    The last three are as in ``count_win``. Of several arms it is the one with the largest share of duels won, and then
    the first.
    """
    first, fewest, best = order[0], order.shape[0], -1.0
    for place in range(remaining):
        arm = order[place]
        if trails[arm] <= fewest:
            share = share_won(won[arm], lost[arm])
            if trails[arm] < fewest or share > best:
                first, fewest, best = arm, trails[arm], share
    return first


@kernel
def share_won(won, lost):
    """The share of duels won; 1/2 without duels."""
    return won / (won + lost) if won + lost > 0 else 0.5


@kernel
def log_of_sum(t, constant, log_constant):
    """ln(t + C), where C may be infinite, that is, more than a float can be."""
    return math.log(t + constant) if constant < math.inf else log_constant


@kernel
def beaten(won, lost, budget, prior):
    """Whether an arm's upper bound is below 1/2 against an arm that lost ``won`` duels to it and won ``lost``.

    The bound is (prior / 2 + won) / n + sqrt(budget / n) with n = prior + won + lost; ``budget`` is alpha ln(t + C). It
    takes neither a division nor a root.
    """
    lead = np.float64(lost - won)
    return lead > 0.0 and lead * lead > 4.0 * budget * (prior + won + lost)


@kernel
def some_arm_beats(order, start, wins, batch, arm, budget, prior):
    """Whether another arm of the batch has beaten this one with confidence; ``wins`` as in ``count_win``."""
    for place in range(start[batch], start[batch + 1]):
        other = order[place]
        if other != arm and beaten(wins[arm, other], wins[other, arm], budget, prior):
            return True
    return False
