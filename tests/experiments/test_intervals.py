"""Intervals cover what they should, and small cases are right to the digit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankgym.experiments.judge import intervals, ranks, regression
from rankgym.experiments.judge.units import Units, amount, each_row, epochs, means
from rankgym.experiments.run.results import Played, Results

stats = pytest.importorskip("scipy.stats")


def played(regret, query, rounds=(1, 10, 100), agent="toprank", **more):
    """An agent with ``regret`` (records, rows)."""
    regret, query = np.asarray(regret, float), np.asarray(query)
    run = np.array([int(np.sum(query[:row] == query[row])) for row in range(len(query))])
    rows = len(query)
    given = {
        "environment": "CM",
        "agent": agent,
        "env_id": "rankgym/CM-Yandex-v0",
        "env_kwargs": {},
        "rounds": np.array(rounds),
        "row": np.arange(rows),
        "query": query,
        "run": run,
        "measures": {"regret": regret},
        "epoch_regret": np.empty((0, rows)),
        "settled_at": np.full(rows, -1),
    }
    return Played(**given | more)


def units(values, kind="queries"):
    values = np.asarray(values, float)
    return Units(values, np.arange(values.shape[-1]), kind)


TWO = played([[1, 2, 3, 4], [10, 20, 30, 40], [100, 200, 300, 600]], [0, 1, 0, 1])


# -- units ------------------------------------------------------------------------------------------------------------


def test_runs_are_averaged_within_their_query():
    found = amount(TWO)
    assert found.values.tolist() == [200, 400]
    assert found.names.tolist() == [0, 1]
    assert found.kind == "queries"


def test_of_a_single_query_the_runs_are_the_units():
    found = amount(played([[5, 7, 6]], [3, 3, 3], rounds=[10]))
    assert found.values.tolist() == [5, 7, 6]
    assert found.names.tolist() == [0, 1, 2]
    assert found.kind == "runs"


def test_several_problems_of_duels_are_problems():
    duels = played([[5, 7]], [0, 1], rounds=[10], measures={"regret": np.ones((1, 2)), "accuracy": np.ones((1, 2))})
    assert amount(duels).kind == "problems"


def test_what_a_stretch_of_rounds_has_added():
    assert amount(TWO, stop=100, start=10).values.tolist() == [180, 370]
    quality = TWO._replace(measures={"ndcg": np.array([[1.0] * 4, [0.5] * 4, [0.95] * 4])})
    assert np.allclose(amount(quality, "ndcg", 100, start=10).values, (95 - 5) / 90)
    assert np.allclose(amount(quality, "ndcg", 10).values, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "clicks"}, "measure = 'clicks' is unknown; allowed: 'regret'"),
        ({"stop": 50}, "round = 50 was not recorded"),
        ({"stop": 10, "start": 10}, "start = 10 is not before stop = 10"),
        ({"start": 7}, "round = 7 was not recorded"),
    ],
)
def test_rounds_that_were_not_recorded_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        amount(TWO, **arguments)


def test_epochs_are_added_up():
    changing = TWO._replace(epoch_regret=np.array([[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, np.nan, 12]]))
    assert epochs(changing, [0, 1]).values.tolist() == [8, 10]
    assert np.isnan(epochs(changing, range(3)).values[0])
    with pytest.raises(ValueError, match=r"which has epoch 3; allowed: 0 .. 2"):
        epochs(changing, [3])
    with pytest.raises(ValueError, match="no epochs"):
        epochs(TWO, [0])


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"values = an array \(3,\) does not fit; allowed: \(..., 4\)"):
        each_row(TWO, np.ones(3))


def test_means_and_standard_errors_over_rows():
    (line,) = means(Results([TWO._replace(settled_at=np.array([5, -1, -1, -1]))]))
    assert line == {
        "environment": "CM",
        "agent": "toprank",
        "mean": 300,
        "error": pytest.approx(np.std([100, 200, 300, 600], ddof=1) / 2),
        "rows": 4,
        "queries": 2,
        "settled": 0.25,
        "rounds": 100,
    }


# -- exact small cases ------------------------------------------------------------------------------------------------


def test_the_mean_of_few_units_has_students_interval():
    values = np.array([1.0, 4.0, 2.0, 8.0])
    found = intervals.mean(units(values))
    error = values.std(ddof=1) / 2
    assert found.value == 3.75
    assert np.allclose([found.low, found.high], 3.75 + np.array([-1, 1]) * stats.t.ppf(0.995, 3) * error)
    assert found.method == "Student's t by the jackknife over 4 queries, 99 %"


def test_two_samples_of_few_units_have_the_variances_of_both():
    one, other = np.array([1.0, 4.0, 2.0, 8.0]), np.array([3.0, 5.0, 6.0])
    found = intervals.difference(units(one), units(other), paired=False)
    error = math.sqrt(one.var(ddof=1) / 4 + other.var(ddof=1) / 3)
    assert np.allclose(found.high - found.value, stats.t.ppf(0.995, 2) * error)
    assert found.method == "Student's t by the jackknife over 4 + 3 queries, 99 %"


def test_paired_differences_are_those_of_the_pairs():
    one, other = np.array([1.0, 4.0, 2.0, 8.0]), np.array([2.0, 5.0, 3.0, 9.0])
    found = intervals.difference(units(one), units(other))
    assert np.allclose(found[:3], -1.0)
    assert found.method.startswith("paired ")
    apart = intervals.difference(units(one), units(other), paired=False)
    assert apart.high - apart.low > 10


@pytest.mark.parametrize("number", [2, 9, 10, 60])
def test_a_constant_ratio_has_no_width(number):
    one = np.arange(1.0, number + 1)
    found = intervals.ratio(units(3 * one), units(one))
    assert np.allclose(found[:3], 3.0)


def test_one_unit_has_no_interval():
    assert intervals.mean(units([3.0]))[:3] == (3.0, -math.inf, math.inf)
    assert intervals.mean(units([3.0], "runs")).method == "no interval: 1 run"


def test_where_all_units_are_alike_the_interval_is_exactly_that():
    found = intervals.mean(units([0.1] * 30))
    assert found[:3] == (0.1, 0.1, 0.1)
    assert found.method == "30 queries, all alike"


def test_what_is_unknown_has_no_interval():
    found = intervals.mean(units([1.0, np.nan, 3.0]))
    assert math.isnan(found.value)
    assert found[1:3] == (-math.inf, math.inf)
    assert math.isnan(intervals.ratio(units([0.0, 0.0]), units([0.0, 0.0])).value)


def test_a_ratio_by_nothing_is_infinite():
    found = intervals.ratio(units(np.ones(20)), units(np.zeros(20)))
    assert found[:3] == (math.inf, math.inf, math.inf)


def test_other_units_cannot_be_paired():
    other = Units(np.ones(3), np.array([0, 1, 3]), "queries")
    with pytest.raises(ValueError, match="allowed: the same ones, or paired=False"):
        intervals.difference(units(np.ones(3)), other)
    with pytest.raises(ValueError, match="3 runs are not those of the first, 3 queries"):
        intervals.difference(units(np.ones(3)), units(np.ones(3), "runs"))
    assert intervals.difference(units(np.ones(3)), other, paired=False).value == 0


@pytest.mark.parametrize("level", [0.3, 1.0, -1, math.nan])
def test_levels_out_of_range_are_refused(level):
    with pytest.raises(ValueError, match=r"level = .* is out of range; allowed: 0.5 <= level < 1"):
        intervals.mean(units(np.ones(3)), level=level)


def test_no_units_are_refused():
    with pytest.raises(ValueError, match="at least one unit"):
        intervals.mean(units([]))


@pytest.mark.parametrize(("successes", "trials"), [(0, 600), (1, 20), (19, 20), (20, 20)])
def test_proportions_have_clopper_and_pearsons_interval(successes, trials):
    """Its ends are where the tails of the binomial distribution have half of what is left."""
    found = intervals.proportion(successes, trials, "queries")
    if successes:
        assert np.isclose(stats.binom.sf(successes - 1, trials, found.low), 0.005)
    else:
        assert found.low == 0
        assert np.isclose(found.high, 1 - 0.005 ** (1 / trials))
    if successes < trials:
        assert np.isclose(stats.binom.cdf(successes, trials, found.high), 0.005)
    else:
        assert found.high == 1


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_proportions_of_nothing_are_refused(successes, trials):
    with pytest.raises(ValueError, match=r"allowed: 0 .. trials"):
        intervals.proportion(successes, trials)


def test_shares_are_of_units():
    one, other = units([1.0, 2, 3, 4]), units([2.0, 3, 4, 4])
    found = intervals.share(lambda a, b: a < b, one, other)
    assert found == intervals.proportion(3, 4, "queries")
    assert found.method == "Clopper and Pearson over 4 queries, 99 %"
    assert intervals.share(lambda values: values != 0, units([0.0, 0, 2, 0])) == intervals.proportion(1, 4, "queries")


def test_levels_are_shared():
    assert intervals.for_each_of(4, 0.99) == pytest.approx(0.9975)


# -- the bootstrap ----------------------------------------------------------------------------------------------------


def test_the_bootstrap_is_scipys_but_for_the_wider_level():
    """Ends differ by chance: at this level, of 20,000 resamples, by about 0.05 of the bootstrap's standard error."""
    rng = np.random.default_rng(5)
    one, other = rng.lognormal(0, 1, (2, 40))
    found = intervals.ratio(units(one), units(other))
    wide = 1 - 2 * stats.norm.cdf(-stats.t.ppf(0.995, 39) * math.sqrt(40 / 39))

    def of_means(first, second, axis):
        return first.mean(axis=axis) / second.mean(axis=axis)

    theirs = stats.bootstrap(
        (one, other),
        of_means,
        n_resamples=20_000,
        paired=True,
        method="percentile",
        confidence_level=wide,
        random_state=rng,
    )
    spread = theirs.standard_error
    assert abs(found.low - theirs.confidence_interval.low) < 0.25 * spread
    assert abs(found.high - theirs.confidence_interval.high) < 0.25 * spread
    assert np.isclose(found.value, one.mean() / other.mean())
    assert found.method == "paired bootstrap over 40 queries, 99 %"


