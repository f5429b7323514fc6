"""Digests of Python files: editing a comment or a docstring does not change them."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
from pathlib import Path

__all__ = ["source_digest"]


def source_digest(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a Python file's statements without docstrings; of its bytes if it is not valid Python."""
    status = os.stat(path)
    return _source_digest(os.path.abspath(path), status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _source_digest(path: str, size: int, changed: int) -> str:
    source = Path(path).read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and _documented(node):
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0] if node.body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
