"""BubbleRank: facts of its paper (Li et al. 2019)."""

import math

import gymnasium as gym
import numpy as np
import pytest
from agent_oracles import BubbleRankOracle, Users

import rankgym
from rankgym.conformance.agents import check_agent
from rankgym.models import MODELS
from rankgym_agents import BubbleRank


def misordered(lists):
    """|V(R)| of each row, where item 0 is the most attractive, 1 the next, ..."""
    upper, lower = np.triu_indices(lists.shape[-1], 1)
    return (lists[..., upper] > lists[..., lower]).sum(-1)


@pytest.mark.parametrize("knobs", [{"delta": 1e-32}, {}, {"delta": 1e-32, "exploration": 0.1}], ids=str)
def test_it_is_safe_and_it_learns(knobs):
    """Lemma 2: more than |V(R_0)| + K / 2 misordered pairs with probability at most delta^(1/2) K^2 n a row.

    Here that is 1e-16 * 36 * 20,000 * 100 = 7.2e-9 in all; on the same event no base list is ever worse than R_0.
    With the doubling trick it is 1e-11 in all, as in ``test_it_is_safe_without_a_horizon``.
    """
    K, rows, rounds = 6, 100, 20_000
    random = np.random.default_rng(0)
    attraction = np.array([0.95, 0.8, 0.6, 0.4, 0.2, 0.05])
    examination = np.array([1.0, 0.95, 0.9, 0.8, 0.7, 0.6])
    initial_list = np.array([random.permutation(K) for _ in range(rows)])
    agent = BubbleRank(num_items=K, num_positions=K, num_envs=rows, seed=1, initial_list=initial_list, **knobs)
    first = misordered(initial_list)
    displayed, base = np.empty((2, 500, rows, K), np.int64)
    for _ in range(rounds // len(base)):
        for t in range(len(base)):
            displayed[t] = agent.act()
            base[t] = agent.state.base
            agent.update(displayed[t], random.random((rows, K)) < attraction[displayed[t]] * examination)
        assert (misordered(displayed) <= first + K / 2).all()
        assert (np.abs(np.argsort(displayed) - np.argsort(base)) <= 1).all()  # at most one place away
        assert (misordered(base) <= first).all()
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


def test_a_bad_delta_is_refused():
    with pytest.raises(ValueError, match=r"delta = 2 is out of range; allowed: a number in \(0, 1\)"):
        BubbleRank(num_items=3, num_positions=2, delta=2)


# Fewer exchanges


@pytest.mark.parametrize("horizon", [2000, None])
@pytest.mark.parametrize("shape", [(10, 10), (6, 3), (7, 4)], ids=str)
def test_with_fewer_exchanges_the_lists_are_those_of_the_rule(shape, horizon):
    users, initial_list = Users("pbm", *shape, seed=shape), np.random.default_rng(shape).permutation(shape[0])
    agent = BubbleRank(
        num_items=shape[0], num_positions=shape[1], horizon=horizon, seed=6, initial_list=initial_list, exploration=0.1
    )
    level = None if horizon is None else 4 * math.log(horizon)
    oracle, ended = BubbleRankOracle(*shape, 6, initial_list, level, 0.1, horizon), 0
    for t in range(2000):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        pairs = [(oracle.base[k], oracle.base[k + 1]) for k in range(1, shape[1])]
        ended += any(not oracle.is_exchanged(i, j) and oracle.s[i, j] <= oracle.bound(i, j) for i, j in pairs)
    assert oracle.remembers(agent.state)
    assert ended > 0


def test_with_fewer_exchanges_a_settled_row_displays_its_base_list_for_good():
    chance, horizon = np.random.default_rng(9), 3000
    agent = BubbleRank(num_items=4, num_positions=3, num_envs=20, horizon=horizon, delta=0.9, seed=9, exploration=0.1)
    settled, lists = np.zeros(20, bool), np.empty((20, 3), int)
    for _ in range(horizon):
        shown = agent.act()
        assert (shown == lists)[settled].all()
        agent.update(shown, chance.random(shown.shape) < np.array([0.8, 0.5, 0.2, 0.1])[shown])
        new = agent.settled() & ~settled
        settled, lists[new] = settled | new, agent.state.base[new, :3]
    assert settled.sum() > 10


def test_a_bad_exploration_is_refused():
    with pytest.raises(ValueError, match="exploration = 0 is out of range; allowed: a finite number above 0"):
        BubbleRank(num_items=3, num_positions=2, exploration=0)


# Section 4.3: the doubling trick


@pytest.mark.parametrize("model", ["pbm", "cm", "dcm"])
@pytest.mark.parametrize("shape", [(10, 5), (5, 5), (7, 3), (10, 10), (6, 1), (2, 2)], ids=str)
def test_the_lists_without_a_horizon_are_the_papers(shape, model):
    """In R_0 bad and good items take turns, so that much is decided, and decided anew after each doubling."""
    initial_list, users = np.random.default_rng(shape[0]).permutation(shape[0]), Users(model, *shape, seed=shape)
    users.attraction[initial_list] = np.where(np.arange(shape[0]) % 2, 0.97, 0.03)
    agent = BubbleRank(num_items=shape[0], num_positions=shape[1], seed=11, initial_list=initial_list)
    oracle, undone = BubbleRankOracle(*shape, 11, initial_list, None), 0
    for t in range(4100):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = users.clicks(displayed[0])
        moved = list(oracle.base.values()) != initial_list.tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        undone += moved and oracle.t in (1025, 2049, 4097)
        assert agent.state.base[0].tolist() == list(oracle.base.values())
    assert oracle.remembers(agent.state)
    assert undone > 0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("positions", [10, 5])
def test_the_lists_without_a_horizon_are_the_papers_on_yandex_queries(positions, model):
    """For every click model, from the production list upside down."""
    env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=1, query=[3], num_positions=positions, horizon=None)
    env.reset(seed=1)
    agent = BubbleRank(num_items=10, num_positions=positions, seed=2, initial_list=np.arange(10)[::-1])
    oracle = BubbleRankOracle(10, positions, 2, range(9, -1, -1), None)
    for t in range(2000):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1}"
        clicks = env.step(displayed)[0]
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].tolist())
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (4, 1), (3, 2)], ids=str)
def test_without_a_horizon_it_learns_the_same_from_lists_that_somebody_else_chose(shape):
    L, K = shape
    chance, initial_list = np.random.default_rng(shape), np.arange(L)
    agent = BubbleRank(num_items=L, num_positions=K, seed=3, initial_list=initial_list)
    oracle, undone = BubbleRankOracle(L, K, 3, initial_list, None), 0
    for _ in range(2100):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act()
        if chance.random() < 0.3:
            displayed = chance.permutation(L)[None, :K]
        clicks = (chance.random(K) < np.where(displayed[0] % 2, 0.97, 0.03)).astype(int).tolist()
        moved = list(oracle.base.values()) != initial_list.tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        undone += moved and oracle.t in (1025, 2049)
        assert oracle.remembers(agent.state)
    assert undone > 0


