"""Exercise 8: the right solution has full points, each typical mistake fails at its check, the oracles are right."""

import itertools
import math

import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes, solution

from rankgym.exercises.playing import played
from rankgym.exercises.topics import plackett_luce
from rankgym.exercises.topics.policy_gradient import EXERCISE, MOST_LOSS, RUN_ATTRACTION, RUN_EXAMINATION, losses

CHOICE = "choices_are_a_softmax_of_what_remains"
DRAW = "lists_are_drawn_item_by_item"
LOG = "log_probabilities_add_up"
GRADIENT = "gradients_are_one_minus_p"
ESTIMATE = "estimates_average_to_the_gradient"
LISTS = "lists_are_those_of_the_policy_gradient"
LEARNS = "it_learns"
OWN = "total += scores[item] - top - math.log("
TERM = """        top = max(scores[i] for i in remaining)
        total += scores[item] - top - math.log(sum(math.exp(scores[i] - top) for i in remaining))
"""
SUBTRACTED = """        for i, p in zip(remaining, choice_probabilities(scores, remaining)):
            gradient[i] -= p
        remaining.remove(item)
"""
SET_OTHERS = "gradient[i] = gradient[i] - p if i == item else -p"
SLOPES = "        for item, slope in enumerate(gradient):\n            self.scores[item] += self.step_size * slope\n"
MISTAKES = [
    Mistake(
        "softmax of all items",
        "total = sum(weights)\n",
        "total = sum(math.exp(score - top) for score in scores)\n",
        CHOICE,
        "the denominator has all items",
    ),
    Mistake(
        "no exp",
        "weights = [math.exp(scores[item] - top) for item in remaining]",
        "weights = [scores[item] for item in remaining]",
        CHOICE,
        "there is no exp",
    ),
    Mistake(
        "exp overflows",
        "weights = [math.exp(scores[item] - top)",
        "weights = [math.exp(scores[item])",
        CHOICE,
        "overflows",
    ),
    Mistake(
        "maximum of all scores",
        "top = max(scores[item] for item in remaining)\n    weights",
        "top = max(scores)\n    weights",
        CHOICE,
        "subtract the largest remaining score",
    ),
    Mistake("not normalized", "weight / total for weight", "weight for weight", CHOICE, "these are weights"),
    Mistake(
        "by place",
        "weights = [math.exp(scores[item] - top) for item in remaining]",
        "weights = [math.exp(score - top) for score, _ in zip(scores, remaining)]",
        CHOICE,
        "by place in remaining",
    ),
    Mistake(
        "one coin for the list",
        "if cumulative > coin or",
        "if cumulative > coins[0] or",
        DRAW,
        "one coin serves the whole",
    ),
    Mistake(
        "with replacement",
        "                remaining.remove(item)\n                break",
        "                break",
        DRAW,
        "with replacement",
    ),
    Mistake(
        "denominator does not shrink",
        "for item, p in zip(remaining, choice_probabilities(scores, remaining)):\n            cumulative",
        "chances = choice_probabilities(scores, range(len(scores)))\n"
        "        for item in remaining:\n            p = chances[item]\n            cumulative",
        DRAW,
        "the denominator does not shrink",
    ),
    Mistake(
        "order of scores",
        "        cumulative = 0.0\n",
        "        cumulative = 0.0\n        remaining.sort(key=lambda item: -scores[item])\n",
        DRAW,
        "in the order of their scores",
    ),
    Mistake(
        "places, not items",
        "                ranking.append(item)\n",
        "                ranking.append(remaining.index(item))\n",
        DRAW,
        "places among the remaining items",
    ),
    Mistake(
        "no fallback", "cumulative > coin or item == remaining[-1]", "cumulative > coin", DRAW, "last remaining item"
    ),
    Mistake("at least the coin", "cumulative > coin or", "cumulative >= coin or", DRAW, "must exceed the coin"),
    Mistake(
        "greedy",
        "if cumulative > coin or item == remaining[-1]",
        "if scores[item] == max(scores[i] for i in remaining)",
        DRAW,
        "draw it",
    ),
    Mistake(
        "denominator of all items",
        "for i in remaining))\n        remaining.remove(item)",
        "for i in range(len(scores))))\n        remaining.remove(item)",
        LOG,
        "the denominator does not shrink",
    ),
    Mistake(
        "taken too early",
        TERM + "        remaining.remove(item)\n",
        "        remaining.remove(item)\n" + TERM,
        LOG,
        "missing in its own denominator",
    ),
    Mistake(
        "probability, not its log",
        "        remaining.remove(item)\n    return total",
        "        remaining.remove(item)\n    return math.exp(total)",
        LOG,
        "take its logarithm",
    ),
    Mistake("sum of scores", OWN, "total += scores[item] + 0 * (", LOG, "denominators are missing"),
    Mistake(
        "log of displayed items",
        "    remaining = list(range(len(scores)))\n    total = 0.0",
        "    remaining = list(ranking)\n    total = 0.0",
        LOG,
        "only displayed items",
    ),
    Mistake(
        "log of 0",
        "total += scores[item] - top - math.log(sum(math.exp(scores[i] - top) for i in remaining))",
        "total += math.log(math.exp(scores[item] - top) / sum(math.exp(scores[i] - top) for i in remaining))",
        LOG,
        "log of a probability of 0",
    ),
    Mistake("log2", "total += scores[item] - top - math.log(", "total += scores[item] - top - math.log2(", LOG, "log2"),
    Mistake(
        "log2 without top",
        "        total += scores[item] - top - math.log(sum(math.exp(scores[i] - top) for",
        "        total += scores[item] - math.log2(sum(math.exp(scores[i]) for",
        LOG,
        "log2",
    ),
    Mistake("top not added back", OWN, "total += scores[item] - math.log(", LOG, "in the sum only"),
    Mistake("p added", "gradient[i] -= p", "gradient[i] += p", GRADIENT, "it is subtracted"),
    Mistake("drawn set", "gradient[item] += 1\n", "gradient[item] = 1\n", GRADIENT, "of the drawn item anew"),
    Mistake("others set", "gradient[i] -= p", "gradient[i] = -p", GRADIENT, "of the remaining items anew"),
    Mistake("all set", "gradient[i] -= p", "gradient[i] = (i == item) - p", GRADIENT, "overwrites"),
    Mistake("others set, drawn added", "gradient[i] -= p", SET_OTHERS, GRADIENT, "of items that are not drawn anew"),
    Mistake(
        "an entry for each position",
        "gradient = [0.0] * len(scores)",
        "gradient = [0.0] * len(ranking)",
        GRADIENT,
        "not for each position",
    ),
    Mistake(
        "first K entries",
        "        remaining.remove(item)\n    return gradient",
        "        remaining.remove(item)\n    return gradient[: len(ranking)]",
        GRADIENT,
        "the first K",
    ),
    Mistake(
        "gradient downhill",
        "        remaining.remove(item)\n    return gradient",
        "        remaining.remove(item)\n    return [-slope for slope in gradient]",
        GRADIENT,
        "the sign is wrong",
    ),
    Mistake("only the drawn items", "gradient[i] -= p", "pass", GRADIENT, "- p of the remaining items is missing"),
    Mistake("only the remaining items", "gradient[item] += 1", "pass", GRADIENT, "+ 1 of the drawn items is missing"),
    Mistake(
        "gradient's denominator does not shrink",
        "        remaining.remove(item)\n    return gradient",
        "    return gradient",
        GRADIENT,
        "the denominator does not shrink",
    ),
    Mistake(
        "gradient's item leaves early",
        SUBTRACTED,
        "        remaining.remove(item)\n"
        + SUBTRACTED.replace("        remaining.remove(item)\n", "").replace(
            "choice_probabilities(scores, remaining)", "choice_probabilities(scores, remaining or [item])"
        ),
        GRADIENT,
        "the drawn item has left too early",
    ),
    Mistake(
        "gradient of P",
        "        remaining.remove(item)\n    return gradient",
        "        remaining.remove(item)\n"
        "    return [slope * math.exp(log_probability(scores, ranking)) for slope in gradient]",
        GRADIENT,
        "of P, not of log P",
    ),
    Mistake(
        "hidden items have no gradient",
        "            gradient[i] -= p\n",
        "            gradient[i] -= p * (i in ranking)\n",
        GRADIENT,
        "hidden items have a gradient",
    ),
    Mistake("no baseline", "[(reward - baseline) * slope", "[reward * slope", ESTIMATE, "not subtracted"),
    Mistake("baseline added", "[(reward - baseline) * slope", "[(reward + baseline) * slope", ESTIMATE, "is added"),
    Mistake("downhill", "[(reward - baseline) * slope", "[(baseline - reward) * slope", ESTIMATE, "sign is wrong"),
    Mistake(
        "baseline from each entry", "[(reward - baseline) * slope", "[reward * slope - baseline", ESTIMATE, "each entry"
    ),
    Mistake("brackets", "[(reward - baseline) * slope", "[reward - baseline * slope", ESTIMATE, "brackets are missing"),
    Mistake(
        "times P",
        "[(reward - baseline) * slope",
        "[math.exp(log_probability(scores, ranking)) * (reward - baseline) * slope",
        ESTIMATE,
        "multiplied by P",
    ),
    Mistake("agent downhill", "+= self.step_size * slope", "-= self.step_size * slope", LISTS, "downhill"),
    Mistake("agent downhill does not learn", "+= self.step_size", "-= self.step_size", LEARNS, "the wrong way"),
    Mistake("never updates", SLOPES, "", LEARNS, "do not depend enough on the rewards"),
    Mistake("no step size", "+= self.step_size * slope", "+= slope", LISTS, "step_size is not used"),
    Mistake(
        "new reward in the baseline",
        "baseline = self.total / self.rounds if self.rounds else 0.0",
        "baseline = (self.total + reward) / (self.rounds + 1)",
        LISTS,
        "has the new reward in it",
    ),
    Mistake("agent without baseline", "self.total += reward", "pass", LISTS, "there is no baseline"),
    Mistake("sum as a baseline", "self.total / self.rounds if", "self.total if", LISTS, "it is their mean"),
    Mistake(
        "last reward as a baseline",
        "self.total += reward",
        "self.total = reward * (self.rounds + 1)",
        LISTS,
        "last round",
    ),
    Mistake(
        "mean of clicks", "reward = sum(clicks)", "reward = sum(clicks) / len(clicks)", LISTS, "mean of the clicks"
    ),
    Mistake("any click", "reward = sum(clicks)", "reward = max(clicks)", LISTS, "1 for any click"),
    Mistake("later coins", "self.coins[self.rounds]", "self.coins[self.rounds + 1]", LISTS, "coins of round t + 1"),
    Mistake("first coins", "self.coins[self.rounds]", "self.coins[0]", LISTS, "the first round's coins"),
    Mistake(
        "one round too many",
        "self.total / self.rounds if",
        "self.total / (self.rounds + 1) if",
        LISTS,
        "one round too many",
    ),
    Mistake(
        "coins of the round before",
        "self.coins[self.rounds]",
        "self.coins[self.rounds - 1]",
        LISTS,
        "the coins of round t - 1",
    ),
    Mistake("whole mean", "self.total / self.rounds if", "self.total // self.rounds if", LISTS, "to a whole number"),
    Mistake(
        "only clicked items",
        SLOPES,
        SLOPES.replace("enumerate(gradient):\n", "enumerate(gradient):\n            if item in clicked:\n    ").replace(
            "        for", "        clicked = [i for i, c in zip(displayed, clicks) if c]\n        for", 1
        ),
        LISTS,
        "not only those of clicked items",
    ),
    Mistake(
        "gradient of positions",
        "reinforce_gradient(self.scores, displayed, reward",
        "reinforce_gradient(self.scores, range(len(displayed)), reward",
        LISTS,
        "not of the list 0, 1",
    ),
    Mistake("rounds not counted", "        self.rounds += 1\n", "", LISTS, "the rounds are not counted"),
    Mistake(
        "one by one",
        SLOPES,
        "        for item in range(len(self.scores)):\n"
        "            slope = reinforce_gradient(self.scores, displayed, reward, baseline)[item]\n"
        "            self.scores[item] += self.step_size * slope\n",
        LISTS,
        "item by item",
    ),
]
WITH_NUMPY = """
import numpy as np


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def choice_probabilities(scores, remaining):
    return softmax(np.array(scores, float)[remaining])


def sample_list(scores, coins):
    left, ranking = np.arange(len(scores)), ()
    for coin in coins:
        cumulative = np.cumsum(choice_probabilities(scores, left))
        place = min(np.searchsorted(cumulative, coin, side="right"), len(left) - 1)
        ranking += (left[place],)
        left = np.delete(left, place)
    return ranking


def log_probability(scores, ranking):
    masked, total = np.array(scores, float), 0.0
    for item in ranking:
        total += masked[item] - np.logaddexp.reduce(masked)
        masked[item] = -np.inf
    return total


def log_probability_gradient(scores, ranking):
    masked, slopes = np.array(scores, float), np.zeros(len(scores))
    for item in ranking:
        slopes -= softmax(masked)
        masked[item] = -np.inf
    slopes[list(ranking)] += 1
    return slopes


def reinforce_gradient(scores, ranking, reward, baseline):
    return (reward - baseline) * log_probability_gradient(scores, ranking)


class PolicyGradient:
    def __init__(self, num_items, num_positions, step_size, coins):
        self.scores, self.step_size = np.zeros(num_items), step_size
        self.coins, self.baseline, self.rounds = iter(coins), 0.0, 0

    def act(self):
        return np.array(sample_list(self.scores, next(self.coins)))

    def update(self, displayed, clicks):
        reward = np.sum(clicks)
        self.scores = self.scores + self.step_size * reinforce_gradient(self.scores, displayed, reward, self.baseline)
        self.rounds += 1
        self.baseline += (reward - self.baseline) / self.rounds
"""


