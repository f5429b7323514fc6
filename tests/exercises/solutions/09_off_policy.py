"""A right solution of exercise 9."""

import itertools
import math


def step_probabilities(scores, ranking):
    left = set(range(len(scores)))
    steps = []
    for item in ranking:
        steps.append(math.exp(scores[item]) / sum(math.exp(scores[i]) for i in left))
        left.remove(item)
    return steps


def marginals(scores, num_positions):
    table = [[0.0] * num_positions for _ in scores]
    for ranking in itertools.permutations(range(len(scores)), num_positions):
        probability = math.prod(step_probabilities(scores, ranking))
        for position, item in enumerate(ranking):
            table[item][position] += probability
    return table


def cascade_weights(target, logging):
    weight, weights = 1.0, []
    for wanted, drawn in zip(target, logging):
        if drawn == 0:
            raise ValueError("a logging probability is 0; allowed: above 0")
        weight *= wanted / drawn
        weights.append(weight)
    return weights


def item_position_weights(ranking, target, logging):
    for wanted, drawn in zip(target, logging):
        if any(p > 0 and q == 0 for p, q in zip(wanted, drawn)):
            raise ValueError("the logging policy never displays what the target policy displays")
    if any(logging[item][k] == 0 for k, item in enumerate(ranking)):
        raise ValueError("the logging policy cannot have displayed this list")
    return [target[item][k] / logging[item][k] for k, item in enumerate(ranking)]


def estimate(weights, clicks, largest=math.inf, normalise=False):
    weights = [[min(w, largest) for w in row] for row in weights]
    value = 0.0
    for column, clicked in zip(zip(*weights), zip(*clicks)):
        weighted = sum(w * c for w, c in zip(column, clicked))
        total = sum(column) if normalise else len(weights)
        value += weighted / total if total > 0 else 0.0
    return value


def precision(weights, clicks, z):
    n = len(weights)
    values = [sum(w * c for w, c in zip(row, clicked)) for row, clicked in zip(weights, clicks)]
    mean = sum(values) / n
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / (n - 1))
    margin = z * deviation / math.sqrt(n)
    sizes = []
    for column in zip(*weights):
        squares = sum(w**2 for w in column)
        sizes.append(sum(column) ** 2 / squares if squares > 0 else 0.0)
    return [mean - margin, mean + margin, min(sizes)]


def evaluate(log, target_scores, logging_scores, kind):
    num_positions = len(log[0][0])
    wanted, drawn = marginals(target_scores, num_positions), marginals(logging_scores, num_positions)
    weights, all_clicks = [], []
    for ranking, clicks in log:
        if kind == "item-position":
            row = item_position_weights(ranking, wanted, drawn)
        else:
            row = cascade_weights(
                step_probabilities(target_scores, ranking), step_probabilities(logging_scores, ranking)
            )
            if kind == "list":
                row = [row[-1]] * num_positions
        weights.append(row)
        all_clicks.append(clicks)
    return estimate(weights, all_clicks)
