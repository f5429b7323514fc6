"""Exercise 1: simulate the cascade model and the position-based model.

All checks are exact: the coins are arguments. Oracles are the definitions of Craswell et al. (WSDM 2008) and of
Richardson et al. (WWW 2007) in plain Python.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import Failed
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.submissions import Submission

DRAWN = 60  # random cases of each check, after the small ones
REPEATED = 12  # calls with the same arguments, to find random numbers
MANY = 8  # items, and positions, where the coins are changed
USERS = 1_000  # in the picture


def cascade(attraction: Any, ranking: Any, coins: Any) -> list[int]:
    """The CM's user: the first attractive item is clicked, and nothing after it."""
    attracted = [coins[item] < attraction[item] for item in ranking]
    return [int(liked and not any(attracted[:k])) for k, liked in enumerate(attracted)]


def pbm(attraction: Any, examination: Any, ranking: Any, item_coins: Any, position_coins: Any) -> list[int]:
    """The PBM's user: an examined and attractive item is clicked."""
    liked = (item_coins[item] < attraction[item] for item in ranking)
    seen = (coin < chi for coin, chi in zip(position_coins, examination, strict=True))
    return [int(a and b) for a, b in zip(liked, seen, strict=True)]


def examined(attraction: Any, ranking: Any) -> list[float]:
    """chi(R, k) of the CM."""
    chi = [1.0]
    for item in ranking[:-1]:
        chi.append(chi[-1] * (1 - attraction[item]))
    return chi


def cases(trial: Trial) -> Iterator[tuple[list[float], list[int]]]:
    """Yield (attraction, ranking), small ones first."""
    yield [0.5], [0]
    for ranking in itertools.permutations(range(2)):
        yield [0.25, 0.75], list(ranking)
    for ranking in itertools.permutations(range(3), 2):
        yield [0.25, 0.75, 0.5], list(ranking)
    for _ in range(DRAWN):
        items = int(trial.rng.integers(3, 9))
        positions = int(trial.rng.integers(2, items + 1))
        yield numbers(trial, items, 0.1, 0.9), trial.rng.permutation(items)[:positions].tolist()


def numbers(trial: Trial, how_many: int, low: float = 0.0, high: float = 1.0) -> list[float]:
    return trial.rng.uniform(low, high, how_many).round(3).tolist()


def ignores_coins(trial: Trial, function: str, session: Callable[[float], Sequence[Any]]) -> str:
    """Return what is wrong if the answers do not follow from the coins; "" if they seem to.

    ``session(coin)`` returns arguments in which all coins are ``coin``.
    """
    with contextlib.suppress(Failed):
        answers = [trial.call(function, *session(0.0)) for _ in range(REPEATED)]
        if any(answer != answers[0] for answer in answers):
            return (
                "the answer changes from call to call, with the same arguments: use the coins that are given, no "
                "random numbers of your own, and begin anew in each call"
            )
        if trial.call(function, *session(0.999)) == answers[0]:
            return "the coins are not used: the answer is the same with others"
    return ""


@check(
    points=2,
    of="cascade_clicks",
    hints=[
        "Follow the user down the list: what happens at the first attractive item, and what happens after it?",
        "The coin of position k is that of the item there: item_coins[ranking[k]], not item_coins[k].",
        "Make a list of zeros; go through enumerate(ranking); at the first item with item_coins[item] < "
        "attraction[item] set a 1 and leave the loop.",
    ],
)
def cascade_stops_at_the_first_click(trial: Trial) -> None:
    """The CM's user clicks the first attractive item and nothing else."""

    def everything(attraction: Any, ranking: Any, coins: Any) -> list[int]:
        return [int(coins[item] < attraction[item]) for item in ranking]

    def by_position(attraction: Any, ranking: Any, coins: Any) -> list[int]:
        return cascade([attraction[item] for item in ranking], range(len(ranking)), coins)

    def leaves_unattracted(attraction: Any, ranking: Any, coins: Any) -> list[int]:
        attracted = [*everything(attraction, ranking, coins), 0]
        return [int(k < attracted.index(0)) for k in range(len(ranking))]

    def cut(*session: Any) -> list[int]:
        clicks = cascade(*session)
        return clicks[: [*clicks, 1].index(1) + 1]

    def late(*session: Any) -> list[int]:
        first = [*cascade(*session), 1].index(1)
        return [int(click and k <= first + 1) for k, click in enumerate(everything(*session))]

    mistakes = {
        "all attractive items are clicked: the user does not leave after the first click": everything,
        "the comparison is the wrong way round: attracted means coin < attraction": lambda a, r, c: cascade(
            [-x for x in a], r, [-x for x in c]
        ),
        "coin <= attraction: attracted means coin < attraction, so that an attraction of 0 attracts nobody": (
            lambda a, r, c: cascade([x + 1e-9 for x in a], r, c)
        ),
        "one coin serves all items": lambda a, r, c: cascade(a, r, [c[0]] * len(a)),
        "coins are taken by position, not by item": by_position,
        "attraction is taken by position, not by item": lambda a, r, c: cascade(a, range(len(r)), [c[i] for i in r]),
        "the user stops one position late": late,
        "the list ends with the click: it must have 0 or 1 for each position, also those after it": cut,
        "the user leaves at the first item that does not attract them; they leave after a click": leaves_unattracted,
        "the last attractive item is clicked, not the first": lambda a, r, c: cascade(a, r[::-1], c)[::-1],
        "these are the clicked items: return 0 or 1 for each position": lambda a, r, c: [
            item for item, click in zip(r, cascade(a, r, c), strict=True) if click
        ],
    }
    sessions = [
        (attraction, ranking, coins)
        for attraction, ranking in cases(trial)
        for coins in ([0.0] * len(attraction), [0.999] * len(attraction), numbers(trial, len(attraction)))
    ]
    sessions.append(([0.0, 0.5], [0, 1], [0.0, 0.5]))
    trial.compare(
        "cascade_clicks",
        cascade,
        sessions,
        mistakes=mistakes,
        remark=lambda: ignores_coins(
            trial, "cascade_clicks", lambda coin: ([0.5] * MANY, list(range(MANY)), [coin] * MANY)
        ),
    )


