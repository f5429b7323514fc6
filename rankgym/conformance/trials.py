"""The trials of ``check_agent``: agents meet simulated users, and every rule is tried."""

import copy
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import DuelingAgent, Learner, seed_argument
from rankgym.conformance.asking import ask_for_beliefs
from rankgym.conformance.parts import MissingPart, make_agent
from rankgym.conformance.rulebook import Rulebook, fail, refuses
from rankgym.kernels import first_fault

ALL_ROWS = slice(0, None)


def whole_numbers(what: str, given: Any, shape: tuple[int, ...], t: int, expected: str) -> NDArray[np.int64]:
    """Return an int64 copy of ``given``, or the rule of actions is broken."""
    if given is None:
        fail("actions", f"{what} None in round {t}", expected)
    try:
        numbers = np.array(given)
    except ValueError as error:  # ragged
        fail("actions", f"{what} {given!r} in round {t}", expected, error)
    if numbers.shape != shape or numbers.dtype.kind not in "iu":
        fail("actions", f"{what} an array of shape {numbers.shape} and dtype {numbers.dtype} in round {t}", expected)
    return numbers.astype(np.int64, copy=False)


def equal(one: NDArray[Any], other: Any) -> bool:
    """Return ``np.array_equal``, quickly for the usual case: arrays of the same bits."""
    return (
        isinstance(other, np.ndarray)
        and one.dtype == other.dtype
        and one.shape == other.shape
        and one.tobytes() == other.tobytes()
    ) or np.array_equal(one, other)


def different_rows(one: NDArray[np.int64], other: NDArray[np.int64]) -> list[int]:
    """Return the indices along the first axis at which two arrays of one shape differ."""
    if equal(one, other):
        return []
    return np.flatnonzero((one != other).reshape(len(one), -1).any(1)).tolist()