@pytest.mark.parametrize("seed", range(5))
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


def test_a_solution_with_numpy_has_full_points():
    found = outcomes(EXERCISE, WITH_NUMPY)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


ARGMAX = """
import numpy as np

def sample_list(scores, coins):
    remaining, ranking = list(range(len(scores))), []
    for coin in coins:
        ranking.append(remaining.pop(int(np.argmax(np.cumsum(choice_probabilities(scores, remaining)) > coin))))
    return ranking
"""


def test_the_first_item_is_not_the_last_one():
    """argmax of no True is 0."""
    found = outcomes(EXERCISE, solution(EXERCISE.name) + ARGMAX, only=DRAW)
    fault = found[DRAW].fault
    assert (fault.call, fault.expected) == ("sample_list([0.0] * 10, [1 - 2**-53, 0.5])", "[9, 4]")
    assert fault.got.startswith("[0, ")
    assert "draw the last remaining item" in fault.mistake


DIFFERENCES = """
def log_probability_gradient(scores, ranking):
    def moved(item, step):
        return log_probability([score + step * (i == item) for i, score in enumerate(scores)], ranking)
    return [(moved(item, {step}) - moved(item, {back})) / ({step} - {back}) for item in range(len(scores))]
"""


@pytest.mark.parametrize(("step", "back"), [(1e-6, 0.0), (1e-5, -1e-5), (1e-4, -1e-4), (1e-3, 0.0)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_differences_are_no_gradient(step, back, seed):
    """They fail both checks of the gradient, and are named."""
    source = solution(EXERCISE.name) + DIFFERENCES.format(step=step, back=back)
    for name in (GRADIENT, ESTIMATE):
        assert "differences of log P" in outcomes(EXERCISE, source, seed, only=name)[name].fault.mistake


def test_another_learner_has_the_point_for_learning():
    """Without a baseline it learns, but displays other lists."""
    source = solution(EXERCISE.name).replace("self.total += reward", "pass")
    found = outcomes(EXERCISE, source)
    assert found[LISTS].fault is not None
    assert found[LEARNS].fault is None


# -- the oracles ------------------------------------------------------------------------------------------------------

SCORES = [0.3, -1.0, 0.8, 0.0]
ALL_LISTS = [list(ranking) for ranking in itertools.permutations(range(4), 3)]


def test_probabilities_of_all_lists_add_up_to_one():
    assert math.fsum(math.exp(plackett_luce.log_probability(SCORES, r)) for r in ALL_LISTS) == pytest.approx(1)
    weights = [math.exp(score) for score in SCORES]
    total = sum(weights)
    right = weights[2] / total * weights[0] / (total - weights[2]) * weights[3] / (total - weights[2] - weights[0])
    assert math.exp(plackett_luce.log_probability(SCORES, [2, 0, 3])) == pytest.approx(right)
    assert plackett_luce.list_probability(SCORES, [2, 0, 3]) == pytest.approx(right)


def test_the_gradient_is_that_of_the_log_probability():
    step = 1e-5
    for ranking in ALL_LISTS:
        for item, slope in enumerate(plackett_luce.gradient(SCORES, ranking)):
            up, down = ([s + sign * step * (i == item) for i, s in enumerate(SCORES)] for sign in (1, -1))
            rise = plackett_luce.log_probability(up, ranking) - plackett_luce.log_probability(down, ranking)
            assert slope == pytest.approx(rise / (2 * step), abs=1e-8)


@pytest.mark.parametrize("baseline", [0.0, 0.7, -3.0])
def test_estimates_average_to_the_gradient_of_the_expected_reward(baseline):
    rng = np.random.default_rng(1)
    rewards = {tuple(ranking): float(rng.random()) for ranking in ALL_LISTS}
    mean = np.zeros(4)
    for ranking, reward in rewards.items():
        estimate = plackett_luce.reinforce(SCORES, ranking, reward, baseline)
        mean += np.multiply(plackett_luce.list_probability(SCORES, ranking), estimate)
    assert mean == pytest.approx(plackett_luce.expected_gradient(SCORES, rewards), abs=1e-8)


def test_coins_on_a_grid_draw_lists_with_their_probabilities():
    """The share of (n x n) pairs of coins that draw a list is its probability, up to 2 boundaries of 1 / n a coin."""
    n, counts = 200, dict.fromkeys(itertools.permutations(range(3), 2), 0)
    grid = [(k + 0.5) / n for k in range(n)]
    for coins in itertools.product(grid, repeat=2):
        counts[tuple(plackett_luce.sample_list(SCORES[:3], coins))] += 1
    for ranking, count in counts.items():
        assert count / n**2 == pytest.approx(plackett_luce.list_probability(SCORES[:3], ranking), abs=4 / n)


def test_the_agent_takes_the_step_of_the_handout():
    agent = plackett_luce.Policy(3, 2, 0.5, [[0.5, 0.7], [0.1, 0.1]])
    assert agent.act() == [1, 2]  # thirds, then halves
    agent.update([1, 2], [1, 1])  # reward 2, baseline 0
    assert agent.scores == pytest.approx([-1 / 3 - 1 / 2, 1 - 1 / 3, 1 - 1 / 3 - 1 / 2])
    before = list(agent.scores)
    agent.update(agent.act(), [1, 1])  # reward 2, baseline 2
    assert agent.scores == before


def test_the_loss_of_the_check_that_it_learns():
    """Fixed lists lose 0.53 exactly, and the right agent less than 0.32 in the mean of 96 runs.

    Hoeffding: a run's loss is between 0 and 1, and its expectation below 0.04, so a failure would have a probability
    below exp(-2 * 96 * (0.32 - 0.04)^2) < 3e-7.
    """
    orders = list(itertools.permutations(RUN_ATTRACTION))
    for ranking in itertools.permutations(range(4), 2):
        lost = [losses([ranking], attraction, RUN_EXAMINATION)[0] for attraction in orders]
        assert np.mean(lost) == pytest.approx(26 / 49)
    rng = np.random.default_rng(5)
    found = []
    for attraction in orders * 4:
        users = rng.random((500, 4)) < attraction, rng.random((500, 2)) < RUN_EXAMINATION
        lists, _ = played(plackett_luce.Policy(4, 2, 0.2, rng.random((500, 2)).tolist()), *users, False)
        found.append(np.mean(losses(lists[-100:], attraction, RUN_EXAMINATION)))
    assert np.mean(found) < 0.32 < MOST_LOSS
