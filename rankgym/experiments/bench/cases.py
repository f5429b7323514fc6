"""Cases to be timed, in groups whose members take turns: steps, agents, duels, single environments, training."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np

from rankgym.arguments import ActionKind, action_kind
from rankgym.experiments.bench import scenarios
from rankgym.experiments.bench.timing import Case, Effort, time_simulation, time_single_steps, time_steps, timed

__all__ = ["Group", "can_train", "groups", "number_of_cases", "write_letor"]

Group = Callable[[contextlib.ExitStack], list[Case]]  # makes environments and agents; the stack closes them


def groups(sizes: Sequence[int], effort: Effort, letor: Path | None) -> list[Group]:
    """Return all groups of cases; the cases of a group take turns."""
    found: list[Group] = [_singles]
    found += [partial(_steps, size) for size in sizes]
    found += [partial(_agents, model, effort) for model in scenarios.MODELS]
    found += [partial(_duels, letor), partial(_duelers, effort)]
    if can_train():
        found += [partial(_adapters, shown) for shown in scenarios.SHOWN]
        found.append(_learners)
    return found


def number_of_cases(sizes: Sequence[int]) -> int:
    """Return the number of cases in all groups, without making them."""
    from rankgym_agents import DUELERS, RANKERS

    singles, agents = len(scenarios.MODELS) + 1, len(RANKERS) * len(scenarios.MODELS)
    duels = 2 * len(scenarios.DUELS) + len(DUELERS)
    training = len(scenarios.TRAINING_GOALS) * len(scenarios.ADAPTERS) if can_train() else 0
    return (
        singles
        + agents
        + duels
        + training
        + len(sizes) * (len(scenarios.STEPS) * len(scenarios.LISTS) * len(scenarios.RECORDINGS) + 1)
    )


def can_train() -> bool:
    """Whether stable-baselines3 is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("stable_baselines3", "torch"))


# -- rankings ---------------------------------------------------------------------------------------------------------


def _singles(opened: contextlib.ExitStack) -> list[Case]:
    """Single environments through ``gym.make``, with random lists, and CartPole with random actions."""
    rng = np.random.default_rng(0)
    lists = [rng.permutation(10)[: scenarios.POSITIONS] for _ in range(scenarios.POOL)]
    pushes = rng.integers(0, 2, scenarios.POOL).tolist()
    cases = []
    for model in scenarios.MODELS:
        env = _kept_open(opened, gym.make(scenarios.STEPS[model], num_positions=scenarios.POSITIONS))
        cases.append(Case(("single", model), 1, time_single_steps(env, lists)))
    cartpole = _kept_open(opened, gym.make(scenarios.CARTPOLE))
    return [*cases, Case(("single", scenarios.CARTPOLE), 1, time_single_steps(cartpole, pushes))]


def _steps(rows: int, opened: contextlib.ExitStack) -> list[Case]:
    """Each environment's vector step, with each kind of lists and recording, and CartPole's."""
    rng = np.random.default_rng(0)
    pool = _random_lists(rng, rows)
    lists = {"fixed list": pool[:1], "random lists": pool}
    cases = []
    for model in scenarios.STEPS:
        for kind in scenarios.LISTS:
            bare = _kept_open(opened, _ranking_env(model, rows))
            bare.reset(seed=0)
            for recording in scenarios.RECORDINGS:
                env = _recorded(bare, recording)
                cases.append(Case(("step", model, rows, kind, recording), rows, time_steps(env, lists[kind])))
    made = gym.make_vec(scenarios.CARTPOLE, num_envs=rows, vectorization_mode="vector_entry_point")
    cartpole = _kept_open(opened, made)
    cartpole.reset(seed=0)
    actions = [rng.integers(0, 2, rows) for _ in range(scenarios.POOL)]
    return [*cases, Case(("cartpole", rows), rows, time_steps(cartpole, actions))]


