"""Every agent displays, round for round, what a slow plain-Python reading of its paper displays."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import agent_oracles
import numpy as np
import pytest
from agent_oracles import (
    BubbleRankOracle,
    CascadeKLUCBOracle,
    RandomOracle,
    TopRankOracle,
    Users,
    digests,
)

from rankgym_agents import RANKERS, BubbleRank, CascadeKLUCB, RandomRanker, StaticRanker, TopRank

ROUNDS = 2000
SHAPES = [(10, 5), (5, 5), (7, 3), (10, 10), (6, 1), (2, 2)]
MODELS = ["pbm", "cm", "dcm"]


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
    model = MODELS[(number + sum(shape)) % 3]
    agent, oracle = list(pairs(*shape, 11))[number]
    users = Users(model, *shape, seed=(number, *shape))
    for t in range(ROUNDS):
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
    for t in range(1500):
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


def test_uncompiled_kernels_display_the_same_lists():
    paths = [Path(agent_oracles.__file__).parent, *map(Path, sys.path)]
    path = os.pathsep.join(str(p.resolve()) for p in paths)
    found = subprocess.run(
        [sys.executable, agent_oracles.__file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    uncompiled = json.loads(found.stdout)
    assert uncompiled == digests()
    alike = [uncompiled.pop(f"batchrank {shape}") == uncompiled[f"random {shape}"] for shape in ("7 3", "5 5")]
    assert all(alike)  # BatchRank is sure of nothing yet, and shuffles everything by the same words
    assert len(set(uncompiled.values())) == len(uncompiled) == 2 * len(RANKERS) - 2
