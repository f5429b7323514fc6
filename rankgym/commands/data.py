"""``rankgym data``: data sets and logs. The commands for logs and ``preferences`` have files of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rankgym.commands import completion
from rankgym.commands.fit import fit
from rankgym.commands.preferences import preferences
from rankgym.commands.simulate import evaluate, simulate

FITS_FORM = (
    "If it has fits of click models: their file is UTF-8 and begins with names of columns: query,item,attraction"
)

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def data() -> None:
    """List, download or import data sets: fitted click models, and preference matrices of dueling arms. Make logs.

    Data sets are stored in the folder RANKGYM_DATA_HOME; without it, in the user's cache folder.
    """


@app.command("list")
def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            show_default=False,
            help="A data set or a collection of fits: show its details.",
            autocompletion=completion.all_data_sets,
        ),
    ] = None,
) -> None:
    """List the data sets, their sources, and whether they are in the data folder; or the details of one.

    The details are its queries and items (or arms), its parameters with their ranges, where it comes from, its digest,
    the environments that play it, and a command that does.

    Example: `rankgym data list yandex-calibrated`
    """
    from rankgym import data as room

    if name is not None:
        from rankgym.commands.data_details import details

        Console().print(_blocks([(name, details(name))]))
        return
    sets = [dict(dataset) for dataset in room.listing()]
    Console().print(_blocks([(one.pop("name"), one.items()) for one in sets]))
    typer.echo(f"data folder: {room.home()}; the details of one: rankgym data list NAME")


def _blocks(sets: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> Table:
    """Return a block of lines for each data set: its name, then keys and values."""
    blocks = Table.grid(padding=(0, 2))
    blocks.add_column(no_wrap=True)
    blocks.add_column(overflow="fold")
    for name, lines in sets:
        blocks.add_row(Text(name, "bold"))
        for key, value in lines:
            blocks.add_row(Text(f"  {key}"), Text(str(value)))
        blocks.add_row()
    return blocks


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
            help="A published data set, or a name of your own for fits or a preference matrix.",
            autocompletion=completion.data_sets,
        ),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="The file; for mslr, the three files.")],
) -> None:
    """Import a data set from a file on this machine, and check it.

    For a published data set, give copies of the original files; their digests are checked:

    `rankgym data import yandex60 model_query_collection.pkl`

    `rankgym data import mslr MSLR-Perfect.txt MSLR-Nabigational.txt MSLR-Informational-CDC.txt`

    With any other NAME (letters, digits, - and _), FILE is your own. A CSV file that begins with names of columns has
    fits of click models; environments then have them as `source=NAME`:

    `rankgym data import my-fits fits.csv`

    `rankgym compare PBM-Yandex-v0 --source my-fits`

    Columns: `query`, `item`, `attraction` and the model's other parameters. A line has an `item` (in the order of the
    initial list, or with its `rank`), or a `position`, from 1, for parameters by position, or neither of them for
    single numbers. Such a file for the PBM, for one query, at two positions:

        query,item,position,attraction,examination
        shoes,doc17,,0.8,
        shoes,doc3,,0.4,
        shoes,doc21,,0.1,
        ,,1,,0.9
        ,,2,,0.5

    Any other file is a preference matrix; dueling environments then have it as `dataset=NAME`:

    `rankgym data import my-rankers matrix.npy`

    `rankgym compare Dueling-Synthetic-v0 --set dataset=my-rankers`

    Entry i, j is the probability that arm i beats arm j: p_ij + p_ji = 1, and 1/2 on the diagonal. The file is `.npy`,
    or text with a line for each arm, numbers separated by blanks or commas, and comments after #.
    """
    from rankgym import data as room
    from rankgym.data import catalogue, fits_table
    from rankgym.data import preferences as matrices
    from rankgym.data.files import beginning

    if name in room.published_names():
        typer.echo(f"{name}: {room.import_file(name, *files)}")
        return
    if len(files) != 1:
        raise ValueError(f"{name}: the number of files = {len(files)} is not allowed; allowed: 1, your own")
    if fits_table.is_fits_table(beginning(files[0])):
        _import_fits(name, files[0])
        return
    replaced = " (replaced)" if name in catalogue.imported_names() else ""
    try:
        place = room.import_matrix(name, files[0])
    except room.DataError as error:
        if files[0].suffix.lower() != ".csv":
            raise
        raise room.DataError(f"{error}. {FITS_FORM}") from None
    typer.echo(f"{name}: {place}{replaced}")
    matrix = matrices.load(name)
    winner = matrices.condorcet_winner(matrix)
    best = f"Condorcet winner {winner}" if winner >= 0 else "no Condorcet winner"
    more = "" if winner >= 0 else " --set winner=copeland"
    command = f"rankgym compare Dueling-Synthetic-v0 --set dataset={name}{more}"
    typer.echo(f"{len(matrix):,} arms, {best}; {command} plays it")


def _import_fits(name: str, file: Path) -> None:
    """Import fits, and say which environments play them."""
    from rankgym import data as room
    from rankgym.commands.data_details import models_of, numbered, unplayed

    replaced = " (replaced)" if name in room.fits_names() else ""
    typer.echo(f"{name}: {room.import_fits(name, file)}{replaced}")
    fits = room.load_fits(name)
    queries, items = fits.item.shape
    sizes = f"{queries:,} {'query' if queries == 1 else 'queries'} of {items} {'item' if items == 1 else 'items'}"
    models = models_of(fits)
    richest, names = max(models, key=lambda one: len(one.axes)).name, ", ".join(one.name for one in models)
    typer.echo(f"{sizes}, for the models {names}; rankgym compare {richest}-Yandex-v0 --source {name} plays")
    typer.echo("them. Your own model takes them, too: --set model=package.module:MODEL")
    if queries > 1:
        typer.echo(f"queries are numbered in the order of the file: {numbered(fits.query.tolist())}")
    for line in unplayed(fits.axes):
        typer.echo(line)


app.command()(fit)
app.command()(simulate)
app.command()(evaluate)
app.command()(preferences)  # the last in the help
