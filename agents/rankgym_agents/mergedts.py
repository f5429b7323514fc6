"""MergeDTS (Li, Markov, de Rijke and Zoghi, "MergeDTS: a method for effective large-scale online ranker evaluation",
ACM Transactions on Information Systems 38, 2020), as its authors ran it in their experiments.

The arms are in small batches, and only arms of the same batch are compared: one batch after the other, round by round.
In its turn a batch first loses the arms that another of its arms beats with confidence. Then double Thompson sampling
picks two arms: a tournament of sampled preferences has a champion, and a fresh sample of the preferences against the
champion names the arm that is the easiest to beat, which is thereby soon out. When half of the arms are left, small
batches are joined with large ones and the next stage begins, until a single arm remains, which is then compared with
itself.

What the authors ran, according to the published code of their experiments (chang-li/MergeDTS).

* The arms are shuffled into ceil(K / M) batches of M; the last one may have less. M = 4.
* Every pair starts with one win for either side: the samples are of Beta(1 + w_ij, 1 + w_ji), and the upper bounds are
  u_ij = (1 + w_ij) / (2 + n_ij) + sqrt(alpha ln(t + C) / (2 + n_ij)) with n_ij = w_ij + w_ji, alpha = 1.01.
* C = ((4 alpha - 1) K^2 / ((2 alpha - 1) epsilon))^(1 / (2 alpha - 1)) with epsilon = 0.01, the probability of failure;
  ``constant`` is their switch for another one: the tuned runs have C = 400000, alpha = 0.8^6 and M = 16.
* t counts the rounds of the stage, from 1. Theirs stands for t + C, rounded down, in the logarithm and in the turns.
* Batch t mod b has its turn. One arm at a time is removed for which u_ij < 1/2 with some j, the first one of the batch
  here, a random one in theirs. A batch of one arm is joined with the next batch first, the last one with the first.
* The champion has the largest sampled Copeland score, the number of arms that it beats with theta_ij > 1/2; ties are
  broken at random. Here theta_ji = 1 - theta_ij as in double Thompson sampling; their code draws both of them.
* The challenger has the smallest fresh sample of its preference against the champion.
* A stage ends when K / 2^S + 1 arms are left, rounded down, in more than one batch. By rising size, the smallest batch
  is joined with the largest if together they have at most 3 M / 2 arms, else the largest stays alone; and all that once
  more if a batch is then of at most M / 2 arms. Batches of equal size keep their order here; theirs is random.

``candidate`` before the end is the remaining arm that has lost more than half of its duels against the fewest others;
of several the one with the largest share of duels won, and then the first in the shuffled order. (Theirs is of all.)

As in MergeRUCB u_ij < 1/2 can come true only when i loses to j: it says that in n duels j has won more than i by more
than 2 sqrt(alpha ln(t + C) (2 + n)). So in its turn a batch has one arm to look at, the last loser, and all of them
only when t has restarted or the batch was joined.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import DuelingKernelAgent, open_unit, positive, whole_number
from rankgym.kernels import (
    BETA_WORDS,
    beaten,
    beta_variate,
    bits,
    borrowed,
    count_win,
    give_back,
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
)
from rankgym_agents.merging import ALL_ARMS, NO_ARM, Merging, first_batches, log_constant

PRIOR = 2  # every pair begins with a win for either side
# Where a round's random words lie: ties of arm i at i; a lane of BETA_WORDS for each pair and for each challenger.
TOURNAMENT, CHALLENGE, ASSIGNMENT = 1 << 40, 2 << 40, 3 << 40


class State(NamedTuple):
    """What MergeDTS remembers. The leading axis is the row; batches are numbered from 0."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    began: NDArray[np.int64]  # (rows,): how many of them were before the stage; t is one more than the others
    alpha: NDArray[np.float64]  # (rows,): alpha
    constant: NDArray[np.float64]  # (rows,): C, infinite where it is more than a float can be
    log_constant: NDArray[np.float64]  # (rows,): its logarithm
    batch_size: NDArray[np.int64]  # (rows,): M
    stage: NDArray[np.int64]  # (rows,): S
    wins: NDArray[np.int64]  # (rows, arms, arms): w, how often the first arm has beaten the second
    trails: NDArray[np.int64]  # (rows, arms): how many others the arm trails in its duels
    won: NDArray[np.int64]  # (rows, arms): duels won
    lost: NDArray[np.int64]  # (rows, arms): duels lost
    order: NDArray[np.int64]  # (rows, arms): the arms batch by batch; behind them those that are out, latest first
    batches: NDArray[np.int64]  # (rows,): b
    start: NDArray[np.int64]  # (rows, batches + 1): where each batch begins in ``order``, and where the last one ends
    batch_of: NDArray[np.int64]  # (rows, arms): the arm's batch; NO_ARM for one that is out
    suspect: NDArray[np.int64]  # (rows, batches): who may be out: loser * K + winner, or NO_ARM or ALL_ARMS
    turn: NDArray[np.int64]  # (rows,): the batch whose turn it is in the round to come


