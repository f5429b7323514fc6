"""``ScoresToRanking``: act by one score per item."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from numpy.typing import NDArray

from rankgym.kernels import kernel
from rankgym.wrappers.actions.checks import checked_array, require_rankings
from rankgym.wrappers.layers import Layer, Setting, SingleLayered

__all__ = ["ScoresToRanking"]


@kernel
def first_no_score(scores):
    """The index in ``scores.ravel()`` of the first score outside of [-1, 1], NaN included, or -1."""
    for row in range(scores.shape[0]):
        for item in range(scores.shape[1]):
            if not -1.0 <= scores[row, item] <= 1.0:  # also true of NaN
                return row * scores.shape[1] + item
    return -1


@kernel
def rank_scores(scores, order, displayed):
    """Fill ``displayed`` (rows, positions) with the items of the largest ``scores`` (rows, items), the largest first.

    Items of equal score stand as in ``order`` (rows, items). Items are inserted in that order.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        for number in range(order.shape[1]):
            item = order[row, number]
            k = min(number, positions)
            while k > 0 and scores[row, item] > scores[row, displayed[row, k - 1]]:
                if k < positions:
                    displayed[row, k] = displayed[row, k - 1]
                k -= 1
            if k < positions:
                displayed[row, k] = item


class ScoresToRankingLayer(Layer):
    """See ``ScoresToRanking``."""

    name = "ScoresToRanking"

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        require_rankings(self.name, action_space)
        self.action_space = Box(-1.0, 1.0, (setting.num_items,), np.float32)
        self.order = setting.initial_list.copy()

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.order[rows] = initial_list[rows]

    def action(self, actions: Any) -> NDArray[np.int64]:
        rows, items = self.order.shape
        need = f"allowed: {items} numbers in [-1, 1] for each of the {rows} rows"
        scores = np.array(checked_array(actions, (rows, items), "fiu", need), np.float64, order="C")
        wrong = first_no_score(scores)
        if wrong >= 0:
            row, item = divmod(wrong, items)
            raise ValueError(f"action[row {row}][item {item}] = {scores[row, item]} is out of range; allowed: [-1, 1]")
        displayed = np.empty((rows, self.setting.num_positions), np.int64)
        rank_scores(scores, self.order, displayed)
        return displayed


class ScoresToRanking(SingleLayered):
    """Act by one score per item: the items of the largest scores are displayed, best first.

    For algorithms with continuous actions, such as SAC. Actions: ``Box(-1, 1, (num_items,))``. Ties are broken by the
    production list, so that equal scores of all items give the production list. Observations, rewards and the length
    of episodes do not change.

    A score outside of [-1, 1], NaN included, is refused with a ValueError that names row and item.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
    """

    layer_class = ScoresToRankingLayer
