"""The position-based model (PBM; Richardson et al., WWW 2007): examine position k with chi(k), click with alpha(i)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import EXAMINATION, MANY_ROWS, bits, kernel, session_seed, uniform
from rankgym.models.base import Axes, ClickModel, Reward, matched_lists


class Parameters(NamedTuple):
    """A position-based user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)
    examination: NDArray[np.float64]  # (rows, positions) in [0, 1]: chi(k)


@kernel
def click(attraction, examination, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    if rows >= MANY_ROWS:
        click_together(attraction, examination, key, session, displayed, clicks)
    else:
        for row in range(rows):
            seed = session_seed(key[row], session[row])
            for k in range(positions):
                item = displayed[row, k]
                clicks[row, k] = clicked(seed, item, EXAMINATION + k, attraction[row, item], examination[row, k])
    for row in range(rows):
        count = 0
        for k in range(cutoff):
            count += clicks[row, k]
        reward[row] = count


@kernel
def clicked(seed, item, place, attraction, examination):
    """Whether a user who is attracted and who examines the position with these probabilities clicks on the item."""
    attracted, examined = uniform(bits(seed, item)) < attraction, uniform(bits(seed, place)) < examination
    return attracted & examined  # not `and`: a branch on a random coin is slower


@kernel
def click_together(attraction, examination, key, session, displayed, clicks):
    """The clicks of many rows: what coins need is gathered first, so that the compiler throws several at a time."""
    entries = displayed.shape[0] * displayed.shape[1]
    words, attractive = np.empty((2, entries), np.uint64), np.empty(entries)
    seeds, places = words[0], words[1]
    gather(attraction, key, session, displayed, seeds, places, attractive)
    throw(seeds, displayed.ravel(), places, attractive, examination.ravel(), clicks.ravel())


@kernel
def gather(attraction, key, session, displayed, seeds, places, attractive):
    """Fill in the session's seed, the number of the examination's coin, and the attraction of each entry."""
    rows, positions = displayed.shape
    entry = 0
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        for k in range(positions):
            seeds[entry], places[entry] = seed, EXAMINATION + k
            attractive[entry] = attraction[row, np.uint64(displayed[row, k])]
            entry += 1


@kernel
def throw(seeds, items, places, attraction, examination, clicks):
    """The coins of all lists (entries,)."""
    for i in range(clicks.shape[0]):
        clicks[i] = clicked(seeds[i], items[i], places[i], attraction[i], examination[i])


@kernel
def value(attraction, examination, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of chi(k) alpha(R(k))."""
    for row in range(displayed.shape[0]):
        total = 0.0
        for k in range(cutoff):
            # an unsigned index would make vectors of this loop, which wait for the list just written item by item
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
