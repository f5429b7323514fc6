"""Fits of click models that the user made or imported: their form, their checks, and their place in the cache.

A collection of fits is one ``.npz`` file, ``fits/NAME.npz`` in the data cache, with the arrays

* ``format``: 1;
* ``model``: the model that was fitted, such as "PBM"; "": any model that has these parameters;
* ``query`` (queries,) and ``item`` (queries, items): labels as text, items in the order of the initial list;
* ``parameter.NAME`` (queries, *axes), float64 in [0, 1], and ``axes.NAME``, its further axes as text: "item",
  "position", "position previous", or "" for one number a query. As in ``rankgym.models``, "previous" has an entry for
  each position, and the last one stands for no click yet;
* ``provenance``: a JSON object with plain values: where the fits come from;
* ``digest``: the sha256 of all of these.
"""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.data.cache_folder import home
from rankgym.data.errors import DataError, MissingData
from rankgym.data.files import read_bytes, read_npz, write_npz
from rankgym.untrusted.files import RefusedFile, parse_json

FORMAT = 1
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
AXES = ("item", "position", "previous")
MAX_BYTES = 1_000_000_000  # of a file: UBM with 10 positions takes about 1,000 bytes a query


class Fits(NamedTuple):
    """Fitted parameters of some queries; ``checked`` has the rules.

    ``rankgym.data.store`` has an example.
    """

    query: NDArray[np.str_]  # (queries,) labels
    item: NDArray[np.str_]  # (queries, items) labels, in the order of the initial list
    parameters: dict[str, NDArray[np.float64]]  # (queries, *axes) in [0, 1]; attraction is one of them
    axes: dict[str, tuple[str, ...]]  # of each parameter, of AXES
    model: str = ""  # the model that was fitted; "": any that has these parameters
    provenance: Mapping[str, Any] = {}  # plain JSON values: file, log digest, options, version, perplexity, ...

    @property
    def positions(self) -> int:
        """Positions that the parameters have; the number of items if none is by position."""
        sizes = [
            table.shape[1 + self.axes[name].index("position")]
            for name, table in self.parameters.items()
            if "position" in self.axes[name]
        ]
        return min(sizes, default=self.item.shape[1])


def checked(fits: Fits) -> Fits:
    """Return the same with contiguous arrays; a DataError that names the array if something does not fit."""
    query, item = np.asarray(fits.query), np.asarray(fits.item)
    if query.ndim != 1 or item.ndim != 2 or len(item) != len(query) or not item.size:
        raise DataError(f"query has shape {query.shape} and item {item.shape}; allowed: (queries,), (queries, items)")
    if query.dtype.kind != "U" or item.dtype.kind != "U":
        raise DataError(f"query and item have dtypes {query.dtype} and {item.dtype}; allowed: text")
    if len(set(query.tolist())) < len(query):
        raise DataError("query has a label twice; allowed: each once")
    if not isinstance(fits.model, str) or not isinstance(fits.provenance, Mapping):
        raise DataError("model is not a text or provenance not a dict; allowed: 'PBM' or the like, and a dict")
    if fits.axes.get("attraction") != ("item",):
        raise DataError("there is no parameter attraction by item; allowed: at least this one")
    if set(fits.axes) != set(fits.parameters):
        raise DataError(f"there are axes of {sorted(fits.axes)} and parameters {sorted(fits.parameters)}")
    positions, tables = fits.positions, {}
    for name, table in fits.parameters.items():
        axes = fits.axes[name]
        if not name.isidentifier() or not set(axes) <= set(AXES) or ("previous" in axes) > ("position" in axes):
            raise DataError(f"parameter {name!r} has axes {axes}; allowed: a plain name, and {AXES}")
        sizes = {"item": item.shape[1], "position": positions, "previous": positions}
        shape = (len(query), *(sizes[axis] for axis in axes))
        if table.dtype != np.float64 or table.shape != shape:
            raise DataError(f"{name} has dtype {table.dtype} and shape {table.shape}; allowed: float64 and {shape}")
        wrong = np.argwhere(~((table >= 0) & (table <= 1)))  # also NaN
        if len(wrong):
            place = [int(i) for i in wrong[0]]
            raise DataError(f"{name}{place} = {table[tuple(place)]} is not a probability; allowed range [0, 1]")
        tables[name] = np.ascontiguousarray(table)
    return fits._replace(query=query, item=item, parameters=tables)


