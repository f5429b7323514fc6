"""The script that drew the calibrated queries: ``python -m rankgym.data.make_calibrated``.

It writes ``yandex_calibrated.npz`` beside this file: 100 synthetic queries for CM, PBM, DCM, DBN, UBM and CCM, without
any user's clicks. Only the ``FIT_STATISTICS`` below were taken from the published fits of 60 Yandex queries;
``--estimate FILE`` prints them again from a copy of the fits.

The model behind the draw
-------------------------
A query has, in each click model, an attraction probability for each of its ten items, in the order of the production
result page. Their logits are, up to a shift and a scale for each rank and model,

    first item     f                            how well the top result serves the query
    other items    sqrt(c) t + s r              their common level t, and each item's own relevance r
                   s ~ exp(a t + b w)           how uneven they are: in some queries one item stands out

CM, PBM and DCM are drawn jointly:

* f and t of the three models are jointly normal with the estimated correlations, so that one query's models agree with
  each other; t is bent afterwards to the skewness of the fits: in a few queries hardly anything below the first item is
  clicked.
* r is shared: a model sees the item's latent relevance u as l u + sqrt(1 - l^2) e with noise e of its own.
* w, shared by the models, is normal; c, a, b and l are one number a model.

Version 2 draws DBN, UBM and CCM, from random numbers of their own, each beside the earlier model whose fits are most
like its own: DBN beside DCM, UBM beside PBM, CCM beside DBN. Its f is that model's f (they correlate at .996 and more),
its t has the estimated correlations with that f and that t, and its r is correlated with that model's r.

The DBN also has the satisfaction of each item. At each rank its logit has its own correlation with the DBN's f (first
rank) or t and r (others): the better a top result, the more it satisfies; further down it is the other way round. What
these leave unexplained is correlated among ranks by one number; then it is bent as t is.

Shift and scale are solved for: by rank, the 100 drawn queries have exactly the mean and the standard deviation of the
60 published ones' attraction and satisfaction probabilities. For the same reason f, t and w have exactly mean 0,
variance 1 and their correlations within the sample.

The rest is random, and regret is sensitive to it: the published queries' own mean regret of BubbleRank has a standard
error of 10 to 25 %. So the seeds below were chosen by ``search`` (``--search FILE``); see docs/calibration.md.

Random numbers are Python's Mersenne Twister through the inverse normal distribution, and results are rounded to six
decimals: the file does not depend on the versions of libraries nor on the machine.
"""

import argparse
import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from rankgym.data import yandex
from rankgym.data.matrices import Array

VERSION = 2
SEED, SEED_BESIDE = 263, 85
QUERIES, RANKS = 100, 10
JOINT = ("CM", "PBM", "DCM")  # drawn jointly, in version 1 as well
BESIDE = {"DBN": "DCM", "UBM": "PBM", "CCM": "DBN"}  # since version 2, each beside one that was drawn before it
MODELS = (*JOINT, *BESIDE)
DECIMALS = 6  # of the probabilities in the file
CONTINUATIONS = tuple(f"ccm_{name}" for name in yandex.CONTINUATIONS)
LOG_SPREAD_NOISE = 0.071  # variance of the logarithm of a standard deviation from 9 values: trigamma(4) / 4


