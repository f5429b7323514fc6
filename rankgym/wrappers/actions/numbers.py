"""``RankingNumber``: act by the number of a ranking."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from rankgym.spaces import BatchedPermutation
from rankgym.wrappers.actions.checks import checked_numbers, require_rankings
from rankgym.wrappers.layers import Layer, Setting, SingleLayered

__all__ = ["RankingNumber"]

MAX_RANKINGS = 100_000


class RankingNumberLayer(Layer):
    """See ``RankingNumber``."""

    name = "RankingNumber"

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        require_rankings(self.name, action_space)
        items, positions = setting.num_items, setting.num_positions
        number = math.perm(items, positions)
        if number > MAX_RANKINGS:
            raise ValueError(
                f"num_items = {items} and num_positions = {positions} have {number:,} rankings; allowed: up to "
                f"{MAX_RANKINGS:,}"
            )
        self.action_space = Discrete(number)
        self.rankings = np.array(list(itertools.permutations(range(items), positions)), np.int64)

    def action(self, actions: Any) -> NDArray[np.int64]:
        return self.rankings[checked_numbers(actions, self.setting.num_envs, len(self.rankings), "a ranking's number")]

    def numbers(self, rankings: Any) -> NDArray[np.int64]:
        """The numbers (rows,) of ``rankings`` (rows, num_positions); any number of rows.

        Raises:
            ValueError: a row is not a ranking; the message names it.
        """
        items, positions = self.setting.num_items, self.setting.num_positions
        lists = BatchedPermutation(items, positions, max(len(rankings), 1)).checked(rankings)
        number = np.zeros(len(lists), np.int64)
        for k in range(positions):  # unused items with smaller numbers than this one
            smaller = lists[:, k] - (lists[:, :k] < lists[:, k, None]).sum(axis=1)
            number += smaller * math.perm(items - 1 - k, positions - 1 - k)
        return number


class RankingNumber(SingleLayered):
    """Act by a ranking's number: for small problems and algorithms with discrete actions, such as DQN.

    Actions: ``Discrete(L! / (L - K)!)``, all rankings in the lexicographic order of ``itertools.permutations``: number
    0 is 0, 1, 2, ... ``env.layer.rankings`` (number, num_positions) is the table of all rankings, and
    ``env.layer.numbers(lists)`` returns the numbers of lists. Observations, rewards and the length of episodes do not
    change.

    Args:
        env: a ranking environment, single or vector, wrapped or not.

    Raises:
        ValueError: there are more than 100,000 rankings.
    """

    layer_class = RankingNumberLayer
