"""Exercise 9: estimate the value of a ranking policy from the log of another one.

All checks are exact: the estimators' expectations are computed by enumeration of all lists and clicks, and must be the
true value under users for whom the estimator is unbiased. SIPS weights whole lists, IIPS (Li, Abbasi-Yadkori, Kveton,
Muthukrishnan, Vinay and Wen, KDD 2018) items at positions, RIPS (McInerney, Brost, Chandar, Mehrotra and Carterette,
KDD 2020) the items down to a position. Names and assumptions are as in Kiyohara, Saito, Matsuhiro, Narita, Shimizu and
Yamamoto (WSDM 2022), whose estimator is a question at the end. Self-normalisation is that of Swaminathan and Joachims
(NIPS 2015), for each position by itself; the effective sample size is Kish's (1965). All papers are cited from memory;
the enumeration shows that the formulas do what they should.
"""

import ast
import builtins
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import Failed, called, plain, same, shown
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.topics.off_policy_oracles import (
    cascade_weights,
    columns,
    effective,
    estimate,
    estimate_mistakes,
    evaluate,
    evaluate_mistakes,
    item_position_weights,
    list_probability,
    marginals,
    precision,
    product,
    ratios,
    sized,
    softmax,
    step_probabilities,
    weight_rows,
)
from rankgym.submissions import NoAnswer, Submission

DRAWN = 30  # random cases of each check, after the small ones
NO_SUPPORT = "raise ValueError where the logging probability is 0: there is no support"
BOTH_ZERO = (
    "a logging probability of 0 at a place of the list is refused even if the target's is 0, too: 0 / 0 is no weight"
)
NOT_SHOWN_NOT_WANTED = "0 in both tables is fine at places that the list does not have: neither policy uses them"
OTHER_PLACES = "refuse also for items and positions that the list does not have there: go through both whole tables"
OTHER_ITEMS = "refuse also for items that the list does not have at all: go through both whole tables"
DEFAULTS = "without more arguments nothing is clipped or normalised: largest=math.inf, normalise=False in the def line"
LOGS, SESSIONS = 300, (50, 100, 200, 400, 800, 1_600, 3_200)  # of the picture
KINDS = ("list", "cascade", "item-position")

# -- policies --------------------------------------------------------------------------------------------------------


def numbers(trial: Trial, how_many: int, low: float, high: float) -> list[float]:
    return trial.rng.uniform(low, high, how_many).round(2).tolist()


def rankings(trial: Trial) -> Iterator[tuple[list[float], list[int]]]:
    """Yield (scores, ranking), small ones first."""
    yield [0.0], [0]
    for ranking in itertools.permutations(range(2)):
        yield [0.0, 1.0], list(ranking)
    for ranking in itertools.permutations(range(3), 2):
        yield [0.0, 1.0, -0.5], list(ranking)
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 8))
        positions = int(trial.rng.integers(1, items + 1))
        yield numbers(trial, items, -2, 2), trial.rng.permutation(items)[:positions].tolist()


@check(
    points=1,
    of="step_probabilities",
    hints=[
        "Whoever stands above is not among those that are left. Who is in the sum at the last position of a full list?",
        "Keep the set of items that are left: for each item of the ranking divide its exp(score) by the sum of "
        "exp(score) over the set, then take the item out of the set.",
    ],
)
def steps_are_among_the_items_left(trial: Trial) -> None:
    """p(k) is exp(score) of the item at position k, divided by the sum of exp(score) over the items not above it."""

    def of_ranked(scores: Any, ranking: Any) -> list[float]:
        chances = [math.exp(scores[item]) for item in ranking]
        return [chance / sum(chances[k:]) for k, chance in enumerate(chances)]

    def without_itself(scores: Any, ranking: Any) -> list[float]:
        chances = step_probabilities(scores, ranking)
        return [p / (1 - p) if len(scores) > k + 1 else p / 0.0 for k, p in enumerate(chances)]

    def no_exp(scores: Any, ranking: Any) -> list[float]:
        return step_probabilities([math.log(score) if score > 0 else -700 for score in scores], ranking)

    mistakes = {
        "the items above are still in the sum: take them out": softmax,
        "the sum has only the items of the ranking: all items that are left belong there": of_ranked,
        "the item itself is missing in its sum: take it out after its step": without_itself,
        "scores are taken by position, not by item": lambda s, r: step_probabilities(s, range(len(r))),
        "exp(score) is proportional to the probability, not the score": no_exp,
        "exp(score), not exp(-score)": lambda s, r: step_probabilities([-one for one in s], r),
        "these are probabilities of the list down to each position: do not multiply yet": lambda s, r: list(
            itertools.accumulate(step_probabilities(s, r), lambda a, b: a * b)
        ),
        "this is the probability of the whole list: return one number for each position": list_probability,
        "these are logarithms": lambda s, r: [math.log(p) for p in step_probabilities(s, r)],
    }
    trial.compare("step_probabilities", step_probabilities, rankings(trial), mistakes=mistakes)


