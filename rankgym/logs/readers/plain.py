"""A plain table of sessions, a line for each: CSV, TSV (UTF-8, plain or gzipped) or Parquet.

    query,item_1,...,item_K,click_1,...,click_K

``item_1`` is the document at the first position, ``click_1`` whether it was clicked: 0 or 1. A list that is shorter
than K has empty entries at its end. Labels may stand in quotes and hold any character but a line end. Other columns,
such as ``session`` and ``propensity``, are left alone. In text the first line has the names of the columns, and commas,
semicolons or tabs separate them; a line that is broken is left out and counted. In Parquet, labels are text or whole
numbers, and a list's end is null; lines are rows, counted from 1.
"""

import difflib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near
from rankgym.data.errors import DataError
from rankgym.extras import require
from rankgym.kernels import kernel
from rankgym.logs.readers.lines import chunks
from rankgym.logs.readers.lists import LONGEST_LABEL, Faults, Lists, shown
from rankgym.logs.sessions import MOST_POSITIONS

PARQUET = b"PAR1"  # the first bytes of a Parquet file
DELIMITERS = (b",", b";", b"\t")
NUMBERED = re.compile(r"(item|click)_([1-9][0-9]{0,3})")
OTHERWISE = re.compile(r"(item|click)_[0-9]+")  # such as item_0 and item_01
SIMILAR = re.compile(r"([a-z]+)[ _.-]?([0-9]{1,4})"), 0.7  # names that may have been meant so, from this likeness on
DOT, ZERO, ONE = b".01"
WORDS = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
ROW_BYTES = 200  # about, of a row of a Parquet file

FINE, NO_QUERY, LONG, GAP, TWICE, CLICK, NO_ITEM, NO_LIST = range(8)  # what is wrong with a row
NONE, OTHER = 2, 3  # clicks that are not 0 or 1: an empty cell, anything else


@kernel
def same_labels(text, one, one_end, other, other_end):
    """Whether two labels of ``text`` are equal."""
    same = one_end - one == other_end - other
    while same and one < one_end:  # from the end: labels that are not equal often begin alike
        one_end, other_end = one_end - 1, other_end - 1
        same = text[one_end] == text[other_end]
    return same


@kernel
def is_word(text, begin, end, word):
    """Whether a label is a ``word`` of small letters, in capitals or not."""
    same = end - begin == word.shape[0]
    k = 0
    while same and k < word.shape[0]:
        same = text[begin + k] | 32 == word[k]
        k += 1
    return same


@kernel
def click_of(text, begin, end, words):
    """What stands in a cell for a click: 0, 1, NONE or OTHER. ``words`` are "true" and "false"."""
    if end == begin:
        return NONE
    whole = end == begin + 1 or (end == begin + 3 and text[begin + 1] == DOT and text[begin + 2] == ZERO)  # 1.0: pandas
    if whole and (text[begin] == ZERO or text[begin] == ONE):
        return int(text[begin] == ONE)
    for value in range(2):
        if is_word(text, begin, end, words[1 - value]):
            return value
    return OTHER


@kernel
def check_row(text, start, rows, row, positions, words, most, item, items):
    """Write a row's documents to ``item`` from ``items`` on; return the fault, their number, and the clicks.

    ``start`` (labels + 1,): where each cell begins: those of a column stand together, and the columns are those of
    ``_names``. ``most``: bytes of a label.
    """
    length, bits = 0, np.uint64(0)
    if start[row + 1] == start[row]:
        return NO_QUERY, length, bits
    if start[row + 1] - start[row] > most:
        return LONG, length, bits
    for k in range(positions):
        cell = (k + 1) * rows + row
        begin, end = start[cell], start[cell + 1]
        cell += positions * rows
        click = click_of(text, start[cell], start[cell + 1], words)
        if click == OTHER or (click == NONE and end > begin):
            return CLICK, length, bits
        if end == begin:
            if click == 1:
                return NO_ITEM, length, bits
            continue
        if length < k:
            return GAP, length, bits
        if end - begin > most:
            return LONG, length, bits
        for other in range(items, items + length):
            if same_labels(text, begin, end, item[other, 0], item[other, 1]):
                return TWICE, length, bits
        item[items + length, 0], item[items + length, 1] = begin, end
        length += 1
        if click == 1:
            bits |= np.uint64(1) << np.uint64(k)
    return (FINE if length > 0 else NO_LIST), length, bits


