"""Exercise 5: TopRank's blocks and BubbleRank's safety.

The oracles are in ``safe_rankers.py``. All checks are exact: the coins are arguments. Leads and counts are whole
numbers, and for each delta that is used here no radius comes closer to one than 1e-9, so no decision depends on how a
logarithm is rounded (a test goes through them).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import Setting, played
from rankgym.exercises.topics.safe_rankers import (
    ONE_ROW,
    WRONG_BUBBLERANKS,
    WRONG_PASSES,
    WRONG_RADII,
    WRONG_TOPRANKS,
    BubbleRank,
    C,
    TopRank,
    alone_on_a_cycle,
    block_differences,
    bubbled_up,
    bubblerank_radius,
    by_number_of_betters,
    exchanged,
    misordered,
    one_by_one,
    partition,
    reversed_relation,
    square,
    toprank_radius,
    upper_positions,
    violations,
    with_all_items,
)
from rankgym.submissions import Submission

DRAWN = 60  # random cases of each check of a function, after the small ones
TOPRANKS = (  # num_items, num_positions, delta, rounds
    (2, 2, 0.5, 40),
    (2, 1, 0.5, 60),
    (3, 2, 0.5, 300),
    (3, 3, 0.9, 1_000),  # with equal attractions: decisions are often wrong
    (5, 3, 0.1, 2_000),
    (8, 5, 0.01, 2_000),
)
BUBBLERANKS = (  # num_items, delta, rounds
    (2, 0.5, 40),
    (3, 0.5, 100),
    (4, 0.1, 600),
    (4, 0.9, 300),
    (5, 0.01, 2_000),
    (8, 0.001, 2_000),
)
ALWAYS = {(5, 3, 0.1, 2_000), (4, 0.9, 300), (5, 0.01, 2_000)}  # with the same users: they tell mistakes apart
FIRST_USERS = 5  # their seed
DELTAS = (0.5, 0.9, 0.1, 0.01, 0.001)

# -- cases -----------------------------------------------------------------------------------------------------------


def draw_coins(rng: np.random.Generator, rounds: int, items: int) -> list[list[float]]:
    """Return numbers with three decimals, different ones in each round."""
    return [
        numbers.tolist() for numbers in rng.permuted(np.tile(np.arange(1_000), (rounds, 1)), axis=1)[:, :items] / 1e3
    ]


def draw_users(rng: np.random.Generator, attraction: Any, positions: int, rounds: int) -> tuple[Any, Any]:
    """Return who likes what, (rounds, items), and who looks where, (rounds, positions), of the PBM."""
    examination = np.linspace(1.0, 0.6, positions)
    return rng.random((rounds, len(attraction))) < attraction, rng.random((rounds, positions)) < examination


def draw_blocks(trial: Trial, items: int) -> list[list[int]]:
    order = trial.rng.permutation(items).tolist()
    cuts = sorted(trial.rng.choice(items, int(trial.rng.integers(0, min(items, 3))), replace=False).tolist())
    parts = [sorted(order[a:b]) for a, b in itertools.pairwise([0, *cuts, items])]
    return [part for part in parts if part]


def sessions(trial: Trial) -> Iterator[tuple[list[list[int]], list[int], list[int]]]:
    """Yield (blocks, displayed, clicks), small ones first."""
    for blocks in ([[0, 1]], [[0], [1]], [[1], [0]]):
        for clicks in itertools.product((0, 1), repeat=2):
            yield blocks, [1, 0], list(clicks)
    for clicks in itertools.product((0, 1), repeat=2):
        yield [[0, 1, 2]], [2, 0], list(clicks)
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 7))
        positions = int(trial.rng.integers(2, items + 1))
        blocks = draw_blocks(trial, items)
        displayed = [item for block in blocks for item in trial.rng.permutation(block).tolist()][:positions]
        yield blocks, displayed, trial.rng.integers(0, 2, positions).tolist()


def relations(trial: Trial) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield (num_items, worse), small ones first; some relations have cycles."""
    yield 1, []
    for worse in ([], [[1, 0]], [[0, 1]], [[0, 1], [1, 0]]):
        yield 2, worse
    pairs = list(itertools.permutations(range(3), 2))
    for size in (1, 2, 3):
        for some in itertools.combinations(pairs, size):
            yield 3, [list(pair) for pair in some]
    yield 5, [[2, 0], [4, 1], [4, 2]]  # the paper's illustration: items 0, 1, 3, then 2, then 4
    for number in range(DRAWN):
        items = int(trial.rng.integers(4, 8))
        pairs = list(itertools.permutations(trial.rng.permutation(items).tolist(), 2))
        kept = [list(pair) for pair in pairs if trial.rng.random() < 0.2]
        order = trial.rng.permutation(items).tolist()
        yield items, kept if number % 4 == 0 else [[j, i] for j, i in kept if order[j] > order[i]]


