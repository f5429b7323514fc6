"""Recording wrappers where the truth changes: against a slow oracle that knows the schedule from plain Python."""

import math
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_schedules import cycled_breakpoints, drawn_breakpoints, epoch_at, own_parameters, parameters_of

from rankgym.envs import RankingVectorEnv, Schedule, single_breakpoint, vector_breakpoint
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety
from rankgym.wrappers.log import Log

MODES = ["NextStep", "SameStep", "Disabled"]
KNOBS = {"jump": {}, "shuffle": {}, "drift": {"drift_step": 0.7}, "two-level": {"p": 0.5, "gap": 0.2}}
SEEDS = [5, 900, 31]


def random_lists(rows, steps, positions, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(10), (steps, rows, 1)), axis=2)[:, :, :positions]


def recorded(env):
    return RecordRegret(RecordSafety(RecordRanking(env)))


def layers(env):
    return {"regret": env, "violations": env.env, "ndcg": env.env.env}


def made(form, mode, arguments):
    """Three rows, native or a batch of singles, recorded around or within the batch."""
    if form == "native":
        return recorded(vector_breakpoint(3, autoreset_mode=mode, **arguments))
    return recorded(SyncVectorEnv([lambda: single_breakpoint(**arguments)] * 3, autoreset_mode=AutoresetMode(mode)))


class PlainTotals:
    """What the wrappers should have of one row, by loops over items and epochs."""

    def __init__(self, env, seed, when):
        self.env, self.seed, self.when, self.episode = env, seed, when, -1

    def begin(self):
        self.episode += 1
        self.sessions = 0
        self.sums = {"regret": 0.0, "reward": 0.0, "violations": 0.0, "ndcg": 0.0}
        self.by_epoch = []

    def session(self, query, displayed, reward, regret):
        env = self.env
        if "num_breakpoints" in self.when:
            starts = drawn_breakpoints(self.seed, self.episode, env.horizon - 1, self.when["num_breakpoints"])
        else:
            starts = cycled_breakpoints(self.when["epoch_lengths"], env.horizon)
        epoch = epoch_at(starts, self.sessions)
        alpha = parameters_of(env, own_parameters(env, query), self.seed, self.episode, epoch)["attraction"].tolist()
        limit = self.misordered(alpha, list(range(env.num_positions))) + env.num_positions / 2
        discounts = [1 / math.log2(k + 2) for k in range(env.cutoff)]
        ideal = sum(a * d for a, d in zip(sorted(alpha, reverse=True), discounts, strict=False))
        self.sums["violations"] += self.misordered(alpha, displayed) > limit
        self.sums["ndcg"] += sum(alpha[i] * d for i, d in zip(displayed, discounts, strict=False)) / ideal
        self.sums["regret"] += regret
        self.sums["reward"] += reward
        if epoch == len(self.by_epoch):
            self.by_epoch.append(0.0)
        self.by_epoch[epoch] += regret
        self.sessions += 1
        return epoch

    def misordered(self, alpha, shown):
        below = [*shown, *(i for i in range(10) if i not in shown)]
        return sum(alpha[i] < alpha[j] for n, i in enumerate(shown) for j in below[n + 1 :])


