"""The log of a policy in memory: sessions with the probabilities of what was displayed."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.extras import require
from rankgym.kernels import first_fault
from rankgym.logs.simulating.playing import Block, Simulation
from rankgym.logs.simulating.writing import plain_columns


class PolicyLog(NamedTuple):
    """Sessions of a policy. Probabilities that the log does not have are None.

    Queries and items are numbered as those of the policies that are evaluated.
    """

    query: NDArray[np.int64]  # (sessions,)
    displayed: NDArray[np.int64]  # (sessions, positions) items
    clicks: NDArray[np.int8]  # (sessions, positions) 0 or 1
    propensity: NDArray[np.float64] | None = None  # (sessions,) of the whole list
    item_propensity: NDArray[np.float64] | None = None  # (sessions, positions) of the item at this position
    prefix_propensity: NDArray[np.float64] | None = None  # (sessions, positions) of the items down to this position

    def of(self, rows: Any) -> "PolicyLog":
        """Return some of the sessions: a slice, a mask, or numbers."""
        return PolicyLog(*(None if array is None else array[rows] for array in self))  # type: ignore[arg-type]


def checked_log(log: PolicyLog, num_items: int, num_positions: int, num_queries: int | None) -> PolicyLog:
    """Return the log with arrays of the right dtypes; a ValueError names what does not fit."""
    query, displayed, clicks = np.asarray(log.query), np.asarray(log.displayed), np.asarray(log.clicks)
    shape = (len(query), num_positions)
    if query.ndim != 1 or not len(query) or displayed.shape != shape or clicks.shape != shape:
        shapes = f"query has shape {query.shape}, displayed {displayed.shape}, clicks {clicks.shape}"
        raise ValueError(f"{shapes}; allowed: (sessions,), (sessions, {num_positions}) and the same, 1 session or more")
    if query.dtype.kind not in "iu" or displayed.dtype.kind not in "iu":
        raise ValueError(f"query has dtype {query.dtype} and displayed {displayed.dtype}; allowed: whole numbers")
    most = None if num_queries is None else num_queries - 1
    wrong = (query < 0) | (query > (query if most is None else most))
    if wrong.any():
        place = int(wrong.argmax())
        allowed = "0 or more" if most is None else f"0 .. {most}"
        raise ValueError(f"query[{place}] = {query[place]} is out of range; allowed: {allowed}")
    displayed = np.ascontiguousarray(displayed, np.int64)
    place = first_fault(displayed, num_items)
    if place >= 0:
        allowed = f"allowed: {num_positions} different items out of 0 .. {num_items - 1}"
        raise ValueError(f"displayed[{place}] = {displayed[place].tolist()} is not a list; {allowed}")
    bad = ~((clicks == 0) | (clicks == 1))
    if bad.any():
        place = int(bad.any(axis=1).argmax())
        raise ValueError(f"clicks[{place}] = {clicks[place].tolist()}; allowed: 0 and 1")
    propensities = {
        name: _checked_propensity(name, getattr(log, name), shape[: 1 if name == "propensity" else 2])
        for name in PolicyLog._fields[3:]
    }
    return PolicyLog(query.astype(np.int64), displayed, clicks.astype(np.int8), **propensities)


def _checked_propensity(name: str, values: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    if values is None:
        return None
    table = np.asarray(values, np.float64)
    if table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; allowed: {shape}")
    wrong = ~((table > 0) & (table <= 1 + 1e-9))  # also NaN
    if wrong.any():
        place = [int(index) for index in np.argwhere(wrong)[0]]
        allowed = "allowed: a probability above 0, as what was displayed can be displayed"
        raise ValueError(f"{name}{place} = {table[tuple(place)]} is out of range; {allowed}")
    return table


def played_log(simulation: Simulation) -> PolicyLog:
    """Play a simulation and return its log, in memory."""
    blocks = list(simulation.blocks())

    def whole(field: str) -> Any:
        parts = [getattr(block, field) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    return PolicyLog(*(whole(field) for field in Block._fields[1:]))


def read_plain(path: Path | str, query_labels: NDArray[np.str_], item_labels: NDArray[np.str_]) -> PolicyLog:
    """Read a log in the plain format, as ``rankgym data simulate`` writes it.

    Args:
        path: a file whose name ends in .csv, .tsv or .parquet, or in .csv.gz or .tsv.gz.
        query_labels: (queries,) of the queries that the log may have; they are numbered in this order.
        item_labels: (queries, items) of each query's items.

    Raises:
        ValueError: a column is missing, or a label is unknown; the message names the first session that has it.
    """
    path = Path(path)
    table = _plain_table(path)
    names = set(table.column_names)
    positions = sum(1 for name in names if name.startswith("item_") and name[5:].isdigit())
    needed = plain_columns(positions)[: 2 + 2 * positions]
    missing = [name for name in needed if name not in names] or ([] if positions else ["item_1"])
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; allowed: a log in the plain format, with {needed}")
    for name in needed[1:]:
        if table[name].null_count:
            place = int(np.argmin(table[name].is_valid().to_numpy())) + 1
            raise ValueError(f"{path}: {name} is empty in line {place} of the table; allowed: a value in each line")
    query = _numbers_of("query", table["query"], query_labels)
    columns = [table[f"item_{k}"] for k in range(1, positions + 1)]
    displayed = _item_numbers(columns, query, query_labels, item_labels)
    clicks = np.stack([table[f"click_{k}"].cast("int8").to_numpy() for k in range(1, positions + 1)], axis=1)

    def floats(columns: list[str]) -> Any:
        if any(name not in names or table[name].null_count == table.num_rows for name in columns):
            return None
        return np.stack([table[name].cast("double").to_numpy().astype(np.float64) for name in columns], axis=1)

    lists = floats(["propensity"])
    tables = [floats([f"{name}_{k}" for k in range(1, positions + 1)]) for name in ("propensity", "prefix_propensity")]
    return PolicyLog(query, displayed, clicks, None if lists is None else lists[:, 0], *tables)


def _plain_table(path: Path) -> Any:
    """Return a pyarrow table with text columns for labels."""
    if not path.exists():
        raise ValueError(f"{path} does not exist; allowed: a log in the plain format")
    pa, name = require("pyarrow"), path.name.lower()
    if name.endswith(".parquet"):
        table = require("pyarrow.parquet").read_table(path)
    else:
        csv = require("pyarrow.csv")
        delimiter = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
        compression = "gzip" if name.endswith(".gz") else None
        with pa.input_stream(path, compression=compression) as file:
            header = csv.open_csv(file, parse_options=csv.ParseOptions(delimiter=delimiter)).schema.names
        text = {one: pa.string() for one in header if one == "query" or one.startswith("item_")}
        numbers = {one: pa.float64() for one in header if "propensity" in one}
        convert = csv.ConvertOptions(column_types={**text, **numbers}, strings_can_be_null=False)
        with pa.input_stream(path, compression=compression) as file:
            options = {"parse_options": csv.ParseOptions(delimiter=delimiter), "convert_options": convert}
            table = csv.read_csv(file, **options)
    labels = [one for one in table.column_names if one == "query" or one.startswith("item_")]
    for one in labels:
        table = table.set_column(table.column_names.index(one), one, table[one].cast(pa.string()))
    return table


def _numbers_of(name: str, column: Any, labels: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return the place of each of a column's texts among ``labels``."""
    coded = column.combine_chunks().dictionary_encode()
    known = {label: number for number, label in enumerate(labels.tolist())}
    words = coded.dictionary.to_pylist()
    unknown = [word for word in words if word not in known]
    if unknown:
        raise ValueError(f"{name} = {unknown[0]!r} is in the log, but not in the environment; allowed: its own queries")
    codes = np.array([known[word] for word in words], np.int64)
    return codes[coded.indices.to_numpy()]


