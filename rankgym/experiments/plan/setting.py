"""Settings: an environment, its queries and its agents, resolved from what the user typed and checked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from rankgym.arguments import action_kind, env_attribute, env_horizons, is_duel
from rankgym.experiments.plan.agents import AgentSpec, fitting_agents, parse_agent, slug
from rankgym.experiments.plan.environments import check_env_arguments, choice_of, env_id
from rankgym.play.game import incompatibility

__all__ = ["KINDS", "Setting", "agent_specs", "decades", "one_row", "recorded_rounds", "resolve"]

KINDS = {"rankings": "sessions", "duels": "duels"}  # kinds of environments: what a row has one of in a round
EVENLY = 200  # evenly spaced rounds to record where epochs are: log-spaced ones are too sparse for a linear axis
CORNERS = 200  # breakpoints to record at; of more, a figure cannot show the corners


class Setting(NamedTuple):
    """An environment and its agents, which were checked to fit together."""

    env_id: str
    env_kwargs: dict[str, Any]  # without what rows play; with the horizon
    agents: tuple[AgentSpec, ...]
    rounds: int
    queries: list[int]  # row b plays the one numbered b mod len(queries); [0] where there are none
    cutoff: int | None  # positions that count; None: no list has positions
    breakpoints: tuple[int, ...] | None  # rounds at which all rows begin a new epoch; None: each row has its own
    kind: str  # of KINDS
    choice: str | None  # the environment's argument that says which of ``queries`` a row plays


def resolve(
    name: str,
    agents: Sequence[str | type] | None,
    rounds: int,
    query: Any,
    env_kwargs: Mapping[str, Any],
) -> Setting:
    """Resolve and check the arguments; the environment is made with one row for it, and closed.

    Args:
        name: an id, with or without ``rankgym/``.
        agents: as ``compare`` takes them; None: all that can play.
        rounds: at least 1.
        query: one query, a list of them, ``"all"``, ``"train"`` or ``"test"``; or ``problem`` in ``env_kwargs``.
        env_kwargs: plain JSON values. ``horizon`` is ``rounds`` where it is not given.

    Raises:
        ValueError: something does not fit.
    """
    specs = agent_specs(agents)
    found = env_id(name)
    choice = choice_of(found)
    if choice == "problem" and "problem" in env_kwargs:
        if query != "all":
            raise ValueError(f"query = {query!r} and problem = {env_kwargs['problem']!r}; allowed: one of them")
        query = env_kwargs["problem"]
        env_kwargs = {key: value for key, value in env_kwargs.items() if key != "problem"}
    kwargs = {"horizon": rounds, **env_kwargs}
    try:
        kwargs = json.loads(json.dumps(kwargs))
    except TypeError as error:
        raise ValueError(f"the environment's arguments {env_kwargs} are not plain JSON values: {error}") from None
    check_env_arguments(found, kwargs)
    with contextlib.closing(one_row(found, choice, query, kwargs)) as env:
        if choice is not None and choice not in env.reset(seed=0)[1]:  # not of a row, but drawn in each session
            kwargs |= {} if query == "all" else {choice: query}
            choice, query = None, "all"
        specs = _fitting(specs, found, env)
        kind, cutoff = ("duels" if is_duel(action_kind(env)) else "rankings"), env_attribute(env, "cutoff")
        horizon, _ = env_horizons(env)
        tell = getattr(env.unwrapped, "common_breakpoints", None)  # not of an environment from elsewhere
        common = [] if tell is None else tell(rounds)
    breakpoints = None if common is None else tuple(map(int, common))
    if horizon is not None and rounds > horizon:
        raise ValueError(
            f"rounds = {rounds} exceeds the environment's horizon of {horizon}; allowed: at most {horizon} rounds, or "
            "an environment without horizon and max_episode_steps"
        )
    queries = _queries(found, choice, query, kwargs)
    cutoff = None if cutoff is None or kind == "duels" else int(np.max(cutoff))
    return Setting(found, kwargs, specs, rounds, queries, cutoff, breakpoints, kind, choice)


def decades(rounds: int) -> list[int]:
    """Return 1, 10, 100, ... up to ``rounds``."""
    return [10**power for power in range(len(str(rounds))) if 10**power <= rounds]


def recorded_rounds(rounds: int, breakpoints: Sequence[int] | None) -> list[int]:
    """Return additional rounds to record: powers of ten and, where users change, evenly spaced ones and breakpoints."""
    if breakpoints is not None and len(breakpoints) == 0:
        return decades(rounds)
    evenly = [round(rounds * n / EVENLY) for n in range(1, EVENLY + 1)]
    corners = breakpoints if breakpoints and len(breakpoints) <= CORNERS else ()
    return sorted({*decades(rounds), *evenly, *corners} - {0})


def agent_specs(agents: Sequence[str | type] | None) -> tuple[AgentSpec, ...]:
    """Parse and import the agents; an empty tuple stands for all that can play the environment."""
    if agents is None:
        return ()
    specs = tuple(parse_agent(agent) for agent in ([agents] if isinstance(agents, (str, type)) else agents))
    labels = [slug(spec.label) for spec in specs]
    if not specs or len(set(labels)) < len(labels):
        raise ValueError(f"agents = {[spec.label for spec in specs]}; allowed: at least one, each once")
    for spec in specs:
        try:
            spec.load()
        except Exception as error:
            if isinstance(error, ValueError) and str(error).startswith("agent = "):
                raise
            raise spec.failure(error) from error
    return specs


def _fitting(specs: tuple[AgentSpec, ...], name: str, env: Any) -> tuple[AgentSpec, ...]:
    """Return ``specs``, or if it is empty all agents of the table that can play ``env``.

    Raises:
        ValueError: an agent cannot play it; the message names those that can.
    """
    for spec in specs:
        wrong = incompatibility(spec.load(), env)
        if wrong:
            allowed = f"allowed for {name}: {', '.join(fitting_agents(env))}, or one of your own"
            raise ValueError(f"agent = {spec.label!r} {wrong.partition(';')[0]}; {allowed}")
    return specs or tuple(map(parse_agent, fitting_agents(env)))


def one_row(name: str, choice: str | None, query: Any, kwargs: dict[str, Any]) -> Any:
    """Make the environment with one row; a ValueError if ``query`` does not say what rows play."""
    if choice is None:
        if query != "all":
            raise ValueError(f"{name} has neither queries nor problems to choose from; allowed: query = 'all'")
        return gym.make_vec(name, num_envs=1, **kwargs)
    if query is None:
        many = {"query": "queries", "problem": "problems"}[choice]
        raise ValueError(f"{choice} = None is no choice of {many}; allowed: a number, a list, 'all', 'train' or 'test'")
    return gym.make_vec(name, num_envs=1, **{choice: query}, **kwargs)


def _queries(name: str, choice: str | None, query: Any, kwargs: dict[str, Any]) -> list[int]:
    """Return the numbers of the queries or problems that ``query`` means; [0] if the environment has neither."""
    if choice is None:
        return [0]
    if not isinstance(query, str):
        queries = [int(q) for q in ([query] if isinstance(query, (int, np.integer)) else query)]
        twice = next((q for n, q in enumerate(queries) if q in queries[:n]), None)
        if twice is not None:
            raise ValueError(
                f"{choice} = {queries} has {twice} twice; allowed: each once, and runs=2 to play them twice"
            )
        return queries
    with contextlib.closing(one_row(name, choice, query, kwargs)) as env:
        return [int(q) for q in env.unwrapped.pool]
