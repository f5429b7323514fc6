"""Progress in notebooks: without ipywidgets, rich shows a warning and no bar; a plain line shows how far it is."""

import sys
from importlib.util import find_spec

import pytest

from rankgym import progress
from rankgym.experiments.run import display

CELL = """
import time, warnings
warnings.simplefilter("error")
from rankgym import experiments, progress
from rankgym.experiments.run import display
progress.PATIENCE = display.PATIENCE = progress.REWRITE_SECONDS = 0.0
with progress.late_bar(True, 100, "simulate", lambda: progress.rate_bar("rounds")) as report:
    for _ in range(4):
        time.sleep(0.01)
        report(25)
with progress.working("trying it"):
    pass
experiments.compare("PBM-Yandex-v0", ["static"], query=0, rounds=2_000_000)
"""


@pytest.mark.skipif(find_spec("ipywidgets") is not None, reason="ipywidgets is installed, and rich shows its own bars")
def test_a_notebook_without_ipywidgets_shows_progress():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    shown = "".join(output.get("text", "") for output in outputs if output.get("name") == "stderr")
    assert "ipywidgets" not in str(outputs)
    lines = shown.split("\r")
    assert any(line.startswith("simulate") and "50/100" in line for line in lines)
    assert any(line.startswith("simulate") and "100/100" in line for line in lines)
    assert "trying it ...\n" in shown
    assert " of 1 jobs, " in shown


@pytest.fixture
def bare_notebook(monkeypatch):
    """A notebook's kernel without ipywidgets, as far as rankgym can tell, in which lines are rewritten at once."""
    monkeypatch.setattr(progress, "without_widgets", lambda: True)
    monkeypatch.setattr(display, "without_widgets", lambda: True)
    monkeypatch.setattr(progress, "REWRITE_SECONDS", 0.0)


def test_a_line_is_written_over_and_ended(bare_notebook, capsys):
    bars = progress.rate_bar("steps", note=True)
    bars.add_task("train", total=10, note="")
    bars.start()
    bars.update(bars.task_ids[0], completed=5, note="regret 3")
    bars.stop()
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert "regret 3" in text.split("\r")[-1]
    assert "5/10" in text.split("\r")[-1]


def test_a_shorter_text_leaves_nothing_of_a_longer_one(bare_notebook, capsys):
    line = progress.RewrittenLine()
    line.write("a long text")
    line.write("short")
    line.close()
    line.close()
    assert capsys.readouterr().err == "\ra long text\rshort      \n"


def test_a_line_is_not_written_too_often(bare_notebook, monkeypatch, capsys):
    monkeypatch.setattr(progress, "REWRITE_SECONDS", 1000.0)
    line = progress.RewrittenLine()
    for number in range(100):
        line.write(f"{number}")
    assert capsys.readouterr().err == "\r0"
    line.write("the end", at_once=True)
    assert "the end" in capsys.readouterr().err


def test_on_a_terminal_bars_are_those_of_rich(monkeypatch):
    from rich.progress import Progress

    assert not progress.without_widgets()
    assert type(progress.count_bar("lists")) is Progress
    assert progress.error_console().file is sys.stderr
