"""Every agent displays, round for round, what a slow plain-Python reading of its paper displays."""

import math
from itertools import product

import numpy as np
import pytest
from agent_oracles import (
    BubbleRankOracle,
    CascadeKLUCBOracle,
    RandomOracle,
    TopRankOracle,
    Users,
    bisected_index,
    fallen_index,
    model_of,
)

from rankgym_agents import BubbleRank, CascadeKLUCB, RandomRanker, StaticRanker, TopRank

ROUNDS = 2000
ROUNDS_OF_CASCADES = 1000  # whose oracle solves an equation for each item
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10), (6, 1), (2, 2)]


def initial(num_items):
    return np.random.default_rng(num_items).permutation(num_items)


def pairs(L, K, seed):
    """(agent, oracle) of every kind and setting, for row seed ``seed``; low confidence, so that much is decided."""
    shape = {"num_items": L, "num_positions": K, "seed": seed, "initial_list": initial(L)}
    yield RandomRanker(**shape), RandomOracle(L, K, seed)
    yield TopRank(horizon=ROUNDS, **shape), TopRankOracle(L, K, seed, 1 / ROUNDS)
    yield TopRank(delta=0.9, **shape), TopRankOracle(L, K, seed, 0.9)
    bubble = BubbleRankOracle(L, K, seed, initial(L), 4 * math.log(ROUNDS))
    yield BubbleRank(horizon=ROUNDS, **shape), bubble
    for delta in (0.05, 0.9):
        yield BubbleRank(delta=delta, **shape), BubbleRankOracle(L, K, seed, initial(L), math.log(1 / delta))
    yield CascadeKLUCB(**shape), CascadeKLUCBOracle(L, K, seed)
    yield CascadeKLUCB(exploration="log", **shape), CascadeKLUCBOracle(L, K, seed, loglog=0)
    for feedback in ("last", "all"):
        yield CascadeKLUCB(feedback=feedback, **shape), CascadeKLUCBOracle(L, K, seed, feedback=feedback)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("number", range(10))
def test_the_lists_are_the_papers(shape, number):
    model = model_of(number, *shape)
    agent, oracle = list(pairs(*shape, 11))[number]
    users = Users(model, *shape, seed=(number, *shape))
    for t in range(ROUNDS_OF_CASCADES if isinstance(agent, CascadeKLUCB) else ROUNDS):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act(), f"round {t + 1} on {model}"
        clicks = users.clicks(displayed[0])
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.remembers(agent.state)


@pytest.mark.parametrize("shape", [(5, 5), (5, 3), (4, 4), (4, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("number", range(10))
def test_they_learn_the_same_from_lists_that_somebody_else_chose(shape, number):
    L, K = shape
    agent, oracle = list(pairs(L, K, 3))[number]
    chance = np.random.default_rng(number)
    for t in range(ROUNDS_OF_CASCADES if isinstance(agent, CascadeKLUCB) else 1500):
        if t % 100 == 0:
            favourites = chance.random(L)
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act()
        if chance.random() < 0.7:
            displayed = chance.permutation(L)[None, :K]
        clicks = (chance.random(K) < favourites[displayed[0]]).astype(int).tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        assert oracle.remembers(agent.state)


def test_the_static_ranker_shows_the_head_of_its_initial_list():
    agent = StaticRanker(num_items=4, num_positions=2, num_envs=2, initial_list=[[3, 1, 0, 2], [0, 2, 1, 3]])
    for _ in range(3):
        assert agent.act().tolist() == [[3, 1], [0, 2]]
        agent.update(agent.act(), [[1, 1], [0, 1]])


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.001, 0.3, 0.5, 0.999, 1.0])
def test_two_ways_to_an_index(mean):
    for count, budget in product((1, 3, 100, 10**6), (0.0, 0.1, 1.0, 8.0, 25.0)):
        assert abs(fallen_index(mean, count, budget) - bisected_index(mean, count, budget)) < 1e-12
