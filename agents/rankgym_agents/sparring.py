"""Sparring (Ailon, Karnin and Joachims, "Reducing dueling bandits to cardinal bandits", ICML 2014), the third of their
three reductions; comments name the steps of its listing.

Two ordinary bandit algorithms, the paper's singleton bandit machines, play against each other: one chooses the left
arm, the other the right one, and the one whose arm wins has a reward of 1, the other of 0. The paper takes any bandit
algorithm; ours is UCB, the arm of the largest mean + sqrt(alpha ln t / n), t being the current round, from 1, and n the
number of times that the machine has played the arm. An arm that it has not played has the index infinity, and ties are
broken at random. alpha = 0.51 is what the authors of RUCB use for such an index.

The paper proves nothing for Sparring, and mergeRUCB's authors report that it does badly where the best arms have nearly
equal Borda scores: at first each machine meets arms of all kinds, and what wins most often then need not be the
Condorcet winner. On the matrix Cyclic it finds the winner.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import bits, borrowed, give_back, kernel, largest_upper_bound, place_of_largest, session_seed


class State(NamedTuple):
    """What Sparring remembers. The leading axis is the row; the next one, of two, is the machine: left, right."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): of the index
    played: NDArray[np.int64]  # (rows, 2, arms): how often the machine has played the arm
    won: NDArray[np.int64]  # (rows, 2, arms): how often the arm won then


@kernel
def choose(s, left, right):
    """Advance both machines; ties between arms take the bits numbered by the arms, behind them those of the right."""
    arms = s.played.shape[2]
    upper = borrowed(arms, np.float64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        budget = s.alpha[row] * math.log(s.round[row] + 1)
        left[row] = largest_upper_bound(s.won[row, 0], s.played[row, 0], budget, seed, 0, upper)
        right[row] = largest_upper_bound(s.won[row, 1], s.played[row, 1], budget, seed, arms, upper)
    give_back(upper)


@kernel
def learn(s, left, right, left_won):
    """Feed back who has won, to both machines."""
    for row in range(left.shape[0]):
        s.played[row, 0, left[row]] += 1
        s.played[row, 1, right[row]] += 1
        if left_won[row]:
            s.won[row, 0, left[row]] += 1
        else:
            s.won[row, 1, right[row]] += 1
        s.round[row] += 1


@kernel
def name(s, candidate):
    """The arm played most often by both machines together; ties take the bits behind those of the choice."""
    arms = s.played.shape[2]
    played = borrowed(arms, np.int64)
    for row in range(candidate.shape[0]):
        for arm in range(arms):
            played[arm] = s.played[row, 0, arm] + s.played[row, 1, arm]
        candidate[row] = place_of_largest(played, bits(session_seed(s.key[row], s.round[row]), 2 * arms))
    give_back(played)


class Sparring(DuelingKernelAgent):
    """Sparring: two UCB bandits, one for the left arm and one for the right, reward each other's defeats.

    ``candidate`` is the arm that both together have played most often.

    Args:
        alpha: exploration of the UCB index, above 0.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Ailon, Karnin and Joachims, ICML 2014, the third reduction.

    Examples:
        >>> from rankgym_agents import Sparring
        >>> agent = Sparring(num_arms=3, seed=0)
        >>> agent.update({"left": [0], "right": [2]}, [[1, 0]])
        >>> agent.state.played.tolist(), agent.state.won.tolist()  # of the left machine, and of the right one
        ([[[1, 0, 0], [0, 0, 1]]], [[[1, 0, 0], [0, 0, 0]]])
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha)),
            **self.filled(2, arms, played=0, won=0),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how often each machine has played each arm."""
        left, right = self.state.played[row]
        return Beliefs(
            champion=int(self.candidate[row]), scores={"played left": plain(left), "played right": plain(right)}
        )
