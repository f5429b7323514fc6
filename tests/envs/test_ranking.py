"""The native ranking environment and its single form: the public contract, line by line."""

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgym
from rankgym.envs import RankingVectorEnv, SingleEnv
from rankgym.models import MODELS
from rankgym.registry import ENVS

MODES = ["NextStep", "SameStep", "Disabled"]
COMPLETE = [name for name in ENVS if "-LETOR-" not in name]  # these need no file of the caller's
RANKINGS = [name for name in ENVS if "/Dueling-" not in name]
PBM = "rankgym/PBM-Yandex-v0"
STEP_KEYS = {"displayed", "clicks", "expected_reward", "optimal_reward", "regret", "misordered", "round", "query"}
STATE = [
    *(
        "_key",
        "_problem_key",
        "_session",
        "_episode",
        "_round",
        "_ended",
        "_problem",
        "_better",
        "_optimal",
        "_displayed",
    ),
    *("_expected", "_misordered", "initial_list", "initial_misordered", "last_observation"),
]


def state(env):
    """All that changes in an engine, as bytes."""
    arrays = [getattr(env, name) for name in STATE] + list(env.parameters)
    return [a.tobytes() for a in arrays] + [env._latest_round, env._some_ended]


def random_lists(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(env.num_items), (steps, env.num_envs, 1)), axis=2)[:, :, : env.num_positions]


def column(history, row):
    """What one row went through: observation, reward, end and info of each of its sessions."""
    return [tuple(np.asarray(part[row]).tolist() for part in session) for session in history]


def play_sessions(env, lists, seed, sessions, only=None):
    """Play the first ``sessions`` sessions of each row, whatever the autoreset mode, as (row -> list of tuples).

    ``only`` selects the rows to tell of. Default: all.
    """
    env.reset(seed=seed)
    mode = env.metadata["autoreset_mode"]
    rows = {row: [] for row in (range(env.num_envs) if only is None else only)}
    played, pending = np.zeros(env.num_envs, int), np.zeros(env.num_envs, bool)
    while played.min() < sessions:
        actions = lists[np.minimum(played, len(lists) - 1), np.arange(env.num_envs)]
        obs, reward, terminated, truncated, info = env.step(actions)
        waited = pending & (mode is AutoresetMode.NEXT_STEP)
        played += ~waited
        for b in rows:
            if waited[b]:
                continue
            final = mode is AutoresetMode.SAME_STEP and truncated[b]
            told = info["final_info"] if final else info
            seen = info["final_obs"][b] if final else obs[b]
            rows[b].append(
                (
                    *(seen.tolist(), float(reward[b]), bool(terminated[b]), bool(truncated[b])),
                    *(np.asarray(told[k][b]).tolist() for k in sorted(STEP_KEYS)),
                )
            )
        pending = truncated.copy()
        if mode is AutoresetMode.DISABLED and pending.any():
            env.reset(options={"reset_mask": pending})
    return [row[:sessions] for row in rows.values()]


# -- spaces, info, and the facts of one step -------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPLETE)
def test_gymnasium_and_stable_baselines_accept_every_registered_single_env(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(name).unwrapped)
        if name in RANKINGS:  # the library knows no actions that are a Dict
            sb3 = pytest.importorskip("stable_baselines3.common.env_checker", reason="needs the extra sb3")
            sb3.check_env(gym.make(name).unwrapped)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", COMPLETE)
def test_our_vector_checker_accepts_every_registered_vector_env(name, mode):
    rankgym.check_vector_env(gym.make_vec(name, num_envs=3, horizon=7, autoreset_mode=mode), steps=16)  # two episodes


@pytest.mark.parametrize("name", COMPLETE)
def test_specs_survive_json_and_pickle(name):
    spec = gym.make(name, horizon=50).spec
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert again.unwrapped.horizon == 50
    assert isinstance(again.unwrapped, SingleEnv)
    vector = gym.make_vec(gym.make_vec(name, num_envs=2, horizon=50).spec)
    assert vector.unwrapped.num_envs == 2
    json.dumps(ENVS[name][1])
    env = gym.make_vec(name, num_envs=2)
    env.reset(seed=1)
    env.action_space.seed(0)
    first, *others = (env.action_space.sample() for _ in range(3))
    env.step(first)
    twin = pickle.loads(pickle.dumps(env))
    for actions in others:
        for mine, theirs in zip(env.step(actions)[:2], twin.step(actions)[:2], strict=True):
            assert (mine == theirs).all()


