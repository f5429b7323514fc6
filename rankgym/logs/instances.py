"""From a fitted click model to instances of environments: which documents of a query are its items, and in what order.

The papers take frequent queries of the Yandex log of 2011, with 10 documents each. BatchRank (Zoghi et al., ICML 2017,
section 6) and TopRank (Lattimore et al., NeurIPS 2018, section 6) take 60 queries and rerank their 10 most attractive
documents; BubbleRank (Li et al., UAI 2019, section 5.1) takes 100 queries, 10 documents, and the most frequent result
list of a query as the initial base list: what the production ranker would show without personalisation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of, whole_number
from rankgym.data.errors import DataError
from rankgym.data.fits import Fits, checked
from rankgym.kernels import kernel
from rankgym.logs.fitting import Fitted
from rankgym.logs.sessions import Sessions
from rankgym.models import MODELS

ROWS = 1 << 20  # groups that are looked at together
CHOICES = ("frequent", "attractive")
PRIME, SPREAD = (
    np.uint64(0x100000001B3),
    np.uint64(0x9E3779B97F4A7C15),
)  # of a hash; see ``rankgym.logs.readers.tables``


class Displays(NamedTuple):
    """How often documents and lists were shown.

    See ``displays``, which returns it.
    """

    times: NDArray[np.int64]  # (items,) sessions in which each item was displayed
    favourite: list[list[int]]  # for each query the items of its most frequent list, in its order; [] without sessions


def displays(parts: Sequence[Sessions]) -> Displays:
    """Count the displays of all items, and find each query's most frequent list.

    Of equally frequent lists, the one is taken that begins with the more frequent documents.

    Args:
        parts: sessions with the same queries and items, such as those fitted and those held out.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.instances import displays
        >>> from rankgym.logs.sessions import Sessions
        >>> item, clicks = np.array([[0, 1], [2, 0]], np.int32), np.zeros(2, np.uint64)
        >>> labels = np.array(["tea"]), np.array(["a", "b", "c"]), np.zeros(3, np.int32)
        >>> shown = displays([Sessions(np.zeros(2, np.int32), item, clicks, np.array([3, 5]), *labels)])
        >>> shown.times.tolist(), shown.favourite
        ([8, 3, 5], [[2, 0]])
    """
    times = np.zeros(len(parts[0].item_id), np.int64)
    for sessions in parts:
        for start in range(0, len(sessions.query), ROWS):
            item, repeats = sessions.item[start : start + ROWS], sessions.repeats[start : start + ROWS]
            for column in item.T:
                there = column >= 0
                counted = np.bincount(column[there], weights=repeats[there], minlength=len(times))
                times += counted.astype(np.int64)  # exact: below 2^53
    place = np.empty(len(times), np.int64)  # of an item among all of its query, by frequency
    place[frequency_order(parts[0], times)] = np.arange(len(times))
    orders, bounds = zip(*(_rows_by_query(sessions) for sessions in parts), strict=True)
    favourite = []
    for query in range(len(parts[0].query_id)):
        rows = [order[bound[query] : bound[query + 1]] for order, bound in zip(orders, bounds, strict=True)]
        item = np.concatenate([sessions.item[row] for sessions, row in zip(parts, rows, strict=True)])
        repeats = np.concatenate([sessions.repeats[row] for sessions, row in zip(parts, rows, strict=True)])
        favourite.append(_most_frequent_list(item, repeats, place))
    return Displays(times, favourite)


@kernel
def sort_rows(query, place, order):
    """Fill ``order`` (groups,) with the groups by query; ``place`` (queries,) is where those of each query begin."""
    for row in range(query.shape[0]):
        order[place[query[row]]] = row
        place[query[row]] += 1


def _rows_by_query(sessions: Sessions) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The groups by query, and where those of each query begin. NumPy's sort needs four times the memory."""
    begin = np.zeros(len(sessions.query_id) + 1, np.int64)
    np.cumsum(np.bincount(sessions.query, minlength=len(sessions.query_id)), out=begin[1:])
    order = np.empty(len(sessions.query), np.int32)
    sort_rows(sessions.query, begin[:-1].copy(), order)
    return order, begin


