"""Learning-to-rank files in the format of LETOR and SVMlight: stream, check and cache them; rank their documents.

A line is a document of a query (Qin et al., "LETOR: a benchmark collection for research on learning to rank for
information retrieval", Information Retrieval 13, 2010; the numbers ``index:value`` are those of SVMlight):

    label qid:ID 1:value 2:value ... # comment

The documents of a query stand together. Features that a line leaves out are 0. Empty lines and comments, such as
LETOR's ``#docid = GX029-35``, are skipped, and so is one header line before the first document: a line that begins with
a letter and has no colon. Lines end with ``\\n``, ``\\r\\n`` or ``\\r``, and comments may hold any other bytes. Any
other line is refused with an error that names the file and the line.

LightGBM leaves ``qid:ID`` out and keeps the sizes of the queries in a file NAME.query beside NAME, see
``rankgym.data.query_files``. The first document decides: if it has a query, all have one, and a side file is not read.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import different_numbers, whole_number
from rankgym.data.catalogue import home
from rankgym.data.errors import DataError
from rankgym.data.files import physical_memory, write_npz
from rankgym.data.query_files import SUFFIX, query_file, query_starts
from rankgym.data.text_files import DAMAGE, check_regular, damage, damage_ahead, text_pieces, unpacked
from rankgym.kernels import bits, kernel, session_seed
from rankgym.progress import count_bar, late_bar
from rankgym.untrusted.archives import read_arrays

CACHE_FORMAT = 1  # a cached file of another format is parsed again
MOST_CACHED = 64 << 30  # bytes of a parsed file
MOST_FEATURES = 10_000  # stored as a dense array; the largest public collection has 700
LARGEST_LABEL = 127
LONGEST_ID = 200  # bytes of a query's id
CHUNK = 1 << 20  # bytes read at once
MOST_BYTES = min(16_000_000_000, physical_memory())  # of the features; the largest public collection has 9 GB
MEGABYTE = 1_000_000
INSERTED = 64  # places of a ranking up to which insertion is faster than sorting all documents
LONGEST_LINE = 1 << 24  # bytes; a file with longer lines is not text


class LetorData(NamedTuple):
    """The documents of a file, in its order. Query q has the documents ``start[q] .. start[q + 1] - 1``."""

    features: NDArray[np.float32]  # (documents, num_features): column f is the file's feature f + 1
    labels: NDArray[np.int8]  # (documents,): grades of relevance, 0 .. 127
    start: NDArray[np.int64]  # (queries + 1,)
    query_ids: NDArray[np.str_]  # (queries,): with a side file, the queries' numbers from 0


# -- the parser: one pass over the bytes ------------------------------------------------------------------------------

# Why ``read_lines`` returned. From LABEL on: what is wrong with the line.
END, FULL, WIDE, LABEL, NO_QID, EMPTY_QID, NO_FEATURES, INDEX, ORDER, VALUE, MIXED = range(11)

TAB, NEWLINE, CARRIAGE, SPACE, HASH, PLUS, MINUS, DOT, ZERO, NINE, COLON, LARGE_E, SMALL_E = b"\t\n\r #+-.09:Ee"
EXACT = 22  # 10^22 is the largest power of ten that a float64 has exactly
TENS = 10.0 ** np.arange(EXACT + 1)
DIGITS = 18  # decimal digits that always fit an int64
TOO_LARGE = (2.0 - 2.0**-24) * 2.0**127  # from here on a float32 is infinite


@kernel
def whole(text, at):
    """The whole number that starts at ``at``, and its end; the end is ``at`` without a digit. Stops at 10^9."""
    value = np.int64(0)
    while ZERO <= text[at] <= NINE and value < 1_000_000_000:
        value = 10 * value + np.int64(text[at]) - ZERO
        at += 1
    return value, at


@kernel
def decimal(text, at):
    """The decimal number that starts at ``at``, and its end; the end is ``at`` if no number starts there.

    Up to 18 significant digits and powers of ten up to 10^22 are rounded as Python's ``float`` rounds; what goes beyond
    is right to some units of the last place of a float64. Too large numbers are infinite.
    """
    begin = at
    negative = text[at] == MINUS
    if text[at] == PLUS or text[at] == MINUS:
        at += 1
    mantissa, power, digits, seen, fraction = np.int64(0), 0, 0, False, False
    while ZERO <= text[at] <= NINE or (text[at] == DOT and not fraction):
        if text[at] == DOT:
            fraction = True
        else:
            seen = True
            if digits < DIGITS:
                mantissa = 10 * mantissa + np.int64(text[at]) - ZERO
                digits += 1 if mantissa > 0 else 0
                power -= 1 if fraction else 0
            elif not fraction:
                power += 1
        at += 1
    if not seen:
        return 0.0, begin
    if text[at] == SMALL_E or text[at] == LARGE_E:
        below = text[at + 1] == MINUS
        from_digit = at + 2 if below or text[at + 1] == PLUS else at + 1
        exponent, end = whole(text, from_digit)
        if end == from_digit:
            return 0.0, begin
        power += -exponent if below else exponent
        at = end
    value = float(mantissa)
    while mantissa != 0 and power != 0 and value != 0.0 and value != np.inf:
        step = min(abs(power), EXACT)
        value = value / TENS[step] if power < 0 else value * TENS[step]
        power += step if power < 0 else -step
    return -value if negative else value, at


@kernel
def is_blank(byte):
    """Whether a byte is a blank within a line."""
    return byte in (SPACE, TAB, CARRIAGE)


@kernel
def blanks(text, at):
    """The next place without a blank."""
    while is_blank(text[at]):
        at += 1
    return at


@kernel
def ends_token(byte):
    """Whether a byte ends a word: a blank, the line's end or a comment."""
    return byte in (NEWLINE, HASH) or is_blank(byte)


