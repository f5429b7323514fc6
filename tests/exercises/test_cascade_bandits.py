"""Exercise 3: right solutions have full points, each typical mistake fails at its check, named."""

import itertools
import math

import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes
from scipy.optimize import brentq
from scipy.stats import entropy

from rankgym.exercises.playing import played
from rankgym.exercises.topics.cascade_bandits import (
    EXERCISE,
    FIRST_USERS,
    KLUCB_SIZES,
    SMALLEST_GAP,
    UCB1_SIZES,
    agent_mistakes,
    divergence,
    klucb,
    maker,
    setting_of,
    ucb1,
)
from rankgym_agents import CascadeKLUCB, CascadeUCB1

OBSERVED = "observed_is_what_is_above_the_first_click_and_it"
BEST = "the_largest_indices_come_first"
UCB1 = "ucb1_adds_a_radius_to_the_mean"
KL = "kl_measures_how_badly_q_explains_p"
KLUCB = "kl_ucb_is_the_largest_plausible_mean"
AGENT = "cascade_ucb1_displays_the_largest_indices"
KL_AGENT = "cascade_kl_ucb_displays_the_largest_indices"

SORT = "sorted(range(len(indices)), key=lambda item: (-indices[item], item))"
RADIUS = "math.sqrt(1.5 * math.log(t) / observed)"
KL_VALUE = "return part(p, q) + part(1 - p, 1 - q)"
BUDGET = "math.log(t) + 3 * math.log(math.log(t)) if t > 1"
STEP = "if observed * kl(mean, middle) <= budget:"
LEARN = "zip(observed_items(displayed, clicks), clicks)"
INDEX = "return ucb1_index(self.clicked[item], self.observed[item], self.t)"
KL_INDEX = "return klucb_index(self.clicked[item], self.observed[item], self.t)"
COUNT = "            self.observed[item] += 1\n"
ACT = "return best_items(indices, self.num_positions)"
TIME = "        self.t += 1"

