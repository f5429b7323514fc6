"""Digests of code: editing words leaves results valid, editing what plays does not."""

import ast
from pathlib import Path

import pytest

import rankgym
from rankgym.experiments.plan import digests

HOME = Path(rankgym.__file__).parent


@pytest.mark.parametrize(
    ("edited", "same"),
    [
        ("def f(x):\n    return x + 1\n", True),
        ("'''Words.'''\n\n\ndef f(x):  # words\n    '''More words.'''\n    return (x + 1)\n", True),
        ("def f(x):\n    return x + 2\n", False),
        ("def f(x):\n    'one'\n    'two'\n    return x + 1\n", False),
        ("def f(x):\n    return x +\n", False),
    ],
)
def test_a_digest_of_code_ignores_words_and_layout(tmp_path, edited, same):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text("def f(x):\n    '''Add one.'''\n    return x + 1\n")
    after.write_text(edited)
    assert (digests.source_digest(before) == digests.source_digest(after)) == same


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the files that play, of which the digest is made."""
    for path in digests.playing_files():
        place = tmp_path / path.relative_to(HOME)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
    monkeypatch.setattr(rankgym, "__file__", str(tmp_path / "__init__.py"))
    digests.code_digest.cache_clear()
    yield tmp_path
    digests.code_digest.cache_clear()


def test_editing_a_kernel_or_data_changes_the_digest_and_editing_words_does_not(copy):
    found = []

    def edit(name, before, after):
        text = (copy / name).read_text()
        assert before in text
        (copy / name).write_text(text.replace(before, after, 1))
        digests.code_digest.cache_clear()
        found.append(digests.code_digest())

    edit("models/cm.py", '"""', '"""Words. ')
    (copy / "commands").mkdir()
    (copy / "commands" / "new.py").write_text("print()")
    edit("registry.py", '"""', '"""Words. ')
    assert len(set(found)) == 1
    edit("models/cm.py", "range(", "range(0 + ")
    assert len(set(found)) == 2
    data = next(copy.glob("data/*.npz"))
    data.write_bytes(data.read_bytes() + b" ")
    edit("registry.py", '"""', '"""More words. ')
    assert len(set(found)) == 3


# Modules that the playing ones import and that cannot change a result, with the reason.
DECIDES_NOTHING = {
    "rankgym": "the front door",
    "rankgym.beliefs": "shows what agents believe",
    "rankgym.estimates": "summarizes what was recorded",
    "rankgym.extras": "imports libraries",
    "rankgym.histories": "shows and saves what was recorded",
    "rankgym.named_code": "what it finds is in the key",
    "rankgym.outputs": "files, whatever they hold",
    "rankgym.pictures": "draws",
    "rankgym.progress": "shows bars",
    "rankgym.scenes": "says what was played",
    "rankgym.source": "finds source files",
    "rankgym.style": "draws",
    "rankgym.experiments": "the public face",
    "rankgym.experiments.plan.digests": "makes keys",
    "rankgym.experiments.plan.environments": "what it finds is in the key",
    "rankgym.experiments.plan.jobs": "makes keys",
    "rankgym.experiments.plan.sweep": "what it finds is in the key",
    "rankgym.experiments.run.results": "holds what was read",
}


def test_the_digest_covers_every_module_that_plays():
    """Follow all imports, function-level ones too, from the modules that play and write results."""
    covered = {path for path in digests.playing_files() if path.suffix == ".py"}
    reached, queue = set(covered), list(covered)
    while queue:
        for name in imported(queue.pop()):
            path = module_path(name)
            if path is not None and path not in reached and name not in DECIDES_NOTHING and has_code(path):
                reached.add(path)
                queue.append(path)
    assert {str(path.relative_to(HOME)) for path in reached - covered} == set()


def test_rooms_that_show_are_not_covered():
    covered = {path.relative_to(HOME).as_posix() for path in digests.playing_files()}
    assert not [name for name in covered if name.startswith(("cli", "commands", "conformance", "sb3"))]
    rooms = {name.split("/")[1] for name in covered if name.startswith("experiments")}
    assert rooms == {"plan", "run"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_path(name):
    first, *parts = name.split(".")
    folder = HOME.joinpath(*parts)
    paths = (folder.with_suffix(".py"), folder / "__init__.py") if parts else (folder / "__init__.py",)
    return next((path for path in paths if path.is_file()), None) if first == "rankgym" else None


def has_code(path):
    """Whether a file has more than a docstring."""
    return len(ast.parse(path.read_text()).body) > 1
