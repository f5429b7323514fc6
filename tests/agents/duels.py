"""What tests of dueling agents share: matrices, an agent beside its oracle, and long runs without an environment."""

from functools import cache

import numpy as np
from agent_oracles import word

from rankgym.kernels import AGENT, row_keys

ARXIV = [
    [0.50, 0.55, 0.55, 0.54, 0.61, 0.61],
    [0.45, 0.50, 0.55, 0.55, 0.58, 0.60],
    [0.45, 0.45, 0.50, 0.54, 0.51, 0.56],
    [0.46, 0.45, 0.46, 0.50, 0.54, 0.50],
    [0.39, 0.42, 0.49, 0.46, 0.50, 0.51],
    [0.39, 0.40, 0.44, 0.50, 0.49, 0.50],
]
CYCLIC = [[0.5, 0.6, 0.6, 0.6], [0.4, 0.5, 0.9, 0.1], [0.4, 0.1, 0.5, 0.9], [0.4, 0.9, 0.1, 0.5]]


@cache
def matrix(name, best=0):
    """A preference matrix (arms, arms); arm ``best`` is the Condorcet winner of all but "flat".

    Where that isn't arm 0, the two have changed places: an agent that prefers low numbers gains nothing then.

    "planted K": a winner by 0.1 to 0.4, cycles below it. "bradley-terry K": utilities. "certain K": a total order
    without noise. "flat K": every entry 1/2.
    """
    if best:
        places = np.arange(len(matrix(name)))
        places[[0, best]] = best, 0
        return matrix(name)[np.ix_(places, places)]
    if name in ("arxiv", "cyclic"):
        return np.array(ARXIV if name == "arxiv" else CYCLIC)
    kind, arms = name.split()
    K = int(arms)
    chance = np.random.default_rng(K)
    if kind == "bradley-terry":
        utility = np.sort(chance.normal(size=K))[::-1]
        return 1 / (1 + np.exp(utility[None] - utility[:, None]))
    upper = {"planted": chance.random((K, K)), "certain": np.ones((K, K)), "flat": np.full((K, K), 0.5)}[kind]
    if kind == "planted":
        upper[0] = chance.uniform(0.6, 0.9, K)
    upper = np.triu(upper, 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(K) / 2


class DuelOracle:
    """One row. ``t`` is the papers' round number, from 1; ``seed()`` is this round's, as the kernels' session_seed."""

    def __init__(self, num_arms, seed):
        self.K, self.t = num_arms, 1
        self.key = int(row_keys([seed], AGENT)[0])

    def seed(self):
        return word(self.key, self.t - 1)

    # act() -> (left, right); update(left, right, left_won) learns and moves t on; candidate() -> arm


def beside(agent, oracle, preference, rounds=2000, seed=0, every=50):
    """Play ``agent`` (one row) beside ``oracle`` for ``rounds`` duels: same arms each round, same candidate."""
    chance = np.random.default_rng(seed)
    for t in range(rounds):
        duel = agent.act()
        left, right = int(duel["left"][0]), int(duel["right"][0])
        assert (left, right) == tuple(oracle.act()), f"round {t + 1}"
        left_won = bool(chance.random() < preference[left, right])
        agent.update(duel, np.array([[left_won, not left_won]], np.int8))
        oracle.update(left, right, left_won)
        if t % every == 0 or t == rounds - 1:
            assert agent.candidate[0] == oracle.candidate(), f"candidate after round {t + 1}"


def played(agent, preference, rounds, seed=0, best=0):
    """Average regret against arm ``best``, cumulative, (num_envs,), of ``rounds`` duels of every row."""
    chance = np.random.default_rng(seed)
    regret = np.zeros(agent.num_envs)
    for _ in range(rounds):
        duel = agent.act()
        left, right = duel["left"], duel["right"]
        left_won = chance.random(agent.num_envs) < preference[left, right]
        agent.update(duel, np.stack([left_won, ~left_won], 1).astype(np.int8))
        regret += (preference[best, left] + preference[best, right]) / 2 - 0.5
    return regret
