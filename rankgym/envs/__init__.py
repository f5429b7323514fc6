"""Environments. The native vector environments are the engines; ``single`` makes a ``gym.Env`` of a batch of one."""

from __future__ import annotations

from typing import Any

from rankgym.envs.breakpoint import BreakpointVectorEnv
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.single import SingleEnv

__all__ = ["BreakpointVectorEnv", "RankingVectorEnv", "SingleEnv", "single_breakpoint", "single_ranking"]


def single_ranking(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the ranking environments."""
    return SingleEnv(RankingVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))


def single_breakpoint(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the non-stationary ranking environments."""
    return SingleEnv(BreakpointVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))
