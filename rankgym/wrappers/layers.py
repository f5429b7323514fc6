"""The base of observation and action wrappers: layers, and the single and the vector shell that apply one.

A *layer* has arrays with a leading axis of rows and does not know the environment. It sees what an agent may see:
lists, clicks, production lists, the horizon. So the same layer serves a wrapper, single or vector, and an agent
(``rankgym.sb3.SB3Agent``) that has to compute the observations of its model's training.
"""

import inspect
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Space
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy import count_nonzero  # ten times as fast as any() on a small array
from numpy.typing import NDArray

from rankgym.arguments import ActionKind, action_kind, env_attribute, env_horizons, is_duel, unknown_argument
from rankgym.wrappers.forms import AnyEnv, SingleForm


class Setting(NamedTuple):
    """What an agent may know of an environment of rankings.

    ``Setting.of(env)`` reads it from an environment, single or vector, wrapped or not.

    Raises:
        ValueError: by ``Setting.of``, if the environment is not one of rankings.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.wrappers import Setting
        >>> setting = Setting.of(gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=3, num_positions=4, horizon=100))
        >>> setting[:4], setting.initial_list.shape
        ((3, 10, 4, 100), (3, 10))
    """

    num_envs: int
    num_items: int
    num_positions: int
    horizon: int | None  # the shortest one, if those of the rows differ
    initial_list: NDArray[np.int64]  # (num_envs, num_items) the production lists, best first

    @classmethod
    def of(cls, env: Any) -> "Setting":
        """The setting of ``env``, single (a batch of one) or vector; a ValueError if it is not of rankings."""
        bare = env.unwrapped
        duels = is_duel(action_kind(bare)) and all(action_kind(e) is not ActionKind.RANKING for e in _wrappers(env))
        if duels or any(env_attribute(env, name) is None for name in ("initial_list", "num_items", "num_positions")):
            allowed = "a ranking environment, wrapped or not"
            raise ValueError(f"env = {env} is not a ranking environment of rankgym; allowed: {allowed}")
        items, positions = (int(np.max(env_attribute(env, name))) for name in ("num_items", "num_positions"))
        lists = _initial_lists(env)
        return cls(len(lists), items, positions, env_horizons(env)[0], lists)


def _initial_lists(env: Any) -> NDArray[np.int64]:
    """The production lists (num_envs, num_items) of the rows' current episodes, a new array."""
    return np.array(env_attribute(env, "initial_list"), np.int64, ndmin=2)


def _wrappers(env: Any) -> Iterator[Any]:
    """The wrappers around the bare environment, the outermost first."""
    while env is not env.unwrapped:
        yield env
        env = env.env


class Layer:
    """Base class: how one wrapper changes observations and actions. By default it changes nothing.

    A subclass's options are keyword-only arguments of its ``__init__``, plain JSON values. Its ``name`` is by default
    that of the class without "Layer".

    Args:
        setting: what an agent may know.
        observation_space, action_space: of one row, below this layer.

    Attributes:
        observation_space, action_space: of one row, above this layer; a subclass sets what it changes.
        steps: how many actions make one session.

    Examples:
        A layer that hides the clicks, and a wrapper of single and vector environments that applies it:

        >>> import gymnasium as gym, numpy as np, rankgym
        >>> from rankgym.wrappers import Layer
        >>> from rankgym.wrappers.layers import SingleLayered
        >>> class BlindLayer(Layer):
        ...     def observe(self, inner):
        ...         return np.zeros_like(inner)
        >>> class Blind(SingleLayered):
        ...     layer_class = BlindLayer
        >>> env = Blind(gym.make_vec("rankgym/CM-Yandex-v0", num_envs=2, query=0))
        >>> env.reset(seed=0)[0].tolist(), BlindLayer.name
        ([[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]], 'Blind')
    """

    name: ClassVar[str]
    steps: int = 1

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__.removesuffix("Layer")

    def __init__(self, setting: Setting, observation_space: Space[Any], action_space: Space[Any]) -> None:
        self.setting = setting
        self.observation_space, self.action_space = observation_space, action_space

    def check_begin(self, rows: NDArray[np.bool_]) -> None:
        """Raise a ValueError if a new episode cannot start now in ``rows`` (num_envs,) alone."""

    def begin(self, rows: NDArray[np.bool_], initial_list: NDArray[np.int64]) -> None:
        """Start a new episode in ``rows`` (num_envs,), with these production lists (num_envs, num_items)."""

    def learn(self, displayed: NDArray[np.int64], clicks: NDArray[np.int8], rows: NDArray[np.bool_]) -> None:
        """Learn from a session: lists and clicks (num_envs, num_positions), only ``rows`` (num_envs,) count."""

    def observe(self, inner: NDArray[Any]) -> NDArray[Any]:
        """Return the observation (num_envs, ...) for ``inner``, that of the environment below. Changes no state.

        It is a new array, or ``inner`` itself, which the shells copy.
        """
        return inner

    def action(self, actions: Any) -> Any:
        """Translate ``actions`` of all rows to those of the environment below; None if a session needs more actions.

        Raises:
            ValueError: an action is not in the action space; the message names the row and what is allowed. The state
                does not change.
        """
        return actions

    def action_masks(self) -> NDArray[np.bool_] | None:
        """Return the allowed actions (num_envs, actions) bool, if the action space is Discrete; None: all."""
        return None


