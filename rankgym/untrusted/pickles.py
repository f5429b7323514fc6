"""Read a pickle without running anything that it names, and within limits.

A pickle is a program: it names functions and calls them. Here it is interpreted by ``_Machine``, which knows the
operations that data needs. Every name must be on the caller's list, and even a listed name is neither imported nor
called: ``load`` returns the calls as records (``Call``), for the caller to interpret.

Python's own unpickler would hash what a pickle uses as keys and in sets: a tuple of two tuples of two tuples ... takes
a minute with 213 bytes. So keys are texts and numbers, and there are no sets. What is used more than once counts as
often as it is used, so that nothing made of little data is endless to walk through or to print.
"""

import itertools
import pickletools
from collections.abc import Callable, Collection, Iterator
from typing import Any

from rankgym.untrusted.files import RefusedFile

MOST_OPERATIONS = 20_000  # the published click models have 16,151
MOST_PARTS = 10  # parts of the object for each operation that is allowed, each counted as often as it is reached
DEEPEST = 40  # lists within tuples within ...
LARGEST_NUMBER = 1 << 1024
NAMELESS = ("EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID")  # operations that bring in objects by number or by key
PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
GETS = ("GET", "BINGET", "LONG_BINGET")
VALUES = (  # operations whose argument is the value
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
)
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
KEYS = (str, bytes, int, float, bool, type(None))  # types of keys


class Call:
    """A call that a pickle asked for. It was not made."""

    __slots__ = ("arguments", "items", "name", "state")

    def __init__(self, name: str, arguments: tuple[Any, ...]) -> None:
        self.name, self.arguments, self.state = name, arguments, None
        self.items: dict[Any, Any] = {}  # set afterwards, as in a dict


class Name:
    """A listed name. It was not imported."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Outside:
    """An object that a pickle names by a key, ``key``, and that is elsewhere in its file."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key


def shown(name: str) -> str:
    """A name from a pickle, fit to print: shortened, without control characters."""
    return (name if name.isprintable() else ascii(name))[:100]


def _refused(name: str) -> RefusedFile:
    return RefusedFile(f"the pickle names {shown(name)}, which is not allowed here; it was refused, and nothing ran")


def load(data: bytes, allowed: Collection[str], *, operations: int = MOST_OPERATIONS, outside: bool = False) -> Any:
    """Return the object of a pickle, with a ``Call`` record in place of everything built by a call.

    Args:
        data: the pickle, in protocol 4 or older.
        allowed: full names, ``"module.name"``, that it may mention.
        operations: the most operations that it may have.
        outside: whether it may name objects elsewhere in its file (``Outside``).

    Raises:
        RefusedFile: it mentions another name (the message says which), exceeds a limit, or cannot be read.
    """
    for name in foreign_names(data, allowed, operations):
        raise _refused(name)
    machine = _Machine(allowed, operations, outside)
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
            if count >= operations:
                raise RefusedFile(f"the pickle is too large; allowed: {operations} operations")
            if operation.name == "STOP":
                return machine.result()
            machine.do(operation.name, operation.proto, argument)
    except RefusedFile:
        raise
    except Exception as error:  # a broken pickle may raise nearly anything
        raise RefusedFile(f"the pickle cannot be read: {type(error).__name__}: {error}") from None
    raise RefusedFile("the pickle cannot be read: it has no end")


