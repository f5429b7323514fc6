"""Compare agents in one environment: a sweep with a single environment, whose results become a ``Comparison``."""

import contextlib
import inspect
import math
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.arguments import named_keywords, whole_number
from rankgym.experiments.judge.comparison import Comparison
from rankgym.experiments.plan.agents import AgentLike, AgentSpec
from rankgym.experiments.plan.environments import (
    ResolvedEnvironment,
    agent_specs,
    check_env_arguments,
    env_arguments,
    one_row,
)
from rankgym.experiments.plan.environments import env_id as find_id
from rankgym.experiments.plan.jobs import Job, made_in
from rankgym.experiments.plan.sweep import SWEEP, Environment, Sweep
from rankgym.experiments.run import store
from rankgym.experiments.run.driver import LOG, read_log
from rankgym.experiments.run.executor import Executor
from rankgym.experiments.run.foreign_files import has_keys, is_sweep_folder, named
from rankgym.experiments.run.lock import LOCK
from rankgym.experiments.run.plan_file import PLAN
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.rows import make
from rankgym.experiments.run.sweeps import play_jobs
from rankgym.experiments.show.files import save
from rankgym.outputs import when_interrupted

NAME = "comparison"  # the title of a comparison's sweep
MAX_ROWS = 600  # rows of a job: more are hardly faster, and any machine has the memory for these
MIN_ROWS = 150  # rows of a job that is cut to occupy another process: smaller jobs lose what they gain
COMPARISON_KEYS = {"environment", "agents", "rounds", "versions"}  # of compare.json
FILES = (SWEEP, PLAN, LOG, "results", "compare.json", "table.csv", "table.md", "regret.png", "regret.svg")  # replaced
LAST_ROUND = 2**53  # no run gets this far


