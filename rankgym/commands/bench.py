"""``rankgym bench``: measure speed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["bench"]


def bench(
    rows: Annotated[str, typer.Option(metavar="A,B,...", help="Rows of the environments' steps.")] = "1,64,600,6000",
    quick: Annotated[
        bool, typer.Option("--quick", help="A rougher measurement: about 30 seconds once all is compiled.")
    ] = False,
    letor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A LETOR file to interleave rankers of. Default: a synthetic one of NP2004's shape."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Write all measurements to a file.")] = None,
) -> None:
    """Measure speed: sessions per second, or duels, on one core.

    Of every click model's step with and without recording, of every agent with it, of duels of arms, lists and rankers,
    of single environments, and of Gymnasium's CartPole beside them. What is compared takes turns, so that a machine
    that slows down slows all of it.
    """
    from rich.console import Console

    from rankgym.experiments.bench.measure import check_out, measure, write
    from rankgym.experiments.bench.tables import tables

    try:
        sizes = [int(part) for part in rows.split(",")]
    except ValueError:
        raise ValueError(f"--rows {rows} is no list of numbers; allowed: 1,64,600,6000") from None
    if out is not None:
        check_out(out)
    report = measure(sizes, quick=quick, letor=letor)
    console = Console()
    for part in tables(report):
        console.print(part)
    if out is not None:
        write(report, out)
        typer.echo(f"written: {out}")
