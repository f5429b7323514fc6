"""The baselines, which every learner must beat: the production ranker, random lists, and duels of random arms."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, KernelAgent, plain
from rankgym.kernels import bits, borrowed, give_back, kernel, session_seed, shuffle, uniform_below


class StaticState(NamedTuple):
    """The production ranker's state. The leading axis is the row."""

    initial_list: NDArray[np.int64]  # (rows, items): R_0, best first


@kernel
def show_initial(s, displayed):
    """Show the first positions of the initial list."""
    for row in range(displayed.shape[0]):
        for k in range(displayed.shape[1]):
            displayed[row, k] = s.initial_list[row, k]


@kernel
def learn_nothing(s, displayed, clicks):
    """Learn nothing."""


class StaticRanker(KernelAgent):
    """Shows the first ``num_positions`` items of ``initial_list`` in every round; arguments as in ``Agent``.

    Examples:
        >>> from rankgym_agents import StaticRanker
        >>> agent = StaticRanker(num_items=4, num_positions=2, num_envs=2, initial_list=[[3, 1, 0, 2], [0, 1, 2, 3]])
        >>> agent.act().tolist()  # a list for each row
        [[3, 1], [0, 1]]
        >>> agent.settled().tolist()
        [True, True]
    """

    rank, learn = staticmethod(show_initial), staticmethod(learn_nothing)
    state: StaticState

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        self.state = StaticState(self.initial_list.copy())

    def settled(self) -> NDArray[np.bool_]:
        return np.ones(self.num_envs, np.bool_)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The initial list, which never changes."""
        return Beliefs(base_list=plain(self.state.initial_list[row]))


class RandomState(NamedTuple):
    """What the random ranker remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    items: NDArray[np.int64]  # (rows, items): 0 .. items - 1, what is shuffled


@kernel
def show_random(s, displayed):
    """A uniform draw of ``positions`` out of all items; place p takes the bits numbered p of the round's seed."""
    rows, positions = displayed.shape
    num_items = s.items.shape[1]
    items = borrowed(num_items, np.int64)
    for row in range(rows):
        for place in range(num_items):
            items[place] = s.items[row, place]
        shuffle(items, 0, num_items, positions, session_seed(s.key[row], s.round[row]), 0)
        for k in range(positions):
            displayed[row, k] = items[k]
    give_back(items)


@kernel
def count_round(s, displayed, clicks):
    """Count the round: the next one has fresh bits."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1


class RandomRanker(KernelAgent):
    """Shows a uniformly random ranking in every round; arguments as in ``Agent``.

    Examples:
        >>> from rankgym_agents import RandomRanker
        >>> agent, row = (RandomRanker(num_items=9, num_positions=3, num_envs=n, seed=4 + 2 - n) for n in (2, 1))
        >>> both, alone = agent.act(), row.act()  # seeds 4 and 5, and 5 alone
        >>> bool((both[1] == alone[0]).all()), len(set(alone[0].tolist()))
        (True, 3)
    """

    rank, learn = staticmethod(show_random), staticmethod(count_round)

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        items = self.filled(self.num_items, items=np.arange(self.num_items))
        self.state = RandomState(key=self.keys(), **self.filled(round=0), **items)


class DuelsState(NamedTuple):
    """What RandomDuels remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    wins: NDArray[np.int64]  # (rows, arms)
    duels: NDArray[np.int64]  # (rows, arms): duels of the arm; a duel with itself counts twice


@kernel
def choose_two(s, left, right):
    """Bits 0 of the round's seed draw the left arm, bits 1 the right one."""
    num_arms = s.wins.shape[1]
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        left[row] = uniform_below(bits(seed, 0), num_arms)
        right[row] = uniform_below(bits(seed, 1), num_arms)


@kernel
def count_duel(s, left, right, left_won):
    """Count the duel, and the round: the next one has fresh bits."""
    for row in range(left.shape[0]):
        s.round[row] += 1
        s.duels[row, left[row]] += 1
        s.duels[row, right[row]] += 1
        s.wins[row, left[row] if left_won[row] else right[row]] += 1


@kernel
def name_largest_share(s, candidate):
    """The arm of the largest (wins + 1/2) / (duels + 1): 1/2 without duels. The first of equal ones."""
    for row in range(candidate.shape[0]):
        best, largest = 0, 0.0
        for arm in range(s.wins.shape[1]):
            share = (s.wins[row, arm] + 0.5) / (s.duels[row, arm] + 1.0)
            if share > largest:
                best, largest = arm, share
        candidate[row] = best


class RandomDuels(DuelingKernelAgent):
    """Compares two uniformly random arms, which may be the same; arguments as in ``DuelingAgent``.

    Its ``candidate`` is the arm that has won the largest share of its duels. That estimates the Borda winner, which
    need not be the Condorcet winner.

    Examples:
        >>> from rankgym_agents import RandomDuels
        >>> agent = RandomDuels(num_arms=3, seed=0)
        >>> agent.update({"left": [0], "right": [1]}, [[0, 1]])  # arm 1 has won
        >>> agent.candidate.tolist(), agent.beliefs().scores["share won"]
        ([1], (0.25, 0.75, 0.5))
    """

    choose, learn = staticmethod(choose_two), staticmethod(count_duel)
    name = staticmethod(name_largest_share)
    state: DuelsState

    def __init__(self, **shape: Any) -> None:
        super().__init__(**shape)
        shares = self.filled(self.num_arms, wins=0, duels=0)
        self.state = DuelsState(key=self.keys(), **self.filled(round=0), **shares)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and each arm's share of duels won."""
        wins, duels = self.state.wins[row], self.state.duels[row]
        return Beliefs(champion=int(self.candidate[row]), scores={"share won": plain((wins + 0.5) / (duels + 1.0))})
