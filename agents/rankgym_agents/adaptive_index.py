"""AdaptiveIndex: a Bayesian index that finds out what kind of queries and of users it has.

Not from a paper. As ``BayesIndex`` it displays the items with the largest quantiles, at level 1 - 1 / (1 + a (n - t)),
of the posteriors of their attraction, with the horizon n and t the number of rounds played. But neither the prior nor
the kind of users is given. Both are hypotheses, whose evidence grows with the clicks:

* *Queries.* Each hypothesis is a Beta prior of every item, by its rank in the production list or regardless of it
  (``query_classes``). Given the clicks so far, hypothesis h has the probability w(h) ~ p(h) times the product of
  Z(item, h), the marginal likelihood of the item's clicks, over the items. An item's prior is the mixture of the
  hypotheses' Betas with the weights w(h) / Z(item, h), which the *other* items' clicks decide, replaced by the Beta of
  the same mean and variance. Z is that of a Beta posterior: clicks and displays are replaced by as many certain views
  as would give the item's posterior under a uniform prior the same mean and variance. So a shuffled list is soon not
  leant on, and where clicks are rare, few misses no longer look like bad luck.
* *Users.* A user examines position k with probability kappa(k), is attracted by an examined item or not, and leaves
  after a click at position k with probability v(k). PBM users have v = 0, cascade users kappa = 1 and v = 1, DCM users
  kappa = 1. Each kind has priors of kappa or v, statistics and posteriors of its own: misses below the last click count
  with the posterior probability of not having left, as in ``BayesIndex``; kappa(k) is estimated as there. The logarithm
  of the probability that each kind gave to each session's clicks, before learning from them, is added up: its support.
  Each list is made for a kind that is drawn by its probability, as in Thompson sampling: if always the likeliest one
  were taken, each item might keep its position, and an unattractive item could not be told from an unexamined position.
  Kinds that are ``DOUBT`` behind are dropped.

kappa and the weights are computed again each time when the number of rounds has grown by a tenth. The best item goes to
the most examined position, and so on; then, with ``order="clicks"``, items are exchanged as long as the kind expects
more clicks from it: those who leave after a click had better do so at the bottom. Ties are broken at random.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain, positive
from rankgym.kernels import (
    NODES,
    bits,
    borrowed,
    exceeded,
    exponential,
    give_back,
    kernel,
    logarithm,
    posterior,
    select_top,
    session_seed,
    uniform,
)
from rankgym_agents.query_classes import LEAST, kinds_of_users, query_classes

GROWTH = 10  # kappa and weights are computed again when the rounds have grown by a GROWTH-th
DOUBT = 8.0  # a kind of users whose log probability is this far behind the best is dropped
PASSES = 3  # over all pairs of positions at most, for exchanges that promise more clicks
GAIN = 1e-9  # relative gain that an exchange must promise
TINY = 1e-300
DROPPED = -np.inf


class State(NamedTuple):
    """What AdaptiveIndex remembers. The leading axis is the row; a miss is an examined display without a click."""

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from, t
    horizon: NDArray[np.int64]  # (rows,): n
    exploration: NDArray[np.float64]  # (rows,): a
    by_clicks: NDArray[np.bool_]  # (rows,): whether items are exchanged for more clicks
    next_estimate: NDArray[np.int64]  # (rows,): the round after which kappa and weights are computed next
    log_chance: NDArray[np.float64]  # (rows, hypotheses): log p
    alpha: NDArray[np.float64]  # (rows, items, hypotheses): a of the hypotheses' Betas
    beta: NDArray[np.float64]  # (rows, items, hypotheses): b
    log_mass: NDArray[np.float64]  # (rows, items, hypotheses): logarithm of the Beta function of both
    evidence: NDArray[np.float64]  # (rows, items, hypotheses): log Z, of the kind of users computed last
    look: NDArray[np.float64]  # (rows, kinds, positions, 2): a and b of the prior of kappa; b = 0: kappa is 1
    leave: NDArray[np.float64]  # (rows, kinds, positions, 2): of v; a = 0: v is 0, b = 0: v is 1
    support: NDArray[np.float64]  # (rows, kinds): log probability of the kind and of the clicks; DROPPED
    believed: NDArray[np.int64]  # (rows,): the kind with the most support, the first of several
    clicked: NDArray[np.float64]  # (rows, items): clicks on the item
    clicked_at: NDArray[np.float64]  # (rows, positions): clicks at the position
    clicks: NDArray[np.float64]  # (rows, positions): of those that were not at the bottom
    missed: NDArray[np.float64]  # (rows, kinds, items, positions): expected misses of the item at the position
    left: NDArray[np.float64]  # (rows, kinds, positions): expected number of users who left after a click there
    examination: NDArray[np.float64]  # (rows, kinds, positions): kappa
    termination: NDArray[np.float64]  # (rows, kinds, positions): v
    prior: NDArray[np.float64]  # (rows, kinds, items, 2): a and b of the item's prior
    survival: NDArray[np.float64]  # (rows, kinds, items, nodes): the posterior, see ``posterior`` of the kernels
    centre: NDArray[np.float64]  # (rows, kinds, items)
    width: NDArray[np.float64]  # (rows, kinds, items)
    mean: NDArray[np.float64]  # (rows, kinds, items): of the posterior
    deviation: NDArray[np.float64]  # (rows, kinds, items)
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Display the items with the largest quantiles, arranged for a kind of users that is drawn by its probability."""
    rows, positions = displayed.shape
    items = s.order.shape[1]
    index = borrowed(items, np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        kind = some_kind(s.support[row], s.support[row, s.believed[row]], bits(seed, items))
        share = chance(s.exploration[row], s.horizon[row], s.round[row])
        for item in range(items):
            index[item] = exceeded(
                s.survival[row, kind, item], s.centre[row, kind, item], s.width[row, kind, item], share
            )
        select_top(s.order, index, row, positions, seed)
        arrange(s.order[row], s.examination[row, kind], displayed[row])
        if s.by_clicks[row]:
            exchange(s.examination[row, kind], s.termination[row, kind], s.mean[row, kind], displayed[row])
    give_back(index)


@kernel
def some_kind(support, most, word):
    """A kind, drawn by ``word`` with probability proportional to exp(``support``) (kinds,), the largest is ``most``."""
    total, last = 0.0, 0
    for kind in range(support.shape[0]):
        if support[kind] != DROPPED:
            total += exponential(most - support[kind])
            last = kind
    left = uniform(word) * total
    for kind in range(last):
        if support[kind] != DROPPED:
            left -= exponential(most - support[kind])
            if left < 0.0:
                return kind
    return last


@kernel
def chance(exploration, horizon, round):
    """The probability with which an attraction exceeds its index; after the horizon as in the last round."""
    return 1.0 / (1.0 + exploration * max(1, horizon - round))


@kernel
def arrange(order, examination, displayed):
    """Fill ``displayed`` (positions,): the first item of ``order`` at the most examined position, and so on."""
    positions = displayed.shape[0]
    for k in range(positions):
        above = 0
        for j in range(positions):
            above += (examination[j] > examination[k]) | ((examination[j] == examination[k]) & (j < k))
        displayed[k] = order[above]


@kernel
def exchange(examination, termination, attraction, displayed):
    """Exchange items of ``displayed`` (positions,) while more clicks are expected from it."""
    positions = displayed.shape[0]
    if all_equal(termination):  # then the order by examination is the best one, or as good
        return
    worth = expected_clicks(examination, termination, attraction, displayed)
    for _ in range(PASSES):
        before = worth
        for j in range(positions - 1):
            for k in range(j + 1, positions):
                displayed[j], displayed[k] = displayed[k], displayed[j]
                new = expected_clicks(examination, termination, attraction, displayed)
                if new > worth * (1.0 + GAIN):
                    worth = new
                else:
                    displayed[j], displayed[k] = displayed[k], displayed[j]
        if worth == before:
            return


@kernel
def all_equal(values):
    """Whether all of ``values`` are the same number."""
    different = 0
    for k in range(1, values.shape[0]):
        different += values[k] != values[0]
    return different == 0


@kernel
def expected_clicks(examination, termination, attraction, displayed):
    """Expected clicks on a list, if examination does not depend on what was clicked above but for leaving."""
    here, total = 1.0, 0.0
    for k in range(displayed.shape[0]):
        click = here * examination[k] * attraction[displayed[k]]
        total += click
        here -= click * termination[k]
    return total


@kernel
def learn(s, displayed, clicks):
    """Judge the kinds of users by the session, and let each learn from it."""
    rows, positions = displayed.shape
    kinds, items, hypotheses = s.missed.shape[1], s.missed.shape[2], s.alpha.shape[2]
    room, missed, weight = (
        borrowed(4 * NODES, np.float64),
        borrowed(items, np.float64),
        borrowed(hypotheses, np.float64),
    )
    for row in range(rows):
        last = count_clicks(s, row, displayed[row], clicks[row])
        s.round[row] += 1
        due = s.round[row] >= s.next_estimate[row]
        if due:
            s.next_estimate[row] += 1 + s.round[row] // GROWTH
        for kind in range(kinds):
            if s.support[row, kind] == DROPPED:
                continue
            read(s, row, kind, displayed[row], clicks[row], last)
            if due:
                estimate_examination(s, row, kind, missed, room)
                weigh(s, row, kind, weight, room)
                for item in range(items):
                    update(s, row, kind, item, room)
            else:
                for k in range(positions):
                    update(s, row, kind, displayed[row, k], room)
        believe(s, row)
    give_back(weight)
    give_back(missed)
    give_back(room)


@kernel
def count_clicks(s, row, displayed, clicks):
    """Count the clicks that are the same for all kinds; return the position of the last one, or -1."""
    last = -1
    for k in range(displayed.shape[0]):
        if clicks[k] != 0:
            last = k
            s.clicked[row, displayed[k]] += 1.0
            s.clicked_at[row, k] += 1.0
            s.clicks[row, k] += k < displayed.shape[0] - 1
    return last


@kernel
def read(s, row, kind, displayed, clicks, last):
    """Add the session's log probability to the kind's support, its expected misses, and who may have left; estimate v.

    Above the last click everybody was still there. Below it nothing was clicked: the user had left, or stayed and
    ignored all of it.
    """
    positions = displayed.shape[0]
    support, ignored = 0.0, 1.0
    for k in range(positions):
        click = s.examination[row, kind, k] * s.mean[row, kind, displayed[k]]
        if k > last:
            ignored *= 1.0 - click
        elif clicks[k] == 0:
            support += log_of(1.0 - click)
            s.missed[row, kind, displayed[k], k] += 1.0
        else:
            support += log_of(click) + (log_of(1.0 - s.termination[row, kind, k]) if k < last else 0.0)
    stayed = 1.0
    if 0 <= last < positions - 1:
        v = s.termination[row, kind, last]
        ignored *= 1.0 - v
        stayed = ignored / (v + ignored)
        ignored += v
        s.left[row, kind, last] += 1.0 - stayed
    s.support[row, kind] += support + log_of(ignored)
    for k in range(last + 1, positions):
        s.missed[row, kind, displayed[k], k] += stayed
    for k in range(min(last + 1, positions - 1)):
        a, b = s.leave[row, kind, k]
        if a > 0.0 and b > 0.0:
            s.termination[row, kind, k] = (a + s.left[row, kind, k]) / (a + b + s.clicks[row, k])


@kernel
def log_of(probability):
    """The logarithm of a probability; that of ``TINY`` for 0."""
    return logarithm(max(probability, TINY))


@kernel
def believe(s, row):
    """Find the kind with the most support, and drop those that are far behind."""
    kinds, best = s.support.shape[1], 0
    for kind in range(kinds):
        best = kind if s.support[row, kind] > s.support[row, best] else best
    s.believed[row] = best
    for kind in range(kinds):
        if s.support[row, kind] < s.support[row, best] - DOUBT:
            s.support[row, kind] = DROPPED


@kernel
def update(s, row, kind, item, room):
    """Compute the item's posterior from its counts."""
    s.centre[row, kind, item], s.width[row, kind, item], s.mean[row, kind, item], s.deviation[row, kind, item] = (
        posterior(
            s.clicked[row, item], s.missed[row, kind, item], s.examination[row, kind],
            s.prior[row, kind, item, 0], s.prior[row, kind, item, 1], s.survival[row, kind, item],
            room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
        )
    )  # fmt: skip


@kernel
def estimate_examination(s, row, kind, missed, room):
    """Set kappa(2), kappa(3), ... to the means of their posteriors, at the means of the attractions; kappa(1) is 1."""
    items, positions = s.missed.shape[2], s.missed.shape[3]
    for k in range(1, positions):
        a, b = s.look[row, kind, k]
        if b > 0.0:
            for item in range(items):
                missed[item] = s.missed[row, kind, item, k]
            _, _, s.examination[row, kind, k], _ = posterior(
                s.clicked_at[row, k], missed, s.mean[row, kind], a, b,
                room[3 * NODES :], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
            )  # fmt: skip


@kernel
def weigh(s, row, kind, weight, room):
    """Compute each item's prior from what the other items' clicks say about the hypotheses."""
    items, hypotheses = s.alpha.shape[1], s.alpha.shape[2]
    for h in range(hypotheses):
        weight[h] = s.log_chance[row, h]
    for item in range(items):
        _, _, mean, deviation = posterior(
            s.clicked[row, item], s.missed[row, kind, item], s.examination[row, kind], 1.0, 1.0,
            room[3 * NODES :], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
        )  # fmt: skip
        size = mean * (1.0 - mean) / (deviation * deviation) - 1.0
        clicked, missed = max(0.0, mean * size - 1.0), max(0.0, (1.0 - mean) * size - 1.0)
        for h in range(hypotheses):
            a, b = s.alpha[row, item, h], s.beta[row, item, h]
            s.evidence[row, item, h] = log_beta(a + clicked, b + missed) - s.log_mass[row, item, h]
            weight[h] += s.evidence[row, item, h]
    for item in range(items):
        mix(weight, s.evidence[row, item], s.alpha[row, item], s.beta[row, item], s.prior[row, kind, item])


@kernel
def mix(weight, evidence, alpha, beta, prior):
    """Fill ``prior`` (2,) with the Beta of the same mean and variance as the mixture with weights without an item's."""
    hypotheses = weight.shape[0]
    top = weight[0] - evidence[0]
    for h in range(hypotheses):
        top = max(top, weight[h] - evidence[h])
    total, first, second = 0.0, 0.0, 0.0
    for h in range(hypotheses):
        share, a, b = exponential(top - (weight[h] - evidence[h])), alpha[h], beta[h]
        total += share
        first += share * a / (a + b)
        second += share * a / (a + b) * (a + 1.0) / (a + b + 1.0)
    first, second = first / total, second / total
    size = (first - second) / (second - first * first)
    prior[0], prior[1] = max(LEAST, first * size), max(LEAST, (1.0 - first) * size)


@kernel
def log_beta(a, b):
    """Logarithm of the Beta function, but for a constant."""
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


@kernel
def log_gamma(x):
    """Logarithm of the Gamma function of ``x`` > 0, less log(2 pi) / 2, within 1e-9: Stirling's series from 8 on."""
    product = 1.0
    while x < 8.0:
        product *= x
        x += 1.0
    inverse = 1.0 / x
    series = inverse * (1.0 / 12.0 - inverse * inverse * (1.0 / 360.0 - inverse * inverse / 1260.0))
    return (x - 0.5) * logarithm(x) - x + series - logarithm(product)


@kernel
def begin(s):
    """Compute the first priors and posteriors."""
    room, weight = borrowed(4 * NODES, np.float64), borrowed(s.alpha.shape[2], np.float64)
    for row in range(s.missed.shape[0]):
        for item in range(s.missed.shape[2]):
            for h in range(s.alpha.shape[2]):
                s.log_mass[row, item, h] = log_beta(s.alpha[row, item, h], s.beta[row, item, h])
        for kind in range(s.missed.shape[1]):
            weigh(s, row, kind, weight, room)
            for item in range(s.missed.shape[2]):
                update(s, row, kind, item, room)
        believe(s, row)
    give_back(weight)
    give_back(room)


class AdaptiveIndex(KernelAgent):
    """AdaptiveIndex: a Bayesian index that finds out what kind of queries and of users it has.

    It knows more than other agents: what training queries and their users were like. It is told neither the
    kind of users nor whether the production list is worth anything.

    Args:
        exploration: a in the level 1 - 1 / (1 + a (n - t)), finite and above 0. Tuned on calibrated training queries.
        order: of the displayed items. ``"clicks"``: in which most clicks are expected. ``"attraction"``: the
            best item at the most examined position, and so on.
        **shape: as in ``Agent``. ``horizon`` is required; ``initial_list`` is used by ranks.

    Raises:
        ValueError: ``horizon`` is missing, or an argument is out of range.

    Examples:
        >>> from rankgym_agents import AdaptiveIndex
        >>> agent = AdaptiveIndex(num_items=3, num_positions=2, horizon=100, initial_list=[2, 1, 0], seed=0)
        >>> [round(mean, 2) for mean in agent.beliefs().scores["posterior mean"]]  # the production list counts
        [0.25, 0.27, 0.35]
        >>> for _ in range(30):  # users who click item 0 wherever they see it
        ...     displayed = agent.act()
        ...     agent.update(displayed, displayed == 0)
        >>> agent.act()[0, 0].tolist()
        0
    """

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def __init__(self, *, exploration: float = 0.1, order: str = "clicks", **shape: Any) -> None:
        super().__init__(**shape)
        if self.horizon is None:
            raise ValueError("horizon = None; allowed: a horizon, which the level of the index needs")
        items, positions = self.num_items, self.num_positions
        log_chance, by_rank = query_classes(items)
        users = kinds_of_users(positions)
        kinds, hypotheses = len(users.log_chance), len(log_chance)
        by_item = np.empty((self.num_envs, items, hypotheses, 2))
        np.put_along_axis(by_item, self.initial_list[..., None, None], by_rank[None], axis=1)
        examination, termination = (prior[..., 0] / prior.sum(-1) for prior in users[1:])
        examination[:, 0] = 1.0
        self.state = State(
            key=self.keys(),
            **self.filled(
                round=0,
                horizon=min(self.horizon, 2**62),  # rounds are counted in 64 bits
                exploration=positive("exploration", exploration),
                by_clicks=one_of("order", order, ("clicks", "attraction")) == "clicks",
                next_estimate=1,
            ),
            **self.filled(hypotheses, log_chance=log_chance),
            alpha=np.ascontiguousarray(by_item[..., 0]),
            beta=np.ascontiguousarray(by_item[..., 1]),
            **self.filled(items, hypotheses, log_mass=0.0, evidence=0.0),
            **self.filled(kinds, positions, 2, look=users.examination, leave=users.termination),
            **self.filled(kinds, support=users.log_chance),
            **self.filled(believed=0),
            **self.filled(items, clicked=0.0),
            **self.filled(positions, clicked_at=0.0, clicks=0.0),
            **self.filled(kinds, items, positions, missed=0.0),
            **self.filled(kinds, positions, left=0.0, examination=examination, termination=termination),
            **self.filled(kinds, items, 2, prior=1.0),
            **self.filled(kinds, items, NODES, survival=0.0),
            **self.filled(kinds, items, centre=0.0, width=0.0, mean=0.0, deviation=0.0),
            **self.filled(items, order=np.arange(items)),
        )
        begin(self.state)

    def beliefs(self, row: int = 0) -> Beliefs:
        """Quantile, mean and standard deviation of each posterior, for the likeliest kind of users."""
        s, kind = self.state, self.state.believed[row]
        level = chance(s.exploration[row], s.horizon[row], s.round[row])
        posteriors = zip(s.survival[row, kind], s.centre[row, kind], s.width[row, kind], strict=True)
        logits = np.array([exceeded(*posterior, level) for posterior in posteriors])
        return Beliefs(
            scores={
                "posterior quantile": plain(1.0 / (1.0 + np.exp(-logits))),
                "posterior mean": plain(s.mean[row, kind]),
                "posterior standard deviation": plain(s.deviation[row, kind]),
            }
        )
