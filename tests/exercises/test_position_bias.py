"""Exercise 4: right solutions have full points, each typical mistake fails at its check, named."""

import itertools
import math

import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes

from rankgym.exercises.playing import played
from rankgym.exercises.topics.pbm_rankers import FIRST_USERS, SIZES, falling, maker, mistakes, setting_of
from rankgym.exercises.topics.position_bias import EXERCISE, confirms, corrected, expected_rates, rates
from rankgym_agents import PBMUCB

RATES = "rates_are_clicks_by_displays"
EXPECTED = "expected_rates_are_expectations"
CORRECTED = "estimates_are_clicks_by_looks"
CONFIRMS = "a_list_confirms_itself_if_its_rates_fall"
INDEX = "pbm_ucb_widens_the_bound_for_displays_that_few_look_at"
FOOLED = "click_through_rate_displays_the_largest_bounds"
AGENT = "pbm_ucb_displays_the_largest_bounds"

RATE = "[c / n if n else None for c, n in zip(clicked, displays)]"
COUNTED = "            displays[item] += 1\n            clicked[item] += click\n"
EXPECTATION = "[alpha * x / n if n else None for alpha, x, n in zip(attraction, looks, displays)]"
ESTIMATE = "[c / x if x else None for c, x in zip(clicked, looks)]"
LOOKED = "            looks[item] += chi\n            clicked[item] += click\n"
COMPARED = "all(rates[k] > rates[k + 1] for k in range(len(rates) - 1))"
FIRST, SECOND = "math.sqrt(displays / looks)", "math.sqrt(math.log(t) / (2 * looks))"
ACT = "return ranked[: self.num_positions]"
CALL = "pbm_ucb_index(s, n, x, self.t)"
LOOKS = "            self.looks[item] += chi\n"
LEARN = "for item, click, chi in zip(displayed, clicks, self.examination):"
ONES = "self.examination = [1.0] * num_positions"

