"""Values between the two processes of a remote agent: arrays keep their dtype, and, where they are watched, identity.

An agent may keep an array that it was given, or give away one that it still uses. ``Watched`` numbers the arrays that
passed between the processes, so that what one side writes into such an array is written into the other side's, too.
"""

import base64
from collections import OrderedDict
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Beliefs

PLAIN = (bool, int, float, str, type(None))
KINDS = "biufc"  # dtypes of numbers
MOST_OBJECTS = 1_000_000  # entries of an array of objects, of which only the shape is sent
LONGEST_REPR = 200
LATEST = 16  # arrays of an agent that are watched: those of about three rounds

Bits = tuple[str, tuple[int, ...], bytes]


class Foreign:
    """A value that was not sent: it has the looks of the original only."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind, self.text = kind, text

    def __repr__(self) -> str:
        return self.text


def bits(array: NDArray[Any]) -> Bits:
    """Return dtype, shape and bytes of an array; of objects no bytes."""
    sent = array.dtype.kind in KINDS
    return array.dtype.str if sent else "O", array.shape, array.tobytes() if sent else b""


def array_of(dtype: str, shape: Any, data: bytes) -> NDArray[Any]:
    """Return the array with these ``bits``. Raises ValueError or TypeError if there is none."""
    shape = tuple(int(size) for size in shape)
    if dtype == "O":
        if min(shape, default=0) < 0 or np.prod(shape, dtype=float) > MOST_OBJECTS:
            raise ValueError(f"shape = {shape} of an array of objects is out of range")
        return np.empty(shape, object)
    kind = np.dtype(dtype)
    if kind.kind not in KINDS:
        raise ValueError(f"dtype = {dtype!r} is not one of numbers")
    return np.frombuffer(data, kind).reshape(shape).copy()


class Watched:
    """Arrays that both processes have, by their numbers; one process counts up from 1, the other one down from -1."""

    def __init__(self, step: int) -> None:
        self.step, self.last = step, 0
        self.arrays: OrderedDict[int, tuple[NDArray[Any], Bits]] = OrderedDict()
        self.pinned: dict[int, tuple[NDArray[Any], Bits]] = {}

    def number_of(self, array: NDArray[Any], pin: bool) -> int:
        """Return the number of an array, a new one for an array that is not known."""
        known = (key for part in (self.pinned, self.arrays) for key, (one, _) in part.items() if one is array)
        number = next(known, 0)
        if not number:
            self.last += self.step
            number = self.last
        self.keep(number, array, pin)
        return number

    def keep(self, number: int, array: NDArray[Any], pin: bool) -> None:
        """Watch an array, as it is now."""
        if pin or number in self.pinned:
            self.pinned[number] = array, bits(array)
            return
        self.arrays[number] = array, bits(array)
        self.arrays.move_to_end(number)
        if len(self.arrays) > LATEST:
            self.arrays.popitem(last=False)

    def received(self, number: int, made: Bits, pin: bool) -> NDArray[Any]:
        """Return this side's array of a number, with what the other side has in it."""
        found = self.pinned.get(number) or self.arrays.get(number)
        array = found[0] if found else array_of(*made)
        if found:
            write(array, made)
        self.keep(number, array, pin)
        return array

    def changes(self) -> list[Any]:
        """Return number and content of each array that was written to since both sides had the same in it."""
        changed = []
        for part in (self.pinned, self.arrays):
            for number, (array, before) in part.items():
                now = bits(array)
                if now != before:
                    part[number] = array, now
                    changed.append([number, *sent(now)])
        return changed

    def apply(self, changes: Any) -> None:
        """Take over the other side's ``changes``."""
        for number, *made in changes:
            for part in (self.pinned, self.arrays):
                if number in part:
                    array = part[number][0]
                    write(array, unsent(made))
                    part[number] = array, bits(array)


def write(array: NDArray[Any], made: Bits) -> None:
    """Write into ``array``; not if it is read-only, or of another dtype or size."""
    if bits(array) != made and array.flags.writeable and array.dtype.str == made[0]:
        other = array_of(*made)
        if other.size == array.size:
            array[...] = other.reshape(array.shape)


def sent(made: Bits) -> list[Any]:
    """Return ``bits`` as JSON has them."""
    return [made[0], list(made[1]), base64.b64encode(made[2]).decode()]


def unsent(made: Any) -> Bits:
    dtype, shape, data = made
    return str(dtype), tuple(int(size) for size in shape), base64.b64decode(data)


def encode(value: Any, watched: Watched | None = None, pin: bool = False) -> Any:
    """Return ``value`` as JSON has it: plain values, lists, tuples, dicts, arrays and beliefs; else its looks."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return {"scalar": sent(bits(np.asarray(value)))}
    if isinstance(value, np.ndarray):
        number = 0 if watched is None else watched.number_of(value, pin)
        return {"array": [number, *sent(bits(value))]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encode(one, watched, pin) for one in value]}
    if isinstance(value, Beliefs):
        return {"beliefs": [[one.name, encode(getattr(value, one.name), watched, pin)] for one in fields(Beliefs)]}
    if isinstance(value, dict):
        pairs = value.items()
        return {"dict": [[encode(key, watched, pin), encode(one, watched, pin)] for key, one in pairs]}
    return {"foreign": [type(value).__name__, repr(value)[:LONGEST_REPR]]}


def decode(given: Any, watched: Watched | None = None, pin: bool = False) -> Any:
    """Return the value that was encoded. Raises ValueError, TypeError or KeyError if nothing was."""
    if type(given) in PLAIN:
        return given
    ((kind, value),) = given.items()
    if kind == "scalar":
        return array_of(*unsent(value))[()]
    if kind == "array":
        number, *made = value
        return array_of(*unsent(made)) if watched is None else watched.received(int(number), unsent(made), pin)
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(decode(one, watched, pin) for one in value)
    if kind == "dict":
        return {decode(key, watched, pin): decode(one, watched, pin) for key, one in value}
    if kind == "beliefs":
        return Beliefs(**{str(name): decode(one, watched, pin) for name, one in value})
    if kind == "foreign":
        return Foreign(str(value[0]), str(value[1])[:LONGEST_REPR])
    raise ValueError(f"{kind!r} is not the kind of a value")


def rewrite(old: Any, new: Any) -> None:
    """Make the list or dict ``old`` equal to ``new``, in place."""
    if isinstance(old, dict) and isinstance(new, dict):
        old.clear()
        old.update(new)
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = new
