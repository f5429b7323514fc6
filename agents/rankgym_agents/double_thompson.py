"""DoubleThompson, D-TS (Wu and Liu, "Double Thompson sampling for dueling bandits", NIPS 2016), Algorithm 1; comments
give its lines. It needs no Condorcet winner: it looks for a Copeland winner, an arm that beats the most others.

B_ij is the duels that arm i won against j, u_ij and l_ij = B_ij / (B_ij + B_ji) +- sqrt(alpha ln t / (B_ij + B_ji)).
The left arm comes from the arms of the largest upper bound of the Copeland score, the number of j with u_ij > 1/2: the
one that beats the most others in a sample of all pairs from their posteriors Beta(B_ij + 1, B_ji + 1). The right arm is
the one with the largest chance to beat it in a second sample, among those with l_i,left <= 1/2, itself included with
1/2.

How the listing is read.

* Before two arms have met x / 0 := 1 gives u = 2 and l = 0; here u is infinite and l minus infinity, which is the same
  to the tests with 1/2.
* The candidate is the arm that has won more than half of its duels against the most others, ties broken at random. The
  paper names none.
* A duel of an arm with itself is not counted, but it takes a round.
* D-TS+, which breaks the ties of line 11 by estimated regret, is not here.

Of the first sample it matters only which numbers exceed 1/2, and that is a coin whose chance is kept for each pair:
with n = B_ij + B_ji it grows by C(n, B_ij) / 2^(n + 1) when i wins the n-th duel, and shrinks by as much when j does
(the recurrence of the incomplete beta function at 1/2). The coins are numbered by the pair, so their
values do not depend on the order of computation. Only those of the arms of line 6 are computed, and no coin if that is
a single arm.

Nor are the K^2 bounds computed: u_ij <= 1/2 just where i trails j by l duels of n, and l / (2 sqrt(n)) >= sqrt(alpha
ln t). The left side changes only with a duel of the pair, the right side grows; so an arm is counted anew after a duel
of its own, or when the least of the left sides that it was counted with is reached. For a rational alpha the two sides
are never equal, ln t being transcendental; where they agree in 15 digits, rounding may decide otherwise than in u_ij <=
1/2.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import (
    BETA_WORDS,
    beta_variate,
    bits,
    borrowed,
    fair_coins_show,
    give_back,
    kernel,
    place_of_largest,
    session_seed,
    uniform,
)

# Random words of a round: two for ties, then one for each pair, then BETA_WORDS for each arm.
FIRST, TIE, COINS = range(3)


class State(NamedTuple):
    """What DoubleThompson remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): alpha
    wins: NDArray[np.int64]  # (rows, arms, arms): B_ij at [i, j]
    losses: NDArray[np.int64]  # (rows, arms, arms): B_ji at [i, j]
    chance: NDArray[np.float64]  # (rows, arms, arms): that theta_ij > 1/2 at [i, j] and, the same, at [j, i], i < j
    trail: NDArray[np.float64]  # (rows, arms, arms): (B_ji - B_ij) / (2 sqrt(B_ij + B_ji)), 0 before they met
    doubts: NDArray[np.int64]  # (rows, arms): of how many others u_ij <= 1/2, when the arm was last counted
    recount: NDArray[np.float64]  # (rows, arms): the arm is to be counted anew where sqrt(alpha ln t) reaches it
    beaten: NDArray[np.int64]  # (rows, arms): how many others the arm has won more than half of its duels against


