"""The table of environments, and the loop that registers it."""

from typing import Any

Entry = tuple[tuple[str, str], dict[str, Any], str]  # (single and vector entry points, keyword arguments, what it is)

RANKING = ("rankgym.envs:single_ranking", "rankgym.envs:RankingVectorEnv")
BREAKPOINT = ("rankgym.envs:single_breakpoint", "rankgym.envs:vector_breakpoint")
DUELING = ("rankgym.envs:single_dueling", "rankgym.envs:DuelingVectorEnv")
RANKERS = ("rankgym.envs:single_interleaved_rankers", "rankgym.envs:InterleavedRankersVectorEnv")
RANKINGS = ("rankgym.envs:single_interleaved_rankings", "rankgym.envs:InterleavedRankingsVectorEnv")

YANDEX: dict[str, Any] = {"dataset": "yandex"}  # 5 positions, or as many as imported fits have
SYNTHETIC: dict[str, Any] = {"dataset": "synthetic", "num_positions": 5}
RERANK: dict[str, Any] = {"dataset": "yandex", "num_positions": 10, "cutoff": 5}
# BubbleRank, section 5.4: query i - 1 has chi = 0.5^i at the last two positions; the best item starts at the very last.
WEAK_TAIL: dict[str, Any] = {
    "dataset": "synthetic",
    "num_positions": 10,
    "parameters": {
        "attraction": [0.9, *[0.5] * 9],
        "examination": [[*[0.9] * 8, 0.5**i, 0.5**i] for i in (1, 2, 3, 4, 5)],
    },
    "initial_list": [*range(1, 10), 0],
}
# Li and de Rijke, section 5: in every other epoch of 10,000 rounds three suboptimal items jump to 0.9.
JUMP: dict[str, Any] = {"dataset": "yandex", "num_positions": 3, "scenario": "jump"}
TWO_LEVEL: dict[str, Any] = {"dataset": "synthetic", "num_positions": 5, "scenario": "two-level", "p": 0.5, "gap": 0.2}


CLICK_MODELS = {
    "CM": "cascade model",
    "PBM": "position-based model",
    "DCM": "dependent click model",
    "DBN": "dynamic Bayesian network model",
    "UBM": "user browsing model",
    "CCM": "click chain model",
    "DBM": "document-based model",
}


def _of_each_model(
    name: str, entry: tuple[str, str], arguments: dict[str, Any], text: str, notes: dict[str, str]
) -> dict[str, Entry]:
    """Return one entry a click model: {} in ``name`` and ``text`` is the model; ``notes`` continue some texts."""
    return {
        name.format(model): (entry, {"model": model, **arguments}, text.format(words) + notes.get(model, ""))
        for model, words in CLICK_MODELS.items()
    }


ENVS: dict[str, Entry] = {
    **_of_each_model(
        "rankgym/{}-Yandex-v0",
        RANKING,
        YANDEX,
        "{}, 10 items, 5 positions, expected clicks",
        dict.fromkeys(("CM", "PBM"), " (TopRank section 6)") | {"DBM": ", with the PBM's attraction"},
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
        {"model": "PBM", **WEAK_TAIL},
        "position-based model with a rarely examined tail (BubbleRank section 5.4)",
    ),
    **_of_each_model("rankgym/{}-Synthetic-v0", RANKING, SYNTHETIC, "{} with parameters from the caller, or drawn", {}),
    **_of_each_model(
        "rankgym/{}-Yandex-Breakpoint-v0",
        BREAKPOINT,
        JUMP,
        "{}, 10 items, 3 positions, three items jump in every other epoch",
        {"CM": " (Li and de Rijke section 5)"},
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
    **_of_each_model(
        "rankgym/Dueling-{}-Yandex-v0",
        RANKINGS,
        YANDEX,
        "duels of rankings by interleaving and clicks, {}, 10 items, 5 positions",
        {},
    ),
}


def register_all() -> None:
    """Register every id of ``ENVS`` with Gymnasium."""
    import gymnasium as gym  # here, so that shells complete names without it

    for name, ((single, vector), arguments, _) in ENVS.items():
        gym.register(name, entry_point=single, vector_entry_point=vector, kwargs=arguments)