@pytest.mark.kernels
@pytest.mark.parametrize("name", RANKINGS)
def test_info_has_the_contracted_keys_and_regret_is_never_negative(name):
    env = gym.make_vec(name, num_envs=5, query="all").unwrapped
    observation, info = env.reset(seed=0)
    assert (observation == 0).all()
    epoch = {"epoch"} if "-Breakpoint-" in name else set()
    assert set(info) == {"optimal_reward", "round", "query"} | epoch
    for t, actions in enumerate(random_lists(env, 50)):
        observation, reward, terminated, truncated, info = env.step(actions)
        assert set(info) == STEP_KEYS | epoch
        assert all(len(values) == 5 for values in info.values())
        assert (info["displayed"] == actions).all()
        assert (info["clicks"] == observation).all()
        assert (info["round"] == t).all()
        assert (info["query"] == np.arange(5) % env.queries.num_queries).all()
        assert (info["regret"] == info["optimal_reward"] - info["expected_reward"]).all()
        assert (info["regret"] >= -1e-12).all()
        assert not terminated.any()
        assert not truncated.any()
        if env._reward is MODELS["DCM"].rewards["abandonment"]:
            assert (reward <= observation[:, : env.cutoff].any(axis=1)).all()
        else:
            assert (reward == observation[:, : env.cutoff].sum(axis=1)).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_best_list_has_no_regret_and_a_repeated_list_keeps_its_value(model):
    env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=100, query="all").unwrapped
    env.reset(seed=0)
    best = env.queries.best_lists("clicks", 5, 5, "best")
    for _ in range(3):
        info = env.step(best)[4]
        assert (info["regret"] == 0).all()
    other = env.step(random_lists(env, 1)[0])[4]
    assert (other["regret"] > 0).mean() > 0.9
    assert (env.step(best)[4]["regret"] == 0).all()


def test_the_sorted_list_is_the_reference_on_request():
    sorted_env = gym.make_vec("rankgym/DCM-Yandex-v0", num_envs=100, query="all", reference="sorted").unwrapped
    best_env = gym.make_vec("rankgym/DCM-Yandex-v0", num_envs=100, query="all").unwrapped
    by_attraction = np.argsort(-best_env.attraction, axis=1, kind="stable")[:, :5]
    sorted_env.reset(seed=0)
    best_env.reset(seed=0)
    assert (sorted_env.step(by_attraction)[4]["regret"] == 0).all()
    regret = best_env.step(by_attraction)[4]["regret"]
    assert (regret >= 0).all()
    assert regret.mean() > 0.001  # in the DCM the sorted list loses expected clicks


def test_misordered_counts_pairs_of_the_production_list():
    env = gym.make_vec("rankgym/PBM-Yandex-Rerank-v0", num_envs=100, query="all").unwrapped
    env.reset(seed=0)
    info = env.step(env.initial_list)[4]
    alpha = env.attraction
    pairs = sum((alpha[:, i] < alpha[:, j]).astype(int) for i in range(10) for j in range(i + 1, 10))
    assert (info["misordered"] == pairs).all()
    assert (env.initial_misordered == pairs).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_parameters_are_those_of_the_rows_queries(model):
    many = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=3, query=[5, 2, 5]).unwrapped
    single = gym.make(f"rankgym/{model}-Yandex-v0", query=2).unwrapped
    for whole, of_rows, alone in zip(many.queries.parameters, many.parameters, single.parameters, strict=True):
        assert (of_rows == whole[[5, 2, 5]]).all()
        assert np.array_equal(alone, whole[2])
    assert many.parameters.attraction is many.attraction


# -- queries ---------------------------------------------------------------------------------------------------------


