"""The space of rankings: ``Permutation``, its batch, and their registrations with Gymnasium.

A ranking is a list of k distinct items out of ``0 .. n-1``, best first. ``Permutation(n, k)`` is a ``MultiDiscrete``
whose members repeat no item, so that libraries accept it that recognize spaces by class. Gymnasium would batch it into
a plain ``Box``, whose samples repeat items: ``BatchedPermutation`` is a batch of rankings.

Environments check actions with ``checked`` of either class alone: it returns an int64 array, or raises an error with
the first wrong row and what is allowed.
"""

import json
import reprlib
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete
from gymnasium.spaces.utils import unflatten
from gymnasium.vector.utils import batch_differing_spaces, batch_space, iterate
from gymnasium.wrappers.utils import create_zero_array
from numpy.typing import DTypeLike, NDArray

from rankgym.arguments import whole_number
from rankgym.kernels import first_fault

if TYPE_CHECKING:
    from typing_extensions import TypeIs

__all__ = ["BatchedPermutation", "Permutation"]

INT64 = np.dtype(np.int64)
UNAWARE = "a policy that draws each position by itself, as MlpPolicy does, needs the wrapper ScoresToRanking"
Seed: TypeAlias = int | np.random.Generator | None

_short = reprlib.Repr()
_short.maxtuple = _short.maxlist = 24  # longer rankings are shortened in messages
_short.maxlevel = 3
_short.maxother = 200


def shown(value: Any) -> str:
    """Return ``value`` for a line of a message: without line breaks, and not long."""
    return " ".join(_short.repr(value).split())


class Permutation(MultiDiscrete[np.int64]):
    """All rankings of k distinct items out of ``0 .. n-1``, best first.

    Args:
        n: number of items, at least 1.
        k: number of positions, 1 .. ``n``. Default: ``n``.
        dtype: integer dtype of the members, wide enough for ``n``.
        seed: of the samples: a whole number, a Generator, or None for an unpredictable one.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and what is allowed.

    Examples:
        >>> import numpy as np
        >>> from rankgym.spaces import Permutation
        >>> space = Permutation(5, 3, seed=0)
        >>> sorted(space.sample(mask=np.array([1, 0, 1, 0, 1], np.int8)).tolist())  # items 1 and 3 are masked
        [0, 2, 4]
        >>> [4, 0, 2] in space, [0, 0, 2] in space
        (True, False)
        >>> space.checked((4, 0, 2))
        array([4, 0, 2])
    """

    _shape: tuple[int, ...]

    def __init__(self, n: int, k: int | None = None, dtype: DTypeLike = np.int64, seed: Seed = None) -> None:
        self.n = whole_number("n", n, 1)
        self.k = self.n if k is None else whole_number("k", k, 1, self.n)
        integer = _integer_dtype(dtype, self.n)
        super().__init__(np.full(self.k, self.n, integer), integer.type, seed)

    def sample(  # type: ignore[override]
        self, mask: NDArray[np.int8] | None = None, probability: NDArray[np.float64] | None = None
    ) -> NDArray[np.int64]:
        """Return a random ranking, (k,): uniform over all rankings if neither argument is given.

        Args:
            mask: (n,) int8, 1 for an item that may be ranked, at least k of them: uniform over their rankings.
            probability: (n,) float64, weights that sum to 1, at least k of them positive. Position by position an
                item is drawn with probability proportional to its weight among the items left (Plackett-Luce).

        Raises:
            ValueError: both are given, or one has a wrong shape, dtype, value, sum, or leaves fewer than k items.
        """
        weights = _weights(mask, probability, np.array([self.n]), self.k, batched=False)
        return _draw(self.np_random, weights, (1, self.n), self.k, self.dtype)[0]

    def checked(self, action: Any) -> NDArray[np.int64]:
        """Return ``action`` as a C-contiguous int64 array of shape (k,), without a copy if it is one.

        Args:
            action: a list, tuple or array of whole numbers, of any integer dtype.

        Raises:
            ValueError: it is not a member of this space; the message names the value and what is allowed.
        """
        ranking = action if is_ready(action, self._shape) else self._converted(action)
        if first_fault(ranking[None], self.n) >= 0:
            _refuse_row("action", _items(action), self.n)
        return ranking

    def _converted(self, action: Any) -> NDArray[np.int64]:
        if isinstance(action, np.ndarray):
            _check_array("action", action, (self.k,), _need(self.n, self.k))
            return np.array(action, INT64, order="C", subok=False)  # huge uint64 turn negative: refused by the kernel
        return np.array(_checked_row("action", action, self.n, self.k), INT64)

    def contains(self, x: Any) -> bool:
        """True for a list, tuple or array, of any integer dtype, that ``checked`` accepts."""
        try:
            self.checked(x)
        except ValueError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permutation) and (self.n, self.k, self.dtype) == (other.n, other.k, other.dtype)

    def __repr__(self) -> str:
        return f"Permutation({self.n}, {self.k}{'' if self.dtype == INT64 else f', dtype={self.dtype}'})"


