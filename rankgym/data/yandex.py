"""The published click models of 60 Yandex queries: from the original pickle to plain arrays, checked on the way.

The original is a dict of dicts, ``{model: {query: {"model": ..., "relevances": ...}}}``, written by Python 2. Each
model is a call of a compiled class with its parameters and the seed of a generator. The converted form is the
``SCHEMA`` below: what belongs to queries has a leading axis of the 60 queries, sorted by id; what a model shares over
all queries has none.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data import pickles
from rankgym.data.errors import DataError, RefusedPickle

__all__ = ["ALLOWED_NAMES", "SCHEMA", "checked", "content_digest", "from_pickle", "read"]

QUERIES, ITEMS = 60, 10
LARGEST = 4_000_000  # bytes of a file that is looked at; the original has 126,565
UNPACKED = 1_000_000  # bytes of an .npz file's arrays; the converted ones have 38,000

REBUILD, ARRAY, DTYPE = "numpy.core.multiarray._reconstruct", "numpy.ndarray", "numpy.dtype"
# model: (class, its arguments but the last, which is a seed: name, shape)
CLASSES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "CM": ("users.users_inner.CascadeModel", {"attraction": (ITEMS,)}),
    "PBM": ("users.users_inner.PositionBasedModel", {"attraction": (ITEMS,), "examination": (ITEMS,)}),
    "DCM": ("users.users_inner.DependentClickModel", {"attraction": (ITEMS,), "termination": (ITEMS,)}),
    "DBN": (
        "users.users_inner.DynamicBayesianNetworkModel",
        {"attraction": (ITEMS,), "satisfaction": (ITEMS,), "abandonment": ()},
    ),
    "CCM": (
        "users.users_inner.ClickChainUserModel",
        {
            "attraction": (ITEMS,),
            "continue_noclick": (),
            "continue_click_irrelevant": (),
            "continue_click_relevant": (),
        },
    ),
    "UBM": ("users.users_inner.UserBrowsingModel", {"attraction": (ITEMS,), "examination": (ITEMS, ITEMS)}),
}
ALLOWED_NAMES = frozenset({REBUILD, ARRAY, DTYPE, *(name for name, _ in CLASSES.values())})
PER_QUERY = ("attraction", "satisfaction")

# converted name: shape. UBM's examination has a row for each position and a column for the position of the click before
# (the last column: none yet).
SCHEMA: dict[str, tuple[int, ...]] = {
    f"{model.lower()}_{name}": (QUERIES, *shape) if name in PER_QUERY else shape or (1,)
    for model, (_, arguments) in CLASSES.items()
    for name, shape in arguments.items()
}


def read(path: Path | str) -> dict[str, NDArray[Any]]:
    """The converted arrays of a file, either form: the original pickle, or a converted ``.npz``.

    It checks that the file has the right form, not that it is the published one: see ``content_digest``.

    Raises:
        DataError: the file is neither, or what it holds is not 6 models of 60 queries. A pickle that names anything but
            ``ALLOWED_NAMES`` is refused by that name (``RefusedPickle``).
        OSError: the file cannot be read.
    """
    data = contents(path)
    return from_npz(data) if is_npz(data) else from_pickle(data)


def contents(path: Path | str) -> bytes:
    """The bytes of a file, if there are not too many."""
    path = Path(path)
    if path.stat().st_size > LARGEST:
        raise DataError(f"{path} has {path.stat().st_size} bytes; allowed: at most {LARGEST} for yandex60")
    return path.read_bytes()


def is_npz(data: bytes) -> bool:
    """Whether the bytes begin as an ``.npz`` file does."""
    return data.startswith(b"PK\x03\x04")


def from_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """The converted arrays of the bytes of an ``.npz`` file; raises as ``read`` does."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > UNPACKED:
            raise DataError(f"the .npz file unpacks to {size} bytes; allowed: at most {UNPACKED}")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
    except DataError:
        raise
    except Exception as error:  # a broken archive may raise nearly anything
        raise DataError(f"the .npz file cannot be read: {type(error).__name__}: {error}") from None
    return checked(found)


