"""Interleaving: kernels beside plain Python, the laws of the lists, the papers' properties, and the doors."""

import itertools
import math
import re

import numpy as np
import plain_interleavings as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.interleaving import INTERLEAVINGS, Lists, compare, copy_rankings, decide, make
from rankgym.interleaving.probabilistic import tails
from rankgym.kernels import ENVIRONMENT, row_keys

COINS = {  # method, keywords: how the list is made, how clicks are credited
    ("balanced", ()): (plain.balanced, plain.balanced_credit),
    ("team-draft", ()): (plain.team_draft, plain.positional_credit),
    ("document-constraints", ()): (plain.balanced, plain.constraints_credit),
    ("probabilistic", ()): (plain.probabilistic, plain.marginal_credit),
    ("probabilistic", (("credit", "expected"),)): (plain.probabilistic, plain.positional_credit),
    ("probabilistic", (("tau", 0.5), ("credit", "assigned"))): (
        lambda left, right, length, coins: plain.probabilistic(left, right, length, coins, 0.5, True),
        plain.positional_credit,
    ),
}
IDS = [f"{name}-{dict(knobs)}" if knobs else name for name, knobs in COINS]
LAWS = {
    "balanced": lambda *duel: plain.law_of(plain.balanced, *duel),
    "document-constraints": lambda *duel: plain.law_of(plain.balanced, *duel),
    "team-draft": lambda *duel: plain.law_of(plain.team_draft, *duel),
    "probabilistic": plain.probabilistic_law,
}
CREDITS = {name: credit for (name, knobs), (_, credit) in COINS.items() if not knobs}
FOUR = list(itertools.permutations(range(4)))


def rows_of(lists):
    """Lists of documents without the -1 behind their ends."""
    return [tuple(d for d in row if d >= 0) for row in lists.tolist()]


def play(method, left, right, length, rows, session=None, size=None):
    """Interleave in ``rows`` rows by the kernels; ``left`` and ``right`` may be one list for all."""
    left, right = np.atleast_2d(left), np.atleast_2d(right)
    documents = int(max(left.max(), right.max())) + 1
    lists = Lists.of(np.concatenate([left, right]).astype(np.int64), documents)
    first, second = np.arange(rows) % len(left), np.arange(rows) % len(right) + len(left)
    key = row_keys([7], ENVIRONMENT).repeat(rows)
    session = np.arange(rows) if session is None else session
    displayed, share = np.empty((rows, length), np.int64), np.empty((rows, length))
    method.interleave(lists, first, second, key, session, displayed, share)
    return lists, first, second, key, session, displayed, share


def tops(rng, rows, documents, size):
    return np.argsort(rng.random((rows, documents)), axis=1)[:, :size]


