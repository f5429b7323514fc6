"""Agents as users name them: a name of the table, a class, a trained model, each with knobs."""

import functools
import inspect
import json
import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gymnasium.vector import VectorEnv

import rankgym
from rankgym.agent import NAMED_AGENT, agent_class, missing_methods, serves_one_user
from rankgym.arguments import ActionKind, UnknownArgument, action_kind, env_attribute, near
from rankgym.kernels import KernelError
from rankgym.models.named import failure_in_model
from rankgym.named_code import NameNotFound, find_named, is_ours
from rankgym.play.game import RefusedAction, incompatibility
from rankgym.source import code_digests
from rankgym.wrappers.against_itself import AgainstItself

MODEL = "rankgym.sb3.agent:SB3Agent"  # what plays a trained model
WEIGHTS = Path(rankgym.__file__).parent / "sb3" / "weights"  # models that come with the package
EXPORTED = ".safetensors"  # ends the names of their files
MODEL_FILES = (".zip", EXPORTED)  # endings of trained models' files
DECIDED_BY = ".decided_by"  # ends the name of the digest that an agent's class gives itself
SB3 = ("torch", "stable_baselines3", "sb3_contrib", "safetensors")  # libraries of the extra sb3
QUOTED_OR_BLANK = r'("(?:[^"\\]|\\.)*")|\s+'
# Arguments from the run.
AgentLike = str | type | functools.partial[Any]  # how users name an agent, see ``parse_agent``
SHAPE = ("num_items", "num_positions", "num_arms", "num_envs", "horizon", "seed", "initial_list")


class AgentFailed(RuntimeError):
    """An agent raised an error; the message is one line with the agent's name, the error and its place."""


