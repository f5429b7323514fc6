"""The loop: an agent meets an environment. What it returns is what the recording wrappers kept."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast, overload

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from rankgym.agent import Agent, DuelingAgent
from rankgym.arguments import ActionKind, action_kind, env_attribute, env_horizons, is_duel, round_numbers, whole_number
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.progress import told
from rankgym.wrappers.against_itself import AgainstItself
from rankgym.wrappers.log import record_rounds
from rankgym.wrappers.recorder import VectorRecordAll, VectorRecorder, VectorRecordRegret

__all__ = [
    "DUELING_MEASURES",
    "MEASURES",
    "DuelingHistory",
    "Game",
    "History",
    "incompatibility",
    "measures",
    "never",
    "simulate",
]

MEASURES = ("regret", "violations", "ndcg", "reward")  # the fields of a history with one entry a record and row
DUELING_MEASURES = ("regret", "accuracy", "reward")  # and of a dueling one

NEWS = 0.1  # seconds between looks at the clock, about
ONE_HOT = np.eye(2, dtype=np.int8)  # of the winner: 0 is left, 1 is right


class ActsAndUpdates(Protocol):
    """All that ``simulate`` asks of an agent; those of ``rankgym.agent`` and many a plain class have it."""

    def act(self, observation: Any) -> Any: ...
    def update(self, action: Any, feedback: Any, /) -> Any: ...


class History(NamedTuple):
    """What happened in each row, after each of the recorded rounds; and the regret of each epoch."""

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    violations: NDArray[np.float64]  # (records, num_envs) rounds that violated the safety constraint so far
    ndcg: NDArray[np.float64]  # (records, num_envs) mean NDCG at the cutoff so far
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward
    epoch_regret: NDArray[np.float64]  # (epochs, num_envs) of each epoch; NaN: not come to; no epochs if stationary

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError where they were not recorded."""
        return _at(self, round)

    def __repr__(self) -> str:
        """One line: the arrays of a long simulation would fill screens."""
        return _line(self, [f"epochs={len(self.epoch_regret)}"] if len(self.epoch_regret) else [])


class DuelingHistory(NamedTuple):
    """What happened in each row of duels, after each of the recorded rounds."""

    rounds: NDArray[np.int64]  # (records,) rounds played
    regret: NDArray[np.float64]  # (records, num_envs) cumulative expected regret
    accuracy: NDArray[np.float64]  # (records, num_envs) 1: the agent's candidate is the best arm; 0: it is not; or NaN
    reward: NDArray[np.float64]  # (records, num_envs) cumulative reward

    def at(self, round: int) -> dict[str, NDArray[np.float64]]:
        """Each measure (num_envs,) after ``round`` rounds; a ValueError where they were not recorded."""
        return _at(self, round)

    def __repr__(self) -> str:
        """One line: the arrays of a long simulation would fill screens."""
        known = np.ndim(self.accuracy) == 2 and len(self.accuracy) and not np.isnan(self.accuracy[-1]).any()
        return _line(self, [f"mean_final_accuracy={float(np.mean(self.accuracy[-1])):.6g}"] if known else [])


def measures(history: History | DuelingHistory) -> tuple[str, ...]:
    """The fields with one entry a record and row."""
    return DUELING_MEASURES if isinstance(history, DuelingHistory) else MEASURES


def _at(history: History | DuelingHistory, round: int) -> dict[str, NDArray[np.float64]]:
    index = int(np.searchsorted(history.rounds, round))
    if index == len(history.rounds) or history.rounds[index] != round:
        raise ValueError(f"round = {round} was not recorded; ask for it with record_at=[{round}]")
    return {name: getattr(history, name)[index] for name in measures(history)}


def _line(history: History | DuelingHistory, more: list[str]) -> str:
    if np.ndim(history.regret) != 2:
        return tuple.__repr__(history)  # somebody's own
    records, rows = np.shape(history.regret)
    parts = [f"records={records}", f"rows={rows}"]
    if records:
        mean = float(np.mean(history.regret[-1]))
        parts = [f"rounds={history.rounds[-1]}", *parts, f"mean_final_regret={mean:.6g}"]
    return f"{type(history).__name__}({', '.join([*parts, *more])})"


@overload
def simulate(
    agent: DuelingAgent,
    env: VectorEnv[Any, Any, Any],
    rounds: int,
    *,
    seed: int | Sequence[int] | None = ...,
    record_at: Iterable[int] = ...,
    progress: bool | Callable[[int], None] = ...,
) -> DuelingHistory: ...


