"""BubbleRank, figure 2: violations of the safety constraint in the runs of figure 1."""

import math

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import NORMAL_99, SAME, Span
from rankgym.experiments.judge.claims import ABOVE_0, Claim, Finding
from rankgym.experiments.papers.bubblerank import setup
from rankgym.experiments.papers.bubblerank.setup import AGENTS, FEW, LINEAR, MODELS
from rankgym.experiments.papers.figure import Drawing, draw_models
from rankgym.experiments.run.results import Results

TITLE = "Violations of the safety constraint in the runs of figure 1"
SETTING = f"{setup.DATA}{setup.SCALES_OF_RUNS} The paper does not draw BubbleRank, which has no violations; we do."
SWEEP = setup.comparison
EARLY = Span("violations", rounds=FEW)
OFTEN = 20  # violations in the first 100 sessions: the paper's number (section 5.3, paragraph 2, sentence 4)
CLOSE = 0.1  # of a ratio: its distance from 1
PUBLISHED_VIOLATIONS = {  # mean violations in the first 100 steps, and their standard errors: section 5.3, paragraph 2
    "cascade-kl-ucb": {"CM": (24.12, 0.76), "DCM": (23.33, 0.90), "PBM": (23.63, 0.96)},
    "batchrank": {"CM": (83.01, 0.56), "DCM": (71.89, 0.92), "PBM": (59.63, 0.98)},
    "toprank": {"CM": (83.56, 0.70), "DCM": (71.47, 1.07), "PBM": (57.00, 1.24)},
}
SENTENCE = {"cascade-kl-ucb": 3, "batchrank": 7, "toprank": 8}


def all_violations(results: Results, model: str) -> Finding:
    """Count BubbleRank's violations in all rows and rounds."""
    played = results[model, "bubblerank"]
    count = float(played.measures["violations"][-1].sum())
    some = intervals.share(lambda violations: violations != 0, measures.units_of(played, Span("violations")))
    words = {"rows": len(played.row), "share": f"{some.high:.1%}", "method": some.method}
    return Finding(intervals.Estimate(count, count, count, "exact: counted, not estimated"), words)


def early_less_published(results: Results, model: str, agent: str, mean: float, error: float) -> Finding:
    """Estimate violations in the first 100 rounds minus the paper's; the interval has the sampling errors of both."""
    ours = measures.level(results, model, agent, EARLY)
    down, up = (math.hypot(ours.value - end, NORMAL_99 * error) for end in (ours.low, ours.high))
    value = ours.value - mean
    estimate = intervals.Estimate(value, value - down, value + up, f"{ours.method}, with the published standard error")
    words = {"ours": f"{ours.value:.2f}", "theirs": f"{mean:.2f} ± {error:.2f}"}
    return Finding(estimate, words, (-SAME * mean, SAME * mean))


EARLY_WORDS = f"violations in the first {FEW} rounds"

CLAIMS = {
    "bubblerank-never-{model}": Claim(
        "section 5.3, paragraph 2, sentence 2; paragraph 3, sentence 1; section 4.3, paragraph 4, sentence 4; figure 2",
        "{model}: BubbleRank never violates the safety constraint",
        "rounds that violated the constraint, of {rows} rows with {n} each",
        (all_violations, "{model}"),
        (0.0, 0.0),
        "so at most {share} of such queries have any ({method})",
    ),
    f"{{agent}}-first-{FEW}-{{model}}": Claim(
        "section 5.3, paragraph 2, sentence {sentence}; figure 2",
        f"{{model}}: {{agent}} violates it in {{mean}} ± {{error}} of the first {FEW} rounds",
        f"{EARLY_WORDS} ({{ours}}), less the published {{theirs}}",
        (early_less_published, "{model}", "{agent}", "{mean}", "{error}"),
        (-SAME, SAME),
        f"reproduced means within {SAME:.0%} of the published number; the paper's queries and lists R_0 are others",
        needs_rounds=0,
        cases=[
            {"model": model, "agent": agent, "sentence": SENTENCE[agent], "mean": mean, "error": error}
            for agent, numbers in PUBLISHED_VIOLATIONS.items()
            for model, (mean, error) in numbers.items()
        ],
    ),
    "kl-ucb-unsafe-{model}": Claim(
        "section 5.3, paragraph 2, sentence 4; paragraph 3, sentence 1; figure 2",
        f"{{model}}: CascadeKL-UCB may show unsafe lists in more than {OFTEN} % of the first {FEW} sessions",
        EARLY_WORDS,
        (measures.level, "{model}", "cascade-kl-ucb", EARLY),
        (OFTEN, math.inf),
        needs_rounds=0,
    ),
    "kl-ucb-violations-linear-pbm": Claim(
        "section 5.3, paragraph 2, sentence 5; figure 2",
        "PBM: CascadeKL-UCB goes on violating it at a constant rate",
        "violations in the second half of {n} rounds, in units of those in the first",
        (measures.second_half_growth, "PBM", "cascade-kl-ucb", "violations"),
        LINEAR,
    ),
    "{agent}-less-safe-than-kl-ucb-{model}": Claim(
        "section 5.3, paragraph 2, sentence 6; figure 2",
        "{model}: {agent} is less safe than CascadeKL-UCB",
        f"{EARLY_WORDS} of {{agent}}, less those of CascadeKL-UCB",
        (measures.difference, "{model}", "{agent}", "cascade-kl-ucb", EARLY),
        ABOVE_0,
        needs_rounds=0,
    ),
    "toprank-as-batchrank-{model}": Claim(
        "section 5.3, paragraph 2, sentence 9; figure 2",
        f"{{model}}: TopRank is about as safe as BatchRank in the first {FEW} rounds",
        f"{EARLY_WORDS} of TopRank, in units of BatchRank's",
        (measures.ratio, "{model}", "toprank", "batchrank", EARLY),
        (1 - CLOSE, 1 + CLOSE),
        needs_rounds=0,
    ),
    "{agent}-often-unsafe-{model}": Claim(
        "section 5.3, paragraph 2, sentence 10; paragraph 3, sentence 1; figure 2",
        "{model}: early on {agent} often displays unsafe lists",
        f"{EARLY_WORDS} (often: more than the {OFTEN} of sentence 4)",
        (measures.level, "{model}", "{agent}", EARLY),
        (OFTEN, math.inf),
        needs_rounds=0,
    ),
}


def draw(results: Results) -> Drawing:
    shown, ylabel = dict.fromkeys(MODELS, AGENTS[:-1]), "violations of the safety constraint"
    return draw_models(results, shown, "violations", ylabel=ylabel, xscale="log", yscale="symlog")
