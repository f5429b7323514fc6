"""Exercise 3: CascadeUCB1 and CascadeKL-UCB.

The oracles are Algorithm 1 of Kveton, Szepesvari, Wen and Ashkan ("Cascading bandits: learning to rank in the cascade
model", ICML 2015) with the two indices of its section 3, in plain Python. Steps are those of a later listing, Algorithm
1 of Li and de Rijke ("Cascading non-stationary bandits", IJCAI 2019): indices in lines 6 to 8, the list in line 10 with
equation 4, statistics in lines 21 to 24. Where the paper is silent the handout decides: an item never observed has the
index infinity instead of a first observation, f(t) = log t + 3 log log t is 0 where it is negative, and ties go to the
smaller number.

Lists are compared exactly, although two right programs may compute the same index with different rounding. Items with
equal counts have equal indices in any program. Users whose oracle comes to a decision between other indices less than
``SMALLEST_GAP`` apart are drawn again; a right index is at most ``TOLERANCE`` wrong.
"""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import TOLERANCE, Failed
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import Setting, is_ranking, played
from rankgym.exercises.topics.index_rankers import IndexRanker, best, larger_first, wrong_selections, wrong_times
from rankgym.submissions import Submission

HALVINGS = 50  # of the oracle's bisection
SMALLEST_GAP = 10 * TOLERANCE  # between two different indices at a decision
FIRST_USERS = 4  # their seed
UCB1_SIZES = [(4, 3, 2_000), (2, 1, 2_000), (4, 4, 2_000), (6, 3, 2_000), (10, 5, 2_000)]  # items, positions, rounds
KLUCB_SIZES = [(4, 3, 400), (2, 1, 400), (4, 4, 400), (6, 3, 2_000)]
TIES = (
    "of items with equal indices the smaller number does not always come first; all else is right. [::-1] turns equal "
    'elements round, and argsort keeps their order only with kind="stable"'
)
INFINITE = "0 and 1 are replaced by numbers near them: take the limits 0 log 0 = 0 and x log(x / 0) = infinity"
ROUGHLY = 0.01  # an index of KL-UCB so near is the right one, computed with too few halvings
WITHOUT_BUDGET = 1e-6  # tolerance where f(t) = 0: kl is flat at the mean, and its rounding moves the index by 1e-8
Index: TypeAlias = Callable[[int, int, int], float]


# -- the parts of the algorithms --------------------------------------------------------------------------------------


def observed(displayed: list[int], clicks: list[int]) -> list[int]:
    """The items down to the first click; all of them if there is none."""
    return displayed[: [*clicks, 1].index(1) + 1]


def ucb1(clicked: int, count: int, t: int) -> float:
    """The mean plus sqrt(1.5 log t / T)."""
    return clicked / count + math.sqrt(1.5 * math.log(t) / count) if count else math.inf


def divergence(p: float, q: float) -> float:
    """kl(p, q) of two Bernoulli distributions."""
    if (q == 0 and p > 0) or (q == 1 and p < 1):
        return math.inf
    return (p * math.log(p / q) if p else 0.0) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def budget(t: int) -> float:
    """f(t) = log t + 3 log log t, or 0 where that is negative."""
    return max(0.0, math.log(t) + 3 * math.log(math.log(t))) if t > 1 else 0.0


def largest(mean: float, level: float, halvings: int = HALVINGS) -> float:
    """max{q in [mean, 1] : kl(mean, q) <= level}, by bisection."""
    if mean >= 1 or level <= 0:  # above 1 in a wrong oracle only
        return mean
    if mean == 0:
        return 1 - math.exp(-level)
    low, high = mean, 1.0
    level -= mean * math.log(mean) + (1 - mean) * math.log(1 - mean)
    for _ in range(halvings):
        q = (low + high) / 2
        if q < 1 and -mean * math.log(q) - (1 - mean) * math.log(1 - q) <= level:
            low = q
        else:
            high = q
    return low


def klucb(clicked: int, count: int, t: int) -> float:
    """The largest q with T kl(mean, q) <= f(t)."""
    return largest(clicked / count, budget(t) / count) if count else math.inf


