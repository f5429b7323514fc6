"""Oracles of exercise 5, TopRank and BubbleRank in plain Python for one user at a time, and wrong versions of them.

TopRank is Algorithm 1 of Lattimore, Kveton, Li and Szepesvari, "TopRank" (NeurIPS 2018), with its section 4 (the
blocks) and Assumption 1 (what is not displayed is not clicked). On a cycle of its relation the items that remain form
one block. BubbleRank is Algorithm 1 of Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, "BubbleRank" (UAI
2019), with the rounds of the listing, t = 1, 2, ... and h = t mod 2; the safety constraint is that of Lemma 2.
"""

import itertools
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

C = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
Matrix: TypeAlias = list[list[int]]
ONE_ROW = "the rows of [[0] * L] * L are one list"


def toprank_radius(compared: float, delta: float) -> float:
    """Line 12 of TopRank."""
    return math.sqrt(2 * compared * math.log(C / delta * math.sqrt(compared))) if compared else math.inf


def bubblerank_radius(compared: float, delta: float) -> float:
    """Lines 9 and 23 of BubbleRank."""
    return 2 * math.sqrt(compared * math.log(1 / delta))


# -- TopRank ---------------------------------------------------------------------------------------------------------


def block_differences(blocks: Any, displayed: Any, clicks: Any) -> list[list[int]]:
    """Line 10: U_ij = C_i - C_j within a block, else 0."""
    block_of = {item: d for d, block in enumerate(blocks) for item in block}
    clicked = dict.fromkeys(block_of, 0) | dict(zip(displayed, clicks, strict=True))
    items = range(len(block_of))
    return [[(clicked[i] - clicked[j]) * (block_of[i] == block_of[j]) for j in items] for i in items]


def partition(num_items: int, worse: Any) -> list[list[int]]:
    """Lines 3 to 6: peel off min_G of the items that remain."""
    relation, left, blocks = {tuple(pair) for pair in worse}, set(range(num_items)), []
    while left:
        least = {j for j in left if not any((j, i) in relation for i in left)}
        blocks.append(sorted(least or left))
        left -= set(blocks[-1])
    return blocks


def by_item_coins(blocks: Any, coins: Any) -> list[int]:
    return [item for block in blocks for item in sorted(block, key=lambda item: coins[item])]


def square(size: int) -> Matrix:
    return [[0] * size for _ in range(size)]


def two_squares(size: int) -> tuple[Matrix, Matrix]:
    return square(size), square(size)


def with_one_row(size: int) -> tuple[Matrix, Matrix]:
    """Wrong: the rows of a matrix are one list."""
    return [[0] * size] * size, [[0] * size] * size


def with_one_matrix(size: int) -> tuple[Matrix, Matrix]:
    """Wrong: the matrices are one list."""
    matrix = square(size)
    return matrix, matrix


