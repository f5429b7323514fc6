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

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import join_batches
        >>> order, start = np.arange(7), np.array([0, 1, 3, 7])  # batches of 1, 2 and 4 arms
        >>> count = join_batches(order, start, 3, 5)
        >>> order.tolist(), start[: count + 1].tolist()  # 1 + 4 arms, and 2
        ([0, 3, 4, 5, 6, 1, 2], [0, 5, 7])
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
    """The number of members of a batch.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import size_of
        >>> int(size_of(np.array([0, 1, 3, 7]), 2))  # batches of 1, 2 and 4 arms
        4
    """
    return start[batch + 1] - start[batch]


@kernel
def leave_batch(order, start, count, batch, member):
    """Move ``member`` from its batch to behind the last of ``count`` batches; the others keep their order.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import leave_batch
        >>> order, start = np.array([4, 0, 1, 2, 3]), np.array([0, 2, 5])  # batches (4, 0) and (1, 2, 3)
        >>> leave_batch(order, start, 2, 0, 4)
        >>> order.tolist(), start.tolist()  # (0,) and (1, 2, 3); arm 4 is out
        ([0, 1, 2, 3, 4], [0, 1, 4])
    """
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
    """The number of members of the smallest of ``count`` batches.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import smallest_size
        >>> int(smallest_size(np.array([0, 4, 7]), 2))  # of batches of 4 and 3 arms
        3
    """
    least = size_of(start, 0)
    for batch in range(1, count):
        least = min(least, size_of(start, batch))
    return least


@kernel
def number_members(order, start, count, batch_of):
    """Fill ``batch_of`` (arms,) with the batch of every member of ``count`` batches.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import number_members
        >>> batch_of = np.empty(4, np.int64)
        >>> number_members(np.array([3, 0, 1, 2]), np.array([0, 1, 4]), 2, batch_of)
        >>> batch_of.tolist()  # arm 3 is alone in batch 0
        [1, 1, 1, 0]
    """
    for batch in range(count):
        for place in range(start[batch], start[batch + 1]):
            batch_of[order[place]] = batch


@kernel
def count_win(wins, trails, won, lost, winner, loser):
    """Count a duel in ``wins`` (arms, arms), how often the first arm has beaten the second, and in what follows of it.

    ``trails``, ``won`` and ``lost`` (arms,) are how many other arms the arm trails in their duels, and its duels won
    and lost: to find them in a large table at each record would take longer than the rounds between.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import count_win
        >>> wins, trails, won, lost = np.zeros((2, 2), np.int64), *np.zeros((3, 2), np.int64)
        >>> count_win(wins, trails, won, lost, 1, 0)  # arm 1 has won
        >>> wins.tolist(), trails.tolist(), won.tolist(), lost.tolist()
        ([[0, 0], [1, 0]], [1, 0], [0, 1], [1, 0])
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

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import least_beaten
        >>> trails, won, lost = np.array([1, 0, 0]), np.array([5, 3, 9]), np.array([6, 2, 1])
        >>> int(least_beaten(np.arange(3), 3, trails, won, lost))  # arms 1 and 2 trail nobody
        2
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
    """The share of duels won; 1/2 without duels.

    Examples:
        >>> from rankgym.kernels import share_won
        >>> share_won(3, 1), share_won(0, 0)
        (0.75, 0.5)
    """
    return won / (won + lost) if won + lost > 0 else 0.5


@kernel
def log_of_sum(t, constant, log_constant):
    """ln(t + C), where C may be infinite, that is, more than a float can be.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import log_of_sum
        >>> round(log_of_sum(1, 9.0, 0.0), 3), log_of_sum(1, np.inf, 1000.0)  # ln 10; and ln C for a C of e^1000
        (2.303, 1000.0)
    """
    return math.log(t + constant) if constant < math.inf else log_constant


@kernel
def beaten(won, lost, budget, prior):
    """Whether an arm's upper bound is below 1/2 against an arm that lost ``won`` duels to it and won ``lost``.

    The bound is (prior / 2 + won) / n + sqrt(budget / n) with n = prior + won + lost; ``budget`` is alpha ln(t + C). It
    takes neither a division nor a root.

    Examples:
        >>> from rankgym.kernels import beaten
        >>> [bool(beaten(won, 4 * won, 1.0, 0.0)) for won in (2, 20)]  # 0.2 + sqrt(1 / 10), and 0.2 + sqrt(1 / 100)
        [False, True]
    """
    lead = np.float64(lost - won)
    return lead > 0.0 and lead * lead > 4.0 * budget * (prior + won + lost)


@kernel
def some_arm_beats(order, start, wins, batch, arm, budget, prior):
    """Whether another arm of the batch has beaten this one with confidence; ``wins`` as in ``count_win``.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import some_arm_beats
        >>> wins = np.array([[0, 80], [20, 0]])
        >>> order, start = np.arange(2), np.array([0, 2])
        >>> [bool(some_arm_beats(order, start, wins, 0, arm, 1.0, 0.0)) for arm in (0, 1)]
        [False, True]
    """
    for place in range(start[batch], start[batch + 1]):
        other = order[place]
        if other != arm and beaten(wins[arm, other], wins[other, arm], budget, prior):
            return True
    return False
