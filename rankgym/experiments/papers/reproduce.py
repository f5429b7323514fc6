"""Reproduce figures of papers: play, draw, judge each claim, and write the files of each figure.

The folder of the reproductions has

    data/                  result files of all jobs; figures of the same runs share them, and no job is played twice
    NAME-SCALE-SOURCE/     figure.png, figure.svg, figure.pdf; claims.md, claims.json; data.parquet, one line a row
                           and recorded round; report.html, with all of it in one file
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.data import MissingData
from rankgym.experiments.judge import claims
from rankgym.experiments.judge.claims import Judgement
from rankgym.experiments.judge.table_columns import counted
from rankgym.experiments.judge.units import counted_units
from rankgym.experiments.papers.figure import PaperFigure, Scale, check_scale, check_source
from rankgym.experiments.papers.listing import find_figures
from rankgym.experiments.papers.pace import Pace, measure_pace
from rankgym.experiments.plan.environments import KINDS
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.sweeps import run_sweep
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable, versions, when_interrupted

LIBRARIES = ("joblib", "filelock", "pyarrow", "scipy", "matplotlib")
FILES = ("figure.png", "figure.svg", "figure.pdf", "claims.md", "claims.json", "data.parquet", "report.html")


class Reproduced(NamedTuple):
    """A figure that has been reproduced."""

    figure: PaperFigure
    scale: Scale
    source: str
    folder: Path  # of its files
    judgements: list[Judgement]
    pace: Pace | None  # None if the log of the results has none of its jobs


def reproduce(
    names: str | Iterable[str],
    *,
    scale: str = "small",
    source: str = "published",
    out: str | os.PathLike[str] = "reproduced",
    jobs: int | None = None,
    backend: str | None = None,
    address: str | None = None,
    progress: bool = True,
    on_done: Callable[[Reproduced], None] = lambda reproduced: None,
) -> list[Reproduced]:
    """Play what figures show, draw them, and judge their claims.

    Results are kept: the same call resumes, and figures that show the same runs share them.

    Args:
        names: of figures, of papers, or ``"all"``; see ``find_figures``.
        scale: ``"full"``: the paper's; ``"small"``: minutes on two processors; ``"smoke"``: seconds, few decisions.
        source: of click models and preferences: ``"published"`` or ``"calibrated"``.
        out: the folder for all results.
        jobs, backend, address, progress: as ``run_sweep`` takes them.
        on_done: is called with each figure as soon as it is finished.

    Returns:
        The figures, in the order they were named.

    Raises:
        ValueError: an argument does not fit. Nothing was played.
        MissingData: published data are missing; the message says how to get them. Nothing was played.
        RuntimeError, OSError: those of ``run_sweep``.
    """
    figures = find_figures(names)
    chosen, source = check_scale(scale), check_source(source)
    for library in LIBRARIES:
        require(library)
    sweeps = [_sweep(figure, chosen, source) for figure in figures]
    root = Path(out)
    data = root / "data"
    check_writable(out, root)
    done = []
    for figure, sweep in zip(figures, sweeps, strict=True):
        results = run_sweep(
            sweep, data, jobs=jobs, backend=backend, address=address, progress=progress, resume="the same command"
        )
        folder = root / f"{figure.name}-{chosen}-{source}"
        with when_interrupted(lambda: f"all runs so far are kept in {data}; the same command resumes"):
            judgements = claims.judge(figure.claims, results, sweep.rounds)
            pace = measure_pace(figure, sweep, data, source)
            done.append(Reproduced(figure, chosen, source, folder, judgements, pace))
            write_files(done[-1], sweep, results)
            on_done(done[-1])
    return done


def _sweep(figure: PaperFigure, scale: Scale, source: str) -> Sweep:
    """Prepare the figure's data; return its sweep, checked."""
    try:
        if figure.prepare is not None:
            figure.prepare(scale, source)
        sweep = figure.sweep(scale, source)
        sweep.check()
    except ValueError as error:
        missing = error if isinstance(error, MissingData) else error.__cause__
        if not isinstance(missing, MissingData):
            raise
        instead = "or take source = 'calibrated', synthetic data that come with the package"
        raise MissingData(f"{missing}; {instead}") from None
    return sweep


