"""RUCB (Zoghi, Whiteson, Munos and de Rijke, "Relative upper confidence bound for the K-armed dueling bandit problem",
ICML 2014), Algorithm 1; comments give its lines.

With w_ij duels that arm i won against j, u_ij = w_ij / (w_ij + w_ji) + sqrt(alpha ln t / (w_ij + w_ji)) is an upper
bound of the probability that i beats j, and u_ii = 1/2. The arms that may still beat all others are C, those with u_cj
>= 1/2 for all j. The left arm c is drawn from C, every other time it is the arm of B, the one that was last alone in C;
the right arm d has the best chance to beat it, by u_dc.

How the listing is read.

* Line 4 has x / 0 := 1, so u_ij = 2 before i and j have met. Others may have more by then; the text means optimism, and
  the bound is infinite.
* Ties in line 12 are broken at random, and c itself is not drawn from a tie. It is the right arm where all others have
  u_jc < 1/2. Such a duel is not counted, but it takes a round.
* The candidate is the listing's "Return", the arm that has won more than half of its duels against the most others; it
  does not say what to do with ties, which are broken at random here.

A round costs a few passes over K numbers, for which the bounds are kept so that nothing is computed for K^2 pairs:

* u_cj < 1/2 just where m - 1/2 > sqrt(alpha ln t) / sqrt(n), m being the share that j has won of its n duels with c, or
  sqrt(n) (m - 1/2) > sqrt(alpha ln t). The left side changes only with a duel of the pair, the right side grows. So it
  is enough to know, for each arm outside of C, one arm that keeps it out, and to look for another when it no longer
  does. For a rational alpha the two sides are never equal, ln t being transcendental; where they agree in 15
  digits, rounding may decide otherwise than in u_cj < 1/2.
* u_jc is m plus sqrt(alpha ln t) times 1 / sqrt(n): two rows of numbers, for all j.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import bits, borrowed, challenger, give_back, kernel, place_of_largest, session_seed, uniform_below

COIN, CHAMPION, CHALLENGER, TIE = range(4)  # the random words of a round
NO_ARM = -1
FREE = -1.0  # the barrier of an arm in C
UNMET = (0.5, 1e300)  # the bound of n = 0: practically infinite
OWN = (0.0, 0.0)  # at [c, c]: below u_cc = 1/2, of which ``challenger`` takes care


class State(NamedTuple):
    """What RUCB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): alpha
    wins: NDArray[np.int64]  # (rows, arms, arms): w_ij at [i, j]
    bound: NDArray[
        np.float64
    ]  # (rows, arms, 2, arms): at [c, :, j] w_jc / n and 1 / sqrt(n), n = w_jc + w_cj; see UNMET
    barrier: NDArray[np.float64]  # (rows, arms): what keeps the arm out of C until sqrt(alpha ln t) reaches it, or FREE
    barred_by: NDArray[np.int64]  # (rows, arms): the arm behind which it is that far, or NO_ARM
    best: NDArray[np.int64]  # (rows,): the arm of B, or NO_ARM
    beaten: NDArray[np.int64]  # (rows, arms): how many others the arm has won more than half of its duels against


