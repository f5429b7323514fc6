"""Native vector environments as one ``VecEnv`` of stable-baselines3, without a Python loop over rows."""

import copy
import functools
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, VectorActionWrapper, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from rankgym.arguments import ActionKind, action_kind, env_horizons, name_keywords, one_of, whole_number
from rankgym.envs.resets import draw_numbers
from rankgym.envs.sessions import SessionsVectorEnv
from rankgym.kernels import row_keys
from rankgym.spaces import shown
from rankgym.wrappers.layers import VectorLayered
from rankgym.wrappers.meters import SafetyMeter
from rankgym.wrappers.recorder import Recording

REWARDS = ("clicks", "expected", "regret")
AGES = 4  # purpose of the random keys of first episodes' lengths, besides the purposes in rankgym.kernels
MAX_AGE = 2**32 - 1  # the largest number that can be drawn
NEVER = np.iinfo(np.int64).max


@name_keywords
class RankingVecEnv(VecEnv):
    """One or several native vector environments of rankings, wrapped in layers or not, for stable-baselines3.

    A row's history is that of ``DummyVecEnv`` over single environments with the same seeds, bit for bit, but rows are
    played together. ``infos`` are empty dicts except for rows whose episode has just ended. These have
    ``terminal_observation``, ``TimeLimit.truncated`` and ``episode``: like ``Monitor``'s, with ``r`` (sum of the
    rewards paid to the algorithm), ``l`` (steps) and ``t`` (seconds since this object was made), and with ``regret``
    (sum of the sessions' expected regret) and ``violations`` (sessions that violated |V(R_t)| <= |V(R_0)| + K / 2, see
    ``rankgym.wrappers.RecordSafety``).

    This object resets rows at the end of their episodes, so the environments must not reset themselves.

    Args:
        envs: ``gym.make_vec("rankgym/...", autoreset_mode="Disabled")``, wrapped or not; or a list of them, whose rows
            follow each other: a population, such as one for each click model; of equal spaces, horizons may differ.
        reward: ``"clicks"``: the environment's reward; ``"expected"``: the expected reward of the list; ``"regret"``:
            minus the list's expected regret. The last two see the truth: less noisy, and for training only.
        truth: observations are dicts of ``observation`` and ``truth`` (num_items,) float32, the attraction
            probabilities of the row's coming session: for a critic, in training only.
        stagger: the first episode of each row after ``reset`` ends after a random number of sessions, 1 .. horizon, so
            that rows have all ages at any time. It ends by truncation.
        seed: as by ``seed(seed)``: row b gets ``seed + b``.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and the allowed ones.

    Examples:
        >>> import gymnasium as gym, numpy as np
        >>> from rankgym.sb3 import RankingVecEnv
        >>> from rankgym.wrappers import ItemStatistics
        >>> where = {"num_envs": 2, "query": [0, 1], "horizon": 8, "autoreset_mode": "Disabled"}
        >>> env = ItemStatistics(gym.make_vec("rankgym/CM-Yandex-v0", **where))
        >>> rows = RankingVecEnv(env, reward="regret", seed=0)
        >>> rows.reset().shape  # rows, items, features
        (2, 10, 17)
        >>> observations, rewards, dones, infos = rows.step(np.array([[0, 1, 2, 3, 4]] * 2))
        >>> rewards.shape, bool((rewards <= 0).all()), dones.tolist(), infos
        ((2,), True, [False, False], [{}, {}])
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any] | Sequence[VectorEnv[Any, Any, Any]],
        *,
        reward: str = "clicks",
        truth: bool = False,
        stagger: bool = False,
        seed: int | None = None,
    ) -> None:
        one_of("reward", reward, REWARDS)
        listed = _checked_envs([envs] if isinstance(envs, (VectorEnv, gym.Env)) else envs)
        starts = np.cumsum([0, *(env.num_envs for env in listed)]).tolist()
        self.parts = [NativeRows(env, start, reward, truth) for env, start in zip(listed, starts[:-1], strict=True)]
        self._stagger = stagger
        if stagger:
            for number, part in enumerate(self.parts):
                if part.horizon is None:
                    raise ValueError(f"stagger = True, but envs[{number}] has no horizon; allowed: False, or a horizon")
        self._actions: Any = None
        self._age_key: NDArray[np.uint64] | None = None  # (num_envs,)
        self._resets = 0  # since ages were seeded
        seen: gym.Space[Any] = listed[0].single_observation_space
        if truth:
            items = listed[0].unwrapped.num_items  # type: ignore[attr-defined]
            seen = Dict({"observation": seen, "truth": Box(0.0, 1.0, (items,), np.float32)})
        super().__init__(starts[-1], seen, listed[0].single_action_space)
        if seed is not None:
            self.seed(seed)

    # -- reset and step ----------------------------------------------------------------------------------------------

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed row b with ``seed + b`` at the next reset (None: from NumPy's global generator); return the seeds."""
        return super().seed(None if seed is None else whole_number("seed", seed, 0))

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Refuse options: ranking environments do not have any.

        Raises:
            ValueError: an option is given.
        """
        if options and (isinstance(options, dict) or any(options)):
            raise ValueError(f"options = {options!r} are unknown; allowed: None, ranking environments have no options")

    def reset(self) -> Any:
        """Start an episode in every row; the first reset after ``seed`` uses its seeds."""
        seeds = self._seeds
        observed = [part.reset(seeds[part.rows]) for part in self.parts]
        if self._stagger:
            self._draw_ages(seeds)
        self._reset_seeds()
        return _joined(observed)

    def _draw_ages(self, seeds: list[int | None]) -> None:
        """Draw the number of sessions of the rows' first episodes, from the rows' own seeds."""
        if self._age_key is None or seeds[0] is not None:
            known = [secrets.randbits(128) if seed is None else seed for seed in seeds]
            self._age_key, self._resets = row_keys(known, AGES), 0
        for part in self.parts:
            drawn = np.empty(part.env.num_envs, np.int64)
            number = np.full(part.env.num_envs, self._resets)
            draw_numbers(self._age_key[part.rows], number, min(part.horizon, MAX_AGE), drawn)  # type: ignore[type-var]
            part.end_after(drawn + 1)
        self._resets += 1

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        """Play one step in every row.

        Returns:
            Observations, rewards (num_envs,) float32, dones (num_envs,) and infos, a list of dicts. Rows that are done
            have the first observation of their next episode.

        Raises:
            ValueError: a row's action is wrong: the environment's own error, with a note that names the environment if
                there are several. Nothing was played.
        """
        actions = self._actions
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if len(self.parts) == 1:
            return (*self.parts[0].step(actions, infos), infos)
        self._check(actions)
        observed, rewards, dones = zip(*(part.step(actions[part.rows], infos) for part in self.parts), strict=True)
        return _joined(observed), np.concatenate(rewards), np.concatenate(dones), infos

    def _check(self, actions: Any) -> None:
        """Check the actions of all environments before the first one plays."""
        if len(actions) != self.num_envs:
            raise ValueError(f"actions has {len(actions)} rows; allowed: one for each of the {self.num_envs} rows")
        for number, part in enumerate(self.parts):
            try:
                part.check(actions[part.rows])
            except ValueError as error:
                rows = f"{part.numbers[0]} .. {part.numbers[-1]}"
                error.add_note(f"This is an action of envs[{number}], which has the rows {rows}.")
                raise

    def close(self) -> None:
        """Close the environments."""
        for part in self.parts:
            part.env.close()

    # -- what stable-baselines3 asks of rows ---------------------------------------------------------------------------

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the attribute of each row, of all or of ``indices``, as its single environment would have it.

        Raises:
            AttributeError: a row has no such attribute. Rows have ``action_masks`` if a layer restricts actions.
        """
        return self._of_rows((part.values(attr_name) for part in self.parts), indices)

    def _of_rows(self, values: Iterable[Iterable[Any]], indices: Any) -> list[Any]:
        """Return the values of the rows ``indices``, from those of all rows of each environment."""
        listed = [value for part in values for value in part]
        return [listed[row] for row in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of whole environments.

        Raises:
            ValueError: ``indices`` has some, but not all rows of an environment.
        """
        rows = set(self._get_indices(indices))
        chosen = [part for part in self.parts if not rows.isdisjoint(part.numbers)]
        for part in chosen:
            if not rows.issuperset(part.numbers):
                raise ValueError(
                    f"indices = {indices!r} has some of the rows {part.numbers[0]} .. {part.numbers[-1]}, which are "
                    f"one environment; allowed: None, or all of its rows"
                )
        for part in chosen:
            setattr(part.env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Return each row's result of a method: ``action_masks`` (one mask for each row) or ``render``.

        Raises:
            AttributeError: it is another method, or no layer restricts actions.
        """
        if method_name not in ("action_masks", "render"):
            raise AttributeError(
                f"method_name = {method_name!r} is not a method of rows; allowed: action_masks, render"
            )
        results = (getattr(part, method_name)(*method_args, **method_kwargs) for part in self.parts)
        return self._of_rows(results, indices)

    def get_images(self) -> Sequence[Any]:
        """Return each row's picture (``render_mode="rgb_array"``), for ``render`` and ``VecVideoRecorder``."""
        return self.env_method("render")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return whether rows are in that wrapper, given by its single or its vector form.

        True for ``Monitor``: like it, this object reports the end of episodes.
        """
        return self._of_rows(([part.is_in(wrapper_class)] * part.env.num_envs for part in self.parts), indices)


class NativeRows:
    """The rows of one native environment: sums over their episodes, and resets at the episodes' ends."""

    def __init__(self, env: VectorEnv[Any, Any, Any], first: int, reward: str, truth: bool) -> None:
        self.env, self.rows = env, slice(first, first + env.num_envs)
        self.numbers = range(first, first + env.num_envs)
        self.bare: Any = env.unwrapped
        self.horizon = env_horizons(env)[0]
        self._reward, self._truth = reward, truth
        self._safety = Recording(env, env.num_envs, (SafetyMeter,))
        self._started = time.time()
        kinds = {"r": np.float64, "l": np.int64, "regret": np.float64, "violations": np.int64}
        self._sums = {name: np.zeros(env.num_envs, kind) for name, kind in kinds.items()}  # of episodes so far
        self._last_round = np.full(env.num_envs, NEVER)  # of shortened first episodes

    # -- reset and step ----------------------------------------------------------------------------------------------

    def reset(self, seeds: Sequence[int | None]) -> Any:
        observation, _ = self.env.reset(seed=None if seeds[0] is None else list(seeds))  # type: ignore[arg-type]
        self._begin(np.ones(self.env.num_envs, bool))
        self._last_round[:] = NEVER
        return self._observed(observation)

    def _begin(self, rows: NDArray[np.bool_]) -> None:
        for total in self._sums.values():
            total[rows] = 0
        self._safety.begin(rows)

    def end_after(self, sessions: NDArray[np.int64]) -> None:
        """End the rows' current episodes after ``sessions`` (num_envs,)."""
        self._last_round = sessions - 1

    def _observed(self, observation: NDArray[Any]) -> Any:
        if not self._truth:
            return observation
        return {"observation": observation, "truth": self.bare.attraction.astype(np.float32)}

    def step(self, actions: Any, infos: list[dict[str, Any]]) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_]]:
        """Return observations, rewards and dones; reset rows that are done, and report them in ``infos``."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        self._sums["l"] += 1
        ended = terminated | truncated
        if "displayed" in info:  # a session was played; some layers need several steps for one
            if self._reward != "clicks":
                reward = info["expected_reward"] if self._reward == "expected" else -info["regret"]
            self._sums["r"] += reward
            self._sums["regret"] += info["regret"]
            self._sums["violations"] += self._safety.amounts(info, reward)[0]
            ended |= info["round"] == self._last_round
            if "epoch" in info:
                self._safety.follow_changes()
        paid = reward.astype(np.float32)
        if ended.any():
            return self._end(observation, ended, terminated, infos), paid, ended
        return self._observed(observation), paid, ended

    def _end(self, seen: Any, ended: NDArray[np.bool_], terminated: NDArray[np.bool_], infos: list[Any]) -> Any:
        """Report the rows of ``ended`` in ``infos``, start their next episodes, and return the new observations."""
        last = self._observed(seen)
        seconds = round(time.time() - self._started, 6)
        for row in np.flatnonzero(ended).tolist():
            episode = {name: total[row].item() for name, total in self._sums.items()} | {"t": seconds}
            info = {"terminal_observation": _row(last, row), "TimeLimit.truncated": not terminated[row]}
            infos[self.rows.start + row].update(info, episode=episode)
        observation, _ = self.env.reset(options={"reset_mask": ended.copy()})
        self._begin(ended)
        self._last_round[ended] = NEVER
        return self._observed(observation)

    def check(self, actions: Any) -> None:
        """Raise the error that ``step`` would raise, and change nothing."""
        for env in self._chain():
            if isinstance(env, VectorLayered):
                layer = copy.deepcopy(env.layer) if env.layer.steps > 1 else env.layer  # such layers remember actions
                actions = layer.action(actions)
                if actions is None:
                    return
            elif isinstance(env, VectorActionWrapper):
                actions = env.actions(actions)
        self.bare.action_space.checked(actions)

    # -- what stable-baselines3 asks of rows ---------------------------------------------------------------------------

    def _chain(self) -> Iterator[Any]:
        """Yield the wrappers, the outermost first, and the bare environment."""
        env: Any = self.env
        while env is not env.unwrapped:
            yield env
            env = env.env
        yield env

    def action_masks(self) -> list[NDArray[np.bool_]]:
        """Return the actions allowed now, (actions,) of each row."""
        masks = next((env.action_masks() for env in self._chain() if isinstance(env, VectorLayered)), None)
        if masks is None:
            raise AttributeError(
                "method_name = 'action_masks' is unknown: no layer of the environment masks actions; allowed: render"
            )
        return list(masks)

    def _mask(self, row: int) -> NDArray[np.bool_]:
        return self.action_masks()[row]

    def render(self) -> Sequence[Any]:
        frames = self.env.render()
        return [None] * self.env.num_envs if frames is None else frames

    def values(self, name: str) -> list[Any]:
        """Return the attribute for each row."""
        rows = range(self.env.num_envs)
        if name == "action_masks":
            self.action_masks()
            return [functools.partial(self._mask, row) for row in rows]
        if name in self.bare.row_attributes:
            values = getattr(self.bare, name)
            if isinstance(values, np.ndarray):
                return list(values)
            return [type(values)(*(each[row] for each in values)) for row in rows]
        name = {"action_space": "single_action_space", "observation_space": "single_observation_space"}.get(name, name)
        for env in self._chain():
            if hasattr(env, name):
                return [getattr(env, name)] * len(rows)
        raise AttributeError(f"attr_name = {name!r} is not an attribute of {self.env}")

    def is_in(self, wrapper_class: type[Any]) -> bool:
        forms = (wrapper_class, getattr(wrapper_class, "vector", wrapper_class))
        return issubclass(wrapper_class, Monitor) or any(isinstance(env, forms) for env in self._chain())


def _row(observations: Any, row: int) -> Any:
    if isinstance(observations, dict):
        return {name: values[row].copy() for name, values in observations.items()}
    return observations[row].copy()


def _joined(observed: Sequence[Any]) -> Any:
    """Return the environments' observations as those of all rows."""
    if len(observed) == 1:
        return observed[0]
    if isinstance(observed[0], dict):
        return {name: np.concatenate([part[name] for part in observed]) for name in observed[0]}
    return np.concatenate(observed)