class BatchedPermutation(Box[np.int64]):
    """Batches of ``num_envs`` rankings, one a row: members have shape (num_envs, k).

    Args:
        n: number of items, at least 1: one for all rows, or a sequence with one for each. The attribute ``n`` is the
            largest, ``num_items`` (num_envs,) has each row's.
        k: number of positions, 1 .. the smallest ``n``.
        num_envs: number of rows, at least 1.
        dtype, seed: as in ``Permutation``, which refuses the same values.

    Raises:
        ValueError: an argument is out of range; the message names it, its value and what is allowed.

    Examples:
        >>> from gymnasium.vector.utils import batch_space
        >>> from rankgym.spaces import BatchedPermutation, Permutation
        >>> batch_space(Permutation(5, 2), 3)
        BatchedPermutation(5, 2, num_envs=3)
        >>> space = BatchedPermutation([5, 3], 2, num_envs=2)  # the rows have different numbers of items
        >>> [[4, 0], [2, 1]] in space, [[4, 0], [3, 1]] in space
        (True, False)
    """

    def __init__(
        self, n: int | Sequence[int], k: int, num_envs: int, dtype: DTypeLike = np.int64, seed: Seed = None
    ) -> None:
        self.num_envs = whole_number("num_envs", num_envs, 1)
        if isinstance(n, (list, tuple, np.ndarray)):
            if len(n) != self.num_envs:
                raise ValueError(f"n has {len(n)} entries; allowed: a whole number, or one for each of {num_envs} rows")
            rows = [whole_number(f"n[{row}]", items, 1) for row, items in enumerate(n)]
        else:
            rows = [whole_number("n", n, 1)] * self.num_envs
        self.n, self.k = max(rows), whole_number("k", k, 1, min(rows))
        self.num_items = np.array(rows, INT64)  # (num_envs,)
        self._alike = min(rows) == self.n
        integer = _integer_dtype(dtype, self.n)
        shape = (self.num_envs, self.k)
        high = np.broadcast_to(self.num_items[:, None] - 1, shape).astype(integer)
        super().__init__(np.zeros(shape, integer), high, shape, integer.type, seed)

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Return a batch of independent random rankings, (num_envs, k); see ``Permutation.sample``.

        Args:
            mask, probability: one array of shape (n,) for all rows, or (num_envs, n), or a tuple of one array a row.

        Raises:
            ValueError: as ``Permutation.sample``; the message names the row.
        """
        weights = _weights(mask, probability, self.num_items, self.k, batched=True)
        if weights is None and not self._alike:
            weights = (np.arange(self.n) < self.num_items[:, None]).astype(np.float64)
        return _draw(self.np_random, weights, (self.num_envs, self.n), self.k, self.dtype)

    def checked(self, action: Any) -> NDArray[np.int64]:
        """Return ``action`` as a C-contiguous int64 array of shape (num_envs, k), without a copy if it is one.

        Args:
            action: a list, tuple or array of whole numbers, of any integer dtype, or a list or tuple of such rows.

        Raises:
            ValueError: it is not a member of this space; the message names the first wrong row and what is allowed.
        """
        rankings = action if is_ready(action, self._shape) else self._converted(action)
        row = first_fault(rankings, self.n)
        if row < 0 and not self._alike:
            beyond = (rankings >= self.num_items[:, None]).any(axis=1)
            row = int(beyond.argmax()) if beyond.any() else -1
        if row >= 0:
            _refuse_row(f"action[row {row}] =", _items(np.asarray(action)[row]), int(self.num_items[row]))
        return rankings

    def _converted(self, action: Any) -> NDArray[np.int64]:
        need = f"each of the {self.num_envs} rows needs {self.k} different items out of 0..{self.n - 1}"
        if isinstance(action, np.ndarray):
            _check_array("action", action, self._shape, need)
            return np.array(action, INT64, order="C", subok=False)
        if not isinstance(action, (list, tuple)) or len(action) != self.num_envs:
            sized = isinstance(action, (list, tuple))
            fault = f"has {len(action)} rows" if sized else f"is a {type(action).__name__}, not a batch of rankings"
            raise ValueError(f"action {shown(action)} {fault}; {need}")
        rows = ((f"action[row {row}] =", action[row], items) for row, items in enumerate(self.num_items.tolist()))
        return np.array([_checked_row(name, ranking, items, self.k) for name, ranking, items in rows], INT64)

    def contains(self, x: Any) -> bool:
        """True for a batch, of any integer dtype, that ``checked`` accepts."""
        try:
            self.checked(x)
        except ValueError:
            return False
        return True

    def __eq__(self, other: object, /) -> bool:
        return (
            isinstance(other, BatchedPermutation)
            and (self.k, self.dtype) == (other.k, other.dtype)
            and np.array_equal(self.num_items, other.num_items)
        )

    def __repr__(self) -> str:
        n = self.n if self._alike else shown(self.num_items.tolist())
        dtype = "" if self.dtype == INT64 else f", dtype={self.dtype}"
        return f"BatchedPermutation({n}, {self.k}, num_envs={self.num_envs}{dtype})"


# ---- checks of actions ----


def is_ready(action: Any, shape: tuple[int, ...]) -> "TypeIs[NDArray[np.int64]]":
    """Whether a kernel can use the array without a copy; read-only arrays would be compiled anew."""
    return type(action) is np.ndarray and action.dtype == INT64 and action.shape == shape and action.flags.carray


def _need(n: int, k: int) -> str:
    return f"a ranking of {k} positions needs {k} different items out of 0..{n - 1}"


def _check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], need: str) -> None:
    if array.dtype.kind not in "iu":
        cast = ": cast it with .astype(int)" if array.dtype.kind == "f" else ""
        raise ValueError(f"{name} {shown(array)} has dtype {array.dtype}, not an integer dtype{cast}; {need}")
    if array.shape != shape:
        raise ValueError(f"{name} {shown(array)} has shape {array.shape}, not {shape}; {need}")


def _checked_row(name: str, row: Any, n: int, k: int) -> list[int]:
    """The items of one ranking in a list, tuple or array, without numpy, which would cast, wrap, warn or nest."""
    need = _need(n, k)
    if isinstance(row, np.ndarray):
        _check_array(name, row, (k,), need)
    elif not isinstance(row, (list, tuple)):
        raise ValueError(f"{name} {shown(row)} is a {type(row).__name__}, not a list of items; {need}")
    elif len(row) != k:
        raise ValueError(f"{name} {shown(row)} has {len(row)} items; {need}")
    else:
        for item in row:
            if type(item) is not int and not _is_whole(item):
                raise ValueError(f"{name} {shown(row)} holds {shown(item)}, not a whole number; {need}")
    items = _items(row)
    if len(set(items)) != k or min(items) < 0 or max(items) >= n:
        _refuse_row(name, items, n)
    return list(items)


def _refuse_row(name: str, items: tuple[int, ...], n: int) -> NoReturn:
    """Raise the error for a row of whole numbers that is not a ranking."""
    seen: set[int] = set()
    hint = ""
    for item in items:
        if not 0 <= item < n:
            fault = f"holds item {item}, which is out of range"
            break
        if item in seen:
            fault, hint = f"repeats item {item}", f" ({UNAWARE})"
            break
        seen.add(item)
    raise ValueError(f"{name} {shown(items)} {fault}; {_need(n, len(items))}{hint}")


def _items(row: Any) -> tuple[int, ...]:
    return tuple(np.asarray(row).tolist()) if isinstance(row, np.ndarray) else tuple(int(item) for item in row)


def _is_whole(value: Any) -> bool:
    if isinstance(value, np.generic):
        return value.dtype.kind in "iu"  # a timedelta64 is an np.integer by class only
    return isinstance(value, int) and not isinstance(value, bool)


# ---- samples ----


def _draw(
    rng: np.random.Generator, weights: NDArray[np.float64] | None, shape: tuple[int, int], k: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Draw Plackett-Luce rankings, (rows, k): the k largest of log weight + Gumbel noise, in order.

    Minus the logarithm of an exponential is Gumbel, so equal weights need no logarithm. Weights 0 are never drawn as
    long as k others are positive.
    """
    race = rng.standard_exponential(shape)
    if weights is not None:
        with np.errstate(divide="ignore"):
            race = np.log(race) - np.log(weights)
    return np.asarray(np.argsort(race, axis=1)[:, :k].astype(dtype, order="C"))


