"""The loop: an agent meets an environment. What it returns is what the recording wrappers kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rankgym.checks import env_horizons, round_numbers, whole_number
from rankgym.progress import told
from rankgym.wrappers.records import VectorRecordRanking, VectorRecordRegret, VectorRecordSafety

__all__ = ["MEASURES", "History", "simulate"]

MEASURES = ("regret", "violations", "ndcg", "reward")  # the fields of a history with one entry a record and row

NEWS = 0.1  # seconds between looks at the clock, about


class ActsAndUpdates(Protocol):
    """All that ``simulate`` asks of an agent; ``rankgym.agent.Agent`` and many a plain class have it."""

    def act(self, observation: Any) -> Any: ...
    def update(self, displayed: Any, clicks: Any) -> Any: ...


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
        index = int(np.searchsorted(self.rounds, round))
        if index == len(self.rounds) or self.rounds[index] != round:
            raise ValueError(f"round = {round} was not recorded; ask for it with record_at=[{round}]")
        return {name: getattr(self, name)[index] for name in MEASURES}

    def __repr__(self) -> str:
        """One line: the arrays of a long simulation would fill screens."""
        if np.ndim(self.regret) != 2:
            return tuple.__repr__(self)  # somebody's own
        records, rows = np.shape(self.regret)
        parts = [f"records={records}", f"rows={rows}"]
        if records:
            parts = [f"rounds={self.rounds[-1]}", *parts, f"mean_final_regret={float(np.mean(self.regret[-1])):.6g}"]
        if len(self.epoch_regret):
            parts.append(f"epochs={len(self.epoch_regret)}")
        return f"{type(self).__name__}({', '.join(parts)})"


def simulate(
    agent: ActsAndUpdates,
    env: VectorEnv[Any, Any, Any],
    rounds: int,
    *,
    seed: int | Sequence[int] | None = None,
    record_at: Iterable[int] = (),
    progress: bool | Callable[[int], None] = True,
) -> History:
    """Let ``agent`` rank for ``rounds`` sessions in every row of ``env``, from a fresh reset on.

    The environment is reset, the agent is not: it goes on from what it has learned. Make a new one for a new run.

    Args:
        agent: has ``act(observation)``, giving lists (num_envs, num_positions), and ``update(displayed, clicks)``.
        env: a vector environment of rankings (``gym.make_vec``); a batch of one is the single run.
        rounds: at least 1, and no more than the environment's horizon.
        seed: of the reset: row b gets ``seed + b``, or its entry of a list.
        record_at: rounds to record besides about 20 a decade and the last.
        progress: show a bar on anything longer than two seconds; or a function that is called with the number of
            rounds played since its last call, several times a second.

    Returns:
        A ``History`` with one column a row.

    Raises:
        ValueError: an argument does not fit; nothing was played then.
        RuntimeError: an episode ended early, by a wrapper's doing.
    """
    rounds = whole_number("rounds", rounds, 1)
    if isinstance(agent, type) or not (hasattr(agent, "act") and hasattr(agent, "update")):
        raise ValueError(
            f"agent = {agent!r} is no agent; allowed: an object with act and update, such as TopRank.for_env(env)"
        )
    if not isinstance(env, VectorEnv):
        raise ValueError(f"env = {env!r} is not a vector environment; make one with gym.make_vec(id, num_envs=1)")
    mine = getattr(agent, "num_envs", env.num_envs)
    if mine != env.num_envs:
        raise ValueError(
            f"the agent has {mine} rows and env {env.num_envs}; make it with {type(agent).__name__}.for_env(env)"
        )
    horizon, _ = env_horizons(env)
    if horizon is not None and rounds > horizon:
        raise ValueError(
            f"rounds = {rounds} exceeds the environment's horizon; make it with horizon={rounds}, or horizon=None"
        )
    record_at = [*(whole_number("record_at", r, 1, rounds) for r in round_numbers("record_at", record_at)), rounds]

    ranking = VectorRecordRanking(env, record_at=record_at)
    safety = VectorRecordSafety(ranking, record_at=record_at)
    recorded = regret = VectorRecordRegret(safety, record_at=record_at)
    observation, _ = recorded.reset(seed=seed)
    with told(progress, rounds) as tell:
        played, stride = 0, 1
        while played < rounds:
            stride = min(stride, rounds - played)
            start = time.perf_counter()
            for _ in range(stride):  # the loop
                displayed = agent.act(observation)
                observation, *_, info = recorded.step(displayed)
                agent.update(displayed, last_clicks(observation, info) if "final_obs" in info else observation)
            played += stride
            tell(stride)
            stride = max(1, min(2 * stride, int(stride * NEWS / (time.perf_counter() - start + 1e-9))))

    kept = regret.records("regret")[0]
    if kept[-1] != rounds:
        raise RuntimeError(
            f"an episode ended before round {rounds}; the environment must not end, or have horizon={rounds}"
        )
    return History(
        kept,
        regret.records("regret")[1],
        safety.records("violations")[1],
        ranking.records("ndcg")[1] / kept[:, None],
        regret.records("reward")[1],
        regret.epoch_regret,
    )


def last_clicks(observation: NDArray[Any], info: dict[str, Any]) -> NDArray[Any]:
    """The clicks of a step that ended episodes and reset them at once: those rows' clicks are in ``final_obs``."""
    clicks = observation.copy()
    for row in np.flatnonzero(info["_final_obs"]):
        clicks[row] = info["final_obs"][row]
    return clicks