def _pbm_mistakes() -> dict[str, Callable[..., Any]]:
    def either(attraction: Any, chi: Any, ranking: Any, coins: Any, looks: Any) -> list[int]:
        return [int(coins[i] < attraction[i] or looks[k] < chi[k]) for k, i in enumerate(ranking)]

    def stops(*session: Any) -> list[int]:
        clicks = pbm(*session)
        return [int(k == clicks.index(1)) for k in range(len(clicks))] if 1 in clicks else clicks

    def cut(attraction: Any, chi: Any, ranking: Any, coins: Any, looks: Any) -> list[int]:
        seen = [int(look < x) for look, x in zip(looks, chi, strict=True)]
        return pbm(attraction, chi, ranking, coins, looks)[: [*seen, 0].index(0)]

    return {
        "coin <= probability: coins below the probability count, so that a probability of 0 is never enough": (
            lambda a, chi, r, c, looks: pbm([x + 1e-9 for x in a], [x + 1e-9 for x in chi], r, c, looks)
        ),
        "item_coins[item] <= attraction[item]: a coin must be below": lambda a, chi, r, c, looks: pbm(
            [x + 1e-9 for x in a], chi, r, c, looks
        ),
        "position_coins[k] <= examination[k]: a coin must be below": lambda a, chi, r, c, looks: pbm(
            a, [x + 1e-9 for x in chi], r, c, looks
        ),
        "examination is ignored": lambda a, chi, r, c, looks: pbm(a, [2] * len(r), r, c, looks),
        "attraction is ignored": lambda a, chi, r, c, looks: pbm([2] * len(a), chi, r, c, looks),
        "one coin serves both: item_coins[item] < attraction * examination": lambda a, chi, r, c, looks: [
            int(c[item] < a[item] * x) for item, x in zip(r, chi, strict=True)
        ],
        "either of the two is enough: it must be both": either,
        "the user leaves after the first click, as in the cascade model": stops,
        "the user leaves at the first position that is not examined: in the PBM they go on to the next one": (
            lambda *session: [*cut(*session), *[0] * len(session[2])][: len(session[2])]
        ),
        "the list ends where a position is not examined: it must have 0 or 1 for each position": cut,
        "examination is taken by item, not by position": lambda a, chi, r, c, looks: pbm(
            a, [chi[item] for item in r], r, c, looks
        ),
        "position_coins is taken by item, not by position": lambda a, chi, r, c, looks: pbm(
            a, chi, r, c, [looks[item] for item in r]
        ),
        "examination and position_coins are taken by item, not by position": lambda a, chi, r, c, looks: pbm(
            a, [chi[item] for item in r], r, c, [looks[item] for item in r]
        ),
        "the comparison is the wrong way round: attracted and examined mean coin < probability": (
            lambda a, chi, r, c, looks: pbm([-x for x in a], [-x for x in chi], r, [-x for x in c], [-x for x in looks])
        ),
        "coins are taken by position, not by item": lambda a, chi, r, c, looks: pbm(
            [a[i] for i in r], chi, range(len(r)), c, looks
        ),
        "one position coin serves all positions": lambda a, chi, r, c, looks: pbm(a, chi, r, c, [looks[0]] * len(r)),
        "one coin serves all items": lambda a, chi, r, c, looks: pbm(a, chi, r, [c[0]] * len(a), looks),
    }


