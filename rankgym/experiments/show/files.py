"""A comparison as tables in words and as files."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.experiments.judge.comparison import Comparison, caption, counted
from rankgym.experiments.plan.agents import slug
from rankgym.experiments.show.columns import OTHER_ERRORS, REGRET_ERRORS, Column, measure_columns
from rankgym.outputs import atomic_path

__all__ = [
    "OTHER_ERRORS",
    "REGRET_ERRORS",
    "Column",
    "columns",
    "csv_text",
    "epoch_columns",
    "epoch_title",
    "group_columns",
    "markdown_text",
    "save",
]

EPOCHS = 12  # columns of a table for reading: of more epochs the first and the last; table.csv has all
MANY = 24  # epochs: on a terminal more are shown as sums over groups of neighbours
GROUPS = 10  # at most
NO_PLOTS = 'no figure without matplotlib: pip install "rankgym[experiments]"'


def columns(comparison: Comparison) -> list[Column]:
    """The table's columns besides the agent's name: no regret where nobody's is known."""
    milestones = comparison.milestones if comparison.regret_known else []
    regret = [
        Column(("regret after", counted(r)), f"regret_{r}", True, 0 if r == comparison.rounds else 100 - n)
        for n, r in enumerate(milestones)
    ]
    return [*regret, *measure_columns(comparison)]


def epoch_columns(comparison: Comparison, most: int = EPOCHS, *, short: bool = False) -> list[Column]:
    """The columns of the table of regret per epoch, ``most`` of them, at least 3; none where there are no epochs.

    Where there are more epochs, one column, without a key, stands for those in the middle. The ``short`` heads have
    the first round of the epoch, or its number where each row has its own breakpoints; the others have all rounds.
    """
    number, starts = comparison.epochs, _first_rounds(comparison)
    heads: list[tuple[str, ...]]
    if comparison.breakpoints is None:
        heads = [(f"{epoch:,}",) if short else ("epoch", f"{epoch:,}") for epoch in range(number)]
    elif short:
        heads = [(counted(start),) for start in starts]
    else:
        heads = [(f"{start:,}-", f"{stop - 1:,}") for start, stop in itertools.pairwise([*starts, comparison.rounds])]
    made = [Column(head, f"regret_epoch_{epoch}", True) for epoch, head in enumerate(heads)]
    if number <= most:
        return made
    first, last = most // 2, number - (most - 1 - most // 2)
    left_out = (f"{last - first:,} more",) if short else (f"{last - first:,}", "more")
    return [*made[:first], Column(left_out, "", None), *made[last:]]


def _first_rounds(comparison: Comparison) -> list[int]:
    """Of each epoch, where rows share their breakpoints."""
    number = comparison.epochs
    return [0, *(comparison.breakpoints or ())[: number - 1]] if number else []


def group_columns(comparison: Comparison, size: int) -> list[Column]:
    """The columns of a table of the regret in each ``size`` epochs (``Comparison.epoch_groups``)."""
    starts = _first_rounds(comparison)
    ends = [min(first + size, len(starts)) - 1 for first in range(0, len(starts), size)]
    return [
        Column((counted(starts[first]),), f"regret_epochs_{first}_{last}", True)
        for first, last in zip(range(0, len(starts), size), ends, strict=True)
    ]


def epoch_title(comparison: Comparison, shown: list[Column], *, short: bool = False, size: int = 1) -> str:
    """What stands above the table of regret per epoch, or ``size`` epochs, of the columns ``shown``."""
    drawn, number = comparison.breakpoints is None, comparison.epochs
    if size > 1:
        last = number % size
        rest = f" ({last} in the last column)" if last else ""
        return f"regret per {size} epochs{rest}, by their first round; table.csv has each of the {number:,}"
    by = "" if not short else ", by its number" if drawn else ", by its first round"
    rows = ", mean over the rows that have come to it" if drawn else ""
    rest = "" if all(column.key for column in shown) else f"; table.csv has all {number:,}"
    return f"regret per epoch{by}{rows}{rest}"


def cell(line: dict[str, Any], key: str, *, error: bool = True) -> str:
    """A table's entry: mean ± standard error, with digits that suit them."""
    if not key:
        return "..."
    mean, spread = line[key], line.get(f"{key}_se", math.nan)
    if key == "sessions_per_second":
        return f"{mean / 1e6:.2f}M" if mean >= 1e5 else f"{mean:,.0f}"
    if math.isnan(mean):
        return "unknown"
    always = {"ndcg": 3, "reward": 3, "accuracy": 3}
    digits = always.get(key, 0 if abs(mean) >= 1000 or mean == 0 else 1 if abs(mean) >= 10 else 2)
    text = f"{mean:,.{digits}f}"
    return text if not error or math.isnan(spread) else f"{text} ± {spread:,.{digits}f}"


