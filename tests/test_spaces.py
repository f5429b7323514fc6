"""The space of rankings: a full Gymnasium citizen, and the one door of the environments."""

from __future__ import annotations

import itertools
import json
import pickle
from collections import Counter
from copy import deepcopy
from enum import IntEnum
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, OneOf, Tuple
from gymnasium.spaces import Sequence as SequenceSpace
from gymnasium.spaces.utils import flatdim, flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from gymnasium.wrappers import FlattenObservation, FrameStackObservation
from gymnasium.wrappers.utils import create_zero_array
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chi2

from rankgym.spaces import BatchedPermutation, Permutation

SMALL = {"max_dims": 3, "max_side": 4}
INTEGER_DTYPES = [np.dtype(order + code) for order in "<>" for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]


def is_ranking(row: Any, n: int, k: int) -> bool:
    """The oracle: plain Python on plain Python numbers."""
    return len(row) == k and all(0 <= item < n for item in row) and len(set(row)) == k


# ---- checked and contains, the door ----


@st.composite
def integer_arrays(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    """Arrays of any integer dtype and mostly of this shape, mostly near the items of a small space."""
    dtype = draw(st.sampled_from(INTEGER_DTYPES))
    info = np.iinfo(dtype)
    values = st.integers(max(info.min, -1), 6) | st.integers(int(info.min), int(info.max))
    if draw(st.booleans()):
        values = st.integers(0, 5)
    return draw(hnp.arrays(dtype, draw(st.just(shape) | hnp.array_shapes(min_dims=0, **SMALL)), elements=values))


@given(integer_arrays((3,)), st.integers(3, 6))
def test_single_accepts_exactly_the_rankings_among_integer_arrays(action: np.ndarray, n: int) -> None:
    space, before = Permutation(n, 3), action.copy()
    member = action.ndim == 1 and is_ranking(action.tolist(), n, 3)
    assert space.contains(action) is member
    if member:
        ranking = space.checked(action)
        assert ranking.dtype == np.int64
        assert ranking.flags.c_contiguous
        assert ranking.tolist() == action.tolist()
    else:
        with pytest.raises(ValueError, match=rf"different items out of 0\.\.{n - 1}"):
            space.checked(action)
    assert action.tobytes() == before.tobytes()


@given(integer_arrays((2, 3)), st.lists(st.integers(3, 6), min_size=2, max_size=2))
def test_batch_accepts_exactly_the_batches_of_rankings_among_integer_arrays(action: np.ndarray, n: list[int]) -> None:
    space = BatchedPermutation(n, 3, 2)
    rows = action.tolist() if action.ndim == 2 else []
    member = len(rows) == 2 and all(is_ranking(row, items, 3) for row, items in zip(rows, n, strict=True))
    assert space.contains(action) is member
    assert space.contains(rows) is member
    if member:
        rankings = space.checked(action)
        assert rankings.dtype == np.int64
        assert rankings.flags.c_contiguous
        assert rankings.tolist() == rows
        assert space.checked([tuple(row) for row in rows]).tolist() == rows
        assert space.checked(list(action)).tolist() == rows
    else:
        with pytest.raises(ValueError, match="different items out of"):
            space.checked(action)


class Colour(IntEnum):
    RED = 1


scalars = st.one_of(
    st.integers(0, 4),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=2),
    st.complex_numbers(),
    st.sampled_from([np.int8(2), np.uint64(3), np.uint64(2**64 - 1), np.float32(1), np.bool_(True), Colour.RED]),
    st.sampled_from([np.timedelta64(1, "s"), np.datetime64(0, "s"), 2**63, -(2**63) - 1, 2**64, 10**400, {1}, b"1"]),
    hnp.arrays(
        st.sampled_from([np.int64, np.float64]), hnp.array_shapes(min_dims=0, **SMALL), elements=st.integers(0, 4)
    ),
)
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple))


def whole_numbers(row: Any) -> list[int] | None:
    """The oracle's reading of a row: whole numbers as Python ints, or None."""
    if isinstance(row, np.ndarray):
        return row.tolist() if row.ndim == 1 and row.dtype.kind in "iu" else None
    if not isinstance(row, (list, tuple)):
        return None
    whole = (int, np.int8, np.uint64)
    return [int(item) for item in row] if all(isinstance(i, whole) and type(i) is not bool for i in row) else None