@named_keywords
def compare(
    env_id: str,
    agents: Sequence[AgentLike] | None = None,
    *,
    rounds: int,
    runs: int = 1,
    seed: int = 0,
    query: int | str | Sequence[int | str] = "all",
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    fresh: bool = False,
    overwrite: bool = False,
    retire: bool = False,
    backend: str | None = None,
    address: str | None = None,
    checkpoint_every: float = 120.0,
    resume: str = "the same call",
    **env_kwargs: Any,
) -> Comparison:
    """Play ``rounds`` sessions, or duels, in every row with each of ``agents``, and compare the results.

    Args:
        env_id: an id, with or without ``rankgym/``.
        agents: at least one: names of ``rankgym_agents.AGENTS``, with knobs if wanted (``"toprank:delta=1e-6"``), or
            your own classes, as ``"package.module:Class"`` or the class itself; or one text with commas. Your own
            knobs are plain JSON values: ``"package.module:Class:epsilon=0.3"``, or ``functools.partial(Class,
            epsilon=0.3)``. A function as ``"package.module:function"`` makes agents if its return annotation is a class
            with act and update. Default:
            all of the table that can play the environment.
        rounds: at least 1.
        runs: rows for each query or problem, at least 1.
        seed: of row 0, at least 0.
        query: one query, a list of queries, ``"all"``, ``"train"`` or ``"test"``. If the environment has problems
            instead, it chooses among those and may be given as ``problem``; if it has neither, there are ``runs`` rows.
        jobs: processes, at least 1; 1: this process, where agents defined at a prompt work, too. Default: 1, or with a
            ``backend`` all of its workers. The numbers of agents that pass ``rankgym.check_agent`` do not depend on it.
            Scripts that ask for more than one need an ``if __name__ == "__main__":``.
        out: a folder for histories, tables, the figure and the results of the sweep, which ``load`` and ``rankgym sweep
            status|export|report`` read. Rows that it has results of, from the same code and settings, are not played
            again; another comparison's tables there are replaced. Default: a temporary folder.
        overwrite: write into ``out`` even if it has files that no comparison wrote; those of the same names are lost.
        progress: show the progress of each agent.
        fresh: play all rows again, even those that ``out`` has results of.
        retire: take rows that have settled for good out of the batch, as sweeps do. This is faster, but the reward of
            such a row continues with its expectation, so that the table's rewards differ slightly.
        backend, address, checkpoint_every: as in ``run_sweep``.
        resume: what messages advise after an interruption or a failure, if there is ``out``.
        **env_kwargs: the environment's arguments, plain JSON values. The default of ``horizon`` is ``rounds``.

    Raises:
        ValueError: an argument does not fit; nothing was played or written.
        RuntimeError: an agent failed; all others were played to the end, and ``out`` keeps their results.

    Examples:
        >>> from rankgym.experiments import compare
        >>> found = compare("CM-Yandex-v0", ["static", "random"], rounds=200, runs=2, query=[0, 1], progress=False)
        >>> final = {name: history.regret[-1] for name, history in found.histories.items()}
        >>> final["static"].shape, bool(final["static"].mean() < final["random"].mean())
        ((4,), True)
        >>> found.rows, found.milestones
        (4, [100, 200])
    """
    if "num_envs" in env_kwargs:
        meant = f"did you mean runs={env_kwargs['num_envs']!r}, the rows for each query?"
        raise ValueError(f"compare has no argument 'num_envs'; {meant}")
    check_env_arguments(find_id(env_id), env_kwargs.keys() - {"problem"}, OPTIONS)
    shown = agent_specs(agents)
    if jobs is not None or backend is None:
        jobs = whole_number("jobs", 1 if jobs is None else jobs, 1)
    executor = Executor(backend, address, jobs, checkpoint_every)
    query = _plain(query)
    environment = Environment("", env_id, env_kwargs, query=None if query is None or query == "all" else query)
    sweep = Sweep((environment,), agents or (), rounds, runs, seed, query, retire=retire, name=NAME)  # type: ignore[arg-type]
    played = sweep.setting_of(sweep.environments[0])
    rows = len(played.queries) * sweep.runs
    sweep = replace(sweep, rows_per_job=_rows_per_job(rows, len(played.agents), jobs))
    with tempfile.TemporaryDirectory() if out is None else contextlib.nullcontext(out) as folder:
        root = Path(folder)
        if not overwrite:
            _refuse_foreign_files(root)
        sweep = _cut_as_before(sweep, root)
        for series in sweep.series():
            make(series.job(0, 1).block)[0].close()  # refuses unsuitable knobs before anything is written
        planned = sweep.jobs(made_in(root))
        resume = "" if out is None else resume
        notes = _kept_rows(planned, set() if fresh else store.examine(root, planned).finished)
        results = play_jobs(
            planned, NAME, root, executor, sweep=sweep, replace=True, fresh=fresh, progress=progress, resume=resume
        )
        seconds = _seconds(planned, read_log(root))
    kept = "nothing is kept, as out is None" if out is None else f"all results are kept in {out}; to resume: {resume}"
    with when_interrupted(lambda: kept):
        comparison = _comparison(sweep, played, shown or played.agents, results, seconds, notes)
        if out is not None:
            save(comparison, Path(out))
    return comparison


OPTIONS = tuple(name for name in inspect.signature(compare).parameters if name != "env_kwargs")


def foreign_files(folder: Path) -> str:
    """Name the files in ``folder`` if no comparison has written there, first those that one would replace; else "".

    What an interrupted comparison leaves is not foreign: its ``sweep.json``, or before that its lock alone. Another
    sweep is refused elsewhere.
    """
    if not folder.is_dir() or is_sweep_folder(folder) or has_keys(folder / "compare.json", COMPARISON_KEYS):
        return ""
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name != LOCK)
    return named(sorted(names, key=lambda name: name not in FILES and not name.endswith(".npz")))


def _refuse_foreign_files(folder: Path) -> None:
    if others := foreign_files(folder):
        raise ValueError(
            f"out = {os.fspath(folder)!r} has files that no comparison wrote ({others}); allowed: another folder, or "
            "overwrite=True (--overwrite), which replaces those of the same names"
        )


# -- before playing ---------------------------------------------------------------------------------------------------


def _plain(query: Any) -> Any:
    """Return ``query`` with NumPy's numbers and other sequences as plain numbers and lists."""
    if isinstance(query, np.generic | np.ndarray):
        return query.tolist()
    return query if isinstance(query, str) or not isinstance(query, Iterable) else [_plain(one) for one in query]