FIT_STATISTICS = SimpleNamespace(  # of the published fits; lists are by MODELS, in which attraction is by rank
    mean=[
        [0.404, 0.204, 0.125, 0.082, 0.069, 0.055, 0.045, 0.048, 0.05, 0.052],
        [0.403, 0.217, 0.188, 0.164, 0.145, 0.153, 0.123, 0.144, 0.142, 0.152],
        [0.415, 0.278, 0.218, 0.177, 0.158, 0.152, 0.12, 0.133, 0.13, 0.135],
        [0.402, 0.221, 0.158, 0.115, 0.095, 0.085, 0.068, 0.067, 0.069, 0.065],
        [0.406, 0.231, 0.225, 0.195, 0.175, 0.189, 0.152, 0.178, 0.179, 0.191],
        [0.392, 0.218, 0.157, 0.119, 0.099, 0.09, 0.071, 0.072, 0.072, 0.07],
    ],
    # standard deviation over queries
    deviation=[
        [0.218, 0.153, 0.095, 0.062, 0.069, 0.049, 0.061, 0.054, 0.061, 0.062],
        [0.211, 0.146, 0.123, 0.115, 0.093, 0.102, 0.093, 0.11, 0.112, 0.133],
        [0.213, 0.165, 0.123, 0.11, 0.11, 0.099, 0.098, 0.103, 0.11, 0.102],
        [0.214, 0.148, 0.106, 0.077, 0.072, 0.062, 0.069, 0.058, 0.072, 0.058],
        [0.21, 0.15, 0.142, 0.118, 0.099, 0.101, 0.097, 0.106, 0.119, 0.139],
        [0.211, 0.139, 0.1, 0.079, 0.074, 0.067, 0.067, 0.064, 0.075, 0.063],
    ],
    # c: mean correlation of the logits among ranks 2 .. 10
    common=[0.36, 0.63, 0.63, 0.59, 0.51, 0.59],
    # a: of the logarithm of a query's unevenness on its level
    slope=[0.02, -0.25, -0.23, -0.2, -0.25, -0.22],
    # b: standard deviation of what the level leaves unexplained in it
    uneven=[0.2, 0.33, 0.37, 0.3, 0.31, 0.3],
    # by JOINT: l, the correlation of a model's r with the relevance shared by the models
    loading=[0.82, 0.96, 1.0],
    # of (f, t) of CM, (f, t) of PBM, (f, t) of DCM
    correlation=[
        [1.0, 0.253, 0.99, -0.177, 0.995, 0.296],
        [0.253, 1.0, 0.311, 0.822, 0.306, 0.97],
        [0.99, 0.311, 1.0, -0.115, 0.99, 0.351],
        [-0.177, 0.822, -0.115, 1.0, -0.135, 0.853],
        [0.995, 0.306, 0.99, -0.135, 1.0, 0.343],
        [0.296, 0.97, 0.351, 0.853, 0.343, 1.0],
    ],
    # k, of all models: a normal x becomes x - k (x^2 - 1), scaled; its skewness is about -6 k
    bend=0.14,
    # by BESIDE: correlations of t with the other model's f, with its t; of r with its r
    beside=[[0.1, 0.959, 0.986], [-0.026, 0.994, 0.98], [0.132, 0.996, 0.998]],
    # DBN, by rank
    satisfaction_mean=[0.351, 0.186, 0.133, 0.118, 0.131, 0.118, 0.119, 0.125, 0.142, 0.142],
    satisfaction_deviation=[0.232, 0.145, 0.099, 0.099, 0.11, 0.076, 0.07, 0.066, 0.062, 0.061],
    # correlation of satisfaction's logit with f at rank 1, with t at the other ranks; and with r, ranks 2 .. 10
    satisfaction_level=[0.74, 0.27, -0.09, -0.25, -0.21, -0.34, -0.41, -0.44, -0.34, -0.31],
    satisfaction_own=[0.34, 0.18, -0.02, -0.04, -0.04, -0.16, -0.08, -0.15, -0.01],
    # mean correlation among ranks of what these leave unexplained in the logit
    satisfaction_common=0.33,
    abandonment=0.0,
    # of PBM and DCM, by position
    examination=[1.0, 0.959, 0.761, 0.592, 0.457, 0.386, 0.331, 0.284, 0.262, 0.267],
    termination=[0.656, 0.487, 0.461, 0.463, 0.456, 0.471, 0.503, 0.548, 0.654, 1.0],
    # UBM, by position k: after a click at 1, ..., at k - 1, and after none
    browsing=[
        [1.0],
        [0.99, 0.885],
        [0.461, 1.0, 0.523],
        [0.249, 0.659, 1.0, 0.356],
        [0.15, 0.384, 0.713, 1.0, 0.243],
        [0.101, 0.257, 0.459, 0.762, 1.0, 0.188],
        [0.072, 0.176, 0.292, 0.488, 0.782, 1.0, 0.156],
        [0.054, 0.121, 0.207, 0.317, 0.517, 0.792, 0.999, 0.117],
        [0.039, 0.09, 0.16, 0.244, 0.38, 0.573, 0.873, 0.999, 0.097],
        [0.035, 0.084, 0.131, 0.2, 0.304, 0.449, 0.669, 0.961, 1.0, 0.094],
    ],
    # CCM: after no click, after one on an irrelevant item, after one on a relevant item
    continuation=[1.0, 0.941, 0.0],
)


