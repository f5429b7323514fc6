"""The command line: what it says, what it writes, how it fails."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import rankgym
from rankgym import ENVS, data
from rankgym.commands.agents import agent_texts
from rankgym.commands.compare import folder_name
from rankgym.commands.errors import one_line_warnings
from rankgym.commands.tables import fitting_table
from rankgym.estimates import mean_and_error, rounded, with_error
from rankgym.experiments import compare
from rankgym.experiments.bench import measure
from rankgym.experiments.plan.agents import SHAPE, knobs
from rankgym.models import MODELS
from rankgym_agents import AGENTS, DUELERS, RANKERS

ROOT = Path(__file__).resolve().parents[1]
TINY = ["--rounds", "120", "--query", "0,5", "--agents", "static,toprank"]


pytestmark = pytest.mark.usefixtures("quick_figures")


def plain(text):
    """Without colours, frames and line breaks."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


# -- help -------------------------------------------------------------------------------------------------------------


def test_help_teaches(run):
    result = run("--help")
    assert result.exit_code == 0
    assert "rankgym compare PBM-Yandex-v0" in plain(result.output)
    assert "RANKGYM_DEBUG=1" in result.output
    for command in ("compare", "envs", "agents", "bench", "data"):
        assert command in result.output
    text = plain(run("compare", "--help").output)
    for words in (
        "rankgym compare CM-Yandex-v0 --source published --agents toprank,cascade-kl-ucb --runs 2 --jobs 4",
        "--agents random,mine:Mine --query 0,3,7",
        "A violation of the safety constraint is a round whose list has over K / 2 more incorrectly ordered pairs",
        *SHAPE,  # what an agent of one's own is told
        "rankgym compare CM-Yandex-Breakpoint-v0 --agents cascade-kl-ucb,cascade-ducb,cascade-swucb",
        *[
            "--agents",
            "--rounds",
            "--runs",
            "--seed",
            "--out",
            "--source",
            "--query",
            "--positions",
            "--jobs",
            "--set",
            "--fresh",
        ],
    ):
        assert words in text
    assert "rankgym data import yandex60" in plain(run("data", "import", "--help").output)
    assert "--quick" in plain(run("bench", "--help").output)


def test_every_command_has_help(run):
    for words in (["envs"], ["agents"], ["bench"], ["data"], ["data", "list"], ["data", "fetch"], ["data", "import"]):
        result = run(*words, "--help")
        assert result.exit_code == 0
        assert f"Usage: rankgym {' '.join(words)}" in plain(result.output)


def test_version(run):
    assert run("--version").output == f"rankgym {rankgym.__version__}\n"


