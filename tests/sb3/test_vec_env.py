"""The adapter to stable-baselines3 does what ``DummyVecEnv`` over single environments does, only faster."""

import copy
import itertools
import re

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium.wrappers import RecordEpisodeStatistics
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from rankgym.sb3.vec_env import RankingVecEnv
from rankgym.wrappers import RecordRegret, RecordSafety
from rankgym.wrappers.actions import AdjacentSwaps, RankingNumber, SafeLists, ScoresToRanking, SlotBySlot
from rankgym.wrappers.observations import ItemStatistics, LastDisplayed, TimeAware

PBM, BREAKS = "rankgym/PBM-Yandex-v0", "rankgym/PBM-Yandex-Breakpoint-v0"
HORIZON = 7
QUERIES = [3, 14, 15, 92]
FORMS = {  # what may be around an environment
    "nothing": lambda env: env,
    "ItemStatistics": ItemStatistics,
    "LastDisplayed": lambda env: LastDisplayed(ItemStatistics(env)),
    "TimeAware": TimeAware,
    "ScoresToRanking": lambda env: ScoresToRanking(TimeAware(env)),
    "SlotBySlot": lambda env: SlotBySlot(ItemStatistics(env)),
    "TimeAware of SlotBySlot": lambda env: TimeAware(SlotBySlot(env)),
    "RankingNumber": RankingNumber,
    "AdjacentSwaps": lambda env: AdjacentSwaps(ItemStatistics(env)),
    "SafeLists": lambda env: SafeLists(ItemStatistics(env)),
}
MASKED = {"SlotBySlot", "TimeAware of SlotBySlot"}


def native(form="nothing", name=PBM, **kwargs):
    given = {"num_envs": 4, "horizon": HORIZON, "num_items": 5, "num_positions": 3, "autoreset_mode": "Disabled"}
    return FORMS[form](gym.make_vec(name, **(given | kwargs)))


def single(form="nothing", name=PBM, recorders=(), **kwargs):
    given = {"horizon": HORIZON, "num_items": 5, "num_positions": 3, "disable_env_checker": True}
    env = gym.make(name, **(given | kwargs))
    for recorder in recorders:
        env = recorder(env)
    return FORMS[form](env)


def singles(form="nothing", name=PBM, rows=4, recorders=(), **kwargs):
    return DummyVecEnv([lambda: Monitor(single(form, name, recorders, **kwargs)) for _ in range(rows)])


def actions(env, rng, safe=False):
    """Random actions that are allowed."""
    space, rows = env.action_space, env.num_envs
    if env.has_attr("action_masks") and isinstance(space, gym.spaces.Discrete):
        masks = env.env_method("action_masks")
        if masks[0] is not None:
            return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(0, space.n, rows)
    if isinstance(space, gym.spaces.Box):
        return rng.uniform(-1, 1, (rows, *space.shape)).astype(np.float32)
    if isinstance(space, gym.spaces.MultiBinary):
        return rng.integers(0, 2, (rows, *space.shape)).astype(np.int8)
    if safe:  # the production list, which is 0, 1, 2, ...; nobody changes it in so few rounds
        return np.tile(np.arange(space.k), (rows, 1))
    return np.argsort(rng.random((rows, space.n)), axis=1)[:, : space.k].copy()


def history(env, steps, seed=0, form="nothing"):
    """All that an algorithm is told of random play."""
    rng = np.random.default_rng(5)
    env.seed(seed)
    told = [("reset", env.reset())]
    for _ in range(steps):
        told.append(env.step(actions(env, rng, form == "SafeLists")))
    return told


