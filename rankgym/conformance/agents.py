"""``check_agent``: the contract that ``simulate`` relies on, which anyone's agent can be run through."""

from __future__ import annotations

import copy
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Agent, DuelingAgent, Learner, seed_argument
from rankgym.arguments import whole_number
from rankgym.kernels import first_fault

__all__ = ["AgentError", "check_agent"]

KEYWORDS = {
    "ranking": ("num_items", "num_positions", "num_envs", "horizon", "seed", "initial_list"),
    "dueling": ("num_arms", "num_envs", "horizon", "seed"),
}


class AgentError(AssertionError):
    """An agent broke a rule of the contract; the message says which one, what was seen and what is allowed."""


def check_agent(
    factory: Callable[..., Any],
    *,
    kind: Literal["ranking", "dueling"] | None = None,
    num_items: int = 6,
    num_positions: int = 3,
    num_arms: int = 5,
    rounds: int = 200,
    seed: int = 0,
) -> None:
    """Run an agent through the contract that ``simulate`` relies on; returns None if it holds.

    The rules. A ranking agent is checked with more items than positions, with as many, and with one of each; a dueling
    agent with ``num_arms`` arms, with two, and with one.

    1. ``act`` returns whole numbers: lists of shape (num_envs, num_positions), each row distinct items in
       0 .. num_items - 1; or a dict of ``left`` and ``right`` of shape (num_envs,), arms in 0 .. num_arms - 1. So is
       the ``candidate`` of a dueling agent that has one.
    2. What was given out is the caller's: the agent does not change it later, and does not care what becomes of it, or
       of the clicks or winners, after ``update``.
    3. ``act``, ``update`` and the constructor leave their arguments as they are, and who asks for the ``candidate``
       changes nothing.
    4. The same seed and the same clicks or winners give the same lists or duels.
    5. Row b of a batch with seed s does what the agent alone with seed s + b does on the same clicks or winners.
    6. Pickled or deep-copied half-way, the agent goes on as it would have, and its copies leave it alone.
    7. More positions than items, or less than one arm, are refused with a ValueError. So may more items than positions
       be, where the algorithm knows no such thing, but then every time.
    8. ``update`` of a ``DuelingAgent`` refuses with a ValueError what is no arm, and what names no winner or two, and
       goes on as if it had not been called. (An agent of another class need not.)
    9. Where an agent has ``settled``, it returns (num_envs,) bools and changes nothing. A row that was settled shows
       the same list or duel, and names the same candidate, in all rounds that are left, whatever its users do.
    10. Where an agent has ``snapshot``, it returns arrays with a leading axis of rows that are the caller's, or None,
        and changes nothing. An agent that was made alike, for all rows, or for some of them with a list of their
        seeds, and took these rows of the arrays by ``restore``, goes on as the other does.

    Args:
        factory: an ``Agent`` or ``DuelingAgent`` class; or anything that is called with the keywords ``num_items``,
            ``num_positions``, ``num_envs``, ``horizon``, ``seed`` (int, but for rule 10) and ``initial_list``
            (num_envs, num_items), or with ``num_arms``, ``num_envs``, ``horizon`` and ``seed``, and returns an object
            with ``act`` and ``update``.
        kind: "ranking" or "dueling". Default: what the class is; else "dueling" where it has a parameter
            ``num_arms``.
        num_items: items in the case with more items than positions.
        num_positions: positions, at least 1 and less than ``num_items``.
        num_arms: arms in the case with the most, at least 3.
        rounds: length of each run, at least 2.
        seed: of the users, the base lists and the agents.

    Raises:
        AgentError: a rule is broken.
        ValueError: an argument of ``check_agent`` is out of range.
    """
    if not callable(factory):
        raise ValueError(
            f"factory = {factory!r} makes no agents; allowed: an agent's class, or a function that makes one"
        )
    if kind is not None and kind not in KEYWORDS:
        raise ValueError(f"kind = {kind!r} is unknown; allowed: {', '.join(map(repr, KEYWORDS))}, or None")
    num_positions = whole_number("num_positions", num_positions, 1)
    num_items = whole_number("num_items", num_items, num_positions + 1)
    num_arms = whole_number("num_arms", num_arms, 3)
    rounds, seed = whole_number("rounds", rounds, 2), whole_number("seed", seed, 0)
    kind = kind or _kind(factory)
    try:
        inspect.signature(factory).bind(**dict.fromkeys(KEYWORDS[kind]))
    except TypeError as error:
        raise ValueError(
            f"factory = {factory!r}: {error}; allowed: one that takes the keywords {KEYWORDS[kind]}, "
            f"those that it has no use for by **rest"
        ) from None
    if kind == "dueling":
        for arms in (num_arms, 2, 1):
            _DuelingTrial(factory, arms, rounds, seed).run()
    else:
        for items, positions in ((num_items, num_positions), (num_positions, num_positions), (1, 1)):
            _RankingTrial(factory, items, positions, rounds, seed).run()


