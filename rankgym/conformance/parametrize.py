"""``parametrize_with_checks``: one pytest test for each object and rule, for anyone's test suite."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

from gymnasium.vector import VectorEnv

from rankgym.conformance import agents, models, vector_envs
from rankgym.conformance.rulebook import Breach, ConformanceError
from rankgym.models.base import ClickModel


def parametrize_with_checks(
    factories: Iterable[Callable[..., Any] | ClickModel] | Mapping[str, Callable[..., Any] | ClickModel],
    **arguments: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a test so that pytest runs it once for each factory and rule, as scikit-learn's decorator does.

    The test has an argument ``check``, which it calls. A broken rule fails its test; a rule that could not be tried is
    skipped, with the reason. A factory's rules share one run of its checker.

    Args:
        factories: a list, or a dict by the names that tests show. A function without parameters, or a subclass of
            ``VectorEnv``, makes a vector environment; a ``rankgym.models.ClickModel`` is a click model itself; anything
            else is an agent's factory, see ``check_agent``.
        arguments: of ``check_agent``, ``check_vector_env`` or ``check_model``.

    Examples:
        >>> import numpy as np
        >>> from rankgym.conformance import parametrize_with_checks
        >>> class AlwaysTheSame:
        ...     def __init__(self, *, num_items, num_positions, num_envs, **rest):
        ...         if num_positions > num_items:
        ...             raise ValueError(f"num_positions = {num_positions}; allowed: 1 .. {num_items}")
        ...         self.lists = np.tile(np.arange(num_positions), (num_envs, 1))
        ...     def act(self, observation):
        ...         return self.lists.copy()
        ...     def update(self, displayed, clicks): ...
        >>> @parametrize_with_checks([AlwaysTheSame], rounds=20)
        ... def test_my_agents(check):
        ...     check()
        >>> cases = test_my_agents.pytestmark[0].args[1]
        >>> [case.id for case in cases][:3]
        ['AlwaysTheSame-parts', 'AlwaysTheSame-sizes', 'AlwaysTheSame-actions']
        >>> test_my_agents(*cases[0].values)  # what pytest does
    """
    import pytest  # here, so that rankgym is imported without it

    if not isinstance(factories, Mapping):
        factories = {_name(factory): factory for factory in factories}
    cases = []
    for name, factory in factories.items():
        rules, outcome, error = _checker(factory, arguments)
        cases += [pytest.param(partial(_check, rule, outcome, error), id=f"{name}-{rule}") for rule in rules]
    mark: Callable[[Callable[..., Any]], Callable[..., Any]] = pytest.mark.parametrize("check", cases)
    return mark


def _name(factory: Callable[..., Any] | ClickModel) -> str:
    return factory.name if isinstance(factory, ClickModel) else getattr(factory, "__name__", repr(factory))


Outcome = tuple[dict[str, Breach], dict[str, str]]


def _checker(
    factory: Callable[..., Any] | ClickModel, arguments: Mapping[str, Any]
) -> tuple[list[str], Callable[[], Outcome], type[ConformanceError]]:
    """Return the rules for what ``factory`` makes, what came of all of them, and the error of broken ones."""
    if isinstance(factory, ClickModel):
        model = factory
        return list(models.RULES), cache(lambda: models.try_rules(model, **arguments).outcome()), models.ModelError
    makes_env = (
        issubclass(factory, VectorEnv) if inspect.isclass(factory) else not inspect.signature(factory).parameters
    )
    if makes_env:
        run: Callable[[], Outcome] = cache(lambda: vector_envs.try_rules(factory(), **arguments).outcome())
        return list(vector_envs.RULES), run, vector_envs.VectorEnvError
    kind = arguments.get("kind") or agents.kind_of(factory)
    rules = [rule for rule in agents.RULES if kind == "dueling" or rule != "bad duels"]
    return rules, cache(lambda: agents.try_rules(factory, **arguments).outcome()), agents.AgentError


def _check(rule: str, outcome: Callable[[], Outcome], error: type[ConformanceError]) -> None:
    """Raise the error of one rule, or skip the test."""
    import pytest

    broken, skipped = outcome()
    if rule in broken:
        raise error({rule: broken[rule]})
    if rule in skipped:
        pytest.skip(skipped[rule])
