"""What MergeRUCB and MergeDTS share: batches of arms that shrink and merge, until a single arm remains."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, DuelingAgent
from rankgym.kernels import kernel, least_beaten

NO_ARM, ALL_ARMS = -1, -2


@kernel
def name(s, candidate):
    """Of the remaining arms the one that trails the fewest arms; then the one with the largest share of duels won."""
    for row in range(candidate.shape[0]):
        remaining = s.start[row, s.batches[row]]
        candidate[row] = least_beaten(s.order[row], remaining, s.trails[row], s.won[row], s.lost[row])


def log_constant(alpha: float, num_arms: int, delta: float) -> float:
    """The logarithm of C(delta) = ((4 alpha - 1) K^2 / ((2 alpha - 1) delta))^(1 / (2 alpha - 1))."""
    excess = 2 * alpha - 1
    return (math.log(2 + 1 / excess) + 2 * math.log(num_arms) - math.log(delta)) / excess


def first_batches(agent: DuelingAgent, batches: int, size: int) -> dict[str, NDArray[Any]]:
    """The parts of the state with the wins, and with the arms in ``batches`` of ``size``, not yet shuffled."""
    arms = agent.num_arms
    return {
        **agent.filled(arms, arms, wins=0),
        **agent.filled(arms, trails=0, won=0, lost=0, order=np.arange(arms), batch_of=NO_ARM),
        **agent.filled(batches + 1, start=np.append(np.arange(batches) * size, arms)),
        **agent.filled(batches, suspect=NO_ARM),
    }


class Merging:
    """The end of both: ``remaining`` is the number of arms left; a row with one arm left no longer explores."""

    name = staticmethod(name)
    num_envs: int
    state: Any

    @property
    def remaining(self) -> NDArray[np.int64]:
        """The number of arms left, (num_envs,) int64."""
        return self.state.start[np.arange(self.num_envs), self.state.batches]

    def settled(self) -> NDArray[np.bool_]:
        """True once a single arm remains: no arm of its batch can remove it, and removed arms never return."""
        return self.remaining == 1

    def beliefs(self, row: int = 0) -> Beliefs:
        """The batches, the arms removed, and the candidate."""
        s = self.state
        order, start = s.order[row].tolist(), s.start[row, : s.batches[row] + 1].tolist()
        blocks = tuple(tuple(order[first:stop]) for first, stop in itertools.pairwise(start))
        champion = least_beaten(s.order[row], start[-1], s.trails[row], s.won[row], s.lost[row])
        return Beliefs(blocks=blocks, ordered=False, out=tuple(order[start[-1] :]), champion=int(champion))
