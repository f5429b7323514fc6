"""The command line in processes of its own, forked from this one, which ``warm_up`` has made ready.

So a command takes a tenth of a second: everything is imported, compiled code loaded, code digested.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
from pathlib import Path

WORKER = "loky.backend.popen_loky_posix"  # in the command line of a worker


class Hang(AssertionError):
    """A command did not end in time."""


def warm_up(*commands):
    """Run commands in this process; their threads have ended when they have."""
    from rankgym.cli import app

    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        for words in commands:
            app([*map(str, words)], standalone_mode=False)


class Command:
    """``rankgym WORDS`` in a forked process; ``prepare`` is called in it first."""

    def __init__(self, words, log, prepare=None):
        self.words, self.log, self.code = [*map(str, words)], log, None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(self.words, log, prepare)

    def poll(self):
        """The exit code, or minus the number of the signal that ended it; None while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self, seconds):
        """Wait until it ends, or for so many seconds; returns the code, or None."""
        end = time.monotonic() + seconds
        while self.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        return self.code

    def end(self, patience):
        """Wait for the end and return the code; if it does not come, kill the process and raise Hang.

        ``patience`` is in seconds of a machine with a free processor; where others compute, it is longer.
        """
        if self.wait(patience * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))) is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGKILL)
            self.wait(5.0)
            raise Hang(f"`rankgym {' '.join(self.words)}` did not end within {patience} s: {self.said()}")
        return self.code

    def send(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def said(self):
        """All output so far, without ends of lines."""
        return " ".join(self.log.read_text(errors="replace").split())

    def workers(self):
        """Process ids of the workers that it has started."""
        return [pid for pid, line in children(self.pid) if WORKER in line]


def _run(words, log, prepare):
    """The forked process, which never returns."""
    code = 1
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, of in ((0, nothing), (1, file), (2, file)):
            os.dup2(of, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
        sys.modules["__main__"] = types.ModuleType("__main__")  # workers import it
        sys.argv = ["rankgym", *words]
        from rankgym.cli import main

        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
        if prepare is not None:
            prepare()
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = 130  # before the command line listens
    except BaseException:
        traceback.print_exc()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it would raise here, and this copy would go on as its parent
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def children(pid):
    """Process ids and command lines of the children of ``pid``."""
    text = subprocess.run(["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = (line.split(None, 2) for line in text.splitlines())
    return [(int(line[0]), line[2]) for line in lines if len(line) == 3 and int(line[1]) == pid]


def gone(pid, patience=20.0):
    """Whether a process ends, or has ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        time.sleep(0.05)
    return False


def left_behind(drivers):
    """What joblib has left in the places for what is temporary: its names have the driver's process id."""
    places = [place for place in (Path(tempfile.gettempdir()), Path("/dev/shm")) if place.is_dir()]
    found = [path for place in places for pattern in ("*loky-*", "joblib_*") for path in place.glob(pattern)]
    return sorted({str(path) for path in found if any(re.search(rf"[-_]{pid}[-_]", path.name) for pid in drivers)})
