"""Non-stationary environments: what changes, when, and that nothing else does. Schedules against plain Python."""

import json
import math
import pickle
from itertools import combinations, permutations, product

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_schedules import (
    best_set,
    cycled_breakpoints,
    drawn_breakpoints,
    epoch_at,
    jumped,
    key_of,
    labels,
    moved,
    own_parameters,
    parameters_of,
    ranked,
    shuffled,
    steps,
    word,
)
from scipy import stats

import rankgym
from rankgym.envs import (
    RankingVectorEnv,
    SingleEnv,
    scenarios,
    schedule,
    single_breakpoint,
    vector_breakpoint,
)
from rankgym.experiments.plan.environments import env_arguments
from rankgym.models import MODELS
from rankgym.registry import ENVS

MODES = ["NextStep", "SameStep", "Disabled"]
CM = "rankgym/CM-Yandex-Breakpoint-v0"
KNOBS = {"jump": {}, "shuffle": {}, "drift": {"drift_step": 0.7}, "two-level": {"p": 0.5, "gap": 0.2}}
# Every test of chance has one fixed seed and rejects when its p-value is under 1e-7, its probability of error.
ERROR = 1e-7


def make(scenario="jump", rows=3, **arguments):
    """An environment of the scenario with knobs, of ten items and three positions."""
    return vector_breakpoint(rows, scenario=scenario, **{"num_positions": 3, **KNOBS[scenario], **arguments})


def truth(env):
    """The parameters of the coming session."""
    return type(env.parameters)(*(values.copy() for values in env.parameters))


def random_lists(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(env.num_items), (steps, env.num_envs, 1)), axis=2)[:, :, : env.num_positions]


def same_call(mine, theirs, besides=("epoch", "_epoch")):
    """The same results of a call, bit for bit, but for what an info has ``besides``."""
    *values, info = mine
    *others, other = theirs
    for value, against in zip(values, others, strict=True):
        assert value.dtype == against.dtype
        assert value.tobytes() == against.tobytes()
    same_info({k: v for k, v in info.items() if k not in besides}, other, besides)


def same_info(info, other, besides=()):
    assert {k for k in info if k not in besides} == {k for k in other if k not in besides}
    for name, values in other.items():
        if isinstance(values, dict):
            same_info(info[name], values, besides)
        elif name not in besides:
            assert all(np.array_equal(a, b) for a, b in zip(info[name], values, strict=True)), name


def sessions(env, lists, seed, count, only=None):
    """What each row was told in its first ``count`` sessions, whatever the autoreset mode: (clicks, reward, info).

    ``only`` selects the rows. Default: all.
    """
    env.reset(seed=seed)
    mode = env.metadata["autoreset_mode"]
    told = {row: [] for row in (range(env.num_envs) if only is None else only)}
    played, pending = np.zeros(env.num_envs, int), np.zeros(env.num_envs, bool)
    while played.min() < count:
        actions = lists[np.minimum(played, len(lists) - 1), np.arange(env.num_envs)]
        clicks, reward, _, ended, info = env.step(actions)
        waited = pending & (mode is AutoresetMode.NEXT_STEP)
        played += ~waited
        for b in told:
            if waited[b]:
                continue
            final = mode is AutoresetMode.SAME_STEP and ended[b]
            facts = info["final_info"] if final else info
            seen = info["final_obs"][b] if final else clicks[b]
            mine = {k: np.asarray(v[b]).tolist() for k, v in facts.items() if not k.startswith(("_", "final"))}
            told[b].append((seen.tolist(), float(reward[b]), bool(ended[b]), mine))
        pending = ended.copy()
        if mode is AutoresetMode.DISABLED and pending.any():
            env.reset(options={"reset_mask": pending})
    return [row[:count] for row in told.values()]


# -- without a breakpoint nothing is different -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("query", [None, "all"])
def test_before_the_first_breakpoint_it_is_the_stationary_environment_bit_for_bit(model, mode, query):
    for scenario in ("jump", "shuffle", "drift"):
        for when in ({"breakpoints": []}, {"epoch_lengths": 9}, {"num_breakpoints": 0}, {"breakpoints": [9, 20]}):
            shared = {"model": model, "num_positions": 3, "query": query, "horizon": 9, "autoreset_mode": mode}
            env, twin = make(scenario, **shared, **when), RankingVectorEnv(3, **shared)
            same_call(env.reset(seed=4), twin.reset(seed=4))
            for actions in random_lists(env, 25):
                result = env.step(actions)
                same_call(result, twin.step(actions))
                assert not result[4]["epoch"].any()
                assert (env.attraction == twin.attraction).all()
                assert (env.initial_misordered == twin.initial_misordered).all()
                if mode == "Disabled" and result[3].any():
                    mask = {"reset_mask": result[3].copy()}
                    same_call(env.reset(options=mask), twin.reset(options=mask))
            assert env.changes == 0


@pytest.mark.parametrize("model", MODELS)
def test_while_the_query_is_its_own_the_users_are_those_of_the_stationary_environment(model):
    shared = {"model": model, "num_positions": 3, "query": "all", "horizon": 100}
    env, twin = make(rows=20, epoch_lengths=[3, 2], **shared), RankingVectorEnv(20, **shared)
    env.reset(seed=1)
    twin.reset(seed=1)
    differences = 0
    for actions in random_lists(env, 100):
        result, other = env.step(actions), twin.step(actions)
        own = result[4]["epoch"][0] % 2 == 0
        if own:
            same_call(result, other)
        differences += not own and (result[0] != other[0]).any()
    assert differences > 20  # of 40 rounds: with an attraction of .9 in place of about .1


