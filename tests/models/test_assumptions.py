"""The papers' assumptions: facts worked out by hand, and the papers' text in plain Python beside the compiled walk."""

import doctest
import itertools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import trust_bias
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from rankgym import progress
from rankgym.models import ASSUMPTIONS, MODELS, PAPERS, ClickModel, check_assumptions, pbm
from rankgym.models.assumptions import checking
from rankgym.models.assumptions.search import MAX_EXCHANGES, MAX_ROWS, QuerySearch, exchanges, fill_lists

CASES = [(name, reward) for name, model in MODELS.items() for reward in model.rewards]
TINY = 1e-12
ROOT = Path(__file__).resolve().parents[2]


def check(model, parameters, **keywords):
    return check_assumptions(model, parameters, progress=False, **keywords)


def broken(report):
    return [name for name in ASSUMPTIONS if not report.holds(name)]


# -- facts by hand ----------------------------------------------------------------------------------------------------

ALPHA = [0.9, 0.5, 0.3, 0.2, 0.1]


@pytest.mark.parametrize("positions", [1, 2, 4, 5])
def test_a_cascade_satisfies_everything(positions):
    """BubbleRank, section 4.1: "the above assumptions hold in the CM"; TopRank's supplement says so of its own."""
    report = check("CM", {"attraction": ALPHA}, num_positions=positions)
    assert broken(report) == []
    assert report.holds("bubblerank")
    assert report.holds("toprank")
    assert report.lists == math.perm(5, positions)
    assert all(report[name].exact for name in ASSUMPTIONS)


@pytest.mark.parametrize("positions", [1, 3, 5])
def test_a_document_based_model_satisfies_everything(positions):
    assert broken(check("DBM", {"attraction": ALPHA}, num_positions=positions)) == []


@pytest.mark.parametrize("examination", [[1.0, 0.6, 0.6, 0.2], [0.5, 0.4, 0.3, 0.0]])
def test_a_pbm_whose_examination_does_not_increase_satisfies_everything(examination):
    assert broken(check("PBM", {"attraction": ALPHA, "examination": examination}, num_positions=4)) == []


INCREASING = {"attraction": ALPHA, "examination": [1.0, 0.6, 0.3, 0.4]}


def test_an_increasing_pair_of_a_pbm_breaks_a1_a3_and_t2_alone():
    """Nothing there depends on the list: A2, A4, A5 and T4 hold with equality, T3 because chi(k) cancels."""
    report = check("PBM", INCREASING, num_positions=4)
    assert broken(report) == ["A1", "A3", "T2"]
    assert not report.holds("bubblerank")
    assert not report.holds("toprank")
    a3 = report["A3"]
    assert a3.gap == pytest.approx(0.1)
    assert a3.witness.positions == (2, 3)
    assert a3.witness.numbers == (0.3, 0.4)
    assert "position 3 is examined with probability 0.3, position 4 with 0.4" in a3.witness.text
    # exchanging the items of attraction .3 and .2 wins (.4 - .3) (.3 - .2)
    assert report["A1"].gap == report["T2"].gap == pytest.approx(0.01)
    assert report["A1"].witness.lists == ((0, 1, 3, 2), (0, 1, 2, 3))


def test_what_is_not_paid_does_not_break_a1():
    assert broken(check("PBM", INCREASING, num_positions=4, cutoff=3)) == ["A3"]


def test_an_increasing_pair_costs_nothing_where_the_items_are_alike():
    same = {**INCREASING, "attraction": [0.9, 0.5, 0.3, 0.3, 0.3]}
    assert broken(check("PBM", same, num_positions=4)) == ["A3"]


def test_a_dcm_that_always_leaves_alike_satisfies_everything():
    """With one v for all positions the sum of clicks is (1 - prod(1 - v alpha)) / v, whatever the order."""
    alike = {"attraction": ALPHA, "termination": [0.4] * 4}
    for reward in ("clicks", "abandonment"):
        assert broken(check("DCM", alike, num_positions=4, reward=reward)) == []


def test_a_dcm_whose_termination_falls_is_sorted_for_abandonment_but_not_for_clicks():
    """chi(R, k) depends on the order above (A2); sorted, it is the least, as the largest alpha meets the largest v."""
    falling = {"attraction": ALPHA, "termination": [0.9, 0.7, 0.2, 0.1]}
    assert broken(check("DCM", falling, num_positions=4, reward="abandonment")) == ["A2"]
    assert broken(check("DCM", falling, num_positions=4, reward="clicks")) == ["A1", "A2", "T2"]


def test_a_dcm_whose_termination_rises_is_sorted_for_clicks_but_not_for_abandonment():
    """The other way round; and chi is the least where the best items stand lower: A5, and T4 from position 3 on."""
    rising = {"attraction": ALPHA, "termination": [0.1, 0.2, 0.7, 0.9]}
    assert broken(check("DCM", rising, num_positions=4, reward="clicks")) == ["A2", "A5", "T4"]
    assert broken(check("DCM", rising, num_positions=4, reward="abandonment")) == ["A1", "A2", "A5", "T2", "T4"]


def test_the_numbers_of_a_dcm():
    """The first item always satisfies, the others never: what stands first decides everything."""
    report = check("DCM", {"attraction": [1.0, 0.9, 0.8], "termination": [1.0, 0.0, 0.0]})
    assert report["A1"].gap == pytest.approx(0.8 + 0.2 * 1.9 - 1.0)
    assert report["A1"].witness.lists == ((2, 0, 1), (0, 1, 2))
    assert report["A1"].witness.numbers == pytest.approx((1.18, 1.0))
    assert "the list R = 2 0 1 is worth 1.18, the sorted list 0 1 2 is worth 1" in report["A1"].witness.text
    a2 = report["A2"]  # chi(R, 3) = 1 - alpha(R(1)): .2 or 0
    assert a2.gap == pytest.approx(0.2)
    assert a2.witness.lists == ((0, 2, 1), (2, 0, 1))
    assert a2.witness.positions == (2,)


