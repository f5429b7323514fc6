"""CascadeKL-UCB (Kveton, Szepesvari, Wen and Ashkan, "Cascading bandits: learning to rank in the cascade model", ICML
2015), Algorithm 1 with the KL upper confidence bounds of its section 3; comments give the listing's headings.

An item's index is U = max{q in [w, 1] : T kl(w, q) <= f(t)}, w being the mean and T the number of its observations and
f(t) = log t + 3 log log t; the list is the items of the largest indices. ``exploration="log"`` has f(t) = log t, as in
the authors' later code.

Where the paper is silent: its initial observation of every item takes the first L rounds, of which the t-th shows item
t first and the others shuffled, and t goes on counting from there; where f is negative it is taken as 0; ties are
broken at random.

In the cascade model there is at most one click, and the user has seen the items down to it. Other models may have
more clicks: ``feedback`` says which items then count as observed. Without a click everything displayed was observed.

The lines that comments give are those of a later listing of the same steps, Algorithm 1 of Li and de Rijke ("Cascading
non-stationary bandits", IJCAI 2019): 6 to 8 are the indices, 10 with equation 4 is the list, which leaves its order
open (here by decreasing index), and 21 to 24 are the statistics. That algorithm has other indices and another
beginning, and its lines 13 to 20 forget; here nothing is forgotten.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain
from rankgym.kernels import (
    FEEDBACK,
    MANY_ROWS,
    bits,
    borrowed,
    exponential,
    first_then_shuffled,
    give_back,
    kernel,
    last_observed,
    logarithm,
    session_seed,
)

EXPLORATION = {"log+3loglog": 3.0, "log": 0.0}
UNKNOWN = -1.0
ACCURACY = 2e-10  # of an index, as estimated before the last step; the promise is 1e-8
APART = 1e-7  # indices that differ by so much belong to other statistics: twice the promise is less
NOTHING = 1e-12  # a mean below it is taken as 0, which moves no index by 1e-8 and spares products that underflow


class State(NamedTuple):
    """What CascadeKL-UCB remembers. The leading axis is the row."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    loglog: NDArray[np.float64]  # (rows,): weight of log log t in f
    feedback: NDArray[np.int64]  # (rows,): a value of FEEDBACK
    observed: NDArray[np.int64]  # (rows, items): T, how often the item was observed
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then
    upper: NDArray[np.float64]  # (rows, items): U in the last round
    point: NDArray[np.float64]  # (rows, items): near U, where the search for the next one begins
    divergence: NDArray[np.float64]  # (rows, items): kl(w, point), or UNKNOWN
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Compute UCBs (lines 6 to 8); recommend the items with the largest ones (line 10)."""
    rows, positions = displayed.shape
    num_items = s.order.shape[1]
    found, budgets = borrowed(rows * num_items, np.bool_), borrowed(rows, np.float64)
    found[:] = False
    explore(s, budgets)
    if rows >= MANY_ROWS:
        one_step(s, budgets, positions, found)
    search(s, budgets, found)  # line 8
    for row in range(rows):
        if s.round[row] < num_items:  # initialization
            first_then_shuffled(s.order[row], s.round[row], positions, session_seed(s.key[row], s.round[row]))
        elif not in_order(s.order[row], s.upper[row], positions):
            select(s, row, positions)  # line 10
        for k in range(positions):
            displayed[row, k] = s.order[row, k]
    give_back(found)
    give_back(budgets)


@kernel
def search(s, budgets, found):
    """Compute the indices that are not ``found``. Those of items never observed, as others chose the lists, stay 1."""
    rows, num_items = s.order.shape
    for row in range(rows):
        if s.round[row] < num_items:
            continue
        for item in range(num_items):  # line 6
            if found[row * num_items + item]:
                continue
            observed = s.observed[row, item]
            if observed > 0:
                mean = s.clicked[row, item] / observed
                upper, point, divergence = kl_ucb_index(
                    mean, observed, budgets[row], s.point[row, item], s.divergence[row, item]
                )
                s.upper[row, item], s.point[row, item], s.divergence[row, item] = upper, point, divergence


@kernel
def learn(s, displayed, clicks):
    """Update statistics of the items that were observed (lines 21 to 24)."""
    for row in range(displayed.shape[0]):
        s.round[row] += 1
        for k in range(last_observed(clicks, row, s.feedback[row]) + 1):  # line 21
            item, click = displayed[row, k], clicks[row, k]  # line 22
            s.point[row, item] = moved(s.upper[row, item], s.clicked[row, item], s.observed[row, item], click)
            s.divergence[row, item] = UNKNOWN
            s.observed[row, item] += 1  # line 23
            s.clicked[row, item] += click  # line 24


@kernel
def moved(upper, clicked, observed, click):
    """About where one more observation moves an index: a first guess for the next round that spares most second steps.

    It follows the index's derivatives by mean and count, with kl(w, q) taken as (q - w)^2 over twice the variance that
    belongs to the mean half-way between w and q.
    """
    if not 0.0 < upper < 1.0:
        return upper
    middle = 0.5 * (upper + clicked / observed)
    return upper + (click - middle) / (observed + 1) * upper * (1.0 - upper) / (middle * (1.0 - middle))


@kernel
def explore(s, budgets):
    """Fill ``budgets`` (rows,) with each row's f(t)."""
    rounds, loglog, budget = -1, 0.0, 0.0
    for row in range(budgets.shape[0]):
        if s.round[row] != rounds or s.loglog[row] != loglog:  # most rows have those of the row before
            rounds, loglog = s.round[row], s.loglog[row]
            budget = exploration(rounds + 1, loglog)
        budgets[row] = budget


