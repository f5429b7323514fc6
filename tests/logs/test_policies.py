"""Policies: every probability beside a sum over all lists in plain Python, and drawn lists beside the probabilities."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.logs.policies import (
    POLICIES,
    MixturePolicy,
    PlackettLucePolicy,
    StaticPolicy,
    UniformPolicy,
    policy_of,
)

ITEMS, POSITIONS = 5, 3
LISTS = list(itertools.permutations(range(ITEMS), POSITIONS))
LOGITS = [[0.3, -1.2, 2.0, 0.0, 0.7], [5.0, -5.0, 0.1, 0.2, 0.3]]
BASE = [[4, 0, 2], [1, 2, 3]]
UNIFORM = UniformPolicy(ITEMS, POSITIONS)
STATIC = StaticPolicy(BASE, ITEMS)
LUCE = PlackettLucePolicy(LOGITS, POSITIONS)
MIXED = MixturePolicy([UNIFORM, STATIC, LUCE], [0.2, 0.3, 0.5])


def plain_luce(query, ranking):
    left, probability = {item: math.exp(logit) for item, logit in enumerate(LOGITS[query])}, 1.0
    for item in ranking:
        probability *= left[item] / sum(left.values())
        del left[item]
    return probability


def plain_uniform(query, ranking):
    return 1 / len(LISTS)


def plain_static(query, ranking):
    return float(list(ranking) == BASE[query])


def plain_mixed(query, ranking):
    return 0.2 * plain_uniform(query, ranking) + 0.3 * plain_static(query, ranking) + 0.5 * plain_luce(query, ranking)


ALL = pytest.mark.parametrize(
    ("policy", "plain"),
    [(UNIFORM, plain_uniform), (STATIC, plain_static), (LUCE, plain_luce), (MIXED, plain_mixed)],
    ids=["uniform", "static", "plackett-luce", "mixture"],
)
SESSIONS = [(query, ranking) for query in (0, 1) for ranking in LISTS]
QUERY = np.array([query for query, _ in SESSIONS])
DISPLAYED = np.array([ranking for _, ranking in SESSIONS])


@ALL
def test_probabilities_of_lists_and_of_first_items(policy, plain):
    prefixes = policy.prefixes(QUERY, DISPLAYED)
    for (query, ranking), mine in zip(SESSIONS, prefixes, strict=True):
        for k in range(1, POSITIONS + 1):
            expected = sum(plain(query, one) for one in LISTS if one[:k] == ranking[:k])
            assert mine[k - 1] == pytest.approx(expected, rel=1e-12, abs=1e-15)
    np.testing.assert_array_equal(policy.probability(QUERY, DISPLAYED), prefixes[:, -1])
    np.testing.assert_array_equal(policy.prefixes(QUERY, DISPLAYED[:, :2]), prefixes[:, :2])


@ALL
@pytest.mark.parametrize("position", range(POSITIONS))
def test_probabilities_of_the_next_item(policy, plain, position):
    extensions = policy.extensions(QUERY, DISPLAYED, position)
    for (query, ranking), mine in zip(SESSIONS, extensions, strict=True):
        for item in range(ITEMS):
            first = (*ranking[:position], item)
            expected = sum(plain(query, one) for one in LISTS if one[: position + 1] == first)
            assert mine[item] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@ALL
def test_probabilities_of_items_at_positions(policy, plain):
    table = policy.item_position(np.array([1, 0, 1]))
    for row, query in enumerate((1, 0, 1)):
        for item, k in itertools.product(range(ITEMS), range(POSITIONS)):
            expected = sum(plain(query, one) for one in LISTS if one[k] == item)
            assert table[row, item, k] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@ALL
def test_drawn_lists_have_these_probabilities(policy, plain):
    """6 standard errors at each of 120 lists: fails by chance with a probability below 1e-6; the seed is fixed."""
    draws = 20_000
    for query in (0, 1):
        drawn = policy.sample(np.full(draws, query), np.random.default_rng(3))
        counts = {}
        for ranking in map(tuple, drawn.tolist()):
            counts[ranking] = counts.get(ranking, 0) + 1
        for ranking in LISTS:
            p = plain(query, ranking)
            error = math.sqrt(p * (1 - p) * draws)
            assert abs(counts.get(ranking, 0) - p * draws) <= 6 * error + 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-300, 300, allow_nan=False), min_size=1, max_size=7).flatmap(
        lambda logits: st.tuples(st.just(logits), st.integers(1, len(logits)))
    )
)
def test_plackett_luce_probabilities_sum_to_one_whatever_the_logits(case):
    logits, positions = case
    policy = PlackettLucePolicy([logits], positions)
    table = policy.item_position(np.array([0]))
    np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=1e-9)
    assert (table.sum(axis=2) <= 1 + 1e-9).all()
    drawn = policy.sample(np.zeros(20, int), np.random.default_rng(0))
    assert all(len(set(row)) == positions for row in drawn.tolist())
    prefixes = policy.prefixes(np.zeros(20, int), drawn)
    np.testing.assert_allclose(policy.extensions(np.zeros(20, int), drawn, 0).sum(axis=1), 1.0)
    assert np.isfinite(prefixes).all()
    if len(logits) == positions == 1:
        assert prefixes.min() == 1.0


def test_many_items_have_no_item_position_probabilities():
    policy = PlackettLucePolicy(np.zeros((1, 17)), 2)
    assert policy.item_position(np.array([0])) is None
    assert MixturePolicy([policy, UniformPolicy(17, 2)], [0.5, 0.5]).item_position(np.array([0])) is None
    table = PlackettLucePolicy(np.zeros((3, 16)), 2).item_position(np.arange(3))
    np.testing.assert_allclose(table, 1 / 16, rtol=1e-12)


def test_named_policies_follow_the_base_list():
    base = np.array([[2, 0, 1, 3]])
    luce = policy_of("plackett-luce:temperature=0.5", base, 2)
    table = luce.item_position(np.array([0]))[0, :, 0]
    weights = np.array([1 / 4, 1 / 9, 1, 1 / 16])  # rank ** -2
    np.testing.assert_allclose(table, weights / weights.sum())
    mixed = policy_of("epsilon:epsilon=0.25", base, 2)
    chance = mixed.probability(np.zeros(2, int), np.array([[2, 0], [0, 2]]))
    np.testing.assert_allclose(chance, [0.75 + 0.25 / 12, 0.25 / 12])
    assert policy_of("static", base, 2).probability(np.zeros(1, int), np.array([[2, 0]])) == 1
    assert [policy_of(name, base, 2).shows_all_lists for name in ("random", "static", "plackett-luce", "epsilon")] == [
        True,
        False,
        True,
        True,
    ]
    assert not policy_of("epsilon:epsilon=0", base, 2).shows_all_lists


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("randm", "did you mean 'random'"),
        ("plackett-luce:temperature=0", r"temperature = 0.0 is out of range; allowed: a number in \(0, inf\)"),
        ("plackett-luce:temperature=1e-5", "temperature = 1e-05 is out of range; allowed with 4 items: 0.0023 or more"),
        ("plackett-luce:temprature=1", "did you mean 'temperature'"),
        ("plackett-luce:0.5", "0.5 is not a knob; allowed: knob=number"),
        ("epsilon:epsilon=2", "epsilon = 2.0 is out of range"),
        ("static:temperature=1", "static has no knobs"),
    ],
)
def test_wrong_names_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        policy_of(name, np.arange(4)[None], 2)


@given(st.one_of(st.text(), st.builds("{}:{}={}".format, st.sampled_from(list(POLICIES)), st.text(), st.floats())))
def test_whatever_is_named_is_a_policy_or_a_value_error(name):
    try:
        policy = policy_of(name, np.arange(4)[None], 2)
    except ValueError:
        return
    assert policy.probability(np.zeros(1, int), np.array([[0, 1]]))[0] >= 0


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"logits\[1\] has numbers from 0.0 to 601.0"):
        PlackettLucePolicy([[0, 1], [0, 601]], 1)
    with pytest.raises(ValueError, match=r"logits\[0\]"):
        PlackettLucePolicy([[0, np.nan]], 1)
    with pytest.raises(
        ValueError, match=r"lists\[1\] = \[2, 2\] is not a list; allowed: different items out of 0 .. 2"
    ):
        StaticPolicy([[0, 1], [2, 2]], 3)
    with pytest.raises(ValueError, match="with the sum 1"):
        MixturePolicy([UNIFORM, LUCE], [0.5, 0.6])
    with pytest.raises(ValueError, match="parts have the sizes"):
        MixturePolicy([UNIFORM, UniformPolicy(4, 2)], [0.5, 0.5])
