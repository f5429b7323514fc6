"""Find what was handed in: which file is whose, and of which exercise."""

import os
import re
import shlex
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.finding import is_set_aside, named_exercise
from rankgym.exercises.handouts import LARGEST_SUBMISSION

ENDINGS = (".py", ".ipynb")
ARCHIVES = (".zip", ".rar", ".7z", ".gz", ".tar")
LITTER = (
    "__pycache__",
    "__MACOSX",
    "pictures",
)  # folders that are not looked into; nor are those that begin with a dot
PICTURE = "_yours.svg"  # how the names of pictures end that `rankgym exercise check` writes
ONLINE_TEXT = "onlinetext.html"  # how the names of Moodle's files end that have the text field beside the files
NO_EXERCISE = "its name contains no exercise's name, such as 01_click_models"
UNWRITTEN = re.compile(rb"(?<!#)(?<!# )raise NotImplementedError")
SAME_TIME = 1_000_000_000  # nanoseconds; files that are copied one after the other differ by less
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
    inner: str = ""  # the file relative to the folder of submissions
    id: str = ""  # of the learning platform
    nothing: str = ""  # why the file can get no points, as far as its text tells
    remark: str = ""  # about other files of the same student


class LeftOut(NamedTuple):
    """A file that is not graded."""

    file: str  # relative to the folder of submissions
    why: str
    student: str = ""  # "" if that cannot be told
    id: str = ""  # of the learning platform


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
      filled in, if there is another: students hand in the script beside the notebook in which they worked. Of files
      of the same time, as copying leaves them, it is the one in which most is filled in.
    * Scripts (.py) and notebooks (.ipynb) are graded. Links are not followed. Files and folders in ``skip`` are not
      looked at. Moodle's text fields are passed over where the student has a file, too.

    Raises:
        ValueError: a folder that would count as one student's holds those of several.
    """
    seen = [_seen(path, path.relative_to(folder), exercise) for path in _files(folder, skip)]
    _refuse_outer_folder(folder, seen)
    with_files = {each.owner for each in seen if not _is_online_text(each)}
    seen = [each for each in seen if not _is_online_text(each) or each.owner not in with_files]
    students = _students(seen)
    found: dict[tuple[str, str], list[_Seen]] = {}
    left_out, strays = [], defaultdict(list)
    for each in seen:
        student = students[each.owner]
        if each.why_not:
            left_out.append(LeftOut(str(each.inner), each.why_not, student, each.owner.id))
            if each.path.suffix.lower() in (*ENDINGS, *ARCHIVES):
                strays[student].append((each, each.why_not))
        elif each.exercise is not None:
            found.setdefault((student, each.exercise.name), []).append(each)
    handed_in = []
    for (student, _), files in sorted(found.items(), key=lambda one: (one[0][0].casefold(), one[0])):
        chosen, others = _choose(files)
        assert chosen.exercise is not None
        number = chosen.owner.id or next((each.owner.id for each in files if each.owner.id), "")
        remark = _not_graded([*others, *strays.pop(student, [])])
        nothing = nothing_done(chosen.path, chosen.exercise)
        handed_in.append(
            HandedIn(student, chosen.exercise, chosen.path, chosen.inner.as_posix(), number, nothing, remark)
        )
        left_out += [
            LeftOut(str(each.inner), f"{why}; {chosen.inner} is graded", student, number) for each, why in others
        ]
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
    meant = exercise or named_exercise(path)
    owner = _owner(inner, meant, is_folder=path.is_dir() and not path.is_symlink())
    why_not = _why_not(path, meant, owner)
    if not why_not and meant and not exercise and is_set_aside(path, meant):
        why_not = "its name says that it is set aside (old, backup or bak)"
    return _Seen(path, inner, meant, owner, why_not)


def _why_not(path: Path, exercise: Exercise | None, owner: Owner) -> str:
    """Return why a file cannot be graded; "" if it can."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return "no file in this folder"
    if not stat.S_ISREG(mode):
        return "not a file but a link or a device"
    if path.suffix.lower() not in ENDINGS:
        return "neither a script (.py) nor a notebook (.ipynb)"
    if exercise is None:
        return NO_EXERCISE
    if not owner.name:
        return "its name does not begin with a student's; or put it into a folder with the student's name"
    return ""


