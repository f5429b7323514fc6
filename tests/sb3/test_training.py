"""Algorithms of stable-baselines3 learn to rank over the native adapter, and its checker accepts every wrapped form."""

import hashlib

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_checker import check_env

from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.vec_env import RankingVecEnv
from rankgym.wrappers.actions import (
    BASE_COLUMN,
    AdjacentSwaps,
    RankingNumber,
    SafeLists,
    ScoresToRanking,
    SlotBySlot,
)
from rankgym.wrappers.observations import ItemStatistics, LastDisplayed, TimeAware

FORMS = {
    "nothing": lambda env: env,
    "ItemStatistics": ItemStatistics,
    "LastDisplayed": LastDisplayed,
    "LastDisplayed over ItemStatistics": lambda env: LastDisplayed(ItemStatistics(env)),
    "TimeAware": TimeAware,
    "TimeAware over ItemStatistics": lambda env: TimeAware(ItemStatistics(env)),
    "ScoresToRanking": ScoresToRanking,
    "ScoresToRanking over ItemStatistics": lambda env: ScoresToRanking(ItemStatistics(env)),
    "SlotBySlot": SlotBySlot,
    "SlotBySlot over ItemStatistics": lambda env: SlotBySlot(ItemStatistics(env)),
    "TimeAware over SlotBySlot": lambda env: TimeAware(SlotBySlot(env)),
    "RankingNumber": RankingNumber,
    "RankingNumber over TimeAware": lambda env: RankingNumber(TimeAware(env)),
    "AdjacentSwaps": AdjacentSwaps,
    "AdjacentSwaps over ItemStatistics": lambda env: AdjacentSwaps(ItemStatistics(env)),
    "SafeLists over ItemStatistics": lambda env: SafeLists(ItemStatistics(env)),
}


