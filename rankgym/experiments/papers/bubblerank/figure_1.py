"""BubbleRank, figure 1: regret of five agents in three click models."""

import math

import numpy as np

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import REGRET, SECOND_HALF, Span
from rankgym.experiments.judge.claims import ABOVE_0, AGENT_NAMES, BELOW_0, Claim, Finding
from rankgym.experiments.papers.bubblerank import setup
from rankgym.experiments.papers.bubblerank.setup import AGENTS, FEW, LEARNING, LINEAR, MODELS
from rankgym.experiments.papers.figure import Drawing, draw_models
from rankgym.experiments.run.results import Results

TITLE = "Regret of BubbleRank, CascadeKL-UCB, BatchRank, TopRank and Baseline in the CM, DCM and PBM"
SETTING = setup.DATA + setup.SCALES_OF_RUNS
SWEEP = setup.comparison
QUICK = (-math.inf, 0.25)  # as LEARNING; a square root has 0.41, a logarithm 0.05 at 5 M rounds
CONVERGED = 0.01  # of Baseline's regret a round, in the last tenth of the rounds


def second_best(results: Results, model: str) -> intervals.Estimate:
    """Estimate the second smallest regret of a round in the last tenth, in units of Baseline's."""
    units = (measures.units_of(results[model, agent], Span(start=0.9)) for agent in AGENTS)
    return intervals.of_means(lambda *means: np.sort(means[:-1], axis=0)[1] / means[-1], *units)


def lead(results: Results, model: str, agent: str, span: Span) -> Finding:
    """Estimate BubbleRank's regret minus that of ``agent``; the note says where their mean curves cross."""
    crossed = intervals.crossing(results[model, "bubblerank"], results[model, agent]).value
    since = f"above that of {AGENT_NAMES[agent]} from about round {crossed:,.0f} on"
    never = f"not above that of {AGENT_NAMES[agent]} at the end"
    note = f"the mean regret of BubbleRank is {since if math.isfinite(crossed) else never}"
    return Finding(measures.difference(results, model, "bubblerank", agent, span), {"crossing": note})


HALVES = "regret in the second half of {n} rounds, in units of that in the first"
# Places where the paper says the same again of some agents.
CAN_LEARN = "section 5.1, paragraph 6, sentence 4; "
SLOWER_THAN_ALL = "section 5.3, paragraph 1, sentence 1"
SLOWER = f"section 5.2, paragraph 2, sentence 9; {SLOWER_THAN_ALL}; section 5.3, paragraph 3, sentence 2"
BUT_LINEAR = "the sentence speaks of all three models, but section 5.2 says that CascadeKL-UCB's regret is linear here"

CLAIMS = {
    "two-converge-{model}": Claim(
        "section 5.1, paragraph 6, sentence 6; figure 1",
        "{model}: after 5 M rounds at least two algorithms display the best list",
        "second smallest regret a round in the last tenth of {n} rounds, in units of Baseline's",
        (second_best, "{model}"),
        (-math.inf, CONVERGED),
    ),
    "baseline-linear-{model}": Claim(
        "section 5.2, paragraph 2, sentence 2; figure 1",
        "{model}: Baseline's regret is linear in time",
        HALVES,
        (measures.second_half_growth, "{model}", "static"),
        LINEAR,
        needs_rounds=0,
    ),
    "baseline-not-optimal-{model}": Claim(
        "section 5.2, paragraph 2, sentence 2; figure 1",
        "{model}: Baseline's list is not the best one on average over queries",
        "Baseline's regret after {n} rounds",
        (measures.level, "{model}", "static"),
        ABOVE_0,
        needs_rounds=0,
    ),
    "kl-ucb-learns-quickly-{model}": Claim(
        "section 5.2, paragraph 2, sentence 3; {also}figure 1",
        "{model}: CascadeKL-UCB learns the best list quickly",
        HALVES,
        (measures.second_half_growth, "{model}", "cascade-kl-ucb"),
        QUICK,
        cases=[{"model": "CM", "also": "section 5.1, paragraph 6, sentence 2; "}, {"model": "DCM", "also": ""}],
    ),
    "kl-ucb-linear-pbm": Claim(
        "section 5.2, paragraph 2, sentence 3; section 5.1, paragraph 6, sentence 2; figure 1",
        "PBM: the regret of CascadeKL-UCB is linear",
        HALVES,
        (measures.second_half_growth, "PBM", "cascade-kl-ucb"),
        LINEAR,
    ),
    "{agent}-learns-{model}": Claim(
        "section 5.2, paragraph 2, sentence 6; {also}figure 1",
        "{model}: {agent} can learn: its regret grows less than linearly",
        HALVES,
        (measures.second_half_growth, "{model}", "{agent}"),
        LEARNING,
        cases=[
            {"model": model, "agent": agent, "also": also}
            for model in MODELS
            for agent, also in (("bubblerank", ""), ("batchrank", CAN_LEARN), ("toprank", CAN_LEARN))
        ],
    ),
    "bubblerank-above-{agent}-{model}": Claim(
        "section 5.2, paragraph 2, sentence 7; figure 1",
        "{model}: after 5 M rounds BubbleRank has more regret than {agent}",
        "regret of BubbleRank after {n} rounds, less that of {agent}",
        (lead, "{model}", "{agent}", REGRET),
        ABOVE_0,
        "{crossing}",
    ),
    "bubblerank-first-below-{agent}-{model}": Claim(
        "section 5.2, paragraph 2, sentence 8; section 5.1, paragraph 6, sentence 5; figure 1",
        "{model}: in earlier rounds BubbleRank has less regret than {agent}",
        f"regret of BubbleRank after {FEW} rounds, less that of {{agent}}",
        (lead, "{model}", "{agent}", Span(rounds=FEW)),
        BELOW_0,
        "{crossing}",
        needs_rounds=0,
    ),
    "bubblerank-slower-than-{agent}-{model}": Claim(
        "{where}; figure 1",
        "{model}: BubbleRank converges to the best list more slowly than {agent}",
        "regret of BubbleRank in the second half of {n} rounds, less that of {agent}",
        (measures.difference, "{model}", "bubblerank", "{agent}", SECOND_HALF),
        ABOVE_0,
        "{note}",
        cases=[
            {"model": model, "agent": agent, "where": where, "note": note if model == "PBM" else ""}
            for model in MODELS
            for agent, where, note in (
                ("cascade-kl-ucb", SLOWER_THAN_ALL, BUT_LINEAR),
                ("batchrank", SLOWER, ""),
                ("toprank", SLOWER, ""),
            )
        ],
    ),
}


def draw(results: Results) -> Drawing:
    return draw_models(results, dict.fromkeys(MODELS, AGENTS), ylabel="regret", xscale="log", yscale="log")
