"""Simulated logs: what depends on what, the probabilities in them, and the four formats read again line by line."""

import csv
import gzip
import json

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgym
from rankgym import data
from rankgym.logs.evaluation import estimate, played_log, read_plain, true_value
from rankgym.logs.policies import PlackettLucePolicy, StaticPolicy, policy_of
from rankgym.logs.simulating import Simulation, playing, write_log
from rankgym.logs.simulating.writing import plain_columns
from rankgym_agents import TopRank

pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
PBM = "rankgym/PBM-Yandex-v0"
LUCE = "plackett-luce:temperature=0.5"


def toprank(env, horizon, seed):
    return TopRank.for_env(env, horizon=horizon, seed=seed)


def equal(one, other):
    for mine, its in zip(one, other, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, its)


# ---- sessions ----


def test_a_log_depends_on_its_seed_and_is_the_beginning_of_a_longer_one(monkeypatch):
    log = played_log(Simulation(PBM, 3_000, LUCE, seed=1))
    equal(log, played_log(Simulation(PBM, 3_000, LUCE, seed=1)))
    other = played_log(Simulation(PBM, 3_000, LUCE, seed=2))
    assert (log.displayed != other.displayed).any(axis=1).mean() > 0.5
    monkeypatch.setattr(playing, "BLOCK_SESSIONS", 2_000)  # several blocks
    longer = played_log(Simulation(PBM, 7_001, LUCE, seed=1))
    shorter = played_log(Simulation(PBM, 3_000, LUCE, seed=1))
    assert len(longer.query) == 7_001
    equal(longer.of(slice(0, 3_000)), shorter)


def test_queries_come_in_turn():
    log = played_log(Simulation(PBM, 1_000, query=[7, 2, 50]))
    np.testing.assert_array_equal(log.query, np.resize([7, 2, 50], 1_000))
    log = played_log(Simulation(PBM, 1_000, toprank, query="test"))
    np.testing.assert_array_equal(log.query, np.resize(np.arange(4, 100, 5), 1_000))


def test_the_probabilities_are_those_of_the_policy():
    simulation = Simulation("rankgym/CM-Yandex-v0", 500, "epsilon:epsilon=0.3", query=[3, 1])
    log, policy = played_log(simulation), simulation.policy
    np.testing.assert_array_equal(log.propensity, policy.probability(log.query, log.displayed))
    np.testing.assert_array_equal(log.prefix_propensity, policy.prefixes(log.query, log.displayed))
    for session in range(0, 500, 50):
        table = policy.item_position(log.query[[session]])[0]
        expected = table[log.displayed[session], np.arange(5)]
        np.testing.assert_array_equal(log.item_propensity[session], expected)
    base = (log.displayed == np.arange(5)).all(axis=1)
    assert abs(base.mean() - 0.7) < 5.5 * np.sqrt(0.21 / 500)  # fixed seed


def test_clicks_are_those_of_the_environments_users():
    """The click rate at each position within 5.5 standard errors of the model's: below 1e-6 by chance; fixed seed."""
    simulation = Simulation("rankgym/UBM-Yandex-v0", 40_000, "static", query=3)
    log, env = played_log(simulation), simulation.env
    own = type(env.parameters)(*(table[:1] for table in env.parameters))
    expected = env.model.click_probability(own, np.arange(5)[None])[0]
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert (np.abs(log.clicks.mean(axis=0) - expected) < 5.5 * error).all()


def test_an_agent_makes_the_log_that_simulate_plays():
    simulation = Simulation(PBM, 6_000, toprank, seed=4, query=[5, 8])
    log = played_log(simulation)
    assert (log.propensity, log.item_propensity, log.prefix_propensity) == (None, None, None)
    env_seed, agent_seed = (int(s) for s in np.random.SeedSequence(4).generate_state(2, np.uint64) >> np.uint64(1))
    env = gym.make_vec(PBM, num_envs=2, query=[5, 8], horizon=3_000)
    history = rankgym.simulate(toprank(env, 3_000, agent_seed), env, 3_000, seed=env_seed, progress=False)
    rewards = [log.clicks[log.query == query].sum() for query in (5, 8)]
    np.testing.assert_array_equal(rewards, history.reward[-1])


def test_users_who_change_have_one_row_a_query():
    simulation = Simulation("rankgym/CM-Yandex-Breakpoint-v0", 1_000, "random", query=[1, 2])
    assert simulation.env.num_envs == 2
    assert len(played_log(simulation).query) == 1_000
    drawn = Simulation("rankgym/CM-Yandex-Breakpoint-v0", 1_000, "random", query=[1, 2], num_breakpoints=3)
    assert drawn.env.horizon == 500


