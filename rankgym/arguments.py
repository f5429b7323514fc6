"""Argument checks. Each error names the parameter, its value and what is allowed."""

import difflib
import enum
import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V")
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])
ROW_BYTES = 100  # that a row takes at least: its seed, key and counters
MAX_ROUNDS = 1 << 62  # that can be played: they are counted in 64 bits


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int in ``least .. most`` (default: no upper bound), or raise a ValueError."""
    fits = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not fits or value < least or (most is not None and value > most):
        allowed = f"a whole number, at least {least}" if most is None else f"a whole number in {least} .. {most}"
        raise ValueError(f"{name} = {value!r} is out of range; allowed: {allowed}")
    return int(value)


def check_memory(size: int, **given: int) -> None:
    """Raise a ValueError if ``size`` bytes, which arguments ``given`` by name ask for, do not fit this machine."""
    most = _memory()
    if size > most:
        asked = " and ".join(f"{name} = {value!r}" for name, value in given.items())
        needed = f"{-(-size // 10**9)} GB of memory or more"
        raise ValueError(f"{asked} would take {needed}; allowed: what fits into {most / 1e9:.1f} GB")


@functools.cache
def _memory() -> int:
    """Return the bytes of memory that this process may use at most, as far as the system says."""
    try:
        import resource  # not everywhere

        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, OSError, ValueError):
        return 1 << 40
    return physical if limit == resource.RLIM_INFINITY else min(limit, physical)


def count_of(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``whole_number`` of ``value``, which may be a float without a fraction, too: people write 1e5 rounds.

    Only what is counted takes floats (rounds, runs, horizons, steps); as the number of an item 3.0 is a mistake.
    """
    number = plain_number(value)
    whole = isinstance(number, float) and number.is_integer()
    return whole_number(name, int(number) if whole and number is not None else value, least, most)


def different_numbers(name: str, values: Any, what: str, total: int, least: int) -> list[int]:
    """Return the argument ``name``, a list of at least ``least`` different numbers of 0 .. ``total`` - 1."""
    allowed = f"allowed: at least {least} different {what} of 0 .. {total - 1}"
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(listed, (list, tuple, range)):
        raise ValueError(f"{name} = {values!r} is not a list; {allowed}")
    numbers = [whole_number(f"{name}[{n}]", number, 0, total - 1) for n, number in enumerate(listed)]
    if len(numbers) < least or len(set(numbers)) < len(numbers):
        raise ValueError(f"{name} = {values!r} has too few {what}, or one of them twice; {allowed}")
    return numbers


def near(word: str, words: Iterable[str]) -> str:
    """Return '; did you mean ...?' with the most similar of ``words``, or '' if none is similar."""
    typed, lower = word.lower(), {w.lower(): w for w in words}
    for way in (1, -1):  # difflib finds "regret" for "retret" from the end only
        close = difflib.get_close_matches(typed[::way], [w[::way] for w in lower], n=1, cutoff=0.6)
        if close:
            return f"; did you mean {lower[close[0][::way]]!r}?"
    return ""


