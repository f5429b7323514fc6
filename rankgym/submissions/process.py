"""The asking side: start a submission's process, ask it, and end it, whatever the submission does.

The process gets the text of one Python file and calls; it never sees the file's folder, the true click model or the
checks. What it prints is read and cut, what it asks of the keyboard is refused, and a call that takes too long ends it.
"""

import contextlib
import importlib.util
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.extras import require
from rankgym.submissions import isolation

SCRIPT = Path(__file__).with_name("answering.py")
PASSED_ON = (
    *("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV"),
    "NUMBA_DISABLE_JIT",
)
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LONGEST_ANSWER = 16 << 20  # bytes
DEEPEST_ANSWER = 50  # lists within lists
LARGEST_NUMBER = 10**300  # of whole numbers: a float can hold it
LONGEST_MESSAGE = 2_000  # characters
SHOWN_OUTPUT = 4_000  # characters of what a submission prints that are kept
WATCH_EVERY = 0.1  # seconds
STARTING = 30.0  # seconds: of Python itself
DIGITS = bytes.maketrans(b"\0\1", b"01")


class Limits(NamedTuple):
    """What a submission may use.

    Examples:
        >>> from rankgym.submissions import DEFAULT_LIMITS, Submission
        >>> student = Submission("answer = 42", limits=DEFAULT_LIMITS._replace(call_seconds=1.0))
        >>> student.limits.call_seconds
        1.0
    """

    seconds: float = 120.0  # in all, from its first start
    call_seconds: float = 10.0  # for one call
    memory_gb: float = 2.0  # of all its processes
    processes: int = 64


DEFAULT_LIMITS = Limits()


class Handle(NamedTuple):
    """An object in the submission's process.

    ``Submission.make`` returns one; ``Submission.method`` takes it.
    """

    start: int  # which process: objects end with it
    number: int


