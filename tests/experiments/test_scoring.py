"""The benchmark: its tasks never change, its records are replayed, its places are right, submissions are verified."""

import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from rankgym.experiments.judge.intervals import difference, differences
from rankgym.experiments.judge.units import Units
from rankgym.experiments.plan.agents import parse_agent
from rankgym.experiments.scoring import records, suite
from rankgym.experiments.scoring.make_records import main, shipped_agents
from rankgym.experiments.scoring.placing import WORST, overall, place, score_of
from rankgym.experiments.scoring.playing import kind_of_agent, play, replay
from rankgym.experiments.scoring.records import HOME, read_submission, shipped_records, submission
from rankgym.experiments.scoring.scoring import FILES, score, verify
from rankgym.experiments.scoring.suite import LATEST, PUBLISHED, SUITES, Suite, Task

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "score.md").read_text(encoding="utf-8")
MOST_BYTES = 3_000_000  # of all records


# -- the published suites ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUITES)
def test_a_published_suite_never_changes(name):
    """A difference here needs a suite of a new name, such as ltr-2: old scores and submissions keep their meaning."""
    assert SUITES[name].digest == PUBLISHED[name]
    for task in SUITES[name].tasks.values():
        assert json.loads(json.dumps(task._asdict())) == task._asdict()


def test_every_agent_of_the_package_has_a_record():
    """After a new agent: python -m rankgym.experiments.scoring.make_records NAME."""
    assert set(shipped_records(LATEST)) == set(shipped_agents())
    assert sum(path.stat().st_size for path in HOME.rglob("*.npz")) < MOST_BYTES


@pytest.mark.parametrize("name", shipped_agents())
def test_samples_of_every_record_are_replayed_bit_for_bit(name):
    """One row of each task, up to its first record: a row depends on its own seed alone."""
    if name.startswith("ppo-"):
        pytest.importorskip("sb3_contrib")
    agent, record = parse_agent(name), shipped_records(LATEST)[name]
    asked = SUITES[LATEST].asks(kind_of_agent(agent))
    assert record.values.keys() | record.declined.keys() == asked.keys()
    for task, values in record.values.items():
        row = zlib.crc32(f"{name} {task}".encode()) % values.shape[1]
        assert (replay(agent, asked[task], [row], 1) == values[:1, [row]]).all(), (task, row)


def test_records_name_no_place_on_a_disk():
    for record in shipped_records(LATEST).values():
        assert str(HOME.parents[3]) not in json.dumps(record.about())


def test_the_docs_explain_each_task_and_no_other():
    assert re.findall(r"^### `([\w-]+)`", DOCS, flags=re.M) == list(SUITES[LATEST].tasks)
    for task in SUITES[LATEST].tasks.values():
        assert task.question in " ".join(DOCS.split())


# -- a small suite ----------------------------------------------------------------------------------------------------

