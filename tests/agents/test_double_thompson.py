"""DoubleThompson: its duels are those of a slow reading of its paper; its samples; that it finds the best arm."""

import math

import numpy as np
import pytest
from agent_oracles import below, beta_by_rejection, word
from duels import WITH_ALPHA, DuelOracle, beside, beta_quantile, matrix, played, regret_of_finding, ring
from scipy.stats import beta

from rankgym.kernels import bits
from rankgym_agents.double_thompson import DoubleThompson, second


class DoubleThompsonOracle(DuelOracle):
    """Wu and Liu 2016, Algorithm 1, line by line. Words: 0, 1 for ties in line 11 and the candidate; then samples."""

    def __init__(self, num_arms, seed, alpha=0.51):
        super().__init__(num_arms, seed)
        self.alpha = alpha
        self.B = {(i, j): 0 for i in range(num_arms) for j in range(num_arms)}  # line 1

    def bound(self, i, j, sign):  # line 4
        if i == j:
            return 0.5
        n = self.B[i, j] + self.B[j, i]
        return self.B[i, j] / n + sign * math.sqrt(self.alpha * math.log(self.t) / n) if n else sign * math.inf

    def tied(self, score, arms, n):
        arms = [i for i in arms if score[i] == max(score[j] for j in arms)]
        return arms[below(word(self.seed(), n), len(arms))]

    def act(self):
        K, seed, B = self.K, self.seed(), self.B
        arms = range(K)
        zeta = [sum(self.bound(i, j, 1) > 0.5 for j in arms if j != i) for i in arms]  # line 5, times K - 1
        C = [i for i in arms if zeta[i] == max(zeta)]  # line 6
        theta = {}
        for i in arms:  # line 7
            for j in range(i + 1, K):
                theta[i, j] = beta_quantile(seed, 2 + i * K + j, B[i, j] + 1, B[j, i] + 1)  # line 8
                theta[j, i] = 1 - theta[i, j]  # line 9
        votes = [sum(theta[i, j] > 0.5 for j in arms if j != i) for i in arms]
        one = self.tied(votes, C, 0)  # line 11
        again = {i: beta_by_rejection(seed, 2 + K * K + 192 * i, B[i, one] + 1, B[one, i] + 1) for i in arms}
        again[one] = 0.5  # line 13
        return one, max((i for i in arms if self.bound(i, one, -1) <= 0.5), key=again.get)  # line 14

    def update(self, left, right, left_won):
        self.B[(left, right) if left_won else (right, left)] += left != right  # line 17
        self.t += 1

    def candidate(self):
        score = [sum(self.B[c, j] > self.B[j, c] for j in range(self.K)) for c in range(self.K)]
        return self.tied(score, range(self.K), 1)


@pytest.mark.parametrize(("preference", "seed", "alpha"), WITH_ALPHA)
def test_the_duels_are_the_papers(preference, seed, alpha):
    P = matrix(preference)
    agent = DoubleThompson(num_arms=len(P), seed=seed, alpha=alpha)
    beside(agent, DoubleThompsonOracle(len(P), seed, alpha), P, seed=seed)


@pytest.mark.parametrize("preference", ["cyclic", "planted 10"])
def test_the_duels_are_the_papers_in_a_short_run(preference):
    P = matrix(preference)
    beside(DoubleThompson(num_arms=len(P), seed=5, alpha=0.1), DoubleThompsonOracle(len(P), 5, 0.1), P, rounds=150)


@pytest.mark.parametrize(("arms", "alpha", "seed"), [(2, 0.51, 1), (5, 0.51, 2), (5, 0.01, 3), (9, 0.1, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(arms, alpha, seed):
    agent, oracle = DoubleThompson(num_arms=arms, alpha=alpha, seed=seed), DoubleThompsonOracle(arms, seed, alpha)
    beside(agent, oracle, ring(arms), 250, seed, every=1, foreign=1)


def test_what_the_state_holds_belongs_together():
    agent = DoubleThompson(num_arms=10, num_envs=20, seed=2)
    played(agent, matrix("planted 10"), 3000)
    s, upper = agent.state, np.triu_indices(10, 1)
    won, lost = s.wins, s.wins.transpose(0, 2, 1)
    assert (s.losses == lost).all()
    assert np.allclose(s.trail, (lost - won) / (2 * np.sqrt(np.maximum(won + lost, 1))))
    assert (s.beaten == (won > lost).sum(2)).all()
    expected = beta(1 + won, 1 + lost).sf(0.5)
    for row in range(20):
        assert np.allclose(s.chance[row][upper], expected[row][upper], rtol=0, atol=1e-12)
        assert (s.chance[row] == s.chance[row].T).all()


def test_the_first_pair_is_any():
    """All four are in C, and their samples fair coins; the right arm is the left one where all others lose to it."""
    rows = 24_000
    duel = DoubleThompson(num_arms=4, num_envs=rows, seed=3).act()
    pairs = np.bincount(4 * duel["left"] + duel["right"], minlength=16).reshape(4, 4)
    expected = np.where(np.eye(4, dtype=bool), 1 / 8, 7 / 8 / 3) / 4  # three uniform samples below 1/2: 1/8
    # within 5.5 standard deviations: probability 4e-8 each, 6.4e-7 for all sixteen
    assert (abs(pairs / rows - expected) < 5.5 * np.sqrt(expected * (1 - expected) / rows)).all()


def test_the_right_arm_may_beat_the_left_one_with_the_chance_of_its_posterior():
    """Of two arms, the right one is the other where its sample from Beta(1 + w, 1 + l) exceeds 1/2."""
    rows, won, lost = 20_000, 7, 11
    picked = 0
    for n in range(rows):
        seed = np.uint64(bits(np.uint64(77), n))
        # the left arm 0 has lost 7 and won 11 of its duels with arm 1; a wide bound leaves it open
        picked += second(np.array([0, lost]), np.array([0, won]), np.zeros(2), 0, 1e9, seed)
    expected = beta(1 + won, 1 + lost).sf(0.5)
    # within 5.5 standard deviations: probability 4e-8
    assert abs(picked / rows - expected) < 5.5 * math.sqrt(expected * (1 - expected) / rows)


@pytest.mark.parametrize(("preference", "rounds", "most_regret"), [("cyclic", 4000, 60), ("arxiv", 10_000, 180)])
def test_it_finds_the_condorcet_winner(preference, rounds, most_regret):
    """Its regret in 1,000 other rows was 27.7 and 95.8 on average, with standard deviations of 7.5 and 38.5.

    That of random play is 300 and 600. More than 20 standard errors of the average of 200 rows lie below the limit.
    """
    P = matrix(preference)
    assert regret_of_finding(DoubleThompson(num_arms=len(P), num_envs=200, seed=1), P, rounds) < most_regret
