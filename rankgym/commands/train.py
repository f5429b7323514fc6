"""``rankgym train``: train a policy. Its options are the fields of ``rankgym.sb3.TrainingSettings``."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from rankgym.commands import completion, options
from rankgym.commands.options import option
from rankgym.sb3.settings import OPTIONS, TEXTS, TrainingSettings

RESERVED = (  # keywords of train, and options, that are not hyperparameters
    *(field.name for field in fields(TrainingSettings)),
    *("source", "positions", "out", "tensorboard", "resume", "fresh", "progress"),
)


def _layers(text: str) -> list[tuple[str, dict[str, Any]]]:
    from rankgym.experiments.plan.agents import split_names

    return [options.with_keywords("--layers", part) for part in split_names(text)]


def _queries(flag: str) -> Callable[[str], Any]:
    return lambda text: None if text == "none" else options.queries_of(text, flag)


READERS: dict[str, Callable[[str], Any]] = {  # settings whose options are texts to be read
    "horizon": lambda text: [options.counted(part) for part in text.split(",")],
    "layers": _layers,
    "query": _queries("--query"),
    "eval_query": _queries("--eval-query"),
}


def train(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV[,ENV,...]",
            help="A ranking environment, as `rankgym envs` lists them, or several: users of all kinds at once.",
            autocompletion=completion.listed(completion.environments),
        ),
    ],
    source: options.Source = None,
    positions: options.Positions = None,
    set_: options.Assignments = None,
    param: Annotated[
        list[str] | None,
        option("KEY=VALUE", "A hyperparameter of the algorithm or its policy, as JSON; may be repeated."),
    ] = None,
    out: Annotated[Path | None, option("DIR", "Folder for the models. Default: `runs/ENV-ALGORITHM`.")] = None,
    tensorboard: Annotated[Path | None, option("DIR", "Folder for TensorBoard's curves.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the training in DIR, up to N steps.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the training in DIR.")] = False,
    **settings: Any,
) -> None:
    """Train a policy on many queries, evaluate it on others, and keep the best model.

    An episode is T user sessions of one query, about which nothing is known at the start: the policy learns how to
    explore and rank, not the answer to one query. Needs `pip install "rankgym[sb3]"`.

    Writes into DIR: `best.zip`, the model of the evaluation with the least regret, and `last.zip`, the last model;
    `rankgym compare` takes both as agents; `curve.csv`, all evaluations; and `train.json` with everything that decided
    the weights: the same command gives the same weights on the same machine.

    Each evaluation prints beside the policy's regret that of the production list, of Thompson sampling and of
    `adaptive-index`, with the same users. The default number of steps beats the first, not the others: it is there to
    try things out.

    `best.zip` is chosen by its regret on the queries of `--eval-query`, by default the test queries. That flatters it
    there: for a fair number, compare it on queries that it was not chosen on, such as those of `--source published`.

    Ctrl-C writes `last.zip`, and the same command with `--resume` continues from there: with everything learned, but
    with fresh episodes, so that the weights differ from those of an uninterrupted training. With more steps than
    before, a falling learning rate jumps up again: it depends on the share of N that is done.

    Examples:

    * A Plackett-Luce policy with PPO (six minutes), and its comparison with a bandit:
      `rankgym train PBM-Yandex-v0 --steps 5_000_000 --out runs/pbm`,
      `rankgym compare PBM-Yandex-v0 --source published --rounds 1_000 --agents cascade-kl-ucb,runs/pbm/best.zip`
    * For users of three kinds: `rankgym train CM-Yandex-v0,PBM-Yandex-v0,DCM-Yandex-v0 --rows 384 --out runs/three`
    * For users who change: `rankgym train PBM-Yandex-Breakpoint-v0 --layers "ItemStatistics:discounts=[1,0.999]"`
    * Lists that always stay close to a safe one: `rankgym train PBM-Yandex-Rerank-v0 --layers ItemStatistics,SafeLists`
    * Hyperparameters:
      `rankgym train PBM-Yandex-v0 --param learning_rate=linear:0.001 --param gamma=0.95 --param width=64`
    * Another algorithm, slot by slot with masks: `rankgym train PBM-Yandex-v0 --algo maskable-ppo`
    """
    from rankgym.experiments.plan.agents import SB3, slug, split_names, without_sb3
    from rankgym.experiments.plan.environments import check_env_arguments, env_id

    try:
        from rankgym.sb3.training import summary
        from rankgym.sb3.training import train as learn
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in SB3:
            raise
        raise ValueError(f"training needs stable-baselines3: {without_sb3(error)}") from None
    names = [env_id(name) for name in split_names(env)]
    kinds = "+".join(name.rpartition("/")[2] for name in names)
    arguments = options.env_arguments_of(set_ or [], source, positions)
    for name in names:
        check_env_arguments(name, arguments)
    for key, read in READERS.items():
        settings[key] = None if settings[key] is None else read(settings[key])
    why = "is not a hyperparameter; see rankgym train --help"
    hyperparameters = options.assignments(param or [], "--param", RESERVED, why)
    training = learn(
        names,
        env_kwargs=arguments,
        out=out or Path("runs") / slug(f"{kinds}-{settings['algo']}")[-options.MAX_FOLDER_NAME :],
        tensorboard=tensorboard,
        resume=resume,
        fresh=fresh,
        **settings,
        **hyperparameters,
    )
    for line in summary(training):
        typer.echo(line)


def _option(field: Field[Any], hint: Any) -> inspect.Parameter:
    """Return the option of one setting: its type, default, value and help."""
    name, default = field.name, field.default
    if name in READERS:
        hint = str if default is not None else str | None
        default = default if default is None else TEXTS[name](default)
    flag = f"--{name.replace('_', '-')}"
    flags = f"{flag}/--no-{name}" if hint in (bool, bool | None) else flag
    counts = hint in (int, int | None) and name not in ("seed", "threads")
    parser = options.counted if counts else None
    metavar, said = field.metadata["metavar"], field.metadata["help"]
    names = completion.algorithms if name == "algo" else completion.words(metavar)
    info = typer.Option(flags, metavar=metavar or None, help=said, parser=parser, autocompletion=names)
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[hint, info])


def _with_options(function: Any) -> inspect.Signature:
    """Return the function's signature with an option for each setting, in place of ``**settings``."""
    hints = typing.get_type_hints(TrainingSettings)
    first, *rest, _ = inspect.signature(function, eval_str=True).parameters.values()
    made = [_option(field, hints[field.name]) for field in OPTIONS]
    last = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in rest]
    return inspect.Signature([first, *made, *last])


train.__signature__ = _with_options(train)  # type: ignore[attr-defined]
train.__annotations__ = {each.name: each.annotation for each in train.__signature__.parameters.values()}  # type: ignore[attr-defined]
