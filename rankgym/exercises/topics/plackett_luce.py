"""Oracles of exercise 8, and the wrong variants of them by which its checks name mistakes."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any


def choice_probabilities(scores: Any, remaining: Any) -> list[float]:
    """Softmax of the remaining items' scores."""
    top = max(scores[item] for item in remaining)
    weights = [math.exp(scores[item] - top) for item in remaining]
    return [weight / sum(weights) for weight in weights]


def sample_list(scores: Any, coins: Any) -> list[int]:
    """Position by position, the first remaining item whose cumulative probability exceeds the coin."""
    remaining, ranking = list(range(len(scores))), []
    for coin in coins:
        ranking.append(remaining.pop(drawn_place(choice_probabilities(scores, remaining), coin)))
    return ranking


def drawn_place(chances: Sequence[float], coin: float) -> int:
    """The first place whose cumulative probability exceeds the coin, the last one if none does."""
    cumulative = itertools.accumulate(chances)
    return next((place for place, total in enumerate(cumulative) if total > coin), len(chances) - 1)


def steps(scores: Any, ranking: Any) -> Iterator[tuple[int, list[int]]]:
    """Yield each position's item and the items that remain before it is taken."""
    remaining = list(range(len(scores)))
    for item in ranking:
        yield item, list(remaining)
        remaining.remove(item)


def log_probability(scores: Any, ranking: Any) -> float:
    """Log of the probability of a list."""
    total = 0.0
    for item, remaining in steps(scores, ranking):
        top = max(scores[one] for one in remaining)
        total += scores[item] - top - math.log(math.fsum(math.exp(scores[one] - top) for one in remaining))
    return total


def gradient(scores: Any, ranking: Any, size: int | None = None) -> list[float]:
    """Gradient of ``log_probability`` with respect to the scores; wrong if ``size`` is another number of entries."""
    slopes = [0.0] * (len(scores) if size is None else size)
    for item, remaining in steps(scores, ranking):
        slopes[item] += 1
        for one, chance in zip(remaining, choice_probabilities(scores, remaining), strict=True):
            slopes[one] -= chance
    return slopes


def reinforce(scores: Any, ranking: Any, reward: float, baseline: float) -> list[float]:
    """The advantage times the gradient of the list's log-probability."""
    return scaled(gradient(scores, ranking), reward - baseline)


def scaled(values: Iterable[float], factor: float) -> list[float]:
    return [factor * value for value in values]


def expected_gradient(scores: Any, rewards: Mapping[tuple[int, ...], float]) -> list[float]:
    """Gradient of the expected reward, from differences: the sum over all lists at shifted scores, and no logarithm."""
    step = 1e-5

    def mean(shift: float, shifted: int) -> float:
        moved = [score + shift * (item == shifted) for item, score in enumerate(scores)]
        return math.fsum(reward * list_probability(moved, ranking) for ranking, reward in rewards.items())

    return [(mean(step, item) - mean(-step, item)) / (2 * step) for item in range(len(scores))]


def list_probability(scores: Any, ranking: Any) -> float:
    """The product of the choices' probabilities."""
    return math.prod(choice_probabilities(scores, left)[left.index(item)] for item, left in steps(scores, ranking))


class Policy:
    """The agent, and, with other methods, wrong ones."""

    def __init__(self, num_items: int, num_positions: int, step_size: float, coins: Any) -> None:
        self.scores, self.step_size, self.coins = [0.0] * num_items, step_size, coins
        self.num_positions = num_positions
        self.rewards: list[float] = []  # of all rounds until now

    def act(self) -> list[int]:
        return self.draw(self.coins[len(self.rewards)])

    def update(self, displayed: list[int], clicks: list[int]) -> None:
        reward = self.reward(displayed, clicks)
        estimate = self.estimate(displayed, clicks, reward - self.baseline(reward))
        self.scores = [score + self.step_size * slope for score, slope in zip(self.scores, estimate, strict=True)]
        self.rewards.append(reward)

    def estimate(self, displayed: list[int], clicks: list[int], advantage: float) -> list[float]:
        return scaled(self.slopes(displayed), advantage)

    def draw(self, coins: Any) -> list[int]:
        return sample_list(self.scores, coins)

    def slopes(self, displayed: list[int]) -> list[float]:
        return gradient(self.scores, displayed)

    def reward(self, displayed: list[int], clicks: list[int]) -> float:
        return sum(clicks)

    def baseline(self, reward: float) -> float:
        """The mean reward of earlier rounds."""
        return math.fsum(self.rewards) / len(self.rewards) if self.rewards else 0.0

    def state(self) -> dict[str, Any]:
        return {"scores": self.scores, "baseline": self.baseline(0.0)}


