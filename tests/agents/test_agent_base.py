"""What all agents share: the doors of ``Agent`` and ``KernelAgent``, seeds, saving, fitting an environment."""

import io
import math
from itertools import permutations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rankgym
import rankgym_agents
from rankgym.agent import KernelAgent, open_unit, positive
from rankgym_agents import AGENTS, DUELERS, RANKERS, BubbleRank, RandomRanker, StaticRanker, TopRank

SHAPE = {"num_items": 4, "num_positions": 2}
KERNEL_AGENTS = [name for name, agent in RANKERS.items() if issubclass(agent, KernelAgent)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler
JUNK = st.one_of(
    st.none(), st.text(max_size=3), st.floats(), st.binary(max_size=2), st.lists(st.integers(), max_size=3)
)


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("size", ["num_envs", "num_items", "num_arms"])
def test_more_than_memory_holds_is_refused_at_once(name, size):
    sizes = {"num_arms": 5} if name in DUELERS else {"num_items": 5, "num_positions": 3}
    if size in ("num_envs", *sizes):
        for many in (2**40, 2**63):
            with pytest.raises(
                ValueError, match=rf"{size} = {many} .*would take \d+ GB of memory or more; allowed: what fits"
            ):
                AGENTS[name](**{**sizes, "horizon": 100, "seed": 0, size: many})


@pytest.mark.parametrize("name", ["mergerucb", "mergedts"])
def test_batches_of_more_arms_than_there_are_make_one(name):
    one, other = (AGENTS[name](num_arms=6, seed=1, batch_size=size) for size in (6, 2**64))
    assert snapshot(one) == snapshot(other)


@pytest.mark.parametrize("name", ["num_items", "num_positions", "num_envs", "horizon"])
@unhurried
@given(value=st.one_of(st.integers(max_value=0), st.floats(), st.booleans(), st.text(max_size=2)))
def test_sizes_are_whole_numbers_of_at_least_one(name, value):
    assume(name != "horizon" or not (isinstance(value, float) and value.is_integer()))  # it is a count: 1e5 is fine
    with pytest.raises(ValueError, match=rf"^{name} = .* is out of range; allowed: a whole number"):
        StaticRanker(**{**SHAPE, name: value})


@unhurried
@given(st.integers(1, 50), st.integers(1, 50))
def test_more_positions_than_items_are_refused(items, more):
    with pytest.raises(ValueError, match=rf"num_positions = {items + more} is out of range; .* 1 \.\. {items}"):
        RandomRanker(num_items=items, num_positions=items + more)


@unhurried
@given(
    st.one_of(
        st.lists(st.integers(-1, 4), min_size=4, max_size=4).filter(lambda x: sorted(x) != [0, 1, 2, 3]),
        st.lists(st.integers(0, 3), max_size=3, unique=True),
        st.just([[0, 1, 2, 3]] * 2),
        st.just([0.0, 1.0, 2.0, 3.0]),
        st.just([[0, 1, 2, 3]] * 2 + [[0, 1, 2, 2]]),
        st.just("0123"),
    )
)
def test_a_bad_initial_list_is_refused(initial_list):
    with pytest.raises(ValueError, match=r"^initial_list.* allowed: "):
        StaticRanker(**SHAPE, num_envs=3, initial_list=initial_list)


@unhurried
@given(st.one_of(st.integers(max_value=-1), st.booleans(), st.text(), st.binary(), st.floats(), st.just(np.array(5.0))))
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"^seed"):
        RandomRanker(**SHAPE, num_envs=3, seed=seed)


@pytest.mark.parametrize("seed", [[1, 2], [1, 2, 3, 4], [1, 2, -3], [1, 2, 3.0], np.zeros((3, 2), int), np.array(7)])
def test_a_bad_list_of_seeds_is_refused(seed):
    with pytest.raises(ValueError, match=r"^seed"):
        RandomRanker(**SHAPE, num_envs=3, seed=seed)


def test_row_b_has_the_seed_s_plus_b():
    def keys(**seeds):
        return RandomRanker(**SHAPE, **seeds).state.key.tolist()

    assert keys(seed=7, num_envs=3) == keys(seed=[7, 8, 9], num_envs=3) == keys(seed=np.arange(7, 10), num_envs=3)
    assert keys(seed=7, num_envs=3)[2:] == keys(seed=9)
    assert keys(seed=2**200) == keys(seed=[2**200])
    assert len({*keys(), *keys(), *keys(num_envs=50)}) == 52  # None: unpredictable


