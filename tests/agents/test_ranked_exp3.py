"""RankedEXP3: against a plain reading of its papers, and facts of Exp3 and of the ranked bandits algorithm."""

import math
from itertools import permutations

import numpy as np
import pytest
from agent_oracles import Oracle, Users, below, beside_foreign_lists, word
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym.kernels import bits
from rankgym_agents.ranked_exp3 import RankedEXP3, draw

ROUNDS = 1000
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


class RankedEXP3Oracle(Oracle):
    """Radlinski et al. 2008, the ranked bandits algorithm, with Exp3 of Bubeck and Cesa-Bianchi 2012, section 3.1."""

    def __init__(self, num_items, num_positions, seed, eta):
        super().__init__(num_items, num_positions, seed)
        self.eta = eta
        self.S = [[0.0] * num_items for _ in range(num_positions)]  # initialize MAB_1, ..., MAB_k

    def probabilities(self, k):
        least = min(self.S[k])
        weights = [math.exp(-self.eta * (loss - least)) for loss in self.S[k]]
        return [weight / math.fsum(weights) for weight in weights]

    def arm(self, k):
        """select-arm(MAB_k)"""
        u, p = (word(self.seed(), k) >> 11) / 2**53, self.probabilities(k)
        return next(i for i in range(self.L) if u < math.fsum(p[: i + 1]) or i == self.L - 1)

    def act(self):
        b = []
        for k in range(self.K):  # sequentially select documents
            item = self.arm(k)
            if item in b:  # replace repeats
                unselected = [i for i in range(self.L) if i not in b]
                item = unselected[below(word(self.seed(), self.K + k), len(unselected))]
            b.append(item)
        return b

    def update(self, displayed, clicks):
        for k in range(self.K):  # determine feedback for MAB_k
            arm = self.arm(k)
            f = 1 if clicks[k] == 1 and displayed[k] == arm else 0
            loss = (1 - f) / self.probabilities(k)[arm]
            self.S[k][arm] += round(loss * 2**16) / 2**16  # update(MAB_k, arm, f)
        self.t += 1

    def remembers(self, state):
        return state.round[0] == self.t - 1 and state.loss[0].tolist() == self.S


def chances(agent):
    """The probabilities of the arms, (rows, positions, items)."""
    return agent.state.weight / agent.state.total[..., None]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    ("model", "eta"), [("pbm", None), ("cm", None), ("dcm", None), ("pbm", 0.3), ("cm", 5.0), ("dcm", 0.05)]
)
def test_the_lists_are_the_papers(shape, model, eta):
    L, K = shape
    agent = RankedEXP3(num_items=L, num_positions=K, horizon=ROUNDS, seed=11, eta=eta)
    oracle = RankedEXP3Oracle(L, K, 11, math.sqrt(2 * math.log(L) / (ROUNDS * L)) if eta is None else eta)
    users = Users(model, L, K, seed=(1, L, K))
    for t in range(ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1} on {model}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)
    assert np.allclose(chances(agent)[0], [oracle.probabilities(k) for k in range(K)], rtol=1e-9, atol=1e-250)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (4, 1)], ids=str)
def test_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    agent, oracle = RankedEXP3(num_items=L, num_positions=K, eta=0.1, seed=3), RankedEXP3Oracle(L, K, 3, 0.1)
    for _ in beside_foreign_lists(agent, oracle, 600):
        assert oracle.remembers(agent.state)


def test_it_keeps_the_contract_with_a_large_eta():
    check_agent(lambda **shape: RankedEXP3(eta=2, **shape), num_items=70, num_positions=9, rounds=40, seed=5)


@pytest.mark.parametrize("eta", [1e-9, 0.01, 1.0, 30.0, 1.7e308])
def test_the_probabilities_sum_to_one_and_stay_positive(eta):
    """Also where every item is lost all the time, and where one item wins for long: nothing vanishes or overflows."""
    for favourite, horizon in ((None, 3000), (2, 3000)):
        agent = RankedEXP3(num_items=6, num_positions=3, num_envs=4, eta=eta, seed=1)
        for _ in range(horizon):
            displayed = agent.act()
            agent.update(displayed, displayed == favourite if favourite is not None else np.zeros((4, 3), int))
            assert agent.state.total.min() >= 0.5
        p = chances(agent)
        assert (p > 0).all()
        assert np.abs(p.sum(2) - 1).max() < 1e-12
        with np.errstate(over="ignore"):
            wanted = np.exp(-eta * (agent.state.loss - agent.state.loss.min(2, keepdims=True)))
        wanted /= wanted.sum(2, keepdims=True)
        assert np.allclose(p, wanted, rtol=1e-9, atol=1e-250)


