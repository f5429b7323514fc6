"""Logs whose lines are queries and clicks, separated by tabs: the parser that both public logs share.

The lines of a session stand together. A query line is a result page, and one session of ``Sessions``; a click line
belongs to the latest page of the session that shows its document (and, in the personalised log, has its number).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.kernels import kernel
from rankgym.logs.readers.lines import chunks
from rankgym.logs.readers.lists import LONGEST_LABEL, Faults, Lists, shown
from rankgym.logs.sessions import MOST_POSITIONS

TAB, NEWLINE, COMMA, ZERO, NINE, C, M, Q, T = b"\t\n,09CMQT"
COLUMNS = 8  # places of the first columns that are remembered
LONGEST_SESSION = 1 << 26  # bytes; a file with more lines of one session is not such a log

# What is wrong with a line.
FINE, FEW, KIND, TIME, EMPTY, LONG, TWICE, MANY, ORPHAN, CUT = range(10)


class Layout(NamedTuple):
    """Where things stand in the lines of a log; columns are numbered from 0, the session and the time come first."""

    query: int  # of a query line: its label
    documents: int  # of a query line: the first document; the others follow
    page: int  # of a query and of a click line: the number of the result page; -1: there is none
    clicked: int  # of a click line: its last column, the document
    pairs: bool  # whether a document is written DOCUMENT,DOMAIN
    more: bool  # whether there are lines of kind M, of the session, and T, of queries whose clicks were withheld
    form: str  # how the lines look, for messages


@kernel
def stretch_end(text, at):
    """The place of the tab or line end at or behind ``at``."""
    while text[at] != TAB and text[at] != NEWLINE:
        at += 1
    return at


@kernel
def same_bytes(text, first, first_end, second, second_end):
    """Whether two stretches of ``text`` are equal."""
    same = first_end - first == second_end - second
    while same and first < first_end:  # from the end: numbers that are not equal often begin alike
        first_end, second_end = first_end - 1, second_end - 1
        same = text[first_end] == text[second_end]
    return same


@kernel
def last_session(text, stop):
    """The place where the last session of the lines ``text[:stop]`` begins."""
    start, end, begin, at = -1, -1, stop, stop
    while at > 0:
        line_end, at = at - 1, at - 1
        while at > 0 and text[at - 1] != NEWLINE:
            at -= 1
        if at == line_end:  # an empty line
            continue
        word_end = stretch_end(text, at)
        if start < 0:
            start, end = at, word_end
        elif not same_bytes(text, at, word_end, start, end):
            return begin
        begin = at
    return begin


@kernel
def read_columns(text, at, place):
    """Fill ``place`` (COLUMNS, 2) with the first columns of the line at ``at``; return how many columns it has."""
    columns = 0
    while True:
        end = stretch_end(text, at)
        if columns < place.shape[0]:
            place[columns, 0], place[columns, 1] = at, end
        columns += 1
        if text[end] == NEWLINE:
            return columns
        at = end + 1


@kernel
def is_whole(text, at, end):
    """Whether a stretch is a whole number."""
    whole = at < end
    while whole and at < end:
        whole = ZERO <= text[at] <= NINE
        at += 1
    return whole


@kernel
def read_documents(text, at, pairs, item, begin):
    """Read documents from ``at`` to the line's end into ``item`` from ``begin`` on; return the fault, their number."""
    number = 0
    while True:
        end = stretch_end(text, at)
        stop = end
        if pairs:
            stop = at
            while stop < end and text[stop] != COMMA:
                stop += 1
        if stop == at or (pairs and stop >= end - 1):  # no document, or no domain
            return EMPTY, number
        if stop - at > LONGEST_LABEL:
            return LONG, number
        if number == MOST_POSITIONS:
            return MANY, number
        for other in range(begin, begin + number):
            if same_bytes(text, at, stop, item[other, 0], item[other, 1]):
                return TWICE, number
        item[begin + number, 0], item[begin + number, 1] = at, stop
        number += 1
        if text[end] == NEWLINE:
            return FINE, number
        at = end + 1


