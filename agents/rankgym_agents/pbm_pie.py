"""PBM-PIE (Lagree, Vernade and Cappe, "Multiple-play bandits in the position-based model", NIPS 2016).

From memory of the paper: no full text was at hand, so steps are named, not numbered.

The examination probability kappa(l) of each position l is known. With S(k, l) the clicks on item k among the N(k, l)
rounds in which it was displayed at position l, S(k) their sum, and N~(k) the sum of kappa(l) N(k, l) over l, the
attraction's unbiased estimate is S(k) / N~(k).

The first L rounds display cyclic lists: position l = 0, 1, ... of round t shows item (t - 1 + l) mod L. After them the
leaders, the K items of the largest estimates, are displayed, the best at the position with the largest examination, and
so on. The others whose upper confidence bound is at least the K-th leader's estimate may be better: if there are any,
with probability 1/2 one of them, drawn uniformly, takes the K-th leader's place. The bound is

    U(k) = max{q : sum over l of N(k, l) kl(S(k, l) / N(k, l), kappa(l) q) <= (1 + epsilon) log t},

with q in [0, 1] from the sum's minimiser on. The bound itself is not needed: it is at least q if q is not above the
minimiser, or if the sum at q is within the level. The default is epsilon = 0.

Where the paper is silent: an item that was never displayed, as somebody else chose the lists, has the estimate
infinity. An estimate may be above 1; no bound is then as large as the K-th leader's. Ties are broken at random. Equal
kappas leave their positions in their order.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Beliefs, KernelAgent, number_in, plain
from rankgym.kernels import (
    bits,
    borrowed,
    give_back,
    kernel,
    logarithm,
    select_top,
    session_seed,
    uniform,
    uniform_below,
)


class State(NamedTuple):
    """What PBM-PIE remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    factor: NDArray[np.float64]  # (rows,): 1 + epsilon
    examination: NDArray[np.float64]  # (rows, positions): kappa
    best_first: NDArray[np.int64]  # (rows, positions): the positions by falling kappa
    clicked: NDArray[np.int64]  # (rows, items, positions): S
    displays: NDArray[np.int64]  # (rows, items, positions): N
    clicks: NDArray[np.int64]  # (rows, items): clicks at all positions
    examined: NDArray[np.float64]  # (rows, items): N~, the expected number of rounds in which it was examined
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list of leaders first


@kernel
def rank(s, displayed):
    """A cyclic list, or the leaders, the last of whom may make room. Coins: L for whether, L + 1 for whom."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    estimates, rivals = borrowed(num_items, np.float64), borrowed(num_items, np.bool_)
    for row in range(rows):
        if s.round[row] < num_items:
            for k in range(positions):
                displayed[row, k] = (s.round[row] + k) % num_items
            continue
        seed = session_seed(s.key[row], s.round[row])
        for item in range(num_items):
            estimates[item] = estimate(s.clicks[row, item], s.examined[row, item])
        select_top(s.order, estimates, row, positions, seed)
        for k in range(positions):
            displayed[row, s.best_first[row, k]] = s.order[row, k]
        if uniform(bits(seed, num_items)) < 0.5:
            count = find_rivals(s, row, positions, estimates, rivals)
            if count > 0:
                number = uniform_below(bits(seed, num_items + 1), count)
                displayed[row, s.best_first[row, positions - 1]] = member(rivals, number)
    give_back(rivals)
    give_back(estimates)


@kernel
def find_rivals(s, row, positions, estimates, rivals):
    """Mark the items that are not leaders and may be better than the K-th leader; return how many they are."""
    q = estimates[s.order[row, positions - 1]]
    level, count = s.factor[row] * math.log(s.round[row] + 1), 0
    rivals[:] = False
    for place in range(positions, s.order.shape[1]):
        item = s.order[row, place]
        rivals[item] = bound_reaches(q, s.clicked[row, item], s.displays[row, item], s.examination[row], level)
        count += rivals[item]
    return count


@kernel
def member(marks, number):
    """The place of mark ``number``, from 0, in ``marks``."""
    for place in range(marks.shape[0]):
        number -= marks[place]
        if number < 0:
            return place
    return -1  # not reached


@kernel
def bound_reaches(q, clicked, displays, kappa, level):
    """Whether an item's upper confidence bound is at least ``q`` >= 0, by its statistics (positions,)."""
    if q > 1.0:
        return False
    clicks, slope = 0, 0.0
    for k in range(kappa.shape[0]):
        clicks += clicked[k]
        passed = displays[k] - clicked[k]
        if passed > 0:  # infinite where q and kappa are 1
            slope += passed * kappa[k] * q / (1.0 - kappa[k] * q)
    if slope <= clicks:  # the sum does not rise at q
        return True
    total = 0.0
    for k in range(kappa.shape[0]):
        if displays[k] > 0:
            total += divergence(clicked[k], displays[k], kappa[k] * q)
            if total > level:
                return False
    return True


