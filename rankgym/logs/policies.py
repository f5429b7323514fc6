"""Ranking policies without memory, whose probabilities are known: what makes a log, and what is evaluated on it.

A policy is a distribution of lists for each query. Off-policy evaluation needs the probability of a whole list, of its
first items, and of an item at a position; all of them are exact here.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.arguments import named_keywords, near, number_in, whole_number
from rankgym.kernels import first_fault

MOST_SET_ITEMS = 16  # for exact item-position probabilities: 2^items sets are visited
MOST_SPREAD = 600.0  # between logits of a query: exp(-600) is still a float, and so are its sums
SET_ENTRIES = 1 << 22  # of a table of sets and queries

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Policy(ABC):
    """A distribution of lists of ``num_positions`` different items out of 0 .. ``num_items`` - 1 for each query.

    In all methods ``query`` (sessions,) are numbers of queries and ``lists`` (sessions, positions) the lists of these
    sessions, or their first positions. Nothing is checked there.

    Attributes:
        name: what the policy is called in tables.
        num_items, num_positions: sizes.
        num_queries: the number of queries; None: the policy is the same for any number of them.

    See ``policy_of``, which makes one by its name.
    """

    name: str
    num_items: int
    num_positions: int
    num_queries: int | None = None

    @abstractmethod
    def sample(self, query: Integers, generator: np.random.Generator) -> Integers:
        """Return a drawn list for each session, (sessions, num_positions)."""

    @abstractmethod
    def prefixes(self, query: Integers, lists: Integers) -> Floats:
        """Return the probability of the first 1, 2, ... items of each list, (sessions, positions)."""

    @abstractmethod
    def extensions(self, query: Integers, lists: Integers, position: int) -> Floats:
        """Return the probability of the first ``position`` items of each list with each item below them.

        (sessions, num_items); the sum of a row is the probability of these first items, 1 for position 0.
        """

    @abstractmethod
    def item_position(self, query: Integers) -> Floats | None:
        """Return the probability of each item at each position, (len(query), num_items, num_positions).

        None if there are too many items to compute it exactly.
        """

    def probability(self, query: Integers, lists: Integers) -> Floats:
        """Return the probability of each list, (sessions,)."""
        return self.prefixes(query, lists)[:, -1]

    @property
    @abstractmethod
    def shows_all_lists(self) -> bool:
        """Whether every list has a positive probability for every query."""


class UniformPolicy(Policy):
    """All lists have the same probability.

    Args:
        num_items, num_positions: sizes, positions at most items.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.policies import UniformPolicy
        >>> policy = UniformPolicy(num_items=4, num_positions=2)
        >>> policy.probability(np.array([0]), np.array([[3, 1]])).round(4).tolist()  # 1 / (4 * 3)
        [0.0833]
    """

    name = "random"

    def __init__(self, num_items: int, num_positions: int) -> None:
        self.num_items = whole_number("num_items", num_items, 1)
        self.num_positions = whole_number("num_positions", num_positions, 1, self.num_items)
        ways = np.cumprod(np.arange(num_items, num_items - num_positions, -1, dtype=np.float64))
        self._prefixes = 1.0 / ways  # of 1, 2, ... items

    def sample(self, query: Integers, generator: np.random.Generator) -> Integers:
        race = generator.random((len(query), self.num_items))
        return _first_places(race, self.num_positions)

    def prefixes(self, query: Integers, lists: Integers) -> Floats:
        return np.tile(self._prefixes[: lists.shape[1]], (len(query), 1))

    def extensions(self, query: Integers, lists: Integers, position: int) -> Floats:
        probability = np.full((len(query), self.num_items), self._prefixes[position])
        np.put_along_axis(probability, lists[:, :position], 0.0, axis=1)
        return probability

    def item_position(self, query: Integers) -> Floats | None:
        return np.full((len(query), self.num_items, self.num_positions), 1.0 / self.num_items)

    @property
    def shows_all_lists(self) -> bool:
        return True


class StaticPolicy(Policy):
    """One list a query.

    Args:
        lists: (queries, num_positions) items, each at most once in a row.
        num_items: of the queries.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.policies import StaticPolicy
        >>> policy = StaticPolicy([[3, 1]], num_items=4)
        >>> policy.prefixes(np.array([0, 0]), np.array([[3, 1], [3, 2]])).tolist()
        [[1.0, 1.0], [1.0, 0.0]]
    """

    name = "static"

    def __init__(self, lists: ArrayLike, num_items: int) -> None:
        self.num_items = whole_number("num_items", num_items, 1)
        self.lists = checked_lists("lists", lists, self.num_items)
        self.num_queries, self.num_positions = self.lists.shape

    def sample(self, query: Integers, generator: np.random.Generator) -> Integers:
        return self.lists[query]

    def prefixes(self, query: Integers, lists: Integers) -> Floats:
        return np.logical_and.accumulate(self.lists[query, : lists.shape[1]] == lists, axis=1).astype(np.float64)

    def extensions(self, query: Integers, lists: Integers, position: int) -> Floats:
        base = self.lists[query]
        same = (base[:, :position] == lists[:, :position]).all(axis=1)
        probability = np.zeros((len(query), self.num_items))
        probability[np.arange(len(query)), base[:, position]] = same
        return probability

    def item_position(self, query: Integers) -> Floats | None:
        probability = np.zeros((len(query), self.num_items, self.num_positions))
        rows, places = np.ogrid[: len(query), : self.num_positions]
        probability[rows, self.lists[query], places] = 1.0
        return probability

    @property
    def shows_all_lists(self) -> bool:
        return self.num_items == 1


class PlackettLucePolicy(Policy):
    """Position by position an item is drawn with probability proportional to exp(logit) among the items left.

    Args:
        logits: (queries, items) finite numbers; those of a query differ by at most 600.
        num_positions: 1 .. items.
        name: what the policy is called.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.policies import PlackettLucePolicy
        >>> policy = PlackettLucePolicy(np.log([[1.0, 2.0, 1.0]]), num_positions=2)
        >>> policy.probability(np.array([0]), np.array([[1, 0]])).round(6).tolist()  # 2 / 4 * 1 / 2
        [0.25]
        >>> policy.item_position(np.array([0]))[0].round(4).tolist()  # by item, at both positions
        [[0.25, 0.3333], [0.5, 0.3333], [0.25, 0.3333]]
    """

    def __init__(self, logits: ArrayLike, num_positions: int, name: str = "plackett-luce") -> None:
        given = np.asarray(logits, np.float64)
        if given.ndim != 2 or not given.size:
            raise ValueError(f"logits has shape {given.shape}; allowed: (queries, items)")
        spread = np.ptp(given, axis=1)  # NaN or inf if some logit is not finite
        if not (spread <= MOST_SPREAD).all():
            row = int(np.argmin(spread <= MOST_SPREAD))
            allowed = f"allowed: finite numbers that differ by at most {MOST_SPREAD:g}"
            raise ValueError(f"logits[{row}] has numbers from {given[row].min()} to {given[row].max()}; {allowed}")
        self.num_queries, self.num_items = given.shape
        self.num_positions = whole_number("num_positions", num_positions, 1, self.num_items)
        self.name = name
        self._weights = np.exp(given - given.max(axis=1, keepdims=True))

    def sample(self, query: Integers, generator: np.random.Generator) -> Integers:
        race = generator.standard_exponential((len(query), self.num_items))  # the items arrive at these times
        race /= self._weights[query]
        return _first_places(race, self.num_positions)

    def prefixes(self, query: Integers, lists: Integers) -> Floats:
        left, rows = self._weights[query], np.arange(len(query))
        steps = np.empty(lists.shape)
        for k in range(lists.shape[1]):
            steps[:, k] = left[rows, lists[:, k]] / left.sum(axis=1)
            left[rows, lists[:, k]] = 0.0
        return np.asarray(np.cumprod(steps, axis=1), np.float64)

    def extensions(self, query: Integers, lists: Integers, position: int) -> Floats:
        left = self._weights[query]
        np.put_along_axis(left, lists[:, :position], 0.0, axis=1)
        left /= left.sum(axis=1, keepdims=True)
        if position:
            left *= self.prefixes(query, lists[:, :position])[:, -1:]
        return left

    def item_position(self, query: Integers) -> Floats | None:
        if self.num_items > MOST_SET_ITEMS:
            return None
        asked, place = np.unique(query, return_inverse=True)
        table = np.empty((len(asked), self.num_items, self.num_positions))
        block = max(1, SET_ENTRIES >> self.num_items)
        for start in range(0, len(asked), block):
            part = slice(start, start + block)
            table[part] = plackett_luce_marginals(self._weights[asked[part]], self.num_positions)
        return table[place]

    @property
    def shows_all_lists(self) -> bool:
        return True


def plackett_luce_marginals(weights: Floats, num_positions: int) -> Floats:
    """Return the probability of each item at each position of a Plackett-Luce list, (queries, items, positions).

    Dynamic programming over sets: the first k items are the set S with probability f(S), and then item i follows with
    w_i / (sum of the weights outside S). So f(S + i) is the sum of f(S) w_i / w(outside S) over the i in it.

    Args:
        weights: (queries, items), positive; up to 16 items.
        num_positions: 1 .. items.
    """
    queries, items = weights.shape
    sets, everything = np.arange(1 << items), (1 << items) - 1
    total = np.zeros((1 << items, queries))  # of the weights of a set
    size = np.zeros(1 << items, np.int64)
    for item in range(items):
        total[1 << item : 2 << item] = total[: 1 << item] + weights[:, item]
        size[1 << item : 2 << item] = size[: 1 << item] + 1
    reached = np.zeros((1 << items, queries))
    reached[0] = 1.0
    table = np.zeros((queries, items, num_positions))
    for k in range(num_positions):
        above = sets[size == k]
        share = reached[above] / total[everything ^ above]
        for item in range(items):
            free = above >> item & 1 == 0
            following = share[free] * weights[:, item]
            table[:, item, k] = following.sum(axis=0)
            reached[above[free] | 1 << item] += following
    return table


class MixturePolicy(Policy):
    """In each session one of several policies, drawn with fixed probabilities, shows its list.

    Args:
        parts: policies of the same sizes.
        shares: their probabilities, with the sum 1.
        name: what the policy is called.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.policies import MixturePolicy, StaticPolicy, UniformPolicy
        >>> policy = MixturePolicy([StaticPolicy([[0, 1]], 3), UniformPolicy(3, 2)], [0.9, 0.1])
        >>> policy.probability(np.array([0]), np.array([[0, 1]])).round(4).tolist(), policy.shows_all_lists
        ([0.9167], True)
    """

    def __init__(self, parts: Sequence[Policy], shares: Sequence[float], name: str = "mixture") -> None:
        given = [number_in(f"shares[{n}]", share, 0, 1) for n, share in enumerate(shares)]
        if len(given) != len(parts) or not given or not math.isclose(sum(given), 1.0, abs_tol=1e-12):
            raise ValueError(f"shares = {list(shares)} for {len(parts)} parts; allowed: one a part, with the sum 1")
        sizes = {(part.num_items, part.num_positions) for part in parts}
        counts = {part.num_queries for part in parts if part.num_queries is not None}
        if len(sizes) > 1 or len(counts) > 1:
            raise ValueError(f"parts have the sizes {sorted(sizes)} and {sorted(counts)} queries; allowed: the same")
        self.parts, self.shares, self.name = list(parts), given, name
        self.num_items, self.num_positions = sizes.pop()
        self.num_queries = counts.pop() if counts else None

    def sample(self, query: Integers, generator: np.random.Generator) -> Integers:
        chosen = np.searchsorted(np.cumsum(self.shares)[:-1], generator.random(len(query)), side="right")
        lists = np.empty((len(query), self.num_positions), np.int64)
        for number, part in enumerate(self.parts):
            mine = chosen == number
            lists[mine] = part.sample(query[mine], generator)
        return lists

    def prefixes(self, query: Integers, lists: Integers) -> Floats:
        probability = np.zeros(lists.shape)
        for share, part in zip(self.shares, self.parts, strict=True):
            probability += share * part.prefixes(query, lists)
        return probability

    def extensions(self, query: Integers, lists: Integers, position: int) -> Floats:
        probability = np.zeros((len(query), self.num_items))
        for share, part in zip(self.shares, self.parts, strict=True):
            probability += share * part.extensions(query, lists, position)
        return probability

    def item_position(self, query: Integers) -> Floats | None:
        probability = np.zeros((len(query), self.num_items, self.num_positions))
        for share, part in zip(self.shares, self.parts, strict=True):
            table = part.item_position(query)
            if table is None:
                return None
            probability += share * table
        return probability

    @property
    def shows_all_lists(self) -> bool:
        return any(share > 0 and part.shows_all_lists for share, part in zip(self.shares, self.parts, strict=True))


def _first_places(race: Floats, num_positions: int) -> Integers:
    """Return the items of the smallest numbers of each row, in order, (rows, num_positions)."""
    items = race.shape[1]
    if items > 4 * num_positions:  # most items need not be sorted
        few = np.argpartition(race, num_positions, axis=1)[:, :num_positions]
        order = np.argsort(np.take_along_axis(race, few, axis=1), axis=1)
        return np.take_along_axis(few, order, axis=1).astype(np.int64)
    return np.argsort(race, axis=1)[:, :num_positions].astype(np.int64)


def checked_lists(name: str, lists: ArrayLike, num_items: int) -> Integers:
    """Return ``lists`` (queries, positions) as int64; a ValueError names the first row that is not a list of items."""
    given = np.asarray(lists)
    if given.ndim != 2 or not given.size or given.dtype.kind not in "iu" or given.shape[1] > num_items:
        allowed = f"whole numbers (queries, positions), positions at most {num_items}"
        raise ValueError(f"{name} has shape {given.shape} and dtype {given.dtype}; allowed: {allowed}")
    checked = np.ascontiguousarray(given, np.int64)
    row = first_fault(checked, num_items)
    if row >= 0:
        allowed = f"allowed: different items out of 0 .. {num_items - 1}"
        raise ValueError(f"{name}[{row}] = {checked[row].tolist()} is not a list; {allowed}")
    return checked


# ---- policies as users name them ----


def random_policy(initial_list: Integers, num_positions: int) -> Policy:
    """All lists are equally probable."""
    return UniformPolicy(initial_list.shape[1], num_positions)


def static_policy(initial_list: Integers, num_positions: int) -> Policy:
    """The first items of the base list."""
    return StaticPolicy(initial_list[:, :num_positions], initial_list.shape[1])


@named_keywords
def plackett_luce_policy(initial_list: Integers, num_positions: int, *, temperature: float = 1.0) -> Policy:
    """The item at rank r of the base list has the weight r ** (-1 / temperature).

    Low temperatures show the base list, high ones show all lists alike.
    """
    number_in("temperature", temperature, 0, math.inf, open_low=True, open_high=True)
    items = initial_list.shape[1]
    if math.log(items) / temperature > MOST_SPREAD:
        least = math.log(items) / MOST_SPREAD
        raise ValueError(
            f"temperature = {temperature} is out of range; allowed with {items} items: {least:.2g} or more"
        )
    logits = np.empty(initial_list.shape)
    np.put_along_axis(logits, initial_list, -np.log(np.arange(1.0, items + 1.0))[None] / temperature, axis=1)
    return PlackettLucePolicy(logits, num_positions, f"plackett-luce:temperature={temperature:g}")


@named_keywords
def epsilon_policy(initial_list: Integers, num_positions: int, *, epsilon: float = 0.1) -> Policy:
    """With probability epsilon a list that is drawn from all lists, else the first items of the base list."""
    number_in("epsilon", epsilon, 0, 1)
    parts = [random_policy(initial_list, num_positions), static_policy(initial_list, num_positions)]
    return MixturePolicy(parts, [epsilon, 1 - epsilon], f"epsilon:epsilon={epsilon:g}")


POLICIES: dict[str, Callable[..., Policy]] = {
    "random": random_policy,
    "static": static_policy,
    "plackett-luce": plackett_luce_policy,
    "epsilon": epsilon_policy,
}


def is_policy_name(text: str) -> bool:
    """Whether ``text`` begins with the name of one of ``POLICIES``."""
    return text.partition(":")[0] in POLICIES


def policy_of(text: str, initial_list: Integers, num_positions: int) -> Policy:
    """Return the policy of a name with knobs, such as ``"plackett-luce:temperature=0.5"``.

    Args:
        text: a key of ``POLICIES``, with ``:knob=number`` for each knob.
        initial_list: (queries, items) base lists of all items, best first.
        num_positions: positions of the lists to show.

    Raises:
        ValueError: there is no such policy, or a knob is wrong.

    Examples:
        >>> import numpy as np
        >>> from rankgym.logs.policies import policy_of
        >>> policy = policy_of("epsilon:epsilon=0.3", np.array([[2, 0, 1]]), num_positions=2)
        >>> lists = np.array([[2, 0], [0, 1]])  # of query 0; there are 6 lists
        >>> policy.probability(np.zeros(2, np.int64), lists).round(3).tolist()
        [0.75, 0.05]
    """
    name, *parts = text.split(":")
    if name not in POLICIES:
        raise ValueError(f"policy = {text!r} is unknown{near(name, POLICIES) or ';'} allowed: {', '.join(POLICIES)}")
    knobs = {}
    for knob, equals, value in (part.partition("=") for part in parts):
        try:
            knobs[knob] = float(value)
        except ValueError:
            raise ValueError(f"policy = {text!r}: {knob}{equals}{value} is not a knob; allowed: knob=number") from None
    try:
        return POLICIES[name](initial_list, num_positions, **knobs)
    except TypeError as error:  # random and static have none
        reason = str(error) if "has no argument" in str(error) else f"{name} has no knobs"
        raise ValueError(f"policy = {text!r}: {reason}") from None
