"""Exercise 2: expected rewards, best lists, regret and misordered pairs.

All checks are exact. The CM's reward is that of Kveton et al. (ICML 2015, section 2), the PBM's and its best list those
of Lagree et al. (NIPS 2016, section 2); the DCM is Guo et al.'s (WSDM 2009), with expected clicks as its reward, and a
misordered pair is BubbleRank's (Li et al., UAI 2019, equation 5), with hidden items below all displayed ones. Best
lists of the DCM are found by enumeration.
"""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankgym.exercises.exercise import Exercise, Trial, check
from rankgym.exercises.faults import Failed, called, same, shown
from rankgym.exercises.handouts import HANDOUTS
from rankgym.exercises.pictures import draw_curves
from rankgym.exercises.playing import is_ranking
from rankgym.exercises.topics.click_models import cascade, cases, numbers
from rankgym.exercises.topics.misordered import lists_with_ties, misordered_pairs, pair_mistakes
from rankgym.submissions import Submission

LAST = "the last one comes first, as in sorted(...)[::-1] or argsort(...)[::-1]"
TIES = (
    "these lists are as good, but ties do not always go to the smaller number. [::-1] turns equal elements around, and "
    'argsort keeps their order only with kind="stable"'
)
MANY = (300, 30)  # items and positions, too many to enumerate the lists
TRAP = ([0.9, 0.6, 0.5], [0.9, 0.3, 0.1])  # the picture's DCM: the list sorted by attraction is not best
TOP = ([0.2, 0.9, 0.8, 0.9], [1.0, 0.1, 0.0])  # and here the least attractive item belongs at the top


# -- oracles ----------------------------------------------------------------------------------------------------------


def cascade_reward(attraction: Any, ranking: Any) -> float:
    """Probability of a click in the CM."""
    return 1 - math.prod(1 - attraction[item] for item in ranking)


def pbm_reward(attraction: Any, examination: Any, ranking: Any) -> float:
    """Expected clicks in the PBM."""
    return math.fsum(chi * attraction[item] for chi, item in zip(examination, ranking, strict=True))


def dcm_reward(attraction: Any, termination: Any, ranking: Any) -> float:
    """Expected clicks in the DCM: the sum of chi(R, k) alpha(R(k))."""
    return _walk(attraction, termination, ranking, lambda alpha, v: 1 - v * alpha)


def _walk(attraction: Any, termination: Any, ranking: Any, stays: Callable[[float, float], float]) -> float:
    """Expected clicks of a user who goes on to the next position with probability ``stays(alpha, v)``."""
    examined, total = 1.0, 0.0
    for item, v in zip(ranking, termination, strict=True):
        total += examined * attraction[item]
        examined *= stays(attraction[item], v)
    return total


def by_attraction(attraction: Any) -> list[int]:
    """All items, the most attractive first; of equal ones the smaller number first."""
    return sorted(range(len(attraction)), key=lambda item: -attraction[item])


def pbm_best_list(attraction: Any, examination: Any) -> list[int]:
    """The j-th most attractive item at the j-th most examined position."""
    positions = by_attraction(examination)
    ranking = [0] * len(positions)
    for item, position in zip(by_attraction(attraction), positions, strict=False):
        ranking[position] = item
    return ranking


def dcm_best_list(attraction: Any, termination: Any) -> list[int]:
    """A best list, by enumeration."""
    return best_of(itertools.permutations(range(len(attraction)), len(termination)), attraction, termination)


def best_of(rankings: Any, attraction: Any, termination: Any) -> list[int]:
    """The list with the most expected clicks in the DCM."""
    return list(max(rankings, key=lambda ranking: dcm_reward(attraction, termination, ranking)))


def best_cascade_reward(attraction: Any, positions: int) -> float:
    return cascade_reward(attraction, by_attraction(attraction)[:positions])


def cumulative_regret(attraction: Any, rankings: Any, all_clicks: Any = ()) -> list[float]:
    """Regret of all rounds up to each one, in the CM."""
    best = best_cascade_reward(attraction, len(rankings[0]))
    return list(itertools.accumulate(best - cascade_reward(attraction, ranking) for ranking in rankings))


# -- checks -----------------------------------------------------------------------------------------------------------


