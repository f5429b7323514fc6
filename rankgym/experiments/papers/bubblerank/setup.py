"""What the figures of BubbleRank share: agents, environments, scales, and the spans of rounds that claims are about.

What claims mean in numbers, where the paper leaves it to the eye:

* growth: what the second half of the rounds adds, in units of what the first half adds. Linear: 0.8 to 1.25 (a line has
  1); learning: at most 0.8; learning quickly: at most 0.25 (a square root has 0.41, a logarithm 0.05 at 5 M rounds);
* to converge: in the last tenth of the rounds at most 1 % of the regret a round of the initial list;
* the earlier steps, and the start of an NDCG curve: the first 100, as in section 5.3;
* a published number: reproduced within 20 % of it; close: within 10 %; similar NDCG: within 0.02; good NDCG: at least
  0.8; close to that of Baseline, or never much worse: within 0.05; very low: at least 0.1 below it;
* about double, and an exponent 1: within a factor of 1.5; linear in |V_0|: of a parabola through the regrets, the
  slopes at the tenth of the lists with the fewest pairs and at the tenth with the most differ by at most that factor.
"""

import math
from typing import Any

from rankgym.experiments.papers.figure import Scale, check_scale, check_source, even_rounds
from rankgym.experiments.plan.sweep import Environment, Sweep

PAPER = "Li et al., BubbleRank: safe online learning to re-rank via implicit click feedback, UAI 2019"
MODELS = ("CM", "DCM", "PBM")
AGENTS = ("bubblerank", "cascade-kl-ucb", "batchrank", "toprank", "static")
SHUFFLING = ("batchrank", "toprank")
HORIZON = 5_000_000
VALUES = {"model": MODELS, "agent": SHUFFLING}  # of placeholders in the names of claims
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 1, "smoke": 1}
QUERIES: dict[
    str, dict[Scale, range]
] = {  # small: about 30, so that the horizon, which most claims need, takes minutes
    "published": {"full": range(60), "small": range(0, 60, 2), "smoke": range(6)},
    "calibrated": {"full": range(100), "small": range(0, 100, 3), "smoke": range(6)},
}

FEW = 100  # rounds: section 5.3 counts in these, and we take them for "earlier steps" of section 5.2
STILL = 0.8  # of what the first half of the rounds adds, added by the second: the border between linear and learning
LINEAR, LEARNING = (STILL, 1 / STILL), (-math.inf, STILL)

DATA = (
    "Queries: the 60 published ones with their fitted click models (or 100 that were calibrated to resemble them), "
    "not the paper's own 100. R_0 is the production order of their data; the paper took the most frequent list of each "
    "of its queries, so counts of violations and the level of Baseline can differ by some units. Regret is against R*, "
    "the list sorted by attraction, as in the paper; the DCM counts abandonment clicks. The agent static is Baseline."
)
SCALES_OF_RUNS = (
    " Scale full: 10 runs of each query, 5 M rounds, as in the paper; small: one run of every second "
    "query (of the calibrated every third), 5 M rounds; smoke: 6 queries, 1,000 rounds."
)


def rerank(model: str, source: str, label: str = "", **more: Any) -> Environment:
    """The paper's environment of one click model: K = L = 10, metrics at the first five positions, against R*."""
    kwargs = {"source": source, "reference": "sorted", **more}
    return Environment(label or model, f"rankgym/{model}-Yandex-Rerank-v0", kwargs)


def comparison(scale: Scale, source: str) -> Sweep:
    """What figures 1, 2 and 4 show: five agents in three click models."""
    rounds = ROUNDS[check_scale(scale)]
    return Sweep(
        environments=tuple(rerank(model, source) for model in MODELS),
        agents=AGENTS,
        rounds=rounds,
        runs=RUNS[scale],
        query=tuple(QUERIES[check_source(source)][scale]),
        record_at=even_rounds(rounds),
        name="BubbleRank, figures 1, 2 and 4",
    )
