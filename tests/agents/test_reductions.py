"""Sparring, MultiSBM and Doubler beside slow versions that follow their paper's listings, and what is known of them."""

import math

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, played

from rankgym_agents.doubler import Doubler
from rankgym_agents.multisbm import MultiSBM
from rankgym_agents.sparring import Sparring

AGENTS = [Sparring, MultiSBM, Doubler]


class UCB:
    """A singleton bandit machine: advance, feedback and reset. ``t`` counts its rounds, from 1."""

    def __init__(self, num_arms, alpha, first_index=0):
        self.K, self.alpha, self.first_index = num_arms, alpha, first_index
        self.reset()

    def reset(self):
        self.t, self.rewards = 1, [[] for _ in range(self.K)]

    def index(self, arm):
        n = len(self.rewards[arm])
        return sum(self.rewards[arm]) / n + math.sqrt(self.alpha * math.log(self.t) / n) if n else math.inf

    def advance(self, seed):
        indices = [self.index(arm) for arm in range(self.K)]
        tied = [arm for arm in range(self.K) if math.isclose(indices[arm], max(indices), rel_tol=1e-14)]
        self.arm = max(tied, key=lambda arm: word(seed, self.first_index + arm))
        return self.arm

    def feedback(self, reward):
        self.rewards[self.arm].append(reward)
        self.t += 1

    def counts(self):
        return np.array([len(rewards) for rewards in self.rewards])


class ReductionOracle(DuelOracle):
    """``candidate`` is the arm that ``counts`` has most often; ties take the random word number ``first_tie``."""

    def candidate(self):
        counts = self.counts()
        tied = [arm for arm in range(self.K) if counts[arm] == max(counts)]
        return tied[below(word(self.seed(), self.first_tie), len(tied))]


class SparringOracle(ReductionOracle):
    """Ailon, Karnin and Joachims 2014, Sparring. b_t is 1 where the right arm has won."""

    def __init__(self, num_arms, seed, alpha):
        super().__init__(num_arms, seed)
        self.S_L, self.S_R = UCB(num_arms, alpha), UCB(num_arms, alpha, num_arms)
        self.first_tie = 2 * num_arms

    def act(self):
        return self.S_L.advance(self.seed()), self.S_R.advance(self.seed())

    def update(self, left, right, left_won):
        b = int(not left_won)
        self.S_L.feedback(int(b == 0))
        self.S_R.feedback(int(b == 1))
        self.t += 1

    def counts(self):
        return self.S_L.counts() + self.S_R.counts()


class MultiSBMOracle(ReductionOracle):
    """Ailon, Karnin and Joachims 2014, MultiSBM."""

    def __init__(self, num_arms, seed, alpha):
        super().__init__(num_arms, seed)
        self.S = [UCB(num_arms, alpha) for _ in range(num_arms)]
        self.y = [below(word(self.seed(), num_arms), num_arms)]  # y_0, y_1, ...
        self.first_tie = num_arms + 1

    def act(self):
        x = self.y[-1]
        return x, self.S[x].advance(self.seed())

    def update(self, left, right, left_won):
        self.S[left].feedback(int(not left_won))
        self.y.append(right)
        self.t += 1

    def counts(self):
        return np.bincount(self.y[1:], minlength=self.K)


class DoublerOracle(ReductionOracle):
    """Ailon, Karnin and Joachims 2014, Doubler."""

    def __init__(self, num_arms, seed, alpha):
        super().__init__(num_arms, seed)
        self.S, self.i, self.j = UCB(num_arms, alpha), 1, 1
        self.L = [below(word(self.seed(), num_arms + 1), num_arms)]
        self.y = []
        self.first_tie = num_arms + 2

    def act(self):
        place = int((word(self.seed(), self.K) >> 11) / 2**53 * len(self.L))
        return sorted(self.L)[place], self.S.advance(self.seed())

    def update(self, left, right, left_won):
        self.S.feedback(int(not left_won))
        self.y.append(right)
        self.t += 1
        self.j += 1
        if self.j > 2**self.i:
            self.L, self.y = self.y, []
            self.i, self.j = self.i + 1, 1
            self.S.reset()

    def counts(self):
        return np.bincount(self.L, minlength=self.K)


ORACLES = {Sparring: SparringOracle, MultiSBM: MultiSBMOracle, Doubler: DoublerOracle}


