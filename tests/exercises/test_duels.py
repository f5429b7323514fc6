"""Exercise 7: full points for the right solution, each typical mistake at its check, and the oracles' own rightness."""

import contextlib
import itertools

import numpy as np
import pytest
from mistakes import SOLUTIONS, Mistake, assert_found, assert_full_points, filled, outcomes, solution

from rankgym.data.matrices import borda_scores, condorcet_winner, copeland_scores
from rankgym.exercises.checking import check_file
from rankgym.exercises.exercise import Trial
from rankgym.exercises.faults import Failed
from rankgym.exercises.playing import DuelSetting, played_duels
from rankgym.exercises.topics import duels, rucb_oracles
from rankgym.exercises.topics.duels import EXERCISE
from rankgym.exercises.topics.preferences import HALF_WINS, winners
from rankgym.interleaving import INTERLEAVINGS
from rankgym.interleaving.base import INTERLEAVING, Lists
from rankgym.kernels import AGENT, bits, row_keys, session_seed, uniform
from rankgym.submissions import Submission
from rankgym_agents.rucb import RUCB

DRAFT = "captains_draft_in_rounds"
WINNER = "more_clicks_win"
BEST = "the_best_arm_has_three_meanings"
REGRET = "regret_is_of_both_arms"
BOUNDS = "bounds_are_share_plus_radius"
C = "contenders_may_beat_everybody"
DUELS = "rucb_chooses_the_same_duels"
MISTAKES = [
    Mistake("repeated items", "if item not in displayed)", "if item not in displayed[-1:])", DRAFT, ""),
    Mistake(
        "wrong way round", "(0, 1) if coin < 0.5 else (1, 0)", "(1, 0) if coin < 0.5 else (0, 1)", DRAFT, "wrong way"
    ),
    Mistake(
        "above one half", "(0, 1) if coin < 0.5 else (1, 0)", "(0, 1) if coin > 0.5 else (1, 0)", DRAFT, "not above"
    ),
    Mistake(
        "coins by position",
        "    for coin in coins:\n        order = (0, 1) if coin < 0.5 else (1, 0)\n        for team in order:",
        "    for k in range(length):\n        for team in [0 if coins[k] < 0.5 else 1]:",
        DRAFT,
        "one coin for each round of the draft",
    ),
    Mistake(
        "coins by position of a round",
        "    for coin in coins:\n        order = (0, 1) if coin < 0.5 else (1, 0)\n",
        "    for k in range(0, length, 2):\n        order = (0, 1) if coins[k] < 0.5 else (1, 0)\n",
        DRAFT,
        "not for each position",
    ),
    Mistake("half is left's", "order = (0, 1) if coin < 0.5", "order = (0, 1) if coin <= 0.5", DRAFT, "0.5 itself"),
    Mistake("one coin for the draft", "(0, 1) if coin < 0.5", "(0, 1) if coins[0] < 0.5", DRAFT, "one coin serves"),
    Mistake(
        "left always first", "order = (0, 1) if coin < 0.5 else (1, 0)", "order = (0, 1)", DRAFT, "always picks first"
    ),
    Mistake(
        "a coin for each pick", "        for team in order:", "        for team in order[:1] * 2:", DRAFT, "single pick"
    ),
    Mistake(
        "own team only",
        "displayed.append(next(item for item in ranking if item not in displayed))",
        "displayed.append(next(i for i in ranking if (i, team) not in zip(displayed, teams)))",
        DRAFT,
        "displayed twice",
    ),
    Mistake(
        "too long",
        "            if len(displayed) == length:\n                break\n",
        "            if len(displayed) == len(left):\n                break\n",
        DRAFT,
        "end of a round",
    ),
    Mistake("teams exchanged", "teams.append(team)", "teams.append(1 - team)", DRAFT, "0 is left's"),
    Mistake(
        "loses the pick",
        "displayed.append(next(item for item in ranking if item not in displayed))",
        "item = ranking[coins.index(coin)]\n            if item in displayed:\n                continue\n"
        "            displayed.append(item)",
        DRAFT,
        "",
    ),
    Mistake("fewer clicks win", "score[0] > score[1] else 1", "score[0] < score[1] else 1", WINNER, "fewer clicks"),
    Mistake("larger team wins", "score[team] += click", "score[team] += 1", WINNER, "larger team"),
    Mistake("tie to left", "return 0 if coin < 0.5 else 1", "return 0", WINNER, "tie always goes to left"),
    Mistake("tie coin", "return 0 if coin < 0.5 else 1", "return 1 if coin < 0.5 else 0", WINNER, "wrong way round"),
    Mistake("ties win", "[sum(p > 0.5 for p in row)", "[sum(p >= 0.5 for p in row)", BEST, "the diagonal counts, too"),
    Mistake(
        "all ties win",
        "    borda = [",
        "    beaten = [sum(p >= 0.5 for p in row) - 1 for row in preference]\n    borda = [",
        BEST,
        "tie at 1/2 is not a win",
    ),
    Mistake(
        "half a win",
        "copeland = beaten.index(max(beaten))\n",
        "scores = [sum((p > 0.5) + 0.5 * (p == 0.5) for p in row) for row in preference]\n"
        "    copeland = scores.index(max(scores))\n",
        BEST,
        "",
    ),
    Mistake(
        "half a win for Copeland",
        "return [condorcet, copeland,",
        "scores = [sum((p > 0.5) + 0.5 * (p == 0.5) for p in row) for row in preference]\n"
        "    return [condorcet, scores.index(max(scores)),",
        BEST,
        "half a win",
    ),
    Mistake("or None", "return [condorcet,", "return [condorcet or None,", BEST, "arm 0 is an arm"),
    Mistake(
        "Copeland if none", "copeland if max(beaten) == len(arms) - 1 else None", "copeland", BEST, "answer None then"
    ),
    Mistake("minus one", "len(arms) - 1 else None", "len(arms) - 1 else -1", BEST, "not -1"),
    Mistake(
        "majority", "if max(beaten) == len(arms) - 1 else", "if max(beaten) > (len(arms) - 1) / 2 else", BEST, "half"
    ),
    Mistake("Borda by columns", "preference[i][j] for j in arms", "preference[j][i] for j in arms", BEST, ""),
    Mistake("Borda of wins", "borda.index(max(borda))]", "copeland]", BEST, "Borda: the mean of all prob"),
    Mistake(
        "last of equals",
        "copeland = beaten.index(max(beaten))",
        "copeland = max(arms, key=lambda i: (beaten[i], i))",
        BEST,
        "Copeland: of equally good",
    ),
    Mistake("sum of gaps", "sum(gaps) / 2", "sum(gaps)", REGRET, "not their sum"),
    Mistake("weak is max", "return min(gaps)", "return max(gaps)", REGRET, ""),
    Mistake(
        "no half",
        "[preference[best][left] - 0.5, preference[best][right] - 0.5]",
        "[preference[best][left], preference[best][right]]",
        REGRET,
        "subtract 1/2",
    ),
    Mistake(
        "column",
        "[preference[best][left] - 0.5, preference[best][right] - 0.5]",
        "[preference[left][best] - 0.5, preference[right][best] - 0.5]",
        REGRET,
        "not P(arm, best)",
    ),
    Mistake(
        "bonus bracket", "math.sqrt(alpha * math.log(t) / n)", "alpha * math.sqrt(math.log(t) / n)", BOUNDS, "under"
    ),
    Mistake(
        "n outside", "math.sqrt(alpha * math.log(t) / n)", "math.sqrt(alpha * math.log(t)) / n", BOUNDS, "n belongs"
    ),
    Mistake("whole share", "wins[i][j] / n + ", "wins[i][j] // n + ", BOUNDS, "cuts it to a whole number"),
    Mistake("own wins", "n = wins[i][j] + wins[j][i]", "n = wins[i][j]", BOUNDS, "yours has only w_ij"),
    Mistake(
        "cut",
        "= wins[i][j] / n + math.sqrt(alpha * math.log(t) / n) if n > 0 else math.inf",
        "= min(1, wins[i][j] / n + math.sqrt(alpha * math.log(t) / n)) if n > 0 else math.inf",
        BOUNDS,
        "do not cut it",
    ),
    Mistake(
        "all cut",
        "= wins[i][j] / n + math.sqrt(alpha * math.log(t) / n) if n > 0 else math.inf",
        "= min(1, wins[i][j] / n + math.sqrt(alpha * math.log(t) / n) if n > 0 else math.inf)",
        BOUNDS,
        "do not cut it",
    ),
    Mistake(
        "one row",
        "[[0.5] * len(wins) for _ in arms]",
        "[[0.5] * len(wins)] * len(wins)",
        BOUNDS,
        "one and the same list",
    ),
    Mistake(
        "one row with its diagonal",
        "bounds = [[0.5] * len(wins) for _ in arms]\n    for i in arms:\n        for j in arms:\n",
        "bounds = [[0] * len(wins)] * len(wins)\n    for i in arms:\n        for j in arms:\n"
        "            bounds[i][i] = 0.5\n",
        BOUNDS,
        "one and the same list",
    ),
    Mistake("no log", "math.log(t) / n", "t / n", BOUNDS, "logarithm is missing"),
    Mistake("unmet", "if n > 0 else math.inf", "if n > 0 else 1.0", BOUNDS, "math.inf (yours: 1)"),
    Mistake("unmet as printed", "if n > 0 else math.inf", "if n > 0 else 2.0", BOUNDS, "math.inf (yours: 2)"),
    Mistake("row and column", "bounds[i][j] = wins[i][j] / n", "bounds[j][i] = wins[i][j] / n", BOUNDS, "exchanged"),
    Mistake(
        "wins in the radius",
        "math.sqrt(alpha * math.log(t) / n) if n > 0",
        "(math.sqrt(alpha * math.log(t) / wins[i][j]) if wins[i][j] else math.inf) if n > 0",
        BOUNDS,
        "w_ij + w_ji",
    ),
    Mistake("strictly", "all(bound >= 0.5 for", "all(bound > 0.5 for", C, "diagonal"),
    Mistake("any", "all(bound >= 0.5 for bound in row)", "sum(b >= 0.5 for b in row) > 1", C, "only one of them"),
    Mistake("column of C", "in enumerate(bounds) if all", "in enumerate(zip(*bounds)) if all", C, "exchanged"),
    Mistake("u_cj", "[bounds[arm][left] for", "[bounds[left][arm] for", DUELS, "column c, not row c"),
    Mistake(
        "no duel with itself",
        "tied = [arm for arm in self.arms if chances[arm] == max(chances)]",
        "chances[left] = -1.0\n        tied = [arm for arm in self.arms if chances[arm] == max(chances)]",
        DUELS,
        "may be c itself",
    ),
    Mistake(
        "first of ties", "return left, pick(tied, third)", "return left, tied[0]", DUELS, "not the smallest number"
    ),
    Mistake("no favourite", "left = self.favourite = able[0]", "left = able[0]", DUELS, "no favourite"),
    Mistake("always the favourite", "is not None and first < 0.5:", "is not None:", DUELS, "whenever there is one"),
    Mistake("the wrong half", "and first < 0.5:", "and first >= 0.5:", DUELS, "first coin is the wrong way round"),
    Mistake(
        "favourite kept",
        "        if self.favourite not in able:\n            self.favourite = None\n",
        "",
        DUELS,
        "forgotten when it is not in C",
    ),
    Mistake(
        "favourite kept if C is empty",
        "if self.favourite not in able:",
        "if able and self.favourite not in able:",
        DUELS,
        "also when C is empty",
    ),
    Mistake(
        "arm 0 is nobody", "elif self.favourite is not None and", "elif self.favourite and", DUELS, "'if favourite' is"
    ),
    Mistake(
        "arm 0 is kept",
        "        if self.favourite not in able:\n",
        "        if self.favourite and self.favourite not in able:\n",
        DUELS,
        "forgotten",  # in some runs it looks like one that is kept if C is empty
    ),
    Mistake(
        "arm 0 stays",
        "        if self.favourite not in able:\n            self.favourite = None\n        if not able:\n"
        "            left = pick(self.arms, second)\n        elif len(able) == 1:\n"
        "            left = self.favourite = able[0]\n        elif self.favourite is not None and",
        "        if self.favourite and self.favourite not in able:\n            self.favourite = None\n"
        "        if not able:\n"
        "            left = pick(self.arms, second)\n        elif len(able) == 1:\n"
        "            left = self.favourite = able[0]\n        elif self.favourite and",
        DUELS,
        "ask 'is not None'",
    ),
    Mistake("second coin for right", "pick(tied, third)", "pick(tied, second)", DUELS, "with the third coin"),
    Mistake("t stays 1", "        self.t += 1\n", "", DUELS, "raise t in update"),
    Mistake(
        "one row of wins",
        "self.wins = [[0] * num_arms for _ in self.arms]",
        "self.wins = [[0] * num_arms] * num_arms",
        DUELS,
        "[[0] * K] * K",
    ),
    Mistake(
        "coins of the next round", "self.coins[self.t - 1]", "self.coins[self.t]", DUELS, "those of the next round"
    ),
    Mistake("favourite in both", "[arm for arm in able if arm != self.favourite]", "able", DUELS, "leave it out"),
    Mistake("coins exchanged", "first, second, third =", "second, first, third =", DUELS, "coins are exchanged"),
    Mistake("left wins all", "            if left_won:\n", "            if True:\n", DUELS, "left arm is taken to win"),
    Mistake(
        "loser wins", "            if left_won:\n", "            if not left_won:\n", DUELS, "credited to the loser"
    ),
    Mistake("t from 2", "self.wins, self.t, self.alpha", "self.wins, self.t + 1, self.alpha", DUELS, "one round ahead"),
    Mistake(
        "t stays",
        "        self.t += 1\n        if left != right:",
        "        self.played = getattr(self, 'played', 0) + (left != right)\n"
        "        self.coins = self.coins[1:]\n        self.t = self.t + (left != right)\n        if left != right:",
        DUELS,
        "",
    ),
    Mistake("no such arm", "return left, pick(tied, third)", "return left, len(self.arms)", DUELS, "two arms out of 0"),
]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


