"""Agents whose class lives in a submission's process: they are played here like any others.

``agents_inside.py`` answers. What the agent's methods return is sent as it is; whoever plays the agent checks it.
"""

import builtins
import contextlib
import copy
import inspect
import itertools
import weakref
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankgym.agent import Agent, DuelingAgent
from rankgym.conformance.parts import MissingPart
from rankgym.submissions.process import Handle, NoAnswer, Submission
from rankgym.submissions.values import Watched, decode, encode, rewrite

ENDS = {"time": TimeoutError, "memory": MemoryError, "ended": ChildProcessError}  # by the kinds of ``NoAnswer``
LONGEST_CODE = 60  # characters of a line that is shown in an error's message
METHODS = ("settled", "snapshot", "restore", "beliefs")
OPTIONAL = (*METHODS, "candidate")
NUMBERS = itertools.count(1)
SUBMISSIONS: weakref.WeakValueDictionary[int, Submission] = weakref.WeakValueDictionary()  # for copies by pickle
KNOWN: weakref.WeakKeyDictionary[Submission, "Link"] = weakref.WeakKeyDictionary()


def remote_agent(submission: Submission, class_name: str, *, watched: bool = False) -> type[Any]:
    """Return a class of agents that live in the process of ``submission``.

    It is a subclass of ``Agent`` or ``DuelingAgent`` if the submitted class is, and has ``settled``, ``snapshot``,
    ``beliefs`` and ``candidate`` only if that has them. If the submission has ``batches``, classes for one user at a
    time become batch agents (``rankgym.per_row``). Its objects are copied by ``copy.deepcopy`` and, within this
    process, by ``pickle``: the submitted object is.

    ``update`` is sent with the next call, so that a round is one round trip. With ``watched`` each call is sent at
    once, and what one side writes into one of the latest arrays, the other one sees in its own.

    Args:
        submission: the file.
        class_name: a class in it, or a function that makes agents.
        watched: for checks of the contract.

    Raises:
        NoAnswer: the file cannot be loaded, or has no such class.
        MissingPart: the class lacks a method.
        Exception: builtin errors that the submission raised, and TimeoutError, MemoryError or ChildProcessError if it
            does not answer any more. So do the methods of the class.
    """
    link = KNOWN.get(submission)
    if link is None:
        link = KNOWN[submission] = Link(submission)
    return link.agent_class(class_name, watched)


class Link:
    """A submission, and the classes of its agents."""

    def __init__(self, submission: Submission) -> None:
        self._submission = weakref.ref(submission)
        self.number = next(NUMBERS)
        SUBMISSIONS[self.number] = submission
        self.classes: dict[tuple[str, bool], type[Any]] = {}
        self.unused: list[Handle] = []  # objects to be dropped

    def agent_class(self, class_name: str, watched: bool) -> type[Any]:
        key = class_name, watched
        if key not in self.classes:
            self.submission.load()  # its errors are those of the file
            known = self.ask("described", name=class_name)
            with sane():
                self.classes[key] = self._made(class_name, watched, known)
        return self.classes[key]

    def _made(self, class_name: str, watched: bool, known: Mapping[str, Any]) -> type[Any]:
        base = {"Agent": RemoteRanker, "DuelingAgent": RemoteDuelist}.get(known["base"], RemotePlain)
        names = [name for name in METHODS if name in known["methods"] and known["base"]]
        kinds = list(inspect._ParameterKind)
        parameters = [
            inspect.Parameter(
                str(name), kinds[kind], default=None if optional and kind < 4 else inspect.Parameter.empty
            )
            for name, kind, optional in known["parameters"]
        ]
        own = {
            "link": self,
            "class_name": class_name,
            "watched": watched,
            "one_user": bool(known["one_user"]),
            "duels": bool(known["duels"]),
            "__signature__": inspect.Signature(parameters),
            **{name: getattr(_Optional, name) for name in names},
        }
        return type(class_name, (base,), own)

    @property
    def submission(self) -> Submission:
        found = self._submission()
        assert found is not None, "remote agents end with their submission"
        return found

    def ask(self, what: str, handle: Handle | None = None, **given: Any) -> Any:
        """Ask ``agents_inside``; errors of the submission are raised here."""
        submission = self.submission
        gone = [one.number for one in self.unused if one.start == submission.starts]
        self.unused.clear()
        try:
            if gone and submission.running:
                submission.agents("drop", numbers=gone)
            return submission.agents(what, handle, **given)
        except NoAnswer as answer:
            if answer.kind == "missing":
                raise
            raise error_of(answer, submission.name) from answer


