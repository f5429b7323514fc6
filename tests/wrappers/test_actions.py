"""Action wrappers: the lists that they make, what they refuse, and that the safe ones are safe."""

import itertools
import json
import math
import pickle
from copy import deepcopy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from hypothesis import given
from hypothesis import strategies as st

from rankgym import check_vector_env
from rankgym.spaces import BatchedPermutation, Permutation
from rankgym.wrappers import RecordRegret, RecordSafety
from rankgym.wrappers.actions import AdjacentSwaps, RankingNumber, SafeLists, ScoresToRanking, SlotBySlot
from rankgym.wrappers.actions.base_list import BASE_COLUMN, LOGS, MAX_CREDIT
from rankgym.wrappers.actions.safe import AdjacentSwapsLayer, SafeListsLayer
from rankgym.wrappers.actions.unrestricted import RankingNumberLayer, ScoresToRankingLayer, SlotBySlotLayer
from rankgym.wrappers.layers import Setting, layers_of
from rankgym.wrappers.observations import ItemStatistics

PBM = "rankgym/PBM-Yandex-v0"
MODES = ["NextStep", "SameStep", "Disabled"]
L, K = 10, 3
LIST = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7]  # a production list that is not in order
WRAPPERS = [ScoresToRanking, SlotBySlot, RankingNumber, AdjacentSwaps, SafeLists]


def single(**keywords):
    return gym.make(PBM, **{"num_positions": K, "horizon": 5, "initial_list": LIST, **keywords})


def vector(rows=3, mode="SameStep", **keywords):
    keywords = {"num_positions": K, "horizon": 5, "initial_list": LIST, **keywords}
    return gym.make_vec(PBM, num_envs=rows, autoreset_mode=mode, **keywords)


def setting(lists, positions, horizon=100):
    lists = np.atleast_2d(lists)
    return Setting(len(lists), lists.shape[1], positions, horizon, lists.astype(np.int64))


def layer(layer_class, lists, positions, *, below=None, horizon=100, **keywords):
    made = setting(lists, positions, horizon)
    below = MultiBinary(positions) if below is None else below
    return layer_class(made, below, Permutation(made.num_items, positions), **keywords)


def state(layer):
    """All that a layer remembers."""
    return pickle.dumps({key: value for key, value in vars(layer).items() if "space" not in key})


def some_actions(env, steps, seed=0):
    """Actions of ``env``, chosen as it goes on: ``yield``s them; none is refused."""
    rng, layer = np.random.default_rng(seed), env.layer
    rows, items = layer.setting.num_envs, layer.setting.num_items
    for _ in range(steps):
        if layer.name == "ScoresToRanking":
            yield rng.choice([-1.0, -0.5, 0.0, 0.25, 1.0], (rows, items)).astype(np.float32)
        elif layer.name == "SlotBySlot":
            yield (rng.random((rows, items)) * layer.action_masks()).argmax(1)
        elif layer.name == "RankingNumber":
            yield rng.integers(len(layer.rankings), size=rows)
        elif layer.name == "AdjacentSwaps":
            yield rng.integers(2, size=(rows, layer.pairs)).astype(np.int8)
        else:
            wishes = rng.integers(2, size=(rows, layer.pairs))
            yield np.array(
                [plain_exchange(b, w, layer.setting.num_positions) for b, w in zip(layer.base, wishes, strict=True)]
            )


def plain_exchange(base, wishes, positions):
    """The base list with the wishes fulfilled from the top, none that takes an item a second time."""
    shown, moved = list(base), set()
    for m, wish in enumerate(wishes):
        if wish and not {m, m + 1} & moved:
            shown[m], shown[m + 1] = shown[m + 1], shown[m]
            moved |= {m, m + 1}
    return shown[:positions]


# ---- scores ----


@pytest.mark.kernels
@given(st.data())
def test_the_list_is_sorted_by_score_and_equal_ones_by_the_production_list(data):
    items = data.draw(st.integers(1, 7))
    positions = data.draw(st.integers(1, items))
    number = st.sampled_from([-1.0, -0.0, 0.0, 0.3, 1.0]) | st.floats(-1, 1)
    rows = data.draw(st.lists(st.lists(number, min_size=items, max_size=items), min_size=1, max_size=3))
    orders = [data.draw(st.permutations(range(items))) for _ in rows]
    made = layer(ScoresToRankingLayer, orders, positions)
    expected = [
        sorted(order, key=lambda item: -scores[item])[:positions] for scores, order in zip(rows, orders, strict=True)
    ]
    assert made.action(np.array(rows)).tolist() == expected  # sorted() keeps the order of equal ones


def test_equal_scores_are_the_production_list_also_of_a_new_query():
    made = layer(ScoresToRankingLayer, [[0, 1, 2], [2, 0, 1]], 2)
    assert made.action(np.zeros((2, 3), np.float32)).tolist() == [[0, 1], [2, 0]]
    made.begin(np.array([True, False]), np.array([[1, 2, 0], [1, 2, 0]]))
    assert made.action(np.zeros((2, 3), np.float32)).tolist() == [[1, 2], [2, 0]]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1.0000001, -1.5])
