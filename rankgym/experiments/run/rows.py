"""A block of rows that can be paused, saved and resumed, and that settled rows leave.

An agent may report that a row will show the same list in all rounds to come (``settled``). The truth is constant
between breakpoints, so each of these rounds adds the same to the row's records, and the rest is added up instead of
played. Agents are asked after each recorded round; rows that have settled leave the batch, and the others continue
without them. So a long experiment costs what its exploration costs.

Regret, violations, NDCG, accuracy and the regret of each epoch of a row that has left are those of the row played to
the end, bit for bit. Its reward is not: clicks are no longer drawn, and each round pays its expected reward, which has
the same mean and less noise.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rankgym.agent import seed_argument
from rankgym.envs import UnknownRegret
from rankgym.experiments.plan.agents import AgentFailed
from rankgym.experiments.plan.jobs import Block, Job
from rankgym.experiments.run.result_file import Contents
from rankgym.experiments.run.results import with_epochs
from rankgym.play.game import Game, never
from rankgym.play.history import DuelingHistory, History, measures
from rankgym.play.recording import snapshot_part

NOTE = (
    "rows with settled_at >= 0 were retired after so many rounds: from there on regret, violations, ndcg and "
    "epoch_regret are exactly what playing gives, and reward goes on with its expectation in each round"
)

Arrays = dict[str, NDArray[Any]]


def make(block: Block, rows: Sequence[int] | None = None) -> tuple[Any, Any]:
    """Make the environment of a block, not reset yet, and its agent; or of some of its rows, numbered from 0.

    Raises ValueError if the agent does not take these arguments, and AgentFailed if it failed itself.
    """
    chosen = range(block.rows) if rows is None else rows
    played: dict[str, Any] = {} if block.choice is None else {block.choice: [block.queries[row] for row in chosen]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownRegret)  # it was given when the sweep was planned
        env = gym.make_vec(block.env_id, num_envs=len(chosen), **played, **block.env_kwargs)
    seeds = [block.seed + block.start + row for row in chosen]
    try:
        return env, block.agent.make(env, block.horizon, seed_argument(seeds))
    except BaseException as error:
        env.close()
        if isinstance(error, (ValueError, AgentFailed)) or not isinstance(error, Exception):
            raise
        raise block.agent.failure(error) from error


class Run:
    """A block of rows of one agent that can be paused, saved and resumed; settled rows leave the batch.

    But for the reward of retired rows, its history is that of ``rankgym.simulate``, bit for bit, whatever pauses and
    processes lie in between.

    Retiring rows and saving need an agent with ``settled``, ``snapshot`` and ``restore`` (``rankgym.agent.Learner``)
    and one of rankgym's own vector environments. Without them, and if the expected reward of what a settled row plays
    is unknown (two different rankers, interleaved), all rounds are played. So they are with ``retire=False``, and if
    ``block.rounds`` exceeds the agent's horizon: its ``settled`` does not hold beyond.

    ``settled_at`` (rows,) has the rounds played when the row was retired, or -1. The row may have settled earlier.
    """

    def __init__(self, block: Block, *, retire: bool = True) -> None:
        self.block = block
        self.settled_at = np.full(block.rows, -1, np.int64)
        self._retires = retire and block.rounds <= block.horizon
        self._kept = np.zeros(block.rows, bool)  # rows that have settled, but whose expected reward is unknown
        self._done = np.zeros(block.rows, bool)  # rows whose records are in the arrays below
        self._rounds = np.zeros(0, np.int64)  # (records,)
        self._values: dict[str, NDArray[np.float64]] = {}  # (records, rows) of each measure
        self._epoch_regret = np.zeros((0, block.rows))  # (epochs, rows)
        self._sound = True
        self._live: _Part | None = None  # rows that are played
        self._leaving: _Part | None = None  # rows that are being retired; the others wait for them
        self._computed = 0  # by parts that have ended

    @property
    def played(self) -> int:
        """Rounds that the rows in play have played; all rounds if the run is finished."""
        return min((part.game.played for part in self._parts), default=self.block.rounds if self.finished else 0)

    @property
    def finished(self) -> bool:
        return bool(self._done.all())

    @property
    def computed(self) -> int:
        """Sessions of all rows that were really played so far. Pauses may add some: it measures work, not a result."""
        return self._computed + sum(part.computed for part in self._parts)

    @property
    def _parts(self) -> "list[_Part]":
        return [part for part in (self._live, self._leaving) if part is not None]

    def play(self, tell: Callable[[int], None], pause: Callable[[], bool] = never) -> None:
        """Play to the end, or until ``pause()``.

        Args:
            tell: called several times a second with the sessions played since, of all rows, retired ones included.
            pause: called several times a second; True: return. Some rounds are played before the first call.

        Raises:
            AgentFailed: the agent failed, or returned an invalid list. Further errors: see ``make``, and what ``tell``
                and ``pause`` raise.
            RuntimeError: an error or an interruption has ended the last call; ``restore`` an earlier snapshot.
        """
        part: _Part
        paused = False
        callers: list[Exception] = []  # errors of tell and pause, which are not the agent's

        def call(function: Callable[..., Any], *given: int) -> Any:
            try:
                return function(*given)
            except Exception as error:
                callers.append(error)
                raise

        def ask() -> bool:
            nonlocal paused
            paused = paused or bool(call(pause))
            return paused

        def report(rounds: int) -> None:
            call(tell, rounds * len(part.rows))

        self._begin()
        self._sound = False  # whatever interrupts a step leaves the agent and its records at odds
        try:
            while not self.finished and not paused:
                if self._leaving is not None:
                    part = self._leaving
                    part.game.repeat(part.action, self.block.rounds, report, ask)
                    self._leaving = self._ended(part)
                elif self._live is not None and not self._retire(self._live):
                    part = self._live
                    part.game.play(part.game.next_record() if self._retires else self.block.rounds, report, ask)
                    self._live = self._ended(part)
            self._sound = True
        except Exception as error:
            if error in callers or isinstance(error, AgentFailed):
                raise
            raise self.block.agent.failure(error) from error

    def history(self) -> History | DuelingHistory:
        """The records of all rows; RuntimeError if the run is not finished."""
        if not self.finished:
            raise RuntimeError(f"{self.played} of {self.block.rounds} rounds were played; play to the end first")
        if "accuracy" in self._values:
            return DuelingHistory(self._rounds, **self._values)
        return History(self._rounds, **self._values, epoch_regret=self._epoch_regret)

    def close(self) -> None:
        """Close the environments. Rows that are not finished are lost."""
        for part in self._parts:
            part.env.close()

    def _begin(self) -> None:
        if not self._sound:
            raise RuntimeError("the run was interrupted in the middle of a step; restore a snapshot taken before")
        if not self._parts and not self.finished:
            self._live = _Part(self.block, np.arange(self.block.rows))
            self._live.game.reset(self.block.seed + self.block.start)

    def _ended(self, part: "_Part") -> "_Part | None":
        """Take over the records of ``part`` if it is over, and return None; else return ``part``."""
        if part.game.played < self.block.rounds:
            return part
        history = part.game.history()
        self._rounds = history.rounds
        for name in measures(history):
            values = self._values.setdefault(name, np.full((len(history.rounds), self.block.rows), np.nan))
            values[:, part.rows] = getattr(history, name)
        if isinstance(history, History):
            self._epoch_regret = with_epochs(self._epoch_regret, len(history.epoch_regret))
            self._epoch_regret[: len(history.epoch_regret), part.rows] = history.epoch_regret
        self._done[part.rows] = True
        self._computed += part.computed
        part.env.close()
        return None

    def _retire(self, live: "_Part") -> bool:
        """Let the settled rows of ``live`` leave, after a recorded round; returns whether there are any."""
        game = live.game
        if not self._retires or game.played not in game.records.due:
            return False
        new = live.settled() & ~self._kept[live.rows]
        written = game.snapshot() if new.any() else None
        if written is None:
            return False
        while new.any():
            leaving = self._restored(live.rows[new], _rows(written, new), game.played, leaving=True)
            known = leaving.knows_rewards()
            if known.all():
                break
            leaving.env.close()
            self._kept[leaving.rows[~known]] = True
            new[new] = known
        else:
            return False
        leaving.game.restore(_rows(written, new), game.played)  # it has tried a session
        stay = ~new
        self._live = self._restored(live.rows[stay], _rows(written, stay), game.played) if stay.any() else None
        self._leaving = leaving
        self.settled_at[leaving.rows] = game.played
        self._computed += live.computed
        live.env.close()
        return True

    def _restored(
        self, rows: NDArray[np.int64], written: Mapping[str, NDArray[Any]], played: int, *, leaving: bool = False
    ) -> "_Part":
        part = _Part(self.block, rows, leaving=leaving)
        part.game.restore(written, played)
        part.action = part.agent.act(part.env.last_observation.copy()) if leaving else None  # until the end
        return part

    def snapshot(self) -> Arrays | None:
        """The full state as plain arrays; None if it cannot be saved. RuntimeError if an error has ended ``play``."""
        self._begin()
        arrays: Arrays = {
            "settled_at": self.settled_at.copy(),
            "kept": self._kept.copy(),
            "done": self._done.copy(),
            "computed": np.array(self.computed, np.int64),
            "rounds": self._rounds.copy(),
            "epoch_regret": self._epoch_regret.copy(),
        }
        arrays |= {f"values.{name}": values.copy() for name, values in self._values.items()}
        for name, part in (("live", self._live), ("leaving", self._leaving)):
            if part is not None:
                written = part.game.snapshot()
                if written is None:
                    return None
                arrays |= {f"{name}.rows": part.rows.copy(), f"{name}.played": np.array(part.game.played, np.int64)}
                arrays |= {f"{name}.{key}": values for key, values in written.items()}
        return arrays

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore a ``snapshot`` of a run of the same block with the same ``retire``, perhaps from another process.

        Raises ValueError if it does not fit; make another run then.
        """
        given = {name: np.array(values) for name, values in snapshot.items()}
        allowed = f"allowed: one of a run of this block, of {self.block.rows} rows"
        for name in ("settled_at", "kept", "done", "computed", "rounds", "epoch_regret"):
            if name not in given:
                raise ValueError(f"the snapshot has no {name!r}; {allowed}")
        if given["settled_at"].shape != (self.block.rows,):
            raise ValueError(f"the snapshot is of {given['settled_at'].size} rows; {allowed}")
        values = snapshot_part(given, "values")
        shapes = {"kept": (self.block.rows,), "done": (self.block.rows,), "computed": ()}
        shapes |= {f"values.{name}": (given["rounds"].size, self.block.rows) for name in values}
        shapes["epoch_regret"] = (len(np.atleast_1d(given["epoch_regret"])), self.block.rows)
        for name, shape in shapes.items():
            if given[name].shape != shape:
                raise ValueError(f"the snapshot's {name!r} has shape {given[name].shape}, not {shape}; {allowed}")
        parts = {name: snapshot_part(given, name) for name in ("live", "leaving")}
        rows = np.concatenate([np.flatnonzero(given["done"]), *(part["rows"] for part in parts.values() if part)])
        if not np.array_equal(np.sort(rows), np.arange(self.block.rows)):
            raise ValueError(f"the snapshot is of the rows {np.sort(rows).tolist()}; {allowed}")
        self.close()
        self._live, self._leaving = (
            self._restored(part.pop("rows"), part, int(part.pop("played")), leaving=name == "leaving") if part else None
            for name, part in parts.items()
        )
        self.settled_at, self._kept, self._done = given["settled_at"], given["kept"], given["done"]
        self._rounds, self._epoch_regret = given["rounds"], given["epoch_regret"]
        self._values, self._computed = values, int(given["computed"])
        self._sound = True