@unhurried
@given(st.floats(0.001, 3), st.integers(0, 2**64), st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3)))
def test_a_loss_lowers_only_its_arms_probability_and_a_reward_changes_nothing(eta, seed, stream):
    agent = RankedEXP3(num_items=4, num_positions=3, eta=eta, seed=seed)
    for clicks in stream:
        before, losses = chances(agent)[0].copy(), agent.state.loss[0].copy()
        displayed = agent.act()
        agent.update(displayed, [clicks])
        after, lost = chances(agent)[0], agent.state.loss[0] > losses
        assert (lost.sum(1) <= 1).all()
        for k in range(3):
            if lost[k].any():
                assert after[k, lost[k]] <= before[k, lost[k]]
                # less 1e-250: an arm of the least weight has no probability to speak of
                assert (after[k, ~lost[k]] >= before[k, ~lost[k]] * (1 - 1e-12) - 1e-250).all()
            else:
                assert clicks[k] == 1
                assert (after[k] == before[k]).all()


def test_a_replaced_bandit_has_a_loss_though_its_substitute_was_clicked():
    """With all items clicked, a bandit loses exactly where its own draw was placed above; the first never does."""
    rows = 400
    agent = RankedEXP3(num_items=3, num_positions=3, num_envs=rows, eta=0.1, seed=4)
    displayed = agent.act()
    agent.update(displayed, np.ones((rows, 3), int))
    lost = agent.state.loss > 0
    assert not lost[:, 0].any()
    assert lost[:, 1:].any(axis=(0, 2)).all()
    for row, k in np.argwhere(lost.any(2)):
        assert np.flatnonzero(lost[row, k])[0] in displayed[row, :k]  # what it drew stood above
    assert set(agent.state.loss[lost].tolist()) == {3.0}  # 1 / p, p = 1/3


def test_the_first_lists_are_uniform():
    rows = 24_000
    displayed = RankedEXP3(num_items=4, num_positions=2, num_envs=rows, eta=0.1, seed=1).act()
    counts = [np.sum((displayed == order).all(1)) for order in permutations(range(4), 2)]
    # chi-square with 11 degrees of freedom exceeds 55 with probability 7.6e-8
    assert sum((n - 2000) ** 2 / 2000 for n in counts) < 55


def test_draws_follow_the_weights():
    weight, n = np.array([1.0, 0.0, 0.5, 0.25, 0.25]), 20_000
    counts = np.bincount([draw(weight, 2.0, np.uint64(bits(np.uint64(9), i))) for i in range(n)], minlength=5)
    assert counts[1] == 0
    wanted = n * weight[weight > 0] / 2
    # chi-square with 3 degrees of freedom exceeds 33 with probability 3.3e-7
    assert ((counts[weight > 0] - wanted) ** 2 / wanted).sum() < 33


@unhurried
@given(st.lists(st.floats(1e-300, 1), min_size=1, max_size=8), st.sampled_from([0, 2**64 - 1, 2**63, 2**11, 2**53]))
def test_the_ends_of_a_draw(weights, bits_drawn):
    """Whatever the rounding, a draw is an arm that adds to the sum: the last number below 1 does not fall off."""
    weight = np.array(weights)
    total = 0.0
    for w in weights:
        total += w
    arm = draw(weight, total, np.uint64(bits_drawn))
    below_it = 0.0
    for w in weights[:arm]:
        below_it += w
    assert below_it <= (bits_drawn >> 11) / 2**53 * total < below_it + weights[arm]


def test_it_learns_the_best_arm():
    """Theorem 3.1 at one position: regret at most sqrt(2 T L ln L) = 471 in 20,000 rounds, at .85 a wrong round.

    So a row has at most 554 wrong rounds on average. By Hoeffding's inequality the mean of 40 rows is above 554 +
    20,000 sqrt(ln(1e6) / 80) < 8,900 with probability below 1e-6; blind draws have 15,000.
    """
    rows, rounds = 40, 20_000
    agent = RankedEXP3(num_items=4, num_positions=1, num_envs=rows, horizon=rounds, seed=6)
    chance, attraction, wrong = np.random.default_rng(7), np.array([0.05, 0.05, 0.9, 0.05]), 0
    for _ in range(rounds):
        displayed = agent.act()
        wrong += int((displayed != 2).sum())
        agent.update(displayed, (chance.random((rows, 1)) < attraction[displayed]).astype(np.int8))
    assert wrong / rows < 8900


def test_the_default_rate():
    agent = RankedEXP3(num_items=10, num_positions=5, num_envs=2, horizon=1000)
    assert agent.state.eta == pytest.approx([math.sqrt(2 * math.log(10) / 10_000)] * 2)
    assert RankedEXP3(num_items=10, num_positions=5, eta=1, horizon=1000).state.eta == [1.0]
    assert 0 < RankedEXP3(num_items=10, num_positions=5, horizon=10**400).state.eta[0] < 1e-9


@unhurried
@given(
    st.one_of(
        st.floats(max_value=0),
        st.just(math.inf),
        st.integers(max_value=0),
        st.just(10**400),
        st.just(math.nan),
        st.booleans(),
        st.text(),
        st.just([0.1]),
    )
)
def test_bad_rates_are_refused(eta):
    with pytest.raises(ValueError, match=r"^eta = .* is out of range; allowed: a finite number above 0"):
        RankedEXP3(num_items=2, num_positions=1, eta=eta)


def test_the_default_rate_needs_the_horizon():
    with pytest.raises(ValueError, match=r"horizon = None and eta = None"):
        RankedEXP3(num_items=2, num_positions=1)
