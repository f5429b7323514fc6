"""RUCB for one duel at a time, in plain Python, right and wrong: the oracles of exercise 7.

``RUCB`` is Algorithm 1 of Zoghi, Whiteson, Munos and de Rijke (ICML 2014); ``upper_bounds`` has its lines 4 and 5.
Random choices take three coins a round, which are arguments.

One deviation: of several arms with the largest u_jc, line 12 does not allow c itself (so ``rankgym_agents.rucb`` has
it). Here c counts like any other arm, which is one rule fewer. It changes no duel: u_jc = 1/2 = u_cc would need
alpha ln t / n to be rational, and ln t is transcendental for t > 1; at t = 1 no two arms have met.
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

    bounds, explored = [[own] * len(wins) for _ in wins], alpha * math.log(t)
    for i, j in itertools.combinations(range(len(wins)), 2):
        n = wins[i][j] + wins[j][i]
        if n == 0:
            bounds[i][j] = bounds[j][i] = unmet
            continue
        width = radius(alpha, t, n) if radius else math.sqrt(explored / n)
        width = -width if low else width
        bounds[i][j], bounds[j][i] = wins[i][j] / n + width, wins[j][i] / n + width
    return bounds


def all_duels(wins: Any, t: float, alpha: float) -> list[list[float]]:
    total = sum(map(sum, wins))
    return upper_bounds(wins, t, alpha, lambda a, t, n: math.sqrt(a * math.log(t) / total))


def wins_only(wins: Any, t: float, alpha: float) -> list[list[float]]:
    """n is w_ij alone, in the share and in the radius."""
    right = upper_bounds(wins, t, alpha)
    for i, j in itertools.permutations(range(len(wins)), 2):
        right[i][j] = 1 + math.sqrt(alpha * math.log(t) / wins[i][j]) if wins[i][j] else math.inf
    return right


def whole_share(wins: Any, t: float, alpha: float) -> list[list[float]]:
    """The share is w_ij // n."""
    right = upper_bounds(wins, t, alpha)
    for i, j in itertools.permutations(range(len(wins)), 2):
        n = wins[i][j] + wins[j][i]
        right[i][j] -= wins[i][j] / n - wins[i][j] // n if n else 0
    return right


def one_row(wins: Any, t: float, alpha: float, own: bool = False) -> list[list[float]]:
    """All rows are one list, in which the last entry of a column stays; with ``own`` the diagonal is set, too."""
    right, last = upper_bounds(wins, t, alpha), len(wins) - 1
    return [[*right[last][:last], 0.5 if own else right[last - 1][last]]] * len(wins)


def cut(wins: Any, t: float, alpha: float, unmet: float = math.inf) -> list[list[float]]:
    return [[min(one, 1) if one < math.inf else unmet for one in row] for row in upper_bounds(wins, t, alpha)]


