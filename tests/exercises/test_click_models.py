"""Exercise 1: the right solution has full points, and each typical mistake fails at its check, named."""

import pytest
from mistakes import Mistake, assert_found, assert_full_points

from rankgym.exercises.topics.click_models import EXERCISE

FIRST = "cascade_stops_at_the_first_click"
PBM = "pbm_needs_a_look_and_a_liking"
CHI = "examination_is_that_nothing_above_attracts"
CLICKS = "clicks_are_looks_times_likings"
RATES = "rates_are_means_over_users"
MISTAKES = [
    Mistake("clicks everything", "            break\n", "", FIRST, "does not leave after the first click"),
    Mistake(
        "one coin for the list",
        "item_coins[item] < attraction[item]:",
        "item_coins[0] < attraction[item]:",
        FIRST,
        "one coin serves all",
    ),
    Mistake(
        "coin of the position",
        "item_coins[item] < attraction[item]:",
        "item_coins[position] < attraction[item]:",
        FIRST,
        "by position, not by item",
    ),
    Mistake(
        "wrong way round",
        "item_coins[item] < attraction[item]:",
        "item_coins[item] > attraction[item]:",
        FIRST,
        "wrong way round",
    ),
    Mistake("either is enough", "attraction[item] and position", "attraction[item] or position", PBM, "must be both"),
    Mistake("one position coin", "position_coins[position] <", "position_coins[0] <", PBM, "one position coin"),
    Mistake(
        "own item in the product",
        "        examination.append(reached)\n        reached *= 1 - attraction[item]",
        "        reached *= 1 - attraction[item]\n        examination.append(reached)",
        CHI,
        "own item",
    ),
    Mistake("product of alpha", "reached *= 1 - attraction", "reached *= attraction", CHI, "product is of alpha"),
    Mistake("sum of probabilities", "chi * attraction", "chi + attraction", CLICKS, "added"),
    Mistake(
        "by position",
        "[chi * attraction[item] for chi, item in zip(examination, ranking)]",
        "[a * b for a, b in zip(examination, attraction)]",
        CLICKS,
        "by position",
    ),
    Mistake(
        "counts, not rates",
        "return [count / len(all_item_coins) for count in total]",
        "return total",
        RATES,
        "divide by the number of users",
    ),
    Mistake(
        "divides by positions", "count / len(all_item_coins)", "count / len(ranking)", RATES, "positions, not of users"
    ),
    Mistake(
        "returns items",
        "return clicks\n",
        "return [i for i, c in zip(ranking, clicks) if c]\n",
        FIRST,
        "these are the clicked items",
    ),
    Mistake(
        "changes its argument",
        "clicks = [0] * len(ranking)\n    for position, item",
        "clicks = [0] * len(ranking)\n    ranking.pop()\n    for position, item",
        FIRST,
        "",
    ),
]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_right_solution_has_full_points(seed):
    assert_full_points(EXERCISE, seed)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake):
    assert_found(EXERCISE, mistake)
