"""Readers of click logs: what is written in any form is read back, whatever the chunks; broken lines are found."""

import gzip
import string
import warnings
from collections import Counter

import numpy as np
import plain_logs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_logs import FORMS, counted, multiset, naive_relevance, write

from rankgym.data import DataError
from rankgym.logs.readers import broken_text, read_log, read_parts, reading
from rankgym.logs.readers import lines as lines_module
from rankgym.logs.readers.tables import Labels, number_of_label

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
FORBIDDEN = "\t\n\r\0,"
LABEL = st.text(st.characters(exclude_characters=FORBIDDEN, exclude_categories=["Cs"]), min_size=1, max_size=5)
ODD = st.sampled_from(["NA", "null", "nan", '"', 'a"b', "Q", "C", " x ", "ä", "𝄞", "0", "00", "#", "1e5"])


@st.composite
def logs(draw, most=12):
    """Some sessions (query, documents, clicks) of few queries and documents."""
    names = draw(st.lists(st.one_of(LABEL, ODD), min_size=4, max_size=8, unique=True))
    sessions = []
    for _ in range(draw(st.integers(1, most))):
        documents = draw(st.lists(st.sampled_from(names), min_size=1, max_size=6, unique=True))
        clicks = draw(st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)))
        sessions.append((draw(st.sampled_from(names[:3])), documents, clicks))
    return sessions


def read(path, kind, **options):
    return read_log(path, FORMS[kind], progress=False, **options)


@pytest.mark.kernels
@pytest.mark.parametrize("kind", FORMS)
@FEW
@given(sessions=logs(), chunk=st.integers(1, 300), packed=st.booleans())
def test_what_is_written_is_read(kind, sessions, chunk, packed, tmp_path):
    """Whatever the chunks: no session is cut at their borders."""
    path = write(tmp_path, sessions, kind, packed=packed and kind != "parquet")
    found = read(path, kind, chunk=chunk)
    assert multiset(found) == counted(sessions)
    assert found.num_positions == max(len(documents) for _, documents, _ in sessions)
    assert len(found.query) == len(counted(sessions))
    number = Counter(query for query, _, _ in sessions)
    assert found.query_id.tolist() == sorted(number, key=lambda query: (-number[query], query))


WORD = st.sampled_from(["1", "2", "3", "a", "b"])
LINE = st.one_of(
    st.builds(lambda s, q, d: "\t".join([s, "0", "Q", q, "1", *d]), WORD, WORD, st.lists(WORD, min_size=1, max_size=3)),
    st.builds(lambda s, d: f"{s}\t5\tC\t{d}", WORD, WORD),
    st.builds("\t".join, st.lists(st.sampled_from(["1", "Q", "C", "x", "0", ""]), min_size=1, max_size=7)),
    st.just(""),
)


@pytest.mark.kernels
@FEW
@given(lines=st.lists(LINE, min_size=1, max_size=25), chunk=st.integers(1, 200))
def test_any_lines_are_sessions_or_broken(lines, chunk, tmp_path):
    """As a plain reader finds them, which takes a line at a time."""
    text = "".join(f"{line}\n" for line in lines)
    path = tmp_path / "log"
    path.write_text(text)
    wanted, broken = naive_relevance(text)
    if not wanted:
        with pytest.raises(DataError):
            read_parts(path, "relevance", max_broken=0.999, progress=False)
        return
    sessions, _, report = read_parts(path, "relevance", max_broken=0.999, chunk=chunk, progress=False)
    assert multiset(sessions) == wanted
    assert (report.broken, report.lines) == (len(broken), len(lines))
    assert [int(example.split(", line ")[1].split(":")[0]) for example in report.examples] == broken[:5]


def many(queries=40, documents=60, seed=0, positions=10, sessions=400):
    """Sessions of many queries and documents: every table has to grow."""
    generator = np.random.default_rng(seed)
    for _ in range(sessions):
        query = int(generator.integers(queries)) ** 2
        shown = generator.permutation(documents)[:positions]
        yield f"q{query}", [f"d{query}-{one}" for one in shown], (generator.random(positions) < 0.3).tolist()


