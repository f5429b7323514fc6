"""Restarting: every stretch is a fresh agent's, it takes any agent, and it helps where users change."""

import copy
import functools
import pickle
import re
import sys

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plain_agents import GOOD, ArrayAgent, PlainAgent, ReRanks
from typer.testing import CliRunner

from rankgym import simulate
from rankgym.agent import Agent
from rankgym.cli import app
from rankgym.conformance.agents import check_agent
from rankgym.experiments.plan.agents import knobs, parse_agent
from rankgym_agents import RANKERS, CascadeKLUCB, RandomRanker, Restarting, StaticRanker, TopRank

pytestmark = pytest.mark.usefixtures("quick_figures")

OTHERS = [name for name in RANKERS if name != "restarting"]
ROWS, EVERY, ROUNDS = 3, 40, 150
SHAPE = {"num_items": 6, "num_positions": 3, "num_envs": ROWS}
BASE = np.array([[2, 0, 1, 5, 3, 4], [0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]])
STRIDE = 2**32


@functools.cache
def attracted(rounds=ROUNDS, rows=ROWS, items=6):
    """(rounds, rows, items): the links that each user would click."""
    return np.random.default_rng(7).random((rounds, rows, items)) < np.linspace(0.8, 0.1, items)


def play(agent, start=0, stop=ROUNDS):
    """The lists of rounds ``start .. stop - 1``, (rounds, rows, positions), to users who look at everything."""
    lists = []
    for t in range(start, stop):
        lists.append(np.array(agent.act(np.zeros((ROWS, 3), np.int8))))
        agent.update(lists[-1], np.take_along_axis(attracted()[t], lists[-1], 1))
    return np.array(lists)


def arrays(agent):
    return [part.tobytes() for part in agent.state]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("horizon", [None, ROUNDS])
def test_every_stretch_is_that_of_a_fresh_agent(name, horizon):
    """With the horizon ``every``, and in stretch r with seeds r 2^32 above the row's own."""
    agent = Restarting(agent=name, every=EVERY, **SHAPE, horizon=horizon, seed=5, initial_list=BASE)
    assert agent.horizon == horizon
    lists = play(agent)
    for r, start in enumerate(range(0, ROUNDS, EVERY)):
        stop = min(start + EVERY, ROUNDS)
        seeds = [5 + row + r * STRIDE for row in range(ROWS)]
        fresh = RANKERS[name](**SHAPE, horizon=EVERY, seed=seeds if r else 5, initial_list=BASE)
        assert (lists[start:stop] == play(fresh, start, stop)).all(), f"stretch {r}"
        if stop == ROUNDS:
            assert arrays(fresh) == arrays(agent.inner)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("every", [ROUNDS, ROUNDS + 1, 10**9])
def test_without_a_restart_it_is_the_plain_agent(name, every):
    shape = {**SHAPE, "horizon": ROUNDS, "seed": 5, "initial_list": BASE}
    agent, plain = Restarting(agent=name, every=every, **shape), RANKERS[name](**shape)
    assert (play(agent) == play(plain)).all()
    assert arrays(agent.inner) == arrays(plain)
    assert agent.inner.horizon == ROUNDS


@pytest.mark.parametrize("agent", ["toprank", TopRank, "rankgym_agents.toprank:TopRank", "rankgym_agents:TopRank"])
def test_an_agent_by_name_and_by_class_and_the_knobs_that_it_takes(agent):
    made = Restarting(agent=agent, every=EVERY, delta=0.3, **SHAPE, seed=1)
    assert type(made.inner) is TopRank
    assert arrays(made.inner) == arrays(TopRank(delta=0.3, **SHAPE, seed=1))
    play(made)
    assert made.inner.state.round.tolist() == [ROUNDS % EVERY] * ROWS
    assert (made.inner.state.threshold == TopRank(delta=0.3, **SHAPE).state.threshold).all()