@kernel
def exploration(t, loglog):
    """f(t) = log t + loglog * log log t, or 0 where that is negative."""
    if t < 2:
        return 0.0
    log_t = math.log(t)
    return max(0.0, log_t + loglog * math.log(log_t))


@kernel
def kl_ucb_index(mean, count, budget, start, divergence):
    """max{q in [mean, 1] : count kl(mean, q) <= budget}, within 1e-8; also a point nearby and kl(mean, point).

    ``mean`` in [0, 1], ``count`` > 0, ``budget`` >= 0. The search begins at ``start``, any number; ``divergence`` is
    kl(mean, start) where that is known, else negative. While the mean stays, one point serves many rounds without a
    logarithm.

    Chebyshev's method, of third order, on the convex function kl(mean, q) - budget / count. Each point becomes one of
    two brackets, and a step that leaves them is replaced by a bisection.
    """
    level = budget / count
    if mean < NOTHING:
        return 1.0 - exponential(level), start, UNKNOWN
    if level < ACCURACY:  # the normal approximation errs by less than the level
        return min(1.0, mean + math.sqrt(2.0 * level * mean * (1.0 - mean))), start, UNKNOWN
    low, high, q = mean, 1.0, start
    if not low < q < high:
        high = min(1.0, mean + math.sqrt(level / 2))  # Pinsker's inequality
        q, divergence = 0.5 * (low + high), UNKNOWN
    while low < q < high:
        if divergence < 0.0:
            divergence = kl(mean, q)
        excess = divergence - level
        if excess > 0.0:
            high = q
        else:
            low = q
        root, near = step_from(q, mean, excess)
        if near:
            return min(max(root, low), high), q, divergence
        q, divergence = root if low < root < high else 0.5 * (low + high), UNKNOWN
    return high, high, UNKNOWN


@kernel
def step_from(q, mean, excess):
    """A step of Chebyshev's method from q, where kl(mean, q) is ``excess`` too large; whether it leads near enough."""
    rest, gap = 1.0 - q, q - mean
    scale = q * rest
    inverse = 1.0 / (scale * gap)  # the one division: 1 / q is rest * gap * inverse
    step = excess * scale * scale * inverse  # Newton's: excess over the slope, which is gap / scale
    bend = 0.5 * (mean * rest * rest + (1.0 - mean) * q * q) * inverse  # curvature over twice the slope
    turn = bend * step
    limited = turn if turn > -0.5 else -0.5
    limited = limited if limited < 0.5 else 0.5
    error = abs(turn * step * step) * (bend + gap * inverse)  # the next step's size, from above
    return q - step * (1.0 + limited), (abs(turn) < 0.1) & (error < ACCURACY)


@kernel
def kl(mean, q):
    """The divergence kl(mean, q) of two Bernoulli distributions, 0 < ``mean`` < ``q`` < 1."""
    rest, gap = 1.0 - q, q - mean
    unit = gap * (1.0 / (q * rest * gap))
    return mean * logarithm(mean * rest * unit) + (1.0 - mean) * logarithm((1.0 - mean) * q * unit)


@kernel
def one_step(s, budgets, positions, found):
    """Fill in the indices for which ``kl_ucb_index`` takes one step, which is most of them, and mark them in ``found``.

    The divergences that it needs come first, so that ``step_all`` has no branches.
    """
    spread = np.empty(s.order.shape)
    refresh(s, budgets, positions, spread)
    step_all(
        s.clicked.ravel(), s.observed.ravel(), spread.ravel(), s.point.ravel(), s.divergence.ravel(),
        s.upper.ravel(), found,
    )  # fmt: skip


@kernel
def refresh(s, budgets, positions, spread):
    """Fill ``spread`` (rows, items) with the rows' budgets; compute the divergences that the last list made unknown.

    These are the first ones of ``order``, down to the last observed position. Others, which are unknown where somebody
    else chose the list or no divergence is needed, are left to ``kl_ucb_index``.
    """
    rows, num_items = spread.shape
    size, count = rows * positions, 0
    entries, means, points = borrowed(size, np.int64), borrowed(size, np.float64), borrowed(size, np.float64)
    for row in range(rows):
        for item in range(num_items):
            spread[row, item] = budgets[row]
        for place in range(positions):
            item = s.order[row, place]
            if s.divergence[row, item] >= 0.0:
                break
            if s.observed[row, item] > 0:
                mean = s.clicked[row, item] / s.observed[row, item]
                if mean >= NOTHING and mean < s.point[row, item] < 1.0:
                    entries[count], means[count], points[count] = row * num_items + item, mean, s.point[row, item]
                    count += 1
    divergences(means, points, count)
    known = s.divergence.ravel()
    for i in range(count):
        known[entries[i]] = means[i]
    give_back(points)
    give_back(means)
    give_back(entries)


