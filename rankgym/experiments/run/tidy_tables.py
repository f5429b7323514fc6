"""Results from files, and as tidy tables. Reading them imports neither agents nor environments."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.experiments.run import store
from rankgym.experiments.run.plan_file import read_plan
from rankgym.experiments.run.results import Played, Results, join
from rankgym.extras import require
from rankgym.outputs import atomic_path

LABELS = {
    "environment": "label in the sweep (dictionary-encoded text)",
    "agent": "label, as typed (dictionary-encoded text)",
    "row": "number in the environment, from 0",
    "query": "the query, or the problem, that the row plays; 0 if the environment has neither",
    "run": "number of the run of its query, from 0",
}
SETTLED = {"settled_at": "rounds played when the row was retired, as its list could not change any more; null: never"}
MEASURES = {
    "regret": "cumulative expected regret",
    "violations": "rounds that violated the safety constraint so far (rankings)",
    "ndcg": "mean NDCG at the cutoff so far (rankings)",
    "accuracy": "1 where the agent's candidate is the best arm, 0 where not, null if the best arm is unknown (duels)",
    "reward": "cumulative reward; of a retired row it goes on with the expectation",
}
# The columns of ``load``, with their meaning; of measures, those that some result in the sweep has.
COLUMNS = {**LABELS, "round": "rounds played", **MEASURES, **SETTLED}
# The columns of ``epochs``.
EPOCH_COLUMNS = {
    **LABELS,
    "epoch": "number of the stretch between breakpoints, from 0",
    "regret": "expected regret in the epoch; null: the row has not reached it",
    **SETTLED,
}


def load(path: str | os.PathLike[str], *, partial: bool = False) -> Any:
    """Read the results of a sweep as a tidy table: one line a row and recorded round.

    Args:
        path: the folder of a sweep (``rankgym sweep run --out``); or one Parquet file, a sweep's result or a table
            that was exported.
        partial: leave out what is missing of a sweep that is not finished.

    Returns:
        A ``pyarrow.Table`` with the ``COLUMNS``; ``.to_pandas()`` and ``polars.from_arrow`` take it. Lines are in the
        order of the sweep: by environment, agent, row and round. A job whose own result is missing takes the newest
        one that another version of the package made.

    Raises:
        ValueError: ``path`` has no results, some are missing (unless ``partial``), or one is damaged.
        RuntimeError: pyarrow is not installed.
    """
    path = Path(path)
    return _exported(path) if path.is_file() and not _is_result(path) else table(read(path, partial=partial))


def epochs(path: str | os.PathLike[str], *, partial: bool = False) -> Any:
    """Read the regret of each epoch as a tidy table with the ``EPOCH_COLUMNS``: one line a row and epoch.

    Environments without breakpoints have no lines. Arguments and errors are those of ``load``, but an exported
    table has no epochs.
    """
    path = Path(path)
    if path.is_file() and not _is_result(path):
        raise ValueError(f"path = {os.fspath(path)!r} is an exported table; allowed: the folder of a sweep")
    return epoch_table(read(path, partial=partial))


def read(path: str | os.PathLike[str], *, partial: bool = False) -> Results:
    """The results at ``path`` by their labels. Arguments and errors are those of ``load``, but for exported tables."""
    path = Path(path)
    if path.is_file():
        return Results([store.read(path)])
    plan = read_plan(path)
    if plan is not None:
        return store.gather(path, plan.jobs, partial=partial, any_version=True)
    files = sorted(path.glob(f"{store.RESULTS}/*.parquet")) or sorted(path.glob("*.parquet"))
    if not files:
        raise ValueError(f"path = {os.fspath(path)!r} has no results; allowed: the folder of a sweep, or a file of one")
    blocks: dict[tuple[str, str], list[Played]] = {}
    for file in files:
        if not _is_result(file):
            allowed = "a folder of results alone, or the file itself"
            raise ValueError(f"{file} is not the result of a sweep; allowed: {allowed}")
        block = store.read(file)
        blocks.setdefault((block.environment, block.agent), []).append(block)
    for (environment, agent), parts in blocks.items():
        rows = np.concatenate([part.row for part in parts])
        rounds = {tuple(part.rounds.tolist()) for part in parts}
        if len(np.unique(rows)) < len(rows) or len(rounds) > 1:
            raise ValueError(
                f"path = {os.fspath(path)!r} has several results of {agent!r} in {environment!r}, of other versions or "
                "other sweeps; allowed: the folder of one sweep, with its plan.json"
            )
    return Results(map(join, blocks.values()))


def _is_result(path: Path) -> bool:
    """Whether a Parquet file is a sweep's result; raises ValueError if it is not a Parquet file."""
    try:
        return b"rankgym" in (require("pyarrow.parquet").read_schema(path).metadata or {})
    except (require("pyarrow").ArrowInvalid, OSError):
        raise ValueError(f"{path} is damaged, or not a Parquet file; allowed: the folder of a sweep") from None