@kernel
def choose(s, left, right):
    """Lines 4 to 14."""
    arms = s.doubts.shape[1]
    votes, others = borrowed(arms, np.int64), borrowed(arms, np.int64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        width = math.sqrt(s.alpha[row] * math.log(s.round[row] + 1))
        trail, doubts, recount = s.trail[row], s.doubts[row], s.recount[row]
        fewest, size, only = arms, 0, 0
        for i in range(arms):  # lines 4 to 6
            if recount[i] <= width:
                count(trail[i], doubts, recount, i, width)
            if doubts[i] < fewest:
                fewest, size, only = doubts[i], 0, i
            size += doubts[i] == fewest
        if size == 1:  # lines 7 to 11
            left[row] = only
        else:
            left[row] = first(s.chance[row], doubts, fewest, votes, others, seed)
        i = left[row]
        right[row] = second(s.wins[row, i], s.losses[row, i], trail[i], i, width, seed)  # lines 13 and 14
    give_back(votes)
    give_back(others)


@kernel
def count(trail, doubts, recount, i, width):
    """How many of arm i's ``trail`` (arms,) have u_ij <= 1/2, and until when."""
    number = 0
    for j in range(trail.shape[0]):
        number += trail[j] > width
    least = math.inf
    if number > 0:
        for j in range(trail.shape[0]):
            if trail[j] > width and trail[j] < least:
                least = trail[j]
    doubts[i], recount[i] = number, least


@kernel
def first(chance, doubts, fewest, votes, others, seed):
    """Lines 7 to 11, with C the arms of the ``fewest`` doubts; ``votes`` and ``others`` (arms,) are overwritten."""
    arms, size = doubts.shape[0], 0
    for i in range(arms):
        votes[i], others[size] = 0, i
        size += doubts[i] != fewest
    for i in range(arms):
        if doubts[i] == fewest:
            votes[i] += vote(chance[i, i + 1 :], votes[i + 1 :], seed, COINS + i * arms + i + 1)
            for place in range(size):
                j = others[place]
                if j > i:
                    break
                votes[i] += uniform(bits(seed, COINS + j * arms + i)) >= chance[i, j]
    for place in range(size):
        votes[others[place]] = -1
    return place_of_largest(votes, bits(seed, FIRST))


@kernel
def vote(chance, votes, seed, index):
    """Count for both sides who wins the pairs of an arm with all higher numbers.

    ``chance`` and ``votes`` (arms,) are of these arms, their coins those numbered ``index`` and on. Returns the wins.
    """
    won = 0
    for j in range(chance.shape[0]):  # the pair's one coin shows whether its lower number has won
        lost = uniform(bits(seed, index + j)) >= chance[j]
        votes[j] += lost
        won += not lost
    return won


@kernel
def second(wins, losses, trail, one, width, seed):
    """Lines 13 and 14, from the left arm's rows (arms,): l_i,one <= 1/2 just where u_one,i >= 1/2."""
    arms = wins.shape[0]
    best, highest = one, 0.5
    for i in range(arms):
        if i != one and trail[i] <= width:
            theta = beta_variate(1.0 + losses[i], 1.0 + wins[i], seed, COINS + arms * arms + i * BETA_WORDS)
            if theta > highest:
                best, highest = i, theta
    return best


@kernel
def learn(s, left, right, left_won):
    """Line 17."""
    for row in range(left.shape[0]):
        s.round[row] += 1
        if left[row] == right[row]:
            continue
        i, j = (left[row], right[row]) if left_won[row] else (right[row], left[row])  # i won
        won, lost = s.wins[row, i, j] + 1, s.losses[row, i, j]
        s.wins[row, i, j] = s.losses[row, j, i] = won
        half = 0.5 * fair_coins_show(won, lost)
        s.chance[row, i, j] = s.chance[row, j, i] = s.chance[row, i, j] + (half if i < j else -half)
        s.trail[row, j, i] = (won - lost) / (2.0 * math.sqrt(won + lost))
        s.trail[row, i, j] = -s.trail[row, j, i]
        s.recount[row, i] = s.recount[row, j] = 0.0
        if won == lost + 1:
            s.beaten[row, i] += 1
        elif won == lost:
            s.beaten[row, j] -= 1


@kernel
def name(s, candidate):
    """The arm that beats the most others by its duels."""
    for row in range(candidate.shape[0]):
        word = bits(session_seed(s.key[row], s.round[row]), TIE)
        candidate[row] = place_of_largest(s.beaten[row], word)


class DoubleThompson(DuelingKernelAgent):
    """DoubleThompson, D-TS: both arms from posterior samples, restricted to arms that confidence bounds allow.

    Takes 32 bytes of memory per row and ordered pair of arms.

    Args:
        alpha: width of the confidence bounds, above 0. The analysis has it above 1/2; 0.51 is the authors' practice.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Wu and Liu, NIPS 2016, Algorithm 1.

    Examples:
        >>> from rankgym_agents import DoubleThompson
        >>> agent = DoubleThompson(num_arms=4, seed=0)
        >>> for winner, loser in [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3)] * 20:  # a cycle, and arm 3 loses
        ...     agent.update({"left": [winner], "right": [loser]}, [[1, 0]])
        >>> agent.beliefs().scores["arms beaten"]  # Copeland winners beat the most others; no arm beats all
        (2, 2, 1, 0)
        >>> agent.candidate.tolist()
        [1]
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 32
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha)),
            **self.filled(arms, arms, wins=0, losses=0, chance=0.5, trail=0.0),
            **self.filled(arms, doubts=0, recount=math.inf, beaten=0),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how many others each arm has won more than half of its duels against."""
        beaten = {"arms beaten": plain(self.state.beaten[row])}
        return Beliefs(champion=int(self.candidate[row]), scores=beaten)
