"""Facts of the 60 published Yandex queries. They skip where the data is not beside the checkout."""

import gymnasium as gym
import numpy as np
import pytest

import rankgym
from rankgym import data
from rankgym.models import MODELS
from rankgym_agents import RANKERS, BubbleRank

MODEL_NAMES = ["CM", "PBM", "DCM"]
LATER_MODELS = ["DBN", "UBM", "CCM"]

pytestmark = pytest.mark.usefixtures("published")


def make(model, rows=60, **keywords):
    return gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=rows, query="all", source="published", **keywords)


def test_the_figures_of_the_fits():
    """Mean attraction by production rank and mean |V(R_0)|, as stated with the data."""
    expected = {
        "PBM": ([0.403, 0.217, 0.188, 0.164, 0.145, 0.153, 0.123, 0.144, 0.142, 0.152], 15.0),
        "CM": ([0.404, 0.204, 0.125, 0.082, 0.069, 0.055, 0.045, 0.048, 0.050, 0.052], 10.9),
        "DCM": ([0.415, 0.278, 0.218, 0.177, 0.158, 0.152, 0.120, 0.133, 0.130, 0.135], 11.7),
    }
    for model, (attraction, misordered) in expected.items():
        env = gym.make_vec(f"rankgym/{model}-Yandex-Rerank-v0", num_envs=60, query="all", source="published").unwrapped
        assert env.attraction.mean(axis=0) == pytest.approx(attraction, abs=5e-4)
        assert env.initial_misordered.mean() == pytest.approx(misordered, abs=0.05)


def test_the_figures_of_the_other_fits():
    """As stated with the data: DBN's abandonment and mean satisfaction, CCM's continuation; and UBM's table."""
    dbn, ccm = (data.parameters("yandex", model, "published") for model in ("DBN", "CCM"))
    assert dbn["abandonment"] == pytest.approx(np.full(60, 2.4e-6), rel=0.01)
    satisfaction = dbn["satisfaction"].mean(axis=0)
    assert satisfaction[0] == pytest.approx(0.35, abs=0.005)
    assert satisfaction[3:7] == pytest.approx([0.12] * 4, abs=0.015)
    figures = {"continue_noclick": 1.0, "continue_click_irrelevant": 0.941, "continue_click_relevant": 9e-6}
    for name, figure in figures.items():
        assert ccm[name] == pytest.approx(np.full(60, figure), rel=0.01)
    examination = data.parameters("yandex", "UBM", "published")["examination"][0]
    assert examination[:3, -1] == pytest.approx([1.0, 0.885, 0.523], abs=5e-4)  # nothing clicked yet
    assert examination[4, :4] == pytest.approx([0.150, 0.384, 0.713, 1.0], abs=5e-4)  # after a click at 1, 2, 3, 4


@pytest.mark.parametrize(
    ("model", "mean", "worst"), [("DBN", 0.0852, 0.462), ("UBM", 0.0183, 0.088), ("CCM", 0.0804, 0.364)]
)
def test_what_the_sorted_list_loses_in_the_other_models(model, mean, worst):
    """In expected clicks of 5 positions: a satisfied user leaves, so that most of TopRank's regret in DBN and CCM is
    that of the list sorted by attraction."""
    env = make(model).unwrapped
    env.reset(seed=0)
    by_attraction = np.argsort(-env.attraction, axis=1, kind="stable")[:, :5]
    lost = env.step(by_attraction)[4]["regret"]
    assert (lost > -1e-12).all()
    assert lost.mean() == pytest.approx(mean, rel=0.01)
    assert lost.max() == pytest.approx(worst, rel=0.01)


def test_what_the_sorted_list_loses_in_the_dcm():
    """At the first 5 positions: in abandonment clicks up to 2.2e-4 a round, in expected clicks .036 on average."""
    table = data.parameters("yandex", "DCM", "published")
    parameters = MODELS["DCM"].parameters(**table)
    by_attraction = np.argsort(-table["attraction"], axis=1, kind="stable")
    for reward, positions, lost in (("abandonment", 10, 2.2e-4), ("clicks", 5, 0.036)):
        best = MODELS["DCM"].rewards[reward].best_lists(parameters, positions, 5)
        values = [MODELS["DCM"].values(parameters, lists[:, :positions], 5, reward) for lists in (best, by_attraction)]
        gap = values[0] - values[1]
        assert (gap >= 0).all()
        figure = gap.max() if reward == "abandonment" else gap.mean()
        assert figure == pytest.approx(lost, rel=0.05)


@pytest.mark.parametrize(
    "name",
    [f"rankgym/{model}-Yandex-v0" for model in MODEL_NAMES + LATER_MODELS]
    + [f"rankgym/{model}-Yandex-Rerank-v0" for model in MODEL_NAMES],
)
def test_no_random_list_beats_the_best_one(name):
    rng = np.random.default_rng(0)
    env = gym.make_vec(name, num_envs=60, query="all", source="published").unwrapped
    env.reset(seed=0)
    for _ in range(500):
        lists = rng.permuted(np.tile(np.arange(10), (60, 1)), axis=1)[:, : env.num_positions]
        assert (env.step(lists)[4]["regret"] >= -1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODEL_NAMES)
def test_bubblerank_never_violates_its_safety_constraint(model):
    """BubbleRank section 5.3, on 60 queries, seed 0, for a third of its 1e5 rounds.

    A violation needs a wrong exchange: s > 2 sqrt(n log(1 / delta)) for a pair whose s has no positive drift, which by
    Hoeffding's inequality has probability delta^2 = 1e-40 for each pair and round. All 45 pairs, rounds and queries:
    below 1e-31 a model.
    """
    env = gym.make_vec(
        f"rankgym/{model}-Yandex-Rerank-v0", num_envs=60, query="all", source="published", horizon=100_000
    )
    history = rankgym.simulate(BubbleRank.for_env(env, seed=0), env, 33_333, seed=0, progress=False)
    assert (history.violations[-1] == 0).all()
    static = history.rounds[-1] * (env.unwrapped._optimal - start_value(env))
    assert history.regret[-1].mean() < static.mean()  # and it learns


def start_value(env):
    bare = env.unwrapped
    bare.reset(seed=0)
    return bare.step(bare.initial_list[:, : bare.num_positions])[4]["expected_reward"]


@pytest.mark.slow
def test_the_learners_are_far_below_random_and_static():
    """In the CM and the PBM; CascadeKL-UCB is the best where its model holds (TopRank section 6)."""
    end = {}
    for model, more in (("CM", ["cascade-kl-ucb"]), ("PBM", [])):
        for name in ("static", "random", "toprank", "bubblerank", *more):
            env = make(model, horizon=20_000)
            history = rankgym.simulate(RANKERS[name].for_env(env, seed=0), env, 20_000, seed=0, progress=False)
            end[model, name] = history.regret[-1].mean()
        assert end[model, "toprank"] < end[model, "static"] / 2
        assert end[model, "toprank"] < end[model, "random"] / 5
        assert end[model, "bubblerank"] < end[model, "random"] / 2
    assert end["CM", "cascade-kl-ucb"] < end["CM", "toprank"] / 2
