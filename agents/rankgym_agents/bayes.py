"""Bayesian agents: a posterior of each item's attraction, and the items with the largest quantiles or samples.

Not from a paper. The items' attractions have independent Beta priors, and clicks change them by Bayes' rule. The kind
of users is taken as known:

* ``"pbm"``: position k is examined with probability kappa(k); an examined item is clicked with its attraction.
* ``"cascade"``: the user has seen the items down to the first click, or all items. The posteriors are Betas.
* ``"dcm"``: the user has seen the items down to the last click at least, and left after a click at position k with
  probability v(k). The items below were seen with the posterior probability that the user had not left, computed at
  the means of their attractions.

``BayesIndex`` displays the items with the largest quantiles at level 1 - 1 / (1 + a (n - t)), with the horizon n and
the number t of rounds played: an attraction exceeds its index with probability 1 / (1 + a (n - t)). It explores less as
the horizon nears, like an index of Gittins' kind. ``BayesThompson`` displays the items with the largest samples from
the posteriors (Thompson sampling). The best item goes to the most examined position, the second to the next, and so on.

kappa and v may be known, or are estimated on the way. Estimated, kappa(1) is 1, and each other kappa becomes the mean
of its posterior, from a uniform prior and with the attractions at their means, whenever the number of rounds has grown
by a tenth. v(k) has a uniform prior, too; the users who left are counted by the probability that they had.

In the DCM the list with the most clicks is not the one sorted by attraction: an attractive item that is displayed where
many leave after a click hides what is below. Exchanging neighbours of a list shows that the better one should be where
fewer leave; ``order="clicks"`` sorts the displayed items like that.

The prior ``"rank"`` is knowledge of the production ranker that other agents are not given (``production_prior``). Ties
are broken at random.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankgym.agent import Beliefs, KernelAgent, one_of, plain, positive, probabilities
from rankgym.kernels import (
    FEEDBACK,
    NODES,
    bits,
    borrowed,
    exceeded,
    give_back,
    kernel,
    last_observed,
    posterior,
    rounded,
    select_top,
    session_seed,
    uniform,
)
from rankgym_agents.production_prior import production_prior

USERS = {"pbm": FEEDBACK["all"], "cascade": FEEDBACK["first"], "dcm": FEEDBACK["last"]}
LAST = FEEDBACK["last"]
GROWTH = 10  # kappa is estimated again when the rounds have grown by a GROWTH-th
NEVER, MAX_HORIZON = np.iinfo(np.int64).max, 1 << 62
LEAST, MOST = 0.1, 1e6  # a and b of priors: below, a tenth of the mass may lie beyond the posterior's nodes
ORDERS = {"attraction": False, "clicks": True}
PRIORS: dict[str, Callable[[str, int], NDArray[np.float64]]] = {
    "flat": lambda users, num_items: np.ones((num_items, 2)),
    "rank": production_prior,
}


class State(NamedTuple):
    """What Bayesian agents remember. The leading axis is the row.

    A display without a click is of a kind: with PBM users its position, with others there is one kind, whose
    examination is 1.
    """

    key: NDArray[np.uint64]  # (rows,): random key
    round: NDArray[np.int64]  # (rows,): rounds learned from, t
    horizon: NDArray[np.int64]  # (rows,): n; 0: items are sampled
    exploration: NDArray[np.float64]  # (rows,): a
    feedback: NDArray[np.int64]  # (rows,): a value of USERS
    next_estimate: NDArray[np.int64]  # (rows,): the round after which kappa is estimated next
    learns_termination: NDArray[np.bool_]  # (rows,): whether v is estimated
    by_clicks: NDArray[np.bool_]  # (rows,): whether the positions are sorted by rising v
    prior: NDArray[np.float64]  # (rows, items, 2): a and b of the Beta prior
    clicked: NDArray[np.float64]  # (rows, items, kinds): clicks on the item
    missed: NDArray[np.float64]  # (rows, items, kinds): displays without one, in part if it may not have been seen
    examination: NDArray[np.float64]  # (rows, kinds): kappa
    best_first: NDArray[np.int64]  # (rows, positions): the position of the best item, of the second, ...
    staying: NDArray[np.float64]  # (rows, positions): 1 - v
    stayed: NDArray[np.float64]  # (rows, positions): expected number of users who went on after a click there
    clicks: NDArray[np.float64]  # (rows, positions): users who clicked there
    survival: NDArray[np.float64]  # (rows, items, nodes): the posterior, see ``posterior`` of the kernels
    centre: NDArray[np.float64]  # (rows, items)
    width: NDArray[np.float64]  # (rows, items)
    mean: NDArray[np.float64]  # (rows, items): of the posterior
    deviation: NDArray[np.float64]  # (rows, items)
    order: NDArray[np.int64]  # (rows, items): all items, those of the last list first


@kernel
def rank(s, displayed):
    """Display the items with the largest quantiles or samples, the best one at the first position of ``best_first``."""
    rows, positions = displayed.shape
    items = s.order.shape[1]
    index = borrowed(items, np.float64)
    for row in range(rows):
        seed = session_seed(s.key[row], s.round[row])
        rest = chance(s.exploration[row], s.horizon[row], s.round[row])
        for item in range(items):
            share = rest if s.horizon[row] > 0 else uniform(bits(seed, items + item))
            index[item] = exceeded(s.survival[row, item], s.centre[row, item], s.width[row, item], share)
        select_top(s.order, index, row, positions, seed)
        for k in range(positions):
            displayed[row, s.best_first[row, k]] = s.order[row, k]
    give_back(index)


@kernel
def chance(exploration, horizon, round):
    """The probability with which an attraction exceeds its index; after the horizon as in the last round."""
    return 1.0 / (1.0 + exploration * max(1, horizon - round))


@kernel
def learn(s, displayed, clicks):
    """Update the posteriors of the items that were, or may have been, observed; estimate examination or termination."""
    rows, positions = displayed.shape
    items, kinds = s.missed.shape[1], s.missed.shape[2]
    room, missed = borrowed(4 * NODES, np.float64), borrowed(items, np.float64)
    for row in range(rows):
        last = last_observed(clicks, row, s.feedback[row])
        for k in range(last + 1):
            kind = min(k, kinds - 1)
            s.clicked[row, displayed[row, k], kind] += clicks[row, k]
            s.missed[row, displayed[row, k], kind] += 1 - clicks[row, k]
        if s.feedback[row] == LAST:
            read_on(s, row, displayed, clicks, last)
            last = positions - 1
        s.round[row] += 1
        if s.round[row] >= s.next_estimate[row]:
            s.next_estimate[row] += 1 + s.round[row] // GROWTH
            estimate_examination(s, row, missed, room)
            for item in range(items):
                update(s, row, item, room)
        else:
            for k in range(last + 1):
                update(s, row, displayed[row, k], room)
    give_back(missed)
    give_back(room)


@kernel
def update(s, row, item, room):
    """Compute the item's posterior from its counts."""
    clicked = 0.0
    for kind in range(s.clicked.shape[2]):
        clicked += s.clicked[row, item, kind]
    s.centre[row, item], s.width[row, item], s.mean[row, item], s.deviation[row, item] = posterior(
        clicked, s.missed[row, item], s.examination[row], s.prior[row, item, 0], s.prior[row, item, 1],
        s.survival[row, item], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
    )  # fmt: skip


