"""What tests of dueling agents share: matrices, an agent beside its oracle, and long runs without an environment."""

from functools import cache
from itertools import pairwise

import numpy as np
from agent_oracles import word
from scipy import stats
from scipy.special import betaincinv

from rankgym.kernels import AGENT, row_keys

ARXIV = [
    [0.50, 0.55, 0.55, 0.54, 0.61, 0.61],
    [0.45, 0.50, 0.55, 0.55, 0.58, 0.60],
    [0.45, 0.45, 0.50, 0.54, 0.51, 0.56],
    [0.46, 0.45, 0.46, 0.50, 0.54, 0.50],
    [0.39, 0.42, 0.49, 0.46, 0.50, 0.51],
    [0.39, 0.40, 0.44, 0.50, 0.49, 0.50],
]
CYCLIC = [[0.5, 0.6, 0.6, 0.6], [0.4, 0.5, 0.9, 0.1], [0.4, 0.1, 0.5, 0.9], [0.4, 0.9, 0.1, 0.5]]

WITH_ALPHA = [  # matrix, seed, alpha: for agents whose bounds are sqrt(alpha ln t / n)
    ("planted 2", 0, 0.51),
    ("bradley-terry 3", 1, 0.51),
    ("cyclic", 2, 0.51),
    ("cyclic", 3, 2.0),
    ("arxiv", 4, 0.51),
    ("arxiv", 5, 0.05),
    ("certain 6", 6, 0.51),
    ("flat 4", 7, 0.3),
    ("planted 10", 8, 0.51),
    ("bradley-terry 10", 9, 0.1),
    ("planted 17", 10, 0.51),
]


