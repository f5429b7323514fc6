"""Script of a submission's process: it runs the submitted file and answers calls, one line of JSON each.

It imports the standard library alone, so that it starts at once and nothing of the asking side is in its memory. It
reads requests from one file descriptor and writes answers to another; standard output and error are a pipe, standard
input is empty. All that it is told is what it is asked to compute.

    python -P answering.py REQUESTS ANSWERS LIMITS

Requests: {"do": NAME, ...}, the name of a method of ``Answerer`` and its keywords.
Answers: {"value": ...} or {"error": {"kind", "message", "line", "code"}}.
"""

import base64
import copy
import importlib.abc
import json
import linecache
import os
import pickle
import sys
import traceback
import types
from typing import Any

NAME = "submission"  # of the module; not "__main__", so that a script's demonstrations do not run


class Refused(importlib.abc.MetaPathFinder):
    """Refuse the import of some packages, with a message that says so."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.partition(".")[0] in self.packages:
            raise ImportError(f"{fullname} may not be imported here: the exercise is about writing it yourself")


def plain(value: Any) -> Any:
    """Return arrays and their numbers as lists and numbers, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset, range, types.GeneratorType)) or type(value).__name__ in ("map", "zip"):
        raise TypeError(f"returned a {type(value).__name__}; return a list, a number or a bool")
    raise TypeError(f"returned a {type(value).__name__}, which is not a list, a number or a bool")


