"""Preference matrices in files: a user's ``.npy`` or text file, and the ``.npz`` files of the data cache.

A text file has a line of numbers for each arm, separated by commas or blanks; empty lines and comments after ``#`` are
skipped. An error message is one line and names the file and the line, or the index in a ``.npy`` file.
"""

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.data.errors import DataError
from rankgym.data.files import NPZ, read_bytes, read_npz
from rankgym.data.matrices import MAX_ARMS, Array, check_preference, flaw, symmetric
from rankgym.data.text_files import text_lines
from rankgym.untrusted.archives import read_array
from rankgym.untrusted.files import RefusedFile

FILE_TOLERANCE = 1e-6  # of p_ij + p_ji = 1 in a file: numbers are often printed with six or seven digits
MAX_BYTES = 200_000_000  # of a file: 2,800 arms with 25 characters each
LONGEST_LINE = 1_000_000  # bytes: MAX_ARMS numbers of 200 characters
LEVELS = 65_536  # of a packed probability
NPY, PICKLE = b"\x93NUMPY", b"\x80"  # the first bytes of such files


def read(path: Path | str) -> Array:
    """The checked preference matrix of a file, ``.npy`` or text.

    Raises:
        DataError: the file does not hold a preference matrix; the message says where and why.
        OSError: the file cannot be read.
    """
    return from_bytes(contents(path), str(path))


def contents(path: Path | str) -> bytes:
    """The bytes of a file, or a DataError if it is too large."""
    return read_bytes(path, MAX_BYTES, "a preference matrix")


def from_bytes(data: bytes, label: str) -> Array:
    """The checked preference matrix of a file's bytes; messages call the file ``label``."""
    if data.startswith(NPY):
        matrix = _npy(data, label)
        places = None
    elif data.startswith((NPZ, PICKLE)):
        kind = "an .npz file" if data.startswith(NPZ) else "a pickle"
        raise DataError(f"{label} is {kind}; allowed: a preference matrix as .npy or text")
    else:
        matrix, places = _text(data, label)
    wrong = flaw(matrix, FILE_TOLERANCE)
    if wrong is not None:
        place = f"index [{wrong.row}, {wrong.column}]"
        if places is not None:
            place = f"line {places[wrong.row]}, column {wrong.column + 1}"
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
    if len(shape) != 2 or shape[0] != shape[1] or not 2 <= shape[0] <= MAX_ARMS:
        raise DataError(f"{label} has shape {shape}; allowed: (K, K), K from 2 to {MAX_ARMS}")
    found, needed = len(data) - stream.tell(), int(np.prod(shape)) * dtype.itemsize
    if found != needed:
        raise DataError(f"{label} is a broken .npy file: {found} bytes of numbers; allowed: {needed} for shape {shape}")
    try:
        return np.array(read_array(data, len(data)), np.float64, order="C")
    except RefusedFile as error:
        raise DataError(f"{label} is a broken .npy file: {error}") from None


def _text(data: bytes, label: str) -> tuple[Array, list[int]]:
    """The numbers of a text file, square, and the line of each row."""
    rows: list[NDArray[np.float64]] = []
    places: list[int] = []
    for line, whole in enumerate(text_lines(data, label, LONGEST_LINE, "a preference matrix as .npy or text"), 1):
        words = whole.partition("#")[0].strip()
        if not words:
            continue
        fields = [word.strip() for word in words.split(",")] if "," in words else words.split()
        if rows and len(fields) != len(rows[0]):
            raise DataError(
                f"{label}, line {line}: the number of entries = {len(fields)} is not that of line {places[0]}; "
                f"allowed: {len(rows[0])}"
            )
        if len(fields) > MAX_ARMS or len(rows) == len(fields):
            most = f"{min(MAX_ARMS, len(fields))} rows and columns"
            raise DataError(f"{label}, line {line}: this is more than a square matrix; allowed: {most}")
        rows.append(_numbers(fields, label, line))
        places.append(line)
    if not rows:
        raise DataError(f"{label} does not have any numbers; allowed: a square matrix")
    if len(rows) < len(rows[0]) or len(rows) < 2:
        raise DataError(
            f"{label}, line {places[-1]}: the matrix ends after {len(rows)} rows of {len(rows[0])}; "
            f"allowed: as many rows as columns, at least 2"
        )
    return np.array(rows), places


def _numbers(fields: Sequence[str], label: str, line: int) -> NDArray[np.float64]:
    numbers = np.empty(len(fields))
    for column, field in enumerate(fields):
        try:
            if "_" in field or not field.isascii():  # float() would take it
                raise ValueError
            numbers[column] = float(field)
        except ValueError:
            shown, place = ascii(field if len(field) <= 40 else field[:40] + "..."), f"line {line}, column {column + 1}"
            raise DataError(f"{label}, {place}: {shown} is not a number; allowed range [0, 1]") from None
    return numbers


# -- files of the cache: an .npz file with matrices by name, their origin, and a digest of both ------------------------


def to_arrays(matrices: Mapping[str, Array], origin: str) -> dict[str, NDArray[Any]]:
    """The arrays of a cache file: ``matrices``, ``origin`` (one line about the source) and their digest."""
    arrays: dict[str, NDArray[Any]] = {**matrices, "origin": np.array(origin)}
    return arrays | {"digest": np.array(_digest(arrays))}


def from_npz(data: bytes, names: Sequence[str]) -> tuple[dict[str, Array], str]:
    """The matrices and the origin of the bytes of a file that ``to_arrays`` made, with exactly these ``names``.

    Raises:
        DataError: the file is damaged: its digest does not match its numbers. The digest finds accidents, not
            forgeries: whoever changes the numbers can change the digest as well.
    """
    arrays = read_npz(data, MAX_BYTES * 2)
    expected = [*names, "origin", "digest"]
    if set(arrays) != set(expected):
        raise DataError(f"the file has the arrays {sorted(arrays)}; allowed: {sorted(expected)}")
    digest = arrays.pop("digest")
    if str(digest) != _digest(arrays):
        raise DataError("its numbers do not have the digest that was written with them")
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
        if array.dtype.kind not in "fiubU":
            raise DataError(f"{name} has dtype {array.dtype}; allowed: numbers and text")
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
