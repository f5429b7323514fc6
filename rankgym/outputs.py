"""Writing results: a file that is whole or not there, a folder that can be written to, and what made the numbers."""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from rankgym.version import __version__

__all__ = ["atomic_path", "check_writable", "versions"]


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A name to write to, beside ``path``, that becomes ``path`` once it is written, or is removed."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_writable(out: str | os.PathLike[str], folder: Path) -> None:
    """Make ``folder`` and write a probe into it; ``out`` is what the user called it, or the file to be in it.

    Raises:
        ValueError: it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        reason = f"{folder} is no folder" if isinstance(error, FileExistsError) else error.strerror or error
        raise ValueError(f"out = {os.fspath(out)!r} cannot be written: {reason}") from None


def versions() -> dict[str, str]:
    """Of everything that takes part in the numbers."""
    return {
        "rankgym": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("numpy", "numba", "gymnasium")},
        "machine": platform.machine(),
    }
