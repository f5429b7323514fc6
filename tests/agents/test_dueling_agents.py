"""What holds for every dueling agent of the table alike, each with knobs that let it decide within a few duels."""

import math
import pickle

import numpy as np
import pytest
from duels import matrix, played
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.conformance.agents import check_agent
from rankgym_agents import DUELERS

KNOBS = {  # where the defaults would go on exploring
    "mergerucb": {"delta": 0.99},
    "mergedts": {"epsilon": 0.99},
    "savage": {"delta": 0.99, "horizon": None},
    "btm": {"radius_factor": 0.3},
    "interleaved-filter": {"delta": 0.5},
}
CONTRACTS = [  # besides the defaults, which test_check_agent.py has
    ("mergerucb", {"delta": 0.99, "batch_size": 6}, {"num_arms": 20, "rounds": 100, "seed": 2**40}),
    ("mergedts", {"epsilon": 0.99, "batch_size": 2}, {"num_arms": 21, "rounds": 100, "seed": 2**40}),
    ("rucb", {"alpha": 0.1}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("rcs", {"alpha": 0.1}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("dts", {"alpha": 0.1}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("rmed1", {"leeway": 0.1}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("btm", {"radius_factor": 0.2}, {"num_arms": 9, "rounds": 400, "seed": 3}),
    ("btm", {"radius_factor": 0.2, "epsilon": 0.5, "delta": 0.2}, {"rounds": 100}),
    ("interleaved-filter", {"delta": 0.7}, {"num_arms": 9, "rounds": 400, "seed": 3}),
    ("interleaved-filter", {"delta": 0.7, "pruning": False}, {"rounds": 100}),
    ("versatile-db", {"estimator": "importance"}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("winner-stays", {"regret": "weak"}, {"num_arms": 9, "rounds": 100, "seed": 2}),
    ("savage", {}, {"num_arms": 13, "rounds": 400, "seed": 5}),
    ("savage", {"delta": 0.99, "sampling": "uniform"}, {"num_arms": 4, "rounds": 100, "seed": 2**40}),
]
POSITIVE = [(name, "alpha") for name in ("rucb", "rcs", "dts", "sparring", "multisbm", "doubler")] + [
    ("rmed1", "leeway")
]
unhurried = settings(deadline=None)  # the first example may wait for the compiler


def agent_of(name, horizon, **shape):
    return DUELERS[name](**{"horizon": horizon, **KNOBS.get(name, {}), **shape})


@pytest.mark.parametrize(("name", "knobs", "run"), CONTRACTS, ids=str)
def test_it_keeps_the_contract_with_other_knobs(name, knobs, run):
    check_agent(lambda **shape: DUELERS[name](**knobs, **shape), kind="dueling", **run)


@pytest.mark.parametrize("name", DUELERS)
def test_with_one_arm_there_is_nothing_to_choose(name):
    agent = agent_of(name, 5, num_arms=1, num_envs=2, seed=0)
    for _ in range(9):
        duel = agent.act()
        assert duel["left"].tolist() == duel["right"].tolist() == [0, 0] == agent.candidate.tolist()
        agent.update(duel, [[1, 0], [0, 1]])
    assert played(agent, np.array([[0.5]]), 5).tolist() == [0, 0]
    if hasattr(agent, "remaining"):
        assert agent.remaining.tolist() == [1, 1]
        assert not agent.state.wins.any()


@pytest.mark.parametrize("name", DUELERS)
def test_it_goes_on_from_a_pickle(name):
    soon = name in ("btm", "interleaved-filter")
    P, rounds = (matrix("arxiv"), 333) if soon else (matrix("planted 12"), 1001)
    agent = agent_of(name, 3000, num_arms=len(P), num_envs=4, seed=9)
    played(agent, P, rounds)
    assert not soon or agent.state.size.max() > 1  # nothing is left to do where all but one are out
    again = pickle.loads(pickle.dumps(agent))
    assert (played(agent, P, 700, seed=3) == played(again, P, 700, seed=3)).all()
    assert all((a == b).all() for a, b in zip(agent.state, again.state, strict=True))


@pytest.mark.parametrize("name", DUELERS)
def test_row_b_is_alone_what_it_is_in_the_batch(name):
    batch = agent_of(name, 9000, num_arms=6, num_envs=3, seed=7)
    alone = [agent_of(name, 9000, num_arms=6, seed=7 + row) for row in range(3)]
    chance, preference = np.random.default_rng(0), matrix("arxiv")
    for _ in range(900):
        duel = batch.act()
        left_won = chance.random(3) < preference[duel["left"], duel["right"]]
        won = np.stack([left_won, ~left_won], 1)
        for row, agent in enumerate(alone):
            single = agent.act()
            assert (single["left"][0], single["right"][0]) == (duel["left"][row], duel["right"][row])
            agent.update(single, won[row : row + 1])
        batch.update(duel, won)
    assert batch.candidate.tolist() == [agent.candidate[0] for agent in alone]
    if name in ("btm", "interleaved-filter"):  # some have removed arms, and not all alike
        assert batch.state.size.min() < batch.state.size.max()


@pytest.mark.parametrize("name", ["rucb", "rcs", "dts"])
def test_the_largest_alpha_is_no_nonsense(name):
    agent = DUELERS[name](num_arms=4, alpha=1.7e308, seed=0)
    assert np.isfinite(played(agent, matrix("cyclic"), 100)).all()
    if name == "dts":
        assert (agent.state.doubts == 0).all()


@pytest.mark.parametrize(("name", "knob"), POSITIVE)
@unhurried
@given(st.one_of(st.floats(max_value=0), st.sampled_from([math.nan, math.inf, 0, -1]), st.text(), st.booleans()))
def test_what_must_be_positive_is_refused_where_it_is_not(name, knob, value):
    with pytest.raises(ValueError, match=rf"^{knob} = .* is out of range; allowed: a finite number above 0$"):
        DUELERS[name](num_arms=3, **{knob: value})


@pytest.mark.parametrize(("name", "knob"), [pair for pair in POSITIVE if pair[1] == "alpha"])
def test_alpha_has_no_none(name, knob):
    with pytest.raises(ValueError, match=rf"^{knob} = None is out of range; allowed: a finite number above 0$"):
        DUELERS[name](num_arms=3, **{knob: None})
