"""What the shell is offered when a value is half typed: environments, agents, data sets, figures, choices.

Nothing that compiles is imported: names are read from the source of the tables, so that an answer takes a tenth of a
second. While a shell asks, ``rankgym/__init__.py`` is empty, see there.
"""

import ast
import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from rankgym.registry import CLICK_MODELS, ENVS

HERE = Path(__file__).parents[1]
Names = Callable[[str], list[str]]  # from what was typed so far to all values that may be meant


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
    models = sorted(path.stem for path in (HERE / "sb3" / "weights").glob("*.zip"))
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