@check(
    points=1,
    of="cascade_reward",
    hints=[
        "The user of the cascade model clicks at most once. When does nothing at all get clicked?",
        "Nothing is clicked if every displayed item fails to attract: multiply 1 - alpha over the ranking.",
        "Start with missed = 1.0; for each item of the ranking missed *= 1 - attraction[item]; return 1 - missed.",
    ],
)
def cascade_reward_is_the_probability_of_a_click(trial: Trial) -> None:
    """In the CM the expected reward is the probability that some displayed item attracts."""
    mistakes = {
        "attractions are added: at most one item is clicked": lambda a, r: sum(a[item] for item in r),
        "this is the probability of no click: subtract it from 1": lambda a, r: 1 - cascade_reward(a, r),
        "the product is of alpha; it must be of 1 - alpha": lambda a, r: 1 - math.prod(a[item] for item in r),
        "this is the probability that all items attract": lambda a, r: math.prod(a[item] for item in r),
        "all items are used, also those that are not displayed": lambda a, r: cascade_reward(a, range(len(a))),
        "attraction is taken by position, not by item": lambda a, r: cascade_reward(a, range(len(r))),
        "the last position is left out": lambda a, r: cascade_reward(a, r[:-1]),
        "the first position is left out": lambda a, r: cascade_reward(a, r[1:]),
        "only the last position's click is counted, not a click at any position": lambda a, r: (
            (1 - cascade_reward(a, r[:-1])) * a[r[-1]]
        ),
    }
    trial.compare("cascade_reward", cascade_reward, cases(trial), mistakes=mistakes)


@check(
    points=1,
    of="pbm_reward",
    hints=[
        "The expected number of clicks is the sum of the positions' click probabilities.",
        "Position k contributes examination[k] * attraction[ranking[k]].",
    ],
)
def pbm_reward_is_the_sum_of_click_probabilities(trial: Trial) -> None:
    """In the PBM the expected reward is the sum of chi(k) alpha(R(k))."""

    def any_click(attraction: Any, chi: Any, ranking: Any) -> float:
        return 1 - math.prod(1 - c * attraction[item] for c, item in zip(chi, ranking, strict=True))

    mistakes = {
        "examination is ignored": lambda a, chi, r: sum(a[item] for item in r),
        "attraction is taken by position, not by item": lambda a, chi, r: pbm_reward(a, chi, range(len(r))),
        "examination is taken by item, not by position": lambda a, chi, r: sum(chi[item] * a[item] for item in r),
        "this is the probability of a click: in the PBM every click counts": any_click,
        "this is the mean over positions: the reward is the sum": lambda a, chi, r: pbm_reward(a, chi, r) / len(r),
        "these are the positions' probabilities: add them up": lambda a, chi, r: [
            c * a[item] for c, item in zip(chi, r, strict=True)
        ],
        "the last position is left out": lambda a, chi, r: pbm_reward(a, chi[:-1], r[:-1]),
        "the first position is left out": lambda a, chi, r: pbm_reward(a, chi[1:], r[1:]),
        "probabilities are added where they should be multiplied": lambda a, chi, r: (
            sum(chi) + sum(a[item] for item in r)
        ),
    }
    arguments = [(a, numbers(trial, len(r), 0.1, 1), r) for a, r in cases(trial)]
    trial.compare("pbm_reward", pbm_reward, arguments, mistakes=mistakes)


def pbm_instances(trial: Trial) -> Iterator[tuple[list[float], list[float]]]:
    """Yield (attraction, examination), small ones first; some have ties, and examination may rise."""
    yield [0.5], [0.5]
    yield [0.25, 0.75], [1.0]
    yield [0.25, 0.75], [1.0, 0.5]
    yield [0.25, 0.75], [0.5, 1.0]
    yield [0.5, 0.5], [0.5, 1.0]
    yield [0.25, 0.75], [0.5, 0.5]
    yield from (([0.1, 0.4, 0.2, 0.3], list(chi)) for chi in itertools.permutations([0.2, 0.6, 1.0]))
    for _ in range(60):
        items = int(trial.rng.integers(2, 9))
        positions = int(trial.rng.integers(1, items + 1))
        yield tuple((trial.rng.integers(1, 10, size) / 10).tolist() for size in (items, positions))


