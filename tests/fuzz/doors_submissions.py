"""Doors of submitted exercises: what a submission's process answers, and the files of a folder that is graded."""

import json
import shutil
from pathlib import Path

import fuzzing
import numpy as np

from rankgym.beliefs import Beliefs
from rankgym.exercises.handed_in import collect
from rankgym.exercises.handouts import HANDOUTS
from rankgym.submissions.remote_agents import sane
from rankgym.submissions.values import decode, encode

FORMS = ("scalar", "array", "list", "tuple", "dict", "beliefs", "foreign", fuzzing.TRAP)
NAMES = ("ann_03_cascade_bandits.py", "bob/03_cascade_bandits.ipynb", "ann/old.py", "03.py", "ümit_07_duels.py")


def answer(rng):
    """A value as a submission's process sends it, spoiled, or a form with any content."""
    if rng.random() < 0.2:
        depth = rng.choice((1, 3, 600))
        made = fuzzing.odd_value(rng)
        for _ in range(depth):
            made = {rng.choice(FORMS): rng.choice((made, [made], [[made, made]] if depth < 9 else [made]))}
        return made
    values = (
        np.arange(6).reshape(2, 3),
        np.float32(0.5),
        [1, (2, None), {"a": np.zeros(2, bool)}],
        Beliefs(blocks=((0, 1), (2,)), scores={"mean": (0.5, 0.25, 0.0)}),
        NAMES,
    )
    return fuzzing.spoiled(rng, json.loads(json.dumps(encode(rng.choice(values)))))


def receive(given):
    with sane():
        decode(given)


def class_folder(rng):
    """Files of a class: their names and contents."""
    handouts = [path.read_bytes() for path in sorted(HANDOUTS.glob("0[37]_*.py"))]
    files = {}
    for _ in range(rng.randrange(1, 5)):
        name = rng.choice((*NAMES, f"{fuzzing.TRAP}_03_cascade_bandits.py", f"{fuzzing.odd_text(rng)}.py"))
        if name.isprintable() and ".." not in name and not name.startswith("/") and "\\" not in name:
            files[name] = fuzzing.damaged(rng, rng.choice((b"", b"{}", f"import {fuzzing.TRAP}".encode(), *handouts)))
    return files


def grade_folder(files):
    folder = Path("class")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        if path.parent.is_file() or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    collect(folder)


DOORS = {
    "submission's answer": fuzzing.Door(answer, receive, (RuntimeError,)),
    "class's folder": fuzzing.Door(class_folder, grade_folder),
}
