"""Whether a logging policy can show all that an evaluated policy shows: without it, no weights help."""

import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankgym.extras import require
from rankgym.logs.evaluation.records import PolicyLog
from rankgym.logs.policies import Policy, is_policy_name, policy_of
from rankgym.models.exhaustive import all_lists

MOST_LISTS = 1_000_000  # of all queries together, that are checked one by one
MOST_ERRORS = 4.0  # of a mean weight, that it may be away from 1
COMPARED = 1_000  # sessions whose probabilities must be those of the policy that a file names
ROUNDING = 1e-6  # of a mean weight, as a log's probabilities may be rounded


def doubt_of(weights: NDArray[np.float64]) -> str:
    """Say why an estimate with these weights (sessions, positions) is not to be trusted; "" if they look sound.

    Their expectation is 1 at every position if the logging policy can show all that the evaluated one shows. One
    session tells nothing.
    """
    sessions = len(weights)
    if sessions < 2:
        return ""
    means, errors = weights.mean(axis=0), weights.std(axis=0, ddof=1) / math.sqrt(sessions)
    far = np.abs(means - 1)
    if not (far > MOST_ERRORS * errors + ROUNDING).any():
        return ""
    worst = int(np.argmax(far - MOST_ERRORS * errors))
    mean = f"{means[worst]:.3g}"
    if np.ptp(weights[:, worst]) == 0:
        what = f"all weights are {mean}"
    else:
        what = f"the mean weight is {mean}, {far[worst] / errors[worst]:.0f} of its standard errors away from 1"
    why = "the log never shows some of what the policy shows, or is too short"
    return f"{what}, not 1: {why}; the estimate and its interval are not to be trusted"


def named_policy(path: Path, log: PolicyLog, initial_list: NDArray[np.int64], num_positions: int) -> Policy | None:
    """Return the policy that a Parquet log's metadata names, with these base lists (queries, items), best first.

    None if the file names none, or if the policy does not have the log's probabilities: other base lists were meant.

    For the command line; users call ``rankgym.logs.policies.policy_of``.
    """
    if not path.name.lower().endswith(".parquet") or log.prefix_propensity is None:
        return None
    said = (require("pyarrow.parquet").read_schema(path).metadata or {}).get(b"rankgym", b"{}")
    try:
        made = json.loads(said)
        name = made.get("policy") if isinstance(made, dict) else None
        if not isinstance(name, str) or not is_policy_name(name):
            return None
        policy = policy_of(name, initial_list, num_positions)
    except ValueError:  # of another program, or version
        return None
    some = log.of(slice(COMPARED))
    if some.displayed.shape[1] != num_positions or some.prefix_propensity is None:
        return None
    same = np.allclose(policy.prefixes(some.query, some.displayed), some.prefix_propensity, rtol=1e-6, atol=0)
    return policy if same else None


class NoSupport(ValueError):
    """The logging policy never shows what the evaluated one shows for a query.

    See ``check_support``, which raises it.
    """

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

    Args:
        log: sessions of ``logging``; its queries are checked.
        policy: the policy to evaluate.
        logging: the policy that made the log.
        method: a key of ``METHODS``.
        cutoff: positions whose clicks count.

    Raises:
        NoSupport: see above.
        ValueError: the policies have other sizes, or ``logging`` has fewer queries than the log.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.evaluation import PolicyLog, check_support
        >>> from rankgym.logs.policies import StaticPolicy, UniformPolicy
        >>> log = PolicyLog(np.array([0]), np.array([[0, 1]]), np.array([[1, 0]], np.int8))
        >>> check_support(log, StaticPolicy([[0, 1]], 2), UniformPolicy(2, 2), "iips", cutoff=2)
        >>> check_support(log, UniformPolicy(2, 2), StaticPolicy([[0, 1]], 2), "iips", cutoff=2)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        rankgym.logs.evaluation.support.NoSupport: policy shows item 0 at position 2 for query 0, logging never; ...
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
