"""The script that drew the calibrated queries: ``python -m rankgym.data.make_calibrated``.

It writes ``yandex_calibrated.npz`` beside this file: 100 synthetic queries for CM, PBM and DCM. Nothing in them is
anybody's click: all that was taken from the published fits of 60 Yandex queries are the ``FIGURES`` below, which
``--estimate FILE`` prints again from a copy of them.

The model behind the draw
-------------------------
A query has, in each click model, an attraction probability for each of its ten items, in the order of the production
result page. Their logits are, up to a shift and a scale for each rank and model,

    first item     f                            how well the top result serves the query
    other items    sqrt(c) t + s r              their common level t, and each item's own relevance r
                   s ~ exp(a t + b w)           how uneven they are: in some queries one item stands out

* f and t of the three models are jointly normal with the estimated correlations, so that one query's models agree with
  each other; t is bent afterwards to the skewness of the fits: in a few queries hardly anything below the first item is
  clicked.
* r is shared: a model sees the item's latent relevance u as l u + sqrt(1 - l^2) e with noise e of its own.
* w, shared by the models, is normal; c, a, b and l are one number a model.

Shift and scale are solved for, so that the 100 drawn queries have exactly the mean and the standard deviation of the
attraction probabilities by rank that the 60 published ones have. For the same reason f, t and w are made to have
exactly mean 0, variance 1 and their correlations within the sample.

What remains is luck, and regret is sensitive to it: the published queries' own mean regret of BubbleRank has a standard
error of 10 to 25 %. So the seed was not the first at hand: ``--search FILE`` compares the draws of the seeds below 1000
with the published queries in the measures of ``compare``, and ``SEED`` gave the nearest. That is, the sample was chosen
to resemble the other one; do not use it to estimate how much samples of queries differ.

Random numbers are Python's Mersenne Twister through the inverse normal distribution, and results are rounded to six
decimals: the file does not depend on the versions of libraries nor on the machine.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIGURES", "MODELS", "SEED", "Figures", "compare", "draw", "estimate", "main", "markdown"]

Array = NDArray[np.float64]

VERSION = 1
SEED = 263
QUERIES, RANKS = 100, 10
MODELS = ("CM", "PBM", "DCM")
DECIMALS = 6  # of the probabilities in the file
LOG_SPREAD_NOISE = 0.071  # variance of the logarithm of a standard deviation from 9 values: trigamma(4) / 4


class Figures(NamedTuple):
    """All that the draw takes from the published fits. The entries of the first six go by ``MODELS``."""

    mean: list[list[float]]  # attraction by rank
    deviation: list[list[float]]  # its standard deviation over queries, by rank
    common: list[float]  # c: mean correlation of the logits among ranks 2 .. 10
    slope: list[float]  # a: of the logarithm of a query's unevenness on its level
    uneven: list[float]  # b: standard deviation of what the level leaves unexplained in it
    loading: list[float]  # l: correlation of a model's r with the relevance shared by the models
    correlation: list[list[float]]  # of (f, t) of CM, (f, t) of PBM, (f, t) of DCM
    bend: float  # k: a normal x becomes x - k (x^2 - 1), scaled; its skewness is about -6 k
    examination: list[float]  # PBM, by position
    termination: list[float]  # DCM, by position


FIGURES = Figures(
    mean=[
        [0.404, 0.204, 0.125, 0.082, 0.069, 0.055, 0.045, 0.048, 0.05, 0.052],
        [0.403, 0.217, 0.188, 0.164, 0.145, 0.153, 0.123, 0.144, 0.142, 0.152],
        [0.415, 0.278, 0.218, 0.177, 0.158, 0.152, 0.12, 0.133, 0.13, 0.135],
    ],
    deviation=[
        [0.218, 0.153, 0.095, 0.062, 0.069, 0.049, 0.061, 0.054, 0.061, 0.062],
        [0.211, 0.146, 0.123, 0.115, 0.093, 0.102, 0.093, 0.11, 0.112, 0.133],
        [0.213, 0.165, 0.123, 0.11, 0.11, 0.099, 0.098, 0.103, 0.11, 0.102],
    ],
    common=[0.36, 0.63, 0.63],
    slope=[0.02, -0.25, -0.23],
    uneven=[0.2, 0.33, 0.37],
    loading=[0.82, 0.96, 1.0],
    correlation=[
        [1.0, 0.253, 0.99, -0.177, 0.995, 0.296],
        [0.253, 1.0, 0.311, 0.822, 0.306, 0.97],
        [0.99, 0.311, 1.0, -0.115, 0.99, 0.351],
        [-0.177, 0.822, -0.115, 1.0, -0.135, 0.853],
        [0.995, 0.306, 0.99, -0.135, 1.0, 0.343],
        [0.296, 0.97, 0.351, 0.853, 0.343, 1.0],
    ],
    bend=0.14,
    examination=[1.0, 0.959, 0.761, 0.592, 0.457, 0.386, 0.331, 0.284, 0.262, 0.267],
    termination=[0.656, 0.487, 0.461, 0.463, 0.456, 0.471, 0.503, 0.548, 0.654, 1.0],
)


def draw(seed: int = SEED, figures: Figures = FIGURES) -> dict[str, Array]:
    """The queries of a seed: ``<model>_attraction`` (100, 10) of each model, and the parameters of positions (10,)."""
    source = random.Random(seed)

    def normal(*shape: int) -> Array:
        inverse = NormalDist().inv_cdf
        return np.array([inverse(1.0 - source.random()) for _ in range(math.prod(shape))]).reshape(shape)

    raw = _whitened(normal(QUERIES, 2 * len(MODELS) + 1))
    levels = raw[:, :-1] @ np.linalg.cholesky(np.array(figures.correlation)).T
    unevenness = raw[:, -1:]
    relevance, noise = normal(QUERIES, RANKS - 1), normal(len(MODELS), QUERIES, RANKS - 1)
    drawn = {}
    for m, model in enumerate(MODELS):
        first, level = levels[:, [2 * m]], levels[:, [2 * m + 1]]
        level = _standardised(level - figures.bend * (level**2 - 1.0))
        scale = np.exp(figures.slope[m] * level + figures.uneven[m] * unevenness)
        scale *= math.sqrt((1.0 - figures.common[m]) / (scale**2).mean())
        seen = figures.loading[m] * relevance + math.sqrt(1.0 - figures.loading[m] ** 2) * noise[m]
        shape = np.hstack([first, math.sqrt(figures.common[m]) * level + scale * seen])
        drawn[f"{model.lower()}_attraction"] = np.round(
            _matched(_standardised(shape), np.array(figures.mean[m]), np.array(figures.deviation[m])), DECIMALS
        )
    drawn["pbm_examination"] = np.array(figures.examination)
    drawn["dcm_termination"] = np.array(figures.termination)
    return drawn


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


def estimate(published: Mapping[str, Array]) -> Figures:
    """The figures of converted published queries, rounded as they stand in ``FIGURES``."""
    attraction = [published[f"{model.lower()}_attraction"] for model in MODELS]
    logits = [_standardised(np.log(a / (1.0 - a))) for a in attraction]
    levels = [z[:, 1:].mean(1) for z in logits]
    residuals = [z[:, 1:] - t[:, None] for z, t in zip(logits, levels, strict=True)]
    common, slope, uneven, skewness = [], [], [], []
    for z, level, residual in zip(logits, levels, residuals, strict=True):
        correlations = np.asarray(np.corrcoef(z[:, 1:].T))
        common.append(correlations[np.triu_indices(RANKS - 1, 1)].mean())
        skewness.append((_standardised(level) ** 3).mean() * (level.var() / common[-1]) ** 1.5)
        spread = np.log(residual.std(1, ddof=1))
        line = np.polyfit(_standardised(level), spread, 1)
        slope.append(line[0])
        unexplained = (spread - np.polyval(line, _standardised(level))).var()
        uneven.append(math.sqrt(max(unexplained - LOG_SPREAD_NOISE, 0.0)))
    return Figures(
        [np.round(a.mean(0), 3).tolist() for a in attraction],
        [np.round(a.std(0), 3).tolist() for a in attraction],
        np.round(common, 2).tolist(),
        np.round(slope, 2).tolist(),
        np.round(uneven, 2).tolist(),
        np.round(_loadings(residuals, levels, slope, uneven), 2).tolist(),
        np.round(_correlations([z[:, 0] for z in logits], levels, residuals, common), 3).tolist(),
        round(-float(np.mean(skewness)) / 6.0, 2),
        np.round(published["pbm_examination"], 3).tolist(),
        np.round(published["dcm_termination"], 3).tolist(),
    )


def _loadings(residuals: list[Array], levels: list[Array], slope: list[float], uneven: list[float]) -> list[float]:
    """One shared factor behind the correlations of three models: l1^2 = r12 r13 / r23.

    The residuals' correlations are raised by what the models' different unevenness costs: their scales s are
    log-normal, so it is exp(-var(log s1 - log s2) / 2).
    """
    agree = np.asarray(np.corrcoef([r.ravel() for r in residuals]))
    same = np.asarray(np.corrcoef(levels))
    for i in range(len(MODELS)):
        for j in range(len(MODELS)):
            apart = (
                slope[i] ** 2 + slope[j] ** 2 - 2.0 * slope[i] * slope[j] * same[i, j] + (uneven[i] - uneven[j]) ** 2
            )
            agree[i, j] *= math.exp(apart / 2.0)
    loadings = []
    for m in range(len(MODELS)):
        i, j = (n for n in range(len(MODELS)) if n != m)
        loadings.append(math.sqrt(min(1.0, agree[m, i] * agree[m, j] / agree[i, j])))
    return loadings


def _correlations(first: list[Array], levels: list[Array], residuals: list[Array], common: list[float]) -> Array:
    """Of f and t of each model in turn. A level that was averaged from nine items has their residuals' mean in it."""
    models = range(len(MODELS))
    matrix = np.eye(2 * len(MODELS))
    for i in models:
        for j in models:
            matrix[2 * i, 2 * j] = (first[i] * first[j]).mean()
            matrix[2 * i, 2 * j + 1] = matrix[2 * j + 1, 2 * i] = (first[i] * levels[j]).mean() / math.sqrt(common[j])
            if i != j:
                shared = (levels[i] * levels[j]).mean() - (residuals[i] * residuals[j]).mean() / (RANKS - 2)
                matrix[2 * i + 1, 2 * j + 1] = shared / math.sqrt(common[i] * common[j])
    return matrix