@pytest.mark.kernels
@pytest.mark.parametrize(("documents", "size", "length"), [(4, 4, 4), (9, 5, 3), (12, 6, 10), (3, 1, 1)])
@pytest.mark.parametrize("case", COINS, ids=IDS)
def test_lists_and_credit_are_those_of_plain_python(case, documents, size, length):
    """Rankings with the same, with other and with too few documents; the same coins."""
    name, knobs = case
    interleave, credit = COINS[case]
    rng = np.random.default_rng([documents, size])
    rows, method = 40, make(name, dict(knobs))
    left, right = tops(rng, rows, documents, size), tops(rng, rows, documents, size)
    right[: rows // 4] = left[: rows // 4]
    lists, first, second, key, session, displayed, share = play(method, left, right, length, rows)
    clicks = (rng.random((rows, length)) < 0.4) & (displayed >= 0)
    got = np.empty((rows, 2))
    method.credit(lists, first, second, displayed, share, clicks.astype(np.int8), got)
    for row in range(rows):
        mine, other = left[row].tolist(), right[row].tolist()
        shown, expected_share = interleave(mine, other, length, plain.Coins(key[row], session[row]))
        assert tuple(displayed[row, : len(shown)]) == shown
        assert (displayed[row, len(shown) :] == -1).all()
        assert share[row, : len(shown)] == pytest.approx(expected_share, abs=1e-12)
        assert (share[row, len(shown) :] == 0).all()
        clicked = np.flatnonzero(clicks[row]).tolist()
        assert got[row] == pytest.approx(credit(mine, other, shown, expected_share, clicked), abs=1e-12)


@pytest.mark.kernels
def test_rankings_of_several_queries_lie_one_behind_the_other():
    """Two sets of documents of different sizes: as each alone."""
    rng = np.random.default_rng(0)
    one, two = tops(rng, 2, 5, 5), tops(rng, 2, 9, 9)
    alone = [Lists.of(one, 5), Lists.of(two, 9)]
    together = Lists(
        np.concatenate([a.order for a in alone]),
        np.concatenate([a.rank for a in alone]),
        np.concatenate([alone[0].start, alone[1].start + 10]),
        np.concatenate([a.size for a in alone]),
    )
    key, session = row_keys([1, 1], ENVIRONMENT), np.array([0, 0])
    for name in set(INTERLEAVINGS) - {"optimized"}:
        method, displayed, share = make(name), np.empty((2, 7), np.int64), np.empty((2, 7))
        method.interleave(together, np.array([0, 2]), np.array([1, 3]), key, session, displayed, share)
        for row, lists in enumerate(alone):
            by_itself, shares = np.empty((1, 7), np.int64), np.empty((1, 7))
            make(name).interleave(lists, np.array([0]), np.array([1]), key[:1], session[:1], by_itself, shares)
            assert (by_itself[0] == displayed[row]).all()
            assert shares[0] == pytest.approx(share[row], abs=1e-12)


@pytest.mark.kernels
@pytest.mark.parametrize("name", sorted(set(INTERLEAVINGS) - {"optimized"}))
def test_a_method_takes_longer_and_shorter_rankings_after_others(name):
    """What it remembers of the first ones does not show."""
    method = make(name)
    for documents in (2, 30, 5):
        ranking = np.arange(documents)
        used, fresh = (play(m, ranking, ranking[::-1], 5, 20) for m in (method, make(name)))
        assert (used[-2] == fresh[-2]).all()
        assert used[-1] == pytest.approx(fresh[-1], abs=1e-12)


@pytest.mark.kernels
def test_copied_rankings_replace_those_before():
    rng = np.random.default_rng(3)
    lists = Lists.empty(4, 8, 3)
    for _ in range(3):
        rankings = tops(rng, 2, 8, 3)
        copy_rankings(rankings, 2, lists)
        fresh = Lists.of(rankings, 8)
        assert (lists.order[16:] == fresh.order).all()
        assert (lists.rank[16:] == fresh.rank).all()
    assert (lists.order[:16] == -1).all()


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    ("left", "right", "length"), [((0, 1, 2, 3), (2, 0, 3, 1), 4), ((0, 1, 2), (3, 0, 4), 3), ((0, 1, 2), (0, 1, 2), 2)]
)
def test_lists_have_their_exact_law(name, left, right, length):
    """100,000 lists; each frequency within 6 standard errors (and 1e-9 for p = 1): error below 1e-6 for all cases."""
    rows = 100_000
    *_, displayed, _ = play(make(name), left, right, length, rows)
    found = {}
    for shown, count in zip(*np.unique(displayed, axis=0, return_counts=True), strict=True):
        found[tuple(shown)] = count / rows
    law = {}
    for p, shown, _ in LAWS[name](left, right, length):
        law[shown] = law.get(shown, 0) + p
    assert set(found) <= set(law)
    assert sum(law.values()) == pytest.approx(1)
    for shown, p in law.items():
        assert found.get(shown, 0) == pytest.approx(p, abs=6 * math.sqrt(p * (1 - p) / rows) + 1e-4 * (p < 1e-3) + 1e-9)


@pytest.mark.parametrize("length", [40, 1])
@pytest.mark.parametrize("tau", [0.0, 3.0, 20.0])
def test_a_softmax_over_many_ranks_draws_by_its_law(tau, length):
    """The first document of 40: its mean rank is within 6 standard errors. No list repeats a document."""
    rows, n = 50_000, 40
    weight = np.arange(1.0, n + 1) ** -tau
    p = weight / weight.sum()
    method = make("probabilistic", {"tau": tau})
    *_, displayed, share = play(method, np.arange(n), np.arange(n), length, rows)
    ranks = displayed[:, 0]
    spread = math.sqrt((p * np.arange(n) ** 2).sum() - (p @ np.arange(n)) ** 2)
    assert ranks.mean() == pytest.approx(p @ np.arange(n), abs=6 * spread / math.sqrt(rows) + 1e-4)
    assert (np.sort(displayed, axis=1)[:, 1:] != np.sort(displayed, axis=1)[:, :-1]).all()
    assert (share == 0.5).all()  # to the last bit, so that credit is equal and a coin decides


