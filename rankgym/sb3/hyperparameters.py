"""Hyperparameters of training: the defaults by algorithm and policy, and the checks of given ones."""

import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.utils import LinearSchedule

from rankgym.arguments import near, plain_number
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.settings import OPTIONS, TrainingSettings
from rankgym.wrappers.actions import BASE_COLUMN

ALGORITHMS: dict[str, Any] = {"ppo": PPO, "a2c": A2C, "maskable-ppo": MaskablePPO, "dqn": DQN, "sac": SAC, "td3": TD3}
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
    ("ppo", "mlp"): (
        ("ItemStatistics", "ScoresToRanking"),
        {"n_steps": 64, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.9, "gae_lambda": 0.9},
    ),
    ("a2c", "mlp"): (
        ("ItemStatistics", "ScoresToRanking"),
        {"n_steps": 16, "gamma": 0.9, "gae_lambda": 0.9, "normalize_advantage": True},
    ),
    ("maskable-ppo", "mlp"): (
        ("ItemStatistics", "SlotBySlot"),
        {"n_steps": 80, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.98, "gae_lambda": 0.95},
    ),
    ("dqn", "mlp"): (
        ("ItemStatistics", "RankingNumber"),
        {**OFF_POLICY, "learning_rate": 1e-3, "train_freq": 1, "gradient_steps": 8, "target_update_interval": 1_000},
    ),
    ("sac", "mlp"): (("ItemStatistics", "ScoresToRanking"), {**OFF_POLICY, "gradient_steps": 8}),
    ("td3", "mlp"): (("ItemStatistics", "ScoresToRanking"), {**OFF_POLICY, "gradient_steps": 8}),
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


def keywords_of(settings: TrainingSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keywords of the algorithm's class and of its policy's, checked, with the defaults."""
    algo, rows, names = settings.algo, settings.rows, [name for name, _ in settings.layers]
    algorithm, policy_kwargs = _split(algo, str(settings.policy), settings.hyperparameters)
    if isinstance(algorithm.get("train_freq"), list):
        algorithm["train_freq"] = _train_freq(algorithm["train_freq"], rows)
    if settings.policy == "plackett-luce" and "SafeLists" in names:
        if names[-1] != "SafeLists":
            raise ValueError(
                f"layers = {names}; allowed: SafeLists last, the policy reads the base list off its columns"
            )
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