# -- what changes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_in_odd_epochs_exactly_so_many_suboptimal_items_jump(model):
    for keywords, jumps, level, kept in (
        ({}, 3, 0.9, 3),
        ({"jumps": 1, "jump_attraction": 0.25, "kept": 0}, 1, 0.25, 0),
        ({"jumps": 9, "kept": 1}, 9, 0.9, 1),
        ({"jumps": 9}, 9, 0.9, 1),
        ({"cutoff": 2}, 3, 0.9, 2),
    ):
        env = make(model=model, rows=50, query="all", breakpoints=[1, 3, 4, 6], **keywords)
        own = env.attraction.copy()
        top = np.array([ranked(row)[:kept] for row in own.tolist()], int).reshape(50, kept)
        others = [p.copy() for n, p in zip(env.parameters._fields, env.parameters, strict=True) if n != "attraction"]
        env.reset(seed=3)
        up = {}
        for actions in random_lists(env, 8):
            now = env.parameters.attraction.copy()  # of the coming session
            epoch = int(env.step(actions)[4]["epoch"][0])
            if epoch % 2 == 0:
                assert (now == own).all()
                continue
            up[epoch] = now == level
            assert (up[epoch].sum(axis=1) == jumps).all()
            assert (now[~up[epoch]] == own[~up[epoch]]).all()
            assert not np.take_along_axis(up[epoch], top, axis=1).any()
            rest = [p for n, p in zip(env.parameters._fields, env.parameters, strict=True) if n != "attraction"]
            assert all((a == b).all() for a, b in zip(rest, others, strict=True))
        assert sorted(up) == [1, 3]
        if jumps < 9:
            # Drawn anew: a row's set is the same again with probability 1/35 (1/10, 1/56), all of 50 rows: below 1e-50.
            assert (up[1] != up[3]).any()


def test_every_set_of_suboptimal_items_jumps_equally_often():
    env = make(rows=400, query=0, epoch_lengths=1)
    own = env.attraction[0].tolist()
    sets = {s: n for n, s in enumerate(combinations(sorted(ranked(own)[3:]), 3))}
    counts = np.zeros(len(sets))
    env.reset(seed=0)
    lists = random_lists(env, 1)[0]
    for _ in range(60):
        env.step(lists)
        now = env.attraction == 0.9
        if now.any():
            np.add.at(counts, [sets[tuple(np.flatnonzero(row))] for row in now], 1)
    assert counts.sum() >= 10_000
    assert len(sets) == 35
    assert stats.chisquare(counts).pvalue > ERROR


@pytest.mark.parametrize("model", MODELS)
def test_items_swap_all_they_have(model):
    env = make("shuffle", model=model, rows=30, query="all", epoch_lengths=2, dataset="synthetic")
    own = [p.copy() for p in env.parameters]
    env.reset(seed=5)
    seen = set()
    for actions in random_lists(env, 12):
        now = truth(env)
        env.step(actions)
        for row in range(30):
            label = [own[0][row].tolist().index(a) for a in now[0][row].tolist()]  # synthetic attraction has no ties
            assert sorted(label) == list(range(10))
            for name, mine, then in zip(env.parameters._fields, now, own, strict=True):
                expected = then[row][label] if env.model.axes[name] == ("item",) else then[row]
                assert np.array_equal(mine[row], expected), name
            seen.add((row, tuple(label)))
    assert len(seen) > 30 * 6 - 3  # 6 epochs of 30 rows; three repetitions: at most (30 * 15 / 10!)^3 / 6 = 4e-13


def test_every_relabelling_is_equally_probable():
    env = make(
        "shuffle", rows=600, dataset="synthetic", parameters={"attraction": [0.1, 0.2, 0.3, 0.4]}, epoch_lengths=1
    )
    env.reset(seed=0)
    orders = {order: n for n, order in enumerate(permutations((0.1, 0.2, 0.3, 0.4)))}
    counts, lists = np.zeros(24), random_lists(env, 1)[0]
    for _ in range(20):
        env.step(lists)
        for row in env.attraction.tolist():
            counts[orders[tuple(row)]] += 1
    assert stats.chisquare(counts).pvalue > ERROR


@pytest.mark.parametrize("step", [0.05, 1.0, 30.0])
def test_logits_take_one_step_up_or_down_in_each_epoch(step):
    given = [0.0, 1.0, 0.5, 0.1, 0.999, 1e-9, 0.3]
    env = make(
        "drift", rows=40, dataset="synthetic", parameters={"attraction": given}, epoch_lengths=1, drift_step=step
    )
    env.reset(seed=2)
    lists, ups, last, walk = random_lists(env, 1)[0], [], env.attraction.copy(), np.zeros((40, 5))
    assert (last == given).all()
    for _ in range(60):
        env.step(lists)
        now = env.attraction.copy()
        assert (now[:, :2] == [0, 1]).all()
        moving = now[:, 2:]
        walk += np.sign(moving - last[:, 2:]) if step < 30 else 0
        if step < 30:
            with np.errstate(divide="ignore"):
                took = np.log(moving / (1 - moving)) - np.log(last[:, 2:] / (1 - last[:, 2:]))
            fair = (moving > 1e-12) & (moving < 1 - 1e-6)  # nearer to 1 the difference from 1 loses its digits
            assert np.abs(took[fair]) == pytest.approx(step, rel=1e-8)
            ups.append((moving > last[:, 2:])[fair])
            home = (walk == 0) & (np.abs(took) < 1e9)
            assert (moving[home] == np.broadcast_to(given[2:], (40, 5))[home]).all()  # back where it began: bit for bit
        assert ((now >= 0) & (now <= 1)).all()
        last = now
    if step < 30:
        ups = np.concatenate(ups)
        assert stats.binomtest(int(ups.sum()), len(ups)).pvalue > ERROR


def test_a_walk_that_has_gone_to_the_end_of_floats_comes_back():
    env = make(
        "drift", rows=200, dataset="synthetic", parameters={"attraction": [0.5] * 5}, epoch_lengths=1, drift_step=40
    )
    env.reset(seed=0)
    lists, was_one = random_lists(env, 1)[0], np.zeros((200, 5), bool)
    for _ in range(50):
        env.step(lists)
        was_one |= env.attraction == 1
    assert was_one.any()
    assert (env.attraction[was_one] < 1).any()


