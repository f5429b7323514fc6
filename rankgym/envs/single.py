"""The one adapter to ``gym.Env``: a batch of one without its leading axis."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from rankgym.envs.ranking import RankingVectorEnv
from rankgym.spaces import Permutation

__all__ = ["SingleEnv"]


class SingleEnv(gym.Env[NDArray[np.int8], NDArray[np.int64]]):
    """A native vector environment of one row as a ``gym.Env``; see ``RankingVectorEnv`` for what it does.

    Row 0 of the batch and this environment with the same seed have the same history, bit for bit.

    Args:
        engine: a vector environment with one row and autoreset disabled.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    action_space: Permutation

    def __init__(self, engine: RankingVectorEnv) -> None:
        self.engine = engine
        self.action_space = engine.single_action_space
        self.observation_space = engine.single_observation_space
        self.render_mode = engine.render_mode
        self.horizon, self.cutoff = engine.horizon, engine.cutoff
        self.num_items, self.num_positions = engine.num_items, engine.num_positions

    @property
    def initial_list(self) -> NDArray[np.int64]:
        """The production ranker's list of the current query, (num_items,)."""
        return self.engine.initial_list[0]

    @property
    def initial_misordered(self) -> int:
        """|V(R_0)| in the coming session."""
        return int(self.engine.initial_misordered[0])

    @property
    def changes(self) -> int:
        """How many times the truth of the coming session has changed other than by a reset."""
        return self.engine.changes

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """The rounds below ``rounds`` at which every row begins a new epoch; None where rows differ, or may differ."""
        return self.engine.common_breakpoints(rounds)

    @property
    def parameters(self) -> Any:
        """The click model's parameters in the coming session, a NamedTuple: the truth, not for agents."""
        parameters = self.engine.parameters
        return type(parameters)(*(values[0] for values in parameters))

    @property
    def attraction(self) -> NDArray[np.float64]:
        """Attraction probabilities in the coming session, (num_items,): the truth, not for agents."""
        return self.engine.attraction[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and self.engine.unseeded:
            seed = int(self.np_random.integers(2**63))  # so that np_random, wherever it comes from, decides
        observation, info = self.engine.reset(seed=[seed])
        return observation[0], {name: values[0].item() for name, values in info.items()}

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        engine = self.engine
        if engine.unready:
            raise ResetNeeded("reset the environment before its first step, and after its episode is over")
        clicks, reward = engine.play(self.action_space.checked(action)[None])
        if self.render_mode is not None:
            engine.last_observation[0] = clicks[0]
        return clicks[0], reward.item(), False, engine.at_horizon(), engine.first_row_info(clicks)

    def render(self) -> str | None:
        frames = self.engine.render()
        return None if frames is None else frames[0]
