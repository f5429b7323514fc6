"""What agents believe, for people to look at: ``Agent.beliefs`` returns it, ``rankgym watch`` shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """What an agent believes about one row after the rounds that it has learned from, for people to look at.

    All parts are plain Python values, and each may be missing: an agent gives those that its algorithm has. In duels
    the items are arms. ``blocks``, ``out`` and ``base_list`` name each item at most once.

    Examples:
        >>> from rankgym.agent import Beliefs
        >>> before, now = Beliefs(blocks=((0, 1, 2),)), Beliefs(blocks=((2,), (0, 1)), scores={"clicks": (1, 0, 8)})
        >>> now.structure == before.structure  # something changed that is worth a note
        False
        >>> now.scores["clicks"][2]  # of item 2
        8
    """

    blocks: tuple[tuple[int, ...], ...] = ()  # groups of items; within a group nothing is decided
    ordered: bool = True  # whether the first block is the best one, and so on
    out: tuple[int, ...] = ()  # items that were given up
    base_list: tuple[int, ...] = ()  # the list that the agent starts from in every round, best item first
    champion: int | None = None  # the item that the agent would name as the best one
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # by name: a number per item, maybe infinite

    @property
    def structure(self) -> tuple[Any, ...]:
        """All parts but the scores: what changes seldom, and is worth a note when it does."""
        return self.blocks, self.out, self.base_list, self.champion


def plain(values: Any) -> tuple[Any, ...]:
    """Return an array's numbers, or those of another sequence, as a tuple of Python numbers."""
    return tuple(np.asarray(values).tolist())