@pytest.mark.parametrize("model", MODELS)
def test_the_lower_bound_problem_has_so_many_best_items_and_other_ones_in_each_epoch(model):
    env = make("two-level", model=model, rows=60, query="all", p=0.7, gap=0.7, breakpoints=[2, 3, 5])
    env.reset(seed=1)
    sets = []
    for actions in random_lists(env, 6):
        now = env.attraction.copy()
        assert set(np.unique(now)) == {0.0, 0.7}
        assert ((now == 0.7).sum(axis=1) == 3).all()
        sets.append(now)
        env.step(actions)
    for t in range(1, 6):
        same = (sets[t] == sets[t - 1]).all(axis=1)
        assert same.all() if t not in (2, 3, 5) else not same.any()


def test_every_other_set_of_best_items_is_equally_probable():
    env = make("two-level", rows=500, model="CM", dataset="synthetic", num_items=4, num_positions=2, epoch_lengths=1)
    sets = {s: n for n, s in enumerate(combinations(range(4), 2))}
    env.reset(seed=7)
    lists = random_lists(env, 1)[0]
    first, moves, last = np.zeros(6), np.zeros((6, 6)), None
    for _ in range(21):
        now = [sets[tuple(np.flatnonzero(row == 0.5))] for row in env.attraction]
        if last is None:
            np.add.at(first, now, 1)
        else:
            np.add.at(moves, (last, now), 1)
        last = now
        env.step(lists)
    assert stats.chisquare(first).pvalue > ERROR
    assert (np.diag(moves) == 0).all()
    for row in range(6):
        assert stats.chisquare(np.delete(moves[row], row)).pvalue > ERROR


def test_the_lower_bound_problem_replaces_attraction_alone_and_needs_none():
    env = make("two-level", model="PBM", dataset="synthetic", parameters={"examination": [1.0, 0.5, 0.1]}, num_items=7)
    assert env.queries.num_queries == 1
    assert env.num_items == 7
    env.reset(seed=0)
    assert (env.parameters.examination == [1.0, 0.5, 0.1]).all()
    two = {"attraction": [[0.1] * 6, [0.2] * 6]}
    assert make("two-level", dataset="synthetic", model="CM", parameters=two).queries.num_queries == 2
    assert (
        gym.make_vec(
            "rankgym/CM-TwoLevel-Breakpoint-v0", num_envs=2, num_items=20, num_positions=10
        ).unwrapped.num_items
        == 20
    )


@pytest.mark.kernels
@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize("model", MODELS)
def test_in_every_epoch_the_optimal_reward_is_that_of_the_best_of_all_lists(model, scenario):
    """Brute force over the 60 lists of 3 of 5 items."""
    for reward, cutoff, reference in product(MODELS[model].rewards, (1, 3), ("best", "sorted")):
        kept = {"kept": 1} if scenario == "jump" else {}
        env = make(scenario, 4, model=model, query=[3, 8, 20], num_items=5, cutoff=cutoff, reward=reward,
                   reference=reference, epoch_lengths=[2, 1], **kept)  # fmt: skip
        env.reset(seed=1)
        every = np.array(list(permutations(range(5), 3)))
        for _ in range(7):
            now = truth(env)
            values = np.array([env.model.values(now, np.tile(r, (4, 1)), cutoff, reward) for r in every])
            lists = every[values.argmax(axis=0)]
            if reference == "sorted":
                lists = np.argsort(-now.attraction, axis=1, kind="stable")[:, :3]
            info = env.step(lists)[4]
            if reference == "best":
                assert info["optimal_reward"] == pytest.approx(values.max(axis=0), abs=1e-12)
            assert info["regret"] == pytest.approx(0, abs=1e-12)
            assert info["expected_reward"] == pytest.approx(env.model.values(now, lists, cutoff, reward), abs=0)


@pytest.mark.parametrize("scenario", KNOBS)
def test_misordered_pairs_are_counted_by_the_current_attraction(scenario):
    env = make(scenario, 5, query="all", num_positions=4, epoch_lengths=[1, 2])
    env.reset(seed=1)

    def pairs(alpha, shown):
        below = [*shown, *(i for i in range(10) if i not in shown)]
        return sum(alpha[i] < alpha[j] for n, i in enumerate(below[:4]) for j in below[n + 1 :])

    for actions in random_lists(env, 12):
        alpha, first = env.attraction.copy(), env.initial_misordered.copy()
        info = env.step(actions)[4]
        assert info["misordered"].tolist() == [pairs(alpha[b], actions[b].tolist()) for b in range(5)]
        assert first.tolist() == [pairs(alpha[b], list(range(4))) for b in range(5)]
        assert (env.initial_list == np.arange(10)).all()


# -- when --------------------------------------------------------------------------------------------------------------


def epochs(env, rounds, seed=0):
    """info["epoch"] of each round, (rounds, num_envs)."""
    assert (env.reset(seed=seed)[1]["epoch"] == 0).all()
    lists = np.tile(np.arange(env.num_positions), (env.num_envs, 1))
    told = [env.step(lists)[4]["epoch"] for _ in range(rounds)]
    assert all(e.dtype == np.int64 and e.shape == (env.num_envs,) for e in told)
    return np.array(told)


@pytest.mark.parametrize(
    ("when", "starts"),
    [
        ({"breakpoints": [1, 2, 7]}, [1, 2, 7]),
        ({"breakpoints": (5, 39, 40, 2**70)}, [5, 39]),
        ({"breakpoints": np.array([3, 29])}, [3, 29]),
        ({"epoch_lengths": 1}, list(range(1, 40))),
        ({"epoch_lengths": 7}, [7, 14, 21, 28, 35]),
        ({"epoch_lengths": [2, 5, 1]}, [2, 7, 8, 10, 15, 16, 18, 23, 24, 26, 31, 32, 34, 39]),
        ({"epoch_lengths": [30, 2**70]}, [30]),
        ({"breakpoints": []}, []),
        ({"num_breakpoints": 39}, list(range(1, 40))),
    ],
)
@pytest.mark.parametrize("scenario", KNOBS)
def test_a_breakpoint_is_the_first_round_of_a_new_epoch(when, starts, scenario):
    env = make(scenario, 2, horizon=40, **when)
    assert epochs(env, 40)[:, 1].tolist() == [epoch_at(starts, t) for t in range(40)]
    if "num_breakpoints" not in when:
        assert env.common_breakpoints(40) == starts
        assert env.common_breakpoints(10**9) == starts  # the horizon ends it
        assert env.common_breakpoints(7) == [t for t in starts if t < 7]
        assert env.common_breakpoints(0) == []
        endless = make(scenario, 2, horizon=None, **when)
        assert endless.common_breakpoints(40) == starts
        assert epochs(endless, 40)[:, 0].tolist() == [epoch_at(starts, t) for t in range(40)]


