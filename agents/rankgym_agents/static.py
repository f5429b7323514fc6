"""The production ranker: always shows its initial list and learns nothing. The baseline of all re-rankers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import KernelAgent
from rankgym.kernels import kernel

__all__ = ["State", "StaticRanker", "learn", "rank"]


class State(NamedTuple):
    """The production ranker's state. The leading axis is the row."""

    initial_list: NDArray[np.int64]  # (rows, items): R_0, best first


@kernel
def rank(s, displayed):
    """Show the first positions of the initial list."""
    displayed[:] = s.initial_list[:, : displayed.shape[1]]


@kernel
def learn(s, displayed, clicks):
    """Learn nothing."""


class StaticRanker(KernelAgent):
    """Shows the first ``num_positions`` items of ``initial_list`` in every round; arguments as in ``Agent``."""

    rank, learn = staticmethod(rank), staticmethod(learn)

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        self.state = State(self.initial_list.copy())

    def settled(self) -> NDArray[np.bool_]:
        return np.ones(self.num_envs, np.bool_)
