"""TopRank, figure 4: regret on average over queries."""

import math

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import last_round, units_of
from rankgym.experiments.judge.claims import ABOVE_0, Claim, Finding
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.judge.units import curves
from rankgym.experiments.papers.figure import Drawing, draw_models
from rankgym.experiments.papers.toprank import setup
from rankgym.experiments.papers.toprank.setup import AGENTS, CROSSED, READINGS
from rankgym.experiments.run.results import Results

TITLE = "Regret of TopRank, CascadeKL-UCB and BatchRank in the CM and PBM"
SETTING = setup.DATA
SWEEP = setup.comparison
FACTOR = 1.5  # "about three times" means within this factor of 3


def late_lead(results: Results, model: str, one: str, other: str) -> Finding:
    """Estimate the least difference of mean regrets from 4 M rounds on; the note says where the curves cross."""
    played, against = results[model, one], results[model, other]
    late = played.rounds >= min(CROSSED, last_round(played))
    units = curves(played), curves(against)
    least = intervals.of_means(lambda mine, others: (mine - others)[..., late].min(axis=-1), *units)
    crossed = intervals.crossing(played, against)
    note = "CascadeKL-UCB's mean regret is not above TopRank's at the end"
    if math.isfinite(crossed.value):
        since, ends = f"{crossed.value:,.0f}", f"{crossed.low:,.0f} .. {crossed.high:,.0f}"
        note = f"CascadeKL-UCB's mean regret is above TopRank's from about round {since} on (interval {ends})"
    return Finding(least, {"crossing": note})


def share_saved(results: Results, model: str, one: str, other: str) -> intervals.Estimate:
    """Estimate the share of the regret of ``other`` that ``one`` does not have."""
    units = (units_of(results[model, agent]) for agent in (one, other))
    return intervals.of_means(lambda mine, others: 1 - mine / others, *units)


def lead_in_both(results: Results, agent: str) -> intervals.Estimate:
    """Estimate how much less regret than CascadeKL-UCB TopRank has in the PBM, minus how much more in the CM."""
    places = ("PBM", agent), ("PBM", "toprank"), ("CM", "cascade-kl-ucb"), ("CM", "toprank")
    return intervals.of_means(
        lambda pbm_kl, pbm_top, cm_kl, cm_top: (pbm_kl - pbm_top) - (cm_top - cm_kl),
        *(units_of(results[place]) for place in places),
    )


CLAIMS = {
    "{name}-cm": Claim(
        "section 6, paragraph 3, sentence 3; figure 4",
        "CM: {other}'s regret is about a third of {one}'s",
        f"{{one}}'s regret after {{n}} rounds, in units of {{other}}'s (about three: within a factor of {FACTOR})",
        (measures.ratio, "CM", "{one}", "{other}"),
        (3 / FACTOR, 3 * FACTOR),
        cases=[
            {"name": "kl-ucb-a-third-of-toprank", "one": "toprank", "other": "cascade-kl-ucb"},
            {"name": "toprank-a-third-of-batchrank", "one": "batchrank", "other": "toprank"},
        ],
    ),
    "kl-ucb-improves-over-toprank-cm": Claim(
        "section 6, paragraph 3, sentences 2 and 3; figure 4",
        "CM: on average over the queries, too, CascadeKL-UCB has less regret than TopRank",
        "TopRank's regret after {n} rounds, less CascadeKL-UCB's",
        (measures.difference, "CM", "toprank", "cascade-kl-ucb"),
        ABOVE_0,
    ),
    "kl-ucb-above-toprank-from-4m-pbm-{click}-click": Claim(
        "section 6, paragraph 3, sentence 4; figure 4",
        "PBM, CascadeKL-UCB learning down to the {click} click: after 4 M rounds it has more regret than TopRank",
        f"least difference of mean regrets, {counted(CROSSED)} to {{n}} rounds, CascadeKL-UCB less TopRank",
        (late_lead, "PBM", "{agent}", "toprank"),
        ABOVE_0,
        "{crossing}",
        cases=READINGS,
    ),
    "toprank-30-percent-below-batchrank-pbm": Claim(
        "section 6, paragraph 3, sentence 5; figure 4",
        "PBM: TopRank's regret is about 30 % lower than BatchRank's",
        "by what share of BatchRank's regret after {n} rounds TopRank's is lower (about 30 %: 15 to 45 %)",
        (share_saved, "PBM", "toprank", "batchrank"),
        (0.15, 0.45),
    ),
    "toprank-improves-over-batchrank-{model}": Claim(
        "section 6, paragraph 3, sentence 6; sentence 2; abstract, sentence 5; section 1, paragraph 4, sentence 6; "
        "figure 4",
        "{model}: TopRank's regret is lower than BatchRank's",
        "BatchRank's regret after {n} rounds, less TopRank's",
        (measures.difference, "{model}", "batchrank", "toprank"),
        ABOVE_0,
    ),
    "toprank-robust-{click}-click": Claim(
        "section 6, paragraph 3, sentence 7; figure 4",
        "What TopRank loses to CascadeKL-UCB (learning down to the {click} click) in the CM it wins in the PBM",
        "CascadeKL-UCB's regret after {n} rounds, less TopRank's, PBM and CM together",
        (lead_in_both, "{agent}"),
        ABOVE_0,
        "to offset is read as: at that time the two models together cost TopRank less; the later, the easier",
        cases=READINGS,
    ),
}


def draw(results: Results) -> Drawing:
    return draw_models(results, AGENTS, ylabel="regret")
