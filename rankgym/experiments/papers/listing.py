"""Find figures by name; list them with the number of sessions at each scale and the data that they need."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rankgym.arguments import near
from rankgym.data import catalogue
from rankgym.experiments.papers import FIGURES, PAPERS
from rankgym.experiments.papers.figure import SCALES, PaperFigure, Scale, check_source
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
    groups = {"all": (*FIGURES.values(),), **PAPERS, **{name: (figure,) for name, figure in FIGURES.items()}}
    found: dict[str, PaperFigure] = {}
    for name in [names] if isinstance(names, str) else names:
        if name not in groups:
            hint = near(name, groups) if isinstance(name, str) else ""
            some = f"allowed: {', '.join(PAPERS)}, or one of their figures, which `rankgym reproduce --list` shows"
            raise ValueError(f"figure {name!r} is unknown{hint or ';'} {some}")
        found |= {figure.name: figure for figure in groups[name]}
    if not found:
        raise ValueError("no figure was named; `rankgym reproduce --list` shows their names")
    return list(found.values())


class ListedFigure(NamedTuple):
    """A figure in the list, with what it plays and needs."""

    figure: PaperFigure
    sessions: dict[Scale, int | None]  # at each scale; None: the number depends on missing data
    data: list[str]  # data that do not come with the package, with the command that fetches them


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
            sessions[scale] = sum(sessions_by_agent(sweep).values())
        except (ValueError, OSError) as error:  # data are missing
            sessions[scale] = None
            data = data or [str(error)]
    return ListedFigure(figure, sessions, data)


def data_needed(sweep: Sweep) -> list[str]:
    """Return the data that a sweep needs and that do not come with the package, in words."""
    found: dict[str, None] = {}
    for environment in sweep.environments:
        arguments = {**(env_arguments(full_id(environment.env_id)) or {}), **environment.kwargs}
        file = arguments.get("file")
        if file is not None and catalogue.home() not in Path(file).parents:  # figures prepare their files there
            found[f"the file {Path(file).name}"] = None
        original = ORIGINALS.get(str(arguments.get("dataset")))
        if original is not None and arguments.get("source") == "published":
            commands = " or ".join(f"`{command}`" for command in catalogue.DATASETS[original].commands)
            found[original if catalogue.cached(original).exists() else f"{original} (not here: {commands})"] = None
    return list(found)


def sessions_by_agent(sweep: Sweep) -> dict[tuple[str, str], int]:
    """Count sessions, or duels, by (environment, agent). Environments are made only if queries are not listed.

    Raises:
        MissingData: the number of queries depends on data that are missing.
    """
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