@contextlib.contextmanager
def sane() -> Iterator[None]:
    """Context manager for reading an answer: whatever cannot be read is a RuntimeError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError):
        raise RuntimeError("what came back is not an answer") from None


def error_of(answer: NoAnswer, file: str) -> Exception:
    """Return the error of a submission as an error of the same builtin class, with its place in the message."""
    text = str(answer).removeprefix(answer.error).removeprefix(": ") if answer.kind == "raised" else str(answer)
    if answer.error == "MissingPart":
        seen, _, expected = text.partition("; expected: ")
        return MissingPart(seen, expected)
    if answer.line is not None:
        shown = 0 < len(answer.code) <= LONGEST_CODE and not answer.code.startswith("raise ")
        code = f": {answer.code}" if shown else ""
        text = f"{text} ({file}, line {answer.line}{code})".strip()
    if answer.kind in ENDS and not answer.error:
        return ENDS[answer.kind](text)
    cls = getattr(builtins, answer.error, None)
    if isinstance(cls, type) and issubclass(cls, Exception):
        with contextlib.suppress(TypeError):  # errors of Unicode take more than a text
            return cls(text)
    return RuntimeError(f"{answer.error}: {text}" if answer.error else text)


class RemoteLearner:
    """An agent of a class in a submission's process."""

    link: ClassVar[Link]
    class_name: ClassVar[str]
    watched: ClassVar[bool]
    one_user: ClassVar[bool]
    duels: ClassVar[bool]
    handle: Handle
    has: frozenset[str]  # optional methods and attributes
    seconds: float  # spent in the agent's methods, as its process says
    waited: float  # for answers

    def __init__(self, **arguments: Any) -> None:
        arrays = Watched(1) if self.watched else None
        given = encode(arguments, arrays, pin=True)
        made = self.link.ask("make", name=self.class_name, arguments=given, watch=self.watched)
        with sane():
            self._begin(made["number"], made["has"], arrays)
            if arrays is not None:
                arrays.apply(made["changes"])
        for name in ("num_envs", "num_items", "num_positions", "num_arms", "horizon"):
            if name in arguments:
                setattr(self, name, arguments[name])
        self.num_envs = arguments.get("num_envs", 1)

    def _begin(self, number: int, has: Any, arrays: Watched | None) -> None:
        self.handle = Handle(self.link.submission.starts, int(number))
        self.has, self.arrays, self.seconds, self.waited = frozenset(has), arrays, 0.0, 0.0
        self.waiting: list[Any] = []  # the call of update that was not sent yet
        weakref.finalize(self, self.link.unused.append, self.handle).atexit = False

    def ask(self, name: str, arguments: list[Any] | None) -> Any:
        """Call a method of the submitted object, or read an attribute (``arguments`` None)."""
        arrays = self.arrays
        changes = [] if arrays is None else arrays.changes()
        pin = name in ("snapshot", "restore")
        given = None if arguments is None else [encode(one, arrays, pin) for one in arguments]
        calls, self.waiting = [*self.waiting, [name, given]], []
        start = perf_counter()
        answer = self.link.ask("ask", self.handle, calls=calls, changes=changes)
        self.waited += perf_counter() - start
        with sane():
            self.seconds += max(0.0, float(answer["seconds"]))
            value = decode(answer["value"], arrays, pin)
            if arrays is not None:
                arrays.apply(answer["changes"])
                for place, became in answer["arguments"].items():
                    rewrite((arguments or [])[int(place)], decode(became, arrays, pin))
        return value

    def act(self, observation: Any = None) -> Any:
        return self.ask("act", [] if self.one_user else [observation])

    def update(self, action: Any, feedback: Any) -> None:
        if self.watched:
            self.ask("update", [action, feedback])
        else:
            self.flush()
            self.waiting = [["update", [encode(action), encode(feedback)]]]

    def flush(self) -> None:
        """Send an ``update`` that was not sent yet."""
        if self.waiting:
            (name, given), self.waiting = self.waiting[0], []
            self.link.ask("ask", self.handle, calls=[[name, given]], changes=[])

    def _attributes_elsewhere(self) -> dict[str, bytes]:
        """Return a digest of each attribute of the submitted object, by its name; see ``conformance/asking.py``."""
        self.flush()
        found = self.link.ask("attributes", self.handle)
        with sane():
            return {str(name): bytes.fromhex(digest) for name, digest in found.items()}

    def __repr__(self) -> str:
        return f"<{self.class_name} of {self.link.submission.name}>"

    def _facts(self) -> dict[str, Any]:
        own = ("handle", "arrays", "waiting", "has", "seconds", "waited")
        return {name: value for name, value in vars(self).items() if name not in own}

    def _twin(self, number: int) -> Any:
        """Return an agent like this one for another submitted object."""
        twin = object.__new__(type(self))
        twin._begin(number, self.has, Watched(1) if self.watched else None)
        twin.__dict__.update(copy.copy(self._facts()))
        return twin

    def __deepcopy__(self, memo: Any) -> Any:
        self.flush()
        number = self.link.ask("copied", self.handle)
        with sane():
            return self._twin(number)

    def __reduce__(self) -> Any:
        self.flush()
        data = self.link.ask("dumped", self.handle)
        return undumped, (self.link.number, self.class_name, self.watched, data, sorted(self.has), self._facts())


def undumped(number: int, class_name: str, watched: bool, data: str, has: list[str], facts: dict[str, Any]) -> Any:
    """Return a pickled agent, in the process that has pickled it."""
    cls = remote_agent(SUBMISSIONS[number], class_name, watched=watched)
    agent = object.__new__(cls)
    copied = cls.link.ask("undumped", data=data, watch=watched)
    with sane():
        agent._begin(copied, has, Watched(1) if watched else None)
    agent.__dict__.update(facts)
    return agent


class _Optional:
    """Methods that a class of remote agents has if the submitted class has them."""

    ask: Any

    def settled(self) -> Any:
        return self.ask("settled", [])

    def snapshot(self) -> Any:
        return self.ask("snapshot", [])

    def restore(self, snapshot: Any) -> None:
        self.ask("restore", [snapshot])

    def beliefs(self, row: int = 0) -> Any:
        return self.ask("beliefs", [row])


class RemotePlain(RemoteLearner):
    """A submitted class that has no base class of rankgym's: its objects say what they have."""

    def __getattr__(self, name: str) -> Any:
        if name in OPTIONAL and name in self.__dict__.get("has", ()):
            return self.ask(name, None) if name == "candidate" else getattr(_Optional, name).__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class RemoteRanker(RemoteLearner, Agent):
    """A submitted subclass of ``Agent``."""


class RemoteDuelist(RemoteLearner, DuelingAgent):
    """A submitted subclass of ``DuelingAgent``."""

    @property
    def candidate(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.ask("candidate", None)
        return found
