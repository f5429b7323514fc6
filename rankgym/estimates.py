"""Means over rows with their standard errors, and how they are written: rounded to two digits of the error."""

import math

import numpy as np
from numpy.typing import NDArray

MOST_DIGITS = 8  # of a mean: smaller errors are rounding


def mean_and_error(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of ``values`` (..., rows) over rows and its standard error; NaN where rows are too few."""
    rows, unknown = values.shape[-1], np.full(values.shape[:-1], np.nan)
    error = values.std(axis=-1, ddof=1) / np.sqrt(rows) if rows > 1 else unknown
    return np.asarray(values.mean(axis=-1) if rows else unknown), np.asarray(error)


def known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values`` (..., rows) without the rows that have a NaN."""
    return values[..., ~np.isnan(values).reshape(-1, values.shape[-1]).any(axis=0)]


def rounded(mean: float, error: float = math.nan, digits: int | None = None) -> tuple[str, str]:
    """Return a mean and its standard error as texts, both rounded to two digits of the error.

    676.13 and 21.34 become "676" and "21"; 0.70123 and 0.00342 become "0.7012" and "0.0034"; 16634 and 2106 become
    "16,600" and "2,100". All tables, reports and figures write their estimates so.

    Args:
        mean: NaN is "unknown".
        error: NaN is unknown, and its text is ""; 0 is exact, "0".
        digits: of the mean after the point if the error is unknown. Default: as many as suit the mean.
    """
    if math.isnan(mean):
        return "unknown", ""
    if not math.isfinite(error) or error <= 0 or math.isinf(mean):
        if digits is None or error == 0:
            digits = 0 if abs(mean) >= 1000 or mean == 0 else 1 if abs(mean) >= 10 else 2
        return f"{mean:,.{digits}f}", "0" if error == 0 else ""
    places = 1 - int(f"{error:.1e}".partition("e")[2])  # of the error, as it is after rounding
    if mean:
        places = min(places, MOST_DIGITS - 1 - math.floor(math.log10(abs(mean))))
    texts = [f"{_round(value, places):,.{max(places, 0)}f}" for value in (mean, error)]
    return texts[0], texts[1]


def _round(value: float, places: int) -> float:
    """Round ``value``; the largest floats, which rounding would make too large, stay as they are."""
    try:
        return round(value, places)
    except OverflowError:
        return value


def with_error(mean: float, error: float = math.nan, digits: int | None = None) -> str:
    """Return "mean ± error", rounded as by ``rounded``; the mean alone if the error is unknown."""
    return " ± ".join(filter(None, rounded(mean, error, digits)))
