"""``snapshot`` and ``restore``: an agent, or some rows of it, goes on bit for bit from what was written down."""

import io
import pickle

import numpy as np
import pytest

from rankgym.agent import Agent, DuelingAgent, StatefulLearner
from rankgym.kernels import row_keys
from rankgym_agents import AGENTS, BubbleRank, CascadeSWUCB, RandomRanker, Restarting, TopRank

ROWS, ITEMS, POSITIONS, ARMS = 7, 5, 3, 6
SOME = [5, 0, 3]  # neither neighbours nor in order
CASES = {
    **{name: (name, {}) for name in AGENTS},
    "bubblerank without a horizon": ("bubblerank", {"horizon": None}),
    "batchrank, as in the paper": ("batchrank", {"schedule": "paper"}),
    "cascade-swucb, its past grown": ("cascade-swucb", {"tau": 1000}),
    "cascade-swucb without a horizon": ("cascade-swucb", {"horizon": None}),
    "cascade-swucb, its window short": ("cascade-swucb", {"tau": 20}),
    "cascade-ducb without a horizon": ("cascade-ducb", {"horizon": None}),
    "pbm-ucb, another examination in each row": ("pbm-ucb", {"examination": np.linspace(0.1, 1, 21).reshape(7, 3)}),
    "glrt-cascade, restarted": ("glrt-cascade", {"delta": 0.9, "exploration": 0.2}),
    "savage, uniform": ("savage", {"sampling": "uniform"}),
    "btm, PAC": ("btm", {"epsilon": 0.3, "delta": 0.3}),
    "interleaved-filter 1": ("interleaved-filter", {"pruning": False, "delta": 0.9}),
    "restarting, in a stretch": ("restarting", {"agent": "bubblerank", "every": 90, "delta": 0.3}),
    "restarting, on its edge": ("restarting", {"agent": "toprank", "every": 150, "delta": 0.3}),
    "restarting, past growing": ("restarting", {"agent": "cascade-swucb", "every": 1500}),
}
ROUNDS = 300
BASE = np.array([np.random.default_rng(row).permutation(ITEMS) for row in range(ROWS)])


def made(case, rows=range(ROWS), seed=11, **more):
    name, knobs = CASES[case]
    rows, cls = list(rows), AGENTS[name]
    shape = {"num_envs": len(rows), "horizon": 2000, "seed": [seed + row for row in rows]}
    if "examination" in knobs:
        knobs = {"examination": knobs["examination"][rows]}
    if issubclass(cls, Agent):
        shape |= {"num_items": ITEMS, "num_positions": POSITIONS, "initial_list": BASE[rows]}
    else:
        shape["num_arms"] = ARMS
    return cls(**{**shape, **knobs, **more})


def play(agent, start, stop, rows=range(ROWS)):
    """What it shows, and names, in these rounds; a row's users do what they do whoever else is there."""
    chance, said = np.random.default_rng(start), []
    for _ in range(start, stop):
        coins = chance.random((ROWS, ARMS))[list(rows)]
        if isinstance(agent, DuelingAgent):
            duel = agent.act()
            left, right = duel["left"], duel["right"]
            said.append(np.stack([left, right, agent.candidate], 1))
            left_won = coins[:, 0] < 0.5 + (right - left) / 12
            agent.update(duel, np.stack([left_won, ~left_won], 1).astype(np.int8))
        else:
            said.append(agent.act())
            agent.update(said[-1], coins[:, :POSITIONS] < np.linspace(0.9, 0.1, ITEMS)[said[-1]])
    return np.array(said)


@pytest.mark.parametrize("case", CASES)
def test_all_rows_or_some_of_them_go_on_bit_for_bit(case):
    """From a file without pickles, in agents of other seeds, fresh or not."""
    agent, stop = made(case), 2 * ROUNDS
    play(agent, 0, ROUNDS)
    file = io.BytesIO()
    np.savez(file, **agent.snapshot())
    later = play(agent, ROUNDS, stop)
    for rows, before in ((list(range(ROWS)), 0), (SOME, 0), ([4], 0), (SOME, 40)):
        other = made(case, rows, seed=900)
        play(other, 0, before, rows)
        file.seek(0)
        other.restore({name: part[rows] for name, part in np.load(file).items()})
        assert (play(other, ROUNDS, stop, rows) == later[:, rows]).all()
        end, wanted = other.snapshot(), agent.snapshot()
        assert list(end) == list(wanted)
        assert all(end[name].tobytes() == wanted[name][rows].tobytes() for name in end)


