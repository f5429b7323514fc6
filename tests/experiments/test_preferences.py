"""Preference matrices of feature rankers: exact evaluation beside enumeration in plain Python and beside simulation."""

import _thread
import contextlib
import itertools
import json
import re
import signal
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from rankgym import cli, data
from rankgym.experiments.preferences import matrix, part_jobs
from rankgym.experiments.preferences.estimate import estimate
from rankgym.experiments.preferences.exact import PICKS, evaluate_pairs
from rankgym.experiments.run import driver, worker
from rankgym.interleaving import INTERLEAVINGS
from rankgym.models import users

NP2004 = Path(__file__).resolve().parents[3] / "shared" / "data" / "np2004_vali.txt.gz"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data-home"))


# -- exact evaluation -------------------------------------------------------------------------------------------------


def drafts(left, right, count):
    """Every team draft as (probability, [(document, left's credit minus right's of a click)])."""

    def grow(probability, shown, teams):
        if len(shown) == count:
            yield probability, [(document, 1 if team == 0 else -1) for document, team in shown]
            return
        for team in (0, 1):
            if teams[team] > teams[1 - team]:
                continue
            documents = [document for document, _ in shown]
            document = next(d for d in (left, right)[team] if d not in documents)
            after = [teams[0] + (team == 0), teams[1] + (team == 1)]
            half = 0.5 if teams[0] == teams[1] else 1.0
            yield from grow(probability * half, [*shown, (document, team)], after)

    yield from grow(1.0, [], [0, 0])


def greedy_lists(left, right, count):
    """The same of a coin before every pick, with the credit marginalised over who may have picked."""
    for coins in itertools.product((0, 1), repeat=count):
        shown = []
        for coin in coins:
            documents = [document for document, _ in shown]
            heads = [next(d for d in ranking if d not in documents) for ranking in (left, right)]
            may = [head == heads[coin] for head in heads]
            shown.append((heads[coin], (may[0] - may[1]) / sum(may)))
        yield 0.5**count, shown


def plain_win(left, right, count, click, stop, lists):
    """P(left wins) + P(tie) / 2 by enumeration of every list and every user."""

    def users(shown, credit):
        """The probability that left wins of a user who reads on, with this difference so far."""
        if not shown:
            return 1.0 if credit > 1e-9 else 0.5 if credit > -1e-9 else 0.0
        (document, value), rest = shown[0], shown[1:]
        p, s = click[document], stop[document]
        clicked = s * users([], credit + value) + (1 - s) * users(rest, credit + value)
        return p * clicked + (1 - p) * users(rest, credit)

    return sum(probability * users(shown, 0.0) for probability, shown in lists(left, right, count))


ORACLES = {"team-draft": drafts, "probabilistic-greedy": greedy_lists}


def exactly(left, right, click, stop, picks):
    """One pair on one query by the kernel."""
    rankings = np.array([[left, right]], np.int32)
    wins = np.empty((1, 1))
    start = np.array([0, len(click)])
    arrays = np.array(click, np.float64), np.array(stop, np.float64)
    evaluate_pairs(rankings, start, *arrays, np.array([[0, 1]]), PICKS[picks], wins)
    return wins[0, 0]


@st.composite
def duels(draw, most=7, longest=6):
    """Two rankings of some of a few documents, all of them where they are fewer, and a user."""
    documents = draw(st.integers(1, most))
    length = draw(st.integers(1, longest))
    chance = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)
    rankings = [draw(st.permutations(range(documents)))[:length] for _ in range(2)]
    padded = [[*ranking, *[-1] * (length - len(ranking))] for ranking in rankings]
    click, stop = (draw(st.lists(chance, min_size=documents, max_size=documents)) for _ in range(2))
    return *padded, click, stop


