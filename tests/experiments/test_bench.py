"""The bench measures all that it lists, in turns, and times nothing but steps."""

import io
import json
import os
import time

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from rankgym.cli import app
from rankgym.data import letor
from rankgym.experiments.bench import cases, timing
from rankgym.experiments.bench.measure import measure
from rankgym.experiments.bench.tables import NO_TRAINING, _rate, tables
from rankgym_agents import AGENTS, DUELERS, RANKERS

STRETCHES = {("toprank", "PBM", 1): 40.0, ("toprank", "PBM", 600): 1.6, ("rucb", cases.MATRIX, 100): 3.0}
ALL_STRETCHES = cases.stretch_goals()
TINY = timing.Effort(turns=1, slice=0.0002, learning=3)


@pytest.fixture(scope="module", autouse=True)
def few_stretches():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "stretch_goals", lambda: STRETCHES)
        yield


@pytest.fixture(scope="module")
def printed_and_written(tmp_path_factory):
    """What ``rankgym bench`` prints, and the file that it writes."""
    file = tmp_path_factory.mktemp("bench") / "speed.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "QUICK", TINY)
        patch.setattr(cases, "LETOR_SHAPE", (4, 20, 5))
        patch.setattr(cases, "TRAINING_ROWS", 3)
        patch.setenv("COLUMNS", "120")
        found = CliRunner().invoke(app, ["bench", "--quick", "--rows", "1,8", "--out", str(file)])
    assert found.exit_code == 0, found.output
    return found.stdout, json.loads(file.read_text())


@pytest.fixture(scope="module")
def report(printed_and_written):
    return printed_and_written[1]


def test_everything_was_measured(report):
    found = [(e["what"], e.get("model"), e.get("agent"), e["rows"]) for e in report["measured"]]
    for model in cases.STEPS:
        assert found.count(("step", model, None, 8)) == 6  # fixed and random lists, three recordings
    for model in cases.MODELS:
        assert ("single", model, None, 1) in found
        assert {(name, 600) for name in RANKERS} == {(a, r) for w, m, a, r in found if (w, m) == ("agent", model)}
    assert {(name, 100) for name in DUELERS} == {(a, r) for w, _, a, r in found if w == "dueler"}
    duels = [(e["environment"], e["recording"]) for e in report["measured"] if e["what"] == "duel"]
    assert duels == [(label, recording) for label in cases.DUELS for recording in ("nothing", "regret")]
    assert ("single", "CartPole-v1", None, 1) in found
    assert {r for w, _, _, r in found if w == "cartpole"} == {1, 8, 600}
    stretched = [(e["agent"], e["played"], e["rows"], e["way"]) for e in report["measured"] if e["what"] == "stretch"]
    assert stretched == [
        (*game, way)
        for game in STRETCHES
        for way in cases.WAYS
        if way != "two threads" or cases.timed_in_threads(*game)
    ]
    trained = [(e["shown"], e["adapter"]) for e in report["measured"] if e["what"] == "adapter"]
    learned = [e["adapter"] for e in report["measured"] if e["what"] == "ppo"]
    if cases.can_train():
        assert trained == [(shown, adapter) for shown in cases.SHOWN for adapter in cases.ADAPTERS]
        assert learned == list(cases.ADAPTERS)
    else:
        assert trained == learned == []
    assert len(found) == cases.number_of_cases([1, 8, 600])
    assert all(0 < e["low"] <= e["sessions_per_second"] <= e["high"] for e in report["measured"])


def test_ratios_are_of_what_was_measured(report):
    single = {e["model"]: e["sessions_per_second"] for e in report["measured"] if e["what"] == "single"}
    assert report["ratios"]["single PBM / CartPole-v1"] == single["PBM"] / single["CartPole-v1"]
    assert len(report["ratios"]) == 3 + 2 * 3 + 2 + 2 + 2 * cases.can_draw() + len(report["ratio_goals"])


def test_a_picture_that_nobody_asks_for_is_not_drawn(report):
    if not cases.can_draw():
        pytest.skip("Pillow is not installed: pip install rankgym[render]")
    rates = {(e["rows"], e["render_mode"]): e["sessions_per_second"] for e in report["measured"] if "render_mode" in e}
    assert set(rates) == {(rows, mode) for rows in (1, 600) for mode in ("None", "rgb_array")}
    name = "single PBM, render_mode rgb_array and no render() / no render_mode"
    assert report["ratios"][name] == rates[1, "rgb_array"] / rates[1, "None"]


