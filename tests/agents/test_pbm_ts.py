"""PBM-TS: its lists against a plain reading, its samples against the posterior, the posterior's mode."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, word
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from rankgym.kernels import bits
from rankgym_agents import PBMTS
from rankgym_agents.pbm_ts import WORDS, envelope, log_posterior, posterior_mode, posterior_sample

ROUNDS = 1000
SHAPES = [(10, 5), (5, 5), (7, 3)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class PBMTSOracle(Oracle):
    """Lagree et al. 2016, PBM-TS, from memory; posteriors are drawn by rejection from below three tangents."""

    def __init__(self, num_items, num_positions, seed, kappa=None):
        super().__init__(num_items, num_positions, seed)
        self.kappa = [1 / k for k in range(1, num_positions + 1)] if kappa is None else list(kappa)
        self.S = [0] * num_items
        self.M = [[0] * num_positions for _ in range(num_items)]
        self.modes, self.passed = [0.0] * num_items, [[] for _ in range(num_items)]
        self.envelopes = [self.tangents(k) for k in range(num_items)]

    def slope(self, k, theta):
        return (self.S[k] and self.S[k] / theta) - sum([m * x / (1 - x * theta) for m, x in self.passed[k]])

    def mode(self, k):
        if self.S[k] == 0:
            return 0.0
        if all(x < 1 for _, x in self.passed[k]) and self.slope(k, 1) >= 0:
            return 1.0
        return brentq(lambda theta: self.slope(k, theta), 1e-9, 1 - 1e-9, xtol=1e-14, rtol=1e-13)

    def log(self, k, theta):
        """The posterior's logarithm."""
        rest = sum([m * math.log(1 - x * theta) for m, x in self.passed[k]])
        return rest + self.S[k] * math.log(theta) if self.S[k] else rest

    def tangents(self, k):
        """(where it is 0, slope) of the tangents below and above the mode; the posterior's logarithm at the mode."""
        top, peak = self.modes[k], self.log(k, self.modes[k])
        bend = self.S[k] / top**2 if self.S[k] else 0
        bend += sum([m * x * x / (1 - x * top) ** 2 for m, x in self.passed[k]])
        scale = 1 / max(abs(self.slope(k, top)), math.sqrt(bend)) if bend else 1
        left, right = (0, 0), (1, 0)
        if top > 0:
            x = max(top - 1.2 * scale, top / 4)
            g = self.slope(k, x)
            left = (min(top, x - (self.log(k, x) - peak) / g), g)
        if top < 1 and bend:
            x = min(top + 1.2 * scale, 1 - (1 - top) / 4)
            g = self.slope(k, x)
            right = (min(1, max(top, x - (self.log(k, x) - peak) / g)), g)
        return left, right, peak

    def theta(self, k):
        (z1, g1), (z3, g3), peak = self.envelopes[k]
        below = -math.expm1(-g1 * z1) / g1 if z1 > 0 else 0
        beyond = math.expm1(g3 * (1 - z3)) / g3 if z3 < 1 else 0
        for at in range(WORDS * k, WORDS * (k + 1), 2):
            place, u = ((word(self.seed(), at + n) >> 11) / 2**53 for n in range(2))
            place *= below + (z3 - z1) + beyond
            if place < below:
                level = math.log1p(-g1 * place)
                x = z1 + level / g1
            elif place < below + z3 - z1:
                level, x = 0, z1 + place - below
            else:
                level = math.log1p(g3 * (place - below - (z3 - z1)))
                x = z3 + level / g3
            if u < math.exp(self.log(k, x) - peak - level):
                return x
        raise AssertionError("64 attempts in vain")

    def act(self):
        theta = [self.theta(k) for k in range(self.L)]
        best = sorted(range(self.L), key=lambda k: -theta[k])
        positions = sorted(range(self.K), key=lambda l: -self.kappa[l])  # noqa: E741  the paper's letter
        return [best[positions.index(place)] for place in range(self.K)]

    def update(self, displayed, clicks):
        for place, k in enumerate(displayed):
            self.S[k] += clicks[place]
            self.M[k][place] += 1 - clicks[place]
            self.passed[k] = [(m, x) for m, x in zip(self.M[k], self.kappa, strict=True) if m]
            self.modes[k] = self.mode(k)
            self.envelopes[k] = self.tangents(k)
        self.t += 1

    def remembers(self, state):
        statistics = (state.clicked[0].tolist(), state.passed[0].tolist()) == (self.S, self.M)
        return statistics and state.mode[0].tolist() == pytest.approx(self.modes, rel=1e-9)


def knobs(K):
    """Examination that falls from 1, does not fall, is 1."""
    rising = np.linspace(0.3, 0.9, K) * np.where(np.arange(K) % 2, 1, 0.7)
    return [{}, {"examination": rising.tolist()}, {"examination": [1.0] * K}]