@pytest.mark.parametrize("kind", FORMS)
def test_tables_grow(kind, tmp_path):
    sessions = list(many(sessions=1_100, positions=3))
    path = write(tmp_path, sessions, kind)
    found = read(path, kind)
    assert multiset(found) == counted(sessions)
    for other in (read(path, kind, chunk=1_000), read(path, kind, chunk=77_777)):
        assert all(np.array_equal(one, two) for one, two in zip(found, other, strict=True))


def test_many_queries_and_long_labels(tmp_path):
    sessions = [
        (f"{number}{'q' * (number % 20 * 45)}", [f"{'ä' * (number % 9 * 50)}{number}"], [True])
        for number in range(1_100)
    ]
    assert multiset(read(write(tmp_path, sessions, "relevance"), "relevance")) == counted(sessions)


@pytest.mark.parametrize("kind", FORMS)
def test_the_most_frequent_queries(kind, tmp_path):
    sessions = [(query, ["x", "y"], [True, False]) for query in "ccccbbbaaadde"]
    path = write(tmp_path, sessions, kind)
    assert read(path, kind, queries=2).query_id.tolist() == ["c", "a"]  # as often as b: the first label
    assert read(path, kind, queries=4).query_id.tolist() == ["c", "a", "b", "d"]
    assert read(path, kind, queries=9, min_sessions=3).query_id.tolist() == ["c", "a", "b"]
    assert read(path, kind, queries=1).num_sessions == 4
    with pytest.raises(DataError, match=r"the log ends without a session of a query with at least min_sessions = 5"):
        read(path, kind, min_sessions=5)


@pytest.mark.parametrize("kind", FORMS)
def test_positions_are_cut(kind, tmp_path):
    sessions = [("q", ["a", "b", "c"], [False, True, True]), ("q", ["b", "a", "d"], [True, False, False])]
    found = read(write(tmp_path, sessions, kind), kind, positions=2)
    assert multiset(found) == counted([(q, documents[:2], clicks[:2]) for q, documents, clicks in sessions])
    assert sorted(found.item_id.tolist()) == ["a", "b"]


@pytest.mark.kernels
@pytest.mark.parametrize("kind", FORMS)
def test_64_positions(kind, tmp_path):
    sessions = [("q", [f"d{k}" for k in range(64)], [k % 3 == 0 or k == 63 for k in range(64)])]
    assert multiset(read(write(tmp_path, sessions, kind), kind)) == counted(sessions)


def test_sessions_held_out(tmp_path):
    sessions = list(many(queries=3, documents=4, positions=2, sessions=2_000))
    path = write(tmp_path, sessions, "relevance")
    fitted, held, report = read_parts(path, "relevance", held_out=0.25, seed=3, progress=False)
    assert multiset(fitted) + multiset(held) == counted(sessions)
    assert report.sessions == 2_000
    assert abs(held.num_sessions - 500) < 105  # 5.4 standard deviations of 19: an error probability below 1e-7
    again = read_parts(path, "relevance", held_out=0.25, seed=3, chunk=999, progress=False)[1]
    assert multiset(again) == multiset(held)
    assert multiset(read_parts(path, "relevance", held_out=0.25, seed=4, progress=False)[1]) != multiset(held)


@pytest.mark.parametrize("kind", FORMS)
def test_several_files_are_one_log(kind, tmp_path):
    one, other = [("a", ["x"], [True]), ("b", ["x"], [False])], [("a", ["x", "y"], [True, True])]
    (tmp_path / "2").mkdir()
    paths = [write(tmp_path, one, kind), write(tmp_path / "2", other, kind)]
    assert multiset(read(paths, kind)) == counted(one + other)
    assert len(read_parts(paths, FORMS[kind], progress=False)[2].files) == 2