def test_a_dbn_of_one_satisfaction_satisfies_everything():
    user = {"attraction": ALPHA, "satisfaction": [0.4] * 5, "abandonment": 0.1}
    assert broken(check("DBN", user, num_positions=4)) == []


def test_a_less_attractive_item_that_satisfies_more_hides_more():
    """DBN: chi(R, 2) = 1 - s alpha: .9 below the better item, .6 below the other."""
    report = check("DBN", {"attraction": [0.5, 0.4], "satisfaction": [0.2, 1.0], "abandonment": 0.0})
    assert broken(report) == ["A4", "A5", "T3"]
    assert report["A4"].witness.numbers == pytest.approx((0.6, 0.9))
    assert report["A4"].witness.lists == ((1, 0), (0, 1))
    assert report["A4"].witness.positions == (0, 1)
    assert report["T3"].witness.numbers == pytest.approx((0.5 * 0.6, 0.5 * 0.9))
    assert report["T3"].witness.positions == (1,)


def test_equally_attractive_items_can_differ():
    """R* is the sorted list in the order of the items' numbers; TopRank's optimal actions are all sorted lists."""
    user = {"attraction": [0.5, 0.5], "abandonment": 0.0}
    report = check("DBN", {**user, "satisfaction": [0.0, 1.0]})  # R* = 0 1 is worth 1, and so the best
    assert report.holds("A1")
    assert report["T2"].witness.lists == ((0, 1), (1, 0))  # 1 0 is sorted as well, and worth .75
    assert report["T2"].witness.numbers == pytest.approx((1.0, 0.75))
    report = check("DBN", {**user, "satisfaction": [1.0, 0.0]})
    assert report["A1"].gap == report["T2"].gap == pytest.approx(0.25)


def test_a_ubm_that_forgets_the_last_click_is_a_pbm():
    table = np.repeat(np.array([1.0, 0.7, 0.4])[:, None], 3, axis=1)
    assert broken(check("UBM", {"attraction": ALPHA, "examination": table}, num_positions=3)) == []


def test_a_click_that_draws_attention_downwards_breaks_what_says_that_better_items_hide_more():
    """UBM of two positions: the second is examined after a click on the first only, so chi(R, 2) = alpha(R(1))."""
    table = [[1.0, 1.0], [1.0, 0.0]]
    report = check("UBM", {"attraction": ALPHA, "examination": table}, num_positions=2)
    assert broken(report) == ["A4", "A5", "T3", "T4"]
    assert report["A5"].gap == pytest.approx(0.9 - 0.1)
    assert report["A4"].gap == pytest.approx(0.9 - 0.1)


def test_a_ccm_that_goes_on_alike_after_any_click_satisfies_everything():
    user = {"continue_noclick": 1.0, "continue_click_irrelevant": 0.3, "continue_click_relevant": 0.3}
    assert broken(check("CCM", {"attraction": ALPHA, **user}, num_positions=4)) == []


def test_nobody_clicks_where_nothing_attracts():
    """T3 is multiplied out by alpha(j) = 0; all lists are sorted, and worth 0."""
    report = check("PBM", {"attraction": [0.0] * 4, "examination": [0.1, 0.2, 0.3, 0.4]})
    assert broken(report) == ["A3"]
    assert report["T3"].checked == 0


def test_one_item():
    report = check("CM", {"attraction": [0.3]})
    assert broken(report) == []
    assert report.lists == 1


def test_what_is_checked_is_counted():
    """4! lists of 4; a list has 6 exchanges, and each pair of lists is looked at once. All attractions differ."""
    report = check("CM", {"attraction": ALPHA[:4]})
    pairs = 24 * 6 // 2
    # of the 4 positions m, 4 - (l - k) are not in k < m <= l: 3, 2, 1 of them for the 3, 2, 1 exchanges
    kept = 24 // 2 * (3 * 3 + 2 * 2 + 1 * 1)
    expected = {"A1": 24, "A2": kept, "A3": 24 * 6, "A4": pairs, "A5": 24 * 4, "T1": 0, "T2": 24, "T3": 2 * pairs}
    for name, count in expected.items():
        assert report[name].checked == count
    assert report["T4"].checked == 4 * math.factorial(3)  # lists with the sorted list's item at position k


# -- the papers' text in plain Python ---------------------------------------------------------------------------------