@given(anything)
def test_anything_else_is_refused_with_a_value_error_and_no_warning(action: Any) -> None:
    single, batch = Permutation(5, 2), BatchedPermutation(5, 2, 2)
    row = whole_numbers(action)
    assert single.contains(action) is (row is not None and is_ranking(row, 5, 2))
    rows = [whole_numbers(part) for part in action] if isinstance(action, (list, tuple)) else []
    if isinstance(action, np.ndarray) and action.ndim == 2 and action.dtype.kind in "iu":
        rows = action.tolist()
    assert batch.contains(action) is (len(rows) == 2 and all(r is not None and is_ranking(r, 5, 2) for r in rows))


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_dims=0, **SMALL)))
def test_arrays_of_other_dtypes_are_refused(action: np.ndarray) -> None:
    if action.dtype.kind not in "iu":
        assert not Permutation(4, 2).contains(action)
        assert not BatchedPermutation(4, 2, 2).contains(action)


NEED = "a ranking of 3 positions needs 3 different items out of 0..9"
UNAWARE = " (a policy that draws each position by itself, as MlpPolicy does, needs the wrapper ScoresToRanking)"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ((3, 5, 3), f"action (3, 5, 3) repeats item 3; {NEED}{UNAWARE}"),
        (np.array([3, 5, 3]), f"action (3, 5, 3) repeats item 3; {NEED}{UNAWARE}"),
        (np.array([3, 5, 10]), f"action (3, 5, 10) holds item 10, which is out of range; {NEED}"),
        ([-1, 5, 3], f"action (-1, 5, 3) holds item -1, which is out of range; {NEED}"),
        (
            np.array([0, 1, 2**64 - 2], np.uint64),
            f"action (0, 1, 18446744073709551614) holds item 18446744073709551614, which is out of range; {NEED}",
        ),
        ([1, 2**70, 3], f"action (1, {2**70}, 3) holds item {2**70}, which is out of range; {NEED}"),
        ([1, 2.0, 3], f"action [1, 2.0, 3] holds 2.0, not a whole number; {NEED}"),
        ([1, float("nan"), 3], f"action [1, nan, 3] holds nan, not a whole number; {NEED}"),
        ((1, True, 3), f"action (1, True, 3) holds True, not a whole number; {NEED}"),
        (
            [1, np.timedelta64(2, "s"), 3],
            f"action [1, np.timedelta64(2,'s'), 3] holds np.timedelta64(2,'s'), not a whole number; {NEED}",
        ),
        ([[1], [2, 3], 4], f"action [[1], [2, 3], 4] holds [1], not a whole number; {NEED}"),
        ([1, 2], f"action [1, 2] has 2 items; {NEED}"),
        ([], f"action [] has 0 items; {NEED}"),
        (None, f"action None is a NoneType, not a list of items; {NEED}"),
        ("012", f"action '012' is a str, not a list of items; {NEED}"),
        (7, f"action 7 is a int, not a list of items; {NEED}"),
        (
            np.array([1.0, 2.0, 3.0]),
            f"action array([1., 2., 3.]) has dtype float64, not an integer dtype: cast it with .astype(int); {NEED}",
        ),
        (np.array([], int), f"action array([], dtype=int64) has shape (0,), not (3,); {NEED}"),
        (np.array([[1, 2, 3]]), f"action array([[1, 2, 3]]) has shape (1, 3), not (3,); {NEED}"),
    ],
)
def test_the_message_of_a_single_action(action: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Permutation(10, 3).checked(action)
    assert str(caught.value) == message


ROWS_NEED = "each of the 2 rows needs 3 different items out of 0..9"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.array([[1, 2, 3], [3, 5, 3]]), f"action[row 1] = (3, 5, 3) repeats item 3; {NEED}{UNAWARE}"),
        ([[1, 2, 3], [3, 5, 3]], f"action[row 1] = (3, 5, 3) repeats item 3; {NEED}{UNAWARE}"),
        (
            np.array([[0, 255, 1], [0, 0, 0]], np.uint8),
            f"action[row 0] = (0, 255, 1) holds item 255, which is out of range; {NEED}",
        ),
        (
            np.array([[0, 1, 2], [0, 1, 2**63]], np.uint64),
            f"action[row 1] = (0, 1, {2**63}) holds item {2**63}, which is out of range; {NEED}",
        ),
        ([[1, 2, 3], None], f"action[row 1] = None is a NoneType, not a list of items; {NEED}"),
        ([[1, 2, 3], [4, 5]], f"action[row 1] = [4, 5] has 2 items; {NEED}"),
        (
            [np.arange(3), np.arange(3.0)],
            "action[row 1] = array([0., 1., 2.]) has dtype float64, not an integer dtype: cast it with .astype(int); "
            + NEED,
        ),
        ([[1, 2, 3]], f"action [[1, 2, 3]] has 1 rows; {ROWS_NEED}"),
        (None, f"action None is a NoneType, not a batch of rankings; {ROWS_NEED}"),
        (np.array([1, 2, 3]), f"action array([1, 2, 3]) has shape (3,), not (2, 3); {ROWS_NEED}"),
    ],
)
def test_the_message_of_a_batch_names_the_row(action: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        BatchedPermutation(10, 3, 2).checked(action)
    assert str(caught.value) == message


def test_a_row_with_fewer_items_is_held_to_its_own() -> None:
    space = BatchedPermutation([5, 3], 2, 2)
    assert space.checked(np.array([[4, 3], [2, 1]])).tolist() == [[4, 3], [2, 1]]
    with pytest.raises(ValueError, match=r"action\[row 1\] = \(3, 1\) holds item 3, which is out of range; .* 0\.\.2"):
        space.checked(np.array([[4, 3], [3, 1]]))


@pytest.mark.parametrize("n", [64, 65, 1000])
def test_repeats_are_seen_at_any_number_of_items(n: int) -> None:
    space, ranking = Permutation(n), np.random.default_rng(0).permutation(n)
    assert space.contains(ranking)
    for wrong in (0, n // 2, n - 2):
        spoilt = ranking.copy()
        spoilt[-1] = spoilt[wrong]
        assert not space.contains(spoilt)


def test_a_right_array_is_not_copied_and_others_become_right() -> None:
    space, batch = Permutation(4, 3), BatchedPermutation(4, 3, 2)
    ranking, rankings = np.array([2, 0, 3]), np.array([[2, 0, 3], [1, 2, 0]])
    assert space.checked(ranking) is ranking
    assert batch.checked(rankings) is rankings

    frozen = rankings.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(bytearray(b"\0" + rankings.tobytes()), np.int64, offset=1).reshape(2, 3)
    for other in (
        np.asfortranarray(rankings),
        rankings.repeat(2, 1)[:, ::2],
        frozen,
        unaligned,
        rankings.astype(">i8"),
    ):
        checked = batch.checked(other)
        assert checked is not other
        assert checked.flags.carray
        assert checked.dtype == np.dtype(np.int64)
        assert checked.dtype.isnative
        np.testing.assert_array_equal(checked, rankings)


def test_a_long_value_is_shortened_in_the_message() -> None:
    for action in (list(range(99999)), np.zeros(99999), "x" * 99999):
        with pytest.raises(ValueError) as caught:
            Permutation(10, 3).checked(action)
        assert len(str(caught.value)) < 500


# ---- samples ----


@given(st.data())
def test_samples_are_members_and_respect_mask_and_weights(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    k = data.draw(st.integers(1, n))
    space = Permutation(
        n, k, data.draw(st.sampled_from([np.int8, np.uint16, np.int32, np.int64])), data.draw(st.integers(0, 9))
    )
    allowed = data.draw(st.sets(st.integers(0, n - 1), min_size=k))
    mask = np.array([item in allowed for item in range(n)], np.int8)
    weights = mask * np.array(data.draw(st.lists(st.floats(1e-300, 1), min_size=n, max_size=n)))
    weights /= weights.sum()
    if np.count_nonzero(weights) < k:
        return  # a weight underflowed
    batch = batch_space(space, 3)
    for kwargs in ({}, {"mask": mask}, {"probability": weights}):
        ranking, rankings = space.sample(**kwargs), batch.sample(**kwargs)
        assert ranking.shape == (k,)
        assert rankings.shape == (3, k)
        assert ranking.dtype == rankings.dtype == space.dtype
        assert space.contains(ranking)
        assert batch.contains(rankings)
        assert rankings.flags.c_contiguous
        assert not kwargs or {*ranking.tolist(), *rankings.ravel().tolist()} <= allowed


def plackett_luce(weights: list[float], k: int) -> dict[tuple[int, ...], float]:
    """Every ranking of k items and its probability, by the definition."""
    laws = {}
    for ranking in itertools.permutations(range(len(weights)), k):
        probability, left = 1.0, sum(weights)
        for item in ranking:
            probability *= weights[item] / left
            left -= weights[item]
        if probability:
            laws[ranking] = probability
    return laws


def assert_law(samples: np.ndarray, law: dict[tuple[int, ...], float]) -> None:
    """Chi-square test; a right sampler fails it with probability 1e-7."""
    counts = Counter(map(tuple, samples.tolist()))
    assert counts.keys() <= law.keys()
    statistic = sum((counts[r] - len(samples) * p) ** 2 / (len(samples) * p) for r, p in law.items())
    assert statistic < chi2.isf(1e-7, len(law) - 1)


WEIGHTS = np.array([0.5, 0.3, 0.15, 0.05])


def test_plain_samples_are_uniform() -> None:
    batch = BatchedPermutation(4, 2, 24_000, seed=1)
    assert_law(batch.sample(), plackett_luce([1, 1, 1, 1], 2))
    single = Permutation(4, 2, seed=2)
    assert_law(np.array([single.sample() for _ in range(6000)]), plackett_luce([1, 1, 1, 1], 2))


def test_masked_samples_are_uniform_over_the_allowed_rankings() -> None:
    mask = np.array([1, 0, 1, 1], np.int8)
    assert_law(BatchedPermutation(4, 2, 24_000, seed=3).sample(mask=mask), plackett_luce([1, 0, 1, 1], 2))


def test_weighted_samples_follow_plackett_luce() -> None:
    law = plackett_luce(WEIGHTS.tolist(), 2)
    assert sum(law.values()) == pytest.approx(1)
    assert_law(BatchedPermutation(4, 2, 24_000, seed=4).sample(probability=WEIGHTS), law)
    single = Permutation(4, 2, seed=5)
    assert_law(np.array([single.sample(probability=WEIGHTS) for _ in range(6000)]), law)
    partial = np.array([0.7, 0.0, 0.2, 0.1])
    samples = BatchedPermutation(4, 3, 24_000, seed=6).sample(probability=partial)
    assert_law(samples, plackett_luce(partial.tolist(), 3))


def test_the_chi_square_test_can_fail() -> None:
    rankings = BatchedPermutation(4, 2, 24_000, seed=4).sample(probability=WEIGHTS)
    with pytest.raises(AssertionError):  # right marginal of the first place, wrong order law
        assert_law(rankings[:, ::-1], plackett_luce(WEIGHTS.tolist(), 2))


def test_each_row_has_its_own_mask_or_weights() -> None:
    batch = BatchedPermutation(4, 2, 3, seed=0)
    masks = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]], np.int8)
    for mask in (masks, tuple(masks), list(masks)):
        assert [set(row) for row in batch.sample(mask=mask).tolist()] == [{0, 1}, {2, 3}, {0, 3}]
    weights = np.array([[1 - 1e-9, 1e-9, 0, 0], [0, 0, 1e-9, 1 - 1e-9], [1e-9, 0, 0, 1 - 1e-9]])
    for probability in (weights, tuple(weights)):  # another order: probability 3e-9
        assert batch.sample(probability=probability).tolist() == [[0, 1], [3, 2], [3, 0]]


