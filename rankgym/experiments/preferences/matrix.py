"""A preference matrix and its files."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.run.driver import LOG
from rankgym.experiments.run.lock import LOCK
from rankgym.outputs import atomic_path, check_writable, json_text, remove
from rankgym.untrusted.archives import read_array

MOST_BYTES = 1 << 30  # of a matrix: 11,000 rankers


class Preferences(NamedTuple):
    """An estimated preference matrix."""

    preference: NDArray[np.float64]  # (K, K): entry [i, j] is P(i beats j) + P(tie) / 2; p + p.T = 1, diagonal 1/2
    error: NDArray[np.float64]  # (K, K): its standard errors; 0 where it is exact
    rankers: NDArray[np.int64]  # (K,): numbers of the file's features, from 0
    settings: dict[str, Any]  # all that decided the numbers, and what they took
    notes: list[str]

    @property
    def condorcet_winner(self) -> int:
        """The place in ``rankers`` of the one that beats every other, or -1."""
        wins = (self.preference > 0.5).sum(axis=1)
        return int(wins.argmax()) if wins.max() == len(wins) - 1 else -1


class MatrixFiles(NamedTuple):
    """What is written beside each other."""

    matrix: Path
    errors: Path
    settings: Path
    parts: Path  # the engine's folder, until all parts are done

    @classmethod
    def of(cls, out: str | os.PathLike[str]) -> "MatrixFiles":
        """The files of the matrix ``out``; ValueError if it does not name one, or cannot be written."""
        path = Path(out)
        if path.suffix != ".npy" or path.is_dir():
            allowed = "a file name that ends in .npy"
            raise ValueError(f"out = {os.fspath(out)!r} is not the name of a matrix; allowed: {allowed}")
        check_writable(out, path.parent)
        return cls(path, path.with_suffix(".errors.npy"), path.with_suffix(".json"), path.with_suffix(".parts"))

    def save(self, result: Preferences) -> None:
        """Write a result, each file atomically; the settings, which stand for the others, last."""
        for path, array in ((self.errors, result.error), (self.matrix, result.preference)):
            with atomic_path(path) as unfinished, unfinished.open("wb") as file:
                np.save(file, array)
        with atomic_path(self.settings) as unfinished:
            unfinished.write_text(json_text(result.settings), encoding="utf-8")

    def load(self, key: str) -> Preferences | None:
        """The result of ``key``, if it was saved before."""
        settings = self._settings()
        if settings.get("key") != key:
            return None
        try:
            with self.matrix.open("rb") as matrix, self.errors.open("rb") as errors:
                preference, error = (read_array(file, MOST_BYTES) for file in (matrix, errors))
        except (OSError, ValueError):
            return None
        rankers = np.array(settings["rankers"], np.int64)
        if not preference.shape == error.shape == (len(rankers), len(rankers)):
            return None
        return Preferences(preference, error, rankers, settings, ["kept from an earlier run; --fresh does it again"])

    def replaced(self, key: str) -> list[str]:
        """A note about the matrix that is replaced, if it is another one than that of ``key``."""
        if not self.matrix.exists():
            return []
        old = self._settings()
        words = [str(old.get(name, "?")) for name in ("file", "interleaving", "user_model", "method")]
        what = f" of {', '.join(words)}" if old else ""
        return [] if old.get("key") == key else [f"replaces the matrix{what} in {self.matrix}"]

    def _settings(self) -> dict[str, Any]:
        """The settings beside the matrix; empty if there is none, or if they are damaged."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self.settings.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) and self.matrix.exists() else {}
        return {}

    def has_work(self) -> bool:
        """Whether there are finished parts or checkpoints."""
        return any(True for pattern in (f"{RESULTS}/*", "work-*/*.npz") for _ in self.parts.glob(pattern))

    def forget_parts(self, key: str) -> None:
        """Remove the parts of ``key``; the folder too, unless another matrix's parts are in it."""
        for pattern in (f"{RESULTS}/{key}-*", f"work-*/{key}-*"):
            for path in self.parts.glob(pattern):
                remove(path)
        if not self.has_work() and {path.name for path in self.parts.glob("[!w]*")} <= {RESULTS, LOG, LOCK, "damaged"}:
            remove(self.parts)


def summary(result: Preferences, seconds: float) -> list[str]:
    """Describe an estimate in a few lines; ``seconds`` is how long it took."""
    settings, rankers = result.settings, len(result.rankers)
    pairs = np.triu_indices(rankers, 1)
    margins, errors = np.abs(result.preference[pairs] - 0.5), result.error[pairs]
    how = "evaluated exactly"
    if settings["method"] == "simulate":
        how = f"{settings['comparisons']:,} comparisons each"
        how += f", standard errors {errors.mean():.2g} on average and {errors.max():.2g} at most"
    spent = settings["cpu_seconds"]
    total = len(margins) * (settings["queries"] if settings["method"] == "exact" else settings["comparisons"])
    rate = f", {total / spent:,.0f} comparisons a second of one processor" if spent else ""
    lines = [*result.notes, f"{rankers} rankers, {len(margins):,} pairs on {settings['queries']:,} queries: {how}"]
    lines.append(f"{seconds:.1f} seconds; evaluation {spent:.1f} seconds of processors{rate}")
    winner, wins = result.condorcet_winner, (result.preference > 0.5).sum(axis=1)
    if winner >= 0:
        rest = np.delete(result.preference[winner], winner)
        lines.append(f"Condorcet winner: ranker {result.rankers[winner]}, by at least {rest.min() - 0.5:.3g}")
    else:
        best = [str(result.rankers[arm]) for arm in np.flatnonzero(wins == wins.max())]
        some = f"ranker {best[0]} beats" if len(best) == 1 else f"rankers {', '.join(best)} beat"
        lines.append(
            f"no Condorcet winner; {some} the most others, {wins.max()} of {rankers - 1}. Environments with this "
            "matrix need winner=copeland or winner=borda to know regret"
        )
    unsure = int((margins <= 2 * errors).sum())
    even = "exact ties" if settings["method"] == "exact" else "within two standard errors of 1/2"
    lines.append(f"{unsure:,} of {len(margins):,} pairs are {even}")
    return lines
