"""BubbleRank (Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, "BubbleRank: safe online learning to
re-rank via implicit click feedback", UAI 2019), Algorithm 1; comments give its lines.

BubbleRank starts from the production list and moves items up that are found better than their upper neighbour. With
as many positions as items, and under the paper's Assumption 1, it is safe (Lemma 2): with probability at least
1 - delta^(1/2) K^2 n no displayed list has more than K / 2 incorrectly ordered pairs above those of the initial list.
With the default delta = n^-4 that is 1 - K^2 / n.

### How the paper is read

The rounds are t = 1, 2, ... and h = t mod 2 as in the listing, so that the first round exchanges positions (2, 3),
(4, 5), ... (the text of section 3.1 has the opposite). The statistics of a pair keep growing when it is no longer
randomised. Lines 21 to 24 are one pass from the top in every round.

### More items than positions (section 4.3, last paragraph)

The base list holds all items, its first K are displayed. In rounds in which position K has no partner, one item below
it, uniformly drawn from those that have not been shown to be worse than the item at K, is its partner: with probability
1/2 it is displayed in its place, and the one that is not displayed counts as not clicked. The pass of lines 21 to 24
then goes on below K: each hidden item that was found better than the item at K at that moment takes its place.

### Unknown horizon (section 4.3, the doubling trick)

Without a horizon delta is n^-4 for an estimate n of the horizon. At time n + 1 the base list is R_0 again and n is
doubled, but the statistics are kept; lines 21 to 24, one pass a round, then repeat the exchanges of which the new delta
is as sure. So n counts all rounds, not those since the last doubling: the statistics are as old as that, and Lemma 2
wants their bounds to hold all the while; the rounds in which n is the estimate are safe with probability 1 - K^2 / n.
The paper has no first estimate; it is 1 here. Any other power of two up to 256 gives the same lists: a pair is settled
after 16 log n comparisons at the earliest, and the first n rounds have n / 2 at most.

### Fewer exchanges (ours, ``exploration``)

Lemma 2 asks that a pair is randomised before it is compared, and nothing of which pairs are: it holds for any choice
that the past decides. With ``exploration`` = a the exchanges of a pair end not when its order is sure at delta, but
when s > sqrt(2 n log(1 + a m)), m being the rounds left, or those played where the horizon is unknown. By Hoeffding's
inequality the lower item, if it is the better one, is that far behind with probability 1 / (1 + a m) at most: for few
rounds it is not worth being surer. Such a pair is not compared any more, as clicks compare two items fairly only while
their order is drawn. Exchanges of the base list still ask for delta, so the lists are as safe.

### When a row is settled

It is not enough that each item was found better than its lower neighbour: the statistics of
such pairs keep growing, and enough contrary clicks undo the decision. That is impossible once a pair with m rounds left
would still be decided if it lost all of them: (s - m)^2 > 4 (n + m) log(1 / delta) with s > m. Then it is
decided after any w wins and l losses, w + l <= m. Fewer losses and rounds without a difference only help. So does a
win where the pair is decided: s^2 > 4 n log(1 / delta) and s <= n make s > 4 log(1 / delta), and of the two sides the
left one grows by 2 s + 1, the right one by 4 log(1 / delta), which is less by more than s; for s < 2^31 rounding is
nothing beside that. A hidden item found worse than the one at K is not compared any more, and so remains worse. With
all neighbours decided line 24 exchanges nothing. This holds up to the horizon, if it is known: with the doubling
trick delta changes, and the base list starts again. With ``exploration`` it is enough that no neighbours are exchanged
now: they are not compared any more, and m falls.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, open_unit, plain, positive
from rankgym.kernels import bits, kernel, session_seed, uniform_below

ONE = np.uint64(1)
COINS = 64  # fair coins in a word of random bits
MAX_ROUNDS = 2**31  # in fewer rounds the square of every lead fits into int64


class State(NamedTuple):
    """What BubbleRank remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    log_inv_delta: NDArray[np.float64]  # (rows,): log(1 / delta)
    horizon: NDArray[np.int64]  # (rows,): n; 0: unknown
    exploration: NDArray[np.float64]  # (rows,): a; below 0: a pair's exchanges end when its order is sure at delta
    estimate: NDArray[np.int64]  # (rows,): n of the doubling trick; 0: delta stays as it is
    initial: NDArray[np.int64]  # (rows, items): R_0
    base: NDArray[np.int64]  # (rows, items): base list, best first; the first positions are displayed
    wins: NDArray[np.int64]  # (rows, items, items): s(i, j) = wins[i, j] - wins[j, i], n(i, j) is their sum
    unsettled: NDArray[np.bool_]  # (rows,): a pass through the base list may exchange something


