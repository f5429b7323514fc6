"""Result files: one Parquet file a job, whole or not there, checked against its digest when it is read.

A file has one line a row of the job; the columns are numbers, text, or lists of numbers. Everything else is JSON in the
schema's metadata, under ``rankgym``. The bytes depend on nothing but these settings and columns.
"""

import contextlib
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.plan.jobs import RESULT_FORMAT
from rankgym.extras import require
from rankgym.outputs import read_regular_file
from rankgym.untrusted.files import check_parquet


class Damaged(ValueError):
    """The file is not what was written, or not the result of the job that its place stands for."""


class Contents(NamedTuple):
    """What a result file holds."""

    settings: dict[str, Any]  # plain JSON values; ``key`` is the job's, ``format`` is RESULT_FORMAT
    columns: dict[str, NDArray[Any]]  # (rows,), or (rows, n) for lists


def write_result(path: Path, contents: Contents) -> None:
    """Write a result file, and through to the disk."""
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    text = json.dumps(contents.settings, sort_keys=True).encode()
    columns, rows = {}, 0
    for name, values in contents.columns.items():
        rows = len(values)
        columns[name] = pyarrow.array(values.tolist() if values.dtype.kind == "U" else values.ravel())
        if values.ndim == 2:
            offsets = np.arange(rows + 1, dtype=np.int32) * values.shape[1]
            columns[name] = pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), columns[name])
    table = pyarrow.table(columns).replace_schema_metadata(
        {b"rankgym": text, b"rankgym.sha256": _digest(text, contents.columns).encode()}
    )
    with path.open("wb") as file:
        plain = {"use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
        parquet.write_table(table, file, row_group_size=max(1, rows), compression="zstd", **plain)
        file.flush()
        os.fsync(file.fileno())


def _digest(text: bytes, columns: dict[str, NDArray[Any]]) -> str:
    """Digest settings and columns. Page checksums do not cover what surrounds the pages."""
    digest = hashlib.sha256(text)
    for name, values in columns.items():
        digest.update(f" {name} {values.dtype.str} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def read_result(path: Path, key: str | None = None) -> Contents:
    """Read a result file, checked against its digest and the job's ``key``; default: the one in the file's name.

    Raises OSError if it cannot be read, and Damaged if it is not what was written, or another job's result.
    """
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    data = read_regular_file(path)
    with _damage_named(path):
        if data is None:
            raise ValueError("it is not a regular file")
        file = parquet.ParquetFile(pyarrow.BufferReader(data), page_checksum_verification=True)
        text, settings = _settings(file.schema_arrow.metadata)
        check_parquet(file.metadata)
        table = file.read(use_threads=False)
        columns = {name: _array(table[name].combine_chunks()) for name in table.column_names}
        if _digest(text, columns).encode() != file.schema_arrow.metadata[b"rankgym.sha256"]:
            raise ValueError("its digest is another")
        _check_key(path, settings, key)
    return Contents(settings, columns)


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of a result file, without reading its columns. Errors are those of ``read_result``."""
    parquet = require("pyarrow.parquet")
    if path.exists() and not path.is_file():
        raise Damaged(f"{path} is damaged: it is not a regular file")
    with path.open("rb") as file, _damage_named(path):
        settings = _settings(parquet.read_schema(file).metadata)[1]
        _check_key(path, settings, None)
    return settings


@contextlib.contextmanager
def _damage_named(path: Path) -> Any:
    """Turn every error into ``Damaged``: a damaged file may fail in any way."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"{path} {error}") from None
    except Exception as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Damaged(f"{path} is damaged: {said}") from None


def _settings(metadata: dict[bytes, bytes] | None) -> tuple[bytes, dict[str, Any]]:
    text = (metadata or {}).get(b"rankgym")
    if text is None:
        raise Damaged("is not a result file of rankgym")
    settings = json.loads(text)
    if settings["format"] != RESULT_FORMAT:
        raise Damaged(f"has format {settings['format']}, and this version of rankgym reads {RESULT_FORMAT}")
    return text, settings


def _check_key(path: Path, settings: dict[str, Any], key: str | None) -> None:
    named = re.search(r"-([0-9a-f]{20})\.parquet$", path.name)
    wanted = key or (named[1] if named else settings["key"])
    if settings["key"] != wanted:
        raise ValueError("it is the result of another job")


def _array(column: Any) -> NDArray[Any]:
    """A column of numbers or text as (rows,), one of lists, all of one length, as (rows, length)."""
    if column.null_count:
        raise ValueError("it has nulls")
    if str(column.type) == "string":
        return np.array(column.to_pylist(), dtype=str)
    if not hasattr(column, "offsets"):
        return column.to_numpy()
    lengths = set(np.diff(column.offsets.to_numpy()).tolist())
    if len(lengths) > 1:
        raise ValueError("its lists differ in length")
    return column.flatten().to_numpy().reshape(len(column), *(lengths or {0}))
