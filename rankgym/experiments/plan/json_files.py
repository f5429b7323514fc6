"""Plain values: what JSON has. Arguments are read from files of it, ``KEY=@FILE`` or in a sweep ``key = "@FILE"``."""

import datetime
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankgym.arguments import near
from rankgym.outputs import read_regular_file

DEPTH = 20  # levels of lists and tables in a sweep
BITS = 256  # of a whole number in a sweep; seeds are the largest
MOST_SHOWN = 80  # letters of a value in a message


def check_plain(name: str, value: Any, depth: int = 1) -> None:
    """Raise a ValueError with the place of a value in the argument ``name`` that is not plain, or too large.

    TOML has dates and times, and both TOML and JSON as Python reads it have infinite numbers and NaN.
    """
    if isinstance(value, Mapping | list | tuple):
        if depth > DEPTH:
            raise ValueError(f"{name[:MOST_SHOWN]}... is nested too deeply; allowed: {DEPTH} levels")
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, one in pairs:
            check_plain(f"{name}.{key}" if isinstance(value, Mapping) else f"{name}[{key}]", one, depth + 1)
    elif isinstance(value, int) and value.bit_length() > BITS:
        raise ValueError(f"{name} is a whole number of {value.bit_length():,} bits; allowed: at most {BITS}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} = {value} is not finite; allowed: a finite number")
    elif isinstance(value, datetime.date | datetime.time):
        raise ValueError(
            f"{name} = {value} is a date or a time; allowed: a number, a text in quotes, a list or a table"
        )


def from_json_file(name: str, folder: Path | None = None) -> Any:
    """Read the value of ``KEY=@FILE``; ValueError if the file cannot be read or is not JSON.

    ``name`` is relative to ``folder``, by default the present one.
    """
    instead = 'allowed: @FILE with a file of JSON; a text that begins with @ stands in quotes: "@..."'
    if not name:
        raise ValueError(f"there is no name of a file after @; {instead}")
    base = Path() if folder is None else folder
    path = base / name
    try:
        data = read_regular_file(path)
        if data is None:
            raise ValueError("it is not a regular file")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start}); {instead}") from None
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        reason = getattr(error, "strerror", None) or error
        there = sorted(path.parent.glob("*.json")) if path.parent.is_dir() else []
        names = [str(one.relative_to(base) if one.is_relative_to(base) else one) for one in there]
        raise ValueError(f"{name!r} cannot be read: {reason}{near(name, names) or ';'} {instead}") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply; allowed: a few levels of lists") from None


def with_files_read(arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the arguments of a sweep's file in ``folder``, those that are ``"@FILE"`` read from there.

    A text that begins with @ stands in quotes of its own, as on the command line.
    """
    read = {}
    for key, value in arguments.items():
        try:
            if isinstance(value, str) and value.startswith("@"):
                value = from_json_file(value[1:], folder)
            elif isinstance(value, str) and value.startswith('"@') and value.endswith('"'):
                value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
        read[key] = value
    return read
