"""GRAB (Gauthier, Gaudel, Fromont and Lompo, "Parametric graph for unimodal ranking bandit", ICML 2021).

No full text was at hand: setting and logarithmic regret are from the abstract, the steps from the authors' codes
(github.com/gaudel/ranking_bandits, that of the paper, and github.com/abhg86/bandits-to-rank); the bound O(L / Delta
log T) is from memory. The steps are named here, not numbered. The model is the position-based one; neither examination
probabilities nor the order of positions by them need be known.

* Statistics. N(i, k) is how often item i was displayed at position k, S(i, k) how often it was clicked there, and rho =
  S / N, or 0 where N = 0.
* Leader. The list of the largest sum of rho: an assignment of K items to K positions. Found anew each round.
* Index of item i at position k: B = max{q : N kl(rho, q) <= log c + 3 log log c}, c being the rounds that the present
  leader has led; 1 where N = 0 or c < 3. ``clock="horizon"`` has log T there, as the paper's code.
* List. Every gamma-th round of a leader, its first one included, displays it. Otherwise let its positions be ordered by
  falling rho. The leader's neighbours exchange the items of two positions that follow each other in this order, or
  replace the item at the last one by an item that the leader does not display. The neighbour with the largest gain of
  the sum of B over the leader's is displayed, or the leader itself if no gain is positive; the first of several.

Where this departs from the codes, or fills a gap.

* Ties. Each pair of item and position has a random number below 1e-9, the same in all rounds, which is added to its
  rho. So the first leader is a random list. The codes prefer low numbers, which helps where items are numbered by
  attraction. These numbers also decide between two items with the same gain.
* A leader's rounds are counted in a table of 1,024, ample for ten items. With many items it may be full: then the
  leader that has led least is forgotten.

The assignment is found by shortest augmenting paths (Jonker and Volgenant, Computing 38, 1987). Items that the leader
does not display are assigned to further positions, where every item has the value 0. Two numbers prove an assignment
the best one: price[k] + worth[i] is at least the value of item i at position k for all k and i, and equal to it for the
items assigned. A round changes one value of each position. Often the items' worths still prove the leader, and no path
is looked for; otherwise there is one for each position whose item is no longer the best one at these worths.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain, whole_number
from rankgym.kernels import (
    TALLIES,
    bits,
    borrowed,
    fingerprint,
    give_back,
    kernel,
    kl_upper_bounds,
    session_seed,
    tally_of,
    uniform,
)

CLOCKS = {"leader": False, "horizon": True}
TIE = 1e-9
NOBODY = -1
UNTOLD = -1.0


class State(NamedTuple):
    """What GRAB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    log_horizon: NDArray[np.float64]  # (rows,): log T, or UNTOLD for the leader's clock
    gamma: NDArray[np.int64]  # (rows,): gamma
    forced: NDArray[np.int64]  # (rows,): the number of first rounds with cyclic lists
    displays: NDArray[np.int64]  # (rows, positions, items): N
    clicked: NDArray[np.int64]  # (rows, positions, items): S
    value: NDArray[np.float64]  # (rows, positions, items): rho, and the number that decides ties
    worth: NDArray[np.float64]  # (rows, items): what proves the leader; 0 for items that it does not display
    leader: NDArray[np.int64]  # (rows, positions): the leader
    names: NDArray[np.uint64]  # (rows, TALLIES): fingerprints of the lists that have led
    led: NDArray[np.int64]  # (rows, TALLIES): how many rounds each has led
    place: NDArray[np.int64]  # (rows,): the present leader's place among them