def test_python_m_rankgym():
    path = os.pathsep.join([str(ROOT), str(ROOT / "agents")])
    done = subprocess.run(
        [sys.executable, "-m", "rankgym", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout == f"rankgym {rankgym.__version__}\n"


# -- compare ----------------------------------------------------------------------------------------------------------


def test_compare_from_end_to_end(run, tmp_path, quick_figures):
    quick_figures.undo()
    result = run("compare", "PBM-Synthetic-v0", *TINY)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "results" / "PBM-Synthetic-v0-query=0_5"
    assert {path.name for path in folder.iterdir()} == {
        "compare.json",
        "lock",
        "log.jsonl",
        "plan.json",
        "regret.png",
        "regret.svg",
        "results",
        "static.npz",
        "sweep.json",
        "table.csv",
        "table.md",
        "toprank.npz",
    }
    text = plain(result.stdout)
    assert "rankgym/PBM-Synthetic-v0: mean ± standard error over 2 queries, 1 run each; 120 rounds, seed 0" in text
    regret = np.load(folder / "toprank.npz")["regret"][-1]
    shown = re.search(r"toprank .*", result.stdout)[0]
    assert f"{regret.mean():.1f} ± {regret.std(ddof=1) / np.sqrt(2):.1f}" in shown
    assert "kept" not in result.output


def test_options_reach_the_comparison(run, tmp_path):
    words = ["--seed", "9", "--runs", "2", "--positions", "3", "--set", "cutoff=2", "--set", "reference=sorted"]
    assert run("compare", "rankgym/PBM-Synthetic-v0", *TINY, *words, "--out", "here").exit_code == 0
    settings = json.loads((tmp_path / "here" / "compare.json").read_text())
    assert settings["arguments"] == {"horizon": 120, "num_positions": 3, "cutoff": 2, "reference": "sorted"}
    assert [settings[k] for k in ("seed", "runs", "queries", "cutoff")] == [9, 2, [0, 5], 2]


@pytest.mark.parametrize(
    ("env", "arguments", "query", "folder"),
    [
        ("PBM-Yandex-v0", {}, "all", "PBM-Yandex-v0"),
        ("PBM-Yandex-v0", {"source": "calibrated"}, "all", "PBM-Yandex-v0"),
        (
            "PBM-Yandex-v0",
            {"num_positions": 5},
            "all",
            "PBM-Yandex-v0-positions=5",
        ),  # of fits, the default may be fewer
        ("PBM-Yandex-v0", {"source": "published"}, "0,3", "PBM-Yandex-v0-query=0_3-published"),
        ("PBM-Yandex-v0", {"num_positions": 3, "cutoff": 2}, "test", "PBM-Yandex-v0-cutoff=2-positions=3-query=test"),
        ("PBM-Yandex-v0", {"cutoff": 2, "num_positions": 3}, "test", "PBM-Yandex-v0-cutoff=2-positions=3-query=test"),
        ("CM-Yandex-Breakpoint-v0", {"num_breakpoints": 3}, "all", "CM-Yandex-Breakpoint-v0-num_breakpoints=3"),
        ("CM-Yandex-Breakpoint-v0", {"breakpoints": [3]}, "all", "CM-Yandex-Breakpoint-v0-breakpoints=_3"),
        ("CM-Synthetic-v0", {"reference": "../sorted"}, "all", "CM-Synthetic-v0-reference=.._sorted"),
    ],
)
def test_the_default_folder_says_what_is_not_the_default(env, arguments, query, folder):
    assert folder_name(f"rankgym/{env}", arguments, query) == folder


def test_a_long_folder_name_is_cut_and_still_its_own():
    names = {
        folder_name("rankgym/PBM-Synthetic-v0", {"parameters": {"attraction": [0.5] * 50 + [last]}}, "all")
        for last in (0.1, 0.2)
    }
    assert len(names) == 2
    assert all(len(name) == 80 and name.startswith("PBM-Synthetic-v0-parameters=_attraction") for name in names)


def test_regret_per_epoch_is_shown_below_the_table(run, tmp_path):
    words = ["--set", "breakpoints=[30,90]", "--out", "here"]
    result = run("compare", "CM-Yandex-Breakpoint-v0", *TINY, *words)
    assert result.exit_code == 0, result.output
    table, epochs = result.stdout.split("regret per epoch, by its first round\n")
    assert "NDCG" in table
    assert "NDCG" not in epochs
    assert plain(epochs).startswith("agent 0 30 90 static ")
    regrets = np.load(tmp_path / "here" / "toprank.npz")["epoch_regret"]
    shown = [with_error(*map(float, mean_and_error(r))) for r in regrets]
    assert re.search(r"toprank .*" + ".* ".join(map(re.escape, shown)), epochs)
    assert "rankgym/CM-Yandex-Breakpoint-v0, calibrated click models: mean" in epochs
    result = run("compare", "CM-Yandex-Breakpoint-v0", *TINY, "--set", "num_breakpoints=2")
    assert "regret per epoch, by its number, mean over the rows that have come to it\n" in result.stdout
    assert "seed 0; breakpoints drawn for each row" in result.stdout
    assert "per epoch" not in run("compare", "CM-Yandex-v0", *TINY).output


@pytest.mark.parametrize(
    ("env", "columns", "words"),
    [
        ("PBM-Synthetic-v0", 120, "mean ± standard error over 2 queries"),
        ("PBM-Synthetic-v0", 60, "mean, partly ± standard error, over 2 queries"),
        ("PBM-Synthetic-v0", 24, "mean ± standard error over 2 queries"),  # of the regret, and nothing else is there
        ("PBM-Synthetic-v0", 16, "mean over 2 queries"),
        ("CM-Yandex-Breakpoint-v0", 160, "mean ± standard error over 2 queries"),
        ("CM-Yandex-Breakpoint-v0", 100, "mean, partly ± standard error, over 2 queries"),
        ("CM-Yandex-Breakpoint-v0", 24, "mean, partly ± standard error, over 2 queries"),
        ("CM-Yandex-Breakpoint-v0", 16, "mean over 2 queries"),
    ],
)
def test_the_caption_tells_of_the_errors_that_are_shown(run, monkeypatch, columns, env, words):
    """Of some, where the table has room for them and that of the epochs has not, or only the regret has them."""
    monkeypatch.setenv("COLUMNS", str(columns))
    breakpoints = ["--set", "epoch_lengths=15"] if "Breakpoint" in env else []
    result = run("compare", env, *TINY, *breakpoints, "--out", "here")
    table = result.stdout.partition("rankgym/")[0]
    assert ("±" in table) == ("±" in words)
    text = plain(result.stdout)
    assert words in text
    assert ("; standard errors in table.csv" in text) == ("mean ± standard" not in words)
    assert "mean ± standard error over 2 queries" in Path("here/table.md").read_text()


@pytest.mark.parametrize("columns", [40, 80])
def test_lines_below_the_tables_are_wrapped_at_words(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for _ in range(2):  # the second time with a note
        lines = run("compare", "PBM-Synthetic-v0", *TINY, "--out", "here").stdout.splitlines()
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    assert "Written to here: regret.png, regret.svg, table.csv, table.md, compare.json, a history for each" in text
    assert "all 2 rows of every agent were kept from an earlier run; --fresh plays them again" in text
    assert "over 2 queries, 1 run each; 120 rounds, seed 0" in text


def test_all_agents_by_default(run, tmp_path):
    assert run("compare", "CM-Synthetic-v0", "--rounds", "20", "--query", "0", "--out", "here").exit_code == 0
    settings = json.loads((tmp_path / "here" / "compare.json").read_text())
    assert [agent["name"] for agent in settings["agents"]] == list(RANKERS)


def test_duels_by_the_command_line(run, tmp_path):
    words = ["--agents", "random-duels,rucb:alpha=0.6", "--rounds", "1000", "--runs", "3", "--problem", "4,0"]
    result = run("compare", "Dueling-Synthetic-v0", *words, "--set", "num_arms=4", "--jobs", "2", "--out", "here")
    assert result.exit_code == 0, result.output
    text = plain(result.stdout)
    for words in ("accuracy", "at last", "duels", "rucb:alpha=0.6", "over 2 problems, 3 runs each; 1k rounds, seed 0"):
        assert words in text
    settings = json.loads((tmp_path / "here" / "compare.json").read_text())
    assert (settings["problems"], settings["arguments"]) == ([4, 0], {"horizon": 1000, "num_arms": 4})
    assert {"regret.png", "regret.svg", "rucb_alpha=0.6.npz"} <= {path.name for path in (tmp_path / "here").iterdir()}


def test_all_dueling_agents_by_default_and_a_folder_by_the_problem(run, tmp_path):
    assert run("compare", "Dueling-Synthetic-v0", "--rounds", "20", "--problem", "3").exit_code == 0
    settings = json.loads((tmp_path / "results" / "Dueling-Synthetic-v0-query=3" / "compare.json").read_text())
    assert [agent["name"] for agent in settings["agents"]] == list(DUELERS)


def test_agents_of_the_other_kind_are_refused_in_one_line(run):
    result = run("compare", "Dueling-Arxiv-v0", "--agents", "rucb,toprank")
    assert (result.exit_code, result.stdout) == (2, "")
    few = f"mergerucb, rucb, rcs, btm and {len(DUELERS) - 4} more"
    allowed = f"allowed for rankgym/Dueling-Arxiv-v0: {few}, or one of your own; "
    allowed += "`rankgym agents` lists all"
    assert result.stderr == f"error: agent = 'toprank' ranks items, but the environment has duels of arms; {allowed}\n"
    result = run("compare", "Dueling-Arxiv-v0", "--agents", "rucb", "--set", "problem=3")
    assert "--set problem=3: problem cannot be set" in result.stderr
    result = run("compare", "Dueling-Arxiv-v0", "--agents", "rucb", "--problem", "1")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("error: problem = 1 is out of range; allowed: 0 .. 0, ")


def test_resuming_is_said_and_fresh_plays_again(run, tmp_path):
    said = "all 2 rows of every agent were kept from an earlier run; --fresh plays them again"
    assert said not in run("compare", "PBM-Synthetic-v0", *TINY).output
    assert said in run("compare", "PBM-Synthetic-v0", *TINY).output
    assert said not in run("compare", "PBM-Synthetic-v0", *TINY, "--fresh").output
    assert said in run("compare", "PBM-Synthetic-v0", *TINY, "--jobs", "2").output


def test_an_agent_of_ones_own_in_this_folder(run, tmp_path):
    name = f"mine_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(
        "import numpy as np\n"
        "class Mine:\n"
        "    def __init__(self, num_positions, num_envs, *, first=0):\n"
        "        self.lists = np.tile((np.arange(num_positions) + first), (num_envs, 1))\n"
        "    def act(self, observation):\n"
        "        return self.lists.copy()\n"
        "    def update(self, displayed, clicks):\n"
        "        pass\n"
    )
    agents = f"static,{name}:Mine,{name}:Mine:first=5"
    words = ["--rounds", "50", "--query", "0", "--agents", agents, "--out", "here"]
    result = run("compare", "PBM-Synthetic-v0", *words)
    assert result.exit_code == 0, result.output
    static, same, other = (
        np.load(tmp_path / "here" / f"{file}.npz")["regret"]
        for file in ("static", f"{name}_Mine", f"{name}_Mine_first=5")
    )
    assert np.array_equal(static, same)
    assert not np.array_equal(static, other)


@pytest.mark.parametrize("columns", [60, 80, 100, 120])
def test_the_table_fits_the_terminal_or_is_as_small_as_can_be(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = run("compare", "PBM-Synthetic-v0", *TINY)
    heads = next(line for line in result.stdout.splitlines() if line.startswith(" agent"))
    assert ("a second" in heads) == (columns >= 80)
    assert ("a round" in heads) == (columns >= 100)
    assert heads.split()[1] == ("100" if columns >= 120 else "120")  # regret after 100 rounds, or only after all
    assert columns < 80 or "at 5" in heads
    assert max(map(len, result.stdout.splitlines()[:6])) <= columns
    assert "…" not in result.stdout


def test_columns_and_errors_go_one_by_one_where_there_is_less_room():
    found = compare("PBM-Synthetic-v0", ["static", "toprank"], rounds=120, query=[0, 5], progress=False)
    everything = ["a round", "a second", "in first 100", "at 5", "in all"]
    seen = []
    for width in range(120, 20, -1):
        console = Console(file=io.StringIO(), width=width)
        console.print(fitting_table(found, console)[0])
        text = console.file.getvalue()
        shown = [word for word in everything if word in text]
        if (state := (shown, text.count("±"))) not in seen:
            seen.append(state)
    errors = 12, 10  # two agents with regret after 100 and 120, violations twice, NDCG and reward
    assert seen[0] == (everything, errors[0])
    assert seen[1] == (everything, errors[1])  # the regret after 100 goes first
    assert seen[2:4] == [(everything[1:], 8), (everything[2:], 8)]
    # then the errors of all but the regret, columns again, and those of the regret as late as can be
    assert seen[4:] == [(everything[2:], 2), (everything[3:], 2), (everything[4:], 2), ([], 2), ([], 0)]


@pytest.mark.parametrize("columns", [24, 40, 60])
def test_neither_numbers_nor_names_are_cut(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    agents = "static,cascade-kl-ucb:feedback=last:exploration=log"
    result = run("compare", "PBM-Synthetic-v0", *TINY[:-1], agents, "--positions", "3")
    table = result.stdout.split("rankgym/PBM-Synthetic-v0:")[0]
    assert "…" not in result.stdout + result.stderr
    assert max(map(len, table.splitlines())) <= columns
    file = next(Path("results").rglob("static.npz"))
    assert rounded(*map(float, mean_and_error(np.load(file)["regret"][-1])))[0] in table
    assert "cascade-kl-ucb:feedback=last:exploration=log" in "".join(
        line.split()[0] for line in table.splitlines() if line.strip() and not line.startswith(" static")
    )


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["PBM-Syntetic-v0"],
            "environment 'PBM-Syntetic-v0' is unknown; did you mean 'PBM-Synthetic-v0'? "
            f"`rankgym envs` lists all {len(ENVS)}",
        ),
        (
            ["PBM-Synthetic-v0", "--rounds", "0"],
            "rounds = 0 is out of range; allowed: a whole number in 1 .. 1000000000000000",
        ),
        (
            ["PBM-Synthetic-v0", "--agents", "toprank:delta=2"],
            "agent = 'toprank:delta=2': delta = 2 is out of range; allowed: a number in (0, 1)",
        ),
        (
            ["PBM-Synthetic-v0", "--query", "first"],
            "--query first is not a choice of queries; allowed: all, train, test, or numbers: 0,3,7",
        ),
        (["PBM-Synthetic-v0", "--set", "cutoff"], "--set cutoff is not an assignment; allowed: key=value"),
        (
            ["PBM-Synthetic-v0", "--set", "rounds=3"],
            "--set rounds=3: rounds cannot be set; see rankgym compare --help",
        ),
        (
            ["PBM-Synthetic-v0", "--set", "cutoff=7"],
            "cutoff = 7 is out of range; allowed: a whole number in 1 .. 5",
        ),
        (
            ["PBM-Synthetic-v0", "--set", "cutof=3"],
            "rankgym/PBM-Synthetic-v0 has no argument 'cutof'; did you mean 'cutoff'? allowed: model, dataset, source, "
            "num_items, num_positions, cutoff, reward, reference, parameters, initial_list, horizon, "
            "max_episode_steps, autoreset_mode, render_mode",
        ),
        (
            ["PBM-Synthetic-v0", "--set", 'parameters={"attraction":[0.9'],
            '--set parameters: {"attraction":[0.9 is not valid JSON: '
            "Expecting ',' delimiter: line 1 column 19 (char 18)",
        ),
        (
            ["PBM-Synthetic-v0", "--rounds", "60", "--set", "max_episode_steps=50"],
            "rounds = 60 exceeds the environment's horizon of 50; allowed: at most 50 rounds, or an environment "
            "without horizon and max_episode_steps",
        ),
        (
            ["PBM-Synthetic-v0", "--positions", "3", "--set", "num_positions=4"],
            "--positions 3 and --set num_positions=4; allowed: one of them",
        ),
        (
            ["PBM-Yandex-v0", "--source", "calibrated", "--set", "source=published"],
            "--source calibrated and --set source=published; allowed: one of them",
        ),
        (
            ["PBM-Synthetic-v0", "--set", "cutoff=2", "--set", "cutoff=3"],
            "--set cutoff=3: cutoff is set twice; allowed: once",
        ),
        (
            ["PBM-Synthetic-v0", "--query", "3000"],
            "query = 3000 is out of range; allowed: 0 .. 999, several of these (0,3,7), all, train or test",
        ),
        (
            ["PBM-Synthetic-v0", "--query", "3,3"],
            "query = [3, 3] has 3 twice; allowed: each once, and runs=2 to play them twice",
        ),
    ],
)
def test_errors_are_one_plain_line_and_exit_code_2(run, tmp_path, words, message):
    result = run("compare", *words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {message}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["taken", "taken/inside"])
def test_a_bad_folder_is_refused_before_anything_is_played(run, monkeypatch, tmp_path, out):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setattr(measure, "measure", lambda *_, **__: pytest.fail("measured"))
    result = run("compare", "PBM-Synthetic-v0", *TINY, "--out", out)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: out = '{out}' cannot be written: ")
    assert "/120" not in result.stderr  # no bar
    if out == "taken/inside":
        assert run("bench", "--out", out).stderr == f"error: out = '{out}' cannot be written: taken is not a folder\n"
    assert run("bench", "--out", ".").stderr == "error: out = '.' is a folder; allowed: a file\n"
    assert (tmp_path / "taken").read_text() == "a file"


def test_debugging_shows_the_traceback(run, monkeypatch):
    monkeypatch.setenv("RANKGYM_DEBUG", "1")
    result = run("compare", "PBM-Synthetic-v0", "--rounds", "0")
    assert isinstance(result.exception, ValueError)


def test_failing_and_interrupted_agents(run, tmp_path):
    name = f"bad_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(
        "class Fails:\n"
        "    def act(self, observation):\n"
        "        return 1 / 0\n"
        "    def update(self, displayed, clicks):\n"
        "        pass\n"
        "class Stops(Fails):\n"
        "    def act(self, observation):\n"
        "        raise KeyboardInterrupt\n"
    )
    words = ["compare", "PBM-Synthetic-v0", "--query", "0", "--rounds", "9", "--agents"]
    failed = run(*words, f"{name}:Fails")
    assert failed.exit_code == 2
    assert failed.stderr == (
        f"importing {name}, which runs it: {tmp_path / name}.py\n"
        f"error: agent = '{name}:Fails': ZeroDivisionError: division by zero ({name}.py:3) "
        "(RANKGYM_DEBUG=1 shows the traceback)\n"
    )
    stopped = run(*words, f"{name}:Stops")
    assert stopped.exit_code == 130
    assert stopped.stderr == "interrupted; nothing was played yet; to start again: the same command\n"


