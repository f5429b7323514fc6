"""The bytes of a file, and JSON, within limits."""

import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_VALUES = 500_000_000  # in all columns of a Parquet file: 4 GB of numbers


class RefusedFile(ValueError):
    """The file is damaged, or exceeds a limit; nothing of it was used."""


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes, whatever size the system says it has.

    Raises:
        RefusedFile: it is a FIFO, a device or a folder, where reading might never end, or it is larger.
        OSError: it is missing or cannot be read.
    """
    place = Path(path)
    if not stat.S_ISREG(place.stat().st_mode):
        raise RefusedFile("it is not a regular file; allowed: a file")
    with place.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise RefusedFile(f"it has more than {most:,} bytes; allowed: at most these")
    return data


def check_parquet(metadata: Any, most: int = MOST_VALUES) -> None:
    """Raise a RefusedFile if a Parquet file, by pyarrow's ``metadata``, has more than ``most`` values in its columns.

    A column that repeats one number takes no room in the file, and all of its room in memory. What the file says of a
    column is not asked for: where a column's entry is damaged, pyarrow's ``column`` ends the process.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if not 0 <= rows * metadata.num_columns <= most:
        raise RefusedFile(f"the Parquet file has {rows * metadata.num_columns:,} values; allowed: at most {most:,}")


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; a RefusedFile, a ValueError, if it is not valid or nested too deeply for Python's parser."""
    try:
        return json.loads(text)
    except RecursionError:
        raise RefusedFile("its JSON is nested too deeply; allowed: a few hundred levels") from None
    except ValueError as error:  # invalid JSON or UTF-8, a number with thousands of digits
        raise RefusedFile(f"it is not JSON: {error}") from None
