"""The one look of all figures: an agent's colour, dashes and marker, fonts, ticks, breakpoints, legends, captions.

Curves differ in colour, in dashes and in markers, so that the colour-blind, and readers of a grey print, can tell them
apart. No figure needs a display. Needs matplotlib.
"""

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

RC_PARAMS: Any = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "svg.hashsalt": "rankgym",  # the same numbers give the same file
    "pdf.fonttype": 42,  # TrueType: publishers refuse Type 3
    "text.parse_math": False,  # labels are the user's: a dollar sign is one
}
PAPER_FONTS: Any = {"font.size": 8, "axes.titlesize": 8, "legend.fontsize": 7.5, "axes.linewidth": 0.6}
TITLE_LETTERS = 66  # of a line of a title
LETTERS = 14.5  # of a caption, in an inch

# -- agents -----------------------------------------------------------------------------------------------------------

# Okabe and Ito's colours for the colour-blind, without the yellow that vanishes on white; then Paul Tol's; then some
# that are far from these.
BLUE, VERMILION, GREEN, PINK, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
WINE, INDIGO, OLIVE, TEAL, BROWN, PURPLE = "#882255", "#332288", "#999933", "#44AA99", "#7A4A1E", "#AA4499"
CORAL, MAROON, LIME, LILAC, COBALT = "#EE7766", "#880000", "#33BB22", "#BB99FF", "#0033FF"
CRIMSON, CYAN = "#EE0011", "#00BBDD"  # far from all of these
SLATE, SAND, FOREST = "#44546A", "#C2A000", "#115522"
GREY = "#8A8A8A"
SOLID: Any = "-"
DASHED, DOTTED, MIXED, LONG = (0, (4.5, 1.5)), (0, (1.2, 1.3)), (0, (5, 1.4, 1.2, 1.4)), (0, (8, 2))


class Look(NamedTuple):
    """How a curve is drawn.

    See ``looks``, which returns one a label.
    """

    color: str
    dashes: Any
    marker: str  # "": no markers


LOOKS = {  # by an agent's name; a figure shows rankers or duelers, seldom both
    "static": Look(GREY, SOLID, ""),  # agents that do not learn stand back
    "random": Look(GREY, DASHED, ""),
    "bubblerank": Look(VERMILION, SOLID, "o"),
    "toprank": Look(BLUE, DASHED, "s"),
    "batchrank": Look(GREEN, MIXED, "^"),
    "cascade-kl-ucb": Look(PINK, LONG, "D"),
    "cascade-ucb1": Look(WINE, MIXED, "<"),
    "cascade-ducb": Look(ORANGE, SOLID, "v"),
    "cascade-swucb": Look(SKY, DASHED, "P"),
    "ranked-exp3": Look(BROWN, DOTTED, "X"),
    "thompson-cascade": Look(INDIGO, SOLID, ">"),
    "pbm-ucb": Look(OLIVE, LONG, "*"),
    "glrt-cascade": Look(COBALT, MIXED, "o"),
    "pbm-ts": Look(CORAL, DOTTED, "^"),
    "pbm-pie": Look(MAROON, MIXED, ">"),
    "pb-mhb": Look(LIME, DASHED, "v"),
    "cascade-ucb-v": Look(LILAC, DOTTED, "s"),
    "bayes-index": Look(SLATE, SOLID, "d"),
    "bayes-thompson": Look(SAND, DOTTED, "<"),
    "adaptive-index": Look(FOREST, DASHED, "p"),
    "restarting": Look(TEAL, DOTTED, "h"),
    "unirank": Look(CRIMSON, LONG, "o"),
    "grab": Look(CYAN, MIXED, "s"),
    "ppo-pbm": Look(PURPLE, SOLID, "p"),
    "ppo-cm": Look(PURPLE, DASHED, "d"),
    "ppo-dcm": Look(PURPLE, MIXED, "8"),
    "ppo-breakpoint": Look(PURPLE, DOTTED, "H"),
    "ppo-safe": Look(PURPLE, LONG, "."),
    "random-duels": Look(GREY, DASHED, ""),
    "mergerucb": Look(VERMILION, SOLID, "o"),
    "rucb": Look(BLUE, DASHED, "s"),
    "rcs": Look(GREEN, MIXED, "^"),
    "btm": Look(BROWN, DOTTED, "X"),
    "interleaved-filter": Look(PINK, LONG, "D"),
    "savage": Look(ORANGE, SOLID, "v"),
    "sparring": Look(SKY, DASHED, "P"),
    "multisbm": Look(WINE, MIXED, "<"),
    "doubler": Look(INDIGO, SOLID, ">"),
    "mergedts": Look(OLIVE, LONG, "*"),
    "dts": Look(TEAL, MIXED, "h"),
    "rmed1": Look(PURPLE, DASHED, "d"),
    "winner-stays": Look(CRIMSON, SOLID, "p"),
    "versatile-db": Look(CYAN, DOTTED, "8"),
    "least squares": Look("#222222", SOLID, ""),
}
# Curves without a look in the table, such as a user's own agents, have colours of their own before those of others.
OWN_COLOURS = ("#000000", "#7B52F0", "#EE3377", "#117733")
COLOURS = (
    *OWN_COLOURS,
    *(BLUE, ORANGE, GREEN, PINK, VERMILION, SKY, WINE, INDIGO, OLIVE, TEAL, BROWN, PURPLE),
    *(CORAL, MAROON, LIME, LILAC, COBALT),
    *(CRIMSON, CYAN),
)
DASHES = (SOLID, DASHED, MIXED, DOTTED, LONG)
OVER = ((0, (5, 5)), (5, (5, 15)), (5, (2.5, 17.5)))  # dashes of the second, third, ... curve at the same place
MARKERS = tuple("os^DvPX<>hdp*8H.")
SMALL_MARKERS = ("P", "X", "*", ".")  # drawn larger, to look as large as the others


