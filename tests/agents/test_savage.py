"""Condorcet SAVAGE: its duels are those of a slow plain-Python reading, and facts of its paper (Urvoy et al. 2013)."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, part_after, played, seldom, set_wins, trails_and_share
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym_agents.savage import SAVAGE, beaten, log_eta, radius

KNOBS = [
    {"horizon": 100, "delta": 0.99},
    {"horizon": 1500, "delta": 0.9, "sampling": "uniform"},
    {"delta": 0.5},
    {"delta": 0.9, "sampling": "uniform"},
    {"horizon": 10**6},
]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class SAVAGEOracle(DuelOracle):
    """Urvoy, Clerot, Feraud and Naamane 2013 with the independence test of section 4 for a Condorcet winner.

    The set H of what is still believed is an interval for every pair, from all rounds. ``W`` are the pairs that matter.
    """

    def __init__(self, num_arms, seed, horizon=None, delta=None, sampling="least"):
        super().__init__(num_arms, seed)
        self.T, self.sampling = horizon, sampling
        self.delta = 1 / horizon if delta is None else delta
        self.W = list(combinations(range(num_arms), 2))
        self.N = len(self.W)
        self.wins = dict.fromkeys(permutations(range(num_arms), 2), 0)
        self.sampled = dict.fromkeys(self.W, 0)
        self.H = dict.fromkeys(self.wins, (0.0, 1.0))
        self.arms = set(range(num_arms))
        self.winner = None if num_arms > 1 else 0

    def c(self, t):
        eta = 2 * self.N * self.T if self.T else math.pi**2 * self.N * t**2 / 3
        return math.sqrt(math.log(eta / self.delta) / (2 * t))

    def place(self):
        """Of the least sampled, all those of the list from there on, or of all of them."""
        least = min(self.sampled[pair] for pair in self.W)
        fewest = [pair for pair in self.W if self.sampled[pair] == least]
        first = 0 if self.sampling == "uniform" else len(self.W) - len(fewest)
        assert first == 0 or set(self.W[first:]) == set(fewest)
        return first, first + below(word(self.seed(), 0), len(self.W) - first)

    def act(self):
        if self.winner is not None:
            return self.winner, self.winner
        return self.W[self.place()[1]]

    def update(self, left, right, left_won):
        if self.winner is None:
            first, place = self.place()
            assert self.W[place] == (left, right)
            if self.sampling == "least":
                self.W[place], self.W[first] = self.W[first], self.W[place]
            self.sampled[left, right] += 1
            self.wins[(left, right) if left_won else (right, left)] += 1
            t = self.wins[left, right] + self.wins[right, left]
            for i, j in ((left, right), (right, left)):
                low, high = self.H[i, j]
                mean = self.wins[i, j] / t
                self.H[i, j] = max(low, mean - self.c(t)), min(high, mean + self.c(t))
            out = {i for i, j in self.H if self.H[i, j][1] < 1 / 2}
            self.arms -= out
            self.W = [pair for pair in self.W if not out & set(pair)]
        self.t += 1
        if self.winner is None and (not self.W or self.t - 1 == self.T):
            self.winner = self.f()

    def f(self):
        def merit(k):
            trails, share = trails_and_share(self.wins, k)
            return -trails, share, word(self.seed(), 1 + k)

        return max(self.arms, key=merit)

    def candidate(self):
        return self.f() if self.winner is None else self.winner


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("certain 2", 1),
        ("planted 3", 2),
        ("cyclic", 3),
        ("arxiv", 4),
        ("certain 10", 6),
        ("bradley-terry 6", 7),
        ("flat 6", 8),
    ],
)
def test_the_duels_are_the_papers(name, seed, knobs):
    P = matrix(name)
    agent, oracle = SAVAGE(num_arms=len(P), seed=seed, **knobs), SAVAGEOracle(len(P), seed, **knobs)
    beside(agent, oracle, P, rounds=2000, seed=seed)
    assert np.flatnonzero(agent.state.alive[0]).tolist() == sorted(oracle.arms)
    if name.startswith("certain") and knobs.get("horizon") not in (100, 10**6):
        assert agent.remaining[0] < len(P)


def test_seventeen_arms():
    """From 24 duels of every pair on, so that arms are out in the second sweep: c(26) is the first radius below 1/2."""
    P, knobs = matrix("certain 17"), {"delta": 0.99}
    agent, oracle = SAVAGE(num_arms=17, seed=5, **knobs), SAVAGEOracle(17, 5, **knobs)
    assert oracle.c(26) < 1 / 2 < oracle.c(25)
    set_wins(agent.state, 24 * np.triu(np.ones((17, 17), int), 1))
    oracle.wins |= dict.fromkeys(oracle.W, 24)
    beside(agent, oracle, P, rounds=136)
    assert agent.remaining[0] == 17
    beside(agent, oracle, P, rounds=136)
    assert agent.remaining[0] == 1


@pytest.mark.parametrize("sampling", ["least", "uniform"])
@pytest.mark.parametrize("name", ["certain 6", "cyclic", "planted 2"])
def test_the_duels_are_the_papers_with_any_compiler(name, sampling):
    P, knobs = matrix(name), {"delta": 0.9, "sampling": sampling}
    agent, oracle = SAVAGE(num_arms=len(P), seed=5, **knobs), SAVAGEOracle(len(P), 5, **knobs)
    beside(agent, oracle, P, rounds=600)


@pytest.mark.parametrize("sampling", ["least", "uniform"])
def test_duels_that_somebody_else_chose_count(sampling):
    """No arm that wins all its duels is ever out, one that loses 100 times to the same arm is, and the rest goes on."""
    agent, chance = SAVAGE(num_arms=5, delta=0.9, sampling=sampling, seed=4), np.random.default_rng(5)
    for _ in range(100):
        agent.update({"left": np.array([3]), "right": np.array([1])}, np.array([[1, 0]]))
    assert agent.state.alive[0].tolist() == [True, False, True, True, True]
    assert agent.state.left[0] == 6
    for _ in range(3000):
        duel = agent.act()
        if chance.random() < 0.5:
            duel = {side: chance.integers(0, 5, 1) for side in ("left", "right")}
        left, right = int(duel["left"][0]), int(duel["right"][0])
        agent.update(duel, np.array([[1, 0]] if left <= right else [[0, 1]]))
        assert 0 <= agent.state.swept[0] <= agent.state.left[0] == math.comb(int(agent.remaining[0]), 2)
    assert agent.candidate[0] == 0
    assert agent.remaining[0] == 1


def test_duels_that_somebody_else_chose_are_no_samples_of_the_next_pair():
    """Between them the agent's own duels are still all pairs in turn; a duel of the next pair itself is its sample."""
    agent, chance = SAVAGE(num_arms=5, horizon=10**6, seed=1), np.random.default_rng(2)
    for _ in range(4):
        own = []
        while len(own) < 10:
            duel = agent.act()
            pair = (int(duel["left"][0]), int(duel["right"][0]))
            other = tuple(int(arm) for arm in chance.permutation(5)[:2])
            if set(other) != set(pair):
                agent.update({"left": np.array([other[0]]), "right": np.array([other[1]])}, np.array([[0, 1]]))
                swept = agent.state.swept[0]
                assert swept == len(own)
                duel = agent.act()  # another one of those that are left
                pair = (int(duel["left"][0]), int(duel["right"][0]))
            own.append(pair)
            agent.update({"left": duel["right"], "right": duel["left"]}, np.array([[1, 0]]))
        assert sorted(own) == list(combinations(range(5), 2))
    assert agent.remaining[0] == 5