def _weights(
    mask: Any, probability: Any, num_items: NDArray[np.int64], k: int, *, batched: bool
) -> NDArray[np.float64] | None:
    """``mask`` or ``probability`` as checked weights (rows, n), for rows of ``num_items`` items; None for neither."""
    if mask is None and probability is None:
        return None
    if mask is not None and probability is not None:
        both = f"mask = {shown(mask)} and probability = {shown(probability)}"
        raise ValueError(f"{both}; allowed: one of them")
    name, given, dtype = ("mask", mask, np.int8) if probability is None else ("probability", probability, np.float64)
    rows, n = len(num_items), int(num_items.max())
    if batched and isinstance(given, (list, tuple)):
        if len(given) != rows:
            raise ValueError(f"{name} has {len(given)} entries; allowed: one array for each of the {rows} rows")
        weights = np.zeros((rows, n))
        for row, part in enumerate(given):
            weights[row, : num_items[row]] = _row_weights(f"{name}[{row}]", part, [(int(num_items[row]),)], dtype)
    else:
        shapes: list[tuple[int, ...]] = [(n,), (rows, n)] if batched else [(n,)]
        weights = np.broadcast_to(_row_weights(name, given, shapes, dtype), (rows, n)).astype(np.float64)
    for row in range(rows):
        where = f"{name}[{row}]" if batched else name
        part = weights[row]
        if probability is not None and not np.isclose(part.sum(), 1):
            raise ValueError(f"{where} sums to {part.sum()}; allowed: weights that sum to 1")
        if part[num_items[row] :].any():
            raise ValueError(f"{where} allows item {part.nonzero()[0][-1]}; allowed: items of 0..{num_items[row] - 1}")
        if np.count_nonzero(part) < k:
            raise ValueError(f"{where} allows {np.count_nonzero(part)} items; {_need(int(num_items[row]), k)}")
    return weights


