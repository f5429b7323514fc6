"""Results on disk: one Parquet file a job, whole or not there, checked when it is read.

A folder of results has

    results/<agent>-rows-<first>-<last>-<key>.parquet    one a job; other sweeps' beside them do no harm
    sweep.json                                           the sweep that ``rankgym sweep run`` was given
    log.jsonl                                            a line a finished job: how long it took; history, no result
    lock                                                 held by the process that runs a sweep here
    work-<token>/                                        of that process: checkpoints, news; gone when all is done

A file has one line a row of the batch: ``row``, ``query``, ``run``, ``seed``, ``settled_at`` (rounds played when the
row was retired, -1: it was not), a list column a measure (one entry a record), and ``epoch_regret`` (one entry an
epoch). Everything else is JSON in the schema's metadata, under ``rankgym``. The bytes depend on nothing but the job's
key.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.agents import slug
from rankgym.experiments.plan.jobs import RESULT_FORMAT, Job
from rankgym.experiments.plan.sweep import Sweep, label_of
from rankgym.experiments.run.results import Played, Results
from rankgym.extras import require
from rankgym.play.history import DuelingHistory, History, measures

__all__ = [
    "LOCK",
    "LOG",
    "SWEEP",
    "Damaged",
    "Found",
    "Others",
    "busy",
    "difference",
    "examine",
    "facts",
    "gather",
    "held",
    "join",
    "others",
    "place",
    "read",
    "write",
]

LONGEST = 60  # letters of an agent's label in a file's name
VERSIONS = ("format", "versions", "code", "agent's code", "data")  # of what decides a job: not the user's choice
ROW_COLUMNS = ("row", "query", "run", "seed", "settled_at")
NOTE = (
    "rows with settled_at >= 0 were retired after so many rounds: from there on regret, violations, ndcg and "
    "epoch_regret are exactly what playing gives, and reward goes on with its expectation in each round"
)


class Damaged(ValueError):
    """A result file is not what was written."""


# -- one file ---------------------------------------------------------------------------------------------------------


def place(folder: Path, job: Job) -> Path:
    """Where a job's result is."""
    block = job.block
    name = f"{slug(block.agent.label)[:LONGEST]}-rows-{block.start}-{block.stop - 1}-{job.key}.parquet"
    return folder / "results" / name


def write(path: Path, job: Job, history: History | DuelingHistory, settled_at: NDArray[np.int64]) -> None:
    """Write a job's result to ``path``, and through to the disk."""
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    block = job.block
    rows = np.arange(block.start, block.stop)
    numbers = {
        "row": rows,
        "query": np.array(block.queries if block.choice is not None else np.zeros(len(rows)), np.int64),
        "run": rows // job.queries,
        "seed": block.seed + rows,
        "settled_at": np.asarray(settled_at, np.int64),
    }
    names = measures(history)
    lists = {name: np.ascontiguousarray(getattr(history, name).T, np.float64) for name in names}  # (rows, records)
    epochs = getattr(history, "epoch_regret", np.empty((0, len(rows))))
    lists["epoch_regret"] = np.ascontiguousarray(epochs.T, np.float64)
    settings = {
        **job.decides,
        "key": job.key,
        "measures": list(names),
        "recorded": history.rounds.tolist(),
        **({"note": NOTE} if job.retire else {}),
    }
    text = json.dumps(settings, sort_keys=True).encode()
    columns = {name: pyarrow.array(values) for name, values in numbers.items()}
    for name, values in lists.items():
        offsets = np.arange(len(rows) + 1, dtype=np.int32) * values.shape[1]
        columns[name] = pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), values.ravel())
    table = pyarrow.table(columns).replace_schema_metadata(
        {b"rankgym": text, b"rankgym.sha256": _digest(text, {**numbers, **lists}).encode()}
    )
    with path.open("wb") as file:
        parquet.write_table(
            table,
            file,
            row_group_size=max(1, len(rows)),
            compression="zstd",
            use_dictionary=False,
            write_statistics=False,
            write_page_checksum=True,
        )
        file.flush()
        os.fsync(file.fileno())


