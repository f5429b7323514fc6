"""What all dueling agents share: the doors of ``DuelingAgent`` and ``DuelingKernelAgent``, saving, one source."""

import io
import math

import gymnasium as gym
import numpy as np
import pytest
from duels import matrix, played
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankgym.agent import DuelingAgent, DuelingKernelAgent
from rankgym_agents import DUELERS, RandomDuels

KERNEL_AGENTS = [name for name, agent in DUELERS.items() if issubclass(agent, DuelingKernelAgent)]
unhurried = settings(deadline=None)  # the first example may wait for the compiler
DUEL = {"left": np.array([0, 2]), "right": np.array([3, 2])}
WON = np.array([[1, 0], [0, 1]], np.int8)
JUNK = st.one_of(
    st.none(), st.text(max_size=3), st.floats(), st.binary(max_size=2), st.lists(st.integers(), max_size=3)
)


def run(agent, rounds, seed=0):
    """What ``agent`` does on the matrix "planted": (rounds, rows, 3), left, right and candidate."""
    chance, preference = np.random.default_rng(seed), matrix(f"planted {agent.num_arms}")
    seen = []
    for _ in range(rounds):
        duel = agent.act()
        left_won = chance.random(agent.num_envs) < preference[duel["left"], duel["right"]]
        agent.update(duel, np.stack([left_won, ~left_won], 1))
        seen.append(np.stack([duel["left"], duel["right"], agent.candidate], 1))
    return np.array(seen)


def snapshot(agent):
    return [part.tobytes() for part in agent.state]


# -- the doors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["num_arms", "num_envs", "horizon"])
@unhurried
@given(value=st.one_of(st.integers(max_value=0), st.floats(), st.booleans(), st.text(max_size=2)))
def test_sizes_are_whole_numbers_of_at_least_one(name, value):
    assume(name != "horizon" or not (isinstance(value, float) and value.is_integer()))  # it is a count: 1e5 is fine
    with pytest.raises(ValueError, match=rf"^{name} = .* is out of range; allowed: a whole number"):
        RandomDuels(**{"num_arms": 3, name: value})


@unhurried
@given(st.one_of(st.integers(max_value=-1), st.booleans(), st.text(), st.floats(), st.lists(st.integers(), max_size=2)))
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"^seed"):
        RandomDuels(num_arms=3, num_envs=3, seed=seed)


ARMS = st.lists(st.integers(-2, 5), min_size=2, max_size=2)
MARKS = st.lists(
    st.lists(st.one_of(st.integers(-300, 300), st.floats()), min_size=2, max_size=2), min_size=2, max_size=2
)


@pytest.mark.parametrize("name", KERNEL_AGENTS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_update_refuses_what_is_no_duel_or_names_no_winner_and_stays_as_it_was(name, data):
    agent = DUELERS[name](num_arms=4, num_envs=2, horizon=50, seed=1)
    run(agent, 3)
    duel, won = agent.act(), WON
    before = snapshot(agent)
    if data.draw(st.booleans()):
        side = data.draw(st.sampled_from(["left", "right"]))
        bad = data.draw(st.one_of(JUNK, ARMS.filter(lambda arms: min(arms) < 0 or max(arms) > 3), st.just([0.0, 1.0])))
        duel = data.draw(st.sampled_from([{**duel, side: bad}, {side: duel[side]}, bad]))
    else:
        one_hot = ([0, 1], [1, 0])
        won = data.draw(st.one_of(JUNK, MARKS.filter(lambda rows: not all(row in one_hot for row in rows))))
    with pytest.raises(ValueError):
        agent.update(duel, won)
    assert snapshot(agent) == before
    run(agent, 3)


def test_the_errors_of_update_say_what_is_wrong():
    agent = RandomDuels(num_arms=4, num_envs=2, seed=0)
    with pytest.raises(ValueError, match=r"^duel\['left'\]\[1\] = 4 is not an arm; allowed: 0 \.\. 3$"):
        agent.update({**DUEL, "left": [0, 4]}, WON)
    with pytest.raises(
        ValueError, match=r"^duel\['right'\] has shape \(3,\) and dtype int64; allowed: whole numbers of"
    ):
        agent.update({**DUEL, "right": [0, 1, 2]}, WON)
    with pytest.raises(
        ValueError, match=r"^duel = .* does not have 'right'; allowed: a dict of the arms left and right$"
    ):
        agent.update({"left": [0, 1]}, WON)
    with pytest.raises(ValueError, match=r"^won has shape \(2,\); allowed: \(2, 2\)$"):
        agent.update(DUEL, [1, 0])
    for odd in ([0, 0], [1, 1], [2, 0], [1, -1], [0.5, 0.5], [math.nan, 1]):
        with pytest.raises(
            ValueError, match=r"^won\[1\] = \[.*\] does not name a winner; allowed: \[1, 0\] and \[0, 1\]$"
        ):
            agent.update(DUEL, [[1, 0], odd])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, int, float, np.float32])
def test_winners_of_any_dtype_are_winners(dtype):
    one, other = (RandomDuels(num_arms=4, num_envs=2, seed=3) for _ in range(2))
    one.update(DUEL, WON)
    other.update(DUEL, WON.astype(dtype))
    assert snapshot(one) == snapshot(other)


