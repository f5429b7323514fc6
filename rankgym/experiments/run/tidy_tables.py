"""Results from files, and as tidy tables. Reading them imports neither agents nor environments."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from rankgym.arguments import named_keywords
from rankgym.data import DataError, fits
from rankgym.experiments.plan.digests import key_of
from rankgym.experiments.plan.jobs import RESULTS
from rankgym.experiments.run import store
from rankgym.experiments.run.origin import made_by_other_code
from rankgym.experiments.run.plan_file import label_in, read_plan
from rankgym.experiments.run.result_file import read_settings
from rankgym.experiments.run.results import Played, Results, join
from rankgym.extras import require
from rankgym.outputs import atomic_path, csv_cell

LABELS = {
    "environment": "label in the sweep (dictionary-encoded text)",
    "agent": "label, as typed (dictionary-encoded text)",
    "row": "number in the environment, from 0",
    "query": "the query, or the problem, that the row plays; 0 if the environment has neither",
    "run": "number of the run of its query, from 0",
}
MEASURES = {
    "regret": "cumulative expected regret",
    "violations": "rounds that violated the safety constraint so far (rankings)",
    "ndcg": "mean NDCG at the cutoff so far (rankings)",
    "accuracy": "1 where the agent's candidate is the best arm, 0 where not, null if the best arm is unknown (duels)",
    "reward": "cumulative reward; of a retired row it goes on with the expectation",
}
# The columns of ``load``, with their meaning; of measures, those that some result in the sweep has.
COLUMNS = {
    **LABELS,
    "round": "rounds played",
    **MEASURES,
    "settled_at": "rounds played when the row was retired, as its list could not change any more; null: never",
}
# The last column, if the queries of some result are of imported fits that are in the data cache.
NAMES = {"query_name": "the query's name in these fits; null without one (dictionary-encoded text)"}


class OtherCode(UserWarning):
    """Results were made by other versions, code or data than the present ones, or cannot be compared with them."""


@named_keywords
def load(path: str | os.PathLike[str], *, partial: bool = False, strict: bool = False) -> Any:
    """Read the results of a sweep as a tidy table: one line a row and recorded round.

    Args:
        path: the folder of a sweep (``rankgym sweep run --out``); or one Parquet file, a sweep's result or a table
            that was exported.
        partial: leave out what is missing of a sweep that is not finished.
        strict: refuse results that other versions, code or data than the present ones made, or that cannot be compared
            with them, as an agent's module is not found. Default: read them, with the warning ``OtherCode``. An
            exported table does not say what made it.

    Returns:
        A ``pyarrow.Table`` with the ``COLUMNS``, and with ``NAMES`` if queries have them; ``.to_pandas()`` and
        ``polars.from_arrow`` take it. Lines are in the order of the sweep: by environment, agent, row and round. If a
        job has several results, of edited code for example, the one of the present code is taken, or without it that of
        the last run.

    Raises:
        ValueError: ``path`` has no results, some are missing (unless ``partial``), one is damaged, or one is not from
            the present code (if ``strict``).
        RuntimeError: pyarrow is not installed.

    Examples:
        >>> import tempfile
        >>> from rankgym.experiments import Environment, Sweep, load, run_sweep
        >>> place = Environment("PBM", "PBM-Yandex-v0", {"num_positions": 3})
        >>> sweep = Sweep((place,), ("static", "random"), rounds=50, runs=2, query=[0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = run_sweep(sweep, folder, jobs=1, progress=False)
        ...     table = load(folder)
        >>> last = table.to_pandas().query("round == 50")
        >>> len(last), sorted(last.agent.unique())
        (8, ['random', 'static'])
    """
    path = Path(path)
    exported = _exported(path) if path.is_file() else None
    return exported if exported is not None else table(_checked(path, partial, strict))


@named_keywords
def read(path: str | os.PathLike[str], *, partial: bool = False, strict: bool = False) -> Results:
    """The results at ``path`` by their labels. Arguments and errors are those of ``load``, but for exported tables.

    Returns:
        The ``Results``, by the labels of environment and agent.

    Examples:
        >>> import tempfile
        >>> from rankgym.experiments import Environment, Sweep, read, run_sweep
        >>> place = Environment("PBM", "PBM-Yandex-v0", {"num_positions": 3})
        >>> sweep = Sweep((place,), ("static", "random"), rounds=50, runs=2, query=[0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = run_sweep(sweep, folder, jobs=1, progress=False)
        ...     played = read(folder)["PBM", "random"]
        >>> played.at("regret", 50).shape, played.query.tolist(), played.run.tolist()
        ((4,), [0, 1, 0, 1], [0, 0, 1, 1])
    """
    return _checked(Path(path), partial, strict)


def _checked(path: Path, partial: bool, strict: bool) -> Results:
    """Read results; if other code made some, warn where ``load`` or ``read`` was called; ``strict``: a ValueError."""
    results, other_code = read_with_origin(path, partial=partial)
    advice = _advice(path, other_code)
    if other_code and strict:
        raise ValueError(f"{other_code}; allowed by strict: results of what is here now{advice}")
    if other_code:
        warnings.warn(f"{other_code}{advice}; strict=True refuses them", OtherCode, stacklevel=4)
    return results


def _advice(path: Path, other_code: str) -> str:
    """Say what to do about results of other code; nothing about those that only cannot be compared."""
    again = path.is_dir() and " were made by " in other_code
    return f". `rankgym sweep resume {path}` plays them again with what is installed" if again else ""


def read_with_origin(path: Path, *, partial: bool = False) -> tuple[Results, str]:
    """Read the results at ``path``, and say which of them other versions or other code made; "" if none was."""
    if path.is_file():
        return Results([store.read(path)]), made_by_other_code([path])
    plan = read_plan(path)
    if plan is not None:
        chosen = store.files_of(path, plan.jobs, partial=partial, any_version=True)
        return store.join_files(chosen), made_by_other_code([file for _, file in chosen])
    files = _result_files(path)
    if not files:
        raise ValueError(f"path = {os.fspath(path)!r} has no results; allowed: the folder of a sweep, or a file of one")
    blocks: dict[tuple[str, str], list[Played]] = {}
    for block in map(store.read, files):
        blocks.setdefault((block.environment, block.agent), []).append(block)
    for (environment, agent), parts in blocks.items():
        rows = np.concatenate([part.row for part in parts])
        rounds = {tuple(part.rounds.tolist()) for part in parts}
        if len(np.unique(rows)) < len(rows) or len(rounds) > 1:
            raise ValueError(
                f"path = {os.fspath(path)!r} has several results of {agent!r} in {environment!r}, of other versions or "
                "other sweeps; allowed: the folder of one sweep, with its plan.json"
            )
    return Results(map(join, blocks.values())), made_by_other_code(files)


def uneven_rows(results: Results) -> list[str]:
    """Say in which environments the agents have different rows, as in an unfinished sweep."""
    said = []
    for environment in results.environments:
        rows = {agent: results[environment, agent].row for agent in results.agents(environment)}
        first = next(iter(rows.values()))
        if not all(np.array_equal(one, first) for one in rows.values()):
            counts = ", ".join(f"{agent} {len(one):,}" for agent, one in rows.items())
            said.append(f"in {environment} the agents' means are over different rows: {counts}")
    return said


def for_spreadsheets(tidy: Any) -> Any:
    """Return a tidy table with text in place of dictionaries, in which no spreadsheet finds a formula."""
    arrow = require("pyarrow")
    columns = {}
    for name in tidy.column_names:
        column = tidy[name]
        if arrow.types.is_dictionary(column.type):
            column = column.combine_chunks()
            names = arrow.array([csv_cell(text) for text in column.dictionary.to_pylist()], arrow.string())
            column = names.take(column.indices)
        columns[name] = column
    return arrow.table(columns)


def provenance(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings of the results at ``path`` by environment, and the versions that made them, both to be shown.

    Raises ValueError if a result is damaged.
    """
    plan = None if path.is_file() else read_plan(path)
    if plan is not None:
        chosen = store.files_of(path, plan.jobs, partial=True, any_version=True)
        found = [(job.environment, read_settings(file)) for job, file in chosen]
    else:
        files = [path] if path.is_file() else _result_files(path)
        found = [(label_in(settings), settings) for settings in map(read_settings, files)]
    environments: dict[str, Any] = {}
    versions: dict[str, list[str]] = {}
    for label, settings in found:
        one = {"id": settings["environment"], "arguments": settings["arguments"], "seed": settings["seed"]}
        one |= {"rounds": settings["rounds"], "retire": settings["retire"], "agents": {}}
        environments.setdefault(label, one)["agents"][settings["agent"]] = settings["knobs"]
        for name, version in settings["versions"].items():
            versions[name] = list(dict.fromkeys([*versions.get(name, []), version]))
    return {"environments": environments}, {name: " and ".join(those) for name, those in versions.items()}


def origin(path: Path, results: Results) -> str:
    """Say in a line what made the ``results`` at ``path``: the version, a digest of the sweep, and how many runs.

    The digest covers all that decides the numbers: settings, seeds, versions, code and data of each job. Raises
    ValueError if a result is damaged.
    """
    plan = None if path.is_file() else read_plan(path)
    if plan is not None:
        files = [file for _, file in store.files_of(path, plan.jobs, partial=True, any_version=True)]
    else:
        files = [path] if path.is_file() else _result_files(path)
    settings = [read_settings(file) for file in files]
    versions = " and ".join(dict.fromkeys(one["versions"]["rankgym"] for one in settings))
    digest = key_of({"jobs": sorted(one["key"] for one in settings)})
    runs = sorted({int(one.run.max()) + 1 for one in results})
    many = " to ".join(f"{number:,}" for number in dict.fromkeys((runs[0], runs[-1])))
    each = "run" if runs[-1] == 1 else "runs"
    return f"rankgym {versions}, sweep {digest}, {many} {each} of each query or problem"


def _result_files(folder: Path) -> list[Path]:
    """Return the result files of a folder without a plan: a sweep's, or one with nothing but such files."""
    return sorted(folder.glob(f"{RESULTS}/*.parquet")) or sorted(folder.glob("*.parquet"))


def _exported(path: Path) -> Any:
    """Read a table that was exported to a Parquet file; None if the file is a sweep's result."""
    parquet = require("pyarrow.parquet")
    try:
        schema = parquet.read_schema(path)
    except (require("pyarrow").ArrowInvalid, OSError):
        raise ValueError(f"{path} is damaged, or not a Parquet file; allowed: the folder of a sweep") from None
    if b"rankgym" in (schema.metadata or {}):
        return None
    missing = [name for name in (*LABELS, "round") if name not in schema.names]
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; allowed: a sweep's result, or an exported table")
    return parquet.read_table(path)


def table(results: Iterable[Played]) -> Any:
    """Make of ``results`` the tidy ``pyarrow.Table`` that ``load`` returns."""
    pyarrow = require("pyarrow")
    played = list(results)
    measured = {name for one in played for name in one.measures}
    types = {name: pyarrow.float64() if name in MEASURES else pyarrow.int64() for name in COLUMNS}
    texts = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    types |= dict.fromkeys(("environment", "agent"), texts)
    columns = [(name, types[name]) for name in COLUMNS if name not in MEASURES or name in measured]
    columns += [(name, texts) for name in NAMES if any(map(query_names, played))]
    schema = pyarrow.schema(columns)
    parts = [pyarrow.table([_column(one, field) for field in schema], schema=schema) for one in played]
    return pyarrow.concat_tables(parts).unify_dictionaries().combine_chunks() if parts else schema.empty_table()


def query_names(played: Played) -> list[str]:
    """Return the queries' names in the imported fits that ``played`` was played with; [] if there are none here."""
    source = played.env_kwargs.get("source")
    if source not in played.data or source not in fits.fits_names():
        return []
    try:
        same = fits.fits_digest(source) == played.data[source]
    except DataError:
        return []
    return [str(name) for name in fits.load_fits(source).query] if same else []


def _column(played: Played, field: Any) -> Any:
    """A column of a table with a line for each row and recorded round; null where ``played`` has no such measure."""
    pyarrow, records, rows = require("pyarrow"), len(played.rounds), len(played.row)
    if field.name in ("environment", "agent"):
        places = pyarrow.array(np.zeros(rows * records, np.int32))
        return pyarrow.DictionaryArray.from_arrays(places, [getattr(played, field.name)])
    if field.name == "query_name":
        names = query_names(played)
        places = np.repeat(played.query.astype(np.int32), records)
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(places, mask=np.full(len(places), not names)), names or [""]
        )
    if field.name == "round":
        return pyarrow.array(np.tile(played.rounds, rows))
    if field.name in MEASURES:
        values = played.measures.get(field.name, np.full((records, rows), np.nan))
        return pyarrow.array(values.T.ravel(), from_pandas=True)  # NaN: null
    numbers = np.repeat(getattr(played, field.name), records)
    return pyarrow.array(numbers, mask=numbers < 0 if field.name == "settled_at" else None)


def write_table(table: Any, path: Path) -> None:
    """Write a table as a Parquet file, atomically."""
    parquet = require("pyarrow.parquet")
    with atomic_path(path) as unfinished:
        parquet.write_table(table, unfinished, compression="zstd", write_page_checksum=True)