def _row_weights(name: str, given: Any, shapes: list[tuple[int, ...]], dtype: type[np.generic]) -> NDArray[Any]:
    if not isinstance(given, np.ndarray) or given.dtype != dtype or given.shape not in shapes:
        kind = f", dtype {given.dtype}, shape {given.shape}" if isinstance(given, np.ndarray) else ""
        allowed = f"an array of {dtype.__name__} and shape {' or '.join(map(str, shapes))}"
        raise ValueError(f"{name} = {shown(given)}{kind} is out of range; allowed: {allowed}")
    right = (given == 0) | (given == 1) if dtype == np.int8 else (given >= 0) & (given <= 1)
    if not right.all():
        wrong = given[~right][0]
        raise ValueError(f"{name} holds {wrong}; allowed: {'0 or 1' if dtype == np.int8 else 'numbers in [0, 1]'}")
    return given


# ---- constructor arguments ----


def _integer_dtype(dtype: DTypeLike, n: int) -> np.dtype[Any]:
    try:
        integer = None if dtype is None else np.dtype(dtype)
    except TypeError:
        integer = None
    if integer is None or integer.kind not in "iu":
        raise ValueError(f"dtype = {dtype!r} is not an integer dtype; allowed: such as np.int64")
    if n > np.iinfo(integer).max:
        raise ValueError(f"dtype = {dtype!r} is too narrow for n = {n}; allowed: one that holds n")
    return integer.newbyteorder("=")