class Oracle:
    """All of one query, by lists of the papers: R of K items, a of all items. Every inequality is (left, right)."""

    def __init__(self, name, parameters, positions, cutoff, reward):
        model = MODELS[name]
        self.alpha = parameters.attraction[0]
        self.items, self.positions = len(self.alpha), positions
        self.chi, self.worth = {}, {}
        for R in itertools.permutations(range(self.items), positions):
            self.chi[R] = model.examination(parameters, np.array([R]))[0]
            self.worth[R] = model.values(parameters, np.array([R]), cutoff, reward)[0]
        self.best = tuple(sorted(range(self.items), key=lambda item: -self.alpha[item])[:positions])

    def v(self, a, k):
        return self.chi[a[: self.positions]][k] * self.alpha[a[k]] if k < self.positions else 0.0

    def optimal(self, a):
        """TopRank, above Assumption 2."""
        return all(self.alpha[a[k]] == max(self.alpha[j] for j in a[k:]) for k in range(self.positions))

    def gaps(self, lists, pairs):
        """The largest violation of each assumption, R in ``lists`` and (R, R') in ``pairs``."""
        chi, K = self.chi, range(self.positions)
        found = dict.fromkeys(ASSUMPTIONS, 0.0)

        def wants(name, left, right):  # left >= right
            found[name] = max(found[name], right - left)

        for R in lists:
            wants("A1", self.worth[self.best], self.worth[R])
            for k in K:
                wants("A5", chi[R][k], chi[self.best][k])
                for l in range(k + 1, self.positions):  # noqa: E741, the paper's letter
                    wants("A3", chi[R][k], chi[R][l])
        for R, S in pairs:
            for k in K:
                if set(R[:k]) == set(S[:k]):
                    wants("A2", chi[R][k], chi[S][k])
                    wants("A2", chi[S][k], chi[R][k])
                for l in range(k + 1, self.positions):  # noqa: E741
                    exchanged = list(R)
                    exchanged[k], exchanged[l] = R[l], R[k]
                    if tuple(exchanged) == S and self.alpha[R[k]] <= self.alpha[R[l]]:
                        wants("A4", chi[R][l], chi[S][l])
        actions = {R: R + tuple(sorted(set(range(self.items)) - set(R))) for R in {*lists, *(R for R, _ in pairs)}}
        optimal = [actions.get(self.best, self.best)] + [actions[R] for R in lists if self.optimal(actions[R])]
        for a in (actions[R] for R in lists):
            for k in range(self.positions, self.items):
                wants("T1", -self.v(a, k), 0.0)
            for star in optimal:
                wants("T2", self.worth[star[: self.positions]], self.worth[a[: self.positions]])
                for k in K:
                    if self.alpha[a[k]] == self.alpha[star[k]]:
                        wants("T4", self.v(a, k), self.v(star, k))
        for a in {actions[R] for R, _ in pairs}:
            for i, j in itertools.permutations(range(self.items), 2):
                if self.alpha[i] >= self.alpha[j] > 0:
                    sigma = tuple({i: j, j: i}.get(item, item) for item in a)
                    if (a[: self.positions], sigma[: self.positions]) in pairs:
                        k = a.index(i)
                        wants("T3", self.v(a, k), self.alpha[i] / self.alpha[j] * self.v(sigma, k))
        return found

    def around(self, R):
        """R and the lists that exchanging two items makes of it; and the pairs of R with each of these."""
        a = list(R) + sorted(set(range(self.items)) - set(R))
        lists = [R]
        for k, other in exchanges(self.items, self.positions):
            b = list(a)
            b[k], b[other] = a[other], a[k]
            lists.append(tuple(b[: self.positions]))
        return lists, {pair for S in lists[1:] for pair in ((R, S), (S, R))}


def drawn_problem(name, data):
    """A problem with few different numbers, so that ties, zeros and ones come up."""
    items = data.draw(st.integers(1, 4))
    positions = data.draw(st.integers(1, items))
    level = st.sampled_from([0.0, 0.1, 0.3, 0.46, 0.7, 0.95, 1.0])
    tables = []
    for axes in (MODELS[name].axes[field] for field in MODELS[name].parameters._fields):
        shape = (1, *(items if axis == "item" else positions for axis in axes))
        tables.append(np.array([data.draw(level) for _ in range(math.prod(shape))]).reshape(shape))
    return MODELS[name].parameters(*tables), positions, data.draw(st.integers(1, positions))


def assert_witnesses(report, oracle):
    """Each witness is what it says: its numbers are those of its lists, and they break the assumption by its gap."""
    for name in broken(report):
        witness = report[name].witness
        left, right = witness.numbers
        R, S = (*witness.lists, *witness.lists)[:2]
        a, b = (R + tuple(sorted(set(range(oracle.items)) - set(R))) for R in (R, S))
        k, *rest = witness.positions or (0,)
        if name in ("A1", "T2"):
            assert witness.positions == ()
            assert (left, right) == pytest.approx((oracle.worth[R], oracle.worth[S]), abs=TINY)
            assert left - right == pytest.approx(report[name].gap)
            assert oracle.optimal(b)
            continue
        assert right - left == pytest.approx(report[name].gap)
        chi = oracle.chi
        if name == "A2":
            assert set(R[:k]) == set(S[:k])
            expected = chi[R][k], chi[S][k]
        elif name == "A3":
            assert len(witness.lists) == 1
            assert k < rest[0]
            expected = chi[R][k], chi[R][rest[0]]
        elif name == "A4":
            (l,) = rest  # noqa: E741
            assert k < l
            assert (R[k], R[l]) == (S[l], S[k])
            assert oracle.alpha[R[k]] <= oracle.alpha[R[l]]
            expected = chi[R][l], chi[S][l]
        elif name == "A5":
            assert oracle.best == S
            expected = chi[R][k], chi[S][k]
        elif name == "T3":
            assert oracle.alpha[a[k]] >= oracle.alpha[b[k]] > 0
            expected = oracle.v(a, k), oracle.alpha[a[k]] / oracle.alpha[b[k]] * oracle.v(b, k)
        else:
            assert name == "T4"
            assert oracle.optimal(b)
            assert oracle.alpha[a[k]] == oracle.alpha[b[k]]
            expected = oracle.v(a, k), oracle.v(b, k)
        assert (left, right) == pytest.approx(expected, abs=TINY)


@pytest.mark.kernels
@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_all_lists_as_the_papers_text_has_it(name, reward, data):
    parameters, positions, cutoff = drawn_problem(name, data)
    report = check(name, parameters, num_positions=positions, cutoff=cutoff, reward=reward)
    oracle = Oracle(name, parameters, positions, cutoff, reward)
    everything = list(oracle.chi)
    expected = oracle.gaps(everything, set(itertools.product(everything, repeat=2)))
    for which in ASSUMPTIONS:
        assert report[which].holds == (expected[which] <= TINY), which
        assert report[which].exact
        if which == "A2":  # ours is the largest over one exchange
            assert report[which].gap <= expected[which] + TINY
        else:
            assert report[which].gap == pytest.approx(expected[which], abs=2e-12), which
    assert_witnesses(report, oracle)