def test_every_agent_that_plays_stretches_has_a_goal():
    assert {name for name, *_ in ALL_STRETCHES} == set(AGENTS) - set(cases.STEPPED)
    assert {game: goal for game, goal in ALL_STRETCHES.items() if goal not in (cases.STRETCH_GOAL, 3.0)} == {
        ("toprank", "PBM", 1): 40,
        ("toprank", "PBM", 30): 5,
        ("toprank", "PBM", 600): 1.6,
        ("bubblerank", "PBM", 1): 40,
        ("bubblerank", "PBM", 30): 5,
        ("bubblerank", "PBM", 600): 1.6,
        ("cascade-kl-ucb", "CM", 1): 30,
        ("pbm-ts", "PBM", 600): 1,
        ("pb-mhb", "PBM", 600): 1,
        ("unirank", "PBM", 600): 1,
        ("grab", "PBM", 600): 1,
        ("versatile-db", cases.MATRIX, 100): 1,
        ("bayes-index", "PBM", 600): 1,
        ("bayes-thompson", "PBM", 600): 1,
        ("adaptive-index", "PBM", 600): 1,
    }


def test_goals_of_stretches_are_ratios(report):
    rates = {(e["rows"], e["agent"], e["way"]): e for e in report["measured"] if e["what"] == "stretch"}
    steps, stretches = (rates[1, "toprank", way]["sessions_per_second"] for way in ("steps", "stretches"))
    (goal,) = (goal for goal in report["ratio_goals"] if goal["goal"] == "1 row, toprank on PBM, stretches / steps")
    assert (goal["wanted"], goal["measured"]) == (40, stretches / steps)
    assert len(report["ratio_goals"]) == 3 + cases.timed_in_threads("toprank", "PBM", 600) + 3 * cases.can_train()


def test_goals_of_training_are_ratios(report):
    steps = {(e["shown"], e["adapter"]): e["sessions_per_second"] for e in report["measured"] if e["what"] == "adapter"}
    learned = {e["adapter"]: e["sessions_per_second"] for e in report["measured"] if e["what"] == "ppo"}
    ours, theirs = cases.ADAPTERS
    for goal in report["ratio_goals"]:
        if goal["goal"].split(",")[0] in ("1 row", "100 rows", "600 rows"):
            continue
        if goal["goal"].startswith("PPO.learn"):
            assert goal["measured"] == learned[ours] / learned[theirs]
            assert goal["wanted"] == 1.3
        else:
            (shown,) = (s for s in cases.SHOWN if s in goal["goal"])
            assert goal["measured"] == steps[shown, ours] / steps[shown, theirs]
            assert goal["wanted"] == 20
        assert goal["met"] == (goal["measured"] >= goal["wanted"])
        assert report["ratios"][goal["goal"]] == goal["measured"]


def test_both_adapters_play_the_same_sessions():
    pytest.importorskip("stable_baselines3")
    lists = [np.argsort(np.random.default_rng(n).random((256, 10)), axis=1)[:, :5].copy() for n in range(3)]
    seen = []
    for adapter in cases.ADAPTERS:
        env = cases._adapter(adapter, "item statistics", None)
        env.seed(0)
        seen.append([env.reset(), *(part for displayed in lists for part in env.step(displayed)[:3])])
        env.close()
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(*seen, strict=True))


def test_where_nothing_can_be_trained_a_note_says_so(report, monkeypatch):
    assert (NO_TRAINING in shown(report, 120)) == (not cases.can_train())
    ours = [goal["goal"] for goal in report["ratio_goals"] if "row" not in goal["goal"].split(",")[0]]
    bare = {
        **report,
        "measured": [e for e in report["measured"] if e["what"] not in ("adapter", "ppo")],
        "ratios": {name: ratio for name, ratio in report["ratios"].items() if name not in ours},
        "ratio_goals": [],
    }
    assert NO_TRAINING in shown(bare, 120)
    count, undrawn = cases.number_of_cases([1]), 4 * cases.can_draw()
    monkeypatch.setattr(cases.importlib.util, "find_spec", lambda name: None)
    assert not cases.can_train()
    assert cases.number_of_cases([1]) == count - 2 * len(ours) - undrawn


def test_goals_are_judged_by_the_medians(report):
    toprank = next(e for e in report["measured"] if (e.get("agent"), e.get("model")) == ("toprank", "PBM"))
    goal = next(g for g in report["goals"] if g["goal"] == "toprank on PBM")
    assert goal["wanted"] == 6e6
    assert goal["measured"] == toprank["sessions_per_second"]
    assert goal["met"] == (goal["measured"] >= 6e6)
    assert {g["goal"] for g in report["goals"]} == set(cases.goals())
    assert all(f"{name} on {model}" in cases.goals() for name in RANKERS for model in ("CM", "PBM"))
    assert {goal for goal in cases.goals() if "MSLR" in goal} == {
        "Duel step, MSLR's matrix, 100 rows",
        "mergerucb on MSLR's matrix",
        "rucb on MSLR's matrix",
    }


def test_everything_is_printed(printed_and_written):
    printed, report = printed_and_written
    for words in (
        *AGENTS,
        *report["ratios"],
        "PBM, fixed list, regret recorded",
        "DCM, random lists, all recorded",
        "CartPole-v1, native vector",
        "The project's own goals",
    ):
        assert words in printed


