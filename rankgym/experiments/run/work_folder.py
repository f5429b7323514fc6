"""The work folder of a driver, through which it and its workers talk.

It is ``work-<token>`` in the folder of the results. Nothing else is shared, so that it does not matter where a worker
is, nor who starts it. It has

    driver            who the driver is, and a number that goes up while it lives
    stop              once it is there: write checkpoints and return; if it says "now": return at once
    <key>.progress    how far a job is
    <key>.npz         its checkpoint: arrays, and a digest of them behind
    <key>.*.part      what a worker is writing; it is renamed when it is whole

A worker makes no folder and writes nowhere else (a result is renamed out of here). When a driver dies, the next one
renames the folder; a worker that is still there finds no folder, ends, and cannot have spoilt anything.
"""

import contextlib
import hashlib
import io
import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.outputs import read_regular_file, remove
from rankgym.untrusted.archives import read_arrays

DIGEST_LENGTH = 64


class DriverGone(Exception):
    """The driver is dead, or does not wait for this worker."""


class Orders(NamedTuple):
    """What the driver wants of its workers."""

    heartbeat: str  # changes while the driver lives
    stop: bool  # write a checkpoint and return
    at_once: bool  # return without a checkpoint


class WorkFolder(NamedTuple):
    """The work folder at ``path``."""

    path: Path

    @classmethod
    def take_over(cls, root: Path) -> "WorkFolder":
        """Make a new work folder in ``root``, with the checkpoints that earlier drivers have left.

        An old folder is renamed: from that moment on, a worker of the old driver finds no folder.
        """
        made = cls(root / f"work-{secrets.token_hex(4)}")
        for old in sorted(root.glob("work-*")):
            if not old.is_dir() or old.is_symlink():
                remove(old)
            elif not made.path.exists():
                os.rename(old, made.path)
            else:
                for path in old.glob("*.npz"):
                    if not made.path.joinpath(path.name).exists():
                        os.replace(path, made.path / path.name)
                remove(old)
        made.path.mkdir(exist_ok=True)
        return made

    def write_heartbeat(self, driver: Mapping[str, Any]) -> None:
        """Say who the driver is, and that it lives."""
        (self.path / "driver").write_text(json.dumps(driver), encoding="utf-8")

    def order_stop(self, *, at_once: bool = False) -> None:
        """Let all workers return."""
        (self.path / "stop").write_text("now" if at_once else "", encoding="utf-8")

    def keys_with_progress(self) -> list[str]:
        """Keys of the jobs that have begun."""
        return [path.stem for path in self.path.glob("*.progress")]

    def checkpoints(self) -> list[Path]:
        """All checkpoints."""
        return list(self.path.glob("*.npz"))

    def read_progress(self, key: str) -> dict[str, Any]:
        """How far a job is; empty if nothing is known, or while it is being written."""
        try:
            found = json.loads(read_regular_file(self.path / f"{key}.progress") or b"")
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_progress(self, key: str, progress: Mapping[str, Any]) -> None:
        """Say how far a job is."""
        (self.path / f"{key}.progress").write_text(json.dumps(progress), encoding="utf-8")

    def orders(self) -> Orders:
        """What the driver wants; raises DriverGone if the folder is no longer there."""
        try:
            heartbeat = (self.path / "driver").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise DriverGone from None
        with contextlib.suppress(FileNotFoundError):
            stop = (self.path / "stop").read_text(encoding="utf-8")
            return Orders(heartbeat, True, stop == "now")
        return Orders(heartbeat, False, False)

    @contextlib.contextmanager
    def part(self, key: str) -> Iterator[Path]:
        """A name of this worker's own to write to; what is not renamed is removed."""
        path = self.path / f"{key}.{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}.part"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """The path of a job's checkpoint."""
        return self.path / f"{key}.npz"

    def save_checkpoint(self, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a job's checkpoint, and through to the disk."""
        stream = io.BytesIO()
        np.savez(stream, **arrays)  # type: ignore[arg-type]
        data = stream.getvalue()
        with self.part(key) as path:
            with path.open("wb") as file:
                file.write(data + _digest(key, data))
                file.flush()
                os.fsync(file.fileno())
            os.replace(path, self.checkpoint(key))

    def load_checkpoint(self, key: str) -> dict[str, NDArray[Any]] | None:
        """A job's checkpoint; None if it has none, or if it is not what was written for this job."""
        try:
            data = read_regular_file(self.checkpoint(key)) or b""
            data, digest = data[:-DIGEST_LENGTH], data[-DIGEST_LENGTH:]
            if digest != _digest(key, data):
                return None
            return read_arrays(data, len(data))  # they are written uncompressed
        except Exception:  # it cannot be read; or something else wrote it, with the right digest
            return None


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).hexdigest().encode()