def bisected(goes_up: Callable[[int, float, float, float], bool], start: float | None = None) -> Index:
    """Return the index of a bisection whose low end moves if ``goes_up`` (T, mean, middle, f(t))."""

    def index(c: int, n: int, t: int) -> float:
        low, high = c / n if start is None else start, 1.0
        for _ in range(HALVINGS if c < n else 0):
            q = (low + high) / 2
            low, high = (q, high) if goes_up(n, c / n, q, budget(t)) else (low, q)
        return low if c < n else 1.0

    return index


def down_to_the_click(displayed: list[int], clicks: list[int]) -> list[tuple[int, int, int]]:
    """The items that are observed, with their clicks and observations."""
    return [(item, click, 1) for item, click in zip(observed(displayed, clicks), clicks, strict=False)]


def maker(index: Index, **changes: Any) -> Callable[..., IndexRanker]:
    """Return what makes an oracle of ``num_items`` and ``num_positions``, with ``changes`` if it is a wrong one."""
    parts = {"learned": down_to_the_click, "names": ("clicked", "observed")} | changes
    return lambda num_items, num_positions: IndexRanker(index, num_items, num_positions, **parts)


# -- cases and users --------------------------------------------------------------------------------------------------


def sessions(trial: Trial) -> Iterator[tuple[list[int], list[int]]]:
    """Yield lists and clicks on them, short ones first."""
    for positions in (1, 2, 3):
        for clicks in itertools.product((0, 1), repeat=positions):
            yield [4, 2, 7][:positions], list(clicks)
    for _ in range(40):
        items = int(trial.rng.integers(4, 12))
        positions = int(trial.rng.integers(2, items + 1))
        clicked = (trial.rng.random(positions) < 0.25).astype(int)
        yield trial.rng.permutation(items)[:positions].tolist(), clicked.tolist()


def counts(trial: Trial, first_round: int = 1, cases: int = 60) -> Iterator[tuple[int, int, int]]:
    """Yield (clicks, observations, t), small ones first, all of them observed."""
    small = [(0, 1, 2), (1, 1, 2), (1, 2, 3), (0, 2, 4), (1, 3, 10), (0, 1, 1), (1, 2, 2), (2, 2, 50)]
    yield from (case for case in small if case[2] >= first_round)
    for _ in range(cases):
        t = int(10 ** trial.rng.uniform(1, 5))
        count = int(trial.rng.integers(1, t + 1)) if trial.rng.random() < 0.5 else int(trial.rng.integers(1, 10))
        yield int(trial.rng.binomial(count, trial.rng.random())), count, t


def setting_of(index: Index, size: tuple[int, int, int], rng: np.random.Generator) -> Setting:
    """Draw users with whom the index comes to no decision that rounding could change.

    ``size`` is (items, positions, rounds).
    """
    items, positions, rounds = size
    arguments = {"num_items": items, "num_positions": positions}
    looks = np.ones((rounds, positions), bool)
    while True:
        likes = rng.random((rounds, items)) < rng.uniform(0.05, 0.7, items)
        oracle = maker(index)(**arguments)
        played(oracle, likes, looks, True)
        if oracle.gap > SMALLEST_GAP:
            return Setting(arguments, likes, looks, first_only=True)


def expect_lists(
    trial: Trial,
    class_name: str,
    index: Index,
    sizes: list[tuple[int, int, int]],
    mistakes: Mapping[str, Callable[..., IndexRanker]],
) -> None:
    """Check that the class displays the oracle's lists, with users of each size.

    The first users are always the same: they tell the mistakes apart.
    """
    rngs = [np.random.default_rng(FIRST_USERS), *[trial.rng] * (len(sizes) - 1)]
    settings = [setting_of(index, size, rng) for size, rng in zip(sizes, rngs, strict=True)]
    trial.expect_play(maker(index), class_name, settings, mistakes=mistakes)


