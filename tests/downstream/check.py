"""Give ``project.py`` to mypy and pyright, copied out of the checkout: both must find its marked lines, and no others.

    python tests/downstream/check.py

pyright is a Node.js program, which the package of this name downloads; where it cannot, that is said, and mypy decides.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).with_name("project.py")
# What the project does not use: mypy would read it for as long as all the rest.
UNUSED = "torch.*,matplotlib.*,IPython.*,hypothesis.*,pytest.*,_pytest.*"


def run(folder, *words):
    return subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True)


def found_by_mypy(folder):
    (Path(folder) / "mypy.ini").write_text(f"[mypy]\n[mypy-{UNUSED}]\nfollow_imports = skip\n")
    said = run(folder, "mypy", "--strict", "--no-error-summary", PROJECT.name)
    found = re.findall(rf"^{PROJECT.name}:(\d+): error", said.stdout, flags=re.M)
    assert found or not said.returncode, said.stdout + said.stderr
    return {int(line) for line in found}, said.stdout


def found_by_pyright(folder):
    said = run(folder, "pyright", "--pythonpath", sys.executable, "--outputjson", PROJECT.name)
    try:
        report = json.loads(said.stdout)
    except ValueError:
        print(f"pyright does not start here, so mypy decides alone: {(said.stderr or said.stdout).strip()[-300:]}")
        return None, ""
    errors = [one for one in report["generalDiagnostics"] if one["severity"] == "error"]
    return {one["range"]["start"]["line"] + 1 for one in errors}, "\n".join(one["message"] for one in errors)


def main():
    marked = {n for n, line in enumerate(PROJECT.read_text().splitlines(), 1) if line.endswith("# error")}
    assert marked, "no line is marked"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PROJECT, folder)
        for checker in (found_by_mypy, found_by_pyright):
            found, said = checker(folder)
            if found is not None:
                assert found == marked, f"{checker.__name__}: lines {sorted(found ^ marked)} differ\n{said}"
                print(f"{checker.__name__.removeprefix('found_by_')}: {len(found)} planted errors found, no others")


if __name__ == "__main__":
    main()
