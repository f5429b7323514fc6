"""BubbleRank, figure 3: regret by the misordered pairs |V_0| of the initial list, and by chi_min."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rankgym.estimates import mean_and_error
from rankgym.experiments.judge import intervals, regression
from rankgym.experiments.judge.claim_measures import units_of
from rankgym.experiments.judge.claims import ABOVE_0, Claim
from rankgym.experiments.judge.units import Units
from rankgym.experiments.papers.bubblerank import setup
from rankgym.experiments.papers.bubblerank.setup import MODELS, QUERIES, ROUNDS, RUNS
from rankgym.experiments.papers.figure import Drawing, Scale, even_rounds, mean_caption
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Results

TITLE = "Regret of BubbleRank by the misordered pairs of its initial list, and by the least examination probability"
SETTING = (
    f"{setup.DATA} Left: ten random initial lists, the same for all queries, each of which has a |V_0| of its own. "
    "Right: section 5.4 writes R_0 = (2, ..., K - 1, 1), read as (2, ..., K, 1); metrics at all positions; ten runs on "
    "the same seeds for each chi_min." + setup.SCALES_OF_RUNS.replace("one run", "one run, 4 lists")
)
LISTS: dict[Scale, int] = {"full": 10, "small": 4, "smoke": 2}  # random initial lists
WEAK_RUNS: dict[Scale, int] = {"full": 10, "small": 10, "smoke": 2}
WEAK_HORIZON = 1_000_000
HALVINGS = (1, 2, 3, 4, 5)  # chi_min = 0.5^i
FACTOR = 1.5  # of "about double", and of an exponent 1
MIDDLE = (0.1, 0.9)  # between these quantiles of |V_0| the slopes of a linear regret differ by ``FACTOR`` at most,
BENT = 2 * (FACTOR - 1) / (FACTOR + 1)  # that is by this share of the mean slope


def SWEEP(scale: Scale, source: str) -> Sweep:
    rounds = ROUNDS[scale]
    weak = min(rounds, WEAK_HORIZON)
    lists = [
        setup.rerank(model, source, f"{model}, list {number + 1}", initial_list=random_list(number))
        for model in MODELS
        for number in range(LISTS[scale])
    ]
    tail: dict[str, Any] = {"rounds": weak, "runs": WEAK_RUNS[scale], "record_at": even_rounds(weak)}
    tails = [
        Environment(f"chi_min = 0.5^{i}", "rankgym/PBM-WeakTail-Rerank-v0", query=(i - 1,), **tail) for i in HALVINGS
    ]
    return Sweep(
        environments=(*lists, *tails),
        agents=("bubblerank",),
        rounds=rounds,
        runs=RUNS[scale],
        query=tuple(QUERIES[source][scale]),
        record_at=even_rounds(rounds),
        name="BubbleRank, figure 3",
    )


def random_list(number: int) -> list[int]:
    """Return the random initial list of this number."""
    return np.random.default_rng([54, number]).permutation(10).tolist()


def by_misordered(results: Results, model: str) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return |V_0|, the final regret (mean over runs) and the query of each pair of a query and an initial list."""
    found = []
    for label in results.environments:
        if label.startswith(f"{model}, list "):
            played = results[label, "bubblerank"]
            queries, regrets = played.by_query(played.measures["regret"][-1])
            env: Any = gym.make_vec(played.env_id, num_envs=len(queries), query=queries.tolist(), **played.env_kwargs)
            found.append((np.array(env.unwrapped.initial_misordered), regrets, queries))
            env.close()
    misordered, regret, query = map(np.concatenate, zip(*found, strict=True))
    return misordered, regret, query


def slope(results: Results, model: str) -> intervals.Estimate:
    """Estimate the slope of regret over |V_0| within queries."""
    return regression.slope(*by_misordered(results, model))


def curvature(results: Results, model: str) -> intervals.Estimate:
    """Estimate how much the slope of regret over |V_0| changes in the middle. Each query has a factor of its own."""
    misordered, regret, query = by_misordered(results, model)
    _, which = np.unique(query, return_inverse=True)
    usual = np.polyval(np.polyfit(misordered, regret, 2), misordered)  # of all queries
    factor = np.bincount(which, regret) / np.bincount(which, np.maximum(usual, regret.mean() / 100))
    found = regression.curvature(misordered, regret / factor[which], query)
    # few lists are near the ends: slopes there are mostly noise
    middle = float(np.ptp(np.quantile(misordered, MIDDLE)) / np.ptp(misordered))
    return found._replace(value=found.value * middle, low=found.low * middle, high=found.high * middle)