def test_the_same_numbers_have_the_same_interval():
    values = units(np.random.default_rng(0).normal(size=30))
    first = intervals.mean(values)
    intervals._resampled.cache_clear()
    assert intervals.mean(values) == first


def test_every_unit_is_drawn_as_often_as_another_and_as_many_as_there_are():
    counts = intervals._resampled(60, 0, intervals.RESAMPLES)
    assert (counts.sum(axis=1) == 60).all()
    assert np.allclose(counts.mean(axis=0), 1, atol=6 / math.sqrt(intervals.RESAMPLES))
    assert not np.array_equal(counts, intervals._resampled(60, 1, intervals.RESAMPLES))


TRIALS = 1_000


MISSED = {  # shares of 20,000 trials, each hundred of them with resamples of its own
    ("mean", 5): 0.120,
    ("paired ratio", 5): 0.119,
    ("difference", 5): 0.058,
    ("mean", 10): 0.109,
    ("paired ratio", 10): 0.110,
    ("difference", 10): 0.083,
    ("mean", 60): 0.106,
    ("paired ratio", 60): 0.106,
    ("difference", 60): 0.102,
}


@pytest.mark.parametrize(("case", "number"), list(MISSED))
def test_intervals_cover(case, number, monkeypatch):
    """Intervals of 90 %, over units as skewed as gamma(4), miss in about a tenth of the trials.

    Trials share their 2,000 resamples, whose own chance moves the share by less than 0.03 (four standard deviations);
    beyond that the probability of error is below 1e-6.
    """
    monkeypatch.setattr(intervals, "RESAMPLES", 2_000)
    intervals._resampled.cache_clear()
    rng = np.random.default_rng(11)
    common = rng.gamma(4, 0.25, (TRIALS, number))
    one, other = 3 * common * rng.gamma(8, 1 / 8, (TRIALS, number)), common * rng.gamma(8, 1 / 8, (TRIALS, number))
    alone = rng.gamma(4, 0.25, (TRIALS, number + 3))
    missed = 0
    for trial in range(TRIALS):
        if case == "mean":
            found, truth = intervals.mean(units(common[trial]), level=0.9), 1.0
        elif case == "paired ratio":
            found, truth = intervals.ratio(units(one[trial]), units(other[trial]), level=0.9), 3.0
        else:
            sample = units(common[trial]), units(alone[trial])
            found, truth = intervals.difference(*sample, paired=False, level=0.9), 0.0
        missed += not found.low <= truth <= found.high
    intervals._resampled.cache_clear()
    least = stats.binom.ppf(1e-7, TRIALS, MISSED[case, number] - 0.03)
    most = stats.binom.isf(1e-7, TRIALS, MISSED[case, number] + 0.03)
    assert least <= missed <= most
    assert most < 0.22 * TRIALS


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=25), st.floats(0.1, 1e3))
@settings(max_examples=40, deadline=None)
def test_intervals_follow_the_unit_of_measure(values, scale):
    plain, scaled = intervals.mean(units(values)), intervals.mean(units(np.array(values) * scale))
    assert np.allclose(np.array(plain[:3]) * scale, scaled[:3], rtol=1e-9, atol=1e-6)
    assert plain.low <= plain.high


