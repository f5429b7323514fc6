"""``check_model`` passes every click model of the table and a plain one, and finds each broken one by its rule."""

import pytest
import trust_bias
from broken_models import BROKEN, GOOD

from rankgym.conformance import ModelError, check_model, parametrize_with_checks
from rankgym.conformance.models import RULES
from rankgym.models import MODELS

EACH = [(rule, number) for rule, models in BROKEN.items() for number in range(len(models))]


@parametrize_with_checks(MODELS)
def test_every_model_keeps_the_contract(check):
    check()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_the_contract_with_other_sizes(name):
    check_model(name, num_items=7, num_positions=4, sessions=20_000, seed=5)
    check_model(MODELS[name], num_items=2, num_positions=1, sessions=4_000, seed=2**40)


def test_a_model_of_plain_functions_keeps_the_contract():
    check_model(GOOD)


@pytest.mark.parametrize("seed", range(3))
def test_clicks_without_attraction_are_allowed_if_the_model_says_how_probable_they_are(seed):
    check_model(trust_bias.MODEL, seed=seed, sessions=20_000)


def test_a_click_without_attraction_that_is_not_said_is_explained():
    with pytest.raises(ModelError, match="if users also click what does not attract them, give the model clicks"):
        check_model(trust_bias.UNSAID)


@pytest.mark.parametrize(("rule", "number"), EACH)
def test_a_mistake_is_found_by_its_rule(rule, number):
    with pytest.raises(ModelError) as error:
        check_model(BROKEN[rule][number])
    assert list(error.value.broken) == [rule]
    text = str(error.value)
    assert f"rule {rule!r}" in text.splitlines()[0]
    assert "; expected: " in text.splitlines()[0]
    assert len(text.splitlines()) == 1 + len(
        set(error.value.skipped.values())
    )  # rules skipped for one reason share a line


def test_every_rule_is_broken_by_a_model():
    assert set(BROKEN) == set(RULES)


def test_all_broken_rules_are_reported():
    mixed = GOOD._replace(examine=MODELS["DCM"].examine)
    reward = mixed.rewards["clicks"]._replace(best_lists=lambda p, k, cutoff: MODELS["CM"].nothing)
    with pytest.raises(ModelError) as error:
        check_model(mixed._replace(rewards={"clicks": reward}))
    assert list(error.value.broken) == ["examine", "best lists"]
    assert error.value.broken["best lists"].seen.startswith("AttributeError")


def test_a_function_that_fails_is_reported_with_its_error():
    def value(*arguments):
        raise RuntimeError("no value today")

    reward = GOOD.rewards["clicks"]._replace(value=value)
    with pytest.raises(
        ModelError, match=r"rule 'outputs' \(6 items, 3 positions\): RuntimeError in .*, line .*: no value today"
    ):
        check_model(GOOD._replace(rewards={"clicks": reward}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "XBM"}, "model = 'XBM' is unknown"),
        ({"num_items": 9}, r"num_items = 9 is out of range; allowed: a whole number in 2 \.\. 8"),
        ({"num_positions": 6}, r"num_positions = 6 is out of range; allowed: a whole number in 1 \.\. 5"),
        ({"sessions": 10}, "sessions = 10 is out of range; allowed: a whole number, at least 1000"),
        ({"seed": -1}, "seed = -1 is out of range"),
    ],
)
def test_what_is_out_of_range_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_model(**{"model": "PBM", **arguments})
