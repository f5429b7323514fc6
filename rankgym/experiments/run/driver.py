"""Playing a sweep's jobs, in local processes or on a cluster, until all of them are done.

joblib is the one seam: ``Parallel`` runs ``worker.work`` on every job, by its own processes (loky), by a Dask cluster,
or by any backend that joblib knows. A Ray cluster is one of them: with Ray installed, ``backend="ray"`` registers its
backend (``ray.util.joblib.register_ray``), which starts or finds Ray as ``ray.init`` does. Whatever plays a job must
see the folder of the results under the same path, and have the same versions of everything and the same data.

A worker may die at any moment, and so may the driver: jobs go on from their checkpoints, and what is finished stays.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.arguments import plain_number, whole_number
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.jobs import Job
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run import store, worker
from rankgym.experiments.run.monitor import Monitor
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.rows import Run
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable
from rankgym.progress import working

__all__ = ["Line", "keep_sweep", "kept_sweep", "run_sweep", "standing"]

LOOK = 0.1  # seconds between looks whether the workers have come back
BEAT = 2.0  # seconds between signs of life
DEATHS = 5  # of workers in a row, without a job or a checkpoint between, after which they are given up
GRACE = 120.0  # seconds that interrupted workers have for their checkpoints
CONNECTING = 15.0  # seconds for a cluster's scheduler to answer
TRIAL, TRIAL_ROWS = 0.05, 64  # seconds and rows of a rehearsal, which tells slow jobs from fast ones


def run_sweep(
    sweep: Sweep,
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    backend: str | None = None,
    address: str | None = None,
    progress: bool = True,
    checkpoint_every: float = 120.0,
) -> Results:
    """Play what is not in ``folder`` yet, and put everything together.

    Whatever happens in between, kills included, calling it again goes on from there, and the result files are the same
    to the byte. Everything is tried for a moment before the first job begins.

    Args:
        sweep: what to play.
        folder: of the results; made if it is not there. Other sweeps' results in it are left alone, and used where they
            are the same.
        jobs: processes; 1: this one. Default: all processors. A Dask cluster plays with all of its workers.
        backend: of joblib. Default: processes on this machine. ``"dask"``: an existing cluster of Dask, with whose
            workers the folder must be shared; ``"ray"``: one of Ray.
        address: of the scheduler, ``"tcp://host:8786"``, with ``"dask"``. Default: the current client's.
        progress: show how far jobs are, and from the first minute on how long it will take.
        checkpoint_every: seconds after which a running job is written down. What is lost by a kill is no more.

    Raises:
        ValueError: something does not fit, or the folder cannot be written to; nothing was played then.
        RuntimeError: another sweep is running in the folder; a library is missing; workers die again and again. Or
            (``AgentFailed``) an agent failed: all other jobs are finished then.
        OSError: the disk is full, or the like; what is finished and the checkpoints stay.
    """
    root = Path(folder)
    for name in ("joblib", "pyarrow", "filelock"):
        require(name)
    wanted = None if jobs is None else whole_number("jobs", jobs, 1)
    every = plain_number(checkpoint_every)
    if every is None or not 0 < every < math.inf:
        raise ValueError(f"checkpoint_every = {checkpoint_every!r} is out of range; allowed: seconds, more than 0")
    pool = _Pool(backend, address, wanted)
    sweep.check()
    planned = sweep.jobs()
    with pool:
        if not _to_do(root, planned) and not any(root.glob("work-*")):
            return store.gather(sweep, root)
        check_writable(folder, root)
        with store.held(root):
            _Driver(root, planned, pool, float(every), progress).drive()
        return store.gather(sweep, root)


def keep_sweep(sweep: Sweep, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Write a sweep into its folder, from where ``kept_sweep`` reads it.

    Args:
        sweep: what is to be kept; it is checked first.
        folder: made if it is not there.
        replace: even where it has another sweep, of which there are results.

    Raises:
        ValueError: the sweep does not fit, the folder cannot be written to, or it has another sweep.
        RuntimeError: a sweep is running there.
    """
    sweep.check()
    root, text = Path(folder), sweep.to_json()
    check_writable(folder, root)
    with store.held(root):
        path = root / store.SWEEP
        before = path.read_text(encoding="utf-8") if path.exists() else None
        if before == text:
            return
        if before is not None and not replace and any((root / "results").glob("*.parquet")):
            raise ValueError(
                f"{root} has the results of another sweep, which differs in {_difference(before, text)}; allowed: "
                "another folder (--out), or --replace, which leaves its results there and uses those that both have"
            )
        with atomic_path(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")


def _difference(before: str, after: str) -> str:
    """The keys in which two sweeps differ."""
    try:
        old, new = json.loads(before), json.loads(after)
        return ", ".join(key for key in {**old, **new} if old.get(key) != new.get(key))
    except (ValueError, TypeError, AttributeError):
        return f"that its {store.SWEEP} is damaged"


def kept_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The sweep that a folder was made for.

    Raises:
        ValueError: there is none, or it is damaged.
    """
    path = Path(folder) / store.SWEEP
    try:
        return Sweep.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(
            f"{os.fspath(folder)} is no folder of a sweep: it has no {store.SWEEP}; allowed: what "
            "`rankgym sweep run FILE.toml --out FOLDER` made"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; allowed: `rankgym sweep run FILE.toml` again") from None


class Line(NamedTuple):
    """How far one agent is in one environment: numbers of jobs, and of sessions."""

    environment: str
    agent: str
    jobs: int
    finished: int
    running: int  # somebody plays them now
    begun: int  # nobody does, but there is a checkpoint
    damaged: int  # results that are no more what was written
    played: int
    sessions: int

    @property
    def to_do(self) -> int:
        """Not begun."""
        return self.jobs - self.finished - self.running - self.begun


def standing(sweep: Sweep, folder: str | os.PathLike[str]) -> list[Line]:
    """How far a sweep is, by its environments and agents. Nothing is changed.

    Raises:
        ValueError: the sweep does not fit any more.
        OSError: a result cannot be read.
    """
    root, jobs = Path(folder), sweep.jobs()
    found, runs = store.examine(root, jobs), bool(store.busy(root))
    news = {path.stem: worker.heard(path) for path in root.glob("work-*/*.news")}
    written = {path.stem for path in root.glob("work-*/*.npz")}
    lines: dict[tuple[str, str], Line] = {}
    for job in jobs:
        place = (job.environment, job.block.agent.label)
        line = lines.get(place, Line(*place, *[0] * 7))
        done, begun = job.key in found.finished, job.key in news or job.key in written
        sessions = int(news.get(job.key, {}).get("sessions", 0))
        lines[place] = line._replace(
            jobs=line.jobs + 1,
            finished=line.finished + done,
            running=line.running + (runs and job.key in news and not done),
            begun=line.begun + (begun and not done and not (runs and job.key in news)),
            damaged=line.damaged + (job.key in found.damaged),
            played=line.played + (job.sessions if done else min(sessions, job.sessions)),
            sessions=line.sessions + job.sessions,
        )
    return list(lines.values())


def _to_do(root: Path, jobs: Sequence[Job]) -> list[Job]:
    """Jobs without a sound result, each once."""
    finished = store.examine(root, jobs).finished
    return list({job.key: job for job in jobs if job.key not in finished}.values())


# -- who plays --------------------------------------------------------------------------------------------------------


class _Pool:
    """A context that can play jobs, through joblib."""

    def __init__(self, backend: str | None, address: str | None, jobs: int | None) -> None:
        if backend is not None and not isinstance(backend, str):
            raise ValueError(f"backend = {backend!r} is no name; allowed: {', '.join(map(repr, _known()))}")
        if address is not None and backend != "dask":
            raise ValueError(f"address = {address!r} goes with backend = 'dask', not with {backend!r}")
        if jobs is not None and backend == "dask":
            raise ValueError(
                f"jobs = {jobs} is for processes; allowed with backend = 'dask': None, for all its workers"
            )
        self.backend, self.address, self.jobs = backend or "loky", address, jobs
        self.client: Any = None
        if self.backend == "ray":
            _register_ray()
        if self.backend not in _known():
            raise ValueError(f"backend = {backend!r} is unknown to joblib; allowed: {', '.join(map(repr, _known()))}")

    def __enter__(self) -> _Pool:
        if self.backend == "dask":
            self.client = _client(self.address)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.client is not None and self.address is not None:
            self.client.close()

    def play(self, tickets: Sequence[worker.Ticket]) -> list[worker.Outcome]:
        """Play all of them.

        Raises:
            Exception: a worker died, or the cluster is gone.
        """
        joblib = require("joblib")
        local = self.backend == "loky"
        number = min(len(tickets), self.jobs or joblib.cpu_count()) if local else self.jobs or -1
        options: dict[str, Any] = {}
        if local:
            options = {"inner_max_num_threads": 1, "initializer": worker.begin, "initargs": (os.getpid(),)}
        elif self.client is not None:
            options["client"] = self.client
        with joblib.parallel_config(self.backend, n_jobs=number, max_nbytes=None, **options):
            parallel = joblib.Parallel(batch_size=1, pre_dispatch="all")
            return list(parallel(joblib.delayed(worker.work)(ticket) for ticket in tickets))


def _known() -> list[str]:
    parallel = require("joblib.parallel")
    return sorted({*parallel.BACKENDS, *parallel.EXTERNAL_BACKENDS})


def _client(address: str | None) -> Any:
    distributed = require("distributed", "distributed")
    if address is None:
        try:
            return distributed.get_client()
        except ValueError:
            raise ValueError(
                "backend = 'dask' needs an address; allowed: that of the cluster's scheduler, such as tcp://host:8786, "
                "or a dask.distributed.Client of this process"
            ) from None
    try:
        return distributed.Client(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"address = {address!r} has no Dask scheduler ({type(error).__name__}: {error}); allowed: what "
            "`dask scheduler` shows, such as tcp://host:8786"
        ) from None


def _register_ray() -> None:
    try:
        from ray.util.joblib import register_ray  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        raise ValueError("backend = 'ray' needs Ray, which is not here; pip install ray") from None
    register_ray()


# -- the driver -------------------------------------------------------------------------------------------------------


class _Driver:
    """Plays jobs in a folder whose lock is held."""

    def __init__(self, root: Path, jobs: Sequence[Job], pool: _Pool, every: float, shown: bool) -> None:
        self.root, self.jobs, self.pool, self.every, self.shown = root, list(jobs), pool, every, shown
        self.failed: dict[str, worker.Outcome] = {}
        self.logged: set[str] = set()
        self.beaten, self.beats = -math.inf, 0
        self.since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")

    def drive(self) -> None:
        for path in self.root.glob(f".{store.SWEEP}.*"):
            path.unlink(missing_ok=True)  # somebody was killed just when writing it
        todo = _to_do(self.root, self.jobs)
        notes = self.clear_damaged(todo)
        if not todo:
            self.leave(self.take_over(set()))
            return
        order = self.rehearse(todo)
        desk = self.take_over({job.key for job in todo})
        (self.root / "results").mkdir(exist_ok=True)
        finished = {job.key for job in self.jobs} - {job.key for job in todo}
        with Monitor(self.jobs, finished, shown=self.shown) as monitor:
            for note in [*notes, *self.notes()]:
                monitor.say(note, "yellow")
            try:
                self.play_all(order, desk, monitor)
            except KeyboardInterrupt as interruption:
                interruption.add_note(
                    f"finished jobs and checkpoints are kept in {self.root}; `rankgym sweep resume {self.root}`, or "
                    "the same call, goes on from there"
                )
                raise
        self.leave(desk)

    def clear_damaged(self, todo: Sequence[Job]) -> list[str]:
        """Put damaged results aside, and say so."""
        notes = []
        for key, wrong in store.examine(self.root, todo).damaged.items():
            path = next(store.place(self.root, job) for job in todo if job.key == key)
            place = self.root / "damaged" / path.name
            place.parent.mkdir(exist_ok=True)
            os.replace(path, place)
            notes.append(f"{wrong}; it was moved to {place.parent}, and its job is played again")
        return notes

    def notes(self) -> list[str]:
        """What to say of other files among the results."""
        others = store.others(self.root, self.jobs)
        if not others.same:
            return []
        made_by = " and by ".join(sorted(others.made_by))
        return [
            f"{len(others.same)} results of these jobs were made by {made_by}; they are left as they are, and the jobs "
            "are played again with what is installed now"
        ]

    def rehearse(self, todo: Sequence[Job]) -> list[Job]:
        """Try each agent in each environment for a moment: compiles what is not compiled yet, and finds what fails.

        Returns:
            The jobs, those that will take long first, so that all processes are done at about the same time.
        """
        paces: dict[tuple[str, str], float] = {}
        with working("compiling what is not compiled yet, and trying every agent", shown=self.shown):
            for job in todo:
                place = (job.environment, job.block.agent.label)
                if place not in paces:
                    paces[place] = _pace(job)
        costs = {job.key: paces[job.environment, job.block.agent.label] * job.sessions for job in todo}
        return sorted(todo, key=lambda job: -costs[job.key])

    def take_over(self, keys: set[str]) -> Path:
        """A new folder for this driver, with the checkpoints of ``keys`` that an earlier one has left.

        The old folder is renamed: from that moment on, whoever still works for the old driver finds no folder.
        """
        desk = self.root / f"work-{secrets.token_hex(4)}"
        for old in sorted(self.root.glob("work-*")):
            if not desk.exists():
                os.rename(old, desk)
                continue
            for path in old.glob("*.npz"):
                os.replace(path, desk / path.name)
            shutil.rmtree(old, ignore_errors=True)
        desk.mkdir(exist_ok=True)
        for path in desk.iterdir():
            if path.suffix == ".news" and path.stem not in keys:
                self.log(path)  # finished, but its driver died before it said so
            if path.suffix != ".npz" or path.stem not in keys:
                path.unlink(missing_ok=True)
        self.beat(desk, first=True)
        return desk

    def leave(self, desk: Path) -> None:
        """Remove the driver's folder."""
        shutil.rmtree(desk, ignore_errors=True)

    def beat(self, desk: Path, *, first: bool = False) -> None:
        """Say who this is, and that it lives."""
        now = time.monotonic()
        if now - self.beaten < BEAT and not first:
            return
        self.beaten, self.beats = now, self.beats + 1
        word = {"pid": os.getpid(), "host": socket.gethostname(), "since": self.since, "beat": self.beats}
        with contextlib.nullcontext() if first else contextlib.suppress(OSError):  # else the workers report it
            (desk / "driver").write_text(json.dumps(word), encoding="utf-8")

    # -- playing ------------------------------------------------------------------------------------------------------

    def play_all(self, todo: list[Job], desk: Path, monitor: Monitor) -> None:
        """Play until nothing is to do, whoever dies meanwhile.

        Raises:
            RuntimeError, OSError: as of ``run_sweep``.
        """
        deaths = 0
        while todo:
            before = self.marks(desk)
            outcomes, death = self.round(todo, desk, monitor)
            self.harvest(desk, monitor, todo)
            for outcome in outcomes:
                if outcome.state == "broken":
                    raise OSError(
                        f"{outcome.text}; finished jobs and checkpoints are kept in {self.root}: make room, or "
                        f"whatever it takes, and `rankgym sweep resume {self.root}` goes on from there"
                    )
                if outcome.state == "elsewhere":
                    raise RuntimeError(
                        f"a worker on {outcome.text}; allowed: workers that share the results' folder with the driver, "
                        "under the same path, and have the same packages and data (were they changed just now? then "
                        f"`rankgym sweep resume {self.root}`)"
                    )
                if outcome.state == "failed":
                    self.failed[outcome.key] = outcome
            todo = [job for job in todo if job.key not in self.failed and not store.place(self.root, job).exists()]
            deaths = 0 if self.marks(desk) != before else deaths + 1
            if todo and deaths >= DEATHS:
                why = f": {type(death).__name__}: {death}" if death is not None else ""
                raise RuntimeError(
                    f"workers died, or came back, {DEATHS} times in a row without any progress{why}. Killed for want "
                    f"of memory? Fewer jobs at once need less. What is finished is kept in {self.root}"
                ) from death
            if death is not None and todo:
                monitor.say(f"a worker died; {len(todo)} jobs go on from their checkpoints", "yellow")
        if self.failed:
            self.give_reasons()

    def give_reasons(self) -> None:
        first, *rest = self.failed.values()
        more = f"; {len(rest)} more jobs failed" if rest else ""
        error = AgentFailed(
            f"{first.text}{more}; all other jobs are finished and kept in {self.root}, and `rankgym sweep resume "
            f"{self.root}` tries again what failed"
        )
        error.add_note(first.trace)
        raise error

    def marks(self, desk: Path) -> set[tuple[str, int]]:
        """What there is of results and checkpoints."""
        paths = [*(self.root / "results").glob("*.parquet"), *desk.glob("*.npz")]
        found = set()
        for path in paths:
            with contextlib.suppress(OSError):
                found.add((path.name, path.stat().st_mtime_ns))
        return found

    def round(self, todo: Sequence[Job], desk: Path, monitor: Monitor) -> tuple[list[worker.Outcome], Exception | None]:
        """Give all jobs to the pool, once; what came of them, or of what the pool died."""
        place, made = str(desk.absolute()), [str(store.place(self.root.absolute(), job)) for job in todo]
        tickets = [worker.Ticket(job, place, result, self.every) for job, result in zip(todo, made, strict=True)]
        outcomes: list[worker.Outcome] = []
        death: list[Exception] = []
        over = threading.Event()  # not the thread's end: an interrupted join takes it for ended

        def play() -> None:
            try:
                outcomes.extend(self.pool.play(tickets))
            except Exception as error:  # whatever a worker raises it returns: the pool is broken
                death.append(error)
            finally:
                over.set()

        threading.Thread(target=play, daemon=True).start()
        try:
            self.wait(over, desk, monitor, todo)
        except KeyboardInterrupt:
            (desk / "stop").touch()
            monitor.say("interrupted; writing checkpoints (Ctrl-C again: without)", "yellow")
            try:
                self.wait(over, desk, monitor, todo, GRACE)
            except KeyboardInterrupt:
                (desk / "stop").write_text("now", encoding="utf-8")
            raise
        return outcomes, death[0] if death else None

    def wait(
        self, over: threading.Event, desk: Path, monitor: Monitor, todo: Sequence[Job], most: float = math.inf
    ) -> None:
        """Show the news until it is ``over``, or for so many seconds."""
        end = time.monotonic() + most
        while not over.wait(LOOK) and time.monotonic() < end:
            self.beat(desk)
            self.harvest(desk, monitor, todo)

    def harvest(self, desk: Path, monitor: Monitor, todo: Sequence[Job]) -> None:
        """Take in the news."""
        jobs = {job.key: job for job in todo}
        sessions, finished = {}, set()
        for path in desk.glob("*.news"):
            if path.stem in self.logged or path.stem not in jobs:
                continue
            news = worker.heard(path)
            if "failed" in news:
                self.logged.add(path.stem)
                monitor.say(f"{jobs[path.stem].environment}: {news['failed']}", "red")
            elif news.get("finished"):
                self.log(path)
                finished.add(path.stem)
            elif news:
                sessions[path.stem] = int(news["sessions"])
            elif path.stem in monitor.running:  # they are being written just now
                sessions[path.stem] = monitor.running[path.stem]
        monitor.update(sessions, finished)

    def log(self, path: Path) -> None:
        """Add a finished job's line to the log, once."""
        news, key = worker.heard(path), path.stem
        if key in self.logged or not news.get("finished"):
            return
        self.logged.add(key)
        job = next((job for job in self.jobs if job.key == key), None)
        if job is None:
            return
        line = {
            "key": key,
            "environment": job.environment,
            "agent": job.block.agent.label,
            "rows": [job.block.start, job.block.stop],
            "seconds": news["seconds"],
            "sessions": job.sessions,
            "played": news["stepped"],
            "at": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        }
        with contextlib.suppress(OSError), (self.root / store.LOG).open("a+b") as file:  # history, no result
            if file.tell():
                file.seek(-1, os.SEEK_END)
                text = b"" if file.read(1) == b"\n" else b"\n"  # a driver was killed in the middle of its line
            else:
                text = b""
            file.write(text + json.dumps(line).encode() + b"\n")


def _pace(job: Job) -> float:
    """Seconds a session, tried for a moment.

    Raises:
        ValueError, AgentFailed: the agent cannot play.
    """
    stop = min(job.block.stop, job.block.start + TRIAL_ROWS)
    block = job.block._replace(stop=stop, queries=job.block.queries[: stop - job.block.start])
    with contextlib.closing(Run(block, retire=job.retire)) as run:
        run.play(lambda sessions: None, lambda: True)  # compiles
        run.snapshot()
        told: list[int] = []
        begin = time.perf_counter()
        run.play(told.append, lambda: time.perf_counter() - begin > TRIAL)
        return (time.perf_counter() - begin) / sum(told) if sum(told) else 0.0