@overload
def simulate(
    agent: ActsAndUpdates,
    env: VectorEnv[Any, Any, Any],
    rounds: int,
    *,
    seed: int | Sequence[int] | None = ...,
    record_at: Iterable[int] = ...,
    progress: bool | Callable[[int], None] = ...,
) -> History: ...


def simulate(
    agent: ActsAndUpdates,
    env: VectorEnv[Any, Any, Any],
    rounds: int,
    *,
    seed: int | Sequence[int] | None = None,
    record_at: Iterable[int] = (),
    progress: bool | Callable[[int], None] = True,
) -> History | DuelingHistory:
    """Let ``agent`` rank, or duel, for ``rounds`` sessions in every row of ``env``, from a fresh reset on.

    The environment is reset, the agent is not: it goes on from what it has learned. Make a new one for a new run.

    Args:
        agent: has ``act(observation)``, giving lists (num_envs, num_positions), and ``update(displayed, clicks)``. A
            dueling one gives a dict of ``left`` and ``right``, and has ``update(duel, won)`` with ``won`` (num_envs, 2)
            int8, 1 for the side that won; and, if it likes, ``candidate``, the arm that it names as the best one.
        env: a vector environment of rankings or duels (``gym.make_vec``); a batch of one is the single run. Where two
            lists duel, a ranking agent may play, too: against itself, learning from the clicks.
        rounds: at least 1, and no more than the environment's horizon.
        seed: of the reset: row b gets ``seed + b``, or its entry of a list.
        record_at: rounds to record besides about 20 a decade and the last.
        progress: show a bar on anything longer than two seconds; or a function that is called with the number of
            rounds played since its last call, several times a second.

    Returns:
        A ``History`` with one column a row; a ``DuelingHistory`` where actions are duels.

    Raises:
        ValueError: an argument does not fit; nothing was played then. Or a candidate is no arm.
        RuntimeError: an episode ended early, by a wrapper's doing.
    """
    game = Game(agent, env, rounds, record_at)
    game.reset(seed)
    with told(progress, game.rounds) as tell:
        game.play(game.rounds, tell)
    return game.history()


def never() -> bool:
    """No pause."""
    return False