@kernel
def rank(s, displayed):
    """The leader or a neighbour. The indices of all rows are computed at once: the compiler makes vectors of them."""
    rows, positions = displayed.shape
    num_items = s.value.shape[2]
    size = rows * (2 * positions + num_items)  # more than the indices
    order, hidden = borrowed(rows * positions, np.int64), borrowed(rows * num_items, np.int64)
    mean, level, upper = borrowed(size, np.float64), borrowed(size, np.float64), borrowed(size, np.float64)
    pairs = 0
    for row in range(rows):
        for k in range(positions):
            displayed[row, k] = s.leader[row, k]
        if s.round[row] < s.forced[row]:
            for k in range(positions):
                displayed[row, k] = (s.round[row] + k) % num_items
        elif explores(s, row):
            places, others = order[row * positions :], hidden[row * num_items :]
            by_value(s.value[row], s.leader[row], places)
            find_hidden(s.leader[row], others, num_items)
            pairs = append(s, row, places, others, mean, level, pairs)
    kl_upper_bounds(mean[:pairs], level[:pairs], upper[:pairs])
    pair = 0
    for row in range(rows):
        if s.round[row] >= s.forced[row] and explores(s, row):
            move(s.value[row], displayed[row], order[row * positions :], hidden[row * num_items :], upper[pair:])
            pair += 2 * positions + num_items - 2
    give_back(upper)
    give_back(level)
    give_back(mean)
    give_back(hidden)
    give_back(order)


@kernel
def explores(s, row):
    """Whether it is not the leader's turn. Where c < 3 all indices are 1, so no neighbour gains anything."""
    c = s.led[row, s.place[row]]
    return c % s.gamma[row] != 0 and (c >= 3 or s.log_horizon[row] >= 0.0)


@kernel
def by_value(value, leader, places):
    """Fill ``places`` with the positions by falling ``value`` (positions, items) of the leader's item there."""
    for k in range(leader.shape[0]):
        place = k
        while place > 0 and value[places[place - 1], leader[places[place - 1]]] < value[k, leader[k]]:
            places[place] = places[place - 1]
            place -= 1
        places[place] = k


@kernel
def find_hidden(leader, others, num_items):
    """Fill ``others`` with the items that the leader does not display, in rising order."""
    for item in range(num_items):
        others[item] = item
    for k in range(leader.shape[0]):
        others[leader[k]] = NOBODY
    found = 0
    for item in range(num_items):
        if others[item] != NOBODY:
            others[found] = item
            found += 1


@kernel
def append(s, row, places, others, mean, level, pairs):
    """Append the cells whose indices decide; return the new number.

    They are the leader's at ``places``, each place's with the next place's item and the next one's with its own, and
    those of the ``others`` at the last place.
    """
    budget, leader = s.log_horizon[row], s.leader[row]
    if budget < 0.0:
        log_c = math.log(s.led[row, s.place[row]])
        budget = log_c + 3.0 * math.log(log_c)
    positions, last = leader.shape[0], places[leader.shape[0] - 1]
    for m in range(positions):
        pairs = append_cell(s, row, places[m], leader[places[m]], budget, mean, level, pairs)
    for m in range(positions - 1):
        pairs = append_cell(s, row, places[m], leader[places[m + 1]], budget, mean, level, pairs)
        pairs = append_cell(s, row, places[m + 1], leader[places[m]], budget, mean, level, pairs)
    for number in range(s.value.shape[2] - positions):
        pairs = append_cell(s, row, last, others[number], budget, mean, level, pairs)
    return pairs


@kernel
def append_cell(s, row, k, item, budget, mean, level, pairs):
    """Append rho and kl's limit, f / N; 1 and 0 where N = 0."""
    n = s.displays[row, k, item]
    mean[pairs] = s.clicked[row, k, item] / n if n > 0 else 1.0
    level[pairs] = budget / n if n > 0 else 0.0
    return pairs + 1


@kernel
def move(value, displayed, places, others, upper):
    """Change the leader, which is in ``displayed`` (positions,), into the neighbour that gains most by ``upper``."""
    positions, num_items = value.shape
    most, swap, item = 0.0, NOBODY, NOBODY
    for m in range(positions - 1):
        place = positions + 2 * m
        gain = (upper[place] - upper[m]) + (upper[place + 1] - upper[m + 1])
        if gain > most:
            most, swap = gain, m
    last, first = places[positions - 1], 3 * positions - 2
    for number in range(num_items - positions):
        gain, other = upper[first + number] - upper[positions - 1], others[number]
        if gain > most or (gain == most and item != NOBODY and value[last, other] > value[last, item]):
            most, item = gain, other
    if item != NOBODY:
        displayed[last] = item
    elif swap != NOBODY:
        one, other = places[swap], places[swap + 1]
        displayed[one], displayed[other] = displayed[other], displayed[one]


