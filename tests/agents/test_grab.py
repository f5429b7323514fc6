"""GRAB: its lists are those of a slow reading; its assignment is the best one."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, fallen_index, model_of, word
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from rankgym.conformance.agents import check_agent
from rankgym_agents import GRAB
from rankgym_agents.grab import assign

unhurried = settings(deadline=None)  # the first example may wait for the compiler
SHAPES = [(10, 5), (5, 5), (7, 3), (6, 1), (2, 2), (1, 1)]
SETTINGS = [
    {},
    {"clock": "horizon", "horizon": 250, "gamma": 10},
    {"gamma": 3, "forced_initiation": True},
]


class GRABOracle(Oracle):
    """Gauthier et al. 2021, as the file's docstring tells it."""

    def __init__(
        self, num_items, num_positions, seed, clock="leader", horizon=None, gamma=None, forced_initiation=False
    ):
        super().__init__(num_items, num_positions, seed)
        self.f = math.log(horizon) if clock == "horizon" else None
        self.gamma, self.forced = gamma or max(1, num_items - 1), forced_initiation
        self.N, self.S = np.zeros((2, num_positions, num_items), int)
        first = word(self.key, 0)
        ties = [[word(first, k * self.L + i) >> 11 for i in range(self.L)] for k in range(self.K)]
        self.ties = 1e-9 * np.array(ties) / 2**53
        self.led = {}

    def values(self):
        return self.S / np.maximum(1, self.N) + self.ties

    def leader(self):
        return linear_sum_assignment(self.values(), maximize=True)[1].tolist()

    def index(self, item, k):
        c = self.led.get(tuple(self.leading), 0)
        f = self.f if self.f is not None else math.log(c) + 3 * math.log(math.log(c)) if c >= 3 else math.inf
        if self.N[k, item] == 0 or f == math.inf:
            return 1.0
        return fallen_index(self.S[k, item] / self.N[k, item], self.N[k, item], f)

    def act(self):
        if self.forced and self.t <= self.L:
            return [(self.t - 1 + k) % self.L for k in range(self.K)]
        leader = self.leading = self.leader()
        if self.led.get(tuple(leader), 0) % self.gamma == 0:
            return leader
        value = self.values()
        pi = sorted(range(self.K), key=lambda k: -value[k, leader[k]])
        best, most = leader, (0.0, 0.0)
        for p, q in pairwise(pi):
            i, j = leader[p], leader[q]
            gain = (self.index(j, p) - self.index(i, p)) + (self.index(i, q) - self.index(j, q))
            if gain > most[0]:
                best, most = [*leader], (gain, math.inf)
                best[p], best[q] = j, i
        for item in sorted(set(range(self.L)) - set(leader)):
            gain = self.index(item, pi[-1]) - self.index(leader[pi[-1]], pi[-1])
            if gain > 0 and (gain, value[pi[-1], item]) > most:
                best, most = [*leader], (gain, value[pi[-1], item])
                best[pi[-1]] = item
        return best

    def update(self, displayed, clicks):
        leader = tuple(self.leader())
        self.led[leader] = self.led.get(leader, 0) + 1
        for k, (item, click) in enumerate(zip(displayed, clicks, strict=True)):
            self.N[k, item] += 1
            self.S[k, item] += click
        self.t += 1

    def remembers(self, state):
        led = sorted(int(count) for count in state.led[0] if count)
        return (
            (state.displays[0] == self.N).all()
            and (state.clicked[0] == self.S).all()
            and led == sorted(self.led.values())
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_the_lists_are_the_oracles(shape, number):
    agent = GRAB(num_items=shape[0], num_positions=shape[1], seed=11, **SETTINGS[number])
    oracle = GRABOracle(*shape, 11, **SETTINGS[number])
    users = Users(model_of(number, *shape), *shape, seed=(number, *shape))
    for t in range(250):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (4, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, number):
    agent = GRAB(num_items=shape[0], num_positions=shape[1], seed=3, **SETTINGS[number])
    oracle = GRABOracle(*shape, 3, **SETTINGS[number])
    for _ in beside_foreign_lists(agent, oracle, 200, share=0.4):
        assert oracle.remembers(agent.state)


def assigned(value, worth=None, leader=None):
    """The kernel's assignment, (positions,), from an earlier one or from the first list."""
    positions, items = value.shape
    worth = np.zeros(items) if worth is None else worth
    leader = np.arange(positions) if leader is None else leader
    before, room = leader.copy(), (np.full(2 * items, math.nan), np.full(4 * items, 77))
    assert assign(value, worth, leader, *room) == (leader != before).any()
    assert len(set(leader.tolist())) == positions
    hidden = sorted(set(range(items)) - set(leader.tolist()))
    assert (worth[hidden] == 0).all()
    assert (worth >= 0).all()
    price = value[range(positions), leader] - worth[leader]
    assert (price[:, None] + worth >= value - 1e-12).all()  # which proves that no other list is better
    return leader


def total(value, chosen):
    return math.fsum(value[k, i] for k, i in enumerate(chosen))


@unhurried
@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32), st.sampled_from([1e-9, 0.1, 0.5, 1.0]))
def test_the_assignment_is_scipys(positions, more, seed, step):
    """Values with ties, and without where the step is small: then it is the same assignment, not just as good a one."""
    value = np.round(np.random.default_rng(seed).normal(size=(positions, positions + more)) / step) * step
    chosen, wanted = assigned(value), linear_sum_assignment(value, maximize=True)[1]
    assert total(value, chosen) == pytest.approx(total(value, wanted), abs=1e-12)
    if step < 1e-8:
        assert chosen.tolist() == wanted.tolist()


