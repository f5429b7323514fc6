"""Notebooks of marimo as scripts: they are Python files in which each cell is a function.

The format is that of https://docs.marimo.io: cells are functions with the decorator ``app.cell``, functions and classes
that stand alone have ``app.function`` and ``app.class_definition``, and ``with app.setup:`` holds imports.
"""

import ast

ALONE = ("app.function", "app.class_definition")
INDENT = 4


def is_marimo(source: str) -> bool:
    """Whether a script is a notebook of marimo."""
    return "marimo.App(" in source and "app = marimo.App(" in source


def marimo_source(source: str) -> str:
    """Return a notebook of marimo as a script, each line where it was; what is marimo's own becomes empty lines.

    Raises:
        SyntaxError: it is not Python.
    """
    given = source.splitlines()
    lines = [""] * len(given)
    for node in ast.parse(source).body:
        if isinstance(node, ast.With):
            _copy(node.body, given, lines, INDENT)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            kinds = [_name(decorator) for decorator in node.decorator_list]
            if any(kind in ALONE for kind in kinds):
                lines[node.lineno - 1 : node.end_lineno] = given[node.lineno - 1 : node.end_lineno]
            elif "app.cell" in kinds and not _uses_marimo(node):
                _copy([one for one in node.body if not isinstance(one, ast.Return)], given, lines, INDENT)
    return "\n".join(lines) + "\n"


def _copy(body: list[ast.stmt], given: list[str], lines: list[str], indent: int) -> None:
    """Copy statements to the same lines of another script, less indented. The import of marimo is left out."""
    for node in body:
        if isinstance(node, ast.Import) and any(alias.name == "marimo" for alias in node.names):
            continue
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        for number in range(first - 1, node.end_lineno or node.lineno):
            line = given[number]
            lines[number] = line[indent:] if not line[:indent].strip() else line


def _name(decorator: ast.expr) -> str:
    """Return a decorator's name, without its arguments."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _uses_marimo(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a cell is text or a widget: marimo's module is its argument."""
    return not isinstance(node, ast.ClassDef) and any(argument.arg == "mo" for argument in node.args.args)
