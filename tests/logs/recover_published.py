"""Simulate logs of the 60 published queries and fit them: the figures of docs/fitting.md. Not part of the test suite.

    python tests/logs/recover_published.py coverage    # 95 % intervals of five logs of a million sessions a model
    python tests/logs/recover_published.py cross       # every model fitted to every model's log
    python tests/logs/recover_published.py large       # ten million sessions: time and memory, a model a process

Every session shows a uniformly random order of its query's ten items; a model's own kernel draws the clicks. The
published queries come from the data cache (``rankgym data fetch yandex60``). The DBM has the attraction of the PBM; the
simplified DBN ("sDBN") is a DBN that nobody abandons.
"""

import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from rankgym.data.catalogue import published
from rankgym.logs.fitting import evaluate, fit
from rankgym.logs.sessions import Sessions, click_bits
from rankgym.models import MODELS

FIXED = {"sDBN": {"abandonment": 0.0}}
NAMES = ["CM", "DBM", "PBM", "UBM", "DCM", "sDBN", "DBN", "CCM"]
BLOCK = 100_000
ITEMS = 10


def truth(name: str) -> dict[str, np.ndarray]:
    """The published parameters of all queries, shared ones without an axis of queries."""
    arrays, model = published("yandex60"), name.removeprefix("s")
    source = "pbm" if name == "DBM" else model.lower()
    made = {key: arrays[f"{source}_{key}"] for key in MODELS[model].axes}
    if name == "sDBN":
        made["abandonment"] = np.zeros(1)
    return made


def simulated(name: str, sessions: int, seed: int) -> Sessions:
    model, parameters, generator = MODELS[name.removeprefix("s")], truth(name), np.random.default_rng(seed)
    queries = len(parameters["attraction"])
    per_item = ("attraction", "satisfaction")
    query, item = np.empty(sessions, np.int32), np.empty((sessions, ITEMS), np.int32)
    bits = np.empty(sessions, np.uint64)
    query[:] = np.sort(generator.integers(0, queries, sessions))
    for start in range(0, sessions, BLOCK):
        block = slice(start, min(start + BLOCK, sessions))
        drawn = query[block]
        rows = len(drawn)
        displayed = generator.permuted(np.tile(np.arange(ITEMS), (rows, 1)), axis=1)
        tables = []
        for key in model.parameters._fields:
            table = parameters[key]
            shape = () if model.axes[key] == () else table.shape
            by_row = table[drawn] if key in per_item else np.broadcast_to(table if shape else table[0], (rows, *shape))
            tables.append(np.ascontiguousarray(by_row))
        clicks, reward = np.empty((rows, ITEMS), np.int8), np.empty(rows)
        key = generator.integers(0, 2**63, rows).astype(np.uint64)
        model.rewards["clicks"].click(*tables, key, np.arange(rows), displayed, ITEMS, clicks, reward)
        item[block], bits[block] = displayed + ITEMS * drawn[:, None], click_bits(clicks)
    return Sessions(
        query,
        item,
        bits,
        np.ones(sessions, np.int64),
        np.arange(queries).astype(str),
        np.arange(queries * ITEMS).astype(str),
        np.repeat(np.arange(queries), ITEMS).astype(np.int32),
    )


def scaled(name: str, made: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The parameters with the examination of the first position at 1: only products are identified."""
    if "examination" not in made:
        return made
    first = made["examination"][(0, -1)[: made["examination"].ndim]]
    return {"attraction": made["attraction"] * first, "examination": made["examination"] / first}


def coverage(sessions: int = 1_000_000, logs: int = 5) -> None:
    print(
        "model, parameter, intervals, coverage; those 4 errors from 0 and 1: number, coverage, sd of errors; steps, s"
    )
    for name in NAMES:
        found = {}
        steps, seconds, distance = [], [], []
        for seed in range(logs):
            log = simulated(name, sessions, seed)
            started = time.process_time()
            fitted = fit(log, name.removeprefix("s"), fixed=FIXED.get(name), progress=False)
            seconds.append(time.process_time() - started)
            steps.append(fitted.steps)
            distance.append(fitted.distance)
            falls = -np.diff(fitted.trace).min(initial=0.0) / abs(fitted.log_likelihood)
            assert fitted.converged, fitted
            assert falls < 1e-12, falls
            for key, true in scaled(name, truth(name)).items():
                true = true.reshape(fitted.parameters[key].shape)
                low, high = fitted.interval(key)
                error = fitted.errors[key]
                inner = (true > 4 * error) & (true < 1 - 4 * error)
                three = np.stack([(low <= true) & (true <= high), inner, (fitted.parameters[key] - true) / error])
                found.setdefault(key, []).append(three[:, ~np.isnan(error)])
        found["all"] = [part for logs_of in found.values() for part in logs_of]
        for key, rows in found.items():
            inside, inner, z = np.concatenate([row.reshape(3, -1) for row in rows], axis=1)
            inner = inner.astype(bool)
            print(
                f"{name} {key} {len(inside)} {inside.mean():.4f} | {inner.sum()} {inside[inner].mean():.4f} "
                f"{z[inner].std():.3f} | {np.mean(steps):.0f} steps {np.mean(seconds):.2f} s, {max(distance):.0e}",
                flush=True,
            )


def cross(sessions: int = 1_000_000) -> None:
    names = [name for name in NAMES if name != "sDBN"]
    for data in names:
        log, held_out = simulated(data, sessions, 100), simulated(data, sessions // 5, 200)
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = fit(log, name, progress=False)
            score = evaluate(fitted, held_out, progress=False)
            print(
                f"{data} log, {name}: {score.log_likelihood:.5f} {score.perplexity:.5f} "
                f"{score.conditional_perplexity:.5f} {score.impossible_clicks} {fitted.steps} {fitted.converged}",
                flush=True,
            )


def large(sessions: int = 10_000_000) -> None:
    for name in NAMES:
        subprocess.run([sys.executable, __file__, "one", name, str(sessions)], check=True)


def one(name: str, sessions: int) -> None:
    log = simulated(name, sessions, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, begun = time.process_time(), time.perf_counter()
    fitted = fit(log, name.removeprefix("s"), fixed=FIXED.get(name), progress=False)
    seconds, wall = time.process_time() - started, time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{name} {sessions:,}: {seconds:.1f} s ({wall:.1f} on the clock), {fitted.steps} steps, simulated within "
        f"{before / 1024:,.0f} MiB, peak {peak / 1024:,.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "one":
        one(rest[0], int(rest[1]))
    else:
        {"coverage": coverage, "cross": cross, "large": large}[what](*map(int, rest))
