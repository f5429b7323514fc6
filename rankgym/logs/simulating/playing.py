"""Play sessions for a log: lists of a policy or of an agent, clicks of an environment's users, and propensities."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rankgym import data
from rankgym.arguments import ActionKind, action_kind, count_of, whole_number
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.logs.policies import Policy, policy_of
from rankgym.play.game import check_compatible

ROWS = 1_024  # of the environment, about: sessions that are played at once
ROW_WORDS = 1 << 22  # of all rows at most: each row has a bit for each pair of items
BLOCK_SESSIONS, BLOCK_ENTRIES = 1 << 16, 1 << 21  # of a block, and of its sessions and items

# Makes an agent for an environment, a horizon and a seed
AgentMaker: TypeAlias = Callable[[VectorEnv[Any, Any, Any], int, int], Any]


class Block(NamedTuple):
    """Consecutive sessions of a log. The propensities are None where the policy does not have them."""

    first: int  # the number of the first session
    query: NDArray[np.int64]  # (sessions,) numbers of the environment's queries
    displayed: NDArray[np.int64]  # (sessions, positions) items
    clicks: NDArray[np.int8]  # (sessions, positions) 0 or 1
    propensity: NDArray[np.float64] | None = None  # (sessions,) of the whole list
    item_propensity: NDArray[np.float64] | None = None  # (sessions, positions) of the item at this position
    prefix_propensity: NDArray[np.float64] | None = None  # (sessions, positions) of the items down to this position

    def part(self, rows: slice) -> "Block":
        """Return some of the sessions; ``rows.start`` is 0 or more."""
        arrays = (None if array is None else array[rows] for array in self[1:])
        return Block(self.first + rows.start, *arrays)  # type: ignore[arg-type]


class Simulation:
    """Sessions of a policy, or of an agent that learns, with the users of a ranking environment.

    Queries come in turn: session n has query number n modulo their count among those of ``query``. The sessions depend
    on the environment, the policy, the seed and nothing else: a shorter log is the beginning of a longer one, unless
    the environment's users change at times that depend on the number of sessions.

    The users of a log are many, so sessions are played in several rows at once. If users change with time or the lists
    come from an agent, there is one row a query, and the rounds of a row are its sessions in the order of the log.

    Args:
        env_id: a ranking environment's id.
        sessions: how many, at least 1.
        policy: the name of a policy (``rankgym.logs.policies.POLICIES``), with knobs if wanted; a ``Policy``; or a
            function that makes an agent for a vector environment, a horizon and a seed.
        seed: 0 or more. Logs of different seeds are independent.
        query: the queries, as in the environment, but not None.
        arguments: more arguments of the environment. Its horizon follows from ``sessions``.

    Attributes:
        env: the environment; its rows are played by ``blocks``, which may be called once.
        policy: the ``Policy``, or None for an agent.
        query_labels: (queries,) of all queries of the environment.
        item_labels: (queries, items).
        description: plain values that say what made the log.

    Raises:
        ValueError: an argument is wrong, or the environment does not have rankings.

    Examples:
        >>> from rankgym.logs.simulating import Simulation
        >>> simulation = Simulation("rankgym/PBM-Yandex-v0", 10, "epsilon:epsilon=0.2", query=[0, 7], num_positions=3)
        >>> simulation.description["policy"], simulation.item_labels.shape
        ('epsilon:epsilon=0.2', (100, 10))
        >>> [block.query.tolist() for block in simulation.blocks()]
        [[0, 7, 0, 7, 0, 7, 0, 7, 0, 7]]
    """

    def __init__(
        self,
        env_id: str,
        sessions: int,
        policy: str | Policy | AgentMaker = "random",
        *,
        seed: int = 0,
        query: Any = "all",
        **arguments: Any,
    ) -> None:
        self.sessions = count_of("sessions", sessions, 1)
        self.seed = whole_number("seed", seed, 0)
        if query is None:
            raise ValueError("query = None draws queries; allowed for a log: 'all', a number or a list of these")
        for name in ("horizon", "max_episode_steps", "num_envs"):
            if name in arguments:
                raise ValueError(f"{name} = {arguments[name]!r} cannot be set; it follows from the number of sessions")
        few = self._make(env_id, 1, query, arguments)
        items, queries = few.num_items, len(few.pool)
        self._learns = callable(policy) and not isinstance(policy, Policy)
        together = 1
        if few.schedule is None and not self._learns:
            together = max(1, min(ROWS, ROW_WORDS // (items * math.ceil(items / 64))) // queries)
        rounds = math.ceil(self.sessions / (queries * together))
        horizon = rounds if few.schedule is not None or self._learns else None
        self.arguments = {**arguments, "query": query}
        self.env = env = self._make(env_id, queries * together, query, {**arguments, "horizon": horizon})
        block = min(BLOCK_SESSIONS, max(1, BLOCK_ENTRIES // items))
        self._block_rounds, self._rounds = max(1, block // env.num_envs), rounds
        self._seeds = np.random.SeedSequence(self.seed)
        env_seed, agent_seed = (int(one) for one in self._seeds.generate_state(2, np.uint64) >> np.uint64(1))
        env.reset(seed=env_seed)
        self.policy, self._agent = self._players(policy, agent_seed)
        self.query_labels, self.item_labels = labels(env)
        self._begun = False
        self._tables: NDArray[np.float64] | None = None
        if self.policy is not None:
            self._place = np.zeros(env.queries.num_queries, np.int64)  # of a query in the tables
            asked = np.unique(env.pool)
            self._place[asked] = np.arange(len(asked))
            self._tables = self.policy.item_position(asked)
        named = self.policy.name if self.policy is not None else getattr(policy, "label", type(self._agent).__name__)
        self.description = {"environment": env_id, "arguments": self.arguments, "policy": named, "seed": self.seed}

    @staticmethod
    def _make(env_id: str, rows: int, query: Any, arguments: dict[str, Any]) -> RankingVectorEnv:
        try:
            env: Any = gym.make_vec(env_id, num_envs=rows, query=query, **arguments)
        except TypeError as error:
            if "no argument 'query'" not in str(error):
                raise
            env = None
        if env is None or action_kind(env) is not ActionKind.RANKING or not isinstance(env, RankingVectorEnv):
            raise ValueError(f"environment {env_id!r} has no logs; allowed: one whose actions are rankings")
        return env

    def _players(self, policy: str | Policy | AgentMaker, seed: int) -> tuple[Policy | None, Any]:
        """Return the policy and the agent, one of which is None."""
        env = self.env
        if isinstance(policy, str):
            policy = policy_of(policy, env.queries.initial_list, env.num_positions)
        if not isinstance(policy, Policy):
            agent = policy(env, self._rounds, seed)
            check_compatible(agent, env)
            return None, agent
        sizes = (policy.num_items, policy.num_positions, policy.num_queries or env.queries.num_queries)
        needed = (env.num_items, env.num_positions, env.queries.num_queries)
        if sizes != needed:
            raise ValueError(f"policy is for (items, positions, queries) = {sizes}; allowed here: {needed}")
        return policy, None

    @property
    def num_positions(self) -> int:
        return self.env.num_positions

    def propensities(self) -> tuple[bool, bool]:
        """Return whether the log has the probabilities of lists, and those of items at positions."""
        return self.policy is not None, self._tables is not None

    def blocks(self) -> Iterator[Block]:
        """Play: yield the sessions in order, a limited number at a time. A second call raises a RuntimeError."""
        if self._begun:
            raise RuntimeError("the sessions have been played; make another Simulation to play them again")
        self._begun = True
        rows = self.env.num_envs
        for number, start in enumerate(range(0, self._rounds, self._block_rounds)):
            rounds = self._block_rounds if self.policy is not None else min(self._block_rounds, self._rounds - start)
            block = self._played(number, start * rows, rounds)
            yield block.part(slice(0, min(len(block.query), self.sessions - block.first)))

    def _played(self, number: int, first: int, rounds: int) -> Block:
        """Play ``rounds`` rounds of all rows. What is drawn depends on the block's number and the seed alone."""
        env = self.env
        query = np.resize(env.pool, rounds * env.num_envs)
        shape = (rounds, env.num_envs, env.num_positions)
        clicks, displayed = np.empty(shape, np.int8), np.empty(shape, np.int64)
        if self.policy is None:
            self._play_agent(displayed, clicks)
            lists = displayed.reshape(-1, env.num_positions)
            return Block(first, query, lists, clicks.reshape(lists.shape))
        generator = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        lists = self.policy.sample(query, generator)
        displayed[...] = lists.reshape(shape)
        for played in range(min(rounds, self._rounds - first // env.num_envs)):
            clicks[played] = env.step(displayed[played])[0]
        prefixes = self.policy.prefixes(query, lists)
        at_places = None
        if self._tables is not None:
            at_places = self._tables[self._place[query][:, None], lists, np.arange(env.num_positions)]
        return Block(first, query, lists, clicks.reshape(lists.shape), prefixes[:, -1].copy(), at_places, prefixes)

    def _play_agent(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8]) -> None:
        observation = self.env.last_observation.copy()
        for played in range(len(displayed)):
            action = self._agent.act(observation)
            observation, *_, info = self.env.step(action)
            displayed[played], clicks[played] = info["displayed"], observation
            self._agent.update(action, observation)


def labels(env: RankingVectorEnv) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Return the labels of all queries (queries,) and of their items (queries, items).

    Queries of a data set have names, those of synthetic parameters numbers. Items have names in imported fits only.
    """
    spec: Any = env.spec
    chosen = {"dataset": "yandex", "source": "calibrated", **spec.kwargs}
    queries, items = env.queries.initial_list.shape
    numbers = np.broadcast_to(np.arange(items).astype(np.str_), (queries, items))
    if chosen["dataset"] != "yandex":
        return np.arange(queries).astype(np.str_), numbers
    labels = np.array(data.query_ids(chosen["dataset"], chosen["source"]), np.str_)
    if chosen["source"] in data.fits_names():
        return labels, data.load_fits(chosen["source"]).item[:, :items]
    return labels, numbers
