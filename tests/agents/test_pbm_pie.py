"""PBM-PIE: its lists against a plain reading, whose bounds are roots, whom it tries, where the items go."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, below, beside_foreign_lists, word
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from rankgym_agents import PBMPIE
from rankgym_agents.pbm_pie import bound_reaches

ROUNDS = 1000
SHAPES = [(10, 5), (5, 5), (7, 3)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


def excess(theta, S, N, kappa, level):
    """The sum of N kl(S / N, kappa theta), less the level."""
    total = -level
    for clicked, displays, examination in zip(S, N, kappa, strict=True):
        q = examination * theta
        for count, chance in ((clicked, q), (displays - clicked, 1 - q)):
            if count:
                total += count * (math.log(count / displays / chance) if chance > 0 else math.inf)
    return total


def minimiser(S, N, kappa):
    """Of the sum above, which is convex: its slope is bisected."""
    clicks, parts = sum(S), [((n - s) * x, x) for s, n, x in zip(S, N, kappa, strict=True) if n > s]
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if clicks / middle > sum(weight / (1 - x * middle) for weight, x in parts):
            low = middle
        else:
            high = middle
    return low


def upper(S, N, kappa, level, low=None):
    """max{q from the minimiser on : the sum is within the level}; ``low`` is the minimiser, if known."""
    if excess(1, S, N, kappa, level) <= 0:
        return 1.0
    low = minimiser(S, N, kappa) if low is None else low
    if excess(low, S, N, kappa, level) > 0:
        return low
    return brentq(lambda q: excess(q, S, N, kappa, level), low, 1 - 2**-53, xtol=1e-14)


class PBMPIEOracle(Oracle):
    """Lagree et al. 2016, PBM-PIE, from memory."""

    def __init__(self, num_items, num_positions, seed, kappa=None, epsilon=0):
        super().__init__(num_items, num_positions, seed)
        self.kappa = [1 / k for k in range(1, num_positions + 1)] if kappa is None else list(kappa)
        self.epsilon = epsilon
        self.S, self.N = np.zeros((2, num_items, num_positions), int).tolist()
        self.examined, self.minimisers = [0.0] * num_items, {}
        self.positions = sorted(range(self.K), key=lambda l: -self.kappa[l])  # noqa: E741  the paper's letter

    def estimate(self, k):
        return sum(self.S[k]) / self.examined[k] if self.examined[k] else math.inf

    def act(self):
        if self.t <= self.L:
            return [(self.t - 1 + l) % self.L for l in range(self.K)]  # noqa: E741
        seed = self.seed()
        best = sorted(range(self.L), key=lambda k: (self.estimate(k), word(seed, k)), reverse=True)
        leaders = best[: self.K]
        q, level = self.estimate(leaders[-1]), (1 + self.epsilon) * math.log(self.t)
        if word(seed, self.L) < 2**63:
            B = [k for k in range(self.L) if k not in leaders and q <= 1 and self.reaches(k, q, level)]
            if B:
                leaders[-1] = B[below(word(seed, self.L + 1), len(B))]
        return [leaders[self.positions.index(place)] for place in range(self.K)]

    def reaches(self, k, q, level):
        if k not in self.minimisers:
            self.minimisers[k] = minimiser(self.S[k], self.N[k], self.kappa)
        return upper(self.S[k], self.N[k], self.kappa, level, self.minimisers[k]) >= q

    def update(self, displayed, clicks):
        for place, k in enumerate(displayed):
            self.S[k][place] += clicks[place]
            self.N[k][place] += 1
            self.examined[k] += self.kappa[place]
            self.minimisers.pop(k, None)
        self.t += 1

    def remembers(self, state):
        found = state.clicked[0].tolist(), state.displays[0].tolist(), state.examined[0].tolist()
        return found == (self.S, self.N, self.examined) and state.clicks[0].tolist() == [sum(S) for S in self.S]


def knobs(K):
    """Examination that falls from 1, does not fall, is 1, and more optimism."""
    rising = np.linspace(0.3, 0.9, K) * np.where(np.arange(K) % 2, 1, 0.7)
    return [{}, {"examination": rising.tolist()}, {"examination": [1.0] * K, "epsilon": 0.5}]


@pytest.mark.parametrize("case", range(3))
def test_the_lists_are_the_papers(case):
    (L, K), model = SHAPES[case], ("pbm", "cm", "dcm")[case]
    knob = knobs(K)[case]
    agent = PBMPIE(num_items=L, num_positions=K, seed=11, **knob)
    oracle, users = PBMPIEOracle(L, K, 11, **{"kappa": None, **_read(knob)}), Users(model, L, K, seed=(2, L, K))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1} on {model}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


def _read(knob):
    return {{"examination": "kappa"}.get(name, name): value for name, value in knob.items()}


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent, oracle = PBMPIE(num_items=L, num_positions=K, seed=3), PBMPIEOracle(L, K, 3)
    for _ in beside_foreign_lists(agent, oracle, 300):
        assert oracle.remembers(agent.state)


def test_items_that_were_never_displayed_lead():
    agent = PBMPIE(num_items=4, num_positions=2, examination=[0.5, 1.0], num_envs=20, seed=0)
    for _ in range(4):
        agent.update(np.tile([0, 1], (20, 1)), np.ones((20, 2), int))
    assert (np.sort(agent.act(), 1) == [2, 3]).all()


counts = st.one_of(st.integers(0, 5), st.integers(0, 10**4))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(counts, counts, st.floats(1e-2, 1)), min_size=1, max_size=4),
    st.floats(0, 1.2),
    st.floats(0.1, 15),
)
def test_one_evaluation_says_whether_the_bound_is_large_enough(statistics, q, level):
    S, M, kappa = zip(*statistics, strict=True)
    N = [s + m for s, m in zip(S, M, strict=True)]
    bound = upper(S, N, kappa, level)
    if abs(q - bound) > 1e-6:
        assert bound_reaches(q, np.array(S), np.array(N), np.array(kappa), level) == (bound >= q)


def test_a_rival_takes_the_last_leaders_place_in_half_of_the_rounds():
    """Two rivals, so each is displayed in a quarter of the rows."""
    rows = 30_000
    agent = PBMPIE(num_items=4, num_positions=2, examination=[0.5, 1.0], num_envs=rows, seed=6)
    agent.state.round[:], agent.state.displays[:], agent.state.examined[:] = 10, 4, 6.0
    agent.state.clicked[:] = np.array([2, 2, 1, 1])[:, None]
    agent.state.clicks[:] = agent.state.clicked.sum(2)
    displayed = agent.act()
    assert set(displayed[:, 1].tolist()) == {0, 1}  # the best at the second position, which is examined most
    for item in (2, 3):
        # 1/4 of 30,000 within 0.0138, which is 5.5 standard deviations: probability 4e-8 each
        assert abs((displayed[:, 0] == item).mean() - 1 / 4) < 0.0138


def test_the_last_leader_stays_once_the_others_are_known_to_be_worse():
    agent = PBMPIE(num_items=4, num_positions=2, examination=[1.0, 0.5], num_envs=20, seed=6)
    agent.state.round[:] = 1000
    agent.state.displays[:] = 1000
    agent.state.examined[:] = 1500
    agent.state.clicked[:] = np.array([900, 600, 300, 10])[:, None] * [1.0, 0.5]
    agent.state.clicks[:] = agent.state.clicked.sum(2)
    assert (agent.act() == [0, 1]).all()
