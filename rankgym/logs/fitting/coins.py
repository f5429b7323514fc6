"""What the fits of all click models share: a model is a set of coins, and EM counts their expected tosses.

A session tosses coins: of attraction, of examination, of going on. Their probabilities are the parameters. Given the
clicks and the current parameters, the E-step finds for each coin the expected numbers of heads and of tosses that the
sessions can tell apart; the M-step takes heads / tosses. By Fisher's identity the derivative of the log-likelihood of
the clicks by a coin's probability p is heads / p - (tosses - heads) / (1 - p).
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import ONE, kernel

Tables = dict[str, NDArray[np.float64]]  # by the parameters' names


class Walks(NamedTuple):
    """The sessions as kernels walk them: the log's own arrays, and where lists and clicks end."""

    item: NDArray[np.int32]  # (groups, positions); -1 below the end of the list
    clicks: NDArray[np.uint64]  # (groups,)
    repeats: NDArray[np.int64]  # (groups,)
    length: NDArray[np.int8]  # (groups,) positions displayed
    last: NDArray[np.int8]  # (groups,) position of the last click, -1: no click
    item_query: NDArray[np.int32]  # (items,)

    @property
    def num_items(self) -> int:
        """Items of all queries."""
        return len(self.item_query)

    @property
    def num_positions(self) -> int:
        """Positions of the longest list."""
        return self.item.shape[1]


class Expected(NamedTuple):
    """The outcome of an E-step."""

    heads: Tables  # expected heads of each coin
    tosses: Tables  # expected tosses whose outcome matters for the clicks
    log_likelihood: float  # of the clicks


class Curvature(NamedTuple):
    """Standard errors, and how far the estimates are from the maximum."""

    errors: Tables  # NaN where there is none
    step: Tables  # of Newton's method, 0 for what is not free

    @property
    def distance(self) -> float:
        """The largest Newton step of an estimate in its standard errors: the distance of the maximum, if it is near."""
        ratios = [np.abs(step / self.errors[name]).ravel() for name, step in self.step.items()]
        return float(np.nanmax(np.concatenate([[0.0], *ratios])))


class Problem(Protocol):
    """A log's sufficient statistics for one click model."""

    shapes: dict[str, tuple[int, ...]]  # of the parameters

    def start(self, generator: np.random.Generator | None) -> Tables:
        """Return where to start: a closed-form approximation, or by chance with a generator."""
        ...

    def expect(self, parameters: Tables) -> Expected:
        """Return the expected tosses of all coins and the log-likelihood (E-step)."""
        ...

    def curvature(
        self, parameters: Tables, expected: Expected, free: dict[str, NDArray[np.bool_]], penalty: Tables
    ) -> Curvature:
        """Return standard errors of the free entries, and the Newton step.

        Args:
            parameters: the estimates.
            expected: the tosses there, with those of the prior.
            free: which entries were estimated and lie inside (0, 1).
            penalty: minus the second derivative of the logarithm of the prior's density, added to the information.
        """
        ...

    def settled(self, parameters: Tables, expected: Expected) -> Tables:
        """Return the parameters with a conventional value where no session tells anything."""
        ...


@kernel
def measure(item, clicks, repeats, num_items, length, last):
    """Fill ``length`` and ``last`` (groups,) of ``Walks``; returns the first group that is not a session, or -1."""
    groups, positions = item.shape
    for g in range(groups):
        n = 0
        while n < positions and item[g, n] >= 0:
            n += 1
        for k in range(n):
            if item[g, k] >= num_items:
                return g
        for k in range(n, positions):
            if item[g, k] >= 0:
                return g
        end = -1
        for k in range(64):
            if clicks[g] >> np.uint64(k) & ONE:
                end = k
        if end >= n or n == 0 or repeats[g] < 1:
            return g
        length[g], last[g] = n, end
    return -1


@kernel
def span(item, length, lowest, highest):
    """Lower ``lowest`` and raise ``highest`` (items,) to the first and last position of each item."""
    for g in range(item.shape[0]):
        for k in range(length[g]):
            i = item[g, k]
            lowest[i], highest[i] = min(lowest[i], k), max(highest[i], k)


def ratio(heads: NDArray[Any], tosses: NDArray[Any], otherwise: Any) -> NDArray[np.float64]:
    """Return heads / tosses, and ``otherwise`` where nothing was tossed."""
    made = np.array(np.broadcast_to(otherwise, tosses.shape), np.float64)
    np.divide(heads, tosses, out=made, where=tosses > 0)
    return made


def pooled(heads: NDArray[Any], tosses: NDArray[Any]) -> float:
    """Return the share of heads of all coins together, 0 if none was tossed."""
    return float(heads.sum() / tosses.sum()) if tosses.sum() > 0 else 0.0
