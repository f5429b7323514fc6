"""Exercise 9: full points for the right solution, each typical mistake at its check, and the oracles' own rightness."""

import itertools
import math

import numpy as np
import pytest
from mistakes import SOLUTIONS, Mistake, assert_found, assert_full_points, outcomes, solution

from rankgym.exercises.checking import check_file
from rankgym.exercises.exercise import Trial
from rankgym.exercises.topics import off_policy
from rankgym.exercises.topics import off_policy_oracles as oracles
from rankgym.exercises.topics.off_policy import EXERCISE, KINDS, Users

STEPS = "steps_are_among_the_items_left"
MARGINALS = "marginals_sum_over_lists"
CASCADE = "cascade_weights_multiply_down_to_the_position"
ITEMS = "item_position_weights_are_one_ratio"
ESTIMATE = "estimates_average_weighted_clicks"
PRECISION = "precision_is_an_interval_and_a_size"
UNBIASED = "expectations_are_the_true_value"
MISTAKES = [
    Mistake("nothing taken out", "        left.remove(item)\n", "", STEPS, "still in the sum"),
    Mistake(
        "item out first",
        "for i in left))\n        left.remove(item)",
        "for i in left if i != item))\n        left.remove(item)",
        STEPS,
        "the item itself is missing in its sum",
    ),
    Mistake(
        "only the ranking", "left = set(range(len(scores)))", "left = set(ranking)", STEPS, "only the items of the"
    ),
    Mistake(
        "minus",
        "math.exp(scores[item]) / sum(math.exp(scores[i])",
        "math.exp(-scores[item]) / sum(math.exp(-scores[i])",
        STEPS,
        "not exp(-score)",
    ),
    Mistake(
        "last step only",
        "probability = math.prod(step_probabilities(scores, ranking))\n    ",
        "probability = step_probabilities(scores, ranking)[-1]\n    ",
        MARGINALS,
        "",
    ),
    Mistake(
        "prefix, not list",
        "            table[item][position] += probability",
        "            table[item][position] += math.prod(step_probabilities(scores, ranking)[: position + 1])",
        MARGINALS,
        "not that down to the position",
    ),
    Mistake(
        "step, not list",
        "            table[item][position] += probability",
        "            table[item][position] += step_probabilities(scores, ranking)[position]",
        MARGINALS,
        "not its step probability",
    ),
    Mistake("overwritten", "[position] += probability", "[position] = probability", MARGINALS, "only the last list's"),
    Mistake("combinations", "itertools.permutations", "itertools.combinations", MARGINALS, "use permutations"),
    Mistake("transposed", "    return table", "    return list(zip(*table))", MARGINALS, "a row for each item"),
    Mistake(
        "mean over lists",
        "table[item][position] += probability",
        "table[item][position] += 1 / math.perm(len(scores), num_positions)",
        MARGINALS,
        "not equally probable",
    ),
    Mistake(
        "ratio",
        "weight *= wanted / drawn",
        "weight *= drawn / wanted",
        CASCADE,
        "ratio is the wrong way round",
    ),
    Mistake("sum of ratios", "weight, weights = 1.0, []", "weight, weights = 0.0, []", CASCADE, ""),
    Mistake("added up", "weight *= wanted / drawn", "weight += wanted / drawn - (not weights)", CASCADE, "added up"),
    Mistake("added to 1", "weight *= wanted", "weight += wanted", CASCADE, "added to 1"),
    Mistake("no product", "weight *= wanted / drawn", "weight = wanted / drawn", CASCADE, "ratios alone"),
    Mistake(
        "before the position",
        "        weight *= wanted / drawn\n        weights.append(weight)",
        "        weights.append(weight)\n        weight *= wanted / drawn",
        CASCADE,
        "own ratio is missing",
    ),
    Mistake(
        "after the position",
        "    for wanted, drawn in zip(target, logging):\n        if drawn == 0:\n"
        '            raise ValueError("a logging probability is 0; allowed: above 0")\n'
        "        weight *= wanted / drawn\n        weights.append(weight)\n",
        "    for wanted, drawn in zip(target[::-1], logging[::-1]):\n"
        "        weight *= wanted / drawn\n        weights.insert(0, weight)\n",
        CASCADE,
        "positions from k on",
    ),
    Mistake(
        "whole list", "    return weights\n", "    return weights[-1:] * len(weights)\n", CASCADE, "SIPS's weights"
    ),
    Mistake(
        "nothing refused",
        '        if drawn == 0:\n            raise ValueError("a logging probability is 0; allowed: above 0")\n',
        "",
        CASCADE,
        "raise ValueError where the logging probability is 0",
    ),
    Mistake(
        "no support, weight 0",
        '            raise ValueError("a logging probability is 0; allowed: above 0")\n',
        "            return [0.0] * len(target)\n",
        CASCADE,
        "raise ValueError where the logging probability is 0",
    ),
    Mistake(
        "refused if the target has it",
        "        if drawn == 0:\n",
        "        if drawn == 0 and wanted > 0:\n",
        CASCADE,
        "0 / 0 is no weight",
    ),
    Mistake(
        "weight 0 if the target never has it",
        "        if drawn == 0:\n",
        "        if wanted == 0:\n            return weights + [0.0] * (len(target) - len(weights))\n"
        "        if drawn == 0:\n",
        CASCADE,
        "0 / 0 is no weight",
    ),
    Mistake(
        "products divided",
        "        weight *= wanted / drawn\n        weights.append(weight)",
        "        a, b = math.prod(target[: len(weights) + 1]), math.prod(logging[: len(weights) + 1])\n"
        "        weights.append(a / b if b else 0.0)",
        CASCADE,
        "too small for a float",
    ),
    Mistake(
        "wrong way round",
        "target[item][k] / logging[item][k]",
        "logging[item][k] / target[item][k]",
        ITEMS,
        "wrong way round",
    ),
    Mistake(
        "rows by position", "target[item][k] / logging[item][k]", "target[k][k] / logging[k][k]", ITEMS, "by position"
    ),
    Mistake(
        "position 0", "target[item][k] / logging[item][k]", "target[item][0] / logging[item][0]", ITEMS, "position 0"
    ),
    Mistake("no support seen", "if any(p > 0 and q == 0", "if any(p > 1 and q == 0", ITEMS, "whole tables"),
    Mistake("zeros refused", "if any(p > 0 and q == 0", "if any(q == 0", ITEMS, "0 in both tables is fine"),
    Mistake("0 / 0 in the list", "if any(logging[item][k] == 0", "if any(logging[item][k] < 0", ITEMS, "0 / 0 is no"),
    Mistake(
        "support in the list only",
        "if any(p > 0 and q == 0 for p, q in zip(wanted, drawn))",
        "if False",
        ITEMS,
        "that the list does not have there",
    ),
    Mistake(
        "support of displayed items only",
        "    for wanted, drawn in zip(target, logging):\n        if any(p > 0",
        "    for wanted, drawn in [(target[item], logging[item]) for item in ranking]:\n        if any(p > 0",
        ITEMS,
        "that the list does not have at all",
    ),
    Mistake(
        "no 1/n",
        "total = sum(column) if normalise else len(weights)",
        "total = sum(column) if normalise else 1",
        ESTIMATE,
        "not divided by the number of sessions",
    ),
    Mistake(
        "1/(nK)",
        "if normalise else len(weights)",
        "if normalise else len(weights) * len(weights[0])",
        ESTIMATE,
        "divided by n K",
    ),
    Mistake(
        "1/K", "if normalise else len(weights)", "if normalise else len(weights[0])", ESTIMATE, "number of positions"
    ),
    Mistake(
        "mean of positions", "    return value\n", "    return value / len(weights[0])\n", ESTIMATE, "normalised or not"
    ),
    Mistake("other limit", "largest=math.inf", "largest=10.0", ESTIMATE, "nothing is clipped or normalised"),
    Mistake("other default", "normalise=False", "normalise=True", ESTIMATE, "nothing is clipped or normalised"),
    Mistake("clips the wrong side", "min(w, largest)", "max(w, largest)", ESTIMATE, "these are raised"),
    Mistake("drops large weights", "min(w, largest)", "w * (w <= largest)", ESTIMATE, "become 0"),
    Mistake("no clipping", "min(w, largest)", "w", ESTIMATE, "nothing is clipped"),
    Mistake(
        "normalises by n",
        "sum(column) if normalise else",
        "len(weights) if normalise else",
        ESTIMATE,
        "normalise: divide by the sum",
    ),
    Mistake(
        "normalises jointly",
        "sum(column) if normalise else",
        "sum(map(sum, weights)) if normalise else",
        ESTIMATE,
        "own sum of weights",
    ),
    Mistake(
        "clicked weights only",
        "sum(column) if normalise else",
        "weighted if normalise else",
        ESTIMATE,
        "not only of clicked",
    ),
    Mistake("0 / 0", " if total > 0 else 0.0", "", ESTIMATE, "ZeroDivisionError"),
    Mistake("biased s", "/ (n - 1))", "/ n)", PRECISION, "s has n - 1"),
    Mistake("no root of n", "z * deviation / math.sqrt(n)", "z * deviation", PRECISION, "sqrt(n) is missing"),
    Mistake("divided by n", "z * deviation / math.sqrt(n)", "z * deviation / n", PRECISION, "not s / n"),
    Mistake("variance", "deviation = math.sqrt(", "deviation = (", PRECISION, "root is missing"),
    Mistake("largest size", "min(sizes)]", "max(sizes)]", PRECISION, "smallest is wanted"),
    Mistake(
        "size of all",
        "min(sizes)]",
        "sum(map(sum, weights)) ** 2 / sum(w * w for row in weights for w in row)]",
        PRECISION,
        "all weights together",
    ),
    Mistake("mean size", "min(sizes)]", "sum(sizes) / len(sizes)]", PRECISION, "not the mean of all"),
    Mistake(
        "size of rows",
        "for column in zip(*weights):\n        squares",
        "for column in weights:\n        squares",
        PRECISION,
        "yours is that of a session",
    ),
    Mistake("number of sessions", "min(sizes)]", "n]", PRECISION, "number of sessions"),
    Mistake("squared sum", "sum(column) ** 2 / squares", "squares / sum(column) ** 2", PRECISION, "wrong way round"),
    Mistake("one end", "[mean - margin, mean + margin,", "[mean, mean + margin,", PRECISION, "both sides"),
    Mistake(
        "policies exchanged",
        "step_probabilities(target_scores, ranking), step_probabilities(logging_scores, ranking)",
        "step_probabilities(logging_scores, ranking), step_probabilities(target_scores, ranking)",
        UNBIASED,
        "",
    ),
    Mistake("list as cascade", 'if kind == "list":', 'if kind == "everything":', UNBIASED, "these are RIPS's weights"),
    Mistake(
        "cascade as list", 'if kind == "list":', 'if kind != "item-position":', UNBIASED, "these are SIPS's weights"
    ),
    Mistake("marginals for lists", 'if kind == "item-position":', 'if kind != "cascade":', UNBIASED, ""),
    Mistake(
        "marginals of steps",
        "row = item_position_weights(ranking, wanted, drawn)",
        "both = [step_probabilities(scores, ranking) for scores in (target_scores, logging_scores)]\n"
        "            row = [p / q for p, q in zip(*both)]",
        UNBIASED,
        "not of step probabilities",
    ),
    Mistake(
        "clicked sessions only",
        "        weights.append(row)\n        all_clicks",
        "        if not any(clicks):\n            continue\n        weights.append(row)\n        all_clicks",
        UNBIASED,
        "without a click",
    ),
    Mistake(
        "self-normalised",
        "return estimate(weights, all_clicks)",
        "return estimate(weights, all_clicks, normalise=True)",
        UNBIASED,
        "self-normalised",
    ),
]


