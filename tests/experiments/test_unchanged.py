"""A folder of results stays as it was, to the byte and the name, if nothing was played in it."""

import os
import shutil

import pytest

from rankgym.experiments import Environment, Sweep, compare, run_sweep
from rankgym.experiments.run import driver, sweeps
from rankgym.experiments.run.driver import Driver
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.unchanged import Moves, unchanged_unless_played
from rankgym.experiments.run.work_folder import WorkFolder
from rankgym.experiments.run.worker import Outcome

pytestmark = pytest.mark.usefixtures("quick_figures")

CM, PBM = Environment("cm", "CM-Yandex-v0"), Environment("pbm", "PBM-Yandex-v0")
SWEEP = Sweep((CM,), ("static", "random"), 60, 1, query=(0, 1))
OTHER = Sweep((PBM,), ("static",), 30, 1, query=(0,))
PLAYED = {"rounds": 30, "query": [0, 1], "progress": False}


def seen(folder):
    """Every path below the folder, with its bytes and time; None if there is no folder."""
    if not folder.exists():
        return None
    paths = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) if p.is_file() else None for p in paths}


def press(*_, **__):
    raise KeyboardInterrupt


def fail(*_, **__):
    raise ValueError("no")


def elsewhere(self, assignments):
    return [Outcome(one.job.key, "elsewhere", "host does not see it") for one in assignments]


class FailsAtOnce:
    def act(self, observation):
        raise ValueError("at once")

    def update(self, displayed, clicks):
        pass


def keep_and_play(sweep, folder, **options):
    """What ``rankgym sweep run`` does."""
    return sweeps.play_jobs(sweep.jobs(), sweep.name, folder, Executor(jobs=1), sweep=sweep, progress=False, **options)


BREAKS = [
    (Driver, "rehearse", press),
    (Driver, "rehearse", fail),
    (Driver, "play_all", press),
    (Executor, "play", elsewhere),
]
BREAKS += [(sweeps, "write_plan", fail), (WorkFolder, "write_heartbeat", press)]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda one: f"{one[1]}-{one[2].__name__}")
def test_a_run_that_played_nothing_leaves_its_folder_as_it_was(tmp_path, monkeypatch, broken):
    folder = tmp_path / "deep" / "out"
    keep_and_play(SWEEP, tmp_path / "played")
    shutil.copytree(tmp_path / "played", tmp_path / "resumed")
    work = tmp_path / "resumed" / "work-0a1b2c3d"  # of a driver that was killed
    work.mkdir()
    first, second = SWEEP.jobs()
    os.remove(tmp_path / "resumed" / "results" / first.file)
    (tmp_path / "resumed" / "results" / second.file).write_bytes(b"damaged")
    for name in ("driver", f"{first.key}.npz", f"{first.key}.progress", "other.npz", "x.part"):
        (work / name).write_text("{}")
    before = {name: seen(tmp_path / name) for name in ("played", "resumed")}
    with monkeypatch.context() as patched:
        patched.setattr(*broken)
        for sweep, place, options in (
            (SWEEP, folder, {}),
            (SWEEP, tmp_path / "played", {"fresh": True}),
            (OTHER, tmp_path / "played", {"replace": True}),
            (SWEEP, tmp_path / "resumed", {}),
            (SWEEP, tmp_path / "resumed", {"fresh": True}),
        ):
            with pytest.raises((KeyboardInterrupt, ValueError, RuntimeError)):
                keep_and_play(sweep, place, **options)
            with pytest.raises((KeyboardInterrupt, ValueError, RuntimeError)):
                run_sweep(OTHER, place, jobs=1, progress=False)
    assert not (tmp_path / "deep").exists()
    assert {name: seen(tmp_path / name) for name in before} == before
    for name in before:
        keep_and_play(SWEEP, tmp_path / name)  # and can still be resumed
        assert sorted(path.name for path in (tmp_path / name / "results").iterdir()) == sorted(
            job.file for job in (first, second)
        )
        assert not [path for path in (tmp_path / name).iterdir() if path.name.startswith((".", "work-"))]


