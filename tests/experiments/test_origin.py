"""Results say what made them: edited agents, click models and data are noticed, and nobody's code is run for it."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyarrow")
pytest.importorskip("filelock")
pytest.importorskip("joblib")

import rankgym_agents.toprank
from rankgym import data
from rankgym.experiments import Environment, Sweep, load, run_sweep
from rankgym.experiments.run.origin import made_by_other_code
from rankgym.experiments.run.status import sweep_status
from rankgym.experiments.run.tidy_tables import OtherCode
from rankgym.source import module_digest

ROOT = Path(__file__).resolve().parents[2]
MODEL = (ROOT / "examples" / "own_click_model.py").read_text(encoding="utf-8")
AGENT = """
import numpy as np

FIRST = 0

class Mine:
    def __init__(self, num_envs, num_items, num_positions):
        self.lists = np.tile((np.arange(num_positions) + FIRST) % num_items, (num_envs, 1))

    def act(self, observation):
        return self.lists

    def update(self, displayed, clicks):
        pass
"""
FITS = "query,item,position,attraction,examination\n" + "".join(
    f"q,{item},,{chance},\nq,,{number + 1},,{0.9 - 0.2 * number}\n"
    for number, (item, chance) in enumerate({"a": 0.9, "b": 0.5, "c": 0.1}.items())
)
OWN = ("package_of_origin", "model_of_origin")


def forget():
    """Forget the user's modules, as a new process would."""
    for name in [name for name in sys.modules if name.partition(".")[0] in OWN]:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The user's folder: an agent in a package, which another module re-exports, a click model, and fits."""
    place = tmp_path / "mine"
    (place / "package_of_origin").mkdir(parents=True)
    (place / "package_of_origin" / "__init__.py").write_text("from package_of_origin.agents import Mine\n")
    (place / "package_of_origin" / "agents.py").write_text(AGENT)
    (place / "model_of_origin.py").write_text(MODEL)
    monkeypatch.setenv("RANKGYM_DATA_HOME", str(tmp_path / "cache"))
    (tmp_path / "fits.csv").write_text(FITS)
    data.import_fits("fits_of_origin", tmp_path / "fits.csv")
    monkeypatch.syspath_prepend(str(place))
    forget()
    yield place
    forget()


SWEEP = Sweep(
    (
        Environment("own model", "PBM-Synthetic-v0", {"model": "model_of_origin:MODEL"}),
        Environment("own fits", "PBM-Yandex-v0", {"source": "fits_of_origin", "num_positions": 2}, agents=("static",)),
    ),
    ("package_of_origin:Mine", "toprank"),
    rounds=20,
    query=0,
)


@pytest.fixture
def played(mine, tmp_path):
    run_sweep(SWEEP, tmp_path / "out", jobs=1, progress=False)
    forget()
    return tmp_path / "out"


def edit(path, before, after):
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def refused(folder, words):
    """Reading warns with ``words``, and ``strict`` raises an error."""
    with pytest.warns(OtherCode, match=words):
        load(folder)
    with pytest.raises(ValueError, match=words):
        load(folder, strict=True)


def test_the_present_code_passes_and_nothing_of_the_user_s_is_imported(played):
    assert load(played, strict=True).num_rows
    assert sum(line.finished for line in sweep_status(played).agents) == 3
    assert not [name for name in sys.modules if name.partition(".")[0] in OWN]


def test_an_edited_agent_of_one_s_own(played, mine):
    edit(mine / "package_of_origin" / "agents.py", "FIRST = 0", "FIRST = 1")
    refused(
        played, r"1 of 3 results were made by other code of the agent package_of_origin:Mine: package_of_origin_Mine"
    )
    status = sweep_status(played)
    assert [line.finished for line in status.agents] == [0, 1, 1]
    assert status.others.older == (
        "1 older result in this folder was made by other code of the agent package_of_origin:Mine"
    )


def test_an_edited_click_model(played, mine):
    edit(mine / "model_of_origin.py", "import numpy as np\n", "import numpy as np\n\nEDITED = True\n")
    refused(played, "2 of 3 results were made by other code of the click model model_of_origin:MODEL")


