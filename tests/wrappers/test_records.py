"""Recording wrappers: totals against sums by hand, in both shells and all autoreset modes."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import VectorWrapper
from hypothesis import given
from hypothesis import strategies as st

from rankgym.metrics import ideal_dcg, rank_discounts
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety, record_rounds
from rankgym.wrappers.meters import Meter, SafetyMeter
from rankgym.wrappers.recorder import SingleRecorder

PBM = "rankgym/PBM-Yandex-v0"
MODES = ["NextStep", "SameStep", "Disabled"]


def random_lists(rows, steps, seed=0, positions=5):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(10), (steps, rows, 1)), axis=2)[:, :, :positions]


def recorded(env, **keywords):
    return RecordRegret(RecordSafety(RecordRanking(env, **keywords), **keywords), **keywords)


def layers(env):
    """The three recorders around an environment, by the name of their first series."""
    return {"regret": env, "violations": env.env, "ndcg": env.env.env}


@given(st.integers(1, 10**7), st.lists(st.integers(1, 10**7), max_size=5))
def test_record_rounds_are_log_spaced_with_the_ends_and_the_rounds_asked_for(horizon, asked):
    asked = [min(a, horizon) for a in asked]
    rounds = record_rounds(horizon, asked)
    assert (np.diff(rounds) > 0).all()
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert set(asked) <= set(rounds.tolist())
    for decade in range(2, int(np.log10(horizon))):  # a whole decade from 100 on holds 20 of them
        assert 20 <= np.count_nonzero((rounds > 10**decade) & (rounds <= 10 ** (decade + 1))) <= 20 + len(asked)


@pytest.mark.parametrize("at", [0, 11, 2.5])
def test_a_round_outside_of_the_horizon_is_refused(at):
    with pytest.raises(ValueError, match=r"record_at = .* 1 \.\. 10"):
        RecordRegret(gym.make_vec(PBM, num_envs=2, horizon=10), record_at=[at])


@pytest.mark.parametrize(
    "name", ["rankgym/PBM-Yandex-v0", "rankgym/CM-Yandex-Rerank-v0", "rankgym/DCM-Yandex-Rerank-v0"]
)
def test_records_are_running_sums_of_info(name):
    env = recorded(gym.make_vec(name, num_envs=7, query="all", horizon=300), record_at=[17])
    bare = env.unwrapped
    env.reset(seed=1)
    limit = bare.initial_misordered + bare.num_positions / 2
    discounts, ideal = rank_discounts(5), ideal_dcg(bare.attraction, 5)
    sums = {"regret": [], "reward": [], "violations": [], "ndcg": []}
    for actions in random_lists(7, 250, positions=bare.num_positions):
        _, reward, _, _, info = env.step(actions)
        sums["regret"].append(info["regret"])
        sums["reward"].append(reward)
        sums["violations"].append(info["misordered"] > limit)
        gains = np.take_along_axis(bare.attraction, actions, axis=1)[:, :5] @ discounts
        sums["ndcg"].append(gains / ideal)
    for layer, series in (("regret", "regret"), ("regret", "reward"), ("violations", "violations"), ("ndcg", "ndcg")):
        rounds, values = layers(env)[layer].records(series)
        assert 17 in rounds
        assert rounds[-1] <= 250
        assert values.shape == (len(rounds), 7)
        assert values == pytest.approx(np.cumsum(sums[series], axis=0)[rounds - 1])


@pytest.mark.parametrize("mode", MODES)
def test_a_new_episode_starts_from_nothing_whatever_the_autoreset_mode(mode):
    """The totals at an episode's end are those of a single environment played alone."""
    horizon, rows, episodes = 6, 3, 4
    lists = random_lists(rows, horizon * episodes)
    expected = []
    for row in range(rows):
        single = recorded(gym.make(PBM, horizon=horizon))
        single.reset(seed=row)
        mine = []
        for t, action in enumerate(lists[:, row]):
            info = single.step(action)[4]
            if t % horizon == horizon - 1:
                mine.append([info[f"episode_{name}"] for name in ("regret", "reward", "violations", "ndcg")])
                single.reset()
        expected.append(mine)

    env = recorded(gym.make_vec(PBM, num_envs=rows, horizon=horizon, autoreset_mode=mode))
    env.reset(seed=0)
    seen, t = [[] for _ in range(rows)], 0
    while t < len(lists):
        _, _, _, truncated, info = env.step(lists[t])
        t += 1
        for row in np.flatnonzero(truncated):
            assert info["_episode_regret"][row]
            seen[row].append([info[f"episode_{name}"][row] for name in ("regret", "reward", "violations", "ndcg")])
        if truncated.any():
            for name, index in (("regret", 0), ("violations", 2), ("ndcg", 3)):  # readable until the row's next round
                rounds, values = layers(env)[name].records()
                assert rounds[-1] == horizon
                assert values[-1].tolist() == [row[-1][index] for row in seen]
            if mode == "Disabled":
                env.reset(options={"reset_mask": truncated.copy()})
            elif mode == "NextStep":
                env.step(lists[0])  # ignored
    assert np.array(seen) == pytest.approx(np.array(expected))


