"""Statistics of what was played: estimates with confidence intervals, and a rank table over queries.

An interval is made of units: of the queries, each the mean over its runs, or, where one query (or one problem of duels)
was played, of its runs. Two agents that have played the same units have met the same users there: they are paired.

All estimates are functions of means over units, so one bootstrap serves all (``of_means``). Its percentile interval
is wide in proportion as Student's t is wider than the normal distribution (Hesterberg, What Teachers Should Know about
the Bootstrap, 2015), without which few units give intervals that are far too narrow. Of percentile, BCa,
studentized and this one it had, on normal and skewed units, differences and ratios, the coverage nearest to what it
says. Of fewer than ten units it is Student's t with the jackknife's standard error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.claims import Measured
from rankgym.experiments.judge.means import mean_and_error
from rankgym.experiments.run.results import Played, Results

__all__ = [
    "LEVEL",
    "Estimate",
    "RankTable",
    "Units",
    "amount",
    "crossing",
    "curvature",
    "curves",
    "difference",
    "each_row",
    "epochs",
    "exact",
    "for_each_of",
    "growth",
    "late_growth",
    "mean",
    "means",
    "nearest",
    "never",
    "of_means",
    "proportion",
    "rank_table",
    "ratio",
    "share",
    "slope",
]

LEVEL = 0.99  # of a confidence interval, unless another one is asked for
RESAMPLES = 20_000
ENOUGH = 10  # units: of fewer there is no bootstrap
BLOCK = 4_000_000  # weights that are held at once
ONE = {"queries": "query", "problems": "problem", "runs": "run", "points": "point", "trials": "trial"}
SEED = 2019  # of the resampling: the same results have the same intervals


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float  # NaN: it cannot be said
    low: float
    high: float
    method: str  # "paired bootstrap over 60 queries, 99 %"

    def measured(self, quantity: str, claimed: tuple[float, float], note: str = "") -> Measured:
        """As what decides a claim."""
        return Measured(quantity, self.value, self.low, self.high, claimed, self.method, note)


class Units(NamedTuple):
    """What an interval is made of: a number, or a curve, for each query (mean over its runs), or for each run."""

    values: NDArray[np.float64]  # (..., units)
    names: NDArray[
        np.int64
    ]  # (units,) numbers of the queries, or of the runs; ascending; two agents are paired by them
    kind: str  # "queries", "problems" or "runs"


# -- from what was played to units ------------------------------------------------------------------------------------


def each_row(played: Played, values: NDArray[Any]) -> Units:
    """The units of any ``values`` (..., rows): means over the runs of each query; of a single query, its runs."""
    values = np.asarray(values, np.float64)
    if values.shape[-1:] != played.row.shape:
        raise ValueError(f"values = an array {values.shape} does not fit; allowed: (..., {len(played.row)}), one a row")
    if len(np.unique(played.query)) == 1:
        order = np.argsort(played.run, kind="stable")
        return Units(values[..., order], played.run[order], "runs")
    queries, found = played.by_query(values)
    return Units(found, queries, "problems" if "accuracy" in played.measures else "queries")


def amount(played: Played, measure: str = "regret", stop: int | None = None, *, start: int = 0) -> Units:
    """What rounds ``start`` .. ``stop`` - 1 have added to ``measure``; of "ndcg" the mean over these rounds.

    Args:
        played: an agent in an environment.
        measure: "accuracy" is none that adds up: it is what it was after ``stop`` rounds.
        stop: a recorded round; default: the last.
        start: a recorded round, or 0.

    Raises:
        ValueError: a round was not recorded, or ``start`` is not before ``stop``.
    """
    stop = int(played.rounds[-1]) if stop is None else stop
    values = played.at(measure, stop)
    if start:
        if not 0 < start < stop:
            raise ValueError(f"start = {start} is not before stop = {stop}; allowed: 0 <= start < stop")
        if measure == "accuracy":
            raise ValueError(f"start = {start} has no meaning for 'accuracy', which does not add up; allowed: 0")
        before = played.at(measure, start)
        values = (stop * values - start * before) / (stop - start) if measure == "ndcg" else values - before
    return each_row(played, values)


def curves(played: Played, measure: str = "regret") -> Units:
    """``measure`` after each recorded round: values (records, units)."""
    played.at(measure, int(played.rounds[-1]))  # refuses what is no measure
    return each_row(played, played.measures[measure])


def epochs(played: Played, which: Sequence[int]) -> Units:
    """Regret of the epochs ``which`` together; NaN where a row has not come to one of them.

    Raises:
        ValueError: there is no such epoch.
    """
    there = len(played.epoch_regret)
    for epoch in which:
        if not 0 <= epoch < there:
            raise ValueError(f"which has epoch {epoch}; allowed: 0 .. {there - 1}" if there else "there are no epochs")
    return each_row(played, played.epoch_regret[list(which)].sum(axis=0))


def nearest(played: Played, round: float) -> int:
    """The recorded round that is next to ``round``, on a logarithmic axis."""
    return int(played.rounds[np.argmin(np.abs(np.log(played.rounds) - np.log(max(round, 1))))])


def means(results: Results, measure: str = "regret", stop: int | None = None) -> list[dict[str, Any]]:
    """One dict for each environment and agent that has the measure: its mean over all rows, and the standard error.

    Keys: environment, agent, mean, error (NaN of one row), rows, queries (how many), settled (share of the rows that
    were retired), rounds.
    """
    lines = []
    for played in results:
        if measure in played.measures:
            last = int(played.rounds[-1]) if stop is None else stop
            average, error = mean_and_error(played.at(measure, last))
            lines.append(
                {
                    "environment": played.environment,
                    "agent": played.agent,
                    "mean": float(average),
                    "error": float(error),
                    "rows": len(played.row),
                    "queries": len(np.unique(played.query)),
                    "settled": float(np.mean(played.settled_at >= 0)),
                    "rounds": last,
                }
            )
    return lines


# -- estimates --------------------------------------------------------------------------------------------------------


def mean(units: Units, *, level: float = LEVEL) -> Estimate:
    """The mean over units."""
    return of_means(lambda average: average, units, level=level)


def difference(one: Units, other: Units, *, paired: bool = True, level: float = LEVEL) -> Estimate:
    """The mean of ``one`` less the mean of ``other``.

    Args:
        one, other: values (units,).
        paired: both have the same units, which are resampled together; else each is resampled by itself.
        level: of the interval.

    Raises:
        ValueError: they are to be paired and have other units.
    """
    return of_means(lambda first, second: first - second, one, other, paired=paired, level=level)


def ratio(one: Units, other: Units, *, paired: bool = True, level: float = LEVEL) -> Estimate:
    """The mean of ``one`` by the mean of ``other``: a ratio of means, no mean of ratios. Arguments: ``difference``."""
    return of_means(lambda first, second: first / second, one, other, paired=paired, level=level)


def of_means(function: Callable[..., Any], *units: Units, paired: bool = True, level: float = LEVEL) -> Estimate:
    """Any smooth function of means over units.

    Args:
        function: of one array for each of ``units``, its means (resamples, ...), to numbers (resamples,). Of curves,
            ``means[..., record]`` is the mean after a record.
        units: samples; values (..., units).
        paired: all have the same units, which are resampled together; else each is resampled by itself.
        level: of the interval.

    Where all units are alike the interval has no width, which says nothing of other units: of what is 0 or 1 in each
    take a ``share``.

    Raises:
        ValueError: there are no units, they are to be paired and differ, or the level is out of range.
    """
    if not 0.5 <= level < 1:
        raise ValueError(f"level = {level} is out of range; allowed: 0.5 <= level < 1")
    if not units or any(len(sample.names) == 0 for sample in units):
        raise ValueError("units = () has none; allowed: at least one unit")
    if paired:
        _check_paired(units)
    samples = [np.moveaxis(np.asarray(sample.values, np.float64), -1, 0) for sample in units]

    def apply(weights: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(function(*map(_weighted, weights, samples)), np.float64)

    sizes = [len(sample) for sample in samples]
    alike = all((sample == sample[0]).all() for sample in samples)
    averages = [sample[:1] if alike else sample.mean(axis=0, keepdims=True) for sample in samples]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = float(np.asarray(function(*averages), np.float64)[0])
    least = min(sizes)
    how = "paired " if paired and len(units) > 1 else ""
    over = _counted_units(sizes[0], units[0].kind)
    if not paired and len(units) > 1:
        over = " + ".join(f"{size:,}" for size in sizes) + f" {units[0].kind}"
    if np.isnan(value):
        return Estimate(value, -np.inf, np.inf, f"not to be had: a mean over {over} is unknown, or nothing by nothing")
    if least == 1:
        return Estimate(value, -np.inf, np.inf, f"no interval: {over}")
    if alike:  # rounding would give the interval a width
        return Estimate(value, value, value, f"{over}, all alike")
    if least < ENOUGH:
        low, high = _students(apply, value, sizes, paired, level)
        return Estimate(value, low, high, f"{how}Student's t by the jackknife over {over}, {_percent(level)}")
    drawn = [_resampled(size, 0 if paired else number, RESAMPLES) for number, size in enumerate(sizes)]
    block = max(1, BLOCK // max(sizes))
    found = [apply([counts[n : n + block] / counts.shape[1] for counts in drawn]) for n in range(0, RESAMPLES, block)]
    low, high = _percentiles(np.concatenate(found), least, level)
    return Estimate(value, low, high, f"{how}bootstrap over {over}, {_percent(level)}")


def share(holds: Callable[..., Any], *units: Units, level: float = LEVEL) -> Estimate:
    """The share of the units for which something holds, with Clopper and Pearson's interval.

    Args:
        holds: of one array (units,) for each of ``units``, to bool (units,): ``lambda one, other: one < other``.
        units: the same units in all of them.
        level: of the interval.

    Raises:
        ValueError: the units differ.
    """
    _check_paired(units)
    found = np.asarray(holds(*(sample.values for sample in units)), bool)
    return proportion(int(found.sum()), len(found), units[0].kind, level=level)


def never(units: Units, *, level: float = LEVEL) -> Estimate:
    """The share of the units with anything but 0, with Clopper and Pearson's interval.

    Where no unit of n has, its upper end is 1 - ((1 - level) / 2) ** (1 / n), about 5.3 / n at 99 %: what the rule of
    three is to one-sided intervals of 95 %.
    """
    return share(lambda values: values != 0, units, level=level)


def proportion(successes: int, trials: int, kind: str = "trials", *, level: float = LEVEL) -> Estimate:
    """``successes`` by ``trials``, with Clopper and Pearson's interval: it is right for trials that are independent.

    Rounds of one run are not; its queries or runs are.

    Raises:
        ValueError: fewer trials than successes, or none.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"successes = {successes} of {trials} are none; allowed: 0 .. trials, of at least one")
    found = _scipy().binomtest(successes, trials).proportion_ci(level, method="exact")
    method = f"Clopper and Pearson over {_counted_units(trials, kind)}, {_percent(level)}"
    return Estimate(successes / trials, float(found.low), float(found.high), method)