class AgentSpec(NamedTuple):
    """An agent as the user named it; it can be sent to another process."""

    label: str  # what the user wrote, as ``spelled``
    where: str  # "package.module:Class", or of a function that makes agents
    knobs: dict[str, Any]

    def load(self) -> Any:
        """Import the class or function, running nothing but its module; ValueError if it is not a ``NAMED_AGENT``."""
        try:
            found = find_named(self.where)
        except ModuleNotFoundError as error:
            if self.where == MODEL and error.name in SB3:
                raise ValueError(f"agent = {self.label!r} is a trained model: {without_sb3(error)}") from None
            raise
        except NameNotFound as error:
            raise ValueError(f"agent = {self.label!r}: {error}") from None
        if agent_class(found) is None:
            missing = missing_methods(found) if isinstance(found, type) else []
            wrong = f"has no method {missing[0]}" if len(missing) == 1 else "is not an agent"
            raise ValueError(f"agent = {self.label!r}: {self.where} {wrong}; allowed: {NAMED_AGENT}")
        return found

    def make(self, env: VectorEnv[Any, Any, Any], horizon: int, seed: int | Sequence[int]) -> Any:
        """Make the agent for ``env``: by ``for_env`` if the class has it, else with what it takes of ``SHAPE``.

        Raises ValueError if the class does not take these arguments, and AgentFailed if a user's class failed itself.
        """
        cls = self.load()
        if serves_one_user(cls):
            module, _, name = self.where.rpartition(":")
            raise ValueError(
                f"agent = {self.label!r}: {name}.act takes no observation, as that of a class for one user at a time; "
                f"allowed: a batch agent, such as {name}Rows after {name}Rows = rankgym.per_row({name}) in {module}"
            )
        if action_kind(env) is ActionKind.DUEL_OF_RANKINGS:
            env = AgainstItself(env)
        space: Any = env.single_action_space
        try:
            if hasattr(cls, "for_env"):
                return cls.for_env(env, horizon=horizon, seed=seed, **self.knobs)
            known = {"num_envs": env.num_envs, "horizon": horizon, "seed": seed}
            if action_kind(env) is ActionKind.DUEL_OF_ARMS:
                known |= {"num_arms": int(space["left"].n)}
            else:
                lists = env_attribute(env, "initial_list")
                known |= {"num_items": int(space.n), "num_positions": int(space.k), "initial_list": lists}
            taken, takes_all = parameters_of(cls)
            defaults = inspect.signature(cls).parameters
            needed = [name for name in taken if name in SHAPE and defaults[name].default is inspect.Parameter.empty]
            wrong = ", ".join(name for name in needed if name not in {**known, **self.knobs})
            if wrong:
                kind = "arms duel" if "num_arms" in known else "items are ranked"
                raise ValueError(f"it wants {wrong}, but here {kind}; agents get {', '.join(known)}")
            return cls(**{name: value for name, value in known.items() if takes_all or name in taken}, **self.knobs)
        except (TypeError, ValueError) as error:
            own = list(knobs(cls))
            hint = f"; its knobs: {', '.join(own) or 'none'}" if isinstance(error, TypeError) else ""
            if own and "missing" in str(error) and hint:
                hint += f"; given as {self.where}:{own[0]}=VALUE, in Python also by functools.partial"
            if self._own_place(error) and not self.where.startswith(("rankgym_agents.", "rankgym.")):
                raise self.failure(error, hint) from error
            said = re.sub(r"^\w+\.__init__\(\)", f"{getattr(cls, '__name__', cls)}()", str(error))  # not its base's
            if isinstance(error, UnknownArgument):  # sizes and seeds are arguments, too, but not knobs
                said, hint = said.partition("allowed: ")[0] + hint.removeprefix("; "), ""
            raise ValueError(f"agent = {self.label!r}: {said}{hint}") from error

    def failure(self, error: BaseException, hint: str = "", during: str = "", place: str = "") -> AgentFailed:
        """Return an AgentFailed for an ``error`` of the agent or of its rankings.

        An error of a kernel names the kernel alone, one of a click model that model alone. ``during`` names the call
        that failed, and ``place`` stands for a place in the agent's own file if the error has none there, as that of a
        wrong result.
        """
        if isinstance(error, KernelError):  # of the agent, or of a click model
            return AgentFailed(str(error))
        if in_model := failure_in_model(error):
            return AgentFailed(in_model)
        frames = [] if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)[-1:]
        place = self._own_place(error) or place or "".join(f"{f.filename}:{f.lineno}" for f in frames)
        place = place.removeprefix(os.path.join(os.getcwd(), ""))
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        if isinstance(error, RefusedAction):
            said, during, place = f"ValueError: {error.said}", error.during, error.place
        said = f"{during and f'in {during}: '}{said}"
        return AgentFailed(f"agent = {self.label!r}: {said}{hint}{place and f' ({place})'}")

    def inner(self) -> "AgentSpec | None":
        """Return the agent that this one wraps, named by its knob ``agent``, or None."""
        try:
            return parse_agent({**knobs(self.load()), **self.knobs}["agent"])
        except Exception:  # a class that cannot be loaded is reported elsewhere
            return None

    def _own_place(self, error: BaseException) -> str:
        """Return file and line of the last frame in the wrapped agent's file, else in the agent's own, else ""."""
        inner = self.inner()
        if inner and (place := inner._own_place(error)):
            return place
        module = self.where.partition(":")[0].split(".")
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if list(Path(frame.filename).with_suffix("").parts[-len(module) :]) == module:
                return f"{frame.filename}:{frame.lineno}"
        return ""

    def code(self) -> dict[str, str]:
        """Return digests of what defines the agent, a function that makes it, and the agent that it wraps.

        They are by the names of modules, and "" for what was typed at a prompt. A class that reads more files has a
        static method ``decided_by(**knobs)``, which returns their digest.
        """
        found, inner = self.load(), self.inner()
        digests = code_digests(dict.fromkeys((found, agent_class(found))))
        digests |= inner.code() if inner is not None else {}
        return digests | ({f"{self.where}{DECIDED_BY}": self.decided_by()} if hasattr(found, "decided_by") else {})

    def decided_by(self) -> str:
        """Return what the agent's class says of further files that it reads."""
        return str(self.load().decided_by(**self.knobs))

    def digest(self) -> str:
        """Return the digests of ``code`` as one text."""
        return " ".join(filter(None, self.code().values()))


def parameters_of(cls: Any) -> tuple[list[str], bool]:
    """Return the names of the parameters of ``cls``, and whether it takes any other keyword."""
    kinds = {name: parameter.kind for name, parameter in inspect.signature(cls).parameters.items()}
    named = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)]
    return named, any(kind is kind.VAR_KEYWORD for kind in kinds.values())


def knobs(cls: Any) -> dict[str, Any]:
    """Return the knobs of an agent's class with their defaults, ``inspect.Parameter.empty`` for a required one."""
    parameters = inspect.signature(cls).parameters
    return {name: parameters[name].default for name in parameters_of(cls)[0] if name not in SHAPE}