@kernel
def divergence(clicked, displays, q):
    """N kl(S / N, ``q``) for S = ``clicked``, N = ``displays`` > 0 and ``q`` > 0; infinite where q is 1 and S < N."""
    passed = displays - clicked
    if passed > 0 and q >= 1.0:
        return math.inf
    sum = 0.0
    if clicked > 0:
        sum = clicked * logarithm(clicked / (displays * q))
    if passed > 0:
        sum += passed * logarithm(passed / (displays * (1.0 - q)))
    return sum


@kernel
def learn(s, displayed, clicks):
    """Update S, N and N~ of the displayed items."""
    rows, positions = displayed.shape
    for row in range(rows):
        for k in range(positions):
            item = displayed[row, k]
            s.clicked[row, item, k] += clicks[row, k]
            s.displays[row, item, k] += 1
            s.clicks[row, item] += clicks[row, k]
            s.examined[row, item] += s.examination[row, k]
        s.round[row] += 1


@kernel
def estimate(clicks, examined):
    """S / N~, infinite where the item was never displayed."""
    return clicks / examined if examined > 0.0 else math.inf


class PBMPIE(KernelAgent):
    """PBM-PIE: the items of the largest estimates, and in their last place some that may be better.

    Args:
        examination: probability in (0, 1] that position k is examined: (num_positions,), or (num_envs, num_positions)
            for one a row. Default: 1 / k for k = 1, 2, ..., a common guess; the paper's guarantee needs the truth.
        epsilon: the bounds' level is (1 + epsilon) log t; a number in [0, 1000].
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Lagree, Vernade and Cappe, NIPS 2016.

    Examples:
        >>> from rankgym_agents import PBMPIE
        >>> agent = PBMPIE(num_items=3, num_positions=2, examination=[1.0, 0.5], seed=0)
        >>> for clicks in ([1, 0], [0, 1], [0, 0]):  # the first rounds show each item once at each position
        ...     displayed = agent.act()
        ...     agent.update(displayed, [clicks])
        ...     print(displayed.tolist(), [round(estimate, 2) for estimate in agent.beliefs().scores["estimate"]])
        [[0, 1]] [1.0, 0.0, inf]
        [[1, 2]] [1.0, 0.0, 2.0]
        [[2, 0]] [0.67, 0.0, 0.67]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, examination: ArrayLike | None = None, epsilon: float = 0.0, **shape: Any) -> None:
        super().__init__(**shape)
        items, kappa = self.num_items, self.checked_examination(examination)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, factor=1.0 + number_in("epsilon", epsilon, 0, 1000)),
            examination=kappa,
            best_first=np.argsort(-kappa, axis=1, kind="stable"),
            **self.filled(items, self.num_positions, clicked=0, displays=0),
            **self.filled(items, clicks=0, examined=0.0, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The estimates of attraction; infinite for items that were never displayed."""
        s = self.state
        found = [estimate(*one) for one in zip(s.clicks[row], s.examined[row], strict=True)]
        return Beliefs(scores={"estimate": plain(found)})
