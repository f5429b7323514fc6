"""The environments: ranking, with breakpoints, dueling and interleaved. Vector environments are the engine.

``SingleEnv`` makes a ``gym.Env`` of a batch of one. May import models, data, interleaving, spaces, metrics and below.
"""

from __future__ import annotations

from typing import Any

from rankgym.envs.breakpoint import vector_breakpoint
from rankgym.envs.dueling import DuelingVectorEnv
from rankgym.envs.interleaved_rankers import InterleavedRankersVectorEnv
from rankgym.envs.interleaved_rankings import InterleavedRankingsVectorEnv
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.schedule import Schedule
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

ONE_ROW: dict[str, Any] = {"num_envs": 1, "autoreset_mode": "Disabled"}


def single_ranking(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the ranking environments."""
    return SingleEnv(RankingVectorEnv(**ONE_ROW, **arguments))


def single_breakpoint(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the non-stationary ranking environments."""
    return SingleEnv(vector_breakpoint(**ONE_ROW, **arguments))


def single_dueling(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the dueling environments."""
    return SingleEnv(DuelingVectorEnv(**ONE_ROW, **arguments))


def single_interleaved_rankers(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the dueling environments on a LETOR file."""
    return SingleEnv(InterleavedRankersVectorEnv(**ONE_ROW, **arguments))


def single_interleaved_rankings(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the environments of dueling rankings."""
    return SingleEnv(InterleavedRankingsVectorEnv(**ONE_ROW, **arguments))
