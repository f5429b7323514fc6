"""Users of the interleaving experiments: they read a list from the top and click and stop by a document's grade.

At each position the user clicks with a probability that depends on the document's grade of relevance. After a click,
and only then, the user stops with another such probability. It is the dependent click model of Guo, Liu and Wang
("Efficient multiple-click models in web search", WSDM 2009) with the grade in place of document and position, as
instantiated by Hofmann, Whiteson and de Rijke ("Fidelity, soundness, and efficiency of interleaved comparison methods",
ACM TOIS 31, 2013, table II): a perfect user, who clicks what is relevant and reads on; a navigational one, who looks
for one document; an informational one, who clicks much and reads far.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import one_of, probabilities
from rankgym.kernels import TERMINATION, bits, kernel, session_seed, uniform

MAX_POSITIONS = 20  # of click_vectors: a million vectors


class User(NamedTuple):
    """A cascade user."""

    clicking: NDArray[np.float64]  # (grades,): P(click | grade)
    stopping: NDArray[np.float64]  # (grades,): P(stop | click, grade)


TABLE_II = {  # Hofmann et al. (2013): P(click | grade) and P(stop | click, grade), for 2 grades and for 5
    "perfect": [([0.0, 1.0], [0.0, 0.0]), ([0.0, 0.2, 0.4, 0.8, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0])],
    "navigational": [([0.05, 0.95], [0.2, 0.9]), ([0.05, 0.3, 0.5, 0.7, 0.95], [0.2, 0.3, 0.5, 0.7, 0.9])],
    "informational": [([0.4, 0.9], [0.1, 0.5]), ([0.4, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5])],
}
USERS: dict[str, dict[int, User]] = {  # by the number of grades
    name: {len(clicking): User(np.array(clicking), np.array(stopping)) for clicking, stopping in users}
    for name, users in TABLE_II.items()
}


def user(name: str, grades: int) -> User:
    """The user of this name in ``USERS`` for labels of 2 or 5 grades; a ValueError if there is no such user."""
    by_grades = one_of("user_model", name, USERS)
    if isinstance(grades, bool) or not isinstance(grades, (int, np.integer)) or grades not in by_grades:
        raise ValueError(f"grades = {grades!r} has no user; allowed: 2 (labels 0, 1) or 5 (labels 0 .. 4)")
    return by_grades[int(grades)]


@kernel
def click(clicking, stopping, labels, first, key, session, displayed, clicks, reward):
    """One session per row. ``reward`` counts the clicks.

    The document d of a row's list ``displayed`` (rows, positions) has the grade ``labels[first[row] + d]``; -1 stands
    for an empty position. The document's coin is number d of the session, the coin of stopping at position k number
    TERMINATION + k.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(key[row], session[row])
        count, reading = 0, True
        for k in range(positions):
            document = displayed[row, k]
            clicks[row, k] = 0
            if reading and document >= 0:
                grade = labels[first[row] + document]
                if uniform(bits(seed, document)) < clicking[grade]:
                    clicks[row, k] = 1
                    count += 1
                    reading = uniform(bits(seed, TERMINATION + k)) >= stopping[grade]
        reward[row] = count


def click_vectors(reader: User, grades: ArrayLike) -> NDArray[np.float64]:
    """Return the distribution of the clicks on lists of documents of these grades, for exact expectations.

    Args:
        reader: a user.
        grades: (rows, positions) whole numbers, at most 20 positions; -1 stands for an empty position.

    Returns:
        (rows, 2^positions) probabilities: entry n is that of clicks at exactly the positions k whose bit is set in n.

    Raises:
        ValueError: an argument is out of range.
    """
    clicking = probabilities("clicking", reader.clicking, 1)
    stopping = probabilities("stopping", reader.stopping, 1)
    if clicking.shape != stopping.shape:
        raise ValueError(f"stopping has shape {stopping.shape}; allowed: that of clicking, {clicking.shape}")
    try:
        given = np.asarray(grades)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "iu" or given.ndim != 2 or not 1 <= given.shape[1] <= MAX_POSITIONS:
        allowed = f"whole numbers of shape (rows, positions), 1 .. {MAX_POSITIONS} positions"
        raise ValueError(f"grades has shape {given.shape} and dtype {given.dtype}; allowed: {allowed}")
    wrong = np.argwhere((given < -1) | (given >= len(clicking)))
    if len(wrong):
        row, k = wrong[0].tolist()
        allowed = f"0 .. {len(clicking) - 1}, or -1"
        raise ValueError(f"grades[{row}, {k}] = {given[row, k]} is not a grade; allowed: {allowed}")
    attracted = np.where(given >= 0, clicking[given], 0.0)
    vectors = np.arange(1 << given.shape[1])
    reading, stopped = np.ones((len(given), len(vectors))), np.zeros((len(given), len(vectors)))
    for k in range(given.shape[1]):  # P(the clicks down to position k, and the user reads on, or has stopped)
        p, stop, clicked = attracted[:, k, None], stopping[given[:, k], None], vectors >> k & 1 == 1
        stopped = np.where(clicked, reading * p * stop, stopped)
        reading *= np.where(clicked, p * (1.0 - stop), 1.0 - p)
    return reading + stopped
