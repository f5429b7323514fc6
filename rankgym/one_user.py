"""``per_row``: write an agent for one user at a time in plain Python, and play it in batches."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Agent, Beliefs, DuelingAgent
from rankgym.arguments import unknown_argument

RANKING = {"act": "act(self)", "update": "update(self, displayed, clicks)"}  # the methods of a class for one user
DUELING = {"act": "act(self)", "update": "update(self, left, right, left_won)"}


@functools.cache
def per_row(agent_class: type) -> type[Any]:
    """Make a batch agent's class of a class for one user at a time: it keeps one object for each row.

    A ranking agent for one user has two methods:

        act()                       returns ``num_positions`` different items out of ``0 .. num_items - 1``, best first
        update(displayed, clicks)   learns from two lists: the displayed items, and 0 or 1 for each of them

    Its constructor gets those of these keywords that it has: ``num_items``, ``num_positions``, ``horizon``, ``seed``
    (an int, another one in each row), and ``initial_list`` (a list of all items). Its other parameters are the batch
    agent's knobs.

    A class whose constructor has a parameter ``num_arms`` duels. It gets ``num_arms``, ``horizon`` and ``seed``;
    ``act()`` returns two arms, ``update(left, right, left_won)`` gets two arms and a bool, and the attribute
    ``candidate`` is the arm that the agent now names as the best one.

    Args:
        agent_class: the class, unchanged by this. Give the result another name, ``MyBatch = per_row(Mine)``: used as a
            decorator, it would hide the class from ``pickle``.

    Raises:
        TypeError: ``agent_class`` is not a class, or lacks a method.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> class Fixed:
        ...     def __init__(self, num_positions):
        ...         self.ranking = list(range(num_positions))
        ...     def act(self):
        ...         return self.ranking
        ...     def update(self, displayed, clicks):
        ...         pass
        >>> env = gym.make_vec("rankgym/CM-Yandex-v0", num_envs=2, query=[0, 1])
        >>> rankgym.per_row(Fixed).for_env(env, seed=0).act().tolist()
        [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    """
    if not isinstance(agent_class, type):
        raise TypeError(f"agent_class = {agent_class!r} is not a class; allowed: a class with methods act and update")
    parameters = inspect.signature(agent_class).parameters
    methods = DUELING if "num_arms" in parameters else RANKING
    for name, written in methods.items():
        if not callable(getattr(agent_class, name, None)):
            raise TypeError(f"{agent_class.__name__} has no method {name}; add: def {written}")
    base: type[Any] = _DuelingRows if methods is DUELING else _RankingRows
    own = {
        **({"beliefs": _beliefs} if hasattr(agent_class, "beliefs") else {}),
        "agent_class": agent_class,
        "__module__": agent_class.__module__,  # whose file decides what the agent does
        "__doc__": agent_class.__doc__,
        "__signature__": _signature(base, parameters),
    }
    return type(f"PerRow{agent_class.__name__}", (base,), own)


def _signature(base: type, parameters: Mapping[str, inspect.Parameter]) -> inspect.Signature:
    """Return the signature of ``base``, followed by those of ``parameters`` that it does not have, as keywords."""
    shape = [one for one in inspect.signature(base).parameters.values() if one.kind is not one.VAR_KEYWORD]
    known = {one.name for one in shape}
    named = [one for one in parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    knobs = [one.replace(kind=one.KEYWORD_ONLY) for one in named if one.name not in known]
    return inspect.Signature([*shape, *knobs, *(one for one in parameters.values() if one.kind is one.VAR_KEYWORD)])


def _with_row(agent: Any, row: int, number: int, made: str) -> str:
    """Begin an error's message: what the agent of ``row`` has made in round ``number``."""
    return f"{type(agent).__name__}.{made} in round {number} of row {row}"


class _Rows:
    """What both kinds share: one object of ``agent_class`` for each row, and the number of rounds played."""

    agent_class: ClassVar[type]
    agents: list[Any]
    rounds: int

    def _make_agents(self, known: Mapping[str, Sequence[Any]], knobs: Mapping[str, Any]) -> None:
        """Make an agent for each row, with its values of those ``known`` keywords that the constructor has."""
        parameters = inspect.signature(self.agent_class).parameters
        takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        taken = {name: values for name, values in known.items() if takes_all or name in parameters}
        for name in knobs:
            if not takes_all and name not in parameters:
                raise TypeError(unknown_argument(self.agent_class.__name__, name, [*parameters, "num_envs"]))
        rows = len(known["seed"])
        self.agents = [
            self.agent_class(**{name: values[row] for name, values in taken.items()}, **knobs) for row in range(rows)
        ]
        self.rounds = 0

    def __reduce__(self) -> Any:
        return _rebuild, (self.agent_class, self.__dict__)


def _beliefs(self: _Rows, row: int = 0) -> Beliefs | None:
    """What the agent believes about a row, from 0: what the row's own agent says in ``beliefs()``."""
    found: Beliefs | None = self.agents[row].beliefs()
    return found


def _rebuild(agent_class: type, memory: dict[str, Any]) -> Any:
    """Rebuild a pickled agent: its class has no name by which ``pickle`` could find it."""
    rows = object.__new__(per_row(agent_class))
    rows.__dict__.update(memory)
    return rows


class _RankingRows(_Rows, Agent):
    def __init__(
        self,
        *,
        num_items: int,
        num_positions: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | Sequence[int] | None = None,
        initial_list: ArrayLike | None = None,
        **knobs: Any,
    ) -> None:
        shape = {"num_items": num_items, "num_positions": num_positions, "num_envs": num_envs}
        super().__init__(**shape, horizon=horizon, seed=seed, initial_list=initial_list)
        sizes = {"num_items": self.num_items, "num_positions": self.num_positions, "horizon": self.horizon}
        same: dict[str, Sequence[Any]] = {name: [value] * self.num_envs for name, value in sizes.items()}
        self._make_agents({**same, "seed": self.seeds, "initial_list": self.initial_list.tolist()}, knobs)

    def act(self, observation: Any = None) -> NDArray[np.int64]:
        displayed = np.empty((self.num_envs, self.num_positions), np.int64)
        for row, agent in enumerate(self.agents):
            ranking = agent.act()
            fault = ranking_fault(ranking, self.num_items, self.num_positions)
            if fault:
                made = _with_row(agent, row, self.rounds, f"act() returned {ranking!r}")
                allowed = f"{self.num_positions} different items out of 0 .. {self.num_items - 1}, best first"
                raise ValueError(f"{made}: {fault}; allowed: {allowed}")
            displayed[row] = ranking
        return displayed

    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        lists, marks = self.checked_session(displayed, clicks)
        for agent, ranking, clicked in zip(self.agents, lists.tolist(), marks.tolist(), strict=True):
            agent.update(ranking, clicked)
        self.rounds += 1


def ranking_fault(ranking: Any, num_items: int, num_positions: int) -> str:
    """Say what keeps ``ranking`` from being a list of ``num_positions`` different items; "" if nothing does."""
    if not isinstance(ranking, (Sequence, np.ndarray)) or isinstance(ranking, (str, bytes)):
        return "not a list"
    if len(ranking) != num_positions:
        return f"{len(ranking)} of them"
    for place, item in enumerate(ranking):
        if not _is_index(item, num_items):
            return f"{item!r} is not an item"
        if item in ranking[:place]:
            return f"item {item} is repeated"
    return ""


def _is_index(value: Any, size: int) -> bool:
    """Whether ``value`` is a whole number of 0 .. size - 1, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < size


class _DuelingRows(_Rows, DuelingAgent):
    def __init__(
        self,
        *,
        num_arms: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | Sequence[int] | None = None,
        **knobs: Any,
    ) -> None:
        super().__init__(num_arms=num_arms, num_envs=num_envs, horizon=horizon, seed=seed)
        sizes = {"num_arms": self.num_arms, "horizon": self.horizon}
        same: dict[str, Sequence[Any]] = {name: [value] * self.num_envs for name, value in sizes.items()}
        self._make_agents({**same, "seed": self.seeds}, knobs)

    @property
    def candidate(self) -> NDArray[np.int64]:
        named = [agent.candidate for agent in self.agents]
        for row, arm in enumerate(named):
            if not _is_index(arm, self.num_arms):
                made = _with_row(self.agents[row], row, self.rounds, f"candidate is {arm!r}")
                raise ValueError(f"{made}; allowed: an arm, 0 .. {self.num_arms - 1}")
        return np.array(named, np.int64)

    def act(self, observation: Any = None) -> dict[str, NDArray[np.int64]]:
        arms = np.empty((2, self.num_envs), np.int64)
        for row, agent in enumerate(self.agents):
            duel = agent.act()
            fault = not isinstance(duel, (Sequence, np.ndarray)) or len(duel) != 2
            if fault or not all(_is_index(arm, self.num_arms) for arm in duel):
                made = _with_row(agent, row, self.rounds, f"act() returned {duel!r}")
                raise ValueError(f"{made}; allowed: two arms out of 0 .. {self.num_arms - 1}")
            arms[:, row] = duel
        return {"left": arms[0], "right": arms[1]}

    def update(self, duel: Mapping[str, Any], won: NDArray[Any]) -> None:
        left, right, left_won = self.checked_duel(duel, won)
        rows = zip(self.agents, left.tolist(), right.tolist(), left_won.tolist(), strict=True)
        for agent, one, other, first_won in rows:
            agent.update(one, other, first_won)
        self.rounds += 1
