"""Action wrappers: other ways to say which list to display, for algorithms that know no rankings, or for safety.

``ScoresToRanking``, ``SlotBySlot`` and ``RankingNumber`` let every list be said. ``AdjacentSwaps`` and ``SafeLists``
allow only lists near a *base list*, which starts as the production list and gets better as BubbleRank's does (Li,
Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, "BubbleRank: safe online learning to re-rank via implicit
click feedback", UAI 2019); comments give the lines of its Algorithm 1.

Which sessions the base list learns from
----------------------------------------
BubbleRank exchanges a pair by a fair coin, so that neither item has the better place on average. Here a policy chooses
the order, and may look at the clicks before it does. For items i above j, neighbours in the base list, s (the lead of
j) and n count sessions in which they stood at their two places and one of them alone was clicked, as in lines 15 to
19, but

* of sessions in the exchanged order, j above i, only as long as fewer of them than of those in base order were counted;
* of sessions in base order only as long as less than ``MOST_CREDIT`` more of them were counted, lest j lose by them.

This *credit* starts from 0 whenever the two come to stand side by side, or move together. The exchange for good is that
of lines 21 to 24: in one pass a session, where s > 2 sqrt(n log(1 / delta)). The pair j, i then starts with the lead -s
and the same n.

That is right, where the paper's A2 to A4 hold and attraction does not change: *in n sessions no item is ever exchanged
for good with a lower one that is not more attractive, so that each exchange for good lowers |V|, with probability at
least 1 - delta^2 L^2 n*, L the number of items, whatever the policy does.
Proof: let alpha(i) >= alpha(j), and let the upper place be examined with probability x, the lower one with y below i
and y' below j; by A2 the rest of the list does not matter as long as the credit runs. z = click on i - click on j has
the mean m = x alpha(i) - y alpha(j) >= 0 in base order (A3), m' = y' alpha(i) - x alpha(j) in the other, and
m + m' >= 0 since y' >= y (A4). With v > 0 and g = sinh(v) exp(-v^2 / 2) < 1, E exp(-v z - v^2 z^2 / 2) is at most
1 - g m, or 1 - g m', as cosh(v) <= exp(v^2 / 2). Whether a session counts is known before its clicks, so that
exp(v s - v^2 n / 2) over the product of these bounds is a supermartingale; and the product is at most 1, because each
1 - g m' > 1 has a 1 - g m of its own, and (1 - g m)(1 - g m') <= 1. With v = 2 sqrt(log(1 / delta) / n), by Ville's
inequality, s > 2 sqrt(n log(1 / delta)) ever happens at this n with probability delta^2 at most. A lead that starts at
-s starts this at no more than 1. There are n values of n, L (L - 1) / 2 such pairs, and at most as many new starts,
since each right exchange takes a misordered pair away.

Hidden items (K < L, the paper's section 4.3, last paragraph): the items below position K wait in line. The first of
them may be displayed at K instead of the item there; it then goes to the end of the line, and those found worse than
the item at K are passed over as long as others are left. Every hidden item is compared with the item at K, and what is
not displayed counts as not clicked, so that a session in base order counts for all of them at once.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from abc import ABC, abstractmethod
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rankgym.agent import open_unit
from rankgym.kernels import kernel
from rankgym.spaces import BatchedPermutation, Permutation
from rankgym.wrappers.layers import Layer, Setting, SingleLayered, VectorLayered

__all__ = ["BASE_COLUMN", "AdjacentSwaps", "RankingNumber", "SafeLists", "ScoresToRanking", "SlotBySlot"]

MOST_RANKINGS = 100_000
MOST_CREDIT = 16  # few beside 4 log(1 / delta) = 16 log n, the least comparisons of an exchange with the default delta
LOG_SCALE = 10.0  # counts n are shown as log(1 + n) / 10
MOST = 4.0  # more than that of any count
LOGS = np.log1p(np.arange(4096.0)) / LOG_SCALE

BASE_COLUMN = -5
"""The column, from the end, of an item's place in the base list: 0 first, 1 last. The other four stand behind it."""

_short = reprlib.Repr()
_short.maxother = 200


