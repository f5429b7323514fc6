"""What a training run plays: its environments, its untrained model, and its evaluations."""

import contextlib
import itertools
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm

from rankgym import wrappers
from rankgym.agent import Agent
from rankgym.outputs import versions
from rankgym.play.simulate import simulate
from rankgym.sb3.agent import SB3Agent
from rankgym.sb3.defaults import ALGORITHMS, DEFAULTS, EVALUATION_SEED, scheduled_keywords
from rankgym.sb3.model_files import describe, library_versions
from rankgym.sb3.plackett_luce import PlackettLucePolicy
from rankgym.sb3.settings import TrainingSettings, train_command
from rankgym.sb3.vec_env import RankingVecEnv
from rankgym_agents import RANKERS

RIVALS: dict[str, tuple[str, dict[str, Any]]] = {  # by what evaluations call them: names and knobs of agents
    "the production list": ("static", {}),
    "Thompson sampling": ("thompson-cascade", {"feedback": "all"}),
    "the adaptive index": ("adaptive-index", {}),
}
LIBRARY_ERRORS = AssertionError, TypeError, RuntimeError, LookupError, AttributeError, ArithmeticError, MemoryError


class EvaluationResult(NamedTuple):
    """Evaluation of the policy in one environment: means over rows, at the evaluation's horizon."""

    steps: int  # of training so far
    environment: str
    regret: float  # cumulative
    regret_se: float  # its standard error
    violations: float  # sessions that violated the safety constraint
    ndcg: float
    seconds: float  # of training and evaluations so far


class TrainingPlan(NamedTuple):
    """The settings of a training run, and the library's keywords derived from them."""

    settings: TrainingSettings
    algorithm: dict[str, Any]  # keywords of the algorithm's class
    policy_kwargs: dict[str, Any]

    def _native(self, name: str, rows: int, query: Any, horizon: Any, **more: Any) -> VectorEnv[Any, Any, Any]:
        keywords = {"query": query, "horizon": horizon, **self.settings.env_kwargs, **more}
        try:
            return gym.make_vec(name, num_envs=rows, **keywords)
        except TypeError as error:
            raise ValueError(f"{name}: {error}; see `rankgym envs {name}`") from None

    def environment(self) -> RankingVecEnv:
        """Make the environments of all rows, in the wrappers."""
        s, made = self.settings, []
        population = list(itertools.product(s.environments, np.atleast_1d(s.horizon).tolist()))
        shares = np.diff(np.linspace(0, s.rows, len(population) + 1).astype(int)).tolist()
        for (name, horizon), rows in zip(population, shares, strict=True):
            env: Any = self._native(name, rows, s.query, horizon, autoreset_mode="Disabled")
            for layer, keywords in s.layers:
                try:
                    env = getattr(wrappers, layer)(env, **keywords)
                except TypeError as error:
                    raise ValueError(f"layers has {layer!r} with {keywords}: {error}") from None
            made.append(env)
        return RankingVecEnv(made, reward=s.reward, truth=bool(s.truth), stagger=s.stagger, seed=s.seed)

    def model(self, env: RankingVecEnv) -> BaseAlgorithm:
        """Make an untrained model, with its card (see ``rankgym.sb3.describe``)."""
        s = self.settings
        policy = PlackettLucePolicy if s.policy == "plackett-luce" else "MlpPolicy"
        keywords = {"policy_kwargs": dict(self.policy_kwargs), **scheduled_keywords(self.algorithm)}
        try:
            model: BaseAlgorithm = ALGORITHMS[s.algo](policy, env, seed=s.seed, device="cpu", **keywords)
        except LIBRARY_ERRORS as error:
            (_, *wrapper), names = DEFAULTS[s.algo, str(s.policy)][0], [name for name, _ in s.layers]
            hint = f"; layers = {names}; allowed: with {wrapper[0]}" if not {*wrapper} <= {*names} else ""
            raise ValueError(f"{s.algo} with the policy {s.policy} cannot be made: {error}{hint}") from error
        training = {"command": train_command(s, None), "steps": 0, "versions": versions() | library_versions()}
        describe(model, env.parts[0].env, envs=s.environments, training=training)
        return model

    def evaluate(self, model: BaseAlgorithm, steps: int, seconds: float) -> list[EvaluationResult]:
        """Play the evaluation's queries in every environment."""
        results = []
        for name in self.settings.environments:
            last = self._played(name, SB3Agent, model=model)
            rows = len(last["regret"])
            error = float(last["regret"].std(ddof=1) / np.sqrt(rows)) if rows > 1 else 0.0
            regret, violations, ndcg = (float(last[key].mean()) for key in ("regret", "violations", "ndcg"))
            results.append(EvaluationResult(steps, name, regret, error, violations, ndcg, round(seconds, 3)))
        return results

    def rivals(self) -> dict[str, float]:
        """Return the regret of agents that are not trained here, with the evaluation's users: mean of environments."""
        regrets = {}
        for label, (agent, knobs) in RIVALS.items():
            played = [self._played(name, RANKERS[agent], **knobs) for name in self.settings.environments]
            regrets[label] = float(np.mean([last["regret"].mean() for last in played]))
        return regrets

    def _played(self, name: str, agent: type[Agent], **knobs: Any) -> dict[str, NDArray[Any]]:
        """Play the evaluation's queries in one environment; return what was measured at the end, by row."""
        s = self.settings
        sessions: Any = s.eval_horizon
        with contextlib.closing(self._native(name, 1, s.eval_query, sessions)) as one:
            rows = len(getattr(one.unwrapped, "pool", [0])) * s.eval_runs
        with contextlib.closing(self._native(name, rows, s.eval_query, sessions)) as env:
            playing = agent.for_env(env, horizon=sessions, seed=EVALUATION_SEED, **knobs)
            return simulate(playing, env, sessions, seed=EVALUATION_SEED, progress=False).at(sessions)

    def try_out(self, model: BaseAlgorithm) -> None:
        """Play one session of each environment's evaluation: errors show before anything is learned."""
        s = self.settings
        for name in s.environments:
            with contextlib.closing(self._native(name, 1, s.eval_query, s.eval_horizon)) as env:
                simulate(SB3Agent.for_env(env, seed=0, model=model), env, 1, seed=0, progress=False)