def test_rows_with_fewer_items_are_sampled_from_their_own() -> None:
    batch = BatchedPermutation([2, 4], 2, 2, seed=0)
    assert all(batch.contains(batch.sample()) for _ in range(100))
    masks = (np.array([1, 1], np.int8), np.array([0, 0, 1, 1], np.int8))
    assert [set(row) for row in batch.sample(mask=masks).tolist()] == [{0, 1}, {2, 3}]
    with pytest.raises(ValueError, match=r"mask\[0\] allows item 3; allowed: items of 0\.\.1"):
        batch.sample(mask=np.ones(4, np.int8))


def test_a_batch_of_one_samples_as_the_single_space() -> None:
    single, batch = Permutation(9, 4, seed=8), BatchedPermutation(9, 4, 1, seed=8)
    weights = np.arange(9.0) / 36
    for kwargs in ({}, {"mask": np.ones(9, np.int8)}, {"probability": weights}):
        assert batch.sample(**kwargs).tolist() == [single.sample(**kwargs).tolist()]


ONES = np.ones(4, np.int8)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"mask": ONES, "probability": WEIGHTS}, "allowed: one of them"),
        ({"mask": np.array([1, 0, 0, 0], np.int8)}, r"mask(\[0\])? allows 1 items; a ranking of 2 positions needs 2"),
        ({"mask": np.array([1, 2, 0, 0], np.int8)}, "mask holds 2; allowed: 0 or 1"),
        ({"mask": np.ones(3, np.int8)}, r"dtype int8, shape \(3,\) is out of range; allowed: an array of int8"),
        ({"mask": np.ones(4)}, r"dtype float64, shape \(4,\) is out of range; allowed: an array of int8"),
        ({"mask": 1}, "mask = 1 is out of range; allowed: an array of int8"),
        ({"probability": np.array([1.0, 0, 0, 0])}, r"probability(\[0\])? allows 1 items; a ranking of 2"),
        (
            {"probability": np.array([0.5, 0.4, 0, 0])},
            r"probability(\[0\])? sums to 0.9; allowed: weights that sum to 1",
        ),
        ({"probability": np.array([1.5, -0.5, 0, 0])}, r"probability holds 1.5; allowed: numbers in \[0, 1\]"),
        ({"probability": np.array([np.nan, 0.5, 0.5, 0])}, r"probability holds nan; allowed: numbers in \[0, 1\]"),
        ({"probability": ONES}, "allowed: an array of float64"),
    ],
)
def test_bad_masks_and_weights_are_refused(kwargs: dict[str, Any], message: str) -> None:
    for space in (Permutation(4, 2, seed=0), BatchedPermutation(4, 2, 3, seed=0)):
        state = space.np_random.bit_generator.state
        with pytest.raises(ValueError, match=message):
            space.sample(**kwargs)
        assert space.np_random.bit_generator.state == state


