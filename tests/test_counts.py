"""Rounds, runs, horizons and steps may be written 100000, 100_000 or 1e5: typed, in files, and as floats in Python."""

import math

import gymnasium as gym
import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.arguments import count_of, whole_number
from rankgym.commands.options import counted
from rankgym.experiments import Sweep, compare
from rankgym.experiments.plan.agents import literal
from rankgym_agents import TopRank

RANK = "rankgym/PBM-Yandex-v0"
WRONG = st.one_of(
    st.floats().filter(lambda number: not number.is_integer() or number < 1),
    st.integers(max_value=0),
    st.booleans(),
    st.none(),
    st.text(),
    st.just(np.array(3.0)),
)


@given(st.integers(1, 10**15))
def test_a_count_is_read_however_it_is_written(number):
    assert counted(str(number)) == counted(f"{number:_}") == count_of("rounds", number, 1) == number
    if number < 2**53:
        for text in (f"{number:.20e}", f"{number}e0", f"{number}.0"):
            assert counted(text) == number
            assert type(counted(text)) is int
        assert count_of("rounds", float(number), 1) == count_of("rounds", np.float64(number), 1) == number
        assert type(count_of("rounds", np.float64(number), 1)) is int
        assert literal(f"{number}e0") == number
        assert type(literal(f"{number}e0")) is int


@pytest.mark.parametrize(
    ("text", "number"), [("1e5", 100_000), ("100_000", 100_000), ("1e6", 10**6), ("2.5e4", 25_000)]
)
def test_the_usual_ways_to_write_it(text, number):
    assert counted(text) == literal(text.replace("_", "")) == number


@given(
    st.one_of(st.text(), st.sampled_from(["1.5", "nan", "1e400", "-inf", "1e-1", "2.55e1", "", "0x10", "1e", "1,000"]))
)
def test_a_text_that_is_no_count_is_refused(text):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if number.is_integer():
        return
    with pytest.raises(typer.BadParameter, match="is not a whole number; allowed: at least 1, such as 100000, 100_000"):
        counted(text)


@given(WRONG)
def test_other_values_are_refused_with_the_range(value):
    with pytest.raises(ValueError, match=r"^rounds = [\s\S]* is out of range; allowed: a whole number, at least 1$"):
        count_of("rounds", value, 1)


def test_numbers_of_items_are_not_counts():
    with pytest.raises(ValueError, match=r"item = 3\.0 is out of range"):
        whole_number("item", 3.0, 0)
    with pytest.raises(ValueError, match=r"num_items = 10\.0 is out of range"):
        TopRank(num_items=10.0, num_positions=5)


def test_the_same_history_comes_of_floats():
    def history(number):
        env = gym.make_vec(RANK, num_envs=2, query=[0, 1], horizon=number(300))
        agent = TopRank.for_env(env, horizon=number(300), seed=0)
        return rankgym.simulate(agent, env, number(200), seed=0, record_at=[number(7)], progress=False)

    one, other = history(int), history(float)
    assert np.array_equal(one.rounds, other.rounds)
    assert np.array_equal(one.regret, other.regret)
    assert other.rounds.dtype.kind == "i"


def test_a_sweep_of_floats_is_that_of_whole_numbers(tmp_path):
    (tmp_path / "sweep.toml").write_text(
        'rounds = 1e2\nruns = 2.0\nrecord_at = [1e1]\nagents = ["static"]\n[[environments]]\nid = "PBM-Yandex-v0"\n'
    )
    sweep = Sweep.from_toml(tmp_path / "sweep.toml")
    assert (sweep.rounds, sweep.runs, sweep.record_at) == (100, 2, (10,))
    assert all(type(number) is int for number in (sweep.rounds, sweep.runs, *sweep.record_at))
    comparison = compare("PBM-Yandex-v0", ["static"], rounds=1e2, runs=1.0, query=0, progress=False)
    assert comparison.rounds == 100


@pytest.mark.parametrize("rounds", ["1e2", "1_00", "100"])
def test_compare_counts(run, quick_figures, rounds):
    words = ("compare", "PBM-Yandex-v0", "--agents", "static", "--query", "0", "--rounds", rounds, "--runs", "1e0")
    result = run(*words, "--set", "horizon=1e3")
    assert result.exit_code == 0, result.output
    assert "100 rounds, seed 0" in result.output
    assert "results/PBM-Yandex-v0-horizon=1000-query=0" in result.output.replace("\n", "")


@pytest.mark.parametrize("command", ["compare PBM-Yandex-v0", "grade a.py:B PBM-Yandex-v0 --against static"])
@pytest.mark.parametrize("option", ["--rounds", "--runs"])
@pytest.mark.parametrize("value", ["1.5", "nan", "1e400", "many"])
def test_commands_refuse_what_is_no_count(run, command, option, value):
    result = run(*command.split(), option, value)
    assert result.exit_code == 2
    start = f"error: Invalid value for '{option}': '{value}' is not a whole number; allowed: at least 1, such as "
    assert result.stderr.startswith(start)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["watch PBM-Yandex-v0 --agents static --out x.html", "compare PBM-Yandex-v0"])
@pytest.mark.parametrize(("option", "low"), [("--seed", 0), ("--positions", 1)])
@pytest.mark.parametrize("value", ["1.5", "x", "1e400", ""])
def test_seeds_and_positions_are_whole_numbers(run, command, option, low, value):
    result = run(*command.split(), option, value)
    allowed = f"allowed: at least {low}, such as {low + 3}"
    expected = f"error: Invalid value for '{option}': {value!r} is not a whole number; {allowed}\n"
    assert (result.exit_code, result.stderr) == (2, expected)


def test_a_seed_may_be_written_like_rounds(run, tmp_path):
    words = ("watch", "PBM-Yandex-v0", "--agents", "static", "--query", "0", "--rounds", "10", "--positions", "3e0")
    assert run(*words, "--seed", "1e1", "--out", "a.html").exit_code == 0
    assert run(*words, "--seed", "10", "--out", "b.html").exit_code == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("value", ["0", "-1", "-1e3"])
def test_compare_says_the_range(run, value):
    result = run("compare", "PBM-Yandex-v0", "--agents", "static", "--rounds", value)
    assert result.exit_code == 2
    allowed = "a whole number in 1 .. 1000000000000000"
    assert f"rounds = {int(float(value))} is out of range; allowed: {allowed}" in result.output


@pytest.mark.parametrize("option", ["--steps", "--rows", "--horizon", "--eval-every", "--eval-runs", "--eval-horizon"])
def test_train_refuses_what_is_no_count(run, option):
    result = run("train", "PBM-Yandex-v0", option, "1.5")
    assert result.exit_code == 2
    assert "'1.5' is not a whole number" in result.output
