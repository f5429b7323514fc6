"""BubbleRank's figures: claims on made-up results whose truth is known, and what is played for them."""

import numpy as np
import pytest
from made_up import HORIZON, exploring, mean_so_far, played, verdicts

from rankgym.experiments.judge import claims
from rankgym.experiments.papers import bubblerank
from rankgym.experiments.papers.bubblerank.figure_2 import PUBLISHED_VIOLATIONS
from rankgym.experiments.papers.bubblerank.figure_3 import HALVINGS, LISTS, by_misordered, random_list
from rankgym.experiments.papers.bubblerank.setup import AGENTS, MODELS
from rankgym.experiments.run.results import Results

FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4 = bubblerank.FIGURES
UNDECIDED = "cannot be decided at this scale"


def as_claimed(model, agent):
    """Regret, violations and NDCG as the paper has them."""
    linear = model == "PBM" and agent == "cascade-kl-ucb"
    regret = {
        "static": lambda t: 0.03 * t,
        "bubblerank": lambda t: np.where(t <= 10_000, 0.03 * t, 300 * np.sqrt(t / 10_000)),
        "cascade-kl-ucb": lambda t: (0.0005 * t if linear else 0) + 2 * np.log1p(t),
        "batchrank": exploring(0.25, 4_000),
        "toprank": exploring(0.2, 1_000),
    }[agent]
    early = PUBLISHED_VIOLATIONS[agent][model][0] if agent in PUBLISHED_VIOLATIONS else 0.0
    late = 0.01 if linear else 0.0
    ndcg = {"static": (0.9, 0.9), "bubblerank": (0.88, 0.998), "cascade-kl-ucb": (0.8, 0.99)}
    return {
        "regret": regret,
        "violations": lambda t: early / 100 * np.minimum(t, 100) + late * np.maximum(t - 100, 0),
        "ndcg": mean_so_far(*ndcg.get(agent, (0.6, 0.999))),
    }


def otherwise(model, agent):
    """The contrary of what the paper says, wherever there is one."""
    linear = model == "PBM" and agent == "cascade-kl-ucb"
    regret = {
        "static": lambda t: -1e-9 * t**2,
        "bubblerank": lambda t: 50 * np.minimum(t / 100, 1) + 1e-4 * t,
        "cascade-kl-ucb": (lambda t: 1e-9 * t**2) if linear else lambda t: 0.01 * t,
        "batchrank": lambda t: 2e-3 * t,
        "toprank": lambda t: 2e-3 * t,
    }[agent]
    if agent == "bubblerank":
        violations, ndcg = 1.0, (0.4, 0.7)
    elif agent == "static":
        violations, ndcg = 0.0, (0.7, 1.01)
    else:
        violations, ndcg = (9.0 if agent == "cascade-kl-ucb" else 8.0 if agent == "batchrank" else 2.0), (0.7, 0.99)
    if agent == "toprank":
        ndcg = (0.7, 0.9)
    return {
        "regret": regret,
        "violations": lambda t: violations / 100 * np.minimum(t, 100),
        "ndcg": mean_so_far(*ndcg),
    }


def world(curves, **more):
    return [played(model, agent, **curves(model, agent), **more) for model in MODELS for agent in AGENTS]


@pytest.mark.parametrize("figure", [FIGURE_1, FIGURE_2, FIGURE_4], ids=lambda figure: figure.name)
def test_every_claim_holds_where_everything_is_as_claimed(figure):
    found = verdicts(figure, world(as_claimed))
    assert {name: verdict for name, verdict in found.items() if verdict != "holds"} == {}


@pytest.mark.parametrize("figure", [FIGURE_1, FIGURE_2, FIGURE_4], ids=lambda figure: figure.name)
def test_no_claim_holds_where_everything_is_otherwise(figure):
    found = verdicts(figure, world(otherwise))
    others = {name: verdict for name, verdict in found.items() if verdict != "does not hold"}
    assert all(name.startswith("two-converge") for name in others)  # in units of a regret that is negative: see below


def test_two_algorithms_converge_or_only_one_does():
    def one(model, agent):
        return as_claimed(model, agent) if agent != "batchrank" else {**as_claimed(model, agent), "regret": lambda t: t}

    found = verdicts(FIGURE_1, world(one))  # CascadeKL-UCB does in the CM and DCM, TopRank in all three
    assert [found[f"two-converge-{model.lower()}"] for model in MODELS] == ["holds", "holds", "does not hold"]


