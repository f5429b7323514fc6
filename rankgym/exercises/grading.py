"""Grade a class: find what was handed in, check each submission in a process of its own, keep what is finished.

A submission is checked by the command ``rankgym exercise check``, which starts the submission's own process in turn. So
whatever a submission or a check does, even a crash of the checker, concerns that submission alone.
"""

import contextlib
import hashlib
import json
import os
import platform
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from rankgym.exercises.checking import broken_check
from rankgym.exercises.exercise import Exercise
from rankgym.exercises.finding import find_exercise
from rankgym.exercises.handed_in import MOST_NAMED, NO_EXERCISE, HandedIn, LeftOut, collect, read
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable
from rankgym.submissions import DEFAULT_LIMITS, Limits, Submission
from rankgym.version import __version__

START_UP = 60.0  # seconds that a check may take beyond the submission's time
RECORDS = "records"  # folder of finished submissions
SETTINGS = "grading.json"
FAILED_ITSELF = " failed itself: "  # between a check's name and its fault
REPORT_KEYS = {"title", "points", "out_of", "checks", "output", "output_length", "picture", "seconds"}


class Grade(NamedTuple):
    """What one submission got. ``report`` is ``Report.as_json()``, or None where ``error`` says why there is none."""

    student: str
    exercise: str  # name
    title: str
    out_of: int
    file: str
    report: dict[str, Any] | None
    error: str = ""
    final: bool = True  # whether a second try would say the same
    remark: str = ""
    matched: bool = True  # False: no file of the student can be graded; ``exercise`` is "" if the class has several
    id: str = ""  # of the learning platform
    path: str = ""  # of the file, relative to the folder of submissions

    @property
    def points(self) -> int | None:
        """Points; 0 if the file cannot be read as a submission, None if it could not be graded."""
        if self.report is not None:
            return int(self.report["points"])
        return 0 if self.final else None

    @property
    def failed(self) -> list[str]:
        """Names of the checks that failed."""
        return [check["name"] for check in self.report["checks"] if check["fault"]] if self.report else []

    @property
    def cause(self) -> str:
        """The error without what differs from student to student: of a check that failed itself only its name."""
        return self.error.partition(FAILED_ITSELF)[0]


class Graded(NamedTuple):
    """A class."""

    grades: list[Grade]  # by student and exercise
    left_out: list[LeftOut]
    exercises: dict[str, Exercise]  # those that something was handed in for, by name
    seed: int
    limits: Limits
    isolated: bool  # whether submissions had namespaces of their own
    new: int  # submissions that were checked now and have points
    date: str = ""  # of grading


class Settings(NamedTuple):
    """What all submissions of a class have in common."""

    seed: int
    limits: Limits
    hidden: tuple[Path, ...]
    key: str | None  # what --exercise says


