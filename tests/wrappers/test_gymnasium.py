"""Gymnasium's own wrappers and batches around our environments, and what clients of Gymnasium read of ours."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeAwareObservation, TimeLimit
from gymnasium.wrappers import vector as vector_wrappers

from rankgym.arguments import env_horizons
from rankgym.wrappers import ItemStatistics, RecordRegret, SlotBySlot
from rankgym.wrappers.observations import TimeAware

PBM = "rankgym/PBM-Yandex-v0"
MODES = [mode.value for mode in AutoresetMode]
KINDS = [None, "sync", "async"]


def batch(kind=None, mode="NextStep", wrappers=(), **arguments):
    given = {"num_envs": 2, "horizon": 3, **arguments}
    if kind is None:
        return gym.make_vec(PBM, autoreset_mode=mode, **given)
    given["vector_kwargs"] = {"autoreset_mode": AutoresetMode(mode)}
    return gym.make_vec(PBM, vectorization_mode=kind, wrappers=list(wrappers), **given)


def single(**arguments):
    return gym.make(PBM, **{"query": 3, "num_positions": 3, "horizon": 4, **arguments})


# -- autoreset_mode ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_wrappers_tell_the_mode_of_the_environment(kind, mode):
    for wrapper in (ItemStatistics, RecordRegret, vector_wrappers.RecordEpisodeStatistics):
        env = wrapper(vector_wrappers.TransformReward(batch(kind, mode), np.negative))
        assert env.autoreset_mode is env.env.autoreset_mode is env.unwrapped.autoreset_mode is AutoresetMode(mode)
        env.close()


def test_batches_of_other_action_spaces_tell_it_too():
    env = vector_wrappers.RecordEpisodeStatistics(batch("sync", "SameStep", wrappers=[SlotBySlot]))
    assert env.autoreset_mode is AutoresetMode.SAME_STEP
    duels = gym.make_vec("rankgym/Dueling-Cyclic-v0", num_envs=2, autoreset_mode="Disabled")
    assert RecordRegret(duels).autoreset_mode is AutoresetMode.DISABLED


def test_wrappers_of_other_environments_are_as_before():
    env = vector_wrappers.RecordEpisodeStatistics(SyncVectorEnv([lambda: gym.make("CartPole-v1")]))
    assert not hasattr(env, "autoreset_mode")
    with pytest.raises(AttributeError, match="'RecordEpisodeStatistics' object has no attribute 'autoreset_mode'"):
        env.autoreset_mode  # noqa: B018


# -- the length of an episode ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
def test_gymnasiums_time_counts_to_the_horizon(normalized):
    env = TimeAwareObservation(single(), flatten=False, normalize_time=normalized)
    assert env.max_timesteps == env.spec.max_episode_steps == 4
    seen, truncated = [env.reset(seed=0)[0]], False
    while not truncated:
        observation, _, _, truncated, _ = env.step([2, 0, 1])
        seen.append(observation)
    assert [each["time"].item() for each in seen] == [n / 4 if normalized else n for n in range(5)]
    assert all(env.observation_space.contains(each) for each in seen)


def test_the_limit_of_the_spec_is_the_horizon_in_batches_too():
    assert batch(horizon=9).spec.max_episode_steps == 9
    assert batch("sync", horizon=9).get_attr("spec")[1].max_episode_steps == 9
    assert single(horizon=None).spec.max_episode_steps is None
    assert single(max_episode_steps=3).spec.max_episode_steps == 3
    assert gym.spec(PBM).max_episode_steps is None  # the registered one is not touched


@pytest.mark.parametrize("arguments", [{}, {"horizon": None}, {"max_episode_steps": 2}, {"max_episode_steps": 9}])
@pytest.mark.parametrize("wrapper", [lambda env: env, SlotBySlot, lambda env: RecordRegret(SlotBySlot(env))])
def test_an_environment_made_by_the_spec_has_episodes_as_long(wrapper, arguments):
    env = wrapper(single(**arguments))
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    lengths, limit = [], env.spec.max_episode_steps
    for one in (env, again):
        assert env_horizons(one) == env_horizons(single(**arguments))
        one.reset(seed=0)
        slots, played, truncated = one.has_wrapper_attr("action_masks"), 0, False
        while not truncated and played < 40:
            truncated = one.step(played % 3 if slots else [0, 1, 2])[3]
            played += 1
        lengths.append(played)
    assert lengths[0] == lengths[1]
    assert limit is None or limit >= lengths[0]
    if arguments != {"max_episode_steps": 9}:  # which is longer than the horizon
        assert limit == (lengths[0] if lengths[0] < 40 else None)


def test_slots_are_counted_by_gymnasiums_time():
    env = TimeAwareObservation(SlotBySlot(TimeLimit(single(horizon=50), 4)), flatten=False)
    assert env.max_timesteps == 4 * 3
    seen, truncated = env.reset(seed=0)[0], False
    while not truncated:
        seen, _, _, truncated, _ = env.step(int(env.env.action_masks().argmax()))
    assert seen["time"].item() == 12
    assert env.observation_space.contains(seen)


# -- action masks ------------------------------------------------------------------------------------------------------


def test_sampling_with_the_mask_of_info_never_repeats_an_item():
    env = RecordEpisodeStatistics(SlotBySlot(single(horizon=20)))
    _, info = env.reset(seed=0)
    truncated = False
    while not truncated:
        assert info["action_mask"].dtype == np.int8
        assert (info["action_mask"] == env.env.action_masks()).all()
        *_, truncated, info = env.step(gym.spaces.Discrete(10).sample(info["action_mask"]))
    assert info["episode"]["l"] == 60


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_batches_of_singles_hand_masks_on(kind, mode):
    env = vector_wrappers.RecordEpisodeStatistics(batch(kind, mode, wrappers=[SlotBySlot], num_positions=3))
    _, info = env.reset(seed=0)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(40):
        mask = info["action_mask"]
        assert mask.shape == (2, 10)
        *_, truncated, info = env.step((rng.random(mask.shape) * mask).argmax(axis=1))
        ended += truncated.sum()
        if mode == "Disabled" and truncated.any():
            _, info = env.reset(options={"reset_mask": truncated})
    assert ended == 2 * (40 // (9 + (mode == "NextStep")))
    env.close()


def test_both_forms_have_the_same_masks():
    one, many = (
        SlotBySlot(single()),
        SlotBySlot(batch(mode="SameStep", num_envs=1, query=3, num_positions=3, horizon=4)),
    )
    infos = [env.reset(seed=5)[1] for env in (one, many)]
    rng = np.random.default_rng(1)
    for number in range(24):
        mine, theirs = (info["action_mask"] for info in infos)
        assert (mine == theirs[0]).all()
        assert mine.sum() == 10 - number % 3
        item = int((rng.random(10) * mine).argmax())
        infos = [one.step(item)[4], many.step(np.array([item]))[4]]
        if number == 11:
            infos[0] = one.reset()[1]


def test_other_layers_add_no_mask_and_hide_none():
    assert "action_mask" not in ItemStatistics(single()).reset(seed=0)[1]
    assert "action_mask" in TimeAware(SlotBySlot(single())).reset(seed=0)[1]
