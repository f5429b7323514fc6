"""TopRank (Lattimore, Kveton, Li and Szepesvari, "TopRank: a practical algorithm for online stochastic ranking",
NeurIPS 2018), Algorithm 1; comments give its lines.

The relation G holds (j, i) once item i has drawn significantly more clicks than item j while both stood in one block.
The blocks are the layers of G's topological order; each round shuffles every block uniformly.

Items of a block that are not displayed count as not clicked (Assumption 1 and line 8; without them the regret is
linear). One thing the paper leaves open (Remark 2): where G has a cycle, which has probability at most delta L^2, the
items that remain form one block.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, open_unit
from rankgym.kernels import ONE, borrowed, draw_item, give_back, kernel, popcount, session_seed

C = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))  # line 1: 3.34; Lemma 6 says 3.43
LANES = 4  # items that are counted together; more waste room, which must stay in cache


class State(NamedTuple):
    """What TopRank remembers. The leading axis is the row; ``padded`` is ``items`` rounded up to whole vectors."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    threshold: NDArray[np.float64]  # (rows,): 2 log(c / delta)
    wins: NDArray[np.int64]  # (rows, items, padded): rounds with i clicked and j not, both in one block
    due: NDArray[np.int64]  # (rows, items, padded): line 12 cannot hold for a pair with fewer wins than this
    worse: NDArray[np.bool_]  # (rows, items, items): worse[j, i] says (j, i) is in G, item j is worse than item i
    order: NDArray[np.int64]  # (rows, items): items block by block, rising within a block
    block: NDArray[np.int64]  # (rows, items): the item's block, from 0
    start: NDArray[np.int64]  # (rows, items + 1): block d is order[start[d]:start[d + 1]]; the last one ends at items
    peers: NDArray[np.uint64]  # (rows, items, words): the items of the item's block; bit j of word w is item 64 w + j


