"""``SafeLists``: act by rankings, restricted to the base list with neighbours exchanged."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rankgym.kernels import kernel
from rankgym.spaces import BatchedPermutation, Permutation
from rankgym.wrappers.actions.base_list import BaseListLayer, exchange_neighbours
from rankgym.wrappers.layers import SingleLayered

__all__ = ["SafeLists"]


@kernel
def first_unsafe(displayed, base):
    """The index in ``displayed.ravel()`` of the first item that no disjoint exchange of neighbours explains, or -1.

    ``displayed`` (rows, positions), ``base`` (rows, items).
    """
    rows, positions = displayed.shape
    for row in range(rows):
        k = 0
        while k < positions:
            if displayed[row, k] != base[row, k]:
                if k + 1 == base.shape[1] or displayed[row, k] != base[row, k + 1]:
                    return row * positions + k
                if k + 1 < positions and displayed[row, k + 1] != base[row, k]:
                    return row * positions + k + 1
                k += 1
            k += 1
    return -1


class SafePermutation(Permutation):
    """All rankings; ``sample`` draws one that is safe now.

    ``base`` (rows, n) is shared with the layer; samples are for row 0.
    """

    def __init__(self, n: int, k: int, base: NDArray[np.int64]) -> None:
        super().__init__(n, k)
        self.base = base

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """The base list with each pair of displayed neighbours exchanged by a fair coin, from the top.

        Samples never include a hidden item: displaying it moves it to the end of the queue, so that a sample drawn
        before a reset, as in Gymnasium's ``check_env``, would not be safe after it. With ``mask`` or ``probability``
        see ``Permutation.sample``; such a ranking may be unsafe.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return _near(self.base[:1], self.k, self.np_random)[0]


class BatchedSafePermutation(BatchedPermutation):
    """The batch of ``SafePermutation``, with a base list for each row."""

    def __init__(self, n: int, k: int, base: NDArray[np.int64], seed: Any = None) -> None:
        super().__init__(n, k, len(base), seed=seed)
        self.base = base

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """See ``SafePermutation.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return _near(self.base, self.k, self.np_random)


@batch_space.register(SafePermutation)
def _batch_of_lists(space: SafePermutation, n: int = 1) -> BatchedPermutation:
    if len(space.base) != n:  # a batch of singles, each with its own base list
        return batch_space(Permutation(space.n, space.k), n)  # type: ignore[return-value]
    return BatchedSafePermutation(space.n, space.k, space.base, deepcopy(space.np_random))


def _near(base: NDArray[np.int64], positions: int, rng: np.random.Generator) -> NDArray[np.int64]:
    displayed = np.empty((len(base), positions), np.int64)
    exchange_neighbours(base, rng.random((len(base), positions - 1)) < 0.5, displayed)
    return displayed


class SafeListsLayer(BaseListLayer):
    """See ``SafeLists``."""

    name = "SafeLists"

    def _actions(self) -> SafePermutation:
        items, positions = self.setting.num_items, self.setting.num_positions
        self._door = BatchedPermutation(items, positions, self.setting.num_envs)
        return SafePermutation(items, positions, self.base)

    def action(self, actions: Any) -> NDArray[np.int64]:
        displayed = self._door.checked(actions)
        wrong = first_unsafe(displayed, self.base)
        if wrong >= 0:
            row, k = divmod(wrong, self.setting.num_positions)
            raise ValueError(
                f"action[row {row}] = {displayed[row].tolist()} is not safe: item {displayed[row, k]} at place {k}; "
                f"allowed: the base list {self.base[row].tolist()} with neighbours exchanged, no item twice"
            )
        return displayed


class SafeLists(SingleLayered):
    """Act by rankings, but only by those that ``AdjacentSwaps`` can make: for a masked Plackett-Luce policy.

    Actions: the base list with disjoint exchanges of neighbours: no item, hidden ones included, is more than one place
    away from its place in the base list. Any other ranking is refused with a ValueError; the state does not change.
    ``action_space.sample()`` draws allowed rankings without hidden items. Base list, safety, observations and rewards
    are those of ``AdjacentSwaps``.

    Args:
        env, delta: see ``AdjacentSwaps``.
    """

    layer_class = SafeListsLayer

    def __init__(self, env: gym.Env[Any, Any], *, delta: float | None = None) -> None:
        super().__init__(env, delta=delta)
