"""``rankgym exercise``: exercises that check themselves."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands.errors import OneLineErrors
from rankgym.commands.options import option
from rankgym.commands.tables import show_table
from rankgym.extras import require
from rankgym.outputs import atomic_path
from rankgym.progress import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgym.exercises import Check, Exercise
    from rankgym.exercises.checking import Outcome, Report

FAILED = 1  # exit code: a check failed
FIRST_LINES = 10  # of what a submission printed
SECTION = re.compile(r"(\d+)\.[\d.]+")  # of a handout, such as 1.3
UNWRITTEN = "not written yet"  # what a function that still raises NotImplementedError gives

app = typer.Typer(cls=OneLineErrors, no_args_is_help=True, rich_markup_mode="markdown")

Exercised = Annotated[
    str | None,
    option(
        "N|NAME|CHECKER.py",
        "The exercise. Default: the one that FILE's name ends with. Your own: a Python file with `EXERCISE`.",
    ),
]
TimeLimit = Annotated[float, option("SECONDS", "Time for all checks of a submission; a call may take a tenth of it.")]
Memory = Annotated[float, option("GB", "Memory of a submission.")]


@app.callback()
def exercise() -> None:
    """Exercises for a course: handouts to fill in, checks with points and hints, and grades for a class.

    Begin with `rankgym exercise start 1`, fill in the file, and run `rankgym exercise check`.
    """


@app.command("list")
def list_() -> None:
    """List the exercises and their points."""
    from rankgym.exercises.topics.table import EXERCISES

    rows = [
        (str(number), exercise.title, exercise.handout.name, f"{len(exercise.checks)}", f"{exercise.points}")
        for number, exercise in EXERCISES.items()
    ]
    show_table(("", "exercise", "file", "checks", "points"), rows, labels=3)
    typer.echo("rankgym exercise start N copies the handout of one into this folder.")


@app.command()
def start(
    number: Annotated[
        str, typer.Argument(metavar="N", help="A number from `rankgym exercise list`, or your own checker file.")
    ],
    to: Annotated[Path, option("DIR", "Folder to put it in.")] = Path(),
) -> None:
    """Copy an exercise's handout and its picture here.

    There is a script and a notebook with the same text: work on one of them.
    """
    from rankgym.exercises import handouts
    from rankgym.exercises.finding import find_exercise

    found = find_exercise(number)
    for file in handouts.start(found, to):
        typer.echo(str(file))
    name = to / found.handout.name
    own = f" --exercise {number}" if number.endswith(".py") else ""
    typer.echo(f"Fill in the functions of one of them, and check it: rankgym exercise check {name}{own}")


@app.command()
def check(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A script or notebook. Default: the filled-in one in this folder that was saved last.",
        ),
    ] = None,
    exercise: Exercised = None,
    json_file: Annotated[
        Path | None, option("FILE", "Write the report as JSON, too; - for standard output.", "--json")
    ] = None,
    picture: Annotated[
        bool,
        typer.Option(help="Draw what passed, into a file beside FILE: `..._yours.svg`; with --json into the JSON."),
    ] = True,
    seed: Annotated[int, option("S", "Of the cases that are tried.")] = 0,
    time_limit: TimeLimit = 120.0,
    memory: Memory = 2.0,
    hide: Annotated[
        list[Path] | None, option("DIR", "A folder that the submission must not see; may be repeated.")
    ] = None,
) -> None:
    """Check a filled-in handout: which functions are right, and of the others the smallest case that is wrong.

    The file runs in a process of its own, whose time and memory are limited.

    The exit code is 0 if all checks passed, 1 if one failed, and 2 if the file or an option is not usable.

    Example: `rankgym exercise check 01_click_models.py`
    """
    from rankgym.exercises.checking import check_file

    file = file or _last_handout(exercise)
    found = _exercise_of(file, exercise)
    require("psutil", "teaching")
    with working(f"checking {file.name}"):
        report = check_file(
            found, file, seed=seed, limits=limits_of(time_limit, memory), hidden=hide or (), picture=picture
        )
    text = json.dumps(report.as_json(), indent=1)
    if str(json_file) == "-":
        typer.echo(text)
    else:
        if json_file is not None:
            with atomic_path(json_file) as path:
                path.write_text(text, encoding="utf-8")
        show_report(report, exercise or found.name[:2].lstrip("0"))
        drawn = file.with_name(f"{file.stem}_yours.svg")
        if picture and json_file is None and not report.picture and drawn.exists():
            typer.echo(f"{drawn} is of an earlier version of your file: too little passes now for a picture")
        if report.picture and json_file is None:
            drawn.write_text(report.picture, encoding="utf-8")
            typer.echo(f"A picture, drawn by running your code: {drawn}")
        if report.no_picture:
            typer.echo(f"No picture: {report.no_picture}")
    if any(outcome.fault for outcome in report.outcomes):
        raise typer.Exit(FAILED)


@app.command()
def hint(
    number: Annotated[
        str,
        typer.Argument(
            metavar="N", help="A number from `rankgym exercise list`, or your own checker file; a section: 1.3."
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="[CHECK]", help="The check, the function that it is about, or the handout's section."),
    ] = None,
    level: Annotated[int, option("L", "1 is the mildest hint.", "--level", "-l")] = 1,
) -> None:
    """Help with a check, in levels: the first hint asks, the last one nearly tells.

    Examples:

    * `rankgym exercise hint 1.3`: the section of the handout
    * `rankgym exercise hint 1 cascade_clicks --level 2`
    """
    from rankgym.exercises.finding import find_exercise
    from rankgym.exercises.handouts import sections

    if name is None and (section := SECTION.fullmatch(number)):
        number, name = section[1], number
    found = find_exercise(number)
    places = sections(found)
    asked = f"rankgym exercise hint {number}"
    if name is None:
        for check in found.checks:
            about = " ".join([*(place for place, names in places.items() if check.of in names), check.of])
            typer.echo(f"{check.name} ({about}, {len(check.hints)} hints)")
        typer.echo(f"{asked} CHECK shows the first hint; --level 2 the next one.")
        return
    meant = [check for check in found.checks if name in (check.name, check.of) or check.of in places.get(name, ())]
    if not meant:
        names = ", ".join(check.name for check in found.checks)
        numbers = f"; or a section: {', '.join(places)}" if places else ""
        raise ValueError(f"check = {name!r} is not in exercise {found.name}; allowed: {names}{numbers}")
    _show_hints(meant, level, asked)


def _show_hints(checks: "Sequence[Check]", level: int, asked: str) -> None:
    """Print the hints of one level."""
    most = max(len(check.hints) for check in checks)
    if not 1 <= level <= most:
        names = ", ".join(check.name for check in checks)
        raise ValueError(f"--level {level} is out of range for {names}; allowed: 1 .. {most}")
    for check in checks:
        if level > len(check.hints):
            continue
        typer.echo(f"{check.name}: {check.hints[level - 1]}")
        if level < len(check.hints):
            typer.echo(f"More: {asked} {check.name} --level {level + 1}")


def limits_of(time_limit: float, memory: float) -> Any:
    """Return the limits of --time-limit and --memory."""
    from rankgym.submissions import Limits

    for name, value in (("--time-limit", time_limit), ("--memory", memory)):
        if not 0 < value < 1e6:
            raise ValueError(f"{name} {value:g} is out of range; allowed: more than 0, less than 1,000,000")
    return Limits(seconds=time_limit, call_seconds=max(time_limit / 10, 1.0), memory_gb=memory)


def _last_handout(text: str | None) -> Path:
    """Return the submission in this folder that was saved last, of those that are filled in if there are any.

    Its name has that of the exercise of --exercise, or of any exercise if ``text`` is None.
    """
    from rankgym.exercises.finding import around_name, exercise_of_file, find_exercise
    from rankgym.exercises.handed_in import filled_in

    asked = None if text is None else find_exercise(text)
    here = []
    for path in Path().iterdir():
        found = exercise_of_file(path) if asked is None else asked
        if path.suffix in (".py", ".ipynb") and found and around_name(path.stem, found.name) is not None:
            here.append((path, found))
    if not here:
        raise ValueError(f"there is no handout here; begin with: rankgym exercise start {text or 1}")
    saved = {path: path.stat().st_mtime if filled_in(path, found) else 0.0 for path, found in here}
    return max(saved, key=lambda path: (saved[path], path.suffix))


def _exercise_of(file: Path, text: str | None) -> "Exercise":
    """Return the exercise of --exercise, or of the file's name."""
    from rankgym.exercises.finding import exercise_of_file, find_exercise

    found = exercise_of_file(file) if text is None else find_exercise(text)
    if found is None and not file.exists():
        raise FileNotFoundError(2, "No such file", str(file))
    if found is None:
        raise ValueError(f"{file.name} does not name an exercise; rename it, or add --exercise N")
    return found


