"""The figures of the non-stationary paper: claims on made-up results whose truth is known, sweeps, one smoke run."""

import numpy as np
import pytest

from rankgym.experiments.judge import claims, intervals
from rankgym.experiments.papers import nonstationary
from rankgym.experiments.papers.figure import SCALES
from rankgym.experiments.papers.nonstationary.setup import AGENTS
from rankgym.experiments.run.results import Played, Results

ROUNDS, EPOCHS, QUERIES, RUNS = 100_000, 10, 30, 2
DUCB, SWUCB, EXP3, KLUCB, BATCHRANK = AGENTS
FIGURE_1, FIGURE_2 = nonstationary.FIGURES
BASELINES = [EXP3, KLUCB, BATCHRANK]


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Enough for made-up results that are far from every border."""
    monkeypatch.setattr(intervals, "RESAMPLES", 2_000)


def played(agent, regret, rounds=ROUNDS):
    """As if the regret after a share t of the rounds, (records,), had been ``regret(t)``, up to 4 % by row."""
    rows = QUERIES * RUNS
    recorded = np.arange(1, 201) * rounds // 200
    factor = np.random.default_rng(5).uniform(0.96, 1.04, rows)  # the same of all agents: they are paired
    curve = regret(recorded / rounds)
    ends = np.concatenate([[0.0], regret(np.arange(1, EPOCHS + 1) / EPOCHS)])
    return Played(
        environment="CM",
        agent=agent,
        env_id="rankgym/CM-Yandex-Breakpoint-v0",
        env_kwargs={},
        rounds=recorded,
        row=np.arange(rows),
        query=np.arange(rows) % QUERIES,
        run=np.arange(rows) // QUERIES,
        measures={"regret": curve[:, None] * factor},
        epoch_regret=np.diff(ends)[:, None] * factor,
        settled_at=np.full(rows, -1),
    )


def by_epochs(*amounts, within=1.0):
    """A regret that adds these amounts in the epochs, at share s of an epoch the share s ** within of it."""
    ends = np.concatenate([[0.0], np.cumsum(amounts)])

    def regret(share):
        at = share * EPOCHS
        whole = np.minimum(np.floor(at + 1e-9).astype(int), EPOCHS - 1)
        return ends[whole] + np.diff(ends)[whole] * np.clip(at - whole, 0.0, 1.0) ** within

    return regret


def verdicts(figure, regrets, rounds=ROUNDS):
    results = Results(played(agent, regrets[agent], rounds) for agent in AGENTS)
    return {found.claim.name: found.verdict for found in claims.judge(figure.claims, results, rounds)}


# Regret in epochs 0, 1, 2, ...: those that forget lose less from epoch to epoch, and CascadeKL-UCB is as published.
AS_CLAIMED = {
    DUCB: by_epochs(500, 350, 250, 200, 160, 140, 120, 110, 100, 90, within=0.4),
    SWUCB: by_epochs(450, 315, 225, 180, 144, 126, 108, 99, 90, 81, within=0.4),
    EXP3: by_epochs(700, 900, *[800, 900] * 4),
    KLUCB: by_epochs(111.5, 900, *[447.82, 900] * 4),
    BATCHRANK: by_epochs(700, 900, *[800, 900] * 4),
}
# Everybody is wrong: baselines learn and notice, those that forget do neither and grow apart the other way round.
OTHERWISE = {
    DUCB: by_epochs(*[1000] * 10, within=2.0),
    SWUCB: by_epochs(*[3000] * 10, within=2.0),
    EXP3: by_epochs(500, 350, 250, 200, 160, 140, 120, 110, 100, 90),
    KLUCB: by_epochs(500, 350, 250, 200, 160, 140, 120, 110, 70, 50),  # the published errors allow 95 in epoch 8
    BATCHRANK: by_epochs(500, 350, 250, 200, 160, 140, 120, 110, 100, 90),
}


def test_every_claim_holds_where_everything_is_as_claimed():
    found = verdicts(FIGURE_1, AS_CLAIMED)
    assert set(found.values()) == {"holds"}, found
    assert set(verdicts(FIGURE_2, AS_CLAIMED).values()) == {"holds"}


def test_no_claim_holds_where_nothing_is_as_claimed():
    found = verdicts(FIGURE_1, OTHERWISE)
    assert set(found.values()) == {"does not hold"}, found
    assert set(verdicts(FIGURE_2, OTHERWISE).values()) == {"does not hold"}


def test_nothing_is_decided_below_the_papers_horizon():
    for figure in nonstationary.FIGURES:
        found = verdicts(figure, AS_CLAIMED, rounds=1_000)
        assert set(found.values()) == {"cannot be decided at this scale"}


@pytest.mark.parametrize(("exponent", "linear"), [(1.0, True), (1.5, True), (0.5, False), (0.8, False)])
def test_growth_is_linear_or_sub_linear_and_never_both(exponent, linear):
    same = dict.fromkeys(AGENTS, lambda share: 1000.0 * share**exponent)
    for figure, words in ((FIGURE_1, ""), (FIGURE_2, "-on-single-queries")):
        found = verdicts(figure, same)
        for agent in BASELINES:
            assert found[f"{agent}-linear{words}"] == ("holds" if linear else "does not hold")
        for agent in (DUCB, SWUCB):
            assert found[f"{agent}-sub-linear{words}"] == ("does not hold" if linear else "holds")


@pytest.mark.parametrize(
    ("share", "better", "little", "theory"),
    [(0.9, True, True, True), (0.5, True, False, True), (0.2, True, False, False), (1.1, False, False, False)],
)
def test_of_the_gap_between_those_that_forget(share, better, little, theory):
    # sqrt(ln 100000) = 3.39: at a fifth of the regret the gap is more than theory has
    regrets = AS_CLAIMED | {SWUCB: lambda t: share * AS_CLAIMED[DUCB](t)}
    found = verdicts(FIGURE_1, regrets)
    expected = {"better-than-ducb": better, "better-by-little": little, "better-as-in-theory": theory}
    assert {name: found[f"swucb-{name}"] for name in expected} == {
        name: "holds" if holds else "does not hold" for name, holds in expected.items()
    }


def test_names_are_unique_and_every_claim_has_its_place():
    for figure in nonstationary.FIGURES:
        assert len({claim.name for claim in figure.claims}) == len(figure.claims)
        number = figure.name[-1]
        for claim in figure.claims:
            assert claim.where.endswith(f"figure {number}")
            assert "sentence" in claim.where
            assert claim.text.endswith(".")


@pytest.mark.parametrize("scale", SCALES)
def test_sweeps_have_ten_epochs_and_one_job_for_each_agent_and_600_rows(scale):
    pytest.importorskip("pyarrow")  # its version is part of the jobs' keys
    sweep = FIGURE_1.sweep(scale, "calibrated")
    rounds = 1_000 if scale == "smoke" else 100_000
    assert sweep.settings["CM"].breakpoints == tuple(range(rounds // 10, rounds, rounds // 10))
    rows = {"full": 1_000, "small": 200, "smoke": 20}[scale]  # there are 100 calibrated queries
    jobs = sweep.jobs()
    assert len(jobs) == 5 * -(-rows // 600)
    assert sum(job.sessions for job in jobs) == 5 * rows * rounds
    assert FIGURE_2.sweep(scale, "calibrated") == sweep  # the same runs


def test_the_published_queries_can_be_asked_for(published):
    pytest.importorskip("pyarrow")
    published("CM")
    (setting,) = FIGURE_1.sweep("full", "published").settings.values()
    assert len(setting.queries) == 60
    assert setting.env_kwargs["source"] == "published"


def test_a_smoke_run_from_the_sweep_to_the_figures(tmp_path):
    for library in ("pyarrow", "joblib", "filelock", "matplotlib", "scipy"):
        pytest.importorskip(library)
    from matplotlib.collections import LineCollection

    from rankgym.experiments.run.sweeps import run_sweep
    from rankgym.experiments.show import figures

    sweep = FIGURE_1.sweep("smoke", "calibrated")
    results = run_sweep(sweep, tmp_path / "data", jobs=1, progress=False)
    for figure in nonstationary.FIGURES:
        judged = claims.judge(figure.claims, results, sweep.rounds)
        assert {found.verdict for found in judged} == {"cannot be decided at this scale"}
        assert all(found.measured.low <= found.measured.value <= found.measured.high for found in judged)
        drawn = figure.draw(results)
        assert len(drawn.axes) == {"1": 2, "2": 20}[figure.name[-1]]
        breakpoints = [lines for lines in drawn.axes[0].collections if isinstance(lines, LineCollection)]
        assert [len(lines.get_segments()) for lines in breakpoints] == [EPOCHS - 1]
        figures.write(drawn, tmp_path / "figure.png", "png")
