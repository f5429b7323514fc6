"""GLRT-CascadeUCB: its lists against a plain reading, its test against all places, its restarts, refusals."""

import math

import gymnasium as gym
import numpy as np
import pytest
from agent_oracles import (
    Oracle,
    Users,
    beside_foreign_lists,
    drawn,
    fallen_index,
    model_of,
    solved_index,
    word,
)
from cascade_runs import SHAPES, down_to
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rankgym
from rankgym.conformance.agents import check_agent
from rankgym.kernels import kl_upper_bounds
from rankgym_agents import CascadeKLUCB
from rankgym_agents.glrt_cascade import LEAST, MOST, VERTICES, GLRTCascade, append, log_likelihood, threshold

ROUNDS = 2000
unhurried = settings(deadline=None)  # the first example may wait for the compiler


F = np.array([0.0, *(x * math.log(x) for x in range(1, ROUNDS + 1))])  # x log x


def likelihood_ratio(bits):
    """The generalised likelihood ratio, by trying every place."""
    n, A = len(bits), sum(bits)
    if n < 2:
        return -math.inf
    s, a = np.arange(1, n), np.cumsum(bits[:-1])
    apart = F[a] + F[s - a] - F[s] + F[A - a] + F[n - s - A + a] - F[n - s]
    return float(apart.max()) - float(F[A] + F[n - A] - F[n])


class GLRTCascadeOracle(Oracle):
    """Wang et al. 2021, from memory: every observation since the last restart is kept, and every place is tried."""

    def __init__(self, *place, p, delta, kl=True, theory=False, best=False, feedback="first"):
        super().__init__(*place)
        self.period, self.delta, self.kl, self.theory, self.best = math.floor(self.L / p), delta, kl, theory, best
        self.feedback, self.tau, self.restarts = feedback, 0, 0
        self.bits = [[] for _ in range(self.L)]

    def index(self, i):
        n, s = len(self.bits[i]), self.t - self.tau
        if n == 0:
            return math.inf
        mean = sum(self.bits[i]) / n
        if not self.kl:
            return mean + math.sqrt(3 * math.log(s) / (2 * n))
        budget = math.log(s) + 3 * math.log(math.log(s)) if s > 1 else 0
        return fallen_index(mean, n, budget) if budget > 0 else mean

    def act(self):
        a = (self.t - self.tau) % self.period
        seed = self.seed()
        if 1 <= a <= self.L and not self.best:
            others = list(range(self.L))
            others[0], others[a - 1] = others[a - 1], others[0]
            return [others[0], *drawn(others[1:], 1, seed)][: self.K]
        U = [(i + 1 == a, self.index(i), word(seed, i)) for i in range(self.L)]
        return sorted(range(self.L), key=lambda i: U[i], reverse=True)[: self.K]

    def beta(self, n):
        x = math.log(3 * n**1.5 / self.delta)
        if not self.theory:
            return x
        J = x / 2 + 4 * math.log(1 + x / 2 + math.sqrt(x))
        return 2 * J + 6 * math.log(1 + math.log(n))

    def update(self, displayed, clicks):
        for item, click in list(zip(displayed, clicks, strict=True))[: down_to(clicks, self.feedback)]:
            self.bits[item].append(click)
            if likelihood_ratio(self.bits[item]) >= self.beta(len(self.bits[item])):
                self.bits = [[] for _ in range(self.L)]
                self.tau, self.restarts = self.t, self.restarts + 1
                break
        self.t += 1

    def remembers(self, state):
        found = state.observed[0].tolist(), state.clicked[0].tolist(), state.restarted[0], state.restarts[0]
        return found == ([len(b) for b in self.bits], [sum(b) for b in self.bits], self.tau, self.restarts)


def defaults(horizon):
    return {"p": math.sqrt(math.log(horizon) / horizon), "delta": 1 / horizon}