def _item_numbers(
    columns: list[Any], query: NDArray[np.int64], query_labels: NDArray[np.str_], item_labels: NDArray[np.str_]
) -> NDArray[np.int64]:
    """Return the numbers of the items of ``columns`` within their queries, (sessions, positions)."""
    words: dict[str, int] = {}
    coded = [column.combine_chunks().dictionary_encode() for column in columns]
    for one in coded:
        for word in one.dictionary.to_pylist():
            words.setdefault(word, len(words))
    number = np.full((len(query_labels), len(words)), -1, np.int64)  # of a word, for each query
    for row, labels in enumerate(item_labels.tolist()):
        for item, label in enumerate(labels):
            if label in words:
                number[row, words[label]] = item
    displayed = np.empty((len(query), len(columns)), np.int64)
    for k, one in enumerate(coded):
        code = np.array([words[word] for word in one.dictionary.to_pylist()], np.int64)
        displayed[:, k] = number[query, code[one.indices.to_numpy()]]
        if (displayed[:, k] < 0).any():
            place = int((displayed[:, k] < 0).argmax())
            told = f"item_{k + 1} = {columns[k][place].as_py()!r} in line {place + 1} of the table"
            raise ValueError(f"{told} is not an item of query {str(query_labels[query[place]])!r} in the environment")
    return displayed
