"""The dynamic Bayesian network model (DBN; Chapelle and Zhang, WWW 2009): scan, click, leave satisfied or give up.

An examined item is clicked with its attraction. A click satisfies the user with the item's satisfaction, and a
satisfied user leaves. Otherwise the user goes on to the next position with probability gamma = 1 - abandonment.

With satisfaction 1 and no abandonment it is the cascade model; with one satisfaction for all items a DCM of that
termination at every position: the DCM's coin decides satisfaction.

An item that satisfies ends the session, so for expected clicks it belongs below others. In the
Yandex fits the list sorted by attraction loses .085 of .99 clicks a session of five positions, up to .46 in one query.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import ABANDONMENT, TERMINATION, bits, kernel, session_seed, uniform
from rankgym.models.base import Axes, ClickModel, Reward, scanned_lists


class Parameters(NamedTuple):
    """A DBN user, one per row."""

    attraction: NDArray[np.float64]  # (rows, items) in [0, 1]: alpha(i)
    satisfaction: NDArray[np.float64]  # (rows, items) in [0, 1]: s(i), after a click
    abandonment: NDArray[np.float64]  # (rows,) in [0, 1]: 1 - gamma, of a user who is not satisfied


@kernel
def click(attraction, satisfaction, abandonment, key, session, displayed, cutoff, clicks, reward):
    """One session per row. ``reward`` counts the clicks in the first ``cutoff`` positions."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        count = 0
        examined = True
        for k in range(positions):
            item = displayed[row, k]
            attracted = uniform(bits(seed, item)) < attraction[row, item]
            satisfied = uniform(bits(seed, TERMINATION + k)) < satisfaction[row, item]
            gives_up = uniform(bits(seed, ABANDONMENT + k)) < abandonment[row]
            clicked = examined & attracted
            clicks[row, k] = clicked
            count += clicked & (k < cutoff)
            examined = examined & (not (clicked & satisfied)) & (not gives_up)
        reward[row] = count


@kernel
def value(attraction, satisfaction, abandonment, displayed, cutoff, expected):
    """Expected clicks in the first ``cutoff`` positions: sum of chi(R, k) alpha(R(k))."""
    for row in range(displayed.shape[0]):
        total, examined = 0.0, 1.0
        for k in range(cutoff):
            item = displayed[row, k]
            total += examined * attraction[row, item]
            examined *= (1.0 - abandonment[row]) * (1.0 - satisfaction[row, item] * attraction[row, item])
        expected[row] = total


@kernel
def examine(attraction, satisfaction, abandonment, displayed, examination):
    """chi(R, k) = prod over i < k of gamma (1 - s(R(i)) alpha(R(i)))."""
    for row in range(displayed.shape[0]):
        examined = 1.0
        for k in range(displayed.shape[1]):
            item = displayed[row, k]
            examination[row, k] = examined
            examined *= (1.0 - abandonment[row]) * (1.0 - satisfaction[row, item] * attraction[row, item])


def best_lists(parameters: Parameters, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """The exact best lists: an item's examiner goes on with probability gamma (1 - s alpha), see ``scanned_lists``."""
    attraction, satisfaction, abandonment = parameters
    onward = (1.0 - abandonment)[:, None] * (1.0 - satisfaction * attraction)
    return scanned_lists(attraction, onward, num_positions, cutoff)


AXES: Axes = {"attraction": ("item",), "satisfaction": ("item",), "abandonment": ()}
MODEL = ClickModel("DBN", Parameters, AXES, examine, {"clicks": Reward(click, value, best_lists)})