def snapshot(agent):
    return [part.tobytes() for part in agent.state]


@pytest.mark.parametrize("name", KERNEL_AGENTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_update_refuses_what_is_no_ranking_or_no_clicks_and_stays_as_it_was(name, data):
    agent = RANKERS[name](**SHAPE, num_envs=2, horizon=10, seed=1)
    agent.update(agent.act(), [[1, 0], [0, 1]])
    before, good_list, good_clicks = snapshot(agent), [[0, 1], [3, 2]], [[0, 1], [1, 1]]
    if data.draw(st.booleans()):
        row = st.lists(st.integers(-3, 6), min_size=2, max_size=2)
        fine = [list(p) for p in permutations(range(4), 2)]
        bad = data.draw(
            st.one_of(JUNK, st.lists(row, min_size=2, max_size=2).filter(lambda x: not all(r in fine for r in x)))
        )
        with pytest.raises(ValueError):
            agent.update(bad, good_clicks)
    else:
        entry = st.one_of(st.integers(-300, 300), st.floats(), st.just(math.nan))
        wrong = st.lists(st.lists(entry, min_size=2, max_size=2), min_size=2, max_size=2)
        bad = data.draw(st.one_of(JUNK, wrong.filter(lambda x: not all(e in (0, 1) for r in x for e in r))))
        with pytest.raises(ValueError):
            agent.update(good_list, bad)
    assert snapshot(agent) == before
    agent.update(good_list, good_clicks)


def test_the_errors_of_update_say_what_is_wrong():
    agent = RandomRanker(**SHAPE, num_envs=2, seed=0)
    clicks = np.zeros((2, 2), np.int8)
    with pytest.raises(ValueError, match=r"displayed has shape \(2, 3\) and clicks \(2, 2\); allowed: \(2, 2\) each"):
        agent.update(np.zeros((2, 3), int), clicks)
    with pytest.raises(
        ValueError, match=r"displayed\[1\] = \[2, 2\] is not a ranking; allowed: 2 different items out of 0..3"
    ):
        agent.update([[0, 1], [2, 2]], clicks)
    with pytest.raises(ValueError, match=r"displayed has dtype float64; allowed: whole numbers"):
        agent.update([[0.0, 1.0], [2.0, 3.0]], clicks)
    for odd in (2, -1, 256, 0.5):
        with pytest.raises(ValueError, match=rf"clicks\[0\] = \[.*{odd}\] are not clicks; allowed: 0 and 1"):
            agent.update([[0, 1], [2, 3]], [[0, odd], [1, 1]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, int, float, np.float32])
def test_clicks_of_any_dtype_are_clicks(dtype):
    one, other = (TopRank(**SHAPE, delta=0.5, seed=3) for _ in range(2))
    one.update(one.act(), np.array([[1, 0]], np.int8))
    other.update(other.act(), np.array([[1, 0]], dtype))
    assert snapshot(one) == snapshot(other)


@pytest.mark.parametrize("name", KERNEL_AGENTS)
def test_the_state_is_all_that_an_agent_remembers(name):
    shape = {"num_items": 5, "num_positions": 3, "num_envs": 4, "horizon": 100}
    random = np.random.default_rng(0)
    agent, other = (RANKERS[name](**shape, seed=seed, initial_list=[2, 1, 0, 4, 3]) for seed in (0, 1))
    for _ in range(50):
        agent.update(agent.act(), random.random((4, 3)) < 0.4)
    file = io.BytesIO()
    np.savez(file, **agent.state._asdict())
    file.seek(0)
    other.state = type(other.state)(**np.load(file))
    for _ in range(50):
        displayed = agent.act()
        assert (displayed == other.act()).all()
        clicks = random.random((4, 3)) < 0.4
        agent.update(displayed, clicks)
        other.update(displayed, clicks)
    assert snapshot(agent) == snapshot(other)


def test_the_random_ranker_is_uniform():
    rows = 24_000
    agent = RandomRanker(num_items=4, num_positions=2, num_envs=rows, seed=1)
    for _ in range(2):
        displayed = agent.act()
        agent.update(displayed, np.zeros((rows, 2), int))
        counts = [np.sum((displayed == order).all(1)) for order in permutations(range(4), 2)]
        # chi-square with 11 degrees of freedom exceeds 55 with probability 7.6e-8
        assert sum((n - 2000) ** 2 / 2000 for n in counts) < 55


@pytest.mark.parametrize("name", RANKERS)
def test_an_agent_fits_its_environment(name):
    for num_envs in (1, 5):
        env = gym.make_vec("rankgym/PBM-Synthetic-v0", num_envs=num_envs, query="all", horizon=30)
        env.reset(seed=0)
        agent = RANKERS[name].for_env(env, seed=0)
        assert (agent.num_items, agent.num_positions, agent.num_envs, agent.horizon) == (10, 5, num_envs, 30)
        assert (agent.initial_list == env.unwrapped.initial_list).all()
        env.step(agent.act())
        assert RANKERS[name].for_env(env, horizon=7, seed=0).horizon == 7


def test_an_agent_fits_a_single_environment_and_a_batch_of_singles():
    env = gym.make("rankgym/CM-Synthetic-v0", num_items=10, num_positions=10, query=2, horizon=12)
    env.reset(seed=0)
    agent = BubbleRank.for_env(env, seed=0)
    assert (agent.num_items, agent.num_positions, agent.num_envs, agent.horizon) == (10, 10, 1, 12)
    env.step(agent.act()[0])
    for horizon in (12, None):
        batch = gym.make_vec("rankgym/CM-Synthetic-v0", num_envs=2, vectorization_mode="sync", query=2, horizon=horizon)
        batch.reset(seed=0)
        agent = BubbleRank.for_env(batch, seed=0, delta=0.1)
        assert (agent.num_envs, agent.horizon) == (2, horizon)
        batch.step(agent.act())


def test_an_environment_without_rankings_is_refused():
    with pytest.raises(ValueError, match="env has the action space Discrete"):
        RandomRanker.for_env(gym.make("CartPole-v1"))


def test_kernels_need_no_staticmethod_but_must_be_there():
    class Bare(rankgym.KernelAgent):
        rank, learn = rank_nothing, rank_nothing

    class Inherited(Bare):
        pass

    assert Bare.rank is Inherited.rank is rank_nothing
    with pytest.raises(TypeError, match=r"Half has no kernel learn; add learn = staticmethod\(your_kernel\)"):

        class Half(rankgym.KernelAgent):
            rank = rank_nothing


def rank_nothing(state, *arrays):
    """Stands for a kernel."""


@pytest.mark.parametrize("check", [open_unit, positive])
@pytest.mark.parametrize(
    "value", [0, -1, 10**400, True, np.bool_(True), "0.5", None, float("nan"), float("inf"), [0.5]]
)
def test_what_is_no_number_in_range_is_refused_by_name(check, value):
    with pytest.raises(ValueError, match=r"knob = .* is out of range; allowed: a (finite )?number"):
        check("knob", value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("check", [open_unit, positive])
@pytest.mark.parametrize("number", [np.float32(0.5), np.float16(0.5), np.float64(0.5), 0.5])
def test_numbers_of_any_type_are_taken(check, number):
    """To compare a float32 with the largest float64 overflows."""
    assert (check("knob", number), type(check("knob", number))) == (0.5, float)


def test_an_agent_says_its_shape():
    agent = rankgym_agents.TopRank(num_items=9, num_positions=4, num_envs=2, horizon=70)
    assert repr(agent) == "TopRank(num_items=9, num_positions=4, num_envs=2, horizon=70)"


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("toprank", "factory = 'toprank' does not make agents"),
        (lambda num_items: None, "got an unexpected keyword argument .*allowed: one that takes the keywords"),
    ],
)
def test_check_agent_says_what_a_factory_takes(factory, words):
    with pytest.raises(ValueError, match=words):
        rankgym.check_agent(factory)


def test_a_name_that_is_not_in_the_table_has_a_near_miss():
    with pytest.raises(KeyError, match=r"agent = 'topran' is unknown; did you mean 'toprank'\? allowed: static, "):
        AGENTS["topran"]
    assert AGENTS.get("topran") is None
    assert "topran" not in AGENTS