@check(
    points=1,
    of="marginals",
    hints=[
        "A list adds its probability to each of its items, at the item's position.",
        "for ranking in itertools.permutations(range(L), num_positions): for k, item in enumerate(ranking): "
        "table[item][k] += math.prod(step_probabilities(scores, ranking)).",
    ],
)
def marginals_sum_over_lists(trial: Trial) -> None:
    """The marginal of item i at position k is the sum of the probabilities of all lists that have it there."""

    def uniform(scores: Any, num_positions: int) -> Any:
        return marginals(scores, num_positions, lambda s, r: 1 / math.perm(len(s), len(r)))

    def of_prefix(scores: Any, num_positions: int) -> Any:
        table = [[0.0] * num_positions for _ in scores]
        for ranking in itertools.permutations(range(len(scores)), num_positions):
            steps = step_probabilities(scores, ranking)
            for k, item in enumerate(ranking):
                table[item][k] += math.prod(steps[: k + 1])
        return table

    def of_step(scores: Any, num_positions: int) -> Any:
        table = [[0.0] * num_positions for _ in scores]
        for ranking in itertools.permutations(range(len(scores)), num_positions):
            for k, item in enumerate(ranking):
                table[item][k] += step_probabilities(scores, ranking)[k]
        return table

    def last_list(scores: Any, num_positions: int) -> Any:
        table = [[0.0] * num_positions for _ in scores]
        for ranking in itertools.permutations(range(len(scores)), num_positions):
            for k, item in enumerate(ranking):
                table[item][k] = list_probability(scores, ranking)
        return table

    def in_order(scores: Any, num_positions: int) -> Any:
        return marginals(scores, num_positions, lambda s, r: list_probability(s, r) if list(r) == sorted(r) else 0.0)

    mistakes = {
        "every list adds its probability, +=: yours has only the last list's": last_list,
        "combinations are lists in the order of the numbers: use permutations": in_order,
        "position by item: the answer has a row for each item": lambda s, K: list(zip(*marginals(s, K), strict=True)),
        "the lists are not equally probable": uniform,
        "a list adds its whole probability, not its step probability": of_step,
        "a list adds its whole probability, not that down to the position: other lists begin like it": of_prefix,
        "the items above are still in the sum of the step probability": lambda s, K: marginals(
            s, K, lambda scores, r: math.prod(softmax(scores, r))
        ),
        "these are the probabilities of position 0, at all positions": lambda s, K: [
            row[:1] * K for row in marginals(s, K)
        ],
        "these are whole lists: only num_positions items are displayed": lambda s, K: marginals(s, len(s)),
    }
    cases: list[tuple[list[float], int]] = [([0.0], 1), ([0.0, 1.0], 1), ([0.0, 1.0], 2), ([0.0, 1.0, -0.5], 2)]
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 6))
        cases.append((numbers(trial, items, -2, 2), int(trial.rng.integers(1, min(items, 3) + 1))))
    trial.compare("marginals", marginals, cases, mistakes=mistakes)


# -- weights ---------------------------------------------------------------------------------------------------------