# knobs of the agent, and of the oracle
CASES = [
    ({"horizon": ROUNDS}, defaults(ROUNDS)),
    ({"horizon": ROUNDS, "index": "ucb", "filler": "best"}, {**defaults(ROUNDS), "kl": False, "best": True}),
    (
        {"exploration": 0.3, "delta": 0.2, "threshold": "theory", "feedback": "last"},
        {"p": 0.3, "delta": 0.2, "theory": True, "feedback": "last"},
    ),
    (
        {"exploration": 0.99, "delta": 0.9, "feedback": "all", "filler": "best"},
        {"p": 0.99, "delta": 0.9, "feedback": "all", "best": True},
    ),
]


@pytest.mark.parametrize("case", range(4))
def test_the_lists_are_the_papers(case):
    (knobs, read), shape = CASES[case], SHAPES[case]
    agent = GLRTCascade(num_items=shape[0], num_positions=shape[1], seed=11, **knobs)
    oracle, users = GLRTCascadeOracle(*shape, 11, **read), Users(model_of(case), *shape, seed=shape)
    for t in range(ROUNDS):
        if t % 500 == 499:  # a breakpoint
            users.attraction = users.attraction[::-1]
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1), (1, 1)], ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent = GLRTCascade(num_items=L, num_positions=K, exploration=0.1, delta=0.5, feedback="all", seed=3)
    oracle = GLRTCascadeOracle(L, K, 3, p=0.1, delta=0.5, feedback="all")
    for _ in beside_foreign_lists(agent, oracle, 600):
        assert oracle.remembers(agent.state)


bits = st.lists(st.booleans(), min_size=2, max_size=200)


def hull_of(clicks):
    hull, size = np.zeros((2, VERTICES, 2), np.int64), [1, 1]
    for n in range(1, len(clicks) + 1):
        for side, sign in enumerate((LEAST, MOST)):
            size[side] = append(hull[side], size[side], n, sum(clicks[:n]), sign)
    return [tuple(vertex) for side in range(2) for vertex in hull[side, : size[side]].tolist()]


@unhurried
@given(bits, st.integers(0, 200), st.booleans())
def test_the_largest_ratio_is_at_a_vertex_of_the_hull(clicks, place, jump):
    if jump:
        clicks = [place > i for i in range(len(clicks))] + clicks
    n, ones = len(clicks), sum(clicks)
    at_vertices = max(log_likelihood(a, s) + log_likelihood(ones - a, n - s) for s, a in hull_of(clicks))
    assert at_vertices - log_likelihood(ones, n) == pytest.approx(max(0, likelihood_ratio(clicks)), abs=1e-9)


@unhurried
@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_hull_is_the_least_polygon_around_all_points(clicks):
    points = [(n, sum(clicks[:n])) for n in range(len(clicks) + 1)]
    vertices = hull_of(clicks)
    assert set(vertices) <= set(points)
    for side in (vertices[: vertices.index(points[-1]) + 1], vertices[vertices.index(points[-1]) + 1 :]):
        slopes = np.divide(*np.diff(np.array(side), axis=0).T[::-1])
        assert (np.diff(slopes) != 0).all()  # strictly convex or concave
        assert len(set(np.sign(np.diff(slopes)).tolist())) <= 1
    s, a = np.array(points).T
    lower, upper = (np.array(sorted(part)).T for part in _sides(vertices, points[-1]))
    assert (np.interp(s, *lower) <= a + 1e-9).all()
    assert (np.interp(s, *upper) >= a - 1e-9).all()


def _sides(vertices, last):
    cut = vertices.index(last) + 1
    return vertices[:cut], vertices[cut:]


@unhurried
@given(bits, bits)
def test_the_likelihood_of_two_segments_does_not_increase(clicks, more):
    """Why a test may be left out."""

    def two_segments(bits):
        return max(0, likelihood_ratio(bits)) + log_likelihood(sum(bits), len(bits))

    before, after = two_segments(clicks), two_segments(clicks + more)
    assert after <= before + 1e-9