TINY = Suite(
    "tiny-1",
    {
        "lists": Task("Lists?", suite.RANKERS, "rankgym/PBM-Yandex-v0", {}, rounds=120, query=list(range(12))),
        "safe": Task("Safe?", suite.RANKERS, "rankgym/PBM-Yandex-v0", {}, 110, [1, 2, 3], runs=2, measure="violations"),
        "arms": Task("Arms?", suite.DUELERS, "rankgym/Dueling-Arxiv-v0", {}, rounds=150, runs=12),
    },
)
AGENTS = ("static", "random", "cascade-kl-ucb", "random-duels", "rucb")


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory):
    """The records of a few agents in TINY, made as the package's are."""
    folder = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny-1", TINY)
        patch.setitem(PUBLISHED, "tiny-1", TINY.digest)
        before = HOME / LATEST
        patch.setattr(records, "HOME", folder)
        (folder / LATEST).symlink_to(before)
        patch.setattr("rankgym.experiments.scoring.make_records.HOME", folder)
        main([*AGENTS, "--suite", "tiny-1"])
        yield folder
        shipped_records.cache_clear()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with agents of one's own."""
    (tmp_path / "own_scored.py").write_text(
        "import numpy as np\n"
        "class Mine:\n"
        "    def __init__(self, num_items, num_positions, num_envs):\n"
        "        self.shown = np.tile(np.arange(num_items)[::-1][:num_positions], (num_envs, 1))\n"
        "    def act(self, observation):\n"
        "        return self.shown\n"
        "    def update(self, displayed, clicks):\n"
        "        pass\n"
        "class Fails(Mine):\n"
        "    def update(self, displayed, clicks):\n"
        "        raise ZeroDivisionError('in vain')\n"
        "class Never(Mine):\n"
        "    def __init__(self, num_items, num_positions, num_envs, wanted): ...\n"
        "class Small(Mine):\n"
        "    def __init__(self, num_items, num_positions, num_envs, horizon):\n"
        "        if horizon != 120: raise ValueError('too short')\n"
        "        super().__init__(num_items, num_positions, num_envs)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_records_that_are_current_are_kept(tiny, capsys):
    main(["static", "--suite", "tiny-1"])
    assert "static: current" in capsys.readouterr().out
    written = (tiny / "tiny-1" / "static.npz").read_bytes()
    main(["static", "--suite", "tiny-1", "--fresh"])
    assert (tiny / "tiny-1" / "static.npz").read_bytes() == written


def test_an_agent_of_the_package_has_its_own_numbers():
    card = score("cascade-kl-ucb", suite="tiny-1", progress=False)
    assert card.shipped == "those of its record, bit for bit"
    assert set(card.others) == {"static", "random"}
    assert list(card.standings) == ["lists", "safe"]


def test_scores_and_places_by_hand():
    """Random play has score 0 by definition, and who never violates has 100 in safety."""
    cards = {name: place(play(parse_agent(name), TINY, progress=False)) for name in ("random", "static")}
    assert [score_of(cards["random"].record, task) for task in ("lists", "safe")] == [0, 0]
    static = cards["static"]
    assert static.standings["safe"].score == 100
    assert static.standings["safe"].place == 1
    lists = {name: one.final("lists").mean() for name, one in static.others.items()}
    mine = static.record.final("lists").mean()
    one = static.standings["lists"]
    assert one.place == 1 + sum(other < mine for other in lists.values())
    assert one.first <= one.place <= one.last <= one.of == 3
    assert one.best == min(lists, key=lists.get)
    assert one.score == pytest.approx(100 * (1 - mine / lists["random"]))
    assert one.differences["random"].value == pytest.approx(mine - lists["random"])
    both = [static.standings[task].score for task in ("lists", "safe")]
    assert overall(static.record, ["lists", "safe"]) == pytest.approx(np.mean(np.maximum(both, WORST)))


def test_differences_are_those_of_each_pair():
    rng = np.random.default_rng(0)
    names = np.arange(30)
    one, *others = (Units(rng.normal(number, 1, 30), names, "queries") for number in range(4))
    others += [one, Units(one.values + 2, names, "queries"), Units(np.full(30, np.nan), names, "queries")]
    for found, other in zip(differences(one, others), others, strict=True):
        assert found[:3] == pytest.approx(difference(one, other)[:3], nan_ok=True)
        assert found.method == difference(one, other).method
    few = [Units(sample.values[:5], names[:5], "queries") for sample in (one, *others[:2])]
    assert differences(few[0], few[1:]) == [difference(few[0], other) for other in few[1:]]


def test_an_agent_is_placed_in_the_tasks_that_it_can_play(own):
    card = score("own_scored:Small", suite="tiny-1", progress=False)
    assert list(card.standings) == ["lists"]
    assert "too short" in card.record.declined["safe"]
    assert list(score("rucb", suite="tiny-1", progress=False).standings) == ["arms"]


@pytest.mark.parametrize(("agent", "said"), [("Fails", "in vain"), ("Never", "wanted"), ("None", "has no 'None'")])
def test_a_broken_agent_is_named_and_nothing_is_written(own, run, monkeypatch, agent, said):
    monkeypatch.chdir(own)
    before = sorted(own.iterdir())
    result = run("score", f"own_scored:{agent}", "--suite", "tiny-1", "--out", "a/b")
    assert result.exit_code == 2
    assert said in result.output
    assert f"own_scored:{agent}" in result.output
    assert [path for path in sorted(own.iterdir()) if path.name != "__pycache__"] == [
        path for path in before if path.name != "__pycache__"
    ]


def test_files_and_verification(own, run, monkeypatch):
    monkeypatch.chdir(own)
    result = run("score", "own_scored:Mine", "--suite", "tiny-1", "--out", "found")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (own / "found").iterdir()} == set(FILES)
    told = json.loads((own / "found" / "score.json").read_text())
    assert told["tasks"]["lists"]["place"] == told["tasks"]["lists"]["of"] == 4
    html = (own / "found" / "score.html").read_text()
    assert "own_scored:Mine" in html
    assert not re.search(r"(src|href)=.?https?:", html)
    file = own / "found" / "submission.json"
    assert run("score", "own_scored:Mine", "--verify", str(file)).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankgym.experiments.scoring.scoring.play", lambda *_, **__: pytest.fail("played"))
        refused = run("score", "--verify", str(file))
    assert refused.exit_code == 2
    assert "its code is not run because a file names it" in " ".join(refused.output.split())
    document = json.loads(file.read_text())
    document["tasks"]["lists"]["values"][0][3] += 0.5
    file.write_text(json.dumps(document))
    result = run("score", "--verify", str(file))
    assert result.exit_code == 2
    assert "changed after it was written" in result.output

    record = play(parse_agent("own_scored:Mine"), TINY, progress=False)  # a forger who knows the digests
    record.values["lists"][-1, 3] -= 0.5
    file.write_text(json.dumps(submission(record)))
    result = run("score", "own_scored:Mine", "--verify", str(file))
    assert result.exit_code == 1
    assert "lists: 1 of 12 rows differ, first in row 3 after round 120" in result.output
    other = record._replace(versions={**record.versions, "numpy": "0.1"}, package="other")
    file.write_text(json.dumps(submission(other)))
    result = run("score", "own_scored:Mine", "--verify", str(file))
    assert "made with numpy 0.1, here" in result.output
    assert "other code of rankgym" in result.output