ARRAYS = """
import numpy as np

def team_draft(left, right, length, coins):
    shown, teams, left, right = [], [], list(left), list(right)
    for k in range(length):
        begins = int(coins[k // 2] >= 0.5)
        team = np.int64(begins if k % 2 == 0 else 1 - begins)
        item = (left, right)[team][0]
        left.remove(item), right.remove(item)
        shown.append(item)
        teams.append(team)
    return np.array(shown), np.array(teams)

def winner(teams, clicks, coin):
    lead = np.sign(np.dot(clicks, 1 - 2 * np.array(teams)))
    return lead < 0 or (lead == 0 and coin >= 0.5)

def winners(preference):
    P = np.array(preference)
    beaten = (P > 0.5).sum(axis=1)
    condorcet = np.flatnonzero(beaten == len(P) - 1)
    return (condorcet[0] if len(condorcet) else None), beaten.argmax(), P.mean(axis=1).argmax()

def duel_regret(preference, best, left, right, kind):
    gaps = np.array(preference)[best, [left, right]] - 0.5
    return {"average": gaps.mean, "weak": gaps.min, "strong": gaps.max}[kind]()

def upper_bounds(wins, t, alpha):
    w = np.array(wins)
    n = w + w.T
    with np.errstate(all="ignore"):
        u = np.where(n == 0, np.inf, w / n + np.sqrt(alpha * np.log(t)) / np.sqrt(n))
    np.fill_diagonal(u, 0.5)
    return u

def contenders(bounds):
    return np.flatnonzero((np.array(bounds) >= 0.5).all(axis=1))

class RUCB:
    def __init__(self, num_arms, alpha, coins):
        self.w, self.alpha, self.coins, self.B = np.zeros((num_arms, num_arms), int), alpha, iter(coins), set()
        self.t = 0

    def act(self):
        self.t += 1
        u, coins = upper_bounds(self.w, self.t, self.alpha), next(self.coins)
        C = set(contenders(u).tolist())
        self.B &= C
        if len(C) == 1:
            self.B = C
        if len(C) == 1 or (self.B and coins[0] < 0.5):
            (c,) = self.B
        else:
            others = sorted((C or set(range(len(u)))) - self.B)
            c = others[int(coins[1] * len(others))]
        tied = np.flatnonzero(u[:, c] == u[:, c].max())
        return np.array([c, tied[int(coins[2] * len(tied))]])

    def update(self, left, right, left_won):
        self.w[(left, right) if left_won else (right, left)] += left != right
"""


