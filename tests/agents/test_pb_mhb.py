"""PB-MHB: its lists against a plain reading, its chain against posteriors, where the items go, what it refuses."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, word
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgym.conformance.agents import check_agent
from rankgym_agents import PBMHB
from rankgym_agents.pb_mhb import WORDS, inside, propose

ROUNDS = 1000
SHAPES = [(10, 5), (5, 5), (7, 3)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


def unit(bits):
    return (bits >> 11) / 2**53


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


class PBMHBOracle(Oracle):
    """Gauthier et al. 2021, from the authors' code and memory; every posterior is computed from all its factors."""

    def __init__(self, num_items, num_positions, seed, sweeps=1, width=1000, prior=0):
        super().__init__(num_items, num_positions, seed)
        self.m, self.c = sweeps, width
        self.S, self.M = np.full((2, num_items, num_positions), prior, float)
        L, K = num_items, num_positions
        self.theta = np.array([unit(word(self.seed(), L + i)) for i in range(L)])
        self.kappa = np.array([1, *(unit(word(self.seed(), 2 * L + k)) for k in range(1, K))])

    def log_posterior(self):
        product = self.theta[:, None] * self.kappa
        return (self.S * np.log(product) + self.M * np.log1p(-product)).sum()

    def proposal(self, value, sigma, lane):
        for at in range(lane, lane + 128, 2):
            a, b = unit(word(self.seed(), at)), unit(word(self.seed(), at + 1))
            if sigma >= 0.5:
                if a > 0 and b < math.exp(-((a - value) ** 2) / (2 * sigma**2)):
                    return a
            elif 0 < (x := value + sigma * math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b)) < 1:
                return x
        raise AssertionError("64 attempts in vain")

    def step(self, parameters, number, lane):
        sigma, before, old = self.c / math.sqrt(self.t), parameters[number], self.now
        proposed = parameters[number] = self.proposal(before, sigma, lane)
        Z = [normal_cdf((1 - x) / sigma) - normal_cdf(-x / sigma) for x in (before, proposed)]
        self.now = self.log_posterior()
        if unit(word(self.seed(), lane + WORDS - 1)) >= math.exp(min(700, self.now - old)) * Z[0] / Z[1]:
            parameters[number], self.now = before, old

    def act(self):
        best = sorted(range(self.L), key=lambda i: -self.theta[i])
        positions = sorted(range(self.K), key=lambda l: -self.kappa[l])  # noqa: E741  the paper's letter
        return [best[positions.index(place)] for place in range(self.K)]

    def update(self, displayed, clicks):
        for place, i in enumerate(displayed):
            (self.S if clicks[place] else self.M)[i, place] += 1
        self.t, self.now = self.t + 1, self.log_posterior()
        for m in range(self.m):
            lane = 3 * self.L + m * (self.L + self.K) * WORDS
            for i in range(self.L):
                self.step(self.theta, i, lane + i * WORDS)
            for k in range(1, self.K):
                self.step(self.kappa, k, lane + (self.L + k) * WORDS)

    def remembers(self, state):
        counts = (state.clicked[0] == self.S).all() and (state.passed[0] == self.M).all()
        return counts and np.allclose(state.attraction[0], self.theta) and np.allclose(state.examination[0], self.kappa)


KNOBS = [{}, {"sweeps": 2, "width": 3.0, "prior": 0.5}, {"width": 0.2}]


@pytest.mark.parametrize("case", range(3))
def test_the_lists_are_the_papers(case):
    (L, K), model = SHAPES[case], ("pbm", "cm", "dcm")[case]
    agent, oracle = PBMHB(num_items=L, num_positions=K, seed=11, **KNOBS[case]), PBMHBOracle(L, K, 11, **KNOBS[case])
    users = Users(model, L, K, seed=(2, L, K))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1} on {model}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent, oracle = PBMHB(num_items=L, num_positions=K, seed=3), PBMHBOracle(L, K, 3)
    for _ in beside_foreign_lists(agent, oracle, 100):
        assert oracle.remembers(agent.state)


def test_it_keeps_the_contract_with_other_knobs():
    check_agent(lambda **shape: PBMHB(sweeps=3, width=1.0, **shape), rounds=100, seed=2)


