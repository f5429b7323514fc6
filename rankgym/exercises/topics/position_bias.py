"""Exercise 4: click-through rates, which position bias distorts, and PBM-UCB.

The oracles are the definitions of Lagree, Vernade and Cappe ("Multiple-play bandits in the position-based model", NIPS
2016) in plain Python: S, N and N~ of each item. The expectation of a click-through rate is linear: the probability of a
click, chi times alpha, averaged over the displays. The agents' oracles are in ``pbm_rankers``.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import played
from rankgym.exercises.topics.pbm_rankers import Index, expect_lists, falling, maker, pbm_ucb, rate_ucb
from rankgym.submissions import Submission

Log: TypeAlias = tuple[list[list[int]], list[list[int]], list[float], int]  # lists, clicks, examination, items


# -- the parts of the algorithms --------------------------------------------------------------------------------------


def statistics(
    rankings: Any, clicks: Any, examination: Any, num_items: int
) -> tuple[list[int], list[int], list[float]]:
    """S, N and N~ of each item."""
    clicked, displays, looks = [0] * num_items, [0] * num_items, [0.0] * num_items
    for ranking, row in zip(rankings, clicks, strict=True):
        for item, click, chi in zip(ranking, row, examination, strict=True):
            clicked[item] += click
            displays[item] += 1
            looks[item] += chi
    return clicked, displays, looks


def ratios(above: Any, below: Any) -> list[float | None]:
    """Quotients by item; None where the denominator is 0."""
    return [a / b if b else None for a, b in zip(above, below, strict=True)]


def rates(*log: Any) -> list[float | None]:
    """S / N."""
    clicked, displays, _ = statistics(*log)
    return ratios(clicked, displays)


def corrected(*log: Any) -> list[float | None]:
    """S / N~."""
    clicked, _, looks = statistics(*log)
    return ratios(clicked, looks)


def expected_rates(attraction: Any, examination: Any, rankings: Any) -> list[float | None]:
    """The mean of chi alpha over an item's displays."""
    nothing = [[0] * len(ranking) for ranking in rankings]
    _, displays, looks = statistics(rankings, nothing, examination, len(attraction))
    return ratios([alpha * x for alpha, x in zip(attraction, looks, strict=True)], displays)


def own_rates(attraction: Any, examination: Any, ranking: Any) -> list[float]:
    """The probabilities of clicks by position."""
    return [chi * attraction[item] for chi, item in zip(examination, ranking, strict=True)]


def falls(numbers: list[float]) -> bool:
    return all(one > other for one, other in itertools.pairwise(numbers))


def confirms(attraction: Any, examination: Any, ranking: Any) -> bool:
    return falls(own_rates(attraction, examination, ranking))


def cascade(a: Any, chi: Any, rankings: Any) -> Any:
    """Wrong: expected rates in the cascade model."""
    clicks = []
    for ranking in rankings:
        reached, row = 1.0, []
        for item in ranking:
            row.append(reached * a[item])
            reached *= 1 - a[item]
        clicks.append(row)
    return rates(rankings, clicks, chi, len(a))


def exchanged(a: Any, chi: Any, rankings: Any) -> Any:
    """Wrong: attraction is taken by position, and examination by item."""
    _, displays, _ = statistics(rankings, [[0] * len(chi)] * len(rankings), chi, len(a))
    products = [0.0] * len(a)
    for ranking in rankings:
        for k, item in enumerate(ranking):
            products[item] += a[k] * chi[item]
    return ratios(products, displays)


# -- cases and users --------------------------------------------------------------------------------------------------


def logs(trial: Trial) -> Iterator[Log]:
    """Yield logs, small ones first."""
    yield [[0]], [[1]], [0.5], 1
    yield [[1, 0]], [[1, 1]], [1.0, 0.5], 2
    yield [[1, 0], [0, 1]], [[0, 1], [1, 0]], [1.0, 0.5], 2
    yield [[2, 0], [2, 1]], [[1, 0], [0, 1]], [0.75, 0.25], 4
    for _ in range(40):
        items, rounds = int(trial.rng.integers(2, 8)), int(trial.rng.integers(1, 12))
        positions = int(trial.rng.integers(1, items + 1))
        rankings = [trial.rng.permutation(items)[:positions].tolist() for _ in range(rounds)]
        clicks = (trial.rng.random((rounds, positions)) < 0.5).astype(int).tolist()
        yield rankings, clicks, falling(trial.rng, positions), items


