"""The command line: parse, look up, call. What it calls is imported when it is called."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rankgym.experiments import Comparison

__all__ = ["app", "main"]

LONGEST = 80  # letters of a folder's name
INTERRUPTED = 130  # the shell's exit code for Ctrl-C
NOT_TO_SET = ("query", "num_envs", "env_id", "agents", "rounds", "runs", "seed", "jobs", "out", "progress", "fresh")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


class OneLineErrors(TyperGroup):
    """What goes wrong is said in one line on standard error, exit code 2; RANKGYM_DEBUG=1 shows the traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            _complain("; ".join(["interrupted", *getattr(interruption, "__notes__", [])]))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            from rankgym.experiments.naming import AgentFailed

            if hasattr(error, "exit_code") or isinstance(error, (typer.Abort, BrokenPipeError)):
                raise  # typer's own
            if os.environ.get("RANKGYM_DEBUG", "0") not in ("", "0"):
                raise
            plain = isinstance(error, (ValueError, OSError, RuntimeError)) or not str(error)
            text = str(error) or type(error).__name__
            if isinstance(error, OSError) and error.strerror and error.filename is not None:
                text = f"{error.filename}: {error.strerror}"
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


def main() -> None:
    """Run the command line."""
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
    """Online learning to rank: compare agents on click models, and measure speed.

    Start with `rankgym compare PBM-Yandex-v0`, which plays every agent and writes a table and a figure.

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
            help="Agents, with commas between. Default: all that `rankgym agents` lists.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", help="User sessions in each row.")] = 100_000,
    runs: Annotated[int, typer.Option(metavar="R", help="Runs of every query.")] = 1,
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
    source: Annotated[
        str | None,
        typer.Option(metavar="calibrated|published", help="Click models that come with the package, or the original."),
    ] = None,
    query: Annotated[
        str, typer.Option(metavar="all|train|test|0,3,7", help="Queries; row b plays query b mod their number.")
    ] = "all",
    positions: Annotated[int | None, typer.Option(metavar="K", help="Displayed positions.")] = None,
    jobs: Annotated[
        int,
        typer.Option(
            metavar="J",
            help="Processes. The numbers do not depend on it, for agents that pass `rankgym.check_agent`.",
        ),
    ] = 1,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other argument of the environment, as JSON; may be repeated. `rankgym envs ENV` lists them.",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play again what DIR already has.")] = False,
) -> None:
    """Compare agents: the same users for all of them, over queries and runs.

    Shows a table, and where users change one of regret per epoch, and writes into DIR: `regret.png` and `regret.svg`,
    `table.csv`, `table.md`, each agent's history `<agent>.npz`, and `compare.json` with everything that decided the
    numbers.

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
    * An agent of your own, the class Mine in mine.py of this folder, on three queries:
      `rankgym compare PBM-Yandex-v0 --agents random,mine:Mine --query 0,3,7 --rounds 20_000`
    """
    from rankgym import experiments
    from rankgym.experiments.naming import env_id, split_names
    from rankgym_agents import AGENTS

    name = env_id(env)
    chosen = list(AGENTS) if agents is None else split_names(agents)
    if any(agent.partition(":")[0] not in AGENTS or ":agent=" in agent for agent in chosen):
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


def _assignments(texts: Iterable[str]) -> dict[str, Any]:
    from rankgym.experiments.naming import literal

    arguments = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"--set {text} is no assignment; allowed: key=value")
        if key in NOT_TO_SET:
            raise ValueError(f"--set {text}: {key} is no argument of the environment here; see rankgym compare --help")
        if key in arguments:
            raise ValueError(f"--set {text}: {key} is set twice; allowed: once")
        try:
            arguments[key] = literal(value)
        except ValueError as error:
            raise ValueError(f"--set {key}: {error}") from None
    return arguments


def folder_name(name: str, arguments: dict[str, Any], query: str) -> str:
    """An environment's id and, of its arguments and the query, what is not its default, as the name of a folder."""
    from rankgym.experiments.naming import env_arguments
    from rankgym.experiments.parts import slug

    defaults = {"query": "all", **(env_arguments(name) or {})}
    words = [name.rpartition("/")[2]]
    for key, value in sorted({**arguments, "query": query}.items()):
        if key not in defaults or value != defaults[key]:
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            words.append(text if key == "source" else f"{key.removeprefix('num_')}={text}")
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

    from rankgym.experiments.comparison import caption
    from rankgym.experiments.files import NO_PLOTS, epoch_title

    console = Console()
    for note in comparison.notes:
        console.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
    console.print(comparison_table(comparison, console))
    if comparison.epochs:
        table, shown = epoch_table(comparison, console)
        console.print(epoch_title(comparison, shown), markup=False, highlight=False, soft_wrap=True)
        console.print(table)
    console.print(caption(comparison), markup=False, highlight=False, soft_wrap=True)
    written = ["table.csv", "table.md", "compare.json", "a history for each agent"]
    written = written if NO_PLOTS in comparison.notes else ["regret.png", "regret.svg", *written]
    console.print(f"Written to {folder}: {', '.join(written)}", markup=False, highlight=False, soft_wrap=True)


