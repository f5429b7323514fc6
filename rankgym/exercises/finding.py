"""Find an exercise: by number, by name, by a teacher's own checker file, or by the name of a submission."""

import dataclasses
import importlib.util
import re
import sys
from os import PathLike
from pathlib import Path

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.topics.table import EXERCISES

STEM = re.compile(r"(\d\d_[a-z][a-z_]*[a-z])(?:[ _(-]*\d*\)?)?$")  # at the end of a submission's stem: 01_topic (2)


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
    raise ValueError(f"exercise = {text!r} is not there; allowed: {allowed}")


def own_exercise(file: Path) -> Exercise:
    """Return the ``EXERCISE`` of a teacher's checker file; its handout's path is relative to that file."""
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
    return dataclasses.replace(found, handout=file.parent / found.handout)


def exercise_of_file(file: str | PathLike[str]) -> Exercise | None:
    """Return the exercise that a submission's name ends with, such as alice_01_click_models.py; None if none."""
    found = STEM.search(Path(file).stem)
    names = {exercise.name: exercise for exercise in EXERCISES.values()}
    return names.get(found[1]) if found else None