def _only_rankings(name: str, action_space: Space[Any]) -> None:
    """Refuse to act on anything but an environment that takes every ranking."""
    if type(action_space) is not Permutation:
        raise ValueError(
            f"env has the action space {action_space}; allowed below {name}: a Permutation. Only one wrapper can make "
            "the lists, and observation wrappers may stand on both of its sides"
        )


def _array(actions: Any, shape: tuple[int, ...], kinds: str, need: str) -> NDArray[Any]:
    """``actions`` as an array of this shape and of one of these kinds of dtype, or a ValueError."""
    try:
        array = np.asarray(actions)
    except ValueError:  # lists of different lengths
        raise ValueError(f"actions {_short.repr(actions)} make no array; {need}") from None
    if array.dtype.kind not in kinds:
        raise ValueError(f"actions {' '.join(_short.repr(actions).split())} have dtype {array.dtype}; {need}")
    if array.shape != shape:
        raise ValueError(
            f"actions {' '.join(_short.repr(actions).split())} have shape {array.shape}, not {shape}; {need}"
        )
    return array


def _numbers(actions: Any, rows: int, n: int, what: str) -> NDArray[np.int64]:
    """``actions`` as an int64 array (rows,) of numbers in 0 .. ``n`` - 1, or a ValueError that names the row."""
    array = _array(actions, (rows,), "iu", f"allowed: {what} of 0 .. {n - 1} for each of the {rows} rows")
    wrong = (array < 0) | (array >= n)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"action[row {row}] = {array[row]} is out of range; allowed: {what} of 0 .. {n - 1}")
    return array.astype(np.int64)


class Widened:
    """What a layer shows besides what is seen below: more columns of a table, or more entries of a flat observation.

    Args:
        name: of the layer.
        space: of the observation below: a Box (num_items, features), or a Box or MultiBinary of one dimension.
        num_items: rows of a table.
        table, flat: the lowest and the highest of the columns added to a table, and of the entries added else.
    """

    def __init__(
        self,
        name: str,
        space: Space[Any],
        num_items: int,
        table: tuple[list[float], list[float]],
        flat: tuple[list[float], list[float]],
    ) -> None:
        shape = space.shape if isinstance(space, (Box, MultiBinary)) else None
        self.is_table = shape is not None and len(shape) == 2 and shape[0] == num_items
        if shape is None or not (self.is_table or len(shape) == 1):
            raise ValueError(
                f"env has the observation space {space}; allowed below {name}: a table ({num_items}, features), such "
                "as ItemStatistics makes, or an array of one dimension"
            )
        ends = (space.low, space.high) if isinstance(space, Box) else (np.zeros(shape), np.ones(shape))
        low, high = (
            np.concatenate([end, np.broadcast_to(more, (*shape[:-1], len(more)))], axis=-1).astype(np.float32)
            for end, more in zip(ends, table if self.is_table else flat, strict=True)
        )
        self.space = Box(low, high, dtype=np.float32)

    def show(self, inner: NDArray[Any], more: NDArray[np.float32]) -> NDArray[np.float32]:
        """``inner`` (rows, ...) with ``more`` (rows, items, columns), or (rows, entries), behind it."""
        return np.concatenate([inner.astype(np.float32), more], axis=-1)


# ---- scores ----


@kernel
def first_no_score(scores):
    """The index in ``scores.ravel()`` of the first that is no number in [-1, 1], or -1."""
    for row in range(scores.shape[0]):
        for item in range(scores.shape[1]):
            if not -1.0 <= scores[row, item] <= 1.0:  # nor is NaN
                return row * scores.shape[1] + item
    return -1