@pytest.mark.parametrize("seed", range(5))
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


ARRAYS = """
import itertools
import numpy as np

def step_probabilities(scores, ranking):
    chances = np.exp(np.array(scores) - max(scores))
    ranked = chances[list(ranking)]
    return ranked / (chances.sum() - np.concatenate([[0.0], ranked.cumsum()[:-1]]))

def marginals(scores, num_positions):
    table = np.zeros((len(scores), num_positions))
    for ranking in itertools.permutations(range(len(scores)), num_positions):
        table[list(ranking), range(num_positions)] += np.prod(step_probabilities(scores, ranking))
    return table

def cascade_weights(target, logging):
    target, logging = np.array(target), np.array(logging)
    if (logging == 0).any():
        raise ValueError
    return np.cumprod(target / logging)

def item_position_weights(ranking, target, logging):
    target, logging = np.array(target), np.array(logging)
    places = list(ranking), range(len(ranking))
    if ((target > 0) & (logging == 0)).any() or (logging[places] == 0).any():
        raise ValueError
    return target[places] / logging[places]

def estimate(weights, clicks, largest=np.inf, normalise=False):
    weights, clicks = np.minimum(weights, largest), np.array(clicks)
    sums = (weights * clicks).sum(axis=0)
    totals = weights.sum(axis=0) if normalise else np.full(len(sums), len(weights))
    return np.divide(sums, totals, out=np.zeros(len(sums)), where=totals > 0).sum()

def precision(weights, clicks, z):
    weights = np.array(weights)
    x = (weights * clicks).sum(axis=1)
    margin = z * x.std(ddof=1) / np.sqrt(len(x))
    with np.errstate(all="ignore"):
        sizes = np.nan_to_num(weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0))
    return x.mean() - margin, x.mean() + margin, sizes.min()

def evaluate(log, target_scores, logging_scores, kind):
    rankings, clicks = zip(*log)
    scores = target_scores, logging_scores
    if kind == "item-position":
        tables = [marginals(one, len(rankings[0])) for one in scores]
        return estimate([item_position_weights(ranking, *tables) for ranking in rankings], clicks)
    weights = np.array([cascade_weights(*(step_probabilities(one, r) for one in scores)) for r in rankings])
    return estimate(weights if kind == "cascade" else weights[:, -1:], clicks)
"""