def _pbm_list_mistakes() -> dict[str, Callable[..., Any]]:
    def inverted(attraction: Any, chi: Any) -> list[int]:
        items = by_attraction(attraction)
        return [items[position] for position in by_attraction(chi)]

    def rising(values: Any) -> list[float]:
        return [-x for x in values]

    def last_first(attraction: Any, chi: Any) -> list[int]:
        items = len(attraction)
        return [items - 1 - item for item in pbm_best_list(attraction[::-1], chi)]

    def low_first(attraction: Any, chi: Any) -> list[int]:
        return pbm_best_list(attraction, chi[::-1])[::-1]

    def both_last(attraction: Any, chi: Any) -> list[int]:
        return last_first(attraction, chi[::-1])[::-1]

    return {
        "examination is ignored: the best item belongs where users look most": lambda a, chi: by_attraction(a)[
            : len(chi)
        ],
        "the matching is inverted: order[j] is where the j-th best item belongs, not what position j gets": inverted,
        "the least attractive items are displayed": lambda a, chi: pbm_best_list(rising(a), chi),
        "the best item is where users look least": lambda a, chi: pbm_best_list(a, rising(chi)),
        "only items 0 .. K - 1 are displayed: all L items are to be sorted": lambda a, chi: pbm_best_list(
            a[: len(chi)], chi
        ),
        f"ties go to the larger number: of equally attractive items {LAST}": last_first,
        f"ties go to the larger number: of equally examined positions {LAST}": low_first,
        f"ties go to the larger number: of equal items, and of equal positions, {LAST}": both_last,
        "these are attractions: return the items": lambda a, chi: [a[item] for item in pbm_best_list(a, chi)],
    }


@check(
    points=2,
    of="pbm_best_list",
    hints=[
        "Where does the most attractive item earn most? Where the second one?",
        "Sort the items by attraction and the positions by examination, both from the largest; the j-th item belongs "
        "at the j-th of these positions. Python's sort keeps the order of equal elements.",
        "positions = sorted(range(K), key=lambda k: -examination[k]), items likewise; then for item, position in "
        "zip(items, positions): ranking[position] = item.",
    ],
)
def pbm_matches_items_to_positions(trial: Trial) -> None:
    """The PBM's best list has the j-th most attractive item at the j-th most examined position."""
    instances = list(pbm_instances(trial))

    def only_ties() -> str:
        with contextlib.suppress(Failed):
            for attraction, chi in instances:
                got, best = trial.call("pbm_best_list", attraction, chi), pbm_best_list(attraction, chi)
                rewards = [
                    pbm_reward(attraction, chi, one)
                    for one in (got, best)
                    if is_ranking(one, len(attraction), len(chi))
                ]
                if len(rewards) < 2 or not same(*rewards):
                    return ""
            return TIES
        return ""

    trial.compare("pbm_best_list", pbm_best_list, instances, mistakes=_pbm_list_mistakes(), remark=only_ties)
    items, positions = MANY
    large = trial.rng.permutation(items) / items, trial.rng.permutation(positions) / positions
    try:
        trial.compare("pbm_best_list", pbm_best_list, [large])
    except Failed as failed:
        slow = "no answer within" in failed.fault.got
        why = "all lists are tried: sorting is enough, and quick" if slow else ""
        raise Failed(failed.fault._replace(mistake=why)) from None


