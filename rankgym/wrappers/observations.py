"""Observation wrappers: they show a policy the sessions so far, without which the problem cannot be learned."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, MultiBinary, Space
from numpy.typing import NDArray

from rankgym.arguments import number_in
from rankgym.kernels import kernel
from rankgym.wrappers.forms import AnyEnv
from rankgym.wrappers.layers import Layer, Setting, SingleLayered
from rankgym.wrappers.spaces import widened

LOG_SCALE = 2.0  # counts n are shown as log(1 + n) / 2: 3.5 after a thousand, 4.6 after ten thousand
TIME_SCALE = 10.0  # rounds left m are shown as log(1 + m) / 10, so that a longer horizon changes little
MAX_LOG, MAX_TIME = 20.0, 4.0  # bounds on the scaled logarithms of counts and of rounds left
LOGS_OF_DISCOUNT = 5  # features of an item and discount besides the shares by position
ROUNDS_LEFT_WITHOUT_HORIZON = 1_000_000
MAX_ROUNDS_LEFT = 10**15  # larger numbers are shown like this one: 3.45

LOGS = np.array([math.log(1.0 + n) / LOG_SCALE for n in range(4096)])  # ten look-ups take as long as one logarithm


@kernel
def learn_session(displayed, clicks, rows, discount, logs, counts, table):
    """Add one session to ``counts`` (rows, discounts, items, 2 positions + 1), in the rows of ``rows``, and show it.

    Columns of ``counts``: displays at each position, clicks at each position, observations: displays down to the list's
    lowest click, or all displays without a click. ``table`` (rows, items, features) has
    ``show_item``'s features, one discount behind the other.
    """
    positions = displayed.shape[1]
    for row in range(displayed.shape[0]):
        if not rows[row]:
            continue
        lowest = positions - 1
        while lowest > 0 and not clicks[row, lowest]:
            lowest -= 1
        if not clicks[row, lowest]:  # no click at all
            lowest = positions - 1
        for d in range(discount.shape[0]):
            if discount[d] < 1.0:
                for item in range(counts.shape[2]):
                    for column in range(counts.shape[3]):
                        counts[row, d, item, column] *= discount[d]
            for k in range(positions):
                item = displayed[row, k]
                counts[row, d, item, k] += 1.0
                if clicks[row, k]:
                    counts[row, d, item, positions + k] += 1.0
                if k <= lowest:
                    counts[row, d, item, 2 * positions] += 1.0
            if discount[d] < 1.0:
                for item in range(counts.shape[2]):
                    show_item(counts, row, d, item, logs, table)
            else:  # the other items have not changed
                for k in range(positions):
                    show_item(counts, row, d, displayed[row, k], logs, table)


@kernel
def show_item(counts, row, d, item, logs, table):
    """Fill the 5 + 2 positions features of one item in ``table`` for discount number ``d`` from ``counts``."""
    positions = (counts.shape[3] - 1) // 2
    first = d * (LOGS_OF_DISCOUNT + 2 * positions)
    shares = first + LOGS_OF_DISCOUNT
    displays, clicks = 0.0, 0.0
    for k in range(positions):
        displays += counts[row, d, item, k]
        clicks += counts[row, d, item, positions + k]
    shown, clicked = log_count(displays, logs), log_count(clicks, logs)
    observed = log_count(counts[row, d, item, 2 * positions], logs)
    table[row, item, first] = shown
    table[row, item, first + 1] = clicked
    table[row, item, first + 2] = observed
    table[row, item, first + 3] = LOG_SCALE * min(clicked - shown, 0.0)  # sums of fading counts are rounded apart
    table[row, item, first + 4] = LOG_SCALE * min(clicked - observed, 0.0)
    per_display, per_click = np.true_divide(1.0, 1.0 + displays), np.true_divide(1.0, 1.0 + clicks)
    for k in range(positions):
        table[row, item, shares + k] = counts[row, d, item, k] * per_display
        table[row, item, shares + positions + k] = counts[row, d, item, positions + k] * per_click


@kernel
def log_count(n, logs):
    """log(1 + ``n``) / 2, looked up in ``logs`` if ``n`` is one of its indices."""
    whole = np.int64(n)
    if whole < logs.shape[0] and whole == n:
        return logs[whole]
    return math.log(1.0 + n) / LOG_SCALE


class ItemStatisticsLayer(Layer):
    """See ``ItemStatistics``."""

    def __init__(
        self, setting: Setting, observation_space: Space[Any], action_space: Space[Any], *, discounts: Any = (1.0,)
    ) -> None:
        super().__init__(setting, observation_space, action_space)
        self.discount = checked_discounts(discounts)
        rows, items, positions = setting.num_envs, setting.num_items, setting.num_positions
        low = [0.0] * 3 + [-2 * MAX_LOG] * 2 + [0.0] * 2 * positions
        high = [MAX_LOG] * 3 + [0.0] * 2 + [1.0] * 2 * positions
        low, high = low * len(self.discount) + [0.0, 0.0], high * len(self.discount) + [1.0, MAX_TIME]
        self.features = len(low)
        self.observation_space, self.appends = with_columns(self.name, observation_space, items, low, high)
        self.counts = np.zeros((rows, len(self.discount), items, 2 * positions + 1))
        self.table = np.zeros((rows, items, self.features), np.float32)  # all features but the rounds left
        self.played = np.zeros(rows, np.int64)
        self.begin(np.ones(rows, bool), setting.initial_list)

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.counts[rows] = 0.0
        self.table[rows] = 0.0
        self.played[rows] = 0
        place = np.argsort(initial_list, axis=1) / max(self.setting.num_items - 1, 1)  # 0 first, 1 last
        self.table[rows, :, -2] = place[rows]

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        learn_session(*as_compiled(displayed, clicks, rows), self.discount, LOGS, self.counts, self.table)
        self.played += rows

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        table = np.concatenate([inner, self.table], axis=2) if self.appends else self.table.copy()
        table[:, :, -1] = np.log1p(self._rounds_left())[:, None] / TIME_SCALE
        return table

    def _rounds_left(self) -> NDArray[np.int64]:
        if self.setting.horizon is None:
            return np.full(len(self.played), ROUNDS_LEFT_WITHOUT_HORIZON)
        return np.maximum(min(self.setting.horizon, MAX_ROUNDS_LEFT) - self.played, 0)


@kernel
def keep_session(displayed, clicks, rows, last):
    """Show one session in ``last`` (rows, items, 2), in place of the one before, for the rows of ``rows``."""
    positions = displayed.shape[1]
    for row in range(displayed.shape[0]):
        if not rows[row]:
            continue
        for item in range(last.shape[1]):
            last[row, item, 0] = 0.0
            last[row, item, 1] = 0.0
        for k in range(positions):
            last[row, displayed[row, k], 0] = (positions - k) / positions
            last[row, displayed[row, k], 1] = 1.0 if clicks[row, k] else 0.0


class LastDisplayedLayer(Layer):
    """See ``LastDisplayed``."""

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        items, low, high = setting.num_items, [0.0] * 2, [1.0] * 2
        self.observation_space, self.appends = with_columns(self.name, observation_space, items, low, high)
        self.last = np.zeros((setting.num_envs, setting.num_items, 2), np.float32)

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.last[rows] = 0.0

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        keep_session(*as_compiled(displayed, clicks, rows), self.last)

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        return np.concatenate([inner, self.last], axis=2) if self.appends else self.last.copy()


class TimeAwareLayer(Layer):
    """See ``TimeAware``."""

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(setting, observation_space, action_space)
        if setting.horizon is None:
            allowed = "an environment with a horizon"
            raise ValueError(f"env has no horizon, so its played share is undefined; allowed: {allowed}")
        if not isinstance(observation_space, (Box, MultiBinary)) or len(observation_space.shape) not in (1, 2):
            allowed = "clicks, a flat Box or a table of items"
            raise ValueError(f"env shows {observation_space}; allowed below {self.name}: {allowed}")
        self.observation_space = widened(observation_space, [0.0], [1.0])
        self.played = np.zeros(setting.num_envs, np.int64)

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.played[rows] = 0

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        self.played += rows

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        assert self.setting.horizon is not None
        shown = np.empty((*inner.shape[:-1], inner.shape[-1] + 1), np.float32)
        shown[..., :-1] = inner
        share = np.minimum(self.played / self.setting.horizon, 1.0)  # some rows of a batch may have longer horizons
        shown[..., -1] = share.reshape(-1, *[1] * (inner.ndim - 2))
        return shown


def checked_discounts(values: Any) -> NDArray[np.float64]:
    """``discounts`` as an array (discounts,), or a ValueError."""
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(values, (list, tuple)) or not values:
        allowed = "one or more numbers in (0, 1], such as [1.0, 0.999]"
        raise ValueError(f"discounts = {values!r} is not a list; allowed: {allowed}")
    return np.array([number_in(f"discounts[{n}]", value, 0, 1, open_low=True) for n, value in enumerate(values)])


def as_compiled(
    displayed: NDArray[Any], clicks: NDArray[Any], rows: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Convert a session's arrays to the dtypes and layout for which the kernels are compiled."""
    return np.array(displayed, np.int64, order="C"), np.array(clicks != 0, order="C"), np.array(rows, bool, order="C")


