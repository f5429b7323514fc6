"""``rankgym sweep``: run, resume, inspect and export a sweep."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankgym.commands.errors import complain
from rankgym.commands.options import Address, Backend, CheckpointEvery, Jobs, option, search_here
from rankgym.commands.tables import show_table

if TYPE_CHECKING:
    from rankgym.experiments.plan.jobs import Job
    from rankgym.experiments.plan.sweep import Sweep
    from rankgym.experiments.run.results import Results

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of a sweep that `rankgym sweep run` started.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse results that other versions, code or data than the present made.")
]
Partial = Annotated[bool, typer.Option("--partial", help="Take the results so far of an unfinished sweep.")]


@app.callback()
def sweep() -> None:
    """Run large experiments that survive crashes and restarts.

    A sweep is a file: environments x agents x rows, a number of rounds, a seed. `rankgym sweep run --help` shows one.
    """


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The sweep.")],
    out: Annotated[
        Path | None, option("FOLDER", "Folder for the results. Default: `results/FILE`, without its ending.")
    ] = None,
    jobs: Jobs = None,
    backend: Backend = None,
    address: Address = None,
    checkpoint_every: CheckpointEvery = 120.0,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Replace another sweep's file in FOLDER, or foreign files of a sweep's names; no result is deleted, "
            "and those that the new sweep has, too, are used.",
        ),
    ] = False,
) -> None:
    """Play a sweep, or resume it: finished jobs in FOLDER are not played again.

    FILE may have more agents, environments or runs than last time: only these are played.

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
        query = [0, 1, 2, 3, 4]               # this environment only; so may be
        agents = ["toprank", "bubblerank"]    # rounds, runs, seed and record_at

    is cut into jobs: blocks of rows of one agent in one environment. Each job writes one Parquet file into
    FOLDER/results, complete or not at all. Its name has a digest of everything that decides its numbers, versions,
    code and data included.

    Further keys: `name`, `seed`, `query`, `record_at` (further rounds to record), `rows_per_job`, and `retire`: rows
    whose list can never change again leave the batch, and the rest of their records is exact. Agents with many knobs
    may be tables, `[[agents]]` with `name` and the knobs; their `label` is shown in figures, reports and LaTeX tables,
    and may be changed later. See `rankgym envs` and `rankgym agents`.

    Your own agents, `package.module:Class`, and click models, `model = "package.module:MODEL"`, are found in the
    present folder and beside FILE.toml.

    Every agent is tried briefly in its environment before the first job starts. Ctrl-C and SIGTERM write checkpoints
    first. Then, or after a crash, the same command or `rankgym sweep resume FOLDER` continues to the same results.
    An agent without `snapshot` and `restore` has no checkpoints: its unfinished jobs start again.

    One run at a time uses FOLDER. On a file system without locks this cannot be checked: with RANKGYM_WITHOUT_LOCKS=1
    in the environment it plays there, too.

    Clusters: `--backend dask --address tcp://HOST:8786` runs the jobs on the workers of a Dask cluster (start them
    with one thread each: `dask worker tcp://HOST:8786 --nthreads 1`), and `--backend ray` on those of a Ray cluster
    (`pip install "rankgym[ray]"`). They need the same versions of everything, and FOLDER under the same path. They
    find your modules where this command does, if they see those folders under the same paths.

    Examples:

    * `rankgym sweep run paper.toml --out results/paper --jobs 4`
    * `rankgym sweep run paper.toml --out /shared/paper --backend dask --address tcp://10.0.0.5:8786`
    * meanwhile: `rankgym sweep status results/paper`, and
      `rankgym sweep export results/paper --partial --to so_far.csv`
    """
    from rankgym.experiments.plan.sweep import Sweep

    folder = out or Path("results") / file.stem
    given = Sweep.from_toml(file)
    planned = _plan(given, folder, file.parent)
    _play(planned, given.name, folder, backend, address, jobs, checkpoint_every, sweep=given, replace=replace)


@app.command()
def resume(
    folder: Folder,
    jobs: Jobs = None,
    backend: Backend = None,
    address: Address = None,
    checkpoint_every: CheckpointEvery = 120.0,
) -> None:
    """Resume the sweep in FOLDER: finished jobs are kept, others continue from their checkpoints.

    An agent without `snapshot` and `restore` has no checkpoints: its unfinished jobs start again.
    """
    from rankgym.experiments.plan.sweep import Sweep

    given = Sweep.from_folder(folder)
    _play(_plan(given, folder), given.name, folder, backend, address, jobs, checkpoint_every)


@app.command()
def status(folder: Folder) -> None:
    """Show the progress of the sweep in FOLDER, which may be running; nothing is changed."""
    from rankgym.experiments.run.status import sweep_status

    found = sweep_status(folder)
    lines = found.agents
    rare = [name for name in ("running", "begun", "to_do", "damaged") if any(getattr(line, name) for line in lines)]
    names = ["jobs", "finished", *rare]
    if found.name:
        typer.echo(found.name)
    heads = ["environment", "agent", *(name.replace("_", " ") for name in names), "sessions"]
    counts = ([f"{getattr(line, name):,}" for name in names] for line in lines)
    shares = (f"{100 * line.played / line.sessions:.1f} %" for line in lines)
    labels = ((line.environment, line.agent) for line in lines)
    show_table(heads, [(*a, *b, c) for a, b, c in zip(labels, counts, shares, strict=True)], labels=2)
    jobs, finished = sum(line.jobs for line in lines), sum(line.finished for line in lines)
    played, sessions = sum(line.played for line in lines), sum(line.sessions for line in lines)
    typer.echo(f"{finished:,} of {jobs:,} jobs are finished, {100 * played / sessions:.1f} % of {sessions:,} sessions")
    for line in lines:
        if line.lost:
            since = f"{line.lost:,} sessions that {line.agent} played in {line.environment} are not in a checkpoint"
            typer.echo(f"{since}, and will be played again (an agent without `snapshot` has no checkpoints)")
    for wrong in found.damaged:
        typer.echo(f"{wrong}; its job will be played again")
    others = found.others
    if others.older:
        until = "they are not used" if finished == jobs else "until their jobs are played again, `export` uses them"
        typer.echo(f"{others.older}; {until}")
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
    to: Annotated[Path | None, option("FILE.parquet|csv|tex", "Default: FOLDER/table.parquet.")] = None,
    partial: Partial = False,
    strict: Strict = False,
) -> None:
    """Write one tidy table: a line for each row and recorded round, with environment, agent, query and run.

    `--to table.tex` writes a table for a paper instead (LaTeX, booktabs): a line for each environment and agent, with
    the means after the last round and their standard errors. A comment says what made them: the version of rankgym, a
    digest of the sweep, the number of runs. A Parquet file has this as its metadata, a CSV file only numbers. In a CSV
    file, names that begin like a formula (= + - @) have ' in front, so that no spreadsheet computes them.

    In Python, `rankgym.experiments.load(FOLDER)` returns the tidy table for pandas or polars.
    """
    from rankgym.experiments.plan.sweep import labels_in
    from rankgym.experiments.run.tidy_tables import for_spreadsheets, origin, table, write_table
    from rankgym.experiments.show.paper import latex_table
    from rankgym.extras import require
    from rankgym.outputs import atomic_path, check_writable

    path = _file(to or folder / "table.parquet", "a table", (".parquet", ".csv", ".tex"))
    results, said = _read(folder, partial, strict)
    check_writable(path, path.parent)
    made = origin(folder, results)
    if path.suffix == ".tex":
        text = latex_table(results, said, made, labels=labels_in(folder))
        with atomic_path(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        typer.echo(f"Written to {path}: {len(results):,} lines; it needs \\usepackage{{booktabs}}")
        return
    tidy = table(results)
    if path.suffix == ".parquet":
        write_table(tidy.replace_schema_metadata({"origin": made}), path)
    else:
        with atomic_path(path) as unfinished:
            require("pyarrow.csv").write_csv(for_spreadsheets(tidy), unfinished)
    typer.echo(f"Written to {path}: {tidy.num_rows:,} lines of {', '.join(tidy.column_names)}")
    typer.echo(f"Made by {made}")


@app.command()
def figure(
    folder: Folder,
    to: Annotated[Path | None, option("FILE.pdf|svg|png", "Default: FOLDER/figure.pdf.")] = None,
    measure: Annotated[str, option("NAME", "regret, violations, ndcg, accuracy or reward.")] = "regret",
    x: Annotated[
        str | None, option("log|linear", "Scale of the rounds. Default: log, or linear where users change.")
    ] = None,
    y: Annotated[
        str | None,
        option("log|linear|symlog", "Scale of the measure. Default: log for regret over log rounds, else as it suits."),
    ] = None,
    width: Annotated[float, option("INCHES", "3.3 fits a column of two, 6.9 a page.")] = 3.3,
    partial: Partial = False,
    strict: Strict = False,
) -> None:
    """Draw a measure over rounds as a figure for a paper: small fonts, a column's width, PDF with real letters.

    A panel for each environment has the mean over rows of each agent and a band of one standard error to either side.
    """
    from rankgym.arguments import one_of
    from rankgym.experiments.plan.sweep import labels_in
    from rankgym.experiments.show.paper import paper_figure
    from rankgym.outputs import atomic_path, check_writable

    path = _file(to or folder / "figure.pdf", "a figure", (".pdf", ".svg", ".png"))
    scales = [("--x", x, ["log", "linear"]), ("--y", y, ["log", "linear", "symlog"])]
    xscale, yscale = (None if value is None else one_of(name, value, allowed) for name, value, allowed in scales)
    results, _ = _read(folder, partial, strict)
    axes: Any = {"x": xscale, "y": yscale, "width": width}
    drawn = paper_figure(results, measure, **axes, labels=labels_in(folder))
    from rankgym import style

    check_writable(path, path.parent)
    with atomic_path(path) as unfinished:
        style.write(drawn, unfinished, path.suffix[1:], scale=3.0)
    inches = " x ".join(f"{length:.1f}" for length in drawn.get_size_inches())
    typer.echo(f"Written to {path}: {measure} over rounds, {inches} inches")


@app.command()
def report(
    folder: Folder,
    to: Annotated[Path | None, option("FILE.html", "Default: FOLDER/report.html.")] = None,
    partial: Partial = False,
    strict: Strict = False,
) -> None:
    """Write one HTML file: measures over rounds, means with standard errors, and ranks of agents over queries.

    Seeds, arguments and the versions that made the results are folded at its end.
    """
    from rankgym.experiments.plan.sweep import labels_in
    from rankgym.experiments.run.plan_file import read_plan
    from rankgym.experiments.run.tidy_tables import provenance
    from rankgym.experiments.show.report import sweep_report
    from rankgym.outputs import check_writable

    path = _file(to or folder / "report.html", "a report", (".html",))
    results, said = _read(folder, partial, strict)
    plan = read_plan(folder)
    check_writable(path, path.parent)
    settings, versions = provenance(folder)
    from rankgym.experiments.compare import NAME

    title = plan.name if plan else ""
    title = ", ".join(results.environments) if title == NAME else title  # of `rankgym compare --out`
    sweep_report(path, results, title, said, labels_in(folder), settings=settings, versions=versions)
    typer.echo(f"Written to {path}")


def _file(path: Path, what: str, suffixes: tuple[str, ...]) -> Path:
    """Return the ``path`` of --to, or raise a ValueError: its suffix is not one of ``suffixes``, or it is a folder."""
    if path.suffix not in suffixes or path.is_dir():
        allowed = " or ".join(f"FILE{suffix}" for suffix in suffixes)
        raise ValueError(f"--to {path} is not the name of {what}; allowed: {allowed}")
    return path


def _read(folder: Path, partial: bool, strict: bool) -> "tuple[Results, str]":
    """Read a sweep's results, and the warnings, which go to standard error, too.

    They are about results that other code made, and about agents that cover different rows. Raises ValueError for
    results of other code if ``strict``.
    """
    import warnings

    from rankgym.experiments.run.tidy_tables import OtherCode, read, uneven_rows

    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", OtherCode)
        warnings.showwarning = lambda message, *_, **__: said.append(f"{message}".replace("strict=True", "--strict"))
        try:
            results = read(folder, partial=partial, strict=strict)
        except ValueError as error:
            hint = ""
            if (folder / "claims.json").is_file():
                hint = (
                    f"; it is of `rankgym reproduce`, which has written {folder / 'figure.pdf'} and data.parquet there"
                )
            raise ValueError(f"{error}".replace("partial=True", "--partial") + hint) from None
    said += uneven_rows(results)
    for warning in said:
        complain(f"warning: {warning}")
    return results, "\n\n".join(said)


def _plan(given: "Sweep", folder: Path, beside: Path | None = None) -> "list[Job]":
    """Plan a sweep; Python finds the user's own code in the present folder and ``beside`` its file, if it names any."""
    from rankgym.experiments.plan.jobs import made_in

    if given.names_own_code():
        search_here(beside)
    return given.jobs(made_in(folder))


def _play(planned: "list[Job]", name: str, folder: Path, *executor: Any, **keep: Any) -> None:
    from rankgym.experiments.run.display import duration
    from rankgym.experiments.run.executor import Executor
    from rankgym.experiments.run.sweeps import play_jobs

    begin = time.monotonic()
    results = play_jobs(planned, name, folder, Executor(*executor), **keep)
    _show(results)
    typer.echo(f"All {len(planned):,} jobs are finished, after {duration(time.monotonic() - begin)}.")
    typer.echo(f"Results are in {folder}; a table of them: rankgym sweep export {folder}")


def _show(results: "Results") -> None:
    """Print the final regret of each agent in each environment."""
    from rankgym.estimates import known, mean_and_error, with_error
    from rankgym.experiments.judge.table_columns import counted

    lines = []
    for one in results:
        mean, error = mean_and_error(known(one.measures["regret"][-1]))
        retired = f"{(one.settled_at >= 0).mean():.0%}"
        numbers = (f"{len(one.row):,}", counted(int(one.rounds[-1])), retired, with_error(float(mean), float(error)))
        lines.append((one.environment, one.agent, *numbers))
    show_table(("environment", "agent", "rows", "rounds", "retired", "regret"), lines, labels=2)
