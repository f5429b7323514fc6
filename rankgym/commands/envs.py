"""``rankgym envs``: the environments and their arguments."""

import inspect
import json
import re
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown

from rankgym.commands import completion
from rankgym.commands.options import OWN_OPTIONS, as_typed
from rankgym.commands.tables import show_table

NUMBERS: dict[tuple[str, ...], tuple[str, Any]] = {  # by a parameter's axes: the form of its values, and an example
    (): ("one number", 0.5),
    ("item",): ("a list: one for each item", [0.8, 0.4, 0.1]),
    ("position",): ("a list: one for each position", [0.9, 0.5]),
    ("position", "previous"): (
        "a list for each position: one for each position of the previous click, the last one for no click yet",
        [[0.0, 0.9], [0.7, 0.5]],
    ),
}


def envs(
    env: Annotated[
        str | None,
        typer.Argument(
            metavar="[ENV]",
            show_default=False,
            help="An environment: show its arguments.",
            autocompletion=completion.environments,
        ),
    ] = None,
) -> None:
    """List the environments, or the arguments of one, which `rankgym compare ENV --set KEY=VALUE` sets.

    In Python: `gymnasium.make_vec("rankgym/PBM-Yandex-v0", num_envs=600)`; `gymnasium.make` makes a single one.

    Example: `rankgym envs PBM-Yandex-v0`
    """
    from rankgym import ENVS

    if env is not None:
        _show_arguments(env)
        return
    rows = []
    for name, (_, _, text) in ENVS.items():
        found = re.search(r" \(([^()]*)\)", text)
        rows.append((name, text.replace(found[0], "") if found else text, found[1] if found else ""))
    show_table(("environment", "what it is", "paper"), rows)
    typer.echo("rankgym envs ENV lists the arguments of one, which rankgym compare ENV --set KEY=VALUE sets.")


def _show_arguments(env: str) -> None:
    """Print the arguments of an environment, their defaults and their documentation."""
    from rankgym.experiments.plan.environments import choice_of, env_arguments, env_creator, env_id

    name = env_id(env)
    defaults = env_arguments(name)
    if defaults is None:
        raise ValueError(f"the arguments of {name} are not known; see its own documentation")
    choice = choice_of(name)
    played = f', {choice}="all"' if choice else ""
    typer.echo(f'gym.make_vec("{name}", num_envs=600{played})')
    rows = [(key, "none" if value is None else as_typed(value)) for key, value in defaults.items()]
    show_table(("argument", "default here"), [row for row in rows if row[0] not in OWN_OPTIONS])
    if None in defaults.values():
        typer.echo("none: see below for its meaning; with --set, type null.\n")
    if defaults.get("dataset") == "synthetic" and defaults.get("parameters", "") is None and "scenario" not in defaults:
        _show_parameters(name, defaults["model"])
    section = re.search(r"^## Arguments\n(.*?)(?=^## |\Z)", inspect.getdoc(env_creator(name)) or "", re.M | re.S)
    if section:
        Console().print(Markdown(re.sub(r"^```.*?^```\n", "", section[1], count=1, flags=re.M | re.S)))


def _show_parameters(name: str, model: str) -> None:
    """Print the names of a click model's parameters, the form of their values, and how to set them."""
    from rankgym.models import MODELS

    axes = MODELS[model].axes
    show_table((f"{model} parameter", "probabilities"), [(key, NUMBERS[axes[key]][0]) for key in axes])
    example = json.dumps({key: NUMBERS[axes[key]][1] for key in axes}, separators=(",", ":"))
    typer.echo("Three items at two positions (for several queries, give lists of such lists):\n")
    short = name.removeprefix("rankgym/")
    typer.echo(f"rankgym compare {short} --agents toprank --rounds 1000 --positions 2 --set 'parameters={example}'\n")