@kernel
def same_bytes(text, first, first_end, second, second_end):
    """Whether two stretches of ``text`` are equal."""
    same = first_end - first == second_end - second
    while same and first < first_end:
        same = text[first] == text[second]
        first, second = first + 1, second + 1
    return same


@kernel
def read_lines(text, stop, grouped, features, labels, new, qid, where):
    """Read whole lines of ``text[:stop]``, the last one with its end, into ``features`` (zero before) and ``labels``.

    ``grouped``: lines have no query, since a side file has the queries' sizes; ``new`` and ``qid`` then mean nothing.
    ``where`` (4,) goes in and out: the next byte, the next row, lines read, the byte of a fault. ``new[row]``: whether
    the row's query is not that of the row before; True in the first row. ``qid[row]`` (3,): the query's first byte, the
    one behind its last, and the line. Returns END, FULL (no row left), WIDE (a feature beyond the columns) or the
    fault; ``where`` is then at the line that was not read, and nothing of it is left in ``features``.
    """
    at, row, line = where[0], where[1], where[2]
    first = row
    code = END
    while at < stop:
        begin = at
        at = blanks(text, at)
        if text[at] != NEWLINE and text[at] != HASH:
            if row == features.shape[0]:
                code = FULL
            else:
                code, at = read_document(text, at, grouped, features, labels, qid, row)
            if code != END:
                where[0], where[1], where[2], where[3] = begin, row, line, at
                return code
            qid[row, 2] = line + 1
            new[row] = row == first or not same_bytes(text, qid[row, 0], qid[row, 1], qid[row - 1, 0], qid[row - 1, 1])
            row += 1
        while text[at] != NEWLINE:  # the comment
            at += 1
        at += 1
        line += 1
    where[0], where[1], where[2] = at, row, line
    return END


