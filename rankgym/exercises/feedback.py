"""What comes out of grading: a page of feedback for each student, a page for the class, and a table of grades.

Pages are single HTML files without scripts, which need no network; they look like the reports of experiments.
"""

import contextlib
import csv
import hashlib
import io
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from rankgym.exercises.exercise import Check, Exercise
from rankgym.exercises.finding import hints_of
from rankgym.exercises.grading import RECORDS, Grade, Graded, file_name
from rankgym.exercises.handed_in import LeftOut
from rankgym.experiments.show.report import Picture, figure, page
from rankgym.outputs import atomic_path, csv_cell

CLASS_PAGE = "class.html"
STUDENTS = "students"  # folder of their pages
PAGES = "pages.json"  # in the folder of records: the students' pages that were written, with digests
COLUMNS = ("student", "exercise", "points", "out_of", "failed", "seconds", "remark", "page", "id", "file")
UNWRITTEN = "not written yet"
MOST_MISTAKES = 4  # that are listed for each check
LONGEST_REMARK = 300
CAPTION = "Drawn by running your code. Curves whose names begin with “yours” come from it."
NOTHING, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"

CSS = """\
.check { border-left: .25rem solid #bbb; padding: .1rem 0 .1rem .8rem; margin: 1rem 0; }
.check.passed { border-color: #2c8c66; }
.check.failed { border-color: #c05621; }
.check h3 { font-size: 1rem; margin: .2rem 0; overflow-wrap: anywhere; }
p, h2 { overflow-wrap: anywhere; }
.check p { margin: .3rem 0; }
.points { font-weight: 400; color: #555; white-space: nowrap; }
.total { font-size: 1.15rem; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .3rem .8rem; margin: .6rem 0; }
dt { color: #555; }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
code { font: .86em/1.45 ui-monospace, "SFMono-Regular", Menlo, Consolas, "Liberation Mono", monospace; }
dd code { display: inline-block; background: #f6f6f6; padding: .1rem .35rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre.printed { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem; overflow-y: auto; }
.grades { width: auto; min-width: 50%; }
.grades th, .grades td { text-align: center; padding: .3rem .55rem; white-space: nowrap; }
.grades th:first-child, .grades td:first-child { text-align: left; position: sticky; left: 0; background: #fff;
  max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
.grades td.yes { color: #00583f; } .grades td.no { color: #a33c00; background: #fdf1ea; }
.grades td.sum, .grades th.sum { font-weight: 600; border-left: 1px solid #bbb; }
.grades tfoot td { border-top: 2px solid #999; color: #555; }
.bar { display: block; height: .5rem; min-width: 4rem; background: #f0d9cc; margin-top: .3rem; }
.bar i { display: block; height: 100%; background: #2c8c66; }
.hard { margin-top: 1.6rem; }
.hard td:nth-child(2) { min-width: 5.5rem; white-space: nowrap; }
ul { padding-left: 1.2rem; margin: .4rem 0; } li { overflow-wrap: anywhere; margin: .15rem 0; }
@media (max-width: 44rem) {
  figure img { max-width: 100%; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: .5rem; }
  .grades th:first-child, .grades td:first-child { max-width: 8.5rem; }
  .grades th, .grades td { padding: .3rem .4rem; }
  .hard, .hard tbody, .hard tr, .hard td { display: block; width: auto; } .hard thead { display: none; }
  .hard td { border: 0; padding: .15rem 0; } .hard tr { border-bottom: 1px solid #bbb; padding: .5rem 0; }
}
"""


def write_feedback(graded: Graded, feedback: Path, table: Path) -> None:
    """Write the class's page and the students' into ``feedback``, and the table of grades."""
    for folder in (STUDENTS, RECORDS):
        (feedback / folder).mkdir(parents=True, exist_ok=True)
    pages = {
        student_file(student): student_page(student, list(grades))
        for student, grades in groupby(graded.grades, key=lambda grade: grade.student)
    }
    _write_pages(feedback, pages)
    _write(feedback / CLASS_PAGE, class_page(graded))
    _write(table, "\ufeff" + grades_csv(graded.grades, feedback, table.parent))


