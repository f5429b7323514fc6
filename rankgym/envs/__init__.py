"""Environments. The native vector environments are the engines; ``single`` makes a ``gym.Env`` of a batch of one."""

from __future__ import annotations

from typing import Any

from rankgym.envs.breakpoint import BreakpointVectorEnv
from rankgym.envs.dueling import DuelingVectorEnv
from rankgym.envs.interleaved import InterleavedRankersVectorEnv, InterleavedRankingsVectorEnv
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.single import SingleEnv

__all__ = [
    "BreakpointVectorEnv",
    "DuelingVectorEnv",
    "InterleavedRankersVectorEnv",
    "InterleavedRankingsVectorEnv",
    "RankingVectorEnv",
    "SingleEnv",
    "single_breakpoint",
    "single_dueling",
    "single_interleaved_rankers",
    "single_interleaved_rankings",
    "single_ranking",
]


def single_ranking(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the ranking environments."""
    return SingleEnv(RankingVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))


def single_breakpoint(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the non-stationary ranking environments."""
    return SingleEnv(BreakpointVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))


def single_dueling(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the dueling environments."""
    return SingleEnv(DuelingVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))


def single_interleaved_rankers(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the dueling environments on a LETOR file."""
    return SingleEnv(InterleavedRankersVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))


def single_interleaved_rankings(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the environments of dueling rankings."""
    return SingleEnv(InterleavedRankingsVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))
