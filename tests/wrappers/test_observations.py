"""Observation wrappers: what is shown against counts by hand, in every shell and every autoreset mode."""

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, MultiBinary
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from rankgym.spaces import Permutation
from rankgym.wrappers.layers import Setting
from rankgym.wrappers.observations import (
    LOG_SCALE,
    LOGS,
    MAX_ROUNDS_LEFT,
    MAX_TIME,
    ROUNDS_LEFT_WITHOUT_HORIZON,
    ItemStatistics,
    ItemStatisticsLayer,
    LastDisplayed,
    TimeAware,
    TimeAwareLayer,
    learn_session,
)

PBM = "rankgym/PBM-Yandex-v0"
MODES = ["NextStep", "SameStep", "Disabled"]
SHELLS = ["native", "over sync", "within sync"]
HORIZON = 5
LIST = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]  # a production list that is not in order
K = 3


class PlainStatistics:
    """One row of ``ItemStatistics``, an entry at a time, from all sessions of the episode at each step."""

    def __init__(self, discounts=(1.0,), horizon=HORIZON):
        self.discounts, self.horizon = discounts, horizon
        self.begin()

    def begin(self):
        self.sessions = []

    def count(self, discount, counted):
        """The discounted number of sessions of which ``counted`` holds, as a running sum."""
        total = 0.0
        for displayed, clicks in self.sessions:
            total *= discount
            total += 1.0 if counted(displayed, clicks) else 0.0
        return total

    def features(self, item, discount):
        def at(k, clicked=False):
            return self.count(discount, lambda shown, clicks: shown[k] == item and (not clicked or clicks[k] == 1))

        def observed(shown, clicks):
            return item in shown and (1 in clicks[shown.index(item) :] or 1 not in clicks)

        by_position, clicks = [at(k) for k in range(K)], [at(k, clicked=True) for k in range(K)]
        n, c, o = (math.log(1 + n) / 2 for n in (sum(by_position), sum(clicks), self.count(discount, observed)))
        yield from (n, c, o, 2 * min(c - n, 0), 2 * min(c - o, 0))
        for counts in (by_position, clicks):
            yield from (n * (1 / (1 + sum(counts))) for n in counts)

    def show(self, clicks):
        left = ROUNDS_LEFT_WITHOUT_HORIZON if self.horizon is None else self.horizon - len(self.sessions)
        table = []
        for item in range(10):
            row = [feature for discount in self.discounts for feature in self.features(item, discount)]
            table.append([*row, LIST.index(item) / 9, float(np.log1p(left)) / 10])
        return np.array(table, np.float32)


class PlainLast(PlainStatistics):
    """One row of ``LastDisplayed``."""

    def show(self, clicks):
        if not self.sessions:
            return np.zeros((10, 2), np.float32)
        shown, clicked = self.sessions[-1]
        return np.array(
            [[(K - shown.index(i)) / K, clicked[shown.index(i)]] if i in shown else [0, 0] for i in range(10)],
            np.float32,
        )


class PlainTime(PlainStatistics):
    """One row of ``TimeAware``."""

    def show(self, clicks):
        return np.array([*clicks, len(self.sessions) / self.horizon], np.float32)


class PlainStack(PlainStatistics):
    """One row of all three, time outermost."""

    def show(self, clicks):
        last = PlainLast()
        last.sessions = self.sessions
        share = np.full((10, 1), len(self.sessions) / self.horizon, np.float32)
        return np.concatenate([super().show(clicks), last.show(clicks), share], axis=1)


def two_discounts(env):
    return ItemStatistics(env, discounts=[1.0, 0.75])


def stacked(env):
    return TimeAware(LastDisplayed(ItemStatistics(env, discounts=(0.9,))))


def statistics_last(env):
    return ItemStatistics(LastDisplayed(env))


FORMS = {
    "statistics": (ItemStatistics, PlainStatistics),
    "discounted statistics": (two_discounts, lambda: PlainStatistics([1.0, 0.75])),
    "last displayed": (LastDisplayed, PlainLast),
    "time": (TimeAware, PlainTime),
    "all": (stacked, lambda: PlainStack([0.9])),
}


