"""Condorcet SAVAGE (Urvoy, Clerot, Feraud and Naamane, "Generic exploration and K-armed voting bandits", ICML 2013):
sensitivity analysis of variables for generic exploration, applied to finding the Condorcet winner.

The variables are the N = K (K - 1) / 2 preferences between two arms. All are sampled at
the same pace, each until it can no longer matter. After t duels of a pair its preference is known within

    c(t) = sqrt(ln(eta(t) / delta) / (2 t)),   eta(t) = 2 N T for the horizon T, else pi^2 N t^2 / 3,

with probability 1 - delta for all pairs and rounds at once (Hoeffding's inequality, and the sum of its errors). An arm
that is beaten with confidence, mean + c(t) < 1/2, is not the Condorcet winner, and its pairs no longer matter: the
winner is the one that beats all others that are left. When one arm is left, or after T rounds, exploration ends,
and the arm that looks best is compared with itself.

How the paper is read.

* The least sampled of the remaining pairs is next, ties at random: every remaining pair once in a random order, and
  then all of them once more. The code of D-TS's authors (github.com/HuasenWu/DuelingBandits) and of RMED's does so,
  too. ``sampling="uniform"`` draws any of them each time, as the mergeRUCB paper (section 3) describes the algorithm.
  Duels that another agent chose count, but not as samples of this sweep.
* delta = 1 / T as in the paper's experiments. Some public code has a radius of 0 because of an integer division, or K
  instead of N: the tests compute the radius from its definition.
* ``candidate``, and what is played after T rounds if more arms are left, is the remaining arm that has lost more than
  half of its duels against the fewest others; of several the one with the largest share of duels won, or a random one.

A duel can only eliminate its loser, and only because of its winner: mean + c(t) < 1/2 says that in t duels the
other arm has won more often by more than sqrt(2 t ln(eta(t) / delta)).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, one_of, open_unit, plain
from rankgym.kernels import bits, count_win, kernel, session_seed, share_won, uniform_below

SAMPLING = {"least": False, "uniform": True}
NO_ARM = -1


class State(NamedTuple):
    """What SAVAGE remembers. The leading axis is the row.

    A pair of arms i < j is i K + j. Of ``pairs`` the first ``left`` remain, and of these the first ``swept`` were
    sampled since the last time that all of them were.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from
    horizon: NDArray[np.int64]  # (rows,): T, the rounds to explore at most; 0 if there is no such limit
    log_eta: NDArray[np.float64]  # (rows,): ln(eta(t) / delta), for t = 1 if there is no horizon
    uniform: NDArray[np.bool_]  # (rows,): whether pairs are drawn uniformly
    wins: NDArray[np.int64]  # (rows, arms, arms): how often the first arm has beaten the second
    trails: NDArray[np.int64]  # (rows, arms): how many others the arm trails in its duels
    won: NDArray[np.int64]  # (rows, arms): duels won
    lost: NDArray[np.int64]  # (rows, arms): duels lost
    alive: NDArray[np.bool_]  # (rows, arms): whether the arm may still be the winner
    pairs: NDArray[np.int32]  # (rows, pairs): see above
    left: NDArray[np.int64]  # (rows,): how many pairs remain
    swept: NDArray[np.int64]  # (rows,): how many of them were sampled in this sweep; always 0 with uniform draws
    winner: NDArray[np.int64]  # (rows,): the arm that exploration ended with, or NO_ARM


@kernel
def choose(s, left, right):
    """A pair that still matters, or the winner alone. The choice takes the bits numbered 0."""
    arms = s.alive.shape[1]
    for row in range(left.shape[0]):
        if s.winner[row] != NO_ARM:
            left[row] = right[row] = s.winner[row]
            continue
        pair = s.pairs[row, chosen(s.key[row], s.round[row], s.swept[row], s.left[row])]
        left[row], right[row] = pair // arms, pair % arms


@kernel
def chosen(key, number, swept, left):
    """The place in ``pairs`` of round ``number``'s pair."""
    return swept + uniform_below(bits(session_seed(key, number), 0), left - swept)


@kernel
def learn(s, left, right, left_won):
    """Count the win, drop the loser if it is beaten with confidence, and see whether exploration ends."""
    arms = s.alive.shape[1]
    for row in range(left.shape[0]):
        if s.winner[row] == NO_ARM:
            if not s.uniform[row]:
                place = chosen(s.key[row], s.round[row], s.swept[row], s.left[row])
                pair = s.pairs[row, place]
                if pair == min(left[row], right[row]) * arms + max(left[row], right[row]):
                    s.pairs[row, place], s.pairs[row, s.swept[row]] = s.pairs[row, s.swept[row]], pair
                    s.swept[row] += 1
            winner, loser = (left[row], right[row]) if left_won[row] else (right[row], left[row])
            if winner != loser:
                count_win(s.wins[row], s.trails[row], s.won[row], s.lost[row], winner, loser)
                won, lost = s.wins[row, loser, winner], s.wins[row, winner, loser]
                if s.alive[row, loser] and beaten(won, lost, s.log_eta[row], s.horizon[row] == 0):
                    drop(s, row, loser)
            if s.swept[row] == s.left[row]:
                s.swept[row] = 0
        s.round[row] += 1
        if s.winner[row] == NO_ARM and (s.left[row] == 0 or s.round[row] == s.horizon[row]):
            s.winner[row] = best(s, row)


