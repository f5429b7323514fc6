"""RUCB for one duel at a time, in plain Python, right and wrong: the oracles of exercise 7.

``RUCB`` is Algorithm 1 of Zoghi, Whiteson, Munos and de Rijke (ICML 2014); ``upper_bounds`` has its lines 4 and 5.
Random choices take three coins a round, which are arguments.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any


def first_of_largest(scores: Any) -> int:
    return list(scores).index(max(scores))


def transposed(matrix: Any) -> list[list[Any]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def upper_bounds(
    wins: Any, t: float, alpha: float, radius: Any = None, unmet: float = math.inf, own: float = 0.5, low: bool = False
) -> list[list[float]]:
    """Line 4 and 5; ``radius(alpha, t, n)`` and what follows may be wrong ones."""

    def bound(i: int, j: int) -> float:
        n = wins[i][j] + wins[j][i]
        if i == j or n == 0:
            return own if i == j else unmet
        width = radius(alpha, t, n) if radius else math.sqrt(alpha * math.log(t) / n)
        return float(wins[i][j] / n + (-width if low else width))

    return [[bound(i, j) for j in range(len(wins))] for i in range(len(wins))]


def wrong_bounds() -> dict[str, Any]:
    """Wrong versions of ``upper_bounds`` by what is wrong with them."""

    def all_duels(wins: Any, t: float, alpha: float) -> list[list[float]]:
        total = sum(map(sum, wins))
        return upper_bounds(wins, t, alpha, lambda a, t, n: math.sqrt(a * math.log(t) / total))

    return {
        "alpha belongs under the root: sqrt(alpha ln t / n)": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: a * math.sqrt(math.log(t) / n)
        ),
        "n belongs under the root: sqrt(alpha ln t / n)": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: math.sqrt(a * math.log(t)) / n
        ),
        "the root is missing: sqrt(alpha ln t / n)": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: a * math.log(t) / n
        ),
        "the logarithm is missing: sqrt(alpha ln t / n)": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: math.sqrt(a * t / n)
        ),
        "the logarithm is the natural one, not that of base 2": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: math.sqrt(a * math.log2(t) / n)
        ),
        "the logarithm is the natural one, not that of base 10": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: math.sqrt(a * math.log10(t) / n)
        ),
        "alpha is missing: sqrt(alpha ln t / n)": lambda wins, t, a: upper_bounds(wins, t, 1),
        "the bound has ln t, not ln(t + 1)": lambda wins, t, a: upper_bounds(wins, t + 1, a),
        "the radius has the number of duels of the pair, not of all pairs": all_duels,
        "this is the bound without its radius: add sqrt(alpha ln t / n)": lambda w, t, a: upper_bounds(
            w, t, a, radius=lambda a, t, n: 0
        ),
        "this is the lower bound: add the radius": lambda w, t, a: upper_bounds(w, t, a, low=True),
        "i's bound against j belongs into row i, column j: rows and columns are exchanged": lambda *w: transposed(
            upper_bounds(*w)
        ),
        "two arms that have not met have the bound math.inf (yours: 1)": lambda w, t, a: upper_bounds(w, t, a, unmet=1),
        "two arms that have not met have the bound math.inf (yours: 2)": lambda w, t, a: upper_bounds(w, t, a, unmet=2),
        "two arms that have not met have the bound math.inf (yours: 0.5)": lambda w, t, a: upper_bounds(
            w, t, a, unmet=0.5
        ),
        "the diagonal is 1/2 (yours: infinite)": lambda w, t, a: upper_bounds(w, t, a, own=math.inf),
        "the diagonal is 1/2 (yours: 0)": lambda w, t, a: upper_bounds(w, t, a, own=0),
    }


def radius_of_wins(wins: Any, t: float, alpha: float) -> list[list[float]]:
    """A wrong bound: its radius has w_ij in place of w_ij + w_ji."""
    right = upper_bounds(wins, t, alpha, lambda a, t, n: 0)
    for i, j in itertools.permutations(range(len(wins)), 2):
        if wins[i][j] + wins[j][i]:
            right[i][j] += math.sqrt(alpha * math.log(t) / wins[i][j]) if wins[i][j] else math.inf
    return right


def contenders(bounds: Any) -> list[int]:
    return [arm for arm, row in enumerate(bounds) if min(row) >= 0.5]


class RUCB:
    """Algorithm 1 of Zoghi et al. (2014); comments give its lines. The methods are what may go wrong."""

    def __init__(self, num_arms: int, alpha: float, coins: Any) -> None:
        self.arms, self.alpha, self.coins, self.t = list(range(num_arms)), alpha, coins, 1
        self.wins = [[0] * num_arms for _ in self.arms]  # line 1
        self.favourite: int | None = None  # line 2

    def bounds(self) -> list[list[float]]:
        return upper_bounds(self.wins, self.t, self.alpha)  # lines 4 and 5

    def champion(self, able: list[int], first: float, second: float) -> int:
        if self.favourite not in able:  # line 8
            self.favourite = None
        if len(able) == 1:  # line 9
            self.favourite = able[0]
            return able[0]
        if self.favourite is not None and first < 0.5:  # line 10
            return self.favourite
        return pick([arm for arm in able if arm != self.favourite] or self.arms, second)  # lines 7 and 10

    def chances(self, bounds: list[list[float]], left: int) -> list[float]:
        return [bounds[arm][left] for arm in self.arms]  # u_jc for all j

    def act(self) -> tuple[int, int]:
        bounds, (first, second, third) = self.bounds(), self.coins[self.t - 1]
        left = self.champion(contenders(bounds), first, second)  # line 6
        return left, self.challenger(self.chances(bounds, left), left, third)

    def challenger(self, chances: list[float], left: int, third: float) -> int:
        return pick([arm for arm in self.arms if chances[arm] == max(chances)], third)  # line 12

    def update(self, left: int, right: int, left_won: bool) -> None:
        if left != right:  # line 13
            won, lost = (left, right) if left_won else (right, left)
            self.wins[won][lost] += 1
        self.t += 1

    def state(self) -> dict[str, Any]:
        bounds = self.bounds()
        return {"t": self.t, "C": contenders(bounds), "favourite": self.favourite, "wins": self.wins, "bounds": bounds}


def pick(arms: list[int], coin: float) -> int:
    return arms[int(coin * len(arms))]


class RowForColumn(RUCB):
    def chances(self, bounds, left):
        return bounds[left]


class LeastLikely(RUCB):
    def challenger(self, chances, left, third):
        return super().challenger([-one for one in chances], left, third)


class NeverItself(RUCB):
    def challenger(self, chances, left, third):
        return super().challenger([-math.inf if arm == left else one for arm, one in enumerate(chances)], left, third)


class FirstOfTied(RUCB):
    def challenger(self, chances, left, third):
        return first_of_largest(chances)


class NoFavourite(RUCB):
    def champion(self, able, first, second):
        self.favourite = None
        return super().champion(able, first, second)


class FavouriteAlways(RUCB):
    def champion(self, able, first, second):
        return super().champion(able, 0.0, second)


class FavouriteWrongHalf(RUCB):
    def champion(self, able, first, second):
        return super().champion(able, 1.0 - first - 1e-9, second)


class FavouriteKept(RUCB):
    def champion(self, able, first, second):
        kept = self.favourite
        if kept is not None and len(able) > 1 and first < 0.5:
            return kept
        left = super().champion(able, 1.0, second)
        self.favourite = kept if self.favourite is None else self.favourite
        return left


class FavouriteInBoth(RUCB):
    def champion(self, able, first, second):
        left = super().champion(able, first, second)
        drawn = len(able) > 1 and (self.favourite is None or first >= 0.5)
        return pick(able, second) if drawn else left


class FavouriteIsLeft(RUCB):
    def champion(self, able, first, second):
        self.favourite = super().champion(able, first, second)
        return self.favourite


class FavouriteNotStored(RUCB):
    """The favourite is whoever was in C alone, once; a later one does not replace it."""

    def champion(self, able, first, second):
        kept = self.favourite
        left = super().champion(able, first, second)
        if kept is not None:
            self.favourite = kept
        return left


class CoinsExchanged(RUCB):
    def champion(self, able, first, second):
        return super().champion(able, second, first)


class SmallestContender(RUCB):
    def champion(self, able, first, second):
        return super().champion(able, first, 0.0)


class AllArms(RUCB):
    def champion(self, able, first, second):
        return super().champion(self.arms, first, second)


class LeftAlwaysWins(RUCB):
    def update(self, left, right, left_won):
        super().update(left, right, True)


class LoserWins(RUCB):
    def update(self, left, right, left_won):
        super().update(left, right, not left_won)


class FromZero(RUCB):
    """ln t is taken of the number of rounds before."""

    def bounds(self):
        return upper_bounds(self.wins, max(self.t - 1, 1), self.alpha)


class OneAhead(RUCB):
    def bounds(self):
        return upper_bounds(self.wins, self.t + 1, self.alpha)


class CountsDuels(RUCB):
    """The round number stays where an arm duels with itself, in the bounds."""

    def bounds(self):
        return upper_bounds(self.wins, sum(map(sum, self.wins)) + 1, self.alpha)


class Means(RUCB):
    def bounds(self):
        return upper_bounds(self.wins, 1, self.alpha)


def with_bounds(wrong: Callable[..., Any]) -> type[RUCB]:
    """RUCB with wrong bounds."""

    class Wrong(RUCB):
        def bounds(self):
            return wrong(self.wins, self.t, self.alpha)

    return Wrong


SAME_DUELS = (  # wrong bounds whose duels are those of another mistake in the table below
    "the bound has ln t, not ln(t + 1)",
    "i's bound against j belongs into row i, column j: rows and columns are exchanged",
)
WRONG_RUCB: dict[str, type[RUCB]] = {
    "the right arm has the largest u_jc, its bound against c: column c, not row c": RowForColumn,
    "the right arm has the smallest u_jc: it should be the largest": LeastLikely,
    "the right arm may be c itself, if all others have u_jc < 1/2": NeverItself,
    "of several arms with the largest u_jc, the third coin picks one, not the smallest number": FirstOfTied,
    "there is no favourite: half of the time the left arm is the one that was last alone in C": NoFavourite,
    "the left arm is the favourite whenever there is one: only if the first coin is below 0.5": FavouriteAlways,
    "the first coin is the wrong way round: the favourite is taken if it is below 0.5": FavouriteWrongHalf,
    "the favourite is forgotten when it is not in C": FavouriteKept,
    "if the favourite is not taken, another arm is: leave it out before you pick": FavouriteInBoth,
    "the favourite is the arm that was last alone in C, not the last left arm": FavouriteIsLeft,
    "the favourite is the arm that was last alone in C: a new one replaces it": FavouriteNotStored,
    "the coins are exchanged: the first one is for the favourite, the second one picks": CoinsExchanged,
    "the left arm is picked out of C with the second coin, it is not that with the smallest number": SmallestContender,
    "the left arm is picked out of all arms: only those in C may be": AllArms,
    "the left arm is taken to win every duel": LeftAlwaysWins,
    "the wins are credited to the loser": LoserWins,
    "t counts rounds from 1: your bounds are one round behind": FromZero,
    "t counts rounds from 1: your bounds are one round ahead": OneAhead,
    "the duel of an arm with itself takes a round, too: t goes on": CountsDuels,
    "these are means without a radius": Means,
} | {why: with_bounds(wrong) for why, wrong in wrong_bounds().items() if why not in SAME_DUELS}
