"""A class is graded: who handed in what, the points that a check gives, and what a submission does costs it alone."""

import csv
import json
import os
import string
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jupytext")
pytest.importorskip("psutil")

from mistakes import filled, solution  # after the skips

from rankgym.exercises import grading
from rankgym.exercises.grading import file_name, grade_class
from rankgym.exercises.handed_in import Owner, _owner, collect
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.topics.click_models import EXERCISE
from rankgym.submissions import Limits

NAME = "01_click_models"
RIGHT = solution(NAME)
WRONG = RIGHT.replace("reached *= 1 - attr", "reached *= attr")
LOOP = RIGHT.replace("            break", "            while True: pass")


@pytest.fixture
def hand_in(tmp_path):
    """A function that writes a submission into the folder handed_in, which it returns."""
    folder = tmp_path / "handed_in"

    def write(name, text=RIGHT, saved=None):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if saved is not None:
            os.utime(file, (saved, saved))
        return folder

    return write


def points_of(csv_file="grades.csv"):
    with open(csv_file, encoding="utf-8-sig", newline="") as file:
        return {line["student"]: line["points"] for line in csv.DictReader(file)}


# -- which file is whose ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "student"),
    [
        (f"alice_{NAME}.py", "alice"),
        (f"alice {NAME} (1).ipynb", "alice"),
        (f"s1234_{NAME}.py", "s1234"),
        (f"group_12_{NAME}-2.py", "group_12"),
        (f"Alice Smith_12345_assignsubmission_file_{NAME}.py", "Alice Smith"),
        (f"Alice Smith_12345_assignsubmission_file_/{NAME}.py", "Alice Smith"),
        (f"Alice Smith_12345_assignsubmission_file/answers/{NAME}.ipynb", "Alice Smith"),
        (f"Group 3_12_assignsubmission_file/{NAME}.py", "Group 3"),
        (f"Default group_assignsubmission_file_{NAME}.py", "Default group"),
        (f"smithalice_123_456_{NAME}-1.py", "smithalice"),
        (f"smithalice_LATE_123_456_{NAME}.py", "smithalice"),
        (f"alice_{NAME}_final.py", "alice"),
        (f"alice_{NAME}_v2 (1).ipynb", "alice"),
        (f"Alice Smith/{NAME} final version.py", "Alice Smith"),
        (f"alice_02_best_lists_or_{NAME}.py", "alice_02_best_lists_or"),
        (f"Zoë Müller/{NAME}.py", "Zoë Müller"),
        (f"=1+1/{NAME}.py", "=1+1"),
        ("alice_01_Click_Models.PY", "alice"),
        (f"alice_{NAME.upper()}.Ipynb", "alice"),
    ],
)
def test_a_file_says_whose_it_is_and_of_which_exercise(hand_in, file, student):
    folder = hand_in(file)
    found, left_out = collect(folder)
    assert [(one.student, one.exercise, one.file) for one in found] == [(student, EXERCISE, folder / file)]
    assert not left_out


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (f"{NAME}.py", "does not begin with a student's"),
        ("alice/notes.py", "contains no exercise's"),
        ("alice_99_nothing.py", "contains no exercise's"),
        (f"alice_{NAME}_old.py", "its name says that it is set aside"),
        (f"alice_{NAME}_21_own.py", "contains no exercise's"),
        (f"alice_{NAME}s.py", "contains no exercise's"),
        (f"alice_{NAME}.txt", "neither a script"),
        (f"alice_{NAME}.zip", "neither a script"),
    ],
)
def test_what_cannot_be_matched_is_listed(hand_in, file, why):
    hand_in(f"zoe_{NAME}.py")
    found, left_out = collect(hand_in(file))
    assert [one.student for one in found] == ["zoe"]
    assert [one.file for one in left_out] == [file]
    assert why in left_out[0].why


def test_links_and_empty_folders_are_listed(hand_in, tmp_path):
    folder = hand_in(f"zoe/{NAME}.py")
    (tmp_path / "secret.py").write_text("the teacher's")
    (folder / f"mallory_{NAME}.py").symlink_to(tmp_path / "secret.py")
    (folder / "eve").symlink_to(tmp_path)
    (folder / "nobody").mkdir()
    os.mkfifo(folder / f"pipe_{NAME}.py")
    found, left_out = collect(folder)
    assert [one.student for one in found] == ["zoe"]
    assert {one.file for one in left_out} == {f"mallory_{NAME}.py", "eve", "nobody", f"pipe_{NAME}.py"}


