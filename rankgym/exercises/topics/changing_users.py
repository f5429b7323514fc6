"""Exercise 6: sliding windows and change detection.

The oracles and their sources are in ``forgetting_rankers.py``; the discounts are lines 15, 16 and 21 to 24 of
CascadeDUCB, in the same paper as CascadeSWUCB. All checks are exact: nothing is random. Equal counts give equal
indices, and ties go by item number. Users are drawn anew if any two indices of different counts come closer than 1e-9,
so that no list depends on rounding. The test for changes compares whole numbers.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import Failed, called
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import Setting, played
from rankgym.exercises.topics.forgetting_rankers import (
    INDEX_GAP,
    WRONG_COUNTS,
    WRONG_INDICES,
    WRONG_RESTARTS,
    WRONG_TESTS,
    WRONG_WINDOWS,
    RestartingUCB,
    SlidingWindowUCB,
    change_detected,
    everything_displayed,
    observed_items,
    window_counts,
    window_index,
)
from rankgym.submissions import Submission

DRAWN = 60  # random cases of each check of a function, after the small ones
WINDOWS = (  # num_items, num_positions, window, epsilon, rounds
    (2, 1, 3, 0.5, 40),
    (3, 2, 8, 0.5, 200),
    (5, 3, 50, 0.5, 2_000),
    (8, 3, 200, 0.3, 2_000),
)
RESTARTS = (  # num_items, num_positions, period, window, threshold, rounds
    (2, 1, 3, 4, 1, 60),
    (3, 2, 5, 4, 0.5, 200),  # it restarts all the time
    (3, 2, 7, 8, 3, 300),
    (5, 3, 20, 20, 6, 2_000),
    (8, 3, 30, 30, 8.5, 2_000),
)
ALWAYS = {(5, 3, 50, 0.5, 2_000), (3, 2, 5, 4, 0.5, 200), (5, 3, 20, 20, 6, 2_000)}  # the same users: see FIRST_USERS
FIRST_USERS = 1  # their seed; they tell mistakes apart
LOG_OF_0 = "math domain error"
EPOCHS = 4  # of constant attraction in each run


# -- cases -----------------------------------------------------------------------------------------------------------


def attraction_of_epochs(rng: np.random.Generator, items: int) -> Any:
    """Return (EPOCHS, items): the order of the items is drawn anew in each epoch."""
    return np.array([rng.permutation(np.linspace(0.05, 0.9, items)) for _ in range(EPOCHS)])


def draw_users(rng: np.random.Generator, attraction: Any, positions: int, rounds: int) -> tuple[Any, Any]:
    """Return who likes what, (rounds, items), and that everybody would look everywhere, (rounds, positions)."""
    epoch = np.arange(rounds) * len(attraction) // rounds
    return rng.random((rounds, attraction.shape[1])) < attraction[epoch], np.ones((rounds, positions), bool)


def draw_setting(make: Callable[..., Any], arguments: Any, rounds: int, rng: np.random.Generator) -> Setting:
    """Draw users until no list of the oracle depends on rounding, and an agent that can restart does."""
    rng = np.random.default_rng(FIRST_USERS) if (*arguments.values(), rounds) in ALWAYS else rng
    while True:
        attraction = attraction_of_epochs(rng, arguments["num_items"])
        users = draw_users(rng, attraction, arguments["num_positions"], rounds)
        oracle = make(**arguments)
        played(oracle, *users, True)
        if oracle.gap > INDEX_GAP and getattr(oracle, "restarts", True):
            return Setting(arguments, *users, True)


def window_setting(size: tuple[int, int, int, float, int], rng: np.random.Generator) -> Setting:
    """Draw users for SlidingWindowUCB; ``size`` is one of WINDOWS."""
    *values, rounds = size
    arguments = dict(zip(("num_items", "num_positions", "window", "epsilon"), values, strict=True))
    return draw_setting(SlidingWindowUCB, arguments, rounds, rng)


def restart_setting(size: tuple[int, int, int, int, float, int], rng: np.random.Generator) -> Setting:
    """Draw users for RestartingUCB; ``size`` is one of RESTARTS."""
    *values, rounds = size
    arguments = dict(zip(("num_items", "num_positions", "period", "window", "threshold"), values, strict=True))
    return draw_setting(RestartingUCB, arguments, rounds, rng)


def change_at_the_first_test() -> Setting:
    """Return users of whom a change shows in item 1's first test, after as many observations as the window has.

    Nobody likes item 0, so each user sees both items. Item 1 is liked in the second half of its first window alone: its
    sums are 0 and 2 then. Item 0 is forced after the restart, and item 1 without it. No list depends on rounding: in
    each round an item is forced, or the items are tied.
    """
    window, rounds = 4, 12
    arguments = {"num_items": 2, "num_positions": 2, "period": 3, "window": window, "threshold": window / 2 - 0.5}
    likes = [[False, window // 2 <= t < window] for t in range(rounds)]
    return Setting(arguments, likes, [[True, True]] * rounds, first_only=True)


def sessions(trial: Trial) -> Iterator[tuple[list[int], list[int]]]:
    """Yield (displayed, clicks), small ones first; some have several clicks."""
    for positions in (1, 2, 3):
        for clicks in itertools.product((0, 1), repeat=positions):
            yield list(range(positions))[::-1], list(clicks)
    for _ in range(DRAWN):
        positions = int(trial.rng.integers(3, 7))
        yield trial.rng.permutation(9)[:positions].tolist(), (trial.rng.random(positions) < 0.3).astype(int).tolist()


def draw_history(trial: Trial, items: int, positions: int, rounds: int) -> list[list[list[int]]]:
    shown = [trial.rng.permutation(items)[:positions].tolist() for _ in range(rounds)]
    return [[ranking, (trial.rng.random(positions) < 0.3).astype(int).tolist()] for ranking in shown]


def histories(trial: Trial) -> Iterator[tuple[list[list[list[int]]], int]]:
    """Yield (history, num_items), small ones first."""
    yield [], 2
    yield [[[0], [1]]], 2
    yield [[[0], [1]], [[1], [0]]], 2
    yield [[[0, 1], [1, 0]]], 2
    yield [[[0, 1], [0, 1]], [[1, 0], [1, 0]], [[0, 1], [0, 0]]], 2
    for number in range(DRAWN):
        items = int(trial.rng.integers(2, 6))
        yield draw_history(trial, items, int(trial.rng.integers(1, items + 1)), number // 2), items


# -- checks ----------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="observed_items",
    hints=[
        "Go down the list as the user does. Is the clicked item itself observed?",
        "Append each item; leave the loop after the first one that was clicked. Without a click all items are there.",
    ],
)
def items_are_observed_down_to_the_first_click(trial: Trial) -> None:
    """What the user saw are the items down to the first click, with it; all of them without a click."""

    def without_it(displayed: Any, clicks: Any) -> list[int]:
        return list(displayed[: clicks.index(1)]) if 1 in clicks else list(displayed)

    def to_the_last(displayed: Any, clicks: Any) -> list[int]:
        return list(displayed[: len(clicks) - clicks[::-1].index(1)]) if 1 in clicks else list(displayed)

    mistakes = {
        "the clicked item is missing: it was seen, too": without_it,
        "these go down to the last click: the user leaves after the first one": to_the_last,
        "these are all displayed items: what is below the first click was not seen": everything_displayed,
        "these are the clicked items: those above the click were seen, too": lambda d, c: [
            item for item, click in zip(d, c, strict=True) if click
        ],
        "without a click all items were seen": lambda d, c: observed_items(d, c) if 1 in c else [],
        "one item below the click is there, too": lambda d, c: list(d[: [*c, 1].index(1) + 2]),
        "these are positions: return the items": lambda d, c: list(range(len(observed_items(d, c)))),
    }
    trial.compare("observed_items", observed_items, sessions(trial), mistakes=mistakes)


@check(
    points=1,
    of="window_counts",
    hints=[
        "Which rounds does a window of 1 have? Only the last one.",
        "The rounds are history[-window:]; a history that is shorter than the window counts in full.",
        "For each of these rounds and each item of observed_items(displayed, clicks): N[item] += 1, and X[item] += the "
        "click at its position.",
    ],
)
def a_window_has_the_last_rounds(trial: Trial) -> None:
    """N and X count observations and clicks of exactly the last rounds, as many as the window has."""
    mistakes = {
        "clicks come first: return [N, X]": lambda *case: window_counts(*case)[::-1],
        "all clicks count: what is below the first one does not": lambda history, items, window: [
            window_counts(history, items, window)[0],
            [sum(c[d.index(i)] for d, c in history[-window:] if i in d) for i in range(items)],
        ],
        **WRONG_COUNTS,
    }
    windows = itertools.cycle((1, 2, 3, 5, 40, 4, 10))
    cases = [(history, items, window) for (history, items), window in zip(histories(trial), windows, strict=False)]
    history = [[[t % 2], [1]] for t in range(6)]
    cases[5:5] = [(history, 2, window) for window in range(1, 9)]
    trial.compare("window_counts", window_counts, cases, mistakes=mistakes)


def discounted(
    history: Any, num_items: int, gamma: float, *, all_items: bool = True, late: int = 0
) -> list[list[float]]:
    """Lines 15, 16 and 21 to 24 of CascadeDUCB; ``late``: the power of gamma with which the last round counts."""
    counts = [[0.0] * num_items, [0.0] * num_items]
    for displayed, clicks in history:
        seen = observed_items(displayed, clicks)
        for item in range(num_items):
            for count in counts:
                count[item] *= gamma if all_items or item in seen else 1.0
        for item, click in zip(seen, clicks, strict=False):
            counts[0][item] += gamma**late
            counts[1][item] += gamma**late * click
    return counts


@check(
    points=1,
    of="discounted_counts",
    hints=[
        "What do the counts of an item become in a round in which it is not observed?",
        "In each round: first all items' counts times gamma, then the observations of this round with weight 1.",
    ],
)
def all_counts_fade_in_each_round(trial: Trial) -> None:
    """An observation that is m rounds old counts gamma to the power of m, for every item."""
    mistakes = {
        "only observed items are discounted: in each round all items are": lambda *case: discounted(
            *case, all_items=False
        ),
        "the last round is discounted already: first the discount, then the new observations": lambda *case: discounted(
            *case, late=1
        ),
        "the oldest round counts most: the last one counts in full": lambda h, *rest: discounted(h[::-1], *rest),
        "nothing is discounted": lambda h, items, gamma: discounted(h, items, 1.0),
        "clicks are discounted, observations are not": lambda h, items, gamma: [
            discounted(h, items, 1.0)[0],
            discounted(h, items, gamma)[1],
        ],
        "observations are discounted, clicks are not": lambda h, items, gamma: [
            discounted(h, items, gamma)[0],
            discounted(h, items, 1.0)[1],
        ],
        "all displayed items count as observed: stop at the first click": lambda h, items, gamma: [
            [sum(gamma**m for m, (d, _) in enumerate(h[::-1]) if i in d) for i in range(items)],
            discounted(h, items, gamma)[1],
        ],
        "clicks come first: return [N, X]": lambda *case: discounted(*case)[::-1],
    }
    gammas = itertools.cycle((0.5, 0.9, 0.75, 0.99))
    cases = [(history, items, gamma) for (history, items), gamma in zip(histories(trial), gammas, strict=False)]
    trial.compare("discounted_counts", discounted, cases, mistakes=mistakes)


@check(
    points=1,
    of="window_index",
    hints=[
        "The mean is clicks divided by observations. Everything else is under one square root.",
        "The logarithm is of the smaller one of played + 1 and the window.",
        "clicked / observed + math.sqrt(epsilon * math.log(min(played + 1, window)) / observed), and math.inf if "
        "observed is 0.",
    ],
)
def the_index_is_that_of_equations_7_and_8(trial: Trial) -> None:
    """The index is X / N + sqrt(epsilon ln(min(t + 1, window)) / N) with t = played, infinite for N = 0."""
    cases: list[Any] = [
        (1, 0, 1, 10, 0.5),
        (1, 1, 1, 10, 0.5),
        (2, 1, 9, 100, 0.5),
        (2, 1, 10, 10, 0.5),
        (2, 1, 99, 10, 1),
    ]
    for _ in range(DRAWN):
        window = int(trial.rng.integers(2, 100))
        played_rounds = int(trial.rng.integers(1, 200))
        observed = int(trial.rng.integers(1, min(window, played_rounds) + 1))
        epsilon = round(float(trial.rng.uniform(0.1, 2)), 2)
        cases.append((observed, int(trial.rng.integers(0, observed + 1)), played_rounds, window, epsilon))
    trial.compare("window_index", window_index, cases, mistakes=WRONG_INDICES)
    unseen = {
        f"an item without observations has the index {value}, not infinity": lambda *_, value=value: value
        for value in (0, 1, 2, 1_000, 10**6, 10**9)
    }
    trial.compare("window_index", window_index, [(0, 0, 0, 10, 0.5), (0, 0, 30, 10, 0.5)], mistakes=unseen)


def expect_forgetting(trial: Trial, window: int) -> None:
    """Check when an item that nobody likes is tried again: in round 1, and each time its observation leaves the window.

    Round 1 leaves the window of the last ``window`` rounds before round window + 2.
    """
    rounds = 10 * window + 12
    arguments = {"num_items": 2, "num_positions": 1, "window": window, "epsilon": 0.01}
    setting = Setting(arguments, [[True, False]] * rounds, [[True]] * rounds, first_only=True)
    lists = trial.play("SlidingWindowUCB", setting)
    if lists[:2] != [[0], [1]]:
        return  # something else is wrong; the lists say what
    tried = [t for t, ranking in enumerate(lists) if ranking == [1]]
    expected = list(range(1, rounds, window + 1))
    if tried == expected:
        return
    mistake = {
        tuple(range(1, rounds, window)): "the window is one round too short",
        tuple(range(1, rounds, window + 2)): "the window is one round too long",
        (1,): "round 1 is never forgotten: the window is of the last rounds, not of observations of each item",
    }.get(tuple(tried), "")
    call = (
        f"{called('SlidingWindowUCB', (), arguments)}, all users like item 0 alone: the rounds with item 1 in the list"
    )
    trial.fail("SlidingWindowUCB", call, expected, tried, mistake)


@check(
    points=2,
    of="SlidingWindowUCB",
    hints=[
        "Keep the history in update(); in act() count, compute an index for each item, and sort.",
        "An item comes before another one if its index is larger, or if the indices are equal and its number is "
        "smaller: sorted(range(num_items), key=lambda item: -index[item]) does that.",
        "An observation of round r still counts in round r + window, and no longer in round r + window + 1.",
    ],
)
def the_window_forgets_in_the_right_round(trial: Trial) -> None:
    """SlidingWindowUCB tries an item again when its observations leave the window, and displays the right lists."""
    for window in (1, 2, 5, 12):
        expect_forgetting(trial, window)
    settings = [window_setting(size, trial.rng) for size in WINDOWS]
    trial.expect_play(SlidingWindowUCB, "SlidingWindowUCB", settings, mistakes=WRONG_WINDOWS)


@check(
    points=1,
    of="change_detected",
    hints=[
        "Take the last `window` observations; the first half of them is older than the second half.",
        "Compare sums, not means; take the absolute value; it must be larger than the threshold, not equal.",
        "last = observations[-window:]; abs(sum(last[half:]) - sum(last[:half])) > threshold, and False if there are "
        "fewer than `window` observations.",
    ],
)
def two_halves_that_differ_show_a_change(trial: Trial) -> None:
    """A change is detected if the sums of the last window's halves differ by more than the threshold."""
    cases: list[Any] = [([], 2, 0), ([1], 2, 0), ([0, 1], 2, 0), ([1, 0], 2, 0), ([0, 1], 2, 1), ([0, 0, 1], 2, 0)]
    cases += [([0, 1, 0, 0], 2, 0), ([0, 0, 1, 1], 4, 1), ([1, 1, 0, 0], 4, 1), ([0, 0, 1, 1], 4, 2), ([0, 1, 1], 4, 0)]
    for number in range(3 * DRAWN):
        window = 2 * int(trial.rng.integers(1, 7))
        length = window + number % 9 - 2
        chances = np.where(np.arange(length) < length - window // 2, *trial.rng.random(2))
        threshold = int(trial.rng.integers(0, window // 2)) + (0.5 if number % 3 == 0 else 0)
        cases.append(((trial.rng.random(length) < chances).astype(int).tolist(), window, threshold))
    trial.compare("change_detected", change_detected, cases, mistakes=WRONG_TESTS)


@check(
    points=3,
    of="RestartingUCB",
    hints=[
        "Keep for each item the list of its observations, and s. In the first rounds and after a restart the items "
        "0, 1, 2, ... are first in turn: why?",
        "act(): sort by index; then, if s % period < num_items, take that item out of the list and put it in front; "
        "only then cut the list. update(): s + 1, append, test, restart.",
        "A restart makes everything as it was in the constructor: an empty list for each item and s = 0. First append "
        "the observations of all observed items, then test; what was appended is forgotten, too.",
    ],
)
def a_restart_forgets_everything(trial: Trial) -> None:
    """RestartingUCB displays the right lists for up to 2,000 rounds, with users who change in mid-run."""
    settings = [change_at_the_first_test(), *(restart_setting(size, trial.rng) for size in RESTARTS)]
    try:
        trial.expect_play(RestartingUCB, "RestartingUCB", settings, mistakes=WRONG_RESTARTS)
    except Failed as error:
        why = (
            "ln(0): s is 0 after a restart, and then no item may have observations"
            if LOG_OF_0 in error.fault.got
            else ""
        )
        raise Failed(error.fault._replace(mistake=error.fault.mistake or why)) from None


# -- the picture -----------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the regret of the submission's agents beside that of CascadeUCB1 of exercise 3, which forgets nothing."""
    agents = {}
    shape = {"num_items": 8, "num_positions": 3}
    if the_window_forgets_in_the_right_round.name in passed:
        window = {**shape, "window": 300, "epsilon": 0.5}
        agents["yours, window of 300 rounds"] = student.make("SlidingWindowUCB", **window)
    if a_restart_forgets_everything.name in passed:
        restarting = {**shape, "period": 80, "window": 60, "threshold": 14}
        agents["yours, restarting (w = 60, b = 14)"] = student.make("RestartingUCB", **restarting)
    if not agents:
        return False
    rng, rounds = np.random.default_rng(2), 6_000
    attraction = np.array([np.roll(np.linspace(0.6, 0.05, 8), moved) for moved in (0, 3, 6)])
    users = draw_users(rng, attraction, 3, rounds)
    lists = {"random": rng.permuted(np.tile(np.arange(8), (rounds, 1)), axis=1)[:, :3]}
    lists["CascadeUCB1, forgets nothing"] = np.array(package_lists(users[0]))
    lists |= {name: np.array(student.play(agent, *users, first_only=True)) for name, agent in agents.items()}
    axes, curves = figure.subplots(), {name: regret(them, attraction) for name, them in lists.items()}
    draw_curves(axes, curves, title=f"8 items, 3 displayed; the same {rounds:,} users of the cascade model")
    top = 1.25 * max(curve[-1] for name, curve in curves.items() if name != "random")
    axes.set_ylim(0, top)  # random lists are far above
    for start in (2_000, 4_000):
        axes.axvline(start, color="#8A8A8A", linewidth=1, linestyle=":")
        axes.text(start + 60, 0.98 * top, "users change", color="#555555", va="top")
    axes.legend(loc="upper left", frameon=False, bbox_to_anchor=(0.05, 0.95))
    return True


def package_lists(attracted: Any) -> list[list[int]]:
    """Return the lists of the package's CascadeUCB1, which meets the same users."""
    from rankgym_agents import CascadeUCB1

    agent, lists = CascadeUCB1(num_items=attracted.shape[1], num_positions=3, seed=3), []
    for wanted in attracted:
        displayed = agent.act()
        clicks = wanted[displayed]
        clicks[0, int(clicks[0].argmax()) + 1 :] = False
        agent.update(displayed, clicks)
        lists.append(displayed[0].tolist())
    return lists


def regret(lists: Any, attraction: Any) -> Any:
    """Return the cumulative regret: the probability of a click that the best list has more."""
    epoch = np.arange(len(lists)) * len(attraction) // len(lists)
    best = np.sort(attraction, axis=1)[:, ::-1][:, : lists.shape[1]]
    missed = np.prod(1 - np.take_along_axis(attraction[epoch], lists, 1), axis=1)
    return np.cumsum(missed - np.prod(1 - best, axis=1)[epoch])


EXERCISE = Exercise(
    title="Users who change: a sliding window, and restarts after detected changes",
    handout=HANDOUTS / "06_changing_users.py",
    checks=(
        items_are_observed_down_to_the_first_click,
        a_window_has_the_last_rounds,
        all_counts_fade_in_each_round,
        the_index_is_that_of_equations_7_and_8,
        the_window_forgets_in_the_right_round,
        two_halves_that_differ_show_a_change,
        a_restart_forgets_everything,
    ),
    draw=draw,
)
