"""Four estimators of a ranking policy's value from the log of another policy, with intervals.

The value is the expected number of clicks at the first ``cutoff`` positions, averaged over the queries of the log. With
c_k the click at position k, e the evaluated and p the logging policy:

* ``sips``: list weights, e(list) / p(list) sum_k c_k. Unbiased for all users. (Inverse propensity scoring of whole
  lists; Precup, Sutton and Singh, ICML 2000.)
* ``iips``: item-position weights, sum_k c_k e(item k at k) / p(item k at k). Unbiased if a click depends on its own
  item and position only: PBM, DBM. (Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, KDD 2018: the estimator
  of their item-position click model.)
* ``rips``: weights of the items down to the position, w_k = e(items 1 .. k) / p(items 1 .. k), sum_k w_k c_k. Unbiased
  if a click does not depend on what stands below: all click models here. (McInerney, Brost, Chandar, Mehrotra and
  Carterette, KDD 2020: reward interaction IPS, here without self-normalisation.)
* ``cascade-dr``: RIPS with a baseline Q, sum_k w_k (c_k - Q_k(item k)) + w_(k-1) sum_i e(i | items above k) Q_k(i).
  Unbiased where RIPS is, whatever Q is. (Kiyohara, Saito, Matsuhiro, Narita, Shimizu and Yamamoto, WSDM 2022; their
  doubly robust recursion, unrolled.)
"""

import warnings
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import count_of, number_in, one_of, whole_number
from rankgym.logs.evaluation.baselines import Baseline, FittedBaseline
from rankgym.logs.evaluation.records import PolicyLog, checked_log
from rankgym.logs.evaluation.support import check_support, doubt_of
from rankgym.logs.policies import Policy

METHODS = {  # what a click may depend on, so that the estimator is unbiased
    "sips": "the whole list",
    "iips": "its item and position",
    "rips": "the items down to it",
    "cascade-dr": "the items down to it",
}
COLUMN = {
    "sips": "propensity",
    "iips": "item_propensity",
    "rips": "prefix_propensity",
    "cascade-dr": "prefix_propensity",
}
CHUNK_ENTRIES = 1 << 22  # sessions and items whose probabilities are in memory at once
BOOTSTRAP_ENTRIES = 1 << 24  # sessions that are drawn at once

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """What a method says of a policy's value.

    See ``estimate``, which returns it.
    """

    method: str
    value: float
    error: float  # standard error; NaN for one session
    low: float  # of the interval
    high: float
    sessions: int
    effective: (
        float  # sessions, at the position where they are fewest: (sum of weights)^2 / sum of squares; NaN in doubt
    )
    largest_weight: float
    mean_weight: float  # at the position where it is farthest from 1, which is its expectation
    level: float  # of the interval
    doubt: str = ""  # why the estimate is not to be trusted, by its weights; "": they look sound


