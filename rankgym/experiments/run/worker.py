"""Playing one job, in whatever process. Worker and driver talk through the work folder alone."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.run import own_modules
from rankgym.experiments.run.job import Playable, Playing
from rankgym.experiments.run.result_file import write_result
from rankgym.experiments.run.work_folder import DriverGone, Orders, WorkFolder
from rankgym.outputs import remove

PROGRESS_EVERY = 0.5  # seconds between reports of progress, and between looks at the driver's orders
DRIVER_SILENCE = 90.0  # seconds without a heartbeat after which the driver is taken for dead
PARENT_EVERY = 0.5  # seconds between looks whether the parent process is alive


class Assignment(NamedTuple):
    """All that a worker needs."""

    job: Playable
    work_folder: str
    result: str  # path of the file to be made
    checkpoint_every: float  # seconds
    modules: tuple[str, ...] = ()  # the user's own, which the job imports
    search: tuple[str, ...] | None = None  # the driver's folders of modules; None: this is the driver's process


class Outcome(NamedTuple):
    """How a job went."""

    key: str
    state: Literal["done", "paused", "failed", "broken", "elsewhere"]
    text: str = ""  # what is wrong: with the job (failed), with the machine (broken), or with the worker (elsewhere)
    trace: str = ""


def work(assignment: Assignment, working_directory: str | None = None) -> Outcome:
    """Play a job: from its checkpoint if there is one, until its result, or until the driver orders to stop.

    ``working_directory`` is the driver's, for names of files; a process that joblib keeps may have an earlier one.
    Nothing is raised: an exception that comes out of a worker means that the worker has died.
    """
    job, folder = assignment.job, WorkFolder(Path(assignment.work_folder))
    try:
        if working_directory is not None:
            os.chdir(working_directory)
        if not folder.path.is_dir():
            return Outcome(job.key, "elsewhere", f"{socket.gethostname()} does not see {folder.path}")
        if assignment.search is not None and (missing := own_modules.prepare(assignment.modules, assignment.search)):
            return Outcome(job.key, "elsewhere", missing)
        mismatch = job.mismatch()
        own_modules.remember(assignment.modules)
        if mismatch:
            return Outcome(job.key, "elsewhere", f"{socket.gethostname()} has {mismatch}, unlike the driver")
        return _Worker(assignment).play()
    except DriverGone:
        return Outcome(job.key, "paused")
    except (OSError, MemoryError) as error:
        if not folder.path.is_dir():
            return Outcome(job.key, "paused")  # the driver has gone
        with contextlib.suppress(OSError):
            folder.order_stop()  # a full disk is full for all
        return Outcome(job.key, "broken", str(error) or "out of memory", traceback.format_exc())
    except Exception as error:
        text = str(error) if isinstance(error, AgentFailed) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):
            folder.write_progress(job.key, {"failed": text})
        return Outcome(job.key, "failed", text, traceback.format_exc())


def begin_process(driver: int, path: tuple[str, ...]) -> None:
    """Prepare a process that the ``driver`` has started: leave Ctrl-C and SIGTERM to the driver, and end with it."""
    sys.path[:] = path  # agents are looked for where the driver finds them
    for number in (signal.SIGINT, signal.SIGTERM):  # whole process groups get them
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_EVERY)
    os._exit(1)


class _Worker:
    """Plays one assignment."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment, self.job = assignment, assignment.job
        self.folder, self.result = WorkFolder(Path(assignment.work_folder)), Path(assignment.result)
        self.played, self.seconds = 0, 0.0  # by earlier workers, too
        self.kept = 0  # of what was played: what the checkpoint has
        self.note = ""  # for the user, with each report of progress
        self.orders, self.beaten = Orders("", False, False), time.monotonic()
        self.looked = self.reported = -np.inf
        self.due = time.monotonic() + assignment.checkpoint_every

    def play(self) -> Outcome:
        self.look()
        if self.result.exists():  # a cluster may give a dead worker's finished job to another worker
            return Outcome(self.job.key, "done")
        if self.orders.stop:
            return Outcome(self.job.key, "paused")
        with contextlib.closing(self.start()) as playing:
            if not playing.finished:
                self.report(playing.computed)
            while not playing.finished:
                before = time.perf_counter()
                playing.play(lambda number: self.tell(playing, number), self.pause)
                self.seconds += time.perf_counter() - before
                if playing.finished:
                    break
                self.save(playing)
                if self.orders.stop:
                    return Outcome(self.job.key, "paused")
                self.due = time.monotonic() + self.assignment.checkpoint_every
            with self.folder.part(self.job.key) as path:
                write_result(path, self.job.result(playing))
                os.replace(path, self.result)
            self.report(playing.computed, finished=True)
            self.folder.checkpoint(self.job.key).unlink(missing_ok=True)
        return Outcome(self.job.key, "done")

    def start(self) -> Playing:
        """Start the job, or resume it from its checkpoint. One that is damaged, or does not fit, is removed."""
        playing, saved = self.job.start(), self.folder.load_checkpoint(self.job.key)
        try:
            if saved is not None:
                played, seconds = int(saved.pop("played")), float(saved.pop("seconds"))
                playing.restore({name.removeprefix("job."): values for name, values in saved.items()})
                self.played, self.seconds, self.kept = played, seconds, played
                return playing
        except Exception:  # in whatever way it is damaged
            playing.close()
            playing = self.job.start()
        path = self.folder.checkpoint(self.job.key)
        if os.path.lexists(path):
            self.note = "its checkpoint is damaged; the job begins anew"
            remove(path)
        return playing

    def save(self, playing: Playing) -> None:
        """Write a checkpoint, if the job can be saved, and how far the job is."""
        snapshot = playing.snapshot()
        if snapshot is not None:
            arrays = {"played": np.array(self.played, np.int64), "seconds": np.array(self.seconds)}
            self.folder.save_checkpoint(self.job.key, arrays | {f"job.{name}": v for name, v in snapshot.items()})
            self.kept = self.played
        self.report(playing.computed)

    def tell(self, playing: Playing, number: int) -> None:
        self.played += number
        if time.monotonic() - self.reported > PROGRESS_EVERY:
            self.report(playing.computed)

    def report(self, computed: int, *, finished: bool = False) -> None:
        """Write how far the job is."""
        self.reported = time.monotonic()
        seconds = round(self.seconds, 6)
        progress: dict[str, Any] = {"played": self.played, "kept": self.kept, "computed": computed, "seconds": seconds}
        progress |= {"note": self.note} if self.note else {}
        self.folder.write_progress(self.job.key, {**progress, "finished": finished})

    def pause(self) -> bool:
        self.look()
        return self.orders.stop or time.monotonic() > self.due

    def look(self) -> None:
        """Read the driver's orders; raises DriverGone if it is dead, or does not wait for this worker."""
        now = time.monotonic()
        if now - self.looked < PROGRESS_EVERY:
            return
        self.looked = now
        orders = self.folder.orders()
        if orders.heartbeat != self.orders.heartbeat:
            self.beaten = now
        self.orders = orders
        if orders.at_once or now - self.beaten > DRIVER_SILENCE:
            raise DriverGone
