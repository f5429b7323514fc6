"""BatchRank (Zoghi, Tunys, Ghavamzadeh, Kveton, Szepesvari and Wen, "Online learning to rank in stochastic click
models", ICML 2017); comments name the procedures of its listing.

The items are in batches, and each batch has some neighbouring positions to itself: at first one batch of all items has
all positions. Within a batch the order is random, so that the clicks of its items can be compared. At a check their KL
confidence bounds cut the batch where all items above are better than all below; a batch with more items than positions
loses the items that are certainly not among its best.

``schedule="authors"``, the default, is what the authors used in their experiments. All items of a batch are shuffled
uniformly in every round, and everything displayed counts. The first check comes when each item of the batch was
displayed log(L T) / delta^2 times for delta = 1/2; delta is halved at each check that changes nothing. The bounds of an
item displayed N times have N kl(w, q) <= log(L T). A check eliminates, and cuts at every place where it can. A
changed batch starts with cleared counters and delta = 1/2; without a change the counters are kept.

``schedule="paper"`` is the listing. Stage l, from 0, ends when each item was observed n = ceil(16 4^l log T) times; the
bounds have n kl(w, q) <= log T + 3 log log T, and each stage starts from zero. The least observed items of a batch are
displayed, at random positions of its own, and those observed more often than others do not count. A stage ends with one
cut, at the highest numbered place that allows it, or else with eliminations.

How the listing is read. It moves a batch to its next stage only where it has more items than positions; another batch
would stay in its stage, shuffled, forever: here it moves to its next stage, too. Where the exponent is negative
(T <= 2) it is taken as 0, and for T = 1 stage l ends after 4^l observations of each item. In both schedules a batch of
a single item is not checked, and an item counts only at a position of its own batch (it may be elsewhere if another
agent chose the list).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain
from rankgym.kernels import borrowed, draw_item, give_back, kernel, session_seed, shuffle

SCHEDULE = {"authors": False, "paper": True}
ACCURACY = 1e-9  # width of the interval in which a bound is found; the promise is 1e-8


class State(NamedTuple):
    """What BatchRank remembers. The leading axis is the row; a batch goes by its first position, from 0."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from; the paper's t is one more
    paper: NDArray[np.bool_]  # (rows,): whether the schedule is the paper's
    exponent: NDArray[np.float64]  # (rows,): of the bounds: N kl(w, q) <= exponent
    unit: NDArray[np.float64]  # (rows,): stage l ends when each item was counted unit 4^l times
    order: NDArray[np.int64]  # (rows, items): items batch by batch, rising within a batch; behind them the eliminated
    batch_of: NDArray[np.int64]  # (rows, items): the item's batch; num_items for an eliminated one
    size: NDArray[np.int64]  # (rows, items): items of the batch, at its first position
    stage: NDArray[np.int64]  # (rows, items): stage of the batch, likewise; the authors' delta is 2^-(stage + 1)
    counted: NDArray[np.int64]  # (rows, items): how often the item was displayed since its counters were cleared
    clicked: NDArray[np.int64]  # (rows, items): how often it was clicked then
    lower: NDArray[np.float64]  # (rows, items): lower confidence bound at the last check
    upper: NDArray[np.float64]  # (rows, items): upper confidence bound at the last check


