"""MergeDTS: its duels are those of a slow plain-Python reading, and facts of its paper (Li et al. 2020)."""

import math
from itertools import combinations, permutations

import pytest
from agent_oracles import beta_by_rejection, drawn, word
from duels import DuelOracle, beside, joined, keeps_the_winner, least_trailing, matrix, part_after, partition
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym.kernels import beaten
from rankgym_agents.mergedts import PRIOR, MergeDTS, next_stage

KNOBS = [
    {"epsilon": 0.99},
    {"epsilon": 0.99, "alpha": 2.0, "batch_size": 5},
    {"alpha": 0.3, "batch_size": 3, "constant": 10.0},
    {"alpha": 0.1, "batch_size": 2, "constant": 1.5},
]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class MergeDTSOracle(DuelOracle):
    """Li, Markov, de Rijke and Zoghi 2020, with what its authors ran. Everything is computed anew in every round."""

    def __init__(self, num_arms, seed, alpha=1.01, batch_size=4, epsilon=0.01, constant=None):
        super().__init__(num_arms, seed)
        K, M = num_arms, batch_size
        self.alpha, self.M, self.S = alpha, M, 1
        self.w = dict.fromkeys(permutations(range(K), 2), 1)  # with the prior counts
        arms = drawn(range(K), 3 * 2**40, self.seed())
        self.B = [arms[i : i + M] for i in range(0, K, M)]
        self.C = constant
        if constant is None:
            self.C = ((4 * alpha - 1) * K**2 / ((2 * alpha - 1) * epsilon)) ** (1 / (2 * alpha - 1))
        self.time = 1  # in the stage
        self.removed, self.singles = 0, 0
        self.prepare()

    def u(self, i, j):
        n = self.w[i, j] + self.w[j, i]
        return self.w[i, j] / n + math.sqrt(self.alpha * math.log(self.time + self.C) / n)

    def prepare(self):
        self.m = self.time % len(self.B)
        while True:
            batch = self.B[self.m]
            if len(batch) == 1 and len(self.B) > 1:
                self.singles += 1
                after = self.B[(self.m + 1) % len(self.B)]
                after += batch
                del self.B[self.m]
                self.m = self.m % len(self.B)
                continue
            lost = [i for i in batch if any(self.u(i, j) < 1 / 2 for j in batch if j != i)]
            if not lost:
                return
            self.removed += 1
            batch.remove(lost[0])

    def act(self):
        batch, K = self.B[self.m], self.K
        if len(batch) == 1:
            return batch[0], batch[0]
        score = dict.fromkeys(batch, 0)
        for i, j in combinations(batch, 2):
            place = 2**40 + 192 * (min(i, j) * K + max(i, j))
            theta = beta_by_rejection(self.seed(), place, self.w[i, j], self.w[j, i])
            score[i if theta > 1 / 2 else j] += 1
        c = max(batch, key=lambda i: (score[i], word(self.seed(), i)))
        phi = {i: beta_by_rejection(self.seed(), 2**41 + 192 * i, self.w[i, c], self.w[c, i]) for i in batch if i != c}
        return c, min(phi, key=phi.get)

    def update(self, left, right, left_won):
        if left != right:
            self.w[(left, right) if left_won else (right, left)] += 1
        self.t += 1
        self.time += 1
        if len(self.B) > 1 and sum(map(len, self.B)) <= self.K // 2**self.S + 1:
            self.B = joined(self.B, 1.5 * self.M)
            if min(map(len, self.B)) <= 0.5 * self.M:
                self.B = joined(self.B, 1.5 * self.M)
            self.S += 1
            self.time = 1
        self.prepare()

    def candidate(self):
        return least_trailing({pair: n - 1 for pair, n in self.w.items()}, [k for batch in self.B for k in batch])


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("certain 2", 1),
        ("planted 3", 2),
        ("cyclic", 3),
        ("arxiv", 4),
        ("planted 10", 6),
        ("certain 17", 7),
        ("planted 17", 8),
        ("bradley-terry 17", 9),
        ("flat 9", 10),
    ],
)
def test_the_duels_are_the_papers(name, seed, knobs):
    P = matrix(name)
    agent, oracle = MergeDTS(num_arms=len(P), seed=seed, **knobs), MergeDTSOracle(len(P), seed, **knobs)
    beside(agent, oracle, P, seed=seed)
    assert partition(agent.state) == oracle.B
    assert agent.state.stage[0] == oracle.S
    assert agent.remaining[0] == len(P) - oracle.removed
    if name.startswith("certain"):
        assert agent.remaining[0] == 1
        assert agent.candidate[0] == 0


@pytest.mark.parametrize(("name", "M"), [("certain 17", 4), ("planted 10", 3), ("cyclic", 2), ("planted 2", 4)])
def test_the_duels_are_the_papers_with_any_compiler(name, M):
    P = matrix(name)
    knobs = {"epsilon": 0.99, "batch_size": M}
    agent, oracle = MergeDTS(num_arms=len(P), seed=5, **knobs), MergeDTSOracle(len(P), 5, **knobs)
    beside(agent, oracle, P, rounds=400)


