"""The command line: assembles the commands, one file each in ``rankgym.commands``."""

import os
import signal
import sys
from typing import Annotated

import typer

from rankgym.commands import completion, data, exercise, sweep
from rankgym.commands.agents import agents
from rankgym.commands.assumptions import assumptions
from rankgym.commands.bench import bench
from rankgym.commands.compare import compare
from rankgym.commands.envs import envs
from rankgym.commands.errors import OneLineErrors, one_line_warnings
from rankgym.commands.exercise_grade import grade as exercise_grade
from rankgym.commands.grade import grade
from rankgym.commands.reproduce import reproduce
from rankgym.commands.score import score
from rankgym.commands.train import train
from rankgym.commands.watch import watch

app = typer.Typer(
    cls=OneLineErrors,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


for command in (compare, watch, score, train, assumptions, envs, agents, bench, reproduce, grade):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(sweep.app, name="sweep")
exercise.app.command("grade")(exercise_grade)
app.add_typer(exercise.app, name="exercise")


def main() -> None:
    """Run the command line. SIGTERM, with which batch systems end a job, is heard like Ctrl-C.

    Commands write files and need no display, so that matplotlib's backend is Agg, whatever ``MPLBACKEND`` another
    environment (a notebook's, say) has set: with a name that this one does not know, matplotlib could not be imported.
    """
    os.environ["MPLBACKEND"] = "agg"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    completion.name_shell(sys.argv[1:])
    with completion.whole_words(), one_line_warnings():
        app(prog_name="rankgym")


if __name__ == "__main__":
    main()
