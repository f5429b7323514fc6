"""What every environment of one session of every row a step shares; what a session is, a subclass says."""

from __future__ import annotations

import reprlib
import secrets
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import MultiBinary, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers.utils import create_zero_array
from numpy.typing import NDArray

from rankgym.arguments import whole_number
from rankgym.kernels import ENVIRONMENT, QUERY, bits, kernel, row_keys, uniform_below

__all__ = ["DEFAULT_HORIZON", "SessionsVectorEnv", "checked_arm", "checked_arms", "first_no_arm", "refuse_arm", "sides"]

DEFAULT_HORIZON = 1_000_000
MOST_ROWS = 1 << 31
ENDLESS = 1 << 60  # sessions
SPLIT = 5  # every fifth problem is a test problem
INT64 = np.dtype(np.int64)

_short = reprlib.Repr()
_short.maxlist = _short.maxtuple = 24
_short.maxother = 200

Step = tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


@kernel
def draw_numbers(key, number, n, drawn):
    """Fill ``drawn`` (rows,) with uniform integers below ``n``, from draw ``number`` (rows,) of each key."""
    for row in range(key.shape[0]):
        drawn[row] = uniform_below(bits(key[row], number[row]), n)


class UnknownRenderMode(ValueError, TypeError):
    """Also a TypeError: stable-baselines3 asks for "rgb_array" at a venture, and lives with a TypeError alone."""


