"""The posterior of an attraction probability after clicks, some of them at positions that not everybody examines.

With c clicks, and m(j) displays without a click where a user looks with probability kappa(j), a Beta(a, b) prior gives

    density(theta) ~ theta^(a - 1 + c) (1 - theta)^(b - 1) prod over j of (1 - kappa(j) theta)^m(j),

which is Beta(a + c, b + m) if all kappa are 1. It is computed on ``NODES`` values of the logit x of theta that lie
around the mode, the denser the nearer: x = centre + width z. ``width`` is the standard deviation that belongs to the
curvature at the mode. The posterior depends on its arguments only, not on their history.
"""

import math

import numpy as np

from rankgym.kernels.compiling import kernel
from rankgym.kernels.functions import exponential, logarithm

NODES = 48  #: values of theta on which a posterior is known
REACH = 5.5  # z = 2 sinh(u / 2) for equally spaced u from -REACH to REACH, so that z goes from -15.6 to 15.6
_U = np.linspace(-REACH, REACH, NODES)
Z, STRETCH = 2.0 * np.sinh(0.5 * _U), np.log(np.cosh(0.5 * _U))  # and the logarithm of dz / du
STRAIGHT = 0.01  # a cell whose log density changes by less is integrated as a trapezoid, within 1e-5 of itself
ABOVE = 1.0  # with a and b of at least 0.1 no density by u is above 1.002 times the middle one; this is ample
FINE = 2.0**-30  # posteriors that are equal may differ by 1e-14, others hardly ever by so little
NEAR = 1e-4  # relative size of Newton's last step to the mode


@kernel
def posterior(clicked, missed, examination, a, b, survival, theta, density, mass):
    """Fill ``survival`` (NODES,) with the probabilities that theta is above each node; return what else there is.

    Args:
        clicked: clicks c, at least 0.
        missed: (kinds,) displays without a click m, at least 0; not necessarily whole.
        examination: (kinds,) in [0, 1]: kappa of each kind.
        a, b: the prior Beta(a, b), both at least 0.1.
        survival: (NODES,), filled: 1 at the first node, 0 at the last. Wherever the density is not extremely skewed,
            what theta exceeds with a probability from .001 to .999 is found within .1 standard deviations.
        theta, density, mass: (NODES,) each, overwritten.

    Returns:
        centre and width of the nodes, as logits; mean and standard deviation of theta.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import NODES, posterior
        >>> examination, missed = np.array([1.0, 0.5]), np.array([2.0, 0.0])  # two misses where all users look
        >>> arrays = np.empty((4, NODES))  # survival, theta, density and mass
        >>> centre, width, mean, deviation = posterior(3.0, missed, examination, 1.0, 1.0, *arrays)
        >>> round(float(mean), 3), round(float(deviation), 3)  # of Beta(1 + 3, 1 + 2): 4 / 7 and 0.175
        (0.571, 0.175)
    """
    a += clicked
    for j in range(missed.shape[0]):
        if examination[j] == 1.0:
            b += missed[j]
    centre, width = mode(missed, examination, a, b)
    beta(centre, width, a, b, theta, density)
    for j in range(missed.shape[0]):
        kappa, times = examination[j], missed[j]
        if times > 0.0 and kappa < 1.0:
            for g in range(NODES):
                density[g] += times * logarithm(1.0 - kappa * theta[g])
    exponentials(density, mass)
    mean, deviation = moments(mass, theta)
    cells(mass, density, theta)
    tails(theta, survival)
    return centre, width, mean, deviation


@kernel
def mode(missed, examination, a, b):
    """The logit at which the density of the logit is largest, and the width that belongs to its curvature there.

    There theta (a + b + sum of m kappa (1 - theta) / (1 - kappa theta)) = a. The left side is concave in theta, so
    Newton's method from below climbs to the solution. Kinds with kappa = 1 are in ``b`` already. The curvature is that
    before the last step: in 60,000 random posteriors the width was within 1 % of its limit where theta is below .99,
    and within 10 % where it is below .9998.
    """
    most = a + b
    for j in range(missed.shape[0]):
        if examination[j] < 1.0:
            most += missed[j] * examination[j]
    theta, slope, step = a / most, most, 1.0
    while step > NEAR * theta:
        side, slope = (a + b) * theta, a + b
        for j in range(missed.shape[0]):
            kappa = examination[j]
            if kappa < 1.0:
                share = 1.0 / (1.0 - kappa * theta)
                side += missed[j] * kappa * theta * (1.0 - theta) * share
                slope += missed[j] * kappa * ((1.0 - theta) * share - theta * (1.0 - kappa) * share * share)
        step = (a - side) / slope
        theta += step
    theta = min(max(theta, 1e-300), 1.0 - 1e-15)
    return math.log(theta / (1.0 - theta)), 1.0 / math.sqrt(theta * (1.0 - theta) * slope)


