"""Find what was handed in: which file is whose, and of which exercise."""

import os
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.finding import exercise_of_file
from rankgym.exercises.handouts import LARGEST_SUBMISSION

ENDINGS = (".py", ".ipynb")
ARCHIVES = (".zip", ".rar", ".7z", ".gz", ".tar")
LITTER = (
    "__pycache__",
    "__MACOSX",
    "pictures",
)  # folders that are not looked into; nor are those that begin with a dot
PICTURE = "_yours.svg"  # how the names of pictures end that `rankgym exercise check` writes
UNWRITTEN = b"raise NotImplementedError"
PLATFORMS = (  # how learning platforms begin the name of a file or folder; the student comes first
    re.compile(
        r"(?P<student>.+?)(?:_(?P<id>\d+))?_assignsubmission_[a-z]+(?:_|$)"
    ),  # Moodle; "Default group" has no id
    re.compile(r"(?P<student>.+?)(?:_LATE)?_(?P<id>\d{3,})_\d{3,}(?:_|$)"),  # Canvas: the user's id, then the file's
)
COPY = re.compile(r"\((\d+)\)$|-(\d+)$")  # of what was downloaded or handed in again: (1), -1
LARGEST_READ = LARGEST_SUBMISSION + 1  # bytes
MOST_NAMED = 5  # files that a remark names


class HandedIn(NamedTuple):
    """A submission of a student."""

    student: str
    exercise: Exercise
    file: Path
    remark: str = ""  # about other files of the same student


class LeftOut(NamedTuple):
    """A file that is not graded."""

    file: str  # relative to the folder of submissions
    why: str
    student: str = ""  # "" if that cannot be told


class Owner(NamedTuple):
    """Who handed in a file, as its name says."""

    name: str
    id: str = ""  # of the learning platform


class _Seen(NamedTuple):
    """A file in the folder of submissions."""

    path: Path
    inner: Path  # relative to that folder
    exercise: Exercise | None
    owner: Owner
    why_not: str


def collect(
    folder: Path, exercise: Exercise | None = None, *, skip: Collection[Path] = ()
) -> tuple[list[HandedIn], list[LeftOut]]:
    """Find what was handed in; return it by student and exercise, and what is left out and why.

    * A file in a folder is that of the student after whom the outermost folder is named.
    * A file that is in no folder begins with the student's name: ``alice_01_click_models.py``.
    * Names that Moodle and Canvas make are understood, of files and of folders:
      ``Alice Smith_12345_assignsubmission_file_01_click_models.py``,
      ``smithalice_LATE_12345_67890_01_click_models-1.py``.
    * Where the same name has several ids of the platform for one exercise, these are several students:
      ``Alice Smith (12345)``.
    * A file's name contains the exercise's; ``finding.around_name`` says what may follow. With ``exercise`` all files
      are of that exercise, and may have any name.
    * Of several files of one student and exercise the one that was saved last is graded, but none in which nothing is
      filled in, if there is another: students hand in the script beside the notebook in which they worked.
    * Scripts (.py) and notebooks (.ipynb) are graded. Links are not followed. Files and folders in ``skip`` are not
      looked at.
    """
    seen = [_seen(path, path.relative_to(folder), exercise) for path in _files(folder, skip)]
    students = _students(seen)
    found: dict[tuple[str, str], list[_Seen]] = {}
    left_out, strays = [], defaultdict(list)
    for each in seen:
        student = students[each.owner]
        if each.why_not:
            left_out.append(LeftOut(str(each.inner), each.why_not, student))
            if each.path.suffix in (*ENDINGS, *ARCHIVES):
                strays[student].append(each)
        elif each.exercise is not None:
            found.setdefault((student, each.exercise.name), []).append(each)
    handed_in = []
    for (student, _), files in sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])):
        chosen, *others = sorted(files, key=_rank, reverse=True)
        remark = _not_graded([*others, *strays.pop(student, [])])
        assert chosen.exercise is not None
        handed_in.append(HandedIn(student, chosen.exercise, chosen.path, remark))
        left_out += [LeftOut(str(each.inner), f"{chosen.inner} is graded", student) for each in others]
    return handed_in, left_out