@pytest.mark.parametrize("case", CASES)
def test_every_array_has_a_leading_axis_of_rows_and_is_the_callers(case):
    for rows in (1, ROWS, 13):  # no other size is 13
        agent = made(case, range(ROWS) if rows == ROWS else [0] * rows, num_envs=rows)
        assert all(part.shape[0] == rows and not part.dtype.hasobject for part in agent.snapshot().values())
    agent = made(case)
    play(agent, 0, 50)
    kept, spoiled = agent.snapshot(), agent.snapshot()
    copies = {name: part.copy() for name, part in kept.items()}
    for part in spoiled.values():
        part[...] = 1
    shown = play(agent, 50, 100)
    assert all((kept[name] == copies[name]).all() for name in kept)
    agent.restore(kept)
    for part in kept.values():
        part[...] = 1
    assert (play(agent, 50, 100) == shown).all()


@pytest.mark.parametrize("case", CASES)
def test_nothing_but_the_state_changes(case):
    agent = made(case)

    def besides():
        own = {"round", "stretch", "inner"} if isinstance(agent, Restarting) else {"state"}
        return {name: pickle.dumps(value) for name, value in vars(agent).items() if name not in own}

    before = besides()
    play(agent, 0, ROUNDS)
    assert besides() == before


@pytest.mark.parametrize("case", CASES)
def test_memory_in_another_order_is_put_in_order(case):
    agent, other = made(case), made(case, seed=900)
    play(agent, 0, 100)
    other.restore({name: np.asfortranarray(part) for name, part in agent.snapshot().items()})
    parts = other.inner.state if isinstance(other, Restarting) else other.state
    assert all(part.flags.c_contiguous and part.flags.writeable for part in parts)
    assert (play(agent, 100, 200) == play(other, 100, 200)).all()


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_refused_and_changes_nothing(case):
    agent = made(case)
    play(agent, 0, 20)
    good, twin = agent.snapshot(), pickle.loads(pickle.dumps(agent))
    name, part = next(reversed(good.items()))
    other = np.int32 if part.dtype != np.int32 else np.int64
    bad = [
        {},
        {key: part for key, part in good.items() if key != name},
        {**good, "more": part},
        {**good, name: part.astype(other)},
        {**good, name: part.astype(object)},
        {**good, name: part[1:]},
        {**good, name: part[..., None]},
        {**good, name: None},
        {key: part[:3] for key, part in good.items()},
        None,
        list(good.items()),
    ]
    for snapshot in bad:
        with pytest.raises(ValueError, match=r"snapshot(\['.*'\])? (has|is) .*; allowed: "):
            agent.restore(snapshot)
    assert (play(agent, 20, 60) == play(twin, 20, 60)).all()


