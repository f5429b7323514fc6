"""MergeRUCB (Zoghi, Whiteson and de Rijke, "MergeRUCB: a method for large-scale online ranker evaluation", WSDM 2015),
Algorithm 1; comments give its lines.

The arms are in small batches, and only arms of the same batch are compared: one batch after the other, round by round.
Arm k is removed once another arm of its batch beats it with confidence. When half of the arms are left, small batches
are joined with large ones and the next stage begins, until a single arm remains, which is then compared with itself.
That is the Condorcet winner with probability 1 - delta, after a number of comparisons linear in K.

How the listing is read.

* Line 2 leaves open which arms are together: they are shuffled. There are floor(K / p) batches, at least one, of p
  arms; the last one has the remainder as well, so up to 2 p - 1.
* Line 7: before k and l have met u_kl is infinite. With x / 0 := 1 it would be 2, less than others may have; the text
  means optimism. ln(t + C(delta)) has the global t; table 2 has ln t, the proofs and line 7 have C(delta).
* Line 8 compares the bound of k against i, the number of the batch: the proofs have u_kl < 1/2 for some l of the batch.
  One arm is removed at a time, so a batch is never emptied.
* Line 10: ties are broken at random.
* Line 12 has K / 2 in every stage; the proof has half of what the stage began with, K / 2^S.
* Line 13: by rising size, the smallest batch is joined with the largest if together they have at most 3 p / 2 arms,
  else the largest stays alone. This is repeated while a batch has less than two arms and batches can be joined.
* A batch of one arm whose turn it is in the middle of a stage has nothing to compare: the next one takes its turn. If
  all batches have one arm they are joined at once.
* A duel of the last arm with itself is not counted.
* The paper names no best arm before the end. ``candidate`` is the remaining arm that has lost more than half of its
  duels against the fewest others; of several the one with the largest share of duels won, and then the first in the
  shuffled order.

Why line 8 costs one comparison and not p^2. With w duels that k won against l and v that it lost, u_kl < 1/2 just where
v - w > 2 sqrt(alpha ln(t + C(delta)) (w + v)). The right side grows with t and with every duel of the two; the left
side grows only when k loses to l. So if no arm was to be removed at a batch's last turn, only the loser of the duel
since then can be, and only because of the winner. The two sides are equal at most up to rounding.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import DuelingKernelAgent, open_unit, positive, whole_number
from rankgym.kernels import (
    beaten,
    bits,
    count_win,
    join_batches,
    kernel,
    leave_batch,
    log_of_sum,
    number_members,
    session_seed,
    shuffle,
    size_of,
    smallest_size,
    some_arm_beats,
    uniform_below,
    upper_bound,
)
from rankgym_agents.merging import ALL_ARMS, NO_ARM, Merging, first_batches, log_constant

ASSIGNMENT = 1 << 32  # the words that shuffle the arms lie here in round 0; below, a round's: 0, and 1 + arm for ties


class State(NamedTuple):
    """What MergeRUCB remembers. The leading axis is the row; batches are numbered from 0."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): alpha
    constant: NDArray[np.float64]  # (rows,): C(delta), infinite where it is more than a float can be
    log_constant: NDArray[np.float64]  # (rows,): its logarithm
    largest: NDArray[np.int64]  # (rows,): the size that batches may be joined to, floor(3 p / 2)
    stage: NDArray[np.int64]  # (rows,): S
    wins: NDArray[np.int64]  # (rows, arms, arms): W, how often the first arm has beaten the second
    trails: NDArray[np.int64]  # (rows, arms): how many others the arm trails in its duels
    won: NDArray[np.int64]  # (rows, arms): duels won
    lost: NDArray[np.int64]  # (rows, arms): duels lost
    order: NDArray[np.int64]  # (rows, arms): the arms batch by batch; behind them those that are out, latest first
    batches: NDArray[np.int64]  # (rows,): b_S
    start: NDArray[np.int64]  # (rows, batches + 1): where each batch begins in ``order``, and where the last one ends
    batch_of: NDArray[np.int64]  # (rows, arms): the arm's batch; NO_ARM for one that is out
    suspect: NDArray[np.int64]  # (rows, batches): who may be out by line 8: loser * K + winner, or NO_ARM or ALL_ARMS
    turn: NDArray[np.int64]  # (rows,): the batch whose turn it is in the round to come


