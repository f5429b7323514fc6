"""Recording wrappers: regret, safety violations and ranking quality, per row, at log-spaced rounds.

``RecordRegret(env)`` takes a ``gym.Env`` or a ``VectorEnv``. A recorder is a tuple of meters (``meters.py``) whose
amounts it adds up in one log (``log.py``). The environment computes regret, the recorder only sums it. Your own
recorder is a subclass of ``SingleRecorder`` with ``meters``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy import count_nonzero  # ten times as fast as any() on a small array
from numpy.typing import NDArray

from rankgym.arguments import action_kind, env_attribute, env_horizons, is_duel, named_keywords, one_of, round_numbers
from rankgym.wrappers.forms import AnyEnv, SingleForm
from rankgym.wrappers.log import Log, record_rounds
from rankgym.wrappers.meters import Meter, RankingMeter, RegretMeter, SafetyMeter


class Recording:
    """Meters that follow one environment (of duels, if every meter measures duels), and the log of their amounts."""

    def __init__(self, env: Any, num_envs: int, meters: Sequence[type[Meter]], record_at: Iterable[int] = ()) -> None:
        self.meters = [meter() for meter in meters]
        self.series = tuple(name for meter in meters for name in meter.series)
        # the entries of info in use: regret shows that a session was played
        self.reads = ("regret", "epoch", *(name for meter in meters for name in meter.reads if name != "regret"))
        duels_allowed = all(meter.measures_duels for meter in meters)
        duels = is_duel(action_kind(env.unwrapped))
        if duels and not duels_allowed:
            allowed = "a ranking environment of rankgym, wrapped or not; or RecordRegret"
            fault = f"an environment of duels, which have no {' and '.join(self.series)}"
            raise ValueError(f"env = {env} is {fault}; allowed: {allowed}")
        if not duels and env_attribute(env, "initial_misordered") is None:
            dueling = " or dueling" if duels_allowed else ""
            allowed = "one of those, wrapped or not"
            raise ValueError(f"env = {env} is not a ranking{dueling} environment of rankgym; allowed: {allowed}")
        self.env = env
        self._bare = env.unwrapped if hasattr(env.unwrapped, "changes") else None
        self._seen: int | None = None  # number of changes of the truth when it was last read
        self._new_epoch = True  # whether the next session may be the first of an epoch
        self.log = Log(num_envs, record_rounds(env_horizons(env)[1], record_at), self.series)

    def begin(self, rows: NDArray[np.bool_]) -> None:
        """Start a new episode, perhaps of another query, in ``rows`` (num_envs,) bool."""
        self.log.begin(rows)
        self._read_truth()

    def follow_changes(self) -> None:
        """Read the truth again if it has changed. Called between two sessions of environments with epochs."""
        changes = self._changes()
        if changes != self._seen or changes is None:
            self._read_truth()

    def _changes(self) -> int | None:
        """How often the truth has changed other than by resets; None if the environment does not count changes."""
        if self._bare is not None:
            return self._bare.changes
        changes = env_attribute(self.env, "changes")  # of each single environment of a batch
        return None if changes is None else int(np.sum(changes))

    def _read_truth(self) -> None:
        for meter in self.meters:
            meter.read_truth(self.env)
        self._seen = self._changes()
        self._new_epoch = True

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        """The amount (num_envs,) of one session for each series; arguments have a leading axis of rows."""
        amounts: tuple[NDArray[Any], ...] = ()
        for meter in self.meters:
            amounts += meter.amounts(info, reward)
        return amounts

    def record(self, info: dict[str, Any], reward: NDArray[np.float64], rows: NDArray[np.bool_] | None = None) -> None:
        """Record one session of ``rows`` (default: all)."""
        self.log.add(self.amounts(info, reward), rows, info.get("epoch") if self._new_epoch else None)
        self._new_epoch = False

    def repeat(self, info: dict[str, Any], reward: NDArray[np.float64], times: int) -> None:
        """Record ``times`` more sessions of all rows, equal to the last one and with its truth."""
        self.log.repeat(self.amounts(info, reward), times)
        if "epoch" in info:
            self.follow_changes()

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore a snapshot of the log. The environment must have been restored before."""
        self.log.restore(snapshot)
        self._read_truth()

    def record_step(self, reward: NDArray[np.float64], done: NDArray[np.bool_], info: dict[str, Any]) -> dict[str, Any]:
        """Record one step of a vector environment in any autoreset mode; returns what to add to ``info``."""
        rows = info.get("_regret")
        fresh = rows
        if "final_info" in info:  # autoreset in the same step: final_info has the ended rows' last session
            ended, final = info["_final_info"], info["final_info"]
            masks = {name: ended.reshape(-1, *[1] * (final[name].ndim - 1)) for name in self.reads if name in final}
            info = {name: np.where(mask, final[name], info.get(name, final[name])) for name, mask in masks.items()}
            rows, fresh = None, ~ended
        elif "regret" not in info:
            if "round" in info:  # otherwise no session was played: in some action spaces a session takes several steps
                self.begin(info.get("_round", np.ones(len(reward), bool)))
            return {}
        elif rows is not None and rows.all():
            rows = None
        elif rows is not None and not rows.any():
            self.begin(~rows)
            return {}
        self.record(info, reward, rows)
        extra: dict[str, Any] = {}
        if count_nonzero(done):
            for name, total in self.log.totals.items():
                extra |= {f"episode_{name}": np.where(done, total, 0.0), f"_episode_{name}": done.copy()}
        if fresh is not None and not fresh.all():  # these rows were reset in this step
            self.begin(~fresh)
        elif "epoch" in info:
            self.follow_changes()
        return extra


