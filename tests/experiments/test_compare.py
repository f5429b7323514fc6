"""Comparing agents: which row is what, the same numbers however they are made, and what is kept on disk."""

import csv
import io
import json
import math
import re
import signal
import subprocess
import sys
import time

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

import rankgym
from rankgym.cli import app
from rankgym.commands.tables import fitting_table
from rankgym.estimates import mean_and_error
from rankgym.experiments import compare, load
from rankgym.experiments.compare import _rows_per_job, foreign_files
from rankgym.experiments.judge import comparison
from rankgym.experiments.judge.comparison import caption
from rankgym.experiments.judge.table_columns import Column, counted, table_columns
from rankgym.experiments.plan.agents import AgentFailed, parse_agent, slug
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.sweeps import keep_sweep
from rankgym.experiments.show.tables import cell, columns, csv_text, markdown_text
from rankgym.outputs import atomic_path
from rankgym.play.history import MEASURES
from rankgym_agents import AGENTS

ENV = "rankgym/PBM-Synthetic-v0"
SMALL = {"rounds": 150, "query": [4, 0, 7], "runs": 2, "seed": 3, "progress": False}


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


pytestmark = pytest.mark.usefixtures("quick_figures")  # test_comparison_figure looks at figures


@pytest.fixture
def my_agents(tmp_path, monkeypatch):
    """A module of agents of one's own, by its name."""
    text = """
import time
import numpy as np

class Shuffles:
    '''Plain Python; row b depends on seed + b alone.'''
    def __init__(self, num_items, num_positions, num_envs, seed):
        self.streams = [np.random.default_rng(seed + row) for row in range(num_envs)]
        self.num_items, self.num_positions = num_items, num_positions
    def act(self, observation):
        return np.array([s.permutation(self.num_items)[:self.num_positions] for s in self.streams])
    def update(self, displayed, clicks):
        pass

class Breaks(Shuffles):
    '''Fails in its 50th round, later than it is tried.'''
    rounds = 0
    def update(self, displayed, clicks):
        self.rounds += 1
        time.sleep(0.01)
        if self.rounds == 50:
            raise LookupError('lost my way')

class Repeats(Shuffles):
    rounds = 0
    def act(self, observation):  # repeats
        shown = super().act(observation) * (self.rounds != 3)
        self.rounds += 1
        return shown

class One:
    def __init__(self, num_positions):
        self.shown = list(range(num_positions))
    def act(self):
        return self.shown
    def update(self, displayed, clicks):
        pass
"""
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return name


# -- the numbers ------------------------------------------------------------------------------------------------------


def test_row_b_plays_query_b_mod_q_with_seed_plus_b():
    found = compare(ENV, ["toprank", "random"], **SMALL)
    assert (found.rows, found.queries) == (6, (4, 0, 7))
    for name in ("toprank", "random"):
        for row in range(6):
            env = gym.make_vec(ENV, num_envs=1, query=[4, 0, 7][row % 3], horizon=150)
            agent = AGENTS[name].for_env(env, horizon=150, seed=3 + row)
            alone = rankgym.simulate(agent, env, 150, seed=3 + row, progress=False)
            assert np.array_equal(alone.rounds, found.histories[name].rounds)
            for kept, one in zip(found.histories[name][1:], alone[1:], strict=True):
                assert np.array_equal(kept[:, row], one[:, 0]), (name, row)


def test_all_train_and_test_queries():
    pools = {
        query: compare(ENV, ["static"], rounds=1, query=query, progress=False).queries
        for query in ("all", "train", "test")
    }
    assert pools["all"] == tuple(range(1000))
    assert sorted(pools["train"] + pools["test"]) == list(range(1000))
    assert compare(ENV, ["static"], rounds=1, query=5, progress=False).queries == (5,)


def test_arguments_reach_the_environment_and_the_agent():
    found = compare(
        ENV,
        ["cascade-kl-ucb:feedback=last", "cascade-kl-ucb"],
        rounds=300,
        query=0,
        num_positions=3,
        cutoff=2,
        progress=False,
    )
    assert found.cutoff == 2
    assert found.env_kwargs == {"horizon": 300, "num_positions": 3, "cutoff": 2}
    first, last = found.histories.values()
    assert not same(first, last)


