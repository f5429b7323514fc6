"""Which agents can play which environments, and the errors for those that cannot."""

from __future__ import annotations

from typing import Any, Protocol

from gymnasium.vector import VectorEnv

from rankgym.agent import Agent, DuelingAgent
from rankgym.arguments import ActionKind, action_kind

__all__ = ["ActsAndUpdates", "check_compatible", "incompatibility"]


class ActsAndUpdates(Protocol):
    """What ``simulate`` needs of an agent. Any class with these two methods will do."""

    def act(self, observation: Any) -> Any: ...
    def update(self, action: Any, feedback: Any, /) -> Any: ...


def check_compatible(agent: Any, env: Any) -> None:
    """Raise a ValueError if ``agent`` cannot play the vector environment ``env``."""
    if isinstance(agent, type) or not (hasattr(agent, "act") and hasattr(agent, "update")):
        raise ValueError(
            f"agent = {agent!r} is not an agent; allowed: an object with act and update, such as TopRank.for_env(env)"
        )
    if not isinstance(env, VectorEnv):
        raise ValueError(f"env = {env!r} is not a vector environment; make one with gym.make_vec(id, num_envs=1)")
    reason = incompatibility(type(agent), env)
    if reason:
        raise ValueError(f"agent = {agent!r} {reason}")
    rows = getattr(agent, "num_envs", env.num_envs)
    if rows != env.num_envs:
        raise ValueError(
            f"the agent has {rows} rows and env {env.num_envs}; make it with {type(agent).__name__}.for_env(env)"
        )
    if isinstance(agent, DuelingAgent):
        space: Any = env.single_action_space
        arms = int(space["left"].n)
        if agent.num_arms != arms:
            raise ValueError(
                f"the agent has {agent.num_arms} arms and env {arms}; make it with {type(agent).__name__}.for_env(env)"
            )


def incompatibility(cls: Any, env: Any) -> str:
    """Why agents of class ``cls`` cannot play ``env`` and which can; "" if they can, or if it is not known."""
    if not isinstance(cls, type):
        return ""
    rank = "allowed: a ranking agent, such as those of rankgym_agents.RANKERS"
    duel = "allowed: a dueling agent, such as those of rankgym_agents.DUELERS"
    kind = action_kind(env.unwrapped)
    if kind is ActionKind.RANKING and issubclass(cls, DuelingAgent):
        return f"compares arms, and the environment has rankings; {rank}"
    if kind is ActionKind.DUEL_OF_ARMS and issubclass(cls, Agent):
        return f"ranks items, and the environment has duels; {duel}"
    if kind is ActionKind.DUEL_OF_RANKINGS and issubclass(cls, DuelingAgent):
        return f"compares arms, and in the environment lists duel; {rank}, which duels against itself"
    return ""