class _Part:
    """Rows of a block that are played together, with an environment and an agent of their own.

    ``leaving``: they show the same list until the end, and are paid expected rewards.
    """

    def __init__(self, block: Block, rows: NDArray[np.int64], *, leaving: bool = False) -> None:
        self.rows, (self.env, self.agent) = rows, make(block, rows.tolist())
        try:
            self.game = Game(self.agent, self.env, block.rounds, block.record_at, expected=leaving)
        except BaseException as error:
            self.env.close()
            if not isinstance(error, Exception):
                raise
            raise block.agent.failure(error) from error
        self.action: Any = None

    @property
    def computed(self) -> int:
        return self.game.steps * len(self.rows)

    def settled(self) -> NDArray[np.bool_]:
        """Which rows have settled, as the agent reports; none if it cannot."""
        ask = getattr(self.agent, "settled", None)
        settled = np.asarray(ask()) if callable(ask) else np.zeros(len(self.rows), bool)
        if settled.shape != (len(self.rows),) or settled.dtype != np.bool_:
            raise ValueError(
                f"the agent's settled() has shape {settled.shape} and dtype {settled.dtype}; allowed: bool of shape "
                f"({len(self.rows)},)"
            )
        return settled

    def knows_rewards(self) -> NDArray[np.bool_]:
        """Rows whose expected reward the environment knows. Plays a session to find out."""
        self.game.env.step(self.action)
        return ~np.isnan(self.env.expected_rewards())