def test_defaults_of_the_scenarios():
    for scenario, first in (("jump", 10_000), ("shuffle", 10_000), ("drift", 100)):
        assert make(scenario).common_breakpoints(3 * first + 1) == [first, 2 * first, 3 * first]
    for horizon, thirds in ((1, []), (2, [1]), (3, [1, 2]), (7, [2, 4]), (90_000, [30_000, 60_000])):
        env = make("two-level", horizon=horizon)
        assert env.common_breakpoints(10**6) == thirds
        if horizon < 100:
            assert epochs(env, horizon)[:, 0].tolist() == [epoch_at(thirds, t) for t in range(horizon)]
    assert make("two-level", max_episode_steps=9, horizon=30).common_breakpoints(30) == [3, 6]
    assert RankingVectorEnv(2).common_breakpoints(100) == []
    assert RankingVectorEnv(2).changes == 0
    assert make(num_breakpoints=0).common_breakpoints(10**6) == []
    assert make(num_breakpoints=2).common_breakpoints(10**6) is None
    assert single_breakpoint(epoch_lengths=400_000).common_breakpoints(10**6) == [400_000, 800_000]


def test_drawn_breakpoints_are_distinct_in_range_uniform_and_each_rows_own():
    env = make(rows=600, horizon=6, num_breakpoints=2, autoreset_mode="SameStep", query=0)
    env.reset(seed=10)
    lists = np.tile(np.arange(3), (600, 1))
    sets = {s: n for n, s in enumerate(combinations(range(1, 6), 2))}
    counts, schedules = np.zeros(10), []
    for episode in range(12):
        infos = [env.step(lists)[4] for _ in range(6)]
        told = np.array([info["epoch"] for info in infos[:-1]] + [infos[-1]["final_info"]["epoch"]])
        starts = [tuple(t for t in range(1, 6) if told[t, row] > told[t - 1, row]) for row in range(600)]
        assert all(len(s) == 2 for s in starts)
        assert (told[-1] == 2).all()
        assert starts[:50] == [tuple(drawn_breakpoints(10 + row, episode, 5, 2)) for row in range(50)]
        np.add.at(counts, [sets[s] for s in starts], 1)
        schedules.append(starts)
    assert stats.chisquare(counts).pvalue > ERROR
    assert len({tuple(s) for s in schedules}) == 12  # each episode has its own: 10^-600 for two alike


@pytest.mark.kernels
@settings(deadline=None)
@given(st.integers(1, 60), st.data(), st.integers(0, WORD := 2**64 - 1))
def test_the_kernel_draws_what_plain_python_draws(last, data, key):
    count = data.draw(st.integers(0, last))
    drawn = np.full((2, count), -1)
    schedule.draw_breakpoints(np.array([key, 3], np.uint64), np.array([5, 0]), last, drawn)
    for row, (k, episode) in enumerate(((key, 5), (3, 0))):
        start, chosen = word(word(k, episode), 0), set()
        for n in range(count):
            pick = 1 + word(start, n) % (last - count + n + 1)
            chosen.add(last - count + n + 1 if pick in chosen else pick)
        assert drawn[row].tolist() == sorted(chosen)
        assert len(chosen) == count
        assert chosen <= set(range(1, last + 1))


@pytest.mark.kernels
@settings(deadline=None)
@given(st.integers(1, 12), st.data(), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
def test_the_other_kernels_draw_what_plain_python_draws(items, data, seeds):
    rows = len(seeds)
    whole = np.array(seeds, np.uint64)
    epoch = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)))
    out = np.empty(rows, np.uint64)
    schedule.epoch_seeds(whole, epoch[::-1].copy(), epoch, out)
    assert out.tolist() == [word(word(s, e), 1 + f) for s, e, f in zip(seeds, epoch[::-1].tolist(), epoch, strict=True)]

    state = np.full((rows, items), 7)
    scenarios.draw_labels(whole, state)
    assert state.tolist() == [shuffled(range(items), items, s) for s in seeds]

    before = state.copy()
    scenarios.draw_steps(whole, state)
    assert (state - before).tolist() == [[1 if word(s, i) >> 63 == 0 else -1 for i in range(items)] for s in seeds]

    kept = data.draw(st.integers(0, items - 1))
    jumps = data.draw(st.integers(1, items - kept))
    order = [shuffled(range(items), items, s, 50) for s in seeds]
    scenarios.draw_jumps(whole, epoch, np.array(order), kept, jumps, state)
    for row in range(rows):
        up = shuffled(order[row][kept:], jumps, seeds[row], kept)[:jumps] if epoch[row] % 2 else []
        assert np.flatnonzero(state[row]).tolist() == sorted(up)
        assert set(state[row].tolist()) <= {0, 1}

    if items > 1:
        count = data.draw(st.integers(1, items - 1))
        before = np.zeros((rows, items), int)
        before[:, :count] = 1
        after = before.copy()
        scenarios.draw_best(whole, count, np.empty(items, int), after)
        for row in range(rows):
            tries = (sorted(shuffled(range(items), count, seeds[row], n * items)[:count]) for n in range(10**6))
            assert np.flatnonzero(after[row]).tolist() == next(t for t in tries if t != list(range(count)))

    own = np.array([[data.draw(st.floats(0, 1)) for _ in range(items)] for _ in range(rows)])
    step, walk = data.draw(st.floats(1e-3, 1e3)), state - 1
    attraction = np.empty_like(own)
    scenarios.walked(own, walk, step, attraction)
    for alpha, n, new in zip(own.ravel().tolist(), walk.ravel().tolist(), attraction.ravel().tolist(), strict=True):
        if n == 0 or alpha in (0, 1):
            assert new == alpha
        elif 1e-9 < alpha < 1 - 1e-9 and abs(step * n) < 600:
            assert new == pytest.approx(moved(alpha, step * n), rel=1e-9)
        assert 0 <= new <= 1


