"""Preference matrices by name (``load("arxiv")``), their winners and scores, and random matrices (``draw``).

Three small matrices are printed in this file. ``"mslr"`` is either synthetic (``source="calibrated"``, which comes with
the package, see ``rankgym.data.make_mslr``) or the published one. ``rankgym data import NAME FILE`` adds a user's
matrix.
"""

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of, whole_number
from rankgym.data import catalogue, matrix_files
from rankgym.data.matrices import borda_scores, check_preference, condorcet_winner, copeland_scores, cyclic_triples
from rankgym.data.preference_families import FAMILIES, draw

__all__ = [
    "FAMILIES",
    "NAMES",
    "PRINTED",
    "SOURCES",
    "USER_MODELS",
    "borda_scores",
    "check_preference",
    "condorcet_winner",
    "copeland_scores",
    "cyclic_triples",
    "draw",
    "load",
    "with_uninformative",
]

Array = NDArray[np.float64]

# their sources are in ``catalogue.DATASETS``
PRINTED = {
    "arxiv": (
        (0.50, 0.55, 0.55, 0.54, 0.61, 0.61),
        (0.45, 0.50, 0.55, 0.55, 0.58, 0.60),
        (0.45, 0.45, 0.50, 0.54, 0.51, 0.56),
        (0.46, 0.45, 0.46, 0.50, 0.54, 0.50),
        (0.39, 0.42, 0.49, 0.46, 0.50, 0.51),
        (0.39, 0.40, 0.44, 0.50, 0.49, 0.50),
    ),
    "cyclic": ((0.5, 0.6, 0.6, 0.6), (0.4, 0.5, 0.9, 0.1), (0.4, 0.1, 0.5, 0.9), (0.4, 0.9, 0.1, 0.5)),
    "arithmetic": tuple(tuple(round(0.5 + 0.05 * (j - i), 2) for j in range(8)) for i in range(8)),
}
NAMES = (*PRINTED, "mslr")  # and what the user imported
SOURCES = ("calibrated", "published")
USER_MODELS = ("perfect", "navigational", "informational")
MOST_UNINFORMATIVE = 10_000


def load(
    name: str, *, source: str = "calibrated", user_model: str = "perfect", uninformative: int = 0
) -> NDArray[np.float64]:
    """Return a preference matrix by its name, as a fresh array (K, K) that passes ``check_preference``.

    Args:
        name: ``"arxiv"`` (6 arms), ``"cyclic"`` (4), ``"arithmetic"`` (8), ``"mslr"`` (136; 135 for the
            informational user), or a name of ``rankgym data import NAME FILE``.
        source: of ``"mslr"``: ``"calibrated"`` is synthetic and comes with the package, ``"published"`` is the
            original, downloaded by ``rankgym data fetch mslr``. The other matrices have only one source.
        user_model: of ``"mslr"``: ``"perfect"``, ``"navigational"`` or ``"informational"``, the user whose clicks
            decided. The other matrices have only ``"perfect"``.
        uninformative: number of extra arms that lose to all and tie with each other; see ``with_uninformative``.

    Raises:
        ValueError: an argument is unknown; the message lists the allowed ones.
        MissingData: the published data is not in the cache; the message has the commands that download or import it.

    Examples:
        >>> from rankgym.data import preferences
        >>> preferences.load("cyclic").tolist()[0]  # arm 0 wins narrowly
        [0.5, 0.6, 0.6, 0.6]
        >>> preferences.load("mslr", user_model="informational").shape
        (135, 135)
    """
    one_of("source", source, SOURCES)
    one_of("user_model", user_model, USER_MODELS)
    if name != "mslr" and user_model != "perfect":
        raise ValueError(f"user_model = {user_model!r} belongs to 'mslr'; allowed for {name!r}: ['perfect']")
    if not isinstance(name, str):
        raise ValueError(f"dataset = {name!r} is not a name; allowed: {list(NAMES)}")
    if name in PRINTED:
        matrix = check_preference(name, PRINTED[name])
    elif name == "mslr":
        published = source == "published"
        stored = catalogue.latest("mslr") if published else catalogue.embedded("mslr-calibrated")
        matrix = stored[user_model] if published else matrix_files.unpacked(stored[user_model])
    elif name in catalogue.imported_names():
        matrix = catalogue.imported(name)
    else:
        raise ValueError(
            f"dataset = {name!r} is not a preference matrix; allowed: {[*NAMES, *catalogue.imported_names()]}, and "
            f"names of `rankgym data import NAME FILE`"
        )
    return with_uninformative(matrix, uninformative)


def with_uninformative(matrix: Array, count: int) -> Array:
    """The matrix with ``count`` uninformative arms after its own: (K + count, K + count).

    These arms are the uninformative rankers of Zoghi, Whiteson and de Rijke, MergeRUCB (2015), section 7, such as
    features that are always zero. By assumption A1 they tie with each other at exactly 1/2 and lose to all other arms.
    A2 allows at most a third of all arms to be uninformative, ``count <= K / 2``; that is not checked here, because
    larger counts are worth an experiment. The paper does not say by how much such arms lose. Here arm i beats each of
    them as it beats its weakest opponent, max_j p_ij. An arm that beats no other arm beats them by its smallest nonzero
    distance from 1/2; an arm that ties with all others is uninformative itself.

    Args:
        matrix: (K, K) preferences.
        count: 0 .. 10,000.

    Raises:
        ValueError: ``count`` is not a whole number from 0 to 10000.

    Examples:
        >>> import numpy as np
        >>> from rankgym.data.preferences import with_uninformative
        >>> with_uninformative(np.array([[0.5, 0.7], [0.3, 0.5]]), 1).round(3).tolist()
        [[0.5, 0.7, 0.7], [0.3, 0.5, 0.7], [0.3, 0.3, 0.5]]
    """
    count = whole_number("uninformative", count, 0, MOST_UNINFORMATIVE)
    if count == 0:
        return matrix.copy()
    arms, total = len(matrix), len(matrix) + count
    others = matrix[~np.eye(arms, dtype=bool)].reshape(arms, arms - 1)
    most, distance = others.max(1), np.abs(others - 0.5)
    nearest = np.where(distance > 0.0, distance, 0.5).min(1)
    wins = np.where(most > 0.5, most, np.where(distance.any(1), 0.5 + nearest, 0.5))
    grown = np.full((total, total), 0.5)
    grown[:arms, :arms] = matrix
    grown[:arms, arms:] = wins[:, None]
    grown[arms:, :arms] = 1.0 - wins
    return grown
