"""What a sweep has found: in memory, a ``Played`` for each environment and agent; and as tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.extras import require

__all__ = [
    "COLUMNS",
    "EPOCH_COLUMNS",
    "Played",
    "Results",
    "epoch_table",
    "epochs",
    "load",
    "read",
    "table",
    "write_table",
]

LABELS = {
    "environment": "label in the sweep (dictionary-encoded text)",
    "agent": "label, as typed (dictionary-encoded text)",
    "row": "number in the environment, from 0",
    "query": "the query, or the problem, that the row plays; 0 where there are none",
    "run": "number of the run of its query, from 0",
}
SETTLED = {"settled_at": "rounds played when the row was retired, as it could not change any more; null: never"}
MEASURES = {
    "regret": "cumulative expected regret",
    "violations": "rounds that violated the safety constraint so far (rankings)",
    "ndcg": "mean NDCG at the cutoff so far (rankings)",
    "accuracy": "1 where the agent's candidate is the best arm, 0 where not, null where nobody knows (duels)",
    "reward": "cumulative reward; of a retired row it goes on with the expectation",
}
# Every column of ``load``, and what is in it; of measures there are those that something in the sweep has.
COLUMNS = {**LABELS, "round": "rounds played", **MEASURES, **SETTLED}
# Every column of ``epochs``.
EPOCH_COLUMNS = {
    **LABELS,
    "epoch": "number of the stretch between breakpoints, from 0",
    "regret": "expected regret in the epoch; null: the row has not come to it",
    **SETTLED,
}


class Played(NamedTuple):
    """All rows of one agent in one environment, after each of the recorded rounds."""

    environment: str  # label in the sweep
    agent: str  # label, as typed
    env_id: str
    env_kwargs: dict[str, Any]  # without what rows play
    rounds: NDArray[np.int64]  # (records,) rounds played
    row: NDArray[np.int64]  # (rows,) numbers in the sweep; ascending
    query: NDArray[np.int64]  # (rows,) the query or problem that the row plays; 0 where there are none
    run: NDArray[np.int64]  # (rows,) number of the run of its query, from 0
    measures: dict[str, NDArray[np.float64]]  # (records, rows) each: those of History, or of DuelingHistory
    epoch_regret: NDArray[np.float64]  # (epochs, rows); NaN: not come to; no epochs if stationary, and of duels
    settled_at: NDArray[np.int64]  # (rows,) rounds played when the row was retired; -1: played out

    def at(self, measure: str, round: int) -> NDArray[np.float64]:
        """``measure`` after ``round`` rounds, (rows,).

        Raises:
            ValueError: the round was not recorded, or there is no such measure.
        """
        if measure not in self.measures:
            raise ValueError(f"measure = {measure!r} is unknown; allowed: {', '.join(self.measures)}")
        index = int(np.searchsorted(self.rounds, round))
        if index == len(self.rounds) or self.rounds[index] != round:
            raise ValueError(f"round = {round} was not recorded; allowed: one of the sweep's record_at")
        return self.measures[measure][index]

    def by_query(self, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The queries (queries,), ascending, and the means of ``values`` (..., rows) over their runs (..., queries)."""
        queries = np.unique(self.query)
        return queries, np.stack([values[..., self.query == query].mean(axis=-1) for query in queries], axis=-1)


class Results:
    """What was played, by the labels of environment and agent: ``results["PBM", "toprank"]``."""

    def __init__(self, played: Iterable[Played]) -> None:
        self._played = {(one.environment, one.agent): one for one in played}

    def __getitem__(self, labels: tuple[str, str]) -> Played:
        if labels not in self._played:
            there = ", ".join(map(repr, self._played))
            raise KeyError(f"{labels} was not played; there are {there or 'no results'}")
        return self._played[labels]

    def __contains__(self, labels: object) -> bool:
        return labels in self._played

    def __iter__(self) -> Iterator[Played]:
        return iter(self._played.values())

    def __len__(self) -> int:
        return len(self._played)

    @property
    def environments(self) -> list[str]:
        """Labels, in the sweep's order."""
        return list(dict.fromkeys(environment for environment, _ in self._played))

    def agents(self, environment: str) -> list[str]:
        """Labels of those that have played ``environment``, in the sweep's order."""
        return [agent for played, agent in self._played if played == environment]


# -- as tables --------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], *, partial: bool = False) -> Any:
    """The results of a sweep as a tidy table: one line a row and recorded round.

    Args:
        path: the folder of a sweep (``rankgym sweep run --out``); or one Parquet file, a sweep's result or a table
            that was exported.
        partial: take what there is of a sweep that is not finished.

    Returns:
        A ``pyarrow.Table`` with the ``COLUMNS``; ``.to_pandas()`` and ``polars.from_arrow`` take it. Lines are in the
        order of the sweep: by environment, agent, row and round. Results of another version of the package count
        where there are none of this one.

    Raises:
        ValueError: there are no results at ``path``, some are missing (unless ``partial``), or one is damaged.
        RuntimeError: pyarrow is not installed.
    """
    path = Path(path)
    return _exported(path) if path.is_file() and not _is_result(path) else table(read(path, partial=partial))


