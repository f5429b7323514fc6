"""A right solution of exercise 7."""

import math


def team_draft(left, right, length, coins):
    displayed, teams = [], []
    for coin in coins:
        order = (0, 1) if coin < 0.5 else (1, 0)
        for team in order:
            if len(displayed) == length:
                break
            ranking = (left, right)[team]
            displayed.append(next(item for item in ranking if item not in displayed))
            teams.append(team)
    return displayed, teams


def winner(teams, clicks, coin):
    score = [0, 0]
    for team, click in zip(teams, clicks):
        score[team] += click
    if score[0] == score[1]:
        return 0 if coin < 0.5 else 1
    return 0 if score[0] > score[1] else 1


def winners(preference):
    arms = range(len(preference))
    beaten = [sum(p > 0.5 for p in row) for row in preference]
    borda = [sum(preference[i][j] for j in arms if j != i) / (len(arms) - 1) for i in arms]
    copeland = beaten.index(max(beaten))
    condorcet = copeland if max(beaten) == len(arms) - 1 else None
    return [condorcet, copeland, borda.index(max(borda))]


def duel_regret(preference, best, left, right, kind):
    gaps = [preference[best][left] - 0.5, preference[best][right] - 0.5]
    if kind == "weak":
        return min(gaps)
    if kind == "strong":
        return max(gaps)
    return sum(gaps) / 2


def upper_bounds(wins, t, alpha):
    arms = range(len(wins))
    bounds = [[0.5] * len(wins) for _ in arms]
    for i in arms:
        for j in arms:
            n = wins[i][j] + wins[j][i]
            if i != j:
                bounds[i][j] = wins[i][j] / n + math.sqrt(alpha * math.log(t) / n) if n > 0 else math.inf
    return bounds


def contenders(bounds):
    return [arm for arm, row in enumerate(bounds) if all(bound >= 0.5 for bound in row)]


def pick(arms, coin):
    return arms[int(coin * len(arms))]


class RUCB:
    def __init__(self, num_arms, alpha, coins):
        self.arms = list(range(num_arms))
        self.alpha = alpha
        self.coins = coins
        self.wins = [[0] * num_arms for _ in self.arms]
        self.t = 1
        self.favourite = None

    def act(self):
        bounds = upper_bounds(self.wins, self.t, self.alpha)
        first, second, third = self.coins[self.t - 1]
        able = contenders(bounds)
        if self.favourite not in able:
            self.favourite = None
        if not able:
            left = pick(self.arms, second)
        elif len(able) == 1:
            left = self.favourite = able[0]
        elif self.favourite is not None and first < 0.5:
            left = self.favourite
        else:
            left = pick([arm for arm in able if arm != self.favourite], second)
        chances = [bounds[arm][left] for arm in self.arms]
        tied = [arm for arm in self.arms if chances[arm] == max(chances)]
        return left, pick(tied, third)

    def update(self, left, right, left_won):
        self.t += 1
        if left != right:
            if left_won:
                self.wins[left][right] += 1
            else:
                self.wins[right][left] += 1