def _write_pages(feedback: Path, pages: dict[str, str]) -> None:
    """Write the students' pages, and remove earlier ones of students who are not there any more.

    Only pages that are as they were written are removed, byte for byte.
    """
    file = feedback / RECORDS / PAGES
    earlier: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, TypeError):
        earlier = dict(json.loads(file.read_text(encoding="utf-8")))
    written = {}
    for name, text in pages.items():
        _write(feedback / name, text)
        written[name] = hashlib.sha256((feedback / name).read_bytes()).hexdigest()
    for name in earlier.keys() - written.keys():
        stale = feedback / STUDENTS / Path(name).name
        with contextlib.suppress(OSError):
            if hashlib.sha256(stale.read_bytes()).hexdigest() == earlier[name]:
                stale.unlink()
    _write(file, json.dumps(written))


def _write(file: Path, text: str) -> None:
    with atomic_path(file) as path, path.open("w", encoding="utf-8", errors="replace", newline="") as opened:
        opened.write(text)


def student_file(student: str) -> str:
    """Return the name of a student's page, relative to the folder of feedback."""
    return f"{STUDENTS}/{file_name(student)}.html"


# -- a student's page -------------------------------------------------------------------------------------------------


def student_page(student: str, grades: Sequence[Grade]) -> str:
    """Return a student's page: each exercise with its checks."""
    body = [f"<h1>{_shown(student)}</h1>"]
    if len(grades) > 1:
        known = [grade for grade in grades if grade.points is not None]
        total, most = sum(grade.points or 0 for grade in known), sum(grade.out_of for grade in known)
        body.append(f'<p class="total">{total} of {most} points in {count(len(known), "exercise")}</p>')
    for grade in grades:
        body += _exercise(grade)
    return page(f"Feedback for {printable(student)}", body, CSS)


def _exercise(grade: Grade) -> list[str]:
    """Return what a student's page says of one exercise."""
    lines = [f"<h2>{escape(_number(grade.exercise))}{_shown(grade.title or 'Files that cannot be graded')}</h2>"]
    if grade.report is None:
        points = "Not graded" if grade.points is None else f"0 of {grade.out_of} points"
        lines.append(f'<p class="total">{points}</p>')
        why = f"{grade.file}: {grade.error}" if grade.file else f"{grade.error[:1].upper()}{grade.error[1:]}."
        return [*lines, f"<p>{_shown(why)}</p>", *_remark(grade)]
    report = grade.report
    seconds = f"{report['seconds']:.0f} s" if report["seconds"] >= 1 else "less than a second"
    lines.append(f'<p class="total">{grade.points} of {grade.out_of} points</p>')
    lines.append(f'<p class="note">{_shown(grade.file)}, checked in {seconds}</p>')
    lines += _remark(grade)
    seen: list[Any] = []
    for number, check in enumerate(report["checks"], 1):
        lines.append(_check(number, check, check["fault"] not in seen, _more_hints(grade.exercise, check)))
        seen += [check["fault"]] if check["fault"] else []
    if report["picture"]:
        lines.append(figure(Picture(report["picture"], CAPTION, f"Picture of {printable(grade.file)}")))
    if report["output"]:
        cut = report["output_length"] > len(report["output"])
        size = f"; it printed {report['output_length']:,} bytes, this is the beginning" if cut else ""
        lines.append(f'<p class="note">Printed while it was checked{size}:</p>')
        lines.append(f'<pre class="printed">{escape(printable(report["output"].rstrip()))}</pre>')
    return lines


def _remark(grade: Grade) -> list[str]:
    return [f'<p class="note">{_shown(grade.remark[:1].upper() + grade.remark[1:])}.</p>'] if grade.remark else []


