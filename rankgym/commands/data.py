"""``rankgym data``: data sets. Its command ``preferences`` has a file of its own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rankgym.commands import completion
from rankgym.commands.preferences import preferences

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def data() -> None:
    """List, download or import data sets: fitted click models, and preference matrices of dueling arms.

    They are stored in the folder RANKGYM_DATA_HOME; without it, in the user's cache folder.
    """


@app.command("list")
def list_() -> None:
    """List the data sets, their sources, and whether they are in the data folder."""
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


@app.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A published data set: yandex60 or mslr.", autocompletion=completion.data_sets
        ),
    ],
) -> None:
    """Download a data set from its public address and check its digest.

    Example: `rankgym data fetch yandex60`. Then environments use it with `source=published`.

    `rankgym data fetch mslr` downloads three preference matrices, one for each user model.
    """
    from rankgym import data as room
    from rankgym.data import catalogue

    note = "already here, nothing was downloaded: " if catalogue.usable(name) else ""
    typer.echo(f"{name}: {note}{room.fetch(name)}")


@app.command("import")
def import_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A published data set, or a name of your own for a preference matrix.",
            autocompletion=completion.data_sets,
        ),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The file; for mslr, the three files.")],
) -> None:
    """Import a data set from a file on this machine, and check it.

    For a published data set, give copies of the original files; their digests are checked:

    `rankgym data import yandex60 model_query_collection.pkl`

    `rankgym data import mslr MSLR-Perfect.txt MSLR-Nabigational.txt MSLR-Informational-CDC.txt`

    With any other NAME (letters, digits, - and _), FILE is a preference matrix of your own; dueling environments then
    have it as `dataset=NAME`:

    `rankgym data import my-rankers matrix.npy`

    `rankgym compare Dueling-Synthetic-v0 --set dataset=my-rankers`

    Entry i, j is the probability that arm i beats arm j: p_ij + p_ji = 1, and 1/2 on the diagonal. The file is `.npy`,
    or text with a line for each arm, numbers separated by blanks or commas, and comments after #.
    """
    from rankgym import data as room
    from rankgym.data import preferences as matrices

    if name in room.published_names():
        typer.echo(f"{name}: {room.import_file(name, *files)}")
        return
    if len(files) != 1:
        raise ValueError(f"{name}: the number of files = {len(files)} is not allowed; allowed: 1, a preference matrix")
    typer.echo(f"{name}: {room.import_matrix(name, files[0])}")
    matrix = matrices.load(name)
    winner = matrices.condorcet_winner(matrix)
    best = f"Condorcet winner {winner}" if winner >= 0 else "no Condorcet winner"
    more = "" if winner >= 0 else " --set winner=copeland"
    command = f"rankgym compare Dueling-Synthetic-v0 --set dataset={name}{more}"
    typer.echo(f"{len(matrix):,} arms, {best}; {command} plays it")


app.command()(preferences)  # the last in the help