@kernel
def check_rows(text, start, rows, positions, words, most, query, first, item, clicks, fault):
    """Fill the arrays of ``Lists`` with the fine rows, and ``fault`` (rows,); return how many are fine."""
    lists, items = 0, 0
    first[0] = 0
    for row in range(rows):
        fault[row], length, bits = check_row(text, start, rows, row, positions, words, most, item, items)
        if fault[row] == FINE:
            query[lists, 0], query[lists, 1] = start[row], start[row + 1]
            clicks[lists] = bits
            items += length
            lists += 1
            first[lists] = items
    return lists


class Rows(NamedTuple):
    """Rows of a table that are fine."""

    lists: Lists
    columns: list[Any]  # those of ``_names``: pyarrow arrays of bytes, (lists,) each
    numbers: dict[str, NDArray[np.float64]]  # (lists,) each, of further columns; NaN: empty
    line: NDArray[np.int64]  # (lists,) their numbers in the file, from 1
    what: str  # what is counted: "line" or "row"


def read_table(path: Path, size: int, faults: Faults, progress: Callable[[int], None]) -> Iterator[Lists]:
    """Yield the lists of a table, about ``size`` bytes at a time; arguments and errors as for ``read_pages_of``."""
    for table in _tables(path, size, faults, progress, None):
        yield _checked(path, table, faults)[0]


def read_rows(
    path: Path, size: int, faults: Faults, progress: Callable[[int], None], numbers: re.Pattern[str]
) -> Iterator[Rows]:
    """Yield the rows of a table as ``read_table`` does, with the ``numbers`` in the columns of such names."""
    arrow = require("pyarrow")
    for table in _tables(path, size, faults, progress, numbers):
        lists, fault = _checked(path, table, faults)
        fine = arrow.array(fault == FINE)
        line = table.line[fault == FINE]
        wanted = {name: column.filter(fine) for name, column in table.numbers.items()}
        places = {name: _numbers(path, name, column, line, table.what) for name, column in wanted.items()}
        yield Rows(lists, [column.filter(fine) for column in table.columns], places, line, table.what)


class _Table(NamedTuple):
    """Some rows of a file, before they are checked."""

    columns: list[Any]  # those of ``_names``: pyarrow arrays of bytes
    numbers: dict[str, Any]  # further columns: of bytes or numbers
    positions: int
    line: NDArray[np.int64]
    what: str


def _tables(
    path: Path, size: int, faults: Faults, progress: Callable[[int], None], numbers: re.Pattern[str] | None
) -> Iterator[_Table]:
    with path.open("rb") as file:
        is_parquet = file.read(len(PARQUET)) == PARQUET
    yield from (_from_parquet if is_parquet else _from_text)(path, size, faults, progress, numbers)