def epochs(path: str | os.PathLike[str], *, partial: bool = False) -> Any:
    """The regret of each epoch as a tidy table with the ``EPOCH_COLUMNS``: one line a row and epoch.

    Environments without breakpoints have no lines. Arguments and errors are those of ``load``, but that an exported
    table has no epochs.
    """
    path = Path(path)
    if path.is_file() and not _is_result(path):
        raise ValueError(f"path = {os.fspath(path)!r} is an exported table; allowed: the folder of a sweep")
    return epoch_table(read(path, partial=partial))


def read(path: str | os.PathLike[str], *, partial: bool = False) -> Results:
    """The results at ``path`` by their labels. Arguments and errors are those of ``load``, but for exported tables."""
    from rankgym.experiments.plan.sweep import Sweep
    from rankgym.experiments.run import store

    path = Path(path)
    if path.is_file():
        return Results([store.read(path)])
    if (path / store.SWEEP).is_file():
        try:
            sweep = Sweep.from_json((path / store.SWEEP).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path / store.SWEEP} is damaged: {error}") from None
        return store.gather(sweep, path, partial=partial, any_version=True)
    files = sorted(path.glob("results/*.parquet")) or sorted(path.glob("*.parquet"))
    if not files:
        raise ValueError(f"path = {os.fspath(path)!r} has no results; allowed: the folder of a sweep, or a file of one")
    blocks: dict[tuple[Any, ...], list[Played]] = {}
    for file in files:
        if not _is_result(file):
            raise ValueError(f"{file} is no result of a sweep; allowed: a folder of results alone, or the file itself")
        block = store.read(file)
        blocks.setdefault((block.environment, block.agent), []).append(block)
    joined = []
    for (environment, agent), parts in blocks.items():
        rows = np.concatenate([part.row for part in parts])
        rounds = {tuple(part.rounds.tolist()) for part in parts}
        if len(np.unique(rows)) < len(rows) or len(rounds) > 1:
            raise ValueError(
                f"path = {os.fspath(path)!r} has several results of {agent!r} in {environment!r}, of other versions or "
                "other sweeps; allowed: the folder of one sweep, with its sweep.json"
            )
        joined.append(store.join(parts))
    return Results(joined)


def _is_result(path: Path) -> bool:
    """Whether a file is a sweep's result, and no other Parquet file.

    Raises:
        ValueError: it is no Parquet file.
    """
    try:
        return b"rankgym" in (require("pyarrow.parquet").read_schema(path).metadata or {})
    except _pyarrow().ArrowInvalid:
        raise ValueError(f"{path} is no Parquet file, or a damaged one; allowed: the folder of a sweep") from None


def _exported(path: Path) -> Any:
    """The table of a Parquet file that ``load``'s was exported to."""
    found = require("pyarrow.parquet").read_table(path)
    missing = [name for name in (*LABELS, "round") if name not in found.column_names]
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; allowed: a sweep's result, or an exported table")
    return found


def table(results: Iterable[Played]) -> Any:
    """``results`` as the tidy ``pyarrow.Table`` that ``load`` returns."""
    pyarrow = _pyarrow()
    played = list(results)
    parts = []
    for one in played:
        records = len(one.rounds)
        values = {"round": pyarrow.array(np.tile(one.rounds, len(one.row)))}
        for name in MEASURES:
            if name in one.measures:
                values[name] = pyarrow.array(one.measures[name].T.ravel(), from_pandas=True)  # NaN: null
        parts.append(_lines(pyarrow, one, records, values))
    return _joined(pyarrow, parts, [name for name in COLUMNS if name not in MEASURES or _measured(played, name)])


def epoch_table(results: Iterable[Played]) -> Any:
    """The epochs of ``results`` as the tidy ``pyarrow.Table`` that ``epochs`` returns."""
    pyarrow = _pyarrow()
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
    """Write a table as a Parquet file that is whole or not there."""
    from rankgym.outputs import atomic_path

    parquet = require("pyarrow.parquet")
    with atomic_path(path) as unfinished:
        parquet.write_table(table, unfinished, compression="zstd", write_page_checksum=True)


def _pyarrow() -> Any:
    return require("pyarrow")


def _measured(played: Iterable[Played], name: str) -> bool:
    return any(name in one.measures for one in played)


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
    whole = [
        pyarrow.table(
            [part[name] if name in part.column_names else pyarrow.nulls(len(part), kinds[name]) for name in columns],
            schema=schema,
        )
        for part in parts
    ]
    return pyarrow.concat_tables(whole).unify_dictionaries().combine_chunks()
