"""Checks of the action wrappers' environments and actions."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from rankgym.spaces import Permutation

short = reprlib.Repr()
short.maxother = 200


def require_rankings(name: str, action_space: Space[Any]) -> None:
    """Raise a ValueError unless every ranking is an action."""
    if type(action_space) is not Permutation:
        raise ValueError(
            f"env has the action space {action_space}; allowed below {name}: a Permutation. Use one action "
            "wrapper at most; observation wrappers may be inside and outside of it"
        )


def checked_array(actions: Any, shape: tuple[int, ...], kinds: str, need: str) -> NDArray[Any]:
    """``actions`` as an array of this shape and of one of these kinds of dtype; a ValueError ends with ``need``."""
    try:
        array = np.asarray(actions)
    except ValueError:  # lists of different lengths
        raise ValueError(f"actions {short.repr(actions)} do not form an array; {need}") from None
    if array.dtype.kind not in kinds:
        raise ValueError(f"actions {' '.join(short.repr(actions).split())} have dtype {array.dtype}; {need}")
    if array.shape != shape:
        raise ValueError(
            f"actions {' '.join(short.repr(actions).split())} have shape {array.shape}, not {shape}; {need}"
        )
    return array


def checked_numbers(actions: Any, rows: int, n: int, what: str) -> NDArray[np.int64]:
    """``actions`` as an int64 array (rows,) of numbers in 0 .. ``n`` - 1; a ValueError names the row."""
    array = checked_array(actions, (rows,), "iu", f"allowed: {what} of 0 .. {n - 1} for each of the {rows} rows")
    wrong = (array < 0) | (array >= n)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"action[row {row}] = {array[row]} is out of range; allowed: {what} of 0 .. {n - 1}")
    return array.astype(np.int64)