def test_the_defaults():
    agent = Restarting(num_items=3, num_positions=2)
    assert (type(agent.inner), agent.every, agent.inner.horizon) == (CascadeKLUCB, 10_000, 10_000)
    assert knobs(Restarting) == {"agent": "cascade-kl-ucb", "every": 10_000}


def test_every_round_may_be_the_first():
    agent = Restarting(agent="cascade-kl-ucb", every=1, **SHAPE, seed=0)
    assert (play(agent)[:, :, 0] == 0).all()  # CascadeKL-UCB begins with item 0 on top


def test_each_stretch_and_each_row_has_random_numbers_of_its_own():
    agent = Restarting(agent="random", every=2, **SHAPE, seed=0)
    keys = {int(key) for r in range(20) for key in agent._make_inner(r).state.key}
    assert len(keys) == 20 * ROWS
    lists = play(agent)
    same = np.mean([(lists[t] == lists[t + 2]).all(1).mean() for t in range(ROUNDS - 2)])
    assert same < 0.1  # 1 / 120 of 444 are expected, the seed is fixed


def test_seeds_are_numbers_where_they_can_be():
    """A plain class may want a number; rows with seeds of their own need a list."""
    seeds = []

    class Notes(PlainAgent):
        def __init__(self, *, seed, **shape):
            seeds.append(seed)
            super().__init__(seed=0, **shape)

    for seed in (7, [7, 8, 9], np.arange(7, 10), [9, 8, 7], None):
        play(Restarting(agent=Notes, every=100, **SHAPE, seed=seed))
    assert seeds[:6] == [7, 7 + STRIDE] * 3
    assert seeds[6:8] == [[9, 8, 7], [9 + STRIDE, 8 + STRIDE, 7 + STRIDE]]
    assert seeds[9] - seeds[8] == STRIDE
    assert Restarting(agent=Notes, **SHAPE).seeds != Restarting(agent=Notes, **SHAPE).seeds  # None: unpredictable


class Listens(Agent):
    """Notes what it observes and hears; takes two of the keywords that agents are told."""

    def __init__(self, num_positions, num_envs):
        self.shown = np.tile(np.arange(num_positions), (num_envs, 1))
        self.observed, self.heard = [], []

    def act(self, observation=None):
        self.observed.append(observation)
        return self.shown

    def update(self, displayed, clicks):
        self.heard.append(clicks)


def test_an_agent_observes_nothing_of_the_stretch_before():
    agent, observation = Restarting(agent=Listens, every=2, **SHAPE), np.full((ROWS, 3), 9, np.int8)
    for t in range(1, 6):
        agent.act(observation)
        agent.act(observation)  # again
        seen = agent.inner.observed[-2:]
        expected = {1: 9, 3: 0, 5: 0}.get(t, t - 1)
        assert all((each == expected).all() and each.dtype == np.int8 for each in seen)
        observation = np.full((ROWS, 3), t, np.int8)
        agent.update(agent.inner.shown, observation)
        assert len(agent.inner.heard) == (t - 1) % 2 + 1
        assert agent.act() is agent.inner.shown
        assert agent.inner.observed[-1] is None


@pytest.mark.parametrize("every", [1, 2, 15, 19])
@pytest.mark.parametrize("agent", [GOOD[0], "toprank", "ranked-exp3"], ids=str)
def test_it_keeps_the_contract(agent, every):
    """Copies are made after 30 rounds: on the verge of a new stretch, and within one."""
    check_agent(lambda **shape: Restarting(agent=agent, every=every, **shape), rounds=60)


def test_it_keeps_the_contract_around_all_others():
    for agent in (*GOOD, *OTHERS):
        check_agent(lambda agent=agent, **shape: Restarting(agent=agent, every=10, **shape), rounds=30)


@pytest.mark.parametrize("name", ["random", "bubblerank", "thompson-cascade"])
def test_asked_twice_it_gives_the_same_list(name):
    agent = Restarting(agent=name, every=2, **SHAPE, seed=3)
    for t in range(9):
        displayed = agent.act()
        assert (displayed == agent.act()).all()
        agent.update(displayed, np.take_along_axis(attracted()[t], displayed, 1))


