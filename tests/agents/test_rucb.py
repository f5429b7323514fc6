"""RUCB: its duels are those of a slow reading of its paper; what it draws; that it finds the best arm."""

import math

import numpy as np
import pytest
from agent_oracles import below, word
from duels import WITH_ALPHA, DuelOracle, beside, matrix, played, regret_of_finding, ring

from rankgym_agents.rucb import FREE, RUCB


class RUCBOracle(DuelOracle):
    """Zoghi et al. 2014, Algorithm 1, line by line. Random words: 0 and 1 for line 10, 2 for line 12, 3 at the end."""

    def __init__(self, num_arms, seed, alpha=0.51):
        super().__init__(num_arms, seed)
        self.alpha = alpha
        self.w = {(i, j): 0 for i in range(num_arms) for j in range(num_arms)}  # line 1
        self.B = set()  # line 2

    def u(self, i, j):
        if i == j:
            return 0.5  # line 5
        n = self.w[i, j] + self.w[j, i]
        return self.w[i, j] / n + math.sqrt(self.alpha * math.log(self.t) / n) if n else math.inf  # line 4

    def contenders(self):
        arms = range(self.K)
        return [c for c in arms if all(self.u(c, j) >= 0.5 for j in arms)]  # line 6

    def act(self):
        seed, C = self.seed(), self.contenders()
        if not C:  # line 7
            c = below(word(seed, 1), self.K)
        self.B &= set(C)  # line 8
        if len(C) == 1:  # line 9
            self.B, c = set(C), C[0]
        if len(C) > 1:  # line 10
            others = [a for a in C if a not in self.B]
            if self.B and below(word(seed, 0), 2) == 0:
                (c,) = self.B
            else:
                c = others[below(word(seed, 1), len(others))]
        most = max(self.u(j, c) for j in range(self.K))  # line 12
        tied = [j for j in range(self.K) if self.u(j, c) == most]
        if len(tied) > 1:
            tied = [j for j in tied if j != c]
        return c, tied[below(word(seed, 2), len(tied))]

    def update(self, left, right, left_won):
        self.w[(left, right) if left_won else (right, left)] += left != right  # line 13
        self.t += 1

    def candidate(self):
        score = [sum(self.w[c, j] > self.w[j, c] for j in range(self.K)) for c in range(self.K)]
        tied = [c for c in range(self.K) if score[c] == max(score)]
        return tied[below(word(self.seed(), 3), len(tied))]


@pytest.mark.parametrize(
    ("preference", "seed", "alpha"), [*WITH_ALPHA, ("bradley-terry 17", 11, 0.05), ("certain 17", 12, 0.7)]
)
def test_the_duels_are_the_papers(preference, seed, alpha):
    P = matrix(preference)
    beside(RUCB(num_arms=len(P), seed=seed, alpha=alpha), RUCBOracle(len(P), seed, alpha), P, seed=seed)


@pytest.mark.parametrize("preference", ["cyclic", "planted 10"])
def test_the_duels_are_the_papers_in_a_short_run(preference):
    P = matrix(preference)
    beside(RUCB(num_arms=len(P), seed=5, alpha=0.1), RUCBOracle(len(P), 5, 0.1), P, rounds=200)


