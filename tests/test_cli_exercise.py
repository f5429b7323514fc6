"""``rankgym exercise``: from the handout to full points, hints, a teacher's own exercise, and helpful errors."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("jupytext")
pytest.importorskip("psutil")

SOLUTION = Path(__file__).parent / "exercises" / "solutions" / "01_click_models.py"


@pytest.fixture
def own_exercise(run):
    """The exercise of a teacher's own from the docs."""
    text = (Path(__file__).parents[1] / "docs" / "teaching.md").read_text()
    Path("checker.py").write_text("\n\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.S)))
    Path("21_smoothed_rates.py").write_text(
        "# %%\ndef smoothed_rates(clicks, displays):\n    raise NotImplementedError\n"
    )
    return run


def test_from_the_handout_to_full_points(run):
    assert "Simulate the cascade model" in run("exercise", "list").output
    started = run("exercise", "start", "1")
    assert started.exit_code == 0, started.output
    assert {path.name for path in Path().iterdir()} == {"01_click_models.py", "01_click_models.ipynb", "pictures"}
    empty = run("exercise", "check", "01_click_models.ipynb")
    assert empty.exit_code == 1
    assert empty.output.count("not written yet") == 5
    assert "0 of 10 points" in empty.output
    assert run("exercise", "check").output.startswith("01_click_models.py: Simulate")
    Path("01_click_models.py").write_text(SOLUTION.read_text())
    Path("01_click_models.ipynb").touch()  # of the files that are filled in the one that was saved last is checked
    full = run("exercise", "check")
    assert full.exit_code == 0
    assert "01_click_models.py: Simulate" in full.output
    assert "10 of 10 points" in full.output
    assert "<svg" in Path("01_click_models_yours.svg").read_text()


def test_a_mistake_is_shown_with_its_place_and_a_hint(run):
    Path("ann_01_click_models.py").write_text(SOLUTION.read_text().replace("reached *= 1 - attr", "reached *= attr"))
    checked = run("exercise", "check", "ann_01_click_models.py", "--json", "report.json", "--no-picture")
    output = checked.output
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
    assert "It printed" not in output
    report = json.loads(Path("report.json").read_text())
    printed = run("exercise", "check", "ann_01_click_models.py", "--json", "-", "--no-picture")
    assert checked.exit_code == printed.exit_code == 1
    assert json.loads(printed.stdout)["points"] == 8
    assert (report["points"], report["out_of"], report["exercise"]) == (8, 10, "01_click_models")
    assert [check["name"] for check in report["checks"] if check["fault"]] == [
        "examination_is_that_nothing_above_attracts"
    ]
    assert not Path("ann_01_click_models_yours.svg").exists()


@pytest.mark.parametrize(
    ("lines", "head", "last"),
    [
        (["a", "b"], "It printed:", "b"),
        ([f"line {n}" for n in range(70)], "It printed 70 lines; the first 10:", "line 9"),
        (["ä" * 9_999, "b"], "It printed 20,001 bytes; the beginning:", "ä"),
    ],
)
def test_the_beginning_of_what_was_printed_is_shown(run, lines, head, last):
    Path("01_click_models.py").write_text("".join(f"print({line!r})\n" for line in lines), encoding="utf-8")
    shown = run("exercise", "check").output.partition("It printed")
    assert (shown[1] + shown[2]).splitlines()[0] == head
    printed = [line for line in shown[2].splitlines() if not line.startswith("To see what a single call prints")]
    assert printed[-3][-len(last) :] == last


def test_hints_come_in_levels(run):
    overview = run("exercise", "hint", "1").output
    assert "rates_are_means_over_users (1.5 click_rates, 2 hints)" in overview
    by_name = run("exercise", "hint", "1", "click_rates").output
    assert run("exercise", "hint", "1.5").output == run("exercise", "hint", "1", "1.5").output == by_name
    first, last = (run("exercise", "hint", "1", "click_rates", "--level", level).output for level in "12")
    assert "More: rankgym exercise hint 1 rates_are_means_over_users --level 2" in first
    assert "Divide by the number of users" in last


def test_a_teachers_own_exercise_is_set_and_checked(own_exercise):
    started = own_exercise("exercise", "start", "checker.py", "--to", "handed_out")
    assert started.exit_code == 0, started.output
    mine = Path("handed_out/21_smoothed_rates.py")
    assert "not written yet" in own_exercise("exercise", "check", str(mine), "--exercise", "checker.py").output
    mine.write_text("def smoothed_rates(clicks, displays):\n    return [c / n for c, n in zip(clicks, displays)]\n")
    wrong = own_exercise("exercise", "check", str(mine), "--exercise", "checker.py").output
    assert "failed: ZeroDivisionError: division by zero" in wrong
    mine.write_text(mine.read_text().replace("c / n", "c / max(n, 1)"))
    wrong = own_exercise("exercise", "check", str(mine), "--exercise", "checker.py").output
    for words in ("smoothed_rates([0], [0])", "expected  [0.5]", "got       [0]", "0 of 4 points"):
        assert words in wrong
    mine.write_text(mine.read_text().replace("c / max(n, 1)", "(c + 1) / (n + 2)"))
    assert "4 of 4 points" in own_exercise("exercise", "check", str(mine), "--exercise", "checker.py").output
    assert "<svg" in Path("handed_out/21_smoothed_rates_yours.svg").read_text()
    hints = own_exercise("exercise", "hint", "checker.py", "smoothed_rates", "--level", "2").output
    assert "Add 1 to the clicks" in hints
    Path("21_smoothed_rates.py").write_text(f"# %% [markdown]\n# ## 1.1 Rates\n# %%\n{mine.read_text()}")
    assert own_exercise("exercise", "hint", "checker.py", "1.1", "--level", "2").output == hints


def test_a_checker_that_does_not_fit_its_handout_says_so(own_exercise):
    right = "# %%\ndef smoothed_rates(clicks, displays): return [(c + 1) / (n + 2) for c, n in zip(clicks, displays)]"
    Path("ann_21_smoothed_rates.py").write_text(right)
    text = Path("checker.py").read_text()
    Path("checker.py").write_text(text + "\n\nEXERCISE = dataclasses.replace(EXERCISE, draw=lambda *_: 1 / 0)\n")
    checked = own_exercise("exercise", "check", "--exercise", "checker.py")  # the file that is filled in
    assert "ann_21_smoothed_rates.py: Smoothed rates" in checked.output
    assert "No picture: draw failed: ZeroDivisionError: division by zero (checker.py, line" in checked.output
    Path("checker.py").write_text(text.replace('of="smoothed_rates"', 'of="smooth_rates"'))
    said = own_exercise("exercise", "check", "--exercise", "checker.py").stderr
    assert (
        "of = 'smooth_rates' of the check rates_are_smoothed is not in 21_smoothed_rates.py; allowed: smoothed" in said
    )


def test_a_missing_handout_is_an_error_everywhere(own_exercise):
    Path("21_smoothed_rates.py").rename("alice.py")
    Path("handed_in").mkdir()
    Path("alice.py").rename("handed_in/alice.py")
    for words in (["check", "handed_in/alice.py"], ["grade", "handed_in"]):
        result = own_exercise("exercise", *words, "--exercise", "checker.py")
        assert (result.exit_code, "handout = '21_smoothed_rates.py' is not a file" in result.stderr) == (2, True)
    assert "handout = '21_smoothed_rates.py' is not a file" in own_exercise("exercise", "start", "checker.py").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "there is no handout here; begin with: rankgym exercise start 1"),
        (["check", "nobody.py"], "nobody.py: No such file"),
        (["check", "mine.py"], "mine.py does not name an exercise; rename it, or add --exercise N"),
        (
            ["check", "01_click_models.txt"],
            "01_click_models.txt is not a submission; allowed: a script (.py) or a notebook",
        ),
        (["check", "01_click_models.py"], "01_click_models.py: No such file"),
        (["check", "01_click_models.py", "--memory", "0"], "--memory 0 is out of range"),
        (["check", "x.py", "--exercise", "99"], "exercise = '99' is not there; allowed: a number in 1 .. "),
        (["hint", "cascade_clicks"], "cascade_clicks is in exercise 1: hint 1 cascade_clicks"),
        (["hint", "1", "cascade"], "check = 'cascade' is not in exercise 01_click_models; allowed: cascade_stops"),
        (["hint", "1.9"], "; or a section: 1.1, 1.2, 1.3, 1.4, 1.5"),
        (["hint", "1", "click_rates", "--level", "3"], "--level 3 is out of range for rates_are_means_over_users"),
    ],
)
def test_errors_say_what_to_do(run, words, said):
    Path("mine.py").touch()
    result = run("exercise", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_nothing_is_overwritten(run):
    Path("01_click_models.py").write_text("mine")
    result = run("exercise", "start", "1")
    assert "is there already; move it, or choose another folder with --to" in result.stderr
    assert [path.name for path in Path().iterdir()] == ["01_click_models.py"]


def test_a_failing_agent_is_shown_with_right_values_and_where_to_begin(run):
    solution = (SOLUTION.parent / "03_cascade_bandits.py").read_text()
    wrong = solution.replace("1.5 * math.log(t)", "1.6 * math.log(t)")
    assert wrong != solution
    Path("03_cascade_bandits.py").write_text(wrong)
    output = run("exercise", "check", "--no-picture").output
    assert "The right values just before, to compare with yours: clicked = [" in " ".join(output.split())
    assert "Begin with ucb1_index: used here, and not right yet" in output
