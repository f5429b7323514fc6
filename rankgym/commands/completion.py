"""What the shell is offered when a value is half typed: environments, agents, data sets, figures, choices.

Nothing that compiles is imported: names are read from the source of the tables, so that an answer takes a tenth of a
second. While a shell asks, ``rankgym/__init__.py`` is empty, see there.
"""

import ast
import contextlib
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from rankgym.registry import CLICK_MODELS, ENVS

HERE = Path(__file__).parents[1]
Names = Callable[[str], list[str]]  # from what was typed so far to all values that may be meant


ASKED = "_RANKGYM_COMPLETE"  # in the environment while a shell asks
OF_SHELLS = ("--install-completion", "--show-completion")
BREAKS = re.compile("[:=]+")  # a word of these alone: bash breaks words there


def name_shell(arguments: Sequence[str]) -> None:
    """Let ``--install-completion zsh`` mean zsh; without a name, the shell is the one that runs the command.

    By itself typer ignores the name and takes the running shell.
    """
    for word, following in itertools.pairwise(arguments):
        if word in OF_SHELLS and not following.startswith("-"):
            os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"


@contextlib.contextmanager
def whole_words() -> Iterator[None]:
    """Context manager for an answer to bash, which breaks ``mine.py:Mine`` and ``--agents=top`` at ``:`` and ``=``.

    The pieces are joined again before the answer is made. What is answered loses the pieces that bash leaves in place:
    it replaces the last piece alone.
    """
    if os.environ.get(ASKED) != "complete_bash":
        yield
        return
    pieces = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0"))
    words, kept = joined(pieces, at)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words[0]), str(words[1])
    answer = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(answer):
            yield
    finally:
        answer.seek(0)
        for line in answer.read().splitlines():
            sys.stdout.write(f"{without(line, kept)}\n")


def joined(pieces: Sequence[str], at: int) -> tuple[tuple[list[str], int], list[str]]:
    """Join the pieces that bash has made of words.

    Args:
        pieces: of the command line.
        at: the number of the piece that is being typed.

    Returns:
        The words and the number of the one that is being typed; and its pieces before the one that bash replaces.
    """
    groups: list[list[int]] = []
    for number, piece in enumerate(pieces):
        before = pieces[number - 1] if number else ""
        if number > 1 and piece and (BREAKS.fullmatch(piece) or BREAKS.fullmatch(before)):
            groups[-1].append(number)
        else:
            groups.append([number])
    place = next((place for place, group in enumerate(groups) if at in group), len(groups))
    kept = [pieces[number] for number in (groups[place] if place < len(groups) else []) if number < at]
    if at < len(pieces) and BREAKS.fullmatch(pieces[at]):  # bash adds what follows to it
        kept.append(pieces[at])
    words = [
        "".join(pieces[number] for number in group if place != there or number <= at)
        for there, group in enumerate(groups)
    ]
    return (words, place), kept


def without(answer: str, kept: Sequence[str]) -> str:
    """Return ``answer`` without the ``kept`` pieces that it begins with; of ``--option=`` it has none."""
    beginnings = ("".join(kept[number:]) for number in range(len(kept) + 1))
    return answer.removeprefix(next(one for one in beginnings if answer.startswith(one)))


def words(metavar: str) -> Names | None:
    """Return the completion of an option whose value is shown as ``small|full``; None if it is not such a choice."""
    choices = [word for word in metavar.split("|") if re.fullmatch("[a-z][a-z0-9-]+", word)]
    return (lambda incomplete: beginning(incomplete, choices)) if "|" in metavar and choices else None


def beginning(typed: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that begin with ``typed``."""
    return [name for name in names if name.startswith(typed)]


def environments(incomplete: str) -> list[str]:
    """Return ids, with ``rankgym/`` if it was typed."""
    short = [name.removeprefix("rankgym/") for name in ENVS]
    return beginning(incomplete, ENVS if incomplete.startswith("rankgym/") else short)


def agents(incomplete: str) -> list[str]:
    """Return agents of the table, and models that come with the package."""
    found = find_spec("rankgym_agents")
    names = [] if found is None or found.origin is None else table(Path(found.origin), "AGENTS")
    models = sorted(path.stem for path in (HERE / "sb3" / "weights").glob("*.safetensors"))
    return beginning(incomplete, [*names, *models])


def plain_policies(incomplete: str) -> list[str]:
    """Return the policies whose probabilities are known."""
    return beginning(incomplete, table(HERE / "logs" / "policies.py", "POLICIES"))


def policies(incomplete: str) -> list[str]:
    """Return what can make a log: policies, and agents."""
    return list(dict.fromkeys([*plain_policies(incomplete), *agents(incomplete)]))


def listed(names: Names) -> Names:
    """Return the completion of a list with commas: of its last entry, without those that it has already."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names(last) if name not in before.split(",")]

    return complete


def data_sets(incomplete: str) -> list[str]:
    """Return the published data sets, which ``rankgym data`` fetches and imports."""
    sets = table(HERE / "data" / "catalogue.py", "DATASETS")
    return beginning(incomplete, [name for name, value in sets.items() if "source='published'" in ast.unparse(value)])


def all_data_sets(incomplete: str) -> list[str]:
    """Return the data sets of the table, and the user's own in the data cache."""
    from rankgym.data.cache_folder import home

    own = sorted(path.stem for room in ("preferences", "fits") for path in (home() / room).glob("*.npz"))
    return beginning(incomplete, [*table(HERE / "data" / "catalogue.py", "DATASETS"), *own])


def figures(incomplete: str) -> list[str]:
    """Return papers and their figures."""
    paths = sorted((HERE / "experiments" / "papers").glob("*/figure_*.py"))
    named = [f"{path.parent.name}-{path.stem.replace('_', '-')}" for path in paths]
    return beginning(incomplete, ["all", *dict.fromkeys(path.parent.name for path in paths), *named])


def algorithms(incomplete: str) -> list[str]:
    """Return the algorithms of ``rankgym train``."""
    return beginning(incomplete, table(HERE / "sb3" / "defaults.py", "ALGORITHMS"))


def assignments(incomplete: str) -> list[str]:
    """Return the values of arguments that name something: click models and where they come from."""
    values = {"model": CLICK_MODELS, "dataset": ("yandex", "synthetic"), "source": ("calibrated", "published")}
    return beginning(incomplete, [f"{key}={value}" for key, choices in values.items() for value in choices])


def table(path: Path, name: str) -> dict[str, ast.expr]:
    """Return the literal dict ``name`` of a module, its values as they are written, without importing it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
    return {}
