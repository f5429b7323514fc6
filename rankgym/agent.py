"""The base classes of agents: those that rank items, and those that compare arms.

A ranking agent sees what a production ranker sees: the numbers of items and positions, the horizon if it is known, its
base list, and clicks. A dueling agent sees the number of arms, and which of the two compared arms has won. Both work in
batches: every array has a leading axis of ``num_envs`` rows, and row b depends on its own seed and its own users only.
"""

from __future__ import annotations  # help() shows the parameters' types as they are written here

import inspect
import math
import secrets
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import (
    ActionKind,
    action_kind,
    array_of,
    check_memory,
    env_attribute,
    env_horizons,
    name_keywords,
    named_keywords,
    row_seeds,
)
from rankgym.arguments import count_of as count_of  # agents import these nine from here
from rankgym.arguments import near as near
from rankgym.arguments import number_in as number_in
from rankgym.arguments import one_of as one_of
from rankgym.arguments import open_unit as open_unit
from rankgym.arguments import positive as positive
from rankgym.arguments import probabilities as probabilities
from rankgym.arguments import restored as restored
from rankgym.arguments import whole_number as whole_number
from rankgym.beliefs import Beliefs as Beliefs
from rankgym.beliefs import plain as plain
from rankgym.kernels import AGENT, first_fault, kernel, row_keys
from rankgym.named_code import NameNotFound as NameNotFound
from rankgym.named_code import find_named as find_named

__all__ = ["Agent", "Beliefs", "DuelingAgent", "DuelingKernelAgent", "KernelAgent"]

NAMED_AGENT = "a class with methods act and update, or a function whose return annotation is such a class"

METHODS = ("act", "update")  # what every agent has

A = TypeVar("A", bound="Agent")
D = TypeVar("D", bound="DuelingAgent")


def agent_class(found: Any) -> type | None:
    """Return the class of the agents that ``found`` makes, or None unless it is a ``NAMED_AGENT``.

    Only what passes may be called if it was named by text: ``subprocess:Popen`` would run a command.
    """
    if isinstance(found, types.FunctionType):
        returned = found.__annotations__.get("return")
        found = found.__globals__.get(returned) if isinstance(returned, str) else returned
    return found if isinstance(found, type) and not missing_methods(found) else None


def missing_methods(agent: Any) -> list[str]:
    """Return the names of the methods that ``agent``, an object or a class, would need and does not have."""
    return [name for name in METHODS if not callable(getattr(agent, name, None))]


def serves_one_user(cls: Any) -> bool:
    """Whether the class ``cls`` is written for one user at a time: its ``act`` takes no observation."""
    act = getattr(cls, "act", None) if isinstance(cls, type) and not issubclass(cls, Learner) else None
    if act is None:
        return False
    parameters = list(inspect.signature(act).parameters.values())
    return len(parameters) == 1 and parameters[0].kind in (
        parameters[0].POSITIONAL_ONLY,
        parameters[0].POSITIONAL_OR_KEYWORD,
    )


def seed_argument(seeds: Sequence[int]) -> int | list[int]:
    """The argument ``seed`` for an agent whose rows have ``seeds``: a number if they are consecutive, else the list.

    A user's class may take numbers only.
    """
    first = seeds[0]
    return first if all(seed == first + row for row, seed in enumerate(seeds)) else list(seeds)