def _rows_per_job(rows: int, agents: int, processes: int | None) -> int:
    """Return the rows of a job such that every process has work; ``processes``: None on a cluster of unknown size."""
    if processes is None:
        return min(rows, MIN_ROWS)
    pieces = max(-(-rows // MAX_ROWS), min(processes, rows // MIN_ROWS), -(-processes // agents))
    size = -(-rows // pieces)
    return size if -(-rows // size) >= pieces else max(1, rows // pieces)


def _cut_as_before(sweep: Sweep, folder: Path) -> Sweep:
    """Return ``sweep`` with the rows per job of the same comparison in ``folder``; ValueError if another is there."""
    try:
        before = Sweep.from_folder(folder)
    except (NotADirectoryError, ValueError):  # no sweep or a damaged one; a file in the folder's place fails later
        return sweep
    if before.name != NAME:
        raise ValueError(f"out = {os.fspath(folder)!r} has the sweep {before.name!r}; allowed: another folder")
    same = replace(before, agents=sweep.agents, runs=sweep.runs, rows_per_job=sweep.rows_per_job)
    return replace(sweep, rows_per_job=before.rows_per_job) if same.to_json() == sweep.to_json() else sweep


def _kept_rows(jobs: Iterable[Job], finished: set[str]) -> list[str]:
    """Return the note on rows that an earlier run has finished, or no note."""
    kept: dict[str, set[int]] = {}
    rows = 0
    for job in jobs:
        found, rows = kept.setdefault(job.block.agent.label, set()), job.rows
        found.update(range(job.block.start, min(job.block.stop, rows)) if job.key in finished else ())
    if not any(kept.values()):
        return []
    if all(len(found) == rows for found in kept.values()):
        these = "the one row of every agent was" if rows == 1 else f"all {rows} rows of every agent were"
        return [f"{these} kept from an earlier run; --fresh plays them again"]
    each = ", ".join(f"{label} {len(found)}" for label, found in kept.items() if found)
    return [f"kept from an earlier run, of {rows} rows: {each}; --fresh plays them again"]


# -- after playing ----------------------------------------------------------------------------------------------------


def _comparison(
    sweep: Sweep,
    environment: ResolvedEnvironment,
    shown: Sequence[AgentSpec],
    results: Results,
    seconds: dict[str, float],
    notes: list[str],
) -> Comparison:
    """Return the comparison of ``results``; agents that were given as classes are ``shown`` by the classes' names."""
    played = dict(zip((agent.label for agent in shown), results, strict=True))
    comparison = Comparison(
        **{**environment._asdict(), "agents": tuple(shown), "queries": tuple(environment.queries)},
        runs=sweep.runs,
        seed=sweep.seed,
        histories={label: one.history() for label, one in played.items()},
        seconds={label: seconds[one.agent] for label, one in played.items()},
        notes=notes,
        retire=sweep.retire,
    )
    notes += _unknown(comparison)
    if comparison.changing and comparison.breakpoints == ():
        return replace(comparison, first_breakpoint=_first_breakpoint(environment))
    return comparison


def _seconds(jobs: Iterable[Job], log: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return the seconds of each agent's rows in one process, by the log; NaN if the log has no job of the agent."""
    found: dict[str, float] = {}
    for label, own in groupby(jobs, lambda job: job.block.agent.label):
        mine = list(own)
        logged = sum(job.block.rows for job in mine if job.key in log)
        seconds = sum(float(log[job.key]["seconds"]) for job in mine if job.key in log)
        found[label] = seconds * mine[0].rows / logged if logged and seconds else math.nan
    return found


def _unknown(comparison: Comparison) -> list[str]:
    """Return the note on why no agent's regret is known, or no note."""
    if comparison.regret_known:
        return []
    if "preferences" not in (env_arguments(comparison.env_id) or {}):
        return ["regret is unknown for every agent"]
    why = " without a preference matrix: --set preferences=FILE gives it, and `rankgym data preferences` estimates one"
    if (file := comparison.env_kwargs.get("preferences")) is not None:
        how = "--set winner=copeland, or borda, measures them against another one"
        why = f": in preferences = {file!r} no ranker beats all others; {how}"
    return [f"regret and accuracy are unknown{why}"]


def _first_breakpoint(environment: ResolvedEnvironment) -> int | None:
    """Return the first breakpoint after the played rounds, without a horizon; None if it is unknown."""
    kwargs = {**environment.env_kwargs, "horizon": None}
    try:
        env = one_row(environment.env_id, environment.choice, environment.queries[0], kwargs)
    except ValueError:  # the breakpoints depend on the horizon
        return None
    with contextlib.closing(env):
        rounds = environment.rounds
        while rounds < LAST_ROUND:
            rounds *= 2
            if found := env.unwrapped.common_breakpoints(rounds):
                return int(found[0])
    return None