@kernel
def choose(s, left, right):
    """The champion and the challenger of the batch whose turn it is."""
    arms = s.order.shape[1]
    score = borrowed(arms, np.int64)
    for row in range(left.shape[0]):
        first, stop = s.start[row, s.turn[row]], s.start[row, s.turn[row] + 1]
        if stop - first == 1:
            left[row] = right[row] = s.order[row, first]
            continue
        seed = session_seed(s.key[row], s.round[row])
        for place in range(first, stop):
            score[place] = 0
        for place in range(first, stop):  # the tournament
            for other in range(place + 1, stop):
                i, j = s.order[row, place], s.order[row, other]
                lane = TOURNAMENT + (min(i, j) * arms + max(i, j)) * BETA_WORDS
                theta = beta_variate(1.0 + s.wins[row, i, j], 1.0 + s.wins[row, j, i], seed, lane)
                score[place] += theta > 0.5
                score[other] += theta < 0.5
        c, most = NO_ARM, -1
        for place in range(first, stop):
            arm = s.order[row, place]
            if score[place] > most or (score[place] == most and bits(seed, arm) > bits(seed, c)):
                c, most = arm, score[place]
        d, least = NO_ARM, 2.0
        for place in range(first, stop):  # the challenge
            arm = s.order[row, place]
            if arm != c:
                lane = CHALLENGE + arm * BETA_WORDS
                theta = beta_variate(1.0 + s.wins[row, arm, c], 1.0 + s.wins[row, c, arm], seed, lane)
                if theta < least:
                    d, least = arm, theta
        left[row], right[row] = c, d
    give_back(score)


@kernel
def learn(s, left, right, left_won):
    """Count the win; see whether the stage ends; and remove and join for the batch whose turn is next."""
    arms = s.order.shape[1]
    for row in range(left.shape[0]):
        s.round[row] += 1
        winner, loser = (left[row], right[row]) if left_won[row] else (right[row], left[row])
        if winner != loser:
            count_win(s.wins[row], s.trails[row], s.won[row], s.lost[row], winner, loser)
            batch = s.batch_of[row, loser]
            if batch != NO_ARM and batch == s.batch_of[row, winner]:
                clear = s.suspect[row, batch] == NO_ARM
                s.suspect[row, batch] = loser * arms + winner if clear else ALL_ARMS
        remaining = s.start[row, s.batches[row]]
        if remaining > 1:
            if s.batches[row] > 1 and remaining <= (arms >> s.stage[row]) + 1:
                next_stage(s, row)
            t = s.round[row] - s.began[row] + 1
            budget = s.alpha[row] * log_of_sum(t, s.constant[row], s.log_constant[row])
            batch = t % s.batches[row]
            if anything_to_do(s.start, s.suspect, s.wins, row, batch, budget):
                batch = turn_after_changes(s, row, batch, budget)
            s.turn[row] = batch


@kernel
def anything_to_do(start, suspect, wins, row, batch, budget):
    """Whether an arm of the batch may be removed, or the batch has only one."""
    if start[row, batch + 1] - start[row, batch] == 1 or suspect[row, batch] == ALL_ARMS:
        return True
    if suspect[row, batch] != NO_ARM:
        arms = wins.shape[1]
        loser, winner = suspect[row, batch] // arms, suspect[row, batch] % arms
        if beaten(wins[row, loser, winner], wins[row, winner, loser], budget, PRIOR):
            return True
        suspect[row, batch] = NO_ARM
    return False


@kernel
def turn_after_changes(s, row, batch, budget):
    """Remove arms and join batches of one until this batch has something to compare; returns its number then."""
    while True:
        eliminate(s, row, batch, budget)
        if size_of(s.start[row], batch) > 1 or s.batches[row] == 1:
            return batch
        batch = join_with_next(s, row, batch)