def agent_mistakes(index: Index) -> dict[str, Callable[..., IndexRanker]]:
    """Return wrong oracles that have the right index, by what is wrong with them."""

    def one_below(displayed: list[int], clicks: list[int]) -> list[tuple[int, int, int]]:
        seen = displayed[: len(observed(displayed, clicks)) + 1]
        return [(item, click, 1) for item, click in zip(seen, clicks, strict=False)]

    rule = {
        "the item just below the click counts as observed": one_below,
        "it learns from all displayed items: those below the click were not observed": lambda d, c: [
            (item, click, 1) for item, click in zip(d, c, strict=True)
        ],
        "only the clicked item counts as observed: those above it were seen and not liked": lambda d, c: [
            (item, 1, 1) for item, click in zip(d, c, strict=True) if click
        ],
        "the clicked item does not count as observed": lambda d, c: [
            (item, 0, 1) for item, click in zip(observed(d, c), c, strict=False) if not click
        ],
        "its clicks are counted, but the clicked item does not count as observed": lambda d, c: [
            (item, click, 1 - click) for item, click, _ in down_to_the_click(d, c)
        ],
        "it learns nothing from a session without a click: all displayed items were observed": lambda d, c: (
            down_to_the_click(d, c) if 1 in c else []
        ),
        "clicks are not counted": lambda d, c: [(item, 0, 1) for item in observed(d, c)],
        "it does not learn: its lists are those of the first round": lambda d, c: [],
    }

    def unseen_last(clicked: int, count: int, t: int) -> float:
        return index(clicked, count, t) if count else 0.0

    found = {why: maker(index, learned=learned) for why, learned in rule.items()}
    found |= {why: maker(index, time=time) for why, time in wrong_times("observations").items()}
    found |= {why: maker(index, select=select) for why, select in wrong_selections("indices").items()}
    found["t counts displayed items: it grows by one a round"] = maker(
        index, time=lambda agent, own: 1 + agent.num_positions * (agent.round - 1)
    )
    greedy: Index = lambda c, n, t: c / n if n else math.inf  # noqa: E731
    shared = {
        "an item that was never observed has the index 0: it must be infinity": unseen_last,
        "there is no bonus, or t does not grow: items are ranked by their means": greedy,
    }
    return found | {why: maker(wrong) for why, wrong in shared.items()}


# -- checks -----------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="observed_items",
    hints=[
        "At which items has a user looked who left after a click at position k?",
        "The clicked item was observed, too: the slice ends behind it. What if there is no click?",
        "Go through zip(displayed, clicks), append each item, and leave the loop after the first click.",
    ],
)
def observed_is_what_is_above_the_first_click_and_it(trial: Trial) -> None:
    """The observed items are those down to the first click, it included; without a click all displayed ones."""

    def last(displayed: list[int], clicks: list[int]) -> list[int]:
        return displayed[: len(displayed) - clicks[::-1].index(1)] if 1 in clicks else displayed

    mistakes = {
        "all displayed items count: those below the first click were not observed": lambda d, c: d,
        "only clicked items count: those above were seen and not liked": lambda d, c: [
            item for item, click in zip(d, c, strict=True) if click
        ],
        "only the clicked item counts: those above it were seen and not liked": lambda d, c: (
            [d[c.index(1)]] if 1 in c else []
        ),
        "the clicked item is missing: it was observed, too": lambda d, c: d[: [*c, 1].index(1)],
        "the item just below the click was not observed": lambda d, c: d[: [*c, 1].index(1) + 2],
        "without a click all displayed items were observed": lambda d, c: observed(d, c) if 1 in c else [],
        "these are the items from the first click on: those above it were observed": lambda d, c: (
            d[c.index(1) :] if 1 in c else d
        ),
        "down to the last click: only the first one counts": last,
        "these are positions: return the items": lambda d, c: list(range(len(observed(d, c)))),
        "these are 0 and 1 by position: return the items": lambda d, c: [
            int(k < len(observed(d, c))) for k in range(len(d))
        ],
        "the number of observed items: return the items": lambda d, c: len(observed(d, c)),
    }
    trial.compare("observed_items", observed, sessions(trial), mistakes=mistakes)


