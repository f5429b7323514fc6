"""Parts of one's own on the command line: click models, JSON files, and modules beside a sweep's file."""

import importlib
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgym
from rankgym.commands.options import assignments
from rankgym.experiments.plan.json_files import from_json_file, with_files_read
from rankgym.experiments.plan.sweep import Sweep

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "own_click_model.py"
PARAMETERS = {"attraction": [0.9, 0.5, 0.1], "examination": [0.9, 0.4], "exhaustive": 0.2}

pytestmark = pytest.mark.usefixtures("quick_figures")


def said(result):
    return " ".join(result.output.split())


@pytest.fixture
def here(run, tmp_path):
    """The present folder, with the example's click model under another name, and its parameters."""
    shutil.copy(EXAMPLE, tmp_path / "model_here.py")
    (tmp_path / "parameters.json").write_text(json.dumps(PARAMETERS))
    yield tmp_path
    sys.modules.pop("model_here", None)


SET = ("--set", "model=model_here:MODEL", "--set", "parameters=@parameters.json", "--positions", "2")


def test_compare_and_assumptions_take_a_model_of_the_present_folder(run, here):
    words = ("compare", "PBM-Synthetic-v0", *SET, "--agents", "static,toprank", "--rounds", "50", "--jobs", "1")
    result = run(*words, "--out", "results")
    assert result.exit_code == 0, result.output
    document = json.loads((here / "results" / "compare.json").read_text())
    assert "model_here:MODEL" in json.dumps(document)
    result = run("assumptions", "PBM-Synthetic-v0", *SET)
    assert result.exit_code == 0, result.output
    assert "TwoKinds" in result.output


def test_the_agent_of_the_documentation_keeps_the_contract(tmp_path, monkeypatch):
    code = re.search(r"## An agent\n.*?```python\n(.*?)```", (ROOT / "docs" / "own_parts.md").read_text("utf-8"), re.S)[
        1
    ]
    (tmp_path / "documented_agent.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    rankgym.check_agent(importlib.import_module("documented_agent").ClickCounter, rounds=20)
    del sys.modules["documented_agent"]


def test_a_sweep_finds_modules_beside_its_file(run, here, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    (here / "sweep.toml").write_text(
        'rounds = 30\nagents = ["toprank"]\nquery = [0]\n'
        '[[environments]]\nid = "PBM-Synthetic-v0"\nmodel = "model_here:MODEL"\n'
    )
    result = run("sweep", "run", str(here / "sweep.toml"), "--jobs", "2", "--out", "out")
    assert result.exit_code == 0, result.output
    assert "All 1 jobs are finished" in result.output


def test_a_model_that_is_not_there_is_named(run):
    result = run("compare", "PBM-Synthetic-v0", "--set", "model=model_nowhere:MODEL", "--agents", "static")
    assert result.exit_code == 2
    assert "error: model = 'model_nowhere:MODEL': there is no module 'model_nowhere'" in said(result)


# -- KEY=@FILE --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", None, "--set parameters: 'x.json' cannot be read: No such file or directory; allowed: @FILE with"),
        ("parameter.json", None, "did you mean 'parameters.json'? allowed: @FILE"),
        ("x.json", b'{"attraction": [0.5,\n 0.4,\n]}', "--set parameters: x.json, line 3, column 1: not JSON: "),
        ("x.json", b"\xff\xfe", "--set parameters: x.json is not UTF-8 text"),
        ("x.json", b"[" * 100_000, "--set parameters: x.json is nested too deeply"),
        ("", None, "--set parameters: there is no name of a file after @; allowed: @FILE"),
        ("x.json", b"[1, 2]", "parameters = [1, 2] is not a dict"),
    ],
)
def test_a_json_file_that_cannot_be_used_is_named(run, here, name, content, message):
    if content is not None:
        (here / name).write_bytes(content)
    result = run("compare", "PBM-Synthetic-v0", "--set", f"parameters=@{name}", "--agents", "static")
    assert result.exit_code == 2
    assert message in said(result)


def write_sweep(folder, argument):
    (folder / "sweep.toml").write_text(
        'rounds = 30\nagents = ["static"]\n[[environments]]\nid = "PBM-Synthetic-v0"\nnum_positions = 2\n'
        f'model = "model_here:MODEL"\n{argument}\n'
    )