# It asks whether a table is meant: it is, for a policy that has a score for each item.
@pytest.mark.filterwarnings("ignore:Your observation  has an unconventional shape:UserWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["rankgym/PBM-Yandex-v0", "rankgym/CM-Yandex-Breakpoint-v0"])
def test_the_checker_of_stable_baselines_accepts_every_wrapped_form(form, name):
    env = FORMS[form](gym.make(name, num_items=6, num_positions=3))
    env.action_space.seed(0)
    if "SlotBySlot" in form:  # the checker knows no masks: it would put an item into two slots, which is refused
        draw = env.action_space.sample
        env.action_space.sample = lambda: draw(mask=env.action_masks().astype(np.int8))
    check_env(env)


# -- learning ----------------------------------------------------------------------------------------------------------

PROBLEM = {"attraction": [0.2, 0.9, 0.1, 0.5, 0.3]}  # of five items, under the position-based model
EXAMINATION = [1.0, 0.6, 0.4, 0.3, 0.2]
ROWS = 16


def environment(wrap, positions, **kwargs):
    env = gym.make_vec(
        "rankgym/PBM-Synthetic-v0",
        num_envs=ROWS,
        num_items=5,
        num_positions=positions,
        parameters={**PROBLEM, "examination": EXAMINATION[:positions]},
        horizon=50,
        autoreset_mode="Disabled",
    )
    return RankingVecEnv(wrap(env), **kwargs)


class Regret(BaseCallback):
    """The expected regret of a session, in each step of training; the violations of each episode."""

    def __init__(self):
        super().__init__()
        self.told, self.violations = [], []

    def _on_step(self):
        self.told.append(-self.locals["rewards"].mean())
        self.violations += [info["episode"]["violations"] for info in self.locals["infos"] if info]
        return True


ON_POLICY = {"learning_rate": 3e-3, "gamma": 0.0}
OFF_POLICY = {"learning_rate": 3e-3, "gamma": 0.0, "learning_starts": 500, "train_freq": 4, "gradient_steps": 4}
SAFE = {"max_displacement": 1, "base_column": BASE_COLUMN}
LEARNERS = {  # class, policy, what is around the environment, positions, steps, and settings
    "PPO": (
        (PPO, PlackettLucePolicy, ItemStatistics, 3, 6_400),
        {**ON_POLICY, "n_steps": 20, "batch_size": 80, "n_epochs": 4},
    ),
    "PPO, told the truth": (
        (PPO, PlackettLucePolicy, ItemStatistics, 3, 6_400),
        {**ON_POLICY, "n_steps": 20, "batch_size": 160, "n_epochs": 2},
    ),
    "A2C": (
        (A2C, PlackettLucePolicy, ItemStatistics, 3, 9_600),
        {**ON_POLICY, "n_steps": 5},
    ),
    "PPO, safe lists": (
        (PPO, PlackettLucePolicy, lambda env: SafeLists(ItemStatistics(env)), 5, 3_200),
        {**ON_POLICY, "n_steps": 20, "batch_size": 160, "n_epochs": 2, "policy_kwargs": SAFE},
    ),
    "PPO, swaps": (
        (PPO, "MlpPolicy", lambda env: AdjacentSwaps(ItemStatistics(env)), 5, 6_400),
        {**ON_POLICY, "n_steps": 20, "batch_size": 80, "n_epochs": 4},
    ),
    "MaskablePPO": (
        (MaskablePPO, "MlpPolicy", lambda env: SlotBySlot(ItemStatistics(env)), 3, 9_600),
        {"learning_rate": 3e-3, "gamma": 1.0, "n_steps": 30, "batch_size": 120, "n_epochs": 4},
    ),
    "DQN": (
        (DQN, "MlpPolicy", RankingNumber, 2, 6_400),
        {**OFF_POLICY, "gradient_steps": 8, "exploration_fraction": 0.5, "target_update_interval": 1_000},
    ),
    "SAC": (
        (SAC, "MlpPolicy", ScoresToRanking, 3, 4_800),
        {**OFF_POLICY, "ent_coef": 0.01, "policy_kwargs": {"net_arch": [32, 32]}},
    ),
}
ALL_SAFE = {"PPO, safe lists", "PPO, swaps"}


def made(name, seed=0, **kwargs):
    (algorithm, policy, wrap, positions, _), settings = LEARNERS[name]
    env = environment(wrap, positions, reward="regret", truth=name == "PPO, told the truth", **kwargs)
    return algorithm(policy, env, seed=seed, device="cpu", **settings)


def digest(model):
    weights = model.policy.state_dict()
    return hashlib.sha256(b"".join(name.encode() + w.numpy().tobytes() for name, w in weights.items())).hexdigest()


def random_regret(positions):
    """The expected regret of a random list: its items are drawn without looking."""
    value = np.mean(PROBLEM["attraction"]) * sum(EXAMINATION[:positions])
    best = sorted(PROBLEM["attraction"], reverse=True)[:positions]
    return np.dot(best, EXAMINATION[:positions]) - value


@pytest.fixture(scope="module", params=LEARNERS)
def learned(request):
    """A model, its digest before, and what it told in training."""
    model, regret = made(request.param, stagger=True), Regret()
    before = {name: weight.clone() for name, weight in model.policy.state_dict().items()}
    model.learn(LEARNERS[request.param][0][4], callback=regret)
    return request.param, model, before, regret


def test_regret_falls_far_below_random_play(learned):
    name, model, _, regret = learned
    sessions_a_step = 1 / 3 if name == "MaskablePPO" else 1
    told = np.array(regret.told) / sessions_a_step
    quarter = len(told) // 4
    fraction = told[-quarter:].mean() / random_regret(LEARNERS[name][0][3])
    print(f"{name}: {fraction:.3f} of the regret of random play")
    assert model.num_timesteps == len(told) * ROWS == LEARNERS[name][0][4]
    assert fraction < 0.5


def test_safe_ones_violate_nothing_in_training(learned):
    name, _, _, regret = learned
    assert len(regret.violations) > ROWS
    assert (sum(regret.violations) == 0) == (name in ALL_SAFE)


def test_weights_have_moved_and_are_finite(learned):
    _, model, before, _ = learned
    after = model.policy.state_dict()
    assert all(torch.isfinite(weight).all() for weight in after.values())
    moved = [name for name, weight in after.items() if not torch.equal(weight, before[name])]
    assert {name for name in after if name.endswith("weight")} <= set(moved)


def test_a_saved_model_acts_as_before(learned, tmp_path):
    _, model, _, _ = learned
    model.save(tmp_path / "model.zip")
    again = type(model).load(tmp_path / "model.zip", device="cpu")
    assert digest(again) == digest(model)
    env = model.get_env()
    for observed in (model._last_obs, env.reset()):
        mine, theirs = (m.predict(observed, deterministic=True)[0] for m in (model, again))
        assert np.array_equal(mine, theirs)
    again.set_env(env)
    again.learn(LEARNERS[learned[0]][1].get("n_steps", 4) * ROWS, reset_num_timesteps=False)
    assert again.num_timesteps > model.num_timesteps


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_seed_gives_the_same_weights(name):
    steps = 1_280 if name in ("DQN", "SAC") else 640
    digests = []
    for seed in (1, 1, 2):
        model = made(name, seed)
        model.learn(steps)
        digests.append(digest(model))
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("make", ["name", "vec"])
def test_stable_baselines3_makes_environments_by_their_names(make):
    """It asks for the render mode rgb_array first, and takes a TypeError (no Pillow) for an answer."""
    from stable_baselines3.common.env_util import make_vec_env

    if make == "vec":
        env = make_vec_env("rankgym/PBM-Yandex-v0", n_envs=2, wrapper_class=ScoresToRanking)
        assert env.num_envs == 2
    else:
        assert PPO("MlpPolicy", "rankgym/PBM-Yandex-v0").env.num_envs == 1