def test_what_is_no_score_is_refused_by_row_and_item(wrong):
    made = layer(ScoresToRankingLayer, [range(4)] * 3, 2)
    scores = np.zeros((3, 4))
    scores[1, 2] = wrong
    with pytest.raises(ValueError, match=rf"action\[row 1\]\[item 2\] = {wrong} is out of range; allowed: \[-1, 1\]"):
        made.action(scores)


# ---- rankings by number ----


@pytest.mark.parametrize(("items", "positions"), [(n, k) for n in range(1, 6) for k in range(1, n + 1)])
def test_numbers_are_those_of_itertools_and_back(items, positions):
    made = layer(RankingNumberLayer, [range(items)], positions)
    everything = list(itertools.permutations(range(items), positions))
    assert made.action_space == Discrete(len(everything)) == Discrete(math.perm(items, positions))
    assert [tuple(made.action([n])[0]) for n in range(len(everything))] == everything
    assert made.numbers(np.array(everything)).tolist() == list(range(len(everything)))
    with pytest.raises(ValueError, match="row 1"):
        made.numbers([list(everything[0]), [items] * positions])


def test_too_many_rankings_are_refused_before_any_is_made():
    with pytest.raises(ValueError, match=r"num_items = 10 and num_positions = 6 have 151,200 .* up to 100,000"):
        RankingNumber(single(num_positions=6))
    with pytest.raises(ValueError, match=r"num_items = 300 and num_positions = 300"):
        layer(RankingNumberLayer, [range(300)], 300)


# ---- slot by slot ----


def slots(lists):
    """The actions of sessions with these lists, (rows,) one after the other."""
    return (lists[:, k] for k in range(lists.shape[1]))


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("mode", MODES[1:])
def test_slots_make_the_same_sessions_as_lists(mode, table):
    """Reward, ends, info and what is seen below come with the last slot; before, there is nothing."""
    rng, horizon = np.random.default_rng(0), 4
    make = (
        (lambda: ItemStatistics(vector(mode=mode, horizon=horizon))) if table else lambda: vector(mode=mode, horizon=4)
    )
    env, bare = SlotBySlot(make()), make()
    seen, info = env.reset(seed=1)
    below, _ = bare.reset(seed=1)
    for session in range(10):
        lists = rng.permuted(np.tile(np.arange(L), (3, 1)), axis=1)[:, :K]
        for k, items in enumerate(slots(lists)):
            placed = np.zeros((3, L), np.float32)
            for row, position in itertools.product(range(3), range(k)):
                placed[row, lists[row, position]] = (K - position) / K
            if table:
                more = np.stack([placed, np.full((3, L), k / K)], axis=-1)
            else:
                more = np.concatenate([placed, np.tile(np.eye(K)[k], (3, 1))], axis=-1)
            assert seen.dtype == np.float32
            assert seen == pytest.approx(np.concatenate([below, more], axis=-1))
            assert env.observation_space.contains(seen)
            assert (env.action_masks() == (placed == 0)).all()
            assert same(info["action_mask"], env.action_masks().astype(np.int8))
            seen, reward, terminated, truncated, info = env.step(items)
            if k < K - 1:
                assert not reward.any()
                assert not terminated.any()
                assert not truncated.any()
                assert info.keys() == {"action_mask"}
        below, *others = bare.step(lists)
        assert (reward == others[0]).all()
        assert (terminated == others[1]).all()
        assert (truncated == others[2]).all()
        assert truncated.all() == (session % horizon == horizon - 1)
        assert info.keys() == {*others[3], "action_mask"}
        if truncated.any() and mode == "SameStep":
            assert (info["final_info"]["clicks"] == others[3]["final_info"]["clicks"]).all()
            first = np.zeros(L) if table else np.r_[np.zeros(L), np.eye(K)[0]]
            shown = info["final_obs"][2]
            assert (shown[:, -2] == first).all() if table else (shown[-L - K :] == first).all()
        if truncated.any() and mode == "Disabled":
            with pytest.raises(ResetNeeded):  # at the first slot already
                env.step(lists[:, 0])
            seen, info = env.reset(options={"reset_mask": truncated})
            below, _ = bare.reset(options={"reset_mask": truncated})


def test_an_episode_of_n_sessions_has_n_k_steps():
    env = SlotBySlot(single(horizon=7))
    env.reset(seed=0)
    rewards, steps, truncated = [], 0, False
    while not truncated:
        _, reward, _, truncated, info = env.step(int(env.action_masks().argmax()))
        rewards.append(reward)
        steps += 1
        assert ("regret" in info) == (steps % K == 0)
    assert steps == 7 * K
    assert sum(rewards) > 0
    assert not np.array(rewards).reshape(7, K)[:, : K - 1].any()
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset()
    assert env.action_masks().all()


def test_an_item_is_placed_once():
    env = SlotBySlot(vector(mode="Disabled"))
    env.reset(seed=0)
    env.step([4, 5, 6])
    before, copied = state(env.layer), deepcopy(env)
    for bad, what in [
        ([1, 5, 2], r"action\[row 1\] = 5 is already in the list \[5\]; allowed in slot 1: \[0, 1, 2, 3, 4, 6"),
        ([1, 2, 10], r"action\[row 2\] = 10 is out of range; allowed: an item of 0 \.\. 9"),
        ([-1, 2, 3], r"action\[row 0\] = -1 is out of range"),
        ([1, 2], r"have shape \(2,\), not \(3,\); allowed: an item of 0 \.\. 9 for each of the 3 rows"),
        ([1.0, 2.0, 3.0], "have dtype float64"),
        ([True, False, True], "have dtype bool"),
        (None, "have dtype object"),
        ([[1], [2, 3], [4]], "do not form an array"),
    ]:
        with pytest.raises(ValueError, match=what):
            env.step(bad)
    assert state(env.layer) == before
    for items in ([0, 0, 0], [9, 8, 7]):  # as if nothing had been tried
        assert same(env.step(items), copied.step(items))


