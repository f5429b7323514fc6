"""The log of a policy in memory: sessions with the probabilities of what was displayed."""

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.data.text_files import check_regular
from rankgym.kernels import first_fault
from rankgym.logs.readers import MAX_BROKEN, broken_text
from rankgym.logs.readers.lists import Faults, shown
from rankgym.logs.readers.plain import Rows, read_rows
from rankgym.logs.readers.reading import MEGABYTE, InMegabytes
from rankgym.logs.simulating.playing import Block, Simulation
from rankgym.progress import count_bar, late_bar

CHUNK = 1 << 24  # bytes read at once
PROPENSITIES = re.compile(r"propensity|(prefix_)?propensity_[0-9]+")


class PolicyLog(NamedTuple):
    """Sessions of a policy. Probabilities that the log does not have are None.

    Queries and items are numbered as those of the policies that are evaluated.

    ``played_log`` simulates one and ``read_plain`` reads one.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.evaluation import PolicyLog
        >>> lists, clicks = np.array([[0, 1], [1, 0]]), np.array([[1, 0], [0, 0]], np.int8)
        >>> log = PolicyLog(np.array([0, 0]), lists, clicks, propensity=np.array([0.7, 0.3]))
        >>> log.of(slice(1)).displayed.tolist(), log.item_propensity is None
        ([[0, 1]], True)
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
    """Play a simulation and return its log, in memory.

    Args:
        simulation: not played yet. The log takes memory for all of its sessions.

    Examples:
        >>> from rankgym.logs.evaluation import played_log
        >>> from rankgym.logs.simulating import Simulation
        >>> log = played_log(Simulation("rankgym/CM-Yandex-v0", 6, query=[0, 1], num_items=4, num_positions=2))
        >>> log.query.tolist(), log.displayed.shape
        ([0, 1, 0, 1, 0, 1], (6, 2))
        >>> log.propensity.round(4).tolist()[:2]  # of random lists: 1 / (4 * 3)
        [0.0833, 0.0833]
    """
    blocks = list(simulation.blocks())

    def whole(field: str) -> Any:
        parts = [getattr(block, field) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts)

    return PolicyLog(*(whole(field) for field in Block._fields[1:]))


def read_plain(
    path: Path | str, query_labels: NDArray[np.str_], item_labels: NDArray[np.str_], *, progress: bool = True
) -> PolicyLog:
    """Read a log in the plain format, by the rules of ``rankgym.logs.readers``; ``rankgym data simulate`` writes it.

    Lists must be full. A warning says how many lines were broken, up to 1 in 1,000, with the first of them.

    Args:
        path: a CSV, TSV or Parquet file, plain or gzipped.
        query_labels: (queries,) of the queries that the log may have; they are numbered in this order.
        item_labels: (queries, items) of each query's items.
        progress: show a progress bar if reading takes more than two seconds.

    Raises:
        DataError: the file cannot be read, or too many of its lines are broken; a ValueError.
        ValueError: a label is unknown, or a list is not full; the message names the first line that has it.

    Examples:
        >>> import pathlib, tempfile
        >>> from rankgym.logs.evaluation import read_plain
        >>> from rankgym.logs.simulating import Simulation, write_log
        >>> simulation = Simulation("rankgym/CM-Yandex-v0", 6, query=[0, 1], num_items=4, num_positions=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     write_log(simulation, path)
        ...     log = read_plain(path, simulation.query_labels, simulation.item_labels)
        >>> log.query.tolist(), log.clicks.shape
        ([0, 1, 0, 1, 0, 1], (6, 2))
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist; allowed: a log in the plain format")
    if path.is_dir():
        raise DataError(f"{path} is a folder; allowed: a log in the plain format")
    check_regular(path)
    faults, parts = Faults(MAX_BROKEN), list[PolicyLog]()
    labels = _Labels(query_labels, item_labels)
    size = path.stat().st_size
    with late_bar(progress, size // MEGABYTE, path.name, lambda: count_bar("MB")) as advance:
        for rows in read_rows(path, CHUNK, faults, InMegabytes(advance).add, PROPENSITIES):
            faults.check(finished=False)
            if len(rows.line):
                parts.append(_of_rows(path, rows, labels))
    faults.check(finished=True)
    if not parts:
        raise DataError(f"{path}, line {faults.lines}: the log ends without a session")
    if faults.broken:
        warnings.warn(broken_text(faults), stacklevel=2)

    def whole(field: str) -> Any:
        tables = [getattr(part, field) for part in parts]
        table = None if tables[0] is None else np.concatenate(tables)
        return None if table is None or np.isnan(table).all(axis=0).any() else table  # an empty column is none

    return PolicyLog(*(whole(field) for field in PolicyLog._fields))


class _Labels:
    """The numbers of an environment's labels."""

    def __init__(self, queries: NDArray[np.str_], items: NDArray[np.str_]) -> None:
        self.names = [str(label) for label in queries]
        self.queries = {label.encode(): number for number, label in enumerate(self.names)}
        self.items = [{str(label).encode(): number for number, label in enumerate(row)} for row in items]


def _of_rows(path: Path, rows: Rows, labels: _Labels) -> PolicyLog:
    """Some rows of a log; a ValueError names the first line with a label that the environment does not have."""
    positions = len(rows.columns) // 2
    query = _query_numbers(path, rows, labels)
    displayed = _item_numbers(path, rows, query, labels)
    bits = np.arange(positions, dtype=np.uint64)
    clicks = ((rows.lists.clicks[:, None] >> bits) & np.uint64(1)).astype(np.int8)

    def floats(names: list[str]) -> Any:
        there = all(name in rows.numbers for name in names)
        return np.stack([rows.numbers[name] for name in names], axis=1) if there else None

    lists = floats(["propensity"])
    numbers = range(1, positions + 1)
    tables = [floats([f"{name}_{k}" for k in numbers]) for name in ("propensity", "prefix_propensity")]
    return PolicyLog(query, displayed, clicks, None if lists is None else lists[:, 0], *tables)


def _query_numbers(path: Path, rows: Rows, labels: _Labels) -> NDArray[np.int64]:
    """The number of each row's query."""
    coded = rows.columns[0].dictionary_encode()
    known = np.array([labels.queries.get(word, -1) for word in coded.dictionary.to_pylist()], np.int64)
    query: NDArray[np.int64] = known[coded.indices.to_numpy()]
    if (query < 0).any():
        row = int((query < 0).argmax())
        told = f"query = {_text(rows.columns[0], row)} is in the log, but not in the environment"
        raise ValueError(f"{path}, {rows.what} {rows.line[row]}: {told}; allowed: its own queries")
    return query


def _item_numbers(path: Path, rows: Rows, query: NDArray[np.int64], labels: _Labels) -> NDArray[np.int64]:
    """The numbers of each row's items within its query, (rows, positions)."""
    columns = rows.columns[1 : len(rows.columns) // 2 + 1]
    asked, at = np.unique(query, return_inverse=True)
    displayed = np.empty((len(query), len(columns)), np.int64)
    for k, column in enumerate(columns):
        coded = column.dictionary_encode()
        words = coded.dictionary.to_pylist()
        known = np.array([[labels.items[one].get(word, -1) for word in words] for one in asked.tolist()], np.int64)
        displayed[:, k] = known[at, coded.indices.to_numpy()]
        if (displayed[:, k] < 0).any():
            row = int((displayed[:, k] < 0).argmax())
            where = f"{path}, {rows.what} {rows.line[row]}"
            if not column[row].as_py():
                raise ValueError(f"{where}: item_{k + 1} is empty; allowed: an item at each position")
            told = f"item_{k + 1} = {_text(column, row)} is not an item of query {labels.names[query[row]]!r}"
            raise ValueError(f"{where}: {told} in the environment")
    return displayed


def _text(column: Any, row: int) -> str:
    return shown(column[row].as_py())
