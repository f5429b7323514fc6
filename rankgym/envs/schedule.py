"""When the users of a ranking environment change: a schedule of epochs, which ``RankingVectorEnv.follow`` takes.

The truth is constant within an epoch and changes at breakpoints; a scenario (``rankgym.envs.scenarios``) says what
changes. What is random is addressed by a path of three steps (see ``rankgym.kernels``), so that it does not depend on
who reads it, or when:

    key of a row  --episode-->  seed of the episode  --1 + epoch-->  seed of the epoch  --index-->  64 bits

Number 0 of the second step draws the episode's breakpoints.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import count_of, one_of, round_numbers
from rankgym.envs.queries import QueriesVectorEnv
from rankgym.envs.scenarios import SCENARIOS
from rankgym.kernels import SCHEDULE, bits, kernel, row_keys

NEVER = 1 << 60  # the round of a breakpoint that does not come
MAX_DRAWN_BREAKPOINTS = 10_000  # of a row: they take .03 s, and the square of their number


@kernel
def epoch_seeds(key, episode, epoch, seed):
    """Fill ``seed`` (rows,) uint64 with the seeds of the rows' epochs; all arguments are (rows,)."""
    for row in range(key.shape[0]):
        seed[row] = bits(bits(key[row], episode[row]), 1 + epoch[row])


@kernel
def draw_breakpoints(key, episode, last, drawn):
    """Fill ``drawn`` (rows, count) with distinct rounds of 1 .. ``last``, ascending, every set equally probable.

    Floyd's algorithm (Bentley and Floyd, CACM 1987): the n-th draw is of 1 .. top, top = last - count + n, and what was
    drawn before is replaced by top. A round is favoured by less than last / 2^64.
    """
    rows, count = drawn.shape
    for row in range(rows):
        seed = bits(bits(key[row], episode[row]), 0)
        for n in range(count):
            top = last - count + n + 1
            pick = 1 + np.int64(bits(seed, n) % np.uint64(top))
            low, high = 0, n  # the place of pick among those before
            while low < high:
                middle = (low + high) // 2
                if drawn[row, middle] < pick:
                    low = middle + 1
                else:
                    high = middle
            if low < n and drawn[row, low] == pick:
                pick, low = top, n  # larger than all before
            for place in range(n, low, -1):
                drawn[row, place] = drawn[row, place - 1]
            drawn[row, low] = pick


