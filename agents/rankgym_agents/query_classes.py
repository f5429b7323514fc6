"""What the adaptive index knows before the first click: classes of queries, and kinds of users.

**This is knowledge that other agents are not given.** It was learned from the 80 training queries of the calibrated
queries (``query="train"``), with the attraction of all six click models; a test computes the classes again.

Each class of queries has a Beta distribution of attraction at each rank of the production list. They are a mixture that
was fitted by the EM algorithm: by moments with the queries' shares as weights, a + b between 1 and 60, 60 steps from
four groups of queries by their mean attraction. A class's Beta regardless of ranks is what remains where the production
list is in no useful order. For queries that are like none of these there is a grid of Betas, from rare clicks to
attractions of .8, and the uniform distribution.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHARES = (0.228, 0.462, 0.282, 0.028)  # of the classes
CLASSES = (  # (a, b) of ranks 1, 2, ...
    (
        (1.807, 2.729),
        (2.797, 4.608),
        (4.148, 9.339),
        (4.710, 12.896),
        (6.818, 22.635),
        (6.721, 22.396),
        (3.835, 15.109),
        (4.967, 15.731),
        (3.408, 11.343),
        (2.474, 8.098),
    ),
    (
        (1.999, 2.710),
        (3.442, 12.519),
        (2.464, 11.855),
        (2.815, 17.993),
        (1.702, 13.165),
        (2.145, 16.534),
        (1.519, 15.714),
        (2.528, 26.308),
        (1.975, 18.384),
        (2.006, 18.681),
    ),
    (
        (2.464, 3.818),
        (2.967, 21.111),
        (3.361, 36.503),
        (2.727, 44.674),
        (0.823, 13.610),
        (2.295, 52.781),
        (0.747, 25.768),
        (1.065, 36.137),
        (1.368, 58.632),
        (1.633, 54.194),
    ),
    (
        (4.464, 21.593),
        (2.237, 57.763),
        (3.277, 56.723),
        (1.844, 58.156),
        (0.734, 30.371),
        (0.993, 59.007),
        (0.354, 59.646),
        (0.464, 59.536),
        (0.328, 59.672),
        (0.262, 59.738),
    ),
)
REGARDLESS = (
    (2.529, 6.769),
    (0.907, 4.962),
    (0.342, 3.612),
    (0.376, 10.139),
)  # (a, b) of the classes where ranks say nothing
# the probability of lists as in training, of such in no order, and of the uniform distribution
IN_ORDER, IN_NO_ORDER, ANYTHING = 0.45, 0.18, 0.1
MEANS = (0.005, 0.015, 0.04, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8)  # of the grid
STRENGTHS = (3.0, 12.0, 40.0)  # a + b of the grid
LEAST = 0.1  # a and b at least; grid points with a smaller one are left out

EXAMINATION = (1.0, 0.959, 0.761, 0.592, 0.457, 0.386, 0.331, 0.284, 0.262, 0.267)  # of the PBM's training queries
TERMINATION = (0.656, 0.487, 0.461, 0.463, 0.456, 0.471, 0.503, 0.548, 0.654, 0.6)  # and of the DCM's
KNOWN, UNKNOWN = 100.0, 8.0  # a + b of priors of users who are like those of training or of textbooks, and of any


class Kinds(NamedTuple):
    """Kinds of users, as priors of what they do. (1, 0) is a certain 1, (0, 1) a certain 0."""

    log_chance: NDArray[np.float64]  # (kinds,): logarithm of each kind's probability
    examination: NDArray[np.float64]  # (kinds, positions, 2): a and b
    termination: NDArray[np.float64]  # (kinds, positions, 2)


def query_classes(num_items: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the hypotheses on attraction at the ranks of a production list. Ranks below the tenth are like it.

    Returns:
        Logarithms of their probabilities, (hypotheses,), and a and b at each rank, (num_items, hypotheses, 2).
    """
    grid = [(mean * size, (1 - mean) * size) for mean in MEANS for size in STRENGTHS if mean * size >= LEAST]
    by_rank = np.array(CLASSES).transpose(1, 0, 2)  # (ranks, classes, 2)
    ranks = np.minimum(np.arange(num_items), len(by_rank) - 1)
    everywhere = np.tile(np.array([*REGARDLESS, *grid, (1.0, 1.0)]), (num_items, 1, 1))
    shares = np.array(SHARES) / sum(SHARES)
    rest = 1 - IN_ORDER - IN_NO_ORDER - ANYTHING
    chance = np.concatenate([IN_ORDER * shares, IN_NO_ORDER * shares, np.full(len(grid), rest / len(grid)), [ANYTHING]])
    return np.log(chance), np.concatenate([by_rank[ranks], everywhere], axis=1)


def kinds_of_users(num_positions: int) -> Kinds:
    """Return the kinds of users.

    PBM users as in training, those of textbooks with kappa(k) = 1 / k, and any; DCM users as in training, and any; and
    cascade users.
    """
    places = np.arange(num_positions)
    always, never = np.tile([1.0, 0.0], (num_positions, 1)), np.tile([0.0, 1.0], (num_positions, 1))

    def beta(mean: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
        mean = np.clip(mean, 0.01, 0.99)
        return np.stack([mean * strength, (1 - mean) * strength], axis=1)

    def trained(table: tuple[float, ...]) -> NDArray[np.float64]:
        return beta(np.array(table)[np.minimum(places, len(table) - 1)], KNOWN)

    pbm = [trained(EXAMINATION), beta(1 / (places + 1), KNOWN), beta(1 / np.sqrt(places + 1), UNKNOWN)]
    return Kinds(
        log_chance=np.log([0.2, 0.15, 0.15, 0.2, 0.1, 0.2]),
        examination=np.stack([*pbm, always, always, always]),
        termination=np.stack(
            [never, never, never, trained(TERMINATION), beta(np.full(num_positions, 0.5), 2.0), always]
        ),
    )