def unknown_argument(owner: str, name: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return the error's text for an argument ``name`` that ``owner`` does not have: the near miss, and all ``known``.

    ``others`` may have been meant, too, but are not listed.
    """
    names = list(known)
    return (
        f"{owner} has no argument {name!r}{near(name, [*names, *others]) or ';'} allowed: {', '.join(names) or 'none'}"
    )


class UnknownArgument(TypeError):
    """A function or a class was called with a keyword that it does not have."""


def named_keywords(function: F) -> F:
    """Decorate a function or an ``__init__``: the TypeError for an unknown keyword names the near miss and the others.

    A function with ``**keywords`` is not checked: whatever it passes them on to is. Only if a required keyword is
    missing, and another one looks like it, that one is named. Of a class, the arguments of all
    base classes that get the keywords count.
    """

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords:
            known, takes_all = _keywords_of(call)
            if takes_all:
                _refuse_misspelled(call, keywords)
            wrong = next((name for name in keywords if name not in known), None)
            if wrong is not None and not takes_all:
                is_init = function.__name__ == "__init__" and bool(args)
                owner = type(args[0]).__name__ if is_init else function.__name__
                raise UnknownArgument(
                    unknown_argument(owner, wrong, class_keywords(type(args[0])) if is_init else known)
                )
        return function(*args, **keywords)

    return call  # type: ignore[return-value]


def _refuse_misspelled(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise an UnknownArgument if one of ``given`` is the near miss of a keyword that ``function`` requires."""
    parameters = inspect.signature(function).parameters
    for name, one in parameters.items():
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty and name not in given:
            for wrong in given:
                if wrong not in parameters and (hint := near(wrong, [name])):
                    raise UnknownArgument(f"{function.__name__} has no argument {wrong!r}{hint} {name} is missing")


def name_keywords(cls: C) -> C:
    """Apply ``named_keywords`` to the ``__init__`` that the class ``cls`` defines itself, and return the class.

    A decorator of classes; base classes call it for their subclasses in ``__init_subclass__``.
    """
    if "__init__" in vars(cls):
        cls.__init__ = named_keywords(vars(cls)["__init__"])  # type: ignore[misc]
    return cls


@functools.lru_cache(maxsize=1024)
def _keywords_of(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool]:
    """Return the names of the arguments that ``function`` takes by keyword, and whether it takes any other."""
    parameters = inspect.signature(function).parameters.values()
    names = tuple(one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    return names, any(one.kind is one.VAR_KEYWORD for one in parameters)


def class_keywords(cls: type) -> list[str]:
    """Return the keywords of a class: its own, and where it takes any keyword those of its base class, too."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if "__init__" in vars(base):
            (_, *own), takes_all = _keywords_of(vars(base)["__init__"])
            names |= dict.fromkeys(own)
            if not takes_all:
                break
    return list(names)


@overload
def one_of(name: str, value: Any, allowed: Mapping[str, V]) -> V: ...
@overload
def one_of(name: str, value: Any, allowed: Sequence[str]) -> str: ...
def one_of(name: str, value: Any, allowed: Any) -> Any:
    """Return the entry of ``allowed`` for the word ``value``, of a sequence the word; a ValueError if there is none."""
    if not isinstance(value, str) or value not in allowed:
        hint = near(value, allowed) if isinstance(value, str) else ""
        raise ValueError(f"{name} = {value!r} is unknown; allowed: {', '.join(map(repr, allowed))}{hint}")
    return allowed[value] if isinstance(allowed, Mapping) else value


def plain_number(value: Any) -> int | float | None:
    """Return ``value`` as a Python number, or None if it is not a number or is a bool.

    Python compares an int with a float exactly, however large. NumPy's small types would round the limit instead.
    """
    if isinstance(value, (np.integer, np.floating)):
        value = value.item()
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def number_in(
    name: str, value: Any, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return ``value`` as a float in [low, high], without an end that is open, or raise a ValueError."""
    number = plain_number(value)
    if number is None or not low <= number <= high or (open_low and number == low) or (open_high and number == high):
        interval = f"{'[('[open_low]}{low:g}, {high:g}{'])'[open_high]}"
        raise ValueError(f"{name} = {value!r} is out of range; allowed: a number in {interval}")
    return float(number)


def open_unit(name: str, value: Any) -> float:
    """``value`` as a float in (0, 1), or a ValueError that names the parameter."""
    return number_in(name, value, 0, 1, open_low=True, open_high=True)


def positive(name: str, value: Any) -> float:
    """``value`` as a finite float above 0, or a ValueError that names the parameter."""
    number = plain_number(value)
    if number is None or not 0 < number <= sys.float_info.max:
        raise ValueError(f"{name} = {value!r} is out of range; allowed: a finite number above 0")
    return float(number)


def array_of(values: Any) -> NDArray[Any]:
    """Return ``values`` as an array; lists of different lengths become one without dimensions."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.array(None)


def probabilities(name: str, values: Any, dimensions: int) -> NDArray[np.float64]:
    """Return ``values`` as a float64 array of 1 .. ``dimensions`` dimensions in [0, 1], or raise a ValueError."""
    try:
        if np.asarray(values).dtype.kind in "SU":  # NumPy would parse texts as numbers
            raise TypeError
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        why = "; its lists have different lengths" if "inhomogeneous" in str(error) else ""
        raise ValueError(
            f"{name} = {values!r} is not an array of numbers{why}; allowed: probabilities in [0, 1]"
        ) from None
    if not 1 <= array.ndim <= dimensions or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; allowed: 1 to {dimensions} dimensions, none of them empty")
    wrong = np.argwhere(~((array >= 0) & (array <= 1)))  # also NaN
    if len(wrong):
        place = tuple(int(i) for i in wrong[0])
        raise ValueError(f"{name}{list(place)} = {array[place]} is not a probability; allowed range [0, 1]")
    return array


def env_attribute(env: Any, name: str) -> Any:
    """Return attribute ``name`` of the unwrapped environment, or None; of a batch of singles their values, stacked."""
    bare = env.unwrapped
    if hasattr(bare, name):
        return getattr(bare, name)
    try:
        return np.array(bare.get_attr(name))
    except AttributeError:
        return None


def env_horizons(env: Any) -> tuple[int | None, int | None]:
    """Return the shortest and longest horizon of ``env``'s rows, None for no horizon; ``max_episode_steps`` counts.

    Where a session takes several steps (``SlotBySlot``), that limit is larger, and the spec's ``horizon`` counts.
    """
    bare = env.unwrapped
    if hasattr(bare, "get_attr"):  # a batch of singles
        horizons, specs = np.atleast_1d(env_attribute(env, "horizon")).tolist(), bare.get_attr("spec")
    else:
        horizons, specs = [getattr(bare, "horizon", None)], [getattr(env, "spec", None)]
    horizons = horizons * len(specs) if len(horizons) == 1 else horizons
    limits = [(getattr(spec, "max_episode_steps", None), getattr(spec, "kwargs", {}).get("horizon")) for spec in specs]
    known = ((horizon, *limit) for horizon, limit in zip(horizons, limits, strict=True))
    ends = [min(math.inf if end is None else int(end) for end in each) for each in known]
    shortest, longest = (None if math.isinf(end) else int(end) for end in (min(ends), max(ends)))
    return shortest, longest


class ActionKind(enum.Enum):
    """What one action of an environment is."""

    RANKING = "ranking"
    DUEL_OF_ARMS = "duel of arms"
    DUEL_OF_RANKINGS = "duel of rankings"


def is_duel(kind: ActionKind | None) -> bool:
    """Return whether actions of this ``kind`` compare two sides."""
    return kind in (ActionKind.DUEL_OF_ARMS, ActionKind.DUEL_OF_RANKINGS)


def action_kind(env: Any) -> ActionKind | None:
    """Return what one action of ``env``, single or vector, is; None if its action space is not one of rankgym's."""
    space = getattr(env, "single_action_space", None)
    space = getattr(env, "action_space", None) if space is None else space
    if hasattr(space, "n") and hasattr(space, "k"):
        return ActionKind.RANKING
    sides = getattr(space, "spaces", None)
    if not isinstance(sides, Mapping) or set(sides) != {"left", "right"} or not hasattr(sides["left"], "n"):
        return None
    return ActionKind.DUEL_OF_RANKINGS if hasattr(sides["left"], "k") else ActionKind.DUEL_OF_ARMS


def round_numbers(name: str, values: Any) -> list[Any]:
    """Return ``values`` as a list, or raise a ValueError if they are not a list or another iterable."""
    single = isinstance(values, (str, bytes)) or (isinstance(values, np.ndarray) and values.ndim == 0)
    if single or not isinstance(values, Iterable):
        raise ValueError(f"{name} = {values!r} is not a list; allowed: round numbers such as [100, 1000]")
    return list(values)


def row_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return the rows' seeds: ``seed + b`` for row b of a number, or a list's entries; None where none is given."""
    check_memory(ROW_BYTES * num_envs, num_envs=num_envs)
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
        first = whole_number("seed", seed, 0)
        return [first + row for row in range(num_envs)]
    single = isinstance(seed, (str, bytes)) or (isinstance(seed, np.ndarray) and seed.ndim == 0)
    if single or not isinstance(seed, (Sequence, np.ndarray)):
        allowed = f"None, a whole number, at least 0, or {num_envs} of them"
        raise ValueError(f"seed = {seed!r} is not a seed; allowed: {allowed}")
    if len(seed) != num_envs:
        raise ValueError(f"seed has {len(seed)} entries; allowed: one for each of the {num_envs} rows")
    return [None if s is None else whole_number(f"seed[{row}]", s, 0) for row, s in enumerate(seed)]


def restored(
    snapshot: Mapping[str, Any], like: Mapping[str, NDArray[Any]], grows: Mapping[str, int] | None = None
) -> dict[str, NDArray[Any]]:
    """Fresh contiguous copies of the arrays of ``snapshot``, checked for the names, shapes and dtypes of ``like``.

    ``grows`` gives, for some names, an axis along which the array may be longer than in ``like``.

    Raises:
        ValueError: a name, shape or dtype differs; the message says which, and what is allowed.
    """
    if not isinstance(snapshot, Mapping):
        raise ValueError(f"snapshot is a {type(snapshot).__name__}; allowed: a dict of arrays, as snapshot() returns")
    if set(snapshot) != set(like):
        raise ValueError(f"snapshot has {', '.join(map(str, snapshot)) or 'nothing'}; allowed: {', '.join(like)}")
    copies = {}
    for name, part in like.items():
        given, axis = np.asarray(snapshot[name]), (grows or {}).get(name)
        shape = list(part.shape)
        if axis is not None and given.ndim == part.ndim:
            shape[axis] = max(shape[axis], given.shape[axis])
        if given.dtype != part.dtype or given.shape != tuple(shape):
            allowed = f"{part.shape}{'' if axis is None else f' or more along axis {axis}'}, {part.dtype}"
            raise ValueError(f"snapshot[{name!r}] has shape {given.shape} and dtype {given.dtype}; allowed: {allowed}")
        copies[name] = np.array(given, order="C")
    return copies
