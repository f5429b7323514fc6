"""Tables that grow while a log is read: different labels with their numbers, and groups of equal sessions."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.kernels import QUERY, bernoulli, kernel, row_keys
from rankgym.logs.readers.lists import Lists
from rankgym.logs.sessions import MOST_POSITIONS, Sessions

GROWTH = 16  # arrays grow by a part of this, in place
LEAST = 1024  # entries of a new array
OFFSET = np.uint64(0xCBF29CE484222325)  # FNV-1a (Fowler, Noll and Vo), with a last step that spreads the upper bits
PRIME = np.uint64(0x100000001B3)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


class Table(NamedTuple):
    """Different labels, each of an owner (a query has its own documents), by open addressing."""

    slots: NDArray[np.int32]  # (power of 2,) number of the label; -1: free
    code: NDArray[np.uint32]  # (room,) upper bits of each label's hash
    owner: NDArray[np.int32]  # (room,)
    times: NDArray[np.int64]  # (room,) how often it was counted
    first: NDArray[np.int64]  # (room + 1,) label i is pool[first[i] : first[i + 1]]
    pool: NDArray[np.uint8]
    used: NDArray[np.int64]  # (1,) number of labels


class Groups(NamedTuple):
    """Groups of equal sessions, as in ``Sessions``, by open addressing."""

    slots: NDArray[np.int32]  # (power of 2,) number of the group; -1: free
    query: NDArray[np.int32]  # (room,)
    item: NDArray[np.int32]  # (room, positions)
    clicks: NDArray[np.uint64]  # (room,)
    repeats: NDArray[np.int64]  # (room,)
    used: NDArray[np.int64]  # (1,) number of groups


# -- kernels ----------------------------------------------------------------------------------------------------------


@kernel
def spread(code):
    """A hash of 32 bits, from one of 64."""
    return np.uint32((code ^ (code >> HALF)) * SPREAD >> HALF)


@kernel
def find_label(text, start, end, owner, table):
    """The number of a label, or -1; the slot where it is or would be; and its code."""
    code = OFFSET ^ np.uint64(owner)
    for at in range(start, end):
        code = (code ^ np.uint64(text[at])) * PRIME
    short = spread(code)
    mask = table.slots.shape[0] - 1
    slot = np.int64(short) & mask
    while table.slots[slot] >= 0:
        number = np.int64(table.slots[slot])
        begin, at = table.first[number], start
        same = table.code[number] == short and table.owner[number] == owner
        same = same and table.first[number + 1] - begin == end - start
        while same and at < end:
            same = table.pool[begin + at - start] == text[at]
            at += 1
        if same:
            return number, slot, short
        slot = (slot + 1) & mask
    return np.int64(-1), slot, short


@kernel
def number_of_label(text, start, end, owner, table):
    """The number of a label, which is added to the table if it is new; -1: there is no room for it."""
    number, slot, code = find_label(text, start, end, owner, table)
    if number < 0:
        new = table.used[0]
        begin = table.first[new]
        full = new == table.code.shape[0] or 3 * new >= 2 * table.slots.shape[0]
        if full or begin + end - start > table.pool.shape[0]:
            return np.int64(-1)
        for at in range(start, end):
            table.pool[begin + at - start] = text[at]
        table.slots[slot] = new
        table.code[new], table.owner[new], table.times[new] = code, owner, 0
        table.first[new + 1] = begin + end - start
        table.used[0] = new + 1
        number = new
    return number


@kernel
def fill_label_slots(table):
    """Enter all labels into the slots, which are free."""
    mask = table.slots.shape[0] - 1
    for number in range(table.used[0]):
        slot = np.int64(table.code[number]) & mask
        while table.slots[slot] >= 0:
            slot = (slot + 1) & mask
        table.slots[slot] = number


@kernel
def count_queries(text, query, counted, table, begin):
    """Count the lists from ``begin`` on by query; return the first one for which the table has no room."""
    for number in range(begin, query.shape[0]):
        if counted[number]:
            label = number_of_label(text, query[number, 0], query[number, 1], 0, table)
            if label < 0:
                return number
            table.times[label] += 1
    return query.shape[0]


@kernel
def group_code(groups, number):
    """The hash of a group."""
    code = (OFFSET ^ np.uint64(groups.query[number])) * PRIME
    code = (code ^ groups.clicks[number]) * PRIME
    for k in range(groups.item.shape[1]):
        code = (code ^ np.uint64(groups.item[number, k] + 1)) * PRIME
    return np.int64(spread(code))


@kernel
def same_group(groups, one, other):
    """Whether two groups are equal."""
    same = groups.query[one] == groups.query[other] and groups.clicks[one] == groups.clicks[other]
    k = 0
    while same and k < groups.item.shape[1]:
        same = groups.item[one, k] == groups.item[other, k]
        k += 1
    return same


@kernel
def fill_group_slots(groups):
    """Enter all groups into the slots, which are free."""
    mask = groups.slots.shape[0] - 1
    for number in range(groups.used[0]):
        slot = group_code(groups, number) & mask
        while groups.slots[slot] >= 0:
            slot = (slot + 1) & mask
        groups.slots[slot] = number


@kernel
def add_last(groups):
    """Count the session that stands behind the last group: with its equals, or as a group of its own."""
    new = groups.used[0]
    mask = groups.slots.shape[0] - 1
    slot = group_code(groups, new) & mask
    while groups.slots[slot] >= 0:
        number = np.int64(groups.slots[slot])
        if same_group(groups, number, new):
            groups.repeats[number] += 1
            return
        slot = (slot + 1) & mask
    groups.slots[slot] = new
    groups.repeats[new] = 1
    groups.used[0] = new + 1


@kernel
def add_session(text, first, item, clicks, number, rank, items, groups):
    """Add list ``number``, of the query ``rank``, to the groups; return whether there was room for it."""
    positions, new = groups.item.shape[1], groups.used[0]
    if new == groups.query.shape[0] or 3 * new >= 2 * groups.slots.shape[0]:
        return False
    groups.query[new] = rank
    groups.item[new] = -1
    for k in range(min(first[number + 1] - first[number], positions)):
        at = first[number] + k
        one = number_of_label(text, item[at, 0], item[at, 1], rank, items)
        if one < 0:
            return False
        groups.item[new, k] = one
    groups.clicks[new] = clicks[number] & (~np.uint64(0) >> np.uint64(MOST_POSITIONS - positions))
    add_last(groups)
    return True


@kernel
def collect(text, query, first, item, clicks, counted, queries, rank, items, groups, held, share, key, seen, begin):
    """Add the lists from ``begin`` on of the queries with a ``rank`` (queries,) to the groups; -1: it has none.

    A coin of each session, by its number among those kept, decides if it goes to the groups ``held``. Returns the first
    list for which there is no room. Documents below the positions of ``groups`` are left out.
    """
    for number in range(begin, query.shape[0]):
        if not counted[number]:
            continue
        label, _, _ = find_label(text, query[number, 0], query[number, 1], 0, queries)
        if label < 0 or rank[label] < 0:
            continue
        if bernoulli(key, seen[0], share):
            room = add_session(text, first, item, clicks, number, rank[label], items, held)
        else:
            room = add_session(text, first, item, clicks, number, rank[label], items, groups)
        if not room:
            return number
        seen[0] += 1
    return query.shape[0]


# -- growing ----------------------------------------------------------------------------------------------------------


def _larger(array: NDArray[Any], least: int = 0) -> NDArray[Any]:
    """The array with more room, in place."""
    room = max(len(array) + len(array) // GROWTH, least, LEAST)
    array.resize((room, *array.shape[1:]), refcheck=False)
    return array


def _free_slots(number: int) -> NDArray[np.int32]:
    """Slots for twice as many entries, of which they are up to two thirds full."""
    return np.full(1 << (3 * max(number, LEAST) - 1).bit_length(), -1, np.int32)


class Labels:
    """Different labels, numbered as they come, with a count each."""

    def __init__(self) -> None:
        self.table = Table(
            _free_slots(0),
            np.zeros(0, np.uint32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int64),
            np.zeros(1, np.int64),
            np.zeros(0, np.uint8),
            np.zeros(1, np.int64),
        )

    def __len__(self) -> int:
        return int(self.table.used[0])

    @property
    def times(self) -> NDArray[np.int64]:
        """How often each label was counted."""
        return self.table.times[: len(self)]

    def label(self, number: int) -> str:
        begin, end = self.table.first[number : number + 2].tolist()
        return self.table.pool[begin:end].tobytes().decode()

    def labels(self, numbers: Iterable[int]) -> NDArray[np.str_]:
        return np.array([self.label(number) for number in numbers], np.str_)

    def grow(self) -> None:
        """Make room for at least one more label, whatever was short."""
        table, used = self.table, len(self)
        if used == len(table.code):
            for array in (table.code, table.owner, table.times):
                _larger(array)
            _larger(table.first, len(table.code) + 1)
        if len(table.pool) - int(table.first[used]) < LEAST:  # a label has at most 1,000 bytes
            _larger(table.pool, int(table.first[used]) + 2 * LEAST)
        if 3 * used >= 2 * len(table.slots):
            self.table = table._replace(slots=np.zeros(0, np.int32))  # the old ones are freed first
            del table
            self.table = self.table._replace(slots=_free_slots(used))
            fill_label_slots(self.table)


class Collected:
    """The sessions of the chosen queries, equal ones counted once: those to be fitted, and those held out."""

    def __init__(
        self, queries: Labels, chosen: NDArray[np.int64], positions: int | None, held_out: float, seed: int
    ) -> None:
        """Start without sessions.

        Args:
            queries: of the whole log.
            chosen: the queries' numbers, in the order that they will have.
            positions: the most that are kept; None: all.
            held_out: the share of sessions that are held out, each by a coin of its own.
            seed: of the coins.
        """
        self.queries, self.chosen, self.most = queries, chosen, positions or MOST_POSITIONS
        self.rank = np.full(max(len(queries), 1), -1, np.int32)
        self.rank[chosen] = np.arange(len(chosen))
        self.items = Labels()
        self.groups, self.held = _no_groups(), _no_groups()
        self.share, self.key = float(held_out), row_keys([seed], QUERY)[0]
        self.seen = np.zeros(1, np.int64)

    def take(self, lists: Lists) -> None:
        """Add the lists of a chunk."""
        begin, total = 0, len(lists.query)
        longest = min(int(np.diff(lists.first).max(initial=1)), self.most)
        self.groups, self.held = _widened(self.groups, longest), _widened(self.held, longest)
        while begin < total:
            tables = self.queries.table, self.rank, self.items.table, self.groups, self.held
            begin = collect(*lists, *tables, self.share, self.key, self.seen, begin)
            if begin < total:
                self.items.grow()
                self.groups, self.held = _grown(self.groups), _grown(self.held)

    def result(self) -> tuple[Sessions, Sessions]:
        """The sessions to be fitted and those held out; this object is empty afterwards."""
        labels = (
            self.queries.labels(self.chosen.tolist()),
            self.items.labels(range(len(self.items))),
            self.items.table.owner[: len(self.items)].copy(),
        )
        parts = []
        for groups in (self.groups, self.held):
            used = int(groups.used[0])
            for array in groups[1:5]:
                array.resize((used, *array.shape[1:]), refcheck=False)
            parts.append(Sessions(groups.query, groups.item, groups.clicks, groups.repeats, *labels))
        self.groups, self.held = _no_groups(), _no_groups()
        return parts[0], parts[1]


def _no_groups() -> Groups:
    return Groups(
        _free_slots(0),
        np.zeros(0, np.int32),
        np.zeros((0, 1), np.int32),
        np.zeros(0, np.uint64),
        np.zeros(0, np.int64),
        np.zeros(1, np.int64),
    )


def _widened(groups: Groups, positions: int) -> Groups:
    """The groups with at least so many positions; those below their lists are empty."""
    if positions <= groups.item.shape[1]:
        return groups
    wider = np.full((len(groups.query), positions), -1, np.int32)
    wider[:, : groups.item.shape[1]] = groups.item
    return _with_slots(groups._replace(item=wider))


def _grown(groups: Groups) -> Groups:
    """The groups with room for at least one more."""
    used = int(groups.used[0])
    if used == len(groups.query):
        for array in groups[1:5]:
            _larger(array)
    if 3 * used < 2 * len(groups.slots):
        return groups
    return _with_slots(groups)


def _with_slots(groups: Groups) -> Groups:
    groups = groups._replace(slots=_free_slots(int(groups.used[0])))
    fill_group_slots(groups)
    return groups
