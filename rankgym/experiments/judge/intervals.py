"""Estimates with confidence intervals: means, differences, ratios, shares, growth exponents and crossings.

All but shares are functions of means over units, so one bootstrap serves all (``of_means``). Its percentile interval is
widened in the proportion of Student's t to the normal distribution (Hesterberg, What Teachers Should Know about the
Bootstrap, 2015); otherwise intervals over few units are far too narrow. Compared with percentile, BCa and studentized
intervals, its coverage was nearest to its level, on normal and skewed units, differences and ratios. Below ten units
the interval is Student's t with the jackknife's standard error.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.units import Units, check_paired, counted_units, curves, each_row
from rankgym.experiments.run.results import Played
from rankgym.extras import require

LEVEL = 0.99  # of a confidence interval, unless another one is given
RESAMPLES = 20_000
FEWEST = 10  # units of a bootstrap
BLOCK = 4_000_000  # weights that are held at once
SEED = 2019  # of the resampling: the same results have the same intervals


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float  # NaN: unknown
    low: float
    high: float
    method: str  # "paired bootstrap over 60 queries, 99 %"


def mean(units: Units, *, level: float = LEVEL) -> Estimate:
    """Estimate the mean over units."""
    return of_means(lambda average: average, units, level=level)


def difference(one: Units, other: Units, *, paired: bool = True, level: float = LEVEL) -> Estimate:
    """Estimate the mean of ``one`` minus the mean of ``other``. ``paired`` and errors are those of ``of_means``."""
    return of_means(lambda first, second: first - second, one, other, paired=paired, level=level)


def differences(one: Units, others: Sequence[Units], *, level: float = LEVEL) -> list[Estimate]:
    """Estimate the paired difference of ``one`` from each of ``others``, as ``difference`` does, but resampled once."""
    size, values = len(one.names), np.array([one.values - other.values for other in others]).reshape(len(others), -1)
    check_paired([one, *others])
    plain = np.isnan(values).any(axis=1) | (values == values[:, :1]).all(axis=1)
    if size < FEWEST or plain.all():
        return [difference(one, other, level=level) for other in others]
    found = _resampled(size, 0, RESAMPLES) / size @ np.where(np.isnan(values), 0.0, values).T  # (resamples, others)
    method = f"paired bootstrap over {counted_units(size, one.kind)}, {_percent(level)}"
    return [
        difference(one, other, level=level)
        if plain[place]
        else Estimate(float(values[place].mean()), *_percentiles(found[:, place], size, level), method)
        for place, other in enumerate(others)
    ]


def ratio(one: Units, other: Units, *, paired: bool = True, level: float = LEVEL) -> Estimate:
    """Estimate the mean of ``one`` divided by that of ``other``. ``paired`` and errors are those of ``of_means``."""
    return of_means(lambda first, second: first / second, one, other, paired=paired, level=level)


def of_means(function: Callable[..., Any], *units: Units, paired: bool = True, level: float = LEVEL) -> Estimate:
    """Estimate a smooth function of means over units.

    If all units are equal, the interval has no width and says nothing about other units; for values 0 or 1 use
    ``share``.

    Args:
        function: takes one array of means (resamples, ...) for each of ``units``, returns numbers (resamples,). For
            curves, ``means[..., record]`` is the mean after a record.
        units: samples; values (..., units).
        paired: True if all have the same units, which are resampled together; otherwise independently.
        level: of the interval, 0.5 <= ``level`` < 1.

    Raises:
        ValueError: a sample is empty, the level is out of range, or ``paired`` and the units differ.
    """
    if not 0.5 <= level < 1:
        raise ValueError(f"level = {level} is out of range; allowed: 0.5 <= level < 1")
    if not units or any(len(sample.names) == 0 for sample in units):
        raise ValueError("units has an empty sample; allowed: at least one unit in each")
    if paired:
        check_paired(units)
    samples = [np.moveaxis(np.asarray(sample.values, np.float64), -1, 0) for sample in units]

    def of(averages: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(function(*averages), np.float64)

    def of_weighted(weights: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
        return of(map(_weighted, weights, samples))

    sizes = [len(sample) for sample in samples]
    alike = all((sample == sample[0]).all() for sample in samples)
    value = float(of(sample[:1] if alike else sample.mean(axis=0, keepdims=True) for sample in samples)[0])
    how = "paired " if paired and len(units) > 1 else ""
    over = counted_units(sizes[0], units[0].kind)
    if not paired and len(units) > 1:
        over = " + ".join(f"{size:,}" for size in sizes) + f" {units[0].kind}"
    if np.isnan(value):
        return Estimate(value, -np.inf, np.inf, f"undefined: a mean over {over} is unknown, or 0/0")
    if min(sizes) == 1:
        return Estimate(value, -np.inf, np.inf, f"no interval: {over}")
    if alike:  # rounding would give the interval a width
        return Estimate(value, value, value, f"{over}, all alike")
    if min(sizes) < FEWEST:
        low, high = _students(of_weighted, value, sizes, paired, level)
        return Estimate(value, low, high, f"{how}Student's t by the jackknife over {over}, {_percent(level)}")
    drawn = [_resampled(size, 0 if paired else number, RESAMPLES) for number, size in enumerate(sizes)]
    block = max(1, BLOCK // max(sizes))
    starts = range(0, RESAMPLES, block)
    found = [of_weighted(counts[n : n + block] / counts.shape[1] for counts in drawn) for n in starts]
    low, high = _percentiles(np.concatenate(found), min(sizes), level)
    return Estimate(value, low, high, f"{how}bootstrap over {over}, {_percent(level)}")


def share(holds: Callable[..., Any], *units: Units, level: float = LEVEL) -> Estimate:
    """Estimate the share of the units for which ``holds`` is true, as ``proportion`` does.

    ``holds`` takes one array (units,) for each of ``units`` and returns bool (units,), such as ``lambda a, b: a < b``.
    Samples with different units are a ValueError.
    """
    check_paired(units)
    found = np.asarray(holds(*(sample.values for sample in units)), bool)
    return proportion(int(found.sum()), len(found), units[0].kind, level=level)


def proportion(successes: int, trials: int, kind: str = "trials", *, level: float = LEVEL) -> Estimate:
    """Estimate ``successes / trials``, with Clopper and Pearson's interval.

    It assumes independent trials: queries or runs are independent, rounds of one run are not. If none of n trials
    succeeds, the upper end is 1 - ((1 - level) / 2) ** (1 / n), about 5.3 / n at 99 %: a two-sided rule of three.

    Raises:
        ValueError: ``trials`` is 0 or less than ``successes``.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"successes = {successes} of {trials} trials; allowed: 0 .. trials, and at least one trial")
    found = require("scipy.stats").binomtest(successes, trials).proportion_ci(level, method="exact")
    method = f"Clopper and Pearson over {counted_units(trials, kind)}, {_percent(level)}"
    return Estimate(successes / trials, float(found.low), float(found.high), method)


