"""CascadeUCB1 (Kveton, Szepesvari, Wen and Ashkan, "Cascading bandits: learning to rank in the cascade model", ICML
2015), Algorithm 1 with the UCB1 upper confidence bounds of its section 3; comments give the listing's headings.

An item's index is U = w + sqrt(1.5 log t / T), w being the mean and T the number of its observations; the list is the
items of the largest indices. t is the current round, from 1 (the authors' later code has the rounds before it, t - 1).

Where the paper is silent, as in ``cascade_klucb``: its initial observation of every item takes the first L rounds,
of which the t-th shows item t first and the others shuffled, and t goes on counting from there; ties are broken at
random; ``feedback`` says what was observed where there may be more than one click. Without a click it was everything
displayed. An item never observed, because somebody else chose the lists, has the index infinity.

The lines that comments give are those of a later listing of the same steps, Algorithm 1 of Li and de Rijke ("Cascading
non-stationary bandits", IJCAI 2019): 6 to 8 are the indices, 10 with equation 4 is the list, which leaves its order
open (here by decreasing index), and 21 to 24 are the statistics. Its equations 7 and 8, with epsilon = 1.5 and a window
tau that is never full, are the index above. It begins in another way, and its lines 13 to 20 forget; here nothing is
forgotten.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain
from rankgym.kernels import (
    FEEDBACK,
    borrowed,
    first_then_shuffled,
    give_back,
    kernel,
    last_observed,
    select_top,
    session_seed,
    upper_bound,
)


class State(NamedTuple):
    """What CascadeUCB1 remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    observed: NDArray[np.int64]  # (rows, items): T, how often the item was observed
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Compute UCBs (lines 6 to 8); recommend the items with the largest ones (line 10)."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    upper = borrowed(num_items, np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        if s.round[row] < num_items:  # initialization
            first_then_shuffled(s.order[row], s.round[row], positions, seed)
        else:
            budget = 1.5 * math.log(s.round[row] + 1)
            for item in range(num_items):  # line 6
                upper[item] = upper_bound(s.clicked[row, item], s.observed[row, item], budget)  # line 8
            select_top(s.order, upper, row, positions, seed)  # line 10
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(upper)


@kernel
def learn(s, displayed, clicks):
    """Update statistics of the items that were observed (lines 21 to 24)."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):  # line 21
            item = displayed[row, k]  # line 22
            s.observed[row, item] += 1  # line 23
            s.clicked[row, item] += clicks[row, k]  # line 24


class CascadeUCB1(KernelAgent):
    """CascadeUCB1: displays the items with the largest UCB1 upper confidence bounds, in order.

    Args:
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Kveton, Szepesvari, Wen and Ashkan, ICML 2015, Algorithm 1 with UCB1.

    Examples:
        >>> from rankgym_agents import CascadeUCB1
        >>> for feedback in ("first", "last", "all"):  # what counts as seen of a list with clicks at positions 1 and 3
        ...     agent = CascadeUCB1(num_items=4, num_positions=4, feedback=feedback)
        ...     agent.update([[0, 1, 2, 3]], [[1, 0, 1, 0]])
        ...     print(feedback, agent.state.observed.tolist(), agent.state.clicked.tolist())
        first [[1, 0, 0, 0]] [[1, 0, 0, 0]]
        last [[1, 1, 1, 0]] [[1, 0, 1, 0]]
        all [[1, 1, 1, 1]] [[1, 0, 1, 0]]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, feedback: str = "first", **shape: Any) -> None:
        super().__init__(**shape)
        items = self.num_items
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, feedback=one_of("feedback", feedback, FEEDBACK)),
            **self.filled(items, observed=0, clicked=0, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen."""
        s, budget = self.state, 1.5 * math.log(self.state.round[row] + 1)
        statistics = zip(s.clicked[row], s.observed[row], strict=True)
        return Beliefs(scores={"UCB1 index": plain([upper_bound(*one, budget) for one in statistics])})
