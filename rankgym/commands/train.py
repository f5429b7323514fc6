"""``rankgym train``: train a policy."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from rankgym.commands.options import (
    MAX_FOLDER_NAME,
    Assignments,
    Positions,
    Source,
    assignments,
    env_arguments_of,
    numbers_of,
    queries_of,
    with_keywords,
)

__all__ = ["train"]


def train(
    env: Annotated[
        str,
        typer.Argument(
            metavar="ENV[,ENV,...]",
            help="An environment of rankings, as `rankgym envs` lists them, or several: users of all kinds at once.",
        ),
    ],
    steps: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Actions of all rows together, rounded up to whole rollouts; slot by slot, a session takes several.",
        ),
    ] = 2_000_000,
    algo: Annotated[str, typer.Option(metavar="ALGORITHM", help="ppo, a2c, maskable-ppo, dqn, sac or td3.")] = "ppo",
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="plackett-luce|mlp",
            help="How lists are made: drawn by scores of items (ppo, a2c), or a plain network. Default: the former "
            "where it is possible.",
        ),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="R", help="Rows that are played at once, in all environments.")] = 256,
    horizon: Annotated[
        str, typer.Option(metavar="T[,T...]", help="User sessions of an episode; several: each for a part of the rows.")
    ] = "1000",
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of the weights, and of row 0; row b has S + b.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the models. Default: `runs/ENV-ALGORITHM`.", show_default=False),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Wrappers, the innermost first, with keywords after colons: "
            "ItemStatistics:discounts=[1,0.999],SafeLists. Default: by algorithm and policy.",
        ),
    ] = None,
    reward: Annotated[
        str,
        typer.Option(
            metavar="regret|expected|clicks",
            help="Minus the list's regret, its expected reward, or what the environment pays. The former two are known "
            "in training only, and make less noise.",
        ),
    ] = "regret",
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            help="Whether the critic sees the attraction probabilities, in training only. Default: of plackett-luce.",
        ),
    ] = None,
    stagger: Annotated[bool, typer.Option(help="Whether rows begin at random ages.")] = True,
    query: Annotated[
        str,
        typer.Option(
            metavar="train|all|0,3,7|none",
            help="Queries, cycled over the rows of an environment; none: each episode draws one of all.",
        ),
    ] = "train",
    eval_query: Annotated[
        str, typer.Option(metavar="test|all|0,3,7", help="Queries of evaluations, by which best.zip is chosen.")
    ] = "test",
    eval_every: Annotated[
        int | None, typer.Option(metavar="N", help="Steps between evaluations. Default: 20 in all.", show_default=False)
    ] = None,
    eval_runs: Annotated[int, typer.Option(metavar="R", help="Rows of each query in an evaluation.")] = 2,
    eval_horizon: Annotated[
        int | None, typer.Option(metavar="T", help="Sessions of an evaluation. Default: those of an episode.")
    ] = None,
    average: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="How far a running average of the weights moves to the present ones before each rollout; it is the "
            "average that is evaluated and kept as best.zip. 0: no average. Default: 0.03 with ppo and plackett-luce.",
            show_default=False,
        ),
    ] = None,
    source: Source = None,
    positions: Positions = None,
    set_: Assignments = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="KEY=VALUE",
            help="A hyperparameter of the algorithm or of its policy, as JSON; may be repeated.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(metavar="J", help="Threads of torch.")] = 1,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for TensorBoard's curves.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training in DIR, up to N steps.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the training in DIR.")] = False,
) -> None:
    """Train a policy on many queries, evaluate it on others, and keep the best model.

    An episode is T sessions of users of one query, of which nothing is known at its start: what is learned is how to
    explore and rank, not the answer of one query. Needs `pip install "rankgym[sb3]"`.

    Writes into DIR: `best.zip`, the model of the evaluation with the least regret after T sessions, and `last.zip`,
    both of which `rankgym compare` takes among its agents; `curve.csv`, all evaluations; and `train.json` with
    everything that decided the weights: the same command gives the same weights on the same machine.

    `best.zip` is chosen by its regret on the queries of `--eval-query`, the test queries by default, which flatters it
    there: for a fair number, compare it on queries that it was not chosen on, such as those of `--source published`.

    Ctrl-C keeps `last.zip`, and the same command with `--resume` goes on from there: with all that was learned, but
    with fresh episodes, so the weights are not those of a training that was never interrupted. With more steps than
    before, a falling learning rate jumps up again: it depends on the share of N that is done.

    Examples:

    * Plackett-Luce policy with PPO, six minutes, and its comparison with a bandit:
      `rankgym train PBM-Yandex-v0 --steps 5_000_000 --out runs/pbm`,
      `rankgym compare PBM-Yandex-v0 --source published --rounds 1_000 --agents cascade-kl-ucb,runs/pbm/best.zip`
    * For users of three kinds: `rankgym train CM-Yandex-v0,PBM-Yandex-v0,DCM-Yandex-v0 --rows 384 --out runs/three`
    * For users who change: `rankgym train PBM-Yandex-Breakpoint-v0 --layers "ItemStatistics:discounts=[1,0.999]"`
    * Lists that never stray from a safe one: `rankgym train PBM-Yandex-Rerank-v0 --layers ItemStatistics,SafeLists`
    * Hyperparameters:
      `rankgym train PBM-Yandex-v0 --param learning_rate=linear:0.001 --param gamma=0.95 --param width=64`
    * Another algorithm, slot by slot with masks: `rankgym train PBM-Yandex-v0 --algo maskable-ppo`
    """
    from rankgym.experiments.plan.agents import SB3, slug, split_names, without_sb3
    from rankgym.experiments.plan.environments import check_env_arguments, env_id

    try:
        from rankgym.sb3.train import summary
        from rankgym.sb3.train import train as learn
    except ModuleNotFoundError as error:
        if error.name not in SB3:
            raise
        raise ValueError(f"training needs stable-baselines3: {without_sb3(error)}") from None
    names = [env_id(name) for name in split_names(env)]
    kinds = "+".join(name.rpartition("/")[2] for name in names)
    arguments = env_arguments_of(set_ or [], source, positions)
    for name in names:
        check_env_arguments(name, arguments)
    own = [key for key in inspect.signature(learn).parameters if key != "hyperparameters"]
    training = learn(
        names,
        algo=algo,
        policy=policy,
        steps=steps,
        rows=rows,
        horizon=numbers_of("--horizon", horizon.replace("_", "")),
        seed=seed,
        out=out or Path("runs") / slug(f"{kinds}-{algo}")[-MAX_FOLDER_NAME:],
        layers=None if layers is None else [with_keywords("--layers", text) for text in split_names(layers)],
        reward=reward,
        truth=truth,
        stagger=stagger,
        query=None if query == "none" else queries_of(query),
        env_kwargs=arguments,
        eval_every=eval_every,
        eval_runs=eval_runs,
        eval_query=queries_of(eval_query),
        eval_horizon=eval_horizon,
        average=average,
        threads=threads,
        tensorboard=tensorboard,
        resume=resume,
        fresh=fresh,
        **assignments(param or [], "--param", own, "is no hyperparameter here; see rankgym train --help"),
    )
    for line in summary(training):
        typer.echo(line)