def store(name: str, fits: Fits) -> Path:
    """Write fits into the data cache, where environments find them as ``source=name``; return the file's path.

    Fits stored under the same name are replaced, atomically. The caller checks that the ``name`` is free.

    Args:
        name: 1 to 64 letters, digits, ``-`` and ``_``, the first a letter or a digit.
        fits: the parameters.

    Raises:
        DataError: a shape, label or value of ``fits`` does not fit, or the cache is not a folder.

    Examples:
        >>> import os, tempfile
        >>> from unittest import mock
        >>> import numpy as np
        >>> from rankgym.data import Fits, fits_names, load_fits, store
        >>> items, attraction = np.array([["boot", "clog"]]), np.array([[0.4, 0.1]])
        >>> fits = Fits(np.array(["shoes"]), items, {"attraction": attraction}, {"attraction": ("item",)}, "CM")
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKGYM_DATA_HOME=folder):
        ...     _ = store("shop", fits)
        ...     fits_names(), load_fits("shop").item.tolist()
        (['shop'], [['boot', 'clog']])
    """
    if home().exists() and not home().is_dir():
        raise DataError(f"RANKGYM_DATA_HOME = {home()} is not a folder; allowed: a folder, which may be made later")
    return write_npz(place(name), to_arrays(checked(fits)))


def place(name: str) -> Path:
    """The path of the collection ``name``."""
    return home() / "fits" / f"{name}.npz"


def fits_names() -> list[str]:
    """The names of the collections of fits in the data cache.

    ``rankgym.data.store`` has an example.
    """
    folder = home() / "fits"
    names = [path.stem for path in folder.glob("*.npz")] if folder.is_dir() else []
    return sorted(filter(NAME.fullmatch, names))