@pytest.mark.kernels
@settings(max_examples=25, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_one_list_and_its_exchanges_as_the_papers_text_has_it(name, reward, data):
    parameters, positions, cutoff = drawn_problem(name, data)
    items = parameters.attraction.shape[1]
    displayed = tuple(data.draw(st.permutations(range(items)))[:positions])
    report = check(name, parameters, num_positions=positions, cutoff=cutoff, reward=reward, displayed=displayed)
    oracle = Oracle(name, parameters, positions, cutoff, reward)
    expected = oracle.gaps(*oracle.around(displayed))
    for which in ASSUMPTIONS:
        assert report[which].holds == (expected[which] <= TINY), which
        assert report[which].gap == pytest.approx(expected[which], abs=2e-12), which
    assert report.lists == 1 + len(exchanges(items, positions))
    assert [which for which in ASSUMPTIONS if report[which].exact] == ["T1"]
    assert_witnesses(report, oracle)


@pytest.mark.kernels
@settings(max_examples=20, deadline=None)
@given(st.data())
@pytest.mark.parametrize(("name", "reward"), CASES)
def test_a_sample_of_many_lists_sees_what_all_lists_show(name, reward, data):
    """60 random lists with their exchanges of at most 24: it finds nothing that is not so, and its A1 is exact."""
    parameters, positions, cutoff = drawn_problem(name, data)
    keywords = {"num_positions": positions, "cutoff": cutoff, "reward": reward}
    exact = check(name, parameters, **keywords)
    sample = check(name, parameters, exact_up_to=0, samples=60, **keywords)
    for which in ASSUMPTIONS:
        assert sample[which].gap <= exact[which].gap + TINY
    assert sample["A1"].exact
    assert sample["A1"].gap == pytest.approx(exact["A1"].gap, abs=TINY)
    if sample["T2"].exact:
        assert sample["T2"].gap == pytest.approx(exact["T2"].gap, abs=TINY)
    assert not any(sample[which].exact for which in ("A2", "A3", "A4", "A5", "T3", "T4"))
    assert_witnesses(sample, Oracle(name, parameters, positions, cutoff, reward))


@pytest.mark.kernels
def test_lists_are_enumerated_in_lexicographic_order():
    for items, positions in ((1, 1), (4, 2), (5, 5), (6, 1)):
        expected = list(itertools.permutations(range(items), positions))
        for start in (0, len(expected) // 2):
            rows = len(expected) - start
            displayed, hidden = np.empty((rows, positions), np.int64), np.empty((rows, items - positions), np.int64)
            fill_lists(start, displayed, hidden)
            assert [tuple(one) for one in displayed.tolist()] == expected[start:]
            for one, behind in zip(displayed.tolist(), hidden.tolist(), strict=True):
                assert behind == sorted(set(range(items)) - set(one))


def test_all_lists_are_more_than_fit_one_step():
    """8! lists are ten steps of the walk."""
    report = check("PBM", {"attraction": np.linspace(0.9, 0.1, 8), "examination": [*np.linspace(1, 0.4, 7), 0.41]})
    assert report.lists == 40_320 > 9 * MAX_ROWS
    assert broken(report) == ["A1", "A3", "T2"]
    assert report["A3"].checked == 40_320 * 28


# -- sampling ---------------------------------------------------------------------------------------------------------


def drawn_user(name, items, positions, seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"item": items, "position": positions, "previous": positions}
    return {field: rng.random(tuple(shapes[axis] for axis in axes)) for field, axes in MODELS[name].axes.items()}


def test_a_sample_without_a_violation_says_so_and_no_more():
    report = check("CM", drawn_user("CM", 12, 12), samples=500)
    assert broken(report) == []
    assert report.lists == 500
    assert {name for name in ASSUMPTIONS if report[name].exact} == {"A1", "T1", "T2"}  # the best list is known
    text = str(report)
    assert "500 random lists out of 479,001,600" in text
    assert "none found: no violation in 500 lists of each query, which is no proof" in text
    assert "none seen broken" in text
    assert "all hold" not in text
    for line in text.splitlines():
        if line.startswith(("A2", "A3", "A4", "A5", "T3", "T4")):
            assert line[2:].split()[:2] == ["none", "found"]


def test_a_sample_finds_what_is_planted():
    """In a PBM every list breaks A3; in a DBN one item of twelve breaks A4 and T3, where it stands above others."""
    planted = {"attraction": np.linspace(0.9, 0.1, 12), "examination": [*np.linspace(1, 0.4, 11), 0.41]}
    report = check("PBM", planted, samples=100)
    assert broken(report) == ["A1", "A3", "T2"]
    assert report["A3"].gap == pytest.approx(0.01)
    assert not report["A3"].exact
    assert report["A3"].witness.positions == (10, 11)
    report = check("DCM", drawn_user("DCM", 12, 12), samples=100)
    assert {"A1", "A2", "A5", "T4"} <= set(broken(report))
    satisfying = {"attraction": np.linspace(0.9, 0.1, 12), "satisfaction": [0.0] * 11 + [1.0], "abandonment": 0.0}
    assert {"A4", "T3"} <= set(broken(check("DBN", satisfying, samples=100)))  # the last item hides more than the rest


def test_a_sample_knows_the_best_list_and_what_that_decides():
    """One random list; what the sorted list loses is exact all the same, where the model finds its best list."""
    user = drawn_user("DCM", 12, 12)
    parameters = MODELS["DCM"].parameters(**{name: table[None] for name, table in user.items()})
    best = MODELS["DCM"].rewards["clicks"].best_lists(parameters, 12, 12)
    in_order = np.argsort(-user["attraction"])[None]
    lost = [MODELS["DCM"].values(parameters, lists, 12, "clicks")[0] for lists in (best, in_order)]
    report = check("DCM", user, samples=1)
    for name in ("A1", "T2"):
        assert report[name].exact
        assert report[name].gap == pytest.approx(lost[0] - lost[1])
        assert report[name].witness.lists[0] == tuple(best[0].tolist())


def test_a_sample_does_not_know_all_sorted_lists_where_equally_attractive_items_differ():
    user = drawn_user("DBN", 12, 12)
    assert check("DBN", user, samples=1)["T2"].exact
    least, next_to_least = np.argsort(user["attraction"])[:2]
    user["attraction"][next_to_least] = user["attraction"][least]
    assert not check("DBN", user, samples=1)["T2"].exact
    assert check("DBN", user, samples=1)["A1"].exact
    assert not check("DBN", user, num_positions=11, samples=1)["T2"].exact  # which of them is hidden?
    assert check("DBN", user, num_positions=10, samples=1)["T2"].exact
    tied = {"attraction": [0.5] * 12, "satisfaction": [0.3] * 6 + [0.9] * 6, "abandonment": 0.0}
    report = check("DBN", tied, samples=1)  # R* = 0 1 2 ... is the best list; other sorted lists are among the ties
    assert report.holds("A1")
    assert not report.holds("T2")
    tied["attraction"] = [0.5] * 8 + [0.2] * 4  # no random list is sorted
    near = check("DBN", tied, displayed=range(12))
    assert near["T2"].gap < check("DBN", tied, samples=1)["T2"].gap  # more than one exchange away


def own_model(examine):
    """A PBM but for what its users examine; so the reward is not called clicks."""
    return ClickModel("own", pbm.Parameters, MODELS["PBM"].axes, examine, {"paid": MODELS["PBM"].rewards["clicks"]})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (trust_bias.MODEL, "model 'Trust': its clicks do not have the probability .* that of its function clicks"),
        (trust_bias.UNSAID, "model 'Trust': .* they add up to .*, and value is .*; allowed: models where they do"),
    ],
)
def test_a_model_whose_clicks_are_not_made_of_chi_and_alpha_is_refused(model, message):
    users = {"attraction": [0.9, 0.5, 0.1], "examination": [0.9, 0.5], "trust": [0.3, 0.1]}
    with pytest.raises(ValueError, match=message):
        check(model, users)


