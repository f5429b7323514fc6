"""TopRank: facts of its paper (Lattimore et al. 2018)."""

import math
from itertools import chain, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym_agents import TopRank
from rankgym_agents.toprank import LANES, C, count, find_peers, next_due, partition, significant

unhurried = settings(deadline=None)  # the first example may wait for the compiler


def blocks(edges, L):
    """The blocks that ``partition`` makes of the relation {(j, i), ...}."""
    worse = np.zeros((L, L), np.bool_)
    for j, i in edges:
        worse[j, i] = True
    order, block, start = np.zeros(L, np.int64), np.zeros(L, np.int64), np.zeros(L + 1, np.int64)
    partition(worse, order, block, start)
    ends = start[: block.max() + 2]
    assert ends[0] == 0
    assert ends[-1] == L
    result = [order[a:b].tolist() for a, b in pairwise(ends)]
    assert all(block[item] == d for d, items in enumerate(result) for item in items)
    return result


def illustrated():
    """An agent in the state of section 4's illustration: L = 5, K = 4, G = {(3, 1), (5, 2), (5, 3)}, items from 1."""
    agent = TopRank(num_items=5, num_positions=4, num_envs=24_000, delta=0.1, seed=0)
    for j, i in ((3, 1), (5, 2), (5, 3)):
        agent.state.worse[:, j - 1, i - 1] = True
    for row in range(agent.num_envs):
        partition(*(part[row] for part in (agent.state.worse, agent.state.order, agent.state.block, agent.state.start)))
    return agent


def test_the_papers_illustration():
    assert blocks([(2, 0), (4, 1), (4, 2)], 5) == [[0, 1, 3], [2], [4]]  # P1 = {1, 2, 4}, P2 = {3}, P3 = {5}
    displayed = illustrated().act()
    assert (np.sort(displayed[:, :3], 1) == [0, 1, 3]).all()  # "the first three positions": P1 in random order
    assert (displayed[:, 3] == 2).all()  # "the fourth position will be item 3 and item 5 is not shown"


def test_the_papers_remark_3_no_elimination():
    """Later (4, 2) and (4, 3) join the relation, and items 4 and 5 compete for the fourth position."""
    assert blocks([(2, 0), (4, 1), (4, 2), (3, 1), (3, 2)], 5) == [[0, 1], [2], [3, 4]]


def test_a_block_is_shuffled_uniformly():
    displayed = illustrated().act()
    counts = [np.sum((displayed[:, :3] == order).all(1)) for order in permutations([0, 1, 3])]
    # chi-square with 5 degrees of freedom exceeds 40 with probability 1.5e-7
    assert sum((n - 4000) ** 2 / 4000 for n in counts) < 40


def test_a_cycle_makes_one_block_of_what_remains():
    assert blocks([(1, 0), (2, 1), (3, 2), (1, 3)], 5) == [[0, 4], [1, 2, 3]]
    assert blocks([(0, 1), (1, 0)], 2) == [[0, 1]]


@unhurried
@given(st.integers(1, 7), st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_a_partition_has_every_item_once_and_no_edge_upwards(L, edges):
    edges = {(j, i) for j, i in edges if j < L and i < L and i < j}  # no cycle: rising items get worse
    parts = blocks(edges, L)
    assert sorted(chain(*parts)) == list(range(L))
    place = {item: d for d, part in enumerate(parts) for item in part}
    assert all(place[j] > place[i] for j, i in edges)
    for d, part in enumerate(parts[1:], 1):
        assert all(any((j, i) in edges for i in parts[d - 1]) for j in part)  # else it would stand higher


def test_the_constants():
    assert pytest.approx(3.3437, abs=1e-4) == C  # line 1; Lemma 6 gives the same formula, and its value as 3.43
    agent = TopRank(num_items=3, num_positions=2, horizon=500)
    assert agent.state.threshold[0] == pytest.approx(2 * math.log(C * 500))  # delta = 1 / n
    assert TopRank(num_items=3, num_positions=2, delta=0.25, horizon=9).state.threshold[0] == pytest.approx(
        2 * math.log(4 * C)
    )


def test_two_items_part_in_exactly_the_round_of_line_12():
    """With item 0 always clicked alone, S = N = t: they part at the first t >= 2 log(c / delta sqrt(t))."""
    delta = 1e-3
    agent = TopRank(num_items=2, num_positions=2, delta=delta, seed=1)
    first = next(t for t in range(1, 1000) if t >= 2 * math.log(C / delta * math.sqrt(t)))
    for t in range(1, first + 3):
        displayed = agent.act()
        agent.update(displayed, displayed == 0)
        assert agent.state.worse[0, 1, 0] == (t >= first)
        assert agent.state.block[0].tolist() == ([0, 1] if t >= first else [0, 0])


def test_only_the_leader_of_a_pair_is_better():
    threshold = 2 * math.log(C / 0.01)
    for ahead, behind in ((10, 0), (30, 5), (40, 40), (200, 100)):
        wanted = ahead - behind >= math.sqrt((ahead + behind) * (threshold + math.log(ahead + behind)))
        assert significant(ahead, behind, threshold) == wanted == (ahead != 40 and ahead != 10)
        assert not significant(behind, ahead, threshold)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(2.0, 200.0), st.integers(0, 10**4))
