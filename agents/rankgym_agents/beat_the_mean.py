"""Beat the Mean (Yue and Joachims, "Beat the mean bandit", ICML 2011), Algorithm 1; comments give its lines.

The arms of a working set are compared with opponents drawn from it: an arm's share of wins estimates how often it beats
the mean arm of the set. When the worst share and the best one are two confidence radii apart the worst arm is removed,
and every comparison with it is taken out of the others' tallies. When exploration ends, the arm of the best share is
played against itself.

Algorithm 2 (online, the default) runs it for T rounds with the radius c(n) = 3 gamma^2 sqrt(ln(1/delta) / n) and delta
= 1 / (2 T K). The PAC setting (``epsilon`` given) explores until the least compared arm has N comparisons, with K^3 N /
delta in the place of 1 / delta; N is the least whole number with N = ceil(36 gamma^6 / epsilon^2 ln(K^3 N / delta)), so
that c(N) is about epsilon / (2 gamma). ``radius_factor`` stands for the 3 in all of this. For gamma = 1 the paper also
has a tighter bound without the 3, and its experiments use that; gamma = 1.2 with factor 1 is common elsewhere. With the
3 exploration is long: for T = 10^6 four of the six rankers of the matrix Arxiv are left after 500,000 duels.

How the listing is read. The opponent of line 12 is drawn from the whole working set, so that an arm may meet itself.
Only the arm that was chosen for being least compared, the left one, counts the comparison. Where several arms are
equally bad at line 17, or equally good at line 23, one of them is drawn. A duel with an arm outside the working set
(chosen by another agent) is ignored.

It assumes a total order of the arms and relaxed stochastic transitivity. Cycles alone do no harm: in every
working set a Condorcet winner wins more than half of its duels, and the mean of all shares is one half, so that it is
not the worst arm. But where it wins narrowly and another arm clearly (gamma is large then), its share lies so near the
worst ones when the first arms are removed that it can be among them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, open_unit, plain, positive
from rankgym.kernels import bits, kernel, session_seed, uniform_below

NEVER = np.iinfo(np.int64).max
TINY = 1e-100  # any epsilon below it asks for more comparisons than can be counted
OUT = -1  # instead of the comparisons of a removed arm
LEAST, OPPONENT, WORST, BEST = range(4)  # the numbers of a round's random words


class State(NamedTuple):
    """What Beat the Mean remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from; the paper's t
    horizon: NDArray[np.int64]  # (rows,): T, or NEVER
    enough: NDArray[np.int64]  # (rows,): N, or NEVER
    factor: NDArray[np.float64]  # (rows,): radius_factor gamma^2
    logarithm: NDArray[np.float64]  # (rows,): the logarithm in the radius
    size: NDArray[np.int64]  # (rows,): arms in the working set; 1 when exploration is over
    working: NDArray[np.int64]  # (rows, arms): W in its first ``size`` places, rising
    wins: NDArray[np.int64]  # (rows, arms): w_b
    compared: NDArray[np.int64]  # (rows, arms): n_b, or OUT
    least: NDArray[np.int64]  # (rows,): n*
    ties: NDArray[np.int64]  # (rows,): arms of the working set with n_b = n*
    won: NDArray[np.int64]  # (rows, arms, arms): won[b, b'] comparisons counted by b in which it beat b'
    lost: NDArray[np.int64]  # (rows, arms, arms): and in which b' beat it


@kernel
def choose(s, left, right):
    """Lines 11 and 12, or the arm that exploration has found, twice."""
    for row in range(left.shape[0]):
        left[row] = right[row] = s.working[row, 0]
        if s.size[row] > 1:
            seed = session_seed(s.key[row], s.round[row])
            left[row] = least_compared(s, row, uniform_below(bits(seed, LEAST), s.ties[row]))
            right[row] = s.working[row, uniform_below(bits(seed, OPPONENT), s.size[row])]


