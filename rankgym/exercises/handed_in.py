"""Find what was handed in: which file is whose, and of which exercise."""

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.finding import exercise_of_file
from rankgym.exercises.handouts import LARGEST_SUBMISSION

ENDINGS = (".py", ".ipynb")
LITTER = (
    "__pycache__",
    "__MACOSX",
    "pictures",
)  # folders that are not looked into; nor are those that begin with a dot
UNWRITTEN = b"raise NotImplementedError"
PLATFORMS = (  # how learning platforms begin the name of a file or folder; the student comes first
    re.compile(r"(?P<student>.+?)_\d+_assignsubmission_[a-z]+(?:_|$)"),  # Moodle
    re.compile(r"(?P<student>.+?)(?:_LATE)?_\d{3,}_\d{3,}(?:_|$)"),  # Canvas
)
COPY = r"(?:[ _-]*\((?P<browser>\d+)\)|-(?P<platform>\d+))?$"  # of what was downloaded or handed in again: (1), -1
LARGEST_READ = LARGEST_SUBMISSION + 1  # bytes


class HandedIn(NamedTuple):
    """A submission of a student."""

    student: str
    exercise: Exercise
    file: Path
    remark: str = ""  # about other files of the same student and exercise


class LeftOut(NamedTuple):
    """A file that is not graded."""

    file: str  # relative to the folder of submissions
    why: str


def collect(
    folder: Path, exercise: Exercise | None = None, *, skip: Collection[Path] = ()
) -> tuple[list[HandedIn], list[LeftOut]]:
    """Find what was handed in; return it by student and exercise, and what is left out and why.

    * A file in a folder is that of the student after whom the outermost folder is named.
    * A file that is in no folder begins with the student's name: ``alice_01_click_models.py``.
    * Names that Moodle and Canvas make are understood, of files and of folders:
      ``Alice Smith_12345_assignsubmission_file_01_click_models.py``,
      ``smithalice_LATE_12345_67890_01_click_models-1.py``.
    * A file's name ends with the exercise's: ``01_click_models``, perhaps with a copy's number: ``(1)``. With
      ``exercise`` all files are of that exercise, and may have any name.
    * Of several files of one student and exercise the one that was saved last is graded, but none in which nothing is
      filled in, if there is another: students hand in the script beside the notebook in which they worked.
    * Scripts (.py) and notebooks (.ipynb) are graded. Links are not followed. Files and folders in ``skip`` are not
      looked at.
    """
    found: dict[tuple[str, str], list[tuple[Path, Exercise]]] = {}
    left_out = []
    for path in _files(folder, skip):
        meant = exercise or exercise_of_file(path)
        inner = path.relative_to(folder)
        student = _student(inner, meant)
        why = _why_not(path, meant, student)
        if why:
            left_out.append(LeftOut(str(inner), why))
        elif meant is not None:
            found.setdefault((student, meant.name), []).append((path, meant))
    handed_in = []
    for (student, _), files in sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])):
        (chosen, meant), *others = sorted(files, key=_rank, reverse=True)
        names = ", ".join(str(path.relative_to(folder)) for path, _ in others)
        handed_in.append(HandedIn(student, meant, chosen, f"not graded: {names}" if names else ""))
        left_out += [LeftOut(str(path.relative_to(folder)), f"{chosen.name} is graded") for path, _ in others]
    return handed_in, left_out


def _files(folder: Path, skip: Collection[Path]) -> Iterator[Path]:
    """Yield all files and links, and folders without any file, but litter."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name in LITTER or entry.name.startswith(".") or Path(entry.path) in skip:
            continue
        if entry.is_dir(follow_symlinks=False):
            inner = list(_files(Path(entry.path), skip))
            yield from inner or [Path(entry.path)]
        else:
            yield Path(entry.path)


def _why_not(path: Path, exercise: Exercise | None, student: str) -> str:
    """Return why a file cannot be graded; "" if it can."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return "no file in this folder"
    if not stat.S_ISREG(mode):
        return "not a file but a link or a device"
    if path.suffix not in ENDINGS:
        return "neither a script (.py) nor a notebook (.ipynb)"
    if exercise is None:
        return "its name does not end with an exercise's, such as 01_click_models"
    if not student:
        return "its name does not begin with a student's; or put it into a folder with the student's name"
    return ""


def _student(inner: Path, exercise: Exercise | None) -> str:
    """Return the student of a file whose path within the folder of submissions is ``inner``; "" if it names none."""
    name = inner.parts[0] if len(inner.parts) > 1 else inner.stem
    if len(inner.parts) == 1 and exercise is not None:
        name = re.sub(re.escape(exercise.name) + COPY, "", name)
    for platform in PLATFORMS:
        found = platform.match(name)
        if found:
            return found["student"].strip()
    return name.strip(" _-")


def _rank(one: tuple[Path, Exercise]) -> tuple[bool, int, int, str]:
    """Return what is largest for the file that is to be graded."""
    path, exercise = one
    copy = re.search(re.escape(exercise.name) + COPY, path.stem)
    number = next((int(text[:9]) for text in copy.groups() if text), 0) if copy else 0
    return _filled_in(path, exercise), path.stat().st_mtime_ns, number, path.name


def _filled_in(path: Path, exercise: Exercise) -> bool:
    """Whether fewer functions are unwritten than in the handout."""
    try:
        return read(path).count(UNWRITTEN) < exercise.handout.read_bytes().count(UNWRITTEN)
    except OSError:
        return True


def read(file: Path) -> bytes:
    """Read a submission; of a file that is too large only so much that this is seen."""
    with file.open("rb") as opened:
        return opened.read(LARGEST_READ)