def from_pickle(data: bytes) -> dict[str, NDArray[Any]]:
    """The converted arrays of the bytes of the original pickle; raises as ``read`` does."""
    collection = pickles.load(data, ALLOWED_NAMES)
    if not isinstance(collection, dict) or set(collection) != set(CLASSES):
        raise RefusedPickle(f"the pickle is no collection of the {len(CLASSES)} models {sorted(CLASSES)}")
    arrays: dict[str, NDArray[Any]] = {}
    for model, queries in collection.items():
        ids = _query_ids(model, queries)
        if not np.array_equal(arrays.setdefault("query_id", np.array(ids, np.int64)), ids):
            raise RefusedPickle(f"the pickle has other queries for {model} than for the models before it")
        values = [_arguments(model, number, queries[str(number)]) for number in ids]
        for name in CLASSES[model][1]:
            stacked = np.stack([value[name] for value in values])
            if name not in PER_QUERY:
                if (stacked != stacked[0]).any():
                    raise RefusedPickle(f"the pickle has {name} of {model} differing between queries")
                stacked = np.atleast_1d(stacked[0])
            arrays[f"{model.lower()}_{name}"] = stacked
    return checked(arrays)


def _query_ids(model: str, queries: Any) -> list[int]:
    numbers = isinstance(queries, dict) and all(
        isinstance(query, str) and query.isascii() and query.isdecimal() and len(query) <= 18 and query[0] != "0"
        for query in queries
    )
    if not numbers or len(queries) != QUERIES:
        raise RefusedPickle(f"the pickle has no {QUERIES} numbered queries for {model}")
    return sorted(map(int, queries))


def _arguments(model: str, query: int, entry: Any) -> dict[str, NDArray[np.float64]]:
    """The parameters of one query's model, by name."""
    place = f"query {query} of {model}"
    kind, shapes = CLASSES[model]
    made = entry.get("model") if isinstance(entry, dict) else None
    if not isinstance(made, pickles.Call) or made.name != kind or len(made.arguments) != len(shapes) + 1:
        raise RefusedPickle(f"the pickle has no {kind} for {place}")
    values = {
        name: _array(f"{name} of {place}", value, shape)
        for (name, shape), value in zip(shapes.items(), made.arguments, strict=False)
    }
    relevances = _array(f"relevances of {place}", entry.get("relevances"), (ITEMS,))
    if not np.array_equal(relevances, values["attraction"]):
        raise RefusedPickle(f"the pickle has relevances that are not the attraction of {place}")
    return values


def _array(what: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The float64 array that a recorded call of numpy's rebuilder stands for, or a plain float for shape ()."""
    if not shape and isinstance(value, float):
        return np.array(value)
    if isinstance(value, pickles.Call) and value.name == REBUILD and shape:
        state = value.state
        if isinstance(state, tuple) and len(state) == 5 and state[0] == 1 and state[1] == shape and state[3] is False:
            kind, data = state[2], state[4]
            little = isinstance(kind, pickles.Call) and kind.name == DTYPE and kind.arguments[:1] == ("f8",)
            little = little and isinstance(kind.state, tuple) and kind.state[1:2] == ("<",)
            if little and isinstance(data, str) and len(data) == 8 * np.prod(shape) and max(data) < "\u0100":
                return np.frombuffer(data.encode("latin1"), "<f8").astype(np.float64).reshape(shape)
    raise RefusedPickle(f"the pickle has no float64 array of shape {shape} for {what}")


def checked(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays in ``SCHEMA``'s order, or a DataError: names, types, shapes, ascending ids, probabilities."""
    names = ["query_id", *SCHEMA]
    if set(arrays) != set(names):
        raise DataError(f"the file has the arrays {sorted(arrays)}; allowed: {sorted(names)}")
    ids = arrays["query_id"]
    if ids.dtype != np.int64 or ids.shape != (QUERIES,) or (np.diff(ids) <= 0).any():
        raise DataError(f"query_id does not hold {QUERIES} different ids in ascending order")
    for name, shape in SCHEMA.items():
        array = arrays[name]
        if array.dtype != np.float64 or array.shape != shape:
            raise DataError(f"{name} has dtype {array.dtype} and shape {array.shape}; allowed: float64 and {shape}")
        if not ((array >= 0.0) & (array <= 1.0)).all():  # also NaN
            raise DataError(f"{name} has entries that are no probabilities; allowed range [0, 1]")
    return {name: np.ascontiguousarray(arrays[name]) for name in names}


def content_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The sha256 of converted arrays: of their names and little-endian bytes, in ``SCHEMA``'s order."""
    digest = hashlib.sha256()
    for name in ["query_id", *SCHEMA]:
        array = np.ascontiguousarray(arrays[name])
        digest.update(name.encode() + b"\0" + array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