# -- whose schedule it is ----------------------------------------------------------------------------------------------


@pytest.mark.kernels
@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize("query", [None, "all"])
def test_the_truth_is_that_of_the_plain_schedule(scenario, query):
    """Over several episodes, with epochs of length 1, in rows that are reset at different times."""
    for model, when in product(("CM", "DBN"), ({"epoch_lengths": [1, 2]}, {"num_breakpoints": 4})):
        env = make(scenario, 3, model=model, query=query, horizon=9, autoreset_mode="Disabled", **when)
        _, info = env.reset(seed=[5, 900, 31])
        played, episode = np.zeros(3, int), np.zeros(3, int)
        for t, actions in enumerate(random_lists(env, 30)):
            for row, seed in enumerate((5, 900, 31)):
                drawn = "num_breakpoints" in when
                starts = drawn_breakpoints(seed, episode[row], 8, 4) if drawn else cycled_breakpoints([1, 2], 9)
                epoch = epoch_at(starts, played[row])
                own = own_parameters(env, info["query"][row])
                expected = parameters_of(env, own, seed, episode[row], epoch)
                for name, values in expected.items():
                    mine = getattr(truth(env), name)[row]
                    assert mine == pytest.approx(values, abs=1e-12 if scenario == "drift" else 0)
            info = env.step(actions)[4]
            played += 1
            mask = played == 9
            if t == 4:
                mask[1] = True
            if mask.any():
                _, fresh = env.reset(options={"reset_mask": mask})
                info["query"][mask] = fresh["query"][mask]
                episode += mask
                played[mask] = 0


@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize("query", [None, "all"])
@pytest.mark.parametrize("when", [{"num_breakpoints": 3}, {"epoch_lengths": [1, 2]}], ids=["drawn", "given"])
def test_a_row_is_bit_identical_alone_in_a_batch_among_singles_and_across_autoresets(scenario, query, when):
    whole = make(scenario, 600, query=query, horizon=7, autoreset_mode="SameStep", **when)
    lists = random_lists(whole, 40)
    expected = sessions(whole, lists, 100, 40, [7])[0]
    assert {told["epoch"] for *_, told in expected} == ({0, 1, 2, 3} if "num_breakpoints" in when else {0, 1, 2, 3, 4})
    mine = {"query": query if query is None else [7], "horizon": 7, **when}
    for mode in MODES:
        alone = make(scenario, 1, autoreset_mode=mode, **mine)
        assert sessions(alone, lists[:, 7:8], 107, 40)[0] == expected
        arguments = {"scenario": scenario, "num_positions": 3, **KNOBS[scenario], **mine, "query": query and 7}
        singles = SyncVectorEnv([lambda a=arguments: single_breakpoint(**a)] * 2, autoreset_mode=AutoresetMode(mode))
        assert sessions(singles, lists[:, 6:8], [4, 107], 40, [1])[0] == expected
    shard = make(scenario, 5, query=query if query is None else list(range(5, 10)), horizon=7, **when)
    assert sessions(shard, lists[:, 5:10], list(range(105, 110)), 40, [2])[0] == expected


@pytest.mark.kernels
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", [3, [9, 1, 4]], ids=["int", "list"])
def test_native_equals_a_sync_batch_of_singles(mode, seed):
    arguments = {"scenario": "drift", "num_positions": 3, "query": 2, "horizon": 5, "num_breakpoints": 2}
    native = vector_breakpoint(3, **arguments, autoreset_mode=mode)
    singles = SyncVectorEnv([lambda: single_breakpoint(**arguments)] * 3, autoreset_mode=AutoresetMode(mode))
    native.reset(seed=seed)
    singles.reset(seed=seed)
    for actions in random_lists(native, 30):
        mine, theirs = native.step(actions), singles.step(actions)
        assert all((a == b).all() for a, b in zip(mine[:4], theirs[:4], strict=True))
        has = mine[4].get("_epoch", np.ones(3, bool))
        assert (mine[4]["epoch"][has] == theirs[4]["epoch"][has]).all()
        assert (native.attraction == np.array(singles.get_attr("attraction"))).all()
        assert (native.initial_misordered == np.array(singles.get_attr("initial_misordered"))).all()
        if mode == "Disabled" and mine[3].any():
            native.reset(options={"reset_mask": mine[3].copy()})
            singles.reset(options={"reset_mask": mine[3].copy()})


def test_two_agents_on_one_seed_meet_the_same_changes():
    one, other = (make(rows=5, num_breakpoints=6, horizon=30, query=None) for _ in range(2))
    one.reset(seed=8)
    other.reset(seed=8)
    for mine, theirs in zip(random_lists(one, 100, 1), random_lists(one, 100, 2), strict=True):
        assert (one.attraction == other.attraction).all()
        assert (one.step(mine)[4]["epoch"] == other.step(theirs)[4]["epoch"]).all()


@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize("mode", MODES)
def test_who_looks_changes_nothing(scenario, mode):
    """Reading the truth of the coming session, or not, is the same to all that follows; so is a refused action."""
    env, twin = (
        make(scenario, 4, horizon=11, num_breakpoints=5, autoreset_mode=mode, render_mode="ansi") for _ in range(2)
    )
    env.reset(seed=6)
    twin.reset(seed=6)
    rng = np.random.default_rng(0)
    for t, actions in enumerate(random_lists(env, 60)):
        if rng.random() < 0.5:
            text = env.render()
            kept = env.attraction.copy()
            assert env.changes == env.changes
            assert (env.attraction == kept).all()
            env.initial_misordered  # noqa: B018
            assert env.render() == text  # it shows the last session, and its epoch
        if rng.random() < 0.3 and not env._some_ended:
            with pytest.raises(ValueError, match="repeats"):
                env.step(np.zeros((4, 3), int))
        if rng.random() < 0.2:
            env = pickle.loads(pickle.dumps(env))
        mine, theirs = env.step(actions), twin.step(actions)
        same_call(mine, theirs, besides=())
        ended = mine[3]
        mask = ended if mode == "Disabled" else np.zeros(4, bool)
        if t % 7 == 3:
            mask = mask | (np.arange(4) == 2)
        if mask.any():
            same_call(env.reset(options={"reset_mask": mask}), twin.reset(options={"reset_mask": mask}), besides=())
        assert env.changes == twin.changes


