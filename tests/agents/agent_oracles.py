"""The agents once more, slowly: plain Python, one row, following the papers' listings line by line.

Nothing of the kernels is used. Random numbers are the same words at the same places, computed with Python's integers.
Run as a script it prints a digest of what every agent displays, for whichever compiler mode the process is in.
"""

import math
from itertools import product

import numpy as np
from scipy.optimize import brentq

from rankgym.kernels import AGENT, row_keys

MASK = 2**64 - 1


def word(seed, index):
    """64 bits: output ``index`` of SplitMix64 from ``seed``."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def below(bits, n):
    return ((bits >> 32) * n) >> 32


def drawn(items, first_place, seed):
    """``items`` in random order: the one for each place is drawn from those left, the first of them fills the gap."""
    left, result = list(items), []
    while len(left) > 1:
        n = below(word(seed, first_place + len(result)), len(left))
        left[0], left[n] = left[n], left[0]
        result.append(left.pop(0))
    return result + left


def beta_by_rejection(seed, first, a, b):
    """A Beta(a, b) variate: Gammas of Marsaglia and Tsang 2000 from one polar step, accepted or refused together.

    Without their squeeze; three random words an attempt, from word ``first`` on.
    """
    d = [a - 1 / 3, b - 1 / 3]
    for at in range(first, first + 192, 3):
        p, q, u = ((word(seed, at + n) >> 11) / 2**53 for n in range(3))
        p, q = 2 * p - 1, 2 * q - 1
        r2 = p * p + q * q
        if not 0 < r2 < 1:
            continue
        radius = math.sqrt(-2 * math.log(r2) / r2)
        x = [p * radius, q * radius]
        v = [(1 + xi / math.sqrt(9 * di)) ** 3 for xi, di in zip(x, d, strict=True)]
        if min(v) > 0 and u < math.exp(
            sum(xi * xi / 2 + di - di * vi + di * math.log(vi) for xi, di, vi in zip(x, d, v, strict=True))
        ):
            gammas = [di * vi for di, vi in zip(d, v, strict=True)]
            return gammas[0] / sum(gammas)
    raise AssertionError("64 attempts in vain")


class Oracle:
    """One row. ``t`` is the papers' round number, from 1."""

    def __init__(self, num_items, num_positions, seed):
        self.L, self.K, self.t = num_items, num_positions, 1
        self.key = int(row_keys([seed], AGENT)[0])

    def seed(self):
        return word(self.key, self.t - 1)


class RandomOracle(Oracle):
    def act(self):
        return drawn(range(self.L), 0, self.seed())[: self.K]

    def update(self, displayed, clicks):
        self.t += 1

    def remembers(self, state):
        """Whether an agent's state says the same."""
        return state.round[0] == self.t - 1


class TopRankOracle(Oracle):
    """Lattimore et al. 2018, Algorithm 1."""

    def __init__(self, num_items, num_positions, seed, delta):
        super().__init__(num_items, num_positions, seed)
        self.delta = delta
        self.G = set()  # line 1
        self.c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
        self.S = dict.fromkeys(product(range(num_items), repeat=2), 0)
        self.N = dict(self.S)

    def blocks(self):
        left, blocks = set(range(self.L)), []  # line 3
        while left:  # line 4
            least = {i for i in left if not any((i, j) in self.G for j in left)}  # min_G
            blocks.append(least or set(left))  # line 6; on a cycle all that are left
            left -= blocks[-1]
        return blocks

    def act(self):
        ranking = []
        for block in self.blocks():
            ranking += drawn(sorted(block), len(ranking), self.seed())  # line 7
        return ranking[: self.K]

    def update(self, displayed, clicks):
        C = dict.fromkeys(range(self.L), 0) | dict(zip(displayed, clicks, strict=True))  # line 8
        block_of = {item: d for d, block in enumerate(self.blocks()) for item in block}
        for i, j in product(range(self.L), repeat=2):  # line 9
            U = C[i] - C[j] if block_of[i] == block_of[j] else 0  # line 10
            self.S[i, j] += U  # line 11
            self.N[i, j] += abs(U)
            lead, N = self.S[i, j], self.N[i, j]
            if N > 0 and lead >= math.sqrt(2 * N * math.log(self.c / self.delta * math.sqrt(N))):  # line 12
                self.G.add((j, i))
        self.t += 1

    def remembers(self, state):
        wins = state.wins[0]
        statistics = all(
            (self.S[i, j], self.N[i, j]) == (wins[i, j] - wins[j, i], wins[i, j] + wins[j, i]) for i, j in self.S
        )
        return statistics and {(int(j), int(i)) for j, i in np.argwhere(state.worse[0])} == self.G


