"""Interleaving methods, one paper per file: merge two rankers' lists into one, and infer from clicks which is better.

To add a method, write a file (``team_draft.py`` is a short one) and list it in ``INTERLEAVINGS`` in this file. May
import arguments and kernels.
"""

import inspect
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import array_of, one_of, whole_number
from rankgym.interleaving.balanced import Balanced
from rankgym.interleaving.base import CREDIT_TOLERANCE, Interleaving, Lists, copy_rankings, decide
from rankgym.interleaving.document_constraints import DocumentConstraints
from rankgym.interleaving.optimized import Optimized
from rankgym.interleaving.probabilistic import Probabilistic
from rankgym.interleaving.team_draft import TeamDraft
from rankgym.kernels import ENVIRONMENT, first_fault, row_keys

__all__ = [
    "CREDIT_TOLERANCE",
    "INTERLEAVINGS",
    "Comparison",
    "Interleaving",
    "Lists",
    "compare",
    "copy_rankings",
    "decide",
    "make",
]

MAX_DOCUMENTS = 1 << 24  # a ranking takes memory for each number up to its largest document

INTERLEAVINGS: dict[str, type[Interleaving]] = {
    method.name: method for method in (Balanced, TeamDraft, Probabilistic, DocumentConstraints, Optimized)
}


def make(name: str, knobs: dict[str, Any] | None = None) -> Interleaving:
    """Make the method of this name in ``INTERLEAVINGS`` with the keywords ``knobs``.

    Args:
        name: "balanced", "team-draft", "probabilistic", "document-constraints" or "optimized".
        knobs: keywords of the method, such as ``{"tau": 3.0}``; None: its defaults.

    Raises:
        ValueError: the name or a keyword is unknown, or a value is out of range.

    Examples:
        >>> from rankgym.interleaving import make
        >>> make("probabilistic", {"tau": 3.0})
        Probabilistic(tau=3.0, credit='marginalized')
        >>> make("team-draft", {"tau": 3.0})
        Traceback (most recent call last):
            ...
        ValueError: the interleaving 'team-draft' does not have a keyword 'tau'; allowed: none
    """
    method = one_of("interleaving", name, INTERLEAVINGS)
    if knobs is not None and not isinstance(knobs, dict):
        raise ValueError(f"interleaving_knobs = {knobs!r} is not a dict; allowed: a dict of keywords by name")
    allowed = [p for p in inspect.signature(method).parameters if p not in ("args", "kwargs")]
    for knob in knobs or {}:
        if knob not in allowed:
            words = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(f"the interleaving {name!r} does not have a keyword {knob!r}; allowed: {words}")
    return method(**(knobs or {}))