def test_a_wrong_option_is_a_usage_error(run):
    assert run("compare", "PBM-Synthetic-v0", "--round", "3").exit_code == 2
    assert run("compare").exit_code == 2


# -- the registries, data and bench -----------------------------------------------------------------------------------


def test_envs_and_agents_list_their_tables(run):
    text = run("envs").stdout
    assert [line.split()[0] for line in text.splitlines() if line.startswith(" rankgym/")] == list(ENVS)
    text = run("agents").stdout
    for name in AGENTS:
        assert f"\n {name} " in text
    assert "Ranked" in text or "ranking" in text


def test_a_paper_is_what_stands_in_brackets_wherever(run):
    lines = {
        words[0]: words for words in (re.split(r"\s{2,}", line.strip()) for line in run("envs").stdout.splitlines())
    }
    assert lines["rankgym/PBM-Yandex-v0"][-1] == "TopRank section 6"
    text = "duels of the feature rankers of a LETOR file by interleaving and clicks; needs file="
    assert lines["rankgym/Dueling-LETOR-v0"][1:] == [text, "mergeRUCB section 5"]
    assert lines["rankgym/Dueling-Cyclic-v0"][-1].endswith("in a circle by much")
    assert not any(cell.count("(") != cell.count(")") for words in lines.values() for cell in words)


