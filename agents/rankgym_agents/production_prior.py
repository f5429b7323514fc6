"""What attraction is like at each rank of the production list: a Beta prior by rank, for each kind of users.

**Agents with this prior know something that the other agents are not told**: how attractive the first item of a
production list is on average over queries, how attractive the second, and how much that varies. It was learned from the
80 training queries of the calibrated queries (``query="train"``) by the method of moments: the Beta with the mean m and
the variance v of attraction at the rank has a + b = m (1 - m) / v - 1 and a = m (a + b). A test computes it again.
"""

import numpy as np
from numpy.typing import NDArray

MOMENTS: dict[str, tuple[tuple[float, float], ...]] = {  # by kind of users: (a, b) of ranks 1, 2, ...
    "pbm": (
        (2.019, 3.028),
        (1.613, 6.070),
        (1.630, 7.212),
        (1.468, 7.699),
        (1.818, 10.849),
        (1.787, 10.310),
        (1.368, 10.133),
        (1.206, 7.540),
        (1.272, 8.030),
        (1.025, 6.066),
    ),
    "cascade": (
        (1.860, 2.740),
        (1.208, 4.877),
        (1.273, 9.220),
        (1.443, 16.092),
        (0.880, 12.745),
        (1.127, 19.627),
        (0.424, 8.888),
        (0.841, 18.160),
        (0.553, 10.664),
        (0.574, 11.356),
    ),
    "dcm": (
        (2.040, 2.881),
        (1.843, 4.986),
        (2.110, 7.745),
        (1.797, 8.438),
        (1.498, 8.062),
        (1.787, 10.181),
        (1.100, 8.110),
        (1.238, 8.273),
        (1.110, 7.692),
        (1.456, 9.677),
    ),
}


def production_prior(users: str, num_items: int) -> NDArray[np.float64]:
    """Return a and b at each rank of a production list of ``num_items`` items: (num_items, 2).

    The table has ten ranks. Ranks below have the tenth one's prior.

    Args:
        users: ``"pbm"``, ``"cascade"`` or ``"dcm"``.
        num_items: at least 1.
    """
    table = np.array(MOMENTS[users])
    return table[np.minimum(np.arange(num_items), len(table) - 1)]