class Comparison(NamedTuple):
    """Interleaved lists of rows, with everything needed to credit clicks on them.

    See ``compare``, which makes it, for an example.

    Raises:
        ValueError: by ``credit`` and ``winner``, if the clicks have another shape, or are not 0 and 1 on documents.
    """

    method: Interleaving
    lists: Lists
    left: NDArray[np.int64]  # (rows,): numbers of the rankings in ``lists``
    right: NDArray[np.int64]  # (rows,)
    key: NDArray[np.uint64]  # (rows,)
    session: NDArray[np.int64]  # (rows,)
    displayed: NDArray[np.int64]  # (rows, length): the documents to display, -1 behind the end of a list
    share: NDArray[np.float64]  # (rows, length): what the method keeps for its credit

    def credit(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """The credit (rows, 2) of left and right for ``clicks`` (rows, length) of 0 and 1."""
        given = array_of(clicks)
        if given.shape != self.displayed.shape or given.dtype.kind not in "biu":
            allowed = f"0 and 1 of shape {self.displayed.shape}"
            raise ValueError(f"clicks has shape {given.shape} and dtype {given.dtype}; allowed: {allowed}")
        wrong = np.argwhere((given != 0) & ((given != 1) | (self.displayed < 0)))
        if len(wrong):
            row, k = wrong[0].tolist()
            nothing = ", where nothing is displayed" if self.displayed[row, k] < 0 else ""
            raise ValueError(f"clicks[{row}, {k}] = {given[row, k]}{nothing}; allowed: 0 and 1, on documents")
        credit = np.empty((len(self.left), 2))
        marks = np.ascontiguousarray(given, np.int8)
        self.method.credit(self.lists, self.left, self.right, self.displayed, self.share, marks, credit)
        return credit

    def winner(self, clicks: ArrayLike) -> NDArray[np.int64]:
        """The side with more credit in each row, (rows,): 0 left, 1 right; a fair coin if equal."""
        winner = np.empty(len(self.left), np.int64)
        decide(self.credit(clicks), self.key, self.session, winner)
        return winner


def compare(
    left: ArrayLike,
    right: ArrayLike,
    length: int | None = None,
    *,
    method: str = "team-draft",
    seed: int = 0,
    **knobs: Any,
) -> Comparison:
    """Interleave rankings for one user each.

    Args:
        left, right: the rankers' lists, (rows, n) each, or (n,) for one row, best first, of documents numbered from 0.
            The two lists of a row may have different documents.
        length: of the interleaved list, 1 .. n. Default: n.
        method: a key of ``INTERLEAVINGS``.
        seed: row b draws the coins of ``seed + b``.
        knobs: keywords of the method.

    Returns:
        A ``Comparison``: ``displayed`` (rows, length) int64 are the documents to display, -1 behind the end of a list;
        ``credit(clicks)`` (rows, 2) and ``winner(clicks)`` (rows,) evaluate the clicks (rows, length) on them.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and what is allowed.

    Examples:
        The user of row 0 clicks on document 0, which left ranks first and right last; the user of row 1 does not click,
        and a coin decides.

        >>> import numpy as np
        >>> from rankgym.interleaving import compare
        >>> comparison = compare([[0, 1, 2], [0, 1, 2]], [[2, 1, 0], [2, 1, 0]], method="balanced", seed=3)
        >>> comparison.displayed.tolist()
        [[0, 2, 1], [2, 0, 1]]
        >>> clicks = (comparison.displayed == 0) & np.array([[True], [False]])
        >>> comparison.credit(clicks).tolist(), comparison.winner(clicks)[0].tolist()
        ([[1.0, 0.0], [0.0, 0.0]], 0)
    """
    both = {"left": _checked("left", left), "right": _checked("right", right)}
    rows, n = both["left"].shape
    if both["right"].shape != (rows, n):
        raise ValueError(f"right has shape {both['right'].shape}; allowed: that of left, {(rows, n)}")
    length = n if length is None else whole_number("length", length, 1, n)
    first = whole_number("seed", seed, 0)
    chosen = make(method, knobs)
    chosen.check_length("length", length)
    rankings = np.concatenate([both["left"], both["right"]])
    lists = Lists.of(rankings, int(rankings.max()) + 1)
    numbers = np.arange(rows)
    key, session = row_keys([first + row for row in range(rows)], ENVIRONMENT), np.zeros(rows, np.int64)
    displayed, share = np.empty((rows, length), np.int64), np.empty((rows, length))
    chosen.interleave(lists, numbers, numbers + rows, key, session, displayed, share)
    return Comparison(chosen, lists, numbers, numbers + rows, key, session, displayed, share)


def _checked(name: str, rankings: ArrayLike) -> NDArray[np.int64]:
    """``rankings`` as (rows, n) int64 of distinct whole numbers from 0, or a ValueError."""
    given = array_of(rankings)
    allowed = f"allowed: rankings (rows, n), or one (n,), of different whole numbers below {MAX_DOCUMENTS}"
    if given.dtype.kind not in "iu" or given.ndim not in (1, 2) or given.size == 0:
        raise ValueError(f"{name} has shape {given.shape} and dtype {given.dtype}; {allowed}")
    lists = np.array(np.atleast_2d(given), np.int64)
    row = first_fault(lists, MAX_DOCUMENTS)
    if row >= 0:
        raise ValueError(f"{name}[{row}] = {given.reshape(lists.shape)[row].tolist()} is not a ranking; {allowed}")
    return lists
