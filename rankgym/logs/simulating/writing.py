"""Write the sessions of a simulation in the formats of click logs, a block at a time."""

import gzip
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of
from rankgym.extras import require
from rankgym.logs.simulating.minari_sets import write_minari
from rankgym.logs.simulating.playing import Block, Simulation
from rankgym.outputs import atomic_path, versions
from rankgym.progress import late_bar, rate_bar

Write = Callable[[Block], None]

PLAIN_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")
GZIP_LEVEL = 4  # about 3 % larger than the highest, in a quarter of the time
REGION, DAY = "0", "1"  # of all sessions of the two Yandex formats


class Opens(Protocol):
    """Opens a file for the sessions of a simulation, to be closed by ``stack``; returns the function that writes."""

    def __call__(self, simulation: Simulation, out: Path, path: Path, stack: ExitStack) -> Write: ...


def write_log(
    simulation: Simulation,
    out: Path | str,
    format: str = "plain",
    *,
    overwrite: bool = False,
    progress: bool | Callable[[int], None] = True,
) -> None:
    """Play a simulation and write its log; the file appears when it is complete.

    Args:
        simulation: not played yet.
        out: the file; of ``"minari"``, the id of the data set, such as ``"rankgym/pbm-random-v0"``.
        format: ``"plain"``: a table with the columns session, query, item_1 .. item_K, click_1 .. click_K, propensity,
            propensity_1 .. propensity_K, prefix_propensity_1 .. prefix_propensity_K, as CSV, TSV or Parquet by the
            name's end. ``"relevance"`` and ``"personalised"``: the text formats of the Yandex logs of 2011 and 2013,
            compressed if the name ends in .gz; they have no propensities. ``"minari"``: a Minari data set.
        overwrite: replace what ``out`` names.
        progress: whether to show a bar if it takes more than two seconds, or a function that gets numbers of sessions.

    Raises:
        ValueError: ``out`` exists, or its name does not suit the format.
        RuntimeError: a library is missing; the message says which extra has it.

    Examples:
        >>> import pathlib, tempfile
        >>> from rankgym.logs.simulating import Simulation, write_log
        >>> simulation = Simulation("rankgym/CM-Yandex-v0", 3, "static", query=0, num_positions=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     write_log(simulation, path)
        ...     lines = path.read_text().split()
        >>> lines[0].split(",")[:7], len(lines)
        (['session', 'query', 'item_1', 'item_2', 'click_1', 'click_2', 'propensity'], 4)
    """
    one_of("format", format, FORMATS)
    bar = late_bar(progress, simulation.sessions, "simulate", lambda: rate_bar("sessions"))
    if format == "minari":
        write_minari(simulation, str(out), overwrite, bar)
        return
    out = Path(out)
    if format == "plain" and not out.name.lower().endswith(PLAIN_SUFFIXES):
        raise ValueError(
            f"out = {str(out)!r} does not say its format; allowed: a name with {', '.join(PLAIN_SUFFIXES)}"
        )
    if out.exists() and (not overwrite or not out.is_file()):
        allowed = "another file" if not out.is_file() else "another file, or overwrite"
        raise ValueError(f"out = {str(out)!r} exists; allowed: {allowed}")
    with atomic_path(out) as path, ExitStack() as stack:
        write = OPENS[format](simulation, out, path, stack)
        report = stack.enter_context(bar)
        for block in simulation.blocks():
            write(block)
            report(len(block.query))


# ---- the plain table ----


def plain_columns(positions: int) -> list[str]:
    """Return the names of the plain table's columns."""
    names = ["session", "query"]
    names += [f"item_{k}" for k in range(1, positions + 1)] + [f"click_{k}" for k in range(1, positions + 1)]
    names += ["propensity", *(f"propensity_{k}" for k in range(1, positions + 1))]
    return names + [f"prefix_propensity_{k}" for k in range(1, positions + 1)]


def open_plain(simulation: Simulation, out: Path, path: Path, stack: ExitStack) -> Write:
    """Write a table by the end of the name ``out``; Parquet files say in their metadata what made them."""
    pa = require("pyarrow")
    kinds = {"session": pa.int64(), "query": pa.string(), "item": pa.string(), "click": pa.int8()}
    columns = plain_columns(simulation.num_positions)
    fields = [pa.field(name, kinds.get(name.rpartition("_")[0] or name, pa.float64())) for name in columns]
    name = out.name.lower()
    if name.endswith(".parquet"):
        made = json.dumps({**simulation.description, "versions": versions()}, default=str)
        schema = pa.schema(fields, metadata={"rankgym": made})
        writer = stack.enter_context(require("pyarrow.parquet").ParquetWriter(path, schema))
    else:
        schema = pa.schema(fields)
        file = _opened(out, path, stack)
        delimiter = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
        every = [*simulation.query_labels.tolist(), *simulation.item_labels.ravel().tolist()]
        special = any(letter in label for label in every for letter in (delimiter, '"', "\n", "\r"))
        csv = require("pyarrow.csv")
        style = "needed" if special else "none"
        options = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
        file.write(f"{delimiter.join(columns)}\n".encode())
        writer = stack.enter_context(csv.CSVWriter(file, schema, write_options=options))
    labels = _Labels(simulation, pa)

    def write(block: Block) -> None:
        writer.write_table(pa.Table.from_arrays(list(_plain_arrays(block, labels, pa)), schema=schema))

    return write