def _regrets(results: Results, *halvings: int) -> list[Units]:
    """Return BubbleRank's regret at chi_min = 0.5^i for each i of ``halvings``."""
    return [units_of(results[f"chi_min = 0.5^{i}", "bubblerank"]) for i in halvings]


def times_at(results: Results, halvings: int, fewer: int) -> intervals.Estimate:
    """Estimate regret at one chi_min in units of that at a larger one."""
    return intervals.ratio(*_regrets(results, halvings, fewer))


def exponent(results: Results, last: int, first: int) -> intervals.Estimate:
    """Estimate the exponent of regret in 1 / chi_min, between two values of chi_min."""
    regrets = _regrets(results, last, first)
    return intervals.of_means(lambda regret, before: np.log2(regret / before) / (last - first), *regrets)


CLAIMS = {
    "regret-grows-with-misordered-{model}": Claim(
        "section 5.4, paragraph 2, sentence 4; section 4.3, paragraph 2, sentences 3 and 4; figure 3, left",
        "{model}: BubbleRank's regret is larger the more pairs of the initial list are misordered",
        "regret of BubbleRank for each misordered pair of the initial list, within queries",
        (slope, "{model}"),
        ABOVE_0,
    ),
    "regret-linear-in-misordered-{model}": Claim(
        "section 5.4, paragraph 2, sentence 4; figure 3, left",
        "{model}: BubbleRank's regret depends linearly on how many pairs of the initial list are misordered",
        "curvature of BubbleRank's regret over the number of misordered pairs |V_0|: the change of its slope from "
        "the tenth of the lists with the fewest to that with the most, in units of the mean slope",
        (curvature, "{model}"),
        (-BENT, BENT),
        f"linear means that neither slope is more than {FACTOR} times the other",
    ),
    "regret-doubles-{before}-{i}": Claim(
        "section 5.4, paragraph 3, sentences 4 and 5; figure 3, right",
        "BubbleRank's regret about doubles where chi_min falls from 0.5^{before} to 0.5^{i}",
        "regret at chi_min = 0.5^{i}, in units of that at 0.5^{before}",
        (times_at, "{i}", "{before}"),
        (2 / FACTOR, 2 * FACTOR),
        f"about double means within a factor of {FACTOR} of 2",
        needs_rounds=WEAK_HORIZON,
        cases=[{"i": i, "before": i - 1} for i in HALVINGS[1:]],
    ),
    "regret-inverse-in-chi-min": Claim(
        "section 5.4, paragraph 3, sentence 6; section 4.3, paragraph 3, sentence 2; figure 3, right",
        "BubbleRank's regret does depend on chi_min as 1 / chi_min",
        "exponent of BubbleRank's regret in 1 / chi_min, from 0.5 to 0.5^5",
        (exponent, HALVINGS[-1], HALVINGS[0]),
        (1 / FACTOR, FACTOR),
        f"proportional means an exponent within a factor of {FACTOR} of 1",
        needs_rounds=WEAK_HORIZON,
    ),
}


def draw(results: Results) -> Drawing:
    """Draw regret over |V_0| in a panel for each click model, and over rounds for each chi_min in another one."""
    from rankgym.experiments.show import figures

    made = []
    for model in MODELS:
        misordered, regret, _ = by_misordered(results, model)
        numbers = np.unique(misordered)
        mean, error = np.array([mean_and_error(regret[misordered == number]) for number in numbers]).T
        gradient, height = np.polyfit(misordered, regret, 1) if len(numbers) > 1 else (0.0, regret.mean())
        curves = [
            figures.Curve("bubblerank", numbers, mean, error, marked=True, joined=False),
            figures.Curve("least squares", numbers, height + gradient * numbers),
        ]
        made.append(figures.Panel(model, curves, xlabel="misordered pairs of the initial list", ylabel="regret"))
    weak = [f"chi_min = 0.5^{i}" for i in HALVINGS]
    tails = [figures.curve(results[label, "bubblerank"], label=label) for label in weak]
    made.append(figures.Panel("PBM with a rarely examined tail", tails, ylabel="regret"))
    lists = sum(label.startswith("CM, list ") for label in results.environments)
    runs = len(np.unique(results[weak[0], "bubblerank"].run))
    caption = mean_caption(results).replace(" each;", f", {lists} random initial lists each;")
    return figures.panels(made, caption=f"{caption[:-1]}; rarely examined tail: {runs:,} runs.")
