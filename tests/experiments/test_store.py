"""Result files: what is written is read, the bytes depend on the job alone, and damage of any kind is found."""

import errno
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
from rankgym.experiments.run import result_file, store
from rankgym.experiments.run.lock import locked, who_runs
from rankgym.experiments.run.plan_file import from_settings, plan_of
from rankgym.experiments.run.result_file import Damaged, read_settings, write_result
from rankgym.experiments.run.results import Played, join
from rankgym.experiments.run.rows import Run, contents
from rankgym.experiments.run.store import examine, others, place, read
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
PLAN = plan_of(SWEEP.name, SWEEP.jobs()).jobs
CHANGING = Sweep((Environment("", "CM-Yandex-Breakpoint-v0", {"epoch_lengths": 10}),), ("static",), 30, query=(1,))


def played(job):
    run = Run(job.block, retire=job.retire)
    run.play(lambda sessions: None)
    return run.history(), run.settled_at


def written(folder, job):
    path = place(folder, job)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_result(path, contents(job, *played(job)))
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
    found = read_settings(place(finished, job))
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
        "import sys; from pathlib import Path; from rankgym.experiments.run.result_file import write_result; "
        "from rankgym.experiments.run.rows import contents; "
        "from rankgym.experiments.run.rows import Run; from rankgym.experiments.plan.sweep import Sweep; "
        "job = Sweep.from_json(sys.stdin.read()).jobs()[0]; run = Run(job.block); run.play(lambda n: None); "
        f"write_result(Path({str(tmp_path / 'other')!r}), contents(job, run.history(), run.settled_at))"
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


def test_no_bit_of_the_description_of_columns_ends_the_process(finished, tmp_path):
    """Some do with pyarrow's own ``column``, of the file's metadata: one in three hundred."""
    original = place(finished, SWEEP.jobs()[0])
    data = original.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    script = (
        "import sys; from pathlib import Path; from rankgym.experiments.run.result_file import Damaged, read_result\n"
        "data, path = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2])\n"
        "for bit in range(int(sys.argv[3]), 8 * len(data), 7):\n"
        "    flipped = bytearray(data)\n"
        "    flipped[bit // 8] ^= 1 << bit % 8\n"
        "    path.write_bytes(flipped)\n"
        "    try: read_result(path, sys.argv[4])\n"
        "    except Damaged: pass\n"
    )
    words = [sys.executable, "-c", script, original, tmp_path / "flipped", str(8 * footer), SWEEP.jobs()[0].key]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(words, env=env).returncode == 0


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
        read_settings(path)


