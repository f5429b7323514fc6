"""BatchRank: its lists are those of a slow plain-Python reading, and facts of its paper (Zoghi et al. 2017)."""

import math
from itertools import pairwise

import numpy as np
import pytest
from agent_oracles import Oracle, Users, bisected_index, drawn, model_of
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym_agents.batchrank import BatchRank, State, kl_lower, kl_upper

ROUNDS, ROWS = 2500, 4
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]
SCHEDULES = ["authors", "paper"]

unhurried = settings(deadline=None)  # the first example may wait for the compiler


class Batch:
    """Items, the positions I(1) .. I(2) from 0, and the statistics of one stage."""

    def __init__(self, items, first, last, stage=0):
        self.items, self.first, self.last, self.stage = set(items), first, last, stage
        self.n = dict.fromkeys(items, 0)
        self.c = dict.fromkeys(items, 0)

    def length(self):
        return self.last - self.first + 1


class BatchRankOracle(Oracle):
    """Zoghi et al. 2017 with its procedures' names, and the authors' schedule."""

    def __init__(self, num_items, num_positions, seed, schedule, horizon):
        super().__init__(num_items, num_positions, seed)
        self.paper, self.T = schedule == "paper", horizon
        self.batches = [Batch(range(num_items), 0, num_positions - 1)]
        self.met = dict.fromkeys(("checks", "unsuccessful", "cuts", "choices", "eliminated"), 0)

    def act(self):
        return [item for batch in self.batches for item in self.display_batch(batch)]

    def display_batch(self, batch):
        items, shown, place, seed = sorted(batch.items), batch.length(), batch.first, self.seed()
        if not self.paper:
            return drawn(items, place, seed)[:shown]
        n_min = min(batch.n.values())
        least = [d for d in items if batch.n[d] == n_min]
        others = [d for d in items if batch.n[d] > n_min]
        chosen = (drawn(least, place, seed) + drawn(others, place + len(least), seed))[:shown]
        return drawn(chosen, self.L + place, seed)

    def update(self, displayed, clicks):
        for batch in self.batches:
            self.collect_clicks(batch, displayed, clicks)
        self.batches = [part for batch in self.batches for part in self.update_batch(batch)]
        self.t += 1

    def collect_clicks(self, batch, displayed, clicks):
        n_min = min(batch.n.values())
        for k in range(batch.first, batch.last + 1):
            d = displayed[k]
            if d in batch.items and (batch.n[d] == n_min or not self.paper):
                batch.c[d] += clicks[k]
                batch.n[d] += 1

    def update_batch(self, batch):
        """The batches that come out of this one."""
        if len(batch.items) == 1:
            return [batch]
        if self.paper:
            due, exponent = max(1.0, 16 * math.log(self.T)) * 4**batch.stage, 0.0
            if self.T > 2:
                exponent = math.log(self.T) + 3 * math.log(math.log(self.T))
        else:
            delta, exponent = 0.5 ** (batch.stage + 1), math.log(self.L * self.T)
            due = math.log(self.L * self.T) / delta**2
        if min(batch.n.values()) < math.ceil(due):
            return [batch]
        U = {d: bisected_index(batch.c[d] / batch.n[d], batch.n[d], exponent) for d in batch.items}
        L = {d: 1 - bisected_index((batch.n[d] - batch.c[d]) / batch.n[d], batch.n[d], exponent) for d in batch.items}
        ranked = sorted(batch.items, key=lambda d: L[d], reverse=True)
        kept = [d for d in ranked if U[d] >= L[ranked[batch.length() - 1]]]
        candidates = ranked if self.paper else kept
        places = [k for k in range(1, batch.length()) if L[ranked[k - 1]] > max(U[d] for d in ranked[k:])]
        self.met["checks"] += 1
        self.met["unsuccessful"] += not places and len(kept) == len(ranked)
        self.met["choices"] += len(places) > 1
        if self.paper:
            places = places[-1:]
        self.met["cuts"] += len(places)
        self.met["eliminated"] += len(ranked) - len(kept) if not (self.paper and places) else 0
        if places:
            ends = [0, *places, len(candidates)]
            last = [*(batch.first + k - 1 for k in places), batch.last]
            return [
                Batch(candidates[a:b], batch.first + a, end) for (a, b), end in zip(pairwise(ends), last, strict=True)
            ]
        if self.paper:
            return [Batch(kept, batch.first, batch.last, batch.stage + 1)]
        if len(kept) < len(ranked):
            return [Batch(kept, batch.first, batch.last)]
        batch.stage += 1
        return [batch]

    def remembers(self, state):
        """Whether an agent's state says the same."""
        return all(
            (state.size[0, b.first], state.stage[0, b.first]) == (len(b.items), b.stage)
            and set(np.flatnonzero(state.batch_of[0] == b.first).tolist()) == b.items
            and (
                len(b.items) == 1
                or all((b.n[d], b.c[d]) == (state.counted[0, d], state.clicked[0, d]) for d in b.items)
            )
            for b in self.batches
        )