def test_lists_in_documentation_stay_lists(run):
    lines = run("agents", "mergerucb").stdout.splitlines()
    assert sum(line.startswith("* Line ") for line in lines) >= 4
    assert not any(" * Line " in line for line in lines)


def test_knobs_and_arguments_are_shown_with_their_defaults(run):
    text = plain(run("agents").stdout)
    assert "knobs: delta=null" in text
    assert "knobs: exploration=log+3loglog, feedback=first" in text
    assert "rankgym envs ENV lists the arguments" in run("envs").stdout
    text = plain(run("envs", "PBM-WeakTail-Rerank-v0").stdout)
    for words in (
        "num_positions 10",
        "initial_list [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]",
        "cutoff: how many positions count",
    ):
        assert words in text
    assert "did you mean 'PBM-Yandex-v0'?" in run("envs", "PBM-Yandx-v0").stderr


@pytest.mark.parametrize("name", ENVS)
def test_an_environments_arguments_and_how_it_is_made(run, name):
    text = run("envs", name).stdout
    choice = "problem" if "Dueling" in name and "Yandex" not in name and "LETOR" not in name else "query"
    assert text.startswith(f'gym.make_vec("{name}", num_envs=600, {choice}="all")\n')
    assert text.count("gym.make_vec(") == 1  # the docstring's example is of another one
    assert "null" not in plain(text).replace("none: see below for its meaning; with --set, type null.", "")
    assert re.search(r"autoreset_mode +NextStep", text)
    if "Dueling" in name:
        assert "regret: " in plain(text)
    else:
        assert "scenario" in text or "cutoff: how many positions count" in plain(text)


