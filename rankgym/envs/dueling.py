"""The dueling environment: two arms are compared in every row, and a preference matrix says how often each wins."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary
from numpy.typing import NDArray

from rankgym.arguments import different_numbers, one_of, whole_number
from rankgym.envs.duels import (
    AVERAGE,
    REGRETS,
    WEAK,
    Pair,
    checked_arm_pair,
    checked_arm_pairs,
    first_wrong_arm,
    joined_gaps,
    key_of,
)
from rankgym.envs.matrices import CONDORCET, WINNERS, best_arms, judge, matrices
from rankgym.envs.resets import checked_problems
from rankgym.envs.sessions import Compiled, Copy, SessionsVectorEnv
from rankgym.kernels import bits, kernel, session_seed, shuffle, uniform
from rankgym.scenes import DuelScene

ATTEMPTS, MAX_ATTEMPTS = 1 << 32, 1_000  # where their words lie in an episode's sequence, and how many there are


@kernel
def duel(preference, matrix, arms, gap, entry, regret, key, session, round, left, right, won, winner, reward, loss):
    """Play one duel in every row.

    Row b compares arms of entry e = ``entry[b]`` of ``matrix`` (entries,), ``arms`` and ``gap`` (entries, arms): arm k
    is arm ``arms[e, k]`` of ``preference[matrix[e]]``. ``session`` and ``round`` (rows,) are increased by one.
    ``won`` (rows, 2) gets the winner one-hot, ``winner`` (rows,) its number, 0 left or 1 right, ``loss`` (rows,) the
    regret, and ``reward`` (rows,) minus the regret.

    A session has one coin: uniform < p_ij says that i beats j, i < j. So the same pair has the same winner whichever of
    them is on the left. An arm against itself: the left one wins below 1/2.
    """
    for row in range(left.shape[0]):
        session[row] += 1
        round[row] += 1
        e, i, j = entry[row], left[row], right[row]
        first, second = min(i, j), max(i, j)
        chance = preference[matrix[e], arms[e, first], arms[e, second]]
        first_won = uniform(bits(session_seed(key[row], session[row]), 0)) < chance
        winner[row] = 0 if first_won == (i <= j) else 1
        won[row, 0], won[row, 1] = 1 - winner[row], winner[row]
        if regret == AVERAGE:
            loss[row] = (gap[e, i] + gap[e, j]) / 2.0
        elif regret == WEAK:
            loss[row] = min(gap[e, i], gap[e, j])
        else:
            loss[row] = max(gap[e, i], gap[e, j])
        reward[row] = -loss[row]


@kernel
def draw_arms(key, episode, attempt, kept, order, arms):
    """Fill ``arms`` (rows, count) with different arms in random order, ``kept`` (rows,) among them unless it is -1.

    Every set is equally probable, and so is every order. ``order`` (arms of the matrix,) is scratch. The bits come from
    the seed of the row's episode: from number 0 on for the set, from the size of ``order`` on for its order. Each later
    ``attempt`` than number 0 has a seed of its own.
    """
    rows, count = arms.shape
    total = order.shape[0]
    for row in range(rows):
        seed = bits(key[row], episode[row])
        if attempt > 0:
            seed = bits(seed, ATTEMPTS + attempt)
        for arm in range(total):
            order[arm] = arm
        start = 0
        if kept[row] >= 0:
            order[0], order[kept[row]], start = kept[row], 0, 1
        shuffle(order, start, total, count - start, seed, 0)
        shuffle(order, 0, count, count, seed, total)
        for place in range(count):
            arms[row, place] = order[place]


class DuelingRows(NamedTuple):
    """The arrays of an environment that a compiled loop reads and changes, (rows,) each, but for the observation."""

    key: NDArray[np.uint64]
    session: NDArray[np.int64]
    round: NDArray[np.int64]
    entry: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    winner: NDArray[np.int64]
    loss: NDArray[np.float64]
    observation: NDArray[np.int8]  # (rows, 2)


class DuelingVectorEnv(SessionsVectorEnv):
    """
    ## Description
    Dueling bandits: in each step the agent names two arms in every row and observes which of them won. Arm i beats arm
    j with probability `preference[i, j]`, independently of all other duels. In the papers' experiments arms are
    rankers, a duel is an interleaved comparison, and the matrix was estimated from millions of comparisons.

    Rows are independent: a row's history depends on its own seed and its own actions alone, whatever the batch. A
    session has one coin, indexed by (seed, session): two agents on the same seed that compare the same arms in the same
    session see the same winner, whichever of them is on the left.

    ## Action Space
    `Dict(left=Discrete(num_arms), right=Discrete(num_arms))`: the arms to compare. Both may be the same arm; then a
    fair coin decides. Anything else raises a ValueError, and nothing has happened then.

    ## Observation Space
    `MultiBinary(2)`: one-hot, `[1, 0]` where the left arm won; all 0 after a reset.

    ## Rewards
    Minus the regret of the duel. It is privileged: a real system does not know the matrix. The agents of this package
    learn from the observation.

    ## Starting State
    A problem: see `problem` and `num_arms`.

    ## Episode End
    Never terminates; truncates after `horizon` sessions.

    ## Information
    `step` gives arrays with one entry a row: `winner` (0 left, 1 right), `left`, `right`, `regret`, `round` of this
    session in its episode (from 0), `problem`. `reset` gives `round` and `problem`. A row that a step has just reset
    has zeros in the other entries, and False in Gymnasium's masks `_key`, which are there wherever rows differ.

    The truth is in the attributes `preference` (num_envs, num_arms, num_arms), `condorcet_winner` (num_envs,), which is
    -1 without one, `best_arm` (num_envs,), the arm that regret is measured against, `best_arms` (num_envs, num_arms),
    True for it and for all that are as good, and `arms` (num_envs, num_arms), the arms' numbers in the named matrix.
    Agents never read them.

    ## Arguments
    ```python
    gym.make_vec("rankgym/Dueling-MSLR-v0", num_envs=100, num_arms=64, horizon=10_000_000)
    ```
    * `dataset`: `"arxiv"` (6 arms), `"cyclic"` (4), `"arithmetic"` (8), `"mslr"` (136), the name of a matrix
      imported by `rankgym data import`, or `"synthetic"`: the given `preference`, or drawn matrices.
    * `source`: of `"mslr"`: `"calibrated"` (embedded, made to resemble the original) or `"published"` (once fetched).
    * `user_model`: of `"mslr"`: whose clicks decided the comparisons, those of the `"perfect"`, the `"navigational"` or
      the `"informational"` user.
    * `uninformative`: number of arms to add that lose to all others and tie with each other.
    * `preference`: of `"synthetic"`: a matrix as a list of lists, or one more level: a list of matrices of the same
      size, one a problem. Entries in [0, 1], p_ij + p_ji = 1, 1/2 on the diagonal.
    * `family`: of `"synthetic"` without `preference`, where matrices are drawn from fixed seeds: a family of
      `rankgym.data.preferences.FAMILIES`. Default: `"uniform"`. It has circles everywhere below a planted winner.
    * `knobs`: of a `family`: a dict of numbers by name. Default: the family's own.
    * `num_problems`: of a `family`: how many matrices are drawn. Default: 100.
    * `num_arms`: how many of the matrix's arms are drawn at every reset, in random order, from the row's seed.
      Default: all. Of a `family`: how many arms a matrix has, 10 if it is not said.
    * `keep_winner`: True: the best of all arms (by `winner`) is always among them, and only the others are drawn.
      False: all are drawn; with `winner="condorcet"` until some arm beats all others, as in section 5 of the
      mergeRUCB paper.
    * `arms`: the arms of the matrix to use, in this order. Default: all.
    * `problem`: an int; a list, cycled over the rows; `"all"`: row b plays problem b mod P; `"train"`, `"test"`: the
      same over a fixed split (every fifth is a test problem); None: a new one is drawn at every reset. A named matrix
      is one problem.
    * `regret`: of the gaps of both arms to the best one `"average"` takes the mean (mergeRUCB section 2), `"weak"` the
      smaller, `"strong"` the larger one.
    * `winner`: what the best arm is, and with it the gap of arm k: the `"condorcet"` winner w, which beats every
      other arm: p_wk - 1/2; the first `"copeland"` winner: the share of the other arms that an arm beats (p > 1/2; a
      tie is no win), its own minus that of k; the first `"borda"` winner: likewise with the mean probability of beating
      another arm. With `num_arms` or `arms` the other arms are those chosen. A matrix without a Condorcet winner needs
      another choice.
    * `horizon`, `max_episode_steps`, `autoreset_mode`, `render_mode`: as in `RankingVectorEnv` (`rankgym envs
      PBM-Yandex-v0` describes them).

    ## Errors
    As in `RankingVectorEnv`; a ValueError also names the first wrong entry of a preference matrix.

    ## Examples
    The Condorcet winner, arm 0, beats arm 2 with probability 0.7, so arm 2 has the gap 0.2; a duel of arms 1 and 2
    costs the mean of their gaps.

    ```python
    >>> import gymnasium as gym, numpy as np, rankgym
    >>> preference = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
    >>> env = gym.make_vec("rankgym/Dueling-Synthetic-v0", num_envs=2, preference=preference)
    >>> observation, info = env.reset(seed=0)
    >>> won, reward, _, _, info = env.step({"left": np.array([0, 1]), "right": np.array([0, 2])})
    >>> won.sum(axis=1).tolist(), info["regret"].round(3).tolist()
    ([1, 1], [0.0, 0.15])
    >>> env.unwrapped.condorcet_winner.tolist()
    [0, 0]

    ```

    ## Version History
    * v0: Initial version release

    ## References
    Zoghi, Whiteson and de Rijke, "MergeRUCB: a method for large-scale online ranker evaluation", WSDM 2015, section 2.
    Weak and strong regret: Yue, Broder, Kleinberg and Joachims, "The K-armed dueling bandits problem", JCSS 2012.
    Copeland regret: Zoghi, Karnin, Whiteson and de Rijke, "Copeland dueling bandits", NIPS 2015, whose regret of a duel
    is the sum of both gaps, twice the average. Copeland and Borda scores: Urvoy, Clerot, Feraud and Naamane, "Generic
    exploration and K-armed voting bandits", ICML 2013.
    """

    row_attributes = ("preference", "condorcet_winner", "best_arm", "best_arms", "arms")
    common_attributes = ("num_arms",)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        dataset: str = "arxiv",
        source: str = "calibrated",
        user_model: str = "perfect",
        uninformative: int = 0,
        preference: Sequence[Any] | None = None,
        family: str | None = None,
        knobs: dict[str, float] | None = None,
        num_problems: int | None = None,
        num_arms: int | None = None,
        keep_winner: bool = True,
        arms: Sequence[int] | None = None,
        problem: int | Sequence[int] | str | None = None,
        regret: str = "average",
        winner: str = "condorcet",
        **arguments: Any,
    ) -> None:
        super().__init__(num_envs, **arguments)
        self._regret, self._best_by = one_of("regret", regret, REGRETS), one_of("winner", winner, WINNERS)
        if not isinstance(keep_winner, bool):
            raise ValueError(f"keep_winner = {keep_winner!r} is out of range; allowed: True, False")
        drawn = {"family": family, "knobs": knobs, "num_problems": num_problems}
        named = {"dataset": dataset, "source": source, "user_model": user_model}
        self._preference = matrices(named, preference, drawn, num_arms, uninformative)
        draws_matrices = dataset == "synthetic" and preference is None  # then they have num_arms arms
        self._draws_arms = num_arms is not None and not draws_matrices
        if arms is not None and self._draws_arms:
            raise ValueError(f"arms = {arms!r} and num_arms = {num_arms!r} are given; allowed: one of them")
        problems, total = self._preference.shape[:2]
        self._numbers = np.arange(total)  # of the matrix's arms, as the user knows them
        if arms is not None:
            self._numbers = np.array(different_numbers("arms", arms, "arms", total, 2))
            self._preference = np.ascontiguousarray(self._preference[:, self._numbers][:, :, self._numbers])
            total = len(self._numbers)
        self.num_arms = whole_number("num_arms", num_arms, 2, total) if self._draws_arms else total
        self._set_spaces(MultiBinary(2), Dict(left=Discrete(self.num_arms), right=Discrete(self.num_arms)))
        self._draws_problems, self.pool = checked_problems("problem", problem, problems)
        # What rows may compare: entries, see `duel`. There is one for each problem, or each row has its own.
        self._set_entries(np.arange(problems), np.tile(np.arange(total), (problems, 1)))
        if keep_winner or not self._draws_arms:
            given = "drawn matrix {}" if draws_matrices else "preference[{}]" if problems > 1 else "preference"
            self._check_winners(given if dataset == "synthetic" else f"dataset = {dataset!r}", arms is not None)
        self._entry, rows = self._problem, self.num_envs
        self._take_first_problems()
        if self._draws_arms:
            self._kept = self._best if keep_winner else np.full(problems, -1)
            self._set_entries(np.zeros(rows, np.int64), np.zeros((rows, self.num_arms), np.int64))
            self._entry = np.arange(rows)
            self._draw_arms(np.arange(rows))
        self._left, self._right, self._winner = (np.zeros(rows, np.int64) for _ in range(3))  # of the last session
        self._loss = np.full(rows, np.nan)  # its regret

    def _check_winners(self, whose: str, chosen: bool) -> None:
        """Refuse a problem without a Condorcet winner where it is needed; ``whose`` may have a place for its number."""
        if self._best_by == CONDORCET and (self._condorcet < 0).any():
            who = (
                f"{'none of the chosen arms' if chosen else 'no arm'} of {whose.format(int(self._condorcet.argmin()))}"
            )
            allowed = "'copeland', 'borda', or another matrix"
            raise ValueError(f"winner = 'condorcet', and {who} beats all others; allowed: {allowed}")

    # -- the truth, for wrappers and evaluation; agents never read it --------------------------------------------------

    @property
    def preference(self) -> NDArray[np.float64]:
        """The rows' preference matrices, (num_envs, num_arms, num_arms). Do not write to them."""
        if len(self._matrix) == 1:  # without a copy for each row
            table = self._preference[self._matrix[0]][self._arms[0][:, None], self._arms[0]]
            return np.broadcast_to(table, (self.num_envs, *table.shape))
        matrix, arms = self._matrix[self._entry], self._arms[self._entry]
        chances: NDArray[np.float64] = self._preference[matrix[:, None, None], arms[:, :, None], arms[:, None, :]]
        return chances

    @property
    def condorcet_winner(self) -> NDArray[np.int64]:
        """The arm that beats every other arm, (num_envs,); -1 where no arm does."""
        return self._condorcet[self._entry]

    @property
    def best_arm(self) -> NDArray[np.int64]:
        """The arm that regret is measured against, (num_envs,): the Condorcet winner, or as ``winner`` says."""
        return self._best[self._entry]

    @property
    def best_arms(self) -> NDArray[np.bool_]:
        """Whether an arm is the best one, or has as large a Copeland or Borda score: (num_envs, num_arms)."""
        return best_arms(self._gap, self._best, self._best_by)[self._entry]

    @property
    def arms(self) -> NDArray[np.int64]:
        """Which arms of the named matrix the rows' arms are, (num_envs, num_arms)."""
        return self._numbers[self._arms[self._entry]]

    def _set_entries(self, matrix: NDArray[np.int64], arms: NDArray[np.int64]) -> None:
        """Set the entries: ``matrix`` (entries,) and ``arms`` (entries, arms)."""
        self._matrix, self._arms, self._gap = matrix, arms, np.zeros(arms.shape)
        self._best, self._condorcet = np.zeros(len(arms), np.int64), np.zeros(len(arms), np.int64)
        judge(self._preference, matrix, arms, self._best_by, self._gap, self._best, self._condorcet)

    # -- reset -------------------------------------------------------------------------------------------------------

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        super()._begin(mask)
        if self._draws_arms:
            self._draw_arms(np.flatnonzero(mask))

    def _draw_arms(self, rows: NDArray[np.int64]) -> None:
        """Draw new arms of the rows' problems for ``rows``, each of which has its own entry."""
        order = np.empty(len(self._numbers), np.int64)
        for attempt in range(MAX_ATTEMPTS):
            problem = self._problem[rows]
            arms, gap = np.empty((len(rows), self.num_arms), np.int64), np.empty((len(rows), self.num_arms))
            episode = np.maximum(self._episode[rows], 0)  # -1 before the first reset
            draw_arms(self._problem_key[rows], episode, attempt, self._kept[problem], order, arms)
            best, condorcet = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
            judge(self._preference, problem, arms, self._best_by, gap, best, condorcet)
            self._matrix[rows], self._arms[rows], self._gap[rows] = problem, arms, gap
            self._best[rows], self._condorcet[rows] = best, condorcet
            rows = rows[best < 0]
            if not len(rows):
                return
        fault = f"of {MAX_ATTEMPTS} sets drawn none had a Condorcet winner"
        allowed = "True, or winner = 'copeland' or 'borda'"
        raise ValueError(f"num_arms = {self.num_arms} with keep_winner = False: {fault}; allowed: {allowed}")

    def _fresh_info(self) -> dict[str, Any]:
        return {**super()._fresh_info(), "problem": self._problem.copy()}

    def _written(self) -> dict[str, NDArray[Any]]:
        written = super()._written() | ({"arms": self._arms} if self._draws_arms else {})
        last = {"left": self._left, "right": self._right, "winner": self._winner}
        return written if self.render_mode is None else written | last

    def _restored(self) -> None:
        super()._restored()
        self._loss[:] = np.nan  # a snapshot does not have the last session's regret
        if self._draws_arms:
            self._set_entries(self._problem.copy(), self._arms)

    def expected_rewards(self) -> NDArray[np.float64]:
        return -self._loss  # rewards are not drawn

    # -- step ----------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> Pair:
        left, right = checked_arm_pairs(actions, self.num_arms, self.num_envs)
        return (left, right) if self.render_mode is None else (left.copy(), right.copy())  # they are kept for `_text`

    def _checked_single(self, action: Any) -> Pair:
        return checked_arm_pair(action, self.num_arms)

    def play(self, pairs: Pair) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play one duel in every row: return the winners, one-hot, and the rewards."""
        self._left, self._right = left, right = pairs
        won, reward = np.empty((self.num_envs, 2), np.int8), np.empty(self.num_envs)
        truth = (self._preference, self._matrix, self._arms, self._gap, self._entry, self._regret)
        duel(*truth, self._key, self._session, self._round, left, right, won, self._winner, reward, self._loss)
        self._latest_round += 1
        return won, reward

    def compiled(self) -> Compiled:
        self._left, self._right = self._left.copy(), self._right.copy()  # they may be the agent's
        counters, sides = (self._key, self._session, self._round), (self._left, self._right)
        rows = DuelingRows(*counters, self._entry, *sides, self._winner, self._loss, self.last_observation)
        shared = (self._preference, self._matrix, self._arms, self._gap, self._regret)
        return Compiled("duels", (duel, first_wrong_arm), rows, (), shared)

    def _session_info(self, won: NDArray[np.int8], copy: Copy, number: Copy) -> dict[str, Any]:
        return {
            "winner": number(self._winner),
            "left": number(self._left),
            "right": number(self._right),
            "regret": number(self._loss),
            "round": number(self._round),
            "problem": number(self._problem),
        }

    def _last_regrets(self) -> NDArray[np.float64]:
        left, right = (self._gap[self._entry, arms] for arms in (self._left, self._right))
        return joined_gaps(left, right, self._regret)  # also after `restore`

    def _scene(self, row: int) -> DuelScene:
        played, entry = self._round[row] >= 0, self._entry[row]
        left, right, winner = (int(values[row]) for values in (self._left, self._right, self._winner))
        arms = self._arms[entry]
        chance = self._preference[self._matrix[entry], arms[left], arms[right]]
        return DuelScene(
            problem=int(self._problem[row]),
            round=int(self._round[row]) if played else None,
            left=left if played else None,
            right=right if played else None,
            winner=winner if played else None,
            left_beats_right=float(chance) if played else None,
            arms=self._numbers[arms].tolist(),
            gaps=self._gap[entry].tolist(),
            best_arm=int(self._best[entry]),
            best_by=key_of(WINNERS, self._best_by),
            regret_kind=key_of(REGRETS, self._regret),
            regret=float(self._last_regrets()[row]) if played else None,
            regret_so_far=float(self.regret_so_far[row]),
        )

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return f"problem {self._problem[row]}: nothing compared yet"
        arms = [int(self._left[row]), int(self._right[row])]
        best, other = arms if self._winner[row] == 0 else arms[::-1]
        return f"problem {self._problem[row]}, round {self._round[row]}: arm {best} beats arm {other}"