@pytest.mark.parametrize("cls", AGENTS)
@pytest.mark.parametrize(
    ("name", "seed", "alpha"),
    [
        ("arxiv", 1, 0.51),
        ("cyclic", 2, 2),
        ("planted 2", 3, 2),
        ("planted 3", 4, 0.51),
        ("planted 10", 5, 0.51),
        ("planted 17", 6, 2),
        ("certain 10", 7, 0.51),
    ],
)
def test_the_duels_are_those_of_the_oracle(cls, name, seed, alpha):
    K = len(matrix(name))
    beside(cls(num_arms=K, seed=seed, alpha=alpha), ORACLES[cls](K, seed, alpha), matrix(name), 2000, seed)


@pytest.mark.parametrize("cls", AGENTS)
def test_a_few_duels_are_those_of_the_oracle(cls):
    beside(cls(num_arms=5, seed=3), ORACLES[cls](5, 3, 0.51), matrix("planted 5"), 200, every=10)


@pytest.mark.parametrize("cls", AGENTS)
def test_each_machine_plays_every_arm_before_any_twice(cls):
    K, rows = 7, 30
    agent = cls(num_arms=K, num_envs=rows, seed=4)
    lefts, rights = np.zeros((2, rows, K), int)
    for t in range(2 + 4 + K):  # Doubler's third epoch is the first that is longer than K
        duel = agent.act()
        if t < K:
            lefts[np.arange(rows), duel["left"]] += 1
        if t >= 6 or cls is not Doubler:
            rights[np.arange(rows), duel["right"]] += 1
        agent.update(duel, np.tile([1, 0], (rows, 1)))
    if cls is Sparring:
        assert (lefts == 1).all()
    if cls is Doubler:
        assert (rights == 1).all()
    if cls is MultiSBM:
        assert agent.state.played.max() <= 1 or agent.state.asked.max() > K


@pytest.mark.parametrize("cls", AGENTS)
def test_unplayed_arms_are_equally_likely(cls):
    """Chi-square of 5 degrees of freedom exceeds 41 with probability 1e-7."""
    agent = cls(num_arms=6, num_envs=12_000, seed=0)
    duel = agent.act()
    for arms in (duel["left"], duel["right"]):
        assert np.sum((np.bincount(arms, minlength=6) - 2000) ** 2 / 2000) < 41
    if cls is not Doubler:  # the two arms are independent: 35 degrees of freedom exceed 95 with probability 2e-7
        table = np.bincount(duel["left"] * 6 + duel["right"], minlength=36)
        assert np.sum((table - 12_000 / 36) ** 2 / (12_000 / 36)) < 95


@pytest.mark.parametrize("cls", AGENTS)
def test_equally_good_candidates_are_equally_likely(cls):
    """Chi-square of 3 degrees of freedom exceeds 36 with probability 8e-8, of 1 exceeds 29 with 7e-8."""
    agent = cls(num_arms=4, num_envs=8000, seed=2)
    if cls is not Doubler:  # whose first candidate is its first left arm
        assert np.sum((np.bincount(agent.candidate, minlength=4) - 2000) ** 2 / 2000) < 36
    tied = np.tile([0, 5, 2, 5], (8000, 1))
    if cls is Sparring:
        agent.state.played[:, 0], agent.state.played[:, 1] = tied // 2, tied - tied // 2
    elif cls is MultiSBM:
        agent.state.chosen[:] = tied
    else:
        agent.state.pool[:] = tied
    counts = np.bincount(agent.candidate, minlength=4)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert np.sum((counts[[1, 3]] - 4000) ** 2 / 4000) < 29


def test_sparrings_machines_share_the_rewards():
    agent = Sparring(num_arms=5, num_envs=20, seed=1)
    played(agent, matrix("planted 5"), 500)
    assert (agent.state.played.sum(2) == 500).all()
    assert (agent.state.won.sum((1, 2)) == 500).all()


def test_multisbms_left_arm_is_the_last_right_one():
    agent = MultiSBM(num_arms=5, num_envs=20, seed=1)
    last = agent.act()["left"]
    for _ in range(300):
        duel = agent.act()
        assert (duel["left"] == last).all()
        last = duel["right"]
        agent.update(duel, np.tile([0, 1], (20, 1)))
    assert (agent.state.asked == agent.state.played.sum(2)).all()
    assert (agent.state.chosen == agent.state.played.sum(1)).all()
    assert (agent.state.asked.sum(1) == 300).all()