def test_the_softmax_of_four_ranks_is_the_papers():
    """Hofmann et al. (2011), figure 2: .85, .10, .03, .02 (as printed, rounded to a sum of 1)."""
    tail = tails(3.0, 4)
    assert -np.diff(tail) / tail[0] == pytest.approx([0.85, 0.10, 0.03, 0.02], abs=0.007)


# -- fidelity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INTERLEAVINGS)
def test_identical_rankers_tie(name):
    """40,000 winners, within 5 standard errors of one half (6e-7).

    Credit is equal whatever is clicked, and a coin decides; but for the draft's teams, which are made by coins.
    """
    rows, rng = 40_000, np.random.default_rng(5)
    method = make(name)
    lists, first, second, key, session, displayed, share = play(method, np.arange(6), np.arange(6), 5, rows)
    clicks = (rng.random((rows, 5)) < 0.5).astype(np.int8)
    credit, winner = np.empty((rows, 2)), np.empty(rows, np.int64)
    method.credit(lists, first, second, displayed, share, clicks, credit)
    if name != "team-draft":
        assert (credit[:, 0] == credit[:, 1]).all()
    decide(credit, key, session, winner)
    assert winner.mean() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(rows))
    if name != "probabilistic":
        assert (displayed == np.arange(5)).all()


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("click", [0.3, 0.9])
def test_who_clicks_at_random_prefers_neither(length, click):
    """Team draft and probabilistic: exactly, for all rankings of four documents. The draft's winner is fair."""
    for right in FOUR:
        for law, credit in (
            (plain.probabilistic_law, plain.marginal_credit),
            (plain.probabilistic_law, plain.positional_credit),
            (LAWS["team-draft"], plain.positional_credit),
        ):
            duel = FOUR[0], right
            difference, advantage = plain.expected(
                law(*duel, length), credit, *duel, lambda s: plain.random_clicker(len(s), click)
            )
            assert difference == pytest.approx(0, abs=1e-12)
            if law is not plain.probabilistic_law:
                assert advantage == pytest.approx(0, abs=1e-12)


def test_who_has_more_marginalized_credit_is_no_fair_coin():
    """The mean difference is 0, its sign is not: (0, 2, 3, 1) has more credit less often. Assigned credit is fair."""
    duel, found = ((0, 1, 2, 3), (0, 2, 3, 1)), {"assigned": 0.0}
    for name, credit in (("marginalized", plain.marginal_credit), ("expected", plain.positional_credit)):
        difference, found[name] = plain.expected(
            plain.probabilistic_law(*duel, 4), credit, *duel, lambda s: plain.random_clicker(4, 0.3)
        )
        assert difference == pytest.approx(0, abs=1e-12)
        assert found[name] == pytest.approx(-0.0736, abs=1e-4)
    rows, rng = 200_000, np.random.default_rng(1)
    clicks = (rng.random((rows, 4)) < 0.3).astype(np.int8)
    for credit, expected in found.items():  # within 6 standard errors
        method = make("probabilistic", {"credit": credit})
        lists, first, second, _, _, displayed, share = play(method, *duel, 4, rows)
        got = np.empty((rows, 2))
        method.credit(lists, first, second, displayed, share, clicks, got)
        sign = np.sign(np.round(got[:, 0] - got[:, 1], 9))
        assert sign.mean() == pytest.approx(expected, abs=6 / math.sqrt(rows))


