"""What an agent must have before any rule can be tried: its methods, and what its base class sets."""

from collections.abc import Callable
from typing import Any

from rankgym.agent import Agent, DuelingAgent

METHODS: dict[
    type | None, dict[str, str]
] = {  # how each method is written, by the base class; None: classes of no base class
    Agent: {"act": "act(self, observation=None)", "update": "update(self, displayed, clicks)"},
    DuelingAgent: {
        "act": "act(self, observation=None)",
        "update": "update(self, duel, won)",
        "candidate": "candidate(self), a property",
    },
    None: {"act": "act(self, observation)", "update": "update(self, action, feedback)"},
}
SHAPE: dict[type, tuple[str, ...]] = {  # what methods of the base class rely on; a class may set these itself
    Agent: ("num_envs", "num_items", "num_positions"),
    DuelingAgent: ("num_envs", "num_arms"),
}
SET: dict[type, set[str]] = {
    Agent: {*SHAPE[Agent], "horizon", "seeds", "initial_list"},
    DuelingAgent: {*SHAPE[DuelingAgent], "horizon", "seeds"},
}
CALLS: dict[type, str] = {  # how the constructor of the base class is called
    Agent: "num_items=num_items, num_positions=num_positions, num_envs=num_envs, horizon=horizon, seed=seed, "
    "initial_list=initial_list",
    DuelingAgent: "num_arms=num_arms, num_envs=num_envs, horizon=horizon, seed=seed",
}


class MissingPart(TypeError):
    """An agent lacks a part: ``seen`` says which one, ``expected`` what to write."""

    def __init__(self, seen: str, expected: str) -> None:
        super().__init__(seen, expected)
        self.seen, self.expected = seen, expected

    def __str__(self) -> str:
        return f"{self.seen}; expected: {self.expected}"


def base_of(cls: Any) -> type | None:
    """Return ``Agent`` or ``DuelingAgent``, whichever ``cls`` is a subclass of, or None."""
    return next((base for base in (Agent, DuelingAgent) if isinstance(cls, type) and issubclass(cls, base)), None)


def check_methods(cls: type) -> None:
    """Raise ``MissingPart`` if the class ``cls`` lacks a method that agents need."""
    base = base_of(cls)
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    for name, written in METHODS[base].items():
        if name in abstract or (base is not None and not hasattr(cls, name)):
            raise MissingPart(f"{cls.__name__} has no {name}", f"def {written}")


def make_agent(factory: Callable[..., Any], *args: Any, **arguments: Any) -> Any:
    """Call ``factory`` and return the agent.

    Raises:
        MissingPart: it lacks a method, or what ``super().__init__`` of its base class sets.
        Exception: whatever else ``factory`` raises.
    """
    if isinstance(factory, type):
        check_methods(factory)
    try:
        agent = factory(*args, **arguments)
    except AttributeError as error:
        made = getattr(error, "obj", None)
        base = base_of(type(made))
        if base is not None and error.name in SET[base] and "seeds" not in vars(made):
            raise _without_super(type(made), base, f" before it uses self.{error.name}") from error
        raise
    cls = type(agent)
    base = base_of(cls)
    if base is not None and any(not hasattr(agent, name) for name in SHAPE[base]):
        raise _without_super(cls, base, "")
    for name, written in METHODS[base].items():
        if not hasattr(cls, name) and not hasattr(agent, name):
            raise MissingPart(f"{cls.__name__} has no {name}", f"def {written}")
    return agent


def _without_super(cls: type, base: type, when: str) -> MissingPart:
    seen = f"{cls.__name__}.__init__ does not call super().__init__(...){when}"
    return MissingPart(seen, f"in its first line: super().__init__({CALLS[base]})")
