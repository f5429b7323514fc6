"""Read a pickle without running anything that it names.

A pickle is a program: it names functions and calls them. Here every name must be on the caller's list, and even a
listed name is neither imported nor called: ``load`` returns the calls as records (``Call``), for the caller to
interpret. Names are checked twice: all operations are read before any is carried out, and the unpickler checks each
name again.
"""

import io
import pickle
import pickletools
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from rankgym.data.errors import RefusedPickle

MOST_OPERATIONS = 20_000  # the published collection has 16,151
NAMELESS = ("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID")  # operations that bring in objects by number or by key
PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
GETS = ("GET", "BINGET", "LONG_BINGET")


class Call:
    """A call that a pickle asked for. It was not made."""

    __slots__ = ("arguments", "name", "state")

    def __init__(self, name: str, arguments: tuple[Any, ...]) -> None:
        self.name, self.arguments, self.state = name, arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Name(NamedTuple):
    """A listed name. Calling it records the call."""

    name: str

    def __call__(self, *arguments: Any) -> Call:
        return Call(self.name, arguments)


class _Recorder(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, allowed: Collection[str]) -> None:
        super().__init__(file, encoding="latin1")  # Python 2's strings have the bytes of arrays
        self.allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full not in self.allowed:
            raise _refused(full)
        return _Name(full)


def shown(name: str) -> str:
    """A name from a pickle, fit to print: shortened, without control characters."""
    return (name if name.isprintable() else ascii(name))[:100]


def _refused(name: str) -> RefusedPickle:
    return RefusedPickle(f"the pickle names {shown(name)}, which is not allowed here; it was refused, and nothing ran")


def load(data: bytes, allowed: Collection[str]) -> Any:
    """Return the object of a pickle, with a ``Call`` record in place of everything built by a call.

    Args:
        data: the pickle, of at most 20,000 operations, in protocol 4 or older.
        allowed: full names, ``"module.name"``, that it may mention.

    Raises:
        RefusedPickle: it mentions another name (the message says which), or cannot be read.
    """
    for name in foreign_names(data, allowed):
        raise _refused(name)
    try:
        _check(data)
        return _Recorder(io.BytesIO(data), allowed).load()
    except RefusedPickle:
        raise
    except Exception as error:  # a broken pickle may raise nearly anything
        raise RefusedPickle(f"the pickle cannot be read: {type(error).__name__}: {error}") from None


def _check(data: bytes) -> None:
    """Refuse pickles that could harm the unpickler itself: long programs, huge memos, objects without a name."""
    operations: Any = pickletools.genops(data)
    for count, (operation, argument, _) in enumerate(operations):
        if operation.proto > 4 or operation.name in NAMELESS:
            raise RefusedPickle(f"the pickle has the operation {operation.name}, which is not allowed here")
        if count >= MOST_OPERATIONS or (operation.name in PUTS and argument > MOST_OPERATIONS):
            raise RefusedPickle(f"the pickle is too large; allowed: {MOST_OPERATIONS} operations")


def foreign_names(data: bytes, allowed: Collection[str]) -> Iterator[str]:
    """The names outside ``allowed`` that a pickle mentions, without unpickling; up to where the pickle is broken.

    Protocol 4 builds a name from the last two strings. A name built in a more devious way is not found here: the
    unpickler refuses it.
    """
    strings: list[Any] = []
    memo: dict[int, Any] = {}
    top: Any = None  # the object on top of the stack, if it is a string
    operations: Any = pickletools.genops(data)
    while True:
        try:
            operation, argument, _ = next(operations)
        except Exception:  # the end, or a broken pickle
            return
        name = None
        if operation.name in ("GLOBAL", "INST"):
            name = ".".join(argument.split(" ", 1))
        elif operation.name == "STACK_GLOBAL":
            name = ".".join(str(part) for part in strings[-2:])
        if name is not None and name not in allowed:
            yield name
        if operation.name in PUTS:
            memo[argument] = top
        elif operation.name == "MEMOIZE":
            memo[len(memo)] = top
        else:
            text = "UNICODE" in operation.name or "STRING" in operation.name
            top = argument if text else memo.get(argument) if operation.name in GETS else None
            if isinstance(top, str):
                strings.append(top)
