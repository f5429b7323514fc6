"""Docstrings for autodoc, which expects reStructuredText: ours are Markdown in environments, plain text elsewhere."""

import re
from collections.abc import Iterator
from typing import Any

SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:[^`\n]|\n(?!\s*\n))+?)\1(?!`)")  # code in one paragraph
ARRAY = re.compile(
    r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?(?:numpy\.)?dtype\[~?(?:numpy\.|typing\.)?(\w+)\]\]"
)
ARRAY_LIKE = re.compile(r"~?numpy\._typing\._array_like\._(?:Buffer|SupportsArray)\b.*?_NestedSequence\[[a-z |]+\]")
SHARED = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +.*)*)$", flags=re.M)
SPECIAL = re.compile(r"(\|)|(?<=\w)(_)(?!\w)|(?<!\w)(\*)(?=[\w*])(?![^*\s]*[\w.]\*(?!\w))")


def prepare_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place. An event handler of ``autodoc-process-docstring``."""
    lines[:] = as_rst(each_attribute("\n".join(lines))).splitlines()


def shorten_signature(app: Any, what: str, name: str, obj: Any, options: Any, signature: Any, returned: Any) -> Any:
    """Return a signature in which arrays are short. An event handler of ``autodoc-process-signature``."""
    return tuple(
        part and ARRAY_LIKE.sub("ArrayLike", ARRAY.sub(r"NDArray[\1]", part)) for part in (signature, returned)
    )


def each_attribute(text: str) -> str:
    """Return a docstring with an entry for each name of "a, b: text" in its section "Attributes".

    Napoleon splits such entries of arguments, but takes "a," for the type of the attribute b.
    """
    before, head, rest = text.partition("Attributes:\n")
    entries, blank, after = rest.partition("\n\n")
    entries = SHARED.sub(lambda e: "\n".join(f"{e[1]}{name}: {e[3]}" for name in e[2].split(", ")), entries)
    return "".join((before, head, entries, blank, after))


def as_rst(text: str) -> str:
    """Return Markdown's headings, fences, tables, lists and code as reStructuredText; other text is escaped."""
    found: list[str] = []
    for kind, lines in blocks(text.splitlines()):
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        if kind == "fence":
            language = "pycon" if lines[1].strip().startswith(">>>") else lines[0].strip().strip("`") or "text"
            found += ["", f"{indent}.. code-block:: {language}", "", *(f"   {line}" for line in lines[1:-1]), ""]
        elif kind == "table":
            found += ["", *(f"{indent}{line}" for line in list_table(lines)), ""]
        elif kind == "heading":
            found += ["", f".. rubric:: {lines[0].lstrip('# ')}", ""]
        elif kind == "prompt":
            found += lines
        else:
            found += spaced_list(escaped("\n".join(lines)).split("\n"))
    return "\n".join(found)


def blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield runs of lines of one kind: fence, table, heading, prompt, text."""
    kept: list[str] = []
    kind = "text"
    for line in lines:
        bare = line.strip()
        if kind == "fence":
            kept.append(line)
            if bare == "```":
                yield kind, kept
                kept, kind = [], "text"
            continue
        if kind == "prompt" and bare:  # until the next blank line: prompts and what they print
            kept.append(line)
            continue
        new = "fence" if bare.startswith("```") else "table" if bare.startswith("|") and bare.endswith("|") else "text"
        new = "heading" if bare.startswith("## ") else "prompt" if bare.startswith(">>>") else new
        if kept and (new != kind or new == "heading"):
            yield kind, kept
            kept = []
        kind = new
        kept.append(line)
    if kept:
        yield kind, kept


def escaped(text: str) -> str:
    """Return text with its code in double backticks, and without other meanings of ``|``, ``_`` and ``*``."""
    found, end = [], 0
    for span in SPAN.finditer(text):
        found += [SPECIAL.sub(r"\\\g<0>", text[end : span.start()]), f"``{span[2].strip()}``"]
        after = text[span.end() : span.end() + 1]
        found += ["\\ "] if after and (after.isalnum() or after in "_(") else []  # else the literal does not end
        end = span.end()
    return "".join([*found, SPECIAL.sub(r"\\\g<0>", text[end:])])


def list_table(lines: list[str]) -> list[str]:
    """Return the lines of a Markdown table as a directive."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    rows = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
    found = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        found += [f"   {'* -' if n == 0 else '  -'} {escaped(cell)}" for n, cell in enumerate(row)]
    return found


def spaced_list(lines: list[str]) -> list[str]:
    """Return lines with a blank one before each list that follows a paragraph directly."""
    found: list[str] = []
    listed = False
    for line in lines:
        starts = line.lstrip().startswith("* ")
        if starts and not listed and found and found[-1].strip():
            found.append("")
        listed = starts or (listed and bool(line.strip()))
        found.append(line)
    return found
