"""Exercise 8: a Plackett-Luce policy that learns by REINFORCE.

A list is drawn item by item, each with probability proportional to exp(score) among the items that are left (Luce 1959,
Plackett 1975). The gradient is estimated from one list and its reward (REINFORCE; Williams, Machine Learning 1992,
section 4), and a baseline is subtracted from the reward, which does not change the estimate's expectation (Sutton and
Barto, 2nd edition, sections 2.8 and 13.4). All checks but the last one are exact: the coins are arguments, and
expectations are sums over all lists.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import Failed, called, same, shown
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import Setting, played
from rankgym.exercises.topics.plackett_luce import (
    AGENT_MISTAKES,
    GRADIENT_MISTAKES,
    REINFORCE_MISTAKES,
    Policy,
    choice_mistakes,
    choice_probabilities,
    expected_gradient,
    gradient,
    list_probability,
    log_mistakes,
    log_probability,
    reinforce,
    sample_list,
    sampling_mistakes,
    scaled,
)
from rankgym.submissions import Submission

OVERFLOW = "exp of a large score overflows, or all weights are 0: subtract the largest remaining score first"
DIFFERENCES = (
    "this is right to a few digits only, as differences of log P are: write the formula of the gradient, which is exact"
)
NOBODY_EXCEEDS = (
    "rounding keeps the sum of the probabilities below the coin to the end: draw the last remaining item then"
)
LARGE = [1000.0, 0.0, 1.0, -1000.0]  # scores of which exp cannot be computed
DRAWN = 40  # random cases of each check, after the small ones
ROUNDS = 2_000
TOLERANCE = 1e-11  # of gradients; right ones differ by 1e-14, the best differences of log P by more than 1e-10
ROUGH = 1e-3  # a gradient that is right so far may be made of differences
BELOW_ONE = 1 - 2**-53  # the largest coin

# Of the check that the agent learns. A run's loss is its mean regret in the last rounds, divided by that of the worst
# list, and so is between 0 and 1. The right agent's expected loss is below 0.04: it was 0.0320 in 2,400 other runs,
# with a standard error of 0.0003. The runs are independent, so by Hoeffding's inequality the right agent is refused
# with a probability below exp(-2 * 96 * (0.35 - 0.04)^2) < 1e-8. The runs have every order of the items' attractions
# equally often, so that any list that is always displayed loses 0.53 exactly, as random lists do in expectation.
RUNS_OF_ORDER, RUN_ROUNDS, LAST_ROUNDS, RUN_STEP = 4, 500, 100, 0.2
RUN_ATTRACTION, RUN_EXAMINATION = (0.9, 0.5, 0.2, 0.1), (1.0, 0.6)
MOST_LOSS = 0.35


# -- cases ------------------------------------------------------------------------------------------------------------


def scores_and_lists(trial: Trial) -> Iterator[tuple[list[float], list[int]]]:
    """Yield (scores, ranking), small ones first."""
    yield [0.0, 0.0], [0]
    yield [0.0, 1.0], [1]
    yield [0.0, 1.0], [1, 0]
    for ranking in itertools.permutations(range(3), 2):
        yield [0.0, 1.0, -0.5], list(ranking)
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 7))
        positions = int(trial.rng.integers(2, items + 1))
        yield some_scores(trial, items), trial.rng.permutation(items)[:positions].tolist()


def some_scores(trial: Trial, items: int) -> list[float]:
    return trial.rng.uniform(-2, 2, items).round(2).tolist()


def compare_large(
    trial: Trial, function: str, oracle: Callable[..., Any], cases: Iterable[Sequence[Any]], why: str = OVERFLOW
) -> None:
    """Check scores of which exp cannot be computed; a submission that fails here has got the ordinary ones right.

    Only the functions that need not call another one are checked with them, so that this mistake costs points once.
    """
    try:
        trial.compare(function, oracle, cases)
    except Failed as failed:
        raise Failed(failed.fault._replace(mistake=why)) from None


def compare_exactly(trial: Trial, function: str, oracle: Callable[..., Any], cases: Iterable[Sequence[Any]]) -> None:
    """Check gradients that have been found right roughly: differences of log P are not right to more digits."""
    try:
        trial.compare(function, oracle, cases, tolerance=TOLERANCE)
    except Failed as failed:
        raise Failed(failed.fault._replace(mistake=DIFFERENCES)) from None


def large_lists() -> Iterator[tuple[list[float], list[int]]]:
    yield [0.0, 1000.0], [1]
    for ranking in itertools.permutations(range(4), 2):
        yield LARGE, list(ranking)


# -- checks of the policy ---------------------------------------------------------------------------------------------


@check(
    points=1,
    of="choice_probabilities",
    hints=[
        "Which items share the probability 1?",
        "Item i of remaining gets exp(scores[i]), divided by the sum of these over remaining. Subtracting the same "
        "number from all scores changes nothing, and keeps exp small.",
        "top = max(scores[i] for i in remaining); weights = [math.exp(scores[i] - top) for i in remaining]; divide "
        "them by their sum.",
    ],
)
def choices_are_a_softmax_of_what_remains(trial: Trial) -> None:
    """Each remaining item is chosen with a probability proportional to exp(score); these add up to 1."""

    cases = [([1.0], [0]), ([0.0, 1.0], [0, 1]), ([0.0, 1.0, 0.5], [0, 2])]
    for _, ranking in scores_and_lists(trial):
        items = int(trial.rng.integers(max(ranking) + 1, 8))
        cases.append((some_scores(trial, items), sorted(ranking)))
    trial.compare("choice_probabilities", choice_probabilities, cases, mistakes=choice_mistakes())
    large = [([1000.0, 1001.0], [0, 1]), ([-1000.0, -1001.0], [0, 1]), (LARGE, [0, 2]), (LARGE, [1, 2]), (LARGE, [3])]
    compare_large(trial, "choice_probabilities", choice_probabilities, large)


@check(
    points=2,
    of="sample_list",
    hints=[
        "Draw one item, take it out of the remaining ones, and begin again with the next coin.",
        "Add up the probabilities of choice_probabilities(scores, remaining) until the sum exceeds coins[k]; remaining "
        "stays in the order of the item numbers.",
        "remaining = list(range(len(scores))); for each coin: total = 0.0; for item, p in zip(remaining, "
        "probabilities): total += p; if total > coin: break. Then ranking.append(item) and remaining.remove(item).",
    ],
)
def lists_are_drawn_item_by_item(trial: Trial) -> None:
    """Position k gets the first remaining item whose cumulative probability exceeds coins[k]."""
    cases: list[tuple[list[float], list[float]]] = [([0.0], [0.5]), ([0.0, 1.0], [0.1]), ([0.0, 1.0], [0.9])]
    cases += [([0.0, 0.0], [0.5]), ([0.0, 1.0, -0.5], [0.5, 0.7]), ([0.0, 1.0, -0.5], [0.05, 0.95])]
    for scores, ranking in scores_and_lists(trial):
        cases.append((scores, trial.rng.random(len(ranking)).tolist()))
        cases.append((some_scores(trial, 8), trial.rng.random(5).tolist()))
    trial.compare("sample_list", sample_list, cases, mistakes=sampling_mistakes())
    rounded_down(trial)


def rounded_down(trial: Trial) -> None:
    """Check coins that ten probabilities of 1/10, added up, do not exceed; the list is the same with exact sums."""
    for scores, coins, text in (
        ([0.0] * 10, [BELOW_ONE, 0.5], "[0.0] * 10, [1 - 2**-53, 0.5]"),
        ([0.0] * 11, [0.0, BELOW_ONE], "[0.0] * 11, [0.0, 1 - 2**-53]"),
    ):
        try:
            trial.compare("sample_list", sample_list, [(scores, coins)])
        except Failed as failed:
            right = shown(sample_list(scores, coins))
            fault = failed.fault._replace(call=f"sample_list({text})", expected=right, mistake=NOBODY_EXCEEDS)
            raise Failed(fault) from None


@check(
    points=1,
    of="log_probability",
    hints=[
        "A list is drawn item by item: multiply the probabilities of the choices, that is, add their logarithms.",
        "Position k adds s(R(k)) - log(sum of exp(s(i)) over the items i that remain before position k is filled).",
        "For large scores compute the position's term as s(R(k)) - top - log(sum of exp(s(i) - top)), top the largest "
        "remaining score: log of a probability that has become 0 would fail.",
    ],
)
def log_probabilities_add_up(trial: Trial) -> None:
    """log P(R) is the sum over positions of the log of the choice's probability among the items that remain."""
    trial.compare("log_probability", log_probability, scores_and_lists(trial), mistakes=log_mistakes())
    why = "exp overflows, or the log of a probability of 0 is taken: compute score - top - log(sum of exp(score - top))"
    compare_large(trial, "log_probability", log_probability, large_lists(), why)