def test_rows_are_reset_by_mask_between_lists_only():
    env = SlotBySlot(vector(mode="Disabled"))
    env.reset(seed=0)
    env.step([4, 5, 6])
    twin, before = deepcopy(env), state(env.layer)
    with pytest.raises(ValueError, match=r"rows \[1\] cannot be reset in the middle of a list: 1 of 3 slots"):
        env.reset(seed=9, options={"reset_mask": np.array([False, True, False])})
    with pytest.raises(ValueError, match="False everywhere"):
        env.reset(options={"reset_mask": np.zeros(3, bool)})
    assert state(env.layer) == before
    for items in ([0, 0, 0], [9, 8, 7]):
        assert same(env.step(items), twin.step(items))
    masked, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert (masked[1, :K] == 0).all()
    env.step([4, 5, 6])
    whole, _ = env.reset(seed=0, options={"reset_mask": np.ones(3, bool)})
    assert env.layer.filled == 0
    assert (whole[:, K : K + L] == 0).all()


def test_one_slot_is_a_session_in_every_mode():
    for mode in MODES:
        env = SlotBySlot(vector(mode=mode, num_positions=1))
        env.reset(seed=0)
        assert "displayed" in env.step([1, 2, 3])[4]


def test_autoreset_in_the_next_step_is_refused():
    with pytest.raises(ValueError, match=r"SlotBySlot cannot spread over 3 actions; allowed: .*SameStep"):
        SlotBySlot(vector(mode="NextStep"))


# ---- the base list ----


class PlainBase:
    """One row's base list, after the module's text."""

    def __init__(self, order, positions, delta):
        self.base, self.K, self.delta = list(order), positions, delta
        self.s, self.n, self.credit = {}, {}, {}  # by (upper, lower)

    def upper(self, place):
        return self.base[min(place, self.K) - 1]

    def found(self, i, j):
        s, n = self.s.get((i, j), 0), self.n.get((i, j), 0)
        return s > 2 * math.sqrt(n * math.log(1 / self.delta))

    def worse(self, i, j):
        s, n = self.s.get((i, j), 0), self.n.get((i, j), 0)
        return -s > 2 * math.sqrt(n * math.log(1 / self.delta))

    def count(self, i, j, exchanged, z):
        """``z``: click on j minus click on i."""
        credit = self.credit.get((i, j), 0)
        if credit == (0 if exchanged else MAX_CREDIT):
            return
        self.credit[i, j] = credit + (-1 if exchanged else 1)
        self.s[i, j] = self.s.get((i, j), 0) + z
        self.n[i, j] = self.n.get((i, j), 0) + abs(z)

    def learn(self, shown, clicks):
        click = dict(zip(shown, clicks, strict=True))  # an item that is not displayed is not clicked
        hidden = self.base[self.K :]
        for k in range(self.K):
            i = self.base[k]
            if set(shown[:k]) != set(self.base[:k]):
                continue
            if k + 1 < self.K:
                j = self.base[k + 1]
                if [shown[k], shown[k + 1]] in ([i, j], [j, i]):
                    self.count(i, j, shown[k] == j, click[j] - click[i])
            else:
                for j in hidden:
                    if shown[k] in (i, j):
                        self.count(i, j, shown[k] == j, click.get(j, 0) - click.get(i, 0))
        for place in range(1, len(self.base)):
            i, j, above = self.upper(place), self.base[place], min(place, self.K) - 1
            if self.found(i, j):
                self.base[above], self.base[place] = j, i
                self.s[j, i], self.n[j, i] = -self.s.pop((i, j)), self.n.pop((i, j))
                pairs = self.neighbours()
                moved = {i, j} | ({self.base[self.K - 1]} if place >= self.K else set())
                for pair in list(self.credit):
                    if pair not in pairs or moved & set(pair):
                        del self.credit[pair]
        line = self.base[self.K :]
        if line and shown[-1] == line[0]:
            line = line[1:] + line[:1]
        last = self.base[self.K - 1]
        for _ in line:
            if self.worse(last, line[0]):
                line = line[1:] + line[:1]
        self.base[self.K :] = line

    def neighbours(self):
        return {(self.upper(place), self.base[place]) for place in range(1, len(self.base))}

    def columns(self):
        """(items, 5), as AdjacentSwaps says."""
        table = np.zeros((len(self.base), 5))
        for place, j in enumerate(self.base):
            table[j, 0] = place / (len(self.base) - 1)
            if place:
                i = self.upper(place)
                s, n = self.s.get((i, j), 0), self.n.get((i, j), 0)
                table[j, 1] = math.copysign(math.log(1 + abs(s)) / 10, s)
                table[j, 2] = math.log(1 + n) / 10
                table[j, 3] = self.found(i, j) or self.worse(i, j)
                table[j, 4] = self.credit.get((i, j), 0) / MAX_CREDIT
        return table


