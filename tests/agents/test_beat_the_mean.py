"""Beat the Mean beside a slow version that follows its paper's listing, its two settings, and how often it is right."""

import math

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, played
from hypothesis import given
from hypothesis import strategies as st

from rankgym_agents.beat_the_mean import BeatTheMean, enough_comparisons


class BeatTheMeanOracle(DuelOracle):
    """Yue and Joachims 2011, Algorithm 1: every comparison is kept as (opponent, whether b has beaten it)."""

    def __init__(self, num_arms, seed, radius, T=math.inf, N=math.inf):
        super().__init__(num_arms, seed)
        self.T, self.N, self.c = T, N, radius
        self.W = set(range(num_arms))  # line 2
        self.comparisons = {b: [] for b in self.W}  # lines 4 and 5
        self.removed, self.found = 0, 0

    def n(self, b):
        return len(self.comparisons[b])

    def w(self, b):
        return sum(won for _, won in self.comparisons[b])

    def P(self, b):  # line 6
        return self.w(b) / self.n(b) if self.n(b) else 0.5

    def n_star(self):  # line 7
        return min(map(self.n, self.W))

    def exploring(self):  # line 10
        return len(self.W) > 1 and self.t - 1 < self.T and self.n_star() < self.N

    def drawn(self, arms, index):
        return sorted(arms)[below(word(self.seed(), index), len(arms))]

    def act(self):
        if not self.exploring():
            return self.candidate(), self.candidate()
        least = {b for b in self.W if self.n(b) == self.n_star()}
        return self.drawn(least, 0), self.drawn(self.W, 1)  # lines 11 and 12

    def update(self, left, right, left_won):
        if self.exploring():
            self.comparisons[left].append((right, left_won))  # lines 13 and 14
            P = self.means()
            c_star = self.c(self.n_star()) if self.n_star() else 1  # line 8
            if min(P.values()) + c_star <= max(P.values()) - c_star:  # line 16
                gone = self.drawn({b for b in self.W if P[b] == min(P.values())}, 2)  # line 17
                self.W -= {gone}  # line 19
                for b in self.W:  # line 18
                    self.comparisons[b] = [(other, won) for other, won in self.comparisons[b] if other != gone]
                self.removed += 1
            self.found = self.best()
        self.t += 1  # line 15

    def means(self):
        return {b: self.P(b) for b in self.W}

    def best(self):  # line 23
        P = self.means()
        return self.drawn({b for b in self.W if P[b] == max(P.values())}, 3)

    def candidate(self):
        return self.best() if self.exploring() else self.found

    def remembers(self, state):
        assert set(state.working[0, : state.size[0]].tolist()) == (self.W if self.exploring() else {self.candidate()})
        return all((self.n(b), self.w(b)) == (state.compared[0, b], state.wins[0, b]) for b in self.W)


def radius_of(factor, log_term):
    return lambda n: factor * math.sqrt(log_term / n)


def compared_with_oracle(name, K, seed, rounds, T, gamma=1.0, radius_factor=3.0):
    agent = BeatTheMean(num_arms=K, seed=seed, horizon=T, gamma=gamma, radius_factor=radius_factor)
    oracle = BeatTheMeanOracle(K, seed, radius_of(radius_factor * gamma**2, math.log(2 * T * K)), T)
    beside(agent, oracle, matrix(name), rounds, seed)
    assert oracle.remembers(agent.state)
    return oracle.removed


@pytest.mark.parametrize(
    ("name", "K"), [("arxiv", 6), ("cyclic", 4), *((f"planted {K}", K) for K in (2, 3, 10, 17)), ("certain 10", 10)]
)
@pytest.mark.parametrize(("seed", "gamma", "radius_factor"), [(1, 1.0, 3.0), (2, 1.2, 0.2), (3, 1.0, 0.1)])
def test_the_duels_are_those_of_the_oracle(name, K, seed, gamma, radius_factor):
    removed = compared_with_oracle(name, K, seed, 2000, 2000, gamma, radius_factor)
    assert removed > 0 or radius_factor == 3 or name == "cyclic"  # or nothing but the choice was compared


