"""RMED1 (Komiyama, Honda, Kashima and Nakagawa, "Regret lower bound and optimal algorithm in dueling bandit problem",
COLT 2015), Algorithm 1 with Algorithm 2 for the second arm; comments give their steps.

mu_ij is the share of its N_ij duels with arm j that arm i has won. I_i = sum of N_ij d(mu_ij, 1/2) over the arms j with
mu_ij <= 1/2, d being the Kullback-Leibler divergence of Bernoulli variables: exp(-I_i) is how likely it is that i is
the Condorcet winner. First each pair meets once. Then the arms of a list L_C are drawn one after the other, each with
an opponent that it has not beaten so far; while this goes on, arms with I_j - min I <= ln t + f(K) are collected for
the next list.

How the paper is read.

* The lists are sets, and are gone through by rising number ("in an arbitrarily fixed order"). L_R, what is still to be
  drawn of L_C, is those of it above the arm just drawn.
* J_j(t), the condition for the next list, is checked after the duel of round t, with t counted from the first round: as
  in the authors' library (github.com/jkomiyama/duelingbanditlib). There, however, the second arm of a duel leaves L_R,
  here it is the first one, as in the listing.
* f(K) = 0.3 K^1.01 is what the paper's experiments have.
* Ties of argmin are broken at random. An arm that has not met j has mu_ij = 1/2 (if another agent chose the duels).
* A duel of an arm with itself is not counted, but it takes a round.
* The candidate is i*, the arm with the least I; the paper names none.

A duel changes one term of I of each arm, unless that is and stays 0. Then I is added up anew from its terms, so that no
rounding is carried along.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import bits, kernel, place_of_least, session_seed

LIKELIEST, OPPONENT = range(2)  # the random words of a round
NO_ARM = -1
LN_2 = math.log(2.0)
ANY = np.uint64(0)  # a word for ties that make no difference


class State(NamedTuple):
    """What RMED1 remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    leeway: NDArray[np.float64]  # (rows,): f(K)
    wins: NDArray[np.int64]  # (rows, arms, arms): duels that arm i won against j, at [i, j]
    mean: NDArray[np.float64]  # (rows, arms, arms): mu_ij
    term: NDArray[np.float64]  # (rows, arms, arms): N_ij d(mu_ij, 1/2) where mu_ij <= 1/2, else 0
    unlikely: NDArray[np.float64]  # (rows, arms): I_i
    first: NDArray[np.int64]  # (rows,): l(t), the next arm to be drawn
    second: NDArray[np.int64]  # (rows,): its opponent in the initial phase; then NO_ARM
    current: NDArray[np.bool_]  # (rows, arms): L_C
    following: NDArray[np.bool_]  # (rows, arms): L_N


@kernel
def choose(s, left, right):
    """The next pair of the initial phase; or the next arm of L_C and, by Algorithm 2, its opponent."""
    for row in range(left.shape[0]):
        left[row], right[row] = s.first[row], s.second[row]
        if s.second[row] == NO_ARM:
            seed = session_seed(s.key[row], s.round[row])
            likeliest = place_of_least(s.unlikely[row], NO_ARM, bits(seed, LIKELIEST))
            right[row] = opponent(s.mean[row, left[row]], left[row], likeliest, bits(seed, OPPONENT))


@kernel
def opponent(mean, arm, likeliest, word):
    """Algorithm 2. O is the arms that ``arm``, of the means (arms,), has not beaten."""
    if likeliest != arm and mean[likeliest] <= 0.5:  # i* is in O
        return likeliest
    for j in range(mean.shape[0]):
        if j != arm and mean[j] <= 0.5:
            return place_of_least(mean, arm, word)
    return likeliest  # O is empty


@kernel
def learn(s, left, right, left_won):
    """Count the duel; then the rest of the loop of Algorithm 1."""
    for row in range(left.shape[0]):
        i, j = left[row], right[row]
        if i != j:
            if left_won[row]:
                s.wins[row, i, j] += 1
            else:
                s.wins[row, j, i] += 1
            compare(s.wins[row], s.mean[row], s.term[row], s.unlikely[row], i, j)
            compare(s.wins[row], s.mean[row], s.term[row], s.unlikely[row], j, i)
        s.round[row] += 1
        if s.second[row] != NO_ARM:
            next_pair(s, row)
        else:
            next_arm(s.unlikely[row], s.current[row], s.following[row], s.first, row, s.round[row], s.leeway[row])