@check(
    points=2,
    of="pbm_clicks",
    hints=[
        "Two things must be true for a click: which?",
        "Attraction belongs to the item (item_coins[item]), examination to the position (position_coins[position]).",
        "int(item_coins[item] < attraction[item] and position_coins[k] < examination[k]) for k, item in "
        "enumerate(ranking).",
    ],
)
def pbm_needs_a_look_and_a_liking(trial: Trial) -> None:
    """The PBM's user clicks exactly what is both examined and attractive, and goes on after a click."""
    small = [([0.5, 0.5], [0.75, 0.25], [1, 0], [0.0, 0.0], looks) for looks in ([0.5, 0.125], [0.5, 0.5])]
    small += [([0.25, 0.75], [1.0, 1.0], [1, 0], [0.5, 0.5], [0.0, 0.0])]
    small += [([0.0, 0.5], [1.0, 1.0], [0, 1], [0.0, 0.0], [0.0, 0.0]), ([0.5], [0.0], [0], [0.0], [0.0])]
    sessions = small + [
        (attraction, numbers(trial, len(ranking), 0.1, 1), ranking, coins, numbers(trial, len(ranking)))
        for attraction, ranking in cases(trial)
        for coins in ([0.0] * len(attraction), numbers(trial, len(attraction)), numbers(trial, len(attraction)))
    ]
    trial.compare(
        "pbm_clicks",
        pbm,
        sessions,
        mistakes=_pbm_mistakes(),
        remark=lambda: ignores_coins(
            trial,
            "pbm_clicks",
            lambda coin: ([0.5] * MANY, [0.5] * MANY, list(range(MANY)), [coin] * MANY, [coin] * MANY),
        ),
    )


@check(
    points=2,
    of="cascade_examination",
    hints=[
        "How probable is it that the user looks at the first position?",
        "A position is examined if none of the items above it was attractive: multiply 1 - alpha over them.",
        "Start with 1.0; for each item append the product so far, then multiply it by 1 - attraction[item].",
    ],
)
def examination_is_that_nothing_above_attracts(trial: Trial) -> None:
    """chi(R, k) is the product of 1 - alpha over the items above position k, 1 at the top."""
    mistakes = {
        "the position's own item is in the product: only those above it belong there": lambda a, r: [
            chi * (1 - a[item]) for chi, item in zip(examined(a, r), r, strict=True)
        ],
        "the product is of alpha: the user goes on if an item does not attract, 1 - alpha": lambda a, r: examined(
            [1 - x for x in a], r
        ),
        "only the item just above counts: all items above must fail to attract": lambda a, r: [
            1.0,
            *(1 - a[item] for item in r[:-1]),
        ],
        "attraction is taken by position, not by item": lambda a, r: examined(a, range(len(r))),
        "these are probabilities of a click, not of a look": lambda a, r: [
            chi * a[item] for chi, item in zip(examined(a, r), r, strict=True)
        ],
    }
    trial.compare("cascade_examination", examined, cases(trial), mistakes=mistakes)


@check(
    points=2,
    of="click_probabilities",
    hints=["A click needs two independent events.", "Multiply examination[k] by attraction[ranking[k]]."],
)
def clicks_are_looks_times_likings(trial: Trial) -> None:
    """Position k is clicked with probability chi(R, k) alpha(R(k)), in the CM as in the PBM."""

    def right(attraction: Any, chi: Any, ranking: Any) -> list[float]:
        return [c * attraction[item] for c, item in zip(chi, ranking, strict=True)]

    mistakes = {
        "attraction is taken by position, not by item": lambda a, chi, r: right(a, chi, range(len(r))),
        "the probabilities are added": lambda a, chi, r: [c + a[item] for c, item in zip(chi, r, strict=True)],
        "attraction alone: not every position is examined": lambda a, chi, r: [a[item] for item in r],
        "examination alone: not every item attracts": lambda a, chi, r: chi,
        "examination is taken by item, not by position": lambda a, chi, r: [chi[item] * a[item] for item in r],
        "examination is that of the cascade model: use the argument examination": lambda a, chi, r: right(
            a, examined(a, r), r
        ),
        "these are added up: return one probability for each position": lambda a, chi, r: sum(right(a, chi, r)),
    }
    arguments = [
        (attraction, chi, ranking)
        for attraction, ranking in cases(trial)
        for chi in (examined(attraction, ranking), numbers(trial, len(ranking), 0.1, 1))
    ]
    trial.compare("click_probabilities", right, arguments, mistakes=mistakes)


