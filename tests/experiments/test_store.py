"""Result files: what is written is read, the bytes depend on the job alone, and damage of any kind is found."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("filelock")

from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run import store
from rankgym.experiments.run.rows import Run
from rankgym.experiments.run.store import Damaged, examine, facts, gather, join, others, place, read, write
from rankgym.extras import require
from rankgym.play.history import measures

SWEEP = Sweep(
    environments=(
        Environment("CM", "CM-Yandex-v0"),
        Environment("changing", "CM-Synthetic-v0", query=(5,), agents=("static",)),
        Environment("duels", "Dueling-Cyclic-v0", query="all", agents=("rucb",)),
    ),
    agents=("toprank", "static"),
    rounds=30,
    runs=2,
    query=(0, 3, 7),
    rows_per_job=4,
)
CHANGING = Sweep((Environment("", "CM-Yandex-Breakpoint-v0", {"epoch_lengths": 10}),), ("static",), 30, query=(1,))


def played(job):
    run = Run(job.block, retire=job.retire)
    run.play(lambda sessions: None)
    return run.history(), run.settled_at


def written(folder, job):
    path = place(folder, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, job, *played(job))
    return path


def same(one, other):
    numbers = ("rounds", "row", "query", "run", "settled_at", "epoch_regret")
    assert all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in numbers)
    assert one.measures.keys() == other.measures.keys()
    assert all(np.array_equal(one.measures[n], other.measures[n], equal_nan=True) for n in one.measures)
    assert (one.environment, one.agent, one.env_id, one.env_kwargs) == (
        other.environment,
        other.agent,
        other.env_id,
        other.env_kwargs,
    )
    return True


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all results of ``SWEEP``."""
    folder = tmp_path_factory.mktemp("finished")
    for job in SWEEP.jobs():
        written(folder, job)
    return folder


# -- one file ---------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read(finished):
    for job in SWEEP.jobs():
        history, settled_at = played(job)
        found = read(place(finished, job))
        rows = np.arange(job.block.start, job.block.stop)
        assert np.array_equal(found.row, rows)
        assert np.array_equal(found.query, job.block.queries)
        assert np.array_equal(found.run, rows // job.queries)
        assert np.array_equal(found.settled_at, settled_at)
        assert np.array_equal(found.rounds, history.rounds)
        assert tuple(found.measures) == measures(history)
        for name, values in found.measures.items():
            assert np.array_equal(values, getattr(history, name), equal_nan=True)
        assert np.array_equal(found.epoch_regret, getattr(history, "epoch_regret", np.empty((0, len(rows)))))
        assert (found.env_id, found.env_kwargs, found.agent) == (
            job.block.env_id,
            {"horizon": 30},
            job.block.agent.label,
        )


def test_the_metadata_say_everything(finished):
    job = SWEEP.jobs()[0]
    found = facts(place(finished, job))
    assert {name: found[name] for name in job.decides} == job.decides
    assert found["key"] == job.key
    assert "reward goes on with its expectation" in found["note"]
    assert found["versions"]["rankgym"]
    assert found["retire"] is True
    assert found["seed"] == 0


def test_epochs(tmp_path):
    (job,) = CHANGING.jobs()
    found = read(written(tmp_path, job))
    history, _ = played(job)
    assert found.epoch_regret.shape == (3, 1)
    assert np.array_equal(found.epoch_regret, history.epoch_regret)


def test_the_bytes_depend_on_the_job_alone(tmp_path, finished):
    """Also of another process."""
    job = SWEEP.jobs()[0]
    again = written(tmp_path, job)
    assert again.read_bytes() == place(finished, job).read_bytes()
    script = (
        "import sys; from pathlib import Path; from rankgym.experiments.run import store; "
        "from rankgym.experiments.run.rows import Run; from rankgym.experiments.plan.sweep import Sweep; "
        "job = Sweep.from_json(sys.stdin.read()).jobs()[0]; run = Run(job.block); run.play(lambda n: None); "
        f"store.write(Path({str(tmp_path / 'other')!r}), job, run.history(), run.settled_at)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", script], input=SWEEP.to_json(), text=True, check=True, env=env)
    assert (tmp_path / "other").read_bytes() == again.read_bytes()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place_=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_found_or_does_no_harm(finished, tmp_path, place_, bit):
    original = place(finished, SWEEP.jobs()[0])
    data = bytearray(original.read_bytes())
    data[int(place_ * len(data))] ^= 1 << bit
    path = tmp_path / "flipped.parquet"
    path.write_bytes(data)
    try:
        found = read(path)
    except Damaged:
        return
    same(found, read(original))


def test_a_flipped_byte_in_a_page_is_found_by_its_checksum(finished, tmp_path):
    path = tmp_path / "flipped.parquet"
    data = bytearray(place(finished, SWEEP.jobs()[0]).read_bytes())
    parquet = pytest.importorskip("pyarrow.parquet")
    column = parquet.read_metadata(place(finished, SWEEP.jobs()[0])).row_group(0).column(5)
    data[column.data_page_offset + column.total_compressed_size - 1] ^= 1
    path.write_bytes(data)
    with pytest.raises(Damaged, match="CRC"):
        read(path)


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_file_that_was_cut_off(finished, tmp_path, keep):
    path = tmp_path / "short.parquet"
    path.write_bytes(place(finished, SWEEP.jobs()[0]).read_bytes()[:keep])
    with pytest.raises(Damaged, match="is damaged: "):
        read(path)
    with pytest.raises(Damaged, match="is damaged: "):
        facts(path)


