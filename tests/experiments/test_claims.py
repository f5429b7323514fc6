"""A claim is judged by where an interval lies, and by nothing else."""

import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rankgym.experiments.judge import claims
from rankgym.experiments.judge.claims import (
    Claim,
    Finding,
    Measured,
    counts,
    decide,
    expand,
    judge,
    weakest,
)
from rankgym.experiments.judge.intervals import Estimate
from rankgym.experiments.run.results import Results

NOTHING = Results([])


def measured(low, high, claimed, value=None, **more):
    value = (low if math.isfinite(low) else min(high, 1.0)) if value is None else value
    return Measured("regret", value, low, high, claimed, "bootstrap over 60 queries, 99 %", **more)


def claim(found, name="name", where="section 1; figure 2", text="It is so.", needs_rounds=0):
    """A claim whose measure has ``found`` just this."""
    estimate = Estimate(found.value, found.low, found.high, found.method)
    return Claim(where, text, found.quantity, (lambda _: estimate,), found.claimed, found.note, needs_rounds, name=name)


def judged(found, rounds=100, needs_rounds=0):
    return decide(claim(found, needs_rounds=needs_rounds), NOTHING, rounds)


@pytest.mark.parametrize(
    ("low", "high", "claimed", "verdict"),
    [
        (0.95, 1.05, (0.9, 1.1), "holds"),
        (0.9, 1.1, (0.9, 1.1), "holds"),  # ends are included
        (0.5, 0.95, (0.9, 1.1), "cannot be decided at this scale"),
        (0.5, 1.5, (0.9, 1.1), "cannot be decided at this scale"),
        (0.5, 0.9, (0.9, 1.1), "cannot be decided at this scale"),  # they touch
        (0.5, 0.89, (0.9, 1.1), "does not hold"),
        (1.11, 2.0, (0.9, 1.1), "does not hold"),
        (0.0, 0.0, (0.0, 0.0), "holds"),
        (1.0, 1.0, (0.0, 0.0), "does not hold"),
        (2.0, math.inf, (1.0, math.inf), "holds"),
        (-math.inf, math.inf, (1.0, math.inf), "cannot be decided at this scale"),
        (-math.inf, 0.9, (1.0, math.inf), "does not hold"),
        (math.inf, math.inf, (1.0, 5.0), "does not hold"),  # never within the rounds that were played
    ],
)
def test_verdicts(low, high, claimed, verdict):
    found = judged(measured(low, high, claimed))
    assert found.verdict == verdict
    assert claims.region(claimed) in found.why or "border" in found.why


numbers = st.floats(allow_nan=False)
intervals = st.tuples(numbers, numbers).map(lambda pair: tuple(sorted(pair)))


@given(intervals, intervals)
def test_it_holds_within_fails_outside_and_is_open_across(interval, claimed):
    (low, high), (least, most) = interval, claimed
    verdict = judged(measured(low, high, claimed, value=low)).verdict
    assert (verdict == "holds") == (least <= low and high <= most)
    assert (verdict == "does not hold") == (high < least or most < low)


@given(intervals, intervals, intervals)
def test_a_wider_interval_never_decides_what_a_narrow_one_left_open(inner, outer, claimed):
    low, high = min(inner[0], outer[0]), max(inner[1], outer[1])
    narrow = judged(measured(*inner, claimed, value=inner[0])).verdict
    wide = judged(measured(low, high, claimed, value=inner[0])).verdict
    assert wide in (narrow, "cannot be decided at this scale")


@pytest.mark.parametrize(
    ("low", "high", "why"),
    [
        (0.4, 1.0, "0.4 to 1.0 lies across 0.5, the border of what is claimed"),  # a share is no more than 1
        (0.5, 1.5, "0.5 to 1.5 lies across 1, the border of what is claimed"),
        (0.4, 1.5, "0.4 to 1.5 lies across 0.5 and 1, the borders of what is claimed"),
        (0.4, 0.5, "0.4 to 0.5 lies across 0.5, the border of what is claimed"),
    ],
)
def test_only_a_border_that_is_crossed_is_named(low, high, why):
    assert judged(measured(low, high, (0.5, 1.0))).why == why