@kernel
def read_document(text, at, grouped, features, labels, qid, row):
    """Read one line from its label on; return END or the fault, and the place of the end or fault."""
    label, end = whole(text, at)
    if end == at or label > LARGEST_LABEL or not ends_token(text[end]):
        return LABEL, at
    labels[row] = label
    at = blanks(text, end)
    named = text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == COLON  # "qid:"
    if named == grouped:
        return (MIXED if named else NO_QID), at
    if named:
        at += 4
        qid[row, 0] = at
        while not ends_token(text[at]):
            at += 1
        qid[row, 1] = at
        if at == qid[row, 0]:
            return EMPTY_QID, at
    before, code = 0, NO_FEATURES  # until there is one
    at = blanks(text, at)
    while text[at] != NEWLINE and text[at] != HASH:
        index, end = whole(text, at)
        value, past = 0.0, end
        if end == at or text[end] != COLON or index < 1 or index > MOST_FEATURES:
            code = INDEX
        elif index <= before:
            code = ORDER
        elif index > features.shape[1]:
            code = WIDE
        else:
            value, past = decimal(text, end + 1)
            code = END if past > end + 1 and ends_token(text[past]) and abs(value) < TOO_LARGE else VALUE
        if code != END:
            features[row, :before] = 0.0
            return code, at
        features[row, index - 1] = value
        before = index
        at = blanks(text, past)
    return code, at