@unhurried
def test_nothing_is_significant_before_it_is_due(won, lost, threshold, later_lost):
    """Whatever the other item wins meanwhile. One win more, and it would be without the growth of the logarithm."""
    due = next_due(won, lost, threshold)
    assert due > won
    assert due == won + 1 or not significant(due - 1, lost + later_lost, threshold)
    lead, level = due + 1 - lost, threshold + math.log(won + lost)
    assert lead * lead >= (lead + 2 * lost) * level * (1 - 1e-12)


@given(st.integers(1, 140), st.integers(0, 2**32))
@unhurried
def test_an_item_wins_against_those_of_its_block_without_a_click(L, seed):
    """Also where a set of items takes several words."""
    random = np.random.default_rng(seed)
    block, clicks, words = random.integers(0, 3, L), random.random(L) < 0.3, -(-L // 64)
    clicks[item := random.integers(L)] = True
    peers, clicked = np.zeros((L, words), np.uint64), np.zeros(words, np.uint64)
    find_peers(block, peers)
    for j in np.flatnonzero(clicks):
        clicked[j // 64] |= np.uint64(1) << np.uint64(j % 64)
    before = np.append(random.integers(0, 5, L), np.zeros(-L % LANES, np.int64))
    due, wins = before + random.integers(1, 20, len(before)), before.copy()
    reached = count(wins, due, peers[item], clicked)
    wanted = before[:L] + ((block == block[item]) & ~clicks)
    assert wins[:L].tolist() == wanted.tolist()
    assert not wins[L:].any()
    assert reached == bool((wanted == due[:L]).any())


def test_hidden_items_of_a_block_count_as_not_clicked():
    agent = TopRank(num_items=4, num_positions=1, delta=0.1, seed=2)
    item = int(agent.act()[0, 0])
    agent.update([[item]], [[1]])
    wins = np.zeros((4, 4), int)
    wins[item] = [int(j != item) for j in range(4)]
    assert (agent.state.wins[0] == wins).all()


def test_the_relation_never_has_a_wrong_edge():
    """Lemmas 2 and 3: probability at most delta L^2 a row, here 1e-12 * 36 * 200 = 7.2e-9 in all."""
    L, K, rows, rounds = 6, 4, 200, 6000
    agent = TopRank(num_items=L, num_positions=K, num_envs=rows, delta=1e-12, seed=3)
    random = np.random.default_rng(4)
    attraction = np.sort(random.random((rows, L)), 1)[:, ::-1]  # item 0 is the best of every row
    examination = np.array([1.0, 0.8, 0.5, 0.3])
    for _ in range(rounds):
        displayed = agent.act()
        clicks = random.random((rows, K)) < np.take_along_axis(attraction, displayed, 1) * examination
        agent.update(displayed, clicks)
    edges = agent.state.worse
    assert not edges[:, np.triu(np.ones((L, L), bool))].any()  # (j, i) in G only where i is better
    assert edges.sum() > 5 * rows  # and of the 15 true ones it finds many


def test_it_needs_a_horizon_or_a_delta():
    with pytest.raises(ValueError, match=r"horizon = None and delta = None"):
        TopRank(num_items=3, num_positions=2)
    for delta in (0, 1, -0.5, 1.5, math.nan, "0.1", True, None, [0.1]):
        if delta is not None:
            with pytest.raises(ValueError, match=r"delta = .* allowed: a number in \(0, 1\)"):
                TopRank(num_items=3, num_positions=2, delta=delta)
