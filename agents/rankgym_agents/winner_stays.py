"""WinnerStays, WS-W and WS-S (Chen and Frazier, "Dueling bandits with weak regret", ICML 2017).

Written from memory of the paper: no full text was at hand. For WS-W the code of github.com/bengsV/duelpy agrees. So the
steps are named here, not numbered.

C_i is the duels that arm i has won minus those that it has lost.

* WS-W, for the weak regret, which is that of the better of the two arms. The left arm has the largest C, the right arm
  the largest C of the others. Ties: the left arm of the last duel, else its right arm, else a uniform draw. So the
  winner stays, and the loser goes once it is behind.
* WS-S, for the strong regret, which is that of both arms. WS-W runs until round r = 1, 2, ... ends, that is, until an
  arm has C = r (N - 1), N being the number of arms. Then that arm duels with itself floor(beta^r) times, and WS-W goes
  on where it was.

Round r of WS-S names a wrong arm with probability about ((1 - p) / p)^r where the winner beats each other arm with
probability p or more. So its regret stays small if 1 < beta < p / (1 - p). The default 1.1 needs p > 0.524. (duelpy has
beta = 2, and exploits after each duel.) The weak regret of WS-W is bounded by a constant; its strong regret is linear,
by design.

How the steps are read.

* Duels of an arm with itself change no C, and are not "the last duel" of the rule for ties.
* The candidate is the next left arm.
* A duel that another agent chose counts. While an arm duels with itself it takes one of these rounds.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, number_in, one_of, plain
from rankgym.kernels import bits, kernel, place_of_largest, session_seed

REGRETS = {"weak": False, "strong": True}
LEFT, RIGHT = range(2)  # the random words of a round
NO_ARM = -1
LOWEST = np.iinfo(np.int64).min
MOST = 2.0**62  # rounds of self-duels


class State(NamedTuple):
    """What WinnerStays remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from
    strong: NDArray[np.bool_]  # (rows,): WS-S
    beta: NDArray[np.float64]  # (rows,): beta
    lead: NDArray[np.int64]  # (rows, arms): C
    last: NDArray[np.int64]  # (rows, 2): the left and the right arm of the last duel, or NO_ARM
    stage: NDArray[np.int64]  # (rows,): r
    winner: NDArray[np.int64]  # (rows,): the arm that ended the last round of WS-S, or NO_ARM
    alone: NDArray[np.int64]  # (rows,): how many duels with itself it still has


@kernel
def choose(s, left, right):
    """The two arms that lead, or the winner alone."""
    for row in range(left.shape[0]):
        if s.alone[row] > 0:
            left[row] = right[row] = s.winner[row]
            continue
        seed, lead = session_seed(s.key[row], s.round[row]), s.lead[row]
        i = leader(lead, s.last[row], bits(seed, LEFT))
        left[row] = right[row] = i
        if lead.shape[0] > 1:
            own, lead[i] = lead[i], LOWEST
            right[row] = leader(lead, s.last[row], bits(seed, RIGHT))
            lead[i] = own


@kernel
def leader(lead, last, word):
    """The arm of the largest ``lead`` (arms,). Ties: the left arm of the last duel, its right arm, any by ``word``."""
    found = place_of_largest(lead, word)
    for side in range(2):
        if last[side] != NO_ARM and lead[last[side]] == lead[found]:
            return last[side]
    return found


@kernel
def learn(s, left, right, left_won):
    """Count the duel; end the round of WS-S where an arm is far enough ahead."""
    arms = s.lead.shape[1]
    for row in range(left.shape[0]):
        s.round[row] += 1
        resting = s.alone[row] > 0
        s.alone[row] -= resting
        if left[row] == right[row]:
            continue
        winner, loser = (left[row], right[row]) if left_won[row] else (right[row], left[row])
        s.lead[row, winner] += 1
        s.lead[row, loser] -= 1
        s.last[row, 0], s.last[row, 1] = left[row], right[row]
        if s.strong[row] and not resting and s.lead[row, winner] >= s.stage[row] * (arms - 1):
            s.winner[row] = winner
            s.alone[row] = np.int64(min(MOST, s.beta[row] ** s.stage[row]))
            s.stage[row] += 1


@kernel
def name(s, candidate):
    """The next left arm."""
    for row in range(candidate.shape[0]):
        candidate[row] = s.winner[row]
        if s.alone[row] == 0:
            seed = session_seed(s.key[row], s.round[row])
            candidate[row] = leader(s.lead[row], s.last[row], bits(seed, LEFT))


class WinnerStays(DuelingKernelAgent):
    """Winner Stays: the two arms that have won most duels on balance; the better one alone for longer and longer.

    Args:
        regret: what is to be small: the ``"strong"`` regret, of both arms (WS-S), or the ``"weak"`` one, of the better
            of the two (WS-W).
        beta: WS-S's growth of the stretches in which an arm duels with itself: a number in (1, 1000].
        **shape: as in ``DuelingAgent``. ``horizon`` is used by ``settled`` only.

    Raises:
        ValueError: an argument is out of range.

    References:
        Chen and Frazier, ICML 2017.

    Examples:
        >>> from rankgym_agents import WinnerStays
        >>> agent = WinnerStays(num_arms=3, regret="weak", seed=0)
        >>> agent.update({"left": [0], "right": [2]}, [[0, 1]])
        >>> duel = agent.act()
        >>> agent.beliefs().scores["wins minus losses"], duel["left"].tolist(), duel["right"].tolist()  # arm 2 stays
        ((-1, 0, 1), [2], [1])
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    state: State

    def __init__(self, *, regret: str = "strong", beta: float = 1.1, **shape: Any) -> None:
        super().__init__(**shape)
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                strong=one_of("regret", regret, REGRETS),
                beta=number_in("beta", beta, 1, 1000, open_low=True),
            ),
            **self.filled(self.num_arms, lead=0),
            **self.filled(2, last=NO_ARM),
            **self.filled(stage=1, winner=NO_ARM, alone=0),
        )

    def settled(self) -> NDArray[np.bool_]:
        """True where an arm duels with itself up to the horizon, or beyond; and where there is a single arm."""
        left = np.inf if self.horizon is None else self.horizon - self.state.round
        return np.asarray((self.state.alone > 0) & (self.state.alone >= left) | (self.num_arms == 1))

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and the duels won minus those lost."""
        lead = {"wins minus losses": plain(self.state.lead[row])}
        return Beliefs(champion=int(self.candidate[row]), scores=lead)