@pytest.mark.parametrize("form", ['parameters = "@parameters.json"', 'arguments.parameters = "@parameters.json"'])
def test_a_sweeps_file_names_json_files_beside_it(run, here, tmp_path_factory, monkeypatch, form):
    write_sweep(here, form)
    (environment,) = Sweep.from_toml(here / "sweep.toml").environments
    assert environment.kwargs["parameters"] == PARAMETERS
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    result = run("sweep", "run", str(here / "sweep.toml"), "--jobs", "1", "--out", "out")
    assert result.exit_code == 0, result.output
    folder = Path("out").absolute()
    (here / "parameters.json").unlink()  # its values are kept with the results
    monkeypatch.chdir(here)
    assert run("sweep", "resume", str(folder), "--jobs", "1").exit_code == 0


def test_a_json_file_of_a_sweep_that_cannot_be_used_is_named(run, here):
    write_sweep(here, 'parameters = "@parameter.json"')
    result = run("sweep", "run", "sweep.toml", "--jobs", "1", "--out", "out")
    assert result.exit_code == 2
    assert "sweep.toml: parameters: 'parameter.json' cannot be read: No such file" in said(result)
    assert "did you mean 'parameters.json'?" in said(result)


def test_a_file_without_the_sign_is_a_hint(run, here):
    result = run("compare", "PBM-Synthetic-v0", "--set", "parameters=parameters.json", "--agents", "static")
    assert result.exit_code == 2
    assert "did you mean '@parameters.json', the contents of the file?" in said(result)


def test_lists_of_different_lengths_are_named(run, here):
    given = 'parameters={"attraction": [[0.1, 0.2], [0.3]]}'
    result = run("compare", "PBM-Synthetic-v0", "--set", given, "--agents", "static")
    assert "is not an array of numbers; its lists have different lengths; allowed: probabilities" in said(result)


def test_a_text_that_begins_with_the_sign_stands_in_quotes():
    assert assignments(['name="@x"']) == {"name": "@x"}
    assert with_files_read({"name": '"@x"', "other": "x@"}, Path()) == {"name": "@x", "other": "x@"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, st.booleans(), st.booleans())
def test_any_json_is_read_as_it_was_written(tmp_path_factory, value, ascii_only, marked):
    path = tmp_path_factory.getbasetemp() / "value.json"
    path.write_text(
        json.dumps(value, ensure_ascii=ascii_only), encoding="utf-8-sig" if marked else "utf-8", errors="surrogatepass"
    )
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        with pytest.raises(ValueError, match="is not UTF-8 text"):
            from_json_file(str(path))
        return
    assert from_json_file(str(path)) == json.loads(text.removeprefix("\ufeff"))


@given(st.text())
def test_any_name_is_read_or_refused(name):
    try:
        from_json_file(name)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    assert "\n" not in message.replace(name, "")


PLAIN_MODEL = """
from typing import NamedTuple

import numpy as np

from rankgym.models import ClickModel, Reward, best_of_all


class Parameters(NamedTuple):
    attraction: np.ndarray


def click(attraction, key, session, displayed, cutoff, clicks, reward):
    clicks[:] = {click}  # line 14
    reward[:] = 0.0


def value(attraction, displayed, cutoff, expected):
    expected[:] = taken(displayed)


def taken(displayed):
    return {value}  # line 23


def examine(attraction, displayed, examination):
    examination[:] = 1.0


MODEL = ClickModel(
    "Plain", Parameters, {{"attraction": ("item",)}}, examine, {{"clicks": Reward(click, value, best_of_all(value))}}
)
"""


@pytest.mark.parametrize(
    ("broken", "function", "line"),
    [({"click": "no_such_name", "value": "1.0"}, "click", 14), ({"click": "0", "value": "no_such_name"}, "value", 23)],
)
def test_an_error_in_a_plain_model_names_it_its_function_and_the_line(run, here, broken, function, line):
    """While agents play, and while the environment is made."""
    (here / "plain_here.py").write_text(PLAIN_MODEL.format(**broken))
    try:
        result = run(
            "compare", "PBM-Synthetic-v0", "--set", "model=plain_here:MODEL", "--agents", "static", "--rounds", "9"
        )
    finally:
        sys.modules.pop("plain_here", None)
    assert result.exit_code == 2
    words = f"model = 'plain_here:MODEL': its function {function} failed: NameError: name 'no_such_name' is not defined"
    assert f"error: {words} (plain_here.py:{line})" in said(result)
