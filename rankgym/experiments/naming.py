"""What people type: names of agents with their knobs, and of environments; near names are suggested."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
from gymnasium.vector import VectorEnv

from rankgym.registry import ENVS

__all__ = ["AgentSpec", "env_id", "literal", "near", "parse_agent", "split_names"]

SHAPE = ("num_items", "num_positions", "num_envs", "horizon", "seed", "initial_list")  # what every agent may be told


class AgentSpec(NamedTuple):
    """An agent as it was asked for; it can be sent to another process."""

    label: str  # what the user wrote
    where: str  # "package.module:Class"
    knobs: dict[str, Any]

    def load(self) -> Any:
        """The class.

        Raises:
            ValueError: there is no such module or class.
        """
        module_name, _, class_name = self.where.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise  # the module is there; what it imports is not
            raise ValueError(f"agent = {self.label!r}: there is no module {error.name!r}") from None
        found: Any = module
        for name in class_name.split("."):
            if not hasattr(found, name):
                raise ValueError(f"agent = {self.label!r}: module {module_name!r} has no {class_name!r}")
            found = getattr(found, name)
        return found

    def make(self, env: VectorEnv[Any, Any, Any], horizon: int, seed: int) -> Any:
        """The agent for ``env``: from the class's ``for_env``, or else called with what of ``SHAPE`` it takes.

        Raises:
            ValueError: the class does not take these arguments.
        """
        cls = self.load()
        try:
            if hasattr(cls, "for_env"):
                return cls.for_env(env, horizon=horizon, seed=seed, **self.knobs)
            bare: Any = env.unwrapped
            known = {
                "num_items": bare.num_items,
                "num_positions": bare.num_positions,
                "num_envs": env.num_envs,
                "horizon": horizon,
                "seed": seed,
                "initial_list": bare.initial_list,
            }
            taken, takes_all = _parameters(cls)
            return cls(**{name: value for name, value in known.items() if takes_all or name in taken}, **self.knobs)
        except (TypeError, ValueError) as error:
            knobs = [name for name in _parameters(cls)[0] if name not in SHAPE]
            hint = f"; its knobs: {', '.join(knobs) or 'none'}" if isinstance(error, TypeError) else ""
            raise ValueError(f"agent = {self.label!r}: {error}{hint}") from error

    def digest(self) -> str:
        """The sha256 of the file that the class is written in; "" where there is none."""
        try:
            source = inspect.getsourcefile(self.load())
            return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""
        except (OSError, TypeError):  # typed into an interpreter, or compiled
            return ""


def _parameters(cls: Any) -> tuple[list[str], bool]:
    """The names of the parameters of ``cls``, and whether it takes any other keyword."""
    kinds = {name: parameter.kind for name, parameter in inspect.signature(cls).parameters.items()}
    named = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)]
    return named, any(kind is kind.VAR_KEYWORD for kind in kinds.values())


def split_names(text: str) -> list[str]:
    """The parts of ``text`` between its commas, but not those within brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def literal(text: str) -> Any:
    """``text`` as JSON where it is JSON (numbers, true, false, null, lists, "quoted"), or else as it stands."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def near(word: str, words: Iterable[str]) -> str:
    """'; did you mean ...?' with the one of ``words`` that looks most like ``word``, or ''."""
    lower = {w.lower(): w for w in words}
    close = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def parse_agent(agent: str | type) -> AgentSpec:
    """The agent that ``agent`` names.

    Args:
        agent: a name of ``rankgym_agents.AGENTS``, or ``"package.module:Class"``, both with knobs if wanted:
            ``"toprank:delta=1e-6"``, ``"cascade-kl-ucb:feedback=last:exploration=log"``; or a class.

    Raises:
        ValueError: nothing has this name.
    """
    from rankgym_agents import AGENTS

    if isinstance(agent, type):
        return AgentSpec(agent.__name__, f"{agent.__module__}:{agent.__qualname__}", {})
    if not isinstance(agent, str):
        raise ValueError(f"agent = {agent!r} is no agent; allowed: a name or a class")
    name, *rest = agent.split(":")
    if rest and "=" not in rest[0]:
        where = f"{name}:{rest.pop(0)}"
    elif name in AGENTS:
        where = f"{AGENTS[name].__module__}:{AGENTS[name].__qualname__}"
    else:
        hint = near(name, AGENTS)
        allowed = f"allowed: {', '.join(AGENTS)}, or one of your own as package.module:Class"
        raise ValueError(f"agent = {name!r} is unknown{hint or ';'} {allowed}")
    knobs = {}
    for part in rest:
        knob, equals, value = part.partition("=")
        if not equals or not knob.isidentifier():
            raise ValueError(f"agent = {agent!r}: {part!r} is no knob; allowed: name=value")
        knobs[knob] = literal(value)
    return AgentSpec(agent, where, knobs)


def env_id(name: str) -> str:
    """The id that ``name`` stands for: one of ``ENVS``, with or without ``rankgym/``, or another one of Gymnasium's.

    Raises:
        ValueError: there is none; a near name is suggested.
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
    raise ValueError(f"environment {name!r} is unknown{hint or ';'} allowed: {', '.join(short)}")
