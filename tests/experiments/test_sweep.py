"""A sweep as data: what may be typed, which jobs it is cut into, and what their keys depend on."""

import contextlib
import copy
import datetime
import functools
import inspect
import json
import math
import os
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

from rankgym import data
from rankgym.commands.sweep import run as run_command
from rankgym.experiments.plan import digests
from rankgym.experiments.plan import jobs as job_module
from rankgym.experiments.plan import sweep as sweep_module
from rankgym.experiments.plan.agents import parse_agent, spelled
from rankgym.experiments.plan.jobs import ResultName, cover
from rankgym.experiments.plan.sweep import Environment, Sweep, label_of
from rankgym_agents import AGENTS, TopRank

ENV = Environment("CM", "CM-Yandex-v0")


def small(**changes):
    return Sweep(**{"environments": (ENV,), "agents": ("toprank",), "rounds": 20, "query": (0, 3, 7), **changes})


def written(tmp_path, text):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


# -- what is typed ----------------------------------------------------------------------------------------------------


def test_the_example_file():
    """It is the example of the help, made small."""
    file = Path(__file__).resolve().parents[2] / "examples" / "sweep.toml"
    sweep = Sweep.from_toml(file)
    assert [job.environment for job in sweep.jobs()][::3] == ["CM-Yandex-v0", "PBM, five queries"]
    assert sum(job.sessions for job in sweep.jobs()) == 3 * (100 + 5) * 2 * 20_000


def test_the_example_of_the_help(tmp_path):
    text = inspect.getdoc(run_command)
    example = textwrap.dedent(text[text.index("    rounds = ") : text.index("is cut into jobs")])
    sweep = Sweep.from_toml(written(tmp_path, example.replace('"published"', '"calibrated"')))
    assert (sweep.rounds, sweep.runs, sweep.seed, sweep.query, sweep.retire) == (100_000, 10, 0, "all", True)
    assert sweep.agents == ("toprank", "cascade-kl-ucb", "toprank:delta=1e-6")
    first, second = sweep.environments
    assert first.label == "CM-Yandex-v0, source=calibrated"
    assert first.kwargs == {"source": "calibrated"}
    assert second.label == "PBM, five queries"
    assert second.query == (0, 1, 2, 3, 4)
    assert second.agents == ("toprank", "bubblerank")
    assert {(job.environment, job.block.agent.label, job.block.start, job.block.stop) for job in sweep.jobs()} == {
        (label, agent, start, min(start + 600, rows))
        for label, rows, agents in ((first.label, 1000, sweep.agents), (second.label, 50, second.agents))
        for agent in agents
        for start in range(0, rows, 600)
    }


def test_what_json_keeps():
    sweep = Sweep(
        environments=(ENV, Environment("", "PBM-Synthetic-v0", {"num_items": 7}, agents=(TopRank,), query=[1, 2])),
        agents=["toprank", {"name": "cascade-kl-ucb", "feedback": "last"}],
        rounds=50,
        record_at=[7, 9],
        name="two",
    )
    assert sweep.agents == ("toprank", "cascade-kl-ucb:feedback=last")
    assert sweep.environments[1].agents == ("rankgym_agents.toprank:TopRank",)
    assert sweep.environments[1].label == "PBM-Synthetic-v0, num_items=7"
    assert Sweep.from_json(sweep.to_json()) == sweep
    assert [job.key for job in Sweep.from_json(sweep.to_json()).jobs()] == [job.key for job in sweep.jobs()]


WORDS = st.text(st.characters(codec="ascii", exclude_characters=":,"), max_size=8)
VALUES = st.one_of(st.booleans(), st.none(), st.integers(-9, 9), st.floats(allow_nan=False), WORDS)


@settings(max_examples=40)
@given(knobs=st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), VALUES, max_size=3))
def test_knobs_of_a_table_are_those_of_the_name(knobs):
    from rankgym.experiments.plan.agents import parse_agent

    knobs = {key: value for key, value in knobs.items() if key not in ("name", "agent", "model")}
    (text,) = small(agents=[{"name": "toprank", **knobs}]).agents
    assert parse_agent(text).knobs == knobs


