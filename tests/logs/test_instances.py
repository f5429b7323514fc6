"""From fits to instances: which documents, in which order; the command, its collection, its errors."""

import itertools
import re
from collections import Counter

import gymnasium as gym
import numpy as np
import plain_logs
import pytest

from rankgym import data
from rankgym.data import fits as stored
from rankgym.data import listing
from rankgym.logs.fitting import Fitted
from rankgym.logs.instances import displays, queries_with, to_fits
from rankgym.logs.readers import read_log, read_parts
from rankgym.models import MODELS

pytestmark = pytest.mark.usefixtures("quick_figures")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(folder))
    return folder


def drawn(seed, sessions=300, documents=5, positions=3, queries=3):
    """Random sessions of few documents, so that lists come again and frequencies tie."""
    generator = np.random.default_rng(seed)
    for _ in range(sessions):
        query = int(generator.integers(queries))
        length = int(generator.integers(1, positions + 1))
        shown = generator.permutation(documents)[:length]
        yield f"q{query}", [f"d{one}" for one in shown], (generator.random(length) < 0.4).tolist()


def naive_order(sessions, query, items):
    """The labels of a query's most frequent documents, in the order of its most frequent list."""
    lists = Counter(tuple(documents) for q, documents, _ in sessions if q == query)
    times = Counter(one for documents in lists.elements() for one in documents)
    by_frequency = sorted(times, key=lambda one: (-times[one], one))
    end = len(by_frequency)
    favourite = min(lists, key=lambda one: (-lists[one], [*map(by_frequency.index, one), end, end, end][:3]))
    chosen = by_frequency[:items]
    return [one for one in favourite if one in chosen] + [one for one in chosen if one not in favourite]


def made_up(model, sessions):
    """A fit with parameters that tell items and positions apart."""
    sizes = {"item": len(sessions.item_id), "position": sessions.num_positions, "previous": sessions.num_positions}
    tables = {}
    for number, (name, axes) in enumerate(MODELS[model].axes.items(), start=2):
        shape = tuple(sizes[axis] for axis in axes)
        tables[name] = 1.0 / (number + np.arange(int(np.prod(shape)), dtype=float).reshape(shape))
    return Fitted(model, tables, tables, -1.0, sessions.num_sessions, 0, True, 0.0, np.zeros(2), np.zeros(1))


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(8))
def test_the_most_frequent_documents_in_the_order_of_the_most_frequent_list(seed, tmp_path):
    sessions = list(drawn(seed))
    path = plain_logs.write(tmp_path, sessions, "relevance")
    fitted, held, _ = read_parts(path, "relevance", held_out=0.3, seed=seed, progress=False)
    shown = displays([fitted, held])
    for query, items in itertools.product(range(3), (2, 4)):
        fits = to_fits(made_up("PBM", fitted), fitted, shown, items=items)
        assert fits.item[query].tolist() == naive_order(sessions, fitted.query_id[query], items)
    times = Counter((query, one) for query, documents, _ in sessions for one in documents)
    whose = zip(fitted.query_id[fitted.item_query].tolist(), fitted.item_id.tolist(), strict=True)
    assert shown.times.tolist() == [times[one] for one in whose]


@pytest.mark.parametrize("model", MODELS)
def test_parameters_are_those_of_the_documents_and_positions(model, tmp_path):
    sessions = read_log(plain_logs.write(tmp_path, list(drawn(1)), "csv"), "plain")
    fitted = made_up(model, sessions)
    fits = to_fits(fitted, sessions, displays([sessions]), items=4, provenance={"log": "x"})
    assert (fits.model, fits.axes, fits.provenance) == (model, MODELS[model].axes, {"log": "x"})
    for query, row in enumerate(fits.item):
        for place, label in enumerate(row):
            number = np.flatnonzero((sessions.item_id == label) & (sessions.item_query == query)).item()
            for name, axes in fits.axes.items():
                if axes == ("item",):
                    assert fits.parameters[name][query, place] == fitted.parameters[name][number]
    for name, axes in fits.axes.items():
        if axes != ("item",):
            assert all(np.array_equal(table, fitted.parameters[name]) for table in fits.parameters[name])
    data.store("mine", fits)
    env = gym.make(f"rankgym/{model}-Yandex-v0", source="mine", num_positions=3, query=1)
    assert env.unwrapped.num_items == 4


