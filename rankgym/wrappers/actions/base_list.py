"""The base list of the safe action wrappers: it starts as the production list and improves by BubbleRank's rule.

BubbleRank: Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, "BubbleRank: safe online learning to re-rank
via implicit click feedback", UAI 2019. Comments give the lines of its Algorithm 1.

Which sessions the base list learns from
----------------------------------------
BubbleRank exchanges a pair by a fair coin, so that neither item has the better place on average. Here a policy chooses
the order, and it may have seen the clicks. Let item i stand directly above item j in the base list. As in lines 15 to
19, s (the lead of j) and n count sessions in which both stood at their two places and exactly one was clicked, but

* sessions in exchanged order, j above i, count only while fewer of them than of those in base order were counted;
* sessions in base order count only while less than ``MAX_CREDIT`` more of them were counted, as j loses by them.

This *credit*, the difference of the two counts, starts at 0 when i and j become neighbours or both move. Lines 21 to 24
exchange the pair in the base list: in one pass a session, if s > 2 sqrt(n log(1 / delta)). The pair j, i then starts
with the lead -s and the same n.

Claim, if the paper's A2 to A4 hold and attraction does not change: *with probability at least 1 - delta^2 L^2 n, L the
number of items, no base list of n sessions ever exchanges an item with a lower one that is not more attractive,
whatever the policy does. So each exchange in the base list lowers |V|.*
Proof: let alpha(i) >= alpha(j), and let the upper place be examined with probability x, the lower one with y below i
and y' below j; by A2 the rest of the list does not matter as long as the credit runs. z = click on i - click on j has
the mean m = x alpha(i) - y alpha(j) >= 0 in base order (A3), m' = y' alpha(i) - x alpha(j) in exchanged order, and
m + m' >= 0 since y' >= y (A4). With v > 0 and g = sinh(v) exp(-v^2 / 2) < 1, E exp(-v z - v^2 z^2 / 2) is at most
1 - g m, or 1 - g m', as cosh(v) <= exp(v^2 / 2). Whether a session counts is known before its clicks, so that
exp(v s - v^2 n / 2) over the product of these bounds is a supermartingale; and the product is at most 1, because each
1 - g m' > 1 has a 1 - g m of its own, and (1 - g m)(1 - g m') <= 1. With v = 2 sqrt(log(1 / delta) / n), by Ville's
inequality, s > 2 sqrt(n log(1 / delta)) ever happens at this n with probability delta^2 at most. A lead that starts at
-s starts this at no more than 1. There are n values of n, L (L - 1) / 2 such pairs, and at most as many new starts,
since each right exchange takes a misordered pair away.

Hidden items (K < L, the paper's section 4.3, last paragraph): the items below position K form a queue. The first of
them may be displayed at K instead of the item there, and then goes to the end of the queue. Items found worse than the
item at K are skipped while the queue has others. Every hidden item is compared with the item at K, and an item that is
not displayed counts as not clicked, so that a session in base order counts for all hidden items at once.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from rankgym.agent import open_unit
from rankgym.kernels import kernel
from rankgym.wrappers.layers import Layer, Setting
from rankgym.wrappers.spaces import Widened, require_rankings

MAX_CREDIT = 16  # small beside 4 log(1 / delta) = 16 log n, the fewest comparisons before an exchange (default delta)
LOG_SCALE = 10.0  # counts n are shown as log(1 + n) / 10
MAX_LOG = 4.0  # bound on the scaled logarithm of a count
LOGS = np.log1p(np.arange(4096.0)) / LOG_SCALE

BASE_COLUMN = -5
"""The column, from the end, of an item's place in the base list: 0 first, 1 last. Four other columns follow it."""


@kernel
def exchange_neighbours(base, wished, displayed):
    """Fill ``displayed`` (rows, positions) with ``base`` (rows, items), neighbours k and k + 1 exchanged as ``wished``.

    Of two wishes that overlap the upper one counts.
    """
    rows, positions = displayed.shape
    for row in range(rows):
        for k in range(positions):
            displayed[row, k] = base[row, k]
        k = 0
        while k < wished.shape[1]:
            if wished[row, k]:
                displayed[row, k] = base[row, k + 1]
                if k + 1 < positions:
                    displayed[row, k + 1] = base[row, k]
                k += 1
            k += 1