@pytest.mark.kernels
@pytest.mark.parametrize("picks", PICKS)
@settings(max_examples=60, deadline=None)
@given(duel=duels())
def test_the_sum_over_all_coins_and_users(picks, duel):
    left, right, click, stop = duel
    count = sum(document >= 0 for document in left)
    expected = plain_win(left, right, count, click, stop, ORACLES[picks])
    assert exactly(left, right, click, stop, picks) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("picks", PICKS)
@settings(max_examples=100, deadline=None)
@given(duel=duels(most=30, longest=25))
def test_one_wins_what_the_other_loses(picks, duel):
    left, right, click, stop = duel
    won, lost = exactly(left, right, click, stop, picks), exactly(right, left, click, stop, picks)
    assert won + lost == pytest.approx(1.0, abs=1e-12)
    assert exactly(left, left, click, stop, picks) == pytest.approx(0.5, abs=1e-12)


def test_a_user_who_clicks_without_looking_prefers_nobody_in_a_team_draft():
    """Radlinski, Kurup and Joachims: both teams are equally probable at every position. (Marginalised credit is even on
    average, but who has more of it is no fair coin.)"""
    rng = np.random.default_rng(1)
    for _ in range(20):
        left, right = rng.permutation(30)[:10].tolist(), rng.permutation(30)[:10].tolist()
        assert exactly(left, right, [0.3] * 30, [0.2] * 30, "team-draft") == pytest.approx(0.5, abs=1e-12)


def test_what_a_team_draft_is_blind_for():
    """Hofmann, Whiteson and de Rijke (CIKM 2011), section 3: (a, b, c, d) and (b, c, d, a) with c relevant tie, though
    the second is better; a coin before every pick sees it."""
    left, right, click, stop = [0, 1, 2, 3], [1, 2, 3, 0], [0, 0, 1, 0], [0] * 4
    assert exactly(left, right, click, stop, "team-draft") == pytest.approx(0.5)
    # right alone gives c unless left is to pick with a and b displayed: c is then both rankers' best
    assert exactly(left, right, click, stop, "probabilistic-greedy") < 0.5 - 0.1


def test_what_only_one_ranker_shows():
    """A relevant document that one ranker has first, and a user who clicks it for sure."""
    left, right = [0, 1, 2, 3], [1, 2, 3, 0]
    click = [1, 0, 0, 0]
    # a comes into right's team never; into left's at the first or the second place
    assert exactly(left, right, click, [0] * 4, "team-draft") == 1.0
    # one place, and the coin decides who fills it: left wins, or nobody clicks
    assert exactly(left[:1], right[:1], click, [0] * 4, "team-draft") == pytest.approx(0.75)
    assert exactly(left[:1], right[:1], click, [0] * 4, "probabilistic-greedy") == pytest.approx(0.75)


# -- a small file -----------------------------------------------------------------------------------------------------