def test_decades_and_the_first_hundred_rounds_are_recorded():
    rounds = compare(ENV, ["static"], rounds=1234, query=0, progress=False).histories["static"].rounds
    assert {1, 10, 100, 1000, 1234} <= set(rounds.tolist())


def test_the_table_is_the_mean_and_standard_error_by_hand(tmp_path):
    found = compare(ENV, ["random", "toprank"], **{**SMALL, "rounds": 1500}, out=tmp_path)
    assert found.milestones == [100, 1000, 1500]
    for line in found.table():
        file = np.load(tmp_path / f"{line['agent']}.npz")
        at = {r: file["rounds"].tolist().index(r) for r in (100, 1000, 1500)}
        by_hand = {f"regret_{r}": file["regret"][at[r]] for r in at}
        by_hand |= {
            "regret": file["regret"][-1],
            "violations_early": file["violations"][at[100]],
            "violations": file["violations"][-1],
            "ndcg": file["ndcg"][-1],
            "reward_per_round": file["reward"][-1] / 1500,
        }
        assert set(line) == {"agent", "sessions_per_second", *by_hand, *(f"{name}_se" for name in by_hand)}
        for name, rows in by_hand.items():
            mean = sum(rows.tolist()) / 6
            error = math.sqrt(sum((x - mean) ** 2 for x in rows.tolist()) / 5 / 6)
            assert math.isclose(line[name], mean, rel_tol=1e-12, abs_tol=1e-12), name
            assert math.isclose(line[f"{name}_se"], error, rel_tol=1e-9, abs_tol=1e-12), name
        assert math.isclose(line["sessions_per_second"], 6 * 1500 / found.seconds[line["agent"]])


def test_one_row_has_no_standard_error():
    line = compare(ENV, ["static"], rounds=20, query=0, progress=False).table()[0]
    assert line["regret_20"] == line["regret"]
    assert line["violations_early"] == line["violations"]  # of the first 20, there are no more
    assert math.isnan(line["regret_se"])
    assert cell(line, Column("violations", (), True)) == "0"


def test_mean_and_error_of_two_rows():
    mean, error = mean_and_error(np.array([[1.0, 3.0], [5.0, 5.0]]))
    assert mean.tolist() == [2.0, 5.0]
    assert error.tolist() == [1.0, 0.0]


def test_a_class_for_one_user_is_told_to_become_a_batch_agent(my_agents, tmp_path):
    with pytest.raises(ValueError, match=r"One\.act takes no observation, .*OneRows = rankgym\.per_row\(One\) in "):
        compare(ENV, [f"{my_agents}:One"], **SMALL, out=tmp_path / "out")


def test_an_action_that_is_refused_names_the_agents_method_and_the_round(my_agents, tmp_path):
    with pytest.raises(AgentFailed) as failure:
        compare(ENV, [f"{my_agents}:Repeats"], **SMALL, out=tmp_path / "out")
    words = (
        rf"agent = '{my_agents}:Repeats': in Repeats\.act, round 3: ValueError: action\[row 0\] .* repeats item 0; .*"
    )
    line = (tmp_path / f"{my_agents}.py").read_text().splitlines().index("    def act(self, observation):  # repeats")
    assert re.match(words, str(failure.value))
    assert f"{my_agents}.py:{line + 1})" in str(failure.value)
    env = gym.make_vec(ENV, num_envs=1)
    agent = parse_agent(f"{my_agents}:Repeats").make(env, 10, 0)
    with pytest.raises(ValueError, match=r"^in Repeats\.act, round 3: action\[row 0\] .*:\d+\)$"):
        rankgym.simulate(agent, env, 10, seed=0, progress=False)


# -- processes --------------------------------------------------------------------------------------------------------