@check(
    points=2,
    of="click_rates",
    hints=[
        "Add up the clicks of all users at each position.",
        "Divide by the number of users, len(all_item_coins), not by the number of positions or of clicks.",
    ],
)
def rates_are_means_over_users(trial: Trial) -> None:
    """The rate of a position is the number of its clicks divided by the number of users."""

    def added(sessions: Iterable[list[int]]) -> list[int]:
        return [sum(clicks) for clicks in zip(*sessions, strict=True)]

    def counts(attraction: Any, chi: Any, ranking: Any, coins: Any, looks: Any) -> list[int]:
        return added(pbm(attraction, chi, ranking, a, b) for a, b in zip(coins, looks, strict=True))

    mistakes = {
        "these are numbers of clicks: divide by the number of users": counts,
        "divided by the number of positions, not of users": lambda *them: [n / len(them[2]) for n in counts(*them)],
        "these are shares of all clicks: divide by the number of users": lambda *them: [
            n / sum(counts(*them)) if n else 0.0 for n in counts(*them)
        ],
        "rounded down: // instead of /": lambda *them: [n // len(them[3]) for n in counts(*them)],
        "only the last user counts": lambda *them: pbm(*them[:3], them[3][-1], them[4][-1]),
        "these are probabilities: count the clicks of the users that are given": lambda a, chi, r, coins, looks: [
            x * a[item] for x, item in zip(chi, r, strict=True)
        ],
        "the users are those of the cascade model, not of the PBM": lambda a, chi, r, coins, looks: [
            n / len(coins) for n in added(cascade(a, r, c) for c in coins)
        ],
        "every user has the first user's coins": lambda *them: pbm(*them[:3], them[3][0], them[4][0]),
    }
    arguments: list[Any] = [([0.5], [1.0], [0], [[0.25], [0.75]], [[0.5], [0.5]])]
    arguments += [
        (
            attraction,
            numbers(trial, len(ranking), 0.3, 1),
            ranking,
            [numbers(trial, len(attraction)) for _ in range(users)],
            [numbers(trial, len(ranking)) for _ in range(users)],
        )
        for (attraction, ranking), users in zip(cases(trial), itertools.cycle((1, 2, 7)), strict=False)
    ]
    trial.compare(
        "click_rates",
        lambda *them: [n / len(them[3]) for n in counts(*them)],
        arguments,
        mistakes=mistakes,
        remark=lambda: ignores_coins(
            trial,
            "click_rates",
            lambda coin: ([0.5] * MANY, [0.5] * MANY, list(range(MANY)), [[coin] * MANY] * 9, [[coin] * MANY] * 9),
        ),
    )


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw clicks per user by position, of both models: the submission's sessions and its probabilities."""
    import numpy as np

    rng = np.random.default_rng(1)
    attraction, ranking, chi = [0.3, 0.8, 0.4, 0.6, 0.5], [4, 0, 3, 2, 1], [1.0, 0.8, 0.6, 0.4, 0.2]
    coins, looks = rng.random((USERS, 5)).tolist(), rng.random((USERS, 5)).tolist()
    curves: dict[str, Any] = {}
    if cascade_stops_at_the_first_click.name in passed:
        sessions = [student.call("cascade_clicks", attraction, ranking, own) for own in coins]
        curves["yours, CM"] = np.mean(sessions, axis=0)
    if {examination_is_that_nothing_above_attracts.name, clicks_are_looks_times_likings.name} <= passed:
        seen = student.call("cascade_examination", attraction, ranking)
        curves["yours, CM, probability"] = student.call("click_probabilities", attraction, seen, ranking)
    if rates_are_means_over_users.name in passed:
        curves["yours, PBM"] = student.call("click_rates", attraction, chi, ranking, coins, looks)
    elif pbm_needs_a_look_and_a_liking.name in passed:
        users = zip(coins, looks, strict=True)
        sessions = [student.call("pbm_clicks", attraction, chi, ranking, *own) for own in users]
        curves["yours, PBM"] = np.mean(sessions, axis=0)
    if clicks_are_looks_times_likings.name in passed:
        curves["yours, PBM, probability"] = student.call("click_probabilities", attraction, chi, ranking)
    if not curves:
        return False
    axes = figure.subplots()
    draw_curves(axes, curves, range(5), x_label="position", y_label="clicks per user")
    axes.set_title(f"Clicks per user by position: {USERS:,} users, ranking {ranking}")
    axes.set_xticks(range(5))
    axes.set_ylim(bottom=0)
    return True


EXERCISE = Exercise(
    title="Simulate the cascade model and the position-based model",
    handout=HANDOUTS / "01_click_models.py",
    checks=(
        cascade_stops_at_the_first_click,
        pbm_needs_a_look_and_a_liking,
        examination_is_that_nothing_above_attracts,
        clicks_are_looks_times_likings,
        rates_are_means_over_users,
    ),
    draw=draw,
)