# -- mistakes ---------------------------------------------------------------------------------------------------------


def choice_mistakes() -> dict[str, Callable[..., Any]]:
    def of_all(scores: Any, remaining: Any) -> list[float]:
        chances = choice_probabilities(scores, range(len(scores)))
        return [chances[item] for item in remaining]

    def placed(scores: Any, remaining: Any) -> list[float]:
        chances = dict(zip(remaining, choice_probabilities(scores, remaining), strict=True))
        return [chances.get(item, 0.0) for item in range(len(scores))]

    return {
        "the denominator has all items: it has the remaining ones only": of_all,
        "scores are taken by place in remaining, not by item": lambda s, r: choice_probabilities(s, range(len(r))),
        "these are weights: divide them by their sum": lambda s, r: [math.exp(s[item]) for item in r],
        "these are weights, divide them by their sum": lambda s, r: [
            math.exp(s[item] - max(s[one] for one in r)) for item in r
        ],
        "there is no exp: the weight of an item is exp(score)": lambda s, r: [s[i] / sum(s[j] for j in r) for i in r],
        "the sign is wrong: exp(score), not exp(-score)": lambda s, r: choice_probabilities([-x for x in s], r),
        "there is one entry for every item: return one for each remaining item": placed,
        "all remaining items are equally probable": lambda s, r: [1 / len(r)] * len(r),
    }


def sampling_mistakes() -> dict[str, Callable[..., Any]]:
    def drawing(choose: Callable[..., int]) -> Callable[..., Any]:
        """A sampler whose ``choose(scores, remaining, coin, k)`` returns a place in ``remaining``."""

        def sample(scores: Any, coins: Any) -> list[int]:
            remaining, ranking = list(range(len(scores))), []
            for k, coin in enumerate(coins):
                ranking.append(remaining.pop(choose(scores, remaining, coin, k)))
            return ranking

        return sample

    def with_replacement(scores: Any, coins: Any) -> list[int]:
        chances = choice_probabilities(scores, range(len(scores)))
        return [drawn_place(chances, coin) for coin in coins]

    def old_denominator(scores: Any, remaining: Any, coin: float, k: int) -> int:
        chances = choice_probabilities(scores, range(len(scores)))
        return drawn_place([chances[item] for item in remaining], coin)

    def sorted_first(scores: Any, remaining: Any, coin: float, k: int) -> int:
        remaining.sort(key=lambda item: -scores[item])
        return drawn_place(choice_probabilities(scores, remaining), coin)

    def at_least(scores: Any, remaining: Any, coin: float, k: int) -> int:
        totals = list(itertools.accumulate(choice_probabilities(scores, remaining)))
        return next((place for place, total in enumerate(totals) if total >= coin), len(totals) - 1)

    def places(scores: Any, coins: Any) -> list[int]:
        return [left.index(item) for item, left in steps(scores, sample_list(scores, coins))]

    def swapped(scores: Any, coins: Any) -> list[int]:
        remaining, ranking = list(range(len(scores))), []
        for coin in coins:
            place = drawn_place(choice_probabilities(scores, remaining), coin)
            ranking.append(remaining[place])
            remaining[place] = remaining[-1]
            remaining.pop()
        return ranking

    return {
        "one coin serves the whole list: position k has coins[k]": lambda s, c: sample_list(s, [c[0]] * len(c)),
        "items are drawn with replacement: a taken item must not be drawn again": with_replacement,
        "the denominator does not shrink: probabilities are to be computed anew from what remains": drawing(
            old_denominator
        ),
        "the remaining items are in the order of their scores; it must be that of their numbers": drawing(sorted_first),
        "the remaining items are no longer in the order of their numbers after one is taken": swapped,
        "these are places among the remaining items, not items": places,
        "the list is sorted by score: draw it": lambda s, c: sorted(range(len(s)), key=lambda i: -s[i])[: len(c)],
        "a cumulative probability that equals the coin is enough: it must exceed the coin": drawing(at_least),
        "the coins are used from the last to the first": lambda s, c: sample_list(s, c[::-1]),
        "the items are gone through from the last to the first": lambda s, c: [
            len(s) - 1 - item for item in sample_list(s[::-1], c)
        ],
        "all L items are drawn: a list has as many as there are coins": lambda s, c: [
            *sample_list(s, c),
            *(item for item in range(len(s)) if item not in sample_list(s, c)),
        ],
    }


