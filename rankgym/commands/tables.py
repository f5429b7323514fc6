"""Tables in a terminal: a plain one, and those of a comparison, fitted to its width."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rankgym.experiments import Comparison

MAX_EPOCHS = 24  # in a table; more are shown as sums over groups of neighbours
MAX_GROUPS = 10
SHORTEST = 8  # letters of a label's line


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, labels: int | None = None) -> None:
    """Print a table of texts. Columns after the first ``labels`` have numbers, which are never wrapped.

    With ``labels`` None there are no numbers, and the first column is bold and never wrapped. If a table with numbers
    is too wide, its columns stand closer, and labels are broken after commas, then after = and : as well, before they
    are broken anywhere.
    """
    console, rows = Console(), list(rows)
    table = _filled(heads, rows, labels)
    if labels is not None and not fits(table, console):
        table = _filled(heads, rows, labels, gap=0)
    if labels is not None and not fits(table, console):
        broken = ([text.replace(", ", ",\n") for text in row[:labels]] + [*row[labels:]] for row in rows)
        table = _filled(heads, broken, labels, gap=0)
    if labels is not None:
        longest = max((len(text) for row in rows for text in row[:labels]), default=0)
        for width in range(longest, SHORTEST, -1):
            if fits(table, console):
                break
            broken = ([_broken(text, width) for text in row[:labels]] + [*row[labels:]] for row in rows)
            table = _filled(heads, broken, labels, gap=0)
    console.print(table)


def _broken(text: str, width: int) -> str:
    """Return ``text`` in lines of at most ``width`` letters if blanks and the signs , = : allow it."""
    lines = [""]
    for part in re.findall(r"[^,=:\s]*(?:[,=:]+\s*|\s+|$)", text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _filled(heads: Sequence[str], rows: Iterable[Sequence[str]], labels: int | None, gap: int = 1) -> Table:
    """Return the table of ``show_table``, with ``gap`` + 2 blanks between columns."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, gap))
    for place, head in enumerate(heads):
        if labels is not None and place >= labels:
            table.add_column(head, justify="right", no_wrap=True)
        else:
            name = place == 0 and labels is None
            table.add_column(head, overflow="fold", no_wrap=name, style="bold" if name else None)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def fitting_table(comparison: "Comparison", console: Console) -> tuple[Table, Literal["all", "some", "none"]]:
    """Return the comparison's table, and which of its measures have standard errors.

    It has as many columns and standard errors as fit the width of ``console``. Cells that still do not fit, and agents'
    names of more than half the width, are folded; nothing is cut.
    """
    from rankgym.experiments.judge.table_columns import OTHER_ERRORS, REGRET_ERRORS
    from rankgym.experiments.show.tables import columns

    lines, shown = comparison.table(), columns(comparison)
    errors: tuple[str, ...]  # prefixes of the keys of measures with standard errors
    for rank in sorted({1_000, OTHER_ERRORS, REGRET_ERRORS, *(column.optional for column in shown)} - {0})[::-1]:
        shown = [column for column in shown if column.optional < rank]
        errors = ("",) if rank > OTHER_ERRORS else ("regret",) if rank > REGRET_ERRORS else ()
        table = filled_table(lines, shown, errors, console.width // 2)
        if fits(table, console):
            break
    without = [c for c in shown if not c.key.startswith(errors)]
    return table, "all" if not without else "some" if errors else "none"


def fits(table: Table, console: Console) -> bool:
    """Return whether the table needs no more than the width of ``console``."""
    return console.measure(table, options=console.options.update(width=10_000)).maximum <= console.width


def fitting_epochs(comparison: "Comparison", console: Console) -> tuple[str, Table, list[Any], bool]:
    """Return title, table and columns of regret per epoch, and whether the table has standard errors.

    Where room is short, first standard errors go, then names are folded, columns move together, and epochs go.
    """
    from rankgym.experiments.show.tables import epoch_title

    half = console.width // 2
    lines = comparison.table()
    for columns, size in _epoch_choices(comparison):
        if size > 1:
            lines = [a | b for a, b in zip(lines, comparison.epoch_groups(size), strict=True)]
        whole = all(column.key for column in columns)
        looks = [(("",), half, 1)] if whole else []
        for errors, longest, padding in [*looks, ((), half, 1), ((), half, 0), ((), min(half, max(half // 2, 12)), 0)]:
            table = filled_table(lines, columns, errors, longest, padding)
            if fits(table, console):
                return epoch_title(comparison, columns, short=True, size=size), table, columns, bool(errors)
    return epoch_title(comparison, columns, short=True, size=size), table, columns, False


def _epoch_choices(comparison: "Comparison") -> Iterator[tuple[list[Any], int]]:
    """Yield columns, fewer and fewer, and the number of epochs that each of them sums up."""
    from rankgym.experiments.show.tables import epoch_columns, group_columns

    number = comparison.epochs
    if number > MAX_EPOCHS and comparison.breakpoints is not None:
        for size in sorted({-(-number // groups) for groups in range(3, MAX_GROUPS + 1)}):
            yield group_columns(comparison, size), size
    else:
        for most in range(min(MAX_EPOCHS, max(number, 3)), 2, -1):
            yield epoch_columns(comparison, most, short=True), 1


def filled_table(
    lines: list[dict[str, Any]], shown: list[Any], errors: tuple[str, ...], longest: int, padding: int = 1
) -> Table:
    """Return a table of ``lines``, with standard errors where a column's key starts with one of ``errors``."""
    from rankgym.experiments.show.tables import cell

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, padding))
    table.add_column("agent", overflow="fold", vertical="bottom", max_width=longest)
    for column in shown:
        table.add_column(Text("\n".join(column.head)), justify="right", overflow="fold")
    best = {}
    for column in shown:
        known = [line[column.key] for line in lines if column.key and not math.isnan(line[column.key])]
        if column.lowest_is_best is not None and len(known) > 1:
            best[column.key] = (min if column.lowest_is_best else max)(known)
    for line in lines:
        texts = [cell(line, c, error=c.key.startswith(errors)) for c in shown]
        cells = [
            Text(text, "bold green" if c.key in best and line[c.key] == best[c.key] else "")
            for text, c in zip(texts, shown, strict=True)
        ]
        table.add_row(Text(line["agent"]), *cells)
    return table