def _keywords(layer: type[Layer], given: dict[str, Any]) -> dict[str, Any]:
    """Return all keywords of ``layer``, ``given`` ones and defaults, as plain JSON values; check their names."""
    known = inspect.signature(layer).parameters.values()
    defaults = {parameter.name: parameter.default for parameter in known if parameter.kind is parameter.KEYWORD_ONLY}
    for name in given:
        if name not in defaults:
            raise TypeError(unknown_argument(layer.name, name, defaults))
    return {name: _plain(value) for name, value in (defaults | given).items()}


def _plain(value: Any) -> Any:
    """Return a copy of ``value`` with lists for tuples and arrays, and Python's numbers for NumPy's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return deepcopy(value)


class VectorLayered(VectorWrapper[Any, Any, Any, Any, Any]):
    """The shell over a vector environment, in any autoreset mode; not in NEXT_STEP if ``steps`` > 1.

    ``info`` is the environment's own, but ``final_obs`` is this layer's observation, and a layer that masks actions
    adds ``action_mask`` (num_envs, actions) int8, 1 for the actions that may come next.
    """

    layer_class: ClassVar[type[Layer]]

    def __init__(self, env: VectorEnv[Any, Any, Any], **keywords: Any) -> None:
        keywords = _keywords(self.layer_class, keywords)
        super().__init__(env)
        self.form = (self.layer_class.name, keywords)  # with which the layer can be made again
        self.layer = self.layer_class(
            Setting.of(env), env.single_observation_space, env.single_action_space, **deepcopy(keywords)
        )
        self._mode = env.metadata.get("autoreset_mode")
        if self.layer.steps > 1 and self._mode is AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"env resets itself in the next step, which {self.layer_class.name} cannot spread over "
                f'{self.layer.steps} actions; allowed: gym.make_vec(..., autoreset_mode="SameStep") or "Disabled"'
            )
        self.single_observation_space = self.layer.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = self.layer.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._acts = _acts(self.layer)
        self._inner: Any = None  # the environment's observation; None before the first reset
        self._ended = np.zeros(self.num_envs, bool)  # rows whose episode is over and not yet reset

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")  # now: Gymnasium's batch of singles removes it from the options
        if isinstance(mask, np.ndarray) and mask.dtype == np.bool_:  # env refuses any other
            self.layer.check_begin(mask)
        self._inner, info = self.env.reset(seed=seed, options=options)
        self._begin(np.ones(self.num_envs, bool) if mask is None else np.array(mask))
        return self._shown(), self._masked(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self._inner is None:  # the layer must not take actions that the environment would refuse
            raise ResetNeeded("reset the environment before its first step")
        if self._mode is AutoresetMode.DISABLED and count_nonzero(self._ended):
            rows = np.flatnonzero(self._ended).tolist()
            raise ResetNeeded(f"the episodes of rows {rows} are over; reset them with options={{'reset_mask': mask}}")
        if self._acts:
            actions = self.layer.action(actions)
            if actions is None:
                return self._shown(), np.zeros(self.num_envs), *np.zeros((2, self.num_envs), bool), self._masked({})
        self._inner, reward, terminated, truncated, info = self.env.step(actions)
        if "final_info" in info:
            self._learn_and_reset(info)
            return self._shown(), reward, terminated, truncated, self._masked(info)
        if "displayed" in info:
            self.layer.learn(info["displayed"], info["clicks"], self._played(info))
        if count_nonzero(self._ended):  # this step was the autoreset
            self._begin(self._ended.copy())
        np.logical_or(terminated, truncated, out=self._ended)
        return self._shown(), reward, terminated, truncated, self._masked(info)

    def action_masks(self) -> NDArray[np.bool_] | None:
        """Return the allowed actions, (num_envs, actions) bool; None: all."""
        return _masks(self)

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return ``info`` with the coming action's mask, if this layer has one."""
        masks = self.layer.action_masks()
        if masks is not None:
            info["action_mask"] = masks.astype(np.int8)
        return info

    def _shown(self) -> Any:
        shown = self.layer.observe(self._inner)
        return deepcopy(shown) if shown is self._inner else shown  # the caller may modify the observation

    def _begin(self, rows: NDArray[np.bool_]) -> None:
        self._ended[rows] = False
        self.layer.begin(rows, _initial_lists(self.env))

    def _played(self, info: dict[str, Any]) -> NDArray[np.bool_]:
        """The rows (num_envs,) bool that have a session in ``info``."""
        mask: NDArray[np.bool_] | None = info.get("_displayed")
        return np.full(self.num_envs, "displayed" in info) if mask is None else mask

    def _learn_and_reset(self, info: dict[str, Any]) -> None:
        """Handle a step that ended episodes and reset their rows."""
        ended, final = info["_final_info"], info["final_info"]
        played = np.where(ended, self._played(final), self._played(info))
        if played.any():
            displayed, clicks = (
                np.where(ended[:, None], final.get(name, info.get(name)), info.get(name, final.get(name)))
                for name in ("displayed", "clicks")
            )
            self.layer.learn(displayed, clicks, played)
        below = np.array(self._inner)
        below[ended] = np.stack(list(info["final_obs"][ended]))
        shown = self.layer.observe(below)
        info["final_obs"] = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            info["final_obs"][row] = shown[row].copy()
        self._begin(ended)


