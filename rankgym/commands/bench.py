"""``rankgym bench``: measure speed."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rankgym.commands.options import counted, option


def bench(
    rows: Annotated[str, option("A,B,...", "Numbers of rows to measure environments with.")] = "1,64,600,6000",
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure roughly: about 30 seconds once everything is compiled.")
    ] = False,
    letor: Annotated[
        Path | None,
        option("FILE", "LETOR file whose rankers are interleaved. Default: a synthetic one of NP2004's shape."),
    ] = None,
    out: Annotated[Path | None, option("FILE.json", "Write all measurements to a file.")] = None,
) -> None:
    """Measure speed on one core: sessions, or duels, per second.

    Measures every click model's step with and without recording, every agent with recording, duels of arms, lists and
    rankers, single environments, and Gymnasium's CartPole for comparison. Candidates take turns, so that a machine that
    slows down slows all of them.
    """
    from rankgym.experiments.bench.measure import check_out, measure, write
    from rankgym.experiments.bench.tables import tables

    try:
        sizes = [counted(part) for part in rows.split(",")]
    except typer.BadParameter:
        raise ValueError(f"--rows {rows} is not a list of numbers; allowed: numbers, such as 1,64,600,6000") from None
    if out is not None:
        check_out(out)
    report = measure(sizes, quick=quick, letor=letor)
    console = Console()
    for part in tables(report):
        console.print(part)
    if out is not None:
        write(report, out)
        typer.echo(f"Written: {out}")
