"""Pictures of what a submission does, in the look of all figures. Needs matplotlib (the extra ``experiments``)."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankgym.extras import require

SIZE = (7.0, 4.0)  # inches
YOURS = "yours"


def drawn(draw: Callable[[Any], bool]) -> str:
    """Return as SVG what ``draw`` draws into a figure; "" if it returns False."""
    mpl = require("matplotlib")
    from matplotlib.figure import Figure

    from rankgym.style import RC_PARAMS, write

    with mpl.rc_context(RC_PARAMS):
        figure = Figure(figsize=SIZE, layout="constrained")
        if not draw(figure):
            return ""
        file = io.BytesIO()
        write(figure, file, "svg")
    return file.getvalue().decode()


def draw_curves(
    axes: Any,
    curves: Mapping[str, Sequence[float]],
    rounds: Sequence[float] | None = None,
    *,
    x_label: str = "round",
    y_label: str = "cumulative regret",
    title: str = "",
) -> None:
    """Draw curves by name, each with the look of its name; those of the submission begin with "yours".

    Args:
        axes: matplotlib's axes.
        curves: values of each curve, by its name.
        rounds: of the values; default: 1, 2, 3, ...
        x_label, y_label, title: texts of the axes.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> from rankgym.exercises.pictures import draw_curves
        >>> axes = Figure().subplots()
        >>> draw_curves(axes, {"yours": [1.0, 1.5], "toprank": [1.0, 1.2]})
        >>> [line.get_linewidth() for line in axes.lines]  # the submission's is wider
        [2.4, 1.5]
    """
    from rankgym.style import looks

    for name, look in looks(curves).items():
        values = np.asarray(curves[name])
        x = np.arange(1, len(values) + 1) if rounds is None else rounds
        own = name.startswith(YOURS)
        style = {"color": look.color, "linestyle": look.dashes, "linewidth": 2.4 if own else 1.5}
        axes.plot(x, values, label=name, marker=look.marker, markevery=0.125, markersize=5, **style)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize="medium", loc="left")
    axes.legend(frameon=False)