@pytest.mark.parametrize("form", ["native", "sync"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize("when", [{"num_breakpoints": 4}, {"epoch_lengths": [1]}, {"epoch_lengths": [3, 1]}], ids=str)
def test_totals_are_those_of_a_slow_oracle(form, mode, scenario, when):
    """Of every session, in rows at different rounds, with a new query in each episode."""
    arguments = {"scenario": scenario, "model": "DCM", "num_positions": 4, "cutoff": 3, "horizon": 7, **KNOBS[scenario]}
    env = made(form, mode, {**arguments, **when})
    bare = vector_breakpoint(1, **arguments, **when)  # for its numbers
    plain = [PlainTotals(bare, seed, when) for seed in SEEDS]
    _, info = env.reset(seed=SEEDS)
    query = info["query"].copy()
    for row in plain:
        row.begin()
    ended, regrets = np.zeros(3, bool), 0
    for t, lists in enumerate(random_lists(3, 60, 4)):
        _, reward, _, truncated, info = env.step(lists)
        for b, row in enumerate(plain):
            if mode == "NextStep" and ended[b]:
                query[b] = info["query"][b]
                row.begin()
                continue
            told = info["final_info"] if mode == "SameStep" and truncated[b] else info
            epoch = row.session(query[b], lists[b].tolist(), reward[b], told["regret"][b])
            assert told["epoch"][b] == epoch
            regrets += told["regret"][b] > 0
            if mode == "SameStep" and truncated[b]:
                query[b] = info["query"][b]
        for name, layer in layers(env).items():
            expected = [row.sums[name] for row in plain]
            if not (mode == "NextStep" and ended.any()):  # the rows that were reset hold their last episode still
                assert layer.totals[name] == pytest.approx(expected, abs=1e-9), (t, name)
        if not (mode == "NextStep" and ended.any()):
            by_epoch = env.epoch_regret
            assert by_epoch.shape == (max(len(row.by_epoch) for row in plain), 3)
            for b, row in enumerate(plain):
                assert by_epoch[: len(row.by_epoch), b] == pytest.approx(row.by_epoch, abs=1e-9)
                assert np.isnan(by_epoch[len(row.by_epoch) :, b]).all()
            assert np.nansum(by_epoch, axis=0) == pytest.approx(env.totals["regret"], abs=1e-9)
        if mode == "SameStep":
            for b in np.flatnonzero(truncated):
                plain[b].begin()
        mask = truncated.copy() if mode == "Disabled" else np.zeros(3, bool)
        if mode != "NextStep" and t % 11 == 5:
            mask[1] = True
        if mask.any():
            _, fresh = env.reset(options={"reset_mask": mask.copy()})
            for b in np.flatnonzero(mask):
                query[b] = fresh["query"][b]
                if not (mode == "SameStep" and truncated[b]):
                    plain[b].begin()
                else:
                    plain[b].episode += 1
        ended = truncated
    assert regrets > 90  # of 180 sessions: the test has something to add up


@pytest.mark.parametrize("scenario", KNOBS)
def test_the_three_forms_have_the_same_totals_bit_for_bit(scenario):
    arguments = {"scenario": scenario, "num_positions": 3, "horizon": 50, "num_breakpoints": 9, **KNOBS[scenario]}
    native, sync = made("native", "NextStep", arguments), made("sync", "NextStep", arguments)
    singles = [recorded(single_breakpoint(**arguments)) for _ in SEEDS]
    native.reset(seed=SEEDS)
    sync.reset(seed=SEEDS)
    for single, seed in zip(singles, SEEDS, strict=True):
        single.reset(seed=seed)
    for lists in random_lists(3, 50, 3):
        native.step(lists)
        sync.step(lists)
        for b, single in enumerate(singles):
            info = single.step(lists[b])[4]
    for name in ("regret", "violations", "ndcg"):
        mine = layers(native)[name].records()[1]
        assert np.array_equal(mine, layers(sync)[name].records()[1])
        assert np.array_equal(mine, np.hstack([layers(single)[name].records()[1] for single in singles]))
    assert native.epoch_regret.shape == (10, 3)
    assert np.array_equal(native.epoch_regret, sync.epoch_regret)
    assert np.array_equal(native.epoch_regret, np.hstack([single.epoch_regret for single in singles]))
    assert info["epoch"] == 9
    assert info["episode_regret"] == pytest.approx(singles[-1].epoch_regret.sum())


def test_a_stationary_environment_has_no_epochs():
    for env in (RecordRegret(RankingVectorEnv(3)), RecordRegret(gym.make("rankgym/PBM-Yandex-v0"))):
        env.reset(seed=0)
        assert env.epoch_regret.shape == (0, getattr(env, "num_envs", 1))
        env.step(env.action_space.sample())
        assert env.epoch_regret.shape == (0, getattr(env, "num_envs", 1))


def test_the_regret_by_epoch_of_an_episode_stays_until_the_first_session_of_the_next():
    env = RecordRegret(vector_breakpoint(2, epoch_lengths=2, horizon=5, autoreset_mode="Disabled"))
    env.reset(seed=0)
    assert env.epoch_regret.shape == (0, 2)
    lists = random_lists(2, 7, 5)
    for actions in lists[:5]:
        env.step(actions)
    last = env.epoch_regret
    assert last.shape == (3, 2)
    env.reset()
    assert np.array_equal(env.epoch_regret, last)
    env.step(lists[5])
    assert env.epoch_regret.shape == (1, 2)
    env.reset(options={"reset_mask": np.array([True, False])})
    env.step(lists[6])
    assert env.epoch_regret.shape == (1, 2)
    assert env.epoch_regret[0] == pytest.approx(env.totals["regret"])


def test_epochs_from_999_on_are_kept_together():
    env = RecordRegret(vector_breakpoint(2, scenario="shuffle", epoch_lengths=1, horizon=1200, num_positions=3))
    env.reset(seed=0)
    regret = [env.step(actions)[4]["regret"] for actions in random_lists(2, 1200, 3)]
    by_epoch = env.epoch_regret
    assert by_epoch.shape == (1000, 2)
    assert by_epoch[:999] == pytest.approx(np.array(regret[:999]), abs=1e-9)
    assert by_epoch[999] == pytest.approx(np.sum(regret[999:], axis=0))


def test_the_limit_of_the_safety_constraint_follows_the_epoch():
    """With all items displayed, the production list itself never violates it, whatever the epoch makes of V(R_0)."""
    env = RecordSafety(
        vector_breakpoint(20, scenario="shuffle", num_positions=10, cutoff=5, epoch_lengths=1, query="all")
    )
    env.reset(seed=0)
    limits = []
    for _ in range(40):
        limits.append(env.unwrapped.initial_misordered.tolist())
        assert env.step(env.unwrapped.initial_list)[4]["misordered"].tolist() == limits[-1]
    assert max(map(max, limits)) - min(map(min, limits)) > 5 + 5  # a limit of the first epoch would be exceeded
    assert not env.totals["violations"].any()


def test_a_wrapper_that_came_after_the_reset_adds_up_regret():
    inner = vector_breakpoint(2, epoch_lengths=2, horizon=9)
    inner.reset(seed=0)
    lists = random_lists(2, 5, 5)
    inner.step(lists[0])
    env = RecordRegret(inner)
    regret = np.array([env.step(actions)[4]["regret"] for actions in lists[1:]])
    assert env.totals["regret"] == pytest.approx(regret.sum(axis=0))
    assert env.epoch_regret == pytest.approx(np.array([regret[0], regret[1] + regret[2], regret[3]]))


@settings(deadline=None)
@given(st.integers(1, 3), st.data())
def test_the_log_divides_totals_among_any_epochs(rows, data):
    """Rows may begin anew, be left out, skip epochs; a dict of lists knows better."""
    log, plain = Log(rows, np.array([10**9]), ("regret",)), [{} for _ in range(rows)]
    stale, epoch = [False] * rows, np.zeros(rows, np.int64)
    for _ in range(data.draw(st.integers(0, 25))):
        fresh = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows))) == 0
        if fresh.any():
            log.begin(fresh)
            stale = [s or bool(f) for s, f in zip(stale, fresh, strict=True)]
            epoch[fresh] = 0
        playing = np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
        epoch = epoch + playing * np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
        amount = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), float)
        log.add((amount,), None if playing.all() else playing, epoch)
        for b in np.flatnonzero(playing):
            if stale[b]:
                plain[b], stale[b] = {}, False
            plain[b].setdefault(int(epoch[b]), []).append(amount[b])
    by_epoch = log.by_epoch()
    assert len(by_epoch) == max((max(row, default=-1) for row in plain), default=-1) + 1
    for b, row in enumerate(plain):
        assert {e: v for e, v in enumerate(by_epoch[:, b]) if not np.isnan(v)} == {e: sum(v) for e, v in row.items()}