# -- growth -----------------------------------------------------------------------------------------------------------

ROUNDS = np.unique(np.concatenate([np.round(np.logspace(0, 6, 121)), 10.0 ** np.arange(7)])).astype(int)
SCALES = np.random.default_rng(2).lognormal(0, 0.5, 40)


def grown(shape, agent="toprank"):
    """Regret ``shape(rounds)`` in 40 queries of other scales."""
    return played(shape(ROUNDS.astype(float))[:, None] * SCALES, np.arange(40), rounds=ROUNDS, agent=agent)


@pytest.mark.parametrize(
    ("shape", "exponent"),
    [
        (lambda t: 0.3 * t, 1.0),
        (lambda t: np.sqrt(t), 0.5),
        (lambda t: t**2, 2.0),
        (lambda t: np.log(t), math.log10(6 / 5)),
        (lambda t: 5 + 0 * t, 0.0),  # nothing is added
        (lambda t: np.minimum(t, 400_000.0), math.log10(4)),
        (lambda t: 2e6 + t, math.log10(3e6 / 2.1e6)),  # linear after a costly start
    ],
)
def test_growth_exponents(shape, exponent):
    """All queries have the same, so that the intervals have no width."""
    total = intervals.growth(grown(shape), start=100_000, stop=1_000_000)
    assert np.allclose(total[:3], exponent, atol=1e-9)
    assert total.method.endswith("over 40 queries, 99 %; from round 100,000 to 1,000,000")


