"""Sessions as arrays: bits of clicks, groups of equal sessions, and the split into fitted and held-out ones."""

from collections import Counter

import numpy as np
import pytest

from rankgym.logs.sessions import Sessions, click_bits, merged, of_queries, split


def drawn(generator, sessions=400, positions=3, queries=2):
    """Random sessions of few different kinds, ungrouped."""
    query = generator.integers(queries, size=sessions).astype(np.int32)
    item = np.stack([generator.permutation(positions) for _ in range(sessions)]).astype(np.int32)
    item += positions * query[:, None]
    clicked = generator.random((sessions, positions)) < 0.3
    return query, item, clicked


def labelled(query, item, clicks, count):
    """Sessions of 2 queries with 3 documents each."""
    item_query = np.repeat(np.arange(2, dtype=np.int32), 3)
    return Sessions(query, item, clicks, count, np.array(["a", "b"]), np.array(list("xyzxyz")), item_query)


def test_bits_are_the_clicks():
    clicked = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])
    assert click_bits(clicked).tolist() == [5, 0, 6]
    sessions = labelled(*np.zeros((1, 3), np.int32), np.zeros((3, 3), np.int32), click_bits(clicked), np.ones(3, int))
    assert np.array_equal(sessions.clicked(), clicked == 1)


def test_bits_hold_64_positions():
    clicked = np.zeros((1, 64), bool)
    clicked[0, 63] = True
    assert click_bits(clicked).tolist() == [2**63]


@pytest.mark.parametrize("seed", range(5))
def test_groups_count_equal_sessions(seed):
    query, item, clicked = drawn(np.random.default_rng(seed))
    groups = merged(query, item, click_bits(clicked), np.ones(len(query), np.int64))
    counted = Counter((q, *i, *c) for q, i, c in zip(query.tolist(), item.tolist(), clicked.tolist(), strict=True))
    sessions = labelled(*groups)
    keys = [(q, *i, *c) for q, i, c in zip(*(part.tolist() for part in (*groups[:2], sessions.clicked())), strict=True)]
    assert dict(zip(keys, groups[3].tolist(), strict=True)) == counted
    assert sessions.num_sessions == len(query)
    again = merged(*groups)
    assert all(np.array_equal(one, other) for one, other in zip(groups, again, strict=True))


def test_no_sessions_are_no_groups():
    empty = np.zeros(0, np.int32), np.zeros((0, 3), np.int32), np.zeros(0, np.uint64), np.zeros(0, np.int64)
    assert [len(part) for part in merged(*empty)] == [0, 0, 0, 0]


def test_a_split_loses_nothing_and_its_share_is_that_asked_for():
    query, item, clicked = drawn(np.random.default_rng(1), sessions=20_000)
    sessions = labelled(*merged(query, item, click_bits(clicked), np.ones(len(query), np.int64)))
    fitted, held = split(sessions, 0.25, seed=3)
    assert fitted.num_sessions + held.num_sessions == 20_000
    assert (fitted.repeats > 0).all()
    assert (held.repeats > 0).all()
    assert abs(held.num_sessions - 5_000) < 330  # 5.4 standard deviations of 61: an error probability below 1e-7
    assert split(sessions, 0.0, seed=3)[1].num_sessions == 0


def test_sessions_of_some_queries():
    query, item, clicked = drawn(np.random.default_rng(2))
    sessions = labelled(*merged(query, item, click_bits(clicked), np.ones(len(query), np.int64)))
    only = of_queries(sessions, [1])
    assert set(only.query.tolist()) == {1}
    assert only.num_sessions == int((query == 1).sum())