def toprank_setting(size: tuple[int, int, float, int], rng: np.random.Generator) -> Setting:
    """Draw users and coins for TopRank; ``size`` is one of TOPRANKS."""
    rng = np.random.default_rng(FIRST_USERS) if size in ALWAYS else rng
    items, positions, delta, rounds = size
    attraction = np.full(items, 0.5) if delta == 0.9 else rng.permutation(np.linspace(0.1, 0.9, items))
    arguments: dict[str, Any] = {"num_items": items, "num_positions": positions, "delta": delta}
    arguments |= {"coins": draw_coins(rng, rounds + 1, items)}
    return Setting(arguments, *draw_users(rng, attraction, positions, rounds))


def bubblerank_settings(size: tuple[int, float, int], rng: np.random.Generator) -> list[Setting]:
    """Draw users and coins for BubbleRank, with a drawn production list and with the best one.

    ``size`` is one of BUBBLERANKS.
    """
    rng = np.random.default_rng(FIRST_USERS) if size in ALWAYS else rng
    (items, delta, rounds), settings = size, []
    starts = [rng.permutation(items).tolist(), list(range(items))] if items > 2 else [[1, 0], [0, 1]]
    for initial_list in starts:
        arguments = {"initial_list": initial_list, "delta": delta, "coins": draw_coins(rng, rounds + 1, items)}
        settings.append(Setting(arguments, *draw_users(rng, best_first(arguments), items, rounds)))
    return settings


def best_first(arguments: Any) -> Any:
    """Attraction of the items of BubbleRank's checks: the item with the smaller number is the better one."""
    return np.linspace(0.9, 0.1, len(arguments["initial_list"]))


# -- checks ----------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="block_differences",
    hints=[
        "Items of one block are compared, and no others. What is C of an item that was not displayed?",
        "Make a list `clicked` with a 0 for each of the L items, and write the clicks of the displayed items into it.",
        "For i and j of the same block U[i][j] = clicked[i] - clicked[j]; all other entries are 0.",
    ],
)
def differences_count_within_blocks(trial: Trial) -> None:
    """U_ij is C_i - C_j for two items of one block, displayed or not, and 0 otherwise."""

    def displayed_only(blocks: Any, displayed: Any, clicks: Any) -> Any:
        pairs = block_differences(blocks, displayed, clicks)
        return [[u * (i in displayed and j in displayed) for j, u in enumerate(row)] for i, row in enumerate(pairs)]

    def across(blocks: Any, displayed: Any, clicks: Any) -> Any:
        return block_differences([list(itertools.chain(*blocks))], displayed, clicks)

    def mapped(change: Callable[[int], int]) -> Callable[..., Any]:
        return lambda *session: [[change(u) for u in row] for row in block_differences(*session)]

    def with_one_row(blocks: Any, displayed: Any, clicks: Any) -> Any:
        right = block_differences(blocks, displayed, clicks)
        last = {item: block[-1] for block in blocks for item in block}
        return [[right[last[j]][j] for j in range(len(right))]] * len(right)

    def with_last_row(blocks: Any, displayed: Any, clicks: Any) -> Any:
        return block_differences(blocks, displayed, clicks)[-1:] * sum(map(len, blocks))

    mistakes = {
        f"{ONE_ROW}: make a new row for each item": with_one_row,
        f"{ONE_ROW}: make each row anew": with_last_row,
        "pairs with an item that is not displayed are left out: such an item counts as not clicked": displayed_only,
        "items of different blocks are compared, too": across,
        "the sign is the wrong way round: U[i][j] is C_i - C_j": mapped(lambda u: -u),
        "these are absolute values: U[i][j] is -1 if only j was clicked": mapped(abs),
        "negative differences are missing: U[i][j] is -1 if only j was clicked": mapped(lambda u: max(u, 0)),
        "clicks are taken by item: clicks[k] belongs to the item displayed[k]": lambda b, d, c: block_differences(
            b, range(len(c)), c
        ),
    }
    trial.compare("block_differences", block_differences, sessions(trial), mistakes=mistakes)


