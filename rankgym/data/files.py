"""Read and write files: bytes of limited size, text that may be gzipped, and ``.npz`` archives without pickles."""

import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.outputs import atomic_path
from rankgym.untrusted import RefusedFile, read_arrays

NPZ = b"PK\x03\x04"  # the first bytes of an .npz file


def read_bytes(path: Path | str, most: int, purpose: str) -> bytes:
    """Read a file of at most ``most`` bytes; ``purpose`` says in the error what the limit belongs to."""
    path = Path(path)
    size = path.stat().st_size
    if size > most:
        raise DataError(f"{path} has {size} bytes; allowed: at most {most} for {purpose}")
    return path.read_bytes()


def beginning(path: Path | str, most: int = 65_536) -> bytes:
    """The first bytes of a file."""
    with Path(path).open("rb") as file:
        return file.read(most)


DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)  # what a damaged gzip file raises while it is read


def unpacked(file: Any) -> Any:
    """Return a stream of an open binary file, unpacked if it is a gzip file, which its first bytes tell."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file


def damage(error: Exception) -> str:
    """Say what is wrong with the gzip file whose reading raised ``error``, one of ``DAMAGE``."""
    what = "is truncated" if isinstance(error, EOFError) else f"is damaged ({error})"
    return f"the gzip file {what}; nothing of it was kept"


def read_npz(data: bytes, most: int) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file's bytes, which may unpack to at most ``most`` bytes; a DataError if damaged."""
    try:
        return read_arrays(data, most)
    except RefusedFile as error:
        raise DataError(f"the .npz file cannot be read: {error}") from None


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Path:
    """Write an ``.npz`` file atomically, with its folder; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return path
