"""Check a submission: run all checks of an exercise, in the submission's own process, and report."""

import time
import traceback
import zlib
from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.exercises.exercise import Check, Exercise, Trial
from rankgym.exercises.explaining import defined, explained, uses
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
    no_picture: str = ""  # why the exercise's function could not draw, if that is its own mistake

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
        given = defined(exercise.handout.read_text(encoding="utf-8"))
        outcomes = with_beginnings([try_check(check, student, seed, given) for check in exercise.checks], source)
        passed = frozenset(outcome.check.name for outcome in outcomes if not outcome.fault)
        drawn, why = _picture(exercise, student, passed) if picture and passed else ("", "")
        output, length = student.output, student.output_length
    spent = time.perf_counter() - began
    return Report(exercise, name, seed, outcomes, output, length, drawn, spent, why)


def try_check(check: Check, student: Submission, seed: int, given: Collection[str] = ()) -> Outcome:
    """Run one check. ``given`` are the names of the handout: to ask for others is the check's mistake."""
    began = time.perf_counter()
    trial = Trial(student, np.random.default_rng([seed, zlib.crc32(check.name.encode())]))
    fault = None
    try:
        student.load()
        check.run(trial)
        if not trial.asked:
            fault = _broken(check, "it passes without asking the submission for anything")
    except Failed as error:
        fault = error.fault
        missing = fault.got == f"there is no {fault.where} in {student.name}"
        if missing and given and fault.where not in given:
            fault = _broken(check, f"it asks for {fault.where}, which is not in the handout")
        else:
            fault = _placed(explained(student.source, fault), student)
    except NoAnswer as error:  # the file cannot be loaded
        fault = _placed(Fault("", f"loading {student.name}", "", str(error), "", error.line, error.code), student)
    except Exception as error:  # of a checker that did not expect the answer; the other checks go on
        fault = _broken(check, f"{type(error).__name__}: {error}", error)
    return Outcome(check, fault, time.perf_counter() - began)


def _placed(fault: Fault, student: Submission) -> Fault:
    """Return the fault with its place in the submission."""
    node = defined(student.source).get(fault.where)
    line = fault.line or (node.lineno if node else None)
    return fault._replace(line=line, place=place_of(student.name, student.source, line))


def _broken(check: Check, why: str, error: Exception | None = None) -> Fault:
    """Return the fault of a check that fails itself, with the last line of its file that an error passed through."""
    file = check.run.__code__.co_filename
    frames = traceback.extract_tb(error.__traceback__) if error else []
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
    place = f"{Path(file).name}, line {line}" if line else Path(file).name
    return Fault("", broken_check(check.name), "", f"{why}; tell whoever wrote the check", place=place)


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


def _picture(exercise: Exercise, student: Submission, passed: frozenset[str]) -> tuple[str, str]:
    """Return the exercise's picture of a submission as SVG, "" if there is none, and why it could not be drawn."""
    if exercise.draw is None:
        return "", ""
    from rankgym.exercises.pictures import drawn

    try:
        return drawn(lambda figure: bool(exercise.draw and exercise.draw(student, passed, figure))), ""
    except NoAnswer:  # the picture is worth no points
        return "", ""
    except Exception as error:  # of the exercise's function, or an odd answer
        last = traceback.extract_tb(error.__traceback__)[-1]
        return "", f"draw failed: {type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
