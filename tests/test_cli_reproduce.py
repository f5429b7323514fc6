"""``rankgym reproduce``: the list, the claims on a terminal, and what is said in the end."""

import pytest
import typer
from typer.testing import CliRunner

from rankgym.commands import reproduce as command
from rankgym.commands.errors import OneLineErrors
from rankgym.experiments.papers import FIGURES
from rankgym.experiments.papers.pace import Pace


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("RANKGYM_DEBUG", raising=False)
    app = typer.Typer(cls=OneLineErrors, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command()(command.reproduce)
    return lambda *words: CliRunner().invoke(app, ["reproduce", *words])


def test_the_list_is_the_table(reproduce, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("RANKGYM_LETOR_FILE", raising=False)
    result = reproduce("--list")
    assert result.exit_code == 0, result.output
    listed = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ") and line[2] != " "]
    assert listed == list(FIGURES)
    for figure in FIGURES.values():
        assert f"{figure.name}  {figure.title}" in result.stdout
    assert "full 4.5e10, small 2.2e9, smoke 9e4 sessions; data: yandex60 (not here" in result.stdout


def test_mistakes_are_said_in_one_line(reproduce, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "none"))
    for words, said in (
        (["bubblerank-figure-9"], "did you mean"),
        ([], "--list"),
        (["toprank", "--scale", "smal"], "did you mean 'small'"),
        (["toprank", "--source", "public"], "did you mean 'published'"),
        (["toprank"], "rankgym data fetch yandex60"),
    ):
        result = reproduce(*words)
        assert result.exit_code == 2
        assert said in result.stderr
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "reproduced").exists()


def test_a_smoke_run_shows_verdicts_and_where_everything_is(reproduce, tmp_path):
    for library in ("pyarrow", "joblib", "filelock", "scipy", "matplotlib"):
        pytest.importorskip(library)
    result = reproduce("toprank-figure-4", "--scale", "smoke", "--source", "calibrated", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert "cannot be decided" in result.stdout
    assert "Of 10 claims" in result.stdout
    assert "Written to reproduced/toprank-figure-4-smoke-calibrated: figure.png" in result.stdout.replace("\\", "/")
    assert "sessions" in result.stdout.splitlines()[-1]
    assert (tmp_path / "reproduced" / "toprank-figure-4-smoke-calibrated" / "report.html").is_file()


def test_the_pace_in_words():
    pace = Pace(4_500_000_000, 4_000_000_000, 1_500.0, 45_000_000_000, 15_000.0)
    words = command.pace_in_words(pace, "small")
    assert "4.5e9 sessions (4e9 of them really played" in words
    assert "3 M a second of one process" in words
    assert "--scale full has 4.5e10 sessions: at these rates 4 h 10 min of one process, 2 h 5 min of two" in words
    assert "full" not in command.pace_in_words(pace, "full")
    assert "too little to estimate" in command.pace_in_words(pace._replace(seconds=3.0), "small")
    assert "too little to estimate" in command.pace_in_words(pace, "smoke")  # beginnings are most of it, however long
