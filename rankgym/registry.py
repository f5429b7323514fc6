"""The table of environments, and the loop that registers it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

__all__ = ["ENVS", "register_all"]

RANKING = ("rankgym.envs:single_ranking", "rankgym.envs:RankingVectorEnv")  # single and vector entry points
BREAKPOINT = ("rankgym.envs:single_breakpoint", "rankgym.envs:vector_breakpoint")
DUELING = ("rankgym.envs:single_dueling", "rankgym.envs:DuelingVectorEnv")
RANKERS = ("rankgym.envs:single_interleaved_rankers", "rankgym.envs:InterleavedRankersVectorEnv")
RANKINGS = ("rankgym.envs:single_interleaved_rankings", "rankgym.envs:InterleavedRankingsVectorEnv")

# BubbleRank, section 5.4: query i - 1 has chi = 0.5^i at the last two positions; the best item starts at the very last.
WEAK_TAIL: dict[str, Any] = {
    "attraction": [0.9, *[0.5] * 9],
    "examination": [[*[0.9] * 8, 0.5**i, 0.5**i] for i in (1, 2, 3, 4, 5)],
}

RERANK: dict[str, Any] = {"dataset": "yandex", "num_positions": 10, "cutoff": 5}

# Li and de Rijke, section 5: in every other epoch of 10,000 rounds three suboptimal items jump to 0.9.
JUMP: dict[str, Any] = {"dataset": "yandex", "num_positions": 3, "scenario": "jump"}
TWO_LEVEL: dict[str, Any] = {"dataset": "synthetic", "num_positions": 5, "scenario": "two-level", "p": 0.5, "gap": 0.2}

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
    "rankgym/DBN-Yandex-v0": (
        RANKING,
        {"model": "DBN", "dataset": "yandex", "num_positions": 5},
        "dynamic Bayesian network model, 10 items, 5 positions, expected clicks",
    ),
    "rankgym/UBM-Yandex-v0": (
        RANKING,
        {"model": "UBM", "dataset": "yandex", "num_positions": 5},
        "user browsing model, 10 items, 5 positions, expected clicks",
    ),
    "rankgym/CCM-Yandex-v0": (
        RANKING,
        {"model": "CCM", "dataset": "yandex", "num_positions": 5},
        "click chain model, 10 items, 5 positions, expected clicks",
    ),
    "rankgym/DBM-Yandex-v0": (
        RANKING,
        {"model": "DBM", "dataset": "yandex", "num_positions": 5},
        "document-based model with the PBM's attraction, 10 items, 5 positions, expected clicks",
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
    "rankgym/DBN-Synthetic-v0": (
        RANKING,
        {"model": "DBN", "dataset": "synthetic", "num_positions": 5},
        "dynamic Bayesian network model with parameters from the caller, or drawn",
    ),
    "rankgym/UBM-Synthetic-v0": (
        RANKING,
        {"model": "UBM", "dataset": "synthetic", "num_positions": 5},
        "user browsing model with parameters from the caller, or drawn",
    ),
    "rankgym/CCM-Synthetic-v0": (
        RANKING,
        {"model": "CCM", "dataset": "synthetic", "num_positions": 5},
        "click chain model with parameters from the caller, or drawn",
    ),
    "rankgym/DBM-Synthetic-v0": (
        RANKING,
        {"model": "DBM", "dataset": "synthetic", "num_positions": 5},
        "document-based model with parameters from the caller, or drawn",
    ),
    "rankgym/CM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "CM", **JUMP},
        "cascade model, 10 items, 3 positions, three items jump in every other epoch (Li and de Rijke section 5)",
    ),
    "rankgym/PBM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "PBM", **JUMP},
        "position-based model, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/DCM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "DCM", **JUMP},
        "dependent click model, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/DBN-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "DBN", **JUMP},
        "dynamic Bayesian network, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/UBM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "UBM", **JUMP},
        "user browsing model, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/CCM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "CCM", **JUMP},
        "click chain model, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/DBM-Yandex-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "DBM", **JUMP},
        "document-based model, 10 items, 3 positions, three items jump in every other epoch",
    ),
    "rankgym/CM-TwoLevel-Breakpoint-v0": (
        BREAKPOINT,
        {"model": "CM", **TWO_LEVEL},
        "cascade model, the lower-bound problem: in each epoch other items are best (Li and de Rijke section 4.2)",
    ),
    "rankgym/Dueling-MSLR-v0": (
        DUELING,
        {"dataset": "mslr", "user_model": "navigational"},  # all of the paper's experiments but that of its section 6.4
        "duels of 136 feature rankers, navigational users (mergeRUCB section 5), calibrated, or published once fetched",
    ),
    "rankgym/Dueling-Arxiv-v0": (
        DUELING,
        {"dataset": "arxiv"},
        "duels of 6 retrieval functions of arXiv's search (Yue and Joachims 2011)",
    ),
    "rankgym/Dueling-Cyclic-v0": (
        DUELING,
        {"dataset": "cyclic"},
        "duels of 4 arms: a winner by little, and three that beat each other in a circle by much",
    ),
    "rankgym/Dueling-Arithmetic-v0": (
        DUELING,
        {"dataset": "arithmetic"},
        "duels of 8 arms in a total order, neighbours .05 apart",
    ),
    "rankgym/Dueling-Synthetic-v0": (
        DUELING,
        {"dataset": "synthetic"},
        "duels by preference matrices from the caller, or drawn from a family",
    ),
    "rankgym/Dueling-LETOR-v0": (
        RANKERS,
        {},
        "duels of the feature rankers of a LETOR file by interleaving and clicks (mergeRUCB section 5); needs file=",
    ),
    "rankgym/Dueling-CM-Yandex-v0": (
        RANKINGS,
        {"model": "CM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, cascade model, 10 items, 5 positions",
    ),
    "rankgym/Dueling-PBM-Yandex-v0": (
        RANKINGS,
        {"model": "PBM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, position-based model, 10 items, 5 positions",
    ),
    "rankgym/Dueling-DCM-Yandex-v0": (
        RANKINGS,
        {"model": "DCM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, dependent click model, 10 items, 5 positions",
    ),
    "rankgym/Dueling-DBN-Yandex-v0": (
        RANKINGS,
        {"model": "DBN", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, dynamic Bayesian network, 10 items, 5 positions",
    ),
    "rankgym/Dueling-UBM-Yandex-v0": (
        RANKINGS,
        {"model": "UBM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, user browsing model, 10 items, 5 positions",
    ),
    "rankgym/Dueling-CCM-Yandex-v0": (
        RANKINGS,
        {"model": "CCM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, click chain model, 10 items, 5 positions",
    ),
    "rankgym/Dueling-DBM-Yandex-v0": (
        RANKINGS,
        {"model": "DBM", "dataset": "yandex", "num_positions": 5},
        "duels of rankings by interleaving and clicks, document-based model, 10 items, 5 positions",
    ),
}


def register_all() -> None:
    """Register every id of ``ENVS`` with Gymnasium."""
    for name, ((single, vector), arguments, _) in ENVS.items():
        gym.register(name, entry_point=single, vector_entry_point=vector, kwargs=arguments)
