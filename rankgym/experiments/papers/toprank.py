"""TopRank: Lattimore, Kveton, Li and Szepesvari (NeurIPS 2018), figures 3 and 4.

What claims mean in numbers, where the paper leaves it to the eye:

* about three times: within a factor of 1.5 of 3; about 30 % lower: 15 to 45 % lower;
* linear regret in a query: the second half of the rounds adds at least 0.8 times as much as the first; a very good
  policy: less than that;
* about two thirds of the queries: 2/3 within 0.2; many: at least a third; consistently: in at least 9 of 10;
  outperforms, typically: in more than half of the queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankgym.experiments.judge import statistics
from rankgym.experiments.judge.claims import Claim, Measured
from rankgym.experiments.judge.comparison import counted
from rankgym.experiments.judge.statistics import Estimate, Units
from rankgym.experiments.papers.bubblerank import STILL, evenly, halfway, judged, part, pinned, rounds_of, told
from rankgym.experiments.papers.figure import PaperFigure, Scale, check_scale, check_source
from rankgym.experiments.plan.sweep import Environment, Sweep
from rankgym.experiments.run.results import Played, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "problems"]

PAPER = "Lattimore et al., TopRank: a practical algorithm for online stochastic ranking, NeurIPS 2018"
LAST = "cascade-kl-ucb:feedback=last"
READINGS = {LAST: "last", "cascade-kl-ucb": "first"}  # down to which click CascadeKL-UCB learns; in the CM there is one
AGENTS = {  # in the CM users click at most once: both readings of CascadeKL-UCB are the same
    "CM": ("toprank", "cascade-kl-ucb", "batchrank"),
    "PBM": ("toprank", LAST, "cascade-kl-ucb", "batchrank"),
}
HORIZON, MILLION, CROSSED = 5_000_000, 1_000_000, 4_000_000
QUERIES, SMOKE_QUERIES = 60, 6
ROUNDS: dict[Scale, int] = {"full": HORIZON, "small": HORIZON, "smoke": 1_000}
RUNS: dict[Scale, int] = {"full": 10, "small": 1, "smoke": 1}

ABOVE = (0.0, math.inf)
FACTOR = 1.5  # of "about three times"
LOWER = (0.15, 0.45)  # "about 30 % lower"
TWO_THIRDS = (2 / 3 - 0.2, 2 / 3 + 0.2)
MANY, MOST, NEARLY_ALL = (1 / 3, 1.0), (0.5, 1.0), (0.9, 1.0)


def comparison(scale: Scale, source: str) -> Sweep:
    """What both figures show: three agents in two click models, ten items at five positions."""
    rounds, number = ROUNDS[check_scale(scale)], SMOKE_QUERIES if scale == "smoke" else QUERIES
    more = {round for round in (MILLION, CROSSED) if round < rounds}
    return Sweep(
        environments=tuple(
            Environment(model, f"rankgym/{model}-Yandex-v0", {"source": check_source(source)}, agents=agents)
            for model, agents in AGENTS.items()
        ),
        agents=(),
        rounds=rounds,
        runs=RUNS[scale],
        query=tuple(range(number)),
        record_at=tuple(sorted({*evenly(rounds), *more})),
        name="TopRank, figures 3 and 4",
    )


def _regret(played: Played, stop: int | None = None) -> Units:
    end = rounds_of(played)
    return statistics.amount(played, "regret", end if stop is None else min(stop, end))


# -- query by query: figure 3 -----------------------------------------------------------------------------------------


def _halves(played: Played) -> tuple[Units, Units]:
    """Regret of each query in the first and in the second half of the rounds."""
    return halfway(played), part(played, 0.5)


def is_linear(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether regret is linear, by what the two halves of the rounds add."""
    return np.asarray(second > STILL * first)


def _below(one: Played, other: Played) -> Estimate:
    """Share of the queries in which ``one`` has less regret than ``other`` at last."""
    return statistics.share(lambda mine, others: mine < others, _regret(one), _regret(other))


def _good_policies(played: Played) -> Estimate:
    return statistics.share(lambda first, second: ~is_linear(first, second), *_halves(played))