@kernel
def learn(s, left, right, left_won):
    """Lines 13 to 21, and the end of exploration (lines 10 and 23)."""
    for row in range(left.shape[0]):
        b, opponent = left[row], right[row]
        seed = session_seed(s.key[row], s.round[row])
        s.round[row] += 1  # line 15
        if s.size[row] == 1 or s.compared[row, b] == OUT or s.compared[row, opponent] == OUT:
            continue
        if s.compared[row, b] == s.least[row]:
            s.ties[row] -= 1
        s.compared[row, b] += 1  # line 14
        if left_won[row]:
            s.wins[row, b] += 1  # line 13
            s.won[row, b, opponent] += 1
        else:
            s.lost[row, b, opponent] += 1
        if s.ties[row] == 0:
            count_least(s, row)
        if separated(s, row):  # line 16
            remove(s, row, worst(s, row, bits(seed, WORST)))  # lines 17 to 19
            count_least(s, row)
        if s.round[row] >= s.horizon[row] or s.least[row] >= s.enough[row]:
            s.working[row, 0], s.size[row] = best(s, row, bits(seed, BEST)), 1


@kernel
def name(s, candidate):
    """Line 23, whether exploration is over or not."""
    for row in range(candidate.shape[0]):
        candidate[row] = best(s, row, bits(session_seed(s.key[row], s.round[row]), BEST))


@kernel
def least_compared(s, row, number):
    """Line 11: the arm with this number, from 0, among those of the least n_b."""
    for place in range(s.size[row]):
        b = s.working[row, place]
        number -= s.compared[row, b] == s.least[row]  # no branch: which arms have it cannot be predicted
        if number < 0:
            return b
    return s.working[row, 0]  # unreachable


@kernel
def count_least(s, row):
    """Line 7: n*, and how many arms have it."""
    least, ties = NEVER, 0
    for place in range(s.size[row]):
        n = s.compared[row, s.working[row, place]]
        if n < least:
            least, ties = n, 0
        if n == least:
            ties += 1
    s.least[row], s.ties[row] = least, ties


@kernel
def share(s, row, b):
    """Line 6: the estimate of P_b."""
    if s.compared[row, b] == 0:
        return 0.5
    return s.wins[row, b] / s.compared[row, b]


@kernel
def separated(s, row):
    """Lines 8 and 16: whether the worst and the best share are two radii apart."""
    radius = 1.0
    if s.least[row] > 0:
        radius = s.factor[row] * math.sqrt(s.logarithm[row] / s.least[row])
    if radius > 0.5:  # shares lie in [0, 1]
        return False
    lowest, highest = 1.0, 0.0
    for place in range(s.size[row]):
        p = share(s, row, s.working[row, place])
        lowest, highest = min(lowest, p), max(highest, p)
    return lowest + radius <= highest - radius


@kernel
def worst(s, row, word):
    """Line 17: argmin P_b, ties broken at random by 64 random bits."""
    lowest = 1.0
    for place in range(s.size[row]):
        lowest = min(lowest, share(s, row, s.working[row, place]))
    return drawn(s, row, lowest, word)


@kernel
def best(s, row, word):
    """Line 23: argmax P_b, ties broken at random by 64 random bits."""
    highest = 0.0
    for place in range(s.size[row]):
        highest = max(highest, share(s, row, s.working[row, place]))
    return drawn(s, row, highest, word)


@kernel
def drawn(s, row, wanted, word):
    """One of the arms of the working set whose share is ``wanted``."""
    ties = 0
    for place in range(s.size[row]):
        ties += share(s, row, s.working[row, place]) == wanted
    number = uniform_below(word, ties)
    for place in range(s.size[row]):
        b = s.working[row, place]
        if share(s, row, b) == wanted:
            if number == 0:
                return b
            number -= 1
    return s.working[row, 0]  # unreachable


@kernel
def remove(s, row, gone):
    """Lines 18 and 19: take the arm ``gone`` out of the working set, and its comparisons out of the tallies."""
    kept = 0
    for place in range(s.size[row]):
        b = s.working[row, place]
        if b != gone:
            s.wins[row, b] -= s.won[row, b, gone]
            s.compared[row, b] -= s.won[row, b, gone] + s.lost[row, b, gone]
            s.working[row, kept] = b
            kept += 1
    s.compared[row, gone], s.size[row] = OUT, kept