def attractions(trial: Trial, items: int) -> list[float]:
    return trial.rng.uniform(0.05, 0.95, items).round(3).tolist()


# -- checks -----------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="click_through_rates",
    hints=[
        "Count two things for each item: its displays and its clicks.",
        "The click of an item stands at its position: zip(ranking, row) gives items with their clicks.",
        "for ranking, row in zip(rankings, clicks): for item, click in zip(ranking, row): displays[item] += 1; "
        "clicked[item] += click. Then clicked / displays, or None.",
    ],
)
def rates_are_clicks_by_displays(trial: Trial) -> None:
    """The click-through rate of an item is the number of its clicks divided by the number of its displays."""

    def by_position(rankings: Any, clicks: Any, num_items: int) -> Any:
        positions = [list(range(len(row))) for row in clicks]
        return rates(positions, clicks, [1.0] * len(clicks[0]), num_items)

    def right(rankings: Any, clicks: Any, num_items: int) -> Any:
        return rates(rankings, clicks, [1.0] * len(clicks[0]), num_items)

    def counted(rankings: Any, clicks: Any, num_items: int) -> Any:
        return statistics(rankings, clicks, [1.0] * len(clicks[0]), num_items)

    def first_only(rankings: Any, clicks: Any, num_items: int) -> Any:
        return right(rankings, [[int(k == [*row, 1].index(1)) for k in range(len(row))] for row in clicks], num_items)

    mistakes = {
        "clicks are taken by position, not by item": by_position,
        "divided by the number of rounds: divide by the item's displays": lambda r, c, m: [
            s / len(r) for s in counted(r, c, m)[0]
        ],
        "divided by the rounds, None where it was never displayed: divide by the item's displays": lambda r, c, m: [
            s / len(r) if n else None for s, n in zip(*counted(r, c, m)[:2], strict=True)
        ],
        "these are shares of all clicks: divide by the item's displays": lambda r, c, m: [
            s / sum(map(sum, c)) if n else None for s, n in zip(*counted(r, c, m)[:2], strict=True)
        ],
        "these are numbers of clicks: divide by the displays": lambda r, c, m: counted(r, c, m)[0],
        "only the first click of a round counts: there may be several": first_only,
        "0 for an item that was never displayed: it has no rate, None": lambda r, c, m: [
            x or 0.0 for x in right(r, c, m)
        ],
        "None for an item without clicks: its rate is 0 if it was displayed": lambda r, c, m: [
            x or None for x in right(r, c, m)
        ],
        "rounded down: // instead of /": lambda r, c, m: [x if x is None else x // 1 for x in right(r, c, m)],
        "displays are divided by clicks": lambda r, c, m: ratios(*counted(r, c, m)[1::-1]),
    }
    cases = [(rankings, clicks, items) for rankings, clicks, _, items in logs(trial)]
    trial.compare("click_through_rates", right, cases, mistakes=mistakes)


@check(
    points=2,
    of="expected_click_through_rates",
    hints=[
        "What is the expected number of clicks in one display of item i at position k?",
        "An expectation of a sum is the sum of the expectations: add up chi(k) alpha(i) over the displays of item i, "
        "and divide by their number.",
        "looks[item] += examination[k] and displays[item] += 1 over all displays; then attraction[i] * looks[i] / "
        "displays[i].",
    ],
)
def expected_rates_are_expectations(trial: Trial) -> None:
    """The expected click-through rates are exact, for lists that were chosen beforehand."""

    def weighed(a: Any, chi: Any, rankings: Any, how: Callable[[float, float, int], float]) -> Any:
        _, displays, looks = statistics(rankings, [[0] * len(chi)] * len(rankings), chi, len(a))
        return [how(alpha, x, n) if n else None for alpha, x, n in zip(a, looks, displays, strict=True)]

    def last(a: Any, chi: Any, rankings: Any) -> Any:
        found: list[float | None] = [None] * len(a)
        for ranking in rankings:
            for item, x in zip(ranking, chi, strict=True):
                found[item] = a[item] * x
        return found

    def by_item(a: Any, chi: Any, rankings: Any) -> Any:
        return [a[i] * chi[i] if i < len(chi) else None for i in range(len(a))]

    mistakes: dict[str, Callable[..., Any]] = {
        "items and positions are exchanged: it is attraction[item] and examination[k]": exchanged,
        "this is the attraction alone: not all displays are looked at": lambda a, chi, r: weighed(
            a, chi, r, lambda alpha, x, n: alpha
        ),
        "this is the mean examination alone: a look is no click yet": lambda a, chi, r: weighed(
            a, chi, r, lambda alpha, x, n: x / n
        ),
        "this is the expected number of clicks: divide by the displays": lambda a, chi, r: weighed(
            a, chi, r, lambda alpha, x, n: alpha * x
        ),
        "divided by the number of rounds: divide by the item's displays": lambda a, chi, r: weighed(
            a, chi, r, lambda alpha, x, n: alpha * x / len(r)
        ),
        "divided by the looks: divide by the displays": lambda a, chi, r: weighed(
            a, chi, r, lambda alpha, x, n: alpha * n / x
        ),
        "the mean is over all positions: take it over the positions where the item was displayed": lambda a, chi, r: (
            weighed(a, chi, r, lambda alpha, x, n: alpha * sum(chi) / len(chi))
        ),
        "only the last display of an item counts": last,
        "only the first display of an item counts": lambda a, chi, r: last(a, chi, r[::-1]),
        "examination is taken by item, not by position": by_item,
        "the user leaves after the first click here: that is the cascade model, not the PBM": cascade,
        "0 for an item that was never displayed: it has no rate, None": lambda a, chi, r: [
            x or 0.0 for x in expected_rates(a, chi, r)
        ],
    }
    cases = [(attractions(trial, items), chi, rankings) for rankings, _, chi, items in logs(trial)]
    trial.compare("expected_click_through_rates", expected_rates, cases, mistakes=mistakes)


@check(
    points=1,
    of="corrected_estimates",
    hints=[
        "Only the denominator differs from the click-through rate: how many users looked, on average?",
        "A display at position k is examination[k] of a look, clicked or not.",
        "looks[item] += examination[k] and clicked[item] += click over all displays; then clicked / looks, or None.",
    ],
)
def estimates_are_clicks_by_looks(trial: Trial) -> None:
    """The corrected estimate is the number of clicks divided by the sum of the examination over all displays."""

    def inverse(rankings: Any, clicks: Any, chi: Any, num_items: int) -> Any:
        weighted = [[click / x for click, x in zip(row, chi, strict=True)] for row in clicks]
        return rates(rankings, weighted, chi, num_items)

    def clicked_looks(rankings: Any, clicks: Any, chi: Any, num_items: int) -> Any:
        clicked, displays, looks = [0] * num_items, [0] * num_items, [0.0] * num_items
        for ranking, row in zip(rankings, clicks, strict=True):
            for item, click, x in zip(ranking, row, chi, strict=True):
                clicked[item], displays[item], looks[item] = clicked[item] + click, 1, looks[item] + click * x
        return [(s / x if x else 0.0) if n else None for s, n, x in zip(clicked, displays, looks, strict=True)]

    def by_item(rankings: Any, clicks: Any, chi: Any, num_items: int) -> Any:
        clicked, displays, _ = statistics(rankings, clicks, chi, num_items)
        return [
            s / (n * chi[i % len(chi)]) if n else None for i, (s, n) in enumerate(zip(clicked, displays, strict=True))
        ]

    mistakes: dict[str, Callable[..., Any]] = {
        "this is the click-through rate: divide by the expected looks": rates,
        "this is the mean of clicks / examination, another estimate: divide all clicks by all looks": inverse,
        "cut at 1: the estimate may be larger": lambda *log: [x if x is None else min(1.0, x) for x in corrected(*log)],
        "only displays with a click count as looks: all displays do": clicked_looks,
        "examination is taken by item, not by position": by_item,
        "examination is taken in the reverse order": lambda r, c, chi, m: corrected(r, c, chi[::-1], m),
        "the clicks are multiplied by the examination": lambda r, c, chi, m: rates(
            r, [[click * x for click, x in zip(row, chi, strict=True)] for row in c], chi, m
        ),
        "these are expected looks: divide the clicks by them": lambda *log: statistics(*log)[2],
        "divided by the rounds": lambda r, c, chi, m: [
            s / len(r) if n else None for s, n in zip(*statistics(r, c, chi, m)[:2], strict=True)
        ],
        "0 for an item that was never displayed: it has no estimate, None": lambda *log: [
            x or 0.0 for x in corrected(*log)
        ],
        "None for an item without clicks: its estimate is 0 if it was displayed": lambda *log: [
            x or None for x in corrected(*log)
        ],
    }
    trial.compare("corrected_estimates", corrected, logs(trial), mistakes=mistakes)


@check(
    points=1,
    of="confirms_itself",
    hints=[
        "Which click-through rate is expected of the item at position k, if it is always displayed there?",
        "Compute examination[k] * attraction[ranking[k]] for each k. When does sorting by them change nothing?",
        "Return whether each of these rates is larger than the next one.",
    ],
)
def a_list_confirms_itself_if_its_rates_fall(trial: Trial) -> None:
    """Whether a list confirms itself is decided by its own expected rates, whether the list is right or wrong."""

    def first_pair(a: Any, chi: Any, r: Any) -> bool:
        return falls(own_rates(a, chi, r)[:2])

    def by_position(a: Any, chi: Any, r: Any) -> bool:
        return confirms(a, chi, range(len(r)))

    mistakes: dict[str, Callable[..., Any]] = {
        "this asks whether the list is right: a wrong one may confirm itself, too": lambda a, chi, r: falls(
            [a[item] for item in r]
        ),
        "each list would confirm itself": lambda a, chi, r: True,
        "no list would confirm itself": lambda a, chi, r: False,
        "this asks whether a wrong list confirms itself: a right one does, too": lambda a, chi, r: (
            confirms(a, chi, r) and not falls([a[item] for item in r])
        ),
        "this is the opposite": lambda a, chi, r: not confirms(a, chi, r),
        "the rates must fall, not rise": lambda a, chi, r: (
            confirms(a, chi, r[::-1]) if len(r) < 2 else falls(own_rates(a, chi, r)[::-1])
        ),
        "attraction is taken by position, not by item": by_position,
        "items and positions are exchanged: it is attraction[ranking[k]] and examination[k]": lambda a, chi, r: falls(
            [a[k] * chi[item] for k, item in enumerate(r)]
        ),
        "only the first two positions are compared": first_pair,
        "only the first and the last position are compared": lambda a, chi, r: (
            len(r) < 2 or falls(own_rates(a, chi, r)[:: len(r) - 1])
        ),
        "the rates are divided by the examination: click-through rates are not corrected": lambda a, chi, r: falls(
            [a[item] / x for item, x in zip(r, chi, strict=True)]
        ),
        "examination and attraction are added: multiply them": lambda a, chi, r: falls(
            [a[item] + x for item, x in zip(r, chi, strict=True)]
        ),
    }
    cases: list[tuple[list[float], list[float], list[int]]] = [
        ([0.4, 0.6], [1.0, 0.5], [0, 1]),  # wrong, and confirms itself
        ([0.4, 0.6], [1.0, 0.5], [1, 0]),
        ([0.4, 0.6], [1.0, 0.75], [0, 1]),  # wrong, and does not
        ([0.2, 0.3, 0.9], [1.0, 0.5, 0.25], [0, 1, 2]),
    ]
    while len(cases) < 90:
        items = int(trial.rng.integers(2, 6))
        positions = int(trial.rng.integers(2, items + 1))
        a, chi, r = attractions(trial, items), falling(trial.rng, positions), trial.rng.permutation(items)[:positions]
        if min(abs(x - y) for x, y in itertools.combinations(own_rates(a, chi, r), 2)) > 1e-6:
            cases.append((a, chi, r.tolist()))
    trial.compare("confirms_itself", confirms, cases, mistakes=mistakes)


@check(
    points=1,
    of="pbm_ucb_index",
    hints=[
        "There are three parts: the corrected estimate, and two roots, which are multiplied.",
        "The first root is of displays / looks, without the logarithm; the second of log t / (2 looks).",
        "math.inf if displays == 0, else clicks / looks + math.sqrt(displays / looks) * math.sqrt(math.log(t) / (2 * "
        "looks)).",
    ],
)
def pbm_ucb_widens_the_bound_for_displays_that_few_look_at(trial: Trial) -> None:
    """The index is S / N~ + sqrt(N / N~) sqrt(log t / (2 N~)), and infinity for an item that was never displayed."""
    mistakes: dict[str, Index] = {
        "this is the bound on the click-through rate: the examination is not used": rate_ucb,
        "the mean is the click-through rate: divide by the looks": lambda s, n, x, t: s / n + pbm_ucb(0, n, x, t),
        "the root of displays / looks is missing, or the other one has displays where looks belong": (
            lambda s, n, x, t: s / x + math.sqrt(math.log(t) / (2 * x))
        ),
        "the first root is upside down: it is of displays / looks": lambda s, n, x, t: (
            s / x + math.sqrt(x / n) * math.sqrt(math.log(t) / (2 * x))
        ),
        "the first factor has no root": lambda s, n, x, t: s / x + n / x * math.sqrt(math.log(t) / (2 * x)),
        "the roots are added: multiply them": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) + math.sqrt(math.log(t) / (2 * x))
        ),
        "the 2 is missing": lambda s, n, x, t: s / x + math.sqrt(2) * pbm_ucb(0, n, x, t),
        "the 2 multiplies: log t / 2 * looks is log t / 2 times looks": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) * math.sqrt(math.log(t) / 2 * x)
        ),
        "the bracket ends too early: the looks are under the root": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) * math.sqrt(math.log(t)) / (2 * x)
        ),
        "the bonus is that of UCB1, with 1.5 log t": lambda s, n, x, t: s / x + math.sqrt(3) * pbm_ucb(0, n, x, t),
        "t itself is under the root: its logarithm belongs there": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) * math.sqrt(t / (2 * x))
        ),
        "the logarithm is outside of the root": lambda s, n, x, t: s / x + math.sqrt(n / x / (2 * x)) * math.log(t),
        "the logarithm is missing": lambda s, n, x, t: s / x + math.sqrt(n / x) * math.sqrt(1 / (2 * x)),
        "the logarithm has base 10: natural ones are meant": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) * math.sqrt(math.log10(t) / (2 * x))
        ),
        "the logarithm has base 2: natural ones are meant": lambda s, n, x, t: (
            s / x + math.sqrt(n / x) * math.sqrt(math.log2(t) / (2 * x))
        ),
        "log(t + 1): t is the round already": lambda s, n, x, t: pbm_ucb(s, n, x, t + 1),
        "log(t - 1): t is the round already": lambda s, n, x, t: pbm_ucb(s, n, x, t - 1 or 1),
        "log N(i): it is the logarithm of t": lambda s, n, x, t: pbm_ucb(s, n, x, n),
        "the mean is missing": lambda s, n, x, t: pbm_ucb(0, n, x, t),
        "the bonus is missing": lambda s, n, x, t: s / x,
        "the index is below the estimate: the bonus is added": lambda s, n, x, t: 2 * s / x - pbm_ucb(s, n, x, t),
        "cut at 1": lambda s, n, x, t: min(1.0, pbm_ucb(s, n, x, t)),
    }
    cases = [(0, 1, 0.5, 2), (1, 1, 0.5, 2), (1, 2, 1.5, 3), (0, 1, 0.25, 1), (3, 4, 2.25, 10)]
    for _ in range(60):
        displays = int(10 ** trial.rng.uniform(0, 4))
        looks = displays * float(trial.rng.integers(6, 64)) / 64
        clicks = int(trial.rng.binomial(displays, trial.rng.random()))
        cases.append((clicks, displays, looks, displays + int(10 ** trial.rng.uniform(0, 4))))
    trial.compare("pbm_ucb_index", pbm_ucb, cases, mistakes=mistakes)
    why = "an item that was never displayed has the index infinity: otherwise it might never be displayed"
    for t in (1, 2, 100):
        got = trial.call("pbm_ucb_index", 0, 0, 0.0, t)
        if got != math.inf:
            trial.fail("pbm_ucb_index", f"pbm_ucb_index(0, 0, 0.0, {t})", math.inf, got, why)


