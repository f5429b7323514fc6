"""``rankgym data``: data sets and logs. The commands for logs and ``preferences`` have files of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rankgym.commands import completion
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
    from rankgym.models import MODELS

    replaced = " (replaced)" if name in room.fits_names() else ""
    typer.echo(f"{name}: {room.import_fits(name, file)}{replaced}")
    fits = room.load_fits(name)
    queries, items = fits.item.shape
    playable = [one for one in MODELS.values() if all(fits.axes.get(key) == axes for key, axes in one.axes.items())]
    few = "" if fits.positions >= 5 else f" --positions {fits.positions}"
    richest = max(playable, key=lambda one: len(one.axes)).name
    sizes = f"{queries:,} {'query' if queries == 1 else 'queries'} of {items} {'item' if items == 1 else 'items'}"
    names = ", ".join(one.name for one in playable)
    typer.echo(f"{sizes}, for the models {names}; rankgym compare {richest}-Yandex-v0 --source {name}{few} plays")
    typer.echo("them. Your own model takes them, too: --set model=package.module:MODEL")
    if queries > 1:
        typer.echo(f"queries are numbered in the order of the file: {_numbered(fits.query.tolist())}")
    for line in _unplayed(fits.axes, MODELS.values()):
        typer.echo(line)


def _numbered(labels: list[str]) -> str:
    """Return the first labels with their numbers."""
    shown = [f"{number} {label}" for number, label in enumerate(labels[:5])]
    return ", ".join([*shown, *(["..."] if len(labels) > 5 else [])])


def _unplayed(given: dict[str, tuple[str, ...]], models: Iterable[Any]) -> list[str]:
    """Return a line for each built-in model that fits with parameters of these axes nearly have, and for unknown names.

    A model is near if it has one of the parameters that no built-in model can use as they are.
    """
    from rankgym.arguments import near
    from rankgym.data.fits import axes_text

    models, lines = list(models), []
    known = {name for model in models for name in model.axes}
    playable = [model for model in models if all(given.get(name) == axes for name, axes in model.axes.items())]
    unused = given.keys() - {name for model in playable for name in model.axes}
    for model in models:
        faults = []
        for name, axes in model.axes.items():
            if name not in given:
                faults.append(f"there is no {name} ({axes_text(axes)})")
            elif given[name] != axes:
                faults.append(f"{name} is {axes_text(given[name])}; expected: {axes_text(axes)}")
        if faults and unused & model.axes.keys():
            lines.append(f"not for {model.name}: {', and '.join(faults)}")
    for name in given:
        if name not in known:
            lines.append(f"{name} is a parameter of no built-in model{near(name, known)}")
    return lines


app.command()(simulate)
app.command()(evaluate)
app.command()(preferences)  # the last in the help
