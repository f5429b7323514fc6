"""Duels of rankers on a learning-to-rank data set, by interleaving and simulated clicks."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary
from numpy.typing import NDArray

from rankgym.arguments import one_of, whole_number
from rankgym.data import letor, matrix_files, preferences
from rankgym.envs.duels import (
    InterleavedVectorEnv,
    Pair,
    checked_arm_pair,
    checked_arm_pairs,
    first_wrong_arm,
    joined_gaps,
    number_or_none,
)
from rankgym.envs.matrices import WINNERS, best_arms, judge
from rankgym.envs.resets import checked_problems
from rankgym.envs.sessions import Compiled, count_session
from rankgym.interleaving import Lists, decide
from rankgym.kernels import bits, kernel, uniform_below
from rankgym.models import users
from rankgym.scenes import Position, Side


class UnknownRegret(UserWarning):
    """Regret is NaN: there is no preference matrix, or none of its rankers is the best."""


MAX_DOCUMENTS = 1 << 16  # of an interleaved list: each row has room for them


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


def letor_rankings(data: letor.LetorData, rankers: Sequence[int], ties: int = 0, queries: Any = None) -> Lists:
    """Return every ranker's ranking of all documents of every query; list ``query * len(rankers) + n`` is the n-th's.

    If ``queries`` are given, the other queries' lists are empty. The order is that of
    ``rankgym.data.letor.feature_rankings``: by decreasing feature, equal values in a random order that is drawn once a
    query from the seed ``ties`` and that all rankers share. The lists take 4 bytes a document and ranker (8 if a query
    has more than 32,767 documents): lists that fit a cache are read twice as fast.
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


class InterleavedRankersRows(NamedTuple):
    """The arrays of an environment that a compiled loop reads and changes."""

    key: NDArray[np.uint64]  # (rows,)
    session: NDArray[np.int64]  # (rows,)
    round: NDArray[np.int64]  # (rows,)
    problem_key: NDArray[np.uint64]  # (rows,)
    problem: NDArray[np.int64]  # (rows,)
    first: NDArray[np.int64]  # (rows,)
    left: NDArray[np.int64]  # (rows,)
    right: NDArray[np.int64]  # (rows,)
    left_list: NDArray[np.int64]  # (rows,)
    right_list: NDArray[np.int64]  # (rows,)
    displayed: NDArray[np.int64]  # (rows, length)
    share: NDArray[np.float64]  # (rows, length)
    credit: NDArray[np.float64]  # (rows, 2)
    winner: NDArray[np.int64]  # (rows,)
    observation: NDArray[np.int8]  # (rows, length)


