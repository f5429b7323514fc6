"""Comparisons of dueling agents: rows, tables, files, figures, and who may take part."""

import csv
import json
import math

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym.estimates import known, mean_and_error
from rankgym.experiments import compare
from rankgym.experiments.bench.cases import write_letor
from rankgym.experiments.judge.comparison import caption
from rankgym.experiments.judge.table_columns import Column
from rankgym.experiments.plan.agents import AgentSpec, fitting_agents, knobs
from rankgym.experiments.plan.environments import KINDS, choice_of
from rankgym.experiments.show import comparison_figure
from rankgym.experiments.show.tables import cell, columns, markdown_text
from rankgym_agents import AGENTS, DUELERS, RANKERS

ENV = "rankgym/Dueling-Synthetic-v0"
LISTS = "rankgym/Dueling-PBM-Yandex-v0"
SMALL = {"rounds": 150, "problem": [4, 0, 7], "runs": 2, "seed": 3, "num_arms": 5, "progress": False}


def same(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


@pytest.fixture
def my_agent(tmp_path, monkeypatch):
    """A dueling agent of one's own in plain Python, without a candidate, as it is named."""
    text = """
import numpy as np

class Mine:
    def __init__(self, num_arms, num_envs, seed):
        self.streams, self.num_arms = [np.random.default_rng(seed + row) for row in range(num_envs)], num_arms
    def act(self, observation):
        left = np.array([stream.integers(self.num_arms) for stream in self.streams])
        return {"left": left, "right": left}
    def update(self, duel, won):
        assert won.shape == (len(self.streams), 2)
"""
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:Mine"


@pytest.fixture
def letor(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "home"))
    write_letor(tmp_path / "letor.txt", 6, 12, 4)
    return str(tmp_path / "letor.txt")


# -- the numbers ------------------------------------------------------------------------------------------------------


def test_row_b_plays_problem_b_mod_p_with_seed_plus_b():
    found = compare(ENV, ["mergerucb", "random-duels"], **SMALL)
    assert (found.rows, found.queries, found.kind, found.choice) == (6, (4, 0, 7), "duels", "problem")
    for name in ("mergerucb", "random-duels"):
        for row in range(6):
            env = gym.make_vec(ENV, num_envs=1, problem=[4, 0, 7][row % 3], num_arms=5, horizon=150)
            agent = AGENTS[name].for_env(env, horizon=150, seed=3 + row)
            alone = rankgym.simulate(agent, env, 150, seed=3 + row, progress=False)
            assert np.array_equal(alone.rounds, found.histories[name].rounds)
            for kept, one in zip(found.histories[name][1:], alone[1:], strict=True):
                assert np.array_equal(kept[:, row], one[:, 0]), (name, row)


def test_query_and_problem_are_the_same_choice():
    one = compare(ENV, ["random-duels"], **SMALL)
    other = compare(ENV, ["random-duels"], **{key: SMALL[key] for key in SMALL if key != "problem"}, query=[4, 0, 7])
    assert same(one.histories["random-duels"], other.histories["random-duels"])
    pools = {q: compare(ENV, ["random-duels"], rounds=1, problem=q, progress=False).queries for q in ("train", "test")}
    assert sorted(pools["train"] + pools["test"]) == list(range(100))
    assert compare("Dueling-Arxiv-v0", ["random-duels"], rounds=1, runs=3, progress=False).queries == (0,)


def test_problems_and_queries_are_not_mistaken():
    with pytest.raises(ValueError, match=r"^query = 3 and problem = 4; allowed: one of them$"):
        compare(ENV, ["random-duels"], rounds=5, query=3, problem=4)
    with pytest.raises(ValueError, match=r"^rankgym/PBM-Synthetic-v0 has no argument 'problem'"):
        compare("PBM-Synthetic-v0", ["static"], rounds=5, problem=4)
    with pytest.raises(
        ValueError, match=r"^problem = None does not choose problems; allowed: a number, a list, 'all', "
    ):
        compare(ENV, ["random-duels"], rounds=5, problem=None)
    with pytest.raises(ValueError, match=r"^problem = \[1, 1\] has 1 twice; allowed: each once, and runs=2 to play"):
        compare(ENV, ["random-duels"], rounds=5, problem=[1, 1])


