"""The examples in the docstrings of the front door and of the checkers run, and those of the glossary."""

import doctest
from pathlib import Path

import pytest

import rankgym
from rankgym import one_user
from rankgym.conformance import agents, parametrize, vector_envs


@pytest.mark.parametrize(
    "module", [rankgym, agents, one_user, parametrize, vector_envs], ids=lambda module: module.__name__
)
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 2
    assert result.failed == 0


def test_the_glossary_is_right():
    result = doctest.testfile(str(Path(__file__).parents[1] / "docs" / "glossary.md"), module_relative=False)
    assert result.attempted > 8
    assert result.failed == 0
