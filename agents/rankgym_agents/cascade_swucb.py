"""CascadeSWUCB (Li and de Rijke, "Cascading non-stationary bandits: online learning to rank in the non-stationary
cascade model", IJCAI 2019), Algorithm 1 with equations 7 and 8; comments give its lines.

Old observations are forgotten: N(a) and X(a) are the observations and clicks of item a in the last tau rounds. The
index is U(a) = X(a) / N(a) + sqrt(epsilon ln(min(t, tau)) / N(a)), and the list is the items of the largest indices. A
ring buffer of observations makes the cost of a round independent of the window's length.

How the paper is read.

* The window is the last tau rounds ("the previous tau steps" of the text): lines 19 and 20 sum over tau - 1 of them,
  and lines 21 to 24 add the round just played.
* Line 19 counts the rounds in which an item was displayed, line 21 and the text ("observations") those in which it was
  observed. It is observations here; ``counts="displayed"`` has line 19, for the round just played as for the others.
* In the cascade model there is at most one click, and the user has seen the items down to it. Other models may have
  more clicks: ``feedback`` says which items then count as observed. A click below those is ignored.
* With x / 0 := 1 an item without observations in the window would have the index 1 + 1 = 2, less than others may have;
  the text means optimism, so the index is infinity, also when the item's last observation has left the window.
* tau = 2 sqrt(n ln n) is rounded, and at least 1. Equation 4 leaves the order in the list open; it is by decreasing
  index, and equal indices are ordered at random.

The doubling trick of section 4.3, for an unknown horizon: in the rounds 2^k <= t < 2^(k + 1) tau is that of the horizon
2^k. Only tau is reset: lines 19 and 20 then sum over the longer window, so rounds that had left the shorter one count
again, and are kept for that. The text has this for t > n, as if n were known; a given horizon is taken as known from
the start.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain, positive, whole_number
from rankgym.kernels import FEEDBACK, borrowed, give_back, kernel, last_observed, select_top, session_seed, upper_bound

COUNTS = {"observed": False, "displayed": True}
MAX_HORIZON = 2**62  # a longer horizon or window is cut to this: rounds are counted in 64 bits
FIRST_ROOM = 256  # rounds; the ring buffer grows when needed, so that a long window costs nothing until it is filled
NOT_COUNTED = -1


class State(NamedTuple):
    """What CascadeSWUCB remembers. The leading axis is the row.

    ``past`` has the round numbered r, from 0, at r modulo ``room``. An entry is twice the item, plus 1 if a click was
    counted, or NOT_COUNTED. There is room for at least the last tau rounds, or for all, and for at most the longest
    tau that comes into sight: that of 2^(k + 1) under the doubling trick.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    displayed: NDArray[np.bool_]  # (rows,): what is displayed counts, not only what is observed
    epsilon: NDArray[np.float64]  # (rows,): epsilon
    doubling: NDArray[np.bool_]  # (rows,): tau follows t, as the horizon is unknown
    tau: NDArray[np.int64]  # (rows,): tau
    observed: NDArray[np.int64]  # (rows, items): N, observations of the item in the window
    clicked: NDArray[np.int64]  # (rows, items): X, clicks among them
    past: NDArray[np.signedinteger[Any]]  # (rows, room, positions): see above; int8 for up to 64 items
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Lines 6 to 10."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    upper = borrowed(num_items, np.float64)
    for row in range(rows):
        budget = s.epsilon[row] * math.log(min(s.round[row] + 1, s.tau[row]))
        for item in range(num_items):  # line 6
            upper[item] = upper_bound(s.clicked[row, item], s.observed[row, item], budget)  # line 8, equation 7
        select_top(s.order, upper, row, positions, session_seed(s.key[row], s.round[row]))  # line 10
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(upper)


@kernel
def learn(s, displayed, clicks):
    """Lines 12 and 17 to 24: the oldest round leaves the window, this one enters it; and the doubling trick."""
    rows, positions = displayed.shape
    room = s.past.shape[1]
    for row in range(rows):
        leaving = s.round[row] - s.tau[row]
        if leaving >= 0:  # lines 19 and 20
            count(s.past, s.observed, s.clicked, row, leaving % room, -1)
        last, slot = last_observed(clicks, row, s.feedback[row]), s.round[row] % room
        for k in range(positions):  # lines 21 and 22
            if k <= last:
                s.past[row, slot, k] = 2 * displayed[row, k] + clicks[row, k]
            else:
                s.past[row, slot, k] = 2 * displayed[row, k] if s.displayed[row] else NOT_COUNTED
        count(s.past, s.observed, s.clicked, row, slot, 1)  # lines 23 and 24
        s.round[row] += 1
        t = s.round[row] + 1
        if s.doubling[row] and t & (t - 1) == 0:  # section 4.3, t = 2^k
            window = window_of(t)
            for back in range(s.tau[row] + 1, min(window, s.round[row]) + 1):
                count(s.past, s.observed, s.clicked, row, (s.round[row] - back) % room, 1)
            s.tau[row] = window


