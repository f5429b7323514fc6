"""A right solution of exercise 6."""

import math


def observed_items(displayed, clicks):
    items = []
    for item, click in zip(displayed, clicks):
        items.append(item)
        if click:
            break
    return items


def window_counts(history, num_items, window):
    observed, clicked = [0] * num_items, [0] * num_items
    for displayed, clicks in history[-window:]:
        seen = observed_items(displayed, clicks)
        for item, click in zip(seen, clicks):
            observed[item] += 1
            clicked[item] += click
    return [observed, clicked]


def discounted_counts(history, num_items, gamma):
    observed, clicked = [0.0] * num_items, [0.0] * num_items
    for displayed, clicks in history:
        observed = [gamma * n for n in observed]
        clicked = [gamma * x for x in clicked]
        for item, click in zip(observed_items(displayed, clicks), clicks):
            observed[item] += 1
            clicked[item] += click
    return [observed, clicked]


def window_index(observed, clicked, played, window, epsilon):
    if observed == 0:
        return math.inf
    t = played + 1
    return clicked / observed + math.sqrt(epsilon * math.log(min(t, window)) / observed)


class SlidingWindowUCB:
    def __init__(self, num_items, num_positions, window, epsilon):
        self.num_items, self.num_positions = num_items, num_positions
        self.window, self.epsilon = window, epsilon
        self.history = []

    def act(self):
        observed, clicked = window_counts(self.history, self.num_items, self.window)
        index = [window_index(n, x, len(self.history), self.window, self.epsilon) for n, x in zip(observed, clicked)]
        return sorted(range(self.num_items), key=lambda item: -index[item])[: self.num_positions]

    def update(self, displayed, clicks):
        self.history.append((displayed, clicks))


def change_detected(observations, window, threshold):
    if len(observations) < window:
        return False
    last = observations[-window:]
    half = window // 2
    return abs(sum(last[half:]) - sum(last[:half])) > threshold


class RestartingUCB:
    def __init__(self, num_items, num_positions, period, window, threshold):
        self.num_items, self.num_positions = num_items, num_positions
        self.period, self.window, self.threshold = period, window, threshold
        self.restart()

    def restart(self):
        self.played = 0
        self.observations = [[] for _ in range(self.num_items)]

    def act(self):
        index = []
        for found in self.observations:
            if found:
                index.append(sum(found) / len(found) + math.sqrt(1.5 * math.log(self.played) / len(found)))
            else:
                index.append(math.inf)
        ranking = sorted(range(self.num_items), key=lambda item: -index[item])
        first = self.played % self.period
        if first < self.num_items:
            ranking.remove(first)
            ranking.insert(0, first)
        return ranking[: self.num_positions]

    def update(self, displayed, clicks):
        self.played += 1
        seen = observed_items(displayed, clicks)
        for item, click in zip(seen, clicks):
            self.observations[item].append(click)
        if any(change_detected(self.observations[item], self.window, self.threshold) for item in seen):
            self.restart()
