"""The one adapter to ``gym.Env``: a batch of one without its leading axis."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from rankgym.envs.sessions import SessionsVectorEnv

__all__ = ["SingleEnv"]


class SingleEnv(gym.Env[NDArray[np.int8], Any]):
    """A native vector environment of one row as a ``gym.Env``; the vector environment's class says what it does.

    Row 0 of the batch and this environment with the same seed have the same history, bit for bit.

    It has the attributes that the engine names in ``row_attributes`` and ``common_attributes``, such as ``num_items``
    and the truth, the former without the axis of rows.

    Args:
        engine: a vector environment with one row and autoreset disabled.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, engine: SessionsVectorEnv) -> None:
        self.engine = engine
        self.action_space = engine.single_action_space
        self.observation_space = engine.single_observation_space
        self.render_mode = engine.render_mode
        self.horizon = engine.horizon

    def __getattr__(self, name: str) -> Any:
        engine = self.__dict__.get("engine")  # none while a copy is being made
        if engine is not None and name in engine.common_attributes:
            return getattr(engine, name)
        if engine is not None and name in engine.row_attributes:
            values = getattr(engine, name)
            return first_row(values) if isinstance(values, np.ndarray) else type(values)(*(v[0] for v in values))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.engine.common_attributes, *self.engine.row_attributes]

    @property
    def changes(self) -> int:
        """How many times the truth of the coming session has changed other than by a reset."""
        return self.engine.changes

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """The rounds below ``rounds`` at which every row begins a new epoch; None where rows differ, or may differ."""
        return self.engine.common_breakpoints(rounds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is None and self.engine.unseeded:
            seed = int(self.np_random.integers(2**63))  # so that np_random, wherever it comes from, decides
        observation, info = self.engine.reset(seed=[seed])
        return observation[0], {name: first_row(values) for name, values in info.items()}

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        engine = self.engine
        if engine._key is None or engine._some_ended:
            raise ResetNeeded("reset the environment before its first step, and after its episode is over")
        observation, reward = engine.play(engine._checked_single(action))
        if self.render_mode is not None:
            engine.last_observation[0] = observation[0]
        return observation[0], reward.item(), False, engine.at_horizon(), engine.first_row_info(observation)

    def render(self) -> str | None:
        frames = self.engine.render()
        return None if frames is None else frames[0]


def first_row(values: NDArray[Any]) -> Any:
    """Row 0 of ``values``: a Python number where rows have one number each."""
    return values.item(0) if values.ndim == 1 else values[0]
