"""CascadeSWUCB: its lists are those of a slow reading of its paper; its window, its memory, its horizon rules."""

import math

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, model_of, word
from cascade_runs import SHAPES, down_to
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym_agents.cascade_swucb import CascadeSWUCB, State, window_of
from rankgym_agents.cascade_ucb1 import CascadeUCB1

ROUNDS = 2000


def tau_of(n):
    return max(1, round(2 * math.sqrt(n * math.log(n))))


class CascadeSWUCBOracle(Oracle):
    """Li and de Rijke 2019, Algorithm 1: every round is kept. ``tau`` None: the doubling trick of section 4.3."""

    def __init__(self, num_items, num_positions, seed, tau=None, epsilon=0.5, feedback="first", counts="observed"):
        super().__init__(num_items, num_positions, seed)
        self.fixed, self.epsilon, self.feedback, self.counts = tau, epsilon, feedback, counts
        self.rounds = []  # of each round the (item, click, whether it was observed)

    def tau(self):
        if self.fixed is not None:
            return self.fixed
        k = max(k for k in range(64) if 2**k <= self.t)
        return tau_of(2**k)

    def statistics(self):
        """Lines 19 to 24, before round t: sums over the rounds from t - tau to t - 1."""
        N, X = [0] * self.L, [0] * self.L
        for s in range(max(1, self.t - self.tau()), self.t):
            for a, click, observed in self.rounds[s - 1]:
                if observed or self.counts == "displayed":
                    N[a] += 1
                if observed:
                    X[a] += click
        return N, X

    def act(self):
        N, X = self.statistics()
        U = {}
        for a in range(self.L):  # line 6
            U[a] = math.inf  # line 8
            if N[a]:
                c = math.sqrt(self.epsilon * math.log(min(self.t, self.tau())) / N[a])  # equation 8
                U[a] = X[a] / N[a] + c  # equation 7
        return sorted(U, key=lambda a: (U[a], word(self.seed(), a)), reverse=True)[: self.K]  # line 10

    def update(self, displayed, clicks):
        stop = down_to(clicks, self.feedback)
        self.rounds.append([(a, c, i < stop) for i, (a, c) in enumerate(zip(displayed, clicks, strict=True))])
        self.t += 1


# knobs of the agent, and of the oracle
CASES = [
    ({"horizon": ROUNDS}, {"tau": tau_of(ROUNDS)}),
    ({}, {}),  # the horizon is unknown
    ({"feedback": "last", "epsilon": 0.8, "tau": 300}, {"feedback": "last", "epsilon": 0.8, "tau": 300}),
    ({"feedback": "all", "tau": 7}, {"feedback": "all", "tau": 7}),
    ({"counts": "displayed", "tau": 60}, {"counts": "displayed", "tau": 60}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_lists_are_the_papers(shape, case):
    knobs, read = CASES[case]
    model = model_of(*shape, case)
    agent = CascadeSWUCB(num_items=shape[0], num_positions=shape[1], seed=11, **knobs)
    oracle, users = CascadeSWUCBOracle(*shape, 11, **read), Users(model, *shape, seed=shape)
    for t in range(ROUNDS):
        if t % 500 == 499:  # a breakpoint
            users.attraction = users.attraction[::-1]
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert (agent.state.observed[0].tolist(), agent.state.clicked[0].tolist()) == oracle.statistics()


@pytest.mark.parametrize("knobs", [{}, {"tau": 1}, {"tau": 20, "counts": "displayed"}], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, knobs):
    L, K = shape
    agent, oracle = CascadeSWUCB(num_items=L, num_positions=K, seed=3, **knobs), CascadeSWUCBOracle(L, K, 3, **knobs)
    for _ in beside_foreign_lists(agent, oracle, 600, seed=1, share=0.5, clicked=0.3):
        assert (agent.state.observed[0].tolist(), agent.state.clicked[0].tolist()) == oracle.statistics()


@pytest.mark.parametrize("tau", [1500, 10**6, 10**30])
def test_with_a_window_of_all_rounds_it_is_cascade_ucb1(tau):
    """But for CascadeUCB1's first L rounds, and with its epsilon, 1.5."""
    shape = {"num_items": 8, "num_positions": 3, "seed": 4}
    windowed, plain = CascadeSWUCB(tau=tau, epsilon=1.5, **shape), CascadeUCB1(**shape)
    users = Users("cm", 8, 3, seed=6)
    for t in range(1500):
        displayed = plain.act()
        if t >= 8:
            assert windowed.act().tolist() == displayed.tolist()
        clicks = users.clicks(displayed[0])
        windowed.update(displayed, [clicks])
        plain.update(displayed, [clicks])
    assert (windowed.state.observed == plain.state.observed).all()
    assert (windowed.state.clicked == plain.state.clicked).all()


@pytest.mark.parametrize("tau", [1, 2, 5, 300])
def test_an_item_is_forgotten_after_exactly_tau_rounds_and_shown_again(tau):
    agent = CascadeSWUCB(num_items=3, num_positions=1, tau=tau, seed=0)
    agent.update([[2]], [[1]])
    for since in range(1, tau + 1):
        assert agent.state.observed[0, 2] == agent.state.clicked[0, 2] == 1
        agent.update([[since % 2]], [[0]])
    assert agent.state.observed[0, 2] == agent.state.clicked[0, 2] == 0
    unseen = {item for item in range(3) if agent.state.observed[0, item] == 0}
    assert agent.act()[0, 0] in unseen
    assert 2 in unseen


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 40), st.integers(0, 1000), st.sampled_from(["observed", "displayed"]))
def test_what_is_older_than_the_window_leaves_no_trace(tau, seed, counts):
    """Two agents with different pasts, of equal length, agree after tau common rounds."""
    one, other = (CascadeSWUCB(num_items=6, num_positions=3, tau=tau, counts=counts, seed=seed) for _ in range(2))
    chance = np.random.default_rng(seed)
    for t in range(100 + tau):
        lists, clicks = chance.permuted(np.tile(np.arange(6), (2, 1)), axis=1)[:, :3], chance.integers(0, 2, (2, 3))
        if t >= 100:
            lists[1], clicks[1] = lists[0], clicks[0]
        one.update(lists[:1], clicks[:1])
        other.update(lists[1:], clicks[1:])
    assert (one.state.observed == other.state.observed).all()
    assert (one.state.clicked == other.state.clicked).all()
    for _ in range(50):
        displayed = one.act()
        assert displayed.tolist() == other.act().tolist()
        clicks = chance.integers(0, 2, (1, 3))
        one.update(displayed, clicks)
        other.update(displayed, clicks)