def test_a_few_duels_are_those_of_the_oracle():
    removed = [compared_with_oracle("certain 6", 6, seed, 300, 250, radius_factor=0.2) for seed in range(3)]
    assert min(removed) > 1


@pytest.mark.parametrize("T", [1, 7, 150])
def test_exploration_ends_at_the_horizon(T):
    agent = BeatTheMean(num_arms=5, num_envs=3, seed=4, horizon=T)
    oracle = BeatTheMeanOracle(5, 4, radius_of(3, math.log(10 * T)), T)
    beside(BeatTheMean(num_arms=5, seed=4, horizon=T), oracle, matrix("flat 5"), T + 20)
    assert oracle.removed == 0  # the horizon it was
    played(agent, matrix("flat 5"), T)
    assert (agent.state.size == 1).all()
    duel = agent.act()
    assert (duel["left"] == agent.candidate).all()
    assert (duel["right"] == agent.candidate).all()


@pytest.mark.parametrize(("epsilon", "radius_factor", "gamma"), [(0.4, 0.5, 1.0), (0.3, 0.2, 1.5), (1.5, 3.0, 1.0)])
@pytest.mark.parametrize("name", ["planted 6", "flat 6"])
def test_the_pac_setting_is_that_of_the_oracle(name, epsilon, radius_factor, gamma):
    K, delta, factor = 6, 0.1, radius_factor * gamma**2
    N = 1
    while math.ceil((2 * gamma * factor / epsilon) ** 2 * math.log(K**3 * N / delta)) != N:
        N += 1
    oracle = BeatTheMeanOracle(K, 7, radius_of(factor, math.log(K**3 * N / delta)), N=N)
    knobs = {"epsilon": epsilon, "delta": delta, "radius_factor": radius_factor, "gamma": gamma}
    agent = BeatTheMean(num_arms=K, seed=7, horizon=10, **knobs)  # the horizon is not its own
    assert agent.state.enough[0] == N
    assert N == 1 or oracle.c(N) <= epsilon / (2 * gamma)
    beside(agent, oracle, matrix(name), 2000)
    assert oracle.remembers(agent.state)
    assert not oracle.exploring() or K * N > 2000


