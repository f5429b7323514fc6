"""The base class of the vector environments: seeds, episodes, queries, snapshots. A subclass says what a session is."""

import copy
import importlib.util
import inspect
import secrets
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.spaces import MultiBinary, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.utils import create_zero_array
from numpy.typing import NDArray

from rankgym.arguments import (
    ROW_BYTES,
    check_memory,
    count_of,
    name_keywords,
    named_keywords,
    near,
    restored,
    row_seeds,
    whole_number,
)
from rankgym.envs import resets
from rankgym.extras import require
from rankgym.kernels import ENVIRONMENT, QUERY, kernel, row_keys
from rankgym.pictures import draw
from rankgym.scenes import Scene

DEFAULT_HORIZON = 1_000_000
MAX_ROWS = 1 << 31
MAX_REPEATS = 1 << 60  # of a session, where the episode has no end
COPY = np.ndarray.copy

Copy = Callable[[NDArray[Any]], Any]
Step = tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class Compiled(NamedTuple):
    """Sessions for a compiled loop over rounds: kernels and arrays, no copies, of an environment."""

    loop: str  # its name in ``rankgym.play.loops``
    kernels: tuple[Callable[..., Any], ...]
    rows: Any  # a NamedTuple of arrays with a leading axis of rows
    parameters: tuple[NDArray[np.float64], ...]  # of the click model; with a leading axis of rows
    shared: tuple[Any, ...]  # without


RENDER_MODES = ("ansi", "rgb_array")  # of the engine: Gymnasium's wrappers make "human" of "rgb_array"
LIBRARIES = {"human": ("PIL", "pygame"), "rgb_array": ("PIL",), "rgb_array_list": ("PIL",)}  # that modes need


def installed(modes: Sequence[str]) -> list[str]:
    """Return the modes whose libraries are installed: Gymnasium's ``check_env`` tries all that are in ``metadata``."""
    return [mode for mode in modes if all(map(importlib.util.find_spec, LIBRARIES.get(mode, ())))]


class UnknownRenderMode(ValueError, TypeError):
    """Also a TypeError: stable-baselines3 tries "rgb_array" and catches a TypeError only."""


class NoPicturesHere(RuntimeError, TypeError):
    """Pillow is not installed. Also a TypeError, so that stable-baselines3 goes on without pictures."""


