"""The preference matrix of the feature rankers of a LETOR file, by interleaved comparisons: exactly, or by simulation.

The paper on mergeRUCB (Zoghi, Whiteson and de Rijke, WSDM 2015, section 5) estimates each entry p_ij, the probability
that ranker i beats ranker j in an interleaved comparison on a query drawn at random, from 400,000 simulated ones. Here

* ``method="exact"`` sums over all coins and all users, where ``exact.py`` can: no error is left;
* ``method="simulate"`` draws comparisons by any method of ``rankgym.interleaving``. Every query gets the same number of
  them instead of being drawn: the mean is the same, and the variance between queries is gone (stratified sampling).
  What is left is estimated within each query, so that the standard errors are right for it.

The queries of the file are all the queries that there are: errors are not about other queries. A tie is half a win.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import whole_number
from rankgym.data import letor
from rankgym.experiments.plan.digests import code_digest
from rankgym.experiments.preferences.exact import PICKS, evaluate_pairs
from rankgym.experiments.run.blocks import _end_with_parent
from rankgym.interleaving import INTERLEAVINGS, Lists, make
from rankgym.kernels import ENVIRONMENT, row_keys
from rankgym.models import users
from rankgym.outputs import atomic_path, check_writable, json_text, versions
from rankgym.progress import PATIENCE, count_bar

__all__ = ["METHODS", "Preferences", "estimate", "summary"]

METHODS = ("exact", "simulate")
BATCH = 8192  # simulated comparisons that are drawn at once
TOLERANCE = 1e-9  # credit that differs by rounding alone is equal, as in rankgym.interleaving
WORK = {"exact": 200_000, "simulate": 2_000_000}  # comparisons of a part: some seconds
MOST_PARTS = 1000


class Preferences(NamedTuple):
    """An estimated preference matrix."""

    preference: NDArray[np.float64]  # (K, K): entry [i, j] is P(i beats j) + P(tie) / 2; p + p.T = 1, diagonal 1/2
    error: NDArray[np.float64]  # (K, K): its standard errors; 0 where it is exact
    rankers: NDArray[np.int64]  # (K,): numbers of the file's features, from 0
    settings: dict[str, Any]  # all that decided the numbers, and what they took
    notes: list[str]

    @property
    def condorcet_winner(self) -> int:
        """The place in ``rankers`` of the one that beats every other, or -1."""
        wins = (self.preference > 0.5).sum(axis=1)
        return int(wins.argmax()) if wins.max() == len(wins) - 1 else -1


class Problem(NamedTuple):
    """What the processes need. Query q has the documents ``start[q] .. start[q + 1] - 1``."""

    labels: NDArray[np.int8]  # (documents,)
    start: NDArray[np.int64]  # (queries + 1,)
    user: users.User
    rankings: NDArray[np.int32] | None  # (queries, rankers, length), where no more of the rankings matters; else
    features: NDArray[np.float32] | None  # (documents, rankers) and
    order: NDArray[np.int64] | None  # (documents,), how equal values stand
    pairs: NDArray[np.int64]  # (pairs, 2): places in the chosen rankers, first < second
    interleaving: str
    knobs: dict[str, Any]
    method: str
    length: int  # of the interleaved list
    per_query: int  # comparisons of a pair on a query; 1 where they are exact
    key: np.uint64  # of all coins


class Part(NamedTuple):
    """Queries and pairs, from and up to; one file."""

    query: int
    query_stop: int
    pair: int
    pair_stop: int

    @property
    def cells(self) -> int:
        return (self.query_stop - self.query) * (self.pair_stop - self.pair)


class Sums(NamedTuple):
    """Of each pair of a part, over its queries."""

    mean: NDArray[np.float64]  # (pairs,): the sum of the queries' means
    variance: NDArray[np.float64]  # (pairs,): the sum of the variances of these means
    seconds: float  # of a processor


# -- one part ---------------------------------------------------------------------------------------------------------


def evaluate(problem: Problem, part: Part) -> Sums:
    """The part's sums."""
    begin = time.process_time()
    mean = np.zeros(part.pair_stop - part.pair)
    variance = np.zeros_like(mean)
    if problem.method == "exact":
        mean += _exact(problem, part)
    else:
        method = make(problem.interleaving, problem.knobs)
        for query in range(part.query, part.query_stop):
            one, squares = _simulated(problem, method, query, part.pair, part.pair_stop)
            n = problem.per_query
            mean += one / n
            variance += np.maximum(squares / n - (one / n) ** 2, 0.0) / (n - 1)
    return Sums(mean, variance, time.process_time() - begin)