def log_mistakes() -> dict[str, Callable[..., Any]]:
    def summed(term: Callable[[float, list[float]], float]) -> Callable[..., Any]:
        """A sum over positions of ``term(own score, remaining scores)``."""
        return lambda s, r: sum(term(s[item], [s[one] for one in left]) for item, left in steps(s, r))

    def fixed(scores: Any, ranking: Any, denominator: Any) -> float:
        return sum(scores[item] - math.log(sum(math.exp(scores[i]) for i in denominator)) for item in ranking)

    def of_displayed(scores: Any, ranking: Any) -> float:
        return log_probability([scores[item] for item in ranking], range(len(ranking)))

    def next_left(scores: Any, ranking: Any) -> float:
        left = [[one for one in remaining if one != item] for item, remaining in steps(scores, ranking)]
        logs = (math.log(sum(math.exp(scores[i]) for i in some)) if some else 0.0 for some in left)
        return sum(scores[item] - log for item, log in zip(ranking, logs, strict=True))

    return {
        "the denominator does not shrink: taken items must leave it": lambda s, r: fixed(s, r, range(len(s))),
        "the denominator has only displayed items: hidden ones could have been drawn, too": of_displayed,
        "the item just drawn is missing in its own denominator": next_left,
        "this is the probability: take its logarithm": list_probability,
        "the largest score is subtracted in the sum only: subtract it before it, too": summed(
            lambda own, left: own - math.log(sum(math.exp(one - max(left)) for one in left))
        ),
        "log2 is to base 2: use math.log, the natural one": summed(
            lambda own, left: own - math.log2(sum(map(math.exp, left)))
        ),
        "log2 is to base 2: use math.log, which is the natural one": summed(
            lambda own, left: own - max(left) - math.log2(sum(math.exp(one - max(left)) for one in left))
        ),
        "the sign is wrong: the log of a probability is at most 0": lambda s, r: -log_probability(s, r),
        "probabilities are added before the logarithm: add the logarithms": lambda s, r: math.log(
            summed(lambda own, left: math.exp(own) / sum(map(math.exp, left)))(s, r)
        ),
        "the denominators are missing: this is the sum of scores": summed(lambda own, left: own),
        "scores are taken by position, not by item": lambda s, r: log_probability(s, range(len(r))),
        "the list is gone through from the bottom": lambda s, r: log_probability(s, r[::-1]),
        "only the first position counts": lambda s, r: log_probability(s, r[:1]),
        "the last position is left out": lambda s, r: log_probability(s, r[:-1]),
        "the logarithm is to base 2: use the natural one": lambda s, r: log_probability(s, r) / math.log(2),
        "the logarithm is to base 10: use the natural one": lambda s, r: log_probability(s, r) / math.log(10),
    }


