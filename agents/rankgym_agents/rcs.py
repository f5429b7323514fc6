"""RCS, relative confidence sampling (Zoghi, Whiteson, de Rijke and Munos, "Relative confidence sampling for efficient
on-line ranker evaluation", WSDM 2014).

A round has three steps. A simulated tournament: theta_ij is drawn from Beta(w_ij + 1, w_ji + 1) for every pair, w_ij
being the duels that arm i won against j, and the champion c is the arm with theta_cj >= 1/2 for all j; if no arm
does, c is the arm that has been champion least often. A challenger: the arm d with the largest upper bound u_dc =
w_dc / (w_dc + w_cd) + sqrt(alpha ln t / (w_dc + w_cd)), where u_cc = 1/2. And the duel of c with d.

How the paper is read.

* Every choice of an arm as champion counts, whether or not it won the tournament. The authors' published code counts
  only the choices without a tournament winner.
* Before two arms have met their bound is infinite. Ties are broken at random; where the others tie with c's own 1/2, c
  is not drawn. A duel of an arm with itself is not counted, but it takes a round.
* The candidate is the arm that has won more than half of its duels against the most others, ties broken at random: what
  the paper on RUCB by the same authors returns.

The tournament has K (K - 1) / 2 samples, but it matters only which of them exceed 1/2, and that is a coin whose chance
is kept for each pair: with n = w_ij + w_ji it grows by C(n, w_ij) / 2^(n + 1) when i wins the n-th duel, and shrinks by
as much when j does (the recurrence of the incomplete beta function at 1/2). Not all of these coins are computed. They
are numbered by the pair, so their values do not depend on the order of computation. The last champion is checked first,
down to its first defeat. If it has one, the arms play a knockout, in which half of the coins are independent and none
decides a branch; all but its winner have lost. It only remains to check the winner, down to its first defeat: at most
3 K - 3 coins.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, plain, positive
from rankgym.kernels import (
    bits,
    borrowed,
    challenger,
    fair_coins_show,
    give_back,
    kernel,
    place_of_largest,
    place_of_least,
    session_seed,
    uniform,
)

SUBSTITUTE, CHALLENGER, TIE, COINS = range(4)  # random words of a round; the last ones are a pair's each
NO_ARM = -1


class State(NamedTuple):
    """What RCS remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    alpha: NDArray[np.float64]  # (rows,): alpha
    wins: NDArray[np.int64]  # (rows, arms, arms): w_ij at [i, j]
    chance: NDArray[np.float64]  # (rows, arms, arms): that theta_ij >= 1/2 at [i, j] and, the same, at [j, i], i < j
    mean: NDArray[np.float64]  # (rows, arms, arms): w_ji / (w_ij + w_ji), what j won; infinite before they met, 0 for i
    spread: NDArray[np.float64]  # (rows, arms, arms): 1 / sqrt(w_ij + w_ji); 1 before they met, 0 for i
    crowned: NDArray[np.int64]  # (rows, arms): how often the arm was champion
    previous: NDArray[np.int64]  # (rows,): the last champion
    beaten: NDArray[np.int64]  # (rows, arms): how many others the arm has won more than half of its duels against


@kernel
def choose(s, left, right):
    """The champion and its challenger."""
    upper = borrowed(s.mean.shape[1], np.float64)
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        c = tournament(s.chance[row], s.previous[row], seed)
        if c == NO_ARM:
            c = place_of_least(s.crowned[row], NO_ARM, bits(seed, SUBSTITUTE))
        width = math.sqrt(s.alpha[row] * math.log(s.round[row] + 1))
        left[row] = c
        right[row] = challenger(s.mean[row, c], s.spread[row, c], width, c, bits(seed, CHALLENGER), upper)
    give_back(upper)


@kernel
def tournament(chance, opening, seed):
    """The arm that beats all others in the samples, or NO_ARM. ``opening`` does not change the result."""
    if beats_all(chance, opening, seed):
        return opening
    winner = knockout(chance, seed)
    return winner if beats_all(chance, winner, seed) else NO_ARM


@kernel
def knockout(chance, seed):
    """The winner of a knockout of all arms in the samples."""
    size = chance.shape[0]
    players = borrowed(size, np.int64)  # rising, also the winners
    for arm in range(size):
        players[arm] = arm
    while size > 1:
        for pair in range(size // 2):
            i, j = players[2 * pair], players[2 * pair + 1]
            players[pair] = players[2 * pair + (not beats(chance, i, j, seed))]  # without a branch
        if size % 2 == 1:
            players[size // 2] = players[size - 1]
        size -= size // 2
    winner = players[0]
    give_back(players)
    return winner


@kernel
def beats_all(chance, i, seed):
    """Whether arm i beats all others in the samples."""
    for j in range(chance.shape[0]):
        lost = j != i and not beats(chance, i, j, seed)
        if lost:
            return False
    return True


@kernel
def beats(chance, i, j, seed):
    """Whether arm i beats j in the sample: the pair's one coin shows that theta >= 1/2 for its lower number."""
    arms = chance.shape[0]
    coin = COINS + (i * arms + j if i < j else j * arms + i)
    return (uniform(bits(seed, coin)) < chance[i, j]) == (i < j)


@kernel
def learn(s, left, right, left_won):
    """Count the duel, and the champion."""
    for row in range(left.shape[0]):
        s.round[row] += 1
        s.crowned[row, left[row]] += 1
        s.previous[row] = left[row]
        if left[row] == right[row]:
            continue
        i, j = (left[row], right[row]) if left_won[row] else (right[row], left[row])  # i won
        won, lost = s.wins[row, i, j] + 1, s.wins[row, j, i]
        s.wins[row, i, j] = won
        half = 0.5 * fair_coins_show(won, lost)
        s.chance[row, i, j] = s.chance[row, j, i] = s.chance[row, i, j] + (half if i < j else -half)
        s.mean[row, j, i], s.mean[row, i, j] = won / (won + lost), lost / (won + lost)
        s.spread[row, i, j] = s.spread[row, j, i] = 1.0 / math.sqrt(won + lost)
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


class RCS(DuelingKernelAgent):
    """RCS: the winner of a tournament of posterior samples, and the arm with the best chance to beat it.

    Takes 32 bytes of memory per row and ordered pair of arms.

    Args:
        alpha: width of the challenger's confidence bounds, above 0; the default is that of RUCB.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Zoghi, Whiteson, de Rijke and Munos, WSDM 2014.

    Examples:
        >>> from rankgym_agents import RCS
        >>> agent = RCS(num_arms=3, seed=0)
        >>> for _ in range(300):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.candidate.tolist(), agent.beliefs().scores["arms beaten"]
        ([0], (2, 1, 0))
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 32
    state: State

    def __init__(self, *, alpha: float = 0.51, **shape: Any) -> None:
        super().__init__(**shape)
        rows, arms = self.num_envs, self.num_arms
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, alpha=positive("alpha", alpha), previous=0),
            **self.filled(arms, arms, wins=0, chance=0.5),
            mean=np.tile(np.where(np.eye(arms, dtype=bool), 0.0, math.inf), (rows, 1, 1)),
            spread=np.tile(1.0 - np.eye(arms), (rows, 1, 1)),
            **self.filled(arms, crowned=0, beaten=0),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and how many others each arm has won more than half of its duels against."""
        beaten = {"arms beaten": plain(self.state.beaten[row])}
        return Beliefs(champion=int(self.candidate[row]), scores=beaten)
