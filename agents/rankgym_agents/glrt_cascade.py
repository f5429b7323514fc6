"""GLRT-CascadeUCB and GLRT-CascadeKL-UCB (Wang, Zhou, Li, Varshney and Zhao, "Nearly optimal algorithms for
piecewise-stationary cascading bandits", AAAI 2021, arXiv 1909.05886): cascading bandits that test for changes and
restart at each one found.

From memory of the paper: no full text was at hand, so steps are named, not numbered. The test's practical threshold is
the default of others' code for plain bandits.

With tau the round of the last restart and n(i) item i's observations since then, round t has a = (t - tau) mod
floor(L / p) for the share p of exploration. If 1 <= a <= L, item a is first and the others follow at random, so each
restart begins with a look at every item. Else the list is the items of the largest indices: the mean plus
sqrt(3 log s / (2 n)), or max{q in [mean, 1] : n kl(mean, q) <= log s + 3 log log s}, with s = t - tau.

After the clicks, each observed item is tested by the generalised likelihood ratio of its n observations, of which A are
clicks: it is the maximum over 1 <= s < n of s kl(a / s, A / n) + (n - s) kl((A - a) / (n - s), A / n), with a clicks
among the first s. If it reaches beta(n), all items are forgotten, and tau = t. beta(n) = log(3 n^1.5 / delta) in
practice, 2 J(log(3 n^1.5 / delta) / 2) + 6 log(1 + log n) in theory, with J(x) = x + 4 log(1 + x + sqrt(2 x)).

Two facts make the exact test cheap.

* For given means before and after a change, the likelihood is linear in (s, a). So the best place s is a vertex of the
  convex hull of the points (s, a), of which n observations have about 2 log n. New points lie to the right, so two
  stacks keep the hull.
* The largest likelihood of two segments does not increase when an observation follows. So no test is due until the
  largest likelihood at the last test, less that of one segment now, reaches beta(n).

Where the paper is silent: an item without observations has the index infinity, ties are broken at random, log s + 3 log
log s is taken as 0 where it is negative, and observations below the one that fires are dropped, as those before it are.
``feedback`` says which items count as observed where there may be more than one click.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, open_unit, plain
from rankgym.kernels import (
    FEEDBACK,
    borrowed,
    first_then_shuffled,
    give_back,
    kernel,
    kl_upper_bounds,
    last_observed,
    logarithm,
    select_top,
    session_seed,
)

INDICES = {"kl-ucb": True, "ucb": False}
THRESHOLDS = {"practical": False, "theory": True}
FILLERS = {"random": False, "best": True}
NEVER = 2**62  # a period of exploration that no game reaches
UNSEEN = 1e300  # the index of an item without observations: above all others, below that of the item to explore
LEAST, MOST = -1, 1  # sides of the hull
VERTICES = 48  # of a side: of 10^7 observations alike, more than 47 vertices have a probability below 1e-9


class State(NamedTuple):
    """What GLRT-CascadeUCB remembers. The leading axis is the row.

    A side of the hull begins with (0, 0) and ends with (n, A). If a side should have more than ``VERTICES``, its oldest
    vertices are dropped, and the test has fewer places to choose from.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    restarted: NDArray[np.int64]  # (rows,): tau, the round t of the last restart; 0: none yet
    restarts: NDArray[np.int64]  # (rows,): how often it has restarted
    period: NDArray[np.int64]  # (rows,): floor(L / p)
    log_delta: NDArray[np.float64]  # (rows,): log(3 / delta)
    theory: NDArray[np.bool_]  # (rows,): the threshold of the theory
    divergence: NDArray[np.bool_]  # (rows,): indices of KL-UCB, not of UCB1
    best: NDArray[np.bool_]  # (rows,): the items of the largest indices follow the explored one
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    observed: NDArray[np.int64]  # (rows, items): n, observations since the last restart
    clicked: NDArray[np.int64]  # (rows, items): A, clicks among them
    likelihood: NDArray[np.float64]  # (rows, items): log of that of two segments at the last test, the largest
    corners: NDArray[np.int64]  # (rows, items, 2): vertices of the hull's lower and upper side
    hull: NDArray[np.int64]  # (rows, items, 2, VERTICES, 2): these vertices (s, a), by rising s
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Explore item a, or display the items with the largest indices."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    indices = borrowed(rows * num_items, np.float64)
    fill_indices(s, indices)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        explored = (s.round[row] + 1 - s.restarted[row]) % s.period[row] - 1
        upper = indices[row * num_items : (row + 1) * num_items]
        if 0 <= explored < num_items:
            upper[explored] = math.inf
        if 0 <= explored < num_items and not s.best[row]:
            first_then_shuffled(s.order[row], explored, positions, seed)
        else:
            select_top(s.order, upper, row, positions, seed)
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(indices)


