"""Off-policy estimators in plain Python, right and wrong: the oracles of exercise 9; see ``off_policy``."""

import itertools
import math
from collections.abc import Callable
from typing import Any


def step_probabilities(scores: Any, ranking: Any) -> list[float]:
    chances = [math.exp(score) for score in scores]
    return [
        chances[item] / sum(chance for other, chance in enumerate(chances) if other not in ranking[:k])
        for k, item in enumerate(ranking)
    ]


def list_probability(scores: Any, ranking: Any) -> float:
    return math.prod(step_probabilities(scores, ranking))


def marginals(scores: Any, num_positions: int, chance: Callable[..., float] = list_probability) -> list[list[float]]:
    table = [[0.0] * num_positions for _ in scores]
    for ranking in itertools.permutations(range(len(scores)), num_positions):
        for k, item in enumerate(ranking):
            table[item][k] += chance(scores, ranking)
    return table


def softmax(scores: Any, ranking: Any) -> list[float]:
    """A wrong one: nothing is taken out."""
    total = sum(map(math.exp, scores))
    return [math.exp(scores[item]) / total for item in ranking]


def ratios(target: Any, logging: Any) -> list[float]:
    return [p / q for p, q in zip(target, logging, strict=True)]


def product(values: Any) -> list[float]:
    return list(itertools.accumulate(values, lambda a, b: a * b))


def cascade_weights(target: Any, logging: Any) -> list[float]:
    return product(ratios(target, logging))


def item_position_weights(ranking: Any, target: Any, logging: Any) -> list[float]:
    return [target[item][k] / logging[item][k] for k, item in enumerate(ranking)]


def columns(rows: Any) -> Any:
    """The columns of a table."""
    return zip(*rows, strict=True)


def estimate(
    weights: Any, clicks: Any, largest: float = math.inf, normalise: bool = False, cut: Any = min, joint: bool = False
) -> float:
    """The estimate; ``cut`` and ``joint`` are for wrong ones."""
    weights = [[cut(weight, largest) for weight in row] for row in weights]
    value = 0.0
    for column, clicked in zip(columns(weights), columns(clicks), strict=True):
        weighted = sum(w * c for w, c in zip(column, clicked, strict=True))
        total = float(sum(map(sum, weights)) if joint else sum(column)) if normalise else len(weights)
        value += weighted / total if total else 0.0
    return value


def estimate_mistakes() -> dict[str, Callable[..., Any]]:
    """Wrong versions of ``estimate`` by what is wrong with them."""

    def per_click(weights: Any, clicks: Any, largest: float, normalise: bool) -> float:
        total = sum(map(sum, clicks))
        right = estimate(weights, clicks, largest, normalise)
        return right if normalise else right * len(clicks) / total

    def late_cut(weights: Any, clicks: Any, largest: float, normalise: bool) -> float:
        cut = [[min(weight, largest) for weight in row] for row in weights]
        totals = [sum(column) if normalise else len(weights) for column in columns(weights)]
        sums = [
            sum(w * c for w, c in zip(*both, strict=True)) for both in zip(columns(cut), columns(clicks), strict=True)
        ]
        return sum(value / total if total else 0.0 for value, total in zip(sums, totals, strict=True))

    def clicked_only(weights: Any, clicks: Any, largest: float, normalise: bool) -> float:
        kept = [[w if c else 0.0 for w, c in zip(*rows, strict=True)] for rows in zip(weights, clicks, strict=True)]
        return estimate(kept, clicks, largest, normalise)

    def times(wrong: Callable[[Any, Any], float]) -> Callable[..., float]:
        return lambda w, c, m, norm: estimate(w, c, m, norm) * (1.0 if norm else wrong(w, c))

    return {
        "the sum is not divided by the number of sessions": times(lambda w, c: len(w)),
        "divided by n K: the clicks of a session are added up, not averaged": times(lambda w, c: 1 / len(w[0])),
        "divided by K, normalised or not: the positions are added up, not averaged": lambda w, c, *more: (
            estimate(w, c, *more) / len(w[0])
        ),
        "divided by the number of positions: divide by that of the sessions": times(lambda w, c: len(w) / len(w[0])),
        "divided by the number of clicks, not of sessions": per_click,
        "clipping cuts the weights above the limit, min(w, largest); these are raised": lambda w, c, m, norm: estimate(
            w, c, m, norm, cut=max
        ),
        "weights above the limit become 0: they should become the limit": lambda w, c, m, norm: estimate(
            w, c, m, norm, cut=lambda w, m: w if w <= m else 0.0
        ),
        "nothing is clipped": lambda w, c, m, norm: estimate(w, c, math.inf, norm),
        "the weights are clipped after their sum was taken: clip first": late_cut,
        "normalise: divide by the sum of the weights, not by n": lambda w, c, m, norm: estimate(w, c, m, False),
        "without normalise: divide by n, not by the sum of the weights": lambda w, c, m, norm: estimate(w, c, m, True),
        "normalise is the wrong way round": lambda w, c, m, norm: estimate(w, c, m, not norm),
        "normalise: each position is divided by its own sum of weights, not by that of all": lambda w, c, m, norm: (
            estimate(w, c, m, norm, joint=True)
        ),
        "normalise: the sum has the weights of all sessions, not only of clicked ones": clicked_only,
        "normalise: divided by the sum of the weights and by n": lambda w, c, m, norm: (
            estimate(w, c, m, norm) / (len(w) if norm else 1)
        ),
        "clicks without a click count, 1 - c": lambda w, c, *more: estimate(
            w, [[1 - one for one in row] for row in c], *more
        ),
        "the weights are missing": lambda w, c, *more: estimate([[1.0] * len(row) for row in w], c, *more),
    }


