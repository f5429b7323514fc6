"""``rankgym agents``: the agents, their knobs and their documentation."""

import inspect
import re
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from rankgym.commands import completion
from rankgym.commands.options import as_typed, search_agents_here
from rankgym.commands.tables import show_table

LEARNED = "rankgym_agents.adaptive_index:AdaptiveIndex"  # has a model card, as the trained policies do
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def agents(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="[AGENT]",
            show_default=False,
            help="An agent: show its knobs and documentation.",
            autocompletion=completion.agents,
        ),
    ] = None,
) -> None:
    """List the agents, or the knobs and the documentation of one. Some rank items, others choose two arms to duel.

    Knobs follow after colons: `rankgym compare PBM-Yandex-v0 --agents toprank:delta=1e-6`. The list shows defaults.

    Example: `rankgym agents toprank`
    """
    from rankgym.experiments.plan import agents as naming
    from rankgym_agents import DUELERS, RANKERS

    if agent is not None:
        _show_agent(agent)
        return
    for kind, table in (("agents that rank", RANKERS), ("agents that duel", DUELERS)):
        rows = []
        for name, cls in table.items():
            what, paper = agent_texts(cls)
            knobs = ", ".join(f"{knob}={as_typed(default)}" for knob, default in naming.knobs(cls).items())
            rows.append((name, f"{what}\nknobs: {knobs}" if knobs else what, paper))
        show_table((kind, "what it does", "paper"), rows)
    typer.echo(f"Trained policies, which need the extra sb3: {', '.join(naming.shipped_models())}.")
    typer.echo("rankgym agents AGENT shows the documentation of one.")


def _show_agent(name: str) -> None:
    """Print an agent's class, knobs and documentation."""
    from rankgym.experiments.plan import agents as naming

    search_agents_here([name])
    spec = naming.parse_agent(name)
    cls = spec.load()
    typer.echo(f"{name}: {cls.__module__}.{cls.__qualname__}")
    card = _show_training(spec.knobs["model"]) if spec.where == naming.MODEL else {}
    empty = inspect.Parameter.empty
    free = {knob: default for knob, default in naming.knobs(cls).items() if knob not in spec.knobs}
    free |= {knob: card.get(knob, 1.0) for knob in free if card}  # the card's; noise is 1 by default
    knobs = {knob: "" if default is empty else as_typed(default) for knob, default in free.items()}
    if knobs:
        show_table(("knob", "default"), knobs.items())
        typer.echo(f"Knobs go after colons: --agents {name}:{next(iter(knobs))}=VALUE\n")
    _show_documentation(inspect.getdoc(cls) or "")
    if spec.where.startswith("rankgym_agents."):
        typer.echo()
        _show_documentation(inspect.getdoc(sys.modules[cls.__module__]) or "")
    cards = {naming.shipped_file(one): one for one in naming.shipped_models()} | {LEARNED: "adaptive-index"}
    learned = cards.get(str(spec.knobs.get("model", spec.where)))
    if learned:
        typer.echo(f"\nModel card: docs/models/{learned}.md")


def _show_training(model: str) -> dict[str, Any]:
    """Print how a trained model was made; return its card."""
    from rankgym.sb3 import model_card

    card = model_card(model)
    training = card.get("training", {})
    where = ", ".join(name.removeprefix("rankgym/") for name in card.get("envs", []))
    typer.echo(f"{card.get('algo')}, {card['num_positions']} of {card['num_items']} items, {where}")
    if "command" in training:
        spent = f" in {training['seconds'] / 60:,.1f} minutes" if "seconds" in training else ""
        typer.echo(f"after {training['steps']:,} steps{spent} of: {training['command']}\n")
    return card


def _show_documentation(text: str) -> None:
    """Print a docstring, its lines as long as the terminal allows; deeper indented lines continue the line above."""
    parts: list[tuple[int, str]] = []  # indentation and words
    goes_on = False
    for line in text.replace("``", "`").splitlines():
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        if goes_on and words and (indent > parts[-1][0] or (indent == 0 and not words.startswith("* "))):
            parts[-1] = (parts[-1][0], f"{parts[-1][1]} {words}")
        else:
            parts.append((indent, words))
        goes_on = bool(words) and not (indent == 0 and re.fullmatch(r"\w+:", words))
    console = Console()
    for indent, words in parts:
        console.print(Padding(Text(words), (0, 0, 0, indent), expand=False) if words else "")


def agent_texts(cls: type) -> tuple[str, str]:
    """Return what an agent does, from its docstring, and its paper, from its module's docstring."""
    first = " ".join((cls.__doc__ or "").split("\n\n")[0].split()).partition(";")[0].rstrip(".")
    module = " ".join((sys.modules[cls.__module__].__doc__ or "").split())
    cited = next((text for text in re.findall(r"\(([^()]*)\)", module) if YEAR.search(text)), "")
    return first.replace("``", ""), cited
