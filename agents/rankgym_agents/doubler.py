"""Doubler (Ailon, Karnin and Joachims, "Reducing dueling bandits to cardinal bandits", ICML 2014), the first of their
three reductions; comments name the steps of its listing.

Epoch i, from 1, has 2^i rounds. An ordinary bandit algorithm, a singleton bandit machine, starts anew in each epoch and
chooses the right arms and learns whether they have won. The left arms are drawn from the multiset of the right arms of
the epoch before, so that the machine faces a fixed opponent and has ordinary rewards. In the first epoch the left arm
is a single one; where the paper takes any, ours is random.

The paper takes any bandit algorithm; ours is UCB, the arm of the largest mean + sqrt(alpha ln t / n), t being the round
of the epoch, from 1, and n the number of times that the arm was played in it. An arm not yet played in this epoch has
the index infinity, and ties are broken at random. alpha = 0.51 is what the authors of RUCB use for such an index.

The paper assumes that preferences come from utilities. Without them an epoch finds the best answer to the arms of the
epoch before, and on a cycle the best answers run round it from epoch to epoch. On the matrix Cyclic one run in five
finds the winner, and the mean regret grows faster than that of random duels in the long run.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import (
    bits,
    borrowed,
    give_back,
    kernel,
    largest_upper_bound,
    place_of_largest,
    session_seed,
    uniform,
    uniform_below,
)


class State(NamedTuple):
    """What Doubler remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): of the index
    length: NDArray[np.int64]  # (rows,): rounds of this epoch, 2^i
    spent: NDArray[np.int64]  # (rows,): rounds of this epoch learned from; the paper's j is one more
    total: NDArray[np.int64]  # (rows,): size of the multiset L: 1, then the rounds of the epoch before
    pool: NDArray[np.int64]  # (rows, arms): how often L has the arm
    played: NDArray[np.int64]  # (rows, arms): how often the machine has played the arm in this epoch
    won: NDArray[np.int64]  # (rows, arms): how often the arm won then


@kernel
def begin(s):
    """The first L, a single arm, with the bits numbered K + 1 of the first round."""
    arms = s.played.shape[1]
    for row in range(s.key.shape[0]):
        s.pool[row, uniform_below(bits(session_seed(s.key[row], 0), arms + 1), arms)] = 1


@kernel
def choose(s, left, right):
    """x_t from L with the bits numbered K, y_t from the machine; ties take the bits numbered by the arms."""
    arms = s.played.shape[1]
    upper = borrowed(arms, np.float64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        left[row] = member(s.pool[row], np.int64(uniform(bits(seed, arms)) * s.total[row]))
        budget = s.alpha[row] * math.log(s.spent[row] + 1)
        right[row] = largest_upper_bound(s.won[row], s.played[row], budget, seed, 0, upper)
    give_back(upper)


@kernel
def learn(s, left, right, left_won):
    """Feed back to the machine whether the right arm has won; at the end of an epoch its arms become L."""
    for row in range(left.shape[0]):
        s.played[row, right[row]] += 1
        if not left_won[row]:
            s.won[row, right[row]] += 1
        s.spent[row] += 1
        if s.spent[row] == s.length[row]:
            for arm in range(s.pool.shape[1]):
                s.pool[row, arm] = s.played[row, arm]
                s.played[row, arm] = s.won[row, arm] = 0  # reset
            s.total[row] = s.length[row]
            s.length[row] *= 2
            s.spent[row] = 0
        s.round[row] += 1


@kernel
def name(s, candidate):
    """The most frequent arm of L; ties take the bits numbered K + 2."""
    arms = s.played.shape[1]
    for row in range(candidate.shape[0]):
        candidate[row] = place_of_largest(s.pool[row], bits(session_seed(s.key[row], s.round[row]), arms + 2))


@kernel
def member(pool, number):
    """The arm with this number, from 0, in the multiset, whose arms are sorted."""
    for arm in range(pool.shape[0]):
        number -= pool[arm]
        if number < 0:
            return arm
    return pool.shape[0] - 1  # unreachable


class Doubler(DuelingKernelAgent):
    """Doubler: a UCB bandit chooses the right arms, against left arms drawn from its choices in the previous epoch.

    ``candidate`` is the most frequent right arm of the last completed epoch.

    Args:
        alpha: exploration of the UCB index, above 0.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Ailon, Karnin and Joachims, ICML 2014, the first reduction.

    Examples:
        >>> from rankgym_agents import Doubler
        >>> agent = Doubler(num_arms=3, seed=0)
        >>> for _ in range(6):  # epochs of 2 and 4 rounds; the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.beliefs().scores["in the pool"], agent.candidate.tolist()  # the right arms of the second epoch
        ((2, 1, 1), [0])
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha), length=2, spent=0, total=1),
            **self.filled(arms, pool=0, played=0, won=0),
        )
        begin(self.state)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how often the pool of left arms has each arm."""
        return Beliefs(champion=int(self.candidate[row]), scores={"in the pool": plain(self.state.pool[row])})