class Trial(ABC):
    """One case of ``check_agent``: three rows of users. What a row's users would do depends on its seed alone."""

    ROWS = 3
    ACTION: ClassVar[str]  # what act returns, in words: of one round, of many; and what update takes
    ACTIONS: ClassVar[str]
    ANSWER: ClassVar[str]
    case: str  # the sizes, in words
    width: int  # of an answer
    things: int  # that are ranked, or duel

    def __init__(self, book: Rulebook, factory: Callable[..., Any], rounds: int, seed: int) -> None:
        self.book, self.factory, self.rounds, self.seed = book, factory, rounds, seed
        self.half = rounds // 2
        self.first: Any = None  # the agent of the first play
        self.shown: NDArray[np.int64] = np.zeros(0, np.int64)  # its actions, (rounds, rows, ...)
        self.refusal: Exception | None = None  # by which the factory refused these sizes

    @abstractmethod
    def agent(self, rows: slice = ALL_ROWS) -> Any:
        """Return a new agent of all rows, or of some of them."""

    def seed_of(self, rows: slice) -> int | list[int]:
        return seed_argument([self.seed + row for row in range(self.ROWS)[rows]])

    def made(self, rows: slice, **arguments: Any) -> Any:
        num_envs = len(range(self.ROWS)[rows])
        shape = {"num_envs": num_envs, "horizon": self.rounds, "seed": self.seed_of(rows)}
        return make_agent(self.factory, **shape, **arguments)

    @abstractmethod
    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return the clicks or winners of ``rows`` in round t, given ``actions`` as ``checked`` returns them."""

    @abstractmethod
    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return answers that ignore the actions, in one of two ways that are likely to change a learner's mind."""

    @abstractmethod
    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        """Return a copy of what ``act`` returned, as an array (rows, ...), if it keeps the rule of actions."""

    @abstractmethod
    def as_it_is(self, action: Any) -> Any:
        """Return ``action``, whatever it has become, in the form of ``checked``."""

    @abstractmethod
    def overwrite(self, action: Any) -> None:
        """Write other values into ``action``, if it can be written to."""

    def run(self) -> None:
        """Try every rule in this case."""
        attempt = self.book.attempt
        try:
            self.first = self.agent()
        except Exception as error:
            self.refusal = error
        attempt("parts", (), self.check_parts)
        attempt("sizes", ("parts",), self.check_sizes)
        if "parts" in self.book.broken:
            for rule in self.book.rules:
                self.book.skipped.setdefault(rule, "rule 'parts' is broken")
            return
        if self.refusal is not None:
            if self.may_refuse():
                return
            self.book.skipped.setdefault("actions", f"the factory raised {self.refusal!r}")
        attempt("actions", (), self.check_actions)
        attempt("seed", ("actions",), lambda: self.replay("seed", "a second agent with the same seed", self.agent()))
        attempt("arguments", ("actions",), self.check_arguments)
        attempt("fresh results", ("seed",), self.check_fresh_results)
        attempt("row independence", ("seed",), self.check_rows)
        attempt("copies", ("seed",), self.check_copies)
        if self.first is not None:
            for rule in ("settled", "snapshot", "beliefs"):
                defaults = (getattr(base, rule) for base in (Learner, DuelingAgent))
                if not hasattr(self.first, rule) or getattr(type(self.first), rule, None) in defaults:
                    self.book.skipped.setdefault(rule, f"the agent has no method {rule}")
        attempt("settled", ("seed",), self.check_settled)
        attempt("snapshot", ("seed",), self.check_snapshot)
        attempt("beliefs", ("seed",), self.check_beliefs)

    def may_refuse(self) -> bool:
        """Return whether the factory may refuse these sizes as it did."""
        return False

    def check_parts(self) -> None:
        if isinstance(self.refusal, MissingPart):
            fail("parts", self.refusal.seen, self.refusal.expected, self.refusal)

    @abstractmethod
    def check_sizes(self) -> None: ...

    def check_actions(self) -> None:
        self.shown = self.play(self.first)

    def check_arguments(self) -> None:  # noqa: B027
        """What plays do not see of this rule."""

    def check_fresh_results(self) -> None:
        who = f"one whose {self.ACTIONS} and {self.ANSWER} were overwritten after update"
        self.replay("fresh results", who, self.agent(), spoil=True)

    def check_rows(self) -> None:
        for row in range(self.ROWS):
            one = slice(row, row + 1)
            self.replay("row independence", f"row {row} alone with seed {self.seed + row}", self.agent(one), one)

    def play(
        self, agent: Any, part: slice = ALL_ROWS, start: int = 0, stop: int | None = None, *, spoil: bool = False
    ) -> NDArray[np.int64]:
        """Return the actions in ``start .. stop``, (rounds, rows, ...), checking actions, arguments and fresh results.

        ``part`` selects the rows that play; ``spoil`` overwrites arrays after use.
        """
        rows = np.arange(self.ROWS)[part]
        seen: list[NDArray[np.int64]] = []
        given: list[tuple[Any, Any]] = []  # what act returned, and a copy after update
        observation = np.zeros((len(rows), self.width), np.int8)
        if start:
            observation = self.answer(start - 1, rows, self.shown[start - 1, part])
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
                given.append((action, np.array(self.as_it_is(action))))
        for t, (action, then) in enumerate(given, start):
            now = self.as_it_is(action)
            if not equal(then, now):
                text = f"what act returned in round {t} was {then.tolist()} and is {np.asarray(now).tolist()} by now"
                self.book.note("fresh results", text, "fresh arrays from each act")
                break
        return np.array(seen)

    def after_round(self, agent: Any, t: int, rows: int) -> None:  # noqa: B027
        """Check more after an ``update``."""

    def unchanged(self, who: str, what: str, before: NDArray[Any], after: Any) -> None:
        if not equal(before, after):
            text = f"{who} changed {what} from {before.tolist()} to {np.asarray(after).tolist()}"
            self.book.note("arguments", text, "unchanged arguments")

    def replay(
        self, rule: str, who: str, agent: Any, part: slice = ALL_ROWS, start: int = 0, *, spoil: bool = False
    ) -> None:
        """Play from round ``start`` to the end; the actions must be those of the first agent."""
        first, again = self.shown[start:, part], self.play(agent, part, start, spoil=spoil)
        if not equal(first, again):
            t = next(t for t, (one, other) in enumerate(zip(first, again, strict=True)) if not equal(one, other))
            showed = f"{who} showed {again[t].tolist()} in round {start + t}"
            fail(rule, f"{showed}, where the first agent showed {first[t].tolist()}", f"the same {self.ACTIONS}")

    def half_played(self) -> Any:
        """Return an agent that has played the first half of the rounds."""
        agent = self.agent()
        self.play(agent, stop=self.half)
        return agent

    def check_copies(self) -> None:
        agent = self.half_played()
        try:
            copies = {"pickled": pickle.loads(pickle.dumps(agent)), "deep-copied": copy.deepcopy(agent)}
        except Exception as error:
            fail("copies", f"copying raised {error!r}", "pickle and copy.deepcopy", error)
        for who, one in {**copies, "the agent whose copies were": agent}.items():
            self.replay("copies", f"{who} half-way", one, start=self.half)

    def check_settled(self) -> None:
        """Let the users of settled rows ignore what they see, in one way and then in the other."""
        shown = self.shown
        rows, settled = np.arange(self.ROWS), np.zeros(self.ROWS, bool)
        for way in range(2):
            agent, observation = self.agent(), np.zeros((self.ROWS, self.width), np.int8)
            settled[:] = False
            final: NDArray[Any] = np.zeros(0)
            for t in range(self.rounds):
                said = agent.settled()
                if not isinstance(said, np.ndarray) or said.shape != (self.ROWS,) or said.dtype != np.bool_:
                    text = f"settled returned {said!r} in round {t}"
                    fail("settled", text, f"an array of bools of shape {(self.ROWS,)}")
                before, settled = settled, settled | said
                action = agent.act(observation)
                actions = self.checked(action, self.ROWS, t)
                for row in different_rows(shown[t], actions):
                    if not before[row]:
                        text = f"asked which rows are settled, row {row} showed {actions[row].tolist()} in round {t}"
                        fail("settled", text, f"what it shows unasked, {shown[t][row].tolist()}")
                say = np.concatenate([actions.reshape(self.ROWS, -1), self.named(agent, t)], 1)
                final = np.where(before[:, None], final, say) if before.any() else say
                for row in different_rows(final, say):
                    text = f"row {row} was settled at {final[row].tolist()} and came to {say[row].tolist()}"
                    fail("settled", f"{text} in round {t}", "the same for ever")
                answer = self.answer(t, rows, actions)
                if settled.any():
                    answer[settled] = self.stubborn(t, way, actions)[settled]
                agent.update(action, answer)
                observation = answer.copy()
            if not settled.any():
                return

    def named(self, agent: Any, t: int) -> NDArray[np.int64]:
        """Return what the agent names besides its actions, (rows, ...)."""
        return np.zeros((self.ROWS, 0), np.int64)

    def check_beliefs(self) -> None:
        """Ask before the first round and after each one; the actions must be those of the first agent, not asked."""
        agent, rows = self.agent(), np.arange(self.ROWS)
        observation = np.zeros((self.ROWS, self.width), np.int8)
        for t in range(self.rounds):
            for row in range(self.ROWS):
                ask_for_beliefs(agent, row, self.things, f"after round {t - 1}" if t else "before the first round")
            action = agent.act(observation)
            actions = self.checked(action, self.ROWS, t)
            for row in different_rows(self.shown[t], actions):
                text = f"asked for its beliefs before, row {row} showed {actions[row].tolist()} in round {t}"
                fail("beliefs", text, f"what it shows unasked, {self.shown[t][row].tolist()}")
            observation = self.answer(t, rows, actions)
            agent.update(action, observation.copy())

    def check_snapshot(self) -> None:
        agent = self.half_played()
        snapshot = agent.snapshot()
        if snapshot is None:
            return
        self.written_down(snapshot)
        self.replay("snapshot", "an agent whose snapshot was taken half-way", agent, start=self.half)
        for some in (ALL_ROWS, slice(0, None, 2)):
            try:
                other = self.agent(some)
            except Exception as error:
                fail("snapshot", f"seed = {self.seed_of(some)} raised {error!r}", "a list of the rows' seeds", error)
            parts = {name: part[some].copy() for name, part in snapshot.items()}
            try:
                other.restore(parts)
            except Exception as error:
                fail("snapshot", f"restore raised {error!r}", "its own snapshot", error)
            for part in parts.values():
                part[...] = np.zeros((), part.dtype)
            who = f"an agent of {len(self.shown[0][some])} of {self.ROWS} rows, restored half-way,"
            self.replay("snapshot", who, other, some, self.half)

    def written_down(self, snapshot: Any) -> None:
        """Check that a snapshot is a dict of arrays with a leading axis of rows."""
        if not isinstance(snapshot, dict):
            fail("snapshot", f"snapshot returned a {type(snapshot).__name__}", "a dict of arrays, or None")
        for name, part in snapshot.items():
            if not isinstance(name, str) or not isinstance(part, np.ndarray):
                text = f"snapshot()[{name!r}] is a {type(part).__name__}"
            elif part.shape[:1] != (self.ROWS,) or part.dtype.hasobject:
                text = f"snapshot()[{name!r}] has shape {part.shape} and dtype {part.dtype}"
            else:
                continue
            fail("snapshot", text, f"arrays of numbers with a leading axis of {self.ROWS} rows")


