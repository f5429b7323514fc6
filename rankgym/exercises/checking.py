"""Check a submission: run all checks of an exercise, in the submission's own process, and report."""

import ast
import time
import zlib
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from rankgym.exercises.exercise import Check, Exercise, Trial
from rankgym.exercises.explaining import explained, uses
from rankgym.exercises.faults import Failed, Fault
from rankgym.exercises.handouts import place_of, read_submission
from rankgym.submissions import DEFAULT_LIMITS, Limits, NoAnswer, Submission


class Outcome(NamedTuple):
    """What came of one check; ``fault`` is None if it passed."""

    check: Check
    fault: Fault | None
    seconds: float

    @property
    def points(self) -> int:
        return 0 if self.fault else self.check.points


class Report(NamedTuple):
    """What came of one submission."""

    exercise: Exercise
    file: str
    seed: int
    outcomes: tuple[Outcome, ...]
    output: str  # the beginning of what it printed
    output_length: int  # bytes of all that it printed
    picture: str  # SVG text, or ""
    seconds: float

    @property
    def points(self) -> int:
        return sum(outcome.points for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        checks = [
            {
                "name": outcome.check.name,
                "statement": outcome.check.statement,
                "of": outcome.check.of,
                "points": outcome.points,
                "out_of": outcome.check.points,
                "hint": outcome.check.hints[0] if outcome.fault and outcome.check.hints else "",
                "fault": outcome.fault._asdict() if outcome.fault else None,
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in self.outcomes
        ]
        return {
            "exercise": self.exercise.name,
            "title": self.exercise.title,
            "file": self.file,
            "seed": self.seed,
            "points": self.points,
            "out_of": self.exercise.points,
            "checks": checks,
            "output": self.output,
            "output_length": self.output_length,
            "picture": self.picture,
            "seconds": round(self.seconds, 2),
        }


def check_file(
    exercise: Exercise,
    file: str | PathLike[str],
    *,
    seed: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    hidden: Sequence[str | PathLike[str]] = (),
    picture: bool = True,
) -> Report:
    """Check a submission, a script or a notebook.

    Args:
        exercise: what it should solve.
        file: the submission.
        seed: of the cases that are drawn; the same seed gives the same cases.
        limits: what the submission may use.
        hidden: folders that the submission must not see.
        picture: whether to draw the submission's picture.

    Raises:
        ValueError: the file is neither a script nor a notebook.
        OSError: the file cannot be read.
    """
    began = time.perf_counter()
    source, name = read_submission(file)
    with Submission(source, name, refused=exercise.refused, limits=limits, hidden=hidden) as student:
        outcomes = with_beginnings([try_check(check, student, seed) for check in exercise.checks], source)
        passed = frozenset(outcome.check.name for outcome in outcomes if not outcome.fault)
        drawn = _picture(exercise, student, passed) if picture and passed else ""
        output, length = student.output, student.output_length
    spent = time.perf_counter() - began
    return Report(exercise, name, seed, outcomes, output, length, drawn, spent)


def try_check(check: Check, student: Submission, seed: int) -> Outcome:
    """Run one check."""
    began = time.perf_counter()
    rng = np.random.default_rng([seed, zlib.crc32(check.name.encode())])
    fault = None
    try:
        student.load()
        check.run(Trial(student, rng))
    except Failed as error:
        fault = explained(student.source, error.fault)
    except NoAnswer as error:  # the file cannot be loaded
        fault = Fault("", f"loading {student.name}", "", str(error), "", error.line, error.code)
    except Exception as error:  # of a checker that did not expect the answer; the other checks go on
        fault = Fault(
            "", broken_check(check.name), "", f"{type(error).__name__}: {error}; tell whoever wrote the check"
        )
    if fault is not None:
        line = fault.line or _line_of(fault.where, student.source)
        fault = fault._replace(line=line, place=place_of(student.name, student.source, line))
    return Outcome(check, fault, time.perf_counter() - began)


def with_beginnings(outcomes: Sequence[Outcome], source: str) -> tuple[Outcome, ...]:
    """Return the outcomes; a function that uses others that are wrong says to begin there.

    Its own mistake is not named then: it may be theirs.
    """
    failed = dict.fromkeys(outcome.check.of for outcome in outcomes if outcome.fault)
    told = []
    for one in outcomes:
        if one.fault and one.fault.where:
            used = uses(source, one.fault.where)
            begin = ", ".join(name for name in failed if name in used)
            one = one._replace(fault=one.fault._replace(begin=begin, mistake="" if begin else one.fault.mistake))
        told.append(one)
    return tuple(told)


def broken_check(name: str) -> str:
    """Return the ``call`` of a fault that is the check's own, not the submission's."""
    return f"the check {name} itself"


def _line_of(name: str, source: str) -> int | None:
    """Return the line at which a function or class is defined."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    return max((node.lineno for node in tree.body if isinstance(node, kinds) and node.name == name), default=None)


def _picture(exercise: Exercise, student: Submission, passed: frozenset[str]) -> str:
    """Return the exercise's picture of a submission as SVG, or "" if there is none."""
    if exercise.draw is None:
        return ""
    from rankgym.exercises.pictures import drawn

    try:
        return drawn(lambda figure: bool(exercise.draw and exercise.draw(student, passed, figure)))
    except Exception:  # no answer here, or an odd one; the picture is worth no points
        return ""
