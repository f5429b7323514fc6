"""The non-stationary ranking environment: the truth is constant within an epoch and changes at breakpoints.

Nothing but the truth is different from the stationary environment, which is the engine. A schedule has two parts: when
epochs begin, and what their users find attractive, which a named scenario says. What is random in it is addressed by a
path of three steps (see ``rankgym.kernels``), so that nothing depends on who looks, nor when:

    key of a row  --episode-->  seed of the episode  --1 + epoch-->  seed of the epoch  --index-->  64 bits

Number 0 of the second step draws the episode's breakpoints.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankgym.arguments import plain_number, round_numbers, whole_number
from rankgym.envs.problems import DRAWN_ITEMS, MOST_DRAWN_ITEMS
from rankgym.envs.ranking import RankingVectorEnv
from rankgym.kernels import SCHEDULE, bits, kernel, row_keys, shuffle, uniform
from rankgym.models.base import sorted_lists

__all__ = ["SCENARIOS", "BreakpointVectorEnv", "Scenario"]

NEVER = 1 << 60  # the round of a breakpoint that does not come
MOST_DRAWN = 10_000  # breakpoints of a row: they take .03 s, and the square of their number


# -- what is drawn ----------------------------------------------------------------------------------------------------


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


@kernel
def draw_jumps(seed, epoch, ranked, kept, jumps, state):
    """Mark in ``state`` (rows, items) in odd epochs ``jumps`` of the items at places ``kept`` and below of ``ranked``.

    ``ranked`` (rows, items) is used up.
    """
    rows, items = ranked.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] = 0
        if epoch[row] % 2 == 1:
            shuffle(ranked[row], kept, items, jumps, seed[row], 0)
            for place in range(kept, kept + jumps):
                state[row, ranked[row, place]] = 1


@kernel
def draw_labels(seed, state):
    """Fill ``state`` (rows, items) with uniformly random permutations."""
    rows, items = state.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] = item
        shuffle(state[row], 0, items, items, seed[row], 0)


@kernel
def draw_steps(seed, state):
    """Add 1 or -1, by a fair coin, to each entry of ``state`` (rows, items)."""
    rows, items = state.shape
    for row in range(rows):
        for item in range(items):
            state[row, item] += 1 if uniform(bits(seed[row], item)) < 0.5 else -1


@kernel
def draw_best(seed, count, order, state):
    """Mark in ``state`` (rows, items) ``count`` items: any set of them but the one that was marked before.

    The n-th try takes the bits from n ``items`` on. ``order`` (items,) is scratch; ``count`` is below ``items``.
    """
    rows, items = state.shape
    for row in range(rows):
        tried, same = 0, True
        while same:
            for item in range(items):
                order[item] = item
            shuffle(order, 0, items, count, seed[row], tried * items)
            tried += 1
            for place in range(count):
                same = same and state[row, order[place]] == 1
        for item in range(items):
            state[row, item] = 0
        for place in range(count):
            state[row, order[place]] = 1


@kernel
def walked(own, state, step, attraction):
    """Fill ``attraction`` (rows, items): logit(own) + step * state, back on the scale of probabilities.

    0 and 1 stay; where the walk is back at 0 steps it is ``own`` bit for bit.
    """
    rows, items = own.shape
    for row in range(rows):
        for item in range(items):
            alpha = own[row, item]
            if state[row, item] != 0 and 0.0 < alpha < 1.0:
                logit = math.log(alpha) - math.log1p(-alpha) + step * state[row, item]
                small = math.exp(-abs(logit))  # never overflows
                alpha = 1.0 / (1.0 + small) if logit > 0.0 else small / (1.0 + small)
            attraction[row, item] = alpha


# -- the scenarios ----------------------------------------------------------------------------------------------------


class Scenario(NamedTuple):
    """What changes. The state is (rows, items) int64, what was drawn for each item.

    ``knobs(given, env)`` checks the knobs that were given and adds defaults. ``draw(seed, epoch, own, knobs, state)``
    makes the state of epoch number ``epoch`` (rows,), which has the seed ``seed`` (rows,), of the state of the epoch
    before; an episode begins with 0 everywhere, or (``relabels``) with each item's own number. ``law(own, state, knobs,
    axes)`` gives the epoch's parameters, from the queries' own.
    """

    names: tuple[str, ...]  # of its knobs
    knobs: Callable[[dict[str, Any], Any], dict[str, Any]]
    draw: Callable[[NDArray[np.uint64], NDArray[np.int64], Any, dict[str, Any], NDArray[np.int64]], None]
    law: Callable[[Any, NDArray[np.int64], dict[str, Any], dict[str, tuple[str, ...]]], Any]
    length: int | None  # of an epoch, where nothing is said; None: two breakpoints, at thirds of the horizon
    from_start: bool = False  # epoch 0 is drawn too; else it is the query's own
    relabels: bool = False


def _number(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> float:
    number = plain_number(value)
    if number is None or not low <= number <= high or (open_low and number == low):
        raise ValueError(f"{name} = {value!r} is out of range; allowed: a number in {'[('[open_low]}{low:g}, {high:g}]")
    return float(number)


def _jump_knobs(given: dict[str, Any], env: RankingVectorEnv) -> dict[str, Any]:
    jumps = whole_number("jumps", given.get("jumps", min(3, env.num_items)), 1, env.num_items)
    kept = whole_number("kept", given.get("kept", min(env.cutoff, env.num_items - jumps)), 0, env.num_items - 1)
    if jumps + kept > env.num_items:
        raise ValueError(
            f"jumps = {jumps} and kept = {kept} are more than the {env.num_items} items; allowed: jumps + kept of at "
            f"most {env.num_items}"
        )
    return {
        "kept": kept,
        "jumps": jumps,
        "jump_attraction": _number("jump_attraction", given.get("jump_attraction", 0.9), 0, 1),
    }


def _draw_jumps(seed: Any, epoch: Any, own: Any, knobs: dict[str, Any], state: NDArray[np.int64]) -> None:
    ranked = np.ascontiguousarray(sorted_lists(own.attraction, state.shape[1]))
    draw_jumps(seed, epoch, ranked, knobs["kept"], knobs["jumps"], state)


def _jumped(own: Any, state: NDArray[np.int64], knobs: dict[str, Any], axes: Any) -> Any:
    return own._replace(attraction=np.where(state == 1, knobs["jump_attraction"], own.attraction))


def _no_knobs(given: dict[str, Any], env: RankingVectorEnv) -> dict[str, Any]:
    return {}


def _draw_labels(seed: Any, epoch: Any, own: Any, knobs: dict[str, Any], state: NDArray[np.int64]) -> None:
    draw_labels(seed, state)


def _relabelled(own: Any, state: NDArray[np.int64], knobs: dict[str, Any], axes: dict[str, tuple[str, ...]]) -> Any:
    """Item i has the numbers that item ``state[row, i]`` has of its own."""
    relabelled = {}
    for name, values in own._asdict().items():
        for axis, kind in enumerate(axes[name], start=1):
            if kind == "item":
                place = [len(state), *(state.shape[1] if axis == a else 1 for a in range(1, values.ndim))]
                values = np.take_along_axis(values, state.reshape(place), axis)
        relabelled[name] = np.ascontiguousarray(values)
    return own._replace(**relabelled)


def _drift_knobs(given: dict[str, Any], env: RankingVectorEnv) -> dict[str, Any]:
    step = _number("drift_step", given.get("drift_step", 0.05), 0, sys.float_info.max, open_low=True)
    return {"drift_step": step}


def _draw_steps(seed: Any, epoch: Any, own: Any, knobs: dict[str, Any], state: NDArray[np.int64]) -> None:
    draw_steps(seed, state)


def _drifted(own: Any, state: NDArray[np.int64], knobs: dict[str, Any], axes: Any) -> Any:
    attraction = np.empty_like(own.attraction)
    walked(own.attraction, state, knobs["drift_step"], attraction)
    return own._replace(attraction=attraction)


def _two_level_knobs(given: dict[str, Any], env: RankingVectorEnv) -> dict[str, Any]:
    missing = [name for name in ("p", "gap") if name not in given]
    if missing:
        raise ValueError(
            f"scenario = 'two-level' and {' and '.join(f'{name} = None' for name in missing)}; allowed: p in (0, 1] "
            f"and gap in (0, p], such as p=0.5 and gap=0.2"
        )
    if env.num_positions == env.num_items:
        raise ValueError(
            f"num_positions = {env.num_positions} displays all items, which are all in the one best set of the "
            f"scenario 'two-level'; allowed: 1 .. {env.num_items - 1}"
        )
    p = _number("p", given["p"], 0, 1, open_low=True)
    gap = _number("gap", given["gap"], 0, p, open_low=True)
    return {"p": p, "gap": gap, "best": env.num_positions}


def _draw_best(seed: Any, epoch: Any, own: Any, knobs: dict[str, Any], state: NDArray[np.int64]) -> None:
    draw_best(seed, knobs["best"], np.empty(state.shape[1], np.int64), state)


def _two_levels(own: Any, state: NDArray[np.int64], knobs: dict[str, Any], axes: Any) -> Any:
    return own._replace(attraction=np.where(state == 1, knobs["p"], knobs["p"] - knobs["gap"]))


SCENARIOS: dict[str, Scenario] = {
    "jump": Scenario(("jumps", "jump_attraction", "kept"), _jump_knobs, _draw_jumps, _jumped, 10_000),
    "shuffle": Scenario((), _no_knobs, _draw_labels, _relabelled, 10_000, relabels=True),
    "drift": Scenario(("drift_step",), _drift_knobs, _draw_steps, _drifted, 100),
    "two-level": Scenario(("p", "gap"), _two_level_knobs, _draw_best, _two_levels, None, from_start=True),
}


# -- the environment --------------------------------------------------------------------------------------------------


class BreakpointVectorEnv(RankingVectorEnv):
    """
    ## Description
    Online learning to rank for users who change: what they find attractive is constant within an epoch, and changes at
    breakpoints (Li and de Rijke 2019, section 3.1). Everything else is as in `RankingVectorEnv`, for every click
    model. The agent is told nothing: it sees clicks.

    When epochs begin and what they change depend on the row's seed alone. Two agents on the same seed meet the same
    users and the same changes. A new episode has a new schedule, from the same stream.

    ## Action Space
    ## Observation Space
    ## Rewards
    ## Episode End
    As in `RankingVectorEnv`.

    ## Starting State
    A query, as in `RankingVectorEnv`, and epoch 0 of a new schedule: the query's own attraction (with
    `scenario="two-level"` its first set of best items). The production list `initial_list` is the query's and stays.

    ## Information
    As in `RankingVectorEnv`, and `epoch`, in `step` and in `reset`: of this session, from 0 in its episode.
    `optimal_reward`, `regret` and `misordered` are those of this session's epoch. So is the truth that wrappers and
    evaluation read, `parameters`, `attraction` and `initial_misordered`, but of the *coming* session: read after the
    last step before a breakpoint they are the new epoch's.

    ## Arguments
    ```python
    gym.make_vec("rankgym/CM-Yandex-Breakpoint-v0", num_envs=600, query="all", horizon=100_000)
    ```
    All of `RankingVectorEnv` (`rankgym envs PBM-Yandex-v0` describes them), and:

    * `scenario`: what changes.
        * `"jump"`: in epochs 1, 3, 5, ... `jumps` items, drawn anew each time, have the attraction `jump_attraction`;
          none of the `kept` most attractive is among them. In epochs 0, 2, 4, ... the query is its own (the paper's
          section 5).
        * `"shuffle"`: from epoch 1 on items swap all they have by a new random permutation in every epoch.
        * `"drift"`: in every new epoch the logit of each attraction goes up or down by `drift_step`, by a fair coin.
          Attraction of 0 or 1 stays.
        * `"two-level"`: `num_positions` items have the attraction `p`, the others `p - gap`; in each epoch it is
          another set, uniformly drawn of all but the last one. This replaces the query's attraction, not its other
          parameters (the lower-bound problem B_L of section 4.2, which has K = L / 2 and two breakpoints). With
          `dataset="synthetic"` there is one query unless `parameters` has more.
    * `jumps`, `jump_attraction`, `kept`: of `"jump"`. Default: 3, 0.9, and `cutoff`, or fewer where the items that jump
      would have no room.
    * `drift_step`: of `"drift"`. Default: 0.05; in 1,000 epochs this makes 1.6, more than the standard deviation of
      logits among the Yandex queries.
    * `p`, `gap`: of `"two-level"`, p in (0, 1], gap in (0, p]. They have no default.

    At most one of these says when (`horizon` is the environment's own, not one that a wrapper, Gymnasium's `TimeLimit`,
    puts around it):

    * `breakpoints`: the rounds that begin a new epoch, ascending, counted from 0 in each episode: with 100, the first
      session of epoch 1 is that of round 100. Those at the horizon or later do not come.
    * `num_breakpoints`: so many rounds of 1 .. horizon - 1, drawn for each row and episode, every set of them equally
      probable. Needs a horizon. At most 10,000.
    * `epoch_lengths`: rounds of an epoch, or a list that is cycled over the epochs: the paper's m2 and m1 are
      `[10_000, 10_000]`.

    Default: `epoch_lengths=10_000` for `"jump"` and `"shuffle"`, 100 for `"drift"`; for `"two-level"` two breakpoints
    at thirds of the horizon (one with a horizon of 2, none with 1), so that they are the same in every row.

    ## Version History
    * v0: Initial version release

    ## References
    Li and de Rijke, "Cascading non-stationary bandits: online learning to rank in the non-stationary cascade model",
    IJCAI 2019.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        scenario: str = "jump",
        breakpoints: Sequence[int] | None = None,
        num_breakpoints: int | None = None,
        epoch_lengths: int | Sequence[int] | None = None,
        jumps: int | None = None,
        jump_attraction: float | None = None,
        kept: int | None = None,
        drift_step: float | None = None,
        p: float | None = None,
        gap: float | None = None,
        **arguments: Any,
    ) -> None:
        if not isinstance(scenario, str) or scenario not in SCENARIOS:
            raise ValueError(f"scenario = {scenario!r} is unknown; allowed: {', '.join(map(repr, SCENARIOS))}")
        self.scenario, self._scenario = scenario, SCENARIOS[scenario]
        knobs = {"jumps": jumps, "jump_attraction": jump_attraction, "kept": kept}
        knobs |= {"drift_step": drift_step, "p": p, "gap": gap}
        given = {name: value for name, value in knobs.items() if value is not None}
        for name, value in given.items():
            if name not in self._scenario.names:
                raise ValueError(
                    f"{name} = {value!r} is no knob of scenario = {scenario!r}; allowed: "
                    f"{', '.join(self._scenario.names) or 'none'}"
                )
        if scenario == "two-level" and arguments.get("dataset") == "synthetic":
            arguments |= {"parameters": _with_attraction(arguments.get("parameters"), arguments.get("num_items"), p)}
        super().__init__(num_envs, **arguments)
        self._knobs = self._scenario.knobs(given, self)

        rows = self.num_envs
        self._lengths: NDArray[np.int64] | None = None  # of epochs, cycled; or else ...
        self._starts = np.full((1, 1), NEVER)  # (1 or num_envs, epochs): where epochs 1, 2, ... begin, at last NEVER
        self._drawn = 0  # breakpoints that are drawn in each row
        self._say_when(breakpoints, num_breakpoints, epoch_lengths)
        self._schedule_key = np.zeros(rows, np.uint64)
        self._next = np.full(rows, NEVER)  # the round of the row's next breakpoint
        self._epoch = np.zeros(rows, np.int64)  # of the coming session, once `_begin_due` has seen to it
        self._last_epoch = np.zeros(rows, np.int64)  # of the last session
        self._state = self._first_state(rows)
        self._changes = 0
        self._look_ahead()

    # -- when --------------------------------------------------------------------------------------------------------

    def _say_when(self, breakpoints: Any, num_breakpoints: Any, epoch_lengths: Any) -> None:
        choices = {"breakpoints": breakpoints, "num_breakpoints": num_breakpoints, "epoch_lengths": epoch_lengths}
        given = {name: value for name, value in choices.items() if value is not None}
        if len(given) > 1:
            said = " and ".join(f"{name} = {value!r}" for name, value in given.items())
            raise ValueError(f"{said} are given; allowed: at most one of them")
        if not given and self._scenario.length is None:
            if self.horizon is None:
                raise ValueError(
                    f"horizon = None; allowed with scenario = {self.scenario!r}: a horizon, whose thirds are the "
                    "breakpoints, or breakpoints or epoch_lengths"
                )
            breakpoints = sorted({self.horizon // 3, 2 * self.horizon // 3} - {0})
        if breakpoints is not None:
            rounds: list[int] = []
            for n, value in enumerate(round_numbers("breakpoints", breakpoints)):
                rounds.append(whole_number(f"breakpoints[{n}]", value, rounds[-1] + 1 if n else 1))
            starts = np.array([min(round, NEVER) for round in rounds] + [NEVER], np.int64)
            self._starts = np.broadcast_to(starts, (self.num_envs, len(starts)))
        elif num_breakpoints is not None:
            if self.horizon is None:
                raise ValueError(
                    f"num_breakpoints = {num_breakpoints!r} and horizon = None; allowed: a horizon, or breakpoints or "
                    "epoch_lengths"
                )
            self._drawn = whole_number("num_breakpoints", num_breakpoints, 0, min(self.horizon - 1, MOST_DRAWN))
            self._starts = np.full((self.num_envs, self._drawn + 1), NEVER)
        else:
            lengths = self._scenario.length if epoch_lengths is None else epoch_lengths
            if isinstance(lengths, (int, np.integer)):
                checked = [whole_number("epoch_lengths", lengths, 1)]
            else:
                listed = round_numbers("epoch_lengths", lengths)
                checked = [whole_number(f"epoch_lengths[{n}]", value, 1) for n, value in enumerate(listed)]
            if not checked:
                raise ValueError(f"epoch_lengths = {epoch_lengths!r} is empty; allowed: one length at least")
            self._lengths = np.array([min(length, NEVER) for length in checked], np.int64)

    def common_breakpoints(self, rounds: int) -> list[int] | None:
        """The rounds below ``rounds`` at which every row begins a new epoch; None where each row has its own.

        Args:
            rounds: at least 0. From the horizon on there are none.
        """
        end = whole_number("rounds", rounds, 0)
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
        epoch = self._epoch[rows]
        if self._lengths is not None:
            following = start + self._lengths[epoch % len(self._lengths)]
        else:
            following = self._starts[rows, np.minimum(epoch, self._starts.shape[1] - 1)]
        if self.horizon is not None:
            following[following >= self.horizon] = NEVER
        self._next[rows] = following

    # -- epochs ------------------------------------------------------------------------------------------------------

    def _take_seeds(self, rows: list[int], seeds: list[int]) -> None:
        super()._take_seeds(rows, seeds)
        self._schedule_key[rows] = row_keys(seeds, SCHEDULE)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        super()._begin(mask)
        if not self._draws_problems:  # if it is, the rows have taken their new queries
            self._take_problems(mask, self._problem)
        rows = np.flatnonzero(mask)
        self._epoch[rows] = self._last_epoch[rows] = 0
        self._state[rows] = self._first_state(len(rows))
        if self._drawn:
            drawn = np.empty((len(rows), self._drawn), np.int64)
            last = min(self.horizon, NEVER) - 1  # type: ignore[operator,type-var]
            draw_breakpoints(self._schedule_key[rows], self._episode[rows], last, drawn)
            self._starts[rows, : self._drawn] = drawn
        if self._scenario.from_start:
            self._change(rows)
        self._set_next(rows, np.zeros(len(rows), np.int64))
        self._look_ahead()

    def play(self, displayed: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        if self._quiet == 0:
            self._begin_due()
            self._displayed[self._epoch != self._last_epoch] = -1  # their lists have other values now
            np.copyto(self._last_epoch, self._epoch)
            self._look_ahead()
        self._quiet -= 1
        return super().play(displayed)

    def _look_ahead(self) -> None:
        """Count the sessions that come before one that ``play`` must prepare."""
        self._begun = bool((self._epoch != self._last_epoch).any())  # somebody asked for the coming session's truth
        self._quiet = 0 if self._begun else int((self._next - self._round).min()) - 1

    def _begin_due(self) -> None:
        """Begin the epochs of the rows whose coming session is the first of one. Nothing is played between."""
        if self._quiet or self._begun:
            return
        rows = np.flatnonzero(self._next == self._round + 1)
        self._epoch[rows] += 1
        self._change(rows)
        self._set_next(rows, self._round[rows] + 1)
        self._changes += 1
        self._begun = True

    def _change(self, rows: NDArray[np.int64]) -> None:
        """Draw what the epochs of ``rows`` are like, and make it the truth."""
        seed = np.empty(len(rows), np.uint64)
        epoch_seeds(self._schedule_key[rows], self._episode[rows], self._epoch[rows], seed)
        own, state = self._own(rows), self._state[rows]
        self._scenario.draw(seed, self._epoch[rows], own, self._knobs, state)
        self._state[rows] = state
        self._take_state(rows, own, state)

    def _own(self, rows: NDArray[np.int64]) -> Any:
        """The parameters of the queries of ``rows``, as if nothing had changed."""
        tables = self.problems.parameters
        return type(tables)(*(table[self._problem[rows]] for table in tables))

    def _take_state(self, rows: NDArray[np.int64], own: Any, state: NDArray[np.int64]) -> None:
        """Make what was drawn for the epochs of ``rows`` the truth."""
        parameters = self._scenario.law(own, state, self._knobs, self.model.axes)
        for mine, changed in zip(self._parameters, parameters, strict=True):
            mine[rows] = changed
        problems = self.problems._replace(parameters=parameters, initial_list=self.initial_list[rows])
        self._optimal[rows], self._better[rows], self._initial_misordered[rows] = self._truth_of(problems)

    def alike(self) -> int:
        return min(super().alike(), self._quiet)

    def repeat(self, times: int) -> None:
        super().repeat(times)
        self._quiet -= times

    def _written(self) -> dict[str, NDArray[Any]]:
        schedule = {
            "schedule_key": self._schedule_key,
            "next": self._next,
            "epoch": self._epoch,
            "last_epoch": self._last_epoch,
            "state": self._state,
        }
        return super()._written() | schedule | ({"starts": self._starts} if self._drawn else {})

    def _restored(self) -> None:
        super()._restored()
        (rows,) = np.nonzero((self._epoch > 0) | self._scenario.from_start)  # the others' queries are their own
        if len(rows):
            self._take_state(rows, self._own(rows), self._state[rows])
        self._look_ahead()

    def _first_state(self, rows: int) -> NDArray[np.int64]:
        if self._scenario.relabels:
            return np.tile(np.arange(self.num_items), (rows, 1))
        return np.zeros((rows, self.num_items), np.int64)

    # -- the truth of the coming session -------------------------------------------------------------------------------

    @property
    def parameters(self) -> Any:
        """The click model's parameters in the rows' coming sessions, a NamedTuple of arrays with an axis of rows."""
        self._begin_due()
        return super().parameters

    @property
    def initial_misordered(self) -> NDArray[np.int64]:
        """|V(R_0)| by the attraction of the rows' coming sessions, (num_envs,)."""
        self._begin_due()
        return super().initial_misordered

    @property
    def changes(self) -> int:
        """How many times the truth of some row's coming session has changed other than by a reset."""
        if self._quiet == 0:  # wrappers ask after every step
            self._begin_due()
        return self._changes

    # -- telling -----------------------------------------------------------------------------------------------------

    def _fresh_info(self) -> dict[str, Any]:
        return {**super()._fresh_info(), "epoch": self._last_epoch.copy()}

    def _step_info(self, clicks: NDArray[np.int8]) -> dict[str, Any]:
        info = super()._step_info(clicks)
        info["epoch"] = self._last_epoch.copy()
        return info

    def first_row_info(self, clicks: NDArray[np.int8]) -> dict[str, Any]:
        info = super().first_row_info(clicks)
        info["epoch"] = self._last_epoch.item(0)
        return info

    def _heading(self, row: int) -> str:
        return f"{super()._heading(row)}, epoch {self._last_epoch[row]}"


def _with_attraction(parameters: Any, num_items: Any, p: Any) -> Any:
    """``parameters`` with some attraction, which the scenario replaces, so that no queries are drawn for it."""
    if (parameters is not None and not isinstance(parameters, dict)) or "attraction" in (parameters or {}):
        return parameters
    items = DRAWN_ITEMS if num_items is None else whole_number("num_items", num_items, 1, MOST_DRAWN_ITEMS)
    return {**(parameters or {}), "attraction": [0.0 if p is None else _number("p", p, 0, 1, open_low=True)] * items}