def _rows(written: Mapping[str, NDArray[Any]], rows: NDArray[np.bool_]) -> Arrays:
    """Select ``rows`` from a game's snapshot."""
    return {name: values[rows] for name, values in written.items()}


def contents(job: Job, history: History | DuelingHistory, settled_at: NDArray[np.int64]) -> Contents:
    """What a job's result file holds."""
    block, names = job.block, measures(history)
    rows = np.arange(block.start, block.stop)
    seeds = [block.seed + row for row in range(block.start, block.stop)]
    epochs = getattr(history, "epoch_regret", np.empty((0, len(rows))))
    columns: dict[str, NDArray[Any]] = {
        "row": rows,
        "query": np.array(block.queries if block.choice is not None else np.zeros(len(rows)), np.int64),
        "run": rows // job.queries,
        "seed": np.array(seeds, np.int64) if seeds[-1] < 2**63 else np.array(list(map(str, seeds))),
        "settled_at": np.asarray(settled_at, np.int64),
        **{name: np.ascontiguousarray(getattr(history, name).T, np.float64) for name in names},  # (rows, records)
        "epoch_regret": np.ascontiguousarray(epochs.T, np.float64),
    }
    made = {"key": job.key, "measures": list(names), "recorded": history.rounds.tolist()}
    return Contents({**job.decides, **made, **({"note": NOTE} if job.retire else {})}, columns)