class SingleLayered(SingleForm):
    """The shell over a single environment. A subclass names its ``layer_class``.

    Args:
        env: a ranking environment, single or vector, wrapped or not.
        keywords: the layer's.
    """

    layer_class: ClassVar[type[Layer]]
    vector = VectorLayered

    def __init__(self, env: AnyEnv, **keywords: Any) -> None:
        keywords = _keywords(self.layer_class, keywords)
        RecordConstructorArgs.__init__(self, **keywords)
        gym.Wrapper.__init__(self, cast("gym.Env[Any, Any]", env))  # __new__ has sent away vector environments
        self.form = (self.layer_class.name, keywords)  # with which the layer can be made again
        self.layer = self.layer_class(Setting.of(env), env.observation_space, env.action_space, **deepcopy(keywords))
        self.observation_space, self.action_space = self.layer.observation_space, self.layer.action_space
        self._acts = _acts(self.layer)
        self._inner: Any = None  # the observation below, with an axis of rows; None where a reset is needed

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._inner = np.asarray(observation)[None]
        self.layer.begin(np.ones(1, bool), _initial_lists(self.env))
        return self._shown(), self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._inner is None:  # the layer must not take an action that the environment would refuse
            raise ResetNeeded("reset the environment before its first step, and after its episode is over")
        if self._acts:
            below = self.layer.action(np.asarray(action)[None])
            if below is None:
                return self._shown(), 0.0, False, False, self._masked({})
            action = below[0]
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._inner = np.asarray(observation)[None]
        if "displayed" in info:
            self.layer.learn(np.asarray(info["displayed"])[None], np.asarray(info["clicks"])[None], np.ones(1, bool))
        shown = self._shown()
        if terminated or truncated:
            self._inner = None
        return shown, reward, terminated, truncated, self._masked(info)

    def action_masks(self) -> NDArray[np.bool_] | None:
        """Return the allowed actions, (actions,) bool; None: all."""
        masks = _masks(self)
        return None if masks is None else masks[0]

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]
        """What makes the environment again. ``max_episode_steps`` counts this wrapper's steps."""
        if self._cached_spec is None and self.layer.steps > 1 and (spec := super().spec) is not None:
            sessions = env_horizons(self.env)[0]
            if sessions is not None:
                spec.max_episode_steps = sessions * self.layer.steps
                if sessions != self.env.unwrapped.horizon:  # type: ignore[attr-defined]
                    spec.kwargs["horizon"] = sessions  # gym.make's TimeLimit will count sessions, too late
        return super().spec

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return ``info`` with the coming action's mask, if this layer has one."""
        masks = self.layer.action_masks()
        if masks is not None:
            info["action_mask"] = masks[0].astype(np.int8)
        return info

    def _shown(self) -> Any:
        shown = self.layer.observe(self._inner)
        return shown[0].copy() if shown is self._inner else shown[0]


def _acts(layer: Layer) -> bool:
    """Whether the layer changes actions."""
    return type(layer).action is not Layer.action


def _masks(env: Any) -> NDArray[np.bool_] | None:
    """The masks (num_envs, actions) of the outermost layer that changes actions."""
    for shell in _shells(env):
        masks = shell.layer.action_masks()
        if masks is not None or _acts(shell.layer):
            return masks
    return None


def _shells(env: Any) -> Iterator[VectorLayered | SingleLayered]:
    """The layered wrappers around ``env``, the outermost first."""
    return (wrapper for wrapper in _wrappers(env) if isinstance(wrapper, (VectorLayered, SingleLayered)))


def layers_of(env: Any) -> list[tuple[str, dict[str, Any]]]:
    """The names and keywords of the layers around ``env``, single or vector, the innermost first.

    The keywords are plain JSON values and a copy. ``rankgym.wrappers.LAYERS`` has the classes of these names, so that
    the same chain can be made again. In a batch of singles (Gymnasium's ``SyncVectorEnv``) the layers of the first
    single come first.

    Args:
        env: an environment, single or vector, wrapped or not.

    Examples:
        >>> import gymnasium as gym, rankgym
        >>> from rankgym.wrappers import ItemStatistics, ScoresToRanking, layers_of
        >>> env = gym.make("rankgym/PBM-Yandex-v0", query=0, horizon=100)
        >>> layers_of(ScoresToRanking(ItemStatistics(env, discounts=[1.0, 0.999])))
        [('ItemStatistics', {'discounts': [1.0, 0.999]}), ('ScoresToRanking', {})]
    """
    singles = getattr(env.unwrapped, "envs", None)
    within = layers_of(singles[0]) if singles else []
    return within + [deepcopy(shell.form) for shell in _shells(env)][::-1]
