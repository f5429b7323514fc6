"""The lock of a folder: one process at a time plays jobs in it. The lock goes when the process does."""

import contextlib
import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rankgym.extras import require
from rankgym.outputs import read_regular_file

try:
    import fcntl
except ImportError:  # Windows, where every file system has locks
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
LOCK_WAIT = 1.0  # seconds to wait for the lock: `rankgym sweep status` holds it for a moment
WITHOUT_LOCKS = "RANKGYM_WITHOUT_LOCKS"  # "1": play where there are no locks; the user makes sure that one run does
HELD = (errno.EAGAIN, errno.EACCES)  # what a lock says that another process holds


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Context manager that holds the lock of ``folder``; RuntimeError if that is not possible now.

    On a file system without locks it holds none if the variable ``WITHOUT_LOCKS`` is set.
    """
    filelock, path = require("filelock"), folder / LOCK
    if _is_foreign(path):
        raise RuntimeError(f"{path} is not the lock of a sweep, which is a file; allowed: remove it, or another folder")
    lock: contextlib.AbstractContextManager[object]
    try:
        lock = filelock.FileLock(path).acquire(timeout=LOCK_WAIT)
    except (OSError, NotImplementedError) as error:
        reason = without_locks(folder)
        if not reason and isinstance(error, filelock.Timeout):
            raise RuntimeError(
                f"another run is using {folder}{_owner(folder)}; nothing was changed. Allowed: wait until it is done, "
                "or another folder"
            ) from None
        if not reason:
            raise
        if os.environ.get(WITHOUT_LOCKS, "0") in ("", "0"):
            raise RuntimeError(
                f"{folder} is on a file system without locks ({reason}), so that two runs could use it at once; "
                f"nothing was changed. Allowed: another folder; or, if no other run uses this one, {WITHOUT_LOCKS}=1"
            ) from None
        lock = contextlib.nullcontext()
    with lock:
        yield


def without_locks(folder: Path) -> str:
    """Return why files in ``folder`` cannot be locked; "" if they can.

    It tries a file of its own: some versions of filelock wait for a lock that the file system does not have.
    """
    if fcntl is None:
        return ""
    with tempfile.TemporaryFile(dir=folder) as probe:
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return "" if error.errno in HELD else error.strerror or str(error)
    return ""


def who_runs(folder: Path) -> str:
    """Say which process plays jobs in ``folder`` now; "" if none does, or if that cannot be seen."""
    path = folder / LOCK
    if not path.is_file() or _is_foreign(path) or not os.access(path, os.W_OK):
        return ""
    filelock = require("filelock")
    try:
        with filelock.FileLock(path).acquire(timeout=0):
            return ""
    except filelock.Timeout:
        with contextlib.suppress(OSError):  # a folder that cannot be written to
            return "" if without_locks(folder) else f"running{_owner(folder)}"
        return f"running{_owner(folder)}"
    except (OSError, NotImplementedError):
        return ""


def _is_foreign(path: Path) -> bool:
    """Return whether there is something else than a file, which is not opened: a link, a folder, a FIFO."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _owner(folder: Path) -> str:
    for path in folder.glob("work-*/driver"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            driver = json.loads(read_regular_file(path) or b"")
            return f" (process {driver['pid']} on {driver['host']}, since {driver['since']})"
    return ""
