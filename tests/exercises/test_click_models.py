"""Exercise 1: the right solution has full points, and each typical mistake fails at its check, named."""

import math

import pytest
from mistakes import Mistake, assert_found, assert_full_points, outcomes, solution

from rankgym.exercises.explaining import meaning
from rankgym.exercises.topics.click_models import EXERCISE
from rankgym.submissions import Limits, Submission

FIRST = "cascade_stops_at_the_first_click"
PBM = "pbm_needs_a_look_and_a_liking"
CHI = "examination_is_that_nothing_above_attracts"
CLICKS = "clicks_are_looks_times_likings"
RATES = "rates_are_means_over_users"
PBM_BODY = """    return [
        int(item_coins[item] < attraction[item] and position_coins[position] < examination[position])
        for position, item in enumerate(ranking)
    ]
"""
PBM_LOOP = """    clicks = [0] * len(ranking)
    for position, item in enumerate(ranking):
        if position_coins[position] >= examination[position]:
            break
        clicks[position] = int(item_coins[item] < attraction[item])
    return clicks
"""
PBM_APPENDS = PBM_LOOP.replace("[0] * len(ranking)", "[]").replace("clicks[position] = int(", "clicks.append(int(")
PBM_APPENDS = PBM_APPENDS.replace("attraction[item])", "attraction[item]))")
USERS = """    for item_coins, position_coins in zip(all_item_coins, all_position_coins):
"""
DRAWS = f"""    import random
{USERS}        item_coins = [random.random() for _ in item_coins]
"""
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
    Mistake("at most", "item_coins[item] < attraction[item]:", "item_coins[item] <= attraction[item]:", FIRST, "<="),
    Mistake("at most, of the item", "attraction[item] and", "attraction[item] + 1e-12 and", PBM, "<= attraction[item]"),
    Mistake(
        "at most, of the position", "] < examination[position]", "] <= examination[position]", PBM, "<= examination"
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
        "list ends at the click",
        "return clicks\n",
        "return clicks[: clicks.index(1) + 1] if 1 in clicks else clicks\n",
        FIRST,
        "the list ends with the click",
    ),
    Mistake(
        "leaves without a click",
        "            break\n",
        "            continue\n        break\n",
        FIRST,
        "leaves at the first item that does not attract",
    ),
    Mistake("returns nothing", "    return clicks\n", "", FIRST, "nothing is returned"),
    Mistake("empty list", "clicks = [0] * len(ranking)\n", "clicks = []\n", FIRST, "begin with [0] * K"),
    Mistake("no enumerate", "item in enumerate(ranking):", "item in ranking:", FIRST, "enumerate(ranking)"),
    Mistake(
        "positions from 1",
        "clicks[position] = 1",
        "clicks[position] = int(item_coins[ranking[position + 1]] >= 0)",
        FIRST,
        "Entries are numbered from 0",
    ),
    Mistake(
        "draws its own coins",
        "    clicks = [0]",
        "    import random\n    item_coins = [random.random() for _ in item_coins]\n    clicks = [0]",
        FIRST,
        "from call to call",
    ),
    Mistake("leaves where it does not look", PBM_BODY, PBM_LOOP, PBM, "leaves at the first position"),
    Mistake("list ends where it does not look", PBM_BODY, PBM_APPENDS, PBM, "list ends where a position"),
    Mistake(
        "examination of the item", "< examination[position]", "< examination[item]", PBM, "examination is taken by item"
    ),
    Mistake(
        "both of the item",
        "position_coins[position] < examination[position]",
        "position_coins[item] < examination[item]",
        PBM,
        "examination and position_coins are taken by item",
    ),
    Mistake(
        "not attracted and not examined",
        "item_coins[item] < attraction[item] and position_coins[position] < ",
        "item_coins[item] > attraction[item] and position_coins[position] > ",
        PBM,
        "wrong way round",
    ),
    Mistake("whole list", "1 - attraction[item]\n", "1 - attraction\n", CHI, "a whole list is used as a number"),
    Mistake(
        "examination by item",
        "[chi * attraction[item] for chi, item in zip(examination, ranking)]",
        "[examination[item] * attraction[item] for item in ranking]",
        CLICKS,
        "by item",
    ),
    Mistake(
        "examination of the cascade model",
        "zip(examination, ranking)]",
        "zip(cascade_examination(attraction, ranking), ranking)]",
        CLICKS,
        "use the argument examination",
    ),
    Mistake(
        "no list",
        "return [chi * attraction[item] for chi, item in zip(examination, ranking)]",
        "return sum(chi * attraction[item] for chi, item in zip(examination, ranking))",
        CLICKS,
        "one probability for each position",
    ),
    Mistake("draws coins of users", USERS, DRAWS, RATES, "no random numbers of your own"),
    Mistake(
        "draws the same coins again",
        USERS,
        DRAWS.replace("import random\n", "import random\n    random.seed(1)\n").replace(
            "item_coins = [", "position_coins = [0.0] * len(position_coins)\n        item_coins = ["
        ),
        RATES,
        "the coins are not used",
    ),
    Mistake(
        "probabilities, not rates",
        "return [count / len(all_item_coins) for count in total]",
        "return click_probabilities(attraction, examination, ranking)",
        RATES,
        "these are probabilities",
    ),
    Mistake(
        "users of the cascade model",
        "clicks = pbm_clicks(attraction, examination, ranking, item_coins, position_coins)",
        "clicks = cascade_clicks(attraction, ranking, item_coins)",
        RATES,
        "the cascade model, not of the PBM",
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


def test_an_earlier_function_that_is_wrong_is_to_be_mended_first():
    """A function that is right but for an earlier one names that one, and no mistake of its own."""
    source = solution(EXERCISE.name).replace("reached *= 1 - attraction[item]", "reached *= 1 - attraction[item] / 2")
    source = source.replace("zip(examination, ranking)]", "zip(cascade_examination(attraction, ranking), ranking)]")
    source = source.replace("int(item_coins[item] < attraction[item] and", "int(item_coins[item] < 0.5 and")
    found = outcomes(EXERCISE, source)
    assert (found[CLICKS].fault.begin, found[CLICKS].fault.mistake) == ("cascade_examination", "")
    assert (found[RATES].fault.begin, found[RATES].fault.mistake) == ("pbm_clicks", "")


def test_the_picture_has_what_passed():
    """Rates of users, and probabilities, of each model whose functions are right."""
    figures = pytest.importorskip("matplotlib.figure")
    names = {check.name for check in EXERCISE.checks}
    expected = {
        (): [],
        (FIRST,): ["yours, CM"],
        (PBM,): ["yours, PBM"],
        (RATES, CLICKS): ["yours, PBM", "yours, PBM, probability"],
        tuple(names): ["yours, CM", "yours, CM, probability", "yours, PBM", "yours, PBM, probability"],
    }
    with Submission(solution(EXERCISE.name), "solution.py", limits=Limits()) as student:
        student.load()
        for passed, curves in expected.items():
            figure = figures.Figure()
            assert EXERCISE.draw(student, frozenset(passed), figure) == bool(curves)
            for axes in figure.axes:
                assert sorted(axes.get_legend_handles_labels()[1]) == curves
                assert "Clicks per user" in axes.get_title()


def with_item(item):
    return item


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("a[3]", "Entries are numbered from 0"),
        ("[][0]", "Entries are numbered from 0"),
        ("a.__setitem__(3, 1)", "begin with [0] * K"),
        ("a[r]", "one item at a time"),
        ("a[0.5]", "a probability is used as the number"),
        ("[k for k, item in r]", "enumerate(ranking)"),
        ("[k for k in 3]", "range(K)"),
        ("r[0][0]", "a single number is used as a list"),
        ("1 - a", "a whole list is used as a number"),
        ("0.5 * a", "a whole list is used as a number"),
        ("0.5 < a", "a whole list is used as a number"),
        ("-a", "a whole list is used as a number"),
        ("range(r)", "a whole list is used as a number"),
        ("math.sqrt(a)", "a whole list is used as a number"),
        ("a(0)", "square ones"),
        ("a.sort()[0]", "returns nothing"),
        ("1 - print()", "returns nothing"),
        ("with_item()", "leave the handout's def lines"),
        ("1 / 0", "divides by 0"),
        ("a + 1", ""),
        ("{}[a]", ""),
        ("undefined", ""),
    ],
)
def test_an_error_is_explained(code, says):
    """What Python says, whatever its version, is understood; other errors speak for themselves."""
    with pytest.raises(Exception) as raised:
        eval(code, {"a": [0.5, 0.25], "r": [1, 0], "with_item": with_item, "math": math})
    found = meaning(f"{raised.type.__name__}: {raised.value}")
    assert says in found if says else not found
