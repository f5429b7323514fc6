"""The house rules that no type checker sees: import arrows, lengths, who may compile, the front door, the README."""

import ast
import functools
import importlib
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
LONGEST_FILE, LONGEST_FUNCTION = 600, 60  # lines; a function's docstring is not counted

# A room may import the rooms above it in this list, and its own. A file belongs to the longest name that fits.
LEVELS = [
    {"version", "untrusted"},
    {"arguments", "beliefs", "estimates", "extras", "kernels", "outputs", "progress", "source", "style"},
    {"named_code"},
    {"agent", "spaces", "metrics", "data", "histories", "interleaving", "scenes"},
    {"models", "pictures"},
    {"envs"},
    {"wrappers", "registry"},
    {"conformance", "one_user", "play"},
    {"", "rankgym_agents"},  # the front door, and the papers' agents
    {"logs", "submissions"},
    {"sb3"},
    {"experiments.bench", "experiments.plan"},
    {"experiments.run"},
    {"experiments.judge", "experiments.preferences"},
    {"experiments.show"},
    {"experiments.scoring", "experiments.watch"},
    {"experiments.papers"},
    {"experiments"},
    {"exercises"},
    {"grading"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
LEVEL = {
    room if room in PACKAGES else f"rankgym.{room}".strip("."): number
    for number, rooms in enumerate(LEVELS)
    for room in rooms
}


def module_name(package, path):
    parts = [package, *path.relative_to(PACKAGES[package]).with_suffix("").parts]
    return ".".join(parts).removesuffix(".__init__")


FILES = dict(
    sorted((module_name(package, path), path) for package, folder in PACKAGES.items() for path in folder.rglob("*.py"))
)


@functools.cache
def trees():
    """The parsed files by name; not while tests are collected, which every process does."""
    return {name: ast.parse(path.read_text()) for name, path in FILES.items()}


def imports(tree):
    """The dotted names that a module imports, in functions, too: ``from a import b`` is a.b if that is a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where an arrow goes"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & set(FILES)
            if not names <= set(FILES):
                yield node.module


def room(name):
    """The room of a module, None outside the packages. The front door is a room of one file."""
    rooms = [room for room in LEVEL if name == room or (name.startswith(f"{room}.") and room != "rankgym")]
    return max(rooms, key=len, default=None)


def test_arrows_point_to_lower_rooms_only():
    for name, tree in trees().items():
        mine = room(name)
        assert mine is not None, f"{name} has no room in LEVELS"
        for other in imports(tree):
            its = room(other)
            assert its in (None, mine) or LEVEL[its] < LEVEL[mine], f"{name} imports {other}, which is not below it"


def test_no_imports_go_in_a_circle():
    arrows = {name: {other for other in imports(tree) if other in FILES} for name, tree in trees().items()}
    reached = {name: set(others) for name, others in arrows.items()}
    for middle in arrows:
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    circle = [name for name in arrows if name in reached[name]]
    assert not circle, f"these modules import each other: {circle}"


@pytest.mark.parametrize("name", [name for name in FILES if name in LEVEL and FILES[name].name == "__init__.py"])
def test_every_room_says_what_it_is_for_and_what_it_may_import(name):
    text = ast.get_docstring(trees()[name]) or ""
    assert len(text.splitlines()) >= 2, f"{name}/__init__.py needs a docstring that says what the room is for"
    assert re.search(r"\bimports?\b", text), f"{name}/__init__.py does not say what the room may import"


def test_files_and_functions_are_short():
    for name, tree in trees().items():
        lines = len(FILES[name].read_text().splitlines())
        assert lines <= LONGEST_FILE, f"{name} has {lines} lines; allowed: {LONGEST_FILE}"
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = node.body[0] if ast.get_docstring(node) else None
                size = node.end_lineno - node.lineno + 1 - (text.end_lineno - text.lineno + 1 if text else 0)
                assert size <= LONGEST_FUNCTION, f"{name}.{node.name} has {size} lines; allowed: {LONGEST_FUNCTION}"


def test_agents_cannot_see_the_truth():
    for name, tree in trees().items():
        for other in imports(tree) if name.startswith("rankgym_agents") else ():
            if other.split(".")[0] == "rankgym":
                assert other in ("rankgym.agent", "rankgym.kernels"), f"{name} imports {other}"


def test_only_the_room_kernels_compiles():
    for name, tree in trees().items():
        if name.removeprefix("rankgym.kernels.") not in ("compiling", "kept_code", "memory", "stretching"):
            assert not any(other.split(".")[0] in ("numba", "llvmlite") for other in imports(tree)), name


def test_kernels_give_back_what_they_borrow():
    """Once each, and at the end: a kernel that borrows returns nowhere else."""
    borrowing = 0
    for name, tree in trees().items():
        for function in tree.body:
            text = ast.unparse(function)
            if name.startswith("rankgym.kernels.") or "borrowed(" not in text:
                continue
            borrowing += 1
            assert text.count("borrowed(") == text.count("give_back("), f"{name}.{function.name}"
            *_, last = [node for node in function.body if not isinstance(node, ast.Return)]
            assert "give_back(" in ast.unparse(last), f"{name}.{function.name}"
            returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
            assert all(node is function.body[-1] for node in returns), f"{name}.{function.name}"
    assert borrowing > 15


def test_kernels_call_kernels_of_their_own_file_or_of_the_room_kernels_only():
    """Numba's cache does not notice an edited callee in a third file; the digest covers all files of the room."""
    everywhere = {
        (name, node.name)
        for name, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "kernel" for d in node.decorator_list)
    }
    assert len(everywhere) > 20
    names = {function for _, function in everywhere}
    for name, tree in trees().items():
        local = {f for module, f in everywhere if module == name or module.startswith("rankgym.kernels.")}
        for node in tree.body:
            if (name, getattr(node, "name", "")) in everywhere:
                calls = (c.func for c in ast.walk(node) if isinstance(c, ast.Call))
                called = {f.id for f in calls if isinstance(f, ast.Name)}
                assert called & names <= local, f"{name}.{node.name} calls {called & names - local}"


def test_numba_can_tell_the_states_of_any_two_agents_apart():
    """It looks at the names and fields of NamedTuples alone; of two that are alike, it types one anew in each call."""
    modules = [importlib.import_module(name) for name in FILES if name.startswith("rankgym_agents.")]
    states = {module.State for module in modules if hasattr(module, "State")}
    assert len(states) > 20
    assert len({state._fields for state in states}) == len(states)


def test_the_front_door():
    public = {n for n, v in vars(rankgym).items() if not n.startswith("_") and not isinstance(v, ModuleType)}
    assert set(rankgym.__all__) == {*public, "__version__"} - {"register_all"}
    assert len(rankgym.__all__) < 20


def test_importing_the_core_needs_no_heavy_library():
    heavy = (
        "matplotlib",
        "torch",
        "stable_baselines3",
        "typer",
        "rich",
        "pandas",
        "requests",
        "PIL",
        "pygame",
        "moviepy",
    )
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


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where to change what\n", 1)[1].split("\n## ", 1)[0]
    named = re.findall(r"`((?:rankgym|agents)/[^`]*)`", text)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