class TopRank:
    """Algorithm 1. The keywords after ``coins`` make the wrong versions."""

    def __init__(
        self,
        num_items: int,
        num_positions: int,
        delta: float,
        coins: Any,
        *,
        differences: Callable[..., Any] = block_differences,
        radius: Callable[..., float] = toprank_radius,
        parts: Callable[..., Any] = partition,
        order: Callable[..., Any] = by_item_coins,
        coins_of: Callable[[int], int] = int,
        matrices: Callable[[int], tuple[Matrix, Matrix]] = two_squares,
        tested: Callable[[int, int], bool] = operator.ne,
        counts_first: bool = False,
        counts_ties: bool = False,
        anew: bool = False,
        clears: bool = False,
    ) -> None:
        self.num_items, self.num_positions, self.delta, self.coins = num_items, num_positions, delta, coins
        self.differences, self.radius, self.parts, self.order, self.coins_of = (
            differences,
            radius,
            parts,
            order,
            coins_of,
        )
        self.matrices, self.tested, self.counts_first = matrices, tested, counts_first
        self.counts_ties, self.anew, self.clears = counts_ties, anew, clears
        self.lead, self.compared = matrices(num_items)
        self.worse: set[tuple[int, int]] = set()
        self.blocks = parts(num_items, self.worse)
        self.round = 0

    def act(self) -> list[int]:
        """Line 7."""
        coins = self.coins[self.coins_of(self.round)]
        return list(self.order(self.blocks, coins)[: self.num_positions])

    def update(self, displayed: Any, clicks: Any) -> None:
        """Lines 8 to 12, and the next round's blocks."""
        self.round += 1
        differences, known = self.differences(self.blocks, displayed, clicks), set(self.worse)
        self.worse = set() if self.anew else self.worse
        for i, j in itertools.permutations(range(self.num_items), 2):
            if differences[i][j] or self.counts_ties:
                self.lead[i][j] += differences[i][j]
                self.compared[i][j] += 1
                if not self.counts_first:
                    self.test(i, j)
        if self.counts_first:
            for i, j in itertools.product(range(self.num_items), repeat=2):
                self.test(i, j)
        if self.worse != known:
            self.blocks = self.parts(self.num_items, self.worse)
            if self.clears:
                self.lead, self.compared = self.matrices(self.num_items)

    def test(self, i: int, j: int) -> None:
        """Line 12."""
        if self.tested(i, j) and self.lead[i][j] >= self.radius(self.compared[i][j], self.delta):
            self.worse.add((j, i))

    def state(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "S": self.lead, "N": self.compared, "relation": sorted(map(list, self.worse))}


def with_all_items(num_items: int, worse: Any) -> list[list[int]]:
    """Wrong: an item is beaten by items that have their block already, too."""
    blocks, left = [], set(range(num_items))
    while left:
        least = {j for j in left if not any(pair[0] == j for pair in worse)}
        blocks.append(sorted(least or left))
        left -= set(blocks[-1])
    return blocks


def one_by_one(num_items: int, worse: Any) -> list[list[int]]:
    """Wrong: an item leaves at once, so the items after it may join its block."""
    blocks, left = [], list(range(num_items))
    while left:
        block = []
        for item in list(left):
            if not any([item, i] in [list(pair) for pair in worse] for i in left):
                block.append(item)
                left.remove(item)
        if not block:
            block, left = left, []
        blocks.append(block)
    return blocks


def alone_on_a_cycle(num_items: int, worse: Any) -> list[list[int]]:
    """Wrong: items of a cycle get a block each."""
    relation, left, blocks = {tuple(pair) for pair in worse}, set(range(num_items)), []
    while left:
        least = {j for j in left if not any((j, i) in relation for i in left)}
        blocks += [sorted(least)] if least else [[j] for j in sorted(left)]
        left -= least or set(left)
    return blocks


def by_number_of_betters(num_items: int, worse: Any) -> list[list[int]]:
    """Wrong: items with as many better ones share a block."""
    betters = [sum(j == item for j, _ in worse) for item in range(num_items)]
    return [[i for i in range(num_items) if betters[i] == n] for n in sorted(set(betters))]


def reversed_relation(num_items: int, worse: Any) -> list[list[int]]:
    return partition(num_items, [pair[::-1] for pair in map(list, worse)])


def by_position_coins(blocks: Any, coins: Any) -> list[int]:
    """Wrong: coins belong to places, not to items."""
    ranking: list[int] = []
    for block in blocks:
        places = range(len(ranking), len(ranking) + len(block))
        ranking += [item for _, item in sorted(zip((coins[p] for p in places), block, strict=True))]
    return ranking


def by_coins_within_blocks(blocks: Any, coins: Any) -> list[int]:
    """Wrong: coins belong to an item's place in its block."""
    return [item for block in blocks for _, item in sorted(zip(coins, block, strict=False))]


def displayed_pairs(blocks: Any, displayed: Any, clicks: Any) -> list[list[int]]:
    """Wrong: items that are not displayed are left out."""
    shown = [[item for item in block if item in displayed] for block in blocks]
    hidden = [[item] for block in blocks for item in block if item not in displayed]
    return block_differences([*shown, *hidden], displayed, clicks)


