"""Agents for one user at a time, in batches: they keep the contract, and equal batch agents of the same algorithm."""

import pickle
import random

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.arguments import plain_number
from rankgym.experiments.plan.agents import knobs, parse_agent
from rankgym.one_user import per_row, ranking_fault
from rankgym_agents import CascadeUCB1, StaticRanker


class UCB1:
    """CascadeUCB1 (Kveton et al., ICML 2015) as a student writes it, ties by the lowest item."""

    def __init__(self, num_items, num_positions, explore=1.5):
        self.num_positions, self.explore = num_positions, explore
        self.seen, self.clicked, self.round = [0] * num_items, [0] * num_items, 1

    def act(self):
        def index(item):
            if not self.seen[item]:
                return float("inf")
            mean = self.clicked[item] / self.seen[item]
            return mean + np.sqrt(self.explore * np.log(self.round) / self.seen[item])

        return sorted(range(len(self.seen)), key=lambda item: -index(item))[: self.num_positions]

    def update(self, displayed, clicks):
        self.round += 1
        for item, click in zip(displayed, clicks, strict=True):
            self.seen[item] += 1
            self.clicked[item] += click
            if click:
                return


class Shuffler:
    """Random lists from the row's own seed, at first the production list."""

    def __init__(self, *, num_positions, seed, initial_list):
        self.rng, self.items, self.num_positions = random.Random(seed), list(initial_list), num_positions

    def act(self):
        return self.items[: self.num_positions]

    def update(self, displayed, clicks):
        self.rng.shuffle(self.items)


class Winner:
    """Duels the last winner with a random arm."""

    def __init__(self, num_arms, seed, horizon=None):
        self.rng, self.num_arms, self.candidate = random.Random(seed), num_arms, 0

    def act(self):
        return self.candidate, self.rng.randrange(self.num_arms)

    def update(self, left, right, left_won):
        self.candidate = left if left_won else right


UCB1Batch = per_row(UCB1)


@pytest.mark.parametrize("cls", [UCB1, Shuffler, Winner])
def test_the_contract_is_kept(cls):
    rankgym.check_agent(per_row(cls), rounds=60)


def test_a_copy_through_pickle_is_of_the_same_class():
    agent = per_row(Shuffler)(num_items=4, num_positions=2, num_envs=2, seed=5)
    copy = pickle.loads(pickle.dumps(agent))
    assert type(copy) is type(agent) is per_row(Shuffler)
    assert [one.rng.random() for one in copy.agents] == [random.Random(5).random(), random.Random(6).random()]


def test_the_constructor_gets_what_it_asks_for():
    lists = np.array([[2, 0, 1], [1, 2, 0]])
    agent = per_row(Shuffler)(num_items=3, num_positions=3, num_envs=2, seed=0, initial_list=lists)
    np.testing.assert_array_equal(agent.act(), lists)


def test_a_student_with_the_right_ucb1_has_the_regret_of_the_batch_agent():
    """Paired differences of 40 rows over 2,000 rounds: ties are broken in another order, so |z| < 6, error < 1e-8."""
    regret = []
    for cls in (UCB1Batch, CascadeUCB1):
        env = gym.make_vec("rankgym/CM-Yandex-v0", num_envs=40, query="all")
        regret.append(rankgym.simulate(cls.for_env(env, seed=0), env, 2_000, seed=0, progress=False).regret[-1])
    difference = regret[0] - regret[1]
    assert abs(difference.mean()) < 6 * difference.std(ddof=1) / np.sqrt(40)
    assert regret[0].mean() > 0


def test_other_parameters_are_knobs():
    spec = parse_agent(f"{__name__}:UCB1Batch:explore=0.5")
    assert knobs(UCB1Batch) == {"explore": 1.5} == knobs(spec.load())
    env = gym.make_vec("rankgym/CM-Yandex-v0", num_envs=2, query=[0, 1])
    assert [one.explore for one in spec.make(env, 10, 0).agents] == [0.5, 0.5]
    with pytest.raises(TypeError, match="epsilon"):
        UCB1Batch(num_items=3, num_positions=2, epsilon=1)


@pytest.mark.parametrize(
    ("ranking", "fault"),
    [
        ([1, 2], "2 of them"),
        ([0, 3, 0], "item 0 is repeated"),
        ([0, 1, 4], "4 is not an item"),
        ([0, 1, -1], "-1 is not an item"),
        ([0, 1, 2.0], "2.0 is not an item"),
        (None, "not a list"),
        ("012", "not a list"),
    ],
)
def test_a_wrong_list_is_refused_with_its_row_and_round(ranking, fault):
    class Wrong(StudentOfOneRound):
        wrong = ranking

    agent = per_row(Wrong)(num_items=4, num_positions=3, num_envs=2, seed=0)
    agent.update(agent.act(), np.zeros((2, 3), np.int8))
    with pytest.raises(ValueError, match=r"Wrong\.act\(\) returned .* in round 1 of row 0: ") as caught:
        agent.act()
    assert f": {fault}; allowed: 3 different items out of 0 .. 3" in str(caught.value)


class StudentOfOneRound:
    wrong = None

    def __init__(self):
        self.ranking = [2, 0, 1]

    def act(self):
        return self.ranking

    def update(self, displayed, clicks):
        self.ranking = self.wrong


@given(st.lists(st.one_of(st.integers(-1, 5), st.floats(), st.booleans(), st.none()), max_size=5))
def test_a_ranking_has_no_fault_only_if_it_is_one(ranking):
    whole = all(isinstance(item, int) and plain_number(item) is not None for item in ranking)
    good = whole and len(ranking) == 3 == len(set(ranking)) and set(ranking) <= set(range(5))
    assert (ranking_fault(ranking, 5, 3) == "") == good


def test_wrong_arms_are_refused():
    agent = per_row(Winner)(num_arms=2, num_envs=2, seed=0)
    agent.agents[1].candidate = 2
    with pytest.raises(ValueError, match=r"Winner.act\(\) returned \(2, .\) in round 0 of row 1; allowed: two arms"):
        agent.act()
    with pytest.raises(ValueError, match=r"candidate is 2 in round 0 of row 1; allowed: an arm, 0 .. 1"):
        agent.candidate  # noqa: B018


def test_a_missing_method_is_named():
    class Actor:
        def act(self): ...

    with pytest.raises(TypeError, match=r"Actor has no method update; add: def update\(self, displayed, clicks\)"):
        per_row(Actor)
    with pytest.raises(TypeError, match="is not a class"):
        per_row(StaticRanker.for_env)