def wrong_bounds() -> dict[str, Any]:
    """Wrong versions of ``upper_bounds`` by what is wrong with them."""

    return {
        "the share is w_ij / n with one stroke: // cuts it to a whole number": whole_share,
        "n is the number of duels of the pair, w_ij + w_ji: yours has only w_ij": wins_only,
        "all rows are one and the same list, as [[0.5] * K] * K makes them: make a new list for each row": one_row,
        "all rows are one and the same list, as [[0.5] * K] * K makes them: make each row anew": lambda w, t, a: (
            one_row(w, t, a, own=True)
        ),
        "a bound may be above 1: do not cut it": cut,
        "a bound may be above 1, and is math.inf for two arms that have not met: do not cut it": lambda w, t, a: cut(
            w, t, a, unmet=1
        ),
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

    def drawn(self) -> Any:
        return self.coins[self.t - 1]

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
        bounds, (first, second, third) = self.bounds(), self.drawn()
        left = self.champion(contenders(bounds), first, second)  # line 6
        return left, self.challenger(self.chances(bounds, left), left, third)

    def challenger(self, chances: list[float], left: int, third: float) -> int:
        largest = max(chances)
        return pick([arm for arm in self.arms if chances[arm] == largest], third)  # line 12

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


class FavouriteKeptIfEmpty(RUCB):
    """The favourite is forgotten only if C has arms, and it is none of them."""

    def champion(self, able, first, second):
        kept = self.favourite
        left = super().champion(able, first, second)
        if not able:
            self.favourite = kept
        return left


class ZeroIsNobody(RUCB):
    """Asks ``if self.favourite``, which is false for arm 0, before the favourite is taken."""

    def champion(self, able, first, second):
        return super().champion(able, first if self.favourite else 1.0, second)


class ZeroStays(RUCB):
    """Asks so before the favourite is forgotten, too."""

    def champion(self, able, first, second):
        if self.favourite != 0 or len(able) == 1:
            return super().champion(able, first, second)
        return pick([arm for arm in able if arm != 0] or self.arms, second)


class ZeroIsKept(RUCB):
    """Asks so before the favourite is forgotten, but not before it is taken."""

    def champion(self, able, first, second):
        if self.favourite != 0 or 0 in able or len(able) == 1:
            return super().champion(able, first, second)
        return 0 if able and first < 0.5 else pick(able or self.arms, second)


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


class SecondCoinForBoth(RUCB):
    """The right arm is picked with the left arm's coin."""

    def drawn(self):
        first, second, _ = self.coins[self.t - 1]
        return first, second, second


class CoinsOneAhead(RUCB):
    def drawn(self):
        return self.coins[self.t]


class FirstRoundAlways(RUCB):
    """The round number is never raised."""

    def update(self, left, right, left_won):
        super().update(left, right, left_won)
        self.t = 1


class OneRowOfWins(RUCB):
    """The rows of wins are one and the same list, as [[0] * K] * K makes them."""

    def __init__(self, num_arms, alpha, coins):
        super().__init__(num_arms, alpha, coins)
        self.wins = [[0] * num_arms] * num_arms


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


class RunningShares(RUCB):
    """Shares are running means, and so bounds that should be equal are not."""

    def __init__(self, num_arms, alpha, coins):
        super().__init__(num_arms, alpha, coins)
        self.shares = [[0.0] * num_arms for _ in self.arms]

    def bounds(self):
        right = super().bounds()
        for i, j in itertools.permutations(self.arms, 2):
            n = self.wins[i][j] + self.wins[j][i]
            if n:
                right[i][j] = self.shares[i][j] + math.sqrt(self.alpha * math.log(self.t) / n)
        return right

    def update(self, left, right, left_won):
        super().update(left, right, left_won)
        if left != right:
            n = self.wins[left][right] + self.wins[right][left]
            self.shares[left][right] += (int(left_won) - self.shares[left][right]) / n
            self.shares[right][left] += (int(not left_won) - self.shares[right][left]) / n


def with_bounds(wrong: Callable[..., Any]) -> type[RUCB]:
    """RUCB with wrong bounds."""

    class Wrong(RUCB):
        def bounds(self):
            return wrong(self.wins, self.t, self.alpha)

    return Wrong


FORGETFUL = (FavouriteKept, FavouriteNotStored, FavouriteKeptIfEmpty, ZeroIsNobody, ZeroStays, ZeroIsKept)
SAME_DUELS = (  # wrong bounds whose duels are those of another mistake in the table below
    "the bound has ln t, not ln(t + 1)",
    "i's bound against j belongs into row i, column j: rows and columns are exchanged",
    "all rows are one and the same list, as [[0.5] * K] * K makes them: make each row anew",
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
    "the favourite is forgotten when it is not in C, also when C is empty": FavouriteKeptIfEmpty,
    "arm 0 may be the favourite, too: 'if favourite' is false for 0, so ask 'is not None'": ZeroIsNobody,
    "arm 0 may be the favourite, too: 'if favourite' is false for 0, so always ask 'is not None'": ZeroStays,
    "arm 0 is forgotten, too, when it is not in C: 'if favourite' is false for 0": ZeroIsKept,
    "if the favourite is not taken, another arm is: leave it out before you pick": FavouriteInBoth,
    "the favourite is the arm that was last alone in C, not the last left arm": FavouriteIsLeft,
    "the favourite is the arm that was last alone in C: a new one replaces it": FavouriteNotStored,
    "the coins are exchanged: the first one is for the favourite, the second one picks": CoinsExchanged,
    "the right arm is picked with the third coin, not with the second one": SecondCoinForBoth,
    "round t has the coins coins[t - 1]: yours are those of the next round": CoinsOneAhead,
    "the round number stays 1: raise t in update": FirstRoundAlways,
    "all rows of w are one and the same list, as [[0] * K] * K makes them: make a new list for each row": OneRowOfWins,
    "the left arm is picked out of C with the second coin, it is not that with the smallest number": SmallestContender,
    "the left arm is picked out of all arms: only those in C may be": AllArms,
    "the left arm is taken to win every duel": LeftAlwaysWins,
    "the wins are credited to the loser": LoserWins,
    "t counts rounds from 1: your bounds are one round behind": FromZero,
    "t counts rounds from 1: your bounds are one round ahead": OneAhead,
    "the duel of an arm with itself takes a round, too: t goes on": CountsDuels,
    "these are means without a radius": Means,
    "the shares are running means, whose rounding decides ties: count wins, and divide once": RunningShares,
} | {why: with_bounds(wrong) for why, wrong in wrong_bounds().items() if why not in SAME_DUELS}
