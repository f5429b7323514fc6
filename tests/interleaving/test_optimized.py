"""Optimized interleaving: the allowed lists, the linear programme, and what its solution promises."""

import itertools
import math
import sys

import numpy as np
import pytest

from rankgym.interleaving import Lists, compare, make
from rankgym.interleaving.optimized import Optimized, allowed_lists, credits_of, sensitivity, solve
from rankgym.kernels import ENVIRONMENT, row_keys

pytest.importorskip("scipy", reason="optimized interleaving needs SciPy; install the dev extra")


def pairs(length):
    """All ways in which two rankings of this length can lie to each other: left is 0, 1, ..., new documents follow."""
    for right in itertools.permutations(range(2 * length), length):
        new = [d for d in right if d >= length]
        if new == list(range(length, length + len(new))):
            yield list(range(length)), list(right)


def random_pair(rng, length):
    return list(range(length)), rng.permutation(length + 3)[:length].tolist()


def test_allowed_lists_are_unions_of_prefixes():
    """Equation 5, by brute force over all lists of the documents."""
    for left, right in pairs(3):
        documents = sorted({*left, *right})
        unions = [{*left[:i], *right[:j]} for i in range(4) for j in range(4)]
        expected = {
            listed
            for listed in itertools.permutations(documents, 3)
            if all({*listed[:k]} in unions for k in range(1, 4))
        }
        assert {tuple(row) for row in allowed_lists(left, right, 3).tolist()} == expected


@pytest.mark.parametrize("crediting", ["inverse", "linear"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 6, 10])
def test_who_clicks_at_random_among_the_first_k_prefers_neither(length, crediting):
    """Equations 6 to 8: every pair up to length 4, random ones above, have a solution, and it is unbiased."""
    rng = np.random.default_rng(length)
    duels = pairs(length) if length <= 4 else [random_pair(rng, length) for _ in range(10)]
    for left, right in duels:
        lists = allowed_lists(left, right, length)
        credits = credits_of(lists, left, right, crediting)
        p = solve(lists, credits)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1)
        assert (p > 0).sum() <= length + 1
        assert p @ np.cumsum(credits, axis=1) == pytest.approx(np.zeros(length), abs=1e-6)


def test_the_sign_as_credit_has_no_unbiased_lists():
    left, right = [0, 1, 2], [1, 2, 0]
    lists = allowed_lists(left, right, 3)
    with pytest.raises(RuntimeError, match="no solution"):
        solve(lists, np.sign(credits_of(lists, left, right, "linear")))


def test_the_solution_is_the_most_sensitive_one():
    """Against all vertices of the polytope, by brute force over the sets of lists with a positive probability."""
    for left, right in itertools.islice(pairs(3), 0, None, 3):
        lists = allowed_lists(left, right, 3)
        credits = credits_of(lists, left, right, "inverse")
        constraints = np.vstack([np.ones(len(lists)), np.cumsum(credits, axis=1).T])
        target, best = np.array([1.0, 0, 0, 0]), -1.0
        for size in range(1, 5):
            for chosen in map(list, itertools.combinations(range(len(lists)), size)):
                p, *_ = np.linalg.lstsq(constraints[:, chosen], target, rcond=None)
                if p.min() > -1e-9 and np.allclose(constraints[:, chosen] @ p, target, atol=1e-9):
                    best = max(best, float(p @ sensitivity(credits[chosen])))
        assert solve(lists, credits) @ sensitivity(credits) == pytest.approx(best, abs=1e-7)


def test_sensitivity_by_hand():
    """Weights 6/11, 3/11, 2/11: a click is left's, right's, nobody's; entropy of (2/3, 1/3), times 9/11."""
    entropy = -(2 / 3) * math.log2(2 / 3) - (1 / 3) * math.log2(1 / 3)
    found = sensitivity(np.array([[0.5, -0.5, 0.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0]]))
    assert found == pytest.approx([9 / 11 * entropy, 0, 0])


@pytest.mark.kernels
def test_two_documents_swapped():
    """By hand: both lists with probability 1/2, credit +-1/2. 20,000 lists, within 5 standard errors."""
    rows = 20_000
    duel = compare([[0, 1]] * rows, [[1, 0]] * rows, method="optimized")
    assert duel.displayed[:, 0].mean() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(rows))
    left_first = duel.displayed[:, 0] == 0
    assert (duel.share[left_first] == [0.5, -0.5]).all()
    assert (duel.share[~left_first] == [-0.5, 0.5]).all()
    credit = duel.credit(np.tile([1, 0], (rows, 1)))
    assert (credit == np.where(left_first[:, None], [0.5, 0.0], [0.0, 0.5])).all()