def stepwise(own: float, chance: Callable[[Any, list[int], int], list[float]]) -> Callable[..., Any]:
    """Return a wrong gradient: ``own`` for drawn items, and ``-chance(scores, remaining, item)`` for all."""

    def slopes(scores: Any, ranking: Any) -> list[float]:
        total = [0.0] * len(scores)
        for item, remaining in steps(scores, ranking):
            total[item] += own
            total = [value - p for value, p in zip(total, chance(scores, remaining, item), strict=True)]
        return total

    return slopes


def chances_among(scores: Any, remaining: Any) -> list[float]:
    """The choice's probabilities, 0 for items that do not remain."""
    chances = dict(zip(remaining, choice_probabilities(scores, remaining), strict=True)) if remaining else {}
    return [chances.get(item, 0.0) for item in range(len(scores))]


def overwritten(own: Callable[[float, float], float], others: Callable[[float, float], float]) -> Callable[..., Any]:
    """Return a wrong gradient; ``own`` and ``others`` make new entries of old ones and p, in this order."""

    def slopes(scores: Any, ranking: Any) -> list[float]:
        total = [0.0] * len(scores)
        for item, remaining in steps(scores, ranking):
            for one, p in zip(remaining, choice_probabilities(scores, remaining), strict=True):
                total[one] = (own if one == item else others)(total[one], p)
        return total

    return slopes


def too_short(scores: Any, ranking: Any) -> list[float]:
    """A wrong gradient, which has an entry for each position."""
    return gradient(scores, ranking, len(ranking))


GRADIENT_MISTAKES: dict[str, Callable[..., Any]] = {
    "each position adds to the entries, += and -=: yours overwrites those of the positions above": overwritten(
        lambda old, p: 1 - p, lambda old, p: -p
    ),
    "each position adds to the entries, +=: yours sets that of the drawn item anew": overwritten(
        lambda old, p: 1 - p, lambda old, p: old - p
    ),
    "each position subtracts from the entries, -=: yours sets those of the remaining items anew": overwritten(
        lambda old, p: -p, lambda old, p: -p
    ),
    "each position subtracts from the entries, -=: yours sets those of items that are not drawn anew": overwritten(
        lambda old, p: old + 1 - p, lambda old, p: -p
    ),
    "there is an entry for each of the L items, not for each position": too_short,
    "there is an entry for each of the L items: yours are the first K": lambda s, r: gradient(s, r)[: len(r)],
    "the sign is wrong: drawn items get + 1, remaining ones - p": lambda s, r: scaled(gradient(s, r), -1.0),
    "p is added to the remaining items' entries: it is subtracted": stepwise(
        1, lambda s, left, item: scaled(chances_among(s, left), -1.0)
    ),
    "the part - p of the remaining items is missing": stepwise(1, lambda s, left, item: [0.0] * len(s)),
    "the part + 1 of the drawn items is missing": stepwise(0, lambda s, left, item: chances_among(s, left)),
    "the denominator does not shrink: taken items must leave it": stepwise(
        1, lambda s, left, item: chances_among(s, range(len(s)))
    ),
    "the drawn item has left too early: it still remains at its own position": stepwise(
        1, lambda s, left, item: chances_among(s, [one for one in left if one != item])
    ),
    "the drawn item's own - p is missing: it is 1 - p": stepwise(
        1, lambda s, left, item: [p * (i != item) for i, p in enumerate(chances_among(s, left))]
    ),
    "this is the gradient of P, not of log P": lambda s, r: scaled(gradient(s, r), list_probability(s, r)),
    "hidden items have a gradient, too: - p at every position": lambda s, r: [
        slope * (item in r) for item, slope in enumerate(gradient(s, r))
    ],
    "only the first position counts": lambda s, r: gradient(s, r[:1]),
    "the entries are in the order of the ranking: entry i is that of item i": lambda s, r: [
        gradient(s, r)[item] for item in r
    ],
    "scores are taken by position, not by item": lambda s, r: gradient(s, range(len(r))),
}