@pytest.mark.parametrize(
    ("files", "outer"),
    [
        (["Course A/amy/{}", "Course A/ben/{}"], "Course A"),
        (["Course A/amy_{}", "Course A/ben_{}", "exercise.pdf"], "Course A"),
        (["2027/Course A/amy/{}", "2027/Course A/ben/{}"], "2027/Course A"),
        (["ML-Exercise 1-8812/Ann Berg_10001_assignsubmission_file/{}", "amy/{}"], "ML-Exercise 1-8812"),
        (["2027/ML 1/Ann Berg_10001_assignsubmission_file/{}"], "2027/ML 1"),
        (["The submissions/bergann_101_900_{}", "The submissions/bo_102_901_{}", "amy/{}"], "The submissions"),
    ],
)
def test_a_folder_of_several_students_is_not_one_student(hand_in, run, files, outer):
    for name in files:
        folder = hand_in(name.format(f"{NAME}.py"))
    result = run("exercise", "grade", str(folder))
    assert result.exit_code == 2
    shown = Path("handed_in", outer)
    assert f"{shown} would count as one student" in result.stderr
    assert f"grade that folder: rankgym exercise grade '{shown}'" in result.stderr
    assert not Path("grades_feedback").exists()
    assert len(collect(folder / outer)[0]) == sum(name.startswith(outer) for name in files)


@pytest.mark.parametrize(
    "files",
    [
        ["amy/{}"],
        ["amy/{}", "amy/v2/{}"],
        ["amy/1/{}", "amy/2/02_best_lists.py"],
        ["amy/v1/{}", "amy/v2/{}", "ben/{}"],
        ["amy/v1/{}", "amy/v2/{}", "ben_{}"],
        ["amy/Amy Berg_10001_assignsubmission_file_{}", "amy/{}"],
        ["Amy_1_assignsubmission_file/v1/{}", "Amy_1_assignsubmission_file/v2/{}"],
    ],
)
def test_a_folder_of_one_student_is_one(hand_in, files):
    for name in files:
        folder = hand_in(name.format(f"{NAME}.py"))
    students = {one.student for one in collect(folder)[0]}
    assert len(students) == 1 + any(name.startswith("ben") for name in files)


@given(st.text(string.ascii_letters + "äß-. '", min_size=1).map(str.strip).filter(lambda name: name[:1].isalpha()))
def test_any_name_comes_back(name):
    asked = name.rstrip(" _-")
    assert _owner(Path(f"{name}_{NAME}.py"), EXERCISE) == Owner(asked)
    assert _owner(Path(f"{name}_12_assignsubmission_file_{NAME}.py"), EXERCISE) == Owner(name, "12")
    assert _owner(Path(f"{name}_LATE_123_456_{NAME}-1.py"), EXERCISE) == Owner(name, "123")
    assert _owner(Path(name, f"{NAME}.py"), EXERCISE) == Owner(asked)


def moodle(number, file=f"{NAME}.py"):
    return f"Alice Smith_{number}_assignsubmission_file_{file}"


def test_namesakes_are_told_apart_by_the_platforms_ids(hand_in, tmp_path, quick_check):
    for name in (moodle(1), moodle(2), moodle(2, f"{NAME}_v2.py"), f"Alice Smith/{NAME}.py"):
        folder = hand_in(name)
    for name in ("annlee_101_900", "annlee_101_901", "annlee_LATE_102_902", "bo_103_903"):
        hand_in(f"{name}_{NAME}.py")
    assert [one.student for one in collect(folder)[0]] == [
        *("Alice Smith", "Alice Smith (1)", "Alice Smith (2)"),
        *("annlee (101)", "annlee (102)", "bo"),
    ]
    grades = grade_class(folder, tmp_path / "kept").grades
    assert [grade.points for grade in grades] == [7] * 6
    assert len(list((tmp_path / "kept" / "records").iterdir())) == 6


