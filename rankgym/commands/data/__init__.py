"""``rankgym data``: data sets, and preference matrices of rankers.

Like all commands, these import the rooms that they call when they are called.
"""

import typer

from rankgym.commands.data.preferences import preferences
from rankgym.commands.data.sets import fetch, import_, list_

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def data() -> None:
    """List, download or import data sets: fitted click models, and preference matrices of dueling arms.

    They are stored in the folder RANKGYM_DATA_HOME; without it, in the user's cache folder.
    """


app.command("list")(list_)
app.command()(fetch)
app.command("import")(import_)
app.command()(preferences)
