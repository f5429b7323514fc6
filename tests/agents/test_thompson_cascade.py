"""ThompsonCascade: its Beta variates, its lists against a plain reading of its papers, what it takes as observed."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, beta_by_rejection, model_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgym.conformance.agents import check_agent
from rankgym.kernels import BETA_WORDS, beta_variate, bits, both_accepted
from rankgym_agents.thompson_cascade import ThompsonCascade

ROUNDS = 1000
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]
POSTERIORS = [(1, 1), (1, 2), (2, 1), (1, 30), (2, 2), (3, 8), (40, 3), (60, 60), (1, 10_000), (9_000, 11), (1e6, 2e6)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class ThompsonCascadeOracle(Oracle):
    """Zhong et al. 2021, Beta-Bernoulli updates."""

    def __init__(self, num_items, num_positions, seed, feedback="first"):
        super().__init__(num_items, num_positions, seed)
        self.feedback = feedback
        self.clicked, self.passed = [0] * num_items, [0] * num_items

    def beta(self, item):
        return beta_by_rejection(self.seed(), 192 * item, self.clicked[item] + 1, self.passed[item] + 1)

    def act(self):
        theta = [self.beta(i) for i in range(self.L)]
        return sorted(range(self.L), key=lambda i: -theta[i])[: self.K]

    def update(self, displayed, clicks):
        places = [k for k in range(self.K) if clicks[k]]
        last = {"first": min, "last": max, "all": lambda _: self.K - 1}[self.feedback](places or [self.K - 1])
        for k in range(last + 1):
            self.clicked[displayed[k]] += clicks[k]
            self.passed[displayed[k]] += 1 - clicks[k]
        self.t += 1

    def remembers(self, state):
        passed = (state.observed[0] - state.clicked[0]).tolist()
        return (self.clicked, self.passed) == (state.clicked[0].tolist(), passed)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("feedback", ["first", "last", "all"])
def test_the_lists_are_the_papers(shape, feedback):
    L, K = shape
    model = model_of(L, K, len(feedback))
    agent = ThompsonCascade(num_items=L, num_positions=K, seed=11, feedback=feedback)
    oracle = ThompsonCascadeOracle(L, K, 11, feedback)
    users = Users(model, L, K, seed=(3, L, K))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1} on {model}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
@pytest.mark.parametrize("feedback", ["first", "last", "all"])
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, feedback):
    L, K = shape
    agent = ThompsonCascade(num_items=L, num_positions=K, feedback=feedback, seed=3)
    oracle = ThompsonCascadeOracle(L, K, 3, feedback)
    for _ in beside_foreign_lists(agent, oracle, 300):
        assert oracle.remembers(agent.state)


def test_it_keeps_the_contract_with_all_clicks():
    check_agent(
        lambda **shape: ThompsonCascade(feedback="all", **shape), num_items=2, num_positions=1, rounds=100, seed=2**40
    )


def variates(a, b, n, lane=0):
    """One from each of ``n`` sessions of a row, as an agent draws them for its item ``lane``."""
    seeds = [np.uint64(bits(np.uint64(1234 + int(a) + 7 * int(b)), session)) for session in range(n)]
    return np.array([beta_variate(float(a), float(b), seed, lane * BETA_WORDS) for seed in seeds])


@pytest.mark.parametrize(("a", "b"), POSTERIORS)
def test_the_variates_are_scipys_beta(a, b):
    # a true sampler has a Kolmogorov-Smirnov p-value below 5e-8 with that probability, 5.5e-7 for all eleven
    assert stats.kstest(variates(a, b, 20_000, lane=3), stats.beta(a, b).cdf).pvalue > 5e-8


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (300, 40)])
def test_items_are_sampled_independently(a, b):
    n = 20_000
    one, other = variates(a, b, n, lane=0), variates(a, b, n, lane=1)
    # the correlation of independent variates is within 5.5 / sqrt(n) up to probability 4e-8, 1.2e-7 for all three
    assert abs(np.corrcoef(one, other)[0, 1]) < 5.5 / math.sqrt(n)


@unhurried
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 2**64 - 1), st.integers(0, 1000))
def test_a_variate_is_a_probability(clicked, passed, seed, item):
    sample = beta_variate(1.0 + clicked, 1.0 + passed, np.uint64(seed), item * BETA_WORDS)
    assert 0 <= sample <= 1
    assert sample == beta_variate(1.0 + clicked, 1.0 + passed, np.uint64(seed), item * BETA_WORDS)


@settings(max_examples=1000, deadline=None)
@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(-4, 4), st.floats(-4, 4), st.floats(0, 1, exclude_max=True))
def test_the_squeeze_never_accepts_what_the_exact_test_refuses(a, b, x, y, u):
    d = [a - 1 / 3, b - 1 / 3]
    v = [(1 + z / math.sqrt(9 * di)) ** 3 for z, di in zip((x, y), d, strict=True)]
    assume(min(v) > 0)
    exact = sum(z * z / 2 + di - di * vi + di * math.log(vi) for z, di, vi in zip((x, y), d, v, strict=True))
    assume(abs(u - math.exp(exact)) > 1e-6)  # not where rounding decides
    assert both_accepted(u, x * x, y * y, *d, *v) == (u < math.exp(exact))


def test_it_learns_a_clear_cascade():
    """Two good items of six: after 1,500 rounds the lists are theirs, of which blind lists are one in 15.

    For the mean of 20 rows to exceed one half, nine of them would have to be wrong in more than 10 % of the last 500
    rounds. Of 2,000 rows tried the worst was wrong in 6.8 %; if a row is worse than 10 % with a probability below
    0.01, nine are with one below 2e-13.
    """
    rows = 20
    agent = ThompsonCascade(num_items=6, num_positions=2, num_envs=rows, seed=6)
    chance, attraction, wrong = np.random.default_rng(7), np.array([0.1, 0.9, 0.1, 0.1, 0.8, 0.1]), 0
    for t in range(2000):
        displayed = agent.act()
        if t >= 1500:
            wrong += int((np.sort(displayed, 1) != [1, 4]).any(1).sum())
        attracted = chance.random((rows, 2)) < attraction[displayed]
        agent.update(displayed, (attracted & (np.cumsum(attracted, 1) == 1)).astype(np.int8))
    assert wrong / (500 * rows) < 0.5


def test_the_first_lists_are_uniform():
    rows = 30_000
    displayed = ThompsonCascade(num_items=3, num_positions=3, num_envs=rows, seed=3).act()
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118


@pytest.mark.parametrize(
    ("feedback", "clicks", "observed"),
    [
        ("first", [0, 1, 0, 1, 0], [1, 1, 0, 0, 0]),
        ("last", [0, 1, 0, 1, 0], [1, 1, 1, 1, 0]),
        ("all", [0, 1, 0, 1, 0], [1, 1, 1, 1, 1]),
        ("first", [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]),
        ("first", [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]),
        ("last", [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]),
        *((feedback, [0] * 5, [1] * 5) for feedback in ("first", "last", "all")),
    ],
)
def test_what_counts_as_observed(feedback, clicks, observed):
    agent = ThompsonCascade(num_items=6, num_positions=5, feedback=feedback, seed=4)
    displayed = np.array([[5, 3, 1, 0, 2]])
    agent.update(displayed, [clicks])
    assert agent.state.observed[0, displayed[0]].tolist() == observed
    assert agent.state.observed.sum() == sum(observed)
    assert agent.state.clicked[0, displayed[0]].tolist() == [o * c for o, c in zip(observed, clicks, strict=True)]


@unhurried
@given(st.one_of(st.text(), st.none(), st.integers(), st.booleans()))
def test_unknown_words_are_refused(word):
    assume(word not in ("first", "last", "all"))
    with pytest.raises(ValueError, match=r"feedback = .* allowed: 'first', 'last', 'all'"):
        ThompsonCascade(num_items=2, num_positions=1, feedback=word)
