"""AdaptiveIndex: prototype."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import KernelAgent
from rankgym.kernels import (
    NODES,
    borrowed,
    exceeded,
    give_back,
    kernel,
    logarithm,
    posterior,
    select_top,
    session_seed,
)

GROWTH = 10
LEAST = 0.1

# columns of `weights`
EXPLORATION, POWER, TEMPER, DOUBT = range(4)
NETWORK = 4


class State(NamedTuple):
    key: NDArray[np.uint64]  # (rows,)
    round: NDArray[np.int64]  # (rows,)
    horizon: NDArray[np.int64]  # (rows,)
    next_estimate: NDArray[np.int64]  # (rows,)
    by_clicks: NDArray[np.bool_]  # (rows,)
    weights: NDArray[np.float64]  # (rows, weights)
    log_share: NDArray[np.float64]  # (rows, hypotheses)
    a: NDArray[np.float64]  # (rows, items, hypotheses)
    b: NDArray[np.float64]  # (rows, items, hypotheses)
    look: NDArray[np.float64]  # (rows, kinds, positions, 2): prior of examination
    leave: NDArray[np.float64]  # (rows, kinds, positions, 2): prior of termination
    evidence: NDArray[np.float64]  # (rows, items, hypotheses)
    support: NDArray[np.float64]  # (rows, kinds): log
    best: NDArray[np.int64]  # (rows,)
    clicked: NDArray[np.float64]  # (rows, items)
    clicked_at: NDArray[np.float64]  # (rows, positions)
    prior: NDArray[np.float64]  # (rows, kinds, items, 2)
    missed: NDArray[np.float64]  # (rows, kinds, items, positions)
    examination: NDArray[np.float64]  # (rows, kinds, positions)
    termination: NDArray[np.float64]  # (rows, kinds, positions)
    left: NDArray[np.float64]  # (rows, kinds, positions)
    clicks: NDArray[np.float64]  # (rows, positions)
    survival: NDArray[np.float64]  # (rows, kinds, items, nodes)
    centre: NDArray[np.float64]  # (rows, kinds, items)
    width: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    order: NDArray[np.int64]  # (rows, items)


@kernel
def rank(s, displayed):
    rows, positions = displayed.shape
    items = s.order.shape[1]
    index, place = borrowed(items, np.float64), borrowed(positions, np.int64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        u = s.best[row]
        left = max(1, s.horizon[row] - s.round[row])
        share = 1.0 / (1.0 + s.weights[row, EXPLORATION] * left ** s.weights[row, POWER])
        for item in range(items):
            index[item] = exceeded(s.survival[row, u, item], s.centre[row, u, item], s.width[row, u, item], share)
        select_top(s.order, index, row, positions, seed)
        arrange(s, row, u, place)
        for k in range(positions):
            displayed[row, k] = place[k]
    give_back(place)
    give_back(index)


@kernel
def arrange(s, row, u, place):
    """Fill ``place``: items of order by examination, then exchanges while they promise more clicks."""
    positions = place.shape[0]
    for k in range(positions):
        higher = 0
        for j in range(positions):
            e, f = s.examination[row, u, j], s.examination[row, u, k]
            higher += (e > f) | ((e == f) & (j < k))
        place[k] = s.order[row, higher]
    if not s.by_clicks[row] or s.leave[row, u, 0, 0] == 0.0 or s.leave[row, u, 0, 1] == 0.0:
        return
    worth = expected(s, row, u, place)
    improved, tries = True, 0
    while improved and tries < 3:
        improved = False
        tries += 1
        for j in range(positions - 1):
            for k in range(j + 1, positions):
                place[j], place[k] = place[k], place[j]
                new = expected(s, row, u, place)
                if new > worth * (1.0 + 1e-9):
                    worth, improved = new, True
                else:
                    place[j], place[k] = place[k], place[j]


@kernel
def expected(s, row, u, place):
    stay, total = 1.0, 0.0
    for k in range(place.shape[0]):
        click = stay * s.examination[row, u, k] * s.mean[row, u, place[k]]
        total += click
        stay -= click * s.termination[row, u, k]
    return total


@kernel
def learn(s, displayed, clicks):
    rows, positions = displayed.shape
    items, kinds = s.missed.shape[2], s.missed.shape[1]
    room, missed = borrowed(4 * NODES, np.float64), borrowed(items, np.float64)
    log_w = borrowed(s.a.shape[2], np.float64)
    for row in range(rows):
        last = -1
        for k in range(positions):
            if clicks[row, k] != 0:
                if last >= 0:
                    s.clicks[row, last] += 1.0
                last = k
                s.clicked[row, displayed[row, k]] += 1.0
                s.clicked_at[row, k] += 1.0
        if last >= 0 and last < positions - 1:
            s.clicks[row, last] += 1.0
        s.round[row] += 1
        due = s.round[row] >= s.next_estimate[row]
        if due:
            s.next_estimate[row] += 1 + s.round[row] // GROWTH
        for u in range(kinds):
            if s.support[row, u] > -np.inf:
                read(s, row, u, displayed, clicks, last)
                if due:
                    estimate_examination(s, row, u, missed, room)
                    weigh(s, row, u, room, log_w)
                    for item in range(items):
                        update(s, row, u, item, room)
                else:
                    for k in range(positions):
                        update(s, row, u, displayed[row, k], room)
        choose(s, row)
    give_back(log_w)
    give_back(missed)
    give_back(room)


@kernel
def read(s, row, u, displayed, clicks, last):
    """Support of the kind from the session, expected views without a click, and who left."""
    positions = displayed.shape[1]
    gain, ignored = 0.0, 1.0
    for k in range(positions):
        item = displayed[row, k]
        chance = s.examination[row, u, k] * s.mean[row, u, item]
        if k > last:
            ignored *= 1.0 - chance
        elif clicks[row, k] != 0:
            gain += math.log(chance)
            if k < last:
                gain += math.log(1.0 - s.termination[row, u, k]) if s.termination[row, u, k] < 1.0 else -np.inf
        else:
            gain += math.log(1.0 - chance)
            s.missed[row, u, item, k] += 1.0
    stayed = 1.0
    if last >= 0 and last < positions - 1:
        v = s.termination[row, u, last]
        ignored *= 1.0 - v
        stayed = ignored / (v + ignored)
        ignored += v
        s.left[row, u, last] += 1.0 - stayed
    gain += math.log(ignored)
    s.support[row, u] += gain
    for k in range(last + 1, positions):
        s.missed[row, u, displayed[row, k], k] += stayed
    for k in range(positions):
        a, b = s.leave[row, u, k, 0], s.leave[row, u, k, 1]
        if a > 0.0 and b > 0.0:
            s.termination[row, u, k] = (a + s.left[row, u, k]) / (a + b + s.clicks[row, k])


@kernel
def choose(s, row):
    kinds = s.support.shape[1]
    best = s.best[row]
    for u in range(kinds):
        if s.support[row, u] > s.support[row, best]:
            best = u
    s.best[row] = best
    for u in range(kinds):
        if s.support[row, u] < s.support[row, best] - s.weights[row, DOUBT]:
            s.support[row, u] = -np.inf


@kernel
def update(s, row, u, item, room):
    s.centre[row, u, item], s.width[row, u, item], s.mean[row, u, item], s.deviation[row, u, item] = posterior(
        s.clicked[row, item], s.missed[row, u, item], s.examination[row, u], s.prior[row, u, item, 0],
        s.prior[row, u, item, 1], s.survival[row, u, item], room[:NODES], room[NODES : 2 * NODES],
        room[2 * NODES : 3 * NODES],
    )  # fmt: skip


@kernel
def estimate_examination(s, row, u, missed, room):
    items, positions = s.missed.shape[2], s.missed.shape[3]
    for k in range(1, positions):
        if s.look[row, u, k, 1] > 0.0:
            for item in range(items):
                missed[item] = s.missed[row, u, item, k]
            _, _, s.examination[row, u, k], _ = posterior(
                s.clicked_at[row, k], missed, s.mean[row, u], s.look[row, u, k, 0], s.look[row, u, k, 1],
                room[3 * NODES :], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
            )  # fmt: skip


@kernel
def log_beta(a, b):
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


@kernel
def log_gamma(x):
    """But for a constant log(2 pi) / 2 that cancels... in ratios of Betas."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    return (x - 0.5) * logarithm(x) - x + 1.0 / (12.0 * x) - 1.0 / (360.0 * x * x * x) - logarithm(product)