def _kind(factory: Callable[..., Any]) -> Literal["ranking", "dueling"]:
    """A class of ours says what it is; else the names of the parameters do, those of a class's bases among them.

    Who takes any keyword is to rank.
    """
    if isinstance(factory, type):
        if issubclass(factory, (Agent, DuelingAgent)):
            return "dueling" if issubclass(factory, DuelingAgent) else "ranking"
        makers = [vars(base)["__init__"] for base in factory.__mro__[:-1] if "__init__" in vars(base)]
    else:
        makers = [factory]
    return "dueling" if any("num_arms" in inspect.signature(maker).parameters for maker in makers) else "ranking"


def has_own(agent: Any, method: str) -> bool:
    """Whether an agent has such a method, another one than the one of ``Learner`` that says nothing."""
    return hasattr(agent, method) and getattr(type(agent), method, None) is not getattr(Learner, method)


ALL_ROWS = slice(0, None)


class _Trial(ABC):
    """One case of ``check_agent``: three rows of users. What a row's users would do depends on its seed alone.

    The loop and the rules that do not care what an action is; subclasses know that.
    """

    ROWS = 3
    ACTION: ClassVar[str]  # what act returns, in words: of one round, of many; and what update is told
    ACTIONS: ClassVar[str]
    ANSWER: ClassVar[str]

    def __init__(self, factory: Callable[..., Any], rounds: int, seed: int) -> None:
        self.factory, self.rounds, self.seed = factory, rounds, seed

    @abstractmethod
    def agent(self, rows: slice = ALL_ROWS) -> Any:
        """A new agent of all rows, or of some of them."""

    def seed_of(self, rows: slice) -> int | list[int]:
        return seed_argument([self.seed + row for row in range(self.ROWS)[rows]])

    @abstractmethod
    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """What the users of ``rows`` say in round t to ``actions``, as ``checked`` gives them."""

    @abstractmethod
    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """What users say who do not care what they see, in one of the two ways that turn a learner around best."""

    @abstractmethod
    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        """A copy of what ``act`` returned, as an array (rows, ...), if rule 1 holds."""

    @abstractmethod
    def as_it_is(self, action: Any) -> Any:
        """``action`` in the form of ``checked``, whatever it has become."""

    @abstractmethod
    def overwrite(self, action: Any) -> None:
        """Put other values into ``action``, where it can be written to."""

    @property
    @abstractmethod
    def case(self) -> str:
        """The sizes, in words."""

    width: int  # of an answer

    def keeps_the_rules(self, agent: Any) -> None:
        """Rules 1 to 6, 9 and 10."""
        if not (hasattr(agent, "act") and hasattr(agent, "update")):
            raise AgentError(self.said(1, f"the factory made {agent!r}", "an object with act and update"))
        shown = self.play(agent)
        self.compare(4, "a second agent with the same seed", shown, self.play(self.agent()))
        who = f"one whose {self.ACTIONS} and {self.ANSWER} were overwritten after update"
        self.compare(2, who, shown, self.play(self.agent(), spoil=True))
        for row in range(self.ROWS):
            one = slice(row, row + 1)
            self.compare(
                5, f"row {row} alone with seed {self.seed + row}", shown[:, one], self.play(self.agent(one), one)
            )
        self.resumes(shown)
        if has_own(agent, "settled"):
            self.settles(shown)
        if has_own(agent, "snapshot"):
            self.restores(shown)

    def play(
        self,
        agent: Any,
        part: slice = ALL_ROWS,
        *,
        after: NDArray[np.int64] | None = None,
        stop: int | None = None,
        spoil: bool = False,
    ) -> NDArray[np.int64]:
        """The actions up to round ``stop``, (rounds, rows, ...); rules 1 to 3 on the way.

        ``after`` are the actions of the rounds before, the rows in ``part`` play, and ``spoil`` overwrites arrays after
        use.
        """
        rows = np.arange(self.ROWS)[part]
        seen: list[NDArray[np.int64]] = []
        given: list[Any] = []
        start, observation = 0, np.zeros((len(rows), self.width), np.int8)
        if after is not None:
            start, observation = len(after), self.answer(len(after) - 1, rows, after[-1])
        for t in range(start, self.rounds if stop is None else stop):
            before = observation.copy()
            action = agent.act(observation)
            self.unchanged("act", "the observation", before, observation)
            seen.append(self.checked(action, len(rows), t))
            answer = self.answer(t, rows, seen[-1])
            before = answer.copy()
            agent.update(action, answer)
            self.unchanged("update", f"the {self.ANSWER}", before, answer)
            self.unchanged("update", f"the {self.ACTION}", seen[-1], self.as_it_is(action))
            self.after_round(agent, t, len(rows))
            observation = answer.copy()
            if spoil:
                answer[:] = 1 - answer
                self.overwrite(action)
            else:
                given.append(action)
        for t, (action, then) in enumerate(zip(given, seen, strict=False)):
            now = self.as_it_is(action)
            if not np.array_equal(now, then):
                text = f"what act returned in round {start + t} was {then.tolist()} and is {_listed(now)} by now"
                raise AgentError(self.said(2, text, "fresh arrays from each act"))
        return np.array(seen)

    def after_round(self, agent: Any, t: int, rows: int) -> None:  # noqa: B027
        """Whatever else is to be looked at after ``update``; nothing."""

    def unchanged(self, who: str, what: str, before: NDArray[Any], after: Any) -> None:
        if not np.array_equal(before, after):
            text = f"{who} changed {what} from {before.tolist()} to {_listed(after)}"
            raise AgentError(self.said(3, text, "arguments are left as they are"))

    def compare(self, rule: int, who: str, wanted: NDArray[np.int64], shown: NDArray[np.int64], start: int = 0) -> None:
        for t, (one, other) in enumerate(zip(wanted, shown, strict=True), start):
            if not np.array_equal(one, other):
                text = f"{who} showed {other.tolist()} in round {t}, where the first agent showed {one.tolist()}"
                raise AgentError(self.said(rule, text, f"the same {self.ACTIONS}"))

    def resumes(self, shown: NDArray[np.int64]) -> None:
        agent, half = self.agent(), self.rounds // 2
        self.play(agent, stop=half)
        try:
            copies = {"pickled": pickle.loads(pickle.dumps(agent)), "deep-copied": copy.deepcopy(agent)}
        except Exception as error:
            raise AgentError(self.said(6, f"copying raised {error!r}", "pickle and copy.deepcopy")) from error
        for who, one in {**copies, "the agent whose copies were": agent}.items():
            self.compare(6, f"{who} half-way", shown[half:], self.play(one, after=shown[:half]), half)

    def settles(self, shown: NDArray[np.int64]) -> None:
        """Rule 9: the users of a row that has settled turn stubborn, in one way and then in the other."""
        rows, settled = np.arange(self.ROWS), np.zeros(self.ROWS, bool)
        for way in range(2):
            agent, observation = self.agent(), np.zeros((self.ROWS, self.width), np.int8)
            settled[:] = False
            final: NDArray[Any] = np.zeros(0)
            for t in range(self.rounds):
                before, settled = settled, settled | self.said_settled(agent, t)
                action = agent.act(observation)
                actions = self.checked(action, self.ROWS, t)
                for row in np.flatnonzero(~before & (actions != shown[t]).reshape(self.ROWS, -1).any(1)):
                    text = f"asked which rows are settled, row {row} showed {actions[row].tolist()} in round {t}"
                    raise AgentError(self.said(9, text, f"what it shows unasked, {shown[t][row].tolist()}"))
                say = np.concatenate([actions.reshape(self.ROWS, -1), self.named(agent, t)], 1)
                final = say if t == 0 else np.where(before[:, None], final, say)
                for row in np.flatnonzero((final != say).any(1)):
                    text = (
                        f"row {row} was settled at {final[row].tolist()} and came to {say[row].tolist()} in round {t}"
                    )
                    raise AgentError(self.said(9, text, "the same for ever"))
                answer = self.answer(t, rows, actions)
                answer[settled] = self.stubborn(t, way, actions)[settled]
                agent.update(action, answer)
                observation = answer.copy()
            if not settled.any():
                return

    def said_settled(self, agent: Any, t: int) -> NDArray[np.bool_]:
        settled = agent.settled()
        if not isinstance(settled, np.ndarray) or settled.shape != (self.ROWS,) or settled.dtype != np.bool_:
            text = f"settled returned {settled!r} in round {t}"
            raise AgentError(self.said(9, text, f"an array of bools of shape {(self.ROWS,)}"))
        return settled

    def named(self, agent: Any, t: int) -> NDArray[np.int64]:
        """What an agent says of its rows besides its actions, (rows, ...); nothing."""
        return np.zeros((self.ROWS, 0), np.int64)

    def restores(self, shown: NDArray[np.int64]) -> None:
        """Rule 10."""
        agent, half = self.agent(), self.rounds // 2
        self.play(agent, stop=half)
        snapshot = agent.snapshot()
        if snapshot is None:
            return
        self.written_down(snapshot)
        who = "an agent whose snapshot was taken half-way"
        self.compare(10, who, shown[half:], self.play(agent, after=shown[:half]), half)
        for some in (ALL_ROWS, slice(0, None, 2)):
            try:
                other = self.agent(some)
            except Exception as error:
                raise AgentError(
                    self.said(10, f"seed = {self.seed_of(some)} raised {error!r}", "a list of the rows' seeds")
                ) from error
            parts = {name: part[some].copy() for name, part in snapshot.items()}
            try:
                other.restore(parts)
            except Exception as error:
                raise AgentError(self.said(10, f"restore raised {error!r}", "its own snapshot")) from error
            for part in parts.values():
                part[...] = np.zeros((), part.dtype)
            who = f"an agent of {len(shown[0][some])} of {self.ROWS} rows, restored half-way,"
            self.compare(10, who, shown[half:, some], self.play(other, some, after=shown[:half, some]), half)

    def written_down(self, snapshot: Any) -> None:
        """Whether a snapshot is a dict of arrays with a leading axis of rows."""
        if not isinstance(snapshot, dict):
            raise AgentError(
                self.said(10, f"snapshot returned a {type(snapshot).__name__}", "a dict of arrays, or None")
            )
        for name, part in snapshot.items():
            if not isinstance(name, str) or not isinstance(part, np.ndarray):
                text = f"snapshot()[{name!r}] is a {type(part).__name__}"
            elif part.shape[:1] != (self.ROWS,) or part.dtype.hasobject:
                text = f"snapshot()[{name!r}] has shape {part.shape} and dtype {part.dtype}"
            else:
                continue
            raise AgentError(self.said(10, text, f"arrays of numbers with a leading axis of {self.ROWS} rows"))

    def refuses(self, rule: int, what: str, attempt: Callable[[], Any], earlier: str = "") -> None:
        """``attempt`` raises a ValueError, or the rule is broken."""
        try:
            attempt()
        except ValueError:
            return
        except Exception as error:
            raise AgentError(self.said(rule, f"{what} raised {error!r}{earlier}", "a ValueError")) from error
        raise AgentError(self.said(rule, f"{what} was accepted{earlier}", "a ValueError"))

    def said(self, rule: int, seen: str, allowed: str) -> str:
        return f"rule {rule} of check_agent ({self.case}): {seen}; allowed: {allowed}"