def test_another_right_style_has_full_points():
    found = outcomes(EXERCISE, ARRAYS)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize("stub", ["return 0", "return []", "return args[0]", "return None", "return [0, 1]"])
def test_a_stub_gets_nothing(stub):
    names = ("team_draft", "winner", "winners", "duel_regret", "upper_bounds", "contenders")
    source = "\n".join(f"def {name}(*args):\n    {stub}" for name in names)
    source += "\nclass RUCB:\n    def __init__(self, **_): pass\n    def act(self): return 0, 1\n"
    source += "    def update(self, *_): pass\n"
    assert [name for name, outcome in outcomes(EXERCISE, source).items() if not outcome.fault] == []


@pytest.mark.parametrize("seed", range(20))
def test_the_draft_is_the_packages(seed):
    """The package throws a coin before position 0, 2, ...: that of round r is number 2 r."""
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 9))
    rankings = np.array([rng.permutation(items), rng.permutation(items)])
    length = int(rng.integers(1, items + 1))
    key, session = row_keys([seed], AGENT), np.array([3])
    displayed, share = np.zeros((1, length), np.int64), np.zeros((1, length))
    lists = Lists.of(rankings, items)
    INTERLEAVINGS["team-draft"]().interleave(lists, np.array([0]), np.array([1]), key, session, displayed, share)
    draws = np.uint64(session_seed(key[0], 3))
    coins = [float(uniform(np.uint64(bits(draws, INTERLEAVING + 2 * r)))) for r in range(length)]
    expected = displayed[0].tolist(), [int(one == 0) for one in share[0]]
    assert duels.team_draft(*rankings.tolist(), length, coins) == expected


