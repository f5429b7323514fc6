"""``rankgym score``: place an agent among those of the package in a fixed suite of tasks; verify a submission."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankgym.commands import completion, options
from rankgym.commands.options import option

if TYPE_CHECKING:
    from rankgym.experiments.scoring.placing import Scorecard

LATEST = "ltr-1"  # without importing the suites: help is shown at once


def score(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="AGENT",
            help="A name from `rankgym agents`, with knobs if wanted; or your own: MODULE:CLASS, or a model.zip.",
            autocompletion=completion.agents,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("DIR", "Folder for the files; it replaces another score there. Default: `results/score-AGENT`."),
    ] = None,
    suite: Annotated[str, option("NAME", "The suite, with its version.")] = LATEST,
    list_: Annotated[
        bool, typer.Option("--list", help="Show the tasks and who is best in each; play nothing.")
    ] = False,
    verify: Annotated[
        Path | None,
        option("FILE", "Play the agent of a submission.json again, and compare all numbers. AGENT plays in its place."),
    ] = None,
) -> None:
    """Score an agent: it plays a fixed suite of tasks, and is placed among all agents of the package.

    Each task asks a question: does it learn fast, for long, from rare clicks; does it recover from a misleading
    production list; does it follow users who change; is it safe; does it find the best arm by duels? An agent that
    ranks items plays the tasks of rankers, one that duels those of duelers. `rankgym score --list` shows them, and
    docs/score.md explains each.

    The numbers of the package's agents come with it, row by row. Row b meets the same users whoever plays, so that the
    differences are paired: their intervals need no other agent to be played. An agent with compiled kernels takes
    seconds, one in plain Python or a trained model a minute or two.

    A *score* is 100 if nothing is lost, and 0 if as much is lost as by random play. The *place* is by the mean loss; in
    brackets are the places that 99 % intervals leave possible.

    Writes into DIR: `score.html`, a page with everything, `profile.png` and `profile.svg`, `score.json`, and
    `submission.json`, which has each row's numbers and digests of tasks, code and versions. Anybody can check it:
    `--verify` plays the agent again and compares bit for bit. Code that is not the package's is never imported because
    a file names it: type its name, too, if you trust it.

    Exit code of `--verify`: 0 if all numbers are equal, 1 if some differ, 2 if the file is refused.

    Examples:

    * An agent of the package with another knob: `rankgym score toprank:delta=1e-6`
    * The class Mine in mine.py in this folder: `rankgym score mine:Mine --out results/mine`
    * A model from `rankgym train`: `rankgym score runs/x/best.zip`
    * Somebody's submission: `rankgym score --verify submission.json`
    * The same, of a class of your own: `rankgym score mine:Mine --verify submission.json`
    """
    if list_:
        return show_tasks(suite)
    options.search_agents_here([agent] if agent else [])
    if verify is not None:
        if out is not None:
            raise ValueError(f"--verify {verify} and --out {out}; allowed: one of them")
        return show_verification(verify, agent)
    if agent is None:
        wanted = "an agent's name, MODULE:CLASS or a model.zip, or --list or --verify"
        raise ValueError(f"AGENT is missing; allowed: {wanted}")
    from rankgym.experiments.plan.agents import slug
    from rankgym.experiments.scoring.scoring import score as play

    folder = out or Path("results") / f"score-{slug(agent)[: options.MAX_FOLDER_NAME]}"
    card = play(agent, suite=suite, out=folder)
    show_score(card)
    typer.echo(f"Written to {folder}: score.html, profile.png, profile.svg, score.json, submission.json")


def show_tasks(suite: str) -> None:
    """Print the tasks of a suite, and the best agent of the package in each."""
    from rankgym.experiments.scoring.placing import ranking
    from rankgym.experiments.scoring.suite import find_suite

    found = find_suite(suite)
    typer.echo(f"{found.name}: {len(found.tasks)} tasks. docs/score.md explains each.")
    for name, task in found.tasks.items():
        best = ", ".join(label for label, _ in ranking(found, name)[:3])
        typer.echo(f"\n{name}: {task.question}")
        typer.echo(f"  {task.kind}, {task.rounds:,} rounds, {task.measure}; the package's best: {best}")


def show_score(card: "Scorecard") -> None:
    """Print the table of a score and what it means."""
    from rich.console import Console
    from rich.text import Text

    from rankgym.commands.tables import show_table
    from rankgym.experiments.scoring.placing import HEADS, legend, lines, notes, summary

    console = Console()
    console.print(Text(f"{card.label} in {card.suite.name}", "bold"))
    show_table(HEADS, lines(card), labels=1)
    console.print(Text(summary(card), "bold"))
    console.print(Text(legend(card.kind)))
    for note in notes(card):
        console.print(Text(note, "yellow"))


def show_verification(file: Path, agent: str | None) -> None:
    """Print what came of playing a submission again; exit code 1 if some numbers differ."""
    from rankgym.experiments.judge.units import counted_units
    from rankgym.experiments.scoring.scoring import verify

    found = verify(file, agent)
    label, suite = found.submitted.agent.label, found.submitted.suite.name
    for note in found.notes:
        typer.echo(note)
    for one in found.differences:
        typer.echo(f"{one.task}: {one.text}.")
    if found.differences:
        number = len(found.differences)
        typer.echo(
            f"{file} is not what {label} does in {suite}: {number} {'task differs' if number == 1 else 'tasks differ'}."
        )
        raise typer.Exit(1)
    tasks = counted_units(len(found.submitted.values), "tasks")
    typer.echo(f"{file} is what {label} does in {suite}: {tasks}, equal bit for bit.")
