"""``rankgym sweep``: parse, look up, call. What it calls is imported when it is called."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankgym.experiments.plan.sweep import Sweep
    from rankgym.experiments.run.results import Results

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a sweep that `rankgym sweep run` has begun.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="J",
        help="Processes; 1: no others. Default: all processors; a Dask cluster plays with all its workers. The results "
        "do not depend on it.",
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        metavar="loky|dask|ray|...",
        help="What plays the jobs, by joblib's name for it. Default: processes on this machine.",
    ),
]
Address = Annotated[
    str | None, typer.Option(metavar="tcp://HOST:8786", help="Of the scheduler of a Dask cluster, with --backend dask.")
]
Every = Annotated[
    float,
    typer.Option(
        "--checkpoint-every",
        metavar="SECONDS",
        help="How often a running job is written down: what is lost when something dies is no more.",
    ),
]


@app.callback()
def sweep() -> None:
    """Long experiments that finish, however often the machine dies in between.

    A sweep is a file: environments x agents x rows, a number of rounds, a seed. `rankgym sweep run --help` has one.
    """


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to play.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="For the results. Default: `results/FILE`, without its ending."),
    ] = None,
    jobs: Jobs = None,
    backend: Backend = None,
    address: Address = None,
    checkpoint_every: Every = 120.0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Where FOLDER has another sweep: put this one in its place.")
    ] = False,
) -> None:
    """Play a sweep, or go on with it: what FOLDER has is not played again.

    A file such as

        rounds = 100_000
        runs = 10                             # of each query
        agents = ["toprank", "cascade-kl-ucb", "toprank:delta=1e-6"]

        [[environments]]
        id = "CM-Yandex-v0"
        source = "published"                  # any argument of the environment

        [[environments]]
        label = "PBM, five queries"
        id = "PBM-Yandex-v0"
        query = [0, 1, 2, 3, 4]               # an environment's own, as may be
        agents = ["toprank", "bubblerank"]    # rounds, runs, seed and record_at

    is cut into jobs: blocks of rows of an agent in an environment. Each makes one Parquet file in FOLDER/results, whole
    or not there, whose name has a digest of all that decides its numbers: versions, code and data too.

    More keys are `name`, `seed`, `query`, `record_at` (rounds to record besides those that always are), `rows_per_job`
    and `retire`: rows whose list can never change again leave the batch, and the rest of their records is exact.
    Agents with many knobs may be tables, `[[agents]]` with `name` and the knobs. `rankgym envs` and `rankgym agents`
    list what there is.

    Everything is tried for a moment before the first job begins. Ctrl-C (or SIGTERM) writes checkpoints first; then, or
    after a crash, the same command or `rankgym sweep resume FOLDER` goes on, to the same results.

    Clusters: with `--backend dask --address tcp://HOST:8786` the workers of a Dask cluster play the jobs (start them
    with one thread each: `dask worker tcp://HOST:8786 --nthreads 1`), and with `--backend ray` those of a Ray cluster
    (`pip install "rankgym[ray]"`). They need the same versions of everything, and FOLDER shared under the same path.

    Examples:

    * `rankgym sweep run paper.toml --out results/paper --jobs 4`
    * `rankgym sweep run paper.toml --out /shared/paper --backend dask --address tcp://10.0.0.5:8786`
    * meanwhile: `rankgym sweep status results/paper`, and
      `rankgym sweep export results/paper --partial --to so_far.csv`
    """
    from rankgym.experiments.plan.sweep import Sweep
    from rankgym.experiments.run.sweeps import keep_sweep

    given = Sweep.from_toml(file)
    _find_agents(given)
    folder = out or Path("results") / file.stem
    keep_sweep(given, folder, replace=replace)
    _play(given, folder, jobs=jobs, backend=backend, address=address, checkpoint_every=checkpoint_every)


@app.command()
def resume(
    folder: Folder,
    jobs: Jobs = None,
    backend: Backend = None,
    address: Address = None,
    checkpoint_every: Every = 120.0,
) -> None:
    """Go on with the sweep in FOLDER: finished jobs are kept, and others go on from their checkpoints."""
    from rankgym.experiments.run.sweeps import kept_sweep

    given = kept_sweep(folder)
    _find_agents(given)
    _play(given, folder, jobs=jobs, backend=backend, address=address, checkpoint_every=checkpoint_every)


@app.command()
def status(folder: Folder) -> None:
    """Show how far the sweep in FOLDER is. It may be running; nothing is changed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rankgym.experiments.run.status import sweep_status

    found = sweep_status(folder)
    lines = found.agents
    heads = {"jobs": "jobs", "finished": "finished", "running": "running", "begun": "begun", "to do": "to_do"}
    heads["damaged"] = "damaged"
    heads = {h: name for h, name in heads.items() if h in ("jobs", "finished") or any(getattr(x, name) for x in lines)}
    table = Table(title=Text(found.name) if found.name else None, title_justify="left")
    for name in ("environment", "agent"):
        table.add_column(name, overflow="fold")
    for head in (*heads, "sessions"):
        table.add_column(head, justify="right", no_wrap=True)
    for line in lines:
        numbers = [f"{getattr(line, name):,}" for name in heads.values()]
        share = f"{100 * line.played / line.sessions:.1f} %"
        table.add_row(Text(line.environment), Text(line.agent), *numbers, share)
    console = Console()
    console.print(table)
    jobs, finished = sum(line.jobs for line in lines), sum(line.finished for line in lines)
    played, sessions = sum(line.played for line in lines), sum(line.sessions for line in lines)
    typer.echo(f"{finished:,} of {jobs:,} jobs are finished, {100 * played / sessions:.1f} % of {sessions:,} sessions")
    for wrong in found.damaged:
        typer.echo(f"{wrong}; its job will be played again")
    others = found.others
    if others.same:
        typer.echo(
            f"{len(others.same)} results of these jobs were made by {' and by '.join(sorted(others.made_by))}: they "
            "are kept, and `export` takes them for jobs without a result of the sweep's own versions"
        )
    if others.foreign:
        typer.echo(f"{len(others.foreign)} results are of other sweeps")
    for path in others.damaged:
        typer.echo(f"{path} is damaged, or not the result of a sweep; it is left alone")
    if found.running:
        typer.echo(f"it is {found.running}")
    elif finished < jobs:
        typer.echo(f"resume with: rankgym sweep resume {folder}")
    else:
        typer.echo(f"its table: rankgym sweep export {folder}")


