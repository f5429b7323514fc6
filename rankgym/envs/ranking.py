"""The ranking environment: each step, one user in every row sees a list and clicks. Users may change by a schedule."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import MultiBinary
from numpy.typing import NDArray

from rankgym.envs.queries import Queries, QueriesVectorEnv
from rankgym.envs.schedule import Schedule
from rankgym.envs.sessions import Compiled, Copy, listed, open_session
from rankgym.kernels import first_fault
from rankgym.metrics import better_items, misordered_pairs
from rankgym.scenes import RankingScene, query_text
from rankgym.spaces import BatchedPermutation, Permutation


class RankingRows(NamedTuple):
    """The arrays of an environment that a compiled loop reads and changes."""

    key: NDArray[np.uint64]  # (rows,)
    session: NDArray[np.int64]  # (rows,)
    round: NDArray[np.int64]  # (rows,)
    displayed: NDArray[np.int64]  # (rows, positions)
    expected: NDArray[np.float64]  # (rows,)
    misordered: NDArray[np.int64]  # (rows,)
    better: NDArray[np.uint64]  # (rows, items, words)
    optimal: NDArray[np.float64]  # (rows,)
    observation: NDArray[np.int8]  # (rows, positions)


class RankingVectorEnv(QueriesVectorEnv):
    """
    ## Description
    Online learning to rank. In each step, one user comes to every row, sees the list that the agent displays, and
    clicks according to a click model. Rows are independent: a row's history depends on its own seed and its own actions
    alone, whatever the batch. Two agents on the same seed meet the same users: attraction coins are indexed by (seed,
    session, item), the others by (seed, session, position).

    ## Action Space
    `Permutation(num_items, num_positions)`: the displayed list, best item first. Lists with repeated items or items out
    of range raise a ValueError, and nothing has happened then.

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
    * `model`: a key of `rankgym.models.MODELS`: `"CM"`, `"PBM"`, `"DCM"` and so on; or your own click model,
      `"package.module:MODEL"`, with the dataset `"synthetic"` or imported fits (see `examples/own_click_model.py`).
    * `dataset`: `"yandex"`; or `"synthetic"`: queries with the given `parameters`, or 1,000 queries drawn from a fixed
      seed; `query` chooses among them.
    * `parameters`: of synthetic queries: a dict of lists by the model's parameter names (the fields of
      `rankgym.models.MODELS[model].parameters`), with an entry for each item (attraction, satisfaction) or position
      (examination, termination); abandonment and continue_... are numbers; the UBM's examination has a row for each
      position and a column for the position of the click before, the last one for none yet. One more level of lists
      gives each query its own. Parameters left out are drawn; see `rankgym.envs.queries`. (Arrays work as well, but the
      environment's spec has no JSON form then.)
    * `initial_list`: the production ranker's list of all items, best first, for all queries. Default: 0, 1, 2, ..., the
      order of the production result page.
    * `source`: `"calibrated"` (embedded, made to resemble the fits) or `"published"` (the
      original, after `rankgym data fetch`), or the NAME of fits after `rankgym data import NAME fits.csv`.
    * `query`: an int; a list, cycled over the rows; `"all"`: row b plays query b mod Q; `"train"`, `"test"`: the same
      over a fixed split (every fifth query is a test query); None: a new query is drawn at every reset. A single
      environment is row 0 of its batch, so of a list it plays the first query; so does each single of a
      `SyncVectorEnv`: give each its own `query`. Queries of imported fits have names, which work like numbers.
    * `num_items`: how many of the query's items are used, from the first on. Default: all.
    * `num_positions`: how many positions are displayed. Default: 5, or as many as imported fits have.
    * `cutoff`: how many positions count in rewards, from the first on. Default: all.
    * `reward`: `"clicks"` or (DCM) `"abandonment"`.
    * `reference`: the list that `optimal_reward` is of: the `"best"` one, or the one `"sorted"` by attraction (the
      papers' R*).
    * `horizon`: sessions of an episode; None: no end.
    * `max_episode_steps`: Gymnasium's word for `horizon`, which it lowers; `env.spec.max_episode_steps` is the result.
    * `autoreset_mode`: `"NextStep"`, `"SameStep"`, `"Disabled"` or Gymnasium's enum.
    * `render_mode`: None; `"ansi"`: `render()` returns a text; `"rgb_array"`: a picture of the result page (needs
      Pillow, the extra `render`); or, in `gym.make`, `"human"`: each picture is shown in a window. A batch returns a
      tuple with one text or picture a row. Nothing is drawn unless `render()` is called.

    ## Errors
    An argument or action out of range raises a ValueError, and an unknown argument a TypeError; the message has the
    name, the value and what is allowed. Published data that are not in the cache raise `rankgym.data.MissingData`, and
    a step before the first reset Gymnasium's `ResetNeeded`.

    ## Examples
    Two rows see two lists of a cascade model, in which a user leaves after a click. The best list is worth
    1 - 0.1 * 0.5 = 0.95 clicks, the other one 1 - 0.5 * 0.9 = 0.55.

    ```python
    >>> import gymnasium as gym, numpy as np, rankgym
    >>> problem = {"parameters": {"attraction": [0.9, 0.5, 0.1]}, "num_positions": 2, "horizon": 100}
    >>> env = gym.make_vec("rankgym/CM-Synthetic-v0", num_envs=2, **problem)
    >>> observation, info = env.reset(seed=0)
    >>> clicks, reward, terminated, truncated, info = env.step(np.array([[0, 1], [1, 2]]))
    >>> clicks.shape, info["optimal_reward"].round(3).tolist(), info["regret"].round(3).tolist()
    ((2, 2), [0.95, 0.95], [0.0, 0.4])
    >>> info["misordered"].tolist()  # in row 1 items 1 and 2 stand above the hidden item 0
    [0, 2]

    ```

    ## Version History
    * v0: Initial version release

    ## References
    Lattimore et al. (NeurIPS 2018), section 6; Li et al. (UAI 2019), section 5; Zoghi et al. (ICML 2017).
    """

    row_attributes = ("initial_list", "initial_misordered", "parameters", "attraction")
    common_attributes = ("num_items", "num_positions", "cutoff")

    single_action_space: Permutation
    action_space: BatchedPermutation

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        super().__init__(num_envs, **arguments)
        self._set_spaces(MultiBinary(self.num_positions), Permutation(self.num_items, self.num_positions))
        self._better_of, self._initial_misordered_of = self._order_of(self.queries)  # of each query
        self.schedule: Schedule | None = None  # see `follow`

        rows = self.num_envs
        self._better = np.zeros((rows, *self._better_of.shape[1:]), np.uint64)  # in the rows' coming sessions
        self.initial_misordered = np.zeros(rows, np.int64)  # |V(R_0)|: of the production lists, in these sessions
        # the last sessions: lists and their values
        self._displayed = np.full((rows, self.num_positions), -1, np.int64)
        self._expected = np.zeros(rows)
        self._misordered = np.zeros(rows, np.int64)
        self._take_first_problems()

    def follow(self, schedule: Schedule) -> None:
        """Let the users change as ``schedule`` says, from the next reset on. Each environment needs its own schedule.

        Raises:
            ValueError: the schedule does not fit this environment's sizes or horizon.
        """
        schedule.start(self)
        self.schedule = schedule
        if self.render_mode is not None:  # the truth of a last session that is already history, see `_prepare_next`
            self._past_round = np.full(self.num_envs, -1, np.int64)  # -1: it is still that of the coming session
            self._past = type(self.parameters)(*(np.zeros_like(table) for table in self.parameters))

    @property
    def changes(self) -> int:
        return 0 if self.schedule is None else self.schedule.changes

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        return super().common_breakpoints(rounds) if self.schedule is None else self.schedule.common_breakpoints(rounds)

    def _order_of(self, queries: Queries) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return each query's better items (queries, items, words), as in ``rankgym.metrics``, and |V(R_0)|."""
        better = better_items(queries.parameters.attraction)
        misordered = np.empty(queries.num_queries, np.int64)
        misordered_pairs(better, np.ascontiguousarray(queries.initial_list[:, : self.num_positions]), misordered)
        return better, misordered

    # -- episodes and epochs -------------------------------------------------------------------------------------------

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        super()._take_problems(mask, problems)
        q = self._problem[mask]
        self._better[mask] = self._better_of[q]
        self.initial_misordered[mask] = self._initial_misordered_of[q]
        self._displayed[mask] = -1  # their values are not known yet

    def _take_seeds(self, rows: list[int], seeds: list[int]) -> None:
        super()._take_seeds(rows, seeds)
        if self.schedule is not None:
            self.schedule.take_seeds(rows, seeds)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        super()._begin(mask)
        if self.schedule is None:
            return
        if not self._draws_problems:  # else the rows have just taken their new queries
            self._take_problems(mask, self._problem)
        rows = np.flatnonzero(mask)
        if self.render_mode is not None:
            self._past_round[rows] = -1
        self.schedule.begin_episode(rows, self._episode)
        if self.schedule.scenario.from_start:
            self._draw_epochs(rows)
        self.schedule.look_ahead(self._round)

    def _prepare_next(self) -> None:
        """Begin the epochs whose first session is the coming one: the attributes have the truth of that session."""
        if self.schedule is not None and self.schedule.quiet == 0:
            rows = self.schedule.begin_due(self._round)
            if len(rows):
                if self.render_mode is not None:  # scenes show the last session
                    self._past_round[rows] = self._round[rows]
                    for past, table in zip(self._past, self.parameters, strict=True):
                        past[rows] = table[rows]
                self._draw_epochs(rows)

    def _draw_epochs(self, rows: NDArray[np.int64]) -> None:
        assert self.schedule is not None
        self._set_truth(rows, self.schedule.draw(rows, self._episode, self._own(rows), self.model.axes))

    def _own(self, rows: NDArray[np.int64]) -> Any:
        """Return the parameters of the queries of ``rows``, before any change."""
        tables = self.queries.parameters
        return type(tables)(*(table[self._problem[rows]] for table in tables))

    def _set_truth(self, rows: NDArray[np.int64], parameters: Any) -> None:
        """Make ``parameters``, with an axis of ``rows``, the truth of these rows."""
        for mine, changed in zip(self.parameters, parameters, strict=True):
            mine[rows] = changed
        queries = self.queries._replace(parameters=parameters, initial_list=self.initial_list[rows])
        self._optimal[rows] = self._optimal_rewards(queries)
        self._better[rows], self.initial_misordered[rows] = self._order_of(queries)

    def alike(self) -> int:
        return super().alike() if self.schedule is None else min(super().alike(), self.schedule.quiet)

    def passed(self, times: int) -> None:
        super().passed(times)
        if self.schedule is not None:
            self.schedule.quiet -= times
            self._prepare_next()

    def _written(self) -> dict[str, NDArray[Any]]:
        last = {"displayed": self._displayed, "expected": self._expected, "misordered": self._misordered}
        if self.schedule is None:
            return super()._written() | last
        past: dict[str, NDArray[Any]] = {}
        if self.render_mode is not None:
            past = {"past_round": self._past_round, **{f"past_{n}": v for n, v in self._past._asdict().items()}}
        return super()._written() | last | self.schedule.written() | past

    def _restored(self) -> None:
        super()._restored()
        if self.schedule is not None:
            rows = np.flatnonzero(self.schedule.changed)
            if len(rows):
                self._set_truth(rows, self.schedule.parameters(rows, self._own(rows), self.model.axes))
            self.schedule.look_ahead(self._round)

    # -- step --------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> NDArray[np.int64]:
        return self.action_space.checked(actions)

    def _checked_single(self, action: Any) -> NDArray[np.int64]:
        return self.single_action_space.checked(action)[None]

    def play(self, displayed: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play one session in every row on checked lists: return the clicks and the rewards."""
        law, schedule = self._reward, self.schedule
        if schedule is not None:
            if schedule.quiet == 0:
                self._displayed[schedule.enter(self._round)] = -1  # their lists have other values now
            schedule.quiet -= 1
        self._latest_round += 1
        if open_session(displayed, self._displayed, self._session, self._round):  # a list shown again keeps its value
            law.value(*self.parameters, self._displayed, self.cutoff, self._expected)
            misordered_pairs(self._better, self._displayed, self._misordered)
        clicks, reward = np.empty((self.num_envs, self.num_positions), np.int8), np.empty(self.num_envs)
        law.click(*self.parameters, self._key, self._session, self._displayed, self.cutoff, clicks, reward)
        return clicks, reward

    def compiled(self) -> Compiled:
        mine = (self._key, self._session, self._round, self._displayed, self._expected, self._misordered)
        rows = RankingRows(*mine, self._better, self._optimal, self.last_observation)
        kernels = (self._reward.click, self._reward.value, open_session, misordered_pairs, first_fault)
        return Compiled("rankings", kernels, rows, tuple(self.parameters), (self.cutoff, self.num_items))

    def expected_rewards(self) -> NDArray[np.float64]:
        return self._expected.copy()

    def _fresh_info(self) -> dict[str, Any]:
        fresh = super()._fresh_info()
        return fresh if self.schedule is None else {**fresh, "epoch": self.schedule.last_epoch.copy()}

    def _session_info(self, clicks: NDArray[np.int8], copy: Copy, number: Copy) -> dict[str, Any]:
        expected, optimal = number(self._expected), number(self._optimal)
        info = {
            "displayed": copy(self._displayed),
            "clicks": copy(clicks),
            "expected_reward": expected,
            "optimal_reward": optimal,
            "regret": optimal - expected,
            "misordered": number(self._misordered),
            "round": number(self._round),
            "query": number(self._problem),
        }
        if self.schedule is not None:
            info["epoch"] = number(self.schedule.last_epoch)
        return info

    def _scene(self, row: int) -> RankingScene:
        played, parameters = self._round[row] >= 0, self._row_parameters(row)
        if self.schedule is not None and played and self._past_round[row] == self._round[row]:
            parameters = type(self._past)(*(table[[row]] for table in self._past))
        best = self._best_list(row, parameters)
        optimal = float(self.model.values(parameters, best[None], self.cutoff, self._paid)[0])
        expected = float(self._expected[row])
        clicks = self.last_observation[row]
        return RankingScene(
            model=self.model.name,
            query=int(self._problem[row]),
            round=int(self._round[row]) if played else None,
            epoch=None if self.schedule is None else int(self.schedule.last_epoch[row]),
            displayed=self._positions(parameters, self._displayed[row], clicks) if played else [],
            best=self._positions(parameters, best),
            best_is_sorted=self._reference == "sorted",
            attraction=parameters.attraction[0].tolist(),
            cutoff=self.cutoff,
            paid=self._paid,
            expected_reward=expected if played else None,
            optimal_reward=optimal,
            misordered=int(self._misordered[row]) if played else None,
            regret=optimal - expected if played else None,
            regret_so_far=float(self.regret_so_far[row]),
            query_name=self._query_name(row),
            item_names=self._item_names(row),
        )

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return f"{query_text(self._problem[row], self._query_name(row))}: nothing displayed yet"
        heading = f"{query_text(self._problem[row], self._query_name(row))}, round {self._round[row]}"
        if self.schedule is not None:
            heading += f", epoch {self.schedule.last_epoch[row]}"
        return "\n".join(
            [heading, *listed("item", self._displayed[row], self.last_observation[row], self._item_names(row))]
        )