# -- checks of the gradient -------------------------------------------------------------------------------------------


@check(
    points=2,
    of="log_probability_gradient",
    hints=[
        "The derivative of s(R(k)) - log(sum of exp(s(i))) by s(j) has two parts. Which items j have which?",
        "At each position the drawn item gets + 1, and every remaining item, the drawn one included, gets - p, its "
        "probability there. Items that were taken above get nothing.",
        "gradient = [0.0] * L; remaining = all items; for item in ranking: gradient[item] += 1; for i, p in "
        "zip(remaining, choice_probabilities(scores, remaining)): gradient[i] -= p; then remaining.remove(item).",
    ],
)
def gradients_are_one_minus_p(trial: Trial) -> None:
    """d log P(R) / d s(i) is the sum of -p(i) over the positions at which i remains, and + 1 if i is drawn."""
    cases = list(scores_and_lists(trial))
    trial.compare("log_probability_gradient", gradient, cases, mistakes=GRADIENT_MISTAKES, tolerance=ROUGH)
    compare_exactly(trial, "log_probability_gradient", gradient, cases)


@check(
    points=1,
    of="reinforce_gradient",
    hints=[
        "How much better than the baseline was the reward? By this the list should become more probable.",
        "(reward - baseline) times each entry of log_probability_gradient(scores, ranking).",
    ],
)
def estimates_average_to_the_gradient(trial: Trial) -> None:
    """(reward - baseline) grad log P(R), which over all lists averages to the gradient of the expected reward."""
    cases = []
    for scores, ranking in scores_and_lists(trial):
        cases.append((scores, ranking, int(trial.rng.integers(0, 3)), round(float(trial.rng.uniform(0, 2)), 2)))
    trial.compare("reinforce_gradient", reinforce, cases, mistakes=REINFORCE_MISTAKES, tolerance=ROUGH)
    compare_exactly(trial, "reinforce_gradient", reinforce, cases)
    for items, positions, baseline in ((2, 1, 0.5), (3, 2, 0.0), (3, 2, 1.5), (4, 2, 0.7)):
        scores = some_scores(trial, items)
        rewards = {r: float(trial.rng.uniform()) for r in itertools.permutations(range(items), positions)}
        mean = [0.0] * items
        for drawn, reward in rewards.items():
            ranking = list(drawn)
            estimate = trial.call("reinforce_gradient", scores, ranking, reward, baseline)
            if not _is_vector(estimate, items):
                call = called("reinforce_gradient", [scores, ranking, reward, baseline])
                trial.fail("reinforce_gradient", call, f"a list of {items} numbers", estimate)
            weighted = scaled(estimate, list_probability(scores, ranking))
            mean = [one + other for one, other in zip(mean, weighted, strict=True)]
        right = expected_gradient(scores, rewards)
        if not same(mean, right, 1e-6):
            call = f"{called('reinforce_gradient', [scores])[:-1]}, ...), the mean over all {len(rewards)} lists"
            trial.fail("reinforce_gradient", call, right, mean)