class _Reader:
    """The growing result of parsing, and the position in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.features = np.zeros((0, 0), np.float32)
        self.labels = np.zeros(0, np.int8)
        self.rows = self.lines = 0
        self.start: list[int] = []
        self.first_line: dict[bytes, int] = {}  # of every query so far
        self.query: bytes | None = None  # the current one
        self.side: Path | None = None  # the file of the queries' sizes, if lines have no queries
        self.headed = False  # whether there was a header line

    def fault(self, line: int, what: str) -> DataError:
        return DataError(f"{self.path}, line {line}: {what}")

    def take(self, chunk: bytes) -> None:
        """Read the lines of ``chunk``, which ends with a line end."""
        text = np.frombuffer(chunk + b"\n\n\n\n", np.uint8)  # looking ahead stays inside
        most = chunk.count(b"\n")
        at = 0
        while True:
            stop = min(len(self.labels), self.rows + most)
            features, labels = self.features[self.rows : stop], self.labels[self.rows : stop]
            new, qid = np.zeros(len(labels), np.bool_), np.zeros((len(labels), 3), np.int64)
            where = np.array([at, 0, self.lines, 0])
            code = read_lines(text, len(chunk), self.side is not None, features, labels, new, qid, where)
            del features, labels  # or the arrays cannot grow in place
            at, rows, self.lines, wrong = where.tolist()
            if self.side is None:
                self._take_queries(chunk, new[:rows], qid)
            self.rows += rows
            if code == END:
                return
            if code == FULL:
                self._grow(len(self.labels) + max(len(self.labels) // 8, 1024), self.features.shape[1])
            elif code == WIDE:
                line = chunk[at : chunk.index(b"\n", at)].partition(b"#")[0]
                indices = [int(index[-9:]) for index in re.findall(rb"[ \t](\d+):", line)]
                widest = max(index for index in indices if index <= MOST_FEATURES)
                self._grow(len(self.labels), max(widest, self.features.shape[1] + 1))
            elif code == LABEL and self._skips_header(chunk[at : chunk.index(b"\n", at)]):
                at = chunk.index(b"\n", at) + 1
            elif code != NO_QID or not self._finds_side_file(chunk[wrong : wrong + 20]):
                raise self._explained(code, chunk, wrong)

    def _skips_header(self, line: bytes) -> bool:
        """Whether ``line``, which is not a document, is the header: one before all documents, of words."""
        self.headed, before = True, self.headed
        header = self.rows == 0 and not before and re.match(rb"[ \t]*[A-Za-z][^:#]*(#|\Z)", line) is not None
        self.lines += header
        return header

    def _finds_side_file(self, word: bytes) -> bool:
        """Look for the side file if the first document goes on with a feature, ``word``, instead of a query."""
        if self.rows or not re.match(rb"\d+:", word):
            return False
        self.side = query_file(self.path)
        if self.side is None:
            raise self.fault(
                self.lines + 1,
                f"the document has no query; allowed: qid:ID after the label in every line, or a file "
                f"{self.path.name}{SUFFIX} beside this one with the number of documents of each query, one a line",
            )
        return True

    def _take_queries(self, chunk: bytes, new: NDArray[np.bool_], qid: NDArray[np.int64]) -> None:
        for row in np.flatnonzero(new).tolist():
            first, end, line = qid[row].tolist()
            name = chunk[first:end]
            if name == self.query:  # continued from the last chunk
                continue
            if name in self.first_line:
                raise self.fault(
                    line,
                    f"query {_shown(name)} comes back: it began at line {self.first_line[name]}, with other queries in "
                    f"between; allowed: all documents of a query in adjacent lines",
                )
            if len(name) > LONGEST_ID:
                raise self.fault(line, f"the query id has {len(name)} bytes; allowed: at most {LONGEST_ID}")
            try:
                name.decode()
            except UnicodeDecodeError:
                raise self.fault(line, f"query id {_shown(name)} is not UTF-8 text") from None
            self.start.append(self.rows + row)
            self.first_line[name] = line
            self.query = name

    def _grow(self, rows: int, width: int) -> None:
        """Enlarge the arrays: rows in place, an eighth at a time; columns, which is rare, by a copy."""
        size = rows * width * self.features.itemsize
        if size > MOST_BYTES:  # a line of twenty bytes may have a feature 10,000, and take 40,000 bytes
            what = f"{rows:,} documents with features up to {width} take {size / 1e9:.1f} GB"
            raise self.fault(
                self.lines + 1, f"{what}; allowed: at most {MOST_BYTES / 1e9:.1f} GB. Renumber the features"
            )
        self.labels.resize(rows, refcheck=False)
        if width == self.features.shape[1]:
            self.features.resize((rows, width), refcheck=False)
        else:
            wider = np.zeros((rows, width), np.float32)
            wider[: self.rows, : self.features.shape[1]] = self.features[: self.rows]
            self.features = wider

    def _explained(self, code: int, chunk: bytes, at: int) -> DataError:
        """The error of the line after the last one that was read, at byte ``at`` of ``chunk``."""
        word = re.split(rb"[ \t\r\n#]", chunk[at : at + 2 * LONGEST_ID], maxsplit=1)[0]
        name, colon, value = word.partition(b":")
        index = name.decode(errors="replace")
        what = {
            LABEL: f"label = {_shown(word)} is not a grade; allowed: whole numbers in 0 .. {LARGEST_LABEL}",
            NO_QID: f"found {_shown(word)} instead of the query; allowed: qid:ID after the label",
            MIXED: f"found {_shown(word)}, but documents before have no query; allowed: qid:ID in all lines or none",
            EMPTY_QID: "qid: is not followed by an id; allowed: qid:ID",
            NO_FEATURES: "the document does not have features; allowed: at least one index:value, such as 1:0",
            INDEX: f"feature index {_shown(name)} is out of range; allowed: whole numbers in 1 .. {MOST_FEATURES}",
            ORDER: f"feature {index} comes twice or out of order; allowed: ascending indices",
            VALUE: f"feature {index} = {_shown(value)} is not a number; allowed: finite decimal numbers of float32",
        }[code]
        if code == INDEX and not colon:
            what = f"{_shown(word)} is not a feature; allowed: index:value, and # before a comment"
        return self.fault(self.lines + 1, what)

    def result(self) -> LetorData:
        if self.rows == 0:
            raise DataError(f"{self.path}, line {self.lines + 1}: the file does not hold any document")
        self._grow(self.rows, self.features.shape[1])
        if self.side is not None:
            start = query_starts(self.side, self.path, self.rows)
            return LetorData(self.features, self.labels, start, np.arange(len(start) - 1).astype(np.str_))
        start = np.array([*self.start, self.rows], np.int64)
        return LetorData(self.features, self.labels, start, np.array([name.decode() for name in self.first_line]))


def _shown(word: bytes) -> str:
    """A word of a file for an error message: one line, shortened."""
    text = ascii(word.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 60 else f"{text[:56]}...'"


def _chunks(stream: Any, reader: _Reader) -> Iterator[bytes]:
    """The file in chunks of whole lines; the last line may lack its line end."""
    rest: list[bytes] = []
    length = 0
    for piece in text_pieces(stream, CHUNK, reader.path, "text, plain or gzip"):
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, piece[:cut]])
            rest, length = [], 0
        rest.append(piece[cut:])
        length += len(rest[-1])
        if length > LONGEST_LINE:
            what = f"the line has more than {LONGEST_LINE} bytes; this is not a LETOR file"
            raise reader.fault(reader.lines + 1, what)
    if length:
        yield b"".join([*rest, b"\n"])


def parse(path: str | os.PathLike[str], *, progress: bool = True) -> LetorData:
    """Parse a file, plain or gzip (recognised by its first bytes), without using the cache; raises as ``load`` does.

    It needs little memory beside the result: a chunk of the file, and space for an eighth more documents.
    """
    path = Path(path)
    check_regular(path)
    reader = _Reader(path)
    size, seen = path.stat().st_size // MEGABYTE, 0
    with path.open("rb") as file, late_bar(progress, size, path.name, lambda: count_bar("MB")) as report:
        stream = unpacked(file)
        try:
            for chunk in _chunks(stream, reader):
                reader.take(chunk)
                read = file.tell() // MEGABYTE
                if read > seen:
                    report(read - seen)
                    seen = read
        except DAMAGE as error:
            raise reader.fault(reader.lines + 1, damage(error)) from None
        except DataError:  # a line may be wrong because the file is damaged
            if (found := damage_ahead(stream)) is not None:
                raise reader.fault(reader.lines + 1, damage(found)) from None
            raise
    return reader.result()


# -- the cache --------------------------------------------------------------------------------------------------------


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file's bytes, by which its cached form is named.

    If a side file lies beside it, it is the sha256 of both files' digests: the documents depend on both.
    """
    digests = []
    for each in _sources(path):
        with each.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()


