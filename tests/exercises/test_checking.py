"""The frame of checks: what counts as the same answer, which mistake is named, where a line of a notebook is."""

import re
from functools import partial

import jupytext
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistakes import outcomes, solution

from rankgym.exercises import Exercise, Setting, check
from rankgym.exercises.checking import check_file, try_check
from rankgym.exercises.explaining import defined, uses
from rankgym.exercises.faults import same
from rankgym.exercises.finding import exercise_of_file, find_exercise
from rankgym.exercises.handouts import notebook_source, place_of, read_submission
from rankgym.exercises.playing import played
from rankgym.exercises.topics.click_models import EXERCISE
from rankgym.submissions import Submission

PLAIN = st.recursive(
    st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(), st.none()), st.lists, max_leaves=6
)


def outcome(run, source):
    """What one check, made of ``run``, says of a submission; its name is that of the function."""
    made = check(points=1, of="f")(run)
    return outcomes(Exercise("", EXERCISE.handout, (made,)), source)[run.__name__].fault


@given(PLAIN)
def test_a_value_is_the_same_as_itself(value):
    assert same(value, value)


@given(PLAIN, PLAIN)
def test_being_the_same_does_not_depend_on_the_order(one, other):
    assert same(one, other) == same(other, one)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (0.1 + 0.2, 0.3, True),
        (1, True, True),  # clicks may be bools
        (1.0, 1 + 1e-8, False),
        (1e12, 1e12 + 1, True),  # relative
        ([1, 2], [1, 2, 3], False),
        ([1], 1, False),
        (float("nan"), float("nan"), False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1.0, False),
        ("1", 1, False),
        (None, 0, False),
        (10**400, 1.0, False),
    ],
)
def test_what_counts_as_the_same(one, other, equal):
    assert same(one, other) == equal


def test_the_first_wrong_case_is_shown_and_the_mistake_that_gives_all_answers_is_named():
    def doubles(trial):
        mistakes = {"the square": lambda x: x * x, "one too many": lambda x: 2 * x + 1, "fails": lambda x: 1 / 0}
        trial.compare("f", lambda x: 2 * x, [(0,), (2,), (3,), (4,)], mistakes=mistakes)

    fault = outcome(doubles, "def f(x): return x * x")
    assert (fault.call, fault.expected, fault.got, fault.mistake) == ("f(3)", "6", "9", "the square")
    assert outcome(doubles, "def f(x): return x + x") is None
    assert outcome(doubles, "def f(x): return 2 * x if x < 4 else 9").mistake == ""  # none of them gives all
    assert outcome(doubles, "import numpy as np\ndef f(x): return np.int64(2) * x") is None


def test_an_answer_that_is_wrong_once_and_then_raises_is_shown_as_wrong():
    def halves(trial):
        trial.compare("f", lambda x: x / 2, [(1,), (0,)])

    assert outcome(halves, "def f(x): return 1 / x").got == "1"