def _listed(values: Any) -> Any:
    return np.asarray(values).tolist()


class _RankingTrial(_Trial):
    """A number of items and positions, and users with their base lists.

    The users of even rows follow a cascade, those of odd ones look at each position with a probability of its own.
    """

    ACTION, ACTIONS, ANSWER = "displayed lists", "lists", "clicks"

    def __init__(self, factory: Callable[..., Any], num_items: int, num_positions: int, rounds: int, seed: int) -> None:
        super().__init__(factory, rounds, seed)
        self.num_items, self.num_positions, self.width = num_items, num_positions, num_positions
        streams = [np.random.default_rng([seed + row, num_items]) for row in range(self.ROWS)]
        self.initial_list = np.array([stream.permutation(num_items) for stream in streams])
        attraction = np.array([stream.random(num_items) for stream in streams])
        self.attracted = np.array([stream.random((rounds, num_items)) for stream in streams]) < attraction[:, None]
        examination = np.linspace(1, 0.3, num_positions)
        self.examined = np.array([stream.random((rounds, num_positions)) for stream in streams]) < examination

    @property
    def case(self) -> str:
        return f"{self.num_items} items, {self.num_positions} positions"

    def run(self) -> None:
        self.refuses_positions(self.num_items + 1)
        try:
            agent = self.agent()
        except ValueError as refusal:
            if self.num_items == self.num_positions:
                raise AgentError(
                    self.said(7, f"the factory raised {refusal!r}", "as many items as positions")
                ) from refusal
            self.refuses_positions(self.num_positions, f", but at first raised {refusal!r}")
            return
        self.keeps_the_rules(agent)

    def agent(self, rows: slice = ALL_ROWS, num_positions: int | None = None) -> Any:
        initial_list = self.initial_list[rows].copy()
        before = initial_list.copy()
        agent = self.factory(
            num_items=self.num_items,
            num_positions=num_positions or self.num_positions,
            num_envs=len(initial_list),
            horizon=self.rounds,
            seed=self.seed_of(rows),
            initial_list=initial_list,
        )
        self.unchanged("the constructor", "initial_list", before, initial_list)
        return agent

    def refuses_positions(self, num_positions: int, earlier: str = "") -> None:
        what = f"num_positions = {num_positions} with num_items = {self.num_items}"
        self.refuses(7, what, lambda: self.agent(num_positions=num_positions), earlier)

    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        attracted = np.take_along_axis(self.attracted[rows, t], actions, 1)
        first = attracted & (np.cumsum(attracted, 1) == 1)
        return np.where(rows[:, None] % 2 == 0, first, attracted & self.examined[rows, t]).astype(np.int8)

    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Every other position is clicked, turn by turn: the lower one of each pair of neighbours, or the upper one."""
        return np.broadcast_to((np.arange(self.num_positions) + t + way) % 2 == 0, actions.shape).astype(np.int8)

    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        shape = (rows, self.num_positions)
        try:
            lists = np.array(action)
        except ValueError as error:  # ragged
            raise AgentError(
                self.said(1, f"act returned {action!r} in round {t}", f"an array of shape {shape}")
            ) from error
        if lists.shape != shape or lists.dtype.kind not in "iu":
            text = f"act returned shape {lists.shape} and dtype {lists.dtype} in round {t}"
            raise AgentError(self.said(1, text, f"whole numbers of shape {shape}"))
        lists = lists.astype(np.int64)
        row = first_fault(lists, self.num_items)
        if row >= 0:
            text = f"act returned {lists[row].tolist()} for row {row} in round {t}"
            raise AgentError(self.said(1, text, f"{shape[1]} different items out of 0..{self.num_items - 1}"))
        return lists

    def as_it_is(self, action: Any) -> Any:
        return action

    def overwrite(self, action: Any) -> None:
        if isinstance(action, np.ndarray) and action.flags.writeable:
            action[:] = action[:, ::-1].copy()


class _DuelingTrial(_Trial):
    """A number of arms, and users with a preference between each two of them that may well be cyclic."""

    ACTION, ACTIONS, ANSWER = "duel", "duels", "winners"
    SIDES = ("left", "right")
    width = 2

    def __init__(self, factory: Callable[..., Any], num_arms: int, rounds: int, seed: int) -> None:
        super().__init__(factory, rounds, seed)
        self.num_arms = num_arms
        streams = [np.random.default_rng([seed + row, num_arms]) for row in range(self.ROWS)]
        upper = np.triu([stream.random((num_arms, num_arms)) for stream in streams], 1)
        lower = np.tril(1 - np.transpose(upper, (0, 2, 1)), -1)
        self.preference = upper + lower + np.eye(num_arms) / 2  # (ROWS, arms, arms)
        self.coin = np.array([stream.random(rounds) for stream in streams])
        self.asks = True  # for the candidate, after each round

    @property
    def case(self) -> str:
        return f"{self.num_arms} arms"

    def run(self) -> None:
        try:
            agent = self.agent()
        except ValueError as refusal:
            raise AgentError(
                self.said(7, f"the factory raised {refusal!r}", "any number of arms from 1 on")
            ) from refusal
        self.keeps_the_rules(agent)
        shown = self.play(self.agent())
        self.asks = False
        who = "an agent that was never asked for its candidate"
        self.compare(3, who, shown, self.play(self.agent()))
        for arms in (0, -1):  # late: who writes an agent hears of its duels first
            self.refuses(7, f"num_arms = {arms}", lambda arms=arms: self.agent(num_arms=arms))  # type: ignore[misc]
        self.refuses_what_is_no_duel(shown)

    def agent(self, rows: slice = ALL_ROWS, num_arms: int | None = None) -> Any:
        return self.factory(
            num_arms=self.num_arms if num_arms is None else num_arms,
            num_envs=len(range(self.ROWS)[rows]),
            horizon=self.rounds,
            seed=self.seed_of(rows),
        )

    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        left_won = self.coin[rows, t] < self.preference[rows, actions[:, 0], actions[:, 1]]
        return np.stack([left_won, ~left_won], 1).astype(np.int8)

    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """The same side wins always."""
        return np.broadcast_to(np.arange(2) == way, actions.shape).astype(np.int8)

    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        if not isinstance(action, Mapping) or set(action) != set(self.SIDES):
            text = f"act returned {' '.join(repr(action).split())} in round {t}"
            raise AgentError(self.said(1, text, "a dict of the arms left and right"))
        return np.stack([self.arms(f"{side} of act", action[side], rows, t) for side in self.SIDES], 1)

    def arms(self, what: str, given: Any, rows: int, t: int) -> NDArray[np.int64]:
        """A copy of ``given``, if they are arms."""
        allowed = f"whole numbers of shape {(rows,)} in 0 .. {self.num_arms - 1}"
        try:
            arms = np.array(given)
        except ValueError as error:  # ragged
            raise AgentError(self.said(1, f"{what} was {given!r} in round {t}", allowed)) from error
        if arms.shape != (rows,) or arms.dtype.kind not in "iu":
            text = f"{what} had shape {arms.shape} and dtype {arms.dtype} in round {t}"
            raise AgentError(self.said(1, text, allowed))
        arms = arms.astype(np.int64)
        if arms.min() < 0 or arms.max() >= self.num_arms:
            raise AgentError(self.said(1, f"{what} was {arms.tolist()} in round {t}", allowed))
        return arms

    def as_it_is(self, action: Any) -> Any:
        return np.array([action.get(side) for side in self.SIDES], dtype=object).T

    def overwrite(self, action: Any) -> None:
        for side in self.SIDES:
            if isinstance(action[side], np.ndarray) and action[side].flags.writeable:
                action[side][:] = self.num_arms - 1 - action[side]

    def after_round(self, agent: Any, t: int, rows: int) -> None:
        """Rules 1 to 3 for the candidate: it is an arm, and the same whatever became of it when it was asked for."""
        if not self.asks or not hasattr(agent, "candidate"):
            return
        first = self.arms("candidate", agent.candidate, rows, t)
        given = agent.candidate
        self.still(3, first, given, rows, t)
        if isinstance(given, np.ndarray) and given.flags.writeable:
            given[:] = self.num_arms - 1 - given
            self.still(2, first, agent.candidate, rows, t)

    def named(self, agent: Any, t: int) -> NDArray[np.int64]:
        if not hasattr(agent, "candidate"):
            return super().named(agent, t)
        return self.arms("candidate", agent.candidate, self.ROWS, t)[:, None]

    def still(self, rule: int, first: NDArray[np.int64], again: Any, rows: int, t: int) -> None:
        candidate = self.arms("candidate", again, rows, t)
        if not np.array_equal(first, candidate):
            text = f"candidate was {first.tolist()} in round {t}, and {candidate.tolist()} when it was asked for again"
            raise AgentError(self.said(rule, text, "the same arms, in a fresh array each time"))

    def refuses_what_is_no_duel(self, shown: NDArray[np.int64]) -> None:
        """Rule 8, half-way through a run."""
        agent, half, rows = self.agent(), self.rounds // 2, np.arange(self.ROWS)
        if not isinstance(agent, DuelingAgent):
            return
        self.play(agent, stop=half)
        duel = {side: shown[half, :, number].copy() for number, side in enumerate(self.SIDES)}
        won = self.answer(half, rows, shown[half])
        for side in self.SIDES:
            for arm in (-1, self.num_arms):
                arms = np.array([*duel[side][:-1], arm])
                what = f"update with duel[{side!r}] = {arms.tolist()}"
                self.refuses(8, what, lambda duel={**duel, side: arms}: agent.update(duel, won.copy()))  # type: ignore[misc]
        for marks in ([0, 0], [1, 1], [2, -1]):
            bad = np.array([*won[:-1], marks], np.int8)
            what = f"update with won = {bad.tolist()}"
            self.refuses(8, what, lambda bad=bad: agent.update(dict(duel), bad))  # type: ignore[misc]
        bad = won[:, :1].copy()
        self.refuses(8, f"update with won of shape {bad.shape}", lambda: agent.update(dict(duel), bad))
        who = "an agent that refused what was no duel half-way"
        self.compare(8, who, shown[half:], self.play(agent, after=shown[:half]), half)
