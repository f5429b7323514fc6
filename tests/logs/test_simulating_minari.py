"""Minari: the space is stored, its recorder works with infos, and simulated logs are data sets that load again."""

import subprocess
import sys
import types

import gymnasium as gym
import numpy as np
import pytest

import rankgym  # noqa: F401
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.logs.evaluation import played_log
from rankgym.logs.simulating import RecordInfos, Simulation, minari_sets, write_log
from rankgym.spaces import Permutation
from rankgym_agents import TopRank

minari = pytest.importorskip("minari")
PBM, LUCE = "rankgym/PBM-Yandex-v0", "plackett-luce:temperature=0.5"


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """An empty folder for data sets."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return tmp_path / "sets"


def tree_map(function, tree, *others):
    """``jax.tree_util.tree_map`` of dicts, lists being leaves of the second tree only: all that Minari needs of it."""
    if isinstance(tree, dict):
        for other in others:
            if tree.keys() != other.keys():
                raise ValueError(f"Dict key mismatch; expected keys: {list(tree)}; dict: {other}.")
        return {name: tree_map(function, part, *(other[name] for other in others)) for name, part in tree.items()}
    return function(tree, *others)


@pytest.fixture
def tree_util(monkeypatch):
    """Minari's recorder wants one function of jax, which takes 300 MB; where it is missing, it gets our own."""
    try:
        import jax.tree_util
    except ImportError:
        jax, module = types.ModuleType("jax"), types.ModuleType("jax.tree_util")
        module.tree_map, jax.tree_util = tree_map, module
        monkeypatch.setitem(sys.modules, "jax", jax)
        monkeypatch.setitem(sys.modules, "jax.tree_util", module)


@pytest.mark.parametrize("space", [Permutation(7, 3), Permutation(4), Permutation(300, 2, np.int16)])
def test_the_space_is_stored(space):
    text = minari.serialization.serialize_space(space)
    assert minari.serialization.deserialize_space(text) == space
    both = gym.spaces.Dict(left=space, right=gym.spaces.MultiDiscrete([3, 4]))
    again = minari.serialization.deserialize_space(minari.serialization.serialize_space(both))
    assert again == both
    assert type(again["right"]) is gym.spaces.MultiDiscrete