@check(
    points=1,
    of="best_items",
    hints=[
        "Sort the items, not the indices: sorted(range(len(indices)), key=...).",
        "Python's sort keeps the order of equal elements; reverse=True keeps it, too, but [::-1] turns it round.",
        "sorted(range(len(indices)), key=lambda item: -indices[item])[:num_positions].",
    ],
)
def the_largest_indices_come_first(trial: Trial) -> None:
    """The items with the largest indices come first, and of items with equal indices the smaller number."""

    mistakes = {
        "the smallest indices come first": lambda x, k: best([-one for one in x], k),
        "worst first: these are the right items, turned round": lambda x, k: best(x, k)[::-1],
        "these are the right items by their numbers: the largest index comes first": lambda x, k: sorted(best(x, k)),
        "of items with equal indices the larger number comes first": larger_first,
        "one item too few": lambda x, k: best(x, k - 1),
        "all items: return num_positions of them": lambda x, k: best(x, len(x)),
        "these are indices: return the items": lambda x, k: [x[item] for item in best(x, k)],
        "the same item several times": lambda x, k: [best(x, 1)[0]] * k,
        "items with equal indices are the same item several times": lambda x, k: [
            x.index(one) for one in sorted(x, reverse=True)[:k]
        ],
    }
    cases: list[tuple[list[float], int]] = [([0.5, 0.25], 1), ([0.25, 0.5], 2), ([0.5, 0.5], 1), ([0.5, 0.5], 2)]
    cases += [([0.2, math.inf, 0.7], 2), ([math.inf, 0.3, math.inf], 3), ([0.1, 0.4, 0.4, 0.9], 2)]
    for items in [4, 5, 6, 8, 10, 40, 40, 100] * 3:
        indices = [math.inf if x > 10 else x / 8 for x in trial.rng.integers(0, 12, items).tolist()]
        cases.append((indices, int(trial.rng.integers(1, items + 1))))

    def only_ties() -> str:
        for indices, positions in cases:
            got = trial.call("best_items", indices, positions)
            if not is_ranking(got, len(indices), positions):
                return ""
            if [indices[item] for item in got] != sorted(indices, reverse=True)[:positions]:
                return ""
        return TIES

    trial.compare("best_items", best, cases, mistakes=mistakes, remark=only_ties)


@check(
    points=1,
    of="ucb1_index",
    hints=[
        "The index is a sum: of which mean, and of which root? What is under the root, and what does each divide by?",
        "The mean is clicked / observed: only rounds in which the item was observed count. t is in the logarithm only.",
        "math.inf if observed == 0, else clicked / observed + math.sqrt(1.5 * math.log(t) / observed).",
    ],
)
def ucb1_adds_a_radius_to_the_mean(trial: Trial) -> None:
    """The index is the mean plus sqrt(1.5 log t / T), and infinity for an item that was never observed."""
    mistakes: dict[str, Index] = {
        "the bracket ends too early: T(i) is under the root": lambda c, n, t: c / n + math.sqrt(1.5 * math.log(t)) / n,
        "1.5 is outside of the root": lambda c, n, t: c / n + 1.5 * math.sqrt(math.log(t) / n),
        "the logarithm is outside of the root": lambda c, n, t: c / n + math.sqrt(1.5 / n) * math.log(t),
        "t itself is under the root: its logarithm belongs there": lambda c, n, t: c / n + math.sqrt(1.5 * t / n),
        "t is missing: log t is under the root": lambda c, n, t: c / n + math.sqrt(1.5 / n),
        "the root is missing": lambda c, n, t: c / n + 1.5 * math.log(t) / n,
        "the logarithm has base 10: natural ones are meant": lambda c, n, t: c / n + math.sqrt(1.5 * math.log10(t) / n),
        "the logarithm has base 2: natural ones are meant": lambda c, n, t: c / n + math.sqrt(1.5 * math.log2(t) / n),
        "log T(i): it is the logarithm of t": lambda c, n, t: c / n + math.sqrt(1.5 * math.log(n) / n),
        "log(t + 1): t is the round already": lambda c, n, t: ucb1(c, n, t + 1),
        "log(t - 1): t is the round already": lambda c, n, t: ucb1(c, n, t - 1 or 1),
        "the mean is divided by the round: divide by the observations": lambda c, n, t: c / t + ucb1(0, n, t),
        "the clicks are not divided by the observations": lambda c, n, t: c + ucb1(0, n, t),
        "the mean is missing": lambda c, n, t: ucb1(0, n, t),
        "the radius is missing": lambda c, n, t: c / n,
        "the index is below the mean: the radius is added": lambda c, n, t: 2 * c / n - ucb1(c, n, t),
        "2 log t instead of 1.5 log t": lambda c, n, t: c / n + math.sqrt(2 * math.log(t) / n),
        "log t instead of 1.5 log t": lambda c, n, t: c / n + math.sqrt(math.log(t) / n),
        "cut at 1": lambda c, n, t: min(1.0, ucb1(c, n, t)),
        "rounded down: // instead of /": lambda c, n, t: c // n + ucb1(0, n, t),
    }
    trial.compare("ucb1_index", ucb1, counts(trial), mistakes=mistakes)
    expect_infinity(trial, "ucb1_index")