def test_other_files(finished, tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(Damaged, match=r"x\.parquet is no result of a sweep"):
        read(tmp_path / "x.parquet")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.parquet")
    path = place(finished, SWEEP.jobs()[0])
    monkeypatch.setattr(store, "FORMAT", 2)
    with pytest.raises(Damaged, match="has format 1, and this version of rankgym reads 2"):
        read(path)


# -- together ---------------------------------------------------------------------------------------------------------


def test_blocks_of_rows_are_joined(finished):
    """As if they had been played together."""
    found = gather(SWEEP, finished)
    assert [(one.environment, one.agent) for one in found] == [
        ("CM", "toprank"),
        ("CM", "static"),
        ("changing", "static"),
        ("duels", "rucb"),
    ]
    (whole,) = (
        Run(job.block, retire=True)
        for job in Sweep((SWEEP.environments[0],), ("toprank",), 30, 2, query=(0, 3, 7)).jobs()
    )
    whole.play(lambda sessions: None)
    one = found["CM", "toprank"]
    assert np.array_equal(one.row, np.arange(6))
    assert np.array_equal(one.query, [0, 3, 7, 0, 3, 7])
    assert np.array_equal(one.run, [0, 0, 0, 1, 1, 1])
    assert np.array_equal(one.measures["regret"], whole.history().regret)


def test_epochs_of_joined_blocks():
    """Rows may have come to more epochs, or fewer."""
    blank = {"environment": "", "agent": "", "env_id": "", "env_kwargs": {}, "rounds": np.array([1])}
    parts = [
        store.Played(
            **blank,
            row=np.array([row]),
            query=np.array([0]),
            run=np.array([row]),
            measures={"regret": np.full((1, 1), float(row))},
            epoch_regret=np.full((epochs, 1), float(row)),
            settled_at=np.array([-1]),
        )
        for row, epochs in ((2, 1), (0, 3))
    ]
    found = join(parts)
    assert np.array_equal(found.row, [0, 2])
    assert np.array_equal(found.measures["regret"], [[0, 2]])
    assert np.array_equal(found.epoch_regret, [[0, 2], [0, np.nan], [0, np.nan]], equal_nan=True)


def test_what_is_missing(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    jobs = SWEEP.jobs()
    place(tmp_path, jobs[0]).unlink()
    with pytest.raises(ValueError, match=f"has {len(jobs) - 1} of the sweep's {len(jobs)} results; allowed: a sweep"):
        gather(SWEEP, tmp_path)
    found = gather(SWEEP, tmp_path, partial=True)
    assert np.array_equal(found["CM", "toprank"].row, [4, 5])
    state = examine(tmp_path, jobs)
    assert state.missing == {jobs[0].key}
    assert state.finished == {job.key for job in jobs[1:]}


def test_what_is_damaged(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    first, second, *_ = SWEEP.jobs()
    place(tmp_path, first).write_bytes(b"PAR1")
    shutil.copy(place(finished, first), place(tmp_path, second))
    state = examine(tmp_path, SWEEP.jobs())
    assert set(state.damaged) == {first.key, second.key}
    assert "is damaged: it is the result of another job" in state.damaged[second.key]


def test_other_results(finished, tmp_path, monkeypatch):
    """Of another sweep, and of another version, which count if they are asked for."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "results" / "damaged.parquet").write_bytes(b"")
    assert others(tmp_path, SWEEP.jobs())[:3] == ([], set(), [])
    other = Sweep(SWEEP.environments, SWEEP.agents, 40, 2, query=(0, 3, 7), rows_per_job=4)
    found = others(tmp_path, other.jobs())
    assert (len(found.same), len(found.foreign), len(found.damaged)) == (0, len(SWEEP.jobs()), 1)
    monkeypatch.setattr("rankgym.experiments.plan.jobs.versions", lambda: {"rankgym": "9.9", "numpy": "9.8"})
    found = others(tmp_path, SWEEP.jobs())
    assert len(found.same) == len(SWEEP.jobs())
    (made_by,) = found.made_by
    assert "rankgym 0." in made_by
    assert "code" not in made_by
    with pytest.raises(ValueError, match="has 0 of the sweep's"):
        gather(SWEEP, tmp_path)
    for one in gather(SWEEP, tmp_path, any_version=True):
        assert len(one.row) in (1, 2, 6)


def test_one_sweep_at_a_time(tmp_path):
    assert store.busy(tmp_path) == ""
    (tmp_path / "work-1").mkdir()
    (tmp_path / "work-1" / "driver").write_text('{"pid": 77, "host": "here", "since": "noon"}')
    with store.held(tmp_path):
        assert store.busy(tmp_path) == "running (process 77 on here, since noon)"
        with (
            pytest.raises(RuntimeError, match=r"another sweep is running in .* \(process 77 on here, since noon\)"),
            store.held(tmp_path),
        ):
            pass
    assert store.busy(tmp_path) == ""
    with store.held(tmp_path):
        pass


def test_a_library_that_is_not_there():
    with pytest.raises(RuntimeError, match=r'needs nothing_such, .* pip install "rankgym\[experiments\]"'):
        require("nothing_such.at_all")
