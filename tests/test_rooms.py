"""The house rules that no type checker sees: import arrows, who may compile, the front door, the README's tables."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import gymnasium as gym
import pytest

import rankgym
import rankgym_agents
from rankgym.registry import ENVS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"rankgym": ROOT / "rankgym", "rankgym_agents": ROOT / "agents" / "rankgym_agents"}

# A room may import the rooms above it in this list, and its own. CONTRIBUTING has the short form: kernels <- spaces,
# metrics <- models <- envs <- wrappers, registry <- experiments <- cli.
LEVELS = [
    {"arguments", "extras", "kernels", "outputs", "progress"},
    {"agent", "spaces", "metrics", "data", "interleaving"},
    {"models"},
    {"envs"},
    {"wrappers", "registry"},
    {"conformance", "play"},
    {"sb3"},
    {"experiments"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}


def modules(package):
    """(dotted name, syntax tree) of every file of a package."""
    folder = PACKAGES[package]
    for path in sorted(folder.rglob("*.py")):
        parts = [package, *path.relative_to(folder).with_suffix("").parts]
        yield ".".join(parts), ast.parse(path.read_text())


def imports(tree):
    """The dotted names that a module imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where an arrow goes"
            yield node.module
            if node.module in PACKAGES:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "rankgym" and parts[1] in LEVEL else None


CORE = [(name, tree) for name, tree in modules("rankgym") if name != "rankgym.__init__"]


@pytest.mark.parametrize(("name", "tree"), CORE, ids=[name for name, _ in CORE])
def test_arrows_point_left_only(name, tree):
    mine = room(name)
    assert mine is not None, f"{name} has no room in LEVELS"
    for other in filter(None, map(room, imports(tree))):
        assert other == mine or LEVEL[other] < LEVEL[mine], (
            f"{name} imports {other}, which stands to the right of {mine}"
        )


BANDITS = list(modules("rankgym_agents"))


@pytest.mark.parametrize(("name", "tree"), BANDITS, ids=[name for name, _ in BANDITS])
def test_agents_cannot_see_the_truth(name, tree):
    for other in imports(tree):
        if other.split(".")[0] == "rankgym" and other != "rankgym":
            assert re.match(r"rankgym\.(kernels|agent)\b", other), f"{name} imports {other}"


def test_nobody_but_kernels_compiles():
    for package in PACKAGES:
        for name, tree in modules(package):
            if name != "rankgym.kernels.compiling":
                assert not any(other.split(".")[0] == "numba" for other in imports(tree)), name


def test_kernels_call_kernels_of_their_own_file_or_of_the_room_kernels_only():
    """Numba's cache does not notice an edited callee in a third file; the digest covers all files of the room."""
    everywhere = {
        (name, node.name)
        for package in PACKAGES
        for name, tree in modules(package)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "kernel" for d in node.decorator_list)
    }
    assert len(everywhere) > 20
    names = {function for _, function in everywhere}
    for package in PACKAGES:
        for name, tree in modules(package):
            local = {f for module, f in everywhere if module == name or module.startswith("rankgym.kernels.")}
            for node in tree.body:
                if (name, getattr(node, "name", "")) in everywhere:
                    calls = (c.func for c in ast.walk(node) if isinstance(c, ast.Call))
                    called = {f.id for f in calls if isinstance(f, ast.Name)}
                    assert called & names <= local, f"{name}.{node.name} calls {called & names - local}"


def test_the_front_door():
    public = {n for n, v in vars(rankgym).items() if not n.startswith("_") and not isinstance(v, ModuleType)}
    assert set(rankgym.__all__) == {*public, "__version__"} - {"register_all"}
    assert len(rankgym.__all__) < 20


def test_importing_the_core_needs_no_heavy_library():
    heavy = ("matplotlib", "torch", "stable_baselines3", "typer", "rich", "pandas", "requests")
    script = f"import sys, rankgym, rankgym_agents; print([m for m in {heavy!r} if m in sys.modules])"
    path = os.pathsep.join([str(ROOT), str(ROOT / "agents")])
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert found.stdout.strip() == "[]"


def test_the_version_is_said_once_and_again_rightly():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == rankgym.__version__
    assert f"## {rankgym.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_id_of_the_table_is_registered():
    assert {name for name in gym.registry if name.startswith("rankgym/")} == set(ENVS)


def table(heading):
    """The first column of the README's table under a heading."""
    text = (ROOT / "README.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([^`]+)` \|", text, flags=re.M)


def test_the_readmes_tables_are_the_registries():
    assert table("Environments") == list(ENVS)
    assert table("Agents") == list(rankgym_agents.AGENTS)


def test_the_readmes_python_runs():
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(re.sub(r"\b(\d{1,3}(?:_\d{3})+)\b", "200", block), "README.md", "exec"), {})
