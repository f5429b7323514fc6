"""What agents believe: it says what their states say, for the row that is asked for, and reading it changes nothing."""

import itertools

import numpy as np
import pytest

from rankgym.agent import Agent, Beliefs, DuelingAgent
from rankgym_agents import AGENTS, DUELERS, RANKERS

ROWS, ITEMS, POSITIONS, ARMS, ROUNDS = 3, 6, 3, 6, 400
KNOBS = {
    "bubblerank": {"delta": 0.3},
    "toprank": {"delta": 0.5},
    "batchrank": {},
    "restarting": {"agent": "toprank", "every": 150, "delta": 0.5},
    "savage": {"delta": 0.9},
    "interleaved-filter": {"delta": 0.9},
    "btm": {"radius_factor": 0.5, "delta": 0.9},
    "mergerucb": {"delta": 0.9},
    "mergedts": {"alpha": 0.6, "constant": 1.0},
}


def made(name, rows=range(ROWS)):
    rows, cls = list(rows), AGENTS[name]
    sizes = {"num_items": ITEMS, "num_positions": POSITIONS} if issubclass(cls, Agent) else {"num_arms": ARMS}
    return cls(**sizes, num_envs=len(rows), horizon=2 * ROUNDS, seed=[row + 5 for row in rows], **KNOBS.get(name, {}))


def play(agent, rows=range(ROWS), rounds=ROUNDS, look=lambda agent: None):
    """Return what the agent does; item i is clicked, and arm i wins, the more often the larger i."""
    chance, done = np.random.default_rng(3), []
    for _ in range(rounds):
        coins = chance.random((ROWS, POSITIONS))[list(rows)]
        action = agent.act()
        if isinstance(agent, DuelingAgent):
            done.append(np.stack([action["left"], action["right"], agent.candidate]))
            left_won = coins[:, 0] < 0.5 + (action["left"] - action["right"]) / 14
            agent.update(action, np.stack([left_won, ~left_won], 1).astype(np.int8))
        else:
            done.append(action.copy())
            agent.update(action, (coins < (action + 1) / (ITEMS + 1)).astype(np.int8))
        look(agent)
    return done


def test_every_agent_is_bit_identical_whether_its_beliefs_are_read_or_not():
    for name in AGENTS:
        alone, seen = made(name), made(name)
        same = zip(play(alone), play(seen, look=lambda agent: [agent.beliefs(row) for row in range(ROWS)]), strict=True)
        assert all((one == other).all() for one, other in same), name
        states = alone.snapshot(), seen.snapshot()
        assert states[0].keys() == states[1].keys()
        for part, values in states[0].items():
            np.testing.assert_array_equal(values, states[1][part], f"{name}: {part}")


@pytest.mark.parametrize("name", AGENTS)
def test_beliefs_are_plain_values_of_the_row_asked_for(name):
    together, alone = made(name), made(name, [2])
    play(together)
    play(alone, [2])
    found = together.beliefs(2)
    assert found == alone.beliefs() == alone.beliefs(0)
    if found is None:
        assert name == "random"
        return
    size = ITEMS if name in RANKERS else ARMS
    named = [*(item for block in found.blocks for item in block), *found.out]
    assert sorted(named) in ([], list(range(size)))  # blocks and what is out are all items, each once
    assert sorted(found.base_list) in ([], list(range(size)))
    assert all(type(item) is int for item in [*named, *found.base_list])
    for values in found.scores.values():
        assert len(values) == size
        assert all(type(value) in (int, float) for value in values)


@pytest.mark.parametrize("name", DUELERS)
def test_the_champion_is_the_candidate(name):
    agent = made(name)
    assert play(agent, look=lambda agent: _same_champion(agent))


def _same_champion(agent):
    assert [agent.beliefs(row).champion for row in range(ROWS)] == agent.candidate.tolist()


def test_topranks_blocks_are_those_of_its_state():
    agent, seen = made("toprank"), set()
    play(agent, look=lambda agent: seen.add(len(agent.beliefs(1).blocks)))
    block = agent.state.block[1]
    assert agent.beliefs(1).blocks == tuple(
        tuple(np.flatnonzero(block == number).tolist()) for number in range(block.max() + 1)
    )
    assert len(seen) > 2  # it has learned something


def test_bubbleranks_base_list_is_what_it_shows_when_no_pair_is_exchanged():
    agent = made("bubblerank")
    play(agent)
    found = agent.beliefs().base_list
    assert found == tuple(agent.state.base[0])
    assert found != tuple(range(ITEMS))
    assert any(tuple(shown[0]) == found[:POSITIONS] for shown in play(agent, rounds=60))


