"""``run_sweep``: plan a sweep's jobs, play them with the engine, and return their results."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankgym.arguments import named_keywords
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.digests import DIGEST
from rankgym.experiments.plan.jobs import RESULTS, Job, decisive, made_in
from rankgym.experiments.plan.sweep import SWEEP, Sweep
from rankgym.experiments.run import own_modules, store
from rankgym.experiments.run.driver import Driver
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.foreign_files import refuse_foreign_files
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.origin import differences
from rankgym.experiments.run.plan_file import PLAN, made_by, plan_of, write_plan
from rankgym.experiments.run.result_file import Contents
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.rows import Run, contents
from rankgym.experiments.run.unchanged import DISCARDED, unchanged_unless_played
from rankgym.models.named import is_own
from rankgym.outputs import atomic_path, check_writable, read_regular_file, remove

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
    def modules(self) -> tuple[str, ...]:
        model: Any = self.block.env_kwargs.get("model")
        inner = self.block.agent.inner()
        places = [self.block.agent.where, *([inner.where] if inner else []), *([model] if is_own(model) else [])]
        return own_modules.own_modules(places)

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
        words = differences(made_by(mine), made_by(self.decides), self.block.agent.label)
        return ", ".join(words) or "other settings of the job"


@named_keywords
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
        checkpoint_every: seconds between checkpoints of a running job: a kill loses at most this much work, and all of
            the job's if the agent has no ``snapshot``.
        resume: what messages advise after an interruption or a failure; "" if the folder is temporary. Default:
            ``rankgym sweep resume FOLDER`` if the folder has a ``sweep.json``, else the same call.

    Raises:
        ValueError: something does not fit, the folder cannot be written to, or it has files of a sweep's names that no
            sweep wrote; nothing was played then.
        RuntimeError: another run is using the folder; a library is missing; workers die again and again. Or
            (``AgentFailed``) an agent failed: all other jobs are finished then.
        OSError: the disk is full, or the like; results and checkpoints stay.

    Examples:
        >>> import tempfile
        >>> from rankgym.experiments import Environment, Sweep, run_sweep
        >>> place = Environment("PBM", "PBM-Yandex-v0", {"num_positions": 3})
        >>> sweep = Sweep((place,), ("static", "random"), rounds=50, runs=2, query=[0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = run_sweep(sweep, folder, jobs=1, progress=False)
        ...     again = run_sweep(sweep, folder, jobs=1, progress=False)  # has all results, and plays nothing
        >>> results["PBM", "static"].measures["regret"].shape[1], again.environments
        (4, ['PBM'])
    """
    executor = Executor(backend, address, jobs, checkpoint_every)
    refuse_foreign_files(Path(folder), "")
    planned = sweep.jobs(made_in(folder))
    return play_jobs(planned, sweep.name, folder, executor, progress=progress, resume=resume)


def play_jobs(
    jobs: Sequence[Job],
    name: str,
    folder: str | os.PathLike[str],
    executor: Executor,
    *,
    sweep: Sweep | None = None,
    replace: bool = False,
    fresh: bool = False,
    progress: bool = True,
    resume: str | None = None,
) -> Results:
    """Play the jobs of the sweep ``name`` that have no result yet.

    The folder stays as it was if an error or an interruption comes before the first job begins.

    Args:
        sweep, replace: written into the folder first, as by ``keep_sweep``. None: what is there stays.
        fresh: play all jobs again, even those that have results.

    The other arguments and the errors are those of ``run_sweep``.
    """
    root, plan = Path(folder), plan_of(name, jobs)
    executor.shown = progress
    with executor, unchanged_unless_played(root) as moves:
        if sweep is not None:
            keep_sweep(sweep, folder, replace=replace)
        if os.path.lexists(root / RESULTS) and not (root / RESULTS).is_dir():
            raise ValueError(f"{root / RESULTS} is not a folder; allowed: move it away, and all jobs are played again")
        examined = store.examine(root, plan.jobs)
        writable = os.access(root, os.W_OK)
        left = any(root.glob("work-*")) or (writable and any(_left_by_killed_runs(root)))
        if not (fresh or examined.missing or examined.damaged or left):
            if writable:
                write_plan(root, plan)
            return store.gather(root, plan.jobs)
        check_writable(folder, root)
        again = resume or "the same call"
        if resume is None:
            resume = f"`rankgym sweep resume {root}`, or the same call" if (root / SWEEP).exists() else "the same call"
        with locked(root):
            for path in _left_by_killed_runs(root):
                remove(path)
            write_plan(root, plan)
            playable = [SweepJob(*job) for job in jobs]
            driver = Driver(playable, root, executor, resume, progress, AgentFailed, moves, fresh, again)
            older = store.others(root, plan.jobs).older
            driver.play([f"{older}; they are not used"] if older else [])
        return store.gather(root, plan.jobs)


def _left_by_killed_runs(root: Path) -> Iterator[Path]:
    """Yield what runs that were killed have left in their folder besides work folders: unfinished and removed files."""
    for pattern in (f".{SWEEP}.*", f".{PLAN}.*", f"{DISCARDED}*"):
        yield from root.glob(pattern)


def keep_sweep(sweep: Sweep, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Write a sweep, whose jobs are planned already, into its folder, from where ``Sweep.from_folder`` reads it.

    Raises:
        ValueError: the folder cannot be written to; or ``replace`` is False, and it has results of another sweep that
            this one does not continue, or files of a sweep's names that no sweep wrote.
        RuntimeError: another run is using the folder.
    """
    root, text = Path(folder), sweep.to_json()
    if not replace:
        refuse_foreign_files(root, " (--out), or --replace")
    check_writable(folder, root)
    with locked(root):
        path = root / SWEEP
        before = _text(path)
        if before == text:
            return
        if before is not None and not replace and any((root / RESULTS).glob("*.parquet")):
            try:
                replace = sweep.continues(Sweep.from_json(before))
            except ValueError:
                replace = False
        if before is not None and not replace and any((root / RESULTS).glob("*.parquet")):
            try:
                old, new = json.loads(Sweep.from_json(before).to_json()), json.loads(text)
                difference = ", ".join(key for key in {**old, **new} if key != DIGEST and old.get(key) != new.get(key))
            except ValueError:
                difference = f"its {SWEEP}, which is damaged"
            raise ValueError(
                f"{root} has the results of another sweep, which differs in {difference}; allowed: another folder "
                "(--out); a sweep that only adds agents, environments or runs; or --replace, which deletes no result "
                "and uses those that both sweeps have"
            )
        with atomic_path(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
            remove(root / PLAN)  # it is the other sweep's


def _text(path: Path) -> str | None:
    """Return the text of the sweep that is kept; "" for anything else than a text, None if there is nothing."""
    try:
        return (read_regular_file(path) or b"").decode(errors="replace")
    except FileNotFoundError:
        return None
