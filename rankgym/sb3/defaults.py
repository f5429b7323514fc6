"""Defaults of training by algorithm and policy, and the checks of its settings and hyperparameters."""

import dataclasses
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.utils import LinearSchedule

from rankgym import wrappers
from rankgym.arguments import count_of, near, number_in, plain_number, whole_number
from rankgym.registry import BREAKPOINT, ENVS, RANKING
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.settings import OPTIONS, TrainingSettings
from rankgym.wrappers.actions import BASE_COLUMN

EVALUATIONS = 20  # of a training run, about
EVALUATION_SEED = 1_000_000_000  # of row 0 in all evaluations; larger than any seed of training
RESERVED = ("horizon", "query", "source", "autoreset_mode", "num_envs")  # entries that env_kwargs must not have

ALGORITHMS: dict[str, Any] = {"ppo": PPO, "a2c": A2C, "maskable-ppo": MaskablePPO, "dqn": DQN, "sac": SAC, "td3": TD3}
SCORES = ("ItemStatistics", "ScoresToRanking")
OFF_POLICY: dict[str, Any] = {"buffer_size": 200_000, "batch_size": 256, "learning_starts": 5_000, "gamma": 0.9}

# By algorithm and policy: the wrappers, and the hyperparameters that differ from stable-baselines3's defaults.
DEFAULTS: dict[tuple[str, str], tuple[tuple[str, ...], dict[str, Any]]] = {
    ("ppo", "plackett-luce"): (
        ("ItemStatistics",),
        {"n_steps": 128, "n_epochs": 4, "learning_rate": "linear:0.001", "gamma": 0.99, "gae_lambda": 0.95}
        | {"ent_coef": 0.01, "activation": "relu"},
    ),
    ("a2c", "plackett-luce"): (
        ("ItemStatistics",),
        {"n_steps": 16, "learning_rate": 1e-3, "gamma": 0.9, "gae_lambda": 0.9, "normalize_advantage": True},
    ),
    ("ppo", "mlp"): (SCORES, {"n_steps": 64, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.9, "gae_lambda": 0.9}),
    ("a2c", "mlp"): (SCORES, {"n_steps": 16, "gamma": 0.9, "gae_lambda": 0.9, "normalize_advantage": True}),
    ("maskable-ppo", "mlp"): (
        ("ItemStatistics", "SlotBySlot"),
        {"n_steps": 80, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.95},
    ),
    ("dqn", "mlp"): (
        ("ItemStatistics", "RankingNumber"),
        {**OFF_POLICY, "learning_rate": 1e-3, "train_freq": 1, "gradient_steps": 8, "target_update_interval": 1_000},
    ),
    ("sac", "mlp"): (SCORES, {**OFF_POLICY, "gradient_steps": 8}),
    ("td3", "mlp"): (SCORES, {**OFF_POLICY, "gradient_steps": 8}),
}

AVERAGES = {("ppo", "plackett-luce"): 0.03, ("a2c", "plackett-luce"): 0.003}  # default of ``average``; else 0

FIXED = {  # arguments of algorithms that are not hyperparameters here, and why
    **dict.fromkeys(("policy", "env", "seed"), "train has an argument of its own for it"),
    "policy_kwargs": "give its entries one by one",
    **dict.fromkeys(("tensorboard_log", "verbose", "device", "_init_setup_model", "stats_window_size"), "it is fixed"),
    **dict.fromkeys(("rollout_buffer_class", "replay_buffer_class", "action_noise"), "it is no plain value"),
}
SCHEDULED = ("learning_rate", "clip_range")  # may fall: "linear:0.001" ends at 0
PLAIN_TYPES = (bool, int, float, str, list, tuple, dict, types.NoneType)
LARGEST = sys.float_info.max
LIMITS: dict[str, tuple[float, float]] = {  # smallest and largest value
    **dict.fromkeys(("gamma", "gae_lambda", "tau", "exploration_initial_eps", "exploration_final_eps"), (0, 1)),
    "exploration_fraction": (1e-9, 1),  # it divides
    **dict.fromkeys(("n_steps", "batch_size", "n_epochs", "buffer_size", "train_freq", "n_critics"), (1, LARGEST)),
    **dict.fromkeys(("policy_delay", "target_update_interval"), (1, LARGEST)),
    **dict.fromkeys((*SCHEDULED, "max_grad_norm", "target_kl", "rms_prop_eps", "learning_starts"), (0, LARGEST)),
    **dict.fromkeys(("target_policy_noise", "target_noise_clip"), (0, LARGEST)),
    **dict.fromkeys(("gradient_steps", "sde_sample_freq"), (-1, LARGEST)),  # -1: as many as steps; never
}
PATTERNS = {"ent_coef": r"auto(_\d+(\.\d*)?)?", "target_entropy": "auto"}  # texts that SAC takes

