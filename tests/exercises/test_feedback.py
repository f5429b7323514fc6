"""Pages of feedback are valid, load and run nothing, escape all that comes from students; the table has no formulas."""

import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psutil")
pytest.importorskip("matplotlib")

from rankgym.exercises.feedback import (  # after the skips
    COLUMNS,
    class_page,
    grades_csv,
    student_file,
    student_page,
    write_feedback,
)
from rankgym.exercises.grading import Grade, Graded
from rankgym.exercises.handed_in import LeftOut
from rankgym.exercises.topics.click_models import EXERCISE
from rankgym.submissions import Limits

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
FAULT = {
    "where": "cascade_clicks",
    "call": "cascade_clicks([0.5], [0], [0])",
    "expected": "[1]",
    "got": "[0]",
    "mistake": "the user stops one position late",
    "line": 4,
    "code": "",
    "place": "alice.py, line 4",
}


class Reader(HTMLParser):
    """Tags and text of a page; fails where tags are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def report(faults=(), **changed):
    """A report in which the checks of these numbers have failed; ``faults`` maps a number to its fault."""
    faults = dict(faults)
    checks = [
        {
            "name": check.name,
            "statement": check.statement,
            "of": check.of,
            "points": 0 if number in faults else check.points,
            "out_of": check.points,
            "hint": check.hints[0],
            "fault": faults.get(number),
            "seconds": 0.1,
        }
        for number, check in enumerate(EXERCISE.checks)
    ]
    points = sum(check["points"] for check in checks)
    whole = {"title": EXERCISE.title, "points": points, "out_of": 10, "checks": checks, "output": ""}
    return {**whole, "output_length": 0, "picture": "", "seconds": 2.0, **changed}


def grade(student, said=None, file="mine.py", **rest):
    return Grade(student, EXERCISE.name, EXERCISE.title, EXERCISE.points, file, said, **rest)


def graded(*grades, left_out=(), date=""):
    return Graded(list(grades), list(left_out), {EXERCISE.name: EXERCISE}, 7, Limits(), True, len(grades), date)


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_students_page_shows_each_check_and_its_fault():
    page = Reader(student_page("Alice", [grade("Alice", report({0: FAULT}, picture=SVG, output="hello\n"))]))
    for words in (
        "8 of 10 points",
        "mine.py, checked in 2 s",
        "✗ 1. cascade stops at the first click failed, 0 of 2 points",
        "✓ 2. pbm needs a look and a liking passed, 2 of 2 points",
        "Called cascade_clicks([0.5], [0], [0]) Expected [1] Got [0]",
        "It looks as if the user stops one position late",
        "Where alice.py, line 4, cascade_clicks",
        f"Hint {EXERCISE.checks[0].hints[0]} More hints rankgym exercise hint 1 {EXERCISE.checks[0].name} --level 2",
        "Curves whose names begin with “yours” come from it.",
        "Printed while it was checked: hello",
    ):
        assert words in page.text
    assert EXERCISE.checks[1].hints[0] not in page.text
    assert [tag for tag, _ in page.tags].count("img") == 1


def test_what_else_a_fault_knows_is_shown():
    fault = {**FAULT, "state": "clicks = [1, 2]", "begin": "click_rates"}
    text = Reader(student_page("Alice", [grade("Alice", report({0: fault}, seconds=0.04))])).text
    assert "Right values before clicks = [1, 2] Begin with click_rates" in text
    assert "checked in less than a second" in text


def test_hints_of_own_exercises_are_not_offered():
    own = Grade("Alice", "21_own", "Own", 10, "mine.py", report({0: FAULT}))
    assert "More hints" not in Reader(student_page("Alice", [own])).text


def test_a_student_without_a_file_has_a_page():
    said = ("no file can be graded (bob/a.zip: neither a script nor a notebook)", False, "", False)
    lost = [
        Grade("Bob", EXERCISE.name, EXERCISE.title, EXERCISE.points, "", None, *said),
        Grade("Cyd", "", "", 0, "", None, *said),
    ]
    for one, title in zip(lost, (EXERCISE.title, "Files that cannot be graded"), strict=True):
        text = Reader(student_page(one.student, [one])).text
        assert f"{title} Not graded No file can be graded (bob/a.zip: neither a script nor a notebook)." in text
    page = Reader(class_page(graded(grade("Ann", report()), *lost, date="2027-01-31 12:00")))
    for words in (
        "Grades of 3 students Graded on 2027-01-31 12:00 No file that can be graded: Bob , Cyd .",
        "1 submission; on average 10.0 of 10 points; 1 with full points.",
        "1 of 1 passed",
    ):
        assert words in page.text
    assert "tries these again" not in page.text


def test_unwritten_functions_and_faults_of_all_checks_are_said_briefly():
    unwritten = {**FAULT, "got": "not written yet", "expected": "", "mistake": "", "call": "f()"}
    broken = {
        **FAULT,
        "where": "",
        "call": "loading mine.py",
        "expected": "",
        "mistake": "",
        "got": "SyntaxError: what",
    }
    text = Reader(student_page("A", [grade("A", report(dict.fromkeys(range(4), broken) | {4: unwritten}))])).text
    assert text.count("What happened SyntaxError: what") == 1
    assert text.count("For the same reason as above.") == 3
    assert "cascade_clicks is not written yet; alice.py, line 4" in text
    assert "Hint" not in text


def test_long_output_is_said_to_be_cut():
    text = Reader(student_page("A", [grade("A", report(output="x" * 4_000, output_length=1 << 30))])).text
    assert "it printed 1,073,741,824 bytes, this is the beginning" in text


def test_the_classs_page_shows_what_was_hard():
    other = {**FAULT, "mistake": ""}
    page = Reader(
        class_page(
            graded(
                grade("Ann", report()),
                grade("Bob", report({0: FAULT})),
                grade("Cyd", report({0: FAULT, 3: other})),
                grade("Dan", error="its check did not end within 180 s", final=False),
                left_out=[LeftOut("notes.txt", "neither a script nor a notebook")],
            )
        )
    )
    for words in (
        "Grades of 4 students",
        "Not graded: Dan (01_click_models). The same command tries these again. its check did not end within 180 s",
        "4 submissions; on average 8.0 of 10 points; 1 with full points.",
        "passed, of 4 1 3 3 2 3 8.0",
        "1 of 4 passed 2 x the user stops one position late",
        "2 of 4 passed 1 x another answer",
        "notes.txt: neither a script nor a notebook",
        "Seed 7; 120 s and 2 GB for each submission, in namespaces of their own.",
    ):
        assert words.replace(" x ", " \N{MULTIPLICATION SIGN} ") in page.text
    hardest = re.findall(r"(\d)\. [a-z ]+ \([a-z_]+\) \d of 4 passed", page.text)
    assert hardest == ["1", "4", "2", "3", "5"]
    assert {attributes["href"] for tag, attributes in page.tags if tag == "a"} == {
        student_file(name) for name in ("Ann", "Bob", "Cyd", "Dan")
    }


HOSTILE = "<script>alert('&\"x')</script>\x1b[31m\x00\ud800"


@pytest.fixture(scope="module")
def hostile_pages():
    fault = {**dict.fromkeys(FAULT, HOSTILE), "line": 1}
    said = report({0: fault}, output=HOSTILE, output_length=9, picture=HOSTILE[:-1])
    grades = [grade(HOSTILE, said, file=HOSTILE, remark=HOSTILE), grade("B", file=HOSTILE, error=HOSTILE)]
    return [
        student_page(HOSTILE, grades[:1]),
        student_page("B", grades[1:]),
        class_page(graded(*grades, left_out=[LeftOut(HOSTILE, HOSTILE)])),
    ]


def test_all_that_students_say_is_escaped(hostile_pages):
    for text in hostile_pages:
        page = Reader(text)
        assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object", "form"}
        assert "<script>alert('&\"x')</script>?[31m?" in page.text
        assert not re.search("[\x00-\x08\x0b-\x1f]", text)


def test_nothing_is_loaded_and_nothing_runs(hostile_pages):
    for text in hostile_pages:
        page = Reader(text)
        policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
        assert policy.startswith("default-src 'none'")
        assert all(
            attributes["src"].startswith("data:image/svg+xml;base64,") for tag, attributes in page.tags if tag == "img"
        )
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
        assert "url(" not in text


@given(st.text(min_size=1), st.text(), st.text())
def test_any_name_and_text_is_one_value_of_the_page(student, got, mistake):
    fault = {**FAULT, "got": got, "mistake": mistake}
    before = [
        tag
        for tag, _ in Reader(student_page("A", [grade("A", report({0: {**FAULT, "got": "x", "mistake": "x"}}))])).tags
    ]
    page = Reader(student_page(student, [grade(student, report({0: fault}))]))
    if got and mistake and got != "not written yet":
        assert [tag for tag, _ in page.tags] == before
    Reader(class_page(graded(grade(student, report({0: fault})))))


@given(st.text(), st.text())
def test_no_cell_is_a_formula_and_each_student_is_one_line(student, error):
    head, line = rows(grades_csv([grade(student, error=error)], Path("/a/feedback"), Path("/a")))
    assert tuple(head) == COLUMNS
    assert len(line) == len(COLUMNS)
    for cell in line:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    if student[:1].isalnum() and student.isprintable():
        assert line[0] == student


def test_the_table_says_who_failed_at_what():
    first = grade("=1+1", report({0: FAULT, 3: FAULT}), remark="not graded: old.py", id="12", path="=1+1/x.py")
    second = grade("bob", error="its check did not end within 180 s", final=False)
    third = grade("cyd", error="mine.py cannot be read as a notebook")
    lines = rows(grades_csv([first, second, third], Path("/a/f"), Path("/a")))[1:]
    failed = f"{EXERCISE.checks[0].name} {EXERCISE.checks[3].name}"
    page = f"f/{student_file('=1+1')}"
    assert lines[0] == [
        "'=1+1",
        EXERCISE.name,
        "6",
        "10",
        failed,
        "2.0",
        "not graded: old.py",
        page,
        "12",
        "'=1+1/x.py",
    ]
    assert lines[1][2:7] == ["", "10", "", "", "its check did not end within 180 s"]
    assert lines[2][2:7] == ["0", "10", "", "", "mine.py cannot be read as a notebook"]


def test_all_is_written_whole(tmp_path):
    names = ("ann", "Ann", "Zoë/../x")
    write_feedback(graded(*(grade(name, report()) for name in names)), tmp_path / "f", tmp_path / "g.csv")
    assert (tmp_path / "g.csv").read_bytes().startswith("\ufeffstudent,exercise".encode())
    pages = {path.name.lower() for path in (tmp_path / "f" / "students").iterdir()}
    assert len(pages) == 3
    assert {path.name for path in (tmp_path / "f").iterdir()} == {"students", "records", "class.html"}


def test_pages_of_students_who_are_gone_are_removed(tmp_path):
    feedback, table = tmp_path / "f", tmp_path / "g.csv"
    write_feedback(graded(*(grade(name, report()) for name in ("ann", "bob", "cyd"))), feedback, table)
    own = feedback / "students" / "zoe.html"
    own.write_text("the teacher's")
    (feedback / student_file("cyd")).write_text("the teacher has changed it")
    for _ in range(2):
        write_feedback(graded(grade("ann", report())), feedback, table)
        assert {path.name for path in own.parent.iterdir()} == {"ann.html", "cyd.html", "zoe.html"}


@pytest.mark.parametrize("pages", ["", "[]", '{"../../g.csv": 1, "students/../class.html": "0"}'])
def test_a_damaged_list_of_pages_removes_nothing(tmp_path, pages):
    feedback, table = tmp_path / "f", tmp_path / "g.csv"
    write_feedback(graded(grade("ann", report()), grade("bob", report())), feedback, table)
    (feedback / "records" / "pages.json").write_text(pages)
    write_feedback(graded(grade("ann", report())), feedback, table)
    assert table.is_file()
    assert (feedback / "class.html").is_file()
    assert len(list((feedback / "students").iterdir())) == 2
