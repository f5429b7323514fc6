"""Checks of the arguments of ``rankgym.sb3.train``."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rankgym import wrappers
from rankgym.arguments import near, plain_number, whole_number
from rankgym.registry import BREAKPOINT, ENVS, RANKING
from rankgym.sb3.hyperparameters import ALGORITHMS, AVERAGES, DEFAULTS
from rankgym.sb3.settings import TrainingSettings

EVALUATIONS = 20  # of a training run, about
EVALUATION_SEED = 1_000_000_000  # of row 0 in all evaluations; larger than any seed of training
RESERVED = ("horizon", "query", "source", "autoreset_mode", "num_envs")  # entries that env_kwargs must not have


def checked_settings(env_ids: Any, given: Mapping[str, Any]) -> TrainingSettings:
    """Return the settings of a training run: checked, with all defaults, as plain JSON values.

    ``given`` has settings by name, ``source``, and hyperparameters: all other names.
    """
    fields = {field.name: field for field in dataclasses.fields(TrainingSettings)[1:-1]}
    defaults: dict[str, Any] = {name: field.default for name, field in fields.items()} | {"env_kwargs": None}
    s: dict[str, Any] = defaults | {name: value for name, value in given.items() if name in fields}
    s["environments"] = names = _env_ids(env_ids)
    s["algo"], s["policy"] = algo, policy = _algorithm(s["algo"], s["policy"])
    s["horizon"] = _horizons(s["horizon"])
    s["rows"] = whole_number("rows", s["rows"], len(names) * len(np.atleast_1d(s["horizon"])))
    s["seed"] = whole_number("seed", s["seed"], 0)
    if s["seed"] + s["rows"] > EVALUATION_SEED:
        raise ValueError(
            f"seed = {s['seed']} is out of range; allowed: seed + rows up to {EVALUATION_SEED:,}, the first seed of "
            "evaluations"
        )
    s["steps"] = whole_number("steps", s["steps"], 1)
    draws = policy == "plackett-luce"
    s["truth"] = draws if s["truth"] is None else _flag("truth", s["truth"], "True, False, None")
    if s["truth"] and not draws:
        raise ValueError(f"truth = True and policy = {policy!r}; allowed: policy = 'plackett-luce', or truth = False")
    s["stagger"] = _flag("stagger", s["stagger"], "True, False")
    s["layers"] = _layers(DEFAULTS[algo, policy][0] if s["layers"] is None else s["layers"])
    s["env_kwargs"] = _env_kwargs(s["env_kwargs"], given.get("source"))
    every = max(s["steps"] // EVALUATIONS, 1) if s["eval_every"] is None else s["eval_every"]
    sessions = int(np.min(s["horizon"])) if s["eval_horizon"] is None else s["eval_horizon"]
    s |= {"eval_every": every, "eval_horizon": sessions}
    for name in ("eval_every", "eval_horizon", "eval_runs", "threads"):
        s[name] = whole_number(name, s[name], 1)
    s["average"] = AVERAGES.get((algo, policy), 0.0) if s["average"] is None else _share(s["average"])
    s["hyperparameters"] = {name: given[name] for name in given if name not in fields and name != "source"}
    try:
        return TrainingSettings(**json.loads(json.dumps(s)))
    except TypeError as error:
        raise ValueError(f"the arguments are not plain JSON values: {error}") from None


def _env_kwargs(given: Any, source: Any) -> dict[str, Any]:
    """Return the environments' arguments, ``source`` among them."""
    kwargs = {} if given is None else given
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        raise ValueError(f"env_kwargs = {kwargs!r} is out of range; allowed: a dict of the environment's arguments")
    for key in RESERVED:
        if key in kwargs and (key != "source" or source is not None):
            raise ValueError(f"env_kwargs has {key} = {kwargs[key]!r}; allowed: others, train has {key} as an argument")
    return {**kwargs, **({} if source is None else {"source": source})}


def _env_ids(given: Any) -> list[str]:
    """Return the ids, with ``rankgym/``, of one ranking environment or several."""
    ids = [given] if isinstance(given, str) else given
    if not isinstance(ids, Sequence) or not all(isinstance(name, str) for name in ids):
        raise ValueError(f"env_ids = {given!r} is out of range; allowed: an id, or a list of ids")
    names = [_env_id(name) for name in ids]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"env_ids = {ids}; allowed: at least one, each once")
    return names


def _env_id(name: str) -> str:
    """Return the id, with ``rankgym/``, of a ranking environment."""
    found = name if name in ENVS or "/" in name else f"rankgym/{name}"
    rankings = [key for key, (entry, _, _) in ENVS.items() if entry in (RANKING, BREAKPOINT)]
    if found in ENVS and found not in rankings:
        raise ValueError(f"environment {name!r} has duels; allowed: one of rankings, such as {rankings[1]}")
    try:
        return gym.spec(found).id
    except gym.error.Error:
        short = [key.removeprefix("rankgym/") for key in rankings]
        hint = near(found.removeprefix("rankgym/"), short)
        raise ValueError(f"environment {name!r} is unknown{hint or ';'} allowed: {', '.join(short)}") from None


def _algorithm(algo: Any, policy: Any) -> tuple[str, str]:
    if not isinstance(algo, str) or algo not in ALGORITHMS:
        hint = near(str(algo), ALGORITHMS)
        raise ValueError(f"algo = {algo!r} is unknown{hint or ';'} allowed: {', '.join(ALGORITHMS)}")
    possible = [p for a, p in DEFAULTS if a == algo]
    policy = possible[0] if policy is None else policy
    if policy not in possible:
        hint = near(str(policy), possible) or ";"
        raise ValueError(f"policy = {policy!r} is unknown with algo = {algo!r}{hint} allowed: {', '.join(possible)}")
    return algo, policy


def _horizons(given: Any) -> int | list[int]:
    """Return one horizon, or several in rising order."""
    if not isinstance(given, (list, tuple)):
        return whole_number("horizon", given, 1)
    checked = [whole_number(f"horizon[{place}]", value, 1) for place, value in enumerate(given)]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"horizon = {given!r}; allowed: a whole number, or several that differ")
    return checked[0] if len(checked) == 1 else sorted(checked)


def _share(given: Any) -> float:
    number = plain_number(given)
    if number is None or not 0 <= number < 1:
        raise ValueError(f"average = {given!r} is out of range; allowed: a number in [0, 1); 0: no average")
    return float(number)


def _flag(name: str, given: Any, allowed: str) -> bool:
    if not isinstance(given, (bool, np.bool_)):
        raise ValueError(f"{name} = {given!r} is out of range; allowed: {allowed}")
    return bool(given)


def _layers(given: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the wrappers' names and keywords."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        example = f"[{given!r}]" if isinstance(given, str) else "['ItemStatistics']"
        raise ValueError(f"layers = {given!r} is out of range; allowed: a list, such as {example}")
    return [_layer(layer) for layer in given]


def _layer(layer: Any) -> tuple[str, dict[str, Any]]:
    pair = (layer, {}) if isinstance(layer, str) else layer
    named = isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
    if not named or not isinstance(pair[1], Mapping) or not all(isinstance(key, str) for key in pair[1]):
        raise ValueError(f"layers has {layer!r}; allowed: a wrapper's name, or its name and a dict of its keywords")
    name, keywords = pair
    if name not in wrappers.LAYERS:
        hint = near(name, wrappers.LAYERS)
        raise ValueError(f"layers has {name!r}, which is unknown{hint or ';'} allowed: {', '.join(wrappers.LAYERS)}")
    return name, dict(keywords)