def _exported(path: Path) -> Any:
    """Read a table that was exported to a Parquet file."""
    found = require("pyarrow.parquet").read_table(path)
    missing = [name for name in (*LABELS, "round") if name not in found.column_names]
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; allowed: a sweep's result, or an exported table")
    return found


def table(results: Iterable[Played]) -> Any:
    """Make of ``results`` the tidy ``pyarrow.Table`` that ``load`` returns."""
    pyarrow = require("pyarrow")
    played = list(results)
    parts = []
    for one in played:
        values = {"round": pyarrow.array(np.tile(one.rounds, len(one.row)))}
        for name in MEASURES:
            if name in one.measures:
                values[name] = pyarrow.array(one.measures[name].T.ravel(), from_pandas=True)  # NaN: null
        parts.append(_lines(pyarrow, one, len(one.rounds), values))
    measured = {name for one in played for name in one.measures}
    return _joined(pyarrow, parts, [name for name in COLUMNS if name not in MEASURES or name in measured])


def epoch_table(results: Iterable[Played]) -> Any:
    """Make of the epochs of ``results`` the tidy ``pyarrow.Table`` that ``epochs`` returns."""
    pyarrow = require("pyarrow")
    parts = []
    for one in results:
        number = len(one.epoch_regret)
        values = {
            "epoch": pyarrow.array(np.tile(np.arange(number), len(one.row))),
            "regret": pyarrow.array(one.epoch_regret.T.ravel().astype(np.float64), from_pandas=True),
        }
        parts.append(_lines(pyarrow, one, number, values))
    return _joined(pyarrow, parts, list(EPOCH_COLUMNS))


def write_table(table: Any, path: Path) -> None:
    """Write a table as a Parquet file, atomically."""
    parquet = require("pyarrow.parquet")
    with atomic_path(path) as unfinished:
        parquet.write_table(table, unfinished, compression="zstd", write_page_checksum=True)


def _lines(pyarrow: Any, played: Played, times: int, values: dict[str, Any]) -> Any:
    """A table of ``times`` lines a row: the row's labels and ``values``."""
    settled = np.repeat(played.settled_at, times)
    lines = len(settled)
    words = {
        name: pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(lines, np.int32)), [text])
        for name, text in (("environment", played.environment), ("agent", played.agent))
    }
    numbers = {name: pyarrow.array(np.repeat(getattr(played, name), times)) for name in ("row", "query", "run")}
    return pyarrow.table({**words, **numbers, **values, "settled_at": pyarrow.array(settled, mask=settled < 0)})


def _joined(pyarrow: Any, parts: list[Any], columns: list[str]) -> Any:
    """One table with ``columns``, null where a part has none, and one dictionary for each column of labels."""
    label = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = {name: pyarrow.int64() for name in columns}
    kinds |= {name: pyarrow.float64() for name in columns if name in MEASURES} | dict.fromkeys(list(LABELS)[:2], label)
    schema = pyarrow.schema(list(kinds.items()))
    if not parts:
        return schema.empty_table()

    def column(part: Any, name: str) -> Any:
        return part[name] if name in part.column_names else pyarrow.nulls(len(part), kinds[name])

    whole = [pyarrow.table([column(part, name) for name in columns], schema=schema) for part in parts]
    return pyarrow.concat_tables(whole).unify_dictionaries().combine_chunks()