@given(st.floats(1e-6, 1e5), st.floats(0, 50))
def test_the_comparisons_of_the_pac_setting_are_the_least_solution(scale, log_inv_delta):
    def right_side(N):
        return max(1, math.ceil(scale * (math.log(N) + log_inv_delta)))

    N = enough_comparisons(scale, log_inv_delta)
    assert right_side(N) == N
    assert all(right_side(earlier) > earlier for earlier in {1, N // 2, N - 1} if 1 <= earlier < N)


def test_the_constants_of_the_paper():
    online = BeatTheMean(num_arms=8, horizon=1000, gamma=1.5).state
    assert online.factor[0] * math.sqrt(online.logarithm[0] / 7) == pytest.approx(
        3 * 1.5**2 * math.sqrt(math.log(2 * 1000 * 8) / 7)
    )
    pac = BeatTheMean(num_arms=8, epsilon=0.1, delta=0.05, gamma=1.5).state
    N = int(pac.enough[0])
    assert math.ceil(36 * 1.5**6 / 0.1**2 * math.log(8**3 * N / 0.05)) == pytest.approx(N, abs=1)
    assert pac.logarithm[0] == pytest.approx(math.log(8**3 * N / 0.05))
    given_delta = BeatTheMean(num_arms=8, delta=0.01).state
    assert given_delta.logarithm[0] == pytest.approx(math.log(100))


def test_arms_are_compared_equally_often_and_with_all_of_the_working_set():
    """While nothing is removed counts differ by one at most, and every pair (b, b') is equally likely.

    Chi-square of 24 degrees of freedom exceeds 83 with probability 2e-8.
    """
    agent = BeatTheMean(num_arms=5, num_envs=500, horizon=10**6, seed=3)
    played(agent, matrix("planted 5"), 80)
    assert np.ptp(agent.state.compared, 1).max() == 0  # 80 = 16 * 5
    pairs = (agent.state.won + agent.state.lost).sum(0)
    assert np.sum((pairs - 1600) ** 2 / 1600) < 83
    played(agent, matrix("planted 5"), 3)
    assert np.ptp(agent.state.compared, 1).max() == 1


def test_tallies_are_sums_over_the_working_set():
    """What is left of w_b and n_b are the comparisons with the arms of the working set."""
    agent = BeatTheMean(num_arms=8, num_envs=40, horizon=5000, radius_factor=0.5, seed=3)
    for _ in range(15):
        played(agent, matrix("planted 8"), 100)
        s = agent.state
        for row in range(40):
            W = s.working[row, : s.size[row]]
            if len(W) > 1:
                assert (s.won[row][np.ix_(W, W)].sum(1) == s.wins[row, W]).all()
                assert ((s.won + s.lost)[row][np.ix_(W, W)].sum(1) == s.compared[row, W]).all()
                assert s.least[row] == s.compared[row, W].min()
                assert s.ties[row] == (s.compared[row, W] == s.least[row]).sum()
                assert set(np.flatnonzero(s.compared[row] < 0)) == set(range(8)) - set(W)
    assert 1 < np.median(agent.state.size) < 8 or (agent.state.size == 1).any()


def test_duels_that_somebody_else_chose_teach_of_the_working_set_alone():
    agent = BeatTheMean(num_arms=3, horizon=10**4, radius_factor=0.05, seed=0)
    for _ in range(60):  # arm 2 loses every duel
        agent.update({"left": [2], "right": [0]}, [[0, 1]])
        agent.update({"left": [0], "right": [1]}, [[1, 0]])
        agent.update({"left": [1], "right": [0]}, [[0, 1]])
    s = agent.state
    assert (s.size[0], s.round[0]) == (1, 180)
    agent.update({"left": [2], "right": [1]}, [[1, 0]])
    assert (agent.candidate[0], s.round[0]) == (0, 181)


def test_duels_with_an_arm_that_is_out_teach_nothing():
    agent = BeatTheMean(num_arms=4, horizon=10**4, radius_factor=0.05, seed=0)
    for left, right, left_won in ((0, 3, 1), (1, 3, 1), (2, 3, 1), (3, 0, 0)):
        agent.update({"left": [left], "right": [right]}, [[left_won, 1 - left_won]])
    before = {name: part.tolist() for name, part in agent.state._asdict().items() if name != "round"}
    assert before["compared"] == [[0, 0, 0, -1]]  # all of their comparisons were with arm 3
    for left, right in ((0, 3), (3, 0), (3, 3)):
        agent.update({"left": [left], "right": [right]}, [[1, 0]])
    assert before == {name: part.tolist() for name, part in agent.state._asdict().items() if name != "round"}
    assert agent.state.round[0] == 7


@pytest.mark.parametrize(("name", "K", "rounds"), [("arxiv", 6, 40_000), ("cyclic", 4, 10_000)])
def test_it_finds_the_condorcet_winner(name, K, rounds):
    """None of 2,000 other rows failed. If a row fails with probability 0.01, more than 11 of 100 do with 7e-10."""
    agent = BeatTheMean(num_arms=K, num_envs=100, radius_factor=0.5, horizon=10**5, seed=0)
    P = matrix(name, best=2)
    regret = played(agent, P, rounds, best=2)
    assert (agent.candidate == 2).mean() >= 0.89
    assert (agent.state.size == 1).mean() >= 0.85  # of other rows 0.985 and 0.9835; below 0.85 with probability 1e-10
    assert regret.mean() < 0.75 * (P[2].mean() - 0.5) * rounds  # of random duels; here about a half of it


def test_a_condorcet_winner_is_never_the_worst_arm_in_expectation():
    """Its share is above one half in every working set, and the mean of all shares is one half."""
    chance = np.random.default_rng(0)
    for _ in range(200):
        preference = matrix("planted 17")
        W = np.append(0, 1 + np.flatnonzero(chance.random(16) < 0.3))
        shares = preference[np.ix_(W, W)].mean(1)
        assert shares.mean() == pytest.approx(0.5)
        assert shares[0] > 0.5 or len(W) == 1


def test_a_narrow_winner_beside_a_clear_second_can_be_lost():
    """Arm 0 beats all by 0.01, arm 1 all others with certainty: relaxed stochastic transitivity needs gamma = 50.

    Of other rows 0.128 lose arm 0 in 2,500 duels; fewer than 5 of 300 do with probability 3e-13.
    """
    K = 10
    narrow = np.full((K, K), 0.5)
    narrow[0, 1:], narrow[1:, 0], narrow[1, 2:], narrow[2:, 1] = 0.51, 0.49, 1, 0
    agent = BeatTheMean(num_arms=K, num_envs=300, radius_factor=0.5, horizon=10**5, seed=0)
    played(agent, narrow, 2500)
    assert (agent.state.compared[:, 0] < 0).sum() >= 5


def test_the_candidate_of_an_empty_head_is_anybody():
    agent = BeatTheMean(num_arms=4, num_envs=16_000, delta=0.1, seed=3)
    named = agent.candidate
    # a quarter of 16,000 within 302, which is 5.5 standard deviations: probability 4e-8 each, 1.6e-7 for all
    assert (abs(np.bincount(named) - 4000) < 302).all()
    duel = agent.act()
    agent.update(duel, np.tile([0, 1], (16_000, 1)))
    assert (agent.candidate != duel["left"]).all()  # line 6: others have 1/2, and it has 0 of 1


def test_two_arms():
    agent = BeatTheMean(num_arms=2, num_envs=10, horizon=10**4, radius_factor=1, seed=1)
    played(agent, matrix("certain 2"), 1000)
    assert (agent.state.size == 1).all()  # shares are about 3/4 and 1/4; two radii of ln(4e4) / n come below 1/4 at 680
    assert (agent.candidate == 0).all()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({}, "horizon = None and delta = None; allowed: "),
        ({"gamma": 0.9, "delta": 0.1}, "gamma = 0.9 is out of range; allowed: a finite number, at least 1"),
        ({"gamma": math.inf, "delta": 0.1}, "gamma = inf is out of range; allowed: "),
        ({"gamma": "1", "delta": 0.1}, "gamma = '1' is out of range; allowed: "),
        ({"radius_factor": 0, "delta": 0.1}, "radius_factor = 0 is out of range; allowed: "),
        ({"radius_factor": math.nan, "delta": 0.1}, "radius_factor = nan is out of range; allowed: "),
        ({"delta": 0.0}, "delta = 0.0 is out of range; allowed: a number in \\(0, 1\\)"),
        ({"delta": 1}, "delta = 1 is out of range; allowed: "),
        ({"epsilon": 0, "delta": 0.1}, "epsilon = 0 is out of range; allowed: "),
        ({"epsilon": "1", "delta": 0.1}, "epsilon = '1' is out of range; allowed: "),
        ({"epsilon": 0.1, "horizon": 10}, "delta = None and epsilon = 0.1; allowed: delta in \\(0, 1\\)"),
        ({"delta": 0.1, "num_arms": 0}, "num_arms = 0 is out of range; allowed: "),
    ],
)
def test_bad_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        BeatTheMean(**{"num_arms": 3, **knobs})


@given(st.floats(1, 1e60), st.floats(1e-60, 1e60), st.floats(1e-300, 1, exclude_max=True), st.floats(1e-300, 1e300))
def test_extreme_knobs_do_no_harm(gamma, radius_factor, delta, epsilon):
    for setting in (None, epsilon):
        agent = BeatTheMean(num_arms=3, gamma=gamma, radius_factor=radius_factor, delta=delta, epsilon=setting, seed=0)
        for _ in range(4):
            duel = agent.act()
            agent.update(duel, [[1, 0]])
        assert agent.state.enough[0] >= 1
        assert 0 <= agent.candidate[0] < 3