@kernel
def learn_base(displayed, clicks, rows, log_inv_delta, max_credit, base, place, lead, compared, credit):
    """Learn from one session of the rows in ``rows``: lines 12 to 24, with credit as described at the top of this file.

    Args:
        displayed, clicks: (rows, positions), any lists.
        base, place: (rows, items), base list and where each item stands in it.
        lead, compared: (rows, items, items), s and n of the upper and the lower item of a pair.
        credit: (rows, items), of the pair whose lower item this is; a hidden item's upper one is that at position K.
    """
    positions, items = displayed.shape[1], base.shape[1]
    last = positions - 1
    for row in range(displayed.shape[0]):
        if not rows[row]:
            continue
        found = False
        lowest = -1  # lowest place in the base list of the items above k
        for k in range(positions):
            if lowest < k:  # above k are the base list's items, in any order
                i, shown, click = base[row, k], displayed[row, k], clicks[row, k] != 0
                if k < last:
                    j, below = base[row, k + 1], clicks[row, k + 1] != 0
                    other = displayed[row, k + 1]
                    if shown == i and other == j and may_count(row, j, False, max_credit, credit):
                        found |= compare(row, i, j, click, below, log_inv_delta, lead, compared)
                    elif shown == j and other == i and may_count(row, j, True, max_credit, credit):
                        found |= compare(row, i, j, below, click, log_inv_delta, lead, compared)
                elif shown == i:  # section 4.3: hidden items get feedback 0
                    for lower in range(positions, items):
                        if may_count(row, base[row, lower], False, max_credit, credit):
                            found |= compare(row, i, base[row, lower], click, False, log_inv_delta, lead, compared)
                elif place[row, shown] > last and may_count(row, shown, True, max_credit, credit):
                    found |= compare(row, i, shown, False, click, log_inv_delta, lead, compared)
            lowest = max(lowest, place[row, displayed[row, k]])
        if found:  # otherwise no pair is decided, as decided pairs are exchanged in the same session
            bubble(row, log_inv_delta, positions, base, place, lead, compared, credit)
        if items > positions:
            if displayed[row, last] == base[row, positions]:  # the first of the queue was displayed
                move_to_end(row, positions, base, place)
            for _ in range(positions, items):
                i, j = base[row, last], base[row, positions]
                if not better(-lead[row, i, j], compared[row, i, j], log_inv_delta):
                    break
                move_to_end(row, positions, base, place)


@kernel
def may_count(row, j, exchanged, max_credit, credit):
    """Whether this session counts for the pair with the lower item ``j``; updates the credit if so."""
    before = credit[row, j]
    credit[row, j] = max(before - 1, 0) if exchanged else min(before + 1, max_credit)
    return credit[row, j] != before


@kernel
def compare(row, i, j, i_clicked, j_clicked, log_inv_delta, lead, compared):
    """Lines 15 to 19 for i above j in the base list; True if j is found better."""
    if i_clicked == j_clicked:
        return False
    lead[row, i, j] += 1 if j_clicked else -1
    compared[row, i, j] += 1
    return better(lead[row, i, j], compared[row, i, j], log_inv_delta)


@kernel
def better(lead, compared, log_inv_delta):
    """Line 23, squared: s > 2 sqrt(n log(1 / delta))."""
    return lead * abs(lead) > 4.0 * log_inv_delta * compared


@kernel
def bubble(row, log_inv_delta, positions, base, place, lead, compared, credit):
    """Lines 21 to 24. Below position K: each hidden item found better than the item at K takes its place."""
    items = base.shape[1]
    for lower in range(1, items):
        upper = min(lower, positions) - 1
        i, j = base[row, upper], base[row, lower]  # line 22
        if better(lead[row, i, j], compared[row, i, j], log_inv_delta):
            base[row, upper], base[row, lower] = j, i  # line 24
            place[row, i], place[row, j] = lower, upper
            lead[row, j, i], compared[row, j, i] = -lead[row, i, j], compared[row, i, j]
            lead[row, i, j], compared[row, i, j] = 0, 0
            credit[row, i], credit[row, j] = 0, 0  # the pairs at both places, and the one below
            if lower + 1 < items:
                credit[row, base[row, lower + 1]] = 0
            if lower >= positions - 1:  # another item at position K
                for hidden in range(positions, items):
                    credit[row, base[row, hidden]] = 0


