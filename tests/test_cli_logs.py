"""``rankgym data simulate`` and ``rankgym data evaluate``."""

import re

import numpy as np
import pytest

from rankgym.commands import completion
from rankgym.logs.evaluation import estimate, played_log, true_value
from rankgym.logs.policies import POLICIES, policy_of
from rankgym.logs.simulating import FORMATS, Simulation
from rankgym_agents import AGENTS

pytest.importorskip("pyarrow")
LUCE = "plackett-luce:temperature=0.5"


def plain(text):
    return " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", text).split())


def test_a_log_is_made_and_evaluated(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "data simulate CM-Yandex-v0 --sessions 6e3 --query 0,3 --out log.csv --policy plackett-luce"
    made = run(*words.split())
    assert made.exit_code == 0, made.output
    said = "6,000 sessions of plackett-luce:temperature=1, with the probabilities of lists and items at positions"
    assert plain(made.stdout) == f"log.csv: {said}"
    done = run(*f"data evaluate log.csv CM-Yandex-v0 --policy {LUCE} --policy random --cutoff 2".split())
    assert done.exit_code == 0, done.output
    simulation = Simulation("rankgym/CM-Yandex-v0", 6_000, "plackett-luce", query=[0, 3])
    log = played_log(simulation)
    for name in (LUCE, "random"):
        policy = policy_of(name, simulation.env.queries.initial_list, 5)
        value, _ = true_value(simulation.env, policy, log.query, cutoff=2)
        assert f"{name} true {value:.4f} 0" in plain(done.stdout)
        for method in ("sips", "iips", "rips", "cascade-dr"):
            found = estimate(log, policy, method, cutoff=2)
            line = next(line for line in done.stdout.splitlines() if line.split()[:2] == [name, method])
            assert f"{found.low:.4f} .. {found.high:.4f}" in line
            assert f"{found.effective:,.0f}" in line
    assert "95 % interval" in done.stdout
    assert "6,000 sessions; clicks a session at the first 2 positions" in done.stdout
    other = run(*f"data evaluate log.csv CM-Yandex-v0 --policy {LUCE} --logging plackett-luce --bootstrap 20".split())
    assert other.exit_code == 0, other.output


def test_a_log_without_support_is_refused_or_in_doubt(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("log.csv", "log.parquet"):
        made = run(*f"data simulate CM-Yandex-v0 --sessions 3e2 --query 0,3 --policy static --out {name}".split())
        assert made.exit_code == 0, made.output
    doubted = run(*["data", "evaluate", "log.csv", "CM-Yandex-v0", "--policy", "random", "--policy", "static"])
    assert doubted.exit_code == 0, doubted.output
    assert plain(doubted.stdout).count("warning: random, cascade-dr: all weights are") == 1
    assert "warning: static" not in doubted.stdout
    line = next(line for line in doubted.stdout.splitlines() if line.split()[:2] == ["random", "rips"])
    assert " - " in line
    refused = run(*["data", "evaluate", "log.parquet", "CM-Yandex-v0", "--policy", "random"])
    assert refused.exit_code == 2
    assert "logging never; allowed: a log of a policy that explores there" in plain(refused.stderr)
    fits = run(*["data", "evaluate", "log.parquet", "CM-Yandex-v0", "--policy", "static"])
    assert fits.exit_code == 0
    assert "warning" not in fits.stdout


def test_a_folder_that_is_missing_is_named_with_the_log(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("data", "simulate", "PBM-Yandex-v0", "--sessions", "10", "--out", "nodir/log.csv")
    assert result.exit_code == 2
    assert "nodir/log.csv: No such file or directory: nodir; allowed: a folder that exists" in plain(result.stderr)


def test_a_log_of_more_positions_says_how_to_choose_them(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = "data simulate CM-Yandex-v0 --sessions 50 --query 0 --positions 3 --policy random"
    run(*made.split(), "--out", "log.csv")
    words = ["data", "evaluate", "log.csv", "CM-Yandex-v0", "--policy", "random"]
    said = "log.csv has 3 positions, the environment 5; allowed: the same, with --positions 3"
    assert said in plain(run(*words).stderr)
    assert run(*words, "--positions", "3").exit_code == 0


def test_broken_lines_of_an_evaluated_log_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = "data simulate CM-Yandex-v0 --sessions 1000 --query 0 --policy random --out log.csv"
    run(*made.split())
    with (tmp_path / "log.csv").open("a") as file:
        file.write("1,x\n")
    done = run(*["data", "evaluate", "log.csv", "CM-Yandex-v0", "--policy", "random"])
    assert "1 of 1,002 lines was broken and left out; log.csv, line 1002: it has 2 columns" in plain(done.stdout)
    assert not done.stderr


def test_missing_support_is_told_with_the_label_of_the_query(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = "data simulate CM-Yandex-v0 --sessions 50 --query 3 --policy static --out log.csv"
    run(*made.split())
    words = "data evaluate log.csv CM-Yandex-v0 --policy random --logging static --cutoff 2"
    done = run(*words.split())
    assert "for query 'calibrated-03', logging never; allowed: a log of a policy that explores" in plain(done.stderr)


def test_an_agent_makes_a_log_that_cannot_be_evaluated(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for policy in ("toprank:delta=1e-4", "mine:Mine"):
        (tmp_path / "mine.py").write_text(
            "import numpy as np\n"
            "class Mine:\n"
            "    def __init__(self, num_positions, num_envs):\n"
            "        self.shape = num_envs, num_positions\n"
            "    def act(self, observation):\n"
            "        return np.tile(np.arange(self.shape[1])[::-1], (self.shape[0], 1))\n"
            "    def update(self, displayed, clicks):\n"
            "        pass\n"
        )
        made = run(*f"data simulate PBM-Yandex-v0 --policy {policy} --sessions 200 --out a.tsv --overwrite".split())
        assert made.stdout == f"a.tsv: 200 sessions of {policy}\n", made.output
    refused = run("data", "evaluate", "a.tsv", "PBM-Yandex-v0", "--policy", "static")
    assert refused.exit_code == 2
    assert plain(refused.stderr).startswith("error: static, sips: the log has no propensity, which 'sips' needs")


@pytest.mark.parametrize("name", FORMATS[1:3])
def test_logs_in_the_other_formats(run, tmp_path, name):
    made = run(*f"data simulate DBN-Yandex-v0 --format {name} --sessions 100 --out {tmp_path / 'log'}".split())
    assert made.exit_code == 0, made.output
    assert len((tmp_path / "log").read_text().splitlines()) > 100


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("simulate Dueling-Arxiv-v0 --out a.csv", "environment 'rankgym/Dueling-Arxiv-v0' has no logs; allowed: one"),
        ("simulate PBM-Yandex-v0 --out a.csv --policy topran", "did you mean 'toprank'? `rankgym agents` lists all"),
        ("simulate PBM-Yandex-v0 --out a.csv --policy topran", "policies: random, static, plackett-luce, epsilon"),
        ("simulate PBM-Yandex-v0 --out a.txt", "does not say its format; allowed: a name with .csv, .tsv"),
        ("simulate PBM-Yandex-v0 --out a.csv --format csv", "format = 'csv' is unknown; allowed: 'plain'"),
        ("simulate PBM-Yandex-v0 --out a.csv --query x", "--query x is not a choice of queries"),
        ("simulate PBM-Yandex-v0 --out a.csv --set horizon=5", "horizon = 5 cannot be set"),
        ("simulate PBM-Yandex-v0 --out a.csv --policy random --sessions 0", "sessions = 0 is out of range"),
        ("simulate PBM-Yandex-v0 --out nowhere/a.csv", "No such file or directory"),
        ("evaluate none.csv PBM-Yandex-v0 --policy static", "none.csv does not exist; allowed: a log in the plain"),
    ],
)
def test_errors_are_one_line(run, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("data", *words.split())
    assert done.exit_code == 2
    assert message in plain(done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_teaches(run):
    text = plain(run("data", "simulate", "--help").output)
    for words in (*POLICIES, *FORMATS, "prefix_propensity_1", "rankgym data simulate DBN-Yandex-v0 --format relevance"):
        assert words in text
    text = plain(run("data", "evaluate", "--help").output)
    for words in ("sips", "iips", "rips", "cascade-dr", "rankgym data evaluate log.parquet CM-Yandex-v0"):
        assert words in text


def test_policies_are_completed():
    assert completion.plain_policies("") == list(POLICIES)
    assert completion.policies("") == list(dict.fromkeys([*POLICIES, *completion.agents("")]))
    assert set(AGENTS) <= set(completion.policies(""))
    assert completion.policies("pla") == ["plackett-luce"]
    assert np.all([name.startswith("t") for name in completion.policies("t")])
