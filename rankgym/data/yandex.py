"""The published click models of 60 Yandex queries: from the original pickle to plain arrays, checked on the way.

The original is a dict of dicts, ``{model: {query: {"model": ..., "relevances": ...}}}``, written by Python 2. Each
model is a call of a compiled class with its parameters and a generator's seed. The converted form follows ``SCHEMA``
below: parameters by query have a leading axis of the 60 queries, sorted by id; parameters shared by all queries do not.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data import pickles
from rankgym.data.errors import DataError, RefusedPickle
from rankgym.data.files import NPZ, read_bytes, read_npz

QUERIES, ITEMS = 60, 10
MAX_BYTES = 4_000_000  # of a file; the original has 126,565
MAX_UNPACKED = 1_000_000  # bytes of an .npz file's arrays; the converted ones have 38,000

REBUILD, ARRAY, DTYPE = "numpy.core.multiarray._reconstruct", "numpy.ndarray", "numpy.dtype"
CONTINUATIONS = ("continue_noclick", "continue_click_irrelevant", "continue_click_relevant")  # the CCM's arguments
# model: (class, {argument: shape}); the class has one more argument, a seed
CLASSES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "CM": ("users.users_inner.CascadeModel", {"attraction": (ITEMS,)}),
    "PBM": ("users.users_inner.PositionBasedModel", {"attraction": (ITEMS,), "examination": (ITEMS,)}),
    "DCM": ("users.users_inner.DependentClickModel", {"attraction": (ITEMS,), "termination": (ITEMS,)}),
    "DBN": (
        "users.users_inner.DynamicBayesianNetworkModel",
        {"attraction": (ITEMS,), "satisfaction": (ITEMS,), "abandonment": ()},
    ),
    "CCM": ("users.users_inner.ClickChainUserModel", {"attraction": (ITEMS,), **dict.fromkeys(CONTINUATIONS, ())}),
    "UBM": ("users.users_inner.UserBrowsingModel", {"attraction": (ITEMS,), "examination": (ITEMS, ITEMS)}),
}
ALLOWED_NAMES = frozenset({REBUILD, ARRAY, DTYPE, *(name for name, _ in CLASSES.values())})
PER_QUERY = ("attraction", "satisfaction")

# converted name: shape. UBM's examination has a row for each position and a column for the position of the last click
# (the last column: no click yet).
SCHEMA: dict[str, tuple[int, ...]] = {
    f"{model.lower()}_{name}": (QUERIES, *shape) if name in PER_QUERY else shape or (1,)
    for model, (_, arguments) in CLASSES.items()
    for name, shape in arguments.items()
}


def read(path: Path | str) -> dict[str, NDArray[Any]]:
    """The converted arrays of a file: the original pickle, or a converted ``.npz``.

    The form of the file is checked, not that it holds the published numbers: see ``content_digest``.

    Raises:
        DataError: the file is neither, or it does not hold 6 models of 60 queries. A pickle that names anything outside
            ``ALLOWED_NAMES`` is refused, and the message has the name (``RefusedPickle``).
        OSError: the file cannot be read.
    """
    data = contents(path)
    return from_npz(data) if data.startswith(NPZ) else from_pickle(data)


def contents(path: Path | str) -> bytes:
    """The bytes of a file, or a DataError if it is too large."""
    return read_bytes(path, MAX_BYTES, "yandex60")


def from_npz(data: bytes) -> dict[str, NDArray[Any]]:
    """The converted arrays of the bytes of an ``.npz`` file; raises as ``read`` does."""
    return checked(read_npz(data, MAX_UNPACKED))


def from_pickle(data: bytes) -> dict[str, NDArray[Any]]:
    """The converted arrays of the bytes of the original pickle; raises as ``read`` does."""
    collection = pickles.load(data, ALLOWED_NAMES)
    if not isinstance(collection, dict) or set(collection) != set(CLASSES):
        raise RefusedPickle(f"the pickle is not a collection of the {len(CLASSES)} models {sorted(CLASSES)}")
    arrays: dict[str, NDArray[Any]] = {}
    for model, queries in collection.items():
        ids = _query_ids(model, queries)
        if not np.array_equal(arrays.setdefault("query_id", np.array(ids, np.int64)), ids):
            raise RefusedPickle(f"the pickle has different queries for {model} than for the models before it")
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
        raise RefusedPickle(f"the pickle does not have {QUERIES} numbered queries for {model}")
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
    """The float64 array of a recorded call of numpy's array constructor, or of a plain float for shape ()."""
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
    """The arrays in ``SCHEMA``'s order; a DataError for wrong names, types, shapes, ids or probabilities."""
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
            raise DataError(f"{name} has entries that are not probabilities; allowed range [0, 1]")
    return {name: np.ascontiguousarray(arrays[name]) for name in names}


def content_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The sha256 of the names and little-endian bytes of converted arrays, in ``SCHEMA``'s order."""
    digest = hashlib.sha256()
    for name in ["query_id", *SCHEMA]:
        array = np.ascontiguousarray(arrays[name])
        digest.update(name.encode() + b"\0" + array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