def _agents(model: str, effort: Effort, opened: contextlib.ExitStack) -> list[Case]:
    """Each ranking agent through ``simulate``, after it has learned for a while."""
    from rankgym_agents import RANKERS

    rows, cases = scenarios.AGENT_ROWS, []
    for name, cls in RANKERS.items():
        env = _kept_open(opened, _ranking_env(model, rows))
        play = time_simulation(cls.for_env(env, horizon=scenarios.HORIZON, seed=0), env)
        play(effort.learning)
        cases.append(Case(("agent", name, model), rows, play))
    return cases


def _kept_open(opened: contextlib.ExitStack, env: Any) -> Any:
    """Return ``env``; it is closed with ``opened``."""
    return opened.enter_context(contextlib.closing(env))


def _ranking_env(model: str, rows: int) -> Any:
    return gym.make_vec(
        scenarios.STEPS[model], num_envs=rows, query="all", num_positions=scenarios.POSITIONS, horizon=None
    )


def _random_lists(rng: np.random.Generator, rows: int) -> list[Any]:
    return [np.argsort(rng.random((rows, 10)), axis=1)[:, : scenarios.POSITIONS].copy() for _ in range(scenarios.POOL)]


def _recorded(bare: Any, recording: str) -> Any:
    """Wrap ``bare`` in the wrappers of a recording, and reset it."""
    env = bare
    for wrapper in scenarios.RECORDINGS[recording]:
        env = wrapper(env)
    env.reset()
    return env


# -- duels ------------------------------------------------------------------------------------------------------------


def _duels(letor: Path | None, opened: contextlib.ExitStack) -> list[Case]:
    """The step of each dueling environment with random pairs, with and without its regret recorded."""
    rng = np.random.default_rng(0)
    letor = letor or opened.enter_context(_synthetic_letor())
    rows, cases = scenarios.DUEL_ROWS, []
    for label, (name, arguments) in scenarios.DUELS.items():
        given: dict[str, Any] = {**arguments, "file": str(letor)} if label == scenarios.RANKERS_DUEL else arguments
        bare = _kept_open(opened, gym.make_vec(name, num_envs=rows, horizon=None, **given))
        bare.reset(seed=0)
        pool = [_random_duel(rng, bare.unwrapped) for _ in range(scenarios.POOL)]
        for recording in ("nothing", "regret"):
            cases.append(Case(("duel", label, recording), rows, time_steps(_recorded(bare, recording), pool)))
    return cases


def _random_duel(rng: np.random.Generator, bare: Any) -> dict[str, Any]:
    if action_kind(bare) is ActionKind.DUEL_OF_ARMS:
        return {side: rng.integers(0, bare.num_arms, scenarios.DUEL_ROWS) for side in ("left", "right")}
    items = rng.permuted(np.tile(np.arange(bare.num_items), (2, scenarios.DUEL_ROWS, 1)), axis=2)[
        :, :, : bare.num_positions
    ]
    return {side: np.ascontiguousarray(lists) for side, lists in zip(("left", "right"), items, strict=True)}


def _duelers(effort: Effort, opened: contextlib.ExitStack) -> list[Case]:
    """Each dueling agent through ``simulate`` on all 136 arms, after it has learned for a while.

    Candidates are not recorded: a short slice would ask for them in every third round, a long run in hardly any.
    """
    from rankgym_agents import DUELERS

    rows, cases = scenarios.DUEL_ROWS, []
    for name, cls in DUELERS.items():
        env = _kept_open(opened, gym.make_vec(scenarios.DUELS[scenarios.MATRIX][0], num_envs=rows, horizon=None))
        agent: Any = cls.for_env(env, horizon=scenarios.HORIZON, seed=0)
        without_candidates = SimpleNamespace(act=agent.act, update=agent.update, num_envs=rows)
        play = time_simulation(without_candidates, env)
        play(effort.learning)
        cases.append(Case(("dueler", name), rows, play))
    return cases