def _files(folder: Path, skip: Collection[Path]) -> Iterator[Path]:
    """Yield all files and links, and folders without any file, but litter."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        litter = entry.name in LITTER or entry.name.startswith(".") or entry.name.endswith(PICTURE)
        if litter or Path(entry.path) in skip:
            continue
        if entry.is_dir(follow_symlinks=False):
            inner = list(_files(Path(entry.path), skip))
            yield from inner or [Path(entry.path)]
        else:
            yield Path(entry.path)


def _seen(path: Path, inner: Path, exercise: Exercise | None) -> _Seen:
    """Return whose a file is, of which exercise, and why it cannot be graded; ``exercise`` is None if its name says."""
    meant = exercise or exercise_of_file(path)
    owner = _owner(inner, meant, is_folder=path.is_dir() and not path.is_symlink())
    return _Seen(path, inner, meant, owner, _why_not(path, meant, owner))


def _why_not(path: Path, exercise: Exercise | None, owner: Owner) -> str:
    """Return why a file cannot be graded; "" if it can."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return "no file in this folder"
    if not stat.S_ISREG(mode):
        return "not a file but a link or a device"
    if path.suffix not in ENDINGS:
        return "neither a script (.py) nor a notebook (.ipynb)"
    if exercise is None:
        return "its name contains no exercise's name, such as 01_click_models, or says that the file is old"
    if not owner.name:
        return "its name does not begin with a student's; or put it into a folder with the student's name"
    return ""


def _owner(inner: Path, exercise: Exercise | None, *, is_folder: bool = False) -> Owner:
    """Return who handed in the file at ``inner``, relative to the folder of submissions; no name if it has none."""
    in_folder = len(inner.parts) > 1 or is_folder
    name = inner.parts[0] if in_folder else inner.stem
    for platform in PLATFORMS:
        found = platform.match(name)
        if found:
            return Owner(found["student"].strip(), found["id"] or "")
    if not in_folder:
        before, named, _ = name.partition(exercise.name) if exercise else ("", "", "")
        whole = exercise is not None and inner.suffix in ENDINGS  # any name will do
        name = before if named else name if whole else ""
    return Owner(name.strip(" _-"))


def _students(seen: Sequence[_Seen]) -> dict[Owner, str]:
    """Return what each student is called: by name, with the platform's id where namesakes handed in one exercise.

    Moodle gives a student another id in each assignment, so different ids for different exercises are one student's. A
    file of no exercise counts as one of the class's exercise, if there is only one.
    """
    exercises = {each.exercise.name for each in seen if each.exercise and not each.why_not}
    only = exercises.pop() if len(exercises) == 1 else ""
    ids = defaultdict(set)
    for each in seen:
        if each.owner.id:
            ids[each.owner.name, each.exercise.name if each.exercise else only].add(each.owner.id)
    namesakes = {name for (name, _), found in ids.items() if len(found) > 1}
    return {
        owner: f"{owner.name} ({owner.id})" if owner.id and owner.name in namesakes else owner.name
        for owner in {each.owner for each in seen}
    }


def _rank(each: _Seen) -> tuple[bool, int, int, str]:
    """Return what is largest for the file that is to be graded."""
    copy = COPY.search(each.path.stem)
    number = next((int(text[:9]) for text in copy.groups() if text), 0) if copy else 0
    assert each.exercise is not None
    return filled_in(each.path, each.exercise), each.path.stat().st_mtime_ns, number, each.path.name


def filled_in(file: Path, exercise: Exercise) -> bool:
    """Whether something that is checked is defined, and fewer functions are unwritten than in the handout."""
    try:
        content, handout = read(file), exercise.handout.read_bytes()
    except OSError:
        return True
    names = "|".join(re.escape(check.of) for check in exercise.checks)
    defines = re.search(rf"\b(?:def|class)\s+(?:{names})\b".encode(), content) is not None
    return defines and content.count(UNWRITTEN) < handout.count(UNWRITTEN)


def _not_graded(files: Sequence[_Seen]) -> str:
    """Return a remark that names a student's other files; "" if there are none."""
    names = [str(each.inner) for each in files[:MOST_NAMED]]
    more = [f"{len(files) - MOST_NAMED} more"] if len(files) > MOST_NAMED else []
    return f"not graded: {', '.join([*names, *more])}" if files else ""


def read(file: Path) -> bytes:
    """Read a submission; of a file that is too large only so much that this is seen."""
    with file.open("rb") as opened:
        return opened.read(LARGEST_READ)