def must_refuse(trial: Trial, function: str, *args: Any, why: str) -> None:
    """Check that the submission's function raises ValueError, or a class of its own that is one."""
    call = called(function, plain(args))
    try:
        got = trial.student.call(function, *plain(args))
    except NoAnswer as error:
        if is_value_error(error.error, trial.student.source):
            return
        trial.fail(function, call, "ValueError", str(error), why)
    trial.fail(function, call, "ValueError", got, why)


def is_value_error(name: str, source: str) -> bool:
    """Whether an exception of this name is a ValueError; it may be one of Python's or a class of the source."""
    known = getattr(builtins, name, None)
    if isinstance(known, type):
        return issubclass(known, ValueError)
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef) and node.name == name]
    bases = [ast.unparse(base) for node in classes for base in node.bases]
    return any(base != name and is_value_error(base, source) for base in bases)


def must_accept(trial: Trial, expected: Any, function: str, *args: Any, why: str) -> None:
    """Check an answer that a submission may refuse."""
    try:
        trial.compare(function, lambda *_: expected, [args])
    except Failed as failed:
        refused = failed.fault._replace(expected=shown(expected))
        raise Failed(refused._replace(mistake=why if "ValueError" in failed.fault.got else "")) from None


@check(
    points=1,
    of="cascade_weights",
    hints=[
        "What is the weight of position 0? And of the last position?",
        "Go from the top: multiply the weight so far by target[k] / logging[k], and append it.",
        "If any logging probability is 0, raise ValueError(...) yourself; Python's own error for 1 / 0 is another one.",
    ],
)
def cascade_weights_multiply_down_to_the_position(trial: Trial) -> None:
    """RIPS weights position k by the product of the ratios of positions up to k; a probability of 0 is refused."""
    mistakes = {
        "the ratio is the wrong way round: target divided by logging": lambda p, q: cascade_weights(q, p),
        "the ratios are added up: multiply them": lambda p, q: list(itertools.accumulate(ratios(p, q))),
        "the ratios are added to 1: multiply them": lambda p, q: [
            1 + total for total in itertools.accumulate(ratios(p, q))
        ],
        "the position's own ratio is missing": lambda p, q: [1.0, *cascade_weights(p, q)[:-1]],
        "the product has the positions from k on: it should have those up to k": lambda p, q: cascade_weights(
            p[::-1], q[::-1]
        )[::-1],
        "these are the ratios alone: multiply those above": ratios,
        "these are SIPS's weights, the product of all: RIPS stops at the position": lambda p, q: (
            [cascade_weights(p, q)[-1]] * len(p)
        ),
        "only the logging probabilities count: the target's are missing": lambda p, q: cascade_weights([1] * len(q), q),
        "the mean of the ratios: multiply them": lambda p, q: [
            total / (k + 1) for k, total in enumerate(itertools.accumulate(ratios(p, q)))
        ],
        "this is the weight of the whole list alone: return one for each position": lambda p, q: cascade_weights(p, q)[
            -1
        ],
    }
    cases: list[tuple[list[float], list[float]]] = [
        ([0.5], [0.25]),
        ([0.5, 1.0], [0.25, 0.5]),
        ([0.0, 0.5], [0.5, 0.25]),
    ]
    for _ in range(DRAWN):
        positions = int(trial.rng.integers(1, 8))
        cases.append((numbers(trial, positions, 0, 1), numbers(trial, positions, 0.05, 1)))
    trial.compare("cascade_weights", cascade_weights, cases, mistakes=mistakes)
    must_refuse(trial, "cascade_weights", [0.5, 0.5], [0.5, 0.0], why=NO_SUPPORT)
    must_refuse(trial, "cascade_weights", [0.0, 0.5], [0.0, 0.5], why=BOTH_ZERO)
    small = [1e-200, 2e-200, 0.5], [2e-200, 1e-200, 0.5]
    wrong = {"products are divided, and are too small for a float: multiply the ratios": lambda p, q: [0.5, 0.0, 0.0]}
    trial.compare("cascade_weights", cascade_weights, [small], mistakes=wrong)


