"""A figure of a paper: what is played at each scale, how the results are drawn, and the claims that they support."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near
from rankgym.experiments.judge.claim_measures import last_round
from rankgym.experiments.judge.claims import Claim, expand
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Played, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing
else:
    Drawing = Any  # importing matplotlib takes half a second

__all__ = [
    "SCALES",
    "SOURCES",
    "Drawing",
    "PaperFigure",
    "Scale",
    "check_scale",
    "check_source",
    "draw_models",
    "even_rounds",
    "figures_of",
    "mean_caption",
    "select_rows",
]

Scale = Literal["full", "small", "smoke"]  # the paper's; minutes on two cores; seconds, for tests
SCALES: tuple[Scale, ...] = ("full", "small", "smoke")
SOURCES = ("published", "calibrated")  # of click models and preferences


class PaperFigure(NamedTuple):
    """One figure of one paper."""

    name: str  # "bubblerank-figure-1"
    paper: str  # "Li et al., BubbleRank, UAI 2019"
    title: str  # what it shows, in a line
    setting: str  # how ours differs from the paper's: data, queries, runs; in a few sentences
    sweep: Callable[[Scale, str], Sweep]  # of scale and source
    draw: "Callable[[Results], Drawing]"
    claims: tuple[Claim, ...]
    prepare: Callable[[Scale, str], None] | None = None  # writes the data that the sweep names


def figures_of(name: str, setup: ModuleType, *modules: ModuleType) -> tuple[PaperFigure, ...]:
    """Return the figures of a paper, by the modules ``figure_N``: their TITLE, SETTING, SWEEP, CLAIMS and draw.

    ``setup`` has the PAPER, the HORIZON that claims speak of (or the figure's own one), and the VALUES of placeholders.
    """
    return tuple(
        PaperFigure(
            f"{name}-figure-{module.__name__.rpartition('_')[2]}",
            setup.PAPER,
            module.TITLE,
            module.SETTING,
            module.SWEEP,
            module.draw,
            expand(module.CLAIMS, getattr(module, "HORIZON", setup.HORIZON), setup.VALUES),
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
    """Twenty rounds to record, evenly spaced, so that halves and tenths of all rounds begin at one."""
    return tuple(sorted({max(1, rounds * part // 20) for part in range(1, 21)}))


def select_rows(played: Played, which: NDArray[np.bool_]) -> Played:
    """The rows of ``played`` that ``which`` (rows,) selects."""
    rows: dict[str, Any] = {name: getattr(played, name)[which] for name in ("row", "query", "run", "settled_at")}
    measures = {name: values[:, which] for name, values in played.measures.items()}
    return played._replace(**rows, measures=measures, epoch_regret=played.epoch_regret[:, which])


def mean_caption(results: Results) -> str:
    """A caption: the queries, runs and rounds that curves are means over."""
    played = next(iter(results))
    queries, runs = len(np.unique(played.query)), len(np.unique(played.run))
    return (
        f"Mean and standard error over {queries:,} {'query' if queries == 1 else 'queries'}, {runs:,} "
        f"{'run' if runs == 1 else 'runs'} each; {counted(last_round(played))} rounds."
    )


def draw_models(
    results: Results,
    agents: Mapping[str, Sequence[str]],
    measure: str = "regret",
    *,
    per_round: bool = False,
    **panel: Any,
) -> "Drawing":
    """Draw a panel for each click model in ``agents``, with a curve for each of its agents."""
    from rankgym.experiments.show import figures

    curve = figures.per_round if per_round else figures.curve
    made = [
        figures.Panel(model, [curve(results[model, agent], measure) for agent in shown], **panel)
        for model, shown in agents.items()
    ]
    return figures.panels(made, caption=mean_caption(results))
