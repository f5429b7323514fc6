"""How a check fails, and the plain data that submissions take and give: compared, and shown as text."""

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

TOLERANCE = 1e-9  # relative and absolute, of floats
UNWRITTEN = "not written yet"  # what a function that still raises NotImplementedError gives
LONGEST_TEXT = 400  # characters of a value in a message
PLAIN_TYPES = frozenset({bool, int, float, str})


class Fault(NamedTuple):
    """How a check failed: the smallest case that was found.

    ``Trial`` has an example.
    """

    where: str  # the function or class of the submission
    call: str  # what was called, as Python text
    expected: str  # "" if there is no single right answer
    got: str
    mistake: str = ""  # what the answer looks like
    line: int | None = None  # of the submission; of a notebook as one script
    code: str = ""
    place: str = ""  # the line in words
    state: str = ""  # of an agent: the right values just before the round that is shown
    begin: str = ""  # functions that it uses and that fail their own checks


class Failed(Exception):
    """Ends a check. ``choices`` are those of an agent before it failed.

    ``Trial`` raises it, and has an example.
    """

    def __init__(self, fault: Fault, choices: Sequence[Any] = ()) -> None:
        super().__init__(fault)
        self.fault, self.choices = fault, list(choices)


def plain(value: Any) -> Any:
    """Return ``value`` with arrays, tuples and NumPy's numbers as lists and numbers."""
    if isinstance(value, list | tuple):  # of numbers mostly, and long
        return [one if type(one) in PLAIN_TYPES else plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return value


def same(one: Any, other: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two plain values are the same: floats within ``tolerance``, bools as 0 and 1."""
    if isinstance(one, list) or isinstance(other, list):
        lists = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
        return lists and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        with contextlib.suppress(OverflowError):  # whole numbers beyond floats are the same only if they are equal
            return bool(one == other or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance))
    return bool(one == other)


def shown(value: Any) -> str:
    """Return ``value`` as Python text, floats with ten digits, long texts cut."""
    text = _text(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value + 0.0:.10g}" if isinstance(value, float) else repr(value)  # -0.0 as 0


def called(function: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> str:
    """Return a call as Python text."""
    texts = [shown(value) for value in args]
    texts += [f"{name}={shown(value)}" for name, value in (kwargs or {}).items()]
    return f"{function}({', '.join(texts)})"
