"""The one adapter to ``gym.Env``: a batch of one without its leading axis."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from rankgym.envs.sessions import RENDER_MODES, SessionsVectorEnv, SpecWithHorizon, installed
from rankgym.scenes import Scene


class SingleEnv(SpecWithHorizon, gym.Env[NDArray[np.int8], Any]):
    """A single environment: what ``gym.make("rankgym/...")`` returns, without its wrappers.

    Actions, observations, rewards, ``info`` and arguments are those of the vector environment of the same id, without
    the axis of rows: ``help(type(env.unwrapped.engine))``, or ``rankgym envs PBM-Yandex-v0`` on the command line.

        observation, info = env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

    It is a batch of one: it has the same history, bit for bit, as row 0 of a batch with the same seed, and the
    attributes that the engine names in ``common_attributes`` and, without the axis of rows, ``row_attributes``, such as
    ``num_items``.

    Args:
        engine: a vector environment with one row and autoreset disabled.

    Raises:
        ValueError, ResetNeeded: by ``step`` and ``reset``, as the vector environment does.

    Examples:
        The single environment and row 0 of a batch with the same seed have the same history:

        >>> import gymnasium as gym, numpy as np, rankgym
        >>> single = gym.make("rankgym/PBM-Yandex-v0", query=3)
        >>> batch = gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=2, query=3)
        >>> _, _ = single.reset(seed=7), batch.reset(seed=7)
        >>> ranking = np.array([4, 3, 2, 1, 0])
        >>> mine, reward, _, _, info = single.step(ranking)
        >>> theirs, rewards, _, _, infos = batch.step(np.array([ranking, ranking]))
        >>> mine.tolist() == theirs[0].tolist(), bool(info["regret"] == infos["regret"][0])
        (True, True)
        >>> single.unwrapped.num_items, single.unwrapped.initial_list.tolist()
        (10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    metadata: dict[str, Any] = {"render_modes": installed(["human", *RENDER_MODES]), "render_fps": 4}  # noqa: RUF012

    def __init__(self, engine: SessionsVectorEnv) -> None:
        self.engine = engine
        self.action_space = engine.single_action_space
        self.observation_space = engine.single_observation_space
        self.render_mode = engine.render_mode
        self.horizon = engine.horizon
        # What the engine keeps for scenes, of the steps here: it gets them when somebody looks. See ``_tell_engine``.
        self._last: bytes | None = None
        self._regret = 0.0

    def __getattr__(self, name: str) -> Any:
        engine = self.__dict__.get("engine")  # missing while a copy is being made
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
        return self.engine.changes

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        return self.engine.common_breakpoints(rounds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        self.engine.check_open()
        super().reset(seed=seed)
        if seed is None and self.engine.unseeded:
            seed = int(self.np_random.integers(2**63))  # so that an np_random set from outside decides
        observation, info = self.engine.reset(seed=[seed])
        self._last, self._regret = None, 0.0
        return observation[0], {name: first_row(values) for name, values in info.items()}

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        engine = self.engine
        engine.check_open()
        if engine.unseeded or engine._some_ended:
            raise ResetNeeded("reset the environment before its first step, and after its episode is over")
        observation, reward = engine.play(engine._checked_single(action))
        truncated, info = engine.at_horizon(), engine._session_info(observation, first_row, np.ndarray.item)
        if self.render_mode is not None:  # in a tenth of the time that the engine's arrays would take
            self._last = observation.tobytes()
            self._regret += info["regret"]
        engine._prepare_next()
        return observation[0], reward.item(), False, truncated, info

    def _tell_engine(self) -> None:
        """Hand over the last observation and the regret so far to the engine, which shows them."""
        if self._last is not None:
            engine = self.engine
            engine.last_observation[0] = np.frombuffer(self._last, np.int8)
            engine.regret_so_far[0] = self._regret

    def scene(self) -> Scene:
        """Return what there is to see of the last session; see ``SessionsVectorEnv.scene``."""
        self._tell_engine()
        return self.engine.scene(0)

    def close(self) -> None:
        self.engine.close()

    def render(self) -> str | None:
        self._tell_engine()
        frames = self.engine.render()
        return None if frames is None else frames[0]


def first_row(values: NDArray[Any]) -> Any:
    """Return row 0 of ``values``: a Python number if rows have one number each, else a copy."""
    return values.item(0) if values.ndim == 1 else values[0].copy()
