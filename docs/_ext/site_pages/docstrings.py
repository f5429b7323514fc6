"""Docstrings as Markdown: whole texts, the sections of an environment's, and the arguments of both forms."""

import re
import textwrap

SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)  # code between as many backticks on both sides
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): ?(.*)")  # of a section "Args:"
ORPHAN = "---\norphan: true\n---\n"  # a page outside of the sidebar: 100 entries in it double the time of a build
FENCED = re.compile(r"(^```.*?^```$)", flags=re.M | re.S)
SECTION = re.compile(r"^(Args|Attributes|Examples|Raises|References|Returns|Yields):\n", flags=re.M)


def as_markdown(text: str) -> str:
    """Return a docstring as Markdown: double backticks become single ones, ``<`` is escaped, prompts become code."""
    parts = FENCED.split(text)
    return "".join(_fenced(part) if part.startswith("```") else _prose(part) for part in parts)


def _fenced(block: str) -> str:
    """Return a fenced block as it is, or, if it begins with a prompt, as a session without the blank line at its end.

    Doctest needs that line: without it the closing fence is part of what the last prompt prints.
    """
    lines = block.splitlines()
    if not lines[1].startswith(">>>"):
        return block
    return "\n".join(["```pycon", *"\n".join(lines[1:-1]).rstrip().splitlines(), "```"])


def _prose(text: str) -> str:
    """Return text between fenced blocks as Markdown; prompts and what they print, up to a blank line, become code."""
    lines, code, indent = [], False, 0
    for line in _outside_fences(text).split("\n"):
        prompt = line.lstrip().startswith(">>>")
        if prompt and not code:
            lines += ["```pycon"]
            indent = len(line) - len(line.lstrip())
        if code and not line.strip():
            lines += ["```"]
        code = (code or prompt) and bool(line.strip())
        lines.append(line[indent:] if code else line)
    return "\n".join([*lines, "```"] if code else lines)


def _outside_fences(text: str) -> str:
    found, end = [], 0
    for span in SPAN.finditer(text):
        found += [_escaped(text[end : span.start()]), f"`{' '.join(span[2].split())}`"]
        end = span.end()
    return "".join([*found, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return text if ">>>" in text else text.replace("<", "&lt;")


def in_cell(text: str) -> str:
    """Return Markdown on one line, for a cell of a table; the items of a list begin new lines."""
    return "<br>".join(" ".join(item.split()) for item in re.split(r"\n *\* ", text)).replace("|", r"\|")


def index_entries(*entries: str) -> str:
    """Return a directive for the index. The search puts main entries, with an exclamation mark, first."""
    return f"```{{index}} {', '.join(f'! {entry}' for entry in entries)}\n```"


def sections_of(text: str) -> dict[str, str]:
    """Return the sections of an environment's docstring by their titles; a title without text shares the next one's."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    found = {title.strip(): body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)}
    for title, following in zip(reversed([*found][:-1]), reversed([*found][1:]), strict=True):
        found[title] = found[title] or found[following]
    return found


def listed_arguments(section: str) -> dict[str, str]:
    """Return the texts of ``* `name`, `other`: text``, by name; an item of a section "Arguments"."""
    found: dict[str, str] = {}
    for item in re.split(r"^\* ", section, flags=re.M)[1:]:
        head = re.match(r"((?:`\w+`(?:, | and )?)+)[^:]*: ", item)
        if head:
            body = re.split(r"\n\n", item[head.end() :])[0]
            found |= dict.fromkeys(re.findall(r"`(\w+)`", head[1]), body.strip())
    return found


def split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its first section such as "Args:", and the sections by their titles."""
    parts = SECTION.split(text)
    return parts[0].strip(), {
        title: textwrap.dedent(body).strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def entries_of(section: str) -> dict[str, str]:
    """Return the texts of ``name, other: text``, by name; an entry of a section "Args"."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        head = ENTRY.fullmatch(line)
        if head:
            names = [name.lstrip("*") for name in head[1].split(", ")]
            found |= dict.fromkeys(names, head[2])
        elif names:
            found |= dict.fromkeys(names, f"{found[names[0]]} {line.strip()}".strip())
    return found