@kernel
def choose(s, left, right):
    """Lines 9 and 10 for the batch whose turn it is."""
    for row in range(left.shape[0]):
        first, stop = s.start[row, s.turn[row]], s.start[row, s.turn[row] + 1]
        if stop - first == 1:
            left[row] = right[row] = s.order[row, first]
            continue
        seed = session_seed(s.key[row], s.round[row])
        c = s.order[row, first + uniform_below(bits(seed, 0), stop - first)]  # line 9
        d, highest = NO_ARM, -1.0
        budget = s.alpha[row] * log_of_sum(s.round[row] + 1, s.constant[row], s.log_constant[row])
        for place in range(first, stop):  # line 10
            arm = s.order[row, place]
            if arm != c:
                upper = upper_bound(s.wins[row, arm, c], s.wins[row, arm, c] + s.wins[row, c, arm], budget)
                if upper > highest or (upper == highest and bits(seed, 1 + arm) > bits(seed, 1 + d)):
                    d, highest = arm, upper
        left[row], right[row] = c, d


@kernel
def learn(s, left, right, left_won):
    """Lines 11 to 14, and then lines 6 and 8 of the next round."""
    arms = s.order.shape[1]
    for row in range(left.shape[0]):
        s.round[row] += 1
        winner, loser = (left[row], right[row]) if left_won[row] else (right[row], left[row])
        if winner != loser:
            count_win(s.wins[row], s.trails[row], s.won[row], s.lost[row], winner, loser)  # line 11
            batch = s.batch_of[row, loser]
            if batch != NO_ARM and batch == s.batch_of[row, winner]:
                clear = s.suspect[row, batch] == NO_ARM
                s.suspect[row, batch] = loser * arms + winner if clear else ALL_ARMS
        remaining = s.start[row, s.batches[row]]
        if remaining > 1:
            if remaining << s.stage[row] <= arms:  # line 12
                next_stage(s, row)
            budget = s.alpha[row] * log_of_sum(s.round[row] + 1, s.constant[row], s.log_constant[row])
            turn = whose_turn(s.start, s.suspect, s.wins, row, s.batches[row], s.round[row] + 1, budget)
            if turn == NO_ARM:
                turn = turn_after_changes(s, row, budget)
            s.turn[row] = turn


@kernel
def whose_turn(start, suspect, wins, row, batches, t, budget):
    """Lines 6 and 8 in a round t without a change: the batch, or the next one with something to compare.

    NO_ARM if some arm may be removed before, or if all batches are of one arm. ``budget`` is alpha ln(t + C(delta)).
    """
    arms, batch = wins.shape[1], t % batches
    for _ in range(batches):
        if start[row, batch + 1] - start[row, batch] > 1:
            if suspect[row, batch] == ALL_ARMS:
                return NO_ARM
            if suspect[row, batch] != NO_ARM:
                loser, winner = suspect[row, batch] // arms, suspect[row, batch] % arms
                if beaten(wins[row, loser, winner], wins[row, winner, loser], budget, 0):
                    return NO_ARM
                suspect[row, batch] = NO_ARM
            return batch
        batch = batch + 1 if batch + 1 < batches else 0
    return NO_ARM


@kernel
def turn_after_changes(s, row, budget):
    """Lines 6 and 8 in general; and line 13, if only batches of one arm are left."""
    t = s.round[row] + 1
    while True:
        batches = s.batches[row]
        for step in range(batches):
            batch = (t + step) % batches
            if size_of(s.start[row], batch) > 1:
                eliminate(s, row, batch, budget)
            if size_of(s.start[row], batch) > 1:
                return batch
        if batches == 1:  # a single arm remains
            return 0
        next_stage(s, row)