def test_an_arm_that_is_out_is_never_named():
    """Arm 0 trails arm 1 alone, which has put it out; each of the others trails two arms or more."""
    agent = SAVAGE(num_arms=5, delta=0.9, seed=3)
    trailing = [(0, 1)] * 100 + [(1, 2), (1, 3), (2, 0), (2, 4), (3, 0), (3, 2), (4, 0), (4, 1), (4, 3)]
    for loser, winner in trailing:
        agent.update({"left": np.array([loser]), "right": np.array([winner])}, np.array([[0, 1]]))
    assert agent.state.alive[0].tolist() == [False, True, True, True, True]
    assert agent.candidate[0] in (1, 2, 3)


@pytest.mark.parametrize("K", [2, 5, 12])
def test_all_pairs_are_sampled_at_the_same_pace(K):
    agent = SAVAGE(num_arms=K, num_envs=20, horizon=10**6, seed=2)
    pairs = math.comb(K, 2)
    for sweep in range(1, 4):
        played(agent, np.full((K, K), 0.5), pairs)
        met = agent.state.wins + agent.state.wins.transpose(0, 2, 1)
        assert (met == sweep * (1 - np.eye(K))).all()


def test_the_first_pairs_are_uniform():
    rows = 30_000
    for sampling in ("least", "uniform"):
        duel = SAVAGE(num_arms=4, num_envs=rows, horizon=10, sampling=sampling, seed=3).act()
        for i, j in combinations(range(4), 2):
            # 1/6 of 30,000 within 0.0118, 5.5 standard deviations: probability 4e-8 each, 5e-7 for all twelve
            assert abs(((duel["left"] == i) & (duel["right"] == j)).mean() - 1 / 6) < 0.0118