def _opened(out: Path, path: Path, stack: ExitStack) -> IO[bytes]:
    """Open ``path`` for writing, compressed if the name ``out`` ends in .gz; equal logs are equal files."""
    file = stack.enter_context(path.open("wb"))
    if not out.name.lower().endswith(".gz"):
        return file
    return cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)))


class _Labels:
    """The labels of queries and items as columns of text."""

    def __init__(self, simulation: Simulation, pa: Any) -> None:
        self._items = simulation.item_labels.shape[1]
        same = bool((simulation.item_labels == simulation.item_labels[:1]).all())
        self._per_query = 0 if same else self._items
        flat = simulation.item_labels[:1] if same else simulation.item_labels
        self._query = pa.array(simulation.query_labels.tolist(), pa.string())
        self._item = pa.array(flat.ravel().tolist(), pa.string())

    def query(self, block: Block) -> Any:
        return self._query.take(_indices(block.query))

    def item(self, block: Block, position: int) -> Any:
        return self._item.take(_indices(block.query * self._per_query + block.displayed[:, position]))


def _indices(numbers: NDArray[np.int64]) -> Any:
    return require("pyarrow").array(np.ascontiguousarray(numbers))


def _plain_arrays(block: Block, labels: _Labels, pa: Any) -> Any:
    sessions, positions = block.displayed.shape
    yield pa.array(np.arange(block.first, block.first + sessions))
    yield labels.query(block)
    yield from (labels.item(block, k) for k in range(positions))
    yield from (pa.array(block.clicks[:, k].copy()) for k in range(positions))
    unknown = pa.nulls(sessions, pa.float64())
    yield unknown if block.propensity is None else pa.array(block.propensity)
    for table in (block.item_propensity, block.prefix_propensity):
        yield from (unknown if table is None else pa.array(table[:, k].copy()) for k in range(positions))


# ---- the two Yandex formats ----


def open_relevance(simulation: Simulation, out: Path, path: Path, stack: ExitStack) -> Write:
    """Lines ``session 0 Q query region item_1 ... item_K`` and, for a click at position k, ``session k C item``."""
    pa = require("pyarrow")
    _check_labels(simulation, "\t\r\n")
    labels, write = _Labels(simulation, pa), _open_text(out, path, stack)

    def write_block(block: Block) -> None:
        session, items = _numbers(block), _items(block, labels)
        shown = _joined([session, "0", "Q", labels.query(block), REGION, *items])
        write([shown, *_clicks(block, lambda k: [session, str(k + 1), "C", items[k]])])

    return write_block


def open_personalised(simulation: Simulation, out: Path, path: Path, stack: ExitStack) -> Write:
    """Lines ``session M day user``, ``session 0 Q serp query terms item,domain ...`` and ``session k C serp item``.

    Every session has a user of its own, one query, and one result page. A query's only term is its own label, and an
    item's domain the item's label.
    """
    pa = require("pyarrow")
    _check_labels(simulation, "\t\r\n,")
    labels, write = _Labels(simulation, pa), _open_text(out, path, stack)

    def write_block(block: Block) -> None:
        session, query, items = _numbers(block), labels.query(block), _items(block, labels)
        began = _joined([session, "M", DAY, session])
        shown = _joined([session, "0", "Q", "0", query, query, *(_joined([item, item], ",") for item in items)])
        write([began, shown, *_clicks(block, lambda k: [session, str(k + 1), "C", "0", items[k]])])

    return write_block


def _check_labels(simulation: Simulation, separators: str) -> None:
    """Raise a ValueError if a label has a character that separates fields or lines."""
    for label in (*simulation.query_labels.tolist(), *simulation.item_labels.ravel().tolist()):
        if any(separator in label for separator in separators):
            raise ValueError(f"label {label!r} has a separator of this format; allowed: the format 'plain'")


def _open_text(out: Path, path: Path, stack: ExitStack) -> Callable[[list[Any]], None]:
    """Return a function that writes the lines of sessions: a list of columns, null where a session lacks the line."""
    file = _opened(out, path, stack)

    def write(lines: list[Any]) -> None:
        text = _joined([*lines, ""], "\n", null_handling="skip")
        # all texts lie one after the other in the column's buffer
        _, offsets, characters = text.buffers()
        ends = np.frombuffer(offsets, np.int32)
        file.write(characters.slice(int(ends[0]), int(ends[len(text)] - ends[0])))

    return write


def _joined(columns: list[Any], separator: str = "\t", null_handling: str = "emit_null") -> Any:
    pc = require("pyarrow.compute")
    return pc.binary_join_element_wise(*columns, separator, null_handling=null_handling)


def _numbers(block: Block) -> Any:
    pa = require("pyarrow")
    return pa.array(np.arange(block.first, block.first + len(block.query))).cast(pa.string())


def _items(block: Block, labels: "_Labels") -> list[Any]:
    return [labels.item(block, k) for k in range(block.displayed.shape[1])]


def _clicks(block: Block, fields: Callable[[int], list[Any]]) -> list[Any]:
    """Return a column of lines for each position, null where there is no click."""
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    marks = (pa.array(block.clicks[:, k] != 0) for k in range(block.clicks.shape[1]))
    return [pc.if_else(mark, _joined(fields(k)), pa.scalar(None, pa.string())) for k, mark in enumerate(marks)]


OPENS: dict[str, Opens] = {"plain": open_plain, "relevance": open_relevance, "personalised": open_personalised}
FORMATS = (*OPENS, "minari")
