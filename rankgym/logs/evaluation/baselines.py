"""Baselines of the cascade-DR estimator: guesses of the clicks that are still to come. Any guess keeps it unbiased."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.logs.evaluation.records import PolicyLog
from rankgym.logs.policies import Policy, checked_lists
from rankgym.models.base import ClickModel

# ``baseline(query, displayed, position)`` returns (sessions, items): the expected clicks from ``position`` on, down to
# the cutoff, if this item stands there, the list above is as displayed, and the evaluated policy fills the rest. It may
# look at the queries and at the list above ``position`` only.
Baseline: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.float64]]

PRIOR = 1.0  # sessions with the position's mean, which every mean by item and position has on top


class FittedBaseline:
    """Mean clicks by query, item and position in a log, added up over the positions below with the evaluated policy.

    The guess of a position-based user. Where the policy's item-position probabilities are unknown, clicks below count
    with the position's mean.

    Args:
        log: the sessions to learn from; not those that are evaluated with the baseline.
        policy: the policy that is evaluated.
        num_queries: number of queries in the whole log.
        cutoff: positions whose clicks count.

    Examples:
        >>> from rankgym.logs.evaluation import FittedBaseline, estimate, played_log
        >>> from rankgym.logs.policies import policy_of
        >>> from rankgym.logs.simulating import Simulation
        >>> simulation = Simulation("rankgym/PBM-Yandex-v0", 2_000, query=[0], num_items=4, num_positions=2)
        >>> log, policy = played_log(simulation), policy_of("static", simulation.env.queries.initial_list, 2)
        >>> baseline = FittedBaseline(log.of(slice(1_000)), policy, num_queries=100, cutoff=2)
        >>> rest = log.of(slice(1_000, None))
        >>> estimate(rest, policy, "cascade-dr", baseline=baseline).error < estimate(rest, policy, "rips").error
        True
    """

    def __init__(self, log: PolicyLog, policy: Policy, num_queries: int, cutoff: int) -> None:
        shape = (num_queries, policy.num_items, policy.num_positions)
        place = np.ravel_multi_index((log.query[:, None], log.displayed, np.arange(policy.num_positions)[None]), shape)
        shown = np.bincount(place.ravel(), minlength=int(np.prod(shape))).reshape(shape)
        clicked = np.bincount(place.ravel(), log.clicks.ravel(), int(np.prod(shape))).reshape(shape)
        mean = log.clicks.mean(axis=0) if len(log.query) else np.zeros(policy.num_positions)
        self.rate = (clicked + PRIOR * mean) / (shown + PRIOR)  # (queries, items, positions)
        table = policy.item_position(np.arange(num_queries))
        at = np.tile(mean, (num_queries, 1)) if table is None else (table * self.rate).sum(axis=1)
        at[:, cutoff:] = 0.0
        self.below = at[:, ::-1].cumsum(axis=1)[:, ::-1] - at  # (queries, positions): clicks below each position

    def __call__(self, query: NDArray[np.int64], displayed: NDArray[np.int64], position: int) -> NDArray[np.float64]:
        guess: NDArray[np.float64] = self.rate[query, :, position] + self.below[query, position, None]
        return guess


class ClickModelBaseline:
    """The clicks of a click model, such as one fitted to another log, on lists completed in a fixed order.

    The list above, then the item, then the first other items of ``order``: where the evaluated policy would seldom
    show these, the guess is poor, but cascade-DR stays unbiased.

    Args:
        model: of ``rankgym.models.MODELS``, or your own.
        parameters: the model's, with an axis of queries.
        order: (queries, items) all items in the order in which they complete lists, best first.
        cutoff: positions whose clicks count.

    Raises:
        ValueError: a row of ``order`` is not a list of items.

    Examples:
        A position-based user looks at the second position with probability 0.5:

        >>> import numpy as np
        >>> from rankgym.logs.evaluation import ClickModelBaseline
        >>> from rankgym.models import MODELS
        >>> users = MODELS["PBM"].parameters(np.array([[0.8, 0.4]]), np.array([[1.0, 0.5]]))
        >>> guess = ClickModelBaseline(MODELS["PBM"], users, order=[[0, 1]], cutoff=2)
        >>> guess(np.array([0]), np.array([[0, 1]]), 0).round(3).tolist()  # clicks with item 0, or 1, at the top
        [[1.0, 0.8]]
    """

    def __init__(self, model: ClickModel, parameters: Any, order: ArrayLike, cutoff: int) -> None:
        self.model, self.parameters, self.cutoff = model, parameters, cutoff
        self.order = checked_lists("order", order, np.shape(order)[1])

    def __call__(self, query: NDArray[np.int64], displayed: NDArray[np.int64], position: int) -> NDArray[np.float64]:
        cases = np.concatenate([query[:, None], displayed[:, :position]], axis=1)
        cases, place = np.unique(cases, axis=0, return_inverse=True)  # many sessions have the same list above
        items, positions = self.order.shape[1], displayed.shape[1]
        guess = np.zeros((len(cases), items))
        own = type(self.parameters)(*(np.ascontiguousarray(table[cases[:, 0]]) for table in self.parameters))
        for item in range(items):
            lists = self._completed(cases[:, 0], cases[:, 1:], item, positions)
            clicks = self.model.click_probability(own, lists)
            guess[:, item] = clicks[:, position : self.cutoff].sum(axis=1)
        return guess[place.ravel()]

    def _completed(
        self, query: NDArray[np.int64], above: NDArray[np.int64], item: int, positions: int
    ) -> NDArray[np.int64]:
        """Return lists that begin with ``above`` and ``item``. An item that is above already makes no real list, but
        the policy never shows it: the guess is not used."""
        first = np.concatenate([above, np.full((len(above), 1), item)], axis=1)
        order = self.order[query]
        taken = np.zeros(order.shape, bool)
        np.put_along_axis(taken, first, True, axis=1)
        behind = np.argsort(np.take_along_axis(taken, order, axis=1), axis=1, kind="stable")
        return np.concatenate([first, np.take_along_axis(order, behind, axis=1)], axis=1)[:, :positions]
