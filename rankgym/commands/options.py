"""Options that several commands share, and the reading of their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Annotated, Any

import typer

__all__ = [
    "MAX_FOLDER_NAME",
    "OWN_OPTIONS",
    "Assignments",
    "Positions",
    "Source",
    "as_typed",
    "assignments",
    "env_arguments_of",
    "numbers_of",
    "queries_of",
    "with_keywords",
]

MAX_FOLDER_NAME = 80

OWN_OPTIONS = (  # arguments that have an option of their own, or are for Python alone
    "query",
    "problem",
    "num_envs",
    "env_id",
    "agents",
    "rounds",
    "runs",
    "seed",
    "jobs",
    "out",
    "progress",
    "fresh",
)


Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other argument of the environment, as JSON; may be repeated. `rankgym envs ENV` lists them.",
    ),
]


Source = Annotated[
    str | None,
    typer.Option(
        metavar="calibrated|published",
        help="Click models or preferences that come with the package, or the original.",
    ),
]
Positions = Annotated[int | None, typer.Option(metavar="K", help="Displayed positions.")]


def env_arguments_of(texts: Iterable[str], source: str | None, positions: int | None) -> dict[str, Any]:
    """An environment's arguments from --set KEY=VALUE, --source and --positions."""
    arguments = assignments(texts)
    for option, key, value in (("source", "source", source), ("positions", "num_positions", positions)):
        if value is not None:
            if key in arguments:
                raise ValueError(f"--{option} {value} and --set {key}={arguments[key]}; allowed: one of them")
            arguments[key] = value
    return arguments


def assignments(
    texts: Iterable[str],
    option: str = "--set",
    refused: Iterable[str] = OWN_OPTIONS,
    why: str = "is no argument of the environment here; see rankgym compare --help",
) -> dict[str, Any]:
    from rankgym.experiments.plan.agents import literal

    arguments = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"{option} {text} is no assignment; allowed: key=value")
        if key in refused:
            raise ValueError(f"{option} {text}: {key} {why}")
        if key in arguments:
            raise ValueError(f"{option} {text}: {key} is set twice; allowed: once")
        try:
            arguments[key] = literal(value)
        except ValueError as error:
            raise ValueError(f"{option} {key}: {error}") from None
    return arguments


def queries_of(text: str, option: str = "--query") -> str | list[int]:
    """Read a choice of queries: all, train, test, or numbers."""
    if text in ("all", "train", "test"):
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text} is not a choice of queries; allowed: all, train, test, or numbers: 0,3,7"
        ) from None


def with_keywords(option: str, text: str) -> tuple[str, dict[str, Any]]:
    """A name and its keywords, from name:key=value:key=value."""
    from rankgym.experiments.plan.agents import literal

    name, *assignments = text.split(":")
    knobs: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.isidentifier() or key in knobs:
            raise ValueError(f"{option} {text}: {assignment} is no assignment of a keyword; allowed: key=value")
        knobs[key] = literal(value)
    return name, knobs


def numbers_of(option: str, text: str) -> list[int]:
    """Numbers with commas between, and ranges with both ends: 0,3,10-20."""
    numbers: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if not ends or int(ends[1]) > int(ends[2] or ends[1]):
            raise ValueError(f"{option} {text} is no list of numbers; allowed: numbers and ranges, as 0,3,10-20")
        numbers.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return numbers


def as_typed(value: Any) -> str:
    """A value as one would type it after ``=``."""
    value = getattr(value, "value", value)  # of an enum
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        return repr(value)