def grade_class(
    submissions: str | os.PathLike[str],
    feedback: str | os.PathLike[str],
    *,
    exercise: str | None = None,
    seed: int | None = None,
    jobs: int = 1,
    limits: Limits = DEFAULT_LIMITS,
    hidden: Sequence[str | os.PathLike[str]] = (),
    skip: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], None] = lambda text: None,
) -> Graded:
    """Check everything that was handed in.

    Args:
        submissions: folder; ``handed_in.collect`` says how its files are matched with students and exercises.
        feedback: folder for what is kept: a record of each finished submission, and the settings. A submission whose
            record was made from the same file, exercise, seed and limits, and with the same version, is not checked
            again. It belongs to one folder of submissions.
        exercise: as ``find_exercise`` takes it, if all files are of one; else the files' names say it.
        seed: of the cases. By default it is drawn when a class is first graded, so that nobody can know the cases.
        jobs: submissions that are checked at the same time.
        limits: of each submission; ``kept_limits`` returns those of the last grading.
        hidden: further folders that no submission must see.
        skip: files in the folder of submissions that are none.
        progress: called with the numbers of finished submissions and of all.
        say: called with a sentence if kept settings are changed, or if students of the last grading are gone.

    Raises:
        ValueError: nothing can be graded, an argument is out of range, a folder holds several students' folders, or
            ``feedback`` belongs to another folder of submissions.
        OSError: a folder cannot be read or written.
        RuntimeError: submissions cannot be started here.
        KeyboardInterrupt: with a note that says how many are finished.
    """
    folder, kept = Path(submissions).resolve(), Path(feedback).resolve()
    if not folder.is_dir():
        raise ValueError(
            f"{os.fspath(submissions)} is not a folder; allowed: a folder of submissions (unpack an archive first)"
        )
    if jobs < 1:
        raise ValueError(f"jobs = {jobs} is out of range; allowed: 1 or more")
    if folder == kept:
        raise ValueError(f"{os.fspath(feedback)} is the folder of submissions; choose another one")
    one = None if exercise is None else find_exercise(exercise)
    found, left_out = collect(folder, one, skip=(kept, *(Path(path).resolve() for path in skip)))
    if not found:
        raise ValueError(f"nothing in {os.fspath(submissions)} can be graded{_why_nothing(left_out)}")
    check_writable(feedback, kept / RECORDS)
    checker = () if exercise is None or not exercise.endswith(".py") else (Path(exercise).resolve().parent,)
    everywhere = (folder, kept, *checker, *(Path(path).resolve() for path in hidden))
    students = sorted({*(each.student for each in found), *(one.student for one in left_out)} - {""})
    settings = Settings(_keep_settings(kept, folder, students, seed, limits, say), limits, everywhere, exercise)
    isolated = _try_out(limits)
    grades, new = _check_all(found, kept / RECORDS, settings, jobs, progress)
    exercises = {each.exercise.name: each.exercise for each in sorted(found, key=lambda each: each.exercise.name)}
    grades += _without_file(found, left_out, list(exercises.values()))
    grades.sort(key=lambda grade: (grade.student.casefold(), grade.student, grade.exercise))
    date = time.strftime("%Y-%m-%d %H:%M")
    return Graded(grades, left_out, exercises, settings.seed, limits, isolated, new, date)


def _why_nothing(left_out: Sequence[LeftOut]) -> str:
    """Return the end of a sentence: why nothing can be graded."""
    unnamed = [one for one in left_out if one.why == NO_EXERCISE]
    if unnamed:
        return f": {unnamed[0].file}: {NO_EXERCISE}; if all files are of one exercise, add --exercise"
    return f": {left_out[0].file}: {left_out[0].why}" if left_out else ""


def kept_limits(feedback: str | os.PathLike[str]) -> Limits:
    """Return the time limit and memory that a class was last graded with; the default ones for a new class."""
    kept = _kept_settings(Path(feedback))
    seconds, memory_gb = _number(kept.get("time limit")), _number(kept.get("memory"))
    return DEFAULT_LIMITS._replace(
        seconds=seconds or DEFAULT_LIMITS.seconds, memory_gb=memory_gb or DEFAULT_LIMITS.memory_gb
    )


def _number(kept: object) -> float | None:
    """Return the number of a text such as "120 s"; None if there is none that is allowed."""
    number = 0.0
    with contextlib.suppress(ValueError):
        number = float(str(kept).partition(" ")[0])
    return number if 0 < number < 1e6 else None