def test_bad_masks_of_rows_are_refused() -> None:
    batch = BatchedPermutation(4, 2, 3, seed=0)
    with pytest.raises(ValueError, match=r"mask\[2\] allows 1 items"):
        batch.sample(mask=(ONES, ONES, np.array([0, 0, 0, 1], np.int8)))
    with pytest.raises(ValueError, match=r"mask\[1\] = .* allowed: an array of int8 and shape \(4,\)"):
        batch.sample(mask=(ONES, ONES[:3], ONES))
    with pytest.raises(ValueError, match="mask has 2 entries; allowed: one array for each of the 3 rows"):
        batch.sample(mask=(ONES, ONES))
    with pytest.raises(ValueError, match=r"shape \(4,\) or \(3, 4\)"):
        batch.sample(mask=np.ones((2, 4), np.int8))


def test_seeds() -> None:
    assert Permutation(20, seed=3).sample().tolist() == Permutation(20, seed=3).sample().tolist()
    assert Permutation(20, seed=3).sample().tolist() != Permutation(20, seed=4).sample().tolist()
    space = Permutation(20)
    space.seed(3)
    assert space.sample().tolist() == Permutation(20, seed=np.random.default_rng(3)).sample().tolist()


# ---- the object itself ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n = 0 is out of range; allowed: a whole number, at least 1"),
        ({"n": 2.0}, "n = 2.0 is out of range"),
        ({"n": True}, "n = True is out of range"),
        ({"n": "3"}, "n = '3' is out of range"),
        ({"n": None}, "n = None is out of range"),
        ({"n": 3, "k": 4}, r"k = 4 is out of range; allowed: a whole number in 1 \.\. 3"),
        ({"n": 3, "k": 0}, "k = 0 is out of range"),
        ({"n": 3, "k": 1.5}, "k = 1.5 is out of range"),
        ({"n": 3, "k": False}, "k = False is out of range"),
        ({"n": 3, "k": 2, "dtype": np.float64}, "is not an integer dtype"),
        ({"n": 3, "k": 2, "dtype": None}, "dtype = None is not an integer dtype"),
        ({"n": 3, "k": 2, "dtype": "nonsense"}, "dtype = 'nonsense' is not an integer dtype"),
        ({"n": 128, "k": 2, "dtype": np.int8}, "is too narrow for n = 128"),
    ],
)
def test_bad_constructor_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Permutation(**arguments)
    with pytest.raises(ValueError, match=message):
        BatchedPermutation(**{"k": 1, **arguments}, num_envs=2)