def with_columns(layer: str, space: Any, items: int, low: Sequence[float], high: Sequence[float]) -> tuple[Box, bool]:
    """The space of a table (items, columns) with columns in ``low`` .. ``high``, and whether a table below comes first.

    ``space`` is the observation space below: clicks, which the table replaces, or a table; others raise a ValueError.
    """
    if isinstance(space, Box) and len(space.shape) == 2 and space.shape[0] == items:
        return widened(space, low, high), True
    if isinstance(space, Box):
        allowed = f"clicks or a table of {items} items; wrap it further inside"
        raise ValueError(f"env shows {space}; allowed below {layer}: {allowed}")
    return widened(Box(0.0, 1.0, (items, 0), np.float32), low, high), False


class ItemStatistics(SingleLayered):
    """Show what was displayed and clicked so far, by item: a table (num_items, features) float32.

    The bandits of this suite count the same: sums over the sessions of the episode. For each of ``discounts`` a row
    has, with K positions, the 5 + 2 K features

    | feature | meaning | range |
    |---|---|---|
    | 0 | n, how often the item was displayed: log(1 + n) / 2 | 0 .. 20; 3.5 after 1,000 |
    | 1 | c, how often it was clicked: log(1 + c) / 2 | 0 .. 20 |
    | 2 | o, how often it was observed: log(1 + o) / 2 | 0 .. 20 |
    | 3 | clicks by displays: log((1 + c) / (1 + n)) | -40 .. 0 |
    | 4 | clicks by observations: log((1 + c) / (1 + o)) | -40 .. 0 |
    | 5 .. 4 + K | displays at position k, as a share n_k / (1 + n) | [0, 1) |
    | 5 + K .. 4 + 2 K | clicks at position k, as a share c_k / (1 + c) | [0, 1) |

    and behind all of them two more, which do not depend on the discounts:

    | feature | meaning | range |
    |---|---|---|
    | -2 | place in the production list | 0 (first) .. 1 (last) |
    | -1 | m rounds left in the episode: log(1 + m) / 10; without a horizon m is a million | 0 .. 4 |

    An item counts as observed down to the list's lowest click, and without a click wherever it was displayed, as with
    ``feedback="last"`` of the cascade agents: a user of the cascade model has then surely seen it.

    The rates could be computed from the counts, but a network finds it hard to subtract: with rates Plackett-Luce
    policies learned several times as fast.

    Over a table of another layer these columns are appended; over clicks they replace them. Actions, rewards and
    episodes do not change.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
        discounts: factors in (0, 1] by which counts shrink in each session. 1.0 counts everything. 0.999 forgets, for
            users who change: its counts hold about the last 1,000 sessions. Discounted counts are not whole numbers,
            and also shrink for items that are not displayed.

    Raises:
        ValueError: ``env`` is not a ranking environment or shows a flat Box, or a discount is out of range.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import ItemStatistics
        >>> env = ItemStatistics(gym.make("rankgym/CM-Yandex-v0", query=0, num_positions=2, horizon=50))
        >>> table, info = env.reset(seed=0)
        >>> table.shape  # 10 items; 5 + 2 * 2 features and two more
        (10, 11)
        >>> for _ in range(50):
        ...     table, *_ = env.step(np.array([3, 5]))
        >>> table[:, 0].nonzero()[0].tolist(), round(float(table[3, 0]), 3)  # log(1 + 50) / 2
        ([3, 5], 1.966)
        >>> round(float(table[0, -1]), 3)  # no rounds left
        0.0
    """

    layer_class = ItemStatisticsLayer

    def __init__(self, env: AnyEnv, *, discounts: Sequence[float] = (1.0,)) -> None:
        super().__init__(env, discounts=discounts)