# ---- registrations with Gymnasium, where its answer for the parent class is wrong or is not found ----


@batch_space.register(Permutation)
def _batch(space: Permutation, n: int = 1) -> BatchedPermutation:
    return BatchedPermutation(space.n, space.k, n, space.dtype, deepcopy(space.np_random))


def _batch_differing(spaces: Sequence[Permutation]) -> BatchedPermutation:
    first = spaces[0]
    for row, space in enumerate(spaces):
        if (space.k, space.dtype) != (first.k, first.dtype):
            given, allowed = (f"k = {one.k} and dtype {one.dtype}" for one in (space, first))
            raise ValueError(f"spaces[{row}] has {given}; allowed: those of spaces[0], {allowed}")
    items = [space.n for space in spaces]
    return BatchedPermutation(items, first.k, len(spaces), first.dtype, deepcopy(first.np_random))


def _zero(space: Permutation | BatchedPermutation) -> NDArray[np.int64]:
    """The ranking 0, 1, ..., in every row of a batch."""
    return np.broadcast_to(np.arange(space.k, dtype=space.dtype), space.shape).copy()


def _unflatten(space: Permutation, x: NDArray[Any]) -> NDArray[np.int64]:
    blocks = np.asarray(x).reshape(space.k, space.n) != 0
    if not (blocks.sum(axis=1) == 1).all():
        raise ValueError(f"{shown(x)} is not a one-hot code of a ranking; {_need(space.n, space.k)}")
    return space.checked(blocks.argmax(axis=1)).astype(space.dtype)


batch_differing_spaces.register(Permutation, _batch_differing)
unflatten.register(Permutation, _unflatten)
create_zero_array.register(Permutation, _zero)
create_zero_array.register(BatchedPermutation, _zero)
# Inside a Tuple these dispatch on the exact class, so that the parent's function must be registered again.
iterate.register(Permutation, iterate.dispatch(MultiDiscrete))
iterate.register(BatchedPermutation, iterate.dispatch(Box))
batch_differing_spaces.register(BatchedPermutation, batch_differing_spaces.dispatch(Box))


# ---- Minari ----


def register_with_minari() -> None:
    """Let Minari store ``Permutation``: as a ``MultiDiscrete`` with a mark, which Minari can read without rankgym, too.

    Minari must be installed. Called twice, it does nothing more.
    """
    from minari.serialization import deserialize_space, serialize_space

    if Permutation in serialize_space.registry:
        return
    as_multi_discrete, to_multi_discrete = (
        serialize_space.dispatch(MultiDiscrete),
        deserialize_space.registry["MultiDiscrete"],
    )

    def to_dict(space: Permutation, to_string: bool = True) -> Any:
        stored = {**as_multi_discrete(space, to_string=False), "rankgym": "Permutation"}
        return json.dumps(stored) if to_string else stored

    def from_dict(stored: dict[str, Any]) -> Any:
        if stored.get("rankgym") != "Permutation":
            return to_multi_discrete(stored)
        return Permutation(stored["nvec"][0], len(stored["nvec"]), stored["dtype"])

    serialize_space.register(Permutation, to_dict)
    deserialize_space.register("MultiDiscrete")(from_dict)


if "minari" in sys.modules:  # importing it takes .04 s, which those pay who use it
    register_with_minari()