def _more_hints(exercise: str, check: dict[str, Any]) -> str:
    """Return the command that shows a check's second hint; "" if there is none."""
    if len(hints_of(exercise, check["name"])) < 2:
        return ""
    return f"rankgym exercise hint {int(exercise[:2])} {check['name']} --level 2"


def _check(number: int, check: dict[str, Any], new: bool, more: str) -> str:
    """Return one check as HTML; ``new`` unless another check has failed by the very same fault."""
    fault = check["fault"]
    look, sign, verdict = ("failed", "✗", "failed") if fault else ("passed", "✓", "passed")
    lines = [
        f'<section class="check {look}">',
        f"<h3>{sign} {number}. <span>{escape(_words(check['name']))}</span> "
        f'<span class="points">{verdict}, {check["points"]} of {check["out_of"]} points</span></h3>',
        f"<p>{_shown(check['statement'])}</p>",
    ]
    if fault and not new:
        lines.append('<p class="note">For the same reason as above.</p>')
    elif fault:
        lines += _fault(fault, check["hint"], more)
    return "\n".join([*lines, "</section>"])


def _fault(fault: dict[str, Any], hint: str, more: str) -> list[str]:
    """Return how a check failed: the smallest case, and where to look. ``more`` is the command for another hint."""
    if fault["got"] == UNWRITTEN:
        return [
            f'<p class="note"><code>{_shown(fault["where"])}</code> is not written yet; {_shown(_place(fault))}.</p>'
        ]
    rows = [("Called", fault["call"], True), ("Expected", fault["expected"], True)]
    rows += [("Got" if fault["expected"] else "What happened", fault["got"], bool(fault["expected"]))]
    rows += [("It looks as if", fault["mistake"], False), ("Right values before", fault.get("state", ""), True)]
    rows += [
        ("Begin with", fault.get("begin", ""), True),
        ("Where", _place(fault), False),
        ("Code", fault["code"], True),
    ]
    if fault["where"]:
        rows += [("Hint", hint, False), ("More hints", more, True)]
    lines = ["<dl>"]
    for name, text, is_code in rows:
        if text:
            shown = f"<code>{_shown(text)}</code>" if is_code else _shown(text)
            lines.append(f"<dt>{name}</dt><dd>{shown}</dd>")
    return [*lines, "</dl>"]


def _place(fault: dict[str, Any]) -> str:
    place = str(fault.get("place") or (f"line {fault['line']}" if fault["line"] else ""))
    return ", ".join(part for part in (place, fault["where"]) if part)


# -- the class's page -------------------------------------------------------------------------------------------------


def class_page(graded: Graded) -> str:
    """Return the class's page: a table of each exercise, and what the class found hard."""
    students = {grade.student for grade in graded.grades}
    body = [f"<h1>Grades of {count(len(students), 'student')}</h1>"]
    if graded.date:
        body.append(f'<p class="note">Graded on {graded.date}</p>')
    without = [grade.student for grade in graded.grades if not grade.matched]
    if without:
        body.append(f"<p><strong>No file that can be graded: {', '.join(map(_link, without))}.</strong></p>")
    undecided = [grade for grade in graded.grades if grade.points is None and grade.matched]
    if undecided:
        names = ", ".join(f"{grade.student} ({grade.exercise})" for grade in undecided)
        body.append(f"<p><strong>Not graded: {_shown(names)}.</strong> The same command tries these again.</p>")
        body.append(f"<ul>{''.join(f'<li>{_shown(group[0].error)}</li>' for group in by_cause(undecided))}</ul>")
    if len(graded.exercises) > 1:
        body += _overview(graded)
    for name, exercise in graded.exercises.items():
        mine = [grade for grade in graded.grades if grade.exercise == name and grade.matched]
        body += _exercise_of_class(exercise, mine)
    if graded.left_out:
        body += ["<h2>Files that were not graded</h2>", _left_out(graded.left_out)]
    limits = graded.limits
    how = "in namespaces of their own" if graded.isolated else "without namespaces, which this system does not give"
    body.append("<h2>How it was graded</h2>")
    body.append(
        f'<p class="note">Seed {graded.seed}; {limits.seconds:g} s and {limits.memory_gb:g} GB for each submission, '
        f"{how}.</p>"
    )
    return page("Grades", body, CSS)


