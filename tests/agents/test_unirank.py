"""UniRank: its lists are those of a slow reading; its leaders, its clocks, its ties."""

import math
from itertools import chain, pairwise, permutations, product

import numpy as np
import pytest
from agent_oracles import Oracle, Users, beside_foreign_lists, drawn, fallen_index, kl, model_of, word
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym.kernels import tally_of
from rankgym_agents import UniRank
from rankgym_agents.unirank import lead

unhurried = settings(deadline=None)  # the first example may wait for the compiler
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10), (6, 1), (2, 2), (1, 1)]
SETTINGS = [("leader", None), ("global", None), ("horizon", 2000)]


class UniRankOracle(Oracle):
    """Gauthier et al. 2022, as the file's docstring tells it."""

    def __init__(self, num_items, num_positions, seed, clock="leader", horizon=None):
        super().__init__(num_items, num_positions, seed)
        self.clock, self.horizon = clock, horizon
        self.won = dict.fromkeys(product(range(num_items), repeat=2), 0)
        self.led, self.leading, self.found = {}, 0, (0, [])

    def leader(self):
        left, parts = list(range(self.L)), []
        while left:
            top = [i for i in left if all(self.won[i, j] >= self.won[j, i] for j in left)]
            parts.append(top or left)
            left = [i for i in left if i not in parts[-1]]
        return parts

    def index(self, j, i):
        """Of j is better than i."""
        n = self.won[i, j] + self.won[j, i]
        c = {"leader": self.leading, "global": self.t - 1, "horizon": math.inf}[self.clock]
        if n == 0 or c < 3:
            return 1.0
        f = math.log(self.horizon) if c == math.inf else math.log(c) + 3 * math.log(math.log(c))
        mean = self.won[j, i] / n
        if mean < 0.5 and n * kl(mean, 0.5) > f:
            return 0.0  # below 1/2, which is all that matters
        return fallen_index(mean, n, f)

    def played(self):
        """The partition of this round; found once a round."""
        if self.found[0] != self.t:
            self.found = self.t, self.partition()
        return self.found[1]

    def partition(self):
        parts = self.leader()
        ends = np.cumsum([len(part) for part in parts])
        e = int(np.argmax(ends >= self.K))
        neighbours = [([], 0.5, 2, 0)]  # partition, value, and which goes before others of the same value
        for d in range(e):
            value = max(self.index(j, i) for i, j in product(parts[d], parts[d + 1]))
            neighbours.append(([*parts[:d], parts[d] + parts[d + 1], *parts[d + 2 :]], value, 1, -d))
        for j in chain(*parts[e + 1 :]):
            value = max(self.index(j, i) for i in parts[e])
            rest = [item for item in chain(*parts[e + 1 :]) if item != j]
            neighbours.append(([*parts[:e], [*parts[e], j], rest], value, 0, word(self.seed(), self.L + j)))
        return max(neighbours, key=lambda neighbour: neighbour[1:])[0] or parts

    def act(self):
        displayed = []
        for part in self.played():
            displayed += drawn(part, len(displayed), self.seed())
        return displayed[: self.K]

    def update(self, displayed, clicks):
        clicked = {item for item, click in zip(displayed, clicks, strict=True) if click}
        begin = 0
        for part in self.played():
            if begin < self.K:
                for i, j in product(part, part):
                    self.won[i, j] += i in clicked and j not in clicked
            begin += len(part)
        self.t += 1
        leader = str(self.leader())
        self.led[leader] = self.leading = self.led.get(leader, 0) + 1

    def remembers(self, state):
        led = {int(count) for count in state.led[0] if count}
        same = all(self.won[i, j] == state.won[0, i, j] for i, j in self.won)
        return same and led == set(self.led.values()) and state.led[0].sum() == self.t - 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("clock", "horizon"), SETTINGS)
def test_the_lists_are_the_oracles(shape, clock, horizon):
    number = SETTINGS.index((clock, horizon))
    agent = UniRank(num_items=shape[0], num_positions=shape[1], seed=11, clock=clock, horizon=horizon)
    oracle = UniRankOracle(*shape, 11, clock, horizon)
    users = Users(model_of(number, *shape), *shape, seed=(number, *shape))
    for t in range(250):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (4, 1), (3, 2)], ids=str)