@check(
    points=1,
    of="item_position_weights",
    hints=[
        "One ratio for each position: that of the item which the list has there.",
        "target[item][k] / logging[item][k] for k, item in enumerate(ranking).",
        "Before that, go through both whole tables: a place with target > 0 and logging == 0 is refused (ValueError), "
        "even if this list does not have the item there. A place of the list with logging == 0 is refused, too.",
    ],
)
def item_position_weights_are_one_ratio(trial: Trial) -> None:
    """IIPS weights position k by the ratio of the marginals of its item there; without support it refuses."""

    def along(ranking: Any, target: Any, logging: Any) -> list[float]:
        return product(item_position_weights(ranking, target, logging))

    def anywhere(ranking: Any, target: Any, logging: Any) -> list[float]:
        return [sum(target[item]) / sum(logging[item]) for item in ranking]

    mistakes = {
        "the ratio is the wrong way round: target divided by logging": lambda r, p, q: item_position_weights(r, q, p),
        "the ratios of other positions are multiplied: IIPS has one for each position": along,
        "the rows are taken by position: the item at the position is ranking[k]": lambda r, p, q: item_position_weights(
            range(len(r)), p, q
        ),
        "the position does not matter here, but should: target[item][k]": anywhere,
        "the marginals of position 0 serve all positions": lambda r, p, q: [p[item][0] / q[item][0] for item in r],
        "the product of all ratios: IIPS has one for each position": lambda r, p, q: [along(r, p, q)[-1]] * len(r),
    }
    cases: list[tuple[Any, Any, Any]] = [([0], [[0.5], [0.5]], [[0.25], [0.75]])]
    for number in range(DRAWN):
        items = 2 if number < 4 else int(trial.rng.integers(3, 6))
        positions = int(trial.rng.integers(1, min(items, 3) + 1))
        tables = [marginals(numbers(trial, items, -1, 1), positions) for _ in range(2)]
        cases.append((trial.rng.permutation(items)[:positions].tolist(), *tables))
    trial.compare("item_position_weights", item_position_weights, cases, mistakes=mistakes)
    support_is_needed_everywhere(trial)


def support_is_needed_everywhere(trial: Trial) -> None:
    """Check what is refused: 0 at a place of the list, and 0 at any other place that the target policy uses."""
    halves = [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]
    never_last = [[0.5, 0.0], [0.5, 0.5], [0.0, 0.5]]
    one_list = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    name = "item_position_weights"
    must_accept(trial, [0.0, 0.0], name, [1, 0], one_list, halves, why=NOT_SHOWN_NOT_WANTED)
    must_refuse(trial, name, [1, 0], halves, never_last, why=NO_SUPPORT)
    must_refuse(trial, name, [2, 0], one_list, halves, why=BOTH_ZERO)
    must_refuse(trial, name, [0, 1], halves, never_last, why=OTHER_PLACES)
    must_refuse(trial, name, [1, 2], halves, never_last, why=OTHER_ITEMS)


# -- estimates -------------------------------------------------------------------------------------------------------


def drawn_log(trial: Trial, sessions: int, positions: int, *, zeros: bool = False) -> tuple[Any, Any]:
    """Draw (weights, clicks) of a log; with ``zeros`` a position may have no weight at all."""
    rng = trial.rng
    weights = rng.exponential(1, (sessions, positions)).round(3)
    weights[rng.random((sessions, positions)) < 0.2] = 0.0
    if zeros:
        weights[:, int(rng.integers(positions))] = 0.0
    return weights.tolist(), rng.integers(0, 2, (sessions, positions)).tolist()