def test_doublers_epochs_double_and_its_left_arms_come_from_the_last_one():
    agent = Doubler(num_arms=4, num_envs=50, seed=1)
    chance, preference, t = np.random.default_rng(0), matrix("planted 4"), 0
    pool = np.zeros((50, 4), int)
    pool[np.arange(50), agent.act()["left"]] = 1
    for i in range(1, 9):
        rights = np.zeros((50, 4), int)
        for _ in range(2**i):
            duel = agent.act()
            assert (pool[np.arange(50), duel["left"]] > 0).all()
            assert (pool[np.arange(50), agent.candidate] == pool.max(1)).all()
            rights[np.arange(50), duel["right"]] += 1
            left_won = chance.random(50) < preference[duel["left"], duel["right"]]
            agent.update(duel, np.stack([left_won, ~left_won], 1))
            t += 1
        pool = rights
        assert (agent.state.pool == pool).all()
        assert t == 2 ** (i + 1) - 2
        assert not agent.state.played.any()


def test_doublers_left_arms_are_drawn_as_often_as_their_share():
    """Pool of 1, 0, 5 and 2 arms in 8: chi-square of 2 degrees of freedom exceeds 33 with probability 7e-8."""
    agent = Doubler(num_arms=4, num_envs=16_000, seed=2)
    agent.state.pool[:], agent.state.total[:] = [1, 0, 5, 2], 8
    counts = np.bincount(agent.act()["left"], minlength=4)
    assert counts[1] == 0
    assert sum((counts[arm] - share) ** 2 / share for arm, share in ((0, 2000), (2, 10_000), (3, 4000))) < 33


@pytest.mark.parametrize(
    ("cls", "name", "K", "rounds"),
    [
        (Sparring, "arxiv", 6, 10_000),
        (Sparring, "cyclic", 4, 3000),
        (MultiSBM, "arxiv", 6, 12_000),
        (Doubler, "arxiv", 6, 2**15 - 2),
    ],
)
def test_it_finds_the_condorcet_winner(cls, name, K, rounds):
    """Of 2,000 other rows at most four failed. If a row fails with probability 0.01, 20 of 200 do with 3e-14."""
    agent = cls(num_arms=K, num_envs=200, seed=0)
    regret = played(agent, matrix(name), rounds)
    assert (agent.candidate == 0).mean() > 0.9
    assert regret.mean() < 0.6 * (matrix(name)[0].mean() - 0.5) * rounds  # of random duels; here 0.32, 0.3, 0.52, 0.39


def test_on_cyclic_multisbm_is_worse_than_random_duels():
    """It runs round the cycle: regret 391 (standard deviation 12 a row) in 4,094 duels, 307 with random ones.

    Three of 2,000 other rows named arm 0; more than 20 of 200 do with a probability below 1e-20.
    """
    agent = MultiSBM(num_arms=4, num_envs=200, seed=0)
    regret = played(agent, matrix("cyclic"), 4094)
    assert regret.mean() > 1.15 * (matrix("cyclic")[0].mean() - 0.5) * 4094
    assert (agent.candidate == 0).sum() <= 20


def test_on_cyclic_doubler_seldom_finds_the_winner():
    """0.27 of other rows name it after 4,094 duels; of 300 less than 30 or more than 150 do with probability 1e-11."""
    agent = Doubler(num_arms=4, num_envs=300, seed=0)
    regret = played(agent, matrix("cyclic"), 4094)
    assert 30 <= (agent.candidate == 0).sum() <= 150
    assert regret.mean() > 0.7 * (matrix("cyclic")[0].mean() - 0.5) * 4094


@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("cls", AGENTS)
def test_it_sorts_out_utilities(cls, K):
    """Bradley-Terry. With ten arms the second one is hardly worse than the first (0.504), the third is (0.595).

    Of 1,000 other rows all named an arm of these three; their regret was at most 0.26 of that of random duels, with a
    standard deviation of 0.03. If a row fails with probability 0.01, 9 of 50 do with 2e-9.
    """
    preference, rounds = matrix(f"bradley-terry {K}"), 8190
    agent = cls(num_arms=K, num_envs=50, seed=5)
    regret = played(agent, preference, rounds)
    assert regret.mean() < 0.35 * (preference[0].mean() - 0.5) * rounds
    assert (preference[0, agent.candidate] < 0.62).sum() > 41


@pytest.mark.parametrize("cls", AGENTS)
def test_duels_that_somebody_else_chose_are_learned_from(cls):
    agent = cls(num_arms=4, num_envs=30, alpha=1e-6, seed=3)
    chance = np.random.default_rng(1)
    for _ in range(254):  # 2 + 4 + ... + 128: Doubler's seventh epoch is over
        duel = {"left": chance.integers(4, size=30), "right": chance.choice(4, 30, p=[0.7, 0.1, 0.1, 0.1])}
        left_won = duel["left"] < duel["right"]
        agent.update(duel, np.stack([left_won, ~left_won], 1))
    assert (agent.candidate == 0).all()
    assert (agent.state.round == 254).all()
