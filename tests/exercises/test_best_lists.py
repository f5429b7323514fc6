"""Exercise 2: the right solution has full points, each typical mistake fails at its check, the oracles are right."""

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes, solution

import rankgym  # noqa: F401  (registers the environments)
from rankgym.exercises.topics import best_lists
from rankgym.exercises.topics.best_lists import EXERCISE

CM = "cascade_reward_is_the_probability_of_a_click"
PBM = "pbm_reward_is_the_sum_of_click_probabilities"
MATCH = "pbm_matches_items_to_positions"
DCM = "dcm_reward_is_the_number_of_clicks"
BEST = "dcm_best_list_earns_most"
REGRET = "regret_adds_up_what_was_lost"
PAIRS = "a_pair_is_misordered_if_the_worse_item_is_above"
ALL_LISTS = "rankings = itertools.permutations(range(len(attraction)), len(termination))\n"
STAYS = "examined *= 1 - termination[position] * attraction[item]"
MISTAKES = [
    Mistake("probability of no click", "return 1 - missed", "return missed", CM, "probability of no click"),
    Mistake("product of alpha", "missed *= 1 - attraction", "missed *= attraction", CM, "must be of 1 - alpha"),
    Mistake(
        "sum of attractions",
        "    return 1 - missed",
        "    return sum(attraction[item] for item in ranking)",
        CM,
        "at most one item is clicked",
    ),
    Mistake(
        "hidden items are clicked",
        "for item in ranking:\n        missed",
        "for item in range(len(attraction)):\n        missed",
        CM,
        "not displayed",
    ),
    Mistake(
        "by position",
        "chi * attraction[item] for chi, item in zip(examination, ranking)",
        "chi * alpha for chi, alpha in zip(examination, attraction)",
        PBM,
        "by position",
    ),
    Mistake("no examination", "sum(chi * attraction", "sum(attraction", PBM, "examination is ignored"),
    Mistake(
        "matching inverted",
        "ranking[position] = item\n    return ranking",
        "ranking[position] = item\n    return [items[position] for position in positions]",
        MATCH,
        "the matching is inverted",
    ),
    Mistake(
        "no examination in the list",
        "    ranking = [0] * len(positions)\n",
        "    return items[: len(positions)]\n",
        MATCH,
        "where users look most",
    ),
    Mistake(
        "rising examination", "key=lambda position: -examination", "key=lambda position: examination", MATCH, "least"
    ),
    Mistake(
        "ties the other way round",
        "items = sorted(range(len(attraction)), key=lambda item: -attraction[item])\n    positions",
        "items = sorted(range(len(attraction)), key=lambda item: attraction[item])[::-1]\n    positions",
        MATCH,
        "of equally attractive items the last one comes first",
    ),
    Mistake(
        "ties of positions the other way round",
        "key=lambda position: -examination[position])",
        "key=lambda position: examination[position])[::-1]",
        MATCH,
        "of equally examined positions the last one comes first",
    ),
    Mistake(
        "ties of both the other way round",
        "    ranking = [0] * len(positions)\n",
        "    items = sorted(range(len(attraction)), key=lambda item: attraction[item])[::-1]\n"
        "    positions = sorted(range(len(examination)), key=lambda position: examination[position])[::-1]\n"
        "    ranking = [0] * len(positions)\n",
        MATCH,
        "ties go to the larger number: of equal items, and of equal positions,",
    ),
    Mistake(
        "ties by chance",
        "    ranking = [0] * len(positions)\n",
        "    items.sort(key=lambda item: (-attraction[item], item * 7 % 5))\n    ranking = [0] * len(positions)\n",
        MATCH,
        "ties do not always go to the smaller number",
    ),
    Mistake(
        "ties by argsort",
        "    ranking = [0] * len(positions)\n",
        "    import numpy\n    items = numpy.argsort(attraction)[::-1].tolist()\n    ranking = [0] * len(positions)\n",
        MATCH,
        "ties ",  # which name: whether argsort is stable depends on the processor
    ),
    Mistake(
        "examination by item",
        "sum(chi * attraction[item] for chi, item in zip(examination, ranking))",
        "sum(examination[item] * attraction[item] for item in ranking)",
        PBM,
        "examination is taken by item",
    ),
    Mistake(
        "examination of a position too many",
        "sum(chi * attraction[item] for chi, item in zip(examination, ranking))",
        "sum(examination[k + 1] * attraction[ranking[k]] for k in range(len(ranking)))",
        PBM,
        "Entries are numbered from 0",
    ),
    Mistake(
        "first K items only",
        "items = sorted(range(len(attraction)), key=lambda item: -attraction[item])\n    positions",
        "items = sorted(range(len(examination)), key=lambda item: -attraction[item])\n    positions",
        MATCH,
        "all L items",
    ),
    Mistake("leaves without a click", STAYS, "examined *= 1 - termination[position]", DCM, "without a click"),
    Mistake("cascade model", STAYS, "examined *= 1 - attraction[item]", DCM, "leaves after every click"),
    Mistake("never leaves", STAYS, "pass", DCM, "never leaves"),
    Mistake(
        "v is the probability to stay",
        STAYS,
        "examined *= 1 - (1 - termination[position]) * attraction[item]",
        DCM,
        "the probability to stay",
    ),
    Mistake(
        "own position in the product",
        f"reward += examined * attraction[item]\n        {STAYS}",
        f"{STAYS}\n        reward += examined * attraction[item]",
        DCM,
        "own item",
    ),
    Mistake(
        "sorted by attraction",
        ALL_LISTS,
        "return sorted(range(len(attraction)), key=lambda item: -attraction[item])[: len(termination)]\n",
        BEST,
        "sorted by attraction",
    ),
    Mistake(
        "combinations",
        ALL_LISTS,
        "rankings = itertools.combinations(range(len(attraction)), len(termination))\n",
        BEST,
        "combinations instead of permutations",
    ),
    Mistake(
        "most attractive items only",
        ALL_LISTS,
        "items = sorted(range(len(attraction)), key=lambda item: -attraction[item])\n"
        "    rankings = itertools.permutations(items[: len(termination)])\n",
        BEST,
        "only the K most attractive",
    ),
    Mistake(
        "repeated items",
        ALL_LISTS,
        "rankings = itertools.product(range(len(attraction)), repeat=len(termination))\n",
        BEST,
        "different items",
    ),
    Mistake("worst list", "list(max(rankings", "list(min(rankings", BEST, "min instead of max"),
    Mistake(
        "realised clicks",
        "for ranking in rankings:\n        total += best - cascade_reward(attraction, ranking)",
        "for clicks in all_clicks:\n        total += best - sum(clicks)",
        REGRET,
        "clicks are used",
    ),
    Mistake("not added up", "total += best", "total = best", REGRET, "not added up"),
    Mistake(
        "best of the log",
        "best, total, regret = cascade_reward(attraction, best_list), 0.0, []",
        "best, total, regret = max(cascade_reward(attraction, r) for r in rankings), 0.0, []",
        REGRET,
        "one of the log",
    ),
    Mistake("best list too long", "[:num_positions]", "", REGRET, "all L items"),
    Mistake("wrong sign", "total += best -", "total -= best -", REGRET, "sign"),
    Mistake("mean regret", "regret.append(total)", "regret.append(total / (len(regret) + 1))", REGRET, "mean regret"),
    Mistake("begins with zero", "0.0, []", "0.0, [0.0]", REGRET, "begins with 0"),
    Mistake("no hidden items", "ranking[position + 1 :] + hidden", "ranking[position + 1 :]", PAIRS, "hidden items"),
    Mistake("ties count", "attraction[lower] > attraction", "attraction[lower] >= attraction", PAIRS, "equally"),
    Mistake("well-ordered pairs", "attraction[lower] > attraction", "attraction[lower] < attraction", PAIRS, "well-"),
    Mistake(
        "only neighbours",
        "ranking[position + 1 :] + hidden",
        "ranking[position + 1 : position + 2]",
        PAIRS,
        "neighbours",
    ),
    Mistake(
        "hidden pairs",
        "for position, item in enumerate(ranking):\n        for lower in ranking[position + 1 :] + hidden",
        "ranking = ranking + hidden\n    for position, item in enumerate(ranking):\n        for lower in "
        "ranking[position + 1 :]",
        PAIRS,
        "two hidden items",
    ),
    Mistake(
        "better items above",
        "for lower in ranking[position + 1 :] + hidden",
        "for lower in ranking + hidden",
        PAIRS,
        "all better items are counted, also those that are above",
    ),
    Mistake(
        "better displayed items",
        "for lower in ranking[position + 1 :] + hidden",
        "for lower in ranking",
        PAIRS,
        "better items among the displayed ones",
    ),
    Mistake("all pairs", "if attraction[lower] > attraction[item]", "if True", PAIRS, "all pairs are counted"),
    Mistake(
        "all pairs of unequal items",
        "attraction[lower] > attraction",
        "attraction[lower] != attraction",
        PAIRS,
        "all pairs of unequal items",
    ),
    Mistake(
        "all pairs of displayed items",
        "    count = 0\n",
        "    return len(list(itertools.combinations(ranking, 2)))\n    count = 0\n",
        PAIRS,
        "all pairs of displayed items",
    ),
    Mistake(
        "items, not pairs",
        "                count += 1\n",
        "                count += 1\n                break\n",
        PAIRS,
        "items are counted, not pairs",
    ),
    Mistake(
        "places",
        "    count = 0\n",
        "    best = sorted(range(len(attraction)), key=lambda item: -attraction[item])\n"
        "    return sum(a != b for a, b in zip(ranking, best))\n    count = 0\n",
        PAIRS,
        "positions are counted",
    ),
    Mistake(
        "neighbours of the whole list",
        "    count = 0\n",
        "    pairs = itertools.pairwise(ranking + hidden)\n"
        "    return sum(attraction[b] > attraction[a] for a, b in pairs)\n    count = 0\n",
        PAIRS,
        "hidden items at its end",
    ),
    Mistake(
        "no list", "list(max(rankings", "dcm_reward(attraction, termination, max(rankings", BEST, "return the list"
    ),
    Mistake("no return", "return list(max(rankings", "list(max(rankings", BEST, "nothing is returned"),
    Mistake(
        "iterates over a number", ALL_LISTS, "rankings = list(len(attraction))\n", BEST, "a loop goes over a number"
    ),
    Mistake("compares numbers", "if attraction[lower] > attraction[item]", "if lower > item", PAIRS, "numbers"),
]
WITH_NUMPY = """
from itertools import permutations

import numpy as np


def cascade_reward(attraction, ranking):
    return 1 - np.prod(1 - np.array(attraction)[ranking])


def pbm_reward(attraction, examination, ranking):
    return np.dot(np.array(attraction)[ranking], examination)


def pbm_best_list(attraction, examination):
    ranking = np.zeros(len(examination), dtype=int)
    items = np.argsort(-np.array(attraction), kind="stable")[: len(examination)]
    ranking[np.argsort(-np.array(examination), kind="stable")] = items
    return ranking


def dcm_reward(attraction, termination, ranking):
    alpha = np.array(attraction)[list(ranking)]
    chi = np.cumprod(np.r_[1.0, 1 - np.array(termination) * alpha])[:-1]
    return (chi * alpha).sum()


def dcm_best_list(attraction, termination):
    best, most = None, -1
    for ranking in permutations(reversed(range(len(attraction))), len(termination)):
        reward = dcm_reward(attraction, termination, ranking)
        if reward >= most:
            best, most = ranking, reward
    return best


def cumulative_regret(attraction, rankings, all_clicks):
    best = 1 - np.prod(1 - np.sort(attraction)[::-1][: len(rankings[0])])
    return np.cumsum(best - np.array([cascade_reward(attraction, ranking) for ranking in rankings]))


def misordered_pairs(attraction, ranking):
    alpha = np.array(attraction)
    place = np.full(len(alpha), len(ranking))
    place[ranking] = np.arange(len(ranking))
    return np.sum((place[:, None] < place[None, :]) & (alpha[:, None] < alpha[None, :]))
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


def test_a_solution_with_numpy_has_full_points():
    found = outcomes(EXERCISE, WITH_NUMPY)
    assert {name: outcome.fault for name, outcome in found.items() if outcome.fault} == {}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)


def test_enumeration_is_too_slow_for_the_pbm():
    """The check of 300 items ends it after its time, and says why."""
    slow = """
