"""Recording wrappers: regret, safety violations and ranking quality, per row, at log-spaced rounds.

Each wrapper is one logic on arrays with a leading axis of rows, in two thin shells: ``RecordRegret(env)`` takes a
``gym.Env`` or a ``VectorEnv``. They add up what the environment puts into ``info``; nobody else computes regret.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy import count_nonzero  # of a small array it costs a tenth of any()
from numpy.typing import NDArray

from rankgym.arguments import action_kind, env_attribute, env_horizons, is_duel, round_numbers, whole_number
from rankgym.kernels import kernel
from rankgym.metrics import ideal_dcg, ndcg, rank_discounts

__all__ = ["RecordRanking", "RecordRegret", "RecordSafety", "record_rounds"]

PER_DECADE = 20
MOST_EPOCHS = 1_000  # that are kept apart
ENDLESS = 10**15  # the last round that is recorded where an episode has no horizon


def record_rounds(horizon: int | None, record_at: Iterable[int] = ()) -> NDArray[np.int64]:
    """The rounds after which totals are kept: about 20 a decade from 1 to ``horizon``, ``horizon``, and ``record_at``.

    Raises:
        ValueError: a round of ``record_at`` is not in 1 .. ``horizon``.
    """
    last = ENDLESS if horizon is None else whole_number("horizon", horizon, 1)
    asked = [whole_number("record_at", r, 1, last) for r in round_numbers("record_at", record_at)]
    steps = np.arange(int(np.ceil(PER_DECADE * np.log10(last))) + 1)
    spaced = np.rint(10.0 ** (steps / PER_DECADE)).astype(np.int64)
    return np.unique(np.concatenate([spaced[spaced <= last], [last], np.array(asked, np.int64)]))


DIGITS = 53  # of a float64, in binary
TOP = 1 << DIGITS


@kernel
def add_repeatedly(totals, amounts, times):
    """Add ``amounts`` (rows,) to ``totals`` (rows,) ``times`` times, rounding each sum: bit for bit the plain loop.

    As long as totals keep their sign and stay between two powers of two, they are multiples m of one unit u, and the
    exact sums with the amount q u + r, 0 <= r < u, are rounded to such multiples again. Unless r = u / 2 a sum is
    rounded in the same direction each time. If r = u / 2, a sum is rounded to an even multiple; to which side depends
    on whether m + q is odd, and once m is even (as after any such sum) it is the same side for ever. So from the second
    total of a stretch on every step adds the same multiple of u, and as many steps as stay within the stretch are one
    multiplication of whole numbers. (Where totals are so small that u cannot be halved, all sums are exact.)
    """
    for row in range(totals.shape[0]):
        total, amount, left = totals[row], amounts[row], times
        while left > 0:
            before = total
            total = before + amount
            left -= 1
            if total == before or total != total:  # so it stays; and so does what is no number
                break
            after = total + amount
            up, down = before > 0 and total > 0 and after > 0, before < 0 and total < 0 and after < 0
            if left == 0 or not (up or down) or not math.isfinite(after):
                continue
            part, power = math.frexp(total)
            if math.frexp(before)[1] != power or math.frexp(after)[1] != power:
                continue
            units = abs(np.int64(math.ldexp(part, DIGITS)))  # 2^52 .. 2^53 - 1
            step = np.int64(math.ldexp(after - total, DIGITS - power))
            step = step if up else -step
            room = TOP - 1 - units if step > 0 else units - TOP // 2 - 1  # below, a sum may lie where units are halved
            jump = min(left, room // abs(step)) if room > 0 and step != 0 else 0
            units += jump * step
            total = math.ldexp(np.float64(units if up else -units), power - DIGITS)
            left -= jump
        totals[row] = total


class Log:
    """Totals per row of one or more series, kept at given rounds of the rows' episodes."""

    def __init__(self, num_envs: int, rounds: NDArray[np.int64], series: tuple[str, ...]) -> None:
        self.rounds = rounds  # (records,)
        self.played = np.zeros(num_envs, np.int64)  # rounds of the row's episode
        self.totals = {name: np.zeros(num_envs) for name in series}
        self.kept = {name: np.full((0, num_envs), np.nan) for name in series}  # grows to (records, num_envs)
        self.entered = np.full((0, num_envs), np.nan)  # (epochs, num_envs) the first series' totals as epochs began
        self._epoch = np.full(num_envs, -1)  # that the row is in; -1: not known yet
        self._stale = np.zeros(num_envs, bool)  # rows that still hold their last episode
        self._any_stale = False
        self._common: int | None = 0  # rounds played, where all rows agree
        self._look_to(0)

    def _look_to(self, record: int) -> None:
        """Where all rows agree, ``record`` is the next one."""
        self._next = record
        self._next_round = int(self.rounds[record]) if record < len(self.rounds) else -1

    def begin(self, rows: NDArray[np.bool_]) -> None:
        """A new episode starts in ``rows`` (num_envs,) bool. What they hold stays readable until its first round."""
        self._stale |= rows
        self._any_stale = True

    def _clear(self, rows: NDArray[np.bool_]) -> None:
        self._settle()
        rows = rows & self._stale
        self.played[rows] = 0
        for total in self.totals.values():
            total[rows] = 0.0
        for kept in self.kept.values():
            kept[:, rows] = np.nan
        self.entered[:, rows] = np.nan
        self._epoch[rows] = -1
        self._stale &= ~rows
        self._any_stale = bool(self._stale.any())
        self._agree()

    def _settle(self) -> None:
        """Give up the common clock: write it into the rows."""
        if self._common is not None:
            self.played[:] = self._common
            self._common = None

    def add(
        self,
        amounts: tuple[NDArray[Any], ...],
        rows: NDArray[np.bool_] | None = None,
        epoch: NDArray[np.int64] | None = None,
    ) -> None:
        """One round of ``rows`` (None: of all): ``amounts`` has an array (num_envs,) for each series.

        ``epoch`` (num_envs,) is that of the round. It may be None where no row of ``rows`` is in a new one.
        """
        if self._any_stale:
            self._clear(np.ones_like(self._stale) if rows is None else rows)
        if epoch is not None:
            self._enter(epoch, rows)
        if rows is None and self._common is not None:
            for total, amount in zip(self.totals.values(), amounts, strict=True):
                total += amount
            self._common += 1
            if self._common == self._next_round:
                for name, total in self.totals.items():
                    self._room(name, self._next)[self._next] = total
                self._look_to(self._next + 1)
            return
        self._settle()
        rows = np.ones_like(self._stale) if rows is None else rows
        self.played += rows
        index = np.minimum(np.searchsorted(self.rounds, self.played), len(self.rounds) - 1)
        due = np.flatnonzero(rows & (self.rounds[index] == self.played))
        for (name, total), amount in zip(self.totals.items(), amounts, strict=True):
            total[rows] += amount[rows]
            if len(due):
                self._room(name, int(index[due].max()))[index[due], due] = total[due]

    def repeat(self, amounts: tuple[NDArray[Any], ...], times: int) -> None:
        """As ``times`` calls of ``add(amounts)``, bit for bit: rounds of all rows, in the epochs that they are in."""
        if self._any_stale and times:
            self._clear(np.ones_like(self._stale))
        added = [np.array(amount, np.float64) for amount in amounts]
        while times > 0:
            ahead = min(times, self._ahead()) - 1  # rounds that come before one that may be recorded
            for total, amount in zip(self.totals.values(), added, strict=True):
                add_repeatedly(total, amount, ahead)
            if self._common is None:
                self.played += ahead
            else:
                self._common += ahead
            self.add(tuple(added))
            times -= ahead + 1

    def _ahead(self) -> int:
        """How many rounds there are until that of the next record of any row, itself included."""
        if self._common is not None:
            return self._next_round - self._common if self._next_round >= 0 else ENDLESS
        following = np.searchsorted(self.rounds, self.played, side="right")
        return int((np.append(self.rounds, 2 * ENDLESS)[following] - self.played).min())

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All there is, as arrays with a leading axis of rows."""
        played = self.played if self._common is None else np.full_like(self.played, self._common)
        reached = int(np.searchsorted(self.rounds, played.max(), side="right"))
        written = {"played": played, "epoch": self._epoch, "stale": self._stale, "entered": self.entered.T}
        written |= {f"total_{name}": total for name, total in self.totals.items()}
        written |= {f"kept_{name}": self._room(name, reached)[:reached].T for name in self.kept}
        return {name: np.array(values, order="C") for name, values in written.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a ``snapshot``, or from some rows of one; it is trusted."""
        given = {name: np.array(values) for name, values in snapshot.items()}
        self.played, self._epoch, self._stale = given["played"], given["epoch"], given["stale"]
        self.entered = np.ascontiguousarray(given["entered"].T)
        self.totals = {name: given[f"total_{name}"] for name in self.totals}
        self.kept = {name: np.ascontiguousarray(given[f"kept_{name}"].T) for name in self.kept}
        self._any_stale = bool(self._stale.any())
        self._agree()

    def _agree(self) -> None:
        """Take up a common clock where all rows have played the same rounds."""
        self._common = None
        if (self.played == self.played[0]).all():
            self._common = int(self.played[0])
            self._look_to(int(np.searchsorted(self.rounds, self._common, side="right")))

    def _enter(self, epoch: NDArray[np.int64], rows: NDArray[np.bool_] | None) -> None:
        """Note the totals of ``rows`` that come to another epoch."""
        epoch = np.minimum(epoch, MOST_EPOCHS - 1)
        entering = epoch != self._epoch
        if rows is not None:
            entering &= rows
        (new,) = np.nonzero(entering)
        if not len(new):
            return
        needed, epochs = int(epoch[new].max()) + 1, len(self.entered)
        if needed > epochs:
            more = min(max(needed, 2 * epochs), MOST_EPOCHS) - epochs
            self.entered = np.concatenate([self.entered, np.full((more, self.entered.shape[1]), np.nan)])
        self.entered[epoch[new], new] = next(iter(self.totals.values()))[new]
        self._epoch[new] = epoch[new]

    def by_epoch(self) -> NDArray[np.float64]:
        """What each epoch added to the first series' totals, (epochs, num_envs); NaN where a row has not come to it."""
        epochs = int(self._epoch.max()) + 1
        added, after = np.full((epochs, len(self._epoch)), np.nan), next(iter(self.totals.values()))
        for epoch in range(epochs - 1, -1, -1):
            entered = self.entered[epoch]
            added[epoch] = after - entered
            after = np.where(np.isnan(entered), after, entered)
        return added

    def _room(self, name: str, index: int) -> NDArray[np.float64]:
        kept = self.kept[name]
        if index >= len(kept):
            more = np.full((max(2 * index, 64) - len(kept) + 1, kept.shape[1]), np.nan)
            self.kept[name] = kept = np.concatenate([kept, more])
        return kept

    def records(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rounds (records,) that some row has reached, and the totals after them (records, num_envs); NaN else."""
        kept = self.kept[name][: len(self.rounds)]
        known = [~np.isnan(totals[: len(self.rounds)]).all(axis=1) for totals in self.kept.values()]
        reached = int(np.count_nonzero(np.any(known, axis=0)))  # a series may be unknown throughout, but not all
        return self.rounds[:reached].copy(), kept[:reached].copy()


class Logic(ABC):
    """What one recording wrapper measures. Subclasses name their series and give a row's amount in one session."""

    series: ClassVar[tuple[str, ...]]
    of_duels: ClassVar[bool] = False  # whether it is measured where actions are duels, too

    def __init__(self, env: Any, num_envs: int, record_at: Iterable[int]) -> None:
        duels = is_duel(action_kind(env.unwrapped))
        if duels and not self.of_duels:
            raise ValueError(
                f"env = {env} is an environment of duels, which have no {' and '.join(self.series)}; "
                "allowed: a ranking one of rankgym's, wrapped or not; or RecordRegret"
            )
        if not duels and env_attribute(env, "initial_misordered") is None:
            either = ", nor one of duels" if self.of_duels else ""
            raise ValueError(
                f"env = {env} is no ranking environment{either}; allowed: one of rankgym's, wrapped or not"
            )
        self.env, self.num_envs = env, num_envs
        self._bare = env.unwrapped if hasattr(env.unwrapped, "changes") else None
        self._seen: int | None = None  # changes of the truth when it was read last
        self.log = Log(num_envs, record_rounds(env_horizons(env)[1], record_at), self.series)

    def begin(self, rows: NDArray[np.bool_]) -> None:
        """A new episode, perhaps of another query, starts in ``rows`` (num_envs,) bool."""
        self.log.begin(rows)
        self.read_truth()
        self._seen = self._changes()

    def look_again(self) -> None:
        """Between two sessions: read the truth anew where a row's coming session is the first of an epoch."""
        changes = self._changes() if self._bare is None else self._bare.changes
        if changes != self._seen or changes is None:
            self._seen = changes
            self.read_truth()

    def _changes(self) -> int | None:
        """How often the truth has changed other than by resets; None: the environment does not tell."""
        if self._bare is not None:
            return self._bare.changes
        changes = env_attribute(self.env, "changes")  # of each single environment of a batch
        return None if changes is None else int(np.sum(changes))

    @abstractmethod
    def read_truth(self) -> None:
        """Take over what amounts need of the truth of the rows' coming sessions."""

    @abstractmethod
    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        """For each series the amount (num_envs,) of one session, from arrays with a leading axis of rows."""

    def record(self, info: dict[str, Any], reward: NDArray[np.float64], rows: NDArray[np.bool_] | None = None) -> None:
        """One session of ``rows`` (None: of all)."""
        self.log.add(self.amounts(info, reward), rows)

    def repeat(self, info: dict[str, Any], reward: NDArray[np.float64], times: int) -> None:
        """``times`` sessions more of all rows like the last one, with its truth."""
        self.log.repeat(self.amounts(info, reward), times)
        if "epoch" in info:
            self.look_again()

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a snapshot of the log; the environment has been restored before."""
        self.log.restore(snapshot)
        self.read_truth()
        self._seen = self._changes()

    def step(self, reward: NDArray[np.float64], done: NDArray[np.bool_], info: dict[str, Any]) -> dict[str, Any]:
        """One step of a vector environment, whatever its autoreset mode; what to add to ``info``."""
        rows = info.get("_regret")
        fresh = rows
        if "final_info" in info:  # autoreset in the same step: the ended rows' last session is in there
            ended, final = info["_final_info"], info["final_info"]
            info = {
                name: np.where(_like(ended, final[name]), final[name], info.get(name, final[name]))
                for name in ("displayed", "regret", "misordered", "epoch")  # all that records are made of
                if name in final
            }
            rows, fresh = None, ~ended
        elif "regret" not in info:
            if "round" in info:  # else no session was played: of some action spaces several steps make one
                self.begin(info.get("_round", np.ones(len(reward), bool)))
            return {}
        elif rows is not None and rows.all():
            rows = None
        elif rows is not None and not rows.any():
            self.begin(~rows)
            return {}
        self.record(info, reward, rows)
        extra: dict[str, Any] = {}
        if done.any():
            for name, total in self.log.totals.items():
                extra |= {f"episode_{name}": np.where(done, total, 0.0), f"_episode_{name}": done.copy()}
        if fresh is not None and not fresh.all():  # these rows were reset in this step
            self.begin(~fresh)
        elif "epoch" in info:
            self.look_again()
        return extra


def _like(mask: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[np.bool_]:
    return mask.reshape(mask.shape + (1,) * (values.ndim - 1))


class RegretLogic(Logic):
    """Cumulative expected regret, also by epoch, and cumulative reward."""

    series: ClassVar[tuple[str, ...]] = ("regret", "reward")
    of_duels = True
    _turning = True

    def read_truth(self) -> None:
        self._turning = True  # the next session may be the first of an epoch

    def record(self, info: dict[str, Any], reward: NDArray[np.float64], rows: NDArray[np.bool_] | None = None) -> None:
        self.log.add(self.amounts(info, reward), rows, info.get("epoch") if self._turning else None)
        self._turning = False

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        return info["regret"], reward


class SafetyLogic(Logic):
    """Rounds in which the list violated |V(R_t)| <= |V(R_0)| + K / 2 (BubbleRank, Lemma 2 and section 5.3)."""

    series: ClassVar[tuple[str, ...]] = ("violations",)

    def read_truth(self) -> None:
        positions = np.atleast_1d(env_attribute(self.env, "num_positions"))
        self._limit = np.atleast_1d(env_attribute(self.env, "initial_misordered")) + positions / 2

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        return (info["misordered"] > self._limit,)


class RankingLogic(Logic):
    """NDCG of the displayed lists at the cutoff (BubbleRank, appendix B)."""

    series: ClassVar[tuple[str, ...]] = ("ndcg",)

    def read_truth(self) -> None:
        attraction = env_attribute(self.env, "attraction")
        self._attraction = np.array(attraction, np.float64).reshape(self.num_envs, -1)
        self._discounts = rank_discounts(int(np.max(env_attribute(self.env, "cutoff"))))
        self._ideal = ideal_dcg(self._attraction, len(self._discounts))

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        quality = np.empty(len(reward))
        ndcg(self._attraction, self._discounts, self._ideal, info["displayed"], quality)
        return (quality,)


class RankingsLogic(RegretLogic, SafetyLogic, RankingLogic):
    """All of them in one log: of a small batch three wrappers around each other take a third of the time."""

    series = (*RegretLogic.series, *SafetyLogic.series, *RankingLogic.series)
    of_duels = False

    def read_truth(self) -> None:
        for part in (RegretLogic, SafetyLogic, RankingLogic):
            part.read_truth(self)

    def amounts(self, info: dict[str, Any], reward: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
        regret, paid = RegretLogic.amounts(self, info, reward)
        return regret, paid, *SafetyLogic.amounts(self, info, reward), *RankingLogic.amounts(self, info, reward)


class Records:
    """What both shells show of their log."""

    _logic: Logic

    def records(self, series: str | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The records of one series of the rows' current (or, once it is over, last) episode.

        Args:
            series: its name; default: the wrapper's first series.

        Returns:
            The rounds (records,) after which totals were kept, and the totals (records, num_envs). A row that has not
            come to a round has NaN there.
        """
        names = self._logic.series
        if series is not None and series not in names:
            raise ValueError(f"series = {series!r} is unknown; allowed: {list(names)}")
        return self._logic.log.records(series or names[0])

    @property
    def totals(self) -> dict[str, NDArray[np.float64]]:
        """For each series the totals (num_envs,) of the rows' episodes so far."""
        return {name: total.copy() for name, total in self._logic.log.totals.items()}


class VectorRecorder(Records, VectorWrapper[Any, Any, Any, Any, Any]):
    """The shell over a vector environment."""

    logic: ClassVar[type[Logic]]

    def __init__(self, env: VectorEnv[Any, Any, Any], *, record_at: Iterable[int] = ()) -> None:
        super().__init__(env)
        self._logic = self.logic(env, self.num_envs, record_at)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, bool) if mask is None else np.array(mask)
        observation, info = self.env.reset(seed=seed, options=options)
        self._logic.begin(mask)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        if "regret" in info and "_regret" not in info and not count_nonzero(truncated | terminated):
            self._logic.record(info, reward)  # nearly always: all rows played, none has ended
            if "epoch" in info:
                self._logic.look_again()
        else:
            info.update(self._logic.step(reward, terminated | truncated, info))
        return observation, reward, terminated, truncated, info

    def repeat(self, reward: NDArray[np.float64], info: dict[str, Any], times: int) -> None:
        """Record ``times`` sessions more of all rows like that of the last step, which has returned these two.

        The numbers are bit for bit those of so many steps with the same amounts, but there are no such steps: it is
        for whoever has had the environment's own ``repeat`` do the same, and before anything else is done.
        """
        self._logic.repeat(info, reward, times)

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """What has been recorded, as arrays with a leading axis of rows; the environment is not in it."""
        return self._logic.log.snapshot()

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a ``snapshot``, or from some rows of it, once the environment has been restored."""
        self._logic.restore(snapshot)


class SingleRecorder(Records, gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The shell over a single environment; called with a vector environment it makes the vector shell."""

    logic: ClassVar[type[Logic]]
    vector: ClassVar[type[VectorRecorder]]

    def __new__(cls, env: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(env, VectorEnv):
            return cls.vector(env, *args, **kwargs)
        return super().__new__(cls)

    def __init__(self, env: gym.Env[Any, Any], *, record_at: Iterable[int] = ()) -> None:
        record_at = round_numbers("record_at", record_at)
        RecordConstructorArgs.__init__(self, record_at=record_at)
        gym.Wrapper.__init__(self, env)
        self._logic = self.logic(env, 1, record_at)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._logic.begin(np.ones(1, bool))
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        told = ("displayed", "regret", "misordered", "epoch")
        batch = {name: np.asarray(info[name])[None] for name in told if name in info}
        extra = self._logic.step(np.array([reward], np.float64), np.array([terminated or truncated]), batch)
        info |= {name: float(value[0]) for name, value in extra.items() if not name.startswith("_")}
        return observation, reward, terminated, truncated, info


class RegretByEpoch:
    """What both shells of ``RecordRegret`` show besides."""

    _logic: Logic

    @property
    def epoch_regret(self) -> NDArray[np.float64]:
        """Expected regret of each epoch of the rows' current (or, once it is over, last) episode.

        (epochs, num_envs), as many epochs as some row has come to; NaN where a row has not; (0, num_envs) in a
        stationary environment and before the first session. Epochs 0 .. 998 are kept apart; a row's entry of epoch 999,
        the last there can be, is its regret in that and all later ones. A row's entries make up its total.
        """
        return self._logic.log.by_epoch()


class VectorRecordRegret(RegretByEpoch, VectorRecorder):
    """``RecordRegret`` over a vector environment."""

    logic = RegretLogic


class VectorRecordSafety(VectorRecorder):
    """``RecordSafety`` over a vector environment."""

    logic = SafetyLogic


class VectorRecordRanking(VectorRecorder):
    """``RecordRanking`` over a vector environment."""

    logic = RankingLogic


class VectorRecordRankings(RegretByEpoch, VectorRecorder):
    """``RecordRegret``, ``RecordSafety`` and ``RecordRanking`` in one, over a vector environment."""

    logic = RankingsLogic


class RecordRegret(RegretByEpoch, SingleRecorder):
    """Record cumulative expected regret ("regret") and cumulative reward ("reward").

    At the end of an episode ``info`` gets ``episode_regret`` and ``episode_reward``. Where the environment has epochs,
    ``epoch_regret`` has the regret of each.

    Args:
        env: a ranking environment, or one of duels, single or vector, wrapped or not.
        record_at: rounds to record besides the log-spaced ones, 1 .. horizon.
    """

    logic, vector = RegretLogic, VectorRecordRegret


class RecordSafety(SingleRecorder):
    """Record the number of rounds that violated the safety constraint ("violations").

    The constraint is |V(R_t)| <= |V(R_0)| + K / 2 (BubbleRank, section 5.3), V the set of incorrectly ordered pairs.
    The paper displays all items; for K < L a hidden item stands below every displayed one here, both in V(R_t) and
    V(R_0). One exchange with a hidden item can then put many pairs out of order: Lemma 2 speaks of K = L alone.
    Where the environment has epochs, both V(R_t) and the limit follow the attraction of the current one: R_0 stays the
    production list, V(R_0) does not stay.
    At the end of an episode ``info`` gets ``episode_violations``.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
        record_at: rounds to record besides the log-spaced ones, 1 .. horizon.
    """

    logic, vector = SafetyLogic, VectorRecordSafety


class RecordRanking(SingleRecorder):
    """Record the NDCG at the environment's cutoff of the displayed lists ("ndcg": the sum over rounds).

    Relevance is the attraction probability (BubbleRank, appendix B). At the end of an episode ``info`` gets
    ``episode_ndcg``.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
        record_at: rounds to record besides the log-spaced ones, 1 .. horizon.
    """

    logic, vector = RankingLogic, VectorRecordRanking
