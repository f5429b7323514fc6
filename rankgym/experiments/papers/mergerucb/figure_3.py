"""MergeRUCB, figure 3: regret after ten million duels by the number of rankers."""

import math
from functools import partial

import numpy as np

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import Claim, Finding
from rankgym.experiments.judge.measures import ABOVE_0, ABOVE_1
from rankgym.experiments.judge.units import Units
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import (
    BTM,
    FEW,
    FIVE,
    MANY,
    MERGE,
    RCS,
    RUCB,
    SAVAGE,
    WIDE,
    Array,
    arms_played,
    regret,
    subset_label,
    subset_labels,
)
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret after ten million duels by the number of rankers"
SETTING = (
    "As in the paper: 10 random subsets of each size with a Condorcet winner, navigational users. "
    f"{setup.MATRICES} {setup.FIVE_AGENTS}"
)
ARMS: dict[Scale, tuple[int, ...]] = {"full": setup.ARMS, "small": (10, 40, 70, 100, 130), "smoke": (10, 70)}


def SWEEP(scale: Scale, source: str) -> Sweep:
    return setup.sweep(3, scale, setup.subsets(ARMS[scale], source))


def multiples_with_many(results: Results, agent: str) -> list[Finding]:
    """The regret of each other agent as a multiple of the agent's, for each large number of rankers."""
    parts = (
        ({"other": other, "number": number}, regret(results, label, other), regret(results, label, agent))
        for number, label in zip(arms_played(results, least=MANY), subset_labels(results, least=MANY), strict=True)
        for other in FIVE
        if other != agent
    )
    return setup.together(parts, intervals.ratio)


def multiple_by_size(results: Results, behind: str, ahead: str, few: bool) -> Finding:
    """The regret of one agent as a multiple of another's, with few rankers, or all numbers of many together."""
    labels = [subset_label(FEW)] if few else subset_labels(results, least=MANY)
    words = {"many": _many(results)} if not few else {}
    return Finding(intervals.ratio(regret(results, labels, behind), regret(results, labels, ahead)), words)


def multiples_of_two(results: Results, two: tuple[str, ...]) -> list[Finding]:
    """The regret of each other agent as a multiple of that of each of ``two``, with many rankers."""
    labels, many = subset_labels(results, least=MANY), _many(results)
    parts = (
        ({"other": other, "one": one, "many": many}, regret(results, labels, other), regret(results, labels, one))
        for other in FIVE
        if other not in two
        for one in two
    )
    return setup.together(parts, intervals.ratio)


def steeper(results: Results, agents: tuple[str, ...], than: str) -> list[Finding]:
    """The exponent of the growth of each agent's regret with K, less that of ``than``."""
    arms = np.log(arms_played(results))
    weights = (arms - arms.mean()) / ((arms - arms.mean()) ** 2).sum()  # of a least-squares slope

    def slopes(theirs: Array, ours: Array) -> Array:
        return np.asarray((np.log(theirs) - np.log(ours)) @ weights)

    def by_arms(agent: str) -> Units:
        parts = [regret(results, label, agent) for label in subset_labels(results)]
        return parts[0]._replace(values=np.stack([part.values for part in parts]))

    parts = (({"agent": agent}, by_arms(agent), by_arms(than)) for agent in agents)
    return setup.together(parts, partial(intervals.of_means, slopes))


def _many(results: Results) -> str:
    arms = arms_played(results, least=MANY)
    return f"K of {', '.join(map(str, arms))} together" if len(arms) > 1 else f"K = {arms[0]}"


WITH_FEW = f"{{behind}}'s regret as a multiple of {{ahead}}'s, K = {FEW}"
WITH_MANY = "{behind}'s regret as a multiple of {ahead}'s, {many}"

CLAIMS = {
    "mergerucb-best-from-70": Claim(
        "section 6.3, paragraph 2, sentence 2; section 3, paragraph 6, sentence 5; figure 3",
        "From 70 rankers on mergeRUCB has less regret than all other agents.",
        "{other}'s regret as a multiple of mergeRUCB's, K = {number}",
        (multiples_with_many, MERGE),
        ABOVE_1,
    ),
    "mergerucb-and-rucb-best": Claim(
        "section 6.1, paragraph 2, sentence 1; figure 3",
        "MergeRUCB and RUCB are the two best where there are many rankers.",
        "{other}'s regret as a multiple of {one}'s, {many}",
        (multiples_of_two, (MERGE, RUCB)),
        ABOVE_1,
    ),
    "{ahead}-better-with-few": Claim(
        "section 3, paragraph 6, sentence 4, first half, and sentence 2 (of earlier experiments); figure 3",
        "With few rankers {ahead} tends to have less regret than {behind}.",
        WITH_FEW,
        (multiple_by_size, "{behind}", "{ahead}", True),
        ABOVE_1,
        cases=[{"ahead": RCS, "behind": RUCB}],
    ),
    "{ahead}-better-with-many": Claim(
        "section 3, paragraph 6, sentence 4, second half; figure 3",
        "With many rankers {ahead} has less regret than {behind}.",
        WITH_MANY,
        (multiple_by_size, "{behind}", "{ahead}", False),
        ABOVE_1,
        cases=[{"ahead": RUCB, "behind": RCS}],
    ),
    "{ahead}-ahead-with-few": Claim(
        "section 8, paragraph 3, sentence 2; figure 3",
        "With few rankers RUCB and RCS have less regret than {behind}; here {ahead}.",
        WITH_FEW,
        (multiple_by_size, "{behind}", "{ahead}", True),
        ABOVE_1,
        cases=[{"ahead": agent, "behind": MERGE} for agent in (RUCB, RCS)],
    ),
    "savage-ahead-of-btm-with-few": Claim(
        "section 3, paragraph 4, sentence 1 (of earlier experiments); figure 3",
        "With few rankers {ahead} is ahead of {behind} by a wide margin.",
        WITH_FEW,
        (multiple_by_size, "{behind}", "{ahead}", True),
        (WIDE, math.inf),
        f"a wide margin is read as: at least {WIDE:g} times as much",
        cases=[{"ahead": SAVAGE, "behind": BTM}],
    ),
    "btm-ahead-of-savage-with-many": Claim(
        "section 3, paragraph 4, sentence 2 (of earlier experiments); figure 3",
        "With many rankers {ahead} is ahead of {behind}.",
        WITH_MANY,
        (multiple_by_size, "{behind}", "{ahead}", False),
        ABOVE_1,
        cases=[{"ahead": BTM, "behind": SAVAGE}],
    ),
    "others-hard-to-scale": Claim(
        "section 1, paragraph 4, sentence 4; figure 3",
        "SAVAGE, RUCB and RCS do not scale well to many rankers.",
        "exponent of the growth of {agent}'s regret with K, less that of mergeRUCB's",
        (steeper, (SAVAGE, RUCB, RCS), MERGE),
        ABOVE_0,
        "difficulty is read as: steeper than mergeRUCB on logarithmic axes",
    ),
}


def draw(results: Results) -> Drawing:
    from rankgym.experiments.show import figures

    panel = figures.Panel(
        "Regret by the number of rankers",
        setup.curves_by_arms(results, FIVE),
        xlabel="rankers, K",
        ylabel=setup.regret_label(results),
        bottom=0.0,
    )
    return figures.panels([panel], caption=setup.subsets_caption(results))
