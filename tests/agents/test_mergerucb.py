"""MergeRUCB: its duels are those of a slow plain-Python reading, and facts of its paper (Zoghi et al. 2015)."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from agent_oracles import below, drawn, word
from duels import (
    DuelOracle,
    batches_of,
    beside,
    joined,
    keeps_the_winner,
    least_trailing,
    matrix,
    part_after,
    partition,
    played,
    seldom,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym.kernels import beaten, join_batches, leave_batch, upper_bound
from rankgym_agents.mergerucb import MergeRUCB
from rankgym_agents.merging import log_constant

KNOBS = [
    {"delta": 0.99},
    {"delta": 0.99, "alpha": 2.0, "batch_size": 5},
    {"delta": 0.9, "alpha": 0.75, "batch_size": 8},
]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class MergeRUCBOracle(DuelOracle):
    """Zoghi, Whiteson and de Rijke 2015, Algorithm 1. Everything is computed anew in every round."""

    def __init__(self, num_arms, seed, alpha=1.01, batch_size=4, delta=0.01):
        super().__init__(num_arms, seed)
        K, p = num_arms, batch_size
        self.alpha, self.p = alpha, p
        self.W = dict.fromkeys(permutations(range(K), 2), 0)  # line 1
        arms = drawn(range(K), 2**32, self.seed())
        b = max(1, K // p)
        self.B = [arms[i * p : (i + 1) * p if i < b - 1 else K] for i in range(b)]  # line 2
        self.C = math.ceil(((4 * alpha - 1) * K**2 / ((2 * alpha - 1) * delta)) ** (1 / (2 * alpha - 1)))  # line 3
        self.S = 1  # line 4
        self.removed, self.most_removed, self.joined_again = 0, 0, 0
        self.lines_6_to_8()

    def U(self, k, l):  # noqa: E741
        N = self.W[k, l] + self.W[l, k]
        return self.W[k, l] / N + math.sqrt(self.alpha * math.log(self.t + self.C) / N) if N else math.inf  # line 7

    def lines_6_to_8(self):
        for step in range(len(self.B)):
            self.i = (self.t + step) % len(self.B)  # line 6
            batch = self.B[self.i]
            while lost := [k for k in batch if any(self.U(k, l) < 1 / 2 for l in batch if l != k)]:  # noqa: E741
                self.removed += 1
                self.most_removed = max(self.most_removed, len(lost))
                batch.remove(lost[0])  # line 8
            if len(batch) > 1 or len(self.B) == 1:
                return
        self.merge()
        self.lines_6_to_8()

    def merge(self):
        self.B = joined(self.B, 3 * self.p / 2)  # line 13
        while min(map(len, self.B)) < 2 and len(again := joined(self.B, 3 * self.p / 2)) < len(self.B):
            self.B = again
            self.joined_again += 1
        self.S += 1  # line 14

    def act(self):
        batch = self.B[self.i]
        if len(batch) == 1:
            return batch[0], batch[0]
        c = batch[below(word(self.seed(), 0), len(batch))]  # line 9
        others = [arm for arm in batch if arm != c]
        return c, max(others, key=lambda arm: (self.U(arm, c), word(self.seed(), 1 + arm)))  # line 10

    def update(self, left, right, left_won):
        if left != right:
            self.W[(left, right) if left_won else (right, left)] += 1  # line 11
            if 1 < sum(map(len, self.B)) <= self.K / 2**self.S:  # line 12
                self.merge()
        self.t += 1
        self.lines_6_to_8()

    def candidate(self):
        return least_trailing(self.W, [k for batch in self.B for k in batch])


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("certain 2", 1),
        ("planted 3", 2),
        ("cyclic", 3),
        ("arxiv", 4),
        ("planted 6", 5),
        ("planted 10", 6),
        ("certain 17", 7),
        ("planted 17", 8),
        ("bradley-terry 17", 9),
        ("flat 10", 10),
    ],
)
def test_the_duels_are_the_papers(name, seed, knobs):
    P = matrix(name)
    agent, oracle = MergeRUCB(num_arms=len(P), seed=seed, **knobs), MergeRUCBOracle(len(P), seed, **knobs)
    beside(agent, oracle, P, seed=seed)
    assert batches_of(agent.state) == oracle.B
    assert agent.state.stage[0] == oracle.S
    assert agent.remaining[0] == len(P) - oracle.removed
    assert oracle.most_removed <= 1  # nobody but the loser of the last duel can be out
    if name.startswith("certain"):
        assert agent.remaining[0] < len(P)


@pytest.mark.parametrize(("name", "p"), [("certain 17", 4), ("planted 10", 5), ("cyclic", 4), ("planted 2", 4)])
def test_the_duels_are_the_papers_with_any_compiler(name, p):
    P = matrix(name)
    knobs = {"delta": 0.99, "batch_size": p}
    agent, oracle = MergeRUCB(num_arms=len(P), seed=5, **knobs), MergeRUCBOracle(len(P), 5, **knobs)
    beside(agent, oracle, P, rounds=700)


def test_no_arm_stays_alone_where_its_batch_fits_another():
    """Of batches of 1, 1 and 4 arms the first and the last are joined, and then the second one with them."""
    agent, oracle = MergeRUCB(num_arms=13, delta=0.99, seed=1), MergeRUCBOracle(13, 1, delta=0.99)
    beside(agent, oracle, matrix("certain 13"), rounds=800)
    assert partition(agent.state) == oracle.B
    assert oracle.joined_again == 1


@pytest.mark.parametrize(("K", "p"), [(3, 4), (9, 4), (17, 5), (40, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(K, p):
    knobs = {"delta": 0.99, "batch_size": p}
    agent, oracle = MergeRUCB(num_arms=K, seed=3, **knobs), MergeRUCBOracle(K, 3, **knobs)

    def batches_agree():
        assert partition(agent.state) == oracle.B

    beside(agent, oracle, matrix(f"certain {K}"), 4000, K, foreign=0.6, look=batches_agree)
    batches_agree()
    assert oracle.removed > 0


@pytest.mark.parametrize(
    ("K", "p", "sizes"), [(1, 4, [1]), (3, 4, [3]), (7, 4, [7]), (17, 4, [4, 4, 4, 5]), (8, 4, [4, 4])]
)
def test_the_first_batches_are_line_2s(K, p, sizes):
    state = MergeRUCB(num_arms=K, num_envs=3, batch_size=p, seed=1).state
    for row in range(3):
        assert [len(batch) for batch in partition(state, row)] == sizes


def test_arms_are_assigned_at_random():
    rows = 20_000
    state = MergeRUCB(num_arms=9, num_envs=rows, seed=3).state
    # 4 / 9 of 20,000 within 0.0194, which is 5.5 standard deviations: probability 4e-8 each, 3.5e-7 for all nine
    assert (np.abs((state.batch_of == 0).mean(0) - 4 / 9) < 0.0194).all()


@pytest.mark.parametrize(("alpha", "delta"), [(1.01, 0.01), (0.75, 0.5), (3.0, 0.9)])
def test_two_arms_without_noise_part_when_the_bound_says(alpha, delta):
    """After N wins in N rounds u = sqrt(alpha ln(N + 1 + C) / N), as line 8 comes in the next round."""
    C = math.ceil(((4 * alpha - 1) * 4 / ((2 * alpha - 1) * delta)) ** (1 / (2 * alpha - 1)))
    duels = next(N for N in range(1, 10**4) if math.sqrt(alpha * math.log(N + 1 + C) / N) < 1 / 2)
    agent = MergeRUCB(num_arms=2, alpha=alpha, delta=delta, seed=6)
    part_after(agent, duels)


def test_lemma_3_bounds_the_duels_of_every_pair():
    """Without noise Delta = 1/2, and no pair meets more often than 4 alpha ln(T + C) + 1 times: line 8 comes late."""
    K, T = 40, 4000
    agent = MergeRUCB(num_arms=K, num_envs=10, seed=4)
    played(agent, matrix(f"certain {K}"), T)
    C = math.exp(agent.state.log_constant[0])
    assert (agent.remaining == 1).all()
    assert (agent.candidate == 0).all()
    wins = agent.state.wins
    assert (wins + wins.transpose(0, 2, 1)).max() <= 4 * 1.01 * math.log(T + C) + 1


@pytest.mark.parametrize("K", [32, 96])
def test_the_number_of_duels_is_linear_in_the_number_of_arms(K):
    """Without noise, as in the proof: stage S has at most K / 2^(S - 1) arms, of which each meets less than 2 p others,

    and no pair meets more often than 4 alpha ln(T + C) + 1 times.
    """
    T = 300 * K
    agent = MergeRUCB(num_arms=K, num_envs=3, seed=4)
    played(agent, matrix(f"certain {K}"), T)
    assert (agent.remaining == 1).all()
    per_pair = 4 * 1.01 * math.log(T + math.exp(agent.state.log_constant[0])) + 1
    duels = agent.state.wins.sum((1, 2))
    assert (duels < 2 * K * 4 * per_pair).all()  # 2 K arms in all stages together, times 2 p pairs, halved


def test_batches_stay_within_their_limits():
    p, K = 4, 60
    agent, chance = MergeRUCB(num_arms=K, num_envs=5, batch_size=p, delta=0.99, seed=2), np.random.default_rng(1)
    P, left_before = matrix(f"planted {K}"), agent.remaining
    out = [set() for _ in range(5)]
    for _ in range(6000):
        duel = agent.act()
        for row in range(5):
            pair = {int(duel["left"][row]), int(duel["right"][row])}
            assert not pair & out[row]
            assert agent.state.batch_of[row, duel["left"][row]] == agent.state.batch_of[row, duel["right"][row]]
        left_won = chance.random(5) < P[duel["left"], duel["right"]]
        agent.update(duel, np.stack([left_won, ~left_won], 1))
        assert (agent.remaining <= left_before).all()
        left_before = agent.remaining
        for row in range(5):
            sizes = [len(batch) for batch in batches_of(agent.state, row)]
            assert max(sizes) <= (2 * p - 1 if agent.state.stage[row] == 1 else max(3 * p // 2, 2 * p - 1))
            gone = set(np.flatnonzero(agent.state.batch_of[row] < 0).tolist())
            assert gone >= out[row]
            out[row] = gone
    for row in range(5):
        partition(agent.state, row)
    assert (agent.state.stage > 1).any()


@pytest.mark.parametrize(
    ("name", "rounds", "best"), [("cyclic", 5000, 2), ("arxiv", 40_000, 2), ("planted 34", 20_000, 17)]
)
def test_the_winner_remains_with_probability_1_minus_delta(name, rounds, best):
    """Theorem 1: the error probability is delta = 0.01."""
    keeps_the_winner(MergeRUCB(num_arms=len(matrix(name)), num_envs=100, seed=8), name, rounds, best)


def test_without_a_difference_nobody_is_removed():
    """Lemma 4: with probability 0.99 no bound is ever wrong."""
    agent = MergeRUCB(num_arms=6, num_envs=200, seed=3)
    played(agent, matrix("flat 6"), 3000)
    seldom(agent.remaining < 6, 14)


@unhurried
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e4))
def test_line_8_without_a_division(won, lost, budget):
    upper = upper_bound(won, won + lost, budget)
    assume(abs(upper - 1 / 2) > 1e-12)  # not where rounding decides
    assert beaten(won, lost, budget, 0) == (upper < 1 / 2)


@unhurried
@given(st.integers(0, 400), st.integers(0, 400), st.floats(0.01, 100), st.floats(0, 100), st.booleans())
def test_only_a_loss_can_put_an_arm_out(won, lost, budget, more, wins):
    """The claim behind the one suspect: neither time nor a win makes u_kl < 1/2."""
    assume(not beaten(won, lost, budget, 0))
    assert not beaten(won + wins, lost, budget + more, 0)


@unhurried
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(4, 15), st.integers(0, 3))
def test_batches_are_joined_by_line_13(sizes, limit, out):
    start = np.append(0, np.cumsum([*sizes, *[0] * 3]))
    arms = np.random.default_rng(1).permutation(sum(sizes) + out)
    batches = [arms[a:b].tolist() for a, b in pairwise(start[: len(sizes) + 1])]
    order = arms.copy()
    count = join_batches(order, start, len(sizes), limit)
    assert [order[a:b].tolist() for a, b in pairwise(start[: count + 1])] == joined(batches, limit)
    assert order[sum(sizes) :].tolist() == arms[sum(sizes) :].tolist()


@unhurried
@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_an_arm_leaves_its_batch(sizes, data):
    start = np.append(0, np.cumsum(sizes))
    order = np.random.default_rng(1).permutation(sum(sizes) + 2)
    batch = data.draw(st.integers(0, len(sizes) - 1))
    member = data.draw(st.sampled_from(order[start[batch] : start[batch + 1]].tolist()))
    expected = [order[a:b].tolist() for a, b in pairwise(start)]
    expected[batch].remove(member)
    rest = order[sum(sizes) :].tolist()
    leave_batch(order, start, len(sizes), batch, member)
    assert [order[a:b].tolist() for a, b in pairwise(start)] == expected
    assert order[start[-1] :].tolist() == [member, *rest]


@pytest.mark.parametrize(
    ("alpha", "K", "delta"), [(1.01, 136, 0.01), (0.71, 10, 0.5), (5.0, 2, 0.99), (0.55, 700, 1e-3)]
)
def test_the_constant_is_line_3s(alpha, K, delta):
    C = math.ceil(((4 * alpha - 1) * K**2 / ((2 * alpha - 1) * delta)) ** (1 / (2 * alpha - 1)))
    assert log_constant(alpha, K, delta) == pytest.approx(math.log(C), abs=1 / C)
    assert MergeRUCB(num_arms=K, alpha=alpha, delta=delta).state.constant[0] == pytest.approx(C, rel=1e-9)


def test_a_constant_beyond_all_floats():
    """alpha = 0.501 has C(delta) = 1e3700 or so: ln(t + C) is then ln C, and explores as long as that says."""
    agent = MergeRUCB(num_arms=2, alpha=0.501, seed=1)
    log_c = 500 * math.log((4 * 0.501 - 1) * 4 / ((2 * 0.501 - 1) * 0.01))
    assert agent.state.log_constant[0] == pytest.approx(log_c)
    duels = math.floor(4 * 0.501 * log_c) + 1
    part_after(agent, duels)


@unhurried
@given(
    st.one_of(st.floats(max_value=0.5), st.text(), st.none(), st.booleans(), st.sampled_from([math.nan, math.inf])),
    st.one_of(st.integers(max_value=3), st.floats(), st.text(), st.none()),
    st.one_of(st.floats(max_value=0), st.floats(min_value=1), st.just(math.nan), st.text(), st.none()),
)
def test_bad_knobs_are_refused(alpha, batch_size, delta):
    for name, value in (("alpha", alpha), ("batch_size", batch_size), ("delta", delta)):
        with pytest.raises((ValueError, TypeError), match=name):
            MergeRUCB(num_arms=3, **{name: value})