def test_bad_batch_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="num_envs = 0 is out of range; allowed: a whole number, at least 1"):
        BatchedPermutation(3, 2, 0)
    with pytest.raises(ValueError, match="n has 3 entries; allowed: a whole number, or one for each of 2 rows"):
        BatchedPermutation([3, 3, 3], 2, 2)
    with pytest.raises(ValueError, match=r"n\[1\] = -1 is out of range"):
        BatchedPermutation([3, -1], 2, 2)
    with pytest.raises(ValueError, match=r"k = 3 is out of range; allowed: a whole number in 1 \.\. 2"):
        BatchedPermutation([3, 2], 3, 2)
    with pytest.raises(ValueError, match="k = None is out of range"):
        BatchedPermutation(3, None, 2)  # type: ignore[arg-type]


def test_all_positions_by_default() -> None:
    assert Permutation(7).k == 7
    assert Permutation(np.int32(7)) == Permutation(7, 7)  # type: ignore[arg-type]


def test_equality() -> None:
    assert Permutation(5, 3, seed=1) == Permutation(5, 3, seed=2)
    assert BatchedPermutation(5, 3, 2) == BatchedPermutation([5, 5], 3, 2)
    singles = [Permutation(5, 3), Permutation(6, 3), Permutation(5, 2), Permutation(5, 3, np.int32)]
    batches = [batch_space(space, 2) for space in singles]
    spaces = [*singles, *batches, BatchedPermutation(5, 3, 4), BatchedPermutation([5, 4], 3, 2)]
    spaces += [MultiDiscrete([5] * 3), Box(0, 4, (2, 3), np.int64), Discrete(5)]
    for one, other in itertools.combinations(spaces, 2):
        assert one != other
        assert other != one


