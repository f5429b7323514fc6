"""Your own fast agent: a state of arrays and two compiled kernels, on hundreds of users at a time.

python examples/own_kernel_agent.py
"""

import argparse
from typing import NamedTuple

import gymnasium as gym
import numpy as np

import rankgym
from rankgym.kernels import bits, kernel, session_seed, uniform


class State(NamedTuple):
    """The agent's memory. The leading axis is the row: one row, one user stream, one learner."""

    key: np.ndarray  # (rows,) uint64: the row's random numbers
    round: np.ndarray  # (rows,) int64
    epsilon: np.ndarray  # (rows,) float64
    clicks: np.ndarray  # (rows, items) float64
    displays: np.ndarray  # (rows, items) float64


@kernel
def rank(s, displayed):
    """Fill ``displayed`` (rows, positions): by clicks per display, or with probability epsilon at random."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])  # this round's random numbers: bits(seed, 0), bits(seed, 1), ...
        if uniform(bits(seed, 0)) < s.epsilon[row]:
            score = np.array([uniform(bits(seed, 1 + item)) for item in range(s.clicks.shape[1])])
        else:
            score = (s.clicks[row] + 1) / (s.displays[row] + 1)
        best = np.argsort(-score)
        for k in range(positions):
            displayed[row, k] = best[k]


@kernel
def learn(s, displayed, clicks):
    """Count clicks and displays."""
    rows, positions = displayed.shape
    for row in range(rows):
        s.round[row] += 1
        for k in range(positions):
            s.displays[row, displayed[row, k]] += 1
            s.clicks[row, displayed[row, k]] += clicks[row, k]


class FastEpsilonGreedy(rankgym.KernelAgent):
    """Ranks items by their clicks per display; shuffles with probability ``epsilon``."""

    rank, learn = staticmethod(rank), staticmethod(learn)

    def __init__(self, *, epsilon=0.1, **shape):
        super().__init__(**shape)
        rows, items = self.num_envs, self.num_items
        self.state = State(
            key=self.keys(),
            round=np.zeros(rows, np.int64),
            epsilon=np.full(rows, epsilon),
            clicks=np.zeros((rows, items)),
            displays=np.zeros((rows, items)),
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10_000, help="user sessions in each row (default: 10000)")
    rounds = parser.parse_args().rounds

    rankgym.check_agent(FastEpsilonGreedy)
    venv = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=600, query="all", horizon=rounds)
    for epsilon in (0.01, 0.1, 0.5):
        agent = FastEpsilonGreedy.for_env(venv, seed=0, epsilon=epsilon)
        regret = rankgym.simulate(agent, venv, rounds, seed=0).regret[-1]
        error = regret.std(ddof=1) / np.sqrt(len(regret))
        print(f"epsilon {epsilon:4.2f}: regret after {rounds:,} rounds {regret.mean():9.1f} ± {error:.1f}")
