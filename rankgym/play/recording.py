"""How a game is recorded and what its agent learns from, in environments of rankings and of duels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from rankgym.arguments import ActionKind, action_kind, env_attribute, env_horizons
from rankgym.metrics import ndcg
from rankgym.play.history import DuelingHistory, History
from rankgym.wrappers.against_itself import AgainstItself
from rankgym.wrappers.log import record_rounds
from rankgym.wrappers.meters import RankingMeter, SafetyMeter
from rankgym.wrappers.recorder import Recording, RecordRegret, VectorRecordAll, VectorRecorder

ONE_HOT = np.eye(2, dtype=np.int8)  # of the winner: 0 is left, 1 is right


def snapshot_part(snapshot: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The arrays of ``snapshot`` named ``part.name``, by ``name``."""
    return {name.removeprefix(f"{part}."): values for name, values in snapshot.items() if name.startswith(f"{part}.")}


class Measured(NamedTuple):
    """The arrays with which a compiled loop over rounds records."""

    truth: Any  # a NamedTuple of arrays with a leading axis of rows, or ()
    totals: Any  # a NamedTuple of arrays (rows,)
    shared: tuple[Any, ...]  # without such an axis


class RankingTruth(NamedTuple):
    """What the measures of rankings depend on."""

    limit: NDArray[np.float64]  # (rows,) of misordered pairs
    attraction: NDArray[np.float64]  # (rows, items)
    ideal: NDArray[np.float64]  # (rows,)


class RankingTotals(NamedTuple):
    """Sums over rounds, (rows,) each."""

    regret: NDArray[np.float64]
    reward: NDArray[np.float64]
    violations: NDArray[np.float64]
    ndcg: NDArray[np.float64]


class DuelingTotals(NamedTuple):
    """Sums over rounds, (rows,) each."""

    regret: NDArray[np.float64]
    reward: NDArray[np.float64]


class ExpectedRewards(VectorWrapper[Any, Any, Any, Any, Any]):
    """Replace each session's reward by its expectation given the action."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, _, terminated, truncated, info = self.env.step(actions)
        return observation, cast(Any, self.env).expected_rewards(), terminated, truncated, info


class GameRecords(ABC):
    """The records of one kind of environment, and the feedback that its agents learn from."""

    name: ClassVar[str]  # of the recorder in snapshots
    kernels: ClassVar[tuple[Callable[..., None], ...]] = ()  # that a compiled loop measures with
    recorder: VectorRecorder  # around the environment
    due: NDArray[np.int64]  # the recorded rounds

    def begin(self) -> None:  # noqa: B027
        """Called after the environment's reset."""

    def next_stop(self, played: int, rounds: int) -> int:
        """The round after ``played`` at which ``look`` must be called next, at most ``rounds``."""
        return rounds

    def look(self, played: int) -> None:  # noqa: B027
        """Called after ``played`` rounds and the agent's update."""

    @property
    def recording(self) -> Recording:
        return self.recorder.recording

    def ahead(self) -> int:
        """How many rounds a compiled loop may add to the totals."""
        return self.recording.log.ahead

    def added(self, times: int) -> None:
        """Note that a compiled loop has added ``times`` rounds to the totals; the environment has passed them."""
        self.recording.log.added(times)
        self.recording.follow_changes()

    @abstractmethod
    def measured(self) -> Measured:
        """What a compiled loop needs to record."""

    @abstractmethod
    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        """The second argument of the agent's ``update``."""

    @abstractmethod
    def history(self) -> Any:
        """The records as a history."""

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return all records as arrays with a leading axis of rows."""
        return {f"{self.name}.{part}": values for part, values in self.recorder.snapshot().items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore a ``snapshot``, or some of its rows. Restore the environment first."""
        self.recorder.restore(snapshot_part(snapshot, self.name))


