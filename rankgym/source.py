"""The user's Python files: where they are searched, and digests that no comment, docstring or layout changes."""

import ast
import functools
import hashlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # nodes that may have a docstring


def source_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a Python file's statements without docstrings; of its bytes if it is not valid Python."""
    status = os.stat(path)
    return _source_digest(os.path.abspath(path), status.st_size, status.st_mtime_ns)


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