def test_tables_of_agents(tmp_path):
    text = 'rounds = 9\n[[agents]]\nname = "toprank"\ndelta = 1e-6\n[[environments]]\nid = "CM-Yandex-v0"\n'
    assert Sweep.from_toml(written(tmp_path, text)).agents == ("toprank:delta=1e-06",)


TOP = 'rounds = 9\nagents = ["toprank"]\n'
ONE = '[[environments]]\nid = "CM-Yandex-v0"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rounds = ", r"sweep\.toml is not valid TOML: "),
        (ONE, "rounds is missing; allowed: how many sessions each row has"),
        (TOP, r"environments is missing; allowed: at least one table \[\[environments\]\] with id"),
        (f"roundz = 9\n{TOP}{ONE}", "'roundz' is not a key of a sweep; did you mean 'rounds'"),
        (f"{TOP}[[environments]]\nlabel = 'x'\n", r"an environment has no id, only label; allowed: id = \.\.\."),
        (f"{TOP}environments = 3\n", r"environments = 3 is not a list of tables; allowed: \[\[environments\]\]"),
        (f"{TOP}{ONE}{ONE}", "two environments have the label 'CM-Yandex-v0'; allowed: different ones"),
        (f"runs = 0\n{TOP}{ONE}", r"runs = 0 is out of range; allowed: a whole number in 1 \.\. 1000000"),
        (f"retire = 1\n{TOP}{ONE}", "retire = 1 is neither true nor false"),
        (f"name = 3\n{TOP}{ONE}", "name = 3 is not a text; allowed: a title in quotes"),
        (f"{TOP}{ONE}label = 3\n", "an environment has label = 3; allowed: a text in quotes"),
        (f"{TOP}{ONE}arguments = 3\n", "an environment has arguments = 3; allowed: a table of them"),
        (f"seed = -1\n{TOP}{ONE}", "seed = -1 is out of range; allowed: a whole number, at least 0"),
        (f"{TOP}{ONE}rounds = 1.5\n", "environment 'CM-Yandex-v0': rounds = 1.5 is out of range"),
        (f"record_at = 7\n{TOP}{ONE}", "record_at = 7 is not a list; allowed: round numbers"),
        (f"rounds = 9\nagents = 7\n{ONE}", "agents = 7 is not a list; allowed: a list of names"),
        (f"rounds = 9\nagents = [{{delta = 1}}]\n{ONE}", "allowed: a name, a class, or a table with a name and knobs"),
        (
            f"rounds = 9\nagents = [{{name = 'toprank', x = 'a:b'}}]\n{ONE}",
            "knobs cannot be written as 'toprank:x=a:b'",
        ),
    ],
)
def test_what_no_file_may_say(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as found:
        Sweep.from_toml(written(tmp_path, text))
    assert str(found.value).startswith(str(tmp_path / "sweep.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"runs = 1_000_000_000\n{TOP}{ONE}", r"runs = 1000000000 is out of range; .* in 1 \.\. 1000000"),
        (f"rounds = 1{'0' * 16}\n{ONE}", r"rounds = 10+ is out of range; .* in 1 \.\. 10{15}"),
        (f"rows_per_job = 10_000_000\n{TOP}{ONE}", "rows_per_job = 10000000 is out of range"),
        (f"seed = 0x{'f' * 6_000}\n{TOP}{ONE}", "seed is a whole number of 24,000 bits; allowed: at most 256"),
        (f"seed = {'9' * 6_000}\n{TOP}{ONE}", "4300 digits"),
        (f"name = 07:32:00\n{TOP}{ONE}", "name = 07:32:00 is a date or a time; allowed: a number, a text in quotes"),
        (
            f"{TOP}{ONE}arguments = {{x = 2026-01-01}}\n",
            r"environments\[0\].arguments.x = 2026-01-01 is a date or a time",
        ),
        (f"{TOP}{ONE}arguments = [1, 2]\n", r"arguments = \[1, 2\]; allowed: a table of them"),
        (f"{TOP}{ONE}cutoff = nan\n", r"environments\[0\].cutoff = nan is not finite"),
        (f"{TOP}{ONE}label = [[]]\n", r"an environment has label = \[\[\]\]; allowed: a text in quotes"),
        (f"agents = [{{name = 'toprank', label = [[]]}}]\nrounds = 9\n{ONE}", r"has label = \[\[\]\]; allowed: a text"),
        (f"agents = ['{'é' * 300}']\nrounds = 9\n{ONE}", "agent = 'é+' is unknown"),
        (f"{TOP}{ONE}x = {'[' * 30}{']' * 30}\n", "is nested too deeply; allowed: 20 levels"),
        (f"{TOP}{ONE}x = {'[' * 5_000}{']' * 5_000}\n", "is nested too deeply; allowed: 20 levels"),
        (f"runs = 1_000_000\nquery = 'all'\n{TOP}[[environments]]\nid = 'Dueling-LETOR-v0'\n", "environment 'Duel"),
        (f"runs = 200_000\nrows_per_job = 1\nquery = 0\n{TOP}{ONE}", "into 200,000 jobs; allowed: at most 100,000"),
        (
            f"runs = 1_000_000\nquery = {[*range(20)]}\n{TOP}{ONE}",
            "20 queries or problems are 20,000,000 rows; allowed",
        ),
    ],
)
def test_what_is_not_plain_or_too_large(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        Sweep.from_toml(written(tmp_path, text)).jobs()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink(path.name, path)])
def test_what_is_not_a_file_is_not_read(tmp_path, make):
    """A FIFO might never end, a link lead to itself, and a folder of results may be somebody else's."""
    for name in ("sweep.toml", "sweep.json"):
        make(tmp_path / name)
    with pytest.raises(ValueError, match=r"sweep\.toml: it is not a regular file; allowed: a file of TOML"):
        Sweep.from_toml(tmp_path / "sweep.toml")
    with pytest.raises(ValueError, match=r"sweep\.json is damaged: .*; allowed: `rankgym sweep run FILE\.toml --out"):
        Sweep.from_folder(tmp_path)


