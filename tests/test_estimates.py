"""Estimates are written with two digits of their error."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgym.estimates import known, mean_and_error, rounded, with_error


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (676.13, 21.34, "676 ± 21"),
        (0.70123, 0.00342, "0.7012 ± 0.0034"),
        (16634.0, 2106.0, "16,600 ± 2,100"),
        (5.0, 0.996, "5.0 ± 1.0"),  # the error is rounded before its digits are counted
        (12_345_678.0, 99_600.0, "12,350,000 ± 100,000"),
        (-3.14159, 0.0271, "-3.142 ± 0.027"),
        (0.0, 1.5, "0.0 ± 1.5"),
        (3.0, 0.0, "3.00 ± 0"),
        (1663.4, math.nan, "1,663"),
        (math.nan, 1.0, "unknown"),
        (math.inf, math.nan, "inf"),
        (5.0, 1e-17, "5.0000000 ± 0.0000000"),  # rounding, not an error
    ],
)
def test_both_are_rounded_to_two_digits_of_the_error(mean, error, text):
    assert with_error(mean, error) == text


@given(mean=st.floats(-1e9, 1e9), error=st.floats(1e-3, 1e9))
def test_rounding_moves_by_half_a_unit_of_the_errors_second_digit_at_most(mean, error):
    texts = [float(text.replace(",", "")) for text in rounded(mean, error)]
    unit = 10.0 ** (math.floor(math.log10(error)) - 1)
    if abs(mean) < 1e5 * error:
        assert abs(texts[0] - mean) <= 5.001 * unit  # 0.996 has the digits of 1.0
        assert abs(texts[1] - error) <= 0.501 * unit
        assert len(f"{texts[1]:.1e}") == len("1.0e+00")


@example(mean=0.0, error=1.75e308)
@given(mean=st.floats(allow_nan=True, allow_infinity=True), error=st.floats(allow_nan=True, allow_infinity=True))
def test_every_pair_of_numbers_has_a_text(mean, error):
    assert with_error(mean, error)


def test_unknown_rows_are_left_out():
    values = np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 6.0]])
    mean, error = mean_and_error(known(values))
    assert mean.tolist() == [2.0, 4.0]
    assert np.allclose(error, [1.0, 2.0])
