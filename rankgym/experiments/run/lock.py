"""The lock of a folder: one process at a time plays jobs in it. The lock goes when the process does."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from rankgym.extras import require
from rankgym.outputs import read_regular_file

LOCK = "lock"
LOCK_WAIT = 1.0  # seconds to wait for the lock: `rankgym sweep status` holds it for a moment


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Context manager that holds the lock of ``folder``; RuntimeError if that is not possible now."""
    filelock = require("filelock")
    try:
        lock = filelock.FileLock(folder / LOCK).acquire(timeout=LOCK_WAIT)
    except filelock.Timeout:
        raise RuntimeError(
            f"another run is using {folder}{_owner(folder)}; nothing was changed. Allowed: wait until it is done, or "
            "another folder"
        ) from None
    except NotImplementedError:
        raise RuntimeError(f"{folder} is on a file system without locks; allowed: another folder") from None
    with lock:
        yield


def who_runs(folder: Path) -> str:
    """Say which process plays jobs in ``folder`` now; "" if none does, or if that cannot be seen."""
    if not (folder / LOCK).is_file() or not os.access(folder / LOCK, os.W_OK):
        return ""
    filelock = require("filelock")
    try:
        with filelock.FileLock(folder / LOCK).acquire(timeout=0):
            return ""
    except filelock.Timeout:
        return f"running{_owner(folder)}"
    except (OSError, NotImplementedError):
        return ""


def _owner(folder: Path) -> str:
    for path in folder.glob("work-*/driver"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            driver = json.loads(read_regular_file(path) or b"")
            return f" (process {driver['pid']} on {driver['host']}, since {driver['since']})"
    return ""
