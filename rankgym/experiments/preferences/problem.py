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
    seed: int


class MatrixProblem(NamedTuple):
    """What the evaluation needs. Query q has the documents ``start[q] .. start[q + 1] - 1``."""

    spec: ProblemSpec
    labels: NDArray[np.int8]  # (documents,)
    start: NDArray[np.int64]  # (queries + 1,)
    user: users.User
    rankings: NDArray[np.int32] | None  # (queries, rankers, length), if no more of the rankings matters; else
    features: NDArray[np.float32] | None  # (documents, rankers) and
    order: NDArray[np.int64] | None  # (documents,), the order of equal values
    pairs: NDArray[np.int64]  # (pairs, 2): places in the chosen rankers, first < second
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
    return _letor_data(os.path.abspath(path), letor.file_stamp(path), progress)


@functools.lru_cache(maxsize=1)
def _letor_data(path: str, stamp: tuple[int, ...], progress: bool) -> letor.LetorData:
    return letor.load(path, progress=progress)


@functools.lru_cache(maxsize=1)
def problem_of(spec: ProblemSpec) -> MatrixProblem:
    """Return the problem of ``spec``; ValueError if the file is not the one that ``spec`` was made from."""
    if letor.file_digest(spec.path) != spec.sha256:
        raise ValueError(f"{spec.path} was changed during the run; allowed: the same file until the end")
    data, chosen = letor_data(spec.path), np.array(spec.rankers, np.int64)
    short = spec.interleaving in PICKS  # what is displayed depends on the first places alone
    return MatrixProblem(
        spec=spec,
        labels=data.labels,
        start=data.start,
        user=users.user(spec.user_model, spec.grades),
        rankings=letor.feature_rankings(data, spec.length, chosen, ties=spec.ties) if short else None,
        features=None if short else data.features[:, chosen],
        order=None if short else letor.tie_order(data.start, spec.ties),
        pairs=np.array(list(combinations(range(len(chosen)), 2))),
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
    pairs, picks = problem.pairs[part.pair : part.pair_stop], PICKS[problem.spec.interleaving]
    evaluate_pairs(problem.rankings[queries], start - start[0], click, stop, pairs, picks, wins)
    mean = np.zeros(part.pair_stop - part.pair) + wins.sum(axis=1)
    return PartSums(mean, np.zeros_like(mean), time.thread_time() - begin)


def query_sums(problem: MatrixProblem, part: MatrixPart, first: int, n: int) -> Iterator[PartSums]:
    """Simulate ``n`` comparisons of each pair on each of a part's queries, from query ``first`` on."""
    method = make(problem.spec.interleaving, json.loads(problem.spec.knobs))
    for query in range(first, part.query_stop):
        begin = time.thread_time()
        one, squares = _simulated(problem, method, query, part.pair, part.pair_stop, n)
        variance = np.maximum(squares / n - (one / n) ** 2, 0.0) / (n - 1)
        yield PartSums(one / n, variance, time.thread_time() - begin)


def _simulated(
    problem: MatrixProblem, method: Any, query: int, pair: int, pair_stop: int, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum left's outcomes (1, 1/2 or 0), and their squares, over the query's ``n`` comparisons, (pairs,) each.

    Comparison c of pair p on query q is session (q * pairs + p) * n + c of the key: no two share a session, and the
    sums do not depend on how pairs and queries are cut into parts.
    """
    start, end = problem.start[query : query + 2].tolist()
    if problem.rankings is not None:
        rankings = problem.rankings[query][:, : end - start]
    else:
        assert problem.features is not None
        assert problem.order is not None
        rankings = letor.sorted_rankings(problem.features[start:end], problem.order[start:end], end - start)
    lists = Lists.of(rankings.astype(np.int64), end - start)
    total, length = (pair_stop - pair) * n, problem.spec.length
    sums, squares = np.zeros(pair_stop - pair), np.zeros(pair_stop - pair)
    rows = min(BATCH, total)
    key, first = np.full(rows, problem.key), np.full(rows, start)
    displayed, share = np.empty((rows, length), np.int64), np.empty((rows, length))
    clicks = np.empty((rows, length), np.int8)
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