def test_the_most_attractive_documents(tmp_path):
    sessions = read_log(plain_logs.write(tmp_path, list(drawn(2, queries=1)), "csv"), "plain")
    fitted = made_up("PBM", sessions)
    fits = to_fits(fitted, sessions, displays([sessions]), items=2, choice="attractive")
    best = sessions.item_id[np.argsort(-fitted.parameters["attraction"])[:2]]
    assert sorted(fits.item[0]) == sorted(best)


def test_queries_with_few_documents_are_left_out(tmp_path):
    log = [("few", ["a", "b"], [0, 0])] * 5 + [("many", ["a", "b", "c"], [0, 1, 0])]
    sessions = read_log(plain_logs.write(tmp_path, log, "csv"), "plain")
    shown = displays([sessions])
    assert queries_with(sessions, shown.times, 3).tolist() == [1]
    assert to_fits(made_up("CM", sessions), sessions, shown, items=3).query.tolist() == ["many"]
    with pytest.raises(data.DataError, match=r"no query has 10 documents; allowed: items = 1 \.\. 3, the most"):
        to_fits(made_up("CM", sessions), sessions, shown)
    with pytest.raises(ValueError, match="choice = 'best' is unknown; allowed: 'frequent', 'attractive'"):
        to_fits(made_up("CM", sessions), sessions, shown, choice="best")


# -- the command ------------------------------------------------------------------------------------------------------

ATTRACTION = np.array([0.2, 0.6, 0.4, 0.1, 0.3, 0.5, 0.25, 0.15, 0.35, 0.45])
EXAMINATION = np.array([1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.3, 0.2, 0.2, 0.2])


def pbm_sessions(number=6_000, seed=0):
    """Sessions of two queries with 10 documents and one with 3, of users that are those of a PBM."""
    generator = np.random.default_rng(seed)
    for session in range(number):
        query, items = session % 3, 3 if session % 3 == 2 else 10
        shown = generator.permutation(items) if generator.random() < 0.7 else np.arange(items)
        clicks = generator.random(items) < (ATTRACTION[shown] * EXAMINATION[:items])
        yield f"query {query}", [f"d{one}" for one in shown], clicks.tolist()


@pytest.fixture
def log(tmp_path):
    return plain_logs.write(tmp_path, list(pbm_sessions()), "relevance", packed=True)


def fit(run, log, *more):
    result = run("data", "fit", str(log), "--format", "relevance", "--out", "mine", *more)
    return result, result.output


def test_from_a_log_to_an_environment(run, log, home):
    result, said = fit(run, log)
    assert result.exit_code == 0, said
    assert "PBM of 2 queries with 10 documents: " in said
    assert "of 6,000 sessions of 3 queries in the log" in said
    assert "1 of 3 queries has fewer than 10 documents and was left out" in said
    assert "rankgym compare PBM-Yandex-v0 --source mine plays it" in said
    assert "perplexity" in said
    assert re.search(r"^examination: 1\.0000, 0\.\d+ ± 0\.\d+, ", said, re.MULTILINE)
    assert "warning" not in said
    fits = data.load_fits("mine")
    assert fits.query.tolist() == ["query 0", "query 1"]
    assert fits.item.tolist() == [[f"d{one}" for one in range(10)]] * 2  # the most frequent list
    found = fits.parameters["attraction"] * fits.parameters["examination"][:, :1]
    # 2,000 sessions a query, of which a position shows a document in 200 or more: standard errors below 0.04
    assert abs(found - ATTRACTION).max() < 0.2
    assert fits.provenance["sessions"] == 6_000
    assert fits.provenance["log"] == "log.relevance.gz"
    assert len(fits.provenance["sha256"]) == 64
    assert 1.0 < fits.provenance["held-out perplexity"] < 2.0
    row = next(row for row in listing() if row["name"] == "mine")
    assert "held-out perplexity" in row["provenance"]
    env = gym.make("rankgym/PBM-Yandex-v0", source="mine", query="query 1")
    assert env.unwrapped.num_items == 10
    played = run("compare", "PBM-Yandex-v0", "--source", "mine", "--agents", "static", "--rounds", "50", "--runs", "1")
    assert played.exit_code == 0, played.output


