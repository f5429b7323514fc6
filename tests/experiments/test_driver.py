"""Sweeps that finish: the same bytes whatever dies in between, and a clear word about what does not go."""

import _thread
import contextlib
import errno
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

pytest.importorskip("pyarrow")
pytest.importorskip("filelock")
pytest.importorskip("joblib")


from rankgym.experiments import compare
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run import driver, executor, store, sweeps, work_folder, worker
from rankgym.experiments.run.display import JobsDisplay, TimeLeft, duration
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.plan_file import plan_of
from rankgym.experiments.run.result_file import Damaged
from rankgym.experiments.run.status import sweep_status
from rankgym.experiments.run.store import place
from rankgym.experiments.run.sweeps import SweepJob, keep_sweep, run_sweep
from rankgym.experiments.run.tidy_tables import OtherCode, load
from rankgym.experiments.run.work_folder import WorkFolder
from rankgym.play.history import MEASURES

HERE = Path(__file__).parent
QUIET = {"jobs": 1, "progress": False}
SWEEP = Sweep(
    (Environment("CM", "CM-Yandex-v0"), Environment("PBM", "PBM-Yandex-v0", agents=("static",))),
    ("toprank", "cascade-kl-ucb"),
    200,
    query=(0, 3, 7),
    runs=2,
    rows_per_job=4,
)
# Agents that play step by step, so that jobs take a second whatever was compiled before.
LONG = Sweep((Environment("CM", "CM-Yandex-v0"),), ("cascade-swucb", "restarting"), 6_000, query=(0, 3))


STEPPED = replace(
    LONG, agents=("cascade-swucb", "restarting"), rounds=30_000
)  # agents without stretches: seconds a job