REINFORCE_MISTAKES: dict[str, Callable[..., Any]] = {
    "the baseline is not subtracted": lambda s, r, reward, base: scaled(gradient(s, r), reward),
    "the baseline is added": lambda s, r, reward, base: scaled(gradient(s, r), reward + base),
    "the sign is wrong: reward - baseline, and no minus before it": lambda s, r, reward, base: scaled(
        gradient(s, r), base - reward
    ),
    "the baseline is subtracted from each entry: it belongs to the reward": lambda s, r, reward, base: [
        reward * slope - base for slope in gradient(s, r)
    ],
    "the brackets are missing: (reward - baseline) times the entry": lambda s, r, reward, base: [
        reward - base * slope for slope in gradient(s, r)
    ],
    "the estimate is multiplied by P: lists already come with this probability": lambda s, r, reward, base: scaled(
        gradient(s, r), (reward - base) * list_probability(s, r)
    ),
    "the estimate is divided by P": lambda s, r, reward, base: scaled(
        gradient(s, r), (reward - base) / list_probability(s, r)
    ),
    "the gradient is not multiplied by the reward": lambda s, r, reward, base: gradient(s, r),
    "the log-probability is used instead of its gradient": lambda s, r, reward, base: (
        (reward - base) * log_probability(s, r)
    ),
    "the advantage is divided by the number of positions": lambda s, r, reward, base: scaled(
        gradient(s, r), (reward - base) / len(r)
    ),
}


class _Downhill(Policy):
    def baseline(self, reward: float) -> float:
        return 2 * reward - super().baseline(reward)  # reward - this = baseline - reward


class _NoBaseline(Policy):
    def baseline(self, reward: float) -> float:
        return 0.0


class _OwnReward(Policy):
    def baseline(self, reward: float) -> float:
        return math.fsum([*self.rewards, reward]) / (len(self.rewards) + 1)


class _LastReward(Policy):
    def baseline(self, reward: float) -> float:
        return self.rewards[-1] if self.rewards else 0.0


class _FirstRound(Policy):
    def baseline(self, reward: float) -> float:
        return super().baseline(reward) if self.rewards else reward


class _TotalReward(Policy):
    def baseline(self, reward: float) -> float:
        return math.fsum(self.rewards)


class _LateMean(Policy):
    def baseline(self, reward: float) -> float:
        return math.fsum(self.rewards) / (len(self.rewards) + 1)


class _MeanOfClicks(Policy):
    def reward(self, displayed: list[int], clicks: list[int]) -> float:
        return sum(clicks) / len(clicks)


class _AnyClick(Policy):
    def reward(self, displayed: list[int], clicks: list[int]) -> float:
        return float(any(clicks))


class _WholeMean(Policy):
    def baseline(self, reward: float) -> float:
        return math.fsum(self.rewards) // len(self.rewards) if self.rewards else 0.0


class _OnlyClicked(Policy):
    def estimate(self, displayed: list[int], clicks: list[int], advantage: float) -> list[float]:
        clicked = {item for item, click in zip(displayed, clicks, strict=True) if click}
        return [slope * (item in clicked) for item, slope in enumerate(super().estimate(displayed, clicks, advantage))]


class _ByPosition(Policy):
    """The gradient is that of the list 0, 1, ..., K - 1."""

    def slopes(self, displayed: list[int]) -> list[float]:
        return gradient(self.scores, range(len(displayed)))


class _FirstRoundAlways(Policy):
    """The rounds are never counted: the coins are those of round 0, and the baseline is 0."""

    def baseline(self, reward: float) -> float:
        return 0.0

    def draw(self, coins: Any) -> list[int]:
        return super().draw(self.coins[0])


class _OneCoin(Policy):
    def draw(self, coins: Any) -> list[int]:
        return super().draw([coins[0]] * len(coins))


class _FirstCoins(Policy):
    def draw(self, coins: Any) -> list[int]:
        return super().draw(self.coins[0])


class _Greedy(Policy):
    def draw(self, coins: Any) -> list[int]:
        return sorted(range(len(self.scores)), key=lambda item: -self.scores[item])[: len(coins)]


