"""A right solution of exercise 3."""

import math


def observed_items(displayed, clicks):
    observed = []
    for item, click in zip(displayed, clicks):
        observed.append(item)
        if click:
            break
    return observed


def best_items(indices, num_positions):
    ranked = sorted(range(len(indices)), key=lambda item: (-indices[item], item))
    return ranked[:num_positions]


def ucb1_index(clicked, observed, t):
    if observed == 0:
        return math.inf
    return clicked / observed + math.sqrt(1.5 * math.log(t) / observed)


def kl(p, q):
    def part(x, y):
        if x == 0:
            return 0.0
        return math.inf if y == 0 else x * math.log(x / y)

    return part(p, q) + part(1 - p, 1 - q)


def klucb_index(clicked, observed, t):
    if observed == 0:
        return math.inf
    mean = clicked / observed
    if mean == 1:
        return 1.0
    budget = math.log(t) + 3 * math.log(math.log(t)) if t > 1 else 0.0
    budget = max(budget, 0.0)
    low, high = mean, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if observed * kl(mean, middle) <= budget:
            low = middle
        else:
            high = middle
    return low


class CascadeUCB1:
    def __init__(self, num_items, num_positions):
        self.num_positions = num_positions
        self.clicked = [0] * num_items
        self.observed = [0] * num_items
        self.t = 1

    def index(self, item):
        return ucb1_index(self.clicked[item], self.observed[item], self.t)

    def act(self):
        indices = [self.index(item) for item in range(len(self.clicked))]
        return best_items(indices, self.num_positions)

    def update(self, displayed, clicks):
        for item, click in zip(observed_items(displayed, clicks), clicks):
            self.observed[item] += 1
            self.clicked[item] += click
        self.t += 1


class CascadeKLUCB(CascadeUCB1):
    def index(self, item):
        return klucb_index(self.clicked[item], self.observed[item], self.t)