def assert_same(mine, theirs):
    """Equal observations, rewards, dones and ends of episodes."""
    assert np.array_equal(mine[0][1], theirs[0][1])
    ends = 0
    for (observed, rewards, dones, infos), (o, r, d, i) in zip(mine[1:], theirs[1:], strict=True):
        assert (observed.dtype, rewards.dtype, dones.dtype) == (o.dtype, r.dtype, d.dtype)
        assert np.array_equal(observed, o)
        assert np.array_equal(rewards, r)
        assert np.array_equal(dones, d)
        for row, done in enumerate(dones):
            if not done:
                assert infos[row] == {}
                continue
            ends += 1
            assert set(infos[row]) == {"terminal_observation", "TimeLimit.truncated", "episode"}
            assert np.array_equal(infos[row]["terminal_observation"], i[row]["terminal_observation"])
            assert infos[row]["terminal_observation"].dtype == i[row]["terminal_observation"].dtype
            assert infos[row]["TimeLimit.truncated"] is i[row]["TimeLimit.truncated"] is True
            assert [infos[row]["episode"][name] for name in "rl"] == [i[row]["episode"][name] for name in "rl"]
    return ends


# -- the same as DummyVecEnv -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_the_single_environments_bit_for_bit(form):
    steps = 3 * HORIZON * (3 if form in MASKED else 1) + 2
    mine = history(RankingVecEnv(native(form)), steps, seed=11, form=form)
    theirs = history(singles(form), steps, seed=11, form=form)
    assert assert_same(mine, theirs) == 3 * 4  # three episodes of each row


@pytest.mark.parametrize("name", ["rankgym/CM-Yandex-v0", "rankgym/DCM-Yandex-Rerank-v0", BREAKS])
def test_so_they_are_in_other_environments(name):
    more = {"num_breakpoints": 2} if name == BREAKS else {"cutoff": 2}
    mine = history(RankingVecEnv(native("ItemStatistics", name, **more)), 30, seed=2)
    assert assert_same(mine, history(singles("ItemStatistics", name, **more), 30, seed=2)) == 4 * 4


def test_rows_cycle_through_queries():
    mine = history(RankingVecEnv(native(query=QUERIES)), 20)
    makers = [lambda q=q: Monitor(single(query=q)) for q in QUERIES]
    assert_same(mine, history(DummyVecEnv(makers), 20))


@pytest.mark.parametrize("name", [PBM, BREAKS])
def test_episodes_come_with_regret_and_violations(name):
    more = {"num_breakpoints": 3} if name == BREAKS else {}
    mine = history(RankingVecEnv(native(name=name, **more)), 4 * HORIZON)
    theirs = history(singles(name=name, recorders=(RecordRegret, RecordSafety), **more), 4 * HORIZON)
    found = 0
    for (*_, dones, infos), (*_, recorded) in zip(mine[1:], theirs[1:], strict=True):
        for row in np.flatnonzero(dones):
            episode = infos[row]["episode"]
            assert episode["regret"] == recorded[row]["episode_regret"]
            assert episode["violations"] == recorded[row]["episode_violations"]
            assert set(episode) == {"r", "l", "t", "regret", "violations"}
            assert [type(episode[key]) for key in ("r", "l", "t", "regret")] == [float, int, float, float]
            found += episode["violations"]
    assert found > 0


@pytest.mark.parametrize(("reward", "told"), [("expected", "expected_reward"), ("regret", "regret")])
@pytest.mark.parametrize("form", ["ItemStatistics", "SlotBySlot"])
def test_rewards_may_be_of_the_truth(form, reward, told):
    steps = 40
    mine = history(RankingVecEnv(native(form), reward=reward), steps)
    theirs = history(singles(form), steps)
    total = np.zeros(4)
    for (observed, rewards, dones, infos), (o, _, _, i) in zip(mine[1:], theirs[1:], strict=True):
        sign = -1.0 if reward == "regret" else 1.0
        expected = np.array([sign * i[row].get(told, 0.0) for row in range(4)])
        assert np.array_equal(rewards, expected.astype(np.float32))
        assert rewards.dtype == np.float32
        assert np.array_equal(observed, o)
        total += expected
        for row in np.flatnonzero(dones):
            assert infos[row]["episode"]["r"] == pytest.approx(total[row], abs=1e-12)
            total[row] = 0