def growth(
    played: Played, measure: str = "regret", stop: int | None = None, *, start: int | None = None, level: float = LEVEL
) -> Estimate:
    """How the mean curve has grown at last: d log R / d log t between two recorded rounds.

    A linear R has 1, a root 0.5, c log t about 1 / ln t (0.07 between 0.5 M and 5 M), and what has ended 0. What early
    rounds have cost draws it down (``late_growth`` leaves them out).

    Args:
        played: an agent in an environment.
        measure: one that adds up.
        stop: a recorded round; default: the last.
        start: a recorded round; default: that next to a tenth of ``stop``.
        level: of the interval.

    Raises:
        ValueError: a round was not recorded, or ``start`` is not before ``stop``.
    """
    stop = int(played.rounds[-1]) if stop is None else stop
    start = nearest(played, stop / 10) if start is None else start
    if not 0 < start < stop:
        raise ValueError(f"start = {start} is not before stop = {stop}; allowed: 0 < start < stop")
    both = each_row(played, np.stack([played.at(measure, start), played.at(measure, stop)]))
    found = of_means(lambda at: np.log(at[..., 1] / at[..., 0]) / np.log(stop / start), both, level=level)
    return found._replace(method=f"{found.method}; from round {start:,} to {stop:,}")


def late_growth(
    played: Played, measure: str = "regret", stop: int | None = None, *, factor: float = 2.0, level: float = LEVEL
) -> Estimate:
    """How what is added grows: log((R(n) - R(n / f)) / (R(n / f) - R(n / f^2))) / log f, of the mean curve.

    A linear R has 1, however much its beginning has cost; a root 0.5; c log t 0; and where nothing was added in the
    last stretch, -inf. NaN: nothing in both.

    Args:
        played: an agent in an environment.
        measure: one that adds up.
        stop: n, a recorded round; default: the last.
        factor: f; the two rounds are the recorded ones next to n / f and n / f^2, and where they are not just these,
            the exponent a is that of the power, or logarithm, with these three values.
        level: of the interval.

    Raises:
        ValueError: ``stop`` was not recorded, or too few rounds before it were.
    """
    stop = int(played.rounds[-1]) if stop is None else stop
    middle, first = nearest(played, stop / factor), nearest(played, stop / factor**2)
    if not first < middle < stop:
        raise ValueError(f"stop = {stop} has no two recorded rounds next to {stop / factor:g} and {stop / factor**2:g}")
    three = np.stack([played.at(measure, round) for round in (first, middle, stop)])
    added = each_row(played, np.diff(three, axis=0))  # nothing is exactly 0 here, and may not be after averaging
    exponent = _exponents(first, middle, stop)
    found = of_means(lambda both: exponent(both[..., 1] / both[..., 0]), added, level=level)
    return found._replace(method=f"{found.method}; between rounds {first:,}, {middle:,} and {stop:,}")