@check(
    points=1,
    of="dcm_reward",
    hints=[
        "Follow the user down the list: how probable is a look at position k, and how probable a click there?",
        "A user who looks at position k leaves there after a click, and then only with probability v(k): together "
        "with probability v(k) alpha(R(k)).",
        "Keep examined (1.0 at first) and total; at each position add examined * alpha to total, then multiply "
        "examined by 1 - termination[k] * alpha.",
    ],
)
def dcm_reward_is_the_number_of_clicks(trial: Trial) -> None:
    """In the DCM the expected reward is the sum of chi(R, k) alpha(R(k)), where a user leaves only after a click."""

    def own_position(attraction: Any, v: Any, ranking: Any) -> float:
        chi, total = 1.0, 0.0
        for item, leaves in zip(ranking, v, strict=True):
            chi *= 1 - leaves * attraction[item]
            total += chi * attraction[item]
        return total

    mistakes = {
        "the user leaves after every click, as in the cascade model": lambda a, v, r: cascade_reward(a, r),
        "the user never leaves: termination is ignored": lambda a, v, r: sum(a[item] for item in r),
        "the user leaves without a click: termination needs one, v(k) alpha": lambda a, v, r: _walk(
            a, v, r, lambda alpha, leaves: 1 - leaves
        ),
        "the user leaves where there is no click; only a click ends a session": lambda a, v, r: _walk(
            a, v, r, lambda alpha, leaves: 1 - leaves * (1 - alpha)
        ),
        "v(k) is used as the probability to stay; it is that to leave": lambda a, v, r: _walk(
            a, v, r, lambda alpha, leaves: 1 - (1 - leaves) * alpha
        ),
        "the user goes on only if there is no click, and then may still leave": lambda a, v, r: _walk(
            a, v, r, lambda alpha, leaves: (1 - alpha) * (1 - leaves)
        ),
        "the user goes on only after a click; without one a user always goes on": lambda a, v, r: _walk(
            a, v, r, lambda alpha, leaves: alpha * (1 - leaves)
        ),
        "examination has the position's own item in it: only those above belong there": own_position,
        "examination has only the position just above in it: all above count": lambda a, v, r: sum(
            a[item] * (1 - v[k - 1] * a[r[k - 1]] if k else 1.0) for k, item in enumerate(r)
        ),
        "this is the probability of leaving after a click: count all clicks": lambda a, v, r: (
            1 - math.prod(1 - leaves * a[item] for leaves, item in zip(v, r, strict=True))
        ),
        "attraction is taken by position, not by item": lambda a, v, r: dcm_reward(a, v, range(len(r))),
        "termination is that of the position below: v(k + 1) instead of v(k)": lambda a, v, r: dcm_reward(
            a, [*v[1:], 0.0], r
        ),
    }
    arguments = [(a, numbers(trial, len(r), 0.1, 0.9), r) for a, r in cases(trial)]
    trial.compare("dcm_reward", dcm_reward, arguments, mistakes=mistakes)


def dcm_instances(trial: Trial) -> Iterator[tuple[list[float], list[float]]]:
    """Yield (attraction, termination), small ones first, with few enough lists to try all."""
    yield [0.25, 0.75], [0.5]
    yield [0.5, 0.25, 0.75], [0.5, 0.5]
    yield TRAP
    yield TOP
    for items, positions in ((3, 3), (4, 3), (5, 3), (4, 4), (5, 4)) * 4:
        falling = sorted(numbers(trial, positions, 0.0, 1.0), reverse=True)
        yield numbers(trial, items, 0.1, 0.95), falling
        yield numbers(trial, items, 0.1, 0.95), numbers(trial, positions, 0.0, 1.0)


@check(
    points=2,
    of="dcm_best_list",
    hints=[
        "Do not sort. Try all lists of K different items, in every order.",
        "itertools.permutations(range(L), K) yields them all; K is the length of termination.",
        "max(itertools.permutations(range(len(attraction)), len(termination)), key=...), with dcm_reward in the key; "
        "return it as a list.",
    ],
)
def dcm_best_list_earns_most(trial: Trial) -> None:
    """No list has more expected clicks in the DCM than dcm_best_list, which need not be sorted by attraction."""
    wrong: dict[str, Callable[[Any, Any], Sequence[int]]] = {
        "the list is sorted by attraction, which is not always best": lambda a, v: by_attraction(a)[: len(v)],
        "only the K most attractive items are tried: others may be better": lambda a, v: best_of(
            itertools.permutations(by_attraction(a)[: len(v)]), a, v
        ),
        "only items 0 .. K - 1 are tried": lambda a, v: best_of(itertools.permutations(range(len(v))), a, v),
        "only one order of each set of items is tried: combinations instead of permutations": lambda a, v: best_of(
            itertools.combinations(range(len(a)), len(v)), a, v
        ),
        "this is the worst list: min instead of max": lambda a, v: min(
            itertools.permutations(range(len(a)), len(v)), key=lambda ranking: dcm_reward(a, v, ranking)
        ),
        "the items are matched to positions by termination, largest to largest": pbm_best_list,
        "the items are matched to positions by termination, largest to smallest": lambda a, v: pbm_best_list(
            a, [-x for x in v]
        ),
        "the list is sorted by attraction, the least attractive item first": lambda a, v: by_attraction(a)[: len(v)][
            ::-1
        ],
    }
    failed: tuple[list[float], list[float], list[int]] | None = None
    for attraction, v in dcm_instances(trial):
        got = trial.call("dcm_best_list", attraction, v)
        best = dcm_best_list(attraction, v)
        if not is_ranking(got, len(attraction), len(v)):
            call = called("dcm_best_list", [attraction, v])
            number = "this is a number, perhaps the largest reward: return the list that has it"
            mistake = number if isinstance(got, float) else ""
            trial.fail("dcm_best_list", call, f"a list of {len(v)} different items, such as {best}", got, mistake)
        reward = dcm_reward(attraction, v, got)
        # Several lists may be best (the last two items can always be exchanged), so it is rewards that are compared.
        wrong = {why: of for why, of in wrong.items() if same(reward, dcm_reward(attraction, v, of(attraction, v)))}
        if failed is None and not same(reward, dcm_reward(attraction, v, best)):
            failed = attraction, v, got
    if failed:
        attraction, v, got = failed
        best, reward = dcm_best_list(attraction, v), dcm_reward(attraction, v, got)
        trial.fail(
            "dcm_best_list",
            called("dcm_best_list", [attraction, v]),
            f"a list with {shown(dcm_reward(attraction, v, best))} expected clicks, such as {best}",
            f"{got}, which has {shown(reward)}",
            next(iter(wrong), ""),
        )