def test_the_table_is_the_mean_and_standard_error_by_hand(tmp_path):
    found = compare(ENV, ["random-duels", "rucb"], **{**SMALL, "rounds": 1500}, out=tmp_path)
    for line in found.table():
        file = np.load(tmp_path / f"{line['agent']}.npz")
        at = {r: file["rounds"].tolist().index(r) for r in (100, 1000, 1500)}
        by_hand = {f"{key}_{r}": file[key][at[r]] for key in ("regret", "accuracy") for r in at}
        by_hand |= {"regret": file["regret"][-1], "accuracy": file["accuracy"][-1]}
        by_hand |= {"reward_per_round": file["reward"][-1] / 1500}
        assert set(line) == {"agent", "sessions_per_second", *by_hand, *(f"{name}_se" for name in by_hand)}
        for name, rows in by_hand.items():
            mean = sum(rows.tolist()) / 6
            assert math.isclose(line[name], mean, rel_tol=1e-12, abs_tol=1e-12), name
            error = math.sqrt(sum((x - mean) ** 2 for x in rows.tolist()) / 5 / 6)
            assert math.isclose(line[f"{name}_se"], error, rel_tol=1e-9, abs_tol=1e-12), name
        assert 0 <= line["accuracy"] <= 1


def test_what_is_not_known_of_some_rows_is_the_mean_over_the_others():
    values = np.array([[1.0, np.nan, 3.0], [5.0, 0.0, 7.0]])
    assert known(values).tolist() == [[1.0, 3.0], [5.0, 7.0]]
    assert known(values[0]).tolist() == [1.0, 3.0]
    assert all(np.isnan(part) for part in mean_and_error(known(np.full(4, np.nan))))


def test_an_agent_of_ones_own_has_no_accuracy(my_agent):
    found = compare(ENV, [my_agent, "random-duels"], **SMALL)
    mine, other = found.table()
    assert math.isnan(mine["accuracy"])
    assert cell(mine, Column("accuracy", (), False, digits=3)) == "unknown"
    assert 0 <= other["accuracy"] <= 1
    assert len(comparison_figure.draw_comparison(found).axes[1].lines) == 2


