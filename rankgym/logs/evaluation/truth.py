"""The true value of a policy in an environment: what only a suite with the truth has."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import count_of, whole_number
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.logs.policies import Policy
from rankgym.models.exhaustive import all_lists

MOST_LISTS = 200_000  # of a query, that are added up; of more, some are drawn
DRAWN = 10_000  # lists a query


def true_values(
    env: RankingVectorEnv,
    policy: Policy,
    *,
    query: Iterable[int] | None = None,
    cutoff: int | None = None,
    drawn: int = DRAWN,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the expected clicks of a policy's list for each query, and their standard errors, (queries,) each.

    All lists are added up, and the error is 0, if a query has at most 200,000; else the mean of drawn lists is taken,
    each with its exact value.

    Args:
        env: a ranking environment whose users do not change.
        policy: for its items, positions and queries.
        query: numbers of the queries. Default: all of ``env``.
        cutoff: positions whose clicks count. Default: the environment's.
        drawn: lists that are drawn for each query, if not all are added up.
        seed: of these lists.

    Raises:
        ValueError: the users of ``env`` change, or an argument is out of range.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.logs.evaluation import true_values
        >>> from rankgym.logs.policies import UniformPolicy
        >>> env = gym.make_vec("rankgym/CM-Synthetic-v0", parameters={"attraction": [0.8, 0.4]}, num_positions=1)
        >>> value, error = true_values(env, UniformPolicy(num_items=2, num_positions=1))
        >>> value.round(6).tolist(), error.tolist()  # the mean of both items
        ([0.6], [0.0])
    """
    if env.schedule is not None:
        raise ValueError(f"the users of {env} change; allowed: an environment where they do not")
    cutoff = env.cutoff if cutoff is None else whole_number("cutoff", cutoff, 1, env.num_positions)
    drawn = count_of("drawn", drawn, 2)
    asked = list(range(env.queries.num_queries)) if query is None else [int(number) for number in query]
    parameters = env.queries.parameters
    every = math.perm(env.num_items, env.num_positions) <= MOST_LISTS
    lists = all_lists(env.num_items, env.num_positions) if every else None
    value, error = np.empty(len(asked)), np.zeros(len(asked))
    generator = np.random.default_rng(seed)
    for row, number in enumerate(asked):
        shown = lists if lists is not None else policy.sample(np.full(drawn, number), generator)
        own = type(parameters)(*(np.repeat(table[[number]], len(shown), axis=0) for table in parameters))
        paid = env.model.values(own, shown, cutoff, "clicks")
        if every:
            value[row] = policy.probability(np.full(len(shown), number), shown) @ paid
        else:
            value[row], error[row] = paid.mean(), paid.std(ddof=1) / math.sqrt(drawn)
    return value, error


def true_value(
    env: RankingVectorEnv, policy: Policy, query: NDArray[np.int64], *, cutoff: int | None = None
) -> tuple[float, float]:
    """Return the mean of ``true_values`` over the queries (sessions,) of a log, and its standard error.

    Args:
        env, policy, cutoff: as in ``true_values``.
        query: (sessions,) the log's queries; each counts as often as it occurs.

    Raises:
        ValueError: the users of ``env`` change, or ``cutoff`` is out of range.

    Examples:
        The production list of the query 0 earns what its own environment says:

        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.logs.evaluation import true_value
        >>> from rankgym.logs.policies import policy_of
        >>> env = gym.make_vec("rankgym/CM-Yandex-v0", query=0, num_items=4, num_positions=2)
        >>> policy = policy_of("static", env.queries.initial_list, 2)
        >>> observation, info = env.reset(seed=0)
        >>> value, error = true_value(env, policy, np.zeros(10, np.int64))
        >>> bool(np.isclose(value, env.step(env.initial_list[:, :2])[4]["expected_reward"][0])), error
        (True, 0.0)
    """
    asked, sessions = np.unique(query, return_counts=True)
    value, error = true_values(env, policy, query=asked.tolist(), cutoff=cutoff)
    share = sessions / sessions.sum()
    return float(share @ value), float(np.sqrt(share**2 @ error**2))
