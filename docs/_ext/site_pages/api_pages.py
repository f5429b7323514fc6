"""Reference pages: one for each public package, of the names that it exports, from their docstrings by autodoc."""

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from site_pages.docstrings import as_markdown

PACKAGES = {  # by module: what it is for, and the names of modules without __all__
    "rankgym": ("the front door: histories, simulation, checks", ()),
    "rankgym.envs": ("the environments", ()),
    "rankgym.spaces": ("the space of rankings", ("Permutation", "BatchedPermutation")),
    "rankgym.wrappers": ("records, and what policies see and do", ()),
    "rankgym.models": ("the click models", ()),
    "rankgym.interleaving": ("interleaving methods", ()),
    "rankgym.metrics": ("measures of lists", ("better_items", "misordered_pairs")),
    "rankgym.play.simulate": ("an agent plays an environment", ("simulate",)),
    "rankgym.agent": ("base classes of agents", ("Agent", "DuelingAgent", "KernelAgent", "Beliefs")),
    "rankgym.conformance": ("checks of your own parts", ()),
    "rankgym.experiments": ("comparisons and sweeps", ()),
    "rankgym.sb3": ("stable-baselines3", ()),
    "rankgym.logs.fitting": ("click models fitted to logs", ()),
    "rankgym.data": ("data sets and the cache", ()),
    "rankgym.data.preferences": ("preference matrices", ()),
    "rankgym.exercises": ("exercises that check themselves", ()),
    "rankgym_agents": ("the agents", ()),
}
LONG = ("AGENTS", "RANKERS", "DUELERS", "ENVS", "MODELS", "LAYERS", "__version__")  # tables with pages of their own


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the reference pages and their index."""
    made: dict[str, str | bytes] = {"api/index.md": index_page()}
    for name in PACKAGES:
        made[f"api/{name}.md"] = page(name)
    return made


def index_page() -> str:
    """Return the list of all public packages."""
    rows = [f"| [`{name}`]({name}.md) | {text} |" for name, (text, _) in PACKAGES.items()]
    table = "| package | what is in it |\n|---|---|\n" + "\n".join(rows)
    tree = "\n".join(["```{toctree}", ":hidden:", "", *PACKAGES, "```"])
    return f"# API reference\n\nThe public names, from their docstrings.\n\n{table}\n\n{tree}\n"


def public_names(module: ModuleType, listed: tuple[str, ...]) -> list[str]:
    """Return the names that a page shows."""
    return [name for name in listed or module.__all__ if name not in LONG]


def page(package: str) -> str:
    """Return the reference page of a package."""
    module = importlib.import_module(package)
    parts = [f"# {package}", as_markdown(inspect.getdoc(module) or "")]
    for name in public_names(module, PACKAGES[package][1]):
        parts += [f"## {name}", f"```{{eval-rst}}\n{directive(package, name, getattr(module, name))}\n```"]
    return "\n\n".join(parts) + "\n"


def directive(package: str, name: str, found: Any) -> str:
    """Return the directive that documents a name; a name that is documented elsewhere is not indexed twice."""
    options = ["   :no-index:"] if not is_home(package, found) else []
    if inspect.isclass(found):
        options += ["   :members:", "   :show-inheritance:"]
        return "\n".join([f".. autoclass:: {package}.{name}", *options])
    if callable(found) and (inspect.isroutine(found) or hasattr(found, "py_func")):
        return "\n".join([f".. autofunction:: {package}.{name}", *options])
    return "\n".join([f".. py:data:: {package}.{name}", f"   :type: {type(found).__name__}", *options[:1]])


def is_home(package: str, found: Any) -> bool:
    """Whether a package is the first of ``PACKAGES`` that exports an object."""
    for other, (_, listed) in PACKAGES.items():
        module = importlib.import_module(other)
        if any(getattr(module, name) is found for name in public_names(module, listed)):
            return other == package
    return True