def batches(state, row, positions):
    """The items of each batch of a row; asserts that the batches partition the positions."""
    parts, first = [], 0
    while first < positions:
        stop = first + state.size[row, first]
        assert stop > first
        parts.append(state.order[row, first:stop].tolist())
        assert parts[-1] == sorted(parts[-1])
        assert (state.batch_of[row, parts[-1]] == first).all()
        first = stop
    assert sorted(state.order[row]) == list(range(state.order.shape[1]))
    assert (state.batch_of[row, state.order[row, first:]] == state.order.shape[1]).all()  # eliminated
    return parts


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("horizon", [5, ROUNDS])  # with the short one much is decided, rightly or not
def test_the_lists_are_those_of_the_oracle(shape, schedule, horizon):
    L, K = shape
    model = model_of(*shape, SCHEDULES.index(schedule), horizon)
    agent = BatchRank(num_items=L, num_positions=K, num_envs=ROWS, seed=11, horizon=horizon, schedule=schedule)
    oracles = [BatchRankOracle(L, K, 11 + row, schedule, horizon) for row in range(ROWS)]
    users = [Users(model, L, K, seed=(13, row, *shape)) for row in range(ROWS)]
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed.tolist() == [oracle.act() for oracle in oracles], f"round {t + 1}"
        clicks = [user.clicks(items) for user, items in zip(users, displayed, strict=True)]
        agent.update(displayed, clicks)
        for oracle, items, marks in zip(oracles, displayed.tolist(), clicks, strict=True):
            oracle.update(items, marks)
    for row, oracle in enumerate(oracles):
        state = State(*(part[row : row + 1] for part in agent.state))
        assert oracle.remembers(state)
        assert len(batches(state, 0, K)) == len(oracle.batches)
    met = {what: sum(oracle.met[what] for oracle in oracles) for what in oracles[0].met}
    assert met["checks"] >= 8  # or little was compared
    assert met["cuts"] + met["eliminated"] > 0
    assert L > K or met["eliminated"] == 0
    if horizon == 5:
        assert met["checks"] >= 16
        assert met["unsuccessful"] > 0
        assert met["cuts"] > 0
        assert met["eliminated"] > 0 or L == K
        assert met["choices"] > 0 or shape != (10, 10)  # checks where the paper's schedule has to choose a place


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (4, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("horizon", [1, 2, 5])  # with one or two rounds the paper's bounds are the means: ties decide
@pytest.mark.parametrize("levels", [0, 2])  # with two, batches of several items stay beside each other
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, schedule, horizon, levels):
    L, K = shape
    agent = BatchRank(num_items=L, num_positions=K, seed=3, horizon=horizon, schedule=schedule)
    oracle, chance = BatchRankOracle(L, K, 3, schedule, horizon), np.random.default_rng(5)
    favourites = np.linspace(0.9, 0.1, L) if levels == 0 else np.arange(L) < 2
    for t in range(1500):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        if chance.random() < 0.5:
            displayed = chance.permutation(L)[None, :K]
        clicks = (chance.random(K) < favourites[displayed[0]]).astype(int).tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        assert oracle.remembers(agent.state)
    assert oracle.met["cuts"] + oracle.met["eliminated"] > 0


@unhurried
@given(st.integers(1, 10**9), st.floats(0, 1), st.floats(1e-3, 60))
def test_the_bounds_are_exact_to_1e_8(counted, part, exponent):
    clicked = round(part * counted)
    upper, lower = kl_upper(clicked, counted, exponent), kl_lower(clicked, counted, exponent)
    assert upper == pytest.approx(bisected_index(clicked / counted, counted, exponent), abs=1e-8)
    assert lower == pytest.approx(1 - bisected_index((counted - clicked) / counted, counted, exponent), abs=1e-8)
    assert 0 <= lower <= clicked / counted <= upper <= 1


def test_bounds_in_closed_form():
    assert kl_upper(0, 7, 2.0) == pytest.approx(1 - math.exp(-2 / 7), abs=1e-12)
    assert kl_lower(7, 7, 2.0) == pytest.approx(math.exp(-2 / 7), abs=1e-12)
    assert (kl_lower(0, 7, 2.0), kl_upper(7, 7, 2.0)) == (0, 1)
    assert kl_lower(3, 7, 0.0) <= kl_upper(3, 7, 0.0) == 3 / 7