def _numbers(path: Path, name: str, column: Any, line: NDArray[np.int64], what: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where it is empty; a DataError names the first cell that has something else."""
    arrow, compute = require("pyarrow"), require("pyarrow.compute")
    kinds = arrow.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
        texts = (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_null)
        if not any(is_kind(column.type) for is_kind in texts):
            raise DataError(f"{path}: column {name!r} has values of type {column.type}; allowed: numbers")
        text = column.cast(arrow.binary())
        column = compute.if_else(compute.equal(text, b""), arrow.scalar(None, arrow.binary()), text)
        try:
            column = column.cast(arrow.string()).cast(arrow.float64())
        except arrow.ArrowInvalid:
            for row, cell in enumerate(column.to_pylist()):
                if cell is not None and not _is_number(cell):
                    where = f"{path}, {what} {line[row]}"
                    raise DataError(f"{where}: {name} = {shown(cell)}; allowed: a number, or nothing") from None
            raise DataError(f"{path}: column {name!r} has a cell that is no number; allowed: numbers") from None
    floats = column.cast(arrow.float64(), safe=False)  # whole numbers beyond 2^53 are rounded
    return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# -- columns ----------------------------------------------------------------------------------------------------------


def _positions(names: list[str], place: str) -> int:
    """The number of positions of a table with these columns; a DataError if they are not those of a log."""
    _refuse_twice([name for name in names if name == "query" or NUMBERED.fullmatch(name)], place)
    found = {"item": set[int](), "click": set[int]()}
    for name in names:
        if OTHERWISE.fullmatch(name) and not NUMBERED.fullmatch(name):
            kind = name.partition("_")[0]
            raise DataError(
                f"{place}: there is a column {name!r}; allowed: {kind}_1 for the top position, {kind}_2, ..."
            )
        if match := NUMBERED.fullmatch(name):
            found[match[1]].add(int(match[2]))
    last = max([1, *found["item"], *found["click"]])
    if last > MOST_POSITIONS:
        raise DataError(f"{place}: position {last} is out of range; allowed: 1 .. {MOST_POSITIONS}")
    wanted = ["query", *(f"{kind}_{k}" for kind in found for k in range(1, last + 1))]
    others = [name for name in names if name not in wanted]
    missing = [name for name in wanted if name not in names]
    if missing:
        allowed = "allowed: query, item_1 ... item_K, click_1 ... click_K, and any others"
        listed = ", ".join(map(ascii, names[:8])) + (", ..." if len(names) > 8 else "")
        hint = near(missing[0], others)
        other = _other_form(names)
        raise DataError(
            f"{place}: there is no column {missing[0]!r}{_is_there(hint)} {allowed}; found: {listed}{other}"
        )
    for name in others:
        if meant := _meant(name, last):
            raise DataError(
                f"{place}: there is a column {name!r}; is it {meant!r}? allowed: that name, or one unlike it"
            )
    return last


def _more(names: list[str], numbers: re.Pattern[str] | None, place: str) -> list[str]:
    """The further columns that are read; a DataError if one of them stands there twice."""
    more = [name for name in names if numbers is not None and numbers.fullmatch(name)]
    _refuse_twice(more, place)
    return more


def _refuse_twice(names: list[str], place: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{place}: column {name!r} stands here twice; allowed: each name once")


def _meant(name: str, last: int) -> str:
    """The column below the ``last`` position that this name was meant to be; '': none."""
    pattern, least = SIMILAR
    match = pattern.fullmatch(name.lower())
    if match is None or int(match[2]) <= last:
        return ""
    kinds = difflib.get_close_matches(match[1], ["item", "click"], n=1, cutoff=least)
    return f"{kinds[0]}_{int(match[2])}" if kinds else ""


def _other_form(names: list[str]) -> str:
    """What to do if the first line is one of another form of log."""
    kind = names[2] if len(names) > 2 else ""
    if names[1:2] == ["M"] or (kind in ("Q", "T") and "," in names[-1]):
        return "; it looks like a log of form 'personalised'"
    return "; it looks like a log of form 'relevance'" if kind in ("Q", "C") else ""


def _is_there(hint: str) -> str:
    return hint.replace("did you mean", "is it").replace("?", "?;") if hint else ";"


def _names(positions: int) -> list[str]:
    """The columns that are read."""
    numbers = range(1, positions + 1)
    return ["query", *(f"item_{k}" for k in numbers), *(f"click_{k}" for k in numbers)]


# -- text -------------------------------------------------------------------------------------------------------------


def _from_text(
    path: Path, size: int, faults: Faults, progress: Callable[[int], None], numbers: re.Pattern[str] | None
) -> Iterator[_Table]:
    names: list[str] = []
    more: list[str] = []
    delimiter, positions = b",", 0
    for chunk in chunks(path, size, faults, progress):
        data, before = chunk.data, chunk.before
        if not names:
            while data.startswith(b"\n"):
                if why := chunk.left_out.get(before + 1):
                    raise DataError(f"{path}, line {before + 1}: {why}; allowed: the names of the columns")
                data, before = data[1:], before + 1
            if not data:
                continue
            head, _, data = data.partition(b"\n")
            delimiter = max(DELIMITERS, key=head.count)
            names = [name.strip().strip('"') for name in head.decode().split(delimiter.decode())]
            before += 1
            place = f"{path}, line {before}"
            positions, more = _positions(names, place), _more(names, numbers, place)
        if data.strip(b"\n"):
            yield _parsed(path, data, before, names, delimiter, positions, more, faults)
    if not names:
        raise DataError(f"{path}, line 1: the file has no line of column names; allowed: query,item_1,...,click_1,...")


def _parsed(
    path: Path,
    data: bytes,
    before: int,
    names: list[str],
    delimiter: bytes,
    positions: int,
    more: list[str],
    faults: Faults,
) -> _Table:
    """The table of some lines, ``before`` of which stand before them, with ``more`` columns."""
    arrow, csv = require("pyarrow"), require("pyarrow.csv")
    if b'"' in data:
        data = _without_open_quotes(path, data, before, faults)
    wrong: list[tuple[int, int]] = []  # number among the lines that are not empty, from 1; columns

    def leave_out(row: Any) -> str:
        wrong.append((row.number, row.actual_columns))
        return "skip"

    wanted = [*_names(positions), *more]
    table = csv.read_csv(
        io.BytesIO(data),
        read_options=csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
        parse_options=csv.ParseOptions(delimiter=delimiter.decode(), invalid_row_handler=leave_out),
        convert_options=csv.ConvertOptions(
            include_columns=wanted, column_types={name: arrow.binary() for name in wanted}, check_utf8=False
        ),
    )
    line = _line_numbers(data) + before
    for number, found in wrong:
        faults.add(path, int(line[number - 1]), f"it has {found} columns; allowed: {len(names)}, as many as names")
    line = np.delete(line, [number - 1 for number, _ in wrong])
    columns = {name: table.column(name).combine_chunks() for name in wanted}
    numbers = {name: columns.pop(name) for name in more}
    return _Table(list(columns.values()), numbers, positions, line, "line")


def _line_numbers(data: bytes) -> NDArray[np.int64]:
    """The numbers, from 1, of the lines that are not empty."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return np.flatnonzero(np.diff(ends, prepend=-1) > 1) + 1


def _without_open_quotes(path: Path, data: bytes, before: int, faults: Faults) -> bytes:
    """The same lines; those whose quotes are not closed are emptied, and counted as broken."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        if line.count(b'"') % 2:
            lines[number] = b""
            faults.add(path, before + number + 1, "a quote is not closed; allowed: labels without line ends")
    return b"\n".join(lines)


# -- Parquet ----------------------------------------------------------------------------------------------------------


def _from_parquet(
    path: Path, size: int, faults: Faults, progress: Callable[[int], None], numbers: re.Pattern[str] | None
) -> Iterator[_Table]:
    parquet = require("pyarrow.parquet")
    seen, length = 0, path.stat().st_size
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            positions, more = _positions(names, str(path)), _more(names, numbers, str(path))
            wanted, rows = _names(positions), file.metadata.num_rows
            for batch in file.iter_batches(max(size // ROW_BYTES, 1), columns=[*wanted, *more], use_threads=False):
                line = np.arange(seen + 1, seen + 1 + batch.num_rows)
                faults.lines += batch.num_rows
                columns = [_as_bytes(batch.column(name), name, path) for name in wanted]
                yield _Table(columns, {name: batch.column(name) for name in more}, positions, line, "row")
                progress(length * (seen + batch.num_rows) // rows - length * seen // rows)
                seen += batch.num_rows
    except DataError:
        raise
    except Exception as error:  # a damaged file may raise nearly anything
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"{path}, row {seen + 1}: the Parquet file is damaged: {why}") from None
    if not seen:
        raise DataError(f"{path}, row 1: the table has no rows; allowed: a row for each session")


def _as_bytes(column: Any, name: str, path: Path) -> Any:
    """A column of text, whole numbers or bools as text without nulls."""
    arrow, compute = require("pyarrow"), require("pyarrow.compute")
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if arrow.types.is_floating(column.type):  # pandas has whole numbers with missing ones among them as floats
        try:
            column = column.cast(arrow.int64())
        except arrow.ArrowInvalid:
            raise DataError(f"{path}: column {name!r} has fractions; allowed: text or whole numbers") from None
    kinds = arrow.types
    if not any(
        is_kind(column.type)
        for is_kind in (kinds.is_integer, kinds.is_boolean, kinds.is_string, kinds.is_large_string, kinds.is_null)
    ):
        raise DataError(f"{path}: column {name!r} has values of type {column.type}; allowed: text or whole numbers")
    column.validate(full=True)  # damaged text may not be UTF-8
    return compute.fill_null(column.cast(arrow.string()), "").cast(arrow.binary())


# -- rows -------------------------------------------------------------------------------------------------------------


def _checked(path: Path, table: _Table, faults: Faults) -> tuple[Lists, NDArray[np.int64]]:
    """The lists of the rows that are fine, and what is wrong with each row; those that are not fine are counted."""
    rows, positions = len(table.line), table.positions
    start, text = _buffers(require("pyarrow").concat_arrays(table.columns))
    query, first = np.empty((rows, 2), np.int32), np.empty(rows + 1, np.int64)
    item = np.empty((rows * positions, 2), np.int32)
    clicks, fault = np.empty(rows, np.uint64), np.empty(rows, np.int64)
    lists = check_rows(text, start, rows, positions, WORDS, LONGEST_LABEL, query, first, item, clicks, fault)
    for row in np.flatnonzero(fault).tolist():
        why = ""
        if faults.wanted():
            why = _explained(
                int(fault[row]), [text[start[at] : start[at + 1]] for at in range(row, len(start) - 1, rows)]
            )
        faults.add(path, int(table.line[row]), why, table.what)
    counted = np.ones(lists, np.bool_)
    return Lists(text, query[:lists], first[: lists + 1], item[: first[lists]], clicks[:lists], counted), fault


EXPLAINED = {  # and what is allowed
    NO_QUERY: ("the query is empty", "a label"),
    LONG: (f"a label has more than {LONGEST_LABEL} bytes", "shorter ones"),
    GAP: ("a document stands below an empty entry", "empty entries at the end of the list"),
    TWICE: ("a document stands in the list twice", "different ones"),
    CLICK: ("a click is neither 0 nor 1", "0, 1, and nothing where no document stands"),
    NO_ITEM: ("a click without document", "0, or nothing"),
    NO_LIST: ("the list is empty", "at least one document"),
}


def _explained(fault: int, cells: list[NDArray[np.uint8]]) -> str:
    """What is wrong with a row, with the first column that shows it."""
    positions = len(cells) // 2
    words = [cell.tobytes() for cell in cells]
    items, names = words[1 : positions + 1], _names(positions)
    clicks = [int(click_of(cell, 0, len(cell), WORDS)) for cell in cells[positions + 1 :]]
    bad = {
        LONG: [len(word) > LONGEST_LABEL for word in words[: positions + 1]],
        GAP: [False, *(not item and any(items[k:]) for k, item in enumerate(items))],
        TWICE: [False, *(item != b"" and item in items[:k] for k, item in enumerate(items))],
        CLICK: [click == OTHER or (click == NONE and items[k] != b"") for k, click in enumerate(clicks)],
        NO_ITEM: [click == 1 and not items[k] for k, click in enumerate(clicks)],
    }.get(fault, [])
    what, allowed = EXPLAINED[fault]
    if any(bad):
        at = bad.index(True) + (positions + 1 if fault in (CLICK, NO_ITEM) else 0)
        what += f": {names[at]} {f'= {shown(words[at])}' if words[at] else 'is empty'}"
    return f"{what}; allowed: {allowed}"


def _buffers(array: Any) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each entry of a binary array begins, and its bytes."""
    _, offsets, data = array.buffers()
    start = np.frombuffer(offsets, np.int32, len(array) + 1, 4 * array.offset)
    empty = data is None or data.size == 0
    return start, np.frombuffer(b"\0" if empty else data, np.uint8)
