"""Misordered pairs of exercise 2 (Li et al., UAI 2019, equation 5): the oracle, its cases, and how it goes wrong."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from rankgym.exercises.exercise import Trial


def misordered_pairs(attraction: Any, ranking: Any) -> int:
    """|V(R)|: for each displayed item, the more attractive items that are below it or hidden."""
    hidden = [item for item in range(len(attraction)) if item not in ranking]
    return sum(
        attraction[below] > attraction[item] for k, item in enumerate(ranking) for below in [*ranking[k + 1 :], *hidden]
    )


def lists_with_ties(trial: Trial) -> Iterator[tuple[list[float], list[int]]]:
    """Yield (attraction, ranking), small ones first; items may be equally attractive."""
    yield [0.25, 0.75], [1, 0]
    yield [0.25, 0.75], [0, 1]
    yield [0.5, 0.5], [0, 1]
    yield [0.25, 0.75], [0]
    yield [0.75, 0.25, 0.5], [0]
    for ranking in itertools.permutations(range(3), 2):
        yield [0.25, 0.75, 0.5], list(ranking)
    for _ in range(80):
        items = int(trial.rng.integers(3, 9))
        positions = int(trial.rng.integers(2, items + 1))
        attraction = (trial.rng.integers(1, 8, items) / 8).tolist()
        yield attraction, trial.rng.permutation(items)[:positions].tolist()


def _hidden(attraction: Any, ranking: Any) -> list[int]:
    return [item for item in range(len(attraction)) if item not in ranking]


def _inversions(values: Any) -> int:
    return sum(values[j] > values[i] for i in range(len(values)) for j in range(i + 1, len(values)))


def _displayed_only(attraction: Any, ranking: Any) -> int:
    return _inversions([attraction[item] for item in ranking])


def _everything(attraction: Any, ranking: Any) -> int:
    return _inversions([attraction[item] for item in [*ranking, *_hidden(attraction, ranking)]])


def _ties(attraction: Any, ranking: Any) -> int:
    rest = _hidden(attraction, ranking)
    below = [(item, other) for k, item in enumerate(ranking) for other in [*ranking[k + 1 :], *rest]]
    return sum(attraction[other] >= attraction[item] for item, other in below)


def _neighbours(attraction: Any, ranking: Any) -> int:
    rest = sum(attraction[other] > attraction[item] for item in ranking for other in _hidden(attraction, ranking))
    return rest + sum(attraction[b] > attraction[a] for a, b in itertools.pairwise(ranking))


def _better_items(attraction: Any, ranking: Any) -> int:
    return sum(other > attraction[item] for item in ranking for other in attraction)


def _pairs(attraction: Any, ranking: Any) -> list[tuple[float, float]]:
    rest = [attraction[item] for item in _hidden(attraction, ranking)]
    shown = [attraction[item] for item in ranking]
    return [(one, other) for k, one in enumerate(shown) for other in [*shown[k + 1 :], *rest]]


def pair_mistakes() -> dict[str, Callable[..., Any]]:
    """Return wrong ways to count, by what is wrong with them."""
    return {
        "hidden items are left out: they count as below all displayed ones": _displayed_only,
        "all better items are counted, also those that are above: count those that are below or hidden": _better_items,
        "better items among the displayed ones are counted, also those that are above, and no hidden items": (
            lambda a, r: _better_items([x if item in r else -1.0 for item, x in enumerate(a)], r)
        ),
        "all pairs are counted: only those with the better item below are misordered": lambda a, r: len(_pairs(a, r)),
        "all pairs of unequal items are counted: only those with the better item below are misordered": (
            lambda a, r: sum(one != other for one, other in _pairs(a, r))
        ),
        "all pairs of displayed items are counted": lambda a, r: len(r) * (len(r) - 1) // 2,
        "items are counted, not pairs: those that have a better item below or hidden": lambda a, r: sum(
            any(a[other] > a[item] for other in [*r[k + 1 :], *_hidden(a, r)]) for k, item in enumerate(r)
        ),
        "positions are counted whose item is not that of the sorted list": lambda a, r: sum(
            item != best for item, best in zip(r, sorted(range(len(a)), key=lambda item: -a[item]), strict=False)
        ),
        "equally attractive items are counted": _ties,
        "well-ordered pairs are counted": lambda a, r: misordered_pairs([-x for x in a], r),
        "only neighbours are counted among the displayed items": _neighbours,
        "only neighbours of the list are counted, with the hidden items at its end": lambda a, r: sum(
            a[y] > a[x] for x, y in itertools.pairwise([*r, *_hidden(a, r)])
        ),
        "only neighbours among the displayed items are counted, and no hidden items": lambda a, r: sum(
            a[y] > a[x] for x, y in itertools.pairwise(r)
        ),
        "pairs of two hidden items are counted: neither is above the other": _everything,
        "each pair is counted twice": lambda a, r: 2 * misordered_pairs(a, r),
        "attraction is taken by position, not by item": lambda a, r: _inversions(a[: len(r)]),
        "items are compared by their numbers, not by attraction": lambda a, r: misordered_pairs(range(len(a)), r),
        "items are compared by their numbers, and a smaller one is taken to be better": lambda a, r: misordered_pairs(
            [-item for item in range(len(a))], r
        ),
        "only pairs of a displayed and a hidden item are counted": lambda a, r: (
            misordered_pairs(a, r) - _displayed_only(a, r)
        ),
    }
