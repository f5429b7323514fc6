"""Environments as users name them: ids, their arguments and defaults, and the argument that says what rows play."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from rankgym.arguments import near
from rankgym.experiments.plan.agents import parameters_of
from rankgym.registry import ENVS

__all__ = ["check_env_arguments", "choice_of", "env_arguments", "env_creator", "env_id"]

CHOICES = ("query", "problem")  # arguments that say what each row plays; an environment has at most one of them


def env_id(name: str) -> str:
    """Return the full id of ``name``: one of ``ENVS``, with or without ``rankgym/``, or any other id of Gymnasium.

    Raises:
        ValueError: the id is unknown; a similar one is suggested.
    """
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
    if hint:
        raise ValueError(f"environment {name!r} is unknown{hint} `rankgym envs` lists all {len(short)}")
    raise ValueError(f"environment {name!r} is unknown; allowed: {', '.join(short)}")


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
    """Return the arguments of the class or function that makes an id's vector environment, with its own defaults.

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


def check_env_arguments(name: str, given: Iterable[str]) -> None:
    """Check that the vector environment of an id takes the arguments named ``given``, as far as that is known.

    Raises:
        ValueError: it does not take one of them; a similar name is suggested.
    """
    known = env_arguments(name)
    for key in given:
        if known is not None and key not in known:
            raise ValueError(f"{name} has no argument {key!r}{near(key, known) or ';'} allowed: {', '.join(known)}")
