"""Records of sessions that are repeated instead of played, and records that are written down: bit for bit the same."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgym.kernels import kernel
from rankgym.wrappers import RecordRanking, RecordRegret, RecordSafety
from rankgym.wrappers.log import Log, add_repeatedly

CHANGING = "rankgym/CM-Yandex-Breakpoint-v0"
LEAST = 5e-324  # the smallest number above 0


@kernel
def add_one_by_one(totals, amounts, times):
    for row in range(totals.shape[0]):
        total = totals[row]
        for _ in range(times):
            total += amounts[row]
        totals[row] = total


def identical(one, other):
    """The same bits; what is no number is no number, whichever."""
    with np.errstate(invalid="ignore"):
        return np.array_equal(one.view(np.uint64), other.view(np.uint64)) or np.array_equal(one, other, equal_nan=True)


def check(total, amount, times):
    one, other = np.array([total]), np.array([total])
    with np.errstate(all="ignore"):
        add_one_by_one(one, np.array([amount]), times)
        add_repeatedly(other, np.array([amount]), times)
    assert identical(one, other), (total.hex(), amount.hex(), times)
    assert np.signbit(one[0]) == np.signbit(other[0]) or np.isnan(one[0])


# -- adding ------------------------------------------------------------------------------------------------------------


@pytest.mark.kernels
@given(st.floats(), st.floats(), st.integers(0, 400))
@example(0.0, -0.0, 3)
@example(-0.0, -0.0, 3)
@example(-0.0, 0.0, 1)
@example(np.inf, -np.inf, 2)
@example(np.inf, np.nan, 2)
@example(0.7, np.inf, 3)
@example(LEAST, LEAST, 400)
@example(2.0**-1022 - 3 * LEAST, LEAST, 10)
@example(-(2.0**-1021), 3 * LEAST, 400)
@example(1.7e308, 1e305, 400)
@example(2.0**53, 1.0, 5)
@example(2.0**53 - 5, 1.0, 9)
@example(1.0, -(2.0**-54), 9)  # unchanged just above a power of two; below it is not
@example(1.0 + 2.0**-52, -(2.0**-53), 9)
@example(1.0 + 2.0**-50, -11 * 2.0**-55, 9)  # the last sum lies where units are halved, and is not 1
def test_added_repeatedly_is_added_one_by_one_whatever_the_numbers(total, amount, times):
    check(total, amount, times)


@pytest.mark.kernels
@given(
    st.integers(-1074, 1023),
    st.integers(1 << 52, (1 << 53) - 1),
    st.integers(-8, 60),
    st.integers(1, 63),
    st.sampled_from([-1.0, 1.0]),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 300),
)
def test_sums_that_lie_in_the_middle_of_two_numbers(power, units, shift, quarters, sign, direction, times):
    """Amounts of quarters of a total's last digit, and totals near the ends of a stretch with the same digits."""
    total = sign * float(np.ldexp(float(units), power - 53))
    amount = direction * float(np.ldexp(float(quarters), power - 55))
    check(total, amount, times)
    near = sign * float(np.ldexp(1.0, power) + np.ldexp(float(shift), power - 53))
    check(near, amount, times)


@given(st.data())
def test_long_sums_of_usual_sizes(data):
    """Totals and amounts of experiments, over many powers of two."""
    times = data.draw(st.integers(0, 300_000))
    rows = 4
    totals = np.array(data.draw(st.lists(st.floats(-100, 1e7), min_size=rows, max_size=rows)))
    amounts = np.array(data.draw(st.lists(st.floats(-1e-3, 1.0), min_size=rows, max_size=rows)))
    if data.draw(st.booleans()):
        totals = np.rint(totals * 64) / 64
        amounts = np.rint(amounts * 2**20) / 2**20
    one, other = totals.copy(), totals.copy()
    add_one_by_one(one, amounts, times)
    add_repeatedly(other, amounts, times)
    assert identical(one, other)


def test_a_quintillion_sums_take_no_time():
    """Whole numbers are added exactly, up to where they are no longer told apart."""
    totals = np.array([0.0, 5.0, 1e7, -3.0])
    add_repeatedly(totals, np.array([1.0, -1.0, 0.0, 0.25]), 10**15)
    assert totals.tolist() == [1e15, 5.0 - 1e15, 1e7, 0.25e15 - 3.0]
    totals = np.zeros(2)
    add_repeatedly(totals, np.array([1.0, -3.0]), 10**18)
    assert totals[0] == 2.0**53  # adding 1 to it changes nothing, halves being rounded to even numbers
    assert totals[1] < -(2.0**53)


