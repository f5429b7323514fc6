"""Interleaved Filter (Yue, Broder, Kleinberg and Joachims, "The K-armed dueling bandits problem", COLT 2009 and Journal
of Computer and System Sciences 2012): IF2, and IF1 without its pruning. Comments name the steps of the listing.

An incumbent, at first a random arm, is compared with all remaining arms in turn. After each pass the arms that it beats
with confidence are removed. When an arm beats it with confidence, that arm becomes the incumbent, all estimates start
from zero, and IF2 prunes the arms that did worse than the old incumbent, with confidence or without. When no other arm
remains, the incumbent is played against itself.

The incumbent's share of wins P against an arm has the confidence interval (P - c, P + c), c = sqrt(4 ln(1/delta) / t)
after t comparisons, and delta = 1 / (T K^2).

How the listing is read. The pass goes through the arms in the order of their numbers. Estimates change during a pass,
but arms are removed and incumbents replaced between passes only, so that all estimates rest on the same number of
comparisons. If several arms have beaten the incumbent at the end of the same pass, one of them is drawn. A duel that
another agent chose is ignored.

It assumes a total order of the arms (strong stochastic transitivity and a triangle inequality). IF1 finds a Condorcet
winner on cycles as well: only by an error of confidence can an incumbent remove it, and every other incumbent falls to
it in the end. IF2's pruning relies on the order. Where an incumbent falls to an arm that beats it clearly before it is
known that the Condorcet winner beats it too, narrowly, the winner may be pruned; on the matrix Cyclic that happens, and
the more often, the larger delta.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingKernelAgent, open_unit
from rankgym.kernels import bits, kernel, session_seed, uniform_below

FIRST, NEXT = range(2)  # the numbers of random words: of the first incumbent, in round 0, and of a new one


class State(NamedTuple):
    """What Interleaved Filter remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): duels learned from
    pruning: NDArray[np.bool_]  # (rows,): IF2, else IF1
    log_inv_delta: NDArray[np.float64]  # (rows,): ln(1 / delta)
    incumbent: NDArray[np.int64]  # (rows,)
    size: NDArray[np.int64]  # (rows,): other arms that remain
    others: NDArray[np.int64]  # (rows, arms): these arms, W, in the first ``size`` places, rising
    place: NDArray[np.int64]  # (rows,): where in ``others`` the pass has come
    passes: NDArray[np.int64]  # (rows,): finished passes of this incumbent
    wins: NDArray[np.int64]  # (rows, arms): its wins against the arm


@kernel
def begin(s):
    """Lines 3 and 4: a random incumbent; the others are all other arms."""
    for row in range(s.key.shape[0]):
        s.incumbent[row] = uniform_below(bits(session_seed(s.key[row], 0), FIRST), s.others.shape[1])
        for place in range(s.size[row]):
            s.others[row, place] = place + (place >= s.incumbent[row])


@kernel
def choose(s, left, right):
    """The incumbent against the next arm of the pass, or against itself."""
    for row in range(left.shape[0]):
        left[row] = right[row] = s.incumbent[row]
        if s.size[row] > 0:
            right[row] = s.others[row, s.place[row]]


@kernel
def learn(s, left, right, left_won):
    """Update the estimate; at the end of a pass, lines 12 to 21 of IF2."""
    for row in range(left.shape[0]):
        b = right[row]
        if s.size[row] > 0 and left[row] == s.incumbent[row] and b == s.others[row, s.place[row]]:
            s.wins[row, b] += left_won[row]
            s.place[row] += 1
            if s.place[row] == s.size[row]:
                s.place[row] = 0
                s.passes[row] += 1
                end_pass(s, row)
        s.round[row] += 1


@kernel
def name(s, candidate):
    """The incumbent."""
    for row in range(candidate.shape[0]):
        candidate[row] = s.incumbent[row]


