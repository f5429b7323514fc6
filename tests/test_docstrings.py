"""Every public name shows how it is used, in an example that pytest runs; --doctest-modules in pyproject.toml."""

import ast
import builtins
import doctest
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


# Names that still lack an example, by module. The list only shrinks.
WITHOUT = {
    "rankgym.data": """
        DataError
        DownloadFailed
        Fits
        RefusedPickle
        WrongDigest
        fits_names
        fitted_tables
        load_fits
    """,
    "rankgym.envs": """
        UnknownRegret
        single_breakpoint
        single_dueling
        single_interleaved_rankers
        single_interleaved_rankings
        single_ranking
    """,
    "rankgym.exercises": """
        Check
        Failed
        Fault
    """,
    "rankgym.experiments": """
        Comparison
        Played
        Results
    """,
    "rankgym.experiments.watch": """
        Episode
    """,
    "rankgym.interleaving": """
        Comparison
        copy_rankings
        decide
    """,
    "rankgym.logs.evaluation": """
        Estimate
        NoSupport
        named_policy
    """,
    "rankgym.logs.fitting": """
        Score
    """,
    "rankgym.logs.readers": """
        Report
        broken_text
    """,
    "rankgym.models": """
        Axes
    """,
    "rankgym.models.assumptions": """
        Report
        Verdict
        Witness
    """,
    "rankgym.sb3": """
        Training
    """,
    "rankgym.submissions": """
        Handle
    """,
    "rankgym.untrusted": """
        RefusedFile
        check_parquet
        open_archive
        parse_json
        read_array
        read_arrays
        read_file
        read_member
        read_members
    """,
}


SHOWN_BY_MODULE = {"borrowed", "give_back"}  # numba's intrinsics: the example is in the docstring of their module


def exported():
    """The names of ``__all__`` of all modules that have one, read without importing them."""
    for folder in (ROOT / "rankgym", ROOT / "agents" / "rankgym_agents"):
        for path in sorted(folder.rglob("*.py")):
            if "\n__all__ = " in (text := path.read_text()):
                module = ".".join([folder.name, *path.relative_to(folder).with_suffix("").parts])
                yield module.removesuffix(".__init__"), text


def names_of(text):
    """The strings of all assignments to ``__all__`` in a module's text."""
    for node in ast.parse(text).body:
        target = getattr(node, "target", None) or getattr(node, "targets", [None])[0]
        if getattr(target, "id", "") == "__all__":
            yield from ast.literal_eval(node.value)


def examples_of(found):
    """The examples that a doctest finder finds of a class or function if it looks through its module."""
    home = importlib.import_module(found.__module__)
    name = f"{found.__module__}.{found.__qualname__}"
    tests = doctest.DocTestFinder(recurse=True).find(found, name, module=home)
    mine = [test for test in tests if test.name == name] if vars(home).get(found.__name__) is found else []
    return "".join(example.source for test in mine for example in test.examples)


def unbound(code):
    """The names that code uses and neither imports nor defines; doctest lends it those of the module."""
    used, bound = set(), {*dir(builtins)}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        else:
            bound.add(
                getattr(node, "name", None) or getattr(node, "arg", None)
            )  # functions, classes, errors, parameters
    return used - bound


@pytest.mark.parametrize(("module", "text"), [pytest.param(*one, id=one[0]) for one in exported()])
def test_every_public_name_has_an_example(module, text):
    """Classes and functions; of other objects, tables and numbers, there is a line beside them."""
    room = importlib.import_module(module)
    public = {name: getattr(room, name) for name in names_of(text)}
    named = {name: found for name, found in public.items() if hasattr(inspect.unwrap(found), "__qualname__")}
    examples = {name: examples_of(found) for name, found in named.items()}
    assert {name: unbound(code) for name, code in examples.items() if unbound(code)} == {}  # readers copy them
    lacking = {name for name, code in examples.items() if not code} - SHOWN_BY_MODULE
    assert lacking == set(WITHOUT.get(module, "").split()), "an example comes or goes: change WITHOUT"