@pytest.mark.parametrize("name", [PBM, BREAKS])
def test_a_critic_may_be_told_the_truth_and_nothing_else_changes(name):
    more = {"num_breakpoints": 3, "horizon": 9} if name == BREAKS else {}
    env = RankingVecEnv(native("ItemStatistics", name, **more), truth=True)
    assert env.observation_space["truth"] == gym.spaces.Box(0, 1, (5,), np.float32)
    mine, blind = history(env, 30), history(RankingVecEnv(native("ItemStatistics", name, **more)), 30)
    dummy = singles("ItemStatistics", name, **more)
    rng = np.random.default_rng(5)
    dummy.seed(0)
    dummy.reset()
    changes = 0
    for (observed, rewards, dones, infos), (o, r, d, i) in zip(mine[1:], blind[1:], strict=True):
        assert observed["observation"].dtype == observed["truth"].dtype == np.float32
        assert np.array_equal(observed["observation"], o)
        assert np.array_equal(rewards, r)
        assert np.array_equal(dones, d)
        dummy.step(actions(dummy, rng))
        truth = np.array(dummy.get_attr("attraction"), np.float32)
        assert np.array_equal(observed["truth"], truth)
        changes += not np.array_equal(observed["truth"], mine[0][1]["truth"])
        for row in np.flatnonzero(dones):
            assert env.observation_space.contains(infos[row]["terminal_observation"])
            last = infos[row]["terminal_observation"]["observation"]
            assert np.array_equal(last, i[row]["terminal_observation"])
    assert changes > 0


def test_the_truth_at_an_episodes_end_is_that_episodes():
    env = RankingVecEnv(native(num_envs=1), truth=True, seed=3)
    before = env.reset()["truth"][0]
    for _ in range(HORIZON):
        observed, _, _, infos = env.step(np.array([[0, 1, 2]]))
    assert np.array_equal(infos[0]["terminal_observation"]["truth"], before)
    assert not np.array_equal(observed["truth"][0], before)  # another query


# -- populations -------------------------------------------------------------------------------------------------------

POPULATION = {"PBM": 3, "CM": 2, "DCM": 4}


def population(form, **kwargs):
    return [native(form, f"rankgym/{m}-Yandex-v0", num_envs=rows, **kwargs) for m, rows in POPULATION.items()]


@pytest.mark.parametrize("form", FORMS)
def test_a_population_is_its_members_one_after_another(form):
    env = RankingVecEnv(population(form), truth=True, seed=20)
    assert env.num_envs == 9
    alone = [
        RankingVecEnv(member, truth=True, seed=20 + first)
        for member, first in zip(population(form), (0, 3, 5), strict=True)
    ]
    rng = np.random.default_rng(0)
    observed, others = env.reset(), [other.reset() for other in alone]
    for _ in range(25 if form not in MASKED else 50):
        for key in ("observation", "truth"):
            assert np.array_equal(observed[key], np.concatenate([other[key] for other in others]))
        action = actions(env, rng, form == "SafeLists")
        observed, rewards, dones, infos = env.step(action)
        steps = [o.step(a) for o, a in zip(alone, np.split(action, [3, 5]), strict=True)]
        others = [step[0] for step in steps]
        assert np.array_equal(rewards, np.concatenate([step[1] for step in steps]))
        assert np.array_equal(dones, np.concatenate([step[2] for step in steps]))
        for info, other in zip(infos, itertools.chain(*(step[3] for step in steps)), strict=True):
            assert set(info) == set(other)
            for key in ("r", "l", "regret", "violations") if info else ():
                assert info["episode"][key] == other["episode"][key]
    assert env.get_attr("horizon") == [HORIZON] * 9


def test_horizons_of_a_population_may_differ():
    env = RankingVecEnv([native(horizon=3), native(horizon=5)], seed=0)
    env.reset()
    ends = [env.step(np.tile(np.arange(3), (8, 1)))[2].reshape(2, 4).all(axis=1).tolist() for _ in range(15)]
    assert ends == [[t % 3 == 0, t % 5 == 0] for t in range(1, 16)]