@kernel
def fill_indices(s, indices):
    """Fill ``indices`` (rows * items,) with the upper confidence bounds of all rows' items."""
    rows, num_items = s.order.shape
    means, levels = borrowed(rows * num_items, np.float64), borrowed(rows * num_items, np.float64)
    for row in range(rows):
        log_s = math.log(s.round[row] + 1 - s.restarted[row])
        budget = 1.5 * log_s
        if s.divergence[row]:
            budget = max(0.0, log_s + 3.0 * math.log(log_s)) if log_s > 0.0 else 0.0
        for item in range(num_items):
            n = max(s.observed[row, item], 1)
            means[row * num_items + item] = s.clicked[row, item] / n
            levels[row * num_items + item] = budget / n
    if s.divergence[0]:
        kl_upper_bounds(means, levels, indices)
    else:
        for i in range(rows * num_items):
            indices[i] = means[i] + math.sqrt(levels[i])
    for row in range(rows):
        for item in range(num_items):
            if s.observed[row, item] == 0:
                indices[row * num_items + item] = UNSEEN
    give_back(levels)
    give_back(means)


@kernel
def learn(s, displayed, clicks):
    """Append the observations, test the observed items, and restart if a test fires."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):
            item = displayed[row, k]
            s.observed[row, item] += 1
            s.clicked[row, item] += clicks[row, k]
            n, ones = s.observed[row, item], s.clicked[row, item]
            for side in range(2):
                s.corners[row, item, side] = append(
                    s.hull[row, item, side], s.corners[row, item, side], n, ones, LEAST if side == 0 else MOST
                )
            if changed(s, row, item, threshold(n, s.log_delta[row], s.theory[row])):
                restart(s, row)
                break


@kernel
def append(hull, size, n, ones, side):
    """Append (``n``, ``ones``) to a side of the hull (VERTICES, 2), which has ``size`` vertices; return its new size.

    Slopes rise along the lower side and fall along the upper one: vertices behind which they would not are removed.
    """
    while size >= 2:
        s1, a1, s2, a2 = hull[size - 2, 0], hull[size - 2, 1], hull[size - 1, 0], hull[size - 1, 1]
        turn = (a2 - a1) * (n - s1) - (ones - a1) * (s2 - s1)
        if turn * side > 0:
            break
        size -= 1
    if size == hull.shape[0]:
        for place in range(1, size):
            hull[place - 1, 0], hull[place - 1, 1] = hull[place, 0], hull[place, 1]
        size -= 1
    hull[size, 0], hull[size, 1] = n, ones
    return size + 1


@kernel
def changed(s, row, item, beta):
    """Whether the generalised likelihood ratio of the item's observations reaches ``beta``."""
    n, ones = s.observed[row, item], s.clicked[row, item]
    alone = log_likelihood(ones, n)
    if s.likelihood[row, item] - alone < beta:
        return False
    most = alone
    for side in range(2):
        for place in range(s.corners[row, item, side]):
            first, a = s.hull[row, item, side, place, 0], s.hull[row, item, side, place, 1]
            most = max(most, log_likelihood(a, first) + log_likelihood(ones - a, n - first))
    s.likelihood[row, item] = most
    return most - alone >= beta


@kernel
def log_likelihood(ones, n):
    """The largest log-likelihood of ``n`` coins of one bias, ``ones`` of which show 1; 0 log 0 is 0."""
    zeros = n - ones
    return ones * logarithm(max(1.0, ones)) + zeros * logarithm(max(1.0, zeros)) - n * logarithm(max(1.0, n))


