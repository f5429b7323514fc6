"""Files in a folder of results that rankgym did not write: they are not replaced unless the user says so."""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from rankgym.experiments.plan.jobs import made_in
from rankgym.experiments.plan.sweep import SWEEP
from rankgym.experiments.run.driver import LOG, read_log
from rankgym.experiments.run.lock import LOCK
from rankgym.experiments.run.plan_file import PLAN
from rankgym.outputs import read_regular_file

SWEEP_KEYS = {"environments", "agents", "rounds", "rows_per_job"}
PLAN_KEYS = {"format", "name", "jobs"}
MOST_NAMED = 3  # files in a message


def is_sweep_folder(folder: Path) -> bool:
    """Return whether a sweep wrote into ``folder``: there are results of jobs, or one of its own files."""
    return (
        bool(made_in(folder))
        or has_keys(folder / SWEEP, SWEEP_KEYS)
        or has_keys(folder / PLAN, PLAN_KEYS)
        or bool(read_log(folder))
    )


def has_keys(path: Path, keys: Iterable[str]) -> bool:
    """Return whether ``path`` is a JSON file with an object that has all of ``keys``."""
    try:
        document = json.loads(read_regular_file(path) or b"")
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and set(keys) <= set(document)


def named(names: Iterable[str]) -> str:
    """Return the first names of files, and how many more there are, in words."""
    names = list(names)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def refuse_foreign_files(folder: Path, allowed: str) -> None:
    """Raise a ValueError if a sweep would replace files in ``folder`` that no sweep wrote.

    Args:
        allowed: what else the user can do, to follow "allowed: another folder".
    """
    there = [name for name in (SWEEP, PLAN, LOG) if (folder / name).exists()]
    with contextlib.suppress(OSError):
        there += [LOCK] if (folder / LOCK).stat().st_size else []  # that of a sweep is empty
    if there and not is_sweep_folder(folder):
        raise ValueError(
            f"{folder} has files that no sweep wrote, and that this one would replace ({named(there)}); allowed: "
            f"another folder{allowed}"
        )