@pytest.mark.parametrize(("K", "M"), [(3, 2), (9, 4), (17, 5), (40, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(K, M):
    knobs = {"epsilon": 0.99, "batch_size": M}
    agent, oracle = MergeDTS(num_arms=K, seed=3, **knobs), MergeDTSOracle(K, 3, **knobs)

    def batches_agree():
        assert partition(agent.state) == oracle.B

    beside(agent, oracle, matrix(f"certain {K}"), 3000, K, foreign=0.6, look=batches_agree)
    batches_agree()
    assert oracle.removed > 0


def test_batches_of_one_arm_are_joined_with_the_next():
    """Both ways, into the following batch and from the last into the first, beside the oracle."""
    joins = 0
    for seed in range(6):
        knobs = {"alpha": 0.1, "batch_size": 2, "constant": 2.0}
        agent, oracle = MergeDTS(num_arms=21, seed=seed, **knobs), MergeDTSOracle(21, seed, **knobs)
        beside(agent, oracle, matrix("planted 21"), rounds=500, seed=seed)
        joins += oracle.singles
    assert joins > 20


def test_a_batch_of_half_the_size_is_joined_once_more():
    """Of three batches of two arms the first and the last are joined, and then the second with them."""
    s = MergeDTS(num_arms=12, seed=1).state
    remaining = set(s.order[0, :6].tolist())
    s.start[0] = 0, 2, 4, 6
    next_stage(s, 0)
    assert s.batches[0] == 1
    assert set(s.order[0, : s.start[0, 1]].tolist()) == remaining


@pytest.mark.parametrize(
    ("K", "M", "sizes"), [(1, 4, [1]), (3, 4, [3]), (7, 4, [4, 3]), (17, 4, [4, 4, 4, 4, 1]), (5, 4, [5])]
)
def test_the_first_batches(K, M, sizes):
    """Of five arms the fifth is a batch of its own, whose turn is first: it is joined at once."""
    state = MergeDTS(num_arms=K, num_envs=3, batch_size=M, seed=1).state
    for row in range(3):
        assert [len(batch) for batch in partition(state, row)] == sizes


@pytest.mark.parametrize(("alpha", "constant"), [(1.01, None), (0.3, 1.0), (0.5, 4e5)])
def test_two_arms_without_noise_part_when_the_bound_says(alpha, constant):
    """After N wins u of the loser is 1 / (N + 2) + sqrt(alpha ln(N + 1 + C) / (N + 2)) in the next round."""
    C = constant or ((4 * alpha - 1) * 4 / ((2 * alpha - 1) * 0.01)) ** (1 / (2 * alpha - 1))
    enough = (N for N in range(1, 10**4) if (1 + math.sqrt((N + 2) * alpha * math.log(N + 1 + C))) / (N + 2) < 1 / 2)
    duels = next(enough)
    agent = MergeDTS(num_arms=2, alpha=alpha, constant=constant, seed=6)
    part_after(agent, duels)


def test_the_first_duels_are_uniform():
    """Before the first duel all preferences are uniform, so the ordered pairs are equally likely."""
    rows = 30_000
    duel = MergeDTS(num_arms=3, num_envs=rows, seed=3).act()
    for left, right in permutations(range(3), 2):
        # 1/6 of 30,000 within 0.0118, which is 5.5 standard deviations: probability 4e-8 each, 2.4e-7 for all
        assert abs(((duel["left"] == left) & (duel["right"] == right)).mean() - 1 / 6) < 0.0118


def test_the_weakest_is_challenged():
    """A champion by far meets the arm that lost most clearly to it.

    After 1,000 duels of each pair, won by the lower arm with 0.9, 0.9 and 0.6: arm 0 is the champion and arm 2 with 0.9
    against its 0.6 the challenger, but for samples more than ten standard deviations off.
    """
    agent = MergeDTS(num_arms=3, num_envs=100, constant=1e300, seed=3)  # whose bounds remove nobody
    agent.state.wins[:] = [[0, 600, 900], [400, 0, 900], [100, 100, 0]]
    duel = agent.act()
    assert (duel["left"] == 0).all()
    assert (duel["right"] == 2).all()


@pytest.mark.parametrize(
    ("name", "rounds", "best"), [("cyclic", 5000, 2), ("arxiv", 40_000, 2), ("planted 34", 20_000, 17)]
)
def test_the_winner_remains_with_probability_1_minus_epsilon(name, rounds, best):
    """The error probability is epsilon = 0.01."""
    keeps_the_winner(MergeDTS(num_arms=len(matrix(name)), num_envs=100, seed=8), name, rounds, best)


@unhurried
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e4))
def test_the_bound_without_a_division(won, lost, budget):
    n = 2 + won + lost
    upper = (1 + won) / n + math.sqrt(budget / n)
    assume(abs(upper - 1 / 2) > 1e-12)  # not where rounding decides
    assert beaten(won, lost, budget, PRIOR) == (upper < 1 / 2)


WRONG = st.one_of(st.text(), st.booleans(), st.sampled_from([math.nan, math.inf, [1]]))


@unhurried
@given(
    st.one_of(st.floats(max_value=0.5), st.none(), WRONG),
    st.one_of(st.integers(max_value=1), st.floats(), st.none(), WRONG),
    st.one_of(st.floats(max_value=0), st.floats(min_value=1), st.none(), WRONG),
    st.one_of(st.floats(max_value=0), WRONG),
)
def test_bad_knobs_are_refused(alpha, batch_size, epsilon, constant):
    knobs = {"alpha": alpha, "batch_size": batch_size, "epsilon": epsilon, "constant": constant}
    for name, value in knobs.items():
        with pytest.raises(ValueError, match=name):
            MergeDTS(num_arms=3, **{name: value})