def _exact(problem: Problem, part: Part) -> NDArray[np.float64]:
    assert problem.rankings is not None
    queries = slice(part.query, part.query_stop)
    start = problem.start[part.query : part.query_stop + 1]
    grades = problem.labels[start[0] : start[-1]]
    wins = np.empty((len(range(part.pair, part.pair_stop)), part.query_stop - part.query))
    evaluate_pairs(
        problem.rankings[queries],
        start - start[0],
        problem.user.clicking[grades],
        problem.user.stopping[grades],
        problem.pairs[part.pair : part.pair_stop],
        PICKS[problem.interleaving],
        wins,
    )
    return wins.sum(axis=1)


def _simulated(
    problem: Problem, method: Any, query: int, pair: int, pair_stop: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sums of left's outcomes (1, 1/2 or 0) and of their squares over the query's comparisons, (pairs,) each.

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


# -- all parts --------------------------------------------------------------------------------------------------------


def _parts(problem: Problem) -> list[Part]:
    """Cut into parts of about as much work; where each is a file, they are not to be too many."""
    queries, pairs = len(problem.start) - 1, len(problem.pairs)
    target = max(WORK[problem.method] / problem.per_query, queries * pairs / MOST_PARTS)  # cells of a part
    pair_step = -(-pairs // max(1, round(pairs / target)))  # of equal sizes, as far as they go
    query_step = min(queries, max(1, round(target / pairs)))
    return [
        Part(q, min(q + query_step, queries), p, min(p + pair_step, pairs))
        for q in range(0, queries, query_step)
        for p in range(0, pairs, pair_step)
    ]


_problem: Problem | None = None  # of a worker


def _begin_worker(problem: Problem) -> None:
    global _problem
    _problem = problem
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to hear
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _work(part: Part) -> Sums:
    assert _problem is not None
    return evaluate(_problem, part)


def _evaluate_all(problem: Problem, parts: Sequence[Part], jobs: int) -> Iterator[tuple[Part, Sums]]:
    """Evaluate parts in ``jobs`` processes (1: in this one), in no certain order."""
    if jobs == 1 or len(parts) <= 1:
        for part in parts:
            yield part, evaluate(problem, part)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(parts)), context, _begin_worker, (problem,)) as pool:
        try:
            waiting = {pool.submit(_work, part): part for part in parts}
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield waiting.pop(future), future.result()
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process died: killed for want of memory, or started from a script that lacks "
                "`if __name__ == '__main__':` around its work"
            ) from error
        finally:  # also when the caller leaves early, or Ctrl-C is pressed
            pool.shutdown(wait=True, cancel_futures=True)


class _Files(NamedTuple):
    """What is written beside each other."""

    matrix: Path
    errors: Path
    settings: Path
    parts: Path  # a folder, until all are done


def _files(out: str | os.PathLike[str]) -> _Files:
    path = Path(out)
    if path.suffix != ".npy" or path.is_dir():
        raise ValueError(f"out = {os.fspath(out)!r} is no name for a matrix; allowed: a file name that ends in .npy")
    check_writable(out, path.parent)
    return _Files(path, path.with_suffix(".errors.npy"), path.with_suffix(".json"), path.with_suffix(".parts"))


def save(result: Preferences, files: _Files) -> None:
    """Write a result; each file is written aside and renamed, the settings, which stand for the others, last."""
    for path, array in ((files.errors, result.error), (files.matrix, result.preference)):
        with atomic_path(path) as unfinished, unfinished.open("wb") as file:
            np.save(file, array)
    with atomic_path(files.settings) as unfinished:
        unfinished.write_text(json_text(result.settings), encoding="utf-8")