def results(folder):
    return {path.name: path.read_bytes() for path in (folder / "results").iterdir()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    run_sweep(SWEEP, folder, **QUIET)
    return folder


@pytest.fixture(scope="module")
def long_one(tmp_path_factory):
    """What ``LONG`` gives undisturbed."""
    folder = tmp_path_factory.mktemp("long")
    run_sweep(LONG, folder, **QUIET)
    return results(folder)


# -- what comes out ---------------------------------------------------------------------------------------------------


def test_a_sweep_is_what_comparisons_are(finished):
    found = run_sweep(SWEEP, finished, **QUIET)
    compared = compare(
        "CM-Yandex-v0", ["toprank", "cascade-kl-ucb"], rounds=200, runs=2, query=[0, 3, 7], progress=False
    )
    for agent, history in compared.histories.items():
        one = found["CM", agent]
        assert np.array_equal(one.rounds, history.rounds)
        for name in MEASURES:
            if name != "reward" or (one.settled_at < 0).all():
                assert np.array_equal(one.measures[name], getattr(history, name))
    assert names(finished) == ["lock", "log.jsonl", "plan.json", "results"]
    assert len(results(finished)) == len(SWEEP.jobs()) == 6


def test_what_is_there_is_not_played_again(finished, monkeypatch):
    before = {path.name: path.stat().st_mtime_ns for path in (finished / "results").iterdir()}
    monkeypatch.setattr(Executor, "play", lambda *_: pytest.fail("played again"))
    run_sweep(SWEEP, finished, **QUIET)
    assert before == {path.name: path.stat().st_mtime_ns for path in (finished / "results").iterdir()}


def test_the_plan_is_made_before_the_engine_begins_and_never_again(tmp_path):
    """The engine uses the jobs and their methods; it resolves and cuts nothing."""
    unplanned, called = Sweep.from_json(SWEEP.to_json()), []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.parts[-3:-1] in (("experiments", "plan"), ("experiments", "run")):
            called.append(f"{path.parent.name}/{path.name}:{frame.f_code.co_name}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run_sweep(unplanned, tmp_path, **QUIET)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    begin = called.index("run/driver.py:play")
    planning = {*(f"plan/sweep.py:{name}" for name in ("jobs", "check", "settings", "setting_of", "series"))}
    planning |= {"plan/environments.py:resolve", "plan/jobs.py:made_in", "plan/jobs.py:cut", "plan/jobs.py:job"}
    assert planning <= set(called[:begin])
    assert "run/worker.py:work" in called[begin:]
    assert not planning & set(called[begin:])


def test_two_labels_of_one_environment_are_played_once(tmp_path):
    twice = Sweep((Environment("a", "CM-Yandex-v0"), Environment("b", "CM-Yandex-v0")), ("static",), 20, query=(0,))
    found = run_sweep(twice, tmp_path, **QUIET)
    assert len(results(tmp_path)) == 1
    assert found["a", "static"].measures["regret"].tobytes() == found["b", "static"].measures["regret"].tobytes()


def test_the_log(finished):
    lines = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert {line["key"] for line in lines} == {job.key for job in SWEEP.jobs()}
    for line in lines:
        assert line["sessions"] == 200 * (line["rows"][1] - line["rows"][0]) >= line["played"] > 0
        assert line["seconds"] >= 0


def test_the_log_has_one_line_a_job_whenever_its_driver_died(finished, tmp_path):
    """Killed after a job was finished: before the driver had written its line, or after that."""
    folder = tmp_path / "again"
    shutil.copytree(finished, folder)
    lines = (folder / "log.jsonl").read_text().splitlines()
    (folder / "log.jsonl").write_text("\n".join(lines[1:]) + "\n")
    (folder / "work-killed").mkdir()
    for line in lines:
        progress = {"finished": True, "seconds": 1.0, "computed": 5, "played": 5}
        (folder / "work-killed" / f"{json.loads(line)['key']}.progress").write_text(json.dumps(progress))
    run_sweep(SWEEP, folder, **QUIET)
    keys = [json.loads(line)["key"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert sorted(keys) == sorted(job.key for job in SWEEP.jobs())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("log.jsonl", path)])
def test_a_log_that_cannot_be_read_has_no_lines(tmp_path, make):
    """It is history, and keeps no sweep from being resumed."""
    make(tmp_path / "log.jsonl")
    assert driver.read_log(tmp_path) == {}


def test_processes_of_ones_own_give_the_same(finished, tmp_path):
    run_sweep(SWEEP, tmp_path, jobs=2, progress=False)
    assert results(tmp_path) == results(finished)


def test_results_can_be_read_while_a_sweep_is_running(finished, tmp_path, monkeypatch):
    seen = []
    finish = worker._Worker.report

    def look(self, computed, *, finished=False):
        finish(self, computed, finished=finished)
        if finished:
            seen.append(
                (
                    len(store.gather(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs, partial=True)),
                    sum(x.running for x in sweep_status(tmp_path).agents),
                )
            )

    monkeypatch.setattr(worker._Worker, "report", look)
    run_sweep(SWEEP, tmp_path, **QUIET)
    assert [number for number, _ in seen] == sorted(number for number, _ in seen)
    assert seen[-1][0] == 3


# -- what is interrupted ----------------------------------------------------------------------------------------------


def interrupted(sweep, folder, **options):
    """Ctrl-C as soon as the first job has written its first checkpoint, which then waits for the driver to stop it."""
    save, saved = worker._Worker.save, threading.Event()

    def save_and_wait(self, playing):
        save(self, playing)
        end = time.monotonic() + (0 if saved.is_set() else 10)
        saved.set()
        while not (self.folder.path / "stop").exists() and time.monotonic() < end:
            time.sleep(0.005)

    def press():
        saved.wait(60)
        _thread.interrupt_main()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker._Worker, "save", save_and_wait)
            patch.setattr(worker, "PROGRESS_EVERY", 0.0)
            thread = threading.Thread(target=press)
            thread.start()
            with pytest.raises(KeyboardInterrupt) as found:
                run_sweep(sweep, folder, **{**QUIET, **options}, checkpoint_every=0.001)
            thread.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    return found.value


def test_ctrl_c_leaves_nothing_half_written(tmp_path, long_one):
    (note,) = interrupted(LONG, tmp_path).__notes__
    assert note == f"finished jobs (0 of 2) and checkpoints are kept in {tmp_path}; to resume: the same call"
    (work,) = tmp_path.glob("work-*")
    assert not list(work.glob("*.part"))
    assert list(work.glob("*.npz"))
    assert results(tmp_path) == {}
    run_sweep(LONG, tmp_path, **QUIET)
    assert results(tmp_path) == long_one
    assert names(tmp_path) == ["lock", "log.jsonl", "plan.json", "results"]


def test_ctrl_c_while_the_workers_are_started(tmp_path, monkeypatch):
    """They are stopped, whichever line it meets. If no job has begun, the folder is left as it was."""
    threads = []

    class Interrupted(threading.Thread):
        def start(self):
            threads.append(self)
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(driver, "threading", SimpleNamespace(Thread=Interrupted, Event=threading.Event))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(replace(LONG, rounds=10**7), tmp_path, **QUIET)
    threads[0].join(60)
    assert not threads[0].is_alive()
    assert all((work / "stop").exists() for work in tmp_path.glob("work-*"))
    assert list(tmp_path.glob("work-*")) or not (tmp_path / "plan.json").exists()


def test_jobs_go_on_from_their_checkpoints(tmp_path, long_one, monkeypatch):
    """What was told to be played before and after makes up all sessions, and no more."""
    interrupted(LONG, tmp_path)
    (path,) = tmp_path.glob("work-*/*.npz")
    with np.load(path) as file:
        before = int(file["played"])
    told = []
    tell = worker._Worker.tell

    def listen(self, playing, number):
        if self.job.key == path.stem:
            told.append(number)
        tell(self, playing, number)

    monkeypatch.setattr(worker._Worker, "tell", listen)
    run_sweep(LONG, tmp_path, **QUIET)
    assert 0 < before < 12_000
    assert before + sum(told) == 12_000
    assert results(tmp_path) == long_one


DAMAGES = {
    "no archive": lambda path, data: path.write_bytes(b"PK nonsense"),
    "a bit of the zip directory": lambda path, data: path.write_bytes(flipped(data, data.rindex(b"PK\1\2") + 8)),
    "a bit of an array": lambda path, data: path.write_bytes(flipped(data, len(data) // 2)),
    "cut off": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "empty": lambda path, data: path.write_bytes(b""),
    "another format": lambda path, data: np.savez(path, sessions=3, seconds=1.0, x=np.zeros(3)),
    "a FIFO": lambda path, data: os.mkfifo(path),
    "a folder": lambda path, data: (path.mkdir(), (path / "x").write_text("x")),
    "a dangling link": lambda path, data: path.symlink_to("nowhere"),
    "a link to itself": lambda path, data: path.symlink_to(path.name),
    "an endless device": lambda path, data: path.symlink_to("/dev/zero"),
    "a socket": lambda path, data: bound(path),
    "objects": lambda path, data: signed(path, {"played": np.array(3), "seconds": np.array({"a": 1}, object)}),
    "another job's": lambda path, data: signed(path, arrays_of(data), key="0" * 20),
    "wrong shapes": lambda path, data: signed(path, {k: v.ravel()[:1] for k, v in arrays_of(data).items()}),
    "an array missing": lambda path, data: signed(path, dict(list(arrays_of(data).items())[:-1])),
}


def flipped(data, place, bit=1):
    changed = bytearray(data)
    changed[place] ^= bit
    return bytes(changed)


def bound(path):
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def arrays_of(data):
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def signed(path, arrays, key=None):
    """A checkpoint whose digest is right."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    path.write_bytes(stream.getvalue() + work_folder._digest(key or path.stem, stream.getvalue()))


FORGETFUL = """
import numpy as np

class Same:
    def __init__(self, num_positions, num_envs):
        self.lists = np.tile(np.arange(num_positions), (num_envs, 1))
    def act(self, observation):
        return self.lists.copy()
    def update(self, displayed, clicks):
        pass
"""


def test_an_agent_without_snapshots_is_told_what_it_will_play_again(tmp_path, monkeypatch, capsys):
    (tmp_path / "forgetful_one.py").write_text(FORGETFUL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(driver, "LONG", 0.0)
    folder = tmp_path / "out"
    sweep = replace(LONG, agents=("forgetful_one:Same",), query=(0,), rounds=3_000_000)
    (note,) = interrupted(sweep, folder, progress=True).__notes__
    words = r"forgetful_one:Same has no snapshot: its ([\d,]+) sessions will be played again; to start again: .*"
    lost = int(re.fullmatch(words, note)[1].replace(",", ""))
    assert lost > 0
    said = capsys.readouterr().err
    assert "forgetful_one:Same has no snapshot, and so no checkpoints: if it is stopped, its unfinished jobs" in said
    (line,) = sweep_status(folder).agents
    assert (line.lost, line.played, line.begun, line.to_do) == (lost, 0, 0, 1)


@pytest.fixture(scope="module")
def interrupted_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted")
    interrupted(LONG, folder)
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_starts_its_job_anew(interrupted_once, tmp_path, long_one, damage, capsys):
    """Whatever is damaged, it is said in a line; and there is the folder of another dead driver."""
    shutil.copytree(interrupted_once, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.glob("work-*/*.npz")
    data = path.read_bytes()
    path.unlink()
    DAMAGES[damage](path, data)
    (tmp_path / "work-zzz").mkdir()
    run_sweep(LONG, tmp_path, jobs=1)
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("rows 0-1: its checkpoint is damaged; the job begins anew") == 1
    assert results(tmp_path) == long_one
    assert names(tmp_path) == ["lock", "log.jsonl", "plan.json", "results"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place_=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_any_changed_byte_of_a_checkpoint_is_noticed(interrupted_once, tmp_path, place_, change):
    (path,) = interrupted_once.glob("work-*/*.npz")
    data, folder = path.read_bytes(), WorkFolder(tmp_path)
    folder.checkpoint(path.stem).write_bytes(flipped(data, int(place_ * len(data)), change))
    assert folder.load_checkpoint(path.stem) is None
    folder.checkpoint(path.stem).write_bytes(data)
    assert folder.load_checkpoint(path.stem).keys() == arrays_of(data).keys()


def test_work_folders_that_are_none(finished, tmp_path):
    (tmp_path / "work-a").write_text("")
    (tmp_path / "work-b").symlink_to("nowhere")
    run_sweep(SWEEP, tmp_path, **QUIET)
    assert results(tmp_path) == results(finished)
    assert names(tmp_path) == ["lock", "log.jsonl", "plan.json", "results"]


def test_an_orphan_spoils_nothing(tmp_path):
    """A worker whose driver has died and was followed by another one finds no folder, and makes none."""
    (job,) = Sweep((SWEEP.environments[0],), ("static",), 20, query=(0,)).jobs()
    gone = tmp_path / "work-old"
    assignment = worker.Assignment(SweepJob(*job), str(gone), str(place(tmp_path, job)), 1.0)
    assert worker.work(assignment).state == "elsewhere"
    gone.mkdir()
    assert worker.work(assignment).state == "paused"  # nobody says that he is the driver
    assert list(gone.iterdir()) == []
    (gone / "driver").write_text("")
    (gone / "stop").write_text("")
    assert worker.work(assignment).state == "paused"
    (gone / "stop").unlink()
    player = worker._Worker(assignment)
    player.play = lambda: (os.rename(gone, tmp_path / "work-new"), player.report(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "_Worker", lambda _: player)
        assert worker.work(assignment).state == "paused"
    assert not gone.exists()
    assert not (tmp_path / "results").exists()


def test_a_worker_notices_that_its_driver_is_silent(tmp_path, monkeypatch):
    (job,) = Sweep((SWEEP.environments[0],), ("toprank",), 10**9, query=(0,)).jobs()
    (tmp_path / "driver").write_text("1")
    assignment = worker.Assignment(SweepJob(*job), str(tmp_path), str(tmp_path / "x.parquet"), 1.0)
    monkeypatch.setattr(worker, "DRIVER_SILENCE", 0.1)
    monkeypatch.setattr(worker, "PROGRESS_EVERY", 0.02)
    assert worker.work(assignment).state == "paused"
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX signals")
def test_disturbances(tmp_path):
    """One of each; `python tests/experiments/disturb_a_sweep.py --number 300 --seed 5` has more.

    In a process of its own: it forks, and this one may have threads.
    """
    script = [sys.executable, str(HERE / "disturb_a_sweep.py"), "--number", "20", "--patience", "120"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*script, "--folder", tmp_path], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong: 0; stray files: []" in done.stdout


def test_workers_that_die_again_and_again(tmp_path, monkeypatch):
    deaths = []

    def play(self, assignments):
        deaths.append(len(assignments))
        raise EOFError("out of memory, or so")

    with monkeypatch.context() as patch:
        patch.setattr(Executor, "play", play)
        with pytest.raises(RuntimeError, match=r"died, or returned, 5 times in a row .*EOFError: out of memory"):
            run_sweep(SWEEP, tmp_path, **QUIET)
    assert deaths == [6] * 5
    run_sweep(SWEEP, tmp_path, **QUIET)


def test_a_death_with_progress_is_no_reason_to_give_up(finished, tmp_path, monkeypatch):
    """Each time one job is done before somebody dies: six deaths, and all is well."""

    def play(self, assignments):
        worker.work(assignments[0])
        raise EOFError

    monkeypatch.setattr(Executor, "play", play)
    run_sweep(SWEEP, tmp_path, **QUIET)
    assert results(tmp_path) == results(finished)


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_full_disk(finished, tmp_path, monkeypatch):
    """What was finished stays, nothing half-written does, and with room again it goes on."""
    write, calls = worker.write_result, []

    def full(path, *rest):
        calls.append(path)
        if len(calls) > 2:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(worker, "write_result", full)
        with pytest.raises(OSError, match=r"No space left on device; finished jobs .* to resume: the same call"):
            run_sweep(SWEEP, tmp_path, **QUIET)
    assert len(calls) == 3  # the other jobs were not even begun
    assert results(tmp_path).items() < results(finished).items()
    assert len(results(tmp_path)) == 2
    assert not list(tmp_path.glob("work-*/*.part"))
    run_sweep(SWEEP, tmp_path, **QUIET)
    assert results(tmp_path) == results(finished)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    for folder, reason in ((Path("/proc/sweep"), ""), (tmp_path / "file", "is not a folder")):
        with pytest.raises(ValueError, match=f"out = '{folder}' cannot be written: .*{reason}"):
            run_sweep(SWEEP, folder, **QUIET)


def test_a_finished_sweep_is_read_from_a_folder_that_cannot_be_written_to(finished, monkeypatch):
    monkeypatch.setattr(sweeps, "check_writable", lambda *_: pytest.fail("written to"))
    assert len(run_sweep(SWEEP, finished, **QUIET)) == 3


def test_a_damaged_result_is_played_again(finished, tmp_path, capsys):
    for name, data in results(finished).items():
        (tmp_path / "results").mkdir(exist_ok=True)
        (tmp_path / "results" / name).write_bytes(data)
    path = place(tmp_path, SWEEP.jobs()[0])
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    path.write_bytes(damaged)
    with pytest.raises(Damaged):
        store.gather(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs)
    shutil.copy(finished / "plan.json", tmp_path)
    assert [line.damaged for line in sweep_status(tmp_path).agents] == [1, 0, 0]
    run_sweep(SWEEP, tmp_path, jobs=1)
    said = " ".join(capsys.readouterr().err.split())
    assert f"{path} is damaged: " in said
    assert f"it was moved to {tmp_path / 'damaged'}, and its job is played again" in said
    assert (tmp_path / "damaged" / path.name).read_bytes() == damaged
    assert results(tmp_path) == results(finished)


def test_results_of_another_version_stay(finished, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr("rankgym.experiments.plan.jobs.versions", lambda: {"rankgym": "0.0.1"})
        run_sweep(SWEEP, tmp_path, **QUIET)
    before, status = results(tmp_path), sweep_status(tmp_path)
    assert sum(line.finished for line in status.agents) == 0
    assert len(status.others.same) == len(before)
    assert "rankgym 0.0.1" in ", ".join(status.others.made_by)
    with pytest.warns(OtherCode, match=r"6 of 6 results were made by rankgym 0\.0\.1"):
        assert len(load(tmp_path)) > 0
    run_sweep(SWEEP, tmp_path, jobs=1)
    said = " ".join(capsys.readouterr().err.split())
    assert "6 older results in this folder were made by rankgym 0.0.1" in said
    assert "; they are not used" in said
    assert results(tmp_path) == before | results(finished)


def test_two_sweeps_on_one_folder_at_once(finished, tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(RuntimeError, match=r"another run is using .*; nothing was changed"),
    ):
        run_sweep(SWEEP, tmp_path, **QUIET)
    assert names(tmp_path) == ["lock"]


BROKEN = """
import numpy as np

class Late:
    def __init__(self, num_envs, num_items, num_positions, after=50):
        self.lists, self.left = np.tile(np.arange(num_positions), (num_envs, 1)), after

    def act(self, observation):
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError("on purpose")
        return self.lists

    def update(self, displayed, clicks):
        pass
"""


@pytest.fixture
def own_agents(tmp_path, monkeypatch):
    (tmp_path / "late_agents.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("late_agents", None)


def test_an_agent_that_fails_late(tmp_path, own_agents, capsys):
    """All others are finished first, and it is tried again when the sweep is resumed."""
    sweep = Sweep(LONG.environments, ("late_agents:Late:after=20000", "static"), 25_000, query=(0, 3))
    for _ in range(2):
        with pytest.raises(AgentFailed, match=r"Late.*ZeroDivisionError: on purpose.*; all other jobs are finished"):
            run_sweep(sweep, tmp_path, jobs=1)
        assert [(line.agent, line.finished) for line in sweep_status(tmp_path).agents][1] == ("static", 1)
    assert (
        "CM late_agents:Late:after=20000 rows 0-1: agent = 'late_agents:Late:after=20000': ZeroDivisionError"
        in " ".join(capsys.readouterr().err.split())
    )


def test_an_agent_that_fails_at_once(tmp_path, own_agents):
    """It is found before the first job."""
    sweep = Sweep(LONG.environments, ("static", "late_agents:Late:after=1"), 100, query=(0, 3))
    with pytest.raises(AgentFailed, match="Late:after=1': ZeroDivisionError: on purpose"):
        run_sweep(sweep, tmp_path, **QUIET)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs = 0 is out of range; allowed: a whole number, at least 1"),
        ({"checkpoint_every": 0}, "checkpoint_every = 0 is out of range; allowed: seconds, more than 0"),
        ({"backend": "lokky"}, "backend = 'lokky' is unknown; allowed: .*'dask', .*'loky'"),
        ({"backend": "dask"}, "jobs = 1 is for processes; allowed with backend = 'dask': None"),
        ({"backend": 3}, "backend = 3 is unknown; allowed: "),
        ({"address": "tcp://localhost:1"}, "address = 'tcp://localhost:1' goes with backend = 'dask', not with None"),
    ],
)
def test_what_cannot_play(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run_sweep(SWEEP, tmp_path / "x", **{**QUIET, **options})
    assert not (tmp_path / "x").exists()


def test_another_backend_of_joblib(finished, tmp_path):
    """Any that is registered: here the one with threads."""
    run_sweep(SWEEP, tmp_path, jobs=2, backend="threading", progress=False)
    assert results(tmp_path) == results(finished)


def test_a_worker_with_other_code(tmp_path, monkeypatch):
    seen = sweeps.decisive

    def other(*job):
        found = seen(*job)
        return {**found, "versions": {**found["versions"], "numpy": "0.1"}}

    monkeypatch.setattr(sweeps, "decisive", other)
    with pytest.raises(RuntimeError, match=r"a worker on .* has numpy 0\.1, unlike the driver; allowed: workers that"):
        run_sweep(SWEEP, tmp_path, **QUIET)


# -- the sweep of a folder --------------------------------------------------------------------------------------------


def test_a_folder_keeps_its_sweep(tmp_path):
    keep_sweep(SWEEP, tmp_path)
    assert Sweep.from_folder(tmp_path) == SWEEP
    other = Sweep(SWEEP.environments, SWEEP.agents, 300, 2, query=(0, 3, 7), rows_per_job=4)
    keep_sweep(other, tmp_path)  # nothing was played
    small = Sweep(SWEEP.environments[:1], ("static",), 20, query=(0,))
    keep_sweep(small, tmp_path)
    run_sweep(small, tmp_path, **QUIET)
    keep_sweep(small, tmp_path)
    with pytest.raises(ValueError, match=r"another sweep, which differs in environments, agents, rounds, runs, query"):
        keep_sweep(other, tmp_path)
    assert Sweep.from_folder(tmp_path) == small
    keep_sweep(other, tmp_path, replace=True)
    assert Sweep.from_folder(tmp_path) == other
    assert len(results(tmp_path)) == 1
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(
        ValueError, match=r"sweep\.json is damaged: .*; allowed: `rankgym sweep run FILE\.toml --out .* --replace`"
    ):
        Sweep.from_folder(tmp_path)
    with pytest.raises(ValueError, match=r"is not the folder of a sweep: it has no sweep\.json"):
        Sweep.from_folder(tmp_path / "results")


# -- how far it is ----------------------------------------------------------------------------------------------------


def test_durations():
    assert [duration(s) for s in (0, 59.4, 61, 3_600, 11_520, 200_000)] == [
        "0 s",
        "59 s",
        "1 min 1 s",
        "1 h 0 min",
        "3 h 12 min",
        "2 d 7 h",
    ]


def test_an_estimate_is_there_after_a_minute_and_goes_by_the_last_ones():
    estimate = TimeLeft(0.0)
    for second in range(1, 60):
        estimate.add(float(second), 10.0 * second)
        assert estimate.left(100.0) is None
    estimate.add(60.0, 600.0)
    assert estimate.left(1_200.0) == pytest.approx(120.0)
    for second in range(61, 2_000):
        estimate.add(float(second), 600.0 + 30.0 * (second - 60))
    assert estimate.rate == pytest.approx(30.0)


PLAYABLE = [SweepJob(*job) for job in SWEEP.jobs()]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_last_job_is_waited_for():
    """Two jobs left of six, one of them nearly done: the time that is left is the other one's."""
    clock, jobs = Clock(), PLAYABLE
    first, second = jobs[:2]
    display = JobsDisplay(jobs, {job.key for job in jobs[2:]}, shown=False, clock=clock)
    for clock.now in range(101):
        display.update({first.key: min(7 * clock.now, 700), second.key: 2 * clock.now}, set())
    rest = second.size - 200
    assert display.done == sum(job.size for job in jobs[2:]) + 900
    assert display.left == pytest.approx(rest / 2)
    assert f"{len(jobs) - 2} of 6 jobs, " in display.line()
    assert "about 1 min 40 s left" in display.line() if rest == 200 else "left" in display.line()


@pytest.mark.parametrize("written", ["", '{"played": 4'])
def test_progress_that_is_being_written_does_not_set_a_job_back(tmp_path, written):
    first, second = PLAYABLE[:2]
    path = tmp_path / f"{first.key}.progress"
    display = JobsDisplay(PLAYABLE, set(), shown=False, clock=Clock())
    driving = driver.Driver(PLAYABLE, tmp_path, None, "")
    driving.folder, driving.display = WorkFolder(tmp_path), display
    for text, known in (('{"played": 400}', 400), (written, 400), ('{"played": 500}', 500)):
        path.write_text(text)
        (tmp_path / f"{second.key}.progress").write_text(written)  # of this job nothing is known yet
        driving.collect(PLAYABLE)
        assert display.running == {first.key: known}
        assert display.done == known


def test_checkpoints_do_not_count_as_speed():
    clock, jobs = Clock(), PLAYABLE
    display = JobsDisplay(jobs, set(), shown=False, clock=clock)
    for clock.now in range(100):
        display.update({jobs[0].key: 500 + clock.now}, set())
    assert display.overall.rate == pytest.approx(1.0)


def test_lines_where_there_is_no_terminal():
    clock, text, jobs = Clock(), io.StringIO(), PLAYABLE
    with JobsDisplay(jobs, set(), console=Console(file=text, width=200), clock=clock) as display:
        for clock.now in range(0, 130, 10):
            display.update({jobs[0].key: clock.now}, set())
    lines = text.getvalue().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"0 of 6 jobs, 1\.\d % of 3\.6k sessions, 1 sessions/s, about \d+ min \d+ s left", lines[0])


def test_bars_on_a_terminal():
    clock, text, jobs = Clock(), io.StringIO(), PLAYABLE
    console = Console(file=text, width=100, force_terminal=True, color_system=None)
    with JobsDisplay(jobs, set(), console=console, clock=clock) as display:
        for clock.now in range(0, 130, 10):
            display.update({jobs[0].key: 5 * clock.now}, {jobs[1].key} if clock.now > 100 else set())
        display.say("something happened")
        display.bars.refresh()
    shown = text.getvalue()
    for words in ("CM toprank rows 0-3", "something happened", "1/6 jobs", "5/s", "left"):
        assert words in shown


# -- a cluster --------------------------------------------------------------------------------------------------------


def dask(*words, log):
    return subprocess.Popen([sys.executable, "-m", "dask", *map(str, words)], stdout=log, stderr=log)


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two worker processes on loopback: its address, and the workers."""
    pytest.importorskip("distributed")
    with contextlib.ExitStack() as opened:
        folder = tmp_path / "dask"
        folder.mkdir()
        log = opened.enter_context((folder / "log").open("w"))
        file = folder / "scheduler.json"
        processes = [
            dask("scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file, log=log)
        ]
        opened.callback(lambda: [(process.kill(), process.wait()) for process in processes])
        end = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        words = ("worker", address, "--no-nanny", "--nthreads", 1, "--no-dashboard", "--local-directory", folder)
        processes += [dask(*words, log=log) for _ in range(2)]
        yield address, processes[1:]


@pytest.mark.slow
def test_a_cluster_one_of_whose_workers_is_killed(cluster, tmp_path):
    """Of jobs that take seconds, so that the kill comes long before the end."""
    address, workers = cluster
    longer = replace(LONG, rounds=30_000)
    folder, killed = tmp_path / "results_here", []

    def kill():
        while not any(folder.glob("work-*/*.npz")) and not over.is_set():
            time.sleep(0.01)
        workers[0].send_signal(signal.SIGKILL)
        killed.append(not over.is_set())

    over = threading.Event()
    thread = threading.Thread(target=kill)
    thread.start()
    try:
        run_sweep(longer, folder, backend="dask", address=address, progress=False, checkpoint_every=0.1)
    finally:
        over.set()
        thread.join()
    assert killed == [True]
    run_sweep(longer, tmp_path / "undisturbed", **QUIET)
    assert results(folder) == results(tmp_path / "undisturbed")
    assert names(folder) == ["lock", "log.jsonl", "plan.json", "results"]
    assert len((folder / "log.jsonl").read_text().splitlines()) == len(longer.jobs())


@pytest.mark.slow
def test_a_ray_cluster_one_of_whose_workers_is_killed(tmp_path):
    """A local one of two workers, with jobs that take seconds."""
    ray = pytest.importorskip("ray")
    longer = replace(LONG, rounds=30_000)
    folder, killed = tmp_path / "results_here", []

    def kill():
        while not any(folder.glob("work-*/*.npz")) and not over.is_set():
            time.sleep(0.01)
        lines = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        (worker, *_) = [int(line.split()[0]) for line in lines.splitlines() if "ray::PoolActor.run_batch" in line]
        os.kill(worker, signal.SIGKILL)
        killed.append(not over.is_set())

    ray.init(num_cpus=2, include_dashboard=False)
    over, thread = threading.Event(), threading.Thread(target=kill)
    thread.start()
    try:
        run_sweep(longer, folder, jobs=2, backend="ray", progress=False, checkpoint_every=0.1)
    finally:
        over.set()
        thread.join()
        ray.shutdown()
    assert killed == [True]
    run_sweep(longer, tmp_path / "undisturbed", **QUIET)
    assert results(folder) == results(tmp_path / "undisturbed")
    assert names(folder) == ["lock", "log.jsonl", "plan.json", "results"]


def test_ray_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RuntimeError, match=r'needs ray, which is not installed; pip install "rankgym\[ray\]"'):
        run_sweep(SWEEP, tmp_path, backend="ray")


def test_a_cluster_that_is_not_there(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "CONNECT_WAIT", 0.3)
    with pytest.raises(
        ValueError, match=r"address = 'tcp://127.0.0.1:9' has no Dask scheduler .*; allowed: what `dask"
    ):
        run_sweep(SWEEP, tmp_path, backend="dask", address="tcp://127.0.0.1:9")
    with pytest.raises(
        ValueError, match=r"backend = 'dask' needs an address; allowed: that of the cluster's scheduler"
    ):
        run_sweep(SWEEP, tmp_path, backend="dask")


def test_dask_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        RuntimeError, match=r'needs distributed, which is not installed; pip install "rankgym\[distributed\]"'
    ):
        run_sweep(SWEEP, tmp_path, backend="dask", address="tcp://127.0.0.1:9")


FAILING = """
class Failing:
    def __init__(self, num_envs):
        pass
    def act(self, observation):
        raise RuntimeError("at once")
    def update(self, displayed, clicks):
        pass
"""


def test_a_sweep_that_fails_before_it_begins_leaves_no_folder(run, tmp_path, monkeypatch):
    """A folder that was there stays, whatever it has."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "failing_at_once.py").write_text(FAILING)
    (tmp_path / "a.toml").write_text(
        'rounds = 9\nquery = 0\nagents = ["failing_at_once:Failing"]\n[[environments]]\nid = "CM-Yandex-v0"\n'
    )
    before = {path.name for path in tmp_path.iterdir()} | {"__pycache__"}
    failed = run("sweep", "run", "a.toml", "--jobs", "1")
    assert failed.exit_code != 0
    assert "at once" in failed.stderr
    with pytest.raises(AgentFailed):
        run_sweep(Sweep.from_toml(tmp_path / "a.toml"), tmp_path / "x" / "y", **QUIET)
    assert {path.name for path in tmp_path.iterdir()} <= before
    (tmp_path / "results").mkdir()
    assert run("sweep", "run", "a.toml", "--jobs", "1", "--out", "results").exit_code != 0
    assert list((tmp_path / "results").iterdir()) == []