def _beaten(kl_ucb: Played, toprank: Played) -> Estimate:
    """Of the queries in which CascadeKL-UCB's regret is linear the share in which TopRank has less at 1 M rounds."""
    first, second = _halves(kl_ucb)
    chosen = is_linear(first.values, second.values)
    if not chosen.any():
        return Estimate(math.nan, math.nan, math.nan, "there is no such query")
    pair = [_regret(played, MILLION) for played in (toprank, kl_ucb)]
    return statistics.share(
        lambda mine, others: mine < others,
        *(units._replace(values=units.values[..., chosen], names=units.names[chosen]) for units in pair),
    )


def _beaten_early(agent: str) -> Callable[[Results], Measured]:
    def measure(results: Results) -> Measured:
        kl_ucb, toprank = results["PBM", agent], results["PBM", "toprank"]
        return _beaten(kl_ucb, toprank).measured(
            "share of the queries with linear regret in which TopRank has less after "
            f"{counted(min(MILLION, rounds_of(kl_ucb)))} rounds (many: at least a third)",
            MANY,
        )

    return measure


def _of_queries() -> Iterator[Claim]:
    where = "section 6, paragraph 2, sentence {}; figure 3".format
    share = "share of the queries in which {} has less regret than {} after {{n}} rounds".format
    yield Claim(
        "kl-ucb-beats-toprank-cm",
        where(6),
        "CM: CascadeKL-UCB outperforms TopRank",
        judged(
            _below,
            "CM",
            "cascade-kl-ucb",
            "toprank",
            quantity=share("CascadeKL-UCB", "TopRank") + " (outperforms: more than half)",
            claimed=MOST,
        ),
        HORIZON,
    )
    yield Claim(
        "toprank-beats-batchrank-cm",
        where(8),
        "CM: TopRank consistently outperforms BatchRank",
        judged(
            _below,
            "CM",
            "toprank",
            "batchrank",
            quantity=share("TopRank", "BatchRank") + " (consistently: in 9 of 10)",
            claimed=NEARLY_ALL,
        ),
        HORIZON,
    )
    for agent, click in READINGS.items():
        reading = f"PBM, CascadeKL-UCB learning down to the {click} click: "
        yield Claim(
            f"kl-ucb-good-or-linear-pbm-{click}-click",
            where(9),
            reading
            + "it ends with very good lists for two queries in three or so; for the others its regret is linear",
            judged(
                _good_policies,
                "PBM",
                agent,
                quantity=f"share of the queries in which the second half of {{n}} rounds adds at most {STILL} times "
                "what the first half adds",
                claimed=TWO_THIRDS,
            ),
            HORIZON,
        )
        yield Claim(
            f"toprank-beats-linear-kl-ucb-pbm-{click}-click",
            where(10),
            reading + "in many of the queries with linear regret TopRank has less after 1 M rounds",
            _beaten_early(agent),
            HORIZON,  # linear is what is linear up to there
        )
    yield Claim(
        "toprank-beats-batchrank-pbm",
        where(11),
        "PBM: TopRank typically outperforms BatchRank",
        judged(
            _below,
            "PBM",
            "toprank",
            "batchrank",
            quantity=share("TopRank", "BatchRank") + " (typically: more than half)",
            claimed=MOST,
        ),
        HORIZON,
    )


# -- all queries: figure 4 --------------------------------------------------------------------------------------------


def _ratio(one: Played, other: Played) -> Estimate:
    return statistics.ratio(_regret(one), _regret(other))