@pytest.mark.kernels
@pytest.mark.parametrize("lists", ["safe", "any"])
@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (4, 1), (5, 5), (5, 4), (6, 3), (7, 2)], ids=str)
def test_the_base_list_follows_the_plain_rule(shape, lists):
    """With a loose delta, so that much is exchanged, and exchanged back; also where others made the lists."""
    items, positions = shape
    rng = np.random.default_rng(shape)
    attraction = np.where(np.arange(items) % 2, 0.9, 0.2)
    first = [rng.permutation(items) for _ in range(2)]
    made = layer(SafeListsLayer, first, positions, delta=0.3)
    plain = [PlainBase(order, positions, 0.3) for order in first]
    bases = set()
    for t in range(600):
        if t == 100:  # users change
            attraction = 1 - attraction
        coins = rng.integers(2, size=(2, made.pairs))
        shown = np.array([plain_exchange(p.base, c, positions) for p, c in zip(plain, coins, strict=True)])
        if lists == "any" and t % 3 == 0:
            shown = np.array([rng.permutation(items)[:positions] for _ in plain])
        clicks = (rng.random(shown.shape) < attraction[shown]).astype(np.int8)
        rows = rng.random(2) < 0.9
        made.learn(shown, clicks, rows)
        for row in np.flatnonzero(rows):
            plain[row].learn(shown[row].tolist(), clicks[row].tolist())
        assert made.base.tolist() == [p.base for p in plain]
        assert (made.place == np.argsort(made.base, axis=1)).all()
        for row, p in enumerate(plain):
            for pair in itertools.product(range(items), repeat=2):
                assert made.lead[row][pair] == p.s.get(pair, 0)
                assert made.compared[row][pair] == p.n.get(pair, 0)
        bases |= {tuple(base[:positions]) for base in made.base.tolist()}
        if t % 10 == 0:
            seen = made.observe(np.zeros((2, positions), np.int8))
            assert seen[:, :positions].any() == False  # noqa: E712
            assert seen[:, positions:].reshape(2, items, 5) == pytest.approx(np.array([p.columns() for p in plain]))
            assert made.observation_space.contains(seen[0])
    assert len(bases) > 1
    made.begin(np.array([False, True]), np.array([first[0], first[0]]))
    assert made.base.tolist() == [plain[0].base, first[0].tolist()]
    fresh = PlainBase(first[0], positions, 0.3)
    seen = made.observe(np.zeros((2, positions), np.int8))[:, positions:].reshape(2, items, 5)
    assert seen == pytest.approx(np.array([plain[0].columns(), fresh.columns()]))


@pytest.mark.kernels
@pytest.mark.parametrize(("items", "positions"), [(n, k) for n in range(2, 6) for k in range(1, n + 1)])
def test_safe_lists_are_all_that_exchanges_of_neighbours_make(items, positions):
    """Of K = L = n they are as many as Fibonacci's number n; SafeLists takes them and no other."""
    base = np.random.default_rng(items).permutation(items)
    swaps = layer(AdjacentSwapsLayer, base, positions, delta=0.1)
    safe = layer(SafeListsLayer, base, positions, delta=0.1)
    assert swaps.action_space == MultiBinary(positions if positions < items else items - 1)
    lists = set()
    for wishes in itertools.product([0, 1], repeat=swaps.pairs):
        (shown,) = swaps.action(np.array([wishes])).tolist()
        assert shown == plain_exchange(base, wishes, positions)
        assert (safe.action(np.array([shown])) == shown).all()
        lists.add(tuple(shown))
    if positions == items:
        assert len(lists) == [1, 1, 2, 3, 5, 8][items]
    whole = [
        tuple(p) for p in itertools.permutations(range(items))
    ]  # every item at most one place away, hidden ones too
    near = {p[:positions] for p in whole if all(abs(p.index(item) - k) <= 1 for k, item in enumerate(base))}
    assert {p for p in near if p in lists} == lists
    for shown in itertools.permutations(range(items), positions):
        if shown not in lists:
            with pytest.raises(
                ValueError, match=r"action\[row 0\] = .* is not safe: item \d at place \d; allowed: the base"
            ):
                safe.action(np.array([shown]))


def test_two_items_are_exchanged_in_exactly_the_session_of_line_23():
    """Item 1 is always clicked alone and orders take turns: s = n, exchanged at the first n > 4 log(1 / delta)."""
    delta = 0.01
    made = layer(AdjacentSwapsLayer, [0, 1], 2, delta=delta)
    for n in range(1, 30):
        shown = made.action([[n % 2 == 0]])
        made.learn(shown, (shown == 1).astype(np.int8), np.ones(1, bool))
        decided = n > 4 * math.log(1 / delta)
        assert made.base.tolist() == [[1, 0] if decided else [0, 1]]
        if decided:
            break
    assert made.lead[0, 1, 0] == -n
    assert made.compared[0, 1, 0] == n
    assert made.credit.tolist() == [[0, 0]]


def test_without_both_orders_nothing_is_learned():
    for wish in (0, 1):
        made = layer(AdjacentSwapsLayer, [0, 1], 2, delta=0.001)
        for _ in range(1000):
            shown = made.action([[wish]])
            made.learn(shown, (shown == 1).astype(np.int8), np.ones(1, bool))
        assert made.compared.sum() == (0 if wish else MAX_CREDIT)
        assert made.base.tolist() == [[0, 1]]


