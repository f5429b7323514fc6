"""Duels of arms or of rankings: actions with a left and a right side, their regret, and their comparison by clicks."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import one_of
from rankgym.envs.sessions import Copy, SessionsVectorEnv, count_session, listed
from rankgym.interleaving import CREDIT_TOLERANCE, INTERLEAVINGS, Lists, decide, make
from rankgym.kernels import kernel
from rankgym.scenes import InterleavedScene, query_text
from rankgym.spaces import INT64, is_ready, shown

AVERAGE, WEAK, STRONG = range(3)
REGRETS = {"average": AVERAGE, "weak": WEAK, "strong": STRONG}

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]  # of the left and the right side


def joined_gaps(left: NDArray[np.float64], right: NDArray[np.float64], regret: int) -> NDArray[np.float64]:
    """Return the regret, of kind ``regret``, of duels whose sides have these gaps to the best one."""
    if regret == AVERAGE:
        return (left + right) / 2.0
    return np.minimum(left, right) if regret == WEAK else np.maximum(left, right)


def number_or_none(value: float) -> float | None:
    """Return ``value``; None for NaN."""
    return None if np.isnan(value) else float(value)


def key_of(numbers: Mapping[str, int], number: int) -> str:
    """Return the name of ``number``."""
    return next(name for name, one in numbers.items() if one == number)


def sides(action: Any) -> tuple[Any, Any]:
    """Return the unchecked values of "left" and "right", or raise a ValueError if ``action`` is not such a dict."""
    if not isinstance(action, (dict, Mapping)):  # a dict is recognized three times as fast
        kind = f"is a {type(action).__name__}"
    elif len(action) == 2 and "left" in action and "right" in action:
        return action["left"], action["right"]
    else:
        kind = f"has the keys {sorted(action, key=str)}"
    raise ValueError(f"action {shown(action)} {kind}; allowed: a dict with the keys 'left' and 'right'")


# -- arms --------------------------------------------------------------------------------------------------------------


def checked_arm_pairs(actions: Any, num_arms: int, num_envs: int) -> Pair:
    """Return the arms of both sides as C-contiguous int64 arrays (num_envs,), uncopied where they are such arrays.

    Lists, tuples and arrays of any integer dtype are cast; anything else raises a ValueError.
    """
    given_left, given_right = sides(actions)
    shape = (num_envs,)
    left = given_left if is_ready(given_left, shape) else _arm_array("left", given_left, num_arms, num_envs)
    right = given_right if is_ready(given_right, shape) else _arm_array("right", given_right, num_arms, num_envs)
    row = first_wrong_arm(left, right, num_arms)
    if row >= 0:
        side, arms = ("right", given_right) if 0 <= left[row] < num_arms else ("left", given_left)
        name = f"action[{side!r}][row {row}]"
        raise ValueError(f"{name} = {arms[row]} is not an arm; allowed: 0 .. {num_arms - 1}")
    return left, right


def checked_arm_pair(action: Any, num_arms: int) -> Pair:
    """Return one duel as arrays (1,). A NumPy array without dimensions is an arm, too."""
    left, right = sides(action)
    return np.array([_checked_arm("left", left, num_arms)]), np.array([_checked_arm("right", right, num_arms)])


def _arm_array(side: str, arms: Any, num_arms: int, num_envs: int) -> NDArray[np.int64]:
    name, allowed = f"action[{side!r}]", f"allowed: an arm of 0 .. {num_arms - 1} for each of the {num_envs} rows"
    if isinstance(arms, np.ndarray):
        if arms.dtype.kind not in "iu":
            cast = ": cast it with .astype(int)" if arms.dtype.kind == "f" else ""
            raise ValueError(f"{name} = {shown(arms)} has dtype {arms.dtype}, not an integer one{cast}; {allowed}")
        if arms.shape != (num_envs,):
            raise ValueError(f"{name} = {shown(arms)} has shape {arms.shape}, not ({num_envs},); {allowed}")
        return np.array(arms, INT64, order="C", subok=False)  # huge uint64 turn negative
    if not isinstance(arms, (list, tuple)):
        raise ValueError(f"{name} = {shown(arms)} is a {type(arms).__name__}, not an array; {allowed}")
    if len(arms) != num_envs:
        raise ValueError(f"{name} = {shown(arms)} has {len(arms)} entries; {allowed}")
    return np.array([_checked_arm(side, arm, num_arms, f"[row {row}]") for row, arm in enumerate(arms)], INT64)


def _checked_arm(side: str, arm: Any, num_arms: int, row: str = "") -> int:
    whole: int | None = None
    if type(arm) is int:
        whole = arm
    elif isinstance(arm, (np.generic, np.ndarray)):
        whole = int(arm) if arm.ndim == 0 and arm.dtype.kind in "iu" else None
    elif isinstance(arm, int) and not isinstance(arm, bool):
        whole = int(arm)
    if whole is None or not 0 <= whole < num_arms:
        what = "not a whole number" if whole is None else "not an arm"
        raise ValueError(f"action[{side!r}]{row} = {shown(arm)} is {what}; allowed: 0 .. {num_arms - 1}")
    return whole


@kernel
def first_wrong_arm(left, right, num_arms):
    """The first row whose ``left`` or ``right`` (rows,) is not in 0 .. ``num_arms`` - 1, or -1."""
    for row in range(left.shape[0]):
        if left[row] < 0 or left[row] >= num_arms or right[row] < 0 or right[row] >= num_arms:
            return row
    return -1


# -- rankings ----------------------------------------------------------------------------------------------------------


def checked_rankings(space: Any, actions: Any) -> Pair:
    """Return the rankings of both sides as ``checked`` of their spaces returns them; errors name the side."""
    left, right = sides(actions)
    return _checked_ranking("left", space["left"], left), _checked_ranking("right", space["right"], right)


def _checked_ranking(side: str, space: Any, ranking: Any) -> NDArray[np.int64]:
    try:
        checked: NDArray[np.int64] = space.checked(ranking)
    except ValueError as error:
        raise ValueError(str(error).replace("action", f"action[{side!r}]", 1)) from None
    return checked


# -- interleaving ------------------------------------------------------------------------------------------------------


class InterleavedVectorEnv(SessionsVectorEnv):
    """Base class of duels by interleaving: two lists become one, a user clicks on it, and credit decides who won."""

    _ranked: ClassVar[str]  # what lists are of, in texts
    _lists: Lists
    _left_list: NDArray[np.int64]  # (num_envs,) numbers of the rows' lists in ``_lists``
    _right_list: NDArray[np.int64]
    _left: NDArray[np.int64]  # (num_envs, ...) the duels of the last session
    _right: NDArray[np.int64]
    _regret: NDArray[np.float64]  # (num_envs,)

    def _interleave_by(
        self, interleaving: str, knobs: dict[str, Any] | None, name: str, length: int, regret: str
    ) -> None:
        """Check the arguments of interleaving; ``name`` is the argument that says the interleaved lists' ``length``."""
        self.interleaving = make(interleaving, knobs)
        self.interleaving.check_length(name, length)
        # All methods but the probabilistic one display a list that duels with itself as it is.
        self._keeps_equals = not isinstance(self.interleaving, INTERLEAVINGS["probabilistic"])
        self._regret_kind = one_of("regret", regret, REGRETS)
        shape = (self.num_envs, length)
        self._displayed, self._share = np.full(shape, -1, np.int64), np.zeros(shape)
        self._credit, self._winner = np.zeros((self.num_envs, 2)), np.zeros(self.num_envs, np.int64)

    @abstractmethod
    def _take_duels(self, pairs: Pair) -> None:
        """Keep the checked duels; set the numbers of the rows' lists and the regret."""

    @abstractmethod
    def _seen(self, row: int, shares: Any) -> dict[str, Any]:
        """Return what a subclass knows for ``_scene``: see the fields of ``InterleavedScene`` that are not set there.

        ``shares`` (length,) is the left side's part of a click at each position, or None.
        """

    @abstractmethod
    def _click(self, clicks: NDArray[np.int8], reward: NDArray[np.float64]) -> None:
        """Fill ``clicks`` (num_envs, length) on the displayed lists, and ``reward`` (num_envs,)."""

    def play(self, pairs: Pair) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Play one session in every row: interleave both sides' lists, click, find the winners."""
        count_session(self._session, self._round)
        self._latest_round += 1
        self._take_duels(pairs)
        duels, coins = (self._lists, self._left_list, self._right_list), (self._key, self._session)
        self.interleaving.interleave(*duels, *coins, self._displayed, self._share)
        clicks, reward = np.empty(self._displayed.shape, np.int8), np.empty(self.num_envs)
        self._click(clicks, reward)
        self.interleaving.credit(*duels, self._displayed, self._share, clicks, self._credit)
        decide(self._credit, *coins, self._winner)
        return clicks, reward

    def _duel_rows(self) -> dict[str, NDArray[Any]]:
        """Return what a compiled loop reads and changes in every kind of interleaved duel; see ``compiled``."""
        return {
            "key": self._key,
            "session": self._session,
            "round": self._round,
            "left": self._left,
            "right": self._right,
            "left_list": self._left_list,
            "right_list": self._right_list,
            "displayed": self._displayed,
            "share": self._share,
            "credit": self._credit,
            "winner": self._winner,
            "observation": self.last_observation,
        }

    def _written(self) -> dict[str, NDArray[Any]]:
        last = {"left": self._left, "right": self._right, "displayed": self._displayed, "share": self._share}
        return super()._written() | last | {"credit": self._credit, "winner": self._winner}

    def _session_info(self, clicks: NDArray[np.int8], copy: Copy, number: Copy) -> dict[str, Any]:
        return {
            "winner": number(self._winner),
            "credit": copy(self._credit),
            "left": copy(self._left),
            "right": copy(self._right),
            "displayed": copy(self._displayed),
            "clicks": copy(clicks),
            "regret": number(self._regret),
            "round": number(self._round),
            "query": number(self._problem),
        }

    def _scene(self, row: int) -> InterleavedScene:
        played, regret = self._round[row] >= 0, self.regret_so_far[row]
        credit, last = self._credit[row], self._regret[row] if played else np.nan
        return InterleavedScene(
            what=self._ranked,
            interleaving=self.interleaving.name,
            num_positions=self._displayed.shape[1],
            round=int(self._round[row]) if played else None,
            winner=int(self._winner[row]) if played else None,
            tied=bool(played and abs(credit[0] - credit[1]) <= CREDIT_TOLERANCE),
            regret_kind=key_of(REGRETS, self._regret_kind),
            regret=number_or_none(last),
            regret_so_far=number_or_none(regret),
            **self._seen(row, self.interleaving.left_shares(self._share[row])),
        )

    def _text(self, row: int) -> str:
        if self._round[row] < 0:
            return "nothing displayed yet"
        won, (mine, other) = ("left", "right")[self._winner[row]], self._credit[row]
        duel = f"left {self._left[row].tolist()}, right {self._right[row].tolist()}"
        clicks = self.last_observation[row]
        query = query_text(int(self._problem[row]), self._query_name(row))
        heading = f"{query}, round {self._round[row]}: {duel}; {won} won, {mine:.3g} to {other:.3g}"
        return "\n".join([heading, *listed(self._ranked, self._displayed[row], clicks, self._item_names(row))])