def all_pairs(blocks: Any, displayed: Any, clicks: Any) -> list[list[int]]:
    """Wrong: items of different blocks are compared, too."""
    return block_differences([list(itertools.chain(*blocks))], displayed, clicks)


# To take a pair out of the relation once its lead is below the radius is no mistake: this never happens. A pair joins
# while its items share a block, and an item is always in a later block than those it was found worse than. So the
# items of a pair never share a block again, and are not compared any more. (New pairs make no cycle: in each of them
# the better item was clicked in this round and the worse one was not.)
WRONG_TOPRANKS: dict[str, Callable[..., Any]] = {
    "within a block the largest coin comes first": partial(
        TopRank, order=lambda blocks, coins: by_item_coins(blocks, [-coin for coin in coins])
    ),
    "the blocks are not shuffled": partial(TopRank, order=lambda blocks, coins: list(itertools.chain(*blocks))),
    "all items are shuffled together: block comes after block, and blocks change with the relation": partial(
        TopRank, order=lambda blocks, coins: by_item_coins([itertools.chain(*blocks)], coins)
    ),
    "coins are taken by position, not by item": partial(TopRank, order=by_position_coins),
    "coins are taken by position within the block, not by item": partial(TopRank, order=by_coins_within_blocks),
    "round t has the coins of round t + 1: rounds count from 0": partial(TopRank, coins_of=lambda t: t + 1),
    "every round has the coins of round 0": partial(TopRank, coins_of=lambda t: 0),
    "pairs with an item that is not displayed are left out: it counts as not clicked": partial(
        TopRank, differences=displayed_pairs
    ),
    "items of different blocks are compared, too": partial(TopRank, differences=all_pairs),
    "the relation is made anew in each round: its pairs stay there for ever": partial(TopRank, anew=True),
    "statistics are cleared when the blocks change: they go on": partial(TopRank, clears=True),
    "N counts rounds without a difference, too": partial(TopRank, counts_ties=True),
    f"{ONE_ROW}: make S and N with a new row for each item": partial(TopRank, matrices=with_one_row),
    f"{ONE_ROW}: make each row of S and N anew": partial(TopRank, matrices=with_one_row, counts_first=True),
    "S and N are one list, as after N = S: make two of them": partial(TopRank, matrices=with_one_matrix),
    "only pairs with i > j are tested: S[i][j] and S[j][i] may both reach the radius": partial(
        TopRank, tested=operator.gt
    ),
    "only pairs with i < j are tested: S[i][j] and S[j][i] may both reach the radius": partial(
        TopRank, tested=operator.lt
    ),
    "the better item of a pair is taken for the worse one": partial(TopRank, parts=reversed_relation),
    "items that have their block already still keep others out": partial(TopRank, parts=with_all_items),
    "the radius has N without a square root inside the logarithm": partial(
        TopRank, radius=lambda n, delta: math.sqrt(2 * n * math.log(C / delta * n))
    ),
    "the radius is BubbleRank's": partial(TopRank, radius=bubblerank_radius),
}


# -- BubbleRank ------------------------------------------------------------------------------------------------------


def upper_positions(played: int, positions: int) -> range:
    """Lines 5 and 7: the upper position, from 0, of each pair of the round, from 0."""
    return range((played + 1) % 2, positions - 1, 2)


def exchanged(base: Any, settled: Any, coins: Any, played: int) -> list[int]:
    """Lines 6 to 10."""
    ranking = list(base)
    for k in upper_positions(played, len(base)):
        if coins[k] < 0.5 and not settled[k]:
            ranking[k : k + 2] = base[k + 1], base[k]
    return ranking


def bubbled_up(
    base: Any, lead: Any, compared: Any, delta: float, radius: Callable[..., float] = bubblerank_radius
) -> list[int]:
    """Lines 20 to 24."""
    ranking = list(base)
    for k in range(len(base) - 1):
        i, j = ranking[k], ranking[k + 1]
        if lead[j][i] > radius(compared[j][i], delta):
            ranking[k : k + 2] = j, i
    return ranking