@kernel
def rank_scores(scores, order, displayed):
    """Fill ``displayed`` (rows, positions) with the items of the largest ``scores`` (rows, items), the largest first.

    Equal ones stand as in ``order`` (rows, items). Items come in that order and climb past what is smaller.
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
        _only_rankings(self.name, action_space)
        self.action_space = Box(-1.0, 1.0, (setting.num_items,), np.float32)
        self.order = setting.initial_list.copy()

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.order[rows] = initial_list[rows]

    def action(self, actions: Any) -> NDArray[np.int64]:
        rows, items = self.order.shape
        need = f"allowed: {items} numbers in [-1, 1] for each of the {rows} rows"
        scores = np.array(_array(actions, (rows, items), "fiu", need), np.float64, order="C")
        wrong = first_no_score(scores)
        if wrong >= 0:
            row, item = divmod(wrong, items)
            raise ValueError(f"action[row {row}][item {item}] = {scores[row, item]} is out of range; allowed: [-1, 1]")
        displayed = np.empty((rows, self.setting.num_positions), np.int64)
        rank_scores(scores, self.order, displayed)
        return displayed


class VectorScoresToRanking(VectorLayered):
    """``ScoresToRanking`` over a vector environment."""

    layer_class = ScoresToRankingLayer


class ScoresToRanking(SingleLayered):
    """Act by scores, one an item: the list is the items of the largest scores, best first.

    For algorithms of continuous actions, such as SAC. Actions: ``Box(-1, 1, (num_items,))``; of equal scores that of
    the item that stands higher in the production list wins, so that equal scores throughout are the production list.
    Observations, rewards and the length of episodes stay as they are.

    A score that is no number in [-1, 1] (NaN is none) is refused with a ValueError that names row and item.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
    """

    vector = VectorScoresToRanking

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)


# ---- slot by slot ----


class FreeItem(Discrete):
    """All items, of which ``sample`` draws those that are not in the list yet.

    ``placed`` (rows, n) is the layer's own array; samples are of row 0.
    """

    def __init__(self, n: int, placed: NDArray[np.float32]) -> None:
        super().__init__(n)
        self.placed = placed

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An item that is not in the list yet; with ``mask`` or ``probability`` as ``Discrete.sample`` says."""
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
    if len(space.placed) != n:  # a batch of singles, each with a list of its own
        return batch_space(Discrete(space.n), n)  # type: ignore[return-value]
    return FreeItems(int(space.n), space.placed, deepcopy(space.np_random))


class SlotBySlotLayer(Layer):
    """See ``SlotBySlot``. All rows fill the same slot."""

    name = "SlotBySlot"

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        _only_rankings(self.name, action_space)
        rows, items, positions = setting.num_envs, setting.num_items, setting.num_positions
        self.steps = positions
        entries = items + positions
        self.widened = Widened(
            self.name, observation_space, items, ([0.0] * 2, [1.0] * 2), ([0.0] * entries, [1.0] * entries)
        )
        self.observation_space = self.widened.space
        self.filled = 0  # slots of the list that is being made
        self.slots = np.zeros((rows, positions), np.int64)  # its items so far
        self.placed = np.zeros((rows, items), np.float32)  # 1 - position / K of an item in it, 0 of the others
        self.action_space = FreeItem(items, self.placed)
        self._rows = np.arange(rows)

    def _empty(self) -> None:
        self.filled = 0
        self.placed[:] = 0.0

    def refuse_begin(self, rows: NDArray[np.bool_]) -> None:
        """A ValueError if some, but not all, rows are to begin anew in the middle of a list."""
        if self.filled and rows.any() and not rows.all():
            raise ValueError(
                f"rows {np.flatnonzero(rows).tolist()} cannot begin anew in the middle of a list, of which "
                f"{self.filled} slots of {self.steps} are filled, as all rows fill the same slot; allowed: to fill the "
                "others first, or to reset all rows"
            )

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.refuse_begin(rows)
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
        items = _numbers(actions, len(self.placed), self.setting.num_items, "an item")
        taken = self.placed[self._rows, items] > 0
        if taken.any():
            row = int(taken.argmax())
            left = np.flatnonzero(self.placed[row] == 0).tolist()
            raise ValueError(
                f"action[row {row}] = {items[row]} is in the list already, {self.slots[row, : self.filled].tolist()}; "
                f"allowed in slot {self.filled}: {_short.repr(left)}, as action_masks() says (MaskablePPO asks it)"
            )
        if self.filled + 1 == self.steps:  # until the session has taken place, nothing changes
            return np.concatenate([self.slots[:, :-1], items[:, None]], axis=1)
        self.slots[:, self.filled] = items
        self.placed[self._rows, items] = 1.0 - self.filled / self.steps
        self.filled += 1
        return None

    def action_masks(self) -> NDArray[np.bool_]:
        return self.placed == 0