def test_a_click_belongs_to_the_latest_query_that_shows_it(tmp_path):
    lines = [
        "1\t0\tQ\tp\t0\ta\tb",
        "1\t1\tQ\tq\t0\tb\tc",
        "1\t2\tC\tb",
        "1\t3\tC\ta",
        "2\t0\tQ\tp\t0\tb",
        "1\t9\tQ\tr\t0\tz",
    ]
    (tmp_path / "log").write_text("\n".join([*lines, ""]))
    found = multiset(read_log(tmp_path / "log", "relevance"))
    wanted = [("p", "ab", (1, 0)), ("q", "bc", (1, 0)), ("p", "b", (0,)), ("r", "z", (0,))]
    assert found == counted(wanted)


def test_test_queries_of_the_personalised_log_are_not_sessions(tmp_path):
    """The published example, and a test query, whose clicks were withheld."""
    text = (
        "744899\tM\t23\t123123123\n"
        "744899\t0\tQ\t0\t192902\t4857,3847,2939\t632428,2384\t309585,28374\t319567,38724\n"
        "744899\t1403\tC\t0\t632428\n"
        "744899\t1500\tT\t1\t192902\t4857\t632428,2384\t309585,28374\n"
    )
    (tmp_path / "log").write_text(text)
    sessions, _, report = read_parts(tmp_path / "log", "personalised", progress=False)
    assert multiset(sessions) == counted([("192902", ["632428", "309585", "319567"], [1, 0, 0])])
    assert (report.withheld, report.sessions, report.broken) == (1, 1, 0)


def test_the_form_of_clicks_in_tables(tmp_path):
    cells = ["0", "1", "0.0", "1.0", "true", "False", "TRUE", "false"]
    (tmp_path / "log").write_text("query,item_1,click_1\n" + "".join(f"q,d{n},{c}\n" for n, c in enumerate(cells)))
    found = multiset(read_log(tmp_path / "log", "plain"))
    assert found == counted([("q", [f"d{n}"], [c.lower()[0] in "1t"]) for n, c in enumerate(cells)])


def test_tables_that_pandas_writes(tmp_path):
    """Whole numbers as documents, floats where some are missing."""
    import pandas

    frame = pandas.DataFrame(
        {"query": [7, 8], "item_1": [1, 2], "item_2": [3, None], "click_1": [True, False], "click_2": [1, None]}
    )
    frame.to_parquet(tmp_path / "log.parquet")
    assert multiset(read_log(tmp_path / "log.parquet", "plain")) == counted([("7", "13", (1, 1)), ("8", "2", (0,))])
    frame.item_2 = [0.5, 1]
    frame.to_parquet(tmp_path / "log.parquet")
    with pytest.raises(DataError, match="column 'item_2' has fractions; allowed: text or whole numbers"):
        read_log(tmp_path / "log.parquet", "plain")


# -- errors -----------------------------------------------------------------------------------------------------------

GOOD = [("q", ["a", "b", "c"], [True, False, False])] * 3
TEXTS = ["csv", "relevance", "personalised"]
BROKEN = {  # form: lines that are broken, and what the message says
    "csv": {
        "q,a": "it has 2 columns; allowed: 9",
        "0,q,a,b,a,0,0,0,1": "a document stands in the list twice: item_3 = 'a'; allowed",
        "0,q,a,b,c,0,0,2,1": "a click is neither 0 nor 1: click_3 = '2'; allowed",
        "0,q,a,b,c,0,0,,1": "a click is neither 0 nor 1: click_3 is empty; allowed",
        "0,q,a,,,0,0,1,1": "a click without document: click_3 = '1'; allowed",
        "0,q,,b,c,,0,0,1": "a document stands below an empty entry: item_1 is empty; allowed",
        "0,,a,b,c,0,0,0,1": "the query is empty",
        "0,q,,,,,,,1": "the list is empty",
        '0,"q,a,b,c,0,0,0,1': "a quote is not closed",
        f"0,q,a,b,{'x' * 1001},0,0,0,1": "a label has more than 1000 bytes: item_3 = 'x",
    },
    "relevance": {
        "9\t0\tQ\tq\t1": "it has 5 columns",
        "9": "it has 1 columns",
        "9\t0\tT\tq\t1\ta": "'T' is not a kind of line",
        "9\tx\tC\ta": "time 'x' is not a whole number",
        "9\t0\tQ\tq\t1\ta\tb\ta": "a document stands in the list twice",
        "9\t0\tQ\tq\t1\ta\t\tb": "an entry is empty",
        "9\t0\tC\ta": "a click without query: no result page of this session shows 'a'",
        "9\t0\tQ\tq\t1\t" + "\t".join(map(str, range(65))): "the list has more than 64 documents",
        f"9\t0\tQ\tq\t1\t{'x' * 1001}": "a label has more than 1000 bytes",
    },
    "personalised": {
        "9\t0\tQ\t0\tq\t1,2": "it has 6 columns",
        "9\tM\t1": "'1' is not a kind of line",
        "9\t0\tQ\t0\tq\t1,2\ta,1\ta,2": "a document stands in the list twice",
        "9\t0\tQ\t0\tq\t1,2\ta": "an entry is empty",
        "9\t0\tC\t0\ta": "a click without query",
        "9\t0\tC\ta": "it has 4 columns",
    },
}
ANY = {
    "x" * 1_000_000: "the line has more than 100,000 bytes",
    b"9\t0\tQ\tq\t1\t\xe4\xf6": "the line is not UTF-8 text",
    b"9\0": "the line holds a NUL byte",
}
CASES = [(kind, line, said) for kind in TEXTS for line, said in (BROKEN[kind] | ANY).items()]