def test_the_schedules():
    shape = {"num_items": 10, "num_positions": 5, "horizon": 1000}
    authors, paper = BatchRank(**shape).state, BatchRank(schedule="paper", **shape).state
    assert authors.unit[0] == pytest.approx(math.log(10_000) / 0.5**2)
    assert authors.exponent[0] == pytest.approx(math.log(10_000))
    assert paper.unit[0] == pytest.approx(16 * math.log(1000))
    assert paper.exponent[0] == pytest.approx(math.log(1000) + 3 * math.log(math.log(1000)))
    for horizon in (1, 2):  # log log T is negative or minus infinity
        agent = BatchRank(num_items=2, num_positions=2, horizon=horizon, schedule="paper")
        assert agent.state.exponent[0] == 0
        assert agent.state.unit[0] >= 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_on_noiseless_clicks_two_items_part_at_the_first_check(schedule):
    """One is always clicked and the other never: after n displays of each exp(-f / n) > 1 - exp(-f / n)."""
    agent = BatchRank(num_items=2, num_positions=2, horizon=100, schedule=schedule, seed=1)
    first = math.ceil(4 * math.log(200) if schedule == "authors" else 16 * math.log(100))
    for t in range(1, first + 3):
        displayed = agent.act()
        agent.update(displayed, displayed == 1)
        assert batches(agent.state, 0, 2) == ([[1], [0]] if t >= first else [[0, 1]])
    assert agent.act().tolist() == [[1, 0]]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("L", "K"), [(10, 5), (7, 3), (10, 10), (4, 1)])
def test_the_best_item_is_never_lost_on_noiseless_clicks(schedule, L, K):
    """It is clicked wherever it stands and no other ever is: its bounds are never below another's."""
    agent = BatchRank(num_items=L, num_positions=K, num_envs=20, horizon=1000, schedule=schedule, seed=2)
    best = np.arange(20) % L
    for _ in range(1500):
        displayed = agent.act()
        agent.update(displayed, displayed == best[:, None])
        assert (agent.state.batch_of[np.arange(20), best] == 0).all()
    assert (agent.act()[:, 0] == best).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_sorts_a_pbm_with_clear_gaps(schedule):
    """A bound errs with probability at most exp(-f), by Chernoff, and f is at least log(T) = 26.

    At most 11 batches a row with at most 6 checks each, 6 items and two bounds, in 20 rows: below 1e-7 together. After
    6,600 displays the radius is below .06, and no mean is .07 off (probability below 1e-27), so that gaps of .26 are
    found; the smallest here is .33 * .8. Displays come in half of the rounds at least.
    """
    L, K, rows = 6, 3, 20
    agent = BatchRank(num_items=L, num_positions=K, num_envs=rows, horizon=2 * 10**11, schedule=schedule, seed=6)
    chance = np.random.default_rng(7)
    attraction, examination = np.array([0.01, 1, 0.34, 0.01, 0.67, 0.01]), np.array([1, 0.9, 0.8])
    for t in range(40_000):
        displayed = agent.act()
        agent.update(displayed, chance.random((rows, K)) < attraction[displayed] * examination)
        if t % 500 == 0:
            for row in range(rows):
                parts = batches(agent.state, row, K)
                place = {item: d for d, part in enumerate(parts) for item in part}
                assert place[1] <= place[4] <= place[2]
                assert set(place) >= {1, 4, 2}
    assert (agent.act() == [1, 4, 2]).all()


def test_the_papers_schedule_displays_the_least_observed_items():
    agent = BatchRank(num_items=7, num_positions=3, num_envs=30, horizon=1000, schedule="paper", seed=8)
    for _ in range(100):
        displayed = agent.act()
        before = agent.state.counted.copy()
        agent.update(displayed, np.zeros_like(displayed))
        assert (np.ptp(agent.state.counted, 1) <= 1).all()
        for row in range(30):
            hidden = np.setdiff1d(np.arange(7), displayed[row])
            assert before[row, displayed[row]].max() <= before[row, hidden].min()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_order_of_a_batch_is_equally_likely(schedule):
    agent = BatchRank(num_items=4, num_positions=2, num_envs=24_000, horizon=9, schedule=schedule, seed=9)
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(agent.act().T), 1)
    pairs = counts[~np.eye(4, dtype=bool)]
    # chi-square with 11 degrees of freedom exceeds 55 with probability 8e-8
    assert np.sum((pairs - 2000) ** 2 / 2000) < 55


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_keeps_the_contract(schedule):
    def factory(*, horizon, **shape):
        return BatchRank(schedule=schedule, horizon=5, **shape)  # with many checks in few rounds

    check_agent(factory, rounds=200)
    check_agent(lambda **shape: BatchRank(schedule=schedule, **shape), rounds=60)
    check_agent(factory, num_items=70, num_positions=9, rounds=60, seed=5)


@pytest.mark.parametrize("schedule", ["Authors", "", None, 0, True, ["paper"]])
def test_unknown_schedules_are_refused(schedule):
    with pytest.raises(ValueError, match=r"^schedule = .* is unknown; allowed: 'authors', 'paper'"):
        BatchRank(num_items=3, num_positions=2, horizon=10, schedule=schedule)


def test_it_needs_a_horizon():
    with pytest.raises(ValueError, match=r"^horizon = None is missing; allowed: "):
        BatchRank(num_items=3, num_positions=2)
    for horizon in (0, -1, 1.5, "9", True):
        with pytest.raises(ValueError, match=r"^horizon = .* allowed: "):
            BatchRank(num_items=3, num_positions=2, horizon=horizon)