@pytest.mark.parametrize("mode", MODES)
def test_other_wrappers_below_do_not_hide_the_truth(mode):
    def single():
        return gym.wrappers.RecordEpisodeStatistics(
            gym.make("rankgym/CM-Yandex-Breakpoint-v0", query=0, horizon=6, epoch_lengths=2, disable_env_checker=True)
        )

    env = recorded(SyncVectorEnv([single] * 2, autoreset_mode=AutoresetMode(mode)))
    arguments = {"model": "CM", "query": 0, "horizon": 6, "epoch_lengths": 2, "num_positions": 3}
    twin = recorded(gym.wrappers.vector.RecordEpisodeStatistics(vector_breakpoint(2, autoreset_mode=mode, **arguments)))
    env.reset(seed=0)
    twin.reset(seed=0)
    for lists in random_lists(2, 6, 3):
        env.step(lists)
        twin.step(lists)
        for name in ("regret", "violations", "ndcg"):
            assert (layers(env)[name].totals[name] == layers(twin)[name].totals[name]).all()
    assert env.epoch_regret.shape == (3, 2)
    assert np.array_equal(env.epoch_regret, twin.epoch_regret)


def test_an_environment_that_does_not_tell_of_changes_is_read_before_every_session():
    class Silent(RankingVectorEnv):
        @property
        def changes(self):
            raise AttributeError("changes")

    shared = {"epoch_lengths": [1, 2], "query": "all", "num_positions": 4}
    silent = Silent(6, query="all", num_positions=4)
    silent.follow(Schedule(epoch_lengths=[1, 2]))
    one, other = recorded(vector_breakpoint(6, **shared)), recorded(silent)
    one.reset(seed=0)
    other.reset(seed=0)
    for lists in random_lists(6, 30, 4):
        one.step(lists)
        other.step(lists)
    for name in ("regret", "violations", "ndcg"):
        assert (layers(one)[name].totals[name] == layers(other)[name].totals[name]).all()
    assert np.array_equal(one.epoch_regret, other.epoch_regret)
    assert all(a < b for a, b in pairwise([0, *one.records()[0]]))