def test_what_is_unknown_is_said_once():
    unknown = judged(Measured("share", math.nan, math.nan, math.nan, (0.5, 1.0), "there is no such query"))
    text = claims.markdown([unknown])
    assert "| share | unknown | 0.5 to 1 |" in text
    assert text.count("There is no such query") == 1


def test_what_is_unknown_is_open():
    assert judged(measured(-math.inf, math.inf, (-math.inf, math.inf), value=math.nan)).verdict.startswith("cannot")
    assert "could not be measured" in judged(measured(0.0, 1.0, (0.0, 1.0), value=math.nan)).why


def test_below_the_horizon_that_it_speaks_of_nothing_is_decided_but_what_was_measured_is_said():
    found = judged(measured(1.0, 2.0, (0.0, 3.0)), rounds=99_999, needs_rounds=100_000)
    assert found.verdict == "cannot be decided at this scale"
    assert (
        found.why == "it speaks of 100,000 rounds, and 99,999 were played; so far: 1 to 2 lies in what is "
        "claimed, 0 to 3"
    )
    assert judged(measured(1.0, 2.0, (0.0, 3.0)), rounds=100_000, needs_rounds=100_000).verdict == "holds"


@pytest.mark.parametrize(("found", "what"), [((2.0, 1.0, (0.0, 3.0)), "interval"), ((1.0, 2.0, (3.0, 0.0)), "region")])
def test_ends_the_wrong_way_round_are_refused(found, what):
    with pytest.raises(ValueError, match=rf"claim 'name' has the {what} .*allowed: low <= high"):
        judged(measured(*found))


def test_a_measure_that_fails_is_named():
    with pytest.raises(KeyError) as failed:
        decide(Claim("", "", "", (lambda results: results["CM", "toprank"],), (0.0, 1.0), name="gone"), NOTHING, 1)
    assert failed.value.__notes__ == ["while measuring the claim 'gone'"]


def test_a_claim_of_many_parts_fails_by_its_weakest():
    good = [measured(1.0, 2.0, (0.0, 9.0)), measured(8.0, 8.8, (0.0, 9.0)), measured(4.0, 5.0, (0.0, 9.0))]
    open_ = [measured(8.9, 9.2, (0.0, 9.0)), measured(8.0, 9.9, (0.0, 9.0))]
    bad = [measured(9.1, 9.5, (0.0, 9.0)), measured(19.0, 20.0, (0.0, 9.0))]
    assert weakest(good)[:4] == good[1][:4]  # half a half width of room
    assert weakest([*good, *open_])[:4] == open_[0][:4]
    assert weakest([*good, *open_, *bad])[:4] == bad[1][:4]
    assert weakest(good).note == "of 3 parts 3 hold; this is the one nearest to failing"
    assert weakest([*good, *bad]).note == "of 5 parts 2 do not hold; this is the one farthest from holding"
    assert weakest(good[:1]) == good[0]
    with pytest.raises(ValueError, match="at least one"):
        weakest([])


@given(st.lists(st.tuples(intervals, intervals), min_size=1, max_size=6))
def test_the_weakest_part_holds_only_if_all_do_and_fails_if_one_does(parts):
    found = [measured(*interval, claimed, value=interval[0]) for interval, claimed in parts]
    verdicts = [judged(part).verdict for part in found]
    verdict = judged(weakest(found)).verdict
    assert (verdict == "holds") == all(one == "holds" for one in verdicts)
    assert (verdict == "does not hold") == any(one == "does not hold" for one in verdicts)


# -- the language of claims --------------------------------------------------------------------------------------------


def lead(results, model, agent, value):
    """A finding that knows what it was given."""
    return Finding(Estimate(value, 0.0, 9.0, model), {"place": agent, "by": 7})


AHEAD = Claim(
    "section {section}; figure 1",
    "{model}: {agent} is ahead.",
    "lead of {agent} after {n} rounds, in {place}",
    (lead, "{model}", "{agent}", 5),
    (0.0, 9.0),
    "{agent} by {by}",
    100,
)


