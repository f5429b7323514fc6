"""MergeRUCB, figure 2: duels by interleaving and simulated clicks, or by coins with the same chances."""

import os
from functools import partial

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import Claim, Finding
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import collection, setup
from rankgym.experiments.papers.mergerucb.setup import FIVE, SAME_ORDER, regret
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

TITLE = "Duels by interleaving and simulated clicks, and duels by coins with the same chances"
SETTING = (
    "Calibrated: a SYNTHETIC collection of 100 queries of 20 documents, 136 rankers (32 at small scale), five grades; "
    "it is written into the data cache with its matrix (imported as mergerucb-figure-2-...). Published: the LETOR file "
    f"that the environment variable {collection.LETOR_FILE} names, such as a fold of MSLR-WEB30K. Lists are "
    "interleaved by team draft with exactly evaluated chances, in the paper by probabilistic interleaving with chances "
    "estimated from 400,000 comparisons. As users come independently of each other, duels by clicks are Bernoulli "
    f"trials with just these chances: the figure checks the simulation, not an approximation. {setup.FIVE_AGENTS}"
)
PREPARE = collection.prepare
CLICKS, COINS = "Interleaving and clicks", "Coins of the same matrix"
ALIKE = 2.0  # an agent's regrets by both kinds of duels are alike up to this factor


def SWEEP(scale: Scale, source: str) -> Sweep:
    """Return the sweep; ``collection.prepare`` makes its data."""
    file = collection.letor_file(scale, source)
    matrix = collection.matrix_name(file)
    kwargs = {"file": os.fspath(file), "preferences": matrix, **collection.DUELS}
    clicks = Environment(CLICKS, "rankgym/Dueling-LETOR-v0", kwargs)
    return setup.sweep(2, scale, (clicks, Environment(COINS, setup.SYNTHETIC, {"dataset": matrix})))


def clicks_over_coins(results: Results) -> list[Finding]:
    """Estimate each agent's regret by interleaving and clicks as a multiple of that by coins."""
    parts = (({"agent": agent}, regret(results, CLICKS, agent), regret(results, COINS, agent)) for agent in FIVE)
    return setup.together(parts, partial(intervals.ratio, paired=False))


def tau_of_clicks_and_coins(results: Results) -> intervals.Estimate:
    """Estimate Kendall's tau between the agents' orders by regret of the two kinds of duels."""
    units = (setup.stacked(results, [label], FIVE) for label in (CLICKS, COINS))
    return intervals.of_means(lambda clicks, coins: setup.kendalls_tau(clicks.T, coins.T), *units, paired=False)


CLAIMS = {
    "proxy-alike": Claim(
        "section 6.2, paragraph 1, sentence 2; figure 2",
        "Duels by coins give results like those of duels by interleaving and clicks.",
        "{agent}'s regret by interleaving and clicks as a multiple of that by coins",
        (clicks_over_coins,),
        (1.0 / ALIKE, ALIKE),
        f"called alike up to a factor of {ALIKE:g}",
    ),
    "proxy-same-order": Claim(
        "section 6.2, paragraph 1, sentence 5; figure 2",
        "How the agents compare does not differ between the two in kind.",
        "Kendall's tau between the orders of the five agents by regret: interleaving and clicks, and coins",
        (tau_of_clicks_and_coins,),
        (SAME_ORDER, 1.0),
        f"one exchange of neighbours, {SAME_ORDER:g}, is no qualitative difference",
    ),
    "end-stands-for-course-{set}": setup.END_AND_COURSE._replace(
        cases=[{"set": "all", "sentence": "2; figures 2 and 3", "rankers": "all rankers", "label": COINS}],
    ),
}


def draw(results: Results) -> Drawing:
    return setup.draw_over_time(results, (CLICKS, COINS), FIVE, columns=2)
