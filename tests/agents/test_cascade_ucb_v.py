"""CascadeUCB-V: its lists against a plain reading, its index beside others."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, drawn, model_of, word
from cascade_runs import SHAPES, down_to
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym_agents.cascade_ucb_v import CascadeUCBV, ucb_v_index


class CascadeUCBVOracle(Oracle):
    """Vial et al. 2022, from memory: every observation is kept, and every mean is made anew."""

    def __init__(self, num_items, num_positions, seed, feedback="first"):
        super().__init__(num_items, num_positions, seed)
        self.feedback = feedback
        self.weights = [[] for _ in range(num_items)]  # what was observed of each item

    def U(self, e):
        n = len(self.weights[e])
        if n == 0:
            return math.inf
        w = sum(self.weights[e]) / n
        return w + math.sqrt(4 * w * (1 - w) * math.log(self.t) / n) + 6 * math.log(self.t) / n

    def act(self):
        if self.t <= self.L:  # initialization
            others = list(range(self.L))
            others[0], others[self.t - 1] = others[self.t - 1], others[0]
            return [others[0], *drawn(others[1:], 1, self.seed())][: self.K]
        return sorted(range(self.L), key=lambda e: (self.U(e), word(self.seed(), e)), reverse=True)[: self.K]

    def update(self, displayed, clicks):
        for k in range(down_to(clicks, self.feedback)):
            self.weights[displayed[k]].append(clicks[k])
        self.t += 1


@pytest.mark.parametrize("case", range(4))
def test_the_lists_are_the_papers(case):
    shape, feedback = SHAPES[case], ("first", "last", "all", "first")[case]
    agent = CascadeUCBV(num_items=shape[0], num_positions=shape[1], seed=11, feedback=feedback)
    oracle, users = CascadeUCBVOracle(*shape, 11, feedback), Users(model_of(case), *shape, seed=shape)
    for t in range(1000):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert agent.state.observed[0].tolist() == [len(w) for w in oracle.weights]
    assert agent.state.clicked[0].tolist() == [sum(w) for w in oracle.weights]


def test_items_that_nobody_observed_are_shown_at_once():
    agent, oracle = CascadeUCBV(num_items=7, num_positions=3, seed=3), CascadeUCBVOracle(7, 3, 3)
    for _ in range(10):
        agent.update([[0, 1, 2]], [[0, 0, 1]])
        oracle.update([0, 1, 2], [0, 0, 1])
    assert agent.act()[0].tolist() == oracle.act()
    assert set(agent.act()[0]) <= {3, 4, 5, 6}


@settings(deadline=None)
@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(1e-3, 30))
def test_the_index_knows_the_variance(n, share, log_t):
    """Its root is at most sqrt(log t / n), less than UCB1's sqrt(1.5 log t / n), and 0 for items never clicked."""
    clicked = int(share * n)
    mean, rest = clicked / n, 6 * log_t / n
    index = ucb_v_index(clicked, n, log_t)
    assert mean + rest - 1e-12 <= index <= mean + math.sqrt(log_t / n) + rest + 1e-12
    assert ucb_v_index(0, n, log_t) == pytest.approx(rest)
    assert ucb_v_index(n, n, log_t) == pytest.approx(1 + rest)


@given(st.text())
def test_unknown_words_are_refused(text):
    assume(text not in ("first", "last", "all"))
    with pytest.raises(ValueError, match=r"feedback = .* allowed: 'first', 'last', 'all'"):
        CascadeUCBV(num_items=2, num_positions=1, feedback=text)


def test_ties_are_broken_at_random():
    rows = 30_000
    agent = CascadeUCBV(num_items=3, num_positions=3, num_envs=rows, seed=3)
    for _ in range(3):
        agent.update(agent.act(), np.zeros((rows, 3), int))
    displayed = agent.act()  # all items have been observed three times without a click
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118