@kernel
def find_click(text, place, page_column, clicked, first_page, pages, page, first, item):
    """The latest page from ``first_page`` on that shows the clicked document, and its position; or -1, -1."""
    for number in range(pages - 1, first_page - 1, -1):
        if page_column >= 0 and not same_bytes(
            text, place[page_column, 0], place[page_column, 1], page[number, 0], page[number, 1]
        ):
            continue
        for at in range(first[number], first[number + 1]):
            if same_bytes(text, place[clicked, 0], place[clicked, 1], item[at, 0], item[at, 1]):
                return number, at - first[number]
    return -1, -1


@kernel
def kind_of(text, place, columns, more):
    """The letter that says what a line is about; 0: none."""
    if more and columns == 4 and place[1, 1] - place[1, 0] == 1 and text[place[1, 0]] == M:
        return M
    if columns > 2 and place[2, 1] - place[2, 0] == 1:
        letter = text[place[2, 0]]
        if letter in (C, Q) or (more and letter == T):
            return int(letter)
    return 0


@kernel
def read_query(text, place, columns, query_column, documents, pairs, item, items):
    """Read a query line's documents into ``item`` from ``items`` on; return the fault, and their number."""
    if columns <= documents:
        return FEW, 0
    length = place[query_column, 1] - place[query_column, 0]
    if length == 0 or length > LONGEST_LABEL:
        return (EMPTY if length == 0 else LONG), 0
    return read_documents(text, place[documents, 0], pairs, item, items)


@kernel
def read_pages(text, stop, layout, place, query, page, first, item, clicks, counted, fault):
    """Read the lines of ``text[:stop]``, whole sessions; return the numbers of pages and of faults.

    ``layout`` has the six numbers of ``Layout``; ``place`` is work space. ``fault`` (lines, 3) gets the line, from 0,
    its first byte, and what is wrong. The other arrays are those of ``Lists``; ``page`` has the numbers of pages.
    """
    query_column, documents, page_column, clicked, pairs, more = layout
    pages, items, faults, line, at = 0, 0, 0, -1, 0
    first_page, session, session_end, unsure = 0, 0, 0, False
    first[0] = 0
    while at < stop:
        line += 1
        if text[at] == NEWLINE:
            at += 1
            continue
        begin, code = at, FINE
        columns = read_columns(text, begin, place)
        if not same_bytes(text, place[0, 0], place[0, 1], session, session_end):
            session, session_end, first_page, unsure = place[0, 0], place[0, 1], pages, False
        kind = kind_of(text, place, columns, more != 0)
        if kind == 0:
            code = KIND if columns > 2 else FEW
        elif place[0, 0] == place[0, 1]:
            code = EMPTY
        elif kind != M and not is_whole(text, place[1, 0], place[1, 1]):
            code = TIME
        elif kind == C:
            if columns != clicked + 1:
                code = FEW
            else:
                number, position = find_click(text, place, page_column, clicked, first_page, pages, page, first, item)
                if number >= 0:
                    clicks[number] |= np.uint64(1) << np.uint64(position)
                elif not unsure:
                    code = ORPHAN
        elif kind != M:
            code, number = read_query(text, place, columns, query_column, documents, pairs != 0, item, items)
            unsure = unsure or code != FINE  # clicks on this page are not broken, too
            if code == FINE:
                at_page = max(page_column, 0)
                query[pages, 0], query[pages, 1] = place[query_column, 0], place[query_column, 1]
                page[pages, 0], page[pages, 1] = place[at_page, 0], place[at_page, 1]
                clicks[pages] = 0
                counted[pages] = kind == Q
                items += number
                pages += 1
                first[pages] = items
        if code != FINE:
            fault[faults, 0], fault[faults, 1], fault[faults, 2] = line, begin, code
            faults += 1
        while text[at] != NEWLINE:
            at += 1
        at += 1
    return pages, faults


