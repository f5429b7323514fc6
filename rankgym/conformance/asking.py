"""Asking an agent for its beliefs: what it may say, and whether asking changes the agent."""

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from operator import index
from typing import Any

from rankgym.agent import Beliefs
from rankgym.conformance.rulebook import fail

RULE = "beliefs"
ELSEWHERE = "_attributes_elsewhere"  # method of agents whose attributes are in another process


def ask_for_beliefs(agent: Any, row: int, number: int, when: str) -> None:
    """Ask twice for a row's beliefs about ``number`` items or arms.

    The rule is broken if the answers are not what ``checked_beliefs`` allows, or differ, or if an attribute of the
    agent does.
    """
    before = attributes(agent)
    answers = []
    for _ in range(2):
        found = agent.beliefs(row)
        if not isinstance(found, Beliefs | None):
            fail(RULE, f"beliefs({row}) returned {found!r} {when}", "rankgym.agent.Beliefs, or None")
        try:
            checked_beliefs(found, number)
        except (TypeError, ValueError) as error:
            seen, _, allowed = str(error).partition("; allowed: ")
            fail(RULE, f"{seen.replace('beliefs()', f'beliefs({row})')} {when}", allowed or "no error", error)
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

    Attributes that come later, such as values that are computed once and kept, are no change. Of an agent in another
    process (``rankgym.submissions``) they are those of the submitted object.
    """
    elsewhere = getattr(type(agent), ELSEWHERE, None)
    if elsewhere is not None:
        inside: dict[str, bytes] = elsewhere(agent)
        return inside
    found = {}
    for name, value in getattr(agent, "__dict__", {}).items():
        try:
            found[name] = pickle.dumps(value)
        except Exception:  # rule "copies" says so
            continue
    return found


def checked_beliefs(found: Any, number: int) -> Beliefs | None:
    """Return an agent's beliefs about ``number`` items or arms, NumPy's numbers as Python's.

    Raises:
        TypeError: they are not ``Beliefs``, or a part of them has another type.
        ValueError: they name what is not an item, or an item twice in one part, or have another number of scores.
    """
    if found is None:
        return None
    if not isinstance(found, Beliefs):
        raise TypeError(f"beliefs() = {found!r}; allowed: rankgym.agent.Beliefs, or None")
    if not isinstance(found.blocks, Iterable):
        raise TypeError(f"beliefs().blocks = {found.blocks!r}; allowed: a tuple of tuples of items")
    if not isinstance(found.scores, Mapping):
        raise TypeError(f"beliefs().scores = {found.scores!r}; allowed: a dict from names to {number} numbers each")
    for name, values in found.scores.items():
        _check_scores(name, values, number)
    (champion,) = (None,) if found.champion is None else _items("champion", (found.champion,), number)
    return replace(
        found,
        blocks=_blocks(found.blocks, number),
        out=_items("out", found.out, number),
        base_list=_items("base_list", found.base_list, number),
        champion=champion,
    )


def _items(part: str, given: Any, number: int) -> tuple[int, ...]:
    """Return the items that a part of beliefs names as Python's numbers."""
    try:
        items = tuple(map(index, given))
    except TypeError:
        allowed = f"allowed: items, whole numbers in 0 .. {number - 1}"
        raise TypeError(f"beliefs().{part} has {given!r}; {allowed}") from None
    wrong = next((item for item in items if not 0 <= item < number), None)
    if wrong is not None:
        raise ValueError(f"beliefs().{part} names {wrong}; allowed: 0 .. {number - 1}")
    twice = next((item for place, item in enumerate(items) if item in items[:place]), None)
    if twice is not None:
        raise ValueError(f"beliefs().{part} names {twice} twice; allowed: each item at most once")
    return items


def _blocks(given: Iterable[Any], number: int) -> tuple[tuple[int, ...], ...]:
    """Return the blocks as Python's numbers; all of them together name each item at most once."""
    blocks = tuple(_items("blocks", block, number) for block in given)
    _items("blocks", [item for block in blocks for item in block], number)
    return blocks


def _check_scores(name: str, values: Any, number: int) -> None:
    kinds = set(map(type, values)) if isinstance(values, Iterable) else {type(None)}
    if not all(issubclass(kind, Real) for kind in kinds):
        allowed = f"allowed: {number} numbers, infinite ones among them"
        raise TypeError(f"beliefs().scores[{name!r}] = {values!r}; {allowed}")
    length = len(values)
    if length != number:
        raise ValueError(f"beliefs().scores[{name!r}] has {length} numbers; allowed: {number}")