@kernel
def end_pass(s, row):
    """Remove what the incumbent beats; replace it if it is beaten itself."""
    t = s.passes[row]
    radius = math.sqrt(4.0 * s.log_inv_delta[row] / t)
    kept = better = 0
    for place in range(s.size[row]):
        b = s.others[row, place]
        if s.wins[row, b] / t - radius < 0.5:  # else P > 1/2 and 1/2 lies outside of the interval
            s.others[row, kept] = b
            kept += 1
            better += s.wins[row, b] / t + radius <= 0.5
    s.size[row] = kept
    if better > 0:
        word = bits(session_seed(s.key[row], s.round[row]), NEXT)
        replace_incumbent(s, row, uniform_below(word, better), radius)


@kernel
def replace_incumbent(s, row, number, radius):
    """The arm with this number (from 0) among those that beat the incumbent takes its place; IF2 prunes."""
    t, kept = s.passes[row], 0
    for place in range(s.size[row]):
        b = s.others[row, place]
        p = s.wins[row, b] / t
        if p + radius <= 0.5:
            if number == 0:
                s.incumbent[row] = b
            number -= 1
        if s.incumbent[row] != b and not (s.pruning[row] and p > 0.5):
            s.others[row, kept] = b
            kept += 1
    s.size[row], s.passes[row] = kept, 0
    s.wins[row, :] = 0


class InterleavedFilter(DuelingKernelAgent):
    """Interleaved Filter: an incumbent meets all other arms in turn until it is beaten, or no other arm remains.

    ``candidate`` is the incumbent.

    Args:
        pruning: True for IF2, False for IF1.
        delta: chance of error of a single confidence interval, in (0, 1); default 1 / (T K^2) for T = ``horizon``;
            required without it.
        **shape: as in ``DuelingAgent``.

    Raises:
        ValueError: ``delta`` and ``horizon`` are both missing, or an argument is out of range.

    References:
        Yue, Broder, Kleinberg and Joachims, COLT 2009 and JCSS 2012.

    Examples:
        >>> from rankgym_agents import InterleavedFilter
        >>> agent = InterleavedFilter(num_arms=3, delta=0.1, seed=0)
        >>> agent.candidate.tolist()  # the incumbent is a random arm at first
        [0]
        >>> for _ in range(100):  # the arm with the higher number wins every duel
        ...     duel = agent.act()
        ...     agent.update(duel, [[1, 0]] if duel["left"] >= duel["right"] else [[0, 1]])
        >>> agent.candidate.tolist(), agent.beliefs().out
        ([2], (0,))
    """

    choose, learn, name = staticmethod(choose), staticmethod(learn), staticmethod(name)
    state: State

    def __init__(self, *, pruning: bool = True, delta: float | None = None, **shape: Any) -> None:
        super().__init__(**shape)
        arms = self.num_arms
        if not isinstance(pruning, (bool, np.bool_)):
            raise ValueError(f"pruning = {pruning!r} is out of range; allowed: True (IF2) or False (IF1)")
        if delta is None:
            log_inv_delta = math.log(self.known_horizon("delta") * arms**2)
        else:
            log_inv_delta = -math.log(open_unit("delta", delta))
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0, pruning=pruning, log_inv_delta=log_inv_delta, incumbent=0, size=arms - 1, place=0, passes=0
            ),
            **self.filled(arms, others=np.arange(arms), wins=0),
        )
        begin(self.state)

    def settled(self) -> NDArray[np.bool_]:
        """True where no other arm remains: only the end of a pass replaces an incumbent, and no pass begins."""
        return self.state.size == 0

    def beliefs(self, row: int = 0) -> Beliefs:
        """The incumbent as champion, the arms that remain, and those removed."""
        others = set(self.state.others[row, : self.state.size[row]].tolist()) | {int(self.state.incumbent[row])}
        out = tuple(arm for arm in range(self.num_arms) if arm not in others)
        return Beliefs(blocks=(tuple(sorted(others)),), out=out, champion=int(self.candidate[row]))