def read_pages_of(
    path: Path, layout: Layout, size: int, faults: Faults, progress: Callable[[int], None]
) -> Iterator[Lists]:
    """Yield the result pages of a log, chunk by chunk, sessions whole; broken lines are counted in ``faults``.

    Args:
        path: the file.
        layout: of its lines.
        size: bytes of a chunk; a longer session makes it longer.
        faults: gets the broken lines.
        progress: is told the bytes read.

    Raises:
        DataError: the file cannot be read; the message has file and line.
    """
    rest, before, widest = b"", 0, 0
    for chunk in chunks(path, size, faults, progress):
        data = rest + chunk.data
        stop = int(last_session(np.frombuffer(data, np.uint8), len(data)))
        if len(data) - stop > LONGEST_SESSION:
            line = before + data.count(b"\n", 0, stop) + 1
            what = f"a session of more than {LONGEST_SESSION:,} bytes begins here"
            raise DataError(f"{path}, line {line}: {what}; allowed: lines as {layout.form}")
        if chunk.cut:
            stop = len(data)
        if stop:
            lists, widest = _parsed(path, data[:stop], before, layout, faults, widest if chunk.cut else None, widest)
            yield lists
        rest, before = data[stop:], before + data.count(b"\n", 0, stop)
    if rest:
        yield _parsed(path, rest, before, layout, faults, None, widest)[0]


def _parsed(
    path: Path, data: bytes, before: int, layout: Layout, faults: Faults, cut: int | None, widest: int
) -> tuple[Lists, int]:
    """The pages of whole sessions, and the length of the longest list so far.

    ``cut``: the last line has no line end; a list that is shorter than ``cut`` there is broken.
    """
    text: NDArray[np.uint8] = np.frombuffer(data, np.uint8)
    lines = data.count(b"\n")
    query, page = np.empty((lines, 2), np.int32), np.empty((lines, 2), np.int32)
    first, item = np.empty(lines + 1, np.int64), np.empty((len(data) // 2 + 1, 2), np.int32)  # more than needed
    clicks, counted = np.empty(lines, np.uint64), np.empty(lines, np.bool_)
    fault = np.empty((lines, 3), np.int64)
    numbers = tuple(int(number) for number in layout[:6])
    place = np.empty((COLUMNS, 2), np.int32)
    pages, wrong = read_pages(text, len(data), numbers, place, query, page, first, item, clicks, counted, fault)
    items = int(first[pages])
    widest = max(widest, int(np.diff(first[: pages + 1]).max(initial=0)))
    for line, begin, code in fault[:wrong].tolist():
        faults.add(path, before + line + 1, _explained(data, begin, code, layout) if faults.wanted() else "")
    if (
        cut is not None
        and pages
        and item[items - 1, 1] == len(data) - 1
        and items - first[pages - 1] < max(cut, widest)
    ):
        pages -= 1
        begin = data.rfind(b"\n", 0, len(data) - 1) + 1
        faults.add(path, before + lines, _explained(data, begin, CUT, layout))
    places = query[:pages], first[: pages + 1], item[: first[pages]]
    return Lists(text, *places, clicks[:pages], counted[:pages]), widest


def _explained(data: bytes, begin: int, code: int, layout: Layout) -> str:
    """What is wrong with the line that begins at a byte of ``data``."""
    line = data[begin : data.index(b"\n", begin)]
    words: list[Any] = [shown(word) for word in line.split(b"\t")]
    what = {
        FEW: f"it has {len(words)} columns",
        KIND: f"{words[min(2, len(words) - 1)]} is not a kind of line",
        TIME: f"time {words[min(1, len(words) - 1)]} is not a whole number",
        EMPTY: "an entry is empty",
        LONG: f"a label has more than {LONGEST_LABEL} bytes",
        TWICE: "a document stands in the list twice",
        MANY: f"the list has more than {MOST_POSITIONS} documents",
        ORPHAN: f"a click without query: no result page of this session shows {words[-1]}",
        CUT: "the last line is cut off: its list is shorter than others, and the line end is missing",
    }[code]
    hint = "; it looks like a table: form 'plain'" if b"item_1" in line else ""
    return f"{what}{hint}; allowed: {layout.form}; found: {shown(line)}"
