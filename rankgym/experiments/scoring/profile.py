"""The profile of an agent: its score in each task, beside those of the package's agents. Needs matplotlib."""

from typing import Any, cast

import matplotlib as mpl
from matplotlib.figure import Figure

from rankgym import style
from rankgym.experiments.scoring.placing import Scorecard, score_of

LOWEST = -50.0  # of the axis: scores below lie on its end
TEXT = "#333333"


def draw_profile(card: Scorecard, width: float = 8.4) -> Figure:
    """Draw a line for each task, with a dot for each agent; below six inches for a phone."""
    small, names = width < 6, list(card.standings)
    look = style.looks([card.label])[card.label]
    fonts: Any = style.PAPER_FONTS if small else {}
    with mpl.rc_context({**style.RC_PARAMS, **fonts}):
        figure = Figure(figsize=(width, (0.27 if small else 0.36) * len(names) + 1.5), dpi=100, layout="constrained")
        cast(Any, figure.get_layout_engine()).set(w_pad=0.06, h_pad=0.06)
        axes = figure.subplots()
        size = 18 if small else 34
        for line, name in enumerate(names):
            playing = [other for other in card.others.values() if name in other.values]
            scores = [max(score_of(other, name), LOWEST) for other in playing]
            axes.scatter(
                scores, [line] * len(scores), s=size, facecolor="#BBBBBB", edgecolor="white", linewidth=0.5, zorder=2
            )
            one = card.standings[name]
            mark: Any = "<" if one.score < LOWEST else look.marker or "o"
            axes.scatter(
                [max(one.score, LOWEST)], [line], s=3 * size, marker=mark, color=look.color, zorder=4, linewidth=0
            )
            place = f"{one.place} of {one.of}" if small else one.place_text
            axes.text(1.02, line, place, transform=axes.get_yaxis_transform(), va="center", color=TEXT)
        axes.axvline(0, color="#777777", linewidth=1, zorder=1)
        axes.set(xlim=(LOWEST - 4, 104), ylim=(len(names) - 0.4, -0.6), xticks=[-50, 0, 50, 100])
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.text(1.02, -0.6, "place", transform=axes.get_yaxis_transform(), va="bottom", color=TEXT)
        axes.set_xlabel("score")
        handles = {
            card.label: axes.scatter([], [], s=3 * size, marker=look.marker or "o", color=look.color, linewidth=0),
            f"the package's {card.kind}": axes.scatter([], [], s=size, color="#BBBBBB", linewidth=0),
        }
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper left", ncols=1 if small else 2, frameon=False
        )
        ends = f"Scores below {LOWEST:.0f} lie at the left end." if _any_below(card) else ""
        style.add_caption(figure, f"100: nothing is lost; 0: as much as by random play. {ends}".strip())
    return figure


def _any_below(card: Scorecard) -> bool:
    records = [card.record, *card.others.values()]
    return any(score_of(one, n) < LOWEST for n in card.standings for one in records if n in one.values)