@kernel
def rank(s, displayed):
    """Line 7: shuffle each block; place p of the list takes the bits numbered p of the round's seed."""
    rows, positions = displayed.shape
    items = borrowed(s.order.shape[1], np.int64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for place in range(items.shape[0]):
            items[place] = s.order[row, place]
        d, stop = 0, s.start[row, 1]
        for place in range(positions):
            if place == stop:
                d += 1
                stop = s.start[row, d + 1]
            displayed[row, place] = draw_item(items, place, stop, seed)
    give_back(items)


@kernel
def learn(s, displayed, clicks):
    """Lines 8 to 12, and the blocks of the next round (lines 3 to 6) where G has grown.

    S(i, j) is wins[i, j] - wins[j, i], and N(i, j) is their sum: a pair with U = 0 changes nothing.
    """
    rows, positions = displayed.shape
    words = s.peers.shape[2]
    clicked = borrowed(words, np.uint64)
    for row in range(rows):
        for word in range(words):
            here = np.uint64(0)
            for k in range(positions):
                item = displayed[row, k]
                here |= np.uint64((clicks[row, k] != 0) & (item >> 6 == word)) << np.uint64(item & 63)
            clicked[word] = here
        grown = False
        for word in range(words):
            remaining = clicked[word]
            while remaining != 0:  # its items from the lowest bit on: fewer branches on coins than item by item
                i = 64 * word + popcount((remaining - ONE) & ~remaining)
                remaining &= remaining - ONE
                if count(s.wins[row, i], s.due[row, i], s.peers[row, i], clicked):
                    grown |= compare(s.wins[row], s.due[row, i], s.worse[row], i, s.threshold[row])
        if grown:
            partition(s.worse[row], s.order[row], s.block[row], s.start[row])
            find_peers(s.block[row], s.peers[row])
        s.round[row] += 1
    give_back(clicked)


@kernel
def count(wins, due, peers, clicked):
    """Lines 9 to 11 for a clicked item: U = 1 against the items of its block (``peers``) that were not ``clicked``.

    Both are sets of items as bits, (words,). Adds to the item's ``wins``; returns whether one has reached ``due``. The
    inner loop has a fixed length and no branch, so that the compiler makes vectors of it.
    """
    reached = 0
    for first in range(0, wins.shape[0], LANES):
        word, place = first >> 6, np.uint64(first & 63)
        losers = (peers[word] & ~clicked[word]) >> place
        for lane in range(LANES):
            won = np.int64((losers >> np.uint64(lane)) & ONE)
            wins[first + lane] += won
            reached |= won & (wins[first + lane] >= due[first + lane])
    return reached != 0


@kernel
def compare(wins, due, worse, i, threshold):
    """Line 12 for item i and those whose ``due`` is reached; return whether G has grown."""
    grown = False
    for j in range(worse.shape[0]):
        if wins[i, j] >= due[j] and j != i:
            if significant(wins[i, j], wins[j, i], threshold):
                worse[j, i] = grown = True
            due[j] = next_due(wins[i, j], wins[j, i], threshold)
    return grown


@kernel
def next_due(won, lost, threshold):
    """The wins before which the condition of line 12 cannot hold, if it does not hold at ``won`` wins.

    With l = 2 log(c / delta sqrt(N)) it is S^2 >= (S + 2 lost) l, so S >= (l + sqrt(l^2 + 8 l lost)) / 2. Both l and
    ``lost`` only grow from here, and the bound grows with them.
    """
    level = threshold + math.log(won + lost)
    return max(won + 1, lost + int(0.5 * (level + math.sqrt(level * (level + 8.0 * lost)))))


@kernel
def significant(won, lost, threshold):
    """The condition of line 12, squared: S^2 >= 2 N log(c / delta sqrt(N)), S > 0, for S = won - lost, N = won + lost.

    Few pairs come near it, so the necessary part without a logarithm is checked first.
    """
    lead, compared = won - lost, won + lost
    if lead * abs(lead) < compared * threshold:
        return False
    return lead * lead >= compared * (threshold + math.log(compared))


@kernel
def partition(worse, order, block, start):
    """Lines 3 to 6 for one row: repeatedly peel off the items that no remaining item beats.

    Reads ``worse`` (items, items); writes ``order`` and ``block`` (items,) and ``start`` (items + 1,).
    """
    num_items = block.shape[0]
    block[:] = num_items  # not yet in a block
    placed = d = 0
    while placed < num_items:
        start[d] = placed
        for item in range(num_items):
            if block[item] >= d and not beaten(worse, block, item, d):
                block[item] = d
                order[placed] = item
                placed += 1
        if placed == start[d]:  # a cycle
            for item in range(num_items):
                if block[item] >= d:
                    block[item] = d
                    order[placed] = item
                    placed += 1
        d += 1
    start[d] = num_items


@kernel
def beaten(worse, block, item, d):
    """Whether G holds (item, j) for an item j that was not placed before block d: ``item`` is not in min_G."""
    for j in range(block.shape[0]):  # noqa: SIM110  numba compiles no generators
        if worse[item, j] and block[j] >= d:
            return True
    return False


@kernel
def find_peers(block, peers):
    """Write each item's ``peers`` (items, words): the items of its block, itself too, as bits."""
    peers[:] = 0
    for item in range(block.shape[0]):
        for other in range(block.shape[0]):
            if block[other] == block[item]:
                peers[item, other >> 6] |= ONE << np.uint64(other & 63)


class TopRank(KernelAgent):
    """TopRank: sorts items into blocks, and shuffles each block until its items can be told apart.

    Its assumptions hold in the cascade model, the document-based model, and the position-based model if examination
    falls with the position. In the DCM, DBN, UBM and CCM they generally do not: a list that is not sorted by attraction
    may get more clicks than a sorted one, against Assumption 2. It does on all calibrated Yandex queries but for 13 of
    the UBM's.

    Args:
        delta: failure probability per pair in (0, 1); default 1 / ``horizon``, as in the paper; required without it.
        **shape: as in ``Agent``. ``initial_list`` is ignored.

    Raises:
        ValueError: ``delta`` and ``horizon`` are both missing, or an argument is out of range.

    References:
        Lattimore, Kveton, Li and Szepesvari, NeurIPS 2018, Algorithm 1.

    Examples:
        >>> from rankgym_agents import TopRank
        >>> agent = TopRank(num_items=3, num_positions=2, delta=0.2, seed=0)
        >>> agent.beliefs().blocks  # nothing is known: all items are in one block
        ((0, 1, 2),)
        >>> for _ in range(60):  # users who click item 2 wherever they see it
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed == 2)
        >>> agent.beliefs().blocks  # it has moved to the first block, and is always on top
        ((2,), (0, 1))
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    PAIR_BYTES = 17
    state: State

    def __init__(self, *, delta: float | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        rows, items = self.num_envs, self.num_items
        log_inv_delta = math.log(self.known_horizon("delta")) if delta is None else -math.log(open_unit("delta", delta))
        threshold, padded = 2 * (math.log(C) + log_inv_delta), -(-items // LANES) * LANES
        peers = np.zeros((items, -(-items // 64)), np.uint64)
        find_peers(np.zeros(items, np.int64), peers)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, threshold=threshold),
            **self.filled(items, padded, wins=0, due=int(threshold)),
            **self.filled(items, items, worse=False),
            **self.filled(items, order=np.arange(items), block=0),
            start=np.tile(np.append(0, np.full(items, items)), (rows, 1)),
            **self.filled(*peers.shape, peers=peers),
        )

    def settled(self) -> NDArray[np.bool_]:
        """True where each of the first K blocks is a single item: the list is these items, without randomness.

        Clicks on such a list do not count, because no item shares its block with another (line 10). Lists that
        another agent chose only compare lower items with each other. Block 1 then still is the one item that G finds
        no better item than: it gains no better one, and no other item loses one. The same holds block by block for the
        rest. (A cycle never makes a block of one item.)
        """
        singles = np.arange(self.num_positions + 1)
        return np.asarray((self.state.start[:, : len(singles)] == singles).all(1))

    def beliefs(self, row: int = 0) -> Beliefs:
        """The blocks. Items of one block are shuffled; the first block is displayed first."""
        order, start = self.state.order[row].tolist(), self.state.start[row].tolist()
        bounds = itertools.pairwise(start)
        return Beliefs(blocks=tuple(tuple(order[first:stop]) for first, stop in bounds if first < stop))