class Row(NamedTuple):
    """One measure of the queries of one model."""

    model: str
    measure: str
    published: float  # mean over the queries
    error: float  # its standard error
    calibrated: float


def compare(calibrated: Mapping[str, Array], published: Mapping[str, Array]) -> list[Row]:
    """Measures of the attraction probabilities of both sets of queries, model by model."""
    rows = []
    for model in MODELS:
        ours, theirs = (_measures(queries[f"{model.lower()}_attraction"]) for queries in (calibrated, published))
        for name, values in theirs.items():
            error = values.std(ddof=1) / math.sqrt(len(values))
            rows.append(Row(model, name, float(values.mean()), float(error), float(ours[name].mean())))
    return rows


def _measures(attraction: Array) -> dict[str, Array]:
    """Each measure (queries,) of attraction probabilities (queries, 10) in the production order."""
    ordered = -np.sort(-attraction, axis=1)
    wrong = np.triu(np.maximum(attraction[:, None, :] - attraction[:, :, None], 0.0), 1)  # (queries, upper, lower item)
    measures = {f"attraction, rank {k + 1}": attraction[:, k] for k in range(RANKS)}
    measures |= {f"attraction, sorted, {k + 1}": ordered[:, k] for k in range(RANKS)}
    measures["misordered pairs of 45"] = (wrong > 0.0).sum((1, 2)).astype(float)
    measures["their attraction gaps, sum"] = wrong.sum((1, 2))
    measures["attraction, 5 best less first 5"] = ordered[:, :5].sum(1) - attraction[:, :5].sum(1)
    return measures


