"""Duels of rankings of a query's items, by interleaving and the clicks of a click model."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict, MultiBinary
from numpy.typing import NDArray

from rankgym.envs.duels import InterleavedVectorEnv, Pair, checked_rankings, joined_gaps
from rankgym.envs.queries import QueriesVectorEnv
from rankgym.envs.sessions import Compiled, Copy, count_session, keep
from rankgym.interleaving import Lists, copy_rankings, decide
from rankgym.kernels import first_fault
from rankgym.scenes import Side
from rankgym.spaces import Permutation


class InterleavedRankingsRows(NamedTuple):
    """The arrays of an environment that a compiled loop reads and changes."""

    key: NDArray[np.uint64]  # (rows,)
    session: NDArray[np.int64]  # (rows,)
    round: NDArray[np.int64]  # (rows,)
    left: NDArray[np.int64]  # (rows, positions)
    right: NDArray[np.int64]  # (rows, positions)
    left_list: NDArray[np.int64]  # (rows,)
    right_list: NDArray[np.int64]  # (rows,)
    expected_left: NDArray[np.float64]  # (rows,)
    expected_right: NDArray[np.float64]  # (rows,)
    optimal: NDArray[np.float64]  # (rows,)
    displayed: NDArray[np.int64]  # (rows, positions)
    share: NDArray[np.float64]  # (rows, positions)
    credit: NDArray[np.float64]  # (rows, 2)
    winner: NDArray[np.int64]  # (rows,)
    observation: NDArray[np.int8]  # (rows, positions)


class InterleavedRankingsVectorEnv(InterleavedVectorEnv, QueriesVectorEnv):
    """
    ## Description
    Dueling rankings. In each step, one user comes to every row. The agent names two rankings of the query's items; they
    are interleaved, the user sees the one list and clicks according to a click model, and the ranking with more credit
    for the clicks wins. The click models, their queries and their coins are those of `RankingVectorEnv`: a duel of a
    ranking with itself displays it (except by the probabilistic interleaving, which changes it), and then the clicks
    are those of `rankgym/<Model>-Yandex-v0` with the same seed, bit for bit.

    ## Action Space
    `Dict(left=Permutation(num_items, num_positions), right=Permutation(num_items, num_positions))`: two lists, items
    best first.

    ## Observation Space
    `MultiBinary(num_positions)`: the clicks on the interleaved list; all 0 after a reset.

    ## Rewards
    As in `RankingVectorEnv`, for the interleaved list.

    ## Starting State
    ## Episode End
    As in `RankingVectorEnv`.

    ## Information
    `step` gives arrays with one entry a row: `winner` (0 left, 1 right; a fair coin where the credit is equal),
    `credit` (num_envs, 2) of left and right, `left`, `right`, `displayed` (num_envs, num_positions), `clicks`,
    `expected_reward` (num_envs, 2) that the left and the right list would have if displayed, `optimal_reward` of the
    best list, `regret`, `round` of this session in its episode (from 0), `query`. `regret` is the average of both
    lists' gaps to the best one (`"weak"`: the smaller, `"strong"`: the larger). `reset` gives `optimal_reward`,
    `round`, `query`.

    ## Arguments
    ```python
    gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", num_envs=60, query="all")
    ```
    * `interleaving`: a key of `rankgym.interleaving.INTERLEAVINGS`. Default: `"team-draft"`. It displays a list that
      duels with itself as it is, and prefers neither ranking where clicks do not depend on items.
    * `interleaving_knobs`: a dict of that method's keywords.
    * `regret`: `"average"`, `"weak"` or `"strong"`.

    All others are those of `RankingVectorEnv` (`rankgym envs PBM-Yandex-v0` describes them).

    ## Errors
    As in `RankingVectorEnv`.

    ## Examples
    A list that duels with itself is displayed as it is. Its opponent is worth less, which half the regret shows.

    ```python
    >>> import gymnasium as gym, numpy as np, rankgym
    >>> env = gym.make_vec("rankgym/Dueling-PBM-Yandex-v0", num_envs=2, query=0, num_positions=3)
    >>> observation, info = env.reset(seed=0)
    >>> left, right = np.array([[4, 2, 0], [4, 2, 0]]), np.array([[4, 2, 0], [7, 8, 9]])
    >>> clicks, reward, _, _, info = env.step({"left": left, "right": right})
    >>> info["displayed"][0].tolist(), info["winner"].shape
    ([4, 2, 0], (2,))
    >>> gap = info["optimal_reward"][:, None] - info["expected_reward"]
    >>> np.allclose(info["regret"], gap.mean(axis=1))
    True

    ```

    ## Version History
    * v0: Initial version release
    """

    row_attributes = ("initial_list", "parameters", "attraction")
    common_attributes = ("num_items", "num_positions", "cutoff", "interleaving")
    _ranked = "item"

    def __init__(
        self,
        num_envs: int = 1,
        *,
        interleaving: str = "team-draft",
        interleaving_knobs: dict[str, Any] | None = None,
        regret: str = "average",
        **arguments: Any,
    ) -> None:
        super().__init__(num_envs, **arguments)
        self._interleave_by(interleaving, interleaving_knobs, "num_positions", self.num_positions, regret)
        rows, shape = self.num_envs, (self.num_envs, self.num_positions)
        ranking = Permutation(self.num_items, self.num_positions)
        self._set_spaces(MultiBinary(self.num_positions), Dict({"left": ranking, "right": ranking}))
        self._expected = np.zeros((2, rows))  # of left, of right
        self._left, self._right = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        self._lists = Lists.empty(2 * rows, self.num_items, self.num_positions)  # of left, then of right
        self._left_list, self._right_list = np.arange(rows), np.arange(rows) + rows
        self._take_first_problems()

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        super()._take_problems(mask, problems)
        self._left[mask] = self._right[mask] = -1  # their values are not known yet

    # -- step ----------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> Pair:
        return checked_rankings(self.action_space, actions)

    def _checked_single(self, action: Any) -> Pair:
        left, right = checked_rankings(self.single_action_space, action)
        return left[None], right[None]

    def _take_duels(self, pairs: Pair) -> None:
        changed = False
        for side, (ranking, last) in enumerate(zip(pairs, (self._left, self._right), strict=True)):
            if keep(ranking, last):  # a list shown again keeps its value
                copy_rankings(last, side * self.num_envs, self._lists)
                self._reward.value(*self.parameters, last, self.cutoff, self._expected[side])
                changed = True
        if changed:
            self._set_regret()

    def _set_regret(self) -> None:
        optimal, expected = self._optimal, self._expected
        self._regret = joined_gaps(optimal - expected[0], optimal - expected[1], self._regret_kind)

    def _seen(self, row: int, shares: Any) -> dict[str, Any]:
        played, parameters = self._round[row] >= 0, self._row_parameters(row)
        optimal = self._optimal[row]
        sides = [
            Side(ranking[row].tolist(), float(credit), None, None, float(optimal - expected), float(expected))
            for ranking, credit, expected in zip(
                (self._left, self._right), self._credit[row], self._expected[:, row], strict=True
            )
        ]
        left, right = sides if played else (None, None)
        clicks = self.last_observation[row]
        return {
            "user": self.model.name,
            "query": int(self._problem[row]),
            "query_name": self._query_name(row),
            "item_names": self._item_names(row),
            "left": left,
            "right": right,
            "displayed": self._positions(parameters, self._displayed[row], clicks, shares) if played else [],
            "best": self._positions(parameters, self._best_list(row, parameters)),
            "attraction": parameters.attraction[0].tolist(),
            "best_arm": None,
            "left_beats_right": None,
        }

    def _click(self, clicks: NDArray[np.int8], reward: NDArray[np.float64]) -> None:
        coins = (self._key, self._session)
        self._reward.click(*self.parameters, *coins, self._displayed, self.cutoff, clicks, reward)

    def _written(self) -> dict[str, NDArray[Any]]:
        return super()._written() | {"expected": self._expected.T}

    def _restored(self) -> None:
        super()._restored()
        if self._left.min() >= 0:  # else the next session copies all rows' lists, as some are new
            copy_rankings(self._left, 0, self._lists)
            copy_rankings(self._right, self.num_envs, self._lists)
        self._set_regret()

    def passed(self, times: int) -> None:
        super().passed(times)
        self._set_regret()

    def compiled(self) -> Compiled | None:
        found = self.interleaving.kernels(self._lists)
        if found is None:
            return None
        interleave, credit, extra = found
        rows = InterleavedRankingsRows(
            **self._duel_rows(),
            expected_left=self._expected[0],
            expected_right=self._expected[1],
            optimal=self._optimal,
        )
        click, value = self._reward.click, self._reward.value
        kernels = (click, value, keep, copy_rankings, count_session, interleave, credit, decide, first_fault)
        shared = (self._lists, self.cutoff, self.num_items, extra)
        return Compiled("interleaved_rankings", kernels, rows, tuple(self.parameters), shared)

    def expected_rewards(self) -> NDArray[np.float64]:
        """Known where a list duels with itself, except by the probabilistic interleaving, which changes it."""
        same = (self._left == self._right).all(axis=1) & self._keeps_equals
        return np.where(same, self._expected[0], np.nan)

    def _session_info(self, clicks: NDArray[np.int8], copy: Copy, number: Copy) -> dict[str, Any]:
        truth = {"expected_reward": copy(self._expected.T), "optimal_reward": number(self._optimal)}
        return super()._session_info(clicks, copy, number) | truth