def test_the_same_log_gives_the_same_file(run, log, home):
    fit(run, log)
    first = stored.place("mine").read_bytes()
    result, said = fit(run, log)
    assert result.exit_code == 2
    assert said.startswith("error: --out mine is taken, see rankgym data list; allowed: another name, or --overwrite")
    fit(run, log, "--overwrite")
    assert stored.place("mine").read_bytes() == first
    fit(run, log, "--overwrite", "--seed", "1")
    assert stored.place("mine").read_bytes() != first


@pytest.mark.parametrize("model", ["cm", "dcm", "dbn", "ubm", "ccm", "dbm"])
def test_every_model(model, run, log):
    result, said = fit(run, log, "--model", model, "--held-out", "0", "--positions", "4", "--items", "5")
    assert result.exit_code == 0, said
    assert f"rankgym compare {model.upper()}-Yandex-v0 --source mine" in said
    assert gym.make(f"rankgym/{model.upper()}-Yandex-v0", source="mine", num_positions=4).unwrapped.num_items == 5
    assert data.load_fits("mine").provenance["held-out perplexity"] == "not measured"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "pmb"], "--model pmb is not known; did you mean 'pbm'? allowed: cm, pbm, dcm"),
        (["--model", "pbm,dcm"], "--model pbm,dcm has several models; allowed: one, as a collection has fits of one"),
        (["--prior", "2"], "--prior 2 is not two numbers; allowed: A,B, such as 2,2"),
        (["--prior", "0.5,1"], "--prior 0.5,1 is out of range"),
        (["--held-out", "1"], "held_out = 1.0 is out of range; allowed: [0, 1)"),
        (["--items", "11"], "of 3 queries none has 11 documents; allowed: --items 10, the most that one of them has"),
        (["--out", "calibrated"], "name = 'calibrated' is taken"),
        (["--out", "a/b"], "name = 'a/b' is not allowed"),
        (["--format", "personalised"], "are broken; allowed: a share of max_broken = 0.001. The first: "),
        (["--format", "plain"], "line 1: there is no column 'query'"),
        (["--choice", "best"], "choice = 'best' is unknown; allowed: 'frequent', 'attractive'"),
    ],
)
def test_errors_leave_nothing_behind(words, said, run, log, home):
    result, output = fit(run, log, *words)
    assert result.exit_code == 2
    assert said in output
    assert output.count("\n") == 1
    assert not (home / "fits").exists()


def test_broken_lines_are_reported(run, tmp_path):
    text = plain_logs.written(list(pbm_sessions(900)), "relevance").decode()
    (tmp_path / "log").write_text(f"1\tbroken\n{text}")
    result, said = fit(run, tmp_path / "log", "--max-broken", "0.01")
    assert result.exit_code == 0, said
    assert "lines was broken and left out; " in said
    assert "log, line 1: it has 2 columns" in said


def test_few_sessions_and_none_held_out_get_warnings(run, tmp_path, home):
    few = tmp_path / "few.csv"
    lists = ["q,a,b,1,0", "q,b,a,0,1", "q,a,b,0,0", "q,b,a,1,0"] * 20
    few.write_text("\n".join(["query,item_1,item_2,click_1,click_2", *lists]) + "\n")
    result = run("data", "fit", str(few), "--items", "2", "--held-out", "0", "--out", "few")
    assert result.exit_code == 0, result.output
    assert "warning: only 80 sessions fitted" in result.output
    assert "warning: no session held out" in result.output


def test_help_teaches(run):
    said = run("data", "fit", "--help").output
    assert "rankgym data fit clicks.csv --model pbm --out my-clicks" in said
    assert "shoes,doc17,doc3,doc21,1,0,0" in said