def growth(played: Played, measure: str = "regret", *, start: int, stop: int, level: float = LEVEL) -> Estimate:
    """Estimate the growth exponent of the mean curve: d log R / d log t between two recorded rounds.

    A linear R has 1, a square root 0.5, c log t about 1 / ln t (0.07 between 0.5 M and 5 M rounds), and a constant 0. A
    costly start makes the exponent smaller. The measure must be cumulative.

    Raises:
        ValueError: a round was not recorded, or ``start`` is not before ``stop``.
    """
    if not 0 < start < stop:
        raise ValueError(f"start = {start} is not before stop = {stop}; allowed: 0 < start < stop")
    both = each_row(played, np.stack([played.at(measure, start), played.at(measure, stop)]))
    found = of_means(lambda at: np.log(at[..., 1] / at[..., 0]) / np.log(stop / start), both, level=level)
    return found._replace(method=f"{found.method}; from round {start:,} to {stop:,}")


def crossing(one: Played, other: Played, measure: str = "regret", *, level: float = LEVEL) -> Estimate:
    """Estimate the round after which the mean curve of ``one`` stays above that of ``other``.

    Between records the curves are straight. The result is 0 if ``one`` is above at all records, and inf if it is not
    above at the last one. The interval is always a bootstrap's, as the round is not a smooth function of the means.

    Raises:
        ValueError: the two have different recorded rounds or queries.
    """
    if not np.array_equal(one.rounds, other.rounds):
        raise ValueError(f"other = {other.agent!r} was recorded at other rounds; allowed: the same as {one.agent!r}")
    rounds = one.rounds.astype(np.float64)

    def last_crossing(above: NDArray[np.float64]) -> NDArray[np.float64]:
        below = above <= 0  # (resamples, records)
        last = above.shape[-1] - 1 - np.argmax(below[:, ::-1], axis=-1)  # the last record at which ``one`` is not above
        after = np.minimum(last + 1, above.shape[-1] - 1)
        each = np.arange(len(above))
        rise = above[each, after] - above[each, last]
        way = np.where(rise > 0, -above[each, last] / np.where(rise > 0, rise, 1), 0)
        found = rounds[last] + way * (rounds[after] - rounds[last])
        return np.where(below[:, -1], np.inf, np.where(below.any(axis=-1), found, 0.0))

    first, second = curves(one, measure), curves(other, measure)
    check_paired((first, second))
    units = len(first.names)
    if np.isnan(first.values).any() or np.isnan(second.values).any():
        return Estimate(np.nan, 0.0, np.inf, f"undefined: {measure} is unknown in some row")
    above = (first.values - second.values).T
    value = float(last_crossing(above.mean(axis=0, keepdims=True))[0])
    over = counted_units(units, first.kind)
    if units < FEWEST:
        return Estimate(value, 0.0, np.inf, f"no interval: {over} are too few for a bootstrap")
    low, high = _percentiles(last_crossing(_resampled(units, 0, RESAMPLES) / units @ above), units, level)
    return Estimate(value, low, high, f"paired bootstrap over {over}, {_percent(level)}")