@pytest.mark.parametrize(
    ("source", "got"),
    [
        ("def f(x):\n    raise NotImplementedError('1.1')", "not written yet"),
        ("def g(x): pass", "there is no f in 01_click_models.py"),
        ("def f(x):\n    return x[5]", "TypeError: 'int' object is not subscriptable"),
        ("def f(x): return {x}", "returned a set; return a list, a number or a bool"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import rankgym", "rankgym may not be imported here"),
        ("def f(x):\n    while True: pass", "an endless loop, or too slow"),
        ("import os\ndef f(x): os._exit(3)", "it ended its process (exit code 3)"),
        ("def f(x): return input()", "it asked for input"),
        ("raise SystemExit", "SystemExit"),
    ],
)
def test_what_is_said_of_a_submission_that_does_not_answer(source, got):
    def is_itself(trial):
        trial.expect(1, "f", 1)

    made = Exercise("", EXERCISE.handout, (check(points=1, of="f")(is_itself),))
    fault = outcomes(made, source, call_seconds=1.0)["is_itself"].fault
    assert got in fault.got


def test_a_check_that_fails_itself_is_reported_and_the_others_go_on():
    def adds(trial):
        assert trial.call("f", 1) + "?" == "1?"

    fault = outcome(adds, "def f(x): return x")
    assert fault.call == "the check adds itself"
    assert fault.got == "TypeError: unsupported operand type(s) for +: 'int' and 'str'; tell whoever wrote the check"
    assert re.fullmatch(r"test_checking.py, line \d+", fault.place)


def test_mistakes_of_a_check_are_not_the_submissions():
    """It asks nothing, it asks for what the handout does not have, or its own agent cannot be made."""

    def nothing(trial):
        pass

    def misspelled(trial):
        trial.call("cascade_click")

    def wrong_keyword(trial):
        setting = Setting({"n_items": 2}, np.zeros((1, 2), bool), np.ones((1, 1), bool))
        trial.expect_play(Counter, "Counter", [setting])

    given = defined(EXERCISE.handout.read_text())
    with Submission("x = 1") as student:
        for run, why in (
            (nothing, "it passes without asking the submission for anything"),
            (misspelled, "it asks for cascade_click, which is not in the handout"),
            (wrong_keyword, "TypeError: Counter.__init__() got an unexpected keyword argument 'n_items'"),
        ):
            fault = try_check(check(points=1, of="f")(run), student, 0, given).fault
            assert (fault.call, fault.got) == (
                f"the check {run.__name__} itself",
                f"{why}; tell whoever wrote the check",
            )


def test_an_exercise_says_what_is_wrong_with_its_checks():
    @check(points=1, of="f")
    def one(trial):
        """A check."""

    for checks, said in (
        (one, "checks = one is one check; allowed: a tuple of them, (one,)"),
        ((one, one.run), "is not a check; allowed: functions with @check above them"),
        ((one, one), "checks[1] is named 'one' like one before it"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            Exercise("", EXERCISE.handout, checks)
    with pytest.raises(ValueError, match="is one text; allowed: a list of them"):
        check(points=1, of="f", hints="Think.")


def test_functions_after_an_accident_still_get_their_points():
    source = solution("01_click_models").replace("def cascade_clicks", "import os\ndef cascade_clicks", 1)
    source = source.replace("clicks = [0] * len(ranking)\n", "os._exit(1)\n", 1)
    found = outcomes(EXERCISE, source)
    assert [name for name, one in found.items() if one.fault] == ["cascade_stops_at_the_first_click"]


def test_the_first_list_that_differs_is_shown_with_what_came_before():
    class Fixed:
        def __init__(self, num_items):
            self.order = list(range(num_items))

        def act(self):
            return self.order[:2]

        def update(self, displayed, clicks):
            if 1 in clicks:
                self.order.remove(displayed[clicks.index(1)])
                self.order.insert(0, displayed[clicks.index(1)])

    def moves_to_front(trial):
        liked = np.array([[False, True, False]] * 4)
        trial.expect_play(Fixed, "Mine", [Setting({"num_items": 3}, liked, np.ones((4, 2), bool))])

    head = "class Mine:\n    def __init__(self, num_items): self.n = num_items\n    def act(self): return [0, {}]\n"
    update = "    def update(self, displayed, clicks): pass\n"
    fault = outcome(moves_to_front, head.format(1) + update)
    assert fault.call == "Mine(num_items=3).act() after 1 round: [0, 1] with clicks [0, 1]"
    assert (fault.expected, fault.got, fault.where) == ("[1, 0]", "[0, 1]", "Mine")
    repeated = outcome(moves_to_front, head.format(0) + update)
    assert (repeated.expected, repeated.got) == ("2 different items out of 0 .. 2", "[0, 0]")
    assert repeated.call == "Mine(num_items=3).act() after 0 rounds"
    raised = outcome(moves_to_front, head.format(1) + update.replace("pass", "return clicks[7]"))
    assert raised.got == "IndexError: list index out of range (after 0 rounds)"
    assert (raised.line, raised.code) == (4, "def update(self, displayed, clicks): return clicks[7]")


COUNTER = """
class Counter:
    seen = []
    def __init__(self, num_items):
        self.n = num_items
        {own}
    def act(self): return [len(self.seen) % self.n]
    def update(self, displayed, clicks): {learn}
"""


class Counter:
    """Displays each item in turn."""

    def __init__(self, num_items, step=1):
        self.n, self.step, self.t = num_items, step, 0

    def act(self):
        return [self.t % self.n]

    def update(self, displayed, clicks):
        self.t += self.step

    def state(self):
        return {"t": self.t}


def counts(trial):
    settings = [Setting({"num_items": n}, np.zeros((n + 3, n), bool), np.ones((n + 3, 1), bool)) for n in (2, 3)]
    wrong = {f"it counts by {step}": partial(Counter, step=step) for step in (0, 2, 3)}
    trial.expect_play(Counter, "Counter", settings, mistakes=wrong)


def test_a_mistake_is_named_by_all_settings_and_the_right_state_is_shown():
    own, learn = "self.seen = []", "self.seen += [0, 0, 0]"
    fault = outcome(counts, COUNTER.format(own=own, learn=learn))  # of 2 items it looks right
    assert (fault.call, fault.expected) == ("Counter(num_items=3).act() after 1 round: [0] with clicks [0]", "[1]")
    assert (fault.mistake, fault.state) == ("it counts by 3", "t = 1")
    odd = "self.seen += [0, 0] if self.n == 2 else [0]"  # by 2 and then right; of 2 items 0 and 2 look alike
    assert outcome(counts, COUNTER.format(own=own, learn=odd)).mistake == ""
    assert outcome(counts, COUNTER.format(own=own, learn="self.seen.append(0)")) is None


def test_objects_that_share_a_list_are_named():
    fault = outcome(counts, COUNTER.format(own="pass", learn="self.seen.append(0)"))
    assert "an object knows what another one has learned" in fault.mistake
    assert fault.call == "Counter(num_items=3).act() after 0 rounds"


def test_an_agent_that_fails_late_is_judged_by_its_choices_until_then():
    late = "self.seen += [0, 0]; 1 / (len(self.seen) < 6)"
    fault = outcome(counts, COUNTER.format(own="self.seen = []", learn=late))
    assert (fault.call, fault.got) == ("Counter(num_items=2).act() after 1 round: [0] with clicks [0]", "[0]")
    right = outcome(counts, COUNTER.format(own="self.seen = []", learn="self.seen.append(1 / (len(self.seen) < 2))"))
    assert right.got == "ZeroDivisionError: division by zero (after 2 rounds)"
    assert right.mistake == "it divides by 0: either this case comes first, by itself, or it is the wrong number"


def test_lists_that_cannot_be_displayed_are_judged_by_those_before():
    late = COUNTER.format(
        own="self.seen = []", learn="self.seen += [0] if self.n == 2 or len(self.seen) < 1 else [0, 0]"
    )
    short = late.replace("return [len", "return [len(self.seen), 0] if self.n == 3 and len(self.seen) > 3 else [len")
    fault = outcome(counts, short)
    assert (fault.call, fault.got) == (
        "Counter(num_items=3).act() after 2 rounds: [0] with clicks [0]; [1] with clicks [0]",
        "[0]",
    )
    first = outcome(counts, late.replace("return [len", "return [1, 0] or [len"))
    assert (first.call, first.expected) == (
        "Counter(num_items=2).act() after 0 rounds",
        "1 different items out of 0 .. 1",
    )
    assert first.mistake == ""


def test_what_a_function_uses():
    source = "def f(x): return x\nclass A:\n    def act(self): return f(1)\nclass B(A): pass\ndef g(): return 0\n"
    assert [uses(source, name) for name in "fABg"] == [set(), {"f"}, {"A", "f"}, set()]
    assert uses("def f(:", "f") == set()


def test_choices_that_differ_in_ties_only_are_named():
    class Tied(Counter):
        def ties(self, one, other):
            return one[0] + other[0] == 1

    def counts_down(trial):
        setting = Setting({"num_items": 2}, np.zeros((2, 2), bool), np.ones((2, 1), bool))
        trial.expect_play(Tied, "Counter", [setting])

    assert "equal statistics only" in outcome(counts_down, COUNTER.format(own="self.seen = [0]", learn="pass")).mistake


@pytest.mark.parametrize("change", ["x.pop()", "x.append(0)", "x[0] += 1", "x.sort()", "x.clear()"])
def test_a_function_must_not_change_its_arguments(change):
    def adds(trial):
        trial.expect([3, 1], "f", [3, 1])

    fault = outcome(adds, f"def f(x):\n    y = list(x)\n    {change}\n    return y")
    assert fault.got == "ArgumentChanged: f changes its argument x: work on a copy, such as list(...)"
    assert outcome(adds, "def f(x): return x") is None


def test_objects_that_share_a_global_list_are_named():
    """It is emptied whenever an object is made, so one after the other they seem right."""
    source = COUNTER.format(own="self.seen.clear()", learn="self.seen.append(0)")
    fault = outcome(counts, source)
    assert "an object knows what another one has learned" in fault.mistake
    assert fault.call == "Counter(num_items=2).act() after 0 rounds"


def test_a_function_that_is_built_on_a_wrong_one_says_where_to_begin(tmp_path):
    @check(points=1, of="f")
    def of_f(trial):
        trial.expect(2, "f", 1)

    @check(points=1, of="g")
    def of_g(trial):
        trial.expect(4, "g", 1)

    made = Exercise("", EXERCISE.handout, (of_f, of_g))
    file = tmp_path / "file.py"
    for first, begin in (("x", "f"), ("2 * x", "")):
        file.write_text(f"def f(x): return {first}\ndef g(x): return f(f(x)) + 1\n")
        assert check_file(made, file).outcomes[1].fault.begin == begin


def test_the_users_of_a_play_are_the_models():
    """First clicks only: the cascade model; all of them: attraction and examination, the PBM."""

    class Whole:
        def act(self):
            return [2, 0, 1]

        def update(self, displayed, clicks): ...

    liked, seen = [[True, True, True], [True, False, True]], [[True, True, False], [False, True, True]]
    assert played(Whole(), liked, seen, False)[1] == [[1, 1, 0], [0, 1, 0]]
    assert played(Whole(), liked, [[True] * 3] * 2, True)[1] == [[1, 0, 0], [1, 0, 0]]


def test_a_line_of_a_notebook_is_found_in_its_cell():
    text = "# %% [markdown]\n# # Title\n\n# %%\nimport math\n\n# %%\ndef f(x):\n    return 1 / 0\n"
    source = notebook_source(jupytext.writes(jupytext.reads(text, fmt="py:percent"), fmt="ipynb"), "a.ipynb")
    line = source.splitlines().index("    return 1 / 0") + 1
    assert place_of("a.ipynb", source, line) == "a.ipynb, code cell 2, line 2"
    assert place_of("a.py", source, 7) == "a.py, line 7"
    assert place_of("a.ipynb", source, None) == "a.ipynb"
    with pytest.raises(ValueError, match=r"b\.ipynb cannot be read as a notebook"):
        notebook_source("{", "b.ipynb")


MARIMO = '''import marimo

__generated_with = "0.25.2"
app = marimo.App()

with app.setup:
    import math


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # Title
    """)
    return


@app.cell
def _():
    import marimo as mo
    import random

    def g(x):
        text = """
not indented"""
        return math.sqrt(x)

    return g, mo, random


@app.function
def f(x):
    return 1 / x


if __name__ == "__main__":
    app.run()
'''


def test_a_notebook_of_marimo_is_a_script_with_the_same_lines(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MARIMO)
    source, _ = read_submission(file)
    names = {}
    exec(compile(source, "mine.py", "exec"), names)
    assert names["g"](9) == 3
    assert (names["f"](4), names["random"].__name__) == (0.25, "random")
    assert source.splitlines().index("    return 1 / x") == MARIMO.splitlines().index("    return 1 / x")
    assert not {"app", "marimo", "mo"} & names.keys()
    file.write_text(MARIMO + "def f(:")
    assert read_submission(file)[0] == MARIMO + "def f(:"


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("01_click_models.py", True),
        ("Alice Smith_12345_assignsubmission_file_01_click_models.ipynb", True),
        ("alice-01_click_models (2).py", True),
        ("alice_01_click_models-1.py", True),
        ("01_click_models_old.py", False),
        ("click_models.py", False),
    ],
)
def test_a_submission_names_its_exercise_at_the_end(file, found):
    assert exercise_of_file(file) is (EXERCISE if found else None)


def test_an_exercise_is_found_by_number_and_name():
    assert find_exercise("1") is find_exercise("01") is find_exercise("01_click_models") is EXERCISE
