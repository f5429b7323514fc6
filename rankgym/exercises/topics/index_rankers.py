"""Agents of exercises 3 and 4: an oracle that displays the items with the largest indices, and how it goes wrong."""

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Learned: TypeAlias = Callable[[list[int], list[int]], Sequence[tuple[float, ...]]]
Time: TypeAlias = Callable[["IndexRanker", Sequence[float]], int]
Select: TypeAlias = Callable[[list[float], int], list[int]]


def best(indices: list[float], num_positions: int) -> list[int]:
    """The items with the largest indices; equal ones by their numbers."""
    return sorted(range(len(indices)), key=indices.__getitem__, reverse=True)[:num_positions]  # which keeps equal ones


def larger_first(indices: list[float], num_positions: int) -> list[int]:
    """Wrong: of equal indices the larger number comes first."""
    return sorted(range(len(indices)), key=lambda item: (-indices[item], -item))[:num_positions]


class IndexRanker:
    """An algorithm that displays the items with the largest indices, of one index or another.

    ``gap`` is the smallest difference of different indices at a decision so far.

    Args:
        index: of an item's statistics and t.
        learned: what a round teaches, given the list and its clicks: (item, what each of its statistics gains).
        names: of the statistics. The first is of clicks, the second the number of observations.
        select: the list of these indices.
        time: t of an item, given the agent and the item's statistics. None: the round, from 1.
    """

    def __init__(
        self,
        index: Callable[..., float],
        num_items: int,
        num_positions: int,
        *,
        learned: Learned,
        names: Sequence[str],
        select: Select = best,
        time: Time | None = None,
    ) -> None:
        self.round, self.rounds_with_clicks = 1, 0
        self.index, self.learned, self.names, self.select, self.time = index, learned, names, select, time
        self.num_positions, self.gap = num_positions, math.inf
        self.statistics: list[tuple[float, ...]] = [(0,) * len(names)] * num_items

    def indices(self) -> list[float]:
        return [self.index(*own, self.time(self, own) if self.time else self.round) for own in self.statistics]

    def act(self) -> list[int]:
        indices, own = self.indices(), self.statistics
        right = best(indices, self.num_positions + 1)
        for one, other in itertools.pairwise(right):
            gap = indices[one] - indices[other]
            if gap < self.gap and own[one] != own[other]:
                both_sure = gap == 0 and all(own[i][0] == own[i][1] for i in (one, other))
                if not both_sure:  # two means of 1 have KL-UCB's index 1 exactly
                    self.gap = gap
        return right[: self.num_positions] if self.select is best else self.select(indices, self.num_positions)

    def update(self, displayed: list[int], clicks: list[int]) -> None:
        for item, *gains in self.learned(displayed, clicks):
            place = int(item)
            self.statistics[place] = tuple(map(operator.add, self.statistics[place], gains))
        self.round += 1
        self.rounds_with_clicks += 1 in clicks

    def ties(self, one: list[int], other: list[int]) -> bool:
        return [self.statistics[item] for item in one] == [self.statistics[item] for item in other]

    def state(self) -> dict[str, Any]:
        by_name = dict(zip(self.names, map(list, zip(*self.statistics, strict=True)), strict=True))
        return by_name | {"t": self.round, "indices": self.indices()}


def wrong_times(observations: str) -> dict[str, Time]:
    """Return wrong values of t by what is wrong with them; ``observations`` is the handout's word for these."""
    return {
        "t is one too small: the first list is chosen in round t = 1": lambda agent, own: max(agent.round - 1, 1),
        "t is one too large: the first list is chosen in round t = 1": lambda agent, own: agent.round + 1,
        "t grows by 2 a round: count it in act or in update, not in both": lambda agent, own: 2 * agent.round - 1,
        f"t is the item's own number of {observations}, not the round": lambda agent, own: max(int(own[1]), 1),
        f"t counts {observations}: it grows by one a round": lambda agent, own: (
            1 + int(sum(one[1] for one in agent.statistics))
        ),
        "t grows only after a click: it grows in each round": lambda agent, own: agent.rounds_with_clicks + 1,
    }


def wrong_selections(index: str) -> dict[str, Select]:
    """Return wrong ways from indices to a list by what is wrong with them; ``index`` is the handout's word, plural."""
    return {
        f"the items with the smallest {index} are displayed": lambda x, k: best([-one for one in x], k),
        "the list has the right items, worst first": lambda x, k: best(x, k)[::-1],
        f"the list has the right items by their numbers, not by their {index}": lambda x, k: sorted(best(x, k)),
        "ties go to the larger number": larger_first,
    }
