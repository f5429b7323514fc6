"""Options that several commands share, and the reading of their values."""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rankgym.commands import completion

MAX_FOLDER_NAME = 80
LABEL = "label:"  # before a query's label, which may have digits only
LABELS_HELP = "Numbers are indices from 0; in fits of your own, `label:1730` is the query of that name."
OWN_OPTIONS = (  # arguments that --set refuses: they have an option of their own, or are for Python only
    *("query", "problem", "num_envs", "env_id", "agents", "rounds", "runs", "seed"),
    *("jobs", "out", "progress", "fresh", "overwrite"),
)


def option(metavar: str, help_text: str, *flags: str, names: completion.Names | None = None) -> Any:
    """Return an option with the name of its value and its help; ``flags``, if not made of the parameter's name.

    Shells complete its values from ``names``, or, if ``metavar`` is a choice such as ``small|full``, from these words.
    """
    complete = names or completion.words(metavar)
    return typer.Option(*flags, metavar=metavar, help=help_text, autocompletion=complete)


def count(metavar: str, help_text: str, *flags: str) -> Any:
    """Return an option that counts: its value may be written as 100000, 100_000 or 1e5. Its range is checked later."""
    return typer.Option(*flags, metavar=metavar, help=help_text, parser=counted)


def number(metavar: str, help_text: str, *flags: str, low: int) -> Any:
    """Return an option like ``count`` for a whole number that is small or 0, such as a seed or positions."""

    def parsed(text: Any) -> int:
        return whole(text, f"at least {low}, such as {low + 3}")

    return typer.Option(*flags, metavar=metavar, help=help_text, parser=parsed)


def counted(text: Any) -> int:
    """Return the whole number that ``text`` is, such as 100_000 or 2.5e4."""
    return whole(text, "at least 1, such as 100000, 100_000 or 1e5")


def whole(text: Any, allowed: str) -> int:
    """Return the whole number that ``text`` is; typer.BadParameter with what is ``allowed`` if it is none."""
    try:
        return int(text)  # exact, however large
    except (ValueError, OverflowError):
        pass
    try:
        found = float(text)
        if found.is_integer():
            return int(found)
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number; allowed: {allowed}")


Environment = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="An environment from `rankgym envs`; `rankgym/` may be left out.",
        autocompletion=completion.environments,
    ),
]
Assignments = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "Any other argument of ENV, as JSON, or from a JSON file: KEY=@FILE. `rankgym envs ENV` lists them.",
        "--set",
        names=completion.assignments,
    ),
]
Source = Annotated[
    str | None,
    option(
        "calibrated|published|NAME",
        "Synthetic click models or preferences of the package, the original ones, or fits that you made with "
        "`rankgym data fit` or `rankgym data import`.",
    ),
]
Positions = Annotated[int | None, number("K", "Displayed positions.", low=1)]
Jobs = Annotated[
    int | None,
    option(
        "J",
        "Processes; 1: this process only. Default: one for each processor; on a Dask cluster, all its workers. "
        "The results do not depend on it.",
    ),
]
Backend = Annotated[
    str | None,
    option("loky|dask|ray|...", "Where the jobs run, by joblib's name for it. Default: in processes on this machine."),
]
Address = Annotated[str | None, option("tcp://HOST:8786", "Scheduler of the Dask cluster, with `--backend dask`.")]
CheckpointEvery = Annotated[
    float,
    option(
        "SECONDS",
        "Time between checkpoints of a running job: a killed job loses at most this much work, and all of it if the "
        "agent has no `snapshot` (a class of your own may lack it).",
    ),
]


def search_agents_here(agents: Iterable[Any]) -> None:
    """Let Python find agents of the user's own in the present folder, as ``python -m`` does.

    The folder is not searched for anybody else's agents, nor for the libraries of a trained model.
    """
    from rankgym.experiments.plan.agents import own_code

    if any(own_code(agent) for agent in agents):
        search_here()


def search_model_here(arguments: Mapping[str, Any]) -> None:
    """Let Python find a click model of the user's own, among an environment's ``arguments``, in the present folder."""
    if ":" in str(arguments.get("model", "")):
        search_here()


def search_here(folder: Path | None = None) -> None:
    """Let Python find modules in ``folder``, after the present one, in which ``python -m`` finds them.

    Only for names of the user's own: all modules there are then found before installed ones.
    """
    wanted = [str(Path.cwd()), *([str(folder.absolute())] if folder else [])]
    if sys.path[: len(wanted)] != wanted:
        sys.path[:0] = wanted


def env_arguments_of(texts: Iterable[str], source: str | None, positions: int | None) -> dict[str, Any]:
    """Return an environment's arguments from --set KEY=VALUE, --source and --positions."""
    arguments = assignments(texts)
    for option, key, value in (("source", "source", source), ("positions", "num_positions", positions)):
        if value is not None:
            if key in arguments:
                raise ValueError(f"--{option} {value} and --set {key}={arguments[key]}; allowed: one of them")
            arguments[key] = value
    search_model_here(arguments)
    return arguments


def assignments(
    texts: Iterable[str],
    option: str = "--set",
    refused: Iterable[str] = OWN_OPTIONS,
    why: str = "cannot be set; see rankgym compare --help",
) -> dict[str, Any]:
    """Return the values of ``KEY=VALUE`` texts by key."""
    from rankgym.experiments.plan.agents import literal
    from rankgym.experiments.plan.json_files import from_json_file

    arguments = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"{option} {text} is not an assignment; allowed: key=value")
        if key in refused:
            raise ValueError(f"{option} {text}: {key} {why}")
        if key in arguments:
            raise ValueError(f"{option} {text}: {key} is set twice; allowed: once")
        try:
            arguments[key] = from_json_file(value[1:]) if value.startswith("@") else literal(value)
        except ValueError as error:
            raise ValueError(f"{option} {key}: {error}") from None
    return arguments


def queries_of(
    text: str, option: str = "--query", arguments: Mapping[str, Any] | None = None
) -> str | list[int] | list[int | str]:
    """Read a choice of queries: all, train, test, or numbers; or names, if the environment's ``arguments`` have fits.

    Digits are a number. ``label:NAME`` is a name, whatever it looks like; if NAME has commas, it is the only choice.
    """
    if text in ("all", "train", "test"):
        return text
    from rankgym import data

    source = (arguments or {}).get("source")
    if source in data.fits_names():
        names = data.query_ids("yandex", source)
        parts = [text] if text.removeprefix(LABEL) in names else [part.strip() for part in text.split(",")]
        return [int(part) if re.fullmatch(r"\d{1,9}", part) else part.removeprefix(LABEL) for part in parts]
    try:
        return [part.removeprefix(LABEL) if part.startswith(LABEL) else int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} {text} is not a choice of queries; allowed: all, train, test, or numbers: 0,3,7"
        ) from None


def with_keywords(option: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return a name and its keywords, from name:key=value:key=value."""
    name, *words = text.split(":")
    return name, assignments(words, f"{option} {text}:", refused=())


def numbers_of(option: str, text: str) -> list[int]:
    """Return the numbers of a list such as 0,3,10-20; ranges have both ends."""
    numbers: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if not ends or int(ends[1]) > int(ends[2] or ends[1]):
            raise ValueError(f"{option} {text} is not a list of numbers; allowed: numbers and ranges: 0,3,10-20")
        numbers.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return numbers


def as_typed(value: Any) -> str:
    """Return a value as one types it after ``=``."""
    value = getattr(value, "value", value)  # of an enum
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        return repr(value)