@kernel
def weigh(s, row, u, room, log_w):
    """Each item's prior from the evidence of all other items for each hypothesis."""
    items, hypotheses = s.a.shape[1], s.a.shape[2]
    temper = s.weights[row, TEMPER]
    for h in range(hypotheses):
        log_w[h] = 0.0
    for item in range(items):
        _, _, mean, deviation = posterior(
            s.clicked[row, item], s.missed[row, u, item], s.examination[row, u], 1.0, 1.0,
            room[3 * NODES :], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
        )  # fmt: skip
        size = mean * (1.0 - mean) / (deviation * deviation) - 1.0
        clicked, missed = max(0.0, mean * size - 1.0), max(0.0, (1.0 - mean) * size - 1.0)
        for h in range(hypotheses):
            a, b = s.a[row, item, h], s.b[row, item, h]
            s.evidence[row, item, h] = temper * (log_beta(a + clicked, b + missed) - log_beta(a, b))
            log_w[h] += s.evidence[row, item, h]
    for item in range(items):
        top = -np.inf
        for h in range(hypotheses):
            top = max(top, s.log_share[row, h] + log_w[h] - s.evidence[row, item, h])
        total, first, second = 0.0, 0.0, 0.0
        for h in range(hypotheses):
            share = math.exp(s.log_share[row, h] + log_w[h] - s.evidence[row, item, h] - top)
            a, b = s.a[row, item, h], s.b[row, item, h]
            m = a / (a + b)
            total += share
            first += share * m
            second += share * m * (a + 1.0) / (a + b + 1.0)
        first, second = first / total, second / total
        size = (first - second) / (second - first * first)
        s.prior[row, u, item, 0] = max(LEAST, first * size)
        s.prior[row, u, item, 1] = max(LEAST, (1.0 - first) * size)


