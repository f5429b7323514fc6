"""What an exercise is: a handout, and named checks with points. Write your own with ``Exercise`` and ``check``."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from rankgym.exercises.faults import TOLERANCE, UNWRITTEN, Failed, Fault, called, plain, same, shown
from rankgym.exercises.playing import AnySetting, after, first_difference, look_alike, made
from rankgym.submissions import NoAnswer, Submission

SHARED = (
    "an object knows what another one has learned: keep it in self, and make its lists in __init__, not in the class"
)


class Trial:
    """What a check works with: the submission, and random numbers that only the checker knows.

    The methods end the check if the submission's answer is wrong. A check asks for small cases first, so that the case
    that is shown is a small one.

    Args:
        student: the submission.
        rng: NumPy's generator.

    Raises:
        Failed: by its methods, if the submission's answer is wrong or there is none.

    Examples:
        >>> import numpy as np
        >>> from rankgym.exercises import Failed, Trial
        >>> from rankgym.submissions import Submission
        >>> with Submission("double = lambda x: 2 * abs(x)") as student:
        ...     trial = Trial(student, np.random.default_rng(0))
        ...     trial.expect(6, "double", 3)
        ...     try:
        ...         trial.expect(-6, "double", -3)
        ...     except Failed as failed:
        ...         failed.fault.call, failed.fault.expected, failed.fault.got
        ('double(-3)', '-6', '6')
    """

    def __init__(self, student: Submission, rng: np.random.Generator) -> None:
        self.student, self.rng = student, rng
        self.asked = 0  # calls so far

    def call(self, function: str, *args: Any) -> Any:
        """Return the answer of the submission's function, which must not change its arguments. Arrays become lists."""
        sent = plain(args)
        self.asked += 1
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
        remark: Callable[[], str] = lambda: "",
        tolerance: float = TOLERANCE,
    ) -> None:
        """Check that the submission's function gives what ``oracle`` gives, in each case.

        The first case in which they differ is shown, so small cases come first. A mistake is named if its function
        gives all that the submission's gives, in all cases up to an error of Python's.

        Args:
            function: its name in the submission.
            oracle: takes the same arguments.
            cases: the arguments of each call, plain data or arrays.
            mistakes: wrong functions of the same arguments, by what is wrong with them.
            remark: called after a failure if no mistake fits; what else is wrong, or "".
            tolerance: of floats, relative and absolute.
        """
        suspects, fault = dict(mistakes or {}), None
        for args in cases:
            sent = plain(tuple(args))
            try:
                got = self.call(function, *sent)
            except Failed as failed:
                alike = {why: wrong for why, wrong in suspects.items() if _fails(wrong, sent, failed.fault.got)}
                suspects = alike or (suspects if fault else {})
                fault = fault or failed.fault
                break
            suspects = {why: wrong for why, wrong in suspects.items() if _gives(wrong, sent, got, tolerance)}
            right = plain(oracle(*sent))
            if fault is None and not same(got, right, tolerance):
                fault = Fault(function, called(function, sent), shown(right), shown(got))
        if fault is not None:
            named = next(iter(suspects), "")
            if not named and fault.expected and fault.got != "None":
                named = remark()
            raise Failed(fault._replace(mistake=named))

    def make(self, class_name: str, **arguments: Any) -> Any:
        """Make an object of a class of the submission; ``student.method`` calls its methods."""
        self.asked += 1
        try:
            return self.student.make(class_name, **plain(arguments))
        except NoAnswer as error:
            self._no_answer(class_name, called(class_name, (), plain(arguments)), error)

    def play(self, class_name: str, setting: AnySetting, *, after_another: bool = False) -> list[list[int]]:
        """Play an agent of the submission's class; return its lists or duels, all of them valid.

        ``after_another``: another object is made, and plays before; it must not matter.
        """
        agent = self.make(class_name, **setting.arguments)
        call = made(class_name, setting)
        try:
            if after_another:
                setting.ask(self.student, self.make(class_name, **setting.arguments))
            choices = setting.ask(self.student, agent)
        except NoAnswer as error:
            self._no_answer(class_name, f"{call}, played", error)
        self.student.drop(agent)
        if choices and not setting.allows(choices[-1]):
            fault = Fault(
                class_name, f"{call}.act() {after(len(choices) - 1)}", setting.allowed, shown(plain(choices[-1]))
            )
            raise Failed(fault, choices[:-1])
        return choices

    def expect_play(
        self,
        make_oracle: Callable[..., Any],
        class_name: str,
        settings: Sequence[AnySetting],
        *,
        mistakes: Mapping[str, Callable[..., Any]] | None = None,
        remark: Callable[[Sequence[Any]], str] = lambda choices: "",
    ) -> None:
        """Check that an agent makes the choices of an oracle that meets the same users, in each setting.

        Args:
            make_oracle: called with a setting's ``arguments``, makes an agent with ``act()`` and
                ``update(displayed, clicks)``, or ``update(left, right, left_won)`` for duels. If it has a method
                ``state()``, which returns a dict, that is shown of the round in which the choices first differ; if it
                has a method ``ties(one, other)``, choices between which only ties decide are named as such.
            class_name: of the submission's agent.
            settings: small ones first.
            mistakes: makers of wrong oracles by what is wrong with them. One that makes all of the submission's choices
                is named.
            remark: called with the submission's choices in all settings if no mistake fits; what else is wrong, or "".
        """
        for setting in settings:
            make_oracle(**setting.arguments)  # a mistake in these is the check's
        found: list[Any] = []
        for setting in settings:
            fault = self._wrong_play(make_oracle, class_name, setting, found)
            if fault is not None:
                break
        else:
            apart = self.play(class_name, settings[0], after_another=True)
            fault = first_difference(class_name, make_oracle, settings[0], apart)
            if fault is None:
                return
            raise Failed(fault._replace(mistake=SHARED))
        if fault.expected and self._right_when_new(class_name, setting, make_oracle):
            raise Failed(fault._replace(mistake=SHARED))
        named = ""
        if fault.expected not in ("", setting.allowed):
            with contextlib.suppress(Failed):
                for setting in settings[len(found) :]:
                    found.append(self.play(class_name, setting))
            named = look_alike(settings, found, mistakes or {})
            if not named and len(found) == len(settings):
                named = remark(found)
        raise Failed(fault._replace(mistake=named or fault.mistake))

    def _wrong_play(
        self, make_oracle: Callable[..., Any], class_name: str, setting: AnySetting, found: list[Any]
    ) -> Fault | None:
        """Play a setting, and append the choices to ``found``; return what is wrong with them, None if nothing is.

        An agent that fails is first judged by what it has chosen until then.
        """
        try:
            choices, fault = self.play(class_name, setting), None
        except Failed as failed:
            choices, fault = failed.choices, failed.fault
        if choices and all(map(setting.allows, choices)):
            found.append(choices)
            fault = first_difference(class_name, make_oracle, setting, choices) or fault
        return fault

    def _right_when_new(self, class_name: str, setting: AnySetting, make_oracle: Callable[..., Any]) -> bool:
        """Whether the choices are right if no other object of the class was made before."""
        self.student.close()
        with contextlib.suppress(Failed):
            return first_difference(class_name, make_oracle, setting, self.play(class_name, setting)) is None
        return False

    def fail(self, where: str, call: str, expected: Any, got: Any, mistake: str = "") -> NoReturn:
        """End the check: it has failed."""
        right, wrong = (value if isinstance(value, str) else shown(value) for value in (expected, got))
        raise Failed(Fault(where, call, right, wrong, mistake))

    def _no_answer(self, where: str, call: str, error: NoAnswer) -> NoReturn:
        got = UNWRITTEN if error.kind == "unfinished" else str(error)
        raise Failed(Fault(where, call, "", got, "", error.line, error.code), error.choices) from None