def _digest(text: bytes, arrays: dict[str, NDArray[Any]]) -> str:
    """Of all that a file says. Page checksums do not cover what surrounds the pages."""
    digest = hashlib.sha256(text)
    for name, values in arrays.items():
        digest.update(f" {name} {values.dtype.str} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def read(path: str | os.PathLike[str]) -> Played:
    """What one result file has; its environment's label is made of the id and the arguments.

    Raises:
        OSError: it is not there, or cannot be read.
        Damaged: it is not what was written, or nothing that this version reads.
    """
    return _unpacked(Path(path), *_contents(Path(path)))


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A file's settings and columns (rows,) or (rows, n), checked against each other."""
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    data = path.read_bytes()
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data), page_checksum_verification=True)
        text, settings = _settings(file.schema_arrow.metadata)
        table = file.read(use_threads=False)
        arrays = {name: _array(table[name].combine_chunks()) for name in table.column_names}
        wanted = (*ROW_COLUMNS, *settings["measures"], "epoch_regret")
        if tuple(arrays) != wanted:
            raise ValueError(f"its columns are {', '.join(arrays)}")
        if _digest(text, arrays).encode() != file.schema_arrow.metadata[b"rankgym.sha256"]:
            raise ValueError("its digest is another")
    except Damaged as error:
        raise Damaged(f"{path} {error}") from None
    except Exception as error:  # a damaged file may fail in any way
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Damaged(f"{path} is damaged: {said}") from None
    return settings, arrays


def _settings(metadata: dict[bytes, bytes] | None) -> tuple[bytes, dict[str, Any]]:
    text = (metadata or {}).get(b"rankgym")
    if text is None:
        raise Damaged("is no result of a sweep")
    settings = json.loads(text)
    if settings["format"] != RESULT_FORMAT:
        raise Damaged(f"has format {settings['format']}, and this version of rankgym reads {RESULT_FORMAT}")
    return text, settings


def _array(column: Any) -> NDArray[Any]:
    """A column of numbers as (rows,), one of lists, all of one length, as (rows, length)."""
    if column.null_count:
        raise ValueError("it has nulls")
    if not hasattr(column, "offsets"):
        return column.to_numpy()
    lengths = set(np.diff(column.offsets.to_numpy()).tolist())
    if len(lengths) > 1:
        raise ValueError("its lists differ in length")
    return column.flatten().to_numpy().reshape(len(column), *(lengths or {0}))


