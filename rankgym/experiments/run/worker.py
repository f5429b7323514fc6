"""Playing one job of a sweep, in whatever process: what a worker and its driver tell each other goes through a folder.

That is the driver's own folder ``work-<token>``, which both of them see. Nothing else is shared, so that it does not
matter where a worker is, nor who starts it. The folder has

    driver          who the driver is, and a number that goes up while it lives
    stop            once it is there: write checkpoints and come back; if it says "now": just come back
    <key>.news      how far a job is
    <key>.npz       its checkpoint
    <key>.*.part    what a worker is writing; it is renamed when it is whole

A worker makes no folder and writes nowhere else (a result is renamed out of here). When a driver dies, the next one
renames the folder; a worker that is still there finds no folder and ends, and cannot have spoilt anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
import traceback
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.jobs import Job, decisive
from rankgym.experiments.run import store
from rankgym.experiments.run.rows import Run

__all__ = ["Gone", "Outcome", "Ticket", "begin", "checkpoint", "heard", "work"]

NEWS = 0.5  # seconds between news
SILENCE = 90.0  # seconds after which a driver that says nothing is dead
WATCH = 0.5  # seconds between looks whether the parent process is alive


class Ticket(NamedTuple):
    """All that a worker needs."""

    job: Job
    desk: str  # the driver's own folder
    result: str  # path of the file to be made
    checkpoint_every: float  # seconds


class Outcome(NamedTuple):
    """How it went."""

    key: str
    state: Literal["done", "paused", "failed", "broken", "elsewhere"]
    text: str = ""  # what is wrong: with the job, with the machine, or with where the worker is
    trace: str = ""


class Gone(Exception):
    """There is no driver any more, or it does not want to hear of this."""


class Stop(NamedTuple):
    """What the driver wants."""

    soon: bool
    now: bool


def work(ticket: Ticket) -> Outcome:
    """Play a job: from its checkpoint on if there is one, to its result, or to the driver's wish to stop.

    Nothing is raised: what comes out of a worker as an exception is its death.
    """
    key = ticket.job.key
    try:
        if not Path(ticket.desk).is_dir():
            return Outcome(key, "elsewhere", f"{socket.gethostname()} does not see {ticket.desk}")
        mine = decisive(ticket.job.block, ticket.job.retire, ticket.job.queries)
        if mine != ticket.job.decides:
            what = store.difference(mine, ticket.job.decides) or "another idea of the job"
            return Outcome(key, "elsewhere", f"{socket.gethostname()} has {what}, unlike the driver")
        return _Player(ticket).play()
    except Gone:
        return Outcome(key, "paused")
    except AgentFailed as error:
        return _told(ticket, Outcome(key, "failed", str(error), traceback.format_exc()))
    except (OSError, MemoryError) as error:
        if not Path(ticket.desk).is_dir():
            return Outcome(key, "paused")  # the driver has gone
        with contextlib.suppress(OSError):
            (Path(ticket.desk) / "stop").touch()  # a full disk is full for all
        return Outcome(key, "broken", str(error) or "out of memory", traceback.format_exc())
    except Exception as error:
        return _told(ticket, Outcome(key, "failed", f"{type(error).__name__}: {error}", traceback.format_exc()))


def _told(ticket: Ticket, outcome: Outcome) -> Outcome:
    with contextlib.suppress(OSError):
        text = json.dumps({"failed": outcome.text})
        (Path(ticket.desk) / f"{ticket.job.key}.news").write_text(text, encoding="utf-8")
    return outcome


# -- a process of the driver's own ------------------------------------------------------------------------------------


def begin(driver: int) -> None:
    """Before anything else in a process that the driver started: leave Ctrl-C and SIGTERM to it, and end with it."""
    for number in (signal.SIGINT, signal.SIGTERM):  # whole process groups get them
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(driver,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


# -- playing ----------------------------------------------------------------------------------------------------------


class _Player:
    """One job of a ticket."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket, self.job = ticket, ticket.job
        self.desk, self.result = Path(ticket.desk), Path(ticket.result)
        self.sessions, self.seconds = 0, 0.0  # by earlier workers, too
        self.beat, self.heard = "", time.monotonic()
        self.looked = self.written = -np.inf
        self.due = time.monotonic() + ticket.checkpoint_every
        self.stop = Stop(False, False)

    def play(self) -> Outcome:
        self.look()
        if self.result.exists():  # a cluster may give a dead worker's job to another one when it was just done
            return Outcome(self.job.key, "done")
        if self.stop.soon:
            return Outcome(self.job.key, "paused")
        with contextlib.closing(self.begun()) as run:
            if not run.finished:
                self.news(run.stepped)
            while not run.finished:
                before = time.perf_counter()
                run.play(lambda sessions: self.tell(run, sessions), self.pause)
                self.seconds += time.perf_counter() - before
                if run.finished:
                    break
                self.keep(run)
                if self.stop.soon:
                    return Outcome(self.job.key, "paused")
                self.due = time.monotonic() + self.ticket.checkpoint_every
            with self.part() as path:
                store.write(path, self.job, run.history(), run.settled_at)
                os.replace(path, self.result)
            self.news(run.stepped, finished=True)
            checkpoint(self.desk, self.job.key).unlink(missing_ok=True)
        return Outcome(self.job.key, "done")

    def begun(self) -> Run:
        """The run, as the checkpoint has it if there is one."""
        run = Run(self.job.block, retire=self.job.retire)
        kept = self.kept()
        if kept is None:
            return run
        try:
            run.restore({name.removeprefix("run."): kept[name] for name in kept if name.startswith("run.")})
        except (ValueError, KeyError, TypeError, AgentFailed):  # not what was written: from the start
            run.close()
            return Run(self.job.block, retire=self.job.retire)
        self.sessions, self.seconds = int(kept["sessions"]), float(kept["seconds"])
        return run

    def kept(self) -> Mapping[str, NDArray[Any]] | None:
        try:
            with checkpoint(self.desk, self.job.key).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                found = {name: file[name] for name in file.files}
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error):
            return None
        return found if {"sessions", "seconds"} <= set(found) else None

    def keep(self, run: Run) -> None:
        """Write a checkpoint, where the agent can be written down."""
        snapshot = run.snapshot()
        if snapshot is None:
            return
        with self.part() as path:
            with path.open("wb") as file:
                mine = {"sessions": np.array(self.sessions, np.int64), "seconds": np.array(self.seconds)}
                np.savez(file, **mine, **{f"run.{name}": values for name, values in snapshot.items()})  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, checkpoint(self.desk, self.job.key))

    @contextlib.contextmanager
    def part(self) -> Iterator[Path]:
        """A name of this worker's own to write to; what is not renamed is removed."""
        path = self.desk / f"{self.job.key}.{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}.part"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    # -- what is said and heard ---------------------------------------------------------------------------------------

    def tell(self, run: Run, sessions: int) -> None:
        self.sessions += sessions
        if time.monotonic() - self.written > NEWS:
            self.news(run.stepped)

    def news(self, stepped: int, *, finished: bool = False) -> None:
        self.written = time.monotonic()
        news = {"sessions": self.sessions, "stepped": stepped, "seconds": round(self.seconds, 3), "finished": finished}
        (self.desk / f"{self.job.key}.news").write_text(json.dumps(news), encoding="utf-8")

    def pause(self) -> bool:
        self.look()
        return self.stop.soon or time.monotonic() > self.due

    def look(self) -> None:
        """Hear what the driver wants.

        Raises:
            Gone: it wants nothing any more.
        """
        now = time.monotonic()
        if now - self.looked < NEWS:
            return
        self.looked = now
        try:
            beat = (self.desk / "driver").read_text(encoding="utf-8")
            with contextlib.suppress(FileNotFoundError):
                self.stop = Stop(True, (self.desk / "stop").read_text(encoding="utf-8") == "now")
        except FileNotFoundError:
            raise Gone from None
        if beat != self.beat:
            self.beat, self.heard = beat, now
        if self.stop.now or now - self.heard > SILENCE:
            raise Gone


def checkpoint(desk: Path, key: str) -> Path:
    """Where a job's checkpoint is."""
    return desk / f"{key}.npz"


def heard(path: Path) -> dict[str, Any]:
    """The last news of a job; empty where there are none, or while they are being written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