# -- ages --------------------------------------------------------------------------------------------------------------


def lengths(env, steps):
    """The lengths of the rows' episodes, in order."""
    found = [[] for _ in range(env.num_envs)]
    rng = np.random.default_rng(0)
    env.reset()
    for _ in range(steps):
        _, _, dones, infos = env.step(actions(env, rng))
        for row in np.flatnonzero(dones):
            assert infos[row]["TimeLimit.truncated"] is True
            found[row].append(infos[row]["episode"]["l"])
    return found


def test_staggered_rows_first_episodes_have_random_lengths_and_the_others_have_none():
    found = lengths(RankingVecEnv(native(num_envs=2_000), stagger=True, seed=1), 3 * HORIZON)
    first = [row[0] for row in found]
    assert {length for row in found for length in row[1:]} == {HORIZON}
    assert set(first) == set(range(1, HORIZON + 1))
    counts = np.bincount(first, minlength=HORIZON + 1)[1:]
    expected = 2_000 / HORIZON
    assert ((counts - expected) ** 2 / expected).sum() < 40  # chi-square, 6 degrees of freedom: p < 1e-6
    done_per_step = lengths(RankingVecEnv(native(num_envs=2_000), seed=1), HORIZON)
    assert {tuple(row) for row in done_per_step} == {(HORIZON,)}


def test_an_age_depends_on_the_rows_own_seed_alone():
    def first(rows, seed, times=1):
        env = RankingVecEnv(native(num_envs=rows, horizon=50), stagger=True, seed=seed)
        return [[row[0] for row in lengths(env, 50)] for _ in range(times)][-1]

    eight = first(8, 5)
    assert eight == first(8, 5)
    assert eight == [first(1, 5 + row)[0] for row in range(8)]
    assert eight != first(8, 6)
    assert eight != first(8, 5, times=2)  # drawn anew at the second reset
    env = RankingVecEnv([native(num_envs=3, horizon=50), native(num_envs=5, horizon=50)], stagger=True, seed=5)
    assert [row[0] for row in lengths(env, 50)] == eight
    env = RankingVecEnv(native(num_envs=8, horizon=50), stagger=True)
    env.seed(5)
    assert [row[0] for row in lengths(env, 50)] == eight


def test_what_is_played_until_then_is_not_touched():
    staggered, plain = (history(RankingVecEnv(native("ItemStatistics"), stagger=s), 40, seed=9) for s in (True, False))
    fresh = plain[0][1][0]
    young = np.ones(4, bool)
    for (o, r, d, infos), (other, q, *_) in zip(staggered[1:], plain[1:], strict=True):
        assert np.array_equal(r[young], q[young])
        for row in np.flatnonzero(young & d):
            assert np.array_equal(o[row, :, :-2], np.zeros_like(fresh[:, :-2]))  # a new episode: nothing counted
            assert infos[row]["terminal_observation"].any()
        young &= ~d
        assert np.array_equal(o[young], other[young])
    assert not young.any()


def test_sessions_are_what_ages_count():
    found = lengths(RankingVecEnv(native("SlotBySlot", num_envs=50), stagger=True, seed=1), 3 * 3 * HORIZON)
    assert {length % 3 for row in found for length in row} == {0}
    assert len({row[0] for row in found}) > 3


def test_without_a_seed_ages_are_anybodys_guess():
    found = lengths(RankingVecEnv(native(num_envs=500), stagger=True), HORIZON)
    assert len({row[0] for row in found}) > 1  # all equal: p < 7 ** -499


# -- seeds -------------------------------------------------------------------------------------------------------------


def observations(env, steps=10):
    rng = np.random.default_rng(0)
    seen = [env.reset()]
    return np.array(seen + [env.step(actions(env, rng))[0] for _ in range(steps)])