class Latent(NamedTuple):
    """What one model's attraction probabilities are made of, before bending and scaling."""

    first: Array  # (queries, 1): f
    level: Array  # (queries, 1): t
    relevance: Array  # (queries, 9): r


def draw(seed: int = SEED, seed_beside: int = SEED_BESIDE) -> dict[str, Array]:
    """The queries of two seeds, the first for CM, PBM and DCM, and the parameters that all queries share.

    That is, ``<model>_attraction`` (100, 10) of each model and ``dbn_satisfaction`` (100, 10), both by item;
    ``pbm_examination`` (10,), ``dcm_termination`` (10,), ``ubm_examination`` (10, 10), ``dbn_abandonment`` (1,) and the
    three ``ccm_continue_...`` (1,).
    """
    raw, latent = _joint(normals(random.Random(seed)))
    normal = normals(random.Random(f"beside {seed_beside}"))
    latent |= _beside(normal, raw, latent)
    drawn = {}
    for m, model in enumerate(MODELS):
        first, level, relevance = latent[model]
        level = _standardised(_bent(level, FIT_STATISTICS.bend))
        scale = np.exp(FIT_STATISTICS.slope[m] * level + FIT_STATISTICS.uneven[m] * raw[:, -1:])
        scale *= math.sqrt((1.0 - FIT_STATISTICS.common[m]) / (scale**2).mean())
        shape = _standardised(np.hstack([first, math.sqrt(FIT_STATISTICS.common[m]) * level + scale * relevance]))
        matched = _matched(shape, np.array(FIT_STATISTICS.mean[m]), np.array(FIT_STATISTICS.deviation[m]))
        drawn[f"{model.lower()}_attraction"] = np.round(matched, DECIMALS)
        if model == "DBN":
            drawn["dbn_satisfaction"] = _satisfaction(normal, first, level, scale * relevance)
    drawn["pbm_examination"] = np.array(FIT_STATISTICS.examination)
    drawn["dcm_termination"] = np.array(FIT_STATISTICS.termination)
    drawn["dbn_abandonment"] = np.array([FIT_STATISTICS.abandonment])
    drawn["ubm_examination"] = _browsing_table(FIT_STATISTICS.browsing)
    return drawn | {
        name: np.array([value]) for name, value in zip(CONTINUATIONS, FIT_STATISTICS.continuation, strict=True)
    }


def normals(source: random.Random) -> Callable[..., Array]:
    """A function that draws standard normal numbers from ``source``, in an array of the given shape."""
    inverse = NormalDist().inv_cdf

    def normal(*shape: int) -> Array:
        return np.array([inverse(1.0 - source.random()) for _ in range(math.prod(shape))]).reshape(shape)

    return normal


def _joint(normal: Callable[..., Array]) -> tuple[Array, dict[str, Latent]]:
    """CM, PBM and DCM, and the white columns that their levels are made of: two a model, and the last is w."""
    raw = _whitened(normal(QUERIES, 2 * len(JOINT) + 1))
    levels = raw[:, :-1] @ np.linalg.cholesky(np.array(FIT_STATISTICS.correlation)).T
    relevance, noise = normal(QUERIES, RANKS - 1), normal(len(JOINT), QUERIES, RANKS - 1)
    latent = {}
    for m, model in enumerate(JOINT):
        seen = FIT_STATISTICS.loading[m] * relevance + math.sqrt(1.0 - FIT_STATISTICS.loading[m] ** 2) * noise[m]
        latent[model] = Latent(levels[:, [2 * m]], levels[:, [2 * m + 1]], seen)
    return raw, latent


