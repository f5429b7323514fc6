"""BubbleRank, figure 4: NDCG@5 of a round in the runs of figure 1."""

import math
from typing import Any

import numpy as np

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import Span
from rankgym.experiments.judge.claims import ABOVE_0, Claim
from rankgym.experiments.judge.units import curves
from rankgym.experiments.papers.bubblerank import setup
from rankgym.experiments.papers.bubblerank.setup import FEW, MODELS
from rankgym.experiments.papers.figure import Drawing, draw_models
from rankgym.experiments.run.results import Results

TITLE = "NDCG@5 of a round of BubbleRank, BatchRank, TopRank and Baseline in the runs of figure 1"
SETTING = f"{setup.DATA}{setup.SCALES_OF_RUNS} A round's NDCG@5 is the mean between two records, about 20 a decade."
SWEEP = setup.comparison
RANKERS = ("bubblerank", "batchrank", "toprank", "static")  # the paper leaves CascadeKL-UCB out
FIRST, LAST = Span("ndcg", rounds=FEW), Span("ndcg", start=0.9)
SIMILAR, GOOD, NEAR, LOW, PERFECT = 0.02, 0.8, 0.05, 0.1, 0.99  # our readings; each claim says its own


def distance_from_1(results: Results, model: str, agent: str) -> intervals.Estimate:
    """Estimate 1 minus the NDCG at the end."""
    return intervals.of_means(lambda quality: 1.0 - quality, measures.units_of(results[model, agent], LAST))


def least_lead(results: Results, model: str, one: str, other: str) -> intervals.Estimate:
    """Estimate the least NDCG of one agent minus another's, of the first 100 rounds and between later records."""
    late = results[model, one].rounds >= FEW
    rounds = results[model, one].rounds[late].astype(float)

    def least(mine: Any, others: Any) -> Any:
        sums = (mine - others)[..., late] * rounds  # of the difference, up to each record
        return (np.diff(sums, axis=-1, prepend=0.0) / np.diff(rounds, prepend=0.0)).min(axis=-1)

    return intervals.of_means(least, *(curves(results[model, agent], "ndcg") for agent in (one, other)))


FIRST_WORDS, LAST_WORDS = f"NDCG@5 of the first {FEW} rounds", "NDCG@5 in the last tenth of {n} rounds"
PAIRS = (("bubblerank", "batchrank"), ("bubblerank", "toprank"), ("batchrank", "toprank"))
CLAIMS = {
    "baseline-good-{model}": Claim(
        "appendix B, paragraph 3, sentence 1; figure 4",
        "{model}: Baseline's lists are good",
        f"NDCG@5 of Baseline (good: at least {GOOD})",
        (measures.level, "{model}", "static", LAST),
        (GOOD, 1.0),
        needs_rounds=0,
    ),
    "baseline-can-be-improved-{model}": Claim(
        "appendix B, paragraph 3, sentence 2; figure 4",
        "{model}: Baseline's lists could be better",
        "1 less the NDCG@5 of Baseline",
        (distance_from_1, "{model}", "static"),
        ABOVE_0,
        needs_rounds=0,
    ),
    "{one}-{other}-similar-{model}": Claim(
        "appendix B, paragraph 3, sentence 3; figure 4",
        "{model}: after 5 M rounds the lists of {one} are about as good as those of {other}",
        f"{LAST_WORDS}, {{one}} less {{other}} (similar: within {SIMILAR})",
        (measures.difference, "{model}", "{one}", "{other}", LAST),
        (-SIMILAR, SIMILAR),
        cases=[{"model": model, "one": one, "other": other} for model in MODELS for one, other in PAIRS],
    ),
    "bubblerank-starts-as-baseline-{model}": Claim(
        "appendix B, paragraph 3, sentence 4; figure 4",
        "{model}: at first BubbleRank's lists are about as good as Baseline's",
        f"{FIRST_WORDS}, BubbleRank less Baseline (close: within {NEAR})",
        (measures.difference, "{model}", "bubblerank", "static", FIRST),
        (-NEAR, NEAR),
        needs_rounds=0,
    ),
    "{agent}-starts-low-{model}": Claim(
        "appendix B, paragraph 3, sentence 4; figure 4",
        "{model}: at first {agent}'s lists are very bad by NDCG@5",
        f"{FIRST_WORDS}, {{agent}} less Baseline (very low: at least {LOW} below)",
        (measures.difference, "{model}", "{agent}", "static", FIRST),
        (-math.inf, -LOW),
        needs_rounds=0,
    ),
    "bubblerank-approaches-1-{model}": Claim(
        "appendix B, paragraph 4, sentence 2; section 5.3, paragraph 3, sentence 3; figure 4",
        "{model}: BubbleRank's NDCG@5 approaches 1",
        f"{LAST_WORDS}, BubbleRank (approaches 1: at least {PERFECT})",
        (measures.level, "{model}", "bubblerank", LAST),
        (PERFECT, 1.0),
    ),
    "bubblerank-never-much-worse-{model}": Claim(
        "appendix B, paragraph 4, sentence 3; figure 4",
        "{model}: BubbleRank's NDCG@5 is never much below Baseline's",
        f"least NDCG@5 of BubbleRank, less Baseline's, of the first {FEW} rounds and between later records up to "
        f"{{n}} rounds (much worse: more than {NEAR} below)",
        (least_lead, "{model}", "bubblerank", "static"),
        (-NEAR, math.inf),
    ),
}


def draw(results: Results) -> Drawing:
    shown, ylabel = dict.fromkeys(MODELS, RANKERS), "NDCG@5 of a round"
    return draw_models(results, shown, "ndcg", ylabel=ylabel, xscale="log", from_zero=False)