def test_a_claim_of_several_cases_is_said_of_each_with_the_agents_names_in_its_words():
    values = {"model": ["CM, small", "PBM"], "agent": ["toprank", "rcs"], "section": [3]}
    cases = [{"model": model, "agent": agent, "section": 3} for model in values["model"] for agent in values["agent"]]
    claims_of_all = expand({"{agent}-ahead-{model}": AHEAD._replace(cases=cases)})
    by_values = expand({"{agent}-ahead-{model}": AHEAD._replace(where="section 3; figure 1")}, values=values)
    assert by_values == claims_of_all  # only the placeholders in the name make cases
    assert [one.name for one in claims_of_all] == [
        "toprank-ahead-cm",
        "rcs-ahead-cm",
        "toprank-ahead-pbm",
        "rcs-ahead-pbm",
    ]
    first = claims_of_all[0]
    assert (first.where, first.text) == ("section 3; figure 1", "CM, small: TopRank is ahead.")
    assert first.measure == (lead, "CM, small", "toprank", 5)  # labels
    found = decide(first, NOTHING, 1_000).measured
    assert found.quantity == "lead of TopRank after 1k rounds, in TopRank"
    assert (found.note, found.method) == ("TopRank by 7", "CM, small")


def test_a_case_may_have_a_horizon_of_its_own_and_a_claim_no_cases():
    cases = [{"model": "CM", "agent": "rcs", "needs_rounds": 5}, {"model": "PBM", "agent": "rcs"}]
    claims = {
        "{agent}-ahead-{model}": AHEAD._replace(cases=cases),
        "alone": AHEAD,
        "the-figures": AHEAD._replace(needs_rounds=None),
        "any": AHEAD._replace(needs_rounds=0),
    }
    found = expand(claims, needs_rounds=7)
    assert [one.name for one in found] == ["rcs-ahead-cm", "rcs-ahead-pbm", "alone", "the-figures", "any"]
    assert [one.needs_rounds for one in found] == [5, 100, 100, 7, 0]


def test_of_several_findings_the_weakest_decides_and_a_region_may_be_found():
    inside, outside = Estimate(1.0, 0.5, 1.5, "m"), Estimate(9.0, 8.0, 10.0, "m")
    findings = [Finding(inside, {"other": "rcs"}), Finding(outside, {"other": "rucb"})]
    one = Claim("", "", "lead over {other}", (lambda _: findings,), (0.0, 2.0))
    assert decide(one, NOTHING, 1).measured.quantity == "lead over RUCB"
    assert decide(one, NOTHING, 1).verdict == "does not hold"
    elsewhere = one._replace(measure=(lambda _: Finding(outside, region=(8.0, 10.0)),))
    assert decide(elsewhere, NOTHING, 1).verdict == "holds"


# -- in words and tables ----------------------------------------------------------------------------------------------

THREE = judge(
    [
        claim(measured(0.97, 1.02, (0.9, 1.1), note="about"), "a", "section 5.2; figure 1", "Regret | linear."),
        claim(measured(4.9, 5.3, (2.0, 4.0), note="A stand-in."), "b", "section 6", "Thrice."),
        claim(measured(1e6, math.inf, (4e6, math.inf), value=5e6), "c", "section 7", "Above."),
    ],
    NOTHING,
    10,
)


def test_counts_and_tally():
    assert counts(THREE) == {"holds": 1, "does not hold": 1, "cannot be decided at this scale": 1}
    assert counts([]) == {"holds": 0, "does not hold": 0, "cannot be decided at this scale": 0}
    assert claims.tally(THREE) == "Of 3 claims 1 holds, 1 does not hold, 1 cannot be decided at this scale."
    assert claims.tally(THREE[:1]) == "Of 1 claim 1 holds, 0 do not hold, 0 cannot be decided at this scale."


def test_the_table_in_markdown():
    text = claims.markdown(THREE)
    told, failing, lines = text.split("\n\n")[1:4]
    assert (told, failing) == ("What does not hold:", "* Thrice. Claimed: 2 to 4. Measured: 4.9 (4.9 to 5.3), regret.")
    assert "What does not hold" not in claims.markdown(THREE[:1])
    head, rule, *rows = lines.splitlines()
    assert {line.replace(r"\|", "").count("|") for line in (head, rule, *rows)} == {6}
    assert rows[0] == r"| Regret \| linear. | regret | 0.97 (0.97 to 1.02) | 0.9 to 1.1 | **holds** |"
    assert "| 5,000,000 (1,000,000 to ∞) | at least 4,000,000 |" in rows[2]
    assert text.startswith("Of 3 claims 1 holds, ")
    assert "\n* `a` (section 5.2; figure 1): Bootstrap over 60 queries, 99 %. About.\n" in text
    assert "\n* `b` (section 6): Bootstrap over 60 queries, 99 %. A stand-in.\n" in text


