"""The command line: parse, look up, call. What it calls is imported when it is called."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from rankgym.commands.reproduce import reproduce
from rankgym.commands.sweep import app as sweep_app

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rankgym.experiments import Comparison

__all__ = ["app", "main"]

LONGEST = 80  # letters of a folder's name
INTERRUPTED = 130  # the shell's exit code for Ctrl-C
NOT_TO_SET = (
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
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
CHOICES = ", a list of these, 'all', 'train', 'test' or None", ", several of these (0,3,7), all, train or test"  # here
NUMBERS: dict[tuple[str, ...], tuple[str, Any]] = {  # what a click model's parameter is made of, by its axes
    (): ("one number", 0.5),
    ("item",): ("a list: one of each item", [0.8, 0.4, 0.1]),
    ("position",): ("a list: one of each position", [0.9, 0.5]),
    ("position", "previous"): (
        "a list of each position: one for each position of the click before, the last one for none yet",
        [[0.0, 0.9], [0.7, 0.5]],
    ),
}


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


class OneLineErrors(TyperGroup):
    """What goes wrong is said in one line on standard error, exit code 2; RANKGYM_DEBUG=1 shows the traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            _complain("; ".join(["interrupted", *getattr(interruption, "__notes__", [])]))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            from rankgym.experiments.plan.names import AgentFailed

            if hasattr(error, "exit_code") or isinstance(error, (typer.Abort, BrokenPipeError)):
                raise  # typer's own
            if os.environ.get("RANKGYM_DEBUG", "0") not in ("", "0"):
                raise
            plain = isinstance(error, (ValueError, OSError, RuntimeError)) or not str(error)
            text = str(error) or type(error).__name__
            if isinstance(error, OSError) and error.strerror and error.filename is not None:
                text = f"{error.filename}: {error.strerror}"
            text = text.replace(*CHOICES)  # the words for Python
            if isinstance(error, AgentFailed):
                text += " (RANKGYM_DEBUG=1 shows the traceback)"
            _complain(f"error: {text if plain else f'{type(error).__name__}: {text}'}")
            raise typer.Exit(2) from None


def _complain(text: str) -> None:
    typer.echo(" ".join(text.split()), err=True)


app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")
app.add_typer(data_app, name="data")
app.add_typer(sweep_app, name="sweep")


def main() -> None:
    """Run the command line. SIGTERM, with which batch systems end a job, is heard like Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app(prog_name="rankgym")


def _version(asked: bool) -> None:
    if asked:
        from rankgym import __version__

        typer.echo(f"rankgym {__version__}")
        raise typer.Exit


@app.callback()
def rankgym(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Online learning to rank: compare agents on click models or in duels, train policies, and measure speed.

    Start with `rankgym compare PBM-Yandex-v0` or `rankgym compare Dueling-Arxiv-v0`, which plays every agent and writes
    a table and a figure.

    What goes wrong is said in one line; with `RANKGYM_DEBUG=1` in the environment the traceback is shown instead.
    """


# -- compare ----------------------------------------------------------------------------------------------------------


@app.command()
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
        int,
        typer.Option(
            metavar="J",
            help="Processes. The numbers do not depend on it, for agents that pass `rankgym.check_agent`.",
        ),
    ] = 1,
    set_: Assignments = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play again what DIR already has.")] = False,
) -> None:
    """Compare agents: the same users for all of them, over queries (or problems of duels) and runs.

    Shows a table, and where users change one of regret per epoch, and writes into DIR: `regret.png` and `regret.svg`,
    `table.csv`, `table.md`, each agent's history `<agent>.npz`, and `compare.json` with everything that decided the
    numbers.

    A *violation* of the safety constraint is a round whose list had over K / 2 more incorrectly ordered pairs than the
    production list, K being the displayed positions. Of duels, *accuracy* is the share of rows in which the agent would
    name the best arm.

    Finished blocks of rows are kept in DIR/parts. The same command, stopped or not, goes on from them; more runs only
    play what is new.

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
    from rankgym.experiments.plan.names import env_id, split_names
    from rankgym_agents import AGENTS

    name = env_id(env)
    chosen = None if agents is None else split_names(agents)
    if any(agent.partition(":")[0] not in AGENTS or ":agent=" in agent for agent in chosen or []):
        sys.path.insert(0, str(Path.cwd()))  # where agents of one's own are looked for, as python -m does
    arguments = _arguments(set_ or [], source, positions)
    folder = out or Path("results") / folder_name(name, arguments, query)
    comparison = experiments.compare(
        name,
        chosen,
        rounds=rounds,
        runs=runs,
        seed=seed,
        query=_queries(query),
        jobs=jobs,
        out=folder,
        fresh=fresh,
        **arguments,
    )
    _show_comparison(comparison, folder)


def _arguments(texts: Iterable[str], source: str | None, positions: int | None) -> dict[str, Any]:
    """An environment's arguments from --set KEY=VALUE, --source and --positions."""
    arguments = _assignments(texts)
    for option, key, value in (("source", "source", source), ("positions", "num_positions", positions)):
        if value is not None:
            if key in arguments:
                raise ValueError(f"--{option} {value} and --set {key}={arguments[key]}; allowed: one of them")
            arguments[key] = value
    return arguments