@pytest.mark.parametrize("case", range(3))
def test_the_lists_are_the_papers(case):
    L, K = SHAPES[case]
    knob, model = knobs(K)[case], ("pbm", "cm", "dcm")[case]
    agent = PBMTS(num_items=L, num_positions=K, seed=11, **knob)
    oracle, users = PBMTSOracle(L, K, 11, knob.get("examination")), Users(model, L, K, seed=(2, L, K))
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
    agent, oracle = PBMTS(num_items=L, num_positions=K, seed=3), PBMTSOracle(L, K, 3)
    for _ in beside_foreign_lists(agent, oracle, 200):
        assert oracle.remembers(agent.state)


KAPPA = np.array([1.0, 0.5, 0.01])
POSTERIORS = [(0, [0, 0, 0]), (0, [5, 0, 0]), (3, [0, 0, 0]), (1, [0, 1, 0]), (2, [0, 0, 40]), (1, [10, 10, 10]),
              (300, [1000, 200, 50]), (100, [1, 0, 0]), (100_000, [200_000, 30_000, 10])]  # fmt: skip


def samples(clicked, passed, n, kappa=KAPPA):
    mode, tangents = posterior_mode(clicked, np.array(passed), kappa, 0.0), np.empty(4)
    envelope(clicked, np.array(passed), kappa, mode, tangents)
    seeds = [np.uint64(bits(np.uint64(1234 + clicked), session)) for session in range(n)]
    return np.array([posterior_sample(clicked, np.array(passed), kappa, mode, tangents, seed, 0) for seed in seeds])


@pytest.mark.parametrize(("clicked", "passed"), POSTERIORS)
def test_the_samples_are_the_posteriors(clicked, passed):
    found = samples(clicked, passed, 4000)
    width = np.ptp(found)
    theta = np.linspace(max(0, found.min() - width), min(1, found.max() + width), 100_001)
    with np.errstate(divide="ignore"):
        parts = [(clicked, np.log(theta)), *((m, np.log1p(-x * theta)) for m, x in zip(passed, KAPPA, strict=True))]
    h = sum((m * part for m, part in parts if m), np.zeros_like(theta))
    density = np.exp(h - h.max())
    cdf = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    # a true sampler has a Kolmogorov-Smirnov p-value below 5e-8 with that probability, 4.5e-7 for all nine
    assert stats.kstest(found, lambda x: np.interp(x, theta, cdf / cdf[-1])).pvalue > 5e-8


def test_with_examination_one_the_posterior_is_a_beta():
    found = samples(4, [9], 4000, np.ones(1))
    assert stats.kstest(found, stats.beta(5, 10).cdf).pvalue > 1e-7  # by chance with that probability


counts = st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 10**7))
kappas = st.lists(st.floats(1e-3, 1), min_size=1, max_size=5)


@settings(deadline=None, max_examples=300)
@given(counts, kappas, st.data(), st.floats(0, 1))
def test_the_envelope_is_above_the_posterior_and_not_far(clicked, kappa, data, theta):
    passed = np.array(data.draw(st.lists(counts, min_size=len(kappa), max_size=len(kappa))))
    kappa = np.array(kappa)
    mode = posterior_mode(clicked, passed, kappa, 0.0)
    tangents = np.empty(4)
    envelope(clicked, passed, kappa, mode, tangents)
    z1, g1, z3, g3 = tangents.tolist()
    assert 0 <= z1 <= mode <= z3 <= 1
    for x in (theta, mode + (theta - 0.5) * 5 * (z3 - z1), z1, z3):
        if 0 < x < 1:
            level = -g1 * (z1 - x) if x < z1 else -g3 * (x - z3) if x > z3 else 0
            value = log_posterior(clicked, passed, kappa, mode, x)
            # a logarithm of a ratio errs by about 1e-15 for each of so many observations
            assert value <= level + 1e-9 + 4e-15 * (clicked + passed.sum())


@settings(deadline=None, max_examples=300)
@given(counts, kappas, st.data(), st.floats(1e-9, 1), st.one_of(st.just(0.0), st.floats(1e-9, 1)))
def test_the_mode_is_where_the_posterior_is_largest_wherever_the_search_begins(clicked, kappa, data, start, other):
    passed = np.array(data.draw(st.lists(counts, min_size=len(kappa), max_size=len(kappa))))
    kappa = np.array(kappa)
    mode = posterior_mode(clicked, passed, kappa, start)
    assert mode == pytest.approx(posterior_mode(clicked, passed, kappa, other), rel=1e-9)
    for theta in (start, mode * 0.999, mode * 1.001):
        if 0 < theta < 1:
            assert log_posterior(clicked, passed, kappa, mode, theta) <= 1e-14 * (clicked + passed.sum())


def test_the_best_items_go_where_users_look_most():
    agent = PBMTS(num_items=3, num_positions=3, examination=[0.2, 1.0, 0.5], num_envs=50, seed=0)
    agent.state.clicked[:], agent.state.passed[:, :, 1] = [10_000, 5_000, 1_000], 10_000
    agent.update(np.tile([0, 1, 2], (50, 1)), np.ones((50, 3), int))
    # the modes are 1/2, 1/3 and 1/11 with deviations below 0.005: exchanged with probability below 1e-100
    assert (agent.act() == [2, 0, 1]).all()
