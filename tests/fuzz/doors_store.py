"""Doors of sweeps: their files of TOML and JSON, plans, logs, result files and checkpoints.

A damaged result is refused, or has the same numbers; a damaged checkpoint is not loaded, whatever its digest says.
"""

import copy
import functools
import json
import tempfile
from pathlib import Path

import fuzzing
import numpy as np

from rankgym.experiments.plan.digests import DIGEST, with_digest
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run import work_folder
from rankgym.experiments.run.driver import LOG, read_log
from rankgym.experiments.run.plan_file import PLAN, plan_of, read_plan, write_plan
from rankgym.experiments.run.result_file import read_result, write_result
from rankgym.experiments.run.rows import Run, contents

TOML = b"""
rounds = 20
runs = 2
seed = 3
query = [0, 3]
record_at = [5]
retire = true
name = "x"
labels = {static = "S"}
agents = ["static", {name = "toprank", delta = 1e-6, label = "TR"}]
[[environments]]
id = "CM-Yandex-v0"
label = "a"
[[environments]]
id = "PBM-Synthetic-v0"
arguments = {num_items = 6, num_positions = 3}
rounds = 10
"""
WORDS = (
    b"07:32:00",
    b"2026-01-01",
    b"nan",
    b"-inf",
    b"1_000_000_000",
    b"0x" + b"f" * 5000,
    b"[[]]",
    b"{}",
    b"[" * 3000,
)
KEY = "0123456789abcdef0123"


@functools.cache
def small():
    """A sweep, its jobs, and the bytes of a result file, of a plan and of a checkpoint."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_bytes(TOML)
        sweep = Sweep.from_toml(folder / "sweep.toml")
        jobs = sweep.jobs()
        run = Run(jobs[0].block)
        run.play(lambda sessions: None, lambda: True)
        archive = work_folder.WorkFolder(folder)
        archive.save_checkpoint(KEY, run.snapshot())
        run.play(lambda sessions: None)
        write_result(folder / "result", contents(jobs[0], run.history(), run.settled_at))
        write_plan(folder, plan_of(sweep.name, jobs))
        made = [(folder / one).read_bytes() for one in ("result", PLAN, f"{KEY}.npz")]
    return json.loads(sweep.to_json()), jobs[0].key, *made


def toml(rng):
    """The sweep's file with a value that TOML has and JSON has not, or damaged in any way."""
    if rng.random() < 0.5:
        return fuzzing.damaged(rng, TOML)
    lines = TOML.splitlines()
    place = rng.randrange(1, len(lines))
    if b"=" in lines[place]:
        lines[place] = lines[place].partition(b"=")[0] + b"= " + rng.choice(WORDS)
    return b"\n".join(lines)


def read_toml(data):
    Path("sweep.toml").write_bytes(data)
    Sweep.from_toml("sweep.toml").to_json()


def sweep_json(rng):
    document = fuzzing.spoiled(rng, copy.deepcopy(small()[0]))
    if isinstance(document, dict) and rng.random() < 0.8:
        document = with_digest({key: value for key, value in document.items() if key != DIGEST})
    return json.dumps(document)


def plan(rng):
    document = fuzzing.spoiled(rng, json.loads(small()[3]))
    if isinstance(document, dict) and rng.random() < 0.8:
        document = with_digest({key: value for key, value in document.items() if key != DIGEST})
    return json.dumps(document).encode() if rng.random() < 0.7 else fuzzing.damaged(rng, small()[3])


def read_a_plan(data):
    Path(PLAN).write_bytes(data)
    read_plan(Path())


def read_a_log(data):
    Path(LOG).write_bytes(data)
    read_log(Path())


def read_a_result(data):
    _, key, sound, *_ = small()
    Path("result.parquet").write_bytes(data)
    Path("sound.parquet").write_bytes(sound)
    found, wanted = read_result(Path("result.parquet"), key), read_result(Path("sound.parquet"), key)
    assert found.settings == wanted.settings
    for name, values in wanted.columns.items():
        np.testing.assert_array_equal(found.columns[name], values)


def checkpoint(rng):
    """Damaged, half of them with a right digest."""
    data = small()[4]
    archive = fuzzing.damaged(rng, data[: -work_folder.DIGEST_LENGTH])
    return archive + work_folder._digest(KEY, archive) if rng.random() < 0.5 else fuzzing.damaged(rng, data)


def load_a_checkpoint(data):
    Path(f"{KEY}.npz").write_bytes(data)
    work_folder.WorkFolder(Path()).load_checkpoint(KEY)


DOORS = {
    "sweep of TOML": fuzzing.Door(toml, read_toml),
    "sweep.json": fuzzing.Door(sweep_json, Sweep.from_json),
    "plan.json": fuzzing.Door(plan, read_a_plan),
    "log.jsonl": fuzzing.Door(lambda rng: fuzzing.damaged(rng, b'{"key": "x", "seconds": 1.0}\n' * 3), read_a_log, ()),
    "result file": fuzzing.Door(lambda rng: fuzzing.damaged(rng, small()[2]), read_a_result),
    "checkpoint": fuzzing.Door(checkpoint, load_a_checkpoint, ()),
}