def load_fits(name: str) -> Fits:
    """The fits that are stored under this name; do not modify the arrays.

    Args:
        name: of ``store`` or ``import_fits``.

    Raises:
        MissingData: there are none; the message lists the names.
        DataError: the file is damaged.

    ``rankgym.data.store`` has an example.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or not place(name).exists():
        raise MissingData(f"no fits are stored as {name!r}; allowed: {fits_names()}; see `rankgym data import --help`")
    return _read_once(place(name), place(name).stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read_once(path: Path, changed: int) -> Fits:
    try:
        return from_arrays(read_npz(read_bytes(path, MAX_BYTES, "fits of click models"), MAX_BYTES))
    except DataError as error:
        raise DataError(f"{path} is damaged: {error}; import or fit it again") from None


def to_arrays(fits: Fits) -> dict[str, NDArray[Any]]:
    """The arrays of the file of ``fits``."""
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(FORMAT, np.int64),
        "model": np.array(fits.model),
        "query": fits.query,
        "item": fits.item,
        "provenance": np.array(json.dumps(dict(fits.provenance))),
        **{f"parameter.{name}": table for name, table in fits.parameters.items()},
        **{f"axes.{name}": np.array(" ".join(axes)) for name, axes in fits.axes.items()},
    }
    return arrays | {"digest": np.array(_digest(arrays))}


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Fits:
    """Read and check the arrays of a file; DataError if something is missing or wrong."""
    arrays = dict(arrays)
    digest = arrays.pop("digest", None)
    needed = {"format", "model", "query", "item", "provenance"}
    others = {name for name in arrays if not name.startswith(("parameter.", "axes."))}
    if digest is None or others != needed:
        raise DataError(f"the file has the arrays {sorted(others)}; allowed: {sorted({*needed, 'digest'})}")
    if arrays["format"].shape != () or arrays["format"].dtype.kind not in "iu" or int(arrays["format"]) != FORMAT:
        raise DataError(f"it has format {str(arrays['format'])[:40]!r}; allowed: {FORMAT}")
    if str(digest) != _digest(arrays):
        raise DataError("its contents do not have the digest that was written with them")
    names = [name.removeprefix("parameter.") for name in arrays if name.startswith("parameter.")]
    tables = {name: arrays[f"parameter.{name}"] for name in names}
    axes = {
        name.removeprefix("axes."): tuple(str(text).split())
        for name, text in arrays.items()
        if name.startswith("axes.")
    }
    try:
        provenance = parse_json(str(arrays["provenance"]))
    except RefusedFile as error:
        raise DataError(f"its provenance is wrong: {error}") from None
    return checked(Fits(arrays["query"], arrays["item"], tables, axes, str(arrays["model"]), provenance))


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The sha256 of names, shapes and contents, in the order of the names. It finds accidents, not forgeries."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype.kind not in "fiubU":
            raise DataError(f"{name} has dtype {array.dtype}; allowed: numbers and text")
        raw = array.astype("<U").tobytes() if array.dtype.kind == "U" else array.astype("<f8").tobytes()
        digest.update(f"{name}{array.shape}{array.dtype.kind}\0".encode() + raw)
    return digest.hexdigest()


def fits_digest(name: str) -> str:
    """The digest of the stored fits, which decides the results made with them."""
    return str(to_arrays(load_fits(name))["digest"])


def fitted_tables(name: str, model: str, axes: Mapping[str, tuple[str, ...]]) -> dict[str, NDArray[np.float64]]:
    """Fresh tables (queries, *axes) of the parameters that a click model has, from the fits ``name``.

    Args:
        name: of the fits.
        model: the click model's name.
        axes: of its parameters.

    Raises:
        DataError: the fits are of another model, or lack a parameter.

    For environments; users call ``load_fits``.
    """
    fits = load_fits(name)
    if fits.model not in ("", model):
        raise DataError(f"source = {name!r} has fits of {fits.model}, not of {model}; allowed: model = {fits.model!r}")
    for parameter, wanted in axes.items():
        found = fits.axes.get(parameter)
        if found != wanted:
            there = "no such column" if found is None else f"it is {axes_text(found)}"
            raise DataError(
                f"source = {name!r} does not fit {model}, whose {parameter} is {axes_text(wanted)}: {there}; "
                f"its parameters: {', '.join(f'{key} {axes_text(value)}' for key, value in fits.axes.items())}"
            )
    return {parameter: fits.parameters[parameter].copy() for parameter in axes}


def axes_text(axes: tuple[str, ...]) -> str:
    """How a parameter's values are laid out, in words."""
    return f"by {' and '.join(axes).replace('previous', 'position of the previous click')}" if axes else "one number"


def listing_row(name: str) -> dict[str, str]:
    """What ``rankgym data list`` shows of the fits ``name``."""
    row = {"name": name, "source": name, "what": "fits of click models", "state": f"in the cache: {place(name)}"}
    try:
        fits = load_fits(name)
    except DataError as error:
        return row | {"state": f"unusable: {error}", "provenance": "?"}
    queries, items = fits.item.shape
    sizes = f"{queries:,} {'query' if queries == 1 else 'queries'} of {items} items"
    of = f"fits of {fits.model}" if fits.model else "fits of click models"
    columns = ", ".join(f"{key} {axes_text(axes)}" for key, axes in fits.axes.items())
    provenance = ", ".join(f"{key} {value}" for key, value in fits.provenance.items()) or "not said"
    return row | {"what": f"{of}, {sizes}: {columns}", "provenance": provenance}