def test_ids_of_different_exercises_and_a_single_one_are_one_students(hand_in):
    hand_in(moodle(1), saved=1)
    hand_in(moodle(7, "02_best_lists.py"))
    folder = hand_in(f"Alice Smith/{NAME}.py", WRONG, saved=2)
    found, left_out = collect(folder)
    assert [(one.student, one.exercise.name) for one in found] == [
        ("Alice Smith", NAME),
        ("Alice Smith", "02_best_lists"),
    ]
    assert (left_out[0].file, left_out[0].why) == (
        moodle(1),
        f"saved earlier; {Path('Alice Smith', f'{NAME}.py')} is graded",
    )


def test_a_student_whose_files_cannot_be_matched_has_a_line(hand_in, run, quick_check):
    hand_in(f"zoe/{NAME}.py")
    hand_in("zoe/answers.zip", "")
    hand_in("bob/Untitled.py")
    hand_in(f"dan_{NAME}_final_old.py")
    hand_in(moodle(1, "answers.zip"))
    hand_in(moodle(2, "Untitled.py"))
    hand_in("readme.txt", "")
    folder = hand_in(f"cyd_{NAME}.zip")
    result = run("exercise", "grade", str(folder))
    with open("grades.csv", encoding="utf-8-sig", newline="") as file:
        lines = {line["student"]: (line["exercise"], line["points"], line["remark"]) for line in csv.DictReader(file)}
    assert lines.keys() == {"zoe", "bob", "Alice Smith (1)", "Alice Smith (2)", "cyd", "dan"}
    assert lines["zoe"] == (NAME, "7", "not graded: zoe/answers.zip: neither a script (.py) nor a notebook (.ipynb)")
    assert lines["bob"][:2] == (NAME, "")
    assert "no file can be graded (bob/Untitled.py: its name contains no exercise's" in lines["bob"][2]
    assert lines["dan"][2].endswith("its name says that it is set aside (old, backup or bak))")
    assert "not graded: cyd: no file can be graded" in result.stderr
    assert "left out: readme.txt" in result.stderr
    assert "left out: bob" not in result.stderr
    assert "1 submission checked." in result.output
    page = Path("grades_feedback/class.html").read_text()
    assert "Grades of 6 students" in page
    assert "1 submission; on average 7.0" in page

    hand_in("zoe/02_best_lists.py")
    run("exercise", "grade", str(folder))
    with open("grades.csv", encoding="utf-8-sig", newline="") as file:
        lines = {line["student"]: (line["exercise"], line["out_of"]) for line in csv.DictReader(file)}
    assert lines["bob"] == ("", "")


def test_all_files_may_be_of_one_exercise(hand_in):
    hand_in("alice/answer.py")
    hand_in("group-1.py")
    folder = hand_in("group-2.py")
    assert [one.student for one in collect(folder, EXERCISE)[0]] == ["alice", "group-1", "group-2"]
    assert not collect(folder)[0]


def test_of_several_files_the_last_one_that_is_filled_in_is_graded(hand_in):
    handout = (HANDOUTS / f"{NAME}.py").read_text()
    hand_in(f"alice/{NAME}.py", handout, saved=3)
    hand_in(f"alice/{NAME}.ipynb", filled(NAME), saved=2)
    hand_in(f"alice/{NAME} (1).py", WRONG, saved=1)
    hand_in(f"bob_{NAME}.py", saved=1)
    hand_in(f"bob_{NAME} (1).py", saved=1)
    hand_in(f"bob_{NAME} (10).py", saved=1)
    hand_in(f"cyd_{NAME}.py", handout, saved=3)
    hand_in(f"cyd_{NAME}_final.py", saved=1)
    folder = hand_in(f"cyd_{NAME}_tests.py", "assert cascade_clicks([1.0], [0], [0.0]) == [1]\n", saved=2)
    (alice, bob, cyd), left_out = collect(folder)
    assert alice.file.name == f"{NAME}.ipynb"
    assert bob.file.name == f"bob_{NAME} (10).py"
    assert cyd.file.name == f"cyd_{NAME}_final.py"
    assert alice.remark == (f"not graded: alice/{NAME} (1).py: saved earlier; alice/{NAME}.py: nothing is filled in")
    assert bob.remark == f"not graded: bob_{NAME} (1).py, bob_{NAME}.py: saved at the same time"
    assert f"cyd_{NAME}_tests.py: nothing that is checked is defined" in cyd.remark
    assert len(left_out) == 6