def split_names(text: str) -> list[str]:
    """Split ``text`` at its commas, but not at those within brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)]


def _number(text: str) -> float:
    """Return the number of a text with a fraction or an exponent: 1e5 is the whole number 100000."""
    number = float(text)
    return int(number) if "e" in text.lower() and number.is_integer() else number


def literal(text: str) -> Any:
    """Parse ``text`` as JSON (numbers, true, false, null, lists, "quoted"); other text is returned unchanged.

    Raises ValueError if the text begins like a list, an object or a quoted text, and is not valid JSON.
    """
    try:
        return json.loads(text, parse_float=_number)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith(("[", "{", '"')):
            raise ValueError(f"{text} is not valid JSON: {error}") from None
        return text
    except RecursionError:
        raise ValueError(f"{text[:20]}... is nested too deeply; allowed: a few levels of lists") from None


def knob_text(value: Any) -> str:
    """Return a knob's value as ``literal`` reads it; a TypeError or ValueError if JSON does not have it."""
    word = isinstance(value, str) and not value.lstrip().startswith(("[", "{", '"')) and literal(value) == value
    return value if word else json.dumps(value, separators=(",", ":"))


def spelled(agent: str) -> str:
    """Return an agent's text without the blanks in its knobs' numbers and lists: one spelling for equal knobs."""
    return ":".join(map(_without_blanks, agent.split(":")))


def _without_blanks(part: str) -> str:
    """Return ``knob=value`` without blanks in the value, those of quoted texts aside; other texts as they are."""
    knob, equals, value = part.partition("=")
    try:
        plain = not equals or isinstance(literal(value), str)
    except ValueError:
        plain = True
    return part if plain else f"{knob}={re.sub(QUOTED_OR_BLANK, lambda found: found[1] or '', value)}"


def own_code(agent: AgentLike) -> bool:
    """Return whether the name of an agent, or of one that it wraps, means a module that is not rankgym's.

    Nothing is imported. A name that cannot be parsed means none.
    """
    try:
        spec = parse_agent(agent)
    except ValueError:
        return False
    inner = spec.knobs.get("agent")
    return not is_ours(spec.where) or (isinstance(inner, str) and ":" in inner and own_code(inner))


def partial_of(agent: functools.partial[Any]) -> type:
    """Return the class of a partial agent, which fixes knobs; ValueError if it is another function's, or a place's."""
    if isinstance(agent.func, type) and not agent.args:
        return agent.func
    allowed = "allowed: functools.partial(Class, knob=value), or a text such as 'package.module:Class:knob=value'"
    raise ValueError(f"agent = {agent!r} is not an agent; {allowed}")


