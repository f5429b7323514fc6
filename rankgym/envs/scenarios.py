"""What changes at a breakpoint: the scenarios, by name. A scenario is a NamedTuple of functions."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import number_in, whole_number
from rankgym.envs.queries import QueriesVectorEnv
from rankgym.kernels import bits, kernel, shuffle, uniform
from rankgym.models.base import sorted_lists


@kernel
def draw_jumps(seed, epoch, ranked, kept, jumps, state):
    """Mark in ``state`` (rows, items) in odd epochs ``jumps`` of the items at places ``kept`` and below of ``ranked``.

    ``ranked`` (rows, items) is used up.
    """
    rows, items = ranked.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] = 0
        if epoch[row] % 2 == 1:
            shuffle(ranked[row], kept, items, jumps, seed[row], 0)
            for place in range(kept, kept + jumps):
                state[row, ranked[row, place]] = 1


@kernel
def draw_labels(seed, state):
    """Fill ``state`` (rows, items) with uniformly random permutations."""
    rows, items = state.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] = item
        shuffle(state[row], 0, items, items, seed[row], 0)


@kernel
def draw_steps(seed, state):
    """Add 1 or -1, by a fair coin, to each entry of ``state`` (rows, items)."""
    rows, items = state.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] += 1 if uniform(bits(seed[row], item)) < 0.5 else -1


@kernel
def draw_best(seed, count, order, state):
    """Mark in ``state`` (rows, items) ``count`` items: any set of them but the one that was marked before.

    The n-th try takes the bits from n ``items`` on. ``order`` (items,) is scratch; ``count`` is below ``items``.
    """
    rows, items = state.shape
    for row in range(rows):
        tried, same = 0, True
        while same:
            for item in range(items):
                order[item] = item
            shuffle(order, 0, items, count, seed[row], tried * items)
            tried += 1
            for place in range(count):
                same = same and state[row, order[place]] == 1
        for item in range(items):
            state[row, item] = 0
        for place in range(count):
            state[row, order[place]] = 1


@kernel
def walked(own, state, step, attraction):
    """Fill ``attraction`` (rows, items): logit(own) + step * state, back on the scale of probabilities.

    0 and 1 stay; where the walk is back at 0 steps it is ``own`` bit for bit.
    """
    rows, items = own.shape
    for row in range(rows):
        for item in range(items):
            alpha = own[row, item]
            if state[row, item] != 0 and 0.0 < alpha < 1.0:
                logit = math.log(alpha) - math.log1p(-alpha) + step * state[row, item]
                small = math.exp(-abs(logit))  # never overflows
                alpha = 1.0 / (1.0 + small) if logit > 0.0 else small / (1.0 + small)
            attraction[row, item] = alpha


Knobs = dict[str, Any]
States = NDArray[np.int64]  # (rows, items): what was drawn for each item


class Scenario(NamedTuple):
    """What changes at a breakpoint.

    An episode begins with states of 0 or, if ``relabels``, with each item's own number.
    """

    knob_names: tuple[str, ...]
    check: Callable[[Knobs, QueriesVectorEnv], Knobs]  # (given knobs, environment): all knobs, checked, with defaults
    draw: Callable[[NDArray[np.uint64], NDArray[np.int64], Any, Knobs, States], None]
    # (seed (rows,), epoch (rows,), the queries' own parameters, knobs, states): turn the states of the epochs before
    # into those of the epochs ``epoch``
    apply: Callable[[Any, States, Knobs, dict[str, tuple[str, ...]]], Any]
    # (own parameters, states, knobs, the model's axes): the parameters in these states
    length: int | None  # default length of an epoch; None: two breakpoints, at thirds of the horizon
    from_start: bool = False  # epoch 0 is drawn, too; else it has the queries' own parameters
    relabels: bool = False


def _check_jump(given: Knobs, env: QueriesVectorEnv) -> Knobs:
    items = env.num_items
    jumps = whole_number("jumps", given.get("jumps", min(3, items)), 1, items)
    kept = whole_number("kept", given.get("kept", min(env.cutoff, items - jumps)), 0, items - 1)
    if jumps + kept > items:
        allowed = f"allowed: jumps + kept of at most {items}"
        raise ValueError(f"jumps = {jumps} and kept = {kept} are more than the {items} items; {allowed}")
    attraction = number_in("jump_attraction", given.get("jump_attraction", 0.9), 0, 1)
    return {"kept": kept, "jumps": jumps, "jump_attraction": attraction}


def _draw_jumps(seed: Any, epoch: Any, own: Any, knobs: Knobs, states: States) -> None:
    ranked = np.ascontiguousarray(sorted_lists(own.attraction, states.shape[1]))
    draw_jumps(seed, epoch, ranked, knobs["kept"], knobs["jumps"], states)


def _apply_jumps(own: Any, states: States, knobs: Knobs, axes: Any) -> Any:
    return own._replace(attraction=np.where(states == 1, knobs["jump_attraction"], own.attraction))


def _check_shuffle(given: Knobs, env: QueriesVectorEnv) -> Knobs:  # a lambda could not be pickled
    return {}


def _draw_labels(seed: Any, epoch: Any, own: Any, knobs: Knobs, states: States) -> None:
    draw_labels(seed, states)


def _apply_labels(own: Any, states: States, knobs: Knobs, axes: dict[str, tuple[str, ...]]) -> Any:
    """Give item i the numbers of item ``states[row, i]``."""
    relabelled = {}
    for name, values in own._asdict().items():
        for axis, kind in enumerate(axes[name], start=1):
            if kind == "item":
                place = [len(states), *(states.shape[1] if axis == a else 1 for a in range(1, values.ndim))]
                values = np.take_along_axis(values, states.reshape(place), axis)
        relabelled[name] = np.ascontiguousarray(values)
    return own._replace(**relabelled)


def _check_drift(given: Knobs, env: QueriesVectorEnv) -> Knobs:
    most = sys.float_info.max
    return {"drift_step": number_in("drift_step", given.get("drift_step", 0.05), 0, most, open_low=True)}


def _draw_steps(seed: Any, epoch: Any, own: Any, knobs: Knobs, states: States) -> None:
    draw_steps(seed, states)


def _apply_steps(own: Any, states: States, knobs: Knobs, axes: Any) -> Any:
    attraction = np.empty_like(own.attraction)
    walked(own.attraction, states, knobs["drift_step"], attraction)
    return own._replace(attraction=attraction)


def _check_two_level(given: Knobs, env: QueriesVectorEnv) -> Knobs:
    missing = " and ".join(f"{name} = None" for name in ("p", "gap") if name not in given)
    if missing:
        allowed = "p in (0, 1] and gap in (0, p], such as p=0.5 and gap=0.2"
        raise ValueError(f"scenario = 'two-level' and {missing}; allowed: {allowed}")
    if env.num_positions == env.num_items:
        fault = "displays all items, so that the scenario 'two-level' has one best set only"
        raise ValueError(f"num_positions = {env.num_positions} {fault}; allowed: 1 .. {env.num_items - 1}")
    p = number_in("p", given["p"], 0, 1, open_low=True)
    gap = number_in("gap", given["gap"], 0, p, open_low=True)
    return {"p": p, "gap": gap, "best": env.num_positions}


def _draw_best(seed: Any, epoch: Any, own: Any, knobs: Knobs, states: States) -> None:
    draw_best(seed, knobs["best"], np.empty(states.shape[1], np.int64), states)


def _apply_levels(own: Any, states: States, knobs: Knobs, axes: Any) -> Any:
    return own._replace(attraction=np.where(states == 1, knobs["p"], knobs["p"] - knobs["gap"]))


SCENARIOS: dict[str, Scenario] = {
    "jump": Scenario(("jumps", "jump_attraction", "kept"), _check_jump, _draw_jumps, _apply_jumps, 10_000),
    "shuffle": Scenario((), _check_shuffle, _draw_labels, _apply_labels, 10_000, relabels=True),
    "drift": Scenario(("drift_step",), _check_drift, _draw_steps, _apply_steps, 100),
    "two-level": Scenario(("p", "gap"), _check_two_level, _draw_best, _apply_levels, None, from_start=True),
}
