"""The preference matrix of the feature rankers of a LETOR file, by interleaved comparisons: exactly, or by simulation.

The paper on mergeRUCB (Zoghi, Whiteson and de Rijke, WSDM 2015, section 5) estimates each entry p_ij, the probability
that ranker i beats ranker j in an interleaved comparison on a query drawn at random, from 400,000 simulated ones. Here

* ``method="exact"`` sums over all coins and all users, where ``exact.py`` can: no error is left;
* ``method="simulate"`` draws comparisons by any method of ``rankgym.interleaving``. Every query gets the same number of
  them instead of being drawn: the mean is the same, and the variance between queries is gone (stratified sampling).
  What is left is estimated within each query, so that the standard errors are right for it.

The queries of the file are all the queries that there are: errors are not about other queries. A tie is half a win.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import count_of, one_of, whole_number
from rankgym.data import letor
from rankgym.experiments.plan.digests import key_of
from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.preferences.exact import PICKS
from rankgym.experiments.preferences.matrix import MatrixFiles, Preferences
from rankgym.experiments.preferences.part_jobs import PartJob, evaluation_code, parts_of
from rankgym.experiments.preferences.problem import TOLERANCE, MatrixPart, PartSums, ProblemSpec, letor_data
from rankgym.experiments.run import store
from rankgym.experiments.run.driver import Driver
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.lock import locked
from rankgym.experiments.run.result_file import read_result
from rankgym.experiments.run.unchanged import unchanged_unless_played
from rankgym.interleaving import INTERLEAVINGS, make
from rankgym.models import users
from rankgym.outputs import versions


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
        user_model: ``"perfect"``, ``"navigational"``, ``"informational"`` or ``"almost-random"``.
        grades: 2 for users of labels 0 and 1, 3 for labels 0 .. 2, 5 for labels 0 .. 4. None: by the largest label.
        method: ``"exact"`` or ``"simulate"``. None: exact where the interleaving has such an evaluation.
        comparisons: simulated ones of a pair, rounded up to the same number, at least 2, for every query.
        num_documents: the length of the interleaved list; a query with fewer documents has a shorter one.
        rankers: numbers of features from 0. None: all.
        ties: a seed of the order of equal values, see ``rankgym.data.letor.feature_rankings``.
        seed: of the simulated comparisons.
        jobs: processes; 1: this one. The numbers do not depend on it.
        out: write the matrix here (``NAME.npy``), its standard errors to ``NAME.errors.npy``, and all that decided them
            to ``NAME.json``. Finished parts and checkpoints are kept in the folder ``NAME.parts`` until then: the same
            call resumes from them, and once all is done it only reads the files.
        fresh: evaluate everything again.
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
    comparisons = count_of("comparisons", comparisons, 1)
    num_documents = whole_number("num_documents", num_documents, 1)
    seed, ties, jobs = whole_number("seed", seed, 0), whole_number("ties", ties, 0), whole_number("jobs", jobs, 1)
    one_of("user_model", user_model, users.USERS)
    files = None if out is None else MatrixFiles.of(out)
    data = letor_data(path, progress=progress)
    chosen = letor.chosen_rankers(rankers, data.features.shape[1], 2)
    spec = ProblemSpec(
        path=os.path.abspath(path),
        sha256=letor.file_digest(path),
        rankers=tuple(chosen),
        ties=ties,
        interleaving=interleaving,
        knobs=json.dumps(knobs),
        user_model=user_model,
        grades=users.num_grades(data, grades, path),
        method=method,
        length=num_documents,
        seed=seed,
    )
    settings = _settings(spec, data, Path(path).name, comparisons)
    if files is not None and fresh:
        files.forget_parts(settings["key"])
    elif files is not None and (before := files.load(settings["key"])) is not None:
        return before
    notes = [] if files is None or fresh else files.replaced(settings["key"])
    found = _evaluate(spec, settings, files, jobs, progress, notes)
    preference, error = _matrices(found, len(chosen), settings["queries"])
    settings["cpu_seconds"] = round(sum(sums.seconds for _, sums in found), 3)
    result = Preferences(preference, error, np.array(chosen), settings, notes)
    if files is not None:
        files.save(result)
        files.forget_parts(settings["key"])
    return result


def _settings(spec: ProblemSpec, data: letor.LetorData, name: str, comparisons: int) -> dict[str, Any]:
    """All that decides the numbers, and a digest of it and of the code: the key, which does not depend on the name."""
    user, queries = users.user(spec.user_model, spec.grades), len(data.query_ids)
    settings: dict[str, Any] = {
        "file": name,
        "sha256": spec.sha256,
        "queries": queries,
        "documents": len(data.labels),
        "interleaving": spec.interleaving,
        "interleaving_knobs": json.loads(spec.knobs),
        "user_model": spec.user_model,
        "clicking": user.clicking.tolist(),
        "stopping": user.stopping.tolist(),
        "num_documents": spec.length,
        "rankers": list(spec.rankers),
        "ties": spec.ties,
        "method": spec.method,
        "versions": versions(),
    }
    if spec.method == "simulate":
        per_query = max(2, -(-comparisons // queries))
        settings |= {"comparisons": per_query * queries, "per_query": per_query, "seed": spec.seed}
    settings["key"] = key_of({**settings, "file": "", "code": evaluation_code()})
    return settings


def _evaluate(
    spec: ProblemSpec, settings: dict[str, Any], files: MatrixFiles | None, jobs: int, progress: bool, notes: list[str]
) -> list[tuple[MatrixPart, PartSums]]:
    """Evaluate the parts that have no result in the folder of ``files``, or a temporary one, and read all results."""
    pairs, queries, key = len(spec.rankers) * (len(spec.rankers) - 1) // 2, settings["queries"], settings["key"]
    per_query = settings.get("per_query", 1)
    parts = parts_of(queries, pairs, spec.method, per_query)
    part_jobs = [PartJob(spec, part, per_query, key, evaluation_code()) for part in parts]
    with tempfile.TemporaryDirectory() if files is None else contextlib.nullcontext(files.parts) as place:
        folder = Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        kept = len(store.examine(folder, part_jobs).finished)
        if kept:
            notes.append(f"{kept} of {len(parts)} parts were kept from an earlier run; --fresh evaluates them again")
        each = "evaluated exactly" if spec.method == "exact" else f"x {per_query:,} comparisons"
        rest = f", {len(parts) - kept} of {len(parts)} parts to do" if kept else ""
        try:
            with Executor(jobs=jobs) as executor, unchanged_unless_played(folder) as moves, locked(folder):
                driver = Driver(part_jobs, folder, executor, "the same command", shown=progress, moves=moves)
                driver.play(announce=f"{pairs:,} pairs x {queries:,} queries {each}{rest}")
            results = [read_result(folder / RESULTS / job.file, job.key) for job in part_jobs]
        finally:
            if files is not None and not files.has_work():
                files.forget_parts(key)
    return [
        (part, PartSums(one.columns["mean"], one.columns["variance"], one.settings["seconds"]))
        for part, one in zip(parts, results, strict=True)
    ]


def _method(method: str | None, interleaving: str) -> str:
    """The method, checked against the interleaving."""
    one_of("interleaving", interleaving, {**INTERLEAVINGS, **PICKS})
    if method is None:
        return "exact" if interleaving in PICKS else "simulate"
    if interleaving in one_of("method", method, {"exact": [*PICKS], "simulate": [*INTERLEAVINGS]}):
        return method
    if method == "exact":
        raise ValueError(
            f"method = 'exact' has no way to evaluate interleaving = {interleaving!r}; allowed: 'simulate', or "
            f"interleaving = {' or '.join(map(repr, PICKS))}"
        )
    raise ValueError(f"method = 'simulate' does not draw interleaving = {interleaving!r}; allowed: 'exact'")


def _matrices(
    found: Sequence[tuple[MatrixPart, PartSums]], rankers: int, queries: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.triu_indices(rankers, 1)
    mean, variance = np.zeros(len(first)), np.zeros(len(first))
    for part, sums in found:
        mean[part.pair : part.pair_stop] += sums.mean
        variance[part.pair : part.pair_stop] += sums.variance
    preference, error = np.full((rankers, rankers), 0.5), np.zeros((rankers, rankers))
    mean = np.clip(mean / queries, 0.0, 1.0)
    mean[np.abs(mean - 0.5) < TOLERANCE] = 0.5  # equal rankers tie, and rounding makes no Condorcet winner
    preference[first, second] = mean
    preference[second, first] = 1.0 - preference[first, second]
    error[first, second] = error[second, first] = np.sqrt(variance) / queries
    return preference, error
