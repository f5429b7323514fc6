"""Interleaved Filter 1 and 2 beside a slow version that follows the paper's listing, and how often they are right."""

import math
import pickle

import numpy as np
import pytest
from agent_oracles import below, word
from duels import DuelOracle, beside, matrix, played

from rankgym_agents.interleaved_filter import InterleavedFilter


class InterleavedFilterOracle(DuelOracle):
    """Yue, Broder, Kleinberg and Joachims 2012, IF2; without ``pruning`` IF1."""

    def __init__(self, num_arms, seed, delta, pruning):
        super().__init__(num_arms, seed)
        self.delta, self.pruning = delta, pruning  # line 2
        self.b_hat = below(word(self.seed(), 0), num_arms)  # line 3
        self.W = set(range(num_arms)) - {self.b_hat}  # line 4
        self.met = {"removed": 0, "replaced": 0, "pruned": 0, "choices": 0}
        self.reset()

    def reset(self):
        self.results = {b: [] for b in self.W}  # lines 5 and 6
        self.turn = sorted(self.W)  # of line 8

    def P(self, b):
        return sum(self.results[b]) / len(self.results[b])

    def certain(self, b):  # 1/2 lies outside of the interval
        c = math.sqrt(4 * math.log(1 / self.delta) / len(self.results[b]))
        return not self.P(b) - c < 1 / 2 < self.P(b) + c

    def act(self):
        return self.b_hat, self.turn[0] if self.W else self.b_hat  # line 9

    def update(self, left, right, left_won):
        if self.W:
            self.results[self.turn.pop(0)].append(left_won)  # line 10
            if not self.turn:
                self.end_pass()
        self.t += 1

    def end_pass(self):
        for b in sorted(self.W):
            if self.P(b) > 1 / 2 and self.certain(b):  # line 12
                self.W.remove(b)  # line 13
                self.met["removed"] += 1
        better = [b for b in sorted(self.W) if self.P(b) < 1 / 2 and self.certain(b)]
        self.turn = sorted(self.W)
        if better:  # line 15
            new = better[below(word(self.seed(), 1), len(better))]
            for b in sorted(self.W):
                if self.pruning and self.P(b) > 1 / 2:  # line 16
                    self.W.remove(b)  # line 17
                    self.met["pruned"] += 1
            self.b_hat = new  # line 19
            self.W.remove(new)
            self.met["replaced"] += 1
            self.met["choices"] += len(better) > 1
            self.reset()  # line 20

    def candidate(self):
        return self.b_hat

    def remembers(self, state):
        return state.others[0, : state.size[0]].tolist() == sorted(self.W) and all(
            state.wins[0, b] == sum(self.results[b]) for b in self.W
        )


def compared_with_oracle(name, K, seed, delta, pruning, rounds=2000):
    agent = InterleavedFilter(num_arms=K, seed=seed, delta=delta, pruning=pruning)
    oracle = InterleavedFilterOracle(K, seed, delta, pruning)
    beside(agent, oracle, matrix(name), rounds, seed)
    assert oracle.remembers(agent.state)
    return oracle.met


MATRICES = [("arxiv", 6), ("cyclic", 4), *((f"planted {K}", K) for K in (2, 3, 10, 17)), ("certain 10", 10)]


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize("delta", [0.3, 0.7])
def test_the_duels_are_those_of_the_oracle(pruning, delta):
    met = {"removed": 0, "replaced": 0, "pruned": 0, "choices": 0}
    for seed, (name, K) in enumerate(MATRICES):
        found = compared_with_oracle(name, K, seed, delta, pruning)
        met = {what: met[what] + found[what] for what in met}
    assert min(met["removed"], met["replaced"]) >= 3
    assert (met["pruned"] > 0) == pruning
    assert met["choices"] > 0


def test_a_few_duels_are_those_of_the_oracle():
    for seed in range(4):
        assert compared_with_oracle("certain 6", 6, seed, 0.9, seed % 2 == 0, 100)["removed"] > 0


