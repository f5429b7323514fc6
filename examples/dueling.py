"""Two arms are compared in every round: which agent finds the one that beats all others, and at what regret?

The arms are the 136 rankers of a data set; the matrix that says who beats whom how often comes with the package.

python examples/dueling.py
"""

import argparse

import gymnasium as gym

import rankgym
from rankgym_agents import RUCB, MergeRUCB, RandomDuels

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=100_000, help="duels in each row (default: 100000)")
parser.add_argument("--arms", type=int, default=30, help="rankers, drawn for each row (default: 30)")
arguments = parser.parse_args()
rounds = arguments.rounds

for agent_class in (RandomDuels, RUCB, MergeRUCB):
    venv = gym.make_vec("rankgym/Dueling-MSLR-v0", num_envs=20, num_arms=arguments.arms, horizon=rounds)
    agent = agent_class.for_env(venv, horizon=rounds, seed=0)
    history = rankgym.simulate(agent, venv, rounds, seed=0)
    end = history.at(rounds)
    print(
        f"{agent_class.__name__:12} regret after {rounds:,} rounds {end['regret'].mean():8.1f}, "
        f"names the best arm in {end['accuracy'].mean():4.0%} of the rows"
    )
