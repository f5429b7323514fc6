"""Sessions of a click log as arrays, equal ones counted once: what readers return and click models are fitted to."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_POSITIONS = 64  # clicks are the bits of a uint64


class Sessions(NamedTuple):
    """Groups of equal sessions: the same query, list and clicks.

    An item is a document of one query. A document that was displayed for two queries is two items, as click models have
    an attraction for each query and document.

    ``rankgym.logs.readers.read_log`` makes them of a file.

    Examples:
        Three sessions of one list; in two of them, the second item was clicked:

        >>> import numpy as np
        >>> from rankgym.logs.sessions import Sessions
        >>> query, item = np.zeros(2, np.int32), np.array([[0, 1], [0, 1]], np.int32)
        >>> clicks, repeats = np.array([0b10, 0b00], np.uint64), np.array([2, 1])
        >>> labels = np.array(["tea"]), np.array(["a", "b"]), np.zeros(2, np.int32)
        >>> sessions = Sessions(query, item, clicks, repeats, *labels)
        >>> sessions.clicked().tolist(), sessions.num_sessions
        ([[False, True], [False, False]], 3)
    """

    query: NDArray[np.int32]  # (groups,) index into ``query_id``
    item: NDArray[np.int32]  # (groups, positions) index into ``item_id``; -1: nothing was displayed here, or below
    clicks: NDArray[np.uint64]  # (groups,) bit k is set if position k was clicked
    repeats: NDArray[np.int64]  # (groups,) number of sessions, 1 or more
    query_id: NDArray[np.str_]  # (queries,) labels, each once
    item_id: NDArray[np.str_]  # (items,) labels of the documents; those of a query are different
    item_query: NDArray[np.int32]  # (items,) the query of each item

    @property
    def num_positions(self) -> int:
        """Positions of the longest list."""
        return self.item.shape[1]

    @property
    def num_sessions(self) -> int:
        """Sessions in all groups."""
        return int(self.repeats.sum())

    def clicked(self) -> NDArray[np.bool_]:
        """Return the clicks as (groups, positions) bools."""
        bits = np.arange(self.num_positions, dtype=np.uint64)
        return (self.clicks[:, None] >> bits) & np.uint64(1) != 0


def click_bits(clicked: NDArray[Any]) -> NDArray[np.uint64]:
    """Return (sessions,) bits of the (sessions, positions) clicks, the first position in the lowest bit."""
    bits = np.zeros(len(clicked), np.uint64)
    for k in range(clicked.shape[1]):
        bits |= (clicked[:, k] != 0).astype(np.uint64) << np.uint64(k)
    return bits


def merged(
    query: NDArray[np.int32], item: NDArray[np.int32], clicks: NDArray[np.uint64], repeats: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64], NDArray[np.int64]]:
    """Return the groups with equal ones joined, their numbers added, sorted by query, list and clicks.

    Args:
        query, item, clicks, repeats: as in ``Sessions``.
    """
    order = np.lexsort((clicks, *item.T[::-1], query))
    query, item, clicks, repeats = query[order], item[order], clicks[order], repeats[order]
    first = np.ones(len(query), bool)
    first[1:] = (query[1:] != query[:-1]) | (clicks[1:] != clicks[:-1]) | (item[1:] != item[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    return query[starts], item[starts], clicks[starts], np.add.reduceat(repeats, starts) if len(starts) else repeats


def split(sessions: Sessions, held_out: float, seed: int) -> tuple[Sessions, Sessions]:
    """Split the sessions at random into those to fit and those held out, each session by a coin of its own.

    Args:
        sessions: the log.
        held_out: the share to be held out, in [0, 1).
        seed: of the coins.

    Returns:
        The sessions to fit and those held out, with the same queries and items.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.sessions import Sessions, split
        >>> first, clicks = np.zeros(1, np.int32), np.array([1], np.uint64)
        >>> labels = np.array(["tea"]), np.array(["a"]), first
        >>> log = Sessions(first, first[:, None], clicks, np.array([1_000]), *labels)
        >>> fitted, held_out = split(log, held_out=0.2, seed=0)
        >>> fitted.num_sessions + held_out.num_sessions, 150 < held_out.num_sessions < 250
        (1000, True)
    """
    generator = np.random.default_rng(seed)
    out = generator.binomial(sessions.repeats, held_out)
    return _with_repeats(sessions, sessions.repeats - out), _with_repeats(sessions, out)


def _with_repeats(sessions: Sessions, repeats: NDArray[np.int64]) -> Sessions:
    kept = repeats > 0
    return sessions._replace(
        query=sessions.query[kept], item=sessions.item[kept], clicks=sessions.clicks[kept], repeats=repeats[kept]
    )


def of_queries(sessions: Sessions, queries: Iterable[int]) -> Sessions:
    """Return the sessions of some queries, given by their indices. The labels of queries and items stay."""
    kept = np.isin(sessions.query, np.fromiter(queries, np.int64))
    return sessions._replace(
        query=sessions.query[kept],
        item=sessions.item[kept],
        clicks=sessions.clicks[kept],
        repeats=sessions.repeats[kept],
    )
