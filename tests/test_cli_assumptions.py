"""`rankgym assumptions`: whether the papers' theorems apply to an environment."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from rankgym.cli import app
from rankgym.envs.queries import Queries
from rankgym.models import ASSUMPTIONS, check_assumptions


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command in an empty folder, on a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.delenv("RANKGYM_DEBUG", raising=False)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["assumptions", *words], prog_name="rankgym")


def verdicts(result):
    """The second column of the tables, by assumption."""
    assert result.exit_code == 0, result.output
    found = re.findall(r"^ ?([AT]\d) +(yes|no|none found|in \d+ of \d+) ", result.stdout, re.M)
    assert [name for name, _ in found] == list(ASSUMPTIONS)
    return dict(found)


def truth(model, query, positions):
    parameters = Queries.load(model, num_positions=positions).parameters
    return type(parameters)(*(table[query : query + 1] for table in parameters))


def test_help_teaches(run):
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", run("--help").output).split())
    for words in (
        "rankgym assumptions PBM-Yandex-Rerank-v0 --query 3",
        "rankgym assumptions DCM-Yandex-v0 --source published",
        *["--query", "--around", "--source", "--positions", "--exact-up-to", "--set"],
    ):
        assert words in text


def test_one_query(run):
    result = run("DCM-Yandex-v0", "--query", "3")
    report = check_assumptions("DCM", truth("DCM", 3, 5))
    assert verdicts(result) == {name: "yes" if report.holds(name) else "no" for name in ASSUMPTIONS}
    assert not report.holds("A1")
    assert result.stdout.startswith(f"rankgym/DCM-Yandex-v0, query 3: {report.headline()}\n")
    for name, (says, _) in ASSUMPTIONS.items():
        assert says in result.stdout
        assert report.counterexample(name) in result.stdout
    assert "BubbleRank (Li et al., UAI 2019), Assumption 1: A1, A2, A5 broken" in result.stdout


def test_several_queries_keep_their_numbers(run):
    result = run("DCM-Yandex-v0", "--query", "41,7")
    gaps = {query: check_assumptions("DCM", truth("DCM", query, 5))["A2"].gap for query in (7, 41)}
    worst = max(gaps, key=gaps.get)
    assert verdicts(result)["A2"] == "in 0 of 2"
    assert re.search(rf"-> query {worst}: position \d is examined", result.stdout)
    assert "query 0:" not in result.stdout
    assert "query 1:" not in result.stdout
    assert "100 queries" in run("CM-Yandex-v0", "--exact-up-to", "0", "--positions", "1").stdout
    assert "20 queries" in run("CM-Yandex-v0", "--query", "test", "--positions", "1").stdout


def test_the_environments_own_reward_and_cutoff(run):
    result = run("DCM-Yandex-Rerank-v0", "--query", "0", "--exact-up-to", "0")
    assert "DCM, 10 items at 10 positions, 1 query; reward: abandonment in the first 5" in result.stdout
    assert verdicts(result)["A3"] == "none found"
    assert "no violation in 20,000 lists of each query, which is no proof" in result.stdout
    result = run("DCM-Yandex-v0", "--query", "0", "--set", "reward=abandonment", "--set", "num_items=6")
    assert "DCM, 6 items at 5 positions, 1 query; reward: abandonment in the first 5" in result.stdout


def test_around_a_list(run):
    report = check_assumptions("UBM", truth("UBM", 2, 3), num_positions=3, displayed=[3, 1, 0])
    result = run("UBM-Yandex-v0", "--query", "2", "--positions", "3", "--around", "3,1,0")
    expected = {name: "none found" if report.holds(name) else "no" for name in ASSUMPTIONS} | {"T1": "yes"}
    assert set(expected.values()) == {"none found", "no", "yes"}
    assert verdicts(result) == expected
    assert "Checked: the given list and its 24 exchanges." in result.stdout
    assert "no violation in the given list and its 24 exchanges; other lists may violate it." in result.stdout
    same = run("UBM-Yandex-v0", "--query", "2", "--positions", "3", "--around", "0,1,2")
    assert run("UBM-Yandex-v0", "--query", "2", "--positions", "3", "--around", "initial").stdout == same.stdout
    tail = run("PBM-WeakTail-Rerank-v0", "--around", "initial")
    assert verdicts(tail) == dict.fromkeys(ASSUMPTIONS, "none found") | {"T1": "yes"}
    assert "5 queries" in tail.stdout
    assert "Checked: the given list of each query and its 45 exchanges." in tail.stdout
    assert tail.stdout.count(": none broken around the given list\n") == 2
    assert "all hold" not in tail.stdout


def test_where_users_change_it_is_about_the_first_epoch(run):
    result = run("CM-TwoLevel-Breakpoint-v0", "--set", "num_items=7")
    assert set(verdicts(result).values()) == {"yes"}
    assert result.stdout.startswith(
        "rankgym/CM-TwoLevel-Breakpoint-v0, query 0, epoch 0 alone (drawn with seed 0): CM, 7 items at 5 positions, "
    )
    changing = run("DCM-Yandex-Breakpoint-v0", "--query", "3")
    constant = run("DCM-Yandex-v0", "--query", "3", "--positions", "3")
    assert verdicts(changing)["A1"] == "no"
    assert changing.stdout.startswith(
        "rankgym/DCM-Yandex-Breakpoint-v0, query 3, epoch 0 alone (the query's own numbers): DCM, 10 items at 3 "
    )
    assert "epoch" not in constant.stdout
    several = run("DCM-Yandex-Breakpoint-v0", "--query", "3,4")
    assert several.stdout.startswith(
        "rankgym/DCM-Yandex-Breakpoint-v0, epoch 0 alone (the queries' own numbers): DCM, 10 items at 3 positions, "
        "2 queries; reward: clicks in the first 3. Checked: all 720 lists of each query.\n"
    )
    assert changing.stdout.partition("DCM,")[2] == constant.stdout.partition("DCM,")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["PBM-Yandex-v1"], "error: environment 'PBM-Yandex-v1' is unknown"),
        *[
            (
                ["PBM-Yandex-v0", "--around", around],
                f"error: --around {around} is not a ranking; allowed: initial, or 5 different items out of 0 .. 9, "
                "with commas\n",
            )
            for around in ("3,x", "3,1", "3,3,1,2,4", "3,3,1,2,4,0", "0,1,2,3,10", "0,1,2,3,-1", ",")
        ],
        (
            ["PBM-Yandex-v0", "--positions", "1", "--around", "3,1"],
            "error: --around 3,1 is not a ranking; allowed: initial, or 1 item out of 0 .. 9, with commas\n",
        ),
        *[
            (
                ["PBM-Yandex-v0", "--query", query],
                f"error: --query {query} is not a choice of queries of rankgym/PBM-Yandex-v0; allowed: all, train, "
                "test, or numbers in 0 .. 99\n",
            )
            for query in ("100", "3,300", "-1")
        ],
        (
            ["CM-TwoLevel-Breakpoint-v0", "--query", "test"],
            "error: --query test is not a choice of queries of rankgym/CM-TwoLevel-Breakpoint-v0; allowed: all, train, "
            "or numbers in 0 .. 0\n",
        ),
        (["PBM-Yandex-v0", "--query", "x"], "error: --query x is not a choice of queries"),
        (
            ["PBM-Yandex-v0", "--exact-up-to", "-1"],
            "error: --exact-up-to = -1 is out of range; allowed: a whole number",
        ),
        (
            ["PBM-Yandex-v0", "--set", "foo=1"],
            "error: rankgym/PBM-Yandex-v0 has no argument 'foo'; allowed: model, dataset, ",
        ),
        (
            ["PBM-Yandex-v0", "--set", "scenario=jump"],
            "error: rankgym/PBM-Yandex-v0 has no argument 'scenario'; ",
        ),
        (
            ["PBM-Yandex-Breakpoint-v0", "--set", "cutof=2"],
            "error: rankgym/PBM-Yandex-Breakpoint-v0 has no argument 'cutof'; did you mean 'cutoff'? allowed: ",
        ),
        (["PBM-Yandex-v0", "--positions", "3", "--set", "num_positions=4"], "error: --positions 3 and --set num_posit"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(run, words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_an_environment_without_a_click_model(run):
    result = run("CartPole-v1")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert np.char.count(result.stderr, "\n") == 1