class BubbleRankOracle(Oracle):
    """Li et al. 2019, Algorithm 1 and the last paragraph of section 4.3. Positions count from 1, as in the paper.

    ``log_inv_delta`` None: the horizon is unknown, and section 4.3's doubling trick in use. ``exploration`` = a: the
    exchanges of a pair end, and its comparisons, once s > sqrt(2 n log(1 + a m)), m being the rounds left.
    """

    def __init__(self, num_items, num_positions, seed, initial_list, log_inv_delta, exploration=None, horizon=0):
        super().__init__(num_items, num_positions, seed)
        self.exploration, self.horizon = exploration, horizon
        self.log_inv_delta, self.estimated = log_inv_delta, math.inf
        if log_inv_delta is None:
            self.log_inv_delta, self.estimated = 0.0, 1
        self.initial = initial_list
        self.s = dict.fromkeys(product(range(num_items), repeat=2), 0)  # line 2
        self.n = dict(self.s)
        self.base = dict(enumerate(initial_list, 1))  # line 3

    def bound(self, i, j):
        return 2 * math.sqrt(self.n[i, j] * self.log_inv_delta)

    def is_exchanged(self, i, j):
        """Line 9, whether i and its lower neighbour j are exchanged by a coin."""
        if self.exploration is None:
            return self.s[i, j] <= self.bound(i, j)
        left = self.horizon - self.t + 1 if self.horizon else self.t - 1
        level = math.log(1 + self.exploration * max(1, left))
        return self.s[i, j] <= min(self.bound(i, j), math.sqrt(2 * self.n[i, j] * level))

    def h(self):
        return self.t % 2  # line 5

    def coin(self, number):
        return word(self.seed(), number // 64) >> (number % 64) & 1 == 1

    def rival(self):
        """The hidden item that may take position K in this round, or None."""
        if (self.K - self.h()) % 2 == 0 or self.K - self.h() < 0:
            return None
        last = self.base[self.K]
        hidden = [self.base[k] for k in range(self.K + 1, self.L + 1)]
        hidden = [j for j in hidden if self.is_exchanged(last, j)]
        return hidden[below(word(self.seed(), self.K), len(hidden))] if hidden else None

    def act(self):
        R = {k: self.base[k] for k in range(1, self.K + 1)}  # line 6
        pairs = (self.K - self.h()) // 2
        for k in range(1, pairs + 1):  # line 7
            upper, lower = 2 * k - 1 + self.h(), 2 * k + self.h()
            i, j = R[upper], R[lower]  # line 8
            if self.is_exchanged(i, j) and self.coin(k - 1):  # lines 9 and 10
                R[upper], R[lower] = j, i
        rival = self.rival()
        if rival is not None and self.coin(pairs):
            R[self.K] = rival
        return [R[k] for k in range(1, self.K + 1)]

    def compare(self, i, j, lead):
        if abs(lead) == 1:  # line 15
            self.s[i, j] += lead  # line 16
            self.n[i, j] += 1  # line 17
            self.s[j, i] -= lead  # line 18
            self.n[j, i] += 1  # line 19

    def update(self, displayed, clicks):
        R, c = dict(enumerate(displayed, 1)), dict(enumerate(clicks, 1))  # line 11
        rival = self.rival()
        for k in range(1, (self.K - self.h()) // 2 + 1):  # line 13
            upper, lower = 2 * k - 1 + self.h(), 2 * k + self.h()
            if self.exploration is None or self.is_exchanged(self.base[upper], self.base[lower]):
                self.compare(R[upper], R[lower], c[upper] - c[lower])  # lines 14 to 19
        if rival is not None:
            pair = {self.base[self.K], rival}
            away = pair - {R[self.K]}
            if len(away) == 1 and not away & set(displayed):  # else the list is not of our making
                self.compare(R[self.K], *away, c[self.K] - 0)
        neighbours = [(k, k + 1) for k in range(1, self.K)] + [(self.K, k) for k in range(self.K + 1, self.L + 1)]
        for upper, lower in neighbours:  # line 21
            i, j = self.base[upper], self.base[lower]  # line 22
            if self.s[j, i] > self.bound(j, i):  # line 23
                self.base[upper], self.base[lower] = j, i  # line 24
        self.t += 1
        if self.t == self.estimated + 1:
            self.base = dict(enumerate(self.initial, 1))
            self.estimated = 2 * self.estimated
            self.log_inv_delta = -math.log(self.estimated**-4.0)

    def remembers(self, state):
        wins = state.wins[0]
        statistics = all(
            (self.s[i, j], self.n[i, j]) == (wins[i, j] - wins[j, i], wins[i, j] + wins[j, i]) for i, j in self.s
        )
        return statistics and list(self.base.values()) == state.base[0].tolist()


def log_ratio(a, b, difference):
    """log(a / b) to the last bits, given a - b."""
    return math.log1p(difference / b) if abs(difference) < b / 2 else math.log(a) - math.log(b)


def kl(p, q):
    """Kullback-Leibler divergence of Bernoulli variables, for p <= q."""
    if q >= 1:
        return 0.0 if p >= 1 else math.inf
    return (p * log_ratio(p, q, p - q) if p > 0 else 0.0) + (1 - p) * log_ratio(1 - p, 1 - q, q - p)


def bisected_index(mean, count, budget):
    """max{q in [mean, 1] : count kl(mean, q) <= budget}."""
    low, high = mean, 1.0
    if count == 0 or count * kl(mean, high) <= budget:
        return high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if count * kl(mean, middle) <= budget else (low, middle)
    return low


def solved_index(mean, count, budget):
    """``bisected_index`` within 1e-15, in a fifth of the time."""
    below_one = 1 - 2**-53
    if count == 0 or count * kl(mean, 1.0) <= budget:
        return 1.0
    if count * kl(mean, below_one) <= budget:
        return below_one
    return brentq(lambda q: count * kl(mean, q) - budget, mean, below_one, xtol=1e-15, rtol=1e-15)


def fallen_index(mean, count, budget):
    """``bisected_index`` of ``count`` above 0, in a twentieth of the time: Newton's method falls to it from above."""
    level = budget / count
    if mean in (0, 1):
        return 1 - math.exp(-level) if mean == 0 else 1.0
    above = mean + math.sqrt(level / 2), 1 - (1 - mean) * math.exp(-(level - mean * math.log(mean)) / (1 - mean))
    q, last = min(*above, 1 - 2**-53), math.inf
    while mean < q < last:
        last, q = q, q - (kl(mean, q) - level) * q * (1 - q) / (q - mean)
    return last if q >= last else q


class CascadeKLUCBOracle(Oracle):
    """Kveton et al. 2015, Algorithm 1; weight 3 of log log t is the paper's."""

    def __init__(self, num_items, num_positions, seed, loglog=3, feedback="first"):
        super().__init__(num_items, num_positions, seed)
        self.loglog, self.feedback = loglog, feedback
        self.T = [0] * num_items
        self.clicked = [0] * num_items

    def indices(self):
        f = max(0.0, math.log(self.t) + self.loglog * math.log(math.log(self.t))) if self.t > 1 else 0.0
        return [self.index(self.clicked[e], self.T[e], f) for e in range(self.L)]

    def index(self, clicked, T, f):
        if T == 0:
            return 1.0
        return fallen_index(clicked / T, T, f) if f > 0 else clicked / T

    def act(self):
        if self.t <= self.L:
            others = list(range(self.L))
            others[0], others[self.t - 1] = others[self.t - 1], others[0]
            return [others[0], *drawn(others[1:], 1, self.seed())][: self.K]
        U = self.indices()
        return sorted(range(self.L), key=lambda e: (U[e], word(self.seed(), e)), reverse=True)[: self.K]

    def update(self, displayed, clicks):
        places = [k for k in range(self.K) if clicks[k]]
        last = {"first": min, "last": max, "all": lambda _: self.K - 1}[self.feedback](places or [self.K - 1])
        for k in range(last + 1):
            self.T[displayed[k]] += 1
            self.clicked[displayed[k]] += clicks[k]
        self.t += 1

    def remembers(self, state):
        return (self.T, self.clicked) == (state.observed[0].tolist(), state.clicked[0].tolist())


MODELS = ("pbm", "cm", "dcm")


def model_of(*numbers):
    """One of ``MODELS``, another one for the neighbouring case: the cases of a test share them out."""
    return MODELS[sum(numbers) % 3]


class Users:
    """Click streams of one row: a cascade, a position-based or a dependent click model, from numpy's generator."""

    def __init__(self, model, num_items, num_positions, seed):
        self.model, self.random = model, np.random.default_rng(seed)
        self.attraction = self.random.random(num_items)
        self.thresholds = np.full((num_positions, 3), 0.5)  # attraction, examination, leaving
        self.thresholds[:, 1] = np.linspace(1, 0.2, num_positions)

    def clicks(self, displayed):
        self.thresholds[:, 0] = self.attraction[displayed]
        clicks, reading = [], True
        for attracted, examined, leaves in (self.random.random(self.thresholds.shape) < self.thresholds).tolist():
            seen = examined if self.model == "pbm" else reading
            clicks.append(int(attracted and seen))
            reading &= not (clicks[-1] and (self.model == "cm" or leaves))
        return clicks


def played(agent, rounds, seed):
    """What two rows of an agent display, (rounds, 2, positions), to users of the position-based model."""
    users = [Users("pbm", agent.num_items, agent.num_positions, (seed, row)) for row in range(agent.num_envs)]
    lists = []
    for _ in range(rounds):
        lists.append(agent.act())
        agent.update(lists[-1], np.array([u.clicks(row) for u, row in zip(users, lists[-1], strict=True)], np.int8))
    return np.array(lists)


def beside_foreign_lists(agent, oracle, rounds, *, seed=0, share=0.7, clicked=0.6):
    """Play an agent of one row and its oracle, with a ``share`` of the lists chosen by somebody else.

    What the two propose must be the same list. Yields after each round.
    """
    chance = np.random.default_rng(seed)
    for _ in range(rounds):
        displayed = agent.act()
        assert displayed[0].tolist() == oracle.act()
        if chance.random() < share:
            displayed = chance.permutation(agent.num_items)[None, : agent.num_positions]
        clicks = (chance.random(agent.num_positions) < clicked).astype(int).tolist()
        agent.update(displayed, [clicks])
        oracle.update(displayed[0].tolist(), clicks)
        yield
