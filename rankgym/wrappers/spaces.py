"""What layers need of spaces: observations with more columns or entries, and checks of actions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiBinary, Space
from numpy.typing import NDArray

from rankgym.spaces import Permutation, shown


def widened(space: Box | MultiBinary, low: Sequence[float], high: Sequence[float]) -> Box:
    """``space`` with more columns (or entries, if it is flat) in ``low`` .. ``high`` behind its own; float32."""
    space = space if isinstance(space, Box) else Box(0.0, 1.0, space.shape)
    shape = (*space.shape[:-1], len(low))
    lower = np.concatenate([space.low, np.broadcast_to(low, shape)], axis=-1)
    upper = np.concatenate([space.high, np.broadcast_to(high, shape)], axis=-1)
    return Box(lower.astype(np.float32), upper.astype(np.float32), dtype=np.float32)


class Widened:
    """The observation of a layer that adds columns to a table below, or entries to a flat observation.

    ``space`` below is a Box (num_items, features), or a Box or MultiBinary of one dimension; ``table`` and ``flat`` are
    the lowest and highest values of the columns added to a table, and of the entries added otherwise.
    """

    def __init__(
        self,
        name: str,
        space: Space[Any],
        num_items: int,
        table: tuple[list[float], list[float]],
        flat: tuple[list[float], list[float]],
    ) -> None:
        self.is_table = space.shape is not None and len(space.shape) == 2 and space.shape[0] == num_items
        if not isinstance(space, (Box, MultiBinary)) or not (self.is_table or len(space.shape) == 1):
            allowed = f"a table ({num_items}, features), such as ItemStatistics makes, or an array of one dimension"
            raise ValueError(f"env has the observation space {space}; allowed below {name}: {allowed}")
        self.space = widened(space, *(table if self.is_table else flat))

    def show(self, inner: NDArray[Any], more: NDArray[np.float32]) -> NDArray[np.float32]:
        """``inner`` (rows, ...) with ``more`` (rows, items, columns), or (rows, entries), behind it."""
        return np.concatenate([inner.astype(np.float32), more], axis=-1)


def require_rankings(name: str, action_space: Space[Any]) -> None:
    """Raise a ValueError unless every ranking is an action."""
    if type(action_space) is not Permutation:
        hint = "Use one action wrapper at most; observation wrappers may be inside and outside of it"
        raise ValueError(f"env has the action space {action_space}; allowed below {name}: a Permutation. {hint}")


def checked_array(actions: Any, shape: tuple[int, ...], kinds: str, need: str) -> NDArray[Any]:
    """``actions`` as an array of this shape and of one of these kinds of dtype; a ValueError ends with ``need``."""
    try:
        array = np.asarray(actions)
    except ValueError:  # lists of different lengths
        raise ValueError(f"actions {shown(actions)} do not form an array; {need}") from None
    if array.dtype.kind not in kinds or array.shape != shape:
        fault = f"shape {array.shape}, not {shape}" if array.dtype.kind in kinds else f"dtype {array.dtype}"
        raise ValueError(f"actions {shown(actions)} have {fault}; {need}")
    return array


def checked_numbers(actions: Any, rows: int, n: int, what: str) -> NDArray[np.int64]:
    """``actions`` as an int64 array (rows,) of numbers in 0 .. ``n`` - 1; a ValueError names the row."""
    array = checked_array(actions, (rows,), "iu", f"allowed: {what} of 0 .. {n - 1} for each of the {rows} rows")
    wrong = (array < 0) | (array >= n)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"action[row {row}] = {array[row]} is out of range; allowed: {what} of 0 .. {n - 1}")
    return array.astype(np.int64)