FALLING = {"attraction": ALPHA, "examination": [1.0, 0.6, 0.5, 0.4]}


def test_a_click_model_of_ones_own():
    """Below item 3 position 2 is examined half as much. It hides more than it should, and so breaks A4 and T3, and more
    than the sorted list's items: A5, T4. And position 3 is examined more than position 2: A3."""

    def examine(attraction, examination, displayed, examined):
        examined[:] = examination
        examined[displayed[:, 0] == 3, 1] *= 0.5

    report = check(own_model(examine), FALLING, num_positions=4, reward="paid")
    assert report.model == "own"
    assert broken(report) == ["A3", "A4", "A5", "T3", "T4"]
    assert report["A3"].gap == pytest.approx(0.5 - 0.3)
    assert report["A4"].gap == pytest.approx(0.3)
    assert report["T3"].gap == pytest.approx(0.9 * 0.3)  # item 0 below item 3, or item 3 below item 0


@pytest.mark.parametrize(
    ("item", "positions", "expected"),
    [(0, 1, ["A2", "A5"]), (0, 4, ["A2", "A3", "A5"]), (4, 1, ["A2", "T3"]), (4, 4, ["A2", "A3", "A4", "T3"])],
)
def test_an_item_that_is_seen_wherever_it_stands(item, positions, expected):
    """A2 forbids that, for k = 1 as well, and A3. T3 wants the better of two items to be seen at least as well at a
    position: it allows the best item, displayed or hidden, and not the worst. The best one is in R* (A5)."""

    def examine(attraction, examination, displayed, examined):
        examined[:] = np.where(displayed == item, 1.0, 0.4)

    assert broken(check(own_model(examine), FALLING, num_positions=positions, reward="paid")) == expected


def test_a_sample_looks_around_the_sorted_list():
    """Of 12! lists one is examined otherwise: R*. Random lists do not have it, but exchanges of R* are compared."""

    def examine(attraction, examination, displayed, examined):
        examined[:] = 0.5
        examined[(displayed == np.arange(12)).all(axis=1), 11] = 0.4

    users = {"attraction": np.linspace(0.9, 0.1, 12), "examination": np.ones(12)}
    report = check(own_model(examine), users, samples=10, reward="paid")
    assert "A2" in broken(report)
    assert report["A2"].witness.lists[0] == tuple(range(12))


def test_exchanges_are_drawn_where_there_are_many():
    """Of 12 items at 10 positions there are 65 exchanges. 64 x 4,000 draws miss one of them with probability below
    65 (1 - 1 / 110)^256000 < 1e-900: the least probable ones, with hidden items, have 1 in 10 x 11."""
    pairs = exchanges(12, 10)
    assert len(pairs) == 65 == MAX_EXCHANGES + 1
    parameters = MODELS["CM"].parameters(np.full((1, 12), 0.5))
    search = QuerySearch(MODELS["CM"], parameters, 10, 10, "clicks")
    drawn = list(search._drawn_exchanges(4000, np.random.default_rng(0)))
    assert len(drawn) == 64
    assert {pair for one in drawn for pair in zip(*map(np.ndarray.tolist, one), strict=True)} == set(pairs)


def test_long_lists():
    """50 places of 60 items have 1,725 exchanges, of which each list tries 64."""
    report = check("UBM", drawn_user("UBM", 60, 50), num_positions=50, samples=10)
    assert set(broken(report)) >= {"A2", "A3", "A4", "A5", "T3", "T4"}
    assert not report["A1"].exact  # too many positions for the search of the best list


def test_the_same_seed_gives_the_same_report():
    user = drawn_user("UBM", 11, 11)
    reports = [check("UBM", user, samples=50, seed=seed) for seed in (1, 1, 2)]
    assert str(reports[0]) == str(reports[1]) != str(reports[2])


# -- queries, lists, tolerance ----------------------------------------------------------------------------------------


