"""Oracles of exercise 6: agents for users who change, in plain Python for one user at a time, and wrong versions.

``SlidingWindowUCB`` is CascadeSWUCB, Algorithm 1 with equations 7 and 8 of Li and de Rijke, "Cascading non-stationary
bandits" (IJCAI 2019), with the last tau rounds as its window, observed items counted, infinity for an item without
observations, and the smaller number first where indices are equal. ``RestartingUCB`` is M-UCB, Algorithms 1 and 2 of
Cao, Wen, Kveton and Xie, "Nearly optimal adaptive procedure with change detection for piecewise-stationary bandit"
(AISTATS 2019), on top of the cascade model: what it forces is the first item of the list, and the index is
CascadeUCB1's, with the rounds since the last restart.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

INDEX_GAP = 1e-9  # between indices of different counts: closer ones could be ordered by rounding


def observed_items(displayed: Any, clicks: Any) -> list[int]:
    """Line 21: the items down to the first click."""
    return list(displayed[: [*clicks, 1].index(1) + 1])


def tally(rounds: Any, num_items: int, *, past_clicks: bool = False) -> list[list[int]]:
    """N and X of these rounds. It is wrong with ``past_clicks``: what is below the first click counts as observed."""
    observed, clicked = [0] * num_items, [0] * num_items
    for displayed, clicks in rounds:
        for item, click in zip(displayed, clicks, strict=True):
            observed[item] += 1
            clicked[item] += click
            if click and not past_clicks:
                break
    return [observed, clicked]


def window_counts(history: Any, num_items: int, window: int) -> list[list[int]]:
    """Lines 19 to 24."""
    return tally(history[max(len(history) - window, 0) :], num_items)


def window_index(observed: float, clicked: float, played: int, window: int, epsilon: float) -> float:
    """Equations 7 and 8."""
    if not observed:
        return math.inf
    return clicked / observed + math.sqrt(epsilon * math.log(min(played + 1, window)) / observed)


def smaller_first(index: Any) -> list[int]:
    return sorted(range(len(index)), key=lambda item: (-index[item], item))


def larger_first(index: Any) -> list[int]:
    """Wrong: of equal indices the larger number comes first."""
    return sorted(range(len(index)), key=lambda item: (-index[item], -item))


def closest(index: Any, counts: Any) -> float:
    """Return the smallest gap between finite indices of items with different counts."""
    pairs = sorted((value, count) for value, count in zip(index, counts, strict=True) if value < math.inf)
    return min((b[0] - a[0] for a, b in itertools.pairwise(pairs) if a[1] != b[1]), default=math.inf)


class SlidingWindowUCB:
    """CascadeSWUCB. The keywords after ``epsilon`` make the wrong versions."""

    def __init__(
        self,
        num_items: int,
        num_positions: int,
        window: int,
        epsilon: float,
        *,
        counts: Callable[..., Any] = window_counts,
        index: Callable[..., float] = window_index,
        order: Callable[..., list[int]] = smaller_first,
    ) -> None:
        self.num_items, self.num_positions, self.window, self.epsilon = num_items, num_positions, window, epsilon
        self.counts, self.index, self.order = counts, index, order
        self.history: list[Any] = []
        self.gap = math.inf  # the smallest one between indices that decided

    def act(self) -> list[int]:
        counts = list(zip(*self.counts(self.history, self.num_items, self.window), strict=True))
        index = [self.index(n, x, len(self.history), self.window, self.epsilon) for n, x in counts]
        self.gap = min(self.gap, closest(index, counts))
        return self.order(index)[: self.num_positions]

    def update(self, displayed: Any, clicks: Any) -> None:
        self.history.append((displayed, clicks))

    def ties(self, one: list[int], other: list[int]) -> bool:
        counts = list(zip(*self.counts(self.history, self.num_items, self.window), strict=True))
        return [counts[item] for item in one] == [counts[item] for item in other]

    def state(self) -> dict[str, Any]:
        counts, played = self.counts(self.history, self.num_items, self.window), len(self.history)
        index = [self.index(n, x, played, self.window, self.epsilon) for n, x in zip(*counts, strict=True)]
        return {"observed": counts[0], "clicked": counts[1], "played": played, "index": index}


def last_observations(history: Any, num_items: int, window: int) -> list[list[int]]:
    """Wrong: the window is of observations of each item, not of rounds."""
    found: list[list[int]] = [[] for _ in range(num_items)]
    for displayed, clicks in history:
        for item, click in zip(observed_items(displayed, clicks), clicks, strict=False):
            found[item].append(click)
    last = [each[-window:] for each in found]
    return [[len(each) for each in last], [sum(each) for each in last]]


def everything_displayed(displayed: Any, clicks: Any) -> list[int]:
    """Wrong: what is below the first click counts as observed."""
    return list(displayed)


def last_rounds(history: Any, window: int) -> Any:
    return history[max(len(history) - window, 0) :]


WRONG_COUNTS: dict[str, Callable[..., Any]] = {
    "the window is one round too short": lambda history, items, window: tally(last_rounds(history, window - 1), items),
    "the window is one round too long": lambda history, items, window: tally(last_rounds(history, window + 1), items),
    "nothing is forgotten": lambda history, items, window: tally(history, items),
    "these are the first rounds, not the last ones": lambda history, items, window: tally(history[:window], items),
    "all displayed items count as observed: stop at the first click": lambda history, items, window: tally(
        last_rounds(history, window), items, past_clicks=True
    ),
    "the window is of observations of each item: it is of rounds": last_observations,
}


def bonus(change: Callable[..., float]) -> Callable[..., float]:
    """Return an index with another bonus, a function of n, t, the window and epsilon."""
    return lambda n, x, played, window, epsilon: x / n + change(n, played + 1, window, epsilon) if n else math.inf


WRONG_INDICES: dict[str, Callable[..., float]] = {
    "the window is not in the logarithm: it is that of min(t, window)": bonus(
        lambda n, t, tau, eps: math.sqrt(eps * math.log(t) / n)
    ),
    "the window alone is in the logarithm: it is that of min(t, window)": bonus(
        lambda n, t, tau, eps: math.sqrt(eps * math.log(tau) / n)
    ),
    "the logarithm is of min(t, window): it is of min(t + 1, window), with t = played": bonus(
        lambda n, t, tau, eps: math.sqrt(eps * math.log(min(t - 1, tau)) / n)
    ),
    "N is outside of the square root: the bracket ends too early": bonus(
        lambda n, t, tau, eps: math.sqrt(eps * math.log(min(t, tau))) / n
    ),
    "epsilon is outside of the square root": bonus(lambda n, t, tau, eps: eps * math.sqrt(math.log(min(t, tau)) / n)),
    "epsilon is missing": bonus(lambda n, t, tau, eps: math.sqrt(math.log(min(t, tau)) / n)),
    "the square root is missing": bonus(lambda n, t, tau, eps: eps * math.log(min(t, tau)) / n),
    "the logarithm is missing": bonus(lambda n, t, tau, eps: math.sqrt(eps * min(t, tau) / n)),
    "the logarithm is not the natural one": bonus(lambda n, t, tau, eps: math.sqrt(eps * math.log10(min(t, tau)) / n)),
    "the bonus is twice as large, as in CascadeDUCB": bonus(
        lambda n, t, tau, eps: 2 * math.sqrt(eps * math.log(min(t, tau)) / n)
    ),
    "the bonus is missing": bonus(lambda n, t, tau, eps: 0.0),
    "the mean is missing": lambda n, x, *rest: window_index(n, 0, *rest),
    "clicks are not divided by observations": lambda n, x, *rest: window_index(n, n * x, *rest),
}
WRONG_WINDOWS: dict[str, Callable[..., Any]] = {
    **{why: partial(SlidingWindowUCB, counts=counts) for why, counts in WRONG_COUNTS.items()},
    **{why: partial(SlidingWindowUCB, index=index) for why, index in WRONG_INDICES.items()},
    "of equal indices the larger item number comes first": partial(SlidingWindowUCB, order=larger_first),
    "the smallest indices come first": partial(
        SlidingWindowUCB, order=lambda index: smaller_first([-u for u in index])
    ),
    "an item without observations has the index 0, not infinity": partial(
        SlidingWindowUCB, index=lambda n, *rest: window_index(n, *rest) if n else 0.0
    ),
    "an item without observations has the index 1, not infinity": partial(
        SlidingWindowUCB, index=lambda n, *rest: window_index(n, *rest) if n else 1.0
    ),
}


def change_detected(observations: Any, window: int, threshold: float) -> bool:
    """Algorithm 1 of M-UCB."""
    last = list(observations)[max(len(observations) - window, 0) :]
    halves = sum(last[window // 2 :]) - sum(last[: window // 2])
    return len(last) == window and abs(halves) > threshold


def ucb1_index(observations: Any, played: int) -> float:
    """The mean and its bonus, after ``played`` rounds since the last restart."""
    n = len(observations)
    return with_bonus(sum(observations) / n, n, played) if n else math.inf


def with_bonus(mean: float, n: int, played: int) -> float:
    return mean + math.sqrt(1.5 * math.log(played) / n)


def forced_first(ranking: list[int], forced: int, num_positions: int) -> list[int]:
    return [forced, *(item for item in ranking if item != forced)]


def forced_at_the_end(ranking: list[int], forced: int, num_positions: int) -> list[int]:
    """Wrong: the forced item comes after the last one, and may be cut off."""
    return [*forced_first(ranking, forced, num_positions)[1:], forced]


def forced_in_the_last_position(ranking: list[int], forced: int, num_positions: int) -> list[int]:
    """Wrong: the forced item comes last in the displayed list."""
    others = forced_first(ranking, forced, num_positions)[1:]
    return [*others[: num_positions - 1], forced]


def forced_changes_places(ranking: list[int], forced: int, num_positions: int) -> list[int]:
    """Wrong: the item that was first goes where the forced item was."""
    swapped = {ranking[0]: forced, forced: ranking[0]}
    return [swapped.get(item, item) for item in ranking]


def forced_instead_of_the_first(ranking: list[int], forced: int, num_positions: int) -> list[int]:
    """Wrong: the list is cut first, and the forced item then replaces its first one."""
    shown = ranking[:num_positions]
    return forced_first(shown, forced, num_positions) if forced in shown else [forced, *shown[1:]]


def empty_lists(num_items: int) -> list[list[int]]:
    return [[] for _ in range(num_items)]


class RestartingUCB:
    """M-UCB on the cascade model. The keywords after ``threshold`` make the wrong versions."""

    def __init__(
        self,
        num_items: int,
        num_positions: int,
        period: int,
        window: int,
        threshold: float,
        *,
        detect: Callable[..., bool] = change_detected,
        index: Callable[..., float] = ucb1_index,
        seen: Callable[..., Any] = observed_items,
        order: Callable[..., list[int]] = smaller_first,
        put: Callable[..., list[int]] = forced_first,
        empty: Callable[[int], list[list[int]]] = empty_lists,
        tested: slice = slice(None),
        grows_by: Callable[[int], int] = lambda observed: 1,
        recent: str = "",
        late: int = 0,
        after: int = 0,
        goes_on: str = "",
        forgets_all: bool = True,
    ) -> None:
        self.num_items, self.num_positions, self.period = num_items, num_positions, period
        self.window, self.threshold = window, threshold
        self.detect, self.index, self.seen, self.order, self.put = detect, index, seen, order, put
        self.late, self.after, self.goes_on, self.forgets_all = late, after, goes_on, forgets_all
        self.empty, self.tested, self.grows_by, self.recent = empty, tested, grows_by, recent
        self.observations = empty(num_items)
        self.played = self.total = 0
        self.restarts: list[int] = []  # the rounds after which it restarted
        self.gap = math.inf

    def act(self) -> list[int]:
        s = self.total if "log" in self.goes_on else self.played
        index = [self.index_of(each, s) for each in self.observations]
        self.gap = min(self.gap, closest(index, [(len(each), sum(each)) for each in self.observations]))
        ranking = self.order(index)
        forced = ((self.total if "turns" in self.goes_on else self.played) + self.late) % self.period
        if forced < self.num_items:
            ranking = self.put(ranking, forced, self.num_positions)
        return ranking[: self.num_positions]

    def index_of(self, observations: list[int], s: int) -> float:
        last = observations[-self.window :]
        if self.recent == "mean" and last:
            return with_bonus(sum(last) / len(last), len(observations), s)
        return self.index(last if self.recent else observations, s)

    def update(self, displayed: Any, clicks: Any) -> None:
        seen = list(zip(self.seen(displayed, clicks), clicks, strict=False))
        self.played += self.grows_by(len(seen))
        self.total += 1
        for item, click in seen:
            self.observations[item].append(click)
        tested = [item for item, _ in seen[self.tested]]
        changed = [item for item in tested if self.detect(self.observations[item], self.window, self.threshold)]
        if not changed:
            return
        self.restarts.append(self.total - 1)
        if self.forgets_all:
            self.played, self.observations = self.after, self.empty(self.num_items)
        else:
            self.observations = [[] if i in changed else each for i, each in enumerate(self.observations)]

    def ties(self, one: list[int], other: list[int]) -> bool:
        counts = [(len(each), sum(each)) for each in self.observations]
        return [counts[item] for item in one] == [counts[item] for item in other]

    def state(self) -> dict[str, Any]:
        index = [self.index(each, self.played) for each in self.observations]
        last = [each[-self.window :] for each in self.observations]
        number = [len(each) for each in self.observations]
        return {"s": self.played, "number of observations": number, "the last of them": last, "index": index}


def halves_of_all(observations: Any, window: int, threshold: float) -> bool:
    """Wrong: all observations are cut in two."""
    return len(observations) >= window and change_detected(observations, len(observations) // 2 * 2, threshold)


def before_it_is_full(observations: Any, window: int, threshold: float) -> bool:
    """Wrong: it does not wait for a full window."""
    last = list(observations)[max(len(observations) - window, 0) :]
    return abs(sum(last[window // 2 :]) - sum(last[: window // 2])) > threshold


def of_means(observations: Any, window: int, threshold: float) -> bool:
    """Wrong: the difference of means."""
    return change_detected(observations, window, threshold * (window // 2))


WRONG_TESTS: dict[str, Callable[..., bool]] = {
    "a difference equal to the threshold is not enough: it must be larger": lambda o, w, b: change_detected(
        o, w, b - 1e-9
    ),
    "only rises are detected: take the absolute value": lambda o, w, b: (
        change_detected(o, w, b) and sum(list(o)[-(w // 2) :]) > sum(list(o)[-w : -(w // 2)])
    ),
    "only falls are detected: take the absolute value": lambda o, w, b: (
        change_detected(o, w, b) and sum(list(o)[-(w // 2) :]) < sum(list(o)[-w : -(w // 2)])
    ),
    "these are the first observations: take the last ones": lambda o, w, b: change_detected(o[:w], w, b),
    "with fewer observations than the window nothing is detected": before_it_is_full,
    "all observations are divided in two halves: take the last ones, as many as the window": halves_of_all,
    "the means of the halves are compared: it is their sums": of_means,
    "each half has as many observations as the window": lambda o, w, b: change_detected(o, 2 * w, b),
    "more observations than the window are needed: as many are enough": lambda o, w, b: (
        len(o) > w and change_detected(o, w, b)
    ),
}


def forced_in_every_round(num_items: int, num_positions: int, period: int, **test: Any) -> RestartingUCB:
    """Wrong: s modulo the number of items decides which one is forced."""
    return RestartingUCB(num_items, num_positions, num_items, **test)


WRONG_RESTARTS: dict[str, Callable[..., Any]] = {
    "no item is forced to the first position": partial(RestartingUCB, put=lambda ranking, *_: ranking),
    "the forced item is put at the end of the list": partial(RestartingUCB, put=forced_at_the_end),
    "the forced item is put at the last displayed position": partial(RestartingUCB, put=forced_in_the_last_position),
    "the forced item changes places with the first one: the others follow by their indices": partial(
        RestartingUCB, put=forced_changes_places
    ),
    "the forced item replaces the first one of a list that was cut before: cut it after that": partial(
        RestartingUCB, put=forced_instead_of_the_first
    ),
    "an item is forced in every round: s % period, not s % num_items": forced_in_every_round,
    "s grows by the number of observed items: it counts rounds": partial(RestartingUCB, grows_by=int),
    "only the first observed item is tested: test all of them": partial(RestartingUCB, tested=slice(1)),
    "only the last observed item is tested: test all of them": partial(RestartingUCB, tested=slice(-1, None)),
    "the lists of [[]] * L are one list: make a new one for each item": partial(
        RestartingUCB, empty=lambda num_items: [[]] * num_items
    ),
    "mean and n are of the last w observations: those of the index are of all since the restart": partial(
        RestartingUCB, recent="mean and n"
    ),
    "the mean is of the last w observations: that of the index is of all since the restart": partial(
        RestartingUCB, recent="mean"
    ),
    "the forced item is one too late: s counts from 0": partial(RestartingUCB, late=-1),
    "the forced item is one too early: s counts from 0": partial(RestartingUCB, late=1),
    "the forced items' turns go on after a restart: s is 0 again": partial(RestartingUCB, goes_on="turns"),
    "the logarithm is of all rounds: it is of those since the restart": partial(RestartingUCB, goes_on="log"),
    "s goes on after a restart: it is 0 again": partial(RestartingUCB, goes_on="log and turns"),
    "s is 1 after a restart: the next round has s = 0": partial(RestartingUCB, after=1),
    "only the item that changed is forgotten, and s goes on: forget all of them": partial(
        RestartingUCB, forgets_all=False
    ),
    "it never restarts": partial(RestartingUCB, detect=lambda *_: False),
    **{why: partial(RestartingUCB, detect=detect) for why, detect in WRONG_TESTS.items()},
    "all displayed items count as observed: stop at the first click": partial(RestartingUCB, seen=everything_displayed),
    "of equal indices the larger item number comes first": partial(RestartingUCB, order=larger_first),
    "the logarithm has s + 1: it is ln(s)": partial(RestartingUCB, index=lambda each, s: ucb1_index(each, s + 1)),
    "the factor 1.5 of the bonus is missing": partial(
        RestartingUCB,
        index=lambda each, s: sum(each) / len(each) + math.sqrt(math.log(s) / len(each)) if each else math.inf,
    ),
    "n is outside of the bonus's square root": partial(
        RestartingUCB,
        index=lambda each, s: sum(each) / len(each) + math.sqrt(1.5 * math.log(s)) / len(each) if each else math.inf,
    ),
    "the bonus is missing": partial(RestartingUCB, index=lambda each, s: sum(each) / len(each) if each else math.inf),
}
