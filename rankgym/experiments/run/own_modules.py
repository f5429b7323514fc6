"""Modules of the user's, with agents and click models, in the workers of a cluster: found, and read again if edited."""

import contextlib
import importlib
import importlib.util
import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

from rankgym.named_code import is_ours
from rankgym.source import search_path as search_path

_SEEN: dict[str, int] = {}  # times of change of the files that this process has imported, in nanoseconds


def own_modules(places: Iterable[str]) -> tuple[str, ...]:
    """Return the modules of ``places``, each "package.module:NAME", without those of rankgym."""
    modules = dict.fromkeys(place.partition(":")[0] for place in places)
    return tuple(name for name in modules if not is_ours(name))


def prepare(modules: Iterable[str], folders: Iterable[str]) -> str:
    """Let this worker find the driver's ``modules`` in the driver's ``folders``, as they are now on the disk.

    Returns what is missing, in words to follow "a worker on"; "" if all modules are there.
    """
    modules, folders = list(modules), list(folders)
    if not modules:
        return ""
    there = [folder for folder in folders if os.path.isdir(folder)]
    sys.path.extend(folder for folder in there if folder not in sys.path)  # last: installed packages have precedence
    importlib.invalidate_caches()
    for name in modules:
        _forget_if_edited(name)
    for name in modules:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            file = name.partition(".")[0]
            looked = ", ".join(folders) or "none"
            return (
                f"{socket.gethostname()} does not find the module {name!r}: of the driver's folders ({looked}) it sees "
                f"{', '.join(there) or 'none'}; put {file} into a folder that the driver and all workers see under the "
                "same path, or set PYTHONPATH where the worker is started"
            )
    return ""


def _forget_if_edited(name: str) -> None:
    """Remove a module, and all of its package, from what is imported, if one of the files has changed since."""
    package = name.partition(".")[0]
    if package == "__main__":
        return  # what runs now cannot be imported anew
    files = {}
    for one, module in list(sys.modules.items()):
        if one == package or one.startswith(f"{package}."):
            with contextlib.suppress(AttributeError, OSError):
                files[one] = str(module.__file__), Path(str(module.__file__)).stat().st_mtime_ns
    if any(_SEEN.setdefault(file, changed) != changed for file, changed in files.values()):
        for one in files:
            del sys.modules[one]
        for file, _ in files.values():
            _SEEN.pop(file, None)


def remember(modules: Iterable[str]) -> None:
    """Note the times of change of the files that were imported just now."""
    for name in modules:
        _forget_if_edited(name)