def single(**arguments):
    return gym.make(PBM, **{"num_positions": K, "horizon": HORIZON, "initial_list": LIST, **arguments})


def batch(shell, mode, wrapped, rows=3):
    if shell == "native":
        arguments = {"num_positions": K, "horizon": HORIZON, "initial_list": LIST}
        return wrapped(gym.make_vec(PBM, num_envs=rows, autoreset_mode=mode, **arguments))
    if shell == "over sync":
        return wrapped(SyncVectorEnv([single] * rows, autoreset_mode=AutoresetMode(mode)))
    return SyncVectorEnv([lambda: wrapped(single())] * rows, autoreset_mode=AutoresetMode(mode))


def random_lists(rows, steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(10), (steps, rows, 1)), axis=2)[:, :, :K]


@pytest.mark.kernels
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_shown_is_counted_by_hand(shell, mode, form):
    """The environment below is played a second time, bare: its clicks and flags are all that the oracle is told."""
    wrapped, plain = FORMS[form]
    env, twin = batch(shell, mode, wrapped), batch("native", mode, lambda env: env)
    oracles = [plain() for _ in range(3)]
    observation, clicks = env.reset(seed=7)[0], twin.reset(seed=7)[0]
    ended = np.zeros(3, bool)

    def expected():
        return np.stack([oracle.show(row) for oracle, row in zip(oracles, clicks, strict=True)])

    def reset(rows):
        for row in np.flatnonzero(rows):
            oracles[row].begin()
        new = [e.reset(options={"reset_mask": rows.copy()})[0] for e in (env, twin)]
        return new, ended & ~rows

    assert (observation == expected()).all()
    for t, lists in enumerate(random_lists(3, 4 * HORIZON)):
        if mode == "Disabled" and ended.any():
            (observation, clicks), ended = reset(ended)
            assert (observation == expected()).all()
        if t == 3:  # from now on rows end at different times
            (observation, clicks), ended = reset(np.array([True, False, True]))
            assert (observation == expected()).all()
        observation, reward, terminated, truncated, info = env.step(lists)
        clicks, *flags, twin_info = twin.step(lists)
        for mine, theirs in zip((reward, terminated, truncated), flags, strict=True):
            assert (mine == theirs).all()
        for row, oracle in enumerate(oracles):
            if mode == "NextStep" and ended[row]:
                oracle.begin()
                continue
            last = twin_info["final_obs"][row] if mode == "SameStep" and truncated[row] else clicks[row]
            oracle.sessions.append((lists[row].tolist(), last.tolist()))
            if mode == "SameStep" and truncated[row]:
                assert (info["final_obs"][row] == oracle.show(last)).all()
                assert info["final_obs"][row].dtype == np.float32
                oracle.begin()
        ended = truncated if mode != "SameStep" else ended
        assert observation.dtype == np.float32
        assert (observation == expected()).all()
        assert env.observation_space.contains(observation)


@pytest.mark.parametrize("form", FORMS)
def test_single_environments_are_row_0_of_the_batch_bit_for_bit(form):
    wrapped, _ = FORMS[form]
    alone, many = wrapped(single()), batch("native", "Disabled", wrapped)
    mine, theirs = alone.reset(seed=3)[0], many.reset(seed=3)[0]
    for lists in random_lists(3, 3 * HORIZON):
        assert mine.tobytes() == theirs[0].tobytes()
        mine, _, _, ended, _ = alone.step(lists[0])
        theirs = many.step(lists)[0]
        if ended:
            assert mine.tobytes() == theirs[0].tobytes()
            mine, theirs = alone.reset()[0], many.reset()[0]


@pytest.mark.parametrize("wrapped", [*(wrapped for wrapped, _ in FORMS.values()), statistics_last])
@pytest.mark.parametrize("name", [PBM, "rankgym/CM-Yandex-Breakpoint-v0", "rankgym/DCM-Yandex-Rerank-v0"])
def test_gymnasiums_check_env_passes(name, wrapped):
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # and of nothing else
        check_env(wrapped(gym.make(name, horizon=50)))