def test_a_hull_without_room_forgets_its_oldest_vertices():
    """Slopes 0/1, 1/q, 1/(q-1), ..., 1/2: more turns than there are vertices."""
    clicks = [c for q in range(VERTICES + 10, 1, -1) for c in [0] * (q - 1) + [1]]
    vertices = hull_of(clicks)[:VERTICES]
    n, ones = len(clicks), sum(clicks)
    assert vertices[-1] == (n, ones)
    assert vertices == sorted(vertices)
    assert vertices[0][0] > 0
    at_vertices = max(log_likelihood(a, s) + log_likelihood(ones - a, n - s) for s, a in hull_of(clicks))
    assert at_vertices - log_likelihood(ones, n) <= likelihood_ratio(clicks) + 1e-9


def test_the_thresholds():
    x = math.log(3 * 100**1.5 * 50)
    assert threshold(100, math.log(150), False) == pytest.approx(x)
    J = x / 2 + 4 * math.log(1 + x / 2 + math.sqrt(x))
    assert threshold(100, math.log(150), True) == pytest.approx(2 * J + 6 * math.log(1 + math.log(100)))


def test_it_does_not_restart_without_a_change():
    """20 rows of 5,000 rounds with delta 1e-7.

    The chance that an item's test ever fires is below delta in theory's threshold: 20 rows of 5 items give 1e-5 for it;
    here it is 1e-9 for each, 1e-7 for all.
    """
    agent = GLRTCascade(num_items=5, num_positions=3, num_envs=20, horizon=5000, delta=1e-9, threshold="theory", seed=1)
    chance, attraction = np.random.default_rng(2), np.array([0.9, 0.5, 0.5, 0.2, 0.05])
    for _ in range(5000):
        displayed = agent.act()
        agent.update(displayed, (chance.random((20, 3)) < attraction[displayed]).astype(np.int8))
    assert (agent.state.restarts == 0).all()


def test_it_restarts_soon_after_a_certain_change():
    """Of two items one is always clicked; then they change places.

    With n clicks and m passes behind them the ratio is n log((n + m) / n) + m log((n + m) / m): the round is certain.
    """
    agent = GLRTCascade(num_items=2, num_positions=1, horizon=4000, exploration=0.01, seed=0)
    for t in range(1000):
        displayed = agent.act()
        agent.update(displayed, displayed == (t >= 500))
        if t == 499:
            n, restarted = int(agent.state.observed[0, 0]), int(agent.state.restarts[0])
    m = next(
        m for m in range(1, 100)
        if n * math.log((n + m) / n) + m * math.log((n + m) / m) >= math.log(3 * 4000 * (n + m) ** 1.5)
    )  # fmt: skip
    assert restarted == 0
    assert agent.state.restarts[0] == 1
    assert m <= agent.state.restarted[0] - 500 <= m + 5  # but for rounds that explore the other item
    assert agent.act()[0, 0] == 1


@pytest.mark.parametrize("filler", ["random", "best"])
def test_every_restart_begins_with_a_look_at_every_item(filler):
    agent = GLRTCascade(num_items=6, num_positions=2, num_envs=50, exploration=0.05, delta=0.1, filler=filler, seed=2)
    for start in (0, 40):
        if start:
            for t in range(34):
                agent.update(agent.act(), np.full((50, 2), t < 20))
            agent.state.restarted[:] = agent.state.round
            agent.state.observed[:] = agent.state.clicked[:] = 0
        for item in range(6):
            displayed = agent.act()
            assert (displayed[:, 0] == item).all()
            agent.update(displayed, np.zeros((50, 2), int))
        assert (agent.state.observed >= 1).all()


def test_explored_items_come_back_after_a_period():
    agent = GLRTCascade(num_items=3, num_positions=1, num_envs=4, exploration=0.03, delta=1e-9, seed=2)
    assert (agent.state.period == 100).all()
    for t in range(1, 400):
        displayed = agent.act()
        if 1 <= t % 100 <= 3:
            assert (displayed[:, 0] == t % 100 - 1).all()
        agent.update(displayed, displayed == 1)


