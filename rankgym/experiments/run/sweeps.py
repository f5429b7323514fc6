"""``run_sweep``: play a sweep's jobs with the engine; and the sweep that a folder was made for."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankgym.arguments import plain_number, whole_number
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.jobs import Job, decisive
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run import store
from rankgym.experiments.run.driver import Driver
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.plan_file import PLAN, made_by, plan_of, write_plan
from rankgym.experiments.run.result_file import Contents
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.rows import Run, contents
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable, remove

SWEEP = "sweep.json"
SAMPLE_ROWS = 64  # rows of a job that is tried


class SweepJob(Job):
    """A sweep's job as the engine plays it."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return f"{self.kind} rows {self.block.start}-{self.block.stop - 1}"

    @property
    def kind(self) -> str:
        return f"{self.environment} {self.block.agent.label}"

    @property
    def size(self) -> int:
        return self.sessions

    @property
    def log(self) -> Mapping[str, Any]:
        block = self.block
        return {"environment": self.environment, "agent": block.agent.label, "rows": [block.start, block.stop]}

    def start(self) -> Run:
        return Run(self.block, retire=self.retire)

    def result(self, playing: Run) -> Contents:
        return contents(self, playing.history(), playing.settled_at)

    def sample(self) -> "SweepJob":
        block = self.block
        stop = min(block.stop, block.start + SAMPLE_ROWS)
        return self._replace(block=block._replace(stop=stop, queries=block.queries[: stop - block.start]))

    def mismatch(self) -> str:
        mine = decisive(self.block, self.retire, self.queries)
        if mine == self.decides:
            return ""
        return store.difference(made_by(mine), made_by(self.decides)) or "other settings of the job"


def run_sweep(
    sweep: Sweep,
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    backend: str | None = None,
    address: str | None = None,
    progress: bool = True,
    checkpoint_every: float = 120.0,
    resume: str | None = None,
) -> Results:
    """Play the jobs of a sweep that have no result in ``folder`` yet, and return all results.

    The same call resumes after an interruption, a crash or a kill, and the result files are the same to the byte. Each
    agent is tried in each environment for a moment before the first job begins.

    Args:
        sweep: what to play.
        folder: of the results; made if it does not exist. Results of other sweeps in it are kept, and used where the
            job is the same.
        jobs: processes; 1: this one. Default: all processors. A Dask cluster plays with all of its workers.
        backend: of joblib. Default: processes of this machine. ``"dask"``: an existing Dask cluster; ``"ray"``: a
            Ray cluster. The workers must share the folder.
        address: of the scheduler, ``"tcp://host:8786"``, with ``"dask"``. Default: the current client's.
        progress: show how far the jobs are, and after the first minute how long it will take.
        checkpoint_every: seconds between checkpoints of a running job: a kill loses at most this much work.
        resume: what messages advise after an interruption or a failure; "" if the folder is temporary. Default:
            ``rankgym sweep resume FOLDER`` if the folder has a ``sweep.json``, else the same call.

    Raises:
        ValueError: something does not fit, or the folder cannot be written to; nothing was played then.
        RuntimeError: another run is using the folder; a library is missing; workers die again and again. Or
            (``AgentFailed``) an agent failed: all other jobs are finished then.
        OSError: the disk is full, or the like; results and checkpoints stay.
    """
    root, executor = Path(folder), executor_of(jobs, backend, address, checkpoint_every)
    sweep.check()
    planned = store.planned_jobs(sweep, root)
    plan = plan_of(sweep, planned)
    with executor:
        examined = store.examine(root, plan.jobs)
        if not (examined.missing or examined.damaged or any(root.glob("work-*"))):
            if os.access(root, os.W_OK):
                write_plan(root, plan)
            return store.gather(root, plan.jobs)
        check_writable(folder, root)
        if resume is None:
            resume = f"`rankgym sweep resume {root}`, or the same call" if (root / SWEEP).exists() else "the same call"
        with locked(root):
            for path in root.glob(f".{SWEEP}.*"):
                remove(path)  # of a process that was killed while it wrote
            write_plan(root, plan)
            playable = [SweepJob(*job) for job in planned]
            driver = Driver(playable, root, executor, resume, float(checkpoint_every), progress, AgentFailed)
            same, made_by_others, *_ = store.others(root, plan.jobs)
            note = (
                f"{len(same)} results of these jobs were made by {' and by '.join(sorted(made_by_others))}; they are "
                "left as they are, and the jobs are played again with what is installed now"
            )
            driver.play([note] if same else [])
        return store.gather(root, plan.jobs)


def executor_of(jobs: int | None, backend: str | None, address: str | None, checkpoint_every: float) -> Executor:
    """Return the executor that these arguments of ``run_sweep`` choose. Errors are those of ``run_sweep``."""
    for name in ("joblib", "pyarrow", "filelock"):
        require(name)
    wanted = None if jobs is None else whole_number("jobs", jobs, 1)
    every = plain_number(checkpoint_every)
    if every is None or not 0 < every < math.inf:
        raise ValueError(f"checkpoint_every = {checkpoint_every!r} is out of range; allowed: seconds, more than 0")
    return Executor(backend, address, wanted)


def keep_sweep(sweep: Sweep, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Check a sweep and write it into its folder, from where ``kept_sweep`` reads it.

    Raises:
        ValueError: the sweep does not fit, the folder cannot be written to, or it has results of another sweep and
            ``replace`` is False.
        RuntimeError: another run is using the folder.
    """
    sweep.check()
    root, text = Path(folder), sweep.to_json()
    check_writable(folder, root)
    with locked(root):
        path = root / SWEEP
        before = path.read_text(encoding="utf-8") if path.exists() else None
        if before == text:
            return
        if before is not None and not replace and any((root / store.RESULTS).glob("*.parquet")):
            try:
                old, new = json.loads(before), json.loads(text)
                difference = ", ".join(key for key in {**old, **new} if old.get(key) != new.get(key))
            except (ValueError, TypeError, AttributeError):
                difference = f"its {SWEEP}, which is damaged"
            raise ValueError(
                f"{root} has the results of another sweep, which differs in {difference}; allowed: another folder "
                "(--out), or --replace, which leaves its results there and uses those that both have"
            )
        remove(root / PLAN)  # it is the other sweep's
        with atomic_path(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def kept_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Read the sweep that a folder was made for. Raises ValueError if the folder has none, or a damaged one."""
    path = Path(folder) / SWEEP
    try:
        return Sweep.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            f"{os.fspath(folder)} is not the folder of a sweep: it has no {SWEEP}; allowed: what "
            "`rankgym sweep run FILE.toml --out FOLDER` made"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; allowed: `rankgym sweep run FILE.toml` again") from None