def test_an_agents_failure_is_told_and_what_was_done_is_kept(tmp_path, my_agents):
    broken = f"{my_agents}:Breaks"
    with pytest.raises(RuntimeError) as failure:
        compare(ENV, ["static", broken], **SMALL, out=tmp_path / "out")
    told_of_failure(failure.value, my_agents, tmp_path / "out")
    assert [name.partition("-rows-")[0] for name in results(tmp_path / "out")] == ["static"]


def told_of_failure(error, module, folder):
    assert str(error).startswith(f"agent = '{module}:Breaks': LookupError: lost my way (")
    assert f"{module}.py:22)" in str(error)
    assert f"; all other jobs are finished and kept in {folder}; to try" in str(error)
    assert str(error).endswith(": the same call")


def test_two_processes_give_the_same_bits_as_one_and_tell_of_failures(tmp_path, my_agents, monkeypatch):
    """Rows of an agent are split, too."""
    monkeypatch.setattr(sys.modules["rankgym.experiments.compare"], "MIN_ROWS", 3)
    agents = ["toprank", f"{my_agents}:Shuffles"]
    one = compare(ENV, agents, **SMALL, out=tmp_path / "one")
    with pytest.raises(RuntimeError) as failure:
        compare(ENV, [*agents, f"{my_agents}:Breaks"], **SMALL, jobs=2, out=tmp_path / "two")
    told_of_failure(failure.value, my_agents, tmp_path / "two")
    assert [len(list((tmp_path / run / "results").glob("toprank*"))) for run in ("one", "two")] == [1, 2]
    two = compare(ENV, agents, **SMALL, jobs=2, out=tmp_path / "two")
    assert two.notes == ["all 6 rows of every agent were kept from an earlier run; --fresh plays them again"]
    for label, history in one.histories.items():
        assert same(history, two.histories[label])
    assert (tmp_path / "one" / "toprank.npz").read_bytes() == (tmp_path / "two" / "toprank.npz").read_bytes()