@pytest.mark.parametrize("name", [name for name in ENVS if re.match(r"rankgym/[A-Z]+-Synthetic-", name)])
def test_the_example_of_parameters_runs_as_it_stands(run, tmp_path, name):
    text = run("envs", name).stdout
    (line,) = (line for line in text.splitlines() if line.startswith("rankgym compare "))
    result = run(*shlex.split(line)[1:], "--out", "here")
    assert result.exit_code == 0, result.output
    settings = json.loads((tmp_path / "here" / "compare.json").read_text())
    model = MODELS[name.partition("/")[2].partition("-")[0]]
    given = settings["arguments"]["parameters"]
    assert list(given) == list(model.axes)  # all of them, none is drawn
    assert settings["queries"] == [0]
    assert all(f"\n {key} " in text for key in given)
    for key, axes in model.axes.items():
        assert np.shape(given[key]) == tuple(3 if axis == "item" else 2 for axis in axes)


@pytest.mark.parametrize("name", AGENTS)
def test_one_agents_knobs_and_documentation(run, name):
    result = run("agents", name)
    assert result.exit_code == 0, result.output
    text, cls = plain(result.stdout), AGENTS[name]
    assert text.startswith(f"{name}: {cls.__module__}.{cls.__qualname__} ")
    assert all(re.search(rf"\b{knob}\b", text) for knob in knobs(cls))
    for documented in (cls, sys.modules[cls.__module__]):
        assert plain(documented.__doc__.replace("``", "`")) in text
    assert "rankgym agents AGENT shows" in run("agents").stdout