@check(
    points=2,
    of="ClickThroughRate",
    hints=[
        "Three statistics are enough: clicks and displays of each item, and t. act computes, update counts.",
        "All displayed items count as displayed, clicked or not. Then t grows by one.",
        "The index is pbm_ucb_index(clicks[i], displays[i], displays[i], t). Sort the items by it, largest first, with "
        "key=lambda item: (-indices[item], item).",
    ],
)
def click_through_rate_displays_the_largest_bounds(trial: Trial) -> None:
    """ClickThroughRate displays the items with the largest S / N + sqrt(log t / (2 N)) for 2,000 rounds."""
    expect_lists(trial, "ClickThroughRate", False)


@check(
    points=2,
    of="PBMUCB",
    hints=[
        "Beside clicks and displays each item has its looks, a float that grows with each of its displays.",
        "In update: for item, click, chi in zip(displayed, clicks, examination) looks[item] grows by chi, clicked or "
        "not.",
        "The index is pbm_ucb_index(clicks[i], displays[i], looks[i], t); all the rest is that of ClickThroughRate.",
    ],
)
def pbm_ucb_displays_the_largest_bounds(trial: Trial) -> None:
    """PBM-UCB displays the lists of the handout's algorithm for 2,000 rounds."""
    expect_lists(trial, "PBMUCB", True)