def comparison_table(comparison: Comparison, console: Console) -> Table:
    """The comparison's table, with as many columns and standard errors as ``console`` has room for.

    What has no room even so, and an agent's name of more than half the width, is folded; nothing is cut.
    """
    from rankgym.experiments.files import ERRORS, columns

    lines, shown = comparison.table(), columns(comparison)
    endless = console.options.update(width=10_000)
    errors = [(), ("regret",), ("",)]  # what the keys start with of the measures that have them
    while True:
        table = _filled(lines, shown, errors[-1], console.width // 2)
        least = max(shown, key=lambda column: column.optional)
        if console.measure(table, options=endless).maximum <= console.width or len(shown) == 1 == len(errors):
            return table
        if least.optional < ERRORS and len(errors) > 1:
            errors.pop()
        else:
            shown.remove(least)


def epoch_table(comparison: Comparison, console: Console) -> tuple[Table, list[Any]]:
    """Regret per epoch: with errors, or without, or of fewer epochs, as ``console`` has room; and the columns shown."""
    from rankgym.experiments.files import EPOCHS, epoch_columns

    lines, endless = comparison.table(), console.options.update(width=10_000)
    most = min(EPOCHS, max(comparison.epochs, 3))
    for number, errors in [(most, ("",)), *((number, ()) for number in range(most, 2, -1))]:
        shown = epoch_columns(comparison, number)
        table = _filled(lines, shown, errors, console.width // 2)
        if console.measure(table, options=endless).maximum <= console.width:
            break
    return table, shown


def _filled(lines: list[dict[str, Any]], shown: list[Any], errors: tuple[str, ...], longest: int) -> Table:
    """The columns ``shown`` of ``lines``, with standard errors where the keys start with one of ``errors``."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from rankgym.experiments.files import cell

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("agent", overflow="fold", vertical="bottom", max_width=longest)
    for column in shown:
        table.add_column(Text("\n".join(column.head)), justify="right", overflow="fold")
    best = {
        column.key: (min if column.lowest_is_best else max)(line[column.key] for line in lines)
        for column in shown
        if column.lowest_is_best is not None and len(lines) > 1
    }
    for line in lines:
        texts = [cell(line, c.key, error=c.key.startswith(errors)) for c in shown]
        cells = [
            Text(text, "bold green" if c.key in best and line[c.key] == best[c.key] else "")
            for text, c in zip(texts, shown, strict=True)
        ]
        table.add_row(Text(line["agent"]), *cells)
    return table


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
    source: Annotated[
        str | None,
        typer.Option(metavar="calibrated|published", help="Click models that come with the package, or the original."),
    ] = None,
    positions: Annotated[int | None, typer.Option(metavar="K", help="Displayed positions.")] = None,
    exact_up_to: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Look at all lists where those of all queries together are no more; else at 20,000 random ones of "
            "each query, where only a violation is a proof.",
        ),
    ] = 4_000_000,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other argument of the environment, as JSON; may be repeated. `rankgym envs ENV` lists them.",
        ),
    ] = None,
) -> None:
    """Check whether BubbleRank's and TopRank's theorems apply: which of their assumptions hold, and what breaks them.

    Agents run on any click model, but what is proved of them is proved under assumptions. This shows for each whether
    it holds for all lists, and if not, the lists that break it the most. Where users change, it is about their first
    epoch.

    Examples:

    * One query, all 10! lists of it: `rankgym assumptions PBM-Yandex-Rerank-v0 --query 3`
    * All original queries at 5 positions: `rankgym assumptions DCM-Yandex-v0 --source published`
    * Around a list: `rankgym assumptions PBM-Yandex-v0 --query 3 --around 3,1,0,2,4`
    """
    import gymnasium as gym
    import numpy as np

    from rankgym.experiments.naming import env_arguments, env_id
    from rankgym.models import PAPERS, check_assumptions

    name = env_id(env)
    arguments = _arguments(set_ or [], source, positions)
    chosen = _queries(query)
    venv: Any = gym.make_vec(name, num_envs=1, query=chosen, **arguments).unwrapped
    if not hasattr(venv, "problems"):
        raise ValueError(f"the click model of {name} is not known")
    rows = venv.problems.num_queries if isinstance(chosen, str) else len(chosen)
    venv = gym.make_vec(name, num_envs=rows, query=chosen, **arguments).unwrapped
    queries, row_of = np.unique(venv.reset(seed=0)[1]["query"], return_index=True)
    truth = type(venv.problems.parameters)(*(table[queries] for table in venv.problems.parameters))
    displayed: Any = None
    if around is not None:
        displayed = venv.initial_list[row_of, : venv.num_positions] if around == "initial" else _items(around)
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


def _items(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--around {text} is no list; allowed: initial, or items: 3,1,2") from None


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
        what, opening, paper = text.rpartition(" (")
        rows.append((name, what if opening else text, paper.rstrip(")") if opening else ""))
    _show_table(("environment", "what it is", "paper"), rows)
    typer.echo("rankgym envs ENV lists the arguments of one, which rankgym compare ENV --set KEY=VALUE sets.")


def _show_arguments(env: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    from rankgym.experiments.naming import env_arguments, env_creator, env_id

    name = env_id(env)
    defaults = env_arguments(name)
    if defaults is None:
        raise ValueError(f"the arguments of {name} are not known; see its own documentation")
    typer.echo(f"{name}\n")
    rows = [(key, _as_typed(value)) for key, value in defaults.items() if key not in NOT_TO_SET]
    _show_table(("argument", "default here"), rows)
    section = re.search(r"^## Arguments\n(.*?)(?=^## |\Z)", inspect.getdoc(env_creator(name)) or "", re.M | re.S)
    if section:
        Console().print(Markdown(section[1]))


def _as_typed(value: Any) -> str:
    """A value as one would type it after ``=``."""
    value = getattr(value, "value", value)  # of an enum
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        return repr(value)


@app.command()
def agents() -> None:
    """List the agents.

    Knobs go after colons: `rankgym compare PBM-Yandex-v0 --agents toprank:delta=1e-6`. Those shown are the defaults.
    """
    from rankgym.experiments import naming
    from rankgym_agents import AGENTS

    rows = []
    for name, cls in AGENTS.items():
        what, paper = agent_texts(cls)
        knobs = ", ".join(f"{knob}={_as_typed(default)}" for knob, default in naming.knobs(cls).items())
        rows.append((name, f"{what}\nknobs: {knobs}" if knobs else what, paper))
    _show_table(("agent", "what it does", "paper"), rows)


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
    """List, download or import data sets.

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
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set, as `rankgym data list` has it.")],
) -> None:
    """Download a data set from its public address, and check its digest.

    Example: `rankgym data fetch yandex60`
    """
    from rankgym import data as room
    from rankgym.data import catalogue

    news = "here already, nothing was downloaded: " if catalogue.usable(name) else ""
    typer.echo(f"{name}: {news}{room.fetch(name)}")


@data_app.command("import")
def import_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set, as `rankgym data list` has it.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The original file.")],
) -> None:
    """Take a data set from a file that is here already, and check its digest.

    Example: `rankgym data import yandex60 model_query_collection.pkl`
    """
    from rankgym import data as room

    typer.echo(f"{name}: {room.import_file(name, file)}")


# -- bench ------------------------------------------------------------------------------------------------------------


@app.command()
def bench(
    rows: Annotated[str, typer.Option(metavar="A,B,...", help="Rows of the environments' steps.")] = "1,64,600,6000",
    quick: Annotated[bool, typer.Option("--quick", help="A rougher measurement, in under 20 seconds.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Write all measurements to a file.")] = None,
) -> None:
    """Measure speed: sessions per second, on one core.

    Of every click model's step with and without recording, of every agent with it, of single environments, and of
    Gymnasium's CartPole beside them. What is compared takes turns, so that a machine that slows down slows all of it.
    """
    from rich.console import Console

    from rankgym.experiments import bench as benches

    try:
        sizes = [int(part) for part in rows.split(",")]
    except ValueError:
        raise ValueError(f"--rows {rows} is no list of numbers; allowed: 1,64,600,6000") from None
    if out is not None:
        benches.check_out(out)
    report = benches.measure(sizes, quick=quick)
    console = Console()
    for part in benches.tables(report):
        console.print(part)
    if out is not None:
        benches.write(report, out)
        typer.echo(f"written: {out}")


if __name__ == "__main__":
    main()