class _NoStep(Policy):
    def update(self, displayed: list[int], clicks: list[int]) -> None:
        self.step_size = 1.0
        super().update(displayed, clicks)


def _with_slopes(wrong: Callable[..., Any]) -> Callable[..., Any]:
    """Return a maker of agents whose gradient is wrong."""

    class Wrong(Policy):
        def slopes(self, displayed: list[int]) -> list[float]:
            return list(wrong(self.scores, displayed))

    return Wrong


class _PositionByPosition(Policy):
    """Each position moves the scores before the next position's probabilities are computed."""

    def update(self, displayed: list[int], clicks: list[int]) -> None:
        reward = self.reward(displayed, clicks)
        factor = self.step_size * (reward - self.baseline(reward))
        for item, remaining in steps(self.scores, displayed):
            chances = chances_among(self.scores, remaining)
            moves = [factor * ((one == item) - p) for one, p in enumerate(chances)]
            self.scores = [score + move for score, move in zip(self.scores, moves, strict=True)]
        self.rewards.append(reward)


class _ItemByItem(Policy):
    """Each item's score moves before the next item's derivative is computed."""

    def update(self, displayed: list[int], clicks: list[int]) -> None:
        reward = self.reward(displayed, clicks)
        factor = self.step_size * (reward - self.baseline(reward))
        for item in range(len(self.scores)):
            self.scores[item] += factor * gradient(self.scores, displayed)[item]
        self.rewards.append(reward)


class _EarlierCoins(Policy):
    def draw(self, coins: Any) -> list[int]:
        return super().draw(self.coins[len(self.rewards) - 1])


class _LaterCoins(Policy):
    def draw(self, coins: Any) -> list[int]:
        return super().draw(self.coins[len(self.rewards) + 1])


# The first of those that display the same lists is named, so that the plain ones come first.
AGENT_MISTAKES: dict[str, Callable[..., Any]] = {
    "the scores move downhill: the step is + step_size times the estimate": _Downhill,
    "every round has the first round's coins": _FirstCoins,
    "the rounds are not counted: coins and baseline stay those of round 0": _FirstRoundAlways,
    "round t has the coins of round t - 1": _EarlierCoins,
    "round t has the coins of round t + 1: count rounds from 0": _LaterCoins,
    "one coin serves the whole list: position k of round t has coins[t][k]": _OneCoin,
    "there is no baseline": _NoBaseline,
    "the baseline has the new reward in it: update it after the scores": _OwnReward,
    "the baseline is the last round's reward: it is the mean of all earlier ones": _LastReward,
    "the baseline is the sum of the earlier rewards: it is their mean": _TotalReward,
    "the baseline is divided by one round too many": _LateMean,
    "the baseline of the first round is its own reward: it is 0 there": _FirstRound,
    "the baseline is the mean, with one stroke: // cuts it to a whole number": _WholeMean,
    "all scores move, not only those of clicked items": _OnlyClicked,
    "the gradient is that of the displayed list, not of the list 0, 1, ..., K - 1": _ByPosition,
    "the reward is 1 for any click: it is the number of clicks": _AnyClick,
    "the reward is the mean of the clicks: it is their number": _MeanOfClicks,
    "step_size is not used": _NoStep,
    "only drawn items' + 1 moves the scores: the part - p is missing": _with_slopes(
        GRADIENT_MISTAKES["the part - p of the remaining items is missing"]
    ),
    "only displayed items' scores move: hidden items have a gradient, too": _with_slopes(
        GRADIENT_MISTAKES["hidden items have a gradient, too: - p at every position"]
    ),
    "the gradient's denominator does not shrink": _with_slopes(
        GRADIENT_MISTAKES["the denominator does not shrink: taken items must leave it"]
    ),
    "this uses the gradient of P, not of log P": _with_slopes(
        GRADIENT_MISTAKES["this is the gradient of P, not of log P"]
    ),
    "the scores move item by item: compute the whole gradient first": _ItemByItem,
    "the scores move position by position: compute the whole gradient first": _PositionByPosition,
    "the list is sorted by score: draw it": _Greedy,
}
