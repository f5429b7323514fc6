"""Choose lists near a base list: by exchanges of its neighbours (``AdjacentSwaps``) or as rankings (``SafeLists``)."""

from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.spaces import MultiBinary
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rankgym.kernels import kernel
from rankgym.spaces import BatchedPermutation, Permutation
from rankgym.wrappers.actions.base_list import BaseListLayer, exchange_neighbours
from rankgym.wrappers.forms import AnyEnv
from rankgym.wrappers.layers import SingleLayered
from rankgym.wrappers.spaces import checked_array


class AdjacentSwapsLayer(BaseListLayer):
    """See ``AdjacentSwaps``."""

    def _actions(self) -> MultiBinary:
        return MultiBinary(self.pairs)

    def action(self, actions: Any) -> NDArray[np.int64]:
        rows = len(self.base)
        need = f"allowed: 0 or 1 for each of the {self.pairs} pairs in each of the {rows} rows"
        wishes = checked_array(actions, (rows, self.pairs), "biuf", need)  # torch draws Bernoulli samples as floats
        wrong = (wishes != 0) & (wishes != 1)
        if wrong.any():
            row, pair = divmod(int(wrong.argmax()), self.pairs)
            raise ValueError(f"action[row {row}][pair {pair}] = {wishes[row, pair]} is out of range; allowed: 0 or 1")
        displayed = np.empty((rows, self.setting.num_positions), np.int64)
        exchange_neighbours(self.base, np.ascontiguousarray(wishes != 0), displayed)
        return displayed


class AdjacentSwaps(SingleLayered):
    """Act by exchanges of neighbours in a base list: a safe action space, in BubbleRank's sense.

    Actions: ``MultiBinary(M)``; entry m asks to exchange the items at places m and m + 1 of the base list in this
    session's list. Of two wishes that overlap the upper one counts. M = K - 1; with K < L it is K: the last pair is the
    item at position K and the first hidden one. The base list, ``env.layer.base`` (num_envs, num_items), starts as the
    production list and changes by BubbleRank's rule alone (Li et al., UAI 2019, Algorithm 1, lines 15 to 24). See
    ``rankgym.wrappers.actions.base_list`` for the rule and for the proof of the following. The base list learns nothing
    of a pair that is always, or never, exchanged: both orders must be displayed equally often.

    Safety: |V| is the number of incorrectly ordered pairs, R_0 the production list. *By construction* every list is the
    base list with at most K / 2 exchanges of neighbours ((K + 1) / 2 with K < L), so that with K = L
    |V(R_t)| <= |V(base list)| + K / 2, whatever the policy does. *With probability* at least 1 - delta^2 L^2 n in n
    sessions (1 - L^2 / n^7 with the default delta) no base list is worse than R_0, hence |V(R_t)| <= |V(R_0)| + K / 2:
    if the click model satisfies the paper's A2 to A4 and attraction does not change within an episode. With K < L base
    lists are as safe, but an exchange with a hidden item at position K may misorder up to L - K pairs; so may the
    paper's algorithm.

    Observations (float32): a table (num_items, F) gets five more columns, a flat observation five more entries for each
    item:

    | column | meaning | range |
    |---|---|---|
    | -5 (``BASE_COLUMN``) | the item's place in the base list: 0 first, 1 last | [0, 1] |
    | -4 | its lead s over its upper neighbour there: log(1 + s) / 10, or -log(1 - s) / 10 for s < 0 | [-4, 4] |
    | -3 | the number n of their comparisons: log(1 + n) / 10 | [0, 4] |
    | -2 | 1 if the pair is decided: s^2 > 4 n log(1 / delta) | 0, 1 |
    | -1 | credit: 0 where the coming session counts in base order alone, 1 in exchanged order alone | [0, 1] |

    The upper neighbour of a hidden item is the item at position K; columns -4 .. -1 of the first item are 0. Rewards
    and the length of episodes do not change.

    Args:
        env: a ranking environment, single or vector, wrapped or not, with at least two items.
        delta: the rule's delta in (0, 1); default n^-4, n the horizon (the shortest one, if those of the rows differ).

    Raises:
        ValueError: ``delta`` is out of range, or None and ``env`` has no horizon.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import AdjacentSwaps
        >>> env = AdjacentSwaps(gym.make("rankgym/PBM-Yandex-Rerank-v0", query=0, horizon=100))
        >>> observation, info = env.reset(seed=0)
        >>> env.action_space, env.layer.base[0].tolist()
        (MultiBinary(9), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        >>> *_, info = env.step(np.array([1, 1, 0, 1, 0, 0, 0, 0, 0]))  # of overlapping wishes the upper one counts
        >>> info["displayed"].tolist()
        [1, 0, 2, 4, 3, 5, 6, 7, 8, 9]
    """

    layer_class = AdjacentSwapsLayer

    def __init__(self, env: AnyEnv, *, delta: float | None = None) -> None:
        super().__init__(env, delta=delta)


@kernel
def first_unsafe(displayed, base):
    """The index in ``displayed.ravel()`` of the first item that no disjoint exchange of neighbours explains, or -1."""
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


class SafePermutation(Permutation):
    """All rankings; ``sample`` draws one that is safe now, for row 0 of ``base`` (rows, n), the layer's own array."""

    def __init__(self, n: int, k: int, base: NDArray[np.int64]) -> None:
        super().__init__(n, k)
        self.base = base

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """The base list with each pair of displayed neighbours exchanged by a fair coin, from the top.

        Samples never include a hidden item: displaying it moves it to the end of the queue, so that a sample drawn
        before a reset, as in Gymnasium's ``check_env``, would not be safe after it. With ``mask`` or ``probability``
        see ``Permutation.sample``; such a ranking may be unsafe.
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
    if len(space.base) != n:  # a batch of singles, each with its own base list
        return batch_space(Permutation(space.n, space.k), n)  # type: ignore[return-value]
    return BatchedSafePermutation(space.n, space.k, space.base, deepcopy(space.np_random))


def _near(base: NDArray[np.int64], positions: int, rng: np.random.Generator) -> NDArray[np.int64]:
    displayed = np.empty((len(base), positions), np.int64)
    exchange_neighbours(base, rng.random((len(base), positions - 1)) < 0.5, displayed)
    return displayed


class SafeListsLayer(BaseListLayer):
    """See ``SafeLists``."""

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


class SafeLists(SingleLayered):
    """Act by rankings, but only by those that ``AdjacentSwaps`` can make: for a masked Plackett-Luce policy.

    Actions: the base list with disjoint exchanges of neighbours: no item, hidden ones included, is more than one place
    away from its place in the base list. Any other ranking is refused with a ValueError; the state does not change.
    ``action_space.sample()`` draws allowed rankings without hidden items. Base list, safety, observations and rewards
    are those of ``AdjacentSwaps``.

    Args:
        env, delta: see ``AdjacentSwaps``.

    Raises:
        ValueError: see ``AdjacentSwaps``; and by ``step``, for a list that is not safe.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import SafeLists
        >>> env = SafeLists(gym.make("rankgym/PBM-Yandex-v0", query=0, num_items=4, num_positions=3, horizon=100))
        >>> observation, info = env.reset(seed=0)
        >>> reward = env.step(np.array([1, 0, 2]))[1]
        >>> env.step(np.array([2, 0, 1]))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: action[row 0] = [2, 0, 1] is not safe: item 2 at place 0; allowed: ...
    """

    layer_class = SafeListsLayer

    def __init__(self, env: AnyEnv, *, delta: float | None = None) -> None:
        super().__init__(env, delta=delta)
