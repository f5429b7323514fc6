"""Non-stationary bandits, figure 2: regret on single queries, in the runs of figure 1."""

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.judge.claims import Claim, Finding
from rankgym.experiments.judge.units import amount, counted_units
from rankgym.experiments.papers.figure import Drawing, select_queries
from rankgym.experiments.papers.nonstationary import setup
from rankgym.experiments.papers.nonstationary.setup import AGENTS, BASELINES, CM, FORGETTING, LINEAR, SINGLE
from rankgym.experiments.run.results import Played, Results

TITLE = "The same on single queries"
SETTING = (
    f"The runs of figure 1, on the first {SINGLE} queries; the paper does not say how it chose its 20. Its caption "
    f"names BubbleRank where figure 1 has BatchRank; here both have the baselines of section 5. {setup.DATA}"
)
SWEEP = setup.changing_users


def single_queries(played: Played) -> NDArray[np.int64]:
    """Return the queries that are shown."""
    return np.unique(played.query)[:SINGLE]


def share_growing(results: Results, agent: str, linear: bool) -> Finding:
    """Estimate the share of the single queries on which regret (mean over runs) grows linearly, or sub-linearly."""
    played = results[CM, agent]
    end, queries = last_round(played), single_queries(played)
    shown = select_queries(played, queries)
    units = (amount(shown, stop=stop) for stop in (end, end // 5))
    # without dividing by a regret of 0: whether the exponent is at least LINEAR
    found = intervals.share(lambda late, early: (late >= early * 5.0**LINEAR) == linear, *units)
    return Finding(found, {"queries": len(queries), "start": f"{end // 5:,}", "end": f"{end:,}"})


CLAIMS = {
    "{agent}-{kind}-on-single-queries": Claim(
        "appendix B, paragraph 1, sentence 3; figure 2",
        "On single queries the regret of the baselines is linear, that of the other two sub-linear; here {agent}'s is "
        "{kind}.",
        f"share of {{queries}} queries on which {{agent}}'s regret grows with an exponent {{exponent}} {LINEAR} from "
        "round {start} to {end}",
        (share_growing, "{agent}", "{linear}"),
        (0.5, 1.0),
        "read as: on most queries; the interval is that of a share among queries like these",
        cases=[
            *({"agent": agent, "kind": "sub-linear", "exponent": "below", "linear": False} for agent in FORGETTING),
            *({"agent": agent, "kind": "linear", "exponent": "of at least", "linear": True} for agent in BASELINES),
        ],
    ),
}


def draw(results: Results) -> Drawing:
    from rankgym.experiments.show import figures

    first = results[CM, AGENTS[0]]
    panels = []
    for query in single_queries(first):
        curves = [figures.curve(select_queries(results[CM, agent], query)) for agent in AGENTS]
        panels.append(figures.Panel(f"Query {query}", curves, breakpoints=setup.breakpoints(results), bottom=0.0))
    runs = counted_units(len(np.unique(first.run)), "runs")
    caption = f"Regret on the first {len(panels)} queries, mean of {runs}; bands: one standard error over runs"
    return figures.panels(panels, columns=5, caption=caption)