class InterleavedRankersVectorEnv(InterleavedVectorEnv):
    """
    ## Description
    Dueling rankers on a learning-to-rank data set. In each step, a user with a new query comes to every row. The agent
    names two rankers; their rankings of the query's documents are interleaved, the user reads the list and clicks, and
    the one with more credit for the clicks wins (Hofmann, Whiteson and de Rijke, ACM TOIS 2013; the setup of mergeRUCB,
    Zoghi, Whiteson and de Rijke, WSDM 2015, section 5).

    A ranker is a feature of the file: it sorts by decreasing value. Equal values are in a random order that all
    rankers and environments share.

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
    numbered within their query as in the file, from 0, and -1 after the last one of a shorter query, `clicks`,
    `query`, `round` of this session in its episode (from 0), `regret`. `reset` gives `round`.

    `regret` is measured with the matrix `preferences`: a gap of a ranker is the probability that the Condorcet winner
    beats it, minus 1/2, and `regret` is the average of both rankers' gaps (`"weak"`: the smaller, `"strong"`: the
    larger). It is NaN without a matrix, or if `winner` asks for a ranker that beats all others and there is none: the
    warning `UnknownRegret` says so when the environment is made (and Gymnasium's `check_env` objects that info is not
    the same twice, as NaN is not equal to itself). `rankgym data preferences FILE --out NAME.npy` estimates such a
    matrix, exactly within seconds for team draft; it is not done here, since most interleavings must be simulated.
    The attributes `preference` (num_envs, K, K), `condorcet_winner` and `best_arm` (num_envs,) have the truth
    as far as it is known: NaN, -1 and -1 if not; `best_arms` (num_envs, K) is True for all best ones. Agents never
    read them.

    ## Arguments
    ```python
    gym.make_vec("rankgym/Dueling-LETOR-v0", num_envs=100, file="NP2004/Fold1/vali.txt")
    ```
    * `file`: the path of a file in the format of LETOR or SVMlight, plain or compressed by gzip. Default: none, it is
      required. Lines may go without `qid:` if a file NAME.query beside NAME has the number of documents of each query,
      as in LightGBM.
    * `rankers`: a list of at least two features, numbered from 0 (the file's first one, 1, is 0); arm n is the n-th of
      them. Default: all.
    * `query`: the numbers of the queries, from 0 in the file's order, of which each session draws one, all equally
      probable: an int, a list, `"train"`, `"test"` (a fixed split: every fifth query is a test query), or None or
      `"all"`. Queries without relevant documents count, too: users may click there, but their clicks decide nothing.
    * `num_documents`: the length of the interleaved list, up to 65,536; a query with fewer documents has a shorter
      one.
    * `interleaving`: a key of `rankgym.interleaving.INTERLEAVINGS`: `"probabilistic"`, `"team-draft"`, `"balanced"`,
      `"document-constraints"`, or `"optimized"` (needs SciPy).
    * `interleaving_knobs`: a dict of that method's keywords, such as `{"tau": 3.0, "credit": "marginalized"}`.
    * `user_model`: `"perfect"`, `"navigational"`, `"informational"` (table II of Hofmann et al.) or `"almost-random"`
      (`rankgym.models.users` has the numbers and their sources).
    * `grades`: 2 for users of labels 0 and 1, 3 for labels 0 .. 2, 5 for labels 0 .. 4. Default: by the largest label.
      Say 5 if the file is a part of a collection with five grades that happens to have no label above 2. The attributes
      `user_model`, `grades` and `user`, its probabilities of clicking and stopping, say who plays.
    * `preferences`: a matrix for the regret, of the rankers or of all features: a file (`.npy`, or text), or a name
      known to `rankgym.data.preferences.load`. It should be estimated on the queries that are drawn: with one of the
      whole file and one `query`, regret is measured against the best ranker of the file, which may lose on that query.
    * `regret`: `"average"`, `"weak"` or `"strong"`.
    * `winner`: what the best ranker is by `preferences`, and with it the gaps: `"condorcet"`, `"copeland"` or
      `"borda"`, as in `DuelingVectorEnv` (`rankgym envs Dueling-MSLR-v0` describes them).
    * `ties`: the seed of the order of equal values.
    * `horizon`, `max_episode_steps`, `autoreset_mode`, `render_mode`: as in `RankingVectorEnv` (`rankgym envs
      PBM-Yandex-v0` describes them).

    ## Errors
    As in `RankingVectorEnv`. A file that is not of the format raises `rankgym.data.DataError`, a ValueError, with the
    line; one that cannot be opened raises an OSError.

    ## Examples
    Two queries of three documents each, ranked by two features: feature 0 is the label, feature 1 its reverse.

    ```python
    >>> import os, tempfile
    >>> import gymnasium as gym, numpy as np, rankgym
    >>> lines = [f"{label} qid:{q} 1:{label} 2:{2 - label}" for q in (1, 2) for label in (2, 1, 0)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "letor.txt")
    ...     with open(file, "w") as written:
    ...         for line in lines:
    ...             print(line, file=written)
    ...     env = gym.make_vec("rankgym/Dueling-LETOR-v0", file=file, num_documents=3, interleaving="team-draft")
    >>> observation, info = env.reset(seed=0)
    >>> clicks, reward, _, _, info = env.step({"left": np.array([0]), "right": np.array([0])})
    >>> info["displayed"].tolist(), bool(np.isnan(info["regret"][0]))  # no matrix was given
    ([[0, 1, 2]], True)

    ```

    ## Version History
    * v0: Initial version release
    """

    row_attributes = ("preference", "condorcet_winner", "best_arm", "best_arms")
    common_attributes = ("num_arms", "num_documents", "rankers", "interleaving", "user_model", "grades", "user")
    _ranked = "document"

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
        **arguments: Any,
    ) -> None:
        super().__init__(num_envs, **arguments)
        self.num_documents = whole_number("num_documents", num_documents, 1, MAX_DOCUMENTS)
        self._interleave_by(interleaving, interleaving_knobs, "num_documents", self.num_documents, regret)
        best_by = one_of("winner", winner, WINNERS)
        users.user(user_model, 2)  # refuses an unknown name before the file is read
        ties = whole_number("ties", ties, 0)
        if preferences is None and winner != "condorcet":
            raise ValueError(f"winner = {winner!r} needs preferences, the matrix to find it in; allowed: 'condorcet'")
        data = _letor_file(file)
        features = data.features.shape[1]
        self.rankers = letor.chosen_rankers(rankers, features, 2)
        self.num_arms = len(self.rankers)
        _, self.pool = checked_problems("query", query, len(data.query_ids))
        self.user_model, self.grades = user_model, users.num_grades(data, grades, str(file))
        self.user = users.User(*map(np.array, users.user(user_model, self.grades)))
        matrix = _preference(preferences, self.rankers, features)
        self._lists = letor_rankings(data, self.rankers, ties, self.pool)
        self._labels, self._start = np.array(data.labels), np.array(data.start)  # writable, as kernels expect

        arms, rows = self.num_arms, self.num_envs
        gap, best, condorcet = np.full((1, arms), np.nan), np.full(1, -1), np.full(1, -1)
        if matrix is not None:
            judge(matrix[None], np.zeros(1, np.int64), np.arange(arms)[None], best_by, gap, best, condorcet)
        if best[0] < 0:
            warnings.warn(_why_unknown(str(file), preferences), UnknownRegret, stacklevel=2)
        # The truth by ``preferences``, as far as it is known: NaN, -1 and -1 if not. Agents never read it.
        known = np.full((arms, arms), np.nan) if matrix is None else matrix
        self.preference = np.broadcast_to(known, (rows, arms, arms))  # P(arm i beats arm j)
        self.condorcet_winner = np.repeat(condorcet, rows)
        self.best_arm = np.repeat(best, rows)  # that regret is measured against
        self.best_arms = np.repeat(best_arms(gap, best, best_by), rows, axis=0)  # and those that are as good
        self._gap = gap[0]
        self._regret_of = joined_gaps(gap.T, gap, self._regret_kind)  # (arms, arms)
        self._set_spaces(MultiBinary(self.num_documents), Dict({"left": Discrete(arms), "right": Discrete(arms)}))
        self._left, self._right, self._first = (np.zeros(rows, np.int64) for _ in range(3))
        self._left_list, self._right_list = np.zeros((2, rows), np.int64)

    def __repr__(self) -> str:
        return f"{super().__repr__().removesuffix(')')}, user_model={self.user_model!r}, grades={self.grades})"

    # -- step ----------------------------------------------------------------------------------------------------------

    def _checked(self, actions: Any) -> Pair:
        return checked_arm_pairs(actions, self.num_arms, self.num_envs)

    def _checked_single(self, action: Any) -> Pair:
        return checked_arm_pair(action, self.num_arms)

    def _take_duels(self, pairs: Pair) -> None:
        self._left[:], self._right[:] = pairs
        sides, drawn = (*pairs, self.num_arms), (self._problem, self._first, self._left_list, self._right_list)
        draw_query(self._problem_key, self._session, self.pool, *sides, self._start, *drawn)
        self._regret = self._regret_of[pairs]

    def _click(self, clicks: NDArray[np.int8], reward: NDArray[np.float64]) -> None:
        coins = (self._key, self._session)
        users.click(*self.user, self._labels, self._first, *coins, self._displayed, clicks, reward)

    def passed(self, times: int) -> None:
        super().passed(times)
        self._regret = self._regret_of[self._left, self._right]

    def _restored(self) -> None:
        super()._restored()
        self._first[:] = self._start[self._problem]
        for numbers, arms in ((self._left_list, self._left), (self._right_list, self._right)):
            numbers[:] = self._problem * self.num_arms + arms
        self._regret = self._regret_of[self._left, self._right]

    def _seen(self, row: int, shares: Any) -> dict[str, Any]:
        if self._round[row] < 0:
            nothing = dict.fromkeys(("query", "left", "right", "left_beats_right"))
            return {"user": self.user_model, "displayed": [], **nothing, **self._known_best(row)}
        pair = int(self._left[row]), int(self._right[row])
        lists = self._left_list[row], self._right_list[row]
        sides = [
            Side(self._ranking(number), float(credit), arm, self.rankers[arm], number_or_none(self._gap[arm]), None)
            for arm, number, credit in zip(pair, lists, self._credit[row], strict=True)
        ]
        return {
            "user": self.user_model,
            "query": int(self._problem[row]),
            "left": sides[0],
            "right": sides[1],
            "displayed": self._read_positions(row, shares),
            "left_beats_right": number_or_none(self.preference[row][pair]),
            **self._known_best(row),
        }

    def _ranking(self, number: int) -> list[int]:
        """Return as much of ranking ``number`` of ``_lists`` as is displayed at most."""
        start, size = self._lists.start[number], self._lists.size[number]
        return self._lists.order[start : start + min(size, self._displayed.shape[1])].tolist()

    def _known_best(self, row: int) -> dict[str, Any]:
        best = int(self.best_arm[row])
        return {"best": None, "attraction": None, "best_arm": best if best >= 0 else None}

    def _read_positions(self, row: int, shares: Any) -> list[Position]:
        """Return the interleaved list; a user reads on unless a click ended the session (``rankgym.models.users``)."""
        documents = self._displayed[row][self._displayed[row] >= 0]
        grades = self._labels[self._first[row] + documents]
        clicking, stopping = self.user.clicking[grades], self.user.stopping[grades]
        examined = np.cumprod(np.append(1.0, 1.0 - clicking * stopping))
        clicks = self.last_observation[row]
        return [
            Position(
                int(d), float(p), float(e), bool(c), None if shares is None or np.isnan(shares[k]) else float(shares[k])
            )
            for k, (d, p, e, c) in enumerate(
                zip(documents, clicking, examined[:-1], clicks[: len(documents)], strict=True)
            )
        ]

    def _written(self) -> dict[str, NDArray[Any]]:  # lists and queries are drawn anew in each session
        return super()._written()

    def compiled(self) -> Compiled | None:
        found = self.interleaving.kernels(self._lists)
        if found is None:
            return None
        interleave, credit, extra = found
        rows = InterleavedRankersRows(
            **self._duel_rows(),
            problem_key=self._problem_key,
            problem=self._problem,
            first=self._first,
        )
        kernels = (users.click, count_session, draw_query, interleave, credit, decide, first_wrong_arm)
        shared = (self._lists, tuple(self.user), self._labels, self._start, self.pool, self._regret_of, extra)
        return Compiled("interleaved_rankers", kernels, rows, (), shared)

    def expected_rewards(self) -> NDArray[np.float64]:
        """Known where a ranker duels with itself, except by the probabilistic interleaving, which changes its list."""
        expected = super().expected_rewards()
        (rows,) = np.nonzero((self._left == self._right) & self._keeps_equals)
        if len(rows):
            clicks = np.empty(self.num_arms)
            sizes = (self.num_arms, self.pool, self.num_documents)
            expected_clicks(*self.user, self._labels, self._start, self._lists, *sizes, clicks)
            expected[rows] = clicks[self._left[rows]]
        return expected


