"""Where the data cache is."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder of the data cache: ``RANKGYM_DATA_HOME``, or ``data`` in the user's cache folder of rankgym.

    Examples:
        >>> import os
        >>> from unittest import mock
        >>> from rankgym.data import home
        >>> with mock.patch.dict(os.environ, RANKGYM_DATA_HOME="~/rankings"):
        ...     home().name, home().is_absolute()
        ('rankings', True)
    """
    chosen = os.environ.get("RANKGYM_DATA_HOME")
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("rankgym") / "data"