def frequency_order(sessions: Sessions, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The items in the order of their queries, those of a query by frequency, equally frequent ones by label."""
    return np.lexsort((sessions.item_id, -times, sessions.item_query))


def _most_frequent_list(item: NDArray[np.int32], repeats: NDArray[np.int64], place: NDArray[np.int64]) -> list[int]:
    """The most frequent row of ``item`` (groups, positions), without empty positions."""
    if not len(item):
        return []
    code = np.zeros(len(item), np.uint64)
    for column in item.T:
        code = (code ^ (column + 1).astype(np.uint64)) * PRIME
        code ^= (code >> np.uint64(32)) * SPREAD
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    counted = np.bincount(which, weights=repeats)
    best = item[first[counted == counted.max()]]
    ranks = np.where(best >= 0, place[best], len(place))
    chosen = best[np.lexsort(ranks.T[::-1])[0]]
    return [one for one in chosen.tolist() if one >= 0]


def queries_with(sessions: Sessions, times: NDArray[np.int64], items: int) -> NDArray[np.int64]:
    """The numbers of the queries for which at least ``items`` different documents were displayed."""
    number = np.bincount(sessions.item_query[times > 0], minlength=len(sessions.query_id))
    return np.flatnonzero(number >= whole_number("items", items, 1))


def to_fits(
    fitted: Fitted,
    sessions: Sessions,
    shown: Displays,
    *,
    items: int = 10,
    choice: str = "frequent",
    provenance: Mapping[str, Any] | None = None,
) -> Fits:
    """Return a fitted model's parameters as fits, which environments play, one problem a query.

    A query's items are ordered by its most frequent list: its documents come first, in its order, then the others, the
    most frequent one first. This order is the initial base list of the environments.

    Args:
        fitted: what ``fit`` returned.
        sessions: that were fitted, or others with the same queries and items.
        shown: the displays of these and of all others that were read.
        items: documents of a query. Queries with fewer documents are left out.
        choice: which ones: "frequent", those that were displayed most often, or "attractive", those with the largest
            fitted attraction, of equal ones the more frequent ones. A document that was displayed only now and then may
            have a large attraction by accident, unless a prior holds it down.
        provenance: where the fits come from, in plain JSON values.

    Raises:
        DataError: no query has enough documents.
        ValueError: an argument is out of range.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.fitting import fit
        >>> from rankgym.logs.instances import displays, to_fits
        >>> from rankgym.logs.sessions import Sessions
        >>> item, clicks = np.array([[0, 1], [2, 0]], np.int32), np.array([0b01, 0b00], np.uint64)
        >>> labels = np.array(["tea"]), np.array(["a", "b", "c"]), np.zeros(3, np.int32)
        >>> sessions = Sessions(np.zeros(2, np.int32), item, clicks, np.array([3, 5]), *labels)
        >>> fits = to_fits(fit(sessions, "CM"), sessions, displays([sessions]), items=2)
        >>> fits.item.tolist(), fits.parameters["attraction"].round(4).tolist()  # the more frequent list
        ([['c', 'a']], [[0.0, 0.375]])
    """
    one_of("choice", choice, CHOICES)
    kept = queries_with(sessions, shown.times, items)
    if not len(kept):
        most = int(np.bincount(sessions.item_query[shown.times > 0]).max(initial=0))
        raise DataError(
            f"no query has {items} documents; allowed: items = 1 .. {most}, the most that a query has in this log"
        )
    order = frequency_order(sessions, shown.times)
    start = np.searchsorted(sessions.item_query[order], np.arange(len(sessions.query_id) + 1))
    chosen = np.empty((len(kept), items), np.int64)
    for row, query in enumerate(kept.tolist()):
        own = order[start[query] : start[query + 1]]
        own = own[shown.times[own] > 0]
        if choice == "attractive":
            own = own[np.argsort(-fitted.parameters["attraction"][own], kind="stable")]
        chosen[row] = _ordered(own[:items], shown, query)
    axes = MODELS[fitted.model].axes
    tables = {}
    for name, table in fitted.parameters.items():
        rows = table[chosen] if axes[name] == ("item",) else np.broadcast_to(table, (len(kept), *table.shape))
        tables[name] = np.clip(rows, 0.0, 1.0)
    labels = sessions.query_id[kept], sessions.item_id[chosen]
    return checked(Fits(*labels, tables, dict(axes), fitted.model, dict(provenance or {})))


def _ordered(own: NDArray[np.int64], shown: Displays, query: int) -> list[int]:
    """The chosen items of a query: first those of its most frequent list, then the others by frequency."""
    there = set(own.tolist())
    first = [one for one in shown.favourite[query] if one in there]
    others = sorted(there.difference(first), key=lambda one: (-int(shown.times[one]), own.tolist().index(one)))
    return first + others
