"""Exercises that check themselves: handouts with functions to fill in, and named checks with points.

``exercise.py`` says what an exercise is, ``topics`` has the nine of this package, ``finding.py`` finds one.
``checking.py`` checks a submission, ``handouts.py`` and ``marimo_files.py`` read and copy files, ``pictures.py`` draws.
A class: ``handed_in.py`` finds the submissions, ``grading.py`` checks them, ``feedback.py`` makes the pages. May import
everything but the command line and ``rankgym.grading``.
"""

from rankgym.exercises.exercise import Check, Exercise, Failed, Fault, Trial, check

__all__ = ["Check", "Exercise", "Failed", "Fault", "Trial", "check"]