@kernel
def drop(s, row, arm):
    """Remove an arm and its pairs; the other pairs keep their order."""
    arms = s.alive.shape[1]
    s.alive[row, arm] = False
    kept, swept = 0, s.swept[row]
    for place in range(s.left[row]):
        pair = s.pairs[row, place]
        if pair // arms == arm or pair % arms == arm:
            if place < swept:
                s.swept[row] -= 1
        else:
            s.pairs[row, kept] = pair
            kept += 1
    s.left[row] = kept


@kernel
def radius(t, log_eta, endless):
    """c(t) for t > 0; ``log_eta`` is ln(eta(t) / delta), or ``endless`` and for t = 1."""
    if endless:
        log_eta += 2.0 * math.log(t)
    return math.sqrt(log_eta / (2 * t))


@kernel
def beaten(won, lost, log_eta, endless):
    """Whether an arm with these numbers of duels ``won`` and ``lost`` against another one is beaten with confidence."""
    t = won + lost
    return lost > won and 0.5 - won / t > radius(t, log_eta, endless)


@kernel
def name(s, candidate):
    """The winner, or the arm that looks best so far."""
    for row in range(candidate.shape[0]):
        candidate[row] = s.winner[row] if s.winner[row] != NO_ARM else best(s, row)


@kernel
def best(s, row):
    """Of the remaining arms the one that trails the fewest arms, then the one with the largest share of duels won.

    Ties are broken by the bits numbered 1 + arm.
    """
    arms = s.alive.shape[1]
    seed = session_seed(s.key[row], s.round[row])
    first, fewest, most = NO_ARM, arms, -1.0
    for arm in range(arms):
        trails = s.trails[row, arm]
        if not s.alive[row, arm] or trails > fewest:
            continue
        share = share_won(s.won[row, arm], s.lost[row, arm])
        better = trails < fewest or share > most
        if better or (share == most and bits(seed, 1 + arm) > bits(seed, 1 + first)):
            first, fewest, most = arm, trails, share
    return first


def log_eta(num_arms: int, horizon: int | None, delta: float) -> float:
    """ln(eta(t) / delta), for t = 1 if there is no horizon."""
    pairs = max(1, num_arms * (num_arms - 1) // 2)
    log_pairs = math.log(pairs) - math.log(delta)
    return log_pairs + (math.log(math.pi**2 / 3) if horizon is None else math.log(2) + math.log(horizon))


class SAVAGE(DuelingKernelAgent):
    """Condorcet SAVAGE: samples all pairs equally, drops arms that are beaten with confidence, plays the one left.

    ``remaining`` is the number of arms left in each row.

    Args:
        delta: the probability of losing the Condorcet winner, in (0, 1); default 1 / T; required without T.
        sampling: the next of the remaining pairs: the ``"least"`` sampled one or a ``"uniform"`` draw.
        **shape: as in ``DuelingAgent``. ``horizon`` is T: exploration ends there at the latest, and the confidence
            radius holds up to there. Without it the radius holds for all rounds.

    Raises:
        ValueError: ``delta`` and ``horizon`` are both missing, or an argument is out of range.

    References:
        Urvoy, Clerot, Feraud and Naamane, ICML 2013.

    Examples:
        >>> from rankgym_agents import SAVAGE
        >>> agent = SAVAGE(num_arms=3, delta=0.5, seed=0)
        >>> for _ in range(80):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.remaining.tolist(), agent.beliefs().out, agent.candidate.tolist()
        ([1], (1, 2), [0])
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 16
    state: State

    def __init__(self, *, delta: float | None = None, sampling: str = "least", **shape: Any) -> None:
        super().__init__(**shape)
        rows, arms = self.num_envs, self.num_arms
        if delta is None:
            confidence = log_eta(arms, self.horizon, 1.0) + math.log(self.known_horizon("delta"))
        else:
            confidence = log_eta(arms, self.horizon, open_unit("delta", delta))
        first, second = np.triu_indices(arms, 1)
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                horizon=min(self.horizon or 0, 2**62),
                log_eta=confidence,
                uniform=one_of("sampling", sampling, SAMPLING),
                left=len(first),
                swept=0,
                winner=NO_ARM if arms > 1 else 0,
            ),
            **self.filled(arms, arms, wins=0),
            **self.filled(arms, trails=0, won=0, lost=0, alive=True),
            pairs=np.tile((first * arms + second).astype(np.int32), (rows, 1)),
        )

    @property
    def remaining(self) -> NDArray[np.int64]:
        """The number of arms left, (num_envs,) int64."""
        return self.state.alive.sum(1)

    def settled(self) -> NDArray[np.bool_]:
        """True where exploration has ended: the winner is kept."""
        return self.state.winner != NO_ARM

    def beliefs(self, row: int = 0) -> Beliefs:
        """The arms that may still be the winner, those removed, and the candidate."""
        alive = self.state.alive[row]
        remain, out = plain(np.flatnonzero(alive)), plain(np.flatnonzero(~alive))
        return Beliefs(blocks=(remain,), out=out, champion=int(self.candidate[row]))