@kernel
def rank(s, displayed):
    """DisplayBatch for all batches: place p takes the bits numbered p of the round's seed; the paper's, more."""
    rows, positions = displayed.shape
    items = borrowed(s.order.shape[1], np.int64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        for place in range(items.shape[0]):
            items[place] = s.order[row, place]
        stop = 0
        for place in range(positions):
            if place == stop:
                stop += s.size[row, place]
                if s.paper[row]:
                    least_observed_first(items, s.counted[row], place, stop, min(stop, positions), seed)
            displayed[row, place] = items[place] if s.paper[row] else draw_item(items, place, stop, seed)
    give_back(items)


@kernel
def learn(s, displayed, clicks):
    """CollectClicks and UpdateBatch for all batches; each has its own items, so one may end before the next begins."""
    rows, positions = displayed.shape
    for row in range(rows):
        first = 0
        while first < positions:
            stop = first + s.size[row, first]
            if stop - first > 1:
                collect_clicks(s, row, first, min(stop, positions), displayed, clicks)
                if enough(s, row, first, stop):
                    update_batch(s, row, first, stop, min(stop, positions))
            first = stop
        s.round[row] += 1


@kernel
def least_observed_first(items, counted, first, stop, shown, seed):
    """Choose and arrange ``items[first:shown]`` out of the batch ``items[first:stop]`` as the paper does.

    Counts differ by one at most. Ties in the choice take the bits numbered by places, the positions those behind them.
    """
    least = counted[items[first]]
    for place in range(first + 1, stop):
        least = min(least, counted[items[place]])
    more = first
    for place in range(first, stop):
        item = items[place]
        if counted[item] == least:  # to the front, without disturbing the order of either kind
            for back in range(place, more, -1):
                items[back] = items[back - 1]
            items[more] = item
            more += 1
    shuffle(items, first, more, shown - first, seed, 0)
    shuffle(items, more, stop, shown - more, seed, 0)
    shuffle(items, first, shown, shown - first, seed, items.shape[0])


@kernel
def collect_clicks(s, row, first, shown, displayed, clicks):
    """CollectClicks for the batch at positions ``first`` .. ``shown`` - 1."""
    least = 0
    if s.paper[row]:
        least = fewest(s.order[row], s.counted[row], first, first + s.size[row, first])
    for k in range(first, shown):
        item = displayed[row, k]
        if s.batch_of[row, item] == first and (not s.paper[row] or s.counted[row, item] == least):
            s.counted[row, item] += 1
            s.clicked[row, item] += clicks[row, k]


@kernel
def enough(s, row, first, stop):
    """Whether each item of the batch ``order[first:stop]`` was counted as often as its stage asks."""
    end = s.unit[row] * (1 << 2 * s.stage[row, first])
    for place in range(first, stop):  # noqa: SIM110  numba compiles no generators
        if s.counted[row, s.order[row, place]] < end:
            return False
    return True


@kernel
def fewest(order, counted, first, stop):
    """The least count of an item in ``order[first:stop]``."""
    least = counted[order[first]]
    for place in range(first + 1, stop):
        least = min(least, counted[order[place]])
    return least


@kernel
def update_batch(s, row, first, stop, shown):
    """UpdateBatch: the end of a stage of the batch ``order[first:stop]``, of which ``shown`` - ``first`` are shown."""
    sort_by_lower_bound(s, row, first, stop)
    kept = stop
    if not s.paper[row]:
        kept = eliminate(s, row, first, stop, shown)
    end = cut(s, row, first, kept, shown)
    changed = kept < stop or end < kept
    if s.paper[row] and not changed:
        end = eliminate(s, row, first, stop, shown)
    begin(s, row, first, end, 0 if changed else s.stage[row, first] + 1, changed or s.paper[row])


@kernel
def sort_by_lower_bound(s, row, first, stop):
    """Compute the bounds of the items in ``order[first:stop]`` and sort these by falling lower bounds."""
    for place in range(first, stop):
        item = s.order[row, place]
        s.lower[row, item] = kl_lower(s.clicked[row, item], s.counted[row, item], s.exponent[row])
        s.upper[row, item] = kl_upper(s.clicked[row, item], s.counted[row, item], s.exponent[row])
        while place > first and s.lower[row, s.order[row, place - 1]] < s.lower[row, item]:
            s.order[row, place] = s.order[row, place - 1]
            place -= 1
        s.order[row, place] = item


@kernel
def eliminate(s, row, first, stop, shown):
    """Remove the items surely worse than the one at the last displayed place; the place behind those that stay."""
    bar = s.lower[row, s.order[row, shown - 1]]
    kept = first
    for place in range(first, stop):
        item = s.order[row, place]
        if s.upper[row, item] >= bar:
            s.order[row, place], s.order[row, kept] = s.order[row, kept], item
            kept += 1
        else:
            s.batch_of[row, item] = s.order.shape[1]
    return kept


@kernel
def cut(s, row, first, stop, shown):
    """Cut at places where the lower bound exceeds all upper bounds below, at one at most in the paper's schedule.

    The lower parts become batches; returns the place behind the uppermost part, ``stop`` if there is no cut.
    """
    end, highest = stop, 0.0
    for place in range(stop - 1, first, -1):
        highest = max(highest, s.upper[row, s.order[row, place]])
        if place < shown and s.lower[row, s.order[row, place - 1]] > highest:
            begin(s, row, place, end, 0, True)
            end = place
            if s.paper[row]:
                return end
    return end


@kernel
def begin(s, row, first, stop, stage, clear):
    """Make ``order[first:stop]`` a batch of this stage, rising within it; with cleared counters or the old ones."""
    s.size[row, first], s.stage[row, first] = stop - first, stage
    for place in range(first, stop):
        item = s.order[row, place]
        s.batch_of[row, item] = first
        if clear:
            s.counted[row, item] = s.clicked[row, item] = 0
        while place > first and s.order[row, place - 1] > item:
            s.order[row, place] = s.order[row, place - 1]
            place -= 1
        s.order[row, place] = item


@kernel
def kl_lower(clicked, counted, exponent):
    """min{q in [0, w] : counted kl(w, q) <= exponent}, w = clicked / counted, within 1e-8: the same on failures."""
    return min(clicked / counted, 1.0 - kl_upper(counted - clicked, counted, exponent))


@kernel
def kl_upper(clicked, counted, exponent):
    """max{q in [w, 1] : counted kl(w, q) <= exponent}, w = clicked / counted, within 1e-8.

    0 <= ``clicked`` <= ``counted``, ``counted`` > 0, ``exponent`` >= 0. Newton's method on the convex function
    kl(w, q): its step never ends left of the root, so a point just left of where it ends closes the interval as soon as
    the step is exact enough. A step out of the interval is replaced by a bisection.
    """
    mean, level = clicked / counted, exponent / counted
    if clicked == counted or level <= 0.0:
        return mean
    if clicked == 0:
        return 1.0 - math.exp(-level)
    low, high = mean, min(1.0, mean + math.sqrt(level / 2))  # Pinsker's inequality
    q = 0.5 * (low + high)
    while high - low > ACCURACY:
        excess = mean * math.log(mean / q) + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - q)) - level
        if excess > 0.0:
            high = q
        else:
            low = q
        root = q - excess * q * (1.0 - q) / (q - mean)
        if low < root < high:
            high, q = root, root - 0.5 * ACCURACY
        else:
            q = 0.5 * (low + high)
    return 0.5 * (low + high)