def test_another_right_style_has_full_points():
    found = outcomes(EXERCISE, ARRAYS)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


SUBCLASSES = """
import json

class NoSupport(ValueError):
    pass

class NoSupportAnywhere(NoSupport):
    pass
"""


@pytest.mark.parametrize("name", ["NoSupportAnywhere", "UnicodeError"])
def test_a_special_value_error_is_one(name):
    source = SUBCLASSES + solution(EXERCISE.name).replace("raise ValueError(", f"raise {name}(")
    found = outcomes(EXERCISE, source)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize("name", ["KeyError", "Exception"])
def test_another_error_is_none(name):
    source = solution(EXERCISE.name).replace("raise ValueError(", f"raise {name}(")
    for check in (CASCADE, ITEMS):
        fault = outcomes(EXERCISE, source, only=check)[check].fault
        assert fault.expected == "ValueError"
        assert fault.got.startswith(name)


def test_a_refused_list_that_is_fine_shows_its_weights():
    source = solution(EXERCISE.name).replace("if any(p > 0 and q == 0", "if any(q == 0")
    fault = outcomes(EXERCISE, source, only=ITEMS)[ITEMS].fault
    assert fault.expected == "[0, 0]"
    assert fault.got.startswith("ValueError")


@pytest.mark.parametrize("seed", range(5))
def test_the_default_limit_is_checked_in_all_seeds(seed):
    source = solution(EXERCISE.name).replace("largest=math.inf", "largest=1000.0")
    assert outcomes(EXERCISE, source, seed, only=ESTIMATE)[ESTIMATE].fault