@pytest.mark.parametrize(("arms", "alpha", "seed"), [(2, 0.51, 1), (4, 0.25, 2), (6, 0.1, 3), (10, 0.51, 4)])
def test_the_duels_are_the_packages(arms, alpha, seed):
    """The package's random words of a round, as coins: 0 and 1 for the left arm, 2 for the right one."""
    rounds, rng = 2_000, np.random.default_rng(seed)
    preference = np.triu(rng.uniform(0.1, 0.9, (arms, arms)), 1)
    preference += np.tril(1 - preference.T, -1) + np.eye(arms) / 2
    key = row_keys([seed], AGENT)[0]
    seeds = [np.uint64(session_seed(key, t)) for t in range(rounds)]
    coins = [[(int(bits(seed, k)) >> 32) / 2**32 for k in range(3)] for seed in seeds]
    wins = duels.users_of(rng, preference, rounds)
    expected, _ = played_duels(rucb_oracles.RUCB(arms, alpha, coins), wins)
    agent = RUCB(num_arms=arms, alpha=alpha, seed=seed)
    for t in range(rounds):
        duel = agent.act()
        left, right = int(duel["left"][0]), int(duel["right"][0])
        assert [left, right] == expected[t], t
        won = wins[t][left][right]
        agent.update(duel, np.array([[won, not won]], np.int8))


