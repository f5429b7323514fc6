"""What an agent must have before any rule can be tried: its methods, and what its base class sets."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rankgym.agent import Agent, DuelingAgent, StatefulLearner

METHODS: dict[
    type | None, dict[str, str]
] = {  # how each method is written, by the base class; None: classes of no base class
    Agent: {"act": "act(self, observation=None)", "update": "update(self, displayed, clicks)"},
    DuelingAgent: {
        "act": "act(self, observation=None)",
        "update": "update(self, duel, won)",
        "candidate": "candidate(self), a property",
    },
    None: {"act": "act(self, observation)", "update": "update(self, displayed, clicks)"},
}
TAKES = {"act": 1, "update": 2}  # positional arguments with which the loop calls these methods
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
    """Raise ``MissingPart``, which names all of them, if the class ``cls`` lacks methods that agents need."""
    _raise(_absent_methods(cls).values())


def _absent_methods(cls: type) -> dict[str, MissingPart]:
    """Return what the class ``cls`` lacks, by the method's name. Of a plain class, its constructor may set methods."""
    base = base_of(cls)
    abstract: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    return {
        name: MissingPart(f"{cls.__name__} has no {name}", f"def {written}")
        for name, written in METHODS[base].items()
        if name in abstract or (base is not None and not hasattr(cls, name))
    }


def _raise(missing: Iterable[MissingPart]) -> None:
    """Raise one ``MissingPart`` of all, if there are any."""
    parts = list(missing)
    if parts:
        cause = next((part.__cause__ for part in parts if part.__cause__ is not None), None)
        raise MissingPart("; ".join(part.seen for part in parts), "; ".join(part.expected for part in parts)) from cause


def make_agent(factory: Callable[..., Any], *args: Any, **arguments: Any) -> Any:
    """Call ``factory`` and return the agent.

    Raises:
        MissingPart: it lacks methods, or what ``super().__init__`` of its base class sets. All of this is named.
        Exception: whatever else ``factory`` raises.
    """
    absent = _absent_methods(factory) if isinstance(factory, type) else {}
    if (
        isinstance(factory, type) and absent
    ):  # an abstract class makes no agent; with stubs its constructor can be tried
        parts, stubs = list(absent.values()), {name: lambda *_: None for name in absent}
        with contextlib.suppress(Exception):
            try:
                make_agent(type(factory.__name__, (factory,), stubs), *args, **arguments)
            except MissingPart as more:
                parts.append(more)
        _raise(parts)
    try:
        agent = factory(*args, **arguments)
    except AttributeError as error:
        made = getattr(error, "obj", None)
        base = base_of(type(made))
        if base is not None and error.name in SET[base] and "seeds" not in vars(made):
            raise _without_super(type(made), base, f" before it uses self.{error.name}") from error
        raise
    _raise(_missing(agent))
    return agent


def _missing(agent: Any) -> Iterator[MissingPart]:
    """Yield what ``agent`` lacks: what ``super().__init__`` sets, its state, methods, their parameters."""
    cls = type(agent)
    base = base_of(cls)
    if base is not None and any(not hasattr(agent, name) for name in SHAPE[base]):
        yield _without_super(cls, base, "")
    elif isinstance(agent, StatefulLearner) and not hasattr(agent, "state"):
        what = "self.state = State(...), a NamedTuple of arrays with a leading axis of num_envs rows"
        yield MissingPart(f"{cls.__name__}.__init__ does not set self.state", what)
    for name, written in METHODS[base].items():
        method = getattr(agent, name, None) if name in TAKES else None
        if not hasattr(cls, name) and not hasattr(agent, name):
            yield MissingPart(f"{cls.__name__} has no {name}", f"def {written}")
        elif callable(method) and not _takes(method, TAKES[name]):
            yield MissingPart(f"{cls.__name__}.{name} has the parameters {inspect.signature(method)}", f"def {written}")


def _takes(method: Callable[..., Any], number: int) -> bool:
    """Return whether ``method`` can be called with so many positional arguments; True if its signature is unknown."""
    try:
        inspect.signature(method).bind(*[None] * number)
    except TypeError:
        return False
    except ValueError:  # compiled
        return True
    return True


def _without_super(cls: type, base: type, when: str) -> MissingPart:
    seen = f"{cls.__name__}.__init__ does not call super().__init__(...){when}"
    return MissingPart(seen, f"in its first line: super().__init__({CALLS[base]})")