def test_two_processes_give_the_same_bits_as_one(tmp_path):
    one = compare(ENV, ["rucb", "random-duels"], **SMALL, out=tmp_path / "one")
    two = compare(ENV, ["rucb", "random-duels"], **SMALL, out=tmp_path / "two", jobs=2)
    for label, history in one.histories.items():
        assert same(history, two.histories[label])
        assert (tmp_path / "one" / f"{label}.npz").read_bytes() == (tmp_path / "two" / f"{label}.npz").read_bytes()


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_files(tmp_path):
    found = compare(ENV, ["mergerucb:delta=0.1"], **SMALL, out=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    figures, kept = ["regret.png", "regret.svg"], ["lock", "log.jsonl"]
    more = ["results", "sweep.json", "table.csv", "table.md"]
    assert names == ["compare.json", *kept, "mergerucb_delta=0.1.npz", "plan.json", *figures, *more]
    file = np.load(tmp_path / "mergerucb_delta=0.1.npz")
    assert sorted(file) == ["accuracy", "problem", "regret", "reward", "rounds", "seed"]
    assert file["problem"].tolist() == [4, 0, 7, 4, 0, 7]
    settings = json.loads((tmp_path / "compare.json").read_text())
    assert (settings["problems"], settings["rows"], settings["arguments"]) == (
        [4, 0, 7],
        6,
        {"horizon": 150, "num_arms": 5},
    )
    assert not {"queries", "cutoff", "breakpoints"} & set(settings)
    lines = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [float(line["accuracy"]) for line in lines] == [line["accuracy"] for line in found.table()]


def test_what_is_there_is_not_played_again(tmp_path):
    first = compare(ENV, ["rucb"], **{**SMALL, "runs": 1}, out=tmp_path)
    again = compare(ENV, ["rucb"], **SMALL, out=tmp_path)
    assert first.notes == []
    assert again.notes == ["kept from an earlier run, of 6 rows: rucb 3; --fresh plays them again"]
    assert same(again.histories["rucb"], compare(ENV, ["rucb"], **SMALL).histories["rucb"])
    other = compare(ENV, ["rucb"], **{**SMALL, "problem": [1]}, out=tmp_path)
    assert other.notes == [f"replaces the comparison of {ENV} (rucb; 150 rounds, seed 3) in {tmp_path}"]


# -- who may take part ------------------------------------------------------------------------------------------------


RANK, DUEL = "bubblerank, toprank, batchrank, cascade-kl-ucb", "mergerucb, rucb, rcs, btm"


@pytest.mark.parametrize(
    ("name", "agent", "says", "allowed"),
    [
        ("Dueling-Arxiv-v0", "toprank", "ranks items, but the environment has duels of arms", DUEL),
        ("PBM-Yandex-v0", "rucb", "plays duels, but the environment has rankings", RANK),
        (
            "Dueling-PBM-Yandex-v0",
            "rucb:alpha=0.6",
            "plays duels of arms, but the environment has duels of lists",
            RANK,
        ),
    ],
)
def test_the_wrong_mixture_is_refused_before_anything_is_played(tmp_path, name, agent, says, allowed):
    with pytest.raises(ValueError) as refusal:
        compare(name, ["mergerucb", agent] if agent == "toprank" else [agent], rounds=5, out=tmp_path / "out")
    more = len(DUELERS if allowed == DUEL else RANKERS) - 4
    words = f"allowed for rankgym/{name}: {allowed} and {more} more, or one of your own; `rankgym agents` lists all"
    assert str(refusal.value) == f"agent = {agent!r} {says}; {words}"
    assert not (tmp_path / "out").exists()


def test_without_names_all_that_can_play_do():
    found = compare("Dueling-Cyclic-v0", rounds=20, progress=False)
    assert [spec.label for spec in found.agents] == list(DUELERS)
    assert fitting_agents(gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=1)) == list(RANKERS)
    assert list(RANKERS) + list(DUELERS) == list(AGENTS)


def test_the_baseline_finds_the_winner_of_a_clear_matrix():
    """Arm 0 wins 99 of 100 duels. In 600 random ones it meets others over 200 times but with probability 1e-7; then it
    has over 3/4 of its wins but with probability below 1e-30, and the others, equal among themselves, below 1/2."""
    matrix = np.full((3, 3), 0.5)
    matrix[0, 1:], matrix[1:, 0] = 0.99, 0.01
    found = compare(ENV, ["random-duels"], rounds=600, runs=20, preference=matrix.tolist(), progress=False)
    assert found.table()[0]["accuracy"] == 1


def test_ranking_agents_duel_against_themselves(tmp_path):
    both = {"rounds": 120, "query": [3, 5], "runs": 2, "progress": False}
    duels = compare(LISTS, ["toprank", "bubblerank"], **both, out=tmp_path)
    rankings = compare("PBM-Yandex-v0", ["toprank", "bubblerank"], **both)
    assert (duels.kind, duels.choice, duels.cutoff) == ("duels", "query", None)
    for label, history in duels.histories.items():
        assert np.array_equal(history.reward, rankings.histories[label].reward)
        assert history.regret == pytest.approx(rankings.histories[label].regret, rel=1e-9)
    keys = ["regret_100", "regret_120", "reward_per_round", "sessions_per_second"]
    assert [column.key for column in columns(duels)] == keys
    assert "accuracy" not in markdown_text(duels)  # a column of unknown numbers
    assert [axes.get_title(loc="left") for axes in comparison_figure.draw_comparison(duels).axes] == [
        "Cumulative regret"
    ]
    assert caption(duels).startswith(f"{LISTS}, calibrated click models: mean ± standard error over 2 queries, 2 runs")
    assert sorted(np.load(tmp_path / "toprank.npz")) == ["accuracy", "query", "regret", "reward", "rounds", "seed"]


