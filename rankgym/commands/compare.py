"""``rankgym compare``: play agents in one environment; a table, a figure, files."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands.options import MAX_FOLDER_NAME, Assignments, Positions, Source, env_arguments_of, queries_of
from rankgym.commands.sweep import Address, Backend, Every
from rankgym.commands.tables import fitting_epochs, fitting_table

if TYPE_CHECKING:
    from rankgym.experiments import Comparison

__all__ = ["compare", "folder_name"]


def compare(
    env: Annotated[
        str,
        typer.Argument(metavar="ENV", help="An environment, as `rankgym envs` lists them; `rankgym/` may be left out."),
    ],
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Agents, with commas between. Default: all that `rankgym agents` lists and that can play ENV.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", help="User sessions, or duels, in each row.")] = 100_000,
    runs: Annotated[int, typer.Option(metavar="R", help="Runs of every query or problem.")] = 1,
    seed: Annotated[
        int,
        typer.Option(
            metavar="S",
            help="Seed of row 0; row b has S + b, for its users and its agent. Independent repetitions need seeds "
            "at least as far apart as there are rows.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the results; another comparison there is replaced. Default: `results/ENV`, with what is "
            "not the default of ENV: `results/ENV-published-query=0_3_7`.",
        ),
    ] = None,
    source: Source = None,
    query: Annotated[
        str,
        typer.Option(
            "--query",
            "--problem",
            metavar="all|train|test|0,3,7",
            help="Queries, or problems of duels; row b plays the one numbered b mod how many they are.",
        ),
    ] = "all",
    positions: Positions = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="J",
            help="Processes. The numbers do not depend on it, for agents that pass `rankgym.check_agent`. Default: 1; "
            "with --backend all of its workers.",
        ),
    ] = None,
    backend: Backend = None,
    address: Address = None,
    checkpoint_every: Every = 120.0,
    set_: Assignments = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play again what DIR already has.")] = False,
    retire: Annotated[
        bool,
        typer.Option(
            "--retire",
            help="Rows whose list can never change again leave the batch, as in a sweep. It is faster; the rest of "
            "their rewards is the expected reward, all other numbers stay the same.",
        ),
    ] = False,
) -> None:
    """Compare agents: the same users for all of them, over queries (or problems of duels) and runs.

    Shows a table, and where users change one of regret per epoch, and writes into DIR: `regret.png` and `regret.svg`,
    `table.csv`, `table.md`, each agent's history `<agent>.npz`, and `compare.json` with everything that decided the
    numbers.

    A *violation* of the safety constraint is a round whose list had over K / 2 more incorrectly ordered pairs than the
    production list, K being the displayed positions. Of duels, *accuracy* is the share of rows in which the agent would
    name the best arm.

    A comparison is a sweep with one environment: DIR also has the sweep's files, which `rankgym sweep status`, `export`
    and `report` read. After Ctrl-C, a crash or a kill the same command resumes from the checkpoints, and rows that DIR
    has results of are not played again: more runs only play what is new.

    Examples:

    * All agents on all calibrated queries: `rankgym compare PBM-Yandex-v0`
    * Two agents on the 60 original queries, twice, in four processes:
      `rankgym compare CM-Yandex-v0 --source published --agents toprank,cascade-kl-ucb --runs 2 --jobs 4`
    * Knobs of agents, after colons, and arguments of the environment:
      `rankgym compare DCM-Yandex-v0 --agents cascade-kl-ucb,cascade-kl-ucb:feedback=last --set cutoff=3`
    * Users who change, every ten thousand sessions:
      `rankgym compare CM-Yandex-Breakpoint-v0 --agents cascade-kl-ucb,cascade-ducb,cascade-swucb`
    * Duels of the 136 rankers of MSLR's calibrated stand-in, twenty times:
      `rankgym compare Dueling-MSLR-v0 --agents mergerucb,rucb --runs 20 --rounds 1_000_000`
    * The same of 30 of them, drawn anew in each run:
      `rankgym compare Dueling-MSLR-v0 --agents mergerucb,rucb --runs 20 --set num_arms=30`
    * An agent of your own, the class Mine in mine.py of this folder, on three queries:
      `rankgym compare PBM-Yandex-v0 --agents random,mine:Mine --query 0,3,7 --rounds 20_000`
    * A model that `rankgym train` made, as it draws its lists, and as it shows the greedy one:
      `rankgym compare PBM-Yandex-v0 --agents toprank,runs/x/best.zip,runs/x/best.zip:deterministic=true`

    A class of your own has `act(observation)` and `update(displayed, clicks)`, for all rows at once. It is called with
    the keywords that it takes out of `num_items`, `num_positions`, `num_envs` (the rows), `horizon`, `seed` and
    `initial_list` (num_envs, num_items); further ones are its knobs. To duel, it gives and takes as
    `rankgym.DuelingAgent` does, and is told `num_arms` for the numbers of items and positions and the list.
    """
    from rankgym import experiments
    from rankgym.experiments.plan.agents import split_names
    from rankgym.experiments.plan.environments import env_id
    from rankgym_agents import AGENTS

    name = env_id(env)
    chosen = None if agents is None else split_names(agents)
    if any(agent.partition(":")[0] not in AGENTS or ":agent=" in agent for agent in chosen or []):
        sys.path.insert(0, str(Path.cwd()))  # where agents of one's own are looked for, as python -m does
    arguments = env_arguments_of(set_ or [], source, positions)
    folder = out or Path("results") / folder_name(name, arguments, query)
    comparison = experiments.compare(
        name,
        chosen,
        rounds=rounds,
        runs=runs,
        seed=seed,
        query=queries_of(query),
        jobs=jobs,
        out=folder,
        fresh=fresh,
        retire=retire,
        backend=backend,
        address=address,
        checkpoint_every=checkpoint_every,
        **arguments,
    )
    show_comparison(comparison, folder)


def folder_name(name: str, arguments: dict[str, Any], query: str) -> str:
    """An environment's id and, of its arguments and the query, what is not its default, as the name of a folder."""
    from rankgym.experiments.plan.agents import slug
    from rankgym.experiments.plan.environments import env_arguments

    defaults = {"query": "all", **(env_arguments(name) or {})}
    words = [name.rpartition("/")[2]]
    for key, value in sorted({**arguments, "query": query}.items()):
        if key not in defaults or value != defaults[key]:
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            short = key.removeprefix("num_")
            words.append(text if key == "source" else f"{key if short in defaults else short}={text}")
    whole = "-".join(words)
    short = slug(whole).strip("_")
    if len(short) > MAX_FOLDER_NAME:
        short = f"{short[: MAX_FOLDER_NAME - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    return short


def show_comparison(comparison: Comparison, folder: Path) -> None:
    from rich.console import Console
    from rich.text import Text

    from rankgym.experiments.judge.comparison import caption
    from rankgym.experiments.show.files import NO_FIGURE

    console = Console()
    for note in comparison.notes:
        console.print(Text(note, "yellow"))
    table, errors = fitting_table(comparison, console)
    console.print(table)
    if comparison.epochs:
        title, table, _, with_errors = fitting_epochs(comparison, console)
        console.print(Text(title), table)
        errors = errors if with_errors == (errors == "all") and errors != "some" else "some"
    console.print(Text(caption(comparison, errors)))
    written = ["table.csv", "table.md", "compare.json", "a history for each agent"]
    written = written if NO_FIGURE in comparison.notes else ["regret.png", "regret.svg", *written]
    console.print(Text(f"Written to {folder}: {', '.join(written)}"))