@kernel
def move_to_end(row, positions, base, place):
    """Move the first hidden item to the end of the queue."""
    first, items = base[row, positions], base.shape[1]
    for position in range(positions, items - 1):
        base[row, position] = base[row, position + 1]
        place[row, base[row, position]] = position
    base[row, items - 1] = first
    place[row, first] = items - 1


@kernel
def show_base(log_inv_delta, max_credit, logs, positions, base, lead, compared, credit, columns):
    """Fill ``columns`` (rows, items, 5), see ``AdjacentSwaps``; ``logs`` has log(1 + n) / 10 of small n."""
    rows, items = base.shape
    for row in range(rows):
        for number in range(items):
            j = base[row, number]
            shown = columns[row, j]
            shown[0] = number / max(items - 1, 1)
            shown[1], shown[2], shown[3], shown[4] = 0.0, 0.0, 0.0, 0.0
            if number > 0:
                i = base[row, min(number, positions) - 1]
                s, n = lead[row, i, j], compared[row, i, j]
                size = scaled_log(abs(s), logs)
                shown[1] = size if s > 0 else -size
                shown[2] = scaled_log(n, logs)
                shown[3] = 1.0 if better(abs(s), n, log_inv_delta) else 0.0
                shown[4] = credit[row, j] / max_credit


@kernel
def scaled_log(n, logs):
    """log(1 + n) / 10, looked up in ``logs`` if ``n`` is one of its indices."""
    return logs[n] if n < logs.shape[0] else np.log1p(float(n)) / LOG_SCALE


class BaseListLayer(Layer, ABC):
    """The base list with its statistics: what ``AdjacentSwaps`` and ``SafeLists`` share."""

    base_column = BASE_COLUMN

    def __init__(
        self, setting: Setting, observation_space: Space[Any], action_space: Space[Any], *, delta: float | None = None
    ) -> None:
        super().__init__(setting, observation_space, action_space)
        require_rankings(self.name, action_space)
        rows, items = setting.num_envs, setting.num_items
        if items < 2:
            raise ValueError(f"num_items = {items} is out of range; allowed: 2 or more, so that pairs can be exchanged")
        if delta is None and setting.horizon is None:
            fault = "stands for n^-4 with the horizon n, but env has no horizon"
            raise ValueError(f"delta = None {fault}; allowed: a number in (0, 1)")
        # 4 log n, not log(1 / n^-4): that power is 0 for long horizons
        horizon = setting.horizon or 1
        self.log_inv_delta = 4.0 * math.log(horizon) if delta is None else -math.log(open_unit("delta", delta))
        self.pairs = min(setting.num_positions, items - 1)  # neighbours with at least one of them displayed
        low, high = [0.0, -MAX_LOG, 0.0, 0.0, 0.0], [1.0, MAX_LOG, MAX_LOG, 1.0, 1.0]
        self.widened = Widened(self.name, observation_space, items, (low, high), (low * items, high * items))
        self.observation_space = self.widened.space
        self.base = setting.initial_list.copy()  # (rows, items) best first; below position K the queue
        self.place = np.argsort(self.base, axis=1)
        self.lead = np.zeros((rows, items, items), np.int64)  # of a pair's lower item: [row, upper, lower]
        self.compared = np.zeros((rows, items, items), np.int64)
        self.credit = np.zeros((rows, items), np.int64)
        self.action_space = self._actions()

    @abstractmethod
    def _actions(self) -> Space[Any]:
        """The action space of one row."""

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        self.base[rows] = initial_list[rows]
        self.place[rows] = np.argsort(self.base[rows], axis=1)
        for numbers in (self.lead, self.compared, self.credit):
            numbers[rows] = 0

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        lists, clicks = np.ascontiguousarray(displayed, np.int64), np.ascontiguousarray(clicks, np.int8)
        state = (self.base, self.place, self.lead, self.compared, self.credit)
        learn_base(lists, clicks, rows, self.log_inv_delta, MAX_CREDIT, *state)

    def observe(self, inner: NDArray[Any]) -> NDArray[np.float32]:
        rows, items = self.base.shape
        columns = np.empty((rows, items, -BASE_COLUMN), np.float32)
        positions, state = self.setting.num_positions, (self.base, self.lead, self.compared, self.credit)
        show_base(self.log_inv_delta, MAX_CREDIT, LOGS, positions, *state, columns)
        return self.widened.show(inner, columns if self.widened.is_table else columns.reshape(rows, -1))