@pytest.mark.parametrize("later", [0.0, 0.9])  # seconds, as copies differ
def test_of_files_of_the_same_time_the_one_with_most_in_it_is_graded(hand_in, later):
    handout = (HANDOUTS / f"{NAME}.py").read_text()
    half = filled(NAME).replace("    return clicks\n", "    raise NotImplementedError\n", 1)
    assert handout.count("raise NotImplementedError") > half.count("raise NotImplementedError") > 0
    hand_in(f"alice/{NAME}.ipynb", json.dumps({"cells": [{"source": filled(NAME)}]}), saved=9)
    hand_in(f"alice/{NAME}_begun.py", RIGHT[: len(RIGHT) // 2], saved=9)
    folder = hand_in(f"alice/{NAME}.py", half, saved=9 + later)
    (alice,), _ = collect(folder)
    assert alice.file.suffix == ".ipynb"
    assert alice.remark == f"not graded: alice/{NAME}.py, alice/{NAME}_begun.py: less is filled in"
    hand_in(f"alice/{NAME}.py", half, saved=10)
    assert collect(folder)[0][0].file.name == f"{NAME}.py"


def test_moodles_text_fields_are_no_news(hand_in):
    hand_in(moodle(1))
    for name in (
        "Alice Smith_1_assignsubmission_onlinetext/onlinetext.html",
        "Bo_2_assignsubmission_onlinetext_onlinetext.html",
    ):
        folder = hand_in(name, "")
    (alice,), left_out = collect(folder)
    assert (alice.student, alice.id, alice.remark) == ("Alice Smith", "1", "")
    assert [(one.student, one.id) for one in left_out] == [("Bo", "2")]  # who gets a line


# -- grades -----------------------------------------------------------------------------------------------------------


def test_a_class_is_graded_and_again_only_where_something_changed(hand_in, run):
    for student, source in (("right", RIGHT), ("wrong", WRONG), ("loops", LOOP)):
        folder = hand_in(f"{student}_{NAME}.py", source)
    hand_in(f"leaves_{NAME}.py", f"import os\nos._exit(0)\n{RIGHT}")
    spied = str(folder / f"wrong_{NAME}.py")
    hand_in(f"reads_{NAME}.py", RIGHT.replace("    return clicks\n", f"    return open({spied!r}).read()\n"))
    hand_in(f"damaged_{NAME}.ipynb", "{")
    hand_in("untouched_01_Click_Models.PY", (HANDOUTS / f"{NAME}.py").read_text())
    hand_in("notes.py", "")
    command = ("exercise", "grade", str(folder), "--out", "grades.csv", "--jobs", "2", "--time-limit", "20")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "left out: notes.py: its name contains no exercise's" in result.stderr
    assert "7 submissions checked." in result.output
    grades = {"right": "10", "wrong": "8", "loops": "8", "leaves": "0", "reads": "8", "damaged": "0", "untouched": "0"}
    assert points_of() == grades
    page = Path("grades_feedback/students/loops.html").read_text()
    assert "no answer within 2 s: an endless loop" in page
    assert "cannot be read as a notebook" in Path("grades_feedback/students/damaged.html").read_text()
    assert "8 of 10 points" in Path("grades_feedback/students/wrong.html").read_text()

    assert "Nothing is filled in." in Path("grades_feedback/students/untouched.html").read_text()
    assert "Nothing" not in Path("grades_feedback/students/leaves.html").read_text()

    hand_in(f"wrong_{NAME}.py", RIGHT)
    assert "1 submission checked, 6 unchanged" in run(*command).output
    assert points_of() == {**grades, "wrong": "10"}
    seed = json.loads(Path("grades_feedback/grading.json").read_text())["seed"]
    same = run(*command, "--seed", str(seed))
    assert "0 submissions checked" in same.output
    assert "settings" not in same.stderr


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"digest": 1}', '{"report": {}}'])
def test_a_damaged_record_is_made_again(hand_in, tmp_path, damage, quick_check):
    folder = hand_in(f"alice_{NAME}.py")
    assert grade_class(folder, tmp_path / "kept").new == 1
    assert grade_class(folder, tmp_path / "kept").new == 0
    (record,) = (tmp_path / "kept" / "records").iterdir()
    record.write_text(damage)
    assert grade_class(folder, tmp_path / "kept").new == 1


@pytest.fixture
def quick_check(monkeypatch):
    """Checks are instant; what they got can be set by student."""
    report = {"title": "", "points": 7, "out_of": 10, "checks": [], "output": "", "output_length": 0}
    said = {}

    def checked(each, content, settings, stop):
        stop.wait(said.get("seconds", 0))
        return said.get(each.student, ({**report, "picture": "", "seconds": 1.0}, "", True))

    monkeypatch.setattr(grading, "_checked", checked)
    monkeypatch.setattr(grading, "_try_out", lambda limits: True)
    return said


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 8},
        {"limits": Limits(seconds=119.0)},
        {"limits": Limits(memory_gb=1.0)},
        {"exercise": "1"},
    ],
)
def test_a_record_is_of_one_seed_and_limits(hand_in, tmp_path, quick_check, changed):
    folder, kept = hand_in(f"alice_{NAME}.py"), tmp_path / "kept"
    assert grade_class(folder, kept, seed=7).new == 1
    assert grade_class(folder, kept, seed=7).new == 0
    said = []
    again = grade_class(folder, kept, **{"seed": 7, **changed}, say=said.append)
    assert again.new == len(said) == (changed.keys() != {"exercise"})


