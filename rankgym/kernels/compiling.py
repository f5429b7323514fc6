"""The decorator ``kernel`` and the cache folder of compiled kernels. Only this room uses numba."""

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
import numpy as np
import platformdirs
from numba.core.errors import NumbaError
from numba.core.types import unliteral

from rankgym.kernels.interruptions import interruptions_held
from rankgym.kernels.kept_code import KernelCache, say_not_kept

F = TypeVar("F", bound=Callable[..., Any])
CONFIG: Any = numba.config
ROOM = Path(__file__).parent
#: From this many rows on it pays to gather the operands of a loop over all rows' entries, to be vectorised.
MANY_ROWS = 8
DIVISION: Final = "numpy"  # x / 0 is infinite or NaN: a check of every divisor would keep loops from being vectorised
BOILERPLATE = ("Failed in nopython", "Failed in object", "During:", "File ", "-")  # lines of numba's errors
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MAKERS = {"empty", "zeros", "ones", "full", "arange", "copy", "ravel"}  # what our kernels make arrays with


class KernelError(TypeError):
    """A kernel cannot be compiled. The message names it, its file and line, and what is wrong there.

    ``module`` is the name of the kernel's module.

    Examples:
        >>> from rankgym.kernels import KernelError
        >>> error = KernelError("kernel rank (mine.py, line 7) cannot be compiled: ...", module="mine")
        >>> isinstance(error, TypeError), error.module
        (True, 'mine')
    """

    def __init__(self, said: str, module: str = "") -> None:
        super().__init__(said)
        self.module = module

    @classmethod
    def of(cls, error: NumbaError, name: str, module: str, file: str) -> "KernelError":
        """Return one for numba's ``error`` with the kernel ``name``; numba's message has neither name nor line."""
        loc = getattr(error, "loc", None)
        line = "" if loc is None else f", line {loc.line}"
        file = file if loc is None else loc.filename
        lines = [line.strip() for line in ANSI.sub("", str(error)).splitlines()]
        telling = [one for one in lines if one and not one.startswith(BOILERPLATE)]
        said = telling[0].removeprefix("NameError: ") if telling else type(error).__name__
        if said.endswith(":"):  # the next line has the signature that has no implementation
            said = " ".join([said, *telling[1:2]])
        return cls(f"kernel {name} ({Path(file).name}{line}) cannot be compiled: {said}", module)


def makes_arrays(func: Callable[..., Any]) -> bool:
    """Whether a kernel may make arrays by NumPy: it is somebody else's, or calls one of ``MAKERS``.

    Such a kernel counts references to the arrays that it touches, by atomic instructions. All others are compiled
    without; they get room for what they remember by ``borrowed`` (``memory.py``).
    """
    ours = str(func.__module__).partition(".")[0] in ("rankgym", "rankgym_agents")
    return not ours or not MAKERS.isdisjoint(func.__code__.co_names)


def cache_folder() -> Path:
    """The folder of compiled kernels, named by everything outside a kernel's own file that changes its machine code.

    That is every file of this room, numba's version and numba's flags. The folder lies below ``NUMBA_CACHE_DIR`` if
    that is set, else in the user's cache folder. Two flags are left out, so that nothing is compiled again because of
    them: the number of threads (no kernel runs in parallel; process pools set it in their workers), and the one that
    switches the compiler off.

    Examples:
        >>> from rankgym.kernels import cache_folder
        >>> cache_folder() == cache_folder(), len(cache_folder().name)
        (True, 16)
    """
    ignored = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS")
    flags = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_") and name not in ignored}
    name = repr((_digest(ROOM), numba.__version__, sorted(flags.items())))
    root = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("rankgym") / "kernels"
    return Path(root) / hashlib.sha256(name.encode()).hexdigest()[:16]


@functools.cache
def _digest(room: Path) -> str:
    """A digest of the names and contents of all Python files in a folder, read once per process."""
    files = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(room.glob("*.py"))]
    return hashlib.sha256(repr(files).encode()).hexdigest()


def kernel(func: F) -> F:
    """Compile ``func`` with numba, cached on disk; with ``NUMBA_DISABLE_JIT=1`` the same lines run as Python.

    A kernel is a pure function on arrays that writes its results to its last arguments. It does not check its
    arguments, and compiled code reads out of bounds silently: the caller checks them first.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import kernel
        >>> @kernel
        ... def count_clicks(clicks, total):
        ...     for row in range(clicks.shape[0]):
        ...         total[row] = 0
        ...         for place in range(clicks.shape[1]):
        ...             total[row] += clicks[row, place]
        >>> total = np.empty(2, np.int64)
        >>> count_clicks(np.array([[1, 0, 1], [0, 0, 0]], np.int8), total)
        >>> total.tolist()
        [2, 0]
    """
    if CONFIG.DISABLE_JIT:
        # the generator's arithmetic is modulo 2^64 by design, and x / 0 is infinite or NaN as in compiled code
        return np.errstate(over="ignore", divide="ignore", invalid="ignore")(func)
    # no kernel is called by a C pointer, so none needs the wrapper for that
    options: Any = {"error_model": DIVISION, "_nrt": makes_arrays(func), "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**options)(func)
    folder = cache_folder()
    before, CONFIG.CACHE_DIR = CONFIG.CACHE_DIR, str(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        compiled._cache = KernelCache(func)
    except OSError as error:
        say_not_kept(error, str(folder.parent))
    except RuntimeError:  # a function typed at a prompt has no file that its cache could be checked against
        pass
    finally:
        CONFIG.CACHE_DIR = before
    return _for_any_constant(compiled)


def _for_any_constant(compiled: Any) -> Any:
    """Let other kernels call ``compiled`` with constants without compiling it again for each constant.

    Errors of the compiler become a ``KernelError``.

    numba gives a constant a type of its own, also the first value of a variable that is about to change.
    """
    template, compile_for_args, func = compiled.get_call_template, compiled._compile_for_args, compiled.py_func

    def compile_or_explain(*args: Any, **kws: Any) -> Any:
        try:
            with interruptions_held():
                return compile_for_args(*args, **kws)
        except NumbaError as error:
            file = func.__code__.co_filename
            raise KernelError.of(error, func.__name__, func.__module__, file) from error

    compiled._compile_for_args = compile_or_explain
    compiled.get_call_template = lambda args, kws: template(
        tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
    )
    return compiled
