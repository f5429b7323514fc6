"""How the bench measures: cases take turns, A B C A B C, in short slices, and each has the median of its slices.

A machine that slows down meanwhile slows all cases alike. Only steps are timed, not resets or the drawing of lists.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rankgym.play.game import Game
from rankgym.play.simulate import simulate

LONG_GAME = 10**12  # rounds


class Case(NamedTuple):
    """Something to be timed."""

    key: tuple[Any, ...]
    rows: int
    play: Callable[[int], float]  # plays this number of steps and returns the seconds that they took


class Effort(NamedTuple):
    """How long to measure."""

    turns: int  # slices of every case
    slice: float  # seconds each
    learning: int  # rounds that agents learn before they are timed


THOROUGH = Effort(turns=9, slice=0.03, learning=3_000)
QUICK = Effort(turns=3, slice=0.01, learning=300)


def side_by_side(
    cases: Sequence[Case], effort: Effort, advance: Callable[[int], None] = lambda slices: None
) -> list[tuple[Case, list[float]]]:
    """Return the rates (sessions a second) of all slices of each case; ``advance(1)`` is called after each slice."""
    steps = []
    for case in cases:
        steps.append(_steps_of_a_slice(case, effort.slice))
        advance(1)
    rates: list[list[float]] = [[] for _ in cases]
    for _ in range(effort.turns):
        for case, count, found in zip(cases, steps, rates, strict=True):
            found.append(count * case.rows / max(case.play(count), 1e-9))
            advance(1)
    return list(zip(cases, rates, strict=True))


def _steps_of_a_slice(case: Case, slice: float) -> int:
    """Return how many steps fill a slice; the first ones compile what is not compiled yet."""
    case.play(2)
    count = 1
    while (seconds := case.play(count)) < slice / 4:
        count *= 2
    return max(1, round(count * slice / seconds))


def timed(run: Callable[[int], object]) -> Callable[[int], float]:
    """Return a ``Case.play`` that is timed as a whole."""

    def play(steps: int) -> float:
        start = time.perf_counter()
        run(steps)
        return time.perf_counter() - start

    return play


def time_steps(env: Any, actions: Sequence[Any]) -> Callable[[int], float]:
    """Return a ``Case.play`` of steps with ``actions`` in turn."""

    def steps(number: int) -> None:
        for step in range(number):
            env.step(actions[step % len(actions)])

    return timed(steps)


def time_single_steps(env: Any, actions: Sequence[Any]) -> Callable[[int], float]:
    """Return a ``Case.play`` of steps of one environment, without its resets."""
    env.reset(seed=0)

    def play(steps: int) -> float:
        seconds, number = 0.0, 0
        while number < steps:
            over = False
            start = time.perf_counter()
            while number < steps and not over:
                _, _, terminated, truncated, _ = env.step(actions[number % len(actions)])
                over = terminated or truncated
                number += 1
            seconds += time.perf_counter() - start
            if over:
                env.reset()
        return seconds

    return play


def time_game(agent: Any, env: Any, threads: int) -> Callable[[int], float]:
    """Return a ``Case.play`` of rounds of one long game, in stretches by ``threads`` threads, or 0: step by step."""
    game = Game(agent, env, LONG_GAME, threads=threads)
    game.reset(0)
    return timed(lambda rounds: game.play(game.played + rounds, lambda number: None))


def time_simulation(agent: Any, env: Any) -> Callable[[int], float]:
    """Return a ``Case.play`` of rounds in ``simulate``, without its reset."""

    def play(rounds: int) -> float:
        ends: list[float] = []  # times: of the first round's end, when the reset is over, and of the latest one's

        def note_time(played: int) -> None:
            ends[1:] = [time.perf_counter()]

        simulate(agent, env, rounds + 1, seed=0, progress=note_time)
        return ends[-1] - ends[0]

    return play