@kernel
def rank(s, displayed):
    """Lines 5 to 10. Pair number m, from 0, takes coin m of the round, position K and its hidden rival the next one."""
    rows, positions = displayed.shape
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        h = (s.round[row] + 1) % 2  # line 5
        pairs = (positions - h) // 2
        for k in range(positions):
            displayed[row, k] = s.base[row, k]  # line 6
        word, doubt = bits(seed, 0), doubted(s, row)
        for pair in range(pairs):  # line 7
            k = 2 * pair + h
            i, j = s.base[row, k], s.base[row, k + 1]  # line 8
            settled = better(s.wins[row, i, j], s.wins[row, j, i], doubt)  # line 9
            if pair % COINS == 0 and pair > 0:
                word = bits(seed, pair // COINS)
            exchange = coin(word, pair) & (not settled)  # line 10, without an unpredictable branch
            displayed[row, k] = j if exchange else i
            displayed[row, k + 1] = i if exchange else j
        if h + 2 * pairs < positions and coin(bits(seed, pairs // COINS), pairs):  # section 4.3
            hidden = rival(s.base[row], s.wins[row], doubt, positions, seed)
            if hidden >= 0:
                displayed[row, positions - 1] = hidden


@kernel
def learn(s, displayed, clicks):
    """Lines 12 to 24, and the doubling trick."""
    rows, positions = displayed.shape
    for row in range(rows):
        h = (s.round[row] + 1) % 2
        pairs, doubt = (positions - h) // 2, doubted(s, row)
        fewer = s.exploration[row] >= 0.0
        for pair in range(pairs):  # line 13
            k = 2 * pair + h
            upper, lower = clicks[row, k] != 0, clicks[row, k + 1] != 0
            i, j = displayed[row, k], displayed[row, k + 1]  # line 14
            i, j = (i, j) if upper else (j, i)
            one_clicked = upper ^ lower  # line 15, without an unpredictable branch
            if fewer:  # what was not randomised is not compared
                a, b = s.base[row, k], s.base[row, k + 1]
                one_clicked &= not better(s.wins[row, a, b], s.wins[row, b, a], doubt)
            s.wins[row, i, j] += one_clicked  # lines 16 to 19
            decided = one_clicked & better(s.wins[row, i, j], s.wins[row, j, i], s.log_inv_delta[row])
            s.unsettled[row] |= decided & ((s.base[row, k] != i) | (s.base[row, k + 1] != j))
        if h + 2 * pairs < positions and clicks[row, positions - 1] != 0:  # section 4.3
            seed = session_seed(s.key[row], s.round[row])
            i = displayed[row, positions - 1]
            j = partner(s.base[row], s.wins[row], doubt, displayed[row], seed)
            if j >= 0:
                s.wins[row, i, j] += 1
                if better(s.wins[row, i, j], s.wins[row, j, i], s.log_inv_delta[row]):
                    s.unsettled[row] |= s.base[row, positions - 1] != i
        if s.unsettled[row]:
            s.unsettled[row] = bubble(s.base[row], s.wins[row], s.log_inv_delta[row], positions)
        s.round[row] += 1
        if s.round[row] == s.estimate[row]:  # section 4.3: the coming round is n + 1
            s.estimate[row] *= 2
            s.log_inv_delta[row] = 4.0 * math.log(s.estimate[row])
            for place in range(s.base.shape[1]):
                s.base[row, place] = s.initial[row, place]
            s.unsettled[row] = True


@kernel
def doubted(s, row):
    """What stands for log(1 / delta) in line 9: as in the paper, or by ``exploration``."""
    a = s.exploration[row]
    if a < 0.0:
        return s.log_inv_delta[row]
    left = max(np.int64(1), s.horizon[row] - s.round[row] if s.horizon[row] > 0 else s.round[row])
    return min(s.log_inv_delta[row], 0.5 * math.log(1.0 + a * left))


@kernel
def coin(word, number):
    """Fair coin ``number``, from 0, of a round, from the ``word`` of random bits numbered number // COINS."""
    return (word >> np.uint64(number % COINS)) & ONE != np.uint64(0)


@kernel
def better(won, lost, log_inv_delta):
    """Lines 9 and 23, squared: s > 2 sqrt(n log(1 / delta)) for an item with s = won - lost and n = won + lost."""
    lead = won - lost
    return lead * abs(lead) > 4 * log_inv_delta * (won + lost)


@kernel
def rival(base, wins, doubt, positions, seed):
    """A uniform draw from the hidden items not found worse than the base list's item at position K, or -1 if none.

    It takes the bits numbered K of the round's seed, which no coin reaches.
    """
    last, num_items = base[positions - 1], base.shape[0]
    eligible = 0
    for place in range(positions, num_items):
        item = base[place]
        eligible += not better(wins[last, item], wins[item, last], doubt)
    drawn = uniform_below(bits(seed, positions), eligible)
    for place in range(positions, num_items):
        item = base[place]
        if not better(wins[last, item], wins[item, last], doubt):
            if drawn == 0:
                return item
            drawn -= 1
    return -1


@kernel
def partner(base, wins, doubt, shown, seed):
    """The hidden item that the last one of ``shown`` was compared with, or -1 where somebody else made the list."""
    positions = shown.shape[0]
    last, hidden = base[positions - 1], rival(base, wins, doubt, positions, seed)
    if shown[positions - 1] == hidden:
        hidden = last
    elif shown[positions - 1] != last:
        return -1
    for k in range(positions):
        if shown[k] == hidden:
            return -1
    return hidden


@kernel
def bubble(base, wins, log_inv_delta, positions):
    """Lines 21 to 24, and section 4.3 below position K; True if any items were exchanged."""
    exchanged = False
    for lower in range(1, base.shape[0]):
        upper = min(lower, positions) - 1
        i, j = base[upper], base[lower]  # line 22
        if better(wins[j, i], wins[i, j], log_inv_delta):  # line 23
            base[upper], base[lower] = j, i  # line 24
            exchanged = True
    return exchanged


@kernel
def settle(s, positions, horizon, settled):
    """Fill ``settled`` (rows,): whether the base list is displayed from now to ``horizon``, whatever is clicked."""
    for row in range(settled.shape[0]):
        left = horizon - s.round[row]
        settled[row] = left > 0 and s.estimate[row] == 0 and stays(s, row, positions, left)


@kernel
def stays(s, row, positions, left):
    """Whether all neighbours of the row's base list, hidden rivals too, remain decided for ``left`` > 0 rounds."""
    doubt = doubted(s, row)
    for k in range(positions - 1):
        i, j = s.base[row, k], s.base[row, k + 1]
        turns = left // 2
        if (s.round[row] + 1) % 2 == k % 2:  # the coming round is one of them: h of line 5
            turns = (left + 1) // 2
        turns *= s.exploration[row] < 0.0
        if not better(s.wins[row, i, j], s.wins[row, j, i] + turns, doubt):
            return False
    last = s.base[row, positions - 1]
    for place in range(positions, s.base.shape[1]):
        item = s.base[row, place]
        if not better(s.wins[row, last, item], s.wins[row, item, last], doubt):
            return False
    return True


class BubbleRank(KernelAgent):
    """BubbleRank: safe re-ranking of ``initial_list`` by random exchanges of neighbours.

    Args:
        delta: confidence parameter in (0, 1); default n to the power of -4 for the horizon n, as in section 4.3, and by
            the doubling trick if the horizon is unknown.
        exploration: a > 0, ours: with m rounds left, exchanges of two neighbours end when they stand in the wrong
            order with probability 1 / (1 + a m) at most; 0.1 is what ``BayesIndex`` takes. Default: as in the paper.
        **shape: as in ``Agent``. ``initial_list`` is R_0; its first ``num_positions`` items are displayed first.

    Raises:
        ValueError: an argument is out of range.

    References:
        Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, UAI 2019, Algorithm 1.

    Examples:
        >>> from rankgym_agents import BubbleRank
        >>> agent = BubbleRank(num_items=3, num_positions=3, initial_list=[2, 1, 0], delta=0.1, seed=0)
        >>> for _ in range(100):  # users who click item 0 wherever they see it
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed == 0)
        >>> agent.beliefs().base_list  # it has climbed one place at a time; the others keep their order
        (0, 2, 1)
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    PAIR_BYTES = 8
    state: State

    def __init__(self, *, delta: float | None = None, exploration: float | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        rows, items = self.num_envs, self.num_items
        # 4 log n, not log(1 / n^-4): that power is 0 for long horizons
        log_inv_delta = 4 * math.log(self.horizon or 1) if delta is None else -math.log(open_unit("delta", delta))
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                horizon=min(self.horizon or 0, 2**62),  # rounds are counted in 64 bits
                exploration=-1.0 if exploration is None else positive("exploration", exploration),
                log_inv_delta=log_inv_delta,
                estimate=int(delta is None and self.horizon is None),
                unsettled=False,
            ),
            initial=self.initial_list.copy(),
            base=self.initial_list.copy(),
            wins=np.zeros((rows, items, items), np.int64),
        )

    def settled(self) -> NDArray[np.bool_]:
        """True where all neighbours are decided so clearly that no clicks up to the horizon could change that.

        False once the horizon is reached, and if it is unknown or 2^31 rounds or more.
        """
        settled = super().settled()
        if self.horizon is not None and self.horizon < MAX_ROUNDS:
            settle(self.state, self.num_positions, self.horizon, settled)
        return settled

    def beliefs(self, row: int = 0) -> Beliefs:
        """The base list, neighbours of which are exchanged at random."""
        return Beliefs(base_list=plain(self.state.base[row]))