@contextlib.contextmanager
def _synthetic_letor() -> Iterator[Path]:
    """Write a temporary LETOR file, and read it into a temporary data cache."""
    home = os.environ.get("RANKGYM_DATA_HOME")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.txt"
        write_letor(path, *scenarios.LETOR_SHAPE)
        os.environ["RANKGYM_DATA_HOME"] = folder
        try:
            yield path
        finally:
            del os.environ["RANKGYM_DATA_HOME"]
            if home is not None:
                os.environ["RANKGYM_DATA_HOME"] = home


def write_letor(path: Path, queries: int, documents: int, features: int, seed: int = 0) -> None:
    """Write a synthetic LETOR file: one relevant document a query, whose features are larger, with noise."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.5, 3.0, features)
    with path.open("w", encoding="utf-8") as file:
        for query in range(1, queries + 1):
            relevant = rng.integers(documents)
            for document in range(documents):
                values = np.round(rng.normal(size=features) + skill * (document == relevant), 3).tolist()
                words = " ".join(f"{number}:{value}" for number, value in enumerate(values, 1))
                file.write(f"{int(document == relevant)} qid:{query} {words} # {document}\n")


# -- training ---------------------------------------------------------------------------------------------------------


def _adapters(shown: str, opened: contextlib.ExitStack) -> list[Case]:
    """Steps of both adapters to stable-baselines3 with the same random lists."""
    rows, cases = scenarios.TRAINING_ROWS, []
    pool = _random_lists(np.random.default_rng(0), rows)
    for adapter in scenarios.ADAPTERS:
        env = _kept_open(opened, _adapter(adapter, shown, None))
        env.seed(0)
        env.reset()
        cases.append(Case(("adapter", shown, adapter), rows, time_steps(env, pool)))
    return cases


def _adapter(adapter: str, shown: str, horizon: int | None) -> Any:
    """Make rows that cycle through all queries, as an environment of stable-baselines3."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from rankgym.sb3.vec_env import RankingVecEnv
    from rankgym.wrappers.observations import ItemStatistics

    def wrapped(env: Any) -> Any:
        return env if shown == "clicks" else ItemStatistics(env)

    def single(row: int) -> Any:
        return wrapped(gym.make(name, query=row % queries, num_positions=scenarios.POSITIONS, horizon=horizon))

    name, rows = scenarios.STEPS["PBM"], scenarios.TRAINING_ROWS
    native: Any = gym.make_vec(
        name, num_envs=rows, query="all", num_positions=scenarios.POSITIONS, horizon=horizon, autoreset_mode="Disabled"
    )
    queries = len(native.unwrapped.pool)
    if adapter == scenarios.ADAPTERS[0]:
        return RankingVecEnv(wrapped(native))
    return DummyVecEnv([partial(single, row) for row in range(rows)])


def _learners(opened: contextlib.ExitStack) -> list[Case]:
    """``PPO.learn`` over both adapters, with the same policy and settings, in one thread; a step is a rollout."""
    import torch
    from stable_baselines3 import PPO

    from rankgym.sb3.plackett_luce import PlackettLucePolicy

    opened.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)
    rollout = int(scenarios.LEARNING["n_steps"]) * scenarios.TRAINING_ROWS
    settings: dict[str, Any] = {**scenarios.LEARNING, "batch_size": rollout // scenarios.MINIBATCHES}
    cases = []
    for adapter in scenarios.ADAPTERS:
        env = _kept_open(opened, _adapter(adapter, "item statistics", scenarios.EPISODE))
        model = PPO(PlackettLucePolicy, env, seed=0, device="cpu", **settings)
        learn = partial(_learn, model, rollout)
        cases.append(Case(("ppo", adapter), rollout, timed(learn)))
    return cases


def _learn(model: Any, rollout: int, rollouts: int) -> None:
    model.learn(rollouts * rollout, reset_num_timesteps=False)
