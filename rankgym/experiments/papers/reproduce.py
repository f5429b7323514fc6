"""From the name of a paper's figure to its picture, its data, and a verdict on each of its claims.

In the folder of the reproductions

    data/                  results of all that was played, as ``rankgym.experiments.run.store`` keeps them: figures that
                           show the same runs share them, and what is there is not played again
    NAME-SCALE-SOURCE/     figure.png, figure.svg; claims.md, claims.json; data.parquet, one line a row and recorded
                           round; report.html, with all of it in one file
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankgym.arguments import near
from rankgym.data import MissingData, catalogue
from rankgym.experiments.judge import claims
from rankgym.experiments.judge.claims import Judgement
from rankgym.experiments.judge.comparison import counted
from rankgym.experiments.papers import FIGURES, PAPERS, SCALES
from rankgym.experiments.papers.figure import PaperFigure, Scale, check_scale, check_source
from rankgym.experiments.plan.environments import env_arguments
from rankgym.experiments.plan.environments import env_id as full_id
from rankgym.experiments.plan.setting import KINDS
from rankgym.experiments.plan.sweep import Sweep
from rankgym.experiments.run.driver import LOG
from rankgym.experiments.run.results import Results
from rankgym.experiments.run.sweeps import run_sweep
from rankgym.extras import require
from rankgym.outputs import atomic_path, check_writable, versions

__all__ = [
    "Entry",
    "Pace",
    "Reproduced",
    "find",
    "listing",
    "pace",
    "reproduce",
    "sessions_of",
    "what_is_decided",
    "what_was_played",
]

LIBRARIES = ("joblib", "filelock", "pyarrow", "scipy", "matplotlib")
PUBLISHED = {"yandex": "yandex60", "mslr": "mslr"}  # data sets that have an original, and its name in the catalogue
FILES = ("figure.png", "figure.svg", "claims.md", "claims.json", "data.parquet", "report.html")


class Reproduced(NamedTuple):
    """A figure that has been reproduced."""

    figure: PaperFigure
    scale: Scale
    source: str
    folder: Path  # of its files
    judgements: list[Judgement]
    pace: Pace | None  # None: nobody knows how long it took to play


class Pace(NamedTuple):
    """How fast something was played, and how long the paper's scale would take at these rates."""

    sessions: int  # of all rows, those of retired ones included
    played: int  # that were really played
    seconds: float  # of processes, added up
    full: int  # sessions of the full scale
    full_seconds: float  # of processes, added up; NaN: some of it was not played at this scale

    @property
    def rate(self) -> float:
        """Sessions a second of one process."""
        return self.sessions / max(self.seconds, 1e-9)


# -- names ------------------------------------------------------------------------------------------------------------


def find(names: str | Iterable[str]) -> list[PaperFigure]:
    """The figures that are meant, each once.

    Args:
        names: of figures (``"bubblerank-figure-1"``), of papers (``"bubblerank"``: all its figures), or ``"all"``.

    Raises:
        ValueError: a name is unknown; a near one is suggested. Or there is none.
    """
    found: dict[str, PaperFigure] = {}
    for name in [names] if isinstance(names, str) else names:
        if name == "all":
            found |= FIGURES
        elif name in PAPERS:
            found |= {figure.name: figure for figure in PAPERS[name]}
        elif name in FIGURES:
            found[name] = FIGURES[name]
        else:
            known = [*FIGURES, *PAPERS, "all"]
            hint = near(name, known) if isinstance(name, str) else ""
            some = f"allowed: {', '.join(PAPERS)}, or one of their figures, which `rankgym reproduce --list` has"
            raise ValueError(f"figure {name!r} is unknown{hint or ';'} {some}")
    if not found:
        raise ValueError("no figure was named; `rankgym reproduce --list` has their names")
    return list(found.values())


# -- a list -----------------------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A line of the list of figures."""

    figure: PaperFigure
    sessions: dict[Scale, int | None]  # of each scale; None: it depends on data that are not here
    data: list[str]  # what it needs that does not come with the package, with the command that brings it


def listing(source: str = "published") -> list[Entry]:
    """All figures, with what they play and what they need.

    Raises:
        ValueError: there is no such source.
    """
    check_source(source)
    return [_entry(figure, source) for figure in FIGURES.values()]


def _entry(figure: PaperFigure, source: str) -> Entry:
    sessions: dict[Scale, int | None] = {}
    data: list[str] = []
    for scale in SCALES:
        try:
            sweep = figure.sweep(scale, source)
            data = data or needed(sweep)
            sessions[scale] = sessions_of(sweep)
        except (ValueError, OSError) as error:  # some data is missing
            sessions[scale] = None
            data = data or [str(error)]
    return Entry(figure, sessions, data)