@kernel
def read_on(s, row, displayed, clicks, last):
    """What a DCM user may have seen below position ``last``, the last click, and what that says about v."""
    positions = displayed.shape[1]
    for k in range(last):
        s.clicks[row, k] += clicks[row, k]
        s.stayed[row, k] += clicks[row, k]  # for there was another click
    if last < positions - 1:
        ignored = s.staying[row, last]  # the probability to go on and to click nothing more
        for k in range(last + 1, positions):
            ignored *= 1.0 - s.mean[row, displayed[row, k]]
        stayed = ignored / (1.0 - s.staying[row, last] + ignored)
        for k in range(last + 1, positions):
            s.missed[row, displayed[row, k], 0] += stayed
        s.clicks[row, last] += 1.0
        s.stayed[row, last] += stayed
    if s.learns_termination[row]:
        for k in range(last + 1):
            s.staying[row, k] = (1.0 + s.stayed[row, k]) / (2.0 + s.clicks[row, k])
        if s.by_clicks[row]:
            sort_positions(s.best_first[row], s.staying[row])


@kernel
def estimate_examination(s, row, missed, room):
    """Set kappa to the mean of its posterior, at the means of the attractions, and sort the positions by it.

    kappa(1) stays 1. The product of kappa and attraction is symmetric: here the attractions are what is known.
    """
    items, positions = s.missed.shape[1], s.missed.shape[2]
    for k in range(1, positions):
        clicked = 0.0
        for item in range(items):
            missed[item] = s.missed[row, item, k]
            clicked += s.clicked[row, item, k]
        _, _, mean, _ = posterior(
            clicked, missed, s.mean[row], 1.0, 1.0,
            room[3 * NODES :], room[:NODES], room[NODES : 2 * NODES], room[2 * NODES : 3 * NODES],
        )  # fmt: skip
        s.examination[row, k] = rounded(mean)
    sort_positions(s.best_first[row], s.examination[row])