def test_statistics_behind_a_table_keep_what_is_there():
    env, alone = statistics_last(single()), ItemStatistics(single())
    assert env.observation_space.shape == (10, 2 + 5 + 2 * K + 2)
    env.reset(seed=0)
    alone.reset(seed=0)
    for lists in random_lists(1, HORIZON)[:, 0]:
        shown, statistics = env.step(lists)[0], alone.step(lists)[0]
        assert (shown[:, 2:] == statistics).all()
        assert (shown[lists, 0] == np.array([1, 2 / 3, 1 / 3], np.float32)).all()


def test_an_episode_on_paper():
    """Three sessions of four items at two positions; the table is written down."""
    lists, clicks = [[2, 0], [2, 3], [3, 2]], [[0, 1], [0, 0], [1, 0]]
    setting = Setting(1, 4, 2, 3, np.array([[1, 0, 3, 2]]))
    layer = ItemStatisticsLayer(setting, MultiBinary(2), Permutation(4, 2))
    everybody = np.ones(1, bool)
    for shown, clicked in zip(lists, clicks, strict=True):
        layer.learn(np.array([shown]), np.array([clicked], np.int8), everybody)
    log = np.log(1 + np.arange(4))
    expected = [
        #  shown, clicked, observed        in rates                        shown at 1st, 2nd, clicked there,   place
        [*log[[1, 1, 1]] / 2, log[1] - log[1], log[1] - log[1], 0 / 2, 1 / 2, 0 / 2, 1 / 2, 1 / 3, 0],
        [*log[[0, 0, 0]] / 2, log[0] - log[0], log[0] - log[0], 0 / 1, 0 / 1, 0 / 1, 0 / 1, 0 / 3, 0],
        [*log[[3, 0, 2]] / 2, log[0] - log[3], log[0] - log[2], 2 / 4, 1 / 4, 0 / 1, 0 / 1, 3 / 3, 0],
        [*log[[2, 1, 2]] / 2, log[1] - log[2], log[1] - log[2], 1 / 3, 1 / 3, 1 / 2, 0 / 2, 2 / 3, 0],
    ]
    assert layer.observe(np.zeros((1, 2)))[0] == pytest.approx(np.array(expected), abs=1e-7)


@pytest.mark.kernels
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, bool, np.float32])
def test_clicks_and_lists_of_any_dtype_and_layout_count_alike(dtype):
    setting = Setting(4, 10, K, 100, np.tile(np.arange(10), (4, 1)))
    mine, theirs = (ItemStatisticsLayer(setting, MultiBinary(K), Permutation(10, K)) for _ in range(2))
    rng = np.random.default_rng(0)
    for lists in random_lists(4, 20):
        clicks, rows = rng.integers(2, size=(4, K)), rng.random(4) < 0.7
        strange = np.asfortranarray(lists.astype(np.int32)), np.asfortranarray(clicks.astype(dtype))
        for array in strange:
            array.flags.writeable = False
        mine.learn(*strange, rows)
        theirs.learn(lists, clicks.astype(np.int8), rows)
    assert (mine.counts == theirs.counts).all()
    assert mine.counts[:, :, :, :K].sum(axis=(1, 2, 3)).tolist() == (K * mine.played).tolist()
    assert len(getattr(learn_session, "signatures", [()])) == 1  # compiled once


@pytest.mark.parametrize("count", [4094, 4095, 4096, 10**7])
def test_counts_beyond_the_table_of_logarithms(count):
    setting = Setting(1, 10, K, None, np.arange(10)[None])
    layer = ItemStatisticsLayer(setting, MultiBinary(K), Permutation(10, K))
    layer.counts[0, 0, 3, 0] = count
    layer.learn(np.array([[3, 1, 2]]), np.array([[1, 0, 0]]), np.ones(1, bool))
    shown = layer.observe(np.zeros((1, K)))[0]
    assert shown[3, 0] == np.float32(math.log(2 + count) / LOG_SCALE)
    assert shown[3, 5] == np.float32((count + 1) * (1 / (count + 2)))


def test_the_table_of_logarithms():
    assert LOGS.tolist() == [math.log(1 + n) / 2 for n in range(len(LOGS))]


