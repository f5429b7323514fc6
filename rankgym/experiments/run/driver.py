"""The engine: play jobs in a folder until all of them are done, whatever dies in between.

A worker may die at any moment, and so may the driver: unfinished jobs resume from their checkpoints, and finished
results stay.
"""

import contextlib
import dataclasses
import datetime
import errno
import json
import math
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.run import own_modules, store, worker
from rankgym.experiments.run.display import JobsDisplay, duration
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.job import Playable
from rankgym.experiments.run.unchanged import DAMAGED, Moves
from rankgym.experiments.run.work_folder import WorkFolder
from rankgym.outputs import read_regular_file, remove, when_interrupted
from rankgym.progress import PATIENCE, working

LOG = "log.jsonl"
LOOK_EVERY = 0.1  # seconds between looks whether the workers have returned
BEAT_EVERY = 2.0  # seconds between signs of life
MAX_DEATHS = 5  # of workers in a row, without a result or a checkpoint in between, before the driver gives up
CHECKPOINT_GRACE = 120.0  # seconds that interrupted workers have for their checkpoints
TRIAL_SECONDS = 0.05  # of a trial, which tells slow jobs from fast ones
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)  # the user has to make room, or mend
LONG = 60.0  # seconds of a job without checkpoints that are worth a warning


