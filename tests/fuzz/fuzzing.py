"""Doors: the places where rankgym reads what somebody else wrote, with what makes inputs for them.

A file ``tests/fuzz/doors_<room>.py`` has a table ``DOORS = {name: Door(make_input, use, documented)}``. ``fuzz.py``
runs the tables of all such files for many inputs, and ``test_doors.py`` for a few. An input is wrong if it

* raises something else than the ``documented`` errors, or
* runs code: it imports a module that an input names (``TRAP``), runs code that names it, starts a program, connects
  to a network, or writes outside the folder of the run, or
* takes longer than ``MOST_SECONDS``, or ``MOST_CPU_SECONDS`` of a processor.
"""

import contextlib
import importlib.util
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.kernels.compiling import cache_folder

HERE = Path(__file__).parent
TRAP = "rankgym_trap"  # what is named like this must never be imported, compiled or run; inputs may name it
MOST_SECONDS, MOST_CPU_SECONDS = 20.0, 5.0  # others may need the processors, too
STARTS = ("subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "pty.", "socket.connect")


class Door(NamedTuple):
    """One place that reads what somebody else wrote."""

    make_input: Callable[[random.Random], Any]  # from this generator alone: the same number gives the same input
    use: Callable[[Any], Any]
    documented: tuple[type[BaseException], ...] = (ValueError,)


class Outcome(NamedTuple):
    """What came of one input."""

    kind: str  # "accepted", the name of a documented error, "UNDOCUMENTED ...", "RAN ..." or "SLOW"
    seconds: float
    text: str = ""  # of the error

    @property
    def wrong(self) -> bool:
        return self.kind.isupper() or self.kind.startswith(("UNDOCUMENTED", "RAN"))


class Watch:
    """Notes what code that is watched starts, imports and writes: an audit hook, which cannot be removed again.

    It is added when there is something to watch for the first time: it slows everything down.
    """

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        self.thread = 0
        self.folders: tuple[str, ...] = ()
        self.hears = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.seen is None or threading.get_ident() != self.thread:
            return
        if event.startswith(STARTS):
            self.seen.append(f"{event} {arguments!r:.200}")
        elif event == "import" and str(arguments[0]).startswith(TRAP):
            self.seen.append(f"import {arguments[0]!r:.200}")
        elif event == "exec":  # not "compile": a header of numpy's is parsed, which runs nothing
            code = arguments[0]
            if TRAP in f"{code.co_names} {code.co_consts} {code.co_filename}":
                self.seen.append(f"exec {code!r:.200}")
        elif event == "open" and isinstance(arguments[0], (str, bytes)):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND):
                path = os.path.abspath(os.fsdecode(arguments[0]))
                if not path.startswith(self.folders) and "__pycache__" not in path:
                    self.seen.append(f"open for writing {path}")

    @contextlib.contextmanager
    def on(self, *folders: Path) -> Iterator[list[str]]:
        """Context manager: watch this thread; writing into ``folders`` is allowed. Yields what was noted."""
        if not self.hears:
            sys.addaudithook(self.hear)
            self.hears = True
        self.seen, self.thread = [], threading.get_ident()
        allowed = (*folders, cache_folder())  # of compiled kernels
        self.folders = (*(os.path.realpath(folder) + os.sep for folder in allowed), "/dev/null")
        try:
            yield self.seen
        finally:
            self.seen = None


WATCH = Watch()


def input_of(door: Door, name: str, seed: int, number: int) -> Any:
    """Make input ``number`` of the door ``name``."""
    return door.make_input(random.Random(f"{seed}/{name}/{number}"))