class SpecWithHorizon:
    """Keeps the spec that ``gym.make`` and ``gym.make_vec`` set, with ``max_episode_steps`` = ``horizon``.

    They set it to None where they were not given it, and wrappers such as Gymnasium's ``TimeAwareObservation`` read it.
    """

    horizon: int | None
    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """What makes the environment again."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = copy.copy(spec)
        if self._spec is not None and self.horizon is not None:
            self._spec.max_episode_steps = self.horizon


class SessionsVectorEnv(SpecWithHorizon, VectorEnv[NDArray[np.int8], Any, NDArray[Any]]):
    """Base class of the vector environments: one step plays one user session in every row.

    Rows are independent: a row's history depends on its own seed and its own actions alone. This class keeps the rows'
    seeds, counters and problems (the queries or matrices that they play, numbered from 0), resets rows, ends episodes
    and takes snapshots. A subclass calls, in its ``__init__`` and in this order,

    * ``super().__init__(num_envs, **arguments)``, with the arguments that it does not take itself;
    * ``self._set_spaces(single_observation_space, single_action_space)``;
    * ``self._draws_problems, self.pool = checked_problems("query", query, number)``, if rows play problems;
    * ``self._take_first_problems()``, once its arrays exist.

    It defines a session by ``_checked``, ``_checked_single``, ``play``, ``_session_info`` and ``_scene``. It extends,
    where it has more to do, ``_fresh_info``, ``_begin``, ``_take_problems``, ``_take_seeds``, ``_prepare_next``,
    ``_written``, ``_restored``, ``_text``, ``alike``, ``repeat`` and ``expected_rewards``.

    ``row_attributes`` names the public attributes that are arrays with an axis of rows (or NamedTuples of such), and
    ``common_attributes`` those without. The single environment has both, the former without the axis.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": installed(RENDER_MODES),
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    row_attributes: ClassVar[tuple[str, ...]] = ()
    common_attributes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        inits: list[Any] = [vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)]
        cls.__signature__ = full_signature(*inits)  # type: ignore[attr-defined]
        name_keywords(cls)

    @named_keywords
    def __init__(
        self,
        num_envs: int = 1,
        *,
        horizon: int | None = DEFAULT_HORIZON,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = rows = whole_number("num_envs", num_envs, 1, MAX_ROWS)
        check_memory(ROW_BYTES * rows, num_envs=rows)
        self.horizon = None if horizon is None else count_of("horizon", horizon, 1)
        if max_episode_steps is not None:
            steps = count_of("max_episode_steps", max_episode_steps, 1)
            self.horizon = steps if self.horizon is None else min(steps, self.horizon)
        window = "gymnasium.wrappers.vector.HumanRendering (needs opencv-python) around an environment of 'rgb_array'"
        check_render_mode(render_mode, RENDER_MODES, human=f"; a window of a batch is {window}")
        self.render_mode = render_mode
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            choices = [mode.value for mode in AutoresetMode]
            raise ValueError(f"autoreset_mode = {autoreset_mode!r} is unknown; allowed: {choices}") from None
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}

        self.unseeded = True  # until the first reset
        self._key = np.zeros(rows, np.uint64)  # of the sessions' random numbers
        self._problem_key = np.zeros(rows, np.uint64)
        self._session = np.full(rows, -1, np.int64)  # number of the last session since the row was seeded
        self._episode = np.full(rows, -1, np.int64)  # since the row was seeded
        self._round = np.full(rows, -1, np.int64)  # number of the last session in its episode
        self._latest_round = -1  # the largest of all rows
        self._ended = np.zeros(rows, bool)  # rows whose episode is over and that wait for a reset
        self._some_ended = False
        self._draws_problems = False  # True: each episode draws one of the pool; False: rows cycle through the pool
        self.pool = np.zeros(1, np.int64)
        self._problem = np.zeros(rows, np.int64)
        self.regret_so_far = np.zeros(rows)  # in the rows' episodes; with a render mode only, see `scene`

    def _set_spaces(self, observation: MultiBinary, action: Space[Any]) -> None:
        self.single_observation_space, self.single_action_space = observation, action
        self.last_observation = np.zeros((self.num_envs, *observation.shape), np.int8)

    # Making the batch's spaces takes half of the constructor's time: Gymnasium seeds and copies random generators.

    @cached_property
    def observation_space(self) -> Space[Any]:  # type: ignore[override]
        """The batch's observations."""
        return batch_space(self.single_observation_space, self.num_envs)

    @cached_property
    def action_space(self) -> Space[Any]:  # type: ignore[override]
        """The batch's actions."""
        return batch_space(self.single_action_space, self.num_envs)

    def _take_first_problems(self) -> None:
        rows = self.num_envs
        first = np.zeros(rows, np.int64) if self._draws_problems else np.resize(self.pool, rows)
        self._take_problems(np.ones(rows, bool), first)

    # -- what a subclass defines ---------------------------------------------------------------------------------------

    @abstractmethod
    def _checked(self, actions: Any) -> Any:
        """Return the actions of all rows as ``play`` takes them, changing nothing.

        Raises:
            ValueError: an action is wrong; the message names the row, the value and what is allowed.
        """

    @abstractmethod
    def _checked_single(self, action: Any) -> Any:
        """Return one action, which has no axis of rows, as ``play`` takes it in a batch of one. Errors name no row."""

    @abstractmethod
    def play(self, checked: Any) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play one session in every row: return observation (num_envs, ...) int8 and reward (num_envs,), new arrays.

        Adds 1 to ``_session`` and ``_round`` of every row and to ``_latest_round``. Then the seed of the row's session
        is ``session_seed(self._key[row], self._session[row])``.
        """

    @abstractmethod
    def _session_info(self, observation: NDArray[np.int8], copy: Copy, number: Copy) -> dict[str, Any]:
        """Return the ``info`` of the sessions just played: ``number`` of arrays (num_envs,), ``copy`` of larger ones.

        Both return copies, which the user may keep and change; in the single environment only of row 0.
        """

    @abstractmethod
    def _scene(self, row: int) -> Scene:
        """Return what there is to see of a row's last session."""

    def _fresh_info(self) -> dict[str, Any]:
        """Return the ``info`` of a reset, for every row.

        Rows that a step has just reset show these values under the keys that ``_session_info`` has, too; its other keys
        are masked there.
        """
        return {"round": np.zeros(self.num_envs, np.int64)}

    def _take_seeds(self, rows: list[int], seeds: list[int]) -> None:
        """Start new random streams, besides that of the sessions, in ``rows``."""
        self._problem_key[rows] = row_keys(seeds, QUERY)

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        """Give the rows of ``mask`` their problems of ``problems`` (num_envs,)."""
        self._problem[mask] = problems[mask]

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        """Start an episode in the rows of ``mask``; their random streams continue."""
        self._episode[mask] += 1
        self._round[mask] = -1
        self._latest_round = int(self._round.max())
        self._ended[mask] = False
        self._some_ended = bool(self._ended.any())
        self.last_observation[mask] = 0
        self.regret_so_far[mask] = 0.0
        if self._draws_problems:
            drawn = np.empty(self.num_envs, np.int64)
            resets.draw_numbers(self._problem_key, self._episode, len(self.pool), drawn)
            self._take_problems(mask, self.pool[drawn])

    def _prepare_next(self) -> None:
        """Change what is different in the coming sessions. Called at the end of each step, after its info was made."""

    def _query_name(self, row: int) -> str:
        """Return the name of the row's query; "" without one."""
        return ""

    def _item_names(self, row: int) -> tuple[str, ...]:
        """Return the names of the row's items, by their numbers; () without names."""
        return ()

    def _text(self, row: int) -> str:
        """Return what ``render`` shows of a row."""
        return f"round {self._round[row]}: {self.last_observation[row].tolist()}"

    def _last_regrets(self) -> NDArray[np.float64]:
        """Return the regret of each row's last session, (num_envs,)."""
        regret: NDArray[np.float64] = self._session_info(self.last_observation, COPY, COPY)["regret"]
        return regret

    # -- what wrappers and simulate ask --------------------------------------------------------------------------------

    @property
    def changes(self) -> int:
        """How often the truth of some row's coming session has changed, resets not counted."""
        return 0

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """Return the rounds below ``rounds`` at which every row begins a new epoch; None if rows have their own."""
        rounds = count_of("rounds", rounds, 0)
        return []

    def alike(self) -> int:
        """Return how many coming sessions certainly have the truth of the last one, in all rows.

        Zero if some row has just been reset; never counts an episode's last session.
        """
        if self.unseeded or self._some_ended or int(self._round.min()) < 0:
            return 0
        return MAX_REPEATS if self.horizon is None else max(self.horizon - 2 - self._latest_round, 0)

    def repeat(self, times: int) -> None:
        """Advance all rows by ``times`` sessions of the last action without drawing clicks.

        Later sessions are those that would follow if these had been played: random numbers are addressed by session.
        What the last session looked like stays.

        Args:
            times: 0 .. ``alike()``.

        Raises:
            ValueError: ``times`` is out of range; nothing has happened then.
        """
        times = whole_number("times", times, 0, self.alike())
        self._session += times
        self._round += times
        if self.render_mode is not None:
            self.regret_so_far += times * self._last_regrets()
        self.passed(times)

    def compiled(self) -> Compiled | None:
        """Return what a compiled loop needs to play sessions here; None, as here, if it cannot.

        A loop plays at most ``alike()`` sessions, and then ``passed`` is called.
        """
        return None

    def passed(self, times: int) -> None:
        """Note that all rows have had ``times`` more sessions, 0 .. ``alike()``, which are counted in the arrays."""
        self._latest_round += times

    def expected_rewards(self) -> NDArray[np.float64]:
        """Return the expected reward of each row's last action, (num_envs,); NaN where it is unknown."""
        return np.full(self.num_envs, np.nan)

    # -- reset ---------------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start an episode in every row, or in the rows of ``options["reset_mask"]`` (num_envs,) bool.

        Args:
            seed: row b gets ``seed + b``, or its entry of a list (None: the row's stream continues).
            options: may have ``reset_mask``; it is not changed.

        Raises:
            ClosedEnvironmentError: after ``close``.
        """
        self.check_open()
        seeds = row_seeds(seed, self.num_envs)
        mask = resets.checked_mask(options, self.num_envs)
        if self.unseeded and not mask.all():
            raise ResetNeeded("the first reset is of all rows: call reset() without options['reset_mask']")
        self._seed_rows(seeds, mask)
        self._begin(mask)
        info = self._fresh_info()
        if not mask.all():
            info |= {f"_{name}": mask.copy() for name in info}
        return self.last_observation.copy(), info

    def _seed_rows(self, seeds: list[int | None], mask: NDArray[np.bool_]) -> None:
        if self.unseeded:
            seeds = [secrets.randbits(128) if s is None else s for s in seeds]
            self.unseeded = False
        rows: list[int] = [row for row in np.flatnonzero(mask).tolist() if seeds[row] is not None]
        if not rows:
            return
        chosen: list[Any] = [seeds[row] for row in rows]
        if rows[0] == 0:  # Gymnasium: the generator of a vector environment is that of its first row
            self._np_random, self._np_random_seed = gym.utils.seeding.np_random(chosen[0])
        self._key[rows] = row_keys(chosen, ENVIRONMENT)
        self._take_seeds(rows, chosen)
        self._session[rows] = self._episode[rows] = -1

    # -- step ----------------------------------------------------------------------------------------------------------

    def step(self, actions: Any) -> Step:
        """Play one session in every row; ``actions`` is a member of ``action_space``.

        A row that is reset in this step (autoreset in the next step) ignores its action, whatever it is.

        Raises:
            ValueError: the action of some row is wrong; nothing has happened then.
            ResetNeeded: there was no reset yet, or (autoreset disabled) a row's episode is over.
            ClosedEnvironmentError: after ``close``.
        """
        self.check_open()
        if self.unseeded:
            raise ResetNeeded("reset the environment before its first step")
        if self._some_ended:
            return self._step_and_reset(actions)
        observation, reward = self.play(self._checked(actions))
        info = self._session_info(observation, COPY, COPY)
        if self.render_mode is not None:
            self.regret_so_far += info["regret"]
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        if self.at_horizon():
            truncated |= self._ended
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                final = resets.final_info(observation, info, truncated)
                observation = resets.only(observation, ~truncated)
                self._begin(truncated.copy())
                info = resets.mixed_info(info, self._fresh_info(), truncated) | final
        self.last_observation[...] = observation
        self._prepare_next()
        return observation, reward, terminated, truncated, info

    def check_open(self) -> None:
        """Raise a ClosedEnvironmentError after ``close``."""
        if self.closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one with gym.make or gym.make_vec")

    def at_horizon(self) -> bool:
        """Mark the rows whose episode is over now; return whether there are any."""
        if self.horizon is None or self._latest_round + 1 < self.horizon:
            return False
        np.greater_equal(self._round + 1, self.horizon, out=self._ended)
        self._some_ended = bool(self._ended.any())
        return self._some_ended

    def _step_and_reset(self, actions: Any) -> Step:
        """Reset the rows whose episode is over and play the others (autoreset in the next step)."""
        if self.autoreset_mode is AutoresetMode.DISABLED:
            rows = np.flatnonzero(self._ended).tolist()
            raise ResetNeeded(f"the episodes of rows {rows} are over; reset them with options={{'reset_mask': mask}}")
        waiting = self._ended.copy()
        placeholder = create_zero_array(self.single_action_space)
        played, rewards = self.play(self._checked(resets.replaced(actions, waiting, placeholder)))
        info = self._session_info(played, COPY, COPY)
        if self.render_mode is not None:
            self.regret_so_far += info["regret"]  # rows that wait are reset below
        self._session -= waiting  # these rows had no session
        observation, reward = resets.only(played, ~waiting), resets.only(rewards, ~waiting)
        truncated = np.zeros(self.num_envs, bool)
        self.at_horizon()
        truncated |= self._ended & ~waiting
        self._begin(waiting)
        self.last_observation[...] = observation
        info = resets.mixed_info(info, self._fresh_info(), waiting)
        self._prepare_next()
        return observation, reward, np.zeros(self.num_envs, bool), truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """Return what each row's last session looked like, a tuple of ``num_envs`` texts or pictures.

        With ``render_mode="ansi"`` texts, with "rgb_array" arrays (height, width, 3) uint8 of the same size in all
        rows. Nothing is drawn unless this is called. None, with a warning, without a render mode.
        """
        if self.render_mode is None:
            gym.logger.warn('render() was called without a render mode; make the environment with render_mode="ansi"')
            return None
        if self.render_mode == "rgb_array":
            return tuple(draw(self._scene(row)) for row in range(self.num_envs))
        return tuple(self._text(row) for row in range(self.num_envs))

    def scene(self, row: int = 0) -> Scene:
        """Return what there is to see of a row's last session, truth included: what ``render`` draws.

        Raises:
            ValueError: ``row`` is out of range, or there is no render mode, without which nothing is kept for scenes.
        """
        if self.render_mode is None:
            raise ValueError('render_mode = None keeps nothing to see; make the environment with render_mode="ansi"')
        return self._scene(whole_number("row", row, 0, self.num_envs - 1))

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """Return the full state as arrays with a leading axis of rows; None if this class has no snapshots.

        An environment made with the same arguments continues from it after ``restore``, bit for bit. So does one of
        fewer rows that plays these rows' queries, from ``{name: values[rows] for name, values in ...}``. Gymnasium's
        ``np_random`` is left out: nothing is drawn from it.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        if "_written" not in vars(type(self)):
            return None
        if self.unseeded:
            raise ResetNeeded("reset the environment before its first snapshot")
        return {name: values.copy() for name, values in self._written().items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state saved by ``snapshot``, without a reset.

        Raises:
            ValueError: the snapshot is not of such an environment with as many rows; nothing has happened then.
        """
        if "_written" not in vars(type(self)):
            name = type(self).__name__
            raise ValueError(f"{name} defines no _written of its own; allowed: a class that has snapshots")
        mine = self._written()
        given = restored(snapshot, mine)
        self.unseeded = False
        self._take_problems(np.ones(self.num_envs, bool), given["problem"])
        for name, values in given.items():
            np.copyto(mine[name], values)
        self._restored()

    def _written(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that decide what follows, and what ``render`` shows: no copies, ``restore`` writes to them.

        A class that inherits this method without defining it has no snapshots: it may have more state.
        """
        written: dict[str, NDArray[Any]] = {
            "key": self._key,
            "problem_key": self._problem_key,
            "session": self._session,
            "episode": self._episode,
            "round": self._round,
            "ended": self._ended,
            "problem": self._problem,
            "observation": self.last_observation,
        }
        return written if self.render_mode is None else written | {"regret_so_far": self.regret_so_far}

    def _restored(self) -> None:
        """Compute what derives from the restored arrays. All rows have taken their problems before."""
        self._latest_round = int(self._round.max())
        self._some_ended = bool(self._ended.any())


def check_render_mode(mode: Any, allowed: Sequence[str], human: str = "") -> None:
    """Raise an error if ``mode`` is none of ``allowed``, or if what it needs is not installed.

    ``human`` is a hint for those who want the mode "human" where it is not allowed.
    """
    if mode is not None and not (isinstance(mode, str) and mode in allowed):
        words = ", ".join(map(repr, (None, *allowed)))
        window = human if isinstance(mode, str) and mode == "human" else ""
        hint = near(mode, allowed) if isinstance(mode, str) and not window else ""
        raise UnknownRenderMode(f"render_mode = {mode!r} is unknown{hint or ';'} allowed: {words}{window}")
    for library in LIBRARIES.get(mode or "", ()):
        try:
            require(library, "render")
        except RuntimeError as error:
            raise NoPicturesHere(f"render_mode = {mode!r}: {error}") from None


@kernel
def keep(rankings, last):
    """Copy ``rankings`` to ``last`` (rows, positions); True if they differed."""
    rows, positions = rankings.shape
    difference = 0
    for row in range(rows):
        for k in range(positions):
            difference |= last[row, k] ^ rankings[row, k]
            last[row, k] = rankings[row, k]
    return difference != 0


@kernel
def count_session(session, round):
    """Count one session more in every row, in a third of the time that NumPy takes for a small array."""
    for row in range(session.shape[0]):
        session[row] += 1
        round[row] += 1


@kernel
def open_session(displayed, last, session, round):
    """``count_session``, and ``keep`` its list."""
    count_session(session, round)
    return keep(displayed, last)


def listed(what: str, displayed: NDArray[np.int64], clicks: NDArray[np.int8], names: Sequence[str] = ()) -> list[str]:
    """Return the lines of a displayed list with its clicks; entries below 0 are left out. Items may have ``names``."""
    width = max(map(len, names), default=0)
    named = [f"{name:<{width}s} " for name in names]
    return [
        f"{k + 1:3d}. {what} {item:<4d} {named[item] if named else ''}{'click' if click else ''}".rstrip()
        for k, (item, click) in enumerate(zip(displayed, clicks, strict=True))
        if item >= 0
    ]


def full_signature(*functions: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of the first function with the arguments of the next one in place of ``**arguments``."""
    parameters: dict[str, inspect.Parameter] = {}
    for function in functions:
        own = inspect.signature(function).parameters
        parameters |= {name: own[name] for name in own if name not in (*parameters, "self")}
        if parameters.pop("arguments", None) is None:  # it hands nothing on
            break
    return inspect.Signature(sorted(parameters.values(), key=lambda parameter: parameter.kind))