@check(
    points=1,
    of="toprank_radius",
    hints=[
        "Two square roots: one is around everything, the other one is of N, inside the logarithm.",
        "c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2)) is about 3.34; the logarithm is math.log.",
        "math.sqrt(2 * compared * math.log(c / delta * math.sqrt(compared))), and math.inf if compared is 0.",
    ],
)
def the_radius_is_that_of_line_12(trial: Trial) -> None:
    """The radius is the square root of 2 N log(c / delta sqrt(N)), and infinite for N = 0."""

    def with_log(inside: Callable[..., float], factor: float = 2.0) -> Callable[..., float]:
        return lambda n, delta: math.sqrt(factor * n * inside(n, delta))

    mistakes = {
        "N has no square root inside the logarithm": with_log(lambda n, d: math.log(C / d * n)),
        "sqrt(N) is missing inside the logarithm": with_log(lambda n, d: math.log(C / d)),
        "the factor 2 is missing": with_log(lambda n, d: math.log(C / d * math.sqrt(n)), 1.0),
        "c is missing": with_log(lambda n, d: math.log(math.sqrt(n) / d)),
        "c is wrong: it is 4 sqrt(2 / pi) / erf(sqrt(2)), about 3.34": with_log(
            lambda n, d: math.log(4 * math.sqrt(2 / math.pi) / math.erf(2) / d * math.sqrt(n))
        ),
        "the logarithm is not the natural one": with_log(lambda n, d: math.log10(C / d * math.sqrt(n))),
        "the logarithm is not the natural one, but that of base 2": with_log(
            lambda n, d: math.log2(C / d * math.sqrt(n))
        ),
        "the outer square root is missing": lambda n, d: toprank_radius(n, d) ** 2,
        "this is BubbleRank's radius": bubblerank_radius,
        "sqrt(N) is outside of the logarithm": lambda n, d: math.sqrt(2 * n * math.sqrt(n) * math.log(C / d)),
    }
    counts = [1, 2, 3, 10, *trial.rng.integers(4, 100_000, DRAWN).tolist()]
    deltas = itertools.cycle([0.1, 0.5, *trial.rng.uniform(0.001, 0.9, 11).round(3).tolist()])
    trial.compare("toprank_radius", toprank_radius, zip(counts, deltas, strict=False), mistakes=mistakes)
    undecided = {"a pair with N = 0 is never decided: the radius is infinite": lambda n, d: 0.0}
    trial.compare("toprank_radius", toprank_radius, [(0, 0.1)], mistakes=undecided)


