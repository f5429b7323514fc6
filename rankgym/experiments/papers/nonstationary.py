"""The figures of Li and de Rijke, "Cascading non-stationary bandits" (IJCAI 2019): users who change their minds.

Both figures are of the same runs, of section 5: in epochs 1, 3, 5, ... three suboptimal items jump to an attraction of
0.9, in epochs 0, 2, 4, ... the query is its own again; an epoch is a tenth of the horizon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import statistics
from rankgym.experiments.judge.claims import Claim, Measured
from rankgym.experiments.papers.figure import PaperFigure, Scale
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "sweep"]

PAPER = "Li and de Rijke, Cascading non-stationary bandits, IJCAI 2019"
ROUNDS, EPOCHS = 100_000, 10  # of the paper; epochs are of 10,000 rounds
CM = "CM"  # label of the environment
DUCB, SWUCB, EXP3, KLUCB, BATCHRANK = AGENTS = (
    "cascade-ducb",
    "cascade-swucb",
    "ranked-exp3",
    "cascade-kl-ucb",
    "batchrank",
)
NAMES = {
    DUCB: "CascadeDUCB",
    SWUCB: "CascadeSWUCB",
    EXP3: "RankedEXP3",
    KLUCB: "CascadeKL-UCB",
    BATCHRANK: "BatchRank",
}
FORGETTING, BASELINES = (DUCB, SWUCB), (EXP3, KLUCB, BATCHRANK)
SINGLE = 20  # queries of figure 2: the first ones
NORMAL = 2.576  # standard errors to either side of a 99 % interval

# What the paper leaves to the eye. One border parts linear from sub-linear growth, so that no regret is both.
LINEAR = 0.9  # growth exponents from here on are called linear, those below sub-linear
SAME = 0.2  # of a published number: a mean that is no farther from it is the same
SMALL_GAP = 0.25  # the gap between two agents is small up to this share of the larger regret


def sweep(scale: Scale, source: str) -> Sweep:
    """Five agents in the changing cascade model; both figures play this. ``source`` is that of the queries."""
    rounds = 1_000 if scale == "smoke" else ROUNDS
    return Sweep(
        environments=(
            Environment(
                CM,
                "rankgym/CM-Yandex-Breakpoint-v0",
                {"source": source, "epoch_lengths": rounds // EPOCHS},
            ),
        ),
        agents=AGENTS,
        rounds=rounds,
        runs={"full": 10, "small": 2, "smoke": 1}[scale],
        query=tuple(range(SINGLE)) if scale == "smoke" else "all",
        name=f"non-stationary figures 1 and 2, {scale}",
    )


# -- what is measured -------------------------------------------------------------------------------------------------


def _rounds(played: Played) -> int:
    return int(played.rounds[-1])


def _growth(agent: str, claimed: tuple[float, float], results: Results) -> Measured:
    """The growth exponent of the regret from the end of the second epoch to that of the last one.

    Both ends follow as many epochs of either kind. What the first epochs cost is in the regret of both.
    """
    played = results[CM, agent]
    end = _rounds(played)
    theory = "; the theory speaks of agents tuned to ever longer horizons, the figure has one"
    return statistics.growth(played, stop=end, start=end // 5).measured(
        f"growth exponent of {NAMES[agent]}'s regret from round {end // 5:,} to {end:,} (1: linear)",
        claimed,
        f"called linear from {LINEAR} on, sub-linear below{theory if agent in FORGETTING else ''}",
    )


def _missed(agent: str, results: Results) -> Measured:
    """Regret per epoch after the first breakpoint, above the worse one of the agents that forget."""
    after = range(1, EPOCHS)
    units = [statistics.epochs(results[CM, name], after) for name in (agent, *FORGETTING)]

    def lead(baseline: NDArray[np.float64], *forgetting: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((baseline - np.maximum(*forgetting)) / len(after))

    return statistics.of_means(lead, *units).measured(
        f"{NAMES[agent]}'s regret in an epoch after a breakpoint, less the larger one of CascadeDUCB and CascadeSWUCB",
        (0.0, math.inf),
        "the sentence is read as: they lose more in the epochs after breakpoints than those that forget",
    )


def _superior(agent: str, results: Results) -> Measured:
    """Regret of all epochs, above the worse one of the agents that forget."""
    units = [statistics.amount(results[CM, name]) for name in (agent, *FORGETTING)]
    return statistics.of_means(lambda baseline, *forgetting: baseline - np.maximum(*forgetting), *units).measured(
        f"{NAMES[agent]}'s regret less the larger one of CascadeDUCB and CascadeSWUCB", (0.0, math.inf)
    )


def _worse_in_default(agent: str, results: Results) -> Measured:
    played = results[CM, agent]
    first, later = statistics.epochs(played, [0]), statistics.epochs(played, range(2, EPOCHS, 2))
    found = statistics.of_means(lambda later, first: later / len(range(2, EPOCHS, 2)) - first, later, first)
    return found.measured(
        f"{NAMES[agent]}'s regret in epochs 2, 4, 6, 8 (mean) less that in epoch 0; the users are the same in all five",
        (0.0, math.inf),
    )


def _in_epoch(agent: str, epoch: int, published: float, error: float, results: Results) -> Measured:
    """The regret in an epoch. One published error is a third of its number: the claim is what such a number says."""
    near = max(SAME * published, NORMAL * error)
    return statistics.mean(statistics.epochs(results[CM, agent], [epoch])).measured(
        f"{NAMES[agent]}'s regret in epoch {epoch} (published: {published:.2f} ± {error:.2f})",
        (published - near, published + near),
        f"reproduced means within {SAME:.0%} of the published number, or within {NORMAL} of its standard errors if "
        "that is more; the paper's queries are others",
    )


def _within_epochs(agent: str, results: Results) -> Measured:
    """Regret in the last fifth of the epochs after a breakpoint, as a share of that in their first fifth."""
    played = results[CM, agent]
    epoch = _rounds(played) // EPOCHS
    part = epoch // 5
    starts = range(epoch, _rounds(played), epoch)

    def between(offset: int) -> NDArray[np.float64]:
        total = np.zeros(len(played.row))
        for start in starts:
            total += played.at("regret", start + offset + part) - played.at("regret", start + offset)
        return total

    found = statistics.ratio(
        statistics.each_row(played, between(epoch - part)), statistics.each_row(played, between(0))
    )
    return found.measured(
        f"{NAMES[agent]}'s regret in the last fifth of an epoch, as a share of that in its first fifth, epochs 1 to 9",
        (0.0, 1.0),
        "the sentence is read as: after a breakpoint the regret of a round falls",
    )


def _difference(results: Results) -> Measured:
    ducb, swucb = (statistics.amount(results[CM, agent]) for agent in FORGETTING)
    return statistics.difference(ducb, swucb).measured("CascadeDUCB's regret less CascadeSWUCB's", (0.0, math.inf))


def _gap(results: Results) -> Measured:
    ducb, swucb = (statistics.amount(results[CM, agent]) for agent in FORGETTING)
    return statistics.of_means(lambda ducb, swucb: (ducb - swucb) / ducb, ducb, swucb).measured(
        "the gap between them as a share of CascadeDUCB's regret",
        (0.0, SMALL_GAP),
        f"called small up to {SMALL_GAP:.0%}",
    )


def _factor(results: Results) -> Measured:
    ducb, swucb = (statistics.amount(results[CM, agent]) for agent in FORGETTING)
    factor = math.sqrt(math.log(_rounds(results[CM, DUCB])))
    return statistics.ratio(ducb, swucb).measured(
        "CascadeDUCB's regret as a multiple of CascadeSWUCB's",
        (1.0, factor),
        f"the bounds differ by sqrt(ln n) = {factor:.2f} at most: consistent is what lies between 1 and that",
    )


def _claims_of_1() -> Iterable[Claim]:
    def claim(name: str, where: str, text: str, measure: Callable[[Results], Measured]) -> Claim:
        return Claim(name, where, text, measure, needs_rounds=ROUNDS)

    for agent in BASELINES:
        yield claim(
            f"{agent}-linear",
            "section 5, paragraph 4, sentence 2; section 1, paragraph 3, sentence 1; figure 1",
            f"The regret of every baseline is linear in time; here {NAMES[agent]}'s.",
            partial(_growth, agent, (LINEAR, math.inf)),
        )
    for agent in BASELINES:
        yield claim(
            f"{agent}-inferior",
            "section 5, paragraph 3, sentence 7; figure 1",
            f"Where users change, the two that forget are better than the baselines; here than {NAMES[agent]}.",
            partial(_superior, agent),
        )
    for agent in BASELINES:
        yield claim(
            f"{agent}-misses-breakpoints",
            "section 5, paragraph 4, sentence 3; figure 1",
            f"The baselines do not notice the breakpoints; here {NAMES[agent]}.",
            partial(_missed, agent),
        )
    for agent in BASELINES:
        yield claim(
            f"{agent}-worse-in-default-epochs",
            "section 5, paragraph 4, sentence 4; figure 1",
            f"Changes harm the baselines even in epochs in which users are as they were at first; here {NAMES[agent]}.",
            partial(_worse_in_default, agent),
        )
    yield claim(
        "kl-ucb-first-epoch",
        "section 5, paragraph 4, sentence 5; figure 1",
        "CascadeKL-UCB has a regret of 111.50 (standard error 1.12) in the first 10,000 rounds.",
        partial(_in_epoch, KLUCB, 0, 111.50, 1.12),
    )
    yield claim(
        "kl-ucb-ninth-epoch",
        "section 5, paragraph 4, sentence 5; figure 1",
        "CascadeKL-UCB has a regret of 447.82 (standard error 137.16) from round 80,000 to 90,000.",
        partial(_in_epoch, KLUCB, 8, 447.82, 137.16),
    )
    for agent in FORGETTING:
        yield claim(
            f"{agent}-converges",
            "section 5, paragraph 4, sentence 8; figure 1",
            f"Those that forget notice the breakpoints and converge; here {NAMES[agent]}.",
            partial(_within_epochs, agent),
        )
    for agent in FORGETTING:
        yield claim(
            f"{agent}-sub-linear",
            "section 7, paragraph 1, sentences 4 and 5; figure 1",
            f"The experiments confirm the theory, that the regret of both is sub-linear; here {NAMES[agent]}'s.",
            partial(_growth, agent, (-math.inf, LINEAR)),
        )
    yield claim(
        "swucb-better-than-ducb",
        "section 5, paragraph 4, sentence 9; section 4.3, paragraph 1, sentence 4; figure 1",
        "CascadeSWUCB has less regret than CascadeDUCB.",
        _difference,
    )
    yield claim(
        "swucb-better-by-little",
        "section 5, paragraph 4, sentence 9; figure 1",
        "The gap between CascadeSWUCB and CascadeDUCB is small.",
        _gap,
    )
    yield claim(
        "swucb-better-as-in-theory",
        "section 5, paragraph 4, sentence 10; figure 1",
        "This agrees with the bounds, of which CascadeSWUCB's is better by a factor of sqrt(ln n).",
        _factor,
    )


def _single_queries(played: Played) -> list[Played]:
    """The rows of each of the first queries, query by query."""
    return [_rows(played, played.query == query) for query in np.unique(played.query)[:SINGLE]]


def _rows(played: Played, which: NDArray[np.bool_]) -> Played:
    return played._replace(
        row=played.row[which],
        query=played.query[which],
        run=played.run[which],
        measures={name: values[:, which] for name, values in played.measures.items()},
        epoch_regret=played.epoch_regret[:, which],
        settled_at=played.settled_at[which],
    )


def _share(agent: str, linear: bool, results: Results) -> Measured:
    """Share of the single queries on which the regret (mean over runs) grows as claimed."""
    played = results[CM, agent]
    end = _rounds(played)
    ours = _rows(played, np.isin(played.query, np.unique(played.query)[:SINGLE]))
    late, early = (statistics.amount(ours, stop=stop) for stop in (end, end // 5))

    def grows(late: NDArray[np.float64], early: NDArray[np.float64]) -> NDArray[np.bool_]:
        # an exponent from LINEAR on, without dividing by a regret of 0
        return np.asarray((late >= early * 5.0**LINEAR) == linear)

    queries = len(_single_queries(played))
    return statistics.share(grows, late, early).measured(
        f"share of {queries} queries on which {NAMES[agent]}'s regret grows with an exponent "
        f"{'of at least' if linear else 'below'} {LINEAR} from round {end // 5:,} to {end:,}",
        (0.5, 1.0),
        "read as: on most queries; the interval is that of a share among queries like these",
    )


def _claims_of_2() -> Iterable[Claim]:
    for agent in AGENTS:
        linear = agent in BASELINES
        yield Claim(
            f"{agent}-{'linear' if linear else 'sub-linear'}-on-single-queries",
            "appendix B, paragraph 1, sentence 3; figure 2",
            f"On single queries the regret of the baselines is linear, that of the other two sub-linear; here "
            f"{NAMES[agent]}'s is {'linear' if linear else 'sub-linear'}.",
            partial(_share, agent, linear),
            needs_rounds=ROUNDS,
        )


# -- what is drawn ----------------------------------------------------------------------------------------------------


def _breakpoints(results: Results) -> list[int]:
    end = _rounds(results[CM, AGENTS[0]])
    return list(range(end // EPOCHS, end, end // EPOCHS))


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"


def _draw_1(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    played = [results[CM, agent] for agent in AGENTS]
    rows, queries = len(played[0].row), len(np.unique(played[0].query))
    return figures.panels(
        [
            figures.Panel(
                "Regret", [figures.curve(one) for one in played], breakpoints=_breakpoints(results), bottom=0.0
            ),
            figures.Panel(
                "Regret of each epoch",
                [figures.per_epoch(one)._replace(marked=True) for one in played],
                xlabel="epoch (odd: three items jump to 0.9)",
                bottom=0.0,
            ),
        ],
        caption=f"Cascade model, {queries} queries, {_runs(rows // queries)} of each; bands and bars: one standard "
        "error over all of them",
    )


def _draw_2(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    queries = [_single_queries(results[CM, agent]) for agent in AGENTS]
    panels = [
        figures.Panel(
            f"Query {rows[0].query[0]}",
            [figures.curve(one) for one in rows],
            breakpoints=_breakpoints(results),
            bottom=0.0,
        )
        for rows in zip(*queries, strict=True)
    ]
    runs = len(queries[0][0].row)
    return figures.panels(
        panels,
        columns=5,
        caption=f"Regret on the first {len(panels)} queries, mean of {_runs(runs)}; bands: one standard error "
        "over runs",
    )


COMMON = (
    "Published: the click models of 60 queries of the Yandex log, of which the paper drew another 100; calibrated: 100 "
    "synthetic queries. Which items jump is drawn for each row, and is the same for all agents. CascadeSWUCB counts "
    "the rounds in which an item was examined (the text; the listing says: displayed); BatchRank's schedule is its "
    "authors'; CascadeKL-UCB explores with log t + 3 log log t."
)

FIGURES = (
    PaperFigure(
        name="nonstationary-figure-1",
        paper=PAPER,
        title="Regret of agents that forget, and of baselines that do not, where three items jump every other 10,000 "
        "rounds",
        setting=f"As in section 5: 10 items, 3 positions, 10 epochs of 10,000 rounds. {COMMON}",
        sweep=sweep,
        draw=_draw_1,
        claims=tuple(_claims_of_1()),
    ),
    PaperFigure(
        name="nonstationary-figure-2",
        paper=PAPER,
        title="The same on single queries",
        setting=f"The runs of figure 1, on the first {SINGLE} queries; how the paper picked its 20 is not said. Its "
        f"caption names BubbleRank where figure 1 has BatchRank; here both have the baselines of section 5. {COMMON}",
        sweep=sweep,
        draw=_draw_2,
        claims=tuple(_claims_of_2()),
    ),
)
