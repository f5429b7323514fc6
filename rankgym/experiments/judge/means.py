"""Means over rows with their standard errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["known", "mean_and_error"]


def mean_and_error(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean of ``values`` (..., rows) over rows and its standard error; NaN where there is one row, or none."""
    rows = values.shape[-1]
    if rows == 0:
        return np.full(values.shape[:-1], np.nan), np.full(values.shape[:-1], np.nan)
    error = values.std(axis=-1, ddof=1) / np.sqrt(rows) if rows > 1 else np.full(values.shape[:-1], np.nan)
    return np.asarray(values.mean(axis=-1)), np.asarray(error)


def known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of ``values`` (..., rows) the rows that are known throughout: not NaN."""
    return values[..., ~np.isnan(values).reshape(-1, values.shape[-1]).any(axis=0)]
