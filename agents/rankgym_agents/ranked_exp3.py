"""RankedEXP3: the ranked bandits algorithm (Radlinski, Kleinberg and Joachims, "Learning diverse rankings with
multi-armed bandits", ICML 2008, section 4.2) with Exp3 at each position; comments give the listing's steps.

One bandit per position, with one arm per item. From the top each bandit draws an item; an item already placed above is
replaced by one not placed so far. A bandit is rewarded if its own item was displayed and clicked. The paper takes any
adversarial bandit and suggests Exp3 (Auer, Cesa-Bianchi, Freund and Schapire, SIAM Journal on Computing 32,
2002), here in the form on losses of Bubeck and Cesa-Bianchi ("Regret analysis of stochastic and nonstochastic
multi-armed bandit problems", 2012, section 3.1): arm i is drawn with a probability proportional to exp(-eta S(i)), S(i)
being the sum of (1 - reward) / p(i) over the rounds in which it was drawn. Their Theorem 3.1 has the default eta =
sqrt(2 ln L / (T L)), with which the losses explore by themselves, without a uniform share.

This Exp3 is Algorithm 9 of Lattimore and Szepesvari ("Bandit algorithms", 2020, chapter 11; numbers as in its online
draft), whose lines comments give: line 4 is equation 11.7, line 6 adds equation 11.6, and Theorem 11.2 has the same
eta. The sum of line 6 is the number of rounds less S; what all arms have in common leaves the probabilities as they
are.

How the paper is read. The "arbitrary unselected document" of a repeat is drawn uniformly from the items that are not
placed at that moment. Every bandit learns in every round: one whose item was replaced has reward 0, whatever was
clicked in its place.

One deviation: 1 / p is rounded to a multiple of 2^-16. Exp3 amplifies rounding errors: each draw of an arm multiplies
the error of its S by about 1 + eta / p. Unrounded, the last bits of exp decided after a few hundred rounds which items
were displayed (eta = .3).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, plain, positive
from rankgym.kernels import bits, borrowed, give_back, kernel, session_seed, uniform, uniform_below

MAX_HORIZON = 2**62  # a longer horizon is cut to this: rounds are counted in 64 bits
FLOOR = -600.0  # exponent of the least weight: exp of it, and 1 over that, are still float64 numbers
TO_GRID = 1.5 * 2.0**36  # added and taken away it leaves a number below 2^35 rounded to a multiple of 2^-16


class State(NamedTuple):
    """What RankedEXP3 remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    eta: NDArray[np.float64]  # (rows,): learning rate
    loss: NDArray[np.float64]  # (rows, positions, items): S, the estimated sum of the arm's losses; 0 at first (line 2)
    base: NDArray[np.float64]  # (rows, positions): the loss whose weight is 1
    weight: NDArray[np.float64]  # (rows, positions, items): exp(-eta (loss - base)), at least exp(FLOOR)
    total: NDArray[np.float64]  # (rows, positions): sum of the weights, added from item 0 on; at least 1/2


@kernel
def rank(s, displayed):
    """Draw an item for each position, replace repeats. The draw at position k takes the bits numbered k."""
    rows, positions = displayed.shape
    placed = borrowed(s.loss.shape[2], np.bool_)
    placed[:] = False
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for k in range(positions):
            item = draw(s.weight[row, k], s.total[row, k], bits(seed, k))  # select-arm: lines 4 and 5 of Exp3
            if placed[item]:  # replace repeats
                item = substitute(placed, k, bits(seed, positions + k))
            placed[item] = True
            displayed[row, k] = item
        for k in range(positions):
            placed[displayed[row, k]] = False
    give_back(placed)


