"""MaskablePPO of sb3-contrib fills lists slot by slot, and plays as an agent beside the bandits, on the same users.

Each step fills one slot; masks exclude the items that are in the list already, so a list of 5 takes 5 steps. The same
from the command line, with evaluations on the way: rankgym train PBM-Yandex-v0 --algo maskable-ppo --out runs/slots

python examples/maskable_ppo.py                      # a minute on one core
"""

import argparse
import sys

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.wrappers import ItemStatistics, SlotBySlot
from rankgym_agents import StaticRanker, ThompsonCascade

try:
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.logger import Logger

    from rankgym.sb3 import RankingVecEnv, SB3Agent, describe
except ModuleNotFoundError as error:
    sys.exit(f'There is no {error.name} here; this example needs pip install "rankgym[sb3]".')

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=1_000, help="user sessions of an episode (default: 1000)")
parser.add_argument("--steps", type=int, default=1_000_000, help="slots to fill in training, all rows together")
parser.add_argument("--rows", type=int, default=128, help="users played in parallel, a query each (default: 128)")
given = parser.parse_args()

# ---- training: many users of many queries; RankingVecEnv resets rows itself ----
env = gym.make_vec("rankgym/PBM-Yandex-v0", given.rows, query="train", horizon=given.rounds, autoreset_mode="Disabled")
env = SlotBySlot(ItemStatistics(env))
vec_env = RankingVecEnv(env, reward="regret", stagger=True)  # minus the list's regret: known in training only
model = MaskablePPO(
    "MlpPolicy", vec_env, n_steps=64, batch_size=1_024, n_epochs=4, gamma=0.99, ent_coef=0.01, seed=0, device="cpu"
)
model.set_logger(Logger(folder=None, output_formats=[]))  # else one is made that leaves a folder among temporary files
model.learn(given.steps, progress_bar=sys.stderr.isatty())

# ---- the model as an agent, which computes its observations from lists and clicks itself ----
describe(model, env)
for agent_class, knobs in ((SB3Agent, {"model": model}), (StaticRanker, {}), (ThompsonCascade, {"feedback": "all"})):
    venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=100, query="test", horizon=given.rounds)
    agent = agent_class.for_env(venv, seed=0, **knobs)
    regret = rankgym.simulate(agent, venv, given.rounds, seed=1_000).regret[-1]
    error = regret.std(ddof=1) / np.sqrt(len(regret))
    name = "MaskablePPO" if agent_class is SB3Agent else agent_class.__name__
    print(f"{name:15s} regret after {given.rounds:,} sessions: {regret.mean():7.1f} ± {error:.1f}")
