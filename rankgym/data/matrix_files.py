"""Preference matrices in files: anybody's ``.npy`` or text, and the form in which the cache keeps them.

A text file has a line of numbers for each arm, parted by commas or by blanks, and nothing else but empty lines and
comments after ``#``. A complaint names the file and the line (or the index, in a ``.npy`` file), on one line.
"""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.data.matrices import Array, check_preference, flaw, symmetric

__all__ = ["LARGEST", "TOLERANCE", "contents", "from_bytes", "from_npz", "packed", "read", "to_arrays", "unpacked"]

TOLERANCE = 1e-6  # of p_ij + p_ji = 1 in a file: numbers are often printed with six or seven digits
LARGEST = 200_000_000  # bytes of a file that is looked at: 2,800 arms with 25 characters each
MOST_ARMS = 5_000
LEVELS = 65_536  # of a packed probability
NPY, NPZ, PICKLE = b"\x93NUMPY", b"PK\x03\x04", b"\x80"


def read(path: Path | str) -> Array:
    """The checked preference matrix of a file, ``.npy`` or text.

    Raises:
        DataError: it holds none; the message says where and why.
        OSError: the file cannot be read.
    """
    return from_bytes(contents(path), str(path))


def contents(path: Path | str) -> bytes:
    """The bytes of a file, if there are not too many."""
    path = Path(path)
    size = path.stat().st_size
    if size > LARGEST:
        raise DataError(f"{path} has {size} bytes; allowed: at most {LARGEST} for a preference matrix")
    return path.read_bytes()


def from_bytes(data: bytes, label: str) -> Array:
    """The checked preference matrix of a file's bytes; ``label`` is what the messages call the file."""
    if data.startswith(NPY):
        matrix = _npy(data, label)
        places = None
    elif data.startswith((NPZ, PICKLE)):
        kind = "an .npz file" if data.startswith(NPZ) else "a pickle"
        raise DataError(f"{label} is {kind}; allowed: a preference matrix as .npy or text")
    else:
        matrix, places = _text(data, label)
    wrong = flaw(matrix, TOLERANCE)
    if wrong is not None:
        place = (
            f"index [{wrong.row}, {wrong.column}]"
            if places is None
            else f"line {places[wrong.row]}, column {wrong.column + 1}"
        )
        raise DataError(f"{label}, {place}: the probability {wrong.complaint}")
    return symmetric(matrix)


def _npy(data: bytes, label: str) -> Array:
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = reader(stream)
    except Exception as error:  # a broken header may raise nearly anything
        reason = " ".join(str(error).split())
        raise DataError(f"{label} is a broken .npy file: {reason or type(error).__name__}") from None
    if dtype.hasobject or dtype.kind not in "fiub":
        what = "Python objects" if dtype.hasobject else f"dtype {dtype}"
        raise DataError(f"{label} holds {what}, which are refused; allowed: real numbers")
    _check_shape(label, shape)
    there, needed = len(data) - stream.tell(), int(np.prod(shape)) * dtype.itemsize
    if there != needed:
        raise DataError(
            f"{label} is a broken .npy file: {there} bytes of numbers; allowed: {needed}, for shape {shape}"
        )
    stream.seek(0)
    return np.array(np.lib.format.read_array(stream, allow_pickle=False), np.float64, order="C")


