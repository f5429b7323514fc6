"""Totals over rounds, kept at log-spaced rounds: what the recorders write into."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import MAX_ROUNDS, count_of, round_numbers
from rankgym.kernels import kernel

RECORDS_PER_DECADE = 20
MAX_EPOCHS = 1_000  # later epochs are counted in the last of these
LAST_RECORD = 10**15  # the last recorded round of an episode without a horizon


def record_rounds(horizon: int | None, record_at: Iterable[int] = ()) -> NDArray[np.int64]:
    """Return the recorded rounds: about 20 a decade from 1 to ``horizon``, ``horizon`` itself, and ``record_at``.

    Args:
        horizon: the last round, at least 1; None: rounds up to 10^15.
        record_at: further rounds, in any order.

    Returns:
        The rounds (records,) int64, ascending, each once.

    Raises:
        ValueError: a round of ``record_at`` is not in 1 .. ``horizon``, or ``horizon`` is below 1.

    Examples:
        >>> from rankgym.wrappers import record_rounds
        >>> record_rounds(12).tolist()
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        >>> len(record_rounds(10_000)), 777 in record_rounds(10_000, record_at=[777])
        (70, True)
    """
    last = LAST_RECORD if horizon is None else min(count_of("horizon", horizon, 1), MAX_ROUNDS)
    asked = [count_of("record_at", r, 1, last) for r in round_numbers("record_at", record_at)]
    steps = np.arange(math.ceil(RECORDS_PER_DECADE * math.log10(last)) + 1)
    spaced = np.rint(10.0 ** (steps / RECORDS_PER_DECADE)).astype(np.int64)
    return np.unique(np.concatenate([spaced[spaced <= last], [last], np.array(asked, np.int64)]))


MANTISSA_BITS = 53  # of a float64
TOP = 1 << MANTISSA_BITS


@kernel
def add_repeatedly(totals, amounts, times):
    """Add ``amounts`` (rows,) to ``totals`` (rows,) ``times`` times, rounding each sum: bit for bit the plain loop.

    As long as totals keep their sign and stay between two powers of two, they are multiples m of one unit u. Their
    exact sums with the amount q u + r, 0 <= r < u, are rounded to such multiples again. Unless r = u / 2, each sum is
    rounded in the same direction. If r = u / 2, a sum is rounded to an even multiple; the side depends on whether
    m + q is odd, and once m is even (as after any such sum) it stays the same. So from the second total of a stretch on
    every step adds the same multiple of u, and all steps within the stretch are one multiplication of whole numbers.
    (If totals are so small that u cannot be halved, all sums are exact.)
    """
    for row in range(totals.shape[0]):
        total, amount, left = totals[row], amounts[row], times
        while left > 0:
            before = total
            total = before + amount
            left -= 1
            if total == before or total != total:  # the total cannot change any more, or is NaN
                break
            after = total + amount
            up, down = before > 0 and total > 0 and after > 0, before < 0 and total < 0 and after < 0
            if left == 0 or not (up or down) or not math.isfinite(after):
                continue
            part, power = math.frexp(total)
            if math.frexp(before)[1] != power or math.frexp(after)[1] != power:
                continue
            units = abs(np.int64(math.ldexp(part, MANTISSA_BITS)))  # 2^52 .. 2^53 - 1
            step = np.int64(math.ldexp(after - total, MANTISSA_BITS - power))
            step = step if up else -step
            room = TOP - 1 - units if step > 0 else units - TOP // 2 - 1  # below, units are halved
            jump = min(left, room // abs(step)) if room > 0 and step != 0 else 0
            units += jump * step
            total = math.ldexp(np.float64(units if up else -units), power - MANTISSA_BITS)
            left -= jump
        totals[row] = total


class Log:
    """Totals of one or more series in each row, kept at given, ascending rounds of the rows' episodes.

    The totals of the first series are also kept by epoch.
    """

    def __init__(self, num_envs: int, rounds: NDArray[np.int64], series: Sequence[str]) -> None:
        self.rounds = rounds
        self.played = np.zeros(num_envs, np.int64)  # rounds of the row's episode
        self._uncounted = 0  # rounds of all rows that ``played`` does not have yet: an addition to an array takes time
        self.totals = {name: np.zeros(num_envs) for name in series}
        self.kept = {name: np.full((0, num_envs), np.nan) for name in series}  # grows to (records, num_envs)
        self.entered = np.full((0, num_envs), np.nan)  # (epochs, num_envs) the first series' totals as epochs began
        self._epoch = np.full(num_envs, -1)  # of the row's last round; -1: unknown
        self._stale = np.zeros(num_envs, bool)  # rows that still hold their last episode
        self._some_stale = False
        self._ahead = int(rounds[0])  # rounds up to the next record of any row

    def _look_ahead(self) -> None:
        """Count the rounds up to the next record. Rows that skip rounds come to theirs later."""
        self._count()
        following = np.searchsorted(self.rounds, self.played, side="right")
        self._ahead = int((np.append(self.rounds, 2 * MAX_ROUNDS - 1)[following] - self.played).min())

    def _count(self) -> None:
        """Bring ``played`` up to date."""
        self.played += self._uncounted
        self._uncounted = 0

    def begin(self, rows: NDArray[np.bool_]) -> None:
        """Start a new episode in ``rows`` (num_envs,) bool. The last one stays readable until the first new round."""
        self._stale |= rows
        self._some_stale = True

    def _clear(self, rows: NDArray[np.bool_]) -> None:
        self._count()
        rows = rows & self._stale
        self.played[rows] = 0
        for total in self.totals.values():
            total[rows] = 0.0
        for kept in (*self.kept.values(), self.entered):
            kept[:, rows] = np.nan
        self._epoch[rows] = -1
        self._stale &= ~rows
        self._some_stale = bool(self._stale.any())
        self._look_ahead()

    def add(
        self,
        amounts: Sequence[NDArray[Any]],
        rows: NDArray[np.bool_] | None = None,
        epoch: NDArray[np.int64] | None = None,
    ) -> None:
        """Add one round of ``rows`` (default: all); ``epoch`` may be None if no such row has entered a new one."""
        if self._some_stale:
            self._clear(np.ones_like(self._stale) if rows is None else rows)
        if epoch is not None:
            self._enter(epoch, rows)
        for (name, total), amount in zip(self.totals.items(), amounts, strict=True):
            if rows is not None:
                total[rows] += amount[rows]
            elif len(total) > 1:
                total += amount
            else:
                self.totals[name] = total + amount  # in place, NumPy takes three times as long for one number
        if rows is None:
            self._uncounted += 1
        else:
            self.played += rows
        self._ahead -= 1
        if self._ahead == 0:
            self._keep()

    @property
    def ahead(self) -> int:
        """How many rounds may be added to the totals of all rows by others, before ``added`` is called."""
        return self._ahead

    def added(self, times: int) -> None:
        """Note that ``times`` rounds, at most ``ahead``, were added to the totals of all rows."""
        self._uncounted += times
        self._ahead -= times
        if self._ahead == 0:
            self._keep()

    def _keep(self) -> None:
        """Keep the totals of the rows that have reached a recorded round."""
        self._count()
        index = np.minimum(np.searchsorted(self.rounds, self.played), len(self.rounds) - 1)
        (due,) = np.nonzero(self.rounds[index] == self.played)
        if len(due):
            for name, total in self.totals.items():
                self._room(name, int(index[due].max()))[index[due], due] = total[due]
        self._look_ahead()

    def repeat(self, amounts: Sequence[NDArray[Any]], times: int) -> None:
        """Add ``times`` equal rounds of all rows, bit for bit like ``times`` calls of ``add(amounts)``."""
        if times and self._some_stale:
            self._clear(np.ones_like(self._stale))
        added = [np.array(amount, np.float64) for amount in amounts]
        while times > 0:
            skipped = min(times, self._ahead) - 1  # rounds before the next one that may be recorded
            for total, amount in zip(self.totals.values(), added, strict=True):
                add_repeatedly(total, amount, skipped)
            self._uncounted += skipped
            self._ahead -= skipped
            self.add(added)
            times -= skipped + 1

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the full state as arrays with a leading axis of rows."""
        self._count()
        reached = int(np.searchsorted(self.rounds, self.played.max(), side="right"))
        written = {"played": self.played, "epoch": self._epoch, "stale": self._stale, "entered": self.entered.T}
        written |= {f"total_{name}": total for name, total in self.totals.items()}
        written |= {f"kept_{name}": self._room(name, reached)[:reached].T for name in self.kept}
        return {name: np.array(values, order="C") for name, values in written.items()}

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state saved by ``snapshot``, or some of its rows. The arrays are not checked."""
        given = {name: np.array(values) for name, values in snapshot.items()}
        self.played, self._epoch, self._stale = given["played"], given["epoch"], given["stale"]
        self.entered = np.ascontiguousarray(given["entered"].T)
        self.totals = {name: given[f"total_{name}"] for name in self.totals}
        self.kept = {name: np.ascontiguousarray(given[f"kept_{name}"].T) for name in self.kept}
        self._some_stale = bool(self._stale.any())
        self._uncounted = 0
        self._look_ahead()

    def _enter(self, epoch: NDArray[np.int64], rows: NDArray[np.bool_] | None) -> None:
        """Keep the first series' totals of those ``rows`` that enter another epoch."""
        epoch = np.minimum(epoch, MAX_EPOCHS - 1)
        entering = epoch != self._epoch
        if rows is not None:
            entering &= rows
        (new,) = np.nonzero(entering)
        if not len(new):
            return
        needed, epochs = int(epoch[new].max()) + 1, len(self.entered)
        if needed > epochs:
            more = min(max(needed, 2 * epochs), MAX_EPOCHS) - epochs
            self.entered = np.concatenate([self.entered, np.full((more, self.entered.shape[1]), np.nan)])
        self.entered[epoch[new], new] = next(iter(self.totals.values()))[new]
        self._epoch[new] = epoch[new]

    def by_epoch(self) -> NDArray[np.float64]:
        """The first series' sum within each epoch, (epochs, num_envs); NaN if the row has not reached the epoch."""
        epochs = int(self._epoch.max()) + 1
        added, after = np.full((epochs, len(self._epoch)), np.nan), next(iter(self.totals.values()))
        for epoch in range(epochs - 1, -1, -1):
            entered = self.entered[epoch]
            added[epoch] = after - entered
            after = np.where(np.isnan(entered), after, entered)
        return added

    def _room(self, name: str, index: int) -> NDArray[np.float64]:
        """The kept totals of a series, enlarged to hold record ``index``."""
        kept = self.kept[name]
        if index >= len(kept):
            more = np.full((max(2 * index, 64) - len(kept) + 1, kept.shape[1]), np.nan)
            self.kept[name] = kept = np.concatenate([kept, more])
        return kept

    def records(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rounds (records,) that some row has reached, and the totals (records, num_envs); NaN in other rows."""
        kept = self.kept[name][: len(self.rounds)]
        known = [~np.isnan(totals[: len(self.rounds)]).all(axis=1) for totals in self.kept.values()]
        reached = int(np.count_nonzero(np.any(known, axis=0)))  # one series may be NaN throughout, but not all
        return self.rounds[:reached].copy(), kept[:reached].copy()