@pytest.mark.parametrize(("arms", "alpha", "seed"), [(2, 0.51, 1), (5, 0.51, 2), (5, 0.01, 3), (9, 0.1, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(arms, alpha, seed):
    """Also C becomes empty then, which needs a cycle of arms that surely lose, and refills."""
    agent, oracle = RUCB(num_arms=arms, alpha=alpha, seed=seed), RUCBOracle(arms, seed, alpha)

    def contenders_agree():
        assert np.flatnonzero(agent.state.barrier[0] == FREE).tolist() == oracle.contenders()

    beside(agent, oracle, ring(arms), 400, seed, every=1, foreign=1, look=contenders_agree)


def test_c_becomes_empty_on_a_cycle():
    agent = RUCB(num_arms=3, alpha=0.1, num_envs=3000, seed=9)
    for t in range(90):  # 0 beats 1, 1 beats 2, 2 beats 0
        left = np.full(3000, t % 3)
        agent.update({"left": left, "right": (left + 1) % 3}, np.tile([1, 0], (3000, 1)))
    left = agent.act()["left"]
    assert (agent.state.barrier != FREE).all()
    # line 7: uniform; a third of 3,000 within 142, which is 5.5 standard deviations: 4e-8 each, 1.2e-7 for all
    assert (abs(np.bincount(left, minlength=3) - 1000) < 142).all()


def told(agent, winner, loser, times):
    rows = agent.num_envs
    for _ in range(times):
        duel = {"left": np.full(rows, winner), "right": np.full(rows, loser)}
        agent.update(duel, np.tile([1, 0], (rows, 1)))


def test_every_other_time_the_left_arm_is_the_one_that_was_last_alone_in_c():
    """Line 10. After 8 wins each over arms 1 and 2, 0 is alone in C while .51 ln t < 2, until t = 50."""
    rows = 20_000
    agent = RUCB(num_arms=3, num_envs=rows, seed=4)
    told(agent, 0, 1, 8)
    told(agent, 0, 2, 8)
    duel = agent.act()
    assert (duel["left"] == 0).all()
    assert (duel["right"] == 0).all()  # both lose to it surely
    assert (agent.state.best == 0).all()
    told(agent, 0, 0, 40)  # to t = 57, when all are in C
    left = agent.act()["left"]
    expected = np.array([0.5, 0.25, 0.25])
    # within 5.5 standard deviations: probability 4e-8 each, 1.2e-7 for all three
    assert (abs(np.bincount(left) / rows - expected) < 5.5 * np.sqrt(expected * (1 - expected) / rows)).all()


def test_before_anybody_met_every_pair_is_as_likely():
    rows = 24_000
    duel = RUCB(num_arms=4, num_envs=rows, seed=3).act()
    pairs = np.bincount(4 * duel["left"] + duel["right"], minlength=16).reshape(4, 4)
    assert (np.diag(pairs) == 0).all()  # c is not drawn from a tie
    # 1/12 of 24,000 within 236, which is 5.5 standard deviations: probability 4e-8 each, 5e-7 for all
    assert (abs(pairs[~np.eye(4, dtype=bool)] - 2000) < 236).all()


def test_the_candidate_of_an_empty_head_is_anybody():
    named = RUCB(num_arms=4, num_envs=16_000, seed=3).candidate
    # a quarter of 16,000 within 302, which is 5.5 standard deviations: probability 4e-8 each, 1.6e-7 for all
    assert (abs(np.bincount(named) - 4000) < 302).all()


def test_all_pairs_meet_first_where_the_bounds_are_wide():
    """With alpha so large nobody leaves C, and an infinite bound wins: 15 pairs of 6 arms within the longest wait."""
    agent = RUCB(num_arms=6, alpha=1e300, num_envs=50, seed=0)
    played(agent, matrix("arxiv"), 400)
    assert (agent.state.barrier == FREE).all()
    assert (agent.state.wins.sum((1, 2)) == 400).all()  # no arm is ever compared with itself
    duels = agent.state.wins + agent.state.wins.transpose(0, 2, 1)
    # arm i has met all others after it was c five times; less than that in 400 uniform draws: 4e-26 for an arm
    assert (duels[:, ~np.eye(6, dtype=bool)] > 0).all()


@pytest.mark.parametrize(("preference", "rounds", "most_regret"), [("cyclic", 4000, 120), ("arxiv", 10_000, 480)])
def test_it_finds_the_condorcet_winner(preference, rounds, most_regret):
    """Its regret in 1,000 other rows was 67.6 and 397.2 on average, with standard deviations of 16.8 and 47.4.

    That of random play is 300 and 600. More than 20 standard errors of the average of 200 rows lie below the limit.
    """
    P = matrix(preference, best=2)
    assert regret_of_finding(RUCB(num_arms=len(P), num_envs=200, seed=1), P, rounds, best=2) < most_regret