def test_hidden_items_wait_in_line_and_one_that_is_better_comes_up():
    made, rows = layer(AdjacentSwapsLayer, [0, 1, 2, 3], 2, delta=0.3), np.ones(1, bool)
    last = []
    for t in range(6):
        shown = made.action([[0, t % 2]])
        last.append(int(shown[0, 1]))
        made.learn(shown, np.zeros((1, 2), np.int8), rows)
    assert last == [1, 2, 1, 3, 1, 2]
    for t in range(30):
        shown = made.action([[0, t % 2]])
        made.learn(shown, (shown == 3).astype(np.int8), rows)
    assert made.base[0, :2].tolist() == [3, 0]  # 1 left, and 0 was worse as well
    assert made.lead[0, 3, 0] < 0


# ---- safety ----


def by_position(upper, lower):
    """Of items (i, j) at two places, examined so: the probabilities that z = click on j - click on i is -1, 0, 1."""

    def chances(alpha, exchanged):
        at_i, at_j = (lower, upper) if exchanged else (upper, lower)
        p, q = at_i * alpha[0], at_j * alpha[1]
        return p * (1 - q), p * q + (1 - p) * (1 - q), q * (1 - p)

    return chances


def cascade(alpha, exchanged):
    """The same for a user who leaves with the first click."""
    p, q = alpha
    p, q = (p * (1 - q), q) if exchanged else (p, q * (1 - p))
    return p, 1 - p - q, q


def worst_policy(chances, alpha, delta, sessions, most_credit):
    """The largest probability, over all policies, that j is put above i within so many sessions: dynamic programming.

    ``most_credit`` None: every session counts, in either order.
    """
    credits = 1 if most_credit is None else most_credit + 1
    n = np.arange(sessions + 1)
    s = np.arange(-sessions, sessions + 1)[:, None]
    done = (s > 0) & (s * s > 4 * math.log(1 / delta) * n)
    value = np.broadcast_to(done, (credits, *done.shape)).astype(float)  # (credit, s, n)
    for _ in range(sessions):
        best = value.copy()
        for exchanged, credit in itertools.product([False, True], range(credits)):
            after = credit if most_credit is None else credit + (-1 if exchanged else 1)
            if 0 <= after < credits:  # else it does not count
                less, same, more = chances(alpha, exchanged)
                at = value[after]
                new = same * at
                new[1:, :-1] += less * at[:-1, 1:]
                new[:-1, :-1] += more * at[1:, 1:]
                best[credit] = np.maximum(best[credit], new)
        value = np.where(done, 1.0, best)
    return value[0, sessions, 0]


@pytest.mark.parametrize("most_credit", [1, MAX_CREDIT])
@pytest.mark.parametrize(
    "chances",
    [by_position(1.0, 0.3), by_position(1.0, 0.9), by_position(0.5, 0.5), by_position(0.8, 0.0), cascade],
    ids=["steep", "flat", "level", "hidden", "cascade"],
)
@pytest.mark.parametrize("alpha", [(0.55, 0.5), (0.95, 0.05), (0.5, 0.5)], ids=str)
def test_no_policy_makes_a_wrong_exchange_likely(alpha, chances, most_credit):
    """delta^2 n, the module's bound for one pair, holds for the policy that is best at it; exactly."""
    delta, sessions = 0.05, 60
    assert worst_policy(chances, alpha, delta, sessions, most_credit) <= delta**2 * sessions


def test_if_every_session_counted_a_policy_could_make_a_wrong_exchange_likely():
    assert worst_policy(by_position(1.0, 0.3), (0.55, 0.5), 0.05, 60, None) > 0.5


def misordered(lists, attraction, positions):
    """|V| of each row's first positions; what is hidden stands below them."""
    upper, lower = np.triu_indices(lists.shape[1], 1)
    upper, lower = upper[upper < positions], lower[upper < positions]
    shown = np.take_along_axis(attraction, lists, axis=1)
    return (shown[:, upper] < shown[:, lower]).sum(1)


def coin_policy(chance):
    return lambda rng, columns: rng.random((len(columns), columns.shape[1])) < chance


def biased_policy(rng, columns):
    """Exchange as long as that seems to help the lower item."""
    order = np.argsort(columns[:, :, 0], axis=1)
    lead = np.take_along_axis(columns[:, :, 1], order, axis=1)
    return np.roll((lead > -0.1) & (rng.random(lead.shape) < 0.9), -1, axis=1)


POLICIES = {"half": coin_policy(0.5), "seldom": coin_policy(0.05), "biased": biased_policy}


