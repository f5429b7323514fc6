"""``rankgym compare``: play agents in one environment; a table, a figure, files."""

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rankgym.commands import completion, options
from rankgym.commands.options import option
from rankgym.commands.tables import fitting_epochs, fitting_table

if TYPE_CHECKING:
    from rankgym.experiments import Comparison


Out = Annotated[
    Path | None,
    option(
        "DIR",
        "Folder for the results; it replaces another comparison there. Default: `results/ENV`, followed by "
        "those arguments that are not ENV's defaults.",
    ),
]
Query = Annotated[
    str,
    option(
        "all|train|test|0,3,7",
        f"Queries, or problems of duels. Row b plays number b modulo their count. {options.LABELS_HELP}",
        "--query",
        "--problem",
    ),
]
Processes = Annotated[
    int | None,
    option(
        "J",
        "Processes. The numbers do not depend on it, for agents that pass `rankgym.check_agent`. Default: 1; with "
        "--backend, all of its workers.",
    ),
]
Seed = Annotated[
    int,
    options.number(
        "S",
        "Seed of row 0; row b has S + b, for its users and its agent. Seeds of independent repetitions must "
        "differ by at least the number of rows.",
        low=0,
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Write into DIR even if it has files that no comparison wrote.")
]
Retire = Annotated[
    bool,
    typer.Option(
        "--retire",
        help="Remove rows from the batch when their list can never change again, as in a sweep. This is faster; for "
        "the rest of these rows, rewards are expected rewards, and all other numbers stay the same.",
    ),
]


def compare(
    env: options.Environment,
    agents: Annotated[
        str | None,
        option(
            "A,B,...",
            "Agents, separated by commas. Default: all `rankgym agents` that can play ENV.",
            names=completion.listed(completion.agents),
        ),
    ] = None,
    rounds: Annotated[int, options.count("N", "User sessions, or duels, in each row.")] = 100_000,
    runs: Annotated[int, options.count("R", "Runs of every query or problem.")] = 1,
    seed: Seed = 0,
    out: Out = None,
    source: options.Source = None,
    query: Query = "all",
    positions: options.Positions = None,
    jobs: Processes = None,
    backend: options.Backend = None,
    address: options.Address = None,
    checkpoint_every: options.CheckpointEvery = 120.0,
    set_: options.Assignments = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play again what DIR already has.")] = False,
    overwrite: Overwrite = False,
    retire: Retire = False,
) -> None:
    """Compare agents on queries (or problems of duels) and runs; all agents meet the same users.

    Shows a table, and a second one of regret per epoch where users change. Writes into DIR: `regret.png`,
    `regret.svg`, `table.csv`, `table.md`, each agent's history `<agent>.npz` (`rankgym.History.load` reads it, of duels
    `rankgym.DuelingHistory.load`), and `compare.json` with everything that decided the numbers.

    A *violation* of the safety constraint is a round whose list has over K / 2 more incorrectly ordered pairs than the
    production list, where K is the number of displayed positions. In duels, *accuracy* is the share of rows in which
    the agent would name the best arm.

    A comparison is a sweep with one environment: DIR also has the sweep's files, which `rankgym sweep status`, `export`
    and `report` read. After Ctrl-C, a crash or a kill the same command resumes from the checkpoints, and rows that DIR
    has results of are not played again: more runs only play what is new. An agent without `snapshot` and `restore`, as
    a class of your own may be, has no checkpoints: its unfinished rows are played again from the first round.

    Examples:

    * All agents on all calibrated queries: `rankgym compare PBM-Yandex-v0`
    * Two agents on the 60 original queries, twice, in four processes:
      `rankgym compare CM-Yandex-v0 --source published --agents toprank,cascade-kl-ucb --runs 2 --jobs 4`
    * Knobs of agents, after colons, and an argument of the environment:
      `rankgym compare DCM-Yandex-v0 --agents cascade-kl-ucb,cascade-kl-ucb:feedback=last --set cutoff=3`
    * Users who change every ten thousand sessions:
      `rankgym compare CM-Yandex-Breakpoint-v0 --agents cascade-kl-ucb,cascade-ducb,cascade-swucb`
    * Duels of the 136 rankers of MSLR's calibrated stand-in, twenty runs:
      `rankgym compare Dueling-MSLR-v0 --agents mergerucb,rucb --runs 20 --rounds 1_000_000`
    * The same with 30 of these rankers, drawn anew in each run:
      `rankgym compare Dueling-MSLR-v0 --agents mergerucb,rucb --runs 20 --set num_arms=30`
    * An agent of your own, the class Mine in mine.py in this folder, on three queries:
      `rankgym compare PBM-Yandex-v0 --agents random,mine:Mine --query 0,3,7 --rounds 20_000`
    * A model from `rankgym train`, with drawn lists and with the greedy one:
      `rankgym compare PBM-Yandex-v0 --agents toprank,runs/x/best.zip,runs/x/best.zip:deterministic=true`

    A class of your own has `act(observation)` and `update(displayed, clicks)`, for all rows at once. A function that
    makes agents may stand in its place if its return annotation is such a class. The constructor or function gets
    those of these keywords that it has: `num_items`, `num_positions`, `num_envs` (the rows), `horizon`, `seed` and
    `initial_list` (num_envs, num_items); its other keywords are its knobs. For duels, the class has the methods of
    `rankgym.DuelingAgent`, and gets `num_arms` in place of the numbers of items and positions and the list.
    """
    from rankgym import experiments
    from rankgym.experiments.plan.agents import split_names
    from rankgym.experiments.plan.environments import env_id

    name = env_id(env)
    chosen = None if agents is None else split_names(agents)
    options.search_agents_here(chosen or [])
    arguments = options.env_arguments_of(set_ or [], source, positions)
    folder = out or Path("results") / folder_name(name, arguments, query)
    comparison = experiments.compare(
        name,
        chosen,
        rounds=rounds,
        runs=runs,
        seed=seed,
        query=options.queries_of(query, arguments=arguments),
        jobs=jobs,
        out=folder,
        fresh=fresh,
        overwrite=overwrite or may_overwrite(folder),
        retire=retire,
        backend=backend,
        address=address,
        checkpoint_every=checkpoint_every,
        resume="the same command",
        **arguments,
    )
    show_comparison(comparison, folder)


def may_overwrite(folder: Path) -> bool:
    """Ask, in a terminal, whether files may be replaced that no comparison wrote; elsewhere the answer is no."""
    from rankgym.experiments.compare import foreign_files

    others = foreign_files(folder)
    if not others or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False  # `compare` refuses to replace them
    return typer.confirm(
        f"{folder} has files that no comparison wrote ({others}). Write into it, and replace those of the same names?",
        abort=True,
        err=True,
    )


def folder_name(name: str, arguments: dict[str, Any], query: str) -> str:
    """Return a folder's name from an environment's id and from all arguments that are not its defaults."""
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
    if len(short) > options.MAX_FOLDER_NAME:
        short = f"{short[: options.MAX_FOLDER_NAME - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    return short


def show_comparison(comparison: "Comparison", folder: Path) -> None:
    """Print the notes, the tables, their caption and the names of the files."""
    from rankgym.experiments.judge.agreements import agreement_notes
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
    for note in agreement_notes(comparison.histories):
        console.print(Text(note, "yellow"))
    written = ["table.csv", "table.md", "compare.json", "a history for each agent"]
    written = written if NO_FIGURE in comparison.notes else ["regret.png", "regret.svg", *written]
    console.print(Text(f"Written to {folder}: {', '.join(written)}"))