def users(rows, chance, seed, rounds):
    """(rounds, rows, items): whether a user who sees an item clicks it."""
    return np.random.default_rng(seed).random((rounds, rows, len(chance))) < chance


def learn(agent, attracted):
    """Play one round to users who look at everything."""
    displayed = agent.act()
    agent.update(displayed, np.take_along_axis(attracted, displayed, 1))
    return displayed


def test_at_time_n_plus_1_the_base_list_is_the_first_one_again_and_n_is_doubled():
    rows, rounds, K = 20, 20_000, 5
    first = np.array([[4, 3, 2, 1, 0], [2, 4, 0, 3, 1]] * 10)
    agent = BubbleRank(num_items=K, num_positions=K, num_envs=rows, seed=1, initial_list=first)
    moved, returned = {}, {}
    for t, attracted in enumerate(users(rows, np.linspace(0.9, 0, K), 2, rounds), 1):
        n = 1 << (t - 1).bit_length()  # t = n / 2 + 1 .. n
        assert (agent.state.estimate == n).all()
        assert agent.state.log_inv_delta == pytest.approx(4 * math.log(n))
        if t == n // 2 + 1:
            assert (agent.state.base == first).all()
        learn(agent, attracted)
        if t == n - 1:
            moved[n] = agent.state.base.copy()
        if t == n // 2 + K:
            returned[n] = agent.state.base.copy()
        assert agent.state.wins.sum() > 0 or t < 30  # they are kept
    assert (moved[128] == first).all()  # settled after 16 log n comparisons at the earliest
    assert (moved[16384] != first).any(1).all()
    assert (returned[32768] == moved[16384]).all(1).mean() > 0.5  # known again after a pass or a few
    assert misordered(agent.state.base).mean() < misordered(first).mean() / 4


