"""A single environment, step by step: a user comes, a list is displayed, clicks come back.

python examples/first_steps.py
"""

import argparse

import gymnasium as gym

from rankgym import RecordRegret, RecordSafety

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=1_000, help="user sessions (default: 1000)")
rounds = parser.parse_args().rounds

env = RecordSafety(RecordRegret(gym.make("rankgym/PBM-Yandex-v0", query=3, horizon=rounds, render_mode="ansi")))
observation, info = env.reset(seed=0)
print(f"query {info['query']}: the best list earns {info['optimal_reward']:.3f} clicks a session\n")

truncated = False
while not truncated:
    ranking = env.action_space.sample()  # five different items out of ten, best first
    observation, reward, terminated, truncated, info = env.step(ranking)
    if info["round"] < 3:
        print(env.render())
        print(f"clicks {observation}, reward {reward:.0f}, regret {info['regret']:.3f}\n")

print(f"{rounds:,} random lists: regret {info['episode_regret']:.1f}, clicks {info['episode_reward']:.0f}, ", end="")
print(f"lists far worse than the production ranker's: {info['episode_violations']:.0f}")
