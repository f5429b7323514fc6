"""Comparing agents on one environment: the same users for every agent, many queries and runs, results kept on disk.

There are ``len(queries) * runs`` rows. Row b plays query b mod Q and has the seed ``seed + b``, for its users and its
agent, so agents meet the same users, and one more run adds rows without touching the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import whole_number
from rankgym.experiments.judge.comparison import Comparison
from rankgym.experiments.plan.agents import AgentSpec, slug
from rankgym.experiments.plan.digests import code_digest
from rankgym.experiments.plan.environments import env_arguments
from rankgym.experiments.plan.jobs import Block
from rankgym.experiments.plan.setting import KINDS, one_row, recorded_rounds, resolve
from rankgym.experiments.run.blocks import play, play_all
from rankgym.experiments.run.parts import Parts
from rankgym.experiments.show.files import save
from rankgym.outputs import check_writable, versions
from rankgym.play.history import DuelingHistory, History, measures
from rankgym.progress import AgentBars, working

__all__ = ["compare"]

LARGEST = 600  # rows of a block: where the rate has levelled off, and few enough for the memory of any machine
ENDLESS = 2**53  # rounds that nobody plays
SMALLEST = 150  # rows of a block that is cut for the sake of another process: smaller ones lose what they win


def compare(
    env_id: str,
    agents: Sequence[str | type] | None = None,
    *,
    rounds: int,
    runs: int = 1,
    seed: int = 0,
    query: int | Sequence[int] | str = "all",
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    fresh: bool = False,
    **env_kwargs: Any,
) -> Comparison:
    """Let each of ``agents`` rank, or duel, for ``rounds`` sessions in every row, and put the results side by side.

    Args:
        env_id: an id, with or without ``rankgym/``.
        agents: at least one: names of ``rankgym_agents.AGENTS``, with knobs if wanted (``"toprank:delta=1e-6"``), or
            classes of one's own, as ``"package.module:Class"`` or the class itself. Default: all of the table that can
            play the environment.
        rounds: at least 1.
        runs: rows for each query or problem, at least 1.
        seed: of row 0, at least 0.
        query: one query, a list of them, ``"all"``, ``"train"`` or ``"test"``. Where the environment has problems
            instead, it is of those, and may be given as ``problem``; where it has neither, there are ``runs`` rows.
        jobs: processes, at least 1. The numbers of agents that pass ``rankgym.check_agent`` do not depend on it.
            Scripts that ask for more than one need an ``if __name__ == "__main__":``.
        out: a folder for histories, tables and the figure. What was played before into the same folder, with the same
            code and settings, is not played again; another comparison's tables there are replaced.
        progress: show a bar an agent.
        fresh: play everything again, whatever ``out`` has.
        **env_kwargs: of the environment, plain JSON values. ``horizon`` is ``rounds`` where it is not given.

    Raises:
        ValueError: an argument does not fit; nothing was played or written then.
        RuntimeError: an agent failed; what was done by then is kept in ``out``.
    """
    plan = _Plan.make(env_id, agents, rounds, runs, seed, query, whole_number("jobs", jobs, 1), env_kwargs)
    with working("compiling what is not compiled yet", shown=progress):
        for spec in plan.agents:
            _rehearse(plan.block(spec, 0, 1))
    parts = None
    if out is not None:
        check_writable(out, Path(out))
        parts = Parts(Path(out) / "parts")
    tallies = {spec.label: _Tally(plan.rows) for spec in plan.agents}
    if parts is not None:
        for spec in plan.agents:
            if fresh:
                parts.forget(plan.key(spec))
            tally = tallies[spec.label]
            for start, stop, history, seconds in parts.find(plan.key(spec)):
                tally.add(start, stop, history, seconds)
    notes = _kept({label: int(tally.done.sum()) for label, tally in tallies.items()}, plan.rows)
    blocks = [block for spec in plan.agents for block in plan.blocks(spec, ~tallies[spec.label].done)]
    unit = KINDS[plan.kind]
    with AgentBars(tallies, plan.rows, plan.rounds, unit=unit, shown=progress and bool(blocks)) as bars:
        for label, tally in tallies.items():
            bars.kept(label, int(tally.done.sum()))
        try:
            for block, history, seconds in play_all(
                blocks, plan.jobs, lambda block, sessions: bars.advance(block.agent.label, sessions)
            ):
                if parts is not None:
                    parts.keep(plan.key(block.agent), block, history, seconds)
                tallies[block.agent.label].add(block.start, block.stop, history, seconds)
                bars.took(block.agent.label, seconds)
        except KeyboardInterrupt as interruption:
            if parts is not None and any(tally.done.any() for tally in tallies.values()):
                interruption.add_note(f"finished blocks of rows are kept in {out}: the same command goes on from there")
            raise
    comparison = Comparison(
        env_id=plan.env_id,
        env_kwargs=plan.env_kwargs,
        agents=plan.agents,
        rounds=plan.rounds,
        runs=plan.runs,
        seed=plan.seed,
        queries=tuple(plan.queries),
        cutoff=plan.cutoff,
        breakpoints=plan.breakpoints,
        kind=plan.kind,
        choice=plan.choice,
        histories={label: tally.history() for label, tally in tallies.items()},
        seconds={label: tally.seconds for label, tally in tallies.items()},
        notes=notes,
    )
    notes += _unknown(comparison)
    if comparison.changing and comparison.breakpoints == ():
        comparison = replace(comparison, first_breakpoint=_first_breakpoint(plan))
    if out is not None:
        save(comparison, Path(out))
    return comparison


@dataclass(frozen=True)
class _Plan:
    """What is to be played."""

    env_id: str
    env_kwargs: dict[str, Any]
    agents: tuple[AgentSpec, ...]
    rounds: int
    runs: int
    seed: int
    queries: list[int]
    jobs: int
    cutoff: int | None
    breakpoints: tuple[int, ...] | None
    kind: str = "rankings"  # of KINDS
    choice: str | None = "query"  # the environment's argument that says which of ``queries`` a row plays

    @classmethod
    def make(
        cls,
        name: str,
        agents: Sequence[str | type] | None,
        rounds: int,
        runs: int,
        seed: int,
        query: Any,
        jobs: int,
        env_kwargs: dict[str, Any],
    ) -> _Plan:
        rounds, runs = whole_number("rounds", rounds, 1), whole_number("runs", runs, 1)
        seed = whole_number("seed", seed, 0)
        found = resolve(name, agents, rounds, query, env_kwargs)
        return cls(**found._asdict(), runs=runs, seed=seed, jobs=jobs)

    @property
    def rows(self) -> int:
        return len(self.queries) * self.runs

    @property
    def record_at(self) -> list[int]:
        """Rounds to record besides those that always are."""
        return recorded_rounds(self.rounds, self.breakpoints)

    def block(self, spec: AgentSpec, start: int, stop: int) -> Block:
        queries = [self.queries[row % len(self.queries)] for row in range(start, stop)]
        rounds, record_at = self.rounds, self.record_at
        whole = (spec, self.env_id, self.env_kwargs, start, stop, self.choice, queries, self.seed)
        return Block(*whole, horizon=rounds, rounds=rounds, record_at=record_at)

    def blocks(self, spec: AgentSpec, rows: NDArray[np.bool_]) -> list[Block]:
        """The rows (rows,) of one agent in blocks of neighbours."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]])))
        made = []
        for start, stop in edges.reshape(-1, 2).tolist():
            pieces = max(
                -(-(stop - start) // LARGEST),
                min(self.jobs, (stop - start) // SMALLEST),
                -(-self.jobs // len(self.agents)),
            )
            cuts = np.linspace(start, stop, min(pieces, stop - start) + 1).round().astype(int).tolist()
            made += [self.block(spec, a, b) for a, b in itertools.pairwise(cuts)]
        return made

    def key(self, spec: AgentSpec) -> str:
        """A digest of everything that decides the numbers of a row, given its number."""
        decides = {
            "environment": self.env_id,
            "arguments": self.env_kwargs,
            "agent": spec.where,
            "knobs": spec.knobs,
            "rounds": self.rounds,
            "recorded": self.record_at,
            "queries": self.queries,
            "seed": self.seed,
            "versions": versions(),
            "code": code_digest(),
            "agent's code": spec.digest(),
        }
        text = json.dumps(decides, sort_keys=True)
        return f"{slug(spec.label)}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _rehearse(block: Block) -> None:
    """Play two rounds of ``block``: compiles what is not compiled yet, and finds what does not fit."""
    play(block._replace(rounds=min(2, block.rounds), record_at=[]), lambda sessions: None)


def _unknown(comparison: Comparison) -> list[str]:
    """Why nobody's regret is known, if so."""
    if comparison.regret_known:
        return []
    if "preferences" not in (env_arguments(comparison.env_id) or {}):
        return ["regret is unknown, of every agent"]
    file = comparison.env_kwargs.get("preferences")
    if file is not None:
        return [
            f"regret and accuracy are unknown: in preferences = {file!r} no ranker beats all others; --set "
            "winner=copeland, or borda, measures them against another one"
        ]
    how = "--set preferences=FILE gives it, and `rankgym data preferences` estimates one"
    return [f"regret and accuracy are unknown without a preference matrix: {how}"]


def _first_breakpoint(plan: _Plan) -> int | None:
    """Where none comes within the plan's rounds: the first breakpoint of an episode that goes on; None if unknown."""
    try:
        env = one_row(plan.env_id, plan.choice, plan.queries[0], {**plan.env_kwargs, "horizon": None})
    except ValueError:  # it goes by the horizon
        return None
    with contextlib.closing(env):
        rounds = plan.rounds
        while rounds < ENDLESS:
            rounds *= 2
            if found := env.unwrapped.common_breakpoints(rounds):
                return int(found[0])
    return None


def _kept(kept: dict[str, int], rows: int) -> list[str]:
    """What to say of the rows that need not be played."""
    if not any(kept.values()):
        return []
    if all(count == rows for count in kept.values()):
        said = "the one row of every agent was" if rows == 1 else f"all {rows} rows of every agent were"
        return [f"{said} kept from an earlier run; --fresh plays them again"]
    each = ", ".join(f"{label} {count}" for label, count in kept.items() if count)
    return [f"kept from an earlier run, of {rows} rows: {each}; --fresh plays them again"]


class _Tally:
    """One agent's rows, as they come."""

    def __init__(self, rows: int) -> None:
        self.done = np.zeros(rows, bool)
        self.seconds = 0.0
        self.rounds: NDArray[np.int64] | None = None
        self.values: dict[str, NDArray[np.float64]] = {}
        self.epoch_regret: NDArray[np.float64] | None = None

    def add(self, start: int, stop: int, history: History | DuelingHistory, seconds: float) -> None:
        """Take the rows of a block that are asked for and not there yet."""
        rows = np.arange(start, stop)
        wanted = rows < len(self.done)
        wanted[wanted] &= ~self.done[rows[wanted]]
        if self.rounds is None:
            self.rounds = history.rounds
            self.values = {n: np.full((len(history.rounds), len(self.done)), np.nan) for n in measures(history)}
        for name, values in self.values.items():
            values[:, rows[wanted]] = getattr(history, name)[:, wanted]
        if isinstance(history, History):
            self._add_epochs(history.epoch_regret[:, wanted], rows[wanted])
        self.done[rows[wanted]] = True
        self.seconds += seconds * wanted.sum() / len(rows)

    def _add_epochs(self, regret: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """The regret of each epoch of ``rows``, (epochs, rows); rows may have drawn breakpoints, more or fewer."""
        kept = np.empty((0, len(self.done))) if self.epoch_regret is None else self.epoch_regret
        more = max(len(regret) - len(kept), 0)
        self.epoch_regret = np.pad(kept, ((0, more), (0, 0)), constant_values=np.nan)
        self.epoch_regret[: len(regret), rows] = regret

    def history(self) -> History | DuelingHistory:
        assert self.rounds is not None
        if self.epoch_regret is None:
            return DuelingHistory(self.rounds, **self.values)
        reached = int(np.sum(~np.isnan(self.epoch_regret).all(axis=1)))  # by these rows; a block may have had more
        return History(self.rounds, **self.values, epoch_regret=self.epoch_regret[:reached])
