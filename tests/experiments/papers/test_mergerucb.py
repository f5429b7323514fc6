"""The figures of the mergeRUCB paper: claims on made-up results whose truth is known, sweeps, data, one smoke run."""

import contextlib
import hashlib
import math

import gymnasium as gym
import numpy as np
import pytest

from rankgym.data import catalogue, preferences
from rankgym.experiments.judge import claims, intervals
from rankgym.experiments.papers import mergerucb
from rankgym.experiments.papers.figure import SCALES
from rankgym.experiments.papers.mergerucb import collection, figure_1, figure_2, figure_7, setup
from rankgym.experiments.run.results import Played, Results

MERGE, RUCB, RCS, BTM, SAVAGE = setup.FIVE
SPARRING, MULTISBM = figure_7.SPARRING, figure_7.MULTISBM
FIGURES = {int(figure.name[-1]): figure for figure in mergerucb.FIGURES}
UNDECIDED = "cannot be decided at this scale"
RUNS = 12


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    """A data cache of one's own; and few resamples: enough for made-up results that are far from every border."""
    monkeypatch.setattr(intervals, "RESAMPLES", 2_000)
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv(collection.LETOR_FILE, raising=False)


def made_up(sweep, regret, accuracy=lambda label, agent: 1.0, shape=lambda label, agent: 0.5):
    """As if everybody's regret at the end had been ``regret(label, agent)``, up to 1 % by run, after t ** ``shape``."""
    noise = np.random.default_rng(3).uniform(0.99, 1.01, RUNS)

    def played(environment, agent):
        rounds = environment.rounds or sweep.rounds
        records = sorted({*np.geomspace(1, rounds, 60).astype(int), *(environment.record_at or ())})
        label = environment.label
        curve = regret(label, agent) * (np.array(records) / rounds) ** shape(label, agent)
        return Played(
            environment=label,
            agent=agent,
            env_id=environment.env_id,
            env_kwargs=dict(environment.kwargs),
            rounds=np.array(records),
            row=np.arange(RUNS),
            query=np.zeros(RUNS, np.int64),
            run=np.arange(RUNS),
            measures={
                "regret": curve[:, None] * noise,
                "accuracy": np.full((len(records), RUNS), accuracy(label, agent)),
            },
            epoch_regret=np.empty((0, RUNS)),
            settled_at=np.full(RUNS, -1),
        )

    return Results(played(environment, agent) for environment in sweep.environments for agent in sweep.agents)


def verdicts(number, regret, scale="full", rounds=setup.LONG_HORIZON, **more):
    figure = FIGURES[number]
    found = claims.judge(figure.claims, made_up(figure.sweep(scale, "calibrated"), regret, **more), rounds)
    return {one.claim.name: one.verdict for one in found}


def all_are(verdict, found):
    assert set(found.values()) == {verdict}, found


def arms_of(label):
    return int(label.split()[0])


# -- claims -----------------------------------------------------------------------------------------------------------

SIZE = {"136": 1, "245": 2, "700": 6}


def large(merge, others):
    """Figure 1: so many times the number of rankers."""
    return lambda label, agent: (merge if agent == MERGE else others) * SIZE[label.split(", ")[1]]


def test_figure_1():
    two = lambda label, agent: float(agent != BTM)  # noqa: E731
    all_are("holds", verdicts(1, large(1000.0, 3000.0), accuracy=two))
    found = verdicts(1, large(1000.0, 900.0), accuracy=lambda label, agent: float(agent == RUCB))
    all_are("does not hold", found)
    found = verdicts(1, large(1000.0, 1100.0), accuracy=two)  # less, but not substantially
    assert {found[name] for name in found if name.startswith("mergerucb-ahead")} == {"does not hold"}
    assert {found[name] for name in found if name.startswith("ahead-of-btm")} == {"holds"}


def test_figure_1_speaks_of_ten_million_duels_and_of_25_million():
    found = verdicts(1, large(1000.0, 3000.0), rounds=setup.HORIZON)
    assert found["two-converge-mslr"] == "holds"
    assert found["two-converge-stand-in-for-yandex"] == UNDECIDED


ORDER = dict(zip(setup.FIVE, (1, 2, 3, 4, 5), strict=True))


def test_figure_2():
    clicks, coins = figure_2.CLICKS, figure_2.COINS
    all_are("holds", verdicts(2, lambda label, agent: 100.0 * ORDER[agent] * (1.1 if label == coins else 1.0), "smoke"))
    reversed_shape = lambda label, agent: {1: 0.0, 2: 0.5, 3: 1.0, 4: 2.0, 5: 4.0}[ORDER[agent]]  # noqa: E731

    def upside_down(label, agent):
        return 100.0 * (ORDER[agent] if label == clicks else 3.0 * (6 - ORDER[agent])) + 1000.0 * (label == coins)

    all_are("does not hold", verdicts(2, upside_down, "smoke", shape=lambda *of: 4.0 - reversed_shape(*of)))