@given(st.integers(1, 5000), st.integers(1, 8), st.integers(1, 40))
def test_jobs_are_neither_too_large_nor_too_few(rows, agents, processes):
    size = _rows_per_job(rows, agents, processes)
    jobs = -(-rows // size)
    assert 1 <= size <= 600
    assert jobs * agents >= min(processes, rows)  # no process idles
    if rows * agents >= 150 * processes:
        assert size >= min(rows, 50)  # and no job is tiny without need


# -- what is kept -----------------------------------------------------------------------------------------------------


def results(folder):
    return {path.name: path.stat().st_mtime_ns for path in sorted((folder / "results").iterdir())}


def test_files(tmp_path):
    found = compare(ENV, ["toprank:delta=1e-3", "static"], **SMALL, out=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
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
        "toprank_delta=1e-3.npz",
    ]
    file = np.load(tmp_path / "toprank_delta=1e-3.npz")
    history = found.histories["toprank:delta=1e-3"]
    assert all(np.array_equal(file[name], getattr(history, name)) for name in ("rounds", *MEASURES))
    assert file["query"].tolist() == [4, 0, 7, 4, 0, 7]
    assert file["seed"].tolist() == [3, 4, 5, 6, 7, 8]
    settings = json.loads((tmp_path / "compare.json").read_text())
    assert settings["environment"] == ENV
    assert settings["arguments"] == {"horizon": 150}
    assert settings["source"] is None
    assert settings["agents"][0] == {
        "name": "toprank:delta=1e-3",
        "class": "rankgym_agents.toprank:TopRank",
        "knobs": {"delta": 1e-3},
        "file": "toprank_delta=1e-3.npz",
        "code": parse_agent("toprank").digest(),
    }
    assert [settings[k] for k in ("rounds", "runs", "seed", "queries", "rows", "cutoff")] == [
        150,
        2,
        3,
        [4, 0, 7],
        6,
        5,
    ]
    assert settings["recorded_rounds"] == history.rounds.tolist()
    assert settings["versions"]["rankgym"] == rankgym.__version__
    lines = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [float(line["regret"]) for line in lines] == [line["regret"] for line in found.table()]
    assert (tmp_path / "table.md").read_text() == markdown_text(found)


def test_what_is_there_is_not_played_again(tmp_path):
    first = compare(ENV, ["random", "toprank"], **SMALL, out=tmp_path)
    assert first.notes == []
    before = results(tmp_path)
    again = compare(ENV, ["random", "toprank"], **SMALL, out=tmp_path)
    assert results(tmp_path) == before
    assert again.notes == ["all 6 rows of every agent were kept from an earlier run; --fresh plays them again"]
    assert again.table() == first.table()  # the rates too
    fresh = compare(ENV, ["random", "toprank"], **SMALL, out=tmp_path, fresh=True)
    assert fresh.notes == []
    assert results(tmp_path).keys() == before.keys()
    assert all(results(tmp_path)[name] > before[name] for name in before)


def test_one_more_run_plays_its_own_rows_only(tmp_path):
    compare(ENV, ["toprank"], **{**SMALL, "runs": 1}, out=tmp_path)
    two = compare(ENV, ["toprank", "static"], **SMALL, out=tmp_path)
    assert two.notes == ["kept from an earlier run, of 6 rows: toprank 3; --fresh plays them again"]
    assert [name.partition("-rows-")[2][:3] for name in results(tmp_path)] == ["0-2", "3-5", "0-2", "3-5"]
    assert same(two.histories["toprank"], compare(ENV, ["toprank"], **SMALL).histories["toprank"])
    one = compare(ENV, ["toprank"], **{**SMALL, "runs": 1}, out=tmp_path)
    assert one.histories["toprank"].regret.shape[1] == 3


@pytest.mark.parametrize(
    "change",
    [{"rounds": 160}, {"seed": 4}, {"query": [4, 0]}, {"num_positions": 4}, {"reference": "sorted"}],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_are_other_results(tmp_path, change):
    compare(ENV, ["toprank"], **SMALL, out=tmp_path)
    found = compare(ENV, ["toprank"], **{**SMALL, **change}, out=tmp_path)
    assert found.notes == [f"replaces the comparison of {ENV} (toprank; 150 rounds, seed 3) in {tmp_path}"]


def test_other_knobs_and_an_edited_agent_are_other_results(tmp_path, my_agents, monkeypatch):
    mine = f"{my_agents}:Shuffles"
    compare(ENV, ["toprank", mine], **SMALL, out=tmp_path / "out")
    notes = compare(ENV, ["toprank:delta=0.1"], **SMALL, out=tmp_path / "out").notes
    assert notes == [f"replaces the comparison of {ENV} (toprank, {mine}; 150 rounds, seed 3) in {tmp_path / 'out'}"]
    source = tmp_path / f"{my_agents}.py"
    source.write_text(source.read_text() + "\nEDITED = True\n")
    notes = compare(ENV, ["toprank", mine], **SMALL, out=tmp_path / "out").notes
    assert notes[0] == "kept from an earlier run, of 6 rows: toprank 6; --fresh plays them again"


def test_the_histories_of_a_replaced_comparison_go_and_nothing_else(tmp_path):
    compare(ENV, ["random", "toprank"], **SMALL, out=tmp_path)
    (tmp_path / "mine.npz").write_text("somebody's")
    kept = results(tmp_path)
    found = compare("CM-Synthetic-v0", ["toprank", "static"], **SMALL, out=tmp_path)
    assert found.notes == [f"replaces the comparison of {ENV} (random, toprank; 150 rounds, seed 3) in {tmp_path}"]
    assert sorted(path.stem for path in tmp_path.glob("*.npz")) == ["mine", "static", "toprank"]
    assert kept.items() <= results(tmp_path).items()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"agents": [{"file": "../../x.npz", "name": 3}]}', "{'"])
def test_somebody_elses_compare_json_removes_nothing(tmp_path, text):
    (tmp_path / "x.npz").write_text("x")
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "compare.json").write_text(text)
    assert compare(ENV, ["static"], **SMALL, out=tmp_path / "out", overwrite=True).notes == []
    assert (tmp_path / "x.npz").exists()


