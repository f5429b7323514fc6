"""The position-based model (PBM; Richardson et al., WWW 2007): examine position k with chi(k), click with alpha(i)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import EXAMINATION, bits, kernel, session_seed, uniform
from rankgym.models.base import Axes, ClickModel, Reward, matched_lists


class Parameters(NamedTuple):
    """A position-based user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)
    examination: NDArray[np.float64]  # (rows, positions) in [0, 1]: chi(k)


@kernel
def click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        count = 0
        for k in range(positions):
            item = displayed[row, k]
            attracted = uniform(bits(seed, item)) < attraction[row, item]
            examined = uniform(bits(seed, EXAMINATION + k)) < examination[row, k]
            clicked = attracted & examined  # not `and`: a branch on a random coin is slower
            clicks[row, k] = clicked
            count += clicked & (k < cutoff)
        reward[row] = count


@kernel
def value(attraction, examination, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of chi(k) alpha(R(k))."""
    for row in range(displayed.shape[0]):
        total = 0.0
        for k in range(cutoff):
            total += examination[row, k] * attraction[row, displayed[row, k]]
        expected[row] = total


@kernel
def examine(attraction, examination, displayed, examined):
    """chi(k), whatever is displayed."""
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            examined[row, k] = examination[row, k]


def best_lists(parameters: Parameters, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """Match the most attractive items to the most examined of the first ``cutoff`` positions.

    Optimal by the rearrangement inequality. The papers assume that chi falls with the position, so that this is the
    sorted list; in the Yandex fits chi(10) > chi(9), so it is not.
    """
    return matched_lists(parameters.attraction, parameters.examination, num_positions, cutoff)


AXES: Axes = {"attraction": ("item",), "examination": ("position",)}
MODEL = ClickModel("PBM", Parameters, AXES, examine, {"clicks": Reward(click, value, best_lists)})
