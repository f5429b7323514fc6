"""The interleaving methods in plain Python: lists in, lists out, one comparison at a time; and their exact laws."""

import itertools
import math

import numpy as np

from rankgym.interleaving.base import INTERLEAVING
from rankgym.kernels import bits, session_seed, uniform


class Coins:
    """The coins of one session, as the kernels number them."""

    def __init__(self, key, session):
        self.seed = np.uint64(session_seed(key, session))

    def unit(self, number):
        return float(uniform(np.uint64(bits(self.seed, INTERLEAVING + number))))

    def heads(self, number):
        return self.unit(number) < 0.5

    def even(self, number):
        return int(bits(self.seed, INTERLEAVING + number)) % 2 == 0


class Script:
    """Fair coins that fall as told, and beyond that heads; it remembers how many were thrown."""

    def __init__(self, told):
        self.told = list(told)

    def heads(self, number):
        self.told += [True] * (number + 1 - len(self.told))
        return self.told[number]


def law_of(method, left, right, length):
    """[(probability, displayed, share)] of a method with at most ``length`` fair coins."""
    found = {}
    for told in itertools.product([True, False], repeat=length):
        displayed, share = method(left, right, length, Script(told))
        found[displayed, share] = found.get((displayed, share), 0) + 0.5**length
    return [(p, *key) for key, p in found.items()]


def balanced(left, right, length, coins):
    """Radlinski et al. (2008), Algorithm 1."""
    i = j = 0
    shown = []
    left_first = coins.heads(0)
    while len(shown) < length and i < len(left) and j < len(right):
        if i < j or (i == j and left_first):
            document, i = left[i], i + 1
        else:
            document, j = right[j], j + 1
        if document not in shown:
            shown.append(document)
    return tuple(shown), (0.0,) * len(shown)


def balanced_credit(left, right, displayed, share, clicked):
    """``clicked``: the positions with a click, ascending."""
    if not clicked:
        return 0, 0
    lowest = displayed[clicked[-1]]
    depth = min(ranking.index(lowest) for ranking in (left, right) if lowest in ranking) + 1
    documents = {displayed[k] for k in clicked}
    return len(documents & set(left[:depth])), len(documents & set(right[:depth]))


def team_draft(left, right, length, coins):
    """Radlinski et al. (2008), Algorithm 2."""
    shown, teams = [], []
    while len(shown) < length:
        tops = [next((d for d in ranking if d not in shown), None) for ranking in (left, right)]
        if None in tops:
            break
        mine, other = teams.count(1.0), teams.count(0.0)
        lefts_turn = mine < other or (mine == other and coins.heads(len(shown)))
        shown.append(tops[0] if lefts_turn else tops[1])
        teams.append(1.0 if lefts_turn else 0.0)
    return tuple(shown), tuple(teams)


def positional_credit(left, right, displayed, share, clicked):
    return sum(share[k] for k in clicked), sum(1 - share[k] for k in clicked)


def marginal_credit(left, right, displayed, share, clicked):
    """Hofmann et al. (2011): of all assignments of the clicked documents, the probability of each outcome."""
    wins = [0.0, 0.0]
    for lefts in itertools.product([True, False], repeat=len(clicked)):
        probability = math.prod(share[k] if mine else 1 - share[k] for k, mine in zip(clicked, lefts, strict=True))
        mine = sum(lefts)
        if 2 * mine != len(clicked):
            wins[0 if 2 * mine > len(clicked) else 1] += probability
    return tuple(wins)


def softmax(ranking, shown, tau):
    """{document: probability} of those not in ``shown``."""
    weight = {d: (place + 1) ** -tau for place, d in enumerate(ranking) if d not in shown}
    return {d: w / math.fsum(weight.values()) for d, w in weight.items()}


def probabilistic(left, right, length, coins, tau=3.0, assigned=False):
    """Hofmann et al. (2011): a coin, then a document from the softmax of what is left."""
    shown, share = [], []
    while len(shown) < length:
        p, q = softmax(left, shown, tau), softmax(right, shown, tau)
        if not p or not q:
            break
        lefts_turn = coins.even(len(shown))
        target, total = coins.unit(len(shown)), 0.0
        for candidate, probability in (p if lefts_turn else q).items():  # by rank
            document = candidate
            total += probability
            if total > target:
                break
        both = p.get(document, 0.0) + q.get(document, 0.0)
        share.append(float(lefts_turn) if assigned else p.get(document, 0.0) / both)
        shown.append(document)
    return tuple(shown), tuple(share)


def probabilistic_law(left, right, length, tau=3.0):
    """[(probability, displayed, marginal share)] of all lists, and no coins."""
    law = [(1.0, (), ())]
    for _ in range(length):
        longer = []
        for probability, shown, share in law:
            p, q = softmax(left, shown, tau), softmax(right, shown, tau)
            if not p or not q:
                return law
            for d in dict.fromkeys([*p, *q]):
                mine, other = p.get(d, 0.0), q.get(d, 0.0)
                longer.append((probability * (mine + other) / 2, (*shown, d), (*share, mine / (mine + other))))
        law = longer
    return law


def constraints_credit(left, right, displayed, share, clicked):
    """He et al. (2009): the constraints that a ranking does not violate."""
    pairs = []
    for k in clicked:
        pairs += [(displayed[k], displayed[i]) for i in range(k) if i not in clicked]
        below = [i for i in range(k + 1, len(displayed)) if i not in clicked]
        pairs += [(displayed[k], displayed[i]) for i in below[:1]]

    def place(ranking, document):
        return ranking.index(document) if document in ranking else math.inf

    return tuple(sum(not place(r, worse) < place(r, better) for better, worse in pairs) for r in (left, right))


def random_clicker(length, click):
    """[(probability, positions with a click)] of who clicks each position with the same probability."""
    for clicks in itertools.product([0, 1], repeat=length):
        yield click ** sum(clicks) * (1 - click) ** (length - sum(clicks)), [k for k, c in enumerate(clicks) if c]


def expected(law, credit, left, right, clicker):
    """(expected credit of left minus right, P(left has more) - P(right has more)); ``clicker(displayed)`` is a law."""
    difference = advantage = 0.0
    for p, displayed, share in law:
        for q, clicked in clicker(displayed):
            mine, other = credit(left, right, displayed, share, clicked)
            difference += p * q * (mine - other)
            advantage += p * q * ((mine > other + 1e-9) - (other > mine + 1e-9))
    return difference, advantage