def test_it_is_said_that_settings_have_changed(hand_in, run, quick_check):
    folder = hand_in(f"alice_{NAME}.py")
    first = run("exercise", "grade", str(folder), "--seed", "7")
    assert "settings" not in first.stderr
    changed = run("exercise", "grade", str(folder), "--seed", "8", "--time-limit", "60")
    words = "seed 8 instead of 7; time limit 60 s instead of 120 s"
    assert f"the settings have changed ({words}): all submissions are checked again" in changed.stderr


def test_limits_are_kept_until_others_are_given(hand_in, run, quick_check):
    folder = hand_in(f"alice_{NAME}.py")
    command = ("exercise", "grade", str(folder))

    def limits():
        return [json.loads(Path("grades_feedback/grading.json").read_text())[name] for name in ("time limit", "memory")]

    for words, kept in (
        ([], ["120 s", "2 GB"]),
        (["--time-limit", "60.123456789"], ["60.123456789 s", "2 GB"]),
        (["--memory", "1.5"], ["60.123456789 s", "1.5 GB"]),
        ([], ["60.123456789 s", "1.5 GB"]),
    ):
        again = run(*command, *words)
        assert limits() == kept
        assert ("all submissions are checked again" in again.stderr) == bool(words)
    assert "0 submissions checked, 1 unchanged." in again.output
    settings = json.loads(Path("grades_feedback/grading.json").read_text())
    Path("grades_feedback/grading.json").write_text(json.dumps({**settings, "time limit": "nan s", "memory": [1]}))
    run(*command)
    assert limits() == ["120 s", "2 GB"]


def test_feedback_belongs_to_one_folder_of_submissions(hand_in, run, tmp_path, quick_check):
    for student in ("ann", "bob", "cyd"):
        hand_in(f"class/handed_in/{student}_{NAME}.py")
    folder = hand_in(f"class/late/dan_{NAME}.py") / "class"
    command = ("exercise", "grade", str(folder / "handed_in"), "--out", str(folder / "grades.csv"))
    assert run(*command).exit_code == 0
    late = run("exercise", "grade", str(folder / "late"), "--out", str(folder / "grades.csv"))
    assert late.exit_code == 2
    assert f"are of the submissions in {folder / 'handed_in'}" in late.stderr
    assert (
        "put late submissions into the same folder; for another class or exercise choose another --out\n" in late.stderr
    )
    assert points_of(folder / "grades.csv").keys() == {"ann", "bob", "cyd"}

    moved = tmp_path / "moved"
    folder.rename(moved)
    (moved / "handed_in" / f"bob_{NAME}.py").unlink()
    (moved / "late" / f"dan_{NAME}.py").rename(moved / "handed_in" / f"dan_{NAME}.py")
    command = ("exercise", "grade", str(moved / "handed_in"), "--out", str(moved / "grades.csv"))
    again = run(*command)
    assert "1 submission checked, 2 unchanged." in again.output
    assert "no longer among the submissions, and so not in the table of grades: bob" in again.stderr
    assert not run(*command).stderr.strip()
    (moved / "handed_in").rename(moved / "renamed")
    renamed = run("exercise", "grade", str(moved / "renamed"), "--out", str(moved / "grades.csv"))
    assert 'if it was renamed, change "submissions" in' in renamed.stderr