class Game:
    """An agent that meets an environment for some rounds, with recorders around it.

    It begins with ``reset``, or goes on from where another one was with ``restore``. ``simulate`` plays it at a
    stretch; ``rankgym.experiments`` stops and looks now and then. The arguments are those of ``simulate``, and so is
    the ValueError where they do not fit; and

    Args:
        expected: pay expected rewards instead of drawn ones. The environment must be one of ours.

    Attributes:
        env: the environment with its recorders.
        rounds: of the whole game.
        played: rounds so far.
        steps: those of them that were really played, by this game.
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
        if isinstance(agent, type) or not (hasattr(agent, "act") and hasattr(agent, "update")):
            raise ValueError(
                f"agent = {agent!r} is no agent; allowed: an object with act and update, such as TopRank.for_env(env)"
            )
        if not isinstance(env, VectorEnv):
            raise ValueError(f"env = {env!r} is not a vector environment; make one with gym.make_vec(id, num_envs=1)")
        wrong = incompatibility(type(agent), env)
        if wrong:
            raise ValueError(f"agent = {agent!r} {wrong}")
        mine = getattr(agent, "num_envs", env.num_envs)
        if mine != env.num_envs:
            raise ValueError(
                f"the agent has {mine} rows and env {env.num_envs}; make it with {type(agent).__name__}.for_env(env)"
            )
        if isinstance(agent, DuelingAgent):
            space: Any = env.single_action_space
            arms = int(space["left"].n)
            if agent.num_arms != arms:
                raise ValueError(
                    f"the agent has {agent.num_arms} arms and env {arms}; "
                    f"make it with {type(agent).__name__}.for_env(env)"
                )
        horizon, _ = env_horizons(env)
        if horizon is not None and rounds > horizon:
            raise ValueError(
                f"rounds = {rounds} exceeds the environment's horizon; make it with horizon={rounds}, or horizon=None"
            )
        record_at = [*(whole_number("record_at", r, 1, rounds) for r in round_numbers("record_at", record_at)), rounds]
        duels = is_duel(action_kind(env.unwrapped))
        self._bare = env if isinstance(env, SessionsVectorEnv) else None  # a wrapper may remember more than it
        inner = ExpectedRewards(env) if expected else env
        self.agent = agent
        self.records = Duels(inner, record_at, agent) if duels else Rankings(inner, record_at)
        self.env = self.records.env
        self.played = self.steps = 0
        self._observation: Any = None
        self._pace = 1  # rounds between looks at the clock

    def reset(self, seed: int | Sequence[int] | None) -> None:
        """Reset the environment; the agent is as it is."""
        self._observation, _ = self.env.reset(seed=seed)
        self.records.begin()

    def play(self, until: int, tell: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play on to round ``until``, or until ``pause()``: it is asked several times a second, after some rounds."""
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
            tell(stride)
            self._pace = max(1, min(2 * self._pace, int(stride * NEWS / (time.perf_counter() - start + 1e-9))))
            if pause():
                return

    def next_record(self) -> int:
        """The next round after which totals are kept."""
        due = self.records.due
        return min(self.rounds, int(due[np.searchsorted(due, self.played, side="right")]))

    def history(self) -> History | DuelingHistory:
        """What was recorded of all rounds.

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

    # -- the same action for ever ------------------------------------------------------------------------------------

    def repeat(self, action: Any, until: int, tell: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play ``action`` in all rounds to ``until``, or until ``pause()``, as ``play`` does; nobody learns.

        Of sessions that are alike one is played, and the others are added to the records. That makes no difference to
        a game with ``expected`` rewards, in which action and truth decide all that is recorded.
        """
        bare = self._native()
        asked, before = time.perf_counter(), self.played
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
            if self.played == until or time.perf_counter() - asked > NEWS:
                tell(self.played - before)
                asked, before = time.perf_counter(), self.played
                if pause():
                    return

    # -- writing down ------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """Agent, environment and records, as arrays with a leading axis of rows; None: one of them has no snapshots."""
        write = getattr(self.agent, "snapshot", None)
        agent = write() if callable(write) else None
        env = None if self._bare is None or agent is None else self._bare.snapshot()
        if agent is None or env is None:
            return None
        parts = {"agent": agent, "env": env, "records": self.records.snapshot()}
        return {f"{part}.{name}": values for part, written in parts.items() for name, values in written.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]], played: int) -> None:
        """Go on from a ``snapshot`` that was taken after ``played`` rounds, or from some rows of one."""
        env, agent = self._native(), cast(Any, self.agent)
        env.restore(under(snapshot, "env"))
        agent.restore(under(snapshot, "agent"))
        self.records.restore(under(snapshot, "records"))
        self._observation, self.played = env.last_observation.copy(), played

    def _native(self) -> SessionsVectorEnv:
        if self._bare is None:
            raise ValueError(f"env = {self.env} is none of rankgym's own, or a wrapper of one, and has no snapshots")
        return self._bare


