"""Best lists of the models whose user may want another order than that of attraction: beyond test_models.py."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.models import MODELS, ccm, dbn, ubm
from rankgym.models.base import completed_lists, scanned_lists, sorted_lists


def drawn(name, rng, items, positions, rows=1):
    model = MODELS[name]
    shapes = ((rows, *(items if axis == "item" else positions for axis in axes)) for axes in model.axes.values())
    return model.parameters(*map(rng.random, shapes))


def values_of(name, parameters, lists, cutoff):
    many = MODELS[name].parameters(*(np.repeat(a, len(lists), axis=0) for a in parameters))
    return MODELS[name].values(many, lists, cutoff, "clicks")


def best_list(name, parameters, positions, cutoff):
    return MODELS[name].rewards["clicks"].best_lists(parameters, positions, cutoff)


@pytest.mark.parametrize("name", ["DBN", "CCM", "UBM"])
@pytest.mark.parametrize(("items", "cutoff"), [(8, 5), (7, 7), (10, 4)])
def test_the_best_of_many_items_equals_brute_force(name, items, cutoff):
    """Uniform parameters, where the sorted list often is not the best."""
    rng = np.random.default_rng(10)
    lists = np.array(list(itertools.permutations(range(items), cutoff)))
    unsorted = 0
    for _ in range(10):
        parameters = drawn(name, rng, items, cutoff)
        if name == "CCM":
            parameters = parameters._replace(continue_noclick=np.ones(1))  # as in the fits
        best = best_list(name, parameters, cutoff, cutoff)
        record = values_of(name, parameters, lists, cutoff).max()
        assert values_of(name, parameters, best, cutoff)[0] == pytest.approx(record, abs=1e-12)
        unsorted += (best != sorted_lists(parameters.attraction, cutoff)).any()
    assert unsorted >= 2, unsorted


@pytest.mark.parametrize("name", ["DBN", "CCM", "UBM"])
def test_no_exchange_improves_a_best_list_of_forty_items(name):
    rng = np.random.default_rng(11)
    items, cutoff = 40, 7
    for _ in range(5):
        parameters = drawn(name, rng, items, cutoff)
        best = best_list(name, parameters, cutoff, cutoff)[0]
        others = [best]
        for k in range(cutoff):
            for j in range(k):
                swapped = best.copy()
                swapped[[j, k]] = best[[k, j]]
                others.append(swapped)
            for item in set(range(items)) - set(best.tolist()):
                replaced = best.copy()
                replaced[k] = item
                others.append(replaced)
        values = values_of(name, parameters, np.array(others), cutoff)
        assert values[0] >= values.max() - 1e-12


def test_the_list_behind_the_cutoff_is_sorted():
    for name in ("DBN", "CCM", "UBM", "DCM"):
        parameters = drawn(name, np.random.default_rng(12), 9, 8, rows=4)
        best = best_list(name, parameters, 8, 3)
        assert best.shape == (4, 8)
        for row, attraction in zip(best, parameters.attraction, strict=True):
            assert len(set(row)) == 8
            assert (np.diff(attraction[row[3:]]) <= 0).all()
        assert (best_list(name, parameters, 8, 3)[:, :3] == best_list(name, parameters, 3, 3)).all()


def test_completed_lists_hold_every_item_once():
    ranked = np.array([[3, 1, 0, 2], [0, 1, 2, 3]])
    assert completed_lists(np.array([[0], [2]]), ranked, 3).tolist() == [[0, 3, 1], [2, 0, 1]]
    assert completed_lists(np.array([[0], [2]]), ranked, 1).tolist() == [[0], [2]]


def test_a_user_who_scans_on_sees_first_what_does_not_stop_her():
    """Items in the order of a / (1 - q); one with q = 1 comes first, however little it attracts."""
    attraction = np.array([[0.9, 0.5, 0.2, 0.1]])
    onward = np.array([[0.0, 0.5, 1.0, 0.9]])  # a / (1 - q) = .9, 1, infinite, 1
    assert scanned_lists(attraction, onward, 3, 3).tolist() == [[2, 1, 0]]
    assert scanned_lists(attraction, onward, 1, 1).tolist() == [[0]]
    nothing = np.zeros((1, 3))
    assert sorted(scanned_lists(nothing, nothing + 1.0, 3, 2)[0].tolist()) == [0, 1, 2]  # 0 / 0 everywhere


def test_the_sorted_list_is_not_the_best_of_a_dbn_nor_of_a_ccm():
    """A satisfying item, or one that is certainly relevant, ends the session: it belongs below."""
    user = dbn.Parameters(np.array([[0.9, 0.8]]), np.array([[1.0, 0.0]]), np.zeros(1))
    assert best_list("DBN", user, 2, 2).tolist() == [[1, 0]]
    assert values_of("DBN", user, np.array([[1, 0], [0, 1]]), 2) == pytest.approx([0.8 + 0.9, 0.9 + 0.1 * 0.8])
    user = ccm.Parameters(np.array([[1.0, 0.8]]), np.ones(1), np.ones(1), np.zeros(1))
    assert best_list("CCM", user, 2, 2).tolist() == [[1, 0]]
    assert values_of("CCM", user, np.array([[1, 0], [0, 1]]), 2) == pytest.approx([0.8 + 0.36, 1.0])


def test_the_sorted_list_is_not_the_best_of_a_ubm():
    """Position 1 is rarely seen but a click there opens the rest: the best item belongs where it is clicked."""
    table = np.zeros((1, 3, 3))
    table[0, :, -1] = [0.2, 1.0, 0.0]
    table[0, 2, 1] = 1.0
    user = ubm.Parameters(np.array([[0.9, 0.5, 0.1]]), table)
    assert best_list("UBM", user, 3, 3).tolist() == [[2, 0, 1]]
    assert values_of("UBM", user, np.array([[2, 0, 1]]), 3) == pytest.approx(0.02 + 0.98 * 0.9 * 1.5)


def test_the_best_list_of_a_ubm_may_use_the_least_attractive_items():
    """A click at the first two positions hides the rest, so that the best items there are those that nobody clicks."""
    table = np.zeros((1, 4, 4))
    table[0, :, -1] = 1.0
    table[0, 3, 2] = 1.0
    user = ubm.Parameters(np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.0, 0.0]]), table)
    best = best_list("UBM", user, 4, 4)
    assert best.tolist() == [[6, 7, 0, 1]]
    assert values_of("UBM", user, best, 4) == pytest.approx(1.7)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_sorted_list_of_a_ubm_is_preferred_where_it_is_as_good(data):
    """Equal and unseen items, and users whose clicks change nothing: among many best lists it takes the sorted one."""
    cutoff = data.draw(st.integers(1, 8))
    items = data.draw(st.integers(cutoff, 10))
    attraction = np.array([data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=items, max_size=items))])
    chi = np.sort(np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=cutoff, max_size=cutoff))))[
        ::-1
    ]
    user = ubm.Parameters(attraction, np.repeat(chi[None, :, None], cutoff, axis=2))
    assert best_list("UBM", user, cutoff, cutoff).tolist() == sorted_lists(attraction, cutoff).tolist()


def test_the_best_list_of_a_ubm_is_remembered():
    """The same numbers cost nothing in another environment, nor where the items are only relabelled."""
    rng = np.random.default_rng(13)
    user = drawn("UBM", rng, 10, 6, rows=3)
    best = best_list("UBM", user, 6, 6)
    before = ubm.solved.cache_info()
    assert before.maxsize is not None  # bounded
    assert (best_list("UBM", user, 6, 6) == best).all()
    order = rng.permutation(10)
    relabelled = ubm.Parameters(np.ascontiguousarray(user.attraction[:, order]), user.examination)
    assert (order[best_list("UBM", relabelled, 6, 6)] == best).all()
    after = ubm.solved.cache_info()
    assert (after.hits - before.hits, after.misses - before.misses) == (6, 0)
    changed = user._replace(examination=user.examination * 0.5)
    best_list("UBM", changed, 6, 6)
    assert ubm.solved.cache_info().misses == before.misses + 3