@kernel
def sort_positions(best_first, worth):
    """Fill ``best_first`` (positions,) with the positions by falling ``worth`` (positions,), equal ones in order."""
    for k in range(worth.shape[0]):
        place = k
        while place > 0 and worth[best_first[place - 1]] < worth[k]:
            best_first[place] = best_first[place - 1]
            place -= 1
        best_first[place] = k


@kernel
def update_all(s):
    """Compute all posteriors from the counts."""
    room = borrowed(3 * NODES, np.float64)
    for row in range(s.missed.shape[0]):
        for item in range(s.missed.shape[1]):
            update(s, row, item, room)
    give_back(room)


class Bayesian(KernelAgent):
    """What ``BayesIndex`` and ``BayesThompson`` share: everything but how an item is valued by its posterior."""

    rank, learn = staticmethod(rank), staticmethod(learn)
    state: State

    def _begin(
        self,
        *,
        users: str,
        prior: str | ArrayLike,
        examination: ArrayLike | None,
        termination: ArrayLike | None,
        order: str,
        horizon: int,
        exploration: float,
    ) -> None:
        """Set the first state; ``horizon`` 0 means samples."""
        items, positions = self.num_items, self.num_positions
        feedback, by_clicks = one_of("users", users, USERS), one_of("order", order, ORDERS)
        for name, given, whose in (
            ("examination", examination is not None, "pbm"),
            ("termination", termination is not None, "dcm"),
            ("order", by_clicks, "dcm"),
        ):
            if given and users != whose:
                raise ValueError(f"{name} is given, but users = {users!r}; allowed: {name} with users = {whose!r}")
        kappa = np.ones((self.num_envs, positions if users == "pbm" else 1))
        kappa[:, 1:] = 0.5
        if examination is not None:
            kappa = self._by_position("examination", examination)
        staying = 1.0 - self._by_position(
            "termination", np.full(positions, 0.5) if termination is None else termination
        )
        worth = staying if by_clicks else np.broadcast_to(kappa, staying.shape)
        by_item = np.empty((self.num_envs, items, 2))
        np.put_along_axis(by_item, self.initial_list[..., None], self._by_rank(users, prior)[None], axis=1)
        self.state = State(
            key=self.keys(),
            **self.filled(round=0, horizon=horizon, exploration=exploration, feedback=feedback),
            **self.filled(next_estimate=1 if users == "pbm" and examination is None else NEVER),
            **self.filled(learns_termination=users == "dcm" and termination is None, by_clicks=by_clicks),
            prior=by_item,
            **self.filled(items, kappa.shape[1], clicked=0.0, missed=0.0),
            examination=kappa,
            best_first=np.argsort(-worth, axis=1, kind="stable"),
            staying=staying,
            **self.filled(positions, stayed=0.0, clicks=0.0),
            **self.filled(items, NODES, survival=0.0),
            **self.filled(items, centre=0.0, width=0.0, mean=0.0, deviation=0.0, order=np.arange(items)),
        )
        update_all(self.state)

    def _by_position(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        """The probabilities ``values`` of every row and position."""
        shape = (self.num_envs, self.num_positions)
        given = probabilities(name, values, 2)
        if given.shape not in (shape, shape[1:]):
            raise ValueError(f"{name} has shape {given.shape}; allowed: {shape[1:]} or {shape}")
        return np.array(np.broadcast_to(given, shape), order="C")

    def _by_rank(self, users: str, prior: str | ArrayLike) -> NDArray[np.float64]:
        """a and b of the prior at every rank of the production list: (items, 2)."""
        shape = (self.num_items, 2)
        if isinstance(prior, str):
            return PRIORS[one_of("prior", prior, tuple(PRIORS))](users, self.num_items)
        allowed = (
            f"{', '.join(map(repr, PRIORS))}, or a and b of a Beta, from {LEAST} to {MOST:g}, of shape (2,) or {shape}"
        )
        try:
            given = np.asarray(prior, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"prior = {prior!r} is not an array of numbers; allowed: {allowed}") from None
        if given.shape not in (shape, (2,)):
            raise ValueError(f"prior has shape {given.shape}; allowed: {allowed}")
        wrong = np.argwhere(~((given >= LEAST) & (given <= MOST)))
        if len(wrong):
            place = [int(i) for i in wrong[0]]
            raise ValueError(f"prior{place} = {given[tuple(place)]} is out of range; allowed: {allowed}")
        return np.array(np.broadcast_to(given, shape))

    def beliefs(self, row: int = 0) -> Beliefs:
        """Mean and standard deviation of each attraction's posterior."""
        s = self.state
        return Beliefs(
            scores={"posterior mean": plain(s.mean[row]), "posterior standard deviation": plain(s.deviation[row])}
        )


class BayesIndex(Bayesian):
    """BayesIndex: displays the items with the largest quantiles of the posterior of their attraction.

    Args:
        exploration: a in the level 1 - 1 / (1 + a (n - t)), finite and above 0. Tuned on calibrated training queries.
        users: ``"pbm"``, ``"cascade"`` or ``"dcm"``: the kind of users whose clicks it expects.
        prior: of attraction. ``"flat"``: uniform. ``"rank"``: by the rank in the production list, learned from training
            queries, which other agents are not given. Or a and b of a Beta: (2,), or (num_items, 2) by that rank.
        examination: of ``users="pbm"``: probability in [0, 1] that position k is examined: (num_positions,), or
            (num_envs, num_positions). Default: estimated on the way.
        termination: of ``users="dcm"``: probability in [0, 1] to leave after a click at position k, shaped likewise.
            Default: estimated on the way.
        order: of the displayed items, with ``users="dcm"``. ``"attraction"``: the best first. ``"clicks"``: the best
            where fewest users leave after a click, for the most clicks.
        **shape: as in ``Agent``. ``horizon`` is required; ``initial_list`` is used by ranks.

    Raises:
        ValueError: ``horizon`` is missing, an argument is out of range, or it is given and does not belong to
            ``users``.

    Examples:
        >>> from rankgym_agents import BayesIndex
        >>> agent = BayesIndex(num_items=2, num_positions=1, horizon=100, users="cascade", seed=0)
        >>> agent.update([[0]], [[1]])
        >>> scores = agent.beliefs().scores
        >>> [round(mean, 2) for mean in scores["posterior mean"]]  # of Beta(2, 1) and Beta(1, 1)
        [0.67, 0.5]
        >>> [round(quantile, 2) for quantile in scores["posterior quantile"]]  # at level 1 - 1 / (1 + 0.1 * 99)
        [0.95, 0.91]
    """

    def __init__(
        self,
        *,
        exploration: float = 0.1,
        users: str = "pbm",
        prior: str | ArrayLike = "flat",
        examination: ArrayLike | None = None,
        termination: ArrayLike | None = None,
        order: str = "attraction",
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        if self.horizon is None:
            raise ValueError("horizon = None; allowed: a horizon, which the level of the index needs")
        a = positive("exploration", exploration)
        self._begin(
            users=users,
            prior=prior,
            examination=examination,
            termination=termination,
            order=order,
            horizon=min(self.horizon, MAX_HORIZON),
            exploration=a,
        )

    def beliefs(self, row: int = 0) -> Beliefs:
        """The quantiles by which the next list is chosen, and mean and standard deviation of each posterior."""
        s = self.state
        level = chance(s.exploration[row], s.horizon[row], s.round[row])
        logits = np.array(
            [
                exceeded(*posterior, level)
                for posterior in zip(s.survival[row], s.centre[row], s.width[row], strict=True)
            ]
        )
        quantiles = plain(1.0 / (1.0 + np.exp(-logits)))
        return Beliefs(scores={"posterior quantile": quantiles, **super().beliefs(row).scores})


class BayesThompson(Bayesian):
    """BayesThompson: displays the items with the largest samples from the posterior of their attraction.

    Args:
        users, prior, examination, termination, order: as in ``BayesIndex``.
        **shape: as in ``Agent``. ``horizon`` is ignored; ``initial_list`` is used by ranks.

    Raises:
        ValueError: as ``BayesIndex``.

    Examples:
        >>> from rankgym_agents import BayesThompson
        >>> prior = [[8, 2], [2, 2], [2, 8]]  # by the rank in the production list
        >>> agent = BayesThompson(num_items=3, num_positions=2, prior=prior, initial_list=[2, 1, 0], seed=0)
        >>> [round(mean, 2) for mean in agent.beliefs().scores["posterior mean"]]
        [0.2, 0.5, 0.8]
    """

    def __init__(
        self,
        *,
        users: str = "pbm",
        prior: str | ArrayLike = "flat",
        examination: ArrayLike | None = None,
        termination: ArrayLike | None = None,
        order: str = "attraction",
        **shape: Any,
    ) -> None:
        super().__init__(**shape)
        self._begin(
            users=users,
            prior=prior,
            examination=examination,
            termination=termination,
            order=order,
            horizon=0,
            exploration=0.0,
        )