@kernel
def threshold(n, log_delta, theory):
    """beta(n), with ``log_delta`` = log(3 / delta)."""
    log_n = logarithm(np.float64(n))
    x = log_delta + 1.5 * log_n
    if not theory:
        return x
    x *= 0.5
    return 2.0 * (x + 4.0 * math.log(1.0 + x + math.sqrt(2.0 * x))) + 6.0 * math.log(1.0 + log_n)


@kernel
def restart(s, row):
    """Forget all observations of the row; the next round is the first after tau."""
    s.restarted[row] = s.round[row]
    s.restarts[row] += 1
    for item in range(s.order.shape[1]):
        s.observed[row, item], s.clicked[row, item], s.likelihood[row, item] = 0, 0, 0.0
        for side in range(2):
            s.corners[row, item, side] = 1
            s.hull[row, item, side, 0, 0], s.hull[row, item, side, 0, 1] = 0, 0


class GLRTCascade(KernelAgent):
    """GLRT-CascadeKL-UCB: CascadeKL-UCB that restarts when a likelihood-ratio test finds a change.

    Takes about 1.6 kB of memory per row and item.

    Args:
        index: the upper confidence bound, ``"kl-ucb"``, or ``"ucb"`` for GLRT-CascadeUCB.
        exploration: p, the share of rounds that explore, in (0, 1); default sqrt(log n / n) for the horizon n, which is
            ours: less than the theory's sqrt(N L log n / n) for N segments, as the indices explore too.
        delta: probability of a false alarm, in (0, 1); default 1 / n for the horizon n.
        threshold: of the test, ``"practical"`` or that of the ``"theory"``.
        filler: what follows the explored item, ``"random"`` items, or the ``"best"`` by their indices (ours: cheaper).
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``initial_list`` is ignored.

    Raises:
        ValueError: an argument is out of range, or ``exploration`` or ``delta`` is left out and the horizon, too.

    References:
        Wang, Zhou, Li, Varshney and Zhao, AAAI 2021.

    Examples:
        >>> from rankgym_agents import GLRTCascade
        >>> agent = GLRTCascade(num_items=2, num_positions=1, exploration=0.1, delta=0.01, seed=0)
        >>> for round in range(200):  # item 0 is clicked in the first half, item 1 in the second
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed == round // 100)
        >>> agent.state.restarts.tolist(), agent.state.restarted.tolist()  # one change was found, after so many rounds
        ([1], [104])
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(
        self,
        *,
        index: str = "kl-ucb",
        exploration: float | None = None,
        delta: float | None = None,
        threshold: str = "practical",
        filler: str = "random",
        feedback: str = "first",
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        items = self.num_items
        if exploration is None:
            n = min(self.known_horizon("exploration"), NEVER)
            share = math.sqrt(math.log(n) / n)
        else:
            share = open_unit("exploration", exploration)
        log_inv_delta = math.log(self.known_horizon("delta")) if delta is None else -math.log(open_unit("delta", delta))
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                restarted=0,
                restarts=0,
                period=NEVER if items >= share * NEVER else math.floor(items / share),
                log_delta=math.log(3) + log_inv_delta,
                theory=one_of("threshold", threshold, THRESHOLDS),
                divergence=one_of("index", index, INDICES),
                best=one_of("filler", filler, FILLERS),
                feedback=one_of("feedback", feedback, FEEDBACK),
            ),
            **self.filled(items, observed=0, clicked=0, likelihood=0.0),
            **self.filled(items, 2, corners=1),
            **self.filled(items, 2, VERTICES, 2, hull=0),
            **self.filled(items, order=np.arange(items)),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen, unless the round explores."""
        indices = np.empty(self.num_envs * self.num_items)
        fill_indices(self.state, indices)
        mine = indices.reshape(self.num_envs, -1)[row]
        name = "KL-UCB index" if self.state.divergence[row] else "UCB index"
        return Beliefs(scores={name: plain(np.where(mine == UNSEEN, math.inf, mine))})
