"""Exercise 5: right solutions have full points, typical mistakes fail at their checks, the oracles are the papers'."""

import itertools
import math
import re

import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes, solution

from rankgym.exercises.playing import played
from rankgym.exercises.topics import safe_rankers
from rankgym.exercises.topics.safe_rankers import (
    WRONG_BUBBLERANKS,
    WRONG_PASSES,
    WRONG_TOPRANKS,
    BubbleRank,
    TopRank,
    bubblerank_radius,
    toprank_radius,
)
from rankgym.exercises.topics.safe_ranking import (
    ALWAYS,
    BUBBLERANKS,
    DELTAS,
    EXERCISE,
    TOPRANKS,
    bubblerank_settings,
    draw_users,
    pairs,
    toprank_setting,
)

U = "differences_count_within_blocks"
RADIUS = "the_radius_is_that_of_line_12"
BLOCKS = "blocks_are_peeled_off"
TOPRANK = "toprank_displays_the_same_lists"
TURNS = "neighbours_take_turns"
PASS = "better_items_bubble_up_in_one_pass"
BUBBLERANK = "bubblerank_displays_the_same_safe_lists"
MISTAKES = [
    Mistake(
        "displayed pairs only",
        "differences[i][j] = clicked[i] - clicked[j]",
        "differences[i][j] = (clicked[i] - clicked[j]) * (i in displayed and j in displayed)",
        U,
        "counts as not clicked",
    ),
    Mistake(
        "compares across blocks", "        for i in block:\n            for j in block:",
        "        for i in block:\n            for j in range(items):", U, "items of different blocks"
    ),
    Mistake("sign", "= clicked[i] - clicked[j]", "= clicked[j] - clicked[i]", U, "wrong way round"),
    Mistake("absolute values", "= clicked[i] - clicked[j]", "= abs(clicked[i] - clicked[j])", U, "absolute values"),
    Mistake("bracket of the logarithm", "math.log(c / delta * math.sqrt(compared))", "math.log(c / delta) * "
            "math.sqrt(compared)", RADIUS, "outside of the logarithm"),
    Mistake("no square root of N", "delta * math.sqrt(compared))", "delta * compared)", RADIUS, "N has no square root"),
    Mistake("no factor 2", "math.sqrt(2 * compared * math.log(c", "math.sqrt(compared * math.log(c",
            RADIUS, "factor 2"),
    Mistake("log10", "math.log(c / delta", "math.log10(c / delta", RADIUS, "natural"),
    Mistake("erf(2)", "math.erf(math.sqrt(2))", "math.erf(2)", RADIUS, "c is wrong"),
    Mistake("N = 0 decides", "return math.inf", "return 0.0", RADIUS, "N = 0"),
    Mistake("relation reversed", "for j, i in worse if i in left", "for i, j in worse if i in left", BLOCKS,
            "wrong way round"),
    Mistake("items that are gone still beat", "{j for j, i in worse if i in left}", "{j for j, i in worse}", BLOCKS,
            "only those that remain count"),
    Mistake("no cycles", "            block = left\n", "            block = left[:1]\n", BLOCKS, "[[0, 1]]"),
    Mistake("endless on a cycle", "        if not block:  # a cycle\n            block = left\n", "",
            BLOCKS, "endless loop"),
    Mistake("largest coin first", "key=lambda item: coins[item])", "key=lambda item: -coins[item])", TOPRANK,
            "largest coin comes first"),
    Mistake("no shuffle", "sorted(block, key=lambda item: coins[item])", "block", TOPRANK, "not shuffled"),
    Mistake("coins by position", "sorted(block, key=lambda item: coins[item])",
            "[item for _, item in sorted(zip(coins[len(ranking):], block))]", TOPRANK, "by position, not by item"),
    Mistake("the same coins in every round", "coins = self.coins[self.round]", "coins = self.coins[0]", TOPRANK,
            "every round has the coins of round 0"),
    Mistake("rounds count from 1", "self.delta, self.coins, self.round = delta, coins, 0",
            "self.delta, self.coins, self.round = delta, coins, 1", TOPRANK, "round t + 1"),
    Mistake("shuffles all items", "        for block in self.blocks:\n            ranking += sorted(block,",
            "        for block in [sum(self.blocks, [])]:\n            ranking += sorted(block,", TOPRANK,
            "block comes after block"),
    Mistake("N counts rounds", "self.compared[i][j] += abs(differences[i][j])", "self.compared[i][j] = self.round + 1",
            TOPRANK, "N counts rounds"),
    Mistake("adds the worse pair the wrong way", "self.worse.append([j, i])", "self.worse.append([i, j])", TOPRANK,
            "better item of a pair is taken for the worse"),
    Mistake("the relation is made anew", "        differences = block_differences(self.blocks, displayed, clicks)\n",
            "        differences = block_differences(self.blocks, displayed, clicks)\n        self.worse = []\n",
            TOPRANK,
            "made anew in each round"),
    Mistake("the blocks never change",
            "        self.blocks = partition(self.num_items, self.worse)\n        self.round",
            "        self.round", TOPRANK, "blocks change with the relation"),
    Mistake("rows are one list", "differences = [[0] * items for _ in range(items)]",
            "differences = [[0] * items] * items", U, "are one list"),
    Mistake("rows of TopRank are one list",
            "        self.lead = [[0] * num_items for _ in range(num_items)]\n"
            "        self.compared = [[0] * num_items for _ in range(num_items)]\n",
            "        self.lead, self.compared = [[0] * num_items] * num_items, [[0] * num_items] * num_items\n",
            TOPRANK, "a new row for each item"),
    Mistake("rows are one list, and counted first",
            "        for i in range(self.num_items):\n            for j in range(self.num_items):\n"
            "                if differences[i][j] != 0:\n"
            "                    self.lead[i][j] += differences[i][j]\n"
            "                    self.compared[i][j] += abs(differences[i][j])\n",
            "        if self.round == 0:\n            self.lead = [[0] * self.num_items] * self.num_items\n"
            "            self.compared = [[0] * self.num_items] * self.num_items\n"
            "        for i in range(self.num_items):\n            for j in range(self.num_items):\n"
            "                self.lead[i][j] += differences[i][j]\n"
            "                self.compared[i][j] += abs(differences[i][j])\n"
            "        for i in range(self.num_items):\n            for j in range(self.num_items):\n"
            "                if True:\n",
            TOPRANK, "each row of S and N anew"),
    Mistake("N = S", "        self.compared = [[0] * num_items for _ in range(num_items)]\n",
            "        self.compared = self.lead\n", TOPRANK, "as after N = S"),
    Mistake("coins by position within the block", "sorted(block, key=lambda item: coins[item])",
            "[item for _, item in sorted(zip(coins, block))]", TOPRANK, "within the block"),
    Mistake("i > j only", "if reached and [j, i] not in", "if reached and i > j and [j, i] not in", TOPRANK,
            "only pairs with i > j"),
    Mistake("i < j only", "if reached and [j, i] not in", "if reached and i < j and [j, i] not in", TOPRANK,
            "only pairs with i < j"),
    Mistake("the other parity", "    for k in range((played + 1) % 2, len(base)",
            "    for k in range(played % 2, len(base)",
            TURNS, "the other rounds' pairs"),
    Mistake("all neighbours", "    for k in range((played + 1) % 2, len(base) - 1, 2):",
            "    for k in range(len(base) - 1):",
            TURNS, "all neighbours are exchanged"),
    Mistake("settled pairs, too", "if coins[k] < 0.5 and not settled[k]:", "if coins[k] < 0.5:", TURNS,
            "settled pairs are exchanged"),
    Mistake("coin the wrong way round", "if coins[k] < 0.5 and", "if coins[k] >= 0.5 and", TURNS, "wrong way round"),
    Mistake("one coin a round", "if coins[k] < 0.5 and", "if coins[0] < 0.5 and", TURNS, "one coin decides"),
    Mistake("coins by item", "if coins[k] < 0.5 and", "if coins[base[k]] < 0.5 and", TURNS, "by item, not by position"),
    Mistake("changes the base list", "    ranking = list(base)\n    for k in range((played", "    ranking = base\n"
            "    for k in range((played", BUBBLERANK, "exchanges by coins are for one round"),
    Mistake("bottom up", "    for k in range(len(ranking) - 1):", "    for k in reversed(range(len(ranking) - 1)):",
            PASS,
            "from the top"),
    Mistake("old neighbours", "        i, j = ranking[k], ranking[k + 1]\n        if lead[j][i] >",
            "        i, j = base[k], base[k + 1]\n        if lead[j][i] >", PASS, "item is there twice"),
    Mistake("not strictly", "if lead[j][i] > 2", "if lead[j][i] >= 2", PASS, "larger than the radius"),
    Mistake("lead of the upper item", "if lead[j][i] > 2", "if lead[i][j] > 2", PASS, "wrong way round"),
    Mistake("2 inside of the root", "> 2 * math.sqrt(compared[j][i] *", "> math.sqrt(2 * compared[j][i] *", PASS,
            "factor 2 is inside"),
    Mistake("no 2", "> 2 * math.sqrt(compared[j][i] *", "> math.sqrt(compared[j][i] *", PASS, "factor 2 of the radius"),
    Mistake("no log", "compared[j][i] * math.log(1 / delta))", "compared[j][i] / delta)", PASS, "logarithm is missing"),
    Mistake("counts when both are clicked", "            if clicks[k] != clicks[k + 1]:\n", "            if True:\n",
            BUBBLERANK, "exactly one of the two"),
    Mistake("counts all neighbours", "        for k in range((self.played + 1) % 2, len(displayed) - 1, 2):",
            "        for k in range(len(displayed) - 1):", BUBBLERANK, "not only the round's pairs"),
    Mistake("counts the other pairs", "        for k in range((self.played + 1) % 2, len(displayed) - 1, 2):",
            "        for k in range(self.played % 2, len(displayed) - 1, 2):",
            BUBBLERANK, "not those that were exchanged"),
    Mistake("counts the base list", "            i, j = displayed[k], displayed[k + 1]\n",
            "            i, j = self.base[k], self.base[k + 1]\n", BUBBLERANK, "items of the base list"),
    Mistake("one direction only", "                self.lead[j][i] += clicks[k + 1] - clicks[k]\n", "",
            BUBBLERANK, "s(j, i) is -s(i, j)"),
    Mistake("n in one direction", "                self.compared[j][i] += 1\n", "", BUBBLERANK, "n(j, i) is the same"),
    Mistake("rows of BubbleRank are one list",
            "        self.lead = [[0] * items for _ in range(items)]\n"
            "        self.compared = [[0] * items for _ in range(items)]\n",
            "        self.lead = [[0] * items] * items\n        self.compared = [[0] * items] * items\n",
            BUBBLERANK, "are one list"),
    Mistake("n = s", "        self.compared = [[0] * items for _ in range(items)]\n\n    def act",
            "        self.compared = self.lead\n\n    def act", BUBBLERANK, "as after n = s"),
    Mistake("shuffles all", "        return exchanged(self.base, settled, self.coins[self.played], self.played)",
            "        coins = self.coins[self.played]\n"
            "        return sorted(self.base, key=lambda item: coins[item])", BUBBLERANK, "it is not safe"),
    Mistake("never improves", "        self.base = bubbled_up(self.base, self.lead, self.compared, self.delta)\n", "",
            BUBBLERANK, "base list never changes"),
    Mistake("keeps what was displayed", "self.base = bubbled_up(self.base,", "self.base = bubbled_up(displayed,",
            BUBBLERANK, "displayed list becomes the base list"),
    Mistake("the same coins in each round", "self.coins[self.played], self.played)", "self.coins[0], self.played)",
            BUBBLERANK, "every round has the coins of round 0"),
]  # fmt: skip
ARRAYS = """
import numpy as np


def block_differences(blocks, displayed, clicks):
    clicked = np.zeros(sum(map(len, blocks)), int)
    clicked[displayed] = clicks
    inside = np.zeros((len(clicked), len(clicked)), int)
    for block in blocks:
        inside[np.ix_(block, block)] = 1
    return (clicked[:, None] - clicked) * inside


def toprank_radius(compared, delta):
    c = 4 * np.sqrt(2 / np.pi) / math.erf(np.sqrt(2))
    with np.errstate(all="ignore"):
        n = np.asarray(compared, float)
        found = np.where(n > 0, np.sqrt(2 * n * (np.log(c) - np.log(delta) + np.log(n) / 2)), np.inf)
    return found if found.ndim else found[()]


def partition(num_items, worse):
    matrix = np.zeros((num_items, num_items), bool)
    for j, i in worse:
        matrix[j, i] = True
    left, blocks = np.arange(num_items), ()
    while len(left):
        block = left[~matrix[np.ix_(left, left)].any(1)]
        block = block if len(block) else left
        blocks += (tuple(block),)
        left = np.setdiff1d(left, block)
    return blocks


class TopRank:
    def __init__(self, num_items, num_positions, delta, coins):
        self.shape, self.delta, self.coins, self.t = (num_items, num_positions), delta, iter(np.array(coins)), 0
        self.wins = np.zeros((num_items, num_items), int)
        self.worse = np.zeros((num_items, num_items), bool)

    def act(self):
        self.blocks = partition(self.shape[0], np.argwhere(self.worse))
        coins = next(self.coins)
        self.shown = np.concatenate([np.array(block)[np.argsort(coins[list(block)])] for block in self.blocks])
        return self.shown[: self.shape[1]]

    def update(self, displayed, clicks):
        self.wins += block_differences([list(block) for block in self.blocks], displayed, clicks) > 0
        lead, compared = self.wins - self.wins.T, self.wins + self.wins.T
        self.worse |= (lead >= toprank_radius(compared, self.delta)).T


def exchanged(base, settled, coins, played):
    ranking = np.array(base)
    for k in np.arange(1 - played % 2, len(base) - 1, 2):
        if not settled[k] and coins[k] < 0.5:
            ranking[[k, k + 1]] = ranking[[k + 1, k]]
    return ranking


def better(lead, compared, delta):
    return lead > 0 and lead**2 > -4 * compared * np.log(delta)


def bubbled_up(base, lead, compared, delta):
    lead, compared, base = np.array(lead), np.array(compared), [*base]
    for k, j in enumerate(base[1:]):
        if better(lead[j, base[k]], compared[j, base[k]], delta):
            base[k : k + 2] = [j, base[k]]
    return base


class BubbleRank:
    def __init__(self, initial_list, delta, coins):
        self.base, self.delta, self.coins, self.t = tuple(initial_list), delta, np.array(coins), 0
        self.wins = np.zeros((len(self.base),) * 2, int)

    def act(self):
        lead, compared = self.wins - self.wins.T, self.wins + self.wins.T
        settled = [better(lead[i, j], compared[i, j], self.delta) for i, j in zip(self.base, self.base[1:])]
        return tuple(exchanged(self.base, settled, self.coins[self.t], self.t))

    def update(self, displayed, clicks):
        for k in range(1 - self.t % 2, len(displayed) - 1, 2):
            if clicks[k] > clicks[k + 1]:
                self.wins[displayed[k], displayed[k + 1]] += 1
            elif clicks[k] < clicks[k + 1]:
                self.wins[displayed[k + 1], displayed[k]] += 1
        self.base = bubbled_up(self.base, self.wins - self.wins.T, self.wins + self.wins.T, self.delta)
        self.t += 1
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


def test_a_solution_with_arrays_has_full_points():
    found = outcomes(EXERCISE, f"import math\n{ARRAYS}")
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


def test_an_unsafe_agent_is_told_what_its_lists_cost():
    shuffles = "\n\nBubbleRank.act = lambda self: sorted(self.base, key=lambda item: self.coins[self.played][item])\n"
    fault = outcomes(EXERCISE, solution(EXERCISE.name) + shuffles, only=BUBBLERANK)[BUBBLERANK].fault
    assert re.search(
        r"it is not safe: the attraction is \[0\.9, .*0\.1\], \[.*\] has \d+ misordered pairs?, and \d+ of \d+ lists",
        fault.mistake,
    )
    assert (pairs(0), pairs(1), pairs(2)) == ("0 misordered pairs", "1 misordered pair", "2 misordered pairs")


@pytest.mark.parametrize(
    ("make", "mistakes", "settings"),
    [
        (TopRank, WRONG_TOPRANKS, [toprank_setting(size, None) for size in TOPRANKS if size in ALWAYS]),
        (
            BubbleRank,
            WRONG_BUBBLERANKS,
            [one for size in BUBBLERANKS if size in ALWAYS for one in bubblerank_settings(size, None)],
        ),
    ],
)
def test_the_first_users_tell_mistakes_apart(make, mistakes, settings):
    makers = {"": make, **mistakes}
    lists = {why: [one.play(maker(**one.arguments))[0] for one in settings] for why, maker in makers.items()}
    assert [(one, other) for one, other in itertools.combinations(lists, 2) if lists[one] == lists[other]] == []


@pytest.mark.parametrize("improve", WRONG_PASSES.values())
def test_the_pass_may_go_any_way_in_an_agent(improve):
    """Why these passes are no mistakes of an agent: its lists are the same."""
    for setting in bubblerank_settings((5, 0.01, 2_000), None):
        right, other = BubbleRank(**setting.arguments), BubbleRank(**setting.arguments, improve=improve)
        assert setting.play(right) == setting.play(other)


def test_a_list_that_never_changes_is_safe_but_not_right():
    constant = "\n\nBubbleRank.act = lambda self: self.base\nBubbleRank.update = lambda self, *_: None\n"
    constant += "TopRank.act = lambda self: list(range(self.num_positions))\n"
    found = outcomes(EXERCISE, solution(EXERCISE.name) + constant)
    assert {name for name, outcome in found.items() if outcome.fault} == {TOPRANK, BUBBLERANK}


def test_no_radius_comes_close_to_a_whole_number():
    """Decisions are the same however the radius is rounded."""
    used = {case[2] for case in TOPRANKS} | {case[1] for case in BUBBLERANKS} | set(DELTAS)
    for delta, radius in itertools.product(used, (toprank_radius, bubblerank_radius)):
        radii = [radius(n, delta) for n in range(1, 2_001)]
        assert min(abs(r - round(r)) for r in radii) > 1e-9


# The package's agents draw their own coins: the oracles see their lists and must know the same of them.


def test_the_toprank_oracle_is_the_packages():
    from rankgym_agents import TopRank as Package

    items, positions, delta, rounds = 6, 4, 0.1, 3_000
    rng = np.random.default_rng(5)
    agent = Package(num_items=items, num_positions=positions, delta=delta, seed=6)
    oracle = TopRank(items, positions, delta, [[0.0] * items])
    liked, looked = draw_users(rng, np.linspace(0.9, 0.1, items), positions, rounds)
    for wanted, seen in zip(liked, looked, strict=True):
        displayed = agent.act()
        clicks = wanted[displayed] & seen
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].astype(int).tolist())
        assert {(int(j), int(i)) for j, i in np.argwhere(agent.state.worse[0])} == oracle.worse
        depth = [d for i in range(items) for d, block in enumerate(oracle.blocks) if i in block]
        assert depth == agent.state.block[0].tolist()
        assert all(depth[j] > depth[i] for j, i in oracle.worse)  # items of a pair are not compared again
    wins = agent.state.wins[0, :, :items]
    assert (wins - wins.T == oracle.lead).all()
    assert (wins + wins.T == oracle.compared).all()
    assert len(oracle.worse) > 5


def test_the_bubblerank_oracle_is_the_packages():
    from rankgym_agents import BubbleRank as Package

    items, delta, rounds = 6, 0.01, 3_000
    rng = np.random.default_rng(7)
    start = rng.permutation(items)
    agent = Package(num_items=items, num_positions=items, delta=delta, seed=8, initial_list=start)
    liked, looked = draw_users(rng, np.linspace(0.9, 0.1, items), items, rounds)
    oracle = BubbleRank(start.tolist(), delta, [[0.0] * items])
    for t, (wanted, seen) in enumerate(zip(liked, looked, strict=True)):
        displayed = agent.act()
        all_exchanged = safe_rankers.exchanged(oracle.base, oracle.settled(), [0.0] * items, t)
        moved = [k for k in range(items) if displayed[0, k] != oracle.base[k]]
        assert all(displayed[0, k] == all_exchanged[k] for k in moved)  # only pairs whose turn it is
        clicks = wanted[displayed] & seen
        agent.update(displayed, clicks)
        oracle.update(displayed[0].tolist(), clicks[0].astype(int).tolist())
        assert agent.state.base[0].tolist() == oracle.base
    wins = agent.state.wins[0]
    assert (wins - wins.T == oracle.lead).all()
    assert (wins + wins.T == oracle.compared).all()
    assert oracle.base != start.tolist()


def test_two_items_part_in_exactly_the_round_of_the_formulas():
    """Item 1 alone is clicked in every round: lead and comparisons are the number of rounds in which they count."""
    delta, rounds = 0.1, 40
    users = np.array([[False, True]] * rounds), np.ones((rounds, 2), bool)
    coins = [[0.2, 0.7]] * rounds
    lists, _ = played(TopRank(2, 2, delta, coins), *users, False)
    parted = next(n for n in range(1, rounds) if n >= toprank_radius(n, delta))
    assert lists == [[0, 1]] * parted + [[1, 0]] * (rounds - parted)
    lists, _ = played(BubbleRank([0, 1], delta, coins), *users, False)
    needed = math.floor(4 * math.log(1 / delta)) + 1  # the first n with n > 2 sqrt(n log(1 / delta))
    turns = [[0, 1] if t % 2 == 0 else [1, 0] for t in range(2 * needed)]  # the coin exchanges them in their turn
    assert lists == turns + [[1, 0]] * (rounds - 2 * needed)


def test_every_displayed_list_is_safe_where_the_base_list_is():
    """The step of Lemma 2's proof: disjoint neighbours are exchanged, so at most K / 2 pairs are added."""
    for items in range(2, 7):
        for base, played_rounds in itertools.product(itertools.permutations(range(items)), (0, 1)):
            shown = safe_rankers.exchanged(base, [False] * items, [0.0] * items, played_rounds)
            attraction = [-item for item in range(items)]
            before, after = (safe_rankers.misordered(ranking, attraction) for ranking in (base, shown))
            assert after <= before + items / 2