LARGEST_ROLLOUT = 1_000_000  # steps of one rollout, unless the run has more steps
LARGEST_BATCH = 4_096  # PPO's default batch has at most this many sessions


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
    s["rows"] = count_of("rows", s["rows"], len(names) * len(np.atleast_1d(s["horizon"])))
    s["seed"] = whole_number("seed", s["seed"], 0)
    if s["seed"] + s["rows"] > EVALUATION_SEED:
        raise ValueError(
            f"seed = {s['seed']} is out of range; allowed: seed + rows up to {EVALUATION_SEED:,}, the first seed of "
            "evaluations"
        )
    s["steps"] = count_of("steps", s["steps"], 1)
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
        s[name] = count_of(name, s[name], 1)
    share = AVERAGES.get((algo, policy), 0.0) if s["average"] is None else s["average"]
    s["average"] = number_in("average", share, 0, 1, open_high=True)
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
        return count_of("horizon", given, 1)
    checked = [count_of(f"horizon[{place}]", value, 1) for place, value in enumerate(given)]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"horizon = {given!r}; allowed: a whole number, or several that differ")
    return checked[0] if len(checked) == 1 else sorted(checked)


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


# -- hyperparameters --------------------------------------------------------------------------------------------------


def keywords_of(settings: TrainingSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keywords of the algorithm's class and of its policy's, checked, with the defaults."""
    algo, rows, names = settings.algo, settings.rows, [name for name, _ in settings.layers]
    algorithm, policy_kwargs = _split(algo, str(settings.policy), settings.hyperparameters)
    if isinstance(algorithm.get("train_freq"), list):
        algorithm["train_freq"] = _train_freq(algorithm["train_freq"], rows)
    if settings.policy == "plackett-luce" and "SafeLists" in names:
        if names[-1] != "SafeLists":
            raise ValueError(f"layers = {names}; allowed: SafeLists last, whose columns the policy reads")
        policy_kwargs = {"max_displacement": 1, "base_column": BASE_COLUMN} | policy_kwargs
    rollout = rows * algorithm.get("n_steps", 1)
    if rollout > max(settings.steps, LARGEST_ROLLOUT):
        raise ValueError(
            f"n_steps = {algorithm['n_steps']} and rows = {rows} make rollouts of {rollout:,} steps; allowed: as "
            f"many as steps = {settings.steps:,}, or {LARGEST_ROLLOUT:,}"
        )
    if algo in ("ppo", "maskable-ppo") and "batch_size" not in algorithm:  # the largest of at least four equal batches
        sizes = range(min(rollout // 4, LARGEST_BATCH), 1, -1)
        algorithm["batch_size"] = next((size for size in sizes if rollout % size == 0), rollout)
    return algorithm, policy_kwargs


def _split(algo: str, policy: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check the hyperparameters, and split them, with the defaults, into the algorithm's and the policy's."""
    cls = ALGORITHMS[algo]
    made: Any = PlackettLucePolicy if policy == "plackett-luce" else cls.policy_aliases["MlpPolicy"]
    own = {key: kinds for key, kinds in _plain_parameters(cls).items() if key not in FIXED}
    others = {key: kinds for key, kinds in _plain_parameters(made).items() if key not in (*own, "use_sde")}
    chosen = {**DEFAULTS[algo, policy][1], **given}
    for key, value in chosen.items():
        if key in FIXED:
            raise ValueError(f"{key} = {value!r} is not a hyperparameter: {FIXED[key]}; allowed: {', '.join(own)}")
        if key not in own | others:
            hint = near(key, [*own, *others, *(field.name for field in OPTIONS)])
            raise ValueError(
                f"{key} = {value!r} is unknown to {algo} and its policy{hint or ';'} allowed: {', '.join(own)}, and of "
                f"the policy {', '.join(others)}"
            )
        _check_value(key, value, (own | others)[key])
    return {key: chosen[key] for key in chosen if key in own}, {key: chosen[key] for key in chosen if key in others}


def scheduled_keywords(algorithm: Mapping[str, Any]) -> dict[str, Any]:
    """Return the algorithm's keywords, with schedules in place of their texts."""
    return {key: _schedule(key, value) if key in SCHEDULED else value for key, value in algorithm.items()}


def _plain_parameters(made: Any) -> dict[str, set[Any]]:
    """Return the parameters that take plain values, and the types of these values."""
    parameters = inspect.signature(made, eval_str=True).parameters
    return {key: kinds for key, each in parameters.items() if (kinds := _plain_types(each.annotation))}


def _plain_types(hint: Any) -> set[Any]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return {kind for part in typing.get_args(hint) for kind in _plain_types(part)}
    return {types.NoneType if hint is None else origin or hint} & set(PLAIN_TYPES)


def _check_value(key: str, value: Any, kinds: set[Any]) -> None:
    """Refuse a value whose type is not in the signature, or that is out of its range."""
    least, most = LIMITS.get(key, (-LARGEST, LARGEST))
    number = plain_number(value)
    if number is not None:
        fits = least <= number <= most and (float in kinds or (int in kinds and isinstance(number, int)))  # no NaN
    elif isinstance(value, str):
        if key in SCHEDULED:
            _schedule(key, value)
            return
        fits = str in kinds and re.fullmatch(PATTERNS.get(key, ".*"), value) is not None
    else:
        fits = type(value) in kinds or (isinstance(value, list) and tuple in kinds)
    if not fits:
        raise ValueError(f"{key} = {value!r} is out of range; allowed: {_allowed(key, kinds)}")


def _allowed(key: str, kinds: set[Any]) -> str:
    """Return the allowed values of a hyperparameter in words."""
    least, most = LIMITS.get(key, (-LARGEST, LARGEST))
    ends = f" in [{least:g}, {most:g}]" if most < LARGEST else "" if least == -LARGEST else f", at least {least:g}"
    words = []
    if kinds & {int, float}:
        words.append(f"a {'' if float in kinds else 'whole '}number{ends}")
    if key in SCHEDULED:
        words.append("'linear:NUMBER' with such a number")
    elif str in kinds:
        words.append("'auto'" if key in PATTERNS else "a text")
    names = {bool: "True, False", list: "a list", tuple: "a pair", dict: "a dict", types.NoneType: "None"}
    return ", or ".join([*words, *(name for kind, name in names.items() if kind in kinds)])


def _train_freq(given: list[Any], rows: int) -> tuple[int, str]:
    """Return the steps between updates in stable-baselines3's form."""
    units = ["step", "episode"] if rows == 1 else ["step"]
    whole = bool(given) and type(given[0]) is int and given[0] >= 1
    if len(given) != 2 or not whole or given[1] not in units:
        pairs = " or ".join(f"[N, {unit!r}]" for unit in units)
        raise ValueError(f"train_freq = {given!r} is out of range; allowed: a whole number N, at least 1, or {pairs}")
    return given[0], given[1]


def _schedule(key: str, value: Any) -> Any:
    """Return a number, or a schedule that falls from a number to 0."""
    if not isinstance(value, str):
        return value
    kind, _, text = value.partition(":")
    try:
        start = float(text)
        if kind != "linear" or not 0 <= start <= LARGEST:
            raise ValueError
    except ValueError:
        raise ValueError(f"{key} = {value!r} is out of range; allowed: {_allowed(key, {float})}") from None
    return LinearSchedule(start, 0.0, 1.0)