def test_the_documentation_of_an_agent_of_ones_own_and_of_none(run, tmp_path):
    name = f"documented_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(
        "class Mine:\n"
        '    """Ranks by\n    taste.\n\n    Args:\n'
        '        bold: how\n            much.\n        shy: or not.\n    """\n'
        "    def __init__(self, num_items, bold, shy=2):\n"
        "        pass\n"
        "    act = update = __init__\n"
    )
    lines = [line.rstrip() for line in run("agents", f"{name}:Mine").stdout.splitlines()]
    assert lines[0] == f"{name}:Mine: {name}.Mine"
    assert [line.split() for line in lines[4:6]] == [["bold"], ["shy", "2"]]
    assert lines[-5:] == ["Ranks by taste.", "", "Args:", "    bold: how much.", "    shy: or not."]
    wrong = run("agents", "topranc")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: agent = 'topranc' is unknown; did you mean 'toprank'? ")


def test_learners_name_their_papers():
    of_no_paper = {"static", "random", "random-duels", "bayes-index", "bayes-thompson", "adaptive-index"}
    for name, cls in AGENTS.items():
        what, paper = agent_texts(cls)
        assert what
        assert bool(re.search(r"\b20\d\d\b", paper)) == (name not in of_no_paper), name


def test_data_commands_call_the_data_room(run, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(data, "fetch", lambda name: calls.append(("fetch", name)) or tmp_path / "a")
    monkeypatch.setattr(data, "import_file", lambda name, file: calls.append((name, file)) or tmp_path / "b")
    fetched, imported = run("data", "fetch", "yandex60"), run("data", "import", "yandex60", "some.pkl")
    assert (fetched.exit_code, imported.exit_code) == (0, 0), fetched.output + imported.output
    assert calls == [("fetch", "yandex60"), ("yandex60", Path("some.pkl"))]
    assert fetched.stdout == f"yandex60: {tmp_path / 'a'}\n"
    monkeypatch.setattr(data.catalogue, "usable", lambda name: True)
    said = f"yandex60: already here, nothing was downloaded: {tmp_path / 'a'}\n"
    assert run("data", "fetch", "yandex60").stdout == said


def test_an_imported_matrix_is_played_by_what_import_says(run, monkeypatch, tmp_path):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "order.txt").write_text("0.5 0.7\n0.3 0.5\n")
    (tmp_path / "circle.txt").write_text("0.5 0.7 0.3\n0.3 0.5 0.7\n0.7 0.3 0.5\n")
    said = {name: run("data", "import", name, f"{name}.txt").stdout.splitlines()[1] for name in ("order", "circle")}
    assert said["order"].startswith("2 arms, Condorcet winner 0; rankgym compare ")
    assert said["circle"].startswith("3 arms, no Condorcet winner; rankgym compare ")
    for line in said.values():
        command = re.fullmatch(r".*; rankgym (.*) plays it", line)[1]
        assert run(*command.split(), "--agents", "rucb", "--rounds", "20").exit_code == 0


