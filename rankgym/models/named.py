"""Click models as users name them: a key of ``MODELS``, or one of their own as ``"package.module:MODEL"``."""

import inspect
import os
import traceback
from typing import Any

import numpy as np

from rankgym.arguments import near
from rankgym.models.base import ClickModel, Reward
from rankgym.models.table import MODELS
from rankgym.named_code import NameNotFound, find_named
from rankgym.source import code_digests, source_digest

AXES = ("item", "position", "previous")
OWN = "one of your own as package.module:MODEL"
SCALAR_KERNELS = ("rankgym.kernels.random_numbers",)  # modules of kernels that take and return single numbers


def find_model(model: str | ClickModel) -> ClickModel:
    """Return the click model of a name, or the given one.

    Args:
        model: a key of ``MODELS``; the place of your own model, ``"package.module:MODEL"``, in a module that Python
            finds; or a ``ClickModel``.

    Raises:
        ValueError: nothing has this name, or what has it is not a click model.

    Examples:
        >>> from rankgym.models import find_model
        >>> model = find_model("PBM")
        >>> model.name, model.axes, list(model.rewards)
        ('PBM', {'attraction': ('item',), 'examination': ('position',)}, ['clicks'])
        >>> find_model("PBN")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: model = 'PBN' is unknown; did you mean 'PBM'? allowed: ...
    """
    found = look_up(model)
    if wrong := unfit(found):
        where = f"model = {model!r}" if isinstance(model, str) else "model"
        raise ValueError(f"{where} {wrong}")
    return found


def look_up(model: Any) -> Any:
    """Return what a name stands for, or a ``ClickModel`` itself, unchecked; ValueError if nothing has this name."""
    if isinstance(model, ClickModel):
        return model
    if not isinstance(model, str) or (":" not in model and model not in MODELS):
        hint = near(model, MODELS) if isinstance(model, str) else ""
        raise ValueError(f"model = {model!r} is unknown{hint or ';'} allowed: {', '.join(map(repr, MODELS))}, or {OWN}")
    return MODELS[model] if model in MODELS else _imported(model)


def is_own(model: Any) -> bool:
    """Return whether ``model`` names a module of the user's."""
    return isinstance(model, str) and model not in MODELS and ":" in model


def _imported(name: str) -> Any:
    try:
        return find_named(name)
    except NameNotFound as error:
        there = ""
        if error.module is not None:
            models = [key for key, value in vars(error.module).items() if isinstance(value, ClickModel)]
            there = f"; its click models: {', '.join(models) or 'none'}"
        raise ValueError(f"model = {name!r}: {error}{there}") from None


def unfit(model: Any) -> str:
    """Return why ``model`` cannot be played, to follow its name; "" if its parts are all there."""
    if not isinstance(model, ClickModel):
        return f"is a {type(model).__name__}; allowed: a rankgym.models.ClickModel"
    fields = getattr(model.parameters, "_fields", None)
    if not inspect.isclass(model.parameters) or fields is None:
        return f"has parameters = {model.parameters!r}; allowed: a NamedTuple class of arrays"
    if not isinstance(model.axes, dict) or set(model.axes) != set(fields):
        return f"has axes for {list(model.axes)}, but the parameters {list(fields)}; allowed: axes for each of them"
    if model.axes.get("attraction") != ("item",):
        return "has no parameter attraction with axes ('item',), by which agents are judged"
    for name, axes in model.axes.items():
        if not isinstance(axes, tuple) or not set(axes) <= set(AXES):
            return f"has axes[{name!r}] = {axes!r}; allowed: a tuple of {', '.join(map(repr, AXES))}, () for one number"
        if ("previous" in axes) > ("position" in axes):
            return f"has axes[{name!r}] = {axes!r}; allowed: 'previous' together with 'position'"
    if not isinstance(model.name, str) or not callable(model.examine):
        return "has a name that is not a text, or an examine that is not a function"
    if model.clicks is not None and not callable(model.clicks):
        return f"has clicks = {model.clicks!r}; allowed: a function, or None: chi(R, k) alpha(R(k))"
    if not isinstance(model.rewards, dict) or not model.rewards:
        return "has no rewards; allowed: a dict such as {'clicks': Reward(click, value, best_lists)}"
    for name, reward in model.rewards.items():
        if not isinstance(reward, Reward) or not all(map(callable, reward)):
            return (
                f"has rewards[{name!r}] = {reward!r}; allowed: Reward(click, value, best_lists), all of them functions"
            )
    return next(filter(None, map(_uncompiled, functions_of(model))), "") or _wrong_arguments(model)