def crossing(one: Played, other: Played, measure: str = "regret", *, level: float = LEVEL) -> Estimate:
    """The round from which on, up to the last record, the mean curve of ``one`` is above that of ``other``.

    Between records the curves are straight. It is 0 where ``one`` is above at all records, and inf where it is not at
    the last one. The interval is a bootstrap's, as it is no smooth function of the means.

    Raises:
        ValueError: the two have not recorded the same rounds, or not played the same queries.
    """
    if not np.array_equal(one.rounds, other.rounds):
        raise ValueError(f"other = {other.agent!r} was recorded at other rounds; allowed: the same as {one.agent!r}")
    rounds = one.rounds.astype(np.float64)

    def last_crossing(above: NDArray[np.float64]) -> NDArray[np.float64]:
        below = above <= 0  # (resamples, records)
        last = above.shape[-1] - 1 - np.argmax(below[:, ::-1], axis=-1)  # the last record at which it is not above
        after = np.minimum(last + 1, above.shape[-1] - 1)
        each = np.arange(len(above))
        rise = above[each, after] - above[each, last]
        way = np.where(rise > 0, -above[each, last] / np.where(rise > 0, rise, 1), 0)
        found = rounds[last] + way * (rounds[after] - rounds[last])
        return np.where(below[:, -1], np.inf, np.where(below.any(axis=-1), found, 0.0))

    first, second = curves(one, measure), curves(other, measure)
    _check_paired((first, second))
    units = len(first.names)
    if np.isnan(first.values).any() or np.isnan(second.values).any():
        return Estimate(np.nan, 0.0, np.inf, f"not to be had: {measure} is unknown in some row")
    above = (first.values - second.values).T
    value = float(last_crossing(above.mean(axis=0, keepdims=True))[0])
    over = _counted_units(units, first.kind)
    if units < ENOUGH:
        return Estimate(value, 0.0, np.inf, f"no interval: {over} are too few for a bootstrap")
    low, high = _percentiles(last_crossing(_resampled(units, 0, RESAMPLES) / units @ above), units, level)
    return Estimate(value, low, high, f"paired bootstrap over {over}, {_percent(level)}")