def test_it_restarts_once_a_breakpoint():
    """The published jump setting: two breakpoints, of which none may be missed or seen twice in most rows."""
    venv = gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=20, query="all", horizon=15_000, epoch_lengths=5000)
    agent = GLRTCascade.for_env(venv, seed=0)
    rankgym.simulate(agent, venv, 15_000, seed=0, progress=False)
    assert (agent.state.restarts >= 2).all()
    assert (agent.state.restarts == 2).mean() > 0.7


def test_the_defaults_are_the_horizons():
    shape = {"num_items": 10, "num_positions": 3}
    assert GLRTCascade(**shape, horizon=100_000).state.period[0] == math.floor(
        10 / math.sqrt(math.log(100_000) / 100_000)
    )
    assert GLRTCascade(**shape, horizon=100_000).state.log_delta[0] == pytest.approx(math.log(300_000))
    for horizon in (1, 2, 10**400):
        agent = GLRTCascade(**shape, horizon=horizon, seed=0)
        assert agent.state.period[0] >= 10
        for _ in range(15):
            agent.update(agent.act(), [[0, 1, 0]])


def test_it_keeps_the_contract_with_other_knobs():
    check_agent(
        lambda horizon, **shape: GLRTCascade(exploration=0.2, delta=0.5, index="ucb", **shape), rounds=300, seed=2
    )


means = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-9, 1), st.floats(1e-9, 0.1).map(lambda gap: 1 - gap))


@settings(deadline=None, max_examples=300)
@given(means, st.one_of(st.just(0.0), st.floats(-9, 2.9).map(lambda power: 10**power)))
def test_the_kl_bound_is_the_largest_q_within_the_level(mean, level):
    upper = np.empty(3)
    kl_upper_bounds(np.array([0.3, mean, mean]), np.array([0.5, level, level]), upper)
    assert mean <= upper[1] <= 1
    assert upper[1] == upper[2]
    assert upper[1] == pytest.approx(solved_index(mean, 1, level), abs=1e-9)


@unhurried
@given(st.one_of(st.floats(max_value=0), st.floats(min_value=1), st.just(math.nan), st.booleans(), st.text()))
def test_bad_shares_are_refused(value):
    for name in ("exploration", "delta"):
        with pytest.raises(ValueError, match=rf"^{name} = .* is out of range; allowed: a number in \(0, 1\)"):
            GLRTCascade(num_items=3, num_positions=2, horizon=10, **{name: value})


@unhurried
@given(st.one_of(st.text(), st.none(), st.integers(), st.booleans()))
def test_unknown_words_are_refused(text):
    assume(text not in ("first", "last", "all", "ucb", "kl-ucb", "practical", "theory", "random", "best"))
    for name in ("index", "threshold", "filler", "feedback"):
        with pytest.raises(ValueError, match=rf"^{name} = .* is unknown; allowed: "):
            GLRTCascade(num_items=3, num_positions=2, horizon=10, **{name: text})


@pytest.mark.parametrize("knobs", [{}, {"delta": 0.1}, {"exploration": 0.1}], ids=str)
def test_a_horizon_or_both_knobs_are_needed(knobs):
    with pytest.raises(ValueError, match=r"^horizon = None and (exploration|delta) = None; allowed: "):
        GLRTCascade(num_items=3, num_positions=2, **knobs)
    GLRTCascade(num_items=3, num_positions=2, exploration=0.1, delta=0.1)


def test_with_a_test_that_never_fires_and_no_exploration_it_is_cascade_kl_ucb():
    """Both show item t first in round t <= L and the others at random; the same seed, so the same lists."""
    shape = {"num_items": 8, "num_positions": 3, "seed": 4}
    tested, plain = GLRTCascade(exploration=1e-9, delta=1e-300, **shape), CascadeKLUCB(**shape)
    users = Users("cm", 8, 3, seed=6)
    for _ in range(1500):
        displayed = plain.act()
        assert tested.act().tolist() == displayed.tolist()
        clicks = users.clicks(displayed[0])
        tested.update(displayed, [clicks])
        plain.update(displayed, [clicks])