def csv_text(comparison: Comparison) -> str:
    """The table with all its digits."""
    lines = comparison.table()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def markdown_text(comparison: Comparison) -> str:
    """The table as it is shown, and that of the epochs."""
    text = f"{_markdown_table(comparison, columns(comparison))}\n\n{caption(comparison)}.\n"
    shown = epoch_columns(comparison)
    if shown:
        text += f"\n{epoch_title(comparison, shown).capitalize()}:\n\n{_markdown_table(comparison, shown)}\n"
    return text


def _markdown_table(comparison: Comparison, shown: list[Column]) -> str:
    heads = (" ".join(column.head).replace("- ", "-") for column in shown)
    rows = [["agent", *heads], ["---", *("---:" for _ in shown)]]
    rows += [[line["agent"], *(cell(line, c.key) for c in shown)] for line in comparison.table()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _json_text(settings: dict[str, Any]) -> str:
    """Indented, but lists of numbers on one line."""
    text = json.dumps(settings, indent=2)
    numbers = re.compile(r"\[\s+([\d,\s]+?)\s+\]")
    return numbers.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _clear(out: Path, new: dict[str, Any], notes: list[str]) -> None:
    """Remove the histories of the comparison in ``out`` that ``new`` does not have; say so if it was another one."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # none there, or nobody's compare.json
        old = json.loads((out / "compare.json").read_text(encoding="utf-8"))
        files, names = ([str(agent[key]) for agent in old["agents"]] for key in ("file", "name"))
        kept = {agent["file"] for agent in new["agents"]}
        decisive = ("environment", "arguments", "rounds", "seed", "queries", "problems")
        same = all(old.get(key) == new.get(key) for key in decisive)
        if not same or old["runs"] > new["runs"] or not set(files) <= kept:
            rounds = f"{old['rounds']} {'round' if old['rounds'] == 1 else 'rounds'}, seed {old['seed']}"
            notes.append(f"replaces the comparison of {old['environment']} ({', '.join(names)}; {rounds}) in {out}")
        for file in set(files) - kept:
            if Path(file).name == file and file.endswith(".npz"):
                (out / file).unlink(missing_ok=True)


def save(comparison: Comparison, out: Path) -> None:
    """Write histories, tables, settings and the figure into the folder ``out``.

    They are ``<agent>.npz``, ``table.csv``, ``table.md``, ``compare.json``, ``regret.png`` and ``regret.svg``. A
    history file has ``rounds`` (records,), ``regret``, ``violations``, ``ndcg`` and ``reward`` (records, rows), and
    ``query`` and ``seed`` (rows,); in a non-stationary environment also ``epoch_regret`` (epochs, rows), NaN where a
    row has not come to an epoch. That of duels has ``regret``, ``accuracy`` (NaN: not known) and ``reward``, and
    ``problem`` in the place of ``query`` where the environment has problems. Where nobody's regret is known the figure
    shows the reward. Without matplotlib there is no figure, and a note says so.

    Histories of an earlier comparison in the same folder, which its ``compare.json`` names, are removed unless the new
    one has them too; where something else was compared, a note says so.
    """
    out.mkdir(parents=True, exist_ok=True)
    settings = json.loads(json.dumps(comparison.settings()))
    _clear(out, settings, comparison.notes)
    query = np.tile(comparison.queries, comparison.runs)
    seeds = [comparison.seed + row for row in range(comparison.rows)]
    seed = np.array(seeds) if seeds[-1] < 2**63 else np.array(list(map(str, seeds)))  # seeds may have any size
    for label, history in comparison.histories.items():
        with atomic_path(out / f"{slug(label)}.npz") as path, path.open("wb") as file:
            arrays = {name: a for name, a in history._asdict().items() if name != "epoch_regret" or len(a)}
            arrays |= {comparison.choice: query} if comparison.choice else {}
            np.savez(file, **arrays, seed=seed)
    texts = {
        "compare.json": _json_text(settings),
        "table.csv": csv_text(comparison),
        "table.md": markdown_text(comparison),
    }
    for name, text in texts.items():
        with atomic_path(out / name) as path:
            path.write_text(text, encoding="utf-8")
    try:
        from rankgym.experiments.show import comparison_figure, style
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        comparison.notes.append(NO_PLOTS)
        return
    figure = comparison_figure.draw_comparison(comparison)
    for kind in ("png", "svg"):
        with atomic_path(out / f"regret.{kind}") as path:
            style.write(figure, path, kind)
