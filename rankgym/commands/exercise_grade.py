"""``rankgym exercise grade``: a class's submissions; pages of feedback, and a table of grades."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands.errors import complain
from rankgym.commands.exercise import limits_of
from rankgym.commands.options import option
from rankgym.commands.tables import show_table
from rankgym.outputs import check_writable

if TYPE_CHECKING:
    from rankgym.exercises.grading import Graded

MOST_LEFT_OUT = 10  # files that are listed in the terminal
NOTHING_GRADED = 2  # exit code

ClassTimeLimit = Annotated[
    float | None,
    option(
        "SECONDS",
        "Time for all checks of a submission; a call may take a tenth of it. Default: 120 for a new class, then that "
        "of the last grading.",
    ),
]
ClassMemory = Annotated[
    float | None, option("GB", "Memory of a submission. Default: 2 for a new class, then that of the last grading.")
]


def grade(
    submissions: Annotated[Path, typer.Argument(metavar="SUBMISSIONS", help="Folder with what was handed in.")],
    out: Annotated[Path, option("FILE.csv", "The table of grades.")] = Path("grades.csv"),
    feedback: Annotated[
        Path | None,
        option("DIR", "Folder of the pages and of what is kept. Default: `grades_feedback` beside FILE."),
    ] = None,
    exercise: Annotated[
        str | None,
        option("N|NAME|CHECKER.py", "The exercise of all files. Default: the one that a file's name contains."),
    ] = None,
    jobs: Annotated[int, option("J", "Submissions that are checked at the same time.")] = 1,
    time_limit: ClassTimeLimit = None,
    memory: ClassMemory = None,
    seed: Annotated[
        int | None,
        option("S", "Of the cases that are tried. Default: drawn once for the class, and kept. Replaces the kept one."),
    ] = None,
) -> None:
    """Grade a class: a table of grades, a page of feedback for each student, and a page for the class.

    Which file is whose:

    * A file in a folder belongs to the student after whom that folder is named: `alice/01_click_models.py`.
    * A file in no folder begins with the student's name: `alice_01_click_models.ipynb`.
    * What Moodle and Canvas make of these names is understood, such as
      `Alice Smith_12345_assignsubmission_file_01_click_models.py`.

    A file's name contains the exercise's, perhaps with more behind it: `01_click_models (1).py`,
    `01_click_models_final.py`; but not `_old`, `_backup` or `_bak`. With `--exercise` all files are of that exercise
    and may have any name. Of several files of a student and an exercise the one that was saved last is graded (of files
    of the same time the one in which most is filled in); one in which nothing is filled in gives way to another. Files
    that cannot be matched are listed, here and on the class's page; a student who handed in nothing else gets a line
    without points.

    Students of the same name are told apart by the platform's numbers, as `Alice Smith (12345)`.

    Each submission is played in a process of its own, which is only sent what it is asked to compute. Its time, memory,
    processes and files are limited. Endless loops, crashes, prompts and prints cost that student the points of the
    checks that they spoil, and nobody else anything.

    The cases are drawn from a seed that nobody knows before the class is graded; it is kept in the folder of feedback.
    After Ctrl-C, or when late submissions have been put into the same folder, the same command continues: it checks
    only what is new or changed. Seed, time limit and memory are kept; with others all submissions are checked again.

    The exit code is 0 if the class is graded, whatever the points, and 2 if nothing can be graded.

    Every run writes these anew: `grades.csv`; in the folder of feedback `class.html`, which shows what the class found
    hard, and a page in `students` for each student, a single file to send.

    Examples:

    * `rankgym exercise grade handed_in --out grades.csv --jobs 2`
    * An exercise of your own: `rankgym exercise grade handed_in --exercise checker.py --out grades.csv`
    * What three hundred students handed in for exercise 3, in a hurry:
      `rankgym exercise grade handed_in --exercise 3 --jobs 8 --time-limit 60`
    """
    from rankgym.exercises.feedback import CLASS_PAGE, write_feedback
    from rankgym.exercises.grading import grade_class, kept_limits

    folder = feedback or out.with_name(f"{out.stem}_feedback")
    if out.suffix != ".csv":
        raise ValueError(f"--out {out} is not a CSV file; allowed: a name such as grades.csv")
    if jobs < 1:
        raise ValueError(f"--jobs {jobs} is out of range; allowed: 1 or more")
    check_writable(out, out.parent)
    kept = kept_limits(folder)
    limits = limits_of(kept.seconds if time_limit is None else time_limit, kept.memory_gb if memory is None else memory)
    with _Bar() as bar:
        graded = grade_class(
            submissions,
            folder,
            exercise=exercise,
            seed=seed,
            jobs=jobs,
            limits=limits,
            hidden=[out.resolve().parent],
            skip=[out],
            progress=bar.show,
            say=complain,
        )
    some_graded = any(grade.points is not None for grade in graded.grades)
    if some_graded:
        write_feedback(graded, folder.resolve(), out.resolve())
    _show(graded)
    if not some_graded:
        complain("error: no submission could be graded; the table of grades and the pages were not written")
        raise typer.Exit(NOTHING_GRADED)
    typer.echo(f"{_counts(graded)}. Grades: {out}; pages: {folder / CLASS_PAGE}")


def _counts(graded: "Graded") -> str:
    """Return how many submissions were checked, are unchanged, and could not be graded."""
    from rankgym.exercises.feedback import count

    with_points = sum(grade.points is not None for grade in graded.grades)
    unchanged, not_graded = with_points - graded.new, sum(grade.matched for grade in graded.grades) - with_points
    counts = [f"{count(graded.new, 'submission')} checked"]
    counts += [f"{unchanged:,} unchanged"] if unchanged else []
    counts += [f"{not_graded:,} not graded"] if not_graded else []
    return ", ".join(counts)


class _Bar:
    """Context manager: a progress bar of submissions, on standard error."""

    def __enter__(self) -> "_Bar":
        from rankgym.progress import count_bar

        self.bar: Any = count_bar("submissions")
        self.task = self.bar.add_task("grading", total=None)
        self.bar.start()
        return self

    def show(self, done: int, total: int) -> None:
        self.bar.update(self.task, completed=done, total=total)

    def __exit__(self, *_: Any) -> None:
        self.bar.stop()


def _show(graded: "Graded") -> None:
    """Print a line for each exercise, and what needs the teacher's attention."""
    from rankgym.exercises.feedback import by_cause
    from rankgym.exercises.handed_in import MOST_NAMED

    rows = []
    for name, exercise in graded.exercises.items():
        points = [grade.points for grade in graded.grades if grade.exercise == name and grade.points is not None]
        mean = f"{sum(points) / len(points):.1f}" if points else "-"
        full = sum(one == exercise.points for one in points)
        rows.append((name, f"{len(points)}", f"{mean} of {exercise.points}", f"{full}"))
    show_table(("exercise", "graded", "mean", "full points"), rows, labels=1)
    for group in by_cause(grade for grade in graded.grades if grade.points is None):
        names = [", ".join(filter(None, (grade.student, grade.file))) for grade in group[:MOST_NAMED]]
        more = [f"{len(group) - MOST_NAMED} more"] if len(group) > MOST_NAMED else []
        complain(f"not graded: {'; '.join([*names, *more])}: {group[0].error}")
    without = {grade.student for grade in graded.grades if not grade.matched}  # whose files are named above
    left_out = [one for one in graded.left_out if one.student not in without]
    for one in left_out[:MOST_LEFT_OUT]:
        complain(f"left out: {one.file}: {one.why}")
    if len(left_out) > MOST_LEFT_OUT:
        complain(f"left out: {len(left_out) - MOST_LEFT_OUT} more files; see the class's page")
    if not graded.isolated:
        complain(
            "this system gives submissions no namespaces: they could read this user's files; "
            "grade in a container, or as a user made for that"
        )