def under(snapshot: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The arrays of ``snapshot`` whose names begin with ``part`` and a dot, named by what comes behind it."""
    return {name.removeprefix(f"{part}."): values for name, values in snapshot.items() if name.startswith(f"{part}.")}


def incompatibility(cls: Any, env: Any) -> str:
    """Why agents of ``cls`` cannot play ``env``, and who can; "" where they may, or are none of ours."""
    if not isinstance(cls, type):
        return ""
    rank = "allowed: a ranking agent, such as those of rankgym_agents.RANKERS"
    duel = "allowed: a dueling agent, such as those of rankgym_agents.DUELERS"
    kind = action_kind(env.unwrapped)
    if kind is ActionKind.RANKING and issubclass(cls, DuelingAgent):
        return f"compares arms, and the environment has rankings; {rank}"
    if kind is ActionKind.DUEL_OF_ARMS and issubclass(cls, Agent):
        return f"ranks items, and the environment has duels; {duel}"
    if kind is ActionKind.DUEL_OF_RANKINGS and issubclass(cls, DuelingAgent):
        return f"compares arms, and in the environment lists duel; {rank}, which duels against itself"
    return ""


class ExpectedRewards(VectorWrapper[Any, Any, Any, Any, Any]):
    """Pays for each session what was to be expected of it, given the action."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, _, terminated, truncated, info = self.env.step(actions)
        return observation, cast(Any, self.env).expected_rewards(), terminated, truncated, info


class Family(ABC):
    """How one kind of environment is recorded, and what its agents are told."""

    env: Any  # with its recorders
    regret: VectorRecordRegret | VectorRecordAll
    due: NDArray[np.int64]  # the rounds after which totals are kept

    def begin(self) -> None:  # noqa: B027
        """The environment has been reset."""

    def next_stop(self, played: int, rounds: int) -> int:
        """The round, after ``played``, after which ``look`` wants to be called."""
        return rounds

    def look(self, played: int) -> None:  # noqa: B027
        """So many rounds were played, and learned from."""

    @abstractmethod
    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        """What ``update`` is told besides the action."""

    @abstractmethod
    def history(self) -> Any:
        """What was recorded."""

    @property
    @abstractmethod
    def recorders(self) -> dict[str, VectorRecorder]:
        """Those around ``env``, by name."""

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What was recorded, as arrays with a leading axis of rows."""
        return {
            f"{name}.{part}": values
            for name, recorder in self.recorders.items()
            for part, values in recorder.snapshot().items()
        }

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a ``snapshot``, or from some rows of one; the environment has been restored before."""
        for name, recorder in self.recorders.items():
            recorder.restore(under(snapshot, name))


class Rankings(Family):
    """Lists are displayed, and agents are told the clicks on them."""

    def __init__(self, env: VectorEnv[Any, Any, Any], record_at: list[int]) -> None:
        self.env = self.regret = VectorRecordAll(env, record_at=record_at)
        self.due = record_rounds(env_horizons(env)[1], record_at)

    @property
    def recorders(self) -> dict[str, VectorRecorder]:
        return {"rankings": self.regret}

    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        return last_clicks(observation, info) if "final_obs" in info else observation

    def history(self) -> History:
        kept, regret = self.regret.records("regret")
        violations, quality, reward = (self.regret.records(name)[1] for name in ("violations", "ndcg", "reward"))
        return History(kept, regret, violations, quality / kept[:, None], reward, self.regret.epoch_regret)


class Duels(Family):
    """Two arms or lists are compared, and agents are told who won; one that gives lists is told the clicks on them."""

    def __init__(self, env: VectorEnv[Any, Any, Any], record_at: list[int], agent: Any) -> None:
        self.agent, self.num_envs = agent, env.num_envs
        self.due = record_rounds(env_horizons(env)[1], record_at)
        self.accuracy: list[NDArray[np.float64]] = []
        inner = AgainstItself(env) if action_kind(env) is ActionKind.DUEL_OF_RANKINGS else env
        self.env = self.regret = VectorRecordRegret(inner, record_at=record_at)

    @property
    def recorders(self) -> dict[str, VectorRecorder]:
        return {"regret": self.regret}

    def snapshot(self) -> dict[str, NDArray[Any]]:
        accuracy = np.array(self.accuracy).reshape(-1, self.num_envs).T
        return super().snapshot() | {"accuracy": np.ascontiguousarray(accuracy), "best": self.best.copy()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        super().restore(snapshot)
        self.accuracy, self.best = list(np.array(snapshot["accuracy"].T)), np.array(snapshot["best"])

    def begin(self) -> None:
        arm = env_attribute(self.env, "best_arm")  # of the episode, which an autoreset may end
        self.best = np.broadcast_to(-1 if arm is None else arm, self.num_envs).copy()

    def next_stop(self, played: int, rounds: int) -> int:
        return min(rounds, int(self.due[np.searchsorted(self.due, played, side="right")]))

    def look(self, played: int) -> None:
        if self.due[np.searchsorted(self.due, played)] != played:
            return
        named = getattr(self.agent, "candidate", None)
        known = np.array(self.best >= 0)
        if named is None or not known.any():
            self.accuracy.append(np.full(self.num_envs, np.nan))
            return
        candidate = np.asarray(named)
        if candidate.shape != (self.num_envs,) or candidate.dtype.kind not in "iu":
            raise ValueError(
                f"the agent's candidate has shape {candidate.shape} and dtype {candidate.dtype}; "
                f"allowed: an arm a row, whole numbers of shape ({self.num_envs},)"
            )
        self.accuracy.append(np.where(known, candidate == self.best, np.nan))

    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        if not isinstance(action, Mapping):
            return last_clicks(observation, info) if "final_obs" in info else observation
        winner = info["winner"]
        if "final_info" in info:
            final = info["final_info"]
            winner = np.where(info["_final_info"], final["winner"], winner)
        return ONE_HOT[winner]

    def history(self) -> DuelingHistory:
        kept, regret = self.regret.records("regret")
        return DuelingHistory(kept, regret, np.array(self.accuracy), self.regret.records("reward")[1])


def last_clicks(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """The clicks of a step that ended episodes and reset them at once: those rows' clicks are in ``final_obs``."""
    clicks = observation.copy()
    for row in np.flatnonzero(info["_final_obs"]):
        clicks[row] = info["final_obs"][row]
    return clicks