def needed(sweep: Sweep) -> list[str]:
    """The data that a sweep needs and that do not come with the package, in words."""
    found: dict[str, None] = {}
    for environment in sweep.environments:
        arguments = {**(env_arguments(full_id(environment.env_id)) or {}), **environment.kwargs}
        file = arguments.get("file")
        if file is not None and catalogue.home() not in Path(str(file)).parents:  # what a figure prepares lies there
            found[f"the file {Path(str(arguments['file'])).name}"] = None
        original = PUBLISHED.get(str(arguments.get("dataset")))
        if original is not None and arguments.get("source") == "published":
            there = catalogue.cached(original).exists()
            command = " or ".join(f"`{command}`" for command in catalogue.DATASETS[original].commands)
            found[original if there else f"{original} (not here: {command})"] = None
    return list(found)


def sessions_of(sweep: Sweep) -> int:
    """How many sessions, or duels, a sweep has.

    Raises:
        MissingData: how many queries there are is in data that are not here.
    """
    return sum(_sessions(sweep).values())


def _sessions(sweep: Sweep) -> dict[tuple[str, str], int]:
    """Those of each environment and agent. Environments are made only where queries are not listed one by one."""
    found: dict[tuple[str, str], int] = {}
    for environment in sweep.environments:
        rounds, runs, query, agents = (
            getattr(sweep, name) if getattr(environment, name) is None else getattr(environment, name)
            for name in ("rounds", "runs", "query", "agents")
        )
        if isinstance(query, tuple) and agents:
            rows = len(query) * runs
        else:
            setting = sweep.settings[environment.label]
            rows, agents = len(setting.queries) * runs, [spec.label for spec in setting.agents]
        found |= {(environment.label, agent): rows * rounds for agent in agents}
    return found


# -- doing it ---------------------------------------------------------------------------------------------------------


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
    tell: Callable[[Reproduced], None] = lambda reproduced: None,
) -> list[Reproduced]:
    """Play what figures show, draw them, and judge their claims.

    What was played is kept: called again it goes on from there, and figures that show the same runs share them.

    Args:
        names: of figures, of papers, or ``"all"``; see ``find``.
        scale: ``"full"``: the paper's; ``"small"``: minutes on two processors; ``"smoke"``: seconds, which decide
            next to nothing.
        source: of click models and preferences: ``"published"`` or ``"calibrated"``.
        out: the folder for all of it.
        jobs, backend, address, progress: as ``run_sweep`` takes them.
        tell: is called with each figure as soon as it is done.

    Returns:
        The figures, in the order that they were named in.

    Raises:
        ValueError: an argument does not fit; nothing was played then.
        MissingData: published data are not here; the message says what brings them. Nothing was played then.
        RuntimeError, OSError: as of ``run_sweep``.
    """
    figures = find(names)
    chosen, source = check_scale(scale), check_source(source)
    for library in LIBRARIES:
        require(library)
    sweeps = [_sweep(figure, chosen, source) for figure in figures]
    root = Path(out)
    check_writable(out, root)
    done = []
    for figure, sweep in zip(figures, sweeps, strict=True):
        try:
            results = run_sweep(sweep, root / "data", jobs=jobs, backend=backend, address=address, progress=progress)
        except KeyboardInterrupt as interruption:
            interruption.__notes__ = [
                f"what was played is kept in {root / 'data'}; the same command goes on from there"
            ]
            raise
        except (OSError, RuntimeError) as error:
            _the_same_command(error, root / "data")
            raise
        folder = root / f"{figure.name}-{chosen}-{source}"
        judgements = claims.judge(figure.claims, results, sweep.rounds)
        found = Reproduced(figure, chosen, source, folder, judgements, pace(figure, sweep, root / "data", source))
        write(found, sweep, results)
        tell(found)
        done.append(found)
    return done


def _sweep(figure: PaperFigure, scale: Scale, source: str) -> Sweep:
    """What is played for ``figure``, checked."""
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


def _the_same_command(error: BaseException, data: Path) -> None:
    """Say in ``error`` how to go on from here: there is no sweep.json for ``rankgym sweep resume``."""
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (error.args[0].replace(f"`rankgym sweep resume {data}`", "the same command"),)


# -- how fast ---------------------------------------------------------------------------------------------------------


def pace(figure: PaperFigure, sweep: Sweep, data: Path, source: str) -> Pace | None:
    """How fast ``sweep`` was played, by the log of the folder, and how long the full scale would take at these rates.

    A rate is that of an agent in an environment; or, where the full scale has another one, of the agent in all of the
    same id. More rows at once make it better; so do more rounds, where agents settle.
    """
    lines = _log(data / LOG)
    taken = [(job, lines[job.key]) for job in sweep.jobs() if job.key in lines]
    if not taken:
        return None
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    sessions: dict[tuple[str, str], int] = defaultdict(int)
    for job, line in taken:
        for place in ((job.environment, job.block.agent.label), (job.block.env_id, job.block.agent.label)):
            seconds[place] += float(line["seconds"])
            sessions[place] += job.sessions
    ids = {}
    full: dict[tuple[str, str], int] = {}
    with contextlib.suppress(ValueError, OSError):  # how much that is depends on data that are not here
        whole = figure.sweep("full", source)
        ids = {environment.label: full_id(environment.env_id) for environment in whole.environments}
        full = _sessions(whole)
    projected = 0.0 if full else math.nan
    for (label, agent), number in full.items():
        place = (label, agent) if sessions.get((label, agent)) else (ids[label], agent)
        projected += number * seconds[place] / sessions[place] if sessions.get(place) else math.nan
    return Pace(
        sum(job.sessions for job, _ in taken),
        sum(int(line["played"]) for _, line in taken),
        sum(float(line["seconds"]) for _, line in taken),
        sum(full.values()),
        projected,
    )


