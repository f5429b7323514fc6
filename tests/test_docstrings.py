"""The examples in the docstrings of the front door and of the checkers run."""

import doctest

import pytest

import rankgym
from rankgym.conformance import agents, parametrize, vector_envs


@pytest.mark.parametrize("module", [rankgym, agents, parametrize, vector_envs], ids=lambda module: module.__name__)
def test_the_examples_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 2
    assert result.failed == 0
