"""Environments. The native vector environments are the engines; ``single`` makes a ``gym.Env`` of a batch of one."""

from __future__ import annotations

from typing import Any

from rankgym.envs.ranking import RankingVectorEnv
from rankgym.envs.single import SingleEnv

__all__ = ["RankingVectorEnv", "SingleEnv", "single_ranking"]


def single_ranking(**arguments: Any) -> SingleEnv:
    """``gym.make``'s entry point of the ranking environments."""
    return SingleEnv(RankingVectorEnv(num_envs=1, autoreset_mode="Disabled", **arguments))
