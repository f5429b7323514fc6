"""A tidy table has a line for each row and record, with what was recorded, for pandas and for polars."""

import json
import subprocess
import sys

import numpy as np
import pytest

from rankgym import DuelingHistory, History
from rankgym.estimates import with_error
from rankgym.experiments import load
from rankgym.experiments.run import tidy_tables as tables
from rankgym.experiments.run.plan_file import plan_of, write_plan
from rankgym.experiments.run.results import MOST_LINES, Played, Results

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

ROUNDS = np.array([1, 10, 100])


def rankings(agent="toprank", environment="CM", rows=4, epochs=2):
    rng = np.random.default_rng(rows)
    names = ("regret", "violations", "ndcg", "reward")
    epoch_regret = rng.random((epochs, rows))
    epoch_regret[1:, 0] = np.nan  # a row that has not come to it
    return Played(
        environment,
        agent,
        "rankgym/CM-Yandex-v0",
        {},
        ROUNDS,
        np.arange(rows),
        np.arange(rows) % 2,
        np.arange(rows) // 2,
        {name: rng.random((3, rows)) for name in names},
        epoch_regret,
        np.where(np.arange(rows) == 1, 50, -1),
    )


def duels(environment="MSLR"):
    one = rankings("mergerucb", environment, epochs=0)
    unknown = np.full((3, 4), np.nan)
    measures = {"regret": one.measures["regret"], "accuracy": unknown, "reward": one.measures["reward"]}
    return one._replace(measures=measures)


def test_a_line_for_each_row_and_record():
    one = rankings()
    frame = tables.table([one]).to_pandas()
    assert list(frame.columns) == [
        "environment",
        "agent",
        "row",
        "query",
        "run",
        "round",
        "regret",
        "violations",
        "ndcg",
        "reward",
        "settled_at",
    ]
    assert len(frame) == 4 * 3
    assert frame["round"].tolist() == [1, 10, 100] * 4
    assert frame["row"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    for line in frame.itertuples():
        record = ROUNDS.tolist().index(line.round)
        assert line.regret == one.measures["regret"][record, line.row]
        assert line.ndcg == one.measures["ndcg"][record, line.row]
        assert (line.query, line.run) == (one.query[line.row], one.run[line.row])
    assert frame["settled_at"].dropna().tolist() == [50, 50, 50]
    assert set(frame["agent"]) == {"toprank"}


def test_rankings_and_duels_have_the_measures_of_both():
    table = tables.table(Results([rankings(), duels()]))
    assert table.column_names == list(tables.COLUMNS)
    assert table.num_rows == 24
    assert table["accuracy"].null_count == 24  # of rankings there is none, and of these duels nobody knows it
    assert table["violations"].null_count == 12
    assert pyarrow.types.is_dictionary(table.schema.field("agent").type)
    frame = table.to_pandas()
    assert frame.groupby("agent", observed=True)["regret"].count().to_dict() == {"mergerucb": 12, "toprank": 12}


def test_polars_takes_it():
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(tables.table(Results([rankings(), rankings("static"), duels()])))
    last = frame.filter(polars.col("round") == 100).group_by("agent").agg(polars.col("regret").mean()).to_dicts()
    means = {line["agent"]: line["regret"] for line in last}
    assert np.isclose(means["toprank"], rankings().measures["regret"][-1].mean())
    assert set(means) == {"toprank", "static", "mergerucb"}


def test_nothing_is_an_empty_table():
    assert tables.table([]).num_rows == 0


def test_a_table_is_written_whole_and_read_again(tmp_path):
    table = tables.table(Results([rankings(), duels()]))
    for name in ("one.parquet", "two.parquet"):
        tables.write_table(table, tmp_path / name)
    assert load(tmp_path / "one.parquet").to_pandas().equals(table.to_pandas())
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_played_answers_by_round_and_query():
    one = rankings()
    assert np.array_equal(one.at("regret", 10), one.measures["regret"][1])
    queries, means = one.by_query(one.measures["regret"])
    assert queries.tolist() == [0, 1]
    assert np.allclose(means[:, 0], one.measures["regret"][:, [0, 2]].mean(axis=1))
    with pytest.raises(ValueError, match=r"round = 11 was not recorded"):
        one.at("regret", 11)
    with pytest.raises(
        ValueError, match=r"measure = 'clicks' is unknown; allowed: 'regret', 'violations', 'ndcg', 'reward'"
    ):
        one.at("clicks", 10)


def test_results_are_found_by_their_labels():
    found = Results([rankings(), rankings("static"), duels()])
    assert found["CM", "static"].agent == "static"
    assert ("CM", "static") in found
    assert ("MSLR", "static") not in found
    assert found.environments == ["CM", "MSLR"]
    assert found.agents("CM") == ["toprank", "static"]
    assert len(found) == 3
    with pytest.raises(KeyError, match=r"was not played; there are \('CM', 'toprank'\)"):
        found["CM", "random"]


# -- from a sweep's folder --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sweep of two agents, in two jobs each, one environment of it with breakpoints."""
    sweeps = pytest.importorskip("rankgym.experiments.run.sweeps")
    from rankgym.experiments.plan.sweep import Environment, Sweep

    arguments = {"num_items": 5, "num_positions": 3}
    sweep = Sweep(
        environments=(Environment("plain", "CM-Synthetic-v0", arguments),),
        agents=("static", "toprank"),
        rounds=60,
        runs=5,
        query=[0],
        rows_per_job=3,
    )
    path = tmp_path_factory.mktemp("sweep")
    found = sweeps.run_sweep(sweep, path, jobs=1, progress=False)
    return path, sweep, found


def test_a_folder_of_results_is_loaded(folder):
    path, _, found = folder
    frame = load(path).to_pandas()
    assert len(frame) == 2 * 5 * len(found["plain", "static"].rounds)
    assert set(frame["agent"]) == {"static", "toprank"}
    regret = frame[(frame["agent"] == "static") & (frame["round"] == 60)].sort_values("row")["regret"].to_numpy()
    assert np.array_equal(regret, found["plain", "static"].at("regret", 60))


def test_labels_come_with_the_plan(folder):
    path, sweep, _ = folder
    assert set(load(path).to_pandas()["environment"]) == {"plain"}
    assert tables.read(path).environments == ["plain"]
    (path / "plan.json").unlink()
    label = "CM-Synthetic-v0, num_items=5, num_positions=3"
    assert tables.read(path).environments == [label]
    write_plan(path, plan_of(sweep.name, sweep.jobs()))


def test_one_result_file_is_loaded(folder):
    path, _, _ = folder
    file = sorted(path.glob("results/*.parquet"))[0]
    assert load(file).to_pandas()["row"].max() in (2, 4)


def test_a_missing_result_is_said_unless_what_there_is_will_do(folder, tmp_path):
    path, sweep, _ = folder
    (tmp_path / "results").mkdir()
    write_plan(tmp_path, plan_of(sweep.name, sweep.jobs()))
    file = sorted(path.glob("results/*.parquet"))[0]
    (tmp_path / "results" / file.name).write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match="has 1 of the sweep's 4 results"):
        load(tmp_path)
    assert len(set(load(tmp_path, partial=True).to_pandas()["row"])) in (2, 3)