@pytest.mark.parametrize("rounds", [39, 40, 41])
def test_copies_go_on_alike(rounds):
    agent = Restarting(agent="thompson-cascade", every=EVERY, **SHAPE)
    play(agent, 0, rounds)
    twins = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    lists = play(agent, rounds)
    assert all((lists == play(twin, rounds)).all() for twin in twins)


def test_a_refused_update_changes_nothing():
    one, other = (Restarting(agent="toprank", every=3, **SHAPE, seed=2) for _ in range(2))
    for t in range(8):
        for displayed, clicks in ((one.act() * 0, np.zeros((ROWS, 3))), (one.act(), np.full((ROWS, 3), 2))):
            with pytest.raises(ValueError, match="allowed: "):
                one.update(displayed, clicks)
        displayed = one.act()
        assert (displayed == other.act()).all()
        for agent in (one, other):
            agent.update(displayed, np.take_along_axis(attracted()[t], displayed, 1))
        assert arrays(one.inner) == arrays(other.inner)


def test_it_restarts_though_it_is_not_asked_for_lists():
    agent = Restarting(agent="toprank", every=EVERY, **SHAPE, seed=2)
    lists = np.tile(np.arange(3), (ROWS, 1))
    for t in range(EVERY + 5):
        agent.update(lists, attracted()[t][:, :3])
    fresh = TopRank(**SHAPE, horizon=EVERY, seed=2 + STRIDE)
    for t in range(EVERY, EVERY + 5):
        fresh.update(lists, attracted()[t][:, :3])
    assert arrays(agent.inner) == arrays(fresh)


def test_the_agent_cannot_change_the_base_list_of_the_next_one():
    class Sorts(ArrayAgent):
        def __init__(self, *, initial_list, **shape):
            super().__init__(**shape)
            assert (initial_list == BASE).all()
            initial_list.sort(1)

    play(Restarting(agent=Sorts, every=10, **SHAPE, initial_list=BASE, seed=0))


# -- where users change -----------------------------------------------------------------------------------------------


def regret_of_two_epochs(agent, rows, epoch):
    """Mean regret in each of two epochs of a cascade model; in the second one the items' attraction is reversed."""
    chance, regret = np.random.default_rng(11), []
    for attraction in (np.array([0.9, 0.7, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.7, 0.9])):
        total, best = 0.0, 1 - 0.1 * 0.3
        for _ in range(epoch):
            displayed = agent.act()
            clicks = chance.random((rows, 5)) < attraction
            clicks = np.take_along_axis(clicks, displayed, 1)
            agent.update(displayed, clicks & (np.cumsum(clicks, 1) == 1))
            total += best - (1 - (1 - attraction[displayed]).prod(1)).mean()
        regret.append(total / epoch)
    return regret