def test_seeds_are_as_stable_baselines_gives_them():
    env, again = RankingVecEnv(native(), seed=4), RankingVecEnv(native())
    assert again.seed(4) == [4, 5, 6, 7]
    first = observations(env)
    assert np.array_equal(first, observations(again))
    assert not np.array_equal(first, observations(env))  # a seed serves one reset; streams go on
    env.seed(4)
    assert np.array_equal(first, observations(env))
    np.random.seed(0)
    assert len(set(env.seed())) == 4
    for wrong in (-1, 1.5, "one", True):
        with pytest.raises(ValueError, match=r"^seed = .* is out of range; allowed: a whole number, at least 0$"):
            env.seed(wrong)


def test_a_copy_goes_on_as_the_original_does():
    env = RankingVecEnv(population("ItemStatistics"), stagger=True, seed=4)
    rng = np.random.default_rng(1)
    env.reset()
    for _ in range(5):
        env.step(actions(env, rng))
    other = copy.deepcopy(env)
    for _ in range(20):
        action = actions(env, rng)
        mine, theirs = env.step(action), other.step(action)
        assert all(np.array_equal(a, b) for a, b in zip(mine[:3], theirs[:3], strict=True))


def test_what_was_handed_out_stays_as_it_was():
    env = RankingVecEnv(native("ItemStatistics"), truth=True, seed=0)
    rng = np.random.default_rng(0)
    handed = [env.reset()]
    kept = [copy.deepcopy(handed[0])]
    for _ in range(20):
        observed, rewards, dones, infos = env.step(actions(env, rng))
        handed.append((observed, rewards, dones, infos))
        kept.append(copy.deepcopy(handed[-1]))
    assert len({id(info) for step in handed[1:] for info in step[3]}) == 20 * 4
    for mine, copied in zip(handed[1:], kept[1:], strict=True):
        assert all(np.array_equal(mine[0][key], copied[0][key]) for key in mine[0])
        assert np.array_equal(mine[1], copied[1])
        assert [set(info) for info in mine[3]] == [set(info) for info in copied[3]]


# -- masks, attributes, wrappers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_masks_are_there_where_actions_are_masked(form):
    env = RankingVecEnv(native(form), seed=0)
    env.reset()
    assert is_masking_supported(env) == (form in MASKED)
    if form not in MASKED:
        with pytest.raises(AttributeError, match="no layer of the environment masks actions"):
            get_action_masks(env)
        return
    assert get_action_masks(env).tolist() == [[True] * 5] * 4
    env.step(np.array([0, 1, 2, 3]))
    assert np.array_equal(get_action_masks(env), ~np.eye(4, 5, dtype=bool))
    assert [method().tolist() for method in env.get_attr("action_masks", [0, 2])] == [
        [False, True, True, True, True],
        [True, True, False, True, True],
    ]
    assert env.env_method("action_masks", indices=1)[0].tolist() == [True, False, True, True, True]
    both = RankingVecEnv(population(form), seed=0)
    both.reset()
    both.step(np.arange(9) % 5)
    assert np.array_equal(get_action_masks(both), np.arange(5) != np.arange(9)[:, None] % 5)


def test_attributes_are_those_of_rows():
    env = RankingVecEnv(population("ItemStatistics"), seed=0)
    env.reset()
    attraction = env.get_attr("attraction")
    assert np.array(attraction).shape == (9, 5)
    assert [a.tolist() for a in env.get_attr("attraction", [8, 0])] == [attraction[8].tolist(), attraction[0].tolist()]
    assert env.get_attr("parameters", 0)[0].attraction.shape == (5,)
    assert env.get_attr("num_positions") == [3] * 9
    assert all(space == env.action_space for space in env.get_attr("action_space"))
    assert env.get_attr("observation_space", 3)[0] == env.observation_space
    assert env.has_attr("initial_list")
    assert not env.has_attr("nonsense")
    with pytest.raises(AttributeError, match=r"^attr_name = 'nonsense' is not an attribute of "):
        env.get_attr("nonsense")
    with pytest.raises(
        AttributeError, match=r"^method_name = 'step' is not a method of rows; allowed: action_masks, render"
    ):
        env.env_method("step")
    env.set_attr("colour", "red", range(3))
    assert env.parts[0].env.colour == "red"
    assert not env.has_attr("colour")  # not of all
    env.set_attr("colour", "blue")
    assert env.get_attr("colour") == ["blue"] * 9
    with pytest.raises(
        ValueError, match=r"^indices = \[2, 3, 4\] has some of the rows 0 \.\. 2, which are one environ"
    ):
        env.set_attr("colour", "green", [2, 3, 4])
    assert env.get_attr("colour") == ["blue"] * 9
    env.close()


