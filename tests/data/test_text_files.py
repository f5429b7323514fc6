"""Text files within limits: files that never end, long lines, other kinds of files, line ends, damaged gzip."""

import bz2
import gzip
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgym import data
from rankgym.data import DataError, fits_table, letor, matrix_files, text_files
from rankgym.data.query_files import query_starts
from rankgym.logs.evaluation.records import read_plain
from rankgym.logs.readers import read_log

MATRIX = "# rankers\n0.5 0.6\n0.4 0.5\n"
FITS = "query,item,attraction\nq,a,.5\nq,b,.25\n"
DOCUMENTS = "# from here on\n2 qid:1 1:.5 # one\n0 qid:1 2:1\n"
LOG = "query,item_1,click_1\nq,a,1\nq,b,0\n"


def read_matrix(path):
    return matrix_files.read(path)


def read_fits(path):
    return data.import_fits("mine", path)


def read_table(path):
    return read_log(path, "plain", progress=False)


def read_policy_log(path):
    return read_plain(path, np.array(["q"]), np.array([["a", "b"]]), progress=False)


READERS = {read_matrix: MATRIX, read_fits: FITS, letor.load: DOCUMENTS, read_table: LOG, read_policy_log: LOG}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data-home"))


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("read", [*READERS, lambda path: data.import_file("yandex60", path)])
def test_what_may_never_end_is_not_opened(read, pipe):
    for path, kind in ((pipe, "a named pipe"), ("/dev/zero", "a device")):
        with pytest.raises(
            DataError, match=f"^{path} is {kind}; allowed: a regular file. Write what it sends to a file"
        ):
            read(path)


def test_import_on_the_command_line_of_what_never_ends(run, pipe):
    for name in ("mine", "yandex60"):
        result = run("data", "import", name, str(pipe))
        assert result.exit_code == 2
        assert result.stderr == (
            f"error: {pipe} is a named pipe; allowed: a regular file. Write what it sends to a file first\n"
        )


@pytest.mark.parametrize(("read", "start"), [(read_matrix, "# rankers\n"), (read_fits, "query,item,attraction\n")])
def test_a_long_line_is_refused_with_its_number(read, start, tmp_path):
    """Without taking it to pieces, each of which would need more memory than the line."""
    with (tmp_path / "long").open("w") as file:
        file.write(start)
        file.write("0.5," * 250_001)
    with pytest.raises(DataError, match=r"long, line 2: the line has more than 1,000,000 bytes; allowed: a "):
        read(tmp_path / "long")


def test_there_are_no_more_lines_than_fit(monkeypatch):
    monkeypatch.setattr(text_files, "MOST_LINES", 3)
    with pytest.raises(DataError, match=r"^FILE has more than 3 lines; allowed: a preference matrix"):
        matrix_files.from_bytes(b"0.5 0.6\n\n\n0.4 0.5\n", "FILE")


def test_files_larger_than_the_system_says(monkeypatch, tmp_path):
    """Such as those of /proc, whose size is 0."""
    (tmp_path / "file").write_text(MATRIX)
    monkeypatch.setattr(os, "fstat", lambda number: os.stat_result([0] * 10))
    monkeypatch.setattr(matrix_files, "MAX_BYTES", 10)
    with pytest.raises(DataError, match="file has more than 10 bytes; allowed: at most 10 for a preference matrix"):
        read_matrix(tmp_path / "file")


def test_dense_features_fit_the_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(letor, "MOST_BYTES", 1_000_000)
    (tmp_path / "wide").write_text("0 qid:1 1:1\n0 qid:1 10000:1\n")
    said = r"wide, line 2: .* documents with features up to 10000 take 0\.0 GB; allowed: at most 0\.0 GB"
    with pytest.raises(DataError, match=said):
        letor.load(tmp_path / "wide")


# -- other kinds of files ---------------------------------------------------------------------------------------------