@kernel
def learn(s, displayed, clicks):
    """Determine the feedback of each bandit. Its draw is made again: its weights and bits are those of ``rank``."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for k in range(positions):
            arm = draw(s.weight[row, k], s.total[row, k], bits(seed, k))
            if clicks[row, k] == 0 or displayed[row, k] != arm:  # f = 0: line 6; a reward of 1 is a loss of 0
                s.loss[row, k, arm] += (s.total[row, k] / s.weight[row, k, arm] + TO_GRID) - TO_GRID
                reweigh(s.eta[row], s.loss[row, k], s.base[row], s.weight[row, k], s.total[row], k, arm)
        s.round[row] += 1


@kernel
def draw(weight, total, word):
    """An arm with probability ``weight`` / ``total`` from 64 random bits.

    ``total`` must be the sum of ``weight`` (items,) in this order. A number in [0, 1) times it rounds to less than it,
    so the search ends at an arm whose weight counts.
    """
    target, reached = uniform(word) * total, 0.0
    for arm in range(weight.shape[0]):
        reached += weight[arm]
        if target < reached:
            return arm
    return weight.shape[0] - 1


@kernel
def substitute(placed, count, word):
    """A uniform draw from the items not ``placed`` (items,), of which ``count`` are placed."""
    left = uniform_below(word, placed.shape[0] - count)
    for item in range(placed.shape[0]):
        if not placed[item]:
            if left == 0:
                return item
            left -= 1
    return -1


@kernel
def reweigh(eta, loss, base, weight, total, k, arm):
    """Bring bandit k's weights up to date after the loss of ``arm`` has grown.

    Reads ``loss`` (items,); writes ``base`` and ``total`` (positions,) at k and ``weight`` (items,). Once all weights
    are small they are taken anew from the least loss, so no sum vanishes however long the run.
    """
    weight[arm] = math.exp(max(FLOOR, eta * (base[k] - loss[arm])))
    total[k] = added(weight)
    if total[k] < 0.5:
        base[k] = loss[0]
        for i in range(1, loss.shape[0]):
            base[k] = min(base[k], loss[i])
        for i in range(loss.shape[0]):
            weight[i] = math.exp(max(FLOOR, eta * (base[k] - loss[i])))
        total[k] = added(weight)


@kernel
def added(weight):
    """The sum of ``weight`` (items,) from item 0 on."""
    total = 0.0
    for arm in range(weight.shape[0]):
        total += weight[arm]
    return total


class RankedEXP3(KernelAgent):
    """RankedEXP3: one adversarial bandit per position.

    Args:
        eta: learning rate, finite and above 0; default sqrt(2 ln L / (T L)), L being ``num_items`` and T ``horizon``,
            required without it.
        **shape: as in ``Agent``. ``initial_list`` is ignored.

    Raises:
        ValueError: ``eta`` and ``horizon`` are both missing, or an argument is out of range.

    References:
        Radlinski, Kleinberg and Joachims, ICML 2008, section 4.2, with Exp3 at each position.

    Examples:
        >>> from rankgym_agents import RankedEXP3
        >>> agent = RankedEXP3(num_items=3, num_positions=1, eta=0.1, seed=0)
        >>> displayed = agent.act()
        >>> agent.update(displayed, [[0]])  # no click
        >>> displayed.tolist(), [round(p, 2) for p in agent.beliefs().scores["probability at position 1"]]
        ([[0]], [0.27, 0.36, 0.36])
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, eta: float | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        positions, items = self.num_positions, self.num_items
        if eta is None:
            rate = math.sqrt(2 * math.log(items) / (min(self.known_horizon("eta"), MAX_HORIZON) * items))
        else:
            rate = positive("eta", eta)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, eta=rate),
            **self.filled(positions, items, loss=0.0, weight=1.0),
            **self.filled(positions, base=0.0, total=float(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The probabilities with which each position's bandit draws the items, before repeats are replaced."""
        chance = self.state.weight[row] / self.state.total[row][:, None]
        return Beliefs(scores={f"probability at position {k}": plain(p) for k, p in enumerate(chance, start=1)})
