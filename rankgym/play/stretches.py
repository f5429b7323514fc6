"""Stretches: rounds that are played in one compiled loop, block by block of rows.

An agent of kernels and an environment of rankgym's own are played by a loop of ``loops.py``, compiled for the two of
them, from a round whose truth is that of the round before up to the next record, breakpoint or pause. The loop does
what ``act``, ``step`` and ``update`` do, bit for bit. All else is played step by step.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np

from rankgym.agent import DuelingKernelAgent, KernelAgent
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.kernels import Stretch, num_threads
from rankgym.play import loops
from rankgym.play.recording import GameRecords

WORTH_LOADING = 0.05  # seconds that the rest must take step by step before code is loaded, about what that takes
WORTH_COMPILING = 5.0  # seconds that the rest must take step by step before code is compiled
BLOCK_BYTES = 1 << 20  # of a block of rows, which should stay in cache
MIN_BLOCK, MAX_BLOCK = 25, 300  # rows of a block: kernels have costs for each call, too
KERNEL_AGENTS: dict[type[Any], tuple[str, str]] = {
    KernelAgent: ("rank", "learn"),
    DuelingKernelAgent: ("choose", "learn"),
}


def agent_kernels(agent: Any) -> tuple[Callable[..., Any], ...] | None:
    """The kernels that are all that the agent's ``act`` and ``update`` do; None if they do something else."""
    for base, names in KERNEL_AGENTS.items():
        if isinstance(agent, base) and not {"act", "update", *names} & vars(agent).keys():
            own = all(getattr(type(agent), method) is getattr(base, method) for method in ("act", "update"))
            return tuple(getattr(type(agent), name) for name in names) if own and agent.in_rows else None
    return None


class Stretches:
    """Plays stretches of an agent in an environment with its records. Make it by ``of``."""

    def __init__(
        self, agent: Any, env: SessionsVectorEnv, records: GameRecords, stretch: Stretch, threads: int | None
    ) -> None:
        self.agent, self.env, self.records, self.stretch = agent, env, records, stretch
        self._always, self._threads = threads is not None, num_threads() if threads is None else threads
        self._checks = not type(agent).__module__.startswith("rankgym_agents.")  # its actions may be wrong
        shape = (env.num_envs,) if isinstance(agent, DuelingKernelAgent) else (env.num_envs, agent.num_positions)
        self._room = np.empty(env.num_envs), np.empty(env.num_envs), np.empty(env.num_envs, np.bool_)
        self._action = [np.empty(shape, np.int64) for _ in range(2 if len(shape) == 1 else 1)]

    @classmethod
    def of(
        cls, agent: Any, env: SessionsVectorEnv, records: GameRecords, threads: int | None = None
    ) -> "Stretches | None":
        """Stretches of these, not compiled yet; None if they cannot be compiled.

        Args:
            threads: at least 1; then code is always compiled. Default: all processors, and if it is worth it.
        """
        sessions, kernels = env.compiled() if "compiled" in vars(type(env)) else None, agent_kernels(agent)
        if sessions is None or kernels is None:
            return None
        kernels = (*kernels, *sessions.kernels, *records.kernels)
        if not all(map(Stretch.takes, kernels)):
            return None
        return cls(agent, env, records, Stretch(getattr(loops, sessions.loop), kernels), threads)

    def ready(self, seconds: float) -> bool:
        """Whether there is compiled code. It is loaded or compiled if the rest takes ``seconds`` step by step."""
        if not self.stretch.ready and (self._always or seconds > WORTH_LOADING):
            self.stretch.prepare(self._blocks()[0], compile=self._always or seconds > WORTH_COMPILING)
        return self.stretch.ready

    def limit(self) -> int:
        """How many rounds can be played in a stretch now; 0: the next one is a step."""
        return min(self.env.alike(), self.records.ahead())

    def play(self, rounds: int) -> None:
        """Play ``rounds`` rounds, at most ``limit()``, in every row.

        Raises:
            ValueError: the agent returned a wrong action.
        """
        blocks = [(*block[:-1], rounds) for block in self._blocks()]
        if len(blocks) == 1 or self._threads == 1:
            played = [self.stretch(*block) for block in blocks]
        else:
            share = math.ceil(len(blocks) / self._threads)
            apart = [block for first in range(share) for block in blocks[first::share]]  # neighbours share cache lines
            futures = [_threads(self._threads).submit(self.stretch, *block) for block in apart]
            try:
                played = [future.result() for future in futures]
            finally:
                wait(futures)  # after Ctrl-C, too: nothing is changed behind the caller's back
        if min(played) < rounds:
            left, right = self._action[0], self._action[-1]
            self.records.recorder.step(left if left.ndim == 2 else {"left": left, "right": right})  # refuses it
        self.env.passed(rounds)
        if self.env.render_mode is not None:  # reset together, records and environment add the same numbers
            self.env.regret_so_far[:] = self.records.measured().totals.regret
        self.records.added(rounds)

    def _blocks(self) -> list[tuple[Any, ...]]:
        """The arguments of the loop for each block of rows."""
        sessions, measured = self.env.compiled(), self.records.measured()
        assert sessions is not None
        action = tuple(self._action) if len(self._action) == 2 else self._action[0]
        rows = (
            self.agent.state,
            action,
            sessions.rows,
            sessions.parameters,
            measured.truth,
            measured.totals,
            self._room,
        )
        rest = ((*sessions.shared, *measured.shared), self._checks, 0)
        number = self.env.num_envs
        size = block_size(number, sum(map(_bytes, rows)) / number, self._threads)
        if size >= number:
            return [(*rows, *rest)]
        cuts = [slice(start, start + size) for start in range(0, number, size)]
        return [(*(_cut(part, cut) for part in rows), *rest) for cut in cuts]


def block_size(rows: int, row_bytes: float, threads: int) -> int:
    """How many of ``rows`` rows, of ``row_bytes`` each, are played together: threads have as many blocks each."""
    largest = min(max(int(BLOCK_BYTES / row_bytes), MIN_BLOCK), MAX_BLOCK)
    blocks = math.ceil(rows / largest)
    if rows >= threads * MIN_BLOCK:
        blocks = math.ceil(blocks / threads) * threads
    return math.ceil(rows / blocks)


def _cut(part: Any, rows: slice) -> Any:
    if isinstance(part, np.ndarray):
        return part[rows]
    cut = [_cut(one, rows) for one in part]
    return type(part)(*cut) if hasattr(part, "_fields") else tuple(cut)


def _bytes(part: Any) -> int:
    return part.nbytes if isinstance(part, np.ndarray) else sum(map(_bytes, part))


@cache
def _threads(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number, "stretches")
