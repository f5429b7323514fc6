"""What a part of a preference matrix needs, and its evaluation: exactly, or by simulation."""

import functools
import json
import os
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.data import letor
from rankgym.experiments.preferences.exact import PICKS, evaluate_pairs
from rankgym.interleaving import Lists, make
from rankgym.kernels import ENVIRONMENT, row_keys
from rankgym.models import users

BATCH = 8192  # simulated comparisons that are drawn at once
TOLERANCE = 1e-9  # credit that differs by rounding alone is equal, as in rankgym.interleaving


class ProblemSpec(NamedTuple):
    """Where a problem comes from: small, and the same problem in every process."""

    path: str  # of the LETOR file
    sha256: str
    rankers: tuple[int, ...]
    ties: int
    interleaving: str
    knobs: str  # of the interleaving, as JSON
    user_model: str
    grades: int
    method: str  # "exact" or "simulate"
    length: int  # of the interleaved list
    per_query: int  # comparisons of a pair on a query; 1 where they are exact
    seed: int


class MatrixProblem(NamedTuple):
    """What the evaluation needs. Query q has the documents ``start[q] .. start[q + 1] - 1``."""

    labels: NDArray[np.int8]  # (documents,)
    start: NDArray[np.int64]  # (queries + 1,)
    user: users.User
    rankings: NDArray[np.int32] | None  # (queries, rankers, length), if no more of the rankings matters; else
    features: NDArray[np.float32] | None  # (documents, rankers) and
    order: NDArray[np.int64] | None  # (documents,), the order of equal values
    pairs: NDArray[np.int64]  # (pairs, 2): places in the chosen rankers, first < second
    interleaving: str
    knobs: dict[str, Any]
    length: int
    per_query: int
    key: np.uint64  # of all coins


class MatrixPart(NamedTuple):
    """Queries ``query .. query_stop - 1`` and pairs ``pair .. pair_stop - 1``."""

    query: int
    query_stop: int
    pair: int
    pair_stop: int

    @property
    def cells(self) -> int:
        """Pairs times queries."""
        return (self.query_stop - self.query) * (self.pair_stop - self.pair)


class PartSums(NamedTuple):
    """Of each pair of a part, over its queries."""

    mean: NDArray[np.float64]  # (pairs,): the sum of the queries' means
    variance: NDArray[np.float64]  # (pairs,): the sum of the variances of these means
    seconds: float  # of a processor


def letor_data(path: str | os.PathLike[str], *, progress: bool = False) -> letor.LetorData:
    """Read a LETOR file; the last one stays in memory until it changes. Errors are those of ``letor.load``."""
    status = os.stat(path)
    return _letor_data(os.path.abspath(path), status.st_size, status.st_mtime_ns, progress)


@functools.lru_cache(maxsize=1)
def _letor_data(path: str, size: int, changed: int, progress: bool) -> letor.LetorData:
    return letor.load(path, progress=progress)


def problem_of(spec: ProblemSpec) -> MatrixProblem:
    """Return the problem of ``spec``; the last one stays in memory.

    Raises ValueError if the file is not the one that ``spec`` was made from.
    """
    return _problem_of(spec._replace(per_query=0))._replace(per_query=spec.per_query)


@functools.lru_cache(maxsize=1)
def _problem_of(spec: ProblemSpec) -> MatrixProblem:
    if letor.file_digest(spec.path) != spec.sha256:
        raise ValueError(f"{spec.path} was changed meanwhile; allowed: the same file until the end")
    data, chosen = letor_data(spec.path), np.array(spec.rankers, np.int64)
    short = spec.interleaving in PICKS  # what is displayed depends on the first places alone
    return MatrixProblem(
        labels=data.labels,
        start=data.start,
        user=users.user(spec.user_model, spec.grades),
        rankings=letor.feature_rankings(data, spec.length, chosen, ties=spec.ties) if short else None,
        features=None if short else data.features[:, chosen],
        order=None if short else letor.tie_order(data.start, spec.ties),
        pairs=np.array(list(combinations(range(len(chosen)), 2))),
        interleaving=spec.interleaving,
        knobs=json.loads(spec.knobs),
        length=spec.length,
        per_query=0,
        key=row_keys([spec.seed], ENVIRONMENT)[0],
    )