def test_queries_are_chosen_as_contracted():
    def queries(query, rows=7, **keywords):
        env = gym.make_vec(PBM, num_envs=rows, query=query, **keywords)
        return env.reset(seed=0)[1]["query"].tolist()

    assert queries(3) == [3] * 7
    assert queries([4, 9]) == [4, 9, 4, 9, 4, 9, 4]
    assert queries("all", 205) == [b % 100 for b in range(205)]
    train, test = queries("train", 80), queries("test", 20)
    assert sorted(train + test) == list(range(100))
    assert queries("train", 81)[80] == train[0]


@pytest.mark.kernels
def test_without_a_choice_a_new_query_is_drawn_at_every_reset():
    env = gym.make_vec(PBM, num_envs=50, horizon=2)
    drawn = [env.reset(seed=0)[1]["query"]]
    drawn += [env.reset()[1]["query"] for _ in range(39)]
    counts = np.bincount(np.concatenate(drawn), minlength=100)  # 2000 draws of 100: mean 20
    assert counts.min() > 0  # some query never drawn: probability 100 * .99^2000 = 2e-7
    assert not (drawn[0] == drawn[1]).all()
    assert (env.reset(seed=0)[1]["query"] == drawn[0]).all()


@pytest.mark.parametrize("query", [-1, 100, 1.5, True, "some", [], [3, 100], ["3"], {}, np.array(3)])
def test_a_query_that_is_not_there_is_refused(query):
    with pytest.raises(ValueError, match=r"query = .*allowed"):
        RankingVectorEnv(2, query=query)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"num_envs": 0}, "num_envs = 0 is out of range"),
        ({"model": "XYZ"}, "model = 'XYZ'"),
        ({"dataset": "bing"}, "dataset = 'bing'"),
        ({"source": "made-up"}, "made-up"),
        ({"num_items": 11}, r"num_items = 11 .* 1 \.\. 10"),
        ({"num_positions": 11}, r"num_positions = 11 .* 1 \.\. 10"),
        ({"num_positions": 0}, r"num_positions = 0 .* 1 \.\. 10"),
        ({"cutoff": 6}, r"cutoff = 6 .* 1 \.\. 5"),
        ({"reward": "abandonment"}, "reward = 'abandonment' .* PBM; allowed: .*clicks"),
        ({"reference": "worst"}, "reference = 'worst'"),
        ({"horizon": 0}, "horizon = 0 .* at least 1"),
        ({"horizon": 1.5}, "horizon = 1.5"),
        ({"max_episode_steps": -1}, "max_episode_steps = -1"),
        ({"autoreset_mode": "Never"}, "autoreset_mode = 'Never'"),
        ({"render_mode": "human"}, "render_mode = 'human'"),
        ({"parameters": {"attraction": [0.5]}}, "parameters .* 'synthetic'"),
        ({"initial_list": [0, 1]}, "initial_list"),
        ({"initial_list": [0] * 10}, "initial_list"),
        ({"dataset": "synthetic", "parameters": {"attraction": [0.5, 1.3]}}, r"attraction.*1\.3 .*\[0, 1\]"),
        ({"dataset": "synthetic", "parameters": {"attraction": ["a"]}}, "attraction"),
        ({"dataset": "synthetic", "parameters": "{"}, "parameters = .* is not a dict"),
        ({"dataset": "synthetic", "parameters": {"termination": [0.5]}}, "unknown name 'termination'"),
        (
            {"dataset": "synthetic", "parameters": {"examination": [0.5]}},
            "examination.* 1 entry; allowed: at least 5",
        ),
    ],
)
def test_bad_arguments_are_named(keywords, words):
    with pytest.raises(ValueError, match=words):
        RankingVectorEnv(**{"num_envs": 2, **keywords})


def test_synthetic_parameters_are_taken_and_truncated_positions_drawn():
    env = gym.make(
        "rankgym/PBM-Synthetic-v0",
        num_positions=2,
        parameters={"attraction": [0.2, 0.9, 0.4], "examination": [0.5, 1.0]},
        initial_list=[2, 1, 0],
    ).unwrapped
    _, info = env.reset(seed=0)
    assert info == {"optimal_reward": pytest.approx(0.5 * 0.4 + 0.9), "round": 0, "query": 0}
    assert env.initial_list.tolist() == [2, 1, 0]
    assert env.step([2, 1])[4]["regret"] == 0