def _kept_settings(folder: Path) -> dict[str, Any]:
    """Return what ``_keep_settings`` has written; empty if there is nothing, or nothing whole."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return dict(json.loads((folder / SETTINGS).read_text(encoding="utf-8")))
    return {}


def _keep_settings(
    folder: Path,
    submissions: Path,
    students: Sequence[str],
    seed: int | None,
    limits: Limits,
    say: Callable[[str], None],
) -> int:
    """Keep the class's settings in ``folder``; return the seed, which is the kept one if ``seed`` is None.

    ``submissions`` is kept relative to ``folder``, so that both can be moved together.
    """
    kept = _kept_settings(folder)
    if seed is None:
        known = kept.get("seed")
        seed = known if type(known) is int else secrets.randbits(48)
    if seed < 0:
        raise ValueError(f"seed = {seed} is out of range; allowed: 0 or more")
    limited = {"time limit": f"{limits.seconds:.15g} s", "memory": f"{limits.memory_gb:.15g} GB"}
    now = {"seed": seed, **limited, "rankgym": __version__, "Python": platform.python_version()}
    _check_same_class(folder, submissions, kept.get("submissions"))
    changed = [f"{name} {now[name]} instead of {kept[name]}" for name in now if kept.get(name, now[name]) != now[name]]
    if changed:
        say(f"the settings have changed ({'; '.join(changed)}): all submissions are checked again")
    known_students = kept.get("students")
    gone = sorted({str(one) for one in known_students} - {*students}) if isinstance(known_students, list) else []
    if gone:
        say(f"no longer among the submissions, and so not in the table of grades: {', '.join(gone)}")
    whose = {"submissions": Path(os.path.relpath(submissions, folder)).as_posix(), "students": students}
    with atomic_path(folder / SETTINGS) as path:
        path.write_text(json.dumps({**now, **whose}), encoding="utf-8")
    return seed


def _check_same_class(folder: Path, submissions: Path, kept: object) -> None:
    """Raise a ValueError if the feedback in ``folder`` is of another folder of submissions; "" or None: of none yet."""
    if not isinstance(kept, str) or not kept:
        return
    known = Path(os.path.normpath(folder / kept))
    if known != submissions:
        renamed = "" if known.is_dir() else f'; if it was renamed, change "submissions" in {folder / SETTINGS}'
        raise ValueError(
            f"the grades in {folder} are of the submissions in {known}, not of {submissions}: put late submissions "
            f"into the same folder; for another class or exercise choose another --out{renamed}"
        )


def _without_file(found: Sequence[HandedIn], left_out: Sequence[LeftOut], exercises: Sequence[Exercise]) -> list[Grade]:
    """Return a grade without points for each student who handed in only files that are left out."""
    graded = {"", *(each.student for each in found)}
    files = sorted((one for one in left_out if one.student not in graded), key=lambda one: one.student)
    only = exercises[0] if len(exercises) == 1 else None
    name, title, out_of = (only.name, only.title, only.points) if only else ("", "", 0)
    grades = []
    for student, group in groupby(files, key=lambda one: one.student):
        mine = list(group)
        names = [f"{one.file}: {one.why}" for one in mine]
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        why = f"no file can be graded ({'; '.join([*names[:MOST_NAMED], *more])})"
        number = next((one.id for one in mine if one.id), "")
        grades.append(Grade(student, name, title, out_of, "", None, why, final=False, matched=False, id=number))
    return grades


def _try_out(limits: Limits) -> bool:
    """Start a process as submissions get it; return whether it has namespaces. Raises RuntimeError."""
    require("psutil", "teaching")
    with Submission("", limits=limits) as nobody:
        nobody.load()
        return nobody.isolated


# -- all submissions --------------------------------------------------------------------------------------------------


def _check_all(
    found: Sequence[HandedIn], records: Path, settings: Settings, jobs: int, progress: Callable[[int, int], None]
) -> tuple[list[Grade], int]:
    """Return the grades in the order of ``found``, and the number of submissions that were checked now with success."""
    grades: dict[HandedIn, Grade] = {}
    to_do = []
    for each in found:
        try:
            content = read(each.file)
        except OSError as error:
            grades[each] = _grade(each, None, f"cannot be read: {error.strerror}", False)
            continue
        digest = _digest(each, content, settings)
        kept = _kept(_record(records, each), digest)
        if kept is None:
            to_do.append((each, content, digest))
        else:
            grades[each] = _grade(each, kept["report"], kept["error"], True)
    progress(len(grades), len(found))
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(_check_one, *work, records, settings, stop): work[0] for work in to_do}
        try:
            for future in as_completed(futures):
                grades[futures[future]] = future.result()
                progress(len(grades), len(found))
        except KeyboardInterrupt as interruption:
            interruption.add_note(f"{len(grades)} of {len(found)} submissions are graded; the same command continues")
            raise
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    return [grades[each] for each in found], sum(grades[each].points is not None for each, *_ in to_do)


def _record(records: Path, each: HandedIn) -> Path:
    return records / f"{file_name(each.student)}_{file_name(each.exercise.name)}.json"


def _digest(each: HandedIn, content: bytes, settings: Settings) -> str:
    """Return a digest of everything that decides a grade."""
    checker = Path(settings.key).read_bytes() if settings.key and settings.key.endswith(".py") else b""
    decides = [each.file.name, each.exercise.name, settings.seed, *settings.limits, __version__]
    decides += [platform.python_version(), hashlib.sha256(checker).hexdigest()]
    return hashlib.sha256(json.dumps(decides).encode() + b"\n" + content).hexdigest()


def _kept(record: Path, digest: str) -> dict[str, Any] | None:
    """Return what is kept of a submission; None if nothing is, or of another file or other settings."""
    try:
        kept = json.loads(record.read_text(encoding="utf-8"))
        report = kept["report"]
        whole = kept["digest"] == digest and isinstance(kept["error"], str)
        return kept if whole and (report is None or report.keys() >= REPORT_KEYS) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _grade(each: HandedIn, report: dict[str, Any] | None, error: str, final: bool) -> Grade:
    """Return the grade of a submission; one without any points is told if nothing is filled in."""
    meant = each.exercise
    grade = Grade(each.student, meant.name, meant.title, meant.points, each.file.name, report, error, final)
    nothing = each.nothing if report and not grade.points else ""
    return grade._replace(remark="; ".join(filter(None, (nothing, each.remark))), id=each.id, path=each.inner)


def _check_one(
    each: HandedIn, content: bytes, digest: str, records: Path, settings: Settings, stop: threading.Event
) -> Grade:
    """Check a submission, and keep its record if a second try would say the same."""
    report, error, final = None, "interrupted", False
    if not stop.is_set():
        try:
            report, error, final = _checked(each, content, settings, stop)
        except OSError as failure:  # of this machine: no room, no processes
            error = str(failure)
    if final:
        with atomic_path(_record(records, each)) as path:
            path.write_text(json.dumps({"digest": digest, "report": report, "error": error}), encoding="utf-8")
    return _grade(each, report, error, final)


def _checked(
    each: HandedIn, content: bytes, settings: Settings, stop: threading.Event
) -> tuple[dict[str, Any] | None, str, bool]:
    """Run ``rankgym exercise check`` on a copy; return its report, or why there is none and whether that is final."""
    seconds = settings.limits.seconds + START_UP
    with tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder:
        name = each.file.with_suffix(each.file.suffix.lower()).name  # as ``read_submission`` takes it
        copy, answer = Path(folder) / name, Path(folder) / ".report.json"
        copy.write_bytes(content)
        command = [sys.executable, "-m", "rankgym", "exercise", "check", str(copy)]
        command += ["--exercise", settings.key or each.exercise.name, "--json", str(answer)]
        command += ["--seed", str(settings.seed), "--time-limit", repr(settings.limits.seconds)]
        command += ["--memory", repr(settings.limits.memory_gb)]
        command += [word for path in settings.hidden for word in ("--hide", str(path))]
        code, said = _run(command, seconds, stop)
        if code is None:
            return None, f"its check did not end within {seconds:g} s", False
        try:
            report = json.loads(answer.read_text(encoding="utf-8"))
            for one in report["checks"]:  # a mistake of the check's author costs nobody points
                if one["fault"] and one["fault"]["call"] == broken_check(one["name"]):
                    return None, f"the check {one['name']}{FAILED_ITSELF}{one['fault']['got']}", False
            return report, "", True
        except (OSError, ValueError, KeyError, TypeError):
            last = (said.strip().splitlines() or [f"exit code {code}"])[-1].removeprefix("error: ")
            return None, last[:500].replace(str(copy), copy.name), code == 2


def _run(command: list[str], seconds: float, stop: threading.Event) -> tuple[int | None, str]:
    """Run a command; return its exit code, None if it was ended, and what it said on standard error."""
    environment = {**os.environ, "COLUMNS": "100", "RANKGYM_DEBUG": "0"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process, which ends the others
        )
        ended = False
        for _ in range(int(seconds * 5) + 1):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                ended = True
            if ended or stop.is_set():
                break
        if not ended:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its submission ends with it
            process.wait()
        said.seek(0)
        return process.returncode if ended else None, said.read(1 << 20).decode("utf-8", "replace")


def file_name(text: str) -> str:
    """Return a file's name: ``text`` itself if it is plain, else a likeness with a digest. No two texts share one."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in text)
    if plain == text == text.lower() and 0 < len(text) <= 60:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain[:40].strip('_-') or 'student'}-{digest[:10]}"