def _unpacked(path: Path, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Played:
    return Played(
        environment=label_of(settings["environment"], _given(settings)),
        agent=settings["agent"],
        env_id=settings["environment"],
        env_kwargs=settings["arguments"],
        rounds=np.array(settings["recorded"], np.int64),
        row=arrays["row"],
        query=arrays["query"],
        run=arrays["run"],
        measures={name: arrays[name].T for name in settings["measures"]},
        epoch_regret=arrays["epoch_regret"].T,
        settled_at=arrays["settled_at"],
    )


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    """The environment's arguments without the horizon that goes without saying."""
    arguments = dict(settings["arguments"])
    if arguments.get("horizon") == settings["rounds"]:
        del arguments["horizon"]
    return arguments


def facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings of a result file, whose columns are not looked at; raises as ``read`` does."""
    parquet = require("pyarrow.parquet")
    with Path(path).open("rb") as file:
        try:
            return _settings(parquet.read_schema(file).metadata)[1]
        except Damaged as error:
            raise Damaged(f"{os.fspath(path)} {error}") from None
        except Exception as error:  # as above
            raise Damaged(f"{os.fspath(path)} is damaged: {error}") from None


def join(blocks: Iterable[Played]) -> Played:
    """Several blocks of rows of the same agent and environment as one, in the order of their rows."""
    parts = sorted(blocks, key=lambda played: int(played.row[0]))
    first = parts[0]
    epochs = max(len(part.epoch_regret) for part in parts)  # rows may have drawn breakpoints, more or fewer
    padded = [
        np.pad(part.epoch_regret, ((0, epochs - len(part.epoch_regret)), (0, 0)), constant_values=np.nan)
        for part in parts
    ]
    return first._replace(
        row=np.concatenate([part.row for part in parts]),
        query=np.concatenate([part.query for part in parts]),
        run=np.concatenate([part.run for part in parts]),
        settled_at=np.concatenate([part.settled_at for part in parts]),
        measures={name: np.concatenate([part.measures[name] for part in parts], axis=1) for name in first.measures},
        epoch_regret=np.concatenate(padded, axis=1),
    )


# -- a folder ---------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What is there of a sweep's jobs, by their keys."""

    finished: set[str]
    damaged: dict[str, str]  # key -> what is wrong
    missing: set[str]


def examine(folder: Path, jobs: Sequence[Job]) -> Found:
    """Read all results of ``jobs`` that are there.

    Raises:
        OSError: one is there and cannot be read.
    """
    found = Found(set(), {}, set())
    for job in jobs:
        path = place(folder, job)
        if job.key in found.finished or not path.exists():
            found.missing.update({job.key} - found.finished)
            continue
        try:
            settings, _ = _contents(path)
            if settings["key"] != job.key:
                raise Damaged(f"{path} is damaged: it is the result of another job")
            found.finished.add(job.key)
        except Damaged as error:
            found.damaged[job.key] = str(error)
    return found


class Others(NamedTuple):
    """Files among the results that are none of a sweep's."""

    same: list[tuple[Path, dict[str, Any]]]  # the same jobs by other versions, code or data: files and their settings
    made_by: set[str]  # what was otherwise then, in words
    foreign: list[Path]  # of other sweeps
    damaged: list[Path]


def others(folder: Path, jobs: Sequence[Job]) -> Others:
    """What else is there besides the results of ``jobs``."""
    found = Others([], set(), [], [])
    mine = {place(folder, job).name for job in jobs}
    wanted = {_choices(job.decides): job.decides for job in jobs}
    for path in sorted((folder / "results").glob("*.parquet")):
        if path.name in mine:
            continue
        try:
            settings = facts(path)
        except (Damaged, OSError):
            found.damaged.append(path)
            continue
        now = wanted.get(_choices(settings))
        if now is not None:
            found.same.append((path, settings))
            found.made_by.add(difference(settings, now))
        else:
            found.foreign.append(path)
    return found


def difference(settings: dict[str, Any], now: dict[str, Any]) -> str:
    """What made a result otherwise than ``now``, in words, of what the user does not choose; "" if nothing."""
    before, after = settings["versions"], now["versions"]
    words = [f"{name} {before.get(name)}" for name in {**after, **before} if before.get(name) != after.get(name)]
    words += ["another format"] if settings["format"] != now["format"] else []
    words += ["other code of rankgym"] if settings["code"] != now["code"] else []
    words += ["other code of the agent"] if settings["agent's code"] != now["agent's code"] else []
    words += ["other data, or none"] if settings["data"] != now["data"] else []
    return ", ".join(words)


def _choices(settings: dict[str, Any]) -> str:
    """What the user chose of all that decides a job."""
    outside = {*VERSIONS, "key", "measures", "recorded", "note"}
    return json.dumps({name: value for name, value in settings.items() if name not in outside}, sort_keys=True)


def gather(
    sweep: Sweep, folder: str | os.PathLike[str], *, partial: bool = False, any_version: bool = False
) -> Results:
    """A sweep's results, by the labels of its environments and agents.

    Args:
        sweep: what was played.
        folder: where the results are; other sweeps' there do no harm.
        partial: take what there is, such as while the sweep is running: rows, agents and environments may be missing.
        any_version: where a job has no result of this version of everything, take the newest one of another.

    Raises:
        ValueError: a result is missing (unless ``partial``), or damaged.
        OSError: a result cannot be read.
    """
    root, jobs = Path(folder), sweep.jobs()
    newest: dict[str, Path] = {}
    if any_version:
        same = sorted(others(root, jobs).same, key=lambda one: one[0].stat().st_mtime_ns)
        newest = {_choices(settings): path for path, settings in same}
    there = []
    for job in jobs:
        path = place(root, job)
        path = path if path.exists() else newest.get(_choices(job.decides), path)
        if path.exists():
            there.append((job, path))
    if len(there) < len(jobs) and not partial:
        raise ValueError(
            f"{os.fspath(folder)} has {len(there)} of the sweep's {len(jobs)} results; allowed: a sweep that is "
            "finished, or partial=True"
        )
    blocks: dict[tuple[str, str], list[Played]] = {}
    for job, path in there:
        blocks.setdefault((job.environment, job.block.agent.label), []).append(read(path))
    return Results(join(parts)._replace(environment=environment) for (environment, _), parts in blocks.items())


SWEEP, LOCK, LOG = "sweep.json", "lock", "log.jsonl"
PATIENCE = 1.0  # seconds that a lock is waited for: whoever asks how a sweep stands holds it for a moment


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """A context in which no other process runs a sweep in ``folder``. The lock goes when the process does.

    Raises:
        RuntimeError: another one does, or the file system knows no locks.
    """
    filelock = require("filelock")
    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=PATIENCE)
    except filelock.Timeout:
        raise RuntimeError(
            f"another sweep is running in {folder}{_whose(folder)}; nothing was changed. Allowed: wait until it is "
            "done, or another folder"
        ) from None
    except NotImplementedError:
        raise RuntimeError(f"{folder} is on a file system without locks; allowed: another folder") from None
    try:
        yield
    finally:
        lock.release()


def busy(folder: Path) -> str:
    """Who runs a sweep in ``folder`` now, in words; "" if nobody does, or nobody can tell."""
    if not (folder / LOCK).exists() or not os.access(folder / LOCK, os.W_OK):
        return ""
    filelock = require("filelock")
    try:
        with filelock.FileLock(folder / LOCK).acquire(timeout=0):
            return ""
    except filelock.Timeout:
        return f"running{_whose(folder)}"
    except (OSError, NotImplementedError):
        return ""


def _whose(folder: Path) -> str:
    for path in folder.glob("work-*/driver"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            driver = json.loads(path.read_text(encoding="utf-8"))
            return f" (process {driver['pid']} on {driver['host']}, since {driver['since']})"
    return ""
