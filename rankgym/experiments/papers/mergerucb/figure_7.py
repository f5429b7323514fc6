"""MergeRUCB, figure 7: Sparring and MultiSBM, where Sparring does well and where the best Borda scores are close."""

import math

import numpy as np

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import ABOVE_1, Claim, Finding
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import FIVE, MERGE, RCS, RUCB, WIDE, regret
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

TITLE = "Sparring and MultiSBM, where Sparring does well and where the best Borda scores are close"
SETTING = (
    "The paper does not say which problems its two plots show, nor their horizon. Here: three small matrices of the "
    "literature, Cyclic with a winner that is closer to the others, and two of ours that differ only in how close the "
    f"two best Borda scores are. Runs: 50. Claims are judged from a million duels on. {setup.FIVE_AGENTS}"
)
SPARRING, MULTISBM = "sparring", "multisbm"
SEVEN = (*FIVE, SPARRING, MULTISBM)
WELL, ARXIV, CIRCLE, CLOSE_CIRCLE = "Arithmetic", "Arxiv", "Cyclic", "Cyclic, a closer winner"
MARGIN, CLOSE_MARGIN = 0.1, 0.02  # of the winner, in Cyclic and in the closer one; Borda scores differ by 4/3 of it
FAR, NEAR = BORDA_GAPS = {f"Borda scores {gap} apart": gap for gap in (0.08, 0.005)}
PROBLEMS = (WELL, ARXIV, CIRCLE, CLOSE_CIRCLE, FAR, NEAR)
RUNS: dict[Scale, int] = {"full": 50, "small": 50, "smoke": 2}
HORIZON = 1_000_000  # of the claims: the paper does not give one


def circle(margin: float) -> list[list[float]]:
    """Return a matrix of an arm that beats all by ``margin`` (Cyclic's: 0.1) and three in a circle of 0.4."""
    beats, loses = 0.5 + margin, 0.5 - margin
    return [[0.5, beats, beats, beats], [loses, 0.5, 0.9, 0.1], [loses, 0.1, 0.5, 0.9], [loses, 0.9, 0.1, 0.5]]


def close_borda(gap: float) -> list[list[float]]:
    """Return a matrix of six arms. The first beats all others by 0.1; the second's Borda score is less by ``gap``.

    The other arms beat those after them by 0.05 and lose to the second one with a probability q, which decides the
    gap: the scores are 0.6 and (0.4 + 4 q) / 5. The cost of a duel does not depend on the gap.
    """
    q = 0.65 - 1.25 * gap
    upper = {(0, j): 0.6 for j in range(1, 6)} | {(1, j): q for j in range(2, 6)}
    upper |= {(i, j): 0.55 for i in range(2, 6) for j in range(i + 1, 6)}
    return [[0.5 if i == j else upper[i, j] if i < j else 1.0 - upper[j, i] for j in range(6)] for i in range(6)]


def SWEEP(scale: Scale, source: str) -> Sweep:
    """``source`` makes no difference: the matrices are figures of the literature, or ours."""
    ours = {CLOSE_CIRCLE: circle(CLOSE_MARGIN)} | {label: close_borda(gap) for label, gap in BORDA_GAPS.items()}
    environments = (
        *(Environment(label, f"rankgym/Dueling-{label}-v0") for label in (WELL, ARXIV, CIRCLE)),
        *(Environment(label, setup.SYNTHETIC, {"preference": matrix}) for label, matrix in ours.items()),
    )
    name = f"mergeRUCB figure 7, {scale}"
    return Sweep(environments, SEVEN, setup.ROUNDS[scale], runs=RUNS[scale], name=name)


def behind_most(results: Results, agent: str) -> list[Finding]:
    """Estimate, in each problem, the median of the agent's regret as a multiple of each of the five's."""
    level = intervals.for_each_of(len(PROBLEMS) * len(FIVE))
    found = []
    for label in PROBLEMS:
        mine = regret(results, label, agent)
        factors = [intervals.ratio(mine, regret(results, label, other), level=level) for other in FIVE]
        value, low, high = np.median([factor[:3] for factor in factors], axis=0).tolist()
        found.append(Finding(intervals.Estimate(value, low, high, factors[0].method), {"label": label}))
    return found


def degradation(results: Results, agent: str, near: str, far: str) -> Finding:
    """Estimate the agent's regret in one problem as a multiple of that in another."""
    found = intervals.ratio(regret(results, near, agent), regret(results, far, agent))
    return Finding(found, {"near": near, "far": far})


DEGRADATION = "Sparring's regret in '{near}' as a multiple of that in '{far}'"
DRAMATIC = f"dramatic is read as: at least {WIDE:g} times as much"

CLAIMS = {
    "multisbm-behind": Claim(
        "section 8, paragraph 2, sentence 4; figure 7",
        "MultiSBM is behind most of the other agents, consistently.",
        "{label}: MultiSBM's regret as a multiple of that of mergeRUCB, RUCB, RCS, Beat the Mean and SAVAGE: the third "
        "largest of the five factors",
        (behind_most, MULTISBM),
        ABOVE_1,
        "consistently behind most is read as: in all problems behind three of five",
    ),
    "sparring-does-well": Claim(
        "section 8, paragraph 3, sentences 1 and 2; figure 7, top",
        "There are problems with few rankers in which Sparring does well, and better than mergeRUCB.",
        f"{WELL}: mergeRUCB's regret as a multiple of Sparring's",
        (setup.multiples, WELL, MERGE, SPARRING),
        ABOVE_1,
    ),
    "{agent}-ahead-with-few": Claim(
        "section 8, paragraph 3, sentence 2; figure 7, top",
        "With few rankers RUCB and RCS are ahead of mergeRUCB, too; here {agent}.",
        f"{WELL}, 8 arms: mergeRUCB's regret as a multiple of {{agent}}'s",
        (setup.multiples, WELL, MERGE, "{agent}"),
        ABOVE_1,
        cases=[{"agent": agent} for agent in (RUCB, RCS)],
    ),
    "sparring-does-badly": Claim(
        "section 8, paragraph 3, sentence 3; section 9, paragraph 4, sentence 1; figure 7, bottom",
        "There are problems with few rankers in which Sparring does badly.",
        f"{CIRCLE}: Sparring's regret as a multiple of {{agent}}'s",
        (setup.multiples, CIRCLE, SPARRING, (MERGE, RUCB, RCS)),
        ABOVE_1,
    ),
    "sparring-degrades-with-borda": Claim(
        "section 8, paragraph 3, sentence 4; figure 7, bottom",
        "Sparring gets dramatically worse as the best Borda scores come closer to each other.",
        DEGRADATION,
        (degradation, SPARRING, CLOSE_CIRCLE, CIRCLE),
        (WIDE, math.inf),
        f"{DRAMATIC}; a duel costs a fifth where scores are closer, and the winner is as much harder to tell from "
        "the others",
    ),
    "borda-alone-degrades-sparring": Claim(
        "section 8, paragraph 3, sentence 5; figure 7, bottom",
        "This is so because it chooses arms by their Borda scores.",
        DEGRADATION,
        (degradation, SPARRING, NEAR, FAR),
        (WIDE, math.inf),
        f"{DRAMATIC}; nothing but these scores differs: the winner's margins, and what a duel costs, are the same",
    ),
}


def draw(results: Results) -> Drawing:
    return setup.draw_over_time(results, PROBLEMS, SEVEN, columns=3, leaving=2)
