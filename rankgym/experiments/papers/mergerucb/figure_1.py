"""MergeRUCB, figure 1: regret over time on four large problems."""

import math
from functools import partial

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.judge.claims import ABOVE_0, ABOVE_1, Claim, Finding
from rankgym.experiments.judge.units import Units, amount
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import BTM, HORIZON, LONG_HORIZON, MERGE, RUCB, regret
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

SPREAD = 0.275  # of the stand-ins' utilities: as in the MSLR matrix, half of all pairs have |p - 1/2| up to .065
TITLE = "Regret over time on four large problems: mergeRUCB, RUCB and Beat the Mean"
SETTING = (
    "ONE OF THE FOUR PROBLEMS IS THE PAPER'S, THE OTHERS ARE STAND-INS: the Yandex and Yahoo collections are not "
    "available, and no matrices of them were published. The stand-ins have as many rankers (245; 700 of which 104, or "
    f"181, are uninformative as in section 7), normal utilities with a standard deviation of {SPREAD}, and duels by "
    "the logistic function of utilities' differences (Bradley-Terry: a total order, no circles), so that half of all "
    "pairs are as close as in MSLR; each run has its own matrix. A stand-in of 136 shows the effect of the number of "
    f"rankers alone. Duels are coins, not interleaved lists. Runs: 10; the paper does not say. {setup.MATRICES} "
    f"{setup.PARAMETERS}"
)
THREE = (MERGE, RUCB, BTM)
ALL_MSLR = "MSLR, 136"
SIZES = {  # informative and uninformative rankers: section 7, assumption A2, has the Yahoo sets' uninformative ones
    "Stand-in, 136": (136, 0),
    "Stand-in for Yandex, 245": (245, 0),
    "Stand-in for Yahoo 1, 700": (596, 104),
    "Stand-in for Yahoo 2, 700": (519, 181),
}
CONTROL, YANDEX, YAHOO_1, YAHOO_2 = SIZES
LARGE = (ALL_MSLR, YANDEX, YAHOO_1, YAHOO_2)  # the paper's four
SUBSTANTIAL = 1.25  # a substantially larger regret is at least this multiple of the other
LONG_ROUNDS: dict[Scale, int] = {**setup.ROUNDS, "full": LONG_HORIZON}


def SWEEP(scale: Scale, source: str) -> Sweep:
    rounds, runs = setup.ROUNDS[scale], setup.RUNS[scale]
    mslr = Environment(ALL_MSLR, setup.MSLR, {"source": source, "user_model": "navigational"}, rounds=rounds, runs=runs)
    family = {"family": "bradley-terry", "knobs": {"spread": SPREAD}}
    stand_ins = []
    for label, (informative, uninformative) in SIZES.items():
        kwargs = family | {"num_arms": informative, "uninformative": uninformative, "num_problems": runs}
        stand_ins.append(Environment(label, setup.SYNTHETIC, kwargs, record_at=(rounds,)))  # the last round of MSLR
    return Sweep((mslr, *stand_ins), THREE, LONG_ROUNDS[scale], name=f"mergeRUCB figure 1, {scale}")


def second_share_converged(results: Results, label: str) -> Finding:
    """Estimate the share of runs in which the agent that is second in this names the best ranker at the end."""

    def converged(agent: str) -> intervals.Estimate:
        return intervals.share(lambda accuracy: accuracy == 1.0, amount(results[label, agent], "accuracy"))

    second = sorted(THREE, key=lambda agent: -converged(agent).value)[1]
    return Finding(converged(second), {"second": second})


def growth_of_lead(results: Results) -> list[Finding]:
    """Estimate by how much mergeRUCB's lead after equally many duels grows from 136 to 245 to 700 rankers."""
    stop = min(last_round(results[label, MERGE]) for label in LARGE)

    def lead(label: str, other: str) -> Units:
        theirs, ours = (regret(results, label, agent, stop) for agent in (other, MERGE))
        return theirs._replace(values=theirs.values - ours.values)

    parts = [
        ({"other": other, "stop": f"{stop:,}", "more": more, "fewer": fewer}, lead(more, other), lead(fewer, other))
        for other in THREE[1:]
        for fewer, more in ((CONTROL, YANDEX), (YANDEX, YAHOO_1), (YANDEX, YAHOO_2))
    ]
    return setup.together(parts, partial(intervals.difference, paired=False))


LONG = {"sentence": 4, "duels": "25,000,000", "needs_rounds": LONG_HORIZON}
EVERY_PROBLEM = [
    {"label": ALL_MSLR, "sentence": 3, "duels": "10,000,000", "needs_rounds": HORIZON},
    *({"label": label, **LONG} for label in (YANDEX, YAHOO_1, YAHOO_2)),
]
CLAIMS = {
    "two-converge-{label}": Claim(
        "section 6.1, paragraph 1, sentence {sentence}; figure 1",
        "Two of the three agents find the Condorcet winner within {duels} duels.",
        "{label}: share of the runs in which the agent that is second in this ({second}) names the Condorcet winner in "
        "the end",
        (second_share_converged, "{label}"),
        (0.5, 1.0),
        "converging is read as: in most runs",
        cases=EVERY_PROBLEM,
    ),
    "mergerucb-ahead-{label}": Claim(
        "section 1, paragraph 6, sentence 2; section 9, paragraph 1, sentence 3; abstract, paragraph 2, sentence 2; "
        "figure 1",
        "MergeRUCB has clearly and substantially less regret than the others.",
        "{label}: {other}'s regret as a multiple of mergeRUCB's",
        (setup.multiples, "{label}", (RUCB, BTM), MERGE),
        (SUBSTANTIAL, math.inf),
        f"called substantial from {SUBSTANTIAL:g} on",
        cases=EVERY_PROBLEM,
    ),
    "ahead-of-btm-{label}": Claim(
        "section 3, paragraph 2, sentence 7; section 5, RQ1; figure 1",
        "MergeRUCB has less regret than Beat the Mean on large problems.",
        "{label}: Beat the Mean's regret as a multiple of mergeRUCB's",
        (setup.multiples, "{label}", BTM, MERGE),
        ABOVE_1,
        cases=EVERY_PROBLEM,
    ),
    "gap-grows-with-rankers": Claim(
        "section 6.1, paragraph 2, sentence 2; figure 1",
        "The more rankers, from 136 to 245 to 700, the more is mergeRUCB ahead of the others.",
        "{other}'s regret less mergeRUCB's after {stop} duels: by how much more it is with {more} than with {fewer}",
        (growth_of_lead,),
        ABOVE_0,
        "all three sizes are stand-ins of one family, so that nothing but the size differs",
    ),
}


def draw(results: Results) -> Drawing:
    return setup.draw_over_time(results, (*LARGE, CONTROL), THREE, columns=3)