def test_max_episode_steps_is_gymnasiums_word_for_the_horizon():
    assert gym.make_vec(PBM, num_envs=2, max_episode_steps=9, horizon=20).unwrapped.horizon == 9
    assert gym.make_vec(PBM, num_envs=2, horizon=None).unwrapped.horizon is None


# -- one row's history is its own ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("query", [None, "all"])
def test_a_row_is_bit_identical_alone_in_a_batch_and_across_autoresets(model, query):
    def history(rows, seed, query, mode, row_lists, row):
        env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=rows, query=query, horizon=7, autoreset_mode=mode)
        return play_sessions(env, row_lists, seed, 40, [row])[0]

    batch = gym.make_vec(PBM, num_envs=600)
    lists = random_lists(batch.unwrapped, 40)
    whole = history(600, 100, query, "NextStep", lists, 7)
    for mode in MODES:
        alone = history(1, 107, query if query is None else [7], mode, lists[:, 7:8], 0)
        assert alone == whole
    shard = history(
        10, list(range(105, 115)), query if query is None else list(range(5, 15)), "SameStep", lists[:, 5:15], 2
    )
    assert shard == whole


def test_the_horizon_does_not_change_the_users():
    lists = random_lists(gym.make_vec(PBM, num_envs=3).unwrapped, 30)
    histories = [
        play_sessions(gym.make_vec(PBM, num_envs=3, query=0, horizon=h, autoreset_mode="SameStep"), lists, 5, 30)
        for h in (3, 7, 1000)
    ]
    clicks = [[[session[0] for session in row] for row in h] for h in histories]
    assert clicks[0] == clicks[1] == clicks[2]


@pytest.mark.kernels
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [3, [9, 1, 4]], ids=["int", "list"])
def test_native_equals_a_sync_batch_of_singles(mode, seed):
    native = gym.make_vec(PBM, num_envs=3, horizon=4, autoreset_mode=mode)
    singles = SyncVectorEnv(
        [lambda: gym.make(PBM, horizon=4, disable_env_checker=True)] * 3, autoreset_mode=AutoresetMode(mode)
    )
    lists = random_lists(native.unwrapped, 30)
    assert_same(native.reset(seed=seed), singles.reset(seed=seed))
    for actions in lists:
        mine, theirs = native.step(actions), singles.step(actions)
        assert_same(mine, theirs)
        done = mine[3]
        if mode == "Disabled" and done.any():
            assert_same(
                native.reset(options={"reset_mask": done.copy()}),
                singles.reset(options={"reset_mask": done.copy()}),
                info=False,
            )


def assert_same(mine, theirs, info=True):
    *values, my_info = mine
    *others, their_info = theirs
    for value, other in zip(values, others, strict=True):
        assert value.dtype == other.dtype
        assert (value == other).all()
    if info:
        assert_same_info(my_info, their_info)


def assert_same_info(mine, theirs):
    """The same keys, and the same values where the masks say that a row has them (a missing mask means every row)."""

    def names_of(info):
        return {k for k in info if not k.startswith("_") and np.any(info.get(f"_{k}", True))}

    assert names_of(mine) == names_of(theirs)
    for name in names_of(mine):
        if isinstance(mine[name], dict):
            assert_same_info(mine[name], theirs[name])
            continue
        has = mine.get(f"_{name}", np.ones(len(mine[name]), bool))
        assert (has == theirs.get(f"_{name}", np.ones(len(has), bool))).all()
        for row in np.flatnonzero(has):
            assert np.array_equal(mine[name][row], theirs[name][row])