class SessionsVectorEnv(VectorEnv[NDArray[np.int8], Any, NDArray[Any]]):
    """A native vector environment in which one step is one session of every row.

    Rows are independent: a row's history depends on its own seed and its own actions alone. This class has the rows'
    seeds, counters and problems, resets by mask, the three autoreset modes, Gymnasium's masks in ``info``, and the end
    of episodes. A subclass has the session. In ``__init__`` it calls, in this order,

    * ``super().__init__(num_envs, horizon=..., max_episode_steps=..., autoreset_mode=..., render_mode=...)``;
    * ``self._set_spaces(single_observation_space, single_action_space)``, which makes the batched ones, too;
    * ``self._set_problems("query", query, number_of_problems)``, where rows have problems, numbered from 0;
    * ``self._take_first_problems()``, once its arrays are there: it calls ``_take_problems`` for all rows.

    It says what a session is by these hooks, of which the first four have no default:

    * ``_checked(actions)``: the door. ``actions`` of all rows as what ``play`` takes, or a ValueError that names the
      row, the value and what is allowed. Nothing is changed. ``sides`` and ``checked_arms`` help with duels, and
      ``BatchedPermutation.checked`` with rankings (of ``self.action_space``, or of its part "left").
    * ``_checked_single(action)``: the same of one action without the leading axis, for a batch of one; its errors do
      not speak of rows.
    * ``play(checked)``: one session of every row, returned as (observation (num_envs, ...) int8, reward (num_envs,)),
      both new arrays. It adds 1 to ``_session`` and ``_round`` of every row and to ``_latest_round``. The random bits
      of the row's session are those of ``session_seed(self._key[row], self._session[row])``, once that is counted. (It
      may be a door as well, if it raises before it has changed anything.)
    * ``_step_info(observation)``: the ``info`` of what ``play`` has just played: a dict of new arrays with an axis of
      rows.
    * ``first_row_info(observation)``: the same of row 0 without the axis, for the single form. Default: made of the
      former; to be overridden for speed.
    * ``_fresh_info()``: what a reset tells of every row, likewise new arrays. Default: ``round``, which is 0. A key
      that is in both infos has these values in rows that a step has just reset; the others are masked there.
    * ``_begin(mask)``: start an episode in the rows of ``mask``; extend it where more than the counters is new.
    * ``_take_problems(mask, problems)``: give the rows of ``mask`` their problems of ``problems`` (num_envs,). Extend
      it with the tables of the rows' problems. It comes with the first problems and with each drawn one.
    * ``_take_seeds(rows, seeds)``: extend it for streams besides those of the sessions and of the problems.
    * ``_text(row)``: what ``render`` tells of a row. Default: the row's round and observation.
    * ``_written()``: the arrays that a snapshot is made of, each with a leading axis of rows, by name: all that decides
      what comes, and what ``render`` tells. They are themselves, no copies, for ``restore`` writes into them. Extend
      it. A class that does not define it itself, but inherits it, has no snapshots: it may have more to remember.
    * ``_restored()``: what is left to do when they have been written into: make again what is made of them. Before
      that, all rows were given their problems by ``_take_problems``. Extend it.
    * ``alike()``: extend it where the truth of a row changes within an episode; and ``repeat(times)`` where sessions
      are counted in more places than here.
    * ``expected_rewards()``: to be defined where they can be known. Default: NaN.

    Actions of rows that are being reset (autoreset in the next step) are replaced before ``_checked``, also in a dict.

    ``row_attributes`` names the attributes that are arrays with an axis of rows (or a NamedTuple of such), and
    ``common_attributes`` those that are not; the single form has both, the former without the axis.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    row_attributes: ClassVar[tuple[str, ...]] = ()
    common_attributes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        num_envs: int = 1,
        *,
        horizon: int | None = DEFAULT_HORIZON,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = rows = whole_number("num_envs", num_envs, 1, MOST_ROWS)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        if max_episode_steps is not None:
            steps = whole_number("max_episode_steps", max_episode_steps, 1)
            self.horizon = steps if self.horizon is None else min(steps, self.horizon)
        if render_mode is not None and (not isinstance(render_mode, str) or render_mode != "ansi"):
            raise UnknownRenderMode(f"render_mode = {render_mode!r} is unknown; allowed: None, 'ansi'")
        self.render_mode = render_mode
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}

        self._key: NDArray[np.uint64] | None = None  # (rows,) None until the first reset
        self._problem_key = np.zeros(rows, np.uint64)
        self._session = np.full(rows, -1, np.int64)  # the last one's number, since the row was seeded
        self._episode = np.full(rows, -1, np.int64)  # since the row was seeded
        self._round = np.full(rows, -1, np.int64)  # the last session's number in its episode
        self._latest_round = -1  # of all rows
        self._ended = np.zeros(rows, bool)  # rows whose episode is over and that wait for a reset
        self._some_ended = False
        self._draws_problems = False  # from the pool, in each episode; else the rows cycle through it
        self._pool = np.zeros(1, np.int64)
        self._problem = np.zeros(rows, np.int64)

    def _set_spaces(self, observation: MultiBinary, action: Space[Any]) -> None:
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = batch_space(observation, self.num_envs)
        self.action_space = batch_space(action, self.num_envs)
        self._placeholder = create_zero_array(action)  # some action, in rows whose action is ignored
        self.last_observation = np.zeros((self.num_envs, *observation.shape), np.int8)

    def _set_problems(self, name: str, value: Any, number: int) -> None:
        """How rows get problems of 0 .. ``number`` - 1, by the argument ``name``: see ``RankingVectorEnv``'s query."""
        self._draws_problems, self._pool = _choice(name, value, number)

    def _take_first_problems(self) -> None:
        rows = self.num_envs
        self._take_problems(
            np.ones(rows, bool), np.zeros(rows, np.int64) if self._draws_problems else np.resize(self._pool, rows)
        )

    # -- the hooks of a session; the others stand where they belong --------------------------------------------------

    @abstractmethod
    def _checked(self, actions: Any) -> Any: ...

    @abstractmethod
    def _checked_single(self, action: Any) -> Any: ...

    @abstractmethod
    def play(self, checked: Any) -> tuple[NDArray[np.int8], NDArray[np.float64]]: ...

    @abstractmethod
    def _step_info(self, observation: NDArray[np.int8]) -> dict[str, Any]: ...

    def first_row_info(self, observation: NDArray[np.int8]) -> dict[str, Any]:
        """The info of row 0 after ``play``, without its leading axis: what the single form tells."""
        return {
            name: values.item(0) if values.ndim == 1 else values[0]
            for name, values in self._step_info(observation).items()
        }

    # -- what wrappers and the single form ask -----------------------------------------------------------------------

    @property
    def changes(self) -> int:
        """How many times the truth of some row's coming session has changed other than by a reset: never, here."""
        return 0

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """The rounds below ``rounds`` at which every row begins a new epoch: none, here."""
        whole_number("rounds", rounds, 0)
        return []

    def alike(self) -> int:
        """How many coming sessions of all rows certainly have the truth of the last session.

        They are none where a row's last session is not of its current episode, and never an episode's last one.
        """
        if self._key is None or self._some_ended or int(self._round.min()) < 0:
            return 0
        return ENDLESS if self.horizon is None else max(self.horizon - 2 - self._latest_round, 0)

    def repeat(self, times: int) -> None:
        """As if the last action came ``times`` times more, in every row, and nobody looked at the clicks.

        Counters go on and nothing is drawn. What comes later is what it would be if those sessions had been played,
        as their random numbers are addressed by their numbers. What the last session looked like stays.

        Args:
            times: 0 .. ``alike()``.

        Raises:
            ValueError: it is out of range; nothing has happened then.
        """
        times = whole_number("times", times, 0, self.alike())
        self._session += times
        self._round += times
        self._latest_round += times

    def expected_rewards(self) -> NDArray[np.float64]:
        """The expectation of the last session's reward given the row's action, (num_envs,); NaN: not known."""
        return np.full(self.num_envs, np.nan)

    @property
    def pool(self) -> NDArray[np.int64]:
        """The problems that rows cycle through, or that episodes draw from."""
        return self._pool.copy()

    @property
    def unseeded(self) -> bool:
        """True before the first reset."""
        return self._key is None

    # -- reset -------------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start an episode in every row, or in the rows of ``options["reset_mask"]`` (num_envs,) bool.

        Args:
            seed: row b gets ``seed + b``, or its entry of a list (None: go on with the row's stream).
            options: may hold ``reset_mask``; it is read, never changed.
        """
        seeds = self._checked_seeds(seed)
        mask = self._checked_mask(options)
        self._seed_rows(seeds, mask)
        self._begin(mask)
        return self.last_observation.copy(), self._reset_info(mask)

    def _checked_seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
            first = whole_number("seed", seed, 0)
            return [first + row for row in range(self.num_envs)]
        if isinstance(seed, (list, tuple, np.ndarray)):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed has {len(seed)} entries; allowed: one for each of the {self.num_envs} rows")
            return [None if s is None else whole_number(f"seed[{row}]", s, 0) for row, s in enumerate(seed)]
        raise ValueError(
            f"seed = {seed!r} is no seed; allowed: None, a whole number, at least 0, or {self.num_envs} of them"
        )

    def _checked_mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] = {mask!r} is no mask; allowed: a numpy array of bool")
        if mask.shape != (self.num_envs,):
            raise ValueError(f"options['reset_mask'] has shape {mask.shape}; allowed: ({self.num_envs},)")
        if not mask.any():
            raise ValueError("options['reset_mask'] is False everywhere; allowed: at least one True")
        if self._key is None and not mask.all():
            raise ResetNeeded("the first reset is of all rows: call reset() without options['reset_mask']")
        return mask

    def _seed_rows(self, seeds: list[int | None], mask: NDArray[np.bool_]) -> None:
        if self._key is None:
            seeds = [secrets.randbits(128) if s is None else s for s in seeds]
            self._key = np.zeros(self.num_envs, np.uint64)
        rows = [row for row in np.flatnonzero(mask) if seeds[row] is not None]
        if not rows:
            return
        chosen = [seeds[row] for row in rows]
        if rows[0] == 0:  # Gymnasium's own generator of a vector env is that of its first row
            self._np_random, self._np_random_seed = gym.utils.seeding.np_random(chosen[0])
        self._key[rows] = row_keys(chosen, ENVIRONMENT)  # type: ignore[arg-type]
        self._take_seeds(rows, chosen)  # type: ignore[arg-type]
        self._session[rows] = -1
        self._episode[rows] = -1

    def _take_seeds(self, rows: list[int], seeds: list[int]) -> None:
        """New streams, besides those of the sessions, for ``rows`` from their seeds."""
        self._problem_key[rows] = row_keys(seeds, QUERY)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        """Start an episode in the rows of ``mask``; their random streams go on."""
        self._episode[mask] += 1
        self._round[mask] = -1
        self._latest_round = int(self._round.max())
        self._ended[mask] = False
        self._some_ended = bool(self._ended.any())
        self.last_observation[mask] = 0
        if self._draws_problems:
            drawn = np.empty(self.num_envs, np.int64)
            draw_numbers(self._problem_key, self._episode, len(self._pool), drawn)
            self._take_problems(mask, self._pool[drawn])

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        """Give the rows of ``mask`` their problems of ``problems`` (num_envs,)."""
        self._problem[mask] = problems[mask]

    def _reset_info(self, mask: NDArray[np.bool_]) -> dict[str, Any]:
        info = self._fresh_info()
        if not mask.all():
            info |= {f"_{name}": mask.copy() for name in info}
        return info

    def _fresh_info(self) -> dict[str, Any]:
        """What a reset tells of every row."""
        return {"round": np.zeros(self.num_envs, np.int64)}

    # -- writing down ------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, NDArray[Any]] | None:
        """All that decides what comes, as arrays with a leading axis of rows; None: this class cannot be written down.

        An environment that was made with the same arguments goes on from it after ``restore``, bit for bit; and one of
        fewer rows, made to play these rows' queries, from ``{name: values[rows] for name, values in ...}``. Nothing is
        drawn from Gymnasium's ``np_random``, which is left out.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        if "_written" not in vars(type(self)):
            return None
        if self._key is None:
            raise ResetNeeded("reset the environment before its first snapshot")
        return {name: values.copy() for name, values in self._written().items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a ``snapshot``, without a reset.

        Raises:
            ValueError: it is none of an environment with these rows; nothing has happened then.
        """
        if "_written" not in vars(type(self)):
            raise ValueError(
                f"{type(self).__name__} defines no _written of its own; allowed: a class that has snapshots"
            )
        key = np.zeros(self.num_envs, np.uint64) if self._key is None else self._key
        mine = {**self._written(), "key": key}
        given = {name: np.asarray(values) for name, values in snapshot.items()}
        if set(given) != set(mine):
            raise ValueError(f"the snapshot has {sorted(given)}; allowed: one of such an environment, {sorted(mine)}")
        for name, values in given.items():
            if values.shape != mine[name].shape or values.dtype != mine[name].dtype:
                raise ValueError(
                    f"the snapshot's {name!r} has shape {values.shape} and dtype {values.dtype}; allowed: "
                    f"{mine[name].shape} and {mine[name].dtype}"
                )
        self._key = key
        self._take_problems(np.ones(self.num_envs, bool), given["problem"])
        for name, values in given.items():
            np.copyto(mine[name], values)
        self._restored()

    def _written(self) -> dict[str, NDArray[Any]]:
        """The arrays that a snapshot is made of: themselves."""
        return {
            "key": self._key,  # type: ignore[dict-item]  # None before the first reset
            "problem_key": self._problem_key,
            "session": self._session,
            "episode": self._episode,
            "round": self._round,
            "ended": self._ended,
            "problem": self._problem,
            "observation": self.last_observation,
        }

    def _restored(self) -> None:
        """Make what is made of them."""
        self._latest_round = int(self._round.max())
        self._some_ended = bool(self._ended.any())

    # -- step --------------------------------------------------------------------------------------------------------

    def step(self, actions: Any) -> Step:
        """One session of every row; ``actions`` is a member of ``action_space``.

        A row that is reset in this step (autoreset in the next step) ignores its entry, whatever it is.

        Raises:
            ValueError: the action of some row is wrong; nothing has happened then.
            ResetNeeded: there was no reset yet, or (autoreset disabled) a row's episode is over.
        """
        if self._key is None:
            raise ResetNeeded("reset the environment before its first step")
        if self._some_ended:
            return self._step_and_reset(actions)
        observation, reward = self.play(self._checked(actions))
        info = self._step_info(observation)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        if self.at_horizon():
            truncated |= self._ended
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                observation, info = self._reset_in_step(observation, info, truncated)
        np.copyto(self.last_observation, observation)
        return observation, reward, terminated, truncated, info

    def at_horizon(self) -> bool:
        """Note the rows whose episode is over now; True if there are any."""
        if self.horizon is None or self._latest_round + 1 < self.horizon:
            return False
        np.greater_equal(self._round + 1, self.horizon, out=self._ended)
        self._some_ended = bool(self._ended.any())
        return self._some_ended

    def _step_and_reset(self, actions: Any) -> Step:
        """A step in which the rows whose episode is over are reset instead of played (autoreset in the next step)."""
        if self.autoreset_mode is AutoresetMode.DISABLED:
            rows = np.flatnonzero(self._ended).tolist()
            raise ResetNeeded(f"the episodes of rows {rows} are over; reset them with options={{'reset_mask': mask}}")
        waiting = self._ended.copy()
        played, rewards = self.play(self._checked(_ignored(actions, waiting, self._placeholder)))
        info = self._step_info(played)
        self._session -= waiting  # nobody came to the waiting rows
        observation, reward = _only(played, ~waiting), _only(rewards, ~waiting)
        truncated = np.zeros(self.num_envs, bool)
        self.at_horizon()
        truncated |= self._ended & ~waiting
        self._begin(waiting)
        np.copyto(self.last_observation, observation)
        return observation, reward, np.zeros(self.num_envs, bool), truncated, self._mixed_info(info, waiting)

    def _reset_in_step(
        self, last: NDArray[np.int8], info: dict[str, Any], ended: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Reset the rows of ``ended`` within the step that ended them; what they ended with goes to ``final_...``."""
        observation = _only(last, ~ended)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            final_obs[row] = last[row].copy()
        final_info: dict[str, Any] = {}
        for name, values in info.items():
            final_info[name] = _only(values, ended)
            final_info[f"_{name}"] = ended.copy()
        self._begin(ended.copy())
        mixed = self._mixed_info(info, ended)
        mixed |= {
            "final_obs": final_obs,
            "_final_obs": ended.copy(),
            "final_info": final_info,
            "_final_info": ended.copy(),
        }
        return observation, mixed

    def _mixed_info(self, info: dict[str, Any], begun: NDArray[np.bool_]) -> dict[str, Any]:
        """The info of a step after which the rows of ``begun`` have just been reset, with masks where rows differ."""
        fresh = self._fresh_info()
        mixed: dict[str, Any] = {}
        for name, values in info.items():
            mixed[name] = _only(values, ~begun)
            if name in fresh:
                mixed[name][begun] = fresh[name][begun]
            else:
                mixed[f"_{name}"] = ~begun
        return mixed

    # -- looking -----------------------------------------------------------------------------------------------------

    def render(self) -> tuple[str, ...] | None:
        """With ``render_mode="ansi"``: one text a row, of the last session."""
        if self.render_mode is None:
            gym.logger.warn('render() was called without a render mode; make the environment with render_mode="ansi"')
            return None
        return tuple(self._text(row) for row in range(self.num_envs))

    def _text(self, row: int) -> str:
        return f"round {self._round[row]}: {self.last_observation[row].tolist()}"


def _only(values: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
    """A copy of ``values`` that is zero outside of ``rows``."""
    kept = np.zeros_like(values)
    kept[rows] = values[rows]
    return kept


def _ignored(actions: Any, waiting: NDArray[np.bool_], placeholder: Any) -> Any:
    """``actions`` with the waiting rows' entries replaced by ``placeholder``, where it has an entry for each row."""
    if isinstance(actions, Mapping):
        if not isinstance(placeholder, Mapping):
            return actions
        parts = {name: _ignored(actions[name], waiting, part) for name, part in placeholder.items() if name in actions}
        return {**actions, **parts}
    shape = (len(waiting), *np.shape(placeholder))
    if isinstance(actions, np.ndarray) and actions.shape == shape and actions.dtype.kind in "iu":
        actions = actions.copy()
        actions[waiting] = placeholder
    elif isinstance(actions, (list, tuple)) and len(actions) == len(waiting):
        actions = [placeholder if waiting[row] else action for row, action in enumerate(actions)]
    return actions


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        choices = [m.value for m in AutoresetMode]
        raise ValueError(f"autoreset_mode = {mode!r} is unknown; allowed: {choices}") from None


def _choice(name: str, value: Any, number: int) -> tuple[bool, NDArray[np.int64]]:
    """How rows get problems by ``value`` of argument ``name``: (drawn?, problems to draw from, or to cycle through)."""
    everything = np.arange(number)
    allowed = f"allowed: 0 .. {number - 1}, a list of these, 'all', 'train', 'test' or None"
    if value is None:
        return True, everything
    if isinstance(value, str):
        test = everything % SPLIT == SPLIT - 1
        pools = {"all": everything, "train": everything[~test], "test": everything[test]}
        if value not in pools or not len(pools[value]):
            raise ValueError(f"{name} = {value!r} is unknown or empty with {number} {_plural(name)}; {allowed}")
        return False, pools[value]
    listed = [value] if isinstance(value, (int, np.integer)) else value
    single = isinstance(listed, np.ndarray) and listed.ndim == 0
    if single or not isinstance(listed, (list, tuple, np.ndarray, range)) or len(listed) == 0:
        raise ValueError(f"{name} = {value!r} is no choice of {_plural(name)}; {allowed}")
    for one in listed:
        if isinstance(one, (bool, np.bool_)) or not isinstance(one, (int, np.integer)) or not 0 <= one < number:
            raise ValueError(f"{name} = {one!r} is out of range; {allowed}")
    return False, np.array(listed, np.int64)


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


# -- duels: actions with a left and a right side -----------------------------------------------------------------------


def sides(action: Any) -> tuple[Any, Any]:
    """The values of "left" and "right" of a duel, whatever they are, or a ValueError where it is no such dict."""
    if isinstance(action, dict) and len(action) == 2:
        try:
            return action["left"], action["right"]
        except KeyError:
            pass
    if not isinstance(action, Mapping):
        kind = f"is a {type(action).__name__}"
    elif set(action) != {"left", "right"}:
        kind = f"has the keys {sorted(action, key=str)}"
    else:
        return action["left"], action["right"]
    raise ValueError(f"action {_shown(action)} {kind}; allowed: a dict with the keys 'left' and 'right'")


def checked_arms(side: str, arms: Any, num_arms: int, num_envs: int) -> NDArray[np.int64]:
    """The arms of one side as a C-contiguous int64 array (num_envs,): itself where it is one already.

    Args:
        side: "left" or "right", for messages.
        arms: a list, tuple or array of whole numbers, of any integer dtype, one a row.
        num_arms, num_envs: how many there are.

    Raises:
        ValueError: it is nothing of the kind; the message names the value and what is allowed. (But an array that is
            returned as it is may have **arms out of range**: a kernel looks, such as ``first_no_arm``; ``refuse_arm``.)
    """
    if type(arms) is np.ndarray and arms.dtype == INT64 and arms.shape == (num_envs,) and arms.flags.carray:
        return arms
    name, allowed = f"action[{side!r}]", f"allowed: an arm of 0 .. {num_arms - 1} for each of the {num_envs} rows"
    if isinstance(arms, np.ndarray):
        if arms.dtype.kind not in "iu":
            cast = ": cast it with .astype(int)" if arms.dtype.kind == "f" else ""
            raise ValueError(f"{name} = {_shown(arms)} has dtype {arms.dtype}, no integer one{cast}; {allowed}")
        if arms.shape != (num_envs,):
            raise ValueError(f"{name} = {_shown(arms)} has shape {arms.shape}, not ({num_envs},); {allowed}")
        wrong = (arms < 0) | (arms >= num_arms)  # before the cast: huge uint64 turn negative
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"{name}[row {row}] = {arms[row]} is no arm; allowed: 0 .. {num_arms - 1}")
        return np.array(arms, INT64, order="C", subok=False)
    if not isinstance(arms, (list, tuple)):
        raise ValueError(f"{name} = {_shown(arms)} is a {type(arms).__name__}, no array; {allowed}")
    if len(arms) != num_envs:
        raise ValueError(f"{name} = {_shown(arms)} has {len(arms)} entries; {allowed}")
    listed = [_whole(arm) for arm in arms]
    for row, arm in enumerate(listed):
        if arm is None or not 0 <= arm < num_arms:
            what = "no whole number" if arm is None else "no arm"
            raise ValueError(f"{name}[row {row}] = {_shown(arms[row])} is {what}; allowed: 0 .. {num_arms - 1}")
    return np.array(listed, INT64)


def checked_arm(side: str, arm: Any, num_arms: int) -> int:
    """One arm as an int, or a ValueError that names the side. A NumPy array of no dimensions is an arm, too."""
    whole = _whole(arm)
    if whole is None or not 0 <= whole < num_arms:
        what = "no whole number" if whole is None else "no arm"
        raise ValueError(f"action[{side!r}] = {_shown(arm)} is {what}; allowed: 0 .. {num_arms - 1}")
    return whole


def _whole(value: Any) -> int | None:
    if isinstance(value, (np.generic, np.ndarray)):
        return int(value) if value.ndim == 0 and value.dtype.kind in "iu" else None
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


@kernel
def first_no_arm(left, right, num_arms):
    """The first row whose ``left`` or ``right`` (rows,) is not in 0 .. ``num_arms`` - 1, or -1."""
    for row in range(left.shape[0]):
        if left[row] < 0 or left[row] >= num_arms or right[row] < 0 or right[row] >= num_arms:
            return row
    return -1


def refuse_arm(action: Mapping[str, Any], row: int, num_arms: int) -> NoReturn:
    """Raise the error of a duel whose ``row`` has an arm out of range."""
    side = "right" if 0 <= action["left"][row] < num_arms else "left"
    raise ValueError(f"action[{side!r}][row {row}] = {action[side][row]} is no arm; allowed: 0 .. {num_arms - 1}")


def _shown(value: Any) -> str:
    """A value in a line of a message: an array's has no line breaks, and nothing is long."""
    return " ".join(_short.repr(value).split())