class RankingRecords(GameRecords):
    """Lists are displayed; agents learn from the clicks on them."""

    name = "rankings"
    kernels = (ndcg,)

    def __init__(self, env: VectorEnv[Any, Any, Any], record_at: list[int]) -> None:
        self.recorder = VectorRecordAll(env, record_at=record_at)
        self.due = record_rounds(env_horizons(env)[1], record_at)

    def measured(self) -> Measured:
        safety, ranking = cast(SafetyMeter, self.recording.meters[1]), cast(RankingMeter, self.recording.meters[2])
        rows = len(ranking.ideal)
        truth = RankingTruth(np.array(np.broadcast_to(safety.limit, rows)), ranking.attraction, ranking.ideal)
        return Measured(truth, RankingTotals(**self.recording.log.totals), (ranking.discounts,))

    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        return session_clicks(observation, info)

    def history(self) -> History:
        kept, regret = self.recorder.records("regret")
        violations, quality, reward = (self.recorder.records(name)[1] for name in ("violations", "ndcg", "reward"))
        return History(kept, regret, violations, quality / kept[:, None], reward, self.recorder.epoch_regret)


class DuelingRecords(GameRecords):
    """Two arms or lists are compared; agents learn who won, or, if they give one list, the clicks on it."""

    name = "regret"

    def __init__(self, env: VectorEnv[Any, Any, Any], record_at: list[int], agent: Any) -> None:
        self.agent, self.num_envs = agent, env.num_envs
        self.due = record_rounds(env_horizons(env)[1], record_at)
        self.accuracy: list[NDArray[np.float64]] = []
        inner = AgainstItself(env) if action_kind(env) is ActionKind.DUEL_OF_RANKINGS else env
        self.recorder = RecordRegret.vector(inner, record_at=record_at)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        accuracy = np.array(self.accuracy).reshape(-1, self.num_envs).T
        return super().snapshot() | {"accuracy": np.ascontiguousarray(accuracy), "best": self.best.copy()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        super().restore(snapshot)
        self.accuracy, self.best = list(np.array(snapshot["accuracy"].T)), np.array(snapshot["best"])

    def begin(self) -> None:
        arms = env_attribute(self.recorder, "best_arms")  # of this episode: an autoreset may start another
        if arms is None:  # one of them at most
            arm = env_attribute(self.recorder, "best_arm")
            arms = (
                np.zeros((self.num_envs, 0)) if arm is None else np.arange(np.max(arm) + 1) == np.reshape(arm, (-1, 1))
            )
        self.best = np.broadcast_to(arms, (self.num_envs, np.shape(arms)[1])).astype(np.bool_)  # (rows, arms)

    def next_stop(self, played: int, rounds: int) -> int:
        return min(rounds, int(self.due[np.searchsorted(self.due, played, side="right")]))

    def look(self, played: int) -> None:
        if self.due[np.searchsorted(self.due, played)] != played:
            return
        given = getattr(self.agent, "candidate", None)
        known = self.best.any(axis=1)
        if given is None or not known.any():
            self.accuracy.append(np.full(self.num_envs, np.nan))
            return
        candidate = np.asarray(given)
        if candidate.shape != (self.num_envs,) or candidate.dtype.kind not in "iu":
            raise ValueError(
                f"the agent's candidate has shape {candidate.shape} and dtype {candidate.dtype}; "
                f"allowed: one arm for each row, whole numbers of shape ({self.num_envs},)"
            )
        right = (self.best & (np.arange(self.best.shape[1]) == candidate[:, None])).any(axis=1)
        self.accuracy.append(np.where(known, right, np.nan))

    def measured(self) -> Measured:
        return Measured((), DuelingTotals(**self.recording.log.totals), ())

    def feedback(self, action: Any, observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
        if not isinstance(action, Mapping):
            return session_clicks(observation, info)
        winner = info["winner"]
        if "final_info" in info:
            winner = np.where(info["_final_info"], info["final_info"]["winner"], winner)
        return ONE_HOT[winner]

    def history(self) -> DuelingHistory:
        kept, regret = self.recorder.records("regret")
        return DuelingHistory(kept, regret, np.array(self.accuracy), self.recorder.records("reward")[1])


def session_clicks(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """The clicks of a step; those of rows whose episode it ended and reset are in ``final_obs``."""
    if "final_obs" not in info:
        return observation
    clicks = observation.copy()
    for row in np.flatnonzero(info["_final_obs"]):
        clicks[row] = info["final_obs"][row]
    return clicks