MUTABLE = {
    "rounds": 20,
    "runs": 2,
    "seed": 3,
    "query": [0, 3],
    "record_at": [5],
    "rows_per_job": 4,
    "retire": True,
    "name": "x",
    "labels": {"static": "S"},
    "agents": ["static", {"name": "toprank", "delta": 1e-6, "label": "TR"}],
    "environments": [
        {"id": "CM-Yandex-v0", "source": "calibrated", "label": "a"},
        {"id": "PBM-Synthetic-v0", "arguments": {"num_items": 6, "num_positions": 3}, "rounds": 10, "query": "all"},
    ],
}
TIMES = st.sampled_from([datetime.date(2026, 1, 1), datetime.time(7, 32), datetime.datetime(2026, 1, 1, 7, 32)])
NUMBERS = st.sampled_from([0, -1, 2**63, 2**64, 2**200, 2**999, 1e300, math.nan, math.inf, -0.0])
ODD = st.sampled_from(["", "@", "@x", "\0", "\ud800", "a:b=c", "toprank:delta=nan", "é" * 300, "all"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), NUMBERS, ODD, TIMES, st.floats(), st.text(max_size=5))
ANYTHING = st.recursive(LEAVES, lambda deeper: st.lists(deeper, max_size=2) | st.dictionaries(ODD, deeper, max_size=2))