def what_was_played(scale: Scale, source: str, results: Results) -> str:
    """Say in one line at which scale, and how much, was played."""
    rounds = sorted({int(played.rounds[-1]) for played in results}, reverse=True)
    total = sum(len(played.row) * int(played.rounds[-1]) for played in results)
    rows = sorted({len(played.row) for played in results}, reverse=True)
    agents = {played.agent for played in results}
    settled = np.concatenate([played.settled_at for played in results])
    things = KINDS["duels" if all("accuracy" in played.measures for played in results) else "rankings"]
    words = [
        f"scale {scale}, {source} data",
        f"{counted_units(len(results.environments), 'environments')}, {counted_units(len(agents), 'agents')}",
        f"{' or '.join(f'{number:,}' for number in rows)} rows of {' or '.join(map(counted, rounds))} rounds",
        f"{total:.2g} {things} in all".replace("e+0", "e").replace("e+", "e"),
        f"{np.mean(settled >= 0):.0%} of the rows settled and were retired, which changes none of these numbers",
    ]
    return "; ".join(words)


def what_is_decided(judgements: Sequence[Judgement], rounds: int) -> str:
    """Say in one line how many of the claims this scale can decide, and why not the others."""
    few = sum(rounds < (found.claim.needs_rounds or 0) for found in judgements)
    unsure = claims.counts(judgements)["cannot be decided at this scale"] - few
    decided = len(judgements) - few - unsure
    words = [f"this scale decides {decided} of {counted_units(len(judgements), 'claims')}"]
    if few:
        words.append(f"{few} speak{'s' if few == 1 else ''} of more rounds than were played")
    if unsure:
        which, them = ("interval of one is", "it") if unsure == 1 else (f"intervals of {unsure} are", "them")
        words.append(f"the {which} too wide, and more queries or runs would narrow {them}")
    return "; ".join(words)


def write_files(found: Reproduced, sweep: Sweep, results: Results) -> None:
    """Write the files of a figure into its folder, each atomically."""
    from rankgym import style
    from rankgym.experiments.run.tidy_tables import table, write_table
    from rankgym.experiments.show.report import Picture, write_report

    figure, folder = found.figure, found.folder
    folder.mkdir(parents=True, exist_ok=True)
    played = what_was_played(found.scale, found.source, results)
    decided = what_is_decided(found.judgements, sweep.rounds)
    drawn = figure.draw(results)
    own = drawn.get_supxlabel()
    style.add_caption(drawn, f"{_capital(played)}; {decided}.")
    pictures = {}
    for kind in ("png", "svg", "pdf"):
        with atomic_path(folder / f"figure.{kind}") as path:
            style.write(drawn, path, kind)
            pictures[kind] = path.read_bytes()
    settings: dict[str, Any] = {"figure": figure.name, "scale": found.scale, "source": found.source}
    settings |= {"sweep": json.loads(sweep.to_json()), "versions": versions()}
    document = {**settings, "played": played, "decides": decided}
    document |= {"counts": claims.counts(found.judgements), "claims": claims.as_json(found.judgements)}
    paragraphs = [
        f"# {figure.name}: {figure.title}",
        f"{figure.paper}.",
        f"What was played: {played}.",
        f"What that can decide: {decided}.",
        claims.markdown(found.judgements).rstrip(),
        f"Setting: {figure.setting}",
    ]
    for name, text in (("claims.md", "\n\n".join(paragraphs)), ("claims.json", json.dumps(document, indent=2))):
        with atomic_path(folder / name) as path:
            path.write_text(f"{text}\n", encoding="utf-8")
    write_table(table(results), folder / "data.parquet")
    write_report(
        folder / "report.html",
        f"{figure.name}: {figure.title}",
        summary="\n\n".join([f"{figure.paper}.", f"{_capital(played)}.", f"{_capital(decided)}.", figure.setting]),
        pictures=[Picture(pictures["svg"].decode(), own or figure.title, figure.title)],
        judgements=found.judgements,
        settings=settings,
        versions=versions(),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
