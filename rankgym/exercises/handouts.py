"""Handouts and submissions as files: where handouts are, and what a script or notebook has to say in Python."""

import ast
import contextlib
import re
import shutil
from os import PathLike
from pathlib import Path

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.marimo_files import is_marimo, marimo_source
from rankgym.extras import require

PACKAGED = Path(__file__).with_name("handout_files")  # in an installed package
CHECKOUT = Path(__file__).resolve().parents[2] / "examples" / "exercises"
HANDOUTS = PACKAGED if PACKAGED.is_dir() else CHECKOUT
SECTION = re.compile(r"\d+(?:\.\d+)*")
HEADING = re.compile(rf"# #+ (?:(?P<section>{SECTION.pattern})\.?(?:\s|$))?")  # in the percent format
LARGEST_SUBMISSION = 5 << 20  # bytes


def read_submission(file: str | PathLike[str]) -> tuple[str, str]:
    """Return the Python text of a script or a notebook (of Jupyter or of marimo), and the file's name.

    Raises:
        ValueError: the file is neither, or too large.
        OSError: the file cannot be read.
    """
    path = Path(file)
    if path.suffix not in (".py", ".ipynb"):
        raise ValueError(f"{path.name} is not a submission; allowed: a script (.py) or a notebook (.ipynb)")
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    if path.stat().st_size > LARGEST_SUBMISSION:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes; allowed: up to {LARGEST_SUBMISSION:,}")
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".ipynb":
        text = notebook_source(text, path.name)
    elif is_marimo(text):
        with contextlib.suppress(SyntaxError):  # which is reported when it is loaded
            text = marimo_source(text)
    return text, path.name


def notebook_source(text: str, name: str) -> str:
    """Return a notebook as a script: its code cells, without the lines that are Jupyter's (% and !).

    Raises:
        ValueError: it is not a notebook.
    """
    jupytext = require("jupytext", "teaching")
    try:
        return str(jupytext.writes(jupytext.reads(text, fmt="ipynb"), fmt="py:percent"))
    except Exception as error:  # whatever the library meets in a damaged file
        raise ValueError(f"{name} cannot be read as a notebook: {error}") from None


def place_of(file: str, source: str, line: int | None) -> str:
    """Return where a line of a submission is, in words; of a notebook its code cells are counted from 1."""
    if line is None:
        return file
    if not file.endswith(".ipynb"):
        return f"{file}, line {line}"
    marks = [(number, text) for number, text in enumerate(source.splitlines(), 1) if text.startswith("# %%")]
    above = [number for number, text in marks if number < line and "[markdown]" not in text]
    if not above:
        return file
    first = next(number for number, text in enumerate(source.splitlines(), 1) if number > above[-1] and text.strip())
    return f"{file}, code cell {len(above)}, line {line - min(first, line) + 1}"


def sections(exercise: Exercise) -> dict[str, list[str]]:
    """Return the functions and classes of each numbered section of an exercise's handout: ``{"1.1": ["clicks"]}``.

    A heading begins with a section's number (``# ## 1.1 Clicks``), or what is to be written raises
    ``NotImplementedError("1.1")``. A handout that is not Python has no sections.
    """
    text = exercise.handout.read_text(encoding="utf-8")
    try:
        nodes = ast.parse(text).body
    except SyntaxError:
        return {}
    headings = [(number, HEADING.match(line)) for number, line in enumerate(text.splitlines(), 1)]
    found: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            above = [heading["section"] for number, heading in headings if heading and number < node.lineno]
            section = _unwritten(node) or (above[-1] if above else None)
            if section:
                found.setdefault(section, []).append(node.name)
    return found


def _unwritten(node: ast.AST) -> str | None:
    """Return the section that a function or class names where it is not written yet; None if it names none."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and ast.unparse(one.func) == "NotImplementedError" and one.args:
            text = one.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str) and SECTION.fullmatch(text.value):
                return text.value
    return None


def start(exercise: Exercise, folder: str | PathLike[str]) -> list[Path]:
    """Copy an exercise's handout into ``folder``, as a script and as a notebook, with its picture.

    Raises:
        ValueError: a file of that name is there; nothing is written.
    """
    target = Path(folder)
    script, notebook = target / exercise.handout.name, target / f"{exercise.name}.ipynb"
    for file in (script, notebook):
        if file.exists():
            raise ValueError(f"{file} is there already; move it, or choose another folder with --to")
    jupytext = require("jupytext", "teaching")
    text = exercise.handout.read_text(encoding="utf-8")
    target.mkdir(parents=True, exist_ok=True)
    made = [script, notebook]
    picture = exercise.handout.parent / "pictures" / f"{exercise.name}.svg"
    if picture.is_file():
        (target / "pictures").mkdir(exist_ok=True)
        made.append(Path(shutil.copyfile(picture, target / "pictures" / picture.name)))
    script.write_text(text, encoding="utf-8")
    jupytext.write(jupytext.reads(text, fmt="py:percent"), notebook)
    return made
