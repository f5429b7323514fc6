"""TopRank, figure 3: regret in three problems. The paper's text speaks of all queries, and so do the claims."""

import math

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import claim_measures as measures
from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import FIRST_HALF, SECOND_HALF, Span, last_round, units_of
from rankgym.experiments.judge.claims import Claim, Finding
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.judge.units import Units
from rankgym.experiments.papers.figure import Drawing, select_queries
from rankgym.experiments.papers.toprank import setup
from rankgym.experiments.papers.toprank.setup import AGENTS, LAST, MILLION, READINGS
from rankgym.experiments.run.results import Played, Results

TITLE = "Regret of TopRank, CascadeKL-UCB and BatchRank in three problems"
SETTING = (
    f"{setup.DATA} The paper does not name its three problems. Here they are queries of the runs of figure 4: in the "
    "CM the one of TopRank's median regret; in the PBM, of the queries in which CascadeKL-UCB's regret (down to the "
    "last click) is not linear, and of those in which it is, the one of its median regret. Claims are about all "
    "queries, as is the text."
)
SWEEP = setup.comparison
STILL = 0.8  # linear: the second half of the rounds adds more than this share of what the first half adds
TWO_THIRDS, MANY, MOST, NEARLY_ALL = (2 / 3 - 0.2, 2 / 3 + 0.2), (1 / 3, 1.0), (0.5, 1.0), (0.9, 1.0)  # of the queries


def _halves(played: Played) -> tuple[Units, Units]:
    """Return the regret of each query in the first and in the second half of the rounds."""
    return units_of(played, FIRST_HALF), units_of(played, SECOND_HALF)


def is_linear(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether regret is linear, by what the two halves of the rounds add."""
    return np.asarray(second > STILL * first)


def share_learned(results: Results, model: str, agent: str) -> intervals.Estimate:
    """Estimate the share of the queries in which the agent's regret is not linear."""
    return intervals.share(lambda first, second: ~is_linear(first, second), *_halves(results[model, agent]))


def early_share_ahead(results: Results, model: str, one: str, other: str) -> Finding:
    """Of the queries where ``other`` has linear regret, estimate the share where ``one`` has less at 1 M rounds."""
    played = results[model, other]
    words = {"million": counted(min(MILLION, last_round(played)))}
    chosen = is_linear(*(units.values for units in _halves(played)))
    if not chosen.any():
        return Finding(intervals.Estimate(math.nan, math.nan, math.nan, "there is no such query"), words)
    both = (units_of(results[model, agent], Span(rounds=MILLION)) for agent in (one, other))
    linear = (units._replace(values=units.values[chosen], names=units.names[chosen]) for units in both)
    return Finding(intervals.share(lambda mine, others: mine < others, *linear), words)


CLAIMS = {
    "kl-ucb-beats-toprank-cm": Claim(
        "section 6, paragraph 2, sentence 6; figure 3",
        "CM: CascadeKL-UCB outperforms TopRank",
        "share of the queries in which CascadeKL-UCB has less regret than TopRank after {n} rounds (outperforms: more "
        "than half)",
        (measures.share_ahead, "CM", "cascade-kl-ucb", "toprank"),
        MOST,
    ),
    "toprank-beats-batchrank-cm": Claim(
        "section 6, paragraph 2, sentence 8; figure 3",
        "CM: TopRank consistently outperforms BatchRank",
        "share of the queries in which TopRank has less regret than BatchRank after {n} rounds (consistently: in 9 of "
        "10)",
        (measures.share_ahead, "CM", "toprank", "batchrank"),
        NEARLY_ALL,
    ),
    "kl-ucb-good-or-linear-pbm-{click}-click": Claim(
        "section 6, paragraph 2, sentence 9; figure 3",
        "PBM, CascadeKL-UCB learning down to the {click} click: it ends with very good lists for two queries in "
        "three or so; for the others its regret is linear",
        f"share of the queries in which the second half of {{n}} rounds adds at most {STILL} times what the first "
        "half adds",
        (share_learned, "PBM", "{agent}"),
        TWO_THIRDS,
        cases=READINGS,
    ),
    "toprank-beats-linear-kl-ucb-pbm-{click}-click": Claim(
        "section 6, paragraph 2, sentence 10; figure 3",
        "PBM, CascadeKL-UCB learning down to the {click} click: in many of the queries with linear regret TopRank "
        "has less after 1 M rounds",
        "share of the queries with linear regret in which TopRank has less after {million} rounds (many: at least "
        "a third)",
        (early_share_ahead, "PBM", "toprank", "{agent}"),
        MANY,
        cases=READINGS,
    ),
    "toprank-beats-batchrank-pbm": Claim(
        "section 6, paragraph 2, sentence 11; figure 3",
        "PBM: TopRank typically outperforms BatchRank",
        "share of the queries in which TopRank has less regret than BatchRank after {n} rounds (typically: more than "
        "half)",
        (measures.share_ahead, "PBM", "toprank", "batchrank"),
        MOST,
    ),
}


def problems(results: Results) -> list[tuple[str, int]]:
    """Return the three problems that are shown, (click model, query), as SETTING says.

    If CascadeKL-UCB's regret is linear in all queries or in none: the query of its least, or largest, regret.
    """
    toprank, kl_ucb = units_of(results["CM", "toprank"]), units_of(results["PBM", LAST])
    linear = is_linear(*(units.values for units in _halves(results["PBM", LAST])))
    order = np.argsort(kl_ucb.values, kind="stable")
    good, bad = order[~linear[order]], order[linear[order]]

    def median(units: Units, ascending: NDArray[np.int64]) -> int:
        return int(units.names[ascending[(len(ascending) - 1) // 2]])

    return [
        ("CM", median(toprank, np.argsort(toprank.values, kind="stable"))),
        ("PBM", median(kl_ucb, good if len(good) else order[:1])),
        ("PBM", median(kl_ucb, bad if len(bad) else order[-1:])),
    ]


def draw(results: Results) -> Drawing:
    from rankgym.experiments.show import figures

    made = []
    for model, query in problems(results):
        curves = [figures.curve(select_queries(results[model, agent], query)) for agent in AGENTS[model]]
        made.append(figures.Panel(f"{model}, query {query}", curves, ylabel="regret"))
    played = next(iter(results))
    runs = len(np.unique(played.run))
    error = "one run" if runs == 1 else f"mean and standard error over {runs} runs"
    return figures.panels(made, caption=f"Regret: {error} each; {counted(last_round(played))} rounds.")
