"""UniRank (Gauthier, Gaudel and Fromont, "UniRank: unimodal bandit algorithms for online ranking", ICML 2022).

No full text was at hand: setting and bound are from the abstract, the steps from the authors' code (``uni_rank.py`` of
github.com/abhg86/bandits-to-rank, class ``OSUB_TOP_RANK`` in the version that its experiments call the best). So the
steps are named here, not numbered. All clicks count, and no horizon is needed.

* Statistics. won(i, j) counts the rounds in which items i and j stood in one part of the played partition, i was
  clicked and j was not; n(i, j) = won(i, j) + won(j, i). An item that is not displayed was not clicked.
* Leader. An ordered partition of all items: out of the items that remain, the next part is those that have won at least
  as often as they lost against each of the others. Where there is none, because of a cycle, all that remain are the
  last part. At first all items are one part.
* Index of an item j against an item i that is above it: max{q : n kl(won(j, i) / n, q) <= log c + 3 log log c} with n
  = n(i, j), c being the rounds that the present leader has led; 1 where n = 0 or c < 3.
* Played partition. The leader, or one of its neighbours. P_e is the last of its parts of which something is displayed.
  A neighbour either merges two parts down to P_e; its value is the largest index of an item of the lower part against
  one of the upper part. Or it adds an item from behind P_e to P_e; its value is the item's largest index against one of
  P_e. The neighbour of the largest value is played if that exceeds 1/2, else the leader.
* List. Each part is shuffled; the first K items are displayed.

``clock`` says what the confidence level grows with; "global" and "horizon" are the code's earlier version and its known
horizon. log c + 3 log log c holds for "global", too.

Where this departs from the code, or fills a gap.

* The code compares a part with its neighbour's item of the same number only, in one of its branches; here it is all
  pairs, as in the others.
* The code keeps mean differences as floats, so that exactly balanced pairs are ordered by rounding; counts merge them.
* With a known horizon the code fails on pairs that were never compared; here their index is 1.
* Ties of neighbours: the merge nearest the top, merges before additions, and additions at random, where the code takes
  the lowest number.
* Leaders are told apart by their whole partition. Their rounds are counted in a table of 1,024, which is ample for ten
  items. With many items it may be full: then the leader that has led least is forgotten.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of
from rankgym.kernels import (
    TALLIES,
    bits,
    borrowed,
    draw_item,
    fingerprint,
    give_back,
    kernel,
    kl_upper_bounds,
    session_seed,
    tally_of,
)

LEADER, GLOBAL, HORIZON = range(3)
CLOCKS = {"leader": LEADER, "global": GLOBAL, "horizon": HORIZON}
NO_LEVEL = -1.0  # of a clock below 3: every index is 1


class State(NamedTuple):
    """What UniRank remembers. The leading axis is the row.

    Part d of a partition is ``order[start[d]:start[d + 1]]``; its last part ends at items.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    clock: NDArray[np.int64]  # (rows,): a value of CLOCKS
    log_horizon: NDArray[np.float64]  # (rows,): log T, for HORIZON
    won: NDArray[np.int64]  # (rows, items, items): won(i, j) at [i, j]
    order: NDArray[np.int64]  # (rows, items): the leader's items, part by part, rising within a part
    start: NDArray[np.int64]  # (rows, items + 1): where the leader's parts begin
    part: NDArray[np.int64]  # (rows, items): the item's part of the leader
    played_order: NDArray[np.int64]  # (rows, items): the same of the partition that the next list is drawn from
    played_start: NDArray[np.int64]  # (rows, items + 1)
    names: NDArray[np.uint64]  # (rows, TALLIES): fingerprints of the partitions that have led, by their ``part``
    led: NDArray[np.int64]  # (rows, TALLIES): how many rounds each has led
    place: NDArray[np.int64]  # (rows,): the present leader's place among them


@kernel
def begin(s):
    """Enter the first leader into the tables."""
    for row in range(s.place.shape[0]):
        s.place[row] = tally_of(s.names[row], s.led[row], fingerprint(s.part[row]))


