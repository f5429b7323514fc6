"""The table of environments, and the loop that registers it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

__all__ = ["ENVS", "register_all"]

RANKING = ("rankgym.envs:single_ranking", "rankgym.envs:RankingVectorEnv")  # single and vector entry points

# BubbleRank, section 5.4: query i - 1 has chi = 0.5^i at the last two positions; the best item starts at the very last.
WEAK_TAIL: dict[str, Any] = {
    "attraction": [0.9, *[0.5] * 9],
    "examination": [[*[0.9] * 8, 0.5**i, 0.5**i] for i in (1, 2, 3, 4, 5)],
}

RERANK: dict[str, Any] = {"dataset": "yandex", "num_positions": 10, "cutoff": 5}

ENVS: dict[str, tuple[tuple[str, str], dict[str, Any], str]] = {
    # id: (entry points, keyword arguments, what it is)
    "rankgym/CM-Yandex-v0": (
        RANKING,
        {"model": "CM", "dataset": "yandex", "num_positions": 5},
        "cascade model, 10 items, 5 positions, expected clicks (TopRank section 6)",
    ),
    "rankgym/PBM-Yandex-v0": (
        RANKING,
        {"model": "PBM", "dataset": "yandex", "num_positions": 5},
        "position-based model, 10 items, 5 positions, expected clicks (TopRank section 6)",
    ),
    "rankgym/DCM-Yandex-v0": (
        RANKING,
        {"model": "DCM", "dataset": "yandex", "num_positions": 5},
        "dependent click model, 10 items, 5 positions, expected clicks",
    ),
    "rankgym/CM-Yandex-Rerank-v0": (
        RANKING,
        {"model": "CM", **RERANK},
        "cascade model, 10 items re-ranked, metrics at the first 5 (BubbleRank section 5)",
    ),
    "rankgym/PBM-Yandex-Rerank-v0": (
        RANKING,
        {"model": "PBM", **RERANK},
        "position-based model, 10 items re-ranked, metrics at the first 5 (BubbleRank section 5)",
    ),
    "rankgym/DCM-Yandex-Rerank-v0": (
        RANKING,
        {"model": "DCM", **RERANK, "reward": "abandonment"},
        "dependent click model, 10 items re-ranked, abandonment clicks at the first 5 (BubbleRank section 5)",
    ),
    "rankgym/PBM-WeakTail-Rerank-v0": (
        RANKING,
        {
            "model": "PBM",
            "dataset": "synthetic",
            "num_positions": 10,
            "parameters": WEAK_TAIL,
            "initial_list": [*range(1, 10), 0],
        },
        "position-based model with a rarely examined tail (BubbleRank section 5.4)",
    ),
    "rankgym/CM-Synthetic-v0": (
        RANKING,
        {"model": "CM", "dataset": "synthetic", "num_positions": 5},
        "cascade model with parameters from the caller, or drawn",
    ),
    "rankgym/PBM-Synthetic-v0": (
        RANKING,
        {"model": "PBM", "dataset": "synthetic", "num_positions": 5},
        "position-based model with parameters from the caller, or drawn",
    ),
    "rankgym/DCM-Synthetic-v0": (
        RANKING,
        {"model": "DCM", "dataset": "synthetic", "num_positions": 5},
        "dependent click model with parameters from the caller, or drawn",
    ),
}


def register_all() -> None:
    """Register every id of ``ENVS`` with Gymnasium."""
    for name, ((single, vector), arguments, _) in ENVS.items():
        gym.register(name, entry_point=single, vector_entry_point=vector, kwargs=arguments)
