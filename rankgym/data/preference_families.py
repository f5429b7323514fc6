"""Families of random preference matrices: one function for each, and one table of them.

A matrix depends on family, number of arms, seed and knobs only, not on the versions of libraries: the random numbers
are those of Python's Mersenne Twister.
"""

import inspect
import random
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from rankgym.arguments import number_in, one_of, whole_number
from rankgym.data.matrices import MAX_ARMS, Array


class Knob(NamedTuple):
    """A numeric parameter of a family."""

    default: float
    low: float  # smallest and
    high: float  # largest value allowed
    what: str


class MatrixFamily(NamedTuple):
    """A way to draw a matrix, with its knobs."""

    draw: Callable[..., Array]
    knobs: dict[str, Knob]
    least_arms: int = 2

    @property
    def what(self) -> str:
        return inspect.getdoc(self.draw) or ""


def draw(family: str, num_arms: int, seed: int, **knobs: float) -> Array:
    """A random preference matrix (K, K), the same for the same arguments.

    Args:
        family: a key of ``FAMILIES``; its ``what`` says what the matrices are like.
        num_arms: K, from 2 (3, for ``"strong-borda-no-condorcet"``) to 5000.
        seed: a whole number from 0.
        **knobs: of the family; its ``knobs`` have their meanings, defaults and ranges.

    Raises:
        ValueError: an argument is unknown or outside its range.

    Examples:
        >>> from rankgym.data import preferences
        >>> matrix = preferences.draw("uniform", num_arms=5, seed=0)
        >>> matrix.shape, preferences.condorcet_winner(matrix) >= 0
        ((5, 5), True)
    """
    drawn, known, least_arms = one_of("family", family, FAMILIES)
    num_arms = whole_number("num_arms", num_arms, least_arms, MAX_ARMS)
    seed = whole_number("seed", seed, 0)
    values = {name: knob.default for name, knob in known.items()}
    for name, value in knobs.items():
        if name not in known:
            raise ValueError(f"{name} is not a knob of the family {family!r}; allowed: {list(known)}")
        values[name] = number_in(name, value, known[name].low, known[name].high)
    return drawn(random.Random(f"{family} {num_arms} {seed}"), num_arms, **values)


# -- the families -----------------------------------------------------------------------------------------------------


def _bradley_terry(source: random.Random, num_arms: int, spread: float) -> Array:
    """p_ij = 1 / (1 + exp(u_j - u_i)): every arm has a utility, normal with standard deviation ``spread``.

    The model of Bradley and Terry (1952): a total order without cycles; arms in the middle are hard to tell apart.
    """
    inverse = NormalDist().inv_cdf
    utility = spread * np.array([inverse(max(source.random(), 2.0**-54)) for _ in range(num_arms)])
    return _complemented(1.0 / (1.0 + np.exp(utility[None, :] - utility[:, None])))


def _plackett_luce(source: random.Random, num_arms: int, concentration: float) -> Array:
    """p_ij = w_i / (w_i + w_j), as in a Plackett-Luce ranking (Luce 1959, Plackett 1975), w gamma distributed.

    Pair by pair it is the Bradley-Terry model with utilities log w. These are drawn with a skew: a few arms are far
    behind, and the best are close. The normed weights are a Dirichlet choice distribution over the arms.
    """
    weight = np.array([source.gammavariate(concentration, 1.0) for _ in range(num_arms)])
    weight = np.maximum(weight / weight.max(), 1e-300)  # a weight rounded to zero still counts
    return _complemented(weight[:, None] / (weight[:, None] + weight))


def _uniform(source: random.Random, num_arms: int, gap: float) -> Array:
    """Entries uniform on [0, 1], with cycles everywhere; but a planted Condorcet winner's on (1/2 + gap, 1].

    The planted arm is drawn uniformly.
    """
    winner = source.randrange(num_arms)
    matrix = _of_pairs(source, num_arms, 0.0, 1.0)
    _set_row(matrix, winner, [1.0 - (0.5 - gap) * source.random() for _ in range(num_arms)])
    return matrix