def scaling(exponents, from_10):
    """Regret as powers of the number of rankers."""
    return lambda label, agent: from_10[agent] * (arms_of(label) / 10) ** exponents[agent]


def test_figure_3():
    as_claimed = scaling(
        {MERGE: 0.2, RUCB: 1.0, RCS: 1.5, BTM: 0.7, SAVAGE: 1.5},
        {MERGE: 400.0, RUCB: 200.0, RCS: 100.0, BTM: 1000.0, SAVAGE: 300.0},
    )
    all_are("holds", verdicts(3, as_claimed))
    otherwise = scaling(
        {MERGE: 1.5, RUCB: 1.0, RCS: 0.3, BTM: 1.0, SAVAGE: 0.2},
        {MERGE: 50.0, RUCB: 100.0, RCS: 150.0, BTM: 100.0, SAVAGE: 120.0},
    )
    all_are("does not hold", verdicts(3, otherwise))


def test_one_number_of_rankers_with_another_winner_is_enough_against_best_from_70():
    def but_at_90(label, agent):
        return 50.0 if (arms_of(label), agent) == (90, RCS) else 100.0 * ORDER[agent]

    assert verdicts(3, but_at_90)["mergerucb-best-from-70"] == "does not hold"
    assert verdicts(3, lambda label, agent: 100.0 * ORDER[agent])["mergerucb-best-from-70"] == "holds"


def test_figure_4():
    all_are("holds", verdicts(4, lambda label, agent: 100.0 * ORDER[agent]))
    shape = lambda label, agent: 0.01 + 4.0 * (ORDER[agent] - 1)  # noqa: E731 - who is worst in the end was best for long
    all_are("does not hold", verdicts(4, lambda label, agent: 100.0 + ORDER[agent], shape=shape))


def test_figure_5():
    users = {user: number for number, user in enumerate(setup.USERS)}

    def of_users(more):
        return lambda label, agent: 100.0 * more[agent] ** users[label.split()[2]]

    same = dict.fromkeys(setup.FIVE, 1.1)
    all_are("holds", verdicts(5, of_users(same | {RCS: 3.0})))
    all_are("does not hold", verdicts(5, of_users(same | {RCS: 0.95})))


def test_figure_6():
    def cost(label, agent):
        few = arms_of(label) == 10
        if agent == MERGE:
            return 0.9 if few else 100.0
        return (1.0 if few else 130.0) * (1.05 if "alpha=0.71" in agent else 1.0)

    all_are("holds", verdicts(6, cost))

    def tuned(label, agent):
        return (1.0 if "alpha=0.71" in agent else 2.0) * (10.0 if arms_of(label) == 10 else 100.0)

    all_are("does not hold", verdicts(6, tuned))


def test_figure_7():
    def as_claimed(label, agent):
        if agent == MULTISBM:
            return 2000.0
        if agent == SPARRING:
            return {figure_7.NEAR: 500.0, figure_7.CLOSE_CIRCLE: 5000.0, figure_7.CIRCLE: 700.0}.get(label, 50.0)
        return {MERGE: 500.0, RUCB: 200.0, RCS: 100.0, BTM: 900.0, SAVAGE: 5000.0}[agent]

    all_are("holds", verdicts(7, as_claimed))

    def otherwise(label, agent):
        return {MULTISBM: 10.0, SPARRING: 100.0, MERGE: 120.0 if label == figure_7.CIRCLE else 90.0}.get(agent, 500.0)

    all_are("does not hold", verdicts(7, otherwise))
    found = verdicts(
        7, lambda label, agent: as_claimed(label, agent) / (20 if (label, agent) == ("Arxiv", MULTISBM) else 1)
    )
    assert found["multisbm-behind"] == "does not hold"  # in one of six problems it is the best


def test_nothing_is_decided_at_small_scale_but_what_names_no_horizon():
    found = verdicts(7, lambda label, agent: 100.0 * len(agent), "small", rounds=1_000_000)
    assert set(found.values()) == {"holds", "does not hold"}
    for number in (3, 4, 5, 6):
        all_are(UNDECIDED, verdicts(number, lambda label, agent: 100.0, "small", rounds=1_000_000))


def test_kendalls_tau_is_that_of_scipy():
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    for _ in range(20):
        one, other = rng.normal(size=(2, 5))
        ours = setup.kendalls_tau([np.array([value]) for value in one], [np.array([value]) for value in other])
        assert math.isclose(ours[0], scipy_stats.kendalltau(one, other).statistic)