def _beside(normal: Callable[..., Array], raw: Array, joint: dict[str, Latent]) -> dict[str, Latent]:
    """DBN, UBM and CCM, with levels that are uncorrelated with ``raw`` but for what they share with the others."""
    own = _whitened(np.hstack([raw, normal(QUERIES, len(BESIDE))]))[:, raw.shape[1] :]
    noise = normal(len(BESIDE), QUERIES, RANKS - 1)
    latent = dict(joint)
    for m, (model, other) in enumerate(BESIDE.items()):
        first, level, relevance = latent[other]
        *wanted, agreement = FIT_STATISTICS.beside[m]
        same = (first * level).mean()  # a correlation: both have mean 0 and variance 1
        shares = np.linalg.solve(np.array([[1.0, same], [same, 1.0]]), wanted)
        rest = math.sqrt(1.0 - shares @ wanted)
        latent[model] = Latent(
            first,
            shares[0] * first + shares[1] * level + rest * own[:, [m]],
            agreement * relevance + math.sqrt(1.0 - agreement**2) * noise[m],
        )
    return latent


def _satisfaction(normal: Callable[..., Array], first: Array, level: Array, own: Array) -> Array:
    """Satisfaction (queries, 10) of the DBN, given what its logits of attraction are made of."""
    by_level, by_own = np.array(FIT_STATISTICS.satisfaction_level), np.array([0.0, *FIT_STATISTICS.satisfaction_own])
    common = FIT_STATISTICS.satisfaction_common
    rest = math.sqrt(common) * normal(QUERIES, 1) + math.sqrt(1.0 - common) * normal(QUERIES, RANKS)
    levels = np.hstack([first, np.repeat(level, RANKS - 1, axis=1)])
    explained = by_level * levels + by_own * np.hstack([np.zeros((QUERIES, 1)), _standardised(own)])
    rest -= explained * (rest * explained).mean(0) / (explained**2).mean(0)  # no chance correlations
    shape = _standardised(explained + np.sqrt(1.0 - by_level**2 - by_own**2) * _standardised(rest))
    shape = _standardised(_bent(shape, FIT_STATISTICS.bend))
    matched = _matched(
        shape, np.array(FIT_STATISTICS.satisfaction_mean), np.array(FIT_STATISTICS.satisfaction_deviation)
    )
    return np.round(matched, DECIMALS)


def _browsing_table(browsing: list[list[float]]) -> Array:
    """UBM's examination (10, 10): row = position, column = position of the previous click, the last one: none yet.

    What cannot be reached, a previous click at or below the position, is 0.
    """
    table = np.zeros((RANKS, RANKS))
    for k, (*after_click, after_none) in enumerate(browsing):
        table[k, :k], table[k, -1] = after_click, after_none
    return table


def _bent(x: Array, bend: float) -> Array:
    return x - bend * (x**2 - 1.0)


def _standardised(x: Array) -> Array:
    return (x - x.mean(0)) / x.std(0)


def _whitened(x: Array) -> Array:
    """``x`` (queries, columns) with mean 0, variance 1 and no correlation within the sample."""
    x = x - x.mean(0)
    return np.linalg.solve(np.linalg.cholesky(x.T @ x / len(x)), x.T).T


def _matched(shape: Array, mean: Array, deviation: Array) -> Array:
    """Probabilities whose logits are ``shift + scale * shape``, with this mean and standard deviation in each column.

    Newton's method in the shift and the scale of each column.
    """
    shift, scale = np.log(mean / (1.0 - mean)), np.ones_like(mean)
    for _ in range(100):
        probability = 1.0 / (1.0 + np.exp(-shift - scale * shape))
        centred = probability - probability.mean(0)
        misses = np.stack([mean - probability.mean(0), deviation - probability.std(0)], axis=-1)
        if np.abs(misses).max() < 1e-13:
            return probability
        slopes = np.stack([np.ones_like(shape), shape]) * probability * (1.0 - probability)  # by shift, by scale
        of_mean, of_deviation = slopes.mean(1), (slopes * centred).mean(1) / probability.std(0)
        jacobian = np.stack([of_mean, of_deviation], axis=-1)  # (2 unknowns, ranks, 2 equations)
        change = np.linalg.solve(jacobian.transpose(1, 2, 0), misses[..., None])[..., 0]
        change /= np.maximum(1.0, np.abs(change).max(1, keepdims=True) / 0.3)  # no wild first step
        shift += change[:, 0]
        scale += change[:, 1]
    raise RuntimeError("no logits of this shape have these means and standard deviations")


