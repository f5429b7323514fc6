"""Modules of the user's in worker processes and on the workers of a Dask cluster that were started elsewhere."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run import executor, own_modules
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.sweeps import run_sweep

ROOT = Path(__file__).resolve().parents[2]
AGENT = """
import numpy as np
import rankgym
from helper_of_mine import first


class Mine(rankgym.Agent):
    def __init__(self, **shape):
        super().__init__(**shape)

    def act(self, observation):
        return np.tile(np.arange(first, first + self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks): ...
"""
MODEL = """
from rankgym.models import MODELS

MODEL = MODELS["PBM"]._replace(name="Mine")
"""
SWEEP = {"agents": ("agent_of_mine:Mine",), "rounds": 30, "rows_per_job": 1, "query": (0, 1, 2, 3)}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with modules, which this process finds."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent_of_mine.py").write_text(AGENT)
    (folder / "helper_of_mine.py").write_text("first = 0\n")
    (folder / "model_of_mine.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in ("agent_of_mine", "helper_of_mine", "model_of_mine"):
        sys.modules.pop(name, None)


def planned():
    return Sweep((Environment("", "PBM-Synthetic-v0", {"model": "model_of_mine:MODEL", "num_positions": 2}),), **SWEEP)


def regret(results: Results) -> np.ndarray:
    (one,) = results
    return one.measures["regret"]


def test_processes_of_this_machine_find_them(mine, tmp_path):
    here = run_sweep(planned(), tmp_path / "here", jobs=1, progress=False)
    apart = run_sweep(planned(), tmp_path / "apart", jobs=2, progress=False)
    np.testing.assert_array_equal(regret(here), regret(apart))
    assert regret(here)[-1].max() > 0


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler with two workers, which were started in a folder of their own."""
    with started(tmp_path, 2) as address:
        yield address


@contextlib.contextmanager
def started(tmp_path, workers):
    """Start a scheduler and some workers; yields the address."""
    pytest.importorskip("distributed")
    with contextlib.ExitStack() as opened:
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        log = opened.enter_context((folder / "log").open("w"))
        place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "agents")])}

        def dask(*words):
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *map(str, words)], stdout=log, stderr=log, cwd=folder, env=place
            )
            opened.callback(lambda: (process.kill(), process.wait()))

        file = folder / "scheduler.json"
        dask("scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", file)
        address, end = "", time.monotonic() + 60
        while not address:
            assert time.monotonic() < end
            time.sleep(0.05)
            with contextlib.suppress(OSError, ValueError):  # it is being written
                address = json.loads(file.read_text())["address"]
        words = ("worker", address, "--no-nanny", "--nthreads", 1, "--no-dashboard", "--local-directory", folder)
        for _ in range(workers):
            dask(*words)
        if workers:
            with pytest.importorskip("distributed").Client(address, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=60)
        yield address


@pytest.mark.slow
def test_workers_of_a_cluster_find_them_and_read_them_again_if_they_were_edited(mine, tmp_path, cluster):
    arguments = {"backend": "dask", "address": cluster, "progress": False}
    apart = run_sweep(planned(), tmp_path / "apart", **arguments)
    here = run_sweep(planned(), tmp_path / "here", jobs=1, progress=False)
    np.testing.assert_array_equal(regret(apart), regret(here))

    (mine / "agent_of_mine.py").write_text(AGENT.replace("np.arange(first, first", "np.arange(first + 2, first + 2"))
    sys.modules.pop("agent_of_mine")
    edited = run_sweep(planned(), tmp_path / "apart", **arguments)
    again = run_sweep(planned(), tmp_path / "again", jobs=1, progress=False)
    np.testing.assert_array_equal(regret(edited), regret(again))
    assert (regret(edited)[-1] != regret(apart)[-1]).any()


@pytest.mark.slow
def test_a_worker_that_does_not_see_the_folder_says_so(mine, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(own_modules, "search_path", lambda: ("/nowhere/here",))
    words = (
        r"a worker on .* does not find the module 'agent_of_mine': of the driver's folders \(/nowhere/here\) it sees "
        "none; put agent_of_mine into a folder that the driver and all workers see under the same path, "
        "or set PYTHONPATH where the worker is started"
    )
    with pytest.raises(RuntimeError, match=words):
        run_sweep(planned(), tmp_path / "apart", backend="dask", address=cluster, progress=False)


@pytest.mark.slow
def test_the_only_worker_of_a_cluster_plays(tmp_path, mine, monkeypatch):
    """joblib would play in this process; here it would find the module."""
    monkeypatch.setattr(own_modules, "search_path", lambda: ("/nowhere/here",))
    with started(tmp_path, 1) as address, pytest.raises(RuntimeError, match=r"a worker on .* does not find the module"):
        run_sweep(planned(), tmp_path / "apart", backend="dask", address=address, progress=False)


@pytest.mark.slow
def test_a_cluster_without_workers_is_waited_for_and_refused(tmp_path, mine, monkeypatch, capsys):
    monkeypatch.setattr(executor, "WORKER_WAIT", 0.1)
    with started(tmp_path, 0) as address:
        words = f"the scheduler at {address} has no workers; start one: dask worker {address} --nthreads 1"
        with pytest.raises(ValueError, match=words):
            run_sweep(planned(), tmp_path / "out", backend="dask", address=address, progress=False)
        assert capsys.readouterr().err == ""
        with pytest.raises(ValueError, match=words):
            run_sweep(planned(), tmp_path / "out", backend="dask", address=address)
        assert capsys.readouterr().err == f"waiting for a worker, 0 seconds at most: {words}\n"
    assert not (tmp_path / "out").exists()


def test_installed_packages_are_not_searched_for_modules_of_ones_own(mine):
    folders = own_modules.search_path()
    assert str(mine) in folders
    assert not [
        folder for folder in folders if "site-packages" in folder or folder.startswith(sys.base_prefix + "/lib")
    ]


def test_modules_are_named_once_and_without_ours():
    places = ["rankgym_agents.toprank:TopRank", "a.b:C", "a.b:D", "rankgym.sb3.agent:SB3Agent"]
    assert own_modules.own_modules(places) == ("a.b",)


def test_a_package_is_forgotten_as_a_whole_if_one_of_its_files_was_edited(tmp_path, monkeypatch):
    folder = tmp_path / "package_of_mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "part.py").write_text("value = 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import package_of_mine.part as part

    own_modules.remember(["package_of_mine.part"])
    assert own_modules.prepare(["package_of_mine.part"], []) == ""
    assert sys.modules["package_of_mine.part"] is part
    (folder / "part.py").write_text("value = 22\n")
    os.utime(folder / "part.py", ns=(1, 1))
    assert own_modules.prepare(["package_of_mine.part"], []) == ""
    import package_of_mine.part as changed

    assert changed.value == 22
    sys.modules.pop("package_of_mine.part")
    sys.modules.pop("package_of_mine")