FOREIGN = {
    "UTF-16": (lambda text: text.encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    "UTF-16BE": (lambda text: text.encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8"),
    "UTF-32": (lambda text: text.encode("utf-32"), "iconv -f UTF-32 -t UTF-8"),
    "a zip archive": (lambda text: b"PK\x05\x06" + text.encode(), "unzip"),
    "compressed by bzip2": (lambda text: bz2.compress(text.encode()), "bunzip2"),
    "compressed by xz": (lambda text: b"\xfd7zXZ\0" + text.encode(), "unxz"),
    "a tar archive": (lambda text: b"file".ljust(257, b"\0") + b"ustar\n" + text.encode(), "tar -xf"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("read", READERS)
def test_other_kinds_of_files_are_recognised(read, kind, tmp_path):
    encode, do = FOREIGN[kind]
    path = tmp_path / "file"
    for content in (encode(READERS[read]), gzip.compress(encode(READERS[read]))):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read(path)
        if content[:2] != text_files.GZIP or read not in (read_matrix, read_fits):
            assert re.search(
                rf"file, line 1: the file is {kind}; allowed: .*\. Make it text first: {do}$", f"{caught.value}"
            )
        else:
            assert "line 1: the file is compressed by gzip; allowed: a " in str(caught.value)


# -- line ends --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r", "\r\n"])
@pytest.mark.parametrize("read", READERS)
def test_lines_may_end_as_on_other_systems(read, end, tmp_path):
    """A comment at the beginning does not swallow the other lines."""
    text, results = READERS[read], []
    for place, content in enumerate((text, text.replace("\n", end), text.replace("\n", end)[: -len(end)])):
        path = tmp_path / str(place)
        path.write_bytes(content.encode())
        found = read(path)
        results.append(data.load_fits("mine").parameters["attraction"] if read is read_fits else found)
    for found in results[1:]:
        for one, other in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(one, other)


@given(st.lists(st.sampled_from([b"\r", b"\n", b"a", b"\r\n"])).map(b"".join), st.integers(1, 3))
def test_line_ends_are_those_of_python(text, size):
    turn = text_files.LineEnds()
    found = b"".join(turn(text[k : k + size]) for k in range(0, len(text), size))
    assert found.decode() == text.decode().replace("\r\n", "\n").replace("\r", "\n")


# -- gzip -------------------------------------------------------------------------------------------------------------


def broken_gzip(text):
    """A gzip file of blocks that are not compressed, one behind the middle with a wrong length; and its place."""
    packed = bytearray(gzip.compress(text, 0, mtime=0))
    at = packed.index(b"\xff\xff\x00\x00", len(packed) // 2)  # a length, and its complement
    packed[at] ^= 1
    return bytes(packed), at


def said_line(error):
    found = re.search(r"line (\d+): the gzip file is (damaged|truncated)", str(error))
    assert found, str(error)
    return int(found[1])


@pytest.mark.parametrize("read", [letor.load, read_table])
def test_damage_of_a_gzip_file_is_reported_where_it_is(read, tmp_path):
    generator = np.random.default_rng(0)
    words = generator.integers(10**8, size=20_000).tolist()
    lines = [f"0 qid:1 1:{word}\n" for word in words]
    if read is read_table:
        lines = ["query,item_1,click_1\n", *(f"q,{word},0\n" for word in words)]
    text = "".join(lines).encode()
    damaged, at = broken_gzip(text)
    half = gzip.compress(text, 0)[: len(text) // 2]
    for broken, place in ((damaged, at), (half, len(half))):
        (tmp_path / "file").write_bytes(broken)
        with pytest.raises(DataError) as caught:
            read(tmp_path / "file")
        assert abs(said_line(caught.value) - text[:place].count(b"\n")) < 1_500  # 8 KB of text


def test_a_wrong_line_of_a_damaged_gzip_file_is_damage(tmp_path):
    """The checksum of the file is at its end."""
    packed = bytearray(gzip.compress(b"0 qid:1 1:1\nx qid:1 1:1\n", 0))
    (tmp_path / "file").write_bytes(packed)
    with pytest.raises(DataError, match="line 2: label = 'x' is not a grade"):
        letor.load(tmp_path / "file")
    packed[-8] ^= 1
    (tmp_path / "file").write_bytes(packed)
    with pytest.raises(DataError, match="line 2: the gzip file is damaged"):
        letor.load(tmp_path / "file")


def test_damage_of_a_side_file(tmp_path):
    (tmp_path / "d.query").write_bytes(gzip.compress(b"1\n" * 10)[:-3])
    with pytest.raises(DataError, match=r"d\.query, line \d+: the gzip file is truncated"):
        query_starts(tmp_path / "d.query", tmp_path / "d", 11)


def test_a_fits_table_is_recognised_whatever_its_line_ends():
    assert all(fits_table.is_fits_table(FITS.replace("\n", end).encode()) for end in ("\n", "\r", "\r\n"))
