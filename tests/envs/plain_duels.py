"""The dueling environment in plain Python, one row at a time: whole numbers of any size, lists and loops."""

import numpy as np
from plain_schedules import word


def key_of(seed, purpose):
    return int(np.random.SeedSequence(seed, spawn_key=(purpose,)).generate_state(1, np.uint64)[0])


def below(bits, n):
    return ((bits >> 32) * n) >> 32


def shuffled(items, start, stop, places, seed, index):
    for place in range(start, min(start + places, stop - 1)):
        other = place + below(word(seed, index + place), stop - place)
        items[place], items[other] = items[other], items[place]


def gaps(p, winner):
    """(best arm, its Condorcet winner or -1, the gap of each arm) of a matrix as a list of lists."""
    arms = range(len(p))
    beats = [sum(p[i][j] > 0.5 for j in arms if j != i) for i in arms]
    condorcet = next((i for i in arms if beats[i] == len(p) - 1), -1)
    if winner == "condorcet":
        return condorcet, condorcet, [p[condorcet][k] - 0.5 for k in arms]
    if winner == "copeland":
        scores = [beats[i] / (len(p) - 1) for i in arms]
    else:
        scores = [sum(p[i][j] for j in arms if j != i) / (len(p) - 1) for i in arms]
    best = scores.index(max(scores))
    return best, condorcet, [scores[best] - score for score in scores]


class PlainDuels:
    """One row.

    ``problem`` is its fixed problem, or None for a drawn one; ``num_arms`` None for all arms in their order.
    """

    def __init__(self, matrices, seed, *, problem=0, num_arms=None, keep_winner=True, winner, regret):
        self.matrices = [np.asarray(matrix).tolist() for matrix in matrices]
        self.key, self.problem_key = key_of(seed, 0), key_of(seed, 2)
        self.fixed, self.num_arms, self.keep_winner = problem, num_arms, keep_winner
        self.winner, self.regret = winner, regret
        self.session = self.episode = -1

    def reset(self):
        self.episode += 1
        self.round = -1
        seed, attempt = word(self.problem_key, self.episode), 0
        self.problem = below(seed, len(self.matrices)) if self.fixed is None else self.fixed
        self._arms(seed)
        while self.best < 0:
            attempt += 1
            self._arms(word(seed, (1 << 32) + attempt))
        return {"round": 0, "problem": self.problem}

    def _arms(self, seed):
        whole = self.matrices[self.problem]
        self.arms = list(range(len(whole)))
        if self.num_arms is not None:
            start = 0
            if self.keep_winner:
                best = gaps(whole, self.winner)[0]
                self.arms[0], self.arms[best], start = best, 0, 1
            shuffled(self.arms, start, len(whole), self.num_arms - start, seed, 0)
            shuffled(self.arms, 0, self.num_arms, self.num_arms, seed, len(whole))
            self.arms = self.arms[: self.num_arms]
        self.preference = [[whole[i][j] for j in self.arms] for i in self.arms]
        self.best, self.condorcet, self.gap = gaps(self.preference, self.winner)

    def step(self, left, right):
        """(observation, reward, info) of a duel."""
        self.session += 1
        self.round += 1
        coin = (word(word(self.key, self.session), 0) >> 11) / 2**53
        if left <= right:
            left_won = coin < self.preference[left][right]
        else:
            left_won = not coin < self.preference[right][left]
        a, b = self.gap[left], self.gap[right]
        regret = {"average": (a + b) / 2, "weak": min(a, b), "strong": max(a, b)}[self.regret]
        info = {"winner": 0 if left_won else 1, "left": left, "right": right, "regret": regret}
        info |= {"round": self.round, "problem": self.problem}
        return [int(left_won), int(not left_won)], -regret, info
