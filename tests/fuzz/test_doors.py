"""A few inputs for each door of ``tests/fuzz``; ``fuzz.py`` runs many."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzzing

INPUTS = 60
DOORS = fuzzing.all_doors()
sys.path.pop(0)


@pytest.fixture(scope="module", autouse=True)
def folder():
    with fuzzing.own_folder() as found:
        yield found


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.filterwarnings("ignore")
def test_only_documented_errors_and_nothing_runs(name, folder):
    for number in range(INPUTS):
        given = fuzzing.input_of(DOORS[name], name, 0, number)
        found = fuzzing.try_input(DOORS[name], given, folder)
        assert not found.wrong, f"fuzz.py --door {name} --seed 0 --only {number}: {found.kind}\n{found.text}"


def test_what_is_wrong_is_noticed(folder):
    """Doors that run code, write elsewhere or raise something else are reported as such."""
    import subprocess

    cases = {
        "RAN": [
            lambda _: subprocess.run([sys.executable, "--version"], capture_output=True, check=True),
            lambda _: __import__(fuzzing.TRAP),
            lambda _: eval(f"{fuzzing.TRAP!r}"),
            lambda _: (folder.parent / "rankgym_fuzz").write_text(""),
        ],
        "UNDOCUMENTED KeyError": [lambda _: {}["x"]],
        "ValueError": [lambda _: int("x")],
        "accepted": [lambda _: (folder / "x").write_text("")],
    }
    try:
        for kind, uses in cases.items():
            for use in uses:
                found = fuzzing.try_input(fuzzing.Door(lambda rng: None, use), None, folder)
                assert found.kind.startswith(kind), found
                assert found.wrong == kind.startswith(("RAN", "UNDOC"))
    finally:
        (folder.parent / "rankgym_fuzz").unlink(missing_ok=True)
