"""Two arms are compared in every round: which agent finds the one that beats all others, and at what regret?

The arms are rankers of a data set; their preference matrix comes with the package.

python examples/dueling.py

Random duels lose about the same in every round. The two others find the best arm in every row, and then lose little
more. RUCB, which keeps statistics of every pair, is ahead among 15 arms. MergeRUCB, which compares within small groups
of arms and merges these, is made for many: with --arms 136, the maximum, it is ahead after the same number of rounds,
in which neither finds the best arm in most rows.
"""

import argparse

import gymnasium as gym

import rankgym
from rankgym_agents import RUCB, MergeRUCB, RandomDuels

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=300_000, help="duels in each row (default: 300000)")
parser.add_argument("--arms", type=int, default=15, help="rankers, drawn for each row, up to 136 (default: 15)")
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