@pytest.mark.parametrize("name", ["cascade-kl-ucb", "cascade-ucb1", "toprank", "thompson-cascade"])
def test_after_a_breakpoint_it_is_better_off(name):
    """Seeds are fixed, and so are the figures: the plain agents lose 3.8 to 22 times as much in the second epoch."""
    rows, epoch = 20, 1500
    shape = {"num_items": 5, "num_positions": 2, "num_envs": rows, "horizon": 2 * epoch, "seed": 0}
    restarting = regret_of_two_epochs(Restarting(agent=name, every=epoch, **shape), rows, epoch)
    plain = regret_of_two_epochs(RANKERS[name](**shape), rows, epoch)
    assert restarting[1] == pytest.approx(restarting[0], rel=0.25)
    assert restarting[1] < plain[1] / 3


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"agent": "topranc"},
            r"agent = 'topranc' is unknown; did you mean 'toprank'\? allowed: static, random, .*, package.module:Class",
        ),
        ({"agent": "xyzzy"}, "agent = 'xyzzy' is unknown; allowed: static, random, .*, package.module:Class"),
        (
            {"evry": 5},
            r"evry = 5 is not a knob of cascade-kl-ucb; did you mean 'every'\? allowed: agent, every, and its",
        ),
        (
            {"feedbak": 5},
            r"feedbak = 5 is not a knob of cascade-kl-ucb; did you mean 'feedback'\? allowed: agent, every, ",
        ),
        ({"agent": "rankgym_agents:Mine"}, "agent = 'rankgym_agents:Mine': .* has no 'Mine'; allowed: "),
        ({"agent": "no_such_package:Mine"}, "agent = 'no_such_package:Mine': there is no module 'no_such_package'"),
        ({"agent": "a:b:c"}, "agent = 'a:b:c': .*; allowed: package.module:Class"),
        ({"agent": 5}, "agent = 5 does not make agents; allowed: a name, a class, or a function that makes one"),
        ({"agent": "math:pi"}, "agent = 'math:pi' is not an agent; allowed: a class with methods act and update"),
        (
            {"agent": "builtins:dict"},
            "agent = 'builtins:dict' is not an agent; allowed: a class with methods act",
        ),
        ({"agent": "restarting"}, "agent = 'restarting' restarts agents itself; allowed: any other"),
        ({"agent": Restarting}, "agent = <class .*> restarts agents itself"),
        (
            {"dlta": 1},
            "dlta = 1 is not a knob of cascade-kl-ucb; allowed: agent, every, and its own: exploration, feedba",
        ),
        ({"agent": StaticRanker, "delta": 1}, "delta = 1 is not a knob of StaticRanker; allowed: .* its own: none"),
        ({"agent": PlainAgent, "delta": 1}, "delta = 1 is not a knob of PlainAgent"),
        ({"agent": ReRanks, "delta": 1}, "delta = 1 is not a knob of ReRanks"),
        ({"agent": "toprank", "delta": 2}, r"delta = 2 is out of range; allowed: a number in \(0, 1\)"),
        ({"num_items": 2}, r"num_positions = 3 is out of range; allowed: a whole number in 1 \.\. 2"),
        ({"initial_list": [0, 1]}, "initial_list has shape"),
    ],
    ids=str,
)
def test_what_it_refuses(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Restarting(**{**SHAPE, **arguments})


PARTS = st.floats().filter(lambda number: not number.is_integer())


@settings(deadline=None)
@given(st.one_of(st.integers(max_value=0), PARTS, st.text(max_size=3), st.booleans(), st.none()))
def test_a_bad_length_is_refused(every):
    with pytest.raises(ValueError, match=r"^every = .* is out of range; allowed: a whole number, at least 1"):
        Restarting(agent="static", every=every, num_items=2, num_positions=1)


@settings(deadline=None)
@given(st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.from_regex(r"\w+:\w+", fullmatch=True)))
def test_whatever_is_no_agent_is_a_value_error_that_says_so(agent):
    assume(agent not in RANKERS)  # hypothesis also draws words that it finds in the code
    with pytest.raises(ValueError, match=f"^{re.escape(f'agent = {agent!r}')}"):
        Restarting(agent=agent, num_items=2, num_positions=1)


class Handing(TopRank):
    """Hands on what it does not know, as ``**shape`` is handed on."""

    def __init__(self, *, mine=1, **more):
        super().__init__(**more)
        self.mine = mine


class Inherits(Handing):
    pass


@pytest.mark.parametrize("agent", [Handing, Inherits])
def test_knobs_of_the_base_class_are_knobs(agent):
    made = Restarting(agent=agent, mine=3, delta=0.5, **SHAPE)
    assert made.inner.mine == 3
    with pytest.raises(ValueError, match=rf"yours = 3 is not a knob of {agent.__name__}; .* its own: mine, delta"):
        Restarting(agent=agent, yours=3, **SHAPE)


def test_a_function_takes_what_it_takes():
    def make(num_items, num_positions, bold, **more):
        return RandomRanker(num_items=num_items, num_positions=num_positions, **more)

    assert type(Restarting(agent=make, bold=True, **SHAPE).inner) is RandomRanker
    with pytest.raises(TypeError, match="RandomRanker has no argument 'shy'"):
        Restarting(agent=make, bold=True, shy=True, **SHAPE)
    twice = functools.partial(Restarting, agent="random", every=2)
    agent = Restarting(agent=lambda **shape: twice(**shape), every=5, **SHAPE, seed=0)
    play(agent, 0, 9)
    assert (agent.stretch, agent.inner.stretch) == (1, 1)