class Learner:
    """The common base of all agents: rows with their seeds, and perhaps a horizon."""

    PAIR_BYTES: ClassVar[int] = 0  # that the state takes for each row and ordered pair of items or arms

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        name_keywords(cls)

    @named_keywords
    def __init__(self, num_envs: int, horizon: int | None, seed: int | Sequence[int] | None) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.horizon = None if horizon is None else count_of("horizon", horizon, 1)
        self.seeds = [secrets.randbits(128) if s is None else s for s in row_seeds(seed, self.num_envs)]

    def known_horizon(self, knob: str) -> int:
        """The horizon, or a ValueError: the default of ``knob`` needs it."""
        if self.horizon is None:
            allowed = f"a horizon, from which the default of {knob} is computed, or a {knob}; for_env takes that of env"
            raise ValueError(f"horizon = None and {knob} = None; allowed: {allowed}")
        return self.horizon

    def keys(self) -> NDArray[np.uint64]:
        """One random key per row, derived from the rows' seeds: (num_envs,) uint64."""
        return row_keys(self.seeds, AGENT)

    def filled(self, *shape: int, **values: Any) -> dict[str, NDArray[Any]]:
        """Arrays (num_envs, *shape) for a state, each filled with its value: a number, or an array to repeat."""
        widths = sum(np.asarray(value).itemsize for value in values.values())
        check_memory(self.num_envs * math.prod(shape) * widths, **self._sizes())
        arrays = {name: np.zeros((self.num_envs, *shape), np.asarray(value).dtype) for name, value in values.items()}
        for name, value in values.items():
            if np.any(value):  # zeros do not take memory before they are written
                arrays[name][...] = value
        return arrays

    def _check_memory(self, things: int) -> None:
        """Raise a ValueError if so many items or arms are more than this machine's memory can hold."""
        check_memory(self.num_envs * things * (16 + self.PAIR_BYTES * things), **self._sizes())

    def _sizes(self) -> dict[str, int]:
        """The arguments that the state's size follows from."""
        names = ("num_envs", "num_items", "num_positions", "num_arms")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def settled(self) -> NDArray[np.bool_]:
        """Which rows will never change their list or duel again, (num_envs,) bool. Calling it changes nothing.

        True is a promise: whatever users do, ``act`` returns the same list or duel for this row in all further rounds,
        and a dueling agent names the same candidate, provided that its actions are played. If the agent has a horizon,
        the promise is not valid beyond it. False promises nothing; it is the answer of agents that never settle or have
        no proof, as in this base class.
        """
        return np.zeros(self.num_envs, np.bool_)

    def beliefs(self, row: int = 0) -> Beliefs | None:
        """What the agent believes about a row, from 0; None, as here, if there is nothing to see.

        ``rankgym watch`` shows it beside the lists. Called after ``update``; calling it, or not, changes nothing: no
        state, no random numbers.
        """
        return None

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """The full state: fresh arrays, each with a leading axis of rows. None, as here, if the agent has no snapshots.

        To continue with some of the rows, make an agent for them with the same arguments (and a list of their seeds if
        these are not consecutive) and restore it from ``{name: part[rows] for name, part in snapshot.items()}``. The
        arrays hold numbers, so that ``np.savez`` saves them without pickles.
        """
        return None

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state saved by ``snapshot``. The agent continues bit for bit.

        The arrays are not checked against the constructor's arguments; only names, shapes and dtypes are.

        Raises:
            ValueError: names, shapes or dtypes are not those of this agent's snapshots; the agent stays as it was.
            NotImplementedError: the agent has no snapshots.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be restored: its snapshot() is None")


