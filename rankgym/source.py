"""The user's Python files: where they are searched, and digests that no comment, docstring or layout changes.

``code_digests`` is for classes and functions that are imported, ``module_digest`` for a module that shall not be.
"""

import ast
import functools
import hashlib
import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # nodes that may have a docstring


def source_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a Python file's statements without docstrings; of its bytes if it is not valid Python."""
    status = os.stat(path)
    return _source_digest(os.path.abspath(path), status.st_size, status.st_mtime_ns)


def code_digests(defined: Iterable[Any]) -> dict[str, str]:
    """Return the digests of the files that define classes and functions, compiled or not, by the modules' names.

    The digest is "" where there is no file: what was typed at a prompt, or compiled.
    """
    found = {}
    for one in defined:
        plain = inspect.unwrap(getattr(one, "py_func", one))
        try:
            file = inspect.getsourcefile(plain)
            digest = source_digest(file) if file else ""
        except (OSError, TypeError):
            digest = ""
        found[str(getattr(plain, "__module__", ""))] = digest
    return found


def module_digest(name: str) -> str | None:
    """Return the digest of a module's file without importing the module or its packages; None if it is not found.

    A module that is imported already is found where it was imported from, others in the folders of ``sys.path`` and in
    the present folder.
    """
    file = getattr(sys.modules.get(name), "__file__", None) or module_file(name)
    return source_digest(file) if file and os.path.isfile(file) else None


def module_file(name: str) -> str | None:
    """Return the path of the file of a module that is not imported, without importing it; None if it is not found."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    importlib.invalidate_caches()
    places: list[str] = [*sys.path, os.getcwd()]
    parts, spec = name.split("."), None
    for number in range(1, len(parts) + 1):
        package = ".".join(parts[:number])
        if number < len(parts) and (imported := getattr(sys.modules.get(package), "__path__", None)):
            places = list(imported)
            continue
        spec = PathFinder.find_spec(package, places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return spec.origin if spec is not None and spec.has_location else None


@functools.lru_cache(maxsize=1024)
def _source_digest(path: str, size: int, changed: int) -> str:
    source, words = Path(path).read_bytes(), list[str]()
    try:
        _flatten(ast.parse(source), words)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest()
    return hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def _flatten(node: ast.AST, words: list[str]) -> None:
    """Append the type and the fields of ``node`` without places and docstrings; ``ast.dump`` takes thrice as long."""
    words.append(type(node).__name__)
    documented = isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            _flatten(value, words)
        elif isinstance(value, list):
            words.append("[")
            for one in value[1:] if name == "body" and documented else value:
                if isinstance(one, ast.AST):
                    _flatten(one, words)
                else:
                    words.append(repr(one))
            words.append("]")
        else:
            words.append(repr(value))


def search_path() -> tuple[str, ...]:
    """Return the folders in which this process finds modules, without those of Python and of installed packages."""
    paths = sysconfig.get_paths()
    installed = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders = dict.fromkeys(os.path.abspath(entry) for entry in sys.path)
    return tuple(
        folder
        for folder in folders
        if os.path.isdir(folder)
        and os.path.realpath(folder) not in installed
        and os.path.dirname(os.path.realpath(folder)) not in installed  # lib-dynload
    )


def missing_module(error: ModuleNotFoundError, place: str) -> str:
    """Say where the module of ``place``, "module:NAME", was searched, or which of its imports is missing."""
    module, _, attribute = place.partition(":")
    if error.name is None or not f"{module}.".startswith(f"{error.name}."):
        frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<frozen ")]
        return f"{error}, imported by {frames[-1].filename}, line {frames[-1].lineno}"
    said = f"there is no module {error.name!r}"
    if module.endswith(".py"):
        stem = module.removesuffix(".py").replace("\\", "/").lstrip("./").replace("/", ".")
        return f"{said}; did you mean '{stem}:{attribute}'?"
    if "." in error.name:  # its package is there
        return said
    return f"{said} in {', '.join(search_path()) or 'any folder'}; run this in the folder of your modules"
