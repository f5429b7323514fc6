"""Asking an agent for its beliefs: what it says, and whether asking changes the agent."""

import pickle
from typing import Any

from rankgym.agent import Beliefs
from rankgym.conformance.rulebook import fail

RULE = "beliefs"


def ask_for_beliefs(agent: Any, row: int, when: str) -> None:
    """Ask twice for a row's beliefs; the rule is broken if the answers differ, or if an attribute of the agent does."""
    before = attributes(agent)
    answers = []
    for _ in range(2):
        found = agent.beliefs(row)
        if not isinstance(found, Beliefs | None):
            fail(RULE, f"beliefs({row}) returned {found!r} {when}", "rankgym.agent.Beliefs, or None")
        answers.append({name: pickle.dumps(part) for name, part in vars(found).items()} if found else {})
    after = attributes(agent)
    changed = [name for name, value in before.items() if after.get(name) != value]
    if changed:
        which = f"the attribute{'s' if len(changed) > 1 else ''} {', '.join(changed)} of the agent"
        fail(RULE, f"beliefs({row}) changed {which} {when}", "an agent that stays as it was")
    different = [name for name in answers[0].keys() | answers[1].keys() if answers[0].get(name) != answers[1].get(name)]
    if different:
        which = f"two calls of beliefs({row}) differ in {', '.join(sorted(different))} {when}"
        fail(RULE, which, "the same answer until the next update")


def attributes(agent: Any) -> dict[str, bytes]:
    """Return the agent's attributes, as bytes; those that cannot be pickled are left out.

    Attributes that come later, such as values that are computed once and kept, are no change.
    """
    found = {}
    for name, value in getattr(agent, "__dict__", {}).items():
        try:
            found[name] = pickle.dumps(value)
        except Exception:  # rule "copies" says so
            continue
    return found
