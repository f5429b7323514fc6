"""BubbleRank: facts of its paper (Li et al. 2019)."""

import math

import numpy as np
import pytest

from rankgym_agents import BubbleRank


def misordered(lists):
    """|V(R)| of each row, where item 0 is the most attractive, 1 the next, ..."""
    upper, lower = np.triu_indices(lists.shape[1], 1)
    return (lists[:, upper] > lists[:, lower]).sum(1)


def test_it_is_safe_and_it_learns():
    """Lemma 2: more than |V(R_0)| + K / 2 misordered pairs with probability at most delta^(1/2) K^2 n a row.

    Here that is 1e-16 * 36 * 20,000 * 100 = 7.2e-9 in all; on the same event no base list is ever worse than R_0.
    """
    K, rows, rounds = 6, 100, 20_000
    random = np.random.default_rng(0)
    attraction = np.array([0.95, 0.8, 0.6, 0.4, 0.2, 0.05])
    examination = np.array([1.0, 0.95, 0.9, 0.8, 0.7, 0.6])
    initial_list = np.array([random.permutation(K) for _ in range(rows)])
    agent = BubbleRank(num_items=K, num_positions=K, num_envs=rows, delta=1e-32, seed=1, initial_list=initial_list)
    first = misordered(initial_list)
    for _ in range(rounds):
        displayed = agent.act()
        assert (misordered(displayed) <= first + K / 2).all()
        assert (np.abs(np.argsort(displayed) - np.argsort(agent.state.base)) <= 1).all()  # at most one place away
        agent.update(displayed, random.random((rows, K)) < attraction[displayed] * examination)
        assert (misordered(agent.state.base) <= first).all()
    assert misordered(agent.state.base).mean() < first.mean() / 2


def test_the_first_rounds_exchange_the_pairs_of_the_listing():
    """h = t mod 2 with t = 1, 2, ...: positions (2, 3), (4, 5) first, then (1, 2), (3, 4); each by a fair coin."""
    rows = 40_000
    agent = BubbleRank(num_items=5, num_positions=5, num_envs=rows, delta=0.01, seed=2)
    for pairs in ([(1, 2), (3, 4)], [(0, 1), (2, 3)], [(1, 2), (3, 4)]):
        displayed = agent.act()
        agent.update(displayed, np.zeros((rows, 5), int))
        left = set(range(5)) - {k for pair in pairs for k in pair}
        assert all((displayed[:, k] == k).all() for k in left)
        exchanged = np.array([displayed[:, k] == k + 1 for k, _ in pairs])
        # a mean of 40,000 fair coins is further than 0.0135 from 1/2 with probability 7e-8, six of them 4e-7; of their
        # products from 1/4 with 5e-10
        assert (np.abs(exchanged.mean(1) - 0.5) < 0.0135).all()
        assert abs(exchanged.all(0).mean() - 0.25) < 0.0135


def test_the_hidden_rival_is_uniform_and_shown_half_the_time():
    """Section 4.3 with K = 3: in even rounds position 3 has no partner in the list."""
    rows = 40_000
    agent = BubbleRank(num_items=7, num_positions=3, num_envs=rows, delta=0.01, seed=3)
    assert set(agent.act()[:, 2]) == {1, 2}  # round 1 exchanges positions 2 and 3
    agent.update(agent.act(), np.zeros((rows, 3), int))
    last = agent.act()[:, 2]
    share = np.array([(last == item).mean() for item in range(7)])
    # of 40,000: 1/2 is missed by more than 0.0135 with probability 7e-8, 1/8 with less than 1e-15
    assert np.abs(share - [0, 0, 1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8]).max() < 0.0135


def test_a_hidden_item_that_is_better_replaces_the_last_one():
    agent = BubbleRank(num_items=3, num_positions=1, delta=0.5, seed=4)
    for _ in range(60):
        displayed = agent.act()
        agent.update(displayed, displayed == 2)
    assert agent.state.base[0, 0] == 2
    won, lost = agent.state.wins[0, 2], agent.state.wins[0, :, 2]
    assert won[0] > 4 * math.log(2)
    assert (lost == 0).all()


def test_two_items_are_exchanged_in_exactly_the_round_of_line_23():
    """With item 1 always clicked alone, s = n: they are exchanged at the first n > 4 log(1 / delta), for ever."""
    delta = 0.01
    agent = BubbleRank(num_items=2, num_positions=2, delta=delta, seed=5)
    for t in range(1, 60):
        displayed = agent.act()
        if t % 2:  # the pair (1, 2) has its turn in even rounds
            assert displayed[0].tolist() == agent.state.base[0].tolist()
        agent.update(displayed, displayed == 1)
        decided = t // 2 > 4 * math.log(1 / delta)
        assert agent.state.base[0].tolist() == ([1, 0] if decided else [0, 1])
        if decided:
            assert agent.act()[0].tolist() == [1, 0]


def test_the_default_delta_is_the_horizon_to_the_power_of_minus_4():
    agent = BubbleRank(num_items=2, num_positions=2, horizon=10**100)
    assert agent.state.log_inv_delta[0] == pytest.approx(400 * math.log(10))
    assert BubbleRank(num_items=2, num_positions=2, delta=0.2).state.log_inv_delta[0] == pytest.approx(math.log(5))


def test_it_needs_a_horizon_or_a_delta():
    with pytest.raises(ValueError, match=r"horizon = None and delta = None"):
        BubbleRank(num_items=3, num_positions=2)
    with pytest.raises(ValueError, match=r"delta = 2 is out of range; allowed: a number in \(0, 1\)"):
        BubbleRank(num_items=3, num_positions=2, delta=2)
