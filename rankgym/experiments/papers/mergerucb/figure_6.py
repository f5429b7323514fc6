"""MergeRUCB, figure 6: the default parameters beside the best and the worst of a grid."""

import math
from functools import partial
from typing import Any

import numpy as np

from rankgym.experiments.judge import intervals
from rankgym.experiments.judge.claims import ABOVE_1, Claim, Finding
from rankgym.experiments.papers.figure import Drawing, Scale
from rankgym.experiments.papers.mergerucb import setup
from rankgym.experiments.papers.mergerucb.setup import MERGE, regret, subset_label
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

TITLE = "MergeRUCB's parameters: the least and the largest regret of a grid, and that of the default"
SETTING = f"As figure 3; small scale: three of six alphas. Largest and least are of means over runs. {setup.MATRICES}"
BATCH_SIZES = (4, 6, 8, 10)
LEAST_ALPHA = 0.71
SOME_ALPHAS = (LEAST_ALPHA, 1.01, 1.21)
ALPHAS = {"full": (LEAST_ALPHA, 0.81, 0.91, 1.01, 1.11, 1.21), "small": SOME_ALPHAS, "smoke": SOME_ALPHAS}
ARMS: dict[Scale, tuple[int, ...]] = {"full": setup.ARMS, "small": (10, 70, 130), "smoke": (10, 70)}
CLOSE = 1.25  # a regret is called close to another one up to this factor
LITTLE = 0.1  # a gain is called little up to this share
INDISTINCT = 0.02  # of the height of a figure: curves that are closer look like one


def SWEEP(scale: Scale, source: str) -> Sweep:
    grid = [variant(batch_size, alpha) for batch_size in BATCH_SIZES for alpha in ALPHAS[scale]]
    return setup.sweep(6, scale, setup.subsets(ARMS[scale], source), grid)


def variant(batch_size: int, alpha: float) -> str:
    """Return the agent's label; the default's has no arguments."""
    return MERGE if (batch_size, alpha) == (4, 1.01) else f"{MERGE}:batch_size={batch_size}:alpha={alpha}"


def _grid(results: Results) -> list[str]:
    """Return the labels of the variants, the default first."""
    labels = results.agents(setup.subset_labels(results)[0])
    return [MERGE, *(label for label in labels if label != MERGE)]


def _over_best(*means: Any) -> Any:
    """Return the first regret as a multiple of the least."""
    return means[0] / np.min(means, axis=0)


def default_over_best(results: Results) -> list[Finding]:
    """Estimate the default's regret as a multiple of the least of the grid, for each number of rankers."""
    grid = _grid(results)
    parts = (
        ({"choices": len(grid), "number": number}, *(regret(results, subset_label(number), agent) for agent in grid))
        for number in setup.arms_played(results)
    )
    return setup.together(parts, partial(intervals.of_means, _over_best))


def share_saved_by_best(results: Results) -> Finding:
    """Estimate the share of the default's regret, all K together, that the best of the grid would save."""
    grid = _grid(results)
    units = (regret(results, setup.subset_labels(results), agent) for agent in grid)
    return Finding(intervals.of_means(lambda *means: 1.0 - 1.0 / _over_best(*means), *units), {"choices": len(grid)})


def spread_with_few(results: Results) -> Finding:
    """Estimate the distance of the outer curves at the smallest K, as a share of the height of the figure."""
    grid, arms = _grid(results), setup.arms_played(results)
    units = (regret(results, subset_label(number), agent) for number in (arms[0], arms[-1]) for agent in grid)

    def share(*means: Any) -> Any:
        few, many = np.split(np.array(means), 2)
        return np.ptp(few, axis=0) / many.max(axis=0)

    return Finding(intervals.of_means(share, *units), {"few": arms[0], "many": arms[-1]})


CLAIMS = {
    "default-close-to-best": Claim(
        "section 6.5, paragraph 2, sentence 3; figure 6",
        "The regret of the default parameters is close to that of the best ones, or equal, at every number of rankers.",
        "regret with p = 4, alpha = 1.01 as a multiple of the least of {choices} choices, K = {number}",
        (default_over_best,),
        (0.0, CLOSE),
        f"called close up to {CLOSE:g}; the least of noisy means is too small, so that the factor is rather too large",
    ),
    "little-gain-from-tuning": Claim(
        "section 5, paragraph 8, sentence 4; figure 6",
        "Other values of p and alpha gain little or nothing.",
        "share of the regret, all K together, that the best of {choices} choices of p and alpha would save",
        (share_saved_by_best,),
        (-math.inf, LITTLE),
        f"called little up to {LITTLE:.0%}",
    ),
    "small-alpha-costs": Claim(
        "section 5, paragraph 8, sentence 3; figure 6",
        "Towards alpha = 0.5 the exploration at the start costs more than narrower intervals save.",
        f"regret with alpha = {LEAST_ALPHA}, the least of the grid, as a multiple of that with 1.01, p = 4, all K "
        "together",
        (setup.multiples, (), variant(4, LEAST_ALPHA), MERGE),
        ABOVE_1,
    ),
    "indistinct-with-few": Claim(
        "section 6.5, paragraph 2, sentence 2; figure 6",
        "With few rankers the three curves could not be told apart on a linear axis.",
        "largest less least regret of the choices at K = {few}, as a share of the largest at K = {many}",
        (spread_with_few,),
        (-math.inf, INDISTINCT),
        f"called indistinct up to {INDISTINCT:.0%} of the axis",
    ),
}


def draw(results: Results) -> Drawing:
    grid = _grid(results)
    curves = setup.curves_by_arms(results, grid)
    means, errors = np.array([one.mean for one in curves]), np.array([one.error for one in curves])
    default = curves[0]._replace(label="default: p = 4, alpha = 1.01")

    def outer(label: str, which: Any) -> Any:
        places = which, np.arange(means.shape[1])
        return default._replace(label=label, mean=means[places], error=errors[places])

    most, least = outer("largest of the grid", means.argmax(axis=0)), outer("least of the grid", means.argmin(axis=0))
    panels = {"MergeRUCB's parameters": [most, default, least]}
    return setup.draw_by_arms(results, panels, f"{len(grid)} choices of p and alpha. ", yscale="log")
