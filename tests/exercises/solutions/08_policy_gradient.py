"""A right solution of exercise 8."""

import math


def choice_probabilities(scores, remaining):
    top = max(scores[item] for item in remaining)
    weights = [math.exp(scores[item] - top) for item in remaining]
    total = sum(weights)
    return [weight / total for weight in weights]


def sample_list(scores, coins):
    remaining = list(range(len(scores)))
    ranking = []
    for coin in coins:
        cumulative = 0.0
        for item, p in zip(remaining, choice_probabilities(scores, remaining)):
            cumulative += p
            if cumulative > coin or item == remaining[-1]:
                ranking.append(item)
                remaining.remove(item)
                break
    return ranking


def log_probability(scores, ranking):
    remaining = list(range(len(scores)))
    total = 0.0
    for item in ranking:
        top = max(scores[i] for i in remaining)
        total += scores[item] - top - math.log(sum(math.exp(scores[i] - top) for i in remaining))
        remaining.remove(item)
    return total


def log_probability_gradient(scores, ranking):
    remaining = list(range(len(scores)))
    gradient = [0.0] * len(scores)
    for item in ranking:
        gradient[item] += 1
        for i, p in zip(remaining, choice_probabilities(scores, remaining)):
            gradient[i] -= p
        remaining.remove(item)
    return gradient


def reinforce_gradient(scores, ranking, reward, baseline):
    return [(reward - baseline) * slope for slope in log_probability_gradient(scores, ranking)]


class PolicyGradient:
    def __init__(self, num_items, num_positions, step_size, coins):
        self.scores = [0.0] * num_items
        self.step_size = step_size
        self.coins = coins
        self.rounds = 0
        self.total = 0.0

    def act(self):
        return sample_list(self.scores, self.coins[self.rounds])

    def update(self, displayed, clicks):
        reward = sum(clicks)
        baseline = self.total / self.rounds if self.rounds else 0.0
        gradient = reinforce_gradient(self.scores, displayed, reward, baseline)
        for item, slope in enumerate(gradient):
            self.scores[item] += self.step_size * slope
        self.total += reward
        self.rounds += 1