def _letor_file(file: Any) -> letor.LetorData:
    example = 'as in gym.make("rankgym/Dueling-LETOR-v0", file="Fold1/vali.txt"), or --set file=Fold1/vali.txt'
    if not isinstance(file, (str, Path)) or not str(file):
        allowed = f"allowed: the path of a file in the format of LETOR, {example}"
        raise ValueError(f"file = {file!r} is not a path; {allowed}")
    if not os.path.exists(file):  # unlike Path.exists, False for an impossible file name
        raise ValueError(f"file = {str(file)!r} does not exist; allowed: a file in the format of LETOR, {example}")
    return letor.load(file)


def _why_unknown(file: str, preferences: Any) -> str:
    """Say why regret is NaN, and what to do."""
    if preferences is None:
        estimate = f"`rankgym data preferences {file} --out NAME.npy` estimates one, preferences='NAME.npy' gives it"
        return f"regret is unknown (NaN) without a preference matrix: {estimate}"
    circle = f"by preferences = {str(preferences)!r} no ranker beats all others"
    return f"regret is unknown (NaN): {circle}; winner='copeland' or 'borda' measures it against another one"


def _preference(name: Any, rankers: list[int], num_features: int) -> NDArray[np.float64] | None:
    """Return the rankers' matrix, read from a file or known by its name; None if there is no name."""
    if name is None:
        return None
    if not isinstance(name, (str, Path)):
        raise ValueError(f"preferences = {name!r} is neither a path nor a name; allowed: a file, or a matrix's name")
    if os.path.isfile(name):
        matrix = matrix_files.read(name)
    else:
        try:
            matrix = preferences.load(str(name))
        except ValueError as error:
            raise ValueError(f"preferences = {str(name)!r} is not a file, and as a name: {error}") from None
    arms = len(rankers)
    if len(matrix) == num_features:
        return np.ascontiguousarray(matrix[np.ix_(rankers, rankers)])
    if len(matrix) != arms:
        sizes = " or ".join(f"({size}, {size})" for size in dict.fromkeys((arms, num_features)))
        raise ValueError(f"preferences = {str(name)!r} has shape {matrix.shape}; allowed: {sizes}")
    return matrix
