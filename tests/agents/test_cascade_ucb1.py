"""CascadeUCB1: its lists are those of a slow reading of its paper; its index, its start, its ties."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, drawn, model_of, word
from cascade_runs import SHAPES, down_to
from hypothesis import assume, given
from hypothesis import strategies as st

from rankgym_agents.cascade_ucb1 import CascadeUCB1


class CascadeUCB1Oracle(Oracle):
    """Kveton et al. 2015, Algorithm 1: every observation is kept, and every mean is made anew."""

    def __init__(self, num_items, num_positions, seed, feedback="first"):
        super().__init__(num_items, num_positions, seed)
        self.feedback = feedback
        self.weights = {e: [] for e in range(num_items)}  # what was observed of each item

    def U(self, e):
        T = len(self.weights[e])
        return sum(self.weights[e]) / T + math.sqrt(1.5 * math.log(self.t) / T) if T else math.inf

    def act(self):
        if self.t <= self.L:  # initialization
            others = list(range(self.L))
            others[0], others[self.t - 1] = others[self.t - 1], others[0]
            return [others[0], *drawn(others[1:], 1, self.seed())][: self.K]
        U = {e: self.U(e) for e in range(self.L)}
        return sorted(U, key=lambda e: (U[e], word(self.seed(), e)), reverse=True)[: self.K]

    def update(self, displayed, clicks):
        for k in range(down_to(clicks, self.feedback)):
            self.weights[displayed[k]].append(clicks[k])
        self.t += 1


@pytest.mark.parametrize("feedback", ["first", "last", "all"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_lists_are_the_papers(shape, feedback):
    model = model_of(*shape, len(feedback))
    agent = CascadeUCB1(num_items=shape[0], num_positions=shape[1], seed=11, feedback=feedback)
    oracle, users = CascadeUCB1Oracle(*shape, 11, feedback), Users(model, *shape, seed=shape)
    for t in range(2000):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert agent.state.observed[0].tolist() == [len(w) for w in oracle.weights.values()]
    assert agent.state.clicked[0].tolist() == [sum(w) for w in oracle.weights.values()]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    """Items may then be unobserved after the first L rounds: they are shown at once."""
    L, K = shape
    agent, oracle = CascadeUCB1(num_items=L, num_positions=K, seed=3), CascadeUCB1Oracle(L, K, 3)
    chance = np.random.default_rng(1)
    for t in range(500):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act()
        if t < 2 * L:
            displayed = np.arange(K)[None]
        elif chance.random() < 0.5:
            displayed = chance.permutation(L)[None, :K]
        clicks = (chance.random(K) < 0.3).astype(int).tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)


def test_the_first_rounds_show_every_item_first():
    agent = CascadeUCB1(num_items=6, num_positions=2, num_envs=50, seed=2)
    for t in range(6):
        displayed = agent.act()
        assert (displayed[:, 0] == t).all()
        agent.update(displayed, np.zeros((50, 2), int))
    assert (agent.state.observed >= 1).all()


def test_the_suboptimal_item_is_shown_as_often_as_the_index_says():
    """Items that are never and always clicked: the former is shown first when sqrt(1.5 log t / T) is 1 larger."""
    agent = CascadeUCB1(num_items=2, num_positions=1, seed=0)
    shown = [0, 0]
    for t in range(1, 3001):
        item = int(agent.act()[0, 0])
        if t > 2:
            bad, good = (math.sqrt(1.5 * math.log(t) / n) for n in shown)
            assert item == (0 if bad > 1 + good else 1)
        shown[item] += 1
        agent.update([[item]], [[item]])
    # T stays where 1 + sqrt(1.5 log n / 3000) meets sqrt(1.5 log n / T): about 10.6 in the last round
    assert shown[0] == math.ceil(1.5 * math.log(3000) / (1 + math.sqrt(1.5 * math.log(3000) / 3000)) ** 2)


def test_ties_are_broken_at_random():
    rows = 30_000
    agent = CascadeUCB1(num_items=3, num_positions=3, num_envs=rows, seed=3)
    for _ in range(3):
        agent.update(agent.act(), np.zeros((rows, 3), int))
    displayed = agent.act()  # all items have been observed three times without a click
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118


@given(st.text())
def test_unknown_words_are_refused(text):
    assume(text not in ("first", "last", "all"))
    with pytest.raises(ValueError, match=r"feedback = .* allowed: 'first', 'last', 'all'"):
        CascadeUCB1(num_items=2, num_positions=1, feedback=text)