@check(
    points=2,
    of="estimate",
    hints=[
        "Clip all weights first; all that follows uses the clipped ones.",
        "Go through the positions: the sum of weight times click over the sessions, divided by n, or (normalise) by "
        "the sum of this position's weights.",
        "for column, clicked in zip(zip(*weights), zip(*clicks)): weighted = sum(w * c ...); total = sum(column) if "
        "normalise else n; value += weighted / total if total > 0 else 0.",
    ],
)
def estimates_average_weighted_clicks(trial: Trial) -> None:
    """The sum of weighted clicks by n; clipped weights; by the sum of a position's weights if normalised."""
    cases: list[tuple[Any, Any, float, bool]] = [
        ([[2.0]], [[1]], 100.0, False),
        ([[2.0], [0.5]], [[1], [0]], 100.0, False),
        ([[2.0, 0.5], [1.0, 4.0]], [[1, 0], [0, 1]], 100.0, False),
        ([[2.0, 0.5], [1.0, 4.0]], [[1, 0], [0, 1]], 1.5, False),
        ([[2.0, 0.5], [1.0, 4.0]], [[1, 0], [0, 1]], 100.0, True),
    ]
    for number in range(DRAWN):
        sessions, positions = int(trial.rng.integers(2, 8)), int(trial.rng.integers(1, 4))
        log = drawn_log(trial, sessions, positions, zeros=number % 10 == 9)
        cases.append((*log, (100.0, 1.25)[number % 2], number % 4 > 1))
    trial.compare("estimate", estimate, cases, mistakes=estimate_mistakes())
    large, clicks = drawn_log(trial, 4, 2)
    large[0][0], clicks[0][0] = 1e6, 1
    try:
        trial.compare("estimate", estimate, [(large, clicks)])
    except Failed as failed:
        raise Failed(failed.fault._replace(mistake=DEFAULTS)) from None


@check(
    points=2,
    of="precision",
    hints=[
        "First x_t for each session: the sum over its positions of weight times click. The interval is for their mean.",
        "s has n - 1 under the sum of squares; the standard error of the mean is s / sqrt(n).",
        "The effective sample size: for column in zip(*weights): sum(column) ** 2 / sum(w ** 2 for w in column); then "
        "the smallest of them.",
    ],
)
def precision_is_an_interval_and_a_size(trial: Trial) -> None:
    """The interval is the mean of x_t plus and minus z s / sqrt(n); the size is the smallest (sum w)^2 / sum w^2."""

    mistakes = {
        "the squares are divided by n: s has n - 1": lambda w, c, z: precision(w, c, z, less=0),
        "the standard error is s / sqrt(n): sqrt(n) is missing": lambda w, c, z: precision(w, c, z, power=0),
        "the standard error is s / sqrt(n), not s / n": lambda w, c, z: precision(w, c, z, power=1),
        "s is the root of the variance: the root is missing": lambda w, c, z: precision(w, c, z, variance=True),
        "the interval goes to both sides": lambda w, c, z: precision(w, c, z, ends=(0, 1)),
        "low comes before high": lambda w, c, z: precision(w, c, z, ends=(1, -1)),
        "z is missing": lambda w, c, z: precision(w, c, 1.0),
        "the interval is half as wide: z standard errors to each side": lambda w, c, z: precision(w, c, z / 2),
        "x_t is the sum over the positions, not their mean": lambda w, c, z: [
            *(end / len(w[0]) for end in precision(w, c, z)[:2]),
            precision(w, c, z)[2],
        ],
        "the size is that of all weights together: take each position by itself": sized(
            lambda w: effective(list(itertools.chain(*w)))
        ),
        "the size is that of the position where it is largest: the smallest is wanted": sized(
            lambda w: max(map(effective, columns(w)))
        ),
        "the size is that of the position where it is smallest, not the mean of all": sized(
            lambda w: sum(map(effective, columns(w))) / len(w[0])
        ),
        "the size is that of a position, with the weights of all sessions: yours is that of a session": sized(
            lambda w: min(map(effective, w))
        ),
        "the size is that of the last position: the smallest is wanted": sized(lambda w: effective([r[-1] for r in w])),
        "the size is that of position 0: the smallest is wanted": sized(lambda w: effective([row[0] for row in w])),
        "the size is the number of sessions": sized(len),
        "the size is the wrong way round: (sum w)^2 is above": sized(
            lambda w: min(1 / effective(column) if effective(column) else 0.0 for column in columns(w))
        ),
        "the size has the square of the sum above, not the sum": sized(
            lambda w: min(effective(column) / (sum(column) or 1) for column in columns(w))
        ),
    }
    cases: list[tuple[Any, Any, float]] = [
        ([[2.0], [0.5]], [[1], [1]], 1.0),
        ([[2.0, 0.5], [1.0, 4.0], [1.0, 1.0]], [[1, 0], [0, 1], [1, 1]], 1.96),
        ([[2.0, 0.0], [1.0, 0.0]], [[1, 0], [0, 1]], 1.96),
    ]
    for _ in range(DRAWN):
        sessions, positions = int(trial.rng.integers(2, 8)), int(trial.rng.integers(1, 4))
        cases.append((*drawn_log(trial, sessions, positions), 1.96))
    trial.compare("precision", precision, cases, mistakes=mistakes)