def test_a_submission_of_other_tasks_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "submission.json"
    path.write_text(json.dumps(submission(shipped_records("tiny-1")["static"])))
    changed = Suite("tiny-1", {**TINY.tasks, "safe": TINY.tasks["safe"]._replace(seed=1)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny-1", changed)
        with pytest.raises(ValueError, match=r"other tasks under the name 'tiny-1' \(the task safe differs\)"):
            read_submission(path)
        patch.delitem(SUITES, "tiny-1")
        with pytest.raises(
            ValueError, match=r"is of the suite 'tiny-1', it was made by rankgym .*; here there is ltr-1"
        ):
            read_submission(path)
    assert verify(path, progress=False).differences == []


@given(st.data())
def test_a_damaged_submission_is_refused(data):
    """Whatever stands in the file, and wherever a value in it was replaced: a ValueError that names the file."""
    path = records.HOME / "damaged.json"
    document = submission(shipped_records("tiny-1")["rucb"])
    key, value = "", None
    junk = st.none() | st.text(max_size=3) | st.integers() | st.lists(st.floats(), max_size=2)
    if data.draw(st.booleans()):
        text = data.draw(st.text(max_size=20) | junk.map(json.dumps))
    else:
        key, value = data.draw(st.sampled_from(sorted(document))), data.draw(junk)
        if document[key] == value:
            return
        document[key] = value
        if data.draw(st.booleans()) and key != "digest":
            document["digest"] = records._document_digest({k: v for k, v in document.items() if k != "digest"})
        text = json.dumps(document)
    path.write_bytes(text.encode(errors="replace"))
    if text.startswith("{") and key in ("agent", "class", "code") and isinstance(value, str):
        return  # any text may stand there
    with pytest.raises(ValueError, match=r"damaged\.json"):
        read_submission(path)


def test_other_peoples_files_stay(tmp_path, run):
    (tmp_path / "score.html").write_text("mine")
    result = run("score", "static", "--suite", "tiny-1", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "has files that no score wrote (score.html)" in result.output
    assert (tmp_path / "score.html").read_text() == "mine"


def test_the_list_and_the_help_name_everything(run):
    text = run("score", "--list").output
    for name, task in SUITES[LATEST].tasks.items():
        assert f"{name}: {task.question}" in text
    help_text = " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╭╮╰╯─]", " ", run("score", "--help").output).split())
    for words in ("--list", "--verify", "rankgym score mine:Mine --out results/mine", "runs/x/best.zip"):
        assert words in help_text
    assert "AGENT is missing" in run("score").output
    assert "suite = 'ltr-9' is unknown; did you mean 'ltr-1'?" in run("score", "static", "--suite", "ltr-9").output