def test_a_querys_verdict_does_not_depend_on_the_others():
    users = [drawn_user("DBN", 5, 3, seed) for seed in range(4)]
    users[2] |= {"satisfaction": np.full(5, 0.3), "abandonment": np.float64(0.1)}
    together = {field: np.array([user[field] for user in users]) for field in users[0]}
    for keywords in ({}, {"exact_up_to": 0, "samples": 20}, {"displayed": [3, 0, 1]}):
        report = check("DBN", together, num_positions=3, **keywords)
        for query, user in enumerate(users):
            alone = check("DBN", user, num_positions=3, **keywords)
            for name in ASSUMPTIONS:
                assert alone[name].gap == report[name].gaps[query]
                assert alone.holds(name) == report[name].holds_in[query]
        for name in broken(report):
            worst = report[name].gaps.argmax()
            assert report[name].witness.query == worst
            assert (
                report[name].witness.numbers
                == check("DBN", users[worst], num_positions=3, **keywords)[name].witness.numbers
            )
        assert report["T3"].holds_in[2]  # one satisfaction for all items
    assert f"query {report['A5'].witness.query}: position" in str(report)
    report = check("DBN", together, num_positions=3)
    assert 0 < report["T3"].holds_in.sum() < 4
    assert f"T3  in {report['T3'].holds_in.sum()} of 4" in str(report)


def test_a_list_for_each_query():
    """UBM: positions are examined less below item 0 in query 0, below item 1 in query 1."""
    users = {"attraction": [[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]], "examination": [[1.0, 1.0], [1.0, 0.0]]}
    report = check("UBM", users, num_positions=2, displayed=[[0, 2], [1, 2]])
    assert report["A5"].gaps == pytest.approx([0.8, 0.8])
    assert report.scope == "the given list of each query and its 3 exchanges"


def test_a_list_can_be_better_than_a_sorted_one_that_is_far_away():
    """No exchange of 2 0 1 is 0 1 2."""
    user = {"attraction": [1.0, 0.9, 0.8], "termination": [1.0, 0.0, 0.0]}
    report = check("DCM", user, displayed=[2, 0, 1])
    assert report["A1"].gap == report["T2"].gap == pytest.approx(0.18)


def test_a_list_can_be_good_where_others_are_bad():
    """DCM: chi(R, 3) depends on the order of an item of .9 and another one above, in lists of the last item alone."""
    user = {"attraction": [0.1] * 6 + [0.9], "termination": [0.5, 0.2, 0.2]}
    assert not check("DCM", user, num_positions=3).holds("A2")
    assert check("DCM", user, num_positions=3, displayed=[0, 1, 2]).holds("A2")
    assert not check("DCM", user, num_positions=3, displayed=[0, 6, 2]).holds("A2")


def test_around_a_list_nothing_is_said_to_hold():
    """The same DCM: A2 is broken, but not around 0 1 2; what does not depend on lists (T1) holds."""
    user = {"attraction": [0.1] * 6 + [0.9], "termination": [0.5, 0.2, 0.2]}
    report = check("DCM", user, num_positions=3, displayed=[0, 1, 2])
    assert report.around
    text = str(report)
    assert "Checked: the given list and its 15 exchanges." in text
    assert "Assumption 1: A1 broken" in text
    rows = {line[:2]: line[2:].split()[:2] for line in text.splitlines() if line[:2] in ASSUMPTIONS}
    assert [name for name, said in rows.items() if said == ["none", "found"]] == ["A2", "A3", "A4", "A5", "T3", "T4"]
    assert [name for name, said in rows.items() if said[0] == "yes"] == ["T1"]
    assert text.endswith("none found: no violation in the given list and its 15 exchanges; other lists may violate it.")
    assert "no proof" not in text
    whole = str(check("CM", {"attraction": [ALPHA, ALPHA]}, num_positions=2, displayed=[[0, 1], [1, 0]]))
    assert whole.count(": none broken around the given list\n") == 2
    assert "all hold" not in whole
    assert not check("DCM", user, num_positions=3).around


@pytest.mark.parametrize(
    ("attraction", "keywords", "scope"),
    [
        ([0.5], {}, "CM, 1 item at 1 position, 1 query; reward: clicks in the first 1. Checked: the only list."),
        ([0.5, 0.4], {}, "CM, 2 items at 2 positions, 1 query; reward: clicks in the first 2. Checked: all 2 lists."),
        ([ALPHA] * 3, {"num_positions": 1}, "1 position, 3 queries; .* Checked: all 5 lists of each query."),
        ([ALPHA] * 2, {"exact_up_to": 0, "samples": 30}, "Checked: 30 random lists of each query out of 120."),
        (ALPHA, {"exact_up_to": 0, "samples": 1}, "Checked: 1 random list out of 120."),
        ([0.5, 0.4], {"displayed": [1, 0]}, "Checked: the given list and its 1 exchange."),
    ],
)
def test_the_checked_lists_are_named(attraction, keywords, scope):
    report = check("CM", {"attraction": attraction}, **keywords)
    assert re.search(scope, report.headline())
    if "samples" in keywords:
        lists = "1 list" if keywords["samples"] == 1 else "30 lists"
        assert f"none found: no violation in {lists} of each query, which is no proof." in str(report)


def test_rounding_is_tolerated():
    nearly = {"attraction": ALPHA[:3], "examination": [0.5, 0.4, 0.4 + 1e-13]}
    assert broken(check("PBM", nearly)) == []
    assert "A3" in broken(check("PBM", nearly, tolerance=0.0))
    assert broken(check("PBM", {**nearly, "examination": [0.5, 0.4, 0.5]}, tolerance=0.2)) == []


def test_more_positions_than_asked_for_are_cut():
    """Also of the UBM, whose last column stands for no click yet."""
    rng = np.random.default_rng(3)
    table, attraction = rng.random((6, 6)), rng.random(6)
    cut = table[:3][:, [0, 1, 5]]
    whole = check("UBM", {"attraction": attraction, "examination": table}, num_positions=3)
    assert str(whole) == str(check("UBM", {"attraction": attraction, "examination": cut}, num_positions=3))