def test_the_info_of_the_step_before_a_breakpoint_is_the_old_epochs():
    env = make(breakpoints=[3], horizon=6, query=[1, 2, 3])
    old = env.queries.best_lists("clicks", 3, 3, "best")[[1, 2, 3]]
    env.reset(seed=0)
    infos = [env.step(old)[4] for _ in range(6)]
    assert [i["epoch"].tolist() for i in infos] == [[0] * 3] * 3 + [[1] * 3] * 3
    assert all((i["regret"] == 0).all() for i in infos[:3])
    assert all((i["regret"] > 0.01).all() for i in infos[3:])  # the same lists, valued anew
    assert (infos[3]["optimal_reward"] > infos[2]["optimal_reward"]).all()


def test_changes_counts_what_is_no_reset():
    env = make(rows=2, epoch_lengths=2, horizon=5)
    seen = [env.changes]
    env.reset(seed=0)
    for actions in random_lists(env, 12):
        seen.append(env.changes)
        env.step(actions)
    # rounds 0 1 2 3 4, the step that resets, and again: a change is due before the rounds 2 and 4
    assert seen == [0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4]
    assert single_breakpoint().changes == 0


def test_a_new_query_and_a_new_schedule_at_every_reset():
    env = make(rows=100, epoch_lengths=1)
    sets = []
    for episode in range(3):
        _, info = env.reset(seed=0 if episode == 0 else None)
        own = env.queries.parameters.attraction[info["query"]]
        assert (env.attraction == own).all()
        env.step(random_lists(env, 1)[0])
        sets.append(env.attraction == 0.9)
        for row in range(100):
            up = jumped(row, episode, 1, 10, own[row].tolist(), jumps=3, kept=3)
            assert set(np.flatnonzero(sets[-1][row])) == up
    assert (sets[0] != sets[1]).any(axis=1).mean() > 0.5


def test_without_a_seed_rows_have_schedules_of_their_own():
    env = make("shuffle", rows=20, epoch_lengths=1)
    env.reset()
    env.step(random_lists(env, 1)[0])
    assert env.changes == 1
    assert len({tuple(s) for s in env.schedule.state.tolist()}) > 1  # all 20 alike: (1 / 10!)^19


# -- doors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", KNOBS)
@pytest.mark.parametrize(
    ("model", "when"),
    [("CM", {"num_breakpoints": 4}), ("UBM", {"epoch_lengths": [1, 3]}), ("DBN", {"breakpoints": [2, 3]})],
    ids=["drawn", "lengths", "breakpoints"],
)
def test_our_vector_checker_accepts_them(scenario, mode, model, when):
    report = rankgym.check_vector_env(make(scenario, model=model, horizon=7, autoreset_mode=mode, **when), steps=16)
    assert {"seed", "row independence", "reset mask", "fresh results", "bad action"} <= set(report.checked)


def test_singles_are_a_batch_of_one_and_survive_their_specs():
    env = gym.make(CM, num_breakpoints=3, horizon=8, scenario="shuffle", query=3)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    batch = make("shuffle", 1, num_breakpoints=3, horizon=8, model="CM", query=3, autoreset_mode="Disabled")
    assert isinstance(env.unwrapped, SingleEnv)
    assert env.unwrapped.common_breakpoints(5) is None
    _, info = env.reset(seed=11)
    again.reset(seed=11)
    assert info == {k: v[0] for k, v in batch.reset(seed=11)[1].items()}
    assert info["epoch"] == 0
    for actions in random_lists(batch, 8):
        assert (env.unwrapped.attraction == batch.attraction[0]).all()
        assert env.unwrapped.initial_misordered == batch.initial_misordered[0]
        assert env.unwrapped.changes == batch.changes
        result, other, whole = env.step(actions[0]), again.step(actions[0]), batch.step(actions)
        assert type(result[4]["epoch"]) is int
        assert result[4].keys() == whole[4].keys()
        assert all(np.array_equal(result[4][k], whole[4][k][0]) for k in whole[4])
        assert all(np.array_equal(result[4][k], other[4][k]) for k in whole[4])
    assert result[4]["epoch"] == 3


def test_the_registered_ids():
    ids = [name for name in ENVS if "-Breakpoint-" in name]
    models = ("CM", "PBM", "DCM", "DBN", "UBM", "CCM", "DBM")
    assert ids == [*(f"rankgym/{m}-Yandex-Breakpoint-v0" for m in models), "rankgym/CM-TwoLevel-Breakpoint-v0"]
    for name in ids[:-1]:
        env = gym.make_vec(name, num_envs=2).unwrapped
        assert (env.num_items, env.num_positions, env.cutoff, env.schedule.name) == (10, 3, 3, "jump")
        assert env.schedule.knobs == {"jumps": 3, "jump_attraction": 0.9, "kept": 3}
        assert env.common_breakpoints(100_001) == list(range(10_000, 100_001, 10_000))
    reranked = gym.make_vec(CM, num_envs=2, num_positions=10).unwrapped
    assert reranked.schedule.knobs["kept"] == 7  # of 10 displayed: three must be free to jump
    env = gym.make_vec(ids[-1], num_envs=2, horizon=300).unwrapped
    assert (env.num_items, env.num_positions, env.queries.num_queries) == (10, 5, 1)
    assert env.common_breakpoints(300) == [100, 200]
    assert gym.make(CM).unwrapped.engine.schedule.name == "jump"