@pytest.mark.parametrize("env", [ENV, "CM-Yandex-Breakpoint-v0", "Dueling-Cyclic-v0"])
def test_the_files_of_histories_are_read_by_load(tmp_path, env):
    agent = "rucb" if "Dueling" in env else "toprank"
    settings = {"breakpoints": [20]} if "Breakpoint" in env else {}
    found = compare(env, [agent], rounds=50, runs=2, out=tmp_path, progress=False, **settings).histories[agent]
    for one, other in zip(found, type(found).load(tmp_path / f"{agent}.npz"), strict=True):
        assert one.shape == other.shape
        assert np.array_equal(one, other, equal_nan=True)


def test_files_that_no_comparison_wrote_are_not_replaced(tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    (tmp_path / ".hidden").touch()
    with pytest.raises(ValueError, match=r"out = .* \(table\.csv\); allowed: another folder, or overwrite=True"):
        compare(ENV, ["static"], **SMALL, out=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "table.csv"]
    assert (tmp_path / "table.csv").read_text() == "mine"
    (tmp_path / "notes.txt").write_text("mine, too")
    compare(ENV, ["static"], **SMALL, out=tmp_path, overwrite=True)
    assert (tmp_path / "table.csv").read_text().startswith("agent,")
    assert (tmp_path / "notes.txt").read_text() == "mine, too"
    compare(ENV, ["static", "random"], **SMALL, out=tmp_path)  # now it is a comparison's folder
    (tmp_path / "sweep.json").unlink()
    assert foreign_files(tmp_path) == ""  # compare.json says so, too


def test_files_that_would_be_replaced_are_named_first(tmp_path):
    for name in ("a.txt", "b.txt", "c.txt", "sweep.json", "table.md", "toprank.npz"):
        (tmp_path / name).write_text('{"rounds": "not a sweep"}')
    assert foreign_files(tmp_path) == "sweep.json, table.md, toprank.npz and 3 more"


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"\x00" * len(b)])
def test_a_damaged_result_is_played_again(tmp_path, damage):
    whole = compare(ENV, ["toprank"], **SMALL, out=tmp_path)
    (path,) = (tmp_path / "results").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    again = compare(ENV, ["toprank"], **SMALL, out=tmp_path)
    assert again.notes == []
    assert same(again.histories["toprank"], whole.histories["toprank"])
    assert compare(ENV, ["toprank"], **SMALL, out=tmp_path).notes  # it was mended


KILLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from rankgym.experiments import compare
compare({env!r}, ["cascade-swucb", "restarting"], rounds=10_000, query=[4, 0, 7], runs=2, seed=3, out=sys.argv[1],
        progress=False, checkpoint_every=0.05)