def _is_vector(value: Any, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(isinstance(x, int | float) for x in value)


# -- checks of the agent ----------------------------------------------------------------------------------------------


def users(trial: Trial, items: int, positions: int, rounds: int = ROUNDS) -> tuple[Any, Any]:
    """Draw what the rounds' users like, and where they look: the PBM's."""
    attraction = trial.rng.permutation(np.linspace(0.1, 0.9, items))
    examination = np.linspace(1.0, 0.5, positions)
    return trial.rng.random((rounds, items)) < attraction, trial.rng.random((rounds, positions)) < examination


@check(
    points=2,
    of="PolicyGradient",
    hints=[
        "Write act with sample_list, and update with reinforce_gradient. Which coins belong to round t? When does the "
        "baseline learn of the new reward?",
        "Coins of round t: coins[t], t = number of updates so far. Estimate first, with the baseline of the earlier "
        "rounds; move all scores by step_size times the estimate; then count the new reward into the baseline.",
        "baseline = self.total / self.rounds if self.rounds else 0.0; gradient = reinforce_gradient(self.scores, "
        "displayed, sum(clicks), baseline); self.scores[i] += self.step_size * gradient[i] for all i; self.total += "
        "sum(clicks); self.rounds += 1.",
    ],
)
def lists_are_those_of_the_policy_gradient(trial: Trial) -> None:
    """PolicyGradient displays the same lists for 2,000 rounds, given the same coins and the same users."""
    settings = []
    for items, positions, step_size, first_only in (
        (2, 1, 0.3, False),
        (3, 2, 0.1, False),
        (4, 2, 0.5, True),
        (6, 3, 0.1, False),
    ):
        attracted, examined = users(trial, items, positions)
        arguments = {
            "num_items": items,
            "num_positions": positions,
            "step_size": step_size,
            "coins": trial.rng.random((ROUNDS, positions)).tolist(),
        }
        settings.append(Setting(arguments, attracted, examined, first_only))
    trial.expect_play(Policy, "PolicyGradient", settings, mistakes=AGENT_MISTAKES)


def losses(lists: Iterable[Sequence[int]], attraction: Sequence[float], examination: Sequence[float]) -> list[float]:
    """Each list's regret in the PBM as a share of that of the worst list, between 0 and 1."""
    rewards = {
        ranking: math.fsum(chi * attraction[item] for chi, item in zip(examination, ranking, strict=True))
        for ranking in itertools.permutations(range(len(attraction)), len(examination))
    }
    best, worst = max(rewards.values()), min(rewards.values())
    return [(best - rewards[tuple(ranking)]) / (best - worst) for ranking in lists]


@check(
    points=1,
    of="PolicyGradient",
    hints=[
        "Print the scores after every hundred rounds: does the score of the most attractive item rise?",
        "A list that earned more than the baseline must become more probable: scores move by + step_size times "
        "(reward - baseline) times the gradient of log P.",
    ],
)
def it_learns(trial: Trial) -> None:
    """After 400 rounds the lists lose much less than random ones."""
    found = []
    for attraction in [*itertools.permutations(RUN_ATTRACTION)] * RUNS_OF_ORDER:
        attracted = trial.rng.random((RUN_ROUNDS, len(attraction))) < attraction
        examined = trial.rng.random((RUN_ROUNDS, len(RUN_EXAMINATION))) < RUN_EXAMINATION
        arguments = {
            "num_items": len(attraction),
            "num_positions": len(RUN_EXAMINATION),
            "step_size": RUN_STEP,
            "coins": trial.rng.random((RUN_ROUNDS, len(RUN_EXAMINATION))).tolist(),
        }
        lists = trial.play("PolicyGradient", Setting(arguments, attracted, examined))
        found.append(float(np.mean(losses(lists[-LAST_ROUNDS:], attraction, RUN_EXAMINATION))))
    loss = float(np.mean(found))
    if loss > MOST_LOSS:
        call = f"PolicyGradient, the last {LAST_ROUNDS} of {RUN_ROUNDS} rounds in {len(found)} runs"
        why = "the scores move the wrong way" if loss > 0.7 else "the lists do not depend enough on the rewards"
        most = f"regret of at most {MOST_LOSS:.0%} of the worst list's (random lists have 53%)"
        trial.fail("PolicyGradient", call, most, f"{shown(round(100 * loss, 1))}%", why)


# -- the picture ------------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the submission's mean regret in the cascade model with two step sizes, beside package agents'."""
    if lists_are_those_of_the_policy_gradient.name not in passed:
        return False
    from rankgym_agents import CascadeUCB1, RandomRanker

    rng, runs = np.random.default_rng(3), 4
    attraction, positions = [0.1, 0.45, 0.2, 0.4, 0.15, 0.5, 0.05, 0.3], 3
    size: dict[str, int] = {"num_items": len(attraction), "num_positions": positions}
    best = _cascade_reward(sorted(attraction)[-positions:])
    curves: dict[str, Any] = {}
    for seed in range(runs):
        attracted = rng.random((ROUNDS, len(attraction))) < attraction
        sessions = attracted, np.ones((ROUNDS, positions), bool)
        lists = {}
        for step in (0.1, 0.5):
            coins = rng.random((ROUNDS, positions)).tolist()
            agent = student.make("PolicyGradient", **size, step_size=step, coins=coins)
            lists[f"yours, step size {step}"] = student.play(agent, *sessions, first_only=True)
        for name, made in (("random", RandomRanker), ("cascade-ucb1", CascadeUCB1)):
            lists[name] = played(_OneRow(made(**size, seed=seed)), *sessions, True)[0]
        for name, shown_lists in lists.items():
            lost = [best - _cascade_reward([attraction[item] for item in ranking]) for ranking in shown_lists]
            curves[name] = curves.get(name, 0.0) + np.cumsum(lost) / runs
    title = f"Cascade model, {len(attraction)} items of 0.05 to 0.5, {positions} positions; mean of {runs} runs"
    draw_curves(figure.subplots(), curves, title=title)
    return True


def _cascade_reward(attractions: Iterable[float]) -> float:
    return 1 - math.prod(1 - alpha for alpha in attractions)


class _OneRow:
    """A package agent of one row, as an agent for one user at a time."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def act(self) -> list[int]:
        return list(self.agent.act()[0].tolist())

    def update(self, displayed: list[int], clicks: list[int]) -> None:
        self.agent.update(np.array([displayed]), np.array([clicks]))


EXERCISE = Exercise(
    title="A Plackett-Luce policy gradient",
    handout=HANDOUTS / "08_policy_gradient.py",
    checks=(
        choices_are_a_softmax_of_what_remains,
        lists_are_drawn_item_by_item,
        log_probabilities_add_up,
        gradients_are_one_minus_p,
        estimates_average_to_the_gradient,
        lists_are_those_of_the_policy_gradient,
        it_learns,
    ),
    draw=draw,
)
