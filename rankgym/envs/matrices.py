"""The preference matrices of the dueling environment: named, given or drawn; and their best arms."""

import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of, whole_number
from rankgym.data import preferences
from rankgym.kernels import kernel

CONDORCET, COPELAND, BORDA = range(3)
WINNERS = {"condorcet": CONDORCET, "copeland": COPELAND, "borda": BORDA}

DEFAULT_FAMILY, DEFAULT_PROBLEMS, DEFAULT_ARMS = "uniform", 100, 10  # of drawn matrices
TIE = 1e-12  # between two scores: sums of the same numbers in another order differ by less
FIRST_SEED = 2015  # of the first drawn matrix
MAX_ENTRIES = 1 << 27  # of all matrices together: a gigabyte
DEFAULTS = {"dataset": "arxiv", "source": "calibrated", "user_model": "perfect"}
USER_MODEL_OF_AN_ID = " (rankgym/Dueling-MSLR-v0 sets one; rankgym/Dueling-Synthetic-v0 takes dataset = NAME as it is)"


@kernel
def judge(preference, matrix, arms, winner, gap, best, condorcet):
    """Find the best arm of each entry (see ``rankgym.envs.dueling.duel``).

    Fills ``best`` (entries,), each arm's ``gap`` (entries, arms) to it, and the ``condorcet`` (entries,) winner among
    the entry's arms, or -1. By ``winner``, the gap of arm k is p_best,k - 1/2 (CONDORCET; without a winner ``best`` is
    -1 and the gaps are NaN), the distance to the largest share of other arms that an arm beats with p > 1/2 (COPELAND),
    or the distance to the largest mean of p over the other arms (BORDA). Of equal arms the first is best.
    """
    entries, count = arms.shape
    for e in range(entries):
        p = preference[matrix[e]]
        best[e], condorcet[e], top = -1, -1, -1.0
        for k in range(count):
            beaten, total = 0, 0.0
            for other in range(count):
                if other != k:
                    chance = p[arms[e, k], arms[e, other]]
                    beaten += 1 if chance > 0.5 else 0
                    total += chance
            if beaten == count - 1:
                condorcet[e] = k
            gap[e, k] = (beaten if winner == COPELAND else total) / max(count - 1, 1)
            if gap[e, k] > top:
                best[e], top = k, gap[e, k]
        if winner == CONDORCET:
            best[e] = condorcet[e]
        for k in range(count):
            if winner != CONDORCET:
                gap[e, k] = top - gap[e, k]
            elif best[e] >= 0:
                gap[e, k] = p[arms[e, best[e]], arms[e, k]] - 0.5
            else:
                gap[e, k] = math.nan


def best_arms(gap: NDArray[np.float64], best: NDArray[np.int64], winner: int) -> NDArray[np.bool_]:
    """Return the arms (entries, arms) that are best by ``winner``, from what ``judge`` found.

    It is one at most by CONDORCET. By the other two, all arms with the largest score are.
    """
    return np.arange(gap.shape[1]) == best[:, None] if winner == CONDORCET else gap <= TIE


def matrices(
    named: dict[str, Any], preference: Any, drawn: dict[str, Any], num_arms: Any, uninformative: Any
) -> NDArray[np.float64]:
    """Return the matrices (problems, arms, arms) that arguments of ``DuelingVectorEnv`` ask for.

    ``named`` has ``dataset``, ``source`` and ``user_model``, ``drawn`` has ``family``, ``knobs`` and ``num_problems``.
    """
    for name, word in named.items():
        if not isinstance(word, str):
            raise ValueError(f"{name} = {word!r} is not a name; allowed: a text such as {DEFAULTS[name]!r}")
    if named["dataset"] == "synthetic":
        for name in ("source", "user_model"):
            if named[name] != DEFAULTS[name]:
                of_id = USER_MODEL_OF_AN_ID if name == "user_model" else ""
                allowed = f"allowed with 'synthetic': {DEFAULTS[name]!r}"
                raise ValueError(f"{name} = {named[name]!r} is for named matrices{of_id}; {allowed}")
    if named["dataset"] == "synthetic" and preference is None:
        found = _drawn(**drawn, num_arms=num_arms)
    else:
        for name, value in drawn.items():
            if value is not None:
                allowed = "allowed with dataset = 'synthetic', no preference"
                raise ValueError(f"{name} = {value!r} is for drawn matrices; {allowed}")
        found = _given(**named, preference=preference)
    return np.stack([preferences.with_uninformative(matrix, uninformative) for matrix in found])


def _given(dataset: str, source: str, user_model: str, preference: Any) -> list[NDArray[np.float64]]:
    """Return the named matrix, or those that the caller gave."""
    if preference is None:
        if dataset != "mslr" and user_model != "perfect" and user_model in preferences.USER_MODELS:
            preferences.load(dataset, source=source)  # refuses unknown names first
            allowed = f"allowed for {dataset!r}: 'perfect'"
            raise ValueError(f"user_model = {user_model!r} belongs to 'mslr'{USER_MODEL_OF_AN_ID}; {allowed}")
        return [preferences.load(dataset, source=source, user_model=user_model)]
    if isinstance(preference, (str, bytes, os.PathLike)):
        raise ValueError(
            f"preference = {preference!r} is not a matrix; allowed: a list of lists of probabilities. Import a "
            "file's matrix by `rankgym data import NAME FILE` and set dataset = NAME"
        )
    if dataset != "synthetic":
        raise ValueError(f"preference is given, but dataset = {dataset!r} has its own; allowed with 'synthetic'")
    try:
        levels = np.ndim(preference)
    except ValueError:  # lists of different lengths
        levels = 0
    if levels != 3 or len(preference) == 0:
        return [preferences.check_preference("preference", preference)]
    return [preferences.check_preference(f"preference[{n}]", one) for n, one in enumerate(preference)]


def _drawn(family: Any, knobs: Any, num_problems: Any, num_arms: Any) -> list[NDArray[np.float64]]:
    """Return matrices of a family, drawn from fixed seeds."""
    problems = whole_number("num_problems", DEFAULT_PROBLEMS if num_problems is None else num_problems, 1, MAX_ENTRIES)
    most = max(math.isqrt(MAX_ENTRIES // problems), 2)
    arms = whole_number("num_arms", DEFAULT_ARMS if num_arms is None else num_arms, 2, most)
    family = DEFAULT_FAMILY if family is None else family
    one_of("family", family, preferences.FAMILIES)
    if knobs is not None and (not isinstance(knobs, dict) or not all(isinstance(name, str) for name in knobs)):
        raise ValueError(f"knobs = {knobs!r} is not a dict of knobs; allowed: numbers by name, such as {{'gap': 0.1}}")
    return [preferences.draw(family, arms, FIRST_SEED + number, **knobs or {}) for number in range(problems)]
