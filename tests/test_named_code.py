"""Names become code in one place, where something is played; nothing else that is found there is called."""

import ast
import logging
import sys
from pathlib import Path

import pytest

from rankgym.commands.options import search_agents_here
from rankgym.experiments.plan.agents import own_code, parse_agent
from rankgym.experiments.plan.sweep import Sweep
from rankgym.named_code import NameNotFound, find_named
from rankgym_agents import Restarting

ROOT = Path(__file__).resolve().parents[1]
IMPORTERS = {"import_module", "__import__", "resolve_name", "exec_module", "run_path", "run_module", "eval", "exec"}
ALLOWED = {  # besides named_code: what the text that is imported is
    "rankgym/named_code.py": "names of agents, click models and policies",
    "rankgym/extras.py": "a library of our own list",
    "rankgym/sb3/__init__.py": "a module of ours",
    "rankgym/kernels/stretching.py": "a module that was generated here",
    "rankgym/exercises/finding.py": "the checker that a teacher gave",
    "rankgym/submissions/answering.py": "a submission, in its own process",
}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that notes that it was imported, in a folder on the path."""
    (tmp_path / "noting_module.py").write_text("class NotOne: pass\nraised = []\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "noting_module.py"
    sys.modules.pop("noting_module", None)


def test_one_module_imports_by_name():
    found = set()
    for path in [*(ROOT / "rankgym").rglob("*.py"), *(ROOT / "agents").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in IMPORTERS:
                    found.add(path.relative_to(ROOT).as_posix())
    assert found == set(ALLOWED)


def test_no_unpickler_and_no_reader_without_limits():
    """Zip archives, arrays and pickles are opened by rankgym.untrusted alone."""
    readers = {"np.load", "th.load", "torch.load", "pickle.load", "pickle.loads", "np.lib.format.read_array"}
    found = set()
    for path in (ROOT / "rankgym").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                writes = any(isinstance(one, ast.Constant) and one.value == "w" for one in node.args)
                if called in readers or (called == "zipfile.ZipFile" and not writes):
                    found.add(path.relative_to(ROOT / "rankgym").as_posix())
    copies = {"conformance/trials.py", "submissions/answering.py"}  # of what the same process has pickled
    assert found == {"untrusted/archives.py", *copies}


@pytest.mark.parametrize("name", ["subprocess:Popen", "os:system", "builtins:exec", "noting_module:NotOne"])
def test_what_is_not_an_agent_is_not_called(name, module, monkeypatch):
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: pytest.fail("called"))
    with pytest.raises(ValueError, match=f"{name} (is not an agent|has no method)"):
        parse_agent(f"{name}:args=x").load()
    with pytest.raises(ValueError, match="is not an agent"):
        Restarting(agent=name, args="x", num_items=3, num_positions=2, seed=0)


def test_an_import_is_said_before(module, caplog):
    with caplog.at_level(logging.INFO, "rankgym.named_code"):
        find_named("noting_module:NotOne")
        find_named("noting_module:raised")
        find_named("rankgym_agents.toprank:TopRank")
    assert caplog.messages == [f"importing noting_module, which runs it: {module}"]
    with pytest.raises(NameNotFound, match="module 'noting_module' has no 'other'"):
        find_named("noting_module:other")
    with pytest.raises(NameNotFound, match="'a b' is not the name of a module"):
        find_named("a b:x")


def test_the_present_folder_is_searched_for_own_code_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    theirs = ["toprank:delta=0.1", "ppo-pbm", "restarting:agent=toprank", "x.zip", "nonsense"]
    search_agents_here(theirs)
    assert str(tmp_path) not in sys.path
    for own in ("mine:Mine", "restarting:agent=mine:Mine", "restarting:agent=mine:Mine:every=10"):
        assert own_code(own)
    document = {"rounds": 10, "agents": theirs[:3], "environments": [{"id": "PBM-Synthetic-v0"}]}
    assert not Sweep.from_document(document).names_own_code()
    for own in ({"agents": ["mine:Mine"]}, {"environments": [{"id": "CM-Synthetic-v0", "model": "mine:M"}]}):
        assert Sweep.from_document(document | own).names_own_code()
    search_agents_here(["mine:Mine"])
    assert sys.path[0] == str(tmp_path)


def test_a_folder_that_is_called_like_a_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir.zip").mkdir()
    with pytest.raises(ValueError, match=r"there is no file 'dir.zip', but a folder; allowed: a model") as raised:
        parse_agent("dir.zip")
    assert "did you mean 'dir.zip'" not in str(raised.value)


def test_the_command_line_says_what_it_imports(run, tmp_path, module):
    named = run("agents", "noting_module:NotOne")
    assert named.exit_code == 2
    assert named.stderr.splitlines()[0] == f"importing noting_module, which runs it: {module}"
    assert "importing" not in run("agents", "toprank").stderr