def test_a_short_experiment_decides_nothing_of_a_long_one():
    found = claims.judge(FIGURE_1.claims, Results(world(as_claimed, horizon=100_000)), 100_000)
    for judgement in found:
        assert (judgement.verdict == UNDECIDED) == (judgement.claim.needs_rounds == HORIZON)
        assert np.isfinite(judgement.measured.value)  # it is shown all the same


def test_where_queries_disagree_nothing_is_decided():
    signs = np.where(np.arange(20) % 2, -1.0, 1.0)  # the mean is 0, and anybody's guess
    results = [
        one._replace(measures={**one.measures, "regret": one.measures["regret"] * signs}) for one in world(as_claimed)
    ]
    found = verdicts(FIGURE_1, results)
    about_differences = [name for name in found if name.startswith("bubblerank-") and "learns" not in name]
    assert len(about_differences) == 21
    assert {found[name] for name in about_differences} == {UNDECIDED}


def test_a_published_number_is_judged_by_the_difference():
    claim = next(claim for claim in FIGURE_2.claims if claim.name == "cascade-kl-ucb-first-100-cm")

    def verdict(mean, spread):
        factor = np.random.default_rng(3).uniform(1 - spread, 1 + spread, 20)
        one = played("CM", "cascade-kl-ucb", factor=factor, violations=lambda t: mean / 100 * np.minimum(t, 100))
        return claims.decide(claim, Results([one]), HORIZON).verdict

    assert verdict(24.12, 0.04) == "holds"
    assert verdict(24.12, 1.0) == UNDECIDED
    assert verdict(12.0, 0.04) == verdict(48.0, 0.04) == "does not hold"


# -- figure 3 ---------------------------------------------------------------------------------------------------------


def bounds(regret, of_tail):
    """As if regret were ``regret(|V_0|)`` of each list, and ``of_tail(i)`` at chi_min = 0.5^i."""
    results = []
    for model in MODELS:
        for number in range(4):
            kwargs = {"source": "calibrated", "reference": "sorted", "initial_list": random_list(number)}
            env_id = f"rankgym/{model}-Yandex-Rerank-v0"
            bare = played(f"{model}, list {number + 1}", "bubblerank", env_id=env_id, kwargs=kwargs, regret=lambda t: t)
            misordered, _, _ = by_misordered(Results([bare]), model)
            gaps = np.random.default_rng(1).uniform(0.5, 2.0, 20)  # queries differ; lists within one do not
            measures = {"regret": np.outer(bare.rounds / HORIZON, gaps * regret(misordered.astype(float)))}
            results.append(bare._replace(measures=measures))
    for i in HALVINGS:
        tail = played(f"chi_min = 0.5^{i}", "bubblerank", queries=1, runs=10, horizon=1_000_000, regret=lambda t: t)
        results.append(tail._replace(measures={"regret": tail.measures["regret"] * of_tail(i)}))
    return results


def test_the_bounds_claims_on_known_dependences():
    linear = verdicts(FIGURE_3, bounds(lambda v: 100 * v, lambda i: 2.0**i))
    assert set(linear.values()) == {"holds"}
    theorem = verdicts(FIGURE_3, bounds(lambda v: 9 + 2 * v, lambda i: 2.0**i))  # K - 1 + 2 |V_0|
    assert set(theorem.values()) == {"holds"}
    other = verdicts(FIGURE_3, bounds(lambda v: v**4, lambda i: 1.1**i))
    for name, verdict in other.items():
        assert verdict == ("holds" if name.startswith("regret-grows") else "does not hold"), name
    falling = verdicts(FIGURE_3, bounds(lambda v: 100 - v, lambda i: 4.0**i))  # a line all the same
    for name, verdict in falling.items():
        assert verdict == ("holds" if name.startswith("regret-linear") else "does not hold"), name


# -- what is played ---------------------------------------------------------------------------------------------------


def test_the_full_scale_is_the_papers():
    sweep = FIGURE_1.sweep("full", "published")
    assert (sweep.rounds, sweep.runs, len(sweep.query), len(sweep.agents)) == (5_000_000, 10, 60, 5)
    assert [environment.kwargs["reference"] for environment in sweep.environments] == ["sorted"] * 3
    assert len(FIGURE_1.sweep("full", "calibrated").query) == 100


def test_figures_of_the_same_runs_share_their_jobs():
    keys = [
        [job.key for job in figure.sweep("smoke", "calibrated").jobs()] for figure in (FIGURE_1, FIGURE_2, FIGURE_4)
    ]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys[0])) == 15


def test_random_lists_are_rankings_and_differ():
    lists = [random_list(number) for number in range(LISTS["full"])]
    assert all(sorted(one) == list(range(10)) for one in lists)
    assert len(set(map(tuple, lists))) == len(lists)