@check(
    points=2,
    of="partition",
    hints=[
        "Keep a list of the items that remain. Which of them are not worse than any other that remains?",
        "A pair [j, i] keeps j out of the block only while i remains. Choose the whole block before you take its items "
        "out of those that remain. What if nothing was chosen?",
        "while left: block = [j for j in left if not any([j, i] in worse for i in left)]; if it is empty, block = "
        "left; append it, and take its items out of left.",
    ],
)
def blocks_are_peeled_off(trial: Trial) -> None:
    """A block has the items that no remaining item beats; on a cycle, all that remain."""
    mistakes = {
        "an item that has its block already still keeps others out: only those that remain count": with_all_items,
        "[j, i] is read the wrong way round: j is the worse one": reversed_relation,
        "items are taken out one by one, and others then join the same block": one_by_one,
        "on a cycle all items that remain form one block": alone_on_a_cycle,
        "on a cycle all items that remain form one block; here they are lost": lambda n, worse: [
            block for block in partition(n, worse) if not any([j, i] in worse for j in block for i in block)
        ],
        "items are divided by how many better ones they have": by_number_of_betters,
        "the blocks come worst first": lambda n, worse: partition(n, worse)[::-1],
        "everything is in one list: return a list of blocks": lambda n, worse: list(
            itertools.chain(*partition(n, worse))
        ),
    }
    trial.compare("partition", partition, relations(trial), mistakes=mistakes)


@check(
    points=2,
    of="TopRank",
    hints=[
        "Play the first rounds by hand: one block with all items, in the order of the round's coins.",
        "update(): U with the blocks of this round; S += U, N += |U|; [j, i] joins the relation if N > 0 and S[i][j] "
        "reaches the radius; then the blocks of the next round.",
        "Nothing is ever cleared or taken back: neither S, N nor the relation. Cut the list after num_positions items "
        "only when all blocks are in it.",
    ],
)
def toprank_displays_the_same_lists(trial: Trial) -> None:
    """TopRank displays the right lists for up to 2,000 rounds, given the same coins and users."""
    settings = [toprank_setting(size, trial.rng) for size in TOPRANKS]
    trial.expect_play(TopRank, "TopRank", settings, mistakes=WRONG_TOPRANKS)


@check(
    points=1,
    of="exchanged",
    hints=[
        "Which pairs of positions have their turn in round 0, and which ones in round 1?",
        "The upper positions of the pairs are (played + 1) % 2, and every second one from there to K - 2.",
        "Copy the base list; for k in range((played + 1) % 2, K - 1, 2): exchange k and k + 1 if coins[k] < 0.5 and "
        "not settled[k].",
    ],
)
def neighbours_take_turns(trial: Trial) -> None:
    """In rounds 0, 2, ... the positions (1, 2), (3, 4), ... may be exchanged, in the others (0, 1), (2, 3), ..."""

    def every_pair(base: Any, settled: Any, coins: Any, played: int) -> list[int]:
        ranking = list(base)
        for k in range(len(base) - 1):
            if coins[k] < 0.5 and not settled[k]:
                ranking[k : k + 2] = ranking[k + 1], ranking[k]
        return ranking

    def by_pair(base: Any, settled: Any, coins: Any, played: int) -> list[int]:
        moved = {k: coins[number] for number, k in enumerate(upper_positions(played, len(base)))}
        return exchanged(base, settled, [moved.get(k, 1.0) for k in range(len(base))], played)

    mistakes = {
        "the other rounds' pairs are exchanged: round 0 has (1, 2), (3, 4), ...": lambda b, s, c, t: exchanged(
            b, s, c, t + 1
        ),
        "all neighbours are exchanged in every round": every_pair,
        "settled pairs are exchanged, too": lambda b, s, c, t: exchanged(b, [False] * len(b), c, t),
        "only settled pairs are exchanged": lambda b, s, c, t: exchanged(b, [not x for x in s], c, t),
        "the coin is read the wrong way round: exchange if it is below 0.5": lambda b, s, c, t: exchanged(
            b, s, [0.999 - x for x in c], t
        ),
        "one coin decides about all pairs": lambda b, s, c, t: exchanged(b, s, [c[(t + 1) % 2]] * len(b), t),
        "one coin decides about all pairs, that of position 0": lambda b, s, c, t: exchanged(b, s, [c[0]] * len(b), t),
        "coins are counted by pairs: that of a pair is the coin of its upper position": by_pair,
        "the coin is that of the lower position": lambda b, s, c, t: exchanged(b, s, [*c[1:], 1.0], t),
        "coins are taken by item, not by position": lambda b, s, c, t: exchanged(b, s, [c[i] for i in b], t),
        "the last pair is missing": lambda b, s, c, t: [*exchanged(b[:-1], s, c, t), b[-1]],
        "nothing is exchanged": lambda b, s, c, t: b,
    }
    cases: list[Any] = [([0], [], [0.2], 0), ([0], [], [0.2], 1)]
    cases += [([1, 0], [bool(s)], [c, 0.7], t) for t in (0, 1) for s in (0, 1) for c in (0.2, 0.5, 0.8)]
    for number in range(DRAWN):
        items = int(trial.rng.integers(3, 9))
        settled = (trial.rng.random(items - 1) < 0.3).tolist()
        coins = draw_coins(trial.rng, 1, items)[0]
        cases.append((trial.rng.permutation(items).tolist(), settled, coins, number))
    trial.compare("exchanged", exchanged, cases, mistakes=mistakes)


