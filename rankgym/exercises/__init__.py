"""Exercises that check themselves: handouts with functions to fill in, and named checks with points.

``exercise.py`` says what an exercise is, ``topics`` has the nine of this package, ``finding.py`` finds one.
``checking.py`` checks a submission, ``playing.py`` plays agents against oracles, ``faults.py`` says how a check fails;
``handouts.py`` and ``marimo_files.py`` read and copy files, ``pictures.py`` draws. A class: ``handed_in.py`` finds the
submissions, ``grading.py`` checks them, ``feedback.py`` makes the pages. May import everything but the command line and
``rankgym.grading``.
"""

from rankgym.exercises.exercise import Check, Exercise, Trial, check
from rankgym.exercises.faults import Failed, Fault
from rankgym.exercises.playing import DuelSetting, Setting

__all__ = ["Check", "DuelSetting", "Exercise", "Failed", "Fault", "Setting", "Trial", "check"]
