"""The lines of a text file, plain or gzipped, in chunks; lines that no reader could use are left out and counted."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankgym.data.errors import DataError
from rankgym.data.text_files import DAMAGE, damage, text_pieces, unpacked
from rankgym.logs.readers.lists import LONGEST_LINE, Faults

CHUNK = 1 << 20  # bytes read at once
TEXT = "UTF-8 text, plain or gzip"


class Chunk(NamedTuple):
    """Whole lines of a file. A line that was left out is empty, so that the others keep their numbers."""

    data: bytes  # ends with a line end
    before: int  # lines of the file before these
    cut: bool  # whether the file's last line is among them and lacks its line end
    left_out: dict[int, str]  # numbers in the file of the lines that were left out, and why


def chunks(path: Path, size: int, faults: Faults, progress: Callable[[int], None]) -> Iterator[Chunk]:
    """Yield the lines of a file, about ``size`` bytes at a time. ``progress`` is told the bytes read.

    Lines that are longer than LONGEST_LINE, hold a NUL or are not UTF-8 are left out and counted in ``faults``.

    Raises:
        DataError: the file is empty, not text, or a damaged gzip file.
    """
    lines = 0
    with path.open("rb") as file:
        pieces, seen = _pieces(text_pieces(unpacked(file), size, path, TEXT)), 0
        try:
            for piece, cut in pieces:
                data, left_out = _usable(piece, lines)
                for line, why in left_out.items():
                    faults.add(path, line, why)
                chunk = Chunk(data, lines, cut, left_out)
                lines += chunk.data.count(b"\n")
                faults.lines += lines - chunk.before
                yield chunk
                progress(file.tell() - seen)
                seen = file.tell()
        except DAMAGE as error:
            raise DataError(f"{path}, line {lines + 1}: {damage(error)}") from None
    if lines == 0:
        raise DataError(f"{path}, line 1: the file is empty; allowed: a click log")


def _pieces(text: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield whole lines, and whether the last line end was missing. A very long line keeps its beginning only."""
    rest = b""
    for piece in text:
        cut = piece.rfind(b"\n") + 1
        if not cut:
            rest = (rest + piece)[: LONGEST_LINE + 1]  # enough to be found too long
            continue
        yield rest + piece[:cut], False
        rest = piece[cut:]
    if rest:
        yield rest + b"\n", True


def _usable(data: bytes, before: int) -> tuple[bytes, dict[int, str]]:
    """The same lines, those that are not usable emptied; and these lines' numbers, with what is wrong."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1).max()) - 1
    if longest <= LONGEST_LINE and b"\0" not in data and _is_utf8(data):
        return data, {}
    left_out: dict[int, str] = {}
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines):
        why = ""
        if len(line) > LONGEST_LINE:
            why = f"the line has more than {LONGEST_LINE:,} bytes"
        elif b"\0" in line:
            why = "the line holds a NUL byte"
        elif not _is_utf8(line):
            why = "the line is not UTF-8 text"
        if why:
            lines[number] = b""
            left_out[before + number + 1] = why
    return b"\n".join([*lines, b""]), left_out


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