@kernel
def rank(s, displayed):
    """Shuffle each part of the played partition; place p of the list takes the bits numbered p of the round's seed."""
    rows, positions = displayed.shape
    items = borrowed(s.order.shape[1], np.int64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for place in range(items.shape[0]):
            items[place] = s.played_order[row, place]
        d, stop = 0, s.played_start[row, 1]
        for place in range(positions):
            if place == stop:
                d += 1
                stop = s.played_start[row, d + 1]
            displayed[row, place] = draw_item(items, place, stop, seed)
    give_back(items)


@kernel
def learn(s, displayed, clicks):
    """Count who has won; find the leader and count its round; choose the partition to be played next.

    The indices of all rows are computed at once: the compiler makes vectors of them.
    """
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    clicked = borrowed(num_items, np.bool_)
    size = rows * (num_items * (num_items - 1) // 2)  # no pair is compared twice
    mean, level, upper = borrowed(size, np.float64), borrowed(size, np.float64), borrowed(size, np.float64)
    pairs = 0
    for row in range(rows):
        clicked[:] = False
        for k in range(positions):
            clicked[displayed[row, k]] = clicks[row, k] != 0
        if count(s.won[row], s.played_order[row], s.played_start[row], clicked, positions):
            lead(s.won[row], s.order[row], s.start[row], s.part[row])
            s.place[row] = tally_of(s.names[row], s.led[row], fingerprint(s.part[row]))
        s.round[row] += 1
        s.led[row, s.place[row]] += 1
        pairs = compare(s.won[row], s.order[row], s.start[row], positions, budget_of(s, row), mean, level, pairs)
    kl_upper_bounds(mean[:pairs], level[:pairs], upper[:pairs])
    pair = 0
    for row in range(rows):
        pair = choose(s, row, positions, upper, pair)
    give_back(upper)
    give_back(level)
    give_back(mean)
    give_back(clicked)


@kernel
def count(won, order, start, clicked, positions):
    """Count the pairs in a displayed part of which one item is ``clicked``; return whether the leader may change.

    It may where a pair becomes, or ceases to be, balanced.
    """
    turned, d = False, 0
    while start[d] < positions:
        for place in range(start[d], start[d + 1]):
            i = order[place]
            if clicked[i]:
                for other in range(start[d], start[d + 1]):
                    j = order[other]
                    won[i, j] += not clicked[j]
                    ahead = won[i, j] - won[j, i]
                    turned |= (not clicked[j]) & ((ahead == 0) | (ahead == 1))
        d += 1
    return turned


@kernel
def lead(won, order, start, part):
    """Write the leader's partition: ``order`` and ``part`` (items,), ``start`` (items + 1,)."""
    num_items = part.shape[0]
    part[:] = num_items  # in no part yet
    placed = d = 0
    while placed < num_items:
        start[d] = placed
        for item in range(num_items):
            if part[item] >= d and not behind(won, part, item, d):
                part[item] = d
                order[placed] = item
                placed += 1
        if placed == start[d]:  # a cycle
            for item in range(num_items):
                if part[item] >= d:
                    part[item] = d
                    order[placed] = item
                    placed += 1
        d += 1
    start[d:] = num_items


@kernel
def behind(won, part, item, d):
    """Whether ``item`` has lost more often than won against an item that was in no part before part d."""
    for other in range(part.shape[0]):  # noqa: SIM110  numba compiles no generators
        if won[item, other] < won[other, item] and part[other] >= d:
            return True
    return False


@kernel
def compare(won, order, start, positions, budget, mean, level, pairs):
    """Append the pairs whose indices decide what is played; return the new number of pairs.

    They are those of each two neighbouring parts down to P_e, then those of P_e and all items behind it.
    """
    d = 0
    while start[d + 1] < positions:
        pairs = append(won, order, start[d], start[d + 1], start[d + 2], budget, mean, level, pairs)
        d += 1
    return append(won, order, start[d], start[d + 1], order.shape[0], budget, mean, level, pairs)


@kernel
def append(won, order, first, stop, end, budget, mean, level, pairs):
    """Append each pair of an item j at ``stop`` to ``end`` and an item i at ``first`` to ``stop``, j by j.

    Its mean is the share that j has won, and its level kl's limit.
    """
    for lower in range(stop, end):
        j = order[lower]
        for upper in range(first, stop):
            i = order[upper]
            n = won[i, j] + won[j, i]
            optimistic = (n == 0) | (budget == NO_LEVEL)
            mean[pairs] = 1.0 if optimistic else won[j, i] / n
            level[pairs] = 0.0 if optimistic else budget / n
            pairs += 1
    return pairs


@kernel
def choose(s, row, positions, upper, pair):
    """Write the partition to play next. The row's indices are ``upper[pair:]``; return where the next row's are."""
    order, start, num_items = s.order[row], s.start[row], s.order.shape[1]
    played, bounds = s.played_order[row], s.played_start[row]
    for place in range(num_items):
        played[place], bounds[place] = order[place], start[place]
    best, merged, last = 0.5, -1, 0
    while start[last + 1] < positions:  # to P_e
        value = 0.0
        for _ in range((start[last + 1] - start[last]) * (start[last + 2] - start[last + 1])):
            value = max(value, upper[pair])
            pair += 1
        if value > best:
            best, merged = value, last
        last += 1
    first, stop, added = start[last], start[last + 1], -1
    seed = session_seed(s.key[row], s.round[row])
    for place in range(stop, num_items):
        value = 0.0
        for _ in range(first, stop):
            value = max(value, upper[pair])
            pair += 1
        if value >= best:
            tie = value == best
            if not tie or (added >= 0 and word(seed, order, place) > word(seed, order, added)):
                best, added = value, place
    if added >= 0:
        add(played, bounds, last, added)
    elif merged >= 0:
        merge(bounds, merged)
    return pair


@kernel
def word(seed, order, place):
    """The bits that decide between the item at ``place`` and another one; those of places are numbered from 0."""
    return bits(seed, order.shape[0] + order[place])


@kernel
def merge(start, d):
    """Make one part of d and d + 1; ``start`` (items + 1,)."""
    for later in range(d + 1, start.shape[0] - 1):
        start[later] = start[later + 1]


@kernel
def add(order, start, d, place):
    """Let the item at ``place``, which stands behind part d, join it; what is behind becomes one part."""
    item, stop = order[place], start[d + 1]
    order[place], order[stop] = order[stop], item
    start[d + 1] = stop + 1
    for later in range(d + 2, start.shape[0]):
        start[later] = order.shape[0]


@kernel
def budget_of(s, row):
    """The confidence level times the number of comparisons: log c + 3 log log c, or log T; NO_LEVEL where c < 3."""
    if s.clock[row] == HORIZON:
        return s.log_horizon[row]
    c = s.led[row, s.place[row]] if s.clock[row] == LEADER else s.round[row]
    if c < 3:
        return NO_LEVEL
    log_c = math.log(c)
    return log_c + 3.0 * math.log(log_c)


class UniRank(KernelAgent):
    """UniRank: plays the order of its pairwise comparisons, or that order with the most promising neighbours mixed.

    Assumes that of two items the better one is clicked more often where both are shuffled, whatever the click model,
    and that no two are equally attractive.

    Args:
        clock: the confidence level is that of the rounds of the present ``"leader"``, of all rounds (``"global"``), or
            of the known ``"horizon"``.
        **shape: as in ``Agent``. ``horizon`` is used by ``clock="horizon"`` only; ``initial_list`` is ignored.

    Raises:
        ValueError: ``clock="horizon"`` without a horizon, or an argument is out of range.

    References:
        Gauthier, Gaudel and Fromont, ICML 2022.

    Examples:
        >>> from rankgym_agents import UniRank
        >>> agent = UniRank(num_items=3, num_positions=3, seed=0)
        >>> agent.update([[0, 1, 2]], [[0, 0, 1]])
        >>> agent.beliefs().blocks  # item 2 has won against both others, which are equal
        ((2,), (0, 1))
        >>> agent.update([[0, 1, 2]], [[0, 1, 1]])
        >>> agent.beliefs().blocks
        ((2,), (1,), (0,))
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    PAIR_BYTES = 8
    state: State

    def __init__(self, *, clock: str = "leader", **shape: Any) -> None:
        super().__init__(**shape)
        items, number = self.num_items, one_of("clock", clock, CLOCKS)
        if number == HORIZON and self.horizon is None:
            raise ValueError("horizon = None and clock = 'horizon'; allowed: a horizon, or another clock")
        start = np.append(0, np.full(items, items))
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, clock=number, log_horizon=math.log(self.horizon or 1)),
            **self.filled(items, items, won=0),
            **self.filled(items, order=np.arange(items)),
            **self.filled(items + 1, start=start),
            **self.filled(items, part=0, played_order=np.arange(items)),
            **self.filled(items + 1, played_start=start),
            **self.filled(TALLIES, names=np.uint64(0), led=0),
            **self.filled(place=0),
        )
        begin(self.state)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The leader's parts. Items of one part are shuffled; the first part is displayed first."""
        order, start = self.state.order[row].tolist(), self.state.start[row].tolist()
        return Beliefs(blocks=tuple(tuple(order[a:b]) for a, b in itertools.pairwise(start) if a < b))