def pbm_best_list(attraction, examination):
    rankings = itertools.permutations(range(len(attraction)), len(examination))
    best = max(rankings, key=lambda ranking: pbm_reward(attraction, examination, ranking))
    return sorted_again(attraction, examination) if len(attraction) < 300 else list(best)
"""
    source = solution(EXERCISE.name).replace("def pbm_best_list", "def sorted_again") + slow
    fault = outcomes(EXERCISE, source, call_seconds=1.0)[MATCH].fault
    assert fault is not None
    assert "sorting is enough" in fault.mistake


def test_a_wrong_reward_is_named_where_it_misleads():
    source = solution(EXERCISE.name).replace("reward += examined * attraction[item]", "reward += attraction[item]")
    source = source.replace("missed *= 1 - attraction[item]", "missed *= 1 - attraction[item] / 2")
    found = outcomes(EXERCISE, source)
    assert [found[name].fault.begin for name in (BEST, REGRET)] == ["dcm_reward", "cascade_reward"]


def test_an_error_in_an_earlier_function_says_where_it_is():
    source = solution(EXERCISE.name).replace("reward += examined * attraction[item]", "reward += examined * attraction")
    found = outcomes(EXERCISE, source)
    assert found[DCM].fault.mistake.startswith("a whole list is used as a number")
    assert found[BEST].fault.got.endswith(", in dcm_reward, which dcm_best_list uses")
    assert found[BEST].fault.begin == "dcm_reward"
    blank = solution(EXERCISE.name).replace("    reward, examined = 0.0, 1.0", '    raise NotImplementedError("2.4")')
    found = outcomes(EXERCISE, blank)
    assert found[DCM].fault.got == "not written yet"
    assert found[BEST].fault.got == "dcm_reward, which dcm_best_list uses, is not written yet"


# -- the oracles ------------------------------------------------------------------------------------------------------


def measured(env_id, rankings, **parameters):
    """The environment's optimal reward, and each list's expected reward and misordered pairs."""
    env = gym.make(env_id, num_positions=len(rankings[0]), parameters=parameters)
    _, info = env.reset(seed=0)
    optimal = float(info["optimal_reward"])
    infos = [env.step(np.array(ranking))[4] for ranking in rankings]
    return optimal, [(optimal - float(info["regret"]), int(info["misordered"])) for info in infos]


@pytest.mark.parametrize("env_id", ["rankgym/CM-Synthetic-v0", "rankgym/PBM-Synthetic-v0", "rankgym/DCM-Synthetic-v0"])
def test_the_oracles_agree_with_the_environments(env_id):
    attraction, by_position = [0.2, 0.9, 0.8, 0.9, 0.35], [1.0, 0.4, 0.1]
    rankings = [list(ranking) for ranking in itertools.permutations(range(5), 3)]
    if "PBM" in env_id:
        optimal, found = measured(env_id, rankings, attraction=attraction, examination=by_position)
        rewards = [best_lists.pbm_reward(attraction, by_position, ranking) for ranking in rankings]
        best = best_lists.pbm_reward(attraction, by_position, best_lists.pbm_best_list(attraction, by_position))
    elif "DCM" in env_id:
        optimal, found = measured(env_id, rankings, attraction=attraction, termination=by_position)
        rewards = [best_lists.dcm_reward(attraction, by_position, ranking) for ranking in rankings]
        best = best_lists.dcm_reward(attraction, by_position, best_lists.dcm_best_list(attraction, by_position))
    else:
        optimal, found = measured(env_id, rankings, attraction=attraction)
        rewards = [best_lists.cascade_reward(attraction, ranking) for ranking in rankings]
        best = best_lists.best_cascade_reward(attraction, 3)
    assert best == pytest.approx(optimal)
    assert rewards == pytest.approx([reward for reward, _ in found])
    pairs = [best_lists.misordered_pairs(attraction, ranking) for ranking in rankings]
    assert pairs == [misordered for _, misordered in found]


def test_the_dcm_counts_the_clicks_of_every_user():
    """The closed form is the mean of the numbers of clicks over all users: who likes what, and who leaves where."""
    attraction, v, ranking = [0.3, 0.8, 0.6, 0.5], [0.9, 0.3, 0.2], [2, 0, 1]
    mean = 0.0
    for liked, leaves in itertools.product(itertools.product((0, 1), repeat=4), itertools.product((0, 1), repeat=3)):
        chances = [p if yes else 1 - p for p, yes in zip(attraction + v, liked + leaves, strict=True)]
        clicks = 0
        for k, item in enumerate(ranking):
            clicks += liked[item]
            if liked[item] and leaves[k]:
                break
        mean += math.prod(chances) * clicks
    assert best_lists.dcm_reward(attraction, v, ranking) == pytest.approx(mean)


def test_the_pbm_is_sorted_and_the_dcm_is_not():
    rng = np.random.default_rng(3)
    for _ in range(50):
        attraction, chi = rng.random(5).tolist(), rng.random(3).tolist()
        rewards = [best_lists.pbm_reward(attraction, chi, r) for r in itertools.permutations(range(5), 3)]
        best = best_lists.pbm_best_list(attraction, chi)
        assert best_lists.pbm_reward(attraction, chi, best) == pytest.approx(max(rewards))
    for attraction, v in (best_lists.TRAP, best_lists.TOP):
        best = best_lists.dcm_best_list(attraction, v)
        sorted_list = best_lists.by_attraction(attraction)[: len(v)]
        lost = best_lists.dcm_reward(attraction, v, best) - best_lists.dcm_reward(attraction, v, sorted_list)
        assert lost > 0.1
    assert best[0] == 0  # of TOP: the least attractive of the four items is at the top


def test_what_the_handout_says_of_the_dcm():
    """Exchanging neighbours: better first where v rises; the last two never matter; two positions are sorted."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        attraction, v = sorted(rng.random(4).tolist(), reverse=True), sorted(rng.random(4).tolist())
        rewards = {r: best_lists.dcm_reward(attraction, v, r) for r in itertools.permutations(range(4))}
        assert rewards[0, 1, 2, 3] == pytest.approx(max(rewards.values()))
        assert rewards[0, 1, 2, 3] == pytest.approx(rewards[0, 1, 3, 2])
        falling = {r: best_lists.dcm_reward(attraction, v[::-1], r) for r in itertools.permutations(range(4))}
        assert falling[3, 2, 1, 0] == pytest.approx(max(falling.values()))
        two = {r: best_lists.dcm_reward(attraction, v[2:], r) for r in itertools.permutations(range(4), 2)}
        assert two[0, 1] == pytest.approx(max(two.values()))