def test_an_edited_agent_of_the_table(played, tmp_path, monkeypatch):
    """The results of what is installed are taken whenever they are there, whatever was played last."""
    original = rankgym_agents.toprank.__file__
    edited = tmp_path / "toprank.py"
    shutil.copy(original, edited)
    edit(edited, "C = 4 *", "C = 5 *")
    monkeypatch.setattr(rankgym_agents.toprank, "__file__", str(edited))
    refused(played, "1 of 3 results were made by other code of the agent toprank: toprank-rows-0-0-")

    (before,) = (played / "results").glob("toprank-*")
    monkeypatch.setattr("rankgym.source.inspect.getsourcefile", lambda one: sys.modules[one.__module__].__file__)
    run_sweep(SWEEP, played, jobs=1, progress=False)
    assert len(list((played / "results").glob("toprank-*"))) == 2
    assert load(played, strict=True).num_rows
    monkeypatch.setattr(rankgym_agents.toprank, "__file__", original)
    forget()
    os.utime(before, (1, 1))  # the oldest
    assert load(played, strict=True).num_rows
    assert [line.finished for line in sweep_status(played).agents] == [1, 1, 1]
    older = sweep_status(played).others.older
    assert older == "1 older result in this folder was made by other code of the agent toprank"


def test_changed_and_missing_data(played, tmp_path):
    (tmp_path / "fits.csv").write_text(FITS.replace("a,,0.9", "a,,0.8"))
    data.import_fits("fits_of_origin", tmp_path / "fits.csv")
    refused(played, "1 of 3 results were made by other data than 'fits_of_origin' has now")
    (tmp_path / "cache" / "fits" / "fits_of_origin.npz").unlink()
    refused(played, "1 of 3 results cannot be compared .* as the data 'fits_of_origin' are not found here: static-rows")


def test_a_module_that_is_not_there_is_said(played, mine):
    shutil.rmtree(mine / "package_of_origin")
    refused(played, r"1 of 3 results cannot be compared .* as module package_of_origin\.agents is not found here")
    assert sum(line.finished for line in sweep_status(played).agents) == 3


def test_the_code_of_a_script_is_compared_in_the_script_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"{AGENT}\nfrom rankgym.experiments import Environment, Sweep, load, run_sweep\n"
        "sweep = Sweep((Environment('', 'CM-Yandex-v0'),), (Mine,), rounds=9, query=0)\n"
        "run_sweep(sweep, 'out', jobs=1, progress=False)\n"
        "print(load('out', strict=True).num_rows)\n"
    )
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "agents")])}
    command = [sys.executable, "-W", "error", script]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    refused(tmp_path / "out", "1 of 1 results cannot be compared .* as the code was in a script")


def test_what_an_agent_says_of_its_files_is_compared_if_it_is_ours(played, monkeypatch):
    (path,) = (played / "results").glob("toprank-*")
    settings = {"class": "rankgym_agents.toprank:TopRank", "knobs": {}}

    def recorded(where):
        from rankgym.experiments.run.result_file import read_settings

        return read_settings(path) | settings | {"agent's code": {f"{where}.decided_by": "before"}}

    monkeypatch.setattr(rankgym_agents.toprank.TopRank, "decided_by", staticmethod(lambda: "now"), raising=False)
    for where, words in (
        ("rankgym_agents.toprank:TopRank", "were made by other code of the agent toprank"),
        ("somebody:Agent", "somebody:Agent.decided_by is code of your own, which is not run when results are read"),
    ):
        monkeypatch.setattr("rankgym.experiments.run.origin.read_settings", lambda _, where=where: recorded(where))
        assert words in made_by_other_code([path])


@given(st.text())
def test_any_text_may_be_the_name_of_a_module(name):
    found = module_digest(name)
    assert found is None or len(found) == 64


def test_reading_runs_no_package_on_the_way(mine):
    (mine / "package_of_origin" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    assert module_digest("package_of_origin.agents") is not None
    assert module_digest("package_of_origin.nothing") is None
    assert module_digest("package_of_origin") is not None
    assert json.dumps(sorted(set(sys.modules) & set(OWN))) == "[]"
