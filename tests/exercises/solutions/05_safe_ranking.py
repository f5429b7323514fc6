"""A right solution of exercise 5."""

import math


def block_differences(blocks, displayed, clicks):
    items = sum(len(block) for block in blocks)
    clicked = [0] * items  # what is not displayed is not clicked
    for item, click in zip(displayed, clicks):
        clicked[item] = click
    differences = [[0] * items for _ in range(items)]
    for block in blocks:
        for i in block:
            for j in block:
                differences[i][j] = clicked[i] - clicked[j]
    return differences


def toprank_radius(compared, delta):
    if compared == 0:
        return math.inf
    c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
    return math.sqrt(2 * compared * math.log(c / delta * math.sqrt(compared)))


def partition(num_items, worse):
    left, blocks = list(range(num_items)), []
    while left:
        beaten = {j for j, i in worse if i in left}
        block = [item for item in left if item not in beaten]
        if not block:  # a cycle
            block = left
        blocks.append(block)
        left = [item for item in left if item not in block]
    return blocks


class TopRank:
    def __init__(self, num_items, num_positions, delta, coins):
        self.num_items, self.num_positions = num_items, num_positions
        self.delta, self.coins, self.round = delta, coins, 0
        self.lead = [[0] * num_items for _ in range(num_items)]
        self.compared = [[0] * num_items for _ in range(num_items)]
        self.worse = []
        self.blocks = partition(num_items, self.worse)

    def act(self):
        coins = self.coins[self.round]
        ranking = []
        for block in self.blocks:
            ranking += sorted(block, key=lambda item: coins[item])
        return ranking[: self.num_positions]

    def update(self, displayed, clicks):
        differences = block_differences(self.blocks, displayed, clicks)
        for i in range(self.num_items):
            for j in range(self.num_items):
                if differences[i][j] != 0:
                    self.lead[i][j] += differences[i][j]
                    self.compared[i][j] += abs(differences[i][j])
                    reached = self.lead[i][j] >= toprank_radius(self.compared[i][j], self.delta)
                    if reached and [j, i] not in self.worse:
                        self.worse.append([j, i])
        self.blocks = partition(self.num_items, self.worse)
        self.round += 1


def exchanged(base, settled, coins, played):
    ranking = list(base)
    for k in range((played + 1) % 2, len(base) - 1, 2):
        if coins[k] < 0.5 and not settled[k]:
            ranking[k], ranking[k + 1] = ranking[k + 1], ranking[k]
    return ranking


def bubbled_up(base, lead, compared, delta):
    ranking = list(base)
    for k in range(len(ranking) - 1):
        i, j = ranking[k], ranking[k + 1]
        if lead[j][i] > 2 * math.sqrt(compared[j][i] * math.log(1 / delta)):
            ranking[k], ranking[k + 1] = j, i
    return ranking


class BubbleRank:
    def __init__(self, initial_list, delta, coins):
        self.base, self.delta, self.coins, self.played = list(initial_list), delta, coins, 0
        items = len(initial_list)
        self.lead = [[0] * items for _ in range(items)]
        self.compared = [[0] * items for _ in range(items)]

    def act(self):
        settled = []
        for i, j in zip(self.base, self.base[1:]):
            radius = 2 * math.sqrt(self.compared[i][j] * math.log(1 / self.delta))
            settled.append(self.lead[i][j] > radius)
        return exchanged(self.base, settled, self.coins[self.played], self.played)

    def update(self, displayed, clicks):
        for k in range((self.played + 1) % 2, len(displayed) - 1, 2):
            i, j = displayed[k], displayed[k + 1]
            if clicks[k] != clicks[k + 1]:
                self.lead[i][j] += clicks[k] - clicks[k + 1]
                self.lead[j][i] += clicks[k + 1] - clicks[k]
                self.compared[i][j] += 1
                self.compared[j][i] += 1
        self.base = bubbled_up(self.base, self.lead, self.compared, self.delta)
        self.played += 1
