"""The loop: act, step, update, round after round, with records, pauses and snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rankgym.arguments import action_kind, env_horizons, is_duel, round_numbers, whole_number
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.play.compatibility import ActsAndUpdates, check_compatible
from rankgym.play.history import DuelingHistory, History
from rankgym.play.recording import DuelingRecords, ExpectedRewards, RankingRecords, snapshot_part

__all__ = ["Game", "never"]

CLOCK_INTERVAL = 0.1  # seconds between looks at the clock, about


def never() -> bool:
    """The default ``pause``: play on."""
    return False


class Game:
    """An agent and an environment that play some rounds, with recorders. It can pause, save and restore its state.

    Call ``reset`` or ``restore`` first. ``simulate`` plays a game without pauses.

    Args:
        agent, env, rounds, record_at: see ``simulate``.
        expected: pay expected rewards instead of drawn ones. The environment must be one of rankgym's own.

    Attributes:
        env: the environment with its recorders.
        rounds: number of rounds of the whole game.
        played: rounds played so far, those before ``restore`` included.
        steps: rounds that this object has stepped the environment; repeated rounds and those before ``restore`` are
            not counted.

    Raises:
        ValueError: the arguments do not fit each other.
    """

    def __init__(
        self,
        agent: ActsAndUpdates,
        env: VectorEnv[Any, Any, Any],
        rounds: int,
        record_at: Iterable[int] = (),
        *,
        expected: bool = False,
    ) -> None:
        self.rounds = rounds = whole_number("rounds", rounds, 1)
        check_compatible(agent, env)
        horizon, _ = env_horizons(env)
        if horizon is not None and rounds > horizon:
            raise ValueError(
                f"rounds = {rounds} exceeds the environment's horizon; make it with horizon={rounds}, or horizon=None"
            )
        record_at = [*(whole_number("record_at", r, 1, rounds) for r in round_numbers("record_at", record_at)), rounds]
        duels = is_duel(action_kind(env.unwrapped))
        self._bare = (
            env if isinstance(env, SessionsVectorEnv) else None
        )  # a wrapper's state would not be in its snapshot
        inner = ExpectedRewards(env) if expected else env
        self.agent = agent
        self.records = DuelingRecords(inner, record_at, agent) if duels else RankingRecords(inner, record_at)
        self.env = self.records.env
        self.played = self.steps = 0
        self._observation: Any = None
        self._pace = 1  # rounds between looks at the clock

    def reset(self, seed: int | Sequence[int] | None) -> None:
        """Reset the environment, not the agent."""
        self._observation, _ = self.env.reset(seed=seed)
        self.records.begin()

    def play(self, until: int, report: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play on to round ``until``, or until ``pause()`` returns True.

        ``report`` is called with the number of rounds since its last call, then ``pause``, several times a second.
        """
        agent, env, records = self.agent, self.env, self.records
        observation = self._observation
        while self.played < until:
            stride = min(self._pace, records.next_stop(self.played, until) - self.played)
            start = time.perf_counter()
            for _ in range(stride):  # the loop
                action = agent.act(observation)
                observation, *_, info = env.step(action)
                agent.update(action, records.feedback(action, observation, info))
            self._observation = observation
            self.played += stride
            self.steps += stride
            records.look(self.played)
            report(stride)
            seconds = time.perf_counter() - start + 1e-9
            self._pace = max(1, min(2 * self._pace, int(stride * CLOCK_INTERVAL / seconds)))
            if pause():
                return

    def next_record(self) -> int:
        """The next recorded round."""
        due = self.records.due
        return min(self.rounds, int(due[np.searchsorted(due, self.played, side="right")]))

    def history(self) -> History | DuelingHistory:
        """The records of all rounds.

        Raises:
            RuntimeError: an episode ended early.
        """
        kept = self.records.regret.records("regret")[0]
        if not len(kept) or kept[-1] != self.rounds:
            raise RuntimeError(
                f"an episode ended before round {self.rounds}; the environment must not end, or have "
                f"horizon={self.rounds}"
            )
        return self.records.history()

    # -- repeating one action ----------------------------------------------------------------------------------------

    def repeat(self, action: Any, until: int, report: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play ``action`` in all rounds up to ``until``, or until ``pause()``. The agent does not learn.

        Of equal sessions one is played and the others are added to the records. With ``expected`` rewards the records
        are those of playing all of them, as they depend on action and truth alone.
        """
        bare = self._native()
        reported, before = time.perf_counter(), self.played
        while self.played < until:
            self._observation, reward, *_, info = self.env.step(action)
            self.played += 1
            self.steps += 1
            self.records.look(self.played)
            while self.played < until:
                times = min(bare.alike(), self.records.next_stop(self.played, until) - self.played)
                if times == 0:
                    break
                bare.repeat(times)
                for recorder in self.records.recorders.values():
                    recorder.repeat(reward, info, times)
                self.played += times
                self.records.look(self.played)
            if self.played == until or time.perf_counter() - reported > CLOCK_INTERVAL:
                report(self.played - before)
                reported, before = time.perf_counter(), self.played
                if pause():
                    return

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """Return the state of agent, environment and records as arrays with a leading axis of rows.

        None if the agent or the environment has no snapshots.
        """
        write = getattr(self.agent, "snapshot", None)
        agent = write() if callable(write) else None
        env = None if self._bare is None or agent is None else self._bare.snapshot()
        if agent is None or env is None:
            return None
        parts = {"agent": agent, "env": env, "records": self.records.snapshot()}
        return {f"{part}.{name}": values for part, written in parts.items() for name, values in written.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]], played: int) -> None:
        """Restore a ``snapshot`` taken after ``played`` rounds, or some of its rows."""
        env, agent = self._native(), cast(Any, self.agent)
        env.restore(snapshot_part(snapshot, "env"))
        agent.restore(snapshot_part(snapshot, "agent"))
        self.records.restore(snapshot_part(snapshot, "records"))
        self._observation, self.played = env.last_observation.copy(), played

    def _native(self) -> SessionsVectorEnv:
        if self._bare is None:
            raise ValueError(
                f"env = {self.env} has no snapshots; allowed: an environment of rankgym's own, without wrappers"
            )
        return self._bare
