"""CascadeKL-UCB: its index in closed form and against bisection, its ties, its start, what it takes as observed."""

import math
from itertools import product

import numpy as np
import pytest
from agent_oracles import bisected_index, kl
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rankgym_agents import CascadeKLUCB
from rankgym_agents.cascade_klucb import UNKNOWN, exploration, kl_ucb_index

unhurried = settings(deadline=None)  # the first example may wait for the compiler
MEANS = [0.0, 1e-300, 1e-12, 1e-9, 1e-6, 0.001, 0.1, 0.3, 0.5, 0.8, 0.999, 1 - 1e-9, 1 - 1e-15, 1.0]
COUNTS = [1.0, 2.0, 10.0, 1e3, 1e6, 1e10, 1e15]
BUDGETS = [0.0, 1e-6, 0.1, 1.0, 8.0, 25.0, 300.0]
GUESSES = [-1.0, 0.0, 1e-15, 0.2, 0.5, 0.9, 1 - 1e-16, 1.0, 7.0, math.inf, math.nan]


def index(mean, count, budget, start):
    return kl_ucb_index(mean, count, budget, start, UNKNOWN)[0]


@pytest.mark.parametrize("mean", MEANS)
def test_the_index_is_the_bisections_on_a_grid(mean):
    for count, budget in product(COUNTS, BUDGETS):
        wanted = bisected_index(mean, count, budget)
        near = [
            wanted,
            wanted + 1e-6,
            wanted - 1e-6,
            wanted * 1.5,
            mean + (wanted - mean) / 100,
            math.nextafter(mean, 2),
        ]
        for guess in GUESSES + near:
            found = index(mean, count, budget, guess)
            assert abs(found - wanted) < 1e-8, (count, budget, guess)
            assert mean - 1e-12 <= found <= 1


fractions = st.one_of(
    st.floats(0, 1), st.floats(-300, 0).map(lambda x: 10**x), st.floats(-16, 0).map(lambda x: 1 - 10**x)
)


@settings(max_examples=1500, deadline=None)
@example(3.4e-211, 72167201, 0.073, 1 - 1e-16)  # a far guess whose first step is tiny
@example(3.1e-10, 10**10, 10.5, math.nan)
@given(fractions, st.integers(1, 10**15), st.floats(0, 1e3), st.one_of(fractions, st.floats()))
def test_the_index_is_the_bisections_everywhere(mean, count, budget, guess):
    assert abs(index(mean, float(count), budget, guess) - bisected_index(mean, count, budget)) < 1e-8


@unhurried
@given(fractions, st.integers(1, 10**9), st.lists(st.floats(0, 40), min_size=2, max_size=5), fractions)
def test_the_point_that_it_returns_serves_other_budgets(mean, count, budgets, start):
    """While the mean stays, the search goes on from the last point and its divergence, also when the count changes."""
    divergence = UNKNOWN
    for more, budget in enumerate(budgets):
        found, start, divergence = kl_ucb_index(mean, count + more, budget, start, divergence)
        assert abs(found - bisected_index(mean, count + more, budget)) < 1e-8
        if divergence >= 0:
            assert divergence == pytest.approx(kl(mean, start), abs=1e-14, rel=1e-12)


@unhurried
@given(st.integers(1, 10**9), st.floats(0, 100))
def test_closed_forms(count, budget):
    assert index(0.0, count, budget, 0.5) == pytest.approx(1 - math.exp(-budget / count), abs=1e-13)  # of `exponential`
    assert index(1.0, count, budget, 0.5) == 1
    # at mean 1/2: 4 q (1 - q) = exp(-2 f / T)
    half = index(0.5, count, budget, 0.7)
    assert 4 * half * (1 - half) == pytest.approx(math.exp(-2 * budget / count), abs=4e-8)


@unhurried
@given(st.floats(0, 1), st.integers(1, 10**6), st.floats(0, 50), st.floats(0.01, 10))
def test_the_index_grows_with_the_budget_and_falls_with_the_count(mean, count, budget, more):
    here = index(mean, count, budget, math.nan)
    assert index(mean, count, budget + more, here) >= here - 1e-8
    assert index(mean, count + 1, budget, here) <= here + 1e-8


def test_exploration():
    """f(t) = log t + 3 log log t, which is negative up to t = 2."""
    assert [exploration(t, 3.0) for t in (0, 1, 2)] == [0, 0, 0]
    assert exploration(1000, 3.0) == pytest.approx(math.log(1000) + 3 * math.log(math.log(1000)))
    assert exploration(1000, 0.0) == pytest.approx(math.log(1000))


def test_the_indices_of_a_run_are_the_bisections():
    """Warm starts, round after round: what the agent keeps is within 1e-8 of the definition."""
    agent = CascadeKLUCB(num_items=8, num_positions=3, num_envs=4, seed=0)
    random = np.random.default_rng(1)
    attraction = np.array([0.9, 0.5, 0.3, 0.2, 0.1, 0.01, 0.0, 1.0])
    for t in range(1, 4001):
        displayed = agent.act()
        if t > 8 and (t < 100 or t % 100 == 0):
            budget = max(0, math.log(t) + 3 * math.log(math.log(t)))
            for row, item in product(range(4), range(8)):
                count = int(agent.state.observed[row, item])
                mean = int(agent.state.clicked[row, item]) / count
                assert abs(agent.state.upper[row, item] - bisected_index(mean, count, budget)) < 1e-8
        attracted = random.random((4, 3)) < attraction[displayed]
        agent.update(displayed, attracted & (np.cumsum(attracted, 1) == 1))


def test_the_first_rounds_show_every_item_first_and_the_rest_at_random():
    rows = 30_000
    agent = CascadeKLUCB(num_items=4, num_positions=2, num_envs=rows, seed=2)
    for t in range(4):
        displayed = agent.act()
        agent.update(displayed, np.zeros((rows, 2), int))
        assert (displayed[:, 0] == t).all()
        share = [(displayed[:, 1] == item).mean() for item in range(4) if item != t]
        # 1/3 of 30,000 within 0.015, which is 5.5 standard deviations: probability 4e-8 each, 5e-7 for all twelve
        assert np.abs(np.array(share) - 1 / 3).max() < 0.015
    assert (agent.state.observed.sum(1) == 8).all()


def test_ties_are_broken_at_random():
    rows = 30_000
    agent = CascadeKLUCB(num_items=3, num_positions=3, num_envs=rows, seed=3)
    for _ in range(3):
        agent.update(agent.act(), np.zeros((rows, 3), int))
    displayed = agent.act()  # all items have been observed three times without a click
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
    agent = CascadeKLUCB(num_items=6, num_positions=5, feedback=feedback, seed=4)
    displayed = np.array([[5, 3, 1, 0, 2]])
    agent.update(displayed, [clicks])
    assert agent.state.observed[0, displayed[0]].tolist() == observed
    assert agent.state.observed.sum() == sum(observed)
    assert agent.state.clicked[0, displayed[0]].tolist() == [o * c for o, c in zip(observed, clicks, strict=True)]


@unhurried
@given(st.text())
def test_unknown_words_are_refused(word):
    assume(word not in ("first", "last", "all", "log", "log+3loglog"))
    with pytest.raises(ValueError, match=r"feedback = .* allowed: 'first', 'last', 'all'"):
        CascadeKLUCB(num_items=2, num_positions=1, feedback=word)
    with pytest.raises(ValueError, match=r"exploration = .* allowed: 'log\+3loglog', 'log'"):
        CascadeKLUCB(num_items=2, num_positions=1, exploration=word)
