"""The document-based model (DBM; in Lattimore et al., NeurIPS 2018): every displayed item is examined.

It is the PBM whose user examines everything: only which items are displayed matters, not where.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import bits, kernel, session_seed, uniform
from rankgym.models.base import ClickModel, Reward, most_attractive


class Parameters(NamedTuple):
    """A user who examines everything, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)


@kernel
def click(attraction, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        count = 0
        for k in range(positions):
            item = displayed[row, k]
            clicked = uniform(bits(seed, item)) < attraction[row, item]
            clicks[row, k] = clicked
            count += clicked & (k < cutoff)
        reward[row] = count


@kernel
def value(attraction, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of alpha(R(k))."""
    for row in range(displayed.shape[0]):
        total = 0.0
        for k in range(cutoff):
            total += attraction[row, displayed[row, k]]
        expected[row] = total


@kernel
def examine(attraction, displayed, examination):
    """chi(R, k) = 1."""
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            examination[row, k] = 1.0


MODEL = ClickModel(
    "DBM", Parameters, {"attraction": ("item",)}, examine, {"clicks": Reward(click, value, most_attractive)}
)