def test_line_19_counts_what_was_displayed():
    agent = CascadeSWUCB(num_items=5, num_positions=4, tau=2, counts="displayed", seed=0)
    agent.update([[3, 1, 0, 2]], [[0, 1, 0, 1]])
    assert agent.state.observed[0].tolist() == [1, 1, 1, 1, 0]
    assert agent.state.clicked[0].tolist() == [0, 1, 0, 0, 0]
    agent.update([[4, 1, 0, 2]], [[0, 0, 0, 0]])
    assert agent.state.observed[0].tolist() == [2, 2, 2, 1, 1]
    agent.update([[4, 1, 0, 2]], [[0, 0, 0, 0]])
    assert agent.state.observed[0].tolist() == [2, 2, 2, 0, 2]
    assert agent.state.clicked[0].tolist() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize(("items", "size"), [(10, 1), (64, 1), (65, 2), (20_000, 4)])
def test_its_memory_is_the_window(items, size):
    agent, K, rows = CascadeSWUCB(num_items=items, num_positions=4, num_envs=3, horizon=20_000, seed=0), 4, 3
    tau, chance = tau_of(20_000), np.random.default_rng(0)
    assert agent.state.past.nbytes < rows * tau * K * size  # nothing is kept before there is something to keep
    for _ in range(tau + 1000):
        agent.update(agent.act(), chance.integers(0, 2, (rows, K)))
        assert agent.state.past.nbytes <= rows * tau * K * size
    assert agent.state.past.nbytes == rows * tau * K * size
    assert (agent.state.observed.sum(1) >= tau).all()
    assert (agent.state.observed.sum(1) <= tau * K).all()


def test_without_a_horizon_its_memory_is_the_next_window():
    agent = CascadeSWUCB(num_items=5, num_positions=2, seed=0)
    for t in range(1, 10_000):
        tau, coming = (tau_of(2 ** (t.bit_length() + more)) for more in (-1, 0))
        assert agent.state.tau[0] == tau
        assert agent.state.past.shape[1] <= max(256, coming)
        agent.update(agent.act(), [[t % 2, 0]])
    assert agent.state.past.shape[1] == tau_of(2**14)