class Schedule:
    """When and how the users of a ranking environment change, and the epoch that each row is in.

    A row's coming session may be the first of an epoch. ``begin_due`` then begins that epoch, at the end of the step
    before, so that the environment's attributes have the truth of the coming session; ``enter`` marks it as played.

    Args:
        scenario: a key of ``rankgym.envs.scenarios.SCENARIOS``.
        breakpoints, num_breakpoints, epoch_lengths: when epochs begin, as ``vector_breakpoint`` describes; at most one.
        **knobs: the scenario's; None stands for the default.

    Raises:
        ValueError: a name is unknown. Values are checked by ``start``, which knows the environment's sizes.

    Examples:
        >>> from rankgym.envs import RankingVectorEnv, Schedule
        >>> env = RankingVectorEnv(2, model="PBM", dataset="yandex", horizon=1_000)
        >>> env.follow(Schedule("shuffle", breakpoints=[100, 600]))
        >>> env.common_breakpoints(500)
        [100]
        >>> env.follow(Schedule("drift", epoch_lengths=[100, 300]))
        >>> env.common_breakpoints(1_000)
        [100, 400, 500, 800, 900]
    """

    def __init__(
        self,
        scenario: str = "jump",
        *,
        breakpoints: Any = None,
        num_breakpoints: Any = None,
        epoch_lengths: Any = None,
        **knobs: Any,
    ) -> None:
        self.name, self.scenario = scenario, one_of("scenario", scenario, SCENARIOS)
        self.knobs = {name: value for name, value in knobs.items() if value is not None}
        for name, value in self.knobs.items():
            if name not in self.scenario.knob_names:
                allowed = ", ".join(self.scenario.knob_names) or "none"
                raise ValueError(f"{name} = {value!r} is not a knob of scenario = {scenario!r}; allowed: {allowed}")
        times = {"breakpoints": breakpoints, "num_breakpoints": num_breakpoints, "epoch_lengths": epoch_lengths}
        self._times = {name: value for name, value in times.items() if value is not None}

    def start(self, env: QueriesVectorEnv) -> None:
        """Check the knobs and times against the sizes and the horizon of ``env``, and make the arrays of its rows.

        Raises:
            ValueError: a value is out of range.
        """
        self.knobs = self.scenario.check(self.knobs, env)
        self.horizon, rows = env.horizon, env.num_envs
        self._lengths: NDArray[np.int64] | None = None  # of epochs, cycled; or else ...
        self._starts = np.full((1, 1), NEVER)  # (1 or rows, epochs): where epochs 1, 2, ... begin, at last NEVER
        self._drawn = 0  # breakpoints drawn in each row
        self._set_times(rows)
        self.key = np.zeros(rows, np.uint64)
        self.next = np.full(rows, NEVER)  # the round of the row's next breakpoint
        self.epoch = np.zeros(rows, np.int64)  # of the coming session
        self.last_epoch = np.zeros(rows, np.int64)  # of the last session
        self.state = self._first_state(rows, env.num_items)
        self.changes = 0  # how often some row began an epoch
        self.quiet = NEVER  # sessions to come before the first one that has an epoch to ``enter``

    # -- when ----------------------------------------------------------------------------------------------------------

    def _set_times(self, rows: int) -> None:
        times, horizon = self._times, self.horizon
        if len(times) > 1:
            given = " and ".join(f"{name} = {value!r}" for name, value in times.items())
            raise ValueError(f"{given} are given; allowed: at most one of them")
        if not times and self.scenario.length is None:
            if horizon is None:
                allowed = "a horizon, whose thirds are the breakpoints, or breakpoints or epoch_lengths"
                raise ValueError(f"horizon = None; allowed with scenario = {self.name!r}: {allowed}")
            times = {"breakpoints": sorted({horizon // 3, 2 * horizon // 3} - {0})}
        if "breakpoints" in times:
            rounds: list[int] = []
            for n, value in enumerate(round_numbers("breakpoints", times["breakpoints"])):
                rounds.append(count_of(f"breakpoints[{n}]", value, rounds[-1] + 1 if n else 1))
            starts = np.array([min(round, NEVER) for round in rounds] + [NEVER], np.int64)
            self._starts = np.broadcast_to(starts, (rows, len(starts)))
        elif "num_breakpoints" in times:
            count = times["num_breakpoints"]
            if horizon is None:
                allowed = "a horizon, or breakpoints or epoch_lengths"
                raise ValueError(f"num_breakpoints = {count!r} and horizon = None; allowed: {allowed}")
            self._drawn = count_of("num_breakpoints", count, 0, min(horizon - 1, MAX_DRAWN_BREAKPOINTS))
            self._starts = np.full((rows, self._drawn + 1), NEVER)
        else:
            self._lengths = _checked_lengths(times.get("epoch_lengths", self.scenario.length))

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """Return the rounds below ``rounds`` at which every row begins a new epoch; None if rows have their own.

        There are none from the horizon on.
        """
        end = count_of("rounds", rounds, 0)
        if self.horizon is not None:
            end = min(end, self.horizon)
        if self._drawn:
            return None
        if self._lengths is None:
            return [round for round in self._starts[0].tolist() if round < min(end, NEVER)]
        lengths, common, start = itertools.cycle(self._lengths.tolist()), [], 0
        while (start := start + next(lengths)) < end:
            common.append(start)
        return common

    def _set_next(self, rows: NDArray[np.int64], start: NDArray[np.int64]) -> None:
        """Set the next breakpoints of ``rows``, whose epochs begin at the rounds ``start`` (rows,)."""
        epoch = self.epoch[rows]
        if self._lengths is not None:
            following = start + self._lengths[epoch % len(self._lengths)]
        else:
            following = self._starts[rows, np.minimum(epoch, self._starts.shape[1] - 1)]
        if self.horizon is not None:
            following[following >= self.horizon] = NEVER
        self.next[rows] = following

    # -- epochs --------------------------------------------------------------------------------------------------------

    def take_seeds(self, rows: list[int], seeds: list[int]) -> None:
        """Start new random streams in ``rows``."""
        self.key[rows] = row_keys(seeds, SCHEDULE)

    def begin_episode(self, rows: NDArray[np.int64], episode: NDArray[np.int64]) -> None:
        """Set ``rows`` back to epoch 0, drawing the breakpoints of episodes ``episode`` (num_envs,) where drawn."""
        self.epoch[rows] = self.last_epoch[rows] = 0
        self.state[rows] = self._first_state(len(rows), self.state.shape[1])
        if self._drawn:
            drawn = np.empty((len(rows), self._drawn), np.int64)
            last = min(self.horizon, NEVER) - 1  # type: ignore[operator,type-var]
            draw_breakpoints(self.key[rows], episode[rows], last, drawn)
            self._starts[rows, : self._drawn] = drawn
        self._set_next(rows, np.zeros(len(rows), np.int64))

    def begin_due(self, round: NDArray[np.int64]) -> NDArray[np.int64]:
        """Begin the epochs of the rows whose coming session, after ``round`` (num_envs,), is the first of one.

        Returns these rows; their parameters are still to be drawn (``draw``).
        """
        rows = np.flatnonzero(self.next == round + 1)
        if len(rows):
            self.epoch[rows] += 1
            self._set_next(rows, round[rows] + 1)
            self.changes += 1
        return rows

    def enter(self, round: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Note that the coming session is played; return the rows (num_envs,) in which it is the first of an epoch."""
        entered: NDArray[np.bool_] = self.epoch != self.last_epoch
        np.copyto(self.last_epoch, self.epoch)
        self.look_ahead(round)
        return entered

    def look_ahead(self, round: NDArray[np.int64]) -> None:
        """Count the quiet sessions after ``round`` (num_envs,), the rows' last one."""
        begun = bool((self.epoch != self.last_epoch).any())
        self.quiet = 0 if begun else int((self.next - round).min()) - 1

    def draw(
        self, rows: NDArray[np.int64], episode: NDArray[np.int64], own: Any, axes: dict[str, tuple[str, ...]]
    ) -> Any:
        """Draw the epochs of ``rows`` and return their parameters, of the queries' ``own`` and the model's ``axes``."""
        seed = np.empty(len(rows), np.uint64)
        epoch_seeds(self.key[rows], episode[rows], self.epoch[rows], seed)
        state = self.state[rows]
        self.scenario.draw(seed, self.epoch[rows], own, self.knobs, state)
        self.state[rows] = state
        return self.parameters(rows, own, axes)

    def parameters(self, rows: NDArray[np.int64], own: Any, axes: dict[str, tuple[str, ...]]) -> Any:
        """Return the parameters of ``rows`` in the epochs drawn last."""
        return self.scenario.apply(own, self.state[rows], self.knobs, axes)

    @property
    def changed(self) -> NDArray[np.bool_]:
        """The rows (num_envs,) that have other parameters than their queries."""
        return (self.epoch > 0) | self.scenario.from_start

    def written(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of a snapshot, no copies."""
        arrays = {"schedule_key": self.key, "next": self.next, "epoch": self.epoch, "last_epoch": self.last_epoch}
        return arrays | {"state": self.state} | ({"starts": self._starts} if self._drawn else {})

    def _first_state(self, rows: int, items: int) -> NDArray[np.int64]:
        return np.tile(np.arange(items), (rows, 1)) if self.scenario.relabels else np.zeros((rows, items), np.int64)


def _checked_lengths(lengths: Any) -> NDArray[np.int64]:
    """Return the argument ``epoch_lengths``, one length or a list, as an array."""
    if isinstance(lengths, (int, np.integer)):
        checked = [count_of("epoch_lengths", lengths, 1)]
    else:
        listed = round_numbers("epoch_lengths", lengths)
        checked = [count_of(f"epoch_lengths[{n}]", value, 1) for n, value in enumerate(listed)]
    if not checked:
        raise ValueError(f"epoch_lengths = {lengths!r} is empty; allowed: at least one length")
    return np.array([min(length, NEVER) for length in checked], np.int64)