class NoAnswer(Exception):
    """A call had no answer.

    ``kind`` is "raised" (by the submission), "missing" (there is no such function), "unfinished" (it raised
    NotImplementedError), "time", "memory", "ended" (the process did), or "answer" (it is not plain data).
    ``line`` and ``code`` are those of the submission's line that raised, and ``error`` is the exception's class.
    ``choices`` are an agent's in the whole rounds before.

    Examples:
        >>> from rankgym.submissions import NoAnswer, Submission
        >>> with Submission("third = lambda x: x[2]") as student:
        ...     try:
        ...         student.call("third", [1, 2])
        ...     except NoAnswer as error:
        ...         error.kind, error.error, error.line
        ('raised', 'IndexError', 1)
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        error: str = "",
        line: int | None = None,
        code: str = "",
        choices: Sequence[Any] = (),
    ) -> None:
        super().__init__(message)
        self.kind, self.error, self.line, self.code, self.choices = kind, error, line, code, list(choices)


class Submission:
    """One submitted file and its process, which starts at the first call, and again after it has ended.

    Args:
        source: the file's text.
        name: the file's name, for messages.
        refused: packages that it may not import.
        limits: see ``Limits``.
        hidden: folders that the process must not see, where the system allows to hide them; those of refused packages
            are added.
        batches: whether ``make`` turns classes that serve one user at a time into batch agents (``rankgym.per_row``).

    Raises:
        NoAnswer: by calls, as long as the file cannot be loaded, or a limit is exceeded.

    Examples:
        >>> from rankgym.submissions import Submission
        >>> with Submission("double = lambda x: 2 * x") as student:
        ...     student.call("double", 21)
        42
    """

    def __init__(
        self,
        source: str,
        name: str = "submission.py",
        *,
        refused: Sequence[str] = (),
        limits: Limits = DEFAULT_LIMITS,
        hidden: Sequence[str | os.PathLike[str]] = (),
        batches: bool = False,
    ) -> None:
        self.source, self.name, self.refused, self.limits = source, name, list(refused), limits
        self.hidden, self.batches = [str(Path(folder).resolve()) for folder in hidden], batches
        self.hidden += [folder for package in refused for folder in _folders(package)]
        self.output, self.output_length = "", 0
        self.isolated = False  # whether the last process had namespaces of its own
        self.names: list[str] = []
        self.starts = 0
        self._began: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._broken: NoAnswer | None = None  # why the file cannot be loaded

    def __enter__(self) -> "Submission":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the submission, which must not change its arguments.

        Returns its answer, arrays as lists. Raises ``NoAnswer``.
        """
        return self._ask_loaded({"do": "call", "name": function, "args": args, "kwargs": kwargs})

    def make(self, class_name: str, *args: Any, **kwargs: Any) -> Handle:
        """Make an object of a class of the submission."""
        return self._kept(self._ask_loaded({"do": "make", "name": class_name, "args": args, "kwargs": kwargs}))

    def method(self, handle: Handle, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of an object."""
        return self._ask_about(handle, {"do": "method", "name": name, "args": args, "kwargs": kwargs})

    def play(self, handle: Handle, attracted: Any, examined: Any, *, first_only: bool = False) -> list[Any]:
        """Play an agent for one user at a time, all rounds in one call; return its lists.

        The agent's process is told beforehand what each user would click: nothing that is worth points may rest on
        clicks that the agent cannot know, but on its being the right algorithm.

        Args:
            handle: an agent with ``act()`` and ``update(displayed, clicks)``.
            attracted: (rounds, items) bool: whether the round's user likes the item.
            examined: (rounds, positions) bool: whether the user looks at the position.
            first_only: whether the first click ends a session, as in the cascade model.

        Returns:
            the lists, up to the first that is not ``positions`` different items.
        """
        users = {"attracted": _bits(attracted), "examined": _bits(examined), "first_only": first_only}
        lists = _lists(self._ask_about(handle, {"do": "play", **users}), len(attracted))
        if len(lists) < len(attracted) and _different(lists[-1], len(attracted[0]), len(examined[0])):
            raise NoAnswer("answer", f"{len(lists)} lists came back, not {len(attracted)}")
        return lists

    def play_duels(self, handle: Handle, wins: Any) -> list[Any]:
        """Play an agent for one duel at a time; return its duels, up to the first that is not two arms.

        Args:
            handle: an agent with ``act()`` and ``update(left, right, left_won)``.
            wins: (rounds, arms, arms) bool: whether the first arm would beat the second one.
        """
        arms = len(wins[0])
        outcomes = _bits([[won for row in table for won in row] for table in wins])
        duels = _lists(self._ask_about(handle, {"do": "play_duels", "wins": outcomes, "num_arms": arms}), len(wins))
        if len(duels) < len(wins) and _arms(duels[-1], arms):
            raise NoAnswer("answer", f"{len(duels)} duels came back, not {len(wins)}")
        return duels

    def attribute(self, handle: Handle, name: str) -> Any:
        """Return an object's attribute."""
        return self._ask_about(handle, {"do": "attribute", "name": name})

    def drop(self, handle: Handle) -> None:
        """Forget an object."""
        if self._process is not None and handle.start == self.starts:
            with contextlib.suppress(NoAnswer):
                self._ask_about(handle, {"do": "drop"})

    def dump(self, handle: Handle) -> str:
        """Return an object as text that ``undump`` of this submission, and nobody else, may unpickle."""
        return str(self._ask_about(handle, {"do": "dump"}))

    def undump(self, data: str) -> Handle:
        return self._kept(self._ask_loaded({"do": "undump", "data": data}))

    def signature(self, class_name: str) -> dict[str, Any]:
        """Return {"duels": whether its agents duel, "methods": [...], "parameters": [...]} of a class of agents."""
        answer = self._ask_loaded({"do": "signature", "name": class_name})
        if not isinstance(answer, dict) or answer.keys() != {"duels", "methods", "parameters"}:
            raise NoAnswer("answer", "what came back is not a signature")
        return answer

    def agents(self, ask: str, handle: Handle | None = None, **given: Any) -> Any:
        """Ask a function of ``agents_inside``, about the agent of ``handle`` if there is one."""
        request = {"do": "agents", "ask": ask, **given}
        return self._ask_loaded(request) if handle is None else self._ask_about(handle, request)

    def load(self) -> list[str]:
        """Start the process, if it does not run, and load the file; return the names that it defines."""
        if self._broken is not None:
            raise self._broken
        if self._process is None:
            self._start()
            try:
                load = {"do": "load", "source": self.source, "name": self.name, "refused": self.refused}
                names = self._ask({**load, "batches": self.batches})
                self.names = [str(name) for name in names] if isinstance(names, list) else []
            except NoAnswer as error:
                self.close()
                self._broken = error
                raise
        return self.names

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def seconds_left(self) -> float:
        """Time that is left of ``limits.seconds``."""
        return self.limits.seconds - (0.0 if self._began is None else time.monotonic() - self._began)

    def _kept(self, number: Any) -> Handle:
        if type(number) is not int:
            raise NoAnswer("answer", "what came back is not an object's number")
        return Handle(self.starts, number)

    def _ask_about(self, handle: Handle, request: dict[str, Any]) -> Any:
        if self._process is None or handle.start != self.starts:
            raise NoAnswer("ended", "the object's process has ended")
        return self._ask({**request, "of": handle.number})

    def _ask_loaded(self, request: dict[str, Any]) -> Any:
        self.load()
        return self._ask(request)

    # -- the process --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Start the process, in namespaces of its own if the system allows it. Raises RuntimeError."""
        if self._began is None:
            self._began = time.monotonic()
        how = self._begin(namespaces=True)
        if how == isolation.REFUSED:
            self.close()
            how = self._begin(namespaces=False)
        if self._inner == 0:
            self.close()
            folder = how.removeprefix(isolation.SHUT).strip()
            raise RuntimeError(
                f"root's submissions run as another user, who may not enter {folder}, where Python is installed; "
                "install Python and rankgym elsewhere, or do not work as root"
            )
        self.isolated = how == isolation.NAMESPACES
        if not self.isolated:
            isolation.protect_asker()
        self._watcher = threading.Thread(target=self._watch, args=(self._inner, self._watched), daemon=True)
        self._watcher.start()

    def _begin(self, namespaces: bool) -> str:
        """Start the process; return how it started. ``_inner`` is the number of the process that runs the file."""
        self._folder = tempfile.TemporaryDirectory(prefix="submission-", ignore_cleanup_errors=True)
        os.chmod(self._folder.name, 0o777)  # it may run as another user
        request, self._requests = os.pipe()
        self._answers, answer = os.pipe()
        limits = {
            "memory": int(self.limits.memory_gb * (1 << 30)),
            "seconds": int(self.limits.seconds) + 5,
            "processes": self.limits.processes,
            "hidden": self.hidden,
            "namespaces": namespaces,
        }
        command = [sys.executable, "-P", str(SCRIPT), str(request), str(answer), json.dumps(limits)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(request, answer),
                cwd=self._folder.name,
                env=_environment(self._folder.name),
                start_new_session=True,
            )
        finally:
            os.close(request)
            os.close(answer)
        self.starts += 1
        self._unread, self._dead_of, self._inner = b"", "", 0
        self._reader = threading.Thread(target=self._drain, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._watched = threading.Event()
        try:
            number, _, how = self._line(STARTING).decode().partition(" ")
        except (TimeoutError, EOFError):
            self.close()
            raise RuntimeError(f"{self.name}: its process did not start: {self.output[-300:]}") from None
        self._inner = int(number)
        return how

    def _drain(self, pipe: Any) -> None:
        """Read all that the submission prints; keep the beginning."""
        with pipe:
            for part in iter(lambda: pipe.read1(1 << 16), b""):
                self.output_length += len(part)
                if len(self.output) < SHOWN_OUTPUT:
                    self.output = (self.output + part.decode("utf-8", "replace"))[:SHOWN_OUTPUT]

    def _watch(self, inner: int, ended: threading.Event) -> None:
        """End a submission whose processes together use more than its memory."""
        psutil = require("psutil", "teaching")
        most = self.limits.memory_gb * (1 << 30)
        while not ended.wait(WATCH_EVERY):
            try:
                first = psutil.Process(inner)
                family = [first, *first.children(recursive=True)]
            except psutil.Error:
                return
            used = 0
            for one in family:
                with contextlib.suppress(psutil.Error):
                    used += one.memory_info().rss
            if used > most:
                self._dead_of = "memory"
                if process := self._process:
                    self._kill_all(process)
                return

    def _ask(self, request: dict[str, Any]) -> Any:
        """Send a request; return the value of the answer, or raise ``NoAnswer``."""
        seconds = min(self.limits.call_seconds, self.seconds_left)
        try:
            if seconds <= 0:
                raise TimeoutError
            self._send(json.dumps(request, default=_plain).encode() + b"\n", seconds)
            answer = _sane(json.loads(self._line(seconds)))
            if not isinstance(answer, dict) or not (answer.keys() == {"value"} or isinstance(answer["error"], dict)):
                raise ValueError
        except TimeoutError:
            self.close()
            if self.seconds_left <= 0:
                raise NoAnswer("time", f"all {self.limits.seconds:g} s of this file are used up") from None
            raise NoAnswer("time", f"no answer within {seconds:.3g} s: an endless loop, or too slow") from None
        except (EOFError, OSError):
            raise self._end() from None
        except (ValueError, KeyError, RecursionError) as error:
            self.close()
            raise NoAnswer(
                "answer", str(error) if type(error) is OddAnswer else "what came back is not an answer"
            ) from None
        if "value" in answer:
            return answer["value"]
        raise _raised(answer["error"])

    def _send(self, data: bytes, seconds: float) -> None:
        """Write a request; a submission that reads nothing must not hold the asker."""
        end = time.monotonic() + seconds
        os.set_blocking(self._requests, False)
        while data:
            _, ready, _ = select.select([], [self._requests], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            data = data[os.write(self._requests, data) :]

    def _line(self, seconds: float) -> bytes:
        """Read one line of answers. Raises EOFError or TimeoutError."""
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], max(end - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise EOFError
            self._unread += part
            if len(self._unread) > LONGEST_ANSWER:
                raise ValueError
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _end(self) -> NoAnswer:
        """Close a process that has ended by itself, and say why it did."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code, dead_of = self._process.returncode, self._dead_of
        self.close()
        if dead_of == "memory":
            return NoAnswer("memory", f"it used more than {self.limits.memory_gb:g} GB of memory")
        return NoAnswer("ended", f"it ended its process (exit code {code})")

    def close(self) -> None:
        """End the process with all that it has started. It starts anew at the next call."""
        process, self._process = self._process, None
        if process is None:
            return
        self._watched.set()
        self._kill_all(process)
        process.wait()
        os.close(self._requests)
        os.close(self._answers)
        self._reader.join(1.0)
        self._folder.cleanup()

    def _kill_all(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the process, its session, and its descendants, until none is left."""
        psutil = require("psutil", "teaching")
        for _ in range(100):
            family: list[Any] = []
            with contextlib.suppress(psutil.Error):
                family = psutil.Process(process.pid).children(recursive=True)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGSTOP if family else signal.SIGKILL)
            for one in family:
                with contextlib.suppress(psutil.Error):
                    one.kill()
            if not any(map(_lives, family)):
                break
        for number in {self._inner, process.pid} - {0}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)


class OddAnswer(ValueError):
    """An answer that the asking side had better not compute with."""


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of a submission whose own folder is ``folder``."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= dict.fromkeys(ONE_THREAD, "1")
    environment |= {"HOME": folder, "TMPDIR": folder, "MPLBACKEND": "agg"}
    environment |= {"NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}  # no other folder can be written to
    return environment | {"RANKGYM_ASKED_BY": str(os.getpid()), "PYTHONIOENCODING": "utf-8:replace"}


def _folders(package: str) -> list[str]:
    """Return the folders of an installed package."""
    found = importlib.util.find_spec(package)
    return [str(Path(folder).resolve()) for folder in found.submodule_search_locations or ()] if found else []


def _lives(process: Any) -> bool:
    """Whether a process is not a zombie, which nobody can kill."""
    psutil = require("psutil", "teaching")
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _sane(value: Any, depth: int = 0) -> Any:
    """Return an answer's value, with half characters replaced.

    Raises:
        OddAnswer: lists are nested too deeply, or a whole number is too large.
    """
    if isinstance(value, dict | list):
        if depth > DEEPEST_ANSWER:
            raise OddAnswer(f"returned lists that are nested more than {DEEPEST_ANSWER} deep")
        if isinstance(value, list):
            return [_sane(one, depth + 1) for one in value]
        return {_sane(name): _sane(one, depth + 1) for name, one in value.items()}
    if type(value) is int and abs(value) > LARGEST_NUMBER:
        raise OddAnswer(f"returned a whole number of more than {round(math.log10(LARGEST_NUMBER))} digits")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _lists(answer: Any, most: int) -> list[Any]:
    """Return the answer to a play, which is at least one list and at most ``most``. Raises ``NoAnswer``."""
    if not isinstance(answer, list) or not all(isinstance(one, list | str) for one in answer):
        raise NoAnswer("answer", "what came back is not the lists of a play")
    if not 0 < len(answer) <= most and most:
        raise NoAnswer("answer", f"{len(answer)} lists came back, not {most}")
    return answer


def _different(ranking: Any, items: int, positions: int) -> bool:
    """Whether ``ranking`` is a list of ``positions`` different items."""
    numbers = isinstance(ranking, list) and all(type(item) is int and 0 <= item < items for item in ranking)
    return numbers and len(ranking) == positions == len(set(ranking))


def _arms(duel: Any, arms: int) -> bool:
    return isinstance(duel, list) and len(duel) == 2 and all(type(arm) is int and 0 <= arm < arms for arm in duel)


def _bits(table: Any) -> list[str]:
    """Return each row of a table of bools as a text of 0 and 1."""
    return [bytes(row).translate(DIGITS).decode() for row in np.asarray(table, bool)]


def _plain(value: Any) -> Any:
    """Return arrays and their numbers as lists and numbers, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _raised(error: dict[str, Any]) -> NoAnswer:
    """Return the exception of the submission as a ``NoAnswer``."""
    name, message = str(error.get("kind", ""))[:100], str(error.get("message", ""))[:LONGEST_MESSAGE]
    line = error.get("line")
    choices = error.get("choices")
    place: Any = {
        "line": line if type(line) is int else None,
        "code": str(error.get("code") or "")[:LONGEST_MESSAGE],
        "choices": [one for one in choices if isinstance(one, list)] if isinstance(choices, list) else [],
    }
    if name == "NotImplementedError":
        return NoAnswer("unfinished", message or "not written yet", error=name, **place)
    if name == "AttributeError" and message.startswith("there is no "):
        return NoAnswer("missing", message, error=name, **place)
    if name == "TypeError" and message.startswith("returned a "):
        return NoAnswer("answer", message, error=name, **place)
    if name == "MemoryError":
        return NoAnswer("memory", "it asked for more memory than it may have", error=name, **place)
    if name == "EOFError" and "reading a line" in message:
        return NoAnswer("raised", "it asked for input (input()); nobody is there to answer", error=name, **place)
    return NoAnswer("raised", f"{name}: {message}" if message else name, error=name, **place)
