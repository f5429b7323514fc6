"""Libraries of the package's extras: imported where they are needed, with an error that says which extra to install."""

import importlib
from typing import Any


def require(name: str, extra: str = "experiments") -> Any:
    """Import a library that belongs to one of the package's extras.

    Raises:
        RuntimeError: the library is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise RuntimeError(f'this needs {error.name}, which is not installed; pip install "rankgym[{extra}]"') from None
