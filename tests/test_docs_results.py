"""What docs/results.md shows works as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from rankgym import DuelingHistory, History

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def test_its_python_runs(tmp_path):
    """As a script, whose classes are those of a prompt."""
    text = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)).replace("10_000", "300")
    (tmp_path / "shown.py").write_text(f"{text}\nprint([line.get_label() for line in found.plot().lines])")
    command = [sys.executable, "-W", "error", "shown.py"]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "agents")])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "['toprank', 'bubblerank', 'cascade-kl-ucb', 'ClickCounter']" in done.stdout
    assert {"toprank.npz", "regret.pdf"} <= {path.name for path in tmp_path.iterdir()}


def test_its_table_has_every_field():
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, flags=re.M)) == {*History._fields, *DuelingHistory._fields}
