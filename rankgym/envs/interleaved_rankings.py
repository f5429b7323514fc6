"""Duels of rankings of a query's items, by interleaving and the clicks of a click model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, MultiBinary
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rankgym.envs.duels import REGRETS, InterleavedDuel, Pair, checked_rankings, checked_word, joined_gaps, open_round
from rankgym.envs.queries import QueriesVectorEnv
from rankgym.envs.ranking import listed
from rankgym.envs.sessions import DEFAULT_HORIZON
from rankgym.interleaving import Lists, copy_rankings
from rankgym.kernels import kernel
from rankgym.spaces import Permutation


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


class InterleavedRankingsVectorEnv(QueriesVectorEnv):
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
    As in `RankingVectorEnv`, on the interleaved list.

    ## Starting State
    A query: see `query`. The production ranker's list of its items is the attribute `initial_list` (num_envs,
    num_items).

    ## Episode End
    Never terminates; truncates after `horizon` sessions.

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
    * `interleaving`: a key of `rankgym.interleaving.INTERLEAVINGS`. Default: `"team-draft"`, which displays a list that
      duels with itself as it is, and prefers neither ranking where clicks do not depend on items.
    * `interleaving_knobs`: a dict of that method's keywords.
    * `regret`: `"average"`, `"weak"` or `"strong"`.
    * `model`: a key of `rankgym.models.MODELS`: `"CM"`, `"PBM"`, `"DCM"` and so on.
    * `num_items`: how many of the query's items are used, from the first on. Default: all.
    * `num_positions`: how many positions are displayed.
    * `cutoff`: how many positions count in rewards, from the first on. Default: all.
    * `reward`: `"clicks"` or (DCM) `"abandonment"`.
    * `reference`: the list that `optimal_reward` is of: the `"best"` one, or the one `"sorted"` by attraction.
    * `query`: an int; a list, cycled over the rows; `"all"`: row b plays query b mod Q; `"train"`, `"test"`: the same
      over a fixed split (every fifth query is a test query); None: a new query is drawn at every reset.
    * `dataset`, `source`, `parameters`, `initial_list`, `horizon`, `max_episode_steps`, `autoreset_mode`,
      `render_mode`: as in `RankingVectorEnv` (`rankgym envs PBM-Yandex-v0` describes them).

    ## Version History
    * v0: Initial version release
    """

    row_attributes = ("initial_list", "parameters", "attraction")
    common_attributes = ("num_items", "num_positions", "cutoff", "interleaving")

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
        interleaving: str = "team-draft",
        interleaving_knobs: dict[str, Any] | None = None,
        regret: str = "average",
        horizon: int | None = DEFAULT_HORIZON,
        max_episode_steps: int | None = None,
        parameters: dict[str, Any] | None = None,
        initial_list: Sequence[int] | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, horizon, max_episode_steps, autoreset_mode, render_mode)
        loaded: dict[str, Any] = {"num_items": num_items, "parameters": parameters, "initial_list": initial_list}
        loaded |= {"dataset": dataset, "source": source}
        self._set_queries(model, num_positions, query, cutoff, reward, reference, **loaded)
        rows, shape = self.num_envs, (self.num_envs, self.num_positions)
        self._comparison = InterleavedDuel(interleaving, interleaving_knobs, rows, self.num_positions, "num_positions")
        self.interleaving = self._comparison.method
        self._regret_kind = checked_word("regret", regret, REGRETS)
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

    def play(self, pairs: Pair) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play one session in every row on two checked lists: return the clicks and the rewards."""
        law, rows = self._reward, self.num_envs
        open_round(self._session, self._round)
        self._latest_round += 1
        for side, (ranking, last) in enumerate(zip(pairs, (self._left, self._right), strict=True)):
            if keep(ranking, last):  # a list shown again keeps its value
                copy_rankings(last, side * rows, self._lists)
                law.value(*self._parameters, last, self.cutoff, self._expected[side])
        numbers = (self._left_list, self._right_list)
        self._comparison.interleave(self._lists, numbers, self._key, self._session)
        clicks, reward = np.empty((rows, self.num_positions), np.int8), np.empty(rows)
        shown = self._comparison.displayed
        law.click(*self._parameters, self._key, self._session, shown, self.cutoff, clicks, reward)
        self._comparison.judge(self._lists, numbers, self._key, self._session, clicks)
        return clicks, reward

    def _written(self) -> dict[str, NDArray[Any]]:
        last = {"left": self._left, "right": self._right, "expected": self._expected.T}
        return super()._written() | last | self._comparison.written()

    def _restored(self) -> None:
        super()._restored()
        if self._left.min() >= 0:  # else the next session copies all rows' lists, as some are new
            copy_rankings(self._left, 0, self._lists)
            copy_rankings(self._right, self.num_envs, self._lists)

    def expected_rewards(self) -> NDArray[np.float64]:
        """Known where a list duels with itself, except by the probabilistic interleaving, which changes it."""
        same = (self._left == self._right).all(axis=1) & self._comparison.keeps_equals
        return np.where(same, self._expected[0], np.nan)

    def _step_info(self, observation: NDArray[np.int8]) -> dict[str, Any]:
        gap = self._optimal - self._expected  # of left, of right
        return {
            "winner": self._comparison.winner.copy(),
            "credit": self._comparison.credit.copy(),
            "left": self._left.copy(),
            "right": self._right.copy(),
            "displayed": self._comparison.displayed.copy(),
            "clicks": observation.copy(),
            "regret": joined_gaps(gap[0], gap[1], self._regret_kind),
            "round": self._round.copy(),
            "query": self._problem.copy(),
            "expected_reward": self._expected.T.copy(),
            "optimal_reward": self._optimal.copy(),
        }

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return "nothing displayed yet"
        duel = f"left {self._left[row].tolist()}, right {self._right[row].tolist()}"
        heading = f"query {self._problem[row]}, round {self._round[row]}: {duel}; {self._comparison.result(row)}"
        return "\n".join([heading, *listed("item", self._comparison.displayed[row], self.last_observation[row])])
