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

    ``title`` says which users and items these are.
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
