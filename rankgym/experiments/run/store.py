"""The results of a sweep on disk: what a result file holds, which jobs are finished, all results of a folder together.

A folder of results has

    results/<agent>-rows-<first>-<last>-<key>.parquet    one a job; other sweeps' files beside them do no harm
    plan.json                                            the jobs of the sweep that was played here last, as plain data
    sweep.json                                           the sweep that ``rankgym sweep run`` was given
    log.jsonl                                            a line a finished job: how long it took; history, not a result
    lock                                                 held by the process that runs a sweep here
    work-<token>/                                        of that process: checkpoints and progress; removed at the end

A file has one line a row of the batch: ``row``, ``query``, ``run``, ``seed`` (text if a seed exceeds 63 bits),
``settled_at`` (rounds played when the row was retired, -1: played to the end), a list column a measure (one entry a
record), and ``epoch_regret`` (one entry an epoch). The settings are all that decides the job.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.experiments.plan.jobs import RESULTS, Job
from rankgym.experiments.run.origin import Present, differences
from rankgym.experiments.run.plan_file import PlannedJob, choices, label_in, made_by
from rankgym.experiments.run.result_file import Damaged, read_result, read_settings
from rankgym.experiments.run.results import Played, Results, join


def place(folder: Path, job: Job) -> Path:
    """The path of a job's result file."""
    return folder / RESULTS / job.file


def read(path: str | os.PathLike[str]) -> Played:
    """Read one result file of a sweep. The environment's label is built from its id and arguments.

    Raises OSError if the file cannot be read, and Damaged if it is not the result of the job that its name says.
    """
    settings, columns = read_result(Path(path))
    try:
        if [*columns] != ["row", "query", "run", "seed", "settled_at", *settings["measures"], "epoch_regret"]:
            raise ValueError(f"its columns are {', '.join(columns)}")
        return Played(
            environment=label_in(settings),
            agent=settings["agent"],
            env_id=settings["environment"],
            env_kwargs=settings["arguments"],
            rounds=np.array(settings["recorded"], np.int64),
            row=columns["row"],
            query=columns["query"],
            run=columns["run"],
            measures={name: columns[name].T for name in settings["measures"]},
            epoch_regret=columns["epoch_regret"].T,
            settled_at=columns["settled_at"],
            data=settings["data"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{os.fspath(path)} is not the result of a sweep's job: {error}") from None


class Examined(NamedTuple):
    """Which of the jobs have results, by their keys."""

    finished: set[str]
    damaged: dict[str, str]  # key -> what is wrong
    missing: set[str]


def examine(folder: Path, jobs: Iterable[Any]) -> Examined:
    """Read all results of ``jobs``, which have a ``key`` and a ``file``, in the folder."""
    found = Examined(set(), {}, set())
    for key, file in {job.key: job.file for job in jobs}.items():
        try:
            read_result(folder / RESULTS / file, key)
            found.finished.add(key)
        except (FileNotFoundError, NotADirectoryError):
            found.missing.add(key)
        except Damaged as error:
            found.damaged[key] = str(error)
    return found


class Others(NamedTuple):
    """Result files in a folder that are not of a sweep's jobs."""

    same: list[tuple[Path, str]]  # the same jobs by other versions, code or data: files and the digest of the choices
    made_by: list[str]  # what was different then, in words, each once
    foreign: list[Path]  # of other sweeps
    damaged: list[Path]

    @property
    def older(self) -> str:
        """A clause on the results of the same jobs; "" if there are none."""
        number = f"{len(self.same)} older result{'s' * (len(self.same) > 1)} in this folder"
        verb = "were" if len(self.same) > 1 else "was"
        return f"{number} {verb} made by {' or '.join(self.made_by)}" if self.same else ""


def others(folder: Path, jobs: Sequence[PlannedJob]) -> Others:
    """Sort the result files that are not those of ``jobs``."""
    found = Others([], [], [], [])
    mine = {job.file for job in jobs}
    wanted = {job.choices: job for job in jobs}
    for path in sorted(path for path in (folder / RESULTS).glob("*.parquet") if path.name not in mine):
        try:
            settings = read_settings(path)
            chosen, made = choices(settings), made_by(settings)
        except (Damaged, OSError, KeyError):
            found.damaged.append(path)
            continue
        if chosen in wanted:
            found.same.append((path, chosen))
            words = differences(made, wanted[chosen].made_by, wanted[chosen].agent)
            said = words or ["the same code, in files of other names"]
            found.made_by.extend(one for one in said if one not in found.made_by)
        else:
            found.foreign.append(path)
    return found


def gather(
    folder: str | os.PathLike[str], jobs: Sequence[PlannedJob], *, partial: bool = False, any_version: bool = False
) -> Results:
    """The results of a sweep's jobs, by the labels of their environments and agents.

    Args:
        partial: leave out what is missing, as while the sweep is running: rows, agents or environments.
        any_version: take results of any versions, code and data: of those that a job has, the one nearest to what
            is here now, of equal ones the job's own, else the newest.

    Raises:
        ValueError: a result is missing (unless ``partial``), damaged, or the result of another job.
    """
    return join_files(files_of(folder, jobs, partial=partial, any_version=any_version))


def files_of(
    folder: str | os.PathLike[str], jobs: Sequence[PlannedJob], *, partial: bool = False, any_version: bool = False
) -> list[tuple[PlannedJob, Path]]:
    """The result files of a sweep's jobs, which are not read. Arguments and errors are those of ``gather``."""
    root = Path(folder)
    same: dict[str, list[Path]] = {}  # newest first
    if any_version:
        for path, chosen in sorted(others(root, jobs).same, key=lambda one: -one[0].stat().st_mtime_ns):
            same.setdefault(chosen, []).append(path)
    present = Present() if same else None
    there: list[tuple[PlannedJob, Path]] = []
    for job in jobs:
        own = root / RESULTS / job.file
        paths = [*([own] if own.exists() else []), *same.get(job.choices, [])]
        if paths:
            there.append((job, min(paths, key=present.distance) if present else paths[0]))
    if len(there) < len(jobs) and not partial:
        raise ValueError(
            f"{os.fspath(folder)} has {len(there)} of the sweep's {len(jobs)} results; allowed: a sweep that is "
            "finished, or partial=True"
        )
    return there


def join_files(files: Iterable[tuple[PlannedJob, Path]]) -> Results:
    """Read result files, and join those of the same environment and agent. Raises Damaged."""
    blocks: dict[tuple[str, str, int], list[Played]] = {}
    for job, path in files:
        blocks.setdefault((job.environment, job.agent, job.rows), []).append(read(path))
    return Results(join(parts, rows)._replace(environment=label) for (label, _, rows), parts in blocks.items())