def test_a_biased_estimate_is_shown_by_a_call():
    """One session, its weights and the users' attraction; the call can be made as it is shown."""
    source = solution(EXERCISE.name).replace('if kind == "list":', 'if kind == "everything":')
    fault = outcomes(EXERCISE, source, only=UNBIASED)[UNBIASED].fault
    right = eval(fault.call, {"evaluate": oracles.evaluate})
    assert fault.expected.startswith(f"{right:.10g}: the positions have the weights [")
    assert "over all lists and clicks your estimates have the expectation" in fault.got
    assert "(attraction [" in fault.got


@pytest.mark.parametrize("stub", ["return 0.0", "return []", "return args[0]", "return None", "raise ValueError"])
def test_a_stub_gets_nothing(stub):
    names = {check.of for check in EXERCISE.checks}
    source = "\n".join(f"def {name}(*args, **_):\n    {stub}" for name in names)
    assert [name for name, outcome in outcomes(EXERCISE, source).items() if not outcome.fault] == []


def expectation(kind, users, target, logging):
    """The mean of the oracle's estimates from one session, over all sessions."""
    return sum(
        oracles.list_probability(logging, ranking)
        * chance
        * oracles.evaluate([[ranking, clicks]], target, logging, kind)
        for ranking, clicks, chance in users.sessions()
    )