CheckFunction: TypeAlias = Callable[[Trial], None]


@dataclass(frozen=True)
class Check:
    """One fact about a submission, with its points.

    ``of`` is the function or class that it is about, ``statement`` what is checked in a sentence, ``hints`` the help
    from the mildest to the clearest. ``run`` raises ``Failed`` through the methods of ``Trial``.

    See ``check``, which makes one of a function.
    """

    name: str
    points: int
    of: str
    statement: str
    hints: tuple[str, ...]
    run: CheckFunction


def check(*, points: int, of: str, hints: Sequence[str] = ()) -> Callable[[CheckFunction], Check]:
    """Decorator: make a ``Check`` of a function of a ``Trial``; its name and docstring become the check's.

    Args:
        points: of the check.
        of: the submission's function or class that it is about.
        hints: the help, from the mildest to the clearest.

    Raises:
        ValueError: ``hints`` is one text.

    Examples:
        >>> from rankgym.exercises import check
        >>> @check(points=2, of="double", hints=["Twice x is x + x."])
        ... def doubles(trial):
        ...     '''double(x) is twice x.'''
        ...     for x in (0, 1, -3):
        ...         trial.expect(2 * x, "double", x)
        >>> doubles.name, doubles.points, doubles.statement
        ('doubles', 2, 'double(x) is twice x.')
    """
    if isinstance(hints, str):
        raise ValueError(f"hints = {hints!r} is one text; allowed: a list of them, [{hints!r}]")

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

    Raises:
        ValueError: ``checks`` has something that is not a check, or two of the same name.

    Examples:
        >>> from pathlib import Path
        >>> from rankgym.exercises import Exercise, check
        >>> @check(points=2, of="double")
        ... def doubles(trial):
        ...     '''double(x) is twice x.'''
        ...     trial.expect(6, "double", 3)
        >>> exercise = Exercise("Doubles", Path("01_doubles.py"), (doubles,))
        >>> exercise.name, exercise.points
        ('01_doubles', 2)
    """

    title: str
    handout: Path
    checks: tuple[Check, ...]
    draw: Callable[[Submission, frozenset[str], Any], bool] | None = None
    refused: tuple[str, ...] = ("rankgym", "rankgym_agents")  # packages that a submission may not import

    def __post_init__(self) -> None:
        if isinstance(self.checks, Check):
            raise ValueError(
                f"checks = {self.checks.name} is one check; allowed: a tuple of them, ({self.checks.name},)"
            )
        for number, one in enumerate(self.checks):
            if not isinstance(one, Check):
                raise ValueError(
                    f"checks[{number}] = {one!r} is not a check; allowed: functions with @check above them"
                )
            if one.name in [other.name for other in self.checks[:number]]:
                raise ValueError(
                    f"checks[{number}] is named {one.name!r} like one before it; allowed: a name of its own"
                )

    @property
    def name(self) -> str:
        return self.handout.stem

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)


def _gives(wrong: Callable[..., Any], args: Sequence[Any], got: Any, tolerance: float) -> bool:
    """Whether a wrong function gives ``got``; one that fails does not."""
    try:
        return same(got, plain(wrong(*args)), tolerance)
    except Exception:
        return False


def _fails(wrong: Callable[..., Any], args: Sequence[Any], error: str) -> bool:
    """Whether a wrong function fails with an error of the class that ``error`` begins with."""
    try:
        wrong(*args)
    except Exception as raised:
        return error.startswith(f"{type(raised).__name__}:")
    return False
