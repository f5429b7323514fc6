"""What a person does with a history: data frames, files and plots. ``rankgym.History`` has these as methods.

The functions take any history: a NamedTuple with ``rounds`` (records,) and measures (records, rows). Pandas and
matplotlib are imported when they are needed.
"""

import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of
from rankgym.estimates import known, mean_and_error
from rankgym.extras import require
from rankgym.outputs import atomic_path
from rankgym.untrusted.archives import read_arrays
from rankgym.untrusted.files import RefusedFile

H = TypeVar("H")

MOST_BYTES = 8 << 30  # of a history, expanded

Y_LABELS = {
    "regret": "cumulative regret",
    "violations": "safety violations",
    "ndcg": "NDCG, mean so far",
    "reward": "cumulative reward",
    "accuracy": "accuracy",
}
SHOWN = "mean ± standard error of rows"
BESIDE = ("query", "problem", "seed")  # of each row: what `rankgym compare` also writes into a history's file


# -- data frames ------------------------------------------------------------------------------------------------------


def to_pandas(history: Any, measures: tuple[str, ...]) -> Any:
    """Return a data frame with a line for each row and record: row, round and the measures."""
    pandas = require("pandas")
    arrays = checked(type(history), history._asdict())
    records, rows = arrays["regret"].shape
    columns = {"round": np.tile(arrays["rounds"], rows), "row": np.repeat(np.arange(rows), records)}
    return pandas.DataFrame(columns | {name: arrays[name].T.ravel() for name in measures})


def epochs_to_pandas(history: Any) -> Any:
    """Return a data frame with a line for each row and epoch: epoch, row and regret."""
    pandas = require("pandas")
    regret = checked(type(history), history._asdict())["epoch_regret"]
    epochs, rows = regret.shape
    columns = {"epoch": np.tile(np.arange(epochs), rows), "row": np.repeat(np.arange(rows), epochs)}
    return pandas.DataFrame(columns | {"regret": regret.T.ravel()})


# -- files ------------------------------------------------------------------------------------------------------------


def save(history: Any, path: str | os.PathLike[str]) -> None:
    """Write a history to ``path``, whole or not at all."""
    arrays, place = checked(type(history), history._asdict()), Path(path)
    if place.suffix != ".npz" or place.is_dir():
        raise ValueError(f"path = {os.fspath(path)!r} is not the name of a history's file; allowed: FILE.npz")
    if not place.parent.is_dir():
        raise ValueError(f"path = {os.fspath(path)!r} is in a folder that does not exist; allowed: one that does")
    with atomic_path(place) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # numbers: nothing is pickled


def load(cls: type[H], path: str | os.PathLike[str]) -> H:
    """Read a history of class ``cls`` from a file of ``save``, or of ``rankgym compare``."""
    name = os.fspath(path)
    arrays = _read(name, Path(path))
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    others = [key for key in arrays if key not in (*fields, *BESIDE)]
    missing = [key for key in fields if key not in arrays and key != "epoch_regret"]
    if others or missing:
        other = _other_class(cls, arrays)
        wrong = f"has no {missing[0]!r}" if missing else f"has {others[0]!r}, which a {cls.__name__} does not have"
        rest = f"it is the file of a {other}; use {other}.load" if other else f"allowed: a file of {cls.__name__}.save"
        raise ValueError(f"path = {name!r} {wrong}; {rest}")
    if "epoch_regret" in fields and "epoch_regret" not in arrays:  # `rankgym compare` leaves it out if it is empty
        arrays["epoch_regret"] = np.empty((0, *np.shape(arrays["regret"])[1:]))
    try:
        return cls(**checked(cls, {key: arrays[key] for key in fields}))
    except ValueError as error:
        raise ValueError(f"path = {name!r} is not the file of a {cls.__name__}: {error}") from None


def _read(name: str, path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; its checksums are compared."""
    try:
        return read_arrays(path, MOST_BYTES)
    except RefusedFile as error:
        raise ValueError(f"path = {name!r} is damaged, or not the file of a history: {error}") from None


def _other_class(cls: type, arrays: dict[str, Any]) -> str:
    """Return the name of the other class of histories if ``arrays`` are its fields, or ""."""
    kind = "DuelingHistory" if "accuracy" in arrays else "History" if "violations" in arrays else ""
    return "" if kind == cls.__name__ or not {"rounds", "regret", "reward"} <= set(arrays) else kind


def checked(cls: type, arrays: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the fields of a history as arrays of its dtypes, or raise a ValueError that names the field."""
    found: dict[str, NDArray[Any]] = {}
    for key, values in arrays.items():
        array, kinds = np.asarray(values), "iu" if key == "rounds" else "iuf"
        if array.dtype.kind not in kinds or (array.dtype.kind == "u" and array.dtype.itemsize == 8):
            allowed = "whole numbers" if key == "rounds" else "numbers"
            raise ValueError(f"{key} has dtype {array.dtype}; allowed: {allowed}")
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            raise ValueError(f"{key} has dtype {array.dtype}; allowed: float64")
        found[key] = array.astype(np.int64 if key == "rounds" else np.float64, copy=False)
    rounds, shape = found["rounds"], found["regret"].shape
    if rounds.ndim != 1 or (rounds < 1).any() or (np.diff(rounds) <= 0).any():
        raise ValueError(f"rounds, of shape {rounds.shape}, are not in order; allowed: ascending numbers, at least 1")
    if len(shape) != 2:
        raise ValueError(f"regret has shape {shape}; allowed: (records, rows)")
    for key, array in found.items():
        wanted = {"rounds": rounds.shape, "epoch_regret": (len(array) if array.ndim else 0, shape[1])}
        fits = wanted.get(key, (len(rounds), shape[1]))
        if array.shape != fits:
            raise ValueError(f"{key} has shape {array.shape}; allowed: {fits}, as of rounds and regret")
    return found


# -- plots ------------------------------------------------------------------------------------------------------------


def title(measure: str) -> str:
    """Return what ``measure`` is, in the few words of a title."""
    return Y_LABELS[measure].partition(",")[0]


def plot(history: Any, measures: tuple[str, ...], measure: str, ax: Any, label: str | None) -> Any:
    """Draw one measure over rounds into ``ax``, in the look of all figures; return the axes."""
    one_of("measure", measure, measures)
    arrays = checked(type(history), history._asdict())
    if label is not None and not isinstance(label, str):
        raise ValueError(f"label = {label!r} is not a text; allowed: the curve's name, or None")
    mpl, pyplot = require("matplotlib"), require("matplotlib.pyplot")
    from rankgym import style

    changing = len(arrays.get("epoch_regret", ())) > 0  # late epochs are as wide as early ones
    if ax is None:
        figure = pyplot.figure(figsize=(6.6, 4.4), layout="constrained")  # may set up the backend of a notebook
        with mpl.rc_context(style.RC_PARAMS):  # which would be undone here
            ax = figure.add_subplot()
        ax.set(xlabel="rounds", ylabel=Y_LABELS[measure], xscale="linear" if changing else "log")
        style.set_title(ax, f"{title(measure)[0].upper()}{title(measure)[1:]}: {SHOWN}")
    mean, error = mean_and_error(known(arrays[measure]))
    before = [str(line.get_label()) for line in ax.lines]
    name = label or f"_history {len(before)}"  # matplotlib leaves names with an underscore out of legends
    style.draw_curve(ax, arrays["rounds"], mean, error, style.next_look(name, before), label=name)
    style.set_ticks(ax.xaxis, small=False)
    style.set_ticks(ax.yaxis, small=False)
    if label:
        ax.legend(frameon=False, handlelength=3.0)
    return ax
