"""What a click model is, and the best lists that several models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Reward(NamedTuple):
    """One way to be paid in a click model. Arrays have a leading axis of rows; ``cutoff`` counts paid positions.

    ``click(*parameters, key, session, displayed, cutoff, clicks, reward)`` is a kernel that plays session number
    ``session`` (rows,) of the users with the keys ``key`` (rows,) on the lists ``displayed`` (rows, positions) and
    fills ``clicks`` (rows, positions) int8 and ``reward`` (rows,) float64.

    ``value(*parameters, displayed, cutoff, expected)`` is a kernel that fills ``expected`` (rows,) with mean rewards.

    ``best_lists(parameters, num_positions, cutoff)`` gives lists (rows, num_positions) of the largest mean reward.
    """

    click: Callable[..., None]
    value: Callable[..., None]
    best_lists: Callable[[Any, int, int], NDArray[np.int64]]


class ClickModel(NamedTuple):
    """A click model: its name, its NamedTuple of parameters (each with a leading axis), and its rewards by name."""

    name: str
    parameters: type[Any]
    rewards: dict[str, Reward]

    def values(self, parameters: Any, displayed: NDArray[np.int64], cutoff: int, reward: str) -> NDArray[np.float64]:
        """The expected reward (rows,) of each list of ``displayed`` (rows, positions)."""
        expected = np.empty(len(displayed))
        self.rewards[reward].value(*parameters, np.ascontiguousarray(displayed, np.int64), cutoff, expected)
        return expected


def sorted_lists(attraction: NDArray[np.float64], num_positions: int) -> NDArray[np.int64]:
    """The ``num_positions`` most attractive items of each row, best first; ties in the order of the items."""
    return np.argsort(-attraction, axis=1, kind="stable")[:, :num_positions].astype(np.int64)


def matched_lists(
    attraction: NDArray[np.float64], weight: NDArray[np.float64], num_positions: int, cutoff: int
) -> NDArray[np.int64]:
    """The best ``cutoff`` items at the first ``cutoff`` positions, the best at the position of the largest ``weight``.

    The items behind are sorted. ``weight`` is (rows, positions); ties go to the upper position.
    """
    lists = sorted_lists(attraction, num_positions)
    places = np.argsort(-weight[:, :cutoff], axis=1, kind="stable")
    matched = lists.copy()
    np.put_along_axis(matched, places, lists[:, :cutoff], axis=1)
    return matched