def show_report(report: "Report", number: str) -> None:
    """Print a report: each check, the counterexamples of those that failed, and the points. ``number`` as in `hint`."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(f"{report.file}: {report.exercise.title}", "bold"))
    shown: list[object] = []
    for outcome in report.outcomes:
        passed = outcome.fault is None
        line = Text.assemble(("✓ " if passed else "✗ ", "green" if passed else "red"), (outcome.check.name, "bold"))
        line.append(f"  {outcome.points} of {outcome.check.points}")
        console.print(line)
        if not passed and outcome.fault not in shown:
            _show_fault(console, outcome)
            shown.append(outcome.fault)  # of a file that cannot be loaded all checks say the same
        elif not passed:
            console.print(Text("    not run, for the same reason", "dim"))
    if report.output:
        _show_output(console, report)
    points = Text(f"{report.points} of {report.exercise.points} points", "bold")
    console.print(points)
    faults = [(outcome.check, outcome.fault) for outcome in report.outcomes if outcome.fault]
    failed = next((check for check, fault in faults if fault.where and fault.got != UNWRITTEN), None)
    if failed is not None and len(failed.hints) > 1:
        typer.echo(f"More help: rankgym exercise hint {number} {failed.name} --level 2")


def _show_output(console: Any, report: "Report") -> None:
    """Print the beginning of what a submission printed."""
    from rich.text import Text

    lines = report.output.rstrip().splitlines()
    cut = f" {len(lines):,} lines; the first {FIRST_LINES}" if len(lines) > FIRST_LINES else ""
    if report.output_length > len(report.output.encode()):
        cut = f" {report.output_length:,} bytes; the beginning"
    console.print(Text(f"It printed{cut}:", "dim"))
    console.print(Text("\n".join(lines[:FIRST_LINES])))
    if len(lines) > FIRST_LINES:
        console.print(Text('To see what a single call prints, make it under if __name__ == "__main__":', "dim"))


def _show_fault(console: Any, outcome: "Outcome") -> None:
    """Print how a check failed."""
    from rich.padding import Padding
    from rich.text import Text

    fault = outcome.fault
    assert fault is not None
    lines = [(outcome.check.statement, "")] if fault.where else []
    if fault.got == UNWRITTEN:
        lines = [(f"{fault.where}: not written yet ({fault.place})", "dim")]
    else:
        lines.append((fault.call, ""))
        if fault.expected:
            lines.append((f"expected  {fault.expected}", ""))
        lines.append((f"{'got       ' if fault.expected else 'failed: '}{fault.got}", "red"))
        if fault.mistake:
            lines.append((f"It looks as if: {fault.mistake}", "yellow"))
        if fault.state:
            lines.append((f"The right values just before, to compare with yours: {fault.state}", ""))
        if fault.begin:
            lines.append((f"Begin with {fault.begin}: used here, and not right yet", "yellow"))
        code = f": {fault.code}" if fault.code else f", {fault.where}" if fault.where else ""
        lines.append((f"{fault.place}{code}", "dim"))
        if outcome.check.hints and fault.where:
            lines.append((f"Hint: {outcome.check.hints[0]}", ""))
    for text, style in lines:
        console.print(Padding(Text(text, style), (0, 0, 0, 4)))