def effective(weights: Any) -> float:
    squares = sum(weight**2 for weight in weights)
    return float(sum(weights) ** 2 / squares) if squares else 0.0


def precision(
    weights: Any, clicks: Any, z: float, less: int = 1, power: float = 0.5, ends: Any = (-1, 1), variance: bool = False
) -> list[float]:
    """Low, high, size; what follows ``z`` is for wrong ones."""
    n = len(weights)
    values = [sum(w * c for w, c in zip(*rows, strict=True)) for rows in zip(weights, clicks, strict=True)]
    mean = sum(values) / n
    spread = sum((x - mean) ** 2 for x in values) / max(n - less, 1)
    margin = z * (spread if variance else math.sqrt(spread)) / n**power
    return [mean + ends[0] * margin, mean + ends[1] * margin, min(map(effective, columns(weights)))]


def sized(size: Callable[[Any], float]) -> Callable[..., list[float]]:
    """``precision`` with another effective sample size, a function of the weights."""
    return lambda weights, clicks, z: [*precision(weights, clicks, z)[:2], size(weights)]


def weight_rows(log: Any, target: Any, logging: Any, kind: str) -> list[list[float]]:
    positions = len(log[0][0])
    tables = marginals(target, positions), marginals(logging, positions)
    rows = []
    for ranking, _ in log:
        row = cascade_weights(step_probabilities(target, ranking), step_probabilities(logging, ranking))
        if kind == "item-position":
            row = item_position_weights(ranking, *tables)
        rows.append([row[-1]] * positions if kind == "list" else row)
    return rows


def evaluate(log: Any, target: Any, logging: Any, kind: str) -> float:
    return estimate(weight_rows(log, target, logging, kind), [clicks for _, clicks in log])


def evaluate_mistakes() -> dict[str, Callable[..., float]]:
    """Wrong versions of ``evaluate`` by what is wrong with them."""

    def always(kind: str, instead: str) -> Callable[..., float]:
        return lambda log, p, q, asked: evaluate(log, p, q, instead if asked == kind else asked)

    def stepwise(log: Any, target: Any, logging: Any, kind: str) -> float:
        if kind != "item-position":
            return evaluate(log, target, logging, kind)
        rows = [ratios(step_probabilities(target, r), step_probabilities(logging, r)) for r, _ in log]
        return estimate(rows, [clicks for _, clicks in log])

    def clicked_sessions(log: Any, *more: Any) -> float:
        clicked = [session for session in log if any(session[1])]
        return evaluate(clicked, *more) if clicked else 0.0

    return {
        "the two policies are exchanged: target divided by logging": lambda log, p, q, kind: evaluate(log, q, p, kind),
        "SIPS weights all clicks by the last weight of the list: these are RIPS's weights": always("list", "cascade"),
        "RIPS weights a click by the ratios down to its position: these are SIPS's weights": always("cascade", "list"),
        "IIPS is asked for, and RIPS answers": always("item-position", "cascade"),
        "IIPS is asked for, and SIPS answers": always("item-position", "list"),
        "IIPS needs ratios of marginals, not of step probabilities": stepwise,
        "RIPS is asked for, and IIPS answers": always("cascade", "item-position"),
        "SIPS is asked for, and IIPS answers": always("list", "item-position"),
        "sessions without a click count, too: divide by all sessions": clicked_sessions,
        "the sum is not divided by the number of sessions": lambda log, *more: evaluate(log, *more) * len(log),
        "the weights have no effect on a single session: they are missing, or self-normalised": lambda log, *more: (
            estimate(weight_rows(log, *more), [clicks for _, clicks in log], math.inf, True)
        ),
        "only the last session counts": lambda log, *more: evaluate(log[-1:], *more),
    }