MISTAKES = [
    Mistake(
        "counts of positions",
        "        for item, click in zip(ranking, row):\n",
        "        for item, click in enumerate(row):\n",
        RATES,
        "by position, not by item",
    ),
    Mistake("by rounds", RATE, "[c / len(rankings) for c in clicked]", RATES, "divided by the number of rounds"),
    Mistake("numbers of clicks", RATE, "clicked", RATES, "divide by the displays"),
    Mistake("0 for unseen", RATE, "[c / n if n else 0.0 for c, n in zip(clicked, displays)]", RATES, "it has no rate"),
    Mistake("unseen divides", RATE, "[c / n for c, n in zip(clicked, displays)]", RATES, "division by zero"),
    Mistake(
        "None for no clicks", RATE, "[c / n if c else None for c, n in zip(clicked, displays)]", RATES, "rate is 0"
    ),
    Mistake("rounded", RATE, "[c // n if n else None for c, n in zip(clicked, displays)]", RATES, "rounded down"),
    Mistake("stops at the click", COUNTED, f"{COUNTED}            if click:\n                break\n", RATES, ""),
    Mistake("attraction", EXPECTATION, "[a if n else None for a, n in zip(attraction, displays)]", EXPECTED, "alone"),
    Mistake("expected clicks", EXPECTATION, EXPECTATION.replace("x / n", "x"), EXPECTED, "divide by the displays"),
    Mistake(
        "without attraction", EXPECTATION, EXPECTATION.replace("alpha * x", "x"), EXPECTED, "mean examination alone"
    ),
    Mistake("by looks", EXPECTATION, EXPECTATION.replace("x / n", "n / x"), EXPECTED, "divided by the looks"),
    Mistake(
        "all rounds",
        EXPECTATION,
        EXPECTATION.replace("x / n", "x / len(rankings)"),
        EXPECTED,
        "divided by the number of",
    ),
    Mistake(
        "last display",
        "            looks[item] += chi\n    return",
        "            looks[item] = chi\n    return",
        EXPECTED,
        "",
    ),
    Mistake(
        "exchanged",
        "        for item, chi in zip(ranking, examination):\n            displays[item] += 1\n"
        "            looks[item] += chi\n    return [alpha * x / n if n else None for alpha, x, n in "
        "zip(attraction, looks, displays)]",
        "        for k, item in enumerate(ranking):\n            displays[item] += 1\n"
        "            looks[item] += attraction[k] * examination[item]\n"
        "    return [x / n if n else None for x, n in zip(looks, displays)]",
        EXPECTED,
        "items and positions are exchanged",
    ),
    Mistake(
        "exchanged in a list",
        "[chi * attraction[item] for chi, item in zip(examination, ranking)]",
        "[examination[item] * attraction[k] for k, item in enumerate(ranking)]",
        CONFIRMS,
        "items and positions are exchanged",
    ),
    Mistake(
        "rates again", ESTIMATE, "click_through_rates(rankings, clicks, num_items)", CORRECTED, "click-through rate"
    ),
    Mistake(
        "inverse propensities",
        LOOKED,
        "            looks[item] += 1\n            clicked[item] += click / chi\n",
        CORRECTED,
        "mean of clicks / examination",
    ),
    Mistake("cut", ESTIMATE, "[min(c / x, 1.0) if x else None for c, x in zip(clicked, looks)]", CORRECTED, "cut at 1"),
    Mistake(
        "clicked looks",
        LOOKED,
        "            looks[item] += chi * click\n            clicked[item] += click\n",
        CORRECTED,
        "",
    ),
    Mistake(
        "multiplied",
        LOOKED,
        "            looks[item] += 1\n            clicked[item] += click * chi\n",
        CORRECTED,
        "multiplied by the examination",
    ),
    Mistake(
        "reverse", "zip(ranking, row, examination)", "zip(ranking, row, examination[::-1])", CORRECTED, "reverse order"
    ),
    Mistake(
        "right lists only", "[chi * attraction[item] for chi", "[attraction[item] for chi", CONFIRMS, "list is right"
    ),
    Mistake("always", COMPARED, "True", CONFIRMS, "each list"),
    Mistake("never", COMPARED, "False", CONFIRMS, "no list"),
    Mistake("rising", COMPARED, COMPARED.replace(">", "<"), CONFIRMS, "fall, not rise"),
    Mistake("opposite", COMPARED, f"not {COMPARED}", CONFIRMS, ""),
    Mistake("one pair", COMPARED, "rates[0] > rates[1]", CONFIRMS, "first two positions"),
    Mistake("the ends", COMPARED, "rates[0] > rates[-1]", CONFIRMS, "first and the last"),
    Mistake("any", COMPARED, COMPARED.replace("all(", "any("), CONFIRMS, ""),
    Mistake(
        "items by position",
        "attraction[item] for chi, item in zip(examination, ranking)]\n    return all",
        "a for chi, a in zip(examination, attraction)][: len(ranking)]\n    return all",
        CONFIRMS,
        "by position",
    ),
    Mistake("no first root", f"{FIRST} * ", "", INDEX, "root of displays / looks is missing"),
    Mistake("no roots", FIRST, "displays / looks", INDEX, "the first factor has no root"),
    Mistake("sum of roots", f"{FIRST} *", f"{FIRST} +", INDEX, "multiply them"),
    Mistake("upside down", FIRST, "math.sqrt(looks / displays)", INDEX, "upside down"),
    Mistake("no 2", SECOND, "math.sqrt(math.log(t) / looks)", INDEX, "the 2 is missing"),
    Mistake("a bracket", SECOND, "math.sqrt(math.log(t) / 2 * looks)", INDEX, "is log t / 2 times looks"),
    Mistake("root too early", SECOND, "math.sqrt(math.log(t)) / (2 * looks)", INDEX, "bracket ends too early"),
    Mistake("no log", SECOND, "math.sqrt(t / (2 * looks))", INDEX, "its logarithm belongs there"),
    Mistake("1.5 log t", SECOND, "math.sqrt(1.5 * math.log(t) / looks)", INDEX, "that of UCB1"),
    Mistake("base 10", SECOND, "math.sqrt(math.log10(t) / (2 * looks))", INDEX, "base 10"),
    Mistake("base 2", SECOND, "math.sqrt(math.log2(t) / (2 * looks))", INDEX, "base 2"),
    Mistake("t + 1", SECOND, "math.sqrt(math.log(t + 1) / (2 * looks))", INDEX, "t is the round already"),
    Mistake(
        "rate in the index", "return clicks / looks +", "return clicks / displays +", INDEX, "mean is the click-through"
    ),
    Mistake(
        "displays in the root", SECOND, "math.sqrt(math.log(t) / (2 * displays))", INDEX, "displays where looks belong"
    ),
    Mistake("lower", "return clicks / looks +", "return clicks / looks -", INDEX, "below the estimate"),
    Mistake("unseen 0", "        return math.inf", "        return 0.0", INDEX, "index infinity"),
    Mistake(
        "corrects",
        ONES,
        "self.examination = [1 / (k + 1) for k in range(num_positions)]",
        FOOLED,
        "",
    ),
    Mistake("half of it", ONES, "self.examination = [0.5] * (num_positions - 1)", FOOLED, ""),
    Mistake("no examination", LOOKS, "            self.looks[item] += 1\n", AGENT, "those of ClickThroughRate"),
    Mistake(
        "first examination", LOOKS, "            self.looks[item] += self.examination[0]\n", AGENT, "ClickThroughRate"
    ),
    Mistake("looks after clicks", LOOKS, "            self.looks[item] += chi * click or 1e-300\n", AGENT, ""),
    Mistake(
        "examination of the item",
        LOOKS,
        "            self.looks[item] += self.examination[item]\n",
        AGENT,
        "IndexError",
    ),
    Mistake(
        "reverse in the class",
        "self.examination = examination\n",
        "self.examination = examination[::-1]\n",
        AGENT,
        "reverse",
    ),
    Mistake(
        "weighted clicks",
        "self.clicks[item] += click",
        "self.clicks[item] += click / chi",
        AGENT,
        "and again by the looks",
    ),
    Mistake(
        "cascade",
        LOOKS,
        f"{LOOKS}            if click:\n                break\n",
        AGENT,
        "down to the first click",
    ),
    Mistake(
        "cascade in the other class", LOOKS, f"{LOOKS}            if click:\n                break\n", FOOLED, "down to"
    ),
    Mistake(
        "clicked only", LEARN, f"{LEARN}\n            if not click:\n                continue", AGENT, "all displayed"
    ),
    Mistake("clicks forgotten", "self.clicks[item] += click", "pass", AGENT, "clicks are not counted"),
    Mistake("t - 1", CALL, "pbm_ucb_index(s, n, x, max(self.t - 1, 1))", AGENT, "one too small"),
    Mistake("t + 1 in the class", CALL, "pbm_ucb_index(s, n, x, self.t + 1)", AGENT, "one too large"),
    Mistake("t + 1 in the other class", CALL, "pbm_ucb_index(s, n, x, self.t + 1)", FOOLED, "one too large"),
    Mistake("own t", CALL, "pbm_ucb_index(s, n, x, n or 1)", AGENT, "own number of displays"),
    Mistake("own t in the other class", CALL, "pbm_ucb_index(s, n, x, n or 1)", FOOLED, "own number of displays"),
    Mistake("t twice", ACT, f"self.t += 1\n        {ACT}", AGENT, ""),
    Mistake("t of displays", "        self.t += 1", "            self.t += 1", AGENT, "t counts displays"),
    Mistake("t stands", "        self.t += 1", "        pass", AGENT, "t does not grow"),
    Mistake("larger number", "(-indices[item], item)", "(-indices[item], -item)", AGENT, "larger number"),
    Mistake(
        "larger number in the other class", "(-indices[item], item)", "(-indices[item], -item)", FOOLED, "larger number"
    ),
    Mistake("worst first", ACT, f"{ACT}[::-1]", AGENT, "worst first"),
    Mistake("smallest", "(-indices[item], item)", "(indices[item], item)", AGENT, "smallest bounds"),
    Mistake("repeated", ACT, "return ranked[:1] * self.num_positions", AGENT, "different items out of 0"),
    Mistake("cut in the class", CALL, f"min(1.0, {CALL})", AGENT, "never displayed, too"),
    Mistake("seen ones are cut", CALL, f"(min(1.0, {CALL}) if n else math.inf)", AGENT, "bounds are cut at 1"),
    Mistake("cut in the other class", CALL, f"min(1.0, {CALL})", FOOLED, "never displayed, too"),
    Mistake(
        "UCB1's bonus",
        CALL,
        "(s / x + math.sqrt(n / x) * math.sqrt(1.5 * math.log(self.t) / x) if n else math.inf)",
        AGENT,
        "with 1.5 log t",
    ),
    Mistake(
        "UCB1 of exercise 3",
        CALL,
        "(s / n + math.sqrt(1.5 * math.log(self.t) / n) if n else math.inf)",
        FOOLED,
        "with 1.5 log t",
    ),
    Mistake(
        "base 10 in the class",
        CALL,
        "(s / x + math.sqrt(n / x) * math.sqrt(math.log10(self.t) / (2 * x)) if n else math.inf)",
        AGENT,
        "base 10",
    ),
    Mistake(
        "base 2 in the other class",
        CALL,
        "(s / n + math.sqrt(math.log2(self.t) / (2 * n)) if n else math.inf)",
        FOOLED,
        "base 2",
    ),
    Mistake("no clicks", CALL, f"({CALL} if s else math.inf)", AGENT, "an item without clicks"),
    Mistake("no clicks in the other class", CALL, f"({CALL} if s else math.inf)", FOOLED, "an item without clicks"),
    Mistake(
        "running mean",
        f"            self.clicks[item] += click\n            self.displays[item] += 1\n{LOOKS}",
        f"            self.displays[item] += 1\n{LOOKS}"
        "            mean = self.__dict__.setdefault('mean', [0.0] * len(self.looks))\n"
        "            mean[item] += (click - chi * mean[item]) / self.looks[item]\n"
        "            self.clicks[item] = mean[item] * self.looks[item]\n",
        FOOLED,
        "divide once",
    ),
    Mistake("unseen 0 in the class", CALL, f"{CALL} if n else 0.0", AGENT, "never displayed has the bound 0"),
]