def test_the_default_delta_is_the_papers():
    assert InterleavedFilter(num_arms=7, horizon=1000).state.log_inv_delta[0] == pytest.approx(math.log(1000 * 49))
    oracle = InterleavedFilterOracle(6, 3, 1 / (2000 * 36), True)
    beside(InterleavedFilter(num_arms=6, seed=3, horizon=2000), oracle, matrix("certain 6"), 2000)


def test_the_first_incumbent_is_a_random_arm():
    """Chi-square of 4 degrees of freedom exceeds 38 with probability 1.1e-7."""
    agent = InterleavedFilter(num_arms=5, num_envs=20_000, delta=0.1, seed=0)
    counts = np.bincount(agent.candidate, minlength=5)
    assert np.sum((counts - 4000) ** 2 / 4000) < 38
    everyone = np.concatenate([agent.state.incumbent[:, None], agent.state.others[:, :4]], 1)
    assert (np.sort(everyone, 1) == np.arange(5)).all()


def test_on_certain_duels_every_pass_is_alike():
    """With P = 0 or 1 the first decision comes when c = sqrt(4 ln(1/delta) / t) <= 1/2, at t = 16 ln(1/delta).

    IF1 needs a new incumbent until it is arm 0; IF2 then has no worse arm than it left.
    """
    K, delta = 6, 0.1
    t = math.ceil(16 * math.log(1 / delta))
    for pruning in (True, False):
        agent = InterleavedFilter(num_arms=K, num_envs=50, delta=delta, pruning=pruning, seed=2)
        first = agent.candidate
        played(agent, matrix("certain 6"), t * (K - 1) - 1)
        assert (agent.candidate == first).all()
        assert (agent.state.size == K - 1).all()
        played(agent, matrix("certain 6"), 1)
        done = first == 0
        assert (agent.state.size[done] == 0).all()
        assert (agent.candidate[~done] < first[~done]).all()
        assert (agent.state.size == np.where(done, 0, first - 1)).all()  # all worse arms were beaten with confidence
        played(agent, matrix("certain 6"), t * K**2)
        assert (agent.candidate == 0).all()
        assert (agent.state.size == 0).all()


def test_the_interval_is_open():
    """With ln(1/delta) = 1 and certain duels c = 1/2 after 16 of them: 1/2 is an end of (P - c, P + c), not in it."""
    assert -math.log(math.exp(-1)) == 1
    agent = InterleavedFilter(num_arms=2, num_envs=20, delta=math.exp(-1), seed=1)
    assert set(agent.candidate.tolist()) == {0, 1}
    played(agent, matrix("certain 2"), 15)
    assert (agent.state.size == 1).all()
    played(agent, matrix("certain 2"), 1)
    assert (agent.state.size == 0).all()
    assert (agent.candidate == 0).all()


def test_pruning_removes_arms_that_if1_keeps():
    """The same duels until the first incumbent falls; then IF2 goes on with a subset of IF1's arms."""
    K = 8
    two = InterleavedFilter(num_arms=K, num_envs=200, delta=0.3, seed=4)
    one = InterleavedFilter(num_arms=K, num_envs=200, delta=0.3, seed=4, pruning=False)
    chance, fallen, fewer = np.random.default_rng(0), np.zeros(200, bool), 0
    first = one.candidate
    preference = matrix("bradley-terry 8")
    for _ in range(3000):
        duels = [agent.act() for agent in (one, two)]
        same = ~fallen
        for side in ("left", "right"):
            assert (duels[0][side] == duels[1][side])[same].all()
        coin = chance.random(200)
        for agent, duel in zip((one, two), duels, strict=True):
            left_won = coin < preference[duel["left"], duel["right"]]
            agent.update(duel, np.stack([left_won, ~left_won], 1))
        now = ~fallen & (one.candidate != first)
        assert (one.candidate == two.candidate)[now].all()
        for row in np.flatnonzero(now):
            kept = [set(agent.state.others[row, : agent.state.size[row]]) for agent in (one, two)]
            assert kept[1] <= kept[0]
            fewer += kept[1] < kept[0]
        fallen |= now
    assert fallen.sum() > 50
    assert fewer > 20


