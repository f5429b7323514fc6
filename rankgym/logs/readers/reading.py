"""``read_log``: two passes over a log, of which the first counts the queries, and the second keeps those wanted."""

import hashlib
import heapq
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near, number_in, whole_number
from rankgym.data.errors import DataError
from rankgym.data.text_files import check_regular
from rankgym.logs.readers.lines import CHUNK
from rankgym.logs.readers.lists import Faults, Lists
from rankgym.logs.readers.pages import read_pages_of
from rankgym.logs.readers.personalised import PERSONALISED
from rankgym.logs.readers.plain import read_table
from rankgym.logs.readers.relevance import RELEVANCE
from rankgym.logs.readers.tables import Collected, Labels, count_queries
from rankgym.logs.sessions import MOST_POSITIONS, Sessions
from rankgym.progress import count_bar, late_bar

FORMS = ("plain", "relevance", "personalised")
MEGABYTE = 1_000_000
MAX_BROKEN = 0.001  # share of the lines
BLOCK = 65_536  # labels that are compared at once

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Report(NamedTuple):
    """What was found in a log.

    See ``read_parts``, which returns one.
    """

    form: str
    files: tuple[tuple[str, str], ...]  # names, without folders, and sha256 of their bytes
    lines: int  # of all files, the broken ones, too
    sessions: int  # of all queries
    withheld: int  # queries whose clicks are not in the log
    queries: int  # different ones
    broken: int  # lines that were left out
    examples: tuple[str, ...]  # the first of them: file, line, what is wrong


def read_log(
    path: Paths,
    form: str,
    *,
    queries: int | None = None,
    min_sessions: int = 1,
    positions: int | None = None,
    max_broken: float = MAX_BROKEN,
    progress: bool | Callable[[int], None] = True,
    chunk: int = CHUNK,
) -> Sessions:
    """Read the sessions of a click log; a warning says how many lines were broken, with examples.

    The memory needed is that of the result, and about 60 bytes for each different query of the log.

    Args:
        path: a file, or several that are read as one log; plain or gzipped, recognised by their first bytes.
        form: "plain" (a table with a line for each session; CSV, TSV or Parquet), "relevance" or "personalised" (the
            logs of two public challenges). ``rankgym.logs.readers`` has a file for each that describes it.
        queries: keep only the sessions of so many most frequent queries; None: of all. Of equally frequent ones, those
            with the first labels are kept.
        min_sessions: keep only queries with at least so many sessions.
        positions: leave out documents, and clicks, below so many positions; None: keep all.
        max_broken: the share of lines that may be broken, in [0, 1). A click without query is broken, as is a list with
            a document twice. Such lines are left out.
        progress: show a progress bar if reading takes more than two seconds; or a function to report megabytes to.
        chunk: bytes read at once.

    Returns:
        The sessions, the queries numbered from the most frequent one on.

    Raises:
        DataError: too many lines are broken, or the file cannot be read; the message has file, line and reason.
        ValueError: an argument is out of range.
        OSError: the file cannot be opened.

    Examples:
        >>> import os, pathlib, tempfile
        >>> from rankgym.logs.readers import read_log
        >>> text = ["query,item_1,item_2,click_1,click_2", *["tea,a,b,1,0"] * 2, "tea,a,b,0,1", "tea,a,b,0,0"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     _ = path.write_text(os.linesep.join(text))
        ...     sessions = read_log(path, "plain")
        >>> sessions.repeats.tolist(), sessions.num_sessions  # two of the four sessions are equal
        ([2, 1, 1], 4)
        >>> sessions.item_id.tolist(), sessions.clicked().tolist()
        (['a', 'b'], [[True, False], [False, True], [False, False]])
    """
    sessions, _, report = read_parts(
        path,
        form,
        queries=queries,
        min_sessions=min_sessions,
        positions=positions,
        max_broken=max_broken,
        progress=progress,
        chunk=chunk,
    )
    if report.broken:
        warnings.warn(broken_text(report), stacklevel=2)
    return sessions


def broken_text(report: Report | Faults) -> str:
    """How many lines were broken, and the first of them.

    For messages of the command line.
    """
    first = "" if len(report.examples) == report.broken else "the first: "
    lines = f"{report.broken:,} of {report.lines:,} lines {'was' if report.broken == 1 else 'were'} broken and left out"
    return f"{lines}; {first}{'; '.join(report.examples)}"