def estimate(published: Mapping[str, Array]) -> SimpleNamespace:
    """The figures of converted published queries, rounded as they stand in ``FIT_STATISTICS``."""
    attraction = [published[f"{model.lower()}_attraction"] for model in MODELS]
    logits = [_standardised(_logits(a)) for a in attraction]
    levels = [z[:, 1:].mean(1) for z in logits]
    residuals = [z[:, 1:] - t[:, None] for z, t in zip(logits, levels, strict=True)]
    common, slope, uneven, skewness = [], [], [], []
    for z, level, residual in zip(logits, levels, residuals, strict=True):
        common.append(_mean_correlation(z[:, 1:]))
        skewness.append((_standardised(level) ** 3).mean() * (level.var() / common[-1]) ** 1.5)
        spread = np.log(residual.std(1, ddof=1))
        line = np.polyfit(_standardised(level), spread, 1)
        slope.append(line[0])
        unexplained = (spread - np.polyval(line, _standardised(level))).var()
        uneven.append(math.sqrt(max(unexplained - LOG_SPREAD_NOISE, 0.0)))
    agreement = _agreement(residuals, levels, slope, uneven)
    correlation = _correlations([z[:, 0] for z in logits], levels, residuals, common)
    beside = []
    for model, other in BESIDE.items():
        m, n = MODELS.index(model), MODELS.index(other)
        beside.append([*correlation[2 * m + 1, [2 * n, 2 * n + 1]], agreement[m, n]])
    joint, dbn = len(JOINT), MODELS.index("DBN")
    satisfaction = published["dbn_satisfaction"]
    by_level, by_own, unexplained = _explained(satisfaction, logits[dbn][:, 0], levels[dbn], residuals[dbn])
    return SimpleNamespace(
        mean=[np.round(a.mean(0), 3).tolist() for a in attraction],
        deviation=[np.round(a.std(0), 3).tolist() for a in attraction],
        common=np.round(common, 2).tolist(),
        slope=np.round(slope, 2).tolist(),
        uneven=np.round(uneven, 2).tolist(),
        loading=np.round(_loadings(agreement[:joint, :joint]), 2).tolist(),
        correlation=np.round(correlation[: 2 * joint, : 2 * joint], 3).tolist(),
        bend=round(-float(np.mean(skewness[:joint])) / 6.0, 2),
        beside=np.round(beside, 3).tolist(),
        satisfaction_mean=np.round(satisfaction.mean(0), 3).tolist(),
        satisfaction_deviation=np.round(satisfaction.std(0), 3).tolist(),
        satisfaction_level=np.round(by_level, 2).tolist(),
        satisfaction_own=np.round(by_own, 2).tolist(),
        satisfaction_common=round(_mean_correlation(unexplained), 2),
        abandonment=round(float(published["dbn_abandonment"][0]), 3),
        examination=np.round(published["pbm_examination"], 3).tolist(),
        termination=np.round(published["dcm_termination"], 3).tolist(),
        browsing=[np.round([*row[:k], row[-1]], 3).tolist() for k, row in enumerate(published["ubm_examination"])],
        continuation=[round(float(published[name][0]), 3) for name in CONTINUATIONS],
    )


def _logits(probability: Array) -> Array:
    return np.log(probability / (1.0 - probability))


def _mean_correlation(x: Array) -> float:
    """Of the columns of ``x`` with each other."""
    correlations = np.asarray(np.corrcoef(x.T))
    return float(correlations[np.triu_indices(len(correlations), 1)].mean())


def _agreement(residuals: list[Array], levels: list[Array], slope: list[float], uneven: list[float]) -> Array:
    """The correlations of the models' r: those of the residuals, raised by what different unevenness costs.

    The models' scales s are log-normal, so it costs exp(-var(log s1 - log s2) / 2).
    """
    agree = np.asarray(np.corrcoef([r.ravel() for r in residuals]))
    same = np.asarray(np.corrcoef(levels))
    for i, j in np.ndindex(agree.shape):
        apart = slope[i] ** 2 + slope[j] ** 2 - 2.0 * slope[i] * slope[j] * same[i, j] + (uneven[i] - uneven[j]) ** 2
        agree[i, j] *= math.exp(apart / 2.0)
    return agree


