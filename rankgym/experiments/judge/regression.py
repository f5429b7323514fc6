"""Least-squares slopes and curvatures within clusters of points, such as queries, with confidence intervals.

Each cluster's means are subtracted from x and y, so that differences between clusters do not count. Clusters are
resampled.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge.intervals import Estimate, of_means
from rankgym.experiments.judge.units import Units


def slope(x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any]) -> Estimate:
    """Estimate the least-squares slope of y in x.

    Args:
        x, y: (points,).
        cluster: (points,) whole numbers: each point's query.

    Raises:
        ValueError: lengths differ, or x has too few different values.
    """
    return _fit(x, y, cluster, 1, lambda found: found[..., -1] / (float(np.ptp(x)) / 2))


def curvature(x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any]) -> Estimate:
    """Estimate how much y bends over x: of the least-squares parabola, (last slope - first slope) / mean slope.

    A line has 0, x^2 from its vertex on 2; with 1 the last slope is three times the first, with -1 a third of it.
    Arguments and errors are those of ``slope``.
    """
    return _fit(x, y, cluster, 2, lambda found: 4 * found[..., -1] / found[..., -2])


def _fit(
    x: NDArray[Any], y: NDArray[Any], cluster: NDArray[Any], degree: int, quantity: Callable[..., Any]
) -> Estimate:
    """Estimate ``quantity`` of the least-squares coefficients (..., degree) of the powers of x, scaled to -1 .. 1.

    The estimate's units are the clusters' contributions to the normal equations.
    """
    x, y, cluster = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(cluster)
    if x.ndim != 1 or x.shape != y.shape or x.shape != cluster.shape:
        raise ValueError(f"x, y, cluster = arrays {x.shape}, {y.shape}, {cluster.shape}; allowed: (points,) each")
    if len(np.unique(x)) <= degree:
        raise ValueError(f"x = {np.unique(x)} has too few different values; allowed: at least {degree + 1}")
    scaled = (x - (x.max() + x.min()) / 2) / (np.ptp(x) / 2)
    names, which = np.unique(cluster, return_inverse=True)
    columns = np.stack([*(scaled**power for power in range(1, degree + 1)), y])
    means = np.stack([np.bincount(which, column) for column in columns]) / np.bincount(which)
    columns = columns - means[:, which]  # (degree + 1, points)
    products = (columns[:-1, None] * columns).reshape(-1, len(y))
    sums: NDArray[np.float64] = np.stack([np.bincount(which, column) for column in products])  # (..., clusters)

    def of_sums(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        equations = totals.reshape(*totals.shape[:-1], degree, degree + 1)
        inverse = np.linalg.pinv(equations[..., :-1], hermitian=True)  # resamples may leave too few different x
        return np.asarray(quantity((inverse @ equations[..., -1:])[..., 0]))

    found = of_means(of_sums, Units(sums, np.arange(len(names)), "queries"))
    return found._replace(method=f"least squares, {found.method}")