@pytest.mark.parametrize("seed", range(30))
def test_winners_are_the_packages(seed):
    rng = np.random.default_rng(seed)
    trial = Trial(None, rng)
    matrix = duels.matrix_of(trial, int(rng.integers(2, 7)), best=bool(seed % 2))
    array = np.array(matrix)
    assert (array + array.T == 1).all()
    condorcet, copeland, borda = duels.winners(matrix)
    assert (-1 if condorcet is None else condorcet) == condorcet_winner(array)
    assert copeland == copeland_scores(array).argmax()
    assert borda == borda_scores(array).argmax()
    assert seed % 2 == 0 or condorcet is not None


@pytest.mark.parametrize("seed", [0])
def test_each_mistake_in_rucb_chooses_other_duels(seed):
    """None of the wrong oracles is right in all of the worlds of the check."""
    trial = Trial(None, np.random.default_rng(seed))
    unnoticed = dict(rucb_oracles.WRONG_RUCB)
    for arguments, wins in duels.worlds(trial):
        right, _ = played_duels(rucb_oracles.RUCB(**arguments), wins)
        for why, wrong in list(unnoticed.items()):
            with contextlib.suppress(LookupError):  # coins of a round that there is not
                if played_duels(wrong(**arguments), wins, like=right)[0] == right:
                    continue
            del unnoticed[why]
    assert list(unnoticed) == []


RUNNING = """
class RUCB(RUCB):
    def act(self):
        global upper_bounds
        self.shares = getattr(self, "shares", [[0.0] * len(self.arms) for _ in self.arms])
        exact, w, shares = upper_bounds, self.wins, self.shares
        right = exact(w, self.t, self.alpha)
        for i in self.arms:
            for j in self.arms:
                n = w[i][j] + w[j][i]
                if i != j and n:
                    right[i][j] = shares[i][j] + math.sqrt(self.alpha * math.log(self.t) / n)
        upper_bounds = lambda *_: right
        chosen = super().act()
        upper_bounds = exact
        return chosen

    def update(self, left, right, left_won):
        super().update(left, right, left_won)
        if left != right:
            n = self.wins[left][right] + self.wins[right][left]
            self.shares[left][right] += (left_won - self.shares[left][right]) / n
            self.shares[right][left] += (1 - left_won - self.shares[right][left]) / n
"""


