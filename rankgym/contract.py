"""``check_agent``: the contract that ``simulate`` relies on, which anyone's agent can be run through."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.checks import whole_number
from rankgym.kernels import first_fault

__all__ = ["AgentError", "check_agent"]


class AgentError(AssertionError):
    """An agent broke a rule of the contract; the message says which one, what was seen and what is allowed."""


def check_agent(
    factory: Callable[..., Any],
    *,
    num_items: int = 6,
    num_positions: int = 3,
    rounds: int = 200,
    seed: int = 0,
) -> None:
    """Run an agent through the contract that ``simulate`` relies on; returns None if it holds.

    The rules, each checked with more items than positions, with as many, and with one of each:

    1. ``act`` returns whole numbers of shape (num_envs, num_positions), each row distinct items in 0 .. num_items - 1.
    2. A list given out is the caller's: the agent does not change it later, and does not care what becomes of it, or of
       the clicks, after ``update``.
    3. ``act``, ``update`` and the constructor leave their arguments as they are.
    4. The same seed and the same clicks give the same lists.
    5. Row b of a batch with seed s does what the agent alone with seed s + b does on the same clicks.
    6. Pickled or deep-copied half-way, the agent goes on as it would have, and its copies leave it alone.
    7. More positions than items are refused with a ValueError. So may more items than positions be, where the
       algorithm knows no such thing, but then every time.

    Args:
        factory: an ``Agent`` class, or anything that is called with the keywords ``num_items``, ``num_positions``,
            ``num_envs``, ``horizon``, ``seed`` (int) and ``initial_list`` (num_envs, num_items) and returns an object
            with ``act`` and ``update``.
        num_items: items in the case with more items than positions.
        num_positions: positions, at least 1 and less than ``num_items``.
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
    num_positions = whole_number("num_positions", num_positions, 1)
    num_items = whole_number("num_items", num_items, num_positions + 1)
    rounds, seed = whole_number("rounds", rounds, 2), whole_number("seed", seed, 0)
    keywords = ("num_items", "num_positions", "num_envs", "horizon", "seed", "initial_list")
    try:
        inspect.signature(factory).bind(**dict.fromkeys(keywords))
    except TypeError as error:
        raise ValueError(f"factory = {factory!r}: {error}; allowed: one that takes the keywords {keywords}") from None
    for items, positions in ((num_items, num_positions), (num_positions, num_positions), (1, 1)):
        _Trial(factory, items, positions, rounds, seed).run()