@pytest.mark.parametrize("query", [None, 11])
def test_the_single_env_is_row_0_of_a_batch_of_one(query):
    single = gym.make(PBM, query=query, horizon=1000)
    batch = gym.make_vec(PBM, num_envs=1, query=query, horizon=1000)
    assert single.reset(seed=4)[1] == {k: v[0] for k, v in batch.reset(seed=4)[1].items()}
    for actions in random_lists(batch.unwrapped, 100):
        obs, reward, terminated, truncated, info = single.step(actions[0])
        batch_obs, batch_reward, _, _, batch_info = batch.step(actions)
        assert (obs == batch_obs[0]).all()
        assert reward == batch_reward[0]
        assert terminated is False
        assert truncated is False
        assert set(info) == STEP_KEYS
        assert all(np.array_equal(info[k], batch_info[k][0]) for k in STEP_KEYS)


def test_the_history_is_the_same_without_the_compiler_and_in_another_process(capsys):
    script = """
import hashlib, sys
import gymnasium as gym, numpy as np, rankgym
digest = hashlib.sha256()
for model in ("CM", "PBM", "DCM"):
    env = gym.make_vec(f"rankgym/{model}-Yandex-v0", num_envs=4, horizon=9)
    env.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(40):
        obs, reward, _, _, info = env.step(rng.permuted(np.tile(np.arange(10), (4, 1)), axis=1)[:, :5])
        for array in (obs, reward, *(info[k] for k in sorted(info))):
            digest.update(array.tobytes())
print(digest.hexdigest())
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": flag, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    ]
    exec(script, {})
    assert outputs == [capsys.readouterr().out] * 2


def test_unseeded_rows_differ_and_a_later_reset_goes_on():
    env = gym.make_vec(PBM, num_envs=1, query=0)
    actions = np.arange(5)[None]

    def clicks(seed=None):
        env.reset(seed=seed)
        return [env.step(actions)[0].tolist() for _ in range(60)]

    assert clicks(1) == clicks(1)
    first, second = clicks(1), clicks()
    assert first != second  # the same 300 coins again: probability below 1e-9
    assert gym.make_vec(PBM, num_envs=1, query=0).reset()[0].shape == (1, 5)


# -- doors -----------------------------------------------------------------------------------------------------------


def bad_actions(num_envs, rng):
    """Malformed actions without end: wrong shape, dtype, repeats, range, NaN, ragged, empty."""
    good = lambda: rng.permuted(np.tile(np.arange(10), (num_envs, 1)), axis=1)[:, :5]  # noqa: E731
    while True:
        kind, action = rng.integers(12), good()
        row, k = rng.integers(num_envs), rng.integers(5)
        if kind == 0:
            action[row, k] = rng.choice([-1, 10, 2**40, -(2**62)])
        elif kind == 1:
            action[row, k] = action[row, (k + 1 + rng.integers(4)) % 5]
        elif kind == 2:
            action = action.astype(rng.choice(["f8", "f4", "?", "c16", "O", "U3"]))
        elif kind == 3:
            action = action.astype(float)
            action[row, k] = rng.choice([np.nan, np.inf, 0.5])
        elif kind == 4:
            action = action[:, : rng.integers(5)]
        elif kind == 5:
            action = action[: rng.integers(num_envs)]
        elif kind == 6:
            action = [a[: rng.integers(1, 5)].tolist() if b == row else a.tolist() for b, a in enumerate(action)]
        elif kind == 7:
            action = rng.choice(["", "ranking", "01234"])
        elif kind == 8:
            action = [None, [], {}, 3, object(), 2.5][rng.integers(6)]
        elif kind == 9:
            action = action[..., None] if rng.integers(2) else action.ravel()
        elif kind == 10:
            action = np.array(action, np.uint64)
            action[row, k] = np.uint64(2**64 - 1 - int(rng.integers(100)))
        else:
            action = action.tolist()
            action[row][k] = [None, "3", 10**30, [1], 2.0][rng.integers(5)]
        yield action


def refuse(env, count, seed):
    rng = np.random.default_rng(seed)
    lists = random_lists(env, 3)
    env.reset(seed=0)
    env.step(lists[0])
    before, actions = state(env), bad_actions(env.num_envs, rng)
    for n in range(count):
        action = next(actions)
        try:
            env.step(action)
        except ValueError as error:
            message = str(error)
        else:
            pytest.fail(f"this action was accepted: {action!r}")
        assert message.startswith("action")
        assert len(message) < 1000
        if n % 100 == 0:
            assert state(env) == before
    assert state(env) == before
    return lists


def test_malformed_actions_are_refused_and_change_nothing():
    """Forty thousand: each kind of fault, in each row and position, comes about twenty times."""
    env, untouched = (gym.make_vec(PBM, num_envs=3).unwrapped for _ in range(2))
    lists = refuse(env, 40_000, seed=0)
    untouched.reset(seed=0)
    untouched.step(lists[0])
    for actions in lists[1:]:
        assert_same(env.step(actions), untouched.step(actions))


def test_the_refusal_names_row_value_and_range():
    env = gym.make_vec(PBM, num_envs=3)
    env.reset(seed=0)
    actions = np.tile(np.arange(5), (3, 1))
    actions[2] = [3, 5, 3, 0, 1]
    with pytest.raises(ValueError, match=r"row 2.*3, 5, 3, 0, 1.*repeats item 3.*5 different items out of 0\.\.9"):
        env.step(actions)
    single = gym.make(PBM)
    single.reset(seed=0)
    with pytest.raises(ValueError, match=r"3, 5, 3, 0, 1.*repeats item 3.*5 different items out of 0\.\.9"):
        single.unwrapped.step([3, 5, 3, 0, 1])


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**70), st.integers(1, 9))
def test_any_seed_and_any_horizon_run(rows, seed, horizon):
    env = gym.make_vec(PBM, num_envs=rows, horizon=horizon).unwrapped
    env.reset(seed=seed)
    truncations = [env.step(actions)[3] for actions in random_lists(env, 2 * horizon + 2)]
    assert [t.all() for t in truncations] == [n % (horizon + 1) == horizon - 1 for n in range(2 * horizon + 2)]
    assert [t.any() for t in truncations] == [t.all() for t in truncations]


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (-1, "seed = -1"),
        (1.5, "seed = 1.5"),
        (True, "seed = True"),
        ("3", "seed = '3'"),
        ([1], "1 entries"),
        ([1, -2], r"seed\[1\] = -2"),
    ],
)
def test_bad_seeds_are_refused_and_change_nothing(seed, words):
    env = gym.make_vec(PBM, num_envs=2).unwrapped
    env.reset(seed=0)
    before = state(env)
    with pytest.raises(ValueError, match=words):
        env.reset(seed=seed)
    assert state(env) == before


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (np.array([1, 0]), TypeError),
        (np.ones(3, bool), ValueError),
        (np.zeros(2, bool), ValueError),
    ],
)
def test_bad_reset_masks_are_refused_and_change_nothing(mask, error):
    env = gym.make_vec(PBM, num_envs=2).unwrapped
    env.reset(seed=0)
    before = state(env)
    with pytest.raises(error, match="reset_mask"):
        env.reset(options={"reset_mask": mask})
    assert state(env) == before


def test_a_masked_reset_leaves_the_other_rows_alone():
    env, twin = (gym.make_vec(PBM, num_envs=3, horizon=50) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    lists = random_lists(env.unwrapped, 20)
    for actions in lists[:10]:
        env.step(actions)
        twin.step(actions)
    options = {"reset_mask": np.array([False, True, False])}
    _, info = env.reset(options=options)
    assert options["reset_mask"].tolist() == [False, True, False]
    assert info["_query"].tolist() == [False, True, False]
    for t, actions in enumerate(lists[10:]):
        mine, theirs = env.step(actions), twin.step(actions)
        assert mine[4]["round"].tolist() == [10 + t, t, 10 + t]
        for row in (0, 2):
            assert (mine[0][row] == theirs[0][row]).all()


def test_steps_before_a_reset_or_after_the_end_are_refused():
    actions = np.tile(np.arange(5), (2, 1))
    with pytest.raises(ResetNeeded, match="before its first step"):
        gym.make_vec(PBM, num_envs=2).step(actions)
    env = gym.make_vec(PBM, num_envs=2, horizon=1, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(actions)
    with pytest.raises(ResetNeeded, match=r"rows \[0, 1\]"):
        env.step(actions)
    single = gym.make(PBM, horizon=1).unwrapped
    with pytest.raises(ResetNeeded):
        single.step(actions[0])
    single.reset(seed=0)
    assert single.step(actions[0])[3] is True
    with pytest.raises(ResetNeeded):
        single.step(actions[0])


def test_an_ignored_action_may_be_anything():
    """Autoreset in the next step ignores the action of a row that ended, as Gymnasium's own batches do."""
    env = gym.make_vec(PBM, num_envs=2, horizon=5)
    env.reset(seed=0)
    env.reset(options={"reset_mask": np.array([True, False])})
    good = np.tile(np.arange(5), (2, 1))
    for _ in range(4):
        env.step(good)
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(good)[3].tolist() == [False, True]
    observation, reward, _, truncated, info = env.step(np.array([[0, 1, 2, 3, 4], [7, 7, 7, 7, -9]]))
    assert reward[1] == 0
    assert not truncated.any()
    assert not observation[1].any()
    assert info["_displayed"].tolist() == [True, False]
    with pytest.raises(ValueError, match="row 1"):
        env.step(np.array([[0, 1, 2, 3, 4], [7, 7, 7, 7, -9]]))