@kernel
def learn(s, displayed, clicks):
    """Count the leader's round, displays and clicks; find the leader."""
    rows, positions = displayed.shape
    num_items = s.value.shape[2]
    floats, places = borrowed(2 * num_items, np.float64), borrowed(4 * num_items, np.int64)
    for row in range(rows):
        s.round[row] += 1
        s.led[row, s.place[row]] += 1
        for k in range(positions):
            item = displayed[row, k]
            s.displays[row, k, item] += 1
            s.clicked[row, k, item] += clicks[row, k]
            s.value[row, k, item] = s.clicked[row, k, item] / s.displays[row, k, item] + tie(s, row, k, item)
        if assign(s.value[row], s.worth[row], s.leader[row], floats, places):
            s.place[row] = tally_of(s.names[row], s.led[row], fingerprint(s.leader[row]))
    give_back(places)
    give_back(floats)


@kernel
def tie(s, row, k, item):
    """The number that decides ties: the bits of a round's seed that are numbered by position and item."""
    return TIE * uniform(bits(session_seed(s.key[row], 0), k * s.value.shape[2] + item))


@kernel
def begin(s):
    """Write the ties and the first leader."""
    rows, positions, num_items = s.value.shape
    floats, places = borrowed(2 * num_items, np.float64), borrowed(4 * num_items, np.int64)
    for row in range(rows):
        for k in range(positions):
            s.leader[row, k] = k
            for item in range(num_items):
                s.value[row, k, item] = tie(s, row, k, item)
        assign(s.value[row], s.worth[row], s.leader[row], floats, places)
        s.place[row] = tally_of(s.names[row], s.led[row], fingerprint(s.leader[row]))
    give_back(places)
    give_back(floats)


@kernel
def assign(value, worth, leader, floats, places):
    """Make ``leader`` (positions,) the assignment of the largest sum of ``value`` (positions, items).

    ``leader`` and ``worth`` (items,) are an earlier assignment and what proved it, or any list and zeros. ``floats`` (2
    items,) and ``places`` (4 items,) are overwritten. Returns whether the leader has changed.
    """
    positions, num_items = value.shape
    price, slack, owner = floats[:num_items], floats[num_items:], places[:num_items]
    lost = places[3 * num_items :]
    find_owners(leader, owner)
    price[:] = 0.0
    losses = 0
    for k in range(positions):
        price[k] = value[k, leader[k]] - worth[leader[k]]
        better = 0
        for item in range(num_items):
            better += value[k, item] - worth[item] > price[k]
        if better > 0:
            owner[leader[k]] = NOBODY
            lost[losses] = k
            losses += 1
    for number in range(losses):
        k = lost[number]
        for item in range(num_items):
            price[k] = max(price[k], value[k, item] - worth[item])
        take(value, k, price, worth, slack, owner, places[num_items : 2 * num_items], places[2 * num_items :])
    if losses == 0:
        return False
    changed, least = False, math.inf
    for item in range(num_items):
        least = min(least, worth[item])  # that of all items that are not displayed
    for item in range(num_items):
        worth[item] = worth[item] - least if owner[item] < positions else 0.0
        if owner[item] < positions:
            changed |= leader[owner[item]] != item
            leader[owner[item]] = item
    return changed


@kernel
def find_owners(leader, owner):
    """Fill ``owner`` (items,) with each item's position in ``leader``, and with further ones for the other items."""
    owner[:] = NOBODY
    for k in range(leader.shape[0]):
        owner[leader[k]] = k
    further = leader.shape[0]
    for item in range(owner.shape[0]):
        if owner[item] == NOBODY:
            owner[item] = further
            further += 1