@pytest.mark.parametrize(("clock", "horizon"), SETTINGS)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape, clock, horizon):
    agent = UniRank(num_items=shape[0], num_positions=shape[1], seed=3, clock=clock, horizon=horizon)
    oracle = UniRankOracle(*shape, 3, clock, horizon)
    for _ in beside_foreign_lists(agent, oracle, 300, clicked=0.5):
        assert oracle.remembers(agent.state)


def leader_of(won):
    L = len(won)
    order, start, part = np.zeros(L, np.int64), np.zeros(L + 1, np.int64), np.zeros(L, np.int64)
    lead(np.array(won, np.int64), order, start, part)
    parts = [order[a:b].tolist() for a, b in pairwise(start) if a < b]
    assert all(part[item] == d for d, items in enumerate(parts) for item in items)
    return parts


def test_balanced_items_stand_together_and_a_cycle_is_the_last_part():
    assert leader_of(np.zeros((3, 3))) == [[0, 1, 2]]
    assert leader_of([[0, 2, 1], [2, 0, 1], [0, 0, 0]]) == [[0, 1], [2]]
    # 3 is above a cycle of 0, 1 and 2, of which 2 is above 4: 4 is in the part of the cycle
    cycle = np.zeros((5, 5))
    cycle[3, :3] = cycle[3, 4] = cycle[0, 1] = cycle[1, 2] = cycle[2, 0] = cycle[2, 4] = 1
    assert leader_of(cycle) == [[3], [0, 1, 2, 4]]


@unhurried
@given(st.permutations(range(6)))
def test_a_total_order_is_its_own_leader(order):
    won = np.zeros((6, 6))
    for place, item in enumerate(order):
        won[item, order[place + 1 :]] = 3
    assert leader_of(won) == [[item] for item in order]


def test_a_fresh_list_is_a_uniform_shuffle():
    displayed = UniRank(num_items=3, num_positions=3, num_envs=6_000, seed=0).act()
    counts = [np.sum((displayed == order).all(1)) for order in permutations(range(3))]
    # chi-square with 5 degrees of freedom exceeds 40 with probability 1.5e-7
    assert sum((n - 1000) ** 2 / 1000 for n in counts) < 40


def test_an_unseen_item_is_drawn_at_random():
    """Item 0 was clicked: it leads, and one of the others joins its part."""
    agent = UniRank(num_items=5, num_positions=1, num_envs=4_000, seed=4)
    shown = np.zeros((4_000, 1), np.int64)
    agent.update(shown, np.ones_like(shown))
    assert agent.beliefs(7).blocks == ((0,), (1, 2, 3, 4))
    second = agent.act()[:, 0]
    # it is displayed with probability 1/2, so each of the four 500 times. 500 of 4,000 within 117, which is 5.6
    # standard deviations: probability 2e-8 each, 9e-8 for all
    assert (abs(np.bincount(second, minlength=5)[1:] - 500) < 117).all()


def test_a_full_table_forgets_the_leader_that_has_led_least():
    names, counts = np.zeros(4, np.uint64), np.zeros(4, np.int64)
    for name, times in ((9, 3), (13, 1), (1, 2), (6, 2)):  # all but the last begin at place 1
        for _ in range(times):
            place = tally_of(names, counts, np.uint64(name))
            counts[place] += 1
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {9: 3, 13: 1, 1: 2, 6: 2}
    place = tally_of(names, counts, np.uint64(5))
    assert counts[place] == 0
    counts[place] += 1
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {9: 3, 5: 1, 1: 2, 6: 2}


@pytest.mark.parametrize("knobs", [{"clock": "global"}, {"clock": "horizon"}], ids=str)
def test_it_keeps_the_contract(knobs):
    check_agent(lambda **shape: UniRank(**knobs, **{"horizon": 500, **shape}), rounds=100)


def test_the_horizon_is_asked_for():
    with pytest.raises(ValueError, match=r"^horizon = None and clock = 'horizon'; allowed: "):
        UniRank(num_items=3, num_positions=2, clock="horizon")
    with pytest.raises(ValueError, match=r"^clock = 'own'"):
        UniRank(num_items=3, num_positions=2, clock="own")
