"""Your own agent in plain Python, checked against the contract and compared with TopRank on the same users.

python examples/own_agent.py
"""

import argparse

import gymnasium as gym
import numpy as np

import rankgym
from rankgym_agents import StaticRanker, TopRank


class EpsilonGreedy(rankgym.Agent):
    """Ranks items by their clicks per display; in each round a row is shuffled with probability ``epsilon``.

    It ignores positions: an item that is displayed low looks worse than it is. And its exploration never ends: it is
    ahead of TopRank after 10,000 rounds, and far behind after 100,000.
    """

    def __init__(self, *, epsilon=0.1, **shape):
        super().__init__(**shape)
        self.epsilon = epsilon
        self.rngs = [np.random.default_rng(seed) for seed in self.seeds]  # one per row: rows must not share randomness
        self.clicks = np.zeros((self.num_envs, self.num_items))
        self.displays = np.zeros((self.num_envs, self.num_items))

    def act(self, observation=None):
        rate = (self.clicks + 1) / (self.displays + 1)  # optimistic about items never displayed
        lists = np.argsort(-rate, axis=1, kind="stable")
        for row, rng in enumerate(self.rngs):
            if rng.random() < self.epsilon:
                rng.shuffle(lists[row])
        return lists[:, : self.num_positions]

    def update(self, displayed, clicks):
        rows = np.arange(self.num_envs)[:, None]
        self.displays[rows, displayed] += 1
        self.clicks[rows, displayed] += clicks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000, help="user sessions in each row (default: 10000)")
    rounds = parser.parse_args().rounds

    rankgym.check_agent(EpsilonGreedy)
    print("EpsilonGreedy keeps the contract.\n")
    for agent_class in (StaticRanker, EpsilonGreedy, TopRank):
        venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=100, query="all", horizon=rounds)
        agent = agent_class.for_env(venv, seed=0)
        history = rankgym.simulate(agent, venv, rounds, seed=0)
        regret = history.regret[-1]
        error = regret.std(ddof=1) / np.sqrt(len(regret))
        print(f"{agent_class.__name__:14s} regret after {rounds:,} rounds: {regret.mean():9.1f} ± {error:.1f}")