def test_many_items_are_played_in_few_rows():
    parameters = {"attraction": np.linspace(0, 1, 2_000).tolist()}
    simulation = Simulation("rankgym/PBM-Synthetic-v0", 100, parameters=parameters)
    assert simulation.env.num_envs == (1 << 22) // (2_000 * 32)
    log = played_log(simulation)
    assert log.item_propensity is not None  # of uniform lists it is known
    log = played_log(Simulation("rankgym/PBM-Synthetic-v0", 9, LUCE, num_items=17))
    assert log.item_propensity is None
    assert log.propensity is not None


def test_the_estimate_from_a_log_in_memory_is_near_the_true_value():
    """Within 6 standard errors: fails by chance with a probability below 1e-6; the seed is fixed."""
    simulation = Simulation("rankgym/CM-Yandex-v0", 30_000, LUCE, query=[0, 1, 2], num_positions=3)
    log = played_log(simulation)
    target = policy_of("plackett-luce:temperature=0.25", simulation.env.queries.initial_list, 3)
    value, error = true_value(simulation.env, target, log.query)
    assert error == 0
    for method in ("sips", "rips", "cascade-dr"):
        found = estimate(log, target, method)
        assert abs(found.value - value) < 6 * found.error
        assert found == estimate(log, target, method, logging=simulation.policy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env_id": "rankgym/Dueling-Arxiv-v0", "query": "all"}, "has no argument|has no logs"),
        ({"sessions": 0}, "sessions = 0 is out of range"),
        ({"policy": "plackett"}, "policy = 'plackett' is unknown; did you mean 'plackett-luce'"),
        ({"query": None}, "query = None draws queries; allowed for a log"),
        ({"horizon": 5}, "horizon = 5 cannot be set"),
        ({"seed": -1}, "seed = -1 is out of range"),
        ({"policy": StaticPolicy([[0, 1]], 10)}, r"policy is for \(items, positions, queries\) = \(10, 2, 1\)"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Simulation(**{"env_id": PBM, "sessions": 10, **arguments})


# ---- files ----


def written(path, format="plain", policy=LUCE, sessions=700, **arguments):
    simulation = Simulation(PBM, sessions, policy, seed=9, query=[3, 64], num_positions=4, **arguments)
    write_log(simulation, path, format, progress=False)
    return simulation, played_log(
        Simulation(PBM, sessions, policy, seed=9, query=[3, 64], num_positions=4, **arguments)
    )


def opened(path):
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open()


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "LOG.CSV.GZ", "log.tsv.gz"])
def test_the_plain_table_as_text(tmp_path, name):
    simulation, log = written(tmp_path / name)
    with opened(tmp_path / name) if name.islower() else gzip.open(tmp_path / name, "rt") as file:
        rows = list(csv.reader(file, delimiter="\t" if ".tsv" in name else ","))
    assert rows[0] == plain_columns(4)
    assert len(rows) == 701
    queries = data.query_ids("yandex")
    for number in range(0, 700, 7):
        session, query, *rest = rows[1 + number]
        assert (session, query) == (str(number), queries[log.query[number]])
        assert rest[:4] == [str(item) for item in log.displayed[number]]
        assert rest[4:8] == [str(click) for click in log.clicks[number]]
        floats = [float(text) for text in rest[8:]]
        assert floats == [log.propensity[number], *log.item_propensity[number], *log.prefix_propensity[number]]
    equal(read_plain(tmp_path / name, simulation.query_labels, simulation.item_labels), log)


def test_the_plain_table_as_parquet(tmp_path):
    simulation, log = written(tmp_path / "log.parquet")
    table = parquet.read_table(tmp_path / "log.parquet")
    assert table.column_names == plain_columns(4)
    made = json.loads(table.schema.metadata[b"rankgym"])
    assert (made["environment"], made["policy"], made["seed"]) == (PBM, LUCE, 9)
    assert made["arguments"] == {"query": [3, 64], "num_positions": 4}
    equal(read_plain(tmp_path / "log.parquet", simulation.query_labels, simulation.item_labels), log)


def test_an_agents_table_has_no_propensities(tmp_path):
    for name in ("log.csv", "log.parquet"):
        simulation, log = written(tmp_path / name, policy=toprank)
        equal(read_plain(tmp_path / name, simulation.query_labels, simulation.item_labels), log)
    assert (tmp_path / "log.csv").read_text().splitlines()[1].endswith("," * 9)