def chains(clicked, passed, sigma, sweeps, rows=2000):
    """The parameters of ``rows`` chains after one round with as many sweeps, at the deviation ``sigma``.

    The counts are item 0's; another item, where there is one, has none.
    """
    K = len(clicked)
    agent = PBMHB(num_items=K, num_positions=K, num_envs=rows, sweeps=sweeps, width=sigma * math.sqrt(2), seed=7)
    agent.state.clicked[:, 0], agent.state.passed[:, 0] = clicked, passed
    for item in range(K):
        agent.state.passed[:, item, item] -= 1  # the round adds it
    agent.update(np.tile(np.arange(K), (rows, 1)), np.zeros((rows, K), int))
    return agent.state


@pytest.mark.parametrize(("clicked", "passed", "sigma"), [(3, 5, 100), (0, 4, 0.49), (6, 1, 0.6)])
def test_with_one_position_the_chain_samples_a_beta(clicked, passed, sigma):
    """By Doeblin's condition a chain is off by at most (1 - q / p)^400, q the least density of a proposal (above 0.2)
    and p the posterior's largest (below 5.1): by less than 1e-6.

    A true sampler has a Kolmogorov-Smirnov p-value below 1e-7 with that probability, 3e-7 for all.
    """
    found = chains([clicked], [passed], sigma, 400).attraction[:, 0]
    assert stats.kstest(found, stats.beta(clicked + 1, passed + 1).cdf).pvalue > 1e-7


def test_with_two_positions_the_chain_samples_examination_too():
    S, M = np.array([4, 1]), np.array([2, 5])
    state = chains(S, M, 0.5, 300)
    theta, kappa = np.meshgrid(*[(np.arange(400) + 0.5) / 400] * 2, indexing="ij")
    density = theta ** S[0] * (1 - theta) ** M[0] * (theta * kappa) ** S[1] * (1 - theta * kappa) ** M[1]
    for found, axis in ((state.attraction[:, 0], 1), (state.examination[:, 1], 0)):
        cdf = np.concatenate([[0], np.cumsum(density.sum(axis))]) / density.sum()
        # a true sampler has a p-value below 1e-7 with that probability, 2e-7 for both
        assert stats.kstest(found, lambda x, cdf=cdf: np.interp(x, np.arange(401) / 400, cdf)).pvalue > 1e-7


@pytest.mark.parametrize(("value", "sigma"), [(0.01, 0.1), (0.5, 0.49), (0.9, 0.5), (0.3, 30.0)])
def test_proposals_are_normal_draws_cut_to_the_unit_interval(value, sigma):
    found = [propose(value, sigma, np.uint64(seed), 0) for seed in range(1000, 5000)]
    cut = stats.truncnorm(-value / sigma, (1 - value) / sigma, loc=value, scale=sigma)
    # a true sampler has a p-value below 1e-7 with that probability, 4e-7 for all four
    assert stats.kstest(found, cut.cdf).pvalue > 1e-7


@unhurried
@given(st.floats(0, 1), st.floats(1e-3, 1e4))
def test_inside_is_the_normals_share_of_the_unit_interval(x, sigma):
    wanted = stats.norm.cdf((1 - x) / sigma) - stats.norm.cdf(-x / sigma)
    assert inside(x, sigma) == pytest.approx(wanted, rel=1e-8)


def test_the_best_items_go_where_the_chain_has_the_largest_examination():
    agent = PBMHB(num_items=4, num_positions=3, seed=0)
    agent.state.attraction[0], agent.state.examination[0] = [0.1, 0.4, 0.3, 0.2], [1.0, 0.2, 0.7]
    assert agent.act()[0].tolist() == [1, 3, 2]


def test_the_first_lists_are_uniform():
    rows = 30_000
    displayed = PBMHB(num_items=3, num_positions=3, num_envs=rows, seed=3).act()
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118


@unhurried
@given(st.one_of(st.floats(max_value=0, exclude_max=True), st.just(math.nan), st.booleans(), st.text(), st.none()))
def test_bad_knobs_are_refused(value):
    shape = {"num_items": 3, "num_positions": 2}
    with pytest.raises(ValueError, match=r"^prior = .* is out of range; allowed: a number in \[0, 1000\]"):
        PBMHB(**shape, prior=value)
    with pytest.raises(ValueError, match=r"^width = .* is out of range; allowed: a finite number above 0"):
        PBMHB(**shape, width=value)
    with pytest.raises(ValueError, match=r"^sweeps = .* is out of range; allowed: a whole number in "):
        PBMHB(**shape, sweeps=value)