def exact_sums(problem: MatrixProblem, part: MatrixPart) -> PartSums:
    """Evaluate a part exactly; no error is left."""
    begin = time.thread_time()
    assert problem.rankings is not None
    queries = slice(part.query, part.query_stop)
    start = problem.start[part.query : part.query_stop + 1]
    grades = problem.labels[start[0] : start[-1]]
    wins = np.empty((part.pair_stop - part.pair, part.query_stop - part.query))
    click, stop = problem.user.clicking[grades], problem.user.stopping[grades]
    pairs, picks = problem.pairs[part.pair : part.pair_stop], PICKS[problem.interleaving]
    evaluate_pairs(problem.rankings[queries], start - start[0], click, stop, pairs, picks, wins)
    mean = np.zeros(part.pair_stop - part.pair) + wins.sum(axis=1)
    return PartSums(mean, np.zeros_like(mean), time.thread_time() - begin)


def query_sums(problem: MatrixProblem, part: MatrixPart, first: int) -> Iterator[PartSums]:
    """Simulate a part's queries from ``first`` on, one after the other."""
    method, n = make(problem.interleaving, problem.knobs), problem.per_query
    for query in range(first, part.query_stop):
        begin = time.thread_time()
        one, squares = _simulated(problem, method, query, part.pair, part.pair_stop)
        variance = np.maximum(squares / n - (one / n) ** 2, 0.0) / (n - 1)
        yield PartSums(one / n, variance, time.thread_time() - begin)


def _simulated(
    problem: MatrixProblem, method: Any, query: int, pair: int, pair_stop: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum left's outcomes (1, 1/2 or 0) and of their squares over the query's comparisons, (pairs,) each.

    Comparison n of pair p on query q is session (q * pairs + p) * per_query + n of the key: no two share a session, and
    the sums do not depend on how pairs and queries are cut into parts.
    """
    start, end = problem.start[query : query + 2].tolist()
    if problem.rankings is not None:
        rankings = problem.rankings[query][:, : end - start]
    else:
        assert problem.features is not None
        assert problem.order is not None
        rankings = letor.sorted_rankings(problem.features[start:end], problem.order[start:end], end - start)
    lists = Lists.of(rankings.astype(np.int64), end - start)
    n, total = problem.per_query, (pair_stop - pair) * problem.per_query
    sums, squares = np.zeros(pair_stop - pair), np.zeros(pair_stop - pair)
    rows = min(BATCH, total)
    key, first = np.full(rows, problem.key), np.full(rows, start)
    displayed, share = np.empty((rows, problem.length), np.int64), np.empty((rows, problem.length))
    clicks = np.empty((rows, problem.length), np.int8)
    reward, credit = np.empty(rows), np.empty((rows, 2))
    base = (query * len(problem.pairs) + pair) * n
    for begin in range(0, total, rows):
        flat = np.arange(begin, min(begin + rows, total))
        own = flat // n  # the pair's number within the part
        k = slice(0, len(flat))
        left, right = problem.pairs[pair + own].T.copy()
        session = base + flat
        method.interleave(lists, left, right, key[k], session, displayed[k], share[k])
        clicking, stopping = problem.user
        users.click(clicking, stopping, problem.labels, first[k], key[k], session, displayed[k], clicks[k], reward[k])
        method.credit(lists, left, right, displayed[k], share[k], clicks[k], credit[k])
        difference = credit[k, 0] - credit[k, 1]
        outcome = 0.5 * (difference > TOLERANCE) + 0.5 * (difference >= -TOLERANCE)
        sums += np.bincount(own, outcome, len(sums))
        squares += np.bincount(own, outcome * outcome, len(sums))
    return sums, squares
