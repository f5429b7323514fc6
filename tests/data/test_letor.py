"""The reader of LETOR files: what it reads, what it refuses and how it says so, its cache, and feature rankers."""

import gzip
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.data import DataError, letor

NP2004 = Path(__file__).resolve().parents[3] / "shared" / "data" / "np2004_vali.txt.gz"

TEXT = """\
# a file of two queries

2 qid:a 1:0.5 3:-1.25e-2 # docid = 1
0 qid:a 2:7
1\tqid:b 1:+.5 2:1. 3:1E2\r
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data-home"))


@pytest.fixture
def written(tmp_path):
    """A function that writes a text or bytes to a file, and gives its path."""

    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def equal(one, other):
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def plain_read(text):
    """The same by the plainest Python."""
    rows = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            values = {int(i): float(v) for i, v in (word.split(":") for word in words[2:])}
            rows.append((int(words[0]), words[1].removeprefix("qid:"), values))
    width = max(index for _, _, values in rows for index in values)
    features = np.zeros((len(rows), width), np.float32)
    for row, (_, _, values) in enumerate(rows):
        for index, value in values.items():
            features[row, index - 1] = value
    ids = list(dict.fromkeys(query for _, query, _ in rows))
    counts = [sum(query == each for _, query, _ in rows) for each in ids]
    labels = np.array([label for label, _, _ in rows], np.int8)
    return letor.LetorData(features, labels, np.cumsum([0, *counts]), np.array(ids))


# -- what it reads ----------------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_a_file(written):
    data = letor.parse(written(TEXT))
    np.testing.assert_array_equal(data.features, np.array([[0.5, 0, -0.0125], [0, 7, 0], [0.5, 1, 100]], np.float32))
    assert data.labels.tolist() == [2, 0, 1]
    assert data.start.tolist() == [0, 2, 3]
    assert data.query_ids.tolist() == ["a", "b"]
    assert [array.dtype for array in data[:3]] == [np.float32, np.int8, np.int64]
    assert equal(data, plain_read(TEXT))


def test_gzip_is_told_by_its_bytes_and_not_by_its_name(written):
    expected = letor.parse(written(TEXT))
    assert equal(letor.parse(written(gzip.compress(TEXT.encode()), "packed.txt")), expected)
    assert equal(letor.parse(written(TEXT, "plain.gz")), expected)
    assert equal(letor.parse(written(gzip.compress(TEXT[:30].encode()) + gzip.compress(TEXT[30:].encode()))), expected)


def test_the_last_line_may_lack_its_end_and_the_first_have_a_byte_order_mark(written):
    assert equal(letor.parse(written("\ufeff" + TEXT.rstrip())), letor.parse(written(TEXT)))
    assert letor.parse(written("0 qid:1 1:1#x")).features.tolist() == [[1.0]]


def test_a_comment_may_have_any_bytes(written):
    assert equal(letor.parse(written(TEXT.encode() + b"# \xff\xfe\x00\n")), letor.parse(written(TEXT)))


@pytest.mark.kernels
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_was_written_is_read(data, tmp_path_factory):
    """Round trip: any labels, ids, features left out, values as float32 in any notation."""
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    names = st.text(st.characters(exclude_categories=("Z", "C"), exclude_characters="#"), min_size=1, max_size=8)
    queries = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    notation = data.draw(st.sampled_from(["{!r}", "{:.9e}", "{:+.17g}", "{:.60f}"]))
    lines, rows = [], []
    for query in queries:
        for _ in range(data.draw(st.integers(1, 3))):
            label = data.draw(st.integers(0, 127))
            row = data.draw(st.dictionaries(st.integers(1, 12), values, min_size=1, max_size=4))
            rows.append((label, row))
            words = [f"{index}:{notation.format(row[index])}" for index in sorted(row)]
            lines.append(f"{label} qid:{query} {data.draw(st.sampled_from([' ', '  ', chr(9)])).join(words)}")
    path = tmp_path_factory.mktemp("letor") / "file"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = letor.parse(path)
    assert equal(found, plain_read("\n".join(line.replace("\x85", "") for line in lines)))
    for (label, row), features, found_label in zip(rows, found.features, found.labels, strict=True):
        assert found_label == label
        assert {i + 1: features[i] for i in np.flatnonzero(features)} == {i: v for i, v in row.items() if v != 0.0}


@settings(max_examples=300, deadline=None)
@given(st.from_regex(r"\A[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?\Z"))
def test_numbers_are_pythons(text):
    expected = float(text)
    value, end = letor.decimal(np.frombuffer(text.encode() + b"\n\n\n\n", np.uint8), 0)
    assert end == len(text)
    assert value == pytest.approx(expected, rel=1e-14, abs=1e-307)
    digits = text.lower().partition("e")[0].strip("+-").replace(".", "").lstrip("0")
    if "e" not in text.lower() and len(digits) <= 15 and len(text.partition(".")[2]) <= 22:
        assert value == expected


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"1", b"0", b" ", b"qid:", b":", b"\n", b"1:1", b"#", b"e", b".", b"-"])).map(b"".join)
)
def test_any_bytes_are_read_or_refused_in_one_line(content):
    reader = letor._Reader(Path("some.txt"))
    try:
        for chunk in letor._chunks(_Stream(content), reader):
            reader.take(chunk)
        data = reader.result()
    except DataError as error:
        data, refused = None, str(error)
    if data is None:
        assert re.fullmatch(r"some\.txt, line \d+: [^\n]+", refused)
    else:
        assert np.isfinite(data.features).all()
        assert data.start[-1] == len(data.labels) > 0


class _Stream:
    def __init__(self, content):
        self.content = content

    def read(self, size):
        piece, self.content = self.content[:7], self.content[7:]
        return piece


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_pieces_do_not_matter(data):
    """However the bytes come, and however often the arrays grow on the way."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=1, max_size=30))
    lines = [f"1 qid:{query} {index}:{index}.5" for query, index in sorted(rows)]
    content = "\n".join(lines).encode()
    reader = letor._Reader(Path("some.txt"))
    for chunk in letor._chunks(_Stream(content), reader):
        reader.take(chunk)
    assert equal(reader.result(), plain_read(content.decode()))


