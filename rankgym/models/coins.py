"""Coins of many sessions at once, for click models that are written with NumPy instead of kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import bits, kernel, session_seed, uniform


def coins(key: NDArray[np.uint64], session: NDArray[np.int64], index: Any) -> NDArray[np.float64]:
    """Return uniform numbers in [0, 1), (rows, coins), of the sessions ``session`` (rows,) of users ``key`` (rows,).

    They are the numbers ``uniform(bits(session_seed(key, session), index))`` that kernels draw: a user's coin is
    decided by its index, whatever list is displayed.

    Args:
        index: (rows, coins) or (coins,): an item's number for its attraction coin; ``EXAMINATION``, ``TERMINATION`` or
            ``ABANDONMENT`` of ``rankgym.kernels``, plus the position, for the other kinds.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import EXAMINATION
        >>> from rankgym.models import coins
        >>> key, session = np.array([1, 2], np.uint64), np.array([0, 0])
        >>> coins(key, session, np.array([[4, 3, 0], [1, 2, 3]])).shape  # of the displayed items
        (2, 3)
        >>> coins(key, session, EXAMINATION + np.arange(3)).shape  # of three positions
        (2, 3)
    """
    indices = np.asarray(index, np.int64)
    numbers = np.empty((len(key), indices.shape[-1]))
    throw(key, session, np.ascontiguousarray(np.broadcast_to(indices, numbers.shape)), numbers)
    return numbers


@kernel
def throw(key, session, index, numbers):
    """Fill ``numbers`` (rows, coins)."""
    for row in range(index.shape[0]):
        seed = session_seed(key[row], session[row])
        for coin in range(index.shape[1]):
            numbers[row, coin] = uniform(bits(seed, index[row, coin]))