MISTAKES = [
    Mistake("all displayed", "        if click:\n            break\n", "", OBSERVED, "below the first click were not"),
    Mistake(
        "clicked only",
        "    return observed\n",
        "    return [i for i, c in zip(observed, clicks) if c]\n",
        OBSERVED,
        "only the clicked item counts",
    ),
    Mistake(
        "without the click",
        "        observed.append(item)\n        if click:\n            break\n",
        "        if click:\n            break\n        observed.append(item)\n",
        OBSERVED,
        "the clicked item is missing",
    ),
    Mistake(
        "one below", "    return observed\n", "    return displayed[: len(observed) + 1]\n", OBSERVED, "just below"
    ),
    Mistake(
        "nothing without a click",
        "    return observed\n",
        "    return observed if any(clicks) else []\n",
        OBSERVED,
        "without a click all displayed items",
    ),
    Mistake(
        "no click raises",
        "    return observed\n",
        "    return displayed[: clicks.index(1) + 1]\n",
        OBSERVED,
        "observed_items([4], [0])",
    ),
    Mistake(
        "down to the last click",
        "    return observed\n",
        "    k = max([i for i, c in enumerate(clicks) if c], default=len(clicks) - 1)\n    return displayed[: k + 1]\n",
        OBSERVED,
        "only the first one counts",
    ),
    Mistake("smallest first", "(-indices[item], item)", "(indices[item], item)", BEST, "the smallest indices"),
    Mistake(
        "larger number", "(-indices[item], item)", "(-indices[item], -item)", BEST, "the larger number comes first"
    ),
    Mistake("turned round", SORT, "sorted(range(len(indices)), key=indices.__getitem__)[::-1]", BEST, "larger number"),
    Mistake(
        "unstable",
        SORT,
        "sorted(sorted(range(len(indices)), key=lambda i: i % 2), key=lambda i: -indices[i])",
        BEST,
        "all else is right",
    ),
    Mistake("argsort", SORT, "__import__('numpy').argsort(indices)[::-1].tolist()", BEST, "argsort keeps their order"),
    Mistake("unsorted", SORT, "sorted(range(len(indices)), key=lambda i: -indices[i] if i else 0.0)", BEST, ""),
    Mistake("last items", "ranked[:num_positions]", "ranked[-num_positions:]", BEST, ""),
    Mistake(
        "by number", "return ranked[:num_positions]", "return sorted(ranked[:num_positions])", BEST, "by their numbers"
    ),
    Mistake("set", "return ranked[:num_positions]", "return list(set(ranked[:num_positions]))", BEST, "[0, 1]"),
    Mistake("worst first", "return ranked[:num_positions]", "return ranked[:num_positions][::-1]", BEST, "worst first"),
    Mistake("repeated", "return ranked[:num_positions]", "return ranked[:1] * num_positions", BEST, "several times"),
    Mistake(
        "ties repeated",
        "return ranked[:num_positions]",
        "return [indices.index(x) for x in sorted(indices)[::-1][:num_positions]]",
        BEST,
        "equal indices are the same item",
    ),
    Mistake("bracket", RADIUS, "math.sqrt(1.5 * math.log(t)) / observed", UCB1, "T(i) is under the root"),
    Mistake("no log", RADIUS, "math.sqrt(1.5 * t / observed)", UCB1, "its logarithm belongs there"),
    Mistake("no t", RADIUS, "math.sqrt(1.5 / observed)", UCB1, "t is missing"),
    Mistake("log outside", RADIUS, "math.sqrt(1.5 / observed) * math.log(t)", UCB1, "logarithm is outside"),
    Mistake("factor outside", RADIUS, "1.5 * math.sqrt(math.log(t) / observed)", UCB1, "1.5 is outside"),
    Mistake("base 10", RADIUS, "math.sqrt(1.5 * math.log10(t) / observed)", UCB1, "base 10"),
    Mistake("base 2", RADIUS, "math.sqrt(1.5 * math.log2(t) / observed)", UCB1, "base 2"),
    Mistake("t + 1", RADIUS, "math.sqrt(1.5 * math.log(t + 1) / observed)", UCB1, "t is the round already"),
    Mistake(
        "mean by rounds", "clicked / observed + math.sqrt", "clicked / t + math.sqrt", UCB1, "divided by the round"
    ),
    Mistake("lower bound", "clicked / observed + math.sqrt", "clicked / observed - math.sqrt", UCB1, "below the mean"),
    Mistake("log T", RADIUS, "math.sqrt(1.5 * math.log(observed) / observed)", UCB1, "logarithm of t"),
    Mistake(
        "unseen 0",
        "        return math.inf\n    return clicked / observed +",
        "        return 0.0\n    return clicked / observed +",
        UCB1,
        "never observed has the index infinity",
    ),
    Mistake(
        "unseen divides",
        "    if observed == 0:\n        return math.inf\n    return clicked / observed +",
        "    return clicked / observed +",
        UCB1,
        "division by zero",
    ),
    Mistake("exchanged", KL_VALUE, "return part(q, p) + part(1 - q, 1 - p)", KL, "exchanged"),
    Mistake("half", KL_VALUE, "return part(p, q)", KL, "second part is missing"),
    Mistake("minus", KL_VALUE, "return -part(p, q) - part(1 - p, 1 - q)", KL, "sign is wrong"),
    Mistake("log2", "x * math.log(x / y)", "x * math.log2(x / y)", KL, "base 2"),
    Mistake(
        "no ends",
        "        if x == 0:\n            return 0.0\n        return",
        "        return",
        KL,
        "math domain error",
    ),
    Mistake(
        "clipped",
        "    def part(x, y):\n",
        "    q = min(max(q, 1e-9), 1 - 1e-9)\n\n    def part(x, y):\n",
        KL,
        "near them",
    ),
    Mistake("zero for ends", "return math.inf if y == 0 else x", "return 0.0 if y == 0 else x", KL, ""),
    Mistake("kl exchanged", STEP, "if observed * kl(middle, mean) <= budget:", KLUCB, "kl are exchanged"),
    Mistake("no log log", BUDGET, "math.log(t) if t > 1", KLUCB, "3 log log t is missing"),
    Mistake("one log log", BUDGET, "math.log(t) + math.log(math.log(t)) if t > 1", KLUCB, "log log t once"),
    Mistake("3 log", BUDGET, "3 * math.log(t) if t > 1", KLUCB, "f(t) is 3 log t"),
    Mistake(
        "budget base 10", BUDGET, "math.log10(t) + 3 * math.log10(math.log10(t)) if t > 1", KLUCB, "base-10 logarithms"
    ),
    Mistake("no T", STEP, "if kl(mean, middle) <= budget:", KLUCB, "T(i) is missing"),
    Mistake("T on the wrong side", STEP, "if kl(mean, middle) <= budget * observed:", KLUCB, "T(i) multiplies f(t)"),
    Mistake("wrong way", STEP, "if observed * kl(mean, middle) > budget:", KLUCB, "the wrong end moves"),
    Mistake("smallest", "    return low\n", "    return mean\n", KLUCB, "where the search begins"),
    Mistake(
        "lower bound kl", "    low, high = mean, 1.0\n", "    low, high = mean, 0.0\n", KLUCB, "smallest plausible"
    ),
    Mistake("from zero", "    low, high = mean, 1.0\n", "    low, high = 0.0, 1.0\n", KLUCB, "begins at 0"),
    Mistake("few halvings", "range(40)", "range(15)", KLUCB, "too few halvings"),
    Mistake("a grid", "    return low\n", "    return round(low, 3)\n", KLUCB, "too few halvings"),
    Mistake("t = 1", " if t > 1 else 0.0", "", KLUCB, "math domain error"),
    Mistake("t = 2", "budget = max(budget, 0.0)", "budget = abs(budget)", KLUCB, "klucb_index(0, 1, 2)"),
    Mistake("certain at 1", "    if mean == 1:\n        return 1.0\n", "    mean = min(mean, 0.99)\n", KLUCB, ""),
    Mistake("learns from all", LEARN, "zip(displayed, clicks)", AGENT, "learns from all displayed items"),
    Mistake(
        "learns from the click",
        COUNT,
        "            self.observed[item] += click\n",
        AGENT,
        "only the clicked item counts",
    ),
    Mistake("no click, no learning", LEARN, f"{LEARN} if 1 in clicks else ()", AGENT, "session without a click"),
    Mistake("clicks are forgotten", "self.clicked[item] += click", "pass", AGENT, "clicks are not counted"),
    Mistake(
        "click not observed", COUNT, "            self.observed[item] += 1 - click\n", AGENT, "but the clicked item"
    ),
    Mistake("starts at 0", "self.t = 1\n", "self.t = 0\n", AGENT, "t is one too small"),
    Mistake("t - 1", INDEX, INDEX.replace("self.t)", "max(self.t - 1, 1))"), AGENT, "t is one too small"),
    Mistake("t + 1 in the class", INDEX, INDEX.replace("self.t)", "self.t + 1)"), AGENT, "t is one too large"),
    Mistake("own t", INDEX, INDEX.replace("self.t)", "self.observed[item] or 1)"), AGENT, "own number of observations"),
    Mistake("t of observations", f"\n{TIME}", f"\n    {TIME}", AGENT, "t counts observations"),
    Mistake("t of displays", TIME, "        self.t += len(displayed)", AGENT, "t counts displayed items"),
    Mistake("t twice", ACT, f"self.t += 1\n        {ACT}", AGENT, ""),
    Mistake("t stands", TIME, "        pass", AGENT, "or t does not grow"),
    Mistake(
        "greedy",
        INDEX,
        "return self.clicked[item] / self.observed[item] if self.observed[item] else math.inf",
        AGENT,
        "there is no bonus",
    ),
    Mistake(
        "unseen 0 in the class",
        INDEX,
        f"{INDEX} if self.observed[item] else 0.0",
        AGENT,
        "never observed has the index 0",
    ),
    Mistake("repeated in the class", ACT, f"{ACT}[:1] * self.num_positions", AGENT, "different items out of 0"),
    Mistake("worst first in the class", ACT, f"{ACT}[::-1]", AGENT, "worst first"),
    Mistake("all items", ACT, "return best_items(indices, len(indices))", AGENT, "3 different items"),
    Mistake(
        "running mean",
        COUNT + "            self.clicked[item] += click\n",
        COUNT + "            mean = getattr(self, 'mean', None) or [0.0] * len(self.clicked)\n"
        "            self.mean = mean\n"
        "            mean[item] += (click - mean[item]) / self.observed[item]\n"
        "            self.clicked[item] = mean[item] * self.observed[item]\n",
        AGENT,
        "divide once",
    ),
    Mistake("UCB1 again", KL_INDEX, f"{INDEX}", KL_AGENT, "this is CascadeUCB1"),
    Mistake("t - 1 of KL-UCB", KL_INDEX, KL_INDEX.replace("self.t)", "max(self.t - 1, 1))"), KL_AGENT, "one too small"),
    Mistake("t + 1 of KL-UCB", KL_INDEX, KL_INDEX.replace("self.t)", "self.t + 1)"), KL_AGENT, "one too large"),
    Mistake(
        "own t of KL-UCB", KL_INDEX, KL_INDEX.replace("self.t)", "self.observed[item] or 1)"), KL_AGENT, "own number"
    ),
]