def _wrong_arguments(model: ClickModel) -> str:
    """Say which function cannot take the arguments that it is called with; "" if all can."""
    own = list(model.axes)
    expected = {
        "click": [*own, "key", "session", "displayed", "cutoff", "clicks", "reward"],
        "value": [*own, "displayed", "cutoff", "expected"],
        "best_lists": ["parameters", "num_positions", "cutoff"],
    }
    functions = [(name, getattr(reward, name)) for reward in model.rewards.values() for name in expected]
    functions.append(("examine", model.examine))
    expected["examine"] = [*own, "displayed", "examination"]
    if model.clicks is not None:
        functions.append(("clicks", model.clicks))
        expected["clicks"] = [*own, "displayed", "probability"]
    for name, function in functions:
        try:
            signature = inspect.signature(getattr(function, "py_func", function))
        except (TypeError, ValueError):  # of a function written in C
            continue
        try:
            signature.bind(*expected[name])
        except TypeError:
            given, wanted = ", ".join(signature.parameters), ", ".join(expected[name])
            return f"has a function {name} with the arguments ({given}); allowed: ({wanted})"
    return ""


def functions_of(model: ClickModel) -> list[Any]:
    """Return the functions of a click model that may be kernels, each once."""
    rewards = model.rewards.values()
    whole = [model.examine, *([] if model.clicks is None else [model.clicks])]
    return list(dict.fromkeys([*whole, *(f for one in rewards for f in (one.click, one.value))]))


def _uncompiled(function: Any) -> str:
    """Say why a function of plain Python cannot play: in Python, 64 random bits become an int of another type."""
    if not inspect.isfunction(function):
        return ""
    known = inspect.getclosurevars(function).globals.items()
    drawn = [name for name, value in known if hasattr(value, "py_func") and value.__module__ in SCALAR_KERNELS]
    if not drawn:
        return ""
    allowed = "allowed: decorate it with @rankgym.kernels.kernel, or draw with rankgym.models.coins"
    return f"has a function {function.__name__!r} that is not compiled and calls {drawn[0]!r}; {allowed}"


def failure_in_model(error: BaseException) -> str:
    """Return an ``error`` of a click model's plain Python function as text; "" if no such function failed.

    The text names the model, the function, the error, and the file and line: the last one in the model's module.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, _ in reversed(frames):
        models = {name: value for name, value in frame.f_globals.items() if isinstance(value, ClickModel)}
        for name, model in models.items():
            functions = [*functions_of(model), *(reward.best_lists for reward in model.rewards.values())]
            if any(getattr(function, "__code__", None) is frame.f_code for function in functions):
                *_, (last, line) = [one for one in frames if one[0].f_globals is frame.f_globals]
                file = last.f_code.co_filename.removeprefix(os.path.join(os.getcwd(), ""))
                said = f"{type(error).__name__}: {error}".removesuffix(": ")
                function = frame.f_code.co_name
                where = f"{frame.f_globals.get('__name__')}:{name}"
                return f"model = {where!r}: its function {function} failed: {said} ({file}:{line})"
    return ""


def model_code(model: str | ClickModel) -> dict[str, str]:
    """Return digests of the files that define a model's functions and parameters, by the modules' names."""
    found = find_model(model)
    parts: list[Any] = [
        found.parameters,
        found.examine,
        *([] if found.clicks is None else [found.clicks]),
        *(part for reward in found.rewards.values() for part in reward),
    ]
    digests = {module: digest for module, digest in code_digests(parts).items() if digest}
    if isinstance(model, str) and ":" in model:
        own = find_named(model.partition(":")[0])
        digests[own.__name__] = source_digest(str(own.__file__))
    return dict(sorted(digests.items()))


def drawn_parameters(model: ClickModel, queries: int, items: int, positions: int, rng: np.random.Generator) -> Any:
    """Draw parameters of ``queries`` queries, uniform in [0, 1]; each is (queries, *its axes)."""
    sizes = {"item": items, "position": positions, "previous": positions}
    shapes = (tuple(sizes[axis] for axis in model.axes[name]) for name in model.parameters._fields)
    return model.parameters(*(rng.random((queries, *shape)) for shape in shapes))