@pytest.mark.parametrize(
    ("name", "K", "pruning", "rounds"),
    [("arxiv", 6, True, 40_000), ("arxiv", 6, False, 40_000), ("cyclic", 4, False, 6000)],
)
def test_it_finds_the_condorcet_winner(name, K, pruning, rounds):
    """Of 2,000 other rows at most one failed. If a row fails with probability 0.01, 11 of 100 do with 8e-9."""
    agent = InterleavedFilter(num_arms=K, num_envs=100, delta=0.1, pruning=pruning, seed=0)
    P = matrix(name, best=2)
    regret = played(agent, P, rounds, best=2)
    assert (agent.candidate == 2).mean() >= 0.9
    assert (agent.state.size == 0).mean() >= 0.9
    assert regret.mean() < 0.75 * (P[2].mean() - 0.5) * rounds  # of random duels


def test_on_cyclic_the_default_finds_the_winner_and_large_deltas_prune_it():
    """delta = 1 / (T K^2): none of 2,000 other rows failed. delta = 0.5: 0.126 of the rows prune arm 0, none of IF1's.

    Of 400 rows fewer than 15 would prune it with probability 3e-10; more than 120 with 1e-20.
    """
    agent = InterleavedFilter(num_arms=4, num_envs=200, horizon=10**5, seed=0)
    played(agent, matrix("cyclic", best=2), 14_000)
    assert (agent.candidate == 2).mean() > 0.9
    two, one = (InterleavedFilter(num_arms=4, num_envs=400, delta=0.5, seed=0, pruning=p) for p in (True, False))
    for agent in (two, one):
        played(agent, matrix("cyclic", best=2), 3000)
        assert (agent.state.size == 0).mean() > 0.9
    assert 15 <= (two.candidate != 2).sum() <= 120
    assert (one.candidate != 2).sum() < 15


def test_other_duels_teach_nothing():
    agent = InterleavedFilter(num_arms=4, delta=0.5, seed=0)
    before = pickle.dumps([part.tolist() for part in agent.state if part is not agent.state.round])
    duel = agent.act()
    left, right = int(duel["left"][0]), int(duel["right"][0])
    spare = int(agent.state.others[0, 1])
    for other in ((right, left), (left, left), (left, spare), (spare, right)):
        agent.update({"left": [other[0]], "right": [other[1]]}, [[1, 0]])
    assert before == pickle.dumps([part.tolist() for part in agent.state if part is not agent.state.round])
    assert agent.state.round[0] == 4


def test_two_arms():
    agent = InterleavedFilter(num_arms=2, num_envs=20, delta=0.1, seed=1)
    played(agent, matrix("certain 2"), 37)  # 16 ln(10) = 36.8
    assert (agent.candidate == 0).all()
    assert (agent.state.size == 0).all()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({}, "horizon = None and delta = None; allowed: "),
        ({"delta": 0}, "delta = 0 is out of range; allowed: a number in \\(0, 1\\)"),
        ({"delta": 1.0}, "delta = 1.0 is out of range; allowed: "),
        ({"delta": "0.1"}, "delta = '0.1' is out of range; allowed: "),
        ({"delta": 0.1, "pruning": 1}, "pruning = 1 is out of range; allowed: True"),
        ({"delta": 0.1, "pruning": None}, "pruning = None is out of range; allowed: True"),
        ({"horizon": 0}, "horizon = 0 is out of range; allowed: "),
    ],
)
def test_bad_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        InterleavedFilter(num_arms=3, **knobs)
