"""Autoreset: what a step returns for rows whose episode is over, in Gymnasium's three modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

__all__ = ["checked_mode", "final_info", "mixed_info", "only", "replaced"]


def checked_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """Return ``mode`` as Gymnasium's enum, or raise a ValueError."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        choices = [m.value for m in AutoresetMode]
        raise ValueError(f"autoreset_mode = {mode!r} is unknown; allowed: {choices}") from None


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