ANOTHER_RIGHT_SOLUTION = """
import numpy as np


def counts(rankings, clicks, examination, num_items):
    S, N, looks = np.zeros(num_items), np.zeros(num_items, int), np.zeros(num_items)
    for ranking, row in zip(np.array(rankings), np.array(clicks)):
        S[ranking] += row
        N[ranking] += 1
        looks[ranking] += examination
    return S, N, looks


def click_through_rates(rankings, clicks, num_items):
    S, N, _ = counts(rankings, clicks, np.ones(len(clicks[0])), num_items)
    return tuple(S[i] / N[i] if N[i] else None for i in range(num_items))


def expected_click_through_rates(attraction, examination, rankings):
    places = {i: [list(ranking).index(i) for ranking in rankings if i in ranking] for i in range(len(attraction))}
    return [np.mean([examination[k] * attraction[i] for k in at]) if at else None for i, at in places.items()]


def corrected_estimates(rankings, clicks, examination, num_items):
    S, N, looks = counts(rankings, clicks, np.array(examination), num_items)
    return [s / x if n else None for s, n, x in zip(S, N, looks)]


def confirms_itself(attraction, examination, ranking):
    rates = np.array(examination) * np.array(attraction)[ranking]
    return (np.argsort(-rates) == np.arange(len(ranking))).all()


def pbm_ucb_index(clicks, displays, looks, t):
    if not displays:
        return np.inf
    return (clicks + np.sqrt(displays * np.log(t) / 2)) / looks


class PBMUCB:
    def __init__(self, num_items, num_positions, examination):
        self.chi = np.array(examination)
        self.S, self.at, self.t = np.zeros(num_items, int), np.zeros((num_items, num_positions), int), 0

    def act(self):
        self.t += 1
        N, looks = self.at.sum(axis=1), self.at @ self.chi
        with np.errstate(divide="ignore", invalid="ignore"):
            indices = np.where(N > 0, (self.S + np.sqrt(N * np.log(self.t) / 2)) / looks, np.inf)
        return np.argsort(-indices, kind="stable")[: len(self.chi)]

    def update(self, displayed, clicks):
        self.at[displayed, range(len(displayed))] += 1
        self.S[displayed] += clicks


def ClickThroughRate(num_items, num_positions):
    return PBMUCB(num_items, num_positions, np.ones(num_positions))
"""
STUBS = """
def click_through_rates(rankings, clicks, num_items):
    return [0.5] * num_items


def expected_click_through_rates(attraction, examination, rankings):
    return attraction


def corrected_estimates(rankings, clicks, examination, num_items):
    return [1.0] * num_items


def confirms_itself(attraction, examination, ranking):
    return True


def pbm_ucb_index(clicks, displays, looks, t):
    return float("inf")


class ClickThroughRate:
    def __init__(self, num_items, num_positions, examination=None):
        self.t, self.L, self.K = 0, num_items, num_positions

    def act(self):
        return list(range(self.K))

    def update(self, displayed, clicks):
        self.t += 1


class PBMUCB(ClickThroughRate):
    def act(self):
        return [(self.t + k) % self.L for k in range(self.K)]
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


@pytest.mark.parametrize("seed", [0, 1])
def test_another_right_solution_has_full_points(seed):
    found = outcomes(EXERCISE, ANOTHER_RIGHT_SOLUTION, seed)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


def test_constant_answers_have_no_points():
    assert sum(outcome.points for outcome in outcomes(EXERCISE, STUBS).values()) == 0


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


def test_expectations_are_those_of_all_users():
    """Enumerates the clicks of two rounds: a click-through rate is biased, a corrected estimate is not."""
    attraction, chi, rankings = [0.3, 0.8, 0.6], [0.9, 0.4], [[2, 0], [0, 2]]
    rate, estimate = np.zeros(3), np.zeros(3)
    for bits in itertools.product((0, 1), repeat=4):
        clicks = [list(bits[:2]), list(bits[2:])]
        places = [(chi[k] * attraction[item], row[k]) for ranking, row in zip(rankings, clicks, strict=True)
                  for k, item in enumerate(ranking)]  # fmt: skip
        probability = math.prod(p if click else 1 - p for p, click in places)
        rate += probability * np.array([x or 0.0 for x in rates(rankings, clicks, chi, 3)])
        estimate += probability * np.array([x or 0.0 for x in corrected(rankings, clicks, chi, 3)])
    expected = expected_rates(attraction, chi, rankings)
    assert expected[1] is None
    assert rate[[0, 2]] == pytest.approx([expected[0], expected[2]])
    assert estimate[[0, 2]] == pytest.approx([0.3, 0.6])
    assert expected[0] == pytest.approx(0.3 * 0.65)


def test_wrong_lists_confirm_themselves_and_the_right_one_does():
    attraction, chi = [0.3, 0.4, 0.5, 0.6], [1.0, 0.6, 0.3, 0.15]
    found = [ranking for ranking in itertools.permutations(range(4)) if confirms(attraction, chi, ranking)]
    assert (0, 1, 2, 3) in found  # upside down
    assert (3, 2, 1, 0) in found
    assert (0, 3, 1, 2) not in found  # item 3 overtakes item 0


def test_click_through_rates_lock_in_as_probably_as_the_gamblers_ruin_says():
    """The probability that the worse item stays on top for seven rounds, by enumerating all clicks, exactly."""
    rounds, above, below = 7, 0.5 * 1.0, 0.6 * 0.2  # probabilities of clicks while item 0 is on top
    up, down = above * (1 - below), below * (1 - above)  # of the difference of clicks
    make = maker()

    def on_top(agent, left):
        if agent.act() != [0, 1]:
            return 0.0
        if left == 0:
            return 1.0
        total = 0.0
        for clicks in itertools.product((0, 1), repeat=2):
            probability = math.prod(p if click else 1 - p for p, click in zip((above, below), clicks, strict=True))
            next_ = make(2, 2)
            next_.statistics, next_.round = list(agent.statistics), agent.round
            next_.update([0, 1], list(clicks))
            total += probability * on_top(next_, left - 1)
        return total

    ahead = {0: 1.0}
    for _ in range(rounds):
        moved = {}
        for lead, p in ahead.items():
            for step, q in ((1, up), (-1, down), (0, 1 - up - down)):
                if lead + step >= 0:
                    moved[lead + step] = moved.get(lead + step, 0.0) + p * q
        ahead = moved
    agent = make(2, 2)
    agent.update([0, 1], [0, 0])  # now each bound is finite
    assert on_top(agent, rounds) == pytest.approx(sum(ahead.values()), rel=1e-12)
    assert 0 < sum(ahead.values()) - (1 - down / up) < 0.01  # what the handout asks for: for ever


def test_pbm_ucb_leaves_the_wrong_list_that_click_through_rates_keep():
    """Of 20 runs click-through rates keep the wrong list in some and PBM-UCB in none.

    By the gambler's ruin a run locks in with probability 1 - .1225 / .2475 = .505 or more, so none does with a
    probability below 8e-7. PBM-UCB is wrong after 10,000 rounds only if an estimate is off by .15 after 2,500 expected
    looks or more (bonuses differ by less than .1 then), which has a probability below exp(-30) (Freedman's inequality).
    """
    attraction, chi, rounds = np.array([0.3, 0.7]), [1.0, 0.25], 10_000
    rng, wrong = np.random.default_rng(0), {True: 0, False: 0}
    for _ in range(20):
        likes, looks = rng.random((rounds, 2)) < attraction, rng.random((rounds, 2)) < chi
        for knows in wrong:
            agent = maker()(2, 2, chi if knows else None)
            wrong[knows] += played(agent, likes, looks, False)[0][-1] == [0, 1]
    assert wrong[True] == 0
    assert wrong[False] > 0


@pytest.mark.parametrize(("items", "positions"), [(4, 2), (5, 5), (8, 3)])
def test_the_oracle_displays_the_lists_of_the_packages_agent(items, positions):
    """The oracle learns from the package's lists. Ties and the first rounds are other rules: they are left out."""
    rng = np.random.default_rng(items)
    attraction, chi = rng.uniform(0.1, 0.9, items), falling(rng, positions)
    agent, compared = PBMUCB(num_items=items, num_positions=positions, examination=chi, seed=1), 0
    oracle = maker()(items, positions, chi)
    for _ in range(2_000):
        displayed = agent.act()
        bounds = sorted(oracle.state()["indices"], reverse=True)[: positions + 1]
        if min(one - other for one, other in itertools.pairwise(bounds)) > 1e-9:
            assert displayed[0].tolist() == oracle.act()
            compared += 1
        clicks = (rng.random(positions) < chi) & (rng.random(items) < attraction)[displayed[0]]
        agent.update(displayed, [clicks.astype(int)])
        oracle.update(displayed[0].tolist(), clicks.astype(int).tolist())
    assert oracle.state()["displays"] == agent.state.displays[0].tolist()
    assert oracle.state()["clicks"] == agent.state.clicked[0].tolist()
    assert compared > 1_000


@pytest.mark.parametrize("knows", [False, True])
def test_the_first_users_tell_mistakes_apart(knows):
    setting = setting_of(SIZES[0], np.random.default_rng(FIRST_USERS), knows)
    makers = {"": maker(), **mistakes(knows)}
    lists = {why: setting.play(make(**setting.arguments))[0] for why, make in makers.items()}
    assert [(one, other) for one, other in itertools.combinations(lists, 2) if lists[one] == lists[other]] == []
