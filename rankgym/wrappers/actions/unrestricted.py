"""Choose every list, for algorithms that do not know rankings: by scores, slot by slot, by a ranking's number."""

import itertools
import math
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rankgym.kernels import kernel
from rankgym.spaces import BatchedPermutation, shown
from rankgym.wrappers.layers import Layer, Setting, SingleLayered
from rankgym.wrappers.spaces import Widened, checked_array, checked_numbers, require_rankings

MAX_RANKINGS = 100_000  # of RankingNumber


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

    Raises:
        ValueError: ``env`` is not a ranking environment, or its actions are not rankings.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import ScoresToRanking
        >>> env = ScoresToRanking(gym.make("rankgym/CM-Yandex-v0", query=0, num_items=4, num_positions=3))
        >>> observation, info = env.reset(seed=0)
        >>> *_, info = env.step(np.array([0.0, 0.5, 0.0, 0.9], np.float32))
        >>> info["displayed"].tolist()  # items 0 and 2 have the same score
        [3, 1, 0]
    """

    layer_class = ScoresToRankingLayer


class FreeItem(Discrete):
    """All items; ``sample`` draws one not yet in the list of row 0 of ``placed`` (rows, n), the layer's own array."""

    def __init__(self, n: int, placed: NDArray[np.float32]) -> None:
        super().__init__(n)
        self.placed = placed

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An item that is not in the list yet; with ``mask`` or ``probability`` see ``Discrete.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return np.int64(_free_items(self.placed[:1], self.np_random)[0])