class RankingTrial(Trial):
    """A number of items and positions, and users with their base lists.

    The users of even rows follow a cascade, those of odd ones look at each position with a probability of its own.
    """

    ACTION, ACTIONS, ANSWER = "displayed lists", "lists", "clicks"

    def __init__(
        self, book: Rulebook, factory: Callable[..., Any], num_items: int, num_positions: int, rounds: int, seed: int
    ) -> None:
        super().__init__(book, factory, rounds, seed)
        self.num_items, self.num_positions, self.width = num_items, num_positions, num_positions
        self.things = num_items
        self.case = f"{num_items} items, {num_positions} positions"
        streams = [np.random.default_rng([seed + row, num_items]) for row in range(self.ROWS)]
        self.initial_list = np.array([stream.permutation(num_items) for stream in streams])
        attraction = np.array([stream.random(num_items) for stream in streams])
        attracted = np.array([stream.random((rounds, num_items)) for stream in streams]) < attraction[:, None]
        examination = np.linspace(1, 0.3, num_positions)
        examined = np.array([stream.random((rounds, num_positions)) for stream in streams]) < examination
        self.attracted, self.examined = (np.ascontiguousarray(part.swapaxes(0, 1)) for part in (attracted, examined))
        self.cascade = np.arange(self.ROWS)[:, None] % 2 == 0

    def may_refuse(self) -> bool:
        return self.num_items > self.num_positions and isinstance(self.refusal, ValueError)

    def check_sizes(self) -> None:
        if self.refusal is not None:
            said = f"the factory raised {self.refusal!r}"
            if not self.may_refuse():
                fail("sizes", said, "an agent that ranks as many items as positions", self.refusal)
            self.refuses_positions(self.num_positions, f", but at first {said}")
        self.refuses_positions(self.num_items + 1)

    def agent(self, rows: slice = ALL_ROWS, num_positions: int | None = None) -> Any:
        initial_list = self.initial_list[rows].copy()
        sizes = {"num_items": self.num_items, "num_positions": num_positions or self.num_positions}
        agent = self.made(rows, **sizes, initial_list=initial_list)
        self.unchanged("the constructor", "initial_list", self.initial_list[rows], initial_list)
        return agent

    def refuses_positions(self, num_positions: int, earlier: str = "") -> None:
        what = f"num_positions = {num_positions} with num_items = {self.num_items}"
        refuses("sizes", what, lambda: self.agent(num_positions=num_positions), earlier=earlier)

    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        attracted = self.attracted[t, rows[:, None], actions]
        seen = np.where(self.cascade[rows], attracted.cumsum(1) == 1, self.examined[t, rows])
        return (attracted & seen).view(np.int8)

    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Every other position is clicked, turn by turn: the lower one of each pair of neighbours, or the upper one."""
        return np.broadcast_to((np.arange(self.num_positions) + t + way) % 2 == 0, actions.shape).astype(np.int8)

    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        shape = (rows, self.num_positions)
        expected = f"whole numbers of shape (num_envs, num_positions) = {shape}"
        if isinstance(action, np.ndarray) and action.shape == (1, *shape[1:]) != shape:
            expected += f"; this agent has one row, so pass num_envs={rows} on to super().__init__"
        lists = whole_numbers("act returned", action, shape, t, expected)
        row = first_fault(lists, self.num_items)
        if row >= 0:
            text = f"act returned {lists[row].tolist()} for row {row} in round {t}"
            fail("actions", text, f"{shape[1]} different items out of 0..{self.num_items - 1}")
        return lists

    def as_it_is(self, action: Any) -> Any:
        return action

    def overwrite(self, action: Any) -> None:
        if isinstance(action, np.ndarray) and action.flags.writeable:
            action[:] = action[:, ::-1].copy()


class DuelingTrial(Trial):
    """A number of arms, and users with a preference between each two of them that may well be cyclic."""

    ACTION, ACTIONS, ANSWER = "duel", "duels", "winners"
    SIDES = ("left", "right")
    width = 2

    def __init__(self, book: Rulebook, factory: Callable[..., Any], num_arms: int, rounds: int, seed: int) -> None:
        super().__init__(book, factory, rounds, seed)
        self.num_arms, self.case = num_arms, f"{num_arms} arms"
        self.things = num_arms
        streams = [np.random.default_rng([seed + row, num_arms]) for row in range(self.ROWS)]
        upper = np.triu([stream.random((num_arms, num_arms)) for stream in streams], 1)
        lower = np.tril(1 - np.transpose(upper, (0, 2, 1)), -1)
        self.preference = upper + lower + np.eye(num_arms) / 2  # (ROWS, arms, arms)
        self.coin = np.array([stream.random(rounds) for stream in streams]).T  # (rounds, ROWS)
        self.asks = True  # for the candidate, after each round

    def run(self) -> None:
        super().run()
        if self.first is not None and not isinstance(self.first, DuelingAgent):
            self.book.skipped.setdefault("bad duels", "the agent is not a DuelingAgent")
        self.book.attempt("bad duels", ("seed",), self.check_bad_duels)

    def check_sizes(self) -> None:
        if self.refusal is not None:
            fail("sizes", f"the factory raised {self.refusal!r}", "any number of arms from 1 on", self.refusal)
        for arms in (0, -1):
            refuses("sizes", f"num_arms = {arms}", lambda arms=arms: self.agent(num_arms=arms))  # type: ignore[misc]

    def check_arguments(self) -> None:
        if "seed" in self.book.broken:
            return
        self.asks = False
        self.replay("arguments", "an agent that was never asked for its candidate", self.agent())
        self.asks = True

    def agent(self, rows: slice = ALL_ROWS, num_arms: int | None = None) -> Any:
        return self.made(rows, num_arms=self.num_arms if num_arms is None else num_arms)

    def answer(self, t: int, rows: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        left_won = self.coin[t, rows] < self.preference[rows, actions[:, 0], actions[:, 1]]
        return np.array([left_won, ~left_won], np.int8).T.copy()

    def stubborn(self, t: int, way: int, actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """The same side wins always."""
        return np.broadcast_to(np.arange(2) == way, actions.shape).astype(np.int8)

    def checked(self, action: Any, rows: int, t: int) -> NDArray[np.int64]:
        if not isinstance(action, Mapping) or set(action) != set(self.SIDES):
            fail(
                "actions", f"act returned {action!r} in round {t}", f"a dict of the arms left and right, {(rows,)} each"
            )
        return np.array([self.arms(f"{side} of act", action[side], rows, t) for side in self.SIDES]).T

    def arms(self, what: str, given: Any, rows: int, t: int) -> NDArray[np.int64]:
        """A copy of ``given``, if they are arms."""
        allowed = f"whole numbers of shape {(rows,)} in 0 .. {self.num_arms - 1}"
        arms = whole_numbers(f"{what} was", given, (rows,), t, allowed)
        numbers = arms.tolist()
        if min(numbers) < 0 or max(numbers) >= self.num_arms:
            fail("actions", f"{what} was {numbers} in round {t}", allowed)
        return arms

    def as_it_is(self, action: Any) -> Any:
        sides = [action.get(side) for side in self.SIDES]
        usual = all(isinstance(arms, np.ndarray) and arms.dtype == np.int64 for arms in sides)
        return np.array(sides, dtype=None if usual and sides[0].shape == sides[1].shape else object).T

    def overwrite(self, action: Any) -> None:
        for side in self.SIDES:
            if isinstance(action[side], np.ndarray) and action[side].flags.writeable:
                action[side][:] = self.num_arms - 1 - action[side]

    def after_round(self, agent: Any, t: int, rows: int) -> None:
        """Check the candidate: an arm, and the same when asked for again, whatever became of the array."""
        if not self.asks or not (isinstance(agent, DuelingAgent) or hasattr(agent, "candidate")):
            return
        first = self.arms("candidate", agent.candidate, rows, t)
        given = agent.candidate
        self.still("arguments", first, given, rows, t)
        if isinstance(given, np.ndarray) and given.flags.writeable:
            given[:] = self.num_arms - 1 - given
            self.still("fresh results", first, agent.candidate, rows, t)

    def named(self, agent: Any, t: int) -> NDArray[np.int64]:
        if not hasattr(agent, "candidate"):
            return super().named(agent, t)
        return self.arms("candidate", agent.candidate, self.ROWS, t)[:, None]

    def still(self, rule: str, first: NDArray[np.int64], again: Any, rows: int, t: int) -> None:
        candidate = self.arms("candidate", again, rows, t)
        if not equal(first, candidate):
            text = f"candidate was {first.tolist()} in round {t}, and {candidate.tolist()} when it was asked for again"
            fail(rule, text, "the same arms, in a fresh array each time")

    def check_bad_duels(self) -> None:
        agent, actions = self.half_played(), self.shown[self.half]
        duel = {side: actions[:, number].copy() for number, side in enumerate(self.SIDES)}
        won = self.answer(self.half, np.arange(self.ROWS), actions)
        for side in self.SIDES:
            for arm in (-1, self.num_arms):
                arms = np.array([*duel[side][:-1], arm])
                what = f"update with duel[{side!r}] = {arms.tolist()}"
                refuses("bad duels", what, lambda duel={**duel, side: arms}: agent.update(duel, won.copy()))  # type: ignore[misc]
        for marks in ([0, 0], [1, 1], [2, -1]):
            bad = np.array([*won[:-1], marks], np.int8)
            what = f"update with won = {bad.tolist()}"
            refuses("bad duels", what, lambda bad=bad: agent.update(dict(duel), bad))  # type: ignore[misc]
        bad = won[:, :1].copy()
        refuses("bad duels", f"update with won of shape {bad.shape}", lambda: agent.update(dict(duel), bad))
        self.replay("bad duels", "an agent that refused bad duels half-way", agent, start=self.half)