def _after_crossing(kl_ucb: Played, toprank: Played) -> Estimate:
    """The least difference of mean regret at the records from 4 M rounds on (or at the last, if there are none)."""
    late = kl_ucb.rounds >= min(CROSSED, rounds_of(kl_ucb))

    def least(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((one - other)[..., late].min(axis=-1))

    return statistics.of_means(least, statistics.curves(kl_ucb), statistics.curves(toprank))


def _crossing(agent: str) -> Callable[[Results], Measured]:
    measure = judged(
        _after_crossing,
        "PBM",
        agent,
        "toprank",
        quantity=f"least difference of mean regrets, {counted(CROSSED)} to {{n}} rounds, CascadeKL-UCB less TopRank",
        claimed=ABOVE,
    )

    def noted(results: Results) -> Measured:
        crossed = statistics.crossing(results["PBM", agent], results["PBM", "toprank"])
        if not math.isfinite(crossed.value):
            return measure(results)._replace(note="CascadeKL-UCB's mean regret is not above TopRank's at the end")
        note = f"CascadeKL-UCB's mean regret is above TopRank's from about round {crossed.value:,.0f} on"
        return measure(results)._replace(note=f"{note} (interval {crossed.low:,.0f} .. {crossed.high:,.0f})")

    return noted


def _of_averages() -> Iterator[Claim]:
    where = "section 6, paragraph 3, sentence {}; figure 4".format
    three = (3 / FACTOR, 3 * FACTOR)
    for name, one, other, sentence in (
        (
            "kl-ucb-a-third-of-toprank-cm",
            "toprank",
            "cascade-kl-ucb",
            "CascadeKL-UCB's regret is about a third of TopRank's",
        ),
        ("toprank-a-third-of-batchrank-cm", "batchrank", "toprank", "TopRank's regret is about a third of BatchRank's"),
    ):
        names = {"toprank": "TopRank", "cascade-kl-ucb": "CascadeKL-UCB", "batchrank": "BatchRank"}
        yield Claim(
            name,
            where(3),
            f"CM: {sentence}",
            judged(
                _ratio,
                "CM",
                one,
                other,
                quantity=f"{names[one]}'s regret after {{n}} rounds, in units of {names[other]}'s (about three: within "
                f"a factor of {FACTOR})",
                claimed=three,
            ),
            HORIZON,
        )
    yield Claim(
        "kl-ucb-improves-over-toprank-cm",
        "section 6, paragraph 3, sentences 2 and 3; figure 4",
        "CM: on average over the queries, too, CascadeKL-UCB has less regret than TopRank",
        judged(
            lambda toprank, kl_ucb: statistics.difference(_regret(toprank), _regret(kl_ucb)),
            "CM",
            "toprank",
            "cascade-kl-ucb",
            quantity="TopRank's regret after {n} rounds, less CascadeKL-UCB's",
            claimed=ABOVE,
        ),
        HORIZON,
    )
    for agent, click in READINGS.items():
        yield Claim(
            f"kl-ucb-above-toprank-from-4m-pbm-{click}-click",
            where(4),
            f"PBM, CascadeKL-UCB learning down to the {click} click: after 4 M rounds it has more regret than TopRank",
            _crossing(agent),
            HORIZON,
        )
    yield Claim(
        "toprank-30-percent-below-batchrank-pbm",
        where(5),
        "PBM: TopRank's regret is about 30 % lower than BatchRank's",
        judged(
            lambda toprank, batchrank: statistics.of_means(
                lambda one, other: 1 - one / other, _regret(toprank), _regret(batchrank)
            ),
            "PBM",
            "toprank",
            "batchrank",
            quantity="by what share of BatchRank's regret after {n} rounds TopRank's is lower (about 30 %: 15 to 45 %)",
            claimed=LOWER,
        ),
        HORIZON,
    )
    for model in AGENTS:
        yield Claim(
            f"toprank-improves-over-batchrank-{model.lower()}",
            pinned(where(6), "sentence 2", "abstract, sentence 5", "section 1, paragraph 4, sentence 6"),
            f"{model}: TopRank's regret is lower than BatchRank's",
            judged(
                lambda batchrank, toprank: statistics.difference(_regret(batchrank), _regret(toprank)),
                model,
                "batchrank",
                "toprank",
                quantity="BatchRank's regret after {n} rounds, less TopRank's",
                claimed=ABOVE,
            ),
            HORIZON,
        )
    for agent, click in READINGS.items():
        yield Claim(
            f"toprank-robust-{click}-click",
            where(7),
            f"What TopRank loses to CascadeKL-UCB (learning down to the {click} click) in the CM it wins in the PBM",
            _offset(agent),
            HORIZON,
        )


def _offset(agent: str) -> Callable[[Results], Measured]:
    """What TopRank is ahead of CascadeKL-UCB in the PBM, less what it is behind in the CM."""

    def measure(results: Results) -> Measured:
        played = (
            results["PBM", agent],
            results["PBM", "toprank"],
            results["CM", "cascade-kl-ucb"],
            results["CM", "toprank"],
        )
        found = statistics.of_means(
            lambda pbm_kl, pbm_top, cm_kl, cm_top: (pbm_kl - pbm_top) - (cm_top - cm_kl), *map(_regret, played)
        )
        return found.measured(
            f"CascadeKL-UCB's regret after {counted(rounds_of(played[0]))} rounds, less TopRank's, PBM and CM together",
            ABOVE,
            "to offset is read as: at that time the two models together cost TopRank less; the later, the easier",
        )

    return measure


# -- drawing ----------------------------------------------------------------------------------------------------------


def problems(results: Results) -> list[tuple[str, int]]:
    """The three problems of figure 3, (click model, query): medians of what they are to show, so that nobody picks.

    In the CM the query of median regret of TopRank; in the PBM, of the queries in which CascadeKL-UCB (down to the last
    click) has linear regret and of the others, those of its median regret. Where there are none of one kind: the
    query in which it has most, or least, regret.
    """
    toprank, kl_ucb = _regret(results["CM", "toprank"]), _regret(results["PBM", LAST])
    linear = is_linear(*(units.values for units in _halves(results["PBM", LAST])))
    order = np.argsort(kl_ucb.values, kind="stable")
    good, bad = ([number for number in order if linear[number] == kind] for kind in (False, True))
    chosen = [good or order[:1].tolist(), bad or order[-1:].tolist()]
    middle = np.argsort(toprank.values, kind="stable")[(len(toprank.values) - 1) // 2]
    return [
        ("CM", int(toprank.names[middle])),
        *(("PBM", int(kl_ucb.names[group[(len(group) - 1) // 2]])) for group in chosen),
    ]


def _draw_queries(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    made = []
    for model, query in problems(results):
        curves = [figures.curve(of_query(results[model, agent], query)) for agent in AGENTS[model]]
        made.append(figures.Panel(f"{model}, query {query}", curves, ylabel="regret"))
    played = next(iter(results))
    runs = len(np.unique(played.run))
    error = "one run" if runs == 1 else f"mean and standard error over {runs} runs"
    return figures.panels(made, caption=f"Regret: {error} each; {counted(rounds_of(played))} rounds.")


def of_query(played: Played, query: int) -> Played:
    """The rows that play one query."""
    mine = played.query == query
    rows: dict[str, Any] = {name: getattr(played, name)[mine] for name in ("row", "query", "run", "settled_at")}
    measures = {name: values[:, mine] for name, values in played.measures.items()}
    return played._replace(**rows, measures=measures, epoch_regret=played.epoch_regret[:, mine])


def _draw_averages(results: Results) -> Figure:
    from rankgym.experiments.show import figures

    made = [
        figures.Panel(model, [figures.curve(results[model, agent]) for agent in agents], ylabel="regret")
        for model, agents in AGENTS.items()
    ]
    return figures.panels(made, caption=told(results))


DATA = (
    "Queries: the 60 published ones with their fitted click models (or 60 of those that were calibrated to resemble "
    "them); 10 items at 5 positions, expected clicks; delta = 1/n. BatchRank is as its authors ran it. The paper does "
    "not say how CascadeKL-UCB reads several clicks: in the PBM it is played both ways, down to the last click and "
    "down to the first. Nor does it give a horizon; it speaks of what is so after 4 M steps, and 5 M rounds are "
    "played. Scale full: 10 runs of each query; small: one; smoke: 6 queries, 1,000 rounds."
)

FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure(
        "toprank-figure-3",
        PAPER,
        "Regret of TopRank, CascadeKL-UCB and BatchRank in three problems",
        DATA + " The paper does not name its three problems. Here they are, of the runs of figure 4: in the CM the "
        "query in which TopRank's regret is the median one; in the PBM, of the queries in which CascadeKL-UCB's regret "
        "(down to the last click) is not linear and of those in which it is, the ones of its median regret. Claims are "
        "about all queries, as the text is.",
        comparison,
        _draw_queries,
        tuple(_of_queries()),
    ),
    PaperFigure(
        "toprank-figure-4",
        PAPER,
        "Regret of TopRank, CascadeKL-UCB and BatchRank in the CM and PBM",
        DATA,
        comparison,
        _draw_averages,
        tuple(_of_averages()),
    ),
)