class BubbleRank:
    """Algorithm 1. The keywords after ``coins`` make the wrong versions."""

    def __init__(
        self,
        initial_list: Any,
        delta: float,
        coins: Any,
        *,
        display: Callable[..., list[int]] = exchanged,
        radius: Callable[..., float] = bubblerank_radius,
        improve: Callable[..., list[int]] = bubbled_up,
        pairs: Callable[[int, int], Any] = upper_positions,
        coins_of: Callable[[int], int] = int,
        counts_ties: bool = False,
        of_base: bool = False,
        skips_settled: bool = False,
        keeps_displayed: bool = False,
        one_way: str = "",
        matrices: Callable[[int], tuple[Matrix, Matrix]] = two_squares,
    ) -> None:
        self.base, self.delta, self.coins = list(initial_list), delta, coins
        self.display, self.radius, self.improve, self.pairs, self.coins_of = display, radius, improve, pairs, coins_of
        self.counts_ties, self.of_base = counts_ties, of_base
        self.skips_settled, self.keeps_displayed, self.one_way = skips_settled, keeps_displayed, one_way
        self.lead, self.compared = matrices(len(self.base))
        self.played = 0

    def settled(self) -> list[bool]:
        """Line 9."""
        pairs = itertools.pairwise(self.base)
        return [self.lead[i][j] > self.radius(self.compared[i][j], self.delta) for i, j in pairs]

    def act(self) -> list[int]:
        coins = self.coins[self.coins_of(self.played)]
        return self.display(self.base, self.settled(), coins, self.played)

    def update(self, displayed: Any, clicks: Any) -> None:
        """Lines 12 to 24."""
        settled, shown = self.settled(), self.base if self.of_base else displayed
        for k in self.pairs(self.played, len(displayed)):
            i, j, difference = shown[k], shown[k + 1], clicks[k] - clicks[k + 1]
            if (difference or self.counts_ties) and not (settled[k] and self.skips_settled):
                self.lead[i][j] += difference
                self.lead[j][i] -= difference * (self.one_way != "s")
                self.compared[i][j] += 1
                self.compared[j][i] += self.one_way != "n"
        base = list(displayed) if self.keeps_displayed else self.base
        self.base = self.improve(base, self.lead, self.compared, self.delta, self.radius)
        self.played += 1

    def state(self) -> dict[str, Any]:
        return {"base": self.base, "settled": self.settled(), "s": self.lead, "n": self.compared}


def misordered(ranking: Any, attraction: Any) -> int:
    """|V(R)|."""
    return sum(attraction[upper] < attraction[lower] for upper, lower in itertools.combinations(ranking, 2))


def violations(lists: Any, initial_list: Any, attraction: Any) -> list[int]:
    """The rounds with |V(R_t)| > |V(R_0)| + K / 2."""
    allowed = misordered(initial_list, attraction) + len(initial_list) / 2
    return [t for t, ranking in enumerate(lists) if misordered(ranking, attraction) > allowed]


def from_the_bottom(base: Any, lead: Any, compared: Any, delta: float, radius: Any = bubblerank_radius) -> list[int]:
    """Wrong: the pass begins below."""
    ranking = list(base)
    for k in reversed(range(len(base) - 1)):
        i, j = ranking[k], ranking[k + 1]
        if lead[j][i] > radius(compared[j][i], delta):
            ranking[k : k + 2] = j, i
    return ranking


def many_passes(base: Any, lead: Any, compared: Any, delta: float, radius: Any = bubblerank_radius) -> list[int]:
    """Wrong: as many passes as there are items."""
    for _ in base:
        base = bubbled_up(base, lead, compared, delta, radius)
    return list(base)


