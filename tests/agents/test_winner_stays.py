"""WinnerStays: its duels are those of a slow reading of its paper; its ties, its stretches, its regrets."""

import math

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, regret_of_finding, ring
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym_agents import WinnerStays

unhurried = settings(deadline=None)  # the first example may wait for the compiler
CASES = [
    ("planted 2", 0, "strong", 1.1),
    ("bradley-terry 3", 1, "strong", 1.5),
    ("cyclic", 2, "weak", 1.1),
    ("cyclic", 3, "strong", 2.0),
    ("arxiv", 4, "strong", 1.1),
    ("certain 6", 5, "strong", 10.0),
    ("flat 4", 6, "strong", 1.1),
    ("planted 10", 7, "weak", 1.1),
    ("bradley-terry 17", 8, "strong", 1.1),
]


class WinnerStaysOracle(DuelOracle):
    """Chen and Frazier 2017, as its file tells it. Random words: 0 for the left arm, 1 for the right one."""

    def __init__(self, num_arms, seed, regret="strong", beta=1.1):
        super().__init__(num_arms, seed)
        self.beta = beta if regret == "strong" else None
        self.C = [0] * num_arms
        self.last, self.r, self.alone = [], 1, []  # the duels of the winner with itself that are to come

    def best(self, arms, number):
        tied = [i for i in arms if self.C[i] == max(self.C[j] for j in arms)]
        for arm in self.last:
            if arm in tied:
                return arm
        return tied[below(word(self.seed(), number), len(tied))]

    def act(self):
        if self.alone:
            return self.alone[0], self.alone[0]
        i = self.best(range(self.K), 0)
        others = [j for j in range(self.K) if j != i]
        return i, self.best(others, 1) if others else i

    def update(self, left, right, left_won):
        was_alone = self.alone[:1]
        self.alone = self.alone[1:]
        if left != right:
            winner, loser = (left, right) if left_won else (right, left)
            self.C[winner] += 1
            self.C[loser] -= 1
            self.last = [left, right]
            if self.beta and not was_alone and self.C[winner] >= self.r * (self.K - 1):
                self.alone = [winner] * min(5000, math.floor(self.beta**self.r))
                self.r += 1
        self.t += 1

    def candidate(self):
        return self.act()[0]


@pytest.mark.parametrize(("preference", "seed", "regret", "beta"), CASES)
def test_the_duels_are_the_papers(preference, seed, regret, beta):
    P = matrix(preference)
    agent = WinnerStays(num_arms=len(P), seed=seed, regret=regret, beta=beta)
    beside(agent, WinnerStaysOracle(len(P), seed, regret, beta), P, seed=seed, every=1)


@pytest.mark.parametrize(("arms", "regret", "seed"), [(2, "strong", 1), (5, "weak", 2), (5, "strong", 3)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(arms, regret, seed):
    agent, oracle = WinnerStays(num_arms=arms, regret=regret, seed=seed), WinnerStaysOracle(arms, seed, regret)
    beside(agent, oracle, ring(arms), 400, seed, every=1, foreign=0.5)


def test_the_winner_stays_and_meets_the_next_one():
    """Arm 0 beats everybody: N - 1 duels, the last of which ends the first round with C = N - 1."""
    agent = WinnerStays(num_arms=5, num_envs=40, seed=1)
    opponents = []
    for t in range(5):
        duel = agent.act()
        won = np.stack([duel["left"] == 0, duel["left"] != 0], 1).astype(np.int8)
        if t == 0:
            won[(duel["left"] != 0) & (duel["right"] != 0)] = [1, 0]
        opponents.append((duel["left"], duel["right"]))
        agent.update(duel, won)
    began = (opponents[0][0] == 0) | (opponents[0][1] == 0)  # rows in which arm 0 came first
    assert began.any()
    others = np.array([np.where(left == 0, right, left)[began] for left, right in opponents[:4]])
    assert (np.sort(others, 0) == np.arange(1, 5)[:, None]).all()
    assert (opponents[4][0][began] == 0).all()
    assert (opponents[4][1][began] == 0).all()  # floor(1.1) = 1 duel with itself
    assert (agent.state.stage[began] == 2).all()


def test_its_weak_regret_ends_where_its_strong_one_is_linear():
    """WS-W on six arms: from some round on the better of the two arms is the best one, always.

    None of 1,000 other rows had weak regret after round 5,000; see ``regret_of_finding`` for what 20 of 200
    mean. The other arm costs 0.04 / 2 a round or more.
    """
    P = matrix("arxiv")
    agent, chance = WinnerStays(num_arms=6, num_envs=200, seed=5, regret="weak"), np.random.default_rng(0)
    weak, strong = np.zeros(200), np.zeros(200)
    for t in range(8000):
        duel = agent.act()
        left, right = duel["left"], duel["right"]
        left_won = chance.random(200) < P[left, right]
        agent.update(duel, np.stack([left_won, ~left_won], 1).astype(np.int8))
        if t >= 5000:
            weak += np.minimum(P[0, left], P[0, right]) - 0.5
            strong += (P[0, left] + P[0, right]) / 2 - 0.5
    assert (weak > 0).sum() <= 20
    assert (strong >= 3000 * 0.02 * (1 - 1e-9)).all()


def test_settled_is_alone_up_to_the_horizon():
    agent = WinnerStays(num_arms=2, horizon=100, seed=0, beta=4.0)
    said = []
    for _ in range(101):
        said.append(bool(agent.settled()[0]))
        duel = agent.act()
        agent.update(duel, [[duel["left"][0] == 0, duel["left"][0] != 0]])
    # one win and 4 alone, one win and 16, one win and 64: 87 rounds; another win and 256
    assert said == [False] * 88 + [True] * 13
    assert not WinnerStays(num_arms=2, seed=0, beta=1000.0).settled().any()


@unhurried
@given(st.one_of(st.floats(max_value=1), st.sampled_from([math.nan, math.inf, 0, 1, 1001]), st.text(), st.booleans()))
def test_beta_is_above_1(beta):
    with pytest.raises(ValueError, match=r"^beta = .* is out of range; allowed: a number in \(1, 1000\]$"):
        WinnerStays(num_arms=3, beta=beta)


def test_the_regret_is_weak_or_strong():
    with pytest.raises(ValueError, match=r"^regret = 'both'"):
        WinnerStays(num_arms=3, regret="both")


@pytest.mark.parametrize(("preference", "rounds", "most_regret"), [("cyclic", 4000, 65), ("arxiv", 10_000, 130)])
def test_it_finds_the_condorcet_winner(preference, rounds, most_regret):
    """Its regret in 1,000 other rows was 48.3 and 95.7 on average, with standard deviations of 10.6 and 20.7.

    More than 20 standard errors of the average of 200 rows lie below the limit.
    """
    P = matrix(preference, best=2)
    agent = WinnerStays(num_arms=len(P), num_envs=200, seed=1)
    assert regret_of_finding(agent, P, rounds, best=2) < most_regret