@kernel
def beta(centre, width, a, b, theta, log_density):
    """Fill in the nodes' theta, and the logarithm of the density of u where theta is Beta(a, b), but for a constant."""
    for g in range(NODES):
        x = centre + width * Z[g]
        above = x if x > 0.0 else 0.0  # not max(x, 0), of which the compiler makes no vectors
        smaller = exponential(2.0 * above - x)  # of odds and inverse odds
        beyond = logarithm(1.0 + smaller)
        log_density[g] = a * (x - above - beyond) - b * (above + beyond) + STRETCH[g]
        theta[g] = (1.0 if x > 0.0 else smaller) / (1.0 + smaller)


@kernel
def exponentials(logs, values):
    """Fill in ``values`` (NODES,), whose ``logs`` are known but for a constant; none is far above the middle one."""
    top = logs[NODES // 2] + ABOVE
    for g in range(NODES):
        below = top - logs[g]
        values[g] = exponential(below if below > 0.0 else 0.0)


@kernel
def moments(density, theta):
    """Mean and standard deviation of ``theta`` at equally spaced u with this ``density``."""
    total, first, second, middle = 0.0, 0.0, 0.0, theta[NODES // 2]
    for g in range(NODES):
        apart = theta[g] - middle
        total += density[g]
        first += density[g] * apart
        second += density[g] * apart * apart
    first, second = first / total, second / total
    return middle + first, math.sqrt(max(0.0, second - first * first))


@kernel
def cells(density, log_density, mass):
    """Fill in the ``mass`` (NODES - 1,) between each node and the next.

    Log densities are taken as straight there, with a correction for how much they bend: half the sum of the second
    differences at both nodes, over 12.
    """
    for g in range(NODES - 1):
        rise = log_density[g + 1] - log_density[g]
        flat = abs(rise) < STRAIGHT
        bent = (density[g + 1] - density[g]) / (1.0 if flat else rise)
        mass[g] = 0.5 * (density[g] + density[g + 1]) if flat else bent
    for g in range(1, NODES - 2):
        bend = 0.5 * (log_density[g + 2] - log_density[g + 1] - log_density[g] + log_density[g - 1])
        bend = bend if bend > -2.0 else -2.0
        bend = bend if bend < 6.0 else 6.0  # no mass is negative; such cells have less than 1e-27 of it
        mass[g] *= 1.0 - bend * (1.0 / 12.0)


@kernel
def tails(mass, survival):
    """Fill ``survival`` (NODES,) with the shares of ``mass`` above each node."""
    above = 0.0
    survival[NODES - 1] = 0.0
    for g in range(NODES - 2, -1, -1):
        above += mass[g]
        survival[g] = above
    scale = 1.0 / above
    for g in range(1, NODES):
        survival[g] *= scale
    survival[0] = 1.0


@kernel
def exceeded(survival, centre, width, probability):
    """The logit that theta exceeds with this ``probability`` in (0, 1): its posterior quantile at the complement.

    Between two nodes the logarithm of the probability of being above is taken as straight, or, if that is more than
    1/2, of being below.

    Examples:
        >>> import numpy as np
        >>> from rankgym.kernels import NODES, exceeded, posterior
        >>> survival, theta, density, mass = np.empty((4, NODES))
        >>> centre, width, *_ = posterior(0.0, np.zeros(1), np.ones(1), 1.0, 1.0, survival, theta, density, mass)
        >>> logit = exceeded(survival, centre, width, 0.25)
        >>> round(float(1 / (1 + np.exp(-logit))), 2)  # a uniform variable exceeds 3/4 with probability 1/4
        0.75
    """
    low, high = 0, NODES - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if survival[middle] >= probability:
            low = middle
        else:
            high = middle
    upper, lower, at = survival[high], survival[low], probability
    if at > 0.5:
        upper, lower, at = 1.0 - upper, 1.0 - lower, 1.0 - at
    if upper == 0.0 or lower == 0.0:  # the last cell, or the first
        return rounded(centre + width * (Z[low] if upper == 0.0 else Z[high]))
    share = math.log(at / lower) / math.log(upper / lower)
    return rounded(centre + width * (Z[low] + share * (Z[high] - Z[low])))


@kernel
def rounded(x):
    """The multiple of ``FINE`` next to ``x``: what differs by rounding errors only becomes equal, and ties are ties.

    Examples:
        >>> from rankgym.kernels import rounded
        >>> rounded(0.1 + 0.2) == rounded(0.3), 0.1 + 0.2 == 0.3
        (True, False)
    """
    return math.floor(x / FINE + 0.5) * FINE