@pytest.mark.kernels
def test_marginalized_credit_is_the_probability_of_more_clicks():
    """By hand: of shares 1, .26, .26 left has all with .26^2, two with 2 * .26 * .74, one, which loses, else."""
    share, shown = np.array([[0.9, 1.0, 0.26, 0.26]] * 4), np.array([[0, 1, 2, 3]] * 4)
    clicks = np.array([[0, 1, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.int8)
    lists, row, credit = Lists.of(np.array([[0, 1, 2, 3]] * 2), 4), np.zeros(4, np.int64), np.empty((4, 2))
    make("probabilistic").credit(lists, row, row + 1, shown, share, clicks, credit)
    more = 1 - 0.74**2
    assert credit.ravel() == pytest.approx([more, 1 - more, 0.26, 0, 0, 0, 0.9, 0.1])
    make("probabilistic", {"credit": "expected"}).credit(lists, row, row + 1, shown, share, clicks, credit)
    assert credit.ravel() == pytest.approx([1.52, 1.48, 1.26, 0.74, 0, 0, 0.9, 0.1])


@pytest.mark.parametrize("name", ["balanced", "document-constraints"])
def test_balanced_lists_are_biased_for_who_clicks_at_random(name):
    """Radlinski et al. (2008): (b, c, a) is preferred to (a, b, c)."""
    duel = (0, 1, 2), (1, 2, 0)
    difference, advantage = plain.expected(
        LAWS[name](*duel, 3), CREDITS[name], *duel, lambda s: plain.random_clicker(3, 0.3)
    )
    assert difference < -0.05
    assert advantage < -0.05


def relevant_clicks(relevant):
    """A user who clicks the relevant documents, and those alone."""
    return lambda displayed: [(1.0, [k for k, d in enumerate(displayed) if d in relevant])]


def dominated():
    """(better, worse, relevant): the relevant documents stand nowhere lower and somewhere higher."""
    for worse in FOUR:
        for size in (1, 2, 3):
            for relevant in itertools.combinations(range(4), size):
                places = [(FOUR[0].index(d), worse.index(d)) for d in relevant]
                if all(a <= b for a, b in places) and any(a < b for a, b in places):
                    yield FOUR[0], worse, relevant


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_ranker_that_is_dominated_loses_in_expectation(length):
    """Probabilistic: always, wherever a relevant document is in reach. The others never win it, but may tie."""
    tied = dict.fromkeys(LAWS, 0)
    for better, worse, relevant in dominated():
        for name, law in LAWS.items():
            difference, _ = plain.expected(
                law(better, worse, length), CREDITS[name], better, worse, relevant_clicks(relevant)
            )
            assert difference > -1e-12
            tied[name] += difference < 1e-12
    assert tied["probabilistic"] == 0
    assert tied["team-draft"] > 0


def test_team_draft_is_blind_to_some_improvements():
    """Hofmann et al. (2011), section 3: only c is relevant, and (a, b, c, d) ties with (b, c, d, a)."""
    duel = (0, 1, 2, 3), (1, 2, 3, 0)
    for name, blind in (("team-draft", True), ("probabilistic", False)):
        difference, advantage = plain.expected(LAWS[name](*duel, 4), CREDITS[name], *duel, relevant_clicks([2]))
        assert (abs(difference) < 1e-12) == blind
        assert (abs(advantage) < 1e-12) == blind


def test_document_constraints_may_miss_a_better_ranking():
    duel = (0, 1, 2, 3), (0, 1, 3, 2)
    law = LAWS["document-constraints"](*duel, 3)
    assert plain.expected(law, plain.constraints_credit, *duel, relevant_clicks([2]))[0] == 0


def test_simulated_winners_are_those_of_the_exact_laws():
    """Every method with a perfect user, 40,000 duels each, within 6 standard errors of the plain-Python expectation."""
    duel, relevant, rows = ((0, 1, 2, 3), (1, 3, 0, 2)), [0, 3], 40_000
    for name, law in LAWS.items():
        _, advantage = plain.expected(law(*duel, 3), CREDITS[name], *duel, relevant_clicks(relevant))
        method = make(name)
        lists, first, second, key, session, displayed, share = play(method, *duel, 3, rows)
        clicks = np.isin(displayed, relevant).astype(np.int8)
        credit, winner = np.empty((rows, 2)), np.empty(rows, np.int64)
        method.credit(lists, first, second, displayed, share, clicks, credit)
        decide(credit, key, session, winner)
        assert 1 - winner.mean() == pytest.approx((1 + advantage) / 2, abs=6 * 0.5 / math.sqrt(rows))


@pytest.mark.kernels
def test_the_larger_credit_wins_and_rounding_does_not():
    key, session = row_keys(range(4), ENVIRONMENT), np.zeros(4, np.int64)
    credit = np.array([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0 + 1e-12], [1.0, 1.0]])
    winner, again = np.empty(4, np.int64), np.empty(4, np.int64)
    decide(credit, key, session, winner)
    assert winner[:2].tolist() == [0, 1]
    decide(np.ones((4, 2)), key, session, again)
    assert (winner[2:] == again[2:]).all()  # both by the session's coin
    close = np.tile([[0.5, 0.5 + 1e-8], [0.5 + 1e-8, 0.5]], (10, 1))
    winner = np.empty(20, np.int64)
    decide(close, row_keys(range(20), ENVIRONMENT), np.zeros(20, np.int64), winner)
    assert winner.tolist() == [1, 0] * 10


@pytest.mark.parametrize("name", INTERLEAVINGS)
def test_the_coin_of_a_tie_is_none_of_the_lists_coins(name):
    """Without a click: whichever list is displayed, left wins half of the 20,000 times.

    Of each list that is displayed often the share is within 6 standard errors of one half: error below 1e-6 in all.
    """
    rows, duel = 20_000, ((0, 1, 2, 3), (2, 3, 1, 0))
    method = make(name)
    lists, first, second, key, session, displayed, share = play(method, *duel, 4, rows)
    credit, winner = np.empty((rows, 2)), np.empty(rows, np.int64)
    method.credit(lists, first, second, displayed, share, np.zeros((rows, 4), np.int8), credit)
    assert not credit.any()
    decide(credit, key, session, winner)
    _, number = np.unique(np.column_stack([displayed, share]), axis=0, return_inverse=True)
    often = [n for n, count in enumerate(np.bincount(number.ravel())) if count >= 100]
    assert len(often) > 1
    for n in often:
        won = winner[number.ravel() == n]
        assert won.mean() == pytest.approx(0.5, abs=6 * 0.5 / math.sqrt(len(won)))


@pytest.mark.kernels
@pytest.mark.parametrize("case", COINS, ids=IDS)
def test_clicks_behind_the_end_of_a_list_count_for_nothing(case):
    """The kernels look at documents alone, whatever the clicks say of places without one."""
    name, knobs = case
    method = make(name, dict(knobs))
    rng = np.random.default_rng(4)
    lists, first, second, _, _, displayed, share = play(method, tops(rng, 30, 6, 3), tops(rng, 30, 6, 3), 8, 30)
    assert (displayed[:, -2:] == -1).all()
    clicks = (rng.random((30, 8)) < 0.4).astype(np.int8)
    clicks[:, -2:] = 1
    got, expected = np.empty((2, 30, 2))
    method.credit(lists, first, second, displayed, share, clicks, got)
    clicks[displayed < 0] = 0
    method.credit(lists, first, second, displayed, share, clicks, expected)
    assert (got == expected).all()


# -- doors -------------------------------------------------------------------------------------------------------------


def test_a_comparison_by_hand():
    duel = compare([0, 1, 2], [2, 1, 0], method="team-draft", seed=3)
    assert sorted(duel.displayed[0]) == [0, 1, 2]
    credit = duel.credit([[1, 1, 1]])
    assert credit.sum() == 3
    assert duel.winner([[1, 1, 1]]) == [0 if credit[0, 0] > 1.5 else 1]
    assert (
        compare([[0, 1]] * 3, [[1, 0]] * 3, seed=5).displayed[1:]
        == compare([[0, 1]] * 2, [[1, 0]] * 2, seed=6).displayed
    ).all()


@pytest.mark.kernels
@pytest.mark.parametrize("name", ["balanced", "team-draft", "probabilistic", "document-constraints"])
def test_row_b_of_a_comparison_is_the_method_by_itself_with_the_coins_of_seed_plus_b(name):
    """Also where the right rankings have documents with larger numbers than any of the left ones."""
    rng = np.random.default_rng(3)
    rows, length, method = 40, 4, make(name)
    left, right = tops(rng, rows, 8, 5), tops(rng, rows, 16, 5)
    assert left.max() < right.max()
    duel = compare(left, right, length, method=name, seed=9)
    clicks = rng.integers(0, 2, (rows, length)) * (duel.displayed >= 0)
    credit, winner = duel.credit(clicks), duel.winner(clicks)
    one, two, session = np.array([0]), np.array([1]), np.array([0])
    for b in range(rows):
        lists, key = Lists.of(np.array([left[b], right[b]], np.int64), 16), row_keys([9 + b], ENVIRONMENT)
        displayed, share = np.empty((1, length), np.int64), np.empty((1, length))
        method.interleave(lists, one, two, key, session, displayed, share)
        assert displayed[0].tolist() == duel.displayed[b].tolist()
        expected, won = np.empty((1, 2)), np.empty(1, np.int64)
        method.credit(lists, one, two, displayed, share, clicks[b : b + 1].astype(np.int8), expected)
        decide(expected, key, session, won)
        assert credit[b].tolist() == expected[0].tolist()
        assert winner[b] == won[0]


def test_a_list_is_no_longer_than_the_rankings():
    with pytest.raises(ValueError, match=r"^length = 3 is out of range; allowed: a whole number in 1 \.\. 2$"):
        compare([0, 1], [1, 0], 3)


KNOBS = st.sampled_from(
    [{}, {"tau": 2}, {"tau": -1}, {"tau": float("nan")}, {"tau": "3"}, {"credit": "assigned"}, {"credit": 7}, {"x": 1}]
)
RANKINGS = st.one_of(
    st.lists(st.lists(st.integers(-1, 6), max_size=4), max_size=3),
    st.lists(st.permutations(range(4)), min_size=1, max_size=3),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=1), st.integers()), max_size=3),
)


