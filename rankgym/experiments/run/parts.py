"""Finished blocks of rows on disk, and what their names stand for: everything that decides their numbers."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.experiments.plan.jobs import Block
from rankgym.outputs import atomic_path
from rankgym.play.history import DuelingHistory, History, measures

__all__ = ["Parts"]


class Parts:
    """The folder of finished blocks, ``<agent>-<digest>-rows-<start>-<stop>.npz``: what is there is whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _files(self, key: str) -> Iterator[tuple[int, int, Path]]:
        for path in sorted(self.folder.glob("*.npz")):
            rows = re.fullmatch(rf"{re.escape(key)}-rows-(\d+)-(\d+)\.npz", path.name)
            if rows:
                yield int(rows[1]), int(rows[2]), path

    def find(self, key: str) -> Iterator[tuple[int, int, History | DuelingHistory, float]]:
        """All finished blocks of ``key``: first row, the row after the last, history, seconds."""
        for start, stop, path in self._files(key):
            try:
                with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                    cls: Any = DuelingHistory if "accuracy" in file else History
                    history = cls(*(file[name] for name in cls._fields))
                    seconds = float(file["seconds"])
            except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
                continue  # damaged: played and written again
            shapes = {np.shape(getattr(history, name)) for name in measures(history)}
            epochs = getattr(history, "epoch_regret", history.regret)
            if shapes == {(len(history.rounds), stop - start)} and epochs.shape[1:] == (stop - start,):
                yield start, stop, history, seconds

    def keep(self, key: str, block: Block, history: History | DuelingHistory, seconds: float) -> None:
        """Write a finished block."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.folder / f"{key}-rows-{block.start}-{block.stop}.npz") as path, path.open("wb") as file:
            np.savez(file, **history._asdict(), seconds=np.float64(seconds))

    def forget(self, key: str) -> None:
        """Remove what there is of ``key``."""
        for _, _, path in list(self._files(key)):
            path.unlink(missing_ok=True)
