"""Which agents can play which environments, and the loop: act, step, update, with records, pauses and snapshots."""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rankgym.agent import Agent, DuelingAgent, missing_methods
from rankgym.arguments import MAX_ROUNDS, ActionKind, action_kind, count_of, env_horizons, is_duel, round_numbers
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.play.history import DuelingHistory, History
from rankgym.play.recording import DuelingRecords, ExpectedRewards, RankingRecords, snapshot_part
from rankgym.play.stretches import Stretches
from rankgym.wrappers.log import LAST_RECORD

CLOCK_INTERVAL = 0.1  # seconds between looks at the clock, about


class ActsAndUpdates(Protocol):
    """What ``simulate`` needs of an agent. Any class with these two methods will do."""

    def act(self, observation: Any) -> Any: ...
    def update(self, displayed: Any, clicks: Any, /) -> Any: ...  # of duels: the duel, and who won


class RefusedAction(ValueError):
    """The environment refused an agent's action, before anything happened in that round.

    Attributes:
        said: by the environment.
        during: the agent's method, and the round, from 0 in the game.
        place: file and line of the method; "" if it has none.
    """

    def __init__(self, said: str, during: str, place: str) -> None:
        super().__init__(said, during, place)
        self.said, self.during, self.place = said, during, place

    def __str__(self) -> str:
        return f"in {self.during}: {self.said}{self.place and f' ({self.place})'}"