def search(published: Mapping[str, Array], seeds: Sequence[int] = range(1_000)) -> tuple[int, float]:
    """The one of the seeds whose draw is nearest to the published queries, and its distance.

    The distance is the largest relative difference, over the models, of the mean attraction of each of the five best
    items and of the three measures of disorder.
    """
    decisive = _measures(np.zeros((1, RANKS))).keys() - {f"attraction, rank {k}" for k in range(1, RANKS + 1)}
    decisive -= {f"attraction, sorted, {k}" for k in range(6, RANKS + 1)}
    distances = []
    for seed in seeds:
        rows = [row for row in compare(draw(seed), published) if row.measure in decisive]
        distances.append(max(abs(row.calibrated / row.published - 1.0) for row in rows))
    best = int(np.argmin(distances))
    return seeds[best], distances[best]


def markdown(rows: list[Row]) -> str:
    """The comparison as a table for the documentation: a line a measure, the models side by side."""
    lines = ["| mean over the queries | " + " | ".join(f"{m} published | {m} calibrated" for m in MODELS) + " |"]
    lines.append("|---|" + "---|" * 2 * len(MODELS))
    for measure in dict.fromkeys(row.measure for row in rows):
        cells = []
        for row in (row for row in rows if row.measure == measure):
            digits = 1 if measure.startswith("misordered") else 3
            cells += [f"{row.published:.{digits}f} ± {row.error:.{digits}f}", f"{row.calibrated:.{digits}f}"]
        lines.append(f"| {measure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(path: Path) -> None:
    """Write the calibrated queries to ``path``, the same bytes each time."""
    names = np.array([f"calibrated-{number:02d}" for number in range(QUERIES)])
    np.savez(path, version=np.array(VERSION), query_id=names, **draw())  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> None:
    """Write the embedded file; or, with a file of the published queries, print what they say about it."""
    from rankgym.data.yandex import read

    parser = argparse.ArgumentParser(prog="python -m rankgym.data.make_calibrated", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("yandex_calibrated.npz"), metavar="FILE")
    about = "with a copy of the published queries, converted (.npz) or original (.pkl): "
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--estimate", type=Path, metavar="FILE", help=about + "print the figures, write nothing")
    group.add_argument("--search", type=Path, metavar="FILE", help=about + "print the nearest seed, write nothing")
    group.add_argument("--table", type=Path, metavar="FILE", help=about + "print the comparison, write nothing")
    asked = parser.parse_args(arguments)
    if asked.estimate:
        for name, value in estimate(read(asked.estimate))._asdict().items():
            print(f"{name} = {value}")
    elif asked.search:
        print("seed {}, distance {:.3f}".format(*search(read(asked.search))))
    elif asked.table:
        print(markdown(compare(draw(), read(asked.table))))
    else:
        write(asked.out)
        print(asked.out)


if __name__ == "__main__":
    main()
