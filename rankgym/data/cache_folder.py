"""Where the data cache is."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder of the data cache: ``RANKGYM_DATA_HOME``, or ``data`` in the user's cache folder of rankgym."""
    chosen = os.environ.get("RANKGYM_DATA_HOME")
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("rankgym") / "data"
