"""What the figures of BubbleRank share: agents, environments, scales, and where regret is called linear."""

import math
from typing import Any

from rankgym.experiments.papers.figure import Scale, even_rounds
from rankgym.experiments.plan.sweep import Environment, Sweep

PAPER = "Li et al., BubbleRank: safe online learning to re-rank via implicit click feedback, UAI 2019"
MODELS = ("CM", "DCM", "PBM")
AGENTS = ("bubblerank", "cascade-kl-ucb", "batchrank", "toprank", "static")
SHUFFLING = ("batchrank", "toprank")
HORIZON = 5_000_000
VALUES = {"model": MODELS, "agent": SHUFFLING}  # of placeholders in the names of claims
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 1, "smoke": 1}
# small: about 30 queries, so that the horizon, which most claims need, takes minutes
QUERIES: dict[str, dict[Scale, range]] = {
    "published": {"full": range(60), "small": range(0, 60, 2), "smoke": range(6)},
    "calibrated": {"full": range(100), "small": range(0, 100, 3), "smoke": range(6)},
}

FEW = 100  # rounds: section 5.3 counts violations in these; our reading of "earlier steps" in section 5.2
# What the second half of the rounds adds, divided by what the first half adds; a line has 1.
LINEAR, LEARNING = (0.8, 1 / 0.8), (-math.inf, 0.8)

DATA = (
    "Queries: the 60 published ones with their fitted click models (or 100 calibrated to resemble them), not the "
    "paper's own 100. R_0 is the production order of these data; the paper took the most frequent list of each of its "
    "queries, so the number of violations and the level of Baseline may differ by some units. Regret is against R*, "
    "the list sorted by attraction, as in the paper; the DCM counts abandonment clicks. The agent static is Baseline."
)
SCALES_OF_RUNS = (
    " Scale full: 10 runs of each query, 5 M rounds, as in the paper; small: one run of every second query (every "
    "third calibrated one), 5 M rounds; smoke: 6 queries, 1,000 rounds."
)


def rerank(model: str, source: str, label: str = "", **more: Any) -> Environment:
    """Return the paper's environment of a click model: K = L = 10, metrics at the first five positions, against R*."""
    kwargs = {"source": source, "reference": "sorted", **more}
    return Environment(label or model, f"rankgym/{model}-Yandex-Rerank-v0", kwargs)


def comparison(scale: Scale, source: str) -> Sweep:
    """Return the sweep of figures 1, 2 and 4: five agents in three click models."""
    return Sweep(
        environments=tuple(rerank(model, source) for model in MODELS),
        agents=AGENTS,
        rounds=ROUNDS[scale],
        runs=RUNS[scale],
        query=tuple(QUERIES[source][scale]),
        record_at=even_rounds(ROUNDS[scale]),
        name="BubbleRank, figures 1, 2 and 4",
    )