def _owner(inner: Path, exercise: Exercise | None, *, is_folder: bool = False) -> Owner:
    """Return who handed in the file at ``inner``, relative to the folder of submissions; no name if it has none."""
    in_folder = len(inner.parts) > 1 or is_folder
    name = inner.parts[0] if in_folder else inner.stem
    if owner := _owner_on_platform(name):
        return owner
    if not in_folder:
        named = re.search(re.escape(exercise.name), name, re.IGNORECASE) if exercise else None
        whole = exercise is not None and inner.suffix.lower() in ENDINGS  # any name will do
        name = name[: named.start()] if named else name if whole else ""
    return Owner(name.strip(" _-"))


def _owner_on_platform(name: str) -> Owner | None:
    """Return who handed in a file or folder whose name a learning platform made; None if it is another name."""
    for platform in PLATFORMS:
        if found := platform.match(name):
            return Owner(found["student"].strip(), found["id"] or "")
    return None


def _is_online_text(each: _Seen) -> bool:
    return each.inner.name.endswith(ONLINE_TEXT) and "_assignsubmission_onlinetext" in each.inner.parts[0]


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


# -- folders of several students --------------------------------------------------------------------------------------


def _refuse_outer_folder(folder: Path, seen: Sequence[_Seen]) -> None:
    """Raise a ValueError if a folder that would count as one student's holds those of several."""
    by_platform = _folders_of_platform(seen)
    for outer, names in by_platform or _single_folder(seen):
        path = folder / outer
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        what_else = "" if by_platform else f". If {outer} is a student, move the files out of its subfolders"
        if len(by_platform) > 1:
            what_else = f", and so the other {len(by_platform) - 1} such folders, each with an --out of its own"
        raise ValueError(
            f"{shown} would count as one student, but holds what several have handed in, such as {names[0]!r}; "
            f"grade that folder: rankgym exercise grade {shlex.quote(str(shown))}{what_else}"
        )


def _folders_of_platform(seen: Sequence[_Seen]) -> list[tuple[Path, list[str]]]:
    """Return folders with students' folders or files as a platform names them, and these names.

    A single file does not count: it may lie in its student's folder.
    """
    folders: dict[Path, list[str]] = defaultdict(list)
    files: dict[Path, list[str]] = defaultdict(list)
    for each in seen:
        parts = each.inner.parts
        depth = next((number for number, part in enumerate(parts) if _owner_on_platform(part)), 0)
        if depth and each.path.suffix.lower() in ENDINGS:
            (folders if depth < len(parts) - 1 else files)[Path(*parts[:depth])].append(parts[depth])
    for outer, names in files.items():
        if outer in folders or len({_owner_on_platform(name) for name in names}) > 1:
            folders[outer] += names
    return sorted(folders.items())


def _single_folder(seen: Sequence[_Seen]) -> list[tuple[Path, list[str]]]:
    """Return the only folder in which anything was handed in, if it holds several students', and their names.

    That is so if several of its subfolders have files of the same exercise, or if several names stand before the
    exercise's.
    """
    outer = Path()
    while True:
        inside = [(each, each.inner.relative_to(outer)) for each in seen if each.inner.is_relative_to(outer)]
        students, loose = defaultdict(set), False
        for each, inner in inside:
            if each.exercise and not each.why_not:
                named = len(inner.parts) > 1 or each.exercise.name.lower() in inner.stem.lower()
                students[each.exercise.name].add(_owner(inner, each.exercise).name if named else "")
                loose = loose or len(inner.parts) == 1
        names = sorted(max(students.values(), key=len, default=set()) - {""})
        if outer.parts and len(names) > 1:
            return [(outer, names)]
        kinds = (*ENDINGS, *ARCHIVES)
        folders = {
            inner.parts[0] for each, inner in inside if len(inner.parts) > 1 and each.path.suffix.lower() in kinds
        }
        if loose or len(folders) != 1:
            return []
        outer /= folders.pop()
        if _owner_on_platform(outer.name):
            return []