def by_cause(grades: Iterable[Grade]) -> list[list[Grade]]:
    """Return grades in groups with the same cause."""
    groups: dict[str, list[Grade]] = {}
    for grade in grades:
        groups.setdefault(grade.cause, []).append(grade)
    return list(groups.values())


def _overview(graded: Graded) -> list[str]:
    """Return a table of students by exercises."""
    points = {(grade.student, grade.exercise): grade for grade in graded.grades}
    rows = []
    for student in dict.fromkeys(grade.student for grade in graded.grades):
        mine = [points.get((student, name)) for name in graded.exercises]
        cells = [f"<td>{NOTHING}</td>" if grade is None else f"<td>{_points(grade)}</td>" for grade in mine]
        known = [grade.points for grade in mine if grade and grade.points is not None]
        total = sum(known) if known else "?"
        rows.append(f'<tr><td>{_link(student)}</td>{"".join(cells)}<td class="sum">{total}</td></tr>')
    means = []
    for name in graded.exercises:
        known = [grade.points for grade in graded.grades if grade.exercise == name and grade.points is not None]
        means.append(f"<td>{_mean(known)}</td>")
    heads = [f'<th scope="col" title="{escape(e.title)}">{escape(e.name[:2])}</th>' for e in graded.exercises.values()]
    head = f'<th scope="col">student</th>{"".join(heads)}<th scope="col" class="sum">points</th>'
    foot = f'<tr><td>mean</td>{"".join(means)}<td class="sum"></td></tr>'
    return ["<h2>All exercises</h2>", _table(head, rows, foot)]


def _exercise_of_class(exercise: Exercise, grades: Sequence[Grade]) -> list[str]:
    """Return the table of students by checks, and the checks, the hardest first."""
    known = [grade.points for grade in grades if grade.points is not None]
    lines = [f"<h2>{escape(_number(exercise.name))}{escape(exercise.title)}</h2>"]
    lines.append(
        f"<p>{count(len(grades), 'submission')}; on average {_mean(known)} of {exercise.points} points; "
        f"{sum(points == exercise.points for points in known)} with full points.</p>"
    )
    passed = {check.name: sum(_passed(grade, check.name) for grade in grades) for check in exercise.checks}
    rows = []
    for grade in grades:
        cells = [_cell(grade, check) for check in exercise.checks]
        rows.append(f'<tr><td>{_link(grade.student)}</td>{"".join(cells)}<td class="sum">{_points(grade)}</td></tr>')
    heads = [
        f'<th scope="col" title="{escape(_words(check.name))}">{number}</th>'
        for number, check in enumerate(exercise.checks, 1)
    ]
    head = f'<th scope="col">student</th>{"".join(heads)}<th scope="col" class="sum">points</th>'
    sums = "".join(f"<td>{number}</td>" for number in passed.values())
    foot = f'<tr><td>passed, of {len(grades)}</td>{sums}<td class="sum">{_mean(known)}</td></tr>'
    return [*lines, _table(head, rows, foot), *_hardest(exercise, grades, passed)]


