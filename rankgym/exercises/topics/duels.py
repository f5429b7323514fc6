"""Exercise 7: team-draft interleaving, the best arm in three meanings, and the dueling bandit RUCB.

All checks are exact: the coins are arguments, and RUCB chooses the same duels as its oracle for 2,000 rounds. Oracles
in plain Python: team draft is Algorithm 2 of Radlinski, Kurup and Joachims (CIKM 2008); RUCB is Algorithm 1 of Zoghi,
Whiteson, Munos and de Rijke (ICML 2014), lines 4 to 13. Its x / 0 := 1 is read as in ``rankgym_agents.rucb``: the bound
of a pair that has not met is infinite. Average, weak and strong regret are those of Yue, Broder, Kleinberg and Joachims
(JCSS 78, 2012), by memory.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import DuelSetting, played_duels
from rankgym.exercises.topics.preferences import (
    BORDA_IS_ANOTHER,
    CYCLIC,
    HALF_WINS,
    duel_regret,
    regret_mistakes,
    tied_for_borda,
    winners,
    winners_mistakes,
)
from rankgym.exercises.topics.rucb_oracles import (
    FORGETFUL,
    RUCB,
    WRONG_RUCB,
    Means,
    contenders,
    radius_of_wins,
    transposed,
    upper_bounds,
    wrong_bounds,
)
from rankgym.submissions import Submission

DRAWN = 40  # random cases of each check, after the small ones
ROUNDS = 2_000

# -- team draft ------------------------------------------------------------------------------------------------------


def draft(
    left: Any, right: Any, length: int, first: Callable[[int], bool], again: bool = False
) -> tuple[list[int], list[int]]:
    """Team draft; ``first(k)`` says whether left picks at position k, where both teams are equally large."""
    displayed: list[int] = []
    teams: list[int] = []
    while len(displayed) < length:
        more = teams.count(0) - teams.count(1)
        team = (1 if more > 0 else 0) if more else int(not first(len(displayed)))
        ranking = (left, right)[team]
        mine = [item for item, owner in zip(displayed, teams, strict=True) if owner == team]
        taken = mine if again else displayed
        displayed.append(next(item for item in ranking if item not in taken))
        teams.append(team)
    return displayed, teams


def team_draft(left: Any, right: Any, length: int, coins: Any) -> tuple[list[int], list[int]]:
    """The coin of round r is before position 2 r."""
    return draft(left, right, length, lambda k: coins[k // 2] < 0.5)


def turns(left: Any, right: Any, length: int, coins: Any) -> tuple[list[int], list[int]]:
    """The teams pick as in team draft, but whose next item is displayed already loses the pick."""
    displayed: list[int] = []
    teams: list[int] = []
    for coin, place in itertools.zip_longest(coins, range(len(left)), fillvalue=0.0):
        for team in (0, 1) if coin < 0.5 else (1, 0):
            item = (left, right)[team][int(place)]
            if item not in displayed and len(displayed) < length:
                displayed.append(item)
                teams.append(team)
    return displayed, teams


def every_position(left: Any, right: Any, length: int, coins: Any) -> tuple[list[int], list[int]]:
    """A coin, that of the position's round, decides who picks at the position, however large the teams are."""
    displayed: list[int] = []
    teams = [int(coins[k // 2] >= 0.5) for k in range(length)]
    for team in teams:
        displayed.append(next(item for item in (left, right)[team] if item not in displayed))
    return displayed, teams


def drafts(trial: Trial) -> Iterator[tuple[list[int], list[int], int, list[float]]]:
    """Yield (left, right, length, coins), small ones first."""
    for length, coin in itertools.product((1, 2), (0.25, 0.75)):
        yield [0, 1], [1, 0], length, [coin]
    for right in itertools.permutations(range(3)):
        for coins in itertools.product((0.25, 0.75), repeat=2):
            yield [0, 1, 2], list(right), 3, list(coins)
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 9))
        length = int(trial.rng.integers(2, items + 1))
        rankings = [trial.rng.permutation(items).tolist() for _ in range(2)]
        yield rankings[0], rankings[1], length, coins_of(trial, (length + 1) // 2)


def coins_of(trial: Trial, *shape: int) -> Any:
    """Numbers in [0, 1) with three digits, some of which are 1/2."""
    coins = trial.rng.integers(0, 1000, shape)
    return (np.where(trial.rng.random(shape) < 0.1, 500, coins) / 1000).tolist()


@check(
    points=2,
    of="team_draft",
    hints=[
        "Play it with two captains: who picks first in a round, who picks second, and what may they pick?",
        "In each round both pick once, in the order that the round's coin says: coins[0] for positions 0 and 1, "
        "coins[1] for positions 2 and 3. What the other one has taken is taken.",
        "for coin in coins: for team in ((0, 1) if coin < 0.5 else (1, 0)): stop if the list has length items; append "
        "the first item of that team's ranking that is not in the list, and the team.",
    ],
)
def captains_draft_in_rounds(trial: Trial) -> None:
    """In each round a coin says who picks first; both take their best item that nobody has taken."""

    def heads(coins: Any) -> Any:
        return [(0.75, 0.25)[coin >= 0.5] for coin in coins]

    def own(left: Any, right: Any, length: int, coins: Any) -> Any:
        return draft(left, right, length, lambda k: coins[k // 2] < 0.5, again=True)

    def coin_by_position(left: Any, right: Any, length: int, coins: Any) -> Any:
        return every_position(left, right, length, [coins[k] for k in range(length) for _ in range(2)])

    def whole_rounds(left: Any, right: Any, length: int, coins: Any) -> Any:
        longest = min(length + length % 2, len(left))
        return team_draft(left, right, longest, coins)

    mistakes = {
        "an item is displayed twice: what the other ranker has taken is taken": own,
        "the coin is the wrong way round: left picks first if the coin is below 0.5": lambda a, b, n, c: team_draft(
            a, b, n, heads(c)
        ),
        "the coin is the wrong way round: left picks first if the coin is below 0.5, not above": lambda a, b, n, c: (
            draft(a, b, n, lambda k: bool(c[k // 2] > 0.5))
        ),
        "left picks first if the coin is below 0.5; 0.5 itself is right's": lambda a, b, n, c: draft(
            a, b, n, lambda k: bool(c[k // 2] <= 0.5)
        ),
        "one coin serves all rounds: round r has coins[r]": lambda a, b, n, c: draft(a, b, n, lambda k: c[0] < 0.5),
        "the coin decides each single pick: in a round both pick once": every_position,
        "left always picks first: the coin decides that": lambda a, b, n, c: draft(a, b, n, lambda k: True),
        "there is one coin for each round of the draft, coins[r], not for each position": lambda a, b, n, c: draft(
            a, b, n, lambda k: bool(c[k] < 0.5)
        ),
        "there is one coin for each round of the draft, coins[r]; in a round both pick once": coin_by_position,
        "the coins are taken from the end": lambda a, b, n, c: team_draft(a, b, n, c[::-1]),
        "whoever's next item is taken already loses the pick: the next item that is free is picked": turns,
        "the draft goes on to the end of a round: it ends when the list has length items": whole_rounds,
        "the teams are exchanged: 0 is left's": lambda a, b, n, c: (
            team_draft(a, b, n, c)[0],
            [1 - team for team in team_draft(a, b, n, c)[1]],
        ),
    }
    trial.compare("team_draft", team_draft, drafts(trial), mistakes=mistakes)


# -- who wins --------------------------------------------------------------------------------------------------------


def credit(teams: Any, clicks: Any) -> list[int]:
    return [sum(click for team, click in zip(teams, clicks, strict=True) if team == side) for side in (0, 1)]


def winner(teams: Any, clicks: Any, coin: float) -> int:
    left, right = credit(teams, clicks)
    return int(coin >= 0.5) if left == right else int(right > left)


@check(
    points=1,
    of="winner",
    hints=[
        "Count the clicks at positions whose item is in left's team, and those at right's.",
        "If the counts are equal (also if both are 0), the coin alone decides.",
    ],
)
def more_clicks_win(trial: Trial) -> None:
    """The ranker whose team has more clicks wins; a coin decides a tie."""

    def first_click(teams: Any, clicks: Any, coin: float) -> int:
        return int(teams[clicks.index(1)]) if 1 in clicks else int(coin >= 0.5)

    def share(teams: Any, clicks: Any, coin: float) -> int:
        rates = [clicked / max(teams.count(side), 1) for side, clicked in enumerate(credit(teams, clicks))]
        return int(coin >= 0.5) if rates[0] == rates[1] else int(rates[1] > rates[0])

    mistakes = {
        "the one with fewer clicks wins": lambda t, c, coin: (
            winner(t, c, coin) if len(set(credit(t, c))) == 1 else 1 - winner(t, c, coin)
        ),
        "the first click decides: all clicks count": first_click,
        "the last click decides: all clicks count": lambda t, c, coin: first_click(t[::-1], c[::-1], coin),
        "a tie always goes to left: the coin decides it": lambda t, c, coin: winner(t, c, 0),
        "a tie always goes to right: the coin decides it": lambda t, c, coin: winner(t, c, 1),
        "the coin is the wrong way round: left wins a tie if the coin is below 0.5": lambda t, c, coin: winner(
            t, c, 0.25 if coin >= 0.5 else 0.75
        ),
        "left wins a tie if the coin is below 0.5; 0.5 itself is right's": lambda t, c, coin: winner(
            t, c, 0.25 if coin <= 0.5 else 0.75
        ),
        "the clicks are divided by the size of the team: they are counted": share,
        "the larger team wins: clicks decide, not picks": lambda t, c, coin: winner(t, [1] * len(t), coin),
        "the coin decides always: it is for ties only": lambda t, c, coin: int(coin >= 0.5),
    }
    cases = [
        (list(teams), list(clicks), coin)
        for length in (1, 2, 3)
        for teams in itertools.product((0, 1), repeat=length)
        for clicks in itertools.product((0, 1), repeat=length)
        for coin in ((0.25, 0.75) if length < 3 else (0.5,))
        if abs(sum(teams) * 2 - length) <= 1
    ]
    for _ in range(DRAWN):
        length = int(trial.rng.integers(4, 11))
        teams = team_draft(range(length), range(length), length, coins_of(trial, length))[1]
        cases.append((teams, trial.rng.integers(0, 2, length).tolist(), coins_of(trial, 1)[0]))
    trial.compare("winner", winner, cases, mistakes=mistakes)


# -- preferences -----------------------------------------------------------------------------------------------------


def matrix_of(trial: Trial, arms: int, *, ties: bool = True, best: bool = False) -> list[list[float]]:
    """A preference matrix of sixteenths, so that sums are exact; ``best``: with a Condorcet winner."""
    sixteenths = trial.rng.integers(2, 15, (arms, arms))
    if not ties:
        sixteenths = np.where(sixteenths == 8, 11, sixteenths)
    upper = np.triu(sixteenths, 1) / 16
    matrix = upper + np.tril(1 - upper.T, -1) + np.eye(arms) / 2
    if best:
        winner_of_all = int(trial.rng.integers(arms))
        matrix[winner_of_all] = np.maximum(matrix[winner_of_all], 1 - matrix[winner_of_all])
        matrix[winner_of_all] = np.where(matrix[winner_of_all] == 0.5, 0.625, matrix[winner_of_all])
        matrix[:, winner_of_all] = 1 - matrix[winner_of_all]
        matrix[winner_of_all, winner_of_all] = 0.5
    return matrix.tolist()


@check(
    points=2,
    of="winners",
    hints=[
        "For each arm, count how many others it beats. What must this number be for a Condorcet winner?",
        "Row i of the matrix has arm i's chances. P > 1/2 is a win; 1/2 is not, so the diagonal never counts.",
        "beaten = [sum(p > 0.5 for p in row) for row in preference]; the Copeland winner is "
        "beaten.index(max(beaten)), and the Condorcet winner, too, if max(beaten) is K - 1; the Borda winner has the "
        "largest sum of its row.",
    ],
)
def the_best_arm_has_three_meanings(trial: Trial) -> None:
    """Condorcet beats all others, or is None; Copeland beats most; Borda has the largest mean."""

    cases = [
        ([[0.5, 0.75], [0.25, 0.5]],),
        ([[0.5, 0.25], [0.75, 0.5]],),
        ([[0.5, 0.5], [0.5, 0.5]],),
        ([[0.5, 0.625, 0.25], [0.375, 0.5, 0.875], [0.75, 0.125, 0.5]],),
        ([[0.5, 0.625, 0.625], [0.375, 0.5, 1.0], [0.375, 0.0, 0.5]],),
        (HALF_WINS,),
    ]
    for arms, best, _ in itertools.product((3, 4, 5, 6), (False, True), range(6)):
        matrix = matrix_of(trial, arms, best=best)
        while len(tied_for_borda(matrix)) > 1:  # sums of p / (K - 1) are not exact, and would decide as rounding does
            matrix = matrix_of(trial, arms, best=best)
        cases.append((matrix,))
    trial.compare("winners", winners, cases, mistakes=winners_mistakes())


@check(
    points=1,
    of="duel_regret",
    hints=[
        "First compute the gaps of both arms: how much better than 1/2 is the best arm against each of them?",
        "gap = preference[best][arm] - 0.5; average: half of the sum; weak: min; strong: max.",
    ],
)
def regret_is_of_both_arms(trial: Trial) -> None:
    """The average regret is the mean of both arms' gaps, the weak one the smaller gap, the strong one the larger."""
    cases: list[tuple[Any, ...]] = [
        (CYCLIC, 0, left, right, kind)
        for left, right in ((0, 0), (0, 1), (1, 0), (1, 2))
        for kind in ("average", "weak", "strong")
    ]
    for number in range(DRAWN):
        arms = int(trial.rng.integers(3, 7))
        matrix = matrix_of(trial, arms, best=True)
        duel = trial.rng.integers(0, arms, 2).tolist()
        cases.append((matrix, winners(matrix)[0], *duel, ("average", "weak", "strong")[number % 3]))
    trial.compare("duel_regret", duel_regret, cases, mistakes=regret_mistakes())


# -- RUCB ------------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="upper_bounds",
    hints=[
        "n = w_ij + w_ji is the number of duels of the pair; the first part is the share that i has won.",
        "i == j: 0.5. n == 0: math.inf. Otherwise wins[i][j] / n + math.sqrt(alpha * math.log(t) / n).",
    ],
)
def bounds_are_share_plus_radius(trial: Trial) -> None:
    """u_ij is i's share of the duels with j plus sqrt(alpha ln t / n); 1/2 for i = j, infinite if they have not met."""
    cases: list[tuple[Any, int, float]] = [
        ([[0, 0], [0, 0]], 1, 0.5),
        ([[0, 1], [0, 0]], 2, 0.5),
        ([[0, 3], [1, 0]], 5, 0.5),
    ]
    for _ in range(DRAWN):
        arms = int(trial.rng.integers(2, 6))
        wins = trial.rng.integers(0, 10, (arms, arms)) * (trial.rng.random((arms, arms)) < 0.7)
        np.fill_diagonal(wins, 0)
        cases.append((wins.tolist(), int(wins.sum()) + int(trial.rng.integers(1, 9)), coins_of(trial, 1)[0] + 0.05))
    mistakes = wrong_bounds() | {
        "the radius has the number of duels of the pair, w_ij + w_ji, not only those that i has won": radius_of_wins
    }
    trial.compare("upper_bounds", upper_bounds, cases, mistakes=mistakes)


@check(
    points=1,
    of="contenders",
    hints=[
        "An arm is out of C as soon as there is one other arm that it surely does not beat.",
        "Row c has the bounds of c against the others: all of them must be at least 0.5; the diagonal is 0.5.",
    ],
)
def contenders_may_beat_everybody(trial: Trial) -> None:
    """C has the arms whose upper bounds against all arms are at least 1/2."""
    mistakes = {
        "at least 1/2 is enough: with > the diagonal keeps every arm out": lambda u: [],
        "rows and columns are exchanged: c's bounds are in row c": lambda u: contenders(transposed(u)),
        "all bounds must be at least 1/2, not only one of them": lambda u: [
            arm for arm, row in enumerate(u) if max(one for j, one in enumerate(row) if j != arm) >= 0.5
        ],
        "all bounds must be at least 1/2, not their mean": lambda u: [
            arm for arm, row in enumerate(u) if sum(row) / len(row) >= 0.5
        ],
        "at least 1/2 is enough: it need not be more": lambda u: [
            arm for arm, row in enumerate(u) if all(one > 0.5 for j, one in enumerate(row) if j != arm)
        ],
        "these are the arms that are out of C": lambda u: [a for a in range(len(u)) if a not in contenders(u)],
        "this is one arm: return the list of all of them": lambda u: contenders(u)[:1],
        "0 and 1 for each arm: return the arms' numbers": lambda u: [int(a in contenders(u)) for a in range(len(u))],
    }
    cases = [
        ([[0.5, math.inf], [math.inf, 0.5]],),
        ([[0.5, 0.75], [0.25, 0.5]],),
        ([[0.5, 0.25], [0.75, 0.5]],),
        ([[0.5, 0.5], [0.625, 0.5]],),
        ([[0.5, 0.25, 1.5], [1.5, 0.5, 0.25], [0.25, 1.5, 0.5]],),
    ]
    for _ in range(DRAWN):
        arms = int(trial.rng.integers(2, 7))
        wins = trial.rng.integers(0, 30, (arms, arms))
        np.fill_diagonal(wins, 0)
        cases.append((upper_bounds(wins.tolist(), int(wins.sum()) + 1, 0.125),))
    trial.compare("contenders", contenders, cases, mistakes=mistakes)


def users_of(rng: np.random.Generator, preference: Any, rounds: int) -> Any:
    """(rounds, arms, arms) bool: who would win which duel."""
    P = np.array(preference)
    upper = np.triu(rng.random((rounds, *P.shape)) < P)  # with the diagonal
    return (upper | np.tril(~upper.swapaxes(1, 2), -1)).tolist()


def worlds(trial: Trial) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield (RUCB's arguments, its users): how it is played, small plays first."""
    circle = [[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]]
    for preference, alpha, rounds in (
        (matrix_of(trial, 3, ties=False, best=True), 0.51, 300),
        (circle, 0.125, ROUNDS),
        ([[0.5, 0.25], [0.75, 0.5]], 0.51, ROUNDS),
        (CYCLIC, 0.25, ROUNDS),
        (matrix_of(trial, 6), 2.0, ROUNDS),
        (matrix_of(trial, 6, ties=False, best=True), 0.125, ROUNDS),
        (matrix_of(trial, 10, best=True), 0.05, ROUNDS),
    ):
        arguments = {"num_arms": len(preference), "alpha": alpha, "coins": coins_of(trial, rounds, 3)}
        yield arguments, users_of(trial.rng, preference, rounds)
    yield from changing_favourites(trial)


def changing_favourites(trial: Trial) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield users of five arms whose order changes every 250 rounds, so that the favourite changes and is forgotten.

    Draws are taken until each of the agents that forget it at other times, or not at all, has chosen another duel. The
    rarest of them does so in a sixth of the draws; that none of 150 draws is one has a probability of 1e-12.
    """
    arms, rng, unnoticed = np.arange(5), trial.rng, list(FORGETFUL)
    for _ in range(150):
        arguments = {"num_arms": 5, "alpha": 0.125, "coins": coins_of(trial, ROUNDS, 3)}
        wins = []
        for epoch in range(ROUNDS // 250):
            place = (arms - epoch) % 5
            wins += users_of(rng, 0.5 + 0.2 * np.sign(place[None] - place[:, None]), 250)
        right = played_duels(RUCB(**arguments), wins)[0]
        left_over = [wrong for wrong in unnoticed if played_duels(wrong(**arguments), wins, like=right)[0] == right]
        if len(left_over) < len(unnoticed):
            unnoticed = left_over
            yield arguments, wins
        if not unnoticed:
            return


@check(
    points=2,
    of="RUCB",
    hints=[
        "Compare the first round in which your duel is another one: which arms were in C, and who was the favourite?",
        "The favourite is only set when C has exactly one arm. It is forgotten in act(), before the left arm is "
        "chosen, when it is not in C.",
        "chances = [bounds[j][left] for j in arms]: the right arm is picked with the third coin out of all arms whose "
        "chance is max(chances). In update: t += 1 always; one win for the winner if left != right.",
    ],
)
def rucb_chooses_the_same_duels(trial: Trial) -> None:
    """RUCB chooses the right duels for 2,000 rounds, given the same coins and users."""
    settings = [DuelSetting(*world) for world in worlds(trial)]
    trial.expect_play(RUCB, "RUCB", settings, mistakes=WRONG_RUCB)


# -- the picture -----------------------------------------------------------------------------------------------------


def regret(duels: Any, preference: Any) -> Any:
    """The cumulative average regret of duels, best arm 0."""
    gaps = np.array(preference)[0] - 0.5
    return np.cumsum(gaps[np.array(duels)].mean(1))


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the regret of the submission's RUCB beside duels at random, and RUCB without a radius in its bounds."""
    if rucb_chooses_the_same_duels.name not in passed:
        return False
    rng = np.random.default_rng(1)
    rounds, runs = 3_000, 10
    yours, greedy = np.zeros(rounds), np.zeros(rounds)
    for _ in range(runs):
        coins, wins = (rng.integers(0, 1000, (rounds, 3)) / 1000).tolist(), users_of(rng, BORDA_IS_ANOTHER, rounds)
        agent = student.make("RUCB", num_arms=3, alpha=0.51, coins=coins)
        yours += regret(student.play_duels(agent, wins), BORDA_IS_ANOTHER) / runs
        student.drop(agent)
        greedy += regret(played_duels(Means(3, 0.51, coins), wins)[0], BORDA_IS_ANOTHER) / runs
    at_random = np.arange(1, rounds + 1) * (np.array(BORDA_IS_ANOTHER)[0].mean() - 0.5)
    curves = {"yours": yours, "random-duels": at_random, "RUCB without a radius": greedy}
    title = f"P(0, 1) = P(0, 2) = 0.6, P(1, 2) = 1; mean of {runs} runs"
    draw_curves(figure.subplots(), curves, x_label="duel", y_label="cumulative average regret", title=title)
    return True


EXERCISE = Exercise(
    title="Interleaving, and the dueling bandit RUCB",
    handout=HANDOUTS / "07_duels.py",
    checks=(
        captains_draft_in_rounds,
        more_clicks_win,
        the_best_arm_has_three_meanings,
        regret_is_of_both_arms,
        bounds_are_share_plus_radius,
        contenders_may_beat_everybody,
        rucb_chooses_the_same_duels,
    ),
    draw=draw,
)