def expect_infinity(trial: Trial, function: str) -> None:
    """Check that an item that was never observed has the index infinity."""
    why = "an item that was never observed has the index infinity: otherwise it might never be displayed"
    for t in (1, 2, 100):
        got = trial.call(function, 0, 0, t)
        if got != math.inf:
            trial.fail(function, f"{function}(0, 0, {t})", math.inf, got, why)


@check(
    points=1,
    of="kl",
    hints=[
        "Write a helper for x log(x / y): what is it for x = 0, and what for y = 0?",
        "kl(p, q) is that helper of (p, q) plus that of (1 - p, 1 - q).",
        "part(x, y): 0.0 if x == 0; math.inf if y == 0; else x * math.log(x / y).",
    ],
)
def kl_measures_how_badly_q_explains_p(trial: Trial) -> None:
    """kl(p, q) is p log(p / q) + (1 - p) log((1 - p) / (1 - q)), and right at the ends of [0, 1]."""
    mistakes = {
        "the arguments are exchanged: this is kl(q, p)": lambda p, q: divergence(q, p),
        "the second part is missing: (1 - p) log((1 - p) / (1 - q))": lambda p, q: p * math.log(p / q),
        "the sign is wrong: a divergence is never negative": lambda p, q: -divergence(p, q),
        "the second part is subtracted": lambda p, q: p * math.log(p / q) - (1 - p) * math.log((1 - p) / (1 - q)),
        "the logarithm has base 2: natural ones are meant": lambda p, q: divergence(p, q) / math.log(2),
        "the logarithm has base 10: natural ones are meant": lambda p, q: divergence(p, q) / math.log(10),
        "this is Pinsker's bound 2 (p - q)^2": lambda p, q: 2 * (p - q) ** 2,
        "this is log(p / q) + log((1 - p) / (1 - q)): p and 1 - p are missing": lambda p, q: (
            math.log(p / q) + math.log((1 - p) / (1 - q))
        ),
    }
    inside = [(0.5, 0.25), (0.5, 0.5), (0.25, 0.5), (0.1, 0.9)]
    inside += [(p, q) for p, q in trial.rng.uniform(0.01, 0.99, (40, 2)).round(3).tolist()]
    trial.compare("kl", divergence, inside, mistakes=mistakes)
    ends = [(0.0, 0.5), (1.0, 0.5), (0.0, 0.0), (1.0, 1.0), (0.5, 1.0), (0.5, 0.0), (0.0, 1.0), (1.0, 0.0)]
    ends += [(p, q) for q in trial.rng.uniform(0.01, 0.99, 5).round(3).tolist() for p in (0.0, 1.0)]
    at_the_ends = {
        "0 wherever p or q is 0 or 1: only 0 log 0 is 0": lambda p, q: 0.0 if {p, q} & {0, 1} else divergence(p, q),
    }
    try:
        trial.compare("kl", divergence, ends, mistakes=at_the_ends)
    except Failed as error:
        with contextlib.suppress(ValueError):  # where no number came
            right, got = float(error.fault.expected), float(error.fault.got)
            if not error.fault.mistake and (0 < abs(right - got) < ROUGHLY or ROUGHLY < got < right == math.inf):
                raise Failed(error.fault._replace(mistake=INFINITE)) from None
        raise


