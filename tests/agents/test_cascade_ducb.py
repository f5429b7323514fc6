"""CascadeDUCB: its lists are those of a slow reading of its paper; what it forgets and how fast; its horizon rules."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, model_of, word
from cascade_runs import SHAPES, down_to
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym_agents.cascade_ducb import CascadeDUCB, discount, discounted_rounds

ROUNDS = 2000


def gamma_of(n):
    return 1 - 1 / (4 * math.sqrt(n))


class CascadeDUCBOracle(Oracle):
    """Li and de Rijke 2019, Algorithm 1. ``gamma`` None: the doubling trick of section 4.3."""

    def __init__(self, num_items, num_positions, seed, gamma=None, epsilon=0.5, feedback="first"):
        super().__init__(num_items, num_positions, seed)
        self.fixed, self.epsilon, self.feedback = gamma, epsilon, feedback
        self.N = dict.fromkeys(range(num_items), 0.0)  # line 3
        self.X = dict.fromkeys(range(num_items), 0.0)  # line 4

    def gamma(self):
        if self.fixed is not None:
            return self.fixed
        k = max(k for k in range(64) if 2**k <= self.t)
        return gamma_of(2**k)

    def act(self):
        gamma, U = self.gamma(), {}
        horizon = (1 - gamma**self.t) / (1 - gamma)
        for a in range(self.L):  # line 6
            U[a] = math.inf  # line 8
            if self.N[a]:
                c = 2 * math.sqrt(self.epsilon * math.log(horizon) / self.N[a])  # equation 6
                U[a] = self.X[a] / self.N[a] + c  # equation 5
        return sorted(U, key=lambda a: (U[a], word(self.seed(), a)), reverse=True)[: self.K]  # line 10

    def update(self, displayed, clicks):
        gamma = self.gamma()
        for a in range(self.L):
            self.N[a] = gamma * self.N[a]  # line 15
            self.X[a] = gamma * self.X[a]  # line 16
        for i in range(down_to(clicks, self.feedback)):  # line 21
            a = displayed[i]  # line 22
            self.N[a] = self.N[a] + 1  # line 23
            self.X[a] = self.X[a] + clicks[i]  # line 24
        self.t += 1


# knobs of the agent, and of the oracle
CASES = [
    ({"horizon": ROUNDS}, {"gamma": gamma_of(ROUNDS)}),
    ({}, {}),  # the horizon is unknown
    ({"feedback": "last", "epsilon": 0.8}, {"feedback": "last", "epsilon": 0.8}),
    ({"feedback": "all", "gamma": 0.9}, {"feedback": "all", "gamma": 0.9}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_lists_are_the_papers(shape, case):
    knobs, read = CASES[case]
    model = model_of(*shape, case)
    agent = CascadeDUCB(num_items=shape[0], num_positions=shape[1], seed=11, **knobs)
    oracle, users = CascadeDUCBOracle(*shape, 11, **read), Users(model, *shape, seed=shape)
    for t in range(ROUNDS):
        if t % 500 == 499:  # a breakpoint
            users.attraction = users.attraction[::-1]
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert agent.state.observed[0].tolist() == pytest.approx(list(oracle.N.values()))
    assert agent.state.clicked[0].tolist() == pytest.approx(list(oracle.X.values()))
    gamma = oracle.gamma()
    assert agent.state.weight[0] == pytest.approx((1 - gamma**oracle.t) / (1 - gamma))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent, oracle = CascadeDUCB(num_items=L, num_positions=K, seed=3), CascadeDUCBOracle(L, K, 3)
    for _ in beside_foreign_lists(agent, oracle, 500, seed=1, share=0.5, clicked=0.3):
        pass


def test_every_item_is_shown_before_one_is_shown_again():
    agent = CascadeDUCB(num_items=6, num_positions=2, num_envs=50, seed=2)
    lists = []
    for _ in range(3):
        lists.append(agent.act())
        agent.update(lists[-1], np.zeros((50, 2), int))
    assert (np.sort(np.hstack(lists), 1) == np.arange(6)).all()


def test_the_first_list_is_a_uniform_draw():
    rows = 30_000
    first = CascadeDUCB(num_items=3, num_positions=3, num_envs=rows, seed=3).act()
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((first == order).all(1).mean() - 1 / 6) < 0.0118


@pytest.mark.parametrize("items", [2, 3, 5])
def test_without_memory_it_shows_the_items_in_turn(items):
    """gamma -> 0: an item observed m rounds ago has an index of about 1.4 gamma^(1 - m / 2), whatever it drew."""
    agent = CascadeDUCB(num_items=items, num_positions=1, gamma=1e-3, seed=1)
    chance, shown = np.random.default_rng(0), []
    for _ in range(20 * items):
        displayed = agent.act()
        shown.append(int(displayed[0, 0]))
        agent.update(displayed, [[int(chance.integers(2))]])
    assert sorted(shown[:items]) == list(range(items))
    assert shown[items:] == shown[:-items]


def test_with_full_memory_it_counts():
    """gamma -> 1: N and X are the counts, and N_t(gamma) is t."""
    agent, rounds = CascadeDUCB(num_items=5, num_positions=3, gamma=1 - 1e-13, seed=1), 1500
    users, observed, clicked = Users("cm", 5, 3, seed=2), [0] * 5, [0] * 5
    for _ in range(rounds):
        displayed = agent.act()
        clicks = users.clicks(displayed[0])
        for item, click in list(zip(displayed[0], clicks, strict=True))[: down_to(clicks, "first")]:
            observed[item] += 1
            clicked[item] += click
        agent.update(displayed, [clicks])
    assert agent.state.observed[0].tolist() == pytest.approx(observed, rel=1e-9)
    assert agent.state.clicked[0].tolist() == pytest.approx(clicked, rel=1e-9)
    assert agent.state.weight[0] == pytest.approx(rounds + 1, rel=1e-9)


def test_discounted_counts_are_the_sum_over_the_ages():
    gamma = 0.97
    agent, seen = CascadeDUCB(num_items=4, num_positions=2, gamma=gamma, feedback="all", seed=5), []
    chance = np.random.default_rng(0)
    for t in range(300):
        displayed = agent.act()
        seen += [(t, int(item)) for item in displayed[0]]
        agent.update(displayed, chance.integers(0, 2, (1, 2)))
    for item in range(4):
        ages = [299 - t for t, shown in seen if shown == item]
        assert agent.state.observed[0, item] == pytest.approx(math.fsum(gamma**age for age in ages), rel=1e-12)


def test_it_follows_a_breakpoint():
    """Of two items one is always clicked; when they change places the other is found, and soon shown alone."""
    agent, shown = CascadeDUCB(num_items=2, num_positions=1, horizon=4000, seed=0), []
    for t in range(4000):
        displayed = agent.act()
        shown.append(displayed[0, 0])
        agent.update(displayed, displayed == (t >= 2000))
    assert np.mean(shown[1000:2000]) < 0.1
    assert np.mean(shown[3000:]) > 0.9


def test_gammas_default_is_the_papers():
    shape = {"num_items": 2, "num_positions": 1}
    assert CascadeDUCB(**shape, horizon=100_000).state.gamma[0] == pytest.approx(1 - 1 / (4 * math.sqrt(100_000)))
    assert 0 < CascadeDUCB(**shape, horizon=1).state.gamma[0] < 1
    assert 0 < CascadeDUCB(**shape, horizon=10**400).state.gamma[0] < 1
    agent = CascadeDUCB(**shape)
    for t in range(1, 1030):
        assert agent.state.gamma[0] == pytest.approx(gamma_of(2 ** (t.bit_length() - 1)))
        agent.update(agent.act(), [[1]])
    known = CascadeDUCB(**shape, horizon=10)
    for _ in range(40):
        known.update(known.act(), [[1]])
    assert known.state.gamma[0] == gamma_of(10)


@settings(deadline=None)
@given(st.integers(0, 40), st.floats(1e-9, 1 - 1e-9))
def test_the_discounted_rounds_of_a_power_of_two(k, gamma):
    wanted = -math.expm1(2.0**k * math.log(gamma)) / (1 - gamma)
    assert discounted_rounds(2**k, gamma) == pytest.approx(wanted, rel=1e-5)  # 1 - gamma has lost digits in gamma
    assert discounted_rounds(2**k, 1.0) == 2.0**k
    assert discount(4 ** (k // 2)) == 1 - 1 / (4 * 2 ** (k // 2))


def test_without_a_horizon_it_keeps_the_contract():
    check_agent(lambda horizon, **shape: CascadeDUCB(**shape), rounds=100)


@settings(deadline=None)
@given(st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.just([0.5])))
def test_bad_knobs_are_refused(value):
    assume(value not in ("first", "last", "all"))  # hypothesis draws words from the code, too
    shape = {"num_items": 2, "num_positions": 1}
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 < value < 1):
        with pytest.raises(ValueError, match=r"gamma = .* is out of range; allowed: a number in \(0, 1\)"):
            CascadeDUCB(**shape, gamma=value)
    if not (number and 0 < value < math.inf):
        with pytest.raises(ValueError, match=r"epsilon = .* is out of range; allowed: a finite number above 0"):
            CascadeDUCB(**shape, epsilon=value)
    with pytest.raises(ValueError, match=r"feedback = .* is unknown; allowed: 'first', 'last', 'all'"):
        CascadeDUCB(**shape, feedback=value)


def test_an_epsilon_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match="epsilon"):
        CascadeDUCB(num_items=2, num_positions=1, epsilon=10**400)
