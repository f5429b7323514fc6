"""The base class of interleaving methods, the rankings that they read, and the winner by credit.

An interleaved comparison shows a user one list made of two rankers' lists, left and right, and credits the rankers
for the clicks. The better ranker is the one with more credit (Joachims, "Evaluating retrieval performance using
clickthrough data", in Text Mining, 2003); a fair coin decides between equal credits.

In the kernels of this room all arrays have a leading axis of rows, one comparison each, and

* ``lists`` is a ``Lists``; ``left`` and ``right`` (rows,) int64 are the numbers of two of its rankings, which rank the
  same set of documents, or parts of it;
* ``key`` (rows,) uint64 and ``session`` (rows,) int64 address the coins, as in the click models. The coins of
  interleaving have higher indices, so that the same session can draw both;
* ``displayed`` (rows, length) int64 is the interleaved list, -1 behind its end. It ends early if all documents
  of either ranking are displayed;
* ``share`` (rows, length) float64 is what a method keeps for its credit: if clicks are credited by position, the left
  ranker's part of a click at each position, or its probability; 0 behind the end, and everywhere if nothing is kept;
* ``clicks`` (rows, length) int8 are 0 or 1, and ``credit`` (rows, 2) float64 is the credit of left and of right.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import bits, kernel, session_seed, uniform

# Indices of coins in a session's sequence, above those of items, EXAMINATION, TERMINATION and ABANDONMENT.
INTERLEAVING, TIE = 4 << 32, 5 << 32

CREDIT_TOLERANCE = 1e-9  # sums that differ by rounding only are equal

Array = NDArray[Any]


class Lists(NamedTuple):
    """Rankings in one array: ranking r orders the documents 0, 1, ... of its own set, or the best of them.

    Rankings of different queries may have sets of different sizes; a set takes one entry per document.

    Examples:
        >>> import numpy as np
        >>> from rankgym.interleaving import Lists
        >>> lists = Lists.of(np.array([[2, 0], [1, 3]]), num_documents=4)
        >>> lists.order[:4].tolist()  # of ranking 0: documents 2 and 0, no others
        [2, 0, -1, -1]
        >>> lists.rank[:4].tolist()  # document 0 is at place 1, document 2 at place 0
        [1, -1, 0, -1]
    """

    order: NDArray[Any]  # (entries,) int: the documents of ranking r, best first, from start[r] on; -1 behind the last
    rank: NDArray[Any]  # (entries,) int: rank[start[r] + d] is the place of document d, from 0; -1: not ranked
    start: NDArray[np.int64]  # (rankings,)
    size: NDArray[np.int64]  # (rankings,): number of ranked documents

    @classmethod
    def empty(cls, rankings: int, num_documents: int, size: int) -> "Lists":
        """Empty rankings of ``size`` documents out of ``num_documents``, for ``copy_rankings`` to fill."""
        entries = rankings * num_documents
        # the smallest type that does, as in ``letor_rankings``, so that kernels are compiled for one type
        order, rank = np.full((2, entries), -1, np.int16 if num_documents <= np.iinfo(np.int16).max else np.int32)
        return cls(order, rank, np.arange(rankings) * num_documents, np.full(rankings, size, np.int64))

    @classmethod
    def of(cls, rankings: NDArray[np.int64], num_documents: int) -> "Lists":
        """Lists of ``rankings`` (rankings, size): each distinct documents of 0 .. ``num_documents`` - 1, best first."""
        lists = cls.empty(len(rankings), num_documents, rankings.shape[1])
        copy_rankings(rankings, 0, lists)
        return lists


@kernel
def copy_rankings(rankings, first, lists):
    """Overwrite the rankings from number ``first`` on of ``lists`` with ``rankings`` (rows, size), of the same size.

    A kernel for the environments of this package; users call ``Lists.of``.
    """
    for row in range(rankings.shape[0]):
        start = lists.start[first + row]
        size = lists.size[first + row]
        for place in range(size):
            before = lists.order[start + place]
            if before >= 0:
                lists.rank[start + before] = -1
        for place in range(size):
            lists.order[start + place] = rankings[row, place]
            lists.rank[start + rankings[row, place]] = place


@kernel
def positional_credit(lists, left, right, displayed, share, clicks, credit):
    """Share each click between the rankers by ``share``."""
    rows, length = displayed.shape
    for row in range(rows):
        mine, total = 0.0, 0
        for k in range(length):
            if clicks[row, k] != 0 and displayed[row, k] >= 0:
                mine += share[row, k]
                total += 1
        credit[row, 0] = mine
        credit[row, 1] = total - mine


@kernel
def decide(credit, key, session, winner):
    """Fill ``winner`` (rows,) with 0 (left) or 1 (right): the larger credit, or a fair coin if equal.

    A kernel for this package; users call ``Comparison.winner``. ``credit`` is (rows, 2), ``key`` and
    ``session`` (rows,) address the coins.
    """
    for row in range(credit.shape[0]):
        difference = credit[row, 0] - credit[row, 1]
        if abs(difference) > CREDIT_TOLERANCE:
            winner[row] = 0 if difference > 0.0 else 1
        else:
            seed = session_seed(key[row], session[row])
            winner[row] = 0 if uniform(bits(seed, TIE)) < 0.5 else 1


class Interleaving(ABC):
    """An interleaving method: merges two lists into one, and credits the clicks on it. The module has the arrays.

    ``make`` makes one by its name, and ``compare`` uses it for given lists. To add one, write a subclass. ``lists`` are
    rankings, ``left`` and ``right`` (rows,) numbers of two of them, ``key`` and ``session`` (rows,) address the coins.

    Raises:
        ValueError: by ``check_length``; and by the constructor of a method with keywords.

    Examples:
        >>> from rankgym.interleaving import make
        >>> method = make("document-constraints")
        >>> method.name, method.longest, method.positional
        ('document-constraints', None, False)
        >>> method.check_length("length", 100)
    """

    name: ClassVar[str]
    longest: ClassVar[int | None] = None  # maximal length of a list; None: no limit
    positional: ClassVar[bool] = False  # ``share`` is the left ranker's part of a click at each position

    def check_length(self, name: str, length: int) -> None:
        """Raise a ValueError that names the argument ``name`` if this length is too long for the method."""
        if self.longest is not None and length > self.longest:
            allowed = f"1 .. {self.longest}"
            raise ValueError(
                f"{name} = {length} is out of range for the interleaving {self.name!r}; allowed: {allowed}"
            )

    @abstractmethod
    def interleave(
        self, lists: Lists, left: Array, right: Array, key: Array, session: Array, displayed: Array, share: Array
    ) -> None:
        """Fill ``displayed`` and ``share`` (rows, length)."""

    @abstractmethod
    def credit(
        self, lists: Lists, left: Array, right: Array, displayed: Array, share: Array, clicks: Array, credit: Array
    ) -> None:
        """Fill ``credit`` (rows, 2)."""

    def kernels(self, lists: Lists) -> tuple[Callable[..., None], Callable[..., None], tuple[Any, ...]] | None:
        """What a compiled loop calls: ``interleave``, ``credit``, and what the former takes after ``right``, if any.

        A method whose ``interleave`` or ``credit`` is not a kernel overrides this; None: it has no kernels.
        """
        return self.interleave, self.credit, ()

    def left_shares(self, share: Array) -> Array | None:
        """Return the left ranker's part, 0 .. 1, of a click's credit at each position; NaN where a click has none.

        It is ``share`` itself for methods that split each click; None if a method does not credit single positions.
        """
        return share if self.positional else None

    def knobs(self) -> dict[str, Any]:
        """The keywords that reconstruct this method."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.knobs().items())})"
