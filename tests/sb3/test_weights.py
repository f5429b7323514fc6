"""The trained policies that come with the package: what their files say, and that they play better than they began."""

import os
import shlex

import gymnasium as gym
import pytest

pytest.importorskip("stable_baselines3")

import rankgym
from rankgym.experiments.plan.agents import parse_agent, shipped_file, shipped_models
from rankgym.sb3.agent import SB3Agent
from rankgym.sb3.model_files import model_card
from rankgym_agents import BubbleRank, CascadeKLUCB

PLAYED = {  # by model: an environment of its training, its arguments, and a bandit that it leaves behind
    "ppo-breakpoint": ("PBM-Yandex-Breakpoint-v0", {"epoch_lengths": 300}, CascadeKLUCB),
    "ppo-cm": ("CM-Yandex-v0", {}, CascadeKLUCB),
    "ppo-dcm": ("DCM-Yandex-v0", {}, CascadeKLUCB),
    "ppo-pbm": ("PBM-Yandex-v0", {}, CascadeKLUCB),
    "ppo-safe": ("PBM-Yandex-Rerank-v0", {}, BubbleRank),
}
DIGESTS = {  # of the weights; another one is another policy, which needs another name
    **{"ppo-breakpoint": "19adff02", "ppo-cm": "c7130d81", "ppo-dcm": "37355aa5", "ppo-pbm": "87577dae"},
    "ppo-safe": "62e8115c",
}


def test_all_are_known_here():
    assert shipped_models() == sorted(PLAYED)


def test_their_names_will_do():
    shape = {"num_items": 10, "num_positions": 5, "seed": 0}
    lists = [
        SB3Agent(model=model, **shape).act().tolist() for model in ("ppo-pbm", "ppo-pbm.zip", shipped_file("ppo-pbm"))
    ]
    assert lists[0] == lists[1] == lists[2]


@pytest.mark.parametrize("name", PLAYED)
def test_a_file_is_small_and_says_how_it_was_made(name):
    path = shipped_file(name)
    assert os.path.getsize(path) < 60_000
    card = model_card(path)
    training = card["training"]
    words = shlex.split(training["command"])
    assert words[:2] == ["rankgym", "train"]
    assert {"--steps", "--seed", "--threads"} <= set(words)
    assert "--out" not in words
    assert training["seconds"] > 0
    assert set(training["versions"]) >= {"rankgym", "torch", "stable-baselines3", "numpy"}
    assert card["weights"].startswith(DIGESTS[name])


@pytest.mark.parametrize("name", PLAYED)
def test_it_has_less_regret_than_a_bandit_on_queries_that_it_was_not_trained_on(name):
    """By a tenth, after 300 sessions of 20 queries, 5 runs of each. All is seeded: nothing is left to chance."""
    env_id, keywords, bandit = PLAYED[name]
    env = gym.make_vec(f"rankgym/{env_id}", num_envs=100, query="test", horizon=300, **keywords)
    spec = parse_agent(name)
    agents = [SB3Agent.for_env(env, seed=0, **spec.knobs), bandit.for_env(env, seed=0)]
    mine, theirs = (rankgym.simulate(agent, env, 300, seed=0, progress=False) for agent in agents)
    assert mine.regret[-1].mean() < 0.9 * theirs.regret[-1].mean()
    if name == "ppo-safe":
        assert (mine.violations[-1] == 0).all()
