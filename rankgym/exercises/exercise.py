"""What an exercise is: a handout, and named checks with points. Write your own with ``Exercise`` and ``check``."""

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from rankgym.submissions import NoAnswer, Submission

TOLERANCE = 1e-9  # relative and absolute, of floats
SHOWN_ROUNDS = 20  # entries of an argument with one for each round, if there are fewer rounds
LONGEST_TEXT = 400  # characters of a value in a message


class Fault(NamedTuple):
    """How a check failed: the smallest case that was found."""

    where: str  # the function or class of the submission
    call: str  # what was called, as Python text
    expected: str  # "" if there is no single right answer
    got: str
    mistake: str = ""  # what the answer looks like
    line: int | None = None  # of the submission; of a notebook as one script
    code: str = ""
    place: str = ""  # the line in words


class Failed(Exception):
    """Ends a check."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Trial:
    """What a check works with: the submission, and random numbers that only the checker knows.

    The methods end the check if the submission's answer is wrong. A check asks for small cases first, so that the case
    that is shown is a small one.
    """

    def __init__(self, student: Submission, rng: np.random.Generator) -> None:
        self.student, self.rng = student, rng

    def call(self, function: str, *args: Any) -> Any:
        """Return the answer of the submission's function. Arrays become lists."""
        sent = plain(args)
        try:
            return self.student.call(function, *sent)
        except NoAnswer as error:
            self._no_answer(function, called(function, sent), error)

    def expect(self, expected: Any, function: str, *args: Any, tolerance: float = TOLERANCE) -> None:
        """Check that ``function(*args)`` is ``expected``: numbers, bools, texts, and lists of these.

        Args:
            expected: the right answer.
            function: its name in the submission.
            args: its arguments, plain data or arrays.
            tolerance: of floats, relative and absolute.
        """
        got = self.call(function, *args)
        if not same(got, plain(expected), tolerance):
            self.fail(function, called(function, plain(args)), plain(expected), got)

    def compare(
        self,
        function: str,
        oracle: Callable[..., Any],
        cases: Iterable[Sequence[Any]],
        *,
        mistakes: Mapping[str, Callable[..., Any]] | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        """Check that the submission's function gives what ``oracle`` gives, in each case.

        The first case in which they differ is shown, so small cases come first. A mistake is named if its function
        gives all that the submission's gives, in all cases.

        Args:
            function: its name in the submission.
            oracle: takes the same arguments.
            cases: the arguments of each call, plain data or arrays.
            mistakes: wrong functions of the same arguments, by what is wrong with them.
            tolerance: of floats, relative and absolute.
        """
        suspects, fault = dict(mistakes or {}), None
        for args in cases:
            sent = plain(tuple(args))
            try:
                got = self.call(function, *sent)
            except Failed:
                if fault is None:
                    raise
                break
            suspects = {why: wrong for why, wrong in suspects.items() if _gives(wrong, sent, got, tolerance)}
            right = plain(oracle(*sent))
            if fault is None and not same(got, right, tolerance):
                fault = Fault(function, called(function, sent), shown(right), shown(got))
        if fault is not None:
            raise Failed(fault._replace(mistake=next(iter(suspects), "")))

    def make(self, class_name: str, **arguments: Any) -> Any:
        """Make an object of a class of the submission; ``student.method`` calls its methods."""
        try:
            return self.student.make(class_name, **plain(arguments))
        except NoAnswer as error:
            self._no_answer(class_name, called(class_name, (), plain(arguments)), error)

    def lists(
        self, class_name: str, arguments: Mapping[str, Any], attracted: Any, examined: Any, *, first_only: bool = False
    ) -> list[list[int]]:
        """Play an agent of the submission's class; return its lists, (rounds, positions), all of them valid."""
        lists, called_as = self._played(class_name, arguments, "play", attracted, examined, first_only=first_only)
        items, positions = len(attracted[0]), len(examined[0])
        if lists and not is_ranking(lists[-1], items, positions):
            call = f"{called_as}.act() in round {len(lists) - 1} (counted from 0)"
            self.fail(class_name, call, f"{positions} different items out of 0 .. {items - 1}", lists[-1])
        return lists

    def duels(self, class_name: str, arguments: Mapping[str, Any], wins: Any) -> list[list[int]]:
        """Play a dueling agent of the submission's class; return its duels, (rounds, 2), all of them of two arms."""
        duels, called_as = self._played(class_name, arguments, "play_duels", wins)
        arms = len(wins[0])
        if duels and not (len(duels[-1]) == 2 and all(type(arm) is int and 0 <= arm < arms for arm in duels[-1])):
            call = f"{called_as}.act() in round {len(duels) - 1} (counted from 0)"
            self.fail(class_name, call, f"two arms out of 0 .. {arms - 1}", duels[-1])
        return duels

    def expect_lists(
        self,
        make_oracle: Callable[..., Any],
        class_name: str,
        arguments: Mapping[str, Any],
        attracted: Any,
        examined: Any,
        *,
        first_only: bool = False,
        mistakes: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Check that an agent displays the same lists as an oracle that meets the same users.

        Args:
            make_oracle: called with ``arguments``, makes an agent with ``act()`` and ``update(displayed, clicks)``.
            class_name: of the submission's agent.
            arguments: of its constructor.
            attracted: (rounds, items) bool: whether the round's user likes the item.
            examined: (rounds, positions) bool: whether the user looks at the position.
            first_only: whether the first click ends a session.
            mistakes: makers of wrong oracles by what is wrong with them.
        """

        def play(agent: Any, rounds: int | None) -> tuple[list[list[int]], list[list[int]]]:
            return played(agent, attracted, examined, first_only, rounds=rounds)

        lists = self.lists(class_name, arguments, attracted, examined, first_only=first_only)
        self._expect_same(class_name, arguments, lists, [("", make_oracle), *(mistakes or {}).items()], play)

    def expect_duels(
        self,
        make_oracle: Callable[..., Any],
        class_name: str,
        arguments: Mapping[str, Any],
        wins: Any,
        *,
        mistakes: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Check that a dueling agent chooses the same duels as an oracle that meets the same users.

        Args:
            make_oracle: called with ``arguments``, makes an agent with ``act()`` and ``update(left, right, left_won)``.
            class_name: of the submission's agent.
            arguments: of its constructor.
            wins: (rounds, arms, arms) bool: whether the first arm would beat the second one.
            mistakes: makers of wrong oracles by what is wrong with them.
        """

        def play(agent: Any, rounds: int | None) -> tuple[list[list[int]], list[int]]:
            return played_duels(agent, wins, rounds=rounds)

        duels = self.duels(class_name, arguments, wins)
        self._expect_same(class_name, arguments, duels, [("", make_oracle), *(mistakes or {}).items()], play)

    def _played(self, class_name: str, arguments: Mapping[str, Any], how: str, *users: Any, **more: Any) -> Any:
        """Play an agent of the submission's class by a method of ``Submission``; return its choices, and its making."""
        agent = self.make(class_name, **arguments)
        called_as = _made(class_name, arguments, len(users[0]))
        try:
            choices = getattr(self.student, how)(agent, *users, **more)
        except NoAnswer as error:
            self._no_answer(class_name, f"{called_as}, played", error)
        self.student.drop(agent)
        return choices, called_as

    def _expect_same(
        self,
        class_name: str,
        arguments: Mapping[str, Any],
        choices: list[list[int]],
        makers: Sequence[tuple[str, Callable[..., Any]]],
        play: Callable[[Any, int | None], tuple[list[list[int]], Any]],
    ) -> None:
        """Check that an agent's choices are those of the first of ``makers``; the others are mistakes.

        ``play(agent, rounds)`` returns an oracle's choices and what they got, of all rounds if ``rounds`` is None.
        """
        (_, make_oracle), *mistakes = makers
        right, got = play(make_oracle(**arguments), None)
        wrong_round = next(
            (t for t, (one, other) in enumerate(zip(choices, right, strict=False)) if one != other), None
        )
        if wrong_round is None:
            return
        first = choices[: wrong_round + 1]
        alike = [(why, make) for why, make in mistakes if _chooses(play, make, arguments, wrong_round + 1) == first]
        whole = [why for why, make in alike if (_chooses(play, make, arguments) or [])[: len(choices)] == choices]
        early = [f"perhaps (it gives the same up to this round): {why}" for why, _ in alike]
        mistake = next(iter([*whole, *early]), "")
        what, verb = ("duel", "won by") if isinstance(got[0], int) else ("list", "got")
        history = "; ".join(f"{choices[t]} {verb} {got[t]}" for t in range(max(wrong_round - 3, 0), wrong_round))
        call = f"{_made(class_name, arguments, len(right))}.act() in round {wrong_round} (counted from 0)"
        if history:
            call += f", after the {what}{'s' if wrong_round > 1 else ''} {history}"
        for name, value in _by_round(arguments, len(right)).items():
            call += f"; {name}[{wrong_round}] is {shown(value[wrong_round])}"
        self.fail(class_name, call, right[wrong_round], choices[wrong_round], mistake)

    def fail(self, where: str, call: str, expected: Any, got: Any, mistake: str = "") -> NoReturn:
        """End the check: it has failed."""
        right, wrong = (value if isinstance(value, str) else shown(value) for value in (expected, got))
        raise Failed(Fault(where, call, right, wrong, mistake))

    def _no_answer(self, where: str, call: str, error: NoAnswer) -> NoReturn:
        if error.kind == "unfinished":
            raise Failed(Fault(where, call, "", "not written yet", "", error.line, error.code)) from None
        raise Failed(Fault(where, call, "", str(error), "", error.line, error.code)) from None


CheckFunction: TypeAlias = Callable[[Trial], None]


@dataclass(frozen=True)
class Check:
    """One fact about a submission, with its points.

    ``of`` is the function or class that it is about, ``statement`` what is checked in a sentence, ``hints`` the help
    from the mildest to the clearest. ``run`` raises ``Failed`` through the methods of ``Trial``.
    """

    name: str
    points: int
    of: str
    statement: str
    hints: tuple[str, ...]
    run: CheckFunction


def check(*, points: int, of: str, hints: Sequence[str] = ()) -> Callable[[CheckFunction], Check]:
    """Decorator: make a ``Check`` of a function of a ``Trial``; its name and docstring become the check's.

    >>> @check(points=2, of="double", hints=["Twice x is x + x."])
    ... def doubles(trial):
    ...     '''double(x) is twice x.'''
    ...     for x in (0, 1, -3):
    ...         trial.expect(2 * x, "double", x)
    >>> doubles.name, doubles.points, doubles.statement
    ('doubles', 2, 'double(x) is twice x.')
    """

    def make(function: CheckFunction) -> Check:
        statement = " ".join((function.__doc__ or "").split())
        return Check(function.__name__, points, of, statement, tuple(hints), function)

    return make


@dataclass(frozen=True)
class Exercise:
    """A handout and its checks.

    ``handout`` is the file that students get (percent format), whose stem names the exercise: "01_click_models".
    ``draw(student, passed, figure)`` draws into a matplotlib figure what the submission does, given the names of the
    checks that it passed, and returns whether there is something to see.
    """

    title: str
    handout: Path
    checks: tuple[Check, ...]
    draw: Callable[[Submission, frozenset[str], Any], bool] | None = None
    refused: tuple[str, ...] = ("rankgym", "rankgym_agents")  # packages that a submission may not import

    @property
    def name(self) -> str:
        return self.handout.stem

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


# -- values ----------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return ``value`` with arrays, tuples and NumPy's numbers as lists and numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def same(one: Any, other: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two plain values are the same: floats within ``tolerance``, bools as 0 and 1."""
    if isinstance(one, list) or isinstance(other, list):
        lists = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
        return lists and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        with contextlib.suppress(OverflowError):  # whole numbers beyond floats are the same only if they are equal
            return bool(one == other or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance))
    return bool(one == other)


def _gives(wrong: Callable[..., Any], args: Sequence[Any], got: Any, tolerance: float) -> bool:
    """Whether a wrong function gives ``got``; one that fails does not."""
    try:
        return same(got, plain(wrong(*args)), tolerance)
    except Exception:
        return False


def shown(value: Any) -> str:
    """Return ``value`` as Python text, floats with ten digits, long texts cut."""
    text = _text(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def _by_round(arguments: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Return the arguments that have an entry for each round, such as coins."""
    return {name: value for name, value in plain(dict(arguments)).items() if _is_long(value, rounds)}


def _is_long(value: Any, rounds: int) -> bool:
    return isinstance(value, list) and len(value) >= max(rounds, SHOWN_ROUNDS)


def _made(class_name: str, arguments: Mapping[str, Any], rounds: int) -> str:
    """Return the making of an agent as Python text, without what has an entry for each round."""
    long = _by_round(arguments, rounds)
    texts = [f"{name}={'...' if name in long else shown(value)}" for name, value in plain(dict(arguments)).items()]
    return f"{class_name}({', '.join(texts)})"


def _chooses(
    play: Callable[[Any, int | None], Any],
    make: Callable[..., Any],
    arguments: Mapping[str, Any],
    rounds: int | None = None,
) -> Any:
    """Return the choices of a wrong oracle; None if it fails, as some do."""
    try:
        return play(make(**arguments), rounds)[0]
    except (ArithmeticError, LookupError, ValueError):
        return None


def called(function: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> str:
    """Return a call as Python text."""
    texts = [shown(value) for value in args]
    texts += [f"{name}={shown(value)}" for name, value in (kwargs or {}).items()]
    return f"{function}({', '.join(texts)})"


def is_ranking(ranking: Any, items: int, positions: int) -> bool:
    """Whether ``ranking`` is a list of ``positions`` different items out of 0 .. items - 1."""
    numbers = isinstance(ranking, list) and all(type(item) is int and 0 <= item < items for item in ranking)
    return numbers and len(ranking) == positions == len(set(ranking))


def played(
    agent: Any, attracted: Any, examined: Any, first_only: bool, *, rounds: int | None = None
) -> tuple[list[list[int]], list[list[int]]]:
    """Play an agent for one user at a time; return its lists and the clicks on them, as ``Submission.play`` does."""
    lists: list[list[int]] = []
    all_clicks: list[list[int]] = []
    for wanted, looked in list(zip(attracted, examined, strict=True))[:rounds]:
        ranking = list(agent.act())
        clicks = [int(wanted[item] and looked[k]) for k, item in enumerate(ranking)]
        if first_only and 1 in clicks:
            clicks = [int(k == clicks.index(1)) for k in range(len(clicks))]
        agent.update(list(ranking), list(clicks))
        lists.append(ranking)
        all_clicks.append(clicks)
    return lists, all_clicks


def played_duels(agent: Any, wins: Any, *, rounds: int | None = None) -> tuple[list[list[int]], list[int]]:
    """Play a dueling agent for one duel at a time; return its duels and the arms that won them."""
    duels: list[list[int]] = []
    winners: list[int] = []
    for won in list(wins)[:rounds]:
        left, right = agent.act()
        left_won = bool(won[left][right])
        agent.update(left, right, left_won)
        duels.append([left, right])
        winners.append(left if left_won else right)
    return duels, winners