def agent_name(label: str) -> str | None:
    """Return the name in ``LOOKS`` that ``label`` begins with; None if it is not there.

    Knobs may follow the name, as in "toprank:delta=0.1". "random:Mine" is a class in a user's module.

    Examples:
        >>> from rankgym.style import agent_name
        >>> agent_name("toprank:delta=0.1"), agent_name("random:Mine")
        ('toprank', None)
    """
    name, colon, knob = label.partition(":")
    return name if name in LOOKS and (not colon or "=" in knob.partition(":")[0]) else None


def stands_back(label: str) -> bool:
    """Whether ``label`` is an agent that does not learn.

    Examples:
        >>> from rankgym.style import stands_back
        >>> stands_back("random"), stands_back("toprank")
        (True, False)
    """
    name = agent_name(label)
    return name is not None and LOOKS[name].color == GREY


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of each of a figure's labels.

    An agent of the table has the table's look in all figures. The same agent with other knobs has its colour, with
    other dashes and another marker. Other labels have the first colours and markers that are free in the figure.

    Examples:
        >>> from rankgym.style import looks
        >>> found = looks(["toprank", "toprank:delta=0.1", "mine"])
        >>> [look.color for look in found.values()]
        ['#0072B2', '#0072B2', '#000000']
        >>> found["toprank"].marker, found["toprank:delta=0.1"].marker != found["toprank"].marker
        ('s', True)
    """
    labels = list(dict.fromkeys(labels))
    found: dict[str, Look] = {}
    for label in sorted(labels, key=lambda label: label not in LOOKS):  # plain names before those with knobs
        name = agent_name(label)
        if name is not None and LOOKS[name] not in found.values():
            found[label] = LOOKS[name]
    for number, label in enumerate(label for label in labels if label not in found):
        taken, name = list(found.values()), agent_name(label)
        if name is None:
            color, dashes = _unused(COLOURS, [look.color for look in taken], number), DASHES[number % len(DASHES)]
        else:
            color = LOOKS[name].color
            dashes = _unused(DASHES, [look.dashes for look in taken if look.color == color], number)
        found[label] = Look(color, dashes, _unused(MARKERS, [look.marker for look in taken], number))
    return {label: found[label] for label in labels}


def next_look(label: str, drawn: Iterable[str]) -> Look:
    """Return the look of a curve that comes to axes where curves of other labels are drawn already, in this order.

    Examples:
        >>> from rankgym.style import looks, next_look
        >>> drawn = looks(["mine", "yours"])
        >>> next_look("yours", ["mine"]) == drawn["yours"]
        True
    """
    found: dict[str, Look] = {}
    for one in (*drawn, label):
        look = looks([*found, one])[one]
        if one not in found and look in found.values():  # plain "toprank" after "toprank:delta=0.1"
            dashes = _unused(DASHES, [other.dashes for other in found.values() if other.color == look.color], 0)
            look = Look(look.color, dashes, _unused(MARKERS, [other.marker for other in found.values()], len(found)))
        found.setdefault(one, look)
    return found[label]


def _unused(choices: Sequence[Any], taken: Sequence[Any], number: int) -> Any:
    """Return the first choice that is not taken; if all are, that of ``number`` in turn."""
    return next((one for one in choices if one not in taken), choices[number % len(choices)])


# -- curves -----------------------------------------------------------------------------------------------------------


def line_options(label: str, look: Look, small: bool) -> dict[str, Any]:
    """Return matplotlib's options of the line of a curve.

    Examples:
        >>> from rankgym.style import line_options, looks
        >>> options = line_options("toprank", looks(["toprank"])["toprank"], small=False)
        >>> options["color"], options["linewidth"]
        ('#0072B2', 1.8)
    """
    return {
        "color": look.color,
        "linestyle": look.dashes,
        "linewidth": 1.4 if small else 1.8,
        "marker": look.marker,
        "zorder": 2.5 if stands_back(label) else 4 if agent_name(label) is None else 3,
        "markersize": (4.0 if small else 5.5) * (1.4 if look.marker in SMALL_MARKERS else 1.0),
        "markeredgewidth": 0.3 if small else 0.6,
        "markeredgecolor": "white",
    }


def draw_curve(
    axes: Any,
    x: NDArray[Any],
    mean: NDArray[np.float64],
    error: NDArray[np.float64] | None,
    look: Look,
    *,
    label: str,
    small: bool = False,
    markers: Any = 0.22,
    **options: Any,
) -> Any:
    """Draw a mean over x (points,) and a band of one standard error to either side; return the line.

    A curve that coincides with others in the axes is drawn over them in short dashes and without a band, so that all
    of them are seen.
    ``markers`` says at which points: matplotlib's ``markevery``.

    Examples:
        >>> import numpy as np
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import draw_curve, looks
        >>> axes = Figure().subplots()
        >>> rounds, mean, look = np.array([1, 2]), np.array([0.5, 0.8]), looks(["toprank"])["toprank"]
        >>> line = draw_curve(axes, rounds, mean, 0.1 * mean, look, label="TopRank")
        >>> line.get_color(), line.get_label(), len(axes.collections)  # a line and a band
        ('#0072B2', 'TopRank', 1)
    """
    same = sum(_coincide(line, x, mean) for line in axes.lines)
    options = {**line_options(label, look, small), "markevery": markers, **options}
    if same:
        options |= {"linestyle": OVER[min(same, len(OVER)) - 1], "zorder": 4.5 + same / 100}
    (line,) = axes.plot(x, mean, label=label, **options)
    if error is not None and not same and np.isfinite(error).any():
        spread, shown = np.nan_to_num(error), np.isfinite(mean)
        low = mean - spread
        if axes.get_yscale() == "log" and (mean[shown] > 0).any():
            low = np.maximum(low, mean[shown & (mean > 0)].min() / 10)
        axes.fill_between(x, low, mean + spread, where=shown, color=look.color, alpha=0.2, linewidth=0, zorder=2)
    return line


def _coincide(line: Any, x: NDArray[Any], y: NDArray[np.float64]) -> bool:
    """Return whether a drawn ``line`` is that of x and y, to nine digits, and has points at all."""
    others = (np.asarray(values, np.float64) for values in line.get_data(orig=True))
    same = all(a.shape == b.shape and np.allclose(a, b, 1e-9, 0, True) for a, b in zip(others, (x, y), strict=True))
    return same and bool(np.isfinite(y).any())


# -- axes -------------------------------------------------------------------------------------------------------------

ROUND_STEPS = (1, 2, 2.5, 5, 10)  # between ticks, times powers of ten
MAX_BREAKPOINTS = 30  # marked in a panel; of more, every second, fifth, tenth, ... is marked


def tick_label(value: float, _: Any = None) -> str:
    """Return 100, 1k, 10k, 1M.

    Examples:
        >>> from rankgym.style import tick_label
        >>> [tick_label(x) for x in (100, 2_500, 1e6)]
        ['100', '2.5k', '1M']
    """
    size, letter = (1e6, "M") if value >= 1e6 else (1e3, "k") if value >= 1e3 else (1, "")
    return f"{value / size:g}{letter}"


class RoundLogLocator(LogLocator):
    """Ticks at powers of ten, and between them at 2 and 5, or at 3, if there are fewer than three powers of ten.

    Axes of less than a decade have ticks at round numbers. So readers can always tell the value between two ticks.

    Examples:
        >>> from rankgym.style import RoundLogLocator
        >>> RoundLogLocator().tick_values(20, 90).tolist()
        [20.0, 40.0, 60.0, 80.0, 100.0]
    """

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if low > 0 and high < 10 * low:
            return MaxNLocator(5, steps=ROUND_STEPS).tick_values(low, high)
        if low > 0 and math.floor(math.log10(high)) - math.ceil(math.log10(low)) < 2:
            within = (1.0, 2.0, 5.0) if high < 100 * low else (1.0, 3.0)
            return LogLocator(subs=within, numticks=self.numticks).tick_values(low, high)
        return super().tick_values(vmin, vmax)


def set_ticks(axis: Any, small: bool) -> None:
    """Label ``axis`` with 100, 1k, 10k, 1M, few enough to be read.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import set_ticks
        >>> axes = Figure().subplots()
        >>> _ = axes.semilogx([1, 1e6], [0, 1])
        >>> set_ticks(axes.xaxis, small=False)
        >>> axes.xaxis.get_major_formatter()(1e5)
        '100k'
    """
    scale = axis.get_scale()
    if scale == "log":
        axis.set_major_locator(RoundLogLocator(numticks=5 if small else 9))
    elif scale == "linear":
        axis.set_major_locator(MaxNLocator(4 if small else 6, steps=ROUND_STEPS))
    if scale != "log":
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(tick_label))
    axis.set_minor_formatter(NullFormatter())


def set_title(axes: Any, text: str) -> None:
    """Write a title above ``axes``, in lines that fit a figure 6.6 inches wide.

    Its place is the user's ``axes.titlelocation``, so that a later ``axes.set_title`` replaces it.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import set_title
        >>> axes = Figure().subplots()
        >>> set_title(axes, "Regret of the agents in the cascade model, mean of 60 queries with 10 runs each")
        >>> len(axes.get_title().splitlines())
        2
    """
    axes.set_title(textwrap.fill(text, TITLE_LETTERS), parse_math=False)


def thinned(breakpoints: Sequence[int]) -> tuple[list[int], str]:
    """Return the breakpoints to mark, few enough to be told apart, and their name: "every 5th breakpoint".

    Examples:
        >>> from rankgym.style import thinned
        >>> marks, name = thinned(range(1_000, 100_000, 1_000))
        >>> marks[:2], name
        ([5000, 10000], 'every 5th breakpoint')
    """
    steps = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    step = next(step for step in steps if len(breakpoints) <= step * MAX_BREAKPOINTS)
    which = "breakpoints" if step == 1 else f"every {'second' if step == 2 else f'{step:,}th'} breakpoint"
    return list(breakpoints[step - 1 :: step]), which


def mark_breakpoints(axes: Any, breakpoints: Sequence[int]) -> None:
    """Draw a dotted vertical line at each breakpoint; the axes' limits stay.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import mark_breakpoints
        >>> axes = Figure().subplots()
        >>> mark_breakpoints(axes, [1_000, 2_000])
        >>> len(axes.collections[0].get_segments()), [float(x) for x in axes.get_xlim()]
        (2, [0.0, 1.0])
    """
    segments = [((x, 0.0), (x, 1.0)) for x in breakpoints]
    look: Any = {"colors": "#9A9A9A", "linewidths": 0.8, "linestyles": ":", "zorder": 1.5}
    axes.add_collection(LineCollection(segments, transform=axes.get_xaxis_transform(), **look), autolim=False)
    axes.grid(visible=False, axis="x")


# -- around the panels ------------------------------------------------------------------------------------------------


def columns_of_names(names: Sequence[str], width: float, small: bool) -> list[list[str]]:
    """Return a legend's names as columns, in as few rows as fit into ``width`` inches. Names are read row by row.

    Examples:
        >>> from rankgym.style import columns_of_names
        >>> columns_of_names(["toprank", "bubblerank", "static"], width=2.5, small=False)
        [['toprank', 'bubblerank', 'static']]
    """
    letter, line = (0.072, 0.60) if small else (0.088, 0.72)  # inches: a letter, and a line with the space beside it
    for rows in range(1, len(names) + 1):
        number = -(-len(names) // rows)
        columns = [list(names[column::number]) for column in range(number)]
        if sum(max(map(len, column)) * letter + line for column in columns) <= 0.92 * width:
            break
    return columns


def add_legend(figure: Figure, handles: Mapping[str, Any], small: bool) -> None:
    """Put a legend above the panels of ``figure``.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import add_legend
        >>> figure = Figure(layout="constrained")
        >>> lines = figure.subplots().plot([1, 2], [3, 4])
        >>> add_legend(figure, {"toprank": lines[0]}, small=False)
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['toprank']
    """
    columns = columns_of_names(list(handles), figure.get_figwidth(), small)
    by_columns = list(itertools.chain(*columns))  # matplotlib fills column by column
    spacing: Any = {"frameon": False, "handlelength": 3.0, "columnspacing": 1.6, "numpoints": 1}
    lines = [handles[name] for name in by_columns]
    figure.legend(lines, by_columns, loc="outside upper left", ncols=len(columns), **spacing)


def caption_lines(text: str, width: float) -> list[str]:
    """Return ``text`` in lines that fit into ``width`` inches.

    Examples:
        >>> from rankgym.style import caption_lines
        >>> caption_lines("Means of 60 queries; bands: one standard error", width=2.0)
        ['Means of 60 queries; bands:', 'one standard error']
    """
    return textwrap.wrap(text, int(LETTERS * width))


def add_caption(figure: Figure, text: str) -> None:
    """Put ``text`` below the panels of ``figure``, after the caption that it has already.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import add_caption
        >>> figure = Figure()
        >>> add_caption(figure, "Means of 60 queries.")
        >>> add_caption(figure, "Bands: one standard error.")
        >>> figure.get_supxlabel().splitlines()
        ['Means of 60 queries.', 'Bands: one standard error.']
    """
    own = figure.get_supxlabel()
    lines = [*([own] if own else []), *caption_lines(text, figure.get_figwidth())]
    figure.supxlabel("\n".join(lines), fontsize=9, color="#555555", x=0.01, ha="left", parse_math=False)


def write(figure: Figure, path: Path | BinaryIO, kind: str, *, scale: float = 2.0) -> None:
    """Write ``figure`` to a file as ``kind`` ("png", "svg" or "pdf"), the same bytes for the same numbers.

    A PNG has ``scale`` times 100 dots an inch: 1 for a plain screen, 2 for one of high resolution and for paper.

    Raises:
        OSError: the file cannot be written.

    Examples:
        >>> import io
        >>> from matplotlib.figure import Figure
        >>> from rankgym.style import write
        >>> first, second = io.BytesIO(), io.BytesIO()
        >>> for file in (first, second):
        ...     write(Figure(figsize=(1, 1)), file, "png")
        >>> first.getvalue() == second.getvalue()
        True
    """
    with mpl.rc_context(RC_PARAMS):
        metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(path, format=kind, dpi=100 * scale, metadata=metadata)
