"""Versatile-DB (Saha and Gaillard, "Versatile dueling bandits: best-of-both world analyses for learning from relative
preferences", ICML 2022).

No full text was at hand: the bound is from the abstract, the steps are those of somebody else's code
(github.com/stephen-huan/dueling-bandit, ``vdb.py`` and ``tsallis_inf.py``), with a mistake mended. They are named here,
not numbered.

Both arms of a duel are drawn independently, from the probabilities of one player of Tsallis-INF (Zimmert and Seldin,
"Tsallis-INF: an optimal algorithm for stochastic and adversarial bandits", JMLR 2021).

* Probabilities. w_i = 4 / (eta (L_i - x))^2, L_i being the arm's estimated loss so far, with x < min L such that they
  sum to 1.
* Losses. The loser's is 1, the winner's is 0. L_i grows by half of each side's estimate: [i was drawn] (loss - b_i) /
  w_i + b_i.
* ``estimator="reduced-variance"``: b_i = 1/2 where w_i >= eta^2, else 0, and eta = 4 / sqrt(t). ``"importance"``: b_i =
  0 and eta = 2 / sqrt(t).

The code leaves b_i out for arms that are not drawn; that is a bias, and the regret is linear. The method's regret is
O(sum over i of log T / Delta_i) where preferences are fixed and there is a Condorcet winner, and O(sqrt(K T)) where an
adversary chooses them. It needs to know neither.

x is found by Newton's method from that of the round before. The sum is convex and rises with x, so that from the first
step on x falls to the root. Losses are kept with the least one at 0, as only their differences matter. None is above
1e60: only duels that another agent chose lead there, of arms that have no chance to be drawn. The candidate is the arm
with the largest probability, ties broken at random.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, one_of, plain
from rankgym.kernels import bits, kernel, place_of_largest, session_seed, uniform

ESTIMATORS = {"reduced-variance": True, "importance": False}
LEFT, RIGHT, TIE = range(3)  # the random words of a round
ACCURACY = 1e-12  # of the sum of probabilities
STEPS = 100  # at most; a few are enough
MOST = 1e60  # of a loss, so that no square is beyond a float


class State(NamedTuple):
    """What VersatileDB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; t is one more
    reduced: NDArray[np.bool_]  # (rows,): whether b is in use
    loss: NDArray[np.float64]  # (rows, arms): L, up to a constant: the least is 0
    weight: NDArray[np.float64]  # (rows, arms): w of the next round
    x: NDArray[np.float64]  # (rows,): x of the next round


@kernel
def choose(s, left, right):
    """Draw both arms."""
    for row in range(left.shape[0]):
        seed = session_seed(s.key[row], s.round[row])
        left[row] = drawn(s.weight[row], uniform(bits(seed, LEFT)))
        right[row] = drawn(s.weight[row], uniform(bits(seed, RIGHT)))


@kernel
def drawn(weight, u):
    """The first arm up to which the probabilities sum to more than ``u``."""
    total = 0.0
    for arm in range(weight.shape[0]):
        total += weight[arm]
        if u < total:
            return arm
    return weight.shape[0] - 1


@kernel
def rate(reduced, rounds):
    """The learning rate eta after ``rounds`` rounds."""
    return (4.0 if reduced else 2.0) / math.sqrt(rounds + 1)


@kernel
def learn(s, left, right, left_won):
    """Estimate the losses; find the probabilities of the next round."""
    arms = s.loss.shape[1]
    for row in range(left.shape[0]):
        loss, weight = s.loss[row], s.weight[row]
        eta = rate(s.reduced[row], s.round[row])
        least_weight = eta * eta if s.reduced[row] else math.inf
        i, j = left[row], right[row]
        loss[i] += 0.5 * estimate(0.0 if left_won[row] else 1.0, weight[i], least_weight)
        loss[j] += 0.5 * estimate(1.0 if left_won[row] else 0.0, weight[j], least_weight)
        least = math.inf
        for arm in range(arms):
            loss[arm] = min(MOST, loss[arm] + (0.5 if weight[arm] >= least_weight else 0.0))
            least = min(least, loss[arm])
        for arm in range(arms):
            loss[arm] -= least
        s.round[row] += 1
        s.x[row] = weigh(loss, weight, s.x[row] - least, rate(s.reduced[row], s.round[row]))


@kernel
def estimate(loss, weight, least_weight):
    """(loss - b) / w."""
    return (loss - (0.5 if weight >= least_weight else 0.0)) / weight


@kernel
def weigh(loss, weight, start, eta):
    """Write the probabilities ``weight`` (arms,) of losses of which the least is 0; return x. ``start`` is a guess."""
    arms = loss.shape[0]
    most = -2.0 / eta  # there the arm without loss has the probability 1 by itself
    x = min(max(start, most * math.sqrt(arms)), most)
    for _ in range(STEPS):
        total, slope = 0.0, 0.0
        for arm in range(arms):
            root = 2.0 / (eta * (loss[arm] - x))
            weight[arm] = root * root
            total += root * root
            slope += root * root * root
        if abs(total - 1.0) < ACCURACY:
            break
        x = min(x - (total - 1.0) / (eta * slope), most)
    return x


@kernel
def name(s, candidate):
    """The arm with the largest probability."""
    for row in range(candidate.shape[0]):
        candidate[row] = place_of_largest(s.weight[row], bits(session_seed(s.key[row], s.round[row]), TIE))


class VersatileDB(DuelingKernelAgent):
    """Versatile-DB: both arms from the probabilities of one Tsallis-INF player, for fixed and changing preferences.

    Args:
        estimator: how losses are estimated: ``"reduced-variance"`` or ``"importance"``.
        **shape: as in ``DuelingAgent``. ``horizon`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Saha and Gaillard, ICML 2022.

    Examples:
        >>> from rankgym_agents import VersatileDB
        >>> agent = VersatileDB(num_arms=3, seed=0)
        >>> for _ in range(100):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> [round(p, 2) for p in agent.beliefs().scores["probability"]]  # of being drawn for either side
        [0.94, 0.04, 0.03]
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    state: State

    def __init__(self, *, estimator: str = "reduced-variance", **shape: Any) -> None:
        super().__init__(**shape)
        arms, reduced = self.num_arms, one_of("estimator", estimator, ESTIMATORS)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, reduced=reduced),
            **self.filled(arms, loss=0.0, weight=1 / arms),
            **self.filled(x=-2 * math.sqrt(arms) / rate(reduced, 0)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The candidate, and the probabilities of the next duel's arms."""
        return Beliefs(champion=int(self.candidate[row]), scores={"probability": plain(self.state.weight[row])})