@kernel
def eliminate(s, row, batch, budget):
    """Line 8: see above why there is mostly one suspect. ``budget`` is alpha ln(t + C(delta))."""
    suspect, arms = s.suspect[row, batch], s.order.shape[1]
    s.suspect[row, batch] = NO_ARM
    if suspect == ALL_ARMS:  # after a merger, or if somebody else chose the duels
        place = s.start[row, batch]
        while place < s.start[row, batch + 1]:
            arm = s.order[row, place]
            if some_arm_beats(s.order[row], s.start[row], s.wins[row], batch, arm, budget, 0):
                remove(s, row, batch, arm)
                place = s.start[row, batch]
            else:
                place += 1
    elif suspect != NO_ARM:
        loser, winner = suspect // arms, suspect % arms
        if beaten(s.wins[row, loser, winner], s.wins[row, winner, loser], budget, 0):
            remove(s, row, batch, loser)


@kernel
def remove(s, row, batch, arm):
    """Remove an arm from its batch."""
    leave_batch(s.order[row], s.start[row], s.batches[row], batch, arm)
    s.batch_of[row, arm] = NO_ARM


@kernel
def next_stage(s, row):
    """Lines 13 and 14."""
    least = 0
    while least < 2:
        before = s.batches[row]
        s.batches[row] = join_batches(s.order[row], s.start[row], before, s.largest[row])
        least = smallest_size(s.start[row], s.batches[row])
        if s.batches[row] == before:
            break
    s.suspect[row, : s.batches[row]] = ALL_ARMS
    number_members(s.order[row], s.start[row], s.batches[row], s.batch_of[row])
    s.stage[row] += 1


@kernel
def assign(s):
    """Line 2, with the arms in random order."""
    arms = s.order.shape[1]
    for row in range(s.order.shape[0]):
        shuffle(s.order[row], 0, arms, arms, session_seed(s.key[row], 0), ASSIGNMENT)
        number_members(s.order[row], s.start[row], s.batches[row], s.batch_of[row])


class MergeRUCB(Merging, DuelingKernelAgent):
    """MergeRUCB: compares arms within small batches, and merges batches as arms are eliminated.

    ``remaining`` is the number of arms left in each row; a row with one arm left no longer explores.

    Args:
        alpha: width of the confidence intervals, above 0.5.
        batch_size: p, the number of arms in a batch at first, at least 4.
        delta: the probability of losing the Condorcet winner, in (0, 1).
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Zoghi, Whiteson and de Rijke, WSDM 2015, Algorithm 1.

    Examples:
        >>> from rankgym_agents import MergeRUCB
        >>> agent = MergeRUCB(num_arms=8, batch_size=4, delta=0.1, seed=0)
        >>> sorted(len(batch) for batch in agent.beliefs().blocks)
        [4, 4]
        >>> for _ in range(600):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.remaining.tolist(), agent.candidate.tolist(), agent.beliefs().out
        ([1], [0], (7, 6, 1, 5, 4, 2, 3))
    """

    choose, learn = staticmethod(choose), staticmethod(learn)
    PAIR_BYTES = 8
    state: State

    def __init__(self, *, alpha: float = 1.01, batch_size: int = 4, delta: float = 0.01, **shape: Any) -> None:
        super().__init__(**shape)
        rows, arms = self.num_envs, self.num_arms
        p = min(whole_number("batch_size", batch_size, 4), max(arms, 4))  # more make one batch, too
        width = positive("alpha", alpha)
        if width <= 0.5:
            raise ValueError(f"alpha = {alpha!r} is out of range; allowed: a finite number above 0.5")
        log_c = log_constant(width, arms, open_unit("delta", delta))
        batches = max(1, arms // p)
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0, alpha=width, log_constant=log_c, largest=3 * p // 2, stage=1, batches=batches, turn=1 % batches
            ),
            constant=np.full(rows, math.ceil(math.exp(log_c)) if log_c < 700 else math.inf, np.float64),
            **first_batches(self, batches, p),
        )
        assign(self.state)