@settings(deadline=None, max_examples=150)
@given(
    RANKINGS, RANKINGS, st.one_of(st.none(), st.integers(-1, 5)), st.sampled_from([*INTERLEAVINGS, "x", None]), KNOBS
)
def test_compare_gives_lists_or_a_value_error(left, right, length, method, knobs):
    try:
        duel = compare(left, right, length, method=method, **knobs)
    except ValueError as error:
        said = str(error)
        if not re.fullmatch(".*allowed.*", said):  # one line
            raise
        return
    rows = len(np.atleast_2d(left))
    assert duel.displayed.shape == (rows, length or np.shape(np.atleast_2d(left))[1])
    for row, (mine, other) in enumerate(zip(np.atleast_2d(left).tolist(), np.atleast_2d(right).tolist(), strict=True)):
        shown = rows_of(duel.displayed)[row]
        assert len(set(shown)) == len(shown) > 0
        assert set(shown) <= {*mine, *other}
    credit = duel.credit((duel.displayed >= 0).astype(int))
    assert (credit >= 0).all()
    assert np.isfinite(credit).all()


@settings(deadline=None)
@given(st.one_of(st.lists(st.lists(st.integers(-1, 2), min_size=2, max_size=3), max_size=2), st.floats(), st.none()))
def test_clicks_are_checked(clicks):
    duel = compare([0, 1, 2], [1, 2, 0], 2)
    try:
        good = np.shape(clicks) == (1, 2) and set(np.ravel(clicks).tolist()) <= {0, 1}
    except ValueError:
        good = False
    if good:
        assert duel.credit(clicks).shape == (1, 2)
        return
    with pytest.raises(ValueError, match="allowed"):
        duel.credit(clicks)


def test_nothing_is_clicked_behind_the_end_of_a_list():
    duel = compare([0], [0], 1)
    short = duel._replace(displayed=np.array([[-1]]))
    with pytest.raises(ValueError, match=r"clicks\[0, 0\] = 1, where nothing is displayed"):
        short.credit([[1]])


def test_a_methods_keywords_make_it_again():
    for name in INTERLEAVINGS:
        method = make(name)
        assert repr(make(name, method.knobs())) == repr(method)
    with pytest.raises(ValueError, match="does not have a keyword 'tau'; allowed: none"):
        make("balanced", {"tau": 3})
    with pytest.raises(ValueError, match="interleaving_knobs = 3 is not a dict"):
        make("balanced", 3)