def test_all_arguments_are_listed_with_their_defaults():
    own, base = env_arguments(CM), env_arguments("rankgym/CM-Yandex-v0")
    assert set(own) - set(base) == {
        *("scenario", "breakpoints", "num_breakpoints", "epoch_lengths", "jumps", "jump_attraction", "kept"),
        *("drift_step", "p", "gap"),
    }
    assert list(own)[-len(base) :] == list(base)  # its own come first
    assert {**base, **ENVS[CM][1]} == {k: v for k, v in own.items() if k in base or k in ENVS[CM][1]}
    assert own["num_positions"] == 3
    vector_breakpoint(2, **own)


def test_arguments_that_nobody_names_are_not_known():
    class Careless(gym.vector.VectorEnv):
        def __init__(self, num_envs=1, **anything):
            pass

    gym.register("test/Careless-v0", entry_point=single_breakpoint, vector_entry_point=Careless)
    try:
        assert env_arguments("test/Careless-v0") is None
    finally:
        del gym.registry["test/Careless-v0"]


def test_rendering_tells_the_epoch():
    env = gym.make(CM, query=4, epoch_lengths=1, render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == "query 4: nothing displayed yet"
    for t in range(3):
        env.step(np.array([3, 1, 0]))
        assert env.render().splitlines()[0] == f"query 4, round {t}, epoch {t}"
        assert [line.split()[2] for line in env.render().splitlines()[1:]] == ["3", "1", "0"]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"scenario": "storm"}, "scenario = 'storm' is unknown; allowed: 'jump', 'shuffle', 'drift', 'two-level'"),
        ({"scenario": None}, "scenario = None is unknown"),
        ({"scenario": ["jump"]}, r"scenario = \['jump'\] is unknown"),
        ({"jumps": 11}, r"jumps = 11 is out of range; allowed: a whole number in 1 \.\. 10"),
        ({"jumps": 0}, r"jumps = 0 .* 1 \.\. 10"),
        ({"jumps": 3, "kept": 8}, r"jumps = 3 and kept = 8 .* 10 items; allowed: jumps \+ kept of at most 10"),
        ({"kept": 10}, r"kept = 10 .* 0 \.\. 9"),
        ({"kept": -1}, r"kept = -1 .* 0 \.\. 9"),
        ({"jump_attraction": 1.1}, r"jump_attraction = 1.1 .* \[0, 1\]"),
        ({"jump_attraction": float("nan")}, r"jump_attraction = nan .* \[0, 1\]"),
        ({"jump_attraction": "0.9"}, r"jump_attraction = '0.9' .* \[0, 1\]"),
        (
            {"drift_step": 0.1},
            "drift_step = 0.1 is not a knob of scenario = 'jump'; allowed: jumps, jump_attraction, kept",
        ),
        ({"scenario": "shuffle", "p": 0.5}, "p = 0.5 is not a knob of scenario = 'shuffle'; allowed: none"),
        ({"scenario": "drift", "drift_step": 0}, r"drift_step = 0 .* \(0, 1.79769e\+308\]"),
        ({"scenario": "drift", "drift_step": -1.0}, "drift_step = -1.0"),
        ({"scenario": "drift", "drift_step": float("inf")}, "drift_step = inf"),
        ({"scenario": "drift", "drift_step": True}, "drift_step = True"),
        ({"scenario": "two-level", "gap": 0.1}, r"and p = None; allowed: p in \(0, 1\]"),
        ({"scenario": "two-level", "p": 0.4}, r"and gap = None; allowed: .* gap in \(0, p\]"),
        ({"scenario": "two-level", "p": 0.4, "gap": 0.5}, r"gap = 0.5 .* \(0, 0.4\]"),
        ({"scenario": "two-level", "p": 0.4, "gap": 0}, r"gap = 0 .* \(0, 0.4\]"),
        ({"scenario": "two-level", "p": 1.5, "gap": 0.5}, r"p = 1.5 .* \(0, 1\]"),
        ({"scenario": "two-level", "p": "x", "gap": 0.5, "dataset": "synthetic"}, r"p = 'x' .* \(0, 1\]"),
        ({"scenario": "two-level", "p": 0.4, "gap": 0.1, "num_positions": 10}, r"num_positions = 10 .* 1 \.\. 9"),
        ({"scenario": "two-level", "p": 0.4, "gap": 0.1, "horizon": None}, "horizon = None; .*two-level"),
        ({"scenario": "two-level", "p": 0.4, "gap": 0.1, "dataset": "synthetic", "num_items": 0}, "num_items = 0"),
        (
            {"scenario": "two-level", "p": 0.4, "gap": 0.1, "dataset": "synthetic", "num_items": 10**30},
            r"num_items = 10{30} .* 1 \.\. 10000",
        ),
        ({"breakpoints": [3, 3]}, r"breakpoints\[1\] = 3 .* at least 4"),
        ({"breakpoints": [5, 4]}, r"breakpoints\[1\] = 4 .* at least 6"),
        ({"breakpoints": [0]}, r"breakpoints\[0\] = 0 .* at least 1"),
        ({"breakpoints": [1.5]}, r"breakpoints\[0\] = 1.5"),
        ({"breakpoints": 7}, "breakpoints = 7 is not a list"),
        ({"breakpoints": "789"}, "breakpoints = '789' is not a list"),
        ({"breakpoints": b"789"}, "breakpoints = b'789' is not a list"),
        ({"breakpoints": np.array(7)}, r"breakpoints = array\(7\) is not a list"),
        ({"num_breakpoints": 7}, r"num_breakpoints = 7 .* 0 \.\. 6"),
        ({"num_breakpoints": 10_001, "horizon": 10**30}, r"num_breakpoints = 10001 .* 0 \.\. 10000"),
        ({"num_breakpoints": -1}, r"num_breakpoints = -1 .* 0 \.\. 6"),
        ({"num_breakpoints": 2, "max_episode_steps": 2}, r"num_breakpoints = 2 .* 0 \.\. 1"),
        ({"num_breakpoints": 2, "horizon": None}, "num_breakpoints = 2 and horizon = None"),
        ({"epoch_lengths": 0}, "epoch_lengths = 0 .* at least 1"),
        ({"epoch_lengths": True}, "epoch_lengths = True"),
        ({"epoch_lengths": [3, 0]}, r"epoch_lengths\[1\] = 0 .* at least 1"),
        ({"epoch_lengths": []}, r"epoch_lengths = \[\] is empty"),
        ({"epoch_lengths": np.array(3)}, r"epoch_lengths = array\(3\) is not a list"),
        ({"epoch_lengths": 2.5}, "epoch_lengths = 2.5 is not a list"),
        ({"breakpoints": [1], "epoch_lengths": 3}, r"breakpoints = \[1\] and epoch_lengths = 3 are given"),
        ({"breakpoints": [1], "num_breakpoints": 3}, r"breakpoints = \[1\] and num_breakpoints = 3 are given"),
        ({"num_envs": 0}, "num_envs = 0"),
        ({"cutoff": 4}, r"cutoff = 4 .* 1 \.\. 3"),
    ],
)
def test_bad_arguments_are_named(keywords, words):
    with pytest.raises(ValueError, match=words):
        vector_breakpoint(**{"num_envs": 2, "num_positions": 3, "horizon": 7, **keywords})


