"""Upper bounds by the divergence of Bernoulli distributions, of many means at once."""

import math

from rankgym.kernels.compiling import kernel
from rankgym.kernels.functions import exponential, logarithm

NOTHING = 1e-12  # a mean this near to 0 or 1 is taken as 0 or 1
LITTLE = 1e-10  # below this level the normal approximation errs by less than 1e-10
BELOW_ONE = 1.0 - 1e-15


@kernel
def kl_upper_bounds(mean, level, upper):
    """Fill ``upper`` (entries,) with max{q in [mean, 1] : kl(mean, q) <= level}, within 1e-9.

    ``mean`` (entries,) in [0, 1] and ``level`` (entries,) >= 0, below 1e300. The result depends on the entry's two
    numbers alone, so that equal statistics have equal bounds. The search begins at the least of three upper bounds of
    the root; three of Halley's steps follow, which are enough from there.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import kl_upper_bounds
        >>> mean, level, upper = np.array([0.0, 0.5, 0.5]), np.array([0.1, 0.1, 0.01]), np.empty(3)
        >>> kl_upper_bounds(mean, level, upper)
        >>> upper.round(3).tolist()  # 1 - exp(-0.1); and the bound is nearer with a smaller level
        [0.095, 0.713, 0.57]
    """
    begin(mean, level, upper)
    for _ in range(3):
        improve(mean, level, upper)
    for i in range(upper.shape[0]):
        m, q = mean[i], upper[i]
        q = q if level[i] > LITTLE else m + math.sqrt(2.0 * level[i] * m * (1.0 - m))
        q = q if q < 1.0 else 1.0
        q = q if m > NOTHING else 1.0 - exponential(level[i])
        upper[i] = q if m < 1.0 - NOTHING else 1.0


@kernel
def begin(mean, level, upper):
    """Fill ``upper`` with upper bounds of the roots.

    kl(m, q) is at least 2 (q - m)^2 (Pinsker); at least (q - m)^2 / (2 q (1 - m)), as no variance between m and q
    exceeds q (1 - m); and at least m log m + (1 - m) log((1 - m) / (1 - q)).
    """
    for i in range(upper.shape[0]):
        m, rest = mean[i], 1.0 - mean[i]
        upper[i] = 1.0 - rest * exponential(level[i] / rest - m * logarithm(m) / rest)
    for i in range(upper.shape[0]):
        m, wide = mean[i], level[i] * (1.0 - mean[i])
        q, other = m + math.sqrt(0.5 * level[i]), m + wide + math.sqrt(wide * (wide + 2.0 * m))
        q = q if q < other else other
        q = q if q < upper[i] else upper[i]
        upper[i] = q if q < BELOW_ONE else BELOW_ONE


@kernel
def improve(mean, level, upper):
    """Halley's step towards the roots. The loops have no branches, so that the compiler makes vectors of them."""
    for i in range(upper.shape[0]):
        m, q = mean[i], upper[i]
        rest, other, gap = 1.0 - m, 1.0 - q, q - m
        scale = q * other
        inverse = 1.0 / (scale * gap)  # the one division of the step: 1 / q is other * gap * inverse
        unit = gap * inverse
        excess = m * logarithm(m * other * unit) + rest * logarithm(rest * q * unit) - level[i]
        newton = excess * scale * scale * inverse  # over the slope, which is gap / scale
        turn = 0.5 * (m * other * other + rest * q * q) * inverse * newton  # by the curvature
        turn = turn if turn < 0.5 else 0.5
        q -= newton / (1.0 - turn)
        q = q if q > m else m
        upper[i] = q if q < BELOW_ONE else BELOW_ONE