def test_wrappers_are_known_by_either_form():
    env = RankingVecEnv([RecordRegret(native("ItemStatistics")), native("ItemStatistics", num_envs=1)])
    assert env.env_is_wrapped(ItemStatistics) == env.env_is_wrapped(ItemStatistics.vector) == [True] * 5
    assert env.env_is_wrapped(RecordRegret) == [True] * 4 + [False]
    assert env.env_is_wrapped(RecordEpisodeStatistics) == [False] * 5
    assert env.env_is_wrapped(Monitor, 4) == [True]


def test_texts_are_shown():
    env = RankingVecEnv(native(render_mode="ansi"), seed=0)
    assert env.render_mode == "ansi"
    env.reset()
    env.step(np.tile([4, 2, 0], (4, 1)))
    assert all("item 4" in text for text in env.env_method("render"))
    assert env.render() is None
    assert RankingVecEnv(native()).render_mode is None


def test_pictures_are_shown_side_by_side():
    pytest.importorskip("PIL", reason="Pillow is not installed: pip install rankgym[render]")
    env = RankingVecEnv(native(render_mode="rgb_array"), seed=0)
    env.reset()
    env.step(np.tile([4, 2, 0], (4, 1)))
    height, width, _ = env.get_images()[0].shape
    assert env.render().shape == (2 * height, 2 * width, 3)
    assert np.array_equal(env.render()[:height, :width], env.get_images()[0])


def test_stable_baselines_own_wrappers_work_around_it():
    env = VecNormalize(VecFrameStack(RankingVecEnv(native("TimeAware"), seed=0), 2), gamma=0.9)
    env.reset()
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(3 * HORIZON):
        observed, rewards, dones, infos = env.step(actions(env.unwrapped, rng))
        assert np.isfinite(observed).all()
        assert np.isfinite(rewards).all()
        for row in np.flatnonzero(dones):
            ends += 1
            assert infos[row]["episode"]["l"] == HORIZON
            assert infos[row]["terminal_observation"].shape == observed.shape[1:]
    assert ends == 12


def test_policies_are_evaluated_without_a_warning():
    class Constant:
        def predict(self, observed, state=None, episode_start=None, deterministic=True):
            return np.tile(np.arange(3), (len(observed), 1)), state

    env = RankingVecEnv(native(query=0), seed=0)
    rewards, steps = evaluate_policy(Constant(), env, n_eval_episodes=8, return_episode_rewards=True)
    assert steps == [HORIZON] * 8
    assert all(0 <= reward <= 3 * HORIZON for reward in rewards)


# -- what is refused ---------------------------------------------------------------------------------------------------

NATIVE = "is not a native vector environment of rankings; allowed: gym.make_vec"