def test_running_shares_are_named():
    found = outcomes(EXERCISE, solution(EXERCISE.name) + RUNNING, only=DUELS)
    assert "whose rounding decides ties" in found[DUELS].fault.mistake


@pytest.mark.parametrize("seed", [0, 1])
def test_another_favourite_is_noticed(seed):
    """Agents that keep the favourite for too long, or do not know arm 0, choose other duels with changing users."""
    trial = Trial(None, np.random.default_rng(seed))
    unnoticed = set(rucb_oracles.FORGETFUL)
    for arguments, wins in duels.changing_favourites(trial):
        right = played_duels(rucb_oracles.RUCB(**arguments), wins)[0]
        unnoticed = {wrong for wrong in unnoticed if played_duels(wrong(**arguments), wins, like=right)[0] == right}
    assert not unnoticed


def test_half_wins_decide_in_a_fixed_case():
    """Arm 1 beats two others, arm 0 beats one and ties with three."""
    right = winners(HALF_WINS)
    assert right == [None, 1, 1]
    halves = [sum((p > 0.5) + (p == 0.5) / 2 for p in row) for row in HALF_WINS]
    assert halves.index(max(halves)) == 0
    assert halves.count(max(halves)) == 1


@pytest.mark.parametrize("mean", ["sum(p / (K - 1) for p in row) - 0.5 / (K - 1)", "sum(p / K for p in row[::-1])"])
def test_the_rounding_of_means_does_not_matter(mean):
    source = solution(EXERCISE.name).replace(
        "    copeland =", f"    K = len(arms)\n    borda = [{mean} for row in preference]\n    copeland ="
    )
    for seed in range(20):
        assert outcomes(EXERCISE, source, seed, only=BEST)[BEST].fault is None, seed


def test_a_user_who_clicks_at_random_prefers_the_right_list_under_balanced_interleaving():
    """The demonstration's numbers: 2/3 under balanced interleaving, and 1/2 under team draft, for all lists of 4."""
    made = {}
    exec(compile(filled("07_duels"), "07_duels.py", "exec"), made)
    left, right = [0, 1, 2], [1, 2, 0]
    sides = [
        made["balanced_winner"](left, right, item)
        for first in (True, False)
        for item in made["balanced"](left, right, first)
    ]
    assert (sides.count(0), sides.count(1)) == (2, 4)
    for right in itertools.permutations(range(4)):
        teams = [made["team_draft"](range(4), right, 4, coins)[1] for coins in itertools.product((0, 0.9), repeat=2)]
        assert [sum(column) for column in zip(*teams, strict=True)] == [2] * 4


def test_a_wrong_duel_is_shown_with_the_duels_before_it():
    source = "class A:\n    def __init__(self, n): self.t = 0\n    def act(self): return 0, int(self.t < 2)\n"
    source += "    def update(self, left, right, left_won): self.t += 1\n"

    class Oracle:
        def __init__(self, n):
            self.arms = n

        def act(self):
            return 0, self.arms - 1

        def update(self, left, right, left_won):
            pass

    class Wrong(Oracle):
        def act(self):
            self.t = getattr(self, "t", -1) + 1
            return 0, int(self.t < 2)

    wins = [[[True, t % 2 == 0], [t % 2 == 1, True]] for t in range(4)]
    with Submission(source) as student:
        trial = Trial(student, np.random.default_rng(0))
        with pytest.raises(Failed) as failed:
            trial.expect_play(
                Oracle, "A", [DuelSetting({"n": 2}, wins)], mistakes={"nothing": Oracle, "it stops": Wrong}
            )
    fault = failed.value.fault
    assert fault.call == "A(n=2).act() after 2 rounds: [0, 1] won by 0; [0, 1] won by 1"
    assert (fault.expected, fault.got, fault.mistake) == ("[0, 1]", "[0, 0]", "it stops")


def test_the_right_solution_is_drawn():
    report = check_file(EXERCISE, SOLUTIONS / f"{EXERCISE.name}.py")
    assert report.points == 10
    assert report.picture.startswith("<?xml")
    assert "yours" in report.picture