@unhurried
@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**32))
def test_no_other_assignment_is_better(positions, more, seed):
    value = np.random.default_rng(seed).integers(0, 4, (positions, positions + more)).astype(float)
    best = max(total(value, other) for other in permutations(range(positions + more), positions))
    assert total(value, assigned(value)) == best


@unhurried
@given(st.integers(1, 7), st.integers(0, 5), st.integers(0, 2**32), st.floats(0.001, 1))
def test_an_assignment_goes_on_from_the_one_before(positions, more, seed, change):
    """One value of each position changes, as in a round; again and again."""
    chance, items = np.random.default_rng(seed), positions + more
    value, worth, leader = chance.random((positions, items)), np.zeros(items), np.arange(positions)
    for _ in range(30):
        value[range(positions), chance.permutation(items)[:positions]] += change * chance.normal(size=positions)
        wanted = linear_sum_assignment(value, maximize=True)[1]
        assert assigned(value, worth, leader).tolist() == wanted.tolist()


def test_the_first_leader_is_a_random_list():
    agent = GRAB(num_items=3, num_positions=2, num_envs=6_000, seed=0)
    leaders = agent.act()
    assert (leaders == agent.state.leader).all()
    counts = [np.sum((leaders == order).all(1)) for order in permutations(range(3), 2)]
    # chi-square with 5 degrees of freedom exceeds 40 with probability 1.5e-7
    assert sum((n - 1000) ** 2 / 1000 for n in counts) < 40


def test_a_leader_is_displayed_every_gamma_rounds_of_its_own():
    agent, chance, led = GRAB(num_items=6, num_positions=3, seed=1, gamma=4), np.random.default_rng(0), {}
    for _ in range(3000):
        leader, displayed = tuple(agent.state.leader[0]), agent.act()
        assert agent.beliefs().base_list[:3] == leader
        if led.get(leader, 0) % 4 == 0:
            assert tuple(displayed[0]) == leader
        led[leader] = led.get(leader, 0) + 1
        agent.update(displayed, chance.random((1, 3)) < 0.9 / (1 + displayed))
    assert max(led.values()) > 1000


def test_it_finds_the_best_list_whatever_the_order_of_positions():
    """None of 1,000 other rows had another leader at round 3,000.

    Were a row wrong with probability 0.02, that would be seen with probability 2e-9; with a smaller one, more than 20
    of 200 are wrong with probability below 1e-9.
    """
    attraction, examination = np.array([0.1, 0.9, 0.6, 0.3]), np.array([0.3, 1.0, 0.6])
    agent, chance = GRAB(num_items=4, num_positions=3, num_envs=200, seed=1), np.random.default_rng(2)
    for _ in range(3000):
        displayed = agent.act()
        agent.update(displayed, chance.random((200, 3)) < attraction[displayed] * examination)
    assert (agent.state.leader != [3, 1, 2]).any(1).sum() <= 20


@pytest.mark.parametrize("knobs", SETTINGS[1:], ids=str)
def test_it_keeps_the_contract(knobs):
    check_agent(lambda **shape: GRAB(**{"horizon": 500, **shape, **knobs}), rounds=100)


def test_what_is_out_of_range_is_refused():
    shape = {"num_items": 3, "num_positions": 2}
    with pytest.raises(ValueError, match=r"^horizon = None and clock = 'horizon'; allowed: "):
        GRAB(**shape, clock="horizon")
    with pytest.raises(ValueError, match=r"^gamma = 0 is out of range; allowed: "):
        GRAB(**shape, gamma=0)
    with pytest.raises(ValueError, match=r"^forced_initiation = 1 is out of range; allowed: True or False$"):
        GRAB(**shape, forced_initiation=1)