def test_wrong_environments_are_refused():
    env = native()
    for envs, message in (
        ([], "envs = [] is not an environment; allowed: a vector environment of rankings, or a list"),
        (PBM, "envs = 'rankgym/PBM-Yandex-v0' is not an environment; allowed: "),
        ([env, 3], f"envs[1] = 3 {NATIVE}"),
        (single(), f" {NATIVE}"),
        (gym.make_vec("rankgym/Dueling-MSLR-v0", num_envs=2, autoreset_mode="Disabled"), f" {NATIVE}"),
        (gym.make_vec("CartPole-v1"), f" {NATIVE}"),
        (
            gym.make_vec(PBM),
            "envs[0] resets itself (autoreset_mode = 'NextStep'), but RankingVecEnv does that; allowed: gym.",
        ),
        ([env, ItemStatistics(env)], "envs[1] is in envs twice; allowed: different environments"),
        (
            [env, native(num_positions=2)],
            "envs[1] has num_positions = 2; allowed: that of envs[0], 3",
        ),
        (
            [ItemStatistics(env), ItemStatistics(native(num_positions=2))],
            "envs[1] has num_positions = 2; allowed: that of envs[0], 3",
        ),
        (
            [env, native(num_items=6)],
            "envs[1] has num_items = 6; allowed: that of envs[0], 5",
        ),
        (
            [env, ItemStatistics(native())],
            "envs[1] has single_observation_space Box(",
        ),
        (
            [env, ScoresToRanking(native())],
            "envs[1] has single_action_space Box(-1.0, 1.0, (5,), float32); allowed: that of envs[0], Permutation(5, ",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(message)) as refused:
            RankingVecEnv(envs)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 600


def test_other_wrong_arguments_are_refused():
    env = native()
    with pytest.raises(ValueError, match=r"^reward = 'sales' is unknown; allowed: 'clicks', 'expected', 'regret'$"):
        RankingVecEnv(env, reward="sales")
    with pytest.raises(
        ValueError, match=r"^stagger = True, but envs\[1\] has no horizon; allowed: False, or a horizon$"
    ):
        RankingVecEnv([env, native(horizon=None)], stagger=True)
    with pytest.raises(ValueError, match=r"^seed = -1 is out of range; allowed: a whole number, at least 0$"):
        RankingVecEnv(env, seed=-1)
    adapter = RankingVecEnv(env)
    with pytest.raises(ValueError, match=r"^options = {'query': 3} are unknown; allowed: None, ranking environm"):
        adapter.set_options({"query": 3})
    adapter.set_options(None)
    adapter.set_options([{}] * 4)


def test_nothing_happens_before_a_reset():
    with pytest.raises(gym.error.ResetNeeded):
        RankingVecEnv(native()).step(np.tile(np.arange(3), (4, 1)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("members", [1, 2])
def test_a_bad_action_of_any_row_is_refused_before_anything_has_happened(form, members):
    """Also of the last environment of a population, before the first has played."""
    env, other = (RankingVecEnv([native(form) for _ in range(members)], seed=3) for _ in range(2))
    env.reset(), other.reset()
    rng = np.random.default_rng(2)
    for number in range(12):
        good = actions(env, rng, form == "SafeLists")
        bad = good.copy()
        if bad.ndim == 1:
            bad[-1] = -1 if number % 2 or form == "RankingNumber" else 5
        else:
            bad[-1, -1] = 9
        with pytest.raises(ValueError, match=r"row 3|\[3") as refused:
            env.step(bad)
        if members == 2:
            assert refused.value.__notes__ == ["This is an action of envs[1], which has the rows 4 .. 7."]
        with pytest.raises(ValueError):
            env.step(good[:-1])
        mine, theirs = env.step(good), other.step(good)
        assert all(np.array_equal(a, b) for a, b in zip(mine[:3], theirs[:3], strict=True))


def test_a_slot_that_repeats_an_item_is_refused_in_a_population_as_well():
    env = RankingVecEnv(population("SlotBySlot"), seed=3)
    env.reset()
    env.step(np.zeros(9, np.int64))
    before = get_action_masks(env)
    with pytest.raises(ValueError, match="row 1") as refused:
        env.step(np.array([1, 2, 3, 1, 0, 3, 1, 2, 3]))
    assert refused.value.__notes__ == ["This is an action of envs[1], which has the rows 3 .. 4."]
    assert np.array_equal(get_action_masks(env), before)


def test_too_many_rows_are_refused():
    env = RankingVecEnv(population("nothing"), seed=3)
    env.reset()
    with pytest.raises(ValueError, match=r"^actions has 10 rows; allowed: one for each of the 9 rows$"):
        env.step(np.tile(np.arange(3), (10, 1)))
