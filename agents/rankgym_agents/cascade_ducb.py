"""CascadeDUCB (Li and de Rijke, "Cascading non-stationary bandits: online learning to rank in the non-stationary
cascade model", IJCAI 2019), Algorithm 1 with equations 5 and 6; comments give its lines.

Old observations fade: N(a) and X(a), the observations and clicks of item a, are multiplied by gamma in each round. The
index is U(a) = X(a) / N(a) + 2 sqrt(epsilon ln N_t(gamma) / N(a)) with N_t(gamma) = (1 - gamma^t) / (1 - gamma), and
the list is the items of the largest indices.

How the paper is read. In round t the index has the t of N_t(gamma), and the statistics of the rounds before. With
x / 0 := 1 an item never observed would have the index 1 + 2 = 3, less than one observed long ago; the text means
optimism, so the index is infinity. Equation 4 leaves the order in the list open; it is by decreasing index, and equal
indices are ordered at random. In the cascade model there is at most one click, and lines 21 to 24 count the items down
to it. Other models may have more clicks: ``feedback`` says which items then count as observed.

The doubling trick of section 4.3, for an unknown horizon: in the rounds 2^k <= t < 2^(k + 1) gamma is that of the
horizon 2^k. Only gamma is reset; N and X go on, and N_t(gamma) is that of the new gamma and of t. The text has this
for t > n, as if n were known; a given horizon is taken as known from the start.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, open_unit, plain, positive
from rankgym.kernels import FEEDBACK, borrowed, give_back, kernel, last_observed, select_top, session_seed

MAX_HORIZON = 2**62  # a longer horizon is cut to this: rounds are counted in 64 bits


class State(NamedTuple):
    """What CascadeDUCB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    epsilon: NDArray[np.float64]  # (rows,): epsilon
    doubling: NDArray[np.bool_]  # (rows,): gamma follows t, as the horizon is unknown
    gamma: NDArray[np.float64]  # (rows,): gamma
    weight: NDArray[np.float64]  # (rows,): N_t(gamma) of the coming round t
    observed: NDArray[np.float64]  # (rows, items): N, discounted observations of the item
    clicked: NDArray[np.float64]  # (rows, items): X, discounted clicks among them
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Lines 6 to 10."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    upper = borrowed(num_items, np.float64)
    for row in range(rows):
        budget = s.epsilon[row] * math.log(s.weight[row])
        for item in range(num_items):  # line 6
            upper[item] = ducb_index(s.clicked[row, item], s.observed[row, item], budget)  # line 8
        select_top(s.order, upper, row, positions, session_seed(s.key[row], s.round[row]))  # line 10
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(upper)


@kernel
def learn(s, displayed, clicks):
    """Lines 12 to 16 and 21 to 24, and the doubling trick."""
    rows, num_items = s.order.shape
    for row in range(rows):
        gamma = s.gamma[row]
        for item in range(num_items):
            s.observed[row, item] *= gamma  # line 15
            s.clicked[row, item] *= gamma  # line 16
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):  # line 21
            item = displayed[row, k]  # line 22
            s.observed[row, item] += 1.0  # line 23
            s.clicked[row, item] += clicks[row, k]  # line 24
        s.round[row] += 1
        s.weight[row] = 1.0 + gamma * s.weight[row]
        t = s.round[row] + 1
        if s.doubling[row] and t & (t - 1) == 0:  # section 4.3, t = 2^k
            s.gamma[row] = discount(t)
            s.weight[row] = discounted_rounds(t, s.gamma[row])


@kernel
def ducb_index(clicked, observed, budget):
    """Equation 5, with ``budget`` = epsilon ln N_t(gamma)."""
    if observed == 0.0:
        return math.inf
    return clicked / observed + 2.0 * math.sqrt(budget / observed)


@kernel
def discount(horizon):
    """The gamma of section 5, 1 - 1 / (4 sqrt(n)), for a horizon of at least 1 and less than 2^63."""
    return 1.0 - 0.25 / math.sqrt(horizon)


@kernel
def discounted_rounds(t, gamma):
    """N_t(gamma) = 1 + gamma + ... + gamma^(t - 1) for t a power of two, without loss of digits where gamma is near 1.

    The second half of the sum is the first half times gamma^(number of its terms).
    """
    total, power = 1.0, gamma
    while t > 1:
        total *= 1.0 + power
        power *= power
        t //= 2
    return total


class CascadeDUCB(KernelAgent):
    """CascadeDUCB: displays the items with the largest discounted upper confidence bounds, in order.

    Args:
        gamma: discount factor in (0, 1); default 1 - 1 / (4 sqrt(n)) for the horizon n, and by the doubling trick if
            the horizon is unknown.
        epsilon: width of the confidence interval, above 0; section 5 has 0.5, Theorem 1 holds in (0.5, 1).
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``initial_list`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Li and de Rijke, IJCAI 2019, Algorithm 1 with equations 5 and 6.

    Examples:
        >>> from rankgym_agents import CascadeDUCB
        >>> agent = CascadeDUCB(num_items=3, num_positions=3, gamma=0.5)
        >>> for item in (0, 2, 2):  # the user stops at the clicked item
        ...     agent.update([[0, 1, 2]], [[int(item == shown) for shown in (0, 1, 2)]])
        >>> agent.state.observed.tolist(), agent.state.clicked.tolist()  # a round counts half as much as the next one
        ([[1.75, 1.5, 1.5]], [[0.25, 0.0, 1.5]])
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(
        self, *, gamma: float | None = None, epsilon: float = 0.5, feedback: str = "first", **shape: Any
    ) -> None:
        super().__init__(**shape)
        items = self.num_items
        first = discount(min(self.horizon or 1, MAX_HORIZON)) if gamma is None else open_unit("gamma", gamma)
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                feedback=one_of("feedback", feedback, FEEDBACK),
                epsilon=positive("epsilon", epsilon),
                doubling=gamma is None and self.horizon is None,
                gamma=first,
                weight=1.0,
            ),
            **self.filled(items, observed=0.0, clicked=0.0, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen."""
        s, budget = self.state, self.state.epsilon[row] * math.log(self.state.weight[row])
        statistics = zip(s.clicked[row], s.observed[row], strict=True)
        return Beliefs(scores={"discounted UCB index": plain([ducb_index(*one, budget) for one in statistics])})