def test_growth_between_given_rounds():
    found = intervals.growth(grown(lambda t: np.where(t > 1000, t**2, 1000 * t)), start=100, stop=1000)
    assert np.allclose(found.value, 1)
    with pytest.raises(ValueError, match="start = 100 is not before stop = 100"):
        intervals.growth(grown(np.sqrt), start=100, stop=100)


def test_what_differs_between_queries_makes_the_interval_of_growth():
    rng = np.random.default_rng(3)
    power = rng.uniform(0.4, 0.6, 60)
    regret = ROUNDS.astype(float)[:, None] ** power
    found = intervals.growth(played(regret, np.arange(60), rounds=ROUNDS), start=100_000, stop=1_000_000)
    assert 0.4 < found.low < found.value < found.high < 0.6


# -- crossings --------------------------------------------------------------------------------------------------------


def test_where_two_curves_cross():
    line = grown(lambda t: t / 1000, "static")
    flat = grown(lambda t: np.full_like(t, 62.5), "toprank")
    found = intervals.crossing(line, flat)
    assert np.allclose(found[:3], 62_500)  # between records, where straight curves meet
    assert found.method == "paired bootstrap over 40 queries, 99 %"
    assert intervals.crossing(flat, line)[:3] == (math.inf,) * 3  # it is not above at the end
    above = grown(lambda t: t + 1, "random")
    assert intervals.crossing(above, line)[:3] == (0.0, 0.0, 0.0)


def test_the_last_crossing_counts():
    wave = played(np.array([[1.0], [3.0], [1.0], [5.0]]) * np.ones(12), np.arange(12), rounds=[1, 2, 3, 5])
    flat = played(2 * np.ones((4, 12)), np.arange(12), rounds=[1, 2, 3, 5])
    assert intervals.crossing(wave, flat).value == 3.5


def test_crossings_that_only_some_resamples_have_reach_to_infinity():
    rng = np.random.default_rng(4)
    slope = rng.lognormal(0, 1, 20)
    one = played(np.array([1, 10, 100])[:, None] * slope, np.arange(20))
    other = played(np.array([1000, 1000, 100])[:, None] * np.full(20, slope.mean() * 0.98), np.arange(20))
    found = intervals.crossing(one, other)
    assert 10 < found.low < found.value < 100
    assert found.high == math.inf


def test_crossings_need_units_and_the_same_records():
    few = [played(np.array([[1.0], [2.0]]) * np.ones(5) * k, np.arange(5), rounds=[1, 2]) for k in (1, 2)]
    assert intervals.crossing(few[1], few[0])[:3] == (0.0, 0.0, math.inf)
    with pytest.raises(ValueError, match="recorded at other rounds"):
        intervals.crossing(few[0], TWO)


# -- lines ------------------------------------------------------------------------------------------------------------


def test_slopes_and_curvatures_of_exact_curves():
    x, cluster = np.tile(np.arange(11.0), 20), np.repeat(np.arange(20), 11)
    assert np.allclose(regression.slope(x, 3 * x + 7, cluster)[:3], 3)
    assert np.allclose(regression.curvature(x, 3 * x + 7, cluster)[:3], 0, atol=1e-9)
    assert np.allclose(regression.curvature(x, x**2, cluster)[:3], 2)
    assert np.allclose(regression.curvature(x, x + x**2 / 10, cluster).value, (3 - 1) / 2)  # slopes 1 .. 3