def write_letor(path, queries=5, documents=9, features=4, seed=0, grades=2):
    """A file whose first feature knows the label best and whose last one is noise; values tie often."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(queries):
        for _ in range(documents + query):
            label = int(rng.integers(0, grades))
            values = [label * (features - f) + rng.integers(0, 4) for f in range(features)]
            pairs = " ".join(f"{f + 1}:{value}" for f, value in enumerate(values))
            lines.append(f"{label} qid:{query} {pairs}")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def file(tmp_path):
    return write_letor(tmp_path / "some.txt")


def test_a_matrix(file):
    result = estimate(file, interleaving="team-draft")
    assert result.settings["method"] == "exact"
    assert result.preference.shape == (4, 4)
    assert (result.preference + result.preference.T == 1.0).all()
    assert (np.diag(result.preference) == 0.5).all()
    assert (result.error == 0).all()
    assert result.condorcet_winner == 0
    some = estimate(file, interleaving="team-draft", rankers=[3, 1])
    np.testing.assert_allclose(some.preference, result.preference[np.ix_([3, 1], [3, 1])], rtol=0, atol=1e-15)


def test_exact_is_the_mean_over_queries_of_what_enumeration_finds(file):
    from rankgym.data import letor

    loaded = letor.load(file)
    rankings = letor.feature_rankings(loaded, 4).tolist()
    click, stop = [0.05, 0.95], [0.2, 0.9]
    for picks, lists in ORACLES.items():
        found = estimate(file, interleaving=picks, num_documents=4, user_model="navigational").preference
        for i, j in itertools.combinations(range(4), 2):
            expected = []
            for query in range(5):
                labels = loaded.labels[loaded.start[query] : loaded.start[query + 1]]
                chances = [click[grade] for grade in labels], [stop[grade] for grade in labels]
                expected.append(plain_win(rankings[query][i], rankings[query][j], 4, *chances, lists))
            assert found[i, j] == pytest.approx(np.mean(expected), abs=1e-12)


def test_equal_rankers_tie_exactly(tmp_path):
    """Rounding makes no Condorcet winner of two features that are the same."""
    path = tmp_path / "twins.txt"
    rng = np.random.default_rng(3)
    lines = [f"{n % 3 == 0:d} qid:{n // 20} 1:{v} 2:{v} 3:0" for n, v in enumerate(rng.integers(0, 9, 140))]
    path.write_text("\n".join(lines))
    for method in ("exact", "simulate"):
        result = estimate(path, interleaving="team-draft", method=method, comparisons=5000, user_model="informational")
        if method == "exact":
            assert result.preference[0, 1] == 0.5
        np.testing.assert_allclose(result.preference[0, 1], 0.5, atol=6 * result.error[0, 1])


@pytest.mark.parametrize("user_model", ["perfect", "navigational", "informational"])
@pytest.mark.parametrize("grades", [2, 3, 5])
def test_simulation_agrees_with_exact_evaluation(tmp_path, user_model, grades):
    """Within standard errors: each of 45 deviates by less than 6.5 of them, their mean square is near 1.

    Of the error's probability: 45 * 8e-11 for the first; for the second, a chi-square of 45 degrees beyond 127, 1e-9.
    """
    file = write_letor(tmp_path / "some.txt", queries=6, documents=15, features=10, grades=grades, seed=grades)
    both = {"interleaving": "team-draft", "user_model": user_model, "num_documents": 7}
    exact = estimate(file, **both)
    simulated = estimate(file, **both, method="simulate", comparisons=20_000, seed=5)
    assert simulated.settings["comparisons"] == 6 * 3334
    pairs = np.triu_indices(10, 1)
    difference, error = (simulated.preference - exact.preference)[pairs], simulated.error[pairs]
    assert (np.abs(difference) <= 6.5 * error).all()
    assert (difference[error > 0] ** 2 / error[error > 0] ** 2).sum() < 127


def test_the_standard_errors_are_those_of_repetitions(file):
    """300 estimates from other seeds vary as one of them says: the ratio of variances is within 7 deviations of 1."""
    seeds = 300
    some = {"method": "simulate", "comparisons": 300, "rankers": [0, 2], "num_documents": 5}
    runs = [estimate(file, **some, interleaving="team-draft", seed=seed) for seed in range(seeds)]
    found = np.array([run.preference[0, 1] for run in runs])
    said = np.mean([run.error[0, 1] ** 2 for run in runs])
    assert abs(found.var(ddof=1) / said - 1) < 7 * np.sqrt(2 / (seeds - 1))
    exact = estimate(file, interleaving="team-draft", rankers=[0, 2], num_documents=5).preference[0, 1]
    assert abs(found.mean() - exact) < 6 * np.sqrt(said / seeds)


def test_the_variance_between_queries_is_gone(tmp_path):
    """Two queries of which each ranker wins one for sure: a half, and no error."""
    path = tmp_path / "two.txt"
    path.write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n1 qid:2 1:0 2:1\n0 qid:2 1:1 2:0\n")
    one = {"interleaving": "team-draft", "user_model": "perfect", "num_documents": 2}
    for method in ("exact", "simulate"):
        result = estimate(path, **one, method=method, comparisons=100)
        assert result.preference[0, 1] == 0.5
        assert result.error[0, 1] == 0.0


@pytest.mark.parametrize("interleaving", [name for name in INTERLEAVINGS if name != "optimized"])
def test_every_interleaving_can_be_simulated(file, interleaving):
    """The ranker that knows the label best wins against the one that hardly does, by more than six standard errors."""
    result = estimate(file, interleaving=interleaving, method="simulate", comparisons=4000, user_model="perfect")
    assert result.preference[0, 3] - 0.5 > 6 * result.error[0, 3]
    assert result.error.max() < 0.01


# -- parts, processes, files ------------------------------------------------------------------------------------------

SIMULATED = {"method": "simulate", "interleaving": "probabilistic", "comparisons": 100, "num_documents": 5}


@pytest.mark.parametrize("settings_", [SIMULATED, {"interleaving": "team-draft"}], ids=["simulate", "exact"])
def test_parts_do_not_matter(file, monkeypatch, settings_):
    expected = estimate(file, **settings_)
    for work in (1, 100, 700):
        monkeypatch.setitem(part_jobs.PART_SIZE, expected.settings["method"], work)
        found = estimate(file, **settings_)
        np.testing.assert_allclose(found.preference, expected.preference, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.error, expected.error, rtol=0, atol=1e-13)


def test_processes_do_not_matter(file, monkeypatch):
    monkeypatch.setitem(part_jobs.PART_SIZE, "simulate", 200)
    one, two = (estimate(file, **SIMULATED, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.preference, two.preference)
    np.testing.assert_array_equal(one.error, two.error)


@contextlib.contextmanager
def counted(press_after=None):
    """The parts that are evaluated from now on for a result; after ``press_after`` of them Ctrl-C is pressed."""
    done, pressed, report = [], [], worker._Worker.report

    def reporting(self, computed, *, finished=False):
        report(self, computed, finished=finished)
        if finished:
            done.append(self.job)
        if len(done) == press_after and not pressed:
            pressed.append(True)
            _thread.interrupt_main()
            end = time.monotonic() + 10
            while not (self.folder.path / "stop").exists() and time.monotonic() < end:
                time.sleep(0.005)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker._Worker, "report", reporting)
            patch.setattr(worker, "PROGRESS_EVERY", 0.0)
            yield done
    finally:
        signal.signal(signal.SIGINT, handler)


def test_an_interrupted_run_goes_on(file, tmp_path, monkeypatch):
    monkeypatch.setitem(part_jobs.PART_SIZE, "simulate", 20)
    expected = estimate(file, **SIMULATED)
    out = tmp_path / "deep" / "matrix.npy"
    with counted(press_after=7), pytest.raises(KeyboardInterrupt) as caught:
        estimate(file, **SIMULATED, out=out)
    folder = out.with_suffix(".parts")
    assert caught.value.__notes__ == [
        f"finished jobs (7 of 30) and checkpoints are kept in {folder}; to resume: the same command"
    ]
    kept = sorted((folder / "results").iterdir())
    assert len(kept) == 7
    assert not out.exists()
    kept[0].write_bytes(b"damaged")
    kept[1].write_bytes(kept[1].read_bytes()[:-40])
    kept[2].write_bytes(kept[3].read_bytes())
    with counted() as done:
        found = estimate(file, **SIMULATED, out=out)
    assert len(done) == 30 - 4
    np.testing.assert_array_equal(found.preference, expected.preference)
    np.testing.assert_array_equal(found.error, expected.error)
    assert found.notes == ["4 of 30 parts were kept from an earlier run; --fresh evaluates them again"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["matrix.errors.npy", "matrix.json", "matrix.npy"]
    np.testing.assert_array_equal(np.load(out), expected.preference)
    np.testing.assert_array_equal(np.load(out.with_suffix(".errors.npy")), expected.error)

    with counted() as done:
        again = estimate(file, **SIMULATED, out=out)  # only read
        assert done == []
        np.testing.assert_array_equal(again.preference, expected.preference)
        assert again.notes == ["kept from an earlier run; --fresh does it again"]
        estimate(file, **SIMULATED, out=out, fresh=True)
        assert len(done) == 30
        other = estimate(file, **{**SIMULATED, "seed": 1}, out=out)
        assert len(done) == 60
        assert other.notes == [f"replaces the matrix of some.txt, probabilistic, navigational, simulate in {out}"]
    out.write_bytes(b"damaged")
    estimate(file, **{**SIMULATED, "seed": 1}, out=out)
    np.testing.assert_array_equal(np.load(out), other.preference)


def test_a_part_resumes_from_its_checkpoint(file, tmp_path, monkeypatch):
    """Interrupted after its first query, the only part goes on with the second one."""
    expected = estimate(file, **SIMULATED)
    out = tmp_path / "matrix.npy"
    with counted(press_after=0), pytest.raises(KeyboardInterrupt):
        estimate(file, **SIMULATED, out=out)
    (checkpoint,) = out.with_suffix(".parts").glob("work-*/*.npz")
    with np.load(checkpoint) as arrays:
        assert int(arrays["job.query"]) == 1
    found = estimate(file, **SIMULATED, out=out)
    np.testing.assert_array_equal(found.preference, expected.preference)
    np.testing.assert_array_equal(found.error, expected.error)
    assert sorted(path.name for path in tmp_path.glob("matrix*")) == ["matrix.errors.npy", "matrix.json", "matrix.npy"]


def test_an_interruption_before_the_first_part_speaks_of_no_folder(file, tmp_path, monkeypatch):
    def press(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(driver.Driver, "beat", lambda *_, **__: press(None))
    with pytest.raises(KeyboardInterrupt) as caught:
        estimate(file, **SIMULATED, out=tmp_path / "matrix.npy")
    assert "folder" not in "".join(getattr(caught.value, "__notes__", []))
    assert list(tmp_path.glob("matrix*")) == []


def test_whatever_decides_the_numbers_decides_what_is_kept(file, tmp_path):
    out = tmp_path / "matrix.npy"
    changes = [
        {},
        {"comparisons": 200},
        {"seed": 1},
        {"ties": 1},
        {"num_documents": 4},
        {"user_model": "perfect"},
        {"grades": 5},
        {"rankers": [0, 1]},
        {"interleaving": "balanced"},
        {"interleaving_knobs": {"tau": 1.0}},
    ]
    keys = {estimate(file, **{**SIMULATED, **change}, out=out).settings["key"] for change in changes}
    assert len(keys) == len(changes)
    write_letor(file, seed=1)
    assert estimate(file, **SIMULATED, out=out).settings["key"] not in keys


def test_what_is_written_can_be_imported(file, tmp_path):
    out = tmp_path / "matrix.npy"
    result = estimate(file, **SIMULATED, out=out)
    data.import_matrix("some-rankers", out)
    np.testing.assert_array_equal(data.preferences.load("some-rankers"), result.preference)
    written = json.loads(out.with_suffix(".json").read_text())
    assert written["sha256"] == data.letor.file_digest(file)
    assert written["per_query"] == 20
    assert written["clicking"] == [0.05, 0.95]


def test_the_environment_plays_by_this_matrix(file, tmp_path):
    """40,000 duels of random pairs in Dueling-LETOR-v0, which draws its queries: each row's wins within 6 deviations of
    the exact probability, their mean square near 1 (error probability below 200 * 2e-9 + 1e-8)."""
    out = tmp_path / "matrix.npy"
    exact = estimate(file, interleaving="team-draft", out=out).preference
    rows, rounds = 200, 200
    left, right = np.random.default_rng(2).integers(0, 4, (2, rows))
    env = gym.make_vec(
        "rankgym/Dueling-LETOR-v0",
        num_envs=rows,
        file=str(file),
        interleaving="team-draft",
        preferences=str(out),
        horizon=None,
    )
    env.reset(seed=0)
    wins = np.zeros(rows)
    for _ in range(rounds):
        info = env.step({"left": left, "right": right})[-1]
        wins += info["winner"] == 0
    p = exact[left, right]
    z = (wins - rounds * p) / np.sqrt(rounds * p * (1 - p))
    assert np.abs(z).max() < 6
    assert abs((z**2).mean() - 1) < 6 * np.sqrt(2 / rows)
    np.testing.assert_allclose(info["regret"], (exact[0, left] + exact[0, right]) / 2 - 0.5, atol=1e-12)


def test_parts_are_neither_too_many_nor_too_long():
    for queries, pairs, per_query in ((15, 2016, 26_667), (30_000, 9180, 14), (1, 1, 10**9), (5, 7, 2)):
        parts = part_jobs.parts_of(queries, pairs, "simulate", per_query)
        assert sum(part.cells for part in parts) == queries * pairs
        assert len(parts) <= 2.1 * part_jobs.MAX_PARTS
        assert len(set(parts)) == len(parts)
        most = max(part.cells for part in parts) * per_query
        assert most <= max(1.5 * part_jobs.PART_SIZE["simulate"], 1.1 * queries * pairs * per_query / 1000, per_query)


# -- the door ---------------------------------------------------------------------------------------------------------

WRONG = {
    "interleaving": ({"interleaving": "coin"}, "interleaving = 'coin' is unknown; allowed: 'balanced', 'team-draft', "),
    "method": ({"method": "guess"}, "method = 'guess' is unknown; allowed: 'exact', 'simulate'"),
    "not exact": ({"method": "exact"}, "method = 'exact' has no way to evaluate interleaving = 'probabilistic'; "),
    "not drawn": (
        {"method": "simulate", "interleaving": "probabilistic-greedy"},
        "method = 'simulate' does not draw interleaving = 'probabilistic-greedy'; allowed: 'exact'",
    ),
    "knobs": ({"interleaving_knobs": {"tau": -1}}, r"tau = -1 is out of range"),
    "knob": ({"interleaving_knobs": {"mu": 1}}, "the interleaving 'probabilistic' does not have a keyword 'mu'"),
    "exact knobs": ({"interleaving": "team-draft", "interleaving_knobs": {"a": 1}}, "interleaving_knobs = {'a': 1} "),
    "user": ({"user_model": "nobody"}, "user_model = 'nobody' is unknown; allowed: 'perfect', "),
    "grades": ({"grades": 4}, "grades = 4 has no user; allowed: 2"),
    "comparisons": ({"comparisons": 0}, "comparisons = 0 is out of range; allowed: a whole number, at least 1"),
    "documents": ({"num_documents": 0}, "num_documents = 0 is out of range"),
    "one ranker": (
        {"rankers": [1]},
        r"rankers = \[1\] has too few features, or one of them twice; allowed: at least 2",
    ),
    "ranker twice": ({"rankers": [1, 1]}, r"rankers = \[1, 1\] has too few features, or one of them twice"),
    "no ranker": ({"rankers": [0, 4]}, r"rankers\[1\] = 4 is out of range; allowed: a whole number in 0 \.\. 3"),
    "jobs": ({"jobs": 0}, "jobs = 0 is out of range"),
    "seed": ({"seed": -1}, "seed = -1 is out of range"),
    "ties": ({"ties": 0.5}, "ties = 0.5 is out of range"),
    "out": (
        {"out": "matrix.txt"},
        "out = 'matrix.txt' is not the name of a matrix; allowed: a file name that ends in .npy",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors_name_what_is_wrong(what, file):
    arguments, expected = WRONG[what]
    with pytest.raises(ValueError, match=expected):
        estimate(file, **arguments)


def test_labels_that_the_user_does_not_know(tmp_path):
    path = tmp_path / "graded.txt"
    path.write_text("0 qid:7 1:1 2:1\n5 qid:8 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"graded\.txt has a label 5, in query 8, document 0 .*; allowed: 0 \.\. 4"):
        estimate(path)
    path.write_text("0 qid:7 1:1 2:1\n2 qid:8 1:1 2:2\n")
    with pytest.raises(ValueError, match=r"graded\.txt has a label 2, in query 8, document 0 .*; allowed: 0 \.\. 1"):
        estimate(path, grades=2)
    assert estimate(path, comparisons=10).settings["clicking"] == [0.05, 0.5, 0.95]
    assert estimate(path, comparisons=10, grades=5).settings["clicking"] == [0.05, 0.3, 0.5, 0.7, 0.95]


@pytest.mark.parametrize("user_model", users.USERS)
@pytest.mark.parametrize("labels", [(1, 0), (2, 0), (2, 1), (4, 0), (4, 3)])
def test_one_place_by_hand(user_model, labels, tmp_path):
    """Ranker 0 puts the document with the larger label on top, ranker 1 the other; a list has one place. A coin says
    whose document it is: P(0 wins) = (1 + a) / 4 + (1 - b) / 4 with P(click) a and b. The file has all labels below."""
    highest, other = labels
    rest = "".join(f"{label} 1:0 2:0\n" for label in range(highest))
    path = tmp_path / "pair.txt"
    path.write_text(f"label first second\n{highest} 1:2 2:1 # docid = 1\n{other} 1:1 2:2\n{rest}")
    Path(f"{path}.query").write_text(f"{2 + highest}\n")
    found = estimate(path, interleaving="team-draft", num_documents=1, user_model=user_model).preference
    clicking = users.user(user_model, {1: 2, 2: 3, 4: 5}[highest]).clicking
    assert found[0, 1] == pytest.approx(0.5 + (clicking[highest] - clicking[other]) / 4)
    assert found[0, 1] > 0.5


def test_who_ranks_by_relevance_wins_with_every_user(tmp_path):
    """Three grades, lists of 10: ranker 0 is the label, ranker 1 its opposite, ranker 2 is noise. With the perfect user
    it wins by the most."""
    rng = np.random.default_rng(5)
    path, wins = tmp_path / "graded.txt", {}
    rows = [(int(label), query) for query in range(8) for label in rng.permutation([0] * 12 + [1] * 5 + [2] * 3)]
    path.write_text("".join(f"{label} qid:{q} 1:{label} 2:{-label} 3:{rng.random():.4f}\n" for label, q in rows))
    for user_model in users.USERS:
        result = estimate(path, interleaving="team-draft", user_model=user_model)
        assert len(result.settings["clicking"]) == 3
        assert result.condorcet_winner == 0
        wins[user_model] = result.preference[0, 1]
    assert max(wins, key=lambda name: wins[name]) == "perfect"
    assert min(wins, key=lambda name: wins[name]) == "almost-random"


def test_another_side_file_is_another_problem(tmp_path):
    path = tmp_path / "grouped.txt"
    path.write_text("".join(f"{n % 3} 1:{n * 7 % 5} 2:{n * 3 % 7}\n" for n in range(12)))
    keys = set()
    for sizes in ("6\n6\n", "4\n4\n4\n"):
        Path(f"{path}.query").write_text(sizes)
        keys.add(estimate(path, interleaving="team-draft").settings["key"])
    assert len(keys) == 2


# -- the command ------------------------------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(cli.app, ["data", "preferences", *map(str, words)])


def test_the_summary_says_what_follows_where_there_is_no_condorcet_winner():
    circle = np.array([[0.5, 0.9, 0.2], [0.1, 0.5, 0.7], [0.8, 0.3, 0.5]])
    settings = {"method": "exact", "queries": 2, "cpu_seconds": 0.0}
    lines = matrix.summary(matrix.Preferences(circle, np.zeros((3, 3)), np.array([4, 5, 7]), settings, []), 1)
    assert lines[2].startswith("no Condorcet winner; rankers 4, 5, 7 beat the most others, 1 of 2. Environments")
    assert "winner=copeland or winner=borda" in lines[2]


def test_the_command(file, tmp_path):
    out = tmp_path / "matrix.npy"
    result = run(file, "--out", out, "--interleaving", "team-draft", "--rankers", "0,2-3")
    assert result.exit_code == 0, result.output
    assert "3 rankers, 3 pairs on 5 queries: evaluated exactly" in result.output
    assert "Condorcet winner: ranker 0, by at least 0." in result.output
    assert f"Written: {out}, " in result.output
    np.testing.assert_array_equal(np.load(out), estimate(file, interleaving="team-draft", rankers=[0, 2, 3]).preference)
    words = ["--interleaving", "probabilistic:tau=1:credit=assigned", "--comparisons", "1_000", "--seed", 3]
    result = run(file, "--out", out, *words)
    assert result.exit_code == 0, result.output
    assert "replaces the matrix of some.txt, team-draft, navigational, exact" in result.output
    assert re.search(r"1,000 comparisons each, standard errors 0\.01\d? on average", result.output)
    settings_ = json.loads(out.with_suffix(".json").read_text())
    assert settings_["interleaving_knobs"] == {"tau": 1.0, "credit": "assigned"}
    assert "kept from an earlier run" in run(file, "--out", out, *words).output


def test_the_command_complains_in_one_line(file, tmp_path):
    out = tmp_path / "matrix.npy"
    broken = tmp_path / "broken.txt"
    broken.write_text("0 qid:1 1:1 2:1\n0 qid:1 2:1 1:1\n")
    wrong = {
        (broken,): f"error: {broken}, line 2: feature 1 comes twice or out of order; allowed: ascending indices",
        (tmp_path / "none",): "none: No such file or directory",
        (
            file,
            "--rankers",
            "3-1",
        ): "error: --rankers 3-1 is not a list of numbers; allowed: numbers and ranges: 0,3,10-20",
        (file, "--rankers", "0,9"): "error: rankers[1] = 9 is out of range; allowed: a whole number in 0 .. 3",
        (file, "--interleaving", "probabilistic:tau"): "tau is not an assignment; allowed: key=value",
        (file, "--method", "exact"): "error: method = 'exact' has no way to evaluate interleaving = 'probabilistic'; ",
    }
    for words, expected in wrong.items():
        result = run(*words, "--out", out)
        assert result.exit_code == 2
        assert expected in result.stderr
        assert result.stderr.count("\n") == 1
        assert not out.exists()


def test_what_it_costs_is_said_first(file, capsys, monkeypatch):
    monkeypatch.setattr(driver, "PATIENCE", 0.0)
    estimate(file, **SIMULATED)
    assert "6 pairs x 5 queries x 20 comparisons: about 0 s" in capsys.readouterr().err
    estimate(file, **SIMULATED, progress=False)
    assert capsys.readouterr().err == ""


# -- NP2004 -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not NP2004.exists(), reason="NP2004 is not in a folder shared/data beside the checkout")
@pytest.mark.parametrize("user_model", ["perfect", "navigational", "informational"])
def test_np2004_by_two_methods(user_model):
    """All 2,016 pairs of the 64 rankers: no deviation beyond 6.5 standard errors, and the mean square of those that
    vary is within 6 deviations of 1 (error probability below 2016 * 8e-11 + 1e-8)."""
    exact = estimate(NP2004, interleaving="team-draft", user_model=user_model)
    simulated = estimate(
        NP2004, interleaving="team-draft", user_model=user_model, method="simulate", comparisons=1_500, seed=11
    )
    pairs = np.triu_indices(64, 1)
    difference, error = (simulated.preference - exact.preference)[pairs], simulated.error[pairs]
    assert (np.abs(difference) <= 6.5 * error + 1e-12).all()
    varies = error > 0
    assert varies.sum() > 600
    square = (difference[varies] / error[varies]) ** 2
    assert abs(square.mean() - 1) < 6 * np.sqrt(2 / varies.sum())
