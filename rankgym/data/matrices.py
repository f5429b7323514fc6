"""Preference matrices: their checks, winners, scores and cycles.

``matrix[i, j]`` is the probability that arm i wins a duel with arm j. Arms are numbered from 0.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_ARMS = 5_000
ROUNDING = 1e-9  # allowed in p_ij + p_ji = 1 and on the diagonal: that of 0.3 + 0.7


def check_preference(name: str, matrix: Any, *, tolerance: float = ROUNDING) -> Array:
    """Return the matrix as a fresh float64 array (K, K), or raise a ValueError that names the wrong entry.

    The matrix must be square with at least 2 arms, finite, within [0, 1], with 1/2 on the diagonal and p_ij + p_ji = 1,
    the latter two up to ``tolerance``. In the returned array they hold exactly: if an entry above the diagonal and its
    opposite do not add up to 1.0, half of the difference is added to each.

    Args:
        name: the matrix's name in error messages.
        matrix: (K, K) numbers: an array, or nested sequences.

    Raises:
        ValueError: the array is not such a matrix.

    Examples:
        >>> from rankgym.data.matrices import check_preference
        >>> check_preference("mine", [[0.5, 0.6], [0.5, 0.5]])
        Traceback (most recent call last):
            ...
        ValueError: mine[0, 1] = 0.6 and its opposite [1, 0] = 0.5 add up to 1.1; allowed: 1, within 1e-09
    """
    try:
        given = np.asarray(matrix)
    except ValueError:  # nested sequences of different lengths
        raise ValueError(f"{name} is not a matrix: its rows differ in length; allowed: shape (K, K), K >= 2") from None
    if given.ndim != 2 or given.shape[0] != given.shape[1] or len(given) < 2:
        raise ValueError(f"{name} has shape {given.shape}; allowed: (K, K), K >= 2")
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {given.dtype}; allowed: real numbers")
    found = np.array(given, np.float64, order="C")
    wrong = flaw(found, tolerance)
    if wrong is not None:
        raise ValueError(f"{name}[{wrong.row}, {wrong.column}] {wrong.complaint}")
    return symmetric(found)


class Flaw(NamedTuple):
    """A reason why a square array of numbers is not a preference matrix."""

    row: int
    column: int
    complaint: str  # follows the name of the entry: "= 1.5 is not a probability; ..."


def flaw(matrix: Array, tolerance: float = ROUNDING) -> Flaw | None:
    """The first wrong entry of a square matrix by the rules of ``check_preference``, or None."""
    within = np.clip(matrix, 0.0, 1.0)  # the first rule finds entries outside; the other rules must not overflow
    for wrong, complaint in (
        (~((matrix >= 0.0) & (matrix <= 1.0)), "is not a probability; allowed range [0, 1]"),  # also NaN
        (np.diag(np.abs(np.diagonal(within) - 0.5) > tolerance), "is an arm against itself; allowed: 0.5"),
        (np.abs(within + within.T - 1.0) > tolerance, ""),
    ):
        if wrong.any():
            i, j = (int(index) for index in np.unravel_index(int(wrong.argmax()), wrong.shape))
            p, q = float(matrix[i, j]), float(matrix[j, i])
            sums = f"and its opposite [{j}, {i}] = {q} add up to {p + q:.10g}; allowed: 1, within {tolerance:g}"
            return Flaw(i, j, f"= {p} {complaint or sums}")
    return None


def symmetric(matrix: Array) -> Array:
    """The matrix (changed in place) with p_ij + p_ji = 1.0 and the diagonal 0.5 to the last bit."""
    rows, columns = np.nonzero(np.triu(matrix + matrix.T != 1.0, 1))
    matrix[rows, columns] = (matrix[rows, columns] + (1.0 - matrix[columns, rows])) / 2.0
    matrix[columns, rows] = 1.0 - matrix[rows, columns]
    np.fill_diagonal(matrix, 0.5)
    return matrix


def condorcet_winner(matrix: Array) -> int:
    """The arm that beats every other arm, p > 1/2; -1 if no arm does. A tie is not a win.

    Args:
        matrix: (K, K) preferences, as ``check_preference`` returns them; they are not checked.

    Examples:
        >>> import numpy as np
        >>> from rankgym.data import preferences
        >>> from rankgym.data.matrices import condorcet_winner
        >>> rock = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])  # beats scissors, which beat paper
        >>> condorcet_winner(preferences.load("arxiv")), condorcet_winner(rock)
        (0, -1)
    """
    beaten = copeland_scores(matrix)
    best = int(beaten.argmax())
    return best if beaten[best] == len(matrix) - 1 else -1


def copeland_scores(matrix: Array) -> NDArray[np.int64]:
    """The number of arms that each arm beats, p > 1/2: (K,). A tie is not a win.

    Args:
        matrix: (K, K) preferences, as ``check_preference`` returns them; they are not checked.

    Examples:
        >>> import numpy as np
        >>> from rankgym.data import preferences
        >>> from rankgym.data.matrices import copeland_scores
        >>> rock = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])  # beats scissors, which beat paper
        >>> copeland_scores(rock).tolist(), copeland_scores(preferences.load("arithmetic")).tolist()
        ([1, 1, 1], [7, 6, 5, 4, 3, 2, 1, 0])
    """
    return (np.asarray(matrix) > 0.5).sum(1, dtype=np.int64)


def borda_scores(matrix: Array) -> Array:
    """Each arm's probability of beating another arm drawn uniformly, (K,): the mean of its row without itself.

    Args:
        matrix: (K, K) preferences, as ``check_preference`` returns them; they are not checked.

    Examples:
        >>> import numpy as np
        >>> from rankgym.data.matrices import borda_scores
        >>> rock = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])  # beats scissors, which beat paper
        >>> borda_scores(rock).round(3).tolist()
        [0.5, 0.5, 0.5]
    """
    p = np.asarray(matrix, np.float64)
    scores: Array = (p.sum(1) - np.diagonal(p)) / (len(p) - 1)
    return scores


def cyclic_triples(matrix: Array) -> int:
    """The number of sets of three arms in a circle: i beats j, j beats k, k beats i, each with p > 1/2.

    Args:
        matrix: (K, K) preferences, as ``check_preference`` returns them; they are not checked.

    Examples:
        >>> import numpy as np
        >>> from rankgym.data import preferences
        >>> from rankgym.data.matrices import cyclic_triples
        >>> rock = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])  # beats scissors, which beat paper
        >>> cyclic_triples(rock), cyclic_triples(preferences.load("arithmetic"))
        (1, 0)
    """
    beats = (np.asarray(matrix) > 0.5).astype(np.float64)  # counts stay exact: far below 2^53
    return round(float(((beats @ beats) * beats.T).sum()) / 3.0)
