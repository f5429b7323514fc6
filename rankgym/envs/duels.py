"""Duels of arms or of rankings: actions with a left and a right side, their regret, and their comparison by clicks."""

import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rankgym.interleaving import INTERLEAVINGS, Lists, decide, make
from rankgym.kernels import kernel

AVERAGE, WEAK, STRONG = range(3)
REGRETS = {"average": AVERAGE, "weak": WEAK, "strong": STRONG}
INT64 = np.dtype(np.int64)

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]  # of the left and the right side

_short = reprlib.Repr()
_short.maxlist = _short.maxtuple = 24
_short.maxother = 200


def checked_word(name: str, word: Any, words: Mapping[str, int]) -> int:
    """Return the number of ``word``, an argument ``name``, among ``words``."""
    if not isinstance(word, str) or word not in words:
        raise ValueError(f"{name} = {word!r} is unknown; allowed: {', '.join(map(repr, words))}")
    return words[word]


def joined_gaps(left: NDArray[np.float64], right: NDArray[np.float64], regret: int) -> NDArray[np.float64]:
    """Return the regret, of kind ``regret``, of duels whose sides have these gaps to the best one."""
    if regret == AVERAGE:
        return (left + right) / 2.0
    return np.minimum(left, right) if regret == WEAK else np.maximum(left, right)


def sides(action: Any) -> tuple[Any, Any]:
    """Return the unchecked values of "left" and "right", or raise a ValueError if ``action`` is not such a dict."""
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


# -- arms --------------------------------------------------------------------------------------------------------------


def checked_arm_pairs(actions: Any, num_arms: int, num_envs: int) -> Pair:
    """Return the arms of both sides as C-contiguous int64 arrays (num_envs,), uncopied where they are such arrays.

    The arms of such an array **may be out of range**: a kernel looks for them (``first_wrong_arm``), and ``refuse_arm``
    raises the error. Lists, tuples and arrays of any integer dtype are cast; anything else raises a ValueError.
    """
    left, right = sides(actions)
    return _checked_arms("left", left, num_arms, num_envs), _checked_arms("right", right, num_arms, num_envs)


def checked_arm_pair(action: Any, num_arms: int) -> Pair:
    """Return one duel as arrays (1,). A NumPy array without dimensions is an arm, too."""
    left, right = sides(action)
    return np.array([_checked_arm("left", left, num_arms)]), np.array([_checked_arm("right", right, num_arms)])


def _checked_arms(side: str, arms: Any, num_arms: int, num_envs: int) -> NDArray[np.int64]:
    if type(arms) is np.ndarray and arms.dtype == INT64 and arms.shape == (num_envs,) and arms.flags.carray:
        return arms
    name, allowed = f"action[{side!r}]", f"allowed: an arm of 0 .. {num_arms - 1} for each of the {num_envs} rows"
    if isinstance(arms, np.ndarray):
        if arms.dtype.kind not in "iu":
            cast = ": cast it with .astype(int)" if arms.dtype.kind == "f" else ""
            raise ValueError(f"{name} = {_shown(arms)} has dtype {arms.dtype}, not an integer one{cast}; {allowed}")
        if arms.shape != (num_envs,):
            raise ValueError(f"{name} = {_shown(arms)} has shape {arms.shape}, not ({num_envs},); {allowed}")
        wrong = (arms < 0) | (arms >= num_arms)  # before the cast: huge uint64 turn negative
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"{name}[row {row}] = {arms[row]} is not an arm; allowed: 0 .. {num_arms - 1}")
        return np.array(arms, INT64, order="C", subok=False)
    if not isinstance(arms, (list, tuple)):
        raise ValueError(f"{name} = {_shown(arms)} is a {type(arms).__name__}, not an array; {allowed}")
    if len(arms) != num_envs:
        raise ValueError(f"{name} = {_shown(arms)} has {len(arms)} entries; {allowed}")
    return np.array([_checked_arm(side, arm, num_arms, f"[row {row}]") for row, arm in enumerate(arms)], INT64)


def _checked_arm(side: str, arm: Any, num_arms: int, row: str = "") -> int:
    whole: int | None = None
    if isinstance(arm, (np.generic, np.ndarray)):
        whole = int(arm) if arm.ndim == 0 and arm.dtype.kind in "iu" else None
    elif isinstance(arm, int) and not isinstance(arm, bool):
        whole = int(arm)
    if whole is None or not 0 <= whole < num_arms:
        what = "not a whole number" if whole is None else "not an arm"
        raise ValueError(f"action[{side!r}]{row} = {_shown(arm)} is {what}; allowed: 0 .. {num_arms - 1}")
    return whole


@kernel
def first_wrong_arm(left, right, num_arms):
    """The first row whose ``left`` or ``right`` (rows,) is not in 0 .. ``num_arms`` - 1, or -1."""
    for row in range(left.shape[0]):
        if left[row] < 0 or left[row] >= num_arms or right[row] < 0 or right[row] >= num_arms:
            return row
    return -1


def refuse_arm(pairs: Pair, row: int, num_arms: int) -> NoReturn:
    """Raise the error of a duel whose ``row`` has an arm out of range."""
    side = 1 if 0 <= pairs[0][row] < num_arms else 0
    name = f"action[{('left', 'right')[side]!r}][row {row}]"
    raise ValueError(f"{name} = {pairs[side][row]} is not an arm; allowed: 0 .. {num_arms - 1}")


def _shown(value: Any) -> str:
    """Return a value for a line of a message: without line breaks, and not long."""
    return " ".join(_short.repr(value).split())


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


# -- comparison by interleaving: two rankings become one list, a user clicks, and credit decides who won ---------------


@kernel
def open_round(session, round):
    """Add one session to the counters of every row."""
    for row in range(session.shape[0]):
        session[row] += 1
        round[row] += 1


class InterleavedDuel:
    """The interleaved list of every row's last session, the credit for its clicks, and the winner.

    ``length`` of the lists is the environment's argument ``name``; ``knobs`` are the interleaving method's keywords.
    """

    def __init__(self, interleaving: str, knobs: dict[str, Any] | None, rows: int, length: int, name: str) -> None:
        self.method = make(interleaving, knobs)
        self.method.check_length(name, length)
        self.displayed = np.full((rows, length), -1, np.int64)
        self.share, self.credit = np.zeros((rows, length)), np.zeros((rows, 2))
        self.winner = np.zeros(rows, np.int64)
        # All methods but the probabilistic one display a list that duels with itself as it is.
        self.keeps_equals = not isinstance(self.method, INTERLEAVINGS["probabilistic"])

    def interleave(self, lists: Lists, numbers: Pair, key: NDArray[np.uint64], session: NDArray[np.int64]) -> None:
        """Interleave the rows' lists, ``numbers`` of left and right (rows,) in ``lists``."""
        self.method.interleave(lists, *numbers, key, session, self.displayed, self.share)

    def judge(
        self, lists: Lists, numbers: Pair, key: NDArray[np.uint64], session: NDArray[np.int64], clicks: NDArray[np.int8]
    ) -> None:
        """Give credit for ``clicks`` on the interleaved lists and find the winners."""
        self.method.credit(lists, *numbers, self.displayed, self.share, clicks, self.credit)
        decide(self.credit, key, session, self.winner)

    def written(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a snapshot, no copies."""
        return {"displayed": self.displayed, "share": self.share, "credit": self.credit, "winner": self.winner}

    def result(self, row: int) -> str:
        """Return who won in a row, in words."""
        won, (mine, other) = ("left", "right")[self.winner[row]], self.credit[row]
        return f"{won} won, {mine:.3g} to {other:.3g}"
