"""Training: many users of many queries at once, in one environment or several, evaluated on other queries."""

import contextlib
import dataclasses
import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger, configure

from rankgym.estimates import with_error
from rankgym.outputs import check_writable
from rankgym.sb3.agent import torch_threads
from rankgym.sb3.callbacks import Watch
from rankgym.sb3.defaults import checked_settings, keywords_of
from rankgym.sb3.model_files import weights_digest
from rankgym.sb3.plan import EvaluationResult, TrainingPlan
from rankgym.sb3.run_files import AVERAGE, FILES, TrainingRecord, read_earlier, restore_average, resumed_model
from rankgym.sb3.settings import OPTIONS, as_options, query_text

TOO_FEW = (
    "more steps may help against Thompson sampling, which 10 million beat in the PBM; no policy that we trained beats "
    "the adaptive index (docs/reinforcement.md)"
)


class Training(NamedTuple):
    """Result of a training run.

    See ``train``, which returns it.
    """

    model: BaseAlgorithm  # after the last step
    curve: list[EvaluationResult]  # one entry for each evaluation and environment
    best: dict[str, Any]  # steps, regret (mean over environments) and weights (digest) of the best evaluation
    weights: str  # digest of the model's weights
    steps: int  # played steps: whole rollouts
    seconds: float
    out: Path | None
    settings: dict[str, Any]  # everything that decided the weights, as in ``train.json``
    rivals: dict[str, float]  # the same regret, of agents that are not trained here