def test_labels_of_imported_fits_even_with_commas(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "home"))
    lines = ["query,item,position,attraction,examination"]
    lines += [f'"red, ""new"" shoes",doc {item},,0.{item + 1},' for item in range(5)]
    lines += [f"hats,hat{item},,0.{5 - item}," for item in range(5)]
    lines += [f",,{k},,0.5" for k in range(1, 6)]
    (tmp_path / "fits.csv").write_text("\n".join(lines) + "\n")
    data.import_fits("mine", tmp_path / "fits.csv")
    for name in ("log.csv", "log.parquet"):
        simulation = Simulation(PBM, 40, "random", source="mine", num_positions=2)
        write_log(simulation, tmp_path / name)
        log = played_log(Simulation(PBM, 40, "random", source="mine", num_positions=2))
        equal(read_plain(tmp_path / name, simulation.query_labels, simulation.item_labels), log)
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["query"] for row in rows} == {'red, "new" shoes', "hats"}
    assert rows[1]["item_1"] == f"hat{log.displayed[1, 0]}"
    with pytest.raises(ValueError, match="has a separator of this format; allowed: the format 'plain'"):
        write_log(Simulation(PBM, 40, source="mine", num_positions=2), tmp_path / "log.txt", "personalised")
    assert not (tmp_path / "log.txt").exists()


@pytest.mark.parametrize("name", ["log", "log.gz"])
def test_the_relevance_log(tmp_path, name):
    _, log = written(tmp_path / name, "relevance")
    with opened(tmp_path / name) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    queries, expected = data.query_ids("yandex"), []
    for number, (query, items, clicks) in enumerate(zip(log.query, log.displayed, log.clicks, strict=True)):
        expected.append([str(number), "0", "Q", queries[query], "0", *map(str, items)])
        expected += [[str(number), str(k + 1), "C", str(items[k])] for k in range(4) if clicks[k]]
    assert lines == expected


def test_the_personalised_log(tmp_path):
    _, log = written(tmp_path / "log.txt.gz", "personalised")
    with gzip.open(tmp_path / "log.txt.gz", "rt") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    queries, expected = data.query_ids("yandex"), []
    for number, (query, items, clicks) in enumerate(zip(log.query, log.displayed, log.clicks, strict=True)):
        label, pairs = queries[query], [f"{item},{item}" for item in items]
        expected.append([str(number), "M", "1", str(number)])
        expected.append([str(number), "0", "Q", "0", label, label, *pairs])
        expected += [[str(number), str(k + 1), "C", "0", str(items[k])] for k in range(4) if clicks[k]]
    assert lines == expected


def test_equal_logs_are_equal_files(tmp_path):
    for format, name in (("plain", "{}.csv.gz"), ("relevance", "{}.gz"), ("plain", "{}.parquet")):
        for copy in "ab":
            written(tmp_path / name.format(copy), format, sessions=50)
        assert (tmp_path / name.format("a")).read_bytes() == (tmp_path / name.format("b")).read_bytes()


def test_files_are_whole_or_not_there(tmp_path):
    def interrupt(sessions):
        raise KeyboardInterrupt

    path = tmp_path / "log.csv"
    with pytest.raises(KeyboardInterrupt):
        write_log(Simulation(PBM, 100), path, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    write_log(Simulation(PBM, 100), path, progress=False)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="exists; allowed: another file, or overwrite"):
        write_log(Simulation(PBM, 50), path)
    with pytest.raises(KeyboardInterrupt):
        write_log(Simulation(PBM, 50), path, overwrite=True, progress=interrupt)
    assert path.read_bytes() == before
    write_log(Simulation(PBM, 50), path, overwrite=True)
    assert len(path.read_text().splitlines()) == 51
    with pytest.raises(ValueError, match=r"does not say its format; allowed: a name with \.csv, \.tsv, \.parquet"):
        write_log(Simulation(PBM, 50), tmp_path / "log.txt")
    with pytest.raises(ValueError, match="format = 'plane' is unknown"):
        write_log(Simulation(PBM, 50), path, "plane")


def test_what_a_plain_log_lacks_is_said(tmp_path):
    simulation, _ = written(tmp_path / "log.csv", sessions=20)
    path = tmp_path / "changed.csv"
    text = (tmp_path / "log.csv").read_text()
    for old, new, message in [
        ("item_2", "thing", "line 1: there is no column 'item_2'"),
        ("query,", "quest,", "line 1: there is no column 'query'"),
        (",calibrated-64,", ",,", r"line \d+: the query is empty; allowed: a label"),
        ("calibrated-64", "calibrated-640", r"line \d+: query = 'calibrated-640' is in the log, but not in the env"),
    ]:
        path.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=message):
            read_plain(path, simulation.query_labels, simulation.item_labels)
    path.write_text(text.replace("calibrated-03,", "calibrated-03,9", 1))
    with pytest.raises(
        ValueError, match=r"changed.csv, line \d+: item_1 = '9\d' is not an item of query 'calibrated-03'"
    ):
        read_plain(path, simulation.query_labels, simulation.item_labels)
    with pytest.raises(ValueError, match="does not exist"):
        read_plain(tmp_path / "none.csv", simulation.query_labels, simulation.item_labels)