def parse_agent(agent: AgentLike) -> AgentSpec:
    """Parse the name of an agent; ValueError if nothing has this name.

    Args:
        agent: a class, also with knobs by ``functools.partial``; or, with knobs if wanted (``"toprank:delta=1e-6"``), a
            name of ``rankgym_agents.AGENTS``, ``"package.module:Class"``, ``"package.module:function"`` with a return
            annotation that is a class with act and update, a trained model's file ``"runs/x/best.zip"``, or the name of
            a model that comes with the package
            (``shipped_models``). A knob ``agent`` may be a class or function as well:
            ``"restarting:agent=package.module:Class:every=5000"``.
    """
    from rankgym_agents import AGENTS

    if isinstance(agent, type):
        return AgentSpec(agent.__name__, f"{agent.__module__}:{agent.__qualname__}", {})
    if isinstance(agent, functools.partial):
        cls, fixed = partial_of(agent), agent.keywords
        try:
            label = ":".join([cls.__name__, *(f"{knob}={knob_text(value)}" for knob, value in fixed.items())])
        except (TypeError, ValueError) as error:
            raise ValueError(f"agent = {agent!r} has knobs that are not plain JSON values: {error}") from None
        return AgentSpec(label, f"{cls.__module__}:{cls.__qualname__}", dict(fixed))
    if not isinstance(agent, str):
        made = "; an agent for each environment is made of its class" if not missing_methods(agent) else ""
        allowed = "a name or a class, with knobs as 'toprank:delta=1e-6' or functools.partial(TopRank, delta=1e-6)"
        raise ValueError(f"agent = {agent!r} is not an agent's name or class; allowed: {allowed}{made}")
    agent = spelled(agent)
    name, *rest = agent.split(":")
    if len(name) == 1 and rest and rest[0][:1] in ("/", "\\"):  # a drive
        name = f"{name}:{rest.pop(0)}"
    chosen: dict[str, Any] = {}
    if name not in AGENTS and (name.lower().endswith(MODEL_FILES) or name in shipped_models()):
        where, chosen["model"] = MODEL, _model_file(agent, name)
    elif rest and "=" not in rest[0] and (name not in AGENTS or rest[0][:1].isupper()):
        where = f"{name}:{rest.pop(0)}"
    elif name in AGENTS:
        where = f"{AGENTS[name].__module__}:{AGENTS[name].__qualname__}"
    else:
        files = (*(f"{name}{ending}" for ending in MODEL_FILES), str(Path(name) / "best.zip"))
        near_files = [path for path in files if os.path.isfile(path)]
        hint = f"; did you mean {near_files[0]!r}?" if near_files else near(name, [*AGENTS, *shipped_models()])
        if hint:
            raise ValueError(f"agent = {name!r} is unknown{hint} `rankgym agents` lists all")
        known = ", ".join([*AGENTS, *shipped_models(), f"the {' or '.join(MODEL_FILES)} of a trained model"])
        allowed = f"allowed: {known}, or one of your own as package.module:Class"
        raise ValueError(f"agent = {name!r} is unknown; {allowed}")
    for part in rest:
        knob, equals, value = part.partition("=")
        module = chosen.get("agent")
        if not equals and isinstance(module, str) and module not in AGENTS and ":" not in module:
            chosen["agent"] = f"{module}:{part}"
            continue
        if not knob.isidentifier():
            raise ValueError(f"agent = {agent!r}: {part!r} is not a knob; allowed: name=value")
        if not equals:
            raise ValueError(f"agent = {agent!r}: the knob {knob!r} needs a value: {knob}=value")
        if where == MODEL and knob == "model" and knob in chosen:
            allowed = "allowed: the knobs 'deterministic' and 'noise'"
            raise ValueError(f"agent = {agent!r}: the model is {name} already; {allowed}")
        try:
            chosen[knob] = literal(value)
        except ValueError as error:
            raise ValueError(f"agent = {agent!r}: {knob} = {error}") from None
    return AgentSpec(agent, where, chosen)


def shipped_models() -> list[str]:
    """Return the names of the trained models that come with the package."""
    return sorted(path.stem for path in WEIGHTS.glob(f"*{EXPORTED}"))


def shipped_file(name: str) -> str:
    """Return the path of a trained model that comes with the package."""
    return str(WEIGHTS / f"{name}{EXPORTED}")


def _model_file(agent: str, name: str) -> str:
    """Find the file of a trained model by its path, or by the name of one that comes with the package."""
    if os.path.isfile(name):
        return name
    if Path(name).name == name and Path(name).stem in shipped_models():
        return shipped_file(Path(name).stem)
    folder = Path(name).parent
    with_package = [f"{model}{Path(name).suffix}" for model in shipped_models()] if Path(name).name == name else []
    files = sorted(folder.glob("*")) if os.path.isdir(folder) else []
    there = [str(path) for path in files if path.suffix in MODEL_FILES and path.is_file()]
    hint = near(name, [*there, *with_package]) or ";"
    what = "" if os.path.isdir(folder) else f", nor a folder {str(folder)!r}"
    if os.path.isdir(name):
        what = ", but a folder"
    comes = f", or one that comes with the package: {', '.join(shipped_models())}" if with_package else ""
    allowed = f"allowed: a model that `rankgym train` made{comes}"
    raise ValueError(f"agent = {agent!r}: there is no file {name!r}{what}{hint} {allowed}")


def without_sb3(error: ModuleNotFoundError) -> str:
    """Say how to install the libraries of trained models."""
    return f'there is no {error.name} here; pip install "rankgym[sb3]"'


def fitting_agents(env: Any) -> list[str]:
    """Return the names of the agents in ``rankgym_agents.AGENTS`` that can play ``env``, in the table's order."""
    from rankgym_agents import AGENTS

    return [name for name, agent in AGENTS.items() if not incompatibility(agent, env)]


def slug(label: str) -> str:
    """Return an agent's label as a file name that is valid on any system."""
    return re.sub(r"[^\w.=+-]+", "_", label)