@dataclasses.dataclass
class Driver:
    """Plays jobs in the folder ``root``, whose lock the caller holds."""

    given: Sequence[Playable]
    root: Path
    executor: Executor
    resume: str  # what the user can do to go on after an interruption or a failure; "": nothing
    shown: bool = True  # progress and notes
    failure: type[Exception] = RuntimeError  # raised if jobs fail, once all others are finished
    moves: Moves | None = None  # how files are moved away; None: for good
    fresh: bool = False  # play all jobs again, even those that have results
    again: str = ""  # what the user can do if nothing was played; "": ``resume``

    def __post_init__(self) -> None:
        self.jobs = {job.key: job for job in self.given}
        self.away = self.moves or Moves(self.root)
        self.results = self.root / RESULTS
        self.failed: dict[str, worker.Outcome] = {}
        self.unsaved: set[str] = set()  # kinds of jobs that have no snapshot, and so no checkpoints
        self.logged: set[str] = set()
        self.noted: set[str] = set()  # jobs whose worker's note was shown
        self.beaten, self.beats, self.since = -math.inf, 0, _now()
        self.waited_for = ""
        self.folder: WorkFolder
        self.display: JobsDisplay

    def play(self, notes: Sequence[str] = (), announce: str = "") -> None:
        """Play the jobs that have no sound result yet.

        Args:
            notes: to show first.
            announce: what is played, in words, shown with its expected time if that is more than two seconds.

        Raises:
            RuntimeError: workers die again and again.
            OSError: the disk is full, or the like; results and checkpoints stay.
        """
        with when_interrupted(self.kept):
            try:
                self.play_rest(notes, announce)
            except OSError as error:
                if error.errno not in UNWRITABLE:
                    raise
                place = error.filename or self.root
                raise OSError(f"{place}: {error.strerror}; make room, or mend what is broken; {self.kept()}") from error

    def play_rest(self, notes: Sequence[str], announce: str) -> None:
        """Play the jobs that have no sound result yet; see ``play``."""
        examined = store.examine(self.root, self.given)
        finished = set() if self.fresh else examined.finished
        todo = [job for job in self.jobs.values() if job.key not in finished]
        costs = self.rehearse(todo)  # nothing is changed before
        said = [self.put_aside(job, examined.damaged[job.key]) for job in todo if job.key in examined.damaged]
        for job in todo:
            self.away.discard(self.results / job.file)
        self.take_over({job.key for job in todo})
        if todo:
            self.results.mkdir(exist_ok=True)
            expected = sum(costs.values()) / self.executor.processes(len(todo))
            with JobsDisplay(list(self.jobs.values()), finished, shown=self.shown) as self.display:
                for note in said:
                    self.display.say(note, "yellow")
                for note in notes:
                    self.display.say(note)
                if announce and expected >= PATIENCE:
                    self.display.say(f"{announce}: about {duration(expected)}")
                for agent, seconds in self.longest_unsaved(costs).items():
                    self.display.say(
                        f"{agent} has no snapshot, and so no checkpoints: if it is stopped, its unfinished jobs (each "
                        f"about {duration(seconds)}) start again from the first round",
                        "yellow",
                    )
                # those that take long first, so that all workers end at about the same time
                self.play_all(sorted(todo, key=lambda job: -costs[job.key]))
        remove(self.folder.path)
        if self.moves is None:
            self.away.forget()

    def kept(self) -> str:
        """Say what an interruption leaves, and how to go on."""
        if not self.resume:
            return "nothing is kept, as no folder was given: with out=FOLDER, the same call resumes"
        lost = self.lost()
        if (hasattr(self, "folder") and self.marks()) or any(self.results.glob("*.parquet")):
            done = sum((self.results / job.file).exists() for job in self.jobs.values())
            kept = f"finished jobs ({done:,} of {len(self.jobs):,}) and checkpoints are kept in {self.root}"
            return "; ".join([kept, *lost, f"to resume: {self.resume}"])
        return "; ".join([*(lost or ["nothing was played yet"]), f"to start again: {self.again or self.resume}"])

    def lost(self) -> list[str]:
        """Say how much of what was played has no checkpoint because its agent has no snapshot, for each agent."""
        played: dict[tuple[str, str], int] = {}
        for job in self.jobs.values() if hasattr(self, "folder") else ():
            if job.kind in self.unsaved and not (self.results / job.file).exists():
                number = int(self.folder.read_progress(job.key).get("played", 0))
                played[_who(job), job.unit] = played.get((_who(job), job.unit), 0) + number
        return [
            f"{agent} has no snapshot: its {number:,} {unit} will be played again"
            for (agent, unit), number in played.items()
            if number
        ]

    def longest_unsaved(self, costs: dict[str, float]) -> dict[str, float]:
        """Return the seconds of the longest job of each agent without snapshots, if they are many."""
        found: dict[str, float] = {}
        for key, seconds in costs.items():
            if self.jobs[key].kind in self.unsaved and seconds >= LONG:
                found[_who(self.jobs[key])] = max(seconds, found.get(_who(self.jobs[key]), 0.0))
        return found

    def put_aside(self, job: Playable, wrong: str) -> str:
        """Move a damaged result away, and return the note on it."""
        place = self.root / DAMAGED / job.file
        while os.path.lexists(place):  # an earlier one, which may be a folder
            place = place.with_name(f"{place.name}.again")
        self.away.move(self.results / job.file, place)
        return f"{wrong}; it was moved to {place.parent}, and its job is played again"

    def rehearse(self, todo: Sequence[Playable]) -> dict[str, float]:
        """Try a job of each kind: compiles, and finds what fails. Returns the seconds that each job will take."""
        paces: dict[str, float] = {}
        trying = "compiling what is not compiled yet, and trying every kind of job"
        with working(trying, shown=self.shown and bool(todo)):
            for job in todo:
                if job.kind not in paces:
                    paces[job.kind], saved = _pace(job.sample())
                    if not saved:
                        self.unsaved.add(job.kind)
        return {job.key: paces[job.kind] * job.size for job in todo}

    def take_over(self, keys: set[str]) -> None:
        """Make a new work folder, with the checkpoints of ``keys`` that earlier drivers have left."""
        self.folder = WorkFolder.take_over(self.root)
        self.logged = {key for key in read_log(self.root) if key not in keys}
        for key in self.folder.keys_with_progress():
            if key not in keys:
                self.log(key)  # finished, but its driver died before it wrote the log
        for path in self.folder.path.iterdir():
            if path.suffix != ".npz" or path.stem not in keys or self.fresh:
                self.away.discard(path)
        self.beat(first=True)

    def beat(self, *, first: bool = False) -> bool:
        """Write who the driver is, and that it lives; return False if that was done just now."""
        now = time.monotonic()
        if now - self.beaten < BEAT_EVERY and not first:
            return False
        self.beaten, self.beats = now, self.beats + 1
        driver = {"pid": os.getpid(), "host": socket.gethostname(), "since": self.since, "beat": self.beats}
        with contextlib.nullcontext() if first else contextlib.suppress(OSError):  # else the workers report it
            self.folder.write_heartbeat(driver)
        return True

    # -- playing ------------------------------------------------------------------------------------------------------

    def play_all(self, todo: list[Playable]) -> None:
        """Play until no job is left, whichever workers die."""
        deaths = 0
        while todo:
            before = self.marks()
            outcomes, death = self.play_once(todo)
            self.collect(todo)
            for outcome in outcomes:
                self.take(outcome)
            todo = [job for job in todo if job.key not in self.failed and not (self.results / job.file).exists()]
            deaths = 0 if self.marks() != before else deaths + 1
            if todo and deaths >= MAX_DEATHS:
                why = f": {type(death).__name__}: {death}" if death is not None else ""
                raise RuntimeError(
                    f"workers died, or returned, {MAX_DEATHS} times in a row without any progress{why}. Killed because "
                    "memory ran out? Fewer jobs at once need less. (A script needs `if __name__ == '__main__':` around "
                    f"its work.) What is finished is kept in {self.root}"
                ) from death
            if death is not None and todo:
                self.display.say(f"a worker died; {len(todo)} jobs resume from their checkpoints", "yellow")
        if self.failed:
            first, *rest = self.failed.values()
            more = f"; {len(rest)} more jobs failed" if rest else ""
            kept = f"; all other jobs are finished and kept in {self.root}; to try again what failed: {self.resume}"
            error = self.failure(f"{first.text}{more}{kept if self.resume else ''}")
            error.add_note(first.trace)
            raise error

    def take(self, outcome: worker.Outcome) -> None:
        """Note a failed job; stop if the machine, or the worker's place, does not allow to go on."""
        if outcome.state == "failed":
            self.failed[outcome.key] = outcome
        if outcome.state == "broken":
            raise OSError(
                f"{outcome.text}; finished jobs and checkpoints are kept in {self.root}: make room, or mend what is "
                f"broken; to resume: {self.resume}"
            )
        if outcome.state == "elsewhere":
            raise RuntimeError(
                f"a worker on {outcome.text}; allowed: workers that share the results' folder with the driver, under "
                "the same path, and have the same packages, modules and data (were they changed just now? then resume: "
                f"{self.resume})"
            )

    def marks(self) -> set[tuple[str, int]]:
        """Names and times of results and checkpoints: they change where there is progress."""
        found = set()
        for path in [*self.results.glob("*.parquet"), *self.folder.checkpoints()]:
            with contextlib.suppress(OSError):
                found.add((path.name, path.stat().st_mtime_ns))
        return found

    def play_once(self, todo: Sequence[Playable]) -> tuple[list[worker.Outcome], Exception | None]:
        """Give all jobs to the executor, once; returns their outcomes, and what the executor died of."""
        work, results = str(self.folder.path.absolute()), self.results.absolute()
        every = self.executor.checkpoint_every
        search = None if self.executor.in_this_process(len(todo)) else own_modules.search_path()
        assignments = [
            worker.Assignment(job, work, str(results / job.file), every, job.modules, search) for job in todo
        ]
        outcomes: list[worker.Outcome] = []
        deaths: list[Exception] = []
        over = threading.Event()  # instead of join(), which an interruption leaves as if the thread had ended

        def play() -> None:
            try:
                outcomes.extend(self.executor.play(assignments))
            except Exception as error:  # workers return what goes wrong: the executor itself is broken
                deaths.append(error)
            finally:
                over.set()

        thread = threading.Thread(target=play, daemon=True)
        try:
            thread.start()
            self.wait(over, todo, math.inf)
        except KeyboardInterrupt:
            self.folder.order_stop()
            self.display.say("interrupted; writing checkpoints (Ctrl-C again: without)", "yellow")
            try:
                self.wait(over, todo, CHECKPOINT_GRACE if thread.ident is not None else 0.0)
            except KeyboardInterrupt:
                self.folder.order_stop(at_once=True)
            raise
        return outcomes, deaths[0] if deaths else None

    def wait(self, over: threading.Event, todo: Sequence[Playable], most: float) -> None:
        """Show the progress until it is ``over``, or for ``most`` seconds."""
        begin = time.monotonic()
        while not over.wait(LOOK_EVERY) and time.monotonic() < begin + most:
            if self.beat():
                self.say_what_is_waited_for(time.monotonic() - begin)
            self.collect(todo)

    def say_what_is_waited_for(self, seconds: float) -> None:
        """Say it, once, if a cluster has no worker left, or if none has begun a job since ``seconds``."""
        begun = bool(self.folder.keys_with_progress())
        said = self.executor.waits_for(begun=begun, seconds=seconds)
        if said and not self.waited_for:
            self.display.say(f"waiting: {said}", "yellow")
        self.waited_for = said
        self.display.waiting = bool(said)

    def collect(self, todo: Sequence[Playable]) -> None:
        """Read the workers' progress, and show it."""
        jobs = {job.key: job for job in todo}
        played, finished = {}, set()
        for key in self.folder.keys_with_progress():
            if key in self.logged or key not in jobs:
                continue
            progress = self.folder.read_progress(key)
            if "note" in progress and key not in self.noted:
                self.noted.add(key)
                self.display.say(f"{jobs[key].label}: {progress['note']}", "yellow")
            if "failed" in progress:
                self.logged.add(key)
                self.display.say(f"{jobs[key].label}: {progress['failed']}", "red")
            elif progress.get("finished"):
                self.log(key)
                finished.add(key)
            elif progress:
                played[key] = int(progress["played"])
            elif key in self.display.running:  # it is being written just now
                played[key] = self.display.running[key]
        self.display.update(played, finished)

    def log(self, key: str) -> None:
        """Add a finished job's line to the log, once."""
        progress, job = self.folder.read_progress(key), self.jobs.get(key)
        if job is None or key in self.logged or not progress.get("finished"):
            return
        self.logged.add(key)
        size = {job.unit if job.unit == "comparisons" else "sessions": job.size}
        line = {"key": key, **job.log, "seconds": progress["seconds"], **size, "played": progress["computed"]}
        if (self.root / LOG).is_symlink():  # perhaps to a file that is not the sweep's
            return
        with contextlib.suppress(OSError), (self.root / LOG).open("a+b") as file:  # history, not a result
            cut = False
            if file.tell():
                file.seek(-1, os.SEEK_END)
                cut = file.read(1) != b"\n"  # a driver was killed in the middle of its line
            file.write(b"\n" * cut + json.dumps({**line, "at": _now()}).encode() + b"\n")


def read_log(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the log of a folder: the last line of each finished job, by its key.

    Damaged lines are left out, and so are all lines of a log that cannot be read: it is history, not a result.
    """
    found: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(OSError):
        for text in (read_regular_file(folder / LOG) or b"").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line = json.loads(text)
                found[str(line["key"])] = line
    return found


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def _who(job: Playable) -> str:
    """Return the name of a job's agent, or the job's kind if it has none."""
    return str(job.log.get("agent", job.kind))


def _pace(sample: Playable) -> tuple[float, bool]:
    """Seconds for one unit of a job, tried for a moment, and whether it can be saved. Raises what the job raises."""
    done: list[int] = []
    with contextlib.ExitStack() as opened:
        playing = opened.enter_context(contextlib.closing(sample.start()))
        begin = time.perf_counter()
        playing.play(lambda number: None, lambda: time.perf_counter() - begin > TRIAL_SECONDS)  # compiles
        saved = playing.snapshot() is not None
        if playing.finished:
            playing = opened.enter_context(contextlib.closing(sample.start()))
        begin = time.perf_counter()
        playing.play(done.append, lambda: time.perf_counter() - begin > TRIAL_SECONDS)
        return (time.perf_counter() - begin) / sum(done) if sum(done) else 0.0, saved
