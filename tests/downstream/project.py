"""A project that uses rankgym, for strict type checkers: ``check.py`` gives it to mypy and pyright.

Each line that ends in ``# error`` must be found by both; every other line must be clean.
"""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

import rankgym
from rankgym import Agent, History, Permutation, RecordRegret
from rankgym.experiments import compare
from rankgym.wrappers import ItemStatistics
from rankgym_agents import AGENTS, TopRank


class MostClicked(Agent):
    """Display the items with the most clicks."""

    def __init__(
        self,
        *,
        num_items: int,
        num_positions: int,
        num_envs: int = 1,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            num_items=num_items, num_positions=num_positions, num_envs=num_envs, horizon=horizon, seed=seed
        )
        self.counts = np.zeros((num_envs, num_items), np.int64)

    def act(self, observation: Any = None) -> npt.NDArray[np.int64]:
        return np.argsort(-self.counts, axis=1, kind="stable")[:, : self.num_positions]

    def update(self, displayed: npt.NDArray[np.int64], clicks: npt.NDArray[np.int8]) -> None:
        np.add.at(self.counts, (np.arange(self.num_envs)[:, None], displayed), clicks)


def play(query: int) -> History:
    env = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=4, query=query, horizon=100)
    agent = MostClicked.for_env(env, seed=0)
    history = rankgym.simulate(agent, env, rounds=100, seed=0, progress=False)
    rankgym.simulate(agent, env, rounds="many")  # error
    return history


def last_regret(history: History) -> float:
    return float(history.regret[-1].mean())


def wrapped() -> Any:
    single = RecordRegret(gym.make("rankgym/PBM-Yandex-v0", query=0))
    single.reset(seed=0)
    batch = ItemStatistics(gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2))
    return single.action_space, batch.observation_space


def space() -> Permutation:
    Permutation("ten", 5)  # error
    return Permutation(10, 5)


def shipped() -> list[str]:
    TopRank(num_items=10, num_positions=5, delta="low")  # error
    print(rankgym.no_such_name)  # error
    return [name for name in AGENTS if name.startswith("cascade")]


def table(folder: Path) -> Any:
    return compare("rankgym/PBM-Yandex-v0", agents=["toprank", "bubblerank"], rounds=100, out=folder)