@pytest.mark.parametrize("setup", ["-Rerank", ""])
@pytest.mark.parametrize("model", ["CM", "PBM", "DCM"])
@pytest.mark.parametrize("policy", POLICIES)
def test_lists_are_safe_whatever_the_policy(model, setup, policy):
    """On all calibrated queries no base list is worse than R_0, and |V(R_t)| <= |V(R_0)| + K / 2 where K = L.

    With probability 1 - L^2 / n^7 for each of 100 rows, so 1 - 1e-19 in all. (The DCM keeps the paper's assumptions
    only nearly: there it was measured.)
    """
    sessions, rng = 3000, np.random.default_rng(0)
    env = gym.make_vec(f"rankgym/{model}-Yandex{setup}-v0", num_envs=100, query="all", horizon=sessions)
    env = AdjacentSwaps(RecordSafety(env))
    seen, _ = env.reset(seed=0)
    bare, layer = env.unwrapped, env.layer
    K = bare.num_positions
    more = K // 2 if setup else (K - 1) // 2 + L - K  # of what exchanges of neighbours can misorder
    first = misordered(layer.base, bare.attraction, K)
    assert (first == bare.initial_misordered).all()
    for t in range(sessions - 1):
        base = layer.base.copy()
        seen, *_, info = env.step(POLICIES[policy](rng, seen[:, K:].reshape(100, L, 5))[:, : layer.pairs])
        if t % 20 == 0:
            places = np.take_along_axis(np.argsort(base, axis=1), info["displayed"], axis=1)
            assert (np.abs(places - np.arange(K)) <= 1).all()
            assert (info["misordered"] <= misordered(base, bare.attraction, K) + more).all()
            assert (misordered(base, bare.attraction, K) <= first).all()
    assert (info["misordered"] <= first + more).all()
    if setup:
        assert env.env.records()[1][-1].sum() == 0
    if policy == "half":
        assert (misordered(layer.base, bare.attraction, K) < first).mean() > 0.05  # and it learns


def test_the_default_delta_is_the_horizon_to_the_power_of_minus_4():
    assert AdjacentSwaps(single(horizon=50)).layer.log_inv_delta == pytest.approx(4 * math.log(50))
    assert SafeLists(vector(horizon=50), delta=0.2).layer.log_inv_delta == pytest.approx(math.log(5))
    for wrapper in (AdjacentSwaps, SafeLists):
        with pytest.raises(ValueError, match=r"delta = None stands for n\^-4 .* env has no horizon; allowed: a num"):
            wrapper(single(horizon=None))
        wrapper(single(horizon=None), delta=0.1)
        for wrong in (0, 1, -0.1, "a", True, np.nan):
            with pytest.raises(ValueError, match=r"delta = .* is out of range; allowed: a number in \(0, 1\)"):
                wrapper(single(), delta=wrong)
    with pytest.raises(ValueError, match=r"num_items = 1 is out of range; allowed: 2 or more"):
        layer(AdjacentSwapsLayer, [0], 1)


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ([[0, 1, 2]] * 3, r"action\[row 0\]\[pair 2\] = 2 is out of range; allowed: 0 or 1"),
        ([[0, 1, 0], [0, np.nan, 0], [0, 0, 0]], r"action\[row 1\]\[pair 1\] = nan"),
        ([[0, 1]] * 3, r"shape \(3, 2\), not \(3, 3\); allowed: 0 or 1 for each of the 3 pairs"),
        ([["0", "1", "0"]] * 3, "dtype"),
        (None, "dtype object"),
    ],
)
def test_bad_wishes_are_refused(bad, what):
    env = AdjacentSwaps(vector())
    env.reset(seed=0)
    before, twin = state(env.layer), deepcopy(env)
    with pytest.raises(ValueError, match=what):
        env.step(bad)
    assert state(env.layer) == before
    good = np.ones((3, 3), np.float32)  # as stable-baselines3 samples them
    assert same(env.step(good), twin.step(good))


def test_an_unsafe_list_is_refused_with_row_item_and_base_list():
    env = SafeLists(vector())
    env.reset(seed=0)
    before, twin = state(env.layer), deepcopy(env)
    what = r"action\[row 1\] = \[4, 1, 3\] is not safe: item 4 at place 0; allowed: the base list \[3, 1, 4, 0, 5, 9, 2"
    with pytest.raises(ValueError, match=what):
        env.step([[3, 1, 4], [4, 1, 3], [3, 1, 4]])
    with pytest.raises(ValueError, match=r"action\[row 2\] = \[1, 4, 3\] is not safe: item 4 at place 1"):
        env.step([[3, 1, 4], [3, 1, 4], [1, 4, 3]])
    with pytest.raises(ValueError, match="is not safe: item 5 at place 2"):
        env.step([[3, 1, 4], [3, 1, 4], [3, 1, 5]])
    with pytest.raises(ValueError, match="repeats item 3"):
        env.step([[3, 1, 3], [3, 1, 4], [3, 1, 4]])
    assert state(env.layer) == before
    good = [[3, 1, 0], [1, 3, 4], [3, 4, 1]]
    assert same(env.step(good), twin.step(good))


def test_samples_fill_free_slots_uniformly():
    env = SlotBySlot(vector(1000, horizon=None))
    env.reset(seed=0)
    env.action_space.seed(0)
    env.step(np.arange(1000) % L)
    for _ in range(30):
        items = env.action_space.sample()
        assert env.action_space.contains(items)
        assert env.action_masks()[np.arange(1000), items].all()
        env.step(items)
    counts = np.zeros(L)
    while env.layer.filled:
        env.step(env.action_space.sample())
    for _ in range(30):
        counts += np.bincount(env.action_space.sample(), minlength=L)
    # of 30,000 fair draws of 10: one is further than 300 from 3,000 with probability 1e-8 (5.8 deviations of 52)
    assert (np.abs(counts - 3000) < 300).all()
    mask = tuple(np.eye(L, dtype=np.int8)[[4]] for _ in range(1000))
    assert (env.action_space.sample(mask=tuple(m[0] for m in mask)) == 4).all()
    assert env.single_action_space.sample(mask=np.eye(L, dtype=np.int8)[4]) == 4
    assert env.single_action_space == Discrete(L)
    assert env.action_space == batch_space(Discrete(L), 1000)
    assert type(batch_space(env.single_action_space, 3)) is MultiDiscrete
    one = SlotBySlot(single())
    one.reset(seed=0)
    one.action_space.seed(0)
    copied = deepcopy(one)
    for _ in range(12):
        action = copied.action_space.sample()
        assert type(action) is np.int64
        assert same(copied.step(action), one.step(one.action_space.sample()))
    assert copied.action_space.placed is copied.layer.placed is not one.layer.placed