def test_the_table_has_the_platforms_id_and_the_graded_file(hand_in, run, quick_check):
    hand_in(f"Ann Berg_10001_assignsubmission_file/{NAME}.py")
    hand_in("Bo Li_10002_assignsubmission_file/answers.zip")
    hand_in(f"smithcyd_LATE_103_900_{NAME}.py")
    folder = hand_in(f"dan_{NAME}.py")
    run("exercise", "grade", str(folder))
    with open("grades.csv", encoding="utf-8-sig", newline="") as file:
        assert [(line["id"], line["file"]) for line in csv.DictReader(file)] == [
            ("10001", f"Ann Berg_10001_assignsubmission_file/{NAME}.py"),
            ("10002", ""),
            ("", f"dan_{NAME}.py"),
            ("103", f"smithcyd_LATE_103_900_{NAME}.py"),
        ]


def test_the_seed_of_a_class_is_drawn_once(hand_in, tmp_path, quick_check):
    folder = hand_in(f"alice_{NAME}.py")
    drawn = grade_class(folder, tmp_path / "one").seed
    assert grade_class(folder, tmp_path / "one").seed == drawn
    assert grade_class(folder, tmp_path / "two").seed != drawn  # equal by chance with probability 4e-15
    assert grade_class(folder, tmp_path / "one", seed=7).seed == grade_class(folder, tmp_path / "one").seed == 7


def test_a_check_that_fails_by_itself_is_tried_again(hand_in, tmp_path, quick_check):
    hand_in(f"alice_{NAME}.py")
    folder = hand_in(f"bob_{NAME}.py")
    quick_check["bob"] = None, "its check did not end within 180 s", False
    graded = grade_class(folder, tmp_path / "kept")
    assert [(grade.student, grade.points, grade.error[:9]) for grade in graded.grades] == [
        ("alice", 7, ""),
        ("bob", None, "its check"),
    ]
    del quick_check["bob"]
    again = grade_class(folder, tmp_path / "kept")
    assert [grade.points for grade in again.grades] == [7, 7]
    assert again.new == 1