@pytest.mark.parametrize("actions", [None, "x", np.zeros((2, 7), int), np.zeros((2, 5)), [[0, 1, 2, 3, 4]]])
def test_where_every_row_is_reset_the_batch_of_actions_still_has_its_shape(actions):
    env = gym.make_vec(PBM, num_envs=2, horizon=1).unwrapped
    env.reset(seed=0)
    env.step(np.tile(np.arange(5), (2, 1)))
    before = state(env)
    with pytest.raises(ValueError, match="action"):
        env.step(actions)
    assert state(env) == before
    assert not env.step(np.zeros((2, 5), int))[3].any()  # the rows' entries are ignored


def test_what_was_returned_is_never_changed_later():
    env = gym.make_vec(PBM, num_envs=2, query="all")
    kept = [env.reset(seed=0)]
    frozen = [copy.deepcopy(kept[0])]
    for actions in random_lists(env.unwrapped, 10):
        kept.append(env.step(actions))
        frozen.append(copy.deepcopy(kept[-1]))
        actions[:] = 0
    for mine, then in zip(kept, frozen, strict=True):
        assert_same(mine, then)


def test_rendering_shows_the_list_and_its_clicks():
    env = gym.make(PBM, query=4, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "query 4: nothing displayed yet"
    observation = env.step(np.array([3, 1, 0, 7, 9]))[0]
    lines = env.render().splitlines()
    assert lines[0] == "query 4, round 0"
    assert [line.split()[:3] for line in lines[1:]] == [
        [f"{k + 1}.", "item", str(i)] for k, i in enumerate([3, 1, 0, 7, 9])
    ]
    assert [line.endswith("click") for line in lines[1:]] == observation.astype(bool).tolist()
    assert len(gym.make_vec(PBM, num_envs=3, render_mode="ansi").render()) == 3


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize("name", [PBM, "rankgym/Dueling-Arxiv-v0", "rankgym/Dueling-PBM-Yandex-v0"])
def test_what_was_closed_is_refused(make, name):
    env = make(name)
    env.reset(seed=0)
    action = env.action_space.sample()
    env.step(action)
    env.close()
    env.close()
    for use in (lambda: env.step(action), env.reset):
        with pytest.raises(gym.error.ClosedEnvironmentError, match=r"closed; make a new one with gym\.make"):
            use()


def test_autoreset_modes_belong_to_batches():
    with pytest.raises(
        TypeError, match=r"no argument 'autoreset_mode'; use gym.make_vec\(..., autoreset_mode='SameStep'\); with"
    ):
        gym.make(PBM, autoreset_mode="SameStep")
    with pytest.raises(TypeError, match=r'or "async" vector_kwargs=\{"autoreset_mode": AutoresetMode\.X\}'):
        gym.make_vec(PBM, num_envs=2, vectorization_mode="sync", autoreset_mode="SameStep")


def test_more_positions_than_can_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"num_positions = 10+ is out of range; allowed: a whole number in 1 \.\. 10$"):
        gym.make_vec("rankgym/UBM-Synthetic-v0", num_positions=10**400)