def _refused(error: ValueError, agent: Any, number: int) -> RefusedAction:
    """Return an environment's error about an action with the agent's name, the round and the place."""
    code = getattr(getattr(agent.act, "__func__", agent.act), "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}".removeprefix(os.path.join(os.getcwd(), "")) if code else ""
    return RefusedAction(str(error), f"{type(agent).__name__}.act, round {number}", place)


def check_compatible(agent: Any, env: Any) -> None:
    """Raise a ValueError if ``agent`` cannot play the vector environment ``env``."""
    missing = missing_methods(agent)
    if isinstance(agent, type) or missing:
        wrong = f"has no method {missing[0]}" if len(missing) == 1 else "is not an agent"
        raise ValueError(
            f"agent = {agent!r} {wrong}; allowed: an object with act and update, such as TopRank.for_env(env)"
        )
    if not isinstance(env, VectorEnv):
        raise ValueError(f"env = {env!r} is not a vector environment; make one with gym.make_vec(id, num_envs=1)")
    reason = incompatibility(type(agent), env)
    if reason:
        raise ValueError(f"agent = {agent!r} {reason}")
    sizes = [("rows", getattr(agent, "num_envs", env.num_envs), env.num_envs)]
    if isinstance(agent, DuelingAgent):
        space: Any = env.single_action_space
        sizes.append(("arms", agent.num_arms, int(space["left"].n)))
    for what, its, given in sizes:
        if its != given:
            made = f"{type(agent).__name__}.for_env(env)"
            raise ValueError(f"the agent has {its} {what} and env {given}; make it with {made}")


def incompatibility(cls: Any, env: Any) -> str:
    """Why agents of class ``cls`` cannot play ``env`` and which can; "" if they can, or if it is not known."""
    if not isinstance(cls, type):
        return ""
    rank = "allowed: a ranking agent, such as those of rankgym_agents.RANKERS"
    duel = "allowed: a dueling agent, such as those of rankgym_agents.DUELERS"
    kind = action_kind(env.unwrapped)
    if kind is ActionKind.RANKING and issubclass(cls, DuelingAgent):
        return f"plays duels, but the environment has rankings; {rank}"
    if kind is ActionKind.DUEL_OF_ARMS and issubclass(cls, Agent):
        return f"ranks items, but the environment has duels of arms; {duel}"
    if kind is ActionKind.DUEL_OF_RANKINGS and issubclass(cls, DuelingAgent):
        return f"plays duels of arms, but the environment has duels of lists; {rank}, which duels against itself"
    return ""


def never() -> bool:
    """The default ``pause``: play on."""
    return False


class Game:
    """An agent and an environment that play some rounds, with recorders. It can pause, save and restore its state.

    Call ``reset`` or ``restore`` first. ``simulate`` plays a game without pauses.

    Args:
        agent, env, rounds, record_at: see ``simulate``.
        expected: pay expected rewards instead of drawn ones. The environment must be one of rankgym's own.
        threads: that play stretches (``rankgym.play.stretches``); 0: all is played step by step. Default: all
            processors, once the rest is worth compiling.

    Attributes:
        env: the environment with its recorder.
        rounds: number of rounds of the whole game.
        played: rounds played so far, those before ``restore`` included.
        steps: of the environment by this object, without repeated rounds and those before ``restore``.
    """

    def __init__(
        self,
        agent: ActsAndUpdates,
        env: VectorEnv[Any, Any, Any],
        rounds: int,
        record_at: Iterable[int] = (),
        *,
        expected: bool = False,
        threads: int | None = None,
    ) -> None:
        rounds = count_of("rounds", rounds, 1, MAX_ROUNDS)
        check_compatible(agent, env)
        horizon, recorded = env_horizons(env)
        self.rounds = rounds = count_of("rounds", rounds, 1, LAST_RECORD if recorded is None else MAX_ROUNDS)
        if horizon is not None and rounds > horizon:
            raise ValueError(
                f"rounds = {rounds} exceeds the environment's horizon; make it with horizon={rounds}, or horizon=None"
            )
        record_at = [*(count_of("record_at", r, 1, rounds) for r in round_numbers("record_at", record_at)), rounds]
        duels = is_duel(action_kind(env.unwrapped))
        # None: a wrapper's state would not be in its snapshot
        self._bare = env if isinstance(env, SessionsVectorEnv) else None
        inner = ExpectedRewards(env) if expected else env
        self.agent = agent
        self.records = DuelingRecords(inner, record_at, agent) if duels else RankingRecords(inner, record_at)
        self.env = self.records.recorder
        self.played = self.steps = 0
        self._stretches: Stretches | None = None
        if self._bare is not None and not expected and threads != 0:
            self._stretches = Stretches.of(agent, self._bare, self.records, threads)
        self._step_time = 0.0  # seconds of a round, step by step, at most; 0: unknown
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
            stretches = self._stretches_worth_it()
            start, left = time.perf_counter(), stride
            while left > 0:
                together = 0 if stretches is None else min(left, stretches.limit())
                if together and stretches is not None:
                    stretches.play(together)
                    observation = stretches.env.last_observation.copy()
                    left -= together
                    continue
                action = agent.act(observation)  # the loop
                try:
                    observation, *_, info = env.step(action)
                except ValueError as error:
                    if not str(error).startswith("action"):
                        raise
                    raise _refused(error, agent, self.played + stride - left) from error
                agent.update(action, records.feedback(action, observation, info))
                left -= 1
            self._observation = observation
            self.played += stride
            self.steps += stride
            records.look(self.played)
            report(stride)
            seconds = time.perf_counter() - start + 1e-9
            if stretches is None and self.steps > 1:  # the first one may compile kernels
                self._step_time = min(self._step_time or math.inf, seconds / stride)
            self._pace = max(1, min(2 * self._pace, int(stride * CLOCK_INTERVAL / seconds)))
            if pause():
                return

    def _stretches_worth_it(self) -> Stretches | None:
        """Stretches, if what is still to be played is worth loading or compiling their code; else None."""
        rest = (self.rounds - self.played) * self._step_time
        return self._stretches if self._stretches is not None and self._stretches.ready(rest) else None

    def next_record(self) -> int:
        """The next recorded round."""
        due = self.records.due
        return min(self.rounds, int(due[np.searchsorted(due, self.played, side="right")]))

    def history(self) -> History | DuelingHistory:
        """The records of all rounds; a RuntimeError if an episode ended early."""
        kept = self.records.recorder.records("regret")[0]
        if not len(kept) or kept[-1] != self.rounds:
            need = f"the environment must not end, or have horizon={self.rounds}"
            raise RuntimeError(f"an episode ended before round {self.rounds}; {need}")
        return self.records.history()

    def repeat(self, action: Any, until: int, report: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play ``action`` in all rounds up to ``until``, or until ``pause()``. The agent does not learn.

        Of equal sessions one is played and the others are added to the records. With ``expected`` rewards these depend
        on action and truth alone.
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
                self.records.recorder.repeat(reward, info, times)
                self.played += times
                self.records.look(self.played)
            if self.played == until or time.perf_counter() - reported > CLOCK_INTERVAL:
                report(self.played - before)
                reported, before = time.perf_counter(), self.played
                if pause():
                    return

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """The state of agent, environment and records as arrays with a leading axis of rows; None if one has none."""
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
            allowed = "an environment of rankgym's own, without wrappers"
            raise ValueError(f"env = {self.env} has no snapshots; allowed: {allowed}")
        return self._bare