@given(st.one_of(st.none(), st.integers(1, 10**30)), st.integers(0, 10**6))
def test_rounds_left(horizon, played):
    setting = Setting(2, 10, K, horizon, np.tile(np.arange(10), (2, 1)))
    layer = ItemStatisticsLayer(setting, MultiBinary(K), Permutation(10, K))
    layer.played[1] = played
    shown = layer.observe(np.zeros((2, K)))[:, :, -1]
    for row, n in enumerate((0, played)):
        left = ROUNDS_LEFT_WITHOUT_HORIZON if horizon is None else max(min(horizon, MAX_ROUNDS_LEFT) - n, 0)
        assert shown[row] == pytest.approx(np.full(10, math.log1p(left) / 10))
    assert (shown < MAX_TIME).all()


@given(st.lists(st.floats(0, 1, exclude_min=True), min_size=1, max_size=4), st.booleans())
def test_discounts_are_numbers_above_0_up_to_1(discounts, as_array):
    env = ItemStatistics(single(), discounts=np.array(discounts) if as_array else tuple(discounts))
    assert env.form == ("ItemStatistics", {"discounts": discounts})
    assert env.observation_space.shape == (10, len(discounts) * (5 + 2 * K) + 2)
    env.reset(seed=0)
    for lists in random_lists(1, HORIZON)[:, 0]:
        assert env.observation_space.contains(env.step(lists)[0])


BAD_NUMBERS = st.one_of(
    st.floats().filter(lambda x: not 0 < x <= 1),
    st.integers().filter(lambda n: n != 1),
    st.sampled_from([None, "1", True, False, 1j, [0.5], np.bool_(True), np.float64("nan")]),
)


@given(st.lists(st.just(0.5), max_size=2), BAD_NUMBERS)
def test_a_discount_out_of_range_is_refused_by_its_place(good, bad):
    for env in (single(), gym.make_vec(PBM, num_envs=2)):
        with pytest.raises(ValueError, match=rf"discounts\[{len(good)}\] = .* is out of range; allowed: .*\(0, 1\]"):
            ItemStatistics(env, discounts=[*good, bad])


@pytest.mark.parametrize("bad", [0.5, 1, None, "0.5", [], (), {0.5}, {0.5: 1}, np.array(0.5), np.zeros(0)])
def test_discounts_that_are_no_list_are_refused(bad):
    for env in (single(), gym.make_vec(PBM, num_envs=2)):
        with pytest.raises(ValueError, match=r"discounts = .* is not a list; allowed: one or more numbers in \(0, 1\]"):
            ItemStatistics(env, discounts=bad)


def test_tables_do_not_go_around_flat_observations():
    flat = TimeAware(single())
    assert flat.observation_space == Box(0.0, 1.0, (K + 1,), np.float32)
    for wrapper in (ItemStatistics, LastDisplayed):
        with pytest.raises(ValueError, match=rf"allowed below {wrapper.__name__}: clicks or a table of 10 items"):
            wrapper(flat)


def test_time_needs_a_horizon_and_something_to_stand_beside():
    for env in (single(horizon=None), gym.make_vec(PBM, num_envs=2, horizon=None)):
        with pytest.raises(ValueError, match=r"env has no horizon, .* allowed: an environment with a horizon"):
            TimeAware(env)
    setting = Setting.of(single())
    for space in (gym.spaces.Discrete(3), gym.spaces.Dict(), Box(0, 1, (2, 3, 4))):
        with pytest.raises(ValueError, match="allowed below TimeAware: clicks, a flat Box or a table"):
            TimeAwareLayer(setting, space, Permutation(10, K))


def test_a_time_limit_is_a_horizon():
    env = TimeAware(gym.make(PBM, horizon=None, num_positions=K, max_episode_steps=4))
    env.reset(seed=0)
    assert [env.step(lists)[0][-1] for lists in random_lists(1, 4)[:, 0]] == [0.25, 0.5, 0.75, 1.0]


def test_time_in_a_batch_of_different_horizons_stays_in_range():
    env = TimeAware(SyncVectorEnv([lambda n=n: single(horizon=n) for n in (2, 4)], autoreset_mode="Disabled"))
    env.reset(seed=0)
    shares = [env.step(lists)[0][:, -1].tolist() for lists in random_lists(2, 2)]
    assert shares == [[0.5, 0.5], [1.0, 1.0]]
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(random_lists(2, 1)[0])[0][:, -1].tolist() == [0.5, 1.0]