def enough_comparisons(scale: float, log_inv_delta: float) -> int:
    """The least whole number N, at least 1, with N = ceil(scale (ln N + log_inv_delta)), below 2^63."""
    found, previous = 1, 0
    while found != previous:  # the right side grows with N: from below, it never steps over the least solution
        previous, found = found, min(max(1, math.ceil(min(scale * (math.log(found) + log_inv_delta), 2.0**63))), NEVER)
    return found


class BeatTheMean(DuelingKernelAgent):
    """Beat the Mean: removes the arm that does worst against the mean of those left, one after the other.

    ``candidate`` is the arm of the working set with the best share of wins; ties are broken at random.

    Args:
        gamma: of the relaxed stochastic transitivity that the radius allows for, at least 1 (1: strong transitivity).
        radius_factor: factor of the confidence radius, above 0; 3 in the theorems, 1 in the paper's experiments.
        delta: in (0, 1). Online: chance of error of a single confidence interval, default 1 / (2 T K) for T =
            ``horizon``; required without it. PAC: chance that the arm found is worse than promised, and required.
        epsilon: None for the online setting. A number above 0 for the PAC setting: exploration ends when the arm found
            is worse than the best one by ``epsilon`` at most.
        **shape: as in ``DuelingAgent``. Online, exploration ends at ``horizon`` where it is known.

    Raises:
        ValueError: ``delta`` is missing and so is ``horizon``, or ``epsilon`` is given; or an argument is out of range.

    References:
        Yue and Joachims, ICML 2011, Algorithm 1.

    Examples:
        >>> from rankgym_agents import BeatTheMean
        >>> agent = BeatTheMean(num_arms=3, radius_factor=1.0, delta=0.1, seed=0)
        >>> while agent.beliefs().blocks != ((0,),):  # the arm with the lower number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] <= duel["right"] else [[0, 1]])
        >>> agent.beliefs().out, int(agent.state.round[0])
        ((1, 2), 109)
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    PAIR_BYTES = 16
    state: State

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        radius_factor: float = 3.0,
        delta: float | None = None,
        epsilon: float | None = None,
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        if (width := positive("gamma", gamma)) < 1:
            raise ValueError(f"gamma = {gamma!r} is out of range; allowed: a finite number, at least 1")
        factor = positive("radius_factor", radius_factor) * width * width
        horizon, enough = self.horizon or NEVER, NEVER
        if epsilon is not None and delta is None:
            raise ValueError(f"delta = None and epsilon = {epsilon!r}; allowed: delta in (0, 1) where epsilon is given")
        if delta is None:
            logarithm = math.log(2 * self.known_horizon("delta") * arms)
        else:
            logarithm = -math.log(open_unit("delta", delta))
        if epsilon is not None:
            logarithm += 3 * math.log(arms)
            root = 2 * width * factor / max(positive("epsilon", epsilon), TINY)
            enough = enough_comparisons(root * root, logarithm)
            logarithm += math.log(enough)
            horizon = NEVER
        self.state = State(
            key=self.keys(),
            **self.filled(
                horizon=min(horizon, NEVER),
                enough=enough,
                factor=factor,
                logarithm=logarithm,
                round=0,
                size=arms,
                least=0,
                ties=arms,
            ),
            **self.filled(arms, working=np.arange(arms), wins=0, compared=0),
            **self.filled(arms, arms, won=0, lost=0),
        )

    def settled(self) -> NDArray[np.bool_]:
        """True where exploration is over: one arm is left, and duels no longer count."""
        return self.state.size == 1

    def beliefs(self, row: int = 0) -> Beliefs:
        """The working set, the arms removed, and the candidate."""
        working = plain(self.state.working[row, : self.state.size[row]])
        out = tuple(arm for arm in range(self.num_arms) if arm not in working)
        return Beliefs(blocks=(working,), out=out, champion=int(self.candidate[row]))
