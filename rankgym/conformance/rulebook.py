"""What both checkers share: rules are tried one by one, and every broken one is reported."""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn

from rankgym.kernels import KernelError

HERE = str(Path(__file__).parent)


class Breach(NamedTuple):
    """How a rule was broken."""

    seen: str
    expected: str
    case: str = ""  # the sizes with which it was broken

    def line(self, rule: str) -> str:
        where = f" ({self.case})" if self.case else ""
        return " ".join(f"rule {rule!r}{where}: {self.seen}; expected: {self.expected}".split())  # arrays take lines


class ConformanceError(AssertionError):
    """Rules are broken. The message has a line for each, and names the rules that could not be tried.

    ``broken`` has the breach of each broken rule, and ``skipped`` the reason for each rule that was not tried.

    Examples:
        >>> from rankgym.conformance.rulebook import Breach, ConformanceError
        >>> broken = {"seed": Breach("lists differ in round 3", "the same lists")}
        >>> error = ConformanceError(broken, skipped={"copies": "rule 'seed' is broken"})
        >>> print(error)
        rule 'seed': lists differ in round 3; expected: the same lists
        skipped, as rule 'seed' is broken: copies
        >>> list(error.broken), list(error.skipped)
        (['seed'], ['copies'])
    """

    advice: ClassVar[Mapping[str, str]] = {}  # what to do about a broken rule

    def __init__(self, broken: Mapping[str, Breach], skipped: Mapping[str, str] | None = None) -> None:
        super().__init__(broken, skipped)
        self.broken, self.skipped = dict(broken), dict(skipped or {})

    def __str__(self) -> str:
        lines = []
        for rule, breach in self.broken.items():
            lines.append(breach.line(rule))
            if rule in self.advice:
                lines.append(f"    {self.advice[rule]}")
        reasons: dict[str, list[str]] = {}
        for rule, reason in self.skipped.items():
            reasons.setdefault(reason, []).append(rule)
        return "\n".join([*lines, *(f"skipped, as {why}: {', '.join(rules)}" for why, rules in reasons.items())])


class Broken(Exception):
    """Ends the attempt at a rule: ``rule`` is broken."""

    def __init__(self, rule: str, breach: Breach) -> None:
        super().__init__(rule, breach)
        self.rule, self.breach = rule, breach


def fail(rule: str, seen: str, expected: str, cause: BaseException | None = None) -> NoReturn:
    """End the attempt: ``rule`` is broken."""
    raise Broken(rule, Breach(seen, expected)) from cause


def refuses(
    rule: str, what: str, attempt: Callable[[], Any], error: type[Exception] = ValueError, earlier: str = ""
) -> None:
    """``attempt`` raises an ``error``, or ``rule`` is broken."""
    expected = "an error" if error is Exception else f"a {error.__name__}"
    try:
        attempt()
    except error:
        return
    except Exception as other:
        fail(rule, f"{what} raised {other!r}{earlier}", expected, other)
    fail(rule, f"{what} was accepted{earlier}", expected)


def _place(error: BaseException) -> str:
    """Return the last line, in the file that was called from here first, that ``error`` came through."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(HERE)]
    own = [frame for frame in theirs if frame.filename == theirs[0].filename]
    return f" in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""


class Rulebook:
    """Which of ``rules`` (statements by name) are broken, which were skipped and why; the others hold."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self.rules = rules
        self.broken: dict[str, Breach] = {}
        self.skipped: dict[str, str] = {}
        self.cause: BaseException | None = None  # of the first breach that has one
        self.case = ""
        self.blamed: str | None = None  # the rule that every new breach breaks

    def note(self, rule: str, seen: str, expected: str, cause: BaseException | None = None) -> None:
        """Note a breach, the first one of each rule, and continue; but while a rule is blamed, end its attempt."""
        if rule in self.broken:
            return
        if self.blamed is not None and rule != self.blamed:
            fail(self.blamed, seen, f"{expected}, since {self.rules[self.blamed]}", cause)
        self.broken[rule] = Breach(seen, expected, self.case)
        self.cause = self.cause or cause

    def attempt(
        self, rule: str, needs: tuple[str, ...], check: Callable[[], object] = lambda: None, *, blame: bool = False
    ) -> None:
        """Try ``rule``, if the rules that it needs hold. With ``blame``, whatever new breach is seen breaks it."""
        for other in needs:
            if other in self.broken:
                self.skipped.setdefault(rule, f"rule {other!r} is broken")
            elif other in self.skipped:
                self.skipped.setdefault(rule, self.skipped[other])
        if rule in self.broken or rule in self.skipped:
            return
        self.blamed = rule if blame else None
        try:
            check()
        except Broken as error:
            other, breach = error.rule, error.breach
            if blame and other != rule and other not in self.broken:
                other, breach = rule, Breach(breach.seen, f"{breach.expected}, since {self.rules[rule]}")
            self.blamed = None
            self.note(other, breach.seen, breach.expected, error.__cause__)
            if other != rule:
                self.skipped.setdefault(rule, f"rule {other!r} is broken")
        except Exception as error:
            self.blamed = None
            named = isinstance(error, KernelError)  # its message has the place
            said = str(error) if named else f"{type(error).__name__}{_place(error)}: {error}"
            self.note(rule, said, "no error", error)
        finally:
            self.blamed = None

    def outcome(self) -> tuple[dict[str, Breach], dict[str, str]]:
        """Return the broken rules and the skipped ones, in the order of the rules."""
        broken = {rule: self.broken[rule] for rule in self.rules if rule in self.broken}
        skipped = {rule: self.skipped[rule] for rule in self.rules if rule in self.skipped and rule not in broken}
        return broken, skipped

    def raise_if_broken(self, error: type[ConformanceError]) -> dict[str, str]:
        """Raise an ``error`` of all broken rules; return the skipped ones if there is none."""
        broken, skipped = self.outcome()
        if broken:
            raise error(broken, skipped) from self.cause
        return skipped
