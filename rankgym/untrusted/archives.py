"""Zip archives and NumPy's array files, within limits on members and expanded bytes.

No size that a file states is believed: what is read is counted, and reading ends at the limit. An archive may expand to
a thousand times its size, and its directory may say that it does not.
"""

import contextlib
import errno
import io
import math
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rankgym.untrusted.files import RefusedFile

MOST_MEMBERS = 10_000
MOST_DIRECTORY = 4 << 20  # bytes of an archive's directory: some 40,000 members
CHUNK = 1 << 20  # bytes that are read at a time
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # Python cannot end the other ones' reading at a limit
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
MOST_EMPTY = 10_000_000  # entries along an axis of an array without bytes: no other limit holds for it
LAST_LETTER = 0x10FFFF  # of Unicode: others in an array of text end in an error much later

Source = bytes | Path | IO[bytes]


@contextlib.contextmanager
def open_archive(source: Source, members: int = MOST_MEMBERS) -> Iterator[zipfile.ZipFile]:
    """Context manager: open a zip archive of at most ``members`` members, each named once, to be read.

    Whatever an archive raises when it is opened or read is a RefusedFile; an OSError of the file itself is not changed.
    """
    with contextlib.ExitStack() as stack:
        file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
        if isinstance(source, Path):
            if source.exists() and not source.is_file():
                raise RefusedFile("it is not a regular file; allowed: a file")
            file = stack.enter_context(source.open("rb"))
        with _refused("zip archive"):
            archive = stack.enter_context(zipfile.ZipFile(_Directory(file)))
            names = [member.filename for member in archive.infolist()]
            if len(names) > members:
                raise RefusedFile(f"the zip archive has {len(names):,} members; allowed: at most {members:,}")
            if len(set(names)) < len(names):
                raise RefusedFile("the zip archive has two members of one name; allowed: each once")
            yield archive


class _Directory:
    """An open file for ``zipfile``, which reads an archive's whole directory at once, however large it says it is."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(MOST_DIRECTORY + 1 if size is None or size < 0 else min(size, MOST_DIRECTORY + 1))
        if len(data) > MOST_DIRECTORY:
            raise RefusedFile(f"the zip archive's directory exceeds {MOST_DIRECTORY:,} bytes; allowed: at most these")
        return data

    def close(self) -> None:
        """The one who opened the file closes it."""


@contextlib.contextmanager
def _refused(what: str) -> Iterator[None]:
    """Turn every error into a RefusedFile: a damaged file may raise nearly anything."""
    try:
        yield
    except RefusedFile:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # of the disk; EINVAL: a directory that lies before the beginning
            raise
        raise RefusedFile(f"the {what} cannot be read: {type(error).__name__}: {error}") from None
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        raise RefusedFile(f"the {what} cannot be read: {type(error).__name__}: {said}") from None


class _Member:
    """A member of an archive as a stream that ends in a RefusedFile where more than ``most`` bytes come out of it."""

    def __init__(self, archive: zipfile.ZipFile, name: str, most: int) -> None:
        try:
            self.info = archive.getinfo(name)
        except KeyError:
            raise RefusedFile(f"the zip archive has no member {name!r}; allowed: one that has it") from None
        if self.info.compress_type not in METHODS or self.info.flag_bits & 1:
            raise RefusedFile(f"the member {name!r} is encrypted, or compressed by another method than deflate")
        self.name, self.most, self.count, self.stream = name, most, 0, archive.open(self.info)

    def read(self, size: int = CHUNK) -> bytes:
        data = self.stream.read(min(size, self.most - self.count + 1))
        self.count += len(data)
        if self.count > self.most:
            raise RefusedFile(f"the zip archive unpacks to more than {self.most:,} bytes; allowed: at most these")
        return data


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Read a member that expands to at most ``most`` bytes; its checksum is compared."""
    with _refused("zip archive"):
        member = _Member(archive, name, most)
        parts = list(iter(member.read, b""))
        return b"".join(parts)


def read_members(source: Source, expanded: int, members: int = MOST_MEMBERS) -> dict[str, bytes]:
    """Read all members of a zip archive, which expand to at most ``expanded`` bytes together."""
    found = dict[str, bytes]()
    with open_archive(source, members) as archive:
        for name in archive.namelist():
            found[name] = read_member(archive, name, expanded)
            expanded -= len(found[name])
    return found


# -- arrays -----------------------------------------------------------------------------------------------------------


def read_arrays(source: Source, expanded: int, members: int = MOST_MEMBERS) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file by name. They have at most ``expanded`` bytes together, and no objects."""
    found = dict[str, NDArray[Any]]()
    with open_archive(source, members) as archive:
        for name in archive.namelist():
            if not name.endswith(".npy"):
                raise RefusedFile(f"the .npz file has a member {name!r}; allowed: arrays, with names that end in .npy")
            with _refused(f"array {name!r}"):
                member = _Member(archive, name, expanded)
                found[name.removesuffix(".npy")] = _array(member, expanded)
                expanded -= member.count
    return found


def read_array(source: bytes | IO[bytes], most: int) -> NDArray[Any]:
    """Read an ``.npy`` file of at most ``most`` bytes, without objects."""
    with _refused("array"):
        return _array(io.BytesIO(source) if isinstance(source, bytes) else source, most)


def _array(stream: Any, most: int) -> NDArray[Any]:
    """Read an array from a stream: the header's shape first, then exactly as many bytes as it needs."""
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise RefusedFile(f"the .npy format is {version}; allowed: {', '.join(map(str, HEADERS))}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "written by Python 2"
        shape, by_columns, dtype = HEADERS[version](stream)
    if dtype.hasobject or dtype.subdtype is not None:
        raise RefusedFile(f"Object arrays are refused, and dtype {dtype}; allowed: numbers and text")
    count = math.prod(shape)
    if min(shape, default=0) < 0 or count * dtype.itemsize > most:
        raise RefusedFile(f"an array has shape {shape} of {dtype}; allowed: at most {most:,} bytes")
    if not count * dtype.itemsize and max(shape, default=0) > MOST_EMPTY:
        raise RefusedFile(f"an empty array has shape {shape}; allowed: at most {MOST_EMPTY:,} entries along an axis")
    content = np.empty(count * dtype.itemsize, np.uint8)  # pages that are not written take no memory
    at = 0
    while at < len(content):
        part = stream.read(min(CHUNK, len(content) - at))
        if not part:
            raise RefusedFile(f"an array of shape {shape} ends after {at:,} of {len(content):,} bytes")
        content[at : at + len(part)] = np.frombuffer(part, np.uint8)
        at += len(part)
    if stream.read(1):
        raise RefusedFile(f"there is more behind an array of shape {shape}; allowed: nothing")
    array = content.view(dtype) if len(content) else np.zeros(count, dtype)
    if dtype.kind == "U" and len(content) and content.view(f"{dtype.str[0]}u4").max() > LAST_LETTER:
        raise RefusedFile("an array of text has numbers that are not letters")
    return array.reshape(shape[::-1]).T if by_columns else array.reshape(shape)