@kernel
def count(past, observed, clicked, row, slot, sign):
    """Add ``sign`` times the observations and clicks of the row's round at ``slot`` to N and X."""
    for k in range(past.shape[2]):
        entry = np.int64(past[row, slot, k])
        if entry != NOT_COUNTED:
            observed[row, entry >> 1] += sign
            clicked[row, entry >> 1] += sign * (entry & 1)


@kernel
def window_of(horizon):
    """The tau of section 5, 2 sqrt(n ln n), rounded and at least 1, for a horizon of at least 1 and less than 2^63."""
    return max(1, int(2.0 * math.sqrt(horizon * math.log(horizon)) + 0.5))


@kernel
def move(past, rounds, roomier):
    """Copy the rounds that ``past`` holds, of ``rounds`` (rows,) so far, to where ``roomier`` has them."""
    for row in range(past.shape[0]):
        for number in range(max(0, rounds[row] - past.shape[1]), rounds[row]):
            for k in range(past.shape[2]):
                roomier[row, number % roomier.shape[1], k] = past[row, number % past.shape[1], k]


class CascadeSWUCB(KernelAgent):
    """CascadeSWUCB: displays the items with the largest sliding-window upper confidence bounds, in order.

    Takes ``num_positions`` bytes of memory per row and round of the window for up to 64 items, more for more.

    Args:
        tau: length of the window in rounds, at least 1; default 2 sqrt(n ln n) for the horizon n, rounded, and by the
            doubling trick where the horizon is unknown.
        epsilon: width of the confidence interval, above 0; section 5 has 0.5.
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        counts: whether N counts the rounds in which an item was ``"observed"``, or ``"displayed"`` as in line 19.
        **shape: as in ``Agent``. ``initial_list`` is ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Li and de Rijke, IJCAI 2019, Algorithm 1 with equations 7 and 8.

    Examples:
        >>> from rankgym_agents import CascadeSWUCB
        >>> agent = CascadeSWUCB(num_items=2, num_positions=2, tau=2)
        >>> for clicks in ([1, 0], [0, 1], [0, 0]):
        ...     agent.update([[0, 1]], [clicks])
        ...     print(agent.state.observed.tolist(), agent.state.clicked.tolist())  # of the last two rounds
        [[1, 0]] [[1, 0]]
        [[2, 1]] [[1, 1]]
        [[2, 2]] [[0, 1]]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    GROWS: ClassVar[dict[str, int]] = {"past": 1}
    state: State

    def __init__(
        self,
        *,
        tau: int | None = None,
        epsilon: float = 0.5,
        feedback: str = "first",
        counts: str = "observed",
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        rows, items = self.num_envs, self.num_items
        first = window_of(min(self.horizon or 1, MAX_HORIZON)) if tau is None else whole_number("tau", tau, 1)
        doubling = tau is None and self.horizon is None
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                feedback=one_of("feedback", feedback, FEEDBACK),
                displayed=one_of("counts", counts, COUNTS),
                epsilon=positive("epsilon", epsilon),
                doubling=doubling,
                tau=min(first, MAX_HORIZON),
            ),
            **self.filled(items, observed=0, clicked=0, order=np.arange(items)),
            past=np.full(
                (rows, FIRST_ROOM if doubling else min(first, FIRST_ROOM), self.num_positions),
                NOT_COUNTED,
                np.min_scalar_type(-2 * items),
            ),
        )

    def update(self, displayed: NDArray[np.int64], clicks: NDArray[Any]) -> None:
        super().update(displayed, clicks)
        room, wanted = self.state.past.shape[1], self.wanted_room()
        if room < wanted and room <= self.state.round.max():  # full, and the next round would overwrite what is needed
            self.make_room(min(2 * room, wanted))

    def wanted_room(self) -> int:
        """The number of rounds to remember: the window, and with the doubling trick the next window."""
        if not self.state.doubling[0]:
            return int(self.state.tau[0])
        return int(window_of(2 ** int(self.state.round.max() + 1).bit_length()))

    def make_room(self, room: int) -> None:
        """Enlarge the ring buffer to this number of rounds."""
        rows, _, positions = self.state.past.shape
        roomier = np.full((rows, room, positions), NOT_COUNTED, self.state.past.dtype)
        move(self.state.past, self.state.round, roomier)
        self.state = self.state._replace(past=roomier)

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen."""
        s = self.state
        budget = s.epsilon[row] * math.log(min(s.round[row] + 1, s.tau[row]))
        statistics = zip(s.clicked[row], s.observed[row], strict=True)
        return Beliefs(scores={"sliding-window UCB index": plain([upper_bound(*one, budget) for one in statistics])})
