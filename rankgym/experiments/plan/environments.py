"""Environments as users name them: ids, arguments, queries, and agents that can play them, resolved and checked."""

import contextlib
import functools
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from rankgym.agent import agent_class
from rankgym.arguments import action_kind, env_attribute, env_horizons, is_duel, near, unknown_argument
from rankgym.experiments.plan.agents import (
    AgentLike,
    AgentSpec,
    fitting_agents,
    parameters_of,
    parse_agent,
    slug,
    split_names,
)
from rankgym.named_code import announce
from rankgym.play.game import incompatibility
from rankgym.registry import ENVS

CHOICES = ("query", "problem")  # arguments that say what each row plays; an environment has at most one of them
BASELINES, FEW = ("static", "random", "random-duels"), 4  # errors name so many agents that fit, and not these
KINDS = {"rankings": "sessions", "duels": "duels"}  # kinds of environments: what a row has one of in a round
EVENLY = 200  # evenly spaced rounds to record where epochs are: log-spaced ones are too sparse for a linear axis
CORNERS = 200  # breakpoints to record at; of more, a figure cannot show the corners


def env_id(name: str) -> str:
    """Return the full id of ``name``: one of ``ENVS``, with or without ``rankgym/``, or any other id of Gymnasium."""
    if not isinstance(name, str):
        raise ValueError(f"env_id = {name!r} is not an id; allowed: a text, such as 'PBM-Yandex-v0'")
    for candidate in (name, f"rankgym/{name}"):
        if candidate in ENVS:
            return candidate
    if "/" in name and not name.startswith("rankgym/"):
        try:
            return gym.spec(name).id if ":" not in name else name  # "module:id": imported where it is made
        except gym.error.Error:
            pass
    short = [known.removeprefix("rankgym/") for known in ENVS]
    hint = near(name.removeprefix("rankgym/"), short)
    allowed = f"{hint} `rankgym envs` lists all {len(short)}" if hint else f"; allowed: {', '.join(short)}"
    raise ValueError(f"environment {name!r} is unknown{allowed}")


def env_creator(name: str) -> Any:
    """Return the class or function that makes the native vector environment of an id, or None."""
    try:
        made = gym.spec(name).vector_entry_point
    except gym.error.Error:  # "module:id": not imported yet
        return None
    return load_env_creator(made) if isinstance(made, str) else made


def env_arguments(name: str) -> dict[str, Any] | None:
    """Return the arguments of an id's vector environment with their defaults, without ``num_envs`` and queries.

    None if they are unknown: the id has no native vector environment, or its class takes any keyword.
    """
    defaults = _all_arguments(name)
    if defaults is None:
        return None
    mine = {key: value for key, value in defaults.items() if key not in ("num_envs", *CHOICES)}
    return {**mine, **gym.spec(name).kwargs}


def choice_of(name: str) -> str | None:
    """Return the argument that says what each row plays, "query" or "problem"; None if the environment has neither."""
    defaults = _all_arguments(name)
    return CHOICES[0] if defaults is None else next((choice for choice in CHOICES if choice in defaults), None)


def _all_arguments(name: str) -> dict[str, Any] | None:
    """Return the arguments of an id's vector class or function with their defaults; None if they are unknown.

    A class that takes any keyword hands it on to its base, so that the base's arguments are its own too.
    """
    creator = env_creator(name)
    if creator is None:
        return None
    defaults: dict[str, Any] = {}
    for taker in inspect.getmro(creator)[:-1] if inspect.isclass(creator) else [creator]:
        if inspect.isclass(taker) and "__init__" not in vars(taker):
            continue  # it inherits the next one's
        named, any_keyword = parameters_of(taker)
        parameters = inspect.signature(taker).parameters
        defaults = {key: parameters[key].default for key in named} | defaults
        if not any_keyword:
            return defaults
    return None


def check_env_arguments(name: str, given: Iterable[str], others: Iterable[str] = ()) -> None:
    """Raise a ValueError if the vector environment of an id is known not to take an argument named in ``given``.

    ``others`` are the caller's own arguments, which may have been meant.
    """
    known = env_arguments(name)
    for key in given:
        if known is not None and key not in known:
            raise ValueError(unknown_argument(name, key, known, others))