@kernel
def divergences(means, points, count):
    """Overwrite the first ``count`` means with the divergences to their points: the compiler makes vectors of them."""
    for i in range(count):
        means[i] = kl(means[i], points[i])


@kernel
def step_all(clicked, observed, budget, point, divergence, upper, found):
    """Take the step for all rows' items (entries,), at once: the compiler makes vectors of them."""
    for i in range(found.shape[0]):
        mean, level, q = clicked[i] / observed[i], budget[i] / observed[i], point[i]
        excess = divergence[i] - level
        root, near = step_from(q, mean, excess)
        low, high = mean, q
        if excess <= 0.0:
            low, high = q, 1.0
        root = root if root > low else low
        root = root if root < high else high
        never = mean < NOTHING
        root = 1.0 - exponential(level) if never else root
        done = (mean >= NOTHING) & (level >= ACCURACY) & (divergence[i] >= 0.0) & (mean < q) & (q < 1.0) & near
        done |= never
        found[i] = done
        upper[i] = root if done else upper[i]


@kernel
def in_order(order, upper, positions):
    """Whether the row's list is right as it is: all indices decrease down it and from it to the rest, by ``APART``.

    Mostly it is. This asks for no random word, and what it loads does not wait for a comparison.
    """
    last, right = upper[order[0]], True
    for place in range(1, positions):
        index = upper[order[place]]
        right &= last - index >= APART
        last = index
    for place in range(positions, order.shape[0]):
        right &= last - upper[order[place]] >= APART
    return right


@kernel
def select(s, row, positions):
    """Bring the row's items of the largest indices to the front of ``order``, in decreasing order of their indices.

    Equal indices are ordered by the items' random words of this round. Equal statistics are equal indices, whatever the
    last bits of their approximations say.
    """
    order, seed = s.order, session_seed(s.key[row], s.round[row])
    for place in range(order.shape[1]):
        i, k = order[row, place], place
        while k > 0:
            above = min(k, positions) - 1  # from below the list an item climbs to its last place at once
            j = order[row, above]
            lead = s.upper[row, i] - s.upper[row, j]
            ahead = lead > 0.0
            if abs(lead) < APART:
                same = s.observed[row, i] == s.observed[row, j] and s.clicked[row, i] == s.clicked[row, j]
                if same or lead == 0.0:
                    ahead = bits(seed, i) > bits(seed, j)
            if not ahead:
                break
            order[row, k] = j
            k = above
        order[row, k] = i


class CascadeKLUCB(KernelAgent):
    """CascadeKL-UCB: displays the items with the largest KL upper confidence bounds, in order.

    Args:
        exploration: ``"log+3loglog"`` for f(t) = log t + 3 log log t, ``"log"`` for f(t) = log t.
        feedback: the items that count as observed after clicks: those down to the ``"first"`` or the ``"last"`` click,
            or ``"all"`` of them.
        **shape: as in ``Agent``. ``horizon`` and ``initial_list`` are ignored.

    Raises:
        ValueError: an argument is out of range.

    References:
        Kveton, Szepesvari, Wen and Ashkan, ICML 2015, Algorithm 1.

    Examples:
        >>> from rankgym_agents import CascadeKLUCB
        >>> agent = CascadeKLUCB(num_items=3, num_positions=1, exploration="log", seed=0)
        >>> for clicked in (1, 0, 0):  # first, every item is displayed once; item 0 is clicked
        ...     agent.update(agent.act(), [[clicked]])
        >>> [round(index, 3) for index in agent.beliefs().scores["KL-UCB index"]]
        [1.0, 0.75, 0.75]
        >>> agent.act().tolist()
        [[0]]
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, exploration: str = "log+3loglog", feedback: str = "first", **shape: Any) -> None:
        super().__init__(**shape)
        items = self.num_items
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                loglog=one_of("exploration", exploration, EXPLORATION),
                feedback=one_of("feedback", feedback, FEEDBACK),
            ),
            **self.filled(
                items, observed=0, clicked=0, upper=1.0, point=1.0, divergence=UNKNOWN, order=np.arange(items)
            ),
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The indices by which the next list is chosen; 1 for items not observed yet."""
        s, budget = self.state, exploration(self.state.round[row] + 1, self.state.loglog[row])
        upper = [
            kl_ucb_index(clicked / observed, observed, budget, point, UNKNOWN)[0] if observed > 0 else 1.0
            for clicked, observed, point in zip(s.clicked[row], s.observed[row], s.point[row], strict=True)
        ]
        return Beliefs(scores={"KL-UCB index": plain(upper)})