class VectorSlotBySlot(VectorLayered):
    """``SlotBySlot`` over a vector environment, whose rows all fill the same slot.

    With autoreset disabled, rows are reset by mask between two lists; in the middle of one only all rows together.
    """

    layer_class = SlotBySlotLayer
    layer: SlotBySlotLayer

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:  # any other is env's to refuse
            self.layer.refuse_begin(mask)
        return super().reset(seed=seed, options=options)


class SlotBySlot(SingleLayered):
    """Fill one slot of the list in each step, from the top: ``num_positions`` steps make one session.

    For algorithms of discrete actions, such as sb3-contrib's MaskablePPO. Actions: ``Discrete(num_items)``, the item of
    the slot. ``action_masks()`` is True for the items that are not in the list yet, (num_items,) or
    (num_envs, num_items), and ``action_space.sample()`` draws among these; an item that is in it already is refused
    with a ValueError, and nothing has happened.

    Observations (float32): over a table (num_items, F) two columns more: 1 - position / K of an item that is in the
    list already (1 at the top; 0 of the others), and the share of slots filled, the same for all items. Over an array
    of one dimension ``num_items`` + K entries more: the former of each item, and a one-hot code of the slot to fill.
    What is seen below, such as the clicks, is that of the last session throughout.

    Rewards and ends of episodes come with the step that fills the last slot; before, the reward is 0 and ``info`` is
    empty. So an episode of n sessions has n K steps, and a discount factor applies by slot, not by session: gamma^K is
    that of a session. A horizon, and ``max_episode_steps`` of ``gym.make``, count sessions.

    Over vector environments all rows fill the same slot. So autoreset in the next step is refused, and a reset of some
    rows in the middle of a list is, too.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
    """

    vector = VectorSlotBySlot

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)


# ---- rankings by number ----


class RankingNumberLayer(Layer):
    """See ``RankingNumber``."""

    name = "RankingNumber"

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        _only_rankings(self.name, action_space)
        items, positions = setting.num_items, setting.num_positions
        number = math.perm(items, positions)
        if number > MOST_RANKINGS:
            raise ValueError(
                f"num_items = {items} and num_positions = {positions} make {number:,} rankings; allowed: up to "
                f"{MOST_RANKINGS:,}"
            )
        self.action_space = Discrete(number)
        self.rankings = np.array(list(itertools.permutations(range(items), positions)), np.int64)

    def action(self, actions: Any) -> NDArray[np.int64]:
        return self.rankings[_numbers(actions, self.setting.num_envs, len(self.rankings), "a ranking's number")]

    def numbers(self, rankings: Any) -> NDArray[np.int64]:
        """The numbers (rows,) of ``rankings`` (rows, num_positions), any number of them.

        Raises:
            ValueError: one of them is no ranking; the message names the row.
        """
        items, positions = self.setting.num_items, self.setting.num_positions
        lists = BatchedPermutation(items, positions, max(len(rankings), 1)).checked(rankings)
        number = np.zeros(len(lists), np.int64)
        for k in range(positions):  # how many of the items left come before this one
            smaller = lists[:, k] - (lists[:, :k] < lists[:, k, None]).sum(axis=1)
            number += smaller * math.perm(items - 1 - k, positions - 1 - k)
        return number


class VectorRankingNumber(VectorLayered):
    """``RankingNumber`` over a vector environment."""

    layer_class = RankingNumberLayer


class RankingNumber(SingleLayered):
    """Act by a ranking's number: for small problems, and for algorithms of discrete actions, such as DQN.

    Actions: ``Discrete(L! / (L - K)!)``, all rankings in lexicographic order, as ``itertools.permutations`` has them:
    number 0 is 0, 1, 2, ...; ``env.layer.rankings`` (number, num_positions) has them all, and
    ``env.layer.numbers(lists)`` finds the numbers of lists. Observations, rewards and the length of episodes stay as
    they are.

    Args:
        env: a ranking environment, single or vector, wrapped or not.

    Raises:
        ValueError: there are more than 100,000 rankings.
    """

    vector = VectorRankingNumber

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)


# ---- safe lists ----