# -- the picture ------------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the regret of the submission's algorithms among that of others, for the same 5,000 users."""
    by_rates, by_looks = click_through_rate_displays_the_largest_bounds.name, pbm_ucb_displays_the_largest_bounds.name
    if not {by_rates, by_looks} & passed:
        return False
    attraction, examination, rounds = np.array([0.3, 0.4, 0.5, 0.6]), [1.0, 0.6, 0.3, 0.15], 5_000
    items, rng = len(attraction), np.random.default_rng(4)
    likes, looks = rng.random((rounds, items)) < attraction, rng.random((rounds, items)) < examination

    def regret(lists: Any) -> Any:
        return np.cumsum(np.sort(attraction)[::-1] @ examination - attraction[np.asarray(lists)] @ examination)

    curves: dict[str, Any] = {
        "always the first list": regret([list(range(items))] * rounds),
        "random": regret([rng.permutation(items) for _ in range(rounds)]),
    }
    for name, baseline, class_name, knows in (
        (by_rates, "ClickThroughRate, the handout's", "ClickThroughRate", False),
        (by_looks, "PBM-UCB, the handout's", "PBMUCB", True),
    ):
        more: dict[str, Any] = {"examination": examination} if knows else {}
        if name in passed:
            agent = student.make(class_name, num_items=items, num_positions=items, **more)
            curves[f"yours, {class_name}"] = regret(student.play(agent, likes, looks))
        else:
            oracle = maker()(items, items, **more)
            curves[baseline] = regret(played(oracle, likes, looks, False)[0])
    title = f"{items} items, at first the worst on top; the same {rounds:,} users of the PBM"
    draw_curves(figure.subplots(), curves, title=title)
    return True


EXERCISE = Exercise(
    title="Position bias, and how PBM-UCB corrects it",
    handout=HANDOUTS / "04_position_bias.py",
    checks=(
        rates_are_clicks_by_displays,
        expected_rates_are_expectations,
        estimates_are_clicks_by_looks,
        a_list_confirms_itself_if_its_rates_fall,
        pbm_ucb_widens_the_bound_for_displays_that_few_look_at,
        click_through_rate_displays_the_largest_bounds,
        pbm_ucb_displays_the_largest_bounds,
    ),
    draw=draw,
)
