"""Two random arms in every duel: the baseline of the dueling agents, which every learner must beat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import DuelingKernelAgent
from rankgym.kernels import bits, kernel, session_seed, uniform_below

__all__ = ["RandomDuels", "State", "choose", "learn", "name"]


class State(NamedTuple):
    """What RandomDuels remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    wins: NDArray[np.int64]  # (rows, arms)
    duels: NDArray[np.int64]  # (rows, arms): duels of the arm; a duel with itself counts twice


@kernel
def choose(s, left, right):
    """Bits 0 of the round's seed draw the left arm, bits 1 the right one."""
    num_arms = s.wins.shape[1]
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        left[row] = uniform_below(bits(seed, 0), num_arms)
        right[row] = uniform_below(bits(seed, 1), num_arms)


@kernel
def learn(s, left, right, left_won):
    """Count the duel, and the round: the next one has fresh bits."""
    for row in range(left.shape[0]):
        s.round[row] += 1
        s.duels[row, left[row]] += 1
        s.duels[row, right[row]] += 1
        s.wins[row, left[row] if left_won[row] else right[row]] += 1


@kernel
def name(s, candidate):
    """The arm of the largest (wins + 1/2) / (duels + 1): 1/2 without duels. The first of equal ones."""
    for row in range(candidate.shape[0]):
        best, largest = 0, 0.0
        for arm in range(s.wins.shape[1]):
            share = (s.wins[row, arm] + 0.5) / (s.duels[row, arm] + 1.0)
            if share > largest:
                best, largest = arm, share
        candidate[row] = best


class RandomDuels(DuelingKernelAgent):
    """Compares two uniformly random arms, which may be the same; arguments as in ``DuelingAgent``.

    Its ``candidate`` is the arm that has won the largest share of its duels. That estimates the Borda winner, which
    need not be the Condorcet winner.
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        size = (self.num_envs, self.num_arms)
        self.state = State(
            self.keys(), np.zeros(self.num_envs, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
        )
