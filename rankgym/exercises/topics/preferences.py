"""The best arm in three meanings, and the regret of a duel, right and wrong: oracles of exercise 7."""

from collections.abc import Callable
from typing import Any

from rankgym.exercises.topics.rucb_oracles import first_of_largest, transposed

CYCLIC = [[0.5, 0.6, 0.6, 0.6], [0.4, 0.5, 0.9, 0.1], [0.4, 0.1, 0.5, 0.9], [0.4, 0.9, 0.1, 0.5]]
BORDA_IS_ANOTHER = [[0.5, 0.6, 0.6], [0.4, 0.5, 1.0], [0.4, 0.0, 0.5]]  # arm 0 beats all, arm 1 has the best mean
HALF_WINS = [  # arm 1 beats most others; if a tie were half a win, arm 0 would
    [0.5, 0.625, 0.5, 0.5, 0.5],
    [0.375, 0.5, 0.875, 0.875, 0.375],
    [0.5, 0.125, 0.5, 0.625, 0.5],
    [0.5, 0.125, 0.375, 0.5, 0.625],
    [0.5, 0.625, 0.5, 0.375, 0.5],
]


def beaten(preference: Any) -> list[int]:
    """How many others each arm beats."""
    return [sum(p > 0.5 for p in row) for row in preference]


def winners(preference: Any, condorcet: Any = None, copeland: Any = None, borda: Any = None) -> list[int | None]:
    """The three winners; each may be given as a (wrong) function of the matrix."""

    def alone(matrix: Any) -> int | None:
        best = first_of_largest(beaten(matrix))
        return best if beaten(matrix)[best] == len(matrix) - 1 else None

    return [
        (condorcet or alone)(preference),
        (copeland or (lambda matrix: first_of_largest(beaten(matrix))))(preference),
        (borda or (lambda matrix: first_of_largest([sum(row) for row in matrix])))(preference),
    ]


def tied_for_borda(preference: Any) -> list[int]:
    """The arms with the largest mean; sums of sixteenths are exact."""
    sums = [sum(row) for row in preference]
    return [arm for arm, one in enumerate(sums) if one == max(sums)]


def duel_regret(preference: Any, best: int, left: int, right: int, kind: str) -> float:
    gaps = [preference[best][arm] - 0.5 for arm in (left, right)]
    return float({"average": sum(gaps) / 2, "weak": min(gaps), "strong": max(gaps)}[kind])


# -- mistakes


def winners_mistakes() -> dict[str, Callable[..., Any]]:
    """Wrong versions of ``winners`` by what is wrong with them."""
    return {
        "columns are taken for rows: these arms lose most": lambda m: winners(transposed(m)),
        "Condorcet: a tie at 1/2 is not a win; all others must be beaten": lambda m: winners(m, condorcet=_not_beaten),
        "Condorcet: there is none unless one arm beats all others; answer None then": lambda m: winners(
            m, condorcet=lambda matrix: winners(matrix)[1]
        ),
        "Condorcet: beating more than half of the others is not enough": lambda m: winners(m, condorcet=_majority),
        "a tie at 1/2 is not a win, and with >= the diagonal counts, too: P > 1/2": lambda m: _at_least(m, len(m) - 1),
        "a tie at 1/2 is not a win, and the diagonal is none: P > 1/2": lambda m: _at_least(m, len(m)),
        "Condorcet: arm 0 is an arm, but 'or None' and 'if winner' take 0 for nothing": lambda m: winners(
            m, condorcet=lambda matrix: winners(matrix)[0] or None
        ),
        "Condorcet: 'none' is None, not -1": lambda m: [-1 if one is None else one for one in winners(m)],
        "Copeland: a tie at 1/2 is not a win": lambda m: winners(
            m, copeland=lambda matrix: first_of_largest([sum(p >= 0.5 for p in row) for row in matrix])
        ),
        "Copeland: a tie at 1/2 does not count as half a win": lambda m: winners(m, copeland=_half_ties),
        "Copeland counts beaten arms, not probabilities": lambda m: winners(m, copeland=lambda x: winners(x)[2]),
        "Copeland: of equally good arms the one with the smallest number wins": lambda m: winners(
            m, copeland=lambda matrix: _last(beaten(matrix))
        ),
        "Borda: the mean of all probabilities, not the number of beaten arms": lambda m: winners(
            m, borda=lambda matrix: winners(matrix)[1]
        ),
        "Borda: the mean of all opponents, not the largest chance": lambda m: winners(
            m, borda=lambda matrix: first_of_largest([max(row) for row in matrix])
        ),
        "Borda: the mean of all opponents, not the smallest chance": lambda m: winners(
            m, borda=lambda matrix: first_of_largest([min(row) for row in matrix])
        ),
        "of equally good arms the one with the smallest number wins": lambda m: winners(
            m,
            copeland=lambda matrix: _last(beaten(matrix)),
            borda=lambda matrix: _last([sum(row) for row in matrix]),
        ),
    }


def _not_beaten(matrix: Any) -> int | None:
    return next((arm for arm, row in enumerate(matrix) if min(row) >= 0.5), None)


def _majority(matrix: Any) -> int | None:
    wins = beaten(matrix)
    return first_of_largest(wins) if max(wins) > (len(matrix) - 1) / 2 else None


def _last(scores: Any) -> int:
    return len(scores) - 1 - first_of_largest(list(scores)[::-1])


def _half_ties(matrix: Any) -> int:
    return first_of_largest([sum((p > 0.5) + (p == 0.5) / 2 for p in row) for row in matrix])


def _at_least(matrix: Any, needed: int) -> list[int | None]:
    """Counts P >= 1/2, the diagonal with it."""
    counts = [sum(p >= 0.5 for p in row) for row in matrix]
    best = first_of_largest(counts)
    return winners(matrix, lambda _: best if counts[best] == needed else None, lambda _: best)


def regret_mistakes() -> dict[str, Callable[..., Any]]:
    """Wrong versions of ``duel_regret`` by what is wrong with them."""
    swap = {"average": "average", "weak": "strong", "strong": "weak"}
    return {
        "the gap is P(best, arm) - 1/2, not P(arm, best) - 1/2": lambda p, *duel: duel_regret(transposed(p), *duel),
        "the gap is P(best, arm) - 1/2: subtract 1/2": lambda *duel: duel_regret(*duel) + 0.5,
        "average: the mean of both gaps, not their sum": lambda *duel: (
            duel_regret(*duel) * (2 if duel[-1] == "average" else 1)
        ),
        "weak and strong are exchanged: weak is the smaller gap": lambda *d: duel_regret(*d[:-1], swap[d[-1]]),
        "both arms count, not only the left one": lambda p, b, left, right, kind: duel_regret(p, b, left, left, kind),
        "both arms count, not only the right one": lambda p, b, left, right, kind: duel_regret(
            p, b, right, right, kind
        ),
        "the gap is to the best arm: how the two arms do against each other does not matter": lambda p, b, i, j, kind: (
            abs(p[i][j] - 0.5)
        ),
        "the kind is ignored: this is the average regret": lambda *duel: duel_regret(*duel[:-1], "average"),
        "regret is not negative: it is P(best, arm) - 1/2": lambda *duel: -duel_regret(*duel),
    }