def slope(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], *, within: bool = False, level: float = LEVEL
) -> Estimate:
    """The least-squares slope of y in x; clusters are resampled.

    Args:
        x, y: (points,).
        cluster: (points,) whole numbers: the query that a point is of. Points that have nothing in common are of
            clusters of their own: ``np.arange(points)``.
        within: x and y less the means of their cluster, so that what clusters differ in does not count.
        level: of the interval.

    Raises:
        ValueError: lengths differ, or x is the same everywhere.
    """
    design, y, cluster = _design(x, y, cluster, 1, within)
    return _regression(design, y, cluster, lambda found: found[..., -1], level, float(np.ptp(x)) / 2)


def curvature(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], *, within: bool = False, level: float = LEVEL
) -> Estimate:
    """How far y is from linear in x: of the least-squares parabola, (last slope - first slope) / mean slope.

    A line has 0, and x^2 from its vertex on 2; 1 says that the last slope is three times the first, -1 a third of it.
    Arguments and errors are those of ``slope``.
    """
    design, y, cluster = _design(x, y, cluster, 2, within)
    return _regression(design, y, cluster, lambda found: 4 * found[..., -1] / found[..., -2], level, 1.0)


def exact(value: float, method: str = "exact: counted, not estimated") -> Estimate:
    """A quantity that needs no estimate."""
    return Estimate(value, value, value, method)