@kernel
def update_all(s):
    room, log_w = borrowed(4 * NODES, np.float64), borrowed(s.a.shape[2], np.float64)
    for row in range(s.missed.shape[0]):
        for u in range(s.missed.shape[1]):
            for item in range(s.missed.shape[2]):
                update(s, row, u, item, room)
            weigh(s, row, u, room, log_w)
            for item in range(s.missed.shape[2]):
                update(s, row, u, item, room)
        choose(s, row)
    give_back(log_w)
    give_back(room)


DEFAULT = np.array([0.1, 1.0, 1.0, 8.0])


class AdaptiveIndex(KernelAgent):
    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, order: str = "clicks", weights: Any = None, table: Any = None, users: Any = None, **shape: Any) -> None:
        super().__init__(**shape)
        rows, items, positions = self.num_envs, self.num_items, self.num_positions
        w = DEFAULT if weights is None else np.asarray(weights, float)
        shares, by_rank = table if table is not None else (np.array([0.0]), np.ones((10, 1, 2)))  # (H,), (10, H, 2)
        hyp = by_rank[np.minimum(np.arange(items), len(by_rank) - 1)]  # (items, H, 2)
        per = np.empty((rows, items, hyp.shape[1], 2))
        for row in range(rows):
            per[row, self.initial_list[row]] = hyp
        log_u, look, leave = users  # (U,), (U, P, 2), (U, P, 2)
        places = np.minimum(np.arange(positions), look.shape[1] - 1)
        look, leave, kinds = look[:, places], leave[:, places], len(log_u)
        kappa, v = look[..., 0] / look.sum(2), leave[..., 0] / leave.sum(2)
        kappa[:, 0] = 1.0
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, horizon=self.horizon, next_estimate=1, by_clicks=order == "clicks", best=0),
            weights=np.ascontiguousarray(np.broadcast_to(w, (rows, w.shape[-1]))),
            log_share=np.tile(shares, (rows, 1)),
            a=np.ascontiguousarray(per[..., 0]),
            b=np.ascontiguousarray(per[..., 1]),
            look=np.tile(look, (rows, 1, 1, 1)),
            leave=np.tile(leave, (rows, 1, 1, 1)),
            support=np.tile(log_u, (rows, 1)),
            prior=np.ones((rows, kinds, items, 2)),
            evidence=np.zeros(per.shape[:3]),
            **self.filled(items, clicked=0.0, order=np.arange(items)),
            missed=np.zeros((rows, kinds, items, positions)),
            **self.filled(positions, clicked_at=0.0, clicks=0.0),
            **self.filled(kinds, positions, left=0.0),
            examination=np.tile(kappa, (rows, 1, 1)),
            termination=np.tile(v, (rows, 1, 1)),
            **self.filled(kinds, items, NODES, survival=0.0),
            **self.filled(kinds, items, centre=0.0, width=0.0, mean=0.0, deviation=0.0),
        )
        update_all(self.state)