def test_without_a_horizon_the_longer_window_has_all_its_rounds():
    """Also those that had left the shorter one, where the buffer had to grow for them: from 4,096 rounds on."""
    agent, chance = CascadeSWUCB(num_items=5, num_positions=2, feedback="all", seed=0), np.random.default_rng(3)
    observed, clicked = np.zeros((2, 17_000, 5), int)
    for t in range(1, 17_000):
        if t & (t - 1) == 0 or t % 97 == 0:
            window = slice(max(0, t - 1 - tau_of(2 ** (t.bit_length() - 1))), t - 1)  # round t is row t - 1
            assert agent.state.observed[0].tolist() == observed[window].sum(0).tolist()
            assert agent.state.clicked[0].tolist() == clicked[window].sum(0).tolist()
        displayed, clicks = chance.permutation(5)[:2], chance.integers(0, 2, 2)
        observed[t - 1, displayed], clicked[t - 1, displayed] = 1, clicks
        agent.update(displayed[None], clicks[None])


def test_a_saved_state_goes_on():
    """Also into a new agent, whose buffer had less room."""
    one, other = (CascadeSWUCB(num_items=5, num_positions=2, horizon=5000, seed=s) for s in (0, 1))
    for t in range(700):
        one.update(one.act(), [[t % 2, 0]])
    other.state = State(**{name: array.copy() for name, array in one.state._asdict().items()})
    for t in range(700):
        displayed = one.act()
        assert displayed.tolist() == other.act().tolist()
        one.update(displayed, [[t % 2, 0]])
        other.update(displayed, [[t % 2, 0]])


def test_the_first_list_is_a_uniform_draw():
    rows = 30_000
    first = CascadeSWUCB(num_items=3, num_positions=3, num_envs=rows, tau=5, seed=3).act()
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 3e-7 for all
        assert abs((first == order).all(1).mean() - 1 / 6) < 0.0118


def test_it_follows_a_breakpoint():
    """Of two items one is always clicked; when they change places the other is found, and soon shown alone."""
    agent, shown = CascadeSWUCB(num_items=2, num_positions=1, horizon=4000, seed=0), []
    for t in range(4000):
        displayed = agent.act()
        shown.append(displayed[0, 0])
        agent.update(displayed, displayed == (t >= 2000))
    assert np.mean(shown[1000:2000]) < 0.1
    assert np.mean(shown[3000:]) > 0.9


def test_taus_default_is_the_papers():
    shape = {"num_items": 2, "num_positions": 1}
    assert CascadeSWUCB(**shape, horizon=100_000).state.tau[0] == 2146  # 2 sqrt(100,000 * 11.513) = 2145.97
    assert CascadeSWUCB(**shape, horizon=1).state.tau[0] == 1
    assert CascadeSWUCB(**shape, horizon=10**400).state.tau[0] > 10**9
    known = CascadeSWUCB(**shape, horizon=10)
    for _ in range(40):
        known.update(known.act(), [[1]])
    assert known.state.tau[0] == tau_of(10)


@settings(deadline=None)
@given(st.integers(1, 2**62))
def test_the_window_is_rounded(n):
    assert abs(window_of(n) - max(1, 2 * math.sqrt(n * math.log(n)))) <= 0.5 + 1e-15 * window_of(n)


def test_without_a_horizon_it_keeps_the_contract():
    check_agent(lambda horizon, **shape: CascadeSWUCB(**shape), rounds=300)


@settings(deadline=None)
@given(st.one_of(st.floats(), st.integers(max_value=0), st.text(), st.booleans(), st.just([0.5])))
def test_bad_knobs_are_refused(value):
    assume(value not in ("first", "last", "all", "observed", "displayed"))  # hypothesis draws words from the code, too
    shape = {"num_items": 2, "num_positions": 1}
    with pytest.raises(ValueError, match=r"tau = .* is out of range; allowed: a whole number, at least 1"):
        CascadeSWUCB(**shape, tau=value)
    if not (isinstance(value, float) and 0 < value < math.inf):
        with pytest.raises(ValueError, match=r"epsilon = .* is out of range; allowed: a finite number above 0"):
            CascadeSWUCB(**shape, epsilon=value)
    with pytest.raises(ValueError, match=r"feedback = .* is unknown; allowed: 'first', 'last', 'all'"):
        CascadeSWUCB(**shape, feedback=value)
    with pytest.raises(ValueError, match=r"counts = .* is unknown; allowed: 'observed', 'displayed'"):
        CascadeSWUCB(**shape, counts=value)