class FreeItems(MultiDiscrete[np.int64]):
    """The batch of ``FreeItem``: one item a row."""

    def __init__(self, n: int, placed: NDArray[np.float32], seed: Any = None) -> None:
        super().__init__(np.full(len(placed), n), seed=seed)
        self.placed = placed

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """See ``FreeItem.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return _free_items(self.placed, self.np_random)


def _free_items(placed: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.int64]:
    return (rng.random(placed.shape) - placed.astype(bool)).argmax(axis=1)


@batch_space.register(FreeItem)
def _batch_of_items(space: FreeItem, n: int = 1) -> MultiDiscrete[Any]:
    if len(space.placed) != n:  # a batch of singles, each with its own list
        return batch_space(Discrete(space.n), n)  # type: ignore[return-value]
    return FreeItems(int(space.n), space.placed, deepcopy(space.np_random))


class SlotBySlotLayer(Layer):
    """See ``SlotBySlot``. All rows fill the same slot."""

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        require_rankings(self.name, action_space)
        rows, items, positions = setting.num_envs, setting.num_items, setting.num_positions
        self.steps = positions
        table, flat = (([0.0] * entries, [1.0] * entries) for entries in (2, items + positions))
        self.widened = Widened(self.name, observation_space, items, table, flat)
        self.observation_space = self.widened.space
        self.filled = 0  # slots of the current list
        self.slots = np.zeros((rows, positions), np.int64)  # its items so far
        self.placed = np.zeros((rows, items), np.float32)  # 1 - position / K of its items, 0 of the others
        self.action_space = FreeItem(items, self.placed)
        self._rows = np.arange(rows)

    def _empty(self) -> None:
        self.filled = 0
        self.placed[:] = 0.0

    def check_begin(self, rows: NDArray[np.bool_]) -> None:
        if self.filled and rows.any() and not rows.all():
            raise ValueError(
                f"rows {np.flatnonzero(rows).tolist()} cannot be reset in the middle of a list: "
                f"{self.filled} of {self.steps} slots are filled, and all rows fill the same slot; allowed: fill the "
                "other slots first, or reset all rows"
            )

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.check_begin(rows)
        if rows.all():
            self._empty()

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        self._empty()

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        if self.widened.is_table:
            share = np.full_like(self.placed, self.filled / self.steps)
            return self.widened.show(inner, np.stack([self.placed, share], axis=-1))
        slot = np.zeros((len(self.placed), self.steps), np.float32)
        slot[:, self.filled] = 1.0
        return self.widened.show(inner, np.concatenate([self.placed, slot], axis=-1))

    def action(self, actions: Any) -> NDArray[np.int64] | None:
        items = checked_numbers(actions, len(self.placed), self.setting.num_items, "an item")
        taken = self.placed[self._rows, items] > 0
        if taken.any():
            row = int(taken.argmax())
            left = np.flatnonzero(self.placed[row] == 0).tolist()
            raise ValueError(
                f"action[row {row}] = {items[row]} is already in the list {self.slots[row, : self.filled].tolist()}; "
                f"allowed in slot {self.filled}: {shown(left)}, as in action_masks(), which MaskablePPO uses, and "
                "info['action_mask']; a learner without masks needs the wrapper ScoresToRanking (PPO, SAC) or "
                "RankingNumber (DQN)"
            )
        if self.filled + 1 == self.steps:  # the state changes only after the session
            return np.concatenate([self.slots[:, :-1], items[:, None]], axis=1)
        self.slots[:, self.filled] = items
        self.placed[self._rows, items] = 1.0 - self.filled / self.steps
        self.filled += 1
        return None

    def action_masks(self) -> NDArray[np.bool_]:
        return self.placed == 0


class SlotBySlot(SingleLayered):
    """Fill one slot of the list in each step, from the top: ``num_positions`` steps make one session.

    For algorithms with discrete actions, such as sb3-contrib's MaskablePPO. Actions: ``Discrete(num_items)``, the item
    of the slot. ``action_masks()``, (num_items,) or (num_envs, num_items), is True for the items that are not in the
    list yet, and ``action_space.sample()`` draws one of these. ``info["action_mask"]`` of every reset and step is the
    same as int8, for the coming action: ``Discrete.sample`` takes it, and batches of singles hand it on. An item that
    is already in the list is refused with a ValueError; the state does not change.

    Observations (float32): a table (num_items, F) gets two more columns: 1 - position / K of an item in the list (1 at
    the top; 0 if it is not in the list), and the share of filled slots, the same for all items. A flat observation gets
    ``num_items`` + K more entries: the former for each item, and a one-hot code of the slot to fill. Everything else,
    such as the clicks, is that of the last session until the list is full.

    Rewards and ends of episodes come with the step that fills the last slot. In the other steps the reward is 0 and
    ``info`` has the mask alone. So an episode of n sessions has n K steps, and a discount factor gamma applies to each
    slot: gamma^K to a session. A horizon, and ``max_episode_steps`` of ``gym.make``, count sessions; the single form's
    ``spec.max_episode_steps`` counts steps, n K.

    In vector environments all rows fill the same slot. Therefore autoreset in the next step is refused, and so is a
    reset of some rows in the middle of a list.

    Args:
        env: a ranking environment, single or vector, wrapped or not.

    Raises:
        ValueError: ``env`` is not a ranking environment, its actions are not rankings, or it resets itself in the next
            step.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.wrappers import SlotBySlot
        >>> env = SlotBySlot(gym.make("rankgym/CM-Yandex-v0", query=0, num_items=4, num_positions=2, horizon=9))
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, _, _, info = env.step(3)  # the list is not full: no session, no regret
        >>> reward, "regret" in info, env.action_masks().tolist()
        (0.0, False, [True, True, True, False])
        >>> *_, info = env.step(0)
        >>> info["displayed"].tolist(), "regret" in info
        ([3, 0], True)
    """

    layer_class = SlotBySlotLayer


class RankingNumberLayer(Layer):
    """See ``RankingNumber``."""

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        require_rankings(self.name, action_space)
        items, positions = setting.num_items, setting.num_positions
        number = math.perm(items, positions)
        if number > MAX_RANKINGS:
            size = f"num_items = {items} and num_positions = {positions}"
            raise ValueError(f"{size} have {number:,} rankings; allowed: up to {MAX_RANKINGS:,}")
        self.action_space = Discrete(number)
        self.rankings = np.array(list(itertools.permutations(range(items), positions)), np.int64)

    def action(self, actions: Any) -> NDArray[np.int64]:
        return self.rankings[checked_numbers(actions, self.setting.num_envs, len(self.rankings), "a ranking's number")]

    def numbers(self, rankings: Any) -> NDArray[np.int64]:
        """The numbers (rows,) of ``rankings`` (rows, num_positions); a ValueError names a row that is no ranking."""
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

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.wrappers import RankingNumber
        >>> env = RankingNumber(gym.make("rankgym/CM-Yandex-v0", query=0, num_items=4, num_positions=2))
        >>> env.action_space, env.layer.rankings[:4].tolist()
        (Discrete(12), [[0, 1], [0, 2], [0, 3], [1, 0]])
        >>> observation, info = env.reset(seed=0)
        >>> *_, info = env.step(3)
        >>> info["displayed"].tolist(), env.layer.numbers([[1, 0]]).tolist()
        ([1, 0], [3])

    Raises:
        ValueError: there are more than 100,000 rankings.
    """

    layer_class = RankingNumberLayer