def test_all_positions_of_the_parameters_unless_told():
    assert check("PBM", INCREASING).num_positions == 4
    assert check("UBM", {"attraction": ALPHA, "examination": np.ones((2, 2))}).num_positions == 2
    assert check("PBM", {"attraction": ALPHA, "examination": np.ones(7)}).num_positions == 5
    assert check("CM", {"attraction": ALPHA}).num_positions == 5


def test_how_many_lists_are_all():
    two = {"attraction": np.array([ALPHA[:4], ALPHA[1:]])}
    assert check("CM", two, exact_up_to=48)["A2"].exact
    assert not check("CM", two, exact_up_to=47, samples=5)["A2"].exact


def test_the_report_is_a_table():
    text = str(check("PBM", INCREASING, num_positions=4))
    assert text.startswith(
        "PBM, 5 items at 4 positions, 1 query; reward: clicks in the first 4. Checked: all 120 lists."
    )
    assert "BubbleRank (Li et al., UAI 2019), Assumption 1: A1, A3 broken" in text
    assert "TopRank (Lattimore et al., NeurIPS 2018), Assumptions 1-4: T2 broken" in text
    lines = text.splitlines()
    for name, (says, _) in ASSUMPTIONS.items():
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        assert line.endswith(says)
        assert line.split()[1] == ("no" if name in ("A1", "A3", "T2") else "yes")
    assert "0.01 " in next(line for line in lines if line.startswith("A1"))
    assert "1: all hold" in str(check("CM", {"attraction": ALPHA}))
    assert [name for _, names in PAPERS.values() for name in names] == list(ASSUMPTIONS)


def test_close_numbers_are_told_apart():
    text = check("PBM", {"attraction": [0.5, 0.4], "examination": [0.25, 0.25 + 1e-9]})["A3"].witness.text
    assert "probability 0.25, position 2 with 0.250000001" in text


def test_a_bar_is_shown_where_it_takes_long(monkeypatch):
    shown = []

    class Bar:
        task_ids = (0,)
        console = Console(force_interactive=True)

        def __getattr__(self, what):
            return lambda *arguments, **keywords: shown.append((what, keywords))

    monkeypatch.setattr(checking, "count_bar", lambda unit: Bar())
    check_assumptions("CM", {"attraction": ALPHA})
    assert shown == []
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    check_assumptions("CM", {"attraction": ALPHA}, progress=False)
    assert shown == []
    check_assumptions("CM", {"attraction": [ALPHA, ALPHA]})
    assert [what for what, _ in shown] == ["add_task", "start", "update", "update", "stop"]
    assert shown[0][1] == {"total": 240}
    assert [keywords["completed"] for what, keywords in shown if what == "update"] == [120, 240]


def test_nothing_is_left_of_a_bar_where_standard_error_is_a_file():
    script = (
        "from rankgym import progress\n"
        "from rankgym.models.assumptions import check_assumptions, checking\n"
        "progress.PATIENCE = 0.0\n"
        "checking.count_bar = lambda unit, make=checking.count_bar: made.append(unit) or make(unit)\n"
        "made = []\n"
        f"check_assumptions('CM', {{'attraction': {ALPHA}}})\n"
        "assert made == ['lists']\n"
    )
    path = os.pathsep.join(str(ROOT / folder) for folder in ("", "agents"))
    environment = {**os.environ, "PYTHONPATH": path}
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):  # rich would take the file for a terminal
        environment.pop(name, None)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_example_in_the_docstring_runs():
    (example,) = doctest.DocTestFinder(recurse=False).find(check_assumptions, "check_assumptions", globs={})
    assert len(example.examples) == 8
    said = []
    result = doctest.DocTestRunner().run(example, out=said.append)
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("name", ["PBM-Yandex-v0", "DBN-Yandex-Breakpoint-v0"])
def test_the_parameters_of_an_environment(name):
    """As the docstring says, of ``gym.make_vec`` and of ``gym.make``."""
    many = gym.make_vec(f"rankgym/{name}", num_envs=2, num_positions=3).unwrapped
    single = gym.make(f"rankgym/{name}", num_positions=3).unwrapped.engine
    reports = [
        check(env.model, env.queries.parameters, num_positions=env.num_positions, cutoff=env.cutoff)
        for env in (many, single)
    ]
    assert str(reports[0]) == str(reports[1])
    assert reports[0].num_queries == 100
    assert reports[0].model == name[:3]