@kernel
def eliminate(s, row, batch, budget):
    """Remove the arms that another arm of the batch beats with confidence, the first one first."""
    s.suspect[row, batch] = NO_ARM
    place = s.start[row, batch]
    while place < s.start[row, batch + 1]:
        arm = s.order[row, place]
        if some_arm_beats(s.order[row], s.start[row], s.wins[row], batch, arm, budget, PRIOR):
            leave_batch(s.order[row], s.start[row], s.batches[row], batch, arm)
            s.batch_of[row, arm] = NO_ARM
            place = s.start[row, batch]
        else:
            place += 1


@kernel
def join_with_next(s, row, batch):
    """Join a batch of one arm with the next one, behind its arms; returns the number of the batch that comes of it."""
    order, start = s.order[row], s.start[row]
    batches = s.batches[row]
    arm = order[start[batch]]
    if batch + 1 < batches:
        for place in range(start[batch], start[batch + 2] - 1):
            order[place] = order[place + 1]
        order[start[batch + 2] - 1] = arm
        for later in range(batch + 1, batches):
            start[later] = start[later + 1]
            s.suspect[row, later - 1] = s.suspect[row, later]
    else:  # the next one after the last is the first
        for place in range(start[batch], start[1], -1):
            order[place] = order[place - 1]
        order[start[1]] = arm
        for later in range(1, batches):
            start[later] += 1
        batch = 0
    s.batches[row] = batches - 1
    number_members(s.order[row], s.start[row], s.batches[row], s.batch_of[row])
    return batch


@kernel
def next_stage(s, row):
    """Join small batches with large ones; t restarts, and with it the bounds narrow."""
    largest = 3 * s.batch_size[row] // 2
    s.batches[row] = join_batches(s.order[row], s.start[row], s.batches[row], largest)
    if 2 * smallest_size(s.start[row], s.batches[row]) <= s.batch_size[row]:
        s.batches[row] = join_batches(s.order[row], s.start[row], s.batches[row], largest)
    for batch in range(s.batches[row]):
        s.suspect[row, batch] = ALL_ARMS
    number_members(s.order[row], s.start[row], s.batches[row], s.batch_of[row])
    s.stage[row] += 1
    s.began[row] = s.round[row]


@kernel
def begin(s):
    """Put the arms into batches in random order, and find the first batch with something to compare."""
    arms = s.order.shape[1]
    for row in range(s.order.shape[0]):
        shuffle(s.order[row], 0, arms, arms, session_seed(s.key[row], 0), ASSIGNMENT)
        number_members(s.order[row], s.start[row], s.batches[row], s.batch_of[row])
        s.turn[row] = turn_after_changes(s, row, 1 % s.batches[row], math.inf)


class MergeDTS(Merging, DuelingKernelAgent):
    """MergeDTS: double Thompson sampling within small batches, which are merged as arms are eliminated.

    ``remaining`` is the number of arms left in each row; a row with one arm left no longer explores.

    Args:
        alpha: width of the confidence intervals, above 0.5; above 0 if ``constant`` is given.
        batch_size: M, the number of arms in a batch at first, at least 2.
        epsilon: the probability of losing the Condorcet winner, in (0, 1).
        constant: C, above 0; default: what alpha, K and epsilon make of it. The guarantee holds for the default.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Li, Markov, de Rijke and Zoghi, ACM TOIS 38, 2020, as run in their experiments.

    Examples:
        >>> from rankgym_agents import MergeDTS
        >>> agent = MergeDTS(num_arms=8, batch_size=4, constant=10.0, seed=0)
        >>> for _ in range(600):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.remaining.tolist(), agent.candidate.tolist(), agent.settled().tolist()
        ([1], [0], [True])
    """

    choose, learn = staticmethod(choose), staticmethod(learn)
    PAIR_BYTES = 8
    state: State

    def __init__(
        self,
        *,
        alpha: float = 1.01,
        batch_size: int = 4,
        epsilon: float = 0.01,
        constant: float | None = None,
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        rows, arms = self.num_envs, self.num_arms
        M = min(whole_number("batch_size", batch_size, 2), max(arms, 2))  # more make one batch, too
        width = positive("alpha", alpha)
        failure = open_unit("epsilon", epsilon)
        if constant is None and width <= 0.5:
            raise ValueError(f"alpha = {alpha!r} is out of range; allowed: above 0.5, or above 0 with a constant")
        log_c = log_constant(width, arms, failure) if constant is None else math.log(positive("constant", constant))
        batches = -(-arms // M)
        self.state = State(
            key=self.keys(),
            constant=np.full(rows, math.exp(log_c) if log_c < 700 else math.inf),
            **self.filled(
                round=0, began=0, alpha=width, log_constant=log_c, batch_size=M, stage=1, batches=batches, turn=0
            ),
            **first_batches(self, batches, M),
        )
        begin(self.state)