def test_a_synthetic_letor_file_has_one_relevant_document_a_query(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path))
    cases.write_letor(tmp_path / "file.txt", 5, 7, 3)
    data = letor.load(tmp_path / "file.txt")
    assert data.features.shape == (35, 3)
    assert data.labels.reshape(5, 7).sum(axis=1).tolist() == [1] * 5
    with pytest.raises(ValueError, match=r"^letor = '.*missing' is not there; allowed: a file in the format of LETOR$"):
        measure([1], letor=tmp_path / "missing")


def test_the_data_cache_is_left_as_it_was(monkeypatch):
    monkeypatch.setattr(cases, "LETOR_SHAPE", (4, 20, 5))
    for home in ("/somewhere", None):
        monkeypatch.delenv("RANKGYM_DATA_HOME", raising=False)
        if home:
            monkeypatch.setenv("RANKGYM_DATA_HOME", home)
        with cases._synthetic_letor() as path:
            assert os.environ["RANKGYM_DATA_HOME"] == str(path.parent)
        assert os.environ.get("RANKGYM_DATA_HOME") == home
        assert not path.exists()


def rows_of(text):
    """The numbers of each line with a name of ``AGENTS``."""
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: words[1:] for words in lines if words and words[0] in AGENTS}


def shown(report, width):
    text = io.StringIO()
    for part in tables(report):
        Console(file=text, width=width).print(part)
    return text.getvalue()


def test_goals_stand_beside_what_they_are_goals_of(report):
    goals = {goal["goal"]: goal for goal in report["goals"]}
    table = rows_of(shown(report, 120))
    assert list(table) == list(AGENTS)
    for name in DUELERS:
        goal = goals.get(f"{name} on {cases.MATRIX}")
        (rate,) = (e for e in report["measured"] if (e["what"], e.get("agent")) == ("dueler", name))
        expected = _rate(rate["sessions_per_second"]).split()
        if goal is not None:
            expected += ["1", "M", "met" if goal["met"] else f"{goal['measured'] / 1e6:.0%}"]
        assert table.pop(name) == expected
    for name, words in table.items():
        expected = []
        for model in cases.MODELS:
            goal = goals.get(f"{name} on {model}")
            (rate,) = (e for e in report["measured"] if (e.get("agent"), e.get("model")) == (name, model))
            expected += _rate(rate["sessions_per_second"]).split()
            if goal is not None:
                assert goal["measured"] == rate["sessions_per_second"]
                reached = "met" if goal["met"] else f"{goal['measured'] / goal['wanted']:.0%}"
                expected += [f"{goal['wanted'] / 1e6:g}", "M", reached]
        assert words == expected
    met = sum(goal["met"] for goal in report["goals"])
    assert f"\n{met} of {len(goals)} met by the median of 1 slices, " in shown(report, 120)
    assert "\nPBM step, fixed list, regret recorded: " in shown(report, 120)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_number_is_cut_on_a_narrow_terminal(report, width):
    """Whatever is left out of a line has gone to the next one; seven batch sizes are two tables."""
    sizes = [1, 8, 64, 256, 600, 6_000, 100_000]
    steps = [e for e in report["measured"] if e["what"] in ("step", "cartpole")]
    first = [e for e in steps if e["rows"] == 1]
    many = [{**entry, "rows": size, "sessions_per_second": 12_345_678.0} for entry in first for size in sizes]
    others = [e for e in report["measured"] if e["what"] not in ("step", "cartpole")]
    text = shown({**report, "measured": [*many, *others]}, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.count("12.35 M") == len(many)
    for ratio in report["ratios"].values():
        assert f" {ratio:.2f}x" in text
    for entry in others if width >= 80 else []:  # below, the agents' table has its units on lines of their own
        assert f" {_rate(entry['sessions_per_second'])} " in text


def test_cases_take_turns_and_a_median_ignores_a_slow_slice():
    played = []

    def case(name, seconds):
        def play(steps):
            played.append(name)
            return steps * seconds

        return timing.Case((name,), 10, play)

    found = timing.side_by_side([case("a", 0.001), case("b", 0.002)], timing.Effort(turns=3, slice=0.01, learning=0))
    assert "".join(played[-6:]) == "ababab"
    assert [rates for _, rates in found] == [pytest.approx([10_000] * 3), pytest.approx([5_000] * 3)]


def test_resets_are_not_timed():
    class Slow:
        """Episodes of one step that takes no time, and resets that take long."""

        def reset(self, *, seed=None):
            time.sleep(0.02)

        def step(self, action):
            return None, 0.0, True, False, {}

    assert timing.time_single_steps(Slow(), [0])(10) < 0.02


def test_a_batch_size_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"^rows = 0 is out of range; allowed: a whole number in 1 \.\. 1000000$"):
        measure([0])