def test_repr_can_be_evaluated() -> None:
    for space in (
        Permutation(5, 3),
        Permutation(5, 3, np.int32),
        BatchedPermutation(5, 3, 2),
        BatchedPermutation([5, 4], 3, 2, np.uint8),
    ):
        assert eval(repr(space), {**globals(), "int32": np.int32, "uint8": np.uint8}) == space
    assert repr(Permutation(5, 3)) == "Permutation(5, 3)"
    assert repr(BatchedPermutation([5, 4], 3, 2)) == "BatchedPermutation([5, 4], 3, num_envs=2)"


CASES = {
    "permutation": Permutation(5, 3),
    "all": Permutation(4),
    "narrow": Permutation(100, 3, np.int8),
    "tuple": Tuple((Permutation(5, 3), Permutation(4, 2))),
    "mixed": Tuple((Permutation(5, 3), Discrete(3))),
    "dict": Dict(left=Permutation(5, 3), right=Permutation(5, 3)),
    "nested": Dict(pair=Tuple((Permutation(5, 3), Permutation(5))), choice=Discrete(2)),
}
BATCHES = {"batch": BatchedPermutation(5, 3, 2), "ragged batch": BatchedPermutation([5, 3], 3, 2)}


@pytest.fixture(params=[*CASES, *BATCHES])
def space(request: pytest.FixtureRequest) -> gym.Space[Any]:
    space = deepcopy((CASES | BATCHES)[request.param])
    space.seed(0)
    return space


@pytest.fixture(params=CASES)
def single(request: pytest.FixtureRequest) -> gym.Space[Any]:
    space = deepcopy(CASES[request.param])
    space.seed(0)
    return space


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other)


def test_pickle_and_deepcopy_keep_the_space_and_its_stream(space: gym.Space[Any]) -> None:
    space.sample()
    copies = [deepcopy(space), pickle.loads(pickle.dumps(space))]
    sample = space.sample()
    for copy in copies:
        assert copy == space
        assert same(copy.sample(), sample)