def file_stamp(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return sizes and times of change of a file and of its side file: what is remembered of them holds while equal."""
    states = [each.stat() for each in _sources(path)]
    return tuple(number for state in states for number in (state.st_size, state.st_mtime_ns))


def _sources(path: str | os.PathLike[str]) -> list[Path]:
    side = query_file(path)
    return [Path(path)] if side is None else [Path(path), side]


def load(path: str | os.PathLike[str], *, progress: bool = True) -> LetorData:
    """Read a file, from the data cache if it was parsed before; it is recognised by its bytes, not by its name.

    Args:
        path: a text file, or one compressed by gzip; its side file may be either, too.
        progress: show a bar on standard error if it takes more than two seconds.

    Returns:
        The documents. Values are float32: values that differ only beyond 24 bits tie.

    The cached form is ``letor-<format>-<sha256>.npz`` in ``RANKGYM_DATA_HOME``, as large as the arrays; it may be
    deleted. Nothing is cached if the cache cannot be written or the file is refused.

    Raises:
        DataError: a ValueError in one line, with file and line, of the first thing that is not as it should be.
        OSError: the file cannot be read.

    Examples:
        >>> import os, pathlib, tempfile
        >>> from unittest import mock
        >>> from rankgym.data import letor
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, RANKGYM_DATA_HOME=folder):
        ...     file = pathlib.Path(folder, "mq.txt")
        ...     _ = file.write_text("2 qid:7 1:0.5 3:0.1;0 qid:7 2:0.2".replace(";", os.linesep))
        ...     data = letor.load(file)
        >>> data.features.shape, data.labels.tolist(), data.start.tolist(), data.query_ids.tolist()
        ((2, 3), [2, 0], [0, 2], ['7'])
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder; allowed: a LETOR file")
    check_regular(path)
    kept = home() / f"letor-{CACHE_FORMAT}-{file_digest(path)}.npz"
    found = _cached(kept)
    if found is None:
        found = parse(path, progress=progress)
        with contextlib.suppress(OSError):
            write_npz(kept, found._asdict())
    return found


def _cached(path: Path) -> LetorData | None:
    """The documents of a cached file; None if the file is missing or incomplete."""
    try:
        arrays = read_arrays(path, MOST_CACHED)
        data = LetorData(*(arrays[name] for name in LetorData._fields))
    except (OSError, ValueError, KeyError):
        return None
    kinds = [(array.dtype.kind, array.ndim) for array in data]
    if kinds != [("f", 2), ("i", 1), ("i", 1), ("U", 1)] or len(data.start) != len(data.query_ids) + 1:
        return None
    whole = data.start[0] == 0 and (np.diff(data.start) > 0).all() and data.start[-1] == len(data.labels)
    return data if whole and len(data.features) == len(data.labels) else None


