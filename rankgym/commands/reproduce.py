"""``rankgym reproduce``: figures of papers, and verdicts on their claims."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from rankgym.commands import completion
from rankgym.commands.options import Address, Backend, Jobs, option

if TYPE_CHECKING:
    from rankgym.experiments.papers.listing import ListedFigure
    from rankgym.experiments.papers.pace import Pace
    from rankgym.experiments.papers.reproduce import Reproduced

WIDE = 130  # columns of a terminal; a narrower one gets the short table of claims
MIN_SECONDS = 30.0  # of processes; in less time, starting up dominates


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...",
            autocompletion=completion.figures,
            show_default=False,
            help="Figures, such as `bubblerank-figure-1`; papers, such as `bubblerank`: all their figures; or `all`.",
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List all figures, their sizes and the data that they need.")
    ] = False,
    scale: Annotated[
        str,
        option(
            "full|small|smoke",
            "`full`: as in the paper; `small`: minutes on two processors; `smoke`: seconds, few decided claims.",
        ),
    ] = "small",
    source: Annotated[
        str,
        option(
            "published|calibrated",
            "Click models and preferences: original, after `rankgym data fetch`, or synthetic ones of the package.",
        ),
    ] = "published",
    out: Annotated[Path, option("DIR", "Folder for all results.")] = Path("reproduced"),
    jobs: Jobs = None,
    backend: Backend = None,
    address: Address = None,
) -> None:
    """Reproduce figures of papers: play, draw, and report which of the paper's claims hold.

    Each figure gets a folder in DIR, NAME-SCALE-SOURCE, with `figure.png`, `figure.svg`, `figure.pdf` (for a
    paper), `claims.md`, `claims.json`, the numbers in `data.parquet`, and `report.html`, which has everything.

    A claim holds, or fails, if the confidence interval of the measured value decides it; otherwise it is undecided at
    this scale.

    Runs are kept in DIR/data: the same command resumes from there, however it was stopped, and figures of the same runs
    share them.
    """
    from rankgym.experiments.papers.listing import list_figures
    from rankgym.experiments.papers.reproduce import FILES
    from rankgym.experiments.papers.reproduce import reproduce as reproduce_figures

    console = Console()
    if list_:
        _show_list(list_figures(source), console)
        return
    if not names:
        raise ValueError("no figure was named; `rankgym reproduce --list` lists them")

    done = reproduce_figures(
        names,
        scale=scale,
        source=source,
        out=out,
        jobs=jobs,
        backend=backend,
        address=address,
        on_done=lambda found: _show(found, console),
    )
    for found in done:
        console.print(Text(f"Written to {found.folder}: {', '.join(FILES)}"), soft_wrap=True)
    _show_paces(done, console)


def _show_paces(done: "Sequence[Reproduced]", console: Console) -> None:
    """Print the speed of each group of figures that share their runs."""
    for pace in dict.fromkeys(found.pace for found in done):  # figures of the same runs have the same pace
        if pace is not None:
            alike = [found for found in done if found.pace == pace]
            names = ", ".join(found.figure.name for found in alike)
            console.print(Text(f"{names}: {pace_in_words(pace, alike[0].scale)}"), soft_wrap=True)


def _show(found: "Reproduced", console: Console) -> None:
    """Print a figure's claims; on a narrow terminal without the measured values, which take most lines."""
    from rankgym.experiments.judge.claims import rich_table, tally

    title = f"{found.figure.name}, scale {found.scale}: {found.figure.title}"
    short = console.width < WIDE
    console.print(rich_table(found.judgements, title, short=short))
    more = "has the measured values and notes" if short else "has the notes"
    console.print(Text(f"{tally(found.judgements)} {found.folder / 'claims.md'} {more}."), soft_wrap=True)


def pace_in_words(pace: "Pace", scale: str) -> str:
    """Return the speed, and the time that the full scale would take."""
    from rankgym.experiments.run.display import duration

    settled = f" ({pace.played:.3g} of them really played, the others of settled rows)"
    really = "" if pace.played == pace.sessions else settled
    words = [
        f"{pace.sessions:.3g} sessions{really} in {duration(pace.seconds)} of processes: {pace.rate / 1e6:.3g} M a "
        "second of one process"
    ]
    if scale == "smoke" or (scale != "full" and pace.seconds < MIN_SECONDS):
        words.append("too little to estimate the time of --scale full")
    elif scale != "full" and pace.full and math.isfinite(pace.full_seconds):
        words.append(
            f"--scale full has {pace.full:.3g} sessions: at these rates {duration(pace.full_seconds)} of one process, "
            f"{duration(pace.full_seconds / 2)} of two"
        )
    return "; ".join(words).replace("e+0", "e").replace("e+", "e")


def _show_list(entries: "Sequence[ListedFigure]", console: Console) -> None:
    """Print two lines for each figure, below the name of its paper."""
    from rankgym.experiments.papers.listing import list_figures

    paper, calibrated = "", dict[str, "ListedFigure"]()
    for entry in entries:
        if entry.figure.paper != paper:
            paper = entry.figure.paper
            console.print(Text(f"\n{paper}", "bold"), soft_wrap=True)
        console.print(Text.assemble("  ", (entry.figure.name, "cyan"), f"  {entry.figure.title}"), soft_wrap=True)
        sizes = _sizes(entry)
        if None in entry.sessions.values():
            calibrated = calibrated or {one.figure.name: one for one in list_figures("calibrated")}
            sizes += f" sessions (--source calibrated: {_sizes(calibrated[entry.figure.name])})"
        else:
            sizes += " sessions"
        needs = f"data: {'; '.join(entry.data) or 'comes with the package'}"
        console.print(Text(f"      {sizes}; {needs}", "dim"), soft_wrap=True)
    console.print(
        Text(
            "\nSessions (duels) at each scale; ?: they depend on data that are not here. A paper's name, such as "
            "bubblerank, stands for all its figures, and `all` for all figures."
        )
    )


def _sizes(entry: "ListedFigure") -> str:
    """Return the number of sessions at each scale."""
    return ", ".join(f"{scale} {_sessions(number)}" for scale, number in entry.sessions.items())


def _sessions(number: int | None) -> str:
    return "?" if number is None else f"{number:.2g}".replace("e+0", "e").replace("e+", "e")