@kernel
def choose(s, left, right):
    """Lines 4 to 12."""
    upper = borrowed(s.barrier.shape[1], np.float64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        width = width_of(s.alpha[row], s.round[row])
        barrier = s.barrier[row]
        size, low = 0, 0
        for arm in range(barrier.shape[0]):
            size += barrier[arm] == FREE
            low += barrier[arm] <= width
        if low > size:
            for arm in range(barrier.shape[0]):
                if barrier[arm] != FREE and barrier[arm] <= width:
                    size += look_for_barrier(s.bound[row, arm], barrier, s.barred_by[row], arm, width)
        c = contender(barrier, s.best, row, size, seed)  # line 6
        left[row] = c
        right[row] = challenger(
            s.bound[row, c, 0], s.bound[row, c, 1], width, c, bits(seed, CHALLENGER), upper
        )  # line 12
    give_back(upper)


@kernel
def width_of(alpha, rounds):
    """sqrt(alpha ln t) after ``rounds`` rounds."""
    return math.sqrt(alpha * math.log(rounds + 1))


@kernel
def look_for_barrier(bound, barrier, barred_by, arm, width):
    """Find the arm that keeps ``arm`` out of C longest, from its ``bound`` (2, arms); return whether none does."""
    found = 0
    for j in range(bound.shape[1]):
        found += bound[0, j] - width * bound[1, j] > 0.5
    barrier[arm], barred_by[arm] = FREE, NO_ARM
    if found > 0:
        for j in range(bound.shape[1]):
            if bound[0, j] - width * bound[1, j] > 0.5 and (bound[0, j] - 0.5) / bound[1, j] > barrier[arm]:
                barrier[arm], barred_by[arm] = (bound[0, j] - 0.5) / bound[1, j], j
    return found == 0


@kernel
def contender(barrier, bests, row, size, seed):
    """Lines 7 to 11: the arm c out of C, those of ``size`` arms that are FREE. B is brought up to date."""
    best = bests[row]
    if best != NO_ARM and barrier[best] != FREE:  # line 8
        best = NO_ARM
    if size == 1:  # line 9
        best = nth_free(barrier, 0, NO_ARM)
    bests[row] = best
    if size == 0:  # line 7
        return uniform_below(bits(seed, CHAMPION), barrier.shape[0])
    if best != NO_ARM and (size == 1 or uniform_below(bits(seed, COIN), 2) == 0):  # line 10
        return best
    others = size - (best != NO_ARM)
    return nth_free(barrier, uniform_below(bits(seed, CHAMPION), others), best)


@kernel
def nth_free(barrier, n, but):
    """Number ``n``, from 0, of the arms in C, without ``but``."""
    for arm in range(barrier.shape[0]):
        n -= (barrier[arm] <= FREE) & (arm != but)  # a branch on each could not be predicted
        if n < 0:
            return arm
    return NO_ARM  # unreachable


@kernel
def learn(s, left, right, left_won):
    """Line 13."""
    for row in range(left.shape[0]):
        s.round[row] += 1
        if left[row] == right[row]:
            continue
        i, j = (left[row], right[row]) if left_won[row] else (right[row], left[row])  # i won
        s.wins[row, i, j] += 1
        won, lost = s.wins[row, i, j], s.wins[row, j, i]
        lead, root = won - lost, math.sqrt(won + lost)
        s.bound[row, j, 0, i], s.bound[row, i, 0, j] = won / (won + lost), lost / (won + lost)
        s.bound[row, j, 1, i] = s.bound[row, i, 1, j] = 1.0 / root
        s.beaten[row, i] += lead == 1
        s.beaten[row, j] -= lead == 0
        barrier = 0.5 * lead / root  # of arm j, as in look_for_barrier
        if s.barred_by[row, i] == j:  # where it has become too low, the next round sees to it
            s.barrier[row, i] = max(0.0, -barrier)
        width = width_of(s.alpha[row], s.round[row])
        if (s.barred_by[row, j] == i or barrier > max(width, s.barrier[row, j])) and lead > 0:
            s.barrier[row, j], s.barred_by[row, j] = barrier, i


@kernel
def name(s, candidate):
    """The listing's "Return"."""
    for row in range(candidate.shape[0]):
        candidate[row] = place_of_largest(s.beaten[row], bits(session_seed(s.key[row], s.round[row]), TIE))


class RUCB(DuelingKernelAgent):
    """RUCB: an arm that may be the best, and the arm with the best chance to beat it.

    Takes 24 bytes of memory per row and ordered pair of arms.

    Args:
        alpha: width of the confidence bounds, above 0. The analysis has it above 1/2; 0.51 is the authors' practice.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Zoghi, Whiteson, Munos and de Rijke, ICML 2014, Algorithm 1.

    Examples:
        >>> from rankgym_agents import RUCB
        >>> agent = RUCB(num_arms=3, alpha=0.51, seed=0)
        >>> for loser in [1] * 30 + [2] * 5:  # arm 0 has won all duels, but few with arm 2
        ...     agent.update({"left": [0], "right": [loser]}, [[1, 0]])
        >>> {side: arm.tolist() for side, arm in agent.act().items()}  # arms 0 and 2 may be the best
        {'left': [0], 'right': [2]}
        >>> agent.candidate.tolist()
        [0]
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 24
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        rows, arms = self.num_envs, self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha), best=NO_ARM),
            wins=np.zeros((rows, arms, arms), np.int64),
            bound=np.tile(
                np.where(np.eye(arms, dtype=bool)[:, None], np.c_[list(OWN)], np.c_[list(UNMET)]), (rows, 1, 1, 1)
            ),
            **self.filled(arms, barrier=FREE, barred_by=NO_ARM, beaten=0),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how many others each arm has won more than half of its duels against."""
        beaten = {"arms beaten": plain(self.state.beaten[row])}
        return Beliefs(champion=int(self.candidate[row]), scores=beaten)