def train(
    env_ids: str | Sequence[str],
    *,
    out: str | os.PathLike[str] | None = None,
    tensorboard: str | os.PathLike[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    progress: bool = True,
    **settings: Any,
) -> Training:
    """Train a policy to rank, evaluate it as it learns, and keep the best model.

    Each row is one user population with a query of its own; an episode is ``horizon`` sessions, and starts without any
    knowledge of the query. Rows are split evenly among the environments, and among the horizons of each. With
    ``query="train"`` (the four fifths of the queries that are not test queries) a row meets its query again in its next
    episode, with other users; what the policy sees does not tell it which query it is. The end of an episode is not an
    end for the policy: its value there is bootstrapped from the critic's value of the last observation.

    Beside each evaluation stands the regret of agents that are not trained here, with the same users: of the production
    list, of Thompson sampling and of the adaptive index (``rankgym_agents.AdaptiveIndex``). The default number of steps
    does not suffice to beat the last two; the summary says what was beaten.

    An evaluation plays ``eval_query`` in each environment for ``eval_horizon`` sessions, with the same seeds each time,
    and measures the mean cumulative regret at their end. ``best.zip`` is the model with the least regret so far,
    ``last.zip`` that of the last evaluation or of the interruption; ``SB3Agent`` plays both. With ``average``,
    evaluations and ``best.zip`` have the averaged weights (Polyak averaging: PPO's weights wander, and their mean plays
    better), ``last.zip`` has the learner's own, and ``average.pth`` has the average so far. ``curve.csv`` has all
    evaluations, ``train.json`` everything that decided the weights.

    ``best.zip`` is *chosen* by its regret on ``eval_query``, by default the test queries: the least of many measured
    regrets flatters it. Measure it on queries that it was neither trained nor chosen on, as of ``source="published"``.

    The same arguments give the same weights, bit for bit, on the same machine with the same versions. To get there,
    the global random generators of Python, NumPy and torch are seeded, as stable-baselines3 does.

    A resumed run has everything that was learned: weights, the optimizer's state, steps, the best evaluation and the
    place in falling learning rates. Yet its weights are not those of an uninterrupted run: rows start fresh episodes
    from other seeds, and SAC, TD3 and DQN forget their remembered sessions. The resumed run can itself be repeated
    from the same ``last.zip``. A falling learning rate depends on the share of ``steps`` that is done: with more steps
    than before it jumps up again, from 0 if the run had ended. Resuming reads tensors and numbers; it never unpickles
    objects, so that a file from somebody else cannot execute code.

    Args:
        env_ids: an id, with or without ``rankgym/``, or several of the same numbers of items and positions.
        out: a folder without a training, or with the one to resume. None: nothing is written.
        tensorboard: a folder for TensorBoard's curves: ``train/episode_regret``, ``train/episode_violations``,
            ``eval/regret``, ``eval/violations``, ``eval/ndcg``, and the algorithm's own.
        resume: continue the training in ``out`` up to ``steps``; all other settings must be the same.
        fresh: replace the training in ``out``: its files are deleted before the new one starts.
        progress: show a bar.
        **settings: the fields of ``TrainingSettings``; ``source`` and ``env_kwargs``, arguments of the environments
            (see ``rankgym.envs.RankingVectorEnv``); and hyperparameters of the algorithm's class in stable-baselines3
            or of its policy's (``width``, ``temperature``, ``net_arch``, ...), as plain JSON values.
            ``"linear:0.001"`` is a learning rate that falls from 0.001 to 0. ``layers`` is a list of names or of
            pairs, ``("ItemStatistics", {"discounts": [1.0, 0.999]})``.

    Raises:
        ValueError: an argument does not fit; nothing was trained or written.
        KeyboardInterrupt: Ctrl-C. Before, ``last.zip`` was written, with everything learned from whole rollouts and
            nothing of an unfinished update; a note tells how to resume.

    Examples:
        >>> from rankgym.sb3 import train
        >>> small = {"steps": 20_000, "rows": 64, "horizon": 100, "eval_query": [4, 9]}
        >>> training = train("PBM-Yandex-v0", out="small-ppo", seed=0, **small)  # doctest: +SKIP
        >>> training.best["regret"], training.rivals  # doctest: +SKIP

        (Skipped in tests: to train and to compile all that is compared takes minutes.)
    """
    checked = checked_settings(env_ids, settings)
    plan = TrainingPlan(checked, *keywords_of(checked))
    if (resume or fresh) and out is None:
        raise ValueError(f"out = None and {'resume' if resume else 'fresh'} = True; allowed: out with a training in it")
    if resume and fresh:
        raise ValueError("resume = True and fresh = True; allowed: one of them")
    folder = None if out is None else Path(out)
    logger = _logger(tensorboard)
    before = read_earlier(folder, plan) if folder is not None and resume else None
    if folder is not None and not (resume or fresh) and (folder / "train.json").exists():
        raise ValueError(
            f"out = {str(folder)!r} has a training already; allowed: another folder, resume (--resume) to continue "
            "it, or fresh (--fresh) to replace it"
        )
    with torch_threads(plan.settings.threads), contextlib.closing(plan.environment()) as env:
        model = plan.model(env) if before is None else resumed_model(folder, before, plan, env)  # type: ignore[arg-type]
        plan.try_out(model)
        if folder is not None:
            check_writable(folder, folder)
            for name in FILES if fresh else ():
                (folder / name).unlink(missing_ok=True)
        model.set_logger(logger)
        return _learn(model, plan, folder, before, progress)


def _with_settings(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature with a keyword for each setting, in place of ``**settings``."""
    first, *rest, _ = signature.parameters.values()
    keyword, anything = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    named = [inspect.Parameter(each.name, keyword, default=each.default, annotation=each.type) for each in OPTIONS]
    named += [inspect.Parameter(name, keyword, default=None) for name in ("source", "env_kwargs")]
    return signature.replace(parameters=[first, *named, *rest, inspect.Parameter("hyperparameters", anything)])


train.__signature__ = _with_settings(inspect.signature(train))  # type: ignore[attr-defined]


def _learn(
    model: BaseAlgorithm, plan: TrainingPlan, folder: Path | None, before: dict[str, Any] | None, progress: bool
) -> Training:
    average = restore_average(model, plan, folder if before else None)
    average.save()
    record = TrainingRecord(plan, folder, before, average)
    steps, watch = plan.settings.steps, Watch(record, progress)
    if model.num_timesteps < steps:
        try:
            model.learn(steps - model.num_timesteps, callback=watch, reset_num_timesteps=before is None)
            watch.after_learning()
            if record.evaluated != model.num_timesteps:
                watch.evaluate()
        except KeyboardInterrupt as interruption:
            if folder is not None:
                average.restore()
                record.save_last(model)
                kept = f"{folder / 'last.zip'} has everything learned in {model.num_timesteps:,} steps"
                interruption.add_note(f"{kept}; `{record.command} --resume` continues from there")
            raise
        finally:
            watch.close()
        record.write()
    weights, seconds, settings = weights_digest(model), record.seconds, dataclasses.asdict(plan.settings)
    steps = model.num_timesteps
    return Training(model, record.curve, record.best, weights, steps, seconds, folder, settings, record.rivals)


def _logger(tensorboard: str | os.PathLike[str] | None) -> Logger:
    if tensorboard is None:
        return Logger(folder=None, output_formats=[])  # the default one leaves a folder among the temporary files
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError:
        given = f"tensorboard = {os.fspath(tensorboard)!r}, but TensorBoard is not installed"
        raise ValueError(f"{given}; allowed: None, or after pip install tensorboard") from None
    return configure(os.fspath(tensorboard), ["tensorboard"])


# -- the summary ----------------------------------------------------------------------------------------------------


def summary(training: Training) -> list[str]:
    """Return the results of a training run, in lines for a terminal."""
    minutes, curve = training.seconds / 60, training.curve
    last = [one for one in curve if one.steps == curve[-1].steps]
    lines = [f"{training.steps:,} steps in {minutes:,.1f} minutes, evaluations included"]
    lines += [
        f"{one.environment}: regret {with_error(one.regret, one.regret_se)}, violations {one.violations:,.1f}, "
        f"NDCG {one.ndcg:.3f}; untrained, regret {first.regret:,.1f}"
        for one, first in zip(last, curve, strict=False)
    ]
    best = training.best
    lines.append(f"best after {best['steps']:,} steps: regret {best['regret']:,.1f}, mean of all environments")
    lines += _beside_rivals(best["regret"], training.rivals)
    lines.append(f"digest of the last weights: {training.weights}")
    if training.out is not None:
        average = f", {AVERAGE}" if training.settings["average"] else ""
        lines.append(f"Written to {training.out}: best.zip, last.zip{average}, curve.csv, train.json")
        lines.append(f"{_compare_command(training.settings, training.out / 'best.zip')} compares it")
        if _share_queries(training.settings["query"], training.settings["eval_query"]):
            lines.append("queries of these evaluations were trained on")
        more = "-Yandex-" in last[0].environment and training.settings["env_kwargs"].get("source") != "published"
        lines.append(
            "best.zip was chosen by these evaluations, which flatter it: for a fair number, compare it on queries that "
            f"it was not chosen on{', such as those of --source published' if more else ''}"
        )
    return lines


def _beside_rivals(regret: float, rivals: Mapping[str, float]) -> list[str]:
    """Return lines that say which agents that are not trained here have less regret with the same users."""
    beaten = [f"{name} ({other:,.1f})" for name, other in rivals.items() if regret < other]
    others = [f"{name} ({other:,.1f})" for name, other in rivals.items() if regret >= other]
    lines = [f"less than {', '.join(beaten)}"] if beaten else []
    if others:
        lines.append(f"NOT less than {', '.join(others)}: {TOO_FEW}")
    return lines


def _share_queries(query: Any, eval_query: Any) -> bool:
    """Return whether the two choices are known to have queries in common."""
    both = (query, eval_query)
    if query == eval_query or any(one is None or one == "all" for one in both):
        return True
    listed = [set(np.ravel(one).tolist()) for one in both if not isinstance(one, str)]
    return len(listed) == 2 and bool(listed[0] & listed[1])


def _compare_command(settings: Mapping[str, Any], model: Path) -> str:
    """Return the command line that compares a model with a bandit, as it was evaluated."""
    kwargs = dict(settings["env_kwargs"])
    words = ["rankgym", "compare", settings["environments"][0].removeprefix("rankgym/")]
    if isinstance(kwargs.get("source"), str):
        words += ["--source", kwargs.pop("source")]
    words += as_options("--set", kwargs)
    words += ["--query", "all" if settings["eval_query"] is None else query_text(settings["eval_query"])]
    words += ["--rounds", str(settings["eval_horizon"]), "--agents", f"cascade-kl-ucb,{model}"]
    return shlex.join(words)
