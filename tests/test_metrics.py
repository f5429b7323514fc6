"""Measures against their definitions, pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.metrics import better_items, ideal_dcg, misordered_pairs, ndcg, rank_discounts


def naive_misordered(attraction, displayed):
    """BubbleRank, eq. 5, with every hidden item below the displayed ones."""
    hidden = [i for i in range(len(attraction)) if i not in displayed]
    order = [(k, i) for k, i in enumerate(displayed)] + [(len(displayed), i) for i in hidden]
    return sum(attraction[i] < attraction[j] and a < b for a, i in order for b, j in order)


def misordered(attraction, displayed):
    out = np.empty(len(displayed), np.int64)
    misordered_pairs(better_items(np.array(attraction, float)), np.array(displayed), out)
    return out


@pytest.mark.kernels
@settings(deadline=None)
@given(st.data())
def test_misordered_pairs_equal_the_definition(data):
    items = data.draw(st.sampled_from([1, 2, 5, 10, 63, 64, 65, 130]))
    positions = data.draw(st.integers(1, min(items, 12)))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    attraction = rng.integers(0, max(2, items // 2), items) / items  # with ties
    displayed = rng.permutation(items)[:positions]
    assert misordered([attraction], [displayed])[0] == naive_misordered(attraction, displayed.tolist())


def test_misordered_pairs_of_the_reversed_list_are_all_pairs():
    attraction = np.linspace(0.9, 0.1, 10)
    assert misordered([attraction] * 2, [np.arange(10), np.arange(10)[::-1]]).tolist() == [0, 45]


def test_equal_attraction_is_no_violation():
    assert misordered([[0.5] * 4], [[3, 1, 0, 2]]).tolist() == [0]


@pytest.mark.kernels
def test_ndcg_of_hand_computed_lists():
    attraction = np.array([[0.8, 0.4, 0.2, 0.0]] * 3)
    displayed = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]])
    discounts, ideal, quality = rank_discounts(2), ideal_dcg(attraction, 2), np.empty(3)
    ndcg(attraction, discounts, ideal, displayed, quality)
    half = 1 / np.log2(3)
    best = 0.8 + 0.4 * half
    assert quality == pytest.approx([1.0, (0.4 + 0.8 * half) / best, (0.0 + 0.2 * half) / best])


def test_ndcg_where_nothing_is_attractive_is_one():
    quality = np.empty(1)
    ndcg(np.zeros((1, 3)), rank_discounts(2), np.zeros(1), np.array([[2, 0, 1]]), quality)
    assert quality[0] == 1.0