class LastDisplayed(SingleLayered):
    """Show the last session by item: a table (num_items, 2) float32 in [0, 1].

    | feature | meaning |
    |---|---|
    | 0 | (K - k) / K for an item that was displayed at position k of K (from 0): 1 at the top; 0 if it was not |
    | 1 | 1 if it was clicked, else 0 |

    All are 0 at the start of an episode. Clicks alone do not say which items were displayed; the table does. All else
    is as in ``ItemStatistics``.

    Args:
        env: a ranking environment, single or vector, wrapped or not.

    Raises:
        ValueError: ``env`` is not a ranking environment, or shows a flat Box.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import LastDisplayed
        >>> env = LastDisplayed(gym.make("rankgym/CM-Yandex-v0", query=0, num_items=4, num_positions=2))
        >>> observation, info = env.reset(seed=0)
        >>> table, *_ = env.step(np.array([3, 1]))
        >>> table[:, 0].tolist()  # item 3 at the top, item 1 below it
        [0.0, 0.5, 0.0, 1.0]
    """

    layer_class = LastDisplayedLayer


class TimeAware(SingleLayered):
    """Append the share of the horizon that has been played, float32 in [0, 1]: 0 after a reset, 1 at the end.

    It is one more entry of clicks or a flat Box, and one more column of a table of items, the same in each row. The
    horizon counts sessions, even if a session takes several steps. Actions, rewards and episodes do not change. After
    Pardo et al., "Time limits in reinforcement learning" (ICML 2018): exploring pays only while time is left to profit
    from it.

    Args:
        env: a ranking environment with a horizon, single or vector, wrapped or not. In a batch of singles with
            different horizons the shortest one counts.

    Raises:
        ValueError: ``env`` is not a ranking environment, has no horizon, or shows anything but clicks, a Box of one
            dimension, or one of two.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import TimeAware
        >>> env = TimeAware(gym.make("rankgym/CM-Yandex-v0", query=0, num_positions=3, horizon=4))
        >>> observation, info = env.reset(seed=0)
        >>> [float(env.step(np.array([0, 1, 2]))[0][-1]) for _ in range(4)]
        [0.25, 0.5, 0.75, 1.0]
    """

    layer_class = TimeAwareLayer
