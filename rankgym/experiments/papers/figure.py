"""A figure of a paper: what is played at each scale, how the results are drawn, and the claims that they support."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from rankgym.arguments import near
from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.judge.claims import Claim, expand
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.judge.units import counted_units
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Played, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # importing it takes half a second

Drawing: TypeAlias = "Figure"
Scale = Literal["full", "small", "smoke"]  # the paper's; minutes on two cores; seconds, for tests
SCALES: tuple[Scale, ...] = get_args(Scale)
SOURCES = ("published", "calibrated")  # of click models and preferences


class PaperFigure(NamedTuple):
    """One figure of one paper."""

    name: str  # "bubblerank-figure-1"
    paper: str  # "Li et al., BubbleRank, UAI 2019"
    title: str  # what the figure shows, in a line
    setting: str  # how our experiment differs from the paper's: data, queries, runs; in a few sentences
    sweep: Callable[[Scale, str], Sweep]  # of scale and source
    draw: Callable[[Results], Drawing]
    claims: tuple[Claim, ...]
    prepare: Callable[[Scale, str], None] | None = None  # writes the data that the sweep names


def figures_of(name: str, setup: ModuleType, *modules: ModuleType) -> tuple[PaperFigure, ...]:
    """Return a paper's figures: each module ``figure_N`` has TITLE, SETTING, SWEEP, CLAIMS, draw and perhaps PREPARE.

    ``setup`` has the PAPER, perhaps VALUES of placeholders, and the HORIZON of claims, unless a figure has its own.
    """
    return tuple(
        PaperFigure(
            f"{name}-figure-{module.__name__.rpartition('_')[2]}",
            setup.PAPER,
            module.TITLE,
            module.SETTING,
            module.SWEEP,
            module.draw,
            expand(module.CLAIMS, getattr(module, "HORIZON", setup.HORIZON), getattr(setup, "VALUES", {})),
            getattr(module, "PREPARE", None),
        )
        for module in modules
    )


def check_scale(scale: str) -> Scale:
    """Return ``scale``, or raise a ValueError if it is unknown."""
    return cast("Scale", _check("scale", scale, SCALES))


def check_source(source: str) -> str:
    """Return ``source``, or raise a ValueError if it is unknown."""
    return _check("source", source, SOURCES)


def _check(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        hint = near(value, allowed) if isinstance(value, str) else ""
        raise ValueError(f"{name} = {value!r} is unknown{hint or ';'} allowed: {', '.join(allowed)}")
    return value


def even_rounds(rounds: int) -> tuple[int, ...]:
    """Return twenty evenly spaced rounds to record, so that halves and tenths of all rounds begin at a record."""
    return tuple(sorted({max(1, rounds * part // 20) for part in range(1, 21)}))


def select_queries(played: Played, queries: ArrayLike) -> Played:
    """Return the rows of ``played`` of a query, or of several."""
    which = np.isin(played.query, queries)
    rows: dict[str, Any] = {name: getattr(played, name)[which] for name in ("row", "query", "run", "settled_at")}
    measures = {name: values[:, which] for name, values in played.measures.items()}
    return played._replace(**rows, measures=measures, epoch_regret=played.epoch_regret[:, which])


def mean_caption(results: Results) -> str:
    """Return a caption: the queries, runs and rounds that curves are means over."""
    played = next(iter(results))
    queries = counted_units(len(np.unique(played.query)), "queries")
    runs = counted_units(len(np.unique(played.run)), "runs")
    return f"Mean and standard error over {queries}, {runs} each; {counted(last_round(played))} rounds."


def draw_models(
    results: Results, agents: Mapping[str, Sequence[str]], measure: str = "regret", **panel: Any
) -> Drawing:
    """Draw a panel for each click model in ``agents``: a curve for each of its agents; of NDCG, that of each round."""
    from rankgym.experiments.show import figures

    curve = figures.per_round if measure == "ndcg" else figures.curve
    made = [
        figures.Panel(model, [curve(results[model, agent], measure) for agent in shown], **panel)
        for model, shown in agents.items()
    ]
    return figures.panels(made, caption=mean_caption(results))
