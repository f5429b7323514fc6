"""MergeDTS: its duels are those of a slow plain-Python reading, and facts of its paper (Li et al. 2020)."""

import math
import pickle
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from agent_oracles import drawn, word
from duels import DuelOracle, beside, matrix, played
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgym.contract import check_agent
from rankgym_agents.mergedts import MergeDTS, beaten, next_stage

KNOBS = [
    {"epsilon": 0.99},
    {"epsilon": 0.99, "alpha": 2.0, "batch_size": 5},
    {"alpha": 0.3, "batch_size": 3, "constant": 10.0},
    {"alpha": 0.1, "batch_size": 2, "constant": 1.5},
]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


def beta(a, b, seed, first):
    """A Beta variate: two Gammas of Marsaglia and Tsang from one polar step, accepted or refused together."""
    d = [a - 1 / 3, b - 1 / 3]
    for index in range(first, first + 192, 3):
        p, q, u = ((word(seed, index + n) >> 11) / 2**53 for n in range(3))
        p, q = 2 * p - 1, 2 * q - 1
        r2 = p * p + q * q
        if not 0 < r2 < 1:
            continue
        x = [z * math.sqrt(-2 * math.log(r2) / r2) for z in (p, q)]
        v = [(1 + xi / math.sqrt(9 * di)) ** 3 for xi, di in zip(x, d, strict=True)]
        if min(v) > 0 and u < math.exp(
            sum(xi * xi / 2 + di - di * vi + di * math.log(vi) for xi, di, vi in zip(x, d, v, strict=True))
        ):
            return d[0] * v[0] / (d[0] * v[0] + d[1] * v[1])
    raise AssertionError("64 attempts in vain")


def joined(batches, limit):
    """The smallest with the largest if they fit, else the largest alone, and so on."""
    left, result = sorted(batches, key=len), []
    while left:
        if len(left) > 1 and len(left[0]) + len(left[-1]) <= limit:
            result.append(left.pop(0) + left.pop())
        else:
            result.append(left.pop())
    return result


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
            theta = beta(self.w[i, j], self.w[j, i], self.seed(), 2**40 + 192 * (min(i, j) * K + max(i, j)))
            score[i if theta > 1 / 2 else j] += 1
        c = max(batch, key=lambda i: (score[i], word(self.seed(), i)))
        phi = {i: beta(self.w[i, c], self.w[c, i], self.seed(), 2 * 2**40 + 192 * i) for i in batch if i != c}
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
        def merit(k):
            won, lost = ([wins - 1 for pair, wins in self.w.items() if pair[side] == k] for side in (0, 1))
            trails = sum(won < lost for won, lost in zip(won, lost, strict=True))
            return trails, -sum(won) / sum(won + lost) if any(won + lost) else -0.5

        return min((k for batch in self.B for k in batch), key=merit)


def partition(state, row=0):
    """The batches of a row; asserts that the state agrees with itself about them."""
    start = state.start[row, : state.batches[row] + 1].tolist()
    batches = [state.order[row, a:b].tolist() for a, b in pairwise(start)]
    assert sorted(state.order[row]) == list(range(state.order.shape[1]))
    assert start[0] == 0
    assert min(map(len, batches)) >= 1
    for number, batch in enumerate(batches):
        assert (state.batch_of[row, batch] == number).all()
    assert (state.batch_of[row] >= 0).sum() == sum(map(len, batches))
    return batches


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


@pytest.mark.kernels
@pytest.mark.parametrize(("name", "M"), [("certain 17", 4), ("planted 10", 3), ("cyclic", 2), ("planted 2", 4)])
def test_the_duels_are_the_papers_with_any_compiler(name, M):
    P = matrix(name)
    knobs = {"epsilon": 0.99, "batch_size": M}
    agent, oracle = MergeDTS(num_arms=len(P), seed=5, **knobs), MergeDTSOracle(len(P), 5, **knobs)
    beside(agent, oracle, P, rounds=400)


@pytest.mark.parametrize(("K", "M"), [(3, 2), (9, 4), (17, 5), (40, 4)])
def test_it_learns_the_same_from_duels_that_somebody_else_chose(K, M):
    chance, P = np.random.default_rng(K), matrix(f"certain {K}")
    knobs = {"epsilon": 0.99, "batch_size": M}
    agent, oracle = MergeDTS(num_arms=K, seed=3, **knobs), MergeDTSOracle(K, 3, **knobs)
    for t in range(3000):
        duel = agent.act()
        left, right = int(duel["left"][0]), int(duel["right"][0])
        assert (left, right) == oracle.act(), f"round {t + 1}"
        if chance.random() < 0.6:
            left, right = map(int, chance.integers(0, K, 2))
        left_won = bool(chance.random() < P[left, right])
        agent.update({"left": np.array([left]), "right": np.array([right])}, np.array([[left_won, not left_won]]))
        oracle.update(left, right, left_won)
        assert partition(agent.state) == oracle.B
        if t % 50 == 0:
            assert agent.candidate[0] == oracle.candidate()
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