@pytest.mark.parametrize("imports", ["minari, rankgym", "rankgym, minari, rankgym.logs.simulating"])
def test_imports_in_either_order(imports):
    script = f"""
import {imports}
from minari.serialization import serialize_space, deserialize_space
from rankgym.spaces import Permutation
print(deserialize_space(serialize_space(Permutation(5, 2))))"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "Permutation(5, 2)"


def test_without_rankgym_the_space_is_a_multi_discrete():
    text = minari.serialization.serialize_space(Permutation(5, 2))
    script = f"from minari.serialization import deserialize_space; print(deserialize_space({text!r}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "MultiDiscrete([5 5])"


@pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")  # Minari leaves a folder to be collected
@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        (PBM, {"query": 3}),
        ("rankgym/CM-Yandex-Breakpoint-v0", {"query": 0, "breakpoints": [4]}),
        ("rankgym/Dueling-Arxiv-v0", {}),
        ("rankgym/Dueling-PBM-Yandex-v0", {"query": 1}),
    ],
)
def test_minaris_recorder_with_infos(sets, tree_util, env_id, arguments):
    env = minari.DataCollector(
        gym.make(env_id, horizon=6, **arguments),
        step_data_callback=RecordInfos,
        record_infos=True,
        data_format="arrow",
    )
    env.action_space.seed(0)
    played = []
    for seed in (0, 1):
        observation, info = env.reset(seed=seed)
        steps = [(None, observation, 0.0, info)]
        for _ in range(6):
            action = env.action_space.sample()
            observation, reward, _, _, info = env.step(action)
            steps.append((action, observation, reward, info))
        played.append(steps)
    with pytest.warns(UserWarning, match="is set to None"):  # author, e-mail address and so on
        env.create_dataset("rankgym/recorded-v0")
    env.close()
    found = minari.load_dataset("rankgym/recorded-v0")
    assert (found.action_space, found.observation_space) == (env.action_space, env.observation_space)
    assert len(found) == 2
    for episode, steps in zip(found, played, strict=True):
        np.testing.assert_array_equal(episode.observations, [observation for _, observation, _, _ in steps])
        np.testing.assert_array_equal(episode.rewards, [reward for _, _, reward, _ in steps[1:]])
        assert set(episode.infos) == set(steps[-1][3])
        for name, values in episode.infos.items():
            np.testing.assert_array_equal(values[1:], [info[name] for _, _, _, info in steps[1:]])
            if name in steps[0][3]:
                np.testing.assert_array_equal(values[0], steps[0][3][name])
        actions = [action for action, *_ in steps[1:]]
        if isinstance(actions[0], dict):
            for side in ("left", "right"):
                np.testing.assert_array_equal(episode.actions[side], [action[side] for action in actions])
        else:
            np.testing.assert_array_equal(episode.actions, actions)


def test_the_entry_of_a_reset_has_the_keys_and_dtypes_of_a_step():
    env = gym.make(PBM, query=3)
    record = RecordInfos()
    observation, info = env.reset(seed=0)
    first = record(env, obs=observation, info=info)["info"]
    observation, _, _, _, info = env.step(np.arange(5))
    then = record(env, obs=observation, info={**info, "episode": {}}, action=np.arange(5))["info"]
    assert first.keys() == then.keys() == info.keys()
    for name, value in then.items():
        assert np.asarray(first[name]).dtype == np.asarray(value).dtype
        assert np.shape(first[name]) == np.shape(value)
    assert np.isnan(first["regret"])
    assert first["displayed"].tolist() == [-1] * 5
    assert first["optimal_reward"] == then["optimal_reward"]
    with pytest.raises(ValueError, match="is not an environment of rankgym's own"):
        RecordInfos()(gym.make("CartPole-v1"), obs=None, info={})


def toprank(env, horizon, seed):
    return TopRank.for_env(env, horizon=horizon, seed=seed)


@pytest.mark.parametrize("policy", [LUCE, toprank])
def test_a_simulated_log_is_a_data_set(sets, monkeypatch, policy):
    monkeypatch.setattr(minari_sets, "BUFFERED", 12_000)  # several episodes a query
    monkeypatch.setattr(minari_sets, "LONGEST", 900)
    monkeypatch.setattr("rankgym.logs.simulating.playing.BLOCK_SESSIONS", 1_000)
    arguments, registered = {"query": [3, 64], "num_positions": 4, "cutoff": 2}, dict(gym.spec(PBM).kwargs)
    write_log(Simulation(PBM, 7_000, policy, **arguments), "rankgym/made-v0", "minari", progress=False)
    log = played_log(Simulation(PBM, 7_000, policy, **arguments))
    found = minari.load_dataset("rankgym/made-v0")
    assert (found.action_space, found.observation_space) == (Permutation(10, 4), gym.spaces.MultiBinary(4))
    assert found.total_steps == 7_000
    assert gym.spec(PBM).kwargs == registered
    seen = []
    for episode in found:
        session = episode.infos["session"][1:]
        seen.append(session)
        assert (np.diff(session) > 0).all()
        assert len(episode) <= 900
        np.testing.assert_array_equal(episode.observations[1:], log.clicks[session])
        np.testing.assert_array_equal(episode.observations[0], 0)
        np.testing.assert_array_equal(episode.actions, log.displayed[session])
        np.testing.assert_array_equal(episode.rewards, log.clicks[session, :2].sum(axis=1))
        np.testing.assert_array_equal(episode.infos["query"][1:], log.query[session])
        assert len(set(log.query[session])) == 1
        assert episode.truncations.tolist() == [False] * (len(session) - 1) + [True]
        assert not episode.terminations.any()
        assert ("propensity" in episode.infos) == (policy is LUCE)
        for name in ("propensity", "item_propensity", "prefix_propensity"):
            if name in episode.infos:
                np.testing.assert_array_equal(episode.infos[name][1:], getattr(log, name)[session])
                assert np.isnan(episode.infos[name][0]).all()
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(7_000))
    env = found.recover_environment()
    assert (env.action_space, env.unwrapped.cutoff) == (Permutation(10, 4), 2)


def test_rows_are_not_looped_over(sets, monkeypatch):
    """The environment takes a step for all rows at once: as few steps as rounds."""
    steps, step = [], SessionsVectorEnv.step
    monkeypatch.setattr(SessionsVectorEnv, "step", lambda env, actions: steps.append(1) or step(env, actions))
    write_log(Simulation(PBM, 5_000, LUCE), "rankgym/made-v0", "minari", progress=False)
    assert len(steps) == 5


def test_data_sets_are_whole_or_not_there(sets):
    def interrupt(sessions):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log(Simulation(PBM, 100), "made-v0", "minari", progress=interrupt)
    assert not list(sets.glob("**/*.parquet"))
    assert minari.list_local_datasets() == {}
    write_log(Simulation(PBM, 100), "made-v0", "minari", progress=False)
    assert list(minari.list_local_datasets()) == ["made-v0"]
    with pytest.raises(ValueError, match=r"'made-v0' exists in .*; allowed: another id or version, or overwrite"):
        write_log(Simulation(PBM, 100), "made-v0", "minari")
    write_log(Simulation(PBM, 60), "made-v0", "minari", overwrite=True, progress=False)
    assert minari.load_dataset("made-v0").total_steps == 60
    for name in ("made", "made v0", "made.csv"):
        with pytest.raises(ValueError, match="is not the id of a data set; allowed: such as"):
            write_log(Simulation(PBM, 100), name, "minari")