def _loadings(agree: Array) -> list[float]:
    """One shared factor behind the correlations of three models: l1^2 = r12 r13 / r23."""
    triples = (0, 1, 2), (1, 0, 2), (2, 0, 1)
    return [math.sqrt(min(1.0, agree[m, i] * agree[m, j] / agree[i, j])) for m, i, j in triples]


def _correlations(first: list[Array], levels: list[Array], residuals: list[Array], common: list[float]) -> Array:
    """Of f and t of each model in turn. A level that was averaged from nine items has their residuals' mean in it."""
    models = range(len(common))
    matrix = np.eye(2 * len(common))
    for i in models:
        for j in models:
            matrix[2 * i, 2 * j] = (first[i] * first[j]).mean()
            matrix[2 * i, 2 * j + 1] = matrix[2 * j + 1, 2 * i] = (first[i] * levels[j]).mean() / math.sqrt(common[j])
            if i != j:
                shared = (levels[i] * levels[j]).mean() - (residuals[i] * residuals[j]).mean() / (RANKS - 2)
                matrix[2 * i + 1, 2 * j + 1] = shared / math.sqrt(common[i] * common[j])
    return matrix


def _explained(satisfaction: Array, first: Array, level: Array, residual: Array) -> tuple[Array, Array, Array]:
    """Correlations of satisfaction's logits, by rank, with f or t, and with r; and what both leave unexplained."""
    wanted, own = _standardised(_logits(satisfaction)), _standardised(residual)
    known = _standardised(np.column_stack([first, *[level] * (RANKS - 1)]))
    by_level, by_own = (wanted * known).mean(0), (wanted[:, 1:] * own).mean(0)
    unexplained = wanted - by_level * known
    unexplained[:, 1:] -= by_own * own
    return by_level, by_own, unexplained


class Row(NamedTuple):
    """One measure of the queries of one model."""

    model: str
    measure: str
    published: float  # mean over the queries
    error: float  # its standard error
    calibrated: float


def compare(calibrated: Mapping[str, Array], published: Mapping[str, Array]) -> list[Row]:
    """Measures of both sets of queries, model by model."""
    rows = []
    for model in MODELS:
        ours, theirs = (_measures(queries, model) for queries in (calibrated, published))
        for name, values in theirs.items():
            error = values.std(ddof=1) / math.sqrt(len(values))
            rows.append(Row(model, name, float(values.mean()), float(error), float(ours[name].mean())))
    return rows


def _measures(queries: Mapping[str, Array], model: str) -> dict[str, Array]:
    """Each measure (queries,) of a model's attraction, and of the DBN's satisfaction."""
    attraction = queries[f"{model.lower()}_attraction"]
    places = np.argsort(-attraction, axis=1, kind="stable")
    ordered = np.take_along_axis(attraction, places, axis=1)
    wrong = np.triu(np.maximum(attraction[:, None, :] - attraction[:, :, None], 0.0), 1)  # (queries, upper, lower item)
    measures = {f"attraction, rank {k + 1}": attraction[:, k] for k in range(RANKS)}
    measures |= {f"attraction, sorted, {k + 1}": ordered[:, k] for k in range(RANKS)}
    measures["misordered pairs of 45"] = (wrong > 0.0).sum((1, 2)).astype(float)
    measures["their attraction gaps, sum"] = wrong.sum((1, 2))
    measures["attraction, 5 best less first 5"] = ordered[:, :5].sum(1) - attraction[:, :5].sum(1)
    if model == "DBN":
        satisfaction = queries["dbn_satisfaction"]
        by_attraction = np.take_along_axis(satisfaction, places, axis=1)
        measures |= {f"satisfaction, rank {k + 1}": satisfaction[:, k] for k in range(RANKS)}
        measures |= {f"satisfaction, sorted, {k + 1}": by_attraction[:, k] for k in range(RANKS)}
        measures |= {f"satisfaction x attraction, sorted, {k + 1}": (by_attraction * ordered)[:, k] for k in range(5)}
    return measures