def test_it_keeps_the_contract():
    check_agent(MergeDTS)
    check_agent(lambda **shape: MergeDTS(epsilon=0.99, batch_size=2, **shape), kind="dueling", num_arms=21, seed=2**40)


@pytest.mark.parametrize(
    ("K", "M", "sizes"), [(1, 4, [1]), (3, 4, [3]), (7, 4, [4, 3]), (17, 4, [4, 4, 4, 4, 1]), (5, 4, [5])]
)
def test_the_first_batches(K, M, sizes):
    """Of five arms the fifth is a batch of its own, whose turn is first: it is joined at once."""
    state = MergeDTS(num_arms=K, num_envs=3, batch_size=M, seed=1).state
    for row in range(3):
        assert [len(batch) for batch in partition(state, row)] == sizes


def test_alone_it_is_compared_with_itself():
    agent = MergeDTS(num_arms=1, num_envs=2, seed=0)
    assert agent.remaining.tolist() == [1, 1]
    for _ in range(3):
        duel = agent.act()
        assert duel["left"].tolist() == duel["right"].tolist() == [0, 0]
        agent.update(duel, np.array([[1, 0], [0, 1]]))
    assert agent.candidate.tolist() == [0, 0]
    assert not agent.state.wins.any()


@pytest.mark.parametrize(("alpha", "constant"), [(1.01, None), (0.3, 1.0), (0.5, 4e5)])
def test_two_arms_without_noise_part_when_the_bound_says(alpha, constant):
    """After N wins u of the loser is 1 / (N + 2) + sqrt(alpha ln(N + 1 + C) / (N + 2)) in the next round."""
    C = constant or ((4 * alpha - 1) * 4 / ((2 * alpha - 1) * 0.01)) ** (1 / (2 * alpha - 1))
    enough = (N for N in range(1, 10**4) if (1 + math.sqrt((N + 2) * alpha * math.log(N + 1 + C))) / (N + 2) < 1 / 2)
    duels = next(enough)
    agent = MergeDTS(num_arms=2, alpha=alpha, constant=constant, seed=6)
    played(agent, matrix("certain 2"), duels - 1)
    assert agent.remaining[0] == 2
    played(agent, matrix("certain 2"), 1)
    assert agent.remaining[0] == 1
    assert agent.candidate[0] == 0
    assert played(agent, matrix("certain 2"), 100)[0] == 0


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


def test_the_winner_remains_with_probability_1_minus_epsilon():
    """Of 100 runs with epsilon = 0.01 more than 10 lose the winner with a probability below 1e-6."""
    assert stats.binom.sf(10, 100, 0.01) < 1e-6
    for name, rounds in (("cyclic", 5000), ("arxiv", 40_000)):
        P = matrix(name, best=2)
        agent = MergeDTS(num_arms=len(P), num_envs=100, seed=8)
        played(agent, P, rounds)
        assert ((agent.remaining == 1) & (agent.candidate == 2)).sum() >= 90, name


def test_the_winner_of_many_arms_remains():
    """As above, 100 runs: more than 10 fail with a probability below 1e-6."""
    assert stats.binom.sf(10, 100, 0.01) < 1e-6
    agent = MergeDTS(num_arms=34, num_envs=100, seed=8)
    played(agent, matrix("planted 34", best=17), 20_000)
    assert ((agent.remaining == 1) & (agent.candidate == 17)).sum() >= 90


@unhurried
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e4))
def test_the_bound_without_a_division(won, lost, budget):
    n = 2 + won + lost
    upper = (1 + won) / n + math.sqrt(budget / n)
    assume(abs(upper - 1 / 2) > 1e-12)  # not where rounding decides
    assert beaten(won, lost, budget) == (upper < 1 / 2)


def test_it_goes_on_from_a_pickle():
    agent = MergeDTS(num_arms=20, num_envs=4, epsilon=0.99, seed=9)
    P = matrix("planted 20")
    played(agent, P, 1000)
    again = pickle.loads(pickle.dumps(agent))
    assert (played(agent, P, 1000, seed=3) == played(again, P, 1000, seed=3)).all()
    assert all((a == b).all() for a, b in zip(agent.state, again.state, strict=True))


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
