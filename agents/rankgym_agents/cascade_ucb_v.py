"""CascadeUCB-V (Vial, Sanghavi, Shakkottai and Srikant, "Minimax regret for cascading bandits", NeurIPS 2022).

The index is from memory of the paper and agrees with others' code: no full text was at hand.

It is CascadeUCB1 with an index that knows the variance: U = w + sqrt(4 v log t / n) + 6 log t / n, w being the mean and
n the number of an item's observations, v = w (1 - w). The list is the items of the largest indices. t is the current
round, from 1; no horizon is needed.

Where the paper is silent, as in ``cascade_ucb1``: in round t of the first L, item t is first and the others are
shuffled, and t goes on counting from there; an item without observations has the index infinity; ties are broken at
random; ``feedback`` says what was observed where there may be more than one click. Indices are not cut at 1, where all
items of few observations would tie.
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
)


class State(NamedTuple):
    """What CascadeUCB-V remembers. The leading axis is the row.

    The order of the fields is not CascadeUCB1's: calls with states that numba cannot tell apart are slow.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first
    observed: NDArray[np.int64]  # (rows, items): n, how often the item was observed
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK


@kernel
def rank(s, displayed):
    """Compute upper confidence bounds; display the items of the largest ones."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    upper = borrowed(num_items, np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        if s.round[row] < num_items:  # initialization
            first_then_shuffled(s.order[row], s.round[row], positions, seed)
        else:
            log_t = math.log(s.round[row] + 1)
            for item in range(num_items):
                upper[item] = ucb_v_index(s.clicked[row, item], s.observed[row, item], log_t)
            select_top(s.order, upper, row, positions, seed)
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(upper)


@kernel
def learn(s, displayed, clicks):
    """Update statistics of the items that were observed."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):
            item = displayed[row, k]
            s.observed[row, item] += 1
            s.clicked[row, item] += clicks[row, k]


@kernel
def ucb_v_index(clicked, observed, log_t):
    """The index; infinity where nothing was observed."""
    if observed == 0:
        return math.inf
    mean, share = clicked / observed, log_t / observed
    return mean + math.sqrt(4.0 * mean * (1.0 - mean) * share) + 6.0 * share


class CascadeUCBV(KernelAgent):
    """CascadeUCB-V: displays the items with the largest variance-aware upper confidence bounds, in order.

    Args:
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Vial, Sanghavi, Shakkottai and Srikant, NeurIPS 2022.

    Examples:
        >>> from rankgym_agents import CascadeUCBV
        >>> agent = CascadeUCBV(num_items=2, num_positions=1, seed=0)
        >>> for clicked in [0] * 100 + [0, 1] * 50:  # item 0 is never clicked, item 1 every other time
        ...     agent.update([[0 if sum(agent.state.observed[0]) < 100 else 1]], [[clicked]])
        >>> [round(index, 3) for index in agent.beliefs().scores["UCB-V index"]]  # the bound of a surer mean is closer
        [0.318, 1.048]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, feedback: str = "first", **shape: Any) -> None:
        super().__init__(**shape)
        items = self.num_items
        self.state = State(
            key=self.keys(),
            **self.filled(round=0),
            **self.filled(items, order=np.arange(items), observed=0, clicked=0),
            **self.filled(feedback=one_of("feedback", feedback, FEEDBACK)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen."""
        s, log_t = self.state, math.log(self.state.round[row] + 1)
        statistics = zip(s.clicked[row], s.observed[row], strict=True)
        return Beliefs(scores={"UCB-V index": plain([ucb_v_index(*one, log_t) for one in statistics])})
