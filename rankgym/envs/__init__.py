"""The environments: ranking, with breakpoints, dueling and interleaved. Vector environments are the engine.

``schedule.py`` says when users change and ``scenarios.py`` how; ``SingleEnv`` makes a ``gym.Env`` of a batch of one.
May import models, data, interleaving, spaces, metrics and below.
"""

from collections.abc import Callable
from typing import Any

from rankgym.envs.breakpoint import vector_breakpoint
from rankgym.envs.dueling import DuelingVectorEnv
from rankgym.envs.interleaved_rankers import InterleavedRankersVectorEnv
from rankgym.envs.interleaved_rankings import InterleavedRankingsVectorEnv
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.schedule import Schedule
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.envs.single import SingleEnv

__all__ = [
    "DuelingVectorEnv",
    "InterleavedRankersVectorEnv",
    "InterleavedRankingsVectorEnv",
    "RankingVectorEnv",
    "Schedule",
    "SingleEnv",
    "single_breakpoint",
    "single_dueling",
    "single_interleaved_rankers",
    "single_interleaved_rankings",
    "single_ranking",
    "vector_breakpoint",
]


def _single(vector: Callable[..., SessionsVectorEnv]) -> Callable[..., SingleEnv]:
    """Return ``gym.make``'s entry point of what ``vector`` makes."""

    def single(**arguments: Any) -> SingleEnv:
        for name in ("num_envs", "autoreset_mode"):
            if name in arguments:
                value = f"{name}={arguments[name]!r}"
                raise TypeError(
                    f"gym.make makes one environment and has no argument {name!r}; use gym.make_vec(..., {value})"
                )
        return SingleEnv(vector(num_envs=1, autoreset_mode="Disabled", **arguments))

    return single


single_ranking = _single(RankingVectorEnv)
single_breakpoint = _single(vector_breakpoint)
single_dueling = _single(DuelingVectorEnv)
single_interleaved_rankers = _single(InterleavedRankersVectorEnv)
single_interleaved_rankings = _single(InterleavedRankingsVectorEnv)