def test_names_are_unique_and_every_claim_has_its_place():
    for number, figure in FIGURES.items():
        assert len({claim.name for claim in figure.claims}) == len(figure.claims)
        for claim in figure.claims:
            assert f"{number}" in claim.where.partition("; figure")[2]
            assert claim.where.startswith("section ")
            assert claim.text.endswith(".")


# -- what is played ---------------------------------------------------------------------------------------------------

JOBS = {  # environments times agents
    "full": {1: 5 * 3, 2: 2 * 5, 3: 13 * 5, 4: 5, 5: 3 * 13 * 5, 6: 13 * 24, 7: 6 * 7},
    "small": {1: 5 * 3, 2: 2 * 5, 3: 5 * 5, 4: 5, 5: 3 * 3 * 5, 6: 3 * 12, 7: 6 * 7},
    "smoke": {1: 5 * 3, 2: 2 * 5, 3: 2 * 5, 4: 5, 5: 3 * 2 * 5, 6: 2 * 12, 7: 6 * 7},
}
DUELS = {  # of all rows: as many as the paper has, where it says
    1: 3 * 10 * (1e7 + 4 * 2.5e7),
    2: 2 * 5 * 10 * 1e7,
    3: 13 * 5 * 10 * 1e7,
    4: 5 * 10 * 1e7,
    5: 3 * 13 * 5 * 10 * 1e7,
    6: 13 * 24 * 10 * 1e7,
    7: 6 * 7 * 50 * 1e7,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("number", FIGURES)
def test_sweeps_resolve_to_jobs(number, scale, monkeypatch):
    pytest.importorskip("pyarrow")  # its version is part of the jobs' keys
    if number == 2:  # 136 rankers take half a minute
        monkeypatch.setattr(collection, "RANKERS", dict.fromkeys(SCALES, 6))
        FIGURES[2].prepare(scale, "calibrated")
    jobs = FIGURES[number].sweep(scale, "calibrated").jobs()
    assert len(jobs) == len({job.key for job in jobs}) == JOBS[scale][number]
    if scale == "full":
        assert sum(job.sessions for job in jobs) == DUELS[number]


@pytest.mark.parametrize("number", set(FIGURES) - {2})
def test_the_full_scale_is_long_enough_for_every_claim(number):
    rounds = FIGURES[number].sweep("full", "calibrated").rounds
    assert rounds == max(claim.needs_rounds for claim in FIGURES[number].claims) or number == 7


def test_figures_share_their_runs():
    pytest.importorskip("pyarrow")
    keys = {number: {job.key for job in FIGURES[number].sweep("full", "calibrated").jobs()} for number in (3, 4, 5, 6)}
    assert keys[4] < keys[3] < keys[5]
    assert len(keys[6] & keys[3]) == 13  # the default parameters


def test_the_problems_with_close_borda_scores_are_what_they_are_said_to_be():
    for gap in figure_7.BORDA_GAPS.values():
        matrix = np.array(figure_7.close_borda(gap))
        assert np.allclose(matrix + matrix.T, 1.0)
        assert preferences.condorcet_winner(matrix) == 0
        assert np.allclose(matrix[0, 1:], 0.6)
        scores = preferences.borda_scores(matrix)
        assert math.isclose(scores[0] - scores[1], gap, abs_tol=1e-12)
        assert scores[2:].max() < scores[1]
    assert np.array_equal(figure_7.circle(figure_7.MARGIN), preferences.load("cyclic"))
    for margin in (figure_7.MARGIN, figure_7.CLOSE_MARGIN):
        scores = preferences.borda_scores(np.array(figure_7.circle(margin)))
        assert np.allclose(scores[0] - scores[1:], 4 / 3 * margin)


def test_half_of_a_stand_ins_pairs_are_as_close_as_those_of_the_mslr_rankers():
    rankers, _ = figure_1.SIZES[figure_1.YANDEX]
    upper = np.triu_indices(rankers, 1)
    drawn = [preferences.draw("bradley-terry", rankers, seed, spread=figure_1.SPREAD)[upper] for seed in range(20)]
    assert abs(np.median(np.abs(np.array(drawn) - 0.5)) - 0.065) < 0.003
    assert {name: sum(sizes) for name, sizes in figure_1.SIZES.items()} == {
        figure_1.CONTROL: 136,
        figure_1.YANDEX: 245,
        figure_1.YAHOO_1: 700,
        figure_1.YAHOO_2: 700,
    }


def test_subsets_have_a_condorcet_winner_that_need_not_be_that_of_all():
    (environment,) = setup.subsets([10], "calibrated")
    with contextlib.closing(gym.make_vec(environment.env_id, num_envs=20, **environment.kwargs)) as env:
        env.reset(seed=0)
        assert (env.unwrapped.condorcet_winner >= 0).all()
        best = env.unwrapped.arms[np.arange(20), env.unwrapped.best_arm]
        assert len(set(best.tolist())) > 1


# -- the collection of figure 2 ---------------------------------------------------------------------------------------


def test_the_synthetic_collection_is_the_same_everywhere():
    text = collection.collection_text(6)
    assert len(text.splitlines()) == collection.QUERIES * collection.DOCUMENTS
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "4c4486e24c764a90"


def test_its_matrix_is_imported_once_and_has_a_winner(monkeypatch):
    file = collection.write_collection(6)
    assert file == collection.write_collection(6)
    name = collection.import_matrix(file)
    matrix = preferences.load(name)
    assert matrix.shape == (6, 6)
    assert preferences.condorcet_winner(matrix) >= 0
    monkeypatch.setattr("rankgym.data.catalogue.import_matrix", None)  # it is there
    assert collection.import_matrix(file) == name


def test_a_file_of_ones_own_is_named_by_the_environment(monkeypatch, tmp_path):
    sweep = FIGURES[2].sweep
    with pytest.raises(ValueError, match="RANKGYM_LETOR_FILE is not set; allowed: the path"):
        sweep("smoke", "published")
    monkeypatch.setenv(collection.LETOR_FILE, str(tmp_path / "nothing.txt"))
    with pytest.raises(ValueError, match=r"nothing\.txt' is not a file"):
        sweep("smoke", "published")
    file = tmp_path / "mine.txt"
    file.write_text("1 qid:1 1:3 2:1\n0 qid:1 1:1 2:3\n0 qid:2 1:1 2:2\n1 qid:2 1:2 2:1\n")
    monkeypatch.setenv(collection.LETOR_FILE, str(file))
    FIGURES[2].prepare("smoke", "published")
    clicks, coins = sweep("smoke", "published").environments
    assert clicks.kwargs["file"] == str(file)
    assert preferences.condorcet_winner(preferences.load(coins.kwargs["dataset"])) == 0
    file.write_text("1 qid:1 1:1 2:1\n0 qid:1 1:1 2:1\n")  # the two are the same
    with pytest.raises(ValueError, match="no ranker of"):
        FIGURES[2].prepare("smoke", "published")


def test_both_duels_of_figure_2_come_out_by_the_same_matrix():
    """Interleaving plays all queries of the file, so that 3,000 duels of any pair come out by the matrix of the coins.

    By Hoeffding's inequality one share of 30 is .055 away from its chance with a probability of at most
    60 exp(-2 * 3000 * .055 ** 2) < 1e-6.
    """
    FIGURES[2].prepare("smoke", "calibrated")
    jobs = {job.environment: job.block for job in FIGURES[2].sweep("smoke", "calibrated").jobs()}
    matrix = preferences.load(jobs[figure_2.COINS].env_kwargs["dataset"])
    left, right = np.triu_indices(len(matrix), 1)
    for block in jobs.values():
        env = gym.make_vec(block.env_id, num_envs=len(left), **block.env_kwargs | {"horizon": 3000})
        with contextlib.closing(env):
            env.reset(seed=9)
            won = sum(env.step({"left": left, "right": right})[4]["winner"] == 0 for _ in range(3000))
        assert np.abs(won / 3000 - matrix[left, right]).max() < 0.055


def test_a_sweep_of_figure_2_writes_nothing():
    home = catalogue.home()
    for scale in SCALES:
        assert FIGURES[2].sweep(scale, "calibrated").environments[1].kwargs["dataset"].startswith("mergerucb-figure-2-")
    assert not home.exists()


def test_a_smoke_run_from_the_sweep_to_the_figures(tmp_path):
    for library in ("pyarrow", "joblib", "filelock", "matplotlib", "scipy"):
        pytest.importorskip(library)
    from rankgym.experiments.run.sweeps import run_sweep
    from rankgym.experiments.show import figures

    for number, axes in ((2, 2), (3, 1)):
        figure = FIGURES[number]
        if figure.prepare is not None:
            figure.prepare("smoke", "calibrated")
        sweep = figure.sweep("smoke", "calibrated")
        results = run_sweep(sweep, tmp_path / "out", jobs=1, progress=False)
        judged = claims.judge(figure.claims, results, sweep.rounds)
        assert {found.verdict for found in judged} == {UNDECIDED}
        drawn = figure.draw(results)
        assert len(drawn.axes) == axes
        figures.write(drawn, tmp_path / "figure.png", "png")


def test_the_other_figures_are_drawn():
    pytest.importorskip("matplotlib")
    for number, axes in ((1, 5), (4, 1), (5, 3), (6, 1), (7, 6)):
        figure = FIGURES[number]
        results = made_up(figure.sweep("smoke", "calibrated"), lambda label, agent: 100.0 * len(agent))
        assert len(figure.draw(results).axes) == axes