ANOTHER_RIGHT_SOLUTION = """
import numpy as np


def seen(clicks):
    clicks = np.asarray(clicks)
    return np.cumsum(clicks) - clicks == 0


def observed_items(displayed, clicks):
    return np.array(displayed)[seen(clicks)]


def best_items(indices, num_positions):
    return np.argsort(-np.array(indices), kind="stable")[:num_positions]


def ucb1_index(clicked, observed, t):
    if not observed:
        return float("inf")
    return np.float64(clicked) / observed + np.sqrt(1.5 / observed) * np.sqrt(np.log(t))


def kl(p, q):
    if p == q:
        return 0
    if q in (0, 1):
        return np.inf
    first = p * (np.log(p) - np.log(q)) if p > 0 else 0
    return first + (0 if p == 1 else (1 - p) * (np.log1p(-p) - np.log1p(-q)))


def klucb_index(clicked, observed, t):
    if not observed:
        return np.inf
    mean, f = clicked / observed, 0
    if t >= 2:
        f = max(0, np.log(t * np.log(t) ** 3))
    low, high = mean, 1
    while high - low > 1e-10:
        middle = low + (high - low) / 2
        if kl(mean, middle) > f / observed:
            high = middle
        else:
            low = middle
    return (low + high) / 2


class Cascade:
    def __init__(self, num_items, num_positions):
        self.K = num_positions
        self.clicked = np.zeros(num_items)
        self.T = np.zeros(num_items, dtype=int)
        self.t = 0

    def act(self):
        self.t += 1
        return best_items([self.index(c, n, self.t) for c, n in zip(self.clicked, self.T)], self.K)

    def update(self, displayed, clicks):
        looked = seen(clicks)
        np.add.at(self.T, np.array(displayed)[looked], 1)
        np.add.at(self.clicked, np.array(displayed)[looked], np.array(clicks)[looked])


class CascadeUCB1(Cascade):
    index = staticmethod(ucb1_index)


class CascadeKLUCB(Cascade):
    index = staticmethod(klucb_index)

    def act(self):
        return tuple(int(item) for item in super().act())
"""
STUBS = """
def observed_items(displayed, clicks):
    return displayed


def best_items(indices, num_positions):
    return list(range(num_positions))


def ucb1_index(clicked, observed, t):
    return float("inf")


def kl(p, q):
    return 0.0


def klucb_index(clicked, observed, t):
    return 1.0 if observed else float("inf")


class CascadeUCB1:
    def __init__(self, num_items, num_positions):
        self.t, self.L, self.K = 0, num_items, num_positions

    def act(self):
        return [(self.t + k) % self.L for k in range(self.K)]

    def update(self, displayed, clicks):
        self.t += 1


class CascadeKLUCB(CascadeUCB1):
    def act(self):
        return list(range(self.K))
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


@pytest.mark.parametrize(
    ("p", "q"), [(0.3, 0.7), (0.0, 0.2), (1.0, 0.2), (0.5, 0.5), (0.4, 1.0), (0.4, 0.0), (0.0, 0.0)]
)
def test_the_oracles_divergence_is_scipys(p, q):
    assert divergence(p, q) == pytest.approx(float(entropy([p, 1 - p], [q, 1 - q])), rel=1e-12)


def test_the_oracles_kl_ucb_index_solves_its_equation():
    for clicked, count, t in ((1, 2, 10), (9, 10, 1_000), (0, 5, 30), (250, 1_000, 2_000)):
        mean, f = clicked / count, math.log(t) + 3 * math.log(math.log(t))
        root = brentq(lambda q: count * divergence(mean, q) - f, mean, 1 - 1e-15, xtol=1e-14)  # noqa: B023
        assert klucb(clicked, count, t) == pytest.approx(root, abs=1e-11)
    assert klucb(3, 3, 50) == 1.0
    assert klucb(1, 2, 2) == 0.5  # f(2) = log 2 + 3 log log 2 < 0


@pytest.mark.parametrize(("agent_class", "index"), [(CascadeUCB1, ucb1), (CascadeKLUCB, klucb)])
@pytest.mark.parametrize(("items", "positions"), [(4, 2), (6, 4), (10, 5)])
def test_the_oracle_displays_the_lists_of_the_packages_agent(agent_class, index, items, positions):
    """The oracle learns from the package's lists. Ties and the first rounds are other rules: they are left out."""
    rng = np.random.default_rng(items)
    attraction = rng.uniform(0.05, 0.7, items)
    agent, oracle, compared = agent_class(num_items=items, num_positions=positions, seed=1), None, 0
    oracle = maker(index)(items, positions)
    for t in range(1, 2_001):
        displayed = agent.act()
        indices = oracle.state()["indices"]
        ranked = sorted(indices, reverse=True)[: positions + 1]
        if t > items and min(a - b for a, b in itertools.pairwise(ranked)) > 1e-7:  # the agent's accuracy
            assert displayed[0].tolist() == oracle.act()
            compared += 1
        clicks = (rng.random(items) < attraction)[displayed[0]].astype(int)
        clicks[np.cumsum(clicks) > 1] = 0
        clicks = [int(click and not clicks[:k].any()) for k, click in enumerate(clicks)]
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
    assert oracle.state()["observed"] == agent.state.observed[0].tolist()
    assert oracle.state()["clicked"] == agent.state.clicked[0].tolist()
    assert oracle.state()["t"] == 2_001
    assert compared > 1_000


@pytest.mark.parametrize(("index", "sizes"), [(ucb1, UCB1_SIZES), (klucb, KLUCB_SIZES)])
def test_the_first_users_tell_mistakes_apart(index, sizes):
    setting = setting_of(index, sizes[0], np.random.default_rng(FIRST_USERS))
    makers = {"": maker(index), **agent_mistakes(index)}
    lists = {why: setting.play(make(**setting.arguments))[0] for why, make in makers.items()}
    same = [(one, other) for one, other in itertools.combinations(lists, 2) if lists[one] == lists[other]]
    assert same == []


def test_an_oracle_knows_how_near_its_decisions_were():
    oracle = maker(lambda clicked, count, t: count * 1e-10)(2, 1)
    oracle.update([0, 1], [1, 0])
    oracle.act()
    assert oracle.gap == pytest.approx(1e-10)  # items 0 and 1 differ in what was observed, and hardly in their index
    assert oracle.gap < SMALLEST_GAP
    even = maker(ucb1)(2, 1)
    played(even, np.zeros((2, 2), bool), np.ones((2, 1), bool), True)
    even.act()  # both were observed once and not clicked: a tie that every program sees
    assert even.gap == math.inf