def for_each_of(parts: int, level: float = LEVEL) -> float:
    """The level for each of ``parts`` intervals that are to be right together with ``level`` (Bonferroni).

    A claim of many parts holds only if all do, which needs no correction; but one of many parts may fail by chance.
    """
    return 1 - (1 - level) / parts


# -- a rank table -----------------------------------------------------------------------------------------------------


class RankTable(NamedTuple):
    """How agents rank over units, and whether that may be chance."""

    agents: list[str]  # best mean rank first
    mean_rank: NDArray[np.float64]  # (agents,) 1: the best in all units; ties share
    wins: NDArray[np.int64]  # (agents,) units in which it is the best alone
    friedman: float  # probability of ranks so far apart if all agents were alike
    wilcoxon: NDArray[np.float64]  # (agents, agents) the same of two agents, signed ranks, after Holm; NaN: itself
    units: int
    kind: str

    def lines(self) -> list[list[str]]:
        """A list of cells for each agent: name, mean rank, wins, probability of being like the first."""
        return [
            [
                agent,
                f"{self.mean_rank[number]:.2f}",
                f"{self.wins[number]}",
                "" if number == 0 else _probability(self.wilcoxon[0, number]),
            ]
            for number, agent in enumerate(self.agents)
        ]

    def head(self) -> list[str]:
        """What stands above the cells of ``lines``."""
        return ["agent", "mean rank", f"best of {self.units:,} {self.kind}", f"p against {self.agents[0]}"]

    def caption(self) -> str:
        """What the probabilities are."""
        return (
            f"Friedman's test over {_counted_units(self.units, self.kind)}: p {_probability(self.friedman, '= ')}. "
            "p against the first: Wilcoxon's signed-rank test, with Holm's correction for all pairs."
        )

    def markdown(self) -> str:
        rows = [self.head(), ["---", "---:", "---:", "---:"], *self.lines()]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{self.caption()}\n"