@check(
    points=1,
    of="bubbled_up",
    hints=[
        "Go down the list once; look at the items that are neighbours now, after the exchanges above.",
        "With i above j the question is whether lead[j][i] > 2 * math.sqrt(compared[j][i] * math.log(1 / delta)).",
        "Copy the base list; for k in range(K - 1): i, j = ranking[k], ranking[k + 1]; if j was found better, "
        "exchange them in the copy.",
    ],
)
def better_items_bubble_up_in_one_pass(trial: Trial) -> None:
    """One pass from the top exchanges neighbours of which the lower one was found better."""

    def upside_down(base: Any, lead: Any, *rest: Any) -> list[int]:
        return bubbled_up(base, [[-x for x in row] for row in lead], *rest)

    def not_strictly(base: Any, lead: Any, *rest: Any) -> list[int]:
        return bubbled_up(base, [[x + 1e-9 for x in row] for row in lead], *rest)

    mistakes: dict[str, Callable[..., Any]] = {
        "the lead is read the wrong way round: the lower item must be the better one": upside_down,
        "the lead must be larger than the radius: with n = 0 nothing was found": not_strictly,
        "nothing is exchanged": lambda base, *rest: base,
    }

    def overwritten(base: Any, lead: Any, compared: Any, delta: float) -> list[int]:
        ranking = list(base)
        for k, (i, j) in enumerate(itertools.pairwise(base)):
            if lead[j][i] > bubblerank_radius(compared[j][i], delta):
                ranking[k : k + 2] = j, i
        return ranking

    mistakes["neighbours are those of the old list, so an item is there twice"] = overwritten
    mistakes |= WRONG_PASSES
    mistakes |= {why: partial(bubbled_up, radius=radius) for why, radius in WRONG_RADII.items()}
    cases: list[Any] = [([1, 0], [[0, s], [-s, 0]], [[0, n], [n, 0]], 0.5) for n in (0, 2, 3, 10) for s in (n, -n)]
    for number in range(2 * DRAWN):
        items, delta = 3 + number // 40, DELTAS[number % len(DELTAS)]
        lead, compared = square(items), square(items)
        for i, j in itertools.combinations(range(items), 2):
            n = int(trial.rng.integers(0, 120))
            scale = trial.rng.uniform(-1.4, 1.4)
            s = min(max(round(scale * bubblerank_radius(n, delta)), -n), n)
            lead[i][j], lead[j][i], compared[i][j], compared[j][i] = s, -s, n, n
        cases.append((trial.rng.permutation(items).tolist(), lead, compared, delta))
    trial.compare("bubbled_up", bubbled_up, cases, mistakes=mistakes)


def violations_of(settings: Sequence[Setting], lists: Sequence[Any]) -> str:
    """Say which lists violate the safety constraint, if the oracle's lists of the same setting do not."""
    for one, shown in zip(settings, lists, strict=True):
        first, attraction = one.arguments["initial_list"], best_first(one.arguments)
        unsafe, allowed = violations(shown, first, attraction), misordered(first, attraction)
        if unsafe and not violations(played(BubbleRank(**one.arguments), *one.users)[0], first, attraction):
            ranking = shown[unsafe[0]]
            return (
                f"it is not safe: the attraction is {attraction.round(3).tolist()}, {first} has {pairs(allowed)}, and "
                f"{len(unsafe)} of {len(shown)} lists have more than {allowed} + {len(first)} / 2, such as {ranking} "
                f"with {pairs(misordered(ranking, attraction))}"
            )
    return ""


