"""Digests of Python files: editing a comment, a docstring or the layout does not change them."""

import ast
import functools
import hashlib
import os
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
