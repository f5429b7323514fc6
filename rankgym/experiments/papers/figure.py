"""What a paper's figure is: what is played for it at each scale, how it is drawn, and what it is said to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from rankgym.arguments import near
from rankgym.experiments.judge.claims import Claim
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SCALES", "SOURCES", "PaperFigure", "Scale", "check_scale", "check_source"]

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
    draw: Callable[[Results], Figure]
    claims: tuple[Claim, ...]
    prepare: Callable[[Scale, str], None] | None = None  # makes data that the sweep names, before it is looked at


def check_scale(scale: str) -> Scale:
    """``scale`` if it is one, or a ValueError."""
    for known in SCALES:
        if scale == known:
            return known
    hint = near(scale, SCALES) if isinstance(scale, str) else ""
    raise ValueError(f"scale = {scale!r} is unknown{hint or ';'} allowed: {', '.join(SCALES)}")


def check_source(source: str) -> str:
    """``source`` if it is one, or a ValueError."""
    if source in SOURCES:
        return source
    hint = near(source, SOURCES) if isinstance(source, str) else ""
    raise ValueError(f"source = {source!r} is unknown{hint or ';'} allowed: {', '.join(SOURCES)}")
