"""Duels by interleaving: two rankings become one list, a user clicks on it, and the clicks say which of the two won."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rankgym.arguments import whole_number
from rankgym.data import letor, matrix_files, preferences
from rankgym.envs.dueling import WINNERS, judge
from rankgym.envs.problems import Problems, checked_measure
from rankgym.envs.sessions import (
    DEFAULT_HORIZON,
    SessionsVectorEnv,
    _choice,
    checked_arm,
    checked_arms,
    first_no_arm,
    refuse_arm,
    sides,
)
from rankgym.interleaving import INTERLEAVINGS, Lists, copy_rankings, decide, make
from rankgym.kernels import bits, kernel, uniform_below
from rankgym.models import MODELS, users
from rankgym.spaces import Permutation

__all__ = ["REGRETS", "InterleavedRankersVectorEnv", "InterleavedRankingsVectorEnv", "letor_rankings"]

REGRETS = ("average", "weak", "strong")
MOST_POSITIONS = 1 << 16  # of a list of documents: each row has room for so many


@kernel
def open_round(session, round):
    """Count one session more in every row."""
    for row in range(session.shape[0]):
        session[row] += 1
        round[row] += 1


@kernel
def draw_query(key, session, pool, left, right, num_arms, start, query, first, left_list, right_list):
    """Draw a query of ``pool`` for each row's session; fill its number, its first document and its arms' lists.

    Lists are numbered ``query * num_arms + arm``. All but ``pool`` and ``start`` (queries + 1,) are (rows,).
    """
    for row in range(session.shape[0]):
        q = pool[uniform_below(bits(key[row], session[row]), pool.shape[0])]
        query[row], first[row] = q, start[q]
        left_list[row], right_list[row] = q * num_arms + left[row], q * num_arms + right[row]


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
def expected_clicks(clicking, stopping, labels, start, lists, num_arms, pool, length, clicks):
    """Fill ``clicks`` (arms,): what a user (``rankgym.models.users``) clicks on the first ``length`` of an arm's list.

    It is the mean over the queries of ``pool``; lists are numbered ``query * num_arms + arm``.
    """
    for arm in range(num_arms):
        total = 0.0
        for q in pool:
            number = q * num_arms + arm
            reading = 1.0  # the probability that the user still reads
            for k in range(min(length, lists.size[number])):
                grade = labels[start[q] + lists.order[lists.start[number] + k]]
                total += reading * clicking[grade]
                reading *= 1.0 - clicking[grade] * stopping[grade]
        clicks[arm] = total / pool.shape[0]


class InterleavedVectorEnv(SessionsVectorEnv):
    """What both environments share: the interleaved list, the credit for the clicks on it, and the winner."""

    shown: ClassVar[str]  # what is displayed, in a word
    _left: NDArray[np.int64]
    _right: NDArray[np.int64]

    def _set_interleaving(
        self, interleaving: str, knobs: dict[str, Any] | None, regret: str, length: int, name: str
    ) -> None:
        """``length`` of the lists is the argument ``name``."""
        self.interleaving = make(interleaving, knobs)
        self.interleaving.check_length(name, length)
        if not isinstance(regret, str) or regret not in REGRETS:
            raise ValueError(f"regret = {regret!r} is unknown; allowed: {', '.join(map(repr, REGRETS))}")
        self._regret_kind = regret
        rows = self.num_envs
        self._displayed = np.full((rows, length), -1, np.int64)
        self._share, self._credit = np.zeros((rows, length)), np.zeros((rows, 2))
        self._winner = np.zeros(rows, np.int64)
        # but for the probabilistic interleaving, a list that duels with itself is displayed as it is
        self._keeps_equals = not isinstance(self.interleaving, INTERLEAVINGS["probabilistic"])

    def _interleave(self, lists: Lists, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        self.interleaving.interleave(lists, left, right, self._seeded, self._session, self._displayed, self._share)

    def _judge(self, lists: Lists, left: NDArray[np.int64], right: NDArray[np.int64], clicks: NDArray[np.int8]) -> None:
        self.interleaving.credit(lists, left, right, self._displayed, self._share, clicks, self._credit)
        decide(self._credit, self._seeded, self._session, self._winner)

    @property
    def _seeded(self) -> NDArray[np.uint64]:
        assert self._key is not None
        return self._key

    @abstractmethod
    def _regrets(self) -> NDArray[np.float64]:
        """The regret (num_envs,) of the last duel."""

    def _written(self) -> dict[str, NDArray[Any]]:
        last = {
            "left": self._left,
            "right": self._right,
            "displayed": self._displayed,
            "share": self._share,
            "credit": self._credit,
            "winner": self._winner,
        }
        return super()._written() | last

    def _step_info(self, observation: NDArray[np.int8]) -> dict[str, Any]:
        return {
            "winner": self._winner.copy(),
            "credit": self._credit.copy(),
            "left": self._left.copy(),
            "right": self._right.copy(),
            "displayed": self._displayed.copy(),
            "clicks": observation.copy(),
            "regret": self._regrets(),
            "round": self._round.copy(),
            "query": self._problem.copy(),
        }

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return "nothing displayed yet"
        lines = [
            f"{k + 1:3d}. {self.shown} {item:<4d} {'click' if click else ''}".rstrip()
            for k, (item, click) in enumerate(zip(self._displayed[row], self.last_observation[row], strict=True))
            if item >= 0
        ]
        won, (mine, other) = ("left", "right")[self._winner[row]], self._credit[row]
        duel = f"left {self._left[row].tolist()}, right {self._right[row].tolist()}"
        heading = f"query {self._problem[row]}, round {self._round[row]}: {duel}; {won} won, {mine:.3g} to {other:.3g}"
        return "\n".join([heading, *lines])


# -- rankers of a LETOR file -------------------------------------------------------------------------------------------


def letor_rankings(
    data: letor.LetorData,
    rankers: Sequence[int],
    ties: int = 0,
    queries: Sequence[int] | NDArray[np.int64] | None = None,
) -> Lists:
    """Every ranker's ranking of all documents of every query; list number ``query * len(rankers) + n`` is of the n-th.

    Of ``queries``, if they are given, and no others; the others' lists are empty.

    It is ``rankgym.data.letor.feature_rankings`` to the last document: by decreasing feature, equal values in a random
    order that is drawn once for each query from the seed ``ties`` and that all rankers share. It takes 4 bytes a
    document and ranker (8 if a query has more than 32,767 documents): what fits a cache is read twice as fast.
    """
    chosen, tied = np.array(rankers, np.int64), letor.tie_order(data.start, ties)
    listed = np.arange(len(data.query_ids)) if queries is None else np.unique(queries)
    documents = np.zeros(len(data.query_ids), np.int64)
    documents[listed] = np.diff(data.start)[listed]
    size = np.repeat(documents, len(chosen))
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    number: Any = np.int16 if documents.max() <= np.iinfo(np.int16).max else np.int32
    order, rank = np.empty(int(size.sum()), number), np.empty(int(size.sum()), number)
    for query in listed:
        mine = slice(data.start[query], data.start[query + 1])
        ranked = letor.sorted_rankings(data.features[mine, chosen], tied[mine], documents[query])
        here = slice(start[query * len(chosen)], start[query * len(chosen)] + ranked.size)
        order[here] = ranked.ravel()
        rank[here] = np.argsort(ranked, axis=1).ravel()
    return Lists(order, rank, start, size)


class InterleavedRankersVectorEnv(InterleavedVectorEnv):
    """
    ## Description
    Dueling rankers on a learning-to-rank data set. In each step a user with a new query comes to every row. The agent
    names two rankers; their rankings of the query's documents are interleaved, the user reads the list and clicks, and
    who has more credit for the clicks has won (Hofmann, Whiteson and de Rijke, ACM TOIS 2013; the setup of mergeRUCB,
    Zoghi, Whiteson and de Rijke, WSDM 2015, section 5).

    A ranker is a feature of the file: it sorts by decreasing value. Equal values stand in a random order that all
    rankers share and that is the same in every environment.

    Rows are independent: a row's history depends on its own seed and its own actions alone. Two agents on the same
    seed meet the same users with the same queries, and the coins are indexed by (seed, session, document) or by (seed,
    session, position): the same duel in the same session has the same result.

    ## Action Space
    `Dict(left=Discrete(K), right=Discrete(K))`: two of the K rankers.

    ## Observation Space
    `MultiBinary(num_documents)`: the clicks on the interleaved list; all 0 after a reset.

    ## Rewards
    The number of clicks.

    ## Episode End
    Never terminates; truncates after `horizon` sessions.

    ## Information
    `step` gives arrays with one entry a row: `winner` (0 left, 1 right; a fair coin where the credit is equal),
    `credit` (num_envs, 2) of left and right, `left`, `right`, `displayed` (num_envs, num_documents), the documents
    numbered within their query as in the file, from 0, and -1 behind the last of a query that has fewer, `clicks`,
    `query`, `round` of this session in its episode (from 0), `regret`. `reset` gives `round`.

    `regret` is measured with the matrix `preferences`: a gap of a ranker is the probability that the Condorcet winner
    beats it, minus 1/2, and `regret` is the average of both rankers' gaps (`"weak"`: the smaller, `"strong"`: the
    larger). Without a matrix, or where no ranker beats all others and `winner` asks for one that does, it is NaN (and
    Gymnasium's `check_env` then objects that info is not the same twice, as NaN is not equal to itself).
    `rankgym data preferences FILE` estimates such a matrix.
    The attributes `preference` (num_envs, K, K), `condorcet_winner` and `best_arm` (num_envs,) are what is known of the
    truth: NaN, -1 and -1 where nothing is. No agent looks at them.

    ## Arguments
    ```python
    gym.make_vec("rankgym/Dueling-LETOR-v0", num_envs=100, file="NP2004/Fold1/vali.txt")
    ```
    * `file`: the path of a file in the format of LETOR or SVMlight, plain or compressed by gzip. There is no default.
    * `rankers`: a list of features, numbered from 0 (the file's first one, 1, is 0); arm n is the n-th of them.
      Default: all.
    * `query`: the numbers of the queries, from 0 in the file's order, of which each session draws one, all equally
      probable: an int, a list, `"train"`, `"test"` (a fixed split: every fifth query is a test query), or None or
      `"all"`. A query without relevant documents is like any other: a user may click there, but it decides nothing.
    * `num_documents`: the length of the interleaved list, up to 65,536; a query with fewer documents has a shorter
      one.
    * `interleaving`: a key of `rankgym.interleaving.INTERLEAVINGS`: `"probabilistic"`, `"team-draft"`, `"balanced"`,
      `"document-constraints"`, or `"optimized"` (needs SciPy).
    * `interleaving_knobs`: a dict of that method's keywords, such as `{"tau": 3.0, "credit": "marginalized"}`.
    * `user_model`: `"perfect"`, `"navigational"` or `"informational"` (table II of Hofmann et al.).
    * `grades`: 2 for users of binary labels, 5 for users of labels 0 .. 4. Default: what the largest label asks for.
    * `preferences`: a matrix for the regret, of the rankers or of all features: a file (`.npy`, or text), or a name
      known to `rankgym.data.preferences.load`. It should be of the queries that are drawn: with one of the whole file
      and a `query`, regret is measured against the best ranker of the file, which may lose on that query.
    * `regret`: `"average"`, `"weak"` or `"strong"`.
    * `winner`: what the best ranker is by `preferences`, and with it the gaps: `"condorcet"`, `"copeland"` or
      `"borda"`, as in `DuelingVectorEnv` (`rankgym envs Dueling-MSLR-v0` describes them).
    * `ties`: the seed of the order of equal values.
    * `horizon`, `max_episode_steps`, `autoreset_mode`, `render_mode`: as in `RankingVectorEnv` (`rankgym envs
      PBM-Yandex-v0` describes them).

    ## Version History
    * v0: Initial version release
    """

    shown = "document"
    row_attributes = ("preference", "condorcet_winner", "best_arm")
    common_attributes = ("num_arms", "num_documents", "rankers", "interleaving")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        file: str | None = None,
        rankers: Sequence[int] | None = None,
        query: int | Sequence[int] | str | None = None,
        num_documents: int = 10,
        interleaving: str = "probabilistic",
        interleaving_knobs: dict[str, Any] | None = None,
        user_model: str = "navigational",
        grades: int | None = None,
        preferences: str | None = None,
        regret: str = "average",
        winner: str = "condorcet",
        ties: int = 0,
        horizon: int | None = DEFAULT_HORIZON,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            num_envs,
            horizon=horizon,
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
        )
        self.num_documents = whole_number("num_documents", num_documents, 1, MOST_POSITIONS)
        self._set_interleaving(interleaving, interleaving_knobs, regret, self.num_documents, "num_documents")
        users.user(user_model, 2)  # refuses what is unknown before the file is read
        ties = whole_number("ties", ties, 0)
        if not isinstance(winner, str) or winner not in WINNERS:
            raise ValueError(f"winner = {winner!r} is unknown; allowed: {', '.join(map(repr, WINNERS))}")
        if preferences is None and winner != "condorcet":
            raise ValueError(f"winner = {winner!r} needs preferences, the matrix to find it in; allowed: 'condorcet'")
        data = _letor_file(file)
        self.rankers = _checked_rankers(rankers, data.features.shape[1])
        self.num_arms = len(self.rankers)
        _, self._pool = _choice("query", query, len(data.query_ids))
        self._user = users.user(user_model, _checked_grades(grades, int(data.labels.max())))
        matrix = _preference(preferences, self.rankers, data.features.shape[1])
        self._lists = letor_rankings(data, self.rankers, ties, self._pool)
        self._labels, self._start = np.array(data.labels), np.array(data.start)  # writable: no other kernel is compiled

        arms = self.num_arms
        gap, best, condorcet = np.full((1, arms), np.nan), np.full(1, -1), np.full(1, -1)
        if matrix is not None:
            judge(matrix[None], np.zeros(1, np.int64), np.arange(arms)[None], WINNERS[winner], gap, best, condorcet)
        self._preference = np.full((arms, arms), np.nan) if matrix is None else matrix
        self._best, self._condorcet = np.repeat(best, self.num_envs), np.repeat(condorcet, self.num_envs)
        gap = gap[0]
        self._regret_of = _joined(gap[:, None], gap[None, :], self._regret_kind)  # (arms, arms)
        self._set_spaces(MultiBinary(self.num_documents), Dict({"left": Discrete(arms), "right": Discrete(arms)}))
        rows = self.num_envs
        self._left, self._right, self._first = (np.zeros(rows, np.int64) for _ in range(3))
        self._left_list, self._right_list = np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    # -- the truth, as far as it is known; no agent asks for it --------------------------------------------------------

    @property
    def preference(self) -> NDArray[np.float64]:
        """P(arm i beats arm j) as it was given, (num_envs, num_arms, num_arms); NaN where nothing was."""
        return np.broadcast_to(self._preference, (self.num_envs, *self._preference.shape))

    @property
    def condorcet_winner(self) -> NDArray[np.int64]:
        """The arm that beats all others by ``preference``, (num_envs,); -1: none is known."""
        return self._condorcet

    @property
    def best_arm(self) -> NDArray[np.int64]:
        """The arm that regret is measured against, (num_envs,): the Condorcet winner, or as ``winner`` says; or -1."""
        return self._best

    # -- step --------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = (
            checked_arms(side, arms, self.num_arms, self.num_envs)
            for side, arms in zip(("left", "right"), sides(actions), strict=True)
        )
        row = first_no_arm(left, right, self.num_arms)
        if row >= 0:
            refuse_arm(actions, row, self.num_arms)
        return left, right

    def _checked_single(self, action: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = (
            checked_arm(side, arm, self.num_arms) for side, arm in zip(("left", "right"), sides(action), strict=True)
        )
        return np.array([left]), np.array([right])

    def play(self, duel: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """One session of every row: a query, the interleaved list of two rankers, the clicks on it."""
        self._left[:], self._right[:] = duel
        open_round(self._session, self._round)
        self._latest_round += 1
        left, right = self._left_list, self._right_list
        draw_query(
            self._problem_key,
            self._session,
            self._pool,
            self._left,
            self._right,
            self.num_arms,
            self._start,
            self._problem,
            self._first,
            left,
            right,
        )
        self._interleave(self._lists, left, right)
        clicks, reward = np.empty((self.num_envs, self.num_documents), np.int8), np.empty(self.num_envs)
        users.click(
            *self._user, self._labels, self._first, self._seeded, self._session, self._displayed, clicks, reward
        )
        self._judge(self._lists, left, right, clicks)
        return clicks, reward

    def _regrets(self) -> NDArray[np.float64]:
        regret: NDArray[np.float64] = self._regret_of[self._left, self._right]
        return regret

    def _written(self) -> dict[str, NDArray[Any]]:
        return super()._written()  # lists and queries are drawn anew in each session

    def expected_rewards(self) -> NDArray[np.float64]:
        """Known where a ranker duels with itself, but for the probabilistic interleaving, which mixes it up."""
        expected = super().expected_rewards()
        (rows,) = np.nonzero((self._left == self._right) & self._keeps_equals)
        if len(rows):
            clicks = np.empty(self.num_arms)
            sizes = (self.num_arms, self._pool, self.num_documents)
            expected_clicks(*self._user, self._labels, self._start, self._lists, *sizes, clicks)
            expected[rows] = clicks[self._left[rows]]
        return expected


def _joined(left: NDArray[np.float64], right: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """The regret of two gaps."""
    if kind == "average":
        return (left + right) / 2.0
    return np.minimum(left, right) if kind == "weak" else np.maximum(left, right)


def _letor_file(file: Any) -> letor.LetorData:
    example = 'as in gym.make("rankgym/Dueling-LETOR-v0", file="Fold1/vali.txt"), or --set file=Fold1/vali.txt'
    if not isinstance(file, (str, Path)) or not str(file):
        raise ValueError(f"file = {file!r} is no path; allowed: that of a file in the format of LETOR, {example}")
    if not os.path.exists(file):  # unlike Path.exists, False for a name that no file can have
        raise ValueError(f"file = {str(file)!r} is not there; allowed: a file in the format of LETOR, {example}")
    return letor.load(file)


def _checked_rankers(rankers: Any, num_features: int) -> list[int]:
    if rankers is None:
        return list(range(num_features))
    allowed = f"allowed: a list of different features of 0 .. {num_features - 1}"
    if isinstance(rankers, np.ndarray):
        rankers = rankers.tolist()
    if not isinstance(rankers, (list, tuple, range)) or not len(rankers):
        raise ValueError(f"rankers = {rankers!r} is no list of rankers; {allowed}")
    checked = [whole_number(f"rankers[{n}]", ranker, 0, num_features - 1) for n, ranker in enumerate(rankers)]
    if len(set(checked)) < len(checked):
        raise ValueError(f"rankers = {list(rankers)!r} repeats a feature; {allowed}")
    return checked


def _checked_grades(grades: Any, largest: int) -> int:
    if grades is None:
        if largest > 4:
            raise ValueError(f"the file has the label {largest}; allowed: 0, 1 (binary) or 0 .. 4 (five grades)")
        return 2 if largest <= 1 else 5
    if isinstance(grades, bool) or not isinstance(grades, (int, np.integer)) or grades not in (2, 5):
        raise ValueError(f"grades = {grades!r} has no user; allowed: 2 (labels 0, 1) or 5 (labels 0 .. 4)")
    if largest >= grades:
        raise ValueError(f"grades = {grades}, but the file has the label {largest}; allowed: labels 0 .. {grades - 1}")
    return int(grades)


def _preference(name: Any, rankers: list[int], num_features: int) -> NDArray[np.float64] | None:
    """The matrix of the rankers from a file, or by its name; None where there is no name."""
    if name is None:
        return None
    if not isinstance(name, (str, Path)):
        raise ValueError(f"preferences = {name!r} is no path and no name; allowed: a file, or a matrix's name")
    if os.path.isfile(name):
        matrix = matrix_files.read(name)
    else:
        try:
            matrix = preferences.load(str(name))
        except ValueError as error:
            raise ValueError(f"preferences = {str(name)!r} is no file, and as a name: {error}") from None
    arms = len(rankers)
    if len(matrix) == num_features:
        return np.ascontiguousarray(matrix[np.ix_(rankers, rankers)])
    if len(matrix) != arms:
        sizes = " or ".join(f"({size}, {size})" for size in dict.fromkeys((arms, num_features)))
        raise ValueError(f"preferences = {str(name)!r} has shape {matrix.shape}; allowed: {sizes}")
    return matrix


# -- rankings of a query's items ---------------------------------------------------------------------------------------


class InterleavedRankingsVectorEnv(InterleavedVectorEnv):
    """
    ## Description
    Dueling rankings. In each step one user comes to every row. The agent names two rankings of the query's items; they
    are interleaved, the user sees the one list and clicks as a click model says, and the ranking with more credit for
    the clicks has won. The click models, their queries and their coins are those of `RankingVectorEnv`: a duel of a
    ranking with itself displays it (but for the probabilistic interleaving, which mixes it up), and the clicks are then
    those of `rankgym/<Model>-Yandex-v0` with the same seed, bit for bit.

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
    * `num_items`: the first so many of the query's items. Default: all.
    * `num_positions`: displayed positions.
    * `cutoff`: the first so many positions count. Default: all.
    * `reward`: `"clicks"` or (DCM) `"abandonment"`.
    * `reference`: what `optimal_reward` is: of the `"best"` list, or of the list `"sorted"` by attraction.
    * `query`: an int; a list, cycled over the rows; `"all"`: row b plays query b mod Q; `"train"`, `"test"`: the same
      over a fixed split (every fifth query is a test query); None: a new query is drawn at every reset.
    * `dataset`, `source`, `parameters`, `initial_list`, `horizon`, `max_episode_steps`, `autoreset_mode`,
      `render_mode`: as in `RankingVectorEnv` (`rankgym envs PBM-Yandex-v0` describes them).

    ## Version History
    * v0: Initial version release
    """

    shown = "item"
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
        super().__init__(
            num_envs,
            horizon=horizon,
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
        )
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
        self.model = MODELS[model]
        self.cutoff = checked_measure(model, self.num_positions, cutoff, reward, reference)
        self._set_interleaving(interleaving, interleaving_knobs, regret, self.num_positions, "num_positions")
        ranking = Permutation(self.num_items, self.num_positions)
        self._set_spaces(MultiBinary(self.num_positions), Dict({"left": ranking, "right": ranking}))
        self._set_problems("query", query, problems.num_queries)
        self._reward = self.model.rewards[reward]
        best = problems.best_lists(reward, self.cutoff, self.num_positions, reference)
        self._optimal_of = self.model.values(problems.parameters, best, self.cutoff, reward)

        rows, shape = self.num_envs, (self.num_envs, self.num_positions)
        self._parameters = type(problems.parameters)(*(np.zeros((rows, *a.shape[1:])) for a in problems.parameters))
        self._optimal, self._expected = np.zeros(rows), np.zeros((2, rows))  # expected: of left, of right
        self.initial_list = np.zeros((rows, self.num_items), np.int64)
        self._left, self._right = np.full(shape, -1, np.int64), np.full(shape, -1, np.int64)
        self._lists = Lists.empty(2 * rows, self.num_items, self.num_positions)  # of left, then of right
        self._left_list, self._right_list = np.arange(rows), np.arange(rows) + rows
        self._take_first_problems()

    @property
    def parameters(self) -> Any:
        """The click model's parameters in the rows' coming sessions, a NamedTuple of arrays with an axis of rows."""
        return self._parameters

    @property
    def attraction(self) -> NDArray[np.float64]:
        """Attraction probabilities in the rows' coming sessions, (num_envs, num_items)."""
        attraction: NDArray[np.float64] = self._parameters.attraction
        return attraction

    def _take_problems(self, mask: NDArray[np.bool_], problems: NDArray[np.int64]) -> None:
        super()._take_problems(mask, problems)
        q = self._problem[mask]
        for mine, table in zip(self._parameters, self.problems.parameters, strict=True):
            mine[mask] = table[q]
        self._optimal[mask] = self._optimal_of[q]
        self.initial_list[mask] = self.problems.initial_list[q]
        self._left[mask] = -1  # values are not known yet
        self._right[mask] = -1

    def _fresh_info(self) -> dict[str, Any]:
        return {"optimal_reward": self._optimal.copy(), **super()._fresh_info(), "query": self._problem.copy()}

    # -- step --------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = sides(actions)
        return _ranking("left", self.action_space["left"], left), _ranking("right", self.action_space["right"], right)  # type: ignore[index]

    def _checked_single(self, action: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        left, right = sides(action)
        space: Any = self.single_action_space
        return _ranking("left", space["left"], left)[None], _ranking("right", space["right"], right)[None]

    def play(self, duel: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """One session of every row on two lists that were checked: the clicks and the rewards."""
        law, rows = self._reward, self.num_envs
        open_round(self._session, self._round)
        self._latest_round += 1
        for side, (ranking, last) in enumerate(zip(duel, (self._left, self._right), strict=True)):
            if keep(ranking, last):  # a list shown again keeps its value
                copy_rankings(last, side * rows, self._lists)
                law.value(*self._parameters, last, self.cutoff, self._expected[side])
        self._interleave(self._lists, self._left_list, self._right_list)
        clicks, reward = np.empty((rows, self.num_positions), np.int8), np.empty(rows)
        law.click(*self._parameters, self._seeded, self._session, self._displayed, self.cutoff, clicks, reward)
        self._judge(self._lists, self._left_list, self._right_list, clicks)
        return clicks, reward

    def _written(self) -> dict[str, NDArray[Any]]:
        return super()._written() | {"expected": self._expected.T}

    def _restored(self) -> None:
        super()._restored()
        if self._left.min() >= 0:  # else the next session copies all rows' lists, as some are new
            copy_rankings(self._left, 0, self._lists)
            copy_rankings(self._right, self.num_envs, self._lists)

    def expected_rewards(self) -> NDArray[np.float64]:
        """Known where a list duels with itself, but for the probabilistic interleaving, which mixes it up."""
        same = (self._left == self._right).all(axis=1) & self._keeps_equals
        return np.where(same, self._expected[0], np.nan)

    def _regrets(self) -> NDArray[np.float64]:
        gap = self._optimal - self._expected
        return _joined(gap[0], gap[1], self._regret_kind)

    def _step_info(self, observation: NDArray[np.int8]) -> dict[str, Any]:
        info = super()._step_info(observation)
        return info | {"expected_reward": self._expected.T.copy(), "optimal_reward": self._optimal.copy()}


def _ranking(side: str, space: Any, ranking: Any) -> NDArray[np.int64]:
    """``ranking`` as the space's ``checked`` gives it; its errors name the side."""
    try:
        checked: NDArray[np.int64] = space.checked(ranking)
    except ValueError as error:
        raise ValueError(str(error).replace("action", f"action[{side!r}]", 1)) from None
    return checked