def described(error: BaseException, path: str) -> dict[str, Any]:
    """Return what an error says, and the last line of the submission that it passed through."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return {
            "kind": type(error).__name__,
            "message": error.msg,
            "line": error.lineno,
            "code": (error.text or "").strip(),
        }
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    found: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)[:2000]}
    if own:
        found |= {"line": own[-1].lineno, "code": own[-1].line, "where": own[-1].name}
        if own[0].name != own[-1].name:
            found["message"] += f"; called from line {own[0].lineno}: {own[0].line}"
    return found


class ArgumentChanged(Exception):
    """A function has changed one of its arguments."""


class Answerer:
    """Answers requests about one submitted file."""

    def __init__(self) -> None:
        self.module = types.ModuleType(NAME)
        self.path = "submission.py"
        self.objects: dict[int, Any] = {}
        self.made = 0
        self.round: int | None = None  # of a play
        self.choices: list[Any] = []  # of that play so far

    def load(self, source: str, name: str, refused: list[str], batches: bool) -> list[str]:
        """Run the file; return the names that it defines. ``batches``: make batch agents of classes for one user."""
        self.path, self.batches = name, batches
        sys.meta_path.insert(0, Refused(refused))
        sys.modules[NAME] = self.module
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        self.module.__dict__["__file__"] = name
        exec(compile(source, name, "exec"), self.module.__dict__)
        return [name for name in vars(self.module) if not name.startswith("__")]

    def named(self, name: str) -> Any:
        try:
            return vars(self.module)[name]
        except KeyError:
            raise AttributeError(f"there is no {name} in {self.path}") from None

    def kept(self, made: Any) -> int:
        """Keep an object for later requests; return its number."""
        self.made += 1
        self.objects[self.made] = made
        return self.made

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function, which must leave its arguments as they are."""
        before = copy.deepcopy((args, kwargs))
        answer = self.named(name)(*args, **kwargs)
        if before != (args, kwargs):
            changed = [number for number, (a, b) in enumerate(zip(before[0], args, strict=True)) if a != b]
            code = getattr(self.named(name), "__code__", None)
            names = [code.co_varnames[number] for number in changed] if code else []
            what = f"its argument {names[0]}" if names else "one of its arguments"
            raise ArgumentChanged(f"{name} changes {what}: work on a copy, such as list(...)")
        return answer

    def make(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> int:
        return self.kept(self.agent_class(name)(*args, **kwargs))

    def agent_class(self, name: str) -> Any:
        """Return the class ``name``; a class for one user as a batch agent's, if that was asked for."""
        found = self.named(name)
        if self.batches:
            from rankgym import Agent, DuelingAgent, per_row

            if isinstance(found, type) and not issubclass(found, (Agent, DuelingAgent)) and not takes_rows(found):
                return per_row(found)  # type: ignore[arg-type]  # a class is hashable
        return found

    def signature(self, name: str) -> dict[str, Any]:
        """Return what the asking side must know of an agent's class: what it does, and its methods."""
        import inspect

        from rankgym import DuelingAgent

        found = self.agent_class(name)
        parameters = inspect.signature(found).parameters
        duels = "num_arms" in parameters or (isinstance(found, type) and issubclass(found, DuelingAgent))
        methods = [method for method in ("act", "update", "settled", "snapshot") if hasattr(found, method)]
        return {"duels": duels, "methods": methods, "parameters": list(parameters)}

    def agents(self, ask: str, **given: Any) -> Any:
        """Answer a request about agents: a function of ``agents_inside``, which imports rankgym."""
        from rankgym.submissions import agents_inside

        return getattr(agents_inside, ask)(self, **given)

    def method(self, of: int, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return getattr(self.objects[of], name)(*args, **kwargs)

    def play(self, of: int, attracted: list[str], examined: list[str], first_only: bool) -> list[Any]:
        """Play an agent for one user at a time, and return its lists, up to the first that cannot be displayed.

        Round t's user clicks item i at position k if ``attracted[t][i]`` and ``examined[t][k]`` are "1"; with
        ``first_only`` the first click ends the session.
        """
        agent = self.objects[of]
        self.choices = lists = []
        for self.round, (wanted, looked) in enumerate(zip(attracted, examined, strict=True)):
            ranking = agent.act()
            if ranking is None:
                raise TypeError("act() returns nothing: end it with return")
            displayed = ranking.tolist() if hasattr(ranking, "tolist") else ranking
            lists.append(displayed if isinstance(displayed, (str, bytes)) else list(displayed))
            if not displayable(lists[-1], len(wanted), len(looked)):
                break
            clicks = [int(wanted[item] == "1" == looked[k]) for k, item in enumerate(lists[-1])]
            if first_only and 1 in clicks:
                clicks = [int(k == clicks.index(1)) for k in range(len(clicks))]
            agent.update(list(lists[-1]), clicks)
        self.round = None
        return lists

    def play_duels(self, of: int, wins: list[str], num_arms: int) -> list[Any]:
        """Play an agent for one duel at a time; return its duels. Arm i beats j if ``wins[t][i * num_arms + j]``."""
        agent = self.objects[of]
        self.choices = duels = []
        for self.round, outcomes in enumerate(wins):
            duel = agent.act()
            if duel is None:
                raise TypeError("act() returns nothing: end it with return")
            duels.append(list(duel.tolist() if hasattr(duel, "tolist") else duel))
            if len(duels[-1]) != 2 or not all(is_index(arm, num_arms) for arm in duels[-1]):
                break
            left, right = duels[-1]
            agent.update(left, right, outcomes[left * num_arms + right] == "1")
        self.round = None
        return duels

    def attribute(self, of: int, name: str) -> Any:
        return getattr(self.objects[of], name)

    def drop(self, of: int) -> None:
        del self.objects[of]

    def dump(self, of: int) -> str:
        """Return an object's bytes, for ``undump`` in a process of the same file; nobody else unpickles them."""
        return base64.b64encode(pickle.dumps(self.objects[of])).decode()

    def undump(self, data: str) -> int:
        return self.kept(pickle.loads(base64.b64decode(data)))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request.pop("do")
        try:
            answer = {"value": getattr(self, do)(**request)}
            json.dumps(answer, default=plain)  # whether it can be sent
            return answer
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() of a submission, too
            found = described(error, self.path)
            if self.round is not None:
                found["choices"] = self.choices[: self.round]
                rounds = "1 round" if self.round == 1 else f"{self.round} rounds"
                found["message"] = f"{found['message']} (after {rounds})"
                self.round = None
            return {"error": found}


def is_index(value: Any, size: int) -> bool:
    """Whether ``value`` is a whole number of 0 .. size - 1, and not a bool."""
    return hasattr(value, "__index__") and not isinstance(value, bool) and 0 <= value < size


def displayable(ranking: Any, num_items: int, num_positions: int) -> bool:
    """Whether ``ranking`` is a list of ``num_positions`` different items."""
    items = isinstance(ranking, list) and all(is_index(item, num_items) for item in ranking)
    return items and len(ranking) == num_positions == len(set(ranking))


def takes_rows(cls: type) -> bool:
    """Whether a class serves many users at a time: its constructor, or one that it inherits, has ``num_envs``."""
    import inspect

    makers = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    return any("num_envs" in inspect.signature(maker).parameters for maker in makers)


def serve(requests: int, answers: int) -> None:
    """Answer until the requests end."""
    answerer = Answerer()
    with os.fdopen(requests, encoding="utf-8") as asked, os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in asked:
            answer = answerer.answer(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            out.write(json.dumps(answer, default=plain) + "\n")
            out.flush()


def main() -> None:
    requests, answers, limits = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import isolation  # type: ignore[import-not-found]  # a script of its own, not a part of the package

    sys.path.pop(0)
    isolation.enter(answers, requests, **limits)
    serve(requests, answers)


if __name__ == "__main__":
    main()
