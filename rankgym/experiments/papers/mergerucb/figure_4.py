"""MergeRUCB, figure 4: regret over time with 70 rankers."""

from rankgym.experiments.judge.claims import Claim
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import FIVE, HORIZON, MANY, SAME_ORDER
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret over time with 70 rankers"
SETTING = f"The runs of figure 3 with 70 rankers. {setup.MATRICES} {setup.FIVE_AGENTS}"
SUBSET = setup.subset_label(MANY)


def SWEEP(scale: Scale, source: str) -> Sweep:
    return setup.sweep(4, scale, setup.subsets([MANY], source))


CLAIMS = (
    Claim(
        "end-stands-for-course-70",
        "section 6.3, paragraph 3, sentence 3; figure 4",
        "With 70 rankers, too, the regret after ten million duels tells how the agents compare over the whole time.",
        setup.END_AND_COURSE[0],
        (setup.end_and_course, "{label}"),
        (SAME_ORDER, 1.0),
        HORIZON,
        setup.END_AND_COURSE[1],
        cases=[{"label": SUBSET}],
    ),
)


def draw(results: Results) -> Drawing:
    return setup.draw_over_time(results, [SUBSET], FIVE, columns=1)
