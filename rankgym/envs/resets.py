"""Resets: seeds, masks and the choice of problems; autoreset: what a step returns where an episode is over."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import near
from rankgym.kernels import bits, kernel, uniform_below

POOLS = ("all", "train", "test")
NUMBERS = re.compile(r"\d{1,9}(,\s*\d{1,9})*")
SPLIT = 5  # every fifth problem is a test problem


@kernel
def draw_numbers(key, number, n, drawn):
    """Fill ``drawn`` (rows,) with uniform integers below ``n``, from draw ``number`` (rows,) of each key."""
    for row in range(key.shape[0]):
        drawn[row] = uniform_below(bits(key[row], number[row]), n)


def checked_mask(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """Return the rows to reset, (num_envs,): ``options["reset_mask"]``, by default all."""
    if not options or "reset_mask" not in options:
        return np.ones(num_envs, bool)
    mask = options["reset_mask"]
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] = {mask!r} is not a mask; allowed: a numpy array of bool")
    if mask.shape != (num_envs,):
        raise ValueError(f"options['reset_mask'] has shape {mask.shape}; allowed: ({num_envs},)")
    if not mask.any():
        raise ValueError("options['reset_mask'] is False everywhere; allowed: at least one True")
    return mask


def checked_problems(name: str, value: Any, number: int, labels: Sequence[str] = ()) -> tuple[bool, NDArray[np.int64]]:
    """Return which of ``number`` problems rows play by the argument ``name``: (drawn?, problems).

    Episodes draw one of these problems, or rows cycle through them. Problems may have ``labels``, to be chosen by.
    """
    everything = np.arange(number)
    allowed = f"allowed: 0 .. {number - 1}, a list of these, 'all', 'train', 'test' or None"
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    if labels:
        allowed = f"allowed: {', '.join(map(repr, labels[:5]))}{', ...' * (len(labels) > 5)}, {allowed[9:]}"
        value = _numbers_of_labels(name, value, labels, allowed)
    if value is None:
        return True, everything
    if isinstance(value, str):
        test = everything % SPLIT == SPLIT - 1
        pools = {"all": everything, "train": everything[~test], "test": everything[test]}
        if value not in pools or not len(pools[value]):
            meant = [int(one) for one in value.split(",")] if NUMBERS.fullmatch(value) else []
            hint = f"did you mean {meant if ',' in value else meant[0]}? " if meant else ""
            raise ValueError(f"{name} = {value!r} is unknown or empty with {number} {many}; {hint}{allowed}")
        return False, pools[value]
    listed = [value] if isinstance(value, (int, np.integer)) else value
    single = isinstance(listed, np.ndarray) and listed.ndim == 0
    if single or not isinstance(listed, (list, tuple, np.ndarray, range)) or len(listed) == 0:
        raise ValueError(f"{name} = {value!r} is not a choice of {many}; {allowed}")
    for one in listed:
        if isinstance(one, (bool, np.bool_)) or not isinstance(one, (int, np.integer)) or not 0 <= one < number:
            hint = f"did you mean the label {str(one)!r}? " if str(one) in labels else ""
            raise ValueError(f"{name} = {one!r} is out of range; {hint}{allowed}")
    return False, np.array(listed, np.int64)


def _numbers_of_labels(name: str, value: Any, labels: Sequence[str], allowed: str) -> Any:
    """Return ``value`` with the labels in it replaced by their numbers; pools and what is not text stay."""
    if isinstance(value, str):
        if value in labels and value not in POOLS:
            return labels.index(value)
        hint = near(value, [*labels, *POOLS])
        if value not in POOLS and hint:
            raise ValueError(f"{name} = {value!r} is unknown{hint} {allowed}")
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, (list, tuple)) and any(isinstance(one, str) for one in value):
        for one in value:
            if isinstance(one, str) and one not in labels:
                raise ValueError(f"{name} = {one!r} is unknown{near(one, labels) or ';'} {allowed}")
        return [labels.index(one) if isinstance(one, str) else one for one in value]
    return value


# -- autoreset ---------------------------------------------------------------------------------------------------------


def only(values: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a copy of ``values`` that is zero outside of ``rows``."""
    kept = np.zeros_like(values)
    kept[rows] = values[rows]
    return kept


def mixed_info(info: dict[str, Any], fresh: dict[str, Any], begun: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the ``info`` of a step that has reset the rows ``begun``: ``fresh`` there, and masks where rows differ."""
    mixed: dict[str, Any] = {}
    for name, values in info.items():
        mixed[name] = only(values, ~begun)
        if name in fresh:
            mixed[name][begun] = fresh[name][begun]
        else:
            mixed[f"_{name}"] = ~begun
    return mixed


def final_info(last: NDArray[np.int8], info: dict[str, Any], ended: NDArray[np.bool_]) -> dict[str, Any]:
    """SAME_STEP: return the entries ``final_...`` of ``info``, with the last observations of the rows ``ended``."""
    final_obs = np.full(len(ended), None, dtype=object)
    for row in np.flatnonzero(ended):
        final_obs[row] = last[row].copy()
    final: dict[str, Any] = {}
    for name, values in info.items():
        final[name] = only(values, ended)
        final[f"_{name}"] = ended.copy()
    return {"final_obs": final_obs, "_final_obs": ended.copy(), "final_info": final, "_final_info": ended.copy()}


def replaced(actions: Any, waiting: NDArray[np.bool_], placeholder: Any) -> Any:
    """NEXT_STEP: return ``actions`` with ``placeholder`` in the rows ``waiting``, if there is an entry for each row."""
    if isinstance(actions, Mapping):
        if not isinstance(placeholder, Mapping):
            return actions
        parts = {name: replaced(actions[name], waiting, part) for name, part in placeholder.items() if name in actions}
        return {**actions, **parts}
    shape = (len(waiting), *np.shape(placeholder))
    if isinstance(actions, np.ndarray) and actions.shape == shape and actions.dtype.kind in "iu":
        actions = actions.copy()
        actions[waiting] = placeholder
    elif isinstance(actions, (list, tuple)) and len(actions) == len(waiting):
        actions = [placeholder if waiting[row] else action for row, action in enumerate(actions)]
    return actions
