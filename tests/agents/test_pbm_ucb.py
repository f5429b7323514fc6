"""PBM-UCB: against a plain reading of its paper, its index, where the items go, what it refuses."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, word
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym_agents import PBMPIE, PBMTS
from rankgym_agents.pbm_ucb import PBMUCB, pbm_ucb_index

ROUNDS = 2000
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class PBMUCBOracle(Oracle):
    """Lagree et al. 2016, PBM-UCB; kappa need not fall."""

    def __init__(self, num_items, num_positions, seed, kappa=None, epsilon=0):
        super().__init__(num_items, num_positions, seed)
        self.kappa = [1 / k for k in range(1, num_positions + 1)] if kappa is None else list(kappa)
        self.epsilon = epsilon
        self.S, self.N, self.N_tilde = [0] * num_items, [0] * num_items, [0.0] * num_items

    def bound(self, k):
        if self.N[k] == 0:
            return math.inf
        S, N, N_tilde, delta = self.S[k], self.N[k], self.N_tilde[k], (1 + self.epsilon) * math.log(self.t)
        return S / N_tilde + math.sqrt(N / N_tilde) * math.sqrt(delta / (2 * N_tilde))

    def act(self):
        U = [self.bound(k) for k in range(self.L)]
        best = sorted(range(self.L), key=lambda k: (U[k], word(self.seed(), k)), reverse=True)
        positions = sorted(range(self.K), key=lambda l: -self.kappa[l])  # noqa: E741  the paper's letter
        return [best[positions.index(place)] for place in range(self.K)]

    def update(self, displayed, clicks):
        for place, k in enumerate(displayed):
            self.S[k] += clicks[place]
            self.N[k] += 1
            self.N_tilde[k] += self.kappa[place]
        self.t += 1

    def remembers(self, state):
        found = (state.clicked[0].tolist(), state.displays[0].tolist(), state.examined[0].tolist())
        return found == (self.S, self.N, self.N_tilde)


def knobs(K):
    """Examination that falls, does not fall, is 1, and more optimism."""
    rising = np.linspace(0.3, 0.9, K) * np.where(np.arange(K) % 2, 1, 0.7)
    return [{}, {"examination": rising.tolist()}, {"examination": [1.0] * K, "epsilon": 0.5}]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("model", ["pbm", "cm", "dcm"])
@pytest.mark.parametrize("number", range(3))
def test_the_lists_are_the_papers(shape, model, number):
    L, K = shape
    knob = knobs(K)[number]
    agent = PBMUCB(num_items=L, num_positions=K, seed=11, **knob)
    oracle = PBMUCBOracle(L, K, 11, knob.get("examination"), knob.get("epsilon", 0))
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
    agent, oracle = PBMUCB(num_items=L, num_positions=K, seed=3), PBMUCBOracle(L, K, 3)
    for _ in beside_foreign_lists(agent, oracle, 600):
        assert oracle.remembers(agent.state)


def test_it_keeps_the_contract_with_other_knobs():
    check_agent(lambda **shape: PBMUCB(epsilon=3, **shape), num_items=2, num_positions=1, rounds=200, seed=2**40)


counts = st.integers(1, 10**9)


@unhurried
@given(counts, st.floats(0, 1), st.floats(0, 50))
def test_with_examination_one_the_index_is_a_ucb1_index(displays, share, delta):
    """Mean plus sqrt(delta / (2 N)); UCB1 (Auer et al. 2002) is that with delta = 4 log t."""
    clicked = int(share * displays)
    wanted = clicked / displays + math.sqrt(delta / (2 * displays))
    assert pbm_ucb_index(clicked, displays, float(displays), delta) == pytest.approx(wanted, rel=1e-12)


@unhurried
@given(counts, st.floats(0, 1), st.floats(1e-3, 1), st.floats(0, 50), st.floats(0.01, 5))
def test_the_index_grows_with_delta_and_with_rarer_examination(displays, share, kappa, delta, more):
    clicked, examined = int(share * displays), kappa * displays
    here = pbm_ucb_index(clicked, displays, examined, delta)
    assert here >= clicked / examined
    assert pbm_ucb_index(clicked, displays, examined, delta + more) > here
    assert pbm_ucb_index(clicked, displays, examined * 0.9, delta) >= here
    # the width is sqrt(N delta / 2) / N~: Hoeffding's for a sum of N clicks, over N~
    width = math.sqrt(displays * delta / 2) / examined
    assert here - clicked / examined == pytest.approx(width, rel=1e-6, abs=1e-9)


def test_the_best_items_go_where_users_look_most():
    agent = PBMUCB(num_items=4, num_positions=3, examination=[0.2, 1.0, 0.5], seed=0)
    for _ in range(50):
        displayed = np.array([[3, 1, 0]])
        agent.update(displayed, [[0, 1, 0]])
        agent.update([[3, 2, 0]], [[0, 0, 1]])
    # estimates: item 1 has 1, item 0 has 1 at half the examination, so a wider bound, item 2 has 0, item 3 has 0
    bounds = [
        pbm_ucb_index(*values, math.log(101)) for values in zip(*(x[0].tolist() for x in agent.state[5:8]), strict=True)
    ]
    best = np.argsort(bounds)[::-1]
    assert agent.act()[0].tolist() == [best[2], best[0], best[1]]
    assert agent.state.examined[0].tolist() == pytest.approx([50.0, 50.0, 50.0, 20.0])
    assert agent.state.displays[0].tolist() == [100, 50, 50, 100]


def test_equal_examination_keeps_the_positions_order():
    agent = PBMUCB(num_items=3, num_positions=3, examination=[0.5, 0.5, 0.5], num_envs=2)
    assert agent.state.best_first.tolist() == [[0, 1, 2]] * 2


def test_a_row_may_have_examination_of_its_own():
    kappa = [[1.0, 0.5], [0.5, 1.0]]
    agent = PBMUCB(num_items=3, num_positions=2, num_envs=2, examination=kappa, seed=5)
    agent.update([[0, 1], [0, 1]], [[1, 1], [1, 1]])
    assert agent.state.examined.tolist() == [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0]]
    assert agent.state.best_first.tolist() == [[0, 1], [1, 0]]


def test_every_item_is_displayed_before_any_bound_counts():
    agent = PBMUCB(num_items=7, num_positions=3, num_envs=50, seed=6)
    for _ in range(3):
        agent.update(agent.act(), np.ones((50, 3), int))
    assert (agent.state.displays >= 1).all()


def test_ties_are_broken_at_random():
    rows = 30_000
    displayed = PBMUCB(num_items=3, num_positions=3, num_envs=rows, seed=3).act()
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((displayed == order).all(1).mean() - 1 / 6) < 0.0118


def test_it_finds_the_best_list():
    """Its own model, two good items of five, the second place rarely seen. Blind lists are wrong nine times in ten.

    For the mean of 20 rows to exceed 2,500 of 5,000 rounds, nine of them would have to be wrong in more than 500. Of
    2,000 rows tried the worst was wrong in 332; if a row exceeds 500 with a probability below 0.01, nine do with one
    below 2e-13.
    """
    rows, rounds = 20, 5000
    kappa, attraction = np.array([1.0, 0.4]), np.array([0.1, 0.8, 0.1, 0.6, 0.1])
    agent = PBMUCB(num_items=5, num_positions=2, num_envs=rows, examination=kappa, seed=7)
    chance, wrong = np.random.default_rng(8), 0
    for _ in range(rounds):
        displayed = agent.act()
        wrong += int((np.sort(displayed, 1) != [1, 3]).any(1).sum())
        agent.update(displayed, (chance.random((rows, 2)) < kappa * attraction[displayed]).astype(np.int8))
    assert wrong / rows < 2500


@unhurried
@given(
    st.one_of(
        st.lists(st.floats(-1, 0), min_size=2, max_size=2),
        st.lists(st.floats(1, 9, exclude_min=True), min_size=2, max_size=2),
        st.lists(st.floats(0.1, 1), min_size=3, max_size=5),
        st.just([0.5]),
        st.just([0.5, 0.0]),
        st.just([0.5, math.nan]),
        st.just([[0.5, 0.5]] * 2),
        st.just([[[0.5, 0.5]]]),
        st.just(0.5),
        st.just([]),
        st.text(),
    )
)
def test_bad_examination_is_refused(examination):
    for agent in (PBMUCB, PBMTS, PBMPIE):
        with pytest.raises(ValueError, match=r"^examination.*; allowed"):
            agent(num_items=3, num_positions=2, num_envs=3, examination=examination)


@unhurried
@given(
    st.one_of(
        st.floats(max_value=0, exclude_max=True),
        st.floats(min_value=1000, exclude_min=True),
        st.integers(max_value=-1),
        st.just(10**400),
        st.just(math.nan),
        st.booleans(),
        st.none(),
        st.text(),
    )
)
def test_bad_epsilons_are_refused(epsilon):
    for agent in (PBMUCB, PBMPIE):
        with pytest.raises(ValueError, match=r"^epsilon = .* is out of range; allowed: a number in \[0, 1000\]"):
            agent(num_items=3, num_positions=2, epsilon=epsilon)
