"""Fits of click models in a table that a person can write in a spreadsheet (CSV): read and checked.

The first line names the columns: ``query``, ``item``, ``rank``, ``position``, ``previous`` (those that are needed), and
a column for each parameter of the model. What a line is about shows in which of them are filled:

* a line with an ``item`` has the parameters by item, such as attraction and satisfaction. The items of a query stand in
  the order of the initial list, or ``rank`` gives it, from 1;
* a line with a ``position``, from 1, has those by position, such as the PBM's examination. With a column ``previous``
  they depend on the position of the previous click as well (UBM); it is empty where there was no click yet;
* a line with neither has numbers, such as the DBN's abandonment.

Lines of the latter two without a ``query`` hold for all queries. Without a column ``query`` there is one query.
"""

import csv
import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near
from rankgym.data.errors import DataError
from rankgym.data.fits import Fits, checked
from rankgym.data.text_files import text_lines

MAX_BYTES = 100_000_000  # of a file: reading takes thirty times as much memory
LONGEST_LINE = 1_000_000  # bytes
DELIMITERS = (",", ";", "\t")
KEYS = ("query", "item", "rank", "position", "previous")
MOST_POSITIONS = 1_000
WHOLE = re.compile(r"([0-9]{1,11})(?:\.0*)?")  # 3.0, too: pandas writes a column with empty cells as floats
ONLY_QUERY = "0"  # the label of the query of a file without queries

Key = tuple[str, ...]  # of a cell: (query, item), (query, position[, previous]) or (query,)


class Cell(NamedTuple):
    """A number of the file, and the line where it stands."""

    value: float
    line: int


def is_fits_table(data: bytes) -> bool:
    """Whether a file's bytes begin with a line of column names, of which one is ``attraction`` or ``query``."""
    first = data[:65_536].removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    names = [
        name.strip().strip(b'"').lower()
        for one in first
        for name in one.replace(b";", b",").replace(b"\t", b",").split(b",")
    ]
    return len(names) > 1 and (b"attraction" in names or b"query" in names or b"item" in names)


def from_csv(data: bytes, label: str) -> Fits:
    """The fits of a file's bytes; messages call the file ``label``.

    Raises:
        DataError: the file does not hold fits; the message has the line, the column, the value and what is allowed.
    """
    table = _Table(label)
    table.delimiter = _delimiter(data, label)
    lines = _lines(data, label)
    line, names = next(lines, (1, []))
    table.take_names(names, line)
    for line, fields in lines:
        table.take(fields, line)
    return checked(table.fits(hashlib.sha256(data).hexdigest()))