def test_queries_that_sessions_draw_are_no_rows(letor):
    found = compare("Dueling-LETOR-v0", ["rucb"], rounds=30, runs=4, file=letor, progress=False)
    assert (found.choice, found.queries, found.rows) == (None, (0,), 4)
    assert caption(found) == (
        "rankgym/Dueling-LETOR-v0, file=letor.txt: mean ± standard error over 4 runs; 30 rounds, seed 0"
    )
    assert np.isnan(found.table()[0]["regret"])  # no preference matrix was given
    assert found.table()[0]["reward_per_round"] > 0
    assert "queries" not in found.settings()
    comparison_figure.draw_comparison(found)
    some = compare("Dueling-LETOR-v0", ["rucb"], rounds=30, runs=4, file=letor, query=[1, 2], progress=False)
    assert some.env_kwargs["query"] == [1, 2]
    assert not np.array_equal(some.histories["rucb"].reward, found.histories["rucb"].reward)


# -- names and words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "choice"), [("PBM-Yandex-v0", "query"), ("Dueling-MSLR-v0", "problem"), ("Dueling-CM-Yandex-v0", "query")]
)
def test_what_rows_play(name, choice):
    assert choice_of(f"rankgym/{name}") == choice


def test_what_agents_are_told_is_no_knob():
    assert "num_arms" not in knobs(DUELERS["rucb"])
    assert KINDS.keys() == comparison_figure.PANELS.keys()


def test_words():
    found = compare("Dueling-MSLR-v0", ["random-duels"], rounds=10, runs=2, num_arms=5, progress=False)
    assert caption(found) == (
        "rankgym/Dueling-MSLR-v0, num_arms=5, calibrated preferences: mean ± standard error over 1 problem, 2 runs; "
        "10 rounds, seed 0"
    )
    assert [" ".join(column.head) for column in columns(found)] == [
        "regret after 10",
        "accuracy at last",
        "duels a second",
    ]
    assert compare(ENV, ["random-duels"], **SMALL).source is None


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison():
    return compare(ENV, ["random-duels", "rucb", "mergerucb"], rounds=400, problem=[0, 1, 2], progress=False)


def test_time_is_logarithmic_and_regret_is_not(comparison):
    """As in the figures of MergeRUCB's paper."""
    regret, accuracy = comparison_figure.draw_comparison(comparison).axes
    assert (regret.get_xscale(), regret.get_yscale()) == ("log", "linear")
    assert (accuracy.get_xscale(), accuracy.get_yscale()) == ("log", "linear")
    for axes, measure in ((regret, "regret"), (accuracy, "accuracy")):
        for line, history in zip(axes.lines, comparison.histories.values(), strict=True):
            assert np.array_equal(line.get_xdata(), history.rounds)
            assert np.array_equal(line.get_ydata(), getattr(history, measure).mean(axis=1))


def test_random_duels_may_leave_the_frame_and_learners_may_not(comparison):
    regret = comparison_figure.draw_comparison(comparison).axes[0]
    learners = [comparison.histories[name].regret for name in ("rucb", "mergerucb")]
    highest = max((mean + error).max() for mean, error in map(mean_and_error, learners))
    assert regret.get_ylim() == (0, pytest.approx(1.05 * highest))
    alone = compare(ENV, ["random-duels"], rounds=50, problem=0, progress=False)
    low, high = comparison_figure.draw_comparison(alone).axes[0].get_ylim()
    assert low <= 0
    assert high > alone.histories["random-duels"].regret.max()


# -- what is not known ------------------------------------------------------------------------------------------------


