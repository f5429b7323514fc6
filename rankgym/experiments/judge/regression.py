"""Least-squares slopes and curvatures with confidence intervals, over clusters of points such as queries."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.intervals import LEVEL, Estimate, of_means
from rankgym.experiments.judge.units import Units


def slope(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], *, within: bool = False, level: float = LEVEL
) -> Estimate:
    """Estimate the least-squares slope of y in x; clusters are resampled.

    Args:
        x, y: (points,).
        cluster: (points,) whole numbers: each point's query; ``np.arange(points)`` if points are independent.
        within: subtract each cluster's means from x and y, so that differences between clusters do not count.
        level: of the interval.

    Raises:
        ValueError: lengths differ, or x has too few different values.
    """
    return _fit(x, y, cluster, 1, within, level, lambda found: found[..., -1] / (float(np.ptp(x)) / 2))


def curvature(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], *, within: bool = False, level: float = LEVEL
) -> Estimate:
    """Estimate how much y bends over x: of the least-squares parabola, (last slope - first slope) / mean slope.

    A line has 0, x^2 from its vertex on 2; with 1 the last slope is three times the first, with -1 a third of it.
    Arguments and errors are those of ``slope``.
    """
    return _fit(x, y, cluster, 2, within, level, lambda found: 4 * found[..., -1] / found[..., -2])


def _fit(
    x: NDArray[Any],
    y: NDArray[Any],
    cluster: NDArray[Any],
    degree: int,
    within: bool,
    level: float,
    quantity: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> Estimate:
    """Estimate ``quantity`` of the least-squares coefficients (..., terms) of the powers of x, scaled to -1 .. 1.

    Units of the estimate are the clusters' contributions to the normal equations.
    """
    x, y, cluster = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(cluster)
    if x.ndim != 1 or x.shape != y.shape or x.shape != cluster.shape:
        raise ValueError(f"x, y, cluster = arrays {x.shape}, {y.shape}, {cluster.shape}; allowed: (points,) each")
    if len(np.unique(x)) <= degree:
        raise ValueError(f"x = {np.unique(x)} has too few different values; allowed: at least {degree + 1}")
    scaled = (x - (x.max() + x.min()) / 2) / (np.ptp(x) / 2)
    design = np.stack([scaled**power for power in range(degree + 1)], axis=-1)  # (points, terms)
    names, which = np.unique(cluster, return_inverse=True)
    if within:
        sizes = np.bincount(which)
        design = design[:, 1:]  # without the constant
        design = design - np.stack([np.bincount(which, column) / sizes for column in design.T], axis=-1)[which]
        y = y - (np.bincount(which, y) / sizes)[which]
    terms = design.shape[1]
    both = np.concatenate([design, y[:, None]], axis=1)
    products = (both[:, :-1, None] * both[:, None, :]).reshape(len(y), -1)  # (points, terms * (terms + 1))
    sums: NDArray[np.float64] = np.stack([np.bincount(which, column) for column in products.T])  # (..., clusters)

    def of_sums(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        equations = totals.reshape(*totals.shape[:-1], terms, terms + 1)
        inverse = np.linalg.pinv(equations[..., :-1], hermitian=True)  # resamples may leave too few different x
        return quantity((inverse @ equations[..., -1:])[..., 0])

    kind = "points" if len(names) == len(y) else "queries"
    found = of_means(of_sums, Units(sums, np.arange(len(names)), kind), level=level)
    return found._replace(method=f"least squares, {found.method}")
