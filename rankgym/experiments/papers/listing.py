"""The figures by name, and a list of them: how many sessions they play at each scale, and which data they need."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rankgym.arguments import near
from rankgym.data import catalogue
from rankgym.experiments.papers import FIGURES, PAPERS, SCALES
from rankgym.experiments.papers.figure import PaperFigure, Scale, check_source
from rankgym.experiments.plan.environments import env_arguments
from rankgym.experiments.plan.environments import env_id as full_id
from rankgym.experiments.plan.sweep import Sweep

ORIGINALS = {"yandex": "yandex60", "mslr": "mslr"}  # data sets that have an original, and its name in the catalogue


def find_figures(names: str | Iterable[str]) -> list[PaperFigure]:
    """Return the named figures, each once.

    Args:
        names: of figures (``"bubblerank-figure-1"``), of papers (``"bubblerank"``: all its figures), or ``"all"``.

    Raises:
        ValueError: a name is unknown, or there are no names.
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
            some = f"allowed: {', '.join(PAPERS)}, or one of their figures, which `rankgym reproduce --list` shows"
            raise ValueError(f"figure {name!r} is unknown{hint or ';'} {some}")
    if not found:
        raise ValueError("no figure was named; `rankgym reproduce --list` shows their names")
    return list(found.values())


class ListedFigure(NamedTuple):
    """A figure in the list, with what it plays and needs."""

    figure: PaperFigure
    sessions: dict[Scale, int | None]  # at each scale; None: it depends on data that are not here
    data: list[str]  # that do not come with the package, with the command that brings them


def list_figures(source: str = "published") -> list[ListedFigure]:
    """List all figures.

    Raises:
        ValueError: ``source`` is unknown.
    """
    check_source(source)
    return [_listed(figure, source) for figure in FIGURES.values()]


def _listed(figure: PaperFigure, source: str) -> ListedFigure:
    sessions: dict[Scale, int | None] = {}
    data: list[str] = []
    for scale in SCALES:
        try:
            sweep = figure.sweep(scale, source)
            data = data or data_needed(sweep)
            sessions[scale] = count_sessions(sweep)
        except (ValueError, OSError) as error:  # data are missing
            sessions[scale] = None
            data = data or [str(error)]
    return ListedFigure(figure, sessions, data)


def data_needed(sweep: Sweep) -> list[str]:
    """The data that a sweep needs and that do not come with the package, in words."""
    found: dict[str, None] = {}
    for environment in sweep.environments:
        arguments = {**(env_arguments(full_id(environment.env_id)) or {}), **environment.kwargs}
        file = arguments.get("file")
        if file is not None and catalogue.home() not in Path(str(file)).parents:  # what a figure prepares lies there
            found[f"the file {Path(str(arguments['file'])).name}"] = None
        original = ORIGINALS.get(str(arguments.get("dataset")))
        if original is not None and arguments.get("source") == "published":
            there = catalogue.cached(original).exists()
            command = " or ".join(f"`{command}`" for command in catalogue.DATASETS[original].commands)
            found[original if there else f"{original} (not here: {command})"] = None
    return list(found)


def count_sessions(sweep: Sweep) -> int:
    """Count the sessions, or duels, of a sweep.

    Raises:
        MissingData: the number of queries depends on data that are not here.
    """
    return sum(sessions_by_agent(sweep).values())


def sessions_by_agent(sweep: Sweep) -> dict[tuple[str, str], int]:
    """Sessions by (environment, agent). Environments are made only if queries are not listed one by one."""
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
