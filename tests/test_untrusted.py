"""Archives, arrays and JSON within limits: what exceeds one is refused before it takes memory or time."""

import io
import struct
import zipfile

import numpy as np
import pytest

from rankgym.untrusted.archives import MOST_DIRECTORY, open_archive, read_array, read_arrays, read_members
from rankgym.untrusted.files import RefusedFile, check_parquet, parse_json, read_file


def packed(parts, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, part in parts:
            made.writestr(zipfile.ZipInfo(name), part, method)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def lying(data):
    """Say in both directories that the first member has ten bytes."""
    data = bytearray(data)
    for sign, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.find(sign) + place
        data[at : at + 4] = struct.pack("<I", 10)
    return bytes(data)


BOMB = packed([("x", bytes(20 << 20))])
REFUSED = {
    "a bomb": (BOMB, "unpacks to more than 1,048,576 bytes"),
    "a bomb in parts": (packed([(f"{n}", bytes(600_000)) for n in range(3)]), "unpacks to more than"),
    "a bomb that says it is small": (lying(BOMB), "cannot be read"),
    "another method": (packed([("x", bytes(100))], zipfile.ZIP_BZIP2), "another method than deflate"),
    "many members": (packed([(f"{n}", b"") for n in range(101)]), "has 101 members; allowed: at most 100"),
    "a name twice": (packed([("x", b""), ("y", b"")]).replace(b"y", b"x"), "two members of one name"),
    "no archive": (b"PK\x03\x04", "BadZipFile"),
}


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=list(REFUSED))
def test_archives_that_are_refused(data, said):
    with pytest.raises(RefusedFile, match=said):
        read_members(data, 1 << 20, 100)


def test_a_large_directory_is_not_read():
    name = "x" * 60_000
    data = packed([(f"{name}{n}", b"") for n in range(MOST_DIRECTORY // 60_000 + 1)])
    with pytest.raises(RefusedFile, match="directory exceeds"), open_archive(data):
        pytest.fail("opened")


def test_good_ones_are_read_as_numpy_reads_them(tmp_path):
    arrays = {
        "numbers": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "text": np.array(["a", "\U0001f600"]),
        "empty": np.zeros((0, 3), np.float32),
        "one": np.array(1, ">i4"),
    }
    path = tmp_path / "x.npz"
    np.savez_compressed(path, **arrays)
    found = read_arrays(path, 1000)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name] == array).all()
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].flags.writeable
    assert (read_array(npy(arrays["columns"]), 1000) == arrays["columns"]).all()


def test_a_directory_before_the_beginning_of_a_file(tmp_path):
    data = bytearray(packed([("a.npy", npy(np.zeros(2)))]))
    at = data.find(b"PK\x05\x06") + 12
    data[at : at + 4] = struct.pack("<I", 1 << 20)  # its size: a file cannot be sought there, bytes in memory can
    (tmp_path / "x.npz").write_bytes(data)
    for source in (tmp_path / "x.npz", bytes(data)):
        with pytest.raises(RefusedFile, match="zip archive cannot be read"):
            read_arrays(source, 1000)


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


ARRAYS = {
    "larger than allowed": (npy(np.zeros(1000)), "at most 4,000 bytes"),
    "larger than the file": (header("(300,)") + bytes(8), "ends after 8 of 2,400 bytes"),
    "endless without bytes": (header("(10**12,)".replace("10**12", str(10**12)), "'|V0'"), "an empty array has shape"),
    "endless in another axis": (header(f"(0, {10**12})"), "an empty array has shape"),
    "a negative axis": (header("(-1,)"), "has shape"),
    "objects": (header("(1,)", "'|O'") + bytes(8), "Object arrays are refused"),
    "arrays of arrays": (header("(1,)", "('<f8', (2,))") + bytes(16), "refused"),
    "no letters": (header("(1,)", "'<U1'") + b"\xff\xff\xff\xff", "not letters"),
    "something behind": (npy(np.zeros(2)) + b"x", "more behind"),
    "format 3": (b"\x93NUMPY\x03\x00" + bytes(20), "format is"),
    "no array": (b"", "cannot be read"),
}


@pytest.mark.parametrize(("data", "said"), ARRAYS.values(), ids=list(ARRAYS))
def test_arrays_that_are_refused(data, said):
    with pytest.raises(RefusedFile, match=said):
        read_array(data, 4000)
    with pytest.raises(RefusedFile, match=said.replace("4,000 bytes", "")):
        read_arrays(packed([("a.npy", data)]), 4000)


def test_files_and_json(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert read_file(tmp_path / "x", 3) == b"abc"
    with pytest.raises(RefusedFile, match="more than 2 bytes"):
        read_file(tmp_path / "x", 2)
    for place in (tmp_path, "/dev/zero"):
        with pytest.raises(RefusedFile, match="not a regular file"):
            read_file(place, 3)
    assert parse_json("[1]") == [1]
    for text in ("[" * 100_000, "{", "1" * 10_000):
        with pytest.raises(RefusedFile):
            parse_json(text)


def test_a_small_file_of_many_values():
    """A column of one number a million times: the file has under twenty kilobytes."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"x": np.zeros(10**6)}), file)
    metadata = parquet.ParquetFile(file).metadata
    assert len(file.getvalue()) < 20_000
    check_parquet(metadata, 10**6)
    with pytest.raises(RefusedFile, match="has 1,000,000 values; allowed: at most 999,999"):
        check_parquet(metadata, 10**6 - 1)
