"""Where the data cache is."""

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The folder of the data cache: ``RANKGYM_DATA_HOME``, or ``data`` in the user's cache folder of rankgym."""
    chosen = os.environ.get("RANKGYM_DATA_HOME")
    if chosen:
        folder = Path(chosen).expanduser()
        if folder.exists() and not folder.is_dir():
            raise ValueError(
                f"RANKGYM_DATA_HOME = {chosen} is not a folder; allowed: a folder, which may be made later"
            )
        return folder
    return platformdirs.user_cache_path("rankgym") / "data"
