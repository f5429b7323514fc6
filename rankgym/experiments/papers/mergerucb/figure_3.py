"""MergeRUCB, figure 3: regret after ten million duels by the number of rankers."""

import math
from functools import partial

import numpy as np

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import ABOVE_0, ABOVE_1, Claim, Finding
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import BTM, FEW, FIVE, MANY, MERGE, RCS, RUCB, SAVAGE, WIDE
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret after ten million duels by the number of rankers"
SETTING = f"As in the paper: 10 random subsets of each size with a Condorcet winner, navigational users. {setup.DATA}"
ARMS: dict[Scale, tuple[int, ...]] = {"full": setup.ARMS, "small": (10, 40, 70, 100, 130), "smoke": (10, 70)}


def SWEEP(scale: Scale, source: str) -> Sweep:
    return setup.sweep(3, scale, setup.subsets(ARMS[scale], source))


def multiples_with_many(results: Results, agent: str) -> list[Finding]:
    """Estimate the regret of each other agent as a multiple of the agent's, for each large number of rankers."""
    parts = []
    for number in setup.arms_played(results, least=MANY):
        regrets = {one: setup.regret(results, setup.subset_label(number), one) for one in FIVE}
        mine = regrets.pop(agent)
        parts += [({"other": other, "number": number}, theirs, mine) for other, theirs in regrets.items()]
    return setup.together(parts, intervals.ratio)


def multiples_of_many(results: Results, others: setup.Labels, agents: setup.Labels) -> list[Finding]:
    """Estimate the regret of ``others`` as a multiple of that of ``agents``, all large numbers of rankers together."""
    arms = setup.arms_played(results, least=MANY)
    many = f"K of {', '.join(map(str, arms))} together" if len(arms) > 1 else f"K = {arms[0]}"
    return setup.multiples(results, setup.subset_labels(results, least=MANY), others, agents, many=many)


def steeper(results: Results, agents: tuple[str, ...], than: str) -> list[Finding]:
    """Estimate the exponent of the growth of each agent's regret with K, less that of ``than``."""
    arms = np.log(setup.arms_played(results))
    weights = (arms - arms.mean()) / ((arms - arms.mean()) ** 2).sum()  # of a least-squares slope
    labels = setup.subset_labels(results)
    ours = setup.stacked(results, labels, [than])
    parts = (({"agent": agent}, setup.stacked(results, labels, [agent]), ours) for agent in agents)
    slopes = partial(intervals.of_means, lambda theirs, ours: (np.log(theirs) - np.log(ours)) @ weights)
    return setup.together(parts, slopes)


WITH_FEW = f"{{other}}'s regret as a multiple of {{agent}}'s, K = {FEW}"
WITH_MANY = "{other}'s regret as a multiple of {agent}'s, {many}"
FEWEST = setup.subset_label(FEW)

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
        WITH_MANY,
        (multiples_of_many, (RCS, BTM, SAVAGE), (MERGE, RUCB)),
        ABOVE_1,
    ),
    "rcs-better-with-few": Claim(
        "section 3, paragraph 6, sentence 4, first half, and sentence 2 (of earlier experiments); figure 3",
        "With few rankers RCS tends to have less regret than RUCB.",
        WITH_FEW,
        (setup.multiples, FEWEST, RUCB, RCS),
        ABOVE_1,
    ),
    "rucb-better-with-many": Claim(
        "section 3, paragraph 6, sentence 4, second half; figure 3",
        "With many rankers RUCB has less regret than RCS.",
        WITH_MANY,
        (multiples_of_many, RCS, RUCB),
        ABOVE_1,
    ),
    "{agent}-ahead-with-few": Claim(
        "section 8, paragraph 3, sentence 2; figure 3",
        "With few rankers RUCB and RCS have less regret than mergeRUCB; here {agent}.",
        WITH_FEW,
        (setup.multiples, FEWEST, MERGE, "{agent}"),
        ABOVE_1,
        cases=[{"agent": agent} for agent in (RUCB, RCS)],
    ),
    "savage-ahead-of-btm-with-few": Claim(
        "section 3, paragraph 4, sentence 1 (of earlier experiments); figure 3",
        "With few rankers SAVAGE is ahead of Beat the Mean by a wide margin.",
        WITH_FEW,
        (setup.multiples, FEWEST, BTM, SAVAGE),
        (WIDE, math.inf),
        f"a wide margin is read as: at least {WIDE:g} times as much",
    ),
    "btm-ahead-of-savage-with-many": Claim(
        "section 3, paragraph 4, sentence 2 (of earlier experiments); figure 3",
        "With many rankers Beat the Mean is ahead of SAVAGE.",
        WITH_MANY,
        (multiples_of_many, SAVAGE, BTM),
        ABOVE_1,
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
    curves = {"Regret by the number of rankers": setup.curves_by_arms(results, FIVE)}
    return setup.draw_by_arms(results, curves, bottom=0.0)