@pytest.mark.kernels
@pytest.mark.parametrize(("kind", "line", "said"), CASES, ids=[f"{kind}-{said[:40]}" for kind, _, said in CASES])
@pytest.mark.parametrize("chunk", [50, 1 << 20])
def test_a_broken_line_is_found_and_left_out(kind, line, said, chunk, tmp_path):
    path = write(tmp_path, GOOD, kind)
    data = path.read_bytes()
    number = data.count(b"\n") + 2  # an empty line stands before it
    more = data.partition(b"\n")[2] if kind == "csv" else data
    path.write_bytes(data + b"\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n" + more)
    form = FORMS[kind]
    with pytest.raises(DataError) as caught:
        read_log(path, form, progress=False, chunk=chunk)
    total = number + more.count(b"\n")
    start = f"1 of {total} lines is broken; allowed: a share of max_broken = 0.001. "
    assert str(caught.value).startswith(f"{start}{path}, line {number}: {said}")
    assert len(str(caught.value)) < 600
    with pytest.warns(UserWarning, match=rf"^1 of \d+ lines was broken and left out; .*, line {number}: "):
        sessions = read_log(path, form, max_broken=0.5, progress=False, chunk=chunk)
    assert sessions.num_sessions == 6


@pytest.mark.parametrize("kind", FORMS)
def test_an_empty_file(kind, tmp_path):
    (tmp_path / "log").write_bytes(b"")
    with pytest.raises(DataError, match="log, line 1: the file is empty; allowed: a click log"):
        read(tmp_path / "log", kind)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_gzip_file_that_is_cut_short(kind, tmp_path):
    path = write(tmp_path, list(many(sessions=300)), kind, packed=True)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"line \d+: the gzip file is truncated; nothing of it was kept"):
        read(path, kind, chunk=10_000)
    path.write_bytes(gzip.compress(b"x" * 99)[:12] + b"\xff" * 30)
    with pytest.raises(DataError, match=r"line 1: the gzip file is (damaged|truncated)"):
        read(path, kind)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_last_line_that_is_cut_off(kind, tmp_path):
    """In the middle of the list; a log may end without a line end."""
    data = plain_logs.written([("q", ["aa", "bb", "cc"], [False] * 3)] * 3, kind).rstrip(b"\n")
    path = tmp_path / "log"
    path.write_bytes(data)
    assert read(path, kind).num_sessions == 3
    path.write_bytes(data[: data.rindex(b"bb")])
    last = data.count(b"\n") + 1
    with pytest.raises(DataError, match=rf"1 of {last} lines is broken.* line {last}: "):
        read(path, kind)


def test_a_list_that_is_cut_off_is_not_withheld(tmp_path):
    """Only the form with lines T has queries whose clicks were withheld."""
    (tmp_path / "log").write_text("1\t0\tQ\tq\t0\ta\tb\n2\t0\tQ\tq\t0\ta")
    sessions, _, report = read_parts(tmp_path / "log", "relevance", max_broken=0.5, progress=False)
    assert (report.broken, report.withheld, sessions.num_sessions) == (1, 0, 1)