def test_batchranks_batches_are_those_of_its_items():
    agent = made("batchrank")
    play(agent, rounds=2 * ROUNDS)
    found, s = agent.beliefs(0), agent.state
    for block in found.blocks:
        assert len({int(s.batch_of[0, item]) for item in block}) == 1
        assert len(block) == s.size[0, s.batch_of[0, block[0]]]
    assert all(s.batch_of[0, item] == ITEMS for item in found.out)
    assert found.scores["upper bound"] == tuple(s.upper[0])


@pytest.mark.parametrize(
    "name",
    ["cascade-kl-ucb", "cascade-ucb1", "cascade-ducb", "cascade-swucb", "cascade-ucb-v", "pbm-ucb", "pb-mhb"],
)
def test_the_next_list_has_the_largest_indices_in_order(name):
    agent = made(name)
    play(agent, rounds=50)
    for _ in range(100):
        ((_, index),) = agent.beliefs().scores.items()
        (shown,) = play(agent, rounds=1)
        top = [index[item] for item in shown[0]]
        assert all(one >= other - 1e-7 for one, other in itertools.pairwise(top))
        assert top[-1] >= max(value for item, value in enumerate(index) if item not in shown[0]) - 1e-7


def test_thompsons_posterior_means_and_exp3s_probabilities():
    thompson, exp3 = made("thompson-cascade"), made("ranked-exp3")
    assert thompson.beliefs().scores == {"posterior mean": (0.5,) * ITEMS}
    play(thompson)
    s = thompson.state
    assert thompson.beliefs(1).scores["posterior mean"][2] == (1 + s.clicked[1, 2]) / (2 + s.observed[1, 2])
    play(exp3)
    scores = exp3.beliefs().scores
    assert len(scores) == POSITIONS
    assert all(abs(sum(values) - 1) < 1e-12 for values in scores.values())


def test_the_next_list_has_the_largest_indices_where_glrt_does_not_explore():
    agent = AGENTS["glrt-cascade"](num_items=ITEMS, num_positions=POSITIONS, exploration=1e-9, delta=0.01, seed=0)
    assert agent.beliefs().scores == {"KL-UCB index": (np.inf,) * ITEMS}
    play(agent, [0], rounds=50)
    for _ in range(50):
        (index,) = agent.beliefs().scores.values()
        (shown,) = play(agent, [0], rounds=1)
        assert [index[item] for item in shown[0]] == sorted(index, reverse=True)[:POSITIONS]


def test_the_beliefs_of_pbm_agents_are_modes_and_estimates():
    sampler, pie = made("pbm-ts"), made("pbm-pie")
    assert sampler.beliefs().scores == {"posterior mode": (0.0,) * ITEMS}
    assert pie.beliefs().scores == {"estimate": (np.inf,) * ITEMS}
    for agent in (sampler, pie):
        play(agent)
    assert sampler.beliefs(1).scores["posterior mode"] == tuple(sampler.state.mode[1])
    assert pie.beliefs(1).scores["estimate"][2] == pie.state.clicks[1, 2] / pie.state.examined[1, 2]


@pytest.mark.parametrize(("name", "rounds"), [("mergerucb", 4000), ("mergedts", 800), ("savage", 800)])
def test_the_arms_that_remain(name, rounds):
    agent, sizes = made(name), set()
    play(agent, rounds=rounds, look=lambda agent: sizes.add(sum(map(len, agent.beliefs().blocks))))
    assert sum(map(len, agent.beliefs().blocks)) == agent.remaining[0]
    assert len(sizes) > 1


def test_the_likelihood_of_rmed1s_candidate_is_the_largest():
    agent = made("rmed1")
    play(agent)
    found = agent.beliefs(1)
    assert found.scores["likelihood"][found.champion] == max(found.scores["likelihood"])


def test_agents_that_do_not_say_what_they_believe():
    class Silent(Agent):
        def act(self, observation=None):
            return self.initial_list[:, : self.num_positions].copy()

        def update(self, displayed, clicks):
            pass

    assert Silent(num_items=3, num_positions=2).beliefs() is None
    restarting = AGENTS["restarting"](agent=Silent, num_items=3, num_positions=2)
    assert restarting.beliefs() is None


def test_the_structure_is_all_but_the_scores():
    assert Beliefs(scores={"index": (1.0,)}).structure == Beliefs().structure
    for part in ({"blocks": ((0,),)}, {"out": (1,)}, {"base_list": (0, 1)}, {"champion": 0}):
        assert Beliefs(**part).structure != Beliefs().structure