def test_data_list_tells_where_everything_comes_from(run, monkeypatch, tmp_path):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data"))
    result = run("data", "list")
    text = plain(result.stdout)
    for dataset in data.listing():
        for value in dataset.values():
            assert plain(value) in text
    monkeypatch.setenv("COLUMNS", "40")
    assert "…" not in run("data", "list").stdout
    assert f"data folder: {tmp_path / 'data'}" in text


def test_data_errors_are_one_line(run, monkeypatch, tmp_path):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data"))
    assert run("data", "import", "yandex60", "nothing.pkl").stderr == "error: nothing.pkl: No such file or directory\n"
    missing = run("compare", "PBM-Yandex-v0", "--source", "published")
    assert missing.exit_code == 2
    assert missing.stderr.startswith("error: yandex60, the published data, is not in the cache (")
    assert missing.stderr.endswith("run `rankgym data fetch yandex60` or `rankgym data import yandex60 FILE`\n")


def test_bench_refuses_what_are_no_numbers(run):
    result = run("bench", "--rows", "many")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: --rows many is not a list of numbers; allowed: numbers, such as 1,64,600,6000\n",
    )


def test_a_warning_is_a_line_and_is_printed_once():
    with one_line_warnings():
        said = [warnings.formatwarning(text, UserWarning, "file.py", 1) for text in ("a\nb", "a\nb", "c")]
    assert said == ["warning: a b\n", "", "warning: c\n"]
