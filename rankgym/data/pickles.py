"""Pickles of data sets, read by ``rankgym.untrusted.pickles``; the errors are those of data sets."""

from collections.abc import Collection
from typing import Any

from rankgym.data.errors import RefusedPickle
from rankgym.untrusted import pickles as untrusted
from rankgym.untrusted.files import RefusedFile
from rankgym.untrusted.pickles import Call as Call
from rankgym.untrusted.pickles import Name as Name
from rankgym.untrusted.pickles import foreign_names as foreign_names
from rankgym.untrusted.pickles import shown as shown


def load(data: bytes, allowed: Collection[str]) -> Any:
    """Return the object of a pickle, with a ``Call`` record in place of everything built by a call.

    Raises RefusedPickle if it mentions a name that is not in ``allowed``, exceeds a limit, or cannot be read.
    """
    try:
        return untrusted.load(data, allowed)
    except RefusedFile as error:
        raise RefusedPickle(str(error)) from None