def test_rows_may_be_at_different_rounds():
    env = recorded(gym.make_vec(PBM, num_envs=3, query="all", horizon=100))
    env.reset(seed=0)
    lists = random_lists(3, 30)
    regret = np.zeros((30, 3))
    for t, actions in enumerate(lists):
        regret[t] = env.step(actions)[4]["regret"]
        if t == 9:
            env.reset(options={"reset_mask": np.array([False, True, False])})
    rounds, values = env.records()
    assert env.totals["regret"] == pytest.approx([regret[:, 0].sum(), regret[10:, 1].sum(), regret[:, 2].sum()])
    assert np.isnan(values[rounds > 20, 1]).all()
    assert values[rounds <= 20, 1] == pytest.approx(np.cumsum(regret[10:, 1])[rounds[rounds <= 20] - 1])
    assert values[:, 2] == pytest.approx(np.cumsum(regret[:, 2])[rounds - 1])


def test_one_name_serves_single_and_vector_environments():
    single, vector = RecordRegret(gym.make(PBM)), RecordRegret(gym.make_vec(PBM, num_envs=2))
    assert isinstance(single, gym.Wrapper)
    assert isinstance(vector, VectorWrapper)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(RecordSafety(gym.make(PBM), record_at=[5]).spec.to_json()))
    assert isinstance(again, RecordSafety)
    with pytest.raises(ValueError, match=r"series = 'ndcg' is unknown; allowed: .*regret"):
        vector.records("ndcg")


@pytest.mark.parametrize("horizon", [8, None])
def test_records_of_a_sync_batch_of_singles_equal_the_native_ones(horizon):
    native = recorded(gym.make_vec(PBM, num_envs=3, query=2, horizon=horizon))
    sync = recorded(gym.make_vec(PBM, num_envs=3, query=2, horizon=horizon, vectorization_mode="sync"))
    native.reset(seed=3)
    sync.reset(seed=3)
    for actions in random_lists(3, 20):
        native.step(actions)
        sync.step(actions)
        for mine, theirs in zip(layers(native).values(), layers(sync).values(), strict=True):
            assert mine.totals.keys() == theirs.totals.keys()
            assert all((mine.totals[k] == theirs.totals[k]).all() for k in mine.totals)


@pytest.mark.parametrize("mode", MODES)
def test_other_wrappers_below_may_put_what_they_like_into_info(mode):
    """Gymnasium's RecordEpisodeStatistics adds a dict to info at the end of an episode."""

    def single():
        return gym.wrappers.RecordEpisodeStatistics(gym.make(PBM, query=0, horizon=3))

    env = recorded(gym.vector.SyncVectorEnv([single] * 2, autoreset_mode=gym.vector.AutoresetMode(mode)))
    env.reset(seed=0)
    for actions in random_lists(2, 3):
        info = env.step(actions)[4]
    ends = info["final_info"] if mode == "SameStep" else info
    assert (info["episode_reward"] == ends["episode"]["r"]).all()


class TopClickMeter(Meter):
    """Whether the first position was clicked."""

    series = ("top",)
    reads = ("clicks",)

    def amounts(self, info, reward):
        return (info["clicks"][:, 0],)


class RecordTopClicks(SingleRecorder):
    meters = (TopClickMeter, SafetyMeter)


@pytest.mark.parametrize("mode", MODES)
def test_own_meters_are_recorded_in_both_shells_and_all_autoreset_modes(mode):
    horizon, rows = 40, 3
    one = RecordTopClicks(gym.make(PBM, horizon=horizon))
    env = RecordTopClicks(RecordSafety(gym.make_vec(PBM, num_envs=rows, horizon=horizon, autoreset_mode=mode)))
    one.reset(seed=0)
    env.reset(seed=0)
    top, lists = 0, random_lists(rows, horizon)
    for actions in lists:
        top += one.step(actions[0])[4]["clicks"][0]
        *_, info = env.step(actions)
    assert top > 0
    assert one.totals["top"] == top == env.totals["top"][0] == info["episode_top"][0]
    assert np.array_equal(env.totals["violations"], env.env.totals["violations"])
    assert not hasattr(env, "epoch_regret")
