"""Posteriors of attraction: against SciPy's Betas, numerical integration, and what must hold of any posterior."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from rankgym.kernels import NODES, exceeded, posterior
from rankgym.kernels.posteriors import Z, mode

pytestmark = pytest.mark.kernels
unhurried = settings(deadline=None)  # the first example may wait for the compiler
SHARES = (0.99, 0.9, 0.5, 0.1, 0.01, 0.001)
counts = st.integers(0, 10**6)
priors = st.floats(0.5, 20)


class Posterior:
    """One posterior, of whatever numbers."""

    def __init__(self, clicked, missed, examination, a=1.0, b=1.0):
        self.survival, room = np.empty(NODES), np.empty((3, NODES))
        missed, examination = np.array(missed, float), np.array(examination, float)
        self.centre, self.width, self.mean, self.deviation = posterior(
            float(clicked), missed, examination, float(a), float(b), self.survival, *room
        )

    def quantile(self, share):
        """What theta exceeds with probability ``share``."""
        return 1 / (1 + math.exp(-exceeded(self.survival, self.centre, self.width, share)))


def integrated(clicked, missed, examination, a, b, shares):
    """Mean, standard deviation and quantiles, by adding up a fine grid of theta."""
    x = np.linspace(-25, 25, 400_001)
    theta = 1 / (1 + np.exp(-x))
    logs = (a + clicked) * np.log(theta) - b * np.logaddexp(0, x)
    for m, kappa in zip(missed, examination, strict=True):
        logs += m * np.log1p(-kappa * theta)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    mean = mass @ theta
    above = np.cumsum(mass[::-1])[::-1]
    return mean, math.sqrt(mass @ (theta - mean) ** 2), [theta[np.searchsorted(-above, -share)] for share in shares]


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 3), (0.42, 8.9), (20, 0.7)])
@pytest.mark.parametrize(
    ("clicked", "missed"), [(0, 0), (0, 3), (1, 0), (2, 5), (0, 400), (30, 4_000), (900_000, 10_000)]
)
def test_where_everybody_looks_it_is_a_beta(a, b, clicked, missed):
    """Quantiles err most without a click, or with nothing else: there densities bend most."""
    found, truth = Posterior(clicked, [missed], [1.0], a, b), stats.beta(a + clicked, b + missed)
    assert found.mean == pytest.approx(truth.mean(), abs=2e-3 * truth.std())
    assert found.deviation == pytest.approx(truth.std(), rel=2e-2)
    near = 0.09 if clicked == 0 or missed == 0 else 0.02
    for share in SHARES[:-1]:
        assert found.quantile(share) == pytest.approx(truth.isf(share), abs=near * truth.std())


@pytest.mark.parametrize(
    ("clicked", "missed", "examination"),
    [
        (3, [5, 10, 2], [1.0, 0.5, 0.25]),
        (1, [0, 0, 30], [1.0, 0.5, 0.01]),
        (400, [100, 3_000, 7_000], [0.99, 0.6, 0.1]),
        (50, [0, 0.5, 0], [0.0, 0.3, 1.0]),
        (2_000, [10, 2_500, 10], [0.9, 0.5, 0.2]),
    ],
)
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1.3, 6)])
def test_examination_makes_it_what_integration_says(clicked, missed, examination, a, b):
    found = Posterior(clicked, missed, examination, a, b)
    mean, deviation, quantiles = integrated(clicked, missed, examination, a, b, SHARES)
    assert found.mean == pytest.approx(mean, abs=3e-3 * deviation)
    assert found.deviation == pytest.approx(deviation, rel=2e-2)
    assert [found.quantile(share) for share in SHARES] == pytest.approx(quantiles, abs=0.05 * deviation)


@unhurried
@given(counts, counts, st.integers(0, 1000), st.floats(0, 1), priors, priors)
@example(0, 0, 363, 0.5, 1.0, 1.0)  # its density falls by 40 orders of magnitude, and then hardly
def test_it_is_a_distribution(clicked, often, seldom, kappa, a, b):
    found = Posterior(clicked, [often, seldom], [1.0, kappa], a, b)
    assert found.survival[0] == 1
    assert found.survival[-1] == 0
    assert (np.diff(found.survival) <= 0).all()
    assert 0 < found.mean < 1
    assert 0 <= found.deviation < 0.5
    assert found.width > 0
    values = [exceeded(found.survival, found.centre, found.width, share) for share in SHARES]
    assert values == sorted(values)


@unhurried
@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500), st.floats(0, 1), priors, priors)
def test_kinds_that_are_examined_alike_are_one(clicked, some, others, kappa, a, b):
    apart, together = (
        Posterior(clicked, missed, [kappa] * len(missed), a, b) for missed in ([some, others], [some + others])
    )
    assert [apart.quantile(share) for share in SHARES] == pytest.approx(
        [together.quantile(s) for s in SHARES], rel=1e-6
    )


@unhurried
@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 10**6), priors, priors)
def test_what_nobody_looks_at_says_nothing(clicked, missed, unseen, a, b):
    without, found = Posterior(clicked, [missed], [1.0], a, b), Posterior(clicked, [missed, unseen], [1.0, 0.0], a, b)
    assert (found.survival == without.survival).all()
    assert (found.centre, found.width, found.mean) == (without.centre, without.width, without.mean)


@unhurried
@given(st.integers(0, 10**5), st.integers(0, 10**5), st.integers(0, 10**5), st.floats(0.01, 0.99), priors, priors)
def test_the_mode_is_where_the_density_is_level(clicked, sure, unsure, kappa, a, b):
    """The derivative by the logit, in units of the width, is that of a parabola within 1e-3 of its top."""
    missed, examination = np.array([float(unsure)]), np.array([kappa])
    centre, width = mode(missed, examination, a + clicked, b + sure)
    theta = 1 / (1 + math.exp(-centre))
    slope = (a + clicked) - theta * (a + clicked + b + sure + unsure * kappa * (1 - theta) / (1 - kappa * theta))
    assert abs(slope * width) < 1e-3 * max(1.0, width * (a + clicked))


@unhurried
@given(counts, st.integers(0, 10**6), st.floats(0.05, 1), priors, priors)
def test_a_click_raises_it_and_none_lowers_it(clicked, missed, kappa, a, b):
    here, more = Posterior(clicked, [missed], [kappa], a, b), Posterior(clicked + 1, [missed], [kappa], a, b)
    less = Posterior(clicked, [missed + 1], [kappa], a, b)
    assert less.mean < here.mean < more.mean


def test_the_nodes_are_symmetric_and_denser_in_the_middle():
    np.testing.assert_allclose(Z, -Z[::-1])
    assert (np.diff(Z, 2)[NODES // 2 :] > 0).all()
