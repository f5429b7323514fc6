"""A right solution of exercise 4."""

import math


def click_through_rates(rankings, clicks, num_items):
    displays, clicked = [0] * num_items, [0] * num_items
    for ranking, row in zip(rankings, clicks):
        for item, click in zip(ranking, row):
            displays[item] += 1
            clicked[item] += click
    return [c / n if n else None for c, n in zip(clicked, displays)]


def expected_click_through_rates(attraction, examination, rankings):
    displays, looks = [0] * len(attraction), [0.0] * len(attraction)
    for ranking in rankings:
        for item, chi in zip(ranking, examination):
            displays[item] += 1
            looks[item] += chi
    return [alpha * x / n if n else None for alpha, x, n in zip(attraction, looks, displays)]


def corrected_estimates(rankings, clicks, examination, num_items):
    looks, clicked = [0.0] * num_items, [0] * num_items
    for ranking, row in zip(rankings, clicks):
        for item, click, chi in zip(ranking, row, examination):
            looks[item] += chi
            clicked[item] += click
    return [c / x if x else None for c, x in zip(clicked, looks)]


def confirms_itself(attraction, examination, ranking):
    rates = [chi * attraction[item] for chi, item in zip(examination, ranking)]
    return all(rates[k] > rates[k + 1] for k in range(len(rates) - 1))


def pbm_ucb_index(clicks, displays, looks, t):
    if displays == 0:
        return math.inf
    return clicks / looks + math.sqrt(displays / looks) * math.sqrt(math.log(t) / (2 * looks))


class ClickThroughRate:
    def __init__(self, num_items, num_positions):
        self.num_positions = num_positions
        self.examination = [1.0] * num_positions
        self.clicks = [0] * num_items
        self.displays = [0] * num_items
        self.looks = [0.0] * num_items
        self.t = 1

    def act(self):
        indices = [pbm_ucb_index(s, n, x, self.t) for s, n, x in zip(self.clicks, self.displays, self.looks)]
        ranked = sorted(range(len(indices)), key=lambda item: (-indices[item], item))
        return ranked[: self.num_positions]

    def update(self, displayed, clicks):
        for item, click, chi in zip(displayed, clicks, self.examination):
            self.clicks[item] += click
            self.displays[item] += 1
            self.looks[item] += chi
        self.t += 1


class PBMUCB(ClickThroughRate):
    def __init__(self, num_items, num_positions, examination):
        super().__init__(num_items, num_positions)
        self.examination = examination