@kernel
def exchange_neighbours(base, wished, displayed):
    """Fill ``displayed`` (rows, positions) with ``base`` (rows, items), neighbours k and k + 1 exchanged as ``wished``.

    ``wished`` (rows, pairs) bool; of two wishes for the same item the upper one counts.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        for k in range(positions):
            displayed[row, k] = base[row, k]
        k = 0
        while k < wished.shape[1]:
            if wished[row, k]:
                displayed[row, k] = base[row, k + 1]
                if k + 1 < positions:
                    displayed[row, k + 1] = base[row, k]
                k += 1
            k += 1


@kernel
def first_unsafe(displayed, base):
    """The index in ``displayed.ravel()`` of the first item that disjoint exchanges of neighbours do not explain, or -1.

    ``displayed`` (rows, positions), ``base`` (rows, items).
    """
    rows, positions = displayed.shape
    for row in range(rows):
        k = 0
        while k < positions:
            if displayed[row, k] != base[row, k]:
                if k + 1 == base.shape[1] or displayed[row, k] != base[row, k + 1]:
                    return row * positions + k
                if k + 1 < positions and displayed[row, k + 1] != base[row, k]:
                    return row * positions + k + 1
                k += 1
            k += 1
    return -1


@kernel
def learn_base(displayed, clicks, rows, log_inv_delta, most_credit, base, place, lead, compared, credit):
    """One session of the rows of ``rows``: lines 12 to 24, with the sessions counted that the module's text says.

    Args:
        displayed, clicks: (rows, positions), any lists.
        base, place: (rows, items), base list and where each item stands in it.
        lead, compared: (rows, items, items), s and n of the upper and the lower item of a pair.
        credit: (rows, items), of the pair whose lower item this is; a hidden item's upper one is that at position K.
    """
    positions, items = displayed.shape[1], base.shape[1]
    last = positions - 1
    for row in range(displayed.shape[0]):
        if not rows[row]:
            continue
        found = False
        lowest = -1  # place in the base list of the items above k
        for k in range(positions):
            if lowest < k:  # above k stand the items of the base list, in whatever order
                i, shown, click = base[row, k], displayed[row, k], clicks[row, k] != 0
                if k < last:
                    j, below = base[row, k + 1], clicks[row, k + 1] != 0
                    other = displayed[row, k + 1]
                    if shown == i and other == j and may_count(row, j, False, most_credit, credit):
                        found |= compare(row, i, j, click, below, log_inv_delta, lead, compared)
                    elif shown == j and other == i and may_count(row, j, True, most_credit, credit):
                        found |= compare(row, i, j, below, click, log_inv_delta, lead, compared)
                elif shown == i:  # section 4.3: what is hidden gets feedback 0
                    for lower in range(positions, items):
                        if may_count(row, base[row, lower], False, most_credit, credit):
                            found |= compare(row, i, base[row, lower], click, False, log_inv_delta, lead, compared)
                elif place[row, shown] > last and may_count(row, shown, True, most_credit, credit):
                    found |= compare(row, i, shown, False, click, log_inv_delta, lead, compared)
            lowest = max(lowest, place[row, displayed[row, k]])
        if found:  # else a pass changes nothing: a lead that is enough has never outlived its session
            bubble(row, log_inv_delta, positions, base, place, lead, compared, credit)
        if items > positions:
            if displayed[row, last] == base[row, positions]:  # it was its turn
                to_the_end(row, positions, base, place)
            for _ in range(positions, items):
                i, j = base[row, last], base[row, positions]
                if not better(-lead[row, i, j], compared[row, i, j], log_inv_delta):
                    break
                to_the_end(row, positions, base, place)


@kernel
def may_count(row, j, exchanged, most_credit, credit):
    """Whether this session of the pair with the lower item ``j`` counts; it is entered then."""
    before = credit[row, j]
    credit[row, j] = max(before - 1, 0) if exchanged else min(before + 1, most_credit)
    return credit[row, j] != before


@kernel
def compare(row, i, j, i_clicked, j_clicked, log_inv_delta, lead, compared):
    """Lines 15 to 19 for i above j in the base list; True if j is found better."""
    if i_clicked == j_clicked:
        return False
    lead[row, i, j] += 1 if j_clicked else -1
    compared[row, i, j] += 1
    return better(lead[row, i, j], compared[row, i, j], log_inv_delta)


@kernel
def better(lead, compared, log_inv_delta):
    """Line 23, squared: s > 2 sqrt(n log(1 / delta))."""
    return lead * abs(lead) > 4.0 * log_inv_delta * compared


@kernel
def bubble(row, log_inv_delta, positions, base, place, lead, compared, credit):
    """Lines 21 to 24, and below position K: each hidden item found better than the item at K takes its place."""
    items = base.shape[1]
    for lower in range(1, items):
        upper = min(lower, positions) - 1
        i, j = base[row, upper], base[row, lower]  # line 22
        if better(lead[row, i, j], compared[row, i, j], log_inv_delta):
            base[row, upper], base[row, lower] = j, i  # line 24
            place[row, i], place[row, j] = lower, upper
            lead[row, j, i], compared[row, j, i] = -lead[row, i, j], compared[row, i, j]
            lead[row, i, j], compared[row, i, j] = 0, 0
            credit[row, i], credit[row, j] = 0, 0  # the pairs at both places, and the one below
            if lower + 1 < items:
                credit[row, base[row, lower + 1]] = 0
            if lower >= positions - 1:  # another item at position K
                for hidden in range(positions, items):
                    credit[row, base[row, hidden]] = 0


@kernel
def to_the_end(row, positions, base, place):
    """The first hidden item goes to the end of the line."""
    first, items = base[row, positions], base.shape[1]
    for position in range(positions, items - 1):
        base[row, position] = base[row, position + 1]
        place[row, base[row, position]] = position
    base[row, items - 1] = first
    place[row, first] = items - 1


@kernel
def show_base(log_inv_delta, most_credit, logs, positions, base, lead, compared, credit, columns):
    """Fill ``columns`` (rows, items, 5), as ``AdjacentSwaps`` says. ``logs`` holds log(1 + n) / 10 of the first n."""
    rows, items = base.shape
    for row in range(rows):
        for number in range(items):
            j = base[row, number]
            shown = columns[row, j]
            shown[0] = number / max(items - 1, 1)
            shown[1], shown[2], shown[3], shown[4] = 0.0, 0.0, 0.0, 0.0
            if number > 0:
                i = base[row, min(number, positions) - 1]
                s, n = lead[row, i, j], compared[row, i, j]
                size = scaled_log(abs(s), logs)
                shown[1] = size if s > 0 else -size
                shown[2] = scaled_log(n, logs)
                shown[3] = 1.0 if better(abs(s), n, log_inv_delta) else 0.0
                shown[4] = credit[row, j] / most_credit


@kernel
def scaled_log(n, logs):
    """log(1 + n) / 10, looked up where ``logs`` has it."""
    return logs[n] if n < logs.shape[0] else np.log1p(float(n)) / LOG_SCALE


class SafePermutation(Permutation):
    """All rankings, of which ``sample`` draws those that are safe at the moment.

    ``base`` (rows, n) is the layer's own array; samples are of row 0.
    """

    def __init__(self, n: int, k: int, base: NDArray[np.int64]) -> None:
        super().__init__(n, k)
        self.base = base

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """The base list with each pair of displayed neighbours exchanged by a fair coin, from the top.

        Of a list with the first hidden item the session would make another the first: a sample that is drawn before a
        reset, as Gymnasium's ``check_env`` does, would not be safe after it. So there is none among the samples.
        ``mask`` or ``probability`` make it a ranking as ``Permutation.sample`` says, safe or not.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return _near(self.base[:1], self.k, self.np_random)[0]