def rank_table(units: Mapping[str, Units], *, lower_is_better: bool = True) -> RankTable:
    """Rank agents in each unit (query), and compare the ranks.

    Args:
        units: by the agents' labels; at least two agents, with the same units, values (units,).
        lower_is_better: regret is; NDCG is not.

    Raises:
        ValueError: fewer than two agents, other units, or a value that is not known.
    """
    stats = _scipy()
    if len(units) < 2:
        raise ValueError(f"units has {len(units)} agents; allowed: at least two")
    samples = list(units.values())
    _check_paired(samples)
    labels = list(units)
    values = np.stack([sample.values for sample in samples]) * (1 if lower_is_better else -1)
    if not np.isfinite(values).all():
        raise ValueError("units has values that are unknown; allowed: numbers")
    ranks = stats.rankdata(values, axis=0)
    order = np.argsort(ranks.mean(axis=1), kind="stable")
    values, ranks = values[order], ranks[order]
    best = values == values.min(axis=0)
    number = len(labels)
    pairs = [(a, b) for a in range(number) for b in range(a + 1, number)]
    raw = np.array([_signed_ranks(values[a] - values[b]) for a, b in pairs])
    wilcoxon = np.full((number, number), np.nan)
    for (a, b), p in zip(pairs, _holm(raw), strict=True):
        wilcoxon[a, b] = wilcoxon[b, a] = p
    if number == 2:
        friedman = float(raw[0])  # of two agents the test is one of signs, and weaker
    elif values.shape[1] < 2 or len(np.unique(ranks)) == 1:
        friedman = 1.0
    else:
        friedman = float(stats.friedmanchisquare(*values).pvalue)
    return RankTable(
        [labels[n] for n in order],
        ranks.mean(axis=1),
        (best & (best.sum(axis=0) == 1)).sum(axis=1),
        friedman,
        wilcoxon,
        values.shape[1],
        samples[0].kind,
    )


def _signed_ranks(differences: NDArray[np.float64]) -> float:
    """The p-value of Wilcoxon's signed-rank test; 1 where nothing differs."""
    return float(_scipy().wilcoxon(differences).pvalue) if differences.any() else 1.0


def _holm(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's correction: the smallest p-value times their number, the next times one less, ..., never falling."""
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)))
    return corrected


def _probability(p: float, equals: str = "") -> str:
    return "< 0.0001" if p < 1e-4 else f"{equals}{p:.4f}" if p < 0.1 else f"{equals}{p:.2f}"


# -- how intervals are made -------------------------------------------------------------------------------------------


def _scipy() -> Any:
    from rankgym.extras import require

    return require("scipy.stats")


def _check_paired(units: Sequence[Units]) -> None:
    first = units[0]
    for other in units[1:]:
        if other.kind != first.kind or not np.array_equal(other.names, first.names):
            raise ValueError(
                f"{_counted_units(len(other.names), other.kind)} are not those of the first, "
                f"{_counted_units(len(first.names), first.kind)}; allowed: the same ones, or paired=False"
            )