class _Kept:
    """What an earlier run left: parts, ``<key>-<part>.npz``, each of them whole, or the result. Without files nothing
    is kept."""

    def __init__(self, files: _Files | None, key: str) -> None:
        self.files, self.key = files, key

    def _path(self, part: Part) -> Path:
        assert self.files is not None
        name = f"{self.key}-queries-{part.query}-{part.query_stop}-pairs-{part.pair}-{part.pair_stop}.npz"
        return self.files.parts / name

    def find(self, part: Part) -> Sums | None:
        if self.files is None:
            return None
        try:
            with self._path(part).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                sums = Sums(file["mean"], file["variance"], float(file["seconds"]))
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            return None  # not there, or damaged: evaluated and written again
        shape = (part.pair_stop - part.pair,)
        return sums if sums.mean.shape == sums.variance.shape == shape else None

    def keep(self, part: Part, sums: Sums) -> None:
        if self.files is not None:
            self.files.parts.mkdir(parents=True, exist_ok=True)
            with atomic_path(self._path(part)) as path, path.open("wb") as file:
                np.savez(file, mean=sums.mean, variance=sums.variance, seconds=np.float64(sums.seconds))

    def forget(self) -> None:
        """Remove the parts; the folder too, unless another estimate's are in it."""
        if self.files is not None and self.files.parts.is_dir():
            for path in self.files.parts.glob(f"{self.key}-*.npz"):
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self.files.parts.rmdir()

    def _settings(self) -> dict[str, Any]:
        """Of the matrix that is there; empty where there is none, or nobody's."""
        with contextlib.suppress(OSError, ValueError):
            if self.files is not None:
                found = json.loads(self.files.settings.read_text(encoding="utf-8"))
                return found if isinstance(found, dict) and self.files.matrix.exists() else {}
        return {}

    def result(self) -> Preferences | None:
        """The result, where it was done before."""
        settings = self._settings()
        if self.files is None or settings.get("key") != self.key:
            return None
        try:
            with self.files.matrix.open("rb") as matrix, self.files.errors.open("rb") as errors:
                preference, error = (np.load(file, allow_pickle=False) for file in (matrix, errors))
        except (OSError, EOFError, ValueError):
            return None
        rankers = np.array(settings["rankers"], np.int64)
        if not preference.shape == error.shape == (len(rankers), len(rankers)):
            return None
        return Preferences(preference, error, rankers, settings, ["kept from an earlier run; --fresh does it again"])

    def replaced(self) -> list[str]:
        """A note about what was there before, if it was another matrix."""
        if self.files is None or not self.files.matrix.exists():
            return []
        old = self._settings()
        same = old.get("key") == self.key  # but damaged
        words = [str(old.get(key, "?")) for key in ("file", "interleaving", "user_model", "method")]
        what = f" of {', '.join(words)}" if old else ""
        return [] if same else [f"replaces the matrix{what} in {self.files.matrix}"]


# -- the door ---------------------------------------------------------------------------------------------------------


