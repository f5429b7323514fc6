"""For papers: a sweep's means as a LaTeX table, and a measure over rounds as a figure of a column's width."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankgym.arguments import number_in, one_of
from rankgym.estimates import rounded
from rankgym.experiments.judge.units import means
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.tidy_tables import MEASURES
from rankgym.extras import require
from rankgym.histories import Y_LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADS = {"regret": "Regret", "violations": "Violations", "ndcg": "NDCG", "accuracy": "Accuracy", "reward": "Reward"}
Y_SCALES = {"regret": "log", "violations": "symlog"}  # over logarithmic rounds; of other measures: linear
COLUMN, WIDEST = 3.3, 12.0  # inches: a column of two, and the most that is allowed
PANEL = 2.3  # inches: narrower panels go below each other

# LaTeX's special characters, and those that its older fonts do not have.
ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\n": " ",
}


# -- a table ----------------------------------------------------------------------------------------------------------


def latex_table(results: Results, note: str = "", origin: str = "", *, labels: Mapping[str, str] | None = None) -> str:
    """Return a LaTeX table (booktabs): a line for each environment and agent, the means after the last round.

    Means and standard errors over rows are rounded to two digits of the error. Rounds and rows are columns if they
    differ between lines. An environment is named in the first of its lines, and not at all if there is only one. A
    ``note``, such as a warning about the results, is a comment at the top, and so is the ``origin`` of the results, as
    ``tidy_tables.origin`` says it. ``labels`` are shown instead of agents' names.

    Raises:
        ValueError: ``results`` is empty.
    """
    if not len(results):
        raise ValueError("results is empty; allowed: results of at least one job")
    results = results.labelled(labels or {})
    cells: dict[tuple[str, str], dict[str, str]] = {(one.environment, one.agent): {} for one in results}
    counts: dict[tuple[str, str], dict[str, str]] = {}
    for measure in MEASURES:
        for line in means(results, measure):
            place = (line["environment"], line["agent"])
            cells[place][measure] = _estimate(line["mean"], line["error"])
            counts[place] = {name: f"${line[name]:,}$".replace(",", r"\,") for name in ("rounds", "rows")}
    shown = [name for name in MEASURES if any(name in one for one in cells.values())]
    varied = [name for name in ("rounds", "rows") if len({one[name] for one in counts.values()}) > 1]
    several = len(results.environments) > 1
    heads = [*(["Environment"] if several else []), "Agent", *(name.capitalize() for name in varied)]
    sides = "l" * (1 + several) + "r" * (len(varied) + len(shown))
    lines = [f"\\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\toprule"]
    lines += [" & ".join([*heads, *(HEADS[name] for name in shown)]) + r" \\"]
    for environment in results.environments:
        lines.append(r"\midrule")
        for number, agent in enumerate(results.agents(environment)):
            place = (environment, agent)
            first = [escaped(environment) if number == 0 else ""] if several else []
            numbers = [counts[place][name] for name in varied] + [cells[place].get(name, "") for name in shown]
            lines.append(" & ".join([*first, escaped(agent), *numbers]) + r" \\")
    noted = [f"% {part}" for part in f"{note}\n{origin}".splitlines() if part.strip()]
    return "\n".join([*noted, *_comments(results, varied), *lines, r"\bottomrule", r"\end{tabular}", ""])


def _comments(results: Results, varied: list[str]) -> list[str]:
    """Say what the numbers are, and which package the table needs."""
    one = next(iter(results))
    same = {"rounds": f"after {one.rounds[-1]:,} rounds", "rows": f"over {len(one.row):,} rows"}
    words = ["mean and standard error", *(text for name, text in same.items() if name not in varied)]
    where = f" in {' '.join(results.environments[0].split())}" if len(results.environments) == 1 else ""
    return [r"% needs \usepackage{booktabs}", f"% {' '.join(words)}{where}"]


def _estimate(mean: float, error: float) -> str:
    texts = rounded(mean, error)
    if texts[0] == "unknown":
        return "--"
    return "$" + r" \pm ".join(filter(None, texts)).replace(",", r"\,") + "$"


def escaped(text: str) -> str:
    """Return ``text`` as LaTeX prints it."""
    return re.sub("-(?=-)", "-{}", "".join(ESCAPES.get(letter, letter) for letter in text))  # not a dash


# -- a figure ---------------------------------------------------------------------------------------------------------


def paper_figure(
    results: Results,
    measure: str = "regret",
    *,
    x: Literal["log", "linear"] | None = None,
    y: Literal["log", "linear", "symlog"] | None = None,
    width: float = COLUMN,
    labels: Mapping[str, str] | None = None,
) -> "Figure":
    """Draw a measure over rounds, a panel for each environment that has it, for print.

    Args:
        results: of a sweep.
        measure: "regret", "violations", "ndcg", "accuracy" or "reward".
        x: scale of the rounds; default: logarithmic, or linear where users change.
        y: scale of the measure; default: linear over linear rounds, and for "ndcg", "accuracy" and "reward"; else
            logarithmic, of "violations" linear below 1.
        width: inches, above 1.5, at most 12: 3.3 fits a column of two, 6.9 a page.
        labels: of agents in the legend, by their names, such as ``Sweep.labels``; default: the names.

    Raises:
        ValueError: an argument is out of range, or no result has the measure.
        RuntimeError: matplotlib is not installed.
    """
    one_of("measure", measure, list(MEASURES))
    width = number_in("width", width, 1.5, WIDEST)
    require("matplotlib")
    from rankgym.experiments.show import figures

    panels = []
    for environment in results.environments:
        played = [results[environment, agent] for agent in results.agents(environment)]
        curves = [figures.curve(one, measure) for one in played if measure in one.measures]
        curves = [curve for curve in curves if np.isfinite(curve.mean).any()]
        changing = any(len(one.epoch_regret) for one in played)
        xscale = x or ("linear" if changing else "log")
        yscale = y or (Y_SCALES.get(measure, "linear") if xscale == "log" else "linear")
        axes: Any = {"ylabel": Y_LABELS[measure], "xscale": xscale, "yscale": yscale, "from_zero": measure != "ndcg"}
        title = environment if len(results.environments) > 1 else ""
        panels += [figures.Panel(title, curves, **axes)] if curves else []
    if not panels:
        there = dict.fromkeys(name for one in results for name in one.measures)
        raise ValueError(
            f"measure = {measure!r} is known in no result; allowed: {', '.join(map(repr, there)) or 'none'}"
        )
    return figures.panels(panels, columns=max(1, int(width / PANEL)), width=width, names=labels)
