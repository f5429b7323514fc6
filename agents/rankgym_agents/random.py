"""The uniformly random ranker: the other baseline, which every learner must beat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import KernelAgent
from rankgym.kernels import kernel, session_seed, shuffle

__all__ = ["RandomRanker", "State", "learn", "rank"]


class State(NamedTuple):
    """What the random ranker remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    items: NDArray[np.int64]  # (rows, items): 0 .. items - 1, what is shuffled


@kernel
def rank(s, displayed):
    """A uniform draw of ``positions`` out of all items; place p takes the bits numbered p of the round's seed."""
    rows, positions = displayed.shape
    num_items = s.items.shape[1]
    items = np.empty(num_items, np.int64)
    for row in range(rows):
        items[:] = s.items[row]
        shuffle(items, 0, num_items, positions, session_seed(s.key[row], s.round[row]), 0)
        displayed[row] = items[:positions]


@kernel
def learn(s, displayed, clicks):
    """Count the round: the next one has fresh bits."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1


class RandomRanker(KernelAgent):
    """Shows a uniformly random ranking in every round; arguments as in ``Agent``."""

    rank, learn = staticmethod(rank), staticmethod(learn)

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        items = np.tile(np.arange(self.num_items), (self.num_envs, 1))
        self.state = State(self.keys(), np.zeros(self.num_envs, np.int64), items)