def test_more_rows_than_fit_at_first(written):
    """The arrays grow in place: 5,000 rows, with a wider one every thousand."""
    lines = [f"0 qid:{row // 10} 1:{row} {2 + row // 1000}:1" for row in range(5_000)]
    data = letor.parse(written("\n".join(lines)))
    assert data.features.shape == (5_000, 6)
    np.testing.assert_array_equal(data.features[:, 0], np.arange(5_000))
    np.testing.assert_array_equal(data.start, np.arange(0, 5_001, 10))


def test_memory_beside_the_result_is_constant(written, monkeypatch):
    """The peak is the result, the eighth that it grows by, and some chunks; the file has thirty times as many."""
    monkeypatch.setattr(letor, "CHUNK", 1 << 16)
    values = " ".join(f"{feature}:0.123456" for feature in range(1, 41))
    path = written("".join(f"0 qid:{row // 100} {values}\n" for row in range(5_000)))
    letor.parse(path)  # compiles
    tracemalloc.start()
    try:
        data = letor.parse(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 30 * letor.CHUNK
    assert peak < 1.25 * sum(array.nbytes for array in data) + 8 * letor.CHUNK


# -- what it refuses --------------------------------------------------------------------------------------------------

GOOD = "0 qid:1 1:1\n"
BROKEN = {
    "a label that is no whole number": (
        "0.5 qid:1 1:1",
        "label = '0.5' is not a grade; allowed: whole numbers in 0 .. 127",
    ),
    "a negative label": ("-1 qid:1 1:1", "label = '-1' is not a grade"),
    "a label NaN": ("nan qid:1 1:1", "label = 'nan' is not a grade"),
    "a label too large": ("128 qid:1 1:1", "label = '128' is not a grade"),
    "a label far too large": ("99999999999999999999 qid:1 1:1", "label = '99999999999999999999' is not a grade"),
    "a missing qid": ("0 1:1 2:1", "found '1:1' instead of the query; allowed: qid:ID after the label"),
    "a label alone": ("0", "found '' instead of the query"),
    "an empty query id": ("0 qid: 1:1", "qid: is not followed by an id"),
    "a line without features": ("0 qid:1", "the document does not have features"),
    "a line with a comment for features": ("0 qid:1 # 1:1", "the document does not have features"),
    "features out of order": ("0 qid:1 2:1 1:1", "feature 1 comes twice or out of order; allowed: ascending indices"),
    "a feature twice": ("0 qid:1 2:1 2:1", "feature 2 comes twice or out of order"),
    "feature 0": ("0 qid:1 0:1", "feature index '0' is out of range; allowed: whole numbers in 1 .. 10000"),
    "a negative feature": ("0 qid:1 -1:1", "feature index '-1' is out of range"),
    "a huge feature": ("0 qid:1 1000000000:1", "feature index '1000000000' is out of range"),
    "a wide and a huge feature": ("0 qid:1 90:1 99999999999:1", "feature index '99999999999' is out of range"),
    "NaN": ("0 qid:1 1:NaN", "feature 1 = 'NaN' is not a number; allowed: finite decimal numbers of float32"),
    "an infinite value": ("0 qid:1 1:1 2:-inf", "feature 2 = '-inf' is not a number"),
    "a value beyond float32": ("0 qid:1 1:1e39", "feature 1 = '1e39' is not a number"),
    "a value far beyond": ("0 qid:1 1:1e999999999", "feature 1 = '1e999999999' is not a number"),
    "NULL": ("0 qid:1 1:NULL", "feature 1 = 'NULL' is not a number"),
    "no value": ("0 qid:1 1: 2:1", "feature 1 = '' is not a number"),
    "two colons": ("0 qid:1 1:2:3", "feature 1 = '2:3' is not a number"),
    "a hexadecimal value": ("0 qid:1 1:0x10", "feature 1 = '0x10' is not a number"),
    "half an exponent": ("0 qid:1 1:1e", "feature 1 = '1e' is not a number"),
    "no index": ("0 qid:1 1:1 word", "'word' is not a feature; allowed: index:value, and # before a comment"),
    "bytes that are no UTF-8": (b"0 qid:1\xff 1:1", r"query id '1\\xff' is not UTF-8 text"),
    "such bytes for a value": (b"0 qid:1 1:\xff", r"feature 1 = '\\xff' is not a number"),
    "a zero byte": (b"\0 qid:1 1:1", r"label = '\x00' is not a grade"),
    "a query that comes back": (
        "0 qid:2 1:1\n0 qid:1 1:1",
        "query '1' comes back: it began at line 2, with other queries in between; allowed: all docum",
    ),
    "a query id without end": ("0 qid:" + 300 * "x" + " 1:1", "the query id has 300 bytes; allowed: at most 200"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_broken_files_are_refused_with_file_and_line(what, packed, written):
    line, expected = BROKEN[what]
    line = line if isinstance(line, bytes) else line.encode()
    content = b"# comment\n" + GOOD.encode() + line + b"\n" + GOOD.encode()
    path = written(gzip.compress(content) if packed else content)
    number = 4 if b"\n" in line else 3
    with pytest.raises(DataError) as caught:
        letor.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {number}: {expected}")
    assert message.isprintable()  # so it is one line
    assert len(message) < 300 + len(str(path))
    assert not list(path.parent.glob("data-home/*"))  # nothing was kept


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing here\n"])
def test_a_file_without_documents(content, written):
    with pytest.raises(DataError, match=r"line \d: the file does not hold any document"):
        letor.load(written(content))
    with pytest.raises(DataError, match=r"the file does not hold any document"):
        letor.load(written(gzip.compress(content.encode())))


def test_a_gzip_file_that_is_cut_off(written):
    lines = [f"0 qid:{row} 1:{row * 7919 % 10007}" for row in range(1000)]
    packed = gzip.compress("\n".join(lines).encode())
    with pytest.raises(DataError, match=r"line \d+: the gzip file is truncated; nothing of it was kept"):
        letor.load(written(packed[:-20]))
    for cut in range(2, len(packed), 97):
        with pytest.raises(DataError, match=r"file\.txt, line \d+: the gzip file is (truncated|damaged)"):
            letor.load(written(packed[:cut]))
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    with pytest.raises(DataError, match=r"line \d+: "):
        letor.load(written(bytes(damaged)))


def test_what_is_no_file(tmp_path):
    with pytest.raises(DataError, match=r"is a folder; allowed: a LETOR file"):
        letor.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        letor.load(tmp_path / "none")


def test_a_file_without_line_ends(written, monkeypatch):
    monkeypatch.setattr(letor, "LONGEST_LINE", 1000)
    monkeypatch.setattr(letor, "CHUNK", 100)
    with pytest.raises(DataError, match=r"line 2: the line has more than 1000 bytes"):
        letor.load(written(GOOD + "0" * 2000))


# -- the cache --------------------------------------------------------------------------------------------------------


def test_the_second_time_nothing_is_parsed(written, monkeypatch):
    path = written(TEXT)
    first = letor.load(path)
    monkeypatch.setattr(letor, "parse", None)
    assert equal(letor.load(path), first)
    assert equal(letor.load(written(TEXT, "other-name.txt")), first)


def test_another_content_is_another_entry(written):
    assert letor.load(written(GOOD)).features.tolist() == [[1.0]]
    assert letor.load(written("0 qid:1 1:2\n")).features.tolist() == [[2.0]]


def test_a_damaged_entry_is_parsed_and_written_again(written, tmp_path):
    path = written(TEXT)
    first = letor.load(path)
    (entry,) = (tmp_path / "data-home").iterdir()
    whole = entry.read_bytes()
    for content in (b"", b"PK\x03\x04", whole[:200], whole[:-30]):
        entry.write_bytes(content)
        assert equal(letor.load(path), first)
        assert len(entry.read_bytes()) == len(whole)
    np.savez(entry, **{**first._asdict(), "start": np.array([0, 9])})
    assert equal(letor.load(path), first)


def test_without_a_cache_it_works_all_the_same(written, tmp_path, monkeypatch):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(blocked))
    assert letor.load(written(TEXT)).labels.tolist() == [2, 0, 1]


# -- feature rankers --------------------------------------------------------------------------------------------------


def drawn(seed, counts=(7, 1, 12), features=4, grades=3):
    """Documents whose values tie often."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-1, grades, (sum(counts), features)).astype(np.float32)
    labels = rng.integers(0, 2, sum(counts)).astype(np.int8)
    return letor.LetorData(values, labels, np.cumsum([0, *counts]), np.array([str(q) for q in range(len(counts))]))


@pytest.mark.kernels
@pytest.mark.parametrize("length", [1, 3, 12, 100])
def test_rankings_are_sorted_and_ties_are_shared(length):
    data = drawn(1)
    rankings = letor.feature_rankings(data, length)
    assert rankings.shape == (3, 4, length)
    assert rankings.dtype == np.int32
    whole = letor.feature_rankings(data._replace(features=np.zeros_like(data.features)), 100)  # the order of ties
    for query in range(3):
        documents = np.arange(data.start[query + 1] - data.start[query])
        order = whole[query, 0, : len(documents)].tolist()
        assert sorted(order) == documents.tolist()
        for ranker in range(4):
            values = data.features[data.start[query] : data.start[query + 1], ranker]
            expected = sorted(documents, key=lambda d: (-values[d], order.index(d)))[:length]
            found = rankings[query, ranker].tolist()
            assert found[: len(expected)] == expected
            assert set(found[len(expected) :]) <= {-1}


def test_both_ways_of_sorting_agree(monkeypatch):
    data = drawn(2, counts=(200, 3, 80), features=10)
    by_insertion = letor.feature_rankings(data, 20)
    monkeypatch.setattr(letor, "INSERTED", 0)
    np.testing.assert_array_equal(letor.feature_rankings(data, 20), by_insertion)


def test_ties_do_not_favour_the_order_of_the_file():
    """All documents tie: over 4,000 queries of 5, each is first equally often (error probability below 1e-9)."""
    count, queries = 5, 4_000
    features = np.zeros((count * queries, 1), np.float32)
    start = np.arange(queries + 1) * count
    data = letor.LetorData(features, np.zeros(len(features), np.int8), start, np.arange(queries).astype(str))
    first = np.bincount(letor.feature_rankings(data, 1)[:, 0, 0], minlength=count)
    assert ((first - queries / count) ** 2 / (queries / count)).sum() < 48  # chi-square with 4 degrees: P = 9e-10
    other = letor.feature_rankings(data, 1, ties=1)
    assert (other != letor.feature_rankings(data, 1)).mean() == pytest.approx(0.8, abs=0.05)  # 8 deviations


def test_rankers_are_chosen_by_number():
    data = drawn(3)
    every = letor.feature_rankings(data, 5)
    np.testing.assert_array_equal(letor.feature_rankings(data, 5, [3, 0]), every[:, [3, 0]])
    for wrong in ([4], [-1], [True], [0.5], ["0"]):
        with pytest.raises(ValueError, match=r"rankers\[0\] = .* allowed: a whole number in 0 \.\. 3"):
            letor.feature_rankings(data, 5, wrong)
    with pytest.raises(ValueError, match=r"rankers = \[\] has too few features"):
        letor.feature_rankings(data, 5, [])
    with pytest.raises(ValueError, match="length = 0 is out of range"):
        letor.feature_rankings(data, 0)
    with pytest.raises(ValueError, match="ties = -1 is out of range"):
        letor.feature_rankings(data, 5, ties=-1)


# -- NP2004 -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not NP2004.exists(), reason="NP2004 is not in a folder shared/data beside the checkout")
def test_np2004():
    data = letor.load(NP2004)
    assert data.features.shape == (15_000, 64)
    assert np.diff(data.start).tolist() == [1000] * 15
    assert data.labels.sum() == 15
    assert data.query_ids[0] == "WT04-132"
    assert equal(data, plain_read(gzip.decompress(NP2004.read_bytes()).decode()))