def _total_order(source: random.Random, num_arms: int, gap: float) -> Array:
    """A random order: of each pair the better arm wins with a probability uniform on (1/2 + gap, 1].

    It does not depend on the arms' distance: an order without strong stochastic transitivity.
    """
    place = _shuffled(source, num_arms)
    i, j = np.triu_indices(num_arms, 1)
    wins = np.array([1.0 - (0.5 - gap) * source.random() for _ in range(len(i))])
    matrix = np.full((num_arms, num_arms), 0.5)
    matrix[i, j] = wins  # the arm before it in the order is the better one
    return _complemented(matrix)[np.ix_(place, place)]


def _strong_borda(source: random.Random, num_arms: int, upset: float) -> Array:
    """Arm b beats all but c by .8 or more; c beats b narrowly and loses to d; other entries are in .25 .. .75.

    No arm beats all: b loses to c, c to d, every other arm to b. And b has the best Borda score, by more than 0.05:
    the others' scores are at most (.2 + .75 (K - 2)) / (K - 1), or for c (1 + upset + .75 (K - 3)) / (K - 1), and b's
    is at least (.5 - upset + .8 (K - 2)) / (K - 1).
    """
    b, c, d = _shuffled(source, num_arms)[:3]
    matrix = _of_pairs(source, num_arms, 0.25, 0.75)
    _set_row(matrix, b, [1.0 - 0.2 * source.random() for _ in range(num_arms)])
    for winner, loser, most in ((c, b, upset), (d, c, 0.25)):
        matrix[winner, loser] = 0.5 + most * (1.0 - source.random())
        matrix[loser, winner] = 1.0 - matrix[winner, loser]
    return matrix


def _of_pairs(source: random.Random, num_arms: int, low: float, high: float) -> Array:
    """A matrix whose pairs are uniform on [low, high]."""
    matrix = np.full((num_arms, num_arms), 0.5)
    i, j = np.triu_indices(num_arms, 1)
    matrix[i, j] = [low + (high - low) * source.random() for _ in range(len(i))]
    return _complemented(matrix)


def _set_row(matrix: Array, arm: int, wins: list[float]) -> None:
    """Let ``arm`` win against each other arm with these probabilities."""
    matrix[arm] = wins
    matrix[:, arm] = 1.0 - matrix[arm]
    matrix[arm, arm] = 0.5


def _shuffled(source: random.Random, num_arms: int) -> list[int]:
    return sorted(range(num_arms), key=[source.random() for _ in range(num_arms)].__getitem__)


def _complemented(matrix: Array) -> Array:
    """Set the entries below the diagonal to 1 minus those above it, and the diagonal to 1/2."""
    i, j = np.triu_indices(len(matrix), 1)
    matrix[j, i] = 1.0 - matrix[i, j]
    np.fill_diagonal(matrix, 0.5)
    return matrix


FAMILIES = {
    "bradley-terry": MatrixFamily(
        _bradley_terry, {"spread": Knob(1.0, 0.001, 20.0, "standard deviation of the utilities")}
    ),
    "plackett-luce": MatrixFamily(
        _plackett_luce,
        {"concentration": Knob(1.0, 0.05, 1000.0, "shape of the gamma distribution: at 1000 arms are much alike")},
    ),
    "uniform": MatrixFamily(_uniform, {"gap": Knob(0.0, 0.0, 0.49, "least margin of the planted winner")}),
    "total-order": MatrixFamily(_total_order, {"gap": Knob(0.0, 0.0, 0.49, "least margin of a pair")}),
    "strong-borda-no-condorcet": MatrixFamily(
        _strong_borda,
        {"upset": Knob(0.1, 0.001, 0.1, "largest margin by which the Borda winner loses to one arm")},
        least_arms=3,
    ),
}