def places(value, at=()):
    """The places of a document: of each key and entry, and of a key that is not there."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*at, key)
        if isinstance(value[key], dict | list):
            yield from places(value[key], (*at, key))
    if isinstance(value, dict):
        yield (*at, "another")


@settings(max_examples=100, deadline=None)
@given(place=st.sampled_from(list(places(MUTABLE))), value=ANYTHING, removed=st.booleans())
def test_whatever_a_file_says_it_is_a_sweep_or_a_documented_error(place, value, removed):
    """TOML has times, JSON has null; both become the same document before anything looks at it."""
    document = copy.deepcopy(MUTABLE)
    table = functools.reduce(lambda inner, key: inner[key], place[:-1], document)
    if removed and place[-1] != "another":
        del table[place[-1]]
    else:
        table[place[-1]] = value
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ValueError):
        patch.setattr(sweep_module, "MOST_JOBS", 50)  # planning a job takes a millisecond
        sweep = Sweep.from_document(document, Path(__file__).parent)
        assert sum(job.sessions for job in sweep.jobs()) > 0
        assert Sweep.from_json(sweep.to_json()) == sweep


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"none\.toml cannot be read: No such file"):
        Sweep.from_toml(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"environments": (ENV, Environment("duels", "Dueling-Arxiv-v0", query="all"))},
            "environment 'duels': agent = 'toprank' ranks items, but the environment has duels of arms",
        ),
        ({"agents": ("toprang",)}, "environment 'CM': agent = 'toprang' is unknown; did you mean 'toprank'"),
        ({"agents": ("toprank", "toprank")}, "allowed: at least one, each once"),
        ({"query": (0, 3, 0)}, r"environment 'CM': query = \[0, 3, 0\] has 0 twice"),
        ({"query": (0, 1_000)}, "environment 'CM': query"),
        ({"record_at": (21,)}, "environment 'CM': record_at = 21 is out of range; allowed: a whole number in 1 .. 20"),
        ({"environments": (Environment("x", "CM-Yandex-v0", {"num_item": 3}),)}, "environment 'x': .* 'num_item'"),
        ({"environments": (Environment("x", "CM-Index-v0"),)}, "environment 'x': environment 'CM-Index-v0' is unknown"),
        (
            {"environments": (Environment("x", "CM-Yandex-v0", {"horizon": 5}),)},
            "environment 'x': rounds = 20 exceeds .* horizon of 5; allowed: at most 5 rounds, or an environment",
        ),
        ({"environments": (Environment("x", "CM-Yandex-v0", {"num_items": {1}}),)}, "not plain JSON"),
    ],
)
def test_what_does_not_go_together(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes).check()


def test_who_plays_where_nobody_is_named():
    jobs = small(agents=(), environments=(Environment("duels", "Dueling-Cyclic-v0", query="all"),)).jobs()
    from rankgym_agents import DUELERS

    assert [job.block.agent.label for job in jobs] == list(DUELERS)


# -- jobs -------------------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(
    queries=st.lists(st.integers(0, 99), min_size=1, max_size=7, unique=True),
    runs=st.integers(1, 9),
    per_job=st.integers(1, 12),
    seed=st.integers(0, 2**40),
)
def test_jobs_cover_each_row_once(queries, runs, per_job, seed):
    jobs = small(query=queries, runs=runs, rows_per_job=per_job, seed=seed).jobs()
    rows = [row for job in jobs for row in range(job.block.start, job.block.stop)]
    assert rows == list(range(len(queries) * runs))
    assert [query for job in jobs for query in job.block.queries] == queries * runs
    assert all(job.block.rows <= per_job and job.block.seed == seed for job in jobs)
    assert len({job.key for job in jobs}) == len(jobs)
    assert sum(job.sessions for job in jobs) == 20 * len(rows)


def test_more_runs_only_add_jobs():
    before = {job.key for job in small(runs=4, rows_per_job=3).jobs()}
    after = {job.key for job in small(runs=7, rows_per_job=3).jobs()}
    assert before < after


@given(
    rows=st.integers(1, 60),
    size=st.integers(1, 20),
    made=st.lists(st.tuples(st.integers(0, 70), st.integers(1, 30)).map(lambda one: (one[0], sum(one))), max_size=6),
)
def test_what_is_made_keeps_its_rows_and_gaps_are_cut_on_the_grid(rows, size, made):
    made = [cut for cut in made if cut[0] < rows]
    chosen = cover(rows, size, made)
    covered = {row for start, stop in chosen for row in range(start, stop)}
    there = {row for start, stop in made for row in range(start, stop)}
    assert covered >= set(range(rows))
    new = [cut for cut in chosen if cut not in made]
    assert not there & {row for start, stop in new for row in range(start, stop)}  # nothing is played twice
    assert all(stop - start <= size and start // size == (stop - 1) // size for start, stop in new)
    assert cover(rows, size, chosen) == chosen
    if not made:
        assert chosen == [(start, min(start + size, rows)) for start in range(0, rows, size)]


def names(jobs):
    return [ResultName.of(job.block.agent.label, job.block.start, job.block.stop, job.key) for job in jobs]


def rows_of(jobs):
    return [(job.block.start, job.block.stop) for job in jobs]


def test_results_of_another_cut_count():
    made = names(small(runs=3, rows_per_job=4).jobs())
    assert rows_of(small(runs=3, rows_per_job=5).jobs(made)) == [(0, 4), (4, 8), (8, 9)]
    assert rows_of(small(runs=5, rows_per_job=5).jobs(made)) == [(0, 4), (4, 8), (8, 9), (9, 10), (10, 15)]
    assert rows_of(small(runs=1, rows_per_job=5).jobs(made)) == [(0, 4)]  # the last row is not the sweep's
    assert set(names(small(runs=3, rows_per_job=5).jobs(made))) == set(made)


@pytest.mark.parametrize("changes", [{"seed": 1}, {"agents": ("random",)}, {"rounds": 21}, {"query": (0, 7, 3)}])
def test_results_of_other_jobs_do_not_count(changes):
    made = names(small(runs=3, rows_per_job=4, **changes).jobs())
    assert rows_of(small(runs=3, rows_per_job=5).jobs(made)) == [(0, 5), (5, 9)]


def test_names_of_results():
    (job,) = small(agents=("cascade-kl-ucb:feedback=last",)).jobs()
    (name,) = names([job])
    assert str(name) == f"cascade-kl-ucb_feedback=last-rows-0-2-{job.key}.parquet"
    assert ResultName.parse(str(name)) == name
    assert ResultName.parse("notes.parquet") is None
    assert ResultName.parse(f"a-rows-0-2-{job.key}.parquet.part") is None


def test_an_environments_own_settings():
    own = Environment("own", "PBM-Yandex-v0", {}, ("bubblerank",), 10, 2, [5], 99, (4,))
    jobs = small(environments=(ENV, own), record_at=(15,)).jobs()
    block = jobs[1].block
    assert (block.agent.label, block.rounds, block.horizon, block.queries, block.seed) == (
        "bubblerank",
        10,
        10,
        [5, 5],
        99,
    )
    assert block.record_at == [1, 4, 10]
    assert jobs[0].block.record_at == [1, 10, 15]
    assert block.env_kwargs == {"horizon": 10}


def test_problems_and_environments_without_any():
    arxiv = small(environments=(Environment("", "Dueling-Arxiv-v0", query="all", runs=3),), agents=("rucb",)).jobs()
    assert [(job.block.choice, job.block.queries) for job in arxiv] == [("problem", [0, 0, 0])]
    drawn = Environment("", "Dueling-Synthetic-v0", {"problem": [4, 2], "num_problems": 5})
    (job,) = small(environments=(drawn,), agents=("rucb",)).jobs()
    assert job.block.queries == [4, 2]


# -- keys -------------------------------------------------------------------------------------------------------------


def keys(**changes):
    return [job.key for job in small(**changes).jobs()]


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": 21},
        {"seed": 1},
        {"query": (0, 3, 8)},
        {"query": (0, 3)},
        {"agents": ("toprank:delta=1e-6",)},
        {"record_at": (3,)},
        {"retire": False},
        {"environments": (Environment("CM", "PBM-Yandex-v0"),)},
        {"environments": (Environment("CM", "CM-Yandex-v0", {"num_positions": 3}),)},
    ],
)
def test_what_is_chosen_is_in_the_key(changes):
    assert not set(keys()) & set(keys(**changes))


def test_what_decides_nothing_is_not_in_the_key():
    other = (Environment("another label", "rankgym/CM-Yandex-v0"),)
    assert keys() == keys(environments=other, name="x", rows_per_job=7)


def test_versions_and_code_are_in_the_key(monkeypatch):
    before = keys()
    with monkeypatch.context() as patch:
        patch.setattr(job_module, "versions", lambda: {"rankgym": "0.0.0"})
        assert not set(before) & set(keys())
    monkeypatch.setattr(job_module, "code_digest", lambda: "edited")
    assert not set(before) & set(keys())


def test_data_are_in_the_key(tmp_path, monkeypatch):
    """A file that an argument names, however deep, and a matrix that was imported: by what is in them."""
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "home"))
    file = tmp_path / "m.txt"
    file.write_text("0.5 0.6\n0.4 0.5\n")
    data.import_matrix("mine", file)
    duels = {"environments": (Environment("", "Dueling-Synthetic-v0", {"dataset": "mine"}),), "agents": ("rucb",)}
    before, named = keys(**duels, query="all"), digests.data_digests({"a": [{"b": str(file)}], "c": "mine", "d": "x"})
    assert set(named) == {str(file), "mine"}
    file.write_text("0.5 0.7\n0.3 0.5\n")
    data.import_matrix("mine", file)
    after = digests.data_digests({"a": [{"b": str(file)}], "c": "mine"})
    assert not set(before) & set(keys(**duels, query="all"))
    assert all(after[name] != digest for name, digest in named.items())


def test_everything_that_decides_is_plain_json():
    for job in small().jobs():
        assert json.loads(json.dumps(job.decides)) == job.decides


def test_labels():
    assert label_of("rankgym/CM-Yandex-v0", {}) == "CM-Yandex-v0"
    assert label_of("X-v0", {"a": "b", "n": 3, "l": [1]}) == "X-v0, a=b, n=3, l=[1]"


def test_blanks_make_no_other_agent():
    texts = ("pbm-ucb:examination=[0.95, 0.8]", "pbm-ucb:examination= [ 0.95,0.8 ]")
    tables = (
        {"name": "pbm-ucb", "examination": [0.95, 0.8]},
        functools.partial(AGENTS["pbm-ucb"], examination=[0.95, 0.8]),
    )
    environments = (Environment("", "PBM-Yandex-v0", {"num_positions": 2}),)
    for agent in (*texts, *tables):
        (name,) = Sweep(environments, (agent,), 10).agents
        assert name.endswith(":examination=[0.95,0.8]")
        assert parse_agent(name).label == name
    for kept in ("toprank:delta=1e-6", "toprank:delta=1.50", 'a.b:C:text="x, y"', "a.b:C:text=x y", "a.b:C:text=[1, 2"):
        assert spelled(kept) == kept
    assert spelled('a.b:C:texts=["x, y", "\\" z" ]') == 'a.b:C:texts=["x, y","\\" z"]'


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ([{"name": "toprank", "label": ""}], "agent 'toprank' has label = ''; allowed: a text in quotes"),
        ([{"name": "toprank", "label": "static"}, "static"], "two agents have the label 'static'"),
        ([{"name": "toprank", "label": "A"}, {"name": "toprank", "label": "B"}], "has the labels 'A' and 'B'"),
    ],
)
def test_labels_of_agents_that_are_refused(agents, message):
    with pytest.raises(ValueError, match=message):
        Sweep((Environment("", "PBM-Yandex-v0"),), agents, 10)


def test_what_continues_a_sweep():
    one, two = Environment("", "PBM-Yandex-v0"), Environment("", "CM-Yandex-v0", agents=("static",), runs=2)
    sweep = Sweep((one, two), ("toprank", "static"), 10, runs=2)
    more = Sweep((one, two._replace(runs=3)), ("toprank", "static", "random"), 10, runs=3, rows_per_job=7, name="x")
    assert more.continues(sweep)
    assert not sweep.continues(more)
    assert replace(sweep, labels={"toprank": "TopRank"}).continues(sweep)
    assert sweep.continues(replace(sweep, environments=(one,)))
    for change in ({"rounds": 20}, {"seed": 1}, {"query": 0}, {"retire": False}, {"record_at": (5,)}, {"agents": ()}):
        assert not replace(sweep, **change).continues(sweep)
        assert not sweep.continues(replace(sweep, **change))
    assert not replace(sweep, environments=(one, two._replace(seed=3))).continues(sweep)
    assert not replace(sweep, environments=(one._replace(kwargs={"num_items": 6}, label=one.env_id), two)).continues(
        sweep
    )
    labelled = replace(sweep, labels={"toprank": "TopRank"})
    assert Sweep.from_json(labelled.to_json()) == labelled
    assert [job.key for job in labelled.jobs()] == [job.key for job in sweep.jobs()]
