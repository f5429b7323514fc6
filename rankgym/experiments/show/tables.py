"""A comparison's tables as text: cells, columns of epochs, Markdown, CSV. ``judge.table_columns`` has the measures."""

import csv
import io
import itertools
import math
from typing import Any

from rankgym.estimates import rounded, with_error
from rankgym.experiments.judge.agreements import agreement_notes
from rankgym.experiments.judge.comparison import Comparison, caption
from rankgym.experiments.judge.table_columns import Column, counted
from rankgym.outputs import csv_cell

MAX_EPOCH_COLUMNS = 12  # of more epochs the table shows the first and the last; table.csv has all


def columns(comparison: Comparison) -> list[Column]:
    """Return the columns of the table for reading besides the agent's name."""
    return [column for column in comparison.columns if column.shown]


def epoch_columns(comparison: Comparison, most: int = MAX_EPOCH_COLUMNS, *, short: bool = False) -> list[Column]:
    """Return the columns of the table of regret per epoch, at most ``most``, which is 3 or more; [] without epochs.

    If there are more epochs, one column without a key stands for those in the middle. ``short`` heads have the first
    round of the epoch, or its number if each row has its own breakpoints; others have the first and the last round.
    """
    number, starts = comparison.epochs, _first_rounds(comparison)
    heads: list[tuple[str, ...]]
    if comparison.breakpoints is None:
        heads = [(f"{epoch:,}",) if short else ("epoch", f"{epoch:,}") for epoch in range(number)]
    elif short:
        heads = [(counted(start),) for start in starts]
    else:
        heads = [(f"{start:,}-", f"{stop - 1:,}") for start, stop in itertools.pairwise([*starts, comparison.rounds])]
    made = [Column(f"regret_epoch_{epoch}", head, True) for epoch, head in enumerate(heads)]
    if number <= most:
        return made
    first, last = most // 2, number - (most - 1 - most // 2)
    left_out = (f"{last - first:,} more",) if short else (f"{last - first:,}", "more")
    return [*made[:first], Column("", left_out, None), *made[last:]]


def _first_rounds(comparison: Comparison) -> list[int]:
    """Return the first round of each epoch; rows share their breakpoints."""
    number = comparison.epochs
    return [0, *(comparison.breakpoints or ())[: number - 1]] if number else []


def group_columns(comparison: Comparison, size: int) -> list[Column]:
    """Return the columns of a table of the regret in each ``size`` epochs (``Comparison.epoch_groups``)."""
    starts = _first_rounds(comparison)
    return [
        Column(f"regret_epochs_{first}_{min(first + size, len(starts)) - 1}", (counted(starts[first]),), True)
        for first in range(0, len(starts), size)
    ]


def epoch_title(comparison: Comparison, shown: list[Column], *, short: bool = False, size: int = 1) -> str:
    """Return the title of the table of regret per epoch, or per ``size`` epochs, with the columns ``shown``."""
    drawn, number = comparison.breakpoints is None, comparison.epochs
    if size > 1:
        last = number % size
        rest = f" ({last} in the last column)" if last else ""
        return f"regret per {size} epochs{rest}, by their first round; table.csv has each of the {number:,}"
    by = "" if not short else ", by its number" if drawn else ", by its first round"
    rows = ", mean over the rows that have come to it" if drawn else ""
    rest = "" if all(column.key for column in shown) else f"; table.csv has all {number:,}"
    return f"regret per epoch{by}{rows}{rest}"


def cell(line: dict[str, Any], column: Column, *, error: bool = True) -> str:
    """Return a table's entry: mean ± standard error. ``line`` is one of ``Comparison.table``."""
    if not column.key:
        return "..."
    mean, spread = line[column.key], line.get(f"{column.key}_se", math.nan)
    if column.key == "sessions_per_second":
        return f"{mean / 1e6:.2f}M" if mean >= 1e5 else f"{mean:,.0f}"
    return with_error(mean, spread, column.digits) if error else rounded(mean, spread, column.digits)[0]


def csv_text(comparison: Comparison) -> str:
    """Return the table with all columns and digits; names that a spreadsheet would compute have ' in front."""
    lines = comparison.table()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def markdown_text(comparison: Comparison) -> str:
    """Return the tables for reading: that of the measures and, if there are epochs, of their regret."""
    text = f"{_markdown_table(comparison, columns(comparison))}\n\n{caption(comparison)}.\n"
    shown = epoch_columns(comparison)
    if shown:
        text += f"\n{epoch_title(comparison, shown).capitalize()}:\n\n{_markdown_table(comparison, shown)}\n"
    text += "".join(f"\n{note}.\n" for note in agreement_notes(comparison.histories))
    return text


def _markdown_table(comparison: Comparison, shown: list[Column]) -> str:
    heads = (" ".join(column.head).replace("- ", "-") for column in shown)
    rows = [["agent", *heads], ["---", *("---:" for _ in shown)]]
    rows += [[line["agent"], *(cell(line, column) for column in shown)] for line in comparison.table()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
