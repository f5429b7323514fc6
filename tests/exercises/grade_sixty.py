"""Grade a class of sixty, six of whom do harm, and check that the others' grades are right. Not part of the test suite.

    python tests/exercises/grade_sixty.py [--exercises 1,3] [--jobs 2]

The honest ones are right solutions and the mistakes of ``test_*.py``; their points are computed by the checker without
grading. Prints what the hostile ones got and how long it took; fails if a grade is wrong or it takes 20 minutes.
"""

import argparse
import csv
import itertools
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from mistakes import outcomes, solution, with_mistake  # noqa: E402  # from this folder

from rankgym.exercises.topics.table import EXERCISES  # noqa: E402

STUDENTS, MOST_SECONDS = 60, 20 * 60
HOSTILE = {  # put before a right solution of exercise 1; points that are left
    "loops": ("", 8),  # in one function
    "forks": (
        """
import os, time
for _ in range(200):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    pass
            os._exit(0)
    except OSError:
        break
""",
        None,  # as it has 64 processes that take its time
    ),
    "hogs": ("memory = bytearray(10 << 30)\n", 0),
    "leaves": ("import os\nos._exit(0)\n", 0),
    "spies": (
        """
import glob, os
def spied():
    found = []
    for path in [*glob.glob("/proc/[0-9]*/mem"), *glob.glob("/proc/[0-9]*/environ")]:
        if int(path.split("/")[2]) != os.getpid():
            try:
                with open(path, "rb") as file:
                    file.seek(0x400000 if path.endswith("mem") else 0)
                    found.append(file.read(10))
            except OSError:
                pass
    return found
if spied():
    raise RuntimeError("spied: it read another process")
""",
        10,  # it is right, and has found nothing
    ),
    "prints": ("text = 'x' * (1 << 20)\nfor _ in range(1024):\n    print(text)\n", 10),
}


def hostile(name):
    source = solution("01_click_models")
    if name == "loops":
        return source.replace("            break\n", "            while True: pass\n")
    return HOSTILE[name][0] + source


def honest(numbers):
    """Yield (exercise, source): the right solution and the mistakes of each exercise in turn."""
    each = []
    for number in numbers:
        exercise = EXERCISES[number]
        topic = import_module(f"test_{exercise.name[3:]}")
        sources = [solution(exercise.name), *(with_mistake(exercise.name, mistake) for mistake in topic.MISTAKES)]
        each.append([(exercise, source) for source in sources])
    turns = [[one for one in turn if one] for turn in itertools.zip_longest(*each)]
    return itertools.cycle([one for turn in turns for one in turn])


def expected(exercise, source, known, seed):
    """The points of a submission, by the checker itself."""
    key = exercise.name, source
    if key not in known:
        known[key] = sum(outcome.points for outcome in outcomes(exercise, source, seed).values())
    return known[key]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exercises", default=",".join(map(str, EXERCISES)))
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--seed", type=int, default=20_240)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, table, right, known = Path(place) / "handed_in", Path(place) / "grades.csv", {}, {}
        folder.mkdir()
        numbers = [int(number) for number in asked.exercises.split(",")]
        for student, (exercise, source) in zip(range(STUDENTS - len(HOSTILE)), honest(numbers), strict=False):
            (folder / f"s{student:02d}_{exercise.name}.py").write_text(source)
            right[f"s{student:02d}"] = expected(exercise, source, known, asked.seed)
        for name in HOSTILE:
            (folder / f"{name}_01_click_models.py").write_text(hostile(name))
        print(f"{len(right)} honest ones, {sum(right.values())} points, {len(set(right.values()))} different grades")
        command = [sys.executable, "-m", "rankgym", "exercise", "grade", str(folder), "--out", str(table)]
        limits = ["--jobs", asked.jobs, "--time-limit", "120", "--memory", "2", "--seed", str(asked.seed)]
        began = time.monotonic()
        subprocess.run([*command, *limits], check=True)
        spent = time.monotonic() - began
        with table.open(encoding="utf-8-sig") as file:
            lines = {line["student"]: line for line in csv.DictReader(file)}
    wrong = {
        name: (lines[name]["points"], points) for name, points in right.items() if lines[name]["points"] != str(points)
    }
    for name, (_, points) in HOSTILE.items():
        print(f"{name}: {lines[name]['points']} points, {lines[name]['seconds']} s; {lines[name]['failed']}")
        if points is not None and lines[name]["points"] != str(points):
            wrong[name] = lines[name]["points"], points
    print(f"{len(lines)} submissions in {spent:.0f} s with {asked.jobs} jobs; wrong grades: {wrong or 'none'}")
    assert not wrong
    assert len(lines) == STUDENTS
    assert spent < MOST_SECONDS


if __name__ == "__main__":
    main()
