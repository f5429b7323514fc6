"""The settings of a training run: one field each, from which everything else derives.

The keywords of ``rankgym.sb3.train``, the options of ``rankgym train``, the settings in ``train.json`` and the printed
command that repeats a run all read these fields. This file needs neither torch nor stable-baselines3.
"""

# ruff: noqa: RUF009 (setting() makes a field, as dataclasses.field does)

import dataclasses
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def setting(default: Any, metavar: str, help_text: str) -> Any:
    """A field with its default (None: derived from other settings), and its option's value and help."""
    return dataclasses.field(default=default, metadata={"metavar": metavar, "help": help_text})


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Everything that decides the weights of a training run, as plain JSON values.

    ``rankgym.sb3.defaults.checked_settings`` makes it: there no field is None but ``query`` and ``eval_query``.

    Raises:
        ValueError: by ``checked_settings``, which names the setting, its value and what is allowed.

    Examples:
        >>> from rankgym.sb3.defaults import checked_settings
        >>> settings = checked_settings("PBM-Yandex-v0", {"algo": "maskable-ppo", "steps": 10_000})
        >>> settings.environments, settings.policy, settings.layers
        (['rankgym/PBM-Yandex-v0'], 'mlp', [['ItemStatistics', {}], ['SlotBySlot', {}]])
    """

    environments: list[str]  # ids, with rankgym/
    algo: str = setting("ppo", "ALGORITHM", "`ppo`, `a2c`, `maskable-ppo`, `dqn`, `sac` or `td3`.")
    policy: str | None = setting(
        None,
        "plackett-luce|mlp",
        "How rankings are made: drawn by item scores (`ppo`, `a2c`), or by a plain network. Default: `plackett-luce` "
        "where the algorithm allows it.",
    )
    steps: int = setting(
        2_000_000, "N", "Actions of all rows, rounded up to whole rollouts. Slot by slot, a session takes several."
    )
    rows: int = setting(256, "R", "Rows played in parallel, over all environments; at least one for each.")
    horizon: Any = setting(1_000, "T[,T...]", "User sessions in an episode. Several: each for an equal share of rows.")
    seed: int = setting(0, "S", "Seed of the first weights, exploration and row 0; row b has S + b, less than 10^9.")
    layers: Any = setting(
        None,
        "A,B,...",
        "Wrappers, innermost first, with keywords after colons; see the examples. Default: by algorithm and policy.",
    )
    reward: str = setting(
        "regret",
        "regret|expected|clicks",
        "Minus the list's regret, its expected reward, or the environment's own reward. The first two are known in "
        "training only, and are less noisy.",
    )
    truth: bool | None = setting(
        None, "", "Whether the critic sees the attraction probabilities in training. Default: yes for `plackett-luce`."
    )
    stagger: bool = setting(True, "", "Whether rows start at random ages: each rollout has early and late sessions.")
    query: Any = setting(
        "train",
        "train|all|0,3,7|none",
        "Queries to train on, cycled over an environment's rows; `none`: each episode draws one of all queries.",
    )
    eval_query: Any = setting("test", "test|all|0,3,7", "Queries of evaluations, which choose `best.zip`.")
    eval_every: int | None = setting(None, "N", "Steps between evaluations. Default: 20 evaluations in all.")
    eval_runs: int = setting(2, "R", "Rows of each query in an evaluation.")
    eval_horizon: int | None = setting(None, "T", "Sessions in an evaluation. Default: those of the shortest episode.")
    average: float | None = setting(
        None,
        "SHARE",
        "How far a running average of the weights moves to the present ones before each rollout. Evaluations play the "
        "average, and `best.zip` keeps it. 0: no average. Default: 0.03 with `ppo` and `plackett-luce`.",
    )
    threads: int = setting(1, "J", "Threads of torch. More threads may change the weights in their last bits.")
    env_kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)  # arguments of the environments
    hyperparameters: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the algorithm and of its policy


OPTIONS = tuple(field for field in dataclasses.fields(TrainingSettings) if field.metadata)
TrainingSettings.__doc__ = f"{TrainingSettings.__doc__}\n    Attributes:\n" + "\n".join(
    f"        {field.name}: {field.metadata['help']}" for field in OPTIONS
)


def query_text(query: Any) -> str:
    """Return a choice of queries as one types it after ``--query``."""
    return query if isinstance(query, str) else "none" if query is None else _numbers_text(query)


def _numbers_text(numbers: Any) -> str:
    return ",".join(map(str, numbers if isinstance(numbers, (list, tuple)) else [numbers]))


def _layers_text(layers: list[tuple[str, Mapping[str, Any]]]) -> str:
    compact = json.JSONEncoder(separators=(",", ":")).encode
    words = ([name, *(f"{key}={compact(value)}" for key, value in keywords.items())] for name, keywords in layers)
    return ",".join(map(":".join, words))


TEXTS: dict[str, Callable[[Any], str]] = {  # how an option's value is typed, where str() does not say it
    "steps": "{:_}".format,
    "eval_every": "{:_}".format,
    "horizon": _numbers_text,
    "layers": _layers_text,
    "query": query_text,
    "eval_query": query_text,
}


def train_command(settings: TrainingSettings, out: Path | None) -> str:
    """Return the command line that repeats a training run."""
    words = ["rankgym", "train", ",".join(name.removeprefix("rankgym/") for name in settings.environments)]
    for field in OPTIONS:
        option, value = f"--{field.name.replace('_', '-')}", getattr(settings, field.name)
        if not isinstance(value, bool):
            words += [option, TEXTS.get(field.name, str)(value)]
        elif value is not field.default:
            words += [option if value else f"--no-{field.name}"]
    words += as_options("--set", settings.env_kwargs) + as_options("--param", settings.hyperparameters)
    return shlex.join(words if out is None else [*words, "--out", str(out)])


def as_options(option: str, values: Mapping[str, Any]) -> list[str]:
    """Return the words ``option key=value`` for each entry."""
    return [word for key, value in values.items() for word in (option, f"{key}={_value_text(value)}")]


def _value_text(value: Any) -> str:
    """Return a value as JSON; a text as it is, unless that would be read as something else."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value)