def test_two_results_of_the_same_rows_are_not_mixed(folder, tmp_path):
    path, _, _ = folder
    file = sorted(path.glob("results/*.parquet"))[0]
    for name in ("one.parquet", "two.parquet"):
        (tmp_path / name).write_bytes(file.read_bytes())
    with pytest.raises(ValueError, match="has several results of 'static'"):
        load(tmp_path)


def test_what_holds_no_results_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no results; allowed: the folder of a sweep"):
        load(tmp_path)
    with pytest.raises(ValueError, match="has no results"):
        load(tmp_path / "nowhere")
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(ValueError, match="is damaged, or not a Parquet file"):
        load(tmp_path / "text.parquet")
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "text.parquet")
    with pytest.raises(ValueError, match="has no column 'environment'"):
        load(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match=r"text\.parquet is not a result file of rankgym"):
        load(tmp_path)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(ValueError, match=r"plan.json is damaged"):
        load(tmp_path)


def test_importing_the_room_needs_no_library_of_tables():
    script = (
        "import json, sys, rankgym.experiments; from rankgym.experiments.run import tidy_tables; "
        "from rankgym.experiments.judge import claims, intervals; "
        "print(json.dumps([m for m in ('pyarrow', 'scipy.stats', 'matplotlib', 'joblib', 'filelock', 'pandas') "
        "if m in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []


# -- in a prompt ------------------------------------------------------------------------------------------------------


def test_results_are_said_in_a_line_each():
    one, other = rankings(), duels()
    text = repr(Results([one, other]))
    assert text.splitlines()[0] == "Results: 2 results in 2 environments"
    mean, error = one.measures["regret"][-1].mean(), one.measures["regret"][-1].std(ddof=1) / 2
    assert repr(one) == f"Played('CM', 'toprank': 4 rows, 100 rounds, 3 records, regret {with_error(mean, error)})"
    assert repr(one)[len("Played(") : -1] in text
    many = repr(Results([one._replace(agent=f"agent {n}") for n in range(500)]))
    assert len(many.splitlines()) == 1 + MOST_LINES
    assert "... 481 more ..." in many
    assert "'agent 499'" in many


def test_what_was_played_is_a_history():
    one = rankings()
    history = one.history()
    assert isinstance(history, History)
    assert np.array_equal(history.regret, one.measures["regret"])
    assert np.array_equal(history.epoch_regret, one.epoch_regret, equal_nan=True)
    assert isinstance(duels().history(), DuelingHistory)