def _assignments(
    texts: Iterable[str],
    option: str = "--set",
    refused: Iterable[str] = NOT_TO_SET,
    why: str = "is no argument of the environment here; see rankgym compare --help",
) -> dict[str, Any]:
    from rankgym.experiments.plan.names import literal

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


def folder_name(name: str, arguments: dict[str, Any], query: str) -> str:
    """An environment's id and, of its arguments and the query, what is not its default, as the name of a folder."""
    from rankgym.experiments.plan.names import env_arguments
    from rankgym.experiments.run.parts import slug

    defaults = {"query": "all", **(env_arguments(name) or {})}
    words = [name.rpartition("/")[2]]
    for key, value in sorted({**arguments, "query": query}.items()):
        if key not in defaults or value != defaults[key]:
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            short = key.removeprefix("num_")
            words.append(text if key == "source" else f"{key if short in defaults else short}={text}")
    whole = "-".join(words)
    short = slug(whole).strip("_")
    if len(short) > LONGEST:
        short = f"{short[: LONGEST - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    return short


def _queries(text: str) -> str | list[int]:
    if text in ("all", "train", "test"):
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--query {text} is no choice of queries; allowed: all, train, test, or numbers: 0,3,7"
        ) from None


def _show_comparison(comparison: Comparison, folder: Path) -> None:
    from rich.console import Console
    from rich.text import Text

    from rankgym.experiments.judge.comparison import caption
    from rankgym.experiments.show.files import NO_PLOTS

    console = Console()
    for note in comparison.notes:
        console.print(Text(note, "yellow"))
    table, errors = _fitting_table(comparison, console)
    console.print(table)
    if comparison.epochs:
        title, table, _, with_errors = _fitting_epochs(comparison, console)
        console.print(Text(title), table)
        errors = errors if with_errors == (errors == "all") and errors != "some" else "some"
    console.print(Text(caption(comparison, errors)))
    written = ["table.csv", "table.md", "compare.json", "a history for each agent"]
    written = written if NO_PLOTS in comparison.notes else ["regret.png", "regret.svg", *written]
    console.print(Text(f"Written to {folder}: {', '.join(written)}"))


def comparison_table(comparison: Comparison, console: Console) -> Table:
    """The comparison's table, with as many columns and standard errors as ``console`` has room for.

    What has no room even so, and an agent's name of more than half the width, is folded; nothing is cut.
    """
    return _fitting_table(comparison, console)[0]


