"""Exercises that check themselves: handouts with functions to fill in, and named checks with points.

``exercise.py`` says what an exercise is, ``topics`` has the nine of this package, ``checking.py`` checks a submission,
``handouts.py`` reads and copies files, ``pictures.py`` draws. May import everything but the command line.
"""

from rankgym.exercises.exercise import Check, Exercise, Failed, Fault, Trial, check

__all__ = ["Check", "Exercise", "Failed", "Fault", "Trial", "check"]