class Recorder:
    """What the single and the vector shell have in common: the results."""

    meters: ClassVar[tuple[type[Meter], ...]]
    recording: Recording

    def records(self, series: str | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The records of a ``series`` (default: the first) in the rows' current episodes, or in their last if over.

        Returns:
            The rounds (records,) after which totals were kept, and the totals (records, num_envs). NaN where a row has
            not reached the round.
        """
        names = self.recording.series
        series = names[0] if series is None else one_of("series", series, names)
        return self.recording.log.records(series)

    @property
    def totals(self) -> dict[str, NDArray[np.float64]]:
        """The totals (num_envs,) of each series in the rows' episodes so far."""
        return {name: total.copy() for name, total in self.recording.log.totals.items()}

    @property
    def epoch_regret(self) -> NDArray[np.float64]:
        """Expected regret of each epoch of the rows' current episodes, or of their last ones if those are over.

        Shape (epochs, num_envs), with as many epochs as any row has reached; NaN where a row has not; (0, num_envs) in
        a stationary environment and before the first session. Epochs 0 .. 998 are kept apart; entry 999 is the sum of
        all later ones. A row's entries add up to its total. Recorders without regret do not have this attribute.
        """
        if self.recording.series[0] != "regret":
            raise AttributeError(f"{type(self).__name__} does not record regret; use RecordRegret")
        return self.recording.log.by_epoch()


class VectorRecorder(Recorder, VectorWrapper[Any, Any, Any, Any, Any]):
    """The shell over a vector environment."""

    @named_keywords
    def __init__(self, env: VectorEnv[Any, Any, Any], *, record_at: Iterable[int] = ()) -> None:
        super().__init__(env)
        self.recording = Recording(env, self.num_envs, self.meters, record_at)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, bool) if mask is None else np.array(mask)
        observation, info = self.env.reset(seed=seed, options=options)
        self.recording.begin(mask)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        if "regret" in info and "_regret" not in info and not (count_nonzero(truncated) or count_nonzero(terminated)):
            self.recording.record(info, reward)  # the usual case: all rows played, none has ended
            if "epoch" in info:
                self.recording.follow_changes()
        else:
            info.update(self.recording.record_step(reward, terminated | truncated, info))
        return observation, reward, terminated, truncated, info

    def repeat(self, reward: NDArray[np.float64], info: dict[str, Any], times: int) -> None:
        """Record ``times`` more sessions of all rows, equal to the last step, which returned ``reward`` and ``info``.

        The records are bit for bit those of as many steps. Call it right after the environment's own ``repeat``.
        """
        self.recording.repeat(info, reward, times)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return all records as arrays with a leading axis of rows, without the environment's state."""
        return self.recording.log.snapshot()

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore the records saved by ``snapshot``, or some of their rows. Restore the environment first."""
        self.recording.restore(snapshot)


class SingleRecorder(Recorder, SingleForm):
    """The shell over a single environment. A subclass names its ``meters``.

    Args:
        env: a ranking environment, or one of duels if all meters measure them, single or vector, wrapped or not.
        record_at: rounds to record besides the log-spaced ones, 1 .. horizon.
    """

    vector = VectorRecorder

    def __init__(self, env: AnyEnv, *, record_at: Iterable[int] = ()) -> None:
        record_at = round_numbers("record_at", record_at)
        RecordConstructorArgs.__init__(self, record_at=record_at)
        gym.Wrapper.__init__(self, cast("gym.Env[Any, Any]", env))  # __new__ has sent away vector environments
        self.recording = Recording(env, 1, self.meters, record_at)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self.recording.begin(np.ones(1, bool))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        batch = {name: np.asarray(info[name])[None] for name in self.recording.reads if name in info}
        extra = self.recording.record_step(np.array([reward], np.float64), np.array([terminated or truncated]), batch)
        info |= {name: float(value[0]) for name, value in extra.items() if not name.startswith("_")}
        return observation, reward, terminated, truncated, info


class VectorRecordAll(VectorRecorder):
    """The three recorders in one. In small batches three nested wrappers would take a third of the time."""

    meters = (RegretMeter, SafetyMeter, RankingMeter)


class RecordRegret(SingleRecorder):
    """Record cumulative expected regret ("regret") and cumulative reward ("reward").

    At the end of an episode ``info`` gets ``episode_regret`` and ``episode_reward``. In environments with epochs
    ``epoch_regret`` has the regret of each epoch.

    Args:
        env: a ranking environment or one of duels, single or vector, wrapped or not.
        record_at: rounds to record besides the log-spaced ones, 1 .. horizon.

    Raises:
        ValueError: ``env`` is another environment, or a round of ``record_at`` is out of range.

    Examples:
        >>> import gymnasium as gym, numpy as np, rankgym
        >>> env = gym.make("rankgym/PBM-Yandex-v0", query=0, num_positions=3, horizon=20)
        >>> env = rankgym.RecordRegret(env, record_at=[15])
        >>> observation, info = env.reset(seed=0)
        >>> total = 0.0
        >>> for _ in range(20):
        ...     *_, info = env.step(np.array([7, 8, 9]))
        ...     total += info["regret"]
        >>> rounds, regret = env.records()
        >>> rounds[-5:].tolist(), regret.shape[1]
        ([14, 15, 16, 18, 20], 1)
        >>> bool(info["episode_regret"] == regret[-1, 0] == total)
        True
    """

    meters = (RegretMeter,)


class RecordSafety(SingleRecorder):
    """Record the number of rounds that violated the safety constraint ("violations").

    The constraint is |V(R_t)| <= |V(R_0)| + K / 2 (BubbleRank, section 5.3), V the set of incorrectly ordered pairs.
    The paper displays all items. For K < L a hidden item counts as below every displayed one, both in V(R_t) and
    V(R_0). One exchange with a hidden item can then misorder many pairs: Lemma 2 is about K = L alone.
    In environments with epochs both V(R_t) and V(R_0) are computed from the attraction of the current epoch; R_0 stays
    the production list.
    At the end of an episode ``info`` gets ``episode_violations``. Arguments are as in ``RecordRegret``.

    Raises:
        ValueError: ``env`` is not a ranking environment, or a round of ``record_at`` is out of range.

    Examples:
        The reversed production list violates the constraint in every round:

        >>> import gymnasium as gym, numpy as np, rankgym
        >>> env = rankgym.RecordSafety(gym.make("rankgym/PBM-Yandex-Rerank-v0", query=0, horizon=10))
        >>> observation, info = env.reset(seed=0)
        >>> for _ in range(10):
        ...     *_, info = env.step(np.arange(10)[::-1])
        >>> info["episode_violations"], env.records()[1][-1].tolist()
        (10.0, [10.0])
    """

    meters = (SafetyMeter,)


class RecordRanking(SingleRecorder):
    """Record the NDCG at the environment's cutoff of the displayed lists ("ndcg": the sum over rounds).

    Relevance is the attraction probability (BubbleRank, appendix B). At the end of an episode ``info`` gets
    ``episode_ndcg``. Arguments are as in ``RecordRegret``.

    Raises:
        ValueError: ``env`` is not a ranking environment, or a round of ``record_at`` is out of range.

    Examples:
        The mean NDCG of the list sorted by attraction is 1:

        >>> import gymnasium as gym, numpy as np, rankgym
        >>> env = rankgym.RecordRanking(gym.make_vec("rankgym/CM-Yandex-v0", num_envs=2, query=[0, 1], horizon=10))
        >>> observation, info = env.reset(seed=0)
        >>> best = np.argsort(-env.unwrapped.attraction, axis=1)[:, :5]
        >>> for _ in range(10):
        ...     *_, info = env.step(best)
        >>> (info["episode_ndcg"] / 10).round(6).tolist()
        [1.0, 1.0]
    """

    meters = (RankingMeter,)