def _hardest(exercise: Exercise, grades: Sequence[Grade], passed: dict[str, int]) -> list[str]:
    """Return the checks, the hardest first, and what went wrong in them."""
    rows = []
    numbers = {check.name: number for number, check in enumerate(exercise.checks, 1)}
    for check in sorted(exercise.checks, key=lambda check: passed[check.name]):
        share = 100 * passed[check.name] / max(len(grades), 1)
        faults = Counter(filter(None, (_mistake(grade, check.name) for grade in grades)))
        found = "".join(f"<li>{number} {TIMES} {_shown(why)}</li>" for why, number in faults.most_common(MOST_MISTAKES))
        rows.append(
            f"<tr><td>{numbers[check.name]}. {escape(_words(check.name))}"
            f'<span class="note"> ({escape(check.of)})</span></td>'
            f"<td>{passed[check.name]} of {len(grades)} passed"
            f'<span class="bar"><i style="width:{share:.0f}%"></i></span></td>'
            f"<td>{f'<ul>{found}</ul>' if found else ''}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("check, the hardest first", "passed", "what went wrong"))
    return [f'<table class="hard"><thead><tr>{head}</tr></thead><tbody>', *rows, "</tbody></table>"]


def _mistake(grade: Grade, name: str) -> str:
    """Return what a grade's check failed by, in words that are the same for many students; "" if it passed."""
    for check in grade.report["checks"] if grade.report else ():
        if check["name"] == name and check["fault"]:
            fault = check["fault"]
            if not fault["where"]:
                return "the file cannot be loaded"
            return str(fault["mistake"] or ("another answer" if fault["expected"] else fault["got"]))[:LONGEST_REMARK]
    return ""


def _passed(grade: Grade, name: str) -> bool:
    return grade.report is not None and name not in grade.failed


def _cell(grade: Grade, check: Check) -> str:
    if grade.report is None:
        return f'<td class="no">{NOTHING}</td>'
    passed = _passed(grade, check.name)
    look, sign, word = ("yes", "✓", "passed") if passed else ("no", "✗", "failed")
    return f'<td class="{look}" title="{escape(_words(check.name))}: {word}">{sign}</td>'


def _points(grade: Grade) -> str:
    return "?" if grade.points is None else str(grade.points)


def _table(head: str, rows: Sequence[str], foot: str) -> str:
    lines = [
        '<div class="wide"><table class="grades">',
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>",
    ]
    return "\n".join([*lines, f"<tfoot>{foot}</tfoot>", "</table></div>"])


def _link(student: str) -> str:
    return f'<a href="{escape(student_file(student))}" title="{_shown(student)}">{_shown(student)}</a>'


def _left_out(files: Sequence[LeftOut]) -> str:
    return f"<ul>{''.join(f'<li>{_shown(one.file)}: {_shown(one.why)}</li>' for one in files)}</ul>"


# -- the table of grades ----------------------------------------------------------------------------------------------


def grades_csv(grades: Iterable[Grade], feedback: Path, folder: Path) -> str:
    """Return the table of grades as CSV; pages are named relative to ``folder``."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for grade in grades:
        html = feedback / student_file(grade.student)
        shown = html.relative_to(folder) if html.is_relative_to(folder) else html
        remarks = "; ".join(filter(None, (grade.error, grade.remark)))
        writer.writerow(
            [
                _safe(grade.student),
                _safe(grade.exercise),
                "" if grade.points is None else grade.points,
                grade.out_of or "",
                _safe(" ".join(grade.failed)),
                grade.report["seconds"] if grade.report else "",
                _safe(remarks[:LONGEST_REMARK]),
                _safe(shown.as_posix()),
                _safe(grade.id),
                _safe(grade.path),
            ]
        )
    return file.getvalue()


def _safe(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return str(csv_cell(" ".join(printable(text).split("\n"))))


# -- words ------------------------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """Return ``text`` with control characters, which HTML does not allow, as question marks."""
    return "".join("?" if unicodedata.category(one) in ("Cc", "Cs") and one not in "\n\t" else one for one in text)


def _shown(text: Any) -> str:
    return escape(printable(str(text)))


def _words(name: str) -> str:
    """Return a check's name as words."""
    return name.replace("_", " ")


def _number(name: str) -> str:
    """Return "3. " of "03_cascade_bandits"."""
    return f"{int(name[:2])}. " if name[:2].isdigit() and name[2:3] == "_" else ""


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _mean(points: Sequence[int | None]) -> str:
    known = [one for one in points if one is not None]
    return f"{sum(known) / len(known):.1f}" if known else NOTHING
