"""Files and folders: atomic writes, reading that cannot hang, removing, and the versions that made the numbers."""

import contextlib
import errno
import functools
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from rankgym.untrusted.files import RefusedFile, read_file
from rankgym.version import __version__

MOST_BYTES = 1 << 30  # of a file of ours


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Context manager for an atomic write: yields a temporary path, renames it to ``path`` on success.

    Raises:
        OSError: there is no such folder, ``path`` is a folder itself, or it cannot be written. The error names
            ``path``, not the temporary file.
    """
    if not path.parent.is_dir():
        missing = errno.ENOTDIR if path.parent.exists() else errno.ENOENT
        raise OSError(missing, f"{os.strerror(missing)}: {path.parent}; allowed: a folder that exists", str(path))
    if path.is_dir() and not path.is_symlink():
        raise OSError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; allowed: a file; move the folder away", str(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(unfinished), unfinished):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def when_interrupted(note: Callable[[], str]) -> Iterator[None]:
    """Context manager: Ctrl-C gets a ``note`` of what is kept and how to go on, unless it already has one."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        if not getattr(interruption, "__notes__", []):
            interruption.add_note(note())
        raise


def check_writable(out: str | os.PathLike[str], folder: Path) -> None:
    """Make ``folder`` and write a probe into it, or raise a ValueError that names ``out`` as the user gave it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        reason = f"{folder} is not a folder" if isinstance(error, FileExistsError) else error.strerror or error
        raise ValueError(f"out = {os.fspath(out)!r} cannot be written: {reason}") from None


def read_regular_file(path: Path) -> bytes | None:
    """Read a file of at most a gigabyte; None for a larger one, a link to itself, a folder, a FIFO, a socket, a device.

    Reading those might never end.

    Raises:
        OSError: the file is missing or cannot be read.
    """
    try:
        return read_file(path, MOST_BYTES)
    except RefusedFile:
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return None


def remove(path: Path) -> None:
    """Remove a file, a folder with all that is in it, or a link; nothing happens if ``path`` does not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def json_text(settings: dict[str, Any]) -> str:
    """Return ``settings`` as indented JSON, with lists of numbers on one line."""
    text = json.dumps(settings, indent=2)
    numbers = re.compile(r"\[\s+([\d,\s]+?)\s+\]")
    return numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that spreadsheets compute


def csv_cell(value: Any) -> Any:
    """Return a cell of a CSV file that no spreadsheet takes for a formula: such a text gets ' in front.

    Names come from files of others, and ``=HYPERLINK(...)`` is one. Numbers stay as they are, negative ones too.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


@functools.cache
def library_version(name: str) -> str:
    """Return the version of an installed library; it is read from a file once per process."""
    return metadata.version(name)


def versions() -> dict[str, str]:
    """The versions of everything that takes part in the numbers."""
    return {
        "rankgym": __version__,
        "python": platform.python_version(),
        **{name: library_version(name) for name in ("numpy", "numba", "gymnasium")},
        "machine": platform.machine(),
    }
