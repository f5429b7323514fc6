"""The answering side of remote agents: makes them of the submitted classes, and calls them.

Runs in the submission's process. ``remote_agents.py`` is the asking side.
"""

import copy
import hashlib
import inspect
from time import perf_counter
from typing import Any

from rankgym.agent import DuelingAgent, Learner
from rankgym.conformance.agents import kind_of
from rankgym.conformance.asking import attributes as attributes_of
from rankgym.conformance.parts import base_of, check_methods, make_agent
from rankgym.submissions.values import Watched, decode, encode

OPTIONAL = ("settled", "snapshot", "restore", "beliefs")  # methods that have defaults in the base classes
PINNED = ("snapshot", "restore")  # whose arrays are watched for as long as the agent lives
WATCHED: dict[int, Watched] = {}  # by the agent's number


def described(answerer: Any, name: str) -> dict[str, Any]:
    """Return what the asking side must know of a class of agents, or of a function that makes them.

    Keys: ``base`` ("Agent", "DuelingAgent" or ""), ``duels``, ``one_user`` (it serves one user at a time), ``methods``
    (optional ones that it has), and ``parameters``: name, kind and whether it has a default, of each.

    Raises:
        MissingPart: the class lacks a method.
    """
    own, found = answerer.named(name), answerer.agent_class(name)
    if isinstance(found, type):
        check_methods(found)
    base = base_of(found)
    parameters = inspect.signature(found).parameters.values()
    defaults = [getattr(cls, one) for cls in (Learner, DuelingAgent) for one in OPTIONAL]
    methods = [one for one in OPTIONAL if getattr(found, one, None) not in (None, *defaults)]
    return {
        "base": "" if base is None else base.__name__,
        "duels": kind_of(found) == "dueling",
        "one_user": found is not own,
        "methods": methods,
        "parameters": [[one.name, int(one.kind), one.default is not one.empty] for one in parameters],
    }


def make(answerer: Any, name: str, arguments: Any, watch: bool) -> dict[str, Any]:
    """Make an agent; return its number, and what became of the arguments."""
    watched = Watched(-1) if watch else None
    given = decode(arguments, watched, pin=True)
    number = answerer.kept(make_agent(answerer.agent_class(name), **given))
    agent = answerer.objects[number]
    if watched is not None:
        WATCHED[number] = watched
    has = [
        one for one in (*OPTIONAL, "candidate") if hasattr(type(agent), one) or one in getattr(agent, "__dict__", ())
    ]
    return {"number": number, "has": has, "changes": watched.changes() if watched else []}


def copied(answerer: Any, of: int) -> int:
    """Return the number of a deep copy."""
    return _watched_too(answerer.kept(copy.deepcopy(answerer.objects[of])), of in WATCHED)


def dumped(answerer: Any, of: int) -> str:
    """Return an agent's bytes as text."""
    return str(answerer.dump(of))


def undumped(answerer: Any, data: str, watch: bool) -> int:
    """Return the number of an agent that was dumped."""
    return _watched_too(answerer.undump(data), watch)


def attributes(answerer: Any, of: int) -> dict[str, str]:
    """Return a digest of each attribute of an agent, by its name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in attributes_of(answerer.objects[of]).items()}


def _watched_too(number: int, watch: bool) -> int:
    if watch:
        WATCHED[number] = Watched(-1)
    return number


def drop(answerer: Any, numbers: list[int]) -> None:
    """Forget agents."""
    for number in numbers:
        answerer.objects.pop(number, None)
        WATCHED.pop(number, None)


def ask(answerer: Any, of: int, calls: list[Any], changes: list[Any]) -> dict[str, Any]:
    """Call methods of an agent one after the other, or read an attribute; return what came of the last call.

    Args:
        answerer: has the objects.
        of: number of the agent.
        calls: [name, arguments] each; arguments None: an attribute.
        changes: what the asking side wrote into arrays.

    Returns:
        ``value``; ``changes`` of arrays; ``arguments``: lists and dicts that the last call has changed, by their place;
        and the ``seconds`` that all calls took.
    """
    agent, watched = answerer.objects[of], WATCHED.get(of)
    if watched is not None:
        watched.apply(changes)
    seconds, value, pin = 0.0, None, False
    became: dict[str, Any] = {}
    for name, arguments in calls:
        pin = name in PINNED
        given = [] if arguments is None else [decode(one, watched, pin) for one in arguments]
        start = perf_counter()
        value = getattr(agent, name) if arguments is None else getattr(agent, name)(*given)
        seconds += perf_counter() - start
        if watched is not None:
            now = {
                str(place): encode(one, watched, pin) for place, one in enumerate(given) if type(one) in (list, dict)
            }
            became = {place: one for place, one in now.items() if one != arguments[int(place)]}
    answer = {"value": encode(value, watched, pin), "arguments": became, "seconds": seconds}
    return answer | {"changes": [] if watched is None else watched.changes()}