def test_unknown_regret_is_told_and_the_reward_shown_instead(letor, tmp_path):
    small = {"rounds": 120, "runs": 2, "file": letor, "progress": False}
    agents = ["rucb", "random-duels"]
    np.save(tmp_path / "circle.npy", [[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]])
    np.save(tmp_path / "order.npy", [[0.5, 0.7, 0.7], [0.3, 0.5, 0.7], [0.3, 0.3, 0.5]])
    circle, order = str(tmp_path / "circle.npy"), str(tmp_path / "order.npy")
    without = compare("Dueling-LETOR-v0", agents, **small, rankers=[0, 1, 2])
    (note,) = without.notes
    assert "regret and accuracy are unknown without a preference matrix: --set preferences=FILE" in note
    endless = compare("Dueling-LETOR-v0", agents, **small, rankers=[0, 1, 2], preferences=circle)
    assert endless.notes == [
        f"regret and accuracy are unknown: in preferences = {circle!r} no ranker beats all others; "
        "--set winner=copeland, or borda, measures them against another one"
    ]
    for found in (without, endless):
        assert (found.regret_known, found.accuracy_known) == (False, False)
        assert next((column.key, column.optional) for column in columns(found)) == ("reward_per_round", 0)
        assert "regret" not in markdown_text(found)
        (axes,) = comparison_figure.draw_comparison(found).axes
        assert axes.get_title(loc="left") == "Reward, mean so far"
        drawn = next(line for line in axes.lines if len(line.get_xdata()) > 2)
        assert np.isfinite(drawn.get_ydata()).all()
    known_one = compare("Dueling-LETOR-v0", agents, **small, rankers=[0, 1, 2], preferences=order)
    assert (known_one.notes, known_one.regret_known, known_one.accuracy_known) == ([], True, True)
    assert [axes.get_title(loc="left") for axes in comparison_figure.draw_comparison(known_one).axes] == [
        "Cumulative regret",
        "Accuracy",
    ]


def test_an_unknown_accuracy_of_all_has_no_panel_and_of_one_it_has(my_agent):
    alone, beside = compare(ENV, [my_agent], **SMALL), compare(ENV, [my_agent, "rucb"], **SMALL)
    assert [c.key for c in columns(alone) if c.key == "accuracy"] == []
    assert len(comparison_figure.draw_comparison(alone).axes) == 1
    assert [c.key for c in columns(beside) if c.key == "accuracy"] == ["accuracy"]
    assert len(comparison_figure.draw_comparison(beside).axes) == 2


@pytest.mark.parametrize(
    ("env", "arguments", "words"),
    [
        ("Dueling-Arxiv-v0", {}, "rankgym/Dueling-Arxiv-v0: mean over 1 problem"),
        ("Dueling-Arxiv-v0", {"num_arms": 4, "regret": "weak"}, "-v0, num_arms=4, regret=weak: mean"),
        ("Dueling-Arxiv-v0", {"num_arms": None, "regret": "average"}, "-v0: mean"),  # the defaults
        ("Dueling-MSLR-v0", {"num_arms": 4}, "-v0, num_arms=4, calibrated preferences: mean"),
        ("Dueling-LETOR-v0", {"file": ...}, "-v0, file=letor.txt: mean"),
    ],
)
def test_the_caption_says_who_duels(env, arguments, words, letor):
    arguments = {key: letor if value is ... else value for key, value in arguments.items()}
    found = compare(env, ["random-duels"], rounds=20, progress=False, **arguments)
    assert words in caption(found)


def test_what_an_agent_is_not_told_here_is_said(monkeypatch):
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2)
    with pytest.raises(ValueError, match=r"^agent = 'x': it wants num_arms, but here items are ranked; agents get"):
        AgentSpec("x", f"{__name__}:Duels", {}).make(env, 10, 0)
    env = gym.make_vec(ENV, num_envs=2)
    with pytest.raises(ValueError, match=r"^agent = 'x': it wants num_items, but here arms duel; .* num_arms$"):
        AgentSpec("x", f"{__name__}:Ranks", {}).make(env, 10, 0)
    with pytest.raises(ValueError, match=r"^agent = 'dts': DoubleThompson has no argument 'x'; its knobs: alpha"):
        AgentSpec("dts", "rankgym_agents:DoubleThompson", {"x": 1}).make(env, 10, 0)


class Duels:
    def __init__(self, num_arms): ...
    def act(self, observation): ...
    def update(self, duel, outcome): ...


class Ranks(Duels):
    def __init__(self, num_items, seed=3): ...
