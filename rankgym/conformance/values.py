"""Values that environments take and return: checked, described, compared, overwritten; and wrong actions."""

import reprlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from rankgym.conformance.rulebook import fail
from rankgym.spaces import Permutation

_short = reprlib.Repr()
_short.maxother = _short.maxstring = 200
_short.maxlevel = 3


def short(value: Any) -> str:
    """Return a text of ``value`` that is not long."""
    return _short.repr(value)


def check_attributes(env: Any) -> None:
    if not isinstance(env, VectorEnv):
        fail("attributes", f"env is a {type(env).__name__}", "a gymnasium.vector.VectorEnv")
    num_envs = getattr(env, "num_envs", None)
    if not isinstance(num_envs, (int, np.integer)) or isinstance(num_envs, bool) or num_envs < 1:
        fail("attributes", f"num_envs is {num_envs!r}", "a whole number, at least 1")
    for name in ("single_observation_space", "observation_space", "single_action_space", "action_space"):
        space = getattr(env, name, None)
        if not isinstance(space, Space):
            fail("attributes", f"{name} is {short(space)}", "a gymnasium.Space")
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        fail("attributes", f"metadata['autoreset_mode'] is {mode!r}", "a member of gymnasium.vector.AutoresetMode")


def check_member(rule: str, what: str, space: Any, value: Any) -> None:
    """``value`` is in ``space``, and has exactly its dtypes, which ``contains`` does not ask for."""
    if isinstance(space, Dict) and isinstance(value, dict) and value.keys() == space.spaces.keys():
        for key, part in space.spaces.items():
            check_member(rule, f"{what}[{key!r}]", part, value[key])
    elif isinstance(space, Tuple) and isinstance(value, tuple) and len(value) == len(space.spaces):
        for index, part in enumerate(space.spaces):
            check_member(rule, f"{what}[{index}]", part, value[index])
    elif is_array_space(space) and (not isinstance(value, np.ndarray) or value.dtype != space.dtype):
        fail(rule, f"{what} is {describe(value)}", f"an array of {space.dtype}")
    elif not space.contains(value):
        fail(rule, f"{what} is {short(value)}, {describe(value)}", f"a member of {space}")


def is_array_space(space: Any) -> bool:
    return isinstance(space, (Box, MultiDiscrete, MultiBinary))


def check_info(what: str, info: Any, num_envs: int) -> None:
    if not isinstance(info, dict):
        fail("info", f"{what} is {describe(info)}", "a dict")
    for key, value in info.items():
        here = f"{what}[{key!r}]"
        if not isinstance(key, str):
            fail("info", f"{what} has the key {key!r}", "names")
        if key.startswith("_"):
            if key[1:] not in info:
                fail("info", f"{here} is a mask of {key[1:]!r}, which is missing", f"{key[1:]!r} beside it")
            if not isinstance(value, np.ndarray) or value.dtype != np.bool_ or value.shape != (num_envs,):
                fail("info", f"{here} is {describe(value)}", f"a mask: an array of bool of shape ({num_envs},)")
        elif isinstance(value, dict):
            check_info(here, value, num_envs)
        elif not isinstance(value, np.ndarray) or value.shape[:1] != (num_envs,):
            fail("info", f"{here} is {describe(value)}", f"an array of {num_envs} entries, or a dict of such arrays")


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{short(value)} of type {type(value).__name__}"


def same(one: Any, other: Any) -> bool:
    """Equal in type, dtype, shape and bits."""
    kind = type(one)
    if kind is not type(other):
        return False
    if issubclass(kind, (np.ndarray, np.generic)):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return all(map(same, one.ravel(), other.ravel()))
        return bool(one.tobytes() == other.tobytes())
    if issubclass(kind, dict):
        return one.keys() == other.keys() and all(same(part, other[key]) for key, part in one.items())
    if issubclass(kind, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (isinstance(one, float) and one != one and other != other)


def copied(value: Any) -> Any:
    """Return a deep copy, quickly for what environments return: dicts, tuples and arrays of numbers."""
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy(order="K")
    if kind is dict:
        return {key: copied(part) for key, part in value.items()}
    if kind is tuple:
        return tuple(map(copied, value))
    return deepcopy(value)


def info_by_row(info: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Return what ``info`` says of each row: the keys that its masks allow it. Arrays are views."""
    rows: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, value in info.items():
        if key.startswith("_"):
            continue
        parts, mask = info_by_row(value, num_envs) if isinstance(value, dict) else value, info.get(f"_{key}")
        for row, part in enumerate(parts):
            if mask is None or mask[row]:
                rows[row][key] = part
    return rows


def mutable_parts(value: Any) -> Iterator[Any]:
    """The arrays and dicts that ``value`` consists of."""
    if isinstance(value, (dict, np.ndarray)):
        yield value
    parts: Any = value if isinstance(value, (list, tuple)) else ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, np.ndarray) and value.dtype == object:
        parts = value.ravel()
    for part in parts:
        yield from mutable_parts(part)


def memory(arrays: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return the memory addresses at which each of ``arrays`` begins and ends, (arrays, 2)."""
    bounds = [byte_bounds(array) if array.size else (0, 0) for array in arrays]
    return np.array(bounds, np.uint64).reshape(-1, 2)


def may_share(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return for each line of ``one`` whether its memory may overlap with any of ``other``; see ``memory``."""
    overlap = (one[:, :1] < other[:, 1]) & (other[:, 0] < one[:, 1:])
    return np.asarray(overlap.any(1))


NONSENSE = {"O": None, "b": True, "f": np.nan, "c": np.nan}


def overwrite(value: Any) -> None:
    """Write nonsense into every array of ``value`` that can be written, and empty its dicts."""
    for part in list(mutable_parts(value)):
        if isinstance(part, dict):
            part.clear()
        elif part.flags.writeable:
            part.fill(NONSENSE.get(part.dtype.kind, 99))


def is_duel_space(space: Any) -> bool:
    """True for a Dict of the same two things to compare, left and right: arms or rankings."""
    sides = space.spaces if isinstance(space, Dict) else {}
    return set(sides) == {"left", "right"} and all(isinstance(p, (Discrete, Permutation)) for p in sides.values())


def spoilt(action: Any, space: Any) -> Iterator[Any]:
    """Batches of rankings, or of duels, that are wrong: in one row, or altogether."""
    if isinstance(space, Dict):
        for key, part in space.spaces.items():
            if isinstance(part, Permutation) or is_duel_space(space):
                for bad in spoilt(action[key], part):
                    yield {**action, key: bad}
        if is_duel_space(space):
            left, right = action["left"], action["right"]
            yield from ({"left": left}, {**action, "middle": left}, (left, right), None)
        return
    info = np.iinfo(action.dtype)
    wrong = {info.min, info.max}
    if isinstance(space, Discrete):
        wrong |= {int(space.start) - 1, int(space.start + space.n)}
    for item in sorted(wrong - {0}):
        bad = action.copy()
        bad[(-1, *[0] * (action.ndim - 1))] = item
        yield bad
    if action.ndim > 1 and action.shape[1] > 1:
        bad = action.copy()
        bad[-1, 1] = bad[-1, 0]
        yield bad
    yield action[:, :-1] if action.ndim > 1 else action[:, None]
    yield from (action[:-1], action[0], action.astype(np.float64), action.astype(object), action.astype(bool), None)