class BatchRank(KernelAgent):
    """BatchRank: cuts the list into batches as their order becomes certain, and shuffles each batch.

    Args:
        schedule: when batches are checked and which clicks count: as in the ``"authors"``' code or in the ``"paper"``.
        **shape: as in ``Agent``. ``horizon`` is T, and required. ``initial_list`` is ignored.

    Raises:
        ValueError: ``horizon`` is missing, or an argument is out of range.

    References:
        Zoghi, Tunys, Ghavamzadeh, Kveton, Szepesvari and Wen, ICML 2017, Algorithm 1.

    Examples:
        >>> from rankgym_agents import BatchRank
        >>> agent = BatchRank(num_items=4, num_positions=2, horizon=100, seed=0)
        >>> for _ in range(100):  # users who click items 1 and 3 wherever they see them
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed % 2 == 1)
        >>> beliefs = agent.beliefs()
        >>> beliefs.blocks, sorted(beliefs.out)  # the batches by position, and the items eliminated
        (((1, 3),), [0, 2])
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, schedule: str = "authors", **shape: Any) -> None:
        super().__init__(**shape)
        paper = one_of("schedule", schedule, SCHEDULE)
        if self.horizon is None:
            raise ValueError("horizon = None is missing; allowed: a whole number, at least 1: the bounds need it")
        items = self.num_items
        log_t = math.log(self.horizon)
        if paper:
            exponent = max(0.0, log_t + 3 * math.log(log_t)) if self.horizon > 1 else 0.0
            unit = max(1.0, 16 * log_t)  # for T = 1
        else:
            exponent = math.log(items) + log_t
            unit = 4 * exponent
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, paper=paper, exponent=exponent, unit=unit),
            **self.filled(
                items,
                order=np.arange(items),
                batch_of=0,
                size=items,
                stage=0,
                counted=0,
                clicked=0,
                lower=0.0,
                upper=1.0,
            ),
        )

    def settled(self) -> NDArray[np.bool_]:
        """True where each displayed position is a batch of its own: such batches are never checked."""
        return np.asarray((self.state.size[:, : self.num_positions] == 1).all(1))

    def beliefs(self, row: int = 0) -> Beliefs:
        """The batches by their positions, the items eliminated, and the confidence bounds of the last check."""
        s, blocks, first = self.state, [], 0
        while first < self.num_positions:
            blocks.append(plain(s.order[row, first : first + s.size[row, first]]))
            first += len(blocks[-1])
        bounds = {"lower bound": plain(s.lower[row]), "upper bound": plain(s.upper[row])}
        return Beliefs(blocks=tuple(blocks), out=plain(s.order[row, first:]), scores=bounds)