# -- the door ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"model": "XM"},
            "model = 'XM' is unknown; .*allowed: 'CM', 'PBM', .*, or one of your own as package.module:MODEL",
        ),
        (
            {"parameters": [0.5]},
            r"parameters = \[0\.5\]; allowed: the PBM's Parameters, or a dict of \['attraction', 'ex",
        ),
        ({"model": ["PBM"]}, r"model = \['PBM'\] is unknown; allowed: 'CM', 'PBM', .*, or one of your own as"),
        (
            {"parameters": {"attraction": ALPHA}},
            r"parameters: 'examination' is missing; allowed: the PBM's Parameters, or a dict of \['attraction', 'ex",
        ),
        (
            {"parameters": {"attraction": ALPHA, "examinatoin": [1.0]}},
            r"parameters: 'examinatoin' is unknown, 'examination' is missing; allowed: the PBM's Parameters, or",
        ),
        ({"parameters": {**INCREASING, 3: [1.0]}}, r"parameters: 3 is unknown; allowed: the PBM's Parameters, or"),
        (
            {"parameters": MODELS["CM"].parameters(np.array([ALPHA]))},
            r"parameters: 'examination' is missing; allowed: the PBM's Parameters",
        ),
        (
            {"parameters": {**INCREASING, "examination": [1.0, 0.5, 1.3, 0.1]}},
            r"parameters\['examination'\]\[2\] = 1\.3 is not a probability; allowed range \[0, 1\]",
        ),
        (
            {"parameters": {"attraction": [ALPHA] * 3, "examination": [[1.0] * 4] * 2}},
            r"parameters\['examination'\] has 2 queries; allowed: 3, or one for all",
        ),
        (
            {"parameters": {"attraction": ALPHA, "examination": 0.5}, "num_positions": 2},
            r"parameters\['examination'\] has 1 entry; allowed: at least 2",
        ),
        (
            {"model": "UBM", "parameters": {"attraction": ALPHA, "examination": [0.5]}},
            r"parameters\['examination'\] has shape \(1,\); allowed: 2 to 3 dimensions",
        ),
        (
            {"parameters": {"attraction": [[0.5, 0.2], [0.5]], "examination": [1.0]}},
            r"parameters\['attraction'\] = .* is not an array of numbers",
        ),
        (
            {"model": "DBN", "parameters": {"attraction": ALPHA, "satisfaction": [0.5], "abandonment": 0.1}},
            r"parameters\['satisfaction'\] has 1 items; allowed: 5, as attraction has",
        ),
        ({"num_positions": 6}, r"num_positions = 6 is out of range; allowed: a whole number in 1 \.\. 5"),
        ({"num_positions": 5}, r"parameters\['examination'\] has 4 entries; allowed: at least 5"),
        ({"cutoff": 5}, r"cutoff = 5 is out of range; allowed: a whole number in 1 \.\. 4"),
        ({"reward": "abandonment"}, r"reward = 'abandonment' is not a reward of the PBM; allowed: \['clicks'\]"),
        ({"exact_up_to": -1}, r"exact_up_to = -1 is out of range; allowed: a whole number, at least 0"),
        ({"samples": 0}, r"samples = 0 is out of range; allowed: a whole number, at least 1"),
        ({"seed": -1}, r"seed = -1 is out of range; allowed: a whole number, at least 0"),
        ({"tolerance": -1.0}, r"tolerance = -1\.0 is out of range; allowed: a number in \[0, inf\)"),
        ({"tolerance": "1"}, r"tolerance = '1' is out of range; allowed: a number in \[0, inf\)"),
        ({"tolerance": math.nan}, r"tolerance = nan is out of range; allowed: a number in \[0, inf\)"),
        (
            {"displayed": [0, 1, 2]},
            r"displayed = \[0, 1, 2\] has a wrong shape or type; allowed: 4 different items out of 0 \.\. 4$",
        ),
        (
            {"displayed": [0, 1], "num_positions": 1, "cutoff": None},
            r"displayed = \[0, 1\] has a wrong shape or type; allowed: 1 item out of 0 \.\. 4$",
        ),
        (
            {"displayed": [0, 1, 2], "parameters": {**INCREASING, "attraction": [ALPHA] * 3}},
            r"displayed = \[0, 1, 2\] has a wrong shape or type; allowed: 4 .* or 3 such lists, one for each query$",
        ),
        ({"displayed": [[0, 1], [2]]}, r"displayed = .* has a wrong shape or type; allowed: 4 different"),
        ({"displayed": [0.0, 1.0, 2.0, 3.0]}, r"displayed = .* has a wrong shape or type; allowed: 4 different"),
        ({"displayed": [0, 1, 2, 2]}, r"displayed = \[0, 1, 2, 2\] is not a ranking; allowed: 4 different items"),
        ({"displayed": [0, 1, 2, 5]}, r"displayed = \[0, 1, 2, 5\] is not a ranking; allowed: 4 different items"),
    ],
)
def test_what_is_out_of_range_is_named(keywords, message):
    arguments = {"model": "PBM", "parameters": INCREASING, "num_positions": 4, **keywords}
    with pytest.raises(ValueError, match=message):
        check(**arguments)


def test_unknown_names_of_a_report():
    report = check("CM", {"attraction": ALPHA})
    with pytest.raises(
        ValueError, match=r"name = 'A6' is not an assumption; allowed: \['A1', .*'bubblerank', 'toprank'\]"
    ):
        report.holds("A6")
    with pytest.raises(ValueError, match=r"name = 'toprank' is not an assumption; allowed: \['A1'"):
        report["toprank"]


# -- the published queries --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reward", "holding"),
    [
        ("CM", "clicks", [60, 60, 60, 60, 60, 60, 60, 60, 60]),
        ("PBM", "clicks", [60, 60, 60, 60, 60, 60, 60, 60, 60]),
        ("DBM", "clicks", [60, 60, 60, 60, 60, 60, 60, 60, 60]),
        ("DCM", "clicks", [0, 0, 60, 60, 0, 60, 0, 60, 0]),
        ("DCM", "abandonment", [0, 0, 60, 60, 0, 60, 0, 60, 0]),
        ("DBN", "clicks", [0, 60, 60, 3, 13, 60, 0, 3, 22]),
        ("UBM", "clicks", [8, 0, 32, 0, 0, 60, 8, 0, 0]),
        ("CCM", "clicks", [0, 60, 60, 60, 60, 60, 0, 60, 60]),
    ],
)
def test_in_how_many_published_queries_each_assumption_holds_at_five_positions(published, name, reward, holding):
    report = check(name, published(name), num_positions=5, reward=reward)
    assert [int(verdict.holds_in.sum()) for verdict in report.verdicts.values()] == holding
    assert all(verdict.exact for verdict in report.verdicts.values())


def test_the_last_two_positions_of_the_published_pbm_break_a3(published):
    """chi(10) > chi(9): with ten positions A1, A3 and T2 are broken in every query, with five none (above)."""
    report = check("PBM", published("PBM"), samples=50)
    for name in ("A1", "A3", "T2"):
        assert not report[name].holds_in.any()
    assert broken(report) == ["A1", "A3", "T2"]
    assert report["A3"].witness.positions == (8, 9)
    assert report["A3"].witness.numbers == pytest.approx((0.2621, 0.2670), abs=1e-4)
    nine = check("PBM", published("PBM"), num_positions=9, samples=50)
    assert broken(nine) == []