@pytest.mark.parametrize(("T", "delta"), [(1000, None), (50_000, 0.1), (10**9, 0.01), (None, 0.1)])
def test_two_arms_without_noise_part_when_the_radius_says(T, delta):
    """All t duels won, the loser's mean is 0, and it is out as soon as c(t) < 1/2."""
    d = delta or 1 / T
    c = [math.sqrt(math.log((2 * T if T else math.pi**2 * t**2 / 3) / d) / (2 * t)) for t in range(1, 500)]
    duels = next(t for t, radius in enumerate(c, 1) if radius < 1 / 2)
    agent = SAVAGE(num_arms=2, horizon=T, delta=delta, seed=6)
    part_after(agent, duels)


def test_after_the_horizon_it_plays_what_looks_best():
    agent = SAVAGE(num_arms=10, num_envs=30, horizon=450, seed=2)
    played(agent, matrix("planted 10"), 449)
    assert (agent.remaining == 10).all()
    assert (agent.act()["left"] != agent.act()["right"]).all()
    played(agent, matrix("planted 10"), 1)
    named = agent.candidate
    for _ in range(5):
        duel = agent.act()
        assert (duel["left"] == named).all()
        assert (duel["right"] == named).all()
        agent.update(duel, np.tile([0, 1], (30, 1)))
    assert (agent.candidate == named).all()


@pytest.mark.parametrize("sampling", ["least", "uniform"])
def test_the_winner_remains_with_probability_1_minus_delta(sampling):
    """The error probability is delta = 0.01, whatever the order of the duels."""
    for name, rounds in (("cyclic", 8_000), ("arxiv", 50_000)):
        agent = SAVAGE(num_arms=len(matrix(name)), num_envs=200, horizon=rounds, delta=0.01, sampling=sampling, seed=8)
        played(agent, matrix(name), rounds)
        seldom(agent.candidate != 0, 14)
        seldom(agent.remaining != 1, 14)


@pytest.mark.parametrize("horizon", [None, 3000])
def test_without_a_difference_nobody_is_removed(horizon):
    """With probability 0.99 no interval is ever wrong."""
    agent = SAVAGE(num_arms=6, num_envs=200, delta=0.01, horizon=horizon, seed=3)
    played(agent, matrix("flat 6"), 3000)
    seldom(agent.remaining < 6, 14)


@pytest.mark.parametrize(("K", "T", "delta"), [(2, 10, 0.5), (10, 10**4, 1e-4), (136, 10**7, 0.01), (700, None, 0.3)])
def test_the_radius_is_the_papers(K, T, delta):
    """And the errors of Hoeffding's inequality over all pairs, and all rounds, sum up to delta."""
    N, endless = K * (K - 1) // 2, T is None
    error = 0.0
    for t in (1, 2, 7, 100, 12_345):
        c = radius(t, log_eta(K, T, delta), endless)
        assert c == pytest.approx(
            math.sqrt(math.log((2 * N * T if T else math.pi**2 * N * t**2 / 3) / delta) / (2 * t))
        )
    if endless:
        error = sum(2 * math.exp(-2 * t * radius(t, log_eta(K, T, delta), True) ** 2) for t in range(1, 20_000))
        assert N * error == pytest.approx(delta, rel=1e-4)
    else:
        assert N * T * 2 * math.exp(-2 * 7 * radius(7, log_eta(K, T, delta), False) ** 2) == pytest.approx(delta)


@unhurried
@given(st.integers(0, 400), st.integers(0, 400), st.floats(0.01, 30), st.booleans(), st.booleans())
def test_only_a_loss_can_put_an_arm_out(won, lost, confidence, endless, wins):
    assume(won + lost > 0)
    if not beaten(won, lost, confidence, endless):
        assert not beaten(won + 1, lost, confidence, endless)
    else:
        assert lost > won
        assert beaten(won, lost + 1, confidence, False) or endless


@unhurried
@given(
    st.one_of(st.floats(max_value=0), st.floats(min_value=1), st.just(math.nan), st.text(), st.booleans()),
    st.one_of(st.text(), st.none(), st.integers()),
)
def test_bad_knobs_are_refused(delta, sampling):
    assume(sampling not in ("least", "uniform"))
    for name, value in (("delta", delta), ("sampling", sampling)):
        with pytest.raises(ValueError, match=name):
            SAVAGE(num_arms=3, horizon=10, **{name: value})


def test_without_a_horizon_delta_is_needed():
    with pytest.raises(ValueError, match="horizon = None and delta = None"):
        SAVAGE(num_arms=3)