def test_the_slope_is_scipys():
    rng = np.random.default_rng(6)
    x, cluster = rng.uniform(0, 40, 300), rng.integers(0, 30, 300)
    y = 5 * x + rng.normal(0, 30, 300)
    found = regression.slope(x, y, cluster)
    means = np.array([[values[cluster == one].mean() for one in cluster] for values in (x, y)])
    theirs = stats.linregress(x - means[0], y - means[1])
    assert np.isclose(found.value, theirs.slope)
    assert 0.75 < (found.high - found.low) / (2 * stats.t.ppf(0.995, 29) * theirs.stderr) < 1.33
    assert found.method == "least squares, bootstrap over 30 queries, 99 %"


def test_within_clusters_what_they_differ_in_does_not_count():
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(25), 12)
    x = rng.integers(0, 10, 300) + 5.0 * cluster
    y = 2 * x - 100.0 * cluster
    assert stats.linregress(x, y).slope < 0
    assert np.allclose(regression.slope(x, y, cluster)[:3], 2)
    assert np.allclose(regression.curvature(x, y, cluster)[:3], 0, atol=1e-6)


@pytest.mark.parametrize("degree", ["slope", "curvature"])
def test_lines_through_nothing_are_refused(degree):
    fit = getattr(regression, degree)
    with pytest.raises(ValueError, match="too few different values"):
        fit(np.ones(5), np.arange(5), np.arange(5))
    with pytest.raises(ValueError, match=r"arrays \(5,\), \(4,\), \(5,\); allowed: \(points,\) each"):
        fit(np.arange(5), np.arange(4), np.arange(5))


# -- ranks ------------------------------------------------------------------------------------------------------------


def test_ranks_and_wins():
    table = ranks.rank_table({"a": units([2.0, 2, 9, 4]), "b": units([1.0, 1, 1, 4]), "c": units([3.0, 3, 3, 3])})
    assert table.agents == ["b", "c", "a"]
    assert np.allclose(table.mean_rank, [(1 + 1 + 1 + 2.5) / 4, (3 + 3 + 2 + 1) / 4, (2 + 2 + 3 + 2.5) / 4])
    assert table.wins.tolist() == [3, 1, 0]
    up = ranks.rank_table({"a": units([2.0, 2]), "b": units([1.0, 3])}, lower_is_better=False)
    assert up.mean_rank.tolist() == [1.5, 1.5]


def test_probabilities_are_scipys_with_holms_correction():
    rng = np.random.default_rng(8)
    values = {"a": rng.normal(0, 1, 30), "b": rng.normal(0.6, 1, 30), "c": rng.normal(2, 1, 30)}
    table = ranks.rank_table({name: units(sample) for name, sample in values.items()})
    a, b, c = (values[name] for name in table.agents)
    assert table.friedman == stats.friedmanchisquare(a, b, c).pvalue
    raw = sorted((stats.wilcoxon(x, y).pvalue, pair) for x, y, pair in ((a, b, (0, 1)), (a, c, (0, 2)), (b, c, (1, 2))))
    corrected = np.maximum.accumulate([raw[0][0] * 3, raw[1][0] * 2, raw[2][0]])
    for (_, pair), p in zip(raw, corrected, strict=True):
        assert np.isclose(table.wilcoxon[pair], min(p, 1))
        assert table.wilcoxon[pair] == table.wilcoxon[pair[::-1]]
    assert np.isnan(np.diag(table.wilcoxon)).all()


def test_holms_correction_by_hand():
    assert np.allclose(ranks._holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    assert np.allclose(ranks._holm(np.array([0.6, 0.7])), [1, 1])


@pytest.mark.parametrize("agents", [2, 3])
def test_agents_that_are_alike_cannot_be_told_apart(agents):
    table = ranks.rank_table({str(n): units([1.0, 2, 3]) for n in range(agents)})
    assert table.friedman == 1
    assert np.nanmin(table.wilcoxon) == 1
    assert table.wins.sum() == 0


def test_the_table_in_words():
    table = ranks.rank_table({"a": units([2.0, 2, 9, 4]), "b": units([1.0, 1, 1, 3])})
    assert table.head() == ["agent", "mean rank", "best of 4 queries", "p against b"]
    assert table.lines() == [["b", "1.00", "4", ""], ["a", "2.00", "0", "0.12"]]
    assert "Friedman's test over 4 queries: p = 0.12." in table.caption()


def test_ranks_of_what_is_unknown_are_refused():
    with pytest.raises(ValueError, match="at least two"):
        ranks.rank_table({"a": units([1.0])})
    with pytest.raises(ValueError, match="unknown"):
        ranks.rank_table({"a": units([1.0]), "b": units([np.nan])})