def test_a_table_is_not_a_log_of_lines(tmp_path):
    (tmp_path / "log").write_text("query,item_1,click_1\nq,a,1\n")
    with pytest.raises(DataError, match="line 1: it has 1 columns; it looks like a table: form 'plain'; allowed"):
        read(tmp_path / "log", "relevance")


def test_text_of_a_parquet_file_that_is_not_utf_8(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    item = arrow.array([b"\xe2"], arrow.binary())
    item = arrow.StringArray.from_buffers(1, item.buffers()[1], item.buffers()[2])
    parquet.write_table(arrow.table({"query": ["q"], "item_1": item, "click_1": [1]}), tmp_path / "log")
    with pytest.raises(DataError, match="log, row 1: the Parquet file is damaged: ArrowInvalid: Invalid UTF8"):
        read(tmp_path / "log", "parquet")


def test_a_table_that_is_cut_short(tmp_path):
    data = plain_logs.written(GOOD, "parquet")
    for number in (8, len(data) // 2, len(data) - 3):
        (tmp_path / "log").write_bytes(data[:number])
        with pytest.raises(DataError, match="log, row 1: the Parquet file is damaged"):
            read(tmp_path / "log", "parquet")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("qurey,item_1,click_1", "there is no column 'query'; is it 'qurey'?; allowed: query, item_1 ... item_K"),
        ("query,item_1,itm_2,click_1,click_2", "there is no column 'item_2'; is it 'itm_2'?;"),
        ("query,item_1,item_2,click_1", "there is no column 'click_2';"),
        ("query,doc_1,click_1", "there is no column 'item_1'"),
        ("query,item_1,item_1,click_1", "column 'item_1' stands here twice"),
        ("query,item_0,item_1,click_0,click_1", "there is a column 'item_0'; allowed: item_1 for the top position"),
        ("query,item_1,click_1,click_01", "there is a column 'click_01'; allowed: click_1 for the top position"),
        ("query,item_1,itm_2,click_1,clk_2", "there is a column 'itm_2'; is it 'item_2'? allowed: that name"),
        ("x" * 100_001, "the line has more than 100,000 bytes; allowed: the names of the columns"),
        (
            "1\t0\tQ\tq\t0\ta",
            "there is no column 'query'; allowed: query, item_1 ... item_K, click_1 ... click_K, and"
            " any others; found: '1', '0', 'Q', 'q', '0', 'a'; it looks like a log of form 'relevance'",
        ),
        ("query,item_1,item_99,click_1", "position 99 is out of range; allowed: 1 .. 64"),
        ("1\t0\tQ\tq\t0\ta", "there is no column 'query'; allowed"),
    ],
)
def test_wrong_columns(names, said, tmp_path):
    (tmp_path / "log").write_text(f"{names}\nq,a,1\n")
    with pytest.raises(DataError) as caught:
        read_log(tmp_path / "log", "plain")
    assert str(caught.value).startswith(f"{tmp_path / 'log'}, line 1: {said}")


@pytest.mark.parametrize("kind", ["relevance", "personalised"])
def test_clicks_without_queries(kind, tmp_path):
    line = "1\t0\tC\ta\n" if kind == "relevance" else "1\t0\tC\t0\ta\n"
    (tmp_path / "log").write_text(line * 20_000)
    with pytest.raises(DataError, match=r"lines so far are broken; .* The first: .*log, line 1: a click without query"):
        read(tmp_path / "log", kind, max_broken=0.0, chunk=100_000)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_of_another_kind(kind, tmp_path):
    (tmp_path / "log").write_bytes(np.random.default_rng(0).bytes(50_000))
    with pytest.raises(DataError, match=r"log, line \d+: "):
        read(tmp_path / "log", kind)
    (tmp_path / "log").write_text("query,item_1,click_1\n", encoding="utf-16")
    with pytest.raises(DataError, match="log, line 1: the file is UTF-16; allowed: UTF-8"):
        read(tmp_path / "log", kind)
    with pytest.raises(DataError, match="is a folder; allowed: files of a click log"):
        read(tmp_path, kind)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "other", kind)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path):
    (tmp_path / "log").write_bytes(b"\xef\xbb\xbfquery;item_1;click_1\r\nq;a,b;1\r\n\r\nq;a,b;1\r\n")
    assert multiset(read_log(tmp_path / "log", "plain")) == {("q", ("a,b",), (True,)): 2}


