"""Find an exercise: by number, by name, by a teacher's own checker file, or by the name of a submission."""

import dataclasses
import importlib.util
import re
import sys
from os import PathLike
from pathlib import Path

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.explaining import defined
from rankgym.exercises.topics.table import EXERCISES

NAME = re.compile(r"(?<![A-Za-z0-9])\d\d_[a-z]", re.IGNORECASE)  # how an exercise's name begins
SET_ASIDE = re.compile(r"(?<![a-z])(?:old|backup|bak)(?![a-z])", re.IGNORECASE)


def find_exercise(text: str) -> Exercise:
    """Return the exercise with this number or name, or the ``EXERCISE`` of a checker file.

    A checker file is run: it is the teacher's own.

    Raises:
        ValueError: there is none.
        OSError: the checker file cannot be read.
    """
    if text.endswith(".py"):
        return own_exercise(Path(text))
    for number, exercise in EXERCISES.items():
        if text in (str(number), f"{number:02d}", exercise.name):
            return exercise
    allowed = f"a number in 1 .. {max(EXERCISES)}, a name such as {EXERCISES[1].name}, or your own checker file"
    inside = [number for number, each in EXERCISES.items() if any(text in (one.name, one.of) for one in each.checks)]
    where = f"; {text} is in exercise {', '.join(map(str, inside))}: hint {inside[0]} {text}" if inside else ""
    raise ValueError(f"exercise = {text!r} is not there; allowed: {allowed}{where}")


def hints_of(exercise: str, check: str) -> tuple[str, ...]:
    """Return the hints of a check of an exercise of this package, both by name; none if there is no such check."""
    meant = (one for each in EXERCISES.values() if each.name == exercise for one in each.checks)
    return next((one.hints for one in meant if one.name == check), ())


def own_exercise(file: Path) -> Exercise:
    """Return the ``EXERCISE`` of a teacher's checker file; its handout's path is relative to that file.

    Raises:
        ValueError: it has no ``EXERCISE``, or one whose handout is missing.
        OSError: the file cannot be read.
    """
    if not file.is_file():
        raise FileNotFoundError(2, "No such file", str(file))
    spec = importlib.util.spec_from_file_location(f"checker_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = getattr(module, "EXERCISE", None)
    if not isinstance(found, Exercise):
        raise ValueError(f"{file} has no EXERCISE; add: EXERCISE = Exercise(title=..., handout=..., checks=(...))")
    handout = file.parent / found.handout
    if not handout.is_file():
        raise ValueError(
            f"{file}: handout = {str(found.handout)!r} is not a file; allowed: the path of the file that students get, "
            f"relative to the folder of {file.name}"
        )
    functions = defined(handout.read_text(encoding="utf-8"))
    for check in found.checks:
        if functions and check.of not in functions:
            raise ValueError(
                f"{file}: of = {check.of!r} of the check {check.name} is not in {handout.name}; "
                f"allowed: {', '.join(functions)}"
            )
    return dataclasses.replace(found, handout=handout)


def exercise_of_file(file: str | PathLike[str]) -> Exercise | None:
    """Return the exercise that a submission's name contains, such as alice_01_click_models_v2.py.

    None if the name contains none, or says that the file is set aside.
    """
    named = named_exercise(file)
    return None if named is None or is_set_aside(file, named) else named


def named_exercise(file: str | PathLike[str]) -> Exercise | None:
    """Return the exercise that a file's name contains, in any case; the last one of several, None if there is none."""
    stem = Path(file).stem
    around = {exercise: around_name(stem, exercise.name) for exercise in EXERCISES.values()}
    named = {exercise: found for exercise, found in around.items() if found is not None}
    return max(named, key=lambda exercise: len(named[exercise][0]), default=None)


def is_set_aside(file: str | PathLike[str], exercise: Exercise) -> bool:
    """Whether a file's name says after the exercise's that it is old: ``_old``, ``_backup``, ``_bak``."""
    around = around_name(Path(file).stem, exercise.name)
    return around is not None and SET_ASIDE.search(around[1]) is not None


def around_name(stem: str, name: str) -> tuple[str, str] | None:
    """Return what stands before and after an exercise's name in a file's stem, which may have it in any case.

    None if the name is not there, or if what follows may be the name of another exercise.
    """
    found = re.fullmatch(rf"(.*?){re.escape(name)}(?![A-Za-z])(.*)", stem, flags=re.DOTALL | re.IGNORECASE)
    return None if not found or NAME.search(found[2]) else (found[1], found[2])
