"""Read and write files: bytes of limited size, and ``.npz`` archives without pickles."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.data.text_files import check_regular
from rankgym.outputs import atomic_path
from rankgym.untrusted.archives import read_arrays
from rankgym.untrusted.files import RefusedFile

NPZ = b"PK\x03\x04"  # the first bytes of an .npz file


def read_bytes(path: Path | str, most: int, purpose: str) -> bytes:
    """Read a file of at most ``most`` bytes; ``purpose`` says in the error what the limit belongs to."""
    check_regular(path)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise DataError(f"{path} has {size} bytes; allowed: at most {most} for {purpose}")
        data = file.read(most + 1)  # some files of the system have more than they say
    if len(data) > most:
        raise DataError(f"{path} has more than {most} bytes; allowed: at most {most} for {purpose}")
    return data


def beginning(path: Path | str, most: int = 65_536) -> bytes:
    """The first bytes of a regular file."""
    check_regular(path)
    with Path(path).open("rb") as file:
        return file.read(most)


def physical_memory() -> int:
    """Return the bytes of this machine's memory, or a large number where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 1 << 62


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