def of_the_old_list(base: Any, lead: Any, compared: Any, delta: float, radius: Any = bubblerank_radius) -> list[int]:
    """Wrong: neighbours are those of the list before the pass."""
    ranking = list(base)
    for k, (i, j) in enumerate(itertools.pairwise(base)):
        if lead[j][i] > radius(compared[j][i], delta):
            ranking[k], ranking[k + 1] = ranking[k + 1], ranking[k]
    return ranking


# These are wrong of `bubbled_up` alone, whose lead may be anything: an agent has the same lists with each of them. Its
# pairs of a round are neighbours of the base list, in one order or the other, and share no item, so after each round
# no two items of the base list are in an order that was found wrong, neighbours or not. The pass then exchanges pairs
# of the round alone, in any order.
WRONG_PASSES = {
    "the pass begins at the bottom: it goes from the top": from_the_bottom,
    "there is more than one pass": many_passes,
    "neighbours are those of the old list: an item that moved down is compared again": of_the_old_list,
}
WRONG_RADII = {
    "the factor 2 of the radius is missing": lambda n, delta: math.sqrt(n * math.log(1 / delta)),
    "the factor 2 is inside of the square root": lambda n, delta: math.sqrt(2 * n * math.log(1 / delta)),
    "the square root is missing": lambda n, delta: 2 * n * math.log(1 / delta),
    "n is outside of the square root": lambda n, delta: 2 * n * math.sqrt(math.log(1 / delta)),
    "n is missing in the radius": lambda n, delta: 2 * math.sqrt(math.log(1 / delta)),
    "the logarithm is missing": lambda n, delta: 2 * math.sqrt(n / delta),
    "the logarithm is not the natural one": lambda n, delta: 2 * math.sqrt(n * math.log10(1 / delta)),
    "the radius is TopRank's": toprank_radius,
    "a lead is enough, however small": lambda n, delta: 0.0,
}
WRONG_BUBBLERANKS: dict[str, Callable[..., Any]] = {
    "the other rounds' pairs are exchanged: round 0 has (1, 2), (3, 4), ...": partial(
        BubbleRank,
        display=lambda base, settled, coins, t: exchanged(base, settled, coins, t + 1),
        pairs=lambda t, positions: upper_positions(t + 1, positions),
    ),
    "the counted pairs are not those that were exchanged": partial(
        BubbleRank, pairs=lambda t, positions: upper_positions(t + 1, positions)
    ),
    "all neighbours are counted in every round, not only the round's pairs": partial(
        BubbleRank, pairs=lambda t, positions: range(positions - 1)
    ),
    "n grows in rounds without a difference, too: exactly one of the two must be clicked": partial(
        BubbleRank, counts_ties=True
    ),
    "clicks are given to the items of the base list, not of the displayed one": partial(BubbleRank, of_base=True),
    "pairs that are settled are not counted any more": partial(BubbleRank, skips_settled=True),
    "the displayed list becomes the base list: exchanges by coins are for one round": partial(
        BubbleRank, keeps_displayed=True
    ),
    "s(i, j) is counted in one direction only: s(j, i) is -s(i, j)": partial(BubbleRank, one_way="s"),
    "n(i, j) is counted in one direction only: n(j, i) is the same": partial(BubbleRank, one_way="n"),
    "settled pairs are exchanged, too": partial(
        BubbleRank, display=lambda base, settled, coins, t: exchanged(base, [False] * len(base), coins, t)
    ),
    "round t has the coins of round t + 1: rounds count from 0": partial(BubbleRank, coins_of=lambda t: t + 1),
    "every round has the coins of round 0": partial(BubbleRank, coins_of=lambda t: 0),
    "the base list never changes": partial(BubbleRank, improve=lambda base, *rest: base),
    f"{ONE_ROW}: make s and n with a new row for each item": partial(BubbleRank, matrices=with_one_row),
    "s and n are one list, as after n = s: make two of them": partial(BubbleRank, matrices=with_one_matrix),
    **{why: partial(BubbleRank, radius=radius) for why, radius in WRONG_RADII.items()},
}
