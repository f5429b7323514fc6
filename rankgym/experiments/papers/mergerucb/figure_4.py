"""MergeRUCB, figure 4: regret over time with 70 rankers."""

from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret over time with 70 rankers"
SETTING = f"The runs of figure 3 with 70 rankers. {setup.DATA}"
SUBSET = setup.subset_label(setup.MANY)


def SWEEP(scale: Scale, source: str) -> Sweep:
    return setup.sweep(4, scale, setup.subsets([setup.MANY], source))


CLAIMS = {
    "end-stands-for-course-{set}": setup.END_AND_COURSE._replace(
        cases=[{"set": "70", "sentence": "3; figure 4", "rankers": "70 rankers, too,", "label": SUBSET}],
    ),
}


def draw(results: Results) -> Drawing:
    return setup.draw_over_time(results, [SUBSET], setup.FIVE, columns=1)