@app.command()
def export(
    folder: Folder,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet|FILE.csv", help="Default: FOLDER/table.parquet.")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Take what there is of a sweep that is not done.")] = False,
) -> None:
    """Write one tidy table: a line for each row and recorded round, with its environment, agent, query and run.

    In Python, `rankgym.experiments.load(FOLDER)` gives the same for pandas or polars.
    """
    from rankgym.experiments.run.tables import load, write_table
    from rankgym.extras import require
    from rankgym.outputs import atomic_path, check_writable

    path = to or folder / "table.parquet"
    if path.suffix not in (".parquet", ".csv") or path.is_dir():
        raise ValueError(f"--to {path} is no name for a table; allowed: FILE.parquet or FILE.csv")
    table = load(folder, partial=partial)
    check_writable(path, path.parent)
    if path.suffix == ".parquet":
        write_table(table, path)
    else:
        with atomic_path(path) as unfinished:
            require("pyarrow.csv").write_csv(_plain(table), unfinished)
    typer.echo(f"Written to {path}: {table.num_rows:,} lines of {', '.join(table.column_names)}")


@app.command()
def report(
    folder: Folder,
    to: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Default: FOLDER/report.html.")] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Take what there is of a sweep that is not done.")] = False,
) -> None:
    """Write one HTML file: the measures over rounds, means with standard errors, and ranks of agents over queries."""
    from rankgym.experiments.run.plan_file import read_plan
    from rankgym.experiments.run.tables import read
    from rankgym.experiments.show.report import sweep_report
    from rankgym.outputs import check_writable

    path = to or folder / "report.html"
    if path.suffix != ".html" or path.is_dir():
        raise ValueError(f"--to {path} is no name for a report; allowed: FILE.html")
    results, plan = read(folder, partial=partial), read_plan(folder)
    check_writable(path, path.parent)
    sweep_report(path, results, plan.name if plan else "")
    typer.echo(f"Written to {path}")


def _plain(table: Any) -> Any:
    """The table with texts for dictionaries."""
    pyarrow = __import__("pyarrow")
    for number, field in enumerate(table.schema):
        if pyarrow.types.is_dictionary(field.type):
            table = table.set_column(number, field.name, table[field.name].cast(pyarrow.string()))
    return table


def _find_agents(given: Sweep) -> None:
    """Let agents of one's own be found in the present folder, as ``python -m`` does."""
    from rankgym_agents import AGENTS

    names = [*given.agents, *(name for one in given.environments for name in one.agents or ())]
    if any(str(name).partition(":")[0] not in AGENTS or ":agent=" in str(name) for name in names):
        sys.path.insert(0, str(Path.cwd()))


def _play(given: Sweep, folder: Path, **options: Any) -> None:
    from rankgym.experiments.run.display import duration
    from rankgym.experiments.run.sweeps import run_sweep

    begin = time.monotonic()
    results = run_sweep(given, folder, **options)
    _show(results)
    typer.echo(f"All {len(given.jobs()):,} jobs are finished, after {duration(time.monotonic() - begin)}.")
    typer.echo(f"Results are in {folder}; a table of them: rankgym sweep export {folder}")


def _show(results: Results) -> None:
    """A line for each environment and agent: its regret in the end."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rankgym.experiments.judge.comparison import counted
    from rankgym.experiments.judge.means import known, mean_and_error

    table = Table()
    for name in ("environment", "agent"):
        table.add_column(name, overflow="fold")
    for name in ("rows", "rounds", "retired", "regret"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in results:
        mean, error = mean_and_error(known(one.measures["regret"][-1]))
        digits = 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 10 else 2
        regret = "unknown" if mean != mean else f"{mean:,.{digits}f}"
        regret += f" ± {error:,.{digits}f}" if error == error else ""
        retired = f"{(one.settled_at >= 0).mean():.0%}"
        texts = [f"{len(one.row):,}", counted(int(one.rounds[-1])), retired, regret]
        table.add_row(Text(one.environment), Text(one.agent), *texts)
    Console().print(table)