def test_clicks_on_a_broken_page_are_not_broken_too(tmp_path):
    (tmp_path / "log").write_text("1\t0\tQ\tq\t0\ta\ta\n1\t0\tC\tx\n2\t0\tQ\tq\t0\ta\n2\t0\tC\ta\n")
    sessions, _, report = read_parts(tmp_path / "log", "relevance", max_broken=0.5, progress=False)
    assert (report.broken, sessions.num_sessions) == (1, 1)
    assert "the first" not in broken_text(report)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"form": "relevant"}, r"form = 'relevant' is not known; did you mean 'relevance'\? allowed: plain, relevance"),
        ({"queries": 0}, "queries = 0 is out of range"),
        ({"positions": 65}, r"positions = 65 is out of range; allowed: a whole number in 1 \.\. 64"),
        ({"min_sessions": 0}, "min_sessions = 0 is out of range"),
        ({"max_broken": 1.0}, r"max_broken = 1\.0 is out of range; allowed: \[0, 1\)"),
        ({"max_broken": "x"}, "max_broken = 'x' is out of range"),
        ({"path": []}, r"path = \[\] has no file"),
    ],
)
def test_arguments_are_checked(options, said, tmp_path):
    path = write(tmp_path, GOOD, "csv")
    with pytest.raises(ValueError, match=said):
        read_log(**{"path": path, "form": "plain"} | options)


@pytest.mark.parametrize("kind", FORMS)
def test_progress_is_reported_of_both_passes(kind, tmp_path, monkeypatch):
    """In megabytes, here smaller ones."""
    monkeypatch.setattr(reading, "MEGABYTE", 1_000)
    path, parts = write(tmp_path, list(many(sessions=100)), kind), []
    read_log(path, FORMS[kind], progress=parts.append)
    assert sum(parts) == 2 * path.stat().st_size // 1_000 > 1


def test_a_session_of_millions_of_lines_is_refused(tmp_path, monkeypatch):
    from rankgym.logs.readers import pages

    monkeypatch.setattr(pages, "LONGEST_SESSION", 2_000)
    path = tmp_path / "log"
    path.write_text("8\t0\tQ\tq\t0\ta\n" + "9\t0\tQ\tq\t0\ta\n" * 500)
    with pytest.raises(DataError, match="line 2: a session of more than 2,000 bytes begins here; allowed: lines as"):
        read_log(path, "relevance", chunk=500)


def test_long_lines_take_no_memory(tmp_path):
    """Of a line only its beginning is kept."""
    with (tmp_path / "log").open("wb") as file:
        file.write(string.ascii_letters.encode() * 20_000)
        file.write(b"\n1\t0\tQ\tq\t0\ta\n")
    with (tmp_path / "log").open("rb") as file:
        pieces = list(lines_module._pieces(iter(lambda: file.read(1_000), b"")))
    assert len(pieces[0][0]) <= 102_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_log(tmp_path / "log", "relevance", max_broken=0.9, chunk=1_000).num_sessions == 1


def test_thousands_of_labels_keep_their_numbers():
    """The hash table grows several times, and finds each label again."""
    words = [f"query {number}" for number in range(4_000)]
    text = np.frombuffer("".join(words).encode(), np.uint8)
    ends = np.cumsum([len(word) for word in words])
    found = Labels()
    for _ in range(2):
        for number, (word, end) in enumerate(zip(words, ends.tolist(), strict=True)):
            while (label := number_of_label(text, end - len(word), end, 0, found.table)) < 0:
                found.grow()
            assert label == number
    assert found.labels(range(4_000)).tolist() == words