def test_the_errors_say_what_is_wrong():
    agent = RandomRanker(num_items=3, num_positions=2, num_envs=2)
    good = agent.snapshot()
    for snapshot, words in (
        ({"key": 1}, r"^snapshot has key; allowed: key, round, items$"),
        ({}, r"^snapshot has nothing; allowed: key, round, items$"),
        ([1], r"^snapshot is a list; allowed: a dict of arrays, as snapshot\(\) returns$"),
        (
            {**good, "round": np.zeros(3)},
            r"^snapshot\['round'\] has shape \(3,\) and dtype float64; allowed: \(2,\), int64$",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            agent.restore(snapshot)


def test_the_past_of_a_long_window_may_have_grown_but_not_shrunk():
    shape = {"num_items": 3, "num_positions": 2, "num_envs": 2}
    agent = CascadeSWUCB(**shape, tau=1000)
    for _ in range(300):
        agent.update(agent.act(), np.zeros((2, 2)))
    past = agent.state.past
    assert past.shape == (2, 512, 2)
    fresh = CascadeSWUCB(**shape, tau=1000)
    for part in (past[:, :10], past[:, :, :1]):
        with pytest.raises(
            ValueError, match=r"^snapshot\['past'\] has .*; allowed: \(2, 256, 2\) or more along axis 1, int8$"
        ):
            fresh.restore({**agent.snapshot(), "past": part})
    fresh.restore(agent.snapshot())
    assert fresh.state.past.shape == past.shape


# Agents without snapshots


class Plain(Agent):
    """No arrays."""

    def act(self, observation=None):
        return np.tile(np.arange(self.num_positions), (self.num_envs, 1))

    def update(self, displayed, clicks): ...


class WithMore(TopRank):
    """Something in its state has no rows."""

    more = np.zeros(())

    def __init__(self, **shape):
        super().__init__(**shape)
        self.state = self.state._replace(threshold=self.more)


@pytest.mark.parametrize("more", [np.zeros(()), 3.0, None, np.zeros(3), np.array([None] * 2)], ids=repr)
def test_who_has_something_without_rows_is_not_written_down(more):
    agent = type("Other", (WithMore,), {"more": more})(num_items=2, num_positions=1, num_envs=2, delta=0.5)
    for one in (agent, Plain(num_items=2, num_positions=1, num_envs=2)):
        assert one.snapshot() is None
        with pytest.raises(
            NotImplementedError, match=rf"^{type(one).__name__} cannot be restored: its snapshot\(\) is None$"
        ):
            one.restore({})


def test_all_of_ours_but_restarting_keep_a_state_and_are_written_down_by_it():
    for name, agent in AGENTS.items():
        if name != "restarting":
            assert agent.snapshot is StatefulLearner.snapshot


# Restarting


def test_restarting_writes_down_its_seeds_and_base_lists():
    """So that what comes after the next restart is that of the same rows, too."""
    shape = {"num_items": ITEMS, "num_positions": POSITIONS, "every": 100, "agent": "toprank", "horizon": 9999}
    for seed in (0, 2**64 - 3, [1, 2**200, 5]):
        agent = Restarting(**shape, num_envs=3, seed=seed, initial_list=BASE[:3])
        for _ in range(130):
            agent.update(agent.act(), np.zeros((3, POSITIONS)))
        other = Restarting(**shape, num_envs=3)  # of seeds of 128 bits
        other.restore(agent.snapshot())
        assert other.seeds == agent.seeds
        for _ in range(130):
            assert (agent.act() == other.act()).all()
            agent.update(agent.act(), np.ones((3, POSITIONS)))
            other.update(other.act(), np.ones((3, POSITIONS)))
        fresh = row_keys([seed + 2 * 2**32 for seed in agent.seeds], 1)
        assert (other.inner.state.key == fresh).all()


def test_restarting_refuses_rounds_that_do_not_agree():
    agent = Restarting(num_items=3, num_positions=2, num_envs=2, every=10)
    for _ in range(25):
        agent.update(agent.act(), np.zeros((2, 2)))
    good = agent.snapshot()
    assert good["round"].tolist() == [25, 25]
    for name, values in (("round", [25, 24]), ("round", [-1, -1]), ("round", [31, 31]), ("stretch", [2, 1])):
        with pytest.raises(
            ValueError, match=r"^snapshot has rounds .* in stretches .*; allowed: the same for all rows, .* of 10$"
        ):
            agent.restore({**good, name: np.array(values)})
    inner = {name: part for name, part in good.items() if name != "inner.round"}
    with pytest.raises(ValueError, match=r"^of the inner agent: snapshot has key, loglog, .*; allowed: key, round,"):
        agent.restore(inner)
    with pytest.raises(ValueError, match=r"^initial_list\[1\] = \[1, 1, 1\] is not a ranking"):
        agent.restore({**good, "initial_list": np.array([[0, 1, 2], [1, 1, 1]])})
    assert agent.snapshot().keys() == good.keys()
    assert all((agent.snapshot()[name] == good[name]).all() for name in good)


def test_restarting_writes_nothing_down_where_its_agent_does_not():
    class Bare:
        def __init__(self, num_envs):
            self.rows = num_envs

        def act(self, observation=None):
            return np.zeros((self.rows, 1), int)

        def update(self, displayed, clicks): ...

    for inner in (Bare, Plain):
        agent = Restarting(agent=inner, num_items=2, num_positions=1)
        assert agent.snapshot() is None
        with pytest.raises(NotImplementedError):
            agent.restore({})


def test_a_row_of_a_long_run_without_a_horizon_takes_its_estimate_along():
    agent = BubbleRank(num_items=3, num_positions=3, num_envs=2, seed=1)
    for _ in range(70):
        agent.update(agent.act(), np.zeros((2, 3)))
    one = BubbleRank(num_items=3, num_positions=3, seed=5)
    one.restore({name: part[1:] for name, part in agent.snapshot().items()})
    assert one.state.estimate.tolist() == [128]
    assert (one.act() == agent.act()[1]).all()
