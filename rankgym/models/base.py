"""Base of the click models: parameters, rewards, and best lists that several models share."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import probabilities
from rankgym.kernels import kernel


class Reward(NamedTuple):
    """One reward of a click model. Arrays have a leading axis of rows; the first ``cutoff`` positions are rewarded.

    ``click(*parameters, key, session, displayed, cutoff, clicks, reward)`` is a kernel that plays session number
    ``session`` (rows,) of the users with the keys ``key`` (rows,) on the lists ``displayed`` (rows, positions) and
    fills ``clicks`` (rows, positions) int8 and ``reward`` (rows,) float64.

    ``value(*parameters, displayed, cutoff, expected)`` is a kernel that fills ``expected`` (rows,) with mean rewards.

    ``best_lists(parameters, num_positions, cutoff)`` gives lists (rows, num_positions) of the largest mean reward.

    Examples:
        The cascade model pays one click at most, so that the order of the list does not matter:

        >>> import numpy as np
        >>> from rankgym.models import MODELS
        >>> reward = MODELS["CM"].rewards["clicks"]
        >>> attraction, expected = np.array([[0.5, 0.2, 0.8]]), np.empty(1)
        >>> reward.value(attraction, np.array([[0, 1]]), 2, expected)
        >>> expected.round(3).tolist()  # 1 - 0.5 * 0.8
        [0.6]
        >>> reward.best_lists(MODELS["CM"].parameters(attraction), 2, 2).tolist()
        [[2, 0]]
    """

    click: Callable[..., None]
    value: Callable[..., None]
    best_lists: Callable[[Any, int, int], NDArray[np.int64]]


Axes: TypeAlias = dict[str, tuple[str, ...]]


class ClickModel(NamedTuple):
    """A click model: its name, its parameters, its examination probabilities, and its rewards by name.

    ``parameters`` is a NamedTuple of arrays with a leading axis of rows; ``axes`` names each field's other axes:
    ``"item"``, ``"position"``, or ``"previous"`` (the position of the previous click; the last entry stands for no
    click yet). A field with one number a row has the axes ().

    ``examine(*parameters, displayed, examination)`` is a kernel that fills ``examination`` (rows, positions) with
    chi(R, k), the probability that position k of the row's list R is examined. Pictures show it, and
    ``check_assumptions`` is about it. In every model here a user clicks at position k with probability
    chi(R, k) alpha(R(k)).

    A model whose users click otherwise, such as on what they trust without being attracted, says so by
    ``clicks(*parameters, displayed, probability)``, which fills ``probability`` (rows, positions) with the probability
    of a click at each position. The assumptions, which are about chi and alpha, cannot be checked in it.

    The methods take lists ``displayed`` (rows, positions) int64 of distinct items. They do not check their arguments.

    Examples:
        >>> import numpy as np
        >>> from rankgym.models import MODELS
        >>> model, displayed = MODELS["CM"], np.array([[2, 0, 1]])
        >>> users = model.parameters(np.array([[0.5, 0.2, 0.8]]))
        >>> model.axes, model.examination(users, displayed).round(3).tolist()
        ({'attraction': ('item',)}, [[1.0, 0.2, 0.1]])
        >>> model.click_probability(users, displayed).round(3).tolist()
        [[0.8, 0.1, 0.02]]
        >>> model.values(users, displayed, 3, "clicks").round(3).tolist()  # the sum of these
        [0.92]
    """

    name: str
    parameters: type[Any]
    axes: Axes
    examine: Callable[..., None]
    rewards: dict[str, Reward]
    clicks: Callable[..., None] | None = None

    def examination(self, parameters: Any, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return chi(R, k), (rows, positions): the probability that each position of ``displayed`` is examined."""
        examination = np.empty(displayed.shape)
        self.examine(*parameters, np.ascontiguousarray(displayed, np.int64), examination)
        return examination

    def click_probability(self, parameters: Any, displayed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability (rows, positions) of a click at each position of ``displayed``."""
        if self.clicks is None:
            return self.examination(parameters, displayed) * np.take_along_axis(parameters.attraction, displayed, 1)
        probability = np.empty(displayed.shape)
        self.clicks(*parameters, np.ascontiguousarray(displayed, np.int64), probability)
        return probability

    def values(self, parameters: Any, displayed: NDArray[np.int64], cutoff: int, reward: str) -> NDArray[np.float64]:
        """Return the expected reward (rows,) of each list of ``displayed`` (rows, positions)."""
        expected = np.empty(len(displayed))
        self.rewards[reward].value(*parameters, np.ascontiguousarray(displayed, np.int64), cutoff, expected)
        return expected


def given_table(name: str, values: Any, axes: Sequence[str]) -> NDArray[np.float64]:
    """Return the given parameter ``name``, of one query or with an axis of queries, as a table (queries, *axes)."""
    label, number = f"parameters[{name!r}]", len(axes)
    try:
        table = probabilities(label, [values] if number == 0 and not hasattr(values, "__len__") else values, number + 1)
    except ValueError as error:
        raise ValueError(f"{error}{table_form(axes)}") from None
    if table.ndim < number:
        allowed = f"allowed: {number} to {number + 1} dimensions{table_form(axes)}"
        raise ValueError(f"{label} has shape {table.shape}; {allowed}")
    return table if table.ndim > number else table[None]


def cut(name: str, table: NDArray[np.float64], axes: Sequence[str], items: int, positions: int) -> NDArray[np.float64]:
    """Return a copy of the parameter ``name``, (queries, *axes), cut to the first items and positions.

    Raises a ValueError if it has fewer.
    """
    for number, axis in enumerate(axes, start=1):
        entries, size = table.shape[number], items if axis == "item" else positions
        if entries < size:
            counted = f"{entries} {'entry' if entries == 1 else 'entries'}"
            if "previous" in axes:
                counted = f"{entries} {('row', 'column')[number - 1]}{'s' * (entries != 1)}"
            raise ValueError(f"parameters[{name!r}] has {counted}; allowed: at least {size}{table_form(axes)}")
        first = np.arange(size)
        if axis == "previous":
            first[-1] = entries - 1  # no click yet
        table = table.take(first, axis=number)
    return np.array(table, order="C")


def table_form(axes: Sequence[str]) -> str:
    """Return the meaning of a table's rows and columns for an error message; "" if the parameter is not a table."""
    if "previous" not in axes:
        return ""
    return ": a row for each position, a column for each position of the previous click, the last one for no click yet"


def sorted_lists(attraction: NDArray[np.float64], num_positions: int) -> NDArray[np.int64]:
    """Return the ``num_positions`` most attractive items of each row, best first; ties in the order of the items.

    Args:
        attraction: (rows, items).
        num_positions: 1 .. items.

    Returns:
        Lists (rows, num_positions) int64.

    Examples:
        >>> import numpy as np
        >>> from rankgym.models import sorted_lists
        >>> sorted_lists(np.array([[0.2, 0.9, 0.2, 0.5]]), 3).tolist()  # items 0 and 2 are equal
        [[1, 3, 0]]
    """
    return np.argsort(-attraction, axis=1, kind="stable")[:, :num_positions].astype(np.int64)


def most_attractive(parameters: Any, num_positions: int, cutoff: int) -> NDArray[np.int64]:
    """The most attractive items, best first: any order of the first ``cutoff`` of them is optimal.

    A ``best_lists`` for ``Reward``; the (rows, num_positions) lists do not depend on ``cutoff``.

    Examples:
        >>> import numpy as np
        >>> from rankgym.models import MODELS, most_attractive
        >>> users = MODELS["CM"].parameters(np.array([[0.2, 0.9, 0.5]]))
        >>> most_attractive(users, num_positions=2, cutoff=1).tolist()
        [[1, 2]]
    """
    return sorted_lists(parameters.attraction, num_positions)


def matched_lists(
    attraction: NDArray[np.float64], weight: NDArray[np.float64], num_positions: int, cutoff: int
) -> NDArray[np.int64]:
    """Match the best ``cutoff`` items to the first ``cutoff`` positions, the best to that of the largest ``weight``.

    The items below them are sorted. ``weight`` is (rows, positions); ties go to the upper position.

    Args:
        attraction: (rows, items).
        weight: (rows, positions), such as the probability that a position is examined.
        num_positions: 1 .. items.
        cutoff: 1 .. ``num_positions``.

    Returns:
        Lists (rows, num_positions) int64.

    Examples:
        >>> import numpy as np
        >>> from rankgym.models import matched_lists
        >>> attraction, examined = np.array([[0.2, 0.9, 0.5]]), np.array([[0.6, 1.0, 0.3]])
        >>> matched_lists(attraction, examined, 3, 3).tolist()  # item 1 stands where most users look
        [[2, 1, 0]]
    """
    lists = sorted_lists(attraction, num_positions)
    places = np.argsort(-weight[:, :cutoff], axis=1, kind="stable")
    matched = lists.copy()
    np.put_along_axis(matched, places, lists[:, :cutoff], axis=1)
    return matched


def completed_lists(first: NDArray[np.int64], ranked: NDArray[np.int64], num_positions: int) -> NDArray[np.int64]:
    """Complete the lists ``first`` (rows, cutoff) by the other items in the order of ``ranked``."""
    taken = np.zeros(ranked.shape, bool)
    np.put_along_axis(taken, first, True, axis=1)
    behind = np.argsort(np.take_along_axis(taken, ranked, axis=1), axis=1, kind="stable")
    others = np.take_along_axis(ranked, behind, axis=1)[:, : num_positions - first.shape[1]]
    return np.concatenate([first, others], axis=1)


@kernel
def choose(attraction, onward, order, value_of, taken, best):
    """Choose the items of ``order`` (rows, items) for the best list, by dynamic programming; see ``scanned_lists``.

    ``value_of`` (cutoff + 1,) and ``taken`` (items, cutoff + 1) are work space.
    """
    items, cutoff = order.shape[1], best.shape[1]
    for row in range(order.shape[0]):
        value_of[:] = -1.0  # best value of 0 .. cutoff positions filled from the items done; -1: impossible
        value_of[0] = 0.0
        for place in range(items - 1, -1, -1):
            item = order[row, place]
            for size in range(min(cutoff, items - place), 0, -1):  # value_of[size - 1] is still without this item
                with_it = attraction[row, item] + onward[row, item] * value_of[size - 1]
                taken[place, size] = with_it >= value_of[size]
                value_of[size] = max(with_it, value_of[size])
        size = cutoff
        for place in range(items):
            if size > 0 and taken[place, size]:
                best[row, cutoff - size] = order[row, place]
                size -= 1


def scanned_lists(
    attraction: NDArray[np.float64], onward: NDArray[np.float64], num_positions: int, cutoff: int
) -> NDArray[np.int64]:
    """Return the exact best lists for expected clicks if going on depends on the item alone, in O(L log L + L cutoff).

    A user who examines item i clicks it with probability a_i and goes on with q_i = ``onward`` (rows, items), clicked
    or not. With W the expected clicks below, those from i on are a_i + q_i W. If j stands under i, to exchange them
    loses a_i (1 - q_j) - a_j (1 - q_i), whatever W is. So some best list has its items by falling a / (1 - q): those
    with q = 1 first (where a = 0 as well, an item does nothing wherever it stands). It remains to choose the items,
    from the last of that order to the first: as W counts with q_i >= 0 only, f(i, m) = max(f(i + 1, m),
    a_i + q_i f(i + 1, m - 1)) is the largest number of expected clicks at m positions from the items i, i + 1, ...

    Args:
        attraction, onward: (rows, items) in [0, 1].
        num_positions: 1 .. items.
        cutoff: 1 .. ``num_positions``; only clicks at these positions count.

    Returns:
        Lists (rows, num_positions) int64.

    Examples:
        Item 1 is the most attractive one, but its users leave:

        >>> import numpy as np
        >>> from rankgym.models import scanned_lists
        >>> attraction, onward = np.array([[0.5, 0.6, 0.4]]), np.array([[0.9, 0.0, 0.9]])
        >>> scanned_lists(attraction, onward, 3, 3).tolist()
        [[0, 2, 1]]
    """
    ranked = sorted_lists(attraction, attraction.shape[1])
    leaving = 1.0 - onward
    ratio = np.divide(attraction, leaving, out=np.full(attraction.shape, np.inf), where=leaving > 0)
    by_ratio = np.argsort(-np.take_along_axis(ratio, ranked, axis=1), axis=1, kind="stable")
    order = np.take_along_axis(ranked, by_ratio, axis=1)
    rows, items = attraction.shape
    best = np.empty((rows, cutoff), np.int64)
    choose(attraction, onward, order, np.empty(cutoff + 1), np.empty((items, cutoff + 1), bool), best)
    return completed_lists(best, ranked, num_positions)
