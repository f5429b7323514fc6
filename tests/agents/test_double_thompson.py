"""DoubleThompson: its duels are those of a slow reading of its paper; its samples; that it finds the best arm."""

import math
import pickle

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, played
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import beta

from rankgym.contract import check_agent
from rankgym.kernels import bits
from rankgym_agents.double_thompson import DoubleThompson, second

unhurried = settings(deadline=None)  # the first example may wait for the compiler


def theta_from(seed, index, a, b):
    """A Beta(a, b) variate from one random word: that which 1 - u of the distribution lies below."""
    return betaincinv(a, b, 1 - (word(seed, index) >> 11) / 2**53)


def theta_by_rejection(seed, index, a, b):
    """A Beta(a, b) variate: Gamma variates of Marsaglia and Tsang 2000, both from one polar step, accepted together."""
    d = [a - 1 / 3, b - 1 / 3]
    for first in range(index, index + 192, 3):
        p, q, u = ((word(seed, first + n) >> 11) / 2**53 for n in range(3))
        p, q = 2 * p - 1, 2 * q - 1
        r2 = p * p + q * q
        if not 0 < r2 < 1:
            continue
        radius = math.sqrt(-2 * math.log(r2) / r2)
        x = [p * radius, q * radius]
        v = [(1 + xi / math.sqrt(9 * di)) ** 3 for xi, di in zip(x, d, strict=True)]
        if min(v) > 0 and u < math.exp(
            sum(xi * xi / 2 + di - di * vi + di * math.log(vi) for xi, di, vi in zip(x, d, v, strict=True))
        ):
            gammas = [di * vi for di, vi in zip(d, v, strict=True)]
            return gammas[0] / sum(gammas)
    raise AssertionError("64 attempts in vain")


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
                theta[i, j] = theta_from(seed, 2 + i * K + j, B[i, j] + 1, B[j, i] + 1)  # line 8
                theta[j, i] = 1 - theta[i, j]  # line 9
        votes = [sum(theta[i, j] > 0.5 for j in arms if j != i) for i in arms]
        one = self.tied(votes, C, 0)  # line 11
        again = {i: theta_by_rejection(seed, 2 + K * K + 192 * i, B[i, one] + 1, B[one, i] + 1) for i in arms}
        again[one] = 0.5  # line 13
        return one, max((i for i in arms if self.bound(i, one, -1) <= 0.5), key=again.get)  # line 14

    def update(self, left, right, left_won):
        self.B[(left, right) if left_won else (right, left)] += left != right  # line 17
        self.t += 1

    def candidate(self):
        score = [sum(self.B[c, j] > self.B[j, c] for j in range(self.K)) for c in range(self.K)]
        return self.tied(score, range(self.K), 1)


@pytest.mark.parametrize(
    ("preference", "seed", "alpha"),
    [
        ("planted 2", 0, 0.51),
        ("bradley-terry 3", 1, 0.51),
        ("cyclic", 2, 0.51),
        ("cyclic", 3, 2.0),
        ("arxiv", 4, 0.51),
        ("arxiv", 5, 0.05),
        ("certain 6", 6, 0.51),
        ("flat 4", 7, 0.3),
        ("planted 10", 8, 0.51),
        ("bradley-terry 10", 9, 0.1),
        ("planted 17", 10, 0.51),
    ],
)
def test_the_duels_are_the_papers(preference, seed, alpha):
    P = matrix(preference)
    agent = DoubleThompson(num_arms=len(P), seed=seed, alpha=alpha)
    beside(agent, DoubleThompsonOracle(len(P), seed, alpha), P, seed=seed)


@pytest.mark.kernels
@pytest.mark.parametrize("preference", ["cyclic", "planted 10"])
def test_the_duels_are_the_papers_in_a_short_run(preference):
    P = matrix(preference)
    beside(DoubleThompson(num_arms=len(P), seed=5, alpha=0.1), DoubleThompsonOracle(len(P), 5, 0.1), P, rounds=150)


@pytest.mark.kernels
@pytest.mark.parametrize(("arms", "alpha", "seed"), [(2, 0.51, 1), (5, 0.51, 2), (5, 0.01, 3), (9, 0.1, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(arms, alpha, seed):
    agent, oracle = DoubleThompson(num_arms=arms, alpha=alpha, seed=seed), DoubleThompsonOracle(arms, seed, alpha)
    chance = np.random.default_rng(seed)
    for t in range(250):
        duel = agent.act()
        assert (duel["left"][0], duel["right"][0]) == oracle.act(), f"round {t + 1}"
        left, right = (int(arm) for arm in chance.integers(arms, size=2))
        won = bool(chance.random() < (0.9 if (left - right) % arms <= arms // 2 else 0.1))
        agent.update({"left": np.array([left]), "right": np.array([right])}, np.array([[won, not won]]))
        oracle.update(left, right, won)
        assert agent.candidate[0] == oracle.candidate()


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


def test_the_largest_alpha_is_no_nonsense():
    agent = DoubleThompson(num_arms=4, alpha=1.7e308, seed=0)
    assert np.isfinite(played(agent, matrix("cyclic"), 100)).all()
    assert (agent.state.doubts == 0).all()


def test_with_one_arm_there_is_nothing_to_choose():
    agent = DoubleThompson(num_arms=1, num_envs=2, seed=0)
    assert played(agent, np.array([[0.5]]), 5).tolist() == [0, 0]
    assert agent.candidate.tolist() == [0, 0]


@pytest.mark.parametrize(("preference", "rounds", "most_regret"), [("cyclic", 4000, 60), ("arxiv", 10_000, 180)])
def test_it_finds_the_condorcet_winner(preference, rounds, most_regret):
    """Of 1,000 other rows at most one was wrong by then, or earlier.

    Were a row wrong with probability 0.02, as few as that would be seen with probability 4e-8; with a smaller one, more
    than 20 of 200 are wrong with probability below 1e-9. The regret of random play is 300 and 600; that of the rows was
    27.7 and 95.8 on average, with standard deviations of 7.5 and 38.5. More than 20 standard errors of the
    average of 200 lie between that and the limit.
    """
    agent = DoubleThompson(num_arms=len(matrix(preference)), num_envs=200, seed=1)
    regret = played(agent, matrix(preference), rounds, seed=2)
    assert (agent.candidate != 0).sum() <= 20
    assert regret.mean() < most_regret


def test_it_keeps_the_contract():
    check_agent(DoubleThompson)
    check_agent(lambda **shape: DoubleThompson(alpha=0.1, **shape), kind="dueling", num_arms=9, rounds=100, seed=2)


def test_saved_and_loaded_it_goes_on():
    P = matrix("planted 10")
    agent = DoubleThompson(num_arms=10, num_envs=3, seed=8)
    played(agent, P, 300)
    other = pickle.loads(pickle.dumps(agent))
    assert (played(agent, P, 300, seed=1) == played(other, P, 300, seed=1)).all()
    assert all((a == b).all() for a, b in zip(agent.state, other.state, strict=True))


@unhurried
@given(st.one_of(st.floats(max_value=0), st.just(math.nan), st.just(math.inf), st.text(), st.none(), st.booleans()))
def test_a_bad_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match=r"^alpha = .* is out of range; allowed: a finite number above 0$"):
        DoubleThompson(num_arms=3, alpha=alpha)
