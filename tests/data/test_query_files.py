"""Side files with the sizes of the queries, header lines and comments: what is read, and what is refused and how."""

import gzip
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.data import DataError, letor
from rankgym.data.query_files import query_file, query_starts
from rankgym.experiments.plan.digests import data_digests

GROUPED = "2 1:0.5 3:-1.25\n0 2:7\n# between\n1 1:.5 2:1\n"
NAMED = "2 qid:0 1:0.5 3:-1.25\n0 qid:0 2:7\n1 qid:1 1:.5 2:1\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data-home"))


@pytest.fixture
def written(tmp_path):
    """A function that writes a data file and, unless it is None, its side file, and gives the former's path."""

    def write(content, sizes=None, name="rank.train", side="rank.train.query"):
        for file, each in ((name, content), (side, sizes)):
            if each is not None:
                (tmp_path / file).write_bytes(each.encode() if isinstance(each, str) else each)
        return tmp_path / name

    return write


def equal(one, other):
    return all(a.dtype.kind == b.dtype.kind and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# -- what is read -----------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_both_forms_are_the_same_data(data, tmp_path_factory):
    """Random documents, with query ids and with a side file, plain and packed: the same arrays."""
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    named, grouped = [], []
    for query, size in enumerate(sizes):
        for _ in range(size):
            row = data.draw(st.dictionaries(st.integers(1, 12), values, min_size=1, max_size=4))
            words = " ".join(f"{index}:{row[index]!r}" for index in sorted(row))
            comment = data.draw(st.sampled_from(["", " # word", " #docid = GX029-35-5894638 inc = 0.01", "\n#\n\n"]))
            label = data.draw(st.integers(0, 127))
            named.append(f"{label} qid:{query} {words}{comment}")
            grouped.append(f"{label} {words}{comment}")
    blank = data.draw(st.sampled_from(["\n", "\n\n", " \r\n", " # documents\n"]))
    texts = ["\n".join(named), "\n".join(grouped), blank.join(map(str, sizes))]
    packed = data.draw(st.lists(st.booleans(), min_size=3, max_size=3))
    folder = tmp_path_factory.mktemp("forms")
    for name, text, pack in zip(("named", "grouped", "grouped.query"), texts, packed, strict=True):
        (folder / name).write_bytes(gzip.compress(text.encode()) if pack else text.encode())
    assert equal(letor.parse(folder / "named"), letor.parse(folder / "grouped"))


def test_where_the_side_file_may_be(written, tmp_path):
    """NAME.query or NAME.query.gz; for NAME.gz also those of NAME."""
    expected = letor.parse(written(NAMED, name="named"))
    packed = gzip.compress(b"2\n1\n")
    for name, content in (("rank.train", GROUPED), ("rank.train.gz", gzip.compress(GROUPED.encode()))):
        for side, sizes in ((f"{name}.query", "2\n1"), (f"{name}.query.gz", packed), ("rank.train.query", "2\n1\n")):
            path = written(content, sizes, name, side)
            assert query_file(path) == tmp_path / side
            assert equal(letor.parse(path), expected)
            (tmp_path / side).unlink()
    assert query_file(path) is None
    assert query_file(tmp_path / ("x" * 255)) is None


def test_a_file_with_queries_does_not_read_a_side_file(written):
    assert letor.load(written(NAMED, "no numbers")).start.tolist() == [0, 2, 3]


def test_the_second_time_nothing_is_parsed_and_another_side_file_is_another_entry(written, monkeypatch):
    path = written(GROUPED, "2\n1\n")
    before, stamp, named = letor.load(path), letor.file_stamp(path), data_digests({"file": str(path)})
    with monkeypatch.context() as patch:
        patch.setattr(letor, "parse", None)
        assert equal(letor.load(path), before)
    written(GROUPED, "1\n2\n")
    os.utime(f"{path}.query", ns=(0, 0))
    assert letor.load(path).start.tolist() == [0, 1, 3]
    assert letor.file_stamp(path) != stamp
    assert data_digests({"file": str(path)}) != named  # results of the other queries are not taken for these


def test_an_index_beyond_the_columns_and_chunks_within_documents(written, monkeypatch):
    monkeypatch.setattr(letor, "CHUNK", 16)
    lines = [f"1 1:{row} {2 + row // 50}:1\n" for row in range(300)]
    data = letor.parse(written("".join(lines), "100\n" * 3))
    assert data.features.shape == (300, 7)
    assert data.features[:, 0].tolist() == list(range(300))
    assert data.start.tolist() == [0, 100, 200, 300]
    assert data.query_ids.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize("header", ["label qid f1 f2", "  relevance\tquery # words: 2", "label"])
def test_one_header_line_is_skipped(header, written):
    for content, sizes in ((NAMED, None), (GROUPED, "2\n1\n")):
        expected = letor.parse(written(content, sizes))
        assert equal(letor.parse(written(f"# a comment\n\n{header}\n{content}", sizes)), expected)
        with pytest.raises(DataError, match=r"line 2: label = .* is not a grade"):
            letor.parse(written(f"{header}\n{header}\n{content}", sizes))
    with pytest.raises(DataError, match=r"line 2: label = "):
        letor.parse(written(f"1 qid:1 1:1\n{header}\n"))


def test_comments_of_letor(written):
    """Lines of MQ2007 and OHSUMED, and SVMlight's comments before the first document."""
    lines = [
        "#generated by hand",
        "2 qid:10 1:0.007477 2:0.000000 46:0.076923 #docid = GX029-35-5894638 inc = 0.0119881192468859 prob = 0.139842",
        "",
        "0 qid:10 1:0.25 46:1.000000#docid = 244338",
        " # qid:11",
        "1 qid:11 1:1 # 2:3",
    ]
    data = letor.parse(written("\n".join(lines)))
    assert (data.labels.tolist(), data.start.tolist()) == ([2, 0, 1], [0, 2, 3])
    assert data.features[:, [0, 1, 45]] == pytest.approx(np.array([[0.007477, 0, 0.076923], [0.25, 0, 1], [1, 0, 0]]))


# -- what is refused --------------------------------------------------------------------------------------------------

ADD_UP = "allowed: sizes that add up to the documents of rank.train, 3"
SIZES = {
    "too few": ("1\n1\n", 2, f"the sizes add up to 2; {ADD_UP}"),
    "too many": ("1\n\n1\n2\n1\n", 4, f"the queries down to this line have 4 documents; {ADD_UP}"),
    "far too many": ("999999999999999999", 1, "the queries down to this line have 999999999999999999 doc"),
    "a huge number": ("9" * 40, 1, "is not the size of a query"),
    "a word": ("2\none\n", 2, "'one' is not the size of a query; allowed: one whole number, at least 1"),
    "a fraction": ("# sizes\n1.5\n1.5\n", 2, "'1.5' is not the size of a query"),
    "a negative one": ("4\n-1\n", 1, "the queries down to this line have 4 documents"),
    "negative": ("-1\n4\n", 1, "'-1' is not the size of a query"),
    "a query without documents": ("2\n0\n1\n", 2, "'0' is not the size of a query"),
    "two numbers": ("2 1", 1, "'2 1' is not the size of a query"),
    "an empty file": ("", 1, f"the file does not hold any size; {ADD_UP}"),
    "comments only": ("# nothing\n\n", 2, f"the file does not hold any size; {ADD_UP}"),
    "other bytes": (b"2\n\xff\xfe\n", 2, r"'\\xff\\xfe' is not the size of a query"),
    "a gzip file that is cut off": (gzip.compress(b"2\n1\n")[:-9], None, "the gzip file is truncated; nothing of it"),
}


@pytest.mark.parametrize("what", SIZES)
def test_broken_side_files_are_refused_with_file_and_line(what, written):
    sizes, line, expected = SIZES[what]
    path = written(GROUPED, sizes)
    with pytest.raises(DataError, match=re.escape(expected)) as caught:
        letor.load(path)
    assert re.match(rf"{re.escape(str(path))}\.query, line {line or r'[0-9]+'}: ", str(caught.value))
    assert str(caught.value).isprintable()
    assert not list(path.parent.glob("data-home/*"))  # nothing was kept


def test_without_query_and_side_file_it_is_said_what_to_do(written):
    path = written("# a comment\n" + GROUPED)
    with pytest.raises(DataError) as caught:
        letor.load(path)
    assert str(caught.value) == (
        f"{path}, line 2: the document has no query; allowed: qid:ID after the label in every line, or a file "
        "rank.train.query beside this one with the number of documents of each query, one a line"
    )


def test_queries_in_some_lines_only(written):
    with pytest.raises(
        DataError, match=r"line 5: found 'qid:1', but documents before have no query; allowed: qid:ID in"
    ):
        letor.load(written(GROUPED + "1 qid:1 1:1\n", "3\n1\n"))
    with pytest.raises(DataError, match=r"line 4: found '1:1' instead of the query; allowed: qid:ID after the label"):
        letor.load(written(NAMED + "1 1:1\n", "3\n1\n"))
    for first in ("0", "0 word", "0 # 1:1"):
        with pytest.raises(DataError, match=r"line 1: found '(word)?' instead of the query"):
            letor.load(written(first, "1\n"))


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=30)
    | st.lists(st.sampled_from([b"1", b"2", b"0", b"-", b"+", b" ", b"\n", b"#", b"x", b"\x1f\x8b"])).map(b"".join),
    st.integers(1, 9),
)
def test_any_side_file_is_read_or_refused_in_one_line(tmp_path_factory, content, documents):
    side = tmp_path_factory.mktemp("side") / "d.query"
    side.write_bytes(content)
    try:
        start, refused = query_starts(side, side.with_name("d"), documents), ""
    except DataError as error:
        start, refused = None, str(error)
    if start is None:
        assert re.fullmatch(rf"{re.escape(str(side))}, line \d+: [^\n]+", refused)
    else:
        assert (np.diff(start) > 0).all()
        assert start[-1] == documents