@kernel
def compare(wins, mean, term, unlikely, i, j):
    """Bring mu_ij, its term and I_i up to date."""
    won, lost = wins[i, j], wins[j, i]
    mean[i, j] = won / (won + lost)
    before, term[i, j] = term[i, j], evidence(won, lost) if won < lost else 0.0
    if term[i, j] != before:
        total = 0.0
        for k in range(mean.shape[0]):
            total += term[i, k]
        unlikely[i] = total


@kernel
def evidence(won, lost):
    """N d(mu, 1/2) of N = ``won`` + ``lost`` duels, ``lost`` > 0."""
    if won == 0:
        return lost * LN_2
    n = won + lost
    return won * math.log(2.0 * won / n) + lost * math.log(2.0 * lost / n)


@kernel
def next_pair(s, row):
    """The initial phase: pairs by rising number of the first, then of the second arm. At its end L_C is all arms."""
    arms = s.current.shape[1]
    s.second[row] += 1
    if s.second[row] == arms:
        s.first[row] += 1
        s.second[row] = s.first[row] + 1
        if s.second[row] == arms:
            s.first[row], s.second[row] = 0, NO_ARM


@kernel
def next_arm(unlikely, current, following, firsts, row, t, leeway):
    """The end of the loop over L_C: collect L_N; it becomes L_C once all arms of L_C were drawn."""
    arms, first = unlikely.shape[0], firsts[row]
    lowest = unlikely[place_of_least(unlikely, NO_ARM, ANY)]
    bound = lowest + (math.log(t) + leeway)
    for j in range(arms):
        to_come = current[j] & (j > first)  # j in L_R
        following[j] |= (not to_come) & (unlikely[j] <= bound)  # J_j(t)
    for j in range(first + 1, arms):
        if current[j]:
            firsts[row] = j
            return
    firsts[row] = NO_ARM
    for j in range(arms - 1, -1, -1):
        current[j], following[j] = following[j], False
        if current[j]:
            firsts[row] = j


@kernel
def name(s, candidate):
    """i*."""
    for row in range(candidate.shape[0]):
        word = bits(session_seed(s.key[row], s.round[row]), LIKELIEST)
        candidate[row] = place_of_least(s.unlikely[row], NO_ARM, word)


class RMED1(DuelingKernelAgent):
    """RMED1: the arms that are likely enough to be the best, each against one that it has not beaten so far.

    Takes 24 bytes of memory per row and ordered pair of arms.

    Args:
        leeway: f(K), above 0: an arm is drawn again while its I is at most ln t + f(K) above the least one. Default:
            0.3 K^1.01.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Komiyama, Honda, Kashima and Nakagawa, COLT 2015, Algorithm 1 with Algorithm 2.

    Examples:
        >>> from rankgym_agents import RMED1
        >>> agent = RMED1(num_arms=3, seed=0)
        >>> for winner, loser in [(0, 1), (0, 2), (1, 2)] * 3:
        ...     agent.update({"left": [winner], "right": [loser]}, [[1, 0]])
        >>> [round(likelihood, 3) for likelihood in agent.beliefs().scores["likelihood"]]  # to be the Condorcet winner
        [1.0, 0.125, 0.016]
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 24
    state: State

    def __init__(self, *, leeway: float | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        f = 0.3 * arms**1.01 if leeway is None else positive("leeway", leeway)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, leeway=f, first=0, second=1 if arms > 1 else NO_ARM),
            **self.filled(arms, arms, wins=0, mean=0.5, term=0.0),
            **self.filled(arms, unlikely=0.0, current=True, following=False),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how likely each arm is the best one, exp(-I)."""
        likely = {"likelihood": plain(np.exp(-self.state.unlikely[row]))}
        return Beliefs(champion=int(self.candidate[row]), scores=likely)