class _Machine:
    """Carries out the operations of a pickle that build plain data, and records calls."""

    def __init__(self, allowed: Collection[str], operations: int, outside: bool) -> None:
        self.allowed, self.most, self.outside = allowed, operations, outside
        self.stack: list[Any] = []
        self.marks: list[int] = []  # heights of the stack
        self.memo: dict[int, Any] = {}
        self.used = 0  # parts that came from the memo, each time that they came
        self.sizes: dict[int, int] = {}  # of objects with parts: how many parts are reached through them
        self.depths: dict[int, int] = {}
        self.kept: list[Any] = []  # those objects, so that ids are theirs
        self.shared: set[int] = set()  # objects that were used again: they may not change any more
        self.table: dict[str, Callable[[], None]] = {
            "MARK": lambda: self.marks.append(len(self.stack)),
            "POP": self.pop,
            "POP_MARK": lambda: void(self.marked()),
            "DUP": lambda: self.use(self.stack[-1]),
            "EMPTY_LIST": lambda: self.build([], ()),
            "EMPTY_TUPLE": lambda: self.stack.append(()),
            "EMPTY_DICT": lambda: self.build({}, ()),
            "LIST": lambda: self.build(parts := self.marked(), parts),
            "TUPLE": lambda: self.build_tuple(self.marked()),
            "TUPLE1": lambda: self.build_tuple(self.popped(1)),
            "TUPLE2": lambda: self.build_tuple(self.popped(2)),
            "TUPLE3": lambda: self.build_tuple(self.popped(3)),
            "DICT": lambda: void(parts := self.marked(), self.build({}, ()), self.set_items(parts)),
            "APPEND": lambda: self.append(self.popped(1)),
            "APPENDS": lambda: self.append(self.marked()),
            "SETITEM": lambda: self.set_items(self.popped(2)),
            "SETITEMS": lambda: self.set_items(self.marked()),
            "REDUCE": self.call,
            "BUILD": self.set_state,
            "STACK_GLOBAL": lambda: self.name(".".join(self.texts(2))),
            "BINPERSID": lambda: self.build(Outside(key := self.popped(1)[0]), (key,)),
            "MEMOIZE": lambda: self.put(len(self.memo)),
            "PROTO": lambda: None,
            "FRAME": lambda: None,
        }

    def result(self) -> Any:
        if len(self.stack) != 1 or self.marks:
            raise ValueError("it ends with something else than one object")
        return self.stack[0]

    def do(self, name: str, protocol: int, argument: Any) -> None:
        """Carry out one operation."""
        if protocol > 4 or (name in NAMELESS and not (self.outside and name == "BINPERSID")):
            raise RefusedFile(f"the pickle has the operation {name}, which is not allowed here")
        if name in VALUES:
            if isinstance(argument, int) and abs(argument) > LARGEST_NUMBER:
                raise RefusedFile("the pickle has a number of over 300 digits, which is not allowed here")
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in ("GLOBAL", "INST"):
            self.name(".".join(argument.split(" ", 1)))
            if name == "INST":
                raise RefusedFile("the pickle has the operation INST, which is not allowed here")
        elif name in PUTS:
            self.put(argument)
        elif name in GETS:
            self.use(self.memo[argument])
        elif name in self.table:
            self.table[name]()
        else:
            raise ValueError(f"the operation {name} is not one of plain data")

    # -- the stack ----------------------------------------------------------------------------------------------------

    def pop(self) -> None:
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.popped(1)

    def popped(self, number: int) -> list[Any]:
        """Take the last ``number`` objects off the stack, but none below a mark."""
        if len(self.stack) - number < (self.marks[-1] if self.marks else 0):
            raise ValueError("an operation has too few arguments")
        parts = self.stack[-number:]
        del self.stack[-number:]
        return parts

    def marked(self) -> list[Any]:
        """Take everything above the last mark off the stack."""
        height = self.marks.pop()
        parts = self.stack[height:]
        del self.stack[height:]
        return parts

    def texts(self, number: int) -> list[str]:
        parts = self.popped(number)
        if not all(isinstance(part, str) for part in parts):
            raise ValueError("a name is not a text")
        return parts

    def put(self, place: int) -> None:
        if place > self.most:
            raise RefusedFile(f"the pickle is too large; allowed: {self.most} operations")
        self.memo[place] = self.stack[-1]

    def use(self, again: Any) -> None:
        """Push an object that was there before."""
        self.used += self.size(again)
        if self.used > MOST_PARTS * self.most:
            raise RefusedFile("the pickle is too large: it uses the same objects again and again")
        self.shared.add(id(again))
        self.stack.append(again)

    # -- objects with parts -------------------------------------------------------------------------------------------

    def size(self, part: Any) -> int:
        return self.sizes.get(id(part), 1) + (len(part) >> 10 if isinstance(part, (str, bytes)) else 0)

    def build(self, made: Any, parts: Any) -> None:
        """Push a new object that has ``parts``."""
        self.kept.append(made)
        self.sizes[id(made)], self.depths[id(made)] = 1, 1
        self.grow(made, parts)
        self.stack.append(made)

    def grow(self, made: Any, parts: Any) -> None:
        """Count ``parts`` that are now in ``made``."""
        self.sizes[id(made)] += sum(map(self.size, parts))
        deepest = max((self.depths.get(id(part), 0) for part in parts), default=0)
        self.depths[id(made)] = max(self.depths[id(made)], deepest + 1)
        if self.depths[id(made)] > DEEPEST:
            raise RefusedFile(f"the pickle is nested too deeply; allowed: {DEEPEST} levels")

    def changeable(self, kind: type | tuple[type, ...]) -> Any:
        """Return the object on top of the stack, which must be new."""
        top = self.stack[-1]
        if not isinstance(top, kind) or id(top) in self.shared:
            raise ValueError("it changes something that is not new, or that has no parts")
        return top

    def build_tuple(self, parts: list[Any]) -> None:
        self.build(tuple(parts), parts) if parts else self.stack.append(())

    def append(self, parts: list[Any]) -> None:
        top = self.changeable(list)
        top.extend(parts)
        self.grow(top, parts)

    def set_items(self, parts: list[Any]) -> None:
        top = self.changeable((dict, Call))
        keys, values = parts[::2], parts[1::2]
        if len(keys) != len(values) or not all(isinstance(key, KEYS) for key in keys):
            raise ValueError("it has a key that is not a text or a number; allowed: these")
        (top.items if isinstance(top, Call) else top).update(zip(keys, values, strict=True))
        self.grow(top, parts)

    def name(self, full: str) -> None:
        if full not in self.allowed:
            raise _refused(full)
        self.stack.append(Name(full))

    def call(self) -> None:
        function, arguments = self.popped(2)
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise ValueError("it calls something that is not a name")
        self.build(Call(function.name, arguments), (arguments,))

    def set_state(self) -> None:
        (state,) = self.popped(1)
        top = self.changeable(Call)
        if top.state is not None:
            raise ValueError("it sets a state twice")
        top.state = state
        self.grow(top, (state,))


def void(*_: Any) -> None:
    """Do nothing with the results of other calls."""


def foreign_names(data: bytes, allowed: Collection[str], operations: int = MOST_OPERATIONS) -> Iterator[str]:
    """The names outside ``allowed`` that a pickle mentions, without unpickling; up to where the pickle is broken.

    Protocol 4 builds a name from the last two strings. A name built in a more devious way is not found here: ``load``
    refuses it when it comes to it. Only the first ``operations`` are looked at.
    """
    strings: list[Any] = []
    memo: dict[int, Any] = {}
    top: Any = None  # the object on top of the stack, if it is a string
    program: Any = itertools.islice(pickletools.genops(data), operations + 1)
    while True:
        try:
            operation, argument, _ = next(program)
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