@kernel
def take(value, k, price, worth, slack, owner, before, reached):
    """Give position k an item: along the path of the least loss, by Dijkstra's algorithm, to an item that is free.

    The positions on the path give their items up for the next one. ``slack``, ``before`` and ``reached`` (items,) are
    overwritten.
    """
    positions, num_items = value.shape
    slack[:], before[:], reached[:num_items] = math.inf, NOBODY, 0
    position, item = k, NOBODY
    while position != NOBODY:
        nearest, least = NOBODY, math.inf
        for i in range(num_items):
            if reached[i] == 0:
                cost = price[position] + worth[i] - (value[position, i] if position < positions else 0.0)
                if cost < slack[i]:
                    slack[i], before[i] = cost, item
                if slack[i] < least:
                    nearest, least = i, slack[i]
        price[k] -= least
        for i in range(num_items):
            if reached[i] != 0:
                price[owner[i]] -= least
                worth[i] += least
            else:
                slack[i] -= least
        item = nearest
        reached[item] = 1
        position = owner[item]
    while before[item] != NOBODY:
        owner[item] = owner[before[item]]
        item = before[item]
    owner[item] = k


class GRAB(KernelAgent):
    """GRAB: the best assignment of items to positions so far, and its neighbours.

    Assumes the position-based model. Examination may be unknown and need not fall from the top of the list.

    Args:
        gamma: a leader is displayed in every gamma-th of its rounds at least: 1 or more. Default: L - 1.
        clock: the confidence level is that of the rounds of the present ``"leader"``, or of the known ``"horizon"``.
        forced_initiation: whether the first L rounds display each item once at each position.
        **shape: as in ``Agent``. ``horizon`` is used by ``clock="horizon"`` only; ``initial_list`` is ignored.

    Raises:
        ValueError: ``clock="horizon"`` without a horizon, or an argument is out of range.

    References:
        Gauthier, Gaudel, Fromont and Lompo, ICML 2021.

    Examples:
        >>> from rankgym_agents import GRAB
        >>> agent = GRAB(num_items=3, num_positions=2, seed=0)
        >>> agent.update([[0, 1]], [[0, 0]])
        >>> agent.update([[2, 1]], [[0, 1]])
        >>> beliefs = agent.beliefs()
        >>> beliefs.base_list[:2], beliefs.scores["share of clicks at position 2"]  # the leader, and what it rests on
        ((2, 1), (0.0, 0.5, 0.0))
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(
        self, *, gamma: int | None = None, clock: str = "leader", forced_initiation: bool = False, **shape: Any
    ) -> None:
        super().__init__(**shape)
        items, positions = self.num_items, self.num_positions
        told = one_of("clock", clock, CLOCKS)
        if told and self.horizon is None:
            raise ValueError("horizon = None and clock = 'horizon'; allowed: a horizon, or another clock")
        if not isinstance(forced_initiation, (bool, np.bool_)):
            raise ValueError(f"forced_initiation = {forced_initiation!r} is out of range; allowed: True or False")
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                log_horizon=math.log(self.horizon or 1) if told else UNTOLD,
                gamma=max(1, items - 1) if gamma is None else min(whole_number("gamma", gamma, 1), 2**62),
                forced=items if forced_initiation else 0,
            ),
            **self.filled(positions, items, displays=0, clicked=0, value=0.0),
            **self.filled(items, worth=0.0),
            **self.filled(positions, leader=0),
            **self.filled(TALLIES, names=np.uint64(0), led=0),
            **self.filled(place=0),
        )
        begin(self.state)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The leader, followed by the other items by number, and each item's share of clicks at each position."""
        s = self.state
        leader = plain(s.leader[row])
        shares = s.clicked[row] / np.maximum(1, s.displays[row])
        return Beliefs(
            base_list=(*leader, *(item for item in range(self.num_items) if item not in leader)),
            scores={f"share of clicks at position {k + 1}": plain(share) for k, share in enumerate(shares)},
        )