def _log(path: Path) -> dict[str, dict[str, Any]]:
    """The log's lines by the keys of their jobs; what is none is left out."""
    found = {}
    with contextlib.suppress(OSError):
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line = json.loads(text)
                found[line["key"]] = {name: float(line[name]) for name in ("seconds", "sessions", "played")}
    return found


# -- what is said of it -----------------------------------------------------------------------------------------------


def what_was_played(figure: PaperFigure, scale: Scale, source: str, results: Results) -> str:
    """One line: the scale, and what it is."""
    rounds = sorted({int(played.rounds[-1]) for played in results}, reverse=True)
    total = sum(len(played.row) * int(played.rounds[-1]) for played in results)
    rows = sorted({len(played.row) for played in results}, reverse=True)
    agents = {played.agent for played in results}
    settled = np.concatenate([played.settled_at for played in results])
    things = KINDS["duels" if all("accuracy" in played.measures for played in results) else "rankings"]
    words = [
        f"scale {scale}, {source} data",
        f"{_number(len(results.environments), 'environment')}, {_number(len(agents), 'agent')}",
        f"{' or '.join(f'{number:,}' for number in rows)} rows of {' or '.join(map(counted, rounds))} rounds",
        f"{total:.2g} {things} in all".replace("e+0", "e").replace("e+", "e"),
        f"{np.mean(settled >= 0):.0%} of the rows settled and were retired, which changes no regret",
    ]
    return "; ".join(words)


def _number(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def what_is_decided(judgements: Sequence[Judgement], rounds: int) -> str:
    """One line: how much of what the paper says this scale can decide, and why not the rest."""
    few = sum(rounds < found.claim.needs_rounds for found in judgements)
    unsure = claims.counts(judgements)["cannot be decided at this scale"] - few
    decided = len(judgements) - few - unsure
    words = [f"this scale decides {decided} of {_number(len(judgements), 'claim')}"]
    if few:
        words.append(f"{few} speak{'s' if few == 1 else ''} of more rounds than were played")
    if unsure == 1:
        words.append("the interval of one is too wide, and more queries or runs would narrow it")
    elif unsure:
        words.append(f"the intervals of {unsure} are too wide, and more queries or runs would narrow them")
    return "; ".join(words)


def _markdown(found: Reproduced, played: str, decided: str) -> str:
    figure = found.figure
    parts = [
        f"# {figure.name}: {figure.title}",
        f"{figure.paper}.",
        f"What was played: {played}.",
        f"What that can decide: {decided}.",
        claims.markdown(found.judgements).rstrip(),
        f"Setting: {figure.setting}",
    ]
    return "\n\n".join(parts) + "\n"


# -- files ------------------------------------------------------------------------------------------------------------


def write(found: Reproduced, sweep: Sweep, results: Results) -> None:
    """Write the files of a figure into its folder, each whole or not there."""
    from rankgym.experiments.run.tables import table, write_table
    from rankgym.experiments.show import style
    from rankgym.experiments.show.report import Picture, write_report

    figure, folder = found.figure, found.folder
    folder.mkdir(parents=True, exist_ok=True)
    played = what_was_played(figure, found.scale, found.source, results)
    decided = what_is_decided(found.judgements, sweep.rounds)
    drawn = figure.draw(results)
    own = drawn.get_supxlabel()
    style.add_caption(drawn, f"{_capital(played)}; {decided}.")
    pictures = {}
    for kind in ("png", "svg"):
        with atomic_path(folder / f"figure.{kind}") as path:
            style.write(drawn, path, kind)
            pictures[kind] = path.read_bytes()
    _write_text(folder / "claims.md", _markdown(found, played, decided))
    settings = {
        "figure": figure.name,
        "scale": found.scale,
        "source": found.source,
        "sweep": json.loads(sweep.to_json()),
        "versions": versions(),
    }
    document = {
        **settings,
        "played": played,
        "decides": decided,
        "counts": claims.counts(found.judgements),
        "claims": claims.as_json(found.judgements),
    }
    _write_text(folder / "claims.json", json.dumps(document, indent=2) + "\n")
    write_table(table(results), folder / "data.parquet")
    write_report(
        folder / "report.html",
        f"{figure.name}: {figure.title}",
        summary="\n\n".join([f"{figure.paper}.", f"{_capital(played)}.", f"{_capital(decided)}.", figure.setting]),
        pictures=[Picture(pictures["svg"].decode(), None, own or figure.title, figure.title)],
        judgements=found.judgements,
        settings=settings,
        versions=versions(),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _write_text(path: Path, text: str) -> None:
    with atomic_path(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