def test_other_files(finished, tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(Damaged, match=r"x\.parquet is not a result file of rankgym"):
        read(tmp_path / "x.parquet")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.parquet")
    path = place(finished, SWEEP.jobs()[0])
    monkeypatch.setattr(result_file, "RESULT_FORMAT", 2)
    with pytest.raises(Damaged, match="has format 1, and this version of rankgym reads 2"):
        read(path)


# -- together ---------------------------------------------------------------------------------------------------------


def test_blocks_of_rows_are_joined(finished):
    """As if they had been played together."""
    found = store.gather(finished, PLAN)
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
        Played(
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
        store.gather(tmp_path, PLAN)
    found = store.gather(tmp_path, PLAN, partial=True)
    assert np.array_equal(found["CM", "toprank"].row, [4, 5])
    state = examine(tmp_path, PLAN)
    assert state.missing == {jobs[0].key}
    assert state.finished == {job.key for job in jobs[1:]}


def test_what_is_damaged(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    first, second, *_ = SWEEP.jobs()
    place(tmp_path, first).write_bytes(b"PAR1")
    shutil.copy(place(finished, first), place(tmp_path, second))
    state = examine(tmp_path, PLAN)
    assert set(state.damaged) == {first.key, second.key}
    assert "is damaged: it is the result of another job" in state.damaged[second.key]


def test_other_results(finished, tmp_path, monkeypatch):
    """Of another sweep, and of another version, which count if they are asked for."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "results" / "damaged.parquet").write_bytes(b"")
    assert others(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs)[:3] == ([], [], [])
    other = Sweep(SWEEP.environments, SWEEP.agents, 40, 2, query=(0, 3, 7), rows_per_job=4)
    found = others(tmp_path, plan_of(other.name, other.jobs()).jobs)
    assert (len(found.same), len(found.foreign), len(found.damaged)) == (0, len(SWEEP.jobs()), 1)
    monkeypatch.setattr("rankgym.experiments.plan.jobs.versions", lambda: {"rankgym": "9.9", "numpy": "9.8"})
    found = others(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs)
    assert len(found.same) == len(SWEEP.jobs())
    (made_by,) = found.made_by
    assert "rankgym 0." in made_by
    assert "code" not in made_by
    with pytest.raises(ValueError, match="has 0 of the sweep's"):
        store.gather(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs)
    for one in store.gather(tmp_path, plan_of(SWEEP.name, SWEEP.jobs()).jobs, any_version=True):
        assert len(one.row) in (1, 2, 6)


def test_a_copy_of_a_result_is_said_to_be_one(finished, tmp_path):
    (tmp_path / "results").mkdir()
    shutil.copy(place(finished, SWEEP.jobs()[0]), tmp_path / "results" / "copy.parquet")
    found = others(tmp_path, PLAN)
    assert ([path.name for path, _ in found.same], found.made_by) == (
        ["copy.parquet"],
        ["the same code, in files of other names"],
    )


def test_one_sweep_at_a_time(tmp_path):
    assert who_runs(tmp_path) == ""
    (tmp_path / "work-1").mkdir()
    (tmp_path / "work-1" / "driver").write_text('{"pid": 77, "host": "here", "since": "noon"}')
    with locked(tmp_path):
        assert who_runs(tmp_path) == "running (process 77 on here, since noon)"
        with (
            pytest.raises(RuntimeError, match=r"another run is using .* \(process 77 on here, since noon\)"),
            locked(tmp_path),
        ):
            pass
    assert who_runs(tmp_path) == ""
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number):
    """The error names the folder and two ways out; newer and older versions of filelock fail in different ways."""
    filelock = require("filelock")

    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", flock)
    message = rf"{tmp_path} is on a file system without locks \({os.strerror(number)}\), .* Allowed: another folder; "
    for acquire in (filelock.FileLock.acquire, _times_out):
        monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
        with pytest.raises(RuntimeError, match=f"{message}or, if no other run .*, RANKGYM_WITHOUT_LOCKS=1"):
            locked(tmp_path).__enter__()
        (tmp_path / "lock").touch()
        assert who_runs(tmp_path) == ""
        with monkeypatch.context() as patch:
            patch.setenv("RANKGYM_WITHOUT_LOCKS", "1")
            with locked(tmp_path):
                pass


def _times_out(lock, **_):
    raise require("filelock").Timeout(lock.lock_file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("other", path)])
def test_what_is_not_a_lock_is_left_alone(tmp_path, make):
    """Some versions of filelock empty the file that a link leads to."""
    (tmp_path / "other").write_text("not the sweep's")
    make(tmp_path / "lock")
    with pytest.raises(RuntimeError, match=r"lock is not the lock of a sweep, .*; allowed: remove it, or another"):
        locked(tmp_path).__enter__()
    assert who_runs(tmp_path) == ""
    assert (tmp_path / "other").read_text() == "not the sweep's"


def test_a_library_that_is_not_there():
    with pytest.raises(RuntimeError, match=r'needs nothing_such, .* pip install "rankgym\[experiments\]"'):
        require("nothing_such.at_all")


def test_a_result_belongs_to_the_job_whose_key_it_carries(finished, tmp_path):
    """Another job's file in the same place, or under that job's name elsewhere, is refused by everything that reads."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    first, second, *_ = PLAN
    path = tmp_path / "results" / second.file
    shutil.copy(tmp_path / "results" / first.file, path)
    for attempt in (
        lambda: store.gather(tmp_path, PLAN),
        lambda: store.gather(tmp_path, PLAN, partial=True, any_version=True),
        lambda: read(path),
        lambda: read_settings(path),
    ):
        with pytest.raises(Damaged, match="it is the result of another job"):
            attempt()
    assert others(tmp_path, [PLAN[0]]).damaged == [path]
    path.rename(tmp_path / "renamed.parquet")
    assert np.array_equal(read(tmp_path / "renamed.parquet").row, np.arange(first.start, first.stop))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
def test_what_is_not_a_file_is_damaged(tmp_path):
    (tmp_path / "results").mkdir()
    os.mkfifo(tmp_path / "results" / PLAN[0].file)
    (tmp_path / "results" / PLAN[1].file).mkdir()
    (tmp_path / "results" / PLAN[2].file).symlink_to(PLAN[2].file)
    assert set(examine(tmp_path, PLAN).damaged) == {job.key for job in PLAN[:3]}
    assert len(others(tmp_path, []).damaged) == 3


def test_a_plan_from_files_is_the_sweep_s_but_for_labels(finished):
    for job in PLAN:
        found = from_settings(read_settings(finished / "results" / job.file))
        assert (
            found._replace(environment=job.environment, rows=job.rows) == job
        )  # a file does not say how many rows there are


@pytest.mark.parametrize("seed", [2**62, 2**63 - 3, 2**200])
def test_seeds_of_any_size(tmp_path, seed):
    """Beyond 63 bits the column is text."""
    (job,) = Sweep(SWEEP.environments[:1], ("static",), 5, 1, query=(0, 3, 7)).jobs()
    large = job._replace(block=job.block._replace(seed=seed))
    found = result_file.read_result(written(tmp_path, large)).columns["seed"]
    assert [int(value) for value in found] == [seed, seed + 1, seed + 2]
    assert found.dtype.kind == ("i" if seed + 2 < 2**63 else "U")
    assert read(place(tmp_path, large)).row.tolist() == [0, 1, 2]