@pytest.mark.parametrize("positions", [1, 3, 10])
def test_samples_of_safe_lists_are_safe_at_every_moment(positions):
    for env in (SafeLists(vector(4, num_positions=positions), delta=0.5), SafeLists(single(num_positions=positions))):
        env.action_space.seed(0)
        shown = set()
        for _ in range(20):
            env.reset(seed=1)
            for _ in range(5):
                action = env.action_space.sample()
                assert env.action_space.contains(action)
                shown.add(tuple(np.atleast_2d(action)[0].tolist()))
                env.step(action)
        assert len(shown) > 1 or positions == 1
        mask = np.ones(L, np.int8)
        assert env.action_space.contains(env.action_space.sample(mask=mask))


def test_the_space_of_safe_lists_is_a_permutation_to_everybody_else():
    env = SafeLists(vector(2))
    assert env.single_action_space == Permutation(L, K)
    assert env.action_space == batch_space(Permutation(L, K), 2)
    assert type(batch_space(env.single_action_space, 3)) is BatchedPermutation
    for copied in (deepcopy(env), pickle.loads(pickle.dumps(env.layer))):
        kept = copied if copied is not None and hasattr(copied, "base") else copied.layer
        assert kept.action_space.base is kept.base


def test_the_base_column_counts_from_the_end():
    env = SafeLists(ItemStatistics(vector()))
    assert env.layer.base_column == BASE_COLUMN == -5
    seen, _ = env.reset(seed=0)
    assert (np.argsort(seen[:, :, BASE_COLUMN], axis=1) == LIST).all()
    assert seen[0, LIST, BASE_COLUMN] == pytest.approx(np.arange(L) / (L - 1))
    assert LOGS[:3] == pytest.approx(np.log([1, 2, 3]) / 10)


# ---- all of them ----


def same(one, other):
    """Equal in every value, type and shape."""
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_both_shells_are_the_same(wrapper):
    """Row b of the batch is the single environment of seed b, bit for bit, across episodes."""
    env = wrapper(ItemStatistics(vector(mode="Disabled")))
    singles = [wrapper(ItemStatistics(single())) for _ in range(3)]
    seen, _ = env.reset(seed=4)
    for row, one in enumerate(singles):
        assert same(one.reset(seed=4 + row)[0], seen[row])
        assert same(one.observation_space, env.single_observation_space)
        assert one.action_space == env.single_action_space
        assert layers_of(one) == layers_of(env)
    for actions in some_actions(env, 60):
        seen, reward, _, truncated, info = env.step(actions)
        for row, one in enumerate(singles):
            alone = one.step(actions[row])
            assert same(alone[0], seen[row])
            assert alone[1] == reward[row]
            assert type(alone[1]) is float
            assert alone[3] == truncated[row]
            assert alone[4].keys() == info.keys()
            assert env.single_observation_space.contains(alone[0])
            if truncated[row]:
                one.reset()
        if truncated.any():
            env.reset(options={"reset_mask": truncated})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrapper", [w for w in WRAPPERS if w is not SlotBySlot])
def test_sessions_are_those_of_the_lists_in_every_autoreset_mode(wrapper, mode):
    """The environment is not touched: it goes on as it would with the lists that the wrapper makes."""
    env, bare = wrapper(vector(mode=mode, horizon=4)), vector(mode=mode, horizon=4)
    env.reset(seed=2)
    bare.reset(seed=2)
    fresh = env.layer.observe(np.zeros((3, K), np.int8))
    for actions in some_actions(env, 30):
        lists = env.layer.action(actions)
        seen, reward, terminated, truncated, info = env.step(actions)
        below, *others, told = bare.step(lists)
        assert same(seen[:, :K], below.astype(seen.dtype))
        assert same([reward, terminated, truncated], others)
        assert same(
            {k: v for k, v in info.items() if k != "final_obs"}, {k: v for k, v in told.items() if k != "final_obs"}
        )
        if mode == "Disabled" and truncated.any():
            seen, _ = env.reset(options={"reset_mask": truncated})
            bare.reset(options={"reset_mask": truncated})
        if mode != "NextStep" and truncated.any():  # nothing is left of the last episode
            assert same(seen[truncated], fresh[truncated])
    if mode == "SameStep":
        assert env.observation_space.contains(seen)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("below", [lambda env: env, ItemStatistics], ids=["clicks", "table"])
def test_gymnasiums_check_env_passes(wrapper, below):
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # and of nothing else
        check_env(wrapper(below(single(num_positions=4, horizon=50))))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrapper", [w for w in WRAPPERS if w is not SlotBySlot])  # which is not reset in mid-list