def estimate(
    log: PolicyLog,
    policy: Policy,
    method: str = "rips",
    *,
    logging: Policy | None = None,
    cutoff: int | None = None,
    baseline: Baseline | None = None,
    level: float = 0.95,
    bootstrap: int = 0,
    seed: int = 0,
) -> Estimate:
    """Estimate the value of ``policy`` from a log that another policy has made.

    Args:
        log: sessions with the propensities that the method needs, unless ``logging`` is given.
        policy: the policy to evaluate.
        method: a key of ``METHODS``.
        logging: the policy that made the log; its probabilities are used in place of the log's, and it is checked that
            it can show all that ``policy`` shows.
        cutoff: positions whose clicks count. Default: all.
        baseline: of cascade-DR; it must not have been fitted to this log. Default: ``FittedBaseline``, fitted to one
            half of the sessions for the other half, and the other way round.
        level: of the interval, in (0, 1).
        bootstrap: resamples of sessions for a percentile interval; 0: an interval of the normal distribution.
        seed: of the halves and of the bootstrap.

    Warns if the weights' mean, whose expectation is 1, is more than 4 of its standard errors away from 1: then the
    log's policy probably cannot show all that ``policy`` shows. ``doubt`` has the text, and ``effective`` is NaN.

    Raises:
        ValueError: the log lacks the propensities, a probability of what was displayed is 0 or missing, or ``logging``
            never shows what ``policy`` shows.

    Examples:
        What would a list near the production list have earned, by a log of random lists?

        >>> from rankgym.logs.evaluation import estimate, played_log, true_value
        >>> from rankgym.logs.policies import policy_of
        >>> from rankgym.logs.simulating import Simulation
        >>> simulation = Simulation("rankgym/PBM-Yandex-v0", 2_000, query=[0], num_items=4, num_positions=2)
        >>> log, lists = played_log(simulation), simulation.env.queries.initial_list
        >>> policy = policy_of("plackett-luce:temperature=0.5", lists, 2)
        >>> found = estimate(log, policy, "iips")
        >>> bool(found.low < true_value(simulation.env, policy, log.query)[0] < found.high), found.sessions
        (True, 2000)
    """
    level = number_in("level", level, 0, 1, open_low=True, open_high=True)
    bootstrap, seed = count_of("bootstrap", bootstrap, 0), whole_number("seed", seed, 0)
    terms, weights = session_terms(log, policy, method, logging=logging, cutoff=cutoff, baseline=baseline, seed=seed)
    sessions = len(terms)
    value = float(terms.mean())
    error = float(terms.std(ddof=1) / np.sqrt(sessions)) if sessions > 1 else float("nan")
    if bootstrap:
        low, high = _percentiles(terms, bootstrap, level, seed)
    else:
        z = NormalDist().inv_cdf(0.5 + level / 2)
        low, high = value - z * error, value + z * error
    means, squares = weights.mean(axis=0), (weights**2).mean(axis=0)
    effective = np.divide(means**2, squares, out=np.zeros_like(means), where=squares > 0) * sessions
    farthest = float(means[np.abs(means - 1).argmax()])
    doubt = doubt_of(weights)
    if doubt:
        warnings.warn(f"{method}: {doubt}", stacklevel=2)
    fewest = float("nan") if doubt else float(effective.min())
    return Estimate(method, value, error, low, high, sessions, fewest, float(weights.max()), farthest, level, doubt)


