"""The logarithm and the exponential function in plain arithmetic.

The compiler makes vectors of a loop over them, as it does not of one that calls C's library, and all machines agree in
every bit.
"""

import numpy as np

from rankgym.kernels.compiling import kernel

LOG_2, MOST = 0.6931471805599453, 700.0
EXPONENT = np.uint64(52)  # a float's bits below this one are its fraction
FRACTION = np.uint64((1 << 52) - 1)
ROOT = np.uint64(0x3FE6A09E667F3BCD)  # the bits of the root of 1/2
UPWARDS = np.uint64(1024 << 52) - ROOT  # added to a float's bits so that none of the exponents is negative
WHOLE = np.uint64(0x433 << 52)  # the bits of 2^52; a whole number in the last bits is added to it
LOWEST = 2.0**52 + 1024.0
ROUNDING = 1.5 * 2.0**52  # what is added to it becomes a whole number, in the last bits
ONE_HALVED = np.uint64(0x3FF)  # the exponent of 1; also a mask of as many bits


@kernel
def logarithm(x):
    """log x of a normal ``x`` > 0, within 3e-16 (1 + abs(log x)).

    x = 2^k m with m between the roots of 1/2 and 2, and log m = 2 artanh s with s = (m - 1) / (m + 1).

    Examples:
        >>> from rankgym.kernels import logarithm
        >>> round(float(logarithm(10.0)), 9)
        2.302585093
    """
    word = np.float64(x).view(np.uint64) + UPWARDS
    k = np.uint64(WHOLE | (word >> EXPONENT)).view(np.float64) - LOWEST
    beyond = np.uint64((word & FRACTION) + ROOT).view(np.float64) - 1.0
    s = beyond / (2.0 + beyond)
    z = s * s
    z2, z4 = z * z, (z * z) * (z * z)
    first = (1.0 + z * (1.0 / 3.0)) + z2 * (1.0 / 5.0 + z * (1.0 / 7.0))
    second = (1.0 / 9.0 + z * (1.0 / 11.0)) + z2 * (1.0 / 13.0 + z * (1.0 / 15.0))
    third = 1.0 / 17.0 + z * (1.0 / 19.0)
    return k * LOG_2 + 2.0 * s * (first + z4 * (second + z4 * third))


@kernel
def exponential(x):
    """exp(-x) of ``x`` >= 0, within 1e-13 of itself; that of 700, which is 1e-304, where x is larger.

    x = n log 2 - r with abs(r) up to log(2) / 2, and exp r is its Taylor polynomial of degree 11.

    Examples:
        >>> from rankgym.kernels import exponential
        >>> round(float(exponential(2.0)), 9)  # exp(-2)
        0.135335283
    """
    x = x if x < MOST else MOST
    rounded = x * (1.0 / LOG_2) + ROUNDING
    r = (rounded - ROUNDING) * LOG_2 - x
    halvings = np.float64(rounded).view(np.uint64) & ONE_HALVED
    scale = np.uint64((ONE_HALVED - halvings) << EXPONENT).view(np.float64)  # 2^-n
    r2, r4 = r * r, (r * r) * (r * r)
    first = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0))
    second = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    third = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    return scale * (first + r4 * (second + r4 * third))