@pytest.mark.parametrize("agents", ["toprank:delt=1", "no_such_module:Agent", [FailsAtOnce], "static,toprnk"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_comparison_with_a_wrong_agent_leaves_its_folder_as_it_was(tmp_path, agents, fresh):
    with pytest.raises((ValueError, RuntimeError)):
        compare("CM-Yandex-v0", agents, **PLAYED, out=tmp_path / "new" / "out", fresh=fresh)
    assert not (tmp_path / "new").exists()
    compare("CM-Yandex-v0", "static,random", **PLAYED, out=tmp_path / "out")
    before = seen(tmp_path / "out")
    with pytest.raises((ValueError, RuntimeError)):
        compare("CM-Yandex-v0", agents, **PLAYED, out=tmp_path / "out", fresh=fresh)
    assert seen(tmp_path / "out") == before


def test_what_was_played_is_kept(tmp_path, monkeypatch):
    """A first job that has begun is enough."""

    def begin(self, assignments):
        (tmp_path / "out" / "results" / "x.parquet").write_bytes(b"a result")
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "CHECKPOINT_GRACE", 0.0)
    monkeypatch.setattr(Driver, "play_once", lambda self, todo: begin(self, todo))
    with pytest.raises(KeyboardInterrupt):
        keep_and_play(SWEEP, tmp_path / "out")
    assert Sweep.from_folder(tmp_path / "out") == SWEEP
    assert (tmp_path / "out" / "plan.json").exists()


def test_files_of_others_and_folders_of_other_runs_are_left_alone(tmp_path):
    root = tmp_path / "new"

    def write_and_fail(*names):
        with unchanged_unless_played(root):
            root.mkdir(exist_ok=True)
            for name in names:
                (root / name).write_text("text")
            fail()

    with pytest.raises(ValueError, match="no"):
        write_and_fail("notes.txt", "plan.json")
    assert seen(root).keys() == {"notes.txt"}
    with locked(root), pytest.raises(ValueError, match="no"):
        write_and_fail("sweep.json")  # of the other run
    assert seen(root).keys() >= {"notes.txt", "sweep.json"}


def test_moves_are_undone_in_reverse_and_forgotten(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("a")
    moves = Moves(tmp_path)
    moves.move(a, b)
    moves.discard(b)
    moves.discard(tmp_path / "nothing")
    assert not a.exists()
    assert not b.exists()
    moves.undo()
    assert seen(tmp_path).keys() == {"a"}
    moves.discard(a)
    moves.forget()
    moves.undo()
    assert seen(tmp_path) == {}


# -- what is waited for -----------------------------------------------------------------------------------------------


class Client:
    """A Dask client as the executor sees it."""

    def __init__(self, workers):
        self.workers = workers
        self.scheduler = type("Scheduler", (), {"address": "tcp://there:8786"})

    def scheduler_info(self):
        return {"workers": dict.fromkeys(range(self.workers))}


def test_an_executor_says_what_it_waits_for():
    executor = Executor(jobs=1)
    assert executor.waits_for(begun=False, seconds=1e9) == ""
    executor.client = Client(0)
    assert executor.waits_for(begun=True, seconds=0) == (
        "the scheduler at tcp://there:8786 has no workers; start one: dask worker tcp://there:8786 --nthreads 1"
    )
    executor.client = Client(2)
    assert executor.waits_for(begun=False, seconds=1) == ""
    assert executor.waits_for(begun=True, seconds=1e9) == ""
    assert "has begun a job in 30 seconds; it may have other work. Wait, or start another one: dask worker" in (
        executor.waits_for(begun=False, seconds=30)
    )


def test_a_driver_says_it_once_each_time(tmp_path):
    executor, said = Executor(jobs=1), []
    driving = Driver([], tmp_path, executor, "")
    driving.folder = WorkFolder.take_over(tmp_path)
    driving.display = type("Display", (), {"say": lambda self, text, style: said.append(text)})()
    for workers in (0, 0, 2, 2, 0):
        executor.client = Client(workers)
        driving.say_what_is_waited_for(1.0)
    assert len(said) == 2
    assert all(
        text.startswith("waiting: the scheduler at tcp://there:8786 has no workers; start one: ") for text in said
    )
