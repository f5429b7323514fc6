"""Users of the interleaving experiments: they read a list from the top and click and stop by a document's grade.

At each position the user clicks with a probability that depends on the document's grade of relevance. After a click,
and only then, the user stops with another such probability. It is the dependent click model of Guo, Liu and Wang
("Efficient multiple-click models in web search", WSDM 2009) with the grade in place of document and position, as
instantiated by Hofmann, Whiteson and de Rijke ("Fidelity, soundness, and efficiency of interleaved comparison methods",
ACM TOIS 31, 2013, table II): a perfect user, who clicks what is relevant and reads on; a navigational one, who looks
for one document; an informational one, who clicks much and reads far. The almost random user, whose clicks hardly
depend on the grade, came with later experiments (Hofmann, Schuth, Whiteson and de Rijke, "Reusing historical
interaction data for faster online learning to rank for IR", WSDM 2013; Schuth, Oosterhuis, Whiteson and de Rijke,
"Multileave gradient descent for fast online learning to rank", WSDM 2016).

Numbers for three grades, and all of the almost random user, are those of the code published with Oosterhuis and de
Rijke ("Differentiable unbiased online learning to rank", CIKM 2018; ``utils/clicks.py`` of the repository
HarrieO/OnlineLearningToRank, models "binary", "short" and "long"). That of Kharitonov ("Federated online learning to
rank with evolution strategies", WSDM 2019; ``foltr/client/click_simulate.py`` of facebookresearch/foltr-es) has the
same perfect, navigational and informational users of three grades.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import one_of, probabilities
from rankgym.data.letor import LetorData
from rankgym.kernels import TERMINATION, bits, kernel, session_seed, uniform

MAX_POSITIONS = 20  # of click_vectors: a million vectors


class User(NamedTuple):
    """A cascade user."""

    clicking: NDArray[np.float64]  # (grades,): P(click | grade)
    stopping: NDArray[np.float64]  # (grades,): P(stop | click, grade)


PUBLISHED = {  # P(click | grade) and P(stop | click, grade), for 2, 3 and 5 grades
    "perfect": [
        ([0.0, 1.0], [0.0, 0.0]),
        ([0.0, 0.5, 1.0], [0.0, 0.0, 0.0]),
        ([0.0, 0.2, 0.4, 0.8, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]),
    ],
    "navigational": [
        ([0.05, 0.95], [0.2, 0.9]),
        ([0.05, 0.5, 0.95], [0.2, 0.5, 0.9]),
        ([0.05, 0.3, 0.5, 0.7, 0.95], [0.2, 0.3, 0.5, 0.7, 0.9]),
    ],
    "informational": [
        ([0.4, 0.9], [0.1, 0.5]),
        ([0.4, 0.7, 0.9], [0.1, 0.3, 0.5]),
        ([0.4, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
    "almost-random": [
        ([0.4, 0.6], [0.5, 0.5]),
        ([0.4, 0.5, 0.6], [0.5, 0.5, 0.5]),
        ([0.4, 0.45, 0.5, 0.55, 0.6], [0.5, 0.5, 0.5, 0.5, 0.5]),
    ],
}
USERS: dict[str, dict[int, User]] = {  # by the number of grades
    name: {len(clicking): User(np.array(clicking), np.array(stopping)) for clicking, stopping in users}
    for name, users in PUBLISHED.items()
}
GRADES = tuple(USERS["perfect"])  # for which there are users: 2, 3 and 5
ALLOWED = "2 (labels 0, 1), 3 (labels 0 .. 2) or 5 (labels 0 .. 4)"


def user(name: str, grades: int) -> User:
    """Return the user of this name for labels of 2, 3 or 5 grades; a ValueError if there is no such user.

    Examples:
        >>> from rankgym.models import users
        >>> reader = users.user("navigational", grades=3)
        >>> reader.clicking.tolist(), reader.stopping.tolist()  # by the grade
        ([0.05, 0.5, 0.95], [0.2, 0.5, 0.9])
    """
    return one_of("user_model", name, USERS)[checked_grades(grades)]


def checked_grades(grades: Any) -> int:
    """Return ``grades`` as an int; a ValueError if there is no user of so many."""
    if isinstance(grades, bool) or not isinstance(grades, (int, np.integer)) or grades not in GRADES:
        raise ValueError(f"grades = {grades!r} has no user; allowed: {ALLOWED}")
    return int(grades)


def num_grades(data: LetorData, grades: int | None, path: str | os.PathLike[str]) -> int:
    """Return how many grades of relevance a file has, by its largest label: 2 for 1, 3 for 2, 5 for 3 and 4.

    A file of a collection with five grades may happen to have no label above 2: say ``grades=5`` for it.

    Args:
        data: the file's documents.
        grades: the number of grades, if it is known: 2, 3 or 5.
        path: the file, for messages.

    Raises:
        ValueError: there is no user of so many grades, or a document has a label beyond them.
    """
    known = None if grades is None else checked_grades(grades)
    highest = int(data.labels.max())
    if known is None:
        known = next((number for number in GRADES if number > highest), None)
    if known is not None and highest < known:
        return known
    row = int((data.labels >= (known or GRADES[-1])).argmax())
    query = int(np.searchsorted(data.start, row, side="right")) - 1
    found = (
        f"{os.fspath(path)} has a label {data.labels[row]}, in query {data.query_ids[query]}, document "
        f"{row - data.start[query]} (from 0)"
    )
    if known is None:
        raise ValueError(f"{found}; allowed: 0 .. {GRADES[-1] - 1}, since users know grades = {ALLOWED}")
    raise ValueError(f"grades = {grades}, but {found}; allowed: 0 .. {known - 1}, or other grades: {ALLOWED}")


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

    Examples:
        A relevant document above one that is not: no click, a click on the first, on the second, on both.

        >>> from rankgym.models.users import click_vectors, user
        >>> click_vectors(user("navigational", 2), [[1, 0]]).round(6).tolist()
        [[0.0475, 0.94525, 0.0025, 0.00475]]
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