def _weighted(weights: NDArray[np.float64], sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means (resamples, ...) of a sample (units, ...), with weights (resamples, units) that add up to 1."""
    return (weights @ sample.reshape(len(sample), -1)).reshape(len(weights), *sample.shape[1:])


@functools.lru_cache(maxsize=16)
def _resampled(units: int, stream: int, resamples: int) -> NDArray[np.int16]:
    """How often each unit is drawn, (resamples, units); the same for all estimates."""
    rng = np.random.default_rng([SEED, stream])
    counts = np.empty((resamples, units), np.int16)
    block = max(1, BLOCK // units)
    for start in range(0, resamples, block):
        part = counts[start : start + block]
        drawn = rng.integers(0, units, part.shape) + units * np.arange(len(part))[:, None]
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return counts


def _percentiles(found: NDArray[np.float64], units: int, level: float) -> tuple[float, float]:
    """Hesterberg's expanded percentile interval of the resampled values ``found``."""
    stats = _scipy()
    t = stats.t.ppf((1 + level) / 2, units - 1)
    tail = float(stats.norm.cdf(-t * np.sqrt(units / (units - 1))))
    unknown = np.isnan(found)  # what nobody knows may be anything
    low = np.quantile(np.where(unknown, -np.inf, found), tail, method="lower")
    high = np.quantile(np.where(unknown, np.inf, found), 1 - tail, method="higher")
    return float(low), float(high)


def _students(
    apply: Callable[[Sequence[NDArray[np.float64]]], NDArray[np.float64]],
    value: float,
    sizes: Sequence[int],
    paired: bool,
    level: float,
) -> tuple[float, float]:
    """``value`` and Student's t times the jackknife's standard error, to either side."""
    variance = 0.0
    for number, size in enumerate(sizes[:1] if paired else sizes):
        without = (1 - np.eye(size)) / (size - 1)  # (left out, units)
        others = [np.full((size, other), 1 / other) for other in sizes]
        weights = [without] * len(sizes) if paired else [*others[:number], without, *others[number + 1 :]]
        found = apply(weights)
        if not np.isfinite(found).all() or not np.isfinite(value):
            return -np.inf, np.inf
        variance += (size - 1) / size * float(((found - found.mean()) ** 2).sum())
    reach = float(_scipy().t.ppf((1 + level) / 2, min(sizes) - 1)) * np.sqrt(variance)
    return value - reach, value + reach


def _counted_units(number: int, kind: str) -> str:
    """ "60 queries", "1 query"."""
    return f"{number:,} {ONE.get(kind, kind) if number == 1 else kind}"


def _percent(level: float) -> str:
    return f"{100 * level:.6g} %"


def _exponents(first: int, middle: int, stop: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """From (R(stop) - R(middle)) / (R(middle) - R(first)) to the a of R = c + t^a.

    Where the rounds are n, n / f, n / f^2 it is log(quotient) / log f; recorded rounds are only near these, and the
    quotient of a power of t is a smooth rising function of its exponent, which is turned round on a grid.
    """
    exponents = np.linspace(-6, 6, 2401) + 1e-9  # not 0, where the power is constant and the logarithm its limit
    quotients = (np.power(stop / middle, exponents) - 1) / (1 - np.power(first / middle, exponents))

    def turned(quotient: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = np.interp(np.log(quotient), np.log(quotients), exponents)
        outside = np.where(quotient < quotients[0], -np.inf, np.inf)
        known = np.where((quotient >= quotients[0]) & (quotient <= quotients[-1]), inside, outside)
        return np.where(np.isnan(quotient), np.nan, known)

    return turned


def _design(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], degree: int, within: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """Powers (points, terms) of x, moved and shrunk to -1 .. 1; without the constant where clusters' means are out."""
    x, y, cluster = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(cluster)
    if x.ndim != 1 or x.shape != y.shape or x.shape != cluster.shape:
        raise ValueError(f"x, y, cluster = arrays {x.shape}, {y.shape}, {cluster.shape}; allowed: (points,) each")
    if len(np.unique(x)) <= degree:
        raise ValueError(f"x = {np.unique(x)} has too few different values; allowed: at least {degree + 1}")
    scaled = (x - (x.max() + x.min()) / 2) / (np.ptp(x) / 2)
    design = np.stack([scaled**power for power in range(degree + 1)], axis=-1)
    if within:
        _, which = np.unique(cluster, return_inverse=True)
        sizes = np.bincount(which)
        design = design[:, 1:]
        design = design - np.stack([np.bincount(which, column) / sizes for column in design.T], axis=-1)[which]
        y = y - (np.bincount(which, y) / sizes)[which]
    return design, y, cluster


def _regression(
    design: NDArray[np.float64],
    y: NDArray[np.float64],
    cluster: NDArray[Any],
    quantity: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    level: float,
    scale: float,
) -> Estimate:
    """A function of least-squares coefficients (..., terms), by ``scale``. What clusters add to the normal equations
    are the units.
    """
    names, which = np.unique(cluster, return_inverse=True)
    units = np.arange(len(names))
    terms = design.shape[1]
    both = np.concatenate([design, y[:, None]], axis=1)
    products = both[:, :-1, None] * both[:, None, :]  # (points, terms, terms + 1)
    flat = products.reshape(len(y), -1)
    sums: NDArray[np.float64] = np.stack(
        [np.bincount(which, column) for column in flat.T]
    )  # (terms * (terms + 1), clusters)

    def of_sums(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        equations = totals.reshape(*totals.shape[:-1], terms, terms + 1)
        inverse = np.linalg.pinv(equations[..., :-1], hermitian=True)  # resamples may leave too few different x
        return quantity((inverse @ equations[..., -1:])[..., 0]) / scale

    alone = len(names) == len(y)
    found = of_means(of_sums, Units(sums, units, "points" if alone else "queries"), level=level)
    return found._replace(method=f"least squares, {found.method}")