"""


def test_a_killed_comparison_goes_on_from_its_checkpoint(tmp_path):
    """A real process, killed once it has written a checkpoint; its files are those of an undisturbed run."""
    settings = {"rounds": 10_000, "query": [4, 0, 7], "runs": 2, "seed": 3, "progress": False}
    whole = compare(ENV, ["cascade-swucb", "restarting"], **settings, out=tmp_path / "whole")
    command = [sys.executable, "-c", KILLED.format(env=ENV), str(tmp_path / "killed")]
    with subprocess.Popen(command) as process:
        end = time.monotonic() + 120
        while not list((tmp_path / "killed").glob("work-*/*.npz")):
            assert process.poll() is None, "it was done before it was killed"
            assert time.monotonic() < end
            time.sleep(0.01)
        process.kill()
    (work,) = (tmp_path / "killed").glob("work-*")
    assert len(results(tmp_path / "killed")) < 2
    assert list(work.glob("*.npz"))
    found = compare(ENV, ["cascade-swucb", "restarting"], **settings, out=tmp_path / "killed")
    for name in ("cascade-swucb.npz", "restarting.npz", "compare.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    for name in results(tmp_path / "whole"):
        one, other = (tmp_path / run / "results" / name for run in ("killed", "whole"))
        assert one.read_bytes() == other.read_bytes()
    assert found.milestones == whole.milestones
    log = [json.loads(line) for line in (tmp_path / "killed" / "log.jsonl").read_text().splitlines()]
    assert sorted(line["agent"] for line in log) == ["cascade-swucb", "restarting"]


def test_an_interrupted_comparison_writes_checkpoints_and_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-c", KILLED.format(env=ENV).replace("10_000", "10_000_000"), str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 120
        while not list((tmp_path / "out").glob("work-*/*.npz")):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert "KeyboardInterrupt" in said
    assert f"checkpoints are kept in {tmp_path / 'out'}; to resume: the same call" in said
    assert list((tmp_path / "out").glob("work-*/*.npz"))


def test_a_comparisons_folder_is_that_of_a_sweep(tmp_path):
    """`rankgym sweep status|export|report` and ``load`` read it."""
    found = compare(ENV, ["toprank", "random"], **SMALL, out=tmp_path / "out")
    lines = load(tmp_path / "out").to_pylist()
    for label, history in found.histories.items():
        mine = [line for line in lines if line["agent"] == label]
        assert len(mine) == history.regret.size
        for name in MEASURES:
            assert np.array_equal(np.reshape([line[name] for line in mine], (6, -1)).T, getattr(history, name))
    assert {line["environment"] for line in lines} == {"PBM-Synthetic-v0"}
    run = CliRunner()
    exported = run.invoke(app, ["sweep", "export", str(tmp_path / "out"), "--to", str(tmp_path / "t.parquet")])
    assert (exported.exit_code, exported.exception) == (0, None)
    assert load(tmp_path / "t.parquet").num_rows == len(lines)
    status = run.invoke(app, ["sweep", "status", str(tmp_path / "out")])
    assert "2 of 2 jobs are finished" in status.output
    report = run.invoke(app, ["sweep", "report", str(tmp_path / "out")])
    assert (report.exit_code, report.exception) == (0, None)


def test_another_sweeps_folder_is_left_alone(tmp_path):
    sweep = Sweep((Environment("", ENV, query=0),), ("static",), 10, name="mine")
    keep_sweep(sweep, tmp_path)
    with pytest.raises(ValueError, match=r"has the sweep 'mine'; allowed: another folder"):
        compare(ENV, ["static"], **SMALL, out=tmp_path)
    assert Sweep.from_folder(tmp_path) == sweep


def test_the_cut_of_the_same_comparison_is_kept(tmp_path):
    compare(ENV, ["static"], **SMALL, out=tmp_path, jobs=2, backend="threading")
    assert [name.partition("-rows-")[2][:3] for name in results(tmp_path)] == ["0-2", "3-5"]
    for changes in ({}, {"runs": 3}, {"runs": 1}):
        found = compare(ENV, ["static", "random"], **{**SMALL, **changes}, out=tmp_path)
        assert Sweep.from_folder(tmp_path).rows_per_job == 3
        assert same(found.histories["static"], compare(ENV, ["static"], **{**SMALL, **changes}).histories["static"])
    compare(ENV, ["static"], **{**SMALL, "seed": 9}, out=tmp_path)
    assert Sweep.from_folder(tmp_path).rows_per_job == 6


def test_fewer_rows_than_a_result_has(tmp_path):
    compare(ENV, ["toprank"], **SMALL, out=tmp_path)
    before = results(tmp_path)
    found = compare(ENV, ["toprank"], **{**SMALL, "runs": 1}, out=tmp_path)
    assert results(tmp_path) == before
    assert found.notes[0] == "all 3 rows of every agent were kept from an earlier run; --fresh plays them again"
    assert same(found.histories["toprank"], compare(ENV, ["toprank"], **{**SMALL, "runs": 1}).histories["toprank"])
    assert {line["row"] for line in load(tmp_path).to_pylist()} == {0, 1, 2}


def test_retiring_changes_nothing_but_rewards(tmp_path):
    settings = {"rounds": 20_000, "query": [0, 1], "num_items": 5, "num_positions": 2, "progress": False}
    played, retired = (compare(ENV, ["toprank"], **settings, retire=retire) for retire in (False, True))
    assert "retire" not in played.settings()
    assert retired.settings()["retire"] is True
    for name in MEASURES:
        one, other = (getattr(found.histories["toprank"], name) for found in (played, retired))
        assert np.array_equal(one, other) == (name != "reward")


def test_classes_at_a_prompt_play_in_this_process(monkeypatch):
    """As ``__main__.Mine``, which no other process could import."""
    main = sys.modules["__main__"]
    mine = type("Mine", (AGENTS["random"],), {"__module__": "__main__"})
    monkeypatch.setattr(main, "Mine", mine, raising=False)
    found = compare(ENV, [mine, "random"], **SMALL)
    assert [spec.label for spec in found.agents] == ["Mine", "random"]
    assert same(found.histories["Mine"], found.histories["random"])


@pytest.mark.parametrize("library", ["joblib", "pyarrow", "filelock"])
def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RuntimeError, match=rf'this needs {library}.* pip install "rankgym\[experiments\]"'):
        compare(ENV, ["static"], **SMALL, out=tmp_path / "out")
    found = CliRunner().invoke(app, ["compare", ENV, "--agents", "static", "--rounds", "10", "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert found.output.startswith(f"error: this needs {library}, which is not installed; pip install")
    assert len(found.output.splitlines()) == 1


def test_a_file_is_whole_or_not_there(tmp_path):
    (tmp_path / "a").write_text("old")

    def write():
        with atomic_path(tmp_path / "a") as path:
            path.write_text("ne")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        write()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a", "old")]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 0}, "rounds = 0 is out of range; allowed: a whole number in 1 .. 1000000000000000"),
        ({"runs": 0}, "runs = 0 is out of range; allowed: a whole number in 1 .. 1000000"),
        ({"seed": -1}, "seed = -1 is out of range; allowed: a whole number, at least 0"),
        ({"jobs": 0}, "jobs = 0 is out of range; allowed: a whole number, at least 1"),
        (
            {"query": 1000},
            "query = 1000 is out of range; allowed: 0 .. 999, a list of these, 'all', 'train', 'test' or None",
        ),
        ({"query": None}, "query = None does not choose queries; allowed: a number, a list, 'all', 'train' or 'test'"),
        ({"num_positions": 11}, "num_positions = 11 is out of range; allowed: a whole number in 1 .. 10"),
        (
            {"horizon": 10},
            "rounds = 150 exceeds the environment's horizon of 10; allowed: at most 10 rounds, or an environment "
            "without horizon and max_episode_steps",
        ),
        (
            {"query": [4, 0, 4]},
            "query = [4, 0, 4] has 4 twice; allowed: each once, and runs=2 to play them twice",
        ),
        ({"agents": []}, "agents = []; allowed: at least one, each once"),
        ({"agents": ["static", "static"]}, "agents = ['static', 'static']; allowed: at least one, each once"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_bad_arguments_are_refused_before_anything_is_written(tmp_path, change, message):
    arguments = {"agents": ["static"], **SMALL, **change}
    with pytest.raises(ValueError) as refusal:
        compare(ENV, **arguments, out=tmp_path / "out")
    assert str(refusal.value) == message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["Refuses", "Repeats", "Starts"])
def test_every_failure_of_ones_own_agent_names_it_and_a_place(my_agents, tmp_path, kind):
    source = tmp_path / f"{my_agents}.py"
    source.write_text(
        source.read_text()
        + """
