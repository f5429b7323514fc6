"""Training: many users of many queries at once, in one environment or several, evaluated on queries never trained on.

Everything that decides the weights is in ``train.json`` beside them: the same command with the same versions on the
same machine gives the same weights.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import inspect
import io
import itertools
import json
import os
import re
import shlex
import sys
import time
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch as th
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger, configure
from stable_baselines3.common.utils import LinearSchedule

from rankgym import wrappers
from rankgym.arguments import near, plain_number, whole_number
from rankgym.outputs import atomic_path, check_writable, versions
from rankgym.play.simulate import simulate
from rankgym.registry import BREAKPOINT, ENVS, RANKING
from rankgym.sb3.agent import SB3Agent, describe, library_versions, one_thread, weights_digest
from rankgym.sb3.callbacks import Measured, Watch
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.vec_env import RankingVecEnv

__all__ = ["ALGORITHMS", "DEFAULTS", "Training", "summary", "train"]

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "ppo": PPO,
    "a2c": A2C,
    "maskable-ppo": MaskablePPO,
    "dqn": DQN,
    "sac": SAC,
    "td3": TD3,
}

OFF_POLICY: dict[str, Any] = {"buffer_size": 200_000, "batch_size": 256, "learning_starts": 5_000, "gamma": 0.9}

# By algorithm and policy: the wrappers, and what differs from the hyperparameters that are the default elsewhere.
DEFAULTS: dict[tuple[str, str], tuple[tuple[str, ...], dict[str, Any]]] = {
    ("ppo", "plackett-luce"): (
        ("ItemStatistics",),
        {
            "n_steps": 128,
            "n_epochs": 4,
            "learning_rate": "linear:0.001",
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "ent_coef": 0.01,
            "activation": "relu",
        },
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

AVERAGES = {("ppo", "plackett-luce"): 0.03, ("a2c", "plackett-luce"): 0.003}  # the default of ``average``; else 0

OURS = {  # arguments of algorithms that are not hyperparameters here, and why
    **dict.fromkeys(("policy", "env", "seed"), "it is said otherwise"),
    "policy_kwargs": "its entries are given one by one",
    **dict.fromkeys(("tensorboard_log", "verbose", "device", "_init_setup_model", "stats_window_size"), "it is fixed"),
    **dict.fromkeys(("rollout_buffer_class", "replay_buffer_class", "action_noise"), "it is no plain value"),
}
SCHEDULED = ("learning_rate", "clip_range")  # hyperparameters that may fall: "linear:0.001" ends at 0
PLAIN = (bool, int, float, str, list, tuple, dict, types.NoneType)
ANY = sys.float_info.max
LIMITS: dict[str, tuple[float, float]] = {  # the least and the largest value of hyperparameters that are numbers
    **dict.fromkeys(("gamma", "gae_lambda", "tau", "exploration_initial_eps", "exploration_final_eps"), (0, 1)),
    "exploration_fraction": (1e-9, 1),  # it divides
    **dict.fromkeys(("n_steps", "batch_size", "n_epochs", "buffer_size", "train_freq", "n_critics"), (1, ANY)),
    **dict.fromkeys(("policy_delay", "target_update_interval"), (1, ANY)),
    **dict.fromkeys((*SCHEDULED, "max_grad_norm", "target_kl", "rms_prop_eps", "learning_starts"), (0, ANY)),
    **dict.fromkeys(("target_policy_noise", "target_noise_clip"), (0, ANY)),
    **dict.fromkeys(("gradient_steps", "sde_sample_freq"), (-1, ANY)),  # -1: as many as were played; never
}
TEXTS = {"ent_coef": r"auto(_\d+(\.\d*)?)?", "target_entropy": "auto"}  # of SAC
NOT_MADE = (AssertionError, TypeError, RuntimeError, LookupError, AttributeError, ArithmeticError, MemoryError)
AVERAGE = "average.pth"  # the averaged weights so far, in the training's folder
WANTS = {"dqn": "RankingNumber", "sac": "ScoresToRanking", "td3": "ScoresToRanking", "maskable-ppo": "SlotBySlot"}
LARGEST_ROLLOUT = 1_000_000  # steps that may be remembered at once, where there are no more of them in all
LARGEST_BATCH = 4_096  # sessions that PPO learns from at once, unless it is told otherwise
EVALUATIONS = 20  # of a training, about
EVALUATION_SEED = 1_000_000_000  # of the evaluations' row 0; the same in all of them; above all of the training's
FILES = ("train.json", "curve.csv", "last.zip", "best.zip", AVERAGE)  # of a training
NOT_DECISIVE = ("steps",)  # settings that may differ where a training is taken up again


class Training(NamedTuple):
    """What came out of a training."""

    model: BaseAlgorithm  # after the last step
    curve: list[Measured]  # one entry for each evaluation and environment
    best: dict[str, Any]  # steps, regret (mean over environments) and weights (digest) of the best evaluation
    weights: str  # digest of the model's weights
    steps: int  # that were played: whole rollouts
    seconds: float
    out: Path | None
    settings: dict[str, Any]  # what decided the weights, as in ``train.json``


def train(
    env_ids: str | Sequence[str],
    *,
    algo: str = "ppo",
    policy: str | None = None,
    steps: int,
    rows: int = 256,
    horizon: int | Sequence[int] = 1_000,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    layers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
    reward: str = "regret",
    truth: bool | None = None,
    stagger: bool = True,
    query: Any = "train",
    source: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    eval_every: int | None = None,
    eval_runs: int = 2,
    eval_query: Any = "test",
    eval_horizon: int | None = None,
    average: float | None = None,
    threads: int = 1,
    tensorboard: str | os.PathLike[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    progress: bool = True,
    **hyperparameters: Any,
) -> Training:
    """Train a policy to rank, evaluate it as it learns, and keep the best.

    Each row is one user population with a query of its own; an episode is ``horizon`` sessions, at whose start nothing
    is known of the query. Rows are split evenly among the environments, and among the horizons of each. With
    ``query="train"`` (the four fifths of the queries that are no test queries) a row meets its query again in its next
    episode, with other users; what the policy sees does not tell it which one it is. The end of an episode is no end
    to what the policy learns: what it is worth there is bootstrapped from the critic's value of the last observation,
    as if it went on.

    An evaluation plays ``eval_query`` in each environment, for ``eval_horizon`` sessions by the same seeds each time,
    and measures the mean cumulative regret at their end. ``best.zip`` is the model with the least so far, ``last.zip``
    the one of the last evaluation, or of the interruption; both are played by ``SB3Agent``. With ``average`` it is the
    averaged weights that are evaluated and that ``best.zip`` has, while ``last.zip`` goes on learning from its own, and
    the average so far is in ``average.pth``. ``curve.csv`` has all evaluations, ``train.json`` everything that decided
    the weights.

    So ``best.zip`` is *chosen* by its regret on ``eval_query``, by default the test queries: the least of many
    measurements flatters it. A fair number comes from queries that it was neither trained nor chosen on, such as those
    of ``source="published"``.

    The same arguments give the same weights, bit for bit, on the same machine with the same versions. To get there the
    global random generators of Python, NumPy and torch are seeded, as stable-baselines3 does.

    A training that is taken up again has all that it had learned, the optimizer's state, the steps, the best evaluation
    and the place in falling learning rates. Yet it is not that which an uninterrupted one would have become: its rows
    start fresh episodes from other seeds, and of SAC, TD3 and DQN the remembered sessions are gone. It is reproducible
    itself, from the same ``last.zip``. A falling learning rate depends on the share of ``steps`` that is done: with
    more of them than before it jumps up again, from 0 if the training had come to its end.

    Args:
        env_ids: an id, with or without ``rankgym/``, or several: a population with the same numbers of items and
            positions.
        algo: a key of ``ALGORITHMS``.
        policy: ``"plackett-luce"`` (PPO and A2C) or ``"mlp"``. Default: the former where it is possible.
        steps: actions of all rows together, rounded up to whole rollouts. Slot by slot, a session takes several.
        rows: at least one for each environment.
        horizon: sessions in an episode; or several such, each for as many rows as the others.
        seed: of the first weights, of the exploration and of row 0; row b has ``seed + b``, less than 10^9, where the
            seeds of evaluations begin.
        out: a folder, with no training in it, or with that which is taken up again. None: nothing is written.
        layers: names of wrappers of ``rankgym.wrappers.LAYERS``, the innermost first, alone or with keywords:
            ``("ItemStatistics", {"discounts": [1.0, 0.999]})``. Default: by algorithm and policy, see ``DEFAULTS``.
        reward: ``"clicks"``, ``"expected"`` or ``"regret"``, see ``RankingVecEnv``.
        truth: whether the critic sees the attraction probabilities, in training only. Default: of Plackett-Luce
            policies it does.
        stagger: whether rows begin at random ages, so that each rollout has sessions of early and late rounds.
        query, source, env_kwargs: of the training's environments, see ``rankgym.envs.RankingVectorEnv``.
        eval_every: steps between evaluations. Default: 20 in all.
        eval_runs: rows for each query of an evaluation.
        eval_query: queries of evaluations, by which ``best.zip`` is chosen.
        eval_horizon: sessions of an evaluation. Default: ``horizon``, the shortest one.
        average: how far, in (0, 1), a running average of the weights moves to the present ones before each rollout
            (Polyak averaging: PPO's weights wander, and their mean plays better). 0: no average. Default: by algorithm
            and policy, see ``DEFAULTS``.
        threads: of torch. More of them may change the weights in their last bits.
        tensorboard: a folder for TensorBoard's curves: ``train/episode_regret``, ``train/episode_violations``,
            ``eval/regret``, ``eval/violations``, ``eval/ndcg``, and the algorithm's own.
        resume: take up the training in ``out`` and bring it to ``steps``; all else must be as it was.
        fresh: replace the training in ``out``: its files are deleted before the new one begins.
        progress: show a bar.
        **hyperparameters: of the algorithm's class in stable-baselines3 or of its policy's (``width``,
            ``temperature``, ``net_arch``, ...), plain JSON values. ``"linear:0.001"`` is a learning rate that falls
            from 0.001 to 0.

    Raises:
        ValueError: an argument does not fit; nothing was trained or written then.
        KeyboardInterrupt: Ctrl-C; ``last.zip`` was written before, with what had been learned from all whole rollouts
            and nothing of an update that was under way, and a note says how to go on.
    """
    plan = _Plan.make(
        env_ids=env_ids,
        algo=algo,
        policy=policy,
        steps=steps,
        rows=rows,
        horizon=horizon,
        seed=seed,
        layers=layers,
        reward=reward,
        truth=truth,
        stagger=stagger,
        query=query,
        source=source,
        env_kwargs=env_kwargs,
        eval_every=eval_every,
        eval_runs=eval_runs,
        eval_query=eval_query,
        eval_horizon=eval_horizon,
        average=average,
        threads=threads,
        hyperparameters=hyperparameters,
    )
    if (resume or fresh) and out is None:
        raise ValueError(f"out = None and {'resume' if resume else 'fresh'} = True; allowed: out with a training in it")
    if resume and fresh:
        raise ValueError("resume = True and fresh = True; allowed: one of them")
    folder = None if out is None else Path(out)
    logger = _logger(tensorboard)
    before = _earlier(folder, plan, resume, fresh)
    with _threads(plan.settings["threads"]), contextlib.closing(plan.environment()) as env:
        model = plan.model(env) if before is None else _taken_up(folder, before, plan, env)  # type: ignore[arg-type]
        plan.try_out(model)
        if folder is not None:
            _make_folder(folder, fresh)
        if logger is not None:
            model.set_logger(logger)
        return _learn(model, plan, folder, before, progress)


def _learn(
    model: BaseAlgorithm, plan: _Plan, folder: Path | None, before: dict[str, Any] | None, progress: bool
) -> Training:
    steps, began = plan.settings["steps"], time.perf_counter()
    average = _average(model, plan, folder, before)
    record, learned = _Record(plan, folder, before, average), Learned(model, average)
    began -= record.seconds

    def measure(played: int) -> list[Measured]:
        with average.put_in():
            return plan.measure(model, played, time.perf_counter() - began)

    def keep(measured: list[Measured]) -> None:
        record.add(model, measured, watch.episodes(), time.perf_counter() - began)
        watch.news = f"regret {record.latest:,.1f}, best {record.best['regret']:,.1f}"
        if progress and not sys.stderr.isatty():  # a bar is not seen there before its end
            print(f"{measured[0].steps:,} of {steps:,} steps: {watch.news}", file=sys.stderr, flush=True)

    def note() -> None:
        average.move()
        learned.note()

    watch = Watch(steps, plan.settings["eval_every"], measure, keep, learned=note, shown=progress)
    if model.num_timesteps < steps:
        try:
            model.learn(steps - model.num_timesteps, callback=watch, reset_num_timesteps=before is None)
            watch.after_learning()
            if record.evaluated != model.num_timesteps:
                watch.evaluate()
        except KeyboardInterrupt as interruption:
            if folder is not None:
                learned.put_back()
                record.leave(model, time.perf_counter() - began)
                kept = f"{folder / 'last.zip'} has what was learned in {model.num_timesteps:,} steps"
                interruption.add_note(f"{kept}, and `{record.command} --resume` goes on from there")
            raise
        finally:
            watch.close()
        record.write(time.perf_counter() - began)
    weights, seconds = weights_digest(model), record.seconds
    return Training(model, record.curve, record.best, weights, model.num_timesteps, seconds, folder, plan.settings)


def summary(training: Training) -> list[str]:
    """What came of it, in lines for a terminal."""
    minutes, curve = training.seconds / 60, training.curve
    last = [one for one in curve if one.steps == curve[-1].steps]
    lines = [f"{training.steps:,} steps in {minutes:,.1f} minutes, evaluations included"]
    lines += [
        f"{one.environment}: regret {one.regret:,.1f} ± {one.regret_se:,.1f}, violations {one.violations:,.1f}, "
        f"NDCG {one.ndcg:.3f}; untrained, regret {first.regret:,.1f}"
        for one, first in zip(last, curve, strict=False)
    ]
    best = training.best
    lines.append(f"best after {best['steps']:,} steps: regret {best['regret']:,.1f}, mean of all environments")
    lines.append(f"digest of the last weights: {training.weights}")
    if training.out is not None:
        names = [
            "best.zip",
            "last.zip",
            *([AVERAGE] if training.settings["average"] else []),
            "curve.csv",
            "train.json",
        ]
        lines.append(f"Written to {training.out}: {', '.join(names)}")
        lines.append(f"{_comparison(training.settings, training.out / 'best.zip')} compares it")
        if _shared(training.settings["query"], training.settings["eval_query"]):
            lines.append("queries of these evaluations were trained on")
        more = "-Yandex-" in last[0].environment and training.settings["env_kwargs"].get("source") != "published"
        lines.append(
            "best.zip was chosen by these evaluations, which flatter it: for a fair number, compare it on queries that "
            f"it was not chosen on{', such as those of --source published' if more else ''}"
        )
    return lines


def _shared(query: Any, eval_query: Any) -> bool:
    """Whether the two choices are known to have queries in common."""
    both = (query, eval_query)
    if query == eval_query or any(one is None or one == "all" for one in both):
        return True
    listed = [set(np.ravel(one).tolist()) for one in both if not isinstance(one, str)]
    return len(listed) == 2 and bool(listed[0] & listed[1])


def _comparison(settings: Mapping[str, Any], model: Path) -> str:
    """The command line that compares a model with a bandit, as it was evaluated."""
    kwargs = dict(settings["env_kwargs"])
    words = ["rankgym", "compare", settings["environments"][0].removeprefix("rankgym/")]
    if isinstance(kwargs.get("source"), str):
        words += ["--source", kwargs.pop("source")]
    words += _assigned("--set", kwargs)
    words += ["--query", "all" if settings["eval_query"] is None else _query_text(settings["eval_query"])]
    words += ["--rounds", str(settings["eval_horizon"]), "--agents", f"cascade-kl-ucb,{model}"]
    return shlex.join(words)


class Learned:
    """What a model was when it had last learned from all that it had played: an interruption may halve an update."""

    def __init__(self, model: BaseAlgorithm, average: Average) -> None:
        self.model, self.average = model, average
        self.note()

    def note(self) -> None:
        """Copy the model as it is now: steps, weights, the optimizers' states, the average."""
        model: Any = self.model
        entropy = getattr(model, "log_ent_coef", None)  # of SAC, which is no weight of its policy
        now = (model.num_timesteps, model._n_updates, model.get_parameters(), self.average.state)
        self._kept = copy.deepcopy((*now, None if entropy is None else entropy.detach()))

    def put_back(self) -> None:
        """Make the model what it was."""
        model: Any = self.model
        model.num_timesteps, model._n_updates, parameters, self.average.state, entropy = self._kept
        model.set_parameters(parameters)
        if entropy is not None:
            model.log_ent_coef.data.copy_(entropy)


class Average:
    """A running average of a model's weights; without a rate it is the weights themselves.

    Attributes:
        state: the number of weights in it, and for each name their average.
    """

    def __init__(self, model: BaseAlgorithm, rate: float, state: dict[str, Any] | None = None) -> None:
        self.model, self.rate = model, rate
        self.state = state or {"moves": 0, "weights": {name: w.clone() for name, w in self._present()}}

    def _present(self) -> Iterator[tuple[str, th.Tensor]]:
        return ((name, weights.detach()) for name, weights in self.model.policy.state_dict().items())

    def move(self) -> None:
        """Move to the present weights: by ``rate``, and at first by as much as makes it their plain mean."""
        if self.rate:
            self.state["moves"] += 1
            rate = max(self.rate, 1.0 / self.state["moves"])
            for name, weights in self._present():
                self.state["weights"][name].lerp_(weights, rate)

    @contextlib.contextmanager
    def put_in(self) -> Iterator[None]:
        """The model has the averaged weights as long as this lasts."""
        if not self.rate:
            yield
            return
        kept = {name: weights.clone() for name, weights in self._present()}
        self.model.policy.load_state_dict(self.state["weights"])
        try:
            yield
        finally:
            self.model.policy.load_state_dict(kept)


def _average(model: BaseAlgorithm, plan: _Plan, folder: Path | None, before: dict[str, Any] | None) -> Average:
    """The average so far of a training that is taken up again, or a new one."""
    rate, state = plan.settings["average"], None
    if before is not None and rate:
        assert folder is not None
        try:
            state = th.load(folder / AVERAGE, weights_only=True)
        except Exception as error:
            raise ValueError(
                f"{folder / AVERAGE} cannot be read ({type(error).__name__}: {error}); allowed: fresh (--fresh)"
            ) from None
    return Average(model, rate, state)


# -- what is to be trained --------------------------------------------------------------------------------------------


class _Plan(NamedTuple):
    """What decides the weights: plain JSON values, and what was made of them."""

    settings: dict[str, Any]
    algorithm: dict[str, Any]  # keywords of the algorithm's class
    policy_kwargs: dict[str, Any]

    @classmethod
    def make(cls, **given: Any) -> _Plan:
        names = _env_ids(given["env_ids"])
        algo, policy = _algorithm(given["algo"], given["policy"])
        horizons = _horizons(given["horizon"])
        rows = whole_number("rows", given["rows"], len(names) * len(np.atleast_1d(horizons)))
        seed = whole_number("seed", given["seed"], 0)
        if seed + rows > EVALUATION_SEED:
            raise ValueError(
                f"seed = {seed} is out of range; allowed: seed + rows up to {EVALUATION_SEED:,}, from where on seeds "
                "are those of evaluations"
            )
        steps = whole_number("steps", given["steps"], 1)
        every = given["eval_every"]
        draws = policy == "plackett-luce"
        truth = draws if given["truth"] is None else _flag("truth", given["truth"], "True, False, None")
        if truth and not draws:
            raise ValueError(
                f"truth = True and policy = {policy!r}; allowed: policy = 'plackett-luce', or truth = False"
            )
        chosen = given["layers"]
        layers = _layers(DEFAULTS[algo, policy][0] if chosen is None else chosen)
        kwargs = {} if given["env_kwargs"] is None else given["env_kwargs"]
        if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
            raise ValueError(f"env_kwargs = {kwargs!r} is out of range; allowed: a dict of the environment's arguments")
        for key in ("horizon", "query", "source", "autoreset_mode", "num_envs"):
            if key in kwargs and (key != "source" or given["source"] is not None):
                raise ValueError(f"env_kwargs has {key} = {kwargs[key]!r}; allowed: others, train says this one itself")
        settings = {
            "environments": names,
            "algo": algo,
            "policy": policy,
            "steps": steps,
            "rows": rows,
            "horizon": horizons,
            "seed": seed,
            "layers": layers,
            "reward": given["reward"],
            "truth": truth,
            "stagger": _flag("stagger", given["stagger"], "True, False"),
            "query": given["query"],
            "env_kwargs": {**kwargs, **({} if given["source"] is None else {"source": given["source"]})},
            "eval_every": max(steps // EVALUATIONS, 1) if every is None else whole_number("eval_every", every, 1),
            "eval_runs": whole_number("eval_runs", given["eval_runs"], 1),
            "eval_query": given["eval_query"],
            "eval_horizon": int(np.min(horizons))
            if given["eval_horizon"] is None
            else whole_number("eval_horizon", given["eval_horizon"], 1),
            "average": AVERAGES.get((algo, policy), 0.0) if given["average"] is None else _share(given["average"]),
            "threads": whole_number("threads", given["threads"], 1),
            "hyperparameters": given["hyperparameters"],
        }
        try:
            settings = json.loads(json.dumps(settings))
        except TypeError as error:
            raise ValueError(f"the arguments are no plain JSON values: {error}") from None
        algorithm, policy_kwargs = _keywords(algo, policy, settings["hyperparameters"])
        if isinstance(algorithm.get("train_freq"), list):
            algorithm["train_freq"] = _train_freq(algorithm["train_freq"], rows)
        if draws:
            policy_kwargs = _safe(layers) | policy_kwargs
        rollout = rows * algorithm.get("n_steps", 1)
        if rollout > max(steps, LARGEST_ROLLOUT):
            raise ValueError(
                f"n_steps = {algorithm['n_steps']} and rows = {rows} make rollouts of {rollout:,} steps; allowed: as "
                f"many as steps = {steps:,}, or {LARGEST_ROLLOUT:,}"
            )
        if algo in ("ppo", "maskable-ppo") and "batch_size" not in algorithm:
            algorithm["batch_size"] = _batch_size(rows * algorithm["n_steps"])
        return cls(settings, algorithm, policy_kwargs)

    def env(self, name: str, rows: int, query: Any, horizon: int, **more: Any) -> gym.vector.VectorEnv[Any, Any, Any]:
        """A native vector environment."""
        s = self.settings
        keywords = {"query": query, "horizon": horizon, **s["env_kwargs"], **more}
        try:
            return gym.make_vec(name, num_envs=rows, **keywords)
        except TypeError as error:
            raise ValueError(f"{name}: {error}; see `rankgym envs {name}`") from None

    def environment(self) -> RankingVecEnv:
        """All rows, in the wrappers."""
        s, made = self.settings, []
        population = list(itertools.product(s["environments"], np.atleast_1d(s["horizon"]).tolist()))
        shares = np.diff(np.linspace(0, s["rows"], len(population) + 1).astype(int)).tolist()
        for (name, horizon), rows in zip(population, shares, strict=True):
            env: Any = self.env(name, rows, s["query"], horizon, autoreset_mode="Disabled")
            for layer, keywords in s["layers"]:
                try:
                    env = getattr(wrappers, layer)(env, **keywords)
                except TypeError as error:
                    raise ValueError(f"layers has {layer!r} with {keywords}: {error}") from None
            made.append(env)
        return RankingVecEnv(made, reward=s["reward"], truth=s["truth"], stagger=s["stagger"], seed=s["seed"])

    def model(self, env: RankingVecEnv) -> BaseAlgorithm:
        """An untrained model that says what it is made for."""
        s = self.settings
        cls: Any = ALGORITHMS[s["algo"]]
        policy = PlackettLucePolicy if s["policy"] == "plackett-luce" else "MlpPolicy"
        scheduled = {key: _schedule(key, self.algorithm[key]) for key in SCHEDULED if key in self.algorithm}
        try:
            model = cls(
                policy,
                env,
                seed=s["seed"],
                device="cpu",
                policy_kwargs=dict(self.policy_kwargs),
                **(self.algorithm | scheduled),
            )
        except NOT_MADE as error:
            wants, names = WANTS.get(s["algo"]), [name for name, _ in s["layers"]]
            hint = f"; layers = {names}; allowed: with {wants}" if wants and wants not in names else ""
            raise ValueError(f"{s['algo']} with the policy {s['policy']} cannot be made: {error}{hint}") from error
        describe(
            model,
            env.parts[0].env,
            envs=s["environments"],
            training={"command": command(s, None), "steps": 0},
        )
        return model

    def measure(self, model: BaseAlgorithm, steps: int, seconds: float) -> list[Measured]:
        """Play the evaluation's queries in every environment."""
        s, results = self.settings, []
        for name in s["environments"]:
            with contextlib.closing(self.env(name, 1, s["eval_query"], s["eval_horizon"])) as one:
                rows = len(getattr(one.unwrapped, "pool", [0])) * s["eval_runs"]
            with contextlib.closing(self.env(name, rows, s["eval_query"], s["eval_horizon"])) as env:
                agent = SB3Agent.for_env(env, seed=EVALUATION_SEED, model=model)
                history = simulate(agent, env, s["eval_horizon"], seed=EVALUATION_SEED, progress=False)
            last = history.at(s["eval_horizon"])
            spread = float(last["regret"].std(ddof=1) / np.sqrt(rows)) if rows > 1 else 0.0
            means = [float(last[key].mean()) for key in ("regret", "violations", "ndcg")]
            results.append(Measured(steps, name, means[0], spread, means[1], means[2], round(seconds, 3)))
        return results

    def try_out(self, model: BaseAlgorithm) -> None:
        """One session of each environment's evaluation: finds what does not fit before anything is learned."""
        for name in self.settings["environments"]:
            with contextlib.closing(
                self.env(name, 1, self.settings["eval_query"], self.settings["eval_horizon"])
            ) as env:
                simulate(SB3Agent.for_env(env, seed=0, model=model), env, 1, seed=0, progress=False)


def _env_ids(given: Any) -> list[str]:
    """The ids, with ``rankgym/``, of one ranking environment or several."""
    ids = [given] if isinstance(given, str) else given
    if not isinstance(ids, Sequence) or not all(isinstance(name, str) for name in ids):
        raise ValueError(f"env_ids = {given!r} is out of range; allowed: an id, or a list of ids")
    names = [_env_id(name) for name in ids]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"env_ids = {ids}; allowed: at least one, each once")
    return names


def _env_id(name: str) -> str:
    """The id, with ``rankgym/``, of a ranking environment."""
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
        hint = near(str(policy), possible)
        raise ValueError(
            f"policy = {policy!r} is unknown with algo = {algo!r}{hint or ';'} allowed: {', '.join(possible)}"
        )
    return algo, policy


def _horizons(given: Any) -> int | list[int]:
    """One horizon, or several in rising order."""
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
    """The wrappers' names and keywords."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        example = f"[{given!r}]" if isinstance(given, str) else "['ItemStatistics']"
        raise ValueError(f"layers = {given!r} is out of range; allowed: a list, such as {example}")
    return [_layer(layer) for layer in given]


def _layer(layer: Any) -> tuple[str, dict[str, Any]]:
    """A wrapper's name and keywords."""
    pair = (layer, {}) if isinstance(layer, str) else layer
    named = isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
    if not named or not isinstance(pair[1], Mapping) or not all(isinstance(key, str) for key in pair[1]):
        raise ValueError(f"layers has {layer!r}; allowed: a wrapper's name, or its name and a dict of its keywords")
    name, keywords = pair
    if name not in wrappers.LAYERS:
        hint = near(name, wrappers.LAYERS)
        raise ValueError(f"layers has {name!r}, which is unknown{hint or ';'} allowed: {', '.join(wrappers.LAYERS)}")
    return name, dict(keywords)


def _safe(layers: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """What a Plackett-Luce policy has to know of lists that must stay near the base list."""
    names = [name for name, _ in layers]
    if "SafeLists" not in names:
        return {}
    from rankgym.wrappers.actions import BASE_COLUMN  # among the columns that SafeLists appends

    if names[-1] != "SafeLists":
        raise ValueError(f"layers = {names}; allowed: SafeLists last, the policy reads the base list off its columns")
    return {"max_displacement": 1, "base_column": BASE_COLUMN}


def _keywords(algo: str, policy: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The algorithm's keywords and the policy's, with the defaults of both."""
    cls: Any = ALGORITHMS[algo]
    made: Any = PlackettLucePolicy if policy == "plackett-luce" else cls.policy_aliases["MlpPolicy"]
    algorithms, policys = _plain_parameters(cls), _plain_parameters(made)
    own = [key for key in algorithms if key not in OURS]
    others = [key for key in policys if key not in (*own, "use_sde")]
    algorithm: dict[str, Any] = {}
    policy_kwargs: dict[str, Any] = {}
    for key, value in {**DEFAULTS[algo, policy][1], **given}.items():
        if key in OURS:
            raise ValueError(f"{key} = {value!r} is no hyperparameter here: {OURS[key]}; allowed: {', '.join(own)}")
        if key in own:
            algorithm[key] = value
        elif key in others:
            policy_kwargs[key] = value
        else:
            hint = near(key, [*own, *others])
            raise ValueError(
                f"{key} = {value!r} is unknown to {algo} and its policy{hint or ';'} allowed: {', '.join(own)}, and of "
                f"the policy {', '.join(others)}"
            )
        _check_value(key, value, algorithms[key] if key in own else policys[key])
    return algorithm, policy_kwargs


def _plain_parameters(made: Any) -> dict[str, set[Any]]:
    """The parameters that take plain values, and the types of these."""
    signature = inspect.signature(made, eval_str=True)
    kinds = {key: _plain_types(parameter.annotation) for key, parameter in signature.parameters.items()}
    return {key: types_of for key, types_of in kinds.items() if types_of}


def _plain_types(hint: Any) -> set[Any]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return {kind for part in typing.get_args(hint) for kind in _plain_types(part)}
    hint = types.NoneType if hint is None else origin or hint
    return {hint} & set(PLAIN)


def _check_value(key: str, value: Any, kinds: set[Any]) -> None:
    """Refuse a hyperparameter whose type is not in its signature, or that is out of its range."""
    least, most = LIMITS.get(key, (-ANY, ANY))
    number = plain_number(value)
    if number is not None:
        fits = least <= number <= most and (float in kinds or (int in kinds and isinstance(number, int)))  # no NaN
    elif isinstance(value, str):
        if key in SCHEDULED:
            _schedule(key, value)
            return
        fits = str in kinds and re.fullmatch(TEXTS.get(key, ".*"), value) is not None
    else:
        fits = type(value) in kinds or (isinstance(value, list) and tuple in kinds)
    if not fits:
        raise ValueError(f"{key} = {value!r} is out of range; allowed: {_allowed(key, kinds)}")


def _allowed(key: str, kinds: set[Any]) -> str:
    """What values a hyperparameter has, in words."""
    least, most = LIMITS.get(key, (-ANY, ANY))
    ends = f" in [{least:g}, {most:g}]" if most < ANY else "" if least == -ANY else f", at least {least:g}"
    words = []
    if kinds & {int, float}:
        words.append(f"a {'' if float in kinds else 'whole '}number{ends}")
    if key in SCHEDULED:
        words.append("'linear:NUMBER' with such a number")
    elif str in kinds:
        words.append("'auto'" if key in TEXTS else "a text")
    names = {bool: "True, False", list: "a list", tuple: "a pair", dict: "a dict", types.NoneType: "None"}
    return ", or ".join([*words, *(name for kind, name in names.items() if kind in kinds)])


def _train_freq(given: list[Any], rows: int) -> tuple[int, str]:
    """How much is played between updates, in stable-baselines3's own form."""
    units = ["step", "episode"] if rows == 1 else ["step"]
    whole = bool(given) and type(given[0]) is int and given[0] >= 1
    if len(given) != 2 or not whole or given[1] not in units:
        pairs = " or ".join(f"[N, {unit!r}]" for unit in units)
        raise ValueError(f"train_freq = {given!r} is out of range; allowed: a whole number N, at least 1, or {pairs}")
    return given[0], given[1]


def _schedule(key: str, value: Any) -> Any:
    """A number, or a schedule that falls from a number to 0."""
    if not isinstance(value, str):
        return value
    kind, _, text = value.partition(":")
    try:
        start = float(text)
        if kind != "linear" or not 0 <= start <= ANY:
            raise ValueError
    except ValueError:
        raise ValueError(f"{key} = {value!r} is out of range; allowed: {_allowed(key, {float})}") from None
    return LinearSchedule(start, 0.0, 1.0)


def _batch_size(steps: int) -> int:
    """The largest size, up to 4,096, of equal batches, at least four of them, that ``steps`` can be split into."""
    return next((size for size in range(min(steps // 4, LARGEST_BATCH), 1, -1) if steps % size == 0), steps)


def _logger(tensorboard: str | os.PathLike[str] | None) -> Logger | None:
    if tensorboard is None:
        return None
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError:
        raise ValueError(
            f"tensorboard = {os.fspath(tensorboard)!r}, but TensorBoard is not installed; allowed: None, or after "
            "pip install tensorboard"
        ) from None
    return configure(os.fspath(tensorboard), ["tensorboard"])


@contextlib.contextmanager
def _threads(number: int) -> Iterator[None]:
    if number == 1:
        with one_thread():
            yield
        return
    before = th.get_num_threads()
    th.set_num_threads(number)
    try:
        yield
    finally:
        th.set_num_threads(before)


# -- what is kept -----------------------------------------------------------------------------------------------------


class _Record:
    """The learning curve and the files in ``folder``, if any."""

    def __init__(self, plan: _Plan, folder: Path | None, before: dict[str, Any] | None, average: Average) -> None:
        before = before or {}
        self.plan, self.folder, self.average = plan, folder, average
        self.command = command(plan.settings, folder)
        self.curve = [Measured(**one) for one in before.get("curve", [])]
        self.training: list[dict[str, Any]] = before.get("training_episodes", [])
        self.best: dict[str, Any] = before.get("best", {})
        self.last: dict[str, Any] = before.get("last", {})
        self.seconds: float = before.get("seconds", 0.0)
        self.resumed: list[int] = before.get("resumed_at", []) + ([before["last"]["steps"]] if before else [])
        self.latest = float("inf")

    @property
    def evaluated(self) -> int:
        """The steps before the last evaluation; -1: there was none."""
        return self.curve[-1].steps if self.curve else -1

    def add(self, model: Any, measured: list[Measured], episodes: dict[str, float], seconds: float) -> None:
        """An evaluation: write all files."""
        self.curve += measured
        if episodes:
            self.training.append({"steps": measured[0].steps, **episodes})
        self.latest = float(np.mean([one.regret for one in measured]))
        model.rankgym["training"] = {
            "command": command(self.plan.settings, None),  # the folder does not decide the weights
            "steps": measured[0].steps,
            "seconds": round(seconds, 1),
            "regret": self.latest,
            "versions": versions() | library_versions(),
        }
        if not self.best or self.latest < self.best["regret"]:
            with self.average.put_in():
                weights = weights_digest(model)
                self._save("best.zip", model)
            self.best = {"steps": measured[0].steps, "regret": self.latest, "weights": weights}
        self.leave(model, seconds)

    def leave(self, model: Any, seconds: float) -> None:
        """The model as it is now: write it. Its card has a regret only where that is these very weights'."""
        said = model.rankgym["training"]
        said["steps"], said["seconds"] = model.num_timesteps, round(seconds, 1)
        if self.average.rate or model.num_timesteps != self.evaluated:
            said.pop("regret", None)
        self.last = {"steps": model.num_timesteps, "weights": weights_digest(model)}
        self._save("last.zip", model)
        if self.folder is not None and self.average.rate:
            content = io.BytesIO()
            th.save(self.average.state, content)
            with atomic_path(self.folder / AVERAGE) as path:
                path.write_bytes(content.getvalue())
        self.write(seconds)

    def _save(self, name: str, model: BaseAlgorithm) -> None:
        if self.folder is not None:
            content = io.BytesIO()
            model.save(content)
            with atomic_path(self.folder / name) as path:
                path.write_bytes(content.getvalue())

    def write(self, seconds: float) -> None:
        """Write ``train.json`` and ``curve.csv``."""
        self.seconds = seconds
        if self.folder is None:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Measured._fields)
        writer.writerows(self.curve)
        with atomic_path(self.folder / "curve.csv") as path:
            path.write_bytes(text.getvalue().encode())
        report = {
            "command": self.command,
            "settings": self.plan.settings,
            "algorithm": self.plan.algorithm,
            "policy_kwargs": self.plan.policy_kwargs,
            "seeds": f"rows: {self.plan.settings['seed']} + b; evaluations: {EVALUATION_SEED} + b",
            "versions": versions() | library_versions(),
            "resumed_at": self.resumed,
            "seconds": round(seconds, 3),
            "best": self.best,
            "last": self.last,
            "curve": [one._asdict() for one in self.curve],
            "training_episodes": self.training,
        }
        with atomic_path(self.folder / "train.json") as path:
            path.write_bytes((json.dumps(report, indent=1) + "\n").encode())


def _make_folder(folder: Path, fresh: bool) -> None:
    """Make the folder, and delete what is to be replaced."""
    check_writable(folder, folder)
    for name in FILES if fresh else ():
        (folder / name).unlink(missing_ok=True)


def _earlier(folder: Path | None, plan: _Plan, resume: bool, fresh: bool) -> dict[str, Any] | None:
    """What ``train.json`` says of the training that is to be taken up again; None: there is none to be."""
    path = None if folder is None else folder / "train.json"
    there = path is not None and path.exists()
    if not resume:
        if there and not fresh:
            raise ValueError(
                f"out = {str(folder)!r} has a training already; allowed: another folder, resume (--resume) to go on "
                "with it, or fresh (--fresh) to replace it"
            )
        return None
    assert path is not None
    assert folder is not None
    if not there or not (folder / "last.zip").exists():
        raise ValueError(
            f"out = {str(folder)!r} has no training to take up again; allowed: one with train.json and last.zip"
        )
    try:
        before: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        old, _ = before["settings"], before["last"]["steps"]
        made = {**before["algorithm"]}, {**before["policy_kwargs"]}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {error}); allowed: fresh (--fresh)") from None
    automatic = max(old["steps"] // EVALUATIONS, 1) == old["eval_every"]
    for key, value in plan.settings.items():
        if key in NOT_DECISIVE or (key == "eval_every" and automatic):
            continue
        if old.get(key) != value:
            raise ValueError(
                f"{key} = {value!r}, but the training in {folder} had {old.get(key)!r}; allowed: the same, another "
                "folder, or fresh (--fresh)"
            )
    for then, mine in zip(made, (plan.algorithm, plan.policy_kwargs), strict=True):
        now = json.loads(json.dumps(mine))
        for key in {**then, **now}:
            value, had = (repr(one[key]) if key in one else "its library's" for one in (now, then))
            if value != had:
                raise ValueError(
                    f"{key} = {value} by default, but the training in {folder} had {had}; allowed: the rankgym that "
                    "began it, another folder, or fresh (--fresh)"
                )
    return before


def _taken_up(folder: Path, before: dict[str, Any], plan: _Plan, env: RankingVecEnv) -> BaseAlgorithm:
    """The model of ``last.zip``, with other users to come."""
    model: Any = ALGORITHMS[plan.settings["algo"]].load(folder / "last.zip", env=env, device="cpu")
    sequence = np.random.SeedSequence([plan.settings["seed"], before["last"]["steps"]])
    model.set_random_seed(int(sequence.generate_state(1)[0]))
    return model


def command(settings: Mapping[str, Any], out: Path | None) -> str:
    """The command line of these settings."""
    s = settings
    names = ",".join(name.removeprefix("rankgym/") for name in s["environments"])
    words = ["rankgym", "train", names, "--algo", s["algo"], "--policy", s["policy"], "--steps", f"{s['steps']:_}"]
    for key in ("rows", "horizon", "seed"):
        words += [f"--{key}", ",".join(map(str, np.atleast_1d(s[key])))]
    words += ["--layers", ",".join(_layer_text(name, keywords) for name, keywords in s["layers"])]
    words += ["--reward", s["reward"], "--truth" if s["truth"] else "--no-truth"]
    words += [] if s["stagger"] else ["--no-stagger"]
    for key, option in (("query", "--query"), ("eval_query", "--eval-query")):
        words += [option, _query_text(s[key])]
    words += [
        "--eval-every",
        f"{s['eval_every']:_}",
        "--eval-runs",
        f"{s['eval_runs']}",
        "--eval-horizon",
        f"{s['eval_horizon']}",
        "--average",
        f"{s['average']}",
        "--threads",
        f"{s['threads']}",
    ]
    words += _assigned("--set", s["env_kwargs"]) + _assigned("--param", s["hyperparameters"])
    words += [] if out is None else ["--out", str(out)]
    return shlex.join(words)


def _assigned(option: str, values: Mapping[str, Any]) -> list[str]:
    """Words of a command line that give these values to these keys."""
    return [word for key, value in values.items() for word in (option, f"{key}={_value_text(value)}")]


def _value_text(value: Any) -> str:
    """As JSON; a text as it stands, unless that would be read as something else."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value)


def _query_text(query: Any) -> str:
    return query if isinstance(query, str) else "none" if query is None else ",".join(map(str, np.ravel(query)))


def _layer_text(name: str, keywords: Mapping[str, Any]) -> str:
    return ":".join([name, *(f"{key}={json.dumps(value, separators=(',', ':'))}" for key, value in keywords.items())])