def test_vector_forms_keep_the_contract(wrapper, mode):
    check_vector_env(wrapper(ItemStatistics(vector(mode=mode))), steps=20)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_spec_makes_it_again_and_a_copy_goes_on_alike(wrapper):
    env = wrapper(single())
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is wrapper
    assert layers_of(again) == layers_of(env)
    assert json.loads(json.dumps(layers_of(env))) == [list(form) for form in layers_of(env)]
    env.reset(seed=0)
    again.reset(seed=0)
    for action in some_actions(env, 6):
        if env.layer.name == "SlotBySlot":
            copied = pickle.loads(pickle.dumps(env.layer))  # in the middle of a list, too
            assert state(copied) == state(env.layer)
        copied = deepcopy(env)
        step = env.step(action[0])
        assert same(step, copied.step(action[0]))
        assert same(step, again.step(action[0]))
        if step[3]:
            break


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_over_a_batch_of_singles_it_is_as_over_the_native_one(wrapper):
    def made(**kind):
        mode = AutoresetMode.SAME_STEP
        keywords = {"num_positions": K, "horizon": 4, "initial_list": LIST}
        if kind:
            return wrapper(gym.make_vec(PBM, num_envs=3, vector_kwargs={"autoreset_mode": mode}, **kind, **keywords))
        return wrapper(gym.make_vec(PBM, num_envs=3, autoreset_mode=mode, **keywords))

    native, sync = made(), made(vectorization_mode="sync")
    assert same(native.reset(seed=1)[0], sync.reset(seed=1)[0])
    for actions in some_actions(native, 30):
        one, other = native.step(actions), sync.step(actions)
        assert same(one[:4], other[:4])
        if one[3].any():
            assert same(one[4]["final_obs"], other[4]["final_obs"])


@pytest.mark.parametrize("outer", WRAPPERS)
@pytest.mark.parametrize("inner", WRAPPERS)
def test_only_one_wrapper_makes_the_lists(inner, outer):
    with pytest.raises(ValueError, match=f"allowed below {outer.__name__}: a Permutation"):
        outer(inner(single()))


@pytest.mark.parametrize("layer_class", [SlotBySlotLayer, AdjacentSwapsLayer, SafeListsLayer])
def test_observations_that_cannot_be_added_to_are_refused(layer_class):
    for space in (Dict(a=Discrete(2)), Discrete(3), Box(0, 1, (4, 2)), Box(0, 1, (3, 2, 2))):
        with pytest.raises(ValueError, match=r"allowed below .*: a table \(3, features\)"):
            layer(layer_class, range(3), 2, below=space)
    made = layer(layer_class, range(3), 2, below=Box(-np.inf, 7, (3, 2)))
    assert made.observation_space.low[0, 0] == -np.inf
    assert made.observation_space.high[0, 1] == 7


DOORS = {wrapper: wrapper(vector(2)) for wrapper in WRAPPERS}
NUMBERS = st.integers() | st.floats()


@pytest.mark.parametrize("wrapper", WRAPPERS)
@given(action=st.none() | st.text() | NUMBERS | st.lists(NUMBERS, max_size=1) | st.lists(st.lists(NUMBERS), min_size=3))
def test_nonsense_is_refused_and_nothing_has_happened(wrapper, action):
    made = DOORS[wrapper].layer  # of two rows: none of these is an action
    before = state(made)
    with pytest.raises(ValueError, match=r"allowed|needs"):
        made.action(action)
    assert state(made) == before


@given(lists=st.lists(st.permutations(range(L)), min_size=2, max_size=2))
def test_a_list_is_taken_where_it_is_safe_in_every_row(lists):
    made = DOORS[SafeLists].layer
    near = [{tuple(plain_exchange(LIST, w, K)) for w in itertools.product([0, 1], repeat=K)}] * 2
    lists = [order[:K] for order in lists]
    if all(tuple(shown) in safe for shown, safe in zip(lists, near, strict=True)):
        assert made.action(lists).tolist() == lists
    else:
        with pytest.raises(ValueError, match="is not safe"):
            made.action(lists)


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_recorders_around_slots_count_sessions_and_not_steps(mode):
    def bare():
        return gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3, num_positions=3, horizon=4, autoreset_mode=mode)

    around, below = RecordRegret(SlotBySlot(bare())), SlotBySlot(RecordRegret(bare()))
    for env in (around, below):
        env.reset(seed=0)
        rng = np.random.default_rng(0)
        for _ in range(3):
            for items in np.argsort(rng.random((3, 10)), axis=1)[:, :3].T:
                env.step(items)
    assert (around.totals["regret"] > 0).all()
    assert (around.totals["regret"] == below.env.totals["regret"]).all()
    assert (around.records()[1] == below.env.records()[1]).all()


def test_a_recorder_around_slots_of_a_single_environment():
    env = RecordRegret(SlotBySlot(gym.make("rankgym/PBM-Yandex-v0", query=1, num_positions=3, horizon=4)))
    env.reset(seed=0)
    regret = 0.0
    for _ in range(4):
        for item in (4, 7, 2):
            info = env.step(item)[-1]
        regret += info["regret"]
    assert info["episode_regret"] == pytest.approx(regret, abs=1e-12)
