"""Observation spaces with more columns or entries, for layers that add to what is seen below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiBinary, Space
from numpy.typing import NDArray

__all__ = ["Widened", "widened"]


def widened(space: Box, low: Sequence[float], high: Sequence[float]) -> Box:
    """``space`` with more columns (or entries, if it is flat) in ``low`` .. ``high`` behind its own; float32."""
    shape = (*space.shape[:-1], len(low))
    lower = np.concatenate([space.low, np.broadcast_to(low, shape)], axis=-1)
    upper = np.concatenate([space.high, np.broadcast_to(high, shape)], axis=-1)
    return Box(lower.astype(np.float32), upper.astype(np.float32), dtype=np.float32)


class Widened:
    """The observation of a layer that adds columns to a table below, or entries to a flat observation.

    Args:
        name: the layer's name.
        space: the observation space below: a Box (num_items, features), or a Box or MultiBinary of one dimension.
        num_items: rows of a table.
        table, flat: lowest and highest values of the columns added to a table, and of the entries added otherwise.
    """

    def __init__(
        self,
        name: str,
        space: Space[Any],
        num_items: int,
        table: tuple[list[float], list[float]],
        flat: tuple[list[float], list[float]],
    ) -> None:
        shape = space.shape if isinstance(space, (Box, MultiBinary)) else None
        self.is_table = shape is not None and len(shape) == 2 and shape[0] == num_items
        if shape is None or not (self.is_table or len(shape) == 1):
            raise ValueError(
                f"env has the observation space {space}; allowed below {name}: a table ({num_items}, features), such "
                "as ItemStatistics makes, or an array of one dimension"
            )
        below = space if isinstance(space, Box) else Box(0.0, 1.0, shape)
        self.space = widened(below, *(table if self.is_table else flat))

    def show(self, inner: NDArray[Any], more: NDArray[np.float32]) -> NDArray[np.float32]:
        """``inner`` (rows, ...) with ``more`` (rows, items, columns), or (rows, entries), behind it."""
        return np.concatenate([inner.astype(np.float32), more], axis=-1)