@check(
    points=2,
    of="klucb_index",
    hints=[
        "Look at T kl(mean, q) for q = mean and for q = 1. Where is the point at which it passes f(t)?",
        "If the middle is plausible, T kl(mean, middle) <= f(t), the largest plausible q is above it: low = middle.",
        "Deal with observed = 0, mean = 1 and f(t) <= 0 first. Then low, high = mean, 1.0; 40 times: middle = (low + "
        "high) / 2, low = middle if observed * kl(mean, middle) <= f, else high = middle. Return low.",
    ],
)
def kl_ucb_is_the_largest_plausible_mean(trial: Trial) -> None:
    """The index is the largest q in [mean, 1] with T kl(mean, q) <= log t + 3 log log t, within 1e-9."""

    def level(f: Callable[[int], float]) -> Index:
        return lambda c, n, t: largest(c / n, f(t) / n)

    mistakes: dict[str, Index] = {
        "the arguments of kl are exchanged: it is kl(mean, q)": bisected(
            lambda n, mean, q, f: n * divergence(q, mean) <= f
        ),
        "the wrong end moves: low moves up if the middle is plausible": bisected(
            lambda n, mean, q, f: n * divergence(mean, q) > f
        ),
        "f(t) is log t: 3 log log t is missing": level(math.log),
        "f(t) has log log t once: it is 3 log log t": level(lambda t: math.log(t) + math.log(math.log(t))),
        "f(t) is 3 log t: it is log t + 3 log log t": level(lambda t: 3 * math.log(t)),
        "f(t) has base-10 logarithms: natural ones are meant": level(
            lambda t: math.log10(t) + 3 * math.log10(math.log10(t))
        ),
        "f(t) has base-2 logarithms: natural ones are meant": level(
            lambda t: math.log2(t) + 3 * math.log2(math.log2(t))
        ),
        "f(t) is that of round t + 1": level(lambda t: budget(t + 1)),
        "f(t) is that of round t - 1": level(lambda t: budget(t - 1)),
        "f(t) has T(i) in it: it is the f of round t": lambda c, n, t: largest(c / n, budget(n) / n),
        "T(i) is missing: it is T(i) kl(mean, q) that must not exceed f(t)": lambda c, n, t: largest(c / n, budget(t)),
        "T(i) multiplies f(t): it multiplies kl(mean, q)": lambda c, n, t: largest(c / n, budget(t) * n),
        "this is the mean, where the search begins: the wrong end moved": lambda c, n, t: c / n,
        "this is 1, where the search ends: the wrong end moved": lambda c, n, t: 1.0,
        "this is the smallest plausible q: the largest is asked for": lambda c, n, t: (
            1 - klucb(n - c, n, t) if c < n else 1.0
        ),
        "the search begins at 0: it must begin at the mean": bisected(
            lambda n, mean, q, f: n * divergence(mean, q) <= f, start=0.0
        ),
        "this is Pinsker's bound, the mean plus sqrt(f(t) / (2 T(i)))": lambda c, n, t: (
            c / n + math.sqrt(budget(t) / (2 * n))
        ),
        "this is the index of UCB1": ucb1,
    }
    cases = [*counts(trial, first_round=3), *((n, n, 10 * n) for n in (1, 4))]
    trial.compare("klucb_index", klucb, cases, mistakes=mistakes, tolerance=ROUGHLY)
    try:
        trial.compare("klucb_index", klucb, cases)
    except Failed as error:
        why = "near, but not within 1e-9: too few halvings, or f(t) or kl is not exact"
        raise Failed(error.fault._replace(mistake=why)) from None
    early = [(0, 1, 1), (1, 1, 1), (0, 1, 2), (1, 2, 2), (1, 1, 2), (1, 4, 2), (1, 4, 1)]
    trial.compare("klucb_index", lambda c, n, t: c / n, early, tolerance=WITHOUT_BUDGET)
    expect_infinity(trial, "klucb_index")