# -- rankers ----------------------------------------------------------------------------------------------------------


@kernel
def rank_by_values(features, start, rankers, order, rankings):
    """Fill ``rankings`` (queries, rankers, length) with every query's best documents by each feature, -1 behind them.

    ``order`` (documents,) lists each query's documents, numbered within the query, in the order that breaks ties.
    """
    queries, num_rankers, length = rankings.shape
    for query in range(queries):
        base, count = start[query], start[query + 1] - start[query]
        for ranker in range(num_rankers):
            column = rankers[ranker]
            kept = 0
            for number in range(count):
                document = order[base + number]
                value = features[base + document, column]
                place = kept
                while place > 0 and features[base + rankings[query, ranker, place - 1], column] < value:
                    place -= 1
                if place < length:
                    kept = min(kept + 1, length)
                    for lower in range(kept - 1, place, -1):
                        rankings[query, ranker, lower] = rankings[query, ranker, lower - 1]
                    rankings[query, ranker, place] = document
            rankings[query, ranker, kept:] = -1


@kernel
def random_words(key, start, words):
    """A random word for each document, addressed by key, query number and document number within the query."""
    for query in range(start.shape[0] - 1):
        seed = session_seed(key, query)
        for document in range(start[query], start[query + 1]):
            words[document] = bits(seed, document - start[query])


def tie_order(start: NDArray[np.int64], ties: int = 0) -> NDArray[np.int64]:
    """The random order that breaks ties: each query's documents, numbered within the query, (documents,).

    ``start`` is that of ``LetorData``. A query's order depends on the query's number and the seed ``ties`` only.
    """
    key = np.random.SeedSequence(whole_number("ties", ties, 0)).generate_state(1, np.uint64)[0]
    words = np.empty(int(start[-1]), np.uint64)
    random_words(key, start, words)
    query = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.lexsort((words, query)) - start[query]


def sorted_rankings(features: NDArray[np.float32], order: NDArray[np.int64], length: int) -> NDArray[np.int32]:
    """Rank one query's documents by each of its ``features`` (documents, rankers): (rankers, at most ``length``).

    ``order`` (documents,) is the query's part of ``tie_order``.
    """
    best = np.argsort(-features[order], axis=0, kind="stable")[:length]
    return np.ascontiguousarray(order[best].T, np.int32)


def chosen_rankers(rankers: Any, num_features: int, least: int = 1) -> list[int]:
    """Return the numbers of the features that rank, all of them for None.

    Raises:
        ValueError: a number is out of range or given twice, or there are fewer than ``least``.
    """
    asked = range(num_features) if rankers is None else rankers
    return different_numbers("rankers", asked, "features", num_features, least)


def feature_rankings(
    data: LetorData, length: int, rankers: Sequence[int] | NDArray[np.int64] | None = None, *, ties: int = 0
) -> NDArray[np.int32]:
    """Rank every query's documents by each feature, by decreasing value.

    Ties, which are frequent in these collections, are broken by a random order drawn once per query from the seed
    ``ties`` and shared by all rankers. So equal rankers tie with each other in every comparison, and no ranker profits
    from the order of the file, where relevant documents often come first.

    Args:
        data: what ``load`` returned.
        length: places of a ranking, at least 1.
        rankers: numbers of features from 0 (ranker f sorts by the file's feature f + 1); None: all of them.
        ties: a seed.

    Returns:
        (queries, rankers, length) int32: documents, numbered within their query from 0; -1 behind the last document of
        a shorter query.

    Raises:
        ValueError: a number is out of range.
    """
    length = whole_number("length", length, 1)
    chosen = np.array(chosen_rankers(rankers, data.features.shape[1]))
    order = tie_order(data.start, ties)
    rankings = np.empty((len(data.query_ids), len(chosen), length), np.int32)
    if length <= INSERTED:
        rank_by_values(data.features, data.start, chosen, order, rankings)
        return rankings
    rankings[:] = -1
    for number, (begin, end) in enumerate(pairwise(data.start.tolist())):
        best = sorted_rankings(data.features[begin:end, chosen], order[begin:end], length)
        rankings[number, :, : best.shape[1]] = best
    return rankings