@pytest.mark.parametrize("shape", [(6, 6), (6, 3), (7, 4)], ids=str)
def test_the_rounds_of_an_estimate_are_those_of_an_agent_told_this_horizon(shape):
    """Of one that starts from R_0 with the statistics so far; up to round 256 there are none that matter."""
    rows, chance = 30, [0.97, 0.97, 0.97, 0.03, 0.03, 0.03, 0.03][: shape[0]]
    made = {"num_items": shape[0], "num_positions": shape[1], "num_envs": rows, "seed": 4}
    made["initial_list"] = np.arange(shape[0])[::-1]
    agent, other, undone = BubbleRank(**made), BubbleRank(**made, horizon=256), 0
    for t, attracted in enumerate(users(rows, chance, 5, 4100)):
        if t >= 256 and t & (t - 1) == 0:
            known = BubbleRank(**made, horizon=2 * t).state
            state = agent.state
            undone += (other.state.base != known.base).sum()
            other.state = known._replace(
                round=state.round.copy(), wins=state.wins.copy(), unsettled=np.ones(rows, np.bool_)
            )
        assert (learn(agent, attracted) == learn(other, attracted)).all()
    assert undone > rows


def test_any_first_estimate_that_is_a_power_of_two_up_to_256_gives_the_same_lists():
    shape = {"num_items": 5, "num_positions": 5, "num_envs": 30, "seed": 6, "initial_list": [4, 3, 2, 1, 0]}
    agents = [BubbleRank(**shape) for _ in range(10)]
    for k, agent in enumerate(agents):
        agent.state.estimate[:] = 2**k
        agent.state.log_inv_delta[:] = 4 * math.log(2**k)
    differs = False
    for attracted in users(30, [0.97, 0.97, 0.03, 0.03, 0.03], 7, 1100):
        one, *same, late = (learn(agent, attracted) for agent in agents)
        assert all((one == lists).all() for lists in same)
        differs |= bool((one != late).any())  # 512
    assert differs


@pytest.mark.parametrize("model", ["CM", "PBM", "DCM"])
def test_it_is_safe_without_a_horizon(model):
    """On all calibrated queries, 30,000 rounds of each: no list has K / 2 misordered pairs more than R_0.

    s(j, i) > 2 sqrt(4 m log n) after m comparisons, j the less attractive item, has probability n^-8 at most (Azuma),
    from any start where the pair is randomised; there are 45 pairs and up to n^2 / 2 stretches of m, so 23 n^-6 for
    each n. From n = 256 on (before, nothing can be settled) that is 1e-13 a row, 1e-11 for the 100.
    """
    env = gym.make_vec(f"rankgym/{model}-Yandex-Rerank-v0", num_envs=100, query="all", horizon=None)
    agent = BubbleRank.for_env(env, seed=0)
    assert agent.horizon is None
    history = rankgym.simulate(agent, env, 30_000, seed=0, progress=False)
    assert (history.violations == 0).all()
    assert (agent.state.base != agent.initial_list).any(1).mean() > 0.5  # and it learned


def test_without_a_horizon_it_keeps_the_contract():
    check_agent(lambda horizon, **shape: BubbleRank(**shape), rounds=300)
