"""BubbleRank: Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi (UAI 2019), figures 1 to 4.

What claims mean in numbers, where the paper leaves it to the eye:

* growth: what the second half of the rounds adds, in units of what the first half adds. Linear: 0.8 to 1.25 (a line has
  1); learning: at most 0.8; learning quickly: at most 0.25 (a square root has 0.41, a logarithm 0.05 at 5 M rounds);
* to converge: in the last tenth of the rounds at most 1 % of the regret a round of the initial list;
* the earlier steps, and the start of an NDCG curve: the first 100, as in section 5.3;
* a published number: reproduced within 20 % of it; close: within 10 %; similar NDCG: within 0.02; good NDCG: at least
  0.8; close to that of Baseline, or never much worse: within 0.05; very low: at least 0.1 below it;
* about double, and an exponent 1: within a factor of 1.5; linear in |V_0|: of a parabola through the regrets the slopes
  at the tenth of the lists with the fewest pairs and at the tenth with the most differ by no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import statistics
from rankgym.experiments.judge.claims import Claim, Measured
from rankgym.experiments.judge.comparison import counted
from rankgym.experiments.judge.statistics import Estimate, Units
from rankgym.experiments.papers.figure import PaperFigure, Scale, check_scale, check_source
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES"]

PAPER = "Li et al., BubbleRank: safe online learning to re-rank via implicit click feedback, UAI 2019"
MODELS = ("CM", "DCM", "PBM")
NAMES = {
    "bubblerank": "BubbleRank",
    "cascade-kl-ucb": "CascadeKL-UCB",
    "batchrank": "BatchRank",
    "toprank": "TopRank",
    "static": "Baseline",
}
SHUFFLING = ("batchrank", "toprank")
HORIZON = 5_000_000
QUERIES = {"published": 60, "calibrated": 100}
PARTS = 20  # evenly spaced records: halves and tenths of the horizon begin at one
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 1, "smoke": 1}
SMOKE_QUERIES = 6
SMALL_QUERIES = 30  # every second one, so that it takes minutes: the horizon is what most claims need

FEW = 100  # rounds: what section 5.3 counts in, and what we take for "earlier steps" of section 5.2
ABOVE, BELOW = (0.0, math.inf), (-math.inf, 0.0)
STILL = 0.8  # of what the first half of the rounds adds, added by the second: the border between linear and learning
LINEAR, LEARNING, QUICK = (STILL, 1 / STILL), (-math.inf, STILL), (-math.inf, 0.25)
CONVERGED = 0.01
SAME, CLOSE = 0.2, 0.1  # of a published number; of a ratio
SIMILAR_NDCG, GOOD_NDCG, NEAR_NDCG, LOW_NDCG, PERFECT_NDCG = 0.02, 0.8, 0.05, 0.1, 0.99
FACTOR = 1.5  # of "about double", and of an exponent 1
MIDDLE = (0.1, 0.9)  # between these quantiles of |V_0| no slope of what is linear is over ``FACTOR`` times another one,
BENT = 2 * (FACTOR - 1) / (FACTOR + 1)  # so that it changes by so much at most, in units of the mean slope

DATA = (
    "Queries: the 60 published ones with their fitted click models (or 100 that were calibrated to resemble them), "
    "not the paper's own 100. R_0 is the production order of their data; the paper took the most frequent list of each "
    "of its queries, so counts of violations and the level of Baseline can differ by some units. Regret is against R*, "
    "the list sorted by attraction, as in the paper; the DCM counts abandonment clicks. The agent static is Baseline."
)
DIFFERENT = "the paper's queries and lists R_0 are others"


# -- what is played ---------------------------------------------------------------------------------------------------


def rerank(model: str, source: str, label: str = "", **more: Any) -> Environment:
    """The paper's environment of one click model: K = L = 10, metrics at the first five positions, against R*."""
    kwargs = {"source": source, "reference": "sorted", **more}
    return Environment(label or model, f"rankgym/{model}-Yandex-Rerank-v0", kwargs)