# -- all together ----------------------------------------------------------------------------------------------------


class Users:
    """Users of one kind: the probability of a click at each position of a list, the positions independent.

    Only these probabilities matter for the expectation of an estimate, so that a cascade user may be drawn so, too.
    """

    def __init__(self, trial: Trial, kind: str, items: int, positions: int) -> None:
        self.kind, self.table = kind, {}
        self.attraction, examination = numbers(trial, items, 0.1, 0.9), numbers(trial, positions, 0.3, 1)
        for ranking in itertools.permutations(range(items), positions):
            alpha = [self.attraction[item] for item in ranking]
            seen = {
                "list": numbers(trial, positions, 0.1, 0.9),  # anything at all
                "cascade": [math.prod(1 - a for a in alpha[:k]) for k in range(positions)],
                "item-position": examination,
            }[kind]
            self.table[ranking] = [a * chi for a, chi in zip(alpha, seen, strict=True)]

    def sessions(self) -> Iterator[tuple[list[int], list[int], float]]:
        """Yield (list, clicks, probability of the clicks), all there are."""
        for ranking, chances in self.table.items():
            for clicks in itertools.product((0, 1), repeat=len(ranking)):
                drawn = (p if click else 1 - p for p, click in zip(chances, clicks, strict=True))
                yield list(ranking), list(clicks), math.prod(drawn)

    def value(self, scores: Any) -> float:
        """The expected clicks of a policy."""
        return sum(list_probability(scores, ranking) * sum(chances) for ranking, chances in self.table.items())


def expect_unbiased(trial: Trial, kind: str, items: int, positions: int) -> None:
    """Check by enumeration that the expectation of an estimate from one session is the true value."""
    users = Users(trial, kind, items, positions)
    target, logging = numbers(trial, items, -1, 1), numbers(trial, items, -1, 1)
    expectation, suspects, first = 0.0, evaluate_mistakes(), None
    for ranking, clicks, chance in users.sessions():
        log = [[ranking, clicks]]
        got = trial.call("evaluate", log, target, logging, kind)
        if isinstance(got, bool) or not isinstance(got, int | float):
            trial.fail("evaluate", called("evaluate", [log, target, logging, kind]), "a number", got)
        suspects = {why: wrong for why, wrong in suspects.items() if same(got, wrong(log, target, logging, kind))}
        expectation += list_probability(logging, ranking) * chance * got
        if first is None and not same(got, evaluate(log, target, logging, kind)):
            first = log, got
    value = users.value(target)
    if first is not None and not same(expectation, value):
        log, got = first
        row = weight_rows(log, target, logging, kind)[0]
        who = {"list": "these", "cascade": "cascade", "item-position": "position-based"}[kind]
        expected = f"{shown(evaluate(log, target, logging, kind))}: the positions have the weights {shown(row)}"
        answer = (
            f"{shown(got)}; over all lists and clicks your estimates have the expectation {shown(expectation)}, but "
            f"with {who} users (attraction {shown(users.attraction)}) the target policy's value is {shown(value)}"
        )
        call = called("evaluate", [log, target, logging, kind])
        trial.fail("evaluate", call, expected, answer, next(iter(suspects), ""))