def _checked_envs(envs: Any) -> list[VectorEnv[Any, Any, Any]]:
    if not isinstance(envs, (list, tuple)) or not envs:
        raise ValueError(f"envs = {envs!r} is not an environment; allowed: a vector environment of rankings, or a list")
    how = 'gym.make_vec("rankgym/...", autoreset_mode="Disabled"), wrapped or not'
    for number, env in enumerate(envs):
        name = f"envs[{number}]"
        bare: Any = getattr(env, "unwrapped", None)
        native = isinstance(env, VectorEnv) and isinstance(bare, SessionsVectorEnv)
        if not native or action_kind(bare) is not ActionKind.RANKING:
            raise ValueError(f"{name} = {env} is not a native vector environment of rankings; allowed: {how}")
        if bare.autoreset_mode is not AutoresetMode.DISABLED:
            mode = f"autoreset_mode = {bare.autoreset_mode.value!r}"
            raise ValueError(f"{name} resets itself ({mode}), but RankingVecEnv does that; allowed: {how}")
        if any(bare is other.unwrapped for other in envs[:number]):
            raise ValueError(f"{name} is in envs twice; allowed: different environments")
        for kind in ("num_items", "num_positions"):
            mine, first = (int(np.max(getattr(each.unwrapped, kind))) for each in (env, envs[0]))
            if mine != first:
                raise ValueError(f"{name} has {kind} = {mine}; allowed: that of envs[0], {first}")
        for kind in ("single_observation_space", "single_action_space"):
            mine, first = getattr(env, kind), getattr(envs[0], kind)
            if mine != first:
                raise ValueError(f"{name} has {kind} {shown(mine)}; allowed: that of envs[0], {shown(first)}")
    return list(envs)