class _Trial:
    """One case of ``check_agent``: a number of items and positions, and three rows of users with their base lists.

    The users of a row, and what each of them would click, depend on its seed alone. Those of even rows follow a
    cascade, those of odd ones look at each position with a probability of its own.
    """

    ROWS = 3

    def __init__(self, factory: Callable[..., Any], num_items: int, num_positions: int, rounds: int, seed: int) -> None:
        self.factory, self.rounds, self.seed = factory, rounds, seed
        self.num_items, self.num_positions = num_items, num_positions
        streams = [np.random.default_rng([seed + row, num_items]) for row in range(self.ROWS)]
        self.initial_list = np.array([stream.permutation(num_items) for stream in streams])
        attraction = np.array([stream.random(num_items) for stream in streams])
        self.attracted = np.array([stream.random((rounds, num_items)) for stream in streams]) < attraction[:, None]
        examination = np.linspace(1, 0.3, num_positions)
        self.examined = np.array([stream.random((rounds, num_positions)) for stream in streams]) < examination

    def run(self) -> None:
        self.refuses(self.num_items + 1)
        try:
            agent = self.agent()
        except ValueError as refusal:
            if self.num_items == self.num_positions:
                raise AgentError(
                    self.said(7, f"the factory raised {refusal!r}", "as many items as positions")
                ) from refusal
            self.refuses(self.num_positions, f", but at first raised {refusal!r}")
            return
        lists = self.play(agent)
        self.compare(4, "a second agent with the same seed", lists, self.play(self.agent()))
        self.compare(
            2, "one whose lists and clicks were overwritten after update", lists, self.play(self.agent(), spoil=True)
        )
        for row in range(self.ROWS):
            alone = self.play(self.agent(row), row)
            self.compare(5, f"row {row} alone with seed {self.seed + row}", lists[:, row : row + 1], alone)
        self.resumes(lists)

    def agent(self, row: int | None = None, num_positions: int | None = None) -> Any:
        """All rows, or one of them alone."""
        initial_list = self.initial_list.copy() if row is None else self.initial_list[row : row + 1].copy()
        before = initial_list.copy()
        agent = self.factory(
            num_items=self.num_items,
            num_positions=num_positions or self.num_positions,
            num_envs=len(initial_list),
            horizon=self.rounds,
            seed=self.seed + (row or 0),
            initial_list=initial_list,
        )
        self.unchanged("the constructor", "initial_list", before, initial_list)
        return agent

    def play(
        self,
        agent: Any,
        row: int | None = None,
        *,
        after: NDArray[np.int64] | None = None,
        stop: int | None = None,
        spoil: bool = False,
    ) -> NDArray[np.int64]:
        """The lists up to round ``stop``, (rounds, rows, positions); rules 1 to 3 on the way.

        ``after`` are the lists of the rounds before, ``row`` plays alone, and ``spoil`` overwrites arrays after use.
        """
        rows = np.arange(self.ROWS) if row is None else np.array([row])
        seen: list[NDArray[np.int64]] = []
        given: list[Any] = []
        start, observation = 0, np.zeros((len(rows), self.num_positions), np.int8)
        if after is not None:
            start, observation = len(after), self.clicks(len(after) - 1, rows, after[-1])
        for t in range(start, self.rounds if stop is None else stop):
            before = observation.copy()
            displayed = agent.act(observation)
            self.unchanged("act", "the observation", before, observation)
            seen.append(self.checked(displayed, len(rows), t))
            clicks = self.clicks(t, rows, seen[-1])
            before = clicks.copy()
            agent.update(displayed, clicks)
            self.unchanged("update", "the clicks", before, clicks)
            self.unchanged("update", "the displayed lists", seen[-1], displayed)
            observation = clicks.copy()
            if spoil:
                clicks[:] = 1 - clicks
                if isinstance(displayed, np.ndarray) and displayed.flags.writeable:
                    displayed[:] = displayed[:, ::-1].copy()
            else:
                given.append(displayed)
        for t, (displayed, then) in enumerate(zip(given, seen, strict=False)):
            if not np.array_equal(displayed, then):
                text = (
                    f"the list of round {start + t} was {then.tolist()} and is {np.asarray(displayed).tolist()} by now"
                )
                raise AgentError(self.said(2, text, "a fresh array from each act"))
        return np.array(seen)

    def clicks(self, t: int, rows: NDArray[np.int64], displayed: NDArray[np.int64]) -> NDArray[np.int8]:
        attracted = np.take_along_axis(self.attracted[rows, t], displayed, 1)
        first = attracted & (np.cumsum(attracted, 1) == 1)
        return np.where(rows[:, None] % 2 == 0, first, attracted & self.examined[rows, t]).astype(np.int8)

    def checked(self, displayed: Any, rows: int, t: int) -> NDArray[np.int64]:
        """A copy of what ``act`` returned, if rule 1 holds."""
        shape = (rows, self.num_positions)
        try:
            lists = np.array(displayed)
        except ValueError as error:  # ragged
            raise AgentError(
                self.said(1, f"act returned {displayed!r} in round {t}", f"an array of shape {shape}")
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

    def unchanged(self, who: str, what: str, before: NDArray[Any], after: Any) -> None:
        if not np.array_equal(before, after):
            text = f"{who} changed {what} from {before.tolist()} to {np.asarray(after).tolist()}"
            raise AgentError(self.said(3, text, "arguments are left as they are"))

    def compare(self, rule: int, who: str, wanted: NDArray[np.int64], lists: NDArray[np.int64], start: int = 0) -> None:
        for t, (one, other) in enumerate(zip(wanted, lists, strict=True), start):
            if not np.array_equal(one, other):
                text = f"{who} showed {other.tolist()} in round {t}, where the first agent showed {one.tolist()}"
                raise AgentError(self.said(rule, text, "the same lists"))

    def resumes(self, lists: NDArray[np.int64]) -> None:
        agent, half = self.agent(), self.rounds // 2
        self.play(agent, stop=half)
        try:
            copies = {"pickled": pickle.loads(pickle.dumps(agent)), "deep-copied": copy.deepcopy(agent)}
        except Exception as error:
            raise AgentError(self.said(6, f"copying raised {error!r}", "pickle and copy.deepcopy")) from error
        for who, one in {**copies, "the agent whose copies were": agent}.items():
            self.compare(6, f"{who} half-way", lists[half:], self.play(one, after=lists[:half]), half)

    def refuses(self, num_positions: int, earlier: str = "") -> None:
        text = f"num_positions = {num_positions} with num_items = {self.num_items}"
        try:
            self.agent(num_positions=num_positions)
        except ValueError:
            return
        except Exception as error:
            raise AgentError(self.said(7, f"{text} raised {error!r}{earlier}", "a ValueError")) from error
        raise AgentError(self.said(7, f"{text} was accepted{earlier}", "a ValueError"))

    def said(self, rule: int, seen: str, allowed: str) -> str:
        case = f"{self.num_items} items, {self.num_positions} positions"
        return f"rule {rule} of check_agent ({case}): {seen}; allowed: {allowed}"