def logs(trial: Trial) -> Iterator[tuple[list[float], list[list[int]], list[list[int]]]]:
    """Yield (attraction, rankings, clicks) of the CM, short ones first."""
    yield [0.25, 0.75], [[0]], [[0]]
    yield [0.25, 0.75], [[0]], [[1]]
    yield [0.25, 0.75], [[0], [1]], [[0], [1]]
    yield [0.25, 0.75, 0.5], [[0, 2], [0, 2], [2, 1]], [[0, 1], [0, 0], [0, 0]]
    for items, positions, rounds in ((3, 2, 2), (4, 2, 3), (5, 3, 5), (6, 3, 10), (8, 4, 200)) * 4:
        attraction = numbers(trial, items, 0.1, 0.9)
        rankings = [trial.rng.permutation(items)[:positions].tolist() for _ in range(rounds)]
        yield attraction, rankings, [cascade(attraction, ranking, numbers(trial, items)) for ranking in rankings]


def _regret_mistakes() -> dict[str, Callable[..., Any]]:
    def against(best: Callable[[Any, Any], float], earned: Callable[[Any, Any, Any], float]) -> Callable[..., Any]:
        """Cumulative regret with another best reward, or another reward of a round."""

        def regret(attraction: Any, rankings: Any, all_clicks: Any) -> list[float]:
            rounds = zip(rankings, all_clicks, strict=True)
            most = best(attraction, rankings)
            return list(itertools.accumulate(most - earned(attraction, *one) for one in rounds))

        return regret

    def best(attraction: Any, rankings: Any) -> float:
        return best_cascade_reward(attraction, len(rankings[0]))

    def expected(attraction: Any, ranking: Any, clicks: Any) -> float:
        return cascade_reward(attraction, ranking)

    def each(attraction: Any, rankings: Any, all_clicks: Any) -> list[float]:
        return [best(attraction, rankings) - cascade_reward(attraction, ranking) for ranking in rankings]

    return {
        "clicks are used in place of expected rewards": against(best, lambda a, r, clicks: sum(clicks)),
        "the best list is one of the log, not of all lists": against(
            lambda a, rankings: max(cascade_reward(a, r) for r in rankings), expected
        ),
        "the best list has all L items: it has K, as the displayed ones": against(
            lambda a, rankings: cascade_reward(a, range(len(a))), expected
        ),
        "the best list is taken to be items 0 .. K - 1": against(
            lambda a, rankings: cascade_reward(a, range(len(rankings[0]))), expected
        ),
        "the best list has reward 1": against(lambda a, rankings: 1.0, expected),
        "regret of each round, not added up over rounds": each,
        "the sign is wrong: best minus displayed": lambda *them: [-x for x in cumulative_regret(*them)],
        "this is the last round's regret only: one number for each round": lambda *them: cumulative_regret(*them)[-1],
        "the list begins with 0: its first entry is the regret of the first round": lambda *them: [
            0.0,
            *cumulative_regret(*them),
        ],
        "each entry leaves out its own round": lambda *them: [0.0, *cumulative_regret(*them)[:-1]],
        "this is the mean regret a round: add up, do not divide": lambda *them: [
            x / (t + 1) for t, x in enumerate(cumulative_regret(*them))
        ],
        "the reward is the sum of attractions, not the probability of a click": against(
            lambda a, rankings: sum(a[item] for item in by_attraction(a)[: len(rankings[0])]),
            lambda a, r, clicks: sum(a[item] for item in r),
        ),
        "this is the expected reward: subtract it from the best list's": lambda a, rankings, c: list(
            itertools.accumulate(cascade_reward(a, r) for r in rankings)
        ),
    }


