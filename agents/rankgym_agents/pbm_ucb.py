"""PBM-UCB (Lagree, Vernade and Cappe, "Multiple-play bandits in the position-based model", NIPS 2016).

The examination probability kappa(l) of each position l is known. With S(k) the clicks on item k, N(k) the rounds in
which it was displayed, and N~(k) the sum of kappa over the positions where it was displayed, the attraction's unbiased
estimate is S / N~ and PBM-UCB's upper confidence bound is

    U(k) = S / N~ + sqrt(N / N~) sqrt(delta / (2 N~)).

The items with the largest bounds are displayed, the best at the position with the largest examination, and so on: the
paper numbers the positions by falling kappa. Its analysis of the regret takes delta = (1 + epsilon) log t with epsilon
> 0; the default here is epsilon = 0, delta = log t.

Where the paper is silent: an item that was never displayed has the bound infinity, t counts from 1, and ties are broken
at random. Equal kappas leave their positions in their order.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Beliefs, KernelAgent, number_in, plain
from rankgym.kernels import borrowed, give_back, kernel, select_top, session_seed


class State(NamedTuple):
    """What PBM-UCB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    factor: NDArray[np.float64]  # (rows,): 1 + epsilon
    examination: NDArray[np.float64]  # (rows, positions): kappa
    best_first: NDArray[np.int64]  # (rows, positions): the positions by falling kappa
    clicked: NDArray[np.int64]  # (rows, items): S
    displays: NDArray[np.int64]  # (rows, items): N
    examined: NDArray[np.float64]  # (rows, items): N~, the expected number of rounds in which it was examined
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """The items with the largest upper confidence bounds, at the positions by falling examination."""
    rows, positions = displayed.shape
    bounds = borrowed(s.order.shape[1], np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        delta = s.factor[row] * math.log(s.round[row] + 1)
        for item in range(bounds.shape[0]):
            bounds[item] = pbm_ucb_index(s.clicked[row, item], s.displays[row, item], s.examined[row, item], delta)
        select_top(s.order, bounds, row, positions, seed)
        for k in range(positions):
            displayed[row, s.best_first[row, k]] = s.order[row, k]
    give_back(bounds)


@kernel
def learn(s, displayed, clicks):
    """Update S, N and N~ of the displayed items."""
    rows, positions = displayed.shape
    for row in range(rows):
        for k in range(positions):
            item = displayed[row, k]
            s.clicked[row, item] += clicks[row, k]
            s.displays[row, item] += 1
            s.examined[row, item] += s.examination[row, k]
        s.round[row] += 1


@kernel
def pbm_ucb_index(clicked, displays, examined, delta):
    """U for S = ``clicked``, N = ``displays``, N~ = ``examined`` and ``delta`` >= 0; infinity where N is 0."""
    if displays == 0:
        return math.inf
    return clicked / examined + math.sqrt(displays / examined) * math.sqrt(delta / (2.0 * examined))


class PBMUCB(KernelAgent):
    """PBM-UCB: upper confidence bounds on attraction, for positions with known examination probabilities.

    Args:
        examination: probability in (0, 1] that position k is examined: (num_positions,), or (num_envs, num_positions)
            for one a row. Default: 1 / k for k = 1, 2, ..., a common guess; the paper's guarantee needs the truth.
        epsilon: delta = (1 + epsilon) log t; a number in [0, 1000].
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Lagree, Vernade and Cappe, NIPS 2016.

    Examples:
        >>> from rankgym_agents import PBMUCB
        >>> agent = PBMUCB(num_items=3, num_positions=2, examination=[0.25, 1.0], seed=0)
        >>> for _ in range(20):
        ...     agent.update([[0, 1]], [[1, 0]])
        ...     agent.update([[2, 1]], [[0, 0]])
        >>> agent.act().tolist()  # the most attractive item is where everybody looks: at the second position
        [[2, 0]]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, examination: ArrayLike | None = None, epsilon: float = 0.0, **shape: Any) -> None:
        super().__init__(**shape)
        items = self.num_items
        kappa = self.checked_examination(examination)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, factor=1.0 + number_in("epsilon", epsilon, 0, 1000)),
            examination=kappa,
            best_first=np.argsort(-kappa, axis=1, kind="stable"),
            **self.filled(items, clicked=0, displays=0, examined=0.0, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen."""
        s, delta = self.state, self.state.factor[row] * math.log(self.state.round[row] + 1)
        statistics = zip(s.clicked[row], s.displays[row], s.examined[row], strict=True)
        return Beliefs(scores={"PBM-UCB index": plain([pbm_ucb_index(*one, delta) for one in statistics])})