# -- the log -----------------------------------------------------------------------------------------------------------


@given(st.data())
def test_a_log_repeats_a_round_as_if_it_were_added_again(data):
    rows = data.draw(st.integers(1, 3))
    rounds = np.array(sorted(data.draw(st.sets(st.integers(1, 60), min_size=1))))
    one, other = (Log(rows, rounds, ("first", "second")) for _ in range(2))
    floats = st.lists(st.floats(0, 1), min_size=rows, max_size=rows)
    masks = st.lists(st.booleans(), min_size=rows, max_size=rows).map(np.array)
    epoch = 0
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["begin", "some", "all", "again"]))
        amounts = np.array(data.draw(floats)), np.array(data.draw(floats)) < 0.5
        times = data.draw(st.integers(0, 20))
        epoch += data.draw(st.integers(0, 1))
        for log in (one, other):
            if kind == "some":
                log.add(amounts, amounts[1], np.full(rows, epoch))
            elif kind == "begin":
                log.begin(amounts[1])
            elif kind == "all":
                log.add(amounts, None, np.full(rows, epoch))
        if kind == "again":
            one.repeat(amounts, times)
            for _ in range(times):
                other.add(amounts)
        if data.draw(st.booleans()):  # written down and read
            fresh = Log(rows, rounds, ("first", "second"))
            fresh.restore(one.snapshot())
            one = fresh
        part = data.draw(masks)
        if part.any():
            some = Log(int(part.sum()), rounds, ("first", "second"))
            some.restore({name: values[part] for name, values in one.snapshot().items()})
            for name in ("first", "second"):
                assert identical(some.totals[name], other.totals[name][part])
                reached = len(some.records(name)[0])
                assert identical(some.records(name)[1], other.records(name)[1][:reached, part].copy())
        for name in ("first", "second"):
            assert identical(one.totals[name], other.totals[name])
            for mine, its in zip(one.records(name), other.records(name), strict=True):
                assert np.array_equal(mine, its, equal_nan=True)
        assert np.array_equal(one.by_epoch(), other.by_epoch(), equal_nan=True)


# -- the recorders -----------------------------------------------------------------------------------------------------


def recorded(**arguments):
    env = gym.make_vec(CHANGING, num_envs=4, query=[0, 3, 4, 9], horizon=200, **arguments)
    layers = [RecordRanking(env, record_at=[57])]
    layers.append(RecordSafety(layers[-1], record_at=[57]))
    layers.append(RecordRegret(layers[-1], record_at=[57]))
    return env, layers


def everything(layers):
    """All records but that of rewards, which are drawn."""
    for layer in layers:
        yield from layer.records()
    yield layers[-1].epoch_regret


@pytest.mark.parametrize("schedule", [{"num_breakpoints": 6}, {"breakpoints": [20, 90]}, {"epoch_lengths": [1, 50]}])
def test_recorders_repeat_sessions_and_are_written_down(schedule):
    """Against all sessions played."""
    rng = np.random.default_rng(0)
    (one_env, one), (_, other) = recorded(**schedule), recorded(**schedule)
    one[-1].reset(seed=2)
    other[-1].reset(seed=2)
    played = 0
    while played < 200:
        lists = rng.permuted(np.tile(np.arange(10), (4, 1)), axis=1)[:, :3].copy()
        _, reward, _, _, info = one[-1].step(lists)
        other[-1].step(lists)
        times = int(rng.integers(0, one_env.alike() + 1))
        one_env.repeat(times)
        for layer in one:
            layer.repeat(reward, info, times)
        for _ in range(times):
            other[-1].step(lists)
        played += times + 1
        if rng.random() < 0.5:
            written = [one_env.snapshot(), *(layer.snapshot() for layer in one)]
            one_env, one = recorded(**schedule)
            for part, values in zip((one_env, *one), written, strict=True):
                part.restore(values)
    for mine, its in zip(everything(one), everything(other), strict=True):
        assert np.array_equal(mine, its, equal_nan=True)
