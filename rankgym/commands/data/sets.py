"""``rankgym data list``, ``fetch`` and ``import``: data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["fetch", "import_", "list_"]


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