# -- on the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("restarting", {}),
        ("restarting:agent=toprank:every=5000:delta=1e-6", {"agent": "toprank", "every": 5000, "delta": 1e-6}),
        ("restarting:every=50:agent=mine.too:Mine:x=1", {"agent": "mine.too:Mine", "every": 50, "x": 1}),
        ("restarting:agent=mine:make", {"agent": "mine:make"}),
    ],
)
def test_it_can_be_typed(text, wanted):
    spec = parse_agent(text)
    assert (spec.load(), spec.knobs, spec.label) == (Restarting, wanted, text)


@pytest.mark.parametrize("text", ["restarting:agent=toprank:x", "restarting:agent=a:B:x", "restarting:agent=5:x"])
def test_a_knob_without_a_value_is_refused(text):
    with pytest.raises(ValueError, match="the knob 'x' needs a value: x=value"):
        parse_agent(text)


def test_the_agent_within_is_known_by_its_file(tmp_path, monkeypatch):
    """Results kept on disk are played anew when its code changes, and an error of its own is found in it."""
    file = tmp_path / "within_restarting.py"
    file.write_text("class Mine:\n    act = update = print\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = parse_agent("restarting:agent=within_restarting:Mine")
    before = spec.digest()
    file.write_text("class Mine:\n    act = update = repr\n")
    assert spec.digest() != before
    of_toprank = {
        parse_agent(text).digest() for text in ("restarting:agent=toprank", "restarting:agent=toprank:every=3")
    }
    assert of_toprank != {parse_agent("restarting").digest()}
    assert len(of_toprank) == 1
    assert parse_agent("restarting").inner() == parse_agent("cascade-kl-ucb")
    assert parse_agent("toprank").inner() is None
    assert parse_agent("restarting:agent=topranc").inner() is None
    assert parse_agent("no_such_package:Mine").inner() is None


def test_an_agent_of_ones_own_is_compared(tmp_path, monkeypatch):
    """It is looked for in the present folder; the line that failed is said to be its own."""
    text = "from rankgym_agents import TopRank\n\n\nclass Mine(TopRank):\n    pass\n"
    text += "\n\nclass Fails(Mine):\n    def update(self, displayed, clicks):\n        1 / self.horizon[0]\n"
    (tmp_path / "mine_restarting.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(agents):
        words = ["compare", "CM-Synthetic-v0", "--agents", agents, "--rounds", "60", "--query", "0,1"]
        return CliRunner().invoke(app, words, prog_name="rankgym")

    labels = [f"restarting:agent={agent}:every=25:delta=0.5" for agent in ("toprank", "mine_restarting:Mine")]
    result = run(",".join(labels))
    assert result.exit_code == 0, result.output
    lines = (tmp_path / "results" / "CM-Synthetic-v0-query=0_1" / "table.csv").read_text().splitlines()[1:]
    one, other = (line.split(",") for line in lines)
    assert [one[0], other[0]] == labels
    assert one[1:5] == other[1:5]
    failed = run("restarting:agent=mine_restarting:Fails")
    assert "TypeError: 'int' object is not subscriptable (mine_restarting.py:10)" in failed.output.replace("\n", " ")


def test_it_fits_an_environment():
    env = gym.make_vec("rankgym/CM-Synthetic-v0", num_envs=4, query="all", horizon=60)
    env.reset(seed=0)
    agent = Restarting.for_env(env, seed=0, agent="toprank", every=25, delta=0.1)
    assert (agent.inner.initial_list == env.unwrapped.initial_list).all()
    assert simulate(agent, env, 60, seed=0, progress=False).regret[-1].min() > 0
    assert (agent.round, agent.stretch) == (60, 2)