@cache
def matrix(name, best=0):
    """A preference matrix (arms, arms); arm ``best`` is the Condorcet winner of all but "flat".

    Where that isn't arm 0, the two have changed places: an agent that prefers low numbers gains nothing then.

    "planted K": a winner by 0.1 to 0.4, cycles below it. "bradley-terry K": utilities. "certain K": a total order
    without noise. "flat K": every entry 1/2.
    """
    if best:
        places = np.arange(len(matrix(name)))
        places[[0, best]] = best, 0
        return matrix(name)[np.ix_(places, places)]
    if name in ("arxiv", "cyclic"):
        return np.array(ARXIV if name == "arxiv" else CYCLIC)
    kind, arms = name.split()
    K = int(arms)
    chance = np.random.default_rng(K)
    if kind == "bradley-terry":
        utility = np.sort(chance.normal(size=K))[::-1]
        return 1 / (1 + np.exp(utility[None] - utility[:, None]))
    upper = {"planted": chance.random((K, K)), "certain": np.ones((K, K)), "flat": np.full((K, K), 0.5)}[kind]
    if kind == "planted":
        upper[0] = chance.uniform(0.6, 0.9, K)
    upper = np.triu(upper, 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(K) / 2


class DuelOracle:
    """One row. ``t`` is the papers' round number, from 1; ``seed()`` is this round's, as the kernels' session_seed."""

    def __init__(self, num_arms, seed):
        self.K, self.t = num_arms, 1
        self.key = int(row_keys([seed], AGENT)[0])

    def seed(self):
        return word(self.key, self.t - 1)

    # act() -> (left, right); update(left, right, left_won) learns and moves t on; candidate() -> arm


def beta_quantile(seed, index, a, b):
    """A Beta(a, b) variate from one random word: that which 1 - u of the distribution lies below."""
    return betaincinv(a, b, 1 - (word(seed, index) >> 11) / 2**53)


def trails_and_share(wins, k):
    """Of ``wins``, pair -> times that its first arm won: how many arms ``k`` trails, and its share, 1/2 of nothing."""
    won, lost = ([times for pair, times in wins.items() if pair[side] == k] for side in (0, 1))
    trails = sum(won < lost for won, lost in zip(won, lost, strict=True))
    return trails, sum(won) / sum(won + lost) if any(won + lost) else 0.5


def set_wins(state, wins):
    """As if every row had played duels with this table of ``wins`` (arms, arms)."""
    state.wins[:], state.won[:], state.lost[:] = wins, wins.sum(1), wins.sum(0)
    state.trails[:] = (wins < wins.T).sum(1)


def least_trailing(wins, arms):
    """Of ``arms`` the first that trails fewest others, of them the one with the largest share."""

    def merit(k):
        trails, share = trails_and_share(wins, k)
        return trails, -share

    return min(arms, key=merit)


def joined(batches, limit):
    """MergeRUCB's line 13 once: the smallest with the largest if they fit, else the largest alone, and so on."""
    left, result = sorted(batches, key=len), []
    while left:
        if len(left) > 1 and len(left[0]) + len(left[-1]) <= limit:
            result.append(left.pop(0) + left.pop())
        else:
            result.append(left.pop())
    return result


def batches_of(state, row=0):
    start = state.start[row, : state.batches[row] + 1].tolist()
    return [state.order[row, a:b].tolist() for a, b in pairwise(start)]


def partition(state, row=0):
    """The batches of a row; asserts that the state agrees with itself about them."""
    batches = batches_of(state, row)
    assert sorted(state.order[row]) == list(range(state.order.shape[1]))
    assert state.start[row, 0] == 0
    assert min(map(len, batches)) >= 1
    for number, batch in enumerate(batches):
        assert (state.batch_of[row, batch] == number).all()
    assert (state.batch_of[row] >= 0).sum() == sum(map(len, batches))
    return batches


def ring(arms):
    """Of arms on a ring each beats the half that comes before it: no winner, and arms that surely lose in a cycle."""
    left, right = np.indices((arms, arms))
    return np.where((left - right) % arms <= arms // 2, 0.9, 0.1)


def beside(agent, oracle, preference, rounds=2000, seed=0, every=50, foreign=0.0, look=None):
    """Play ``agent`` (one row) beside ``oracle`` for ``rounds`` duels: same arms each round, same candidate.

    With probability ``foreign`` they are told of a duel that somebody else chose. ``look()`` is called after each act.
    """
    chance = np.random.default_rng(seed)
    for t in range(rounds):
        duel = agent.act()
        left, right = int(duel["left"][0]), int(duel["right"][0])
        assert (left, right) == tuple(oracle.act()), f"round {t + 1}"
        if look:
            look()
        if foreign and chance.random() < foreign:
            left, right = map(int, chance.integers(0, len(preference), 2))
            duel = {"left": np.array([left]), "right": np.array([right])}
        left_won = bool(chance.random() < preference[left, right])
        agent.update(duel, np.array([[left_won, not left_won]], np.int8))
        oracle.update(left, right, left_won)
        if t % every == 0 or t == rounds - 1:
            assert agent.candidate[0] == oracle.candidate(), f"candidate after round {t + 1}"


def played(agent, preference, rounds, seed=0, best=0):
    """Average regret against arm ``best``, cumulative, (num_envs,), of ``rounds`` duels of every row."""
    chance = np.random.default_rng(seed)
    regret = np.zeros(agent.num_envs)
    for _ in range(rounds):
        duel = agent.act()
        left, right = duel["left"], duel["right"]
        left_won = chance.random(agent.num_envs) < preference[left, right]
        agent.update(duel, np.stack([left_won, ~left_won], 1).astype(np.int8))
        regret += (preference[best, left] + preference[best, right]) / 2 - 0.5
    return regret


def regret_of_finding(agent, preference, rounds, best=0):
    """The average regret of 200 rows; fails where more than 20 of them name another arm than ``best`` then.

    Of 1,000 other rows of each agent that is tested so, at most one was wrong by then, or earlier. Were a row wrong
    with probability 0.02, as few as that would be seen with probability 4e-8; with a smaller one, more than 20 of 200
    are wrong with probability below 1e-9.
    """
    assert agent.num_envs == 200
    regret = played(agent, preference, rounds, seed=2, best=best)
    assert (agent.candidate != best).sum() <= 20
    return regret.mean()


def seldom(failed, most):
    """Where each row fails with probability 0.01 at the most, more than ``most`` of them do with one below 1e-6."""
    assert stats.binom.sf(most, len(failed), 0.01) < 1e-6
    assert failed.sum() <= most


def keeps_the_winner(agent, name, rounds, best):
    """Of 100 rows with an error probability of 0.01 all but ten or fewer are left with the winner alone."""
    assert agent.num_envs == 100
    played(agent, matrix(name, best=best), rounds)
    seldom((agent.remaining != 1) | (agent.candidate != best), 10)


def part_after(agent, duels):
    """Of two arms, of which 0 always wins, the other one is out after so many duels, and no earlier."""
    played(agent, matrix("certain 2"), duels - 1)
    assert agent.remaining[0] == 2
    played(agent, matrix("certain 2"), 1)
    assert agent.remaining[0] == 1
    assert agent.candidate[0] == 0
    assert played(agent, matrix("certain 2"), 100)[0] == 0