class StatefulLearner(Learner):
    """A learner whose whole memory is ``state``, a NamedTuple of arrays with a leading row axis."""

    KERNELS: ClassVar[tuple[str, ...]] = ()  # the static methods that a subclass defines
    GROWS: ClassVar[Mapping[str, int]] = {}  # {name: axis} of arrays that grow with the rounds played
    state: NamedTuple

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make the kernels static methods; a TypeError names a missing one."""
        super().__init_subclass__(**keywords)
        for name in () if "KERNELS" in vars(cls) else cls.KERNELS:
            found = inspect.getattr_static(cls, name, None)
            if found is None:
                raise TypeError(f"{cls.__name__} has no kernel {name}; add {name} = staticmethod(your_kernel)")
            if not isinstance(found, staticmethod):  # a method would get self before the state
                setattr(cls, name, staticmethod(found))

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        return {name: part.copy() for name, part in self.state._asdict().items()} if self.in_rows else None

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        if not self.in_rows:
            super().restore(snapshot)
        self.state = self.state._replace(**restored(snapshot, self.state._asdict(), self.GROWS))

    @property
    def in_rows(self) -> bool:
        """Whether all parts of the state are arrays of numbers with a leading row axis."""
        return all(
            isinstance(part, np.ndarray) and part.shape[:1] == (self.num_envs,) and not part.dtype.hasobject
            for part in self.state
        )


class Agent(Learner, ABC):
    """A ranker that learns from clicks, in batches of ``num_envs`` independent rows.

    Args:
        num_items: number of items L to rank, at least 1.
        num_positions: number of displayed positions K, 1 .. ``num_items``.
        num_envs: rows of the batch, at least 1.
        horizon: number of rounds n, if the agent may know it.
        seed: row b gets the seed ``seed + b``; or a sequence with one seed per row; None: unpredictable. Agents with
            the same seed draw the same random numbers, so two agents that shuffle alike display the same lists.
        initial_list: the production ranker's list of all items, best first: (num_items,), or (num_envs, num_items) for
            one per row. Default: ``0 .. num_items - 1``.

    Attributes:
        num_items, num_positions, num_envs, horizon: as given.
        seeds: the rows' seeds, a list of ``num_envs`` ints, from which all random numbers of an agent should come.
        initial_list: (num_envs, num_items) int64: the rows' production lists.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and what is allowed.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym_agents import RandomRanker
        >>> env = gym.make_vec("rankgym/CM-Yandex-v0", num_envs=2, horizon=1_000)
        >>> agent = RandomRanker.for_env(env, seed=7)  # a subclass; examples/own_agent.py writes one
        >>> agent, agent.seeds
        (RandomRanker(num_items=10, num_positions=5, num_envs=2, horizon=1000), [7, 8])
        >>> agent.act().shape, agent.settled().tolist()
        ((2, 5), [False, False])
    """

    def __init__(
        self,
        *,
        num_items: int,
        num_positions: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | Sequence[int] | None = None,
        initial_list: ArrayLike | None = None,
    ) -> None:
        self.num_items = whole_number("num_items", num_items, 1)
        self.num_positions = whole_number("num_positions", num_positions, 1, self.num_items)
        super().__init__(num_envs, horizon, seed)
        self._check_memory(self.num_items)
        self.initial_list = self._checked_initial_list(initial_list)

    def _checked_initial_list(self, initial_list: ArrayLike | None) -> NDArray[np.int64]:
        shape = (self.num_envs, self.num_items)
        if initial_list is None:
            return np.tile(np.arange(self.num_items), (self.num_envs, 1))
        given = array_of(initial_list)
        if given.dtype.kind not in "iu" or given.shape not in (shape, shape[1:]):
            allowed = f"whole numbers of shape {shape[1:]} or {shape}"
            raise ValueError(f"initial_list has shape {given.shape} and dtype {given.dtype}; allowed: {allowed}")
        lists = np.array(np.broadcast_to(given, shape), dtype=np.int64, order="C")
        row = first_fault(lists, self.num_items)
        if row >= 0:
            allowed = f"each of 0 .. {self.num_items - 1} once"
            raise ValueError(f"initial_list[{row}] = {lists[row].tolist()} is not a ranking; allowed: {allowed}")
        return lists

    def checked_examination(self, examination: ArrayLike | None) -> NDArray[np.float64]:
        """Return each row's known examination probabilities, (num_envs, num_positions), for agents that need them.

        ``examination`` is (num_positions,), or (num_envs, num_positions) for one a row, in (0, 1]; a ValueError names
        what is wrong. None: 1 / k for k = 1, 2, ..., a common guess.
        """
        shape = (self.num_envs, self.num_positions)
        if examination is None:
            examination = 1 / np.arange(1, self.num_positions + 1)
        given = probabilities("examination", examination, 2)
        if given.shape not in (shape, shape[1:]):
            raise ValueError(f"examination has shape {given.shape}; allowed: {shape[1:]} or {shape}")
        never = np.argwhere(given == 0)
        if len(never):
            place = [int(i) for i in never[0]]
            raise ValueError(f"examination{place} = 0.0 is out of range; allowed: a number in (0, 1]")
        return np.array(np.broadcast_to(given, shape), order="C")

    @classmethod
    def for_env(
        cls: type[A], env: Any, *, horizon: int | None = None, seed: int | Sequence[int] | None = None, **knobs: Any
    ) -> A:
        """Make an agent for ``env``: a rankgym environment, single or vector, wrapped or not.

        It gets what a ranker may know: the numbers of items, positions and rows, the base lists, and the horizon
        (``horizon``, or the environment's if that is None). ``knobs`` go to the class.

        An agent for a single environment is a batch of one: ``env.step(agent.act()[0])``, then
        ``agent.update(displayed, clicks[None])``.
        """
        space, rows = _space_and_rows(env, ActionKind.RANKING, horizon)
        _check_knobs(knobs, "num_items", "num_positions", "num_envs", "initial_list")
        lists = env_attribute(env, "initial_list")
        return cls(num_items=int(space.n), num_positions=int(space.k), **rows, seed=seed, initial_list=lists, **knobs)

    def __repr__(self) -> str:
        shape = f"num_items={self.num_items}, num_positions={self.num_positions}, num_envs={self.num_envs}"
        return f"{type(self).__name__}({shape}, horizon={self.horizon})"

    @abstractmethod
    def act(self, observation: Any = None) -> NDArray[np.int64]:
        """Return the lists to display, (num_envs, num_positions) int64, distinct items per row."""

    @abstractmethod
    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        """Learn from the clicks, (num_envs, num_positions) of 0 and 1, on the displayed lists."""

    def checked_session(self, displayed: Any, clicks: Any) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return ``update``'s arguments as contiguous arrays of int64 and int8; a ValueError names what is wrong."""
        lists, marks = array_of(displayed), array_of(clicks)
        shape = (self.num_envs, self.num_positions)
        if lists.shape != shape or marks.shape != shape:
            raise ValueError(f"displayed has shape {lists.shape} and clicks {marks.shape}; allowed: {shape} each")
        if lists.dtype.kind not in "iu":
            raise ValueError(f"displayed has dtype {lists.dtype}; allowed: whole numbers")
        lists, marks = np.ascontiguousarray(lists, np.int64), as_marks(marks)
        row = first_fault(lists, self.num_items)
        if row >= 0:
            allowed = f"{self.num_positions} different items out of 0..{self.num_items - 1}"
            raise ValueError(f"displayed[{row}] = {lists[row].tolist()} is not a ranking; allowed: {allowed}")
        row = first_odd_click(marks)
        if row >= 0:
            raise ValueError(f"clicks[{row}] = {np.asarray(clicks)[row].tolist()} are not clicks; allowed: 0 and 1")
        return lists, marks


_ADVICE = {  # what to do, if an agent of the first kind is to play the second
    (ActionKind.RANKING, ActionKind.DUEL_OF_ARMS): ". Arms duel here: take an agent of rankgym_agents.DUELERS",
    (ActionKind.RANKING, ActionKind.DUEL_OF_RANKINGS): ". Two lists duel here: rankgym.wrappers.AgainstItself(env) "
    "shows one list on both sides",
    (ActionKind.RANKING, None): ". If a wrapper changes the actions, make the agent for the environment below it",
    (ActionKind.DUEL_OF_ARMS, ActionKind.RANKING): ". Items are ranked here: take an agent of rankgym_agents.RANKERS",
}


def _space_and_rows(env: Any, kind: ActionKind, horizon: int | None) -> tuple[Any, dict[str, Any]]:
    """Return the action space of a row of ``env``, which has to be of this kind, and what every learner gets of it."""
    if not hasattr(env, "unwrapped"):
        raise ValueError(f"env = {env!r} is not an environment; allowed: the result of gym.make or gym.make_vec")
    space = getattr(env, "single_action_space", None) or env.action_space
    if action_kind(env) is not kind:
        allowed = "a Permutation of items" if kind is ActionKind.RANKING else "a Dict of the arms left and right"
        advice = _ADVICE.get((kind, action_kind(env)), "")
        raise ValueError(f"env has the action space {space}; allowed: {allowed}{advice}")
    known = env_horizons(env)[0] if horizon is None else horizon
    return space, {"num_envs": getattr(env, "num_envs", 1), "horizon": known}


def _check_knobs(knobs: Mapping[str, Any], *known: str) -> None:
    """Raise a TypeError if one of ``knobs`` is an argument that ``for_env`` reads from the environment."""
    for name in known:
        if name in knobs:
            raise TypeError(f"{name} = {knobs[name]!r}, but for_env reads {name} from env; leave it out")


class KernelAgent(StatefulLearner, Agent):
    """An agent that is a state (a NamedTuple of arrays with a leading row axis) and two kernels on it.

    A subclass sets ``rank`` and ``learn`` as static methods and ``self.state`` in ``__init__``:

        rank(state, displayed)            fills ``displayed`` (rows, positions) int64
        learn(state, displayed, clicks)   clicks (rows, positions) int8

    The state is the agent's whole memory, so ``snapshot`` and ``restore`` come for free: to resume, save the snapshot
    (``np.savez(file, **agent.snapshot())``) and restore it later. A class with memory outside ``state`` has to write
    both methods itself. Override ``settled`` if the algorithm comes to an end. ``examples/own_kernel_agent.py`` has a
    whole agent.

    Random numbers come from the row's key, the round and an index only:
    ``uniform(bits(session_seed(s.key[row], s.round[row]), index))`` of ``rankgym.kernels``, with ``key=self.keys()`` in
    the state.

    Examples:
        >>> from typing import NamedTuple
        >>> import numpy as np
        >>> from rankgym import KernelAgent
        >>> class Counts(NamedTuple):
        ...     clicks: np.ndarray  # (rows, items)
        >>> class MostClicked(KernelAgent):
        ...     def rank(s, displayed):  # decorate both with rankgym.kernels.kernel to compile them
        ...         displayed[:] = np.argsort(-s.clicks, kind="stable")[:, : displayed.shape[1]]
        ...     def learn(s, displayed, clicks):
        ...         s.clicks[np.arange(len(clicks))[:, None], displayed] += clicks
        ...     def __init__(self, **shape):
        ...         super().__init__(**shape)
        ...         self.state = Counts(**self.filled(self.num_items, clicks=0))
        >>> agent = MostClicked(num_items=3, num_positions=2)
        >>> agent.update([[0, 1]], [[0, 1]])
        >>> agent.act().tolist(), agent.snapshot()["clicks"].tolist()
        ([[1, 0]], [[0, 1, 0]])
    """

    KERNELS = ("rank", "learn")
    rank: ClassVar[Callable[..., None]]
    learn: ClassVar[Callable[..., None]]

    def act(self, observation: Any = None) -> NDArray[np.int64]:
        displayed = np.empty((self.num_envs, self.num_positions), np.int64)
        self.rank(self.state, displayed)
        return displayed

    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        self.learn(self.state, *self.checked_session(displayed, clicks))


class DuelingAgent(Learner, ABC):
    """A learner that compares arms two at a time, in batches of ``num_envs`` independent rows.

    Args:
        num_arms: number of arms K, at least 1.
        num_envs, horizon, seed: as in ``Agent``; ``horizon`` is the number of duels.

    Attributes:
        num_arms, num_envs, horizon: as given.
        seeds: the rows' seeds, a list of ``num_envs`` ints, from which all random numbers of an agent should come.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and what is allowed.

    Examples:
        >>> import numpy as np
        >>> from rankgym import DuelingAgent
        >>> class LastWinner(DuelingAgent):  # it meets the arm of the next number
        ...     champion = 0
        ...     def act(self, observation=None):
        ...         return {"left": self.candidate, "right": (self.candidate + 1) % self.num_arms}
        ...     def update(self, duel, won):
        ...         left, right, left_won = self.checked_duel(duel, won)
        ...         self.champion = np.where(left_won, left, right)
        ...     candidate = property(lambda self: np.full(self.num_envs, self.champion))
        >>> agent = LastWinner(num_arms=3, num_envs=2)
        >>> agent.update(agent.act(), [[0, 1], [1, 0]])
        >>> agent.candidate.tolist()
        [1, 0]
    """

    def __init__(
        self, *, num_arms: int, num_envs: int = 1, horizon: int | None = None, seed: int | Sequence[int] | None = None
    ) -> None:
        super().__init__(num_envs, horizon, seed)
        self.num_arms = whole_number("num_arms", num_arms, 1)
        self._check_memory(self.num_arms)

    @classmethod
    def for_env(
        cls: type[D], env: Any, *, horizon: int | None = None, seed: int | Sequence[int] | None = None, **knobs: Any
    ) -> D:
        """Make an agent for ``env``, as ``Agent.for_env``: a rankgym environment of dueling arms.

        An agent for a single environment is a batch of one: with ``duel = agent.act()`` the action is
        ``{side: int(arm[0]) for side, arm in duel.items()}``, then ``agent.update(duel, won[None])``.
        """
        space, rows = _space_and_rows(env, ActionKind.DUEL_OF_ARMS, horizon)
        _check_knobs(knobs, "num_arms", "num_envs")
        return cls(num_arms=int(space["left"].n), **rows, seed=seed, **knobs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_arms={self.num_arms}, num_envs={self.num_envs}, horizon={self.horizon})"

    @property
    @abstractmethod
    def candidate(self) -> NDArray[np.int64]:
        """The arm that the agent now names as the best one, (num_envs,) int64. Reading it changes nothing."""

    def beliefs(self, row: int = 0) -> Beliefs | None:
        """The candidate as champion; a subclass may add what else there is to see."""
        return Beliefs(champion=int(self.candidate[row]))

    @abstractmethod
    def act(self, observation: Any = None) -> dict[str, NDArray[np.int64]]:
        """Return the arms to compare: ``left`` and ``right``, (num_envs,) int64 each; both may be the same arm."""

    @abstractmethod
    def update(self, duel: Mapping[str, Any], won: NDArray[Any]) -> None:
        """Learn from the duels. ``won`` (num_envs, 2) has 1 for the arm that won, left before right."""

    def checked_duel(
        self, duel: Mapping[str, Any], won: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return ``update``'s arguments as contiguous arrays: left and right arms, and whether the left one won.

        Raises:
            ValueError: they are not a duel of every row and its winner; the message names what is wrong.
        """
        left, right, marks = self._arms("left", duel), self._arms("right", duel), array_of(won)
        if marks.shape != (self.num_envs, 2):
            raise ValueError(f"won has shape {marks.shape}; allowed: ({self.num_envs}, 2)")
        left_won = np.empty(self.num_envs, np.bool_)
        row = first_odd_duel(left, right, as_marks(marks), self.num_arms, left_won)
        if row >= 0:
            for side, arms in (("left", left), ("right", right)):
                if not 0 <= arms[row] < self.num_arms:
                    name = f"duel[{side!r}][{row}] = {duel[side][row]}"
                    raise ValueError(f"{name} is not an arm; allowed: 0 .. {self.num_arms - 1}")
            raise ValueError(f"won[{row}] = {marks[row].tolist()} does not name a winner; allowed: [1, 0] and [0, 1]")
        return left, right, left_won

    def _arms(self, side: str, duel: Mapping[str, Any]) -> NDArray[np.int64]:
        if not isinstance(duel, Mapping) or side not in duel:
            raise ValueError(f"duel = {duel!r} does not have {side!r}; allowed: a dict of the arms left and right")
        arms = array_of(duel[side])
        if arms.shape != (self.num_envs,) or arms.dtype.kind not in "iu":
            allowed = f"whole numbers of shape ({self.num_envs},)"
            raise ValueError(f"duel[{side!r}] has shape {arms.shape} and dtype {arms.dtype}; allowed: {allowed}")
        return np.ascontiguousarray(arms, np.int64)


class DuelingKernelAgent(StatefulLearner, DuelingAgent):
    """A dueling agent that is a state (a NamedTuple of arrays with a leading row axis) and three kernels on it.

    A subclass sets these static methods, and ``self.state`` in ``__init__``:

        choose(state, left, right)            fills ``left`` and ``right`` (rows,) int64
        learn(state, left, right, left_won)   left_won (rows,) bool: the left arm won, else the right one
        name(state, candidate)                fills ``candidate`` (rows,) int64; reads the state only

    ``state``, ``snapshot``, ``restore``, ``settled`` and random numbers are as in ``KernelAgent``.

    Examples:
        >>> from rankgym_agents import RUCB
        >>> agent, other = RUCB(num_arms=5, seed=0), RUCB(num_arms=5, seed=0)  # subclasses of DuelingKernelAgent
        >>> agent.update(agent.act(), [[1, 0]])
        >>> other.restore(agent.snapshot())  # it goes on where the first one is
        >>> bool(other.act()["right"] == agent.act()["right"]), int(other.state.wins.sum())
        (True, 1)
    """

    KERNELS = ("choose", "learn", "name")
    choose: ClassVar[Callable[..., None]]
    learn: ClassVar[Callable[..., None]]
    name: ClassVar[Callable[..., None]]

    @property
    def candidate(self) -> NDArray[np.int64]:
        candidate = np.empty(self.num_envs, np.int64)
        self.name(self.state, candidate)
        return candidate

    def act(self, observation: Any = None) -> dict[str, NDArray[np.int64]]:
        left, right = np.empty(self.num_envs, np.int64), np.empty(self.num_envs, np.int64)
        self.choose(self.state, left, right)
        return {"left": left, "right": right}

    def update(self, duel: Mapping[str, Any], won: NDArray[Any]) -> None:
        self.learn(self.state, *self.checked_duel(duel, won))


def as_marks(values: NDArray[Any]) -> NDArray[np.int8]:
    """Return ``values`` as contiguous int8: 0, 1, and something else for anything else."""
    if values.dtype != np.int8:
        values = np.where(values == 0, 0, np.where(values == 1, 1, 2)).astype(np.int8)
    return np.ascontiguousarray(values)


@kernel
def first_odd_duel(left, right, won, num_arms, left_won):
    """Fill ``left_won`` (rows,) bool from ``won`` (rows, 2) int8; return the first wrong row, or -1."""
    for row in range(left.shape[0]):
        if left[row] < 0 or left[row] >= num_arms or right[row] < 0 or right[row] >= num_arms:
            return row
        first, second = won[row, 0], won[row, 1]
        if first < 0 or first > 1 or second != 1 - first:
            return row
        left_won[row] = first == 1
    return -1


@kernel
def first_odd_click(clicks):
    """The first row of ``clicks`` (rows, positions) int8 with an entry that is neither 0 nor 1, or -1."""
    rows, positions = clicks.shape
    for row in range(rows):
        for place in range(positions):
            if clicks[row, place] != 0 and clicks[row, place] != 1:
                return row
    return -1
