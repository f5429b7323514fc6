"""``rankgym exercise``: from the handout to full points, hints, a teacher's own exercise, and helpful errors."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jupytext")
pytest.importorskip("psutil")

SOLUTION = Path(__file__).parent / "exercises" / "solutions" / "01_click_models.py"

OWN = '''
from pathlib import Path
from rankgym.exercises import Exercise, check

@check(points=3, of="double", hints=["x + x"])
def doubles(trial):
    """double(x) is twice x."""
    trial.compare("double", lambda x: 2 * x, [(0,), (1,), (-3,)], mistakes={"the square": lambda x: x * x})

EXERCISE = Exercise(title="Twice", handout=Path("21_twice.py"), checks=(doubles,))
'''


def test_from_the_handout_to_full_points(run):
    assert "Simulate the cascade model" in run("exercise", "list").output
    started = run("exercise", "start", "1")
    assert started.exit_code == 0, started.output
    assert {path.name for path in Path().iterdir()} == {"01_click_models.py", "01_click_models.ipynb", "pictures"}
    empty = run("exercise", "check", "01_click_models.ipynb")
    assert empty.output.count("not written yet") == 5
    assert "0 of 10 points" in empty.output
    Path("01_click_models.py").write_text(SOLUTION.read_text())  # the file that was saved last is checked
    full = run("exercise", "check")
    assert "01_click_models.py: Simulate" in full.output
    assert "10 of 10 points" in full.output
    assert "<svg" in Path("01_click_models_yours.svg").read_text()


def test_a_mistake_is_shown_with_its_place_and_a_hint(run):
    Path("ann_01_click_models.py").write_text(SOLUTION.read_text().replace("reached *= 1 - attr", "reached *= attr"))
    output = run("exercise", "check", "ann_01_click_models.py", "--json", "report.json", "--no-picture").output
    for words in (
        "✗ examination_is_that_nothing_above_attracts  0 of 2",
        "cascade_examination([0.25, 0.75], [0, 1])",
        "expected  [1, 0.75]",
        "got       [1, 0.25]",
        "It looks as if: the product is of alpha",
        "ann_01_click_models.py, line 20, cascade_examination",
        "Hint: How probable is it",
        "8 of 10 points",
        "More help: rankgym exercise hint 1 examination_is_that_nothing_above_attracts --level 2",
    ):
        assert words in output
    report = json.loads(Path("report.json").read_text())
    assert (report["points"], report["out_of"], report["exercise"]) == (8, 10, "01_click_models")
    assert [check["name"] for check in report["checks"] if check["fault"]] == [
        "examination_is_that_nothing_above_attracts"
    ]
    assert not Path("ann_01_click_models_yours.svg").exists()


def test_hints_come_in_levels(run):
    overview = run("exercise", "hint", "1").output
    assert "rates_are_means_over_users (click_rates, 2 hints)" in overview
    first, last = (run("exercise", "hint", "1", "click_rates", "--level", level).output for level in "12")
    assert "More: rankgym exercise hint 1 rates_are_means_over_users --level 2" in first
    assert "Divide by the number of users" in last


def test_a_teachers_own_exercise(run):
    Path("checker.py").write_text(OWN)
    Path("twice.py").write_text("def double(x):\n    return x * x\n")
    output = run("exercise", "check", "twice.py", "--exercise", "checker.py").output
    for words in ("double(1)", "expected  2", "got       1", "It looks as if: the square", "0 of 3 points"):
        assert words in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "there is no handout here; begin with: rankgym exercise start 1"),
        (["check", "mine.py"], "mine.py does not name an exercise; rename it, or add --exercise N"),
        (
            ["check", "01_click_models.txt"],
            "01_click_models.txt is not a submission; allowed: a script (.py) or a notebook",
        ),
        (["check", "01_click_models.py"], "01_click_models.py: No such file"),
        (["check", "01_click_models.py", "--memory", "0"], "--memory 0 is out of range"),
        (["check", "x.py", "--exercise", "99"], "exercise = '99' is not there; allowed: a number in 1 .. "),
        (["hint", "1", "cascade"], "check = 'cascade' is not in exercise 01_click_models; allowed: cascade_stops"),
        (["hint", "1", "click_rates", "--level", "3"], "--level 3 is out of range for rates_are_means_over_users"),
    ],
)
def test_errors_say_what_to_do(run, words, said):
    result = run("exercise", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_nothing_is_overwritten(run):
    Path("01_click_models.py").write_text("mine")
    result = run("exercise", "start", "1")
    assert "is there already; move it, or choose another folder with --to" in result.stderr
    assert [path.name for path in Path().iterdir()] == ["01_click_models.py"]