@pytest.mark.filterwarnings("error")
def test_small_types_are_numbers():
    """To compare a float32 with the largest float64 overflows."""
    env = vector_breakpoint(2, scenario="drift", drift_step=np.float32(0.5), epoch_lengths=np.int8(3))
    assert env.common_breakpoints(7) == [3, 6]
    assert np.array_equal(epochs(env, 7)[:, 0], [0, 0, 0, 1, 1, 1, 2])


@pytest.mark.parametrize("horizon", [2**60, 2**63, 2**64, 10**30])
def test_breakpoints_are_drawn_for_any_horizon(horizon):
    """None of them comes: the kernel draws 64-bit rounds, and nobody plays 2^60 of them."""
    env = vector_breakpoint(2, num_breakpoints=3, horizon=horizon)
    assert (epochs(env, 5) == 0).all()
    assert env.common_breakpoints(5) is None


def test_an_unknown_argument_is_a_type_error_as_everywhere():
    with pytest.raises(TypeError, match="jump_length"):
        vector_breakpoint(2, jump_length=3)


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(-1, 9), max_size=3)
)
WHOLE = ("breakpoints", "num_breakpoints", "epoch_lengths", "jumps", "jump_attraction", "kept")


@settings(deadline=None, max_examples=300)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "scenario": st.sampled_from([*KNOBS]) | PLAIN,
            **dict.fromkeys(WHOLE, PLAIN),
            **dict.fromkeys(("drift_step", "p", "gap"), PLAIN | st.floats(0, 1)),
        },
    )
)
def test_any_arguments_make_an_environment_that_plays_or_a_value_error(arguments):
    json.dumps(arguments)
    message = "= "
    try:
        env = vector_breakpoint(2, num_positions=2, horizon=9, **arguments)
    except ValueError as refusal:
        message = str(refusal)
    else:
        told = epochs(env, 9)
        assert (np.diff(told, axis=0) >= 0).all()
        assert (told[0] == 0).all()
        common = env.common_breakpoints(9)
        if common is not None:
            assert told[:, 0].tolist() == [epoch_at(common, t) for t in range(9)]
        assert ((env.attraction >= 0) & (env.attraction <= 1)).all()
    assert "= " in message


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([*KNOBS]),
    st.sampled_from(MODES),
    st.sampled_from([*MODELS]),
    st.integers(2, 12),
    st.data(),
)
def test_any_schedule_any_mode_any_model_is_told_rightly(scenario, mode, model, horizon, data):
    """Epochs of each session by the plain schedule, and no list better than the best."""
    when = data.draw(
        st.one_of(
            st.fixed_dictionaries({"num_breakpoints": st.integers(0, horizon - 1)}),
            st.fixed_dictionaries({"epoch_lengths": st.lists(st.integers(1, 9), min_size=1, max_size=3)}),
            st.fixed_dictionaries({"breakpoints": st.lists(st.integers(1, 15), unique=True).map(sorted)}),
        )
    )
    seed = data.draw(st.integers(0, 2**70))
    env = make(scenario, 3, model=model, horizon=horizon, autoreset_mode=mode, query=[1, 4], **when)
    told = sessions(env, random_lists(env, 3 * horizon), seed, 3 * horizon)
    for row, session in product(range(3), range(3 * horizon)):
        episode, round = divmod(session, horizon)
        if "num_breakpoints" in when:
            starts = drawn_breakpoints(seed + row, episode, horizon - 1, when["num_breakpoints"])
        elif "epoch_lengths" in when:
            starts = cycled_breakpoints(when["epoch_lengths"], horizon)
        else:
            starts = when["breakpoints"]
        *_, info = told[row][session]
        assert info["round"] == round
        assert info["epoch"] == epoch_at(starts, round)
        assert info["regret"] >= -1e-12
        if scenario != "drift" and session % 5 == 0:
            own = own_parameters(env, info["query"])
            now = parameters_of(env, own, seed + row, episode, info["epoch"])
            shown, value = np.array([info["displayed"]]), np.empty(1)
            env._reward.value(*(np.asarray(v)[None] for v in now.values()), shown, env.cutoff, value)
            assert info["expected_reward"] == value[0]


def test_plain_schedules_have_keys_of_their_own():
    """The users', queries' and schedules' streams of one seed differ."""
    env = make(rows=1)
    env.reset(seed=12)
    assert int(env.schedule.key[0]) == key_of(12)
    assert len({int(k[0]) for k in (env.schedule.key, env._key, env._problem_key)}) == 3
    assert best_set(1, 0, 3, 6, 2) != best_set(1, 0, 2, 6, 2)
    assert sorted(labels(1, 0, 1, 6)) == list(range(6))
    assert len(steps(1, 0, 4, 6)) == 6
    assert math.isclose(moved(0.5, 1.0), math.e / (1 + math.e))