class BatchedSafePermutation(BatchedPermutation):
    """The batch of ``SafePermutation``, with a base list for each row."""

    def __init__(self, n: int, k: int, base: NDArray[np.int64], seed: Any = None) -> None:
        super().__init__(n, k, len(base), seed=seed)
        self.base = base

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """See ``SafePermutation.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return _near(self.base, self.k, self.np_random)


@batch_space.register(SafePermutation)
def _batch_of_lists(space: SafePermutation, n: int = 1) -> BatchedPermutation:
    if len(space.base) != n:  # a batch of singles, each with a base list of its own
        return batch_space(Permutation(space.n, space.k), n)  # type: ignore[return-value]
    return BatchedSafePermutation(space.n, space.k, space.base, deepcopy(space.np_random))


def _near(base: NDArray[np.int64], positions: int, rng: np.random.Generator) -> NDArray[np.int64]:
    displayed = np.empty((len(base), positions), np.int64)
    exchange_neighbours(base, rng.random((len(base), positions - 1)) < 0.5, displayed)
    return displayed


class BaseListLayer(Layer, ABC):
    """What the layers of safe lists share: the base list, what it has learned, and what is shown of it."""

    base_column = BASE_COLUMN

    def __init__(
        self,
        setting: Setting,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        delta: float | None = None,
    ) -> None:
        super().__init__(setting, observation_space, action_space)
        _only_rankings(self.name, action_space)
        rows, items = setting.num_envs, setting.num_items
        if items < 2:
            raise ValueError(f"num_items = {items} leaves nothing to exchange; allowed: at least 2")
        if delta is None and setting.horizon is None:
            raise ValueError(
                "delta = None stands for n^-4 with the horizon n, and env has none; allowed: a number in (0, 1)"
            )
        # 4 log n, not log(1 / n^-4): that power is 0 for long horizons
        self.log_inv_delta = (
            4.0 * math.log(setting.horizon or 1) if delta is None else -math.log(open_unit("delta", delta))
        )
        self.pairs = min(setting.num_positions, items - 1)  # of neighbours of which at least one is displayed
        low, high = [0.0, -MOST, 0.0, 0.0, 0.0], [1.0, MOST, MOST, 1.0, 1.0]
        self.widened = Widened(self.name, observation_space, items, (low, high), (low * items, high * items))
        self.observation_space = self.widened.space
        self.base = setting.initial_list.copy()  # (rows, items) best first; those below position K stand in line
        self.place = np.argsort(self.base, axis=1)
        self.lead = np.zeros((rows, items, items), np.int64)  # of a pair's lower item: [row, upper, lower]
        self.compared = np.zeros((rows, items, items), np.int64)
        self.credit = np.zeros((rows, items), np.int64)
        self.action_space = self._actions()

    @abstractmethod
    def _actions(self) -> Space[Any]:
        """The action space of one row."""

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.base[rows] = initial_list[rows]
        self.place[rows] = np.argsort(self.base[rows], axis=1)
        for numbers in (self.lead, self.compared, self.credit):
            numbers[rows] = 0

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        learn_base(
            np.ascontiguousarray(displayed, np.int64),
            np.ascontiguousarray(clicks, np.int8),
            rows,
            self.log_inv_delta,
            MOST_CREDIT,
            self.base,
            self.place,
            self.lead,
            self.compared,
            self.credit,
        )

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        rows, items = self.base.shape
        columns = np.empty((rows, items, -BASE_COLUMN), np.float32)
        show_base(
            self.log_inv_delta,
            MOST_CREDIT,
            LOGS,
            self.setting.num_positions,
            self.base,
            self.lead,
            self.compared,
            self.credit,
            columns,
        )
        return self.widened.show(inner, columns if self.widened.is_table else columns.reshape(rows, -1))


class AdjacentSwapsLayer(BaseListLayer):
    """See ``AdjacentSwaps``."""

    name = "AdjacentSwaps"

    def _actions(self) -> MultiBinary:
        return MultiBinary(self.pairs)

    def action(self, actions: Any) -> NDArray[np.int64]:
        rows = len(self.base)
        need = f"allowed: 0 or 1 for each of the {self.pairs} pairs in each of the {rows} rows"
        wishes = _array(actions, (rows, self.pairs), "biuf", need)  # a Bernoulli sample of torch is made of floats
        wrong = (wishes != 0) & (wishes != 1)
        if wrong.any():
            row, pair = divmod(int(wrong.argmax()), self.pairs)
            raise ValueError(f"action[row {row}][pair {pair}] = {wishes[row, pair]} is out of range; allowed: 0 or 1")
        displayed = np.empty((rows, self.setting.num_positions), np.int64)
        exchange_neighbours(self.base, np.ascontiguousarray(wishes != 0), displayed)
        return displayed


class VectorAdjacentSwaps(VectorLayered):
    """``AdjacentSwaps`` over a vector environment."""

    layer_class = AdjacentSwapsLayer


class AdjacentSwaps(SingleLayered):
    """Act by exchanges of neighbours in a base list: a safe action space, in BubbleRank's sense.

    Actions: ``MultiBinary(M)``, entry m a wish to exchange the items at places m and m + 1 of the base list in this
    session's list. Of two wishes for the same item the upper one counts. M = K - 1; with K < L it is K: the last pair
    is the item at position K and the first hidden one. The base list starts as the production list and changes by
    BubbleRank's rule alone (Li et al., UAI 2019, Algorithm 1, lines 15 to 24); this module's text has the rule and the
    proof of what follows. ``env.layer.base`` (num_envs, num_items) is it. A policy that keeps an exchange, or never
    tries it, teaches nothing: what counts is both orders of a pair, as often as each other.

    Safety: |V| is the number of incorrectly ordered pairs, R_0 the production list. *By construction* every list is the
    base list with at most K / 2 exchanges of neighbours ((K + 1) / 2 with K < L), so that with K = L
    |V(R_t)| <= |V(base list)| + K / 2, whatever the policy does. *With probability* at least 1 - delta^2 L^2 n in n
    sessions (1 - L^2 / n^7 with the default delta) no base list is worse than R_0, hence |V(R_t)| <= |V(R_0)| + K / 2:
    where the click model keeps the paper's A2 to A4 and attraction does not change within an episode. With K < L base
    lists are as safe; but an exchange at position K, with a hidden item, may misorder up to L - K pairs, as the paper's
    algorithm may, too.

    Observations (float32): over a table (num_items, F) five columns more, over an array of one dimension ``num_items``
    times five entries more, item by item:

    | column | meaning | range |
    |---|---|---|
    | -5 (``BASE_COLUMN``) | the item's place in the base list: 0 first, 1 last | [0, 1] |
    | -4 | its lead s over its upper neighbour there: log(1 + s) / 10, or -log(1 - s) / 10 for s < 0 | [-4, 4] |
    | -3 | how many comparisons n with it that was: log(1 + n) / 10 | [0, 4] |
    | -2 | 1 where the pair is decided: s^2 > 4 n log(1 / delta) | 0, 1 |
    | -1 | credit: 0 where the coming session counts in base order alone, 1 in exchanged order alone | [0, 1] |

    The upper neighbour of a hidden item is the item at position K; the first item has none, and zeros. Rewards and the
    length of episodes stay as they are.

    Args:
        env: a ranking environment, single or vector, wrapped or not, with at least two items.
        delta: in (0, 1), of the rule; default n^-4, n the horizon, of a batch whose rows differ the shortest.

    Raises:
        ValueError: ``delta`` is out of range, or None where there is no horizon.
    """

    vector = VectorAdjacentSwaps

    def __init__(self, env: gym.Env[Any, Any], *, delta: float | None = None) -> None:
        super().__init__(env, delta=delta)


class SafeListsLayer(BaseListLayer):
    """See ``SafeLists``."""

    name = "SafeLists"

    def _actions(self) -> SafePermutation:
        items, positions = self.setting.num_items, self.setting.num_positions
        self._door = BatchedPermutation(items, positions, self.setting.num_envs)
        return SafePermutation(items, positions, self.base)

    def action(self, actions: Any) -> NDArray[np.int64]:
        displayed = self._door.checked(actions)
        wrong = first_unsafe(displayed, self.base)
        if wrong >= 0:
            row, k = divmod(wrong, self.setting.num_positions)
            raise ValueError(
                f"action[row {row}] = {displayed[row].tolist()} is not safe: item {displayed[row, k]} at place {k}; "
                f"allowed: the base list {self.base[row].tolist()} with neighbours exchanged, no item twice"
            )
        return displayed


class VectorSafeLists(VectorLayered):
    """``SafeLists`` over a vector environment."""

    layer_class = SafeListsLayer


class SafeLists(SingleLayered):
    """Act by rankings, but only by those that ``AdjacentSwaps`` can make: for a masked Plackett-Luce policy.

    Actions: rankings, of which only the base list with disjoint exchanges of neighbours is allowed: no item, hidden
    ones included, stands more than one place away from its place in the base list. Any other is refused with a
    ValueError, and nothing has happened. ``action_space.sample()`` draws allowed ones, without hidden items. Everything
    else is as in ``AdjacentSwaps``: base list, safety, observations, rewards.

    Args:
        env, delta: see ``AdjacentSwaps``.
    """

    vector = VectorSafeLists

    def __init__(self, env: gym.Env[Any, Any], *, delta: float | None = None) -> None:
        super().__init__(env, delta=delta)