def session_terms(
    log: PolicyLog,
    policy: Policy,
    method: str,
    *,
    logging: Policy | None = None,
    cutoff: int | None = None,
    baseline: Baseline | None = None,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Return each session's term, (sessions,), whose mean is the estimate, and weights (sessions, 1 or cutoff).

    Arguments and errors are those of ``estimate``.

    Examples:
        >>> from rankgym.logs.evaluation import estimate, played_log, session_terms
        >>> from rankgym.logs.policies import policy_of
        >>> from rankgym.logs.simulating import Simulation
        >>> simulation = Simulation("rankgym/PBM-Yandex-v0", 2_000, query=[0], num_items=4, num_positions=2)
        >>> log, lists = played_log(simulation), simulation.env.queries.initial_list
        >>> policy = policy_of("plackett-luce:temperature=0.5", lists, 2)
        >>> terms, weights = session_terms(log, policy, "rips")
        >>> terms.shape, weights.shape, bool(terms.mean() == estimate(log, policy, "rips").value)
        ((2000,), (2000, 2), True)
    """
    one_of("method", method, METHODS)
    log = checked_log(log, policy.num_items, policy.num_positions, policy.num_queries)
    cutoff = policy.num_positions if cutoff is None else whole_number("cutoff", cutoff, 1, policy.num_positions)
    if baseline is not None and method != "cascade-dr":
        raise ValueError(f"method = {method!r} has no baseline; allowed with 'cascade-dr' only")
    if logging is not None:
        check_support(log, policy, logging, method, cutoff)
    shown = _logged(log, logging, method)
    if method == "sips":
        weights = np.concatenate([policy.probability(part.query, part.displayed) for part in _chunks(log, policy)])
        weights = (weights / shown)[:, None]
        return weights[:, 0] * log.clicks[:, :cutoff].sum(axis=1), weights
    if method == "iips":
        weights = _at_places(log, policy, "policy")[:, :cutoff] / shown[:, :cutoff]
        return (weights * log.clicks[:, :cutoff]).sum(axis=1), weights
    parts = [policy.prefixes(part.query, part.displayed) for part in _chunks(log, policy)]
    weights = np.concatenate(parts)[:, :cutoff] / shown[:, :cutoff]
    terms = (weights * log.clicks[:, :cutoff]).sum(axis=1)
    if method == "cascade-dr":
        terms += _corrections(log, policy, shown, cutoff, baseline, seed)
    return terms, weights


def _logged(log: PolicyLog, logging: Policy | None, method: str) -> Floats:
    """Return the logging policy's probabilities: of lists (sessions,), or of a place (sessions, positions)."""
    column = COLUMN[method]
    if logging is None:
        found = getattr(log, column)
        if found is None:
            raise ValueError(
                f"the log has no {column}, which {method!r} needs; allowed: a log with it, or logging=POLICY"
            )
        return np.asarray(found, np.float64)
    if method == "iips":
        shown = _at_places(log, logging, "logging")
    else:
        shown = np.concatenate([logging.prefixes(part.query, part.displayed) for part in _chunks(log, logging)])
        shown = shown[:, -1] if method == "sips" else shown
    if not (shown > 0).all():
        place = int(np.argwhere(~(shown > 0))[0][0])
        listed = log.displayed[place].tolist()
        raise ValueError(f"displayed[{place}] = {listed} has probability 0 under logging; allowed: what it can display")
    return shown


def _at_places(log: PolicyLog, policy: Policy, name: str) -> Floats:
    """Return the policy's probability of each displayed item at its position, (sessions, positions)."""
    asked, place = np.unique(log.query, return_inverse=True)
    table = policy.item_position(asked)
    if table is None:
        raise ValueError(f"{name} has no item-position probabilities with {policy.num_items} items; allowed: 'rips'")
    probability: Floats = table[place[:, None], log.displayed, np.arange(log.displayed.shape[1])]
    return probability


def _chunks(log: PolicyLog, policy: Policy) -> Iterator[PolicyLog]:
    size = max(1, CHUNK_ENTRIES // policy.num_items)
    for start in range(0, len(log.query), size):
        yield log.of(slice(start, start + size))


def _corrections(
    log: PolicyLog, policy: Policy, shown: Floats, cutoff: int, baseline: Baseline | None, seed: int
) -> Floats:
    """Return sum_k w_(k-1) sum_i e(i | items above k) Q_k(i) - w_k Q_k(item k), (sessions,); its expectation is 0."""
    corrections = np.empty(len(log.query))
    if baseline is not None:
        halves: list[tuple[NDArray[np.int64], Baseline]] = [(np.arange(len(log.query)), baseline)]
    else:
        first = np.random.default_rng(seed).random(len(log.query)) < 0.5
        queries = policy.num_queries or int(log.query.max()) + 1
        halves = [
            (np.flatnonzero(half), FittedBaseline(log.of(~half), policy, queries, cutoff)) for half in (first, ~first)
        ]
    size = max(1, CHUNK_ENTRIES // policy.num_items)
    for sessions, guess in halves:
        for start in range(0, len(sessions), size):
            rows = sessions[start : start + size]
            corrections[rows] = _corrected(log.of(rows), policy, shown[rows], cutoff, guess)
    return corrections


def _corrected(log: PolicyLog, policy: Policy, shown: Floats, cutoff: int, baseline: Baseline) -> Floats:
    total, rows = np.zeros(len(log.query)), np.arange(len(log.query))
    for k in range(cutoff):
        guess: Any = np.asarray(baseline(log.query, log.displayed, k), np.float64)
        if guess.shape != (len(rows), policy.num_items) or not np.isfinite(guess).all():
            allowed = f"finite numbers ({len(rows)}, {policy.num_items})"
            raise ValueError(
                f"baseline returned shape {guess.shape} or numbers that are not finite; allowed: {allowed}"
            )
        shares = policy.extensions(log.query, log.displayed, k)  # e(items above k) e(i | items above k)
        total += (shares * guess).sum(axis=1) / (shown[:, k - 1] if k else 1.0)
        total -= shares[rows, log.displayed[:, k]] * guess[rows, log.displayed[:, k]] / shown[:, k]
    return total


def _percentiles(terms: Floats, bootstrap: int, level: float, seed: int) -> tuple[float, float]:
    """Return the percentile interval of the mean over resampled sessions."""
    generator = np.random.default_rng([seed, 1])
    means, at_once = np.empty(bootstrap), max(1, BOOTSTRAP_ENTRIES // len(terms))
    for start in range(0, bootstrap, at_once):
        count = min(at_once, bootstrap - start)
        drawn = generator.integers(len(terms), size=(count, len(terms)))
        means[start : start + count] = terms[drawn].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