@check(
    points=2,
    of="CascadeUCB1",
    hints=[
        "Three statistics are enough: clicks and observations of each item, and t. act computes, update counts.",
        "In update, count the items of observed_items(displayed, clicks) only, clicked or not; then t grows by one.",
        "act: best_items([ucb1_index(clicked[i], observed[i], t) for each item i], num_positions). update: for item, "
        "click in zip(observed_items(displayed, clicks), clicks): observed[item] += 1; clicked[item] += click. t += 1.",
    ],
)
def cascade_ucb1_displays_the_largest_indices(trial: Trial) -> None:
    """CascadeUCB1 displays the lists of the handout's algorithm for 2,000 rounds."""
    expect_lists(trial, "CascadeUCB1", ucb1, UCB1_SIZES, agent_mistakes(ucb1))


@check(
    points=2,
    of="CascadeKLUCB",
    hints=[
        "Only the index differs from CascadeUCB1: what is observed, t and the ties are the same.",
        "A class may inherit from another: class CascadeKLUCB(CascadeUCB1), with another method for the index.",
        "Write act of CascadeUCB1 so that it calls self.index(item), and let CascadeKLUCB define index with "
        "klucb_index(self.clicked[item], self.observed[item], self.t).",
    ],
)
def cascade_kl_ucb_displays_the_largest_indices(trial: Trial) -> None:
    """CascadeKL-UCB displays the lists of the handout's algorithm, up to 2,000 rounds."""
    mistakes = agent_mistakes(klucb) | {"this is CascadeUCB1: the index is that of KL-UCB here": maker(ucb1)}
    expect_lists(trial, "CascadeKLUCB", klucb, KLUCB_SIZES, mistakes)


# -- the picture ------------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the regret of the submission's algorithms among that of others, for the same 3,000 users."""
    own = {
        "CascadeUCB1, the handout's": ("CascadeUCB1", ucb1, cascade_ucb1_displays_the_largest_indices.name in passed),
        "CascadeKL-UCB, the handout's": (
            "CascadeKLUCB",
            klucb,
            cascade_kl_ucb_displays_the_largest_indices.name in passed,
        ),
    }
    if not any(works for _, _, works in own.values()):
        return False
    rng = np.random.default_rng(3)
    attraction, positions, rounds = np.array([0.2, 0.15, 0.1, 0.25, 0.4, 0.3]), 3, 3_000
    items = len(attraction)
    likes, looks = rng.random((rounds, items)) < attraction, np.ones((rounds, positions), bool)

    def regret(lists: Any) -> Any:
        clicked = 1 - (1 - attraction[np.asarray(lists)]).prod(axis=1)
        return np.cumsum(1 - np.sort(1 - attraction)[:positions].prod() - clicked)

    curves: dict[str, Any] = {"random": regret([rng.permutation(items)[:positions] for _ in range(rounds)])}
    greedy = maker(lambda c, n, t: c / n if n else math.inf)(items, positions)
    curves["largest means, no bonus"] = regret(played(greedy, likes, looks, True)[0])
    for name, (class_name, index, works) in own.items():
        if works:
            agent = student.make(class_name, num_items=items, num_positions=positions)
            curves[f"yours, {class_name}"] = regret(student.play(agent, likes, looks, first_only=True))
        else:
            curves[name] = regret(played(maker(index)(items, positions), likes, looks, True)[0])
    title = f"{items} items, {positions} displayed; the same {rounds:,} users of the cascade model"
    draw_curves(figure.subplots(), curves, title=title)
    return True


EXERCISE = Exercise(
    title="Learn from clicks with CascadeUCB1 and CascadeKL-UCB",
    handout=HANDOUTS / "03_cascade_bandits.py",
    checks=(
        observed_is_what_is_above_the_first_click_and_it,
        the_largest_indices_come_first,
        ucb1_adds_a_radius_to_the_mean,
        kl_measures_how_badly_q_explains_p,
        kl_ucb_is_the_largest_plausible_mean,
        cascade_ucb1_displays_the_largest_indices,
        cascade_kl_ucb_displays_the_largest_indices,
    ),
    draw=draw,
)
