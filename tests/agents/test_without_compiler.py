"""What agents display is the same where kernels are not compiled: in one process for all, each module's ``shown()``."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankgym_agents import DUELERS, RANKERS

MODULES = (
    "agent_oracles",
    "test_batchrank",
    "test_bayes",
    "test_dueling_base",
    "test_glrt_cascade",
    "test_pb_mhb",
    "test_pbm_pie",
    "test_pbm_ts",
    "test_pbm_ucb",
    "test_ranked_exp3",
    "test_thompson_cascade",
)


@pytest.fixture(scope="module")
def uncompiled():
    paths = [Path(__file__).parent, *map(Path, sys.path)]
    imports = "import importlib, json; shown = lambda name: importlib.import_module(name).shown()"
    found = subprocess.run(
        [sys.executable, "-c", f"{imports}; print(json.dumps({{name: shown(name) for name in {MODULES}}}))"],
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join(str(path.resolve()) for path in paths),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.parametrize("module", MODULES)
def test_the_same_without_the_compiler(uncompiled, module):
    assert uncompiled[module] == importlib.import_module(module).shown()


def test_agents_are_told_apart(uncompiled):
    duels = uncompiled["test_dueling_base"]
    lists = {key: digest for key, digest in uncompiled["agent_oracles"].items() if not key.endswith(" 10 5")}
    alike = [lists.pop(f"batchrank {shape}") == lists[f"random {shape}"] for shape in ("7 3", "5 5")]
    assert all(alike)  # BatchRank is sure of nothing yet, and shuffles everything by the same words
    assert len(set(lists.values())) == len(lists) == 2 * len(RANKERS) - 2
    assert len({digest for key, digest in duels.items() if not key.endswith(" 1")}) == 2 * len(DUELERS)
    assert len({digest for key, digest in duels.items() if key.endswith(" 1")}) == 1  # there is but one duel
