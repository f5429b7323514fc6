"""The cascade model (CM; Craswell et al., WSDM 2008): scan from the top, click the first attractive item, leave."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import MANY_ROWS, bits, kernel, session_seed, uniform
from rankgym.models.base import ClickModel, Reward, most_attractive


class Parameters(NamedTuple):
    """A cascade user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)


@kernel
def click(attraction, key, session, displayed, cutoff, clicks, reward):
    """One session per row: at most one click. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    if rows >= MANY_ROWS:
        attract_together(attraction, key, session, displayed, clicks)
    else:
        for row in range(rows):
            seed = session_seed(key[row], session[row])
            for k in range(positions):
                item = displayed[row, k]
                clicks[row, k] = uniform(bits(seed, item)) < attraction[row, item]
    for row in range(rows):
        examined, paid = True, 0
        for k in range(positions):
            clicked = examined & (clicks[row, k] != 0)  # not `and`: a branch on a random coin is slower
            clicks[row, k] = clicked
            examined &= not clicked  # the user leaves
            paid += clicked & (k < cutoff)
        reward[row] = paid


@kernel
def attract_together(attraction, key, session, displayed, attracted):
    """Whether each item of many rows' lists attracts: what coins need is gathered first, as in the PBM."""
    rows, positions = displayed.shape
    seeds, attractive = np.empty(rows * positions, np.uint64), np.empty(rows * positions)
    entry = 0
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        for k in range(positions):
            seeds[entry], attractive[entry] = seed, attraction[row, np.uint64(displayed[row, k])]
            entry += 1
    throw(seeds, displayed.ravel(), attractive, attracted.ravel())


@kernel
def throw(seeds, items, attraction, attracted):
    """The attraction coins of all lists (entries,)."""
    for i in range(attracted.shape[0]):
        attracted[i] = uniform(bits(seeds[i], items[i])) < attraction[i]


@kernel
def value(attraction, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: 1 - prod(1 - alpha). Their order does not matter."""
    for row in range(displayed.shape[0]):
        unclicked = 1.0
        for k in range(cutoff):
            unclicked *= 1.0 - attraction[row, displayed[row, k]]
        expected[row] = 1.0 - unclicked


@kernel
def examine(attraction, displayed, examination):
    """chi(R, k) = prod over i < k of (1 - alpha(R(i)))."""
    rows, positions = displayed.shape
    for row in range(rows):
        examined = 1.0
        for k in range(positions):
            examination[row, k] = examined
            examined *= 1.0 - attraction[row, displayed[row, k]]


MODEL = ClickModel(
    "CM", Parameters, {"attraction": ("item",)}, examine, {"clicks": Reward(click, value, most_attractive)}
)