def evenly(rounds: int) -> tuple[int, ...]:
    """Rounds to record, so that halves and tenths of the rounds begin at one."""
    return tuple(sorted({max(1, rounds * part // PARTS) for part in range(1, PARTS + 1)}))


def queries(scale: Scale, source: str) -> tuple[int, ...]:
    """The queries that are played."""
    number = QUERIES[check_source(source)]
    if scale == "smoke":
        return tuple(range(SMOKE_QUERIES))
    return tuple(range(0, number, 1 if scale == "full" else number // SMALL_QUERIES))


def comparison(scale: Scale, source: str) -> Sweep:
    """What figures 1, 2 and 4 show: five agents in three click models."""
    rounds = ROUNDS[check_scale(scale)]
    return Sweep(
        environments=tuple(rerank(model, source) for model in MODELS),
        agents=tuple(NAMES),
        rounds=rounds,
        runs=RUNS[scale],
        query=queries(scale, source),
        record_at=evenly(rounds),
        name="BubbleRank, figures 1, 2 and 4",
    )


# -- measures ---------------------------------------------------------------------------------------------------------


def rounds_of(played: Played) -> int:
    """How many rounds were played."""
    return int(played.rounds[-1])


def part(played: Played, start: float, measure: str = "regret") -> Units:
    """What the rounds from ``start`` of the horizon on added to a measure."""
    end = rounds_of(played)
    return statistics.amount(played, measure, end, start=round(end * start))


def judged(
    estimate: Callable[..., Estimate], environment: str, *agents: str, quantity: str, claimed: tuple[float, float]
) -> Callable[[Results], Measured]:
    """What measures a claim: ``estimate`` of what each of ``agents`` has played in ``environment``."""

    def measure(results: Results) -> Measured:
        found = estimate(*(results[environment, agent] for agent in agents))
        last = rounds_of(results[environment, agents[0]])
        return found.measured(quantity.replace("{n}", counted(last)), claimed)

    return measure


def pinned(where: str, *also: str) -> str:
    """``where`` a claim is made, and where it is made, too; the figure comes last."""
    said, _, figure = where.rpartition("; figure ")
    return f"{'; '.join([said, *also])}; figure {figure}"


def noted(measure: Callable[[Results], Measured], note: Callable[[Results], str]) -> Callable[[Results], Measured]:
    """``measure`` with a note."""
    return lambda results: measure(results)._replace(note=note(results))


# -- figure 1: regret -------------------------------------------------------------------------------------------------


def growth(played: Played, measure: str = "regret") -> Estimate:
    """What the second half of the rounds adds, in units of what the first half adds. A line has 1."""
    return statistics.ratio(part(played, 0.5, measure), halfway(played, measure))


def halfway(played: Played, measure: str = "regret") -> Units:
    """What the first half of the rounds adds."""
    return statistics.amount(played, measure, round(rounds_of(played) * 0.5))


def _second_best(*played: Played) -> Estimate:
    """Of all but the last, which is Baseline: the second smallest regret a round at last, in units of Baseline's."""

    def second(*means: NDArray[np.float64]) -> NDArray[np.float64]:
        *agents, baseline = means
        return np.sort(np.stack(agents), axis=0)[1] / baseline

    return statistics.of_means(second, *(part(one, 0.9) for one in played))


def _crossing(one: str, other: str, model: str) -> Callable[[Results], str]:
    """Where the mean curves of two agents cross, for a note."""

    def words(results: Results) -> str:
        crossed = statistics.crossing(results[model, one], results[model, other]).value
        if not math.isfinite(crossed):
            return f"the mean regret of {NAMES[one]} is not above that of {NAMES[other]} at the end"
        return f"the mean regret of {NAMES[one]} is above that of {NAMES[other]} from about round {crossed:,.0f} on"

    return words


def _of_regret() -> Iterator[Claim]:
    where = "section 5.2, paragraph 2, sentence {}; figure 1".format
    halves = "regret in the second half of {n} rounds, in units of that in the first"
    for model in MODELS:
        yield Claim(
            f"two-converge-{model.lower()}",
            "section 5.1, paragraph 6, sentence 6; figure 1",
            f"{model}: after 5 M rounds at least two algorithms display the best list",
            judged(
                _second_best,
                model,
                *NAMES,
                quantity="second smallest regret a round in the last tenth of {n} rounds, in units of Baseline's",
                claimed=(-math.inf, CONVERGED),
            ),
            HORIZON,
        )
    for model in MODELS:
        yield Claim(
            f"baseline-linear-{model.lower()}",
            where(2),
            f"{model}: Baseline's regret is linear in time",
            judged(growth, model, "static", quantity=halves, claimed=LINEAR),
        )
        yield Claim(
            f"baseline-not-optimal-{model.lower()}",
            where(2),
            f"{model}: Baseline's list is not the best one on average over queries",
            judged(
                lambda static: statistics.mean(part(static, 0.0)),
                model,
                "static",
                quantity="Baseline's regret after {n} rounds",
                claimed=ABOVE,
            ),
        )
    for model in ("CM", "DCM"):
        yield Claim(
            f"kl-ucb-learns-quickly-{model.lower()}",
            pinned(where(3), *["section 5.1, paragraph 6, sentence 2"] * (model == "CM")),
            f"{model}: CascadeKL-UCB learns the best list quickly",
            judged(growth, model, "cascade-kl-ucb", quantity=halves, claimed=QUICK),
            HORIZON,
        )
    yield Claim(
        "kl-ucb-linear-pbm",
        pinned(where(3), "section 5.1, paragraph 6, sentence 2"),
        "PBM: the regret of CascadeKL-UCB is linear",
        judged(growth, "PBM", "cascade-kl-ucb", quantity=halves, claimed=LINEAR),
        HORIZON,
    )
    for model in MODELS:
        for agent in ("bubblerank", *SHUFFLING):
            yield Claim(
                f"{agent}-learns-{model.lower()}",
                pinned(where(6), *["section 5.1, paragraph 6, sentence 4"] * (agent in SHUFFLING)),
                f"{model}: {NAMES[agent]} can learn: its regret grows less than linearly",
                judged(growth, model, agent, quantity=halves, claimed=LEARNING),
                HORIZON,
            )
    for model in MODELS:
        for agent in SHUFFLING:
            yield Claim(
                f"bubblerank-above-{agent}-{model.lower()}",
                where(7),
                f"{model}: after 5 M rounds BubbleRank has more regret than {NAMES[agent]}",
                noted(
                    _difference(model, agent, "regret of BubbleRank after {n} rounds, less that of " + NAMES[agent]),
                    _crossing("bubblerank", agent, model),
                ),
                HORIZON,
            )
    for model in MODELS:
        for agent in SHUFFLING:
            yield Claim(
                f"bubblerank-first-below-{agent}-{model.lower()}",
                pinned(where(8), "section 5.1, paragraph 6, sentence 5"),
                f"{model}: in earlier rounds BubbleRank has less regret than {NAMES[agent]}",
                noted(_early_difference(model, agent), _crossing("bubblerank", agent, model)),
            )
    faster = "section 5.3, paragraph 1, sentence 1"
    unlike = "the sentence speaks of all three models, but section 5.2 says that CascadeKL-UCB's regret is linear here"
    for model in MODELS:
        for agent in ("cascade-kl-ucb", *SHUFFLING):
            measure = _difference(
                model,
                agent,
                "regret of BubbleRank in the second half of {n} rounds, less that of " + NAMES[agent],
                start=0.5,
            )
            yield Claim(
                f"bubblerank-slower-than-{agent}-{model.lower()}",
                f"{faster}; figure 1"
                if agent == "cascade-kl-ucb"
                else pinned(where(9), faster, "section 5.3, paragraph 3, sentence 2"),
                f"{model}: BubbleRank converges to the best list more slowly than {NAMES[agent]}",
                noted(measure, lambda results: unlike) if (model, agent) == ("PBM", "cascade-kl-ucb") else measure,
                HORIZON,
            )


def _difference(model: str, agent: str, quantity: str, start: float = 0.0) -> Callable[[Results], Measured]:
    """Regret of BubbleRank from ``start`` of the horizon on, less that of ``agent``: above 0."""
    return judged(
        lambda mine, other: statistics.difference(part(mine, start), part(other, start)),
        model,
        "bubblerank",
        agent,
        quantity=quantity,
        claimed=ABOVE,
    )


def _early_difference(model: str, agent: str) -> Callable[[Results], Measured]:
    return judged(
        lambda mine, other: statistics.difference(
            statistics.amount(mine, "regret", FEW), statistics.amount(other, "regret", FEW)
        ),
        model,
        "bubblerank",
        agent,
        quantity=f"regret of BubbleRank after {counted(FEW)} rounds, less that of {NAMES[agent]}",
        claimed=BELOW,
    )


# -- figure 2: violations ---------------------------------------------------------------------------------------------

PUBLISHED = {  # mean violations in the first 100 steps, and their standard errors: section 5.3, paragraph 2
    "cascade-kl-ucb": {"CM": (24.12, 0.76), "DCM": (23.33, 0.90), "PBM": (23.63, 0.96)},
    "batchrank": {"CM": (83.01, 0.56), "DCM": (71.89, 0.92), "PBM": (59.63, 0.98)},
    "toprank": {"CM": (83.56, 0.70), "DCM": (71.47, 1.07), "PBM": (57.00, 1.24)},
}
SENTENCE = {"cascade-kl-ucb": 3, "batchrank": 7, "toprank": 8}
NORMAL = 2.576  # standard errors to either side of a 99 % interval
OFTEN = 20.0  # of the first 100 sessions: the paper's own word for what hurts users (paragraph 2, sentence 4)


def _first(played: Played) -> Units:
    """Violations in the first 100 rounds."""
    return statistics.amount(played, "violations", FEW)


def _published(model: str, agent: str) -> Callable[[Results], Measured]:
    """Our number less the paper's; the interval has the sampling errors of both."""
    theirs, error = PUBLISHED[agent][model]

    def measure(results: Results) -> Measured:
        ours = statistics.mean(_first(results[model, agent]))
        down, up = (math.hypot(ours.value - end, NORMAL * error) for end in (ours.low, ours.high))
        value = ours.value - theirs
        return Measured(
            f"violations in the first {FEW} rounds ({ours.value:.2f}), less the published {theirs:.2f} ± {error:.2f}",
            value,
            value - down,
            value + up,
            (-SAME * theirs, SAME * theirs),
            f"{ours.method}, with the published standard error",
            f"reproduced means within {SAME:.0%} of the published number; {DIFFERENT}",
        )

    return measure


def _no_violations(model: str) -> Callable[[Results], Measured]:
    """The count of BubbleRank's violations, of all rows and rounds: none."""

    def measure(results: Results) -> Measured:
        played = results[model, "bubblerank"]
        count = float(played.measures["violations"][-1].sum())
        some = statistics.never(part(played, 0.0, "violations"))
        return statistics.exact(count).measured(
            f"rounds that violated the constraint, of {len(played.row)} rows with {counted(rounds_of(played))} each",
            (0.0, 0.0),
            f"so at most {some.high:.1%} of such queries have any ({some.method})",
        )

    return measure


def _of_violations() -> Iterator[Claim]:
    where = "section 5.3, paragraph 2, sentence {}; figure 2".format
    early = f"violations in the first {FEW} rounds"
    for model in MODELS:
        yield Claim(
            f"bubblerank-never-{model.lower()}",
            pinned(where(2), "paragraph 3, sentence 1", "section 4.3, paragraph 4, sentence 4"),
            f"{model}: BubbleRank never violates the safety constraint",
            _no_violations(model),
            HORIZON,
        )
    for agent, numbers in PUBLISHED.items():
        for model, (mean, error) in numbers.items():
            yield Claim(
                f"{agent}-first-100-{model.lower()}",
                where(SENTENCE[agent]),
                f"{model}: {NAMES[agent]} violates it in {mean} ± {error} of the first {FEW} rounds",
                _published(model, agent),
            )
    for model in MODELS:
        yield Claim(
            f"kl-ucb-unsafe-{model.lower()}",
            pinned(where(4), "paragraph 3, sentence 1"),
            f"{model}: CascadeKL-UCB may show unsafe lists in more than {OFTEN:.0f} % of the first {FEW} sessions",
            judged(
                lambda played: statistics.mean(_first(played)),
                model,
                "cascade-kl-ucb",
                quantity=early,
                claimed=(OFTEN, math.inf),
            ),
        )
    yield Claim(
        "kl-ucb-violations-linear-pbm",
        where(5),
        "PBM: CascadeKL-UCB goes on violating it at a constant rate",
        judged(
            lambda played: growth(played, "violations"),
            "PBM",
            "cascade-kl-ucb",
            quantity="violations in the second half of {n} rounds, in units of those in the first",
            claimed=LINEAR,
        ),
        HORIZON,
    )
    for model in MODELS:
        for agent in SHUFFLING:
            yield Claim(
                f"{agent}-less-safe-than-kl-ucb-{model.lower()}",
                where(6),
                f"{model}: {NAMES[agent]} is less safe than CascadeKL-UCB",
                judged(
                    lambda one, other: statistics.difference(_first(one), _first(other)),
                    model,
                    agent,
                    "cascade-kl-ucb",
                    quantity=f"{early} of {NAMES[agent]}, less those of CascadeKL-UCB",
                    claimed=ABOVE,
                ),
            )
    for model in MODELS:
        yield Claim(
            f"toprank-as-batchrank-{model.lower()}",
            where(9),
            f"{model}: TopRank is about as safe as BatchRank in the first {FEW} rounds",
            judged(
                lambda one, other: statistics.ratio(_first(one), _first(other)),
                model,
                "toprank",
                "batchrank",
                quantity=f"{early} of TopRank, in units of BatchRank's",
                claimed=(1 - CLOSE, 1 + CLOSE),
            ),
        )
    for model in MODELS:
        for agent in SHUFFLING:
            yield Claim(
                f"{agent}-often-unsafe-{model.lower()}",
                pinned(where(10), "paragraph 3, sentence 1"),
                f"{model}: early on {NAMES[agent]} often displays unsafe lists",
                judged(
                    lambda played: statistics.mean(_first(played)),
                    model,
                    agent,
                    quantity=f"{early} (often: more than the {OFTEN:.0f} of sentence 4)",
                    claimed=(OFTEN, math.inf),
                ),
            )


# -- figure 3: |V_0| and chi_min --------------------------------------------------------------------------------------

LISTS = 10  # random initial lists
LISTS_OF: dict[Scale, int] = {"full": LISTS, "small": 4, "smoke": 2}
WEAK_RUNS: dict[Scale, int] = {"full": 10, "small": 10, "smoke": 2}
WEAK_HORIZON = 1_000_000
HALVINGS = (1, 2, 3, 4, 5)  # chi_min = 0.5^i


def random_list(number: int) -> list[int]:
    """The random initial list of this number."""
    return [int(item) for item in np.random.default_rng([54, number]).permutation(10)]


def _list_label(model: str, number: int) -> str:
    return f"{model}, list {number + 1}"


def _weak_label(halvings: int) -> str:
    return f"chi_min = 0.5^{halvings}"


def _sanity_check(scale: Scale, source: str) -> Sweep:
    rounds = ROUNDS[check_scale(scale)]
    weak = min(rounds, WEAK_HORIZON)
    lists = [
        rerank(model, source, _list_label(model, number), initial_list=random_list(number))
        for model in MODELS
        for number in range(LISTS_OF[scale])
    ]
    tails = [
        Environment(
            _weak_label(i),
            "rankgym/PBM-WeakTail-Rerank-v0",
            rounds=weak,
            runs=WEAK_RUNS[scale],
            query=(i - 1,),
            record_at=evenly(weak),
        )
        for i in HALVINGS
    ]
    return Sweep(
        environments=(*lists, *tails),
        agents=("bubblerank",),
        rounds=rounds,
        runs=RUNS[scale],
        query=queries(scale, source),
        record_at=evenly(rounds),
        name="BubbleRank, figure 3",
    )


def by_misordered(results: Results, model: str) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """|V_0|, the regret at last and the query of each pair of a query and an initial list (mean over its runs)."""
    misordered, regret, query = [], [], []
    for label in results.environments:
        if not label.startswith(f"{model}, list "):
            continue
        played = results[label, "bubblerank"]
        names, values = played.by_query(played.measures["regret"][-1])
        env: Any = gym.make_vec(played.env_id, num_envs=len(names), query=names.tolist(), **played.env_kwargs)
        misordered.append(np.array(env.unwrapped.initial_misordered))
        env.close()
        regret.append(values)
        query.append(names)
    return np.concatenate(misordered), np.concatenate(regret), np.concatenate(query)


def _linear_in_misordered(model: str) -> Callable[[Results], Measured]:
    """A straight line: the slopes of a parabola. Queries differ in their gaps, each has a factor of its own."""

    def measure(results: Results) -> Measured:
        misordered, regret, query = by_misordered(results, model)
        _, which = np.unique(query, return_inverse=True)
        usual = np.polyval(np.polyfit(misordered, regret, 2), misordered)  # of all queries
        factor = np.bincount(which, regret) / np.bincount(which, np.maximum(usual, regret.mean() / 100))
        found = statistics.curvature(misordered, regret / factor[which], query, within=True)
        middle = float(np.ptp(np.quantile(misordered, MIDDLE)) / np.ptp(misordered))  # ends of few lists are anybody's
        found = found._replace(value=found.value * middle, low=found.low * middle, high=found.high * middle)
        return found.measured(
            "curvature of BubbleRank's regret over the number of misordered pairs |V_0|: the change of its slope from "
            "the tenth of the lists with the fewest to that with the most, in units of the mean slope",
            (-BENT, BENT),
            f"linear means that neither slope is more than {FACTOR} times the other",
        )

    return measure


def _increasing_in_misordered(model: str) -> Callable[[Results], Measured]:
    def measure(results: Results) -> Measured:
        found = statistics.slope(*by_misordered(results, model), within=True)
        return found.measured(
            "regret of BubbleRank for each misordered pair of the initial list, within queries", ABOVE
        )

    return measure


def _weak_regret(results: Results, halvings: int) -> Units:
    return part(results[_weak_label(halvings), "bubblerank"], 0.0)


def _doubles(halvings: int) -> Callable[[Results], Measured]:
    def measure(results: Results) -> Measured:
        found = statistics.ratio(_weak_regret(results, halvings), _weak_regret(results, halvings - 1))
        return found.measured(
            f"regret at chi_min = 0.5^{halvings}, in units of that at 0.5^{halvings - 1}",
            (2 / FACTOR, 2 * FACTOR),
            f"about double means within a factor of {FACTOR} of 2",
        )

    return measure


def _inverse(results: Results) -> Measured:
    ends = HALVINGS[-1], HALVINGS[0]

    def exponent(last: NDArray[np.float64], first: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log2(last / first) / (ends[0] - ends[1])

    found = statistics.of_means(exponent, *(_weak_regret(results, i) for i in ends))
    return found.measured(
        "exponent of BubbleRank's regret in 1 / chi_min, from 0.5 to 0.5^5",
        (1 / FACTOR, FACTOR),
        f"proportional means an exponent within a factor of {FACTOR} of 1",
    )


def _of_bounds() -> Iterator[Claim]:
    for model in MODELS:
        where = "section 5.4, paragraph 2, sentence 4; figure 3, left"
        yield Claim(
            f"regret-grows-with-misordered-{model.lower()}",
            pinned(where, "section 4.3, paragraph 2, sentences 3 and 4"),
            f"{model}: BubbleRank's regret is larger the more pairs of the initial list are misordered",
            _increasing_in_misordered(model),
            HORIZON,
        )
        yield Claim(
            f"regret-linear-in-misordered-{model.lower()}",
            where,
            f"{model}: BubbleRank's regret depends linearly on how many pairs of the initial list are misordered",
            _linear_in_misordered(model),
            HORIZON,
        )
    for i in HALVINGS[1:]:
        yield Claim(
            f"regret-doubles-{i - 1}-{i}",
            "section 5.4, paragraph 3, sentences 4 and 5; figure 3, right",
            f"BubbleRank's regret about doubles where chi_min falls from 0.5^{i - 1} to 0.5^{i}",
            _doubles(i),
            WEAK_HORIZON,
        )
    yield Claim(
        "regret-inverse-in-chi-min",
        "section 5.4, paragraph 3, sentence 6; section 4.3, paragraph 3, sentence 2; figure 3, right",
        "BubbleRank's regret does depend on chi_min as 1 / chi_min",
        _inverse,
        WEAK_HORIZON,
    )


# -- figure 4: NDCG ---------------------------------------------------------------------------------------------------

RANKERS = ("bubblerank", "batchrank", "toprank", "static")  # the paper leaves CascadeKL-UCB out


def _quality(played: Played, start: float = 0.9) -> Units:
    return part(played, start, "ndcg")


def _first_quality(played: Played) -> Units:
    return statistics.amount(played, "ndcg", FEW)


def _worst(mine: Played, baseline: Played) -> Estimate:
    """The least mean NDCG of ``mine``, less that of ``baseline``, of the first 100 rounds and between later records."""
    late = mine.rounds >= FEW
    rounds = mine.rounds[late].astype(float)
    stretches = np.diff(rounds, prepend=0.0)

    def least(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        ahead = (one - other)[..., late] * rounds
        return np.asarray((np.diff(ahead, axis=-1, prepend=0.0) / stretches).min(axis=-1))

    return statistics.of_means(least, *(statistics.curves(played, "ndcg") for played in (mine, baseline)))


def _of_quality() -> Iterator[Claim]:
    where = "appendix B, paragraph {}, sentence {}; figure 4".format
    first, last = f"NDCG@5 of the first {FEW} rounds", "NDCG@5 in the last tenth of {n} rounds"
    for model in MODELS:
        yield Claim(
            f"baseline-good-{model.lower()}",
            where(3, 1),
            f"{model}: Baseline's lists are good",
            judged(
                lambda played: statistics.mean(_quality(played)),
                model,
                "static",
                quantity=f"NDCG@5 of Baseline (good: at least {GOOD_NDCG})",
                claimed=(GOOD_NDCG, 1.0),
            ),
        )
        yield Claim(
            f"baseline-can-be-improved-{model.lower()}",
            where(3, 2),
            f"{model}: Baseline's lists could be better",
            judged(
                lambda played: statistics.of_means(lambda quality: 1.0 - quality, _quality(played)),
                model,
                "static",
                quantity="1 less the NDCG@5 of Baseline",
                claimed=ABOVE,
            ),
        )
    for model in MODELS:
        for one, other in (("bubblerank", "batchrank"), ("bubblerank", "toprank"), ("batchrank", "toprank")):
            yield Claim(
                f"{one}-{other}-similar-{model.lower()}",
                where(3, 3),
                f"{model}: after 5 M rounds the lists of {NAMES[one]} are about as good as those of {NAMES[other]}",
                judged(
                    lambda one, other: statistics.difference(_quality(one), _quality(other)),
                    model,
                    one,
                    other,
                    quantity=f"{last}, {NAMES[one]} less {NAMES[other]} (similar: within {SIMILAR_NDCG})",
                    claimed=(-SIMILAR_NDCG, SIMILAR_NDCG),
                ),
                HORIZON,
            )
    for model in MODELS:
        yield Claim(
            f"bubblerank-starts-as-baseline-{model.lower()}",
            where(3, 4),
            f"{model}: at first BubbleRank's lists are about as good as Baseline's",
            judged(
                lambda one, other: statistics.difference(_first_quality(one), _first_quality(other)),
                model,
                "bubblerank",
                "static",
                quantity=f"{first}, BubbleRank less Baseline (close: within {NEAR_NDCG})",
                claimed=(-NEAR_NDCG, NEAR_NDCG),
            ),
        )
        for agent in SHUFFLING:
            yield Claim(
                f"{agent}-starts-low-{model.lower()}",
                where(3, 4),
                f"{model}: at first {NAMES[agent]}'s lists are very bad by NDCG@5",
                judged(
                    lambda one, other: statistics.difference(_first_quality(one), _first_quality(other)),
                    model,
                    agent,
                    "static",
                    quantity=f"{first}, {NAMES[agent]} less Baseline (very low: at least {LOW_NDCG} below)",
                    claimed=(-math.inf, -LOW_NDCG),
                ),
            )
    for model in MODELS:
        yield Claim(
            f"bubblerank-approaches-1-{model.lower()}",
            pinned(where(4, 2), "section 5.3, paragraph 3, sentence 3"),
            f"{model}: BubbleRank's NDCG@5 approaches 1",
            judged(
                lambda played: statistics.mean(_quality(played)),
                model,
                "bubblerank",
                quantity=f"{last}, BubbleRank (approaches 1: at least {PERFECT_NDCG})",
                claimed=(PERFECT_NDCG, 1.0),
            ),
            HORIZON,
        )
    for model in MODELS:
        yield Claim(
            f"bubblerank-never-much-worse-{model.lower()}",
            where(4, 3),
            f"{model}: BubbleRank's NDCG@5 is never much below Baseline's",
            judged(
                _worst,
                model,
                "bubblerank",
                "static",
                quantity=f"least NDCG@5 of BubbleRank, less Baseline's, of the first {FEW} rounds and between later "
                f"records up to {{n}} rounds (much worse: more than {NEAR_NDCG} below)",
                claimed=(-NEAR_NDCG, math.inf),
            ),
            HORIZON,
        )


# -- drawing ----------------------------------------------------------------------------------------------------------


def _panels(results: Results, agents: Sequence[str], of: Callable[[Played], Any], **panel: Any) -> Figure:
    """One panel a click model, with a curve an agent."""
    from rankgym.experiments.show import figures

    made = [
        figures.Panel(title=model, curves=[of(results[model, agent]) for agent in agents], **panel) for model in MODELS
    ]
    return figures.panels(made, caption=told(results))


def told(results: Results) -> str:
    """What the curves are means of, for a caption."""
    played = next(iter(results))
    number, runs = len(np.unique(played.query)), len(np.unique(played.run))
    return (
        f"Mean and standard error over {number:,} {'query' if number == 1 else 'queries'}, {runs:,} "
        f"{'run' if runs == 1 else 'runs'} each; {counted(rounds_of(played))} rounds."
    )


def _draw_regret(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    return _panels(results, tuple(NAMES), figures.curve, ylabel="regret", xscale="log", yscale="log")


def _draw_violations(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    return _panels(
        results,
        tuple(NAMES)[:-1],
        lambda played: figures.curve(played, "violations"),
        ylabel="violations of the safety constraint",
        xscale="log",
        yscale="symlog",
    )


def _draw_quality(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    return _panels(results, RANKERS, figures.per_round, ylabel="NDCG@5 of a round", xscale="log", from_zero=False)


def _draw_bounds(results: Results) -> Figure:
    """Regret over |V_0|, a panel a click model; and over rounds for each chi_min."""
    from rankgym.experiments.show import figures

    made = []
    for model in MODELS:
        misordered, regret, _ = by_misordered(results, model)
        numbers = np.unique(misordered)
        groups = [regret[misordered == number] for number in numbers]
        mean = np.array([group.mean() for group in groups])
        error = np.array(
            [group.std(ddof=1) / math.sqrt(len(group)) if len(group) > 1 else math.nan for group in groups]
        )
        slope, height = np.polyfit(misordered, regret, 1) if len(numbers) > 1 else (0.0, regret.mean())
        curves = [
            figures.Curve("bubblerank", numbers, mean, error, marked=True, joined=False),
            figures.Curve("least squares", numbers, height + slope * numbers),
        ]
        made.append(figures.Panel(model, curves, xlabel="misordered pairs of the initial list", ylabel="regret"))
    tails = [figures.curve(results[_weak_label(i), "bubblerank"], label=_weak_label(i)) for i in HALVINGS]
    made.append(figures.Panel("PBM with a rarely examined tail", tails, ylabel="regret"))
    lists = sum(label.startswith("CM, list ") for label in results.environments)
    runs = len(np.unique(results[_weak_label(1), "bubblerank"].run))
    caption = told(results).replace(" each;", f", {lists} random initial lists each;")
    return figures.panels(made, caption=f"{caption[:-1]}; rarely examined tail: {runs:,} runs.")


# -- the table --------------------------------------------------------------------------------------------------------

SCALES_OF_RUNS = (
    " Scale full: 10 runs of each query, 5 M rounds, as in the paper; small: one run of every second "
    "query (of the calibrated every third), 5 M rounds; smoke: 6 queries, 1,000 rounds."
)

FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure(
        "bubblerank-figure-1",
        PAPER,
        "Regret of BubbleRank, CascadeKL-UCB, BatchRank, TopRank and Baseline in the CM, DCM and PBM",
        DATA + SCALES_OF_RUNS,
        comparison,
        _draw_regret,
        tuple(_of_regret()),
    ),
    PaperFigure(
        "bubblerank-figure-2",
        PAPER,
        "Violations of the safety constraint in the runs of figure 1",
        DATA
        + SCALES_OF_RUNS
        + " The paper leaves out BubbleRank, whose violations it says are none; here it is drawn.",
        comparison,
        _draw_violations,
        tuple(_of_violations()),
    ),
    PaperFigure(
        "bubblerank-figure-3",
        PAPER,
        "Regret of BubbleRank by the misordered pairs of its initial list, and by the least examination probability",
        DATA + " Left: ten random initial lists for each query, the same ten for all of them, as |V_0| differs by "
        "query all the same. Right: section 5.4 writes R_0 = (2, ..., K - 1, 1), read as (2, ..., K, 1); metrics at "
        "all positions; ten runs on the same seeds for each chi_min."
        + SCALES_OF_RUNS.replace("one run", "one run, 4 lists"),
        _sanity_check,
        _draw_bounds,
        tuple(_of_bounds()),
    ),
    PaperFigure(
        "bubblerank-figure-4",
        PAPER,
        "NDCG@5 of a round of BubbleRank, BatchRank, TopRank and Baseline in the runs of figure 1",
        DATA + SCALES_OF_RUNS + " NDCG@5 of a round is the mean between neighbouring records, about 20 a decade.",
        comparison,
        _draw_quality,
        tuple(_of_quality()),
    ),
)