FITS = {"list": {"list"}, "cascade": {"list", "cascade"}, "item-position": {"list", "cascade", "item-position"}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("of", KINDS)
def test_an_estimator_is_unbiased_just_under_the_users_it_is_made_for(of, seed):
    """IIPS for position-based users, RIPS also for cascade users, SIPS for all."""
    trial = Trial(None, np.random.default_rng(seed))
    users = Users(trial, of, 4, 3)
    target, logging = off_policy.numbers(trial, 4, -1, 1), off_policy.numbers(trial, 4, -1, 1)
    unbiased = {
        kind
        for kind in KINDS
        if math.isclose(expectation(kind, users, target, logging), users.value(target), abs_tol=1e-12)
    }
    assert unbiased == FITS[of]


def test_the_mean_of_the_weights_is_one():
    """Whatever the kind: that is why self-normalisation works."""
    target, logging = [0.5, -0.2, 0.1, 1.0], [-0.3, 0.4, 0.0, 0.2]
    for kind in KINDS:
        mean = np.zeros(3)
        for ranking in itertools.permutations(range(4), 3):
            (row,) = oracles.weight_rows([[ranking, [0, 0, 0]]], target, logging, kind)
            mean += oracles.list_probability(logging, ranking) * np.array(row)
        np.testing.assert_allclose(mean, 1, rtol=1e-12)


def test_the_probabilities_of_all_lists_add_up_to_one():
    scores = [0.5, -0.2, 0.1, 1.0]
    lists = itertools.permutations(range(4), 3)
    assert math.isclose(sum(oracles.list_probability(scores, ranking) for ranking in lists), 1)
    table = np.array(oracles.marginals(scores, 4))
    np.testing.assert_allclose(table.sum(axis=0), 1)
    np.testing.assert_allclose(table.sum(axis=1), 1)  # of full lists: every item is somewhere


def test_equal_policies_have_weights_of_one():
    scores, log = [0.5, -0.2, 0.1], [[[0, 1], [1, 1]], [[2, 0], [0, 1]]]
    for kind in KINDS:
        assert math.isclose(oracles.evaluate(log, scores, scores, kind), 3 / 2)


def test_precision_is_numpys():
    rng = np.random.default_rng(3)
    weights, clicks = rng.exponential(1, (50, 3)), rng.integers(0, 2, (50, 3))
    x = (weights * clicks).sum(1)
    low, high, size = oracles.precision(weights.tolist(), clicks.tolist(), 1.96)
    assert math.isclose(low, x.mean() - 1.96 * x.std(ddof=1) / math.sqrt(50))
    assert math.isclose((low + high) / 2, x.mean())
    assert math.isclose(size, (weights.sum(0) ** 2 / (weights**2).sum(0)).min())
    assert oracles.precision([[2.0], [2.0]], [[1], [0]], 1.0)[2] == 2  # equal weights are worth their number


def test_the_right_solution_is_drawn():
    report = check_file(EXERCISE, SOLUTIONS / f"{EXERCISE.name}.py")
    assert report.points == 10
    assert report.picture.startswith("<?xml")
    assert "yours" in report.picture
