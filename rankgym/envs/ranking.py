"""The stationary ranking environment, one user session of every row a step. This native vector env is the engine."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import MultiBinary
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rankgym.checks import whole_number
from rankgym.envs.problems import Problems
from rankgym.kernels import ENVIRONMENT, QUERY, bits, kernel, row_keys, uniform_below
from rankgym.metrics import better_items, misordered_pairs
from rankgym.models import MODELS
from rankgym.spaces import BatchedPermutation, Permutation

__all__ = ["RankingVectorEnv"]

DEFAULT_HORIZON = 1_000_000
SPLIT = 5  # every fifth query is a test query


@kernel
def open_session(displayed, last, session, round):
    """Count one session more in every row; copy ``displayed`` to ``last`` (rows, positions), True if they differed."""
    rows, positions = displayed.shape
    difference = 0
    for row in range(rows):
        session[row] += 1
        round[row] += 1
        for k in range(positions):
            difference |= last[row, k] ^ displayed[row, k]
            last[row, k] = displayed[row, k]
    return difference != 0


@kernel
def draw_numbers(key, number, n, drawn):
    """Fill ``drawn`` (rows,) with uniform integers below ``n``, from draw ``number`` (rows,) of each key."""
    for row in range(key.shape[0]):
        drawn[row] = uniform_below(bits(key[row], number[row]), n)


class RankingVectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """
    ## Description
    Online learning to rank. In each step one user comes to every row, sees the list that the agent displays, and
    clicks as a click model says. Rows are independent: a row's history depends on its own seed and its own actions
    alone, whatever the batch. Two agents on the same seed meet the same users: attraction coins are indexed by (seed,
    session, item), the others by (seed, session, position).

    ## Action Space
    `Permutation(num_items, num_positions)`: the displayed list, items best first. Anything but distinct items in range
    is refused with a ValueError before anything happens.

    ## Observation Space
    `MultiBinary(num_positions)`: the clicks on the displayed list; all 0 after a reset.

    ## Rewards
    The number of clicks in the first `cutoff` positions, or, with `reward="abandonment"` (DCM), 1 if the user left
    after a click there.

    ## Starting State
    A query: see `query`. The production ranker's list of its items is the attribute `initial_list` (num_envs,
    num_items).

    ## Episode End
    Never terminates; truncates after `horizon` sessions.

    ## Information
    `step` gives arrays with one entry a row: `displayed`, `clicks`, `expected_reward` of the displayed list,
    `optimal_reward`, `regret` (their difference), `misordered` (number of incorrectly ordered pairs; a hidden item
    stands below the displayed ones), `round` of this session in its episode (from 0), `query`. `reset` gives
    `optimal_reward`, `round`, `query`. A row that a step has just reset has zeros in the other entries, and False in
    Gymnasium's masks `_key`, which are there wherever rows differ.

    ## Arguments
    ```python
    gym.make_vec("rankgym/PBM-Yandex-v0", num_envs=600, query="all", horizon=1_000_000)
    ```
    * `model`: a key of `rankgym.models.MODELS`: `"CM"`, `"PBM"`, `"DCM"` and so on.
    * `dataset`: `"yandex"`; or `"synthetic"`: queries with the given `parameters`, or 1,000 that were drawn once and
      for all, of which the environment's seed draws one.
    * `parameters`: of synthetic queries: a dict of lists by the model's parameter names (the fields of
      `rankgym.models.MODELS[model].parameters`), with an entry for each item (attraction, satisfaction) or position
      (examination, termination); abandonment and continue_... are numbers; the UBM's examination has a row for each
      position and a column for the position of the click before, the last one for none yet. One more level of lists
      gives each query its own. What is left out is drawn; see `rankgym.envs.problems`. (Arrays do as well, but then the
      environment's spec has no JSON form.)
    * `initial_list`: of any queries, the production ranker's list of all items, best first. Default: 0,
      1, 2, ..., the order of the production result page.
    * `source`: `"calibrated"` (embedded, made to resemble the fits) or `"published"` (the original, once fetched).
    * `query`: an int; a list, cycled over the rows; `"all"`: row b plays query b mod Q; `"train"`, `"test"`: the same
      over a fixed split (every fifth query is a test query); None: a new query is drawn at every reset. A single
      environment is row 0 of its batch, so of a list it plays the first query; so does each single of a
      `SyncVectorEnv`: give each its own `query`.
    * `num_items`: the first so many of the query's items. Default: all.
    * `num_positions`: displayed positions.
    * `cutoff`: the first so many positions count. Default: all.
    * `reward`: `"clicks"` or (DCM) `"abandonment"`.
    * `reference`: what `optimal_reward` is: of the `"best"` list, or of the list `"sorted"` by attraction (the papers'
      R*).
    * `horizon`: sessions in an episode; None: no end. `max_episode_steps` (Gymnasium's word) lowers it.
    * `autoreset_mode`: `"NextStep"`, `"SameStep"`, `"Disabled"` or Gymnasium's enum.
    * `render_mode`: None or `"ansi"`.

    ## Version History
    * v0: Initial version release

    ## References
    Lattimore et al. (NeurIPS 2018), section 6; Li et al. (UAI 2019), section 5; Zoghi et al. (ICML 2017).
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    single_action_space: Permutation
    action_space: BatchedPermutation

    def __init__(
        self,
        num_envs: int = 1,
        *,
        model: str = "PBM",
        dataset: str = "yandex",
        source: str = "calibrated",
        query: int | Sequence[int] | str | None = None,
        num_items: int | None = None,
        num_positions: int = 5,
        cutoff: int | None = None,
        reward: str = "clicks",
        reference: str = "best",
        horizon: int | None = DEFAULT_HORIZON,
        max_episode_steps: int | None = None,
        parameters: dict[str, Any] | None = None,
        initial_list: Sequence[int] | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1)
        self.problems = problems = Problems.load(
            model,
            dataset=dataset,
            source=source,
            num_items=num_items,
            num_positions=num_positions,
            parameters=parameters,
            initial_list=initial_list,
        )
        self.num_items, self.num_positions = problems.num_items, int(num_positions)
        self.cutoff = self.num_positions if cutoff is None else whole_number("cutoff", cutoff, 1, self.num_positions)
        self.model = MODELS[model]
        if reward not in self.model.rewards:
            raise ValueError(
                f"reward = {reward!r} is not a reward of the {model}; allowed: {sorted(self.model.rewards)}"
            )
        if reference not in ("best", "sorted"):
            raise ValueError(f"reference = {reference!r} is unknown; allowed: 'best', 'sorted'")
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1)
        if max_episode_steps is not None:
            steps = whole_number("max_episode_steps", max_episode_steps, 1)
            self.horizon = steps if self.horizon is None else min(steps, self.horizon)
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode = {render_mode!r} is unknown; allowed: None, 'ansi'")
        self.render_mode = render_mode
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}

        self.single_action_space = Permutation(self.num_items, self.num_positions)
        self.single_observation_space = MultiBinary(self.num_positions)
        self.action_space = BatchedPermutation(self.num_items, self.num_positions, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

        self._reward, self._paid, self._reference = self.model.rewards[reward], reward, reference
        self._optimal_of, self._better_of, self._initial_misordered_of = self._truth_of(problems)  # of each query
        self._choice, self._pool = _query_choice(query, problems.num_queries, self.num_envs)

        rows = self.num_envs  # all below: what changes, and the truth of the rows' queries
        self._key: NDArray[np.uint64] | None = None  # (rows,) None until the first reset
        self._query_key = np.zeros(rows, np.uint64)
        self._session = np.full(rows, -1, np.int64)  # the last one's number, since the row was seeded
        self._episode = np.full(rows, -1, np.int64)  # since the row was seeded
        self._round = np.full(rows, -1, np.int64)  # the last session's number in its episode
        self._latest_round = -1  # of all rows
        self._ended = np.zeros(rows, bool)  # rows whose episode is over and that wait for a reset
        self._some_ended = False
        self._query = np.zeros(rows, np.int64)
        self._parameters = type(problems.parameters)(*(np.zeros((rows, *a.shape[1:])) for a in problems.parameters))
        self._better = np.zeros((rows, *self._better_of.shape[1:]), np.uint64)
        self._optimal = np.zeros(rows)
        self.initial_list = np.zeros((rows, self.num_items), np.int64)
        self._initial_misordered = np.zeros(rows, np.int64)
        self._displayed = np.full((rows, self.num_positions), -1, np.int64)  # the last lists, and their values
        self._expected = np.zeros(rows)
        self._misordered = np.zeros(rows, np.int64)
        self.last_observation = np.zeros((rows, self.num_positions), np.int8)
        everyone = np.ones(rows, bool)
        self._take_queries(everyone, self._fixed_queries() if self._choice != "drawn" else np.zeros(rows, np.int64))

    # -- the truth, for wrappers and evaluation; no agent asks for it ------------------------------------------------

    @property
    def parameters(self) -> Any:
        """The click model's parameters in the rows' coming sessions, a NamedTuple of arrays with an axis of rows.

        As ``rankgym.models.check_assumptions(env.model, env.parameters, ...)`` takes them. To be read, not changed.
        """
        return self._parameters

    @property
    def attraction(self) -> NDArray[np.float64]:
        """Attraction probabilities in the rows' coming sessions, (num_envs, num_items)."""
        attraction: NDArray[np.float64] = self.parameters.attraction
        return attraction

    @property
    def initial_misordered(self) -> NDArray[np.int64]:
        """|V(R_0)|, the number of incorrectly ordered pairs of the production lists, (num_envs,)."""
        return self._initial_misordered

    @property
    def changes(self) -> int:
        """How many times the truth of some row's coming session has changed other than by a reset: never, here."""
        return 0

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """The rounds below ``rounds`` at which every row begins a new epoch: none, here."""
        whole_number("rounds", rounds, 0)
        return []

    def _truth_of(self, problems: Problems) -> tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]:
        """Of each query the optimal reward (queries,), the better items (queries, items, words), |V(R_0)| (queries,).

        The better items are those of ``rankgym.metrics.better_items``.
        """
        best = problems.best_lists(self._paid, self.cutoff, self.num_positions, self._reference)
        optimal = self.model.values(problems.parameters, best, self.cutoff, self._paid)
        better = better_items(problems.parameters.attraction)
        misordered = np.empty(problems.num_queries, np.int64)
        misordered_pairs(better, np.ascontiguousarray(problems.initial_list[:, : self.num_positions]), misordered)
        return optimal, better, misordered

    @property
    def unseeded(self) -> bool:
        """True before the first reset."""
        return self._key is None

    @property
    def unready(self) -> bool:
        """True where some row waits for its reset: its first, or the one after its episode."""
        return self._some_ended or self._key is None

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
        """New streams, besides those of the users, for ``rows`` from their seeds."""
        self._query_key[rows] = row_keys(seeds, QUERY)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        """Start an episode in the rows of ``mask``; their random streams go on."""
        self._episode[mask] += 1
        self._round[mask] = -1
        self._latest_round = int(self._round.max())
        self._ended[mask] = False
        self._some_ended = bool(self._ended.any())
        self.last_observation[mask] = 0
        if self._choice == "drawn":
            drawn = np.empty(self.num_envs, np.int64)
            draw_numbers(self._query_key, self._episode, len(self._pool), drawn)
            self._take_queries(mask, self._pool[drawn])

    def _fixed_queries(self) -> NDArray[np.int64]:
        return np.resize(self._pool, self.num_envs)

    def _take_queries(self, mask: NDArray[np.bool_], queries: NDArray[np.int64]) -> None:
        """Give the rows of ``mask`` their queries of ``queries`` (num_envs,)."""
        q = queries[mask]
        self._query[mask] = q
        for mine, table in zip(self._parameters, self.problems.parameters, strict=True):
            mine[mask] = table[q]
        self._better[mask] = self._better_of[q]
        self._optimal[mask] = self._optimal_of[q]
        self.initial_list[mask] = self.problems.initial_list[q]
        self._initial_misordered[mask] = self._initial_misordered_of[q]
        self._displayed[mask] = -1  # their values are not known yet

    def _reset_info(self, mask: NDArray[np.bool_]) -> dict[str, Any]:
        info = self._fresh_info()
        if not mask.all():
            info |= {f"_{name}": mask.copy() for name in info}
        return info

    def _fresh_info(self) -> dict[str, Any]:
        """What a reset tells of every row."""
        return {
            "optimal_reward": self._optimal.copy(),
            "round": np.zeros(self.num_envs, np.int64),
            "query": self._query.copy(),
        }

    # -- step --------------------------------------------------------------------------------------------------------

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Display a list in every row; ``actions`` (num_envs, num_positions) of distinct items.

        A row that is reset in this step (autoreset in the next step) ignores its entry, whatever it is.

        Raises:
            ValueError: a row is no ranking; nothing has happened then.
            ResetNeeded: there was no reset yet, or (autoreset disabled) a row's episode is over.
        """
        if self._key is None:
            raise ResetNeeded("reset the environment before its first step")
        waiting = None
        if self._some_ended:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                rows = np.flatnonzero(self._ended).tolist()
                raise ResetNeeded(
                    f"the episodes of rows {rows} are over; reset them with options={{'reset_mask': mask}}"
                )
            waiting = self._ended.copy()
            actions = self._ignored(actions, waiting)
        displayed = self.action_space.checked(actions)
        if waiting is not None:
            return self._step_and_reset(displayed, waiting)
        clicks, reward = self.play(displayed)
        info = self._step_info(clicks)
        terminated, truncated = np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)
        observation = clicks
        if self.at_horizon():
            truncated |= self._ended
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                observation, info = self._reset_in_step(clicks, info, truncated)
        np.copyto(self.last_observation, observation)
        return observation, reward, terminated, truncated, info

    def play(self, displayed: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """One session of every row on lists that were checked: the clicks and the rewards.

        This is a step without what Gymnasium puts around it; the single form shares it. What ``info`` tells is in the
        attributes afterwards, and is overwritten by the next session.
        """
        law = self._reward
        if open_session(displayed, self._displayed, self._session, self._round):  # a list shown again keeps its value
            law.value(*self._parameters, self._displayed, self.cutoff, self._expected)
            misordered_pairs(self._better, self._displayed, self._misordered)
        clicks, reward = np.empty((self.num_envs, self.num_positions), np.int8), np.empty(self.num_envs)
        law.click(*self._parameters, self._key, self._session, self._displayed, self.cutoff, clicks, reward)
        self._latest_round += 1
        return clicks, reward

    def _step_info(self, clicks: NDArray[np.int8]) -> dict[str, Any]:
        return {
            "displayed": self._displayed.copy(),
            "clicks": clicks.copy(),
            "expected_reward": self._expected.copy(),
            "optimal_reward": self._optimal.copy(),
            "regret": self._optimal - self._expected,
            "misordered": self._misordered.copy(),
            "round": self._round.copy(),
            "query": self._query.copy(),
        }

    def first_row_info(self, clicks: NDArray[np.int8]) -> dict[str, Any]:
        """The info of row 0 after ``play``, without its leading axis: what the single form tells."""
        expected, optimal = self._expected.item(0), self._optimal.item(0)
        return {
            "displayed": self._displayed[0].copy(),
            "clicks": clicks[0].copy(),
            "expected_reward": expected,
            "optimal_reward": optimal,
            "regret": optimal - expected,
            "misordered": self._misordered.item(0),
            "round": self._round.item(0),
            "query": self._query.item(0),
        }

    def at_horizon(self) -> bool:
        """Note the rows whose episode is over now; True if there are any."""
        if self.horizon is None or self._latest_round + 1 < self.horizon:
            return False
        np.greater_equal(self._round + 1, self.horizon, out=self._ended)
        self._some_ended = bool(self._ended.any())
        return self._some_ended

    def _ignored(self, actions: Any, waiting: NDArray[np.bool_]) -> Any:
        """``actions`` with the waiting rows' entries replaced by a ranking, where it has an entry for each row."""
        placeholder = np.arange(self.num_positions)
        if isinstance(actions, np.ndarray) and actions.shape == self.action_space.shape and actions.dtype.kind in "iu":
            actions = actions.copy()
            actions[waiting] = placeholder
        elif isinstance(actions, (list, tuple)) and len(actions) == self.num_envs:
            actions = [placeholder if waiting[row] else action for row, action in enumerate(actions)]
        return actions

    def _step_and_reset(
        self, displayed: NDArray[np.int64], waiting: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """A step in which the rows of ``waiting`` are reset instead of played (autoreset in the next step)."""
        observation, reward = np.zeros((self.num_envs, self.num_positions), np.int8), np.zeros(self.num_envs)
        truncated = np.zeros(self.num_envs, bool)
        clicks, rewards = self.play(displayed)
        info = self._step_info(clicks)
        self._session -= waiting  # nobody came to the waiting rows
        observation[~waiting], reward[~waiting] = clicks[~waiting], rewards[~waiting]
        self.at_horizon()
        truncated |= self._ended & ~waiting
        self._begin(waiting)
        np.copyto(self.last_observation, observation)
        return observation, reward, np.zeros(self.num_envs, bool), truncated, self._mixed_info(info, waiting)

    def _reset_in_step(
        self, clicks: NDArray[np.int8], info: dict[str, Any], ended: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Reset the rows of ``ended`` within the step that ended them; what they ended with goes to ``final_...``."""
        observation = clicks.copy()
        observation[ended] = 0
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            final_obs[row] = clicks[row].copy()
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
        """With ``render_mode="ansi"``: one text a row, the displayed list with its clicks."""
        if self.render_mode is None:
            gym.logger.warn('render() was called without a render mode; make the environment with render_mode="ansi"')
            return None
        return tuple(self._text(row) for row in range(self.num_envs))

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return f"query {self._query[row]}: nothing displayed yet"
        shown = self._displayed[row]
        lines = [
            f"{k + 1:3d}. item {item:<4d} {'click' if click else ''}".rstrip()
            for k, (item, click) in enumerate(zip(shown, self.last_observation[row], strict=True))
        ]
        return "\n".join([self._heading(row), *lines])

    def _heading(self, row: int) -> str:
        return f"query {self._query[row]}, round {self._round[row]}"


def _only(values: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
    """A copy of ``values`` that is zero outside of ``rows``."""
    kept = np.zeros_like(values)
    kept[rows] = values[rows]
    return kept


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        choices = [m.value for m in AutoresetMode]
        raise ValueError(f"autoreset_mode = {mode!r} is unknown; allowed: {choices}") from None


def _query_choice(query: Any, num_queries: int, num_envs: int) -> tuple[str, NDArray[np.int64]]:
    """How rows get their queries: ("fixed" or "drawn", the queries to cycle through or to draw from)."""
    everything = np.arange(num_queries)
    allowed = f"allowed: 0 .. {num_queries - 1}, a list of these, 'all', 'train', 'test' or None"
    if query is None:
        return "drawn", everything
    if isinstance(query, str):
        test = everything % SPLIT == SPLIT - 1
        pools = {"all": everything, "train": everything[~test], "test": everything[test]}
        if query not in pools or not len(pools[query]):
            raise ValueError(f"query = {query!r} is unknown or empty with {num_queries} queries; {allowed}")
        return "fixed", pools[query]
    listed = [query] if isinstance(query, (int, np.integer)) else query
    single = isinstance(listed, np.ndarray) and listed.ndim == 0
    if single or not isinstance(listed, (list, tuple, np.ndarray, range)) or len(listed) == 0:
        raise ValueError(f"query = {query!r} is no choice of queries; {allowed}")
    for q in listed:
        if isinstance(q, (bool, np.bool_)) or not isinstance(q, (int, np.integer)) or not 0 <= q < num_queries:
            raise ValueError(f"query = {q!r} is out of range; {allowed}")
    return "fixed", np.array(listed, np.int64)