def pairs(number: int) -> str:
    return f"{number} misordered pair{'' if number == 1 else 's'}"


@check(
    points=2,
    of="BubbleRank",
    hints=[
        "act() exchanges some of the round's pairs in a copy of the base list. Only update() changes the base list.",
        "update(): the round's pairs are those of act(), with the items of the displayed list. Count a pair if exactly "
        "one of the two was clicked, in both directions: s(i, j) and s(j, i), n(i, j) and n(j, i).",
        "After counting, self.base = bubbled_up(self.base, ...), in every round, and then the round's number grows.",
    ],
)
def bubblerank_displays_the_same_safe_lists(trial: Trial) -> None:
    """BubbleRank displays the right lists for up to 2,000 rounds, and is as safe as these."""
    settings = [setting for size in BUBBLERANKS for setting in bubblerank_settings(size, trial.rng)]
    trial.expect_play(
        BubbleRank,
        "BubbleRank",
        settings,
        mistakes=WRONG_BUBBLERANKS,
        remark=lambda lists: violations_of(settings, lists),
    )


# -- the picture -----------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw regret and violations of the submission's agents beside those of the production list and of random lists."""
    rng = np.random.default_rng(1)
    items, rounds = 8, 8_000
    attraction, examination = np.linspace(0.9, 0.1, items), np.linspace(1.0, 0.6, items)
    start = [1, 0, 3, 2, 5, 4, 7, 6]
    coins = draw_coins(rng, rounds, items)
    users = draw_users(rng, attraction, items, rounds)
    lists = {
        "production list": [start] * rounds,
        "random": rng.permuted(np.tile(np.arange(items), (rounds, 1)), axis=1).tolist(),
    }
    if toprank_displays_the_same_lists.name in passed:
        agent = student.make("TopRank", num_items=items, num_positions=items, delta=1 / rounds, coins=coins)
        lists["yours, TopRank"] = student.play(agent, *users)
    if bubblerank_displays_the_same_safe_lists.name in passed:
        agent = student.make("BubbleRank", initial_list=start, delta=1 / rounds, coins=coins)
        lists["yours, BubbleRank"] = student.play(agent, *users)
    if len(lists) == 2:
        return False
    left, right = figure.subplots(1, 2)
    regret = {
        name: np.cumsum(examination @ (attraction - attraction[np.array(them)]).T) for name, them in lists.items()
    }
    unsafe = {name: cumulated(violations(them, start, attraction), rounds) for name, them in lists.items()}
    draw_curves(left, regret, title=f"{items} items, all displayed")
    draw_curves(right, unsafe, y_label="violations of the safety constraint", title=f"{rounds:,} users of the PBM")
    left.set_ylim(0, 1.2 * regret["production list"][-1])  # random lists are far above
    right.set_ylim(0, 1.2 * max(10, *(curve[-1] for name, curve in unsafe.items() if name != "random")))
    handles, names = left.get_legend_handles_labels()
    for axes in (left, right):
        axes.get_legend().remove()
    figure.legend(
        handles, names, loc="outside upper left", ncols=len(names), frameon=False, columnspacing=1.2, handlelength=1.7
    )
    return True


def cumulated(when: Any, rounds: int) -> Any:
    marks = np.zeros(rounds)
    marks[when] = 1
    return np.cumsum(marks)


EXERCISE = Exercise(
    title="Sort items by comparing them, and stay safe: TopRank and BubbleRank",
    handout=HANDOUTS / "05_safe_ranking.py",
    checks=(
        differences_count_within_blocks,
        the_radius_is_that_of_line_12,
        blocks_are_peeled_off,
        toprank_displays_the_same_lists,
        neighbours_take_turns,
        better_items_bubble_up_in_one_pass,
        bubblerank_displays_the_same_safe_lists,
    ),
    draw=draw,
)