def test_a_note_of_several_claims_stands_once():
    text = claims.markdown([*THREE[:1] * 3, *THREE[1:]])
    assert text.count("Bootstrap over 60 queries, 99 %. Note 1.\n") == 3
    assert text.count("About.") == 1
    assert text.endswith("\n\nNote 1: About.\n")


def test_the_table_says_which_claims_speak_of_more_rounds():
    found = judged(measured(1.0, 2.0, (0.0, 3.0)), rounds=10, needs_rounds=20)
    assert "): Bootstrap over 60 queries, 99 %. It speaks of 20 rounds, and 10 were played.\n" in claims.markdown(
        [found]
    )


def test_the_table_on_a_terminal():
    file = io.StringIO()
    Console(file=file, width=200).print(claims.rich_table(THREE, "[figure 1]"))
    text = file.getvalue()
    for words in (
        "holds",
        "does not hold",
        "cannot be decided at this scale",
        "0.97 (0.97 to 1.02)",
        "Regret | linear.",
    ):
        assert words in text


def test_the_short_table_leaves_out_what_was_measured():
    file = io.StringIO()
    Console(file=file, width=80).print(claims.rich_table(THREE, short=True))
    text = file.getvalue()
    assert "measured" not in text
    for words in ("0.97", "claimed", "verdict", "holds"):
        assert words in text


def test_as_json_is_json():
    found = json.loads(json.dumps(claims.as_json(THREE), allow_nan=False))
    assert [one["verdict"] for one in found] == ["holds", "does not hold", "cannot be decided at this scale"]
    assert found[2]["high"] == "inf"
    assert found[2]["claimed"] == [4e6, "inf"]
    assert found[0] | {"why": ""} == {
        "name": "a",
        "where": "section 5.2; figure 1",
        "claim": "Regret | linear.",
        "verdict": "holds",
        "why": "",
        "quantity": "regret",
        "value": 0.97,
        "low": 0.97,
        "high": 1.02,
        "claimed": [0.9, 1.1],
        "method": "bootstrap over 60 queries, 99 %",
        "note": "about",
        "needs_rounds": 0,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.01234567, "0.01235"),
        (12.3456, "12.35"),
        (999.4, "999.4"),
        (1234.5, "1,234"),
        (5e6, "5,000,000"),
        (12_345_678, "12.35 M"),
        (3e11, "3.000e+11"),
        (1e-9, "1.00e-09"),
        (-3.0, "-3"),
        (math.inf, "∞"),
        (math.nan, "unknown"),
    ],
)
def test_numbers_in_words(value, text):
    assert claims.number(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((-1.685, -8.502, 6.3), ["-1.685", "-8.502", "6.300"]),
        ((2.402, -8.433, 13.06), ["2.40", "-8.43", "13.06"]),
        ((1538.2, 7.112, 3314.0), ["1,538", "7", "3,314"]),
        ((0.97, 0.97, 1.02), ["0.97", "0.97", "1.02"]),
        ((0.01792, -0.000228, 0.05672), ["0.01792", "-0.00023", "0.05672"]),
        ((0.0, -0.0001, 14.25), ["0", "0.00", "14.25"]),
        ((5e6, 1e6, math.inf), ["5,000,000", "1,000,000", "∞"]),
        ((3e7, 12.5, 4e7), ["30 M", "12.5", "40 M"]),
        ((0.0, 0.0, 0.0), ["0", "0", "0"]),
    ],
)
def test_numbers_of_an_interval_have_the_same_decimals(values, texts):
    assert claims.numbers(*values) == texts


@pytest.mark.parametrize(
    ("claimed", "text"),
    [
        ((0.0, 0.0), "exactly 0"),
        ((1.0, math.inf), "at least 1"),
        ((-math.inf, 2.0), "at most 2"),
        ((1.0, 2.0), "1 to 2"),
        ((-math.inf, math.inf), "any number"),
    ],
)
def test_regions_in_words(claimed, text):
    assert claims.region(claimed) == text
