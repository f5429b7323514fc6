"""Whether a logging policy can show all that an evaluated policy shows: without it, no weights help."""

import math

import numpy as np
from numpy.typing import NDArray

from rankgym.logs.evaluation.records import PolicyLog
from rankgym.logs.policies import Policy
from rankgym.models.exhaustive import all_lists

MOST_LISTS = 1_000_000  # of all queries together, that are checked one by one


class NoSupport(ValueError):
    """The logging policy never shows what the evaluated one shows for a query."""

    def __init__(self, shown: str, query: int) -> None:
        self.shown, self.query = shown, query
        super().__init__(self.told(str(query)))

    def told(self, query: str) -> str:
        """The message, with a name of the query."""
        what = f"policy shows {self.shown} for query {query}, logging never"
        return f"{what}; allowed: a log of a policy that explores there"


def check_support(log: PolicyLog, policy: Policy, logging: Policy, method: str, cutoff: int) -> None:
    """Raise a NoSupport, a ValueError, if ``logging`` never shows what ``policy`` shows, for some query of the log.

    Methods that weigh items at positions need these; the others need lists. With many lists, or for policies without
    item-position probabilities, only the necessary condition that is known is checked.
    """
    sizes = [(one.num_items, one.num_positions) for one in (policy, logging)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"policy has (items, positions) = {sizes[0]} and logging {sizes[1]}; allowed: the same")
    queries = logging.num_queries
    if queries is not None and int(log.query.max()) >= queries:
        raise ValueError(f"the log has query {log.query.max()}; allowed by logging: 0 .. {queries - 1}")
    if logging.shows_all_lists:
        return
    asked = np.unique(log.query)
    _check_places(asked, policy, logging, cutoff)
    if method == "iips":
        return
    positions = policy.num_positions if method == "sips" else cutoff
    if math.perm(policy.num_items, positions) * len(asked) <= MOST_LISTS:
        _check_lists(asked, policy, logging, positions)


def _check_places(asked: NDArray[np.int64], policy: Policy, logging: Policy, cutoff: int) -> None:
    wanted, given = policy.item_position(asked), logging.item_position(asked)
    if wanted is None or given is None:
        return
    lacking = np.argwhere((wanted > 0)[:, :, :cutoff] & (given <= 0)[:, :, :cutoff])
    if len(lacking):
        row, item, position = (int(number) for number in lacking[0])
        raise NoSupport(f"item {item} at position {position + 1}", int(asked[row]))


def _check_lists(asked: NDArray[np.int64], policy: Policy, logging: Policy, positions: int) -> None:
    lists = all_lists(policy.num_items, positions)
    for query in asked:
        same = np.full(len(lists), query)
        wanted, given = (one.prefixes(same, lists)[:, -1] for one in (policy, logging))
        lacking = np.flatnonzero((wanted > 0) & (given <= 0))
        if len(lacking):
            which = f"{'list' if positions == policy.num_positions else 'first items'} {lists[lacking[0]].tolist()}"
            raise NoSupport(f"the {which}", int(query))