def test_samples_go_through_json(space: gym.Space[Any]) -> None:
    samples = [space.sample() for _ in range(3)]
    back = space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples))))
    assert len(back) == 3
    for one, other in zip(samples, back, strict=True):
        assert same(one, other)
        assert other in space


# ---- every function that Gymnasium dispatches on the class of a space ----


def test_flatten_family(space: gym.Space[Any]) -> None:
    flat = flatten_space(space)
    assert isinstance(flat, Box)
    assert flat.shape == (flatdim(space),)
    for _ in range(5):
        sample = space.sample()
        code = flatten(space, sample)
        assert code in flat
        assert code.dtype == flat.dtype
        assert unflatten(space, code) in space
        assert np.array_equal(flatten(space, unflatten(space, code)), code)
    assert is_space_dtype_shape_equiv(space, deepcopy(space))


def test_a_ranking_is_flattened_to_one_hot_blocks() -> None:
    code = np.array([0, 0, 1, 1, 0, 0])
    assert flatten(Permutation(3, 2), np.array([2, 0])).tolist() == code.tolist()
    assert unflatten(Permutation(3, 2), code).tolist() == [2, 0]
    for wrong in ([0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0]):
        with pytest.raises(ValueError, match="a ranking of 2 positions needs 2 different items out of"):
            unflatten(Permutation(3, 2), np.array(wrong))


def test_is_space_dtype_shape_equiv() -> None:
    assert is_space_dtype_shape_equiv(Permutation(5, 3), Permutation(6, 3))
    assert not is_space_dtype_shape_equiv(Permutation(5, 3), Permutation(5, 2))
    assert not is_space_dtype_shape_equiv(Permutation(5, 3), Permutation(5, 3, np.int32))


def test_flattening_inside_one_of_and_sequence() -> None:
    one = OneOf((Permutation(4, 2), Discrete(3)), seed=0)
    sequence = SequenceSpace(Permutation(4, 2), seed=0)
    for _ in range(5):
        sample = one.sample()
        assert same(unflatten(one, flatten(one, sample)), sample)
        sample = sequence.sample()
        assert same(unflatten(sequence, flatten(sequence, sample)), sample)


def test_batch_iterate_concatenate(single: gym.Space[Any]) -> None:
    batch = batch_space(single, 3)
    sample = batch.sample()
    assert sample in batch
    rows = list(iterate(batch, sample))
    assert len(rows) == 3
    assert all(row in single for row in rows)
    empty = create_empty_array(single, 3)
    assert same(concatenate(single, rows, empty), sample)


def test_shared_memory(single: gym.Space[Any]) -> None:
    memory = create_shared_memory(single, n=3)
    rows = [single.sample() for _ in range(3)]
    for index, row in enumerate(rows):
        write_to_shared_memory(single, index, row, memory)
    together = read_from_shared_memory(single, memory, n=3)
    assert together in batch_space(single, 3)
    assert all(map(same, iterate(batch_space(single, 3), together), rows))


def test_shared_memory_of_a_batch() -> None:
    batch = BatchedPermutation(5, 3, 2, seed=0)
    memory, sample = create_shared_memory(batch, n=1), batch.sample()
    write_to_shared_memory(batch, 0, sample, memory)
    assert np.array_equal(read_from_shared_memory(batch, memory, n=1)[0], sample)


def test_zero_arrays_are_members(space: gym.Space[Any]) -> None:
    assert create_zero_array(space) in space


def test_create_empty_array_of_a_batch() -> None:
    assert create_empty_array(BatchedPermutation(5, 3, 2, np.int32), n=4).shape == (4, 2, 3)
    assert create_empty_array(Permutation(5, 3, np.int32), n=4).dtype == np.int32


def test_batch_differing_spaces(single: gym.Space[Any]) -> None:
    batch = batch_differing_spaces([deepcopy(single) for _ in range(3)])
    assert batch == batch_space(single, 3)
    assert batch.sample() in batch