class Refuses(Shuffles):
    def update(self, displayed, clicks):
        raise ValueError('no more')

class Repeats(Shuffles):
    def act(self, observation):
        return 0 * super().act(observation)

class Starts(Shuffles):
    def __init__(self, num_items):
        np.zeros(3) + np.zeros(4)
"""
    )
    with pytest.raises(AgentFailed) as failure:
        compare(ENV, [f"{my_agents}:{kind}"], **SMALL)
    during = r"in Repeats\.act, round 0: " if kind == "Repeats" else ""
    assert re.match(rf"agent = '{my_agents}:{kind}': {during}ValueError: .* \(.*\.py:\d+\)$", str(failure.value))
    assert f"{my_agents}.py:" in str(failure.value)


def test_a_module_that_cannot_be_imported_names_the_agent(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"torn_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text("class Mine(:\n")
    with pytest.raises(AgentFailed, match=rf"^agent = '{name}:Mine': SyntaxError: .*{name}\.py, line 1\)$"):
        compare(ENV, [f"{name}:Mine"], **SMALL)


def test_only_json_reaches_the_environment():
    with pytest.raises(ValueError, match="are not plain JSON values"):
        compare(ENV, ["static"], **SMALL, parameters={"attraction": np.ones(10)})


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "text"),
    [(1, "1"), (100, "100"), (1000, "1k"), (1234, "1,234"), (2500, "2.5k"), (100_000, "100k"), (2_500_000, "2.5M")],
)
def test_counts_in_words(rounds, text):
    assert counted(rounds) == text


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [(12345.6, 78.9, "12,346 ± 79"), (123.45, 6.78, "123.5 ± 6.8"), (1.234, 0.5678, "1.23 ± 0.57"), (0, 0, "0 ± 0")],
)
def test_cells(mean, error, text):
    assert cell({"regret": mean, "regret_se": error}, Column("regret", (), True)) == text


def test_a_new_column_is_in_all_tables(monkeypatch):
    first = Column("first", ("reward", "at once"), False, lambda history: history.reward[0], digits=3)
    monkeypatch.setattr(comparison, "table_columns", lambda found: [*table_columns(found), first])
    found = compare(ENV, ["static", "random"], rounds=10, query=[0, 1], progress=False)
    (mean, _) = (history.reward[0].mean() for history in found.histories.values())
    assert csv_text(found).splitlines()[0].endswith(",first,first_se")
    assert markdown_text(found).splitlines()[0].endswith(" reward at once |")
    assert f"| {mean:.2f} ± 0 |" in markdown_text(found).splitlines()[2]
    console = Console(width=200, file=io.StringIO())
    console.print(fitting_table(found, console)[0])
    assert "at once" in console.file.getvalue()


def test_table_in_markdown_and_csv():
    found = compare(ENV, ["static", "random"], rounds=100, query=[0, 1], progress=False)
    lines = markdown_text(found).splitlines()
    assert lines[0] == (
        "| agent | regret after 100 | violations in first 100 | violations in all | NDCG at 5 | reward a round | "
        "sessions a second |"
    )
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| static", "| random"]
    assert lines[-1] == f"{caption(found)}."
    assert caption(found) == (
        "rankgym/PBM-Synthetic-v0: mean ± standard error over 2 queries, 1 run each; 100 rounds, seed 0"
    )
    assert caption(found, "none") == (
        "rankgym/PBM-Synthetic-v0: mean over 2 queries, 1 run each; 100 rounds, seed 0; standard errors in table.csv"
    )
    assert "mean, partly ± standard error, over 2 queries" in caption(found, "some")
    assert len(columns(found)) == 6
    assert csv_text(found).count("\n") == 3


@pytest.mark.parametrize("env", ["PBM-Yandex-v0", "CM-Yandex-Rerank-v0"])
def test_nobody_takes_calibrated_queries_for_the_original(env):
    found = compare(env, ["static"], rounds=1, query=0, progress=False)
    assert found.settings()["source"] == "calibrated"
    assert caption(found).startswith(f"rankgym/{env}, calibrated click models: ")


def test_one_round_and_a_short_repr():
    found = compare(ENV, ["static"], rounds=1, query=0, progress=False)
    for errors in ("all", "some", "none"):  # there are none
        assert caption(found, errors).endswith(": mean over 1 query, 1 run; 1 round, seed 0")
    assert len(repr(found)) < 500
    assert type(found.table()[0]["sessions_per_second"]) is float


def test_slugs_are_file_names_everywhere():
    assert slug("mine.agents:Best:x=1e-6") == "mine.agents_Best_x=1e-6"