def test_row_b_has_the_seed_s_plus_b():
    def keys(**seeds):
        return RandomDuels(num_arms=2, **seeds).state.key.tolist()

    assert keys(seed=7, num_envs=3) == keys(seed=[7, 8, 9], num_envs=3) == [keys(seed=7 + n)[0] for n in range(3)]
    assert len({*keys(), *keys(), *keys(num_envs=50)}) == 52  # None: unpredictable


def test_kernels_need_no_staticmethod_but_must_be_there():
    def nothing(state, *arrays):
        """Stands for a kernel."""

    class Bare(DuelingKernelAgent):
        choose, learn, name = nothing, nothing, nothing

    assert Bare.choose is Bare.learn is Bare.name is nothing
    with pytest.raises(TypeError, match=r"Half has no kernel name; add name = staticmethod\(your_kernel\)"):

        class Half(DuelingKernelAgent):
            choose, learn = nothing, nothing


def test_an_agent_says_its_shape():
    agent = RandomDuels(num_arms=9, num_envs=2, horizon=70)
    assert repr(agent) == "RandomDuels(num_arms=9, num_envs=2, horizon=70)"


# -- every agent of the table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNEL_AGENTS)
def test_the_state_is_all_that_an_agent_remembers(name):
    agent, other = (DUELERS[name](num_arms=7, num_envs=3, horizon=400, seed=seed) for seed in (0, 1))
    run(agent, 200)
    file = io.BytesIO()
    np.savez(file, **agent.state._asdict())
    file.seek(0)
    other.state = type(other.state)(**np.load(file))
    assert (run(agent, 200, 1) == run(other, 200, 1)).all()
    assert snapshot(agent) == snapshot(other)


@pytest.mark.parametrize("name", DUELERS)
def test_an_agent_fits_its_environment(name):
    for num_envs in (1, 4):
        env = gym.make_vec("rankgym/Dueling-Arxiv-v0", num_envs=num_envs, horizon=30)
        env.reset(seed=0)
        agent = DUELERS[name].for_env(env, seed=0)
        assert (agent.num_arms, agent.num_envs, agent.horizon) == (6, num_envs, 30)
        env.step(agent.act())
        assert DUELERS[name].for_env(env, horizon=7, seed=0).horizon == 7


def test_an_agent_fits_a_single_environment_as_its_docstring_says():
    env = gym.make("rankgym/Dueling-Cyclic-v0", horizon=12)
    env.reset(seed=0)
    agent = RandomDuels.for_env(env, seed=0)
    assert (agent.num_arms, agent.num_envs, agent.horizon) == (4, 1, 12)
    duel = agent.act()
    won = env.step({side: int(arm[0]) for side, arm in duel.items()})[0]
    agent.update(duel, won[None])
    assert agent.state.duels.sum() == 2


@pytest.mark.parametrize(
    "env", ["CartPole-v1", "rankgym/PBM-Yandex-v0"], ids=["no environment of ours", "one of rankings"]
)
def test_an_environment_without_arms_is_refused(env):
    with pytest.raises(ValueError, match=r"^env has the action space .*; allowed: a Dict of the arms left and right"):
        RandomDuels.for_env(gym.make(env))
    with pytest.raises(
        ValueError, match=r"^env = 'x' is not an environment; allowed: the result of gym\.make or gym\.make_vec"
    ):
        RandomDuels.for_env("x")


# -- the baseline -----------------------------------------------------------------------------------------------------


def test_random_duels_are_uniform_pairs():
    rows = 90_000
    agent = RandomDuels(num_arms=3, num_envs=rows, seed=1)
    for _ in range(2):
        duel = agent.act()
        agent.update(duel, np.tile(np.array([1, 0], np.int8), (rows, 1)))
        counts = np.bincount(3 * duel["left"] + duel["right"], minlength=9)
        # chi-square with 8 degrees of freedom exceeds 45 with probability 3.7e-7
        assert np.sum((counts - rows / 9) ** 2 / (rows / 9)) < 45


def test_random_duels_name_the_largest_share_of_wins():
    agent = RandomDuels(num_arms=3, num_envs=1, seed=0)
    assert agent.candidate.tolist() == [0]
    duels = [(1, 0, True), (1, 2, False), (2, 2, True), (2, 0, False), (0, 1, True)]
    wins, met = np.zeros(3), np.zeros(3)
    for left, right, left_won in duels:
        agent.update({"left": [left], "right": [right]}, [[left_won, not left_won]])
        wins[left if left_won else right] += 1
        met[left] += 1
        met[right] += 1
        assert agent.candidate[0] == np.argmax((wins + 0.5) / (met + 1))
    assert agent.state.wins.tolist() == [wins.tolist()]


def test_random_duels_have_the_regret_of_two_uniform_arms():
    """Hoeffding: the mean of 2,000 x 400 draws within [0, 1] is off by 0.005 with probability below 1e-17."""
    preference = matrix("planted 6")
    regret = played(RandomDuels(num_arms=6, num_envs=400, seed=2), preference, 2_000).mean() / 2_000
    assert abs(regret - (preference[0].mean() - 0.5)) < 0.005


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        DuelingAgent(num_arms=2)