def search(
    published: Mapping[str, Array], seeds: Sequence[int] = range(1_000), *, beside: bool = False
) -> tuple[int, float]:
    """The seed whose CM, PBM and DCM are nearest to the published queries, and its distance.

    With ``beside``: the seed for DBN, UBM and CCM, beside the first three models of ``SEED``. The distance is the
    largest relative difference, over the models, of the mean attraction of each of the five best items and of the three
    measures of disorder; in the DBN also of the mean satisfaction of each of the five most attractive items and of its
    product with their attraction, the chance to leave there.
    """
    models, distances = (BESIDE if beside else JOINT), []
    for seed in seeds:
        drawn = draw(SEED, seed) if beside else draw(seed)
        rows = (row for row in compare(drawn, published) if row.model in models and _decisive(row.measure))
        distances.append(max(abs(row.calibrated / row.published - 1.0) for row in rows))
    best = int(np.argmin(distances))
    return seeds[best], distances[best]


def _decisive(measure: str) -> bool:
    """Whether a measure is neither solved for, by rank, nor of an item that hardly matters."""
    _, rank, _ = measure.partition(", rank ")
    _, of_sorted, place = measure.partition(", sorted, ")
    return not rank and not (of_sorted and int(place) > 5)


def markdown(rows: Sequence[Row]) -> str:
    """A table of the documentation: a line a measure, the models of ``rows`` side by side."""
    models = list(dict.fromkeys(row.model for row in rows))
    heads = " | ".join(f"{m} published | {m} calibrated" for m in models)
    lines = [f"| mean over the queries | {heads} |", "|---|" + "---|" * 2 * len(models)]
    for measure in dict.fromkeys(row.measure for row in rows):
        digits = 1 if measure.startswith("misordered") else 3
        cells = []
        for row in (row for row in rows if row.measure == measure):
            cells += [f"{row.published:.{digits}f} ± {row.error:.{digits}f}", f"{row.calibrated:.{digits}f}"]
        lines.append(f"| {measure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tables(rows: Sequence[Row]) -> list[str]:
    """The documentation's three tables: CM, PBM, DCM; DBN, UBM, CCM; the DBN's satisfaction."""
    satisfaction = [row for row in rows if row.measure.startswith("satisfaction")]
    joint = [row for row in rows if row.model in JOINT]
    beside = [row for row in rows if row.model in BESIDE and row not in satisfaction]
    return [markdown(part) for part in (joint, beside, satisfaction)]


def main(arguments: list[str] | None = None) -> None:
    """Write the embedded file; or, with a file of the published queries, print what they say about it."""
    parser = argparse.ArgumentParser(prog="python -m rankgym.data.make_calibrated", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("yandex_calibrated.npz"), metavar="FILE")
    about = "with a copy of the published queries, converted (.npz) or original (.pkl): "
    group = parser.add_mutually_exclusive_group()
    for option, printed in (("estimate", "figures"), ("search", "nearest seeds"), ("table", "comparison")):
        group.add_argument(f"--{option}", type=Path, metavar="FILE", help=f"{about}print the {printed}, write nothing")
    asked = parser.parse_args(arguments)
    if asked.estimate:
        for name, value in vars(estimate(yandex.read(asked.estimate))).items():
            print(f"{name} = {value}")
    elif asked.search:
        published = yandex.read(asked.search)
        print("CM, PBM, DCM: seed {}, distance {:.3f}".format(*search(published)))
        print("DBN, UBM, CCM: seed {}, distance {:.3f}".format(*search(published, beside=True)))
    elif asked.table:
        print("\n\n".join(tables(compare(draw(), yandex.read(asked.table)))))
    else:
        names = np.array([f"calibrated-{number:02d}" for number in range(QUERIES)])
        np.savez(asked.out, version=np.array(VERSION), query_id=names, **draw())  # type: ignore[arg-type]
        print(asked.out)


if __name__ == "__main__":
    main()