# -- several files of one student -------------------------------------------------------------------------------------


def _choose(files: Sequence[_Seen]) -> tuple[_Seen, list[tuple[_Seen, str]]]:
    """Return which of a student's files of one exercise is graded, and the others with the reason why they are not."""
    nothing, left, saved = {}, {}, {}
    for each in files:
        assert each.exercise is not None
        nothing[each.path] = nothing_done(each.path, each.exercise)
        left[each.path] = _unwritten(each.path, each.exercise)
        saved[each.path] = each.path.stat().st_mtime_ns
    filled = [each for each in files if not nothing[each.path]] or files
    last = max(saved[each.path] for each in filled)
    latest = [each for each in filled if last - saved[each.path] < SAME_TIME]
    chosen = max(latest, key=lambda each: (-left[each.path], _copy_number(each.path), each.path.name))
    others = []
    for each in files:
        if each not in filled:
            why = nothing[each.path]
        elif each not in latest:
            why = "saved earlier"
        else:
            why = "less is filled in" if left[each.path] > left[chosen.path] else "saved at the same time"
        if each != chosen:
            others.append((each, why))
    return chosen, others


def _copy_number(path: Path) -> int:
    copy = COPY.search(path.stem)
    return next((int(text[:9]) for text in copy.groups() if text), 0) if copy else 0


def filled_in(file: Path, exercise: Exercise) -> bool:
    """Whether something that is checked is defined, and fewer functions are unwritten than in the handout."""
    return not nothing_done(file, exercise)


def nothing_done(file: Path, exercise: Exercise) -> str:
    """Return why a file can get no points, as far as its text tells; "" if something is filled in."""
    try:
        content, handout = read(file), exercise.handout.read_bytes()
    except OSError:
        return ""
    if not any(_defines(content, check.of) for check in exercise.checks):
        return "nothing that is checked is defined"
    untouched = 0 < len(UNWRITTEN.findall(handout)) <= len(UNWRITTEN.findall(content))
    return "nothing is filled in" if untouched else ""


def _unwritten(file: Path, exercise: Exercise) -> int:
    """Return how many functions and classes are still to be written; 0 if the file cannot be read."""
    try:
        content = read(file)
    except OSError:
        return 0
    missing = [name for name in {check.of for check in exercise.checks} if not _defines(content, name)]
    return len(missing) + len(UNWRITTEN.findall(content))


def _defines(content: bytes, name: str) -> bool:
    """Whether a script or notebook defines a function or class; a notebook's text may have ``\\n`` for line ends."""
    return re.search(rf"(?:\b|\\n)(?:def|class)\s+{re.escape(name)}\b".encode(), content) is not None


def _not_graded(files: Sequence[tuple[_Seen, str]]) -> str:
    """Return a remark that names a student's other files and why they are not graded; "" if there are none."""
    by_reason = defaultdict(list)
    for each, why in files[:MOST_NAMED]:
        by_reason[why].append(str(each.inner))
    reasons = [f"{', '.join(names)}: {why}" for why, names in by_reason.items()]
    more = [f"{len(files) - MOST_NAMED} more"] if len(files) > MOST_NAMED else []
    return f"not graded: {'; '.join([*reasons, *more])}" if files else ""


def read(file: Path) -> bytes:
    """Read a submission; of a file that is too large only so much that this is seen."""
    with file.open("rb") as opened:
        return opened.read(LARGEST_READ)
