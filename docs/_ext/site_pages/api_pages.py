"""Reference pages: one for each public package, of the names that it exports, from their docstrings by autodoc."""

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from site_pages.docstrings import as_markdown

PACKAGES = {  # by module: what it is for
    "rankgym": "the front door: histories, simulation, checks",
    "rankgym.envs": "the environments",
    "rankgym.spaces": "the space of rankings",
    "rankgym.wrappers": "records, and what policies see and do",
    "rankgym.models": "the click models",
    "rankgym.models.assumptions": "reports of the papers' assumptions in a click model",
    "rankgym.interleaving": "interleaving methods",
    "rankgym.metrics": "measures of lists",
    "rankgym.agent": "base classes of agents",
    "rankgym.kernels": "what compiled agents and click models share",
    "rankgym.conformance": "checks of your own parts",
    "rankgym.experiments": "comparisons and sweeps",
    "rankgym.experiments.watch": "pages on which agents play round by round",
    "rankgym.sb3": "stable-baselines3",
    "rankgym.logs.readers": "click logs read from files",
    "rankgym.logs.fitting": "click models fitted to logs",
    "rankgym.logs.simulating": "click logs written by simulation",
    "rankgym.logs.evaluation": "off-policy estimates",
    "rankgym.data": "data sets and the cache",
    "rankgym.data.preferences": "preference matrices",
    "rankgym.exercises": "exercises that check themselves",
    "rankgym_agents": "the agents",
}


def make(docs: Path) -> dict[str, str | bytes]:
    """Return the reference pages and their index."""
    made: dict[str, str | bytes] = {"api/index.md": index_page()}
    for name in PACKAGES:
        made[f"api/{name}.md"] = page(name)
    return made


def index_page() -> str:
    """Return the list of all public packages."""
    rows = [f"| [`{name}`]({name}.md) | {text} |" for name, text in PACKAGES.items()]
    table = "| package | what is in it |\n|---|---|\n" + "\n".join(rows)
    tree = "\n".join(["```{toctree}", ":hidden:", "", *PACKAGES, "```"])
    text = "The public names, from their docstrings; {ref}`all of them in one list <genindex>`."
    return f"# API reference\n\n{text}\n\n{table}\n\n{tree}\n"


def page(package: str) -> str:
    """Return the reference page of a package."""
    module = importlib.import_module(package)
    parts = [f"# {package}", as_markdown(inspect.getdoc(module) or "")]
    for name in module.__all__:
        parts += [f"## {name}", f"```{{eval-rst}}\n{directive(package, name, getattr(module, name))}\n```"]
    return "\n\n".join(parts) + "\n"


def directive(package: str, name: str, found: Any) -> str:
    """Return the directive that documents a name; a name that is documented elsewhere is not indexed twice."""
    options = ["   :no-index:"] if home_of(name, found) != package else []
    if inspect.isclass(found):
        options += ["   :members:", "   :show-inheritance:"]
        return "\n".join([f".. autoclass:: {package}.{name}", *options])
    if callable(found) and (inspect.isroutine(found) or hasattr(found, "__wrapped__")):
        return "\n".join([f".. autofunction:: {package}.{name}", *options])
    if isinstance(found, Mapping):
        options += ["   :type: dict", "", f"   Keys: {', '.join(f'``{key}``' for key in found)}."]
    else:
        options += [f"   :type: {type(found).__name__}", f"   :value: {found!r}"]
    return "\n".join([f".. py:data:: {package}.{name}", *options])


def home_of(name: str, found: Any) -> str | None:
    """Return the first of ``PACKAGES`` that exports an object by this name."""
    modules = map(importlib.import_module, PACKAGES)
    return next((m.__name__ for m in modules if name in m.__all__ and getattr(m, name) is found), None)
