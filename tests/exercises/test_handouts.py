"""Handouts run as they are, and filled in, as scripts and as notebooks."""

import runpy

import jupytext
import pytest
from mistakes import filled

from rankgym.exercises.exercise import Exercise
from rankgym.exercises.handouts import sections
from rankgym.exercises.topics.table import EXERCISES


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_a_handout_runs_before_anything_is_written(exercise):
    runpy.run_path(str(exercise.handout), run_name="__main__")


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_a_handout_runs_as_a_notebook_when_it_is_filled_in(exercise, tmp_path):
    client = pytest.importorskip("nbclient").NotebookClient(
        jupytext.reads(filled(exercise.name), fmt="py:percent"),
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    printed = [out.get("text", "") for cell in client.nb.cells for out in cell.get("outputs", [])]
    assert any(printed), "the demonstrations print nothing"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_a_handout_has_a_picture_and_a_function_for_each_check(exercise):
    text = exercise.handout.read_text()
    assert f"](pictures/{exercise.name}.svg)" in text
    assert (exercise.handout.parent / "pictures" / f"{exercise.name}.svg").is_file()
    numbered = {name: section for section, names in sections(exercise).items() for name in names}
    for check in exercise.checks:
        assert f" {numbered[check.of]} " in text, f"{check.of} is in no section"
        assert f"def {check.of}(" in text or f"class {check.of}" in text, check.of
        assert check.hints, check.name
        assert check.statement.endswith("."), check.statement


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.name)
def test_a_picture_can_be_drawn_again(exercise):
    drawing = runpy.run_path(str(exercise.handout.parent / "pictures" / f"{exercise.name}.py"), run_name="drawing")
    assert drawing["draw"]().axes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# ## 1.1 Add\ndef add(): ...\ndef help(): ...\n# ### 1.2. Sub\nclass Sub: ...\n", "add help; Sub"),
        ("def f():\n    raise NotImplementedError('1.1')\nclass C:\n    def f(self):\n"
         "        raise NotImplementedError('1.2')\n", "f; C"),
        ("# ## 1.1 Add\n# ## Try it\ndef show(): ...\n# ## 1.2 Sub\ndef sub(): ...\n", "; sub"),
        ("# ## 10 items\ndef f(: ...\n", "; "),
    ],
)  # fmt: skip
def test_a_section_has_the_functions_below_its_heading_or_that_name_it(tmp_path, text, found):
    (tmp_path / "21_own.py").write_text(text)
    places = sections(Exercise("Own", tmp_path / "21_own.py", ()))
    assert "; ".join(" ".join(places.get(section, ())) for section in ("1.1", "1.2")) == found
