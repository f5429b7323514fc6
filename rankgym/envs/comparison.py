"""What duels by interleaving share: two rankings become one list, a user clicks, and credit decides who won."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.interleaving import INTERLEAVINGS, Lists, decide, make
from rankgym.kernels import kernel

__all__ = ["Comparison", "open_round"]


@kernel
def open_round(session, round):
    """Add one session to the counters of every row."""
    for row in range(session.shape[0]):
        session[row] += 1
        round[row] += 1


class Comparison:
    """The interleaved list of every row's last session, the credit for its clicks, and the winner.

    Args:
        interleaving, knobs: the method, a key of ``INTERLEAVINGS``, and its keywords.
        rows: number of rows.
        length: of the interleaved lists, the environment's argument ``name``.
    """

    def __init__(self, interleaving: str, knobs: dict[str, Any] | None, rows: int, length: int, name: str) -> None:
        self.method = make(interleaving, knobs)
        self.method.check_length(name, length)
        self.displayed = np.full((rows, length), -1, np.int64)
        self.share, self.credit = np.zeros((rows, length)), np.zeros((rows, 2))
        self.winner = np.zeros(rows, np.int64)
        # All methods but the probabilistic one display a list that duels with itself as it is.
        self.keeps_equals = not isinstance(self.method, INTERLEAVINGS["probabilistic"])

    def interleave(
        self,
        lists: Lists,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        key: NDArray[np.uint64],
        session: NDArray[np.int64],
    ) -> None:
        """Interleave the rows' lists, numbered ``left`` and ``right`` (rows,) in ``lists``."""
        self.method.interleave(lists, left, right, key, session, self.displayed, self.share)

    def judge(
        self,
        lists: Lists,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        key: NDArray[np.uint64],
        session: NDArray[np.int64],
        clicks: NDArray[np.int8],
    ) -> None:
        """Give credit for ``clicks`` on the interleaved lists and find the winners."""
        self.method.credit(lists, left, right, self.displayed, self.share, clicks, self.credit)
        decide(self.credit, key, session, self.winner)

    def written(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a snapshot, no copies."""
        return {"displayed": self.displayed, "share": self.share, "credit": self.credit, "winner": self.winner}

    def result(self, row: int) -> str:
        """Return who won in a row, in words."""
        won, (mine, other) = ("left", "right")[self.winner[row]], self.credit[row]
        return f"{won} won, {mine:.3g} to {other:.3g}"