def test_an_interrupted_class_is_continued(hand_in, tmp_path, quick_check):
    quick_check["seconds"] = 0.3
    for number in range(6):
        folder = hand_in(f"s{number}_{NAME}.py")

    def interrupt(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        grade_class(folder, tmp_path / "kept", progress=interrupt)
    assert caught.value.__notes__ == ["3 of 6 submissions are graded; the same command continues"]
    assert 0 < grade_class(folder, tmp_path / "kept").new <= 3


def test_pages_may_be_written_beside_the_submissions(hand_in, run, quick_check):
    folder = hand_in(f"alice_{NAME}.py")
    hand_in(f"alice_{NAME}_yours.svg", "<svg/>")
    os.chdir(folder)
    for _ in range(2):
        result = run("exercise", "grade", ".", "--out", "grades.csv")
        assert (result.exit_code, "left out" in result.stderr) == (0, False), result.output
        assert {path.name for path in folder.iterdir()} == {
            f"alice_{NAME}.py",
            f"alice_{NAME}_yours.svg",
            "grades.csv",
            "grades_feedback",
        }


def test_a_check_that_never_ends_is_ended():
    stop = threading.Event()
    code, said = grading._run(["sh", "-c", "echo begun >&2; sleep 600"], 1.0, stop)
    assert (code, said) == (None, "begun\n")
    assert grading._run(["sh", "-c", "echo error: oh >&2; exit 3"], 9.0, stop) == (3, "error: oh\n")
    stop.set()
    assert grading._run(["sleep", "600"], 600.0, stop)[0] is None


def test_a_mistake_of_the_checks_author_costs_nobody_points(hand_in, run):
    Path("checker.py").write_text(
        "from pathlib import Path\nfrom rankgym.exercises import Exercise, check\n\n"
        "@check(points=1, of='f')\ndef adds(trial):\n    'f adds.'\n    trial.call('f', 1) + '?'\n\n"
        "EXERCISE = Exercise(title='Own', handout=Path('own.py'), checks=(adds,))\n"
    )
    hand_in("alice/own.py", "def f(x):\n    return x\n")
    hand_in("bob/own.py", "def f(x):\n    return [x]\n")
    command = ("exercise", "grade", str(hand_in("cyd/notes.txt")), "--exercise", "checker.py", "--jobs", "2")
    assert "handout = 'own.py' is not a file" in run(*command).stderr
    assert not Path("grades_feedback").exists()
    Path("own.py").write_text("def f(x):\n    raise NotImplementedError\n")
    result = run(*command)
    assert result.exit_code == 2
    fault = "not graded: alice, own.py; bob, own.py: the check adds failed itself: TypeError: unsupported operand"
    assert fault in result.stderr
    assert result.stderr.count("failed itself") == 1
    assert "error: no submission could be graded" in result.stderr
    assert not Path("grades.csv").exists()

    hand_in("cyd/own.py", "def f(x):\n    return '!'\n")
    result = run(*command)
    assert result.exit_code == 0
    assert "1 submission checked, 2 not graded." in result.output
    assert points_of() == {"alice": "", "bob": "", "cyd": "1"}
    assert Path("grades_feedback/class.html").read_text().count("failed itself") == 1


def test_a_crash_of_the_checker_costs_one_submission(hand_in, run):
    """A teacher's checker that ends its process for one student's answer."""
    Path("checker.py").write_text(
        """
import os
from pathlib import Path
from rankgym.exercises import Exercise, check

@check(points=3, of="f", hints=["3"])
def f_is_three(trial):
    '''f() is 3.'''
    if trial.call("f") == "crash":
        os._exit(9)
    trial.expect(3, "f")

EXERCISE = Exercise(title="Three", handout=Path("21_three.py"), checks=(f_is_three,))
"""
    )
    Path("21_three.py").write_text("def f():\n    raise NotImplementedError\n")
    hand_in("alice.py", "def f():\n    return 3\n")
    folder = hand_in("bob.py", "def f():\n    return 'crash'\n")
    result = run("exercise", "grade", str(folder), "--exercise", "checker.py", "--out", "g.csv")
    assert result.exit_code == 0
    assert "not graded: bob, bob.py: exit code 9" in result.stderr
    assert points_of("g.csv") == {"alice": "3", "bob": ""}
    assert "Not graded: bob (21_three)" in Path("g_feedback/class.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none is not a folder"),
        ([".", "--jobs", "0"], "--jobs 0 is out of range; allowed: 1 or more"),
        ([".", "--out", "grades.txt"], "--out grades.txt is not a CSV file"),
        ([".", "--exercise", "77"], "exercise = '77' is not there"),
        (["empty"], "nothing in empty can be graded"),
        (["unnamed"], "as 01_click_models; if all files are of one exercise, add --exercise"),
        (["texts"], "nothing in texts can be graded: a.txt: neither a script (.py) nor a notebook (.ipynb)"),
        ([".", "--feedback", "."], ". is the folder of submissions; choose another one"),
        ([".", "--memory", "0"], "--memory 0 is out of range"),
        ([".", "--seed", "-1"], "seed = -1 is out of range; allowed: 0 or more"),
    ],
)
def test_errors_say_what_to_do(run, words, said):
    Path(f"ann_{NAME}.py").write_text(RIGHT)
    Path("empty").mkdir()
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("")
    Path("unnamed").mkdir()
    Path("unnamed/a.txt").write_text("")
    Path("unnamed/ann.py").write_text(RIGHT)
    result = run("exercise", "grade", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not Path("grades.csv").exists()


@given(st.text(min_size=1), st.text(min_size=1))
def test_files_of_different_students_have_different_names(one, other):
    assert (file_name(one).lower() == file_name(other).lower()) == (one == other)
    assert set(file_name(one)) <= {*string.ascii_letters, *string.digits, *"-_"}
    assert len(file_name(one)) <= 60
