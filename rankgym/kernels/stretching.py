"""Compile a loop together with the kernels that it calls, and keep the machine code.

numba keeps no code of a function that gets other functions as arguments. So a small module is written for each loop
and its kernels, in which they are global names; the code is kept beside it. The folder of both is named by all that
decides the code: the files of the loop and of all kernels, the types of the arguments, and what names
``cache_folder``. Checksums of its files find damage.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import multiprocessing
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core.errors import NumbaError

from rankgym.kernels.compiling import CONFIG, KernelError, cache_folder
from rankgym.kernels.interruptions import interruptions_held
from rankgym.kernels.kept_code import StretchCache

MODULE = """import numba
import numpy as np
{imports}


@numba.njit(nogil=True, _nrt=False)
{loop}
"""
CHECKSUMS = "sha256"
_LOADED: dict[Path, Callable[..., int]] = {}  # what this process has loaded or compiled, by its folder


def num_threads() -> int:
    """How many threads play at the same time: ``NUMBA_NUM_THREADS``, or all processors; one in a worker process.

    Examples:
        >>> from rankgym.kernels import num_threads
        >>> num_threads() >= 1
        True
    """
    return 1 if multiprocessing.parent_process() is not None else int(CONFIG.NUMBA_NUM_THREADS)


class Stretch:
    """A loop whose first arguments are ``kernels``; it is called with the others.

    With ``NUMBA_DISABLE_JIT=1`` the same lines run as Python.

    Examples:
        >>> from rankgym.kernels import Stretch, popcount
        >>> Stretch.takes(popcount), Stretch.takes("popcount")  # kernels are compiled into a loop, other things are not
        (True, False)
    """

    def __init__(self, loop: Callable[..., int], kernels: Sequence[Callable[..., Any]]) -> None:
        self.loop, self.kernels = loop, tuple(kernels)
        self._run: Callable[..., int] | None = functools.partial(loop, *kernels) if CONFIG.DISABLE_JIT else None
        self._looked = False  # for kept code

    @staticmethod
    def takes(kernel: Any) -> bool:
        """Whether a kernel can be compiled into a loop: a compiled function that its module has under its name."""
        if CONFIG.DISABLE_JIT:
            return callable(kernel)
        module = getattr(kernel, "__module__", None)
        named = module not in (None, "__main__") and getattr(sys.modules.get(module), kernel.__name__, None) is kernel
        return named and isinstance(getattr(kernel, "py_func", None), FunctionType)

    @property
    def ready(self) -> bool:
        """Whether it can be called."""
        return self._run is not None

    def __call__(self, *arguments: Any) -> int:
        assert self._run is not None
        return self._run(*arguments)

    def prepare(self, arguments: Sequence[Any], *, compile: bool) -> bool:
        """Load the code for these ``arguments``, or ``compile`` it if none is kept; returns whether it is ``ready``."""
        if self.ready or (self._looked and not compile):
            return self.ready
        with interruptions_held():
            self._looked, folder = True, self._folder(arguments)
            self._run = _LOADED.get(folder) or _load(folder)
            if self._run is None and compile:
                self._run = self._compiled(folder, arguments)
            if self._run is not None:
                _LOADED[folder] = self._run
        return self.ready

    def _folder(self, arguments: Sequence[Any]) -> Path:
        functions: list[Any] = [self.loop, *(kernel.py_func for kernel in self.kernels)]  # type: ignore[attr-defined]
        files = sorted({function.__code__.co_filename for function in functions})
        digests = [_digest(file, os.stat(file).st_mtime_ns) for file in files]
        names = [f"{function.__module__}.{function.__qualname__}" for function in functions]
        name = repr((names, digests, [str(numba.typeof(argument)) for argument in arguments]))
        return cache_folder() / f"stretch-{hashlib.sha256(name.encode()).hexdigest()[:20]}"

    def _compiled(self, folder: Path, arguments: Sequence[Any]) -> Callable[..., int]:
        """Compile for these ``arguments``, and keep the code in ``folder`` if that can be written to."""
        try:
            return self._kept(folder, arguments)
        except OSError:  # also if somebody removes the folder meanwhile
            with tempfile.TemporaryDirectory() as place:
                return self._written(Path(place), folder.name, arguments)

    def _kept(self, folder: Path, arguments: Sequence[Any]) -> Callable[..., int]:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            stretch = self._written(new, folder.name, arguments)
            sums = {path.relative_to(new).as_posix(): _sum(path) for path in sorted(new.rglob("*")) if path.is_file()}
            (new / CHECKSUMS).write_text("".join(f"{value} {name}\n" for name, value in sums.items()))
            shutil.rmtree(folder, ignore_errors=True)  # if it is there, it is damaged
            with contextlib.suppress(OSError):  # another process was first
                os.rename(new, folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return stretch

    def _written(self, folder: Path, name: str, arguments: Sequence[Any]) -> Any:
        _module_file(folder, name).write_text(self._source(), encoding="utf-8")
        stretch = _imported(folder, name)
        try:
            stretch.compile(tuple(numba.typeof(argument) for argument in arguments))
        except NumbaError as error:
            names = ", ".join(kernel.__name__ for kernel in self.kernels)
            raise KernelError.of(error, f"among {names}", "", str(folder)) from error
        return stretch

    def _source(self) -> str:
        """The module's text: the loop, but its first arguments are global names, of the kernels."""
        function: Any = ast.parse(textwrap.dedent(inspect.getsource(self.loop))).body[0]
        given = function.args.args
        pairs = list(zip(self.kernels, (argument.arg for argument in given), strict=False))
        function.name, function.args.args = "stretch", given[len(pairs) :]
        imports = [f"from {kernel.__module__} import {kernel.__name__} as {name}" for kernel, name in pairs]
        return MODULE.format(imports="\n".join(imports), loop=ast.unparse(function))


@functools.cache
def _digest(file: str, changed: int) -> str:
    """A file's digest; its time of change is part of the cache's key."""
    return _sum(Path(file))


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _module_file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('-', '_')}.py"


def _load(folder: Path) -> Any:
    """The kept stretch of a folder; None if there is none, or it is damaged."""
    try:
        lines = (folder / CHECKSUMS).read_text().splitlines()
        sound = [_sum(folder / name) == value for value, name in (line.split(" ", 1) for line in lines)]
        return _imported(folder, folder.name) if sound and all(sound) else None
    except (OSError, ValueError):
        return None


def _imported(folder: Path, name: str) -> Any:
    file = _module_file(folder, name)
    spec: Any = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # numba looks there for the functions of kept code
    spec.loader.exec_module(module)
    module.stretch._cache = StretchCache(module.stretch.py_func)
    return module.stretch
