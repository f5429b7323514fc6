"""What docs/off_policy.md shows works as it stands."""

import re
from pathlib import Path

from rankgym.logs.evaluation import METHODS
from rankgym.logs.policies import POLICIES
from rankgym.logs.simulating.writing import plain_columns

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "off_policy.md").read_text(encoding="utf-8")


def test_its_python_runs(capsys):
    text = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)).replace("100_000", "3_000")
    exec(compile(text, "off_policy.md", "exec"), {})
    said = capsys.readouterr().out.split()
    assert {*METHODS, "true"} <= set(said)


def test_its_tables_have_every_policy_method_and_column():
    for name in (*POLICIES, *METHODS):
        assert re.search(rf"^\| `{name}[:`]", TEXT, flags=re.M), name
    for column in plain_columns(1):
        assert re.search(rf"^\| `{column}`", TEXT, flags=re.M), column
