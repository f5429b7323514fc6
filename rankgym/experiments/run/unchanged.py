"""A folder of results stays as it was if nothing was played in it."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.plan.sweep import SWEEP
from rankgym.experiments.run.lock import LOCK, locked
from rankgym.experiments.run.plan_file import PLAN
from rankgym.outputs import atomic_path, read_regular_file, remove

DAMAGED = "damaged"  # folder of results that could not be read
DISCARDED = ".discarded-"  # begins the name of a folder of files that are removed once a job has begun


class Moves:
    """Files of the folder ``root`` that were moved away before the first job begins, and how to move them back."""

    def __init__(self, root: Path) -> None:
        self.discarded = root / f"{DISCARDED}{secrets.token_hex(4)}"
        self.moved: list[tuple[Path, Path]] = []  # from, to

    def move(self, path: Path, to: Path) -> None:
        """Move a file, or a folder; the folder that it goes to is made."""
        to.parent.mkdir(exist_ok=True)
        os.replace(path, to)
        self.moved.append((path, to))

    def discard(self, path: Path) -> None:
        """Remove a file or a folder, if there is one; until ``forget`` it can be moved back."""
        if path.exists() or path.is_symlink():
            self.move(path, self.discarded / str(len(self.moved)))

    def undo(self) -> None:
        """Move everything back."""
        while self.moved:
            path, to = self.moved.pop()
            os.replace(to, path)
        remove(self.discarded)

    def forget(self) -> None:
        """Remove for good what was discarded."""
        self.moved.clear()
        if self.discarded.is_dir():  # not below a file in the folder's place
            remove(self.discarded)


@contextlib.contextmanager
def unchanged_unless_played(folder: str | os.PathLike[str]) -> Iterator[Moves]:
    """Context manager that restores ``folder`` if an error or an interruption comes before the first job begins.

    A job has begun when a worker has reported progress, or written a checkpoint or a result. Until then, the engine
    writes the sweep and its plan, the lock and a work folder, and removes or moves files by the ``Moves`` that are
    yielded. A folder that was not there is removed again. Files that others write meanwhile are left alone, and so is a
    folder in which another run plays.
    """
    root = Path(folder)
    before = _Before(root)
    moves = Moves(root)
    try:
        yield moves
    except BaseException:
        if root.is_dir() and not before.begun():
            with contextlib.suppress(RuntimeError, OSError):
                before.restore(moves)
        raise
    finally:
        moves.forget()


class _Before:
    """How the folder ``root`` was."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.new = [path for path in (root, *root.parents) if not path.exists()]
        self.names = {path.name for path in root.iterdir()} if root.is_dir() else set()
        self.texts = {name: _text(root / name) for name in (SWEEP, PLAN)}
        self.works = {path.name: {file.name for file in path.iterdir()} for path in _work_folders(root)}
        self.marks = _marks(root)

    def begun(self) -> bool:
        """Return whether a job has begun since."""
        return not _marks(self.root) <= self.marks

    def restore(self, moves: Moves) -> None:
        """Restore the folder. Raises RuntimeError if another run is using it."""
        with locked(self.root):
            moves.undo()
            self._restore_work_folder()
            for name, before in self.texts.items():
                if before is not None and _text(self.root / name) != before:
                    text, changed = before
                    with atomic_path(self.root / name) as unfinished:
                        unfinished.write_bytes(text)
                        os.utime(unfinished, ns=(changed, changed))
            for name in {SWEEP, PLAN, LOCK} - self.names:
                remove(self.root / name)
            for name in {RESULTS, DAMAGED} - self.names:
                with contextlib.suppress(OSError):  # there is none, or it has files of others
                    (self.root / name).rmdir()
        for path in self.new:
            path.rmdir()

    def _restore_work_folder(self) -> None:
        """Give the work folder its name of before; remove one that was made since."""
        gone = [self.root / name for name in self.works if not (self.root / name).exists()]
        for path in _work_folders(self.root):
            if path.name in self.works:
                continue
            if not gone:
                remove(path)
                continue
            os.replace(path, gone[0])  # checkpoints of several folders stay together
            files = {name for old in gone for name in self.works[old.name]}
            for file in gone[0].iterdir():
                if file.name not in files:
                    remove(file)


def _work_folders(root: Path) -> list[Path]:
    return [path for path in sorted(root.glob("work-*")) if path.is_dir() and not path.is_symlink()]


def _text(path: Path) -> tuple[bytes, int] | None:
    """Return a file's bytes and the time of its last change, in nanoseconds; None if it cannot be read."""
    try:
        data = read_regular_file(path)
        return None if data is None else (data, path.stat().st_mtime_ns)
    except OSError:
        return None


def _marks(root: Path) -> set[tuple[str, int]]:
    """Return names and times of results, checkpoints and reports of progress."""
    found = set()
    for pattern in (f"{RESULTS}/*.parquet", "work-*/*.npz", "work-*/*.progress"):
        for path in root.glob(pattern):
            with contextlib.suppress(OSError):
                found.add((path.name, path.stat().st_mtime_ns))
    return found