@pytest.mark.parametrize("crediting", ["inverse", "linear"])
def test_displayed_lists_have_the_solutions_law_whatever_the_documents_are_called(crediting):
    """Two rows of other documents with one pattern, 40,000 lists each; frequencies within 6 standard errors."""
    left, right, rows = [0, 1, 2, 3], [2, 5, 0, 4], 40_000
    names = np.array([[0, 1, 2, 3, 4, 5], [9, 4, 7, 1, 0, 3]])
    pattern = [0, 1, 2, 3], [2, 5, 0, 7]  # 4 + place of those that are not left's
    lists = allowed_lists(*pattern, 4)
    credits = credits_of(lists, *pattern, crediting)
    p = solve(lists, credits)
    name_of = {4 + 1: 5, 4 + 3: 4}
    rankings = Lists.of(np.concatenate([names[:, left], names[:, right]]), 10)
    method = make("optimized", {"credit": crediting})
    number = np.arange(2 * rows) % 2
    displayed, share = np.empty((2 * rows, 4), np.int64), np.empty((2 * rows, 4))
    key = row_keys([3], ENVIRONMENT).repeat(2 * rows)
    method.interleave(rankings, number, number + 2, key, np.arange(2 * rows), displayed, share)
    for row in (0, 1):
        mine = displayed[number == row]
        for probability, listed, worth in zip(p, lists, credits, strict=True):
            documents = names[row][[name_of.get(int(d), int(d)) for d in listed]]
            here = (mine == documents).all(axis=1)
            spread = math.sqrt(probability * (1 - probability) / rows)
            assert here.mean() == pytest.approx(probability, abs=6 * spread + 1e-9)
            assert np.allclose(share[number == row][here], worth)


@pytest.mark.kernels
def test_short_rankings_and_forgotten_solutions(monkeypatch):
    duel = compare([[0, 1]], [[1, 0]], method="optimized")
    short = np.empty((1, 5), np.int64)
    method = Optimized()
    for _ in range(3):
        method.interleave(*duel[1:6], short, np.empty((1, 5)))
        assert sorted(short[0, :2]) == [0, 1]
        assert (short[0, 2:] == -1).all()
        monkeypatch.setattr("rankgym.interleaving.optimized.MAX_CACHED_LISTS", 0)
    assert len(method._numbers) == 1


def test_ranks_are_those_of_the_top():
    """By hand: with two places displayed, a document that is not in a ranking's top two has rank 3 there."""
    listed = np.array([[0, 2], [2, 1]], np.int8)
    inverse, linear = (credits_of(listed, [0, 1], [2, 0], crediting) for crediting in ("inverse", "linear"))
    assert inverse == pytest.approx(np.array([[1 / 2, -2 / 3], [-2 / 3, 1 / 6]]))
    assert linear.tolist() == [[1, -2], [-2, 1]]


def test_what_stands_below_the_top_does_not_matter():
    """Rankings that are longer than the list: as those of their first documents alone."""
    rng = np.random.default_rng(2)
    left, right = (np.argsort(rng.random((60, 8)), axis=1) for _ in range(2))
    long, short = compare(left, right, 3, method="optimized"), compare(left[:, :3], right[:, :3], method="optimized")
    assert (long.displayed == short.displayed).all()
    assert (long.share == short.share).all()
    assert any(len({*mine[:3]} & {*other[3:]}) for mine, other in zip(left.tolist(), right.tolist(), strict=True))


def test_solutions_are_remembered_whole_and_forgotten_together(monkeypatch):
    """One method, pattern after pattern: as a fresh one for each."""
    rng, method = np.random.default_rng(6), Optimized()
    duels = [compare(range(6), rng.permutation(8)[:6], method="optimized", seed=n) for n in range(12)]
    for limit in (1_000_000, 3):
        monkeypatch.setattr("rankgym.interleaving.optimized.MAX_CACHED_LISTS", limit)
        for duel in duels:
            displayed, share = np.empty((1, 6), np.int64), np.empty((1, 6))
            method.interleave(*duel[1:6], displayed, share)
            assert (displayed == duel.displayed).all()
            assert (share == duel.share).all()
        assert all(cumulative[-1] == pytest.approx(1) for cumulative, _, _ in method._tables)
        assert (len(method._numbers) == 12) == (limit > 3)


def test_the_longest_lists():
    duel = compare(range(10), range(9, -1, -1), method="optimized")
    assert sorted(duel.displayed[0]) == list(range(10))


def test_what_is_refused():
    with pytest.raises(ValueError, match="length = 11 is out of range"):
        compare(range(11), range(11), method="optimized")
    with pytest.raises(ValueError, match="credit = 'binary' is unknown"):
        make("optimized", {"credit": "binary"})


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match="needs SciPy; install it: pip install scipy"):
        compare([0, 1], [1, 0], method="optimized")