def read_parts(
    path: Paths,
    form: str,
    *,
    held_out: float = 0.0,
    seed: int = 0,
    queries: int | None = None,
    min_sessions: int = 1,
    positions: int | None = None,
    max_broken: float = MAX_BROKEN,
    progress: bool | Callable[[int], None] = True,
    chunk: int = CHUNK,
) -> tuple[Sessions, Sessions, Report]:
    """Read as ``read_log`` does, and split the sessions: those to be fitted, those held out, and what was found.

    This takes less memory than ``split`` afterwards. The two parts have the same queries and items. Each session is
    held out with probability ``held_out``, in [0, 1), by a coin that depends on ``seed`` and its number in the log.

    Args:
        held_out: the share of sessions to hold out, in [0, 1).
        seed: of the coins, at least 0.
        path, form, queries, min_sessions, positions, max_broken, progress, chunk: as in ``read_log``.

    Returns:
        The sessions to fit, those held out, and a ``Report`` of what the log had.

    Raises:
        DataError, ValueError, OSError: as ``read_log`` does.

    Examples:
        >>> import os, pathlib, tempfile
        >>> from rankgym.logs.readers import read_parts
        >>> text = ["query,item_1,item_2,click_1,click_2", *["tea,a,b,1,0"] * 2, "tea,a,b,0,1", "tea,a,b,0,0"]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     _ = path.write_text(os.linesep.join(text))
        ...     fitted, held_out, report = read_parts(path, "plain", held_out=0.5, seed=1)
        >>> fitted.num_sessions, held_out.num_sessions
        (1, 3)
        >>> report.lines, report.sessions, report.queries, report.broken
        (5, 4, 1, 0)
    """
    paths = _checked_paths(path)
    if form not in FORMS:
        raise ValueError(f"form = {form!r} is not known{near(str(form), FORMS) or ';'} allowed: {', '.join(FORMS)}")
    queries = None if queries is None else whole_number("queries", queries, 1)
    positions = None if positions is None else whole_number("positions", positions, 1, MOST_POSITIONS)
    whole_number("min_sessions", min_sessions, 1)
    whole_number("chunk", chunk, 1)
    whole_number("seed", seed, 0)
    for name, share in (("max_broken", max_broken), ("held_out", held_out)):
        if not number_in(name, share, 0.0, 1.0) < 1.0:
            raise ValueError(f"{name} = {share!r} is out of range; allowed: [0, 1)")
    files = tuple((one.name, _sha256(one)) for one in paths)
    size = sum(one.stat().st_size for one in paths)
    what = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    with late_bar(progress, 2 * size // MEGABYTE, what, lambda: count_bar("MB")) as advance:
        megabytes = InMegabytes(advance)
        faults, labels, withheld = Faults(max_broken), Labels(), 0
        for lists in _lists(paths, form, chunk, faults, megabytes.add):
            withheld += int(len(lists.counted) - lists.counted.sum())
            _count(lists, labels)
            faults.check(finished=False)
        faults.check(finished=True)
        chosen = _most_frequent(labels, queries, min_sessions)
        if not len(chosen):
            least = "" if min_sessions == 1 else f" of a query with at least min_sessions = {min_sessions}"
            raise DataError(f"{paths[0]}, line {faults.lines}: the log ends without a session{least}")
        collected = Collected(labels, chosen, positions, held_out, seed)
        for lists in _lists(paths, form, chunk, Faults(1.0), megabytes.add):
            collected.take(lists)
    wanted, total, different = int(labels.times[chosen].sum()), int(labels.times.sum()), len(labels)
    if collected.seen[0] != wanted:
        raise DataError(f"{paths[0]} changed while it was read; nothing was kept")
    report = Report(form, files, faults.lines, total, withheld, different, faults.broken, tuple(faults.examples))
    return *collected.result(), report


def _checked_paths(path: Paths) -> list[Path]:
    paths = [Path(path)] if isinstance(path, (str, os.PathLike)) else [Path(one) for one in path]
    if not paths:
        raise ValueError("path = [] has no file; allowed: one or several click logs")
    for one in paths:
        if one.is_dir():
            raise DataError(f"{one} is a folder; allowed: files of a click log")
        check_regular(one)
    return paths


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lists(
    paths: Sequence[Path], form: str, chunk: int, faults: Faults, progress: Callable[[int], None]
) -> Iterator[Lists]:
    """Yield the lists of all files, chunk by chunk."""
    for path in paths:
        if form == "plain":
            yield from read_table(path, chunk, faults, progress)
        else:
            layout = RELEVANCE if form == "relevance" else PERSONALISED
            yield from read_pages_of(path, layout, chunk, faults, progress)


def _count(lists: Lists, labels: Labels) -> None:
    begin, total = 0, len(lists.query)
    while begin < total:
        begin = count_queries(lists.text, lists.query, lists.counted, labels.table, begin)
        if begin < total:
            labels.grow()


def _most_frequent(labels: Labels, queries: int | None, least: int) -> NDArray[np.int64]:
    """The numbers of the most frequent queries, from the first one on; equally frequent ones by their labels."""
    times = labels.times
    kept = np.flatnonzero(times >= least)
    if queries is not None and len(kept) > queries:
        last = np.partition(times[kept], len(kept) - queries)[len(kept) - queries]  # sessions of the last one taken
        sure, equal = kept[times[kept] > last], kept[times[kept] == last]
        blocks = (equal[start : start + BLOCK].tolist() for start in range(0, len(equal), BLOCK))
        named = ((labels.label(one), one) for block in blocks for one in block)
        some: Any = heapq.nsmallest(queries - len(sure), named)
        kept = np.concatenate([sure, np.array([one for _, one in some], np.int64)])
    return np.array(sorted(kept.tolist(), key=lambda one: (-int(times[one]), labels.label(one))), np.int64)


class InMegabytes:
    """Reports bytes to a function that is told whole megabytes."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.report, self.bytes = report, 0

    def add(self, number: int) -> None:
        whole = (self.bytes + number) // MEGABYTE - self.bytes // MEGABYTE
        self.bytes += number
        if whole:
            self.report(whole)
