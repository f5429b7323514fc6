"""MultiSBM (Ailon, Karnin and Joachims, "Reducing dueling bandits to cardinal bandits", ICML 2014), the second of their
three reductions; comments name the steps of its listing.

Every arm x has an ordinary bandit algorithm, a singleton bandit machine, to choose opponents for it. The left arm is
the right arm of the round before (at first, where the paper takes any, a random one), the right arm is what the left
one's machine chooses, and this machine learns whether its choice has won. As the machines of all arms come to prefer
the best arm, the left arm becomes it, too.

The paper wants a machine whose rare mistakes are bounded well enough, and has a UCB in mind. Ours is UCB with the
index mean + sqrt(alpha ln t / n), t being the number of times that this machine was asked, from 1, and n how often it
has chosen the arm. An arm that it has not chosen has the index infinity, and ties are broken at random. alpha = 0.51 is
what the authors of RUCB use for such an index.

The paper assumes that preferences come from utilities. Without them the machine of an arm learns the arm that beats
*this* arm most often, which need not be the Condorcet winner: on the matrix Cyclic the left arm goes round the cycle
forever, the winner is hardly ever played, and the regret is a third larger than that of random duels.
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
    uniform_below,
)


class State(NamedTuple):
    """What MultiSBM remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): of the index
    last: NDArray[np.int64]  # (rows,): the last right arm, y_(t - 1)
    asked: NDArray[np.int64]  # (rows, arms): how often the arm's machine was asked
    chosen: NDArray[np.int64]  # (rows, arms): how often the arm was the right one
    played: NDArray[np.int64]  # (rows, arms, arms): how often the machine of x played y
    won: NDArray[np.int64]  # (rows, arms, arms): how often y won then


@kernel
def begin(s):
    """y_0, with the bits numbered K of the first round."""
    arms = s.asked.shape[1]
    for row in range(s.key.shape[0]):
        s.last[row] = uniform_below(bits(session_seed(s.key[row], 0), arms), arms)


@kernel
def choose(s, left, right):
    """x_t = y_(t - 1), y_t from its machine; ties between arms take the bits numbered by the arms."""
    upper = borrowed(s.asked.shape[1], np.float64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        x = s.last[row]
        budget = s.alpha[row] * math.log(s.asked[row, x] + 1)
        left[row], right[row] = x, largest_upper_bound(s.won[row, x], s.played[row, x], budget, seed, 0, upper)
    give_back(upper)


@kernel
def learn(s, left, right, left_won):
    """Feed back to the left arm's machine whether the right arm has won."""
    for row in range(left.shape[0]):
        x, y = left[row], right[row]
        s.asked[row, x] += 1
        s.chosen[row, y] += 1
        s.played[row, x, y] += 1
        if not left_won[row]:
            s.won[row, x, y] += 1
        s.last[row] = y
        s.round[row] += 1


@kernel
def name(s, candidate):
    """The arm that was most often the right one; ties take the bits numbered K + 1."""
    arms = s.asked.shape[1]
    for row in range(candidate.shape[0]):
        candidate[row] = place_of_largest(s.chosen[row], bits(session_seed(s.key[row], s.round[row]), arms + 1))


class MultiSBM(DuelingKernelAgent):
    """MultiSBM: every arm has a UCB bandit that looks for arms that beat it; the last right arm is the next left one.

    ``candidate`` is the most frequent right arm.

    Args:
        alpha: exploration of the UCB index, above 0.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Ailon, Karnin and Joachims, ICML 2014, the second reduction.

    Examples:
        >>> from rankgym_agents import MultiSBM
        >>> agent = MultiSBM(num_arms=3, seed=0)
        >>> for _ in range(3):
        ...     duel = agent.act()
        ...     agent.update(duel, [[0, 1]])
        ...     print(duel["left"].tolist(), duel["right"].tolist())  # a right arm is the next left one
        [0] [2]
        [2] [1]
        [1] [2]
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 16
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha), last=0),
            **self.filled(arms, asked=0, chosen=0),
            **self.filled(arms, arms, played=0, won=0),
        )
        begin(self.state)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how often each arm was the right one."""
        return Beliefs(champion=int(self.candidate[row]), scores={"played right": plain(self.state.chosen[row])})