def estimate(
    path: str | os.PathLike[str],
    *,
    interleaving: str = "probabilistic",
    interleaving_knobs: dict[str, Any] | None = None,
    user_model: str = "navigational",
    grades: int | None = None,
    method: str | None = None,
    comparisons: int = 10_000,
    num_documents: int = 10,
    rankers: Sequence[int] | None = None,
    ties: int = 0,
    seed: int = 0,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> Preferences:
    """Estimate the preference matrix of a LETOR file's feature rankers.

    The defaults are those of ``rankgym/Dueling-LETOR-v0``, whose ``preferences=`` takes what is written to ``out``.

    Args:
        path: the file.
        interleaving: a name of ``rankgym.interleaving.INTERLEAVINGS``, or ``"probabilistic-greedy"`` (exact only).
        interleaving_knobs: its keywords, in a simulation.
        user_model: ``"perfect"``, ``"navigational"`` or ``"informational"``.
        grades: 2 for users of labels 0 and 1, 5 for users of labels 0 .. 4. None: what the largest label asks for.
        method: ``"exact"`` or ``"simulate"``. None: exact where there is such an evaluation.
        comparisons: simulated ones of a pair, rounded up to the same number, at least 2, for every query.
        num_documents: the length of the interleaved list; a query with fewer documents has a shorter one.
        rankers: numbers of features from 0. None: all.
        ties: a seed of the order of equal values, see ``rankgym.data.letor.feature_rankings``.
        seed: of the simulated comparisons.
        jobs: processes. The numbers do not depend on it.
        out: write the matrix here (``NAME.npy``), its standard errors to ``NAME.errors.npy``, and all that decided them
            to ``NAME.json``. Finished parts are kept in the folder ``NAME.parts`` until then: the same call goes on
            from them, and once it was done it only reads what is there.
        fresh: evaluate again what there is.
        progress: say what it will cost, and show a bar, on standard error, where it takes more than two seconds.

    Raises:
        DataError: a ValueError in one line, with file and line, where the file is not as it should be.
        ValueError: an argument is out of range.
        OSError: the file cannot be read.
    """
    method = _method(method, interleaving)
    knobs = dict(interleaving_knobs or {})
    if method == "simulate":
        knobs = make(interleaving, knobs).knobs()
    elif knobs:
        raise ValueError(f"interleaving_knobs = {knobs} are for simulations; allowed with method = 'exact': none")
    comparisons = whole_number("comparisons", comparisons, 1)
    num_documents = whole_number("num_documents", num_documents, 1)
    seed = whole_number("seed", seed, 0)
    jobs = whole_number("jobs", jobs, 1)
    if user_model not in users.USERS:
        raise ValueError(f"user_model = {user_model!r} is unknown; allowed: {', '.join(map(repr, users.USERS))}")
    files = None if out is None else _files(out)
    data = letor.load(path, progress=progress)
    chosen = letor.chosen_rankers(rankers, data.features.shape[1])
    if len(chosen) < 2:
        raise ValueError(f"rankers = {chosen.tolist()} makes no pair; allowed: at least two")
    user = users.user(user_model, _grades(grades, data, path))
    queries = len(data.query_ids)
    short = interleaving in PICKS  # what is displayed depends on the first places alone
    problem = Problem(
        labels=data.labels,
        start=data.start,
        user=user,
        rankings=letor.feature_rankings(data, num_documents, chosen, ties=ties) if short else None,
        features=None if short else data.features[:, chosen],
        order=None if short else letor.tie_order(data.start, ties),
        pairs=np.array(list(combinations(range(len(chosen)), 2))),
        interleaving=interleaving,
        knobs=knobs,
        method=method,
        length=num_documents,
        per_query=1 if method == "exact" else max(2, -(-comparisons // queries)),
        key=row_keys([seed], ENVIRONMENT)[0],
    )
    settings: dict[str, Any] = {
        "file": Path(path).name,
        "sha256": letor.file_digest(path),
        "queries": queries,
        "documents": len(data.labels),
        "interleaving": interleaving,
        "interleaving_knobs": knobs,
        "user_model": user_model,
        "clicking": user.clicking.tolist(),
        "stopping": user.stopping.tolist(),
        "num_documents": num_documents,
        "rankers": chosen.tolist(),
        "ties": int(ties),
        "method": method,
        "versions": versions(),
    }
    if method == "simulate":
        settings |= {"comparisons": problem.per_query * queries, "per_query": problem.per_query, "seed": seed}
    settings["key"] = _key(settings)
    kept = _Kept(files, settings["key"])
    notes: list[str] = []
    if fresh:
        kept.forget()
    elif (before := kept.result()) is not None:
        return before
    else:
        notes += kept.replaced()
    try:
        sums, seconds = _add_up(problem, jobs, kept, progress, notes)
    except KeyboardInterrupt as interruption:
        if files is not None and files.parts.is_dir():
            interruption.add_note(f"finished parts are in {files.parts}; the same command goes on from them")
        raise
    preference, error = _matrices(sums, problem.pairs, len(chosen), queries)
    settings["cpu_seconds"] = round(seconds, 3)
    result = Preferences(preference, error, chosen, settings, notes)
    if files is not None:
        save(result, files)
        kept.forget()
    return result


def _method(method: str | None, interleaving: str) -> str:
    """The method that is meant, if it goes with the interleaving; or a ValueError."""
    if interleaving not in (*INTERLEAVINGS, *PICKS):
        allowed = ", ".join(map(repr, dict.fromkeys((*INTERLEAVINGS, *PICKS))))
        raise ValueError(f"interleaving = {interleaving!r} is unknown; allowed: {allowed}")
    if method is None:
        return "exact" if interleaving in PICKS else "simulate"
    if method not in METHODS:
        raise ValueError(f"method = {method!r} is unknown; allowed: 'exact', 'simulate'")
    if method == "exact" and interleaving not in PICKS:
        raise ValueError(
            f"method = 'exact' has no way to evaluate interleaving = {interleaving!r}; allowed: 'simulate', or "
            f"interleaving = {' or '.join(map(repr, PICKS))}"
        )
    if method == "simulate" and interleaving not in INTERLEAVINGS:
        raise ValueError(f"method = 'simulate' does not draw interleaving = {interleaving!r}; allowed: 'exact'")
    return method


def _grades(grades: int | None, data: letor.LetorData, path: str | os.PathLike[str]) -> int:
    """How many grades the user model must know, or a ValueError."""
    highest = int(data.labels.max())
    if grades is None:
        grades = 2 if highest <= 1 else 5
    if grades in (2, 5) and highest >= grades:  # what else it may be is users.user's to say
        query = data.query_ids[np.searchsorted(data.start, int(data.labels.argmax()), side="right") - 1]
        raise ValueError(f"{os.fspath(path)} has a label {highest}, in query {query}; allowed: 0 .. {grades - 1}")
    return grades


def _key(settings: dict[str, Any]) -> str:
    """A digest of all that decides the numbers: the settings but the file's name, and the code."""
    own = hashlib.sha256()
    for name in ("estimate.py", "exact.py"):
        own.update(Path(__file__).with_name(name).read_bytes())
    decides = {**settings, "file": "", "code": code_digest(), "own": own.hexdigest()}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:20]


def _add_up(
    problem: Problem, jobs: int, kept: _Kept, progress: bool, notes: list[str]
) -> tuple[list[tuple[Part, Sums]], float]:
    """All parts' sums, in the order of the parts, and the seconds that they took, of all processes."""
    parts = _parts(problem)
    found = {part: sums for part in parts if (sums := kept.find(part)) is not None}
    missing = [part for part in parts if part not in found]
    if found:
        notes.append(f"{len(found)} of {len(parts)} parts were kept from an earlier run; --fresh evaluates them again")
    if missing:
        cost = _cost(problem, missing) / min(jobs, len(missing))
        with _bar(problem, parts, missing, cost, progress) as advance:
            for part, sums in _evaluate_all(problem, missing, jobs):
                found[part] = sums
                kept.keep(part, sums)
                advance(part)
    return [(part, found[part]) for part in parts], sum(sums.seconds for sums in found.values())


def _cost(problem: Problem, parts: Sequence[Part]) -> float:
    """About how many seconds the parts will take, one after the other, by a try of a few hundredths of a second.

    It also compiles what the workers will need, once.
    """
    evaluate(problem._replace(per_query=min(problem.per_query, 2)), Part(0, 1, 0, 1))
    pairs, n = len(problem.pairs), problem.per_query
    few = min(pairs, 2000 if problem.method == "exact" else max(1, 20_000 // n))
    part = Part(0, 1, pairs // 2 - few // 2, pairs // 2 - few // 2 + few)
    some = problem._replace(per_query=min(n, 20_000))
    tries = []
    for _ in range(2):
        begin = time.perf_counter()
        evaluate(some, part)
        tries.append(time.perf_counter() - begin)
    return min(tries) / part.cells * (n / some.per_query) * sum(part.cells for part in parts)


@contextlib.contextmanager
def _bar(problem: Problem, parts: Sequence[Part], missing: Sequence[Part], cost: float, shown: bool) -> Iterator[Any]:
    if not shown or cost < PATIENCE:
        yield lambda part: None
        return
    from rich.console import Console

    queries, pairs = len(problem.start) - 1, len(problem.pairs)
    each = "evaluated exactly" if problem.method == "exact" else f"x {problem.per_query:,} comparisons"
    rest = "" if len(missing) == len(parts) else f", {len(missing)} of {len(parts)} parts to do"
    console = Console(stderr=True)
    console.print(
        f"{pairs:,} pairs x {queries:,} queries {each}{rest}: {_duration(cost)}", highlight=False, soft_wrap=True
    )
    bar = count_bar("pairs x queries", console=console)
    with bar:
        total = sum(part.cells for part in parts)
        task = bar.add_task("preferences", total=total, completed=total - sum(part.cells for part in missing))
        yield lambda part: bar.advance(task, part.cells)


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds > 2 * size:
            return f"about {seconds / size:.3g} {unit}"
    return f"about {seconds:.0f} seconds"


def _matrices(
    parts: Sequence[tuple[Part, Sums]], pairs: NDArray[np.int64], rankers: int, queries: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean, variance = np.zeros(len(pairs)), np.zeros(len(pairs))
    for part, sums in parts:
        mean[part.pair : part.pair_stop] += sums.mean
        variance[part.pair : part.pair_stop] += sums.variance
    preference, error = np.full((rankers, rankers), 0.5), np.zeros((rankers, rankers))
    first, second = pairs.T
    mean = np.clip(mean / queries, 0.0, 1.0)
    mean[np.abs(mean - 0.5) < TOLERANCE] = 0.5  # equal rankers tie, and rounding makes no Condorcet winner
    preference[first, second] = mean
    preference[second, first] = 1.0 - preference[first, second]
    error[first, second] = error[second, first] = np.sqrt(variance) / queries
    return preference, error


def summary(result: Preferences, seconds: float) -> list[str]:
    """What there is to say of an estimate that took so many seconds of waiting."""
    settings, rankers = result.settings, len(result.rankers)
    pairs = np.triu_indices(rankers, 1)
    margins, errors = np.abs(result.preference[pairs] - 0.5), result.error[pairs]
    how = "evaluated exactly"
    if settings["method"] == "simulate":
        how = f"{settings['comparisons']:,} comparisons each"
        how += f", standard errors {errors.mean():.2g} on average and {errors.max():.2g} at most"
    spent = settings["cpu_seconds"]
    total = len(margins) * (settings["queries"] if settings["method"] == "exact" else settings["comparisons"])
    rate = f", {total / spent:,.0f} comparisons a second of one processor" if spent else ""
    lines = [*result.notes, f"{rankers} rankers, {len(margins):,} pairs on {settings['queries']:,} queries: {how}"]
    lines.append(f"{seconds:.1f} seconds; evaluation {spent:.1f} seconds of processors{rate}")
    winner, wins = result.condorcet_winner, (result.preference > 0.5).sum(axis=1)
    if winner >= 0:
        rest = np.delete(result.preference[winner], winner)
        lines.append(f"Condorcet winner: ranker {result.rankers[winner]}, by at least {rest.min() - 0.5:.3g}")
    else:
        best = [str(result.rankers[arm]) for arm in np.flatnonzero(wins == wins.max())]
        some = f"ranker {best[0]} beats" if len(best) == 1 else f"rankers {', '.join(best)} beat"
        lines.append(
            f"no Condorcet winner; {some} the most others, {wins.max()} of {rankers - 1}. Environments with this "
            "matrix need winner=copeland or winner=borda to know regret"
        )
    unsure = int((margins <= 2 * errors).sum())
    even = "exact ties" if settings["method"] == "exact" else "within two standard errors of 1/2"
    lines.append(f"{unsure:,} of {len(margins):,} pairs are {even}")
    return lines