def try_input(door: Door, given: Any, folder: Path) -> Outcome:
    """Use one input while watching; ``folder`` is the present one, where inputs may be written."""
    error: BaseException | None = None
    with WATCH.on(folder) as seen:
        begin, cpu = time.perf_counter(), time.thread_time()
        try:
            door.use(given)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as raised:
            error = raised
        seconds, cpu = time.perf_counter() - begin, time.thread_time() - cpu
    text = "" if error is None else "".join(traceback.format_exception(error))
    if seen:
        return Outcome(f"RAN {seen[0]}", seconds, text)
    if seconds > MOST_SECONDS or cpu > MOST_CPU_SECONDS:
        return Outcome("SLOW", seconds, text)
    if error is None:
        return Outcome("accepted", seconds)
    if isinstance(error, door.documented):
        return Outcome(type(error).__name__, seconds, text)
    return Outcome(f"UNDOCUMENTED {type(error).__name__}", seconds, text)


def all_doors() -> dict[str, Door]:
    """Return the doors of all files ``doors_*.py`` in this folder."""
    found: dict[str, Door] = {}
    for path in sorted(HERE.glob("doors_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        twice = found.keys() & module.DOORS.keys()
        assert not twice, f"{path.name} has doors of another file: {sorted(twice)}"
        found |= module.DOORS
    return found


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Context manager: a temporary folder that is the present one, and where the data cache is."""
    before, home = Path.cwd(), os.environ.get("RANKGYM_DATA_HOME")
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        os.environ["RANKGYM_DATA_HOME"] = str(Path(name) / "data_home")
        try:
            yield Path(name)
        finally:
            os.chdir(before)
            if home is None:
                del os.environ["RANKGYM_DATA_HOME"]
            else:
                os.environ["RANKGYM_DATA_HOME"] = home


# -- inputs that several doors use ------------------------------------------------------------------------------------


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Return ``data`` with one to four kinds of damage: bits, bytes, ends, parts twice, parts of zeros."""
    given = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(given) + 1)
        kind = rng.randrange(6)
        if kind == 0 and given:
            given[at % len(given)] ^= 1 << rng.randrange(8)
        elif kind == 1 and given:
            given[at % len(given)] = rng.randrange(256)
        elif kind == 2:
            del given[at:]
        elif kind == 3:
            given[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 4:
            given[at:at] = given[at : at + rng.randrange(1, 200)]
        else:
            size = rng.randrange(1, 64)
            given[at : at + size] = bytes(len(given[at : at + size]))
    return bytes(given)


def odd_text(rng: random.Random) -> str:
    """Return a short text of letters that names, knobs, paths and formats use, or of any letters."""
    letters = rng.choice((":=,.[]{}\"' \\/-+0123456789eE", "abc:=_.", "\x00\x1b\n\t\u202e\ud800\U0001f600é"))
    return "".join(rng.choice(letters) for _ in range(rng.choice((0, 1, 3, 8, 30))))


def odd_value(rng: random.Random, depth: int = 3) -> Any:
    """Return a plain JSON value as nobody expects it."""
    choices: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, 10**30, 0.5, -0.0, 1e308]
    choices += [float("inf"), float("nan"), "", "x", TRAP, f"{TRAP}:Agent", odd_text(rng), [], {}]
    if depth and rng.random() < 0.3:
        inside = [odd_value(rng, depth - 1) for _ in range(rng.randrange(4))]
        return inside if rng.random() < 0.5 else {odd_text(rng): one for one in inside}
    return rng.choice(choices)


def spoiled(rng: random.Random, document: Any) -> Any:
    """Return a copy of a JSON document in which one value is an odd one, is missing, or stands under another name."""
    if isinstance(document, dict) and document and rng.random() < 0.9:
        key = rng.choice(list(document))
        chosen = rng.randrange(8)
        if chosen == 0:
            return {name: value for name, value in document.items() if name != key}
        if chosen == 1:
            return {odd_text(rng) if name == key else name: value for name, value in document.items()}
        return {name: spoiled(rng, value) if name == key else value for name, value in document.items()}
    if isinstance(document, list) and document and rng.random() < 0.9:
        place = rng.randrange(len(document))
        return [spoiled(rng, value) if n == place else value for n, value in enumerate(document)]
    return odd_value(rng)