def _check_shape(label: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or not 2 <= shape[0] <= MOST_ARMS:
        raise DataError(f"{label} has shape {shape}; allowed: (K, K), K from 2 to {MOST_ARMS}")


def _text(data: bytes, label: str) -> tuple[Array, list[int]]:
    """The numbers of a text file, square, and the line of each row."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{label}, line {line}: this is no text; allowed: a preference matrix as .npy or text"
        ) from None
    rows: list[NDArray[np.float64]] = []
    places: list[int] = []
    for line, whole in enumerate(text.split("\n"), 1):
        words = whole.partition("#")[0].strip()
        if not words:
            continue
        fields = [word.strip() for word in words.split(",")] if "," in words else words.split()
        if rows and len(fields) != len(rows[0]):
            raise DataError(
                f"{label}, line {line}: the number of entries = {len(fields)} is not that of line {places[0]}; "
                f"allowed: {len(rows[0])}"
            )
        if len(fields) > MOST_ARMS or len(rows) == len(fields):
            most = min(MOST_ARMS, len(fields))
            raise DataError(
                f"{label}, line {line}: this is more than a square matrix; allowed: {most} rows and columns"
            )
        rows.append(_numbers(fields, label, line))
        places.append(line)
    if not rows:
        raise DataError(f"{label} has no numbers; allowed: a square matrix")
    if len(rows) < len(rows[0]) or len(rows) < 2:
        raise DataError(
            f"{label}, line {places[-1]}: the matrix ends after {len(rows)} rows of {len(rows[0])}; "
            f"allowed: as many rows as columns, at least 2"
        )
    return np.array(rows), places


def _numbers(fields: Sequence[str], label: str, line: int) -> NDArray[np.float64]:
    try:
        if not any("_" in field or not field.isascii() for field in fields):  # which float() would take
            return np.array([float(field) for field in fields])
    except ValueError:
        pass
    for column, field in enumerate(fields, 1):
        try:
            fine = "_" not in field and field.isascii()
            float(field)
        except ValueError:
            fine = False
        if not fine:
            shown = ascii(field if len(field) <= 40 else field[:40] + "...")
            raise DataError(f"{label}, line {line}, column {column}: {shown} is no number; allowed range [0, 1]")
    raise AssertionError("unreachable")  # one of the fields was at fault


# -- the form of the cache: an .npz file of matrices by name, what they came from, and a digest of all that ------------


def to_arrays(matrices: Mapping[str, Array], origin: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file of the cache: ``matrices``, ``origin`` (one line about the source) and their digest."""
    arrays: dict[str, NDArray[Any]] = {**matrices, "origin": np.array(origin)}
    return arrays | {"digest": np.array(_digest(arrays))}


def from_npz(data: bytes, names: Sequence[str]) -> tuple[dict[str, Array], str]:
    """The matrices and the origin of the bytes of a file that ``to_arrays`` made, with exactly these ``names``.

    Raises:
        DataError: it is damaged: its digest, which stands beside the numbers, is another. That finds accidents, not
            forgeries: who writes other numbers can write their digest as well.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST * 2:
            raise DataError(f"the .npz file unpacks to {size} bytes; allowed: at most {LARGEST * 2}")
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = dict(file)
    except DataError:
        raise
    except Exception as error:  # a broken archive may raise nearly anything
        raise DataError(f"the .npz file cannot be read: {type(error).__name__}: {error}") from None
    expected = [*names, "origin", "digest"]
    if set(arrays) != set(expected):
        raise DataError(f"the file has the arrays {sorted(arrays)}; allowed: {sorted(expected)}")
    digest = arrays.pop("digest")
    if str(digest) != _digest(arrays):
        raise DataError("its numbers have another digest than when they were written")
    origin = str(arrays.pop("origin"))
    try:
        return {name: check_preference(name, arrays[name]) for name in names}, origin
    except ValueError as error:
        raise DataError(str(error)) from None


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """The sha256 of names, shapes and little-endian contents, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        raw = str(array).encode() if array.dtype.kind == "U" else array.astype("<f8").tobytes()
        digest.update(f"{name}{array.shape}\0".encode() + raw)
    return digest.hexdigest()


# -- the embedded form: multiples of 1 / LEVELS, above the diagonal only -----------------------------------------------


def packed(matrix: Array) -> NDArray[np.uint16]:
    """The entries above the diagonal, row by row, (K (K - 1) / 2,), of a matrix of multiples of 1 / LEVELS below 1."""
    entries: NDArray[np.uint16] = (matrix[np.triu_indices(len(matrix), 1)] * LEVELS).astype(np.uint16)
    return entries


def unpacked(entries: NDArray[np.uint16]) -> Array:
    """The matrix (K, K) whose ``packed`` form this is."""
    arms = (1 + math.isqrt(1 + 8 * len(entries))) // 2
    matrix = np.full((arms, arms), 0.5)
    rows, columns = np.triu_indices(arms, 1)
    matrix[rows, columns] = entries / LEVELS
    matrix[columns, rows] = 1.0 - matrix[rows, columns]
    return matrix
