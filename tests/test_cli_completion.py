"""Completion for shells: commands, options and values, quickly; the names agree with the tables they are read from."""

import json
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgym import data
from rankgym.commands import completion
from rankgym.experiments.papers import FIGURES, PAPERS
from rankgym.experiments.plan.agents import shipped_models
from rankgym.models import MODELS
from rankgym.registry import ENVS
from rankgym_agents import AGENTS

ALGORITHMS = pytest.importorskip("rankgym.sb3.defaults", reason="needs the extra sb3", exc_type=ImportError).ALGORITHMS

SHORT = [name.removeprefix("rankgym/") for name in ENVS]
PROGRAM = """
import json, os, sys
for asked in json.loads(sys.argv.pop()):
    os.environ.update(asked)
    from rankgym.cli import main
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    print([name for name in ("numba", "numpy", "gymnasium", "torch", "matplotlib") if name in sys.modules], end="\\0")
"""


def question(shell, line):
    """What a shell says in its environment of a line whose last word is being typed."""
    if shell != "bash":
        return {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    words = re.findall(r"[:=]+|[^ :=]+|(?<= )$", line)
    return {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}


def ask(shell, lines):
    """Return, by line, what the shell is told, and which heavy modules have been imported until then."""
    questions = json.dumps([{"_RANKGYM_COMPLETE": f"complete_{shell}", **question(shell, line)} for line in lines])
    done = subprocess.run([sys.executable, "-c", PROGRAM, questions], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers = [answer.strip().split("\n") for answer in done.stdout.split("\0")[:-1]]
    return {line: (" ".join(told), heavy) for line, (*told, heavy) in zip(lines, answers, strict=True)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_names_and_no_compiler_is_imported(shell):
    expected = {
        "rankgym comp": (["compare"], ["train"]),
        "rankgym sweep re": (["resume", "report"], ["status"]),
        "rankgym compare --ro": (["--rounds"], ["--runs"]),
        "rankgym compare PBM-Yandex-": (["PBM-Yandex-v0", "PBM-Yandex-Rerank-v0"], ["CM-Yandex-v0"]),
        "rankgym compare rankgym/Duel": (["rankgym/Dueling-MSLR-v0"], ["rankgym/CM-Yandex-v0"]),
        "rankgym compare CM-Yandex-v0 --agents static,top": (["static,toprank"], ["bubblerank"]),
        "rankgym compare CM-Yandex-v0 --source c": (["calibrated"], ["published"]),
    }
    for line, (told, heavy) in ask(shell, expected).items():
        offered, others = expected[line]
        assert all(word in told for word in offered), (line, told)
        assert not any(word in told for word in others), line
        assert heavy == "[]", line


def test_bash_breaks_words_and_gets_the_last_piece():
    expected = {
        "rankgym grade mine.py:EpsGreedy PBM-Yandex-R": "PBM-Yandex-Rerank-v0",
        "rankgym compare CM-Yandex-v0 --agents toprank:delta=0.1,batc": "0.1,batchrank",
        "rankgym compare CM-Yandex-v0 --agents=top": "toprank",
        "rankgym compare CM-Yandex-v0 --agents=toprank:delta=0.1,batc": "0.1,batchrank",
        "rankgym compare CM-Yandex-v0 --source=": "calibrated published",
        "rankgym compare CM-Yandex-v0 --set model=PB": "PBM",
    }
    assert {line: told for line, (told, _) in ask("bash", expected).items()} == expected


@pytest.mark.parametrize(("option", "words"), [("--show-completion", ["#compdef rankgym"])])
def test_a_shell_that_is_named_is_meant(option, words):
    command = [sys.executable, "-m", "rankgym", option, "zsh"]
    shown = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert all(word in shown.stdout for word in words)
    wrong = subprocess.run([*command[:-1], "tcsh"], capture_output=True, text=True, env=os.environ)
    assert wrong.returncode == 2
    assert "'zsh'" in wrong.stderr


def test_values_are_completed():
    expected = {
        "rankgym train CM-Yandex-v0,PBM-Yandex-R": "CM-Yandex-v0,PBM-Yandex-Rerank-v0",
        "rankgym train CM-Yandex-v0 --algo mask": "maskable-ppo",
        "rankgym train CM-Yandex-v0 --policy pl": "plackett-luce",
        "rankgym compare CM-Yandex-v0 --set model=P": "model=PBM",
        "rankgym compare CM-Yandex-v0 --agents ppo-": "ppo-pbm",
        "rankgym grade a.py:B CM-Yandex-v0 --against casc": "cascade-ucb1",
        "rankgym data fetch y": "yandex60",
        "rankgym data import m": "mslr",
        "rankgym reproduce bubblerank-f": "bubblerank-figure-1",
        "rankgym reproduce bubblerank --scale sm": "smoke",
        "rankgym agents top": "toprank",
        "rankgym envs PBM": "PBM-Yandex-v0",
        "rankgym assumptions PBM": "PBM-Yandex-v0",
    }
    for line, (told, _) in ask("fish", expected).items():
        assert expected[line] in told.split(), line


def test_all_names_are_those_of_the_tables():
    assert completion.environments("") == SHORT
    assert completion.environments("rankgym/") == list(ENVS)
    assert completion.agents("") == [*AGENTS, *shipped_models()]
    assert completion.data_sets("") == data.published_names()
    assert set(completion.figures("")) == {"all", *PAPERS, *FIGURES}
    assert completion.algorithms("") == list(ALGORITHMS)
    assert completion.assignments("model=") == [f"model={model}" for model in MODELS]


@given(st.lists(st.sampled_from(sorted(AGENTS)), unique=True, min_size=1), st.integers(0, 20))
def test_the_last_entry_of_a_list_is_completed(chosen, length):
    *before, last = chosen
    typed = ",".join([*before, last[:length]])
    offered = completion.listed(completion.agents)(typed)
    assert ",".join(chosen) in offered
    assert all(word.startswith(typed) for word in offered)
    assert all(len(set(word.split(","))) == len(chosen) for word in offered)


@given(st.text())
def test_whatever_is_typed_nothing_breaks(typed):
    for names in (completion.environments, completion.agents, completion.assignments, completion.figures):
        for complete in (names, completion.listed(names)):
            assert all(word.startswith(typed) for word in complete(typed))


def test_choices_are_read_from_what_help_shows():
    assert completion.words("all|train|test|0,3,7")("t") == ["train", "test"]
    assert completion.words("KEY=VALUE") is completion.words("A,B,...") is None


def test_scripts_for_shells_are_shown_and_help_says_so(run):
    assert re.search(r"--install-completion.*--show-completion", run("--help").output, re.S)
    shown = subprocess.run(
        [sys.executable, "-m", "rankgym", "--show-completion", "bash"],
        capture_output=True,
        text=True,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert "_RANKGYM_COMPLETE=complete_bash" in shown.stdout