def for_each_of(parts: int, level: float = LEVEL) -> float:
    """Return the level of each of ``parts`` intervals that cover together with ``level`` (Bonferroni)."""
    return 1 - (1 - level) / parts


def _weighted(weights: NDArray[np.float64], sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means (resamples, ...) of a sample (units, ...); the weights (resamples, units) of each add up to 1."""
    return (weights @ sample.reshape(len(sample), -1)).reshape(len(weights), *sample.shape[1:])


@functools.lru_cache(maxsize=16)
def _resampled(units: int, stream: int, resamples: int) -> NDArray[np.int16]:
    """Draw units with replacement; return how often each was drawn (resamples, units), the same for all estimates."""
    rng = np.random.default_rng([SEED, stream])
    counts = np.empty((resamples, units), np.int16)
    block = max(1, BLOCK // units)
    for start in range(0, resamples, block):
        part = counts[start : start + block]
        drawn = rng.integers(0, units, part.shape) + units * np.arange(len(part))[:, None]
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return counts


def _percentiles(found: NDArray[np.float64], units: int, level: float) -> tuple[float, float]:
    """Return Hesterberg's expanded percentile interval of the resampled values ``found``."""
    stats = require("scipy.stats")
    t = stats.t.ppf((1 + level) / 2, units - 1)
    tail = float(stats.norm.cdf(-t * np.sqrt(units / (units - 1))))
    unknown = np.isnan(found)  # an unknown value may be any number
    low = np.quantile(np.where(unknown, -np.inf, found), tail, method="lower")
    high = np.quantile(np.where(unknown, np.inf, found), 1 - tail, method="higher")
    return float(low), float(high)


def _students(
    of_weighted: Callable[..., Any], value: float, sizes: Sequence[int], paired: bool, level: float
) -> tuple[float, float]:
    """Return the interval ``value`` ± Student's t times the jackknife's standard error."""
    variance = 0.0
    for number, size in enumerate(sizes[:1] if paired else sizes):
        without = (1 - np.eye(size)) / (size - 1)  # (left out, units)
        others = [np.full((size, other), 1 / other) for other in sizes]
        weights = [without] * len(sizes) if paired else [*others[:number], without, *others[number + 1 :]]
        found = of_weighted(weights)
        if not np.isfinite(found).all() or not np.isfinite(value):
            return -np.inf, np.inf
        variance += (size - 1) / size * float(((found - found.mean()) ** 2).sum())
    reach = float(require("scipy.stats").t.ppf((1 + level) / 2, min(sizes) - 1)) * np.sqrt(variance)
    return value - reach, value + reach


def _percent(level: float) -> str:
    return f"{100 * level:.6g} %"