@check(
    points=2,
    of="evaluate",
    hints=[
        "Compute the weights of each session with your functions, then call estimate.",
        "list: the last of cascade_weights, for all positions; cascade: cascade_weights as they are; item-position: "
        "item_position_weights with the marginals of both policies.",
        "Target comes first: cascade_weights(step_probabilities(target_scores, ranking), "
        "step_probabilities(logging_scores, ranking)). Sessions without a click stay in the log.",
    ],
)
def expectations_are_the_true_value(trial: Trial) -> None:
    """Over all lists and clicks, each estimator's expectation is the true value under its users."""
    for kind in KINDS:
        expect_unbiased(trial, kind, 2, 2)
    for kind in KINDS:
        expect_unbiased(trial, kind, 3, 2)
    cases = []
    for number in range(DRAWN):
        items, sessions = int(trial.rng.integers(2, 5)), int(trial.rng.integers(2, 6))
        positions = int(trial.rng.integers(1, min(items, 3) + 1))
        log = [
            [trial.rng.permutation(items)[:positions].tolist(), trial.rng.integers(0, 2, positions).tolist()]
            for _ in range(sessions)
        ]
        log[0][1] = [0] * positions
        cases.append((log, numbers(trial, items, -1, 1), numbers(trial, items, -1, 1), KINDS[number % 3]))
    trial.compare("evaluate", evaluate, cases, mistakes=evaluate_mistakes())


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the submission's estimates from longer and longer logs of cascade users: mean and spread over many logs."""
    if expectations_are_the_true_value.name not in passed:
        return False
    target, logging, attraction = [-0.5, 0.0, 0.5, 1.0], [0.5, 0.0, 0.0, -0.5], [0.2, 0.4, 0.5, 0.8]
    sessions, chances, value = [], [], 0.0
    for ranking in map(list, itertools.permutations(range(4), 3)):
        seen = 1.0
        for k, item in enumerate(ranking):
            sessions.append([ranking, [int(k == place) for place in range(3)]])
            chances.append(list_probability(logging, ranking) * seen * attraction[item])
            seen *= 1 - attraction[item]
        sessions.append([ranking, [0, 0, 0]])
        chances.append(list_probability(logging, ranking) * seen)
        value += list_probability(target, ranking) * (1 - seen)
    rng, shares = np.random.default_rng(1), np.array(chances) / sum(chances)
    logs = rng.choice(len(sessions), (LOGS, SESSIONS[-1]), p=shares)
    curves: dict[str, Any] = {}
    spreads = {}
    for kind in KINDS:  # the estimate of a log is the mean of those of its sessions
        each = np.array([student.call("evaluate", [session], target, logging, kind) for session in sessions])
        estimates = np.array([each[logs[:, :n]].mean(axis=1) for n in SESSIONS])
        curves[f"yours, {kind}"] = estimates.mean(axis=1)
        spreads[f"yours, {kind}"] = np.quantile(estimates, (0.1, 0.9), axis=1)
    curves["true value"] = [value] * len(SESSIONS)
    axes = figure.subplots()
    title = f"Cascade users; mean of {LOGS} logs, and the bands of 80% of them"
    draw_curves(axes, curves, SESSIONS, x_label="sessions of the log", y_label="estimated clicks", title=title)
    for line in [line for line in axes.get_lines() if line.get_label() in spreads]:
        low, high = spreads[line.get_label()]
        axes.fill_between(SESSIONS, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    return True


EXERCISE = Exercise(
    title="Evaluate a ranking policy from the logs of another one",
    handout=HANDOUTS / "09_off_policy.py",
    checks=(
        steps_are_among_the_items_left,
        marginals_sum_over_lists,
        cascade_weights_multiply_down_to_the_position,
        item_position_weights_are_one_ratio,
        estimates_average_weighted_clicks,
        precision_is_an_interval_and_a_size,
        expectations_are_the_true_value,
    ),
    draw=draw,
)
