"""Make the tutorials' notebooks: read each script, run its cells, and write the notebook with its outputs beside it.

The scripts (percent format) are the source: edit them, then run this. Cells are numbered and times are not kept, so the
same libraries on the same machine give the same files. Needs jupytext, nbclient, ipykernel and matplotlib.

python examples/tutorials/make_notebooks.py                       # all
python examples/tutorials/make_notebooks.py 01_first_steps.py     # one
"""

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
SCRIPTS = sorted(HERE.glob("[0-9]*.py"))
PLATFORM = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_SECONDS = 600  # a cell that takes longer is stopped


def read(script, **parameters):
    """Return the notebook of ``script`` without outputs; ``parameters`` replace the values of its parameters' cell.

    Raises:
        ValueError: the cell with the tag "parameters" has no line for one of them.
    """
    notebook = nbformat.from_dict(jupytext.read(script, fmt="py:percent"))
    notebook.metadata = nbformat.from_dict(PLATFORM)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
        kept_keys = {key: cell.metadata[key] for key in ("tags", "jupyter") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(kept_keys)
    for name, value in parameters.items():
        cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
        given = [cell for cell in cells if re.search(rf"(?m)^{name} = ", cell.source)]
        if not given:
            raise ValueError(f"{name} is not a parameter of {script.name}; allowed: a name in its cell of parameters")
        given[0].source = re.sub(rf"(?m)^{name} = \S+", f"{name} = {value!r}", given[0].source)
    return notebook


def execute(notebook, on_cell=None):
    """Run the cells of ``notebook`` in a temporary folder, and keep outputs that do not depend on time or machine.

    ``on_cell(number)`` is called before each cell.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            on_cell_start=lambda cell, cell_index: on_cell and on_cell(cell_index),
        )
        inline = "module://matplotlib_inline.backend_inline"  # a backend set outside would draw nothing here
        client.execute(env={**os.environ, "MPLBACKEND": inline})
    notebook.metadata = nbformat.from_dict(PLATFORM)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = kept(cell.outputs)
    return notebook


def kept(outputs):
    """Return ``outputs`` without warnings, with printed text in one piece: a kernel cuts it where time runs out."""
    joined = []
    for output in outputs:
        if output.output_type != "stream":
            joined.append(output)
        elif output.name == "stdout" and joined and joined[-1].output_type == "stream":
            joined[-1].text += output.text
        elif output.name == "stdout":
            joined.append(output)
    return joined


def write(notebook, path):
    """Write ``notebook`` as JSON, after a check of its form."""
    nbformat.validate(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help=f"of {', '.join(path.name for path in SCRIPTS)} (default: all)")
    given = parser.parse_args()
    by_name = {path.name: path for path in SCRIPTS}
    names = [Path(script).name for script in given.scripts] or list(by_name)
    for name in names:
        if name not in by_name:
            parser.error(f"{name} is not a tutorial; allowed: {', '.join(by_name)}")
    return [by_name[name] for name in names]


def main():
    for script in arguments():
        notebook, began = read(script), time.monotonic()
        cells = len(notebook.cells)
        execute(notebook, lambda number: print(f"\r{script.name}: cell {number + 1} of {cells}", end="", flush=True))  # noqa: B023
        target = script.with_suffix(".ipynb")
        write(notebook, target)
        print(f"\r{target.name}: {cells} cells, {target.stat().st_size / 1e3:.0f} kB, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