def test_a_plain_log_is_read_by_the_rules_of_the_readers(tmp_path):
    """Semicolons, spare columns, no session, many rows at once; broken lines are left out up to 1 in 1,000."""
    simulation, log = written(tmp_path / "log.csv", sessions=3_000)
    text = (tmp_path / "log.csv").read_text()
    rows = [line.split(",")[1:] for line in text.splitlines()]
    path = tmp_path / "other.txt"
    path.write_text("\n".join(";".join(row) for row in rows) + "\n")
    labels = simulation.query_labels, simulation.item_labels
    equal(read_plain(path, *labels), log)
    with path.open("a") as file:
        file.write("calibrated-03;1\n")
    with pytest.warns(UserWarning, match=r"^1 of 3,002 lines was broken and left out; .*, line 3002: it has 2 columns"):
        equal(read_plain(path, *labels), log)
    k = log.displayed.shape[1]
    for changed, message in [
        ({f"item_{k}": "", f"click_{k}": ""}, f"line 3002: item_{k} is empty; allowed: an item at each position"),
        ({"propensity": "x"}, "line 3002: propensity = 'x'; allowed: a number, or nothing"),
    ]:
        last = [changed.get(name, cell) for name, cell in zip(rows[0], rows[-1], strict=True)]
        path.write_text("\n".join(";".join(row) for row in [*rows, last]) + "\n")
        with pytest.raises(ValueError, match=message):
            read_plain(path, *labels)
    rows[0].append("propensity")
    path.write_text("\n".join(";".join(row) for row in rows) + "\n")
    with pytest.raises(ValueError, match="column 'propensity' stands here twice"):
        read_plain(path, *labels)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1]], "column 'propensity' has values of type list"),
        ([{"a": 1}], "column 'propensity' has values of type struct"),
        ([True], "column 'propensity' has values of type bool; allowed: numbers"),
        ([2**63], None),  # more than a float64 has exactly
        (["0.5"], None),
    ],
)
def test_probabilities_in_parquet_are_numbers(values, said, tmp_path):
    propensity = pyarrow.array(values, pyarrow.uint64() if values == [2**63] else None)
    table = {"query": ["q"], "item_1": ["a"], "click_1": [1], "propensity": propensity}
    parquet.write_table(pyarrow.table(table), tmp_path / "log.parquet")
    labels = np.array(["q"]), np.array([["a"]])
    if said is None:
        assert read_plain(tmp_path / "log.parquet", *labels).propensity.tolist() == [float(values[0])]
        return
    with pytest.raises(data.DataError, match=said):
        read_plain(tmp_path / "log.parquet", *labels)


@pytest.mark.filterwarnings("ignore:.*mean weight", "ignore:.*all weights")  # propensities that nobody had
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_a_table_has_it_is_read_or_refused(tmp_path, data):
    names = plain_columns(2)
    cell = st.one_of(st.sampled_from(["0", "1", "2", "x", "", "0.5", "nan", "q"]), st.text(max_size=4))
    heads = data.draw(st.one_of(st.just(names), st.lists(st.sampled_from(names), max_size=9)))
    good = ["0", "q", "0", "1", "0", "1", "0.5", "0.5", "0.5", "0.5", "0.5"]
    rows = [heads, good]
    for _ in range(data.draw(st.integers(0, 2))):
        row = list(good)
        row[data.draw(st.integers(0, 10))] = data.draw(cell)
        rows.append(row)
    with (tmp_path / "table.csv").open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        csv.writer(file).writerows(rows)
    try:
        log = read_plain(tmp_path / "table.csv", np.array(["q"]), np.array([["0", "1", "2"]]))
        found = estimate(log, StaticPolicy([[0, 1]], 3), "sips")
    except ValueError:
        return
    assert np.isfinite(found.value)


def test_a_policy_of_ones_own_makes_a_log():
    logits = np.linspace(1, 0, 10)[None].repeat(100, axis=0)
    policy = PlackettLucePolicy(logits, 5, "mine")
    simulation = Simulation(PBM, 10, policy)
    assert simulation.description["policy"] == "mine"
    assert simulation.propensities() == (True, True)
    assert len(played_log(simulation).query) == 10
    with pytest.raises(RuntimeError, match="have been played; make another"):
        played_log(simulation)