@check(
    points=2,
    of="cumulative_regret",
    hints=[
        "What would the best list have earned in each round, on average over all users? And the displayed one?",
        "Regret compares expected rewards, so the clicks are not needed. The best list of the CM has the K most "
        "attractive of all L items.",
        "best = cascade_reward(attraction, the K most attractive items); in each round add "
        "best - cascade_reward(attraction, ranking) to a running total, and append the total.",
    ],
)
def regret_adds_up_what_was_lost(trial: Trial) -> None:
    """Regret adds up, over the rounds so far, the best list's expected reward less that of the displayed list."""
    trial.compare("cumulative_regret", cumulative_regret, logs(trial), mistakes=_regret_mistakes())


@check(
    points=1,
    of="misordered_pairs",
    hints=[
        "Go through the displayed items. Which items should be above each of them and are not?",
        "Items that are below it in the ranking, and all hidden items, count if they are strictly more attractive.",
        "below = ranking[k + 1:] + [item for item in range(L) if item not in ranking]; count those with a larger "
        "attraction than ranking[k], for every k.",
    ],
)
def a_pair_is_misordered_if_the_worse_item_is_above(trial: Trial) -> None:
    """|V(R)| counts the pairs whose less attractive item is above; hidden items are below all displayed ones."""
    trial.compare("misordered_pairs", misordered_pairs, lists_with_ties(trial), mistakes=pair_mistakes())


# -- the picture ------------------------------------------------------------------------------------------------------


def draw(student: Submission, passed: frozenset[str], figure: Any) -> bool:
    """Draw the submission's regret of three rankers' lists: random ones, a fixed one, and those of CascadeUCB1."""
    if regret_adds_up_what_was_lost.name not in passed:
        return False
    import numpy as np

    from rankgym_agents import CascadeUCB1

    rng, rounds = np.random.default_rng(2), 2_000
    attraction, positions = [0.1, 0.45, 0.2, 0.4, 0.15, 0.5, 0.05, 0.3], 3
    coins = rng.random((rounds, len(attraction)))
    agent = CascadeUCB1(num_items=len(attraction), num_positions=positions, seed=1)
    learned = []
    for users in coins:
        displayed = agent.act()
        learned.append(displayed[0].tolist())
        agent.update(displayed, np.array([cascade(attraction, learned[-1], users)]))
    lists = {
        "random lists": [rng.permutation(len(attraction))[:positions].tolist() for _ in coins],
        "always the same list": [[3, 7, 2]] * rounds,
        "CascadeUCB1's lists": learned,
    }
    curves: dict[str, Any] = {}
    for name, rankings in lists.items():
        clicks = [cascade(attraction, ranking, users) for ranking, users in zip(rankings, coins, strict=True)]
        curves[f"yours, {name}"] = student.call("cumulative_regret", attraction, rankings, clicks)
    best = best_cascade_reward(attraction, positions)
    curves["best list's reward less clicks, CascadeUCB1"] = np.cumsum([best - sum(clicked) for clicked in clicks])
    draw_curves(figure.subplots(), curves)
    return True


EXERCISE = Exercise(
    title="Best lists and regret",
    handout=HANDOUTS / "02_best_lists.py",
    checks=(
        cascade_reward_is_the_probability_of_a_click,
        pbm_reward_is_the_sum_of_click_probabilities,
        pbm_matches_items_to_positions,
        dcm_reward_is_the_number_of_clicks,
        dcm_best_list_earns_most,
        regret_adds_up_what_was_lost,
        a_pair_is_misordered_if_the_worse_item_is_above,
    ),
    draw=draw,
)