def _lines(data: bytes, label: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not empty."""
    reader = csv.reader(_text_lines(data, label), delimiter=_delimiter(data, label), strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise DataError(f"{label}, line {reader.line_num}: this is not CSV: {error}") from None


def _text_lines(data: bytes, label: str) -> Iterator[str]:
    return text_lines(data, label, LONGEST_LINE, "a CSV file in UTF-8")


def _delimiter(data: bytes, label: str) -> str:
    """What separates the columns: the most frequent of ``DELIMITERS`` in the first line."""
    return max(DELIMITERS, key=next(_text_lines(data, label), "").count)


class _Table:
    """What was read of a file."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.delimiter = DELIMITERS[0]
        self.names: list[str] = []
        self.items: dict[str, dict[str, tuple[int, int]]] = {}  # by query and item: (rank, line)
        self.ranked: dict[tuple[str, int], str] = {}  # the item of a query and rank
        self.cells: dict[str, dict[Key, Cell]] = {}  # by parameter and key
        self.lines: dict[Key, int] = {}  # where a key first stands, whichever parameters it has
        self.kind: dict[str, tuple[str, int]] = {}  # by parameter: what its lines are about, and the first of them

    def wrong(self, line: int, said: str, column: str = "") -> DataError:
        place = f", column {column!r}" if column else ""
        return DataError(f"{self.label}, line {line}{place}: {said}")

    def take_names(self, names: list[str], line: int) -> None:
        self.names = names
        for name in names:
            if not name.isidentifier() or names.count(name) > 1:
                twice = "stands here twice" if name.isidentifier() else "is not a name of a column"
                pandas = "" if name else "; pandas: to_csv(..., index=False)"
                raise self.wrong(line, f"{name!r} {twice}; allowed: letters, digits and _, each name once{pandas}")
        for needed in ("item", "attraction"):
            if needed not in names:
                hint = near(needed, names).replace("did you mean", "is it called")
                allowed = f"allowed: {', '.join(KEYS)} and the model's parameters; item and attraction are needed"
                raise self.wrong(line, f"there is no column {needed!r}{hint or ';'} {allowed}")
        self.cells = {name: {} for name in names if name not in KEYS}

    def take(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self.names):
            raise self.wrong(line, f"it has {len(fields)} entries; allowed: {len(self.names)}, as many as names")
        row = dict(zip(self.names, fields, strict=True))
        query, item = row.get("query", ONLY_QUERY), row.get("item", "")
        position, previous = row.get("position", ""), row.get("previous", "")
        if item and (position or previous):
            raise self.wrong(line, "it has an item and a position; allowed: one of them in a line")
        if item:
            kind = "item"
            key: Key = (query, item)
            self._take_item(row, query, item, line)
        elif position or previous:
            at = str(self._whole(position, "position", 1, MOST_POSITIONS, line))
            before = (str(self._whole(previous, "previous", 1, int(at) - 1, line)) if previous else "",)
            kind = "position"
            key = (row.get("query", ""), at, *(before if "previous" in self.names else ()))
        else:
            kind = "number"
            key = (row.get("query", ""),)
        if row.get("rank", "") and kind != "item":
            raise self.wrong(line, f"{row['rank']!r} is the rank of no item; allowed: only with an item", "rank")
        self.lines.setdefault(key, line)
        for name, cells in self.cells.items():
            if row[name]:
                self._take_cell(name, cells, kind, key, row[name], line)

    def _take_item(self, row: dict[str, str], query: str, item: str, line: int) -> None:
        if not query:
            raise self.wrong(line, f"item {item!r} has no query; allowed: the query's label", "query")
        items = self.items.setdefault(query, {})
        if item in items:
            raise self.wrong(line, f"{item!r} of query {query!r} stands in line {items[item][1]} already", "item")
        rank = self._whole(row["rank"], "rank", 1, 10**9, line) if "rank" in row else len(items) + 1
        other = self.ranked.setdefault((query, rank), item)
        if other != item:
            said = f"{rank} is the rank of {other!r}, line {items[other][1]}; allowed: different ones"
            raise self.wrong(line, said, "rank")
        items[item] = rank, line

    def _take_cell(self, name: str, cells: dict[Key, Cell], kind: str, key: Key, text: str, line: int) -> None:
        known, first = self.kind.setdefault(name, (kind, line))
        if known != kind:
            said = f"it is given by {kind} here and by {known} in line {first}; allowed: one of them in the file"
            raise self.wrong(line, said, name)
        if key in cells:
            raise self.wrong(line, f"{text!r} is given again, after line {cells[key].line}", name)
        try:
            if "_" in text or not text.isascii():  # float() would take it
                raise ValueError
            value = float(text)
        except ValueError:
            hint = "; write a decimal point" if "," in text else ""
            raise self.wrong(line, f"{_short(text)} is not a number; allowed range [0, 1]{hint}", name) from None
        if not 0 <= value <= 1:
            raise self.wrong(line, f"{_short(text)} is not a probability; allowed range [0, 1]", name)
        cells[key] = Cell(value, line)

    def _whole(self, text: str, column: str, least: int, most: int, line: int) -> int:
        whole = WHOLE.fullmatch(text)
        if whole is None or not least <= int(whole[1]) <= most:
            allowed = f"a whole number in {least} .. {most}" if least <= most else "empty: no click yet"
            raise self.wrong(line, f"{_short(text)} is out of range; allowed: {allowed}", column)
        return int(whole[1])

    # -- as fits -------------------------------------------------------------------------------------------------------

    def fits(self, sha256: str) -> Fits:
        if not self.items:
            raise DataError(f"{self.label} has no line with an item; allowed: a line for each item of a query")
        (first, items), *others = self.items.items()
        for query, its in others:
            if len(its) != len(items):
                many = f"query {query!r} has {len(its)} items, and query {first!r} has {len(items)}"
                raise self.wrong(max(line for _, line in its.values()), f"{many}; allowed: as many in each query")
        for name in self.cells:
            if name not in self.kind:
                raise self.wrong(1, "the column is empty; allowed: numbers in [0, 1], or no such column", name)
        order = {query: sorted(its, key=lambda item, its=its: its[item][0]) for query, its in self.items.items()}  # type: ignore[misc]
        tables, axes = {}, {}
        for name in self.cells:
            tables[name], axes[name] = self._table(name, order)
        provenance = {"file": self.label.replace("\\", "/").rpartition("/")[2], "sha256": sha256}
        return Fits(np.array(list(order)), np.array(list(order.values())), tables, axes, provenance=provenance)

    def _table(self, name: str, order: dict[str, list[str]]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """The values of a parameter, (queries, *axes), and its axes."""
        cells, (kind, _) = self.cells[name], self.kind[name]
        for query, *_ in cells:
            if query and query not in order:
                line = next(cell.line for key, cell in cells.items() if key[0] == query)
                raise self.wrong(
                    line, f"query {query!r} has no items; allowed: one that has, or no query, for all", name
                )
        if kind == "item":
            table = [[self._cell(name, query, item) for item in items] for query, items in order.items()]
            return np.array(table), ("item",)
        if kind == "number":
            return np.array([self._cell(name, query) for query in order]), ()
        last = self._last_position()
        positions = range(1, last + 1)
        if "previous" not in self.names:
            return np.array([[self._cell(name, query, str(k)) for k in positions] for query in order]), ("position",)
        found = np.zeros((len(order), last, last))
        for number, query in enumerate(order):
            for k in positions:
                for before in range(1, k):
                    found[number, k - 1, before - 1] = self._cell(name, query, str(k), str(before))
                found[number, k - 1, -1] = self._cell(name, query, str(k), "")
        return found, ("position", "previous")

    def _last_position(self) -> int:
        """The last position of all parameters."""
        by_position = [name for name, (kind, _) in self.kind.items() if kind == "position"]
        return max(int(key[1]) for name in by_position for key in self.cells[name])

    def _cell(self, name: str, query: str, *rest: str) -> float:
        """A query's own value, or that of all queries."""
        cells = self.cells[name]
        found: Any = cells.get((query, *rest)) or (cells.get(("", *rest)) if self.kind[name][0] != "item" else None)
        if found is None:
            raise self._missing(name, query, *rest)
        return float(found.value)

    def _missing(self, name: str, query: str, *rest: str) -> DataError:
        """The error for a parameter without a value: the line that lacks it, or the line to add."""
        kind = self.kind[name][0]
        where = f" at {kind} {rest[0]!r}" if rest else ""
        after = f" after {f'a click at {rest[1]}' if rest[1] else 'no click yet'}" if len(rest) > 1 else ""
        what = f"{name} of query {query!r}{where}{after} is missing"
        line = self.lines.get((query, *rest)) or (self.lines.get(("", *rest)) if kind != "item" else None)
        if line is not None:
            return self.wrong(line, f"{what}; allowed: a number in [0, 1]", name)
        others = [key[0] for key in self.lines if key[1:] == rest and kind == "position"]
        those = f" (there is one for query {others[0]!r} only)" if others else ""
        whom = f"for query {query!r}, or without it for all" if others else "for all queries"
        entries = {"query": _quoted(query) if others else "", name: "0.5"}
        entries |= dict(zip(("position", "previous"), rest, strict=False)) if kind == "position" else {}
        example = self.delimiter.join(entries.get(column, "") for column in self.names)
        return DataError(f"{self.label}: {what}, as there is no such line{those}; add one {whom}, such as {example}")


def _quoted(text: str) -> str:
    """A label as a line of a CSV file has it; "QUERY" in place of one that does not fit into a message."""
    if not text.isprintable():
        return "QUERY"
    return text if re.fullmatch(r"[\w .-]*", text) else '"' + text.replace('"', '""') + '"'


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")
