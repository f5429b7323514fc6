"""Text files within limits: what kinds of files are refused, gzip, line ends, and lines of limited length.

All readers of text share it. What is refused is named with the file, the line where there is one, and what to do.
"""

import contextlib
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankgym.data.errors import DataError

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STEP = 8_192  # bytes that are unpacked at once: as near as the place of damage is told
MOST_LINES = 2_000_000  # of a text that is kept in memory
IRREGULAR = {  # files without an end, or whose bytes come only once
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)  # what a damaged gzip file raises while it is read

# first bytes of files that are not text: what they are, and a command that makes text of them
FOREIGN = (
    (b"\xff\xfe\0\0", "UTF-32", "iconv -f UTF-32 -t UTF-8"),
    (b"\0\0\xfe\xff", "UTF-32", "iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
    (b"PK\x05\x06", "a zip archive", "unzip"),
    (b"BZh", "compressed by bzip2", "bunzip2"),
    (b"\xfd7zXZ\0", "compressed by xz", "unxz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unzstd"),
    (b"\x1f\x9d", "compressed by compress", "uncompress"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"),
    (b"Rar!\x1a\x07", "a rar archive", "unrar x"),
    (b"\x93NUMPY", "a NumPy array", ""),
    (b"PAR1", "a Parquet file", ""),
    (b"%PDF", "a PDF file", ""),
    (b"SQLite format 3\0", "an SQLite database", ""),
)
TAR_AT, TAR = 257, b"ustar"  # a tar archive begins with the name of its first file
UTF_16_BYTES = 8  # at least so many are looked at for UTF-16 without a byte order mark


def check_regular(path: Path | str) -> None:
    """Refuse a pipe, a device or a socket before it is opened, which may never end; a missing file is not refused."""
    try:
        kind = stat.S_IFMT(Path(path).stat().st_mode)
    except FileNotFoundError:
        return
    if kind in IRREGULAR:
        raise DataError(f"{path} is {IRREGULAR[kind]}; allowed: a regular file. Write what it sends to a file first")


def foreign_kind(first: bytes) -> tuple[str, str] | None:
    """What a file that begins with these bytes is instead of text, and what to do, which may be empty; None: text."""
    for magic, kind, command in FOREIGN:
        if first.startswith(magic):
            return kind, command
    if first[TAR_AT:].startswith(TAR):
        return "a tar archive", "tar -xf"
    start = first[: 2 * UTF_16_BYTES]
    if len(start) == 2 * UTF_16_BYTES:
        for kind, zeros, others in (("UTF-16LE", start[1::2], start[::2]), ("UTF-16BE", start[::2], start[1::2])):
            if not any(zeros) and all(others):
                return kind, f"iconv -f {kind} -t UTF-8"
    return None


def check_text(place: str, first: bytes, allowed: str) -> None:
    """Refuse a file that begins with bytes that are not text; ``place`` and ``allowed`` are for the message."""
    found = foreign_kind(first)
    if found is not None:
        kind, command = found
        do = f". Make it text first: {command}" if command else ""
        raise DataError(f"{place}: the file is {kind}; allowed: {allowed}{do}")


# -- gzip -------------------------------------------------------------------------------------------------------------


def unpacked(file: Any) -> Any:
    """Return a stream of an open binary file, unpacked if it is a gzip file, which its first bytes tell."""
    packed = file.read(2) == GZIP
    file.seek(0)
    return Unpacked(file) if packed else file


class Unpacked:
    """A gzip file's bytes. Damage is raised after everything that could be unpacked before it has been read."""

    def __init__(self, file: Any) -> None:
        self.stream = gzip.GzipFile(fileobj=file)
        self.error: Exception | None = None

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, or fewer before the end or the damage; no bytes at the end."""
        pieces: list[bytes] = []
        left = size
        while left and self.error is None:
            try:
                piece = self.stream.read1(min(left, STEP))
            except DAMAGE as error:
                self.error = error
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        if self.error is not None and not pieces:
            raise self.error
        return b"".join(pieces)

    def readline(self, size: int) -> bytes:
        """Return the next line, or its first ``size`` bytes."""
        return self.stream.readline(size)


def damage_ahead(stream: Any) -> Exception | None:
    """Read on in what ``unpacked`` returned, through a gigabyte at most, and return the damage, if there is any."""
    if not isinstance(stream, Unpacked):
        return None
    with contextlib.suppress(*DAMAGE):
        for _ in range(1_000):
            if not stream.read(1_000_000):
                break
    return stream.error


def damage(error: Exception) -> str:
    """Say what is wrong with the gzip file whose reading raised ``error``, one of ``DAMAGE``."""
    what = "is truncated" if isinstance(error, EOFError) else f"is damaged ({error})"
    return f"the gzip file {what}; nothing of it was kept"


# -- lines ------------------------------------------------------------------------------------------------------------


class LineEnds:
    """Turns the line ends of a text that comes in pieces, ``\\r\\n`` or ``\\r`` as on old Macs, into ``\\n``."""

    def __init__(self) -> None:
        self.after_return = False  # a piece ended with \r

    def __call__(self, piece: bytes) -> bytes:
        """Return the next piece with its line ends turned."""
        whole = piece
        if self.after_return:
            piece = piece.removeprefix(b"\n")
        self.after_return = whole.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece


def text_pieces(stream: Any, size: int, path: Path, allowed: str) -> Iterator[bytes]:
    """Yield a text in pieces of about ``size`` bytes, without byte order mark, lines ending with ``\\n``.

    Raises:
        DataError: the first bytes are not text; the message has ``path`` and what is ``allowed``.
    """
    turn, began = LineEnds(), False
    while piece := stream.read(size):
        if not began:
            check_text(f"{path}, line 1", piece[:512], allowed)
            piece, began = piece.removeprefix(BYTE_ORDER_MARK), True
        yield turn(piece)


def text_lines(data: bytes, label: str, longest: int, allowed: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, which become ``\\n``; messages call the file ``label``.

    Raises:
        DataError: the text is not UTF-8, has a line of more than ``longest`` bytes, or more than ``MOST_LINES`` lines.
    """
    if data.startswith(GZIP):
        raise DataError(
            f"{label}, line 1: the file is compressed by gzip; allowed: {allowed}. Make it text first: gunzip"
        )
    check_text(f"{label}, line 1", data[:512], allowed)
    stream = io.BytesIO(LineEnds()(data.removeprefix(BYTE_ORDER_MARK)))
    line = 0
    while raw := stream.readline(longest + 1):
        line += 1
        if len(raw.rstrip(b"\n")) > longest:
            raise DataError(f"{label}, line {line}: the line has more than {longest:,} bytes; allowed: {allowed}")
        if line > MOST_LINES:
            raise DataError(f"{label} has more than {MOST_LINES:,} lines; allowed: {allowed}")
        try:
            yield raw.decode()
        except UnicodeDecodeError:
            raise DataError(f"{label}, line {line}: this is not UTF-8 text; allowed: {allowed}") from None