def test_batch_differing_permutations_keeps_each_rows_items() -> None:
    batch = batch_differing_spaces([Permutation(3, 2), Permutation(7, 2)])
    assert batch == BatchedPermutation([3, 7], 2, 2)
    inside = batch_differing_spaces([Dict(a=Permutation(3, 2)), Dict(a=Permutation(7, 2))])
    assert inside["a"] == batch
    for other in (Permutation(7, 3), Permutation(7, 2, np.int32)):
        with pytest.raises(
            ValueError, match=r"spaces\[1\] has k = .* allowed: those of spaces\[0\], k = 2 and dtype int64"
        ):
            batch_differing_spaces([Permutation(3, 2), other])


def test_batch_differing_batches_is_a_box_that_holds_them() -> None:
    batches = [BatchedPermutation(3, 2, 2, seed=0), BatchedPermutation(7, 2, 2, seed=0)]
    box = batch_differing_spaces(batches)
    assert np.stack([batch.sample() for batch in batches]) in box


def test_batch_space_leaves_the_single_stream_alone() -> None:
    space = Permutation(9, seed=0)
    batch = batch_space(space, 2)
    assert isinstance(batch, BatchedPermutation)
    batch.sample()
    assert space.sample().tolist() == Permutation(9, seed=0).sample().tolist()


def test_a_batch_inside_a_tuple_is_iterated_by_rows() -> None:
    batch = Tuple((BatchedPermutation(3, 3, 4), BatchedPermutation(2, 2, 4)), seed=0)
    rows = list(iterate(batch, batch.sample()))
    assert [tuple(part.shape for part in row) for row in rows] == [((3,), (2,))] * 4
    pairs = list(iterate(Tuple((Permutation(3), Permutation(3))), (np.array([2, 0, 1]), np.array([0, 1, 2]))))
    assert pairs == [(2, 0), (0, 1), (1, 2)]


# ---- in Gymnasium's vector environments and wrappers ----


class Echo(gym.Env[Any, Any]):
    """Shows the last action; the first observation is drawn."""

    def __init__(self, space: gym.Space[Any], action_space: gym.Space[Any] | None = None) -> None:
        self.observation_space = deepcopy(space)
        self.action_space = deepcopy(action_space or space)
        self.rounds = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.rounds = 0
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self.rounds += 1
        return deepcopy(action), 0.0, False, self.rounds >= 3, {}


def test_sync_vector_env(single: gym.Space[Any]) -> None:
    env = SyncVectorEnv([lambda: Echo(single)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    assert env.action_space == env.observation_space == batch_space(single, 2)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    for number in range(7):
        action = env.action_space.sample()
        observation, _, _, truncated, _ = env.step(action)
        assert observation in env.observation_space
        assert truncated.all() == (number % 3 == 2)
        assert truncated.any() or same(observation, action)
    env.close()


def test_sync_vector_env_of_different_spaces() -> None:
    spaces = [Permutation(4, 2), Permutation(6, 2)]
    env = SyncVectorEnv([lambda s=s: Echo(s, spaces[0]) for s in spaces], observation_mode="different")
    assert env.observation_space == BatchedPermutation([4, 6], 2, 2)
    assert env.reset(seed=0)[0] in env.observation_space
    env.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("shared_memory", [True, False])
def test_async_vector_env(shared_memory: bool) -> None:
    space = Dict(left=Permutation(5, 3), right=Permutation(4))
    env = AsyncVectorEnv([lambda: Echo(space)] * 2, shared_memory=shared_memory)
    try:
        env.action_space.seed(0)
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space
        action = env.action_space.sample()
        assert same(env.step(action)[0], action)
    finally:
        env.close()


def test_wrappers() -> None:
    stacked = FrameStackObservation(Echo(Permutation(5, 3)), 3, padding_type="zero")
    frames, _ = stacked.reset(seed=0)
    assert stacked.observation_space == BatchedPermutation(5, 3, 3)
    assert frames in stacked.observation_space
    assert frames[0].tolist() == [0, 1, 2]
    flat = FlattenObservation(Echo(Permutation(5, 3)))
    assert flat.reset(seed=0)[0].shape == (15,)


def test_gymnasium_check_env(single: gym.Space[Any]) -> None:
    env = Echo(single)
    env.spec = gym.envs.registration.EnvSpec("Echo-v0", entry_point=lambda: Echo(single))
    check_env(env)