class ResolvedEnvironment(NamedTuple):
    """An environment and its agents, which were checked to fit together."""

    env_id: str
    env_kwargs: dict[str, Any]  # with the horizon, without ``choice``
    agents: tuple[AgentSpec, ...]
    rounds: int
    queries: list[int]  # row b plays the one numbered b mod len(queries); [0] if the environment has none
    cutoff: int | None  # positions that count; None: no list has positions
    breakpoints: tuple[int, ...] | None  # rounds at which all rows begin a new epoch; None: each row has its own
    kind: str  # of KINDS
    choice: str | None  # the environment's argument that says which of ``queries`` a row plays


def resolve(
    name: str, agents: Sequence[AgentLike] | None, rounds: int, query: Any, env_kwargs: Mapping[str, Any]
) -> ResolvedEnvironment:
    """Resolve arguments of ``compare``, or raise a ValueError; the environment is made with one row, and closed."""
    specs, found = agent_specs(agents), env_id(name)
    choice = choice_of(found)
    if choice == "problem" and "problem" in env_kwargs:
        if query != "all":
            raise ValueError(f"query = {query!r} and problem = {env_kwargs['problem']!r}; allowed: one of them")
        env_kwargs = dict(env_kwargs)
        query = env_kwargs.pop("problem")
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
        find = getattr(env.unwrapped, "common_breakpoints", None)  # other packages' have no such method
        common = [] if find is None else find(rounds)
    breakpoints = None if common is None else tuple(map(int, common))
    if horizon is not None and rounds > horizon:
        raise ValueError(
            f"rounds = {rounds} exceeds the environment's horizon of {horizon}; allowed: at most {horizon} rounds, or "
            "an environment without horizon and max_episode_steps"
        )
    queries = _queries(found, choice, query, kwargs)
    cutoff = None if cutoff is None or kind == "duels" else int(np.max(cutoff))
    return ResolvedEnvironment(found, kwargs, specs, rounds, queries, cutoff, breakpoints, kind, choice)


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


def agent_specs(agents: Sequence[AgentLike] | None) -> tuple[AgentSpec, ...]:
    """Parse and import the agents; an empty tuple stands for all that can play the environment."""
    if agents is None:
        return ()
    one = isinstance(agents, (type, functools.partial))
    listed: Any = split_names(agents) if isinstance(agents, str) else [agents] if one else agents
    specs = tuple(map(parse_agent, listed))
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
    """Return ``specs``, or if empty all agents that can play ``env``; a ValueError if one of ``specs`` cannot."""
    for spec in specs:
        wrong = incompatibility(agent_class(spec.load()), env)
        if wrong:
            fitting = fitting_agents(env)
            few = [one for one in fitting if one not in BASELINES][:FEW]
            more = f" and {len(fitting) - len(few)} more" if len(fitting) > len(few) else ""
            allowed = f"allowed for {name}: {', '.join(few)}{more}, or one of your own; `rankgym agents` lists all"
            raise ValueError(f"agent = {spec.label!r} {wrong.partition(';')[0]}; {allowed}")
    return specs or tuple(map(parse_agent, fitting_agents(env)))


def one_row(name: str, choice: str | None, query: Any, kwargs: dict[str, Any]) -> Any:
    """Make the environment with one row; a ValueError if ``query`` does not say what rows play."""
    if ":" in name:  # "module:id"
        announce(name.partition(":")[0])
    if choice is None:
        if query != "all":
            raise ValueError(f"{name} has neither queries nor problems to choose from; allowed: query = 'all'")
        return gym.make_vec(name, num_envs=1, **kwargs)
    if query is None:
        many = {"query": "queries", "problem": "problems"}[choice]
        raise ValueError(f"{choice} = None does not choose {many}; allowed: a number, a list, 'all', 'train' or 'test'")
    return gym.make_vec(name, num_envs=1, **{choice: query}, **kwargs)


def _queries(name: str, choice: str | None, query: Any, kwargs: dict[str, Any]) -> list[int]:
    """Return the numbers of the queries or problems that ``query`` means; [0] if the environment has neither."""
    if choice is None:
        return [0]
    if not isinstance(query, str):
        listed = [query] if isinstance(query, (int, np.integer)) else list(query)
        if any(isinstance(one, str) for one in listed):  # names
            with contextlib.closing(one_row(name, choice, query, kwargs)) as env:
                listed = env.unwrapped.pool.tolist()
        queries = [int(q) for q in listed]
        twice = next((q for n, q in enumerate(queries) if q in queries[:n]), None)
        if twice is not None:
            allowed = "allowed: each once, and runs=2 to play them twice"
            raise ValueError(f"{choice} = {queries} has {twice} twice; {allowed}")
        return queries
    with contextlib.closing(one_row(name, choice, query, kwargs)) as env:
        return [int(q) for q in env.unwrapped.pool]