def _fitting_table(comparison: Comparison, console: Console) -> tuple[Table, Literal["all", "some", "none"]]:
    """The table, and which of its measures have standard errors."""
    from rankgym.experiments.show.files import OTHER_ERRORS, REGRET_ERRORS, columns

    lines, shown = comparison.table(), columns(comparison)
    errors: tuple[str, ...]  # what the keys start with of the measures that have them
    for rank in sorted({1_000, OTHER_ERRORS, REGRET_ERRORS, *(column.optional for column in shown)} - {0})[::-1]:
        shown = [column for column in shown if column.optional < rank]
        errors = ("",) if rank > OTHER_ERRORS else ("regret",) if rank > REGRET_ERRORS else ()
        table = _filled(lines, shown, errors, console.width // 2)
        if _fits(table, console):
            break
    without = [c for c in shown if not c.key.startswith(errors)]
    return table, "all" if not without else "some" if errors else "none"


def _fits(table: Table, console: Console) -> bool:
    return console.measure(table, options=console.options.update(width=10_000)).maximum <= console.width


def epoch_table(comparison: Comparison, console: Console) -> tuple[Table, list[Any]]:
    """Regret per epoch: with errors, or without, or of fewer epochs, as ``console`` has room; and the columns shown."""
    _, table, shown, _ = _fitting_epochs(comparison, console)
    return table, shown


def _fitting_epochs(comparison: Comparison, console: Console) -> tuple[str, Table, list[Any], bool]:
    """The title, the table of regret per epoch, its columns, and whether it has standard errors.

    Names are folded and columns move together before epochs are left out.
    """
    from rankgym.experiments.show.files import epoch_title

    half = console.width // 2
    lines = comparison.table()
    for columns, size in _epoch_choices(comparison):
        if size > 1:
            lines = [a | b for a, b in zip(lines, comparison.epoch_groups(size), strict=True)]
        whole = all(column.key for column in columns)
        looks = [(("",), half, 1)] if whole else []
        for errors, longest, padding in [*looks, ((), half, 1), ((), half, 0), ((), min(half, max(half // 2, 12)), 0)]:
            table = _filled(lines, columns, errors, longest, padding)
            if _fits(table, console):
                return epoch_title(comparison, columns, short=True, size=size), table, columns, bool(errors)
    return epoch_title(comparison, columns, short=True, size=size), table, columns, False


def _epoch_choices(comparison: Comparison) -> Iterator[tuple[list[Any], int]]:
    """Columns for a terminal, fewer and fewer, and how many epochs each of them is the sum of."""
    from rankgym.experiments.show.files import GROUPS, MANY, epoch_columns, group_columns

    number = comparison.epochs
    if number > MANY and comparison.breakpoints is not None:
        for size in sorted({-(-number // groups) for groups in range(3, GROUPS + 1)}):
            yield group_columns(comparison, size), size
    else:
        for most in range(min(MANY, max(number, 3)), 2, -1):
            yield epoch_columns(comparison, most, short=True), 1


def _filled(
    lines: list[dict[str, Any]], shown: list[Any], errors: tuple[str, ...], longest: int, padding: int = 1
) -> Table:
    """The columns ``shown`` of ``lines``, with standard errors where the keys start with one of ``errors``."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from rankgym.experiments.show.files import cell

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, padding))
    table.add_column("agent", overflow="fold", vertical="bottom", max_width=longest)
    for column in shown:
        table.add_column(Text("\n".join(column.head)), justify="right", overflow="fold")
    best = {}
    for column in shown:
        known = [line[column.key] for line in lines if column.key and not math.isnan(line[column.key])]
        if column.lowest_is_best is not None and len(known) > 1:
            best[column.key] = (min if column.lowest_is_best else max)(known)
    for line in lines:
        texts = [cell(line, c.key, error=c.key.startswith(errors)) for c in shown]
        cells = [
            Text(text, "bold green" if c.key in best and line[c.key] == best[c.key] else "")
            for text, c in zip(texts, shown, strict=True)
        ]
        table.add_row(Text(line["agent"]), *cells)
    return table


# -- train ------------------------------------------------------------------------------------------------------------


@app.command()
def train(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV[,ENV,...]",
            help="An environment of rankings, as `rankgym envs` lists them, or several: users of all kinds at once.",
        ),
    ],
    steps: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Actions of all rows together, rounded up to whole rollouts; slot by slot, a session takes several.",
        ),
    ] = 2_000_000,
    algo: Annotated[str, typer.Option(metavar="ALGORITHM", help="ppo, a2c, maskable-ppo, dqn, sac or td3.")] = "ppo",
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="plackett-luce|mlp",
            help="How lists are made: drawn by scores of items (ppo, a2c), or a plain network. Default: the former "
            "where it is possible.",
        ),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="R", help="Rows that are played at once, in all environments.")] = 256,
    horizon: Annotated[
        str, typer.Option(metavar="T[,T...]", help="User sessions of an episode; several: each for a part of the rows.")
    ] = "1000",
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the weights, and of row 0; row b has S + b.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the models. Default: `runs/ENV-ALGORITHM`.", show_default=False),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Wrappers, the innermost first, with keywords after colons: "
            "ItemStatistics:discounts=[1,0.999],SafeLists. Default: by algorithm and policy.",
        ),
    ] = None,
    reward: Annotated[
        str,
        typer.Option(
            metavar="regret|expected|clicks",
            help="Minus the list's regret, its expected reward, or what the environment pays. The former two are known "
            "in training only, and make less noise.",
        ),
    ] = "regret",
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            help="Whether the critic sees the attraction probabilities, in training only. Default: of plackett-luce.",
        ),
    ] = None,
    stagger: Annotated[bool, typer.Option(help="Whether rows begin at random ages.")] = True,
    query: Annotated[
        str,
        typer.Option(
            metavar="train|all|0,3,7|none",
            help="Queries, cycled over the rows of an environment; none: each episode draws one of all.",
        ),
    ] = "train",
    eval_query: Annotated[
        str, typer.Option(metavar="test|all|0,3,7", help="Queries of evaluations, by which best.zip is chosen.")
    ] = "test",
    eval_every: Annotated[
        int | None, typer.Option(metavar="N", help="Steps between evaluations. Default: 20 in all.", show_default=False)
    ] = None,
    eval_runs: Annotated[int, typer.Option(metavar="R", help="Rows of each query in an evaluation.")] = 2,
    eval_horizon: Annotated[
        int | None, typer.Option(metavar="T", help="Sessions of an evaluation. Default: those of an episode.")
    ] = None,
    average: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How far a running average of the weights moves to the present ones before each rollout; it is the "
            "average that is evaluated and kept as best.zip. 0: no average. Default: 0.03 with ppo and plackett-luce.",
            show_default=False,
        ),
    ] = None,
    source: Source = None,
    positions: Positions = None,
    set_: Assignments = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="KEY=VALUE",
            help="A hyperparameter of the algorithm or of its policy, as JSON; may be repeated.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(metavar="J", help="Threads of torch.")] = 1,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for TensorBoard's curves.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training in DIR, up to N steps.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the training in DIR.")] = False,
) -> None:
    """Train a policy on many queries, evaluate it on others, and keep the best model.

    An episode is T sessions of users of one query, of which nothing is known at its start: what is learned is how to
    explore and rank, not the answer of one query. Needs `pip install "rankgym[sb3]"`.

    Writes into DIR: `best.zip`, the model of the evaluation with the least regret after T sessions, and `last.zip`,
    both of which `rankgym compare` takes among its agents; `curve.csv`, all evaluations; and `train.json` with
    everything that decided the weights: the same command gives the same weights on the same machine.

    `best.zip` is chosen by its regret on the queries of `--eval-query`, the test queries by default, which flatters it
    there: for a fair number, compare it on queries that it was not chosen on, such as those of `--source published`.

    Ctrl-C keeps `last.zip`, and the same command with `--resume` goes on from there: with all that was learned, but
    with fresh episodes, so the weights are not those of a training that was never interrupted. With more steps than
    before, a falling learning rate jumps up again: it depends on the share of N that is done.

    Examples:

    * Plackett-Luce policy with PPO, six minutes, and its comparison with a bandit:
      `rankgym train PBM-Yandex-v0 --steps 5_000_000 --out runs/pbm`,
      `rankgym compare PBM-Yandex-v0 --source published --rounds 1_000 --agents cascade-kl-ucb,runs/pbm/best.zip`
    * For users of three kinds: `rankgym train CM-Yandex-v0,PBM-Yandex-v0,DCM-Yandex-v0 --rows 384 --out runs/three`
    * For users who change: `rankgym train PBM-Yandex-Breakpoint-v0 --layers "ItemStatistics:discounts=[1,0.999]"`
    * Lists that never stray from a safe one: `rankgym train PBM-Yandex-Rerank-v0 --layers ItemStatistics,SafeLists`
    * Hyperparameters:
      `rankgym train PBM-Yandex-v0 --param learning_rate=linear:0.001 --param gamma=0.95 --param width=64`
    * Another algorithm, slot by slot with masks: `rankgym train PBM-Yandex-v0 --algo maskable-ppo`
    """
    from rankgym.experiments.plan.names import SB3, check_env_arguments, env_id, split_names, without_sb3
    from rankgym.experiments.run.parts import slug

    try:
        from rankgym.sb3.train import summary
        from rankgym.sb3.train import train as learn
    except ModuleNotFoundError as error:
        if error.name not in SB3:
            raise
        raise ValueError(f"training needs stable-baselines3: {without_sb3(error)}") from None
    names = [env_id(name) for name in split_names(env)]
    arguments = _arguments(set_ or [], source, positions)
    for name in names:
        check_env_arguments(name, arguments)
    own = [key for key in inspect.signature(learn).parameters if key != "hyperparameters"]
    training = learn(
        names,
        algo=algo,
        policy=policy,
        steps=steps,
        rows=rows,
        horizon=_numbers("--horizon", horizon.replace("_", "")),
        seed=seed,
        out=out or Path("runs") / slug("+".join([name.rpartition("/")[2] for name in names]) + f"-{algo}")[-LONGEST:],
        layers=None if layers is None else [_with_keywords("--layers", text) for text in split_names(layers)],
        reward=reward,
        truth=truth,
        stagger=stagger,
        query=None if query == "none" else _queries(query),
        env_kwargs=arguments,
        eval_every=eval_every,
        eval_runs=eval_runs,
        eval_query=_queries(eval_query),
        eval_horizon=eval_horizon,
        average=average,
        threads=threads,
        tensorboard=tensorboard,
        resume=resume,
        fresh=fresh,
        **_assignments(param or [], "--param", own, "is no hyperparameter here; see rankgym train --help"),
    )
    for line in summary(training):
        typer.echo(line)


# -- assumptions ------------------------------------------------------------------------------------------------------


@app.command()
def assumptions(
    env: Annotated[
        str,
        typer.Argument(metavar="ENV", help="An environment, as `rankgym envs` lists them; `rankgym/` may be left out."),
    ],
    query: Annotated[str, typer.Option(metavar="all|train|test|0,3,7", help="Queries.")] = "all",
    around: Annotated[
        str | None,
        typer.Option(
            metavar="initial|3,1,2,...",
            help="Look only at this list and at those that one exchange of two items makes of it; `initial` is each "
            "query's production list. Default: all lists.",
        ),
    ] = None,
    source: Source = None,
    positions: Positions = None,
    exact_up_to: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Look at all lists where those of all queries together are no more; else at 20,000 random ones of "
            "each query, where only a violation is a proof.",
        ),
    ] = 4_000_000,
    set_: Assignments = None,
) -> None:
    """Check whether BubbleRank's and TopRank's theorems apply: which of their assumptions hold, and what breaks them.

    Agents run on any click model, but what is proved of them is proved under assumptions. This shows for each whether
    it holds for all lists, and if not, the lists that break it the most. Where users change, it is about epoch 0, the
    first one, alone.

    Examples:

    * One query, all 10! lists of it: `rankgym assumptions PBM-Yandex-Rerank-v0 --query 3`
    * All original queries at 5 positions: `rankgym assumptions DCM-Yandex-v0 --source published`
    * Around a list: `rankgym assumptions PBM-Yandex-v0 --query 3 --around 3,1,0,2,4`
    """
    import numpy as np

    from rankgym.arguments import whole_number
    from rankgym.experiments.plan.names import check_env_arguments, choice_of, env_arguments, env_id
    from rankgym.models import PAPERS, check_assumptions

    name = env_id(env)
    arguments = _arguments(set_ or [], source, positions)
    check_env_arguments(name, arguments)
    if choice_of(name) != "query":
        raise ValueError(f"{name} has no click model; allowed: an environment with queries")
    whole_number("--exact-up-to", exact_up_to, 0)
    venv = _rows_of_queries(name, query, arguments)
    _, info = venv.reset(seed=0)
    queries, row_of = np.unique(info["query"], return_index=True)
    truth = type(venv.problems.parameters)(*(table[queries] for table in venv.problems.parameters))
    displayed: Any = None
    if around == "initial":
        displayed = venv.initial_list[row_of, : venv.num_positions]
    elif around is not None:
        displayed = _items(around, venv.num_items, venv.num_positions)
    report = check_assumptions(
        venv.model,
        truth._replace(attraction=venv.attraction[row_of]),
        num_positions=venv.num_positions,
        cutoff=venv.cutoff,
        reward={**(env_arguments(name) or {}), **arguments}.get("reward", "clicks"),
        displayed=displayed,
        exact_up_to=exact_up_to,
    )
    which = f", query {queries[0]}" if len(queries) == 1 else ""
    if "epoch" in info:  # users change
        own = np.array_equal(truth.attraction, venv.attraction[row_of])
        whose = "the query's" if len(queries) == 1 else "the queries'"
        which += f", epoch 0 alone ({f'{whose} own numbers' if own else 'drawn with seed 0'})"
    typer.echo(f"{name}{which}: {report.headline()}")
    for paper, (_, names) in PAPERS.items():
        typer.echo(f"\n{report.title(paper)}")
        lines = []
        for each in names:
            *cells, words = report.row(each)
            against = report.counterexample(each, queries.tolist())
            lines.append((*cells, f"{words}\n-> {against}" if against else words))
        _show_table(("", "holds", "gap", "what it says"), lines)
    for line in report.notes():
        typer.echo(line)


def _rows_of_queries(name: str, text: str, arguments: dict[str, Any]) -> Any:
    """The bare environment with a row for each query that --query ``text`` chooses."""
    import gymnasium as gym

    chosen = _queries(text)
    venv: Any = gym.make_vec(name, num_envs=1, query="all", **arguments).unwrapped
    if not hasattr(venv, "problems"):
        raise ValueError(f"the click model of {name} is not known")
    count = venv.problems.num_queries
    rows = count if isinstance(chosen, str) else len(chosen)
    try:
        return gym.make_vec(name, num_envs=rows, query=chosen, **arguments).unwrapped
    except ValueError:  # with "all" it could be made, so it is the choice
        pools = ", ".join(pool for pool in ("all", "train", "test") if pool != text)  # of few queries none is for tests
        raise ValueError(
            f"--query {text} is no choice of queries of {name}; allowed: {pools}, or numbers in 0 .. {count - 1}"
        ) from None


def _items(text: str, items: int, positions: int) -> list[int]:
    try:
        listed = [int(part) for part in text.split(",")]
    except ValueError:
        listed = []
    if len(set(listed)) != positions or len(listed) != positions or not 0 <= min(listed) <= max(listed) < items:
        wanted = "1 item" if positions == 1 else f"{positions} different items"
        raise ValueError(
            f"--around {text} is no ranking; allowed: initial, or {wanted} out of 0 .. {items - 1}, with commas"
        )
    return listed


# -- the registries ---------------------------------------------------------------------------------------------------


@app.command()
def envs(
    env: Annotated[
        str | None, typer.Argument(metavar="[ENV]", show_default=False, help="One of them, to see its arguments.")
    ] = None,
) -> None:
    """List the environments, or the arguments of one: those that `rankgym compare ENV --set KEY=VALUE` sets.

    Each is made by `gymnasium.make_vec("rankgym/PBM-Yandex-v0", num_envs=600)`, or singly by `gymnasium.make`.

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
    _show_table(("environment", "what it is", "paper"), rows)
    typer.echo("rankgym envs ENV lists the arguments of one, which rankgym compare ENV --set KEY=VALUE sets.")


def _show_arguments(env: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    from rankgym.experiments.plan.names import choice_of, env_arguments, env_creator, env_id

    name = env_id(env)
    defaults = env_arguments(name)
    if defaults is None:
        raise ValueError(f"the arguments of {name} are not known; see its own documentation")
    choice = choice_of(name)
    played = f', {choice}="all"' if choice else ""
    typer.echo(f'gym.make_vec("{name}", num_envs=600{played})')
    rows = [(key, "none" if value is None else _as_typed(value)) for key, value in defaults.items()]
    _show_table(("argument", "default here"), [row for row in rows if row[0] not in NOT_TO_SET])
    if None in defaults.values():
        typer.echo("none: see below what it stands for; --set has null for it.\n")
    if defaults.get("dataset") == "synthetic" and defaults.get("parameters", "") is None and "scenario" not in defaults:
        _show_parameters(name, defaults["model"])
    section = re.search(r"^## Arguments\n(.*?)(?=^## |\Z)", inspect.getdoc(env_creator(name)) or "", re.M | re.S)
    if section:
        Console().print(Markdown(re.sub(r"^```.*?^```\n", "", section[1], count=1, flags=re.M | re.S)))


def _show_parameters(name: str, model: str) -> None:
    """The names of a click model's parameters, what numbers each has, and how they are set."""
    from rankgym.models import MODELS

    axes = MODELS[model].axes
    _show_table((f"{model} parameter", "probabilities"), [(key, NUMBERS[axes[key]][0]) for key in axes])
    example = json.dumps({key: NUMBERS[axes[key]][1] for key in axes}, separators=(",", ":"))
    typer.echo("Three items at two positions (with lists of such lists more queries):\n")
    short = name.removeprefix("rankgym/")
    typer.echo(f"rankgym compare {short} --agents toprank --rounds 1000 --positions 2 --set 'parameters={example}'\n")


def _as_typed(value: Any) -> str:
    """A value as one would type it after ``=``."""
    value = getattr(value, "value", value)  # of an enum
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        return repr(value)


@app.command()
def agents(
    agent: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", show_default=False, help="One of them, to see its documentation.")
    ] = None,
) -> None:
    """List the agents, or the knobs and the documentation of one. Some rank items, the others let two arms duel.

    Knobs go after colons: `rankgym compare PBM-Yandex-v0 --agents toprank:delta=1e-6`. Those shown are the defaults.

    Example: `rankgym agents toprank`
    """
    from rankgym.experiments.plan import names as naming
    from rankgym_agents import DUELERS, RANKERS

    if agent is not None:
        _show_agent(agent)
        return
    for kind, table in (("agents that rank", RANKERS), ("agents that duel", DUELERS)):
        rows = []
        for name, cls in table.items():
            what, paper = agent_texts(cls)
            knobs = ", ".join(f"{knob}={_as_typed(default)}" for knob, default in naming.knobs(cls).items())
            rows.append((name, f"{what}\nknobs: {knobs}" if knobs else what, paper))
        _show_table((kind, "what it does", "paper"), rows)
    typer.echo(f"Trained policies, which need the extra sb3: {', '.join(naming.shipped_models())}.")
    typer.echo("rankgym agents AGENT shows the documentation of one.")


def _show_agent(name: str) -> None:
    from rankgym.experiments.plan import names as naming
    from rankgym_agents import AGENTS

    if name not in AGENTS:
        sys.path.insert(0, str(Path.cwd()))
    spec = naming.parse_agent(name)
    cls = spec.load()
    typer.echo(f"{name}: {cls.__module__}.{cls.__qualname__}")
    card = {}
    if spec.where == naming.MODEL:
        card = _show_training(spec.knobs["model"])
    empty = inspect.Parameter.empty
    free = {knob: default for knob, default in naming.knobs(cls).items() if knob not in spec.knobs}
    free |= {knob: card.get(knob, 1.0) for knob in free if card}  # its own; noise is 1 where it does not say
    knobs = {knob: "" if default is empty else _as_typed(default) for knob, default in free.items()}
    if knobs:
        _show_table(("knob", "default"), knobs.items())
        typer.echo(f"Knobs go after colons: --agents {name}:{next(iter(knobs))}=VALUE\n")
    _show_documentation(inspect.getdoc(cls) or "")
    if spec.where.startswith("rankgym_agents."):
        typer.echo()
        _show_documentation(inspect.getdoc(sys.modules[cls.__module__]) or "")


def _show_training(model: str) -> dict[str, Any]:
    """How a trained model was made; its card."""
    from rankgym.sb3.agent import model_card

    card = model_card(model)
    training = card.get("training", {})
    where = ", ".join(name.removeprefix("rankgym/") for name in card.get("envs", []))
    typer.echo(f"{card.get('algo')}, {card['num_positions']} of {card['num_items']} items, {where}")
    if "command" in training:
        spent = f" in {training['seconds'] / 60:,.1f} minutes" if "seconds" in training else ""
        typer.echo(f"after {training['steps']:,} steps{spent} of: {training['command']}\n")
    return card


def _show_documentation(text: str) -> None:
    """A docstring, its lines as long as the terminal allows: what is indented deeper goes on from the line above."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

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
    """What an agent does, and its paper, from its docstring and its module's."""
    first = " ".join((cls.__doc__ or "").split("\n\n")[0].split()).partition(";")[0].rstrip(".")
    module = " ".join((sys.modules[cls.__module__].__doc__ or "").split())
    cited = next((text for text in re.findall(r"\(([^()]*)\)", module) if YEAR.search(text)), "")
    return first.replace("``", ""), cited


def _show_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=number == 0, style="bold" if number == 0 else None)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


# -- data -------------------------------------------------------------------------------------------------------------


@data_app.callback()
def data() -> None:
    """List, download or import data sets: fitted click models, and preference matrices of dueling arms.

    They are kept in the folder RANKGYM_DATA_HOME, or else in the user's cache folder.
    """


@data_app.command("list")
def list_() -> None:
    """List the data sets: what each is, where it comes from, and whether it is here."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rankgym import data as room

    blocks = Table.grid(padding=(0, 2))
    blocks.add_column()
    blocks.add_column(overflow="fold")
    for dataset in room.listing():
        entries = dict(dataset)
        blocks.add_row(Text(entries.pop("name"), "bold"))
        for key, value in entries.items():
            blocks.add_row(Text(f"  {key}"), Text(str(value)))
        blocks.add_row()
    Console().print(blocks)
    typer.echo(f"data folder: {room.home()}")


@data_app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A published data set: yandex60 or mslr.")],
) -> None:
    """Download a data set from its public address, and check its digest.

    Example: `rankgym data fetch yandex60`. Environments use it from then on where you ask for `source=published`.

    `rankgym data fetch mslr` brings three preference matrices, one for each user model.
    """
    from rankgym import data as room
    from rankgym.data import catalogue

    news = "here already, nothing was downloaded: " if catalogue.usable(name) else ""
    typer.echo(f"{name}: {news}{room.fetch(name)}")


@data_app.command("import")
def import_(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A published data set, or a name of your own for a preference matrix.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The file; for mslr, the three files.")],
) -> None:
    """Take a data set from a file that is here already, and check it.

    A published data set is taken from copies of the original files, which must have their digests:

    `rankgym data import yandex60 model_query_collection.pkl`

    `rankgym data import mslr MSLR-Perfect.txt MSLR-Nabigational.txt MSLR-Informational-CDC.txt`

    With any other NAME (letters, digits, - and _), FILE is a preference matrix of your own, and dueling environments
    know it as `dataset=NAME` from then on:

    `rankgym data import my-rankers matrix.npy`

    `rankgym compare Dueling-Synthetic-v0 --set dataset=my-rankers`

    Entry i, j is the probability that arm i beats arm j: p_ij + p_ji = 1, and 1/2 on the diagonal. The file is `.npy`,
    or text with a line for each arm, numbers parted by blanks or commas, and comments after #.
    """
    from rankgym import data as room

    if name in room.published_names():
        typer.echo(f"{name}: {room.import_file(name, *files)}")
        return
    if len(files) != 1:
        raise ValueError(f"{name}: the number of files = {len(files)} is not allowed; allowed: 1, a preference matrix")
    typer.echo(f"{name}: {room.import_matrix(name, files[0])}")
    typer.echo(_tried_by(name))


def _tried_by(name: str) -> str:
    """What an imported matrix is, and how it is played."""
    from rankgym.data import preferences as matrices

    matrix = matrices.load(name)
    winner = matrices.condorcet_winner(matrix)
    best = f"Condorcet winner {winner}" if winner >= 0 else "no Condorcet winner"
    more = "" if winner >= 0 else " --set winner=copeland"
    return f"{len(matrix):,} arms, {best}; rankgym compare Dueling-Synthetic-v0 --set dataset={name}{more} plays it"


@data_app.command()
def preferences(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Documents as LETOR has them, plain or compressed by gzip.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="NAME.npy",
            help="The matrix; NAME.errors.npy gets its standard errors, NAME.json all that decided it.",
        ),
    ],
    interleaving: Annotated[
        str,
        typer.Option(
            metavar="METHOD",
            help="probabilistic, team-draft, balanced, document-constraints, optimized, or probabilistic-greedy (exact "
            "only). Its keywords after colons: probabilistic:tau=1.",
        ),
    ] = "probabilistic",
    user_model: Annotated[
        str, typer.Option(metavar="USER", help="perfect, navigational or informational.")
    ] = "navigational",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="exact|simulate",
            help="Default: exact for team-draft and probabilistic-greedy, else simulate.",
        ),
    ] = None,
    comparisons: Annotated[
        int, typer.Option(metavar="N", help="Simulated comparisons of a pair, as many on each query.")
    ] = 10_000,
    documents: Annotated[int, typer.Option(metavar="L", help="The length of the interleaved list.")] = 10,
    grades: Annotated[
        int | None,
        typer.Option(metavar="2|5", help="User of labels 0, 1 or of labels 0 .. 4. Default: by the largest label."),
    ] = None,
    rankers: Annotated[
        str | None,
        typer.Option(metavar="0,3,10-20", help="Features, numbered from 0. Default: all.", show_default=False),
    ] = None,
    ties: Annotated[int, typer.Option(metavar="S", help="Seed of the order of equal values.")] = 0,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the simulated comparisons.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="J", help="Processes. The numbers do not depend on it.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Evaluate again what is there.")] = False,
) -> None:
    """Estimate the preference matrix of a LETOR file's feature rankers by interleaved comparisons.

    A ranker sorts a query's documents by one feature. Entry i, j of the matrix is the probability that ranker i beats
    ranker j when their rankings of a random query are interleaved and a user clicks on the result; a tie is half a win.

    *exact* sums over all coins and all users: seconds for 64 rankers. *simulate* draws comparisons, as many on each
    query, and gives standard errors, which fall with the root of their number: 64 rankers with 10,000 comparisons a
    pair are 20 million, with 400,000, as in the mergeRUCB paper, 800 million. What it will cost is said at the start.

    Finished parts are kept in NAME.parts until all are done: the same command, stopped or not, goes on from them.

    Examples:

    * Exactly, by team draft: `rankgym data preferences vali.txt.gz --out np2004.npy --interleaving team-draft`
    * As in the mergeRUCB paper, in four processes:
      `rankgym data preferences vali.txt.gz --out np2004.npy --comparisons 400_000 --jobs 4`
    * For the regret in `Dueling-LETOR-v0`:
      `rankgym compare Dueling-LETOR-v0 --set file=vali.txt.gz --set preferences=np2004.npy`
    * As an environment of its own: `rankgym data import np2004 np2004.npy`

    Regret is measured against the Condorcet winner, the ranker that beats all others. Where the matrix has none, regret
    in `Dueling-LETOR-v0` stays unknown, and the comparison shows the reward; `--set winner=copeland` measures it
    against the ranker that beats the most others.
    """
    from rankgym.experiments.preferences import estimate as room

    name, knobs = _with_keywords("--interleaving", interleaving)
    begin = time.perf_counter()
    result = room.estimate(
        file,
        interleaving=name,
        interleaving_knobs=knobs,
        user_model=user_model,
        grades=grades,
        method=method,
        comparisons=comparisons,
        num_documents=documents,
        rankers=None if rankers is None else _numbers("--rankers", rankers),
        ties=ties,
        seed=seed,
        jobs=jobs,
        out=out,
        fresh=fresh,
    )
    for line in room.summary(result, time.perf_counter() - begin):
        typer.echo(line)
    stem = out.with_suffix("")
    typer.echo(f"Written: {out}, {stem}.errors.npy, {stem}.json")


def _with_keywords(option: str, text: str) -> tuple[str, dict[str, Any]]:
    """A name and its keywords, from name:key=value:key=value."""
    from rankgym.experiments.plan.names import literal

    name, *assignments = text.split(":")
    knobs: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.isidentifier() or key in knobs:
            raise ValueError(f"{option} {text}: {assignment} is no assignment of a keyword; allowed: key=value")
        knobs[key] = literal(value)
    return name, knobs


def _numbers(option: str, text: str) -> list[int]:
    """Numbers with commas between, and ranges with both ends: 0,3,10-20."""
    numbers: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if not ends or int(ends[1]) > int(ends[2] or ends[1]):
            raise ValueError(f"{option} {text} is no list of numbers; allowed: numbers and ranges, as 0,3,10-20")
        numbers.extend(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return numbers


# -- bench ------------------------------------------------------------------------------------------------------------


@app.command()
def bench(
    rows: Annotated[str, typer.Option(metavar="A,B,...", help="Rows of the environments' steps.")] = "1,64,600,6000",
    quick: Annotated[
        bool, typer.Option("--quick", help="A rougher measurement: about 30 seconds once all is compiled.")
    ] = False,
    letor: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A LETOR file to interleave rankers of. Default: a synthetic one of NP2004's shape."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Write all measurements to a file.")] = None,
) -> None:
    """Measure speed: sessions per second, or duels, on one core.

    Of every click model's step with and without recording, of every agent with it, of duels of arms, lists and rankers,
    of single environments, and of Gymnasium's CartPole beside them. What is compared takes turns, so that a machine
    that slows down slows all of it.
    """
    from rich.console import Console

    from rankgym.experiments.bench import bench as benches

    try:
        sizes = [int(part) for part in rows.split(",")]
    except ValueError:
        raise ValueError(f"--rows {rows} is no list of numbers; allowed: 1,64,600,6000") from None
    if out is not None:
        benches.check_out(out)
    report = benches.measure(sizes, quick=quick, letor=letor)
    console = Console()
    for part in benches.tables(report):
        console.print(part)
    if out is not None:
        benches.write(report, out)
        typer.echo(f"written: {out}")


app.command()(reproduce)


if __name__ == "__main__":
    main()
