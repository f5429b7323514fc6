"""The files of compiled kernels: numba's, each with a checksum, so that damaged ones are compiled again.

numba trusts its files. A truncated one ends every command with an EOFError, and a flipped bit in machine code is run.
"""

import contextlib
import hashlib
import io
import os
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

DIGEST_SIZE = hashlib.sha256().digest_size
LOCATORS = {cls.__name__.lstrip("_"): cls for cls in CompileResultCacheImpl._locator_classes}
NAMED: Any = LOCATORS["UserProvidedCacheLocator"]
BESIDE: Any = LOCATORS["InTreeCacheLocator"]


def _digest(path: str, data: bytes) -> bytes:
    """The checksum of a file's bytes. It covers the name, because a file of another kernel is damage, too."""
    return hashlib.sha256(os.path.basename(path).encode() + b"\0" + data).digest()


def is_sound(path: str) -> bool:
    """Whether ``path`` is a file that ends with the checksum of the bytes before."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would never end
            return False
        data = Path(path).read_bytes()
    except OSError:
        return False
    return _digest(path, data[:-DIGEST_SIZE]) == data[-DIGEST_SIZE:]


class CheckedFiles(IndexDataCacheFile):
    """numba's index and data files of a function, with a checksum behind the pickle, which ends before.

    The data of a key have the key beside them: two processes that compile a function for different types at the same
    time may give both the same file.
    """

    def load(self, key: Any) -> Any:
        kept = super().load(key)
        return kept[1] if kept is not None and kept[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        return super()._load_index() if is_sound(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not is_sound(self._data_path(name)):
            raise FileNotFoundError(name)  # then numba compiles again
        return super()._load_data(name)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        written = io.BytesIO()
        yield written
        with super()._open_for_write(filepath) as file:
            file.write(written.getvalue() + _digest(filepath, written.getvalue()))


class NamedFolder(NAMED):
    """The folder ``numba.config.CACHE_DIR``, also if it can only be read.

    numba would turn to a folder beside the source, where an edited callee in another file is not noticed.
    """

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file) if os.path.exists(py_file) else None


class SourceFolder(BESIDE):
    """The folder of the function's file, also if it can only be read."""

    from_function = classmethod(lambda cls, py_func, py_file: cls(py_func, py_file))


class InNamedFolder(CompileResultCacheImpl):
    _locator_classes: Any = [NamedFolder, LOCATORS["IPythonCacheLocator"]]  # noqa: RUF012  the latter for cells of notebooks


class BesideSource(CompileResultCacheImpl):
    _locator_classes: Any = [SourceFolder]  # noqa: RUF012


class KernelCache(FunctionCache):
    """numba's cache of a function. What cannot be read is compiled again; what cannot be written is not kept."""

    _impl_class: Any = InNamedFolder

    def __init__(self, func: Any) -> None:
        super().__init__(func)
        files = self._cache_file
        base = files._index_name.removesuffix(".nbi")
        self._cache_file = CheckedFiles(files._cache_path, base, files._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever pickle and LLVM raise
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_not_kept(error, str(Path(self._cache_path).parent))


class StretchCache(KernelCache):
    """The same beside the function's file."""

    _impl_class: Any = BesideSource


_told: set[str] = set()


def say_not_kept(error: OSError, folder: str) -> None:
    """Warn, once a process and ``folder``, that its compiled kernels must be compiled again in each process."""
    if folder not in _told:
        _told.add(folder)
        way_out = f"make {folder} writable or delete it, or set NUMBA_CACHE_DIR to another folder"
        warnings.warn(f"compiled kernels are not kept between processes: {error}; {way_out}", stacklevel=2)
